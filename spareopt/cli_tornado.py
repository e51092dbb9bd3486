"""The command ``spareopt tornado``: each uncertain input at both ends of its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from spareopt.cli_options import alike_option, instance_options, json_option, many_solves_options, output_option
from spareopt.errors import Fault, InputError
from spareopt.exits import finish, proof_code, written_to

if TYPE_CHECKING:
    from spareopt.instance import Instance


@click.command()
@instance_options
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="PATH[,PATH...]=LOW:HIGH",
    help='An input and its ends, such as failures.tray.mtbf=0.5x:2x or "checkpoint_plans.*.restart=5 min:20 min"; '
    "tied paths move together; may be repeated; then no others are shown.",
)
@many_solves_options
@alike_option
@output_option("the bars, their table and a picture")
@json_option
def tornado(
    *, given: str, instance: Instance, inputs: tuple[str, ...], output: str | None, as_json: bool, **options: Any
) -> None:
    """Show how each uncertain input of INSTANCE moves the objective, with the plan as it is and with the best one."""
    from spareopt import curve_store, curve_text  # noqa: PLC0415
    from spareopt.exposure import tornado as bars_of  # noqa: PLC0415
    from spareopt.progress import SolvesLine  # noqa: PLC0415

    asked = dict(_input(text) for text in inputs)
    if len(asked) < len(inputs):
        raise InputError("--input", [Fault("", "a path is given twice; keep one of them")])
    with SolvesLine() as line:
        result = bars_of(instance, asked or None, on_count=line.show, **options)
    same = " --alike" if options["alike"] else ""
    assumed = any(bar.interval == "assumed" for bar in result.bars)
    more = ", or state intervals in the file for the inputs marked *" if assumed else ""
    finish(
        result,
        lambda: curve_text.tornado_text(result, instance),
        lambda folder: f"{written_to(folder)}Next: spareopt marginal {given}{same}{more}",
        as_json=as_json,
        output=output,
        write=lambda folder: curve_store.write_curve(result, instance, folder, {"total": line.elapsed()}),
        code=proof_code(curve_store.curve_status(result)),
    )


def _input(text: str) -> tuple[str, tuple[Any, Any]]:
    from spareopt.settings import read_value, split_setting  # noqa: PLC0415

    expected = "PATH=LOW:HIGH such as failures.tray.mtbf=0.5x:2x"
    path, ends = split_setting("--input", text, expected)
    low, _, high = ends.partition(":")
    if not (low.strip() and high.strip()) or ":" in high:
        raise InputError("--input", [Fault("", f"expected {expected}, got {text!r}")])
    return path, (read_value("--input", path, low), read_value("--input", path, high))
