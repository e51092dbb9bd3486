"""Rates from counts: published values, exact coverage by enumeration, and brute-force inversion of binomial tails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chi2, nbinom, poisson

from spareopt.numerics.poisson_rates import (
    _drawn_p_value,
    count_interval,
    equal_rates_p_value,
    mean_interval,
    rate_ratio,
    ratio_dispersion,
    spread,
)


@pytest.mark.parametrize(("count", "low", "high"), [(1, 0.0253, 5.57), (10, 4.80, 18.39), (100, 81.36, 121.63)])
def test_the_interval_is_garwoods(count: int, low: float, high: float) -> None:
    """Proves the interval against the printed table of exact 95 % Poisson limits (Garwood 1936, and many reprints)."""
    assert list(count_interval(count, 0.95)) == pytest.approx([low, high], rel=1e-3)


def test_nothing_counted_gives_a_one_sided_bound() -> None:
    """Proves the bound of no fault: a mean of 2.996 ("rule of three") would give none in 5 % of the cases."""
    low, high = count_interval(0, 0.95)
    assert low == 0 and math.exp(-high) == pytest.approx(0.05)


@pytest.mark.parametrize("mean", [0.5, 3.0, 17.3, 200.0])
def test_the_interval_covers_as_often_as_it_claims(mean: float) -> None:
    """Proves the claim by summing Poisson's law over all counts whose interval holds the mean."""
    counts = np.arange(int(poisson.ppf(1 - 1e-12, mean)) + 2)
    held = [low <= mean <= high for low, high in (count_interval(int(n), 0.9) for n in counts)]
    assert poisson.pmf(counts, mean) @ np.array(held) >= 0.9


def test_dispersion_widens_as_fewer_counts_would() -> None:
    """Proves that counts that spread four times as far are worth a quarter as many."""
    low, high = count_interval(25, 0.95)
    assert list(count_interval(100, 0.95, 4.0)) == pytest.approx([4 * low, 4 * high])


def test_the_mean_of_exponential_times_has_its_exact_interval() -> None:
    """Proves it for 12 repairs: 2nx over the mean is chi-square of 24 degrees, with its printed 5 % and 95 % points."""
    expected = [240 / 36.415, 240 / 13.848]
    assert list(mean_interval(10.0, 10.0 / math.sqrt(12), 0.9)) == pytest.approx(expected, rel=1e-4)


@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.2, 5.0))
def test_the_ratio_inverts_the_conditional_law(first: int, second: int, time: float) -> None:
    """Proves both ends of a ratio: there the binomial law leaves 2.5 % for a count as far out, by its own sums."""
    found = rate_ratio(first, time, second, 1.0, 0.95)
    if first + second == 0:
        assert math.isnan(found.value)
        return
    if first:
        p = found.low * time / (found.low * time + 1)
        assert binom.sf(first - 1, first + second, p) == pytest.approx(0.025, rel=1e-6)
    if second:
        p = found.high * time / (found.high * time + 1)
        assert binom.cdf(first, first + second, p) == pytest.approx(0.025, rel=1e-6)
        assert found.low <= found.value <= found.high
    swapped = rate_ratio(second, 1.0, first, time, 0.95)
    if first and second:
        assert swapped.value == pytest.approx(1 / found.value) and swapped.low == pytest.approx(1 / found.high)


def test_equal_rates_are_tested_exactly() -> None:
    """Proves the p-value by hand: 0 of 5 faults in half of the time is 2 of the 32 ways."""
    assert equal_rates_p_value(0, 1.0, 5, 1.0) == pytest.approx(2 / 32)


@given(st.lists(st.integers(0, 9), min_size=3, max_size=30).filter(lambda counts: sum(counts) > 0))
def test_with_equal_times_it_is_variance_over_mean(counts: list[int]) -> None:
    """Proves both measures of spread: with equal times each is the sample variance over the mean."""
    n, times = np.array(counts, dtype=float), np.full(len(counts), 7.0)
    expected = n.var(ddof=1) / n.mean()
    assert spread(n, times, 0.95).variance_over_mean.value == pytest.approx(expected)
    assert ratio_dispersion(n, times) == pytest.approx(expected)


def test_units_in_service_for_different_times_spread_no_more() -> None:
    """Proves that a fleet that grew is not taken for one of lemons: counts as expected in each time spread by 0."""
    times = np.array([1.0, 2.0, 5.0, 10.0])
    assert spread(3 * times, times, 0.95).variance_over_mean.value == pytest.approx(0.0, abs=1e-12)


def test_intervals_of_the_spread_cover() -> None:
    """Proves the interval of variance over mean: of 400 negative binomial fleets 91 to 98.5 % hold the truth."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(400):
        counts = nbinom.rvs(1.0, 0.4, size=400, random_state=rng).astype(float)  # variance over mean 1/0.4
        bounds = spread(counts, np.ones(400), 0.95).variance_over_mean
        held += bounds.low <= 2.5 <= bounds.high
    assert 0.91 * 400 <= held <= 0.985 * 400


def test_poisson_counts_are_seldom_called_spread() -> None:
    """Proves the test of the spread: of 1,000 fleets of Poisson units about 5 % have a p-value below 5 %."""
    rng = np.random.default_rng(4)
    p = [spread(rng.poisson(2.0, 200).astype(float), np.ones(200), 0.95).p_value for _ in range(1000)]
    assert 0.03 <= np.mean(np.array(p) < 0.05) <= 0.075


@pytest.mark.parametrize("case", ["few faults of many units", "units of a day among those of a year"])
def test_sparse_poisson_counts_are_seldom_called_spread(case: str) -> None:
    """Proves the p-value where χ² is wrong: of 400 such fleets at most 10 have one below 1 % (χ²: 20 and more)."""
    times = np.ones(1000) if case.startswith("few") else np.concatenate([np.full(100, 365.0), np.ones(100)])
    expected = times / times.sum() * (14.0 if case.startswith("few") else 60.0)
    rng = np.random.default_rng(6)
    by_draws = by_law = 0
    for _ in range(400):
        counts = rng.poisson(expected).astype(float)
        found = spread(counts, times, 0.95)
        by_draws += found.p_value < 0.01
        by_law += chi2.sf(found.variance_over_mean.value * (len(times) - 1), len(times) - 1) < 0.01
    assert by_draws <= 10 and by_law >= 20


def test_drawn_p_values_are_those_of_all_draws() -> None:
    """Proves the p-value by counting: two of three faults on one of 40 like units is 1 − (39 · 38)/40²."""
    counts = np.array([2.0, 1.0] + 38 * [0.0])
    x2 = float(((counts - 3 / 40) ** 2).sum() / (3 / 40))
    assert _drawn_p_value(x2, np.full(40, 3 / 40)) == pytest.approx(1 - 39 * 38 / 40**2, abs=0.02)
