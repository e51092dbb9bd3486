"""What candidates decide, in the words and values of a plan: to list them, and to keep those with a given decision."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.candidates import Candidates
from spareopt.decisions import DECISION_FIELDS, REPAIR_FIELDS, Decisions, ZoneChoice
from spareopt.instance import Instance

Value = str | int | float
CHECKPOINT_PLAN = "checkpoint_plan"
ALL_DECISIONS = (*DECISION_FIELDS, CHECKPOINT_PLAN)


def offered_values(instance: Instance, decision: str, zone: str = "") -> list[Value]:
    """The values of a decision that an instance offers (for one zone class, or for any), in order."""
    zones = [item for item in instance.zones if zone in ("", item.name)]
    designs = [d for d in instance.designs if any(z.designs is None or d.name in z.designs for z in zones)]
    found: Iterable[Value]
    if decision == CHECKPOINT_PLAN:
        found = [plan.name for plan in instance.checkpoint_plans]
    elif decision == "repair_plan":
        found = [plan.name for plan in instance.repair_plans]
    elif decision == "design":
        found = [design.name for design in designs]
    elif decision == "racks":
        found = sorted({racks for item in zones for racks in item.racks})
    elif decision == "gpu_limit":
        powers = [design.power for design in designs if design.power is not None]
        found = sorted({limit for power in powers for limit in power.gpu_limits or (power.gpu_full_limit,)})
    elif decision in REPAIR_FIELDS:
        offers = [getattr(plan, REPAIR_FIELDS[decision]) for plan in instance.repair_plans]
        found = sorted({value for offer in offers for value in offer or ()})
    else:
        found = sorted({value for design in designs for value in getattr(design, decision)})
    return list(found)


def values_of(candidates: Candidates, table: pd.DataFrame, decision: str) -> NDArray[np.int64]:
    """For each candidate of a table the place of its value in ``offered_values``; −1 where it decides nothing."""
    instance = candidates.instance
    offered = offered_values(instance, decision)
    if decision == "design":
        return _named(table["design"], [design.name for design in instance.designs], offered)
    if decision == "repair_plan":
        return _named(table["repair_plan"], [plan.name for plan in instance.repair_plans], offered)
    column = table["gpu_limit_kw" if decision == "gpu_limit" else decision].to_numpy(dtype=float)
    known = np.array(offered, dtype=float)
    if not len(known):
        return np.full(len(table), -1, dtype=np.int64)
    place = np.clip(np.searchsorted(known, column - 1e-9), 0, len(known) - 1)
    return np.where(np.abs(known[place] - column) <= 1e-9, place, -1).astype(np.int64)


def _named(column: pd.Series, names: list[str], offered: list[Value]) -> NDArray[np.int64]:
    places = np.array([offered.index(name) if name in offered else -1 for name in names], dtype=np.int64)
    return np.asarray(places[column.to_numpy(dtype=np.int64)])


def decided(choice: ZoneChoice, instance: Instance, decision: str) -> Value | None:
    """The value of a decision in a zone choice; None where it decides nothing."""
    value = getattr(choice, decision)
    if decision == "gpu_limit" and value is None:
        power = next(design for design in instance.designs if design.name == choice.design).power
        value = None if power is None else power.gpu_full_limit
    return value  # type: ignore[no-any-return]


def row_of(candidates: Candidates, table: pd.DataFrame, choice: ZoneChoice) -> int | None:
    """The place in a table of candidates of the one that is a zone choice; None where it is none of them."""
    instance = candidates.instance
    fits = table["zone"].to_numpy() == next(i for i, zone in enumerate(instance.zones) if zone.name == choice.zone)
    for decision in DECISION_FIELDS:
        value, offered = decided(choice, instance, decision), offered_values(instance, decision)
        if value is not None and offered:
            place = next((i for i, known in enumerate(offered) if same(known, value)), -2)
            fits = fits & (values_of(candidates, table, decision) == place)
    rows = np.flatnonzero(fits)
    return int(rows[0]) if len(rows) == 1 else None


def same(left: Value, right: Value) -> bool:
    """Whether two values are one; powers but for rounding."""
    if isinstance(left, float) and isinstance(right, float):
        return abs(left - right) <= 1e-9
    return left == right


def in_plan(decisions: Decisions, instance: Instance, zone: str, decision: str) -> list[Value]:
    """The values of a decision that a plan has in a zone class ("" for the checkpoint plan), each once, in order."""
    if decision == CHECKPOINT_PLAN:
        return [decisions.checkpoint_plan]
    values = [decided(choice, instance, decision) for choice in decisions.zones if zone in ("", choice.zone)]
    return sorted({value for value in values if value is not None}, key=lambda value: (str(type(value)), value))
