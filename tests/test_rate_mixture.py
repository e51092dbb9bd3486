"""Means over the rate multiplier against closed forms (negative binomial, Laplace transform) and other quadrature."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import bdtr, bdtrc, pdtrc, roots_genlaguerre
from scipy.stats import gamma, nbinom, poisson

from spareopt.numerics.rate_mixture import mixed_mean, multiplier_nodes, multiplier_variance

Array = NDArray[np.float64]
VARIANCES = [1e-6, 1e-4, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0]


def block_down(multiplier: Array, tray_load: float) -> Array:
    """P(any of 18 trays down)."""
    return np.asarray(-np.expm1(-18.0 * np.log1p(multiplier * tray_load)))


def zone_short(multiplier: Array, tray_load: float, blocks: int = 256, spares: int = 4) -> Array:
    """P(more than R of L blocks down), a steep sigmoid in ln m."""
    return np.asarray(bdtrc(spares, blocks, block_down(multiplier, tray_load)))


def useful(multiplier: Array, tray_load: float, spares: int = 4) -> Array:
    """A(m)·η(m Λ) with the efficiency of a period of Young and Daly, limited to its end at 0."""
    available = bdtr(spares, 256, block_down(multiplier, tray_load))
    return np.asarray(available) * np.exp(-0.15 * np.sqrt(multiplier) - 0.05 * multiplier)


def by_quad(function: object, variance: float, absolute: float = 0.0) -> float:
    """E[f(M)] with scipy's adaptive Gauss-Kronrod rule over ln m, in 60 pieces, and scipy's Gamma density."""
    law = gamma(1.0 / variance, scale=variance)

    def integrand(log_multiplier: float) -> float:
        m = np.exp(log_multiplier)
        return float(function(np.array([m]))[0] * law.pdf(m) * m)  # type: ignore[operator]

    first, last = np.log([max(law.ppf(1e-15), 1e-17), law.isf(1e-40)])
    edges = np.linspace(first, last, 61)
    return float(sum(quad(integrand, a, b, epsrel=1e-11, epsabs=absolute)[0] for a, b in pairwise(edges)))


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("mean", [0.3, 20.0, 2000.0])
def test_mixed_counts_are_negative_binomial(variance: float, mean: float) -> None:
    """A Poisson count whose mean is multiplied is negative binomial: terms, far tails and the variance.

    The tails go down to 1e-20; the spread of the law gives back the variance of the multiplier.
    """
    closed = nbinom(1.0 / variance, 1.0 / (1.0 + mean * variance))

    def term(count: int, multiplier: Array) -> Array:
        return np.asarray(poisson.pmf(count, mean * multiplier))

    for count in (int(closed.ppf(0.3)), int(closed.ppf(0.999))):
        value, error = mixed_mean(partial(term, count), variance, 1e-11)
        assert value == pytest.approx(closed.pmf(count), rel=1e-9)
        assert error <= 1e-11 * value
    far = int(closed.isf(1e-20))
    assert mixed_mean(lambda m: pdtrc(far, mean * m), variance, 1e-11)[0] == pytest.approx(closed.sf(far), rel=1e-8)
    assert multiplier_variance(closed.var() / closed.mean(), mean) == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("slope", [1e-3, 1.0, 30.0])
def test_laplace_transform(variance: float, slope: float) -> None:
    """E[exp(−a M)] = (1 + a v)^(−1/v), by the adaptive and by the fixed rule."""
    closed = float(np.exp(-np.log1p(slope * variance) / variance))
    assert mixed_mean(lambda m: np.exp(-slope * m), variance, 1e-12)[0] == pytest.approx(closed, rel=1e-11)
    multipliers, weights = multiplier_nodes(variance)
    assert weights @ np.exp(-slope * multipliers) == pytest.approx(closed, rel=1e-6 if slope * variance > 1 else 1e-11)


@settings(max_examples=60, deadline=None)
@given(st.floats(-6.0, 1.0), st.integers(32, 200))
def test_fixed_rule_has_the_moments(exponent: float, nodes: int) -> None:
    """Weights sum to 1 and the mean is 1 to rounding; the variance is that asked for, over seven decades of it."""
    variance = 10.0**exponent
    multipliers, weights = multiplier_nodes(variance, nodes)
    assert multipliers.shape == weights.shape == (nodes,)
    assert np.all(weights >= 0) and np.all(multipliers >= 0)
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert weights @ multipliers == pytest.approx(1.0, abs=1e-14)
    assert weights @ (multipliers - 1.0) ** 2 == pytest.approx(variance, rel=1e-8)


@pytest.mark.parametrize(("spares", "tray_load"), [(4, 2e-5), (4, 1e-4), (4, 1e-3), (32, 4e-3), (32, 7e-3)])
@pytest.mark.parametrize("variance", [0.01, 0.1, 0.3, 1.0])
def test_useful_share(variance: float, spares: int, tray_load: float) -> None:
    """A·η up to variance 1: 64 fixed nodes within 1e-8 (32 within 1e-7 for few spares), the adaptive rule within 1e-10.

    The loads take A from near 1 to below one half, where the sigmoid is in the middle of the multiplier's law.
    """
    expected = by_quad(lambda m: useful(m, tray_load, spares), variance, 1e-14)
    value, error = mixed_mean(lambda m: useful(m, tray_load, spares), variance, 1e-10)
    assert value == pytest.approx(expected, rel=1e-10)
    assert error <= 1e-10 * value
    for nodes, tolerance in ((64, 1e-8), (32, 1e-7 if spares == 4 else 1e-3)):
        multipliers, weights = multiplier_nodes(variance, nodes)
        assert weights @ useful(multipliers, tray_load, spares) == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize(
    ("variance", "spares", "tray_load", "points"),
    [(0.5, 4, 1e-3, 4), (0.5, 16, 7e-3, 4), (1.0, 16, 7e-3, 8), (1.0, 32, 7e-3, 8), (1.0, 16, 7e-3, 16)],
)
def test_few_points_of_gauss_laguerre_are_off_by_per_cents(
    variance: float, spares: int, tray_load: float, points: int
) -> None:
    """Why not the textbook rule: on a steep A few Gauss-Laguerre points are off by 1 to 40 %, our rule by 1e-8."""
    expected = by_quad(lambda m: useful(m, tray_load, spares), variance, 1e-14)
    places, weights = roots_genlaguerre(points, 1.0 / variance - 1.0)
    laguerre = float(weights @ useful(places * variance, tray_load, spares) / weights.sum())
    assert abs(laguerre / expected - 1.0) > 0.01
    value, _ = mixed_mean(lambda m: useful(m, tray_load, spares), variance, 1e-9)
    assert value == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("variance", [1e-4, 0.01, 0.1])
def test_small_shortfalls_keep_their_digits(variance: float) -> None:
    """1 − A of 1e-12 at the stated rate: the mean comes from rare multipliers, and is right to 1e-8."""
    tray_load = 6e-6
    assert 1e-13 < zone_short(np.ones(1), tray_load, spares=5)[0] < 1e-11
    expected = by_quad(lambda m: zone_short(m, tray_load, spares=5), variance)
    value, _ = mixed_mean(lambda m: zone_short(m, tray_load, spares=5), variance, 1e-10)
    assert value == pytest.approx(expected, rel=1e-8)


def test_steep_sigmoid() -> None:
    """10,000 blocks with 500 spare: the sigmoid is a twentieth of ln m wide, and the adaptive rule finds it."""
    expected = by_quad(lambda m: zone_short(m, 5e-4, 10_000, 500), 1.0)
    value, error = mixed_mean(lambda m: zone_short(m, 5e-4, 10_000, 500), 1.0, 1e-9)
    assert value == pytest.approx(expected, rel=1e-8)
    assert error <= 1e-9 * value


def test_a_jump_is_reported() -> None:
    """P(M > 2) by its indicator converges slowly: the estimate stays above the tolerance, and near the true error."""
    value, error = mixed_mean(lambda m: (m > 2.0).astype(np.float64), 1.0, 1e-12)
    assert error > 1e-12 * value
    assert value == pytest.approx(np.exp(-2.0), abs=1e-4)


def test_certain_rates() -> None:
    """Variance 0 is the function at 1; a variance that tends to 0 tends to it, without overflow."""
    assert mixed_mean(lambda m: m + 1.0, 0.0, 1e-9) == (2.0, 0.0)
    multipliers, weights = multiplier_nodes(0.0)
    assert (multipliers.tolist(), weights.tolist()) == ([1.0], [1.0])
    for variance in (1e-300, 1e-20, 1e-12):
        assert mixed_mean(lambda m: 1.0 / (1.0 + m), variance, 1e-12)[0] == pytest.approx(0.5, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.0, 5.0), st.floats(0.0, 5.0))
def test_uncertainty_raises_what_is_convex(first: float, second: float) -> None:
    """Jensen: the mean of a convex function rises with the variance (Gamma laws of one mean are convexly ordered)."""
    low, high = sorted((first, second))
    means = [mixed_mean(lambda m: np.exp(-m), variance, 1e-12)[0] for variance in (low, high)]
    assert means[0] <= means[1] * (1 + 1e-10)


def test_poisson_counts_ask_for_no_mixture() -> None:
    """Variance over mean 1 is certainty; a published trace's 5.8 at a mean of 20 is a variance of 0.24."""
    assert multiplier_variance(1.0, 20.0) == 0.0
    assert multiplier_variance(5.8, 20.0) == pytest.approx(0.24)


def test_impossible_arguments() -> None:
    """Each is refused by name."""
    for spread in (0.99, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="variance over"):
            multiplier_variance(spread, 10.0)
    for mean in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="mean count"):
            multiplier_variance(2.0, mean)
    for variance in (-1e-9, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="variance must be"):
            multiplier_nodes(variance)
        with pytest.raises(ValueError, match="variance must be"):
            mixed_mean(np.exp, variance, 1e-9)
    with pytest.raises(ValueError, match="two nodes"):
        multiplier_nodes(1.0, 1)
    for tolerance in (0.0, float("nan")):
        with pytest.raises(ValueError, match="tolerance"):
            mixed_mean(np.exp, 1.0, tolerance)
    with pytest.raises(ValueError, match="finite value"):
        mixed_mean(lambda m: np.full(m.shape, np.nan), 1.0, 1e-9)
    with pytest.raises(ValueError, match="finite value"):
        mixed_mean(lambda m: np.ones(1), 1.0, 1e-9)
