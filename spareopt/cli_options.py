"""Options that several commands share, and what they read."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spareopt.errors import Fault, InputError

if TYPE_CHECKING:
    from spareopt.decisions import Decisions


class Finite(click.FloatRange):
    """A number in a range; click's own lets NaN and infinity pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number of a text; fails where it is not finite."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


overlay_option = click.option(
    "--overlay",
    "overlays",
    multiple=True,
    metavar="FILE",
    help="Apply a file of figures: an overlay, a price list, contracts, an edited workbook; may be repeated, before "
    "scenarios and --set.",
)


def instance_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which instance is meant."""

    @click.argument("source", metavar="INSTANCE")
    @overlay_option
    @click.option(
        "--scenario", "scenarios", multiple=True, metavar="NAME", help="Apply a named scenario; may be repeated."
    )
    @click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="PATH=VALUE",
        help='Override a field, such as limits.capital="3.9 G$" or failures.tray.mtbf=0.5x; may be repeated.',
    )
    @wraps(command)
    def wrapped(
        source: str, overlays: tuple[str, ...], scenarios: tuple[str, ...], settings: tuple[str, ...], **options: Any
    ) -> Any:
        from spareopt.reading import read_instance  # noqa: PLC0415

        instance = read_instance(source, overlays=overlays, scenarios=scenarios, overrides=_overrides(settings))
        changes = [part for file in overlays for part in ("--overlay", file)]
        changes += [part for name in scenarios for part in ("--scenario", name)]
        changes += [part for setting in settings for part in ("--set", setting)]
        return command(given=shlex.join([source, *changes]), instance=instance, **options)

    return wrapped


def _overrides(settings: tuple[str, ...]) -> dict[str, Any]:
    from spareopt.settings import read_value, split_setting  # noqa: PLC0415

    result: dict[str, Any] = {}
    for setting in settings:
        path, text = split_setting("--set", setting, "PATH=VALUE such as limits.capital='3.9 G$'")
        if path in result:
            raise InputError("--set", [Fault(path, "given twice; keep one of them")])
        result[path] = read_value("--set", path, text)
    return result


def model_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that says which model scores plans."""
    return click.option(
        "--model",
        type=click.Choice(["exact", "first-order"]),
        default="exact",
        show_default=True,
        help="The exact model, or the published first-order one for comparison.",
    )(command)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON; nothing else goes to stdout.")


def solve_options_with(
    gap: float = 1e-4,
    gap_help: str = "Relative gap to prove; 0 for the last digit.",
    limit_help: str = "Stop after so many seconds with the best plan found.",
    *,
    models: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options of a solve, with a gap of one's own, what it and the time limit mean, and whether models differ."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option(
                "--gap", type=Finite(0, 1, max_open=True), default=gap, show_default=True, help=gap_help,
            ),
            click.option(
                "--time-limit", type=Finite(0, min_open=True), default=None, metavar="SECONDS", help=limit_help,
            ),
            click.option(
                "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Seed of the solver."
            ),
        ):  # fmt: skip
            command = option(command)
        return model_option(command) if models else command

    return decorate


solve_options = solve_options_with()
EACH_SOLVE = "For each solve: stop it after so many seconds with the best plan found."
many_solves_options = solve_options_with(limit_help=EACH_SOLVE)
"""The same where a command solves many times."""


alike_option = click.option(
    "--alike",
    is_flag=True,
    help="Only plans that build all zones of a class alike: simpler to run, and found much faster.",
)


def processes_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option that says how many processes share the work of a command."""
    return click.option(
        "--processes",
        type=click.IntRange(1, 1024),
        default=1,
        show_default=True,
        metavar="N",
        help=f"{what} side by side; the result does not depend on it.",
    )


plan_option = click.option(
    "--plan", "plan_source", required=True, metavar="PLAN", help="A plan file (YAML or JSON) or a plan folder."
)


def output_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option that names a new folder for the result; it is checked before anything is solved."""

    def checked(_: click.Context, __: click.Parameter, folder: str | None) -> str | None:
        from spareopt.folders import check_new_folder  # noqa: PLC0415

        if folder is not None:
            check_new_folder(folder)
        return folder

    text = f"Write {what} to a new folder."
    return click.option("-o", "--output", metavar="FOLDER", callback=checked, help=text)


