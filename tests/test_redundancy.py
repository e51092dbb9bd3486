"""Equivalent units against full-state chains and closed forms; cells down against enumeration of all unit states."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spareopt.numerics.availability import unavailability
from spareopt.numerics.redundancy import cells_down, equivalent_unit


def chain_of_feeds(rate: float, mttr: float, needed: int, feeds: int, phases: int) -> tuple[float, float]:
    """P(down) and frequency from all 2^n (with repair phases (1+phases)^n) states, moves written one by one."""
    states = list(product(range(phases + 1), repeat=feeds))  # 0: up, else the phase of the repair
    place = {state: i for i, state in enumerate(states)}
    balance = np.zeros((len(states), len(states)))
    for state in states:
        for i, phase in enumerate(state):
            after = (*state[:i], (phase + 1) % (phases + 1), *state[i + 1 :])
            speed = rate if phase == 0 else phases / mttr
            balance[place[after], place[state]] += speed
            balance[place[state], place[state]] -= speed
    balance[0] = 1.0
    right = np.zeros(len(states))
    right[0] = 1.0
    law = np.linalg.solve(balance, right)
    up = np.array([state.count(0) for state in states])
    return float(law[up < needed].sum()), float(needed * rate * law[up == needed].sum())


@pytest.mark.parametrize(("rate", "mttr"), [(1e-3, 24.0), (0.1, 3.0), (0.5, 20.0)])
@pytest.mark.parametrize(
    ("needed", "feeds", "phases"),
    [(1, 1, 3), (1, 2, 1), (1, 2, 3), (2, 3, 2), (1, 4, 1), (3, 4, 2), (4, 4, 1), (3, 6, 1)],
)
def test_full_chain(rate: float, mttr: float, needed: int, feeds: int, phases: int) -> None:
    """Unavailability and frequency of the equivalent unit are those of the chain, with Erlang repairs as well.

    The frequency is counted at the chain's own moves from k to k − 1 feeds up.
    """
    down, frequency = chain_of_feeds(rate, mttr, needed, feeds, phases)
    unit_rate, unit_mttr = equivalent_unit(rate, mttr, needed, feeds)
    assert float(unavailability(unit_rate, unit_mttr)) == pytest.approx(down, rel=1e-10)
    assert unit_rate == pytest.approx(frequency / (1.0 - down), rel=1e-10)
    assert unit_mttr == pytest.approx(down / frequency, rel=1e-10)


def test_first_failure_of_two_feeds() -> None:
    """2N with rare failures: twice one feed's rate times the chance that the other is down; half the repair time."""
    rate, mttr = equivalent_unit(1e-9, 10.0, 1, 2)
    assert rate == pytest.approx(2e-9 * 1e-8 / (1.0 + 2e-8), rel=1e-14)
    assert mttr == pytest.approx(5.0, rel=1e-14)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.floats(1e-9, 10.0), st.floats(1e-3, 1e3))
def test_series_and_single(feeds: int, rate: float, mttr: float) -> None:
    """All needed: n times the rate, MTTR ((1 + ρ)^n − 1)/(nr); one of one: the unit itself."""
    assert equivalent_unit(rate, mttr, 1, 1) == pytest.approx((rate, mttr), rel=1e-15)
    unit_rate, unit_mttr = equivalent_unit(rate, mttr, feeds, feeds)
    assert unit_rate == pytest.approx(feeds * rate, rel=1e-15)
    assert unit_mttr == pytest.approx(float(np.expm1(feeds * np.log1p(rate * mttr))) / (feeds * rate), rel=1e-12)


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 12), st.data(), st.integers(1, 10**6), st.integers(1, 10**6))
def test_exact_rationals(feeds: int, data: st.DataObject, up: int, down: int) -> None:
    """P(down) = Σ C(n, d) q^d (1 − q)^(n−d) in rationals, however small: nothing cancels."""
    needed = data.draw(st.integers(1, feeds))
    rate, mttr = 1.0 / up, float(down)
    load = Fraction(rate) * Fraction(mttr)
    weights = [comb(feeds, d) * load**d for d in range(feeds + 1)]
    unit_rate, unit_mttr = equivalent_unit(rate, mttr, needed, feeds)
    short = sum(weights[feeds - needed + 1 :]) / sum(weights[: feeds - needed + 1])
    assert unit_rate * unit_mttr == pytest.approx(float(short), rel=1e-13)


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 10), st.data(), st.floats(1e-8, 1.0), st.floats(0.01, 100.0))
def test_more_feeds_help(feeds: int, data: st.DataObject, rate: float, mttr: float) -> None:
    """One more feed never raises the equivalent rate or MTTR; one more needed never lowers the rate."""
    needed = data.draw(st.integers(1, feeds))
    unit_rate, unit_mttr = equivalent_unit(rate, mttr, needed, feeds)
    better_rate, better_mttr = equivalent_unit(rate, mttr, needed, feeds + 1)
    worse_rate, _ = equivalent_unit(rate, mttr, needed + 1, feeds + 1)
    assert better_rate <= unit_rate * (1 + 1e-12)
    assert better_mttr <= unit_mttr * (1 + 1e-12)
    assert worse_rate >= better_rate * (1 - 1e-12)


