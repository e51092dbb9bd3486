"""A clean incident log whose numbers are known by construction, and ways to write it as the files that people have."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BEGIN = datetime(2027, 1, 4, tzinfo=UTC)
WEEKS = 40
HOURS = WEEKS * 168.0
END = BEGIN + timedelta(hours=HOURS)
UNITS = 50
FAULTS = ("GPU", "NIC", "Fan", "Stromversorgung für Lüfter")
HEADER = ("unit", "fault_class", "start", "end", "disposition", "comment")
Show = Callable[[datetime], str]


class Row(NamedTuple):
    """An incident as a log has it."""

    unit: str
    fault: str
    start: datetime
    end: datetime | None
    disposition: str = "repaired"


def name(unit: int) -> str:
    """The name of a unit."""
    return f"rack-{unit // 10:02d}/tray-{unit % 10}"


def clean_rows(seed: int = 0) -> list[Row]:
    """Eight incidents of each unit, whole minutes long, that neither overlap nor touch: 400 in all, by start.

    Each lies in an eighth of the observation, an hour from its ends, so that their number and downtime are what they
    are, whatever a reader does.
    """
    rng = np.random.default_rng(seed)
    slot = int(HOURS * 60) // 8
    rows = []
    for unit in range(UNITS):
        for part in range(8):
            start, end = np.sort(rng.integers(60, slot - 60, 2)) + part * slot
            at, until = (BEGIN + timedelta(minutes=int(minute)) for minute in (start, end + 1))
            rows.append(Row(name(unit), FAULTS[int(rng.integers(len(FAULTS)))], at, until))
    return sorted(rows, key=lambda row: (row.start, row.unit))


def down_h(rows: Iterable[Row]) -> float:
    """Downtime of rows that do not overlap, h; those still open are down until the end of the observation."""
    return sum(((row.end or END) - row.start).total_seconds() / 3600 for row in rows)


def utc(time: datetime) -> str:
    """2027-01-04T00:00:00Z."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def in_zone(hours: float) -> Show:
    """Times with the offset of a zone so many hours ahead of UTC."""
    return lambda time: time.astimezone(timezone(timedelta(hours=hours))).isoformat(" ")


def hours_of(time: datetime) -> str:
    """Hours since the observation began."""
    return repr((time - BEGIN).total_seconds() / 3600)


def table(rows: Sequence[Row], show: Show = utc) -> list[list[str]]:
    """The rows of a file below its header."""
    return [
        [row.unit, row.fault, show(row.start), show(row.end) if row.end else "", row.disposition, "ok, thanks"]
        for row in rows
    ]


def write_csv(
    path: Path,
    body: Sequence[Sequence[str]],
    header: Sequence[str] = HEADER,
    *,
    separator: str = ",",
    encoding: str = "utf-8",
    before: str = "",
    line_end: str = "\n",
) -> Path:
    """A text file; gzip where its name says so."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding=encoding, newline="") as file:
        file.write(before)
        writer = csv.writer(file, delimiter=separator, lineterminator=line_end)
        writer.writerow(header)
        writer.writerows(body)
    return path


def write_parquet(path: Path, body: Sequence[Sequence[str]], types: Mapping[str, str] | None = None) -> Path:
    """A Parquet file with the columns of HEADER, as texts but for those whose type is given."""
    import duckdb  # noqa: PLC0415

    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        names = [f'"{column}"' for column in HEADER]
        database.execute(f"CREATE TABLE log ({', '.join(f'{column} VARCHAR' for column in names)})")
        database.executemany(f"INSERT INTO log VALUES ({', '.join('?' * len(HEADER))})", body)
        columns = ", ".join(
            f"CAST(nullif({quoted}, '') AS {types[column]}) AS {quoted}" if types and column in types else quoted
            for column, quoted in zip(HEADER, names, strict=True)
        )
        database.execute(f"COPY (SELECT {columns} FROM log) TO '{path}' (FORMAT parquet)")
    return path


def write_workbook(path: Path, body: Sequence[Sequence[Any]], header: Sequence[str] = HEADER, above: int = 0) -> Path:
    """A workbook with the table in its first sheet, under so many rows of title."""
    import openpyxl  # noqa: PLC0415

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("incidents")
    for _ in range(above):
        sheet.append(["Incidents of 2027"])
    sheet.append(list(header))
    for row in body:
        sheet.append([None if value == "" else value for value in row])
    book.save(path)
    return path


def write_roster(path: Path, show: Show = utc, *, skip: Iterable[int] = ()) -> Path:
    """A roster of all units, in service all through the observation."""
    body = [
        [name(unit), "tray", f"rack-{unit // 10:02d}", "zone-1", show(BEGIN), show(END)]
        for unit in range(UNITS)
        if unit not in skip
    ]
    return write_csv(path, body, ("unit", "kind", "rack", "zone", "from", "to"))


def write_counts(path: Path, show: Show = utc, units: int = UNITS) -> Path:
    """A fleet of so many trays all through the observation."""
    return write_csv(path, [["tray", str(units), show(BEGIN), show(END)]], ("kind", "units", "from", "to"))
