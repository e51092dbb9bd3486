"""Explain an infeasible instance: which limits conflict, what each could be at best, what to move to have a plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal

from spareopt.caps import Cap, typed
from spareopt.decisions import Decisions
from spareopt.errors import Fault, InputError, LimitError, SolverError, StoppedError
from spareopt.evaluation import evaluate
from spareopt.extremes import TOLERANCE, Extremes, Reach, unbuildable
from spareopt.folders import read_result
from spareopt.instance import Instance
from spareopt.record import Frozen, Result
from spareopt.schemes import Model
from spareopt.search import OnProgress
from spareopt.settings import setting
from spareopt.what_if import changed

MOST_CONFLICTS = 20


class LimitReach(Frozen):
    """A limit that the instance states, and what its quantity can be at best."""

    limit: str
    """The field, as ``--set`` names it."""
    name: str
    """The limit in words."""
    unit: str
    """Of its values."""
    sense: Literal["<=", ">="]
    """Whether it is a most (<=) or a least (>=)."""
    stated: float
    """What the instance states."""
    alone: float | None
    """The best value with no other limit held; null where no plan exists, or the limit is no number."""
    held: float | None
    """The best value with all other limits held; null where the others can't be met together either."""
    plan: Decisions | None
    """A plan with the value ``held``."""


class Conflict(Frozen):
    """Limits that can't be met together; without any one of them the others can."""

    limits: tuple[str, ...]
    """The fields of the limits."""
    best: tuple[float | None, ...]
    """The best value of each with only the others of the conflict held; null for a limit that is no number."""


class Move(Frozen):
    """A limit moved so far that a plan exists."""

    limit: str
    """The field of the limit."""
    needed: float | None
    """The least move, not rounded; null where the limit is to be taken out."""
    value: str | int | float | None
    """The same as an instance file takes it, rounded so that the plan still exists; null takes the limit out."""
    option: str
    """The same as an option of the command line."""


class Remedy(Frozen):
    """Moves that together are enough, all other limits as they are."""

    moves: tuple[Move, ...]
    """All of them are needed."""
    plan: Decisions
    """A plan that meets every limit once they are made, by the evaluator."""

    @property
    def changes(self) -> dict[str, str | int | float | None]:
        """The moves as changes of the instance."""
        return {move.limit: move.value for move in self.moves}


class Infeasibility(Result):
    """Why an instance has no plan.  The same bytes for the same input and versions, without a time limit."""

    schema_version: Literal[1] = 1
    instance: str
    """Name of the instance."""
    input_hash: str
    """SHA-256 of the resolved instance."""
    applied: tuple[str, ...]
    """Overlays, scenarios and overrides that were laid over the instance."""
    currency: Literal["USD", "EUR", "GBP", "CNY", "JPY"]
    """Of all money."""
    model: Model
    """The availability model that scored the plans."""
    unbuildable: dict[str, dict[str, int]]
    """Zone classes without any choice that can be built: how many were left out for which reason."""
    useless: bool
    """Whether no plan does any useful work, whatever the limits."""
    limits: tuple[LimitReach, ...]
    """Every limit that the instance states."""
    conflicts: tuple[Conflict, ...]
    """Minimal conflicts that share no limit; where limits are moved, all of them must be resolved."""
    remedies: tuple[Remedy, ...]
    """Single limits that are enough to move; where there are none, the fewest that must move together."""
    complete: bool
    """Whether all of this is proven; else conflicts may not be minimal and values not the best."""
    tolerance: float
    """Relative, of the best values that are not whole."""


def read_infeasibility(source: str | Path) -> Infeasibility:
    """An explanation read back from its JSON file.  Raises InputError."""
    return read_result(Infeasibility, source, "infeasibility.json", "an explanation of an infeasible instance")


