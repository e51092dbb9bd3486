"""Plans side by side: every decision and number in a row, with what differs marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spareopt.comparison import decision_words, plain_choice
from spareopt.decision_words import choices_words
from spareopt.decisions import DECISION_FIELDS, REPAIR_FIELDS, ZoneChoice
from spareopt.evaluation import Evaluation
from spareopt.record import Frozen
from spareopt.solved import Solved

Value = str | int | float | None
ALIKE = 1e-9
"""Relative; numbers this near differ by rounding alone."""


class ComparedRow(Frozen):
    """A decision or a number of all plans."""

    group: str
    """``decisions``, ``score``, ``losses``, ``money``, ``power``, ``certificate`` or ``inputs``."""
    quantity: str
    unit: str
    """Empty for text and plain numbers."""
    values: tuple[Value, ...]
    """One for each plan; None where it has none."""
    differs: bool


_SCORE = (
    ("goodput", "baseline GPUs"),
    ("goodput_scale", ""),
    ("cett", ""),
    ("availability", ""),
    ("unavailability", ""),
    ("recovery_efficiency", ""),
    ("interruptions_per_day", "per day"),
    ("checkpoint_period_h", "h"),
    ("scale", ""),
    ("gpus", "GPUs"),
    ("working_gpus", "GPUs"),
    ("wall_time_h", "h"),
)
_POWER = (
    ("it_power_kw", "kW"),
    ("site_power_kw", "kW"),
    ("energy_kwh_per_year", "kWh per year"),
    ("carbon_kg_per_year", "kg per year"),
)


def side_by_side(plans: Sequence[Solved]) -> tuple[ComparedRow, ...]:
    """Decisions, score, losses, money, power, certificate and inputs of plans, a row each."""
    scores = [solved.plan.evaluation for solved in plans]
    moneys = list(dict.fromkeys(score.currency for score in scores))
    money = moneys[0] if len(moneys) == 1 else ""
    over = {"capital": "", "yearly_cost": " per year", "cost_per_year": " per year", "cost_per_useful_gpu_hour": ""}
    rows = [_row("decisions", "currency", "", [score.currency for score in scores])] if not money else []
    for (zone, decision), words in decision_rows(plans).items():
        rows.append(_row("decisions", f"{zone}.{decision}" if zone else decision, "", words))
    rows += [_numbers("score", name, unit, scores) for name, unit in _SCORE]
    for loss in dict.fromkeys(name for score in scores for name in score.losses):
        rows.append(_row("losses", loss, "share", [score.losses.get(loss) for score in scores]))
    unit = money or "own currency"
    rows += [_numbers("money", name, f"{unit}{per}", scores) for name, per in over.items()]
    rows += [_numbers("power", name, unit, scores) for name, unit in _POWER]
    certificates = [solved.plan.certificate for solved in plans]
    for name in ("objective", "unit", "value", "bound", "gap", "gap_asked", "status", "model", "among"):
        rows.append(_row("certificate", name, "", [getattr(certificate, name) for certificate in certificates]))
    origins = [solved.plan.provenance for solved in plans]
    rows.append(_row("inputs", "instance", "", [origin.instance for origin in origins]))
    rows.append(_row("inputs", "applied", "", ["; ".join(origin.applied) for origin in origins]))
    rows.append(_row("inputs", "input_hash", "", [origin.input_hash for origin in origins]))
    for package in dict.fromkeys(name for origin in origins for name in origin.versions):
        rows.append(_row("inputs", f"version of {package}", "", [o.versions.get(package) for o in origins]))
    rows.append(_row("inputs", "seed", "", [origin.seed for origin in origins]))
    return tuple(row for row in rows if any(value is not None for value in row.values))


def _numbers(group: str, name: str, unit: str, scores: Sequence[Evaluation]) -> ComparedRow:
    return _row(group, name, unit, [getattr(score, name) for score in scores])


def _row(group: str, quantity: str, unit: str, values: Sequence[Any]) -> ComparedRow:
    differs = any(not _alike(values[0], value) for value in values[1:])
    return ComparedRow(group=group, quantity=quantity, unit=unit, values=tuple(values), differs=differs)


def _alike(one: Value, other: Value) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= ALIKE * max(abs(one), abs(other))
    return one == other


def decision_rows(plans: Sequence[Solved]) -> dict[tuple[str, str], list[str | None]]:
    """The value of each decision in each plan in words, by zone class ("" for the job) and decision.

    None where a plan has no such zone class or decision.  A class that any plan splits among several choices has, after
    the values of each decision, a row ``all`` with the choices themselves.
    """
    result: dict[tuple[str, str], list[str | None]] = {}
    for zone in dict.fromkeys(choice.zone for solved in plans for choice in solved.plan.decisions.zones):
        choices = [
            [plain_choice(solved.instance, choice) for choice in solved.plan.decisions.zones if choice.zone == zone]
            for solved in plans
        ]
        counts = [sum(choice.count for choice in of_plan) for of_plan in choices]
        result[zone, "count"] = [f"{count:,}" if count else None for count in counts]
        for field in DECISION_FIELDS:
            if field in REPAIR_FIELDS and all(getattr(c, field) is None for of_plan in choices for c in of_plan):
                continue  # nothing of it is chosen
            result[zone, field] = [_values(of_plan, field) if of_plan else None for of_plan in choices]
        if any(len(of_plan) > 1 for of_plan in choices):
            result[zone, "all"] = [choices_words(of_plan) if of_plan else None for of_plan in choices]
    result["", "checkpoint_plan"] = [solved.plan.decisions.checkpoint_plan for solved in plans]
    return result


def _values(choices: Sequence[ZoneChoice], field: str) -> str:
    """The value of a decision in the zones of a class; with how many have it where they differ."""
    zones: dict[str, int] = {}
    for choice in sorted(choices, key=lambda choice: str(getattr(choice, field))):
        words = decision_words(field, getattr(choice, field))
        zones[words] = zones.get(words, 0) + choice.count
    if len(zones) == 1:
        return next(iter(zones))
    return ", ".join(f"{number:,} × {words}" for words, number in zones.items())
