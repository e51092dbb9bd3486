"""A planner's own plan beside the optimum, decision by decision: what each change alone would bring."""

from __future__ import annotations

import pandas as pd

from spareopt.decision_words import FULL, choices_words, value_words
from spareopt.decisions import DECISION_FIELDS, REPAIR_FIELDS, Decisions, ZoneChoice
from spareopt.errors import InputError
from spareopt.evaluation import Evaluation, evaluate
from spareopt.instance import Instance
from spareopt.schemes import Model


def objective_value(instance: Instance, evaluation: Evaluation) -> float | None:
    """The instance's objective of an evaluation, in its own unit."""
    return {
        "goodput": evaluation.goodput,
        "cost": evaluation.cost_per_year,
        "goodput_per_dollar": evaluation.goodput_gpu_hours_per_money,
    }[instance.objective.kind]


def compare_decisions(instance: Instance, mine: Decisions, best: Decisions, model: Model = "exact") -> pd.DataFrame:
    """A row per decision: mine, the optimum's, and the objective of my plan with that one decision changed.

    ``alone`` is NaN where the decisions are equal or the change alone can't be built; ``meets_limits`` says whether
    my plan so changed meets every limit (None where the decisions are equal), ``remark`` which ones it breaks or why
    it can't be built.  A class of zones that either plan splits among several choices is compared as a whole.
    """
    rows = []
    for zone in instance.zones:
        ours = [plain_choice(instance, choice) for choice in mine.zones if choice.zone == zone.name]
        theirs = [plain_choice(instance, choice) for choice in best.zones if choice.zone == zone.name]
        others = [choice for choice in mine.zones if choice.zone != zone.name]
        if len(ours) == len(theirs) == 1:
            for field in DECISION_FIELDS:
                left, right = getattr(ours[0], field), getattr(theirs[0], field)
                if left is right is None and field in REPAIR_FIELDS:
                    continue  # the repair plans leave nothing of it to choose
                changed = ours[0].model_copy(update={field: right})
                alone = Decisions(zones=(*others, changed), checkpoint_plan=mine.checkpoint_plan)
                rows.append(_row((zone.name, field), (left, right), instance, alone, model))
        else:
            alone = Decisions(zones=(*others, *theirs), checkpoint_plan=mine.checkpoint_plan)
            rows.append(_row((zone.name, "all"), (choices_words(ours), choices_words(theirs)), instance, alone, model))
    alone = mine.model_copy(update={"checkpoint_plan": best.checkpoint_plan})
    rows.append(_row(("", "checkpoint_plan"), (mine.checkpoint_plan, best.checkpoint_plan), instance, alone, model))
    return pd.DataFrame(rows)


def plain_choice(instance: Instance, choice: ZoneChoice) -> ZoneChoice:
    """The choice with the full GPU limit left out, so that both ways to write it are equal."""
    power = next(design for design in instance.designs if design.name == choice.design).power
    full = power is not None and choice.gpu_limit is not None and choice.gpu_limit >= power.gpu_full_limit * (1 - 1e-9)
    return choice.model_copy(update={"gpu_limit": None}) if full else choice


def _row(
    place: tuple[str, str], values: tuple[object, object], instance: Instance, alone: Decisions, model: Model
) -> dict[str, object]:
    (zone, field), (left, right) = place, values
    value: float | None = None
    meets, remark = None, ""
    if left != right:
        try:
            evaluation = evaluate(instance, alone, model=model)
        except InputError as error:
            meets, remark = False, "can't be built alone: " + "; ".join(fault.message for fault in error.faults)
        else:
            value, meets = objective_value(instance, evaluation), not evaluation.violated
            remark = ", ".join(f"breaks {limit.limit}" for limit in evaluation.violated)
    return {
        "zone": zone,
        "decision": field,
        "mine": decision_words(field, left),
        "optimum": decision_words(field, right),
        "alone": float("nan") if value is None else value,
        "meets_limits": meets,
        "remark": remark,
    }


def decision_words(field: str, value: object) -> str:
    """The value of a decision in words; what None means, too."""
    if value is None:
        return FULL if field == "gpu_limit" else "not stated"
    return value_words(field, value)
