"""A log and a fleet from their files, on one clock, cleaned by the rules: what estimates start from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.cleaning import Cleaned, LogRows, clean
from spareopt.calibration.clock import Moments, hours
from spareopt.calibration.codes import Coder, sorted_codes
from spareopt.calibration.exclusions import LINES_TOLD, MOST_EXCLUDED, WORDS, Reason, check_exclusions
from spareopt.calibration.fleet_clock import Clock, fleet_of, in_utc, observation_clock
from spareopt.calibration.fleet_file import read_fleet
from spareopt.calibration.incidents import (
    SOFTWARE,
    Absences,
    Exclusion,
    Fleet,
    Incidents,
    Integers,
    Names,
    Observation,
    Source,
    taken,
)
from spareopt.calibration.log_mapping import EXCLUDE, LogMapping, read_mapping
from spareopt.calibration.log_rows import NAMES, RawRows, read_rows, time_advice
from spareopt.calibration.log_times import EMPTY, NEVER, TWICE, UNREADABLE
from spareopt.calibration.table_columns import ABSOLUTE
from spareopt.calibration.text_tables import open_table, sha256
from spareopt.calibration.unit_kinds import EXCLUDED, UNKNOWN, kinds_of_rows
from spareopt.errors import Fault, InputError
from spareopt.yaml_source import brief

MOST_TOLD = 5  # names of a list
Reasons = NDArray[np.int8]


class _Log(NamedTuple):
    """A log on its way to an observation."""

    label: str
    mapping: LogMapping
    rows: RawRows
    start: Moments
    end: Moments
    clock: Clock
    coders: dict[str, Coder]


def read_observation(
    log: str | Path,
    fleet: str | Path,
    mapping: str | Path | Mapping[str, Any] | LogMapping | None = None,
    *,
    accept_exclusions: float = MOST_EXCLUDED,
    progress: Callable[[int], None] | None = None,
) -> Observation:
    """Read an incident log and the fleet that it is of.

    ``log`` and ``fleet`` are CSV (or .csv.gz), Parquet or .xlsx files; ``mapping`` says what their columns, times and
    words mean (docs/incident-logs.md).  More than the share ``accept_exclusions`` of rows in error is refused.
    ``progress`` is told how many rows are read.  Raises InputError.
    """
    mapping_label = str(mapping) if isinstance(mapping, str | Path) else "mapping"
    if not isinstance(mapping, LogMapping):
        mapping = read_mapping(mapping)
    fleet_label = str(fleet)
    coders = {role: Coder() for role in NAMES}
    table = open_table(log, mapping)
    rows = read_rows(table, mapping, coders, progress)
    if rows.unit_of_time in ABSOLUTE:
        default_times: str | None = "timestamps"
    else:
        default_times = mapping.times
    fleet_rows = read_fleet(fleet, mapping.fleet, default_times, mapping.default_kind)
    start, end = (
        in_utc(times, mapping.timezone, table.label, role, rows.line)
        for role, times in (("start", rows.start), ("end", rows.end))
    )
    clock = observation_clock(mapping, mapping_label, fleet_rows, fleet_label, rows.unit_of_time)
    exposed = fleet_of(fleet_rows, clock, mapping, fleet_label, coders)
    observation = _observation(
        _Log(table.label, mapping, rows, start, end, clock, coders),
        exposed,
        Source(table.label, sha256(log), len(rows.line) + len(rows.ragged)),
        Source(fleet_label, sha256(fleet), len(fleet_rows.line)),
    )
    check_exclusions(observation, accept_exclusions)
    return observation


def _observation(log: _Log, fleet: Fleet, source: Source, roster: Source) -> Observation:
    coders, rows = log.coders, log.rows
    kind = _kinds(log, fleet)
    notes = []
    software = coders["kind"].code(SOFTWARE)
    if (kind == software).any() and not (fleet.kind == software).any():
        fleet = _with_one_job(fleet, software, log.clock)
        notes.append(
            "software faults are taken as those of one job that ran all through the observation; if it did not, give "
            "the fleet rows of kind software"
        )
    unit, rack, zone = _places(log, fleet, kind)
    reason = _first_reasons(log, fleet, kind, unit, software)
    _check_kinds(log, fleet, kind, reason)
    good = np.flatnonzero(reason == 0)
    start_h, end_h = hours(log.start, log.clock.origin), hours(log.end, log.clock.origin)
    cleaned = clean(
        LogRows(
            unit[good],
            kind[good],
            rows.codes["fault_class"][good].astype(np.int64),
            rack[good],
            zone[good],
            rows.codes["disposition"][good].astype(np.int64),
            start_h[good],
            end_h[good],
            rows.line[good],
        ),
        fleet,
        log.clock.begin_h,
        log.clock.end_h,
        log.mapping.overlaps == "merge",
    )
    reason[good] = cleaned.reason
    _check_counts(log, fleet, cleaned.incidents, software, roster.name)
    notes += _notes(log, fleet, unit, reason)
    names, incidents, absences, fleet = _named(coders, cleaned, fleet)
    origin = log.clock.origin
    return Observation(
        incidents,
        absences,
        fleet,
        names,
        log.clock.begin_h,
        log.clock.end_h,
        None if origin is None else (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=origin)).isoformat(),
        _exclusions(log, reason, unit, start_h, end_h),
        cleaned.overlapping,
        tuple(notes),
        source,
        roster,
    )


def _kinds(log: _Log, fleet: Fleet) -> Integers:
    """The kind of each row's unit.  Raises InputError where nothing says it."""
    coder, mapping, codes = log.coders["kind"], log.mapping, log.rows.codes
    known = {coder.names[code]: int(code) for code in np.unique(fleet.kind)}
    known |= {SOFTWARE: coder.code(SOFTWARE), EXCLUDE: EXCLUDED}
    default = UNKNOWN
    if mapping.default_kind is not None:
        default = EXCLUDED if mapping.default_kind == EXCLUDE else coder.code(mapping.default_kind)
    mapped = {word: EXCLUDED if kind == EXCLUDE else coder.code(kind) for word, kind in mapping.kinds.items()}
    kind_of_unit = np.full(len(log.coders["unit"].names), UNKNOWN, dtype=np.int64)
    named = fleet.unit >= 0
    kind_of_unit[fleet.unit[named]] = fleet.kind[named]
    return kinds_of_rows(
        codes["fault_class"],
        codes["kind"],
        codes["unit"],
        log.coders["fault_class"].names,
        coder.names,
        mapped,
        known,
        kind_of_unit,
        default,
    )


