"""The compiled simulator against the slow, plain one: the same events in the same order, the same record."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
import pytest

from spareopt.simulation import laws
from spareopt.simulation import reference as plain
from spareopt.simulation.kernel import event_log, replicate
from spareopt.simulation.kernel.draws import draw, uniforms
from spareopt.simulation.kernel.loop import go_on
from spareopt.simulation.kernel.pointer import StatePointer
from spareopt.simulation.kernel.state import new_state
from spareopt.simulation.outcome import LEDGER, Outcome
from spareopt.simulation.system import (
    ALWAYS,
    CHECKPOINTS,
    COMPUTING,
    DETERMINISTIC,
    GROUPS,
    OVERLAPPED,
    TWO_LEVEL,
    WORKING,
    Run,
    System,
)
from tests.small_systems import Class, Domain, random_run, random_system, small_run, small_system, sure


def ties(system: System) -> bool:
    """Whether rounding may decide which of two faults is first: sure lives on a clock that is a sum of steps."""
    return system.ageing != ALWAYS and DETERMINISTIC in system.life_law


def check(seed: int) -> int:
    """Hold a random site's events and record against the reference; returns the number of events."""
    system, run = random_system(seed), random_run(seed)
    record: list[tuple[float, str, int]] = []
    expected, found = plain.replicate(system, run, record), replicate(system, run)
    log = event_log(system, run)
    assert [event[1:] for event in log] == [event[1:] for event in record]
    assert [event[0] for event in log] == pytest.approx([event[0] for event in record], rel=1e-9, abs=1e-9)
    for field in Outcome._fields:
        assert np.shape(getattr(found, field)) == np.shape(getattr(expected, field)), field
        assert getattr(found, field) == pytest.approx(getattr(expected, field), rel=1e-7, abs=1e-6), field
    return len(log)


SEEDS = [seed for seed in range(1000) if not ties(random_system(seed))]


def test_small_sites_of_all_features() -> None:
    """Event for event and hour for hour what the kernel computes fast is what the rules say, any features at once.

    The reference is written from the rules alone, with other data structures; only the random numbers are shared.
    """
    events = sum(check(seed) for seed in SEEDS[:60])
    assert events > 5_000


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(60, len(SEEDS), 50))
def test_many_small_sites_of_all_features(first: int) -> None:
    """The same for hundreds of sites."""
    for seed in SEEDS[first : first + 50]:
        check(seed)


def test_random_numbers_are_those_of_the_reference() -> None:
    """Bit for bit, for counters and keys over their whole range, and so are the draws of every law."""
    rng = np.random.default_rng(5)
    for _ in range(500):
        first, second, asked, purpose, *key = (int(word) for word in rng.integers(0, 2**32, 6))
        numbers = laws.uniforms((key[0], key[1]), first, second, asked, purpose)
        assert uniforms((key[0], key[1]), first, second, asked, purpose) == numbers
        for law in range(4):
            shape, mean = float(rng.uniform(0.3, 3)), float(rng.uniform(1, 1e5))
            assert draw(law, shape, mean, *numbers) == pytest.approx(laws.draw(law, shape, mean, *numbers), rel=1e-15)


def test_numbers_are_uniform() -> None:
    """Numbers of neighbouring counters are uniform and independent as far as 20,000 of them can tell."""
    numbers = np.array([laws.uniforms((1, 2), 3, unit, 0, 0) for unit in range(20_000)])
    for column in numbers.T:
        counts, _ = np.histogram(column, bins=100, range=(0, 1))
        assert abs(((counts - 200) ** 2 / 200).sum() - 99) < 5 * np.sqrt(2 * 99)
    assert abs(np.corrcoef(numbers.T)[0, 1]) < 5 / np.sqrt(20_000)
    assert abs(np.corrcoef(numbers[1:, 0], numbers[:-1, 0])[0, 1]) < 5 / np.sqrt(20_000)


