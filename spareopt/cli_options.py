"""Options that several commands share, and what they read."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from spareopt.errors import Fault, InputError

if TYPE_CHECKING:
    from spareopt.decisions import Decisions


class Finite(click.FloatRange):
    """A number in a range; click's own lets NaN and infinity pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def instance_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which instance is meant."""

    @click.argument("source", metavar="INSTANCE")
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
    def wrapped(source: str, scenarios: tuple[str, ...], settings: tuple[str, ...], **options: Any) -> Any:
        from spareopt.reading import read_instance  # noqa: PLC0415

        instance = read_instance(source, scenarios=scenarios, overrides=_overrides(settings))
        changes = [part for name in scenarios for part in ("--scenario", name)]
        changes += [part for setting in settings for part in ("--set", setting)]
        return command(given=shlex.join([source, *changes]), instance=instance, **options)

    return wrapped


def _overrides(settings: tuple[str, ...]) -> dict[str, Any]:
    from spareopt.yaml_source import parse_value  # noqa: PLC0415

    result: dict[str, Any] = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        path = path.strip()
        if not equals or not path:
            message = f"expected PATH=VALUE such as limits.capital='3.9 G$', got {setting!r}"
            raise InputError("--set", [Fault("", message)])
        if path in result:
            raise InputError("--set", [Fault(path, "given twice; keep one of them")])
        try:
            result[path] = parse_value(text)
        except InputError as error:
            raise InputError("--set", [Fault(path, fault.message) for fault in error.faults]) from None
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


def solve_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a solve."""
    for option in (
        click.option(
            "--gap",
            type=Finite(0, 1, max_open=True),
            default=1e-4,
            show_default=True,
            help="Relative gap to prove; 0 for the last digit.",
        ),
        click.option(
            "--time-limit",
            type=Finite(0, min_open=True),
            default=None,
            metavar="SECONDS",
            help="Stop after so many seconds with the best plan found.",
        ),
        click.option(
            "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Seed of the solver."
        ),
    ):
        command = option(command)
    return model_option(command)


def read_plan_option(plan_source: str) -> Decisions:
    """The decisions of a plan that an option names.  Raises InputError."""
    from spareopt.decisions import read_decisions  # noqa: PLC0415

    try:
        return read_decisions(plan_source)
    except OSError as error:  # such as a name too long
        raise InputError(f"{plan_source:.60}", [Fault("", f"can't be read: {error.strerror}")]) from None
