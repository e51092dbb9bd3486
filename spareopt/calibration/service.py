"""Time in service and downtime of a fleet while it was observed: what rates are over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spareopt.calibration.incidents import Floats, Integers, Observation


class UnitService(NamedTuple):
    """Time of units of one kind while they were observed; arrays of one length, h."""

    unit: Integers
    """Code of the unit; -1 in one last row for those that the fleet only counts and that have no incidents."""
    service_h: Floats
    """Time in service; NaN where the fleet only counts units."""
    down_h: Floats
    """Time down, which is not exposed."""


def service_hours(observation: Observation, kind: int) -> float:
    """Unit-hours in service of a kind, h."""
    rows = observation.fleet.kind == kind
    hours = observation.fleet.units * (observation.fleet.to_h - observation.fleet.from_h)
    return float(hours[rows].sum())


def down_hours(observation: Observation, kind: int) -> float:
    """Unit-hours down while in service of a kind, h: incidents, and absences from before; overlaps count once."""
    return float(_down(observation, kind)[1].sum())


def exposed_hours(observation: Observation, kind: int) -> float:
    """Unit-hours in service and up of a kind, h: the time in which its faults could begin."""
    return service_hours(observation, kind) - down_hours(observation, kind)


def unit_service(observation: Observation, kind: int) -> UnitService:
    """Time in service and down by unit, of a kind."""
    down_unit, down_h = _down(observation, kind)
    fleet = observation.fleet
    rows = (fleet.kind == kind) & (fleet.unit >= 0)
    units = np.union1d(fleet.unit[rows], down_unit)
    service, down = np.zeros(len(units)), np.zeros(len(units))
    np.add.at(service, np.searchsorted(units, fleet.unit[rows]), (fleet.to_h - fleet.from_h)[rows])
    np.add.at(down, np.searchsorted(units, down_unit), down_h)
    if not observation.roster_of(kind):
        service[:] = np.nan
    return UnitService(units, service, down)


def _down(observation: Observation, kind: int) -> tuple[Integers, Floats]:
    """Downtime of a kind as disjoint intervals: the unit and the length of each, h."""
    incidents, absences, fleet = observation.incidents, observation.absences, observation.fleet
    one, other = incidents.kind == kind, absences.kind == kind
    unit = np.concatenate((incidents.unit[one], absences.unit[other]))
    start = np.concatenate((incidents.start_h[one], absences.start_h[other]))
    until = np.concatenate((incidents.until_h[one], absences.end_h[other]))
    order = np.lexsort((start, unit))
    unit, start, until = unit[order], start[order], until[order]
    # What of an interval comes after all that its unit was down before.
    latest = _latest_before(unit, until)
    start = np.maximum(start, latest)
    length = np.maximum(until - start, 0.0)
    if not observation.roster_of(kind):
        return unit, length
    return unit, _in_service(unit, start, start + length, fleet.unit, fleet.from_h, fleet.to_h)


def _latest_before(unit: Integers, until: Floats) -> Floats:
    """The latest end among the intervals of the same unit before each one; minus infinity for the first."""
    import pandas as pd  # noqa: PLC0415

    latest = pd.Series(until).groupby(unit).cummax().to_numpy()
    result = np.full(len(unit), -np.inf)
    same = np.flatnonzero(unit[1:] == unit[:-1])
    result[same + 1] = latest[same]
    return result


def _in_service(unit: Integers, start: Floats, until: Floats, of: Integers, from_h: Floats, to_h: Floats) -> Floats:
    """How much of each interval lies within the rows of its unit."""
    named = np.flatnonzero(of >= 0)
    named = named[np.lexsort((from_h[named], of[named]))]
    units, first, stays = np.unique(of[named], return_index=True, return_counts=True)
    result = np.zeros(len(unit))
    if len(units) == 0:
        return result
    place = np.minimum(np.searchsorted(units, unit), len(units) - 1)
    for stay in range(int(stays.max())):
        row = named[np.minimum(first[place] + stay, len(named) - 1)]
        here = (units[place] == unit) & (stay < stays[place])
        inside = np.minimum(until, to_h[row]) - np.maximum(start, from_h[row])
        result += np.where(here, np.maximum(inside, 0.0), 0.0)
    return result
