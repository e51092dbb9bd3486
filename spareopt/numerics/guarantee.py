"""Guarantees as contracts phrase them: so many blocks usable with such a probability.

From the law of the number of unusable blocks (`availability.unusable_law`, or any other) follow the most
blocks that are usable with a probability, and the probability of a number of them.  For independent blocks that are
each usable with probability a the number usable is Binomial(n, a), with P(at least g) = I_a(g, n − g + 1), an
incomplete beta function.  Turned round it gives the block availability that a promise implies; and as
P(Binomial(needed + s, u) > s) falls in s (the needed-th success comes later than after s failures), the fewest spares
that keep a promise are found by bisection.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from spareopt.numerics.availability import shortfall_tails, zone_shortfall

_MOST_SPARES = 2**40


def guaranteed_blocks(unusable_law: ArrayLike, probability: float) -> int:
    """The most blocks that are usable with at least ``probability``, from the law of the number of unusable ones.

    ``unusable_law[b]`` is P(b of the n blocks unusable), b = 0..n.  Raises ValueError for no law or a probability that
    is not above 0 and below 1 (nothing but 0 blocks is certain).
    """
    law = _law(unusable_law)
    _promise(probability)
    short = shortfall_tails(law, np.arange(len(law)))  # P(more than b unusable), which falls to 0 at b = n
    # 1 − short, and not short against 1 − probability: a probability of 0.9 that is met exactly must count as met
    return len(law) - 1 - int(np.argmax(1.0 - short >= probability))


def probability_of(unusable_law: ArrayLike, blocks: int) -> float:
    """P(at least ``blocks`` of the n blocks are usable): the complement of `shortfall_probability`.

    Where it is small it is added up itself, so that it keeps its digits.  Raises ValueError for no law and for a number
    that is not from 0 to n.
    """
    short = shortfall_probability(unusable_law, blocks)
    law = _law(unusable_law)
    return 1.0 - short if short <= 0.5 else float(law[: len(law) - blocks].sum())


def shortfall_probability(unusable_law: ArrayLike, blocks: int) -> float:
    """P(fewer than ``blocks`` of the n blocks are usable), with all its digits however small it is.

    Raises ValueError for no law and for a number that is not from 0 to n.
    """
    law = _law(unusable_law)
    if not 0 <= blocks < len(law):
        raise ValueError(f"the number of blocks must be from 0 to {len(law) - 1}, not {blocks}")
    return float(shortfall_tails(law, len(law) - 1 - blocks))


def implied_availability(blocks: int, guaranteed: int, probability: float) -> float:
    """The block availability at which ``guaranteed`` of n independent ``blocks`` are usable with just ``probability``.

    The quantile at ``probability`` of a Beta(g, n − g + 1) law.  Raises ValueError unless 1 ≤ guaranteed ≤ blocks and
    the probability is above 0 and below 1.
    """
    if not 1 <= guaranteed <= blocks:
        raise ValueError(f"the number guaranteed must be from 1 to {blocks}, not {guaranteed}")
    _promise(probability)
    return float(betaincinv(guaranteed, blocks - guaranteed + 1, probability))


def spares_for(needed: int, unavailability: float, probability: float) -> int:
    """The fewest spares with which ``needed`` units are up with at least ``probability``, units being independent.

    ``unavailability`` is that of a unit, spares included: the units to buy are needed + spares.  Raises ValueError for
    less than one unit needed, an unavailability that is not at least 0 and below 1, a probability that is not above 0
    and below 1, and where more than 2^40 spares would be asked for.
    """
    if needed < 1:
        raise ValueError(f"at least one unit must be needed, not {needed}")
    if not 0 <= unavailability < 1:
        raise ValueError(f"an unavailability must be at least 0 and below 1, not {unavailability}")
    _promise(probability)

    def kept(spares: int) -> bool:
        return 1.0 - float(zone_shortfall(needed + spares, spares, unavailability)) >= probability

    if kept(0):
        return 0
    too_few, enough = 0, 1
    while not kept(enough):
        if enough >= _MOST_SPARES:
            raise ValueError("the promise would take more than 2^40 spares")
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if kept(middle) else (middle, enough)
    return enough


def _law(unusable_law: ArrayLike) -> NDArray[np.float64]:
    law = np.asarray(unusable_law, dtype=np.float64)
    if law.ndim != 1 or np.any(law < 0) or not abs(float(law.sum()) - 1.0) <= 1e-9:  # not <= is true for NaN
        raise ValueError("the law of the number of unusable blocks must be probabilities that sum to 1")
    return law


def _promise(probability: float) -> None:
    if not 0 < probability < 1:
        raise ValueError(f"a promised probability must be above 0 and below 1, not {probability}")
