"""Zones whose spares do not age, against full-state chains, published exact values, rationals and a simulation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from fractions import Fraction
from heapq import heappop, heappush
from math import comb, factorial

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.special import beta
from scipy.stats import binom

from spareopt.numerics.ageing import computing_only, computing_only_job, working_only

Array = NDArray[np.float64]
Place = int | str  # "works", "spare", or the phase of its repair


def blocked_share(units: int, spares: int, rate: float, mttr: float, phases: int) -> float:
    """Every unit's place, works or spare or a phase of its repair, as a Markov chain solved in one go."""
    wanted = units - spares

    def moves(state: tuple[Place, ...]) -> list[tuple[tuple[Place, ...], float]]:
        result = []
        works = state.count("works")
        for i, place in enumerate(state):
            after: list[Place] = list(state)
            if place == "works" and works == wanted:
                after[i] = 1
                if "spare" in after:
                    after[after.index("spare")] = "works"
                result.append((tuple(after), rate))
            elif isinstance(place, int):
                after[i] = place + 1 if place < phases else ("works" if works < wanted else "spare")
                result.append((tuple(after), phases / mttr))
        return result

    start: tuple[Place, ...] = ("works",) * wanted + ("spare",) * spares
    places, pending = {start: 0}, deque([start])
    flows: list[tuple[int, int, float]] = []
    while pending:
        state = pending.popleft()
        for target, speed in moves(state):
            if target not in places:
                places[target] = len(places)
                pending.append(target)
            flows.append((places[state], places[target], speed))
    matrix = np.zeros((len(places), len(places)))
    for before, after, speed in flows:
        matrix[after, before] += speed
        matrix[before, before] -= speed
    matrix[0] = 1.0
    law = np.linalg.solve(matrix, np.eye(1, len(places))[0])
    return float(law[[state.count("works") < wanted for state in places]].sum())


@pytest.mark.parametrize("phases", [1, 2])
@pytest.mark.parametrize(("units", "spares"), [(3, 0), (4, 1), (5, 2), (4, 3)])
@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_working_only_full_state_chains(units: int, spares: int, rate: float, phases: int) -> None:
    """Chains that know every unit give Erlang's B, with repairs of one phase and of two: only the mean matters."""
    ours = float(working_only(spares, (units - spares) * rate, 1.5))
    assert ours == pytest.approx(blocked_share(units, spares, rate, 1.5, phases), rel=1e-10)


def erlang_b(servers: int, load: Fraction) -> Fraction:
    terms = [load**k / factorial(k) for k in range(servers + 1)]
    return terms[-1] / sum(terms)


@pytest.mark.parametrize("load", [2.0**-20, 0.125, 3.0, 100.0, 1e9])
def test_working_only_exact_rationals(load: float) -> None:
    """Erlang's B in rationals for 1 to 120 spares, to 1e-13 where it is 1e-300 as where it is almost 1."""
    spares = np.arange(120)
    ours = working_only(spares, load / 8.0, 8.0)
    exact = np.array([float(erlang_b(int(r) + 1, Fraction(load))) for r in spares])
    shown = exact > 1e-300
    assert shown.sum() >= 30
    np.testing.assert_allclose(ours[shown], exact[shown], rtol=1e-13)


def test_working_only_large() -> None:
    """20,000 spares at critical load, from the incomplete gamma function in many digits: errors of steps add up."""
    with mpmath.workdps(40):
        load = mpmath.mpf(20_000)
        expected = load**20_001 * mpmath.exp(-load) / mpmath.gammainc(20_002, load)
    assert float(working_only(20_000, 20_000.0, 1.0)) == pytest.approx(float(expected), rel=1e-12)


def test_working_only_broadcasts() -> None:
    """Every R with its own rate, as w = L − R falls with R; no load, no blocking; and any shape."""
    spares = np.array([[3, 0], [1, 2]])
    rates = (16 - spares) * 1e-3
    table = working_only(spares, rates, 24.0)
    for place in np.ndindex(2, 2):
        assert table[place] == float(working_only(int(spares[place]), float(rates[place]), 24.0))
    assert np.all(working_only(spares, 0.0, 24.0) == 0)
    assert working_only(np.array([], dtype=int), 1.0, 24.0).shape == (0,)


CASES = [(0, 0.3, 2.0, 0.5), (1, 0.1, 5.0, 0.0), (3, 0.4, 6.0, 1.0), (5, 0.1, 12.0, 0.05), (4, 2.0, 3.0, 4.0)]


def between_blocking_tests(spares: int, rate: float, mttr: float, recovery: float) -> Array:
    """One step of the chain of numbers down seen when blocking is tested: 0..R+1, from integrals and binomials.

    Of i down when the job computes on, j are still down at the failure with probability C(i, j) a B(a + j, i − j + 1).
    """
    load = rate * mttr
    step = np.zeros((spares + 2, spares + 2))
    for before in range(spares + 2):
        at_start = min(before, spares)
        for left in range(at_start + 1):
            chance = comb(at_start, left) * load * beta(load + left, at_start - left + 1)
            step[before, : left + 2] += chance * binom.pmf(np.arange(left + 2), left + 1, np.exp(-recovery / mttr))
    return step


