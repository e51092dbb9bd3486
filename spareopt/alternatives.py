"""Why not another decision: the best plan that has it, what it loses and where, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spareopt import units
from spareopt.candidates import Candidates, enumerate_candidates
from spareopt.caps import caps_of, without
from spareopt.comparison import objective_value
from spareopt.decided import (
    ALL_DECISIONS,
    CHECKPOINT_PLAN,
    Value,
    decided,
    in_plan,
    offered_values,
    row_of,
    same,
    values_of,
)
from spareopt.decision_words import value_words
from spareopt.decisions import Decisions, ZoneChoice, beyond_choices
from spareopt.dominance import prune
from spareopt.errors import Fault, InfeasibleError, InputError, LimitError, StoppedError
from spareopt.evaluation import Evaluation, evaluate
from spareopt.instance import Instance
from spareopt.levels import level_instances, level_of
from spareopt.optimise import solve
from spareopt.plan import INTERRUPTED, PROVEN, Plan
from spareopt.record import Frozen, Result
from spareopt.schemes import Model, recovery_schemes
from spareopt.search import DEFAULT_GAP, OnProgress, named
from spareopt.settings import split_setting

SOURCE = "--why-not"
EXPECTED = "DECISION=VALUE such as intra_block_spares=0"

Outcome = Literal["the best plan has it", "worse", "no worse", "breaks a limit", "can't be built", "not known"]


class Dominated(Frozen):
    """A zone choice, and one that is at least as good in every plan that could use it."""

    choice: ZoneChoice
    by: ZoneChoice


class WhyNot(Result):
    """What comes of other decisions than the best plan's."""

    schema_version: Literal[1] = 1
    asked: str
    """The decisions asked for, or the name of the plan."""
    outcome: Outcome
    reason: str
    """Why there is no such plan, or which limits it breaks; empty else."""
    best_value: float
    """The objective of the best plan."""
    value: float | None
    """The objective of the best plan with the decisions asked for; of the plan asked about."""
    bound: float | None
    """No plan with those decisions is better than this; None where a whole plan was asked about."""
    change: float | None
    """Of the objective, relative to the best plan."""
    breaks: tuple[str, ...]
    """The limits that the plan asked about breaks, or those that rule the decisions out one by one."""
    decisions: Decisions | None
    evaluation: Evaluation | None
    loss_changes: dict[str, float]
    """Of each share of all GPU-hours, against the best plan."""
    gpus_change: float | None
    """Of all GPUs, relative: goodput is GPUs × useful share × speed."""
    speed_change: float | None
    """Of the hardware and LLM scale, relative."""
    capital_change: float | None
    cost_change_per_year: float | None
    dominated: tuple[Dominated, ...]
    """Zone choices that another one dominates: they need not be looked at."""
    beyond_choices: tuple[str, ...]
    """What the plan asked about has that the instance does not offer."""


@dataclass(frozen=True)
class Forced:
    """Decisions that are forced: of a zone class, or of all ("" as its name)."""

    zone: str
    decision: str
    value: Value

    def words(self) -> str:
        """As it is typed, but for commas in numbers."""
        where = f"zone.{self.zone}." if self.zone else ""
        return f"{where}{self.decision}={value_words(self.decision, self.value)}"


def why_not(
    instance: Instance,
    forced: str | Mapping[str, Any] | Decisions,
    *,
    plan: Plan | None = None,
    asked: str | None = None,
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    model: Model = "exact",
    on_progress: OnProgress | None = None,
) -> WhyNot:
    """What other decisions would come to: the best plan that has them, or a whole plan as it is.

    ``forced``: decisions with their values, as ``{"intra_block_spares": 0}`` or the text "zone.main.design=nvl72,
    inter_block_spares=4" (of all zones where none is named), the rest chosen anew; or the decisions of a whole plan,
    only scored.  ``plan``: the optimum, solved for when left out.  ``time_limit`` in seconds for each solve.  Raises
    InputError for decisions or values that the instance does not offer; InfeasibleError where it has no plan at all.
    """
    if not isinstance(forced, Decisions):
        wanted = read_forced(instance, forced)
    if plan is None:
        plan = solve(instance, gap=gap, time_limit=time_limit, seed=seed, model=model, on_progress=on_progress)
    if isinstance(forced, Decisions):
        return _whole_plan(instance, forced, plan, asked or "the plan", model)
    words = asked or ", ".join(item.words() for item in wanted)
    if all(in_plan(plan.decisions, instance, item.zone, item.decision) == [item.value] for item in wanted):
        return _result(instance, words, "the best plan has it", plan, plan.decisions, plan.evaluation, None)
    options: dict[str, Any] = {"gap": gap, "time_limit": time_limit, "seed": seed, "model": model}
    options["on_progress"] = named(on_progress, words)
    restricted, keep = _restricted(instance, wanted)
    if reason := _not_built(restricted, wanted, keep, model):
        return _result(instance, words, "can't be built", plan, None, None, None, reason=reason)
    try:
        best = solve(restricted, keep=keep, **options)
    except InfeasibleError as error:
        breaks = _ruled_out_by(restricted, keep, options)
        return _result(instance, words, "breaks a limit", plan, None, None, None, reason=str(error), breaks=breaks)
    except LimitError as error:
        return _result(instance, words, "not known", plan, None, None, None, reason=str(error))
    here, there = plan.certificate, best.certificate
    if there.status == INTERRUPTED:
        raise StoppedError(f"interrupted while the best plan with {words} was looked for")
    worse = there.value > here.value if here.sense == "minimise" else there.value < here.value
    outcome: Outcome = "worse" if worse else "no worse"
    if worse and there.status != PROVEN:
        outcome = "not known"
    return _result(instance, words, outcome, plan, best.decisions, best.evaluation, there.bound)


