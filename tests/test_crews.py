"""The law of failed numbers under finite crews against full-state chains and exact rationals."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spsolve
from scipy.stats import binom

from spareopt.numerics.crews import CrewLaw, Pool, crew_law

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Unit:
    """One labelled unit of a full-state chain; delay and hands-on work in so many exponential phases."""

    pool: int
    rate: float
    hands_on: float
    off_crew: float = 0.0
    delay_phases: int = 1
    work_phases: int = 1


@dataclass(frozen=True)
class Chain:
    """Stationary law over full states: the set of failed units, and those at the crews, by state."""

    units: tuple[Unit, ...]
    crews: int
    failed: list[frozenset[int]]
    at_crews: list[int]
    probability: Array

    def law(self) -> Array:
        """Joint law of the failed numbers of each pool."""
        sizes = [sum(u.pool == p for u in self.units) for p in range(max(u.pool for u in self.units) + 1)]
        law = np.zeros([size + 1 for size in sizes])
        for failed, probability in zip(self.failed, self.probability, strict=True):
            law[tuple(sum(self.units[i].pool == p for i in failed) for p in range(len(sizes)))] += probability
        return law

    def utilisation(self) -> float:
        busy = np.minimum(np.array(self.at_crews), self.crews)
        return float(busy @ self.probability) / self.crews

    def mean_wait(self) -> float:
        """By Little's law, from tickets that fail."""
        arrivals = sum(
            p * sum(u.rate for i, u in enumerate(self.units) if i not in failed)
            for failed, p in zip(self.failed, self.probability, strict=True)
        )
        return float(np.maximum(np.array(self.at_crews) - self.crews, 0) @ self.probability / arrivals)


State = tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]  # (unit, phase): delay, crews


def full_chain(units: tuple[Unit, ...], crews: int, discipline: str) -> Chain:
    """Every unit's place and phase, and the order of the queue; moves written down one by one, then a linear solve."""

    def arrive(delay: Any, station: Any, unit: int) -> State:
        joined = (*station, (unit, 0))
        return delay, joined if discipline == "fcfs" else tuple(sorted(joined))

    def moves(state: State) -> list[tuple[State, float]]:
        delay, station = state
        down = {unit for unit, _ in (*delay, *station)}
        result = []
        for i, unit in enumerate(units):
            if i not in down and unit.off_crew:
                result.append(((tuple(sorted((*delay, (i, 0)))), station), unit.rate))
            elif i not in down:
                result.append((arrive(delay, station, i), unit.rate))
        for i, phase in delay:
            speed = units[i].delay_phases / units[i].off_crew
            others = tuple(entry for entry in delay if entry[0] != i)
            if phase + 1 < units[i].delay_phases:
                result.append(((tuple(sorted((*others, (i, phase + 1)))), station), speed))
            else:
                result.append((arrive(others, station, i), speed))
        for place, (i, phase) in enumerate(station):
            share = float(place < crews) if discipline == "fcfs" else min(1.0, crews / len(station))
            speed = share * units[i].work_phases / units[i].hands_on
            if speed and phase + 1 < units[i].work_phases:
                result.append(((delay, (*station[:place], (i, phase + 1), *station[place + 1 :])), speed))
            elif speed:
                result.append(((delay, (*station[:place], *station[place + 1 :])), speed))
        return result

    start: State = ((), ())
    places, pending = {start: 0}, deque([start])
    entries: list[tuple[int, int, float]] = []
    while pending:
        state = pending.popleft()
        for target, rate in moves(state):
            if target not in places:
                places[target] = len(places)
                pending.append(target)
            entries += [(places[target], places[state], rate), (places[state], places[state], -rate)]
    rows, columns, values = (np.array(column) for column in zip(*entries, strict=True))
    size = len(places)
    kept = rows > 0  # the first balance equation is implied by the others; the sum takes its place
    balance = csc_matrix(
        (
            np.concatenate([values[kept], np.ones(size)]),
            (np.concatenate([rows[kept], np.zeros(size, int)]), np.concatenate([columns[kept], np.arange(size)])),
        ),
        shape=(size, size),
    )
    probability = spsolve(balance, np.eye(1, size)[0])
    failed = [frozenset(unit for unit, _ in (*delay, *station)) for delay, station in places]
    return Chain(units, crews, failed, [len(station) for _, station in places], probability)


