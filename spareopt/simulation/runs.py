"""Many replications: in this process, in others or on a cluster, until there are enough; none lost without a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Literal, NamedTuple

from spareopt import workers
from spareopt.simulation.outcome import Outcome
from spareopt.simulation.system import Run, System
from spareopt.workers import Pause, Tasks, all_died

Status = Literal["done", "precision reached", "replications used up", "interrupted"]
Outcomes = tuple[Outcome, ...]
Kernel = Callable[..., Outcome]
By = Literal["units", "counts"]
"""How a system is played: unit by unit, or by counts of units that are down."""

BATCH = 10
"""Whether there are enough replications is asked after each so many."""


class Experiment(NamedTuple):
    """What is replicated: one system, or several under the same random numbers, and how replication i runs each."""

    systems: tuple[System, ...]
    runs: Callable[[int], tuple[Run, ...]]
    by: By = "units"


class Played(NamedTuple):
    """The replications that were finished, by number, in order; those whose processes died each time; how it ended."""

    outcomes: dict[int, Outcomes]
    lost: tuple[int, ...]
    status: Status


def replicate(system: System, run: Run, *, pause: Pause | None = None) -> Outcome:
    """Play one replication unit by unit.  The kernel is loaded here, where it is used: that takes seconds."""
    from spareopt.simulation.kernel import replicate as played  # noqa: PLC0415

    return played(system, run, pause=pause)


def replicate_counts(system: System, run: Run, *, pause: Pause | None = None) -> Outcome:
    """Play one replication by counts."""
    from spareopt.simulation.kernel.counts import replicate as played  # noqa: PLC0415

    return played(system, run, pause=pause)


def _kernel(experiment: Experiment) -> Kernel:
    return replicate if experiment.by == "units" else replicate_counts


def _play_one(kernel: Kernel, systems: tuple[System, ...], runs: tuple[Run, ...], pause: Pause | None) -> Outcomes:
    """One replication of all systems, wherever it is played."""
    return tuple(kernel(system, run, pause=pause) for system, run in zip(systems, runs, strict=True))


def play(
    experiment: Experiment,
    most: int,
    *,
    enough: Callable[[Sequence[Outcomes]], bool] | None = None,
    processes: int = 1,
    executor: Any = None,
    on_step: Callable[[Sequence[Outcomes]], None] | None = None,
) -> Played:
    """Play replications 0, 1, 2, … until there are ``most``, or ``enough`` of them.

    ``enough`` sees the outcomes of the first 10, 20, 30, … replications, whichever are finished besides: what it
    decides, and so the result, does not depend on processes.  ``executor``: any Executor of concurrent.futures, or a
    Dask client.  ``on_step`` is called several times a second with the outcomes so far.  Ctrl-C ends it with all
    replications that are finished.  Raises WorkerError where all worker processes die at once.
    """
    done: dict[int, Outcomes] = {}
    lost: set[int] = set()
    prefix = 0

    def step() -> None:
        if on_step is not None:
            on_step(list(done.values()))

    def ended(status: Status, stop: int) -> Played:
        outcomes = {index: done[index] for index in sorted(done) if index < stop}
        if not outcomes and lost:
            raise all_died("a replication")
        return Played(outcomes, tuple(sorted(index for index in lost if index < stop)), status)

    tasks = Tasks(partial(_play_one, _kernel(experiment)), experiment.systems, experiment.runs, most)
    try:
        with closing(workers.finished(tasks, processes=processes, executor=executor, step=step)) as source:
            for index, outcomes in source:
                if outcomes is None:
                    lost.add(index)
                else:
                    done[index] = outcomes
                step()
                while prefix in done or prefix in lost:
                    prefix += 1
                    if enough is None or prefix % BATCH or prefix == most:
                        continue
                    if enough([done[i] for i in range(prefix) if i in done]):
                        return ended("precision reached", prefix)
    except KeyboardInterrupt:
        return ended("interrupted", most)
    if enough is None:
        return ended("done", most)
    reached = enough([done[i] for i in sorted(done)])
    return ended("precision reached" if reached else "replications used up", most)
