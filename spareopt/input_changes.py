"""What differs between two instances, field by field, each difference with the cause that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spareopt import units
from spareopt.instance import Instance
from spareopt.overrides import value_at
from spareopt.record import Frozen

Path = tuple[str, ...]
CAUSES = {
    "fault_rates": "fault rates",
    "repair": "repair times, crews and shelf",
    "prices": "prices",
    "caps": "caps and guarantees",
    "choices": "choices offered",
    "cluster": "the cluster itself",
    "training": "training and checkpoints",
    "objective": "objective",
    "other": "other inputs",
}
"""The groups of fields that may be why a plan changes, in the order in which they are named and put in place."""
NO_EFFECT = "no_effect"
"""The cause of what no objective, goodput or cost depends on."""
_WITHOUT_EFFECT = ("schema_version", "name", "description", "notes", "currency", "job", "horizon")
_NAMED = ("zones", "designs", "repair_plans", "checkpoint_plans", "domains", "bursts")
_NUMBER = re.compile(rf"\s*({units.NUMBER})(?![\d.])\s*(.*)", re.DOTALL)
_INVERSES = (("mtbf", "rate"), ("rate", "mtbf"))
_ROUNDING = 1e-12


class FieldChange(Frozen):
    """A field of the instance that moved."""

    cause: str
    """One of the causes, or ``no_effect``."""
    path: str
    """Dotted path, as an override has it."""
    before: Any
    """As in instance.json; None where it was not stated."""
    after: Any
    """Likewise; an MTBF that became a rate (or the other way round) as the inverse."""
    ratio: float | None
    """After over before, where both are numbers above zero."""


@dataclass(frozen=True)
class Difference:
    """A field that differs, and what to put where so that it no longer does (None: take it out)."""

    change: FieldChange
    puts: tuple[tuple[Path, Any], ...]


def differences(before: Instance, after: Instance) -> list[Difference]:
    """Every field that differs between two instances.

    Items of lists are known by their names, so that their order makes no difference; an item that one instance lacks
    is one difference, as are the items of other lists together.  ``mtbf`` and ``rate`` are one field.
    """
    old, new = before.resolved(), after.resolved()
    return [
        Difference(
            FieldChange(
                cause=_cause(path, old, new),
                path=".".join(path),
                before=first,
                after=second,
                ratio=_ratio(first, second),
            ),
            puts,
        )
        for path, first, second, puts in _walk((), old, new)
    ]


_Found = tuple[Path, Any, Any, tuple[tuple[Path, Any], ...]]


def _walk(path: Path, old: Any, new: Any) -> Iterator[_Found]:
    if old == new:
        return
    if path and path[-1] in _NAMED and isinstance(old, list) and isinstance(new, list):
        old, new = ({item["name"]: item for item in items} for items in (old, new))
    if not (isinstance(old, dict) and isinstance(new, dict)):
        yield path, old, new, ((path, new),)
        return
    stated = next(((mine, other) for mine, other in _INVERSES if mine in old and other in new), None)
    for key in [*old, *(key for key in new if key not in old)]:
        if stated is None or key not in stated:
            yield from _walk((*path, str(key)), old.get(key), new.get(key))
    if stated is not None:
        mine, other = stated
        first, second = old[mine], value_at(dict(new), mine)
        ratio = _ratio(first, second)
        if ratio is None or abs(ratio - 1.0) > _ROUNDING:
            yield (*path, mine), first, second, (((*path, mine), None), ((*path, other), new[other]))


def quantity(value: Any) -> tuple[float, str] | None:
    """The number and the unit of a value of an instance; None where it is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        return (units.number_of(match[1]), match[2].strip()) if match else None
    return float(value), ""


def _ratio(before: Any, after: Any) -> float | None:
    old, new = quantity(before), quantity(after)
    if old is None or new is None or old[1] != new[1] or old[0] <= 0 or new[0] <= 0:
        return None
    return new[0] / old[0]


def _cause(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The cause of a difference.  What can't be built without another difference belongs to that one's cause."""
    match path:
        case ("failures", "domains", _, "repair", *_):
            return "repair"
        case ("failures", *_) | ("designs", _, "relative_tray_rate" | "relative_rack_rate"):
            return "fault_rates"
        case ("repair_plans", _, "rack") if ("rack" in old["failures"]) != ("rack" in new["failures"]):
            return "fault_rates"  # a repair time that is needed, or known, because racks fail in one of the two only
        case ("repair_plans", _, "domains", name) if (name in _domains(old)) != (name in _domains(new)):
            return "fault_rates"
        case ("repair_plans", name, "crew_cost") if _states(old, name, "crews") != _states(new, name, "crews"):
            return "repair"
        case ("repair_plans", name, "tray_price") if _states(old, name, "shelf") != _states(new, name, "shelf"):
            return "repair"
        case (
            ("designs", _, "rack_price")
            | ("repair_plans", _, "crew_cost" | "tray_price" | "yearly_cost")
            | ("checkpoint_plans", _, "yearly_cost")
            | ("power", "energy_price")
            | ("economics", *_)
        ):
            return "prices"
        case ("limits", *_) | ("power", "rack_limit") | ("zones", _, "guarantee", *_):
            return "caps"
        case (
            ("designs" | "repair_plans" | "checkpoint_plans", _)
            | ("designs", _, "intra_block_spares" | "inter_block_spares")
            | ("designs", _, "power", "gpu_limits")
            | ("zones", _, "racks" | "designs")
        ):
            return "choices"
        case ("power", "grid_intensity"):
            return NO_EFFECT
        case ("designs" | "zones", *_) | ("power", "pue"):
            return "cluster"
        case ("repair_plans", *_):
            return "repair"
        case ("checkpoint_plans" | "hardware_scale" | "llm_scale" | "placement_group", *_):
            return "training"
        case ("objective", *_):
            return "objective"
        case (name, *_) if name in _WITHOUT_EFFECT:
            return NO_EFFECT
    return "other"


def _domains(data: Mapping[str, Any]) -> list[str]:
    return [domain["name"] for domain in data["failures"]["domains"]]


def _states(data: Mapping[str, Any], plan: str, field: str) -> bool:
    return any(item["name"] == plan and field in item for item in data["repair_plans"])
