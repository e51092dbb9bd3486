"""Gaps between faults and their trend: scipy's fit, closed forms, and processes of a known law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import weibull_min

from spareopt.numerics.fault_times import laplace_trend, weibull_gaps, weibull_shape


def test_the_shape_is_scipys() -> None:
    """Proves the maximum-likelihood shape against scipy's general-purpose fit."""
    times = weibull_min.rvs(0.7, scale=30.0, size=400, random_state=5)
    shape, _, _ = weibull_min.fit(times, floc=0)
    assert weibull_shape(times) == pytest.approx(shape, rel=1e-3)
    assert weibull_shape(times * 1e6) == pytest.approx(weibull_shape(times), rel=1e-9)


@pytest.mark.parametrize("shape", [0.6, 1.0])
def test_intervals_of_the_shape_cover(shape: float) -> None:
    """Proves the interval: of 1,000 records of 150 gaps 93 to 97 % hold the shape they were drawn with."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(1000):
        found = weibull_gaps(np.cumsum(rng.weibull(shape, 150)), 0.95).shape
        held += found.low <= shape <= found.high
    assert 930 <= held <= 970


@pytest.mark.parametrize("gaps", [10, 15, 30])
def test_intervals_of_the_shape_cover_from_few_gaps(gaps: int) -> None:
    """Proves the interval in small samples: of 1,000 records of 10 to 30 gaps 93 to 97 % hold the shape."""
    rng = np.random.default_rng(gaps)
    held = 0
    for _ in range(1000):
        found = weibull_gaps(np.cumsum(rng.weibull(1.0, gaps + 1)), 0.95).shape
        held += found.low <= 1.0 <= found.high
    assert 930 <= held <= 970


def test_ties_are_told_apart() -> None:
    """Proves that faults of one moment are counted beside the gaps, and that few gaps have no shape."""
    starts = np.array([0.0, 1.0, 1.0, 1.0, 4.0])
    found = weibull_gaps(starts, 0.95)
    assert (found.positive, found.ties) == (2, 2) and math.isnan(found.shape.value)


def test_laplace_by_hand() -> None:
    """Proves the statistic by hand: 12 faults at mean share 0.75 stand 3 standard deviations out."""
    found = laplace_trend(np.full(12, 0.75))
    assert found.statistic == pytest.approx(3.0) and found.p_value == pytest.approx(0.0027, abs=1e-4)


def test_no_trend_is_seldom_called_one() -> None:
    """Proves the test: of 2,000 even records about 5 % have a p-value below 5 %."""
    rng = np.random.default_rng(2)
    p = np.array([laplace_trend(rng.random(40)).p_value for _ in range(2000)])
    assert 0.035 <= (p < 0.05).mean() <= 0.065
