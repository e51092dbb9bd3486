"""The plans one step away: each decision moved to the next value offered, all others fixed, scored exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import nan

import pandas as pd

from spareopt.comparison import objective_value
from spareopt.decision_words import repair_words
from spareopt.decisions import REPAIR_FIELDS, Decisions, repair_choice
from spareopt.errors import InputError
from spareopt.evaluation import Evaluation, evaluate
from spareopt.instance import BlockDesign, Instance
from spareopt.repair import repair_choices
from spareopt.repair_plans import RepairPlan
from spareopt.schemes import Model

COLUMNS = [
    "zone", "decision", "from", "to", "taking", "goodput", "goodput_change", "cost_per_year", "cost_change_per_year",
    "objective", "breaks",
]  # fmt: skip


@dataclass(frozen=True)
class _Step:
    """One decision moved: of which zone ("" for the whole site), from what to what, and the plans that do so.

    ``place`` is that of a zone choice that is moved.
    """

    zone: str
    decision: str
    old: object
    new: object
    plans: tuple[Decisions, ...]
    place: int = 0


def one_step_away(instance: Instance, decisions: Decisions, model: Model = "exact") -> pd.DataFrame:
    """A row for each decision and each next value that the instance offers; the other decisions stay as they are.

    ``goodput`` (baseline GPUs), ``cost_per_year`` (currency; NaN where unknown) and ``objective`` are those of the plan
    so moved, ``goodput_change`` is relative to the plan itself, ``cost_change_per_year`` what it costs more;
    ``breaks`` names the limits that it breaks, or says why it can't be built.  Another repair plan is tried with every
    choice it offers, and the best that meets all limits is shown; ``taking`` says which.  Rows keep the order of the
    decisions.  Raises InputError as ``evaluate`` does.
    """
    here = evaluate(instance, decisions, model=model)
    rows = []
    for step in _steps(instance, decisions):
        evaluation, why, place = _best(instance, step.plans, model)
        taken = repair_words(step.plans[place].zones[step.place]) if step.decision == "repair_plan" else []
        rows.append(
            {
                "zone": step.zone,
                "decision": step.decision,
                "from": step.old,
                "to": step.new,
                "taking": ", ".join(taken),
                "goodput": nan if evaluation is None else evaluation.goodput,
                "goodput_change": _change(evaluation, here, "goodput"),
                "cost_per_year": nan if evaluation is None else _known(evaluation.cost_per_year),
                "cost_change_per_year": _more(evaluation, here),
                "objective": nan if evaluation is None else _known(objective_value(instance, evaluation)),
                "breaks": why,
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _known(value: float | None) -> float:
    return nan if value is None else value


def _more(evaluation: Evaluation | None, here: Evaluation) -> float:
    new = None if evaluation is None else evaluation.cost_per_year
    return nan if new is None or here.cost_per_year is None else new - here.cost_per_year


def _change(evaluation: Evaluation | None, here: Evaluation, field: str) -> float:
    if evaluation is None:
        return nan
    new, old = getattr(evaluation, field), getattr(here, field)
    return nan if new is None or not old else new / old - 1.0


def _best(instance: Instance, plans: tuple[Decisions, ...], model: Model) -> tuple[Evaluation | None, str, int]:
    """The best of some plans by the objective, those that meet every limit first; what it breaks; its place."""
    sign = 1.0 if instance.objective.kind == "cost" else -1.0
    scored: list[tuple[bool, float, int, Evaluation]] = []
    why = ""
    for place, plan in enumerate(plans):
        try:
            evaluation = evaluate(instance, plan, model=model)
        except InputError as error:
            why = why or "can't be built: " + "; ".join(fault.message for fault in error.faults)
            continue
        value = objective_value(instance, evaluation)
        scored.append((bool(evaluation.violated), sign * (0.0 if value is None else value), place, evaluation))
    if not scored:
        return None, why, 0
    *_, place, best = min(scored, key=lambda entry: entry[:3])
    return best, ", ".join(limit.limit for limit in best.violated), place


def _steps(instance: Instance, decisions: Decisions) -> Iterator[_Step]:
    zones = {zone.name: zone for zone in instance.zones}
    designs = {design.name: design for design in instance.designs}
    plans = {plan.name: plan for plan in instance.repair_plans}
    shared = plans[decisions.zones[0].repair_plan].shared_by == "site"
    for place, choice in enumerate(decisions.zones):
        zone, design, plan = zones[choice.zone], designs[choice.design], plans[choice.repair_plan]
        offered: dict[str, tuple[object, ...]] = {
            "racks": zone.racks,
            "intra_block_spares": design.intra_block_spares,
            "inter_block_spares": design.inter_block_spares,
        }
        limits = _limits(design)
        if limits:
            offered["gpu_limit"] = limits
        taken = repair_choice(plan, choice)
        for field, name in REPAIR_FIELDS.items():
            values = getattr(plan, name)
            if values is not None and not (shared and field != "start_at"):
                offered[field] = values
        for field, values in offered.items():
            old = getattr(taken, field) if field in REPAIR_FIELDS else getattr(choice, field)
            if field == "gpu_limit" and old is None:
                assert design.power is not None
                old = design.power.gpu_full_limit
            for new in _next(values, old):
                yield _Step(choice.zone, field, old, new, (_moved(decisions, [place], {field: new}),))
        if not shared:
            for other in instance.repair_plans:
                if other.name != plan.name and other.shared_by == "zone":
                    yield _Step(
                        choice.zone, "repair_plan", plan.name, other.name, _with_plan(decisions, [place], other)
                    )
    everywhere = list(range(len(decisions.zones)))
    first = decisions.zones[0]
    if shared:
        plan = plans[first.repair_plan]
        for field in ("crews", "shelf_trays"):
            values, old = getattr(plan, REPAIR_FIELDS[field]), getattr(repair_choice(plan, first), field)
            for new in _next(values or (), old):
                yield _Step("", field, old, new, (_moved(decisions, everywhere, {field: new}),))
    for other in instance.repair_plans:
        if other.name != first.repair_plan and (shared or other.shared_by == "site"):
            yield _Step("", "repair_plan", first.repair_plan, other.name, _with_plan(decisions, everywhere, other))
    for scheme in instance.checkpoint_plans:
        if scheme.name != decisions.checkpoint_plan:
            moved = decisions.model_copy(update={"checkpoint_plan": scheme.name})
            yield _Step("", "checkpoint_plan", decisions.checkpoint_plan, scheme.name, (moved,))


def _limits(design: BlockDesign) -> tuple[float, ...]:
    return () if design.power is None else design.power.gpu_limits or ()


def _next(values: tuple[object, ...], old: object) -> list[object]:
    """The offered values next below and next above the present one."""
    below = [value for value in values if value < old]  # type: ignore[operator]
    above = [value for value in values if value > old]  # type: ignore[operator]
    return below[-1:] + above[:1]


def _moved(decisions: Decisions, places: list[int], update: Mapping[str, object]) -> Decisions:
    zones = tuple(
        choice.model_copy(update=update) if place in places else choice for place, choice in enumerate(decisions.zones)
    )
    return decisions.model_copy(update={"zones": zones})


def _with_plan(decisions: Decisions, places: list[int], plan: RepairPlan) -> tuple[Decisions, ...]:
    """The decisions with another repair plan, with each of the choices it offers."""
    return tuple(
        _moved(decisions, places, {"repair_plan": plan.name, **choice._asdict()}) for choice in repair_choices(plan)
    )