CHAINS = {
    "one class": ((Unit(0, 0.3, 1.5),) * 5, 2, "fcfs"),
    "one class, delay of three phases": ((Unit(0, 0.3, 1.5, 2.0, delay_phases=3),) * 4, 1, "fcfs"),
    "two classes in one queue": ((Unit(0, 0.3, 1.5),) * 3 + (Unit(1, 0.1, 1.5),) * 3, 2, "fcfs"),
    "two classes in one queue, delays": (
        (Unit(0, 0.4, 1.5, 0.7),) * 2 + (Unit(1, 0.2, 1.5, 3.0, delay_phases=2),) * 3,
        1,
        "fcfs",
    ),
    "processor sharing, unequal means": ((Unit(0, 0.3, 0.5),) * 3 + (Unit(1, 0.1, 4.0),) * 4, 2, "sharing"),
    "processor sharing, unequal means, delay": (
        (Unit(0, 0.3, 0.5, 2.0),) * 3 + (Unit(1, 0.1, 4.0),) * 3,
        1,
        "sharing",
    ),
    "processor sharing, work of two phases": (
        (Unit(0, 0.3, 0.5, work_phases=3),) * 3 + (Unit(1, 0.1, 4.0, 1.0, work_phases=2),) * 2,
        1,
        "sharing",
    ),
}


def law_of(units: tuple[Unit, ...], crews: int) -> CrewLaw:
    pools = []
    for pool in range(max(u.pool for u in units) + 1):
        alike = [u for u in units if u.pool == pool]
        pools.append(Pool(len(alike), alike[0].rate, alike[0].hands_on, alike[0].off_crew))
    return crew_law(tuple(pools), crews)


@pytest.mark.parametrize("case", CHAINS)
def test_every_state_of_small_clusters(case: str) -> None:
    """The product form is the stationary law of the chain of all units, phases and queue orders.

    If a factor of the weight, the delay, the shared station or Little's law were wrong, a case would be off by far more
    than 1e-10; the cases cover both disciplines that the law claims.
    """
    units, crews, discipline = CHAINS[case]
    chain, law = full_chain(units, crews, discipline), law_of(units, crews)
    np.testing.assert_allclose(law.failed, chain.law(), rtol=0, atol=1e-12)
    assert law.utilisation == pytest.approx(chain.utilisation(), abs=1e-10)
    assert law.mean_wait == pytest.approx(chain.mean_wait(), rel=1e-10)


@pytest.mark.parametrize("case", CHAINS)
def test_failed_sets_are_uniform_given_their_numbers(case: str) -> None:
    """Given the failed numbers of each class, all sets of that many units are equally likely.

    `spareopt.numerics.exchangeable` rests on it; a discipline that treats units of a class differently would break it.
    """
    units, crews, discipline = CHAINS[case]
    chain = full_chain(units, crews, discipline)
    by_set: dict[frozenset[int], float] = {}
    for failed, probability in zip(chain.failed, chain.probability, strict=True):
        by_set[failed] = by_set.get(failed, 0.0) + probability
    law = chain.law()
    sizes = [n - 1 for n in law.shape]
    assert len(by_set) == 2 ** len(units)
    for failed, probability in by_set.items():
        numbers = tuple(sum(units[i].pool == p for i in failed) for p in range(len(sizes)))
        assert probability * prod(map(comb, sizes, numbers)) == pytest.approx(law[numbers], rel=1e-8)


def test_unequal_means_in_one_queue_are_not_covered() -> None:
    """First come, first served with unequal means is another law: the module must not claim it.

    Were this to pass within 1e-3, the restriction in the docstring would be needless.
    """
    units = (Unit(0, 0.3, 0.5),) * 3 + (Unit(1, 0.1, 4.0),) * 3
    assert np.abs(law_of(units, 1).failed - full_chain(units, 1, "fcfs").law()).max() > 1e-3