@pytest.mark.parametrize("case", CASES)
def test_computing_only_embedded_chain(case: tuple[int, float, float, float]) -> None:
    """The chain embedded at the tests of blocking, solved in one go: another clock, other formulas, the same shares."""
    spares, rate, mttr, recovery = case
    step = between_blocking_tests(*case)
    matrix = step.T - np.eye(spares + 2)
    matrix[0] = 1.0
    blocked = np.linalg.solve(matrix, np.eye(1, spares + 2)[0])[-1] * mttr / (spares + 1)
    cycle = 1 / rate + recovery + blocked
    shares = computing_only(*case)
    assert shares.computing == pytest.approx(1 / rate / cycle, rel=1e-10)
    assert shares.recovering == pytest.approx(recovery / cycle, rel=1e-10)
    assert shares.blocked == pytest.approx(blocked / cycle, rel=1e-10)
    assert shares.computing + shares.recovering + shares.blocked == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("job", [1e-3, 3.0, 500.0])
@pytest.mark.parametrize("case", CASES)
def test_finite_jobs_by_matrix_exponential(case: tuple[int, float, float, float], job: float) -> None:
    """Blocked time of a job from one matrix exponential of the chain and its reward: nothing is doubled."""
    spares, rate, mttr, recovery = case
    stays = np.exp(-recovery / mttr)
    generator = np.zeros((spares + 2, spares + 2))  # 0..R, and a last column that gathers blocked hours
    for down in range(spares + 1):
        law = binom.pmf(np.arange(down + 2), down + 1, stays)
        generator[down, : down + 1] += rate * law[:-1]
        generator[down, min(down + 1, spares)] += rate * law[-1]
        if down:
            generator[down, down - 1] += down / mttr
        generator[down, down] -= rate + down / mttr
    generator[spares, -1] = rate * stays ** (spares + 1) * mttr / (spares + 1)
    expected = expm(job * generator)[0, -1]
    ours = computing_only_job(*case, job)
    assert ours.blocked == pytest.approx(expected, rel=1e-9)
    assert ours.recovering == pytest.approx(rate * job * recovery, rel=1e-14)
    assert ours.total == pytest.approx(job + ours.recovering + ours.blocked, rel=1e-14)


@pytest.mark.parametrize("case", [(2, 0.3, 4.0, 1.0), (5, 0.5, 8.0, 0.25)])
def test_simulated_job(case: tuple[int, float, float, float]) -> None:
    """The rules played event by event, failure after failure, with seeds: within 4 standard errors.

    It knows no chain: repairs are end times in a heap, and blocking is waiting for the next of them.
    """
    spares, rate, mttr, recovery = case
    job, runs = 60.0, 1500
    rng = np.random.default_rng(7)
    blocked = np.zeros(runs)
    for run in range(runs):
        clock = computed = 0.0
        repairs: list[float] = []
        while True:
            work = rng.exponential(1 / rate)
            computed += work
            if computed >= job:
                break
            clock += work
            heappush(repairs, clock + rng.exponential(mttr))
            clock += recovery
            while repairs and repairs[0] <= clock:
                heappop(repairs)
            while len(repairs) > spares:
                blocked[run] += repairs[0] - clock
                clock = heappop(repairs)
    expected = computing_only_job(*case, job).blocked
    assert abs(blocked.mean() - expected) < 4 * blocked.std() / np.sqrt(runs)


def exact_blocked(spares: int, load: Fraction, stays: Fraction) -> Fraction:
    """Blocked hours for each hour of computing in rationals: the chain on computing time, by elimination."""

    def left(units: int, number: int) -> Fraction:
        return comb(units, number) * stays**number * (1 - stays) ** (units - number)

    size = spares + 1
    matrix = [[Fraction(0)] * (size + 1) for _ in range(size)]
    for k in range(size):
        targets = [(min(j, spares), load * left(k + 1, j)) for j in range(k + 2)]
        for target, speed in targets + ([(k - 1, Fraction(k))] if k else []):
            matrix[target][k] += speed
            matrix[k][k] -= speed
    matrix[0] = [Fraction(1)] * (size + 1)
    for pivot in range(size):
        row = next(r for r in range(pivot, size) if matrix[r][pivot])
        matrix[pivot], matrix[row] = matrix[row], matrix[pivot]
        head = matrix[pivot][pivot]
        matrix[pivot] = [value / head for value in matrix[pivot]]
        for other in range(size):
            if other != pivot and matrix[other][pivot]:
                factor = matrix[other][pivot]
                matrix[other] = [a - factor * b for a, b in zip(matrix[other], matrix[pivot], strict=True)]
    return matrix[spares][size] * load * stays ** (spares + 1) / (spares + 1)