def test_draws_have_the_mean_asked_for() -> None:
    """Each law has its mean, whatever its shape: the mean of 50,000 draws is within 5 standard errors."""
    for law, shape in ((0, 1.0), (1, 1.0), (2, 0.7), (2, 3.0), (3, 0.8)):
        times = np.array([draw(law, shape, 40.0, *laws.uniforms((7, law), 1, i, 0, 0)) for i in range(50_000)])
        assert abs(times.mean() - 40) <= 5 * times.std() / np.sqrt(len(times)) + 1e-12


def test_events_of_large_sites_come_in_order() -> None:
    """The list of the next faults loses none and keeps their order, also where lives are short beside its horizon.

    All faults of a site of 300 trays, each drawn here again from its unit's numbers and put in a plain heap.
    """
    kind = Class(rate=1 / 50, ways=((1.0, 3.0),))
    system = small_system(blocks=[100], trays=[3], working=[90], spare_trays=[1], tray=kind)
    run = small_run(bin=400.0)
    log = [(time, unit) for time, what, unit in event_log(system, run) if what == "fault"]
    heap = [(laws.exponential(50.0, u(run, system, unit, 0, laws.LIFE)), unit, 0) for unit in range(300)]
    heapq.heapify(heap)
    expected = []
    while heap[0][0] <= 400.0:
        time, unit, asked = heapq.heappop(heap)
        expected.append((time, unit))
        back = time + laws.exponential(3.0, u(run, system, unit, asked, laws.WORK))
        heapq.heappush(
            heap, (back + laws.exponential(50.0, u(run, system, unit, asked + 1, laws.LIFE)), unit, asked + 1)
        )
    assert [unit for _, unit in log] == [unit for _, unit in expected]
    assert [time for time, _ in log] == pytest.approx([time for time, _ in expected], rel=1e-12)


def u(run: object, system: System, unit: int, asked: int, purpose: int) -> float:
    """The first of a unit's numbers."""
    first, second = (int(word) for word in system.unit_code[unit])
    return laws.uniforms(run.key, first, second, asked, purpose)[0]  # type: ignore[attr-defined]


BOTH = pytest.mark.parametrize("play", [replicate, plain.replicate])
Play = Callable[[System, Run], Outcome]


@BOTH
def test_work_that_fills_whole_shifts_is_done_with_the_last(play: Play) -> None:
    """Whatever a fifth of 38 h is rounded to: work of 7.6 h takes a shift, and not the night besides.

    A tray that lives for 10 h fails off duty, once a day from Monday to Friday: its repair fills the next shift.
    """
    system = small_system(
        blocks=[1], tray=sure(1 / 10, 7.6, staffed=1), zone_crews=[0], crews=[1], duty=[38.0], working=[1]
    )
    outcome = play(system, small_run(bin=20 * 168.0))
    assert outcome.ledger[-1, LEDGER.index("faults")] == 5 * 20


@BOTH
def test_work_of_no_time_waits_for_the_crew_to_be_on_duty(play: Play) -> None:
    """A tray whose repair takes no time, but a crew on duty from 0 to 8 h a day, is down from 10 h to 24 h."""
    system = small_system(
        blocks=[1], tray=sure(1 / 10, 0.0, staffed=1), zone_crews=[0], crews=[1], duty=[40.0], working=[1]
    )
    outcome = play(system, small_run(bin=30.0))
    assert outcome.ledger[-1, LEDGER.index("blocked")] == pytest.approx(14.0, abs=1e-9)


@BOTH
@pytest.mark.parametrize("ageing", [ALWAYS, WORKING, COMPUTING])
def test_a_unit_that_never_fails_never_fails(play: Play, ageing: int) -> None:
    """A rate of zero is none on every clock, also for a tray that comes to work in place of one that failed."""
    system = small_system(blocks=[3], trays=[2], spare_trays=[1], domains=[Domain(sure(1 / 30, 5.0), ((0, 1),))])
    outcome = play(system._replace(ageing=ageing), small_run())
    # the domain's faults at 30 and 65 h; on other clocks it rests once its block is idle
    assert outcome.ledger[-1, LEDGER.index("faults")] == (2 if ageing == ALWAYS else 1)


