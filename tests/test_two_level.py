"""Two-level checkpointing against its first-step equations, a simulation, plain checkpointing and brute force."""

from __future__ import annotations

from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spareopt.numerics.recovery import Checkpointing, Curvature, RecoveryScheme, monotone_over_estimator
from spareopt.numerics.two_level import TwoLevel

KINDS = ("useful", "saves", "recovery", "lost")


def decades(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


@st.composite
def schemes(draw: st.DrawFn) -> TwoLevel:
    """Saves from 0.4 s to 0.3 h and 1/3 to 300 times that, recoveries of 0 or 4 s to 3 h, given or best τ and n."""
    memory = draw(decades(-4, -0.5))
    return TwoLevel(
        memory,
        memory * draw(decades(-0.5, 2.5)),
        draw(st.just(0.0) | decades(-3, 0.5)),
        draw(st.just(0.0) | decades(-3, 0.5)),
        draw(st.sampled_from([0.0, 0.5, 0.99, 1.0]) | st.floats(0, 1)),
        draw(st.none() | decades(-3, 1)),
        draw(st.none() | st.integers(1, 100)),
    )


def first_steps(scheme: TwoLevel, rate: float) -> dict[str, float]:
    """All four shares from the linear first-step equations of every state, solved in 50 digits.

    States: work on period i (0 to n−1), memory recovery to i (n to 2n−1), storage recovery (2n).  Unknowns: mean hours
    of recovery, and of everything, until the pattern is saved.
    """
    assert scheme.period is not None and scheme.storage_every is not None
    with mpmath.workdps(50):
        number, p, fault = scheme.storage_every, mpmath.mpf(scheme.memory_share), mpmath.mpf(rate)
        saves = [scheme.memory_save] * (number - 1) + [scheme.storage_save]
        matrix, total, redo = (
            mpmath.eye(2 * number + 1),
            mpmath.zeros(2 * number + 1, 1),
            mpmath.zeros(2 * number + 1, 1),
        )
        for i in range(number):
            passed = mpmath.exp(-fault * (mpmath.mpf(scheme.period) + mpmath.mpf(saves[i])))
            if i < number - 1:
                matrix[i, i + 1] -= passed
            matrix[i, number + i] -= (1 - passed) * p
            matrix[i, 2 * number] -= (1 - passed) * (1 - p)
            total[i] = (1 - passed) / fault
            passed = mpmath.exp(-fault * mpmath.mpf(scheme.memory_recovery))
            matrix[number + i, i] -= passed
            matrix[number + i, number + i] -= (1 - passed) * p
            matrix[number + i, 2 * number] -= (1 - passed) * (1 - p)
            total[number + i] = redo[number + i] = (1 - passed) / fault
        passed = mpmath.exp(-fault * mpmath.mpf(scheme.storage_recovery))
        matrix[2 * number, 0] -= passed
        matrix[2 * number, 2 * number] -= 1 - passed
        total[2 * number] = redo[2 * number] = (1 - passed) / fault
        hours, recovery = mpmath.lu_solve(matrix, total)[0], mpmath.lu_solve(matrix, redo)[0]
        useful, saved = number * mpmath.mpf(scheme.period) / hours, mpmath.fsum(saves) / hours
        shares = (useful, saved, recovery / hours, 1 - useful - saved - recovery / hours)
        return {kind: float(share) for kind, share in zip(KINDS, shares, strict=True)}


@pytest.mark.parametrize("share", [0.0, 0.3, 0.95, 1.0 - 1e-12, 1.0])
@pytest.mark.parametrize("number", [1, 2, 7])
@pytest.mark.parametrize("rate", [1e-6, 0.2, 3.0, 30.0])
def test_shares_solve_the_first_step_equations(share: float, number: int, rate: float) -> None:
    """Proves all four shares, without the closed form, to 1e-11 of each, from rare faults to thirty an hour.

    If it broke, a two-level plan's CETT and its table of losses would be wrong.
    """
    scheme = TwoLevel(0.02, 0.13, 0.05, 0.4, share, 0.3, number)
    shares = scheme.shares(rate)
    for kind, expected in first_steps(scheme, rate).items():
        assert float(getattr(shares, kind)) == pytest.approx(expected, rel=1e-11, abs=1e-300), kind


def simulated(scheme: TwoLevel, rate: float, patterns: int, seed: int) -> tuple[float, float, float]:
    """η, its standard error and the share of recovery from playing the job phase by phase."""
    assert scheme.period is not None and scheme.storage_every is not None
    random = np.random.default_rng(seed)
    spent, redone = np.zeros(patterns), 0.0
    for number in range(patterns):
        done, phase = 0, "work"
        while done < scheme.storage_every:
            save = scheme.storage_save if done == scheme.storage_every - 1 else scheme.memory_save
            length = {
                "work": scheme.period + save,
                "memory": scheme.memory_recovery,
                "storage": scheme.storage_recovery,
            }
            fault = random.exponential(1.0 / rate)
            hours = min(fault, length[phase])
            spent[number] += hours
            redone += hours if phase != "work" else 0.0
            if fault >= length[phase]:
                done, phase = done + (phase == "work"), "work"
            elif phase == "storage" or random.random() >= scheme.memory_share:
                done, phase = 0, "storage"
            else:
                phase = "memory"
    eta = scheme.storage_every * scheme.period / spent.mean()
    return eta, eta * spent.std() / spent.mean() / np.sqrt(patterns), redone / spent.sum()


def test_eta_agrees_with_a_simulation() -> None:
    """Proves the story behind the formula: where faults can hit, which checkpoint each leaves, what it costs.

    If it broke, equations and formula could share a misunderstanding.
    """
    scheme = TwoLevel(0.02, 0.1, 0.05, 0.3, 0.8, 0.2, 4)
    eta, error, recovery = simulated(scheme, 1.2, 12_000, 20261)
    assert error < 0.005
    assert abs(float(np.exp(scheme.log_eta(1.2))) - eta) < 4 * error
    assert float(scheme.shares(1.2).recovery) == pytest.approx(recovery, rel=0.05)
    for other in (TwoLevel(0.02, 0.1, 0.05, 0.3, 0.7, 0.2, 4), TwoLevel(0.02, 0.1, 0.15, 0.3, 0.8, 0.2, 4)):
        assert abs(float(np.exp(other.log_eta(1.2))) - eta) > 4 * error  # the test can tell them apart


@settings(max_examples=30, deadline=None)
@given(decades(-4, 0), decades(-4, 0), decades(-3, 1), decades(-3, 1), decades(-3, 1), st.integers(1, 50))
def test_limits_are_plain_checkpointing(
    memory: float, storage: float, redo: float, redo_storage: float, period: float, number: int
) -> None:
    """Proves: p = 0 is plain checkpointing with the period nτ; p = 1 with equal saves is that of the memory level;
    with n = 1 and equal recoveries p does not matter; the same at the best period, and n is best at 1 for p = 0.

    If it broke, the two-level scheme would not be a generalisation, and comparing it with plain checkpointing unfair.
    """
    rates = np.array([0.0, 1e-9, 1e-3, 0.1, 1.0, 10.0, 1e3])
    both = (number - 1) * memory + storage

    def agree(scheme: TwoLevel, plain: Checkpointing) -> None:
        np.testing.assert_allclose(scheme.log_eta(rates), plain.log_eta(rates), rtol=1e-10, atol=1e-14)
        mine, theirs = scheme.shares(rates), plain.shares(rates)
        for kind in KINDS:
            np.testing.assert_allclose(getattr(mine, kind), getattr(theirs, kind), rtol=1e-7, atol=1e-12)

    agree(
        TwoLevel(memory, storage, redo, redo_storage, 0.0, period, number),
        Checkpointing(both, redo_storage, number * period),
    )
    agree(TwoLevel(memory, storage, redo, redo_storage, 0.0, None, number), Checkpointing(both, redo_storage, None))
    agree(TwoLevel(memory, memory, redo, redo_storage, 1.0, period, number), Checkpointing(memory, redo, period))
    agree(TwoLevel(memory, memory, redo, redo_storage, 1.0, None, None), Checkpointing(memory, redo, None))
    agree(TwoLevel(memory, 2 * memory, redo, redo_storage, 1.0, None, None), Checkpointing(memory, redo, None))
    agree(TwoLevel(memory, storage, redo, redo, 0.6, period, 1), Checkpointing(storage, redo, period))
    agree(TwoLevel(memory, storage, redo, redo, 0.6, None, 1), Checkpointing(storage, redo, None))
    agree(TwoLevel(memory, storage, redo, redo_storage, 1.0, None, 1), Checkpointing(storage, redo, None))
    assert np.all(TwoLevel(memory, storage, redo, redo_storage, 0.0, None, None).best_storage_every(rates) == 1)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("rate", [1e-4, 0.3, 3.0, 40.0])
def test_best_choices_beat_a_grid(share: float, rate: float) -> None:
    """Proves that no pair of a period and an n on a fine grid has a greater η than the best ones found, free one by
    one or together, and that the η of these is the one reported.

    If it broke, plans would run at a needlessly bad period, and ln η* would not be an upper bound.
    """
    times = (0.004, 0.08, 0.05, 0.3, share)
    free = TwoLevel(*times, None, None)
    period, every = float(free.best_period(rate)), float(free.best_storage_every(rate))
    best = float(free.log_eta(rate))
    numbers = [*range(1, 41), 50, 80, 200, 1000]
    for number in numbers:
        at = TwoLevel(*times, None, number)
        assert float(at.log_eta(rate)) <= best + 1e-13
        given_at = float(at.best_period(rate))
        for factor in (0.1, 0.5, 0.9, 0.999, 1.001, 1.1, 2.0, 10.0):
            worse = TwoLevel(*times, given_at * factor, number)
            assert float(worse.log_eta(rate)) < float(at.log_eta(rate))
    for tau in period * np.array([0.2, 0.7, 1.0, 1.3, 5.0]):
        most = TwoLevel(*times, tau, None)
        values = [float(TwoLevel(*times, tau, number).log_eta(rate)) for number in numbers]
        assert max(values) <= float(most.log_eta(rate)) + 1e-13
        chosen = float(most.best_storage_every(rate))
        if chosen < 41:
            assert max(values) == pytest.approx(float(most.log_eta(rate)), abs=1e-13)
    if share < 1:
        again = float(TwoLevel(*times, period, int(every)).log_eta(rate))
        assert again == pytest.approx(best, abs=1e-13)
    else:
        assert np.isinf(every)


@settings(max_examples=40, deadline=None)
@given(schemes(), decades(-4, 2))
def test_best_n_is_the_best_of_its_neighbourhood(scheme: TwoLevel, rate: float) -> None:
    """Proves for random schemes that no n up to 64, and none near the one chosen, beats it at its own best period.

    If it broke, the search through the real n would stop in the wrong place.
    """
    times = (
        scheme.memory_save,
        scheme.storage_save,
        scheme.memory_recovery,
        scheme.storage_recovery,
        scheme.memory_share,
    )
    free = TwoLevel(*times, None, None)
    best, every = float(free.log_eta(rate)), float(free.best_storage_every(rate))
    near = [] if np.isinf(every) or every > 1e6 else [max(int(every) + step, 1) for step in (-2, -1, 0, 1, 2)]
    for number in {*range(1, 65, 3), *near}:
        assert float(TwoLevel(*times, None, number).log_eta(rate)) <= best + 1e-12 * (1 + abs(best))


@settings(max_examples=80, deadline=None)
@given(schemes(), decades(-9, 3))
def test_shares_sum_to_one(scheme: TwoLevel, rate: float) -> None:
    """Proves that the losses are a partition of the time and ``useful`` is η.

    If it broke, a report's losses would not add up.
    """
    shares = scheme.shares(np.array([0.0, rate]))
    parts = np.array([getattr(shares, kind) for kind in KINDS])
    assert np.all(parts >= 0) and np.all(np.isfinite(parts))
    np.testing.assert_allclose(parts.sum(axis=0), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(shares.useful, np.exp(scheme.log_eta([0.0, rate])), rtol=1e-12, atol=1e-300)
    assert float(shares.stalls) == 0.0


@settings(max_examples=80, deadline=None)
@given(schemes(), decades(-8, 3), decades(-6, 2))
def test_more_faults_never_help(scheme: TwoLevel, rate: float, more: float) -> None:
    """Proves that η falls with the rate, whatever is free: all that the over-estimators need.

    If it broke, "proven optimal" would be a lie, and an optimiser could gain by buying less reliable parts.
    """
    values = scheme.log_eta(rate * (1 + more * np.linspace(0, 1, 33)))
    assert np.all(np.diff(values) <= 1e-13 * (1 + np.abs(values[1:])))
    assert values[0] <= 0.0


@settings(max_examples=80, deadline=None)
@given(schemes(), st.just(0.0) | decades(-6, 3), st.just(0.0) | decades(-9, 2))
def test_over_estimators_are_nowhere_below(scheme: TwoLevel, low: float, width: float) -> None:
    """Proves line(Λ) >= ln η(Λ) on a dense sample of [low, high], from points to decades, with and without zero.

    If it broke, "proven optimal" would be a lie.
    """
    high = low * (1 + width) if low > 0 else width
    rates = np.clip(np.linspace(low, high, 257), low, high)
    values = scheme.log_eta(rates)
    for slope, intercept in scheme.over_estimators(low, high):
        assert np.all(slope * rates + intercept >= values)


@settings(max_examples=40, deadline=None)
@given(schemes(), decades(-3, 1.5))
def test_the_bend_is_within_its_bound(scheme: TwoLevel, low: float) -> None:
    """Proves −(ln η)'' <= M by second differences where M is finite: the line is not from monotonicity alone.

    If it broke, the quadratic over-estimators would rest on a false lemma.
    """
    rates = np.linspace(low, 1.2 * low, 13)
    values = scheme.log_eta(rates)
    bend = scheme._bend_at_best(rates, values) if scheme.period is None else scheme._bend_at_given(rates, values)
    step = rates[1] - rates[0]
    seen = -np.diff(values, 2) / step**2
    noise = 1e-14 * (1 + np.abs(values).max()) / step**2
    assert np.all(seen <= np.maximum(bend[:-1], bend[1:]) * (1 + 1e-9) + noise)


def test_over_estimators_close_the_gap_quadratically() -> None:
    """Proves that a line is raised by less than 1e-5 above the least that is needed on a tenth of an hourly rate, by a
    hundredth of that on a tenth of this, and so on; and that all of it tends to ln η (n jumps: not quadratically).

    If it broke, refinement would need far more pieces, and no plan would be proven optimal in time.
    """
    for period, every in ((None, None), (None, 8), (0.05, None), (0.05, 8)):
        scheme = TwoLevel(0.002, 0.1, 0.05, 0.3, 0.9, period, every)
        assert scheme.curvature is Curvature.MIXED
        for width in (0.1, 0.01, 0.001, 0.0):
            rates = np.linspace(0.5, 0.5 + width, 101)
            ((slope, intercept),) = scheme.over_estimators(0.5, 0.5 + width)
            excess = slope * rates + intercept - scheme.log_eta(rates)
            assert 0 <= excess.min() < 1e-3 * width**2 + 1e-11
            assert excess.max() < 2e-3 * width + 1e-11


@settings(max_examples=40, deadline=None)
@given(decades(-3, 2), decades(-6, 2), st.integers(1, 300))
def test_monotone_over_estimators_need_monotonicity_only(low: float, width: float, parts: int) -> None:
    """Proves the generic line >= a falling function with a jump, a kink and a value of −∞, as well as a smooth one.

    If it broke, a scheme without a known curvature would get a false bound.
    """

    def stairs(rate: Any) -> Any:
        rates = np.asarray(rate, dtype=np.float64)
        return np.where(rates > 50, -np.inf, -np.floor(3 * rates) - np.maximum(rates - 7, 0))

    high = low * (1 + width)
    rates = np.clip(np.linspace(low, high, 1001), low, high)
    for function in (stairs, Checkpointing(0.1, 0.2, 0.3).log_eta, Checkpointing(0.1, 0.2, None).log_eta):
        ((slope, intercept),) = monotone_over_estimator(function, low, high, parts)
        assert slope <= 0
        assert np.all(slope * rates + intercept >= function(rates))
    smooth = Checkpointing(0.1, 0.2, None).log_eta
    ((slope, intercept),) = monotone_over_estimator(smooth, 1.0, 2.0, parts)
    drop = float(smooth(1.0) - smooth(2.0))
    assert slope + intercept - float(smooth(1.0)) <= 1.5 * drop / parts + 1e-11  # convex, its steepest part first


def test_extreme_rates_are_finite() -> None:
    """Proves finite answers without warnings from no fault to 1,000 an hour, NaN for NaN, in the shape asked.

    If it broke, an override by a wrong unit would end in a NaN instead of an absurd but finite answer.
    """
    rates = np.array([[0.0, 1e-9, np.nan], [1.0, 1e3, 1e6]])
    for share in (0.0, 0.9, 1.0):
        for period in (None, 1e-3, 0.3, 100.0):
            for every in (None, 1, 1000):
                scheme = TwoLevel(0.002, 0.1, 0.05, 0.3, share, period, every)
                check: RecoveryScheme = scheme
                values = check.log_eta(rates)
                assert values.shape == check.best_period(rates).shape == check.shares(rates).lost.shape == (2, 3)
                assert np.isnan(values[0, 2]) and np.isfinite(np.delete(values, 2)).all()
                for place, rate in np.ndenumerate(rates):
                    np.testing.assert_allclose(values[place], scheme.log_eta(rate), rtol=1e-13)
                assert np.isinf(check.best_period(0.0)) == (period is None)
    for period, every in ((None, 5), (0.3, None), (0.3, 5)):  # free saves into memory
        scheme = TwoLevel(0.0, 0.1, 0.0, 0.3, 0.5, period, every)
        assert np.isfinite(scheme.log_eta([0.0, 1e-9, 1.0, 1e3])).all()
        assert len(scheme.over_estimators(0.5, 0.6)) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        (-0.1, 0.1, 0.1, 0.1, 0.5, 1.0, 1),
        (0.1, np.nan, 0.1, 0.1, 0.5, 1.0, 1),
        (0.1, 0.1, np.inf, 0.1, 0.5, 1.0, 1),
        (0.1, 0.1, 0.1, 0.1, 1.5, 1.0, 1),
        (0.1, 0.1, 0.1, 0.1, 0.5, 0.0, 1),
        (0.1, 0.1, 0.1, 0.1, 0.5, 1.0, 0),
        (0.0, 0.1, 0.1, 0.1, 0.5, None, None),
        (0.1, 0.0, 0.1, 0.1, 0.5, None, 1),
    ],
)
def test_meaningless_schemes_are_refused(arguments: Any) -> None:
    """Proves that a scheme without meaning is an error when it is made, and so are negative rates and bad intervals.

    If it broke, a sign error upstream would give an η above 1.
    """
    with pytest.raises(ValueError):
        TwoLevel(*arguments)
    scheme = TwoLevel(0.1, 0.1, 0.1, 0.1, 0.5, 1.0, 1)
    for call in (scheme.log_eta, scheme.shares, scheme.best_period, scheme.best_storage_every):
        with pytest.raises(ValueError, match="negative"):
            call([0.1, -1e-9])
    for low, high in ((-1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0)):
        with pytest.raises(ValueError, match="interval"):
            scheme.over_estimators(low, high)
