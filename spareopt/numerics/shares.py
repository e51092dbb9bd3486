"""The exact interval of a share of independent values (Clopper & Pearson 1934, Biometrika 26)."""

from __future__ import annotations


def share_interval(hits: float, misses: float, confidence: float) -> tuple[float, float]:
    """The interval of the share of hits, which are at least 0; numbers between two whole ones are effective numbers.

    Each end is met with (1 − ``confidence``)/2; of no hits the lower end is 0, of no misses the upper one 1.
    """
    from scipy.special import betaincinv  # noqa: PLC0415

    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(hits, misses + 1.0, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1.0, misses, 1.0 - tail)) if misses else 1.0
    return low, high
