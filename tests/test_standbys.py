"""Warm standbys in the simulator: rule by rule, worked out by hand, in the kernel and in the slow reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spareopt.simulation import kernel, reference
from spareopt.simulation.outcome import ACCOUNTS, LEDGER, Outcome
from spareopt.simulation.reference.ledger import Record
from spareopt.simulation.system import ALWAYS, COMPUTING, WORKING, Run, System
from tests.small_systems import small_run, small_system

AGEING = pytest.mark.parametrize("ageing", [ALWAYS, WORKING, COMPUTING])
DOWN, UP = 1, 0
Rows = list[tuple[float, int, int]]


def both(system: System, run: Run) -> Outcome:
    """What the kernel records, once it is seen to play the reference's events."""
    record: Record = []
    slow, fast = reference.replicate(system, run, record), kernel.replicate(system, run)
    events = kernel.event_log(system, run)
    assert [event[1:] for event in events] == [event[1:] for event in record]
    np.testing.assert_allclose([event[0] for event in events], [event[0] for event in record], atol=1e-9)
    np.testing.assert_allclose(fast.ledger, slow.ledger, atol=1e-9)
    assert fast.selections == slow.selections
    return fast


def replayed(rows: Rows, hours: float, **fields: Any) -> tuple[float, float, float, int, int]:
    """Useful hours, recovery, blocked; blocked episodes, host selections: of trays that go down and come back as told.

    A recovery takes 1 h, a selection 0.5 h, saves are free and every 0.5 h, so that these traces lose no work.
    """
    times, trays, down = zip(*rows, strict=True)
    trace: dict[str, Any] = {"trace_time": times, "trace_tray": trays, "trace_down": down}
    fixed: dict[str, Any] = {"trays": [1], "recovery": 1.0, "selection": 0.5}
    last = both(small_system(**(fixed | trace | fields)), small_run(period=0.5, bin=hours))
    useful, recovery, blocked, episodes = (
        float(last.ledger[-1][LEDGER.index(name)]) for name in ("useful", "recovery", "blocked", "episodes")
    )
    assert sum(last.ledger[-1][LEDGER.index(name)] for name in ACCOUNTS) == pytest.approx(hours)
    return useful, recovery, blocked, round(episodes), last.selections


@AGEING
def test_a_standby_saves_the_selection_and_a_run_out_zone_waits_for_all(ageing: int) -> None:
    """Two work, one stands by, one is idle; three go down one after the other, and two come back.

    To 0.5 the first selection; 2 to 3 recovery, after which the standby works.  4 to 5 recovery: no standby but an
    idle one, so a selection to 5.5.  6 to 7 recovery: none is left.  The one that is back at 10 would do, but the job
    waits for its standby, too: blocked to 12, selection to 12.5, work to 14.
    """
    rows: Rows = [(2, 0, DOWN), (4, 1, DOWN), (6, 2, DOWN), (10, 0, UP), (12, 1, UP)]
    found = replayed(rows, 14.0, blocks=[4], working=[2], warm=1, ageing=ageing)
    assert found == pytest.approx((1.5 + 1 + 0.5 + 1.5, 3 + 3 * 0.5, 5, 1, 3))


@AGEING
@pytest.mark.parametrize(("back", "selections"), [(2.5, 2), (3.5, 1)], ids=["during", "after"])
def test_who_comes_back_during_a_recovery_finds_no_room(ageing: int, back: float, selections: int) -> None:
    """The standby about to step in counts until it has: a server back by then is idle, one back later stands by.

    The next failure then ends in a selection, or not.
    """
    rows: Rows = [(2, 0, DOWN), (back, 0, UP), (4, 1, DOWN)]
    useful, recovery, blocked, _, found = replayed(rows, 8.0, blocks=[4], working=[2], warm=1, ageing=ageing)
    assert found == selections
    assert (recovery, blocked) == pytest.approx((2 + selections * 0.5, 0)) and useful == pytest.approx(8 - recovery)


@AGEING
def test_without_standbys_every_failure_selects_and_one_back_is_enough(ageing: int) -> None:
    """Two work, one is idle.  2 to 3 recovery, selection to 3.5; 4.5 to 5.5 recovery, blocked to 7, selection to 7.5.

    Without a standby to wait for, one server that is back is enough.
    """
    rows: Rows = [(2, 0, DOWN), (4.5, 1, DOWN), (7, 0, UP)]
    found = replayed(rows, 10.0, blocks=[3], working=[2], warm=0, ageing=ageing)
    assert found == pytest.approx((1.5 + 1 + 2.5, 2 + 3 * 0.5, 1.5, 1, 3))


@AGEING
def test_a_standby_that_fails_is_none(ageing: int) -> None:
    """The only standby fails at 1 and stops nobody; the job that fails at 2 waits from 3 until both are back at 5."""
    rows: Rows = [(1, 2, DOWN), (2, 0, DOWN), (4, 2, UP), (5, 0, UP)]
    found = replayed(rows, 8.0, blocks=[3], working=[2], warm=1, ageing=ageing)
    assert found == pytest.approx((1.5 + 2.5, 1 + 2 * 0.5, 2, 1, 2))


@pytest.mark.parametrize("seed", range(0, 60, 6))
def test_ties_are_played_alike(seed: int) -> None:
    """Ends of recoveries and selections, rows of traces and ends of bins at the same half hours: kernel and reference
    agree event by event, and blocked episodes do occur."""
    episodes = 0
    for number in range(seed, seed + 6):
        rng = np.random.default_rng(number)
        rows = int(rng.integers(3, 14))
        system = small_system(
            blocks=[5],
            trays=[1],
            working=[3],
            recovery=0.5,
            warm=int(rng.integers(0, 3)),
            selection=float(rng.choice([0.0, 0.5])),
            ageing=int(rng.integers(0, 3)),
            trace_time=np.sort(rng.integers(1, 20, rows) / 2.0),
            trace_tray=rng.integers(0, 5, rows),
            trace_down=rng.integers(0, 2, rows),
        )
        outcome = both(system, small_run(period=1.0, bin=1.0, bins=12))
        episodes += round(float(outcome.ledger[-1][LEDGER.index("episodes")]))
    assert episodes > 0