def _with_one_job(fleet: Fleet, software: int, clock: Clock) -> Fleet:
    """The fleet with one job all through the observation."""
    more = (software, -1, 1, clock.begin_h, clock.end_h, -1, -1, np.nan)
    return Fleet(
        *(np.append(array, np.array(value, dtype=array.dtype)) for array, value in zip(fleet, more, strict=True))
    )


def _places(log: _Log, fleet: Fleet, kind: Integers) -> tuple[Integers, Integers, Integers]:
    """Unit, rack and zone of each row: racks and zones that the log leaves out are the roster's.

    A rack's fault that names another unit, such as a host, is that of the unit's rack, where it is known.
    """
    coders = log.coders
    unit, rack, zone = (log.rows.codes[role].astype(np.int64) for role in ("unit", "rack", "zone"))
    named = np.flatnonzero(fleet.unit >= 0)
    for codes, of_fleet in ((rack, fleet.rack), (zone, fleet.zone)):
        of_unit = np.full(len(coders["unit"].names) + 1, -1, dtype=np.int64)
        of_unit[fleet.unit[named]] = of_fleet[named]
        left = codes < 0
        codes[left] = of_unit[unit[left]]
    rack_kind = coders["kind"].code("rack")
    is_rack = np.zeros(len(coders["unit"].names) + 1, dtype=np.bool_)
    is_rack[fleet.unit[named[fleet.kind[named] == rack_kind]]] = True
    moved = np.flatnonzero((kind == rack_kind) & (rack >= 0) & ~is_rack[unit])
    if len(moved):
        as_unit = np.array([coders["unit"].code(name) for name in coders["rack"].names], dtype=np.int64)
        unit[moved] = as_unit[rack[moved]]
    return unit, rack, zone


