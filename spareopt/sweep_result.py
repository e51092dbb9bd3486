"""What a sweep found: a point for every combination of the swept values, and all of them as one table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd

from spareopt import units
from spareopt.axes import Axis, Spacing
from spareopt.decision_words import choices_words
from spareopt.decisions import DECISION_FIELDS, Decisions, ZoneChoice
from spareopt.losses import LOSSES
from spareopt.overrides import value_at
from spareopt.plan import Certificate
from spareopt.record import Frozen, Result, Shown
from spareopt.settings import SCENARIO
from spareopt.what_if import Answer, AnswerStatus

SWEEP_SCHEMA_VERSION = 1
ANSWERED = ("proven", "infeasible")
"""Statuses of points that nothing is left to be said of."""
Number = int | float | None
_QUANTITY = re.compile(rf"({units.NUMBER}) (\S.*)")

SCORES = {
    "goodput": "goodput_baseline_gpus",
    "goodput_scale": "goodput_scale",
    "cett": "cett",
    "availability": "availability",
    "unavailability": "unavailability",
    "recovery_efficiency": "recovery_efficiency",
    "interruptions_per_day": "interruptions_per_day",
    "checkpoint_period_h": "checkpoint_period_h",
    "gpus": "gpus",
    "working_gpus": "working_gpus",
    "capital": "capital_{money}",
    "yearly_cost": "yearly_cost_{money}_per_year",
    "cost_per_year": "cost_{money}_per_year",
    "cost_per_useful_gpu_hour": "cost_{money}_per_useful_gpu_hour",
    "it_power_kw": "it_power_kw",
    "site_power_kw": "site_power_kw",
    "energy_kwh_per_year": "energy_kwh_per_year",
}
"""Numbers of a plan's evaluation that the table has: field of the evaluation, column."""
DECISIONS = {
    "design": "design",
    "racks": "racks_per_zone",
    "intra_block_spares": "intra_block_spares",
    "inter_block_spares": "inter_block_spares",
    "repair_plan": "repair_plan",
    "crews": "crews",
    "shelf_trays": "shelf_trays",
    "start_at": "start_at_trays_down",
    "gpu_limit": "gpu_limit_kw",
}
"""Decisions of a zone class that the table has: field of the zone choice, column."""
TOTALS = {"racks": "racks", "inter_block_spares": "spare_blocks"}
"""Sums over all zones of a class, known where its zones differ too: field of the zone choice, column."""
assert set(DECISIONS) == set(DECISION_FIELDS)


class Input(Frozen):
    """A swept field at one point: what stands there once the point's changes are made."""

    path: str
    given: str
    """The value as it was given, such as 0.5x."""
    number: Number = None
    """The number that stands there; None where it is none."""
    unit: str = ""
    """Of the number; empty for a plain one."""


class SweptAxis(Frozen):
    """An axis of a sweep: its paths get each of the values together."""

    paths: tuple[str, ...]
    values: tuple[str, ...]
    """As they would be typed."""
    spacing: Spacing


class Point(Frozen):
    """One combination of the swept values, and what came of it."""

    point: int
    """Its place in the grid, from 0; the last axis moves fastest."""
    inputs: tuple[Input, ...]
    status: AnswerStatus
    why: str
    """Why there is no plan; empty where there is one."""
    certificate: Certificate | None
    decisions: Decisions | None
    score: dict[str, Number]
    """Numbers of the plan's evaluation, by its fields."""
    losses: dict[str, float]
    """Shares of all GPU-hours."""


