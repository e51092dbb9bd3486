"""What a planner decides: a choice for every zone and a checkpoint plan; read from a plan file or a plan folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spareopt.environment import divides
from spareopt.errors import Fault, InputError
from spareopt.faults import validation_faults
from spareopt.fields import MOST, Name, PositivePower, WholeNumber
from spareopt.instance import BlockDesign, Instance
from spareopt.repair import RepairChoice
from spareopt.repair_plans import MOST_ON_SHELF, RepairPlan
from spareopt.scaling import hardware_scale, llm_scale
from spareopt.wording import watts
from spareopt.yaml_source import Lines, load_yaml

_Count = Annotated[int, Field(strict=True, ge=0, le=MOST)]


class ZoneChoice(BaseModel):
    """How ``count`` of the identical zones of a class are built and run."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    zone: Name
    count: WholeNumber = 1
    design: Name
    racks: WholeNumber
    """Racks per zone, spares included."""
    intra_block_spares: _Count
    """I, idle trays per block."""
    inter_block_spares: _Count
    """R, blocks per zone that the job does not use."""
    repair_plan: Name
    crews: WholeNumber | None = None
    """Crews, where the repair plan offers a choice of them: the zone's, or the whole site's if zones share them."""
    shelf_trays: Annotated[int, Field(strict=True, ge=0, le=MOST_ON_SHELF)] | None = None
    """Trays on the shelf, where the repair plan offers a choice of them: the zone's, or the site's."""
    start_at: WholeNumber | None = None
    """Trays of a block that are down when its repair starts, where the repair plan offers a choice of it."""
    gpu_limit: PositivePower | None = None
    """GPU power limit; the full limit when left out."""


class Decisions(BaseModel):
    """A whole plan's decisions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    zones: Annotated[tuple[ZoneChoice, ...], Field(min_length=1)]
    checkpoint_plan: Name


def read_decisions(source: str | Path | Mapping[str, Any]) -> Decisions:
    """Decisions from a YAML or JSON file, a plan.json, a plan folder, or plain data.  Raises InputError."""
    lines: Lines = {}
    if isinstance(source, Mapping):
        label, data = "plan", dict(source)
    else:
        path = Path(source)
        path = path / "plan.json" if path.is_dir() else path
        label = str(path)
        if not path.is_file():
            raise InputError(str(source), [Fault("", "no such plan; expected a plan file or a folder with plan.json")])
        data, lines = (_load_json(path, label), {}) if path.suffix == ".json" else load_yaml(path, label)
    if "decisions" in data:
        data = data["decisions"]
        lines = {key[1:]: line for key, line in lines.items() if key[:1] == ("decisions",)}
    try:
        return Decisions.model_validate(data)
    except ValidationError as error:
        raise InputError(label, validation_faults(error, data, data, lines)) from None


def _load_json(path: Path, label: str) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(label, [Fault("", f"is not JSON: {error}")]) from None
    if not isinstance(data, dict):
        raise InputError(label, [Fault("", "expected a plan: an object with zones and checkpoint_plan")])
    return data


def decision_faults(instance: Instance, decisions: Decisions) -> list[Fault]:
    """What makes decisions meaningless for an instance: unknown names, wrong counts, spares that leave nothing, and
    choices whose speed the instance does not know.

    Values that the instance does not offer but that can be built (another I or R) are no faults:
    ``beyond_choices`` lists them.
    """
    faults = _unknown_names(instance, decisions)
    zones = {zone.name: zone for zone in instance.zones}
    for zone in instance.zones:
        planned = sum(choice.count for choice in decisions.zones if choice.zone == zone.name)
        if planned != zone.count:
            faults.append(Fault("zones", f"plans {planned} zones of {zone.name!r}; the instance has {zone.count}"))
    designs = {design.name: design for design in instance.designs}
    for i, choice in enumerate(decisions.zones):
        design, zone_of_choice = designs.get(choice.design), zones.get(choice.zone)
        if design is None or zone_of_choice is None:
            continue
        where = f"zones.{i}"
        if choice.intra_block_spares >= design.trays_per_block:
            message = f"expected fewer than trays_per_block ({design.trays_per_block}), got {choice.intra_block_spares}"
            faults.append(Fault(f"{where}.intra_block_spares", message))
        blocks = choice.racks * design.blocks_per_rack
        if choice.inter_block_spares >= blocks:
            message = f"expected fewer than the zone's blocks ({blocks}), got {choice.inter_block_spares}"
            faults.append(Fault(f"{where}.inter_block_spares", message))
        if choice.gpu_limit is not None and (
            design.power is None or choice.gpu_limit > design.power.gpu_full_limit * (1 + 1e-9)
        ):
            full = "no power stated" if design.power is None else f"{design.power.gpu_full_limit:g} kW at most"
            faults.append(Fault(f"{where}.gpu_limit", f"expected a limit within the design's ({full})"))
        faults += _scale_faults(instance, design, choice, where)
        faults += _placing_faults(instance, decisions, choice, blocks, where)
    return faults + _repair_faults(instance, decisions)


def _placing_faults(
    instance: Instance, decisions: Decisions, choice: ZoneChoice, blocks: int, where: str
) -> list[Fault]:
    """Numbers that do not go together: replica groups of whole blocks, cells of whole racks, spares that do not age."""
    faults = []
    scheme = next((plan for plan in instance.checkpoint_plans if plan.name == decisions.checkpoint_plan), None)
    if scheme is not None and scheme.replicas is not None:
        groups, working = scheme.replicas.groups_per_zone, blocks - choice.inter_block_spares
        if working % groups:
            message = f"{working} working blocks do not make {groups} replica groups of whole blocks"
            faults.append(Fault(f"{where}.inter_block_spares", message))
    if not divides(instance, choice.racks):
        message = f"{choice.racks} racks are not divided evenly by the domains across zones"
        faults.append(Fault(f"{where}.racks", message))
    if instance.failures.ageing != "always" and choice.intra_block_spares:
        message = f"expected 0 with failures.ageing: {instance.failures.ageing}"
        faults.append(Fault(f"{where}.intra_block_spares", message))
    return faults


DECISION_FIELDS = (
    "design", "racks", "intra_block_spares", "inter_block_spares", "repair_plan", "crews", "shelf_trays", "start_at",
    "gpu_limit",
)  # fmt: skip
"""What is decided of a zone: fields of its choice."""
REPAIR_FIELDS = {"crews": "crews", "shelf_trays": "shelf", "start_at": "start_at"}
"""The decisions on a repair plan, and the plan's fields that offer them."""


