"""Reading logs: the rules against a slow statement of them, one log in many files, kinds, racks, service, workbooks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import spareopt
from spareopt.calibration.calibrating import calibrated
from spareopt.calibration.cleaning import LogRows, clean
from spareopt.calibration.exclusions import WORDS, Reason, check_exclusions
from spareopt.calibration.incidents import Fleet, Observation
from spareopt.calibration.log_mapping import LOG_COLUMNS, LogMapping, read_mapping, zone
from spareopt.calibration.log_times import OK, Stamps, _stamp, stamps, to_utc
from spareopt.calibration.observation import read_observation
from spareopt.calibration.service import down_hours, exposed_hours, service_hours, unit_service
from spareopt.calibration.silence import silent_spells
from spareopt.calibration.text import calibration_text
from spareopt.errors import InputError
from tests.incident_logs import (
    BEGIN,
    END,
    HEADER,
    HOURS,
    Row,
    clean_rows,
    down_h,
    hours_of,
    in_zone,
    name,
    table,
    utc,
    write_csv,
    write_parquet,
    write_roster,
    write_workbook,
)

CLEAN = clean_rows()
Interval = tuple[int, int, int, int | None]  # unit, fault, start, end
B, E = 4, 16  # of the observation
STAYS = {0: [(4, 16)], 1: [(4, 8), (10, 16)], 2: [(6, 13)]}


def slow_clean(rows: list[Interval], merge: bool) -> tuple[set[tuple[int, int, int | None]], Counter[Reason]]:
    """The rules, one row at a time: incidents as (unit, start, end or None), and how many rows each reason takes."""
    why: Counter[Reason] = Counter()
    left: list[Interval] = []
    for row in rows:
        if row[3] is not None and row[3] < row[2]:
            why[Reason.BACKWARDS] += 1
        elif row in left:
            why[Reason.DUPLICATE] += 1
        else:
            left.append(row)
    open_rows = [
        row
        for row in left
        if row[3] is None
        and any(
            other[0] == row[0] and (other[2] > row[2] or (other[2] == row[2] and other[3] is not None))
            for other in left
        )
    ]
    why[Reason.NOT_OPEN] += len(open_rows)
    left = [row for row in left if row not in open_rows]
    spans = [(unit, start, float("inf") if end is None else float(end)) for unit, _, start, end in left]
    if merge:
        joined = True
        while joined:
            joined = False
            for i, one in enumerate(spans):
                for j, other in enumerate(spans[:i]):
                    if one[0] == other[0] and one[1] <= other[2] and other[1] <= one[2]:
                        spans[j] = (one[0], min(one[1], other[1]), max(one[2], other[2]))
                        del spans[i]
                        why[Reason.OVERLAP] += 1
                        joined = True
                        break
                if joined:
                    break
    found = set()
    for unit, start, end in spans:
        stay = next((stay for stay in STAYS[unit] if stay[0] <= start < stay[1]), None)
        if start < B:
            why[Reason.BEFORE if end <= B else Reason.CARRIED_IN] += 1
        elif start >= E:
            why[Reason.AFTER] += 1
        elif stay is None:
            why[Reason.OUT_OF_SERVICE] += 1
        else:
            found.add((unit, start, int(end) if end <= stay[1] else None))
    return found, +why


def log_rows(rows: Sequence[Interval]) -> LogRows:
    unit, fault, start = (np.array([row[i] for row in rows], dtype=np.int64) for i in range(3))
    nothing = np.full(len(rows), -1, dtype=np.int64)
    end = np.array([np.nan if row[3] is None else row[3] for row in rows], dtype=np.float64)
    lines = np.arange(2, len(rows) + 2)
    return LogRows(unit, np.zeros_like(unit), fault, nothing, nothing, nothing, start.astype(np.float64), end, lines)


def fleet() -> Fleet:
    rows = [(0, unit, 1, start, end, -1, -1, np.nan) for unit, stays in STAYS.items() for start, end in stays]
    types = (np.int64, np.int64, np.int64, np.float64, np.float64, np.int64, np.int64, np.float64)
    columns: Any = (np.array(column, dtype=t) for column, t in zip(zip(*rows, strict=True), types, strict=True))
    return Fleet(*columns)


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 18), st.none() | st.integers(0, 20)), max_size=12
    ),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_the_rules_are_those_of_a_slow_statement(rows: list[Interval], merge: bool) -> None:
    """Incidents, and how many rows each reason takes, against loops over rows; downtime against counting hours."""
    cleaned = clean(log_rows(rows), fleet(), B, E, merge)
    found = cleaned.incidents
    expected, why = slow_clean(rows, merge)
    ends = [None if np.isnan(end) else int(end) for end in found.end_h]
    got = list(zip(found.unit.tolist(), found.start_h.tolist(), ends, strict=True))
    assert set(got) == expected
    if merge:
        assert len(got) == len(expected)
    assert Counter(Reason(int(code)) for code in cleaned.reason if code) == why
    assert len(got) + sum(why.values()) == len(rows)
    names = spareopt.calibration.incidents.Names(("a", "b", "c"), ("tray",), ("x", "y"), (), (), ())
    source = spareopt.calibration.incidents.Source("", "", len(rows))
    whole = Observation(
        found, cleaned.absences, fleet(), names, B, E, None, (), cleaned.overlapping, (), source, source
    )
    unused = (Reason.BACKWARDS, Reason.NOT_OPEN, Reason.DUPLICATE)
    used = [row for row, code in zip(rows, cleaned.reason, strict=True) if code not in unused]
    down = {
        (unit, hour)
        for unit, _, start, end in used
        for hour in range(start, 99 if end is None else end)
        if any(stay[0] <= hour < stay[1] for stay in STAYS[unit])
    }
    assert down_hours(whole, 0) == len(down)
    by_unit = unit_service(whole, 0)
    assert by_unit.down_h.tolist() == [sum(one == unit for one, _ in down) for unit in range(3)]
    assert by_unit.service_h.tolist() == [12.0, 10.0, 7.0]


times_of_day = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1))


@given(
    times_of_day,
    st.sampled_from(["T", " ", "  "]),
    st.sampled_from(["minutes", "seconds", "microseconds"]),
    st.sampled_from(["", "Z", "+00:00", "+05:30", "-0800", "+14", " UTC", " -01:00"]),
)
def test_a_time_is_the_same_however_it_is_read(time: datetime, between: str, to: str, offset: str) -> None:
    """Many at once and one at a time give the instant that the standard library says, in every form."""
    text = time.isoformat(between[0], to) if len(between) == 1 else time.isoformat(" ", to).replace(" ", between)
    found, alone = stamps([text + offset, ""], None), _stamp(text + offset)
    assert (found.microseconds[0], found.local[0], found.state[0]) == alone
    expected = datetime.fromisoformat(time.isoformat(" ", to))
    digits = offset.strip().replace(":", "")[1:].ljust(4, "0") if offset.strip()[:1] in ("+", "-") else "0000"
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:])) * (-1 if "-" in offset else 1)
    assert alone == ((expected - ahead - datetime(1970, 1, 1)) // timedelta(microseconds=1), not offset, OK)


@given(st.text(alphabet="0123456789-:T Z+.now/", max_size=27))
@settings(max_examples=200)
def test_what_is_no_time_is_none_however_it_is_read(text: str) -> None:
    """The quick way takes no text for a time that the statement of the form does not, or for another time."""
    found = stamps([text], None)
    if found.state[0] == OK:
        assert (found.microseconds[0], found.local[0], found.state[0]) == _stamp(text.strip())


@given(times_of_day, st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]))
def test_local_times_are_those_of_the_zone(time: datetime, where: str) -> None:
    """Against the standard library: one instant, or told that there are two or none."""
    placed = to_utc(Stamps(*stamps([time.isoformat(" ")], None)), zone(where))
    instants = {
        instant
        for fold in (0, 1)
        for instant in [time.replace(tzinfo=zone(where), fold=fold).astimezone(UTC)]
        if instant.astimezone(zone(where)).replace(tzinfo=None) == time
    }
    assert (placed.state[0] == OK) == (len(instants) == 1)
    if len(instants) == 1:
        assert placed.microseconds[0] == (instants.pop() - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
            microseconds=1
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("logs")
    write_roster(made / "fleet.csv")
    write_csv(made / "log.csv", table(CLEAN))
    return made


def same(one: Observation, other: Observation) -> bool:
    """Whether two observations hold the same, but for lines and files."""
    arrays = zip(
        (*one.incidents[:-1], *one.absences, *one.fleet),
        (*other.incidents[:-1], *other.absences, *other.fleet),
        strict=True,
    )
    equal = all(np.array_equal(a, b, equal_nan=a.dtype == np.float64) for a, b in arrays)
    rest = (one.names, one.begin_h, one.end_h, one.origin, one.overlapping)
    counts = [[(e.reason, e.role, e.rows) for e in found.exclusions] for found in (one, other)]
    return (
        equal
        and rest == (other.names, other.begin_h, other.end_h, other.origin, other.overlapping)
        and counts[0] == counts[1]
    )


DIRTY = [
    *CLEAN,
    *CLEAN[10:12],
    Row(name(3), "GPU", BEGIN - timedelta(hours=7), BEGIN + timedelta(minutes=30)),
    Row(name(4), "GPU", END + timedelta(hours=7), None),
    Row(name(5), "GPU", END - timedelta(minutes=5), None),
]
ZONES = [in_zone(0), in_zone(-7), in_zone(5.5), utc]


@given(st.randoms(use_true_random=False), st.sampled_from(["csv", "csv.gz", "parquet", "xlsx"]), st.sampled_from(ZONES))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_order_of_rows_kind_of_file_and_zones_change_nothing(folder: Path, random: Any, kind: str, show: Any) -> None:
    """One log shuffled, in another kind of file, with times written in another zone: the same arrays."""
    expected = read_observation(write_csv(folder / "plain.csv", table(DIRTY)), folder / "fleet.csv")
    assert expected.incidents.unit.size == 401
    rows = table(DIRTY, show)
    random.shuffle(rows)
    path = folder / f"other.{kind}"
    if kind == "parquet":
        write_parquet(path, rows)
    elif kind == "xlsx":
        write_workbook(path, rows)
    else:
        write_csv(path, rows)
    assert same(read_observation(path, folder / "fleet.csv"), expected)


def test_typed_columns_are_read_as_their_texts(folder: Path) -> None:
    """Timestamps with and without zone in Parquet, dates of workbooks, numbers in either: as in the text file."""
    expected = read_observation(folder / "log.csv", folder / "fleet.csv")
    stamps_of = {"start": "TIMESTAMPTZ", "end": "TIMESTAMPTZ"}
    path = write_parquet(folder / "typed.parquet", table(CLEAN), stamps_of)
    assert same(read_observation(path, folder / "fleet.csv"), expected)
    plain = table(CLEAN, lambda time: time.strftime("%Y-%m-%d %H:%M:%S"))
    path = write_parquet(folder / "naive.parquet", plain, {"start": "TIMESTAMP", "end": "TIMESTAMP_MS"})
    with pytest.raises(InputError, match=r"line 1, start: expected times with their offset"):
        read_observation(path, folder / "fleet.csv")
    assert same(read_observation(path, folder / "fleet.csv", {"timezone": "UTC"}), expected)
    dates = [
        [
            row.unit,
            row.fault,
            row.start.replace(tzinfo=None),
            row.end.replace(tzinfo=None) if row.end else "",
            row.disposition,
        ]
        for row in CLEAN
    ]
    path = write_workbook(folder / "typed.xlsx", dates)
    assert same(read_observation(path, folder / "fleet.csv", {"timezone": "UTC"}), expected)
    hours = table(CLEAN, hours_of)
    write_roster(folder / "hours.csv", hours_of)
    for path in (
        write_csv(folder / "hours-log.csv", hours),
        write_parquet(folder / "hours.parquet", hours, {"start": "DOUBLE", "end": "DOUBLE"}),
        write_workbook(folder / "hours.xlsx", [[*row[:2], float(row[2]), float(row[3]), *row[4:]] for row in hours]),
    ):
        found = read_observation(path, folder / "hours.csv", {"times": "hours"})
        assert found.origin is None
        assert found.incidents.start_h == pytest.approx(expected.incidents.start_h, abs=1e-9)
        assert down_hours(found, 0) == pytest.approx(down_h(CLEAN))


def test_workbooks_have_ways_of_their_own(folder: Path) -> None:
    """Title rows, other sheets, a wrong name of the file, formulas without results."""
    import openpyxl  # noqa: PLC0415

    expected = read_observation(folder / "log.csv", folder / "fleet.csv")
    path = write_workbook(folder / "title.xlsx", table(CLEAN), above=3)
    with pytest.raises(InputError, match=r"line 1, unit, start, end: no such columns.*line 4 looks like the header"):
        read_observation(path, folder / "fleet.csv")
    found = read_observation(path, folder / "fleet.csv", {"header_line": 4, "sheet": "incidents"})
    assert same(found, expected)
    assert found.incidents.line.min() == 5
    with pytest.raises(InputError, match=r"sheet: expected a sheet of incidents, got 'Tabelle1'"):
        read_observation(path, folder / "fleet.csv", {"sheet": "Tabelle1"})
    path = write_workbook(folder / "really.csv", table(CLEAN))
    assert same(read_observation(path, folder / "fleet.csv"), expected)
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(list(HEADER))
    sheet.append([name(0), "GPU", utc(BEGIN), "=C2+1", "", ""])
    book.save(folder / "formula.xlsx")
    with pytest.raises(InputError, match=r"line 2, expected a value, got the formula '=C2\+1' without its result"):
        read_observation(folder / "formula.xlsx", folder / "fleet.csv")


def small(folder: Path, log: str, roster: str, mapping: Any = None, **options: Any) -> Observation:
    """An observation from the texts of its files."""
    (folder / "log.csv").write_text(log)
    (folder / "fleet.csv").write_text(roster)
    return read_observation(folder / "log.csv", folder / "fleet.csv", mapping, **options)


def kinds(found: Observation) -> list[tuple[str, str]]:
    """Unit and kind of the incidents."""
    rows = zip(found.incidents.unit.tolist(), found.incidents.kind.tolist(), strict=True)
    return [(found.names.units[unit] if unit >= 0 else "", found.names.kinds[kind]) for unit, kind in rows]


ROSTER = """unit,kind,rack,zone,from_h,to_h
t1,tray,r1,z1,0,1000
t2,tray,r1,z1,0,1000
t3,tray,r2,z1,0,1000
r1,rack,r1,z1,0,1000
r2,rack,r2,z1,0,1000
"""


def test_what_says_the_kind_of_a_fault(tmp_path: Path) -> None:
    """The mapping, then a column of kinds, then the class's own name, then the roster, then the default."""
    log = "unit,class,start_h,end_h\nt1,GPU,1,2\nr2,GPU,3,4\nt3,software,5,6\nt2,switch,7,8\nt1,drill,9,10\n"
    mapping = {"kinds": {"switch": "rack", "drill": "exclude"}}
    found = small(tmp_path, log, ROSTER, mapping)
    assert kinds(found) == [("t1", "tray"), ("r2", "rack"), ("t3", "software"), ("r1", "rack")]
    assert [one.reason for one in found.exclusions] == ["no fault by the mapping's kinds"]
    assert "one job" in found.notes[0]
    assert service_hours(found, found.names.kinds.index("software")) == 1000
    with_kinds = (
        "unit,kind,class,start_h,end_h\nt1,tray,GPU,1,2\nr1,rack,software,3,4\n,software,,5,6\n,software,,6.5,7\n"
    )
    assert kinds(small(tmp_path, with_kinds, ROSTER)) == [
        ("t1", "tray"),
        ("r1", "rack"),
        ("", "software"),
        ("", "software"),
    ]
    counts = "kind,units,from_h,to_h\ntray,3,0,1000\nsoftware,1,0,500\n"
    found = small(
        tmp_path, log, counts, {"default_kind": "tray"} | {"kinds": {"switch": "exclude", "drill": "exclude"}}
    )
    assert kinds(found) == [("t1", "tray"), ("r2", "tray"), ("t3", "software")]
    assert service_hours(found, found.names.kinds.index("software")) == 500
    assert not any("one job" in note for note in found.notes)


