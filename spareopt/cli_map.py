"""The command ``spareopt map``: which strategy wins over a grid of two inputs."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from spareopt.cli_options import instance_options, json_option, model_option, output_option
from spareopt.errors import Fault, InputError
from spareopt.exits import INTERRUPTED, finish, written_to

if TYPE_CHECKING:
    from spareopt.instance import Instance
    from spareopt.map_result import StrategyMap


@click.command("map")
@instance_options
@click.option(
    "--x", required=True, metavar="AXIS", help="PATH[,PATH...]=VALUE,... or =LOW:HIGH:COUNT[:log], from left to right."
)
@click.option("--y", required=True, metavar="AXIS", help="The same, upwards; paths of one axis move together.")
@click.option(
    "--strategies",
    default=None,
    metavar="WHAT",
    help="A YAML file of strategies, or scenarios of INSTANCE by name; all decisions are free when left out.",
)
@click.option(
    "--by",
    default=None,
    metavar="DECISION,...",
    help="The decisions that tell strategies apart; block design, I and repair plan when left out.",
)
@click.option("--prove", is_flag=True, help="Also solve each cell: a bound on all plans, zones that differ included.")
@output_option("the map, its tables and its picture")
@model_option
@json_option
def map_command(
    *,
    given: str,
    instance: Instance,
    x: str,
    y: str,
    strategies: str | None,
    by: str | None,
    prove: bool,
    output: str | None,
    model: Any,
    as_json: bool,
) -> None:
    """Map which strategy wins over a grid of two inputs of INSTANCE, such as MTBF and repair time."""
    from spareopt import mapping  # noqa: PLC0415
    from spareopt.axes import parse_axis  # noqa: PLC0415
    from spareopt.decisions import DECISION_FIELDS  # noqa: PLC0415
    from spareopt.map_store import write_map  # noqa: PLC0415
    from spareopt.map_text import map_text  # noqa: PLC0415
    from spareopt.progress import CellsLine  # noqa: PLC0415

    for option, value in (("--by", by is not None), ("--prove", prove)):
        if value and strategies is not None:
            raise click.UsageError(f"{option} does not go with --strategies; leave one of them out.")
    axes = [parse_axis(x, "--x"), parse_axis(y, "--y")]
    known = None if strategies is None else mapping.read_strategies(strategies, instance)
    columns = None if by is None else [name.strip() for name in by.split(",")]
    if columns is not None and (unknown := [name for name in columns if name not in DECISION_FIELDS]):
        raise InputError("--by", [Fault("", f"unknown decision {unknown[0]!r}; expected {', '.join(DECISION_FIELDS)}")])
    with CellsLine() as line:
        result = mapping.strategy_map(
            instance, *axes, strategies=known, by=columns, model=model, prove=prove, on_cell=line.show
        )
    finish(
        result,
        lambda: map_text(result, instance),
        lambda folder: _next_step(given, x, y, result, folder),
        as_json=as_json,
        output=output,
        write=lambda folder: write_map(result, instance, folder, {"total": line.elapsed()}),
        code=0 if result.complete else INTERRUPTED,
    )


def _next_step(given: str, x: str, y: str, result: StrategyMap, output: str | None) -> str:
    """The command to try next: the closest call of the map solved by itself, or the map written."""
    from spareopt.settings import options_of  # noqa: PLC0415

    if output is None:
        asked = click.get_current_context().params
        words = ["--x", x, "--y", y]
        for name in ("strategies", "by", "model"):
            if asked[name] not in (None, "exact"):
                words += [f"--{name}", asked[name]]
        return f"Next: spareopt map {given} {shlex.join(words)} -o my-map"
    model = [] if result.model == "exact" else ["--model", result.model]
    close = [cell for cell in result.cells if cell.margin is not None]
    written = written_to(output)
    if not close:
        return f"{written}Read it in Python: spareopt.read_map({output!r})"
    cell = min(close, key=lambda cell: cell.margin or 0.0)
    places = ((result.x, cell.x), (result.y, cell.y))
    words = options_of((path, axis.values[place]) for axis, place in places for path in axis.paths)
    return f"{written}Next, the closest call: spareopt solve {given} {shlex.join(words + model)}"