def _first_reasons(log: _Log, fleet: Fleet, kind: Integers, unit: Integers, software: int) -> Reasons:
    """Why rows are left out before their times are compared; refuses a log of which nothing says the kinds."""
    mapping, rows, coders = log.mapping, log.rows, log.coders
    reason = np.zeros(len(rows.line), dtype=np.int8)

    def leave_out(where: NDArray[np.bool_], why: Reason) -> None:
        reason[where & (reason == 0)] = why

    leave_out(kind == EXCLUDED, Reason.KIND)
    if mapping.dispositions is not None:
        excluded = {text.strip() for text in mapping.dispositions.exclude}
        is_excluded = np.array([name in excluded for name in coders["disposition"].names] + [False])
        leave_out(is_excluded[rows.codes["disposition"]], Reason.DISPOSITION)
    leave_out((unit < 0) & (kind != software), Reason.NO_UNIT)
    named = fleet.unit >= 0
    if named.any():
        kind_of_unit = np.full(len(coders["unit"].names) + 1, UNKNOWN, dtype=np.int64)
        kind_of_unit[fleet.unit[named]] = fleet.kind[named]
        of_unit = kind_of_unit[unit]
        leave_out((kind == UNKNOWN) & (of_unit == UNKNOWN) & (rows.codes["kind"] < 0), Reason.NOT_IN_ROSTER)
        has_roster = np.isin(kind, np.unique(fleet.kind[named]))
        leave_out(has_roster & (kind != software) & (of_unit != kind), Reason.NOT_IN_ROSTER)
    for times, bad in ((log.start, Reason.BAD_START), (log.end, Reason.BAD_END)):
        if bad is Reason.BAD_START:
            leave_out(times.state == EMPTY, Reason.NO_START)
        leave_out(times.state == UNREADABLE, bad)
    for times in (log.start, log.end):
        leave_out(times.state == TWICE, Reason.CLOCK_TWICE)
        leave_out(times.state == NEVER, Reason.CLOCK_NEVER)
    return reason


def _check_kinds(log: _Log, fleet: Fleet, kind: Integers, reason: Reasons) -> None:
    """Refuse a log with rows of a kind that nothing says, or of one of which the fleet has no units."""
    left = reason == 0
    faults = []
    unknown = np.flatnonzero(left & (kind == UNKNOWN))
    kinds = ", ".join(sorted({log.coders["kind"].names[code] for code in np.unique(fleet.kind).tolist()}))
    if len(unknown):
        words, column = log.rows.codes["kind"][unknown], "kind"
        if (words < 0).all():
            words, column = log.rows.codes["fault_class"][unknown], "fault_class"
        found, rows = np.unique(words, return_counts=True)
        told = [
            f"{brief(log.coders[column].names[found[i]]) if found[i] >= 0 else 'nothing'} ({rows[i]:,} rows)"
            for i in np.argsort(-rows, kind="stable")[:MOST_TOLD].tolist()
        ]
        more = f" and {len(found) - MOST_TOLD} more" if len(found) > MOST_TOLD else ""
        message = f"expected what these are faults of ({kinds}, {SOFTWARE} or {EXCLUDE}), got {', '.join(told)}{more}; "
        message += "state `kinds: {word: kind}` or `default_kind` in the mapping"
        faults.append(Fault(column, message, int(log.rows.line[unknown[0]])))
    missing = np.setdiff1d(np.unique(kind[left & (kind >= 0)]), fleet.kind)
    for code in missing.tolist():
        first = int(np.flatnonzero(left & (kind == code))[0])
        name = log.coders["kind"].names[code]
        message = (
            f"has incidents of kind {brief(name)}, of which the fleet has no units in service ({kinds}); give the "
        )
        message += "fleet rows of that kind, or correct `kinds` in the mapping"
        faults.append(Fault("kind", message, int(log.rows.line[first])))
    if faults:
        raise InputError(log.label, faults)