def read_forced(instance: Instance, forced: str | Mapping[str, Any]) -> list[Forced]:
    """Forced decisions with their values as the instance offers them.  Raises InputError."""
    if isinstance(forced, str):
        pairs = [_pair(part) for part in forced.split(",") if part.strip()]
        given: dict[str, Any] = {}
        for path, text in pairs:
            if path in given:
                raise InputError(SOURCE, [Fault(path, "given twice; keep one of them")])
            given[path] = text
    else:
        given = dict(forced)
    if not given:
        raise InputError(SOURCE, [Fault("", f"expected {EXPECTED}")])
    return [_forced(instance, path.strip(), value) for path, value in given.items()]


def _pair(part: str) -> tuple[str, str]:
    path, text = split_setting(SOURCE, part, EXPECTED)
    if not text.strip():
        raise InputError(SOURCE, [Fault("", f"expected {EXPECTED}, got {part.strip()!r}")])
    return path, text.strip()


def _forced(instance: Instance, path: str, value: Any) -> Forced:
    zone, decision = "", path
    if path.startswith("zone."):
        zone, _, decision = path.removeprefix("zone.").rpartition(".")
        names = [item.name for item in instance.zones]
        if zone not in names:
            raise InputError(SOURCE, [Fault(path, f"unknown zone {zone!r}; expected one of {', '.join(names)}")])
    if decision not in ALL_DECISIONS or (zone and decision == CHECKPOINT_PLAN):
        expected = ", ".join(ALL_DECISIONS)
        message = f"unknown decision {decision!r}; expected one of {expected}, after zone.NAME. for one zone class"
        raise InputError(SOURCE, [Fault(path, message)])
    offered = offered_values(instance, decision, zone)
    wanted = _value(value, decision, path)
    for known in offered:
        if same(known, wanted):
            return Forced(zone, decision, known)
    shown = [value_words(decision, known) for known in offered]
    some = ", ".join(shown) if len(shown) <= 12 else f"{', '.join(shown[:4])}, ... {shown[-1]}"
    message = f"{value} is not offered; the instance offers {some or 'no choice of it'}"
    raise InputError(
        SOURCE, [Fault(path, f"{message}; offer more with --set, or name a plan file to score it as it is")]
    )


def _value(value: Any, decision: str, path: str) -> Value:
    if decision in ("design", "repair_plan", CHECKPOINT_PLAN):
        return str(value)
    try:
        if decision == "gpu_limit":
            return float(value) if isinstance(value, int | float) else units.parse(value, units.POWER)
        return int(str(value).replace(",", ""))
    except ValueError:
        expected = 'a power such as "1100 W"' if decision == "gpu_limit" else "a whole number"
        raise InputError(SOURCE, [Fault(path, f"expected {expected}, got {value!r}")]) from None


def _restricted(instance: Instance, wanted: list[Forced]) -> tuple[Instance, Callable[[Candidates], NDArray[np.bool_]]]:
    """The instance with a forced checkpoint plan alone, and which of its candidates have the other forced decisions."""
    schemes = instance.checkpoint_plans
    for item in wanted:
        if item.decision == CHECKPOINT_PLAN:
            schemes = tuple(plan for plan in schemes if plan.name == item.value)
    names = [zone.name for zone in instance.zones]

    def keep(candidates: Candidates) -> NDArray[np.bool_]:
        table = candidates.table
        mask = np.ones(len(table), dtype=bool)
        for item in wanted:
            if item.decision == CHECKPOINT_PLAN:
                continue
            offered = offered_values(candidates.instance, item.decision)
            place = offered.index(item.value) if item.value in offered else -2
            fits = values_of(candidates, table, item.decision) == place
            if item.zone:
                fits |= table["zone"].to_numpy() != names.index(item.zone)
            mask &= fits
        return mask

    return instance.model_copy(update={"checkpoint_plans": schemes}), keep


def _not_built(
    instance: Instance, wanted: list[Forced], keep: Callable[[Candidates], NDArray[np.bool_]], model: Model
) -> str:
    """Why some zone class has no candidate with the forced decisions; empty where each has one."""
    reasons: dict[str, None] = {}
    for part in level_instances(instance):
        candidates = enumerate_candidates(part, model)
        left = candidates.only(keep(candidates)).table["zone"]
        missing = [zone.name for z, zone in enumerate(instance.zones) if not (left == z).any()]
        if not missing:
            return ""
        narrow = enumerate_candidates(_offering(part, wanted), model).excluded
        found = ", ".join(reason for reason, number in narrow.items() if number)
        reasons[f"zone {missing[0]!r} has no choice with it{': ' if found else ''}{found}"] = None
    return "; ".join(reasons)


