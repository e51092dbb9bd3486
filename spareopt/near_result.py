"""What a search for near-optimal plans found: plans, ranges of decisions, the best plan with each value."""

from __future__ import annotations

from typing import Literal

import pandas as pd

from spareopt.decided import CHECKPOINT_PLAN, Value
from spareopt.decisions import Decisions
from spareopt.record import Frozen, Result, Shown

GRID = ("intra_block_spares", "inter_block_spares")
"""The two decisions whose pairs are tabulated."""


class NearPlan(Frozen):
    """One plan within reach of the best, scored exactly."""

    decisions: Decisions
    value: float
    """The objective, in its unit."""
    change: float
    """Relative to the best: 0 for the best itself, below 0 for less goodput, above 0 for more cost."""
    goodput: float
    """Baseline GPUs."""
    availability: float
    capital: float | None
    cost_per_year: float | None
    it_power_kw: float | None
    losses: dict[str, float]
    """Shares of all GPU-hours, as in an evaluation."""


class BestWith(Frozen):
    """The best plan with one value of one decision (or of two)."""

    zone: str
    """The zone class; empty for the checkpoint plan."""
    decisions: dict[str, Value]
    """The decision, or the two, and its value; GPU limits in kW."""
    value: float | None
    """The best objective found; None where no plan is."""
    bound: float | None = None
    """No plan with it has a better objective: the value where that is proven; None where nothing is known, or where
    there is no plan."""
    change: float | None
    """Relative to the best plan."""
    within: bool | None
    """Whether it is within the share asked; None where the time was used up before that was known."""
    plan: Decisions | None
    """A plan that has it."""
    proven: bool = True
    """Whether no plan with it is better; where it is false, the time or the effort was used up."""


class DecisionRange(Frozen):
    """The values of one decision that plans within the share asked have; exact even where the list of plans is cut."""

    zone: str
    decision: str
    best: tuple[Value, ...]
    """Of the best plan: several where it builds zones of the class differently."""
    values: tuple[Value, ...]
    offered: int
    complete: bool
    """False where the time was used up: other values may be within the share, too."""


class NearOptimal(Result, Shown):
    """All plans within a share of the best, or the first of them."""

    schema_version: Literal[1] = 1
    instance: str
    objective: Literal["goodput", "cost", "goodput_per_dollar"]
    alike: bool
    """Whether only plans are meant that build all zones of a class alike."""
    within: float
    best_value: float
    """The best objective of the plans meant."""
    plans: tuple[NearPlan, ...]
    """Best first."""
    number: int | None
    """How many plans are within; None where there are more than listed and they were not counted."""
    complete: bool
    """Whether ``plans`` holds all of them."""
    in_time: bool
    """False where the time or the effort was used up: plans, values of a range or a proof may be missing."""
    ranges: tuple[DecisionRange, ...]
    best_with: tuple[BestWith, ...]
    """The best plan with each value of each decision."""
    grid: tuple[BestWith, ...]
    """The best plan with each pair of I and R; only where zones are alike."""

    def plans_table(self) -> pd.DataFrame:
        """A row per plan and zone choice: decisions, objective, losses."""
        rows = []
        for place, plan in enumerate(self.plans):
            numbers = plan.model_dump(exclude={"decisions", "losses"})
            losses = {f"{name}_share": share for name, share in plan.losses.items()}
            for choice in plan.decisions.zones:
                own = choice.model_dump()
                own["gpu_limit_kw"] = own.pop("gpu_limit")
                rows.append(
                    {"plan": place} | own | {CHECKPOINT_PLAN: plan.decisions.checkpoint_plan} | numbers | losses
                )
        return pd.DataFrame(rows)

    def profile_table(self) -> pd.DataFrame:
        """A row per value of each decision: the best objective with it, and how far that is from the best."""
        rows = [
            {"zone": row.zone, "decision": name, "value": value, "objective": row.value, "change": row.change,
             "within": row.within}
            for row in self.best_with for name, value in row.decisions.items()
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=["zone", "decision", "value", "objective", "change", "within"])

    def grid_table(self, zone: str | None = None) -> pd.DataFrame:
        """The change of the best plan with each R (rows) and I (columns) of a zone class, the first when left out."""
        rows = [row for row in self.grid if row.zone == (zone or self.grid[0].zone)] if self.grid else []
        cells: dict[Value, dict[Value, float | None]] = {}
        for row in rows:
            cells.setdefault(row.decisions[GRID[0]], {})[row.decisions[GRID[1]]] = row.change
        return pd.DataFrame(cells, dtype=float).rename_axis(index="R", columns="I")
