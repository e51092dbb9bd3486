"""The command ``spareopt marginal``: what a little more of each limit, or a little better input, is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from spareopt.cli_options import Finite, instance_options, json_option, model_option
from spareopt.errors import Fault, InputError

if TYPE_CHECKING:
    from spareopt.instance import Instance


@click.command()
@instance_options
@click.option(
    "--limit-step", default="1%", show_default=True, metavar="SHARE", help="Step of each limit, as a share of it."
)
@click.option(
    "--input-step",
    default="10%",
    show_default=True,
    metavar="SHARE",
    help="Step of MTBF, repair and restart times, as a share of them.",
)
@click.option(
    "--gap",
    type=Finite(0, 1, max_open=True),
    default=1e-6,
    show_default=True,
    help="Relative gap to prove; tight, so that a difference is no noise.",
)
@click.option(
    "--time-limit",
    type=Finite(0, min_open=True),
    default=None,
    metavar="SECONDS",
    help="Stop each solve after so many seconds; the intervals say what is then known.",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Seed of the solver.")
@model_option
@click.option("-o", "--output", metavar="FOLDER", help="Write the values and their table to a new folder.")
@json_option
def marginal(
    *,
    given: str,
    instance: Instance,
    limit_step: str,
    input_step: str,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Show what one step more of each limit of INSTANCE, or a better MTBF, repair or restart, is worth."""
    from spareopt import curve_text, store  # noqa: PLC0415
    from spareopt.cli_curves import SolvesLine, finish  # noqa: PLC0415
    from spareopt.marginal import marginal_values  # noqa: PLC0415
    from spareopt.what_if import SolveOptions  # noqa: PLC0415

    limit_share, input_share = _share("--limit-step", limit_step), _share("--input-step", input_step)
    if output is not None:
        store.check_new_folder(output)
    with SolvesLine() as line:
        result = marginal_values(
            instance,
            limit_share=limit_share,
            input_share=input_share,
            options=SolveOptions(**options),
            on_count=line.show,
        )
    finish(
        result,
        curve_text.marginal_text(result, instance),
        f"Next: spareopt tornado {given}, or spareopt frontier {given}",
        as_json=as_json,
        output=output,
        draw=None,
        statuses=[
            result.certificate.status,
            *(step.status for value in result.values for step in (value.better, value.worse) if step is not None),
        ],
    )


def _share(option: str, text: str) -> float:
    from spareopt import units  # noqa: PLC0415

    try:
        share = units.parse_share(text)
    except ValueError as error:
        raise InputError(option, [Fault("", str(error))]) from None
    if not 0 < share < 1:
        raise InputError(option, [Fault("", f"expected a share above 0 and below 100 %, such as 1%, got {text!r}")])
    return share
