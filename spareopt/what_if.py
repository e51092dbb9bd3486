"""Answer what-ifs: the same instance with changes, each solved on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from spareopt.errors import InfeasibleError, LimitError, StoppedError
from spareopt.instance import Instance
from spareopt.optimise import solve
from spareopt.plan import Plan, ProofStatus
from spareopt.reading import read_instance
from spareopt.schemes import Model
from spareopt.search import DEFAULT_GAP

Changes = Mapping[str, Any]
"""Dotted path: new value, or a multiple of the old one such as "0.5x"; applied in order, as ``--set`` does.
The key SCENARIO names a scenario."""
SCENARIO = "scenario"
"""The key of a change that names a scenario of the instance, applied before all other changes."""
AnswerStatus = Literal[ProofStatus, "infeasible", "no plan in time"]


@dataclass(frozen=True)
class SolveOptions:
    """How each what-if is solved; as the arguments of :func:`spareopt.solve`."""

    gap: float = DEFAULT_GAP
    time_limit: float | None = None
    seed: int = 0
    model: Model = "exact"


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


def answer(what_if: WhatIf, options: SolveOptions = SolveOptions()) -> Answer:
    """Solve one what-if; that there is no plan is an answer too.  Raises SolverError."""
    try:
        plan = solve(
            what_if.instance,
            gap=options.gap,
            time_limit=options.time_limit,
            seed=options.seed,
            model=options.model,
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
) -> Iterator[Answer]:
    """The answers to what-ifs, in their order."""
    for what_if in asked:
        result = answer(what_if, options)
        if on_answer is not None:
            on_answer(result)
        yield result
