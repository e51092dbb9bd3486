"""Plans side by side, and what changed from one to the next."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pandas as pd

from spareopt.asking import OnCount
from spareopt.errors import Fault, InputError
from spareopt.plan import Plan, versions
from spareopt.plan_changes import PlanChange, change_between
from spareopt.record import Frozen, Result
from spareopt.side_by_side import ComparedRow, side_by_side
from spareopt.solved import Source, read_source


class NamedPlan(Frozen):
    """A plan and where it was read from."""

    name: str
    plan: Plan


class PlanComparison(Result):
    """Plans side by side, and the change of each pair that is held against each other."""

    schema_version: Literal[1] = 1
    plans: tuple[NamedPlan, ...]
    rows: tuple[ComparedRow, ...]
    changes: tuple[PlanChange, ...]
    interrupted: bool
    versions: dict[str, str]
    """Of this comparison; each plan has its own."""

    def table(self) -> pd.DataFrame:
        """Every decision and number in a row, a column for each plan."""
        rows = [
            {"group": row.group, "quantity": row.quantity, "unit": row.unit}
            | {named.name: value for named, value in zip(self.plans, row.values, strict=True)}
            | {"differs": row.differs}
            for row in self.rows
        ]
        return pd.DataFrame(rows, dtype=object)

    def fields_table(self) -> pd.DataFrame:
        """The fields that moved, of every change."""
        columns = ["from", "to", "cause", "path", "before", "after", "ratio"]
        rows = [
            {
                "from": change.before,
                "to": change.after,
                "cause": field.cause,
                "path": field.path,
                "before": _cell(field.before),
                "after": _cell(field.after),
                "ratio": field.ratio,
            }
            for change in self.changes
            for field in change.fields
        ]
        return pd.DataFrame(rows, columns=columns)

    def causes_table(self) -> pd.DataFrame:
        """What each cause adds to each measure, of every change; of the objective with what the proofs leave open."""
        columns = ["from", "to", "measure", "unit", "cause", "fields", "change", "low", "high"]
        rows = [
            {
                "from": change.before,
                "to": change.after,
                "measure": measure.name,
                "unit": measure.unit,
                "cause": item.cause,
                "fields": item.fields,
                "change": item.changes[measure.name],
                "low": item.low if measure.name == "objective" else None,
                "high": item.high if measure.name == "objective" else None,
            }
            for change in self.changes
            if change.attribution is not None
            for measure in change.measures
            for item in change.attribution.contributions
            if measure.name in item.changes
        ]
        return pd.DataFrame(rows, columns=columns)

    def changes_table(self) -> pd.DataFrame:
        """The whole change of each measure: with the first plan as it is, and by adapting."""
        columns = ["from", "to", "measure", "unit", "before", "after", "change"]
        columns += ["by_conditions", "by_adapting", "breaks"]
        rows = [
            {
                "from": change.before,
                "to": change.after,
                "measure": measure.name,
                "unit": measure.unit,
                "before": measure.before,
                "after": measure.after,
                "change": measure.change,
                "by_conditions": None if change.kept is None else change.kept.by_conditions.get(measure.name),
                "by_adapting": None if change.kept is None else change.kept.by_adapting.get(measure.name),
                "breaks": "" if change.kept is None else change.kept.cannot_be_built or "; ".join(change.kept.breaks),
            }
            for change in self.changes
            for measure in change.measures
        ]
        return pd.DataFrame(rows, columns=columns)


def _cell(value: object) -> object:
    """A value of an instance in one cell."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def compare_plans(
    sources: Sequence[Source],
    *,
    against: Literal["previous", "first"] = "previous",
    causes: bool = True,
    gap: float | None = None,
    time_limit: float | None = None,
    on_count: OnCount | None = None,
) -> PlanComparison:
    """Two plans or more side by side, and why each differs from the one before it, or from the first one.

    A source is a plan folder (with plan.json and instance.json), or a plan with its instance.  ``causes``, ``gap``,
    ``time_limit`` and ``on_count`` (of each pair anew) as in ``explain_change``.  On Ctrl-C what is left is not
    split.  Raises InputError, SolverError.
    """
    if len(sources) < 2:
        raise InputError("plans", [Fault("", f"expected two plans or more to compare, got {len(sources)}")])
    folders = [Path(source).absolute() for source in sources if not isinstance(source, tuple)]
    for place, folder in enumerate(folders):
        if folder in folders[:place]:
            raise InputError(str(folder), [Fault("", "is given twice; name each plan once")])
    plans = [read_source(source, place) for place, source in enumerate(sources, 1)]
    pairs = list(pairwise(plans)) if against == "previous" else [(plans[0], plan) for plan in plans[1:]]
    changes: list[PlanChange] = []
    interrupted = False
    for first, second in pairs:
        split = causes and not interrupted
        change = change_between(first, second, causes=split, gap=gap, time_limit=time_limit, on_count=on_count)
        interrupted |= change.status == "interrupted"
        changes.append(change)
    return PlanComparison(
        plans=tuple(NamedPlan(name=solved.name, plan=solved.plan) for solved in plans),
        rows=side_by_side(plans),
        changes=tuple(changes),
        interrupted=interrupted,
        versions=versions(),
    )
