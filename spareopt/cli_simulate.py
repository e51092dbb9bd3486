"""The command ``spareopt simulate``: play a plan event by event, or two under the same random numbers."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from spareopt.cli_options import (
    Finite,
    check_outputs,
    instance_options,
    json_option,
    output_option,
    processes_option,
    read_plan_option,
    runs_option,
    typed_again,
)
from spareopt.errors import InputError, StoppedError
from spareopt.exits import INTERRUPTED, LIMIT_WITH_PLAN, finish, written_to

if TYPE_CHECKING:
    from spareopt.decisions import Decisions
    from spareopt.instance import Instance
    from spareopt.kept_runs import Kept
    from spareopt.simulation.result import Comparison, Simulation
    from spareopt.simulation.runs import By
    from spareopt.simulation.simulate import OnProgress


@click.command()
@instance_options
@click.option(
    "--plan",
    "plan_source",
    default=None,
    metavar="PLAN",
    help="A plan file (YAML or JSON) or a plan folder; INSTANCE is solved first when left out.",
)
@click.option("--against", default=None, metavar="PLAN", help="A second plan, played under the same random numbers.")
@click.option(
    "--replications",
    type=click.IntRange(1, 10_000),
    default=40,
    show_default=True,
    metavar="N",
    help="Independent runs; the most of them with --precision.",
)
@click.option(
    "--years",
    type=Finite(0, 1000, min_open=True),
    default=None,
    metavar="T",
    help="Years of each, after the warm-up; 1 (or the trace) when left out. With --until-job the longest.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Seed of the random numbers."
)
@click.option(
    "--warm-up",
    default=None,
    metavar="TIME",
    help='Time before recording starts, such as "200 h"; "0 h" for a new cluster; by the repair times when left out.',
)
@click.option(
    "--precision",
    default=None,
    metavar="SHARE",
    help='Stop once CETT is known within this share of it, such as "0.1%".',
)
@click.option("--confidence", default="99%", show_default=True, metavar="SHARE", help="Confidence of all intervals.")
@click.option(
    "--target",
    default=None,
    metavar="GPU-HOURS",
    help='Useful GPU-hours of a quarter, such as "120 M", or the GPUs they take, such as "2000 GPUs": with what '
    "confidence they are reached.",
)
@processes_option("Replications played")
@click.option("--until-job", is_flag=True, help="End each replication when the instance's job is done, and time it.")
@click.option(
    "--by",
    type=click.Choice(["units", "counts"]),
    default="units",
    show_default=True,
    help="Play each unit, or only how many are down: faster, for exponential laws.",
)
@click.option("--trace", "trace_file", default=None, metavar="FILE", help="Replay a CSV file of faults of trays.")
@click.option(
    "--incidents",
    "incidents_file",
    default=None,
    metavar="FILE",
    help="Write the faults of the first replication as an incident log (CSV), and the fleet beside it.",
)
@output_option("the result and its tables")
@runs_option
@json_option
def simulate(
    *,
    given: str,
    instance: Instance,
    plan_source: str | None,
    against: str | None,
    trace_file: str | None,
    incidents_file: str | None,
    output: str | None,
    runs: str | None,
    as_json: bool,
    until_job: bool,
    precision: str | None,
    target: str | None,
    by: By,
    **options: Any,
) -> None:
    """Play a plan of INSTANCE event by event, and put what happens beside the exact score."""
    from spareopt.kept_runs import NotKeptError  # noqa: PLC0415
    from spareopt.once import simulate_once  # noqa: PLC0415
    from spareopt.progress import ReplicationsLine  # noqa: PLC0415
    from spareopt.simulation import simulate as simulating  # noqa: PLC0415
    from spareopt.simulation import text  # noqa: PLC0415
    from spareopt.simulation.store import write_simulation  # noqa: PLC0415

    check_outputs(output, runs)
    alone = {
        "--precision": precision is not None,
        "--target": target is not None,
        "--until-job": until_job,
        "--by counts": by == "counts",
        "--runs": runs is not None,
    }
    option = next((name for name, asked in alone.items() if asked), None)
    if against is not None and option is not None:
        raise click.UsageError(f"{option} does not go with --against; leave one of them out.")
    logged = {"--against": against is not None, "--trace": trace_file is not None, "--by counts": by == "counts"}
    option = next((name for name, asked in logged.items() if asked), None)
    if incidents_file is not None and option is not None:
        raise click.UsageError(f"--incidents does not go with {option}; leave one of them out.")
    if incidents_file is not None:
        from spareopt.simulation.incident_files import check_incident_files  # noqa: PLC0415

        check_incident_files(incidents_file)
    simulating.checked_options(
        instance, precision=precision, until_job=until_job, by=by, target=target, **options
    )  # fmt: skip
    trace = None
    if trace_file is not None:
        from spareopt.simulation.trace import read_trace  # noqa: PLC0415

        trace = read_trace(trace_file)
    second = None if against is None else read_plan_option(against)
    first, plan = _first(instance, plan_source, int(options["seed"]), runs)
    result: Simulation | Comparison
    run, not_kept = None, None
    log = ""
    with ReplicationsLine() as line:
        try:
            if incidents_file is not None:
                log = _write_incidents(instance, first, incidents_file, line.show, until_job, options)
            if runs is not None:
                run = simulate_once(
                    instance, first, runs, precision=precision, until_job=until_job, by=by, trace=trace, target=target,
                    on_progress=line.show, **options,
                )  # fmt: skip
                result = run.result
            elif second is None:
                result = simulating.simulate(
                    instance, first, precision=precision, until_job=until_job, by=by, trace=trace, target=target,
                    on_progress=line.show, **options,
                )  # fmt: skip
            else:
                result = simulating.compare(instance, first, second, trace=trace, on_progress=line.show, **options)
        except NotKeptError as error:  # what may have taken an hour is printed all the same
            result, not_kept = error.result, error
        except InputError as error:
            raise _named(error, instance, plan_source, first, against) from None
    played = result if second is None else result.first  # type: ignore[union-attr]
    asked = typed_again(click.get_current_context(), REPEATED)

    def words() -> str:
        if against is None:
            return text.simulation_text(result, instance, plan) + log  # type: ignore[arg-type]
        return text.comparison_text(result, instance, plan_source or "the optimum", against)  # type: ignore[arg-type]

    codes = {"interrupted": INTERRUPTED, "replications used up": LIMIT_WITH_PLAN}
    finish(
        result,
        words,
        lambda folder: _next_step(given, asked, plan_source, against, folder, run),
        as_json=as_json,
        output=output,
        write=lambda folder: write_simulation(result, instance, folder, {"total": line.elapsed()}),
        code=codes.get(played.status, 0),  # type: ignore[union-attr]
        run=run,
        not_kept=not_kept,
    )


def _write_incidents(
    instance: Instance, first: Decisions, file: str, on_progress: OnProgress, until_job: bool, options: dict[str, Any]
) -> str:
    """Write the incident log of the first replication, before the simulation, and say what is in it."""
    from spareopt.simulation.incident_files import write_incidents  # noqa: PLC0415
    from spareopt.simulation.incidents import simulate_incidents  # noqa: PLC0415
    from spareopt.simulation.text import incidents_text  # noqa: PLC0415

    taken = {name: options[name] for name in ("years", "seed", "warm_up")}
    log = simulate_incidents(instance, first, until_job=until_job, on_progress=on_progress, **taken)
    return "\n" + incidents_text(log, *write_incidents(log, file))


def _first(instance: Instance, plan_source: str | None, seed: int, runs: str | None) -> tuple[Decisions, str]:
    """The plan to be played, and what it is in words; the optimum where none is named."""
    if plan_source is not None:
        return read_plan_option(plan_source), plan_source
    from spareopt import optimise  # noqa: PLC0415
    from spareopt.once import solve_once  # noqa: PLC0415
    from spareopt.plan import INTERRUPTED as SOLVE_INTERRUPTED  # noqa: PLC0415
    from spareopt.progress import Progress  # noqa: PLC0415
    from spareopt.wording import proof_words  # noqa: PLC0415

    with Progress(instance) as progress:
        if runs is None:
            plan = optimise.solve(instance, seed=seed, on_progress=progress.show)
        else:
            plan = solve_once(instance, runs, seed=seed, on_progress=progress.show).result
    certificate = plan.certificate
    if certificate.status == SOLVE_INTERRUPTED:
        raise StoppedError("interrupted while the instance was solved; name a plan with --plan to simulate it at once")
    proof = proof_words(certificate.status, certificate.gap)
    return plan.decisions, f"the optimum, solved first as no --plan was named ({proof})"


def _named(
    error: InputError, instance: Instance, plan_source: str | None, first: Decisions, against: str | None
) -> InputError:
    """An error in a plan under the name of the plan."""
    from spareopt.decisions import decision_faults  # noqa: PLC0415

    if error.source != "plan":
        return error
    wrong = plan_source if against is None or decision_faults(instance, first) else against
    return InputError(wrong or "plan", error.faults)


REPEATED = (
    "replications", "years", "seed", "warm_up", "precision", "confidence", "processes", "by", "until_job", "trace_file",
    "target",
)  # fmt: skip


def _next_step(
    given: str,
    asked: str,
    plan_source: str | None,
    against: str | None,
    output: str | None,
    run: Kept[Simulation] | None,
) -> str:
    written = written_to(output, run)
    if plan_source is None:
        return f"{written}Next: spareopt solve {given} -o my-plan, then spareopt simulate {given} --plan my-plan{asked}"
    command = f"Next: spareopt simulate {given} --plan {shlex.quote(plan_source)}{asked}"
    if against is not None:
        command += f" --against {shlex.quote(against)}"
    if output is None:
        return f"{command} -o my-simulation"
    if against is not None:
        return f"{written}Read it in Python: spareopt.read_comparison({output!r})"
    return f"{written}{command} --against OTHER-PLAN"
