"""Deferred repair against full-state chains, exact rationals, 40-digit integrals and a seeded simulation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from fractions import Fraction
from math import comb

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spsolve

from spareopt.numerics.availability import block_unavailability, unavailability
from spareopt.numerics.crews import Pool, crew_law
from spareopt.numerics.deferral import BlockRepair, deferred_block, window_shortfall, window_visits_per_hour

Array = NDArray[np.float64]
State = tuple[frozenset[int], str]  # the trays that are down; waiting, called or visit


def full_chain(
    trays: int,
    intra_spares: int,
    rate: float,
    hands_on: float,
    off_crew: float,
    start_at: int,
    out_of_service: bool,
    technicians: int | None,
) -> BlockRepair:
    """Every tray on its own: moves written down one by one, then one linear solve."""

    def moves(state: State) -> list[tuple[State, float]]:
        down, phase = state
        result = []
        for tray in set(range(trays)) - down:
            more = down | {tray}
            calls = phase == "waiting" and len(more) == start_at
            result.append(((more, ("called" if off_crew else "visit") if calls else phase), rate))
        if phase == "called":
            result.append(((down, "visit"), 1.0 / off_crew))
        if phase == "visit":
            working = len(down) if technicians is None else min(technicians, len(down))
            for tray in down:
                less = down - {tray}
                result.append(((less, "visit" if less else "waiting"), working / len(down) / hands_on))
        return result

    start: State = (frozenset(), "waiting")
    places, pending = {start: 0}, deque([start])
    flows: list[tuple[State, State, float]] = []
    while pending:
        state = pending.popleft()
        for target, speed in moves(state):
            if target not in places:
                places[target] = len(places)
                pending.append(target)
            flows.append((state, target, speed))
    entries = [(places[b], places[a], v) for a, b, v in flows] + [(places[a], places[a], -v) for a, _, v in flows]
    # the first balance equation is implied by the others; the sum takes its place
    entries = [entry for entry in entries if entry[0] > 0] + [(0, place, 1.0) for place in range(len(places))]
    rows, columns, values = (np.array(column) for column in zip(*entries, strict=True))
    law = spsolve(csc_matrix((values, (rows, columns)), shape=(len(places), len(places))), np.eye(1, len(places))[0])
    short = [len(down) > intra_spares or (out_of_service and phase == "visit") for down, phase in places]
    starts = [(len(a[0]), law[places[a]] * v) for a, b, v in flows if a[1] != "visit" and b[1] == "visit"]
    if not off_crew:  # the tray that calls the visit starts it: it finds one tray more down
        starts = [(down + 1, flow) for down, flow in starts]
    return BlockRepair(
        float(law[short].sum()),
        sum(flow for _, flow in starts),
        sum(flow for down, flow in starts if down <= intra_spares),
        float(sum(law[place] for (_, phase), place in places.items() if phase == "visit")) if out_of_service else 0.0,
    )


@pytest.mark.parametrize("out_of_service", [False, True])
@pytest.mark.parametrize("technicians", [None, 1, 2])
@pytest.mark.parametrize(
    ("trays", "intra_spares", "rate", "hands_on", "off_crew", "start_at"),
    [
        (1, 0, 0.3, 1.5, 2.0, 1),
        (5, 1, 0.05, 1.5, 4.0, 1),
        (5, 1, 0.05, 1.5, 4.0, 2),
        (5, 2, 0.05, 1.5, 0.0, 3),
        (6, 1, 0.4, 2.5, 1.0, 4),
        (6, 4, 0.1, 1.5, 8.0, 3),
        (4, 0, 0.2, 0.5, 0.0, 4),
    ],
)
def test_full_state_chains(
    trays: int,
    intra_spares: int,
    rate: float,
    hands_on: float,
    off_crew: float,
    start_at: int,
    technicians: int | None,
    out_of_service: bool,
) -> None:
    """All four results from a chain that knows every tray and no cycle: a wrong move or a wrong count would show."""
    args = (trays, intra_spares, rate, hands_on, off_crew, start_at, out_of_service, technicians)
    ours, theirs = deferred_block(*args), full_chain(*args)
    assert ours.unavailability == pytest.approx(theirs.unavailability, rel=1e-10)
    assert ours.visits_per_hour == pytest.approx(theirs.visits_per_hour, rel=1e-10)
    assert ours.usable_visits_per_hour == pytest.approx(theirs.usable_visits_per_hour, rel=1e-10)
    assert ours.out_of_service_share == pytest.approx(theirs.out_of_service_share, rel=1e-10)


def exact_chain(
    trays: int, rate: Fraction, hands_on: Fraction, off_crew: Fraction, start_at: int, technicians: int
) -> dict[tuple[int, str], Fraction]:
    """The law of (number down, phase) in exact rationals by elimination of the balance equations."""
    states = [(f, "waiting") for f in range(start_at)]
    states += [(f, "called") for f in range(start_at, trays + 1)] + [(f, "visit") for f in range(1, trays + 1)]
    size = len(states)
    matrix = [[Fraction(0)] * (size + 1) for _ in range(size)]
    for place, (f, phase) in enumerate(states):
        moves = []
        if f < trays:
            moves.append(((f + 1, "called" if phase == "waiting" and f + 1 == start_at else phase), (trays - f) * rate))
        if phase == "called":
            moves.append(((f, "visit"), 1 / off_crew))
        if phase == "visit":
            moves.append(((f - 1, "visit") if f > 1 else (0, "waiting"), min(f, technicians) / hands_on))
        for target, speed in moves:
            matrix[states.index(target)][place] += speed
            matrix[place][place] -= speed
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
    return {state: matrix[place][size] for place, state in enumerate(states)}


@pytest.mark.parametrize(("start_at", "technicians"), [(1, 6), (2, 1), (4, 2)])
@pytest.mark.parametrize("rate", [2.0**-30, 2.0**-6, 4.0])
def test_exact_rationals_to_the_last_tail(start_at: int, technicians: int, rate: float) -> None:
    """Tails down to 1e-40 keep 1e-13: one minus a head, or a solver that subtracts, would return noise there."""
    trays, hands_on, off_crew = 6, 1.5, 0.25
    law = exact_chain(trays, Fraction(rate), Fraction(hands_on), Fraction(off_crew), start_at, technicians)
    for spares in range(trays):
        for out in (False, True):
            exact = sum(p for (f, phase), p in law.items() if f > spares or (out and phase == "visit"))
            ours = deferred_block(trays, spares, rate, hands_on, off_crew, start_at, out, technicians)
            assert ours.unavailability == pytest.approx(float(exact), rel=1e-13, abs=0)
        visits = sum(p for (f, phase), p in law.items() if phase == "called") / Fraction(off_crew)
        usable = sum(p for (f, phase), p in law.items() if phase == "called" and f <= spares) / Fraction(off_crew)
        assert ours.visits_per_hour == pytest.approx(float(visits), rel=1e-13, abs=0)
        assert ours.usable_visits_per_hour == pytest.approx(float(usable), rel=1e-13, abs=0)


@pytest.mark.parametrize("technicians", [None, 1, 3])
def test_at_once_without_delay_is_the_usual_repair(technicians: int | None) -> None:
    """d = 1 and no off-crew time: the binomial law, or that of the crews, which share no code with the cycle."""
    trays, rate, hands_on = 18, 1e-4, 24.0
    down = unavailability(rate, hands_on)
    failed = crew_law((Pool(trays, rate, hands_on),), technicians or trays).failed
    for spares in range(6):
        ours = deferred_block(trays, spares, rate, hands_on, 0.0, 1, False, technicians).unavailability
        assert ours == pytest.approx(float(failed[spares + 1 :].sum()), rel=1e-12, abs=0)
        if technicians is None:
            assert ours == pytest.approx(float(block_unavailability(trays, spares, down)), rel=1e-12, abs=0)


def test_at_once_with_delay_is_another_law() -> None:
    """d = 1 with an off-crew time is no ample repair: trays of a block share their delay.

    Fewer trays are down on average, as later ones wait less; but all at once more often, by two orders of magnitude
    here.  Were the two the same, the module would be needless for d = 1.
    """
    ample = block_unavailability(5, np.arange(5), unavailability(1.5e-6, 150.4))
    shared = np.array([deferred_block(5, spares, 1.5e-6, 0.4, 150.0, 1, False).unavailability for spares in range(5)])
    assert shared.sum() < ample.sum()
    assert shared[4] > 100 * ample[4]


def test_repair_that_takes_no_time() -> None:
    """Instant hands-on work: nothing but waiting, and cycles of d failures (and one delay) with their known mean."""
    trays, rate, start_at = 18, 1e-4, 3
    mean = sum(1 / (trays - f) for f in range(start_at)) / rate
    block = deferred_block(trays, 2, rate, 0.0, 10.0, start_at, True)
    assert block.visits_per_hour == pytest.approx(1 / (mean + 10.0), rel=1e-14)
    assert block.out_of_service_share == 0
    assert block.unavailability == pytest.approx(10.0 / (mean + 10.0), rel=1e-14)
    assert deferred_block(trays, 2, rate, 0.0, 0.0, start_at, True).unavailability == 0


def test_trays_that_never_fail_and_those_left_down() -> None:
    """No failures, no visits; but with d > I + 1 the share unusable does not go to 0 with the rate.

    A block left with more than I trays down waits for its call as long as the failures take, however rare they are.
    """
    assert deferred_block(18, 1, 0.0, 24.0, 48.0, 4, True) == BlockRepair(0.0, 0.0, 0.0, 0.0)
    rare = deferred_block(18, 1, 1e-300, 24.0, 48.0, 4, True)
    assert rare.unavailability == pytest.approx((1 / 16 + 1 / 15) / (1 / 18 + 1 / 17 + 1 / 16 + 1 / 15), rel=1e-14)
    assert 0 < rare.visits_per_hour < 1e-298


@pytest.mark.parametrize("technicians", [None, 1])
@pytest.mark.parametrize("load", [1e-200, 1.0, 1e3, 1e100])
def test_no_load_overflows(load: float, technicians: int | None) -> None:
    """400 trays from idle to hopeless: visits that last e^1000 hours end in a share of 1, not in an infinity."""
    block = deferred_block(400, 3, 1e-3, load / 1e-3, 5.0, 2, True, technicians)
    assert 0 <= block.unavailability <= 1
    assert 0 <= block.usable_visits_per_hour <= block.visits_per_hour < 1
    if load >= 1e3:
        assert block.unavailability == pytest.approx(1.0, abs=1e-12)


BLOCKS = st.tuples(
    st.integers(1, 20),  # trays
    st.integers(0, 5),  # intra-block spares
    st.floats(1e-6, 1.0),
    st.floats(0, 50),
    st.one_of(st.just(0.0), st.floats(0, 200)),
    st.integers(1, 20),
).filter(lambda b: b[5] <= b[0])


@settings(max_examples=100, deadline=None)
@given(BLOCKS, st.integers(1, 4) | st.none(), st.floats(1, 3))
def test_what_never_hurts(block: tuple[int, int, float, float, float, int], crew: int | None, factor: float) -> None:
    """Where monotone: a spare more always; an earlier visit (call or delay) where it leaves the block in service;
    a longer MTBF, faster work and a technician more where it does not.
    """
    trays, spares, rate, hands_on, off_crew, start_at = block

    def share(out: bool, **change: float) -> float:
        arguments = {
            "trays": trays,
            "intra_spares": spares,
            "rate": rate,
            "hands_on": hands_on,
            "off_crew": off_crew,
            "start_at": start_at,
            "technicians": crew,
        } | change
        return deferred_block(out_of_service=out, **arguments).unavailability  # type: ignore[arg-type]

    allowed = 1 + 1e-12
    for out in (False, True):
        assert share(out, intra_spares=spares + 1) <= share(out) * allowed
        assert 0 <= share(out) <= 1
    assert share(False, off_crew=off_crew / factor) <= share(False) * allowed
    if start_at > 1:
        assert share(False, start_at=start_at - 1) <= share(False) * allowed
    assert share(True, rate=rate / factor) <= share(True) * allowed
    assert share(True, hands_on=hands_on / factor) <= share(True) * allowed
    if crew:
        assert share(True, technicians=crew + 1) <= share(True) * allowed


def test_where_help_hurts() -> None:
    """Counter-examples that a search must not assume away, each confirmed by the full-state chain.

    Out of service: a later call (fewer visits), a longer delay.  In service: slower work, fewer technicians or more
    failures, as an open visit takes in new failures at once and a closed one does not.
    """
    cases = [
        # trays, spares, rate, hands-on, delay, d, out of service, technicians: the better by the worse
        ((6, 2, 1e-4, 8.0, 1.0, 2, True, None), (6, 2, 1e-4, 8.0, 1.0, 1, True, None)),
        ((5, 4, 1.6e-4, 28.0, 310.0, 1, True, None), (5, 4, 1.6e-4, 28.0, 115.0, 1, True, None)),
        ((6, 3, 8e-4, 60.0, 200.0, 4, False, None), (6, 3, 8e-4, 20.0, 200.0, 4, False, None)),
        ((6, 4, 7e-4, 23.0, 310.0, 6, False, 1), (6, 4, 7e-4, 23.0, 310.0, 6, False, 2)),
        ((6, 4, 7e-3, 120.0, 0.0, 6, False, None), (6, 4, 2.4e-3, 120.0, 0.0, 6, False, None)),
    ]
    for better, worse in cases:
        for solve in (deferred_block, full_chain):
            assert solve(*better).unavailability < solve(*worse).unavailability * (1 - 1e-6), better


def window_law(rate: float, period: float, repair: float) -> tuple[Callable[[float], mpmath.mpf], mpmath.mpf]:
    """P(a tray is down) at a time since the window, and at the window, in 40 digits, from cycles repeated."""
    rate, period, repair = (mpmath.mpf(value) for value in (rate, period, repair))
    at_window = mpmath.mpf(0)

    def down(time: mpmath.mpf) -> mpmath.mpf:
        fails = 1 - mpmath.exp(-rate * time)
        if time < repair:
            return at_window + (1 - at_window) * fails
        return at_window * (1 - mpmath.exp(-rate * (time - repair))) + (1 - at_window) * fails

    for _ in range(400):
        at_window = down(period)
    return down, at_window


def mean_shortfall(
    blocks: int,
    trays: int,
    intra: int,
    inter: int,
    rate: float,
    period: float,
    repair: float,
    out_of_service: bool,
    own: float,
) -> float:
    """The mean over the phase in 40 digits by tanh-sinh quadrature; binomial tails summed term by term."""

    def tail(number: int, spares: int, p: mpmath.mpf) -> mpmath.mpf:
        return mpmath.fsum(comb(number, k) * p**k * (1 - p) ** (number - k) for k in range(spares + 1, number + 1))

    down, at_window = window_law(rate, period, repair)

    def short(time: mpmath.mpf) -> mpmath.mpf:
        if out_of_service and time < repair:
            none = (1 - at_window) ** trays
            block = 1 - none + none * tail(trays, intra, 1 - mpmath.exp(-mpmath.mpf(rate) * time))
        else:
            block = tail(trays, intra, down(time))
        return tail(blocks, inter, own + (1 - own) * block)

    pieces = [0, repair / 8, repair, repair + (period - repair) / 8, period]
    return float(mpmath.quad(short, pieces, maxdegree=7) / period)


@pytest.mark.parametrize("out_of_service", [False, True])
@pytest.mark.parametrize(
    ("blocks", "trays", "intra_spares", "rate", "period", "repair", "own"),
    [
        (6, 4, 1, 1e-3, 168.0, 24.0, 0.0),
        (6, 4, 0, 1e-6, 168.0, 4.0, 1e-5),
        (5, 3, 1, 1e-2, 168.0, 150.0, 0.0),
        (8, 2, 0, 1e-1, 24.0, 6.0, 0.01),
    ],
)
def test_windows_in_many_digits(
    blocks: int,
    trays: int,
    intra_spares: int,
    rate: float,
    period: float,
    repair: float,
    own: float,
    out_of_service: bool,
) -> None:
    """The mean over the phase, from rare to hopeless and down to tails of 1e-30, to 1e-10.

    The reference repeats cycles instead of solving for the window, sums terms and integrates by another rule.
    """
    with mpmath.workdps(40):
        spares = np.array([0, 2, blocks - 1])
        ours = window_shortfall(blocks, trays, intra_spares, spares, rate, period, repair, out_of_service, own)
        for value, inter in zip(ours, spares, strict=True):
            args = (blocks, trays, intra_spares, int(inter), rate, period, repair, out_of_service, own)
            assert value == pytest.approx(mean_shortfall(*args), rel=1e-10, abs=0)


@pytest.mark.parametrize("rate", [1e-7, 1e-4, 1e-2, 10.0, 1e4])
def test_zone_without_spares_in_closed_form(rate: float) -> None:
    """Without any spare the zone is fine with probability (1 − p(t))^n, a sum of exponentials: its mean is known.

    n = 200 × 72 trays and rates up to hopeless: the zone is short after 1e-8 of the period, where equal panels would
    see nothing happen.
    """
    blocks, trays, period, repair = 200, 72, 168.0, 20.0
    number = blocks * trays
    with mpmath.workdps(60):
        down, at_window = window_law(rate, period, repair)
        exponent = mpmath.mpf(number) * mpmath.mpf(rate)
        fine = (1 - at_window) ** number * -mpmath.expm1(-exponent * repair)
        fine += (1 - down(mpmath.mpf(repair))) ** number * -mpmath.expm1(-exponent * (period - repair))
        expected = float(1 - fine / exponent / period)
        complement = float(fine / exponent / period)
    ours = float(window_shortfall(blocks, trays, 0, 0, rate, period, repair, False))
    assert ours == pytest.approx(expected, rel=1e-10)
    assert 1 - ours == pytest.approx(complement, rel=1e-7, abs=1e-14)


@pytest.mark.parametrize("out_of_service", [False, True])
def test_windows_simulated(out_of_service: bool) -> None:
    """Zones run tray by tray through 30 windows, then looked at once at a random phase: within 4 standard errors."""
    rng = np.random.default_rng(20)
    blocks, trays, intra, rate, period, repair = 4, 3, 0, 1e-3, 168.0, 40.0
    runs = 100_000
    fails = rng.exponential(1 / rate, (runs, blocks, trays))  # time of the next failure since the last window
    for _ in range(30):
        taken = fails <= period
        fresh = repair + rng.exponential(1 / rate, fails.shape)
        fails = np.where(taken, fresh, fails - period)
    looked_at = rng.uniform(0, period, (runs, 1, 1))
    in_hand = taken & (looked_at < repair)
    down = in_hand | (fails <= looked_at)
    unusable = down.sum(axis=2) > intra
    if out_of_service:
        unusable |= in_hand.any(axis=2)
    number = unusable.sum(axis=1)
    for inter, value in enumerate(
        window_shortfall(blocks, trays, intra, np.arange(4), rate, period, repair, out_of_service)
    ):
        assert abs((number > inter).mean() - value) < 4 * np.sqrt(value * (1 - value) / runs)
    visited = taken.any(axis=2)
    expected = window_visits_per_hour(trays, rate, period, repair) * period
    assert abs(visited.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / (runs * blocks))
    few = visited & (taken.sum(axis=2) <= 1)
    expected = window_visits_per_hour(trays, rate, period, repair, intra_spares=1) * period
    assert abs(few.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / (runs * blocks))


@pytest.mark.parametrize("rate", [1e-12, 1e-4, 1e-1, 3.0])
def test_window_visits_in_many_digits(rate: float) -> None:
    """Rates of windows with trays in hand, for rare and for certain failures, from 40-digit cycles."""
    trays, period, repair = 18, 168.0, 4.0
    with mpmath.workdps(40):
        _, p = window_law(rate, period, repair)
        terms = [comb(trays, k) * p**k * (1 - p) ** (trays - k) for k in range(trays + 1)]
        for most in (0, 1, 3, 18, 30):
            ours = window_visits_per_hour(trays, rate, period, repair, most)
            assert ours == pytest.approx(float(sum(terms[1 : most + 1]) / period), rel=1e-12, abs=0)
        ours = window_visits_per_hour(trays, rate, period, repair)
        assert ours == pytest.approx(float(sum(terms[1:]) / period), rel=1e-12, abs=0)


ZONES = st.tuples(
    st.integers(1, 40),  # blocks
    st.integers(1, 20),  # trays
    st.integers(0, 3),  # intra-block spares
    st.floats(0, 1e-3),
    st.floats(0.01, 0.9),  # repair, as a share of the week
    st.floats(0, 0.1),  # own unavailability
)


@settings(max_examples=60, deadline=None)
@given(ZONES, st.booleans(), st.floats(1, 3))
def test_windows_that_help(zone: tuple[int, int, int, float, float, float], out: bool, factor: float) -> None:
    """A spare tray, a spare block, faster repair or a longer MTBF (above the period) never makes a zone short more."""
    blocks, trays, intra, rate, share, own = zone
    inter = np.arange(min(blocks, 6))

    def short(intra: int = intra, rate: float = rate, repair: float = 168 * share) -> Array:
        return window_shortfall(blocks, trays, intra, inter, rate, 168.0, repair, out, own)

    allowed, base = 1 + 1e-9, short()
    assert np.all((base >= 0) & (base <= 1))
    assert np.all(np.diff(base) <= 0)
    for better in (short(intra=intra + 1), short(rate=rate / factor), short(repair=168 * share / factor)):
        assert np.all(better <= base * allowed + 1e-270)


def test_windows_more_often_can_hurt() -> None:
    """Twice as many windows that stop the blocks they find failures in: short for longer.  And in service, with
    failures much faster than windows, a longer MTBF can make a zone short more, by upsetting who returns together.
    """
    often, rarely = (float(window_shortfall(23, 11, 4, 0, 7e-4, t, 6.5, True)) for t in (84.0, 168.0))
    assert often > 1.2 * rarely
    good, bad = (float(window_shortfall(20, 14, 3, 5, rate, 168.0, 92.0, False)) for rate in (0.0145, 0.0326))
    assert good > 1.01 * bad


def test_spares_keep_their_shape_and_order() -> None:
    """Any shape and order of R, R beyond the zone, and a zone whose trays never fail."""
    spares = np.array([[3, 0, 9], [0, 1, 2]])
    table = window_shortfall(6, 4, 0, spares, 1e-3, 168.0, 4.0, True, 0.01)
    assert table.shape == (2, 3)
    assert table[0, 1] == table[1, 0] > table[1, 1] > table[1, 2] > table[0, 0] > table[0, 2] == 0
    assert float(window_shortfall(6, 4, 0, 0, 0.0, 168.0, 0.0, True, 0.01)) == pytest.approx(1 - 0.99**6, rel=1e-13)
    assert window_visits_per_hour(4, 0.0, 168.0, 4.0) == 0


def test_refusals() -> None:
    """Impossible input is refused, not computed with."""
    good = (6, 1, 1e-4, 2.0, 24.0, 2, True, 1)
    changes: list[tuple[int, float, str]] = [
        (5, 0, "1 to 6"),
        (5, 7, "1 to 6"),
        (1, -1, "spares"),
        (7, 0, "technicians"),
    ]
    changes += [(place, value, "finite") for place in (2, 3, 4) for value in (-1.0, float("nan"), float("inf"))]
    for place, value, match in changes:
        with pytest.raises(ValueError, match=match):
            deferred_block(*(value if i == place else v for i, v in enumerate(good)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="finite"):
        deferred_block(6, 1, 1e200, 1e200, 24.0, 2, True)
    good_zone = (4, 6, 1, 2, 1e-4, 168.0, 4.0, True, 0.1)
    zone_changes: list[tuple[int, float, str]] = [
        (0, 0, "block"),
        (1, 0, "tray"),
        (2, -1, "spares"),
        (3, -1, "spares"),
        (4, -1e-4, "finite"),
        (6, 168.0, "shorter"),
        (8, 1.1, "between 0 and 1"),
    ]
    for place, value, match in zone_changes:
        with pytest.raises(ValueError, match=match):
            window_shortfall(*(value if i == place else v for i, v in enumerate(good_zone)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="spares"):
        window_visits_per_hour(6, 1e-4, 168.0, 4.0, -1)
