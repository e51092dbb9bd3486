"""A planner's own plan beside the optimum, decision by decision: what each change alone would bring."""

from __future__ import annotations

import pandas as pd

from spareopt import units
from spareopt.candidates import Model
from spareopt.decisions import Decisions, ZoneChoice
from spareopt.errors import InputError
from spareopt.evaluation import Evaluation, evaluate
from spareopt.instance import Instance

DECISION_FIELDS = ("design", "racks", "intra_block_spares", "inter_block_spares", "repair_plan", "gpu_limit")


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
    my plan so changed meets every limit.  A zone class that either plan splits is compared as a whole.
    """
    rows = []
    for zone in instance.zones:
        ours = [choice for choice in mine.zones if choice.zone == zone.name]
        theirs = [choice for choice in best.zones if choice.zone == zone.name]
        others = [choice for choice in mine.zones if choice.zone != zone.name]
        if len(ours) == len(theirs) == 1:
            for field in DECISION_FIELDS:
                left, right = getattr(ours[0], field), getattr(theirs[0], field)
                changed = ours[0].model_copy(update={field: right})
                alone = Decisions(zones=(*others, changed), checkpoint_plan=mine.checkpoint_plan)
                rows.append(_row(instance, zone.name, field, left, right, alone, model))
        else:
            alone = Decisions(zones=(*others, *theirs), checkpoint_plan=mine.checkpoint_plan)
            rows.append(_row(instance, zone.name, "all", _words(ours), _words(theirs), alone, model))
    alone = mine.model_copy(update={"checkpoint_plan": best.checkpoint_plan})
    rows.append(_row(instance, "", "checkpoint_plan", mine.checkpoint_plan, best.checkpoint_plan, alone, model))
    return pd.DataFrame(rows)


def _row(
    instance: Instance, zone: str, field: str, left: object, right: object, alone: Decisions, model: Model
) -> dict[str, object]:
    value, meets = float("nan"), None
    if left != right:
        try:
            evaluation = evaluate(instance, alone, model=model)
        except (InputError, ValueError):
            meets = False
        else:
            value, meets = objective_value(instance, evaluation) or float("nan"), not evaluation.violated
    return {
        "zone": zone,
        "decision": field,
        "mine": _text(left),
        "optimum": _text(right),
        "alone": value,
        "meets_limits": meets,
    }


def _text(value: object) -> str:
    return units.show(value, units.POWER) if isinstance(value, float) else ("full" if value is None else str(value))


def _words(choices: list[ZoneChoice]) -> str:
    return "; ".join(
        f"{c.count} x {c.design}, {c.racks} racks, I={c.intra_block_spares}, R={c.inter_block_spares}, {c.repair_plan}"
        for c in choices
    )
