"""What samples say of the numbers behind them: intervals of means, ratios and quantiles, and paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, stdtrit

from spareopt.numerics.shares import share_interval
from spareopt.record import Frozen

Floats = NDArray[np.float64]

CONFIDENCE = 0.99


class Interval(Frozen):
    """A mean with its confidence interval; the ends are None where one replication alone says nothing of its spread."""

    mean: float
    low: float | None
    high: float | None
    standard_error: float | None

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def standard_errors_from(self, value: float) -> float | None:
        """Mean minus a value, in standard errors; None where there is no error to measure with."""
        return (self.mean - value) / self.standard_error if self.standard_error else None

    def within(self, least: float, most: float) -> Interval:
        """The part of the interval that a number can be in, such as a share in 0 to 1."""
        if self.low is None or self.high is None:
            return self
        return self.model_copy(update={"low": max(least, self.low), "high": min(most, self.high)})

    def contains(self, value: float) -> bool | None:
        """Whether the interval holds a value, up to rounding; None where there is no interval."""
        if self.low is None or self.high is None:
            return None
        rounding = 1e-9 * abs(self.mean)
        return self.low - rounding <= value <= self.high + rounding


class Quantile(Frozen):
    """A quantile with its confidence interval; an end is None where there are too few values for it."""

    value: float
    low: float | None
    high: float | None


class PairedDifference(Frozen):
    """First minus second under the same random numbers."""

    difference: Interval
    correlation: float | None
    """Of the pairs; None where either does not vary."""
    times_fewer: float | None
    """How many times as many replications independent runs would need for an interval as narrow."""


def student(confidence: float, values: int) -> float:
    """Half the width of a confidence interval in standard errors, for the mean of so many normal values (>= 2)."""
    return float(stdtrit(values - 1, (1.0 + confidence) / 2.0))


def mean_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """The mean of independent values of one law, by Student's t (Student 1908, "The probable error of a mean").

    Raises ValueError where there is no value.
    """
    x = np.asarray(values, dtype=np.float64)
    return ratio_interval(x, np.ones_like(x), confidence)


def ratio_interval(parts: ArrayLike, wholes: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """The ratio of the expectations of two numbers, from independent pairs (n,) of them.

    r = Σ parts / Σ wholes; its standard error is that of the mean of parts − r × wholes over the mean whole (the
    linearised ratio; Cochran 1977, "Sampling techniques", section 6.4), with Student's t.  Where all wholes are
    equal this is the interval of a mean.  Raises ValueError where there is no pair or the wholes sum to nothing.
    """
    x, y = np.asarray(parts, dtype=np.float64), np.asarray(wholes, dtype=np.float64)
    if len(x) == 0 or not y.sum() > 0:
        raise ValueError("a ratio needs a pair, and wholes that sum to more than nothing")
    ratio, n = float(x.sum() / y.sum()), len(x)
    if n == 1:
        return Interval(mean=ratio, low=None, high=None, standard_error=None)
    rest = x - ratio * y
    error = float(np.sqrt(rest @ rest / (n - 1) / n) / y.mean())
    if error <= 1e-13 * abs(ratio):  # rounding of values that are all the same
        error = 0.0
    half = student(confidence, n) * error
    return Interval(mean=ratio, low=ratio - half, high=ratio + half, standard_error=error)


def quantile(values: ArrayLike, share: float) -> float:
    """The estimate of a quantile that is unbiased in the median whatever the law (Hyndman & Fan 1996, definition 8)."""
    return float(np.quantile(np.asarray(values, dtype=np.float64), share, method="median_unbiased"))


def quantile_interval(values: ArrayLike, share: float, confidence: float = CONFIDENCE) -> Quantile:
    """A quantile with an interval that holds for any law of independent values.

    The number of values below the quantile is binomial; so the l-th and the u-th smallest one enclose it with a
    probability of P(l <= B < u) (David & Nagaraja 2003, "Order statistics", section 7.1).  Each side may miss with
    half of 1 − confidence; a side for which there are too few values is None.
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    n = len(x)
    lower, upper = _ranks(n, share, confidence)
    return Quantile(
        value=quantile(x, share),
        low=float(x[lower - 1]) if lower >= 1 else None,
        high=float(x[upper - 1]) if upper <= n else None,
    )


def _ranks(n: int, share: float, confidence: float) -> tuple[int, int]:
    """Which smallest values enclose a quantile, of n independent ones: below 1 or above n where none does."""
    miss = (1.0 - confidence) / 2.0
    below = bdtr(np.arange(n), n, share)  # P(B <= k)
    lower = int(np.searchsorted(below, miss, side="right"))  # l: P(B <= l − 1) <= miss
    upper = int(np.searchsorted(below, 1.0 - miss, side="left")) + 1  # u: P(B <= u − 1) >= 1 − miss
    return lower, upper


