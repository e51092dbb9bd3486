"""The command ``spareopt marginal``: what a little more of each limit, or a little better input, is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from spareopt.cli_options import (
    alike_option,
    instance_options,
    json_option,
    output_option,
    read_share,
    solve_options_with,
)
from spareopt.exits import finish, proof_code, written_to

if TYPE_CHECKING:
    from spareopt.instance import Instance


@click.command()
@instance_options
@click.option(
    "--limit-step",
    default="1%",
    show_default=True,
    metavar="STEP",
    help='Step of each limit, as a share of it; or an amount such as "10 M$" for those of its kind, the others by 1%.',
)
@click.option(
    "--input-step",
    default="10%",
    show_default=True,
    metavar="SHARE",
    help="Step of MTBF, repair and restart times, as a share of them.",
)
@solve_options_with(
    1e-6,
    "Relative gap to prove; tight, so that a difference is no noise.",
    "For each solve: stop it after so many seconds; the intervals say what is then known.",
)
@alike_option
@output_option("the values and their table")
@json_option
def marginal(
    *,
    given: str,
    instance: Instance,
    limit_step: str,
    input_step: str,
    output: str | None,
    as_json: bool,
    alike: bool,
    **options: Any,
) -> None:
    """Show what one step more of each limit of INSTANCE, or a better MTBF, repair or restart, is worth."""
    from spareopt import curve_store, curve_text  # noqa: PLC0415
    from spareopt.marginal import LIMIT_SHARE, marginal_values  # noqa: PLC0415
    from spareopt.progress import SolvesLine  # noqa: PLC0415

    input_share = read_share("--input-step", input_step)
    amount = None if _is_share(limit_step) else limit_step
    limit_share = LIMIT_SHARE if amount else read_share("--limit-step", limit_step)
    same = " --alike" if alike else ""
    with SolvesLine() as line:
        result = marginal_values(
            instance,
            limit_share=limit_share,
            limit_step=amount,
            input_share=input_share,
            alike=alike,
            on_count=line.show,
            **options,
        )
    finish(
        result,
        lambda: curve_text.marginal_text(result, instance),
        lambda folder: f"{written_to(folder)}Next: spareopt tornado {given}{same}, or spareopt frontier {given}{same}",
        as_json=as_json,
        output=output,
        write=lambda folder: curve_store.write_curve(result, instance, folder, {"total": line.elapsed()}),
        code=proof_code(curve_store.curve_status(result)),
    )


def _is_share(text: str) -> bool:
    """Whether a step is meant as a share: a number, with or without %."""
    from spareopt.units import parse_share  # noqa: PLC0415

    try:
        parse_share(text)
    except ValueError:
        return False
    return True
