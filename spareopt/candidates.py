"""Candidates: every choice of a zone that can be built, scored exactly and vectorised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.building import Site, ZoneBuild, limit_shares, score_zone, site_of, zone_columns
from spareopt.decisions import ZoneChoice
from spareopt.environment import divides
from spareopt.errors import Fault, InputError, OverloadedError
from spareopt.instance import BlockDesign, Instance
from spareopt.power import rack_draw
from spareopt.scaling import hardware_scale
from spareopt.schemes import Model
from spareopt.units import HOURS_PER_YEAR

MOST_KEPT = 64  # tables, and
MOST_KEPT_ROWS = 200_000  # of them all, some 200 bytes each; the last table is kept however long it is
Counts = NDArray[np.int64]
Array = NDArray[np.float64]

DECISIONS = [
    "zone", "design", "racks", "intra_block_spares", "inter_block_spares", "repair_plan", "crews", "shelf_trays",
    "start_at", "gpu_limit_kw",
]  # fmt: skip
"""The columns that say what a candidate is: places in the instance's lists, counts, and the GPU limit (NaN: none)."""


ADDED_UP = [
    "racks", "crews", "shelf_trays", "rate_per_h", "gpus", "working_gpus", "placed_gpus", "planned_stops", "capital",
    "plan_cost_per_year", "it_power_kw", "blocked_power_kw",
]  # fmt: skip
"""The columns that zones add up."""


@dataclass(frozen=True)
class Candidates:
    """All candidates of an instance, a row each, and how many combinations were left out for which reason.

    ``short``: P(zone short) of each candidate (row) in each state of the site's environment (column).
    """

    site: Site
    table: pd.DataFrame
    short: Array
    excluded: dict[str, int]

    @property
    def instance(self) -> Instance:
        """The instance that the candidates are of."""
        return self.site.instance

    def only(self, keep: NDArray[np.bool_]) -> Candidates:
        """The candidates of the rows marked, numbered anew."""
        return replace(self, table=self.table[keep].reset_index(drop=True), short=self.short[keep])

    def merged(self) -> Candidates:
        """Each candidate for all zones of its class at once: a class built alike is one zone, so many times as large.

        It is exact where zones share no crews and no shelf: rates and numbers add up, and given the state of the
        environment the zones of a class are all up with the product of their probabilities.
        """
        members = np.array([zone.count for zone in self.instance.zones])
        number = members[self.table["zone"].to_numpy()]
        zones = tuple(zone.model_copy(update={"count": 1}) for zone in self.instance.zones)
        site = self.site.of(self.instance.model_copy(update={"zones": zones}))
        with np.errstate(divide="ignore"):
            down = -np.expm1(number * np.log1p(-self.table["unavailability"].to_numpy()))
            short = -np.expm1(number[:, None] * np.log1p(-self.short))
        added_up = {name: number * self.table[name] for name in ADDED_UP}
        return Candidates(site, self.table.assign(**added_up, unavailability=down), short, self.excluded)

    def choice(self, row: int, count: int) -> ZoneChoice:
        """The decisions of one candidate, taken by ``count`` zones of its class."""
        values = {name: self.table[name].to_numpy()[row] for name in DECISIONS}
        limit = float(values["gpu_limit_kw"])
        return ZoneChoice.model_construct(
            zone=self.instance.zones[int(values["zone"])].name,
            count=count,
            design=self.instance.designs[int(values["design"])].name,
            racks=int(values["racks"]),
            intra_block_spares=int(values["intra_block_spares"]),
            inter_block_spares=int(values["inter_block_spares"]),
            repair_plan=self.instance.repair_plans[int(values["repair_plan"])].name,
            crews=_count(values["crews"]),
            shelf_trays=_count(values["shelf_trays"]),
            start_at=_count(values["start_at"]),
            gpu_limit=None if np.isnan(limit) else limit,
        )


def _count(value: float) -> int | None:
    return None if np.isnan(value) else int(value)


