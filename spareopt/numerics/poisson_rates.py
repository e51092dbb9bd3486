"""Rates from counts of faults: intervals of mean counts, ratios of rates, how far counts spread beyond Poisson.

A count n of a Poisson law of mean m: the interval of m that holds it with at least the confidence 1 − α is that of
Garwood (1936), "Fiducial limits for the Poisson distribution", Biometrika 28,

    (χ²(α/2; 2n)/2, χ²(1 − α/2; 2n + 2)/2).

Counts that spread φ times as far as Poisson's law says carry as much as n/φ counts do: the interval of n/φ, times φ.
Two rates: given n₁ + n₂, the first count is binomial with p = ρT₁/(ρT₁ + T₂), so that the exact (Clopper and Pearson
1934) interval of p is one of the ratio ρ.
"""

from __future__ import annotations

from math import inf, isnan, log, nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.numerics.shares import share_interval

Floats = NDArray[np.float64]


_DOUBTFUL = 0.1
"""p-values of χ² below this are drawn where counts are sparse, for χ² then calls chance rare."""
_FEW_EXPECTED = 1.0
_MOST_DRAWN = 20_000
"""Faults beyond which none are drawn: with so many a few sparse counts weigh little."""
_ROUND, _ROUNDS, _ENOUGH = 1000, 10, 50


class Bounds(NamedTuple):
    """An estimate and the ends of its interval; NaN where there is none, infinite where it has no end."""

    value: float
    low: float
    high: float


def count_interval(count: float, confidence: float, dispersion: float = 1.0) -> tuple[float, float]:
    """The interval of the mean of a count; from 0 to the one-sided bound −ln(1 − confidence) where nothing was counted.

    ``dispersion``: variance over mean of the count, 1 for Poisson's law.  Raises ValueError for negative counts.
    """
    from scipy.stats import chi2  # noqa: PLC0415 - slow to import

    if count < 0 or not 0 < confidence < 1 or dispersion < 1:
        raise ValueError(
            f"expected a count from 0, 0 < confidence < 1, dispersion from 1: {count, confidence, dispersion}"
        )
    if count == 0:
        return 0.0, -log(1.0 - confidence) * dispersion
    tail, effective = (1.0 - confidence) / 2.0, count / dispersion
    low = chi2.ppf(tail, 2.0 * effective) / 2.0
    high = chi2.isf(tail, 2.0 * effective + 2.0) / 2.0
    return float(low * dispersion), float(high * dispersion)


def mean_interval(mean: float, standard_error: float, confidence: float) -> tuple[float, float]:
    """The interval of a positive mean, as if it were that of exponential times: exact for those, near it for others.

    With n' = (mean/standard error)², 2n' mean/μ is taken as χ² of 2n' degrees; of n exponential times n' is n.
    """
    from scipy.stats import chi2  # noqa: PLC0415

    if not (mean > 0 and standard_error > 0):
        return mean, mean
    degrees = 2.0 * (mean / standard_error) ** 2
    tail = (1.0 - confidence) / 2.0
    low = chi2.ppf(tail, degrees)
    return float(degrees * mean / chi2.isf(tail, degrees)), float(degrees * mean / low) if low > 0 else inf


def rate_ratio(first: int, time_first: float, second: int, time_second: float, confidence: float) -> Bounds:
    """First rate over second, with its exact interval, from the counts in two exposed times.

    NaN where nothing was counted at all or a time is 0.
    """
    if first + second == 0 or time_first <= 0 or time_second <= 0:
        return Bounds(nan, nan, nan)
    scale = time_second / time_first
    odds = [p / (1.0 - p) if p < 1.0 else inf for p in share_interval(first, second, confidence)]
    return Bounds(first / second * scale if second else inf, odds[0] * scale, odds[1] * scale)


def equal_rates_p_value(first: int, time_first: float, second: int, time_second: float) -> float:
    """How often equal rates would give counts at least as unlikely as these (two-sided exact conditional test)."""
    from scipy.stats import binomtest  # noqa: PLC0415

    if first + second == 0 or time_first <= 0 or time_second <= 0:
        return nan
    return float(binomtest(first, first + second, time_first / (time_first + time_second)).pvalue)


