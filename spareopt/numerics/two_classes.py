"""Lemons among units: which have more faults than chance gives, and two classes of units fitted to their counts.

A share s of the units fails m times as often as the others, the mean rate of all being r: the others fail at
r/(1 − s + s m).  A unit's count n in its exposed time T is Poisson given its class, so it counts

    (1 − s) P(n; r₀T) + s P(n; m r₀T),   r₀ = r/(1 − s + s m).

The fit maximises the likelihood from set starts; the intervals are those of the profile likelihood, and two classes are
told only where BIC (Schwarz 1978) prefers them to one.
"""

from __future__ import annotations

from math import exp, inf, log, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.numerics.poisson_rates import Bounds, spread

Floats = NDArray[np.float64]

MOST_MULTIPLE = 1000.0
"""A multiple this large says that the others hardly ever fail."""
_FEW_UNITS = 5000
"""Up to so many units, times on a grid of 5e-5 are taken as one, beyond it of 2e-3; each group at its mean."""
_LEAST = np.array([-15.0, -7.0, -40.0])
_GREATEST = np.array([15.0, log(MOST_MULTIPLE - 1.0), 30.0])
_NO_SPREAD = 0.05
"""Counts that Poisson's law spreads as far more often than this have one class."""


def beyond_chance(counts: Floats, exposures: Floats, level: float) -> tuple[Floats, NDArray[np.bool_]]:
    """How often each unit's law gives so many faults, and whether that is beyond chance at a level for all together.

    Poisson's tail P(X ≥ n) at the rate of all, times the number of units (Bonferroni).
    """
    from scipy.special import pdtrc  # noqa: PLC0415

    expected = counts.sum() / exposures.sum() * exposures
    tails = np.where(counts > 0, pdtrc(np.maximum(counts - 1.0, 0.0), expected), 1.0)
    return tails, (counts > 0) & (tails * len(counts) < level)


class TwoClasses(NamedTuple):
    """Two classes of units: share and multiple of the lemons, mean rate of all, and by how much BIC prefers them."""

    share: Bounds
    multiple: Bounds
    rate: float
    bic_gain: float
    log_likelihood: float


def two_classes(counts: Floats, exposures: Floats, confidence: float) -> TwoClasses:
    """Fit two classes to the counts (n,) of units in their exposed times (n,).

    Without a gain of BIC nothing but the gain is told (the others are NaN).  Raises ValueError without units or faults.
    """
    if len(counts) == 0 or counts.sum() == 0:
        raise ValueError("expected units with faults")
    nothing = Bounds(nan, nan, nan)
    data = _Data.of(counts, exposures)
    one = data.one_class()
    if spread(counts, exposures, confidence).p_value > _NO_SPREAD:  # NaN with a single unit goes on, and finds nothing
        return TwoClasses(nothing, nothing, nan, 0.0, one)
    best_value, best = -inf, np.zeros(3)
    for share in (0.02, 0.1, 0.3):
        for multiple in (3.0, 12.0):
            value, point = data.maximise(np.array([log(share / (1 - share)), log(multiple - 1), log(data.mean_rate)]))
            if value > best_value + 1e-9:
                best_value, best = value, point
    gain = 2.0 * (best_value - one) - 2.0 * log(len(counts))
    if gain <= 0:
        return TwoClasses(nothing, nothing, nan, min(gain, 0.0), best_value)
    from scipy.special import expit  # noqa: PLC0415

    ends = [data.profile(best, best_value, which, confidence) for which in range(2)]
    shares = Bounds(float(expit(best[0])), *(float(expit(end)) for end in ends[0]))
    multiples = Bounds(1.0 + exp(best[1]), *(1.0 + exp(end) for end in ends[1]))
    return TwoClasses(shares, multiples, exp(best[2]), gain, best_value)


