"""Shelf stock against many digits, full-state chains and simulations.

The chains and the simulation write down what happens to trays one by one; they share nothing with the product forms.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import count

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spsolve

from spareopt.numerics.crews import Pool, crew_law
from spareopt.numerics.exchangeable import zone_shortfall_given_law
from spareopt.numerics.shelf import (
    backorder_law,
    expected_backorders,
    failed_law_with_shelf,
    palm_backorders,
    with_backorders,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A shelf and its positions; lead time and delay in so many exponential phases."""

    units: int
    rate: float
    hands_on: float
    off_crew: float
    crews: int | None
    lead_time: float
    shelf: int
    share: float = 1.0
    lead_phases: int = 1
    delay_phases: int = 1

    def law(self) -> Array:
        """Of the module, with zeros up to all positions failed."""
        law = failed_law_with_shelf(
            self.units, self.rate, self.hands_on, self.off_crew, self.crews, self.lead_time, self.shelf, self.share
        )
        return np.pad(law, (0, self.units + 1 - len(law)))


State = tuple[
    tuple[int, ...], tuple[int, ...], int
]  # trays on order by phase, positions in the delay by phase, at crews


def moves(case: Case, state: State) -> Iterator[tuple[State, float]]:
    orders, delays, at_crews = state
    on_order = sum(orders)
    waiting = max(on_order - case.shelf, 0)
    up = case.units - waiting - sum(delays) - at_crews

    def into_swap(orders: tuple[int, ...]) -> State:
        if case.off_crew:
            return orders, (delays[0] + 1, *delays[1:]), at_crews
        return (orders, delays, at_crews + 1) if case.hands_on else (orders, delays, at_crews)

    ordered = (orders[0] + 1, *orders[1:])
    if up and case.share > 0:
        yield into_swap(ordered) if on_order < case.shelf else (ordered, delays, at_crews), up * case.rate * case.share
    if up and case.share < 1 and (case.off_crew or case.hands_on):
        yield into_swap(orders), up * case.rate * (1.0 - case.share)
    for phase, trays in enumerate(orders):
        moved = list(orders)
        moved[phase] -= 1
        speed = trays * case.lead_phases / case.lead_time
        if trays and phase + 1 < len(orders):
            moved[phase + 1] += 1
            yield (tuple(moved), delays, at_crews), speed
        elif trays:
            yield into_swap(tuple(moved)) if waiting else (tuple(moved), delays, at_crews), speed
    for phase, positions in enumerate(delays):
        moved = list(delays)
        moved[phase] -= 1
        speed = positions * case.delay_phases / case.off_crew if positions else 0.0
        if positions and phase + 1 < len(delays):
            moved[phase + 1] += 1
            yield (orders, tuple(moved), at_crews), speed
        elif positions:
            yield (orders, tuple(moved), at_crews + bool(case.hands_on)), speed
    if at_crews:
        yield (orders, delays, at_crews - 1), min(at_crews, case.crews or at_crews) / case.hands_on


@cache
def chain(case: Case) -> Array:
    """Stationary law of the failed number, from the balance equations of all states that can be reached."""
    start: State = ((0,) * case.lead_phases, (0,) * case.delay_phases if case.off_crew else (), 0)
    states, place = [start], {start: 0}
    entries: list[tuple[int, int, float]] = []
    for state in states:
        for target, speed in moves(case, state):
            if target not in place:
                place[target] = len(states)
                states.append(target)
            entries += [(place[target], place[state], speed), (place[state], place[state], -speed)]
    # the first balance equation is implied by the others; the sum takes its place
    entries = [entry for entry in entries if entry[0]] + [(0, column, 1.0) for column in range(len(states))]
    rows, columns, values = zip(*entries, strict=True)
    right = np.zeros(len(states))
    right[0] = 1.0
    probabilities = spsolve(csc_matrix((values, (rows, columns)), shape=(len(states),) * 2), right)
    law = np.zeros(case.units + 1)
    for (orders, delays, at_crews), probability in zip(states, probabilities, strict=True):
        law[max(sum(orders) - case.shelf, 0) + sum(delays) + at_crews] += probability
    return law


def tails(law: Array) -> Array:
    """P(more than k) for k = 0, 1, …"""
    return np.cumsum(law[:0:-1])[::-1]


