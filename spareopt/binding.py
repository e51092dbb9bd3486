"""What binds a plan: the slack to each limit, and what the optimum would be without it.

A limit with no slack need not cost anything, and one with slack may: where the next better plan needs a whole unit more
than what is left.  So each limit is taken out in turn and the instance is solved again.
"""

from __future__ import annotations

from typing import Literal

from spareopt.caps import caps_of, without
from spareopt.decisions import Decisions
from spareopt.errors import LimitError, StoppedError
from spareopt.evaluation import evaluate
from spareopt.instance import Instance
from spareopt.limits import LimitSlack
from spareopt.optimise import solve
from spareopt.plan import INTERRUPTED, PROVEN, ZONES_ALIKE, Plan
from spareopt.record import Frozen
from spareopt.schemes import Model
from spareopt.search import DEFAULT_GAP, OnProgress, named

TOUCHED = 1e-6  # relative to the bound: less slack than that is none

Binding = Literal["binds", "binds through whole units", "does not bind", "not known"]


class Binds(Frozen):
    """One limit of the instance: how far the plan is from it, and what the optimum gains without it."""

    limit: str
    unit: str
    sense: Literal["<=", ">="]
    value: float
    """Of the plan."""
    bound: float
    slack: float
    status: Binding
    objective_without: float | None
    """The best objective found without the limit; that of the plan where nothing better is."""
    bound_without: float | None
    """No plan without the limit is better than this."""
    gain: float | None
    """Relative change of the objective without the limit: above 0 for more goodput, below 0 for less cost."""
    most_gain: float | None
    """The most that the gain can be."""
    value_without: float | None
    """What the optimum without the limit uses of it."""
    decisions_without: Decisions | None
    """The optimum without the limit, where it is better."""


def what_binds(
    instance: Instance,
    plan: Plan,
    *,
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    model: Model = "exact",
    on_progress: OnProgress | None = None,
) -> list[Binds]:
    """For each limit that the instance states: whether it binds the plan, and the optimum without it.

    ``plan`` is the instance's optimum, or a plan of it; where it is the best with all zones alike, so is the optimum
    without a limit.  ``time_limit`` in seconds for each solve.  A goodput target is
    what the least cost is for, so it is not taken out: its status is "not known".  Raises StoppedError on Ctrl-C.
    """
    return [
        _binds(instance, plan, limit, gap=gap, time_limit=time_limit, seed=seed, model=model, report=on_progress)
        for limit in plan.evaluation.limits
    ]


def without_limit(instance: Instance, limit: str) -> Instance | None:
    """The instance without a limit, by its name in an evaluation; None where it can't be taken out."""
    cap = next((cap for cap in caps_of(instance) if cap.limit == limit and cap.kind != "goodput"), None)
    return None if cap is None else without(instance, cap)


def status_of(row: Binds, limit: LimitSlack) -> Binding:
    """How a limit that was found to bind (or not) for one plan does so for another one with this slack."""
    return _how(limit) if row.status.startswith("binds") else row.status


def _how(limit: LimitSlack) -> Binding:
    return "binds" if abs(limit.slack) <= TOUCHED * abs(limit.bound) else "binds through whole units"


def _binds(
    instance: Instance,
    plan: Plan,
    limit: LimitSlack,
    *,
    gap: float,
    time_limit: float | None,
    seed: int,
    model: Model,
    report: OnProgress | None,
) -> Binds:
    free_of_it = without_limit(instance, limit.limit)
    stated = limit.model_dump()
    nothing: dict[str, object] = dict.fromkeys(
        ("objective_without", "bound_without", "gain", "most_gain", "value_without", "decisions_without")
    )
    if free_of_it is None:
        return Binds(**stated, **nothing, status="not known")
    try:
        free = solve(
            free_of_it, gap=gap, time_limit=time_limit, seed=seed, model=model,
            alike=plan.certificate.among == ZONES_ALIKE,
            on_progress=named(report, f"without {limit.limit}"),
        )  # fmt: skip
    except LimitError:
        return Binds(**stated, **nothing, status="not known")
    here, there = plan.certificate, free.certificate
    if there.status == INTERRUPTED:
        raise StoppedError(f"interrupted while the instance was solved without {limit.limit}")
    better = there.value < here.value if here.sense == "minimise" else there.value > here.value
    own = {row.limit: row for row in evaluate(instance, free.decisions, model=model).limits}.get(limit.limit)
    broken = own is not None and own.violated
    # a better plan that meets the limit says nothing of it: the plan given was not the optimum to the last digit
    gains = better and broken
    status: Binding = "does not bind"
    if gains:
        status = _how(limit)
    elif there.status != PROVEN:
        status = "not known"
    value = there.value if gains else here.value
    most = min(there.bound, value) if here.sense == "minimise" else max(there.bound, value)
    return Binds(
        **stated,
        status=status,
        objective_without=value,
        bound_without=most,
        gain=value / here.value - 1.0,
        most_gain=most / here.value - 1.0,
        value_without=own.value if own is not None and gains else None,
        decisions_without=free.decisions if gains else None,
    )
