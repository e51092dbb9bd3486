"""The bounds that let a MILP add up zones which are coupled: Hölder's inequality, alike zones, zones alone."""

from __future__ import annotations

import itertools
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logsumexp

from spareopt.numerics.crews import Pool, crew_law
from spareopt.numerics.exchangeable import (
    ZoneShape,
    alike_shortfalls_given_law,
    site_shortfall_given_law,
    zone_shortfall_given_law,
)
from spareopt.numerics.holder import MixedRecovery, Tilt, tilt_at, zone_terms
from spareopt.numerics.overlapped import Overlapped
from spareopt.numerics.recovery import Checkpointing, Curvature, RecoveryScheme
from spareopt.numerics.replica_groups import ReplicaGroups
from spareopt.numerics.two_level import TwoLevel
from spareopt.pooling import ROUNDING

Array = NDArray[np.float64]

SCHEMES: list[RecoveryScheme] = [
    Checkpointing(0.02, 0.2, None),
    Checkpointing(0.02, 0.2, 1.0),
    Checkpointing(0.02, 0.2, 1.0, "first-order"),
    ReplicaGroups(8, 0.02, 0.5),
    Overlapped(0.01, 0.1, 0.1, 0.2, None),
    TwoLevel(0.005, 0.05, 0.02, 0.2, 0.8, None, None),
]
SEEDS = st.integers(0, 2**32 - 1)


def log_mixture(weights: Array, log_factors: Array) -> float:
    """ln Σ_s w_s ∏_j f_js with the product over rows, in extended precision."""
    terms = np.log(weights.astype(np.longdouble)) + log_factors.astype(np.longdouble).sum(axis=0)
    return float(np.log(np.exp(terms - terms.max()).sum()) + terms.max())


def case(seed: int, with_recovery: bool) -> tuple[Array, NDArray[np.int64], Array, Array, Array, Tilt]:
    """Random weights, zones' classes, their ln a by state, ln η by state and rate multipliers, and any references."""
    rng = np.random.default_rng(seed)
    states, classes = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    weights = rng.dirichlet(np.ones(states)) * rng.uniform(0.5, 1.0)
    members = rng.integers(1, 5, classes)
    group = np.repeat(np.arange(classes), members)
    log_up = -rng.exponential(10.0 ** rng.uniform(-4, 1.3), (len(group), states))
    multipliers = np.sort(rng.gamma(2.0, 0.5, states))
    log_eta = SCHEMES[int(rng.integers(len(SCHEMES)))].log_eta(rng.uniform(0.01, 2.0) * multipliers)
    reference = -rng.exponential(10.0 ** rng.uniform(-4, 1.3), (classes, states))
    tilt = tilt_at(weights, reference, members, -rng.exponential(1.0, states), with_recovery)
    return weights, group, log_up, log_eta, multipliers, tilt


def recovery_term(tilt: Tilt, log_eta: Array) -> float:
    """θ ln Σ_s v_s (η_s/r_s)^(1/θ), written out."""
    ratios = (log_eta - tilt.log_recovery) / tilt.recovery_share + tilt.log_weights
    return float(tilt.recovery_share * logsumexp(ratios))


@settings(max_examples=300, deadline=None)
@given(SEEDS, st.booleans())
def test_terms_of_the_zones_add_up_to_no_less_than_the_mixture(seed: int, with_recovery: bool) -> None:
    """Proves the bound for any weights, factors and references: what the MILP adds is never below ln of the mixture.

    Exponents that did not sum to 1, or weights that were not those of the references, would put it below somewhere.
    """
    weights, group, log_up, log_eta, _, tilt = case(seed, with_recovery)
    assert len(group) * tilt.share + tilt.recovery_share == pytest.approx(1.0, rel=1e-12)
    bound = tilt.log_total + float(zone_terms(tilt, log_up, group).sum())
    factors = log_up
    if with_recovery:
        bound += recovery_term(tilt, log_eta)
        factors = np.vstack([log_up, log_eta])
    value = log_mixture(weights, factors)
    assert bound >= value - 1e-12 * max(1.0, abs(value))


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.booleans())
def test_the_bound_is_the_mixture_at_the_plan_of_reference(seed: int, with_recovery: bool) -> None:
    """Proves that the bound closes at the plan whose factors are the references: refinement can end there.

    A reference is the mean of ln a over a class; the zones of a class must be alike, and no factor below the floor.
    """
    weights, group, log_up, log_eta, _, _ = case(seed, with_recovery)
    alike = np.maximum(log_up[np.searchsorted(group, np.arange(group.max() + 1))], -9.0)
    log_eta = np.maximum(log_eta, -9.0)
    tilt = tilt_at(weights, alike, np.bincount(group), log_eta, with_recovery)
    bound = tilt.log_total + float(zone_terms(tilt, alike[group], group).sum())
    factors = alike[group]
    if with_recovery:
        bound += recovery_term(tilt, log_eta)
        factors = np.vstack([factors, log_eta])
    assert bound == pytest.approx(log_mixture(weights, factors), rel=1e-11, abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.integers(1, 6))
