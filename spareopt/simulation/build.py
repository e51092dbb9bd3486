"""The simulated system of an instance and decisions: its units, what takes what down, and who repairs it, as arrays.

Read from the input types alone, so that the simulator stands beside the exact model, not on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.checkpoint_plans import CheckpointPlan
from spareopt.decisions import Decisions, ZoneChoice, decision_faults, repair_choice
from spareopt.errors import Fault, InputError
from spareopt.failures import FaultDomain
from spareopt.instance import BlockDesign, Instance
from spareopt.simulation.classes import FIRST_DOMAIN, RACK, TRAY, Classes, fault_classes
from spareopt.simulation.system import (
    ALWAYS,
    CHECKPOINTS,
    COMPUTING,
    GROUPS,
    OVERLAPPED,
    TWO_LEVEL,
    WORKING,
    System,
)
from spareopt.simulation.trace import Trace, trace_events

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_UNITS = 20_000_000
"""Units of a site: more would take gigabytes of memory."""
KIND_BITS, TRAY_BITS, FEED_BITS = 20, 12, 6  # of the words of a unit's code, below which the next number starts
_MOST_DOMAINS = 4000  # kinds of units beyond would give the codes of what is no unit
_AGEING = {"always": ALWAYS, "working": WORKING, "computing": COMPUTING}


def build_system(instance: Instance, decisions: Decisions, trace: Trace | None = None) -> System:
    """The system that is simulated, its trays replaying a trace if one is given.

    Raises InputError where the decisions do not fit the instance, or for what the simulator does not play.
    """
    faults = decision_faults(instance, decisions)
    if faults:
        raise InputError("plan", faults)
    choices = decisions.zones
    names = {design.name: design for design in instance.designs}
    designs = [names[choice.design] for choice in choices]
    for source, faults in (
        ("plan", _size_faults(instance, choices, designs)),
        (instance.name, _rule_faults(instance, choices, designs)),
    ):
        if faults:
            raise InputError(source, faults)
    zones = _zones(instance, choices, designs)
    classes = fault_classes(instance, choices)
    domains = _domains(instance, zones)
    trays = int(zones.block_tray[-1])
    if trace is not None and len(trace.names) > trays:
        message = f"the trace has {len(trace.names):,} units, the plan only {trays:,} trays; expected at most as many"
        raise InputError(trace.source, [Fault("unit", f"{message}; use a larger plan, or drop units")])
    arrays = (
        _of_zones(zones, choices)
        | _of_units(zones, domains, classes)
        | _of_domains(zones, domains, trays)
        | classes.columns
        | _repair(instance, zones, choices)
        | {"zone_share": _zone_shares(zones, choices, designs)}
        | _stops(instance)
        | _replayed(trace)
    )
    scheme = next(plan for plan in instance.checkpoint_plans if plan.name == decisions.checkpoint_plan)
    return System(**arrays, **_job(scheme))


def _size_faults(instance: Instance, choices: Sequence[ZoneChoice], designs: Sequence[BlockDesign]) -> list[Fault]:
    """Numbers of units that have no code, or would not fit in memory."""
    faults = []
    feeds = 1 + sum(1 if domain.feeds is None else domain.feeds.number for domain in instance.failures.domains)
    total = 0
    for i, (choice, design) in enumerate(zip(choices, designs, strict=True)):
        blocks = choice.racks * design.blocks_per_rack
        total += choice.count * (blocks * design.trays_per_block + choice.racks * feeds)
        if design.trays_per_block > 1 << TRAY_BITS:
            message = f"design {design.name!r} has {design.trays_per_block:,} trays a block, more than is simulated"
            faults.append(Fault(f"zones.{i}.design", f"{message}; expected at most {1 << TRAY_BITS:,}"))
        if blocks > 1 << 20:
            message = f"{blocks:,} blocks in a zone are more than is simulated; expected at most {1 << 20:,}"
            faults.append(Fault(f"zones.{i}.racks", message))
    zones = sum(choice.count for choice in choices)
    if zones > 1 << KIND_BITS:
        message = f"{zones:,} zones are more than is simulated; expected at most {1 << KIND_BITS:,}"
        faults.append(Fault("zones", message))
    if not faults and total > MOST_UNITS:
        message = f"it has up to {total:,} units, more than is simulated; expected at most {MOST_UNITS:,}"
        faults.append(Fault("zones", message))
    return faults


def _rule_faults(instance: Instance, choices: Sequence[ZoneChoice], designs: Sequence[BlockDesign]) -> list[Fault]:
    """What an instance may state and no simulation of faults plays."""
    failures, faults = instance.failures, []
    if failures.charge == "block":
        several = _of_several_blocks(failures.rack is not None, failures.domains, choices, designs)
        if several:
            message = (
                "'block' counts a fault once for each working block, which no fault that is played does, and "
                f"{', '.join(several)} hold several blocks; use domain"
            )
            faults.append(Fault("failures.charge", message))
    if len(failures.domains) > _MOST_DOMAINS:
        message = f"{len(failures.domains):,} are more than is simulated; expected at most {_MOST_DOMAINS:,}"
        faults.append(Fault("failures.domains", message))
    fewest = min(choice.racks for choice in choices)
    faults += [
        Fault(
            f"failures.bursts.{i}.racks", f"expected at most the fewest racks of a zone ({fewest}), got {burst.racks}"
        )
        for i, burst in enumerate(failures.bursts)
        if burst.racks > fewest
    ]
    return faults


def _of_several_blocks(
    racks_fail: bool, domains: Sequence[FaultDomain], choices: Sequence[ZoneChoice], designs: Sequence[BlockDesign]
) -> list[str]:
    """Racks and domains below the site that hold more than one block in some zone."""
    found = []
    per_rack = max(design.blocks_per_rack for design in designs)
    if racks_fail and per_rack > 1:
        found.append("racks")
    for domain in domains:
        if domain.spans == "site":
            continue
        for choice, design in zip(choices, designs, strict=True):
            racks = choice.racks if domain.spans == "zone" else min(domain.spans, choice.racks)
            if racks * design.blocks_per_rack > 1:
                found.append(domain.name)
                break
    return found


class _Zones(NamedTuple):
    """The zones of a plan and their blocks."""

    choice: Integers
    """The zone choice of each zone."""
    number: Integers
    """Number of each zone in the instance, whatever the order of the choices."""
    racks: Integers
    blocks_per_rack: Integers
    zone_block: Integers
    block_zone: Integers
    block_tray: Integers
    """These three as in System."""


def _zones(instance: Instance, choices: Sequence[ZoneChoice], designs: Sequence[BlockDesign]) -> _Zones:
    next_number, before = {}, 0
    for zone in instance.zones:
        next_number[zone.name] = before
        before += zone.count
    numbers = []
    for zone_choice in choices:
        numbers.append(np.arange(zone_choice.count, dtype=np.int64) + next_number[zone_choice.zone])
        next_number[zone_choice.zone] += zone_choice.count
    choice = np.repeat(np.arange(len(choices), dtype=np.int64), [c.count for c in choices])
    racks = np.array([c.racks for c in choices], dtype=np.int64)[choice]
    blocks_per_rack = np.array([d.blocks_per_rack for d in designs], dtype=np.int64)[choice]
    blocks = racks * blocks_per_rack
    block_zone = np.repeat(np.arange(len(choice), dtype=np.int64), blocks)
    trays = np.array([d.trays_per_block for d in designs], dtype=np.int64)[choice][block_zone]
    return _Zones(
        choice, np.concatenate(numbers), racks, blocks_per_rack, _offsets(blocks), block_zone, _offsets(trays)
    )


class _Domains(NamedTuple):
    """Racks and other domains, in the order of their units."""

    kind: Integers
    choice: Integers
    """The zone choice; 0 for domains of the site."""
    zone_number: Integers
    """That of the zone in the instance; 0 for domains of the site."""
    number: Integers
    """Within the zone, or the site."""
    feeds: Integers
    needed: Integers
    ranges: Integers
    """How many ranges of blocks."""
    start: Integers
    stop: Integers
    """Of the ranges."""


def _domains(instance: Instance, zones: _Zones) -> _Domains:
    """Racks, domains of some racks, of zones, of the site; each kind in the order stated, zone by zone."""
    failures = instance.failures
    parts = [] if failures.rack is None else [_in_zones(zones, RACK, None, np.ones_like(zones.racks))]
    numbered = list(enumerate(failures.domains, FIRST_DOMAIN))
    for kind, domain in numbered:
        if isinstance(domain.spans, int):
            parts.append(_in_zones(zones, kind, domain, np.full_like(zones.racks, domain.spans)))
    parts += [_in_zones(zones, kind, domain, zones.racks) for kind, domain in numbered if domain.spans == "zone"]
    parts += [_of_site(zones, kind, domain) for kind, domain in numbered if domain.spans == "site"]
    nothing = np.zeros(0, dtype=np.int64)
    if not parts:
        return _Domains(*(nothing for _ in _Domains._fields))
    return _Domains(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _in_zones(zones: _Zones, kind: int, domain: FaultDomain | None, span: Integers) -> _Domains:
    """Domains that span so many consecutive racks of each zone, the last one of a zone what is left."""
    each = -(-zones.racks // span)
    zone = np.repeat(np.arange(len(each), dtype=np.int64), each)
    number = np.arange(len(zone), dtype=np.int64) - _offsets(each)[zone]
    width = (span * zones.blocks_per_rack)[zone]
    start = zones.zone_block[zone] + number * width
    stop = np.minimum(start + width, zones.zone_block[zone + 1])
    ones = np.ones_like(number)
    needed, feeds = _feeds(domain)
    return _Domains(
        kind * ones, zones.choice[zone], zones.number[zone], number, feeds * ones, needed * ones, ones, start, stop
    )


def _of_site(zones: _Zones, kind: int, domain: FaultDomain) -> _Domains:
    """Domains of the site: each takes down an equal share of the racks of every zone."""
    number = np.arange(domain.units, dtype=np.int64)
    ones, zeros = np.ones_like(number), np.zeros_like(number)
    shares = (zones.racks * zones.blocks_per_rack) // domain.units
    start = (zones.zone_block[:-1] + number[:, None] * shares).ravel()
    stop = start + np.tile(shares, domain.units)
    needed, feeds = _feeds(domain)
    return _Domains(kind * ones, zeros, zeros, number, feeds * ones, needed * ones, len(shares) * ones, start, stop)


def _feeds(domain: FaultDomain | None) -> tuple[int, int]:
    """How many feeds are needed, of how many."""
    return (1, 1) if domain is None or domain.feeds is None else (domain.feeds.needed, domain.feeds.number)


def _offsets(counts: Integers) -> Integers:
    """Where the items of each group start, and where the last one ends."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)))


