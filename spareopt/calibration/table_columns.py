"""Which column of a table holds what, and in which unit its times are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from spareopt.calibration.log_mapping import TableFormat
from spareopt.calibration.text_tables import TextTable
from spareopt.errors import Fault, InputError
from spareopt.yaml_source import brief

ABSOLUTE = ("timestamps", "epoch seconds", "epoch milliseconds")
"""Times that name an instant; hours and days count from an hour 0 of the log's own."""
_SUFFIXES = {"_h": "hours", "_hours": "hours", "_day": "days", "_days": "days"}
_HEADER_ROWS = 20  # in which to look for a header that is not where it should be


def find_columns(
    table: TextTable,
    layout: TableFormat,
    known: Mapping[str, Sequence[str]],
    needed: Iterable[str],
    place: str = "",
) -> dict[str, int]:
    """The number of the column of everything that the table holds.  Raises InputError.

    ``known`` has the names that need no mapping; ``needed`` is what must be there.
    """
    faults = []
    found: dict[str, int] = {}
    plain = [_plain(name) for name in table.header]
    for role, names in known.items():
        stated = layout.columns.get(role)
        if stated is not None:
            places = [i for i, name in enumerate(table.header) if name == stated.strip()]
            if not places:
                message = f"expected a column of {', '.join(filter(None, table.header))}, got {brief(stated)}"
                faults.append(Fault(f"{place}columns.{role}", message))
                continue
        else:
            places = [i for i, name in enumerate(plain) if name in names]
        if len(places) > 1:
            several = ", ".join(table.header[i] for i in places)
            message = f"expected one column, got {several}; "
            message += f"state `{in_mapping(f'columns: {{{role}: ...}}', place)}` in the mapping, or rename one"
            faults.append(Fault(role, message, table.header_line or None))
        elif places:
            found[role] = places[0]
    missing = [role for role in needed if role not in found and role not in layout.columns]
    if missing and not faults:
        here = ", ".join(brief(name)[1:-1] for name in table.header if name) or "nothing"
        advice = _header_further_down(table, known, missing, place) or (
            f"name them in the mapping, such as `{in_mapping(f'columns: {{{missing[0]}: ...}}', place)}`"
        )
        faults.append(
            Fault(
                ", ".join(missing),
                f"no such column{'s' if len(missing) > 1 else ''} in the header; got {here}; {advice}",
                table.header_line or None,
            )
        )
    if faults:
        raise InputError(table.label, faults)
    return found


def in_mapping(text: str, place: str) -> str:
    """A field as it is written in a mapping, in the part for the fleet where ``place`` says so."""
    return f"{place[:-1]}: {{{text}}}" if place else text


def _plain(name: str) -> str:
    """A column's name in lower case with _ for whatever stands between its words."""
    return "_".join(name.lower().replace("_", " ").replace("-", " ").split())


def _header_further_down(
    table: TextTable, known: Mapping[str, Sequence[str]], missing: Sequence[str], place: str
) -> str:
    """Advice where one of the first rows looks like the header."""
    if not table.header_line:
        return ""
    try:
        chunk = next(table.chunks(range(len(table.header))), None)
    except InputError:
        return ""
    rows: list[tuple[int, Sequence[str]]] = []
    if chunk is not None:
        rows = [
            (int(line), [column[i] for column in chunk.columns]) for i, line in enumerate(chunk.line[:_HEADER_ROWS])
        ]
        rows += [(line, fields) for line, _, fields in chunk.ragged[:_HEADER_ROWS]]
    for line, fields in rows:
        plain = [_plain(field) for field in re.split(r"[,;\t|]", ",".join(fields))]
        if all(any(name in known[role] for name in plain) for role in missing):
            return (
                f"line {line} looks like the header: state `{in_mapping(f'header_line: {line}', place)}` in the mapping"
            )
    return ""


def time_unit(
    table: TextTable, layout: TableFormat, columns: Iterable[int], default: str | None, place: str = ""
) -> str:
    """How the times of a table are written: as stated, or as the names of their columns say, or the default.

    Raises InputError where these contradict one another or none says it.
    """
    said = {table.header[i]: _suffix(table.header[i]) for i in columns}
    units = {unit for unit in said.values() if unit}
    names = ", ".join(said)
    if layout.times is not None:
        units.add(layout.times)
    if len(units) > 1 or (units & {"hours", "days"} and layout.times is None and None in said.values()):
        message = f"expected times of one unit, got columns {names}"
        message += f" and `{place}times: {layout.times}`" if layout.times else ""
        raise InputError(table.label, [Fault("times", message + "; name the right columns in the mapping")])
    if units:
        return next(iter(units))
    if default is None:
        message = (
            f"expected hours, days or timestamps, got columns {names} without a unit; state `times` in the mapping"
        )
        raise InputError(table.label, [Fault(f"{place}times", message)])
    return default


def _suffix(name: str) -> str | None:
    """The unit that the name of a column ends with."""
    return next((unit for suffix, unit in _SUFFIXES.items() if _plain(name).endswith(suffix)), None)