def test_the_flat_bound_is_the_mixture_where_zones_are_alike(seed: int, zones: int) -> None:
    """Proves that with equal exponents and no references the bound is exact for alike zones under certain rates.

    So for one class the very first MILP needs no refinement.
    """
    weights, _, log_up, _, _, _ = case(seed, False)
    flat = np.zeros((1, len(weights)))
    tilt = tilt_at(weights, flat, [zones], flat[0], False)
    group = np.zeros(zones, dtype=np.int64)
    alike = np.repeat(log_up[:1], zones, axis=0)
    bound = tilt.log_total + float(zone_terms(tilt, alike, group).sum())
    assert bound == pytest.approx(log_mixture(weights, alike), rel=1e-11, abs=1e-12)


def test_states_without_any_zone_are_no_obstacle() -> None:
    """Proves that ln 0 (a state in which a zone is surely short) gives numbers, in candidates and in references."""
    weights = np.array([0.9, 0.1])
    log_up = np.array([[-0.1, -np.inf], [-0.2, -0.3]])
    tilt = tilt_at(weights, log_up, [1, 1], np.zeros(2), False)
    terms = zone_terms(tilt, log_up, np.array([0, 1]))
    assert np.isfinite(terms).all()
    assert tilt.log_total + terms.sum() >= np.log(0.9) - 0.3 - 1e-12
    assert zone_terms(tilt, np.full((1, 2), -np.inf), np.array([0]))[0] == -np.inf


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(0, len(SCHEMES) - 1), st.floats(0.001, 3.0), st.floats(0.0, 1.5))
def test_lines_over_the_mixed_recovery_lie_above_it(seed: int, scheme: int, low: float, width: float) -> None:
    """Proves the over-estimators of the recovery's term, sampled densely, and that the term falls with the rate.

    A secant under a part that is concave, or a curvature claimed that is not there, would cut off an optimum.
    """
    rng = np.random.default_rng(seed)
    states = int(rng.integers(2, 9))
    weights, multipliers = rng.dirichlet(np.ones(states)), np.sort(rng.gamma(2.0, 0.5, states))
    log_eta = SCHEMES[scheme].log_eta(rng.uniform(0.01, 2.0) * multipliers)
    log_up = -rng.exponential(0.1, (2, states))
    term = MixedRecovery(SCHEMES[scheme], multipliers, tilt_at(weights, log_up, [2, 1], log_eta, True))
    rates = np.linspace(low, low + width, 201)
    values = term.log_eta(rates)
    assert (np.diff(values) <= 1e-12).all()
    for slope, intercept in term.over_estimators(low, low + width):
        assert (slope * rates + intercept >= values).all()
    if term.curvature is Curvature.CONVEX:
        assert (values[:-2] - 2 * values[1:-1] + values[2:] >= -1e-12).all()


def test_the_mixed_recovery_is_its_formula() -> None:
    """Proves log_eta at one rate and at an array of rates against the formula written out."""
    scheme, multipliers = SCHEMES[0], np.array([0.5, 1.0, 2.0])
    weights, log_up = np.array([0.2, 0.5, 0.3]), np.full((1, 3), -0.1)
    tilt = tilt_at(weights, log_up, [2], scheme.log_eta(0.5 * multipliers), True)
    term = MixedRecovery(scheme, multipliers, tilt)
    for rate in (0.1, 0.5, 1.0):
        expected = recovery_term(tilt, scheme.log_eta(rate * multipliers))
        assert float(term.log_eta(rate)) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    grid = np.array([[0.1, 0.5], [1.0, 2.0]])
    assert term.log_eta(grid).shape == (2, 2)
    assert term.log_eta(grid)[1, 0] == float(term.log_eta(1.0))


# --- zones that share crews


def site_law(shapes: list[ZoneShape], load: float, crews: int) -> Array:
    trays = sum(shape.all_trays * shape.count for shape in shapes)
    return crew_law((Pool(trays, 0.01, load, 1.0),), crews).failed