def _within(counts: Integers) -> Integers:
    """The numbers 0, 1, … of the items of each group, group by group."""
    offsets = _offsets(counts)
    return np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], counts)


def _of_zones(zones: _Zones, choices: Sequence[ZoneChoice]) -> dict[str, Any]:
    spares = np.array([choice.inter_block_spares for choice in choices], dtype=np.int64)[zones.choice]
    intra = np.array([choice.intra_block_spares for choice in choices], dtype=np.int64)[zones.choice]
    return {
        "zone_block": zones.zone_block,
        "working": np.diff(zones.zone_block) - spares,
        "spare_trays": intra,
        "rack_blocks": zones.blocks_per_rack,
        "block_zone": zones.block_zone,
        "block_tray": zones.block_tray,
    }


def _zone_shares(zones: _Zones, choices: Sequence[ZoneChoice], designs: Sequence[BlockDesign]) -> Floats:
    """Share of the working GPUs of the site that each zone has."""
    gpus = [
        (choice.racks * design.blocks_per_rack - choice.inter_block_spares)
        * (design.trays_per_block - choice.intra_block_spares)
        * design.gpus_per_tray
        for choice, design in zip(choices, designs, strict=True)
    ]
    each = np.array(gpus, dtype=np.float64)[zones.choice]
    return np.asarray(each / each.sum())


