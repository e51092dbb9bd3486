"""Scenarios with weights: versions of an instance that differ in its circumstances, never in what can be decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite
from typing import Any

from spareopt import units
from spareopt.errors import Fault, InputError
from spareopt.instance import Instance
from spareopt.levels import level_instances
from spareopt.what_if import Changes, changed

NOMINAL = "nominal"
"""The name of the instance as it stands, without changes."""
SUM_TOLERANCE = 1e-9
SHOWN = 60
"""Letters of a choice shown in a refusal."""

Weight = float | tuple[float, Changes]
"""The weight of a named scenario, or a weight and the changes of a scenario of one's own."""


@dataclass(frozen=True)
class Weighted:
    """A scenario: its name, its weight (0 where it is only looked at), and the instance with its changes."""

    name: str
    weight: float
    changes: Changes
    instance: Instance


def weighted_scenarios(instance: Instance, weights: Mapping[str, Weight]) -> list[Weighted]:
    """The scenarios of an instance by name, checked: weights sum to 1, and every scenario leaves the same to decide.

    ``weights`` maps the name of a scenario of the instance, or "nominal", to its weight, or any other name to its
    weight and its changes (dotted path: value).  Raises InputError with every fault found.
    """
    faults = _weight_faults(instance, weights)
    if faults:
        raise InputError(instance.name, faults)
    result = []
    for name, given in weights.items():
        weight, changes = given if isinstance(given, tuple) else (given, changes_of(instance, name))
        result.append(Weighted(name, float(weight), changes, _changed(instance, name, changes)))
    same_choices(instance, result)
    return result


def changes_of(instance: Instance, name: str) -> Changes:
    """The changes of a named scenario; none for "nominal"."""
    return {} if name == NOMINAL else dict(instance.scenarios[name].overrides)


def nominal(instance: Instance) -> Weighted:
    """The instance as it stands, as a scenario that does not count."""
    return Weighted(NOMINAL, 0.0, {}, instance)


def same_choices(instance: Instance, scenarios: Sequence[Weighted]) -> None:
    """Refuse scenarios in which something else can be decided than in the instance.  Raises InputError."""
    faults = [fault for scenario in scenarios for fault in _choice_faults(instance, scenario)]
    faults += next(filter(None, map(_level_faults, [nominal(instance), *scenarios])), [])
    if faults:
        raise InputError(instance.name, faults)


def _level_faults(scenario: Weighted) -> list[Fault]:
    """What all zones share is decided level by level in one scenario, and not for several at once."""
    instance = scenario.instance
    if any(plan.shared_by == "site" for plan in instance.repair_plans):
        message = "crews or a shelf that all zones share can't be decided over scenarios; state shared_by: zone"
        return [Fault(_field(scenario, "repair_plans"), message)]
    if len(level_instances(instance)) > 1:
        message = (
            "replica plans beside others, or several plans with failures.ageing: computing, can't be decided over "
            "scenarios; offer one of them, such as --set checkpoint_plans='[...]'"
        )
        return [Fault(_field(scenario, "checkpoint_plans"), message)]
    return []


def _weight_faults(instance: Instance, weights: Mapping[str, Weight]) -> list[Fault]:
    faults = []
    if not weights:
        faults.append(Fault("scenarios", "expected at least one scenario with its weight, such as nominal: 1"))
    if NOMINAL in instance.scenarios and NOMINAL in weights:
        faults.append(
            Fault("scenarios", f"the instance has a scenario {NOMINAL!r}, the name of the unchanged one; rename it")
        )
    known = ", ".join((NOMINAL, *instance.scenarios))
    numbers = []
    for name, given in weights.items():
        weight = given[0] if isinstance(given, tuple) else given
        if isinstance(given, tuple):
            if name == NOMINAL or name in instance.scenarios:
                faults.append(Fault(f"scenarios.{name}", "has changes already; give yours another name"))
        elif name != NOMINAL and name not in instance.scenarios:
            message = f"no such scenario; expected one of {known}, or a weight with changes"
            faults.append(Fault(f"scenarios.{name}", message))
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not isfinite(weight) or weight <= 0:
            message = f"the weight is {weight!r}; expected a number above 0 (leave out what does not count)"
            faults.append(Fault(f"scenarios.{name}", message))
        else:
            numbers.append(float(weight))
    total = fsum(numbers)
    if not faults and abs(total - 1.0) > SUM_TOLERANCE:
        hint = "; change one of them"
        if total < 1.0 and NOMINAL not in weights:
            hint = f"; give the rest to {NOMINAL}={1.0 - total:.6g}"
        faults.append(Fault("scenarios", f"the weights sum to {total:.6g}; expected 1{hint}"))
    return faults


