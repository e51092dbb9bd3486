"""The command line: parse, call, print.  Exit codes: see exits.EXIT_CODES."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from spareopt.cli_calibrate import calibrate
from spareopt.cli_compare import compare
from spareopt.cli_explain import explain
from spareopt.cli_explore import explore
from spareopt.cli_frontier import frontier
from spareopt.cli_map import map_command
from spareopt.cli_marginal import marginal
from spareopt.cli_options import (
    alike_option,
    check_outputs,
    edit_workbook,
    excel_option,
    instance_options,
    json_option,
    model_option,
    output_option,
    overlay_option,
    plan_option,
    read_plan_option,
    report_option,
    runs_option,
    solve_options,
)
from spareopt.cli_report import report
from spareopt.cli_robust import robust
from spareopt.cli_runs import runs
from spareopt.cli_simulate import simulate
from spareopt.cli_staged import staged
from spareopt.cli_sweep import sweep
from spareopt.cli_template import template
from spareopt.cli_tornado import tornado
from spareopt.cli_workbook import workbook
from spareopt.errors import Fault, InfeasibleError, InputError, LimitError, StoppedError
from spareopt.exits import (
    BAD_INPUT,
    BROKEN_LIMIT,
    EXIT_CODES,
    Group,
    emit,
    fault_record,
    finish,
    proof_code,
    written_to,
)

if TYPE_CHECKING:
    import pandas as pd

    from spareopt.instance import Instance
    from spareopt.kept_runs import Kept
    from spareopt.plan import Plan


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table with every digit, and None for what is not known."""
    rows: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict(orient="records")
    return rows


@click.group(cls=Group, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="spareopt")
def main() -> None:
    """Decide how to spare a large AI training cluster, and prove how good the plan is.

    Start with: spareopt solve meta-2026
    """


@main.command()
@instance_options
@solve_options
@alike_option
@output_option("the plan, its tables, the MILP and the log")
@excel_option
@report_option
@runs_option
@json_option
def solve(
    *,
    given: str,
    instance: Instance,
    gap: float,
    time_limit: float | None,
    seed: int,
    model: Any,
    alike: bool,
    output: str | None,
    excel: str | None,
    report: str | None,
    runs: str | None,
    as_json: bool,
) -> None:
    """Find the best plan of INSTANCE (a shipped name or a file) and prove how good it is."""
    from spareopt import optimise, plan_text, store  # noqa: PLC0415
    from spareopt.kept_runs import NotKeptError  # noqa: PLC0415
    from spareopt.once import solve_once  # noqa: PLC0415
    from spareopt.progress import Progress  # noqa: PLC0415

    check_outputs(output, runs, report)
    options: dict[str, Any] = {"gap": gap, "time_limit": time_limit, "seed": seed, "model": model, "alike": alike}
    run, not_kept = None, None
    try:
        with Progress(instance) as progress:
            if runs is None:
                plan = optimise.solve(instance, **options, on_progress=progress.show)
            else:
                run = solve_once(instance, runs, **options, on_progress=progress.show)
                plan = run.result
    except NotKeptError as error:  # what may have taken an hour is printed all the same
        plan, not_kept = error.result, error
    except InfeasibleError as error:
        scored = "" if model == "exact" else f" --model {model}"
        raise InfeasibleError(f"{error}\nNext: spareopt explain {given}{scored}") from None
    source = click.get_current_context().params["source"]
    finish(
        plan,
        lambda: plan_text.plan_text(plan, instance),
        lambda folder: _next_step(given, folder, source, excel, run, " --alike" if alike else ""),
        as_json=as_json,
        output=output,
        write=lambda folder: store.write_plan(plan, instance, folder),
        code=proof_code(plan.certificate.status),
        also=[
            *([] if excel is None else [(excel, lambda file: _write_workbook(plan, instance, file, source))]),
            *([] if report is None else [(report, lambda file: _write_report(plan, instance, file, source))]),
        ],
        run=run,
        not_kept=not_kept,
    )


def _write_workbook(plan: Plan, instance: Instance, file: str, source: str) -> None:
    from spareopt.workbooks.writing import write_workbook  # noqa: PLC0415

    write_workbook(plan, instance, file, source)


def _write_report(plan: Plan, instance: Instance, file: str, source: str) -> None:
    from spareopt.cli_report import write_with_progress  # noqa: PLC0415

    try:
        write_with_progress(plan, instance, file, source)
    except StoppedError as error:  # the plan, which may have taken an hour, is printed all the same
        raise InputError(file, [Fault("", str(error))]) from None