def _of_units(zones: _Zones, domains: _Domains, classes: Classes) -> dict[str, Any]:
    """Classes of the units and the first two words of the counters of their random numbers."""
    row = np.zeros((domains.kind.max(initial=RACK) + 1, int(zones.choice[-1]) + 1), dtype=np.int64)
    for place, number in classes.row.items():
        if place[0] < len(row):
            row[place] = number
    trays = np.diff(zones.block_tray)
    zone_of_tray = np.repeat(zones.block_zone, trays)
    block = np.repeat(_within(np.diff(zones.zone_block)), trays)
    domain = np.repeat(np.arange(len(domains.kind), dtype=np.int64), domains.feeds)
    first = (
        (TRAY << KIND_BITS) + zones.number[zone_of_tray],
        (domains.kind[domain] << KIND_BITS) + domains.zone_number[domain],
    )
    second = (
        (block << TRAY_BITS) + _within(trays),
        (domains.number[domain] << FEED_BITS) + _within(domains.feeds),
    )
    return {
        "unit_class": np.concatenate(
            (row[TRAY, zones.choice[zone_of_tray]], row[domains.kind[domain], domains.choice[domain]])
        ),
        "unit_code": np.ascontiguousarray(
            np.stack((np.concatenate(first), np.concatenate(second)), axis=1).astype(np.uint32)
        ),
    }


