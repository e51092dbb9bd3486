"""Answer what is asked last: a solve in a process of its own that the next question ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from spareopt.conflicts import Infeasibility, explain_infeasible
from spareopt.errors import SpareoptError
from spareopt.plan import PROVEN
from spareopt.what_if import Answer, Changes, SolveOptions, WhatIf, answer
from spareopt.workers import READY, Pause, Tasks, Worker

SETTLED = 0.3
"""s without another question after which the last one is taken up: a slider that is dragged asks for every step."""
LOOK_EVERY = 0.05  # s
EXPLAIN_LIMIT = 60.0
"""s that the explanation of an infeasible what-if may take where solves have no limit."""
LOST = "the process that solved it died; is there too little memory?"


@dataclass(frozen=True)
class Question:
    """A what-if, to be solved, or to be explained once it is known to be infeasible."""

    what_if: WhatIf
    explain: bool = False


@dataclass(frozen=True)
class Reply:
    """The answer to a what-if; where it is infeasible, what conflicts, once that is known."""

    answer: Answer
    infeasibility: Infeasibility | None = None
    explaining: bool = False
    """Whether the explanation is still to come."""
    seconds: float = 0.0


Told = Callable[[int, Reply], None]
"""Told the number of a question and its reply, from another thread."""


class Desk:
    """Answers the question asked last; one that is superseded is given up, its process ended.

    Nothing is at work before it is started, or asked.
    """

    def __init__(self, options: SolveOptions, told: Told, settled: float = SETTLED) -> None:
        self._options, self._told, self._settled = options, told, settled
        self._changed = threading.Condition()
        self._question: WhatIf | None = None
        self._number = 0
        self._closed = False
        self._known: dict[str, Reply] = {}
        self._worker: Worker | None = None
        self._started = False

    def start(self) -> None:
        """Start the process that solves: the first question need not wait for it."""
        with self._changed:
            if not (self._started or self._closed):
                self._started = True
                threading.Thread(target=self._run, daemon=True).start()

    def know(self, what_if: WhatIf, reply: Reply) -> None:
        """Keep a reply that is known: it is not solved again."""
        if reply.answer.status in (PROVEN, "infeasible") and not reply.explaining:
            self._known[what_if.instance.input_hash()] = reply

    def ask(self, what_if: WhatIf | None) -> int:
        """Ask, or ask nothing any more (None): whatever is at work is given up.  Returns the question's number."""
        self.start()
        with self._changed:
            self._question = what_if
            self._number += 1
            self._changed.notify()
            return self._number

    def close(self) -> None:
        """Give up what is at work, and end the process."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        try:
            with suppress(OSError):  # is told where it is asked
                self._worker = self._new_worker()
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._question is not None or self._closed)
                    while not self._closed and self._changed.wait(self._settled):
                        pass  # asked again meanwhile
                    what_if, number, self._question = self._question, self._number, None
                if self._closed:
                    return
                if what_if is not None:
                    try:
                        self._answer(what_if, number)
                    except Exception as error:  # such as no memory for another process: the next question is taken up
                        self._told(number, Reply(_failed(what_if.changes, error)))
        finally:
            if self._worker is not None:
                self._worker.end()

    def _answer(self, what_if: WhatIf, number: int) -> None:
        if (known := self._known.get(what_if.instance.input_hash())) is not None:
            changes = Answer(what_if.changes, known.answer.status, known.answer.plan, known.answer.why)
            self._told(number, Reply(changes, known.infeasibility))
            return
        started = time.perf_counter()
        found = self._reply(Question(what_if), number)
        if not isinstance(found, Answer):
            return
        reply = Reply(found, None, found.status == "infeasible", time.perf_counter() - started)
        self._told(number, reply)
        if reply.explaining:
            why = self._reply(Question(what_if, explain=True), number)
            if why is None:
                return
            reply = Reply(found, why if isinstance(why, Infeasibility) else None, seconds=reply.seconds)
            self._told(number, reply)
        self.know(what_if, reply)

    def _reply(self, question: Question, number: int) -> Answer | Infeasibility | None:
        """What the process replies; None where the question was superseded."""
        worker, self._worker = self._worker or self._new_worker(), None
        worker.give(0, question)
        found = READY
        while found == READY:
            while not worker.connection.poll(LOOK_EVERY):
                if self._number != number or self._closed:
                    threading.Thread(target=worker.end, daemon=True).start()
                    self._worker = None if self._closed else self._new_worker()
                    return None
            found = worker.answer()
        changes = question.what_if.changes
        if found is None:
            worker.end()
            return Answer(changes, "lost", why=LOST)
        self._worker = worker
        if isinstance(found, Exception):
            return _failed(changes, found)
        assert isinstance(found, Answer | Infeasibility)
        return found

    def _new_worker(self) -> Worker:
        return Worker(Tasks(reply_to, self._options, lambda _: None, 0))


def _failed(changes: Changes, error: Exception) -> Answer:
    return Answer(changes, "failed", why=f"internal error: {type(error).__name__}: {error}; please report it")


def reply_to(options: SolveOptions, question: Question, pause: Pause | None) -> Answer | Infeasibility:
    """Answer or explain a what-if wherever that is done; an error is an answer too."""
    what_if = question.what_if
    tell = None if pause is None else lambda _: pause()
    try:
        if question.explain:
            return explain_infeasible(what_if.instance, options.model, options.time_limit or EXPLAIN_LIMIT, tell)
        found = answer(what_if, options, on_progress=tell)
    except SpareoptError as error:
        return Answer(what_if.changes, "failed", why=str(error))
    if found.plan is not None:
        found.plan._audit = None  # large, and nothing of the page
    return found