def _check_counts(log: _Log, fleet: Fleet, incidents: Incidents, software: int, roster: str) -> None:
    """Refuse a fleet that counts fewer units of a kind than have incidents."""
    faults = []
    for code in np.unique(fleet.kind[fleet.unit < 0]).tolist():
        if code == software:
            continue
        seen, counted = (
            len(np.unique(incidents.unit[incidents.kind == code])),
            int(fleet.units[fleet.kind == code].sum()),
        )
        if seen > counted:
            name = log.coders["kind"].names[code]
            message = f"expected at least the {seen:,} units of kind {name} that have incidents in the log, got "
            message += (
                f"{counted:,}; are the log's units of another kind, or were some replaced? Give a row for each unit"
            )
            faults.append(Fault("units", message))
    if faults:
        raise InputError(roster, faults)


def _notes(log: _Log, fleet: Fleet, unit: Integers, reason: Reasons) -> list[str]:
    """What looks odd though nothing follows from it."""
    notes = []
    names = log.coders["unit"].names
    used = np.unique(unit[(reason == 0) | (reason == Reason.NOT_IN_ROSTER)])
    here = {_folded(names[code]): names[code] for code in np.unique(fleet.unit[fleet.unit >= 0]).tolist()}
    in_fleet = set(here.values())
    twins = []
    for code in used[used >= 0].tolist():
        name = names[code]
        other = here.setdefault(_folded(name), name)
        if other != name and name not in in_fleet:
            twins.append((name, other))
    if twins:
        told = ", ".join(f"{brief(a)} and {brief(b)}" for a, b in sorted(twins)[:MOST_TOLD])
        several = f"{len(twins)} unit{'s differ' if len(twins) > 1 else ' differs'}"
        notes.append(f"{several} from another only in case, spaces or signs between words: {told}")
    for role, stated in (("fault_class", log.mapping.kinds), ("disposition", _dispositions(log.mapping))):
        there = set(log.coders[role].names) | (set(log.coders["kind"].names) if role == "fault_class" else set())
        missing = sorted(word for word in stated if word.strip() not in there)
        if missing:
            notes.append(f"the mapping names {', '.join(map(brief, missing[:MOST_TOLD]))}, which the log does not have")
    return notes


def _dispositions(mapping: LogMapping) -> tuple[str, ...]:
    return mapping.dispositions.exclude if mapping.dispositions else ()


def _folded(name: str) -> str:
    """A name without what people write differently."""
    return "".join(sign for sign in name.casefold() if sign not in " _-.")


def _exclusions(
    log: _Log, reason: Reasons, unit: Integers, start_h: NDArray[np.float64], end_h: NDArray[np.float64]
) -> tuple[Exclusion, ...]:
    """What was left out, in the order of the rules."""
    found = []
    ragged = log.rows.ragged
    if ragged:
        words = WORDS[Reason.FIELDS]
        lines = tuple(line for line, _ in ragged[:LINES_TOLD])
        found.append(Exclusion(words.reason, words.role, len(ragged), lines, ragged[0][1], words.fix))
    for why in Reason:
        rows = np.flatnonzero(reason == why)
        if why is Reason.NONE or len(rows) == 0:
            continue
        words, first = WORDS[why], int(rows[0])
        example, fix = _example(log, why, first, unit, start_h, end_h), words.fix
        if why in (Reason.BAD_START, Reason.BAD_END):
            role = "start" if why is Reason.BAD_START else "end"
            text = log.rows.odd.get((role, first), "")
            example, fix = brief(text), time_advice(text, log.rows.unit_of_time)
        lines = tuple(log.rows.line[rows[:LINES_TOLD]].tolist())
        found.append(Exclusion(words.reason, words.role, len(rows), lines, example, fix))
    return tuple(found)