class ClusteredShare(Frozen):
    """A share of values that come in clusters, and how many independent values would say as much of it."""

    share: Interval
    effective: float | None
    """None where one cluster alone says nothing of what its values have in common."""


def clustered_share(hits: ArrayLike, sizes: ArrayLike, confidence: float = CONFIDENCE) -> ClusteredShare:
    """The share of hits, from independent clusters: ``hits`` (n,) of ``sizes`` (n,) values each, of any dependence.

    Clopper & Pearson's interval for as many independent values as have the same variance (Korn & Graubard 1998,
    "Confidence intervals for proportions with small expected number of positive counts estimated from survey data",
    Survey Methodology 24): n = p (1 − p)/se², at most all values, times (t of all values / t of the clusters)² for
    the freedom of se, which is that of the linearised ratio.  Where all values are hits, or none, each cluster counts
    as one value: that all of a cluster are is not more likely than that one is.  Raises ValueError where there is none.
    """
    x, size = np.asarray(hits, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    ratio = ratio_interval(x, size, confidence)
    clusters, values, p = int((size > 0).sum()), float(size.sum()), ratio.mean
    if clusters < 2:
        return ClusteredShare(share=ratio, effective=None)
    if p in (0.0, 1.0):
        n = float(clusters)
    else:
        n = min(values, p * (1.0 - p) / ratio.standard_error**2) if ratio.standard_error else values
        n *= (student(confidence, int(values)) / student(confidence, clusters)) ** 2
    low, high = share_interval(p * n, n - p * n, confidence)
    return ClusteredShare(share=ratio.model_copy(update={"low": low, "high": high}), effective=n)


def clustered_quantile(clusters: Sequence[ArrayLike], share: float, confidence: float = CONFIDENCE) -> Quantile:
    """A quantile of values that come in independent clusters, of any dependence within.

    The interval of ``quantile_interval`` with as many values as are effective (``clustered_share``) for the
    share at or below the quantile, its ranks spread over all values and rounded outwards.  An end for which there are
    too few values is None.  Raises ValueError where there is no value.
    """
    arrays = [np.asarray(values, dtype=np.float64) for values in clusters]
    x = np.sort(np.concatenate(arrays))
    value = quantile(x, share)
    below = clustered_share([float((a <= value).sum()) for a in arrays], [len(a) for a in arrays], confidence)
    n = 0 if below.effective is None else min(int(below.effective), len(x))
    lower, upper = _ranks(n, share, confidence)
    low, high = lower * len(x) // n if lower >= 1 else 0, -(-upper * len(x) // n) if upper <= n else len(x) + 1
    return Quantile(
        value=value,
        low=float(x[low - 1]) if low >= 1 else None,
        high=float(x[high - 1]) if high <= len(x) else None,
    )


def values_for_both_ends(share: float, confidence: float = CONFIDENCE) -> int:
    """How many independent values a quantile's interval needs to have both ends: the rarer side is seen at all."""
    return math.ceil(math.log((1.0 - confidence) / 2.0) / math.log(max(share, 1.0 - share)))


def histogram_quantile(counts: ArrayLike, upper_edges: ArrayLike, share: float) -> float | None:
    """The upper edge of the bin that a quantile of counted values is in; None where nothing was counted."""
    added = np.cumsum(np.asarray(counts))
    if len(added) == 0 or added[-1] == 0:
        return None
    place = int(np.searchsorted(added, share * added[-1], side="left"))
    return float(np.asarray(upper_edges)[min(place, len(added) - 1)])


def level_reached(weights: ArrayLike, share: float) -> int:
    """The smallest level k so that levels 0..k have at least this share of the weight."""
    added = np.cumsum(np.asarray(weights, dtype=np.float64))
    return int(np.searchsorted(added, share * added[-1] * (1.0 - 1e-12), side="left"))


def paired_difference(first: ArrayLike, second: ArrayLike, confidence: float = CONFIDENCE) -> PairedDifference:
    """First minus second of pairs with common random numbers (Law 2015, "Simulation modeling", sections 10.2 and 11.2).

    Var(X − Y) = Var X + Var Y − 2 Cov(X, Y): independent runs would need (Var X + Var Y)/Var(X − Y) times as many
    replications.
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    difference = mean_interval(x - y, confidence)
    if len(x) < 2:
        return PairedDifference(difference=difference, correlation=None, times_fewer=None)
    apart, alone = float(np.var(x - y, ddof=1)), float(np.var(x, ddof=1) + np.var(y, ddof=1))
    spread = float(np.std(x, ddof=1) * np.std(y, ddof=1))
    return PairedDifference(
        difference=difference,
        correlation=float(np.cov(x, y)[0, 1]) / spread if spread > 0 else None,
        times_fewer=alone / apart if apart > 0 else None,
    )
