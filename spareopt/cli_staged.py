"""The command ``spareopt staged``: plan over the quarters of an instance's horizon, or again from one of them on."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from spareopt.cli_options import Finite, instance_options, json_option, output_option
from spareopt.errors import Fault, InputError
from spareopt.exits import finish, proof_code, written_to

if TYPE_CHECKING:
    from spareopt.instance import Instance


@click.command()
@instance_options
@click.option(
    "--from",
    "earlier",
    metavar="PLAN",
    help="A folder of an earlier staged plan of INSTANCE: what it orders before --quarter is bought.",
)
@click.option("--quarter", metavar="QUARTER", help="With --from: the first quarter to plan again, such as 2027-Q2.")
@click.option("--gap", type=Finite(0, 1, max_open=True), default=1e-3, show_default=True, help="Relative gap to prove.")
@click.option(
    "--time-limit",
    type=Finite(0, min_open=True),
    default=None,
    metavar="SECONDS",
    help="Stop after so many seconds with the best plan found.",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Seed of the solver.")
@output_option("the plan, its tables by quarter, the MILP and the log")
@json_option
def staged(
    *,
    given: str,
    instance: Instance,
    earlier: str | None,
    quarter: str | None,
    gap: float,
    time_limit: float | None,
    seed: int,
    output: str | None,
    as_json: bool,
) -> None:
    """Plan purchases, shelf and staffing of INSTANCE by quarter, and prove how good the plan is."""
    from spareopt.progress import QuartersProgress  # noqa: PLC0415
    from spareopt.staging import plan as planning  # noqa: PLC0415
    from spareopt.staging import store, text  # noqa: PLC0415
    from spareopt.staging.rolling import later_instance  # noqa: PLC0415

    if (earlier is None) != (quarter is None):
        missing = "--quarter" if quarter is None else "--from"
        message = "--from and --quarter go together: an earlier plan, and the quarter from which to plan again"
        raise InputError(missing, [Fault("", message)])
    whole = instance
    if earlier is not None and quarter is not None:
        instance = later_instance(instance, store.read_staged(earlier), quarter)
    with QuartersProgress(instance) as progress:
        result = planning.solve_staged(instance, gap=gap, time_limit=time_limit, seed=seed, on_progress=progress.show)
    finish(
        result,
        lambda: text.staged_text(result, instance),
        lambda folder: _next_step(given, whole, folder, earlier is not None),
        as_json=as_json,
        output=output,
        write=lambda folder: store.write_staged(result, instance, folder),
        code=proof_code(result.certificate.status),
        pictures=True,
    )


def _next_step(given: str, instance: Instance, output: str | None, later: bool) -> str:
    if output is None:
        return f"Next: spareopt staged {given} -o my-staged-plan"
    labels = instance.horizon.labels() if instance.horizon is not None else ()
    if later or len(labels) < 2:
        return f"{written_to(output)}Next: spareopt show {given}"
    return f"{written_to(output)}Next: spareopt staged {given} --from {shlex.quote(output)} --quarter {labels[1]}"