def _of_domains(zones: _Zones, domains: _Domains, trays: int) -> dict[str, Any]:
    """The units and blocks of each domain, and the domains of each block."""
    lengths = domains.stop - domains.start
    block = np.repeat(domains.start, lengths) + _within(lengths)
    domain = np.repeat(np.repeat(np.arange(len(domains.kind), dtype=np.int64), domains.ranges), lengths)
    by_block = np.argsort(block, kind="stable")
    return {
        "domain_unit": trays + _offsets(domains.feeds),
        "domain_needed": domains.needed,
        "domain_range": _offsets(domains.ranges),
        "range_start": domains.start,
        "range_stop": domains.stop,
        "block_domain": _offsets(np.bincount(block, minlength=len(zones.block_zone))),
        "domain_of": domain[by_block],
    }


def _repair(instance: Instance, zones: _Zones, choices: Sequence[ZoneChoice]) -> dict[str, Any]:
    """Crews, shelves, visits and windows; where the site shares crews or a shelf, every zone has the only row."""
    plans = {plan.name: plan for plan in instance.repair_plans}
    zone_crews, zone_shelf = (np.full(len(zones.choice), -1, dtype=np.int64) for _ in range(2))
    crews: list[tuple[int, float]] = []
    shelves: list[tuple[int, float, float]] = []
    visits, windows, out, stops = [], [], [], []
    for i, choice in enumerate(choices):
        plan = plans[choice.repair_plan]
        taken, here = repair_choice(plan, choice), np.flatnonzero(zones.choice == i)
        shared = plan.shared_by == "site"  # then every zone takes the plan
        if taken.crews is not None:
            zone_crews[here] = 0 if shared else len(crews) + np.arange(len(here))
            copies = 1 - len(crews) if shared else len(here)
            crews += [(taken.crews, plan.crew_hours_per_week)] * copies
        if taken.shelf_trays is not None:
            assert plan.lead_time is not None
            zone_shelf[here] = 0 if shared else len(shelves) + np.arange(len(here))
            copies = 1 - len(shelves) if shared else len(here)
            shelves += [(taken.shelf_trays, plan.lead_time, plan.parts_share)] * copies
        start_at, whole = taken.start_at or 1, plan.out_of_service != "tray"
        visits.append(start_at if start_at > 1 or (whole and plan.window is None) else 0)
        windows.append(plan.window or 0.0)
        out.append(int(whole))
        stops.append(plan.swap_stop)
    return {
        "zone_crews": zone_crews,
        "zone_shelf": zone_shelf,
        "start_at": np.array(visits, dtype=np.int64)[zones.choice],
        "window": np.array(windows, dtype=np.float64)[zones.choice],
        "out_of_service": np.array(out, dtype=np.int64)[zones.choice],
        "swap_stop": np.array(stops, dtype=np.float64)[zones.choice],
        "crews": np.array([number for number, _ in crews], dtype=np.int64),
        "duty": np.array([hours for _, hours in crews], dtype=np.float64),
        "shelf": np.array([number for number, _, _ in shelves], dtype=np.int64),
        "lead_time": np.array([time for _, time, _ in shelves], dtype=np.float64),
        "parts_share": np.array([share for _, _, share in shelves], dtype=np.float64),
    }