@settings(max_examples=80, deadline=None)
@given(SEEDS)
def test_alike_shortfalls_bound_the_site_from_the_optimistic_side(seed: int) -> None:
    """Proves ∏ u_z^(1/n) >= P(no zone short) and ∏ A_z (each alone with all crews) >= it, zones alike or not.

    Both over-estimate A, as the MILP needs: a bound below would cut off a plan.  A shortfall is known to ROUNDING of
    itself, and the root of what is left of 1 is taken of that: without the margin it may be 0 where A is 1e-10.
    """
    rng = np.random.default_rng(seed)
    blocks, trays, crews = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    shapes = [
        ZoneShape(blocks, trays, int(rng.integers(trays)), int(rng.integers(blocks)), count=int(rng.integers(1, 4)))
        for _ in range(int(rng.integers(1, 4)))
    ]
    load, number = float(rng.uniform(0.5, 60)), sum(shape.count for shape in shapes)
    law = site_law(shapes, load, crews)
    up = 1.0 - site_shortfall_given_law(shapes, law)
    short = alike_shortfalls_given_law(shapes, law, number)
    counts = np.array([shape.count for shape in shapes])
    assert float(np.prod((1.0 - short * (1.0 - ROUNDING)) ** (counts / number))) >= up - 1e-11
    own = site_law([ZoneShape(blocks, trays, 0, 0)], load, crews)
    each = [
        float(zone_shortfall_given_law(blocks, 1, trays, shape.intra_spares, own, shape.inter_spares))
        for shape in shapes
    ]
    assert float(np.prod((1.0 - np.array(each)) ** counts)) >= up - 1e-11


def test_alike_shortfalls_against_all_sets() -> None:
    """Proves u_z = Σ π(f) P(the zone is fine | f)^n over all sets of failed trays of 2 × 2 blocks of 2."""
    shape = ZoneShape(2, 2, 0, 1, count=2)
    law = site_law([shape], 20.0, 1)
    expected = 0.0
    for failed, chance in enumerate(law):
        sets = list(itertools.combinations(range(8), failed))
        assert len(sets) == comb(8, failed)
        fine = sum(not ({0, 1} & set(s) and {2, 3} & set(s)) for s in sets) / len(sets)
        expected += chance * fine**2
    assert float(alike_shortfalls_given_law([shape], law, 2)[0]) == pytest.approx(1 - expected, rel=1e-11)


@pytest.mark.parametrize(
    ("shape", "rate", "hours", "delay", "crews", "alike_most", "alone_most"),
    [
        (ZoneShape(2, 2, 0, 1, count=2), 1e-2, 5.0, 1.0, 1, 0.12, 0.26),
        (ZoneShape(16, 18, 1, 1, count=4), 5e-5, 4.0, 100.0, 1, 0.012, 0.04),
        (ZoneShape(64, 18, 0, 4, count=4), 5e-5, 4.0, 10.0, 2, 0.063, 0.44),
        (ZoneShape(64, 18, 1, 2, count=4), 5e-5, 4.0, 48.0, 1, 0.036, 0.994),
        (ZoneShape(32, 8, 0, 4, count=8), 1e-4, 6.0, 10.0, 2, 0.038, 0.84),
        (ZoneShape(16, 18, 0, 2, count=16), 5e-5, 4.0, 24.0, 2, 0.067, 0.11),
    ],
)
def test_how_close_the_bounds_are_for_alike_zones(
    shape: ZoneShape, rate: float, hours: float, delay: float, crews: int, alike_most: float, alone_most: float
) -> None:
    """Proves how far the bounds are off for alike zones: the share of 1 − A that each misses.

    It is what the gap of a site plan can close to without branching: at most 12 % with the bound of alike zones, up to
    all of it where each zone is alone with the crews, which are then busy only for a fraction of their time.
    """

    def law(number: int) -> Array:
        return crew_law((Pool(number * shape.all_trays, rate, hours, delay),), crews).failed

    zones, one = shape.count, (shape.blocks, 1, shape.trays, shape.intra_spares)
    exact = site_shortfall_given_law([shape], law(zones))
    alike = float(alike_shortfalls_given_law([shape], law(zones), zones)[0])
    each = float(zone_shortfall_given_law(*one, law(1), shape.inter_spares))
    alone = float(-np.expm1(zones * np.log1p(-each)))
    assert (1 - alike_most) * exact <= alike <= exact * (1 + 1e-10)
    assert (1 - alone_most) * exact <= alone <= exact * (1 + 1e-10)
    assert alone < alike


def shape_of(**numbers: Any) -> ZoneShape:
    return ZoneShape(**({"blocks": 2, "trays": 2, "intra_spares": 0, "inter_spares": 1} | numbers))


def test_one_zone_is_its_own_bound() -> None:
    """Proves the limit n = 1: the bound of alike zones is the zone's own probability under the law."""
    law = site_law([shape_of()], 20.0, 1)
    exact = float(zone_shortfall_given_law(2, 1, 2, 0, law, 1))
    assert float(alike_shortfalls_given_law([shape_of()], law, 1)[0]) == pytest.approx(exact, rel=1e-12)
    assert site_shortfall_given_law([shape_of()], law) == pytest.approx(exact, rel=1e-12)
