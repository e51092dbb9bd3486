"""Random numbers that belong to what they decide, and draws from the laws of lifetimes and repairs, in plain Python."""

from __future__ import annotations

import math

from spareopt.simulation.system import DETERMINISTIC, EXPONENTIAL, WEIBULL

_MASK = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)  # Salmon et al. (2011), "Parallel random numbers: as easy as 1, 2, 3", table 2
_WEYL = (0x9E3779B9, 0xBB67AE85)  # the golden ratio and sqrt(3) - 1, in the same place
ROUNDS = 10
BELOW_ONE = 1.0 - 2.0**-53  # what the largest words give would be rounded to 1

LIFE, WORK, WAY, DELAY, SILENT, LEMON = range(6)
"""Purposes of a unit's random numbers."""
SITE, VISIT, WINDOW, ORDER, BURST = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFC, 0xFFFFFFFB
"""First words of the counters of what is no unit."""
SOFTWARE, PLANNED, SPARE, RECOVERY = range(4)
"""Second words of the site's counters."""


def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Four random words of 32 bits: Philox 4x32-10 of a counter of four words under a key of two."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        first, second = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (second >> 32) ^ c1 ^ k0, second & _MASK, (first >> 32) ^ c3 ^ k1, first & _MASK
        k0, k1 = (k0 + _WEYL[0]) & _MASK, (k1 + _WEYL[1]) & _MASK
    return c0, c1, c2, c3


def uniforms(key: tuple[int, int], first: int, second: int, asked: int, purpose: int) -> tuple[float, float]:
    """Two numbers uniform in (0, 1) of a source (two words), for how often it was asked and the purpose."""
    w0, w1, w2, w3 = philox((first, second, asked, purpose), key)
    u1 = ((w0 >> 5) * 67108864.0 + (w1 >> 6) + 0.5) * 2.0**-53
    u2 = ((w2 >> 5) * 67108864.0 + (w3 >> 6) + 0.5) * 2.0**-53
    return min(u1, BELOW_ONE), min(u2, BELOW_ONE)


def exponential(mean: float, u: float) -> float:
    """An exponential time."""
    return -mean * math.log(u)


def draw(law: int, shape: float, mean: float, u1: float, u2: float) -> float:
    """A time of a law with the given mean; ``shape``: of the Weibull law, or the logarithm's standard deviation."""
    if law == EXPONENTIAL:
        return -mean * math.log(u1)
    if law == DETERMINISTIC:
        return mean
    if law == WEIBULL:
        return mean * math.pow(-math.log(u1), 1.0 / shape) / math.gamma(1.0 + 1.0 / shape)
    normal = math.sqrt(-2.0 * math.log(u1)) * math.cos(2.0 * math.pi * u2)
    return mean * math.exp(shape * normal - 0.5 * shape * shape)
