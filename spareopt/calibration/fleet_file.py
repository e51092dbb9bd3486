"""The file of a fleet: which units (a roster) or how many (counts) were in service from when to when."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spareopt.calibration.clock import Moments, moments
from spareopt.calibration.log_mapping import FLEET_COLUMNS, TableFormat
from spareopt.calibration.log_times import DATE_ONLY, EMPTY, OK
from spareopt.calibration.table_columns import ABSOLUTE, find_columns, in_mapping, time_unit
from spareopt.calibration.text_tables import open_table
from spareopt.errors import Fault, InputError
from spareopt.yaml_source import brief

PLACE = "fleet."
MOST_FAULTS = 20  # of one file that are told one by one
MOST_UNITS = 10**9
_COUNT = re.compile(r"(\d{1,10}|\d{1,3}(?:,\d{3}){1,3})(?:\.0*)?")


class FleetRows(NamedTuple):
    """The rows of a fleet's file as they stand there, times not yet on the clock of the observation."""

    kind: list[str]
    """Empty where the file has no column for it."""
    unit: list[str]
    """Empty where the row counts units."""
    units: list[int]
    rack: list[str]
    zone: list[str]
    begin: Moments
    end: Moments
    since: Moments | None
    """When the units came into service, where the file has a column for it."""
    line: np.ndarray[tuple[int], np.dtype[np.int64]]
    named: bool
    """Whether the rows name units."""
    absolute: bool | None
    """Whether the times are instants; None where the file has none."""


def read_fleet(path: str | Path, layout: TableFormat, default_times: str | None, default_kind: str | None) -> FleetRows:
    """The rows of a fleet's file.

    ``default_times`` is how times are written where neither the mapping nor the names of the columns say it.  Raises
    InputError with every fault: a rate is no better than its exposure, so that nothing of a fleet is left out.
    """
    table = open_table(path, layout, PLACE)
    columns = find_columns(table, layout, FLEET_COLUMNS, (), PLACE)
    line = table.header_line or None
    if ("unit" in columns) == ("units" in columns):
        got = "both" if "unit" in columns else "neither"
        message = f"expected either unit (a row for each unit) or units (how many a row stands for), got {got}"
        if got == "neither":
            message += (
                f" in the header {brief(', '.join(filter(None, table.header)))}; name the columns in the mapping, "
            )
            message += f"such as `{in_mapping('columns: {units: ...}', PLACE)}`"
        raise InputError(table.label, [Fault("unit, units", message, line)])
    if "kind" not in columns and default_kind is None:
        message = "no such column; expected the kind of the units, or `default_kind: tray` in the mapping"
        raise InputError(table.label, [Fault("kind", message, line)])
    named = "unit" in columns
    times = [columns[role] for role in ("from", "to", "in_service_since") if role in columns]
    unit_of_time = time_unit(table, layout, times, default_times, PLACE) if times else "hours"
    roles = list(columns)
    texts: dict[str, list[str]] = {role: [] for role in roles}
    lines: list[int] = []
    faults: list[Fault] = []
    for chunk in table.chunks([columns[role] for role in roles]):
        lines += chunk.line.tolist()
        for role, column in zip(roles, chunk.columns, strict=True):
            texts[role] += [text.strip() for text in column]
        faults += [Fault("", f"expected as many fields as in the header, got {why}", at) for at, why, _ in chunk.ragged]
    if not lines and not faults:
        raise InputError(table.label, [Fault("", "holds no units; expected a row for each unit or kind of units")])
    none = [""] * len(lines)
    kind = texts.get("kind", none)
    kind = [text or default_kind or "" for text in kind]
    faults += [
        Fault("kind", "expected the kind of the units, got nothing", at)
        for at, text in zip(lines, kind, strict=True)
        if not text
    ]
    units = [1] * len(lines)
    if named:
        for at, text in zip(lines, texts["unit"], strict=True):
            if not text:
                faults.append(Fault("unit", "expected the name of a unit, got nothing", at))
    else:
        for i, (at, text) in enumerate(zip(lines, texts["units"], strict=True)):
            count = _whole(text)
            if count is None:
                faults.append(Fault("units", f"expected a whole number of units from 1 on, got {brief(text)}", at))
            else:
                units[i] = count
    found = {}
    for role in ("from", "to", "in_service_since"):
        if role not in columns and role == "in_service_since":
            continue
        here = moments(texts.get(role, none), unit_of_time, layout)
        for i in np.flatnonzero((here.state != OK) & (here.state != DATE_ONLY) & (here.state != EMPTY)).tolist():
            expected = {"hours": "a number of hours", "days": "a number of days"}.get(
                unit_of_time, "a time such as 2027-01-31 or 2027-01-31 08:00"
            )
            message = f"expected {expected}, got {brief(texts[role][i])}"
            if unit_of_time == "timestamps":
                how, form = ("correct", layout.time_format) if layout.time_format else ("or state", "%d/%m/%Y")
                stated = in_mapping(f'time_format: "{form}"', PLACE)
                message += f"; {how} `{stated}` in the mapping"
            faults.append(Fault(role, message, lines[i]))
        found[role] = here
    raise_faults(table.label, faults)
    return FleetRows(
        kind,
        texts["unit"] if named else none,
        units,
        texts.get("rack", none),
        texts.get("zone", none),
        found["from"],
        found["to"],
        found.get("in_service_since"),
        np.array(lines, dtype=np.int64),
        named,
        unit_of_time in ABSOLUTE if times else None,
    )


def _whole(text: str) -> int | None:
    """The whole number that a text says, also as "400.0" or "1,024"; None where it says none from 1 on."""
    found = _COUNT.fullmatch(text)
    value = int(found[1].replace(",", "")) if found else 0
    return value if 1 <= value <= MOST_UNITS else None


def raise_faults(label: str, faults: list[Fault]) -> None:
    """Raise the faults of a file, if any, by line."""
    faults = sorted(faults, key=lambda fault: fault.line or 0)
    if len(faults) > MOST_FAULTS:
        faults = [*faults[:MOST_FAULTS], Fault("", f"{len(faults) - MOST_FAULTS} faults more")]
    if faults:
        raise InputError(label, faults)