def test_two_hosts_that_report_their_rack_report_it_once(tmp_path: Path) -> None:
    """A rack's fault told by hosts is the rack's: reports that overlap are one, also where the log names the rack."""
    log = "unit,class,start_h,end_h\nt1,switch,1,3\nt2,switch,2,4\nt3,switch,2,4\n"
    found = small(tmp_path, log, ROSTER, {"kinds": {"switch": "rack"}})
    assert kinds(found) == [("r1", "rack"), ("r2", "rack")]
    assert found.overlapping == 1
    log = "unit,rack,class,start_h,end_h\nt1,r2,switch,1,3\nt2,r2,switch,2,4\nt9,r2,switch,8,9\n"
    counts = "kind,units,from_h,to_h\nrack,2,0,1000\n"
    found = small(tmp_path, log, counts, {"kinds": {"switch": "rack"}})
    assert kinds(found) == [("r2", "rack"), ("r2", "rack")]
    assert [found.names.racks[code] for code in found.incidents.rack] == ["r2", "r2"]


def test_racks_zones_and_ages_are_the_rosters(tmp_path: Path) -> None:
    """What the log leaves out; a unit that moves and comes back; the age of units at the beginning."""
    roster = "unit,kind,rack,from_day,to_day,in_service_since_day\n"
    roster += "t1,tray,r1,10,20,-90\nt1,tray,r2,30,40,-90\nt2,tray,r1,15,40,\n"
    log = "unit,start_day,end_day\nt1,12,13\nt1,19,25\nt1,26,27\nt1,31,31\nt2,1,16\nt2,16,17\n"
    mapping = {"observed": {"from": "12", "to": "36"}}
    found = small(tmp_path, log, roster, mapping, accept_exclusions=0.5)
    told = {one.reason: one.rows for one in found.exclusions}
    assert told == {
        "overlaps or touches an earlier one of its unit, and is one with it": 1,
        "began before the observation; its downtime inside counts as not exposed": 1,
        "began while its unit was not in service": 1,
    }
    assert found.incidents.start_h.tolist() == [12 * 24, 19 * 24, 31 * 24]
    assert np.isnan(found.incidents.end_h).tolist() == [False, True, False]
    assert found.incidents.until_h.tolist() == [13 * 24, 20 * 24, 31 * 24]
    assert found.fleet.from_h.tolist() == [12 * 24, 30 * 24, 15 * 24]
    assert found.fleet.to_h.tolist() == [20 * 24, 36 * 24, 36 * 24]
    assert found.fleet.age_h[:2].tolist() == [102 * 24, 120 * 24]
    assert np.isnan(found.fleet.age_h[2])
    by_unit = unit_service(found, 0)
    assert by_unit.service_h.tolist() == [(8 + 6) * 24, 21 * 24]
    assert by_unit.down_h.tolist() == [(1 + 1) * 24, 2 * 24]  # t2: from 15, when it came into service, to 17
    assert exposed_hours(found, 0) == (14 + 21 - 2 - 2) * 24


