"""Rows of a log to incidents: the rules by which each row counts or is left out, as functions on arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.calibration.exclusions import Reason
from spareopt.calibration.incidents import Absences, Fleet, Floats, Incidents, Integers
from spareopt.calibration.sorting import sort_order

MOST_HOURS_AWAY = 10 * 8766.0
"""h: an incident that starts or ends further from the observation has a wrong year, or a date that stands for none."""


class LogRows(NamedTuple):
    """Rows of a log that have a unit, a kind and times that can be read; arrays of one length."""

    unit: Integers
    kind: Integers
    fault: Integers
    rack: Integers
    zone: Integers
    disposition: Integers
    start_h: Floats
    end_h: Floats
    """NaN where it is open."""
    line: Integers


class Cleaned(NamedTuple):
    """What became of the rows."""

    incidents: Incidents
    """By unit and kind, then by start."""
    absences: Absences
    reason: NDArray[np.int8]
    """Of every row, ``spareopt.calibration.exclusions.Reason``."""
    overlapping: int


def clean(rows: LogRows, fleet: Fleet, begin_h: float, end_h: float, merge: bool) -> Cleaned:
    """The incidents that count among rows, and why the others do not.

    ``merge``: overlapping and touching rows of a unit are one incident from the first start to the last end.  The order
    of the rows does not matter (but for which of two equal ones is called the repeated one: the later line).
    """
    reason = np.zeros(len(rows.unit), dtype=np.int8)
    _set(reason, _far(rows.start_h, begin_h, end_h) | _far(rows.end_h, begin_h, end_h), Reason.FAR_AWAY)
    _set(reason, rows.end_h < rows.start_h, Reason.BACKWARDS)
    key = rows.unit * (rows.kind.max(initial=0) + 1) + rows.kind  # a unit and a kind; unit -1 gives keys of its own
    last = np.where(np.isnan(rows.end_h), np.inf, rows.end_h)
    order = np.flatnonzero(reason == 0)
    order = order[sort_order((key[order], rows.start_h[order]), (last[order], rows.fault[order], rows.line[order]))]
    order = order[~_mark_duplicates(reason, order, key, rows.start_h, last, rows.fault)]
    order = order[~_mark_not_open(reason, order, key, rows.start_h, last)]
    key, start, until = key[order], rows.start_h[order], last[order]
    latest = pd.Series(until).groupby(key).cummax().to_numpy()
    head = np.ones(len(order), dtype=np.bool_)
    head[1:] = (key[1:] != key[:-1]) | (start[1:] > latest[:-1])
    overlapping = int(len(head) - head.sum())
    if merge:
        reason[order[~head]] = Reason.OVERLAP
        until = np.maximum.reduceat(until, np.flatnonzero(head)) if len(order) else until
        order, start = order[head], start[head]
    _window(reason, order, start, until, begin_h, end_h)
    limit = _service_end(reason, order, start, rows.unit[order], rows.kind[order], fleet, end_h)
    counts = reason[order] == 0
    away = (reason[order] == Reason.CARRIED_IN) | (reason[order] == Reason.OUT_OF_SERVICE)
    left = (
        counts & (until > limit) & (limit < end_h)
    )  # went out of service while down, and may be back before it is over
    absences = Absences(
        np.concatenate((rows.unit[order][away], rows.unit[order][left])),
        np.concatenate((rows.kind[order][away], rows.kind[order][left])),
        np.concatenate((np.maximum(start[away], begin_h), limit[left])),
        np.minimum(np.concatenate((until[away], until[left])), end_h),
    )
    order, start, until, limit = order[counts], start[counts], until[counts], limit[counts]
    open_still = until > limit
    found = Incidents(
        rows.unit[order],
        rows.kind[order],
        rows.fault[order],
        rows.rack[order],
        rows.zone[order],
        rows.disposition[order],
        start,
        np.where(open_still, np.nan, until),
        np.where(open_still, limit, until),
        rows.line[order],
    )
    return Cleaned(found, absences, reason, overlapping)


def _set(reason: NDArray[np.int8], where: NDArray[np.bool_], why: Reason) -> None:
    """Give a reason to rows that have none yet."""
    reason[where & (reason == 0)] = why


def _far(time_h: Floats, begin_h: float, end_h: float) -> NDArray[np.bool_]:
    return (time_h < begin_h - MOST_HOURS_AWAY) | (time_h > end_h + MOST_HOURS_AWAY)


def _mark_duplicates(
    reason: NDArray[np.int8], order: Integers, key: Integers, start: Floats, last: Floats, fault: Integers
) -> NDArray[np.bool_]:
    """Whether each row says what the one before it says."""
    same = np.zeros(len(order), dtype=np.bool_)
    one, other = order[1:], order[:-1]
    same[1:] = (
        (key[one] == key[other])
        & (start[one] == start[other])
        & (last[one] == last[other])
        & (fault[one] == fault[other])
    )
    reason[order[same]] = Reason.DUPLICATE
    return same


def _mark_not_open(
    reason: NDArray[np.int8], order: Integers, key: Integers, start: Floats, last: Floats
) -> NDArray[np.bool_]:
    """Whether each row has no end though its unit has one that starts later, or that starts then and has an end."""
    if len(order) == 0:
        return np.zeros(0, dtype=np.bool_)
    open_row = np.isinf(last[order])
    change = key[order[1:]] != key[order[:-1]]
    new_run = np.concatenate(([True], change | (start[order[1:]] != start[order[:-1]])))
    first = np.flatnonzero(new_run)  # of the rows of a unit that start at one time; those without end come last
    followed = np.append(key[order[first[1:]]] == key[order[first[:-1]]], False)
    run = np.cumsum(new_run) - 1
    contradicted: NDArray[np.bool_] = open_row & (followed | ~open_row[first])[run]
    reason[order[contradicted]] = Reason.NOT_OPEN
    return contradicted


def _window(
    reason: NDArray[np.int8], order: Integers, start: Floats, until: Floats, begin_h: float, end_h: float
) -> None:
    """Leave out what began outside the observation."""
    early = start < begin_h
    reason[order[early & (until <= begin_h)]] = Reason.BEFORE
    reason[order[early & (until > begin_h)]] = Reason.CARRIED_IN
    reason[order[start >= end_h]] = Reason.AFTER


def _service_end(
    reason: NDArray[np.int8],
    order: Integers,
    start: Floats,
    unit: Integers,
    kind: Integers,
    fleet: Fleet,
    end_h: float,
) -> Floats:
    """Until when each incident's unit was seen; leaves out incidents that began while their unit was not in service.

    Of units that are only counted, those that began while none of their kind was.
    """
    limit = np.full(len(order), end_h)
    outside = np.zeros(len(order), dtype=np.bool_)
    for code in np.unique(fleet.kind[fleet.unit < 0]).tolist():
        rows = fleet.kind == code
        times = np.concatenate((fleet.from_h[rows], fleet.to_h[rows]))
        change = np.concatenate((fleet.units[rows], -fleet.units[rows]))
        by_time = np.argsort(times, kind="stable")
        working = np.concatenate(([0], np.cumsum(change[by_time])))
        outside |= (kind == code) & (working[np.searchsorted(times[by_time], start, side="right")] <= 0)
    reason[order[outside & (reason[order] == 0)]] = Reason.OUT_OF_SERVICE
    named = np.flatnonzero(fleet.unit >= 0)
    named = named[np.lexsort((fleet.from_h[named], fleet.unit[named]))]
    units, first, stays = np.unique(fleet.unit[named], return_index=True, return_counts=True)
    if len(units) == 0:
        return limit
    place = np.minimum(np.searchsorted(units, unit), len(units) - 1)
    known = (units[place] == unit) & (fleet.kind[named[first[place]]] == kind)
    inside = np.zeros(len(order), dtype=np.bool_)
    for stay in range(int(stays.max())):
        row = named[np.minimum(first[place] + stay, len(named) - 1)]
        here = known & (stay < stays[place]) & (start >= fleet.from_h[row]) & (start < fleet.to_h[row])
        limit[here] = fleet.to_h[row][here]
        inside |= here
    outside = known & ~inside & (reason[order] == 0)
    reason[order[outside]] = Reason.OUT_OF_SERVICE
    return limit