def test_limits_of_feeds() -> None:
    """No failures, no repair time, and rates beyond floats are limits, not errors."""
    assert equivalent_unit(0.0, 10.0, 1, 2) == (0.0, 5.0)
    assert equivalent_unit(1e-4, 0.0, 1, 2) == (0.0, 0.0)
    assert equivalent_unit(1e-4, 0.0, 2, 2) == (2e-4, 0.0)
    assert equivalent_unit(1e-9, 1.0, 1, 100) == pytest.approx((0.0, 0.01))


def enumerated(classes: list[tuple[int, float]]) -> np.ndarray:
    """All unit states of all classes: unit j of n takes down the cells whose first is at a share j/n of the site."""
    cells = lcm(*(units for units, _ in classes))
    law = np.zeros(cells + 1)
    for state in product(*(product((0, 1), repeat=units) for units, _ in classes)):
        probability = 1.0
        down = np.zeros(cells, dtype=bool)
        for units, (number, q) in zip(state, classes, strict=True):
            probability *= float(np.prod([q if unit else 1.0 - q for unit in units]))
            down |= np.repeat(np.array(units, dtype=bool), cells // number)
        law[down.sum()] += probability
    return law


@pytest.mark.parametrize(
    "classes",
    [
        [(1, 0.3)],
        [(4, 0.2)],
        [(2, 0.1), (4, 0.05)],
        [(4, 0.05), (2, 0.1)],
        [(1, 0.02), (2, 0.1), (6, 1e-4)],
        [(3, 0.1), (3, 0.2), (6, 0.3)],
        [(1, 0.1), (1, 0.2)],
        [(2, 0.0), (4, 1.0)],
    ],
)
def test_cells_of_all_states(classes: list[tuple[int, float]]) -> None:
    """Every state of every unit counted: nested, equal and single classes, in any order, and sure ones."""
    np.testing.assert_allclose(cells_down(classes), enumerated(classes), rtol=1e-12, atol=0.0)


def test_cells_of_no_class() -> None:
    """Without site-wide domains there is one cell, and it is never down."""
    np.testing.assert_array_equal(cells_down([]), [1.0, 0.0])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([1, 2, 3, 4]), st.floats(0.0, 1.0)), min_size=1, max_size=3))
def test_mean_share_down(classes: list[tuple[int, float]]) -> None:
    """The mean share of cells down is that of one cell, 1 − ∏(1 − q), whatever the dependence."""
    nested, total = [], 1
    for factor, q in classes:
        total *= factor
        nested.append((total, q))
    law = cells_down(nested)
    one = 1.0 - float(np.prod([1.0 - q for _, q in nested]))
    assert law.sum() == pytest.approx(1.0, rel=1e-12)
    assert law @ np.arange(len(law)) / (len(law) - 1) == pytest.approx(one, rel=1e-12, abs=1e-14)


def test_impossible_arguments() -> None:
    """Each is refused by name."""
    for needed, feeds in ((0, 2), (3, 2), (0, 0)):
        with pytest.raises(ValueError, match="feeds needed"):
            equivalent_unit(1.0, 1.0, needed, feeds)
    for rate, mttr in ((-1.0, 1.0), (1.0, -1.0), (float("inf"), 1.0), (1.0, float("nan"))):
        with pytest.raises(ValueError, match="finite and not negative"):
            equivalent_unit(rate, mttr, 1, 2)
    with pytest.raises(ValueError, match="not nested: 6 units do not lie within 4"):
        cells_down([(6, 0.1), (4, 0.1)])
    with pytest.raises(ValueError, match="more than 64"):
        cells_down([(65, 0.1)])
    with pytest.raises(ValueError, match="at least one unit"):
        cells_down([(0, 0.1)])
    with pytest.raises(ValueError, match="between 0 and 1"):
        cells_down([(2, 1.5)])