def test_counted_units_are_in_service_too(tmp_path: Path) -> None:
    """Incidents while none is in service are no incidents of the fleet; more downtime than service is refused."""
    counts = "kind,units,from_h,to_h\ntray,2,0,100\ntray,1,200,300\ntray,4,100,150\n"
    log = "unit,start_h,end_h\na,1,2\nb,99,101\nc,149,150\nd,150,151\ne,199,200\na,200,201\nb,299,300\nb,300,310\n"
    found = small(tmp_path, log, counts, {"default_kind": "tray"}, accept_exclusions=0.5)
    assert found.incidents.start_h.tolist() == [1, 99, 149, 200, 299]
    told = {one.reason: one.lines for one in found.exclusions}
    assert told["began while its unit was not in service"] == (5, 6)
    assert down_hours(found, 0) == 1 + 2 + 1 + 1 + 1 + 1 + 1  # also that of d and e, whose faults are no incidents
    counts = "kind,units,from_h,to_h\ntray,2,0,100\ntray,1,0,1000\n"
    log = "unit,start_h,end_h\na,1,900\nb,5,800\n"
    with pytest.raises(InputError, match=r"units: expected more time in service of kind tray than the 1,694\.0 h"):
        small(tmp_path, log, counts, {"default_kind": "tray"})