def _example(
    log: _Log, why: Reason, row: int, unit: Integers, start_h: NDArray[np.float64], end_h: NDArray[np.float64]
) -> str:
    """What a row holds that is left out."""
    names = {role: log.coders[role].names for role in ("unit", "fault_class", "disposition", "kind")}
    if why is Reason.KIND:
        codes = log.rows.codes
        role = "fault_class" if codes["fault_class"][row] >= 0 else "kind"
        return brief(names[role][codes[role][row]]) if codes[role][row] >= 0 else ""
    if why is Reason.DISPOSITION:
        return brief(names["disposition"][log.rows.codes["disposition"][row]])
    name = brief(names["unit"][unit[row]]) if unit[row] >= 0 else "a row without unit"
    if why in (Reason.NO_UNIT, Reason.NO_START, Reason.NOT_IN_ROSTER):
        return name
    times = (_time_text(log, role, row, value[row]) for role, value in (("start", start_h), ("end", end_h)))
    return f"{name} from {' to '.join(times)}"


def _time_text(log: _Log, role: str, row: int, hour: float) -> str:
    """A time of a row for people: UTC, or hours of the log's clock."""
    moment = log.start if role == "start" else log.end
    if np.isnan(hour) and moment.state[row] not in (TWICE, NEVER):
        return "open"
    if log.clock.origin is None:
        return f"{hour:.6g} h"
    text = str(np.datetime64(int(moment.value[row]), "us").astype("datetime64[s]"))
    return text + ("" if moment.state[row] in (TWICE, NEVER) else "Z")


def _named(coders: dict[str, Coder], cleaned: Cleaned, fleet: Fleet) -> tuple[Names, Incidents, Absences, Fleet]:
    """The arrays with codes by sorted names, whatever the order in which the files have them; the fleet in order."""
    incidents, absences = cleaned.incidents, cleaned.absences
    units, unit = sorted_codes(coders["unit"].names, (incidents.unit, absences.unit, fleet.unit))
    kinds, kind = sorted_codes(coders["kind"].names, (incidents.kind, absences.kind, fleet.kind))
    faults, fault = sorted_codes(coders["fault_class"].names, (incidents.fault,))
    racks, rack = sorted_codes(coders["rack"].names, (incidents.rack, fleet.rack))
    zones, zone = sorted_codes(coders["zone"].names, (incidents.zone, fleet.zone))
    dispositions, disposition = sorted_codes(coders["disposition"].names, (incidents.disposition,))
    incidents = incidents._replace(
        unit=unit[incidents.unit],
        kind=kind[incidents.kind],
        fault=fault[incidents.fault],
        rack=rack[incidents.rack],
        zone=zone[incidents.zone],
        disposition=disposition[incidents.disposition],
    )
    by_start = np.lexsort(
        (incidents.line, incidents.fault, incidents.until_h, incidents.unit, incidents.kind, incidents.start_h)
    )
    absences = absences._replace(unit=unit[absences.unit], kind=kind[absences.kind])
    by_unit = np.lexsort((absences.start_h, absences.unit, absences.kind))
    fleet = fleet._replace(kind=kind[fleet.kind], unit=unit[fleet.unit], rack=rack[fleet.rack], zone=zone[fleet.zone])
    in_order = np.lexsort((fleet.units, fleet.to_h, fleet.from_h, fleet.unit, fleet.kind))
    return (
        Names(units, kinds, faults, racks, zones, dispositions),
        taken(incidents, by_start),
        taken(absences, by_unit),
        taken(fleet, in_order),
    )