@pytest.mark.parametrize("spares", [0, 1, 8])
@pytest.mark.parametrize("load", [2.0**-30, 0.5, 64.0, 2.0**34])
@pytest.mark.parametrize("ratio", [1e-9, 0.01, 3.0])
def test_computing_only_exact_rationals(spares: int, load: float, ratio: float) -> None:
    """A blocked share of 1e-85, or recoveries in which a repair almost never ends, keep 1e-12: no digit is lost."""
    with mpmath.workdps(60):  # s = e^(−ratio) far beyond double precision, so that 1 − s is right as well
        stays = Fraction(int(mpmath.floor(mpmath.exp(-mpmath.mpf(ratio)) * 2**100)), 2**100)
    shares = computing_only(spares, load / 4.0, 4.0, 4.0 * ratio)
    exact = exact_blocked(spares, Fraction(load), stays)
    assert shares.blocked / shares.computing == pytest.approx(float(exact), rel=1e-12, abs=0)


def test_rare_blocking_of_a_finite_job() -> None:
    """A short job meets R + 1 failures with no repair between with a known small probability: relative digits hold.

    With nothing repaired in its time, ten spares: blocked from the 11th failure on, whose rate is Λ^11 t^10/10!.
    """
    rate, mttr, job = 1e-6, 1e9, 1e-2
    ours = computing_only_job(10, rate, mttr, 0.0, job)
    expected = (rate * job) ** 11 / factorial(11) * mttr / 11
    assert ours.blocked == pytest.approx(expected, rel=1e-6, abs=0)
    assert ours.blocked < 1e-87


def test_without_recovery_time_both_laws_agree() -> None:
    """With r = 0 units age whenever the job is not blocked: Erlang's B, by another recursion."""
    for spares in (0, 1, 4, 30):
        for load in (0.01, 1.0, 20.0, 500.0):
            shares = computing_only(spares, load / 8.0, 8.0, 0.0)
            assert shares.blocked == pytest.approx(float(working_only(spares, load / 8.0, 8.0)), rel=1e-12)
            assert shares.recovering == 0


def test_long_jobs_reach_the_shares() -> None:
    """A job of 50 years takes as long as the long-run shares say."""
    arguments = (4, 0.2, 24.0, 0.2)
    job = computing_only_job(*arguments, 440_000.0)
    assert 440_000.0 / job.total == pytest.approx(computing_only(*arguments).computing, rel=1e-4)


@pytest.mark.parametrize("spares", [0, 5, 300])
@pytest.mark.parametrize("rate", [1e-300, 1e-6, 10.0, 1e8])
@pytest.mark.parametrize("mttr", [1e-3, 24.0, 1e6])
def test_no_input_overflows(spares: int, rate: float, mttr: float) -> None:
    """From idle to hopeless the shares are shares: products of 300 loads of 1e14 pass any floating-point range."""
    for recovery in (0.0, 0.1, 1e3):
        shares = computing_only(spares, rate, mttr, recovery)
        assert min(shares.computing, shares.recovering, shares.blocked) >= 0
        assert shares.computing + shares.recovering + shares.blocked == pytest.approx(1.0, rel=1e-12)
        assert 0 <= working_only(spares, rate, mttr) <= 1


ZONES = st.tuples(st.integers(0, 20), st.floats(0, 10), st.floats(0, 100), st.floats(0, 10))


@settings(max_examples=100, deadline=None)
@given(ZONES, st.floats(1, 3))
def test_help_never_hurts(zone: tuple[int, float, float, float], factor: float) -> None:
    """A spare more, a longer MTBF, faster repair, a shorter recovery: the job never computes a smaller share of time.

    (The blocked share alone does rise with a shorter recovery, in which fewer repairs end.)
    """
    spares, rate, mttr, recovery = zone
    better: list[Callable[[], tuple[int, float, float, float]]] = [
        lambda: (spares + 1, rate, mttr, recovery),
        lambda: (spares, rate / factor, mttr, recovery),
        lambda: (spares, rate, mttr / factor, recovery),
        lambda: (spares, rate, mttr, recovery / factor),
    ]
    base, share = computing_only(*zone), float(working_only(spares, rate, mttr))
    for change in better:
        assert computing_only(*change()).computing >= base.computing * (1 - 1e-11)
        assert float(working_only(*change()[:3])) <= share * (1 + 1e-12)
    for change in better[:3]:
        assert computing_only(*change()).blocked <= base.blocked * (1 + 1e-11)


def test_refusals() -> None:
    """Impossible input is refused, not computed with."""
    for arguments in ((-1, 1.0, 1.0), (1, -1.0, 1.0), (1, 1.0, -1.0), (1, 1.0, np.inf), (1, np.nan, 1.0)):
        with pytest.raises(ValueError, match="finite and not negative"):
            working_only(*arguments)
    with pytest.raises(ValueError, match="spares"):
        computing_only(-1, 1.0, 1.0, 1.0)
    for change in ((-1.0, 1.0, 1.0), (1.0, float("nan"), 1.0), (1.0, 1.0, float("inf")), (1e200, 1e200, 1.0)):
        with pytest.raises(ValueError, match="finite and not negative"):
            computing_only(1, *change)
        with pytest.raises(ValueError, match="finite and not negative"):
            computing_only_job(1, *change, 10.0)
    with pytest.raises(ValueError, match="length"):
        computing_only_job(1, 1.0, 1.0, 1.0, -1.0)