def _offering(instance: Instance, wanted: list[Forced]) -> Instance:
    """The instance with fewer choices, so that what can't be built is counted for the forced ones alone."""
    designs = list(instance.designs)
    for item in wanted:
        if item.decision == "design":
            designs = [design for design in designs if design.name == item.value] or designs
        if item.decision in ("intra_block_spares", "inter_block_spares"):
            designs = [
                design.model_copy(update={item.decision: (item.value,)})
                for design in designs
                if item.value in getattr(design, item.decision)
            ]
    return instance.model_copy(update={"designs": tuple(designs)})


def _ruled_out_by(
    instance: Instance, keep: Callable[[Candidates], NDArray[np.bool_]], options: dict[str, Any]
) -> tuple[str, ...]:
    """The limits without any one of which there would be a plan with the forced decisions."""
    found = []
    for cap in caps_of(instance):
        if cap.kind == "goodput":  # what the least cost is for
            continue
        try:
            solve(without(instance, cap), keep=keep, **options)
        except (InfeasibleError, LimitError):
            continue
        found.append(cap.limit)
    return tuple(found)


def _whole_plan(instance: Instance, decisions: Decisions, plan: Plan, asked: str, model: Model) -> WhyNot:
    """A whole plan, scored as it is."""
    try:
        evaluation = evaluate(instance, decisions, model=model)
    except InputError as error:
        raise InputError(asked, error.faults) from None
    value = objective_value(instance, evaluation)
    breaks = tuple(limit.limit for limit in evaluation.violated)
    here = plan.certificate
    worse = value is None or (value > here.value if here.sense == "minimise" else value < here.value)
    outcome: Outcome = "worse" if worse else "no worse"
    if breaks:
        outcome = "breaks a limit"
    elif _plain(instance, decisions) == _plain(instance, plan.decisions):
        outcome = "the best plan has it"
    beyond = tuple(beyond_choices(instance, decisions))
    dominated = () if beyond else _dominated(instance, decisions, model)
    return _result(
        instance, asked, outcome, plan, decisions, evaluation, None, breaks=breaks, dominated=dominated, beyond=beyond
    )


def _plain(instance: Instance, decisions: Decisions) -> tuple[str, list[str]]:
    """A plan up to the order of its zones and the two ways to write a full GPU limit."""
    zones = [
        choice.model_copy(update={"gpu_limit": decided(choice, instance, "gpu_limit")}).model_dump_json()
        for choice in decisions.zones
    ]
    return decisions.checkpoint_plan, sorted(zones)


def _dominated(instance: Instance, decisions: Decisions, model: Model) -> tuple[Dominated, ...]:
    """Which zone choices of a plan are dominated, and by what: as the audit of the plan's own level has it."""
    level = level_of(instance, decisions)
    candidates = enumerate_candidates(level, model)
    schemes = recovery_schemes(level, model)
    winner = prune(candidates, schemes)
    found = []
    for choice in decisions.zones:
        row = row_of(candidates, candidates.table, choice)
        if row is not None and winner.iloc[row] >= 0:
            found.append(Dominated(choice=choice, by=candidates.choice(int(winner.iloc[row]), choice.count)))
    return tuple(found)


def _result(
    instance: Instance,
    asked: str,
    outcome: Outcome,
    plan: Plan,
    decisions: Decisions | None,
    evaluation: Evaluation | None,
    bound: float | None,
    *,
    reason: str = "",
    breaks: tuple[str, ...] = (),
    dominated: tuple[Dominated, ...] = (),
    beyond: tuple[str, ...] = (),
) -> WhyNot:
    best = plan.evaluation
    value = None if evaluation is None else objective_value(instance, evaluation)
    if outcome == "the best plan has it":
        value = plan.certificate.value  # to the last digit
    changes = {} if evaluation is None else {k: evaluation.losses[k] - best.losses[k] for k in best.losses}
    return WhyNot(
        asked=asked,
        outcome=outcome,
        reason=reason,
        best_value=plan.certificate.value,
        value=value,
        bound=bound,
        change=None if value is None else value / plan.certificate.value - 1.0,
        breaks=breaks,
        decisions=decisions,
        evaluation=evaluation,
        loss_changes=changes,
        gpus_change=None if evaluation is None else evaluation.gpus / best.gpus - 1.0,
        speed_change=None if evaluation is None else evaluation.scale / best.scale - 1.0,
        capital_change=_difference(evaluation, best, "capital"),
        cost_change_per_year=_difference(evaluation, best, "cost_per_year"),
        dominated=dominated,
        beyond_choices=beyond,
    )


def _difference(evaluation: Evaluation | None, best: Evaluation, field: str) -> float | None:
    new, old = None if evaluation is None else getattr(evaluation, field), getattr(best, field)
    return None if new is None or old is None else new - old
