"""The rows of a log's file as codes and moments, read in chunks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.clock import Moments, joined, moments
from spareopt.calibration.codes import Coder, Codes
from spareopt.calibration.incidents import SOFTWARE
from spareopt.calibration.log_mapping import LOG_COLUMNS, LogMapping
from spareopt.calibration.log_times import DATE_ONLY, UNREADABLE, StampParts
from spareopt.calibration.table_columns import find_columns, time_unit
from spareopt.calibration.text_tables import TextTable
from spareopt.errors import Fault, InputError

NAMES = ("unit", "kind", "fault_class", "rack", "zone", "disposition")
"""The columns of names; the others are times."""
_TEXTS_KEPT = 1000  # of times that are none
_DAY_AND_MONTH = re.compile(r"\d{1,2}([/.\-])\d{1,2}\1\d{2,4}\b.*")
_NUMBER = re.compile(r"[-+]?[\d.]+")
_WITH_COMMA = re.compile(r"[-+]?[\d.]*,[\d.,]*")


class RawRows(NamedTuple):
    """What a log's file says, as it says it; arrays of one length."""

    codes: dict[str, Codes]
    """By column of names; -1 where the field is empty or the file has no such column."""
    start: Moments
    end: Moments
    line: NDArray[np.int64]
    ragged: list[tuple[int, str]]
    """Lines with too few or too many fields, which are not in the arrays, and what is wrong."""
    odd: dict[tuple[str, int], str]
    """Texts of start and end, by row, that are no times (the first few)."""
    unit_of_time: str
    has: frozenset[str]
    """What the file has a column for."""


def read_rows(
    table: TextTable, mapping: LogMapping, coders: dict[str, Coder], progress: Callable[[int], None] | None = None
) -> RawRows:
    """The rows of a log.  ``progress`` is told how many are read.  Raises InputError."""
    needed = ("start", "end") if mapping.default_kind == SOFTWARE else ("unit", "start", "end")
    columns = find_columns(table, mapping, LOG_COLUMNS, needed)
    unit_of_time = time_unit(table, mapping, (columns["start"], columns["end"]), "timestamps")
    roles = list(columns)
    codes: dict[str, list[Codes]] = {role: [] for role in NAMES}
    times: dict[str, list[Moments]] = {"start": [], "end": []}
    lines: list[NDArray[np.int64]] = []
    ragged: list[tuple[int, str]] = []
    odd: dict[tuple[str, int], str] = {}
    still_open = frozenset(text.strip().lower() for text in mapping.open_ends)
    parts_of_stamps = StampParts()
    read = 0
    for chunk in table.chunks([columns[role] for role in roles]):
        here = dict(zip(roles, chunk.columns, strict=True))
        ragged += [(line, why) for line, why, _ in chunk.ragged]
        for role in NAMES:
            codes[role].append(
                coders[role].codes(here[role]) if role in here else np.full(len(chunk.line), -1, dtype=np.int32)
            )
        for role, parts in times.items():
            texts = here[role]
            if role == "end" and still_open:
                texts = ["" if text.strip().lower() in still_open else text for text in texts]
            found = moments(texts, unit_of_time, mapping, parts_of_stamps)
            found.state[found.state == DATE_ONLY] = UNREADABLE  # half a day's error is more than many a repair takes
            bad = np.flatnonzero(found.state == UNREADABLE)[: max(0, _TEXTS_KEPT - len(odd))]
            odd.update({(role, read + row): texts[row].strip() for row in bad.tolist()})
            parts.append(found)
        lines.append(chunk.line)
        read += len(chunk.line)
        if progress is not None:
            progress(read)
    if read + len(ragged) == 0:
        raise InputError(table.label, [Fault("", "holds no incidents; expected a row for each below the header")])
    return RawRows(
        {role: np.concatenate(codes.pop(role)) for role in NAMES},  # parts are let go of as soon as they are joined
        joined(times.pop("start")),
        joined(times.pop("end")),
        np.concatenate(lines),
        ragged,
        odd,
        unit_of_time,
        frozenset(columns),
    )


def time_advice(text: str, unit_of_time: str, form: str | None = None) -> str:
    """What to do about a text that is no time where one is expected."""
    absolute = unit_of_time == "timestamps"
    if form is not None:
        return f"is not of the form {form!r}: correct `time_format` in the mapping"
    if _WITH_COMMA.fullmatch(text):
        return 'state what the comma is: `decimal: ","` or `decimal: "."` in the mapping'
    if absolute and _NUMBER.fullmatch(text):
        return (
            "if the log counts hours or days, state `times: hours` or `times: days` in the mapping; if they are "
            "seconds since 1970, `times: epoch seconds`; if Excel's numbers of dates, format the cells as dates"
        )
    if absolute and _DAY_AND_MONTH.fullmatch(text):
        return 'say which is the day and which the month, such as `time_format: "%d/%m/%Y %H:%M"` in the mapping'
    if absolute and re.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}", text):
        return "is a date without a time of day; write the hour and minute, too"
    if absolute:
        return (
            "write times as 2027-01-31 08:00 or 2027-01-31T08:00:00+01:00, or state their `time_format` in the mapping"
        )
    return f"expected a number of {unit_of_time}; if they are timestamps, state `times: timestamps` in the mapping"
