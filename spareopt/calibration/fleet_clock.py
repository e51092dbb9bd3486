"""The observation's clock and the fleet on it: checked, cut to the observation, with the age of its units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.clock import Moments, hours, moments, placed, unplaced
from spareopt.calibration.codes import Coder
from spareopt.calibration.fleet_file import PLACE, FleetRows, raise_faults
from spareopt.calibration.incidents import Fleet, Floats, taken
from spareopt.calibration.log_mapping import EXCLUDE, LogMapping, zone
from spareopt.calibration.log_times import EMPTY, NEVER, TWICE, UNREADABLE
from spareopt.calibration.table_columns import ABSOLUTE
from spareopt.errors import Fault, InputError
from spareopt.yaml_source import brief


class Clock(NamedTuple):
    """The observation's time."""

    begin_h: float
    end_h: float
    origin: int | None
    """Microseconds since 1970 at hour 0; None where the log counts hours or days."""


def in_utc(times: Moments, zone_name: str | None, label: str, field: str, lines: NDArray[np.int64]) -> Moments:
    """Timestamps in UTC; those that are none by the clock of their zone get that state.

    Raises InputError where one states no offset and no zone is stated.
    """
    first = unplaced(times)
    if first is None:
        return times
    if zone_name is None:
        message = (
            "expected times with their offset from UTC, such as 2027-01-31T08:00:00+01:00, got one without; state "
        )
        message += "`timezone: Europe/Berlin` (or UTC, ...) in the mapping: a guess would be wrong by hours"
        raise InputError(label, [Fault(field, message, int(lines[first]) or None)])
    return placed(times, zone(zone_name))


def observation_clock(mapping: LogMapping, mapping_label: str, rows: FleetRows, fleet: str, unit_of_time: str) -> Clock:
    """The clock and its two ends, as the mapping states them, or from the first to the last time of the fleet.

    Raises InputError.
    """
    absolute = unit_of_time in ABSOLUTE
    if rows.absolute is not None and rows.absolute != absolute:
        said = {True: "timestamps", False: "hours or days"}
        message = f"expected {said[absolute]}, as the log has them, got {said[rows.absolute]}; "
        message += "state `times` in the mapping, or write both in one way"
        raise InputError(fleet, [Fault(f"{PLACE}times", message)])
    if mapping.observed is not None:
        ends = []
        for name, text in (("from", mapping.observed.begin), ("to", mapping.observed.end)):
            ends.append(_end_of_window(text, f"observed.{name}", unit_of_time, mapping, mapping_label))
        begin, end = ends
    else:
        times = [
            in_utc(part, mapping.fleet.timezone or mapping.timezone, fleet, name, rows.line)
            for part, name in ((rows.begin, "from"), (rows.end, "to"))
        ]
        empty = [name for part, name in zip(times, ("from", "to"), strict=True) if (part.state == EMPTY).any()]
        if empty:
            message = (
                "expected a time in every row, got nothing in some; or state from when to when the log is complete, "
            )
            message += "such as `observed: {from: 2027-01-01, to: 2027-04-01}` in the mapping"
            raise InputError(fleet, [Fault(", ".join(empty), message)])
        begin, end = times[0].value.min(), times[1].value.max()
    if not begin < end:
        where = mapping_label if mapping.observed else fleet
        raise InputError(where, [Fault("observed", "expected an end after the beginning; correct from and to")])
    if absolute:
        origin = int(begin)
        return Clock(0.0, (int(end) - origin) / 3.6e9, origin)
    return Clock(float(begin), float(end), None)


def _end_of_window(text: str, field: str, unit_of_time: str, mapping: LogMapping, label: str) -> float | int:
    units = (unit_of_time, "timestamps") if unit_of_time in ABSOLUTE else (unit_of_time,)
    layout = mapping.model_copy(update={"time_format": None})
    for unit, form in ((unit, form) for unit in units for form in (mapping, layout)):
        found = moments([text], unit, form)
        if found.state[0] in (UNREADABLE, EMPTY):
            continue
        found = in_utc(found, mapping.timezone, label, field, np.zeros(1, dtype=np.int64))
        if found.state[0] in (TWICE, NEVER):
            break
        value: float | int = found.value[0].item()
        return value
    expected = (
        "a time such as 2027-01-31 or 2027-01-31 08:00" if unit_of_time in ABSOLUTE else f"a number of {unit_of_time}"
    )
    raise InputError(label, [Fault(field, f"expected {expected}, got {brief(text)}")])


