"""What the commands that draw curves share: their progress line, their files, their exit code, their output folder."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spareopt.errors import InputError
from spareopt.exits import BAD_INPUT, INTERRUPTED, LIMIT_WITH_PLAN
from spareopt.progress import StatusLine

if TYPE_CHECKING:
    from spareopt.efficient import Frontier
    from spareopt.exposure import Tornado
    from spareopt.marginal import MarginalValues

LINE_EVERY = 10.0
"""s between two plain lines."""


class SolvesLine(StatusLine):
    """How many solves are done."""

    def __init__(self) -> None:
        super().__init__(LINE_EVERY)

    def show(self, done: int, total: int | None = None) -> None:
        """Show how many solves are done, and of how many if that is known."""
        self.say(f"{done} solves done" if total is None else f"{done} of {total} solves done", self.elapsed())


def finish(
    result: Frontier | MarginalValues | Tornado,
    text: str,
    next_step: str,
    *,
    as_json: bool,
    output: str | None,
    draw: Callable[[Any, Path], None] | None,
    statuses: Iterable[str],
) -> None:
    """Write the folder, print the result, and end with the exit code."""
    from spareopt import curve_pictures  # noqa: PLC0415
    from spareopt.curve_store import write_curve  # noqa: PLC0415

    not_written, no_picture = None, draw is not None and not curve_pictures.can_draw()
    if output is not None:
        try:
            write_curve(result, output, None if no_picture else draw)
        except InputError as error:  # the solves may have taken an hour: the result is printed all the same
            not_written = error
    if as_json:
        click.echo(result.to_json(), nl=False)
    else:
        click.echo(text, nl=False)
        written = "" if output is None or not_written is not None else f"Written to {shlex.quote(output)}. "
        click.echo(f"\n{written}{next_step}")
    if output is not None and no_picture and not_written is None:
        click.echo(curve_pictures.HOW_TO_GET, err=True)
    context = click.get_current_context()
    if not_written is not None:
        click.echo(f"error: {not_written}", err=True)
        context.exit(BAD_INPUT)
    if result.interrupted:
        context.exit(INTERRUPTED)
    context.exit(0 if all(status in ("proven", "infeasible") for status in statuses) else LIMIT_WITH_PLAN)
