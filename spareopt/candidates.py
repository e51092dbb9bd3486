"""Candidates: every choice of a zone that can be built, scored exactly and vectorised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt import exact, first_order
from spareopt.availability import unavailability
from spareopt.decisions import ZoneChoice
from spareopt.errors import Fault, InputError
from spareopt.exact import ZoneRepair, ZoneScores
from spareopt.instance import BlockDesign, CheckpointPlan, Instance, RepairPlan, Zone
from spareopt.power import rack_draw, zone_draw
from spareopt.recovery import Checkpointing
from spareopt.scaling import hardware_scale, llm_scale
from spareopt.topology import ZoneStructure, zone_structure
from spareopt.units import HOURS_PER_YEAR

Model = Literal["exact", "first-order"]
Counts = NDArray[np.int64]
Array = NDArray[np.float64]
Scorer = Callable[[ZoneStructure, ZoneRepair, int, Counts], ZoneScores]

SCORERS: dict[str, Scorer] = {"exact": exact.zone_scores, "first-order": first_order.zone_scores}

DECISIONS = ["zone", "design", "racks", "intra_block_spares", "inter_block_spares", "repair_plan", "gpu_limit_kw"]
"""The columns that say what a candidate is: places in the instance's lists, counts, and the GPU limit (NaN: none)."""


@dataclass(frozen=True)
class Candidates:
    """All candidates of an instance, a row each, and how many combinations were left out for which reason."""

    instance: Instance
    table: pd.DataFrame
    excluded: dict[str, int]

    def choice(self, row: int, count: int) -> ZoneChoice:
        """The decisions of one candidate, taken by ``count`` zones of its class."""
        values = self.table.loc[row, DECISIONS]
        limit = float(values["gpu_limit_kw"])
        return ZoneChoice.model_construct(
            zone=self.instance.zones[int(values["zone"])].name,
            count=count,
            design=self.instance.designs[int(values["design"])].name,
            racks=int(values["racks"]),
            intra_block_spares=int(values["intra_block_spares"]),
            inter_block_spares=int(values["inter_block_spares"]),
            repair_plan=self.instance.repair_plans[int(values["repair_plan"])].name,
            gpu_limit=None if np.isnan(limit) else limit,
        )


def checkpointing(plan: CheckpointPlan, model: Model) -> Checkpointing:
    """The recovery scheme of a checkpoint plan."""
    period = None if plan.period == "best" else plan.period
    return Checkpointing(plan.save, plan.detection + plan.restart, period, model)


def site_terms(instance: Instance) -> tuple[float, float]:
    """What all zones share: P(a site domain is down) and the rate of software and site domains, per hour."""
    log_up, rate = 0.0, 0.0
    if instance.failures.software is not None:
        rate += instance.failures.software.per_hour
    for domain in instance.failures.domains:
        if domain.spans == "site":
            rate += domain.per_hour
            log_up += np.log1p(-float(unavailability(domain.per_hour, domain.repair.mttr)))
    return float(-np.expm1(log_up)), rate


def check_model(instance: Instance, model: Model) -> None:
    """Refuse what a model can't score: the published one knows trays and racks only.  Raises InputError."""
    if model == "exact":
        return
    others = ", ".join(domain.name for domain in instance.failures.domains)
    if others:
        message = f"the first-order model knows trays and racks only, not {others}; use the exact model"
        raise InputError(instance.name, [Fault("failures.domains", message)])
    if any(plan.crews is not None for plan in instance.repair_plans):
        message = "the first-order model knows no crews; use the exact model, or take crews out of the repair plans"
        raise InputError(instance.name, [Fault("repair_plans", message)])


def enumerate_candidates(instance: Instance, model: Model = "exact") -> Candidates:
    """Every buildable combination of design, racks, I, R, repair plan and GPU limit, for each zone class.

    Raises InputError where the model can't score the instance.
    """
    check_model(instance, model)
    frames, excluded = [], Counter[str]()
    for z, zone in enumerate(instance.zones):
        for d, design in enumerate(instance.designs):
            if zone.designs is not None and design.name not in zone.designs:
                continue
            limits = gpu_limits(design)
            for racks in zone.racks:
                structure = zone_structure(instance, zone, design, racks)
                for intra in design.intra_block_spares:
                    inter, usable = _usable(instance, design, structure, intra, limits, excluded)
                    if not len(inter) or not len(usable):
                        continue
                    for p, plan in enumerate(instance.repair_plans):
                        frame, _ = score_zone(
                            instance, zone, design, structure, racks, intra, inter, plan, usable, model
                        )
                        frames.append({"zone": z, "design": d, "repair_plan": p} | frame)
    table = _stack(frames)
    return Candidates(instance, table, dict(excluded))


def gpu_limits(design: BlockDesign) -> Array:
    """The GPU limits a design may run at, kW; NaN where no power is stated."""
    if design.power is None:
        return np.array([np.nan])
    return np.array(design.power.gpu_limits or (design.power.gpu_full_limit,))


def limit_shares(design: BlockDesign, limits: Array) -> Array:
    """GPU limits as shares of the full limit (1 where no power is stated)."""
    return np.ones_like(limits) if design.power is None else limits / design.power.gpu_full_limit