def explain_infeasible(
    instance: Instance, model: Model = "exact", time_limit: float | None = None, on_progress: OnProgress | None = None
) -> Infeasibility:
    """Why no plan meets all limits of an instance, and which moves of them give one.

    ``time_limit`` is in seconds; what is not proven by then is said to be so.  Raises InputError where the instance
    has a plan, LimitError or StoppedError where that it has none could not be proven in time.
    """
    extremes = Extremes(instance, model, time_limit, on_progress)
    useless = bool(extremes.levels) and not extremes.useful
    if not extremes.levels or useless:
        return _infeasibility(instance, model, useless, extremes)
    for cap in extremes.caps:
        extremes.reach(cap, ())
    _check_infeasible(extremes)
    conflicts = _disjoint_conflicts(extremes)
    reaches = {cap: extremes.reach(cap, _without(extremes.caps, [cap])) for cap in extremes.caps}
    singles = [[cap] for cap in extremes.caps if reaches[cap].plan is not None]
    moved = singles or [_fewest(extremes, conflicts)]
    remedies = [remedy for caps in moved if (remedy := _remedy(extremes, caps)) is not None]
    return _infeasibility(instance, model, False, extremes, conflicts, remedies)


def _infeasibility(
    instance: Instance,
    model: Model,
    useless: bool,
    extremes: Extremes,
    conflicts: Sequence[tuple[Cap, ...]] = (),
    remedies: Sequence[Remedy] = (),
) -> Infeasibility:
    limits, complete = [], True
    for cap in extremes.caps:
        alone, held = Reach(None, None, True), Reach(None, None, True)
        if conflicts:
            alone, held = extremes.reach(cap, ()), extremes.reach(cap, _without(extremes.caps, [cap]))
        complete = complete and alone.proven and held.proven
        limits.append(
            LimitReach(
                limit=cap.path, name=cap.name, unit=cap.unit, sense=cap.sense, stated=cap.bound,
                alone=_value(cap, alone), held=_value(cap, held), plan=held.plan,
            )
        )  # fmt: skip
    found = []
    for conflict in conflicts:
        best = [extremes.reach(cap, _without(conflict, [cap])) for cap in conflict]
        complete = complete and all(reach.plan is not None and reach.proven for reach in best)
        complete = complete and not extremes.feasible(conflict).plan and extremes.feasible(conflict).proven
        paths = tuple(cap.path for cap in conflict)
        values = tuple(_value(cap, reach) for cap, reach in zip(conflict, best, strict=True))
        found.append(Conflict(limits=paths, best=values))
    return Infeasibility(
        instance=instance.name,
        input_hash=instance.input_hash(),
        applied=instance.applied,
        currency=instance.currency,
        model=model,
        unbuildable=unbuildable(instance, model),
        useless=useless,
        limits=tuple(limits),
        conflicts=tuple(found),
        remedies=tuple(remedies),
        complete=complete,
        tolerance=TOLERANCE,
    )


def _value(cap: Cap, reach: Reach) -> float | None:
    return None if reach.loss is None or cap.kind == "group" else cap.value(reach.loss)


def _without(caps: Collection[Cap], gone: Collection[Cap]) -> list[Cap]:
    return [cap for cap in caps if cap not in gone]


def _check_infeasible(extremes: Extremes) -> None:
    found = extremes.feasible(extremes.caps)
    if found.plan is not None:
        message = "has a plan that meets every limit, so there is nothing to explain; find the best one with solve"
        raise InputError(extremes.instance.name, [Fault("", message)])
    if not found.proven and extremes.interrupted:
        raise StoppedError("interrupted before it was known whether there is a plan")
    if not found.proven:
        raise LimitError("the limit was reached before it was known whether there is a plan")


def _disjoint_conflicts(extremes: Extremes) -> list[tuple[Cap, ...]]:
    """Minimal conflicts without a limit in common, those of one limit first."""
    conflicts: list[tuple[Cap, ...]] = []
    left = list(extremes.caps)
    for cap in extremes.caps:
        alone = extremes.feasible([cap])
        if alone.plan is None and alone.proven:
            conflicts.append((cap,))
            left.remove(cap)
    while left and len(conflicts) < MOST_CONFLICTS:
        found = _minimal(extremes, left)
        if found is None:
            break
        conflicts.append(found)
        left = _without(left, found)
    return conflicts


