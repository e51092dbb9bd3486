"""A log and a fleet from their files, on one clock, cleaned by the rules: what estimates start from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.cleaning import Cleaned, LogRows, clean
from spareopt.calibration.clock import hours
from spareopt.calibration.clocked_log import ClockedLog, Reasons
from spareopt.calibration.codes import Coder, sorted_codes
from spareopt.calibration.exclusions import MOST_EXCLUDED, Reason, check_exclusions
from spareopt.calibration.fleet_clock import Clock, fleet_of, in_utc, observation_clock
from spareopt.calibration.fleet_file import read_fleet
from spareopt.calibration.incidents import (
    SOFTWARE,
    Absences,
    Fleet,
    Incidents,
    Integers,
    Names,
    Observation,
    Source,
    taken,
)
from spareopt.calibration.left_out import exclusions_of
from spareopt.calibration.log_mapping import EXCLUDE, LogMapping, read_mapping
from spareopt.calibration.log_rows import NAMES, read_rows
from spareopt.calibration.log_times import EMPTY, NEVER, TWICE, UNREADABLE
from spareopt.calibration.oddities import oddities
from spareopt.calibration.service import down_hours, service_hours
from spareopt.calibration.sorting import sort_order
from spareopt.calibration.table_columns import ABSOLUTE
from spareopt.calibration.text_tables import open_table
from spareopt.calibration.unit_kinds import EXCLUDED, UNKNOWN, kinds_of_rows
from spareopt.errors import Fault, InputError
from spareopt.folders import fingerprint
from spareopt.yaml_source import brief

MOST_TOLD = 5  # names of a list


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
    if not 0 <= accept_exclusions <= 1:
        message = f"expected a share from 0 to 1, such as 0.01 or 1 %, got {accept_exclusions:g}"
        raise InputError("accept_exclusions", [Fault("", message)])
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
        ClockedLog(table.label, mapping, rows, start, end, clock, coders),
        exposed,
        Source(table.label, fingerprint(Path(log)), len(rows.line) + len(rows.ragged)),
        Source(fleet_label, fingerprint(Path(fleet)), len(fleet_rows.line)),
    )
    _check_exposure(observation)
    check_exclusions(observation, accept_exclusions)
    return observation


def _observation(log: ClockedLog, fleet: Fleet, source: Source, roster: Source) -> Observation:
    coders, rows = log.coders, log.rows
    kind = _kinds(log, fleet)
    notes = []
    software = coders["kind"][SOFTWARE]
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
    _check_counts(log, fleet, cleaned, software, roster.name)
    notes += oddities(log, fleet, cleaned.incidents, unit, reason)
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
        exclusions_of(log, reason, unit, start_h, end_h),
        cleaned.overlapping,
        tuple(notes),
        source,
        roster,
    )


def _kinds(log: ClockedLog, fleet: Fleet) -> Integers:
    """The kind of each row's unit.  Raises InputError where nothing says it."""
    coder, mapping, codes = log.coders["kind"], log.mapping, log.rows.codes
    known = {coder.names[code]: int(code) for code in np.unique(fleet.kind)}
    known |= {SOFTWARE: coder[SOFTWARE], EXCLUDE: EXCLUDED}
    default = UNKNOWN
    if mapping.default_kind is not None:
        default = EXCLUDED if mapping.default_kind == EXCLUDE else coder[mapping.default_kind]
    mapped = {word: EXCLUDED if kind == EXCLUDE else coder[kind] for word, kind in mapping.kinds.items()}
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


def _places(log: ClockedLog, fleet: Fleet, kind: Integers) -> tuple[Integers, Integers, Integers]:
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
    rack_kind = coders["kind"]["rack"]
    is_rack = np.zeros(len(coders["unit"].names) + 1, dtype=np.bool_)
    is_rack[fleet.unit[named[fleet.kind[named] == rack_kind]]] = True
    moved = np.flatnonzero((kind == rack_kind) & (rack >= 0) & ~is_rack[unit])
    if len(moved):
        as_unit = np.array([coders["unit"][name] for name in coders["rack"].names], dtype=np.int64)
        unit[moved] = as_unit[rack[moved]]
    return unit, rack, zone


def _first_reasons(log: ClockedLog, fleet: Fleet, kind: Integers, unit: Integers, software: int) -> Reasons:
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


def _check_kinds(log: ClockedLog, fleet: Fleet, kind: Integers, reason: Reasons) -> None:
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
        choices = ", ".join(dict.fromkeys([*kinds.split(", "), SOFTWARE]))
        message = f"expected what these are faults of ({choices} or {EXCLUDE}), got {', '.join(told)}{more}; "
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


def _check_counts(log: ClockedLog, fleet: Fleet, cleaned: Cleaned, software: int, roster: str) -> None:
    """Refuse a fleet that counts fewer units of a kind than have incidents."""
    faults = []
    incidents, absences = cleaned.incidents, cleaned.absences
    for code in np.unique(fleet.kind[fleet.unit < 0]).tolist():
        if code == software:
            continue
        units = np.union1d(incidents.unit[incidents.kind == code], absences.unit[absences.kind == code])
        counted = int(fleet.units[fleet.kind == code].sum())
        if len(units) > counted:
            name = log.coders["kind"].names[code]
            message = f"expected at least the {len(units):,} units of kind {name} that have incidents in the log, got "
            message += (
                f"{counted:,}; are the log's units of another kind, or were some replaced? Give a row for each unit"
            )
            faults.append(Fault("units", message))
    if faults:
        raise InputError(roster, faults)


def _check_exposure(observation: Observation) -> None:
    """Refuse a fleet whose counted units were down for longer than they were in service."""
    faults = []
    for kind, name in enumerate(observation.names.kinds):
        if observation.roster_of(kind) and name != SOFTWARE:
            continue  # of named units downtime counts only while they are in service
        service, down = service_hours(observation, kind), down_hours(observation, kind)
        if down > service * (1 + 1e-9):
            message = f"expected more time in service of kind {name} than the {down:,.1f} h that the log has it down, "
            message += f"got {service:,.1f} h; correct the numbers and times of its units, or give a row for each unit"
            faults.append(Fault("units", message))
    if faults:
        raise InputError(observation.roster.name, faults)


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
    by_start = sort_order(
        (incidents.start_h,),
        (incidents.kind, incidents.unit, incidents.until_h, incidents.fault, incidents.line),
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
