"""Many replications: the same whoever plays them, stopped by what is asked, and not lost to dead workers or Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from spareopt.decisions import read_decisions
from spareopt.errors import SpareoptError
from spareopt.evaluation import evaluate
from spareopt.reading import read_instance
from spareopt.simulation import runs
from spareopt.simulation.outcome import Outcome
from spareopt.simulation.runs import Experiment, Outcomes, Played, play
from spareopt.simulation.setup import QUARTER, bins_of, key_of, multiplier_of, run_maker
from spareopt.simulation.system import Run
from tests import fake_simulation as fake
from tests.fake_simulation import system_of

PLAN = {
    "zones": [
        {
            "zone": "cluster", "design": "hgx-h100", "racks": 128, "intra_block_spares": 0, "inter_block_spares": 5,
            "repair_plan": "day-shift",
        }
    ],
    "checkpoint_plan": "automatic-retry",
}  # fmt: skip


def run_of(index: int) -> Run:
    return Run(key_of(0, index), 1.0, 1.0, 1, 0.0, QUARTER / 13, 52, np.inf)


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    instance = read_instance("academic-1k")
    return Experiment((system_of(instance, read_decisions(PLAN)),), lambda index: (run_of(index),))


def same(one: Played, other: Played) -> bool:
    """Whether the same replications recorded the same numbers, to the last bit."""
    return one.outcomes.keys() == other.outcomes.keys() and all(
        np.array_equal(a.ledger, b.ledger)
        for index in one.outcomes
        for a, b in zip(one.outcomes[index], other.outcomes[index], strict=True)
    )


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "replicate", fake.replicate)


# --- seeds


def test_keys_and_multipliers_differ_by_replication_and_have_the_law_asked() -> None:
    """Proves that no two of 20,000 replications share a key, and that multipliers are Gamma with mean 1 and variance v.

    A Gamma variable of shape k = 1/v has third central moment 2 v²; mean, variance and skewness stand for the law.
    """
    keys = {key_of(seed, index) for seed in (0, 1) for index in range(10_000)}
    assert len(keys) == 20_000
    draws = np.array([multiplier_of(0, index, 0.4) for index in range(20_000)])
    n = len(draws)
    assert abs(draws.mean() - 1.0) < 4 * np.sqrt(0.4 / n)
    fourth = 0.4**2 * (3.0 + 6.0 * 0.4)  # of a Gamma variable: σ⁴ (3 + 6/k)
    assert abs(draws.var() - 0.4) < 4 * np.sqrt((fourth - 0.4**2) / n)
    assert np.mean((draws - 1.0) ** 3) == pytest.approx(2.0 * 0.4**2, rel=0.15)
    assert multiplier_of(0, 7, None) == 1.0


def test_a_best_period_adapts_to_the_multiplier_and_a_given_one_does_not() -> None:
    """Proves that τ solves the best-period equation at rate × multiplier: (1 − Λτ) e^(Λτ) = e^(−Λδ).

    The equation is that of the exact model's derivative set to zero, solved by no code of the product here.
    """
    instance = read_instance("academic-1k", overrides={"failures.uncertainty.variance": 0.5})
    decisions = read_decisions(PLAN)
    plan = next(p for p in instance.checkpoint_plans if p.name == decisions.checkpoint_plan)
    best = plan.model_copy(update={"period": "best"})
    given = plan.model_copy(update={"period": 2.5})
    for scheme in (best, given):
        case = instance.model_copy(update={"checkpoint_plans": (scheme,)})
        exact = evaluate(case, decisions)
        maker = run_maker(case, decisions, exact, seed=3, warm_up=0.0, years=1.0)
        for index in range(5):
            run = maker(index)
            assert run.multiplier == multiplier_of(3, index, 0.5) != 1.0
            if scheme is given:
                assert run.period == 2.5
                continue
            assert plan.save is not None
            rate = exact.interruption_rate_per_h * run.multiplier
            x = rate * run.period
            assert (1.0 - x) * np.exp(x) == pytest.approx(np.exp(-rate * plan.save), rel=1e-12)


@pytest.mark.parametrize(
    ("years", "bins", "parts"),
    [(1.0, 52, 13), (0.25, 13, 13), (10.0, 520, 13), (12.0, 48, 1), (1.1, 66, 15), (12.125, 97, 2)],
)
def test_bins_fill_the_years_and_make_whole_quarters(years: float, bins: int, parts: int) -> None:
    """Proves that rows of the record end with the years and with every quarter."""
    width, number, per_quarter = bins_of(years)
    assert (number, per_quarter) == (bins, parts)
    assert width * number == pytest.approx(years * 8766.0, rel=1e-12)
    assert width * parts == pytest.approx(QUARTER, rel=1e-12)


@pytest.mark.parametrize("years", [0.1, 0.2499, 1.0 / np.pi, 2.71828182])
def test_years_that_hold_no_whole_quarters_say_so(years: float) -> None:
    """Proves that no bin of such a record is taken for part of a quarter."""
    width, number, parts = bins_of(years)
    assert parts is None and width * number == pytest.approx(years * 8766.0, rel=1e-12)


# --- who plays them


def test_results_do_not_depend_on_processes_or_executors(experiment: Experiment) -> None:
    """Proves that one process, two, and threads finish the same replications with the same numbers, bit by bit."""
    alone = play(experiment, 12)
    assert alone.status == "done" and list(alone.outcomes) == list(range(12))
    assert same(alone, play(experiment, 12, processes=2))
    with ThreadPoolExecutor(3) as executor:
        assert same(alone, play(experiment, 12, executor=executor))
        assert executor.submit(int).result() == 0  # it is left open


@pytest.mark.filterwarnings("ignore")
def test_dask_gives_the_same(experiment: Experiment) -> None:
    """Proves that a Dask client plays the same replications."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert same(play(experiment, 12), play(experiment, 12, executor=client))


