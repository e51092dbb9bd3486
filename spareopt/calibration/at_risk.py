"""What of a fleet was at risk: unit-hours in service and up, of all and unit by unit, and how they passed in time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.incidents import SOFTWARE, Fleet, Observation
from spareopt.calibration.service import down_hours, unit_service

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]


class Units(NamedTuple):
    """Units of one kind one by one, arrays of one length: those named first, then those that are only counted."""

    unit: Integers
    """-1 for a unit that no incident names."""
    in_service_h: Floats
    up_h: Floats


class AtRisk(NamedTuple):
    """Exposure of the units of one kind."""

    kind: int
    in_service_h: float
    """Unit-hours in service within the observation."""
    up_h: float
    """The same without the downtime: what the MTBF divides."""
    units: Units | None
    """None where counts of units change with time, so that nobody knows which unit was there when."""
    named: bool
    """Whether the fleet names all units."""
    clock: Clock


class Clock(NamedTuple):
    """Unit-hours in service up to each time: a line between knots."""

    time_h: Floats
    passed_h: Floats

    def at(self, time: Floats) -> Floats:
        """Unit-hours in service up to times (n,)."""
        return np.asarray(np.interp(time, self.time_h, self.passed_h), dtype=np.float64)

    def when(self, passed: float) -> float:
        """The time by which so many unit-hours have passed."""
        return float(np.interp(passed, self.passed_h, self.time_h))


def fleet_rows(observation: Observation, kind: int) -> Fleet:
    """The rows of a fleet of one kind; software without a row is the job, from the first to the last time observed."""
    fleet = observation.fleet
    chosen = fleet.kind == kind
    if not chosen.any() and observation.names.kinds[kind] == SOFTWARE:
        code, nothing = np.array([kind]), np.array([-1])
        begin, end = np.array([observation.begin_h]), np.array([observation.end_h])
        return Fleet(code, nothing, np.array([1]), begin, end, nothing, nothing, np.array([np.nan]))
    return Fleet._make(column[chosen] for column in fleet)


def clock_of(rows: Fleet) -> Clock:
    """The clock that the units of these rows drive."""
    times = np.unique(np.concatenate([rows.from_h, rows.to_h]))
    steps = np.zeros(len(times))
    np.add.at(steps, np.searchsorted(times, rows.from_h), rows.units)
    np.add.at(steps, np.searchsorted(times, rows.to_h), -rows.units)
    passed = np.concatenate([[0.0], np.cumsum(np.cumsum(steps)[:-1] * np.diff(times))])
    return Clock(times, passed)


def at_risk(observation: Observation, kind: int) -> AtRisk:
    """The exposure of the units of a kind.  That of software is the time in which the job is not down by software."""
    rows = fleet_rows(observation, kind)
    clock = clock_of(rows)
    in_service = float(clock.passed_h[-1])
    if observation.names.kinds[kind] == SOFTWARE:
        return AtRisk(kind, in_service, in_service - down_hours(observation, kind), None, False, clock)
    found = unit_service(observation, kind)
    up = in_service - float(found.down_h.sum())
    if observation.roster_of(kind):
        units = Units(found.unit, found.service_h, np.maximum(found.service_h - found.down_h, 0.0))
        return AtRisk(kind, in_service, up, units, True, clock)
    first, last, number = rows.from_h.min(), rows.to_h.max(), int(rows.units.sum())
    here = observation.incidents.kind == kind
    codes = np.union1d(found.unit, observation.incidents.unit[here])
    rest = number - len(codes)
    if not ((rows.from_h == first).all() and (rows.to_h == last).all()) or rest < 0:
        return AtRisk(kind, in_service, up, None, False, clock)
    down = np.zeros(number)
    down[np.searchsorted(codes, found.unit)] = found.down_h
    service = np.full(number, last - first)
    each = Units(np.concatenate([codes, np.full(rest, -1)]), service, np.maximum(service - down, 0.0))
    return AtRisk(kind, in_service, up, each, False, clock)


def while_young(observation: Observation, kind: int, age_h: float) -> Observation:
    """The same observation with the named units of a kind in service only until they reach an age."""
    fleet = observation.fleet
    own = (fleet.kind == kind) & (fleet.unit >= 0)
    turns = fleet.from_h - fleet.age_h + age_h
    until = np.where(own, np.minimum(fleet.to_h, turns), fleet.to_h)
    there = until > fleet.from_h
    return observation._replace(fleet=Fleet._make(column[there] for column in fleet._replace(to_h=until)))


def per_unit(units: Units, unit: Integers) -> Floats:
    """Number of faults of each unit (n,), from the unit of each fault."""
    named = units.unit >= 0
    counts = np.zeros(len(units.unit))
    codes = units.unit[named]
    counts[: len(codes)] = np.bincount(unit, minlength=int(codes.max(initial=-1)) + 1)[codes]
    return counts
