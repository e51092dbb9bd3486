"""One clock for a log and its fleet: texts of times as moments, moments as hours from the clock's origin."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.byte_fields import Fields
from spareopt.calibration.log_mapping import TableFormat
from spareopt.calibration.log_times import (
    DATE_ONLY,
    MICROSECONDS_PER_HOUR,
    OK,
    UNREADABLE,
    StampParts,
    Stamps,
    numbers,
    stamps,
    to_utc,
)

_PER_UNIT = {"epoch seconds": 1e6, "epoch milliseconds": 1e3}
_LATEST_EPOCH = 253_402_300_800.0 * 1e6  # the year 10000, in microseconds


class Moments(NamedTuple):
    """Times of a column: hours of the log's own count, or microseconds since 1970."""

    value: NDArray[np.float64] | NDArray[np.int64]
    local: NDArray[np.bool_]
    """Whether a timestamp states no offset."""
    state: NDArray[np.int8]
    """As in ``spareopt.calibration.log_times``."""


def moments(texts: Sequence[str], unit: str, layout: TableFormat, parts: StampParts | None = None) -> Moments:
    """The times of texts that are written in a unit: hours, days, timestamps, epoch seconds or milliseconds.

    ``parts`` holds what is known of a file's timestamps from chunk to chunk; the times are the same without it.
    """
    if unit == "timestamps":
        if parts is not None and layout.time_format is None and isinstance(texts, Fields):
            return Moments(*parts.stamps(texts))
        return Moments(*stamps(texts, layout.time_format))
    found = numbers(texts, layout.decimal)
    nowhere = np.zeros(len(texts), dtype=np.bool_)
    if unit in ("hours", "days"):
        return Moments(found.value * (24.0 if unit == "days" else 1.0), nowhere, found.state)
    value = found.value * _PER_UNIT[unit]
    state = np.where(np.abs(value) > _LATEST_EPOCH, np.int8(UNREADABLE), found.state)
    value = np.where(state == OK, value, 0.0)
    return Moments(np.rint(value).astype(np.int64), nowhere, state)


def joined(parts: Sequence[Moments]) -> Moments:
    """The times of parts of a column, one after the other."""
    return Moments(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def unplaced(times: Moments) -> int | None:
    """The first timestamp that states no offset; None where all do."""
    rows = np.flatnonzero(times.local & ((times.state == OK) | (times.state == DATE_ONLY)))
    return int(rows[0]) if len(rows) else None


def placed(times: Moments, where: tzinfo) -> Moments:
    """Timestamps without offset taken as local times of a zone."""
    if not times.local.any():
        return times
    return Moments(*to_utc(Stamps(times.value.astype(np.int64), times.local, times.state), where))


def hours(times: Moments, origin: int | None) -> NDArray[np.float64]:
    """Hours from the origin (microseconds since 1970; None where the log counts hours itself); NaN where no time is."""
    known = (times.state == OK) | (times.state == DATE_ONLY)
    value = times.value if origin is None else (times.value - origin) / MICROSECONDS_PER_HOUR
    return np.where(known, value, np.nan)