def ratio_dispersion(counts: Floats, exposures: Floats) -> float:
    """How many times as far a fleet's total count spreads as Poisson's law says, from the counts of its units.

    The variance of Σn as an estimator for the rate r = Σn/ΣT, clustered by unit, over Poisson's: N/(N−1) Σ(n − rT)²/Σn.
    NaN with fewer than two units or no fault.
    """
    total, units = float(counts.sum()), len(counts)
    if units < 2 or total == 0:
        return nan
    rest = counts - total / exposures.sum() * exposures
    return float(units / (units - 1) * (rest**2).sum() / total)


class Spread(NamedTuple):
    """How far counts spread: variance over mean with its interval, and how often Poisson's law spreads so far."""

    variance_over_mean: Bounds
    p_value: float
    mean: float
    number: int


def spread(counts: Floats, exposures: Floats, confidence: float) -> Spread:
    """Variance over mean of counts (n,) in exposed times (n,), Pearson's X²/(n − 1) with r = Σn/ΣT.

    With equal times it is the sample variance over the mean.  The interval is normal in its logarithm, by the influence
    of each count, with Student's quantile; the p-value is that of X² by χ² of n − 1 degrees, or by draws
    (``_drawn_p_value``) where some expected counts are too small for that.  The exposed times must not depend on
    the counts.  NaN with fewer than two counts or nothing counted.
    """
    from scipy.special import stdtrit  # noqa: PLC0415
    from scipy.stats import chi2  # noqa: PLC0415

    number, total = len(counts), float(counts.sum())
    if number < 2 or total == 0 or (exposures <= 0).any():
        return Spread(Bounds(nan, nan, nan), nan, total / number if number else nan, number)
    expected = total / exposures.sum() * exposures
    rest = counts - expected
    terms = rest**2 / expected
    index = float(terms.sum() / (number - 1))
    influence = terms - index - rest / expected.mean() * index
    error = sqrt(float((influence**2).sum()) / (number - 1) / number) / index if index > 0 else nan
    reach = float(np.exp(stdtrit(number - 1, (1.0 + confidence) / 2.0) * error)) if not isnan(error) else nan
    p_value = float(chi2.sf(index * (number - 1), number - 1))
    if p_value < _DOUBTFUL and float(expected.min()) < _FEW_EXPECTED and total <= _MOST_DRAWN:
        p_value = max(p_value, _drawn_p_value(index * (number - 1), expected))
    return Spread(Bounds(index, index / reach, index * reach), p_value, total / number, number)


def _drawn_p_value(found: float, expected: Floats) -> float:
    """How often Poisson counts with the same total have an X² as large as one found, from draws with a set seed.

    Given their total, Poisson counts are multinomial.  Where most expected counts (n,) are far below 1, two faults of
    one unit, or one of a unit in service for a day, make X² large far more often than χ² says.  Up to 10,000 draws, in
    rounds of 1,000: until 50 of them are as large, or a round has none.
    """
    total = round(float(expected.sum()))
    edges = np.cumsum(expected) / expected.sum()
    rng = np.random.default_rng(0)
    drawn = larger = 0
    while drawn < _ROUND * _ROUNDS and larger < _ENOUGH:
        larger_before = larger
        for part in np.array_split(np.arange(_ROUND), 1 + _ROUND * total // 5_000_000):
            units = np.searchsorted(edges[:-1], rng.random((len(part), total)), side="right")
            units = np.sort(units + len(expected) * np.arange(len(part))[:, None], axis=None)
            first = np.flatnonzero(np.diff(units, prepend=-1))
            counts = np.diff(np.append(first, len(units)))
            terms = counts**2 / expected[units[first] % len(expected)]
            drawn_index = np.bincount(units[first] // len(expected), weights=terms, minlength=len(part)) - total
            larger += int((drawn_index >= found * (1.0 - 1e-9)).sum())
        drawn += _ROUND
        if larger == larger_before:
            break
    return (larger + 1.0) / (drawn + 1.0)
