"""A zone whose trays wait for crews, first come, first served, and are repaired in a short or a long time: a chain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve

Floats = NDArray[np.float64]


def down_law(
    trays: int, rate: float, crews: int, short_share: float, short_h: float, long_h: float, most: int
) -> Floats:
    """P(n trays down) for n = 0..most: the stationary law of a Markov chain, cut at ``most``.

    A state is n and how many of the trays in hand are repaired the long way; which way a tray goes is decided when a
    crew takes it in hand.
    """
    place: dict[tuple[int, int], int] = {}
    for n in range(most + 1):
        for long in range(min(n, crews) + 1):
            place[n, long] = len(place)
    rows, columns, rates = [], [], []

    def move(source: tuple[int, int], target: tuple[int, int], weight: float) -> None:
        if weight > 0:
            rows.extend((place[target], place[source]))
            columns.extend((place[source], place[source]))
            rates.extend((weight, -weight))

    for n, long in place:
        faults = (trays - n) * rate if n < most else 0.0
        if n < crews:
            move((n, long), (n + 1, long), faults * short_share)
            move((n, long), (n + 1, long + 1), faults * (1 - short_share))
        else:
            move((n, long), (n + 1, long), faults)
        for in_hand, hours, is_long in ((min(n, crews) - long, short_h, 0), (long, long_h, 1)):
            repaired = in_hand / hours
            if n > crews:
                move((n, long), (n - 1, long - is_long), repaired * short_share)
                move((n, long), (n - 1, long - is_long + 1), repaired * (1 - short_share))
            else:
                move((n, long), (n - 1, long - is_long), repaired)
    chain = coo_array((rates, (rows, columns)), shape=(len(place), len(place))).tocsc()
    law = np.append(1.0, spsolve(chain[1:, 1:], -chain[1:, [0]].toarray().ravel()))
    return np.bincount([n for n, _ in place], weights=law / law.sum())


def mean_wait(law: Floats, trays: int, rate: float, crews: int) -> float:
    """Mean wait for a crew by Little's law, h."""
    n = np.arange(len(law))
    return float(np.maximum(n - crews, 0) @ law / ((trays - n @ law) * rate))


def availability(law: Floats, blocks: int, trays: int, spares: int) -> float:
    """P(at most ``spares`` blocks have a tray down), the trays that are down being any of all with equal chance.

    One after the other falls on a tray that is up, and so on a block without one down with probability
    (blocks − hit) · trays / (trays left).
    """
    hit = np.zeros(blocks + 1)
    hit[0] = 1.0
    untouched = (blocks - np.arange(blocks + 1)) * trays
    total = 0.0
    for down, share in enumerate(law):
        total += share * hit[: spares + 1].sum()
        new = np.minimum(untouched / (blocks * trays - down), 1.0)
        hit = hit * (1 - new) + np.append(0.0, (hit * new)[:-1])
    return float(total)