def _next_step(
    given: str, output: str | None, source: str, excel: str | None, run: Kept[Plan] | None, alike: str
) -> str:
    """The command to try next; ``given`` names the instance with its changes, ``source`` without."""
    if excel is not None:
        return f"{written_to(output, run)}Next: {edit_workbook(source, excel)}{alike}"
    if output is None:
        return f"Next: spareopt solve {given}{alike} -o my-plan, or spareopt show {given}"
    return f"{written_to(output, run)}Next: spareopt neighbours {given} --plan {shlex.quote(output)}"


@main.command()
@instance_options
@plan_option
@click.option(
    "--optimum/--no-optimum", default=True, show_default=True, help="Also solve, and compare decision by decision."
)
@solve_options
@json_option
def evaluate(
    *,
    given: str,
    instance: Instance,
    plan_source: str,
    optimum: bool,
    gap: float,
    time_limit: float | None,
    seed: int,
    model: Any,
    as_json: bool,
) -> None:
    """Score a planner's own PLAN, and put it beside the optimum."""
    from spareopt import evaluation as scoring  # noqa: PLC0415
    from spareopt import optimise, plan_text  # noqa: PLC0415
    from spareopt.candidates import check_model  # noqa: PLC0415
    from spareopt.comparison import compare_decisions  # noqa: PLC0415
    from spareopt.decisions import beyond_choices  # noqa: PLC0415
    from spareopt.progress import Progress  # noqa: PLC0415

    mine = read_plan_option(plan_source)
    check_model(instance, model)
    try:
        result = scoring.evaluate(instance, mine, model=model)
    except InputError as error:
        raise InputError(plan_source, error.faults) from None
    beyond = beyond_choices(instance, mine)
    best, table, no_optimum = None, None, None
    if optimum:
        try:
            with Progress(instance) as progress:
                best = optimise.solve(
                    instance, gap=gap, time_limit=time_limit, seed=seed, model=model, on_progress=progress.show
                )
            table = compare_decisions(instance, mine, best.decisions, model)
        except (InfeasibleError, LimitError, StoppedError) as error:  # the planner's own score stands all the same
            no_optimum = error
    if as_json:
        emit(
            {
                "evaluation": result.model_dump(mode="json"),
                "beyond_choices": beyond,
                "optimum": None if best is None else best.model_dump(mode="json"),
                "no_optimum": None if no_optimum is None else str(no_optimum),
                "comparison": None if table is None else _records(table),
            }
        )
    else:
        text = plan_text.own_plan_text(plan_source, mine, result, instance, beyond=beyond, best=best, table=table)
        click.echo(text, nl=False)
        if no_optimum is not None:
            click.echo(f"\nNo optimum to compare with: {no_optimum}")
        elif not optimum:
            click.echo(f"\nNext: spareopt evaluate {given} --plan {shlex.quote(plan_source)}")
        else:
            click.echo(f"\nNext: spareopt solve {given} -o my-plan")
    if result.violated:
        code = BROKEN_LIMIT
    elif no_optimum is not None:
        code = no_optimum.exit_code
    else:
        code = 0 if best is None else proof_code(best.certificate.status)
    click.get_current_context().exit(code)


@main.command()
@instance_options
@plan_option
@model_option
@json_option
def neighbours(*, given: str, instance: Instance, plan_source: str, model: Any, as_json: bool) -> None:
    """Show how goodput and cost move when each decision of PLAN is one step away."""
    from spareopt import listings  # noqa: PLC0415
    from spareopt.candidates import check_model  # noqa: PLC0415
    from spareopt.evaluation import evaluate as score  # noqa: PLC0415
    from spareopt.neighbours import one_step_away  # noqa: PLC0415

    decisions = read_plan_option(plan_source)
    check_model(instance, model)
    try:
        here, table = score(instance, decisions, model=model), one_step_away(instance, decisions, model)
    except InputError as error:
        raise InputError(plan_source, error.faults) from None
    if as_json:
        emit({"evaluation": here.model_dump(mode="json"), "neighbours": _records(table)})
        return
    click.echo(listings.neighbours_text(plan_source, here, table, instance), nl=False)
    click.echo(f"\nNext: spareopt evaluate {given} --plan {shlex.quote(plan_source)}")