def test_software_stops_the_job_whichever_unit_tells_it(tmp_path: Path) -> None:
    """Downtime is the job's, once; the same interruption told by many units is noted."""
    log = "unit,class,start_h,end_h\n" + "".join(
        f"t{1 + i % 3},software,{i // 3 * 100}.00{i % 3},{i // 3 * 100}.9\n" for i in range(30)
    )
    found = small(tmp_path, log, ROSTER)
    software = found.names.kinds.index("software")
    assert len(found.incidents.unit) == 30
    assert down_hours(found, software) == pytest.approx(9.0)
    assert any("20 of 30 software faults begin within a minute" in note for note in found.notes)


def test_overlaps_may_count_each(tmp_path: Path) -> None:
    """With overlaps: keep every row counts, and downtime is still counted once."""
    log = "unit,start_h,end_h\nt1,1,5\nt1,2,3\nt1,5,6\nt2,1,2\n"
    kept, merged = (small(tmp_path, log, ROSTER, {"overlaps": how}) for how in ("keep", "merge"))
    assert (len(kept.incidents.unit), len(merged.incidents.unit)) == (4, 2)
    assert kept.overlapping == merged.overlapping == 2
    assert not kept.exclusions
    assert down_hours(kept, 1) == down_hours(merged, 1) == 6
    assert kept.names.kinds == ("rack", "tray")