def check_model(instance: Instance, model: Model) -> None:
    """Refuse what a model can't score: the published one knows trays and racks only.  Raises InputError."""
    if model == "exact":
        return
    faults = []
    others = ", ".join(domain.name for domain in instance.failures.domains)
    if others:
        message = f"the first-order model knows trays and racks only, not {others}; use the exact model"
        faults.append(Fault("failures.domains", message))
    for name in ("planned", "uncertainty"):
        if getattr(instance.failures, name) is not None:
            faults.append(Fault(f"failures.{name}", f"the first-order model knows no {name}; use the exact model"))
    if instance.failures.ageing != "always":
        faults.append(Fault("failures.ageing", "the first-order model lets all units age; use the exact model"))
    for i, plan in enumerate(instance.repair_plans):
        for field in ("crews", "shelf", "start_at", "window"):
            if getattr(plan, field) is not None:
                message = f"the first-order model knows no {field}; use the exact model, or take {field} out"
                faults.append(Fault(f"repair_plans.{i}.{field}", message))
        if plan.out_of_service != "tray" or plan.swap_stop:
            field = "swap_stop" if plan.swap_stop else "out_of_service"
            faults.append(Fault(f"repair_plans.{i}.{field}", "the first-order model knows repair of trays only"))
    for i, checkpoint in enumerate(instance.checkpoint_plans):
        for field in ("memory", "overlap", "replicas"):
            if getattr(checkpoint, field) is not None:
                message = f"the first-order model knows no {field}; use the exact model"
                faults.append(Fault(f"checkpoint_plans.{i}.{field}", message))
    if faults:
        raise InputError(instance.name, faults)


_KEPT: list[Candidates] = []
"""The candidates enumerated last, the latest first."""


def enumerate_candidates(instance: Instance, model: Model = "exact") -> Candidates:
    """Every buildable combination of design, racks, I, R, repair plan and GPU limit, for each zone class.

    The last ones scored are kept: what-ifs often differ in limits and objective alone, of which no candidate knows.
    Their tables are shared, and not to be changed.  Raises InputError where the model can't score the instance.
    """
    check_model(instance, model)
    for known in tuple(_KEPT):
        if known.site.model == model and _same_candidates(known.instance, instance):
            return replace(known, site=known.site.of(instance), excluded=dict(known.excluded))
    found = _enumerated(instance, model)
    kept, rows = [found], len(found.table)
    for known in _KEPT[: MOST_KEPT - 1]:
        rows += len(known.table)
        if rows > MOST_KEPT_ROWS:
            break
        kept.append(known)
    _KEPT[:] = kept
    return found


def _same_candidates(one: Instance, other: Instance) -> bool:
    """Whether two instances have the same candidates: they are the same but for what no zone knows of."""
    unknown = {"name", "description", "notes", "scenarios", "intervals", "limits", "objective", "power"}
    if not any(_recovery_matters(instance) for instance in (one, other)):
        unknown.add("checkpoint_plans")
    return one is other or (
        all(getattr(one, name) == getattr(other, name) for name in Instance.model_fields.keys() - unknown)
        and one.power.model_copy(update={"energy_price": None}) == other.power.model_copy(update={"energy_price": None})
    )


def _recovery_matters(instance: Instance) -> bool:
    """Whether zones know how the job recovers: its replica groups are placed in them, or their units rest meanwhile."""
    replicas = any(plan.replicas is not None for plan in instance.checkpoint_plans)
    return replicas or instance.failures.ageing == "computing"


def _enumerated(instance: Instance, model: Model) -> Candidates:
    site = site_of(instance, model)
    frames, shorts, excluded = [], [], Counter[str]()
    for z, zone in enumerate(instance.zones):
        for d, design in enumerate(instance.designs):
            if zone.designs is not None and design.name not in zone.designs:
                continue
            for racks in zone.racks:
                for frame, short in zone_candidates(ZoneBuild(site, zone, design, racks), excluded):
                    frames.append({"zone": z, "design": d} | frame)
                    shorts.append(short)
    table = stack(frames)
    return Candidates(site, table, np.concatenate(shorts) if shorts else np.zeros((0, 1)), dict(excluded))


def zone_candidates(build: ZoneBuild, excluded: Counter[str]) -> Iterator[tuple[dict[str, Any], Array]]:
    """The choices that a zone built in one way can be run by: columns of the table, and P(short) by state.

    How many combinations can't be built is counted by reason.
    """
    instance, design = build.site.instance, build.design
    limits = gpu_limits(design)
    for intra in design.intra_block_spares:
        inter, usable = _usable(build, intra, limits, excluded)
        if not len(inter) or not len(usable):
            continue
        columns = zone_columns(build, intra, inter, usable)
        for p, plan in enumerate(instance.repair_plans):
            for choice in build.site.choices[p]:
                if not build.guaranteed(plan, choice, intra):
                    excluded["fewer usable blocks than guaranteed"] += len(inter) * len(usable)
                    continue
                try:
                    frame, states = score_zone(build, intra, inter, plan, choice, usable, columns)
                except OverloadedError:
                    excluded["crews that can't keep up by far"] += len(inter) * len(usable)
                    continue
                yield {"repair_plan": p} | frame, np.repeat(states.short, len(usable), axis=0)