def _minimal(extremes: Extremes, caps: Sequence[Cap]) -> tuple[Cap, ...] | None:
    """A minimal conflict among caps, by leaving out one after the other; None where a plan meets them all.

    What is not known in time counts as a plan: the conflict may then be larger than it need be.
    """
    whole = extremes.feasible(caps)
    if whole.plan is not None or not whole.proven:
        return None
    left = list(caps)
    for cap in reversed(caps):
        rest = _without(left, [cap])
        found = extremes.feasible(rest)
        if found.plan is None and found.proven:
            left = rest
    return tuple(left)


def _fewest(extremes: Extremes, known: Sequence[tuple[Cap, ...]]) -> list[Cap]:
    """The fewest caps without which the others can be met: the smallest set that hits every minimal conflict.

    Conflicts are found as they are needed: where what is left is still infeasible it holds another one.
    """
    conflicts = list(known)
    while True:
        hitting = next(
            list(caps)
            for caps in _subsets(extremes.caps)
            if all(any(cap in conflict for cap in caps) for conflict in conflicts)
        )
        further = _minimal(extremes, _without(extremes.caps, hitting))
        if further is None:
            return hitting
        conflicts.append(further)


def _subsets(caps: Sequence[Cap]) -> Iterator[tuple[Cap, ...]]:
    for number in range(1, len(caps) + 1):
        yield from combinations(caps, number)


def _remedy(extremes: Extremes, caps: Sequence[Cap]) -> Remedy | None:
    """The moves of caps, one after the other, each as far as it must with those after it free; None: no plan found."""
    moves: list[Move] = []
    instance, plan = extremes.instance, None
    for place, cap in enumerate(caps):
        later = caps[place:]
        left = extremes.clock.remaining()
        here = Extremes(instance, extremes.model, left, extremes.report) if moves else extremes
        paths = {other.path for other in later}
        held = [other for other in here.caps if other.path not in paths]
        own = next(other for other in here.caps if other.path == cap.path)
        reach = here.reach(own, held)
        if reach.plan is None or reach.loss is None:
            return None
        try:
            if cap.kind == "group":
                move, plan = _smaller_group(here, own, held, reach.plan)
            else:
                value, plan = typed(own, reach.loss), reach.plan
                move = Move(limit=cap.path, needed=own.value(reach.loss), value=value, option=setting(cap.path, value))
            instance = changed(instance, {move.limit: move.value})
        except InputError:
            return None  # such as an availability of nothing, which no instance can state
        moves.append(move)
    assert plan is not None
    return Remedy(moves=tuple(moves), plan=_checked(instance, plan, extremes.model))


def _smaller_group(extremes: Extremes, cap: Cap, held: Sequence[Cap], without: Decisions) -> tuple[Move, Decisions]:
    """The largest part of a placement group that can be placed whole, with its plan; else the group taken out."""
    instance, group = extremes.instance, round(cap.bound)
    working = {(d.trays_per_block - i) * d.gpus_per_tray for d in instance.designs for i in d.intra_block_spares}
    for part in range(group // 2, min(working) - 1, -1):
        if group % part == 0 and any(part % gpus == 0 for gpus in working):
            smaller = Extremes(changed(instance, {cap.path: part}), extremes.model, extremes.clock.remaining())
            paths = {cap.path, *(other.path for other in held)}
            found = smaller.feasible([other for other in smaller.caps if other.path in paths])
            if found.plan is not None:
                move = Move(limit=cap.path, needed=float(part), value=part, option=setting(cap.path, part))
                return move, found.plan
    return Move(limit=cap.path, needed=None, value=None, option=setting(cap.path, None)), without


def _checked(instance: Instance, plan: Decisions, model: Model) -> Decisions:
    """The plan, which the evaluator says meets every limit of the changed instance."""
    if broken := evaluate(instance, plan, model=model).violated:
        raise SolverError(f"the plan found breaks its limit {broken[0].limit}; please report this")
    return plan
