"""A table of candidates and its caps: checked, then as plain arrays.

Everything wrong with a table is found before anything is solved, and named by column and row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.errors import Fault, InputError
from spareopt.limits import LIMIT_TOLERANCE

Array = NDArray[np.float64]
Label = int | str
Cap = float | tuple[float | None, float | None]
"""The most a column's total may be, or its (least, most) with None where there is no such limit."""
LARGEST_LOG = 700.0  # exp of more is no number any more
SHOWN = 3  # faulty rows of one column that are named


@dataclass(frozen=True)
class CapRange:
    """The totals that a cap allows for one column."""

    column: str
    numbers: Array
    """Of each candidate."""
    low: float | None
    high: float | None

    def tolerance(self, bound: float) -> float:
        """How far a total may be beyond a limit for rounding alone.

        Of a limit of zero it is a share of the column's largest number instead.
        """
        return LIMIT_TOLERANCE * (abs(bound) or float(np.abs(self.numbers).max()))


@dataclass(frozen=True)
class SelectionTable:
    """Candidates by row: their groups, log-values and numbers under caps."""

    frame: pd.DataFrame
    labels: tuple[Label, ...]
    """Of the rows, from the frame's index."""
    groups: tuple[Label, ...]
    """In the order of their first candidates."""
    group: NDArray[np.int64]
    members: tuple[int, ...]
    log_value: Array
    caps: tuple[CapRange, ...]

    @property
    def highest(self) -> Array:
        """The best log-value of each group."""
        return np.array([self.log_value[self.group == z].max() for z in range(len(self.groups))])

    def total(self, numbers: Array, counts: Mapping[int, int]) -> float:
        """The sum of a column over all members of a choice, rounded once."""
        return fsum(count * float(numbers[row]) for row, count in counts.items())

    def fingerprint(self) -> str:
        """SHA-256 of all that a selection depends on."""
        numbers: dict[str, Any] = {
            "labels": self.labels,
            "groups": self.groups,
            "group": self.group.tolist(),
            "members": self.members,
            "log_value": self.log_value.tolist(),
            "caps": [(cap.column, cap.low, cap.high, cap.numbers.tolist()) for cap in self.caps],
        }
        return hashlib.sha256(json.dumps(numbers).encode()).hexdigest()


def read_table(
    candidates: pd.DataFrame,
    caps: Mapping[str, Cap],
    *,
    group: str,
    factor: str | None,
    log_value: str | None,
    members: Mapping[Label, int] | None = None,
) -> SelectionTable:
    """Check a table of candidates and its caps.  Raises InputError with every fault found."""
    _check_frame(candidates)
    faults: list[Fault] = []
    if (factor is None) == (log_value is None):
        stated = "neither is" if factor is None else "both are"
        message = f"{stated} given, expected one; name the column of factors, or that of their logarithms"
        raise InputError("select", [Fault("factor, log_value", message)])
    ranges = _cap_ranges(caps, faults)
    value = str(factor if factor is not None else log_value)
    for column in (group, value, *ranges):
        if column not in candidates.columns:
            known = ", ".join(map(str, candidates.columns))
            faults.append(
                Fault(str(column), f"there is no such column, expected one of: {known}; add it or name another")
            )
    if faults:
        raise InputError("candidates", faults)
    labels = _labels(candidates.index, "index", faults)
    groups = _labels(candidates[group], group, faults)
    values = _numbers(candidates, value, faults)
    numbers = {column: _numbers(candidates, column, faults) for column in ranges}
    if faults:
        raise InputError("candidates", faults)
    if factor is not None:
        _check_factors(candidates, factor, values)
        values = np.log(values)
    names = tuple(dict.fromkeys(groups))
    place = {name: z for z, name in enumerate(names)}
    table = SelectionTable(
        frame=candidates,
        labels=labels,
        groups=names,
        group=np.array([place[name] for name in groups], dtype=np.int64),
        members=_members(candidates[group], names, {} if members is None else members),
        log_value=values,
        caps=tuple(CapRange(column, numbers[column], *limits) for column, limits in ranges.items()),
    )
    largest = sum(number * float(np.abs(values[table.group == z]).max()) for z, number in enumerate(table.members))
    if largest > LARGEST_LOG:
        message = (
            f"products reach exp(±{largest:,.6g}), expected at most exp(±{LARGEST_LOG:g}), the range of numbers; "
            "subtract a constant from the logarithms of each group, or drop worthless candidates"
        )
        raise InputError("candidates", [Fault(value, message)])
    return table


def _check_frame(candidates: object) -> None:
    if not isinstance(candidates, pd.DataFrame):
        message = f"got {type(candidates).__name__}, expected a pandas DataFrame with a row for each candidate"
        raise InputError("select", [Fault("candidates", message)])
    faults = []
    if candidates.empty:
        faults.append(Fault("", "there are no rows, expected at least one candidate"))
    if isinstance(candidates.index, pd.MultiIndex):
        faults.append(Fault("index", "has several levels, expected one label a row; use candidates.reset_index()"))
    elif not candidates.index.is_unique:
        twice = candidates.index[candidates.index.duplicated()].tolist()[0]
        message = f"{twice!r} labels more than one row, expected one; use candidates.reset_index(drop=True)"
        faults.append(Fault("index", message))
    if not candidates.columns.is_unique:
        twice = candidates.columns[candidates.columns.duplicated()][0]
        faults.append(Fault(str(twice), "names more than one column, expected one; rename or drop the others"))
    if faults:
        raise InputError("candidates", faults)


