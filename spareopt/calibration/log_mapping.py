"""The mapping: which columns of a log mean what, how its times are written, what its fault classes are faults of."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping
from datetime import timedelta, timezone, tzinfo
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from spareopt.errors import InputError
from spareopt.faults import validation_faults
from spareopt.yaml_source import Lines, load_yaml

EXCLUDE = "exclude"
"""The kind of fault classes that are no faults, such as stress tests."""
Times = Literal["hours", "days", "timestamps", "epoch seconds", "epoch milliseconds"]
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")


def _text(value: object) -> object:
    """A word that YAML may have read as a number or a truth, such as a column named 7."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_text), Field(min_length=1, max_length=1000)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class TableFormat(_Part):
    """How a table is laid out; what is left out is found in the file where that is no guess."""

    columns: dict[str, Text] = Field(default_factory=dict)
    """Column of the file by what it holds, such as ``unit: host``; columns with obvious names need none."""
    times: Times | None = None
    """How times are written; found in the names of the columns where left out, else timestamps."""
    timezone: Text | None = None
    """Zone of timestamps that state none, such as Europe/Berlin, UTC or +01:00."""
    time_format: Text | None = None
    """Form of timestamps other than ISO 8601, such as "%d/%m/%Y %H:%M"."""
    decimal: Literal[".", ","] | None = None
    """Decimal sign of numbers; needed only where numbers hold commas."""
    separator: Literal[",", ";", "\t", "|"] | None = None
    """Sign between the fields of a text file; found in its header where left out."""
    encoding: Literal["utf-8", "utf-16", "latin-1", "windows-1252"] = "utf-8"
    """How a text file is encoded."""
    header_line: Annotated[int, Field(ge=1, le=1000, strict=True)] = 1
    """Line of the header (row of a workbook)."""
    sheet: Text | None = None
    """Sheet of a workbook; its first one where left out."""

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str | None) -> str | None:
        if value is not None:
            zone(value)
        return value


class Dispositions(_Part):
    """What is done with incidents by how they were closed."""

    exclude: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Dispositions of rows that are no faults, such as "no fault found" or "duplicate"."""


class Window(_Part):
    """From when to when the log is complete."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, populate_by_name=True)
    begin: Text = Field(alias="from")
    """A time as the log writes it, or a date."""
    end: Text = Field(alias="to")
    """A time as the log writes it, or a date (its first instant)."""


class LogMapping(TableFormat):
    """What a log's columns, times and words mean; a log with obvious names and one kind of units needs none."""

    kinds: dict[str, Text] = Field(default_factory=dict)
    """What a fault class is a fault of: tray, rack, software, the name of a fault domain, or exclude."""
    default_kind: Text | None = None
    """Kind of the fault classes that ``kinds`` does not name and the roster does not tell."""
    dispositions: Dispositions | None = None
    open_ends: tuple[Text, ...] = ()
    """Texts in the column of ends that mean "still open", such as 9999-12-31 (an empty one does, too)."""
    observed: Window | None = None
    """From when to when the log is complete; from the fleet's first to its last time where left out."""
    overlaps: Literal["merge", "keep"] = "merge"
    """Whether overlapping incidents of a unit are one (merge) or count each (keep)."""
    fleet: TableFormat = Field(default_factory=TableFormat)
    """The same for the file of the fleet; times and timezone of the log hold for it, too, where left out."""

    @model_validator(mode="after")
    def _roles(self) -> Self:
        for name, columns, known in (
            ("columns", self.columns, LOG_COLUMNS),
            ("fleet.columns", self.fleet.columns, FLEET_COLUMNS),
        ):
            unknown = [role for role in columns if role not in known]
            if unknown:
                raise ValueError(f"{name}: {unknown[0]!r} is not one of {', '.join(known)}")
        return self


LOG_COLUMNS = {
    "unit": ("unit", "node", "host", "hostname", "server", "machine"),
    "kind": ("kind",),
    "fault_class": ("fault_class", "fault", "class", "type", "fault_type"),
    "start": ("start", "start_time", "started_at", "start_h", "start_hours", "start_day", "start_days"),
    "end": ("end", "end_time", "ended_at", "end_h", "end_hours", "end_day", "end_days"),
    "rack": ("rack",),
    "zone": ("zone",),
    "disposition": ("disposition", "resolution"),
}
"""What a column of a log may hold, each with the names that need no mapping (in any case, with spaces or _)."""
FLEET_COLUMNS = {
    "unit": LOG_COLUMNS["unit"],
    "units": ("units", "count", "number"),
    "kind": ("kind",),
    "rack": ("rack",),
    "zone": ("zone",),
    "from": ("from", "from_h", "from_hours", "from_day", "from_days"),
    "to": ("to", "to_h", "to_hours", "to_day", "to_days"),
    "in_service_since": (
        "in_service_since",
        "in_service_since_h",
        "in_service_since_hours",
        "in_service_since_day",
        "in_service_since_days",
    ),
}
"""The same for a fleet."""


def read_mapping(source: str | Path | Mapping[str, Any] | None) -> LogMapping:
    """A mapping from a YAML file or plain data; None is one in which everything is left out.  Raises InputError."""
    if source is None:
        return LogMapping()
    lines: Lines = {}
    if isinstance(source, Mapping):
        label, data = "mapping", dict(source)
    else:
        label = str(source)
        data, lines = load_yaml(Path(source), label)
    try:
        return LogMapping.model_validate(data)
    except ValidationError as error:
        raise InputError(label, validation_faults(error, data, data, lines, LogMapping)) from None


def zone(name: str) -> tzinfo:
    """The time zone of a name or of an offset such as +01:00.  Raises ValueError."""
    match = _OFFSET.fullmatch(name)
    if match:
        ahead = timedelta(hours=int(match[2]), minutes=int(match[3]))
        if ahead <= timedelta(hours=14):
            return timezone(-ahead if match[1] == "-" else ahead)
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("expected a time zone such as Europe/Berlin, UTC or +01:00") from None