class Sweep(Result, Shown):
    """A sweep: the same instance solved at every point of a grid.  The same bytes for the same question."""

    schema_version: Literal[1] = 1
    instance: str
    input_hash: str
    """SHA-256 of the instance that is swept, resolved, without the changes."""
    applied: tuple[str, ...]
    """Scenarios and overrides that every point has, in order."""
    currency: str
    status: Literal["proven", "not all proven", "interrupted"]
    axes: tuple[SweptAxis, ...]
    points: tuple[Point, ...]
    """In grid order; those that are finished, where it was interrupted."""
    options: dict[str, Any]
    seed: int
    versions: dict[str, str]

    def table(self) -> pd.DataFrame:
        """A row per point: inputs, status, objective, score, losses and decisions, with units in the column names."""
        money = self.currency.lower()
        plans = [(p, p.certificate, p.decisions.zones if p.decisions else ()) for p in self.points]
        columns: dict[str, list[Any]] = {"point": [point.point for point in self.points]}
        for place, path in enumerate(path for axis in self.axes for path in axis.paths):
            entries = [point.inputs[place] for point in self.points]
            columns[path] = [entry.given for entry in entries]
            known = next((entry for entry in entries if entry.number is not None), None)
            if known is not None:
                columns[f"{path}_{_suffix(known.unit, self.currency)}"] = [entry.number for entry in entries]
        columns["status"] = [point.status for point in self.points]
        for name, field in (("kind", "objective"), ("unit", "unit"), ("value", "value")):
            columns[f"objective_{name}"] = [c and getattr(c, field) for _, c, _ in plans]
        for field in ("bound", "gap"):
            columns[field] = [None if c is None else getattr(c, field) for _, c, _ in plans]
        for field, column in SCORES.items():
            columns[column.format(money=money)] = [point.score.get(field) for point in self.points]
        for name in LOSSES:
            columns[f"loss_{name}"] = [point.losses.get(name) for point in self.points]
        columns["decisions"] = [choices_words(choices) or None for *_, choices in plans]
        columns["checkpoint_plan"] = [p.decisions and p.decisions.checkpoint_plan for p in self.points]
        zones = list(dict.fromkeys(choice.zone for *_, choices in plans for choice in choices))
        for zone in zones:
            prefix = "" if len(zones) == 1 else f"{zone}."
            for field, column in TOTALS.items():
                columns[prefix + column] = [_total(choices, zone, field) for *_, choices in plans]
            for field, column in DECISIONS.items():
                columns[prefix + column] = [_same(choices, zone, field) for *_, choices in plans]
        columns["why"] = [point.why or None for point in self.points]
        return pd.DataFrame({name: _series(values) for name, values in columns.items()})


def _same(choices: tuple[ZoneChoice, ...], zone: str, field: str) -> Any:
    """A decision of a class of zones; None where its zones differ in it."""
    values = {getattr(choice, field) for choice in choices if choice.zone == zone}
    return values.pop() if len(values) == 1 else None


def _total(choices: tuple[ZoneChoice, ...], zone: str, field: str) -> int | None:
    values = [choice.count * getattr(choice, field) for choice in choices if choice.zone == zone]
    return sum(values) if values else None


def _series(values: list[Any]) -> pd.Series:
    """A column: whole numbers stay whole beside unknown ones."""
    known = [value for value in values if value is not None]
    if known and all(type(value) is int for value in known):
        return pd.Series(values, dtype="int64" if len(known) == len(values) else "Int64")
    if known and all(type(value) in (int, float) for value in known):
        return pd.Series(values, dtype="float64")
    return pd.Series(values, dtype=object)


def _suffix(unit: str, currency: str) -> str:
    """A unit as the end of a column's name."""
    words = unit.replace(units.CURRENCIES[currency], currency).lower().split()
    return "_".join(words) or "number"


def swept(axis: Axis) -> SweptAxis:
    """An axis as it is written down."""
    return SweptAxis(paths=axis.paths, values=axis.texts, spacing=axis.spacing)


def inputs_of(axes: Sequence[Axis], given: Sequence[int], resolved: dict[str, Any]) -> tuple[Input, ...]:
    """The inputs of a point: of each axis the value at its place, and what stands at its paths of the resolved data."""
    result = []
    for axis, place in zip(axes, given, strict=True):
        text = axis.texts[place]
        for path in axis.paths:
            number, unit = _number(value_at(resolved, path)) if path != SCENARIO else (None, "")
            if not unit and str(number) == text:
                number = None  # a plain number needs no second column
            result.append(Input(path=path, given=text, number=number, unit=unit))
    return tuple(result)


def _number(value: Any) -> tuple[Number, str]:
    """The number and the unit of a resolved field; None where it holds none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value, ""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    return (None, "") if match is None else (units.number_of(match[1]), match[2])


def point_of(place: int, inputs: tuple[Input, ...], answer: Answer) -> Point:
    """What a point's answer says of it."""
    plan = answer.plan
    return Point(
        point=place,
        inputs=inputs,
        status=answer.status,
        why=answer.why,
        certificate=None if plan is None else plan.certificate,
        decisions=None if plan is None else plan.decisions,
        score={} if plan is None else {field: getattr(plan.evaluation, field) for field in SCORES},
        losses={} if plan is None else plan.evaluation.losses,
    )