def _stops(instance: Instance) -> dict[str, Any]:
    """What stops the job or strikes trays besides the faults of units, and how units age."""
    failures = instance.failures
    return {
        "software_rate": 0.0 if failures.software is None else float(failures.software.per_hour),
        "planned_rate": 0.0 if failures.planned is None else float(failures.planned.per_hour),
        "planned_stop": 0.0 if failures.planned is None else float(failures.planned.stop),
        "burst_rate": np.array([burst.per_hour for burst in failures.bursts], dtype=np.float64),
        "burst_racks": np.array([burst.racks for burst in failures.bursts], dtype=np.int64),
        "burst_share": np.array([burst.share for burst in failures.bursts], dtype=np.float64),
        "ageing": _AGEING[failures.ageing],
    }


def _replayed(trace: Trace | None) -> dict[str, Any]:
    if trace is None:
        nothing = np.zeros(0, dtype=np.int64)
        return {"trace_time": np.zeros(0), "trace_tray": nothing, "trace_down": nothing.copy()}
    events = trace_events(trace)
    return {"trace_time": events.time, "trace_tray": events.tray, "trace_down": events.down}


def _job(plan: CheckpointPlan) -> dict[str, Any]:
    """What an interruption costs and how the job saves, whenever it does."""
    memory, overlap, replicas, standbys = plan.memory, plan.overlap, plan.replicas, plan.standbys
    detection = plan.detection or 0.0
    scheme = CHECKPOINTS
    if memory is not None:
        scheme = TWO_LEVEL
    elif overlap is not None:
        scheme = OVERLAPPED
    elif replicas is not None:
        scheme = GROUPS
    return {
        "scheme": scheme,
        "save": float(plan.save or 0.0),
        "recovery": float(detection + (plan.restart or 0.0)),
        "memory_save": 0.0 if memory is None else float(memory.save),
        "memory_recovery": 0.0 if memory is None else float(detection + memory.restart),
        "memory_share": 0.0 if memory is None else float(memory.share),
        "snapshot": 0.0 if overlap is None else float(overlap.snapshot),
        "slowdown": 0.0 if overlap is None else float(overlap.slowdown),
        "groups_per_zone": 0 if replicas is None else int(replicas.groups_per_zone),
        "stall": 0.0 if replicas is None else float(replicas.stall),
        "rejoin": 0.0 if replicas is None else float(replicas.rejoin),
        "shrink": int(replicas is not None and replicas.when_short == "shrink"),
        "warm": -1 if standbys is None else int(standbys.warm),
        "selection": 0.0 if standbys is None else float(standbys.selection),
    }
