"""Mixtures of repair phases: closed forms, slopes by differences, laws of known phases; a survival curve by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from spareopt.numerics.repair_phases import (
    best_phases,
    durations,
    fit_phases,
    log_likelihood,
    mean_repair,
    survival,
)

NONE = np.zeros(0)


def mixture(rng: np.random.Generator, size: int, *phases: tuple[float, float]) -> np.ndarray:
    shares, means = zip(*phases, strict=True)
    return rng.exponential(np.array(means)[rng.choice(len(shares), size=size, p=shares)])


def test_one_phase_with_open_repairs_is_total_time_over_ended() -> None:
    """Proves the closed form of the exponential law with open repairs: all time spent, over the number ended."""
    ended, still_open = np.array([1.0, 2.0, 6.0]), np.array([4.0, 5.0])
    fit = best_phases(fit_phases(durations(ended, still_open), 0.95))
    assert fit.mean[0] == pytest.approx(18 / 3, rel=1e-6)
    assert fit.log_likelihood == pytest.approx(-3 * np.log(6) - 18 / 6)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000))
def test_without_open_repairs_the_mean_is_the_arithmetic_one(seed: int) -> None:
    """Proves that the fitted mixture keeps the mean of the repairs whatever their law, here a lognormal one."""
    times = np.random.default_rng(seed).lognormal(2.0, 1.5, 200)
    for fit in fit_phases(durations(times, NONE), 0.95):
        assert fit.share @ fit.mean == pytest.approx(times.mean(), rel=1e-12)


def test_slopes_are_those_of_the_likelihood() -> None:
    """Proves the slopes by differences, with ended, open and zero repairs."""
    rng = np.random.default_rng(0)
    data = durations(np.append(mixture(rng, 200, (0.5, 1.0), (0.5, 30.0)), [0.0, 0.0]), rng.exponential(20.0, 15))
    point = np.array([0.4, -0.2, -0.5, 1.0, 3.0])
    _, slope = log_likelihood(data, point)
    for place, step in enumerate(np.eye(5) * 1e-5):
        up, down = log_likelihood(data, point + step)[0], log_likelihood(data, point - step)[0]
        assert slope[place] == pytest.approx((up - down) / 2e-5, rel=1e-5)


def test_the_fit_is_the_greatest_likelihood() -> None:
    """Proves the fit of two phases against a simplex search from many starts, with open repairs."""
    rng = np.random.default_rng(7)
    data = durations(mixture(rng, 300, (0.3, 1.0), (0.7, 25.0)), rng.exponential(15.0, 20))
    fit = fit_phases(data, 0.95, most=2)[1]
    best = max(
        -minimize(lambda x: -log_likelihood(data, x)[0], start, method="Nelder-Mead", options={"maxiter": 2000}).fun
        for start in ([0.0, 0.0, 2.0], [1.0, -1.0, 4.0], [-1.0, 1.0, 3.0])
    )
    assert fit.log_likelihood == pytest.approx(best, abs=1e-4)


def test_bic_finds_the_number_of_phases() -> None:
    """Proves the choice: laws of one, two and three phases well apart are told in at least 9 of 10 records."""
    rng = np.random.default_rng(11)
    laws = [[(1.0, 5.0)], [(0.4, 1.0), (0.6, 40.0)], [(0.3, 0.5), (0.4, 12.0), (0.3, 300.0)]]
    for number, law in enumerate(laws, start=1):
        right = [len(best_phases(fit_phases(durations(mixture(rng, 800, *law), NONE), 0.95)).share) for _ in range(10)]
        assert sum(found == number for found in right) >= 9


def test_few_repairs_have_one_phase() -> None:
    """Proves that fewer than thirty repairs are not split into phases, however they lie."""
    assert len(fit_phases(durations(np.array([0.1] * 14 + [900.0] * 14), NONE), 0.95)) == 1


def test_repairs_of_no_length_make_no_phase_of_none() -> None:
    """Proves that lengths recorded as 0 are taken as below the shortest on record: means stay of that size at least."""
    rng = np.random.default_rng(5)
    times = np.append(np.round(rng.exponential(20.0, 300) + 0.05, 1), np.zeros(20))
    fit = best_phases(fit_phases(durations(times, NONE), 0.95))
    assert fit.mean.min() > 1e-3 and np.isfinite(fit.log_likelihood)


def test_grouped_lengths_give_the_same_fit() -> None:
    """Proves the grouping of very many repairs: the same phases to a millionth as with each length alone."""
    rng = np.random.default_rng(8)
    times = mixture(rng, 60_000, (0.4, 1.0), (0.6, 40.0))
    grouped, alone = durations(times, NONE), durations(times[:49_000], NONE)
    assert len(grouped.ended) < 12_000 < len(alone.ended)
    full = grouped._replace(ended=times, ended_times=np.ones(len(times)))
    point = np.array([-0.4, 0.0, 3.7])
    assert log_likelihood(grouped, point)[0] == pytest.approx(log_likelihood(full, point)[0], rel=1e-6)
    fits = [fit_phases(data, 0.95, most=2)[-1] for data in (grouped, full)]
    assert fits[0].mean == pytest.approx(fits[1].mean, rel=1e-6)
    assert fits[0].share == pytest.approx(fits[1].share, rel=1e-6)


def test_the_mean_covers_with_open_repairs() -> None:
    """Proves the interval of the mean: of 60 records with open repairs 52 at least hold the truth."""
    rng = np.random.default_rng(9)
    truth, held = 0.4 * 2.0 + 0.6 * 50.0, 0
    for _ in range(60):
        times, limit = mixture(rng, 200, (0.4, 2.0), (0.6, 50.0)), rng.uniform(0.0, 1000.0, 200)
        data = durations(times[times <= limit], limit[times > limit])
        bounds = mean_repair(data, best_phases(fit_phases(data, 0.95)), 0.95)
        held += bounds.low <= truth <= bounds.high
    assert held >= 52


def test_survival_by_hand() -> None:
    """Proves the curve by hand: of 5 repairs one ends at 1, one is open at 2, one ends at 3, two at 4."""
    curve = survival(np.array([1.0, 3.0, 4.0, 4.0]), np.array([2.0]))
    shares = dict(zip(curve.times.tolist(), curve.shares.tolist(), strict=True))
    assert shares[1.0] == pytest.approx(4 / 5) and shares[3.0] == pytest.approx(4 / 5 * 2 / 3) and shares[4.0] == 0
    assert curve.quantile(0.5) == 4.0
    assert curve.restricted_mean(4.0) == pytest.approx(1 + 2 * 4 / 5 + 4 / 5 * 2 / 3)


def test_without_open_repairs_the_curve_is_the_shares_themselves() -> None:
    """Proves mean and median of the curve: those of the lengths."""
    times = np.array([5.0, 1.0, 2.0, 9.0, 4.0])
    curve = survival(times, NONE)
    assert curve.restricted_mean(9.0) == pytest.approx(times.mean()) and curve.quantile(0.5) == np.median(times)