def blocks_per_placement_group(instance: Instance, design: BlockDesign, intra_spares: int) -> int | None:
    """P, or None where a block's working GPUs do not divide the placement group; 1 without a placement group."""
    if instance.placement_group is None:
        return 1
    working = (design.trays_per_block - intra_spares) * design.gpus_per_tray
    whole, rest = divmod(instance.placement_group, working)
    return None if rest else whole


def _usable(
    instance: Instance,
    design: BlockDesign,
    structure: ZoneStructure,
    intra: int,
    limits: Array,
    excluded: Counter[str],
) -> tuple[Counts, Array]:
    """The numbers of spare blocks and the GPU limits that can be built; the rest is counted by reason."""
    spares = np.array(design.inter_block_spares, dtype=np.int64)
    plans = len(instance.repair_plans)
    group = blocks_per_placement_group(instance, design, intra)
    if group is None:
        excluded["working GPUs per block do not divide the placement group"] += len(spares) * len(limits) * plans
        return spares[:0], limits
    left = spares < structure.blocks
    excluded["no working block left"] += int((~left).sum()) * len(limits) * plans
    whole = (structure.blocks - spares) % group == 0
    excluded["working blocks not in whole placement groups"] += int((left & ~whole).sum()) * len(limits) * plans
    inter = spares[left & whole]
    measured = ~np.isnan(hardware_scale(instance.hardware_scale, design, intra, limit_shares(design, limits)))
    excluded["GPU limit below the measured hardware scale"] += int((~measured).sum()) * len(inter) * plans
    if design.power is not None and instance.power.rack_limit is not None:
        carried = rack_draw(design, design.power, intra, limits) <= instance.power.rack_limit * (1 + 1e-12)
        excluded["rack power above its limit"] += int((measured & ~carried).sum()) * len(inter) * plans
        measured &= carried
    return inter, limits[measured]


def score_zone(
    instance: Instance,
    zone: Zone,
    design: BlockDesign,
    structure: ZoneStructure,
    racks: int,
    intra: int,
    inter: Counts,
    plan: RepairPlan,
    limits: Array,
    model: Model,
) -> tuple[dict[str, Array | Counts | int | float], ZoneScores]:
    """Score one zone for every pair of R in ``inter`` and GPU limit in ``limits`` (R slow, limit fast).

    Returns columns (arrays of one length, or constants) and the scores they come from: P(zone short), interruption rate
    (per hour), GPUs, working GPUs, log scale, capital, yearly cost without energy, IT draw working and blocked (kW).
    """
    scores = SCORERS[model](structure, exact.zone_repair(instance, plan), intra, inter)
    n = len(limits)
    spares, limit = np.repeat(inter, n), np.tile(limits, len(inter))
    working_per_block = (design.trays_per_block - intra) * design.gpus_per_tray
    hardware = hardware_scale(instance.hardware_scale, design, intra, limit_shares(design, limits))
    block_scale = llm_scale(instance.llm_scale, working_per_block) * zone.relative_speed
    draw, idle = np.full(len(limit), np.nan), np.full(len(limit), np.nan)
    capital: Array | float = np.nan if design.rack_price is None else float(design.rack_price * racks)
    if design.power is not None:
        draw, idle = zone_draw(design, design.power, racks, intra, spares, limit)
        if instance.economics.site_capital is not None:
            capital = capital + instance.economics.site_capital * draw
    return {
        "racks": racks,
        "intra_block_spares": intra,
        "inter_block_spares": spares,
        "gpu_limit_kw": limit,
        "unavailability": np.repeat(scores.unavailability, n),
        "rate_per_h": np.repeat(scores.rate, n),
        "gpus": structure.blocks * design.trays_per_block * design.gpus_per_tray,
        "working_gpus": (structure.blocks - spares) * working_per_block,
        "log_scale": np.tile(np.log(hardware * block_scale), len(inter)),
        "capital": capital,
        "plan_cost_per_year": plan.yearly_cost,
        "it_power_kw": draw,
        "blocked_power_kw": idle,
    }, scores


_COLUMNS = [
    *DECISIONS,
    "unavailability",
    "rate_per_h",
    "gpus",
    "working_gpus",
    "log_scale",
    "capital",
    "plan_cost_per_year",
    "it_power_kw",
    "blocked_power_kw",
]


def _stack(frames: Sequence[Mapping[str, Array | Counts | int | float]]) -> pd.DataFrame:
    if not frames:
        return pd.DataFrame({column: pd.Series(dtype=float) for column in _COLUMNS})
    sizes = [len(np.atleast_1d(frame["gpu_limit_kw"])) for frame in frames]
    columns = {}
    for column in _COLUMNS:
        parts = [np.broadcast_to(frame[column], size) for frame, size in zip(frames, sizes, strict=True)]
        columns[column] = np.concatenate(parts)
    return pd.DataFrame(columns)


def energy_cost_per_kw_year(instance: Instance) -> float:
    """Money per year for one kW of IT draw all year; 0 where no energy price is given."""
    price = instance.power.energy_price
    return 0.0 if price is None else instance.power.pue * HOURS_PER_YEAR * price