@pytest.mark.parametrize(("mean", "shelf"), [(0.3, 0), (0.3, 40), (7.0, 3), (50.0, 50), (900.0, 700), (1e5, 100_900)])
def test_palm_in_many_digits(mean: float, shelf: int) -> None:
    """Every term of the law, and its mean, against 40 digits: to 1e-10 down to 1e-40, also far above the mean."""
    law = palm_backorders(mean, shelf)
    with mpmath.workdps(40):
        log_mean = mpmath.log(mean)
        terms = {
            b: mpmath.exp((shelf + b) * log_mean - mean - mpmath.loggamma(shelf + b + 1))
            for b in np.unique(np.r_[1:30, max(1, int(mean) - shelf) + np.arange(-20, 60, 7)])
            if 0 < b < len(law)
        }
        none = mpmath.gammainc(shelf + 1, mean, mpmath.inf, regularized=True)
        expected = mean * (1 - mpmath.gammainc(shelf, mean, mpmath.inf, regularized=True) if shelf else 1)
        expected -= shelf * (1 - none)
    assert law[0] == pytest.approx(float(none), rel=1e-11)
    for b, term in terms.items():
        if term > law[1:].sum() * 1e-40:
            assert law[b] == pytest.approx(float(term), rel=1e-10)
    assert float(expected_backorders(mean, shelf)) == pytest.approx(float(expected), rel=1e-11)
    assert law @ np.arange(len(law)) == pytest.approx(float(expected), rel=1e-11)


def test_one_position_and_one_tray() -> None:
    """N = S = 1 by hand: with a = rate × lead time, the weights of 0, 1, 2 on order are 1, a, a²/2."""
    a = 1e-9 * 30.0
    law = backorder_law(1, 1e-9, 30.0, 1)
    assert law[1] == pytest.approx(a * a / 2 / (1 + a + a * a / 2), rel=1e-13)


@pytest.mark.parametrize("phases", [1, 2, 4])
@pytest.mark.parametrize(
    ("units", "rate", "shelf", "share"), [(5, 0.01, 0, 1.0), (5, 0.01, 2, 1.0), (4, 0.1, 3, 0.4), (3, 1e-4, 1, 1.0)]
)
def test_instant_swaps_are_exact(units: int, rate: float, shelf: int, share: float, phases: int) -> None:
    """The law of backorders is that of the full chain for exponential and Erlang lead times alike: insensitive."""
    case = Case(units, rate, 0.0, 0.0, None, 30.0, shelf, share, lead_phases=phases)
    np.testing.assert_allclose(case.law(), chain(case), rtol=1e-10, atol=1e-15)
    np.testing.assert_array_equal(backorder_law(units, rate, 30.0, shelf, share), case.law())


@pytest.mark.parametrize(
    "case",
    [
        Case(6, 0.01, 5.0, 0.0, None, 30.0, 0),
        Case(6, 0.01, 5.0, 0.0, 1, 30.0, 0),
        Case(6, 0.03, 5.0, 0.0, 2, 30.0, 0, 0.3),
        Case(5, 0.02, 5.0, 12.0, 1, 30.0, 0, 0.6),
        Case(4, 0.02, 5.0, 12.0, 1, 30.0, 0, 1.0, lead_phases=2, delay_phases=2),
        Case(4, 0.2, 5.0, 12.0, 1, 30.0, 0, 0.5, lead_phases=3),
        Case(4, 0.02, 0.0, 12.0, None, 30.0, 0, 0.5, delay_phases=3),
    ],
)
def test_no_shelf_is_exact(case: Case) -> None:
    """Without a shelf the order, the delay and the crews are a closed network: the full chain, to 1e-10."""
    np.testing.assert_allclose(case.law(), chain(case), rtol=1e-10, atol=1e-15)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 400),
    st.floats(1e-6, 0.1),
    st.floats(0.0, 50.0),
    st.floats(0.0, 100.0),
    st.one_of(st.none(), st.integers(1, 9)),
    st.floats(1.0, 500.0),
)
def test_limits_of_crews(
    units: int, rate: float, hands_on: float, off_crew: float, crews: int | None, lead: float
) -> None:
    """No shelf: the lead time is a delay more.  A shelf for all, lead time 0 or share 0: as if trays were at hand.

    All are the laws of `spareopt.numerics.crews`.
    """
    seats = units if crews is None else crews
    at_hand = crew_law((Pool(units, rate, hands_on, off_crew),), seats).failed
    ordered = crew_law((Pool(units, rate, hands_on, off_crew + lead),), seats).failed
    plenty = 100 + int(units * rate * lead + 18.0 * (units * rate * lead) ** 0.5)
    for expected, case in (
        (ordered, Case(units, rate, hands_on, off_crew, crews, lead, 0)),
        (at_hand, Case(units, rate, hands_on, off_crew, crews, lead, plenty)),
        (at_hand, Case(units, rate, hands_on, off_crew, crews, 0.0, 3)),
        (at_hand, Case(units, rate, hands_on, off_crew, crews, lead, 0, 0.0)),
    ):
        np.testing.assert_allclose(case.law(), np.pad(expected, (0, units + 1 - len(expected))), rtol=1e-9, atol=1e-45)