class _Data:
    """Counts and times of units, those alike together: of one count, and times that differ by less than the grid."""

    def __init__(self, counts: Floats, exposures: Floats, times: Floats) -> None:
        self.counts, self.exposures, self.times = counts, exposures, times
        self.mean_rate = float(counts @ times / (exposures @ times))

    @classmethod
    def of(cls, counts: Floats, exposures: Floats) -> _Data:
        grid = 2e4 if len(counts) <= _FEW_UNITS else 500.0
        steps = np.round(np.log(exposures) * grid).astype(np.int64)
        width = int(np.ptp(steps)) + 1
        key, place, times = np.unique(
            counts.astype(np.int64) * width + steps - steps.min(), return_inverse=True, return_counts=True
        )
        number = times.astype(np.float64)
        return cls((key // width).astype(np.float64), np.bincount(place, weights=exposures) / number, number)

    def one_class(self) -> float:
        """The log-likelihood of one class, without the terms that both share."""
        return float(self.times @ (self.counts * log(self.mean_rate) - self.mean_rate * self.exposures))

    def value(self, point: Floats) -> tuple[float, Floats]:
        """The log-likelihood and its slope at the log odds of the share, log(multiple − 1) and the log mean rate."""
        odds, log_excess, log_rate = (float(x) for x in point)
        share = 1.0 / (1.0 + exp(-odds))
        multiple = 1.0 + exp(log_excess)
        norm = 1.0 - share + share * multiple
        low = exp(log_rate) / norm
        first = -np.logaddexp(0.0, odds) + self.counts * log(low) - low * self.exposures
        second = -np.logaddexp(0.0, -odds) + self.counts * log(multiple * low) - low * multiple * self.exposures
        whole = np.logaddexp(first, second)
        way = np.exp(second - whole)  # probability that the unit is a lemon
        by_low = self.counts - low * self.exposures * (1.0 - way + way * multiple)  # slope along log r₀
        by_multiple = way * (self.counts - low * multiple * self.exposures)
        slope_odds = way - share - by_low * share * (1.0 - share) * (multiple - 1.0) / norm
        slope_excess = by_multiple * (1.0 - 1.0 / multiple) - by_low * share * (multiple - 1.0) / norm
        slopes = np.array([self.times @ slope_odds, self.times @ slope_excess, self.times @ by_low])
        return float(self.times @ whole), slopes

    def maximise(self, start: Floats, fixed: int | None = None) -> tuple[float, Floats]:
        """The greatest log-likelihood from a start, and where; one of the three may be held."""
        from scipy.optimize import minimize  # noqa: PLC0415

        free = [place for place in range(3) if place != fixed]
        scale = 1.0 / float(self.times.sum())

        def loss(inner: Floats) -> tuple[float, Floats]:
            point = start.copy()
            point[free] = inner
            inside = np.clip(point, _LEAST, _GREATEST)
            value, slope = self.value(inside)
            away = point - inside  # beyond the edges the loss rises
            return -value * scale + float(away @ away), -slope[free] * scale * (away[free] == 0) + 2.0 * away[free]

        found = minimize(loss, start[free], jac=True, method="BFGS", options={"gtol": 1e-7})
        point = start.copy()
        point[free] = found.x
        point = np.clip(point, _LEAST, _GREATEST)
        return self.value(point)[0], point

    def profile(self, best: Floats, best_value: float, which: int, confidence: float) -> tuple[float, float]:
        """Where the greatest log-likelihood with one of the three held falls by half the χ² quantile, on both sides."""
        from scipy.optimize import brentq  # noqa: PLC0415
        from scipy.stats import chi2  # noqa: PLC0415

        drop = float(chi2.ppf(confidence, 1)) / 2.0
        seen = {float(best[which]): drop}
        nearby = best

        def excess(place: float) -> float:
            """How far above the level the likelihood is; the same again for the same place."""
            nonlocal nearby
            if place not in seen:
                start = nearby.copy()
                start[which] = place
                value, nearby = self.maximise(start, fixed=which)
                seen[place] = value - best_value + drop
            return seen[place]

        ends = []
        for edge, direction in ((float(_LEAST[which]), -1.0), (float(_GREATEST[which]), 1.0)):
            nearby = best
            near, step = float(best[which]), 0.1
            while True:
                far = near + direction * step
                if direction * (far - edge) >= 0:
                    far = edge
                if excess(far) < 0:
                    ends.append(float(brentq(excess, near, far, xtol=1e-4)))  # both ends have been seen
                    break
                if far == edge:
                    ends.append(far)
                    break
                near, step = far, step * 1.7
        return ends[0], ends[1]
