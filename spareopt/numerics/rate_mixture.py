"""Means over an uncertain failure rate: a multiplier of all rates, Gamma-distributed with mean 1.

Failure rates are known as intervals, and counts of faults spread more than Poisson's law says.  Let every rate be M
times its stated value, M having the density k^k m^(k−1) exp(−k m)/Γ(k) with k = 1/v, so mean 1 and variance v (v = 0:
certain).  What the planner asks for is the mean of a function of M, say A(M)·η(M Λ) with the same M in both factors.

A count whose mean is μ given M = 1 is Poisson given M, and so has the mean μ and the variance μ + μ² v: its variance
over its mean is 1 + μ v (`multiplier_variance`).  M is shared by all that is counted; counts that spread because some
servers are worse than others (lemons) say nothing of it: the number of them down at once spreads no more for that.

*Quadrature.*  With m = e^t, t = d − Ω (e^−d − 1), where Ω e^Ω = 1, the density in d is proportional to

    exp(k (t − e^t)) · (1 + Ω e^−d),

which falls doubly exponentially on both sides (from its largest exponent at d = 0, m = 1) for any k: the double
exponential transformation for half-infinite ranges (Takahasi and Mori 1974).  There the trapezoidal rule converges
exponentially for a function that is smooth in ln m, and halving its step keeps all values already computed.  The
weights are divided by their sum, so that no Gamma function is needed, which would overflow where v is small.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, expm1, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_OMEGA = 0.5671432904097838  # Ω e^Ω = 1
_FIXED_CUT = log(1e-18)  # ends of the fixed rule: the density there by its value in the middle
_ADAPTIVE_CUT = log(1e-60)  # ends of the adaptive rule, where a small value may come from a rare multiplier
_FIRST_STEPS = 32
_MOST_STEPS = 2**16
_CERTAIN = 1e-32  # below this variance all multipliers that matter round to 1


def multiplier_variance(variance_to_mean: float, mean_count: float) -> float:
    """Variance of the rate multiplier from the spread of counts: (variance/mean − 1)/mean.

    The counts are of faults of all units that the multiplier is shared by, in periods over which it stays the same.
    Raises ValueError for a mean that is not positive, and for counts that spread less than Poisson's law.
    """
    if not 0 < mean_count < inf:
        raise ValueError(f"a mean count must be positive and finite, not {mean_count}")
    if not 1 <= variance_to_mean < inf:
        raise ValueError(
            f"counts of faults spread at least as Poisson's law does under any mixture of rates: their variance over "
            f"their mean must be finite and at least 1, not {variance_to_mean}"
        )
    return (variance_to_mean - 1.0) / mean_count


def multiplier_nodes(variance: float, nodes: int = 64) -> tuple[Array, Array]:
    """Multipliers and their weights (each of shape (nodes,)): a fixed rule for means over the multiplier.

    The weights sum to 1, and the multipliers are scaled by the 1e-10 or so that makes their mean 1 (only with very few
    nodes is it more).  Variance 0: the one multiplier 1.  Up to variance 1 the relative
    error of A·η for a zone of 256 blocks is below 1e-10 with 64 nodes for 4 spare blocks (1e-7 with 32), below 1e-9 for
    32 (1e-3 with 32).  A steeper A needs more nodes (10,000 blocks with 500 spare: 128 for 1e-7), which `mixed_mean`
    finds by itself.  Raises ValueError for a negative or infinite
    variance or fewer than two nodes.
    """
    _check(variance)
    if nodes < 2:
        raise ValueError(f"the rule needs at least two nodes, not {nodes}")
    if variance < _CERTAIN:
        return np.ones(1), np.ones(1)
    multipliers, densities = _at(np.linspace(*_ends(variance, _FIXED_CUT), nodes), variance)
    weights = densities / densities.sum()
    return multipliers / (weights @ multipliers), weights


def mixed_mean(function: Callable[[Array], Array], variance: float, tolerance: float) -> tuple[float, float]:
    """E[function(M)] and an estimate of its absolute error, for a multiplier M of mean 1 and the ``variance``.

    ``function`` takes an array of multipliers from [0, ∞) and returns as many values.  The step of the trapezoidal rule
    is halved until the last halving changed the mean by at most ``tolerance`` of itself; the change is the estimate,
    which is far too large for a smooth function, as the error squares with each halving.  Where 65,536 steps do not
    reach the tolerance (a function with jumps) the estimate is above it: the caller must look.  Small means of
    non-negative functions keep their relative accuracy down to 1e-40.

    Raises ValueError for a negative or infinite variance, a tolerance below 1e-14, and a function that is not finite.
    """
    _check(variance)
    if not tolerance >= 1e-14:
        raise ValueError(f"a tolerance must be at least 1e-14, not {tolerance}")
    if variance < _CERTAIN:
        return float(_values(function, np.ones(1))[0]), 0.0
    first, last = _ends(variance, _ADAPTIVE_CUT)

    def sums(shares: Array) -> Array:
        multipliers, densities = _at(first + shares * (last - first), variance)
        return np.array([densities @ _values(function, multipliers), densities.sum()])

    steps = _FIRST_STEPS
    total = sums(np.arange(steps + 1) / steps)
    mean, error = float(total[0] / total[1]), inf
    while error > tolerance * abs(mean) and steps < _MOST_STEPS:
        total += sums((np.arange(steps) + 0.5) / steps)
        steps *= 2
        previous, mean = mean, float(total[0] / total[1])
        error = abs(mean - previous)
    return mean, error


def _check(variance: float) -> None:
    if not 0 <= variance < inf:
        raise ValueError(f"a variance must be finite and not negative, not {variance}")


def _values(function: Callable[[Array], Array], multipliers: Array) -> Array:
    values = np.asarray(function(multipliers), dtype=np.float64)
    if values.shape != multipliers.shape or not np.isfinite(values).all():
        raise ValueError("the function must return a finite value for each multiplier")
    return values


def _at(places: Array, variance: float) -> tuple[Array, Array]:
    """The multipliers at places d, and the density in d by that of d = 0 but for a constant."""
    logs = places - _OMEGA * np.expm1(-places)
    # e^t − 1 − t, for small t (small variances) without the difference of nearly equal numbers
    series = 0.5 * logs**2 * (1.0 + logs / 3.0 * (1.0 + logs / 4.0 * (1.0 + logs / 5.0)))
    excess = np.where(np.abs(logs) < 1e-3, series, np.expm1(logs) - logs)
    return np.exp(logs), np.exp(-excess / variance) * (1.0 + _OMEGA * np.exp(-places))


def _ends(variance: float, cut: float) -> tuple[float, float]:
    """Places d on both sides where the exponent of the density is ``cut``."""
    from scipy.optimize import brentq  # noqa: PLC0415 - slow to import, and only uncertain rates need it

    def above(place: float) -> float:
        log_multiplier = place - _OMEGA * expm1(-place)
        if abs(log_multiplier) < 1e-3:
            excess = 0.5 * log_multiplier**2 * (1.0 + log_multiplier / 3.0)
        else:
            excess = exp(log_multiplier) - 1.0 - log_multiplier
        return -excess / variance - cut

    ends = []
    for step in (-1.0, 1.0):
        place = step * min(sqrt(variance), 1.0)
        while above(place) > 0:
            place *= 2.0
        ends.append(float(brentq(above, 0.0, place, xtol=1e-3 * abs(place))))
    return ends[0], ends[1]