def _cap_ranges(caps: object, faults: list[Fault]) -> dict[str, tuple[float | None, float | None]]:
    if not isinstance(caps, Mapping):
        message = f"got {type(caps).__name__}, expected a mapping of columns to limits such as {{'cost': 130}}"
        raise InputError("select", [Fault("caps", message)])
    ranges: dict[str, tuple[float | None, float | None]] = {}
    for column, cap in caps.items():
        ends = tuple(cap) if isinstance(cap, tuple | list) else (None, cap)
        where = f"caps[{column!r}]"
        if not isinstance(column, str):
            faults.append(Fault(where, f"the column is named {column!r}, expected text; rename the table's columns"))
            continue
        if len(ends) != 2 or ends == (None, None) or any(end is not None and not _is_number(end) for end in ends):
            message = f"got {cap!r}, expected a finite number, or (least, most) with None where there is no limit"
            faults.append(Fault(where, message))
            continue
        low, high = (None if end is None else float(end) for end in ends)
        if low is not None and high is not None and low > high:
            faults.append(Fault(where, f"got {cap!r}, expected (least, most); swap the two"))
        ranges[column] = (low, high)
    return ranges


def _is_number(value: object) -> bool:
    return isinstance(value, Real | np.number) and not isinstance(value, bool | np.bool_) and isfinite(float(value))


def _labels(values: pd.Index | pd.Series, column: str, faults: list[Fault]) -> tuple[Label, ...]:
    """Names of rows or groups, as text or whole numbers: what a result can be written with and read back."""
    labels: list[Label] = []
    index = values.index if isinstance(values, pd.Series) else range(len(values))
    for row, label in zip(index, values.tolist(), strict=True):
        if isinstance(label, str):
            labels.append(label)
        elif isinstance(label, Integral) and not isinstance(label, bool):
            labels.append(int(label))
        else:
            message = f"row {row!r} holds {label!r}, expected text or a whole number"
            faults.append(Fault(column, f"{message}; name it, or drop the row"))
            break
    return tuple(labels)


def _numbers(candidates: pd.DataFrame, column: str, faults: list[Fault]) -> Array:
    series = candidates[column]
    if not pd.api.types.is_numeric_dtype(series) or pd.api.types.is_complex_dtype(series):
        row, value = next(
            ((row, value) for row, value in series.items() if not _is_number(value)), (series.index[0], series.iloc[0])
        )
        message = f"row {row!r} holds {value!r} (column of {series.dtype}), expected numbers; use pd.to_numeric"
        faults.append(Fault(column, message))
        return np.zeros(len(series))
    numbers: Array = series.to_numpy(dtype=np.float64, na_value=np.nan)
    if len(bad := np.flatnonzero(~np.isfinite(numbers))):
        rows = _rows(candidates, bad)
        message = f"{rows} {numbers[bad[0]]}, expected a finite number; fill it in or drop the row"
        faults.append(Fault(column, message))
    return numbers


def _check_factors(candidates: pd.DataFrame, factor: str, values: Array) -> None:
    bad = np.flatnonzero((values <= 0.0) | (values > 1.0))
    if len(bad):
        message = (
            f"{_rows(candidates, bad)} {values[bad[0]]}, expected above 0 and at most 1, such as a reliability; "
            "drop candidates that never work; give other values as logarithms, by log_value"
        )
        raise InputError("candidates", [Fault(factor, message)])


def _rows(candidates: pd.DataFrame, places: NDArray[np.int64]) -> str:
    """Which rows are at fault: "row 'a' holds", or "rows 'a', 'b', … (7 in all) hold", the value of the first next."""
    shown = ", ".join(repr(label) for label in candidates.index[places[:SHOWN]].tolist())
    if len(places) == 1:
        return f"row {shown} holds"
    more = f", … ({len(places):,} in all)" if len(places) > SHOWN else ""
    return f"rows {shown}{more} are wrong, the first holds"


def _members(column: pd.Series, names: tuple[Label, ...], members: Mapping[Label, int]) -> tuple[int, ...]:
    if not isinstance(members, Mapping):
        message = f"got {members!r:.60}, expected the number of members by group, such as {{{names[0]!r}: 2}}"
        raise InputError("select", [Fault("members", message)])
    faults = []
    empty = [name for name in members if name not in names]
    if isinstance(column.dtype, pd.CategoricalDtype):
        empty += [name for name in column.cat.categories.tolist() if name not in names]
    for name in dict.fromkeys(empty):
        faults.append(Fault(f"group {name!r}", "has no candidates, expected at least one; add some or drop the group"))
    numbers = [members.get(name, 1) for name in names]
    for name, number in zip(names, numbers, strict=True):
        if not isinstance(number, Integral) or isinstance(number, bool) or number < 1:
            message = f"got {number!r}, expected a whole number of at least 1"
            faults.append(Fault(f"members[{name!r}]", f"{message}; leave a group out that has no members"))
    if faults:
        raise InputError("select", faults)
    return tuple(int(number) for number in numbers)