def precise(outcomes: Sequence[Outcomes], seen: list[int]) -> bool:
    seen.append(len(outcomes))
    return len(outcomes) >= 20


def test_stopping_looks_at_the_first_replications_only(experiment: Experiment) -> None:
    """Proves that what is asked sees 10, 20, … replications in order, and what was played beyond is left out."""
    seen: list[int] = []
    alone = play(experiment, 100, enough=partial(precise, seen=seen))
    assert (alone.status, list(alone.outcomes), seen) == ("precision reached", list(range(20)), [10, 20])
    more = play(experiment, 100, enough=partial(precise, seen=[]), processes=2)
    assert more.status == "precision reached" and same(alone, more)
    few = play(experiment, 15, enough=partial(precise, seen=[]))
    assert (few.status, len(few.outcomes)) == ("replications used up", 15)


# --- dead workers


def test_a_killed_worker_costs_nothing(experiment: Experiment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Proves that replications in flight when a worker is killed are played again, with the same numbers."""
    alone = play(experiment, 12)
    monkeypatch.setenv(fake.MARKER, str(tmp_path))
    monkeypatch.setattr(runs, "replicate", fake.dies_once)
    again = play(experiment, 12, processes=2)
    assert (tmp_path / "died").exists()
    assert again.lost == () and same(alone, again)


def test_a_replication_that_always_dies_is_reported_lost_and_the_rest_goes_on(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that only the deadly replication is lost, though another one is in flight each time."""
    monkeypatch.setattr(runs, "replicate", fake.dies_always)
    played = play(experiment, 8, processes=2)
    assert played.lost == (3,)
    assert list(played.outcomes) == [0, 1, 2, 4, 5, 6, 7]


def test_workers_that_all_die_end_with_one_message(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that hopeless workers do not go on for ever."""
    monkeypatch.setattr(runs, "replicate", fake.all_die)
    with pytest.raises(SpareoptError, match="all worker processes died"):
        play(experiment, 2, processes=2)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_mistake_in_the_kernel_is_raised(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    """Proves that an error is no dead worker: it reaches the caller as it was."""
    monkeypatch.setattr(runs, "replicate", fake.broken)
    with pytest.raises(ZeroDivisionError, match="a mistake"):
        play(experiment, 4, processes=processes)


# --- Ctrl-C


def test_ctrl_c_in_the_midst_keeps_what_is_finished(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that an interrupt while replication 4 is played leaves 0 to 3."""

    def interrupted(system: object, run: Run, **options: object) -> Outcome:
        if run.key == key_of(0, 4):
            raise KeyboardInterrupt
        return fake.replicate(system, run)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "replicate", interrupted)
    played = play(experiment, 12)
    assert (played.status, list(played.outcomes)) == ("interrupted", [0, 1, 2, 3])


SCRIPT = """
import signal, sys
from spareopt.simulation import runs
from tests import fake_simulation as fake
from tests.test_simulation_runs import PLAN, run_of
from spareopt.decisions import read_decisions
from spareopt.reading import read_instance

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background inherits "ignore"
    runs.replicate = fake.slow
    system = fake.system_of(read_instance("academic-1k"), read_decisions(PLAN))
    told = []
    def step(outcomes):
        if len(outcomes) >= 2 and not told:
            told.append(print("going", flush=True))
    experiment = runs.Experiment((system,), lambda index: (run_of(index),))
    played = runs.play(experiment, 10_000, processes=int(sys.argv[1]), on_step=step)
    print(played.status, len(played.outcomes), played.lost)
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_sigint_ends_a_running_program_with_what_is_finished(processes: int, tmp_path: Path) -> None:
    """Proves on a program of its own that Ctrl-C ends it within seconds, workers too, with its replications kept."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(processes)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "going\n"
        started = time.perf_counter()
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all of them
        text, errors = process.communicate(timeout=30)
    status, number, lost = text.split(maxsplit=2)
    assert (status, lost.strip()) == ("interrupted", "()") and int(number) >= 2, errors
    assert "Traceback" not in errors
    assert time.perf_counter() - started < 10
