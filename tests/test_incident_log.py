"""Dirty logs: each is told as what it is, with its lines, and the rate is that of the clean log; or it is refused.

The clean log is made (tests/incident_logs.py): its incidents, their downtime and the time in service are known without
any reader.  Every case dirties it in one way.  Either the report holds exactly the rows that were put in, by reason and
line, and what is left has the incidents, downtime and exposure of the clean log; or one message names the file, the
line or field, the value, what was expected and what to do.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import isfinite
from pathlib import Path
from typing import Any

import pytest

from spareopt.calibration import exclusions
from spareopt.calibration.incidents import Observation
from spareopt.calibration.observation import read_observation
from spareopt.calibration.service import down_hours, exposed_hours, service_hours
from spareopt.errors import InputError
from tests.incident_logs import (
    BEGIN,
    END,
    HEADER,
    HOURS,
    UNITS,
    Row,
    clean_rows,
    down_h,
    hours_of,
    in_zone,
    name,
    table,
    utc,
    write_counts,
    write_csv,
    write_roster,
)

CLEAN = clean_rows()
Mapping = dict[str, Any]
Berlin = {"timezone": "Europe/Berlin"}


def facts(observation: Observation) -> list[tuple[str, str, str, float, float, str]]:
    """The incidents that count, with names: unit, kind, fault class, start, end (NaN as -1), disposition."""
    found, names = observation.incidents, observation.names
    return [
        (
            names.units[unit],
            names.kinds[kind],
            names.faults[fault],
            round(start, 6),
            round(end, 6) if isfinite(end) else -1.0,
            names.dispositions[disposition],
        )
        for unit, kind, fault, start, end, disposition in zip(
            *(array.tolist() for array in (found.unit, found.kind, found.fault, found.start_h, found.end_h)),
            found.disposition.tolist(),
            strict=True,
        )
    ]


def expected_facts(rows: list[Row]) -> list[tuple[str, str, str, float, float, str]]:
    """What a reader should find in clean rows."""
    since = [
        (
            row.unit,
            "tray",
            row.fault,
            round((row.start - BEGIN).total_seconds() / 3600, 6),
            round((row.end - BEGIN).total_seconds() / 3600, 6) if row.end and row.end <= END else -1.0,
            row.disposition,
        )
        for row in rows
    ]
    return sorted(since, key=lambda row: (row[3], row[0]))


@dataclass(frozen=True)
class Dirty:
    """A log that is dirty in one way."""

    name: str
    body: list[list[str]] = field(default_factory=lambda: table(CLEAN))
    excluded: dict[str, list[int]] = field(default_factory=dict)
    """Lines by reason; only the first few are told."""
    rows: list[Row] = field(default_factory=lambda: CLEAN)
    """What should be left."""
    mapping: Mapping | None = None
    header: tuple[str, ...] = HEADER
    options: dict[str, Any] = field(default_factory=dict)
    """Of the file."""
    down: float | None = None
    """Downtime; that of the rows left where not given."""
    counted: dict[str, int] = field(default_factory=dict)
    """How many rows are excluded by reason, where more than are told."""
    notes: tuple[str, ...] = ()
    first: str = ""
    """What the first exclusion's example and advice hold."""


def plus(*extra: list[str]) -> list[list[str]]:
    """The clean log with rows at its end; their lines are 402, 403, ..."""
    return [*table(CLEAN), *extra]


def like(row: int, **other: str) -> list[str]:
    """A row of the clean log with other fields."""
    fields = dict(zip(HEADER, table(CLEAN)[row], strict=True))
    return list((fields | other).values())


def without(*rows: int) -> list[Row]:
    return [row for i, row in enumerate(CLEAN) if i not in rows]


def at(hours: float) -> datetime:
    return BEGIN + timedelta(hours=hours)


def part(row: Row, start: float, end: float) -> list[str]:
    """A part of an incident, by shares of its length."""
    length = (row.end or END) - row.start
    return table([row._replace(start=row.start + start * length, end=row.start + end * length)], fine)[0]


def fine(time: datetime) -> str:
    """To the microsecond."""
    return time.astimezone(UTC).isoformat()


