"""Exact laws of the number of unusable blocks: binomial blocks, fault-domain trees, domains that hold a working block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc

Array = NDArray[np.float64]


def unavailability(rate: ArrayLike, mttr: ArrayLike) -> Array:
    """Share of time a unit is down: MTTR/(MTBF + MTTR), with rate = 1/MTBF per hour and MTTR in hours.

    With ample crews only the mean repair time matters (renewal reward), whatever the repair law.
    """
    load = np.asarray(rate, dtype=float) * np.asarray(mttr, dtype=float)
    return load / (1.0 + load)


def block_unavailability(
    trays: ArrayLike, spares: ArrayLike, tray_unavailability: ArrayLike, own_unavailability: ArrayLike = 0.0
) -> Array:
    """P(block not usable): it is down itself, or more than ``spares`` of its ``trays`` are down.

    Trays fail independently, so the number down is Binomial(K, q); the tail is summed, never taken as 1 − head.
    """
    own = np.asarray(own_unavailability, dtype=float)
    return own + (1.0 - own) * bdtrc(spares, trays, tray_unavailability)


def zone_shortfall(blocks: ArrayLike, spares: ArrayLike, block_down: ArrayLike) -> Array:
    """P(Binomial(L, u) > R): more than R of L independent blocks are unusable."""
    return np.asarray(bdtrc(spares, blocks, block_down), dtype=float)


@dataclass(frozen=True)
class Domain:
    """A node of a fault-domain tree with its own unavailability; identical children are merged; a leaf is a block."""

    name: str
    unavailability: float
    children: tuple[tuple[Domain, int], ...] = ()

    @cached_property
    def blocks(self) -> int:
        """Blocks in the domain."""
        return sum(child.blocks * count for child, count in self.children) if self.children else 1


def unusable_law(domain: Domain) -> Array:
    """Probabilities of 0, 1, …, n unusable blocks among the n below a domain.

    A domain that is down makes all of them unusable; else its children are independent.  Terms are non-negative and
    convolved directly, so that small tails keep their digits (an FFT would lose them).
    """
    if not domain.children:
        return np.array([1.0 - domain.unavailability, domain.unavailability])
    law = (1.0 - domain.unavailability) * _children_law(domain.children)
    law[-1] += domain.unavailability
    return law


@lru_cache(maxsize=256)
def _children_law(children: tuple[tuple[Domain, int], ...]) -> Array:
    law = np.ones(1)
    for child, count in children:
        law = np.convolve(law, _power(unusable_law(child), count))
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


def shortfall_tails(law: Array, spares: NDArray[np.int64]) -> Array:
    """P(unusable > R) for each R, summed from the far end."""
    tails = np.append(np.cumsum(law[::-1])[::-1], 0.0)
    return tails[np.minimum(spares + 1, len(law))]


def working_probabilities(root: Domain, max_spares: int) -> dict[str, Array]:
    """For each domain by name, P(one such domain holds a working block) for R = 0, …, ``max_spares``.

    The L − R working blocks are uniform over the usable blocks of the zone ``root``, given that there are enough.
    With u usable in all and j of them in the domain, it holds none with probability C(u−j, w)/C(u, w), w = L − R.
    NaN where the zone is always short.  Raises ValueError where two different domains share a name.
    """
    laws: dict[str, tuple[Array, Array]] = {}
    for domain, outside in _with_outside(root, np.ones(1), max_spares):
        if domain.name in laws:
            raise ValueError(f"two domains are named {domain.name!r}")
        laws[domain.name] = (unusable_law(domain), outside)
    enough = np.cumsum(unusable_law(root))[: max_spares + 1]
    enough = np.append(enough, np.full(max_spares + 1 - len(enough), 1.0))
    if root.children:
        enough = np.minimum(enough, 1.0)
    return {
        name: _holding(law, outside, root.blocks, max_spares) / np.where(enough > 0, enough, np.nan)
        for name, (law, outside) in laws.items()
    }


def _with_outside(domain: Domain, outside: Array, most: int) -> Iterator[tuple[Domain, Array]]:
    """Each domain with P(all above it are up, and so many unusable blocks outside it), up to ``most`` of them."""
    yield domain, outside
    for place, (child, _) in enumerate(domain.children):
        siblings = tuple((other, count - (i == place)) for i, (other, count) in enumerate(domain.children))
        siblings = tuple((other, count) for other, count in siblings if count)
        law = (1.0 - domain.unavailability) * np.convolve(outside, _children_law(siblings))
        yield from _with_outside(child, law[: most + 1], most)


def _holding(law: Array, outside: Array, blocks: int, max_spares: int) -> Array:
    """P(enough usable blocks and a working one among those of the domain), for R = 0, …, ``max_spares``."""
    size = len(law) - 1
    down_here, down_there = np.meshgrid(
        np.arange(min(size, max_spares + 1)), np.arange(min(len(outside), max_spares + 1)), indexing="ij"
    )
    weight = law[down_here] * outside[down_there]
    usable_here, usable = size - down_here, blocks - down_here - down_there
    result = np.zeros(max_spares + 1)
    for spares in range(max_spares + 1):
        working = blocks - spares
        fits = (usable >= working) & (weight > 0)
        if working <= 0 or not fits.any():
            continue
        w, j, u = weight[fits], usable_here[fits], usable[fits]
        none = np.ones(len(w))
        for i in range(int(j.max())):
            none *= np.where(i < j, np.maximum(u - working - i, 0) / (u - i), 1.0)
        result[spares] = w @ (1.0 - none)
    return result
