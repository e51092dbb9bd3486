"""Texts of times as numbers: hours, or microseconds since 1970; what is no time is told apart, never guessed.

A timestamp is a year, month and day, an hour and a minute (ISO 8601, with T or spaces before the hour, to the second or
a fraction of it), then nothing, Z, UTC or an offset.  24:00 is the next midnight and second 60 the next minute.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt import units
from spareopt.calibration.byte_fields import Fields, TextIndex

OK, EMPTY, UNREADABLE, DATE_ONLY, TWICE, NEVER = range(6)
"""What a text is: a time, nothing, no time, a date without a time of day, a local time that the clock shows twice (set
back in autumn), or never (set forward in spring)."""
NOTHING = frozenset(("", "nan", "nat", "null", "none", "n/a", "na", "<na>", "-"))
"""Texts of empty fields, in any case."""
MICROSECONDS_PER_HOUR = 3_600_000_000
_FORMS = {
    "%Y-%m-%dT%H:%M:%S": (19,),
    "%Y-%m-%d %H:%M:%S": (19,),
    "%Y-%m-%dT%H:%M:%S%z": (20, 24, 25),
    "%Y-%m-%d %H:%M:%S%z": (20, 24, 25),
    "%Y-%m-%d %H:%M": (16,),
    "%Y-%m-%dT%H:%M%z": (17, 21, 22),
    "%Y-%m-%d %H:%M%z": (17, 21, 22),
}
"""Forms that are read many at once, with the lengths of their texts."""
_SHORTEST = 8  # characters of a day and a time of day; pandas also takes the words now and today for times
_STAMP = re.compile(
    r"(\d{4})([-/])(\d{1,2})\2(\d{1,2})"
    r"(?:(?:[Tt]| +)(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s*(Z|z|UTC|GMT|[-+]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_NUMBER = re.compile(units.NUMBER)
_DECIMAL_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?(?:[eE][-+]?\d+)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ANY_DAY = "2000-01-01"
_ANY_MIDNIGHT = (datetime(2000, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


class Numbers(NamedTuple):
    """Numbers of a column."""

    value: NDArray[np.float64]
    """NaN where the text is none."""
    state: NDArray[np.int8]


class Stamps(NamedTuple):
    """Timestamps of a column."""

    microseconds: NDArray[np.int64]
    """Since 1970 in UTC, or in local time where no offset is stated."""
    local: NDArray[np.bool_]
    """Whether the text states no offset."""
    state: NDArray[np.int8]


def numbers(texts: Sequence[str], decimal: Literal[".", ","] | None) -> Numbers:
    """The numbers of texts.  A comma is refused as long as nobody said what it means."""
    value = np.full(len(texts), np.nan)
    state = np.full(len(texts), EMPTY, dtype=np.int8)
    try:
        value[:] = [float(text or "nan") for text in texts] if decimal is None else np.nan
    except ValueError:
        left = np.arange(len(texts))
    else:
        finite = np.isfinite(value)
        state[finite] = OK
        left = np.flatnonzero(~finite)
    for row in left.tolist():
        if texts[row]:
            value[row], state[row] = _number(texts[row].strip(), decimal)
    return Numbers(value, state)


def _number(text: str, decimal: Literal[".", ","] | None) -> tuple[float, int]:
    if text.lower() in NOTHING:
        return np.nan, EMPTY
    if decimal == "," and _DECIMAL_COMMA.fullmatch(text):
        return float(text.replace(".", "").replace(",", ".")), OK
    if decimal != "," and _NUMBER.fullmatch(text) and (decimal or "," not in text):
        value = units.number_of(text)
        if np.isfinite(value):
            return value, OK
    return np.nan, UNREADABLE


def stamps(texts: Sequence[str], form: str | None) -> Stamps:
    """The timestamps of texts, in ISO 8601 or in a ``form`` of strptime."""
    result = Stamps(
        np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.bool_), np.full(len(texts), -1, np.int8)
    )
    column = np.array(texts, dtype=object)
    nothing = column == ""
    result.state[nothing] = EMPTY
    left = np.flatnonzero(~nothing)
    length = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    for each in (form,) if form else _FORMS:
        fits = length[left] >= _SHORTEST if form else np.isin(length[left], _FORMS[each])
        tried = left[fits]
        if len(tried) == 0:
            continue
        offset = "%z" in each
        found = pd.to_datetime(pd.Index(column[tried], dtype=object), format=each, errors="coerce", utc=offset)
        good = np.asarray(found.notna())
        if good.any():
            naive = found.tz_localize(None) if offset else found
            rows = tried[good]
            result.microseconds[rows] = naive[good].to_numpy().astype("datetime64[us]").astype(np.int64)
            result.local[rows] = not offset
            result.state[rows] = OK
            left = np.setdiff1d(left, rows, assume_unique=True)
    for row in left.tolist():
        text = column[row].strip()
        if text.lower() in NOTHING:
            result.state[row] = EMPTY
        elif form is None:
            result.microseconds[row], result.local[row], result.state[row] = _stamp(text)
        else:
            result.state[row] = UNREADABLE
    return result


_NO_STAMP = Stamps(np.zeros(1, np.int64), np.zeros(1, np.bool_), np.full(1, UNREADABLE, np.int8))


def _joined(*parts: Stamps) -> Stamps:
    return Stamps(
        np.concatenate([part.microseconds for part in parts]),
        np.concatenate([part.local for part in parts]),
        np.concatenate([part.state for part in parts]),
    )


def _taken(found: Stamps, rows: NDArray[np.int64] | slice) -> Stamps:
    return Stamps(found.microseconds[rows], found.local[rows], found.state[rows])


class _Part:
    """A part of timestamps: what each text of it that follows a pattern adds to the whole."""

    def __init__(self, pattern: str, before: str, after: str) -> None:
        self._pattern, self._before, self._after = re.compile(pattern, re.ASCII | re.DOTALL), before, after
        self._index = TextIndex(100_000)  # fractions of a second are too many to be worth it
        self._known = _NO_STAMP  # the last one is that of -1

    def of(self, fields: Fields) -> Stamps:
        """What each field says within the day or on the day that the pattern leaves out."""
        number, first = self._index.find(fields)
        if len(first):
            texts = fields.at(first, "replace")
            found = stamps([self._before + text + self._after for text in texts], None)
            fits = np.fromiter((self._pattern.fullmatch(text) is not None for text in texts), np.bool_, len(texts))
            found.state[~fits] = UNREADABLE
            self._known = _joined(_taken(self._known, slice(-1)), found, _NO_STAMP)
        return _taken(self._known, number)


class StampParts:
    """Timestamps in ISO 8601 of the columns of a file, by their days, their times of day and what comes behind these.

    Each different one is read once, by ``stamps``; that they add up holds for four digits of the year, two of all
    else, and hours up to 23.  Every other timestamp is read as a whole.
    """

    def __init__(self) -> None:
        self._day = _Part(r"\d{4}-\d\d-\d\d", "", "T00:00:00Z")
        self._clock = _Part(r"[Tt ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?", _ANY_DAY, "")
        self._rest = _Part(r".*", _ANY_DAY + "T00:00:00", "")

    def stamps(self, fields: Fields) -> Stamps:
        """The timestamps of a column, as ``stamps`` finds them."""
        parts = (self._day.of(fields.part(0, 10)), self._clock.of(fields.part(10, 19)), self._rest.of(fields.part(19)))
        day, clock, rest = parts
        result = Stamps(
            day.microseconds + (clock.microseconds - _ANY_MIDNIGHT) + (rest.microseconds - _ANY_MIDNIGHT),
            rest.local.copy(),
            np.full(len(fields), OK, dtype=np.int8),
        )
        left = np.flatnonzero(np.any([part.state != OK for part in parts], axis=0))
        single = stamps(fields.at(left), None)
        result.microseconds[left], result.local[left], result.state[left] = single
        return result


def _stamp(text: str) -> tuple[int, bool, int]:
    """Microseconds, whether they are local, and the state of one text that ISO 8601 may describe."""
    match = _STAMP.fullmatch(text)
    if match is None:
        return 0, False, UNREADABLE
    year, _, month, day, hour, minute, second, fraction, offset = match.groups()
    try:
        start = datetime(int(year), int(month), int(day), tzinfo=UTC)
    except ValueError:
        return 0, False, UNREADABLE
    if hour is None:
        return (start - _EPOCH) // timedelta(microseconds=1), True, DATE_ONLY
    h, m, s = int(hour), int(minute), int(second or 0)
    micro = int((fraction or "0")[:6].ljust(6, "0"))
    if h > 24 or m > 59 or s > 60 or (h == 24 and (m or s or micro)):
        return 0, False, UNREADABLE
    total = (start - _EPOCH) // timedelta(microseconds=1) + ((h * 60 + m) * 60 + s) * 1_000_000 + micro
    if offset is not None and offset.upper() not in ("Z", "UTC", "GMT"):
        digits = offset[1:].replace(":", "").ljust(4, "0")
        ahead = int(digits[:2]) * 60 + int(digits[2:])
        if ahead >= 24 * 60 or int(digits[2:]) > 59:
            return 0, False, UNREADABLE
        total -= (-ahead if offset[0] == "-" else ahead) * 60_000_000
    return total, offset is None, OK


def to_utc(found: Stamps, where: tzinfo) -> Stamps:
    """Timestamps with the local ones put into UTC; those that the clock shows twice or never get that state."""
    rows = np.flatnonzero(found.local & ((found.state == OK) | (found.state == DATE_ONLY)))
    if len(rows) == 0:
        return found
    local = pd.DatetimeIndex(found.microseconds[rows].astype("datetime64[us]"))
    microseconds, state = found.microseconds.copy(), found.state.copy()
    placed = local.tz_localize(where, ambiguous="NaT", nonexistent="NaT")
    bad = np.asarray(placed.isna())
    if bad.any():
        forward = local[bad].tz_localize(where, ambiguous="NaT", nonexistent=pd.Timedelta(hours=1))
        state[rows[bad]] = np.where(np.asarray(forward.isna()), TWICE, NEVER)
    good = ~bad
    utc = placed[good].tz_convert(timezone.utc).tz_localize(None)  # noqa: UP017
    microseconds[rows[good]] = utc.to_numpy().astype("datetime64[us]").astype(np.int64)
    return Stamps(microseconds, found.local, state)
