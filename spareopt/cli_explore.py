"""The command ``spareopt explore``: a local page whose levers solve an instance again."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from spareopt.cli_options import (
    EACH_SOLVE,
    alike_option,
    instance_options,
    json_option,
    solve_options_with,
    typed_again,
)
from spareopt.errors import Fault, InputError, StoppedError
from spareopt.exits import emit

if TYPE_CHECKING:
    from spareopt.instance import Instance
    from spareopt.what_if import Answer

SOLVING = ("gap", "time_limit", "seed", "model", "alike")
"""Options that say how what-ifs are solved."""
NO_PAGE = "needs Panel, which is not installed: pip install 'spareopt[explore]'"


def _new_file(_: click.Context, __: click.Parameter, file: str | None) -> str | None:
    from spareopt.folders import check_new_file  # noqa: PLC0415

    if file is not None:
        check_new_file(file)
    return file


@click.command()
@instance_options
@solve_options_with(limit_help=EACH_SOLVE)
@alike_option
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    metavar="PORT",
    help="The port of the page on this machine; 0 for any that is free.",
)
@click.option(
    "--browser/--no-browser",
    default=True,
    show_default=True,
    help="Open the page in the browser, where there is a screen.",
)
@click.option(
    "-o", "--output", metavar="FILE", callback=_new_file, help="A new overlay that the page can write what is kept to."
)
@json_option
def explore(
    *,
    given: str,
    instance: Instance,
    port: int,
    browser: bool,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Explore INSTANCE on a local page: move caps and rates, and see the best plan then; end with Ctrl-C."""
    if find_spec("panel") is None:
        raise InputError("explore", [Fault("", NO_PAGE)])
    from spareopt.exploring.levers import levers_of  # noqa: PLC0415
    from spareopt.exploring.session import Exploration  # noqa: PLC0415
    from spareopt.exploring.solving import Reply  # noqa: PLC0415
    from spareopt.what_if import SolveOptions  # noqa: PLC0415

    free = _free_port(port)
    asked = SolveOptions(**options)
    nominal = _nominal(instance, asked)
    decisions = None if nominal.plan is None else nominal.plan.decisions
    levers = levers_of(instance, decisions, asked.model)
    reply = Reply(nominal, explaining=nominal.status == "infeasible")

    from spareopt.exploring.page import serve  # noqa: PLC0415

    def ready(url: str) -> None:
        if as_json:
            emit({"url": url})
        else:
            click.echo(f"{url} explores {instance.name}; end with Ctrl-C.")
        if browser and _has_screen():
            click.launch(url)

    solving = typed_again(click.get_current_context(), SOLVING)
    with suppress(KeyboardInterrupt):  # how one ends it
        serve(Exploration(instance, given, levers, reply, asked, output, solving), free, ready)


def _has_screen() -> bool:
    """Whether there is a screen: without one what opens an address may be a browser of texts in this terminal."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def _free_port(port: int) -> int:
    """The port, or any that is free for 0.  Raises InputError where it can't be had."""
    import socket  # noqa: PLC0415

    from spareopt.exploring.session import ADDRESS  # noqa: PLC0415

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError as error:
            message = f"{port} can't be had ({error.strerror}); name another, or leave it out"
            raise InputError("--port", [Fault("", message)]) from None
        return int(probe.getsockname()[1])


def _nominal(instance: Instance, options: Any) -> Answer:
    """The answer to the instance as it stands."""
    from spareopt.progress import Progress  # noqa: PLC0415
    from spareopt.what_if import WhatIf, answer  # noqa: PLC0415

    with Progress(instance) as progress:
        result = answer(WhatIf(instance), options, on_progress=progress.show)
    if result.status == "interrupted":
        raise StoppedError("interrupted before the page was there")
    return result