def test_the_share_in_error_is_the_users_to_accept(tmp_path: Path) -> None:
    """Rows in error count, not those left out by a rule nor repeated ones; the share is of all rows."""
    log = "unit,start_h,end_h\n" + "".join(f"t1,{i},{i}.5\n" for i in range(98)) + "t2,5,4\nt2,7,6\n"
    log += "t1,5,5.5\n" * 100 + "t2,-50,-40\n" * 50
    with pytest.raises(InputError, match=r"2 of 250 rows \(0\.80 %\) are in error; expected at most 0\.5 %"):
        small(tmp_path, log, ROSTER, accept_exclusions=0.005)
    found = small(tmp_path, log, ROSTER)
    assert {one.role: one.rows for one in found.exclusions if one.role == "data"} == {"data": 2}
    check_exclusions(found, 0.008)
    with pytest.raises(InputError):
        check_exclusions(found, 0.0079)


def test_a_log_that_is_shorter_than_the_observation_is_noted(tmp_path: Path) -> None:
    """Silence at the beginning, in the middle or at the end, over unit-hours and not over time; not chance."""
    rng = np.random.default_rng(5)
    starts = np.sort(rng.uniform(0, 1000, 200))
    for low, high in ((0, 200), (400, 600), (800, 1000)):
        left = starts[(starts < low) | (starts > high)]
        log = "unit,start_h,end_h\n" + "".join(f"t1,{start},{start}\n" for start in left.tolist())
        assert len(small(tmp_path, log, ROSTER).notes) == 1
        roster = f"kind,units,from_h,to_h\ntray,5,0,1000\ntray,100000,{0 if low else high},{low if low else 1000}\n"
        if low != 400:  # hardly anything was in service then
            assert not small(tmp_path, log, roster, {"default_kind": "tray"}).notes
    for seed in range(50):
        starts = np.random.default_rng(seed).uniform(0, 1000, 100)
        assert not silent_spells(starts, fleet()._replace(from_h=np.zeros(4), to_h=np.full(4, 1000.0)), 0.0, 1000.0)
    assert silent_spells(np.zeros(0), fleet(), B, E) == []


