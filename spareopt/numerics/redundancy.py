"""Redundant feeds as one equivalent unit, and site-wide domains that take down cells of every zone.

*Feeds.*  A domain with n feeds of which k are needed is down when more than n − k feeds are down.  Feeds fail
independently at the rate r and take a mean time T of any law to repair, waiting for no crew, so that d of them are down
with the weight w(d) = C(n, d) ρ^d, ρ = rT.  The domain goes down when one of exactly k feeds up fails: the frequency
is k r P(n − k down), and with W = Σ_{d≤n−k} w(d) the equivalent unit, which fails at a rate while up, has

    rate = k r w(n − k)/W,    MTTR = P(down)/frequency = Σ_{d>n−k} w(d) / (k r w(n − k)).

Rate and unavailability of the equivalent unit are exact; that it fails at a constant rate is exact for k = n only (its
up times are nearly exponential where repairs are much shorter than the times between failures).

*Cells.*  Site-wide domains of a class cut every zone into n_i equal shares, each of which goes down with its unit.  If
n_1 divides n_2 and so on, and the units of a class lie within those of the class before, the classes are a tree whose
leaves are the cells of the finest class.  Given how many cells are down, the zones' blocks left are independent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_CELLS = 64  # every number of cells down is a case of its own for each zone


def equivalent_unit(rate: float, mttr: float, needed: int, feeds: int) -> tuple[float, float]:
    """Failure rate (per hour up) and MTTR (hours) of the one unit that ``needed`` of ``feeds`` feeds amount to.

    ``rate`` (per hour) and ``mttr`` (hours) are those of a feed.  With its unavailability rate·MTTR/(1 + rate·MTTR) the
    unit is down as often and for as long in the mean as the feeds together.  2N: needed 1 of feeds 2.

    Both ratios of the weights are added up as nested products of positive numbers, so that nothing cancels; a rate too
    small for a float is 0.  Raises ValueError unless 1 ≤ needed ≤ feeds, and for rates or times that are negative or
    not finite.
    """
    if not 1 <= needed <= feeds:
        raise ValueError(f"the feeds needed must be from 1 to {feeds}, not {needed}")
    if not (0 <= rate < inf and 0 <= mttr < inf):
        raise ValueError(f"failure rate and repair time must be finite and not negative, not {rate} and {mttr}")
    spare, load = feeds - needed, rate * mttr
    # Σ_{d≤n−k} w(d)/w(n−k), from the farthest term; and with no load only all feeds up have a weight
    up = 1.0
    for i in range(spare, 0, -1):
        up = 1.0 + up * (spare - i + 1) / ((needed + i) * load) if load > 0 else inf
    # Σ_{d>n−k} w(d)/w(n−k) over k r, the first of whose factors is T/(n−k+1)
    down = 1.0
    for i in range(needed, 1, -1):
        down = 1.0 + down * load * (needed - i + 1) / (spare + i)
    return needed * rate / up, down * mttr / (spare + 1)


def cells_down(classes: Sequence[tuple[int, float]]) -> Array:
    """Law of the number of the site's cells that are down, from classes (units, unavailability of a unit).

    Each unit of a class takes down an equal share of every zone; units are independent.  The cells are as many as the
    units of the finest class: entry c is P(c cells down), shape cells + 1.  Without classes the site is one cell that
    is never down.  The order of the classes does not matter.

    Raises ValueError where numbers of units do not divide each other (the units would cross), for less than one unit or
    more than 64 cells, and for no probabilities.
    """
    from spareopt.numerics.availability import Domain, unusable_law  # noqa: PLC0415 - imports scipy, which checking a file does not need

    ordered = sorted(classes)
    numbers = [1, *(units for units, _ in ordered)]
    if any(units < 1 for units in numbers):
        raise ValueError(f"a class of domains needs at least one unit, not {min(numbers)}")
    for fewer, more in pairwise(numbers):
        if more % fewer:
            raise ValueError(f"domains are not nested: {more} units do not lie within {fewer}")
    if numbers[-1] > MOST_CELLS:
        raise ValueError(f"site-wide domains cut the site into {numbers[-1]} cells, more than {MOST_CELLS}")
    below: tuple[tuple[Domain, int], ...] = ()
    for place in range(len(ordered), 0, -1):
        unit = Domain(f"class {place}", ordered[place - 1][1], below)
        below = ((unit, numbers[place] // numbers[place - 1]),)
    return unusable_law(Domain("site", 0.0, below))
