"""Recovery under checkpointing against renewal equations, a simulation and many digits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from spareopt.numerics.availability import block_unavailability, unavailability, zone_shortfall
from spareopt.numerics.recovery import PAD, Checkpointing, Curvature

Model = Literal["exact", "first-order"]
MODELS: tuple[Model, ...] = ("exact", "first-order")


def decades(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


@st.composite
def schemes(draw: st.DrawFn, given_period: bool | None = None) -> Checkpointing:
    """Any scheme: saves of 0 or 36 ms to 1 h, recovery of 0 or 0.4 s to 10 h, periods of 4 s to 10 h or the best."""
    best = draw(st.booleans()) if given_period is None else not given_period
    save = draw(decades(-5, 0) if best else st.just(0.0) | decades(-5, 0))
    recovery = draw(st.just(0.0) | decades(-4, 1))
    return Checkpointing(save, recovery, None if best else draw(decades(-3, 1)), draw(st.sampled_from(MODELS)))


def renewal_shares(save: float, recovery: float, period: float, rate: float) -> dict[str, float]:
    """Shares of the exact model from the first-step equations of a period, with every integral by quadrature.

    Unknown: the mean hours of each kind spent until a period is saved, from the start of an attempt (a) and of a
    recovery (r).  An attempt or recovery of length T ends in a fault at t with density Λ e^(−Λt), else at T.
    """

    def phase(length: float) -> tuple[float, float]:
        """P(a fault comes first) and the mean time until it, counted where it does."""
        parts = list(pairwise(np.linspace(0.0, length, 9)))
        fault = sum(quad(lambda t: rate * np.exp(-rate * t), a, b, epsabs=0)[0] for a, b in parts)
        return fault, sum(quad(lambda t: t * rate * np.exp(-rate * t), a, b, epsabs=0)[0] for a, b in parts)

    whole = period + save
    fails, lost = phase(whole)
    fails_again, broken_off = phase(recovery)
    passed = np.exp(-rate * recovery)
    # a = own_a + fails · r,  r = own_r + fails_again · r + passed · a
    system = np.array([[1.0, -fails], [-passed, 1.0 - fails_again]])
    succeeds = np.exp(-rate * whole)
    own = {
        "useful": (succeeds * period, 0.0),
        "saves": (succeeds * save, 0.0),
        "recovery": (0.0, broken_off + passed * recovery),
        "lost": (lost, 0.0),
    }
    hours = {kind: float(np.linalg.solve(system, np.array(terms))[0]) for kind, terms in own.items()}
    return {kind: value / sum(hours.values()) for kind, value in hours.items()}


@pytest.mark.parametrize(
    "save, recovery, period", [(0.02, 0.1, 0.3), (0.0, 0.0, 1.0), (0.3, 0.0, 0.2), (0.001, 2.0, 0.07)]
)
@pytest.mark.parametrize("rate", [0.01, 0.7, 1.7, 5.0])
def test_exact_shares_solve_the_renewal_equations(save: float, recovery: float, period: float, rate: float) -> None:
    """Proves all four shares of the exact model, faults in saves and recovery included, without its closed form.

    If it broke, every plan's CETT and its table of losses would be wrong.
    """
    shares = Checkpointing(save, recovery, period).shares(rate)
    for kind, expected in renewal_shares(save, recovery, period, rate).items():
        assert float(getattr(shares, kind)) == pytest.approx(expected, rel=1e-9, abs=1e-13), kind


def simulated_eta(scheme: Checkpointing, rate: float, periods: int, seed: int) -> tuple[float, float]:
    """η and its standard error from playing one period after another, fault by fault."""
    assert scheme.period is not None
    random = np.random.default_rng(seed)
    exact = scheme.model == "exact"
    exposed = scheme.period + (scheme.save if exact else 0.0)
    spent = np.empty(periods)
    for number in range(periods):
        clock = 0.0
        while (fault := random.exponential(1.0 / rate)) < exposed:
            clock += fault
            while exact and (again := random.exponential(1.0 / rate)) < scheme.recovery:
                clock += again
            clock += scheme.recovery
        spent[number] = clock + scheme.period + scheme.save
    mean = spent.mean()
    return scheme.period / mean, scheme.period / mean**2 * spent.std() / np.sqrt(periods)


@pytest.mark.parametrize("model", MODELS)
def test_eta_agrees_with_a_simulation(model: Model) -> None:
    """Proves the stories behind both formulas: where faults can hit, and what one costs.

    If it broke, one of the two models would describe a different system than it says.
    """
    scheme = Checkpointing(0.03, 0.2, 0.4, model)
    eta, error = simulated_eta(scheme, 1.3, 40_000, 20260)
    assert error < 0.003
    assert abs(float(np.exp(scheme.log_eta(1.3))) - eta) < 4 * error
    other = Checkpointing(0.03, 0.2, 0.4, "first-order" if model == "exact" else "exact")
    assert abs(float(np.exp(other.log_eta(1.3))) - eta) > 4 * error  # the test can tell the two models apart


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("save, recovery", [(1e-5, 0.1), (0.05, 0.0), (0.4, 0.2)])
@pytest.mark.parametrize("rate", [1e-4, 0.3, 3.0, 40.0])
def test_best_period_beats_a_numerical_search(model: Model, save: float, recovery: float, rate: float) -> None:
    """Proves that the closed-form best period maximises η, also where a save outlasts the MTBF (Λδ > 1 + Λ Rc).

    If it broke, plans would run at a needlessly bad checkpoint period, and ln η* would not be an upper bound.
    """
    best = Checkpointing(save, recovery, None, model)

    def loss(log_period: float) -> float:
        return -float(Checkpointing(save, recovery, float(np.exp(log_period)), model).log_eta(rate))

    search = minimize_scalar(loss, bounds=(np.log(1e-6), np.log(1e3)), method="bounded", options={"xatol": 1e-9})
    period = float(best.best_period(rate))
    assert period == pytest.approx(np.exp(search.x), rel=1e-5)
    at_best = float(Checkpointing(save, recovery, period, model).log_eta(rate))
    assert at_best == pytest.approx(float(best.log_eta(rate)), abs=1e-13)
    assert at_best >= -search.fun - 1e-14


@pytest.mark.parametrize("model", MODELS)
def test_best_period_keeps_its_digits_near_the_branch_point(model: Model) -> None:
    """Proves x = Λ τ* right to 1e-14 for Λδ from 1e-12 to 10, against 40-digit Lambert W.

    If it broke (scipy's W alone has half the digits there), cheap saves would get a period wrong by up to 1 %.
    """
    recovery = 0.0 if model == "exact" else 0.25
    with mpmath.workdps(40):
        for rate in np.logspace(-12, 1, 200):
            # (1 − x) eˣ = 1 − u; the save takes 1 h
            kept = mpmath.exp(-rate) if model == "exact" else 1 - mpmath.mpf(rate) / (1 + mpmath.mpf(rate) * recovery)
            x = 1 + mpmath.lambertw(-kept / mpmath.e)
            scheme = Checkpointing(1.0, recovery, None, model)
            assert abs(float(scheme.best_period(rate)) * rate - x) < 1e-14
            eta = 1 - x if model == "exact" else mpmath.exp(-x) / (1 + mpmath.mpf(rate) * recovery)
            assert float(scheme.log_eta(rate)) == pytest.approx(float(mpmath.log(eta)), rel=1e-13, abs=0)


@settings(max_examples=300, deadline=None)
@given(schemes(), decades(-12, 5))
def test_shares_sum_to_one(scheme: Checkpointing, rate: float) -> None:
    """Proves that the losses are a partition of the time and ``useful`` is η, from 1e-12 to 1e5 faults per hour.

    If it broke, a report's losses would not add up.
    """
    shares = scheme.shares(rate)
    parts = np.array([shares.useful, shares.saves, shares.recovery, shares.lost])
    assert np.all(parts >= 0) and np.all(np.isfinite(parts))
    assert parts.sum() == pytest.approx(1.0, abs=1e-12)
    assert float(shares.useful) == pytest.approx(float(np.exp(scheme.log_eta(rate))), abs=1e-14)


@settings(max_examples=150, deadline=None)
@given(schemes(given_period=True), decades(-12, 4))
def test_log_eta_in_many_digits(scheme: Checkpointing, rate: float) -> None:
    """Proves ln η without overflow or cancellation, for 1e-12 per hour as for Λ(τ+δ) of 10⁵, by 60-digit arithmetic.

    If it broke, rare faults would seem free or frequent ones would give NaN.
    """
    assert scheme.period is not None
    with mpmath.workdps(60):
        tau, save, recovery = mpmath.mpf(scheme.period), mpmath.mpf(scheme.save), mpmath.mpf(scheme.recovery)
        fault = mpmath.mpf(rate)
        if scheme.model == "exact":
            mean = mpmath.expm1(fault * (tau + save)) / fault * mpmath.exp(fault * recovery)
        else:
            rework = mpmath.expm1(fault * tau) / fault
            mean = rework + save + fault * rework * recovery
        expected = float(mpmath.log(tau / mean))
    assert float(scheme.log_eta(rate)) == pytest.approx(expected, rel=1e-13, abs=1e-15)


def test_limits_of_no_faults_and_of_constant_faults() -> None:
    """Proves the limits: no fault leaves only saves (and no reason for any); too many leave recovery and lost work.

    If it broke, instances without failures, or absurd ones, would give NaN or a division warning.
    """
    for model in MODELS:
        calm = Checkpointing(0.1, 0.5, 0.9, model).shares(0.0)
        assert (float(calm.useful), float(calm.saves)) == pytest.approx((0.9, 0.1), abs=1e-15)
        assert float(calm.recovery) == float(calm.lost) == 0.0
        best = Checkpointing(0.1, 0.5, None, model)
        assert np.isinf(best.best_period(0.0)) and float(best.log_eta(0.0)) == 0.0
        assert float(best.shares(0.0).useful) == 1.0
        rare = Checkpointing(0.0, 0.0, 1.0, model)  # η = 1 − Λτ/2 + …, in all digits of the loss
        assert float(rare.log_eta(1e-12)) == pytest.approx(-5e-13, rel=1e-11, abs=0)
        assert float(rare.shares(1e-12).lost) == pytest.approx(5e-13, rel=1e-11, abs=0)
    storm = Checkpointing(0.1, 1e-3, 0.9).shares(1000.0)  # Λ(τ+δ) = 1000, Λ Rc = 1
    assert float(storm.useful) == float(storm.saves) == 0.0
    assert (float(storm.recovery), float(storm.lost)) == pytest.approx((1 - np.exp(-1), np.exp(-1)), rel=1e-14)
    storm = Checkpointing(0.1, 1e-3, 0.9, "first-order").shares(1000.0)
    assert (float(storm.recovery), float(storm.lost)) == pytest.approx((0.5, 0.5), rel=1e-14)


def test_rates_broadcast_and_missing_rates_stay_missing() -> None:
    """Proves that arrays give elementwise what scalars give, in shape, and NaN stays NaN.

    If it broke, the vectorised scores of candidates would differ from those of a single plan.
    """
    rates = np.array([[0.0, 0.1, np.nan], [2.0, 30.0, 1e3]])
    for model in MODELS:
        for period in (None, 0.3):
            scheme = Checkpointing(0.01, 0.1, period, model)
            together = scheme.log_eta(rates)
            assert together.shape == scheme.shares(rates).lost.shape == scheme.best_period(rates).shape == (2, 3)
            assert np.isnan(together[0, 2])
            for place, rate in np.ndenumerate(rates):
                np.testing.assert_array_equal(together[place], scheme.log_eta(rate))


def second_differences(scheme: Checkpointing, low: float, high: float) -> NDArray[np.float64]:
    return np.diff(scheme.log_eta(np.linspace(low, high, 400)), 2)


@settings(max_examples=200, deadline=None)
@given(schemes(), decades(-4, 3), decades(-2, 2))
def test_curvature_is_what_the_scheme_declares(scheme: Checkpointing, low: float, width: float) -> None:
    """Proves convexity and concavity of ln η in Λ on dense grids.

    If it broke, secants or tangents would cut below ln η, and the MILP's bound would not be a bound.
    """
    assume(scheme.curvature is not Curvature.MIXED)
    high = low * (1 + width)
    bend = second_differences(scheme, low, high)
    rounding = 1e-15 * (1 + float(np.abs(scheme.log_eta(high))))
    if scheme.curvature is Curvature.CONVEX:
        assert bend.min() >= -4 * rounding
    else:
        assert bend.max() <= 4 * rounding


def test_first_order_at_a_given_period_bends_both_ways() -> None:
    """Proves that MIXED is needed: with slow recovery ln η is convex at small rates and concave at large ones.

    If it broke, the simpler over-estimators could have been used there.
    """
    scheme = Checkpointing(0.02, 1.0, 1.0, "first-order")
    assert scheme.curvature is Curvature.MIXED
    assert second_differences(scheme, 0.01, 0.1).min() > 0
    scheme = Checkpointing(0.5, 0.01, 1.0, "first-order")
    assert second_differences(scheme, 0.01, 0.1).max() < 0


@settings(max_examples=400, deadline=None)
@given(schemes(), decades(-6, 3), st.just(0.0) | decades(-9, 2))
def test_over_estimators_are_nowhere_below(scheme: Checkpointing, low: float, width: float) -> None:
    """Proves line(Λ) >= ln η(Λ) on a dense sample of [low, high], for every line, from points to three decades.

    If it broke, "proven optimal" would be a lie.
    """
    high = low * (1 + width)
    rates = np.linspace(low, high, 257)
    rates = rates[(rates >= low) & (rates <= high)]
    values = scheme.log_eta(rates)
    lines = scheme.over_estimators(low, high)
    assert len(lines) >= 1
    for slope, intercept in lines:
        assert np.all(slope * rates + intercept >= values)


@settings(max_examples=200, deadline=None)
@given(schemes(), decades(-3, 2), decades(-6, -3))
def test_over_estimators_are_tight_on_small_intervals(scheme: Checkpointing, low: float, width: float) -> None:
    """Proves that the least line is within (Λ-width)² × (bound on the bend) of ln η, and a point's line within 1e-11.

    If it broke, refinement would not close the gap and no plan would be proven optimal.
    """
    high = low * (1 + width)
    rates = np.linspace(low, high, 65)
    envelope = np.min([slope * rates + intercept for slope, intercept in scheme.over_estimators(low, high)], axis=0)
    values = scheme.log_eta(rates)
    size = 1 + float(np.abs(values).max()) + high * (scheme.save + scheme.recovery + (scheme.period or 0.0))
    # relative width w: second-order terms are at most w² times (Λτ)², Λ Rc … and 1/8 of x'' Λ² < 1 at the best period
    assert np.max(envelope - values) <= width**2 * size**2 + 100 * PAD * size
    ((slope, intercept), *_) = scheme.over_estimators(low, low)
    assert slope * low + intercept - values[0] <= 100 * PAD * size


@settings(max_examples=200, deadline=None)
@given(schemes(), decades(-4, 3), decades(-6, 2))
def test_over_estimators_touch_at_the_ends(scheme: Checkpointing, low: float, width: float) -> None:
    """Proves, for convex and concave ln η, that the least line is within rounding (1e-9) of ln η at both ends.

    If it broke, cutting a segment in two would not close the gap at the point of the incumbent.
    """
    assume(scheme.curvature is not Curvature.MIXED)
    high = low * (1 + width)
    lines = scheme.over_estimators(low, high)
    for at in (low, high):
        value = float(scheme.log_eta(at))
        excess = min(slope * at + intercept for slope, intercept in lines) - value
        assert 0 <= excess <= 1e-9 * max(1.0, abs(value), high * max(abs(slope) for slope, _ in lines))


@settings(max_examples=150, deadline=None)
@given(st.floats(0.0, 40.0))
def test_the_bend_of_rework_is_bounded(x: float) -> None:
    """Proves for f = ln((eˣ − 1)/x): 0 < f'' <= 1/12, falling in x, and f' in [1/2, 1), in 40 digits.

    So the mean place of a fault, 1 − f', is in (0, 1/2].  If it broke, the envelope for mixed curvature would rest on
    a false lemma.
    """

    def first(at: float) -> Any:
        return mpmath.exp(at) / mpmath.expm1(at) - 1 / mpmath.mpf(at)

    def second(at: float) -> Any:
        return 1 / mpmath.mpf(at) ** 2 - mpmath.exp(at) / mpmath.expm1(at) ** 2

    with mpmath.workdps(40):
        at = max(x, 1e-6)
        assert 0 < second(at * 1.01) < second(at) <= mpmath.mpf(1) / 12
        assert mpmath.mpf(1) / 2 <= first(at) < 1
        # the same from a scheme whose ln η is −ln((eˣ − 1)/x): free saves, no recovery, one hour between saves
        scheme = Checkpointing(0.0, 0.0, 1.0)
        shares = scheme.shares(at)
        # lost = 1 − x/(eˣ − 1)
        assert float(shares.lost) == pytest.approx(float(1 - at / mpmath.expm1(at)), rel=1e-13, abs=1e-15)


@settings(max_examples=200, deadline=None)
@given(decades(-5, 0), st.just(0.0) | decades(-4, 1), decades(-3, 1), decades(-3, 2), decades(-2, 1))
def test_the_rise_of_a_mixed_line_is_within_its_bound(
    save: float, recovery: float, period: float, low: float, width: float
) -> None:
    """Proves for mixed curvature: the line is raised above the least that is needed by at most h²M/8 over 1/32 parts,
    with M = τ²/12 + (τ + Rc/(1 + Λ Rc))²/4 at the interval's low end, which bounds the bend everywhere in it.

    If it broke, the MILP's bound in the first-order model would be loose without anyone knowing how much.
    """
    scheme = Checkpointing(save, recovery, period, "first-order")
    high = low * (1 + width)
    rates = np.linspace(low, high, 1025)
    values = scheme.log_eta(rates)
    ((slope, intercept),) = scheme.over_estimators(low, high)
    excess = slope * rates + intercept - values
    most = period**2 / 12 + (period + recovery / (1 + low * recovery)) ** 2 / 4
    bound = ((high - low) / 32) ** 2 * most / 8
    pad = 1e-9 * max(1.0, float(np.abs(values).max()), abs(slope) * high)
    assert np.all(excess >= 0)
    assert excess.min() <= bound + pad


@settings(max_examples=200, deadline=None)
@given(schemes(), decades(-8, 3), decades(-6, 2))
def test_more_faults_never_help(scheme: Checkpointing, rate: float, more: float) -> None:
    """Proves that η falls with the interruption rate, and that the best period shortens.

    If it broke, an optimiser could gain by buying less reliable parts.
    """
    values = scheme.log_eta(rate * (1 + more * np.linspace(0, 1, 33)))
    assert np.all(np.diff(values) <= 1e-15 * (1 + np.abs(values[1:])))
    assert values[0] <= 0.0
    if scheme.period is None:
        periods = scheme.best_period(rate * (1 + more * np.linspace(0, 1, 33)))
        assert np.all(np.diff(periods) <= 1e-14 * periods[1:])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("period", [None, 1e-6, 0.3, 1e4])
def test_shares_over_sixty_decades(model: Model, period: float | None) -> None:
    """Proves shares that sum to 1 without overflow, underflow or division warnings from 1e-40 to 1e20 per hour.

    If it broke, an override by a wrong unit would end in a NaN instead of an absurd but finite answer.
    """
    rates = np.logspace(-40, 20, 601)
    for save in (1e-5, 0.1):
        for recovery in (0.0, 0.1, 100.0):
            scheme = Checkpointing(save, recovery, period, model)
            shares = scheme.shares(rates)
            total = shares.useful + shares.saves + shares.recovery + shares.lost
            np.testing.assert_allclose(total, 1.0, rtol=0, atol=1e-12)
            assert np.all(np.isfinite(scheme.log_eta(rates)))


def test_over_estimators_touch_where_they_should() -> None:
    """Proves secants through both ends, tangents in three points (slopes by differences), one line for a point.

    If it broke, lines might be valid but needlessly far off, or a zero-width segment would divide by zero.
    """
    convex, concave = Checkpointing(0.01, 0.1, None), Checkpointing(0.01, 0.1, 0.3)
    ((slope, intercept),) = convex.over_estimators(0.5, 2.0)
    np.testing.assert_allclose(slope * np.array([0.5, 2.0]) + intercept, convex.log_eta([0.5, 2.0]), rtol=0, atol=1e-11)
    lines = concave.over_estimators(0.5, 2.0)
    assert len(lines) == 3
    for (slope, intercept), at in zip(lines, (0.5, 1.25, 2.0), strict=True):
        assert slope * at + intercept == pytest.approx(float(concave.log_eta(at)), abs=1e-11)
        ahead, behind = concave.log_eta([at + 1e-5, at - 1e-5])
        assert slope == pytest.approx((ahead - behind) / 2e-5, rel=1e-7)
    mixed = Checkpointing(0.01, 0.1, 0.3, "first-order")
    for scheme in (convex, concave, mixed):
        assert len(scheme.over_estimators(0.7, 0.7)) == 1
        assert len(scheme.over_estimators(0.0, 0.0)) == 1
    # raised no more than needed: it comes within 1e-4 of ln η
    ((slope, intercept),) = mixed.over_estimators(0.5, 2.0)
    rates = np.linspace(0.5, 2.0, 1001)
    gap = slope * rates + intercept - mixed.log_eta(rates)
    assert 0 <= gap.min() < 1e-4


@pytest.mark.parametrize(
    "save, recovery, period, model",
    [
        (0.0, 0.1, None, "exact"),
        (-0.1, 0.1, 1.0, "exact"),
        (0.1, -0.1, 1.0, "exact"),
        (0.1, 0.1, 0.0, "exact"),
        (0.1, 0.1, -1.0, "exact"),
        (np.nan, 0.1, 1.0, "exact"),
        (0.1, np.inf, 1.0, "exact"),
        (0.1, 0.1, 1.0, "other"),
    ],
)
def test_meaningless_schemes_are_refused(save: float, recovery: float, period: float | None, model: Any) -> None:
    """Proves that a scheme without meaning is an error when it is made.

    If it broke, a free save would give a period of 0 and an η of 0/0.
    """
    with pytest.raises(ValueError):
        Checkpointing(save, recovery, period, model)


def test_meaningless_rates_are_refused() -> None:
    """Proves that negative rates and reversed or unbounded intervals are errors.

    If it broke, a sign error upstream would give an η above 1.
    """
    scheme = Checkpointing(0.1, 0.1, 1.0)
    for call in (scheme.log_eta, scheme.shares, scheme.best_period):
        with pytest.raises(ValueError, match="negative"):
            call([0.1, -1e-9])
    for low, high in ((-1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0)):
        with pytest.raises(ValueError, match="interval"):
            scheme.over_estimators(low, high)


def published_goodput_scale(intra: int, inter: int, period: float | None) -> float:
    """Goodput per GPU of the MLSys 2026 cluster (4 zones of 256 racks of 36 trays of 2 GPUs), exact model."""
    trays, blocks, zones = 36, 256, 4
    working = 2 * (trays - intra)
    block = block_unavailability(trays, intra, unavailability(1 / 20000, 24), unavailability(1 / 10000, 24))
    available = (1 - float(zone_shortfall(blocks, inter, block))) ** zones
    rate = zones * (blocks - inter) * ((trays - intra) / 20000 + 1 / 10000)
    eta = float(np.exp(Checkpointing(0.05 / 3600, 420 / 3600, period).log_eta(rate)))
    hardware = ((trays - 0.28 * intra) / (trays - intra)) ** (np.log(1.034) / np.log(1.09))
    llm = working / (1 + 0.2 * (working - 1)) / (16 / (1 + 0.2 * 15))
    return (trays - intra) / trays * (blocks - inter) / blocks * available * eta * float(hardware) * llm


def test_numbers_of_the_design() -> None:
    """Proves the exact model's published-input results: 72/72 against 72/64, one spare tray, the best period.

    If it broke, the project's headline (a better design and a better period are each worth 5 %) would not hold.
    """
    published = 250 / 3600
    none, four = published_goodput_scale(0, 32, published), published_goodput_scale(4, 4, published)
    assert none == pytest.approx(0.80014, abs=5e-6)
    assert four == pytest.approx(0.81915, abs=5e-6)
    assert four / none == pytest.approx(1.0238, abs=5e-5)
    assert published_goodput_scale(1, 5, published) == pytest.approx(0.856, abs=5e-4)
    assert published_goodput_scale(1, 5, None) == pytest.approx(0.907, abs=5e-4)
    assert published_goodput_scale(4, 4, None) == pytest.approx(0.864, abs=5e-4)
