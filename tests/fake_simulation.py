"""A stand-in for the simulation kernel whose means are known, and kernels that fail, stall or die."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from spareopt.decisions import Decisions
from spareopt.instance import Instance
from spareopt.simulation.outcome import EPISODE_BINS, LEDGER, Outcome
from spareopt.simulation.setup import key_of
from spareopt.simulation.system import Run, System

BLOCKED, SAVES, RECOVERY, LOST = 0.02, 0.05, 0.02, 0.03
"""Shares: of the time that is blocked on average, and of the rest."""
USEFUL = (1.0 - BLOCKED) * (1.0 - SAVES - RECOVERY - LOST)
STOPS_PER_H, USABLE = 0.02, 10.0
MARKER = "SPAREOPT_TEST_MARKER"
"""An environment variable with a folder where kernels leave their marks."""


def system_of(instance: Instance, decisions: Decisions, trace: Any = None) -> System:
    """A system with the zones, crews and repair times of a plan, and nothing else."""
    zones = sum(choice.count for choice in decisions.zones)
    crews = [choice.crews for choice in decisions.zones for _ in range(choice.count)]
    plan = next(p for p in instance.repair_plans if p.name == decisions.zones[0].repair_plan)
    values: dict[str, Any] = {
        name: 0 if hint is int else 0.0 if hint is float else np.zeros(0, dtype=np.int64)
        for name, hint in get_type_hints(System).items()
    }
    values |= {
        "block_zone": np.repeat(np.arange(zones), 12),
        "start_at": np.zeros(zones, dtype=np.int64),
        "zone_crews": np.array([i if number else -1 for i, number in enumerate(crews)]),
        "zone_shelf": np.full(zones, -1),
        "crews": np.array([number or 0 for number in crews]),
        "duty": np.full(zones, 168.0),
        "phase_mean": np.array([plan.tray.mean_hands_on]),
        "delay": np.array([plan.tray.off_crew]),
        "warm": -1,
    }
    return System(**values)


def replicate(system: System, run: Run, *, pause: Callable[[], None] | None = None) -> Outcome:
    """Blocked shares of the bins are exponential with mean BLOCKED; all else follows in fixed shares."""
    generator = np.random.default_rng(run.key)
    blocked = np.minimum(generator.exponential(BLOCKED, run.bins), 1.0) * run.bin
    left = run.bin - blocked
    rows = np.zeros((run.bins + 1, len(LEDGER)))
    columns = {
        "saves": SAVES * left,
        "recovery": RECOVERY * left,
        "lost": LOST * left,
        "useful": (1.0 - SAVES - RECOVERY - LOST) * left,
        "blocked": blocked,
        "usable_block_h": USABLE * left,
        "interruptions": generator.poisson(STOPS_PER_H * left),
        "episodes": np.ones(run.bins),
    }
    for name, values in columns.items():
        rows[1:, LEDGER.index(name)] = np.cumsum(values)
    rows[1:, LEDGER.index("fewest_usable")] = 8
    useful, hours = rows[:, LEDGER.index("useful")], run.bin * run.bins
    if useful[-1] >= run.until_useful:
        last = int(np.searchsorted(useful, run.until_useful))
        part = (run.until_useful - useful[last - 1]) / (useful[last] - useful[last - 1])
        hours = run.bin * (last - 1 + part)
        rows = rows[: last + 1]
        rows[last, :-1] = rows[last - 1, :-1] + part * (rows[last, :-1] - rows[last - 1, :-1])
    total = rows[-1, LEDGER.index("blocked")]
    episodes = np.zeros(EPISODE_BINS, dtype=np.int64)
    episodes[80] = len(rows) - 1  # from 1 h on
    crews = len(system.crews)
    if pause is not None:
        pause()
    return Outcome(
        ledger=rows,
        hours=hours,
        unusable_h=np.array([hours - total, 0.0, total]),
        episodes=episodes,
        longest_episode=7.5,
        crew_busy_h=0.25 * hours * system.crews,
        crew_tickets=np.full(crews, 40),
        crew_wait_h=np.full(crews, 60.0),
        part_orders=np.zeros(0, dtype=np.int64),
        part_wait_h=np.zeros(0),
        selections=1,
        events=100,
    )


def slow(system: System, run: Run, *, pause: Callable[[], None] | None = None) -> Outcome:
    """A kernel that takes half a second, in slices."""
    for _ in range(25):
        time.sleep(0.02)
        if pause is not None:
            pause()
    return replicate(system, run)


def _mark(name: str) -> bool:
    """Leave a mark; whether it is new."""
    try:
        (Path(os.environ[MARKER]) / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def dies_once(system: System, run: Run, *, pause: Callable[[], None] | None = None) -> Outcome:
    """A kernel whose process is killed in replication 3, the first time."""
    if run.key == key_of(0, 3) and _mark("died"):
        os.kill(os.getpid(), signal.SIGKILL)
    return replicate(system, run)


def dies_always(system: System, run: Run, *, pause: Callable[[], None] | None = None) -> Outcome:
    """A kernel whose process is killed in replication 3, every time."""
    if run.key == key_of(0, 3):
        os.kill(os.getpid(), signal.SIGKILL)
    return replicate(system, run)


def all_die(system: System, run: Run, *, pause: Callable[[], None] | None = None) -> Outcome:
    """A kernel whose process is always killed."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def broken(system: System, run: Run, *, pause: Callable[[], None] | None = None) -> Outcome:
    """A kernel with a mistake."""
    raise ZeroDivisionError("a mistake")
