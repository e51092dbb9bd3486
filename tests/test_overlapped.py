"""Overlapped checkpoints against a simulation of snapshots, writes and faults, first steps and plain checkpointing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from spareopt.numerics.overlapped import Overlapped
from spareopt.numerics.recovery import Checkpointing, Curvature, RecoveryScheme

KINDS = ("useful", "saves", "recovery", "lost")


def decades(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


@st.composite
def schemes(draw: st.DrawFn) -> Overlapped:
    """Snapshots of 0.04 s to 6 min, writes of 0 or 4 s to 3 h, any slowdown, a given or the best period."""
    snapshot, write = draw(decades(-5, -1)), draw(st.just(0.0) | decades(-3, 0.5))
    slowdown = draw(st.sampled_from([0.0, 1.0]) | st.floats(0, 1))
    period = draw(st.none() | decades(-3, 1))
    if period is not None:
        period += (1.0 - slowdown) * write
    return Overlapped(snapshot, write, slowdown, draw(st.just(0.0) | decades(-3, 0.5)), period)


def simulated(scheme: Overlapped, rate: float, commits: int, seed: int) -> tuple[float, float, float]:
    """η, its standard error and shares from a clock that goes from event to event between two writes that complete.

    Events are faults and the ends of work, snapshot, write and recovery.  The job's state is what it does, for how long
    it has done so, the work since the last snapshot, whether a write is on and how much of it is left.
    """
    assert scheme.period is not None
    random = np.random.default_rng(seed)
    doing, work, writing, left = "work", 0.0, False, 0.0
    waiting = recovery = since = 0.0  # hours in this snapshot or recovery, in all recoveries, since the last commit
    cycles: list[float] = []
    fault = random.exponential(1.0 / rate)
    while len(cycles) < commits:
        speed = 1.0 - scheme.slowdown if writing else 1.0
        remaining = {
            "work": (scheme.period - work) / speed if speed > 0 else np.inf,
            "snapshot": scheme.snapshot - waiting,
            "recovery": scheme.recovery - waiting,
        }[doing]
        step = min(remaining, left if writing else np.inf, fault)
        since, fault = since + step, fault - step
        if doing == "work":
            work += step * speed
        else:
            waiting += step
            recovery += step if doing == "recovery" else 0.0
        if writing:
            left -= step
        if fault <= 0:
            fault = random.exponential(1.0 / rate)
            doing, work, waiting, writing = "recovery", 0.0, 0.0, False
        elif writing and left <= 1e-15:
            writing = False
            cycles.append(since)
            since = 0.0
        elif step == remaining:
            if doing == "work":
                doing, waiting = "snapshot", 0.0
            elif doing == "snapshot":
                doing, work, writing, left = "work", 0.0, True, scheme.write
            else:
                doing = "work"
            waiting = 0.0
    spent = np.array(cycles[1:])
    hours = spent.sum()
    eta = scheme.period / spent.mean()
    return eta, eta * spent.std() / spent.mean() / np.sqrt(len(spent)), recovery / (hours + cycles[0])


@pytest.mark.parametrize("slowdown, write", [(0.0, 0.3), (0.25, 0.3), (0.25, 0.5), (0.9, 0.2)])
def test_eta_agrees_with_a_simulation(slowdown: float, write: float) -> None:
    """Proves the story behind the formula: the write beside training, its slowdown, what a fault in it takes back.

    If it broke, an overlapped write would seem free, or a fault would cost a write too much or too little.
    """
    scheme = Overlapped(0.02, write, slowdown, 0.1, 0.4)
    eta, error, recovery = simulated(scheme, 1.1, 20_000, 20262)
    assert error < 0.004
    assert abs(float(np.exp(scheme.log_eta(1.1))) - eta) < 4 * error
    assert float(scheme.shares(1.1).recovery) == pytest.approx(recovery, rel=0.05)
    never_lost = Checkpointing(scheme.cost, 0.1, 0.4)
    if slowdown < 0.5:
        assert abs(float(np.exp(never_lost.log_eta(1.1))) - eta) > 4 * error  # the test can tell them apart


@pytest.mark.parametrize("rate", [0.01, 0.7, 3.0])
@pytest.mark.parametrize("slowdown", [0.0, 0.3, 1.0])
def test_commits_solve_the_first_step_equation(rate: float, slowdown: float) -> None:
    """Proves η from the mean of the two stretches of the docstring, with integrals by quadrature.

    If it broke, the closed form would not follow from the story.
    """
    snapshot, write, recovery, period = 0.02, 0.3, 0.15, 0.5
    first = period + snapshot + slowdown * write
    again = recovery + period + snapshot + write

    def until_fault(length: float) -> float:
        return float(quad(lambda t: np.exp(-rate * t), 0, length, epsabs=0)[0])

    # again: every fault starts the stretch afresh
    mean_again = until_fault(again) / np.exp(-rate * again)
    mean = until_fault(first) + (1 - np.exp(-rate * first)) * mean_again
    scheme = Overlapped(snapshot, write, slowdown, recovery, period)
    assert float(np.exp(scheme.log_eta(rate))) == pytest.approx(period / mean, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(decades(-4, -1), decades(-3, 0), st.just(0.0) | decades(-3, 0.5), st.none() | decades(-2, 1))
def test_limits_are_plain_checkpointing(snapshot: float, write: float, recovery: float, period: float | None) -> None:
    """Proves: without a write it is plain checkpointing; with a write that stops training the save is σ + W.

    If it broke, the gain from overlapping would be measured against something else.
    """
    rates = np.array([0.0, 1e-9, 1e-3, 0.1, 1.0, 10.0, 1e3])
    for scheme, plain in (
        (Overlapped(snapshot, 0.0, 0.4, recovery, period), Checkpointing(snapshot, recovery, period)),
        (Overlapped(snapshot, write, 1.0, recovery, period), Checkpointing(snapshot + write, recovery, period)),
    ):
        np.testing.assert_array_equal(scheme.log_eta(rates), plain.log_eta(rates))
        np.testing.assert_array_equal(scheme.best_period(rates), plain.best_period(rates))
        mine, theirs = scheme.shares(rates), plain.shares(rates)
        for kind in KINDS:
            np.testing.assert_allclose(getattr(mine, kind), getattr(theirs, kind), rtol=1e-13, atol=1e-15)
        assert scheme.curvature is plain.curvature
        assert scheme.over_estimators(0.5, 0.7) == plain.over_estimators(0.5, 0.7)


@pytest.mark.parametrize("write, slowdown", [(0.1, 0.0), (0.5, 0.2), (2.0, 0.5), (0.3, 0.99)])
@pytest.mark.parametrize("rate", [1e-4, 0.3, 3.0, 40.0])
def test_best_period_beats_a_grid(write: float, slowdown: float, rate: float) -> None:
    """Proves that no period of a grid (none shorter than the write) has a greater η, and that η is that of the best.

    If it broke, ln η* would not be an upper bound.
    """
    best = Overlapped(0.01, write, slowdown, 0.1, None)
    period = float(best.best_period(rate))
    value = float(best.log_eta(rate))
    assert float(Overlapped(0.01, write, slowdown, 0.1, period).log_eta(rate)) == pytest.approx(value, abs=1e-13)
    for other in {best.beside * 1.0000001, *(best.beside + period * np.logspace(-4, 2, 61))}:
        assert float(Overlapped(0.01, write, slowdown, 0.1, other).log_eta(rate)) <= value + 1e-13
    assert period >= best.beside


@settings(max_examples=80, deadline=None)
@given(schemes(), decades(-9, 3))
def test_shares_sum_to_one(scheme: Overlapped, rate: float) -> None:
    """Proves that the losses are a partition of the time and ``useful`` is η.

    If it broke, a report's losses would not add up.
    """
    shares = scheme.shares(np.array([0.0, rate]))
    parts = np.array([getattr(shares, kind) for kind in KINDS])
    assert np.all(parts >= 0) and np.all(np.isfinite(parts))
    np.testing.assert_allclose(parts.sum(axis=0), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(shares.useful, np.exp(scheme.log_eta([0.0, rate])), rtol=1e-13)


@settings(max_examples=80, deadline=None)
@given(schemes(), decades(-8, 3), decades(-6, 2))
def test_more_faults_never_help(scheme: Overlapped, rate: float, more: float) -> None:
    """Proves that η falls with the rate and the best period does not lengthen.

    If it broke, an optimiser could gain by buying less reliable parts.
    """
    rates = rate * (1 + more * np.linspace(0, 1, 33))
    values, periods = scheme.log_eta(rates), scheme.best_period(rates)
    assert np.all(np.diff(values) <= 1e-14 * (1 + np.abs(values[1:])))
    assert np.all(np.diff(periods) <= 1e-14 * periods[1:])
    assert values[0] <= 0.0


@settings(max_examples=120, deadline=None)
@given(schemes(), st.just(0.0) | decades(-6, 3), st.just(0.0) | decades(-9, 3))
def test_over_estimators_are_nowhere_below(scheme: Overlapped, low: float, width: float) -> None:
    """Proves line(Λ) >= ln η(Λ) on a dense sample of [low, high] for every line, and curvature as declared.

    If it broke, "proven optimal" would be a lie.
    """
    high = low * (1 + width) if low > 0 else width
    rates = np.clip(np.linspace(low, high, 257), low, high)
    values = scheme.log_eta(rates)
    for slope, intercept in scheme.over_estimators(low, high):
        assert np.all(slope * rates + intercept >= values)
    rounding = 4e-15 * (1 + np.abs(values).max())
    if scheme.curvature is Curvature.CONVEX:
        assert np.all(np.diff(values, 2) >= -rounding)
    elif scheme.curvature is Curvature.CONCAVE:
        assert np.all(np.diff(values, 2) <= rounding)


def test_over_estimators_touch_where_both_curvatures_meet() -> None:
    """Proves, across the rate where the write starts to hold up the period: convex below, concave above, lines that
    touch ln η at both ends and close in quadratically.

    If it broke, the lines might be valid but never close the gap there.
    """
    scheme = Overlapped(0.01, 0.3, 0.1, 0.1, None)
    assert scheme.curvature is Curvature.MIXED
    rates = np.linspace(1e-3, 1.0, 100_001)
    periods = scheme.best_period(rates)
    meet = float(rates[np.argmax(periods == scheme.beside)])
    assert 0.5 < meet < 1.0
    assert np.all(np.diff(scheme.log_eta(np.linspace(0.05, meet * 0.99, 200)), 2) > 0)
    assert np.all(np.diff(scheme.log_eta(np.linspace(meet * 1.01, 5.0, 200)), 2) < 0)
    for width in (0.5, 0.05, 0.005):
        for low, high in ((meet - 0.1 * width, meet + width), (meet - width / 2, meet + width / 20)):
            at = np.linspace(low, high, 1001)
            lines = scheme.over_estimators(low, high)
            excess = np.min([slope * at + intercept for slope, intercept in lines], axis=0) - scheme.log_eta(at)
            assert excess.min() >= 0 and excess.max() < 0.1 * width**2
            assert max(excess[0], excess[-1]) < 1e-10


def test_extreme_rates_are_finite() -> None:
    """Proves finite answers without warnings from no fault to a million an hour, NaN for NaN, in the shape asked.

    If it broke, an override by a wrong unit would end in a NaN instead of an absurd but finite answer.
    """
    rates = np.array([[0.0, 1e-9, np.nan], [1.0, 1e3, 1e6]])
    for write, slowdown, period in ((0.2, 0.1, None), (0.0, 0.0, None), (0.2, 0.1, 0.4), (0.2, 1.0, None)):
        scheme: RecoveryScheme = Overlapped(0.01, write, slowdown, 0.1, period)
        values = scheme.log_eta(rates)
        assert values.shape == scheme.best_period(rates).shape == scheme.shares(rates).lost.shape == (2, 3)
        assert np.isnan(values[0, 2]) and np.isfinite(np.delete(values, 2)).all()
        for place, rate in np.ndenumerate(rates):
            np.testing.assert_allclose(values[place], scheme.log_eta(rate), rtol=1e-14)
        assert np.isinf(scheme.best_period(0.0)) == (period is None)
    # a free snapshot, and a write that costs nothing either: written again as soon as it is
    free = Overlapped(0.0, 0.2, 0.0, 0.1, None)
    assert float(free.best_period(0.0)) == float(free.best_period(1.0)) == 0.2
    assert free.curvature is Curvature.CONCAVE
    assert float(free.log_eta(0.0)) == 0.0


@pytest.mark.parametrize(
    "arguments",
    [
        (-0.1, 0.1, 0.1, 0.1, 1.0),
        (0.1, np.inf, 0.1, 0.1, 1.0),
        (0.1, 0.1, 1.1, 0.1, 1.0),
        (0.1, 0.1, np.nan, 0.1, 1.0),
        (0.1, 0.1, 0.1, -0.1, 1.0),
        (0.1, 0.1, 0.1, 0.1, 0.0),
        (0.1, 1.0, 0.1, 0.1, 0.5),  # the next snapshot comes before the write ends
        (0.0, 0.0, 0.1, 0.1, None),
    ],
)
def test_meaningless_schemes_are_refused(arguments: Any) -> None:
    """Proves that a scheme without meaning is an error when it is made, and so are negative rates and bad intervals.

    If it broke, writes would queue without end and η be above what is possible.
    """
    with pytest.raises(ValueError):
        Overlapped(*arguments)
    for period in (None, 1.0):
        scheme = Overlapped(0.1, 0.1, 0.1, 0.1, period)
        for call in (scheme.log_eta, scheme.shares, scheme.best_period):
            with pytest.raises(ValueError, match="negative"):
                call([0.1, -1e-9])
        for low, high in ((-1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0)):
            with pytest.raises(ValueError, match="interval"):
                scheme.over_estimators(low, high)