@main.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@overlay_option
@json_option
def validate(files: tuple[str, ...], overlays: tuple[str, ...], as_json: bool) -> None:
    """Check instance files, their scenarios and intervals too, and report all faults at once with line and field."""
    from spareopt.intervals import check_intervals  # noqa: PLC0415
    from spareopt.reading import check_scenarios, read_instance, scenarios_without_effect  # noqa: PLC0415

    results: list[dict[str, Any]] = []
    for file in files:
        faults: list[Fault] = []
        idle: tuple[str, ...] = ()
        try:
            read_instance(file, overlays=overlays)
            faults = check_scenarios(file, overlays) + check_intervals(file, overlays)
            idle = () if faults else scenarios_without_effect(file, overlays)
        except InputError as error:
            faults = [
                replace(fault, file=fault.file or error.source) if error.source in overlays else fault
                for fault in error.faults
            ]
        results.append(
            {
                "file": file,
                "valid": not faults,
                "faults": [fault_record(fault) for fault in faults],
                "without_effect": list(idle),
            }
        )
        if not as_json:
            click.echo(f"{file}: valid" if not faults else str(InputError(file or "''", faults)), err=bool(faults))
            for name in idle:
                click.echo(f"  scenarios.{name}: changes nothing; what it states is what the instance has", err=True)
    if as_json:
        emit(results)
    if not all(result["valid"] for result in results):
        click.get_current_context().exit(BAD_INPUT)


@main.command()
@instance_options
@click.option(
    "--design",
    default=None,
    metavar="NAME",
    help="The block design to show; a zone's first one when left out or not offered.",
)
@json_option
def show(given: str, instance: Instance, design: str | None, as_json: bool) -> None:
    """Show the cluster of INSTANCE as a tree of fault domains: units, blast radius, faults a day."""
    from spareopt import listings, topology  # noqa: PLC0415

    names = [item.name for item in instance.designs]
    if design is not None and design not in names:
        raise InputError("--design", [Fault("", f"unknown design {design!r}; expected one of {', '.join(names)}")])
    layouts = []
    for zone in instance.zones:
        allowed = [item for item in instance.designs if zone.designs is None or item.name in zone.designs]
        chosen = next((item for item in allowed if item.name == design), allowed[0])
        layouts.append(topology.ZoneLayout(zone.name, zone.count, chosen, max(zone.racks)))
    graph = topology.build_topology(instance, layouts)
    if as_json:
        emit(topology.as_data(graph))
        return
    click.echo(listings.topology_text(graph, instance), nl=False)
    if len(names) > 1:
        click.echo(f"Designs: {', '.join(names)}; show another with --design NAME.")


@main.command()
@click.argument("kind", default="instance", metavar="KIND")
def schema(kind: str) -> None:
    """Print the JSON schema of a KIND of document: that of an instance file when left out."""
    from spareopt.schemas import KINDS, schema_of  # noqa: PLC0415

    if kind not in KINDS:
        raise InputError("KIND", [Fault("", f"unknown kind {kind!r:.40}; expected one of {', '.join(KINDS)}")])
    emit(schema_of(kind))


@main.command()
@json_option
def instances(as_json: bool) -> None:
    """List the shipped instances."""
    from spareopt import instances as shipped  # noqa: PLC0415
    from spareopt import listings  # noqa: PLC0415
    from spareopt.reading import read_instance  # noqa: PLC0415

    rows = [(name, read_instance(name).description) for name in shipped.names()]
    if as_json:
        emit([{"name": name, "description": text} for name, text in rows])
        return
    click.echo(listings.instances_text(rows), nl=False)
    click.echo("Next: spareopt solve NAME, or spareopt new my-cluster.yaml --from NAME")


@main.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--from",
    "source",
    default="gb200-4x256",
    show_default=True,
    metavar="NAME",
    help="The shipped instance to start from.",
)
@click.option("--everything", is_flag=True, help="Keep its notes and all of its scenarios.")
def new(file: str, source: str, everything: bool) -> None:
    """Write a new instance FILE, a commented copy of a shipped one, to be edited.

    Notes, and scenarios that hold for the shipped figures only, are left out; such as half the MTBF stay.
    """
    from spareopt.starting import new_instance  # noqa: PLC0415

    new_instance(file, source, everything=everything)
    what = "with all figures, notes and scenarios" if everything else "with the figures"
    click.echo(
        f"Wrote {file} {what} of {source}: replace them by your own, then: "
        f"spareopt validate {file} && spareopt solve {file}"
    )


main.add_command(calibrate)
main.add_command(compare)
main.add_command(simulate)
main.add_command(robust)
main.add_command(staged)
main.add_command(frontier)
main.add_command(marginal)
main.add_command(tornado)
main.add_command(map_command)
main.add_command(explain)
main.add_command(explore)
main.add_command(sweep)
main.add_command(runs)
main.add_command(workbook)
main.add_command(report)
main.add_command(template)
