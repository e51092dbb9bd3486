"""The rules of AIReSim with warm standbys, told apart by exact values and simulations from outside this project."""

from __future__ import annotations

from heapq import heappop, heappush
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.airesim_chain import ABSENT, Job, expected, read_case
from tests.oracle_values import CASES, GRID, of_case, point_name, printed_digits


@pytest.mark.parametrize("name", CASES)
def test_every_value_of_a_case(name: str) -> None:
    """With warm standbys and without: all seven values to the last printed digit, so that each rule is the record's.

    The chain is the simulator's own, too: three standard errors hold its means of times and of numbers.
    """
    values = of_case(name)
    assert len(values) == 11 and all(value.within for value in values)


@pytest.mark.parametrize("point", GRID, ids=point_name)
def test_every_point_of_the_grid(point: dict[str, Any]) -> None:
    """Jobs without standbys, blocked hardly ever or nearly always: the same chain to the last digit."""
    found = expected(point)
    for name in ("E_T_min", "E_blocked_min", "stationary_cett"):
        assert found[name] == pytest.approx(point[name], rel=1e-12, abs=printed_digits(name)), name


def simulate(job: Job, random: Random) -> tuple[float, float, int, int]:
    """One job, each repair with its own end: total and blocked time, blocked times and host selections."""
    repairs: list[float] = []
    now = computed = blocked = 0.0
    standbys, idle, episodes, selections = job.warm, job.extra, 0, 1

    def wait_until(time: float) -> None:
        nonlocal now, standbys, idle
        while repairs and repairs[0] <= time:
            heappop(repairs)
            if standbys < job.warm:
                standbys += 1
            else:
                idle += 1
        now = time

    wait_until(job.selection)
    while True:
        run = random.expovariate(job.rate)
        if computed + run >= job.length:
            return now + job.length - computed, blocked, episodes, selections
        computed += run
        wait_until(now + run)
        heappush(repairs, now + random.expovariate(1 / job.repair))
        wait_until(now + job.recovery)
        if standbys:
            standbys -= 1
            continue
        if not idle:
            episodes += 1
            begin = now
            while len(repairs) > job.extra:
                wait_until(repairs[0])
            blocked += now - begin
        selections += 1
        spare = job.spares - len(repairs)
        standbys = min(job.warm, spare)
        idle = spare - standbys
        wait_until(now + job.selection)


LONG_STOPS = {"n_active": 256, "mtbf_day": 40.0, "repair_day": 1.0, "recovery_min": 120.0, "job_day": 60.0}
OTHERS = [
    LONG_STOPS | {"n_warm": 2, "n_extra": 3, "host_selection_min": 120.0},
    LONG_STOPS | {"n_warm": 3, "n_extra": 1, "host_selection_min": 0.0},
    LONG_STOPS | {"n_warm": 0, "n_extra": 3, "host_selection_min": 120.0},
]


@pytest.mark.parametrize(
    "inputs",
    [CASES["A4_warm4_extra0_hysteresis"]["inputs"], *OTHERS],
    ids=["A4", "two-and-three", "three-and-one", "no-standby"],
)
def test_rules_as_events(inputs: dict[str, float]) -> None:
    """The rules, event by event, give the chain's means, also with standbys and idle servers and long stops.

    The records do not have these; long recoveries and selections let every branch of a repair in them happen often.
    """
    job, random, found = read_case(inputs), Random(7), expected(inputs)
    runs: NDArray[np.float64] = np.array([simulate(job, random) for _ in range(300)])
    errors = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    exact = [found[name] for name in ("E_T_min", "E_blocked_min", "E_blocking_episodes", "E_host_selections")]
    assert np.all(errors < 0.04 * np.array(exact))  # the comparison says something
    assert np.all(np.abs(runs.mean(axis=0) - exact) < 3.5 * errors)


@pytest.mark.parametrize("name", ABSENT)
def test_other_rules_are_refused(name: str) -> None:
    """A case with bad servers, escalation or preemption is no case of this chain, and gets no number."""
    with pytest.raises(ValueError, match=name):
        expected(CASES["A7_large_N4096"]["inputs"] | {name: 0.5})