LONG = max(range(len(CLEAN)), key=lambda i: (CLEAN[i].end or END) - CLEAN[i].start)
LAST = {row.unit: i for i, row in enumerate(CLEAN)}[name(0)]  # the last incident of the first unit
FIRST = {row.unit: i for i, row in reversed(list(enumerate(CLEAN)))}[name(0)]
OVERLAP = "overlaps or touches an earlier one of its unit, and is one with it"
BEFORE_INSIDE = "began before the observation; its downtime inside counts as not exposed"
FAR = "time more than 10 years away from the observation"
NOT_OPEN = "no end, though its unit has a later incident, or the same one with an end"
FIELDS = "too few or too many fields"
CALM = BEGIN + timedelta(minutes=1)  # in its first and last hour no unit of the clean log is down
LATE = END - timedelta(minutes=59)


def row_of(unit: str = name(0), start: str = utc(CALM), end: str = utc(CALM + timedelta(minutes=5))) -> list[str]:
    return [unit, "GPU", start, end, "repaired", ""]


SPLIT = without(LONG)
EXCLUDED = [
    Dirty("clean"),
    Dirty(
        "an incident in two parts that overlap",
        [*table(SPLIT), part(CLEAN[LONG], 0, 0.75), part(CLEAN[LONG], 0.25, 1)],
        {OVERLAP: [402]},
    ),
    Dirty(
        "an incident in two parts that touch",
        [*table(SPLIT), part(CLEAN[LONG], 0.5, 1), part(CLEAN[LONG], 0, 0.5)],
        {OVERLAP: [401]},  # the part that starts later, though its line is the first
    ),
    Dirty("an incident inside another one", plus(part(CLEAN[LONG], 0.25, 0.5)), {OVERLAP: [402]}),
    Dirty("rows that are there twice", plus(*table(CLEAN)[:3]), {"repeats another row": [402, 403, 404]}),
    Dirty(
        "a file that was exported twice into one",
        [*table(CLEAN), *table(CLEAN)],
        {"repeats another row": [402, 403, 404, 405, 406]},
        counted={"repeats another row": 400},
    ),
    Dirty(
        "an incident that is opened in one row and closed in another",
        plus(like(LONG, end="")),
        {NOT_OPEN: [402]},
    ),
    Dirty(
        "ends before it starts",
        plus(row_of(start=utc(LATE), end=utc(CALM))),
        {"ends before it starts": [402]},
        first="rack-00/tray-0' from 2027-10-10T23:01:00Z to 2027-01-04T00:01:00Z",
    ),
    Dirty("units that are not in the roster", plus(row_of("rack-77/tray-7")), {"unit not in the roster": [402]}),
    Dirty(
        "a unit in other letters",
        plus(row_of("Rack-03/TRAY_4")),
        {"unit not in the roster": [402]},
        notes=("1 unit differs from another only in case, spaces or signs between words", "'Rack-03/TRAY_4'"),
    ),
    Dirty("spaces around names", [[f" {row[0]} ", f"{row[1]}  ", *row[2:]] for row in table(CLEAN)]),
    Dirty("no unit", plus(row_of("")), {"no unit": [402]}),
    Dirty("NaN for a unit", plus(row_of("NaN"), row_of("null")), {"no unit": [402, 403]}),
    Dirty("no start", plus(row_of(start="")), {"no start": [402]}),
    Dirty("words for a start", plus(row_of(start="soon")), {"start is no time": [402]}, first="'soon'; write times as"),
    Dirty(
        "words for an end",
        plus(row_of(end="Friday")),
        {"end is no time": [402]},
        first="'Friday'; if that means still open",
    ),
    Dirty(
        "days that the calendar does not have",
        plus(row_of(start="2027-02-30T10:00:00Z"), row_of(end="2027-01-04T25:00:00Z")),
        {"start is no time": [402], "end is no time": [403]},
    ),
    Dirty(
        "dates without a time of day",
        plus(row_of(start="2027-01-04")),
        {"start is no time": [402]},
        first="is a date without a time of day",
    ),
    Dirty(
        "the spreadsheet's errors",
        plus(row_of(start="#REF!"), row_of(end="#N/A")),
        {"start is no time": [402], "end is no time": [403]},
    ),
    Dirty(
        "dispositions that are no faults",
        plus(like(3, disposition="no fault found"), [*row_of()[:4], "duplicate", ""]),
        {"no fault by the mapping's dispositions": [402, 403]},
        mapping={"dispositions": {"exclude": ["no fault found", "duplicate", "cancelled"]}},
        notes=("the mapping names 'cancelled', which the log does not have",),
    ),
    Dirty(
        "classes that are no faults",
        plus(like(7, fault_class="stress test"), [*row_of()[:1], "stress test", "?", "?", "", ""]),
        {"no fault by the mapping's kinds": [402, 403]},
        mapping={"kinds": {"stress test": "exclude"}},
    ),
    Dirty(
        "incidents outside the observation",
        plus(
            row_of(start=utc(at(-300)), end=utc(at(-200))),
            row_of(start=utc(END), end=utc(at(HOURS + 5))),
            row_of(start=utc(at(HOURS + 200)), end=""),
        ),
        {"over before the observation": [402], "began after the observation": [403, 404]},
    ),
    Dirty(
        "an incident from before the observation",
        plus(row_of(start=utc(at(-300)), end=utc(at(0.5)))),
        {BEFORE_INSIDE: [402]},
        down=down_h(CLEAN) + 0.5,
    ),
    Dirty(
        "an incident still open at the end",
        table([*without(LAST), CLEAN[LAST]._replace(end=None)]),
        rows=[*without(LAST), CLEAN[LAST]._replace(end=None)],
    ),
    Dirty(
        "an incident that ends after the observation",
        table([*without(LAST), CLEAN[LAST]._replace(end=at(HOURS + 70))]),
        rows=[*without(LAST), CLEAN[LAST]._replace(end=None)],
    ),
    Dirty(
        "NaN for still open",
        [*table(without(LAST)), like(LAST, end="NaT")],
        rows=[*without(LAST), CLEAN[LAST]._replace(end=None)],
    ),
    Dirty(
        "a date that stands for still open",
        [*table(without(LAST)), like(LAST, end="9999-12-31 00:00:00")],
        rows=[*without(LAST), CLEAN[LAST]._replace(end=None)],
        mapping={"open_ends": ["9999-12-31 00:00:00"]},
    ),
    Dirty(
        "a date that stands for still open, and nobody said so",
        plus(row_of(end="9999-12-31T00:00:00Z")),
        {FAR: [402]},
        first="`open_ends`",
    ),
    Dirty(
        "an end that is missing",
        [*table(without(FIRST)), like(FIRST, end="")],
        {NOT_OPEN: [401]},
        rows=without(FIRST),
    ),
    Dirty("the year 1970", plus(row_of(start="1970-01-01T00:00:00Z")), {FAR: [402]}),
    Dirty("a year of two centuries on", plus(row_of(end="2207-01-04T00:00:00Z")), {FAR: [402]}),
    Dirty("a row that is cut off", plus(row_of()[:3]), {FIELDS: [402]}, first="3 fields, the header 6"),
    Dirty("a row with a comma too many", plus([*row_of(), "1"]), {FIELDS: [402]}, first="7 fields, the header 6"),
    Dirty("empty rows", [[""] * 6, *table(CLEAN), [""] * 6, [], [" "]]),
    Dirty(
        "local times",
        table(CLEAN, lambda time: time.astimezone(UTC).strftime("%Y-%m-%d %H:%M")),
        mapping={"timezone": "UTC"},
    ),
    Dirty(
        "local times that the clock shows twice or never",
        plus(row_of(start="2027-03-28 02:30:00", end=utc(END)), row_of(end="2026-10-25 02:30:00")),
        {"local time that the clock shows twice": [403], "local time that the clock never shows": [402]},
        mapping=Berlin,
    ),
    Dirty(
        "offsets of different zones in one log",
        [table([row], in_zone([-8, 0, 1, 5.5][i % 4]))[0] for i, row in enumerate(CLEAN)],
    ),
    Dirty(
        "some times with their offset, the others in the zone of the mapping",
        [*table(CLEAN[:200], in_zone(9)), *table(CLEAN[200:], lambda time: in_zone(3)(time)[:-6])],
        mapping={"timezone": "+03:00"},
    ),
    Dirty(
        "24:00 for midnight",
        [*table(without(LAST)), like(LAST, end="2027-10-09 24:00:00Z")],
        rows=[*without(LAST), CLEAN[LAST]._replace(end=datetime(2027, 10, 10, tzinfo=UTC))],
    ),
    Dirty("a byte order mark", options={"encoding": "utf-8-sig"}),
    Dirty("UTF-16", mapping={"encoding": "utf-16"}, options={"encoding": "utf-16"}),
    Dirty("Latin-1", mapping={"encoding": "latin-1"}, options={"encoding": "latin-1"}),
    Dirty("semicolons", options={"separator": ";"}),
    Dirty("tabs", options={"separator": "\t"}),
    Dirty("line ends of Windows", options={"line_end": "\r\n"}),
    Dirty("other names of columns", header=("Host", "Fault Class", "Start time", "END-TIME", "Resolution", "x")),
    Dirty(
        "names of columns that nobody can know",
        header=("wer", "was", "von", "bis", "wie", "x"),
        mapping={
            "columns": {"unit": "wer", "fault_class": "was", "start": "von", "end": "bis", "disposition": "wie"},
        },
    ),
    Dirty(
        "rows of title, and the mapping says so",
        mapping={"header_line": 4},
        options={"before": 'Incidents 2027\nby "operations\n\n'},
    ),
    Dirty(
        "fields that run over several lines",
        [[*like(0)[:5], "first\nsecond\r\nthird"], *table(CLEAN)[1:], row_of("nobody")],
        {"unit not in the roster": [404]},
    ),
    Dirty(
        "American times, and the mapping says so",
        table(CLEAN, lambda time: time.strftime("%m/%d/%Y %I:%M %p")),
        mapping={"time_format": "%m/%d/%Y %I:%M %p", "timezone": "UTC"},
    ),
    Dirty(
        "seconds since 1970",
        table(CLEAN, lambda time: str(int(time.timestamp()))),
        mapping={"times": "epoch seconds"},
    ),
    Dirty(
        "milliseconds since 1970",
        table(CLEAN, lambda time: f"{time.timestamp() * 1000:.0f}"),
        mapping={"times": "epoch milliseconds"},
    ),
]


