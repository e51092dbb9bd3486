"""Apply overlays to the plain data of an instance, and know afterwards which of them stated a field."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from spareopt.errors import Fault
from spareopt.instance import Instance
from spareopt.overlays.overlay import ITEMS, LIKE, Overlay, Place
from spareopt.overrides import OverrideError, apply_override, canonical, fields_of, value_at
from spareopt.yaml_source import flow, value_text

Path = tuple[str, ...]
"""A place in the data of an instance, items of lists by their names."""


@dataclass(frozen=True)
class _Stated:
    """That an overlay stated a value at a place of its own."""

    path: Path
    value: Any
    overlay: Overlay
    place: Place


class Layers:
    """Overlays as they are applied one after the other: what they changed, what was wrong, who stated what."""

    def __init__(self) -> None:
        self.applied: list[str] = []
        self.faults: list[Fault] = []
        self._stated: list[_Stated] = []
        self._names: list[str] = []

    def apply(self, data: dict[str, Any], overlay: Overlay) -> None:
        """Apply an overlay to plain instance data in place; what is wrong with it is noted in ``faults``."""
        faults = overlay.faults()
        if overlay.name in self._names:
            message = f"{overlay.name!r} is the name of an overlay that is applied already; give each once"
            faults.append(overlay.fault(("name",), "name", message))
        self._names.append(overlay.name)
        if faults:
            self.faults += faults
            return
        self._check_waits(data, overlay)
        for listed in ITEMS:
            for i, item in enumerate(getattr(overlay, listed)):
                self._merge(data, overlay, listed, i, item)
        for path, value in overlay.overrides.items():
            self._override(data, overlay, path, value)
        self._merge_intervals(data, overlay)
        self._add_scenarios(data, overlay)
        if overlay.notes and isinstance(data.setdefault("notes", []), list | tuple):
            data["notes"] = [*data["notes"], *overlay.notes]

    def fault_at(
        self, path: Sequence[str | int], data: Any, field: str, message: str, *, last: bool = False
    ) -> Fault | None:
        """A fault of the data with the file and line of the overlay that stated what is there; None where none did.

        ``last``: the overlays were the last to change the data, so that what misses in their items is their fault.
        """
        stated = self._owner(path, data) or (self._item(path, data) if last else None)
        if stated is None:
            return None
        place = (*stated.place, *path[len(stated.path) :])  # nothing follows where the path ends above what was stated
        return stated.overlay.fault(place, field, message)

    def override(self, data: dict[str, Any], path: str, value: Any, who: str) -> list[Fault]:
        """Apply an override to plain instance data in place.

        Returns a fault for what overlays stated within a list or section that the override replaces as a whole, and
        of which nothing is left: the planner would take it for applied.  Raises OverrideError.
        """
        below: dict[str, _Stated] = {}
        if isinstance(value, list | dict):  # a single value has nothing below, and null takes out what it names
            fields = [_named(canonical(data, field), data) for field in fields_of(data, path, numbers=False)]
            for stated in self._stated:
                where = ".".join(stated.path)
                if any(f == stated.path[: len(f)] and f != stated.path for f in fields) and _stands(data, where):
                    below[where] = stated
        apply_override(data, path, value)
        lost: dict[Place, Fault] = {}
        for where, stated in below.items():
            if not _stands(data, where):
                message = f"would be lost: {who} replaces {path} as a whole; state it there too, or leave one out"
                fault = stated.overlay.fault(stated.place, where, message)
                lost.setdefault((stated.overlay.name, fault.line or fault.field), fault)  # one for each row or item
        return list(lost.values())

    def not_offered(self, instance: Instance) -> list[Fault]:
        """Designs that overlays added and that no zone may take, for each lists its designs."""
        listed = [zone.designs for zone in instance.zones]
        known = [design.name for design in instance.designs]
        faults = []
        for stated in self._stated:
            name = stated.path[-1]
            if stated.path != ("designs", name) or name not in known:
                continue
            if all(designs is not None and name not in designs for designs in listed):
                zone = instance.zones[0]
                message = (
                    "no zone may take it, for each lists its designs; add it, such as with "
                    f'--set zones.{zone.name}.designs="{flow([*(zone.designs or ()), name])}"'
                )
                faults.append(stated.overlay.fault(stated.place, ".".join(stated.path), message))
        return faults

    def _owner(self, path: Sequence[str | int], data: Any) -> _Stated | None:
        named = _named(path, data)
        for stated in reversed(self._stated):
            if named[: len(stated.path)] == stated.path and _same(stated.value, data, path, len(stated.path)):
                return stated
        return None

    def _item(self, path: Sequence[str | int], data: Any) -> _Stated | None:
        """The item of an overlay in which a field misses; else the last field stated beside it."""
        length = next(n for n in range(len(path), -1, -1) if n == 0 or _at(data, path[:n]) is not None)
        if length in (0, len(path)):
            return None
        around = _named(path[:length], data)
        holding = [stated for stated in self._stated if around[: len(stated.path)] == stated.path]
        beside = [stated for stated in self._stated if stated.path[:length] == around]
        return next(reversed(holding or beside), None)

    def _state(self, path: Path, value: Any, overlay: Overlay, place: Place) -> None:
        self._stated.append(_Stated(path, copy.deepcopy(value), overlay, place))

    def _merge(self, data: dict[str, Any], overlay: Overlay, listed: str, place: int, item: dict[str, Any]) -> None:
        items = data.setdefault(listed, [])
        if isinstance(items, tuple):  # as data from Python may have them
            items = data[listed] = list(items)
        if not isinstance(items, list):  # which the check of the instance reports
            return
        name, like = item["name"], item.get(LIKE)
        named = [other for other in items if isinstance(other, dict) and isinstance(other.get("name"), str)]
        known: dict[str, dict[str, Any]] = {other["name"]: other for other in named}
        where = f"{listed}.{name}"
        if name in known:
            if LIKE in item:
                message = f"the instance has {name!r} already; take `like` out to change it, or choose another name"
                self.faults.append(overlay.fault((listed, place, LIKE), f"{where}.{LIKE}", message))
                return
            for key, value in item.items():
                if key == "name":
                    continue
                _put(known[name], key, value)
                self._state((listed, name, key), value, overlay, (listed, place, key))
                self.applied.append(f"overlay {overlay.name}: {where}.{key}={value_text(value)}")
            return
        if LIKE in item and like not in known:
            close = difflib.get_close_matches(str(like), list(known), 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            message = f"no item {like!r} to start from; the instance has {', '.join(known) or 'none'}{hint}"
            self.faults.append(overlay.fault((listed, place, LIKE), f"{where}.{LIKE}", message))
            return
        needed = [] if LIKE in item else _missing(overlay, listed, item)
        if needed:
            close = difflib.get_close_matches(name, list(known), 1)
            hint = f"did you mean {close[0]!r}? Otherwise " if close else ""
            message = (
                f"the instance has no {name!r}; {hint}a new one starts with `{LIKE}` from one that it has "
                f"({', '.join(known) or 'none'}), or states {', '.join(needed)}"
            )
            self.faults.append(overlay.fault((listed, place, "name"), where, message))
            return
        new = copy.deepcopy(known[str(like)]) if LIKE in item else {}
        for key, value in item.items():
            if key != LIKE:
                _put(new, key, value)
        items.append(new)
        self._state((listed, name), new, overlay, (listed, place))
        self.applied.append(f"overlay {overlay.name}: {where}={value_text({k: item[k] for k in item if k != 'name'})}")

    def _override(self, data: dict[str, Any], overlay: Overlay, path: str, value: Any) -> None:
        place = ("overrides", path)
        try:
            fields = fields_of(data, path, numbers=isinstance(value, str) and value.strip().endswith("x"))
            self.faults += self.override(data, path, copy.deepcopy(value), f"overlay {overlay.name}")
        except OverrideError as error:
            self.faults.append(overlay.fault(place, error.fault.field, error.fault.message))
            return
        for field in fields:
            found = canonical(data, field)
            inverse = (*found[:-1], "rate") if found[-1] == "mtbf" else found
            for stated in {found, inverse}:
                self._state(_named(stated, data), _at(data, stated), overlay, place)
        self.applied.append(f"overlay {overlay.name}: {path}={value_text(value)}")

    def _check_waits(self, data: dict[str, Any], overlay: Overlay) -> None:
        """Refuse a response laid over a whole repair time of an earlier overlay: calibrated ones hold all waits."""
        for item in overlay.repair_plans:
            source = item.get(LIKE, item["name"])
            for unit in ("tray", "rack"):
                earlier = [stated for stated in self._stated if stated.path == ("repair_plans", source, unit)]
                fields = {word: f"repair_plans.{item['name']}.{unit}.{word}" for word in ("off_crew", "hands_on")}
                own = [field for field in fields.values() if field in overlay.overrides]
                if not earlier or not own:
                    continue
                phases = _stands(data, f"repair_plans.{source}.{unit}.phases")
                if phases or own == [fields["off_crew"]]:
                    first = "give this file before that one" if LIKE in item else "give the offer a name of its own"
                    message = (
                        f"would be added to the {unit} repair time that overlay {earlier[-1].overlay.name} states for "
                        f"{source!r}, and a calibrated one holds all waits; {first}"
                    ) + ("" if phases else f", or state {unit}_hands_on, too")
                    self.faults.append(overlay.fault(("overrides", own[0]), own[0], message))

    def _merge_intervals(self, data: dict[str, Any], overlay: Overlay) -> None:
        known = data.setdefault("intervals", {}) if overlay.intervals else {}
        if not isinstance(known, dict):
            return
        own = {field for path in overlay.intervals for field, _ in _fields(data, path)}
        for path in list(known):
            fields = _fields(data, str(path))
            left = [text for field, text in fields if field not in own]
            if len(left) < len(fields):
                ends = known.pop(path)
                if left:
                    known[", ".join(left)] = ends
        for path, ends in overlay.intervals.items():
            known[path] = list(ends)
            self._state(("intervals", path), known[path], overlay, ("intervals", path))

    def _add_scenarios(self, data: dict[str, Any], overlay: Overlay) -> None:
        known = data.setdefault("scenarios", {}) if overlay.scenarios else {}
        if not isinstance(known, dict):
            return
        for name, scenario in overlay.scenarios.items():
            place = ("scenarios", name)
            if name in known:
                message = "the instance has a scenario of this name already; rename one of them"
                self.faults.append(overlay.fault(place, f"scenarios.{name}", message))
                continue
            known[name] = scenario.model_dump(mode="json")
            self._state(place, known[name], overlay, place)


def _missing(overlay: Overlay, listed: str, item: dict[str, Any]) -> list[str]:
    """The required fields that neither a new item nor an override of its overlay states."""
    return [
        key
        for key, field in ITEMS[listed].model_fields.items()
        if field.is_required()
        and key not in item
        and not any(path.startswith(f"{listed}.{item['name']}.{key}") for path in overlay.overrides)
    ]


def _put(item: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        item.pop(key, None)
    else:
        item[key] = copy.deepcopy(value)


def _fields(data: dict[str, Any], path: str) -> list[tuple[tuple[str, ...], str]]:
    """The fields of an interval's path (tied ones, with commas), each under its one name and as it is written."""
    found: list[tuple[tuple[str, ...], str]] = []
    for part in (part.strip() for part in path.split(",")):
        try:
            fields: Iterable[str] = fields_of(data, part)
        except OverrideError:
            fields = (part,)
        found += [(canonical(data, field), field) for field in fields]
    return found