@pytest.mark.parametrize("rows", ["t1,GPU,1\n", "t1,exclude,1,2\n"])
def test_a_log_of_which_nothing_is_left_is_no_error_of_the_program(tmp_path: Path, rows: str) -> None:
    """Only rows that are cut off, or only such as are no faults: told, and there are no incidents."""
    found = small(tmp_path, "unit,class,start_h,end_h\n" + rows, ROSTER, accept_exclusions=1.0)
    assert len(found.incidents.unit) == 0
    assert [one.rows for one in found.exclusions] == [1]
    assert exposed_hours(found, found.names.kinds.index("tray")) == 3000
    with pytest.raises(InputError, match="expected a share from 0 to 1"):
        small(tmp_path, "", ROSTER, accept_exclusions=5.0)


def test_a_mapping_is_a_file(tmp_path: Path) -> None:
    """Its fields are those of the documentation; a fault of it is told with its line."""
    path = tmp_path / "mapping.yaml"
    path.write_text(
        "columns: {unit: host, start: opened_at}\ntimezone: Europe/Berlin\nkinds:\n  GPU: tray\n  7: rack\n"
        "observed: {from: 2027-01-01, to: 2027-04-01}\nfleet:\n  columns: {unit: asset}\n"
    )
    found = read_mapping(path)
    assert found.columns == {"unit": "host", "start": "opened_at"}
    assert found.observed is not None
    assert (found.observed.begin, found.observed.end) == ("2027-01-01", "2027-04-01")
    path.write_text("timezone: UTC\ntimes: weeks\n")
    with pytest.raises(InputError, match=r"line 2, times: expected 'hours', 'days'"):
        read_mapping(path)
    with pytest.raises(InputError, match=r"can't be read"):
        read_mapping(tmp_path / "no.yaml")