@pytest.mark.parametrize("crews", [1, 2, 5, 30])
def test_exact_rationals_to_the_last_tail(crews: int) -> None:
    """Every entry of two joint laws, down to 1e-20 and less, from the weight in exact rationals.

    A cut or an underflow of what is rare shows here and nowhere else.
    """
    for pools in ((Pool(9, 1e-3, 2.0, 16.0), Pool(5, 2**-10, 8.0)), (Pool(9, 0.5, 2.0, 0.25), Pool(5, 4.0, 8.0, 1.0))):
        weights: dict[tuple[int, int], Fraction] = {}
        (n1, n2), rates = (p.units for p in pools), [Fraction(p.rate) for p in pools]
        station = [Fraction(factorial(q), prod(min(k, crews) for k in range(1, q + 1))) for q in range(n1 + n2 + 1)]
        parts = [
            [
                [
                    Fraction(factorial(p.units), factorial(p.units - f) * factorial(f - q) * factorial(q))
                    * (r * Fraction(p.off_crew)) ** (f - q)
                    * (r * Fraction(p.hands_on)) ** q
                    for q in range(f + 1)
                ]
                for f in range(p.units + 1)
            ]
            for p, r in zip(pools, rates, strict=True)
        ]
        for f1 in range(n1 + 1):
            for f2 in range(n2 + 1):
                weights[f1, f2] = sum(
                    (a * b * station[i + j] for i, a in enumerate(parts[0][f1]) for j, b in enumerate(parts[1][f2])),
                    Fraction(0),
                )
        total = sum(weights.values())
        failed = crew_law(pools, crews).failed
        assert failed.shape == (n1 + 1, n2 + 1)
        for place, weight in weights.items():
            assert failed[place] == pytest.approx(float(weight / total), rel=1e-12), place


@pytest.mark.parametrize("units", [18, 18432, 100000])
@pytest.mark.parametrize(("hands_on", "off_crew"), [(24.0, 0.0), (4.0, 133.0), (0.0, 133.0), (0.0, 0.0)])
def test_ample_crews_are_binomial(units: int, hands_on: float, off_crew: float) -> None:
    """With a crew for each unit, or no hands-on work, units are independent: the binomial law, tail digits included."""
    load = 1e-4 * (hands_on + off_crew)
    crews = units if hands_on else 1
    failed = crew_law((Pool(units, 1e-4, hands_on, off_crew),), crews).failed
    expected = binom.pmf(np.arange(len(failed)), units, load / (1 + load))
    shown = expected > 1e-40
    np.testing.assert_allclose(failed[shown], expected[shown], rtol=1e-12)
    assert binom.sf(len(failed) - 1, units, load / (1 + load)) < 1e-40


def test_ample_crews_two_pools_are_independent() -> None:
    """Crews that never run out do not couple the pools: the joint law is the product of two binomials."""
    failed = crew_law((Pool(4608, 1e-4, 4.0, 20.0), Pool(256, 2e-5, 8.0)), 4864).failed
    rows, columns = (np.arange(n) for n in failed.shape)
    expected = np.outer(binom.pmf(rows, 4608, 0.0024 / 1.0024), binom.pmf(columns, 256, 1.6e-4 / (1 + 1.6e-4)))
    shown = expected > 1e-40
    np.testing.assert_allclose(failed[shown], expected[shown], rtol=1e-12)


@pytest.mark.parametrize("crews", [1, 3, 4, 5, 12])
@pytest.mark.parametrize("off_crew", [0.0, 50.0])
def test_splitting_a_pool_changes_nothing(crews: int, off_crew: float) -> None:
    """One pool named as two: the sum of the two failed numbers has the law of the whole, from idle to hopeless crews.

    It ties the two-pool code, its ranges and its banded products to the one-pool code.
    """
    whole = crew_law((Pool(4000, 1e-4, 10.0, off_crew),), crews)
    parts = crew_law((Pool(3500, 1e-4, 10.0, off_crew), Pool(500, 1e-4, 10.0, off_crew)), crews)
    rows, columns = np.indices(parts.failed.shape)
    sums = np.bincount((rows + columns).ravel(), parts.failed.ravel())
    size = max(len(sums), len(whole.failed))
    sums, expected = np.pad(sums, (0, size - len(sums))), np.pad(whole.failed, (0, size - len(whole.failed)))
    np.testing.assert_allclose(sums[expected > 1e-40], expected[expected > 1e-40], rtol=1e-11)
    assert parts.utilisation == pytest.approx(whole.utilisation, rel=1e-12)
    assert parts.mean_wait == pytest.approx(whole.mean_wait, rel=1e-11)


@pytest.mark.parametrize("hands_on", [0.2, 0.5, 0.54, 0.56, 1.0, 40.0])
def test_mean_value_analysis(hands_on: float) -> None:
    """One crew and 18,432 trays by mean-value analysis (Reiser and Lavenberg 1980), which knows no weights.

    Idle, critical and overloaded; a range cut too short would show in the means.
    """
    units, rate, off_crew = 18432, 1e-4, 133.0
    queue = sojourn = throughput = 0.0
    for number in range(1, units + 1):
        sojourn = hands_on * (1 + queue)
        throughput = number / (1 / rate + off_crew + sojourn)
        queue = throughput * sojourn
    law = crew_law((Pool(units, rate, hands_on, off_crew),), 1)
    assert law.utilisation == pytest.approx(throughput * hands_on, rel=1e-11)
    assert law.mean_wait == pytest.approx(sojourn - hands_on, rel=1e-9)
    down = float(np.arange(len(law.failed)) @ law.failed)
    assert down == pytest.approx(queue + throughput * off_crew, rel=1e-11)