@pytest.mark.parametrize("fleet", ["roster", "counts"])
@pytest.mark.parametrize("case", EXCLUDED, ids=lambda case: case.name)
def test_what_is_left_has_the_clean_logs_rate(case: Dirty, fleet: str, tmp_path: Path) -> None:
    """Every reason, count and line is told; incidents, downtime and exposure are those of the clean log."""
    log = write_csv(tmp_path / "log.csv", case.body, case.header, **case.options)
    mapping = dict(case.mapping or {})
    known = ({"unit not in the roster"} & set(case.excluded)) if fleet == "counts" else set()
    if known:
        pytest.skip("a fleet of counts does not know its units")
    if fleet == "roster":
        path = write_roster(tmp_path / "fleet.csv")
    else:
        path, mapping = write_counts(tmp_path / "fleet.csv"), mapping | {"default_kind": "tray"}
    found = read_observation(log, path, mapping)
    told = {one.reason: list(one.lines) for one in found.exclusions}
    assert told == case.excluded
    for one in found.exclusions:
        assert one.rows == case.counted.get(one.reason, len(one.lines))
    assert facts(found) == expected_facts(case.rows)
    assert found.log.rows == len(found.incidents.unit) + sum(one.rows for one in found.exclusions)
    assert (found.begin_h, found.end_h, found.origin) == (0.0, HOURS, "2027-01-04T00:00:00+00:00")
    assert service_hours(found, 0) == UNITS * HOURS
    assert down_hours(found, 0) == pytest.approx(down_h(case.rows) if case.down is None else case.down, rel=1e-12)
    assert exposed_hours(found, 0) == service_hours(found, 0) - down_hours(found, 0)
    for note in case.notes:
        assert note in " ".join(found.notes)
    assert bool(found.notes) == bool(case.notes)
    if case.first:
        assert case.first in exclusions.exclusion_text(found.exclusions[0])