def repair_choice(plan: RepairPlan, choice: ZoneChoice) -> RepairChoice:
    """What a zone choice takes of its repair plan; what it leaves out is the only value that the plan offers."""
    values = []
    for field, offering in REPAIR_FIELDS.items():
        value, offered = getattr(choice, field), getattr(plan, offering)
        values.append(offered[0] if value is None and offered is not None and len(offered) == 1 else value)
    return RepairChoice(*values)


def _repair_faults(instance: Instance, decisions: Decisions) -> list[Fault]:
    """Choices of a repair plan that are missing or that it does not offer, and site plans that only some zones take."""
    faults = []
    plans = {plan.name: plan for plan in instance.repair_plans}
    designs = {design.name: design for design in instance.designs}
    for i, choice in enumerate(decisions.zones):
        plan = plans.get(choice.repair_plan)
        if plan is None:
            continue
        start_at, design = choice.start_at or 1, designs.get(choice.design)
        if design is not None and start_at > design.trays_per_block:
            message = f"expected at most the {design.trays_per_block} trays of a block, got {start_at}"
            faults.append(Fault(f"zones.{i}.start_at", message))
        elif start_at > 1 and (plan.crews or plan.shelf or instance.failures.ageing != "always"):
            message = "expected 1 with a number of crews, a shelf or spares that do not age"
            faults.append(Fault(f"zones.{i}.start_at", message))
        for field, offering in REPAIR_FIELDS.items():
            value, offered = getattr(choice, field), getattr(plan, offering)
            where = f"zones.{i}.{field}"
            if offered is None and value is not None:
                faults.append(Fault(where, f"repair plan {plan.name!r} states no {offering}; leave it out"))
            if offered is not None and value is None and len(offered) > 1:
                known = ", ".join(map(str, offered))
                faults.append(Fault(where, f"required with repair plan {plan.name!r}, which offers {known}"))
        others = {(other.repair_plan, *repair_choice(plan, other)[:2]) for other in decisions.zones}
        if plan.shared_by == "site" and len(others) > 1:
            message = f"{plan.name!r} is shared by the site: every zone must take it, with the same crews and shelf"
            faults.append(Fault(f"zones.{i}.repair_plan", message))
    return faults


def _scale_faults(instance: Instance, design: BlockDesign, choice: ZoneChoice, where: str) -> list[Fault]:
    """A GPU limit or a number of working GPUs per block for which the instance has no speed."""
    faults = []
    if choice.gpu_limit is not None and design.power is not None:
        share, form = choice.gpu_limit / design.power.gpu_full_limit, instance.hardware_scale
        if form is not None and np.isnan(hardware_scale(form, design, 0, np.array(share))):
            message = f"{share:.3g} of the full limit is below what hardware_scale was measured at"
            faults.append(Fault(f"{where}.gpu_limit", message))
        if share < 1 - 1e-9 and not (form is not None and (form.power_curve or form.power_table)):
            message = "a lower limit needs hardware_scale.power_curve or power_table: without one it costs no speed"
            faults.append(Fault(f"{where}.gpu_limit", message))
    if choice.intra_block_spares < design.trays_per_block:
        try:
            llm_scale(instance.llm_scale, (design.trays_per_block - choice.intra_block_spares) * design.gpus_per_tray)
        except ValueError as error:
            faults.append(Fault(f"{where}.intra_block_spares", str(error)))
    return faults


