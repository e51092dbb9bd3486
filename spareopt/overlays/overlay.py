"""Overlays: figures from outside that change an instance, as a record that is read from YAML and written to it."""

from __future__ import annotations

import difflib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, PrivateAttr, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from spareopt.checkpoint_plans import CheckpointPlan
from spareopt.errors import Fault, InputError
from spareopt.faults import validation_faults
from spareopt.fields import Ends, Name
from spareopt.folders import write_new_file
from spareopt.instance import BlockDesign, Scenario
from spareopt.record import Record
from spareopt.repair_plans import RepairPlan
from spareopt.yaml_source import Lines, parse_value

OVERLAY_VERSION = 1
LIKE = "like"
"""The field of an item that names the item of the instance which it starts from."""
ITEMS: dict[str, type[Record]] = {
    "designs": BlockDesign,
    "repair_plans": RepairPlan,
    "checkpoint_plans": CheckpointPlan,
}
"""The lists of an instance whose items an overlay changes or adds, by name."""
LETTERS = "letters, digits, spaces and -_./"
"""What a name is made of, in words."""
Place = tuple[str | int, ...]
"""Where something stands in an overlay: fields, and places in lists."""


@dataclass(frozen=True)
class Origin:
    """The file that an overlay was read from, the line of each place, and its column where the file is a table.

    No part of what the overlay says: all are equal.
    """

    file: str = field(default="", compare=False)
    lines: Mapping[Place, int] = field(default_factory=dict, compare=False)
    columns: Mapping[Place, str] = field(default_factory=dict, compare=False)
    cells: Mapping[Place, str] = field(default_factory=dict, compare=False)
    """Sheet and cell, where the file is a workbook."""


class Overlay(BaseModel):
    """Figures from outside that change an instance: a price list, contracts, calibrated rates."""

    model_config = Record.model_config

    overlay_version: Literal[1] = 1
    name: Name
    """What notes and messages call it."""
    description: str = ""
    """For people."""
    source: str = ""
    """Where the figures come from."""
    notes: tuple[str, ...] = ()
    """Appended to the instance's notes."""
    overrides: dict[str, Any] = Field(default_factory=dict)
    """Dotted path: new value, or a multiple of the old one, applied after the items below."""
    designs: tuple[dict[str, Any], ...] = ()
    """Items merged by name: one that the instance has changes the fields given, another is new."""
    repair_plans: tuple[dict[str, Any], ...] = ()
    """Merged likewise."""
    checkpoint_plans: tuple[dict[str, Any], ...] = ()
    """Merged likewise."""
    intervals: dict[str, Ends] = Field(default_factory=dict)
    """Replace those of the instance for the same fields, or are added."""
    scenarios: dict[Name, Scenario] = Field(default_factory=dict)
    """Added to those of the instance."""
    expects: dict[str, Any] = Field(default_factory=dict)
    """Dotted path: value that the instance has before anything changes it, where the overlay was made for that one."""
    holds: tuple[Name, ...] = ()
    """Scenarios whose changes are among the overrides: to apply one again would change twice."""

    _origin: Origin = PrivateAttr(default=Origin())

    @property
    def label(self) -> str:
        """What to call it in a message: its file, or its name."""
        return self._origin.file or f"overlay {self.name}"

    def placed(self, origin: Origin) -> Overlay:
        """The same overlay, with the file and the lines that its faults name."""
        result = self.model_copy()
        result._origin = origin
        return result

    def fault(self, place: Place, path: str, message: str) -> Fault:
        """A fault of what stands at a place, under the name that ``path`` gives the field, with file and line."""
        origin = self._origin
        above = [place[:n] for n in range(len(place), -1, -1)]
        if (part := next((part for part in above if part in origin.cells), None)) is not None:
            return Fault(f"{origin.cells[part]} ({part[-1]})", message, None, self.label)
        column = next((origin.columns[part] for part in above if part in origin.columns), None)
        line = next((origin.lines[part] for part in above if part in origin.lines), None)
        return Fault(path if column is None else f"column {column} ({path})", message, line, self.label)

    def faults(self) -> list[Fault]:
        """What is wrong with its items whatever the instance: names that miss or repeat, and unknown fields."""
        return [fault for listed in ITEMS for fault in self._item_faults(listed)]

    def checked(self) -> Overlay:
        """The same overlay.  Raises InputError, under the overlay's label, where it has faults."""
        if faults := self.faults():
            raise InputError(self.label, faults)
        return self

    def _item_faults(self, listed: str) -> list[Fault]:
        faults: list[Fault] = []
        names: list[str] = []
        known = [*ITEMS[listed].model_fields, LIKE]
        for i, item in enumerate(getattr(self, listed)):
            name = item.get("name")
            if not is_name(name):
                message = "required, but missing" if name is None else f"expected a name of {LETTERS}, got {name!r:.80}"
                faults.append(self.fault((listed, i, "name"), f"{listed}.{i}.name", message))
                continue
            if name in names:
                faults.append(self.fault((listed, i, "name"), f"{listed}.{name}", "given twice; keep one of them"))
            names.append(name)
            if LIKE in item and not isinstance(item[LIKE], str):
                message = f"expected the name of an item to start from, got {item[LIKE]!r:.80}"
                faults.append(self.fault((listed, i, LIKE), f"{listed}.{name}.{LIKE}", message))
            for key in item:
                if key not in known:
                    close = difflib.get_close_matches(str(key), known, 1)
                    hint = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(sorted(known))}"
                    faults.append(self.fault((listed, i, key), f"{listed}.{name}.{key}", f"unknown field; {hint}"))
        return faults


