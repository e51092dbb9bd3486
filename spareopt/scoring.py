"""One zone choice of a plan with its parts of the instance and its exact score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spareopt.candidates import Model, score_zone
from spareopt.decisions import ZoneChoice
from spareopt.exact import ZoneScores
from spareopt.instance import BlockDesign, Instance, RepairPlan, Zone
from spareopt.power import rack_draw
from spareopt.topology import ZoneStructure, zone_structure


@dataclass(frozen=True)
class ScoredChoice:
    """A zone choice with its parts of the instance and its one-row score."""

    choice: ZoneChoice
    zone: Zone
    design: BlockDesign
    plan: RepairPlan
    limit: float
    structure: ZoneStructure
    row: dict[str, Any]
    scores: ZoneScores

    @property
    def log_up(self) -> float:
        """ln A of all its zones; −∞ where they are never all up."""
        with np.errstate(divide="ignore"):
            return float(self.choice.count * np.log1p(-self.row["unavailability"]))


def score_choice(instance: Instance, choice: ZoneChoice, model: Model) -> ScoredChoice:
    """Score a choice whose names and counts were checked against the instance."""
    zone = next(zone for zone in instance.zones if zone.name == choice.zone)
    design = next(design for design in instance.designs if design.name == choice.design)
    plan = next(plan for plan in instance.repair_plans if plan.name == choice.repair_plan)
    limit = choice.gpu_limit
    if limit is None:
        limit = np.nan if design.power is None else design.power.gpu_full_limit
    structure = zone_structure(instance, zone, design, choice.racks)
    columns, scores = score_zone(
        instance, zone, design, structure, choice.racks, choice.intra_block_spares,
        np.array([choice.inter_block_spares], dtype=np.int64), plan, np.array([limit]), model,
    )  # fmt: skip
    row = {name: np.atleast_1d(values)[0].item() for name, values in columns.items()}
    return ScoredChoice(choice, zone, design, plan, float(limit), structure, row, scores)


def rack_power(s: ScoredChoice) -> float | None:
    """What a rack of the choice draws at work, kW; None where no power is stated."""
    if s.design.power is None:
        return None
    return float(rack_draw(s.design, s.design.power, s.choice.intra_block_spares, np.array(s.limit)))
