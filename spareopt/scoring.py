"""One zone choice of a plan with its parts of the instance and its exact score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spareopt.building import Site, StateScores, ZoneBuild, score_zone
from spareopt.cohorts import Cohort
from spareopt.decisions import ZoneChoice, repair_choice
from spareopt.instance import BlockDesign
from spareopt.power import rack_draw
from spareopt.repair import RepairChoice
from spareopt.repair_plans import RepairPlan
from spareopt.topology import ZoneStructure

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ScoredChoice:
    """A zone choice with its parts of the instance and its one-row score."""

    choice: ZoneChoice
    build: ZoneBuild
    plan: RepairPlan
    taken: RepairChoice
    limit: float
    row: dict[str, Any]
    states: StateScores

    @property
    def design(self) -> BlockDesign:
        """The block design it takes."""
        return self.build.design

    @property
    def structure(self) -> ZoneStructure:
        """The structure of one of its zones."""
        return self.build.structure

    @property
    def running(self) -> float:
        """Mean share of its replica groups that run while the site is up; 1 where the job runs as a whole or not."""
        return float(self.row["placed_gpus"] / self.row["working_gpus"])

    @property
    def log_up(self) -> Array:
        """ln A of all its zones in each state; −∞ where they are never all up; 0 where groups are placed instead."""
        if self.build.site.shrinks:
            return np.zeros(self.states.short.shape[1])
        with np.errstate(divide="ignore"):
            return np.asarray(self.choice.count * np.log1p(-self.states.short[0]))


def score_choice(site: Site, choice: ZoneChoice, cohorts: tuple[Cohort, ...] = ()) -> ScoredChoice:
    """Score a choice whose names and counts were checked against the instance; ``cohorts`` are as in ZoneBuild."""
    instance = site.instance
    zone = next(zone for zone in instance.zones if zone.name == choice.zone)
    design = next(design for design in instance.designs if design.name == choice.design)
    plan = next(plan for plan in instance.repair_plans if plan.name == choice.repair_plan)
    limit = choice.gpu_limit
    if limit is None:
        limit = np.nan if design.power is None else design.power.gpu_full_limit
    build, taken = ZoneBuild(site, zone, design, choice.racks, cohorts), repair_choice(plan, choice)
    spares = np.array([choice.inter_block_spares], dtype=np.int64)
    columns, states = score_zone(build, choice.intra_block_spares, spares, plan, taken, np.array([limit]))
    row = {name: np.atleast_1d(values)[0].item() for name, values in columns.items()}
    return ScoredChoice(choice, build, plan, taken, float(limit), row, states)


def rack_power(s: ScoredChoice) -> float | None:
    """What a rack of the choice draws at work, kW; None where no power is stated."""
    if s.design.power is None:
        return None
    return float(rack_draw(s.design, s.design.power, s.choice.intra_block_spares, np.array(s.limit)))
