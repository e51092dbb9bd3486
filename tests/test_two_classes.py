"""Lemons from counts: the likelihood by scipy, slopes by differences, one class, and drawn fleets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import poisson

from spareopt.numerics.two_classes import _Data, beyond_chance, two_classes


def fleet(rng: np.random.Generator, units: int, share: float, multiple: float) -> tuple[np.ndarray, np.ndarray]:
    times = rng.uniform(5000.0, 8000.0, units)
    others = 4e-4 / (1 - share + share * multiple)
    rates = np.where(rng.random(units) < share, multiple, 1.0) * others
    return rng.poisson(rates * times).astype(float), times


def test_the_likelihood_is_the_mixture_of_poisson_laws() -> None:
    """Proves the likelihood by scipy's law, up to the terms without parameters, and its slopes by differences."""
    counts, times = fleet(np.random.default_rng(1), 60, 0.1, 6.0)
    data = _Data.of(counts, times)

    def value(share: float, multiple: float, rate: float) -> float:
        low = rate / (1 - share + share * multiple)
        law = (1 - share) * poisson.pmf(counts, low * times) + share * poisson.pmf(counts, multiple * low * times)
        return float(np.log(law).sum())

    def point(share: float, multiple: float, rate: float) -> np.ndarray:
        return np.array([math.log(share / (1 - share)), math.log(multiple - 1), math.log(rate)])

    one, other = (0.1, 6.0, 4e-4), (0.3, 2.0, 5e-4)
    difference = data.value(point(*one))[0] - data.value(point(*other))[0]
    assert difference == pytest.approx(value(*one) - value(*other), rel=1e-3)  # times are rounded to 5e-5
    slope = data.value(point(*one))[1]
    for place, step in enumerate(np.eye(3) * 1e-5):
        up, down = data.value(point(*one) + step)[0], data.value(point(*one) - step)[0]
        assert slope[place] == pytest.approx((up - down) / 2e-5, rel=1e-4)


def test_one_class_is_not_called_two() -> None:
    """Proves the guard: of 60 fleets of like units at most two are said to hold lemons."""
    rng = np.random.default_rng(2)
    gains = [two_classes(*fleet(rng, 300, 0.0, 1.0), 0.95).bic_gain for _ in range(60)]
    assert sum(gain > 0 for gain in gains) <= 2


def test_the_intervals_cover() -> None:
    """Proves share and multiple on 60 fleets with lemons: all are found, and 53 intervals at least hold the truth."""
    rng = np.random.default_rng(3)
    found = [two_classes(*fleet(rng, 600, 0.08, 6.0), 0.95) for _ in range(60)]
    assert all(fit.bic_gain > 0 for fit in found)
    assert sum(fit.share.low <= 0.08 <= fit.share.high for fit in found) >= 53
    assert sum(fit.multiple.low <= 6.0 <= fit.multiple.high for fit in found) >= 53
    assert sum(fit.share.high - fit.share.low < 0.1 for fit in found) == 60


def test_the_profile_ends_where_the_likelihood_has_fallen() -> None:
    """Proves an end of the share's interval on a grid: the best of the others is half of chi-square below the fit."""
    counts, times = fleet(np.random.default_rng(4), 400, 0.1, 6.0)
    fit, data = two_classes(counts, times, 0.95), _Data.of(counts, times)
    odds = math.log(fit.share.high / (1 - fit.share.high))
    grid = [
        data.value(np.array([odds, math.log(m - 1), math.log(r)]))[0]
        for m in np.linspace(3, 9, 121)
        for r in np.linspace(3e-4, 5e-4, 81)
    ]
    assert max(grid) == pytest.approx(fit.log_likelihood - 3.841 / 2, abs=0.02)


def test_units_beyond_chance() -> None:
    """Proves the list by scipy's tail: beside 100 units with a fault each only one with eight is beyond chance."""
    counts, times = np.append(np.ones(100), 8.0), np.full(101, 10.0)
    tails, beyond = beyond_chance(counts, times, 0.05)
    assert np.flatnonzero(beyond).tolist() == [100]
    assert tails[100] == pytest.approx(poisson.sf(7, 108 / 101))
