"""A trace of faults to replay: which units were down from when to when, read from a CSV file."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt import units
from spareopt.errors import Fault, InputError
from spareopt.yaml_source import brief

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_FAULTS = 20  # of one file that are told one by one
_UNIT = ("unit", "node")
_TIMES = {("start_h", "end_h"): "h", ("start_day", "end_day"): "d", ("start", "end"): ""}  # the unit of numbers
_NUMBER = re.compile(units.NUMBER)


class Trace(NamedTuple):
    """Intervals in which units were down: by unit and then by start, apart from one another within a unit."""

    source: str
    """Where it comes from, for messages."""
    names: tuple[str, ...]
    """Names of the units, in order of first appearance."""
    unit: Integers
    """The unit of each interval."""
    start_h: Floats
    end_h: Floats
    """At least the start; equal to it for a fault that is back at once."""
    merged: int
    """How many fewer intervals these are than in the source, where some overlapped or touched others of their unit."""


class Events(NamedTuple):
    """What a trace does to trays, in the order in which it is played."""

    time: Floats
    """h."""
    tray: Integers
    down: Integers
    """1: the tray goes down, 0: it is back."""


def trace_events(trace: Trace) -> Events:
    """The events of a trace whose units are the trays 0, 1, 2, … in their order.

    Sorted by time; at equal times trays that come back are first, then those that go down, each by number.  A tray that
    is back at once comes back right after it went down.
    """
    n, at_once = len(trace.unit), trace.end_h == trace.start_h
    time = np.concatenate((trace.start_h, trace.end_h))
    tray = np.concatenate((trace.unit, trace.unit))
    down = np.repeat(np.array([1, 0], dtype=np.int64), n)
    after_returns = np.concatenate((np.ones(n, dtype=np.int64), at_once.astype(np.int64)))
    order = np.lexsort((1 - down, tray, after_returns, time))
    return Events(time[order], tray[order], down[order])


def read_trace(path: str | Path) -> Trace:
    """A trace from a CSV file (UTF-8, comma-separated) with a row for each fault.

    Columns: ``unit`` (or ``node``), and when the unit went down and came back: ``start_h`` and ``end_h``,
    ``start_day`` and ``end_day``, or ``start`` and ``end`` with the unit of time in each value, such as ``93.5 h``.
    Further columns are ignored.  Overlapping or touching intervals of a unit are merged.  Raises InputError with every
    fault of the file.
    """
    label = str(path)
    table = _table(path, label)
    unit_column, start_column, end_column = _columns(table, label)
    unit_of_time = _TIMES[start_column, end_column]
    names: dict[str, int] = {}
    faults: list[Fault] = []
    intervals: list[tuple[int, float, float]] = []
    columns = (table.index, table[unit_column], table[start_column], table[end_column])
    for line, name, start_text, end_text in zip(*(column.tolist() for column in columns), strict=True):
        start, end = (
            _time(text, unit_of_time, column, line, faults)
            for text, column in ((start_text, start_column), (end_text, end_column))
        )
        if not name.strip():
            faults.append(Fault(unit_column, f"expected the name of a unit, got {brief(name)}", line))
            continue
        if start is None or end is None:
            continue
        if end < start:
            message = f"expected at least its {start_column}, {start_text.strip()}, got {end_text.strip()}"
            faults.append(Fault(end_column, message, line))
            continue
        intervals.append((names.setdefault(name.strip(), len(names)), start, end))
    if len(faults) > MOST_FAULTS:
        faults = [*faults[:MOST_FAULTS], Fault("", f"{len(faults) - MOST_FAULTS} faults more")]
    if faults:
        raise InputError(label, faults)
    merged = _merged(intervals)
    unit, start_h, end_h = zip(*merged, strict=True)
    return Trace(
        label,
        tuple(names),
        np.array(unit, dtype=np.int64),
        np.array(start_h, dtype=np.float64),
        np.array(end_h, dtype=np.float64),
        len(intervals) - len(merged),
    )


def _table(path: str | Path, label: str) -> pd.DataFrame:
    """The rows of a file as texts, empty where a row is too short, under its header; the index holds their lines."""
    message = ""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        message = "no such file; expected a CSV file with the columns unit, start_h and end_h"
    except UnicodeDecodeError:
        message = "is not text in UTF-8; expected a CSV file"
    except (OSError, ValueError) as error:  # a ValueError is a name with a NUL
        message = f"can't be read: {getattr(error, 'strerror', None) or error}"
    if message:
        raise InputError(label[:200] or "''", [Fault("", message)])
    try:
        # Without a header, since pandas would take rows that are all one field too long as rows with a name in front.
        rows = pd.read_csv(io.StringIO(text), header=None, dtype=str, keep_default_na=False, skip_blank_lines=False)
    except pd.errors.EmptyDataError:
        raise InputError(label, [Fault("", "is empty; expected a CSV file with a row for each fault")]) from None
    except pd.errors.ParserError as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        message = f"is not a CSV file with as many fields in each line as in its header ({reason})"
        raise InputError(label, [Fault("", message)]) from None
    # A quoted field may run over several lines.
    breaks = sum(rows[column].str.count("\n") for column in rows)
    rows.index = pd.Index(1 + np.arange(len(rows)) + (breaks.cumsum() - breaks).to_numpy())
    header = [name.strip() for name in rows.iloc[0]]
    body = rows.iloc[1:].set_axis(header, axis=1)
    return body[body.apply(lambda column: column.str.strip()).ne("").any(axis=1)]


def _columns(table: pd.DataFrame, label: str) -> tuple[str, str, str]:
    """The columns of units, starts and ends."""
    header = list(table.columns)
    stated = ", ".join(filter(None, header)) or "nothing"
    faults = []
    unit = next((name for name in _UNIT if name in header), None)
    pairs = [pair for pair in _TIMES if set(pair) <= set(header)]
    if unit is None:
        faults.append(Fault("unit", f"no such column; expected unit (or node) in the header, got {stated}", 1))
    if not pairs:
        message = 'expected start_h and end_h, start_day and end_day, or start and end with values such as "93.5 h"'
        faults.append(Fault("start_h, end_h", f"no such columns; {message}; got {stated}", 1))
    if len(pairs) > 1:
        both = " and ".join(", ".join(pair) for pair in pairs)
        faults.append(Fault(pairs[1][0], f"expected the times once, got both {both}; rename or drop two columns", 1))
    used = ([unit] if unit else []) + [name for pair in pairs[:1] for name in pair]
    faults += [
        Fault(name, f"expected one column of that name, got {header.count(name)}", 1)
        for name in used
        if header.count(name) > 1
    ]
    if not faults and table.empty:
        faults.append(Fault("", "holds no faults; expected a row for each fault below the header"))
    if faults or unit is None:
        raise InputError(label, faults)
    return unit, *pairs[0]


def _time(text: str, unit: str, column: str, line: int, faults: list[Fault]) -> float | None:
    """A time in h from a number of ``unit``, or where that is empty from one with its own; None and a fault if bad."""
    expected = {"h": "a number of hours", "d": "a number of days", "": 'a time such as "93.5 h"'}[unit]
    message = f"expected {expected}"
    quantity = text.strip()
    number = _NUMBER.fullmatch(quantity)
    if number is not None and (unit or units.number_of(quantity) == 0):  # as in instances, 0 needs no unit
        quantity = f"{quantity} {unit or 'h'}"
    if number is not None or (quantity and not unit):
        try:
            value = units.parse(quantity, units.TIME)
        except ValueError as error:
            message = str(error)
        else:
            if value >= 0:
                return value
            message = f"{message} of at least zero"
    faults.append(Fault(column, f"{message}, got {brief(text)}", line))
    return None


def _merged(intervals: list[tuple[int, float, float]]) -> list[tuple[int, float, float]]:
    """The intervals by unit and start; those of a unit that overlap or touch become one."""
    result: list[tuple[int, float, float]] = []
    for unit, start, end in sorted(intervals):
        if result and result[-1][0] == unit and start <= result[-1][2]:
            result[-1] = (unit, result[-1][1], max(result[-1][2], end))
        else:
            result.append((unit, start, end))
    return result
