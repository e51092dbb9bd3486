"""The command ``spareopt staged``: the best plan over the quarters of a horizon, and planning anew later."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from spareopt.cli_options import (
    check_outputs,
    instance_options,
    json_option,
    output_option,
    runs_option,
    solve_options_with,
)
from spareopt.errors import InputError
from spareopt.exits import finish, proof_code, written_to

if TYPE_CHECKING:
    from spareopt.instance import Instance
    from spareopt.kept_runs import Kept


@click.command()
@instance_options
@click.option(
    "--from",
    "earlier",
    metavar="FOLDER",
    help="Plan anew: what the staged plan in FOLDER ordered before --quarter stands, and its money is spent.",
)
@click.option("--quarter", metavar="QUARTER", help="The first quarter to plan anew, such as 2027-Q2; goes with --from.")
@solve_options_with(gap=1e-3, models=False)
@output_option("the plan, its tables by quarter, a picture, the MILP and the log")
@runs_option
@json_option
def staged(
    *,
    given: str,
    instance: Instance,
    earlier: str | None,
    quarter: str | None,
    output: str | None,
    runs: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Plan INSTANCE over the quarters of its horizon: what to buy, staff and run in each, with a proof for all."""
    from spareopt.kept_runs import NotKeptError  # noqa: PLC0415
    from spareopt.once import staged_once  # noqa: PLC0415
    from spareopt.progress import Progress  # noqa: PLC0415
    from spareopt.staging.plan import solve_staged  # noqa: PLC0415
    from spareopt.staging.store import write_staged  # noqa: PLC0415
    from spareopt.staging.text import staged_text  # noqa: PLC0415

    check_outputs(output, runs)
    if (earlier is None) != (quarter is None):
        raise click.UsageError("--from FOLDER and --quarter QUARTER go together; give both, or none.")
    if earlier is not None and quarter is not None:
        instance = _rolled(instance, earlier, quarter)
        given += f" --from {shlex.quote(earlier)} --quarter {shlex.quote(quarter)}"
    run: Kept[Any] | None = None
    not_kept = None
    try:
        with Progress(instance, staged=True) as progress:
            if runs is None:
                plan = solve_staged(instance, **options, on_progress=progress.show)
            else:
                run = staged_once(instance, runs, **options, on_progress=progress.show)
                plan = run.result
    except NotKeptError as error:  # what may have taken an hour is printed all the same
        plan, not_kept = error.result, error
    finish(
        plan,
        lambda: staged_text(plan, instance),
        lambda folder: _next_step(given, instance, plan.score.quarters, folder, run),
        as_json=as_json,
        output=output,
        write=lambda folder: write_staged(plan, instance, folder),
        code=proof_code(plan.certificate.status),
        run=run,
        not_kept=not_kept,
    )


def _rolled(instance: Instance, folder: str, quarter: str) -> Instance:
    """The instance from a quarter on, with what the plan in a folder bought before."""
    from spareopt.staging.rolling import rolled  # noqa: PLC0415
    from spareopt.staging.store import read_staged_solved  # noqa: PLC0415

    plan, before = read_staged_solved(folder)
    try:
        return rolled(instance, plan, quarter, earlier=before)
    except InputError as error:
        raise InputError({"quarter": "--quarter"}.get(error.source, error.source), error.faults) from None


def _next_step(given: str, instance: Instance, quarters: Any, folder: str | None, run: Kept[Any] | None) -> str:
    """Write it, or plan anew once a quarter is over."""
    if folder is None:
        return f"Next: spareopt staged {given} -o my-staged-plan"
    horizon = instance.horizon
    if horizon is None or horizon.first_quarter is None or len(quarters) < 2:
        return f"{written_to(folder, run)}Next: spareopt runs {shlex.quote(folder)}"
    source = shlex.quote(f"{folder}/instance.json")
    again = f"spareopt staged {source} --from {shlex.quote(folder)} --quarter {quarters[1].quarter}"
    return f"{written_to(folder, run)}Next, a quarter later: {again}"