@BOTH
def test_groups_count_with_their_gpus(play: Play) -> None:
    """With the zone that does nine tenths of the job down, its one group, a tenth is useful, and nine blocked."""
    system = small_system(
        blocks=[1, 1], trays=[1, 1], working=[1, 1], spare_trays=[0, 0], tray=[sure(1 / 40, 1e3), Class()],
        zone_share=[0.9, 0.1], scheme=GROUPS, shrink=1, stall=0.0, rejoin=1.0,
    )  # fmt: skip
    row = play(system, small_run()).ledger[-1]
    assert row[LEDGER.index("useful")] == pytest.approx(40 + 0.1 * 60)
    assert row[LEDGER.index("blocked")] == pytest.approx(0.9 * 60)


@pytest.mark.parametrize("scheme", [CHECKPOINTS, TWO_LEVEL, OVERLAPPED])
def test_any_period_takes_as_long_to_play(scheme: int) -> None:
    """A thousand years of a period of 4 microseconds are played in one step, and the shares are those of a period.

    One by one they would take days, and no Ctrl-C would be seen.
    """
    period = 1e-9
    system = small_system(
        scheme=scheme, save=period / 2, memory_save=period / 4, snapshot=period / 8, slowdown=0.5
    )  # fmt: skip
    outcome = replicate(system, small_run(period=period, storage_every=4, bin=8.766e6))
    useful, saves = outcome.ledger[-1, :2]
    expected = {CHECKPOINTS: 1 / 1.5, TWO_LEVEL: 4 / (4 + 0.75 + 0.5), OVERLAPPED: 1 / (1 + 0.125 + 0.25)}[scheme]
    assert useful / outcome.hours == pytest.approx(expected, rel=1e-9)
    assert useful + saves == pytest.approx(outcome.hours, rel=1e-12)


def unphilox(words: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """The counter of which words are made: the rounds backwards."""
    mask = 0xFFFFFFFF
    one, other = (pow(m, -1, 1 << 32) for m in laws._MULTIPLIERS)
    c0, c1, c2, c3 = words
    for i in reversed(range(laws.ROUNDS)):
        k0, k1 = ((word + i * weyl) & mask for word, weyl in zip(key, laws._WEYL, strict=True))
        low, high = (c3 * one) & mask, (c1 * other) & mask  # the words that were multiplied
        c0, c1, c2, c3 = (
            low,
            c0 ^ ((laws._MULTIPLIERS[1] * high) >> 32) ^ k0,
            high,
            c2 ^ ((laws._MULTIPLIERS[0] * low) >> 32) ^ k1,
        )
    return c0, c1, c2, c3


@pytest.mark.parametrize("word", [0, 0xFFFFFFFF])
def test_the_ends_of_random_numbers_are_not_reached(word: int) -> None:
    """The smallest and the largest words give numbers above 0 and below 1: places of a list, logarithms.

    2^53 - 1/2 over 2^53 is rounded to 1, which would be a place behind the end.
    """
    key = (0x12345678, 0x9ABCDEF0)
    counter = unphilox((word,) * 4, key)
    assert laws.philox(counter, key) == (word,) * 4
    for pair in (laws.uniforms(key, *counter), uniforms(key, *counter)):
        assert all(0.0 < u < 1.0 for u in pair)
    assert laws.uniforms(key, *counter) == uniforms(key, *counter)


def test_lemons_keep_the_mean_rate() -> None:
    """Lemons are as many and fail as many times as often as others as stated; all units together have the mean rate."""
    kind = Class(rate=0.01, lemon_share=0.2, lemon_multiple=5.0, ways=((1.0, 3.0),))
    state = new_state(small_system(blocks=[4000], working=[4000], tray=kind), small_run(bin=1e-3))
    go_on(StatePointer(state), 1)
    factors = state.units["factor"]
    others, lemons = np.unique(factors)
    assert lemons == pytest.approx(5 * others) and 0.2 * lemons + 0.8 * others == pytest.approx(1)
    assert abs(np.mean(factors == lemons) - 0.2) < 5 * np.sqrt(0.2 * 0.8 / len(factors))
