"""Many replications: in this process, in others or on a cluster, until there are enough; none lost without a word."""

from __future__ import annotations

import heapq
import multiprocessing
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as connections_ready
from typing import Any, Literal, NamedTuple

from spareopt.errors import SpareoptError
from spareopt.simulation.outcome import Outcome
from spareopt.simulation.system import Run, System

Status = Literal["done", "precision reached", "replications used up", "interrupted"]
Outcomes = tuple[Outcome, ...]
Pause = Callable[[], None]
Kernel = Callable[..., Outcome]
By = Literal["units", "counts"]
"""How a system is played: unit by unit, or by counts of units that are down."""
Results = Generator[tuple[int, "Outcomes | None"], None, None]

BATCH = 10
"""Whether there are enough replications is asked after each so many."""
MOST_ATTEMPTS = 3
"""How often a replication is tried whose process dies."""
MOST_DEATHS = 12
"""Workers that may die in a row with nothing finished."""
MOST_STILLBORN = 3
"""Workers that may die in a row before they can play: a script that can't be imported again kills them all."""
PATIENCE = 2.0
"""s in which a worker that is asked to end may do so."""
IN_FLIGHT = 64
"""Replications handed at once to an executor whose number of workers is not known."""
SLICE = 0.2  # s


class WorkerError(SpareoptError):
    """Worker processes that die before they have played anything."""

    exit_code = 1


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
            raise WorkerError(
                "all worker processes died before they finished a replication: too little memory, or a script that "
                'starts processes without `if __name__ == "__main__":`; try --processes 1'
            )
        return Played(outcomes, tuple(sorted(index for index in lost if index < stop)), status)

    if executor is None and processes == 1:
        source = _in_turn(experiment, most, step)
    elif executor is None:
        source = _side_by_side(experiment, most, processes, step)
    else:
        client = getattr(executor, "get_executor", None)  # of a Dask client
        source = _by_executor(experiment, most, executor if client is None else client(pure=False), step)
    try:
        with closing(source):
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


def _in_turn(experiment: Experiment, most: int, step: Pause) -> Results:
    kernel = _kernel(experiment)
    for index in range(most):
        runs = experiment.runs(index)
        yield index, tuple(kernel(*pair, pause=step) for pair in zip(experiment.systems, runs, strict=True))


def _play_there(kernel: Kernel, systems: tuple[System, ...], runs: tuple[Run, ...]) -> Outcomes:
    """What a worker of an executor does."""
    return tuple(kernel(system, run) for system, run in zip(systems, runs, strict=True))


READY = "ready"