def is_name(value: object) -> bool:
    """Whether a value may name an item of an instance."""
    try:
        TypeAdapter(Name).validate_python(value)
    except ValidationError:
        return False
    return True


def overlay_from(data: Mapping[str, Any], origin: Origin) -> Overlay:
    """An overlay from the plain data of its file.  Raises InputError with every fault found."""
    version = data.get("overlay_version")
    if type(version) is not int or version != OVERLAY_VERSION:
        found = "is missing" if version is None else f"is {version!r:.80}"
        hint = "; this is an instance, not an overlay" if version is None and "schema_version" in data else ""
        message = f"{found}; expected {OVERLAY_VERSION}, the version that this spareopt reads{hint}"
        raise InputError(origin.file, [Fault("overlay_version", message, origin.lines.get(("overlay_version",)))])
    try:
        result = Overlay.model_validate(data).placed(origin)
    except ValidationError as error:
        lines: Lines = dict(origin.lines)
        raise InputError(origin.file, validation_faults(error, data, data, lines, Overlay)) from None
    except RecursionError:
        raise InputError(origin.file, [Fault("", "is nested too deep")]) from None
    return result.checked()


def write_overlay(overlay: Overlay, path: str | Path) -> None:
    """Write an overlay to a new YAML file, which appears whole or not at all: the same bytes for the same overlay.

    Raises InputError where something stands there, it can't be written, or the overlay has faults.
    """
    write_new_file(path, overlay_text(overlay.checked()))


def overlay_text(overlay: Overlay) -> str:
    """An overlay as the text of a YAML file.  Raises InputError where it holds what YAML can't say."""
    no_yaml = InputError(overlay.label, [Fault("", "holds what YAML can't say; expected text, numbers, lists, fields")])
    try:
        data = overlay.model_dump(mode="json", exclude_defaults=True)
    except PydanticSerializationError:
        raise no_yaml from None
    data = {"overlay_version": overlay.overlay_version, **data}
    for scenario in data.get("scenarios", {}).values():
        scenario.setdefault("overrides", {})
    writer = YAML(typ="rt", pure=True)
    writer.width = 10_000
    writer.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    try:
        writer.dump(data, stream)
    except YAMLError as error:
        raise InputError(overlay.label, [Fault("", f"can't be written as YAML: {error}")]) from None
    text = stream.getvalue()
    if parse_value(text) != data:
        raise no_yaml
    return text
