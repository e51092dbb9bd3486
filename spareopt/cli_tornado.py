"""The command ``spareopt tornado``: each uncertain input at both ends of its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from spareopt.cli_options import instance_options, json_option, solve_options
from spareopt.errors import Fault, InputError

if TYPE_CHECKING:
    from spareopt.instance import Instance


@click.command()
@instance_options
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="PATH=LOW:HIGH",
    help='An input and its ends, such as failures.tray.mtbf=0.5x:2x or "checkpoint_plans.*.restart=5 min:20 min"; '
    "may be repeated; then no others are shown.",
)
@solve_options
@click.option("-o", "--output", metavar="FOLDER", help="Write the bars, their table and a picture to a new folder.")
@json_option
def tornado(
    *, given: str, instance: Instance, inputs: tuple[str, ...], output: str | None, as_json: bool, **options: Any
) -> None:
    """Show how each uncertain input of INSTANCE moves the objective, with the plan as it is and with the best one."""
    from spareopt import curve_pictures, curve_text, store  # noqa: PLC0415
    from spareopt.cli_curves import SolvesLine, finish  # noqa: PLC0415
    from spareopt.exposure import tornado as bars_of  # noqa: PLC0415
    from spareopt.what_if import SolveOptions  # noqa: PLC0415

    asked = dict(_input(text) for text in inputs)
    if len(asked) < len(inputs):
        raise InputError("--input", [Fault("", "a path is given twice; keep one of them")])
    if output is not None:
        store.check_new_folder(output)
    with SolvesLine() as line:
        result = bars_of(instance, asked or None, options=SolveOptions(**options), on_count=line.show)
    ends = [end for bar in result.bars for end in (bar.low, bar.high)]
    assumed = any(bar.interval == "assumed" for bar in result.bars)
    finish(
        result,
        curve_text.tornado_text(result, instance),
        f"Next: spareopt marginal {given}"
        + (", or state intervals in the file for the inputs marked *" if assumed else ""),
        as_json=as_json,
        output=output,
        draw=curve_pictures.draw_tornado,
        statuses=[result.certificate.status, *(end.status for end in ends)],
    )


def _input(text: str) -> tuple[str, tuple[Any, Any]]:
    from spareopt.yaml_source import parse_value  # noqa: PLC0415

    path, equals, ends = text.partition("=")
    low, colon, high = ends.partition(":")
    if not (equals and colon and path.strip() and low.strip() and high.strip()) or ":" in high:
        message = f"expected PATH=LOW:HIGH such as failures.tray.mtbf=0.5x:2x, got {text!r}"
        raise InputError("--input", [Fault("", message)])
    return path.strip(), (parse_value(low), parse_value(high))