@pytest.mark.parametrize("crews", [None, 1])
@pytest.mark.parametrize(("ratio", "error"), [(0.01, 0.03), (0.03, 0.05), (0.1, 0.12), (0.3, 0.37)])
@pytest.mark.parametrize("extra", [0, 2, 4])
@pytest.mark.parametrize(("units", "on_order"), [(10, 1.0), (30, 3.0)])
def test_error_with_a_shelf(
    units: int, on_order: float, extra: int, ratio: float, error: float, crews: int | None
) -> None:
    """The error that the module states for swaps of a share of the lead time.

    Of P(more than k failed), all k where it is above 1e-6, against the full chain.
    """
    rate = on_order / (units * 200.0)
    case = Case(units, rate, 200.0 * ratio, 0.0, crews, 200.0, int(on_order) + extra)
    exact = tails(chain(case))
    off = np.abs(tails(case.law()) / np.maximum(exact, 1e-300) - 1.0)[exact > 1e-6]
    assert off.max() < error


def test_the_error_is_there() -> None:
    """Swaps as long as the lead time: the tail is under-estimated by a third, which is why the error is stated."""
    case = Case(10, 1e-3, 100.0, 0.0, None, 100.0, 3)
    exact, ours = tails(chain(case)), tails(case.law())
    off = (ours / exact - 1.0)[exact > 1e-6]
    assert -0.40 < off.min() < -0.25
    assert off.max() < 0.01


def simulated(case: Case, lead: str, events: int, seed: int) -> Iterator[tuple[int, float]]:
    """Failed numbers and how long each lasts, event by event, from a random stream; crews are never waited for."""
    rng = np.random.default_rng(seed)
    ids = count()
    calendar: list[tuple[float, int, str]] = []
    now, up, stock, waiting = 0.0, case.units, case.shelf, 0

    def after(kind: str, hours: float) -> None:
        heapq.heappush(calendar, (now + hours, next(ids), kind))

    def swap() -> None:
        after("swapped", rng.exponential(case.hands_on))

    for _ in range(events):
        # the next failure is drawn anew after every event: exponential times have no memory
        failure = now + rng.exponential(1.0 / (up * case.rate)) if up else np.inf
        event = "failed" if not calendar or failure < calendar[0][0] else calendar[0][2]
        then = failure if event == "failed" else heapq.heappop(calendar)[0]
        yield case.units - up, then - now
        now = then
        if event == "failed":
            up -= 1
            # of mean 1: constant, or three tenths of it nine times in ten and else 7.3
            factor = 1.0 if lead == "constant" else (0.3 if rng.random() < 0.9 else 7.3)
            after("delivered", case.lead_time * factor)
            if stock:
                stock -= 1
                swap()
            else:
                waiting += 1
        elif event == "delivered" and waiting:
            waiting -= 1
            swap()
        elif event == "delivered":
            stock += 1
        else:
            up += 1


@pytest.mark.parametrize(("lead", "seed"), [("constant", 1), ("mixed", 2)])
@pytest.mark.parametrize("hands_on", [1e-6, 4.0])
def test_simulation(lead: str, seed: int, hands_on: float) -> None:
    """200 positions with a shelf of 8: P(more than k failed) within 4 standard errors and 1 % more, any lead time.

    A constant and a two-point lead time; standard errors from 25 batches, of a run of about 50,000 faults.
    """
    case = Case(200, 3e-4, hands_on, 0.0, None, 100.0, 8)
    steps = np.array(list(simulated(case, lead, 120_000, seed)))[5_000:]
    failed, hours = steps[:, 0], steps[:, 1]
    expected = tails(case.law())
    for more_than in (0, 1, 2, 4):
        batches = [
            float((f > more_than) @ h / h.sum())
            for f, h in zip(np.array_split(failed, 25), np.array_split(hours, 25), strict=True)
        ]
        error = float(np.std(batches, ddof=1)) / 5.0
        stated = 0.01 * expected[more_than] if hands_on > 1 else 0.0
        assert abs(np.mean(batches) - expected[more_than]) < 4.0 * error + stated