@pytest.mark.parametrize("crews", [5, 240, 250, 300])
def test_birth_death_chain_of_a_hundred_thousand(crews: int) -> None:
    """100,000 trays without delay: the law satisfies its balance equations entry by entry, and the cut carries nothing.

    If a range were cut too short, the ratio of neighbours at its end would not be small enough for the rest.
    """
    units, rate, hands_on = 100_000, 1e-4, 24.0
    failed = crew_law((Pool(units, rate, hands_on),), crews).failed
    first = int(failed.argmax() - np.argmax(failed[: failed.argmax() + 1][::-1] < 1e-100)) + 1
    first = first if failed[0] == 0 else 0
    f = np.arange(first, len(failed) - 1)
    ratios = (units - f) * rate * hands_on / np.minimum(f + 1, crews)
    np.testing.assert_allclose(failed[f + 1], failed[f] * ratios, rtol=1e-11)
    # ratios fall with f: what is beyond either end is less than a geometric series
    after = (units - len(failed) + 1) * rate * hands_on / min(len(failed), crews)
    assert len(failed) == units + 1 or failed[-1] * after / (1 - after) < 1e-40
    if first:
        before = min(first, crews) / ((units - first + 1) * rate * hands_on)
        assert failed[first] * before / (1 - before) < 1e-40
    assert failed.sum() == pytest.approx(1.0, abs=1e-12)


POOLS = st.builds(
    Pool,
    st.integers(1, 60),
    st.floats(0, 0.2),
    st.floats(0, 50),
    st.one_of(st.just(0.0), st.floats(0, 200)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(POOLS, min_size=1, max_size=2), st.integers(1, 20))
def test_a_law_is_a_law(pools: list[Pool], crews: int) -> None:
    """Whatever the input, probabilities sum to 1, crews are busy between 0 and 1, and nobody waits less than 0 h."""
    law = crew_law(tuple(pools), crews)
    assert law.failed.ndim == len(pools)
    assert np.all(law.failed >= 0)
    assert law.failed.sum() == pytest.approx(1.0, abs=1e-12)
    assert 0 <= law.utilisation <= 1 + 1e-12
    assert law.mean_wait >= 0


@settings(max_examples=60, deadline=None)
@given(POOLS, st.integers(1, 20), st.floats(1, 3))
def test_help_never_hurts(pool: Pool, crews: int, factor: float) -> None:
    """Another crew, faster work, a shorter delay, a longer MTBF: never more failed units, at any level.

    Holds for every pool by coupling; a law that breaks it would send the search the wrong way.
    """

    def tails(law: CrewLaw) -> Array:
        return np.cumsum(np.pad(law.failed, (0, pool.units + 1 - len(law.failed)))[::-1])[::-1]

    base = tails(crew_law((pool,), crews))
    better = (
        crew_law((pool,), crews + 1),
        crew_law((Pool(pool.units, pool.rate, pool.hands_on / factor, pool.off_crew),), crews),
        crew_law((Pool(pool.units, pool.rate, pool.hands_on, pool.off_crew / factor),), crews),
        crew_law((Pool(pool.units, pool.rate / factor, pool.hands_on, pool.off_crew),), crews),
    )
    for law in better:
        assert np.all(tails(law) <= base * (1 + 1e-11) + 1e-40)


def test_refusals() -> None:
    """Impossible input is refused, not computed with."""
    with pytest.raises(ValueError, match="at least one unit"):
        Pool(0, 1e-4, 24.0)
    for values in ((-1e-4, 24.0, 0.0), (1e-4, -1.0, 0.0), (1e-4, 24.0, float("inf")), (float("nan"), 1.0, 1.0)):
        with pytest.raises(ValueError, match="not negative"):
            Pool(18, *values)
    with pytest.raises(ValueError, match="one or two pools"):
        crew_law((), 1)
    with pytest.raises(ValueError, match="at least 1"):
        crew_law((Pool(18, 1e-4, 24.0),), 0)
    with pytest.raises(ValueError, match="overloaded"):
        crew_law((Pool(100_000, 1e-4, 24.0), Pool(12_500, 1e-4, 24.0)), 1)