runs_option = click.option(
    "--runs",
    metavar="FOLDER",
    help="Keep the run in FOLDER, with others; one that is there, whole and proven, is read back and not made again.",
)


def check_outputs(output: str | None, runs: str | None, report: str | None = None) -> None:
    """Refuse a result folder beside a runs folder (a run that is found has no more than what is kept), and one folder
    for two things."""
    if output is not None and runs is not None:
        raise click.UsageError("-o does not go with --runs, which keeps the folder itself; leave one of them out.")
    for option, folder in (("-o", output), ("--runs", runs)):
        if (
            report is not None
            and folder is not None
            and Path(report).with_suffix("").resolve() == Path(folder).resolve()
        ):
            message = f"{option} and --report {report} both ask for the folder {folder}; name the page otherwise."
            raise click.UsageError(message)


def _checked_workbook(_: click.Context, __: click.Parameter, file: str | None) -> str | None:
    from spareopt.workbooks.names import check_workbook_name  # noqa: PLC0415

    if file is not None:
        check_workbook_name(file)
    return file


excel_option = click.option(
    "--excel",
    metavar="FILE.xlsx",
    callback=_checked_workbook,
    help="Write the plan as a new Excel workbook, whose inputs can be changed and read back with --overlay.",
)


def _checked_report(_: click.Context, __: click.Parameter, file: str | None) -> str | None:
    from spareopt.reports.writing import check_report_name  # noqa: PLC0415

    if file is not None:
        check_report_name(file)
    return file


report_option = click.option(
    "--report",
    metavar="FILE.html",
    callback=_checked_report,
    help="Write the plan as a new HTML page to read and forward, with a folder of its pictures and numbers beside it.",
)
workbook_option = click.option(
    "-o", "--output", metavar="FILE.xlsx", required=True, callback=_checked_workbook, help="The new Excel workbook."
)


def edit_workbook(source: str, file: str) -> str:
    """What to do with a workbook that was written, and the command to try then."""
    return f"change column B of its sheet Inputs, then: {shlex.join(['spareopt', 'solve', source, '--overlay', file])}"


def read_share(option: str, text: str, *, or_zero: bool = False) -> float:
    """A share between 0 and 1 (``or_zero``: 0 too), such as 1% or 0.01.  Raises InputError, which names the option."""
    from spareopt.units import parse_share  # noqa: PLC0415

    try:
        share = parse_share(text)
    except ValueError as error:
        raise InputError(option, [Fault("", f"{error}, got {text!r}")]) from None
    if not 0 <= share < 1 or (share == 0 and not or_zero):
        least = "from 0 to" if or_zero else "above 0 and"
        raise InputError(option, [Fault("", f"expected a share {least} below 100 %, such as 1%, got {text!r}")])
    return share


def typed_again(context: click.Context, names: Collection[str]) -> str:
    """Those of the options named that were given, as they are typed, each after a space."""
    words: list[str] = []
    for option in context.command.params:
        name = str(option.name)
        if name in names and context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE:
            value = context.params[name]
            for item in value if isinstance(value, tuple) else (value,):
                words += [option.opts[0]] if item is True else [option.opts[0], str(item)]
    return "".join(f" {shlex.quote(word)}" for word in words)


def read_plan_option(plan_source: str) -> Decisions:
    """The decisions of a plan that an option names.  Raises InputError."""
    from spareopt.decisions import read_decisions  # noqa: PLC0415

    try:
        return read_decisions(plan_source)
    except OSError as error:  # such as a name too long
        raise InputError(f"{plan_source:.60}", [Fault("", f"can't be read: {error.strerror}")]) from None
