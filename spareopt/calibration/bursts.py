"""Bursts: trays of one rack that fail within minutes of each other are one event of the rack, unless by chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.incidents import Incidents, Observation
from spareopt.numerics.coincidences import ROUNDING, Chance, chance_clusters, cluster_sizes, clusters

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]

BY_CHANCE = 0.1
"""Greatest share of the clusters of a size that chance may make, for them to be taken for bursts."""
LEVEL = 0.01
"""And how often at most chance may make so many of them: with few clusters a share alone says little."""
FEWEST = 2


class Bursts(NamedTuple):
    """Clusters of faults of trays of one rack, which of them are bursts, and the events of racks that these become."""

    chance: Chance
    smallest: int | None
    """Units in the smallest cluster that is taken for a burst; None where none is."""
    member: Truths
    """Of each incident of the observation: whether it is part of a burst, and so no fault of a tray of its own."""
    absorbed: int
    """Bursts that come with an incident of their rack, and are one with it."""
    rack: Integers
    """Of each event: its rack."""
    zone: Integers
    start_h: Floats
    end_h: Floats
    """The start and the mean downtime of its trays; NaN where a tray is still down."""
    until_h: Floats
    """The same with the downtime so far of those still down."""
    struck: Integers
    """Trays of each event."""


def find_bursts(observation: Observation, tray: int, rack: int | None, window_h: float) -> Bursts:
    """Look for bursts among the faults of trays; ``rack`` is the code of the kind of racks, where the log has any.

    A cluster is made of the faults of one rack within the window from its first, of two trays at least.  Clusters of at
    least s trays are bursts for the smallest s from which on chance makes at most a tenth of those that there are, and
    so many of them at most once in a hundred logs.
    """
    incidents = observation.incidents
    trays = np.flatnonzero((incidents.kind == tray) & (incidents.rack >= 0))
    start = incidents.start_h[trays]
    group, zone, unit = incidents.rack[trays], incidents.zone[trays], incidents.unit[trays]
    found = clusters(start, group, unit, window_h)
    apart = zone if len(np.unique(zone)) > 1 and (zone >= 0).all() else group
    chance = chance_clusters(start, group, apart, unit, window_h, found)
    smallest = smallest_burst(chance)
    member = np.zeros(len(incidents.unit), dtype=bool)
    nothing, codes = np.zeros(0), np.zeros(0, dtype=np.int64)
    if smallest is None:
        return Bursts(chance, None, member, 0, codes, codes, nothing, nothing, nothing, codes)
    size = cluster_sizes(found, unit)
    burst = found >= 0
    burst[burst] = size[found[burst]] >= smallest
    member[trays[burst]] = True
    order = np.lexsort((start[burst], found[burst]))
    here = trays[burst][order]
    firsts = np.flatnonzero(np.diff(found[burst][order], prepend=-1))
    open_end = np.maximum.reduceat(np.isnan(incidents.end_h[here]), firsts)
    number = np.diff(np.append(firsts, len(here)))
    down = np.add.reduceat(incidents.until_h[here] - incidents.start_h[here], firsts) / number
    until = incidents.start_h[here][firsts] + down
    events = Bursts(
        chance, smallest, member, 0,
        incidents.rack[here][firsts], incidents.zone[here][firsts], incidents.start_h[here][firsts],
        np.where(open_end, np.nan, until), until, size[found[burst][order][firsts]],
    )  # fmt: skip
    alone = ~_with_rack(observation, rack, events, window_h)
    kept = {name: getattr(events, name)[alone] for name in ("rack", "zone", "start_h", "end_h", "until_h", "struck")}
    return events._replace(absorbed=int((~alone).sum()), **kept)


def smallest_burst(chance: Chance) -> int | None:
    """The size from which on at most a tenth of the clusters are chance's work, which is shown; None where none is."""
    from scipy.special import pdtrc  # noqa: PLC0415 - slow to import

    enough = (chance.found > 0) & (chance.expected <= BY_CHANCE * chance.found)
    enough &= pdtrc(np.maximum(chance.found - 1.0, 0.0), chance.expected) < LEVEL
    return int(chance.sizes[enough][0]) if enough.any() else None


def _with_rack(observation: Observation, rack: int | None, events: Bursts, window_h: float) -> Truths:
    """Whether a fault of the rack itself stands beside each event: it lasts at its start, or begins in the window."""
    result = np.zeros(len(events.rack), dtype=bool)
    if rack is None:
        return result
    incidents, names = observation.incidents, observation.names
    here = np.flatnonzero(incidents.kind == rack)
    place = {name: code for code, name in enumerate(names.racks)}
    own = np.array([place.get(names.units[code], -1) for code in incidents.unit[here]], dtype=np.int64)
    own = np.where(own >= 0, own, incidents.rack[here])
    order = np.lexsort((incidents.start_h[here], own))
    own, start, until = own[order], incidents.start_h[here][order], incidents.until_h[here][order]
    firsts, lasts = np.searchsorted(own, events.rack, "left"), np.searchsorted(own, events.rack, "right")
    for i, (first, last, time) in enumerate(zip(firsts, lasts, events.start_h, strict=True)):
        before = start[first:last] <= time + window_h + ROUNDING
        result[i] = bool((before & (until[first:last] >= time - window_h - ROUNDING)).any())
    return result


def together(events: Bursts, window_h: float) -> Integers:
    """The wider event of each: racks of one zone within a window of the first are struck by one; numbered from 0."""
    number = np.zeros(len(events.rack), dtype=np.int64)
    order = np.lexsort((events.start_h, events.zone))
    count, first, zone = -1, -np.inf, -2
    for i in order.tolist():
        if events.zone[i] != zone or events.start_h[i] > first + window_h + ROUNDING:
            count, first, zone = count + 1, float(events.start_h[i]), int(events.zone[i])
        number[i] = count
    return number


def without(incidents: Incidents, member: Truths) -> Incidents:
    """The incidents that are not part of a burst."""
    return Incidents._make(column[~member] for column in incidents)
