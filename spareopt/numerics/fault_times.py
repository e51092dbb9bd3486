"""Whether faults come evenly: the Weibull shape of the gaps between them, and a trend over the time observed.

Faults of many units at constant rates make a Poisson process: gaps are exponential, Weibull shape 1.  A shape below 1
says that faults come in clusters.  Given their number, the shares of all exposed time that had passed at each fault are
uniform; Laplace's statistic compares their mean with 1/2 (Cox and Lewis 1966, "The statistical analysis of series of
events", section 3.3).
"""

from __future__ import annotations

from math import log, nan, pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.numerics.poisson_rates import Bounds

Floats = NDArray[np.float64]

FEWEST_GAPS = 10
"""Positive gaps below which no shape is told."""


class Gaps(NamedTuple):
    """Gaps between successive faults: the Weibull shape of the positive ones, how many those are, how many are none."""

    shape: Bounds
    positive: int
    ties: int


def weibull_gaps(starts: Floats, confidence: float) -> Gaps:
    """The maximum-likelihood Weibull shape of the positive gaps between sorted fault times (n,), with its interval.

    The interval is Student's in the logarithm of the shape, whose standard deviation is √6/π over the root of the
    number n of gaps (the shape's information with the scale unknown).  Its middle is the shape times
    (n − 2)/(n − 0.68), for the shape is too large on average in small samples (Ross 1994,
    "Formulas to describe the bias and standard deviation
    of the ML-estimated Weibull shape parameter", IEEE Trans. Dielectrics and Electrical Insulation 1).  NaN below
    FEWEST_GAPS positive gaps, or if all are equal.
    """
    gaps = np.diff(np.sort(starts))
    positive = gaps[gaps > 0]
    ties = len(gaps) - len(positive)
    if len(positive) < FEWEST_GAPS or positive.min() == positive.max():
        return Gaps(Bounds(nan, nan, nan), len(positive), ties)
    from scipy.special import stdtrit  # noqa: PLC0415

    shape, number = weibull_shape(positive), len(positive)
    middle = shape * (number - 2.0) / (number - 0.68)
    reach = float(np.exp(stdtrit(number - 1, (1.0 + confidence) / 2.0) * sqrt(6.0) / pi / sqrt(number)))
    return Gaps(Bounds(shape, middle / reach, middle * reach), number, ties)


def weibull_shape(times: Floats) -> float:
    """The maximum-likelihood shape of a Weibull law of positive times (n,) that are not all equal."""
    from scipy.optimize import brentq  # noqa: PLC0415

    logs = np.log(times)
    logs = logs - logs.max()  # powers of times up to 1 do not overflow
    mean = float(logs.mean())

    def score(log_shape: float) -> float:
        powers = np.exp(np.exp(log_shape) * logs)
        return float(np.exp(-log_shape) + mean - powers @ logs / powers.sum())

    return float(np.exp(brentq(score, log(1e-3), log(1e4), xtol=1e-12)))


class Trend(NamedTuple):
    """Laplace's statistic (above 0: more faults late than early), and how often no trend gives one as far from 0."""

    statistic: float
    p_value: float


def laplace_trend(shares: Floats) -> Trend:
    """Laplace's test of the shares (n,) of the exposed time that had passed at each fault; NaN without faults."""
    from scipy.special import ndtr  # noqa: PLC0415

    if len(shares) == 0:
        return Trend(nan, nan)
    statistic = float((shares.mean() - 0.5) * sqrt(12.0 * len(shares)))
    return Trend(statistic, float(2.0 * ndtr(-abs(statistic))))
