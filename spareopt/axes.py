"""Axes of a grid of what-ifs: the paths that move together, and the values they take."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal

from spareopt import units
from spareopt.errors import Fault, InputError
from spareopt.overrides import canonical, meeting
from spareopt.settings import NO_SCENARIO, SCENARIO, read_value
from spareopt.what_if import Changes
from spareopt.yaml_source import brief, flow

Spacing = Literal["listed", "even", "log"]
GRAMMAR = "PATH[,PATH...]=VALUE,VALUE,... or PATH[,PATH...]=LOW:HIGH:COUNT[:log]"
MOST_VALUES = 10_000
_DIGITS = 12  # significant ones of a value between the ends of a range, so that rounding does not show
_END = re.compile(rf"\s*({units.NUMBER})\s*(.*?)\s*", re.DOTALL)
_CLOSING = {"[": "]", "{": "}", "(": ")"}


@dataclass(frozen=True)
class Axis:
    """One axis: each value is given to all its paths; a value may be a multiple such as "0.5x" of what stands there.

    The path ``scenario`` takes names of scenarios, and None for no scenario.
    """

    paths: tuple[str, ...]
    values: tuple[Any, ...]
    spacing: Spacing = "listed"

    @property
    def label(self) -> str:
        """The paths, as they were written."""
        return ",".join(self.paths)

    @property
    def texts(self) -> tuple[str, ...]:
        """The values as they would be typed."""
        return tuple(_value_text(value, self.paths == (SCENARIO,)) for value in self.values)

    def changes(self, value: Any) -> Changes:
        """What one value of the axis changes."""
        if self.paths == (SCENARIO,) and value is None:
            return {}
        return dict.fromkeys(self.paths, value)


def parse_axis(text: str, option: str = "axis") -> Axis:
    """The axis of a text such as ``limits.capital=3 G$,4 G$`` or ``failures.tray.mtbf=0.25x:8x:13:log``.

    Several paths, separated by commas, are tied: each gets the same value or multiple.  Values are read as in an
    instance file.  A range has COUNT values from LOW to HIGH, evenly spaced, or in equal ratios with ``:log``; both
    ends have the same unit.  Raises InputError, which names ``option``.
    """
    left, equals, right = text.partition("=")
    paths = tuple(path.strip() for path in left.split(","))

    def refuse(message: str) -> InputError:
        return InputError(option, [Fault(left.strip(), message)])

    if not equals or not all(paths):
        raise InputError(option, [Fault("", f"expected {GRAMMAR}, got {text!r}")])
    if twice := _twice(paths):
        raise refuse(f"{twice} is given twice; keep one of them")
    if met := _meet(paths):
        raise refuse(f"{met[0]} and {met[1]} name the same field; keep one of them")
    if SCENARIO in paths and len(paths) > 1:
        raise refuse(f"{SCENARIO} can't be tied to other paths; give it an axis of its own")
    pieces = _split(right, ",")
    if pieces is None:
        raise refuse(f"brackets or quotes do not match in {right.strip()!r}")
    if not all(piece.strip() for piece in pieces):
        raise refuse(f"expected {GRAMMAR}, got an empty value in {right.strip()!r}; write null for no value")
    spacing: Spacing = "listed"
    parts = _split(pieces[0], ":") or []
    if len(pieces) == 1 and len(parts) > 1:
        if SCENARIO in paths:
            raise refuse("expected names of scenarios, separated by commas")
        try:
            values, spacing = _range([part.strip() for part in parts])
        except ValueError as error:
            raise refuse(str(error)) from None
    elif any(len(_split(piece, ":") or []) > 1 for piece in pieces):
        raise refuse(f"expected either values or one range LOW:HIGH:COUNT[:log], got {right.strip()!r}")
    elif SCENARIO in paths:
        values = [None if piece.strip() == NO_SCENARIO else piece.strip() for piece in pieces]
    else:
        values = [read_value(option, left.strip(), piece) for piece in pieces]
    axis = Axis(paths, tuple(values), spacing)
    if twice := _twice(axis.texts):
        raise refuse(f"the value {twice} is given twice; keep one of them")
    return axis


def grid(axes: Sequence[Axis], data: Mapping[str, Any] | None = None) -> list[Changes]:
    """The changes of every point of the grid; the last axis moves fastest.

    ``data`` (plain, of the instance) tells by which paths one input is named in two ways.  Raises InputError where an
    input is given twice.
    """
    known: dict[tuple[str, ...], tuple[int, str]] = {}
    for place, path in ((place, path) for place, axis in enumerate(axes) for path in axis.paths):
        other, first = known.setdefault(canonical(data or {}, path), (place, path))
        if first == path and other != place:
            raise InputError("axes", [Fault(path, "is on two axes; keep it on one of them")])
        if (other, first) != (place, path):
            message = f"names the same input as {first}, so it is given twice; keep one of them"
            raise InputError("axes", [Fault(path, message)])
    if met := _meet([path for axis in axes for path in axis.paths]):
        raise InputError("axes", [Fault(met[1], f"names a field of {met[0]} too, on another axis; keep one of them")])
    points = product(*([axis.changes(value) for value in axis.values] for axis in axes))
    return [{path: value for part in point for path, value in part.items()} for point in points]


def check_values(axes: Sequence[Axis], found: Sequence[str]) -> None:
    """Refuse two values of an axis that come to the same at every point.

    ``found`` has, for each point of the grid, a text that is the same for equal instances.  Raises InputError.
    """
    places = list(product(*(range(len(axis.values)) for axis in axes)))
    for a, axis in enumerate(axes):
        lines: list[list[str]] = [[] for _ in axis.values]
        for place, text in zip(places, found, strict=True):
            lines[place[a]].append(text)
        first: dict[tuple[str, ...], int] = {}
        for value, line in enumerate(lines):
            if (same := first.setdefault(tuple(line), value)) != value:
                message = f"the values {axis.texts[same]} and {axis.texts[value]} come to the same; keep one of them"
                raise InputError("axes", [Fault(axis.label, message)])


def _meet(paths: Sequence[str]) -> tuple[str, str] | None:
    return next((pair for pair in combinations(paths, 2) if meeting(*pair)), None)


def _twice(words: Iterable[str]) -> str | None:
    return next((word for word, count in Counter(words).items() if count > 1), None)


def _value_text(value: Any, scenario: bool) -> str:
    if value is None:
        return NO_SCENARIO if scenario else "null"
    return flow(value) if isinstance(value, dict | list) else value if isinstance(value, str) else brief(value)


def _split(text: str, mark: str) -> list[str] | None:
    """The parts between marks that stand outside brackets and quotes; None where these do not match."""
    parts, open_brackets, quote = [""], [], ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _CLOSING:
            open_brackets.append(_CLOSING[letter])
        elif letter in _CLOSING.values() and (not open_brackets or open_brackets.pop() != letter):
            return None
        if letter == mark and not open_brackets and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return None if open_brackets or quote else parts


def _range(parts: list[str]) -> tuple[list[Any], Spacing]:
    """The values of LOW:HIGH:COUNT[:log].  Raises ValueError."""
    if len(parts) not in (3, 4) or (len(parts) == 4 and parts[3] != "log"):
        raise ValueError(f"expected a range LOW:HIGH:COUNT[:log] such as 0.25x:4x:9:log, got {':'.join(parts)!r}")
    ends = [_END.fullmatch(part) for part in parts[:2]]
    for part, end in zip(parts, ends, strict=False):
        if end is None:
            raise ValueError(f"expected a range between numbers, got {part!r}; list other values with commas")
    (low, unit), (high, high_unit) = ((units.number_of(end[1]), end[2]) for end in ends if end is not None)
    if unit != high_unit:
        raise ValueError(f"expected the same unit at both ends of a range, got {parts[0]!r} and {parts[1]!r}")
    if not parts[2].isascii() or not parts[2].isdigit() or not 2 <= int(parts[2][:9]) <= MOST_VALUES:
        raise ValueError(f"expected from 2 to {MOST_VALUES:,} values in a range, got {parts[2]!r}")
    if low == high or not math.isfinite(high - low):
        raise ValueError(f"expected two different finite ends of a range, got {parts[0]!r} and {parts[1]!r}")
    steps = int(parts[2]) - 1
    if len(parts) == 3:
        numbers = [low + (high - low) * (step / steps) for step in range(steps)]
    elif min(low, high) > 0:
        ratio = math.log(high) - math.log(low)
        numbers = [math.exp(math.log(low) + ratio * (step / steps)) for step in range(steps)]
    else:
        raise ValueError(f"expected both ends of a logarithmic range above zero, got {parts[0]!r} and {parts[1]!r}")
    rounded = [float(f"{number:.{_DIGITS}g}") for number in numbers[1:]]
    whole = "." not in parts[0] + parts[1] and all(number == int(number) for number in rounded)
    spaced = "" if unit.startswith("x") or unit == "%" else " "
    values = [
        f"{_digits(number)}{spaced}{unit}" if unit else int(number) if whole else number
        for number in [low, *rounded, high]
    ]
    return values, "log" if len(parts) == 4 else "even"


def _digits(number: float) -> str:
    """The shortest text that reads back to the same float."""
    return repr(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
