"""Many tasks side by side: in this process, in others or on a cluster; none lost without a word."""

from __future__ import annotations

import heapq
import multiprocessing
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as connections_ready
from typing import Any, NamedTuple

from spareopt.errors import SpareoptError

Pause = Callable[[], None]
Finished = Generator[tuple[int, Any], None, None]
"""Place and result of each task, as they are finished; None as the result of one whose worker died each time."""

MOST_ATTEMPTS = 3
"""How often a task is tried whose process dies."""
MOST_DEATHS = 12
"""Workers that may die in a row with nothing finished."""
MOST_STILLBORN = 3
"""Workers that may die in a row before they can work: a script that can't be imported again kills them all."""
PATIENCE = 2.0
"""s in which a worker that is asked to end may do so."""
IN_FLIGHT = 64
"""Tasks handed at once to an executor whose number of workers is not known."""
SLICE = 0.2  # s
READY = "ready"


class WorkerError(SpareoptError):
    """Workers that die before they have finished anything, or a cluster that is gone."""

    exit_code = 1


def all_died(what: str) -> WorkerError:
    """The error of worker processes that all die before they have finished anything."""
    return WorkerError(
        f"all worker processes died before they finished {what}: too little memory, or a script that "
        'starts processes without `if __name__ == "__main__":`; try --processes 1'
    )


class Tasks(NamedTuple):
    """What is to be done: ``do(shared, task(i), pause)`` for i from 0 to below ``number``.

    ``do`` is importable, ``shared`` is sent once to each process.  ``do`` calls ``pause`` (where it is not None) now
    and then: it tells the time to whoever watches, and ends a process whose parent is gone.
    """

    do: Callable[[Any, Any, Pause | None], Any]
    shared: Any
    task: Callable[[int], Any]
    number: int


def finished(tasks: Tasks, *, processes: int = 1, executor: Any = None, step: Pause) -> Finished:
    """The results as they come.  ``executor``: any Executor of concurrent.futures, or a Dask client.

    ``step`` is called several times a second.  Close it (``contextlib.closing``) to end what is still at work.  What a
    task raises is raised here; WorkerError where an executor gives its tasks up.
    """
    if executor is not None:
        client = getattr(executor, "get_executor", None)  # of a Dask client
        return _by_executor(tasks, executor if client is None else client(pure=False), step)
    return _in_turn(tasks, step) if processes == 1 else _side_by_side(tasks, processes, step)


def _in_turn(tasks: Tasks, step: Pause) -> Finished:
    for index in range(tasks.number):
        yield index, tasks.do(tasks.shared, tasks.task(index), step)


