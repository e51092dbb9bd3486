"""Faults of one group within a short time of each other: the clusters there are, and how many chance would make.

The chance that two faults fall within a window of each other is measured on pairs of faults that share nothing: of
different zones, or of different groups.  So faults that come together everywhere (a working day, a software change)
make no bursts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

ROUNDING = 1e-9
"""Added to a window, in h, so that faults that a clock puts just as far apart are within it."""


def clusters(start: Floats, group: Codes, unit: Codes, window: float) -> Codes:
    """The cluster of each fault: numbered from 0, −1 for faults that stand alone or are in no group (code −1).

    A cluster is made of the faults of one group within a window from its first, of two different units at least; then
    the next one begins.
    """
    result = np.full(len(start), -1, dtype=np.int64)
    order = np.lexsort((start, group))
    order = order[group[order] >= 0]
    number = 0
    place = 0
    times, groups = start[order], group[order]
    near = np.zeros(len(order), dtype=bool)  # only where the next is near need the loop look
    near[:-1] = (np.diff(times) <= window + ROUNDING) & (np.diff(groups) == 0)
    candidates = np.flatnonzero(near)
    for first in candidates.tolist():
        if first < place:
            continue
        last = first
        while (
            last + 1 < len(order)
            and groups[last + 1] == groups[first]
            and times[last + 1] <= times[first] + window + ROUNDING
        ):
            last += 1
        members = order[first : last + 1]
        if len(np.unique(unit[members])) > 1:
            result[members] = number
            number += 1
        place = last + 1
    return result


def pairs_within(start: Floats, window: float, *keys: Codes) -> float:
    """Number of pairs of faults that start within a window of each other (infinite: any) and agree in all keys."""
    if len(start) < 2:
        return 0.0
    if keys:
        label = np.zeros(len(start), dtype=np.int64)
        for key in keys:  # as one number, made dense so that it never overflows
            low = int(key.min())
            _, label = np.unique(label * (int(key.max()) - low + 1) + key - low, return_inverse=True)
    else:
        label = np.zeros(len(start), dtype=np.int64)
    if np.isinf(window):
        number = np.bincount(label).astype(np.float64)
        return float((number * (number - 1.0) / 2.0).sum())
    # One line of time for all labels, each in its own stretch of it.
    first = start.min()
    stretch = float(start.max() - first) + 2.0 * window + 1.0
    line = np.sort(start - first + label * stretch)
    after = np.searchsorted(line, line + window + ROUNDING, side="right") - np.arange(len(line)) - 1
    return float(after.sum())


def cluster_sizes(cluster: Codes, unit: Codes) -> Codes:
    """Number of different units in each cluster."""
    inside = cluster >= 0
    if not inside.any():
        return np.zeros(0, dtype=np.int64)
    width = int(unit[inside].max()) + 1
    return np.bincount(np.unique(cluster[inside] * width + unit[inside]) // width).astype(np.int64)


class Chance(NamedTuple):
    """Clusters by size: how many there are of at least so many units, and how many of them chance would make."""

    sizes: Codes
    found: Codes
    expected: Floats


def chance_clusters(start: Floats, group: Codes, apart: Codes, unit: Codes, window: float, cluster: Codes) -> Chance:
    """Numbers of clusters of at least 2, 3, … units, and the numbers expected of faults that have nothing in common.

    ``apart``: code of what faults must differ in to share nothing (zones, or the groups themselves).  A fault of a
    group is followed within the window by a Poisson number of faults of other units there; the number of clusters
    expected is at most Σ P(at least size − 1 followers) over the faults.
    """
    from scipy.special import pdtrc  # noqa: PLC0415

    inside = group >= 0
    start = start[inside]
    group, apart, unit, cluster = (codes[inside] for codes in (group, apart, unit, cluster))
    close = pairs_within(start, window) - pairs_within(start, window, apart)
    pairs = pairs_within(start, np.inf) - pairs_within(start, np.inf, apart)
    chance = close / pairs if pairs > 0 else 1.0
    number = np.bincount(group, minlength=1).astype(np.float64)
    same = np.zeros(len(number))
    if len(group):
        width = int(unit.max()) + 1
        pair, times = np.unique(group * width + unit, return_counts=True)
        np.add.at(same, pair // width, times * (times - 1.0) / 2.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        followers = np.where(number > 0, (number * (number - 1.0) / 2.0 - same) * chance / number, 0.0)
    size = cluster_sizes(cluster, unit)
    sizes = np.arange(2, max(int(size.max(initial=1)), 2) + 1)
    found = np.array([(size >= s).sum() for s in sizes], dtype=np.int64)
    expected = np.array([float(number @ pdtrc(s - 2.0, followers)) for s in sizes])
    return Chance(sizes, found, expected)