def test_progress_is_told_by_rows(folder: Path) -> None:
    """What a caller shows while it waits."""
    told: list[int] = []
    read_observation(folder / "log.csv", folder / "fleet.csv", progress=told.append)
    assert told[-1] == 400


def test_the_public_name_reads_a_log(folder: Path) -> None:
    """From the package itself."""
    found = spareopt.read_observation(folder / "log.csv", folder / "fleet.csv")
    assert isinstance(found, spareopt.Observation)
    assert len(found.log.sha256) == 64
    assert found.roster_of(0)
    assert service_hours(found, 0) == 50 * HOURS


PAGE = (Path(__file__).parents[1] / "docs" / "incident-logs.md").read_text(encoding="utf-8")


def test_the_page_has_every_reason_and_its_role() -> None:
    """The table of rules is the program's: every reason in its order, with its role."""
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in PAGE.split("## Which rows count")[1].split("##")[0].splitlines()
        if line.startswith("| ")
    ]
    told = [(row[0], row[2]) for row in rows if row[2] != "role"]
    assert told == [(words.reason, words.role) for reason, words in sorted(WORDS.items())]


def test_the_page_has_every_field_and_every_name() -> None:
    """The fields of a mapping in their order; the names of columns that need no mapping."""
    fields = re.findall(r"^\| `(\w+)` \|", PAGE.split("## The mapping, field by field")[1], re.MULTILINE)
    assert fields == list(LogMapping.model_fields)
    columns = PAGE.split("## The columns")[1].split("##")[0]
    for role, names in LOG_COLUMNS.items():
        assert f"`{role}`" in columns
        for one in names:
            assert re.search(rf"\b{one}\b", columns)


def test_advice_for_a_log_in_other_words_is_what_helps(tmp_path: Path) -> None:
    """Proves each message by doing what it says: the columns, then the form, of a fleet; then the word for open."""
    log, fleet = tmp_path / "log.csv", tmp_path / "fleet.csv"
    log.write_text("unit,start,end\nn1,04.01.2027 08:00,04.01.2027 09:00\nn2,05.01.2027 08:00,offen\n")
    fleet.write_text("Art;Anzahl;Von;Bis\ntray;9;01.01.2027;01.03.2027\n")
    mapping: dict[str, Any] = {"time_format": "%d.%m.%Y %H:%M", "timezone": "Europe/Berlin", "default_kind": "tray"}
    with pytest.raises(InputError, match=r"Art, Anzahl, Von, Bis.*`fleet: \{columns: \{units: \.\.\.\}\}`"):
        read_observation(log, fleet, mapping)
    mapping["fleet"] = {"columns": {"kind": "Art", "units": "Anzahl", "from": "Von", "to": "Bis"}}
    with pytest.raises(InputError, match=r'01\.01\.2027.*or state `fleet: \{time_format: "%d/%m/%Y"\}`'):
        read_observation(log, fleet, mapping)
    mapping["fleet"]["time_format"] = "%d.%m.%Y"
    with pytest.raises(InputError, match=r"'offen'; if that means still open, state `open_ends: \['offen'\]`"):
        read_observation(log, fleet, mapping)
    found = read_observation(log, fleet, mapping | {"open_ends": ["offen"]})
    assert np.isnan(found.incidents.end_h).tolist() == [False, True]
    assert "from 2026-12-31 23:00 UTC" in calibration_text(calibrated(found, 0.95, 1 / 6, 2160.0))
