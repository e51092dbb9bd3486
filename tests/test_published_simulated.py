"""Published cases, simulated through the public functions; the numbers of `docs/published.md` are held to be these."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import spareopt
from spareopt.decisions import read_decisions
from spareopt.simulation.result import Simulation
from spareopt.simulation.statistics import Interval
from tests.airesim_chain import expected
from tests.airesim_instance import PERIOD_H, instance_of
from tests.oracle_values import CASES, GRID, SIMULATED, point_name
from tests.test_airesim_chain import OTHERS

ROOT = Path(__file__).parents[1]
PAGE = " ".join((ROOT / "docs" / "published.md").read_text(encoding="utf-8").split())
SEEN, UNSEEN = 100.0, 0.01
"""Blocked episodes expected in all replications: from the first on their normal law is relied on; below the second
there must be none."""


@dataclass(frozen=True)
class Compared:
    """A simulated mean beside an exact one."""

    what: str
    exact: float
    mean: float
    error: float

    @property
    def score(self) -> float:
        """Difference in standard errors."""
        return (self.mean - self.exact) / self.error

    def __str__(self) -> str:
        return f"{self.what}: {self.mean:.6g} ± {self.error:.3g}, exact {self.exact:.6g}, z = {self.score:+.2f}"


def played(inputs: Mapping[str, float], replications: int, seed: int) -> Simulation:
    """A job of a new cluster, until it is done; no replication is left unfinished, and next to no work is lost."""
    instance, plan = instance_of(inputs)
    result = spareopt.simulate(
        instance, plan, replications=replications, seed=seed, until_job=True, warm_up="0 h", years=12.0
    )
    assert result.wall_time is not None and result.wall_time.mean is not None and not result.wall_time.unfinished
    wall, gpus = result.wall_time.mean, result.evaluation.gpus / result.evaluation.working_gpus
    lost = result.intervals["losses.lost_work"].mean * gpus * wall.mean
    assert 0.4 * PERIOD_H < lost / result.interruptions.mean.mean < 0.6 * PERIOD_H
    assert wall.standard_error is not None and lost < 0.005 * wall.standard_error
    return result


def measured(result: Simulation) -> dict[str, tuple[Interval, float]]:
    """What the record's exact values are of, and the factor from our unit to the record's."""
    assert result.wall_time is not None and result.wall_time.mean is not None and result.selections is not None
    return {
        "E_T_min": (result.wall_time.mean, 60.0),
        "E_failures": (result.interruptions.mean, 1.0),
        "E_blocked_min": (result.blocked_episodes.blocked_h, 60.0),
        "E_blocking_episodes": (result.blocked_episodes.number, 1.0),
        "E_host_selections": (result.selections, 1.0),
    }


def compared(name: str, result: Simulation, exact: Mapping[str, float]) -> list[Compared]:
    """All that can be held against the exact values: blocked time where it is seen often enough to have an error."""
    episodes = result.done * expected_episodes(exact)
    found = []
    for what, (interval, factor) in measured(result).items():
        if what in ("E_blocked_min", "E_blocking_episodes") and episodes < SEEN:
            assert episodes > UNSEEN or interval.mean == 0.0, f"{name}: blocked, where {episodes} are expected"
            continue
        assert interval.standard_error is not None
        found.append(Compared(f"{name} {what}", exact[what], factor * interval.mean, factor * interval.standard_error))
    return found


def expected_episodes(exact: Mapping[str, float]) -> float:
    return max(0.0, exact["E_blocking_episodes"])


def check(found: list[Compared], within: float) -> str:
    """Fails where one is outside; says how many are inside two and three standard errors."""
    outside = [str(one) for one in found if abs(one.score) > within]
    assert not outside, outside
    inside = [sum(abs(one.score) <= k for one in found) for k in (2, 3)]
    return f"{inside[0]} of {len(found)} within two standard errors, {inside[1]} within three"


def entry(interval: Interval, factor: float, digits: int) -> str:
    assert interval.standard_error is not None
    return f"{factor * interval.mean:,.{digits}f} ± {factor * interval.standard_error:,.{digits}f}"


def rows_of(name: str, result: Simulation, case: Mapping[str, Any]) -> list[str]:
    """The lines of the page's table: the record's simulation, its exact value, ours with the standard error."""
    rows, inputs = [], case["inputs"]
    servers = f"{inputs['n_active']:,} + {inputs['n_warm'] + inputs['n_extra']}{' warm' if inputs['n_warm'] else ''}"
    words = {"training_time_min": "time, min", "blocked_min": "blocked, min", "host_selections": "selections"}
    for recorded, exact in SIMULATED.items():
        interval, factor = measured(result)[exact]
        theirs = Interval(
            mean=case["sim"][recorded]["mean"], low=None, high=None, standard_error=case["sim"][recorded]["ci95"] / 1.96
        )
        cells = (
            f"{name[:2]}: {servers}",
            words.get(recorded, recorded),
            entry(theirs, 1.0, 1),
            f"{case['exact'][exact]:,.1f}",
            entry(interval, factor, 1),
        )
        rows.append("| " + " | ".join(cells) + " |")
    return rows


CI = {"cases": 400, "grid": 300}
MANY = {"cases": 5000, "grid": 1000}


def test_every_case_of_the_record() -> None:
    """Jobs with and without warm standbys, blocked never or most of the time: time, failures, blocked, selections.

    All are within three standard errors of the exact values, and of the means of AIReSim itself with both errors.
    Every case has a seed of its own: under one, cases of as many servers would have the same failures.
    """
    found, rows = [], []
    for seed, (name, case) in enumerate(CASES.items()):
        result = played(case["inputs"], CI["cases"], seed)
        found += compared(name, result, case["exact"])
        rows += rows_of(name, result, case)
        for recorded, exact in SIMULATED.items():
            interval, factor = measured(result)[exact]
            assert interval.standard_error is not None
            both = math.hypot(factor * interval.standard_error, case["sim"][recorded]["ci95"] / 1.96)
            assert abs(factor * interval.mean - case["sim"][recorded]["mean"]) <= 3 * both, (name, recorded)
    said = check(found, 3.0)
    missing = [line for line in (*rows, said) if line not in PAGE]
    assert not missing, "\n".join(missing)


def test_points_of_the_exact_grid() -> None:
    """Every fourth of the grid's 84 points: 64 to 4096 servers, 0 to 24 spares, repairs of 4 h to 3 days.

    Time and blocked time are the record's, the numbers of failures, selections and episodes the chain's that the
    record confirms (tests/test_airesim_chain.py).
    """
    found = []
    for i in range(0, len(GRID), 4):
        result = played(GRID[i], CI["grid"], 100 + i)
        found += compared(point_name(GRID[i]), result, expected(GRID[i]) | recorded_at(i))
    said = check(found, 3.0)
    assert said in PAGE, said


def recorded_at(i: int) -> dict[str, float]:
    return {name: GRID[i][name] for name in ("E_T_min", "E_blocked_min")}


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param(OTHERS[0], id="two-and-three"),
        pytest.param(OTHERS[1], id="three-and-one", marks=pytest.mark.heavy),
        pytest.param(OTHERS[2], id="no-standby", marks=pytest.mark.heavy),
    ],
)
def test_long_recoveries_and_selections(inputs: dict[str, float]) -> None:
    """Standbys and idle servers at once, and stops so long that repairs end in each of them: what the record has not.

    Then it matters who is a standby when a repaired server comes back, and what a selection takes.  The means are
    known well enough that each rule shows.
    """
    exact = expected(inputs)
    found = compared("long stops", played(inputs, 2000, 7), exact)
    assert len(found) == 5 and all(one.error < 0.01 * one.exact for one in found)
    check(found, 3.0)


@pytest.mark.heavy
def test_the_record_with_many_replications() -> None:
    """Cases and the whole grid, 90 independent scores of the job's time: they follow the standard normal law.

    Neither too far off (a bias of half a standard error in all of them would show) nor too near (errors that are stated
    too large would show).
    """
    results = [played(case["inputs"], MANY["cases"], 1000 + i) for i, case in enumerate(CASES.values())]
    found = [
        one
        for (name, case), result in zip(CASES.items(), results, strict=True)
        for one in compared(name, result, case["exact"])
    ]
    for i, point in enumerate(GRID):
        found += compared(point_name(point), played(point, MANY["grid"], 2000 + i), expected(point) | recorded_at(i))
    scores = np.array([one.score for one in found if one.what.endswith("E_T_min")])
    assert len(scores) == 90
    inside = [int(np.sum(abs(scores) <= k)) for k in (1, 2, 3)]
    said = (
        check(found, 4.5),
        f"{inside[0]}, {inside[1]}, {inside[2]} are within one, two, three standard errors",
        f"a mean of {scores.mean():+.2f} and a sum of squares of {scores @ scores:.1f}",
    )
    assert all(words in PAGE for words in said), said
    low, high = stats.chi2.ppf([0.0005, 0.9995], len(scores))
    assert low < scores @ scores < high
    assert abs(scores.mean()) * math.sqrt(len(scores)) < 3.3
    assert stats.kstest(scores, "norm").pvalue > 0.001


LLAMA = read_decisions(
    {
        "zones": [
            {"zone": "pod", "count": 8, "design": "hgx-h100", "racks": 288, "intra_block_spares": 0,
             "inter_block_spares": 32, "repair_plan": "as-measured"}
        ],
        "checkpoint_plan": "sync-15min",
    }
)  # fmt: skip
"""16,384 working GPUs with 32 spare servers a pod, so that the job is hardly ever blocked."""
DAYS, SERVERS, INTERRUPTIONS = 54, 2048, 419


def llama(save: str, restart: str) -> Simulation:
    overrides = {"checkpoint_plans.sync-15min.save": save, "checkpoint_plans.sync-15min.restart": restart}
    instance = spareopt.read_instance("h100-16k-llama3", overrides=overrides)
    return spareopt.simulate(instance, LLAMA, replications=500, years=DAYS / 365.25, seed=3)


def effective(result: Simulation) -> tuple[float, float]:
    """Useful share of the working GPUs' time, with its standard error."""
    share, cett = result.evaluation.gpus / result.evaluation.working_gpus, result.intervals["cett"]
    assert cett.standard_error is not None
    return share * cett.mean, share * cett.standard_error


