"""Exact laws of the number of unusable blocks: binomial blocks, fault-domain trees, which domains hold a working block.

Everything holds in the steady state, with ample repair crews and units that fail independently of each other; blocks
are dependent only through the domains they share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc

Array = NDArray[np.float64]


def unavailability(rate: ArrayLike, mttr: ArrayLike) -> Array:
    """Share of time a unit is down, MTTR/(MTBF + MTTR), for ``rate`` = 1/MTBF (per hour) and ``mttr`` in hours.

    By renewal reward only the mean repair time matters, whatever the repair law, as long as a failed unit never waits
    for a crew.  Broadcasts; raises ValueError for a negative rate or time.
    """
    rates, times = np.asarray(rate, dtype=np.float64), np.asarray(mttr, dtype=np.float64)
    if np.any(rates < 0) or np.any(times < 0):
        raise ValueError("failure rates and repair times must not be negative")
    load = rates * times
    return np.asarray(load / (1.0 + load))


def block_unavailability(
    trays: ArrayLike, spares: ArrayLike, tray_unavailability: ArrayLike, own_unavailability: ArrayLike = 0.0
) -> Array:
    """P(a block is not usable): it is down itself, or more than ``spares`` (I) of its ``trays`` (K) are down.

    own + (1 − own) P(Binomial(K, q) > I), the tail from the incomplete beta function and never as 1 − head, so that
    small values keep their digits.  Broadcasts; raises ValueError for counts below zero or no probabilities.
    """
    own = _probabilities(own_unavailability)
    return np.asarray(own + (1.0 - own) * _binomial_tail(trays, spares, tray_unavailability))


def zone_shortfall(blocks: ArrayLike, spares: ArrayLike, block_unavailability: ArrayLike) -> Array:
    """P(Binomial(L, u) > R): more than ``spares`` (R) of the ``blocks`` (L) of a zone are unusable, independent blocks.

    Broadcasts; raises ValueError for counts below zero or no probabilities.
    """
    return _binomial_tail(blocks, spares, block_unavailability)


def _binomial_tail(number: ArrayLike, spares: ArrayLike, probability: ArrayLike) -> Array:
    counts, spare = np.asarray(number, dtype=np.int64), np.asarray(spares, dtype=np.int64)
    if (counts < 0).any() or (spare < 0).any():
        raise ValueError("numbers of units and of spares must not be negative")
    return np.asarray(bdtrc(spare, counts, _probabilities(probability)), dtype=np.float64)


def _probabilities(values: ArrayLike) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if ((array < 0) | (array > 1)).any():
        raise ValueError("an unavailability must be between 0 and 1")
    return array


@dataclass(frozen=True)
class Domain:
    """A node of a fault-domain tree: when it is down, all blocks below it are unusable.

    ``unavailability`` is the node's own; ``children`` are pairs (child, how many identical ones); a node without
    children is a block.  Raises ValueError for no probability or a count below one.
    """

    name: str
    unavailability: float
    children: tuple[tuple[Domain, int], ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.unavailability <= 1:
            raise ValueError(f"{self.name}: an unavailability must be between 0 and 1, not {self.unavailability}")
        if any(count < 1 for _, count in self.children):
            raise ValueError(f"{self.name}: every child needs a count of at least 1")

    @cached_property
    def blocks(self) -> int:
        """Blocks below the domain; 1 for a block."""
        return sum(child.blocks * count for child, count in self.children) if self.children else 1


def unusable_law(domain: Domain) -> Array:
    """Probabilities of 0, 1, …, n unusable blocks among the n below a domain (shape n+1).

    Block: [1−q, q].  Domain: 1−q times the convolution of its children, plus q at n.  All terms are non-negative and
    convolved directly, so that each keeps its relative accuracy (an FFT would lose the small ones).
    """
    if not domain.children:
        return np.array([1.0 - domain.unavailability, domain.unavailability])
    law = (1.0 - domain.unavailability) * _sum_law(domain.children)
    law[-1] += domain.unavailability
    return law


@lru_cache(maxsize=256)
def _sum_law(children: tuple[tuple[Domain, int], ...]) -> Array:
    """The law of the number of unusable blocks below several independent domains; not to be changed in place."""
    law = np.ones(1)
    for child, count in children:
        law = np.convolve(law, _power(unusable_law(child), count))
    law.flags.writeable = False
    return law


def _power(law: Array, exponent: int) -> Array:
    """The law of a sum of ``exponent`` independent copies, by repeated squaring."""
    result = np.ones(1)
    while exponent:
        if exponent & 1:
            result = np.convolve(result, law)
        exponent >>= 1
        if exponent:
            law = np.convolve(law, law)
    return result


def shortfall_tails(law: Array, spares: ArrayLike) -> Array:
    """P(more than R blocks unusable) for each R in ``spares``, from the law of the number of unusable blocks.

    The terms above R are added from the far end, smallest first, never as 1 − head.  Raises ValueError for a negative
    R; 0 for R beyond the number of blocks.
    """
    numbers = np.asarray(spares, dtype=np.int64)
    if np.any(numbers < 0):
        raise ValueError("a number of spares must not be negative")
    tails = np.append(np.cumsum(law[::-1])[::-1], 0.0)
    return np.asarray(
        np.minimum(tails[np.minimum(numbers + 1, len(law))], 1.0)
    )  # rounding may make the sum a hair more than 1


def working_probabilities(root: Domain, max_spares: int) -> dict[str, Array]:
    """For each domain and block type by name: P(one such unit holds a working block) for R = 0, …, ``max_spares``.

    The w = L − R working blocks are uniform over the zone's usable blocks, given that the zone ``root`` is not short
    (at least w usable, hence the root up).  With b unusable in all, so u = L − b usable, of which j in the unit, it
    holds none with probability C(u−j, w)/C(u, w).  The joint law of j and of the unusable blocks outside the unit
    follows from a pass down the tree: what is outside a child is what is outside its parent and its siblings.

    NaN where the probability of not being short is 0 in floating point.  Raises ValueError unless 0 <= max_spares < L,
    and where a name occurs twice in the tree.
    """
    if not 0 <= max_spares < root.blocks:
        raise ValueError(f"the number of spare blocks must be from 0 to {root.blocks - 1}, not {max_spares}")
    units = list(_with_outside(root, np.ones(1), max_spares))
    names = [unit.name for unit, _ in units]
    if len(set(names)) < len(names):
        raise ValueError(f"two domains of a tree are named {next(n for n in names if names.count(n) > 1)!r}")
    joint = [_joint_law(unit, outside, max_spares) for unit, outside in units]
    holding = np.zeros((len(units), max_spares + 1))
    for unusable in range(max_spares + 1):
        most = max_spares - unusable
        some = 1.0 - _none_working(root.blocks - unusable, most)
        for place, (unit, _) in enumerate(units):
            down = np.arange(min(unit.blocks - 1, unusable) + 1)
            usable = unit.blocks - down  # in the unit, at least 1
            few = usable <= most
            weight = joint[place][unusable, down]
            holding[place, unusable:] += some[:, usable[few]] @ weight[few] + weight[~few].sum()
    enough = np.cumsum(unusable_law(root)[: max_spares + 1])
    shares = holding / np.where(enough > 0, enough, np.nan)
    return dict(zip(names, np.minimum(shares, 1.0), strict=True))


def _with_outside(domain: Domain, outside: Array, most: int) -> Iterator[tuple[Domain, Array]]:
    """Each domain with the probabilities of: all above it up, and 0, …, ``most`` unusable blocks outside it."""
    yield domain, outside
    for place, (child, _) in enumerate(domain.children):
        siblings = tuple((other, count - (i == place)) for i, (other, count) in enumerate(domain.children))
        beside = _sum_law(tuple((other, count) for other, count in siblings if count))[: most + 1]
        law = (1.0 - domain.unavailability) * np.convolve(outside, beside)
        yield from _with_outside(child, law[: most + 1], most)


def _joint_law(unit: Domain, outside: Array, most: int) -> Array:
    """P(b unusable in all, d of them in the unit, all above it up): rows b = 0..most, columns d = 0..min(n, most)."""
    law = unusable_law(unit)[: most + 1]
    joint = np.zeros((most + 1, len(law)))
    for down, probability in enumerate(law):
        rest = outside[: most + 1 - down]
        joint[down : down + len(rest), down] = probability * rest
    return joint


def _none_working(usable: int, most: int) -> Array:
    """C(u−j, u−e)/C(u, u−e) for e, j = 0, …, ``most``: P(none of j given blocks works when e of u usable ones idle).

    As the product of (e−i)/(u−i) over i < j, which is 0 for j > e.
    """
    idle = np.arange(most + 1.0)[:, None]
    i = np.arange(float(most))
    factors = np.maximum(idle - i, 0.0) / np.maximum(usable - i, 1.0)
    return np.hstack([np.ones((most + 1, 1)), np.cumprod(factors, axis=1)])
