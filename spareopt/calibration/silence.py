"""Spells without any incident that are too long to be chance: has the log a hole, or is the observation too long?"""

from __future__ import annotations

import numpy as np

from spareopt.calibration.incidents import Fleet, Floats

CHANCE = 1e-6
"""A spell is told if a log of independent faults at constant rates had one as long with less than this probability."""


def silent_spells(start_h: Floats, fleet: Fleet, begin_h: float, end_h: float) -> list[tuple[float, float]]:
    """Spells of the observation in which no incident begins although chance hardly leaves any, h from and to.

    ``start_h``: of all incidents.  Of n independent ones none begins in a share s of the unit-hours in service with
    probability (1 − s)ⁿ; there are n + 1 spells, so that one as long has at most (n + 1) (1 − s)ⁿ.  Bursts and drift
    make silence likelier than that, so that a spell is a reason to look, and no more.
    """
    n = len(start_h)
    if n == 0:
        return []
    times = np.concatenate(([begin_h], np.sort(start_h), [end_h]))
    hours = _service_until(times, fleet)
    share = np.diff(hours) / hours[-1]
    with np.errstate(divide="ignore"):
        chance = np.log(n + 1) + n * np.log1p(-np.minimum(share, 1.0))
    return [(float(times[i]), float(times[i + 1])) for i in np.flatnonzero(chance < np.log(CHANCE)).tolist()]


def _service_until(times: Floats, fleet: Fleet) -> Floats:
    """Unit-hours in service up to each of the times, which are sorted."""
    ends = np.concatenate((fleet.from_h, fleet.to_h))
    change = np.concatenate((fleet.units, -fleet.units))
    order = np.argsort(ends, kind="stable")
    ends, working = ends[order], np.cumsum(change[order])
    hours = np.concatenate(([0.0], np.cumsum(working[:-1] * np.diff(ends))))
    result: Floats = np.interp(times, ends, hours)
    return result