@settings(max_examples=150, deadline=None)
@given(
    units=st.integers(1, 60),
    load=st.floats(-3.0, 0.7),
    hands_on=st.floats(0.0, 30.0),
    off_crew=st.floats(0.0, 30.0),
    crews=st.one_of(st.none(), st.integers(1, 4)),
    lead=st.floats(0.1, 100.0),
    shelf=st.integers(0, 60),
    share=st.floats(0.0, 1.0),
    factor=st.floats(0.0, 1.0),
)
def test_better_repair_never_hurts(
    units: int,
    load: float,
    hands_on: float,
    off_crew: float,
    crews: int | None,
    lead: float,
    shelf: int,
    share: float,
    factor: float,
) -> None:
    """P(more than k failed) never rises, for any k, with more shelf, a shorter lead time, fewer faults or fewer orders.

    Nor, while a position orders at most one tray in a lead time, with faster work, a shorter delay or a crew more; the
    mean number failed never does.  The load is the decimal logarithm of rate × lead time, up to five.
    """
    rate = 10.0**load / lead
    case = Case(units, rate, hands_on, off_crew, crews, lead, shelf, share)
    worse = tails(case.law())
    for better in (
        replace(case, shelf=shelf + 1),
        replace(case, lead_time=lead * factor),
        replace(case, rate=rate * factor),
        replace(case, share=share * factor),
    ):
        assert np.all(tails(better.law()) <= worse * (1 + 1e-9) + 1e-40)
    for better in (
        replace(case, hands_on=hands_on * factor),
        replace(case, off_crew=off_crew * factor),
        replace(case, crews=crews and crews + 1),
    ):
        now = tails(better.law())
        assert now.sum() <= worse.sum() * (1 + 1e-9)
        if share * rate * lead <= 1:
            assert np.all(now <= worse * (1 + 1e-9) + 1e-40)


def test_faster_swaps_may_hurt_where_positions_order_many_trays() -> None:
    """The full chain itself: hands-on time cut to two fifths raises P(both of two positions failed) by 1.2 %.

    Each would order 3.8 trays in a lead time.  So the order above cannot hold without its condition; the mean falls.
    """
    case = Case(2, 0.017, 2.83, 0.0, None, 224.0, 8)
    slow, fast = tails(chain(case)), tails(chain(replace(case, hands_on=0.4 * case.hands_on)))
    assert fast[1] / slow[1] - 1.0 == pytest.approx(0.01228, abs=1e-4)
    assert fast.sum() < slow.sum()


@pytest.mark.parametrize("crews", [None, 2, 50])
@pytest.mark.parametrize(("rate", "lead", "shelf"), [(2e-5, 500.0, 1000), (2e-3, 5000.0, 100), (1e-9, 500.0, 3)])
def test_a_hundred_thousand_trays(rate: float, lead: float, shelf: int, crews: int | None) -> None:
    """Nothing overflows at 100,000 trays, ample or overloaded, and the mean is where the flows balance.

    In equilibrium what fails is delivered and swapped: up·rate·hands-on are in work, with a crew each at most.
    """
    law = failed_law_with_shelf(100_000, rate, 4.0, 24.0, crews, lead, shelf)
    up = 100_000 - float(law @ np.arange(len(law)))
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    fluid = min(100_000 / (1 + 28 * rate), (100_000 + shelf) / (1 + (28 + lead) * rate), (crews or 1e9) / (4 * rate))
    assert up == pytest.approx(fluid, rel=2e-3)


def test_into_a_zone() -> None:
    """The law goes into a zone as it is; adding the mean wait to the repair time instead misses most of the shortfall.

    Backorders come together, so that their spread and not only their mean makes a zone short.
    """
    units, rate, hands_on, lead, shelf = 64 * 18, 1e-4, 6.0, 300.0, 35
    law = failed_law_with_shelf(units, rate, hands_on, 0.0, None, lead, shelf)
    by_law = zone_shortfall_given_law(64, 1, 18, 1, law, 1)
    failed = float(law @ np.arange(len(law)))
    mean_only = crew_law((Pool(units, rate, failed / (rate * (units - failed))),), units).failed
    by_mean = zone_shortfall_given_law(64, 1, 18, 1, mean_only, 1)
    assert by_law > 2.0 * by_mean