def _unknown_names(instance: Instance, decisions: Decisions) -> list[Fault]:
    known = {
        "zone": [zone.name for zone in instance.zones],
        "design": [design.name for design in instance.designs],
        "repair_plan": [plan.name for plan in instance.repair_plans],
    }
    faults = []
    for i, choice in enumerate(decisions.zones):
        for field, names in known.items():
            name = getattr(choice, field)
            if name not in names:
                faults.append(Fault(f"zones.{i}.{field}", f"unknown {name!r}; expected one of {', '.join(names)}"))
    names = [plan.name for plan in instance.checkpoint_plans]
    if decisions.checkpoint_plan not in names:
        message = f"unknown {decisions.checkpoint_plan!r}; expected one of {', '.join(names)}"
        faults.append(Fault("checkpoint_plan", message))
    return faults


def beyond_choices(instance: Instance, decisions: Decisions) -> list[str]:
    """Decisions that can be built but that the instance does not offer the optimiser, in words."""
    designs = {design.name: design for design in instance.designs}
    zones = {zone.name: zone for zone in instance.zones}
    notes = []
    for choice in decisions.zones:
        design, zone = designs[choice.design], zones[choice.zone]
        if zone.designs is not None and choice.design not in zone.designs:
            notes.append(f"{choice.zone}: design {choice.design}")
        offered = {
            "racks": zone.racks,
            "intra_block_spares": design.intra_block_spares,
            "inter_block_spares": design.inter_block_spares,
        }
        plan = next(plan for plan in instance.repair_plans if plan.name == choice.repair_plan)
        offered |= {
            field: offering
            for field, name in REPAIR_FIELDS.items()
            if getattr(choice, field) is not None and (offering := getattr(plan, name)) is not None
        }
        notes += [
            f"{choice.zone}: {field} {getattr(choice, field)}"
            for field, values in offered.items()
            if getattr(choice, field) not in values
        ]
        if design.power is not None and choice.gpu_limit is not None:
            limits = design.power.gpu_limits or (design.power.gpu_full_limit,)
            if all(abs(choice.gpu_limit - limit) > 1e-9 for limit in limits):
                notes.append(f"{choice.zone}: gpu_limit {watts(choice.gpu_limit)}")
    return notes


def at_the_edge(instance: Instance, decisions: Decisions) -> list[str]:
    """Decisions at an end of what the instance offers, where offering more might give a better plan, in words.

    The natural ends are none: no spares, and the full GPU limit.
    """
    designs = {design.name: design for design in instance.designs}
    zones = {zone.name: zone for zone in instance.zones}
    notes: dict[str, None] = {}
    for choice in decisions.zones:
        design, racks = designs[choice.design], zones[choice.zone].racks
        intra, inter = design.intra_block_spares, design.inter_block_spares
        ends = [
            ("racks", choice.racks, racks, (min(racks), max(racks))),
            ("intra_block_spares", choice.intra_block_spares, intra, (max(intra),)),
            ("inter_block_spares", choice.inter_block_spares, inter, (max(inter),)),
        ]
        plan = next(plan for plan in instance.repair_plans if plan.name == choice.repair_plan)
        for field, name in REPAIR_FIELDS.items():
            value, offered = getattr(choice, field), getattr(plan, name)
            if value is not None and offered is not None:
                natural = (name == "start_at" and min(offered) == 1) or (name == "shelf" and min(offered) == 0)
                ends.append((field, value, offered, (max(offered),) if natural else (min(offered), max(offered))))
        for field, value, offered, edges in ends:
            if len(offered) > 1 and value in edges:
                notes[f"{choice.zone}: {field} {value}"] = None
        limits = design.power.gpu_limits if design.power is not None else None
        if limits and len(limits) > 1 and choice.gpu_limit is not None and choice.gpu_limit <= min(limits):
            notes[f"{choice.zone}: gpu_limit {watts(choice.gpu_limit)}"] = None
    return list(notes)


def shelves_too_small(instance: Instance) -> list[str]:
    """Repair plans whose largest shelf holds fewer trays than are on order on average, in words.

    Such a shelf is nearly always empty: that more was not offered may be why the plan is not chosen.  Orders are those
    of all trays up, on the fewest trays that the zones may have.
    """
    notes = []
    fewest = [
        zone.count
        * min(
            min(zone.racks) * design.blocks_per_rack * design.trays_per_block * design.relative_tray_rate
            for design in instance.designs
            if zone.designs is None or design.name in zone.designs
        )
        for zone in instance.zones
    ]
    for plan in instance.repair_plans:
        if plan.shelf is None or plan.lead_time is None:
            continue
        per_zone = [trays / zone.count for trays, zone in zip(fewest, instance.zones, strict=True)]
        trays = sum(fewest) if plan.shared_by == "site" else min(per_zone)
        on_order = trays * instance.failures.tray.per_hour * plan.parts_share * plan.lead_time
        if on_order > max(plan.shelf):
            owner = "the site" if plan.shared_by == "site" else "each zone"
            notes.append(
                f"repair plan {plan.name}: {on_order:,.0f} trays of {owner} are on order on average, more than the "
                f"largest shelf offered ({max(plan.shelf):,})"
            )
    return notes
