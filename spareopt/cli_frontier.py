"""The command ``spareopt frontier``: the most goodput against cost, capital or power."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from spareopt.cli_options import (
    alike_option,
    instance_options,
    json_option,
    many_solves_options,
    output_option,
    read_share,
)
from spareopt.exits import finish, proof_code, written_to

if TYPE_CHECKING:
    from spareopt.efficient import Frontier, Of
    from spareopt.instance import Instance


@click.command()
@instance_options
@click.option(
    "--of",
    type=click.Choice(["cost", "capital", "power"]),
    default="cost",
    show_default=True,
    help="What goodput is traded against: cost per year, capital, or IT power.",
)
@click.option(
    "--points",
    type=click.IntRange(2, 1000),
    default=5,
    show_default=True,
    metavar="N",
    help="Points of the curve, both ends among them: these first, then where it is emptiest.",
)
@click.option(
    "--lowest",
    default="50%",
    show_default=True,
    metavar="SHARE",
    help="Where the curve begins, as a share of the most goodput.",
)
@many_solves_options
@alike_option
@output_option("the points, their table and a picture")
@json_option
def frontier(
    *,
    given: str,
    instance: Instance,
    of: Of,
    points: int,
    lowest: str,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Trace the efficient frontier of INSTANCE: what goodput costs, point by point, each proven."""
    from spareopt import curve_store, curve_text  # noqa: PLC0415
    from spareopt.efficient import frontier as traced  # noqa: PLC0415
    from spareopt.progress import SolvesLine  # noqa: PLC0415

    share = read_share("--lowest", lowest)
    with SolvesLine(about=True) as line:
        result = traced(instance, of, points=points, lowest=share, on_count=line.show, **options)
    finish(
        result,
        lambda: curve_text.frontier_text(result, instance),
        lambda folder: written_to(folder) + _next_step(result, instance, given),
        as_json=as_json,
        output=output,
        write=lambda folder: curve_store.write_curve(result, instance, folder, {"total": line.elapsed()}),
        code=proof_code(curve_store.curve_status(result)),
    )


def _next_step(result: Frontier, instance: Instance, given: str) -> str:
    from spareopt.curve_text import settings_of  # noqa: PLC0415

    points = result.points
    chosen = next((point for point in points if point.knee), points[len(points) // 2])
    alike = " --alike" if result.provenance.options["alike"] else ""
    settings = "".join(f" --set {shlex.quote(text)}" for text in settings_of(chosen, result.of, instance))
    return f"Next: the plan at {chosen.goodput:,.1f} baseline GPUs: spareopt solve {given}{settings}{alike}"