def test_impossible_arguments() -> None:
    """Each is refused by name."""
    for mean, shelf in ((-1.0, 0), (float("inf"), 0), (float("nan"), 0), (1.0, -1)):
        with pytest.raises(ValueError, match="negative"):
            palm_backorders(mean, shelf)
        with pytest.raises(ValueError, match="negative"):
            expected_backorders(mean, shelf)
    assert palm_backorders(0.0, 0).tolist() == [1.0]
    assert expected_backorders([], 0).shape == (0,)
    good = {"units": 2, "rate": 0.1, "hands_on": 1.0, "off_crew": 1.0, "crews": 1, "lead_time": 1.0, "shelf": 1}
    for name, values, message in (
        ("units", (0,), "at least one unit"),
        ("crews", (0,), "crews must be at least 1"),
        ("shelf", (-1,), "negative number of trays"),
        ("share", (-0.1, 1.1, float("nan")), "share must be"),
        *((name, (-1.0, float("inf"), float("nan")), name) for name in ("rate", "hands_on", "off_crew", "lead_time")),
    ):
        for value in values:
            with pytest.raises(ValueError, match=message):
                failed_law_with_shelf(**(good | {name: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize("crews", [1, 3])
@pytest.mark.parametrize("shelf", [0, 1, 4])
def test_backorders_added_to_a_law_are_those_of_trays_alone(shelf: int, crews: int) -> None:
    """Proves `with_backorders` against `failed_law_with_shelf`: the same law from that of the crews, given it alone.

    With racks that hardly ever fail its first axis is that law, too: another class at the crews changes nothing else.
    """
    units, rate, hands_on, off_crew, lead, share = 30, 0.004, 5.0, 3.0, 60.0, 0.7
    expected = failed_law_with_shelf(units, rate, hands_on, off_crew, crews, lead, shelf, share)
    trays = Pool(units, rate, hands_on, off_crew)
    law = with_backorders(crew_law((trays,), crews).failed, units, rate, lead, shelf, share)
    kept = expected > 1e-25
    assert law[: len(expected)][kept] == pytest.approx(expected[kept], rel=1e-9, abs=0)
    both = crew_law((trays, Pool(4, 1e-12, hands_on, 1.0)), crews).failed
    beside = with_backorders(both, units, rate, lead, shelf, share).sum(axis=1)
    assert beside[: len(expected)][kept] == pytest.approx(expected[kept], rel=1e-7, abs=0)


def test_backorders_beside_racks_against_a_full_chain() -> None:
    """Proves `with_backorders` with racks that share the crew, to 1e-10, where it is exact: without a shelf.

    The chain tells how many trays wait for the vendor, are worked on, and how many racks are: processor sharing.
    """
    trays, racks, rate, rack_rate, work, lead = 4, 2, 0.02, 0.01, 5.0, 30.0
    states = [(b, f, r) for b in range(trays + 1) for f in range(trays + 1 - b) for r in range(racks + 1)]
    place = {state: i for i, state in enumerate(states)}
    moves = np.zeros((len(states), len(states)))
    for (b, f, r), i in place.items():
        for state, flow in (
            ((b + 1, f, r), (trays - b - f) * rate),
            ((b, f, r + 1), (racks - r) * rack_rate),
            ((b - 1, f + 1, r), b / lead),
            ((b, f - 1, r), f / (f + r) / work if f else 0.0),
            ((b, f, r - 1), r / (f + r) / work if r else 0.0),
        ):
            if state in place and flow:
                moves[i, place[state]] += flow
                moves[i, i] -= flow
    system = np.vstack([moves.T[1:], np.ones(len(states))])
    stationary = np.linalg.solve(system, np.eye(len(states))[-1])
    expected = np.zeros((trays + 1, racks + 1))
    for (b, f, r), i in place.items():
        expected[b + f, r] += stationary[i]
    in_repair = crew_law((Pool(trays, rate, work), Pool(racks, rack_rate, work)), 1).failed
    assert with_backorders(in_repair, trays, rate, lead, 0) == pytest.approx(expected, rel=1e-10, abs=0)