def _serve(connection: Connection, kernel: Kernel) -> None:
    """What a worker process of ours does: play the runs it is sent, until its parent closes the connection or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    try:
        systems: tuple[System, ...] = connection.recv()
        connection.send(READY)
    except (EOFError, OSError):
        return

    def pause() -> None:
        if connection.poll():  # nothing is sent to a worker that plays: this is the end of the connection
            sys.exit()

    while True:
        try:
            runs: tuple[Run, ...] = connection.recv()
        except (EOFError, OSError):
            return
        reply: Outcomes | Exception
        try:
            reply = tuple(kernel(system, run, pause=pause) for system, run in zip(systems, runs, strict=True))
        except Exception as error:
            reply = error
        try:
            connection.send(reply)
        except BrokenPipeError:
            return
        except Exception as error:  # what can't be pickled, such as an error that holds a lock
            connection.send(RuntimeError(f"{reply!r} can't be sent: {error}"))


class _Worker:
    """A worker process with a connection of its own: nothing that it shares with others is left behind when it dies.

    The pools of the standard library share queues: a worker that is killed while it writes to one may stop them all.
    """

    def __init__(self, kernel: Kernel, systems: tuple[System, ...]) -> None:
        context = multiprocessing.get_context("spawn")  # forked ones would share locks and threads of libraries
        self.connection, there = context.Pipe()
        self.index: int | None = None
        """The replication it plays."""
        self.ready = False
        # nothing large goes with the start: the standard library waits for ever for a worker that dies before it reads
        self._process = context.Process(target=_serve, args=(there, kernel), daemon=True)
        self._process.start()
        there.close()  # so that reading ends when the worker does
        with suppress(OSError):
            self.connection.send(systems)

    def give(self, index: int, runs: tuple[Run, ...]) -> None:
        self.index = index
        with suppress(OSError):  # a worker that has died is found out when its answer is read
            self.connection.send(runs)

    def answer(self) -> Outcomes | Exception | str | None:
        """What it sent (READY, before all else); None where it has died."""
        try:
            reply: Outcomes | Exception | str = self.connection.recv()
        except (EOFError, OSError):
            return None
        return reply

    def end(self) -> None:
        """Ask it to end, and see to it."""
        self.connection.close()
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _side_by_side(experiment: Experiment, most: int, processes: int, step: Pause) -> Results:
    """Replications as they are finished by so many processes; None for one whose process died each time."""
    attempts: Counter[int] = Counter()
    again: list[int] = []
    fresh, deaths, stillborn = 0, 0, 0
    workers: list[_Worker] = []
    try:
        for _ in range(min(processes, most)):
            workers.append(_Worker(_kernel(experiment), experiment.systems))
        while True:
            for worker in workers:
                if worker.index is None and (again or fresh < most):
                    if not again:
                        heapq.heappush(again, fresh)
                        fresh += 1
                    index = heapq.heappop(again)
                    worker.give(index, experiment.runs(index))
            busy = {worker.connection: place for place, worker in enumerate(workers) if worker.index is not None}
            if not busy:
                return
            ready = connections_ready(list(busy), SLICE)
            step()
            for connection in ready:
                place = busy[connection]  # type: ignore[index]
                played, answer = workers[place].index, workers[place].answer()
                assert played is not None
                if isinstance(answer, str):
                    workers[place].ready = True
                    continue
                workers[place].index = None
                if isinstance(answer, Exception):
                    raise answer
                if answer is not None:
                    deaths = stillborn = 0
                    yield played, answer
                    continue
                workers[place].end()
                stillborn = 0 if workers[place].ready else stillborn + 1
                attempts[played] += 1
                deaths += 1
                if deaths >= max(MOST_DEATHS, 4 * processes) or stillborn >= MOST_STILLBORN:
                    flying = [worker.index for worker in workers if worker.index is not None]
                    for index in (played, *flying, *again, *range(fresh, most)):
                        yield index, None
                    return
                workers[place] = _Worker(_kernel(experiment), experiment.systems)
                if attempts[played] == MOST_ATTEMPTS:
                    yield played, None
                else:
                    heapq.heappush(again, played)
    finally:
        for worker in workers:
            worker.connection.close()  # all at once, so that they end side by side
        for worker in workers:
            worker.end()


def _by_executor(experiment: Experiment, most: int, executor: Executor, step: Pause) -> Results:
    """Replications as they are finished by an executor, a bounded number in flight; None for one that it lost."""
    attempts: Counter[int] = Counter()
    again: list[int] = []
    flying: dict[Future[Outcomes], int] = {}
    fresh = 0
    try:
        while True:
            while len(flying) < IN_FLIGHT and (again or fresh < most):
                if not again:
                    heapq.heappush(again, fresh)
                    fresh += 1
                index = heapq.heappop(again)
                try:
                    future = executor.submit(
                        _play_there, _kernel(experiment), experiment.systems, experiment.runs(index)
                    )
                except BrokenExecutor:  # not ours to make again
                    yield index, None
                else:
                    flying[future] = index
            if not flying:
                return
            finished, _ = wait(flying, SLICE, FIRST_COMPLETED)
            step()
            for future in finished:
                index = flying.pop(future)
                try:
                    outcomes = future.result()
                except Exception as error:
                    if not _died(error):
                        raise
                    attempts[index] += 1
                    if attempts[index] == MOST_ATTEMPTS:
                        yield index, None
                    else:
                        heapq.heappush(again, index)
                else:
                    yield index, outcomes
    finally:
        for future in flying:
            future.cancel()


def _died(error: Exception) -> bool:
    """Whether a worker died, rather than what it did failed: by name, so that Dask need not be there."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"