@dataclass(frozen=True)
class Refused:
    """A log, a fleet or a mapping that is refused, and what the message must hold."""

    name: str
    told: tuple[str, ...]
    body: list[list[str]] = field(default_factory=lambda: table(CLEAN))
    header: tuple[str, ...] = HEADER
    mapping: Mapping | None = None
    options: dict[str, Any] = field(default_factory=dict)
    content: bytes | None = None
    """Of the log, instead of a table."""
    fleet: str | None = None
    """Content of the fleet's file, instead of the roster."""
    source: str = "log.csv"
    """The file or mapping that the message is of."""


def times(form: str) -> list[list[str]]:
    return table(CLEAN, lambda time: time.strftime(form))


def fleet(*rows: str, header: str = "unit,kind,from,to") -> str:
    return "\n".join([header, *rows]) + "\n"


COUNTED = f"tray,{UNITS},{utc(BEGIN)},{utc(END)}"
REFUSED = [
    Refused("no column of units", ("line 1, unit: no such column", "got was, fault_class", "`columns: {unit: ...}`"),
            header=("was", *HEADER[1:])),
    Refused("no column of starts and ends", ("start, end: no such columns", "`columns: {start: ...}`"),
            header=(*HEADER[:2], "von", "bis", *HEADER[4:])),
    Refused("two columns of one name", ("line 1, unit: expected one column, got unit, unit", "rename one"),
            header=(*HEADER[:5], "unit")),
    Refused("two columns that may be the unit", ("unit: expected one column, got unit, host", "`columns: {unit: ...}`"),
            header=(*HEADER[:5], "host")),
    Refused("a column of the mapping that is not there", ("columns.unit: expected a column of unit, fault", "'Host'"),
            mapping={"columns": {"unit": "Host"}}),
    Refused("rows of title", ("line 1, unit, start, end: no such columns", "line 3 looks like the header",
            "`header_line: 3`"), options={"before": "Incidents 2027\n\n"}),
    Refused("an empty file", ("is empty; expected a table with a header",), content=b""),
    Refused("a header alone", ("holds no incidents; expected a row for each",), body=[]),
    Refused("only empty lines", ("line 1, header_line: expected the names of the columns, got an empty line",),
            content=b"\n\n\n"),
    Refused("a file that is no text", ("encoding: is not text in UTF-8",), content=bytes(range(256)) * 50),
    Refused("a picture", ("no such column",), content=b"\x7fELF" + b"abc" * 50),
    Refused("Latin-1", ("encoding: is not text in UTF-8", "`encoding: windows-1252`"),
            options={"encoding": "latin-1"}),
    Refused("UTF-16", ("encoding: is not text in UTF-8", "`encoding: utf-16`"), options={"encoding": "utf-16"}),
    Refused("a quote that is never closed", ("line ", "unexpected end of data", "a quote that is not closed"),
            content=b'unit,start,end\na,1,2\n"b,1,2\nc,1,2\n'),
    Refused("a packed file that is cut off", ("can't be unpacked or read", "is the file complete?"),
            content=gzip.compress(b"unit,start,end\n" + b"a,1,2\n" * 1000)[:-20]),
    Refused("an old workbook", ("(.xls)", "save it as .xlsx or CSV"), content=b"\xd0\xcf\x11\xe0" + b"x" * 100),
    Refused("a broken workbook", ("is not a workbook that can be read", "save it as .xlsx or CSV"),
            content=b"PK\x03\x04" + b"x" * 100),
    Refused("a broken Parquet file", ("is not a Parquet file that can be read",), content=b"PAR1" + b"x" * 100),
    Refused("times without a zone", ("line 2, start: expected times with their offset from UTC",
            "got one without", "`timezone: Europe/Berlin`"), times("%Y-%m-%d %H:%M")),
    Refused("one time without a zone", ("line 402, end: expected times with their offset from UTC",),
            plus(row_of(end="2027-01-04 00:10"))),
    Refused("days and months that may be either", ("400 of 400 rows (100.00 %) are in error; expected at most 1 %",
            "line 2, 400 rows: start is no time, such as '04/01/2027", '`time_format: "%d/%m/%Y %H:%M"`'),
            times("%d/%m/%Y %H:%M")),
    Refused("American times read as European", ("are in error", "start is no time", "`time_format`"),
            times("%m/%d/%Y %H:%M"), mapping={"time_format": "%d/%m/%Y %H:%M", "timezone": "UTC"}),
    Refused("dates without a time of day", ("400 rows: start is no time", "is a date without a time of day"),
            times("%Y-%m-%d")),
    Refused("hours where timestamps are expected", ("400 rows: start is no time", "`times: hours`"),
            table(CLEAN, hours_of)),
    Refused("Excel's numbers of dates", ("start is no time, such as '46391", "format the cells as dates"),
            table(CLEAN, lambda time: repr(46391 + (time - BEGIN).total_seconds() / 86400))),
    Refused("seconds since 1970, and nobody said so", ("start is no time", "`times: epoch seconds`"),
            table(CLEAN, lambda time: str(int(time.timestamp())))),
    Refused("milliseconds for seconds", ("more than 10 years away", "400 rows"),
            table(CLEAN, lambda time: str(int(time.timestamp()))), mapping={"times": "epoch milliseconds"}),
    Refused("decimal commas", ("start is no time", "'0,5'", '`decimal: ","`'),
            [["a", "GPU", "0,5", "1,5", "", ""]], mapping={"times": "hours"},
            fleet=fleet("a,tray,0,100"), options={"separator": ";"}),
    Refused("thousands that may be decimals", ("start is no time", "'1,234'", '`decimal: "."`'),
            [["a", "GPU", "1,234", "1,235", "", ""]], mapping={"times": "hours"}, fleet=fleet("a,tray,0,9000")),
    Refused("a log in hours with a fleet in timestamps", ("fleet.times: expected hours or days, as the log has them",
            "got timestamps"), table(CLEAN, hours_of), header=("unit", "class", "start_h", "end_h", "a", "b"),
            mapping={"fleet": {"times": "timestamps"}}, source="fleet.csv"),
    Refused("a fleet whose times may be hours or days", ("fleet.times: expected hours, days or timestamps",),
            table(CLEAN, hours_of), header=("unit", "class", "start_h", "end_h", "a", "b"),
            fleet=fleet("a,tray,0,9000"), source="fleet.csv"),
    Refused("starts in hours with ends in days", ("times: expected times of one unit, got columns start_h, end_day",),
            header=("unit", "class", "start_h", "end_day", "a", "b")),
    Refused("a class that nothing knows", ("line 2, fault_class: expected what these are faults of (tray, software or",
            "'GPU' (99 rows)", "`kinds: {word: kind}`"), fleet=fleet(COUNTED, header="kind,units,from,to")),
    Refused("a kind that nothing knows", ("line 2, kind: expected what these are faults of", "'Fan' (1"),
            header=("unit", "kind", *HEADER[2:])),
    Refused("a kind of which there are no units", ("kind: has incidents of kind 'rack'", "(tray)", "rows of that kind"),
            mapping={"kinds": {"NIC": "rack"}}),
    Refused("more units than there are", ("units: expected at least the 50 units of kind tray", "got 49",
            "Give a row for each unit"), fleet=fleet(f"tray,49,{utc(BEGIN)},{utc(END)}", header="kind,units,from,to"),
            mapping={"default_kind": "tray"}, source="fleet.csv"),
    Refused("more rows in error than 1 %", ("5 of 405 rows (1.23 %) are in error; expected at most 1 %",
            "line 402, 5 rows: ends before it starts", "`--accept-exclusions 1.23457%`"),
            plus(*[row_of(start=utc(LATE), end=utc(CALM + timedelta(minutes=i))) for i in range(5)])),
    Refused("no fleet", ("no such file; expected a table",), fleet="", source="missing.csv"),
    Refused("a fleet of nothing", ("holds no units",), fleet=fleet(), source="fleet.csv"),
    Refused("a fleet without units", ("line 1, unit, units: expected either unit", "got neither"),
            fleet=fleet("tray,1,2", header="kind,from,to"), source="fleet.csv"),
    Refused("a fleet that names and counts", ("unit, units: expected either unit", "got both"),
            fleet=fleet("a,1,tray", header="unit,units,kind"), source="fleet.csv"),
    Refused("no units at all", ("line 2, units: expected a whole number of units from 1 on, got '0'",
            "line 3, units: ", "'many'", "line 4, units: ", "'2.5'"),
            fleet=fleet(*(f"tray,{n},{utc(BEGIN)},{utc(END)}" for n in ("0", "many", "2.5")),
            header="kind,units,from,to"), source="fleet.csv"),
    Refused("in service backwards", ("line 2, to: expected a time after from",),
            fleet=fleet(f"a,tray,{utc(at(5))},{utc(at(4))}", f"b,tray,{utc(BEGIN)},{utc(END)}"), source="fleet.csv"),
    Refused("in service twice at a time", ("line 3, unit a: expected one row at a time, got one that",),
            fleet=fleet(f"a,tray,{utc(BEGIN)},{utc(END)}", f"a,tray,{utc(at(5))},{utc(at(7))}"), source="fleet.csv"),
    Refused("of two kinds", ("line 3, unit a: expected one kind for a unit",),
            fleet=fleet(f"a,tray,{utc(BEGIN)},{utc(at(5))}", f"a,rack,{utc(at(5))},{utc(at(7))}"), source="fleet.csv"),
    Refused("an end of service that nobody states", ("to: expected a time in every row", "`observed: {from:"),
            fleet=fleet(f"a,tray,{utc(BEGIN)},"), source="fleet.csv"),
    Refused("a fleet's time that is none", ("line 2, from: expected a time such as 2027-01-31", "got 'now'"),
            fleet=fleet(f"a,tray,now,{utc(END)}"), source="fleet.csv"),
    Refused("a fleet's time without a zone", ("line 2, from: expected times with their offset from UTC",),
            fleet=fleet("a,tray,2027-01-04,2027-10-11"), source="fleet.csv"),
    Refused("older than itself", ("line 2, in_service_since: expected at most the time in from",),
            fleet=fleet(f"a,tray,{utc(at(5))},{utc(END)},{utc(at(6))}", header="unit,kind,from,to,in_service_since"),
            source="fleet.csv"),
    Refused("a fleet that is not in service then", ("from, to: no unit is in service during the observation",),
            mapping={"observed": {"from": "2026-01-01T00:00Z", "to": "2026-02-01T00:00Z"}}, source="fleet.csv"),
    Refused("a fleet that is cut off", ("line 3, expected as many fields as in the header, got 2",),
            fleet=fleet(f"a,tray,{utc(BEGIN)},{utc(END)}", "b,tr"), source="fleet.csv"),
    Refused("an observation that ends before it begins", ("observed: expected an end after the beginning",),
            mapping={"observed": {"from": "2027-02-01T00:00Z", "to": "2027-01-01T00:00Z"}}, source="mapping"),
    Refused("an observation without times", ("observed.to: expected a time such as 2027-01-31", "got 'today'"),
            mapping={"observed": {"from": "2027-02-01T00:00Z", "to": "today"}}, source="mapping"),
    Refused("a mapping of what is not there", ("columns: 'host' is not one of unit, kind, fault_class",),
            mapping={"columns": {"host": "unit"}}, source="mapping"),
    Refused("a slip in a mapping", ("time_zone: unknown field; did you mean 'timezone'?",),
            mapping={"time_zone": "UTC"}, source="mapping"),
    Refused("a zone that is none", ("timezone: expected a time zone such as Europe/Berlin", "'Berlin'"),
            mapping={"timezone": "Berlin"}, source="mapping"),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_gives_no_rate_is_refused(case: Refused, tmp_path: Path) -> None:
    """One message, of one file: where, what is there, what was expected, what to do."""
    log = tmp_path / "log.csv"
    if case.content is None:
        write_csv(log, case.body, case.header, **case.options)
    else:
        log.write_bytes(case.content)
    roster = tmp_path / ("missing.csv" if case.source == "missing.csv" else "fleet.csv")
    if case.fleet is None:
        write_roster(roster)
    elif case.fleet:
        roster.write_text(case.fleet)
    with pytest.raises(InputError) as caught:
        read_observation(log, roster, case.mapping)
    message = str(caught.value)
    expected_source = case.source if case.source == "mapping" else str(tmp_path / case.source)
    assert message.startswith(f"{expected_source}: ")
    for part_of_it in case.told:
        assert part_of_it in message