def _step(node: Any, part: str | int) -> tuple[Any, str | int] | None:
    """What a key or place leads to, and the key as the data has it; None where it leads nowhere."""
    if isinstance(node, list):
        place = int(part) if str(part).isascii() and str(part).isdigit() else -1
        return (node[place], place) if 0 <= place < len(node) else None
    if isinstance(node, dict):
        key = next((key for key in node if key == part or str(key) == str(part)), None)
        return None if key is None else (node[key], key)
    return None


def _named(path: Sequence[str | int], data: Any) -> Path:
    """A path with the names of items in place of their places, as long as the data goes along."""
    result: list[str] = []
    node = data
    for part in path:
        step = None if node is None else _step(node, part)
        inside_list = isinstance(node, list)
        node = None if step is None else step[0]
        name = node.get("name") if inside_list and isinstance(node, dict) else None
        result.append(str(part) if name is None else str(name))
    return tuple(result)


def _at(data: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        step = _step(data, part)
        if step is None:
            return None
        data = step[0]
    return data


def _stands(data: dict[str, Any], path: str) -> bool:
    """Whether anything stands at a path, an mtbf as its rate and the other way round."""
    return value_at(data, path) is not None


def _same(value: Any, data: Any, path: Sequence[str | int], length: int) -> bool:
    """Whether what was stated at the first ``length`` steps of a path still stands, as far down as the path leads."""
    here = _at(data, path[:length])
    for part in path[length:]:
        below, there = _step(here, part), _step(value, part)
        if below is None or there is None:
            break
        here, value = below[0], there[0]
    return here is value or bool(here == value)