def gpu_limits(design: BlockDesign) -> Array:
    """The GPU limits a design may run at, kW; NaN where no power is stated."""
    if design.power is None:
        return np.array([np.nan])
    return np.array(design.power.gpu_limits or (design.power.gpu_full_limit,))


def blocks_per_placement_group(instance: Instance, design: BlockDesign, intra_spares: int) -> int | None:
    """P, or None where a block's working GPUs do not divide the placement group; 1 without a placement group."""
    if instance.placement_group is None:
        return 1
    working = (design.trays_per_block - intra_spares) * design.gpus_per_tray
    whole, rest = divmod(instance.placement_group, working)
    return None if rest else whole


def _usable(build: ZoneBuild, intra: int, limits: Array, excluded: Counter[str]) -> tuple[Counts, Array]:
    """The numbers of spare blocks and the GPU limits that can be built; the rest is counted by reason."""
    instance, design, structure = build.site.instance, build.design, build.structure
    spares = np.array(design.inter_block_spares, dtype=np.int64)
    plans = sum(map(len, build.site.choices))
    if not divides(instance, build.racks):
        excluded["racks not divided evenly by the domains across zones"] += len(spares) * len(limits) * plans
        return spares[:0], limits
    group = blocks_per_placement_group(instance, design, intra)
    if group is None:
        excluded["working GPUs per block do not divide the placement group"] += len(spares) * len(limits) * plans
        return spares[:0], limits
    left = spares < structure.blocks
    excluded["no working block left"] += int((~left).sum()) * len(limits) * plans
    whole = (structure.blocks - spares) % group == 0
    excluded["working blocks not in whole placement groups"] += int((left & ~whole).sum()) * len(limits) * plans
    groups = build.site.groups
    if groups is not None:
        placed = (structure.blocks - spares) % groups == 0
        excluded["working blocks not in whole replica groups"] += (
            int((left & whole & ~placed).sum()) * len(limits) * plans
        )
        whole &= placed
    inter = spares[left & whole]
    measured = ~np.isnan(hardware_scale(instance.hardware_scale, design, intra, limit_shares(design, limits)))
    excluded["GPU limit below the measured hardware scale"] += int((~measured).sum()) * len(inter) * plans
    if design.power is not None and instance.power.rack_limit is not None:
        carried = rack_draw(design, design.power, intra, limits) <= instance.power.rack_limit * (1 + 1e-12)
        excluded["rack power above its limit"] += int((measured & ~carried).sum()) * len(inter) * plans
        measured &= carried
    return inter, limits[measured]


_COLUMNS = [
    *DECISIONS,
    "unavailability",
    "rate_per_h",
    "gpus",
    "working_gpus",
    "placed_gpus",
    "planned_stops",
    "log_scale",
    "capital",
    "plan_cost_per_year",
    "it_power_kw",
    "blocked_power_kw",
]


def stack(frames: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Frames of candidates, of arrays of one length or constants, one below the other."""
    if not frames:
        return pd.DataFrame({column: pd.Series(dtype=float) for column in _COLUMNS})
    sizes = np.array([np.size(frame["gpu_limit_kw"]) for frame in frames])
    columns = {column: _stacked([frame[column] for frame in frames], sizes) for column in _COLUMNS}
    return pd.DataFrame(columns, copy=False)


def _stacked(parts: Sequence[Any], sizes: Counts) -> NDArray[Any]:
    """Arrays one below the other, where a number stands for an array of the size that is due."""
    if not any(isinstance(part, np.ndarray) for part in parts):
        return np.repeat(np.array(parts), sizes)
    return np.concatenate(
        [part if np.ndim(part) else np.full(size, part) for part, size in zip(parts, sizes.tolist(), strict=True)]
    )


def energy_cost_per_kw_year(instance: Instance) -> float:
    """Money per year for one kW of IT draw all year; 0 where no energy price is given."""
    price = instance.power.energy_price
    return 0.0 if price is None else instance.power.pue * HOURS_PER_YEAR * price
