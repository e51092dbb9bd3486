"""The inputs that are uncertain, and the interval of each: stated by the instance, given by the planner, or assumed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spareopt import units
from spareopt.errors import Fault, InputError
from spareopt.instance import Instance
from spareopt.overlays.overlay import Overlay
from spareopt.overlays.sources import read_overlay
from spareopt.overrides import OverrideError, fields_of, steps, value_at, walk
from spareopt.reading import read_instance
from spareopt.what_if import changed

_QUANTITY = re.compile(rf"{units.NUMBER}( \S.*)?")
Origin = Literal["stated", "given", "assumed"]
ASSUMED = ("0.8x", "1.2x")
"""The interval of an input for which nobody states one: 20 % either way, by our choice and of no source."""
USUAL = (
    "failures.tray.mtbf",
    "failures.rack.mtbf",
    "failures.software.mtbf",
    "failures.domains.*.mtbf",
    "repair_plans.*.tray.hands_on",
    "repair_plans.*.tray.off_crew",
    "repair_plans.*.rack.hands_on",
    "repair_plans.*.rack.off_crew",
    "repair_plans.*.lead_time",
    "repair_plans.*.crew_cost",
    "repair_plans.*.tray_price",
    "repair_plans.*.yearly_cost",
    "checkpoint_plans.*.save",
    "checkpoint_plans.*.detection",
    "checkpoint_plans.*.restart",
    "checkpoint_plans.*.yearly_cost",
    "designs.*.rack_price",
    "economics.site_capital",
    "power.energy_price",
)
"""Inputs that every planner is unsure of, where an instance has them."""


@dataclass(frozen=True)
class Input:
    """An uncertain input: its path (or tied ones, with commas), the fields that it stands for, and its two ends."""

    path: str
    fields: tuple[str, ...]
    ends: tuple[Any, Any]
    origin: Origin

    def changes(self, end: int) -> dict[str, Any]:
        """The changes that set the input to its low (0) or high (1) end."""
        return dict.fromkeys(self.fields, self.ends[end])


def uncertain_inputs(instance: Instance, given: Mapping[str, tuple[Any, Any]] | None = None) -> list[Input]:
    """The uncertain inputs of an instance: those given alone, or those it states and the usual others as assumed.

    Both ends of each are checked.  Raises InputError.
    """
    data = instance.resolved()
    if given:
        return [_checked(instance, data, path, ends, "given") for path, ends in given.items()]
    inputs = [_checked(instance, data, path, ends, "stated") for path, ends in instance.intervals.items()]
    covered = {_plain(field) for item in inputs for field in item.fields}
    for path in USUAL:
        fields = tuple(field for field in _present(data, path) if _plain(field) not in covered)
        if fields:
            inputs.append(Input(path, fields, ASSUMED, "assumed"))
    return inputs


def _plain(field: str) -> str:
    """The field under the one name of what is its own inverse."""
    return field.removesuffix(".rate") + ".mtbf" if field.endswith(".rate") else field


def _present(data: Mapping[str, Any], path: str) -> list[str]:
    """The fields of a usual input that an instance has, zeros left out: a multiple of nothing is nothing."""
    fields = [".".join(field) for field in walk(data, path.split("."))]
    return [field for field in fields if _number(data, field) != 0]


def _number(data: Any, field: str) -> float | None:
    parts, node = field.split("."), data
    while parts:
        step = next(steps(node, parts), None)
        if step is None:
            return None
        _, node, parts = step
    try:
        return float(str(node).split()[0])
    except ValueError:
        return None


def _checked(instance: Instance, data: Mapping[str, Any], path: str, ends: tuple[Any, Any], origin: Origin) -> Input:
    where = f"{instance.name} (interval of {path})"
    tied = [part.strip() for part in path.split(",")]
    try:
        fields = [field for part in tied for field in fields_of(data, part)]
    except OverrideError as error:
        raise InputError(where, [error.fault]) from None
    if twice := next((field for field in fields if fields.count(field) > 1), None):
        raise InputError(where, [Fault(twice, "is named twice by the tied paths; keep one of them")])
    result = Input(path, tuple(fields), (ends[0], ends[1]), origin)
    low, high = (changed(instance, result.changes(end)).resolved() for end in (0, 1))
    for field in result.fields:
        for value in (value_at(place, field) for place in (instance.resolved(), low, high)):
            if not _is_number(value):
                message = f"expected an input that is a number or a quantity, got {value!r:.60}; name another"
                raise InputError(where, [Fault(field, message)])
    if low == high:
        texts = " and ".join("null" if end is None else str(end) for end in ends)
        message = f"both ends come to the same, {texts}; expected two that differ, such as 0.5x and 2x"
        raise InputError(where, [Fault(path, message)])
    return result


def _is_number(value: Any) -> bool:
    """Whether plain data is a number, a quantity, or nothing, as of a limit that is not stated."""
    if isinstance(value, str):
        return _QUANTITY.fullmatch(value) is not None
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def check_intervals(source: str | Path, overlays: Iterable[str | Path | Overlay] = ()) -> list[Fault]:
    """The faults of an instance's intervals, each end applied alone; none when all can be solved."""
    laid = [overlay if isinstance(overlay, Overlay) else read_overlay(overlay) for overlay in overlays]
    instance = read_instance(source, overlays=laid)
    stated = {path: overlay for overlay in laid for path in overlay.intervals}
    data, faults = instance.resolved(), []
    for path, ends in instance.intervals.items():
        try:
            _checked(instance, data, path, ends, "stated")
        except InputError as error:
            for fault in error.faults:
                field, message = f"intervals.{path}", f"{fault.field}: {fault.message}"
                by = stated.get(path)
                faults.append(Fault(field, message) if by is None else by.fault(("intervals", path), field, message))
    return faults