def fleet_of(rows: FleetRows, clock: Clock, mapping: LogMapping, label: str, coders: Mapping[str, Coder]) -> Fleet:
    """The rows of a fleet on the clock, cut to the observation.  Raises InputError with every fault."""
    zone_name = mapping.fleet.timezone or mapping.timezone
    begin, end = (
        _hours(rows.begin, rows, "from", zone_name, clock, label),
        _hours(rows.end, rows, "to", zone_name, clock, label),
    )
    begin = np.where(np.isnan(begin), clock.begin_h, begin)
    end = np.where(np.isnan(end), clock.end_h, end)
    since = (
        np.full(len(begin), np.nan)
        if rows.since is None
        else _hours(rows.since, rows, "in_service_since", zone_name, clock, label)
    )
    kind, unit = coders["kind"].codes(rows.kind), coders["unit"].codes(rows.unit)
    faults = [
        Fault("to", "expected a time after from; correct the one or the other", line)
        for line in rows.line[end <= begin].tolist()
    ]
    faults += [
        Fault("in_service_since", "expected at most the time in from", line)
        for line in rows.line[since > begin].tolist()
    ]
    faults += [
        Fault("kind", f"expected a kind of units, got {brief(EXCLUDE)}", line)
        for line, name in zip(rows.line.tolist(), rows.kind, strict=True)
        if name == EXCLUDE
    ]
    if rows.named:
        faults += _faults_of_units(rows, kind, unit, begin, end)
    raise_faults(label, faults)
    seen = (begin < clock.end_h) & (end > clock.begin_h)
    if not seen.any():
        raise InputError(label, [Fault("from, to", "no unit is in service during the observation; correct the times")])
    start = np.maximum(begin, clock.begin_h)
    fleet = Fleet(
        kind.astype(np.int64),
        unit.astype(np.int64),
        np.array(rows.units, dtype=np.int64),
        start,
        np.minimum(end, clock.end_h),
        coders["rack"].codes(rows.rack).astype(np.int64),
        coders["zone"].codes(rows.zone).astype(np.int64),
        start - since,
    )
    return taken(fleet, seen)


def _hours(times: Moments, rows: FleetRows, field: str, zone_name: str | None, clock: Clock, label: str) -> Floats:
    """Times of a fleet on the clock; NaN where a field is empty."""
    times = in_utc(times, zone_name, label, field, rows.line)
    odd = np.flatnonzero((times.state == TWICE) | (times.state == NEVER))
    message = "expected a time that the clock of its zone shows once; write it with its offset from UTC"
    raise_faults(label, [Fault(field, message, int(rows.line[i])) for i in odd.tolist()])
    return hours(times, clock.origin)


def _faults_of_units(
    rows: FleetRows, kind: NDArray[np.int32], unit: NDArray[np.int32], begin: Floats, end: Floats
) -> list[Fault]:
    """Units in service twice at a time, or of two kinds."""
    order = np.lexsort((begin, unit))
    same = unit[order[1:]] == unit[order[:-1]]
    twice = same & (begin[order[1:]] < end[order[:-1]])
    other = same & (kind[order[1:]] != kind[order[:-1]])
    faults = []
    for wrong, what in (
        (twice, "expected one row at a time, got one that overlaps that of line {line}"),
        (other, "expected one kind for a unit, got another in line {line}"),
    ):
        for i in np.flatnonzero(wrong).tolist():
            at, before = sorted((int(rows.line[order[i + 1]]), int(rows.line[order[i]])), reverse=True)
            faults.append(Fault(f"unit {rows.unit[order[i]]}", what.format(line=before), at))
    return faults
