"""Answer what-ifs: the same instance with changes, each solved on its own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal

from spareopt.errors import InfeasibleError, LimitError, SpareoptError, StoppedError
from spareopt.instance import Instance
from spareopt.optimise import solve
from spareopt.plan import INTERRUPTED, Plan, ProofStatus
from spareopt.reading import read_instance
from spareopt.schemes import Model
from spareopt.search import DEFAULT_GAP, OnProgress
from spareopt.settings import SCENARIO
from spareopt.workers import Tasks, all_died, finished

Changes = Mapping[str, Any]
"""Dotted path: new value, or a multiple of the old one such as "0.5x"; applied in order, as ``--set`` does.
The key SCENARIO names a scenario."""
AnswerStatus = Literal[ProofStatus, "infeasible", "no plan in time", "lost", "failed"]
"""Lost: its worker process died each time it was tried; failed: an error, kept as an answer."""


@dataclass(frozen=True)
class SolveOptions:
    """How each what-if is solved; as the arguments of ``spareopt.solve``."""

    gap: float = DEFAULT_GAP
    time_limit: float | None = None
    seed: int = 0
    model: Model = "exact"
    alike: bool = False


@dataclass(frozen=True)
class Answer:
    """What came of one what-if: a plan, or why there is none."""

    changes: Changes
    status: AnswerStatus
    plan: Plan | None = None
    why: str = ""


@dataclass(frozen=True)
class WhatIf:
    """An instance with its changes applied, ready to be solved."""

    instance: Instance
    changes: Changes = field(default_factory=dict)


def changed(instance: Instance, changes: Changes) -> Instance:
    """The instance with changes applied, checked as if it had been read so.  Raises InputError."""
    if not changes:
        return instance
    data, overrides = instance.resolved(), dict(changes)
    scenario = overrides.pop(SCENARIO, None)
    if scenario is not None:
        data["scenarios"] = {name: {"overrides": known.overrides} for name, known in instance.scenarios.items()}
    result = read_instance(data, scenarios=() if scenario is None else (scenario,), overrides=overrides)
    result._applied = (*instance.applied, *result.applied)
    return result


def what_ifs(instance: Instance, all_changes: Iterable[Changes]) -> list[WhatIf]:
    """The what-ifs of an instance, all checked before the first is solved.  Raises InputError."""
    return [WhatIf(changed(instance, changes), changes) for changes in all_changes]


def answer(what_if: WhatIf, options: SolveOptions = SolveOptions(), *, on_progress: OnProgress | None = None) -> Answer:
    """Solve one what-if; that there is no plan is an answer too.  Raises SolverError."""
    try:
        plan = solve(
            what_if.instance,
            gap=options.gap,
            time_limit=options.time_limit,
            seed=options.seed,
            model=options.model,
            alike=options.alike,
            on_progress=on_progress,
        )
    except InfeasibleError as error:
        return Answer(what_if.changes, "infeasible", why=str(error))
    except LimitError as error:
        return Answer(what_if.changes, "no plan in time", why=str(error))
    except StoppedError as error:
        return Answer(what_if.changes, "interrupted", why=str(error))
    return Answer(what_if.changes, plan.certificate.status, plan)


def answers(
    asked: Iterable[WhatIf],
    options: SolveOptions = SolveOptions(),
    *,
    on_answer: Callable[[Answer], None] | None = None,
    processes: int = 1,
    executor: Any = None,
) -> Iterator[Answer]:
    """The answers to what-ifs, in their order, whoever solves them; their plans have no audit.

    ``on_answer`` is told of each as it is finished.  The others are as in ``answered``.  On Ctrl-C those that are
    not finished are answered "interrupted".  Raises SolverError, WorkerError where all worker processes die at once.
    """
    what_ifs = list(asked)
    ready: dict[int, Answer] = {}
    due = 0
    try:
        with closing(
            answered(len(what_ifs), what_ifs.__getitem__, options, processes=processes, executor=executor)
        ) as source:
            for place, result in source:
                ready[place] = result
                if on_answer is not None:
                    on_answer(result)
                while due in ready:
                    yield ready.pop(due)
                    due += 1
    except KeyboardInterrupt:
        for place in range(due, len(what_ifs)):
            yield ready.pop(
                place, Answer(what_ifs[place].changes, "interrupted", why="interrupted before it was solved")
            )


def answered(
    number: int,
    what_if: Callable[[int], WhatIf],
    options: SolveOptions = SolveOptions(),
    *,
    processes: int = 1,
    executor: Any = None,
    on_step: Callable[[], None] | None = None,
    keep_errors: bool = False,
) -> Generator[tuple[int, Answer]]:
    """Place and answer of so many what-ifs, as they are finished; their plans have no audit.

    ``processes``: how many are solved side by side; or ``executor``: any Executor of concurrent.futures, or a Dask
    client.  No answer depends on either.  ``on_step`` is called several times a second.  One whose worker process died
    each time it was tried is answered "lost".  With ``keep_errors`` an error in a solve is an answer, "failed", too.
    Ctrl-C raises KeyboardInterrupt, after the answer of a what-if that was stopped with a plan in hand.
    """
    tasks = Tasks(_answer_one, (options, keep_errors), what_if, number)
    lost: list[int] = []
    some = False
    with closing(finished(tasks, processes=processes, executor=executor, step=on_step or (lambda: None))) as source:
        for place, result in source:
            if result is None:
                lost.append(place)
                continue
            some = True
            yield place, result
            if result.status == INTERRUPTED:
                raise KeyboardInterrupt
    if lost and not some:
        raise all_died("a solve")
    for place in lost:
        why = "the process that solved it died each time it was tried; is there too little memory?"
        yield place, Answer(what_if(place).changes, "lost", why=why)


_SOLVING = Lock()
"""Held by a solve: an executor may run several in threads of one process, which the solver does not bear."""


def _answer_one(shared: tuple[SolveOptions, bool], what_if: WhatIf, pause: Callable[[], None] | None) -> Answer:
    """Answer a what-if wherever it is solved."""
    options, keep_errors = shared
    try:
        with _SOLVING:
            result = answer(what_if, options, on_progress=None if pause is None else lambda _: pause())
    except SpareoptError as error:
        if not keep_errors:
            raise
        return Answer(what_if.changes, "failed", why=str(error))
    if result.plan is not None:
        result.plan._audit = None  # large, and the same bytes of a plan wherever it was solved
    return result