def _changed(instance: Instance, name: str, changes: Changes) -> Instance:
    try:
        return changed(instance, changes)
    except InputError as error:
        raise InputError(f"{instance.name} (scenario {name})", error.faults) from None


def _field(scenario: Weighted, field: str) -> str:
    return field if scenario.name == NOMINAL else f"scenario {scenario.name}: {field}"


def _choice_faults(instance: Instance, scenario: Weighted) -> list[Fault]:
    """What a scenario lets one decide otherwise than the instance does."""
    here, there = _choices(instance), _choices(scenario.instance)
    faults = []
    for field in sorted({*here, *there}):
        listed = field.split(".", maxsplit=1)[0]
        if here.get(field) == there.get(field) or (field != listed and here.get(listed) != there.get(listed)):
            continue  # of items that come or go, their list says it
        old, new = (_brief(field, values.get(field)) for values in (here, there))
        message = (
            f"is {new}, but {old} in the instance; a scenario may change circumstances only, not what is decided: "
            "one plan is chosen for all"
        )
        faults.append(Fault(_field(scenario, field), message))
    return faults


def _brief(field: str, value: Any) -> str:
    if field.endswith(".period") and isinstance(value, float):
        return units.show(value, units.TIME)
    if field.endswith(".gpu_limits") and value is not None:
        value = [units.show(limit, units.POWER) for limit in value]
    text = ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    text = "not stated" if value is None else text
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _choices(instance: Instance) -> dict[str, Any]:
    """All that is decided, and what decisions mean, by field."""
    found: dict[str, Any] = {"currency": instance.currency, "objective.kind": instance.objective.kind}

    def note(where: str, item: Any, fields: tuple[str, ...]) -> None:
        found.update({f"{where}.{field}": getattr(item, field) for field in fields})

    def names(field: str, items: Sequence[Any]) -> None:
        found[field] = tuple(item.name for item in items)

    names("zones", instance.zones)
    for zone in instance.zones:
        note(f"zones.{zone.name}", zone, ("count", "racks", "designs"))
    names("designs", instance.designs)
    for design in instance.designs:
        fields = ("trays_per_block", "gpus_per_tray", "blocks_per_rack", "intra_block_spares", "inter_block_spares")
        note(f"designs.{design.name}", design, fields)
        power = design.power
        limits = None if power is None else power.gpu_limits or (power.gpu_full_limit,)
        found[f"designs.{design.name}.power.gpu_limits"] = limits
    names("repair_plans", instance.repair_plans)
    for plan in instance.repair_plans:
        note(f"repair_plans.{plan.name}", plan, ("shared_by", "crews", "shelf", "start_at"))
    names("checkpoint_plans", instance.checkpoint_plans)
    for scheme in instance.checkpoint_plans:
        where = f"checkpoint_plans.{scheme.name}"
        note(where, scheme, ("period",))
        if scheme.memory is not None:
            note(f"{where}.memory", scheme.memory, ("storage_every",))
        if scheme.replicas is not None:
            note(f"{where}.replicas", scheme.replicas, ("groups_per_zone",))
    return {field: value for field, value in found.items() if value is not None}