def _serve(connection: Connection, do: Callable[[Any, Any, Pause | None], Any]) -> None:
    """What a worker process of ours does: the tasks it is sent, until its parent closes the connection or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    try:
        shared = connection.recv()
        connection.send(READY)
    except (EOFError, OSError):
        return

    def pause() -> None:
        if connection.poll():  # nothing is sent to a worker at work: this is the end of the connection
            sys.exit()

    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        reply: Any
        try:
            reply = do(shared, task, pause)
        except Exception as error:
            reply = error
        try:
            connection.send(reply)
        except BrokenPipeError:
            return
        except Exception as error:  # what can't be pickled, such as an error that holds a lock
            connection.send(RuntimeError(f"{reply!r} can't be sent: {error}"))


class Worker:
    """A worker process with a connection of its own: nothing that it shares with others is left behind when it dies.

    The pools of the standard library share queues: a worker that is killed while it writes to one may stop them all.
    """

    def __init__(self, tasks: Tasks) -> None:
        context = multiprocessing.get_context("spawn")  # forked ones would share locks and threads of libraries
        self.connection, there = context.Pipe()
        self.index: int | None = None
        """The task it works at."""
        self.ready = False
        # nothing large goes with the start: the standard library waits for ever for a worker that dies before it reads
        self._process = context.Process(target=_serve, args=(there, tasks.do), daemon=True)
        self._process.start()
        there.close()  # so that reading ends when the worker does
        with suppress(OSError):
            self.connection.send(tasks.shared)

    def give(self, index: int, task: Any) -> None:
        self.index = index
        with suppress(OSError):  # a worker that has died is found out when its answer is read
            self.connection.send(task)

    def answer(self) -> Any:
        """What it sent (READY, before all else); None where it has died."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            return None

    def end(self) -> None:
        """Ask it to end, and see to it."""
        self.connection.close()
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _side_by_side(tasks: Tasks, processes: int, step: Pause) -> Finished:
    """Tasks as they are finished by so many processes; None for one whose process died each time."""
    attempts: Counter[int] = Counter()
    again: list[int] = []
    fresh, deaths, stillborn = 0, 0, 0
    workers: list[Worker] = []
    try:
        for _ in range(min(processes, tasks.number)):
            workers.append(Worker(tasks))
        while True:
            for worker in workers:
                if worker.index is None and (again or fresh < tasks.number):
                    if not again:
                        heapq.heappush(again, fresh)
                        fresh += 1
                    index = heapq.heappop(again)
                    worker.give(index, tasks.task(index))
            busy = {worker.connection: place for place, worker in enumerate(workers) if worker.index is not None}
            if not busy:
                return
            ready = connections_ready(list(busy), SLICE)
            step()
            for connection in ready:
                place = busy[connection]  # type: ignore[index]
                done, answer = workers[place].index, workers[place].answer()
                assert done is not None
                if isinstance(answer, str):
                    workers[place].ready = True
                    continue
                workers[place].index = None
                if isinstance(answer, Exception):
                    raise answer
                if answer is not None:
                    deaths = stillborn = 0
                    yield done, answer
                    continue
                workers[place].end()
                stillborn = 0 if workers[place].ready else stillborn + 1
                attempts[done] += 1
                deaths += 1
                if deaths >= max(MOST_DEATHS, 4 * processes) or stillborn >= MOST_STILLBORN:
                    flying = [worker.index for worker in workers if worker.index is not None]
                    for index in (done, *flying, *again, *range(fresh, tasks.number)):
                        yield index, None
                    return
                workers[place] = Worker(tasks)
                if attempts[done] == MOST_ATTEMPTS:
                    yield done, None
                else:
                    heapq.heappush(again, done)
    finally:
        for worker in workers:
            worker.connection.close()  # all at once, so that they end side by side
        for worker in workers:
            worker.end()


def _by_executor(tasks: Tasks, executor: Executor, step: Pause) -> Finished:
    """Tasks as they are finished by an executor, a bounded number in flight; None for one that it lost."""
    attempts: Counter[int] = Counter()
    again: list[int] = []
    flying: dict[Future[Any], int] = {}
    fresh = 0
    try:
        while True:
            while len(flying) < IN_FLIGHT and (again or fresh < tasks.number):
                if not again:
                    heapq.heappush(again, fresh)
                    fresh += 1
                index = heapq.heappop(again)
                try:
                    future = executor.submit(tasks.do, tasks.shared, tasks.task(index), None)
                except BrokenExecutor:  # not ours to make again
                    yield index, None
                else:
                    flying[future] = index
            if not flying:
                return
            ready, _ = wait(flying, SLICE, FIRST_COMPLETED)
            step()
            for future in ready:
                index = flying.pop(future)
                try:
                    result = future.result()
                except CancelledError:
                    raise WorkerError(
                        "the executor gave up its tasks, as it does when the scheduler of a cluster is gone"
                    ) from None
                except Exception as error:
                    if not _died(error):
                        raise
                    attempts[index] += 1
                    if attempts[index] == MOST_ATTEMPTS:
                        yield index, None
                    else:
                        heapq.heappush(again, index)
                else:
                    yield index, result
    finally:
        for future in flying:
            future.cancel()


def _died(error: Exception) -> bool:
    """Whether a worker died, rather than what it did failed: by name, so that Dask need not be there."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"