def closed_form(save_s: float, recovery_min: float) -> float:
    """Useful share at a constant rate Λ: τ Λ e^(−Λ Rc) / (e^(Λ (τ + δ)) − 1), by hand from the published count."""
    rate, period = INTERRUPTIONS / (DAYS * 24), 0.25
    return period * rate * math.exp(-rate * recovery_min / 60) / math.expm1(rate * (period + save_s / 3600))


def test_llama_3_interruptions_and_effective_time() -> None:
    """419 interruptions in 54 days are inside the simulated 95 % range; the effective time is 0.874 by formula, too.

    The range is that of a Poisson number, no wider; the time agrees with the closed form, which shares no code, within
    three standard errors (the rate of the instance is the count's, rounded to 3.79 per 1,000 server-days).
    """
    result = llama("30 s", "10 min")
    assert result.evaluation.working_gpus == 8 * SERVERS and result.evaluation.unavailability < 1e-6
    low, high = result.interruptions.p2_5, result.interruptions.p97_5
    assert low < INTERRUPTIONS < high
    assert (low, high) == pytest.approx(stats.poisson.ppf([0.025, 0.975], INTERRUPTIONS), abs=7)
    share, error = effective(result)
    assert round(share, 3) == pytest.approx(0.874, abs=0.0011) and error < 5e-4
    assert round(closed_form(30, 11), 3) == 0.874 and abs(share - closed_form(30, 11)) < 3 * error
    mean = result.interruptions.mean
    for said in (
        f"| 419 | 419 | {entry(mean, 1.0, 1)}; 95 % of the replications from {low:.0f} to {high:.0f} |",
        f"| {closed_form(30, 11):.4f} | {share:.4f} ± {error:.4f} |",
    ):
        assert said in PAGE, said


def test_llama_3_with_quick_saves_and_restarts() -> None:
    """With saves of 3 s and 5 min of detection and restart more than 0.90 of the time is effective."""
    share, error = effective(llama("3 s", "4 min"))
    assert share - 3 * error > 0.90
    assert abs(share - closed_form(3, 5)) < 3 * error
    assert f"| {closed_form(3, 5):.4f} | {share:.4f} ± {error:.4f} |" in PAGE
