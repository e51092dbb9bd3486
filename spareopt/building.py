"""One zone built in one way: what it costs and draws, and its score in every state of the environment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spareopt import exact, first_order
from spareopt.checkpoint_plans import CheckpointPlan
from spareopt.cohorts import Cohort, cohort_scores
from spareopt.environment import Environment, site_environment
from spareopt.exact import ZoneScores
from spareopt.instance import BlockDesign, Instance, Zone
from spareopt.numerics.recovery import Checkpointing
from spareopt.power import zone_draw
from spareopt.repair import RepairChoice, ZoneRepair, repair_choices, shelf_price, yearly_cost, zone_repair
from spareopt.repair_plans import RepairPlan
from spareopt.scaling import hardware_scale, llm_scale
from spareopt.schemes import Model, recovery_scheme
from spareopt.topology import ZoneStructure, zone_structure

Counts = NDArray[np.int64]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Site:
    """An instance with what its zones have in common.

    ``checkpoint_plan`` is the only one in question where it matters to the zones (replica groups are placed in them;
    units that age only while the job computes rest while it recovers).
    """

    instance: Instance
    model: Model
    environment: Environment
    checkpoint_plan: CheckpointPlan | None

    def of(self, instance: Instance) -> Site:
        """The same site for an instance of the same environment."""
        return Site(instance, self.model, self.environment, _only_plan(instance))

    @cached_property
    def choices(self) -> tuple[tuple[RepairChoice, ...], ...]:
        """What each repair plan leaves to choose."""
        return tuple(tuple(repair_choices(plan)) for plan in self.instance.repair_plans)

    @cached_property
    def _repairs(self) -> dict[tuple[str, RepairChoice], ZoneRepair]:
        return {}

    def repair(self, plan: RepairPlan, choice: RepairChoice) -> ZoneRepair:
        """The repair of a zone that takes a repair plan of the instance, which is the same for every zone."""
        known = self._repairs.get((plan.name, choice))
        if known is None:
            known = self._repairs[plan.name, choice] = zone_repair(self.instance, plan, choice)
        return known

    @property
    def groups(self) -> int | None:
        """Replica groups per zone; None without."""
        plan = self.checkpoint_plan
        return None if plan is None or plan.replicas is None else plan.replicas.groups_per_zone

    @property
    def shrinks(self) -> bool:
        """Whether the job goes on with fewer groups while a zone is short."""
        plan = self.checkpoint_plan
        return plan is not None and plan.replicas is not None and plan.replicas.when_short == "shrink"


def site_of(instance: Instance, model: Model, plan: CheckpointPlan | None = None) -> Site:
    """The site of an instance, for one checkpoint plan where it matters to the zones; the only one if none is named."""
    return Site(instance, model, site_environment(instance), plan or _only_plan(instance))


def _only_plan(instance: Instance) -> CheckpointPlan | None:
    return instance.checkpoint_plans[0] if len(instance.checkpoint_plans) == 1 else None


@dataclass(frozen=True)
class StateScores:
    """A zone for each R: P(short) in every state (rows R, columns states), and what does not depend on the state."""

    short: Array
    scores: ZoneScores


@dataclass(frozen=True)
class ZoneBuild:
    """A zone of a class, built of so many racks of a design, in ``cohorts`` where those fail at rates of their own."""

    site: Site
    zone: Zone
    design: BlockDesign
    racks: int
    cohorts: tuple[Cohort, ...] = ()

    @cached_property
    def structure(self) -> ZoneStructure:
        """The whole zone at the stated rates."""
        return zone_structure(self.site.instance, self.zone, self.design, self.racks)

    @cached_property
    def _states(self) -> list[tuple[int, ZoneStructure | None]]:
        """For each state the blocks that cells take down, and the rest of the zone at its rates; None: nothing left."""
        environment = self.site.environment
        structures: dict[int, ZoneStructure | None] = {}
        result = []
        for multiplier, down in zip(environment.multipliers, environment.cells_down, strict=True):
            racks = self.racks - self.racks * int(down) // environment.cells
            if racks not in structures:
                structures[racks] = zone_structure(self.site.instance, self.zone, self.design, racks) if racks else None
            structure = structures[racks]
            lost = (self.racks - racks) * self.design.blocks_per_rack
            result.append((lost, None if structure is None else structure.at(float(multiplier))))
        return result

    def scores(self, plan: RepairPlan, choice: RepairChoice, intra_spares: int, inter_spares: Counts) -> StateScores:
        """The zone for every R in ``inter_spares``, under a repair plan with its choices made."""
        repair = self.site.repair(plan, choice)
        if self.site.model == "first-order":
            scores = first_order.zone_scores(self.structure, repair, intra_spares, inter_spares)
            return StateScores(scores.unavailability[:, None], scores)
        environment = self.site.environment
        if self.site.instance.failures.ageing == "computing":
            assert self.site.checkpoint_plan is not None
            scheme = recovery_scheme(self.site.instance, self.site.checkpoint_plan, self.site.model)
            assert isinstance(scheme, Checkpointing)
            scores = exact.computing_scores(self.structure, repair, inter_spares, scheme)
            return StateScores(scores.unavailability[:, None], scores)
        if self.cohorts:
            scores = cohort_scores(self.structure, repair, self.cohorts, intra_spares, inter_spares)
            return StateScores(scores.unavailability[:, None], scores)
        if environment.single:
            scores = exact.zone_scores(self.structure, repair, intra_spares, inter_spares)
            return StateScores(scores.unavailability[:, None], scores)
        whole = exact.zone_scores(self.structure, repair, intra_spares, inter_spares)
        short = np.ones((len(inter_spares), len(environment.weights)))
        for s, (lost, structure) in enumerate(self._states):
            enough = inter_spares >= lost
            if structure is not None and enough.any():
                scores = exact.zone_scores(structure, repair, intra_spares, inter_spares[enough] - lost)
                short[enough, s] = scores.unavailability
        return StateScores(short, whole)

    def missing(self, plan: RepairPlan, choice: RepairChoice, intra_spares: int, inter_spares: Counts) -> StateScores:
        """As ``scores``, with the mean share of the replica groups that can't be placed instead of P(short).

        Of g groups on w working blocks, k are placed while at least k w/g blocks are usable, so that the mean share
        missing is the mean over k = 1..g of P(more than L − k w/g unusable).
        """
        groups = self.site.groups
        assert groups is not None
        blocks = self.structure.blocks
        each = (blocks - inter_spares) // groups
        needed = each[:, None] * np.arange(1, groups + 1)
        all_of = self.scores(plan, choice, intra_spares, (blocks - needed).ravel())
        short = all_of.short.reshape(*needed.shape, -1).mean(axis=1)
        return StateScores(short, self.scores(plan, choice, intra_spares, inter_spares).scores)

    def guarantee_missed(self, plan: RepairPlan, choice: RepairChoice, intra_spares: int) -> float:
        """P(the zone has fewer usable blocks than its guarantee asks for); 0 where it asks for none."""
        guarantee = self.zone.guarantee
        if guarantee is None:
            return 0.0
        spares = self.structure.blocks - guarantee.usable_blocks
        if spares < 0:
            return 1.0
        short = self.scores(plan, choice, intra_spares, np.array([spares], dtype=np.int64)).short[0]
        environment = self.site.environment
        return environment.down + float(environment.weights @ short)

    def guaranteed(self, plan: RepairPlan, choice: RepairChoice, intra_spares: int) -> bool:
        """Whether the zone meets its guarantee, up to rounding."""
        guarantee = self.zone.guarantee
        if guarantee is None:
            return True
        return self.guarantee_missed(plan, choice, intra_spares) <= (1.0 - guarantee.probability) * (1 + 1e-9)


def zone_columns(build: ZoneBuild, intra: int, inter: Counts, limits: Array) -> dict[str, Any]:
    """What a zone is and draws for every pair of R in ``inter`` and GPU limit in ``limits`` (R slow, limit fast).

    It does not depend on the repair plan.  Columns (arrays of one length, or constants): racks, I, R, GPU limit, GPUs,
    working GPUs, log scale, IT draw working and blocked (kW).
    """
    instance, design = build.site.instance, build.design
    spares, limit = np.repeat(inter, len(limits)), np.tile(limits, len(inter))
    working_per_block = (design.trays_per_block - intra) * design.gpus_per_tray
    hardware = hardware_scale(instance.hardware_scale, design, intra, limit_shares(design, limits))
    block_scale = llm_scale(instance.llm_scale, working_per_block) * build.zone.relative_speed
    draw, idle = np.full(len(limit), np.nan), np.full(len(limit), np.nan)
    if design.power is not None:
        draw, idle = zone_draw(design, design.power, build.racks, intra, spares, limit)
    return {
        "racks": build.racks,
        "intra_block_spares": intra,
        "inter_block_spares": spares,
        "gpu_limit_kw": limit,
        "gpus": build.structure.blocks * design.trays_per_block * design.gpus_per_tray,
        "working_gpus": (build.structure.blocks - spares) * working_per_block,
        "log_scale": np.tile(np.log(hardware * block_scale), len(inter)),
        "it_power_kw": draw,
        "blocked_power_kw": idle,
    }


def score_zone(
    build: ZoneBuild,
    intra: int,
    inter: Counts,
    plan: RepairPlan,
    choice: RepairChoice,
    limits: Array,
    columns: dict[str, Any] | None = None,
) -> tuple[dict[str, Any], StateScores]:
    """Score a zone for every pair of R in ``inter`` and GPU limit in ``limits``; ``columns``: its own, where known.

    Returns the columns of ``zone_columns`` with more, and the scores by R that they come from.  More columns: what
    is chosen of the repair plan, P(zone short), interruption rate (per hour), GPUs placed on average, planned stops
    (hours per hour), capital, yearly cost without energy.
    """
    instance, design = build.site.instance, build.design
    columns = zone_columns(build, intra, inter, limits) if columns is None else columns
    states = (build.missing if build.site.shrinks else build.scores)(plan, choice, intra, inter)
    environment = build.site.environment
    down = (
        states.short[:, 0] if environment.single else states.short @ (environment.weights / environment.weights.sum())
    )
    n = len(limits)
    unavailability, working = down.repeat(n), columns["working_gpus"]
    capital: Array | float = np.nan if design.rack_price is None else float(design.rack_price * build.racks)
    capital = capital + shelf_price(plan, choice)
    if design.power is not None and instance.economics.site_capital is not None:
        capital = capital + instance.economics.site_capital * columns["it_power_kw"]
    stops = states.scores.stops
    return columns | {
        "crews": np.nan if choice.crews is None else float(choice.crews),
        "shelf_trays": np.nan if choice.shelf_trays is None else float(choice.shelf_trays),
        "start_at": np.nan if choice.start_at is None else float(choice.start_at),
        "unavailability": unavailability,
        "rate_per_h": states.scores.rate.repeat(n),
        "placed_gpus": working * (1.0 - unavailability) if build.site.shrinks else working,
        "planned_stops": stops.repeat(n) if isinstance(stops, np.ndarray) else stops,
        "capital": capital,
        "plan_cost_per_year": yearly_cost(plan, choice),
    }, states


def limit_shares(design: BlockDesign, limits: Array) -> Array:
    """GPU limits as shares of the full limit (1 where no power is stated)."""
    return np.ones_like(limits) if design.power is None else limits / design.power.gpu_full_limit
