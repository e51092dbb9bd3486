"""Where a replication by counts stands: blocks with their failed trays, and who is in which stage of repair."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spareopt.simulation.kernel.job import JOB
from spareopt.simulation.kernel.state import NOBODY, SHELF, Records, table
from spareopt.simulation.outcome import EPISODE_BINS, LEDGER
from spareopt.simulation.system import Run, System

ZONE = np.dtype(
    [("first_block", "i8"), ("spares", "i8"), ("at_work", "i8"), ("swap_stop", "f8"), ("idle", "i8"), ("holes", "i8")],
    align=True,
)
BLOCK = np.dtype([("zone", "i4"), ("failed", "i4"), ("down", "i4"), ("idle_place", "i4")], align=True)
"""``idle_place``: NOBODY unless it is idle; a block that is usable and not idle is in a slot."""
SOURCE = np.dtype(
    [("up_to", "f8"), ("rate", "f8"), ("first", "i8"), ("number", "i8"), ("trays", "i8")],
    align=True,
)
"""Blocks alike, or units of domains (``trays`` 0), that fail at one rate each; ``up_to``: all rates added up."""
STAGE = np.dtype([("rate", "f8"), ("first", "i8"), ("number", "i8"), ("hands_on", "i8")], align=True)
"""What is repaired at one rate each: off-crew delays, or hands-on work."""
TICKET = np.dtype([("delay", "i4"), ("first_way", "i4"), ("ways", "i4"), ("crews", "i4")], align=True)
"""How a tray of each block, then each unit of a domain, is repaired."""
CREWS = np.dtype(
    [("free", "i8"), ("busy", "i8"), ("busy_h", "f8"), ("since", "f8"), ("tickets", "i8"), ("wait_h", "f8"),
     ("first", "i8"), ("room", "i8"), ("head", "i8"), ("waiting", "i8")],
    align=True,
)  # fmt: skip
DOMAIN = np.dtype([("needed", "i8"), ("up", "i8"), ("first_range", "i8"), ("ranges", "i8")], align=True)
SITE = np.dtype(
    [
        ("time", "f8"), ("asked", "i8"), ("blocks", "i8"), ("fault_rate", "f8"), ("software_up_to", "f8"),
        ("all_up_to", "f8"), ("planned_stop", "f8"), ("holes", "i8"), ("interruptions", "i8"), ("faults", "i8"),
        ("episodes", "i8"), ("selections", "i8"), ("longest", "f8"), ("events", "i8"), ("unusable", "i8"),
        ("unusable_since", "f8"), ("usable_block_h", "f8"), ("fewest", "i8"), ("warm_up", "f8"), ("bin", "f8"),
        ("bins", "i8"), ("row", "i8"), ("until_useful", "f8"), ("ended", "f8"),
    ],
    align=True,
)  # fmt: skip


class Counts(NamedTuple):
    """Where a replication stands."""

    key: tuple[int, int]
    site: Records
    zones: Records
    blocks: Records
    sources: Records
    stages: Records
    tickets: Records
    crews: Records
    shelves: Records
    """None: only for the record."""
    domains: Records
    job: Records
    """Two rows: the job, and a copy to try out when it ends."""
    idle: Records
    in_stage: Records
    """Tickets of each stage, in no order."""
    way_up_to: Records
    way_stage: Records
    queue: Records
    """Tickets that wait for each group of crews, first come first."""
    queue_since: Records
    unit_domain: Records
    unit_down: Records
    range_start: Records
    range_stop: Records
    out_until: Records
    placed: Records
    ledger: Records
    base: Records
    unusable_h: Records
    episodes: Records


def _sources(s: System, multiplier: float) -> Records:
    """Neighbours of one class: blocks of trays, then units of domains; those that never fail are left out."""
    blocks, trays = len(s.block_zone), int(s.block_tray[-1])
    each = np.diff(s.block_tray)
    block_class = s.unit_class[s.block_tray[:-1]]
    rows: list[tuple[float, float, int, int, int]] = []
    up_to = 0.0

    def add(kinds: Any, trays_of: Any) -> None:
        nonlocal up_to
        changes = np.flatnonzero((np.diff(kinds) != 0) | (np.diff(trays_of) != 0)) + 1
        for first, stop in zip([0, *changes], [*changes, len(kinds)], strict=True):
            if first == stop:
                continue
            rate = float(s.rate[kinds[first]]) * multiplier * max(int(trays_of[first]), 1)
            if rate > 0.0:
                up_to += rate * (stop - first)
                rows.append((up_to, rate, int(first), int(stop - first), int(trays_of[first])))

    add(block_class, each)
    kinds = s.unit_class[trays:]
    add(kinds, np.zeros(len(kinds), dtype=np.int64))
    assert blocks == len(each)
    return np.array(rows, dtype=SOURCE)


def new_counts(system: System, run: Run) -> Counts:
    """All units up at time 0, the first blocks in the slots."""
    s = system
    zones, blocks, trays = len(s.working), len(s.block_zone), int(s.block_tray[-1])
    zone_blocks = np.diff(s.zone_block)
    domain_units = np.diff(s.domain_unit)
    unit_domain = np.repeat(np.arange(len(domain_units), dtype=np.int32), domain_units)
    # classes and crews of tickets: one of each block's trays, one of each domain's unit
    first_of_domain = s.block_zone[s.range_start[s.domain_range[:-1]]] if len(domain_units) else unit_domain
    ticket_class = np.concatenate((s.unit_class[s.block_tray[:-1]], s.unit_class[trays:]))
    ticket_zone = np.concatenate((s.block_zone, first_of_domain[unit_domain]))
    ticket_crews = np.where(s.staffed[ticket_class] == 1, s.zone_crews[ticket_zone], NOBODY)
    units_of_ticket = np.concatenate((np.diff(s.block_tray), np.ones(len(unit_domain), dtype=np.int64)))
    # one stage for each mean of delays and of hands-on work
    fails = s.rate > 0.0
    delays = np.unique(s.delay[fails & (s.delay > 0.0)])
    way_class = np.repeat(np.arange(len(s.rate)), np.diff(s.phase))
    works = np.unique(s.phase_mean[fails[way_class]])
    delay_stage = np.where(fails & (s.delay > 0.0), np.searchsorted(delays, s.delay), NOBODY)
    way_stage = len(delays) + np.minimum(np.searchsorted(works, s.phase_mean), max(len(works) - 1, 0))
    class_units = np.bincount(ticket_class, weights=units_of_ticket, minlength=len(s.rate)).astype(np.int64)
    room = np.zeros(len(delays) + len(works), dtype=np.int64)
    for i in np.flatnonzero(fails):
        stages = set(way_stage[s.phase[i] : s.phase[i + 1]].tolist()) | {int(delay_stage[i])} - {NOBODY}
        room[sorted(stages)] += class_units[i]
    means = np.concatenate((delays, works))
    served = ticket_crews >= 0
    queue_room = np.bincount(ticket_crews[served], weights=units_of_ticket[served], minlength=len(s.crews))
    queue_room = queue_room.astype(np.int64)
    sources = _sources(s, run.multiplier)
    fault_rate = float(sources["up_to"][-1]) if len(sources) else 0.0
    software_up_to = fault_rate + s.software_rate * run.multiplier
    idle = np.zeros(blocks, dtype=np.int32)
    idle_place = np.full(blocks, NOBODY)
    for first, number, slots in zip(s.zone_block, zone_blocks, s.working, strict=False):
        idle[first : first + number - slots] = np.arange(first + slots, first + number)
        idle_place[first + slots : first + number] = np.arange(number - slots)
    return Counts(
        key=run.key,
        site=table(
            SITE, 1, blocks=blocks, fault_rate=fault_rate, software_up_to=software_up_to,
            all_up_to=software_up_to + s.planned_rate, planned_stop=s.planned_stop, fewest=blocks,
            warm_up=run.warm_up, bin=run.bin, bins=run.bins, row=NOBODY, until_useful=run.until_useful, ended=np.nan,
        ),
        zones=table(
            ZONE, zones, first_block=s.zone_block[:-1], spares=s.spare_trays,
            at_work=np.diff(s.block_tray)[s.zone_block[:-1]] - s.spare_trays, swap_stop=s.swap_stop,
            idle=zone_blocks - s.working,
        ),
        blocks=table(BLOCK, blocks, zone=s.block_zone, idle_place=idle_place),
        sources=sources,
        stages=table(
            STAGE, len(means), rate=1.0 / means, first=np.cumsum(room) - room,
            hands_on=np.arange(len(means)) >= len(delays),
        ),
        tickets=table(
            TICKET, len(ticket_class), delay=delay_stage[ticket_class], first_way=s.phase[:-1][ticket_class],
            ways=np.diff(s.phase)[ticket_class], crews=ticket_crews,
        ),
        crews=table(CREWS, len(s.crews), free=s.crews, first=np.cumsum(queue_room) - queue_room, room=queue_room),
        shelves=table(SHELF, 0),
        domains=table(
            DOMAIN, len(domain_units), needed=s.domain_needed, up=domain_units, first_range=s.domain_range[:-1],
            ranges=np.diff(s.domain_range),
        ),
        job=table(
            JOB, 2, scheme=s.scheme, ageing=s.ageing, every=run.storage_every, groups=1, period=run.period, save=s.save,
            recovery=s.recovery, memory_save=s.memory_save, memory_recovery=s.memory_recovery,
            memory_share=s.memory_share, snapshot=s.snapshot, slowdown=s.slowdown, placed=1.0,
        ),
        idle=idle,
        in_stage=np.zeros(int(room.sum()), dtype=np.int32),
        way_up_to=np.ascontiguousarray(s.phase_up_to),
        way_stage=way_stage.astype(np.int64),
        queue=np.zeros(int(queue_room.sum()), dtype=np.int32),
        queue_since=np.zeros(int(queue_room.sum())),
        unit_domain=unit_domain,
        unit_down=np.zeros(len(unit_domain), dtype=np.int8),
        range_start=np.ascontiguousarray(s.range_start),
        range_stop=np.ascontiguousarray(s.range_stop),
        out_until=np.full(1, -1.0),
        placed=np.ones(1),
        ledger=np.zeros((run.bins + 1, len(LEDGER))),
        base=np.zeros(len(LEDGER)),
        unusable_h=np.zeros(blocks + 1),
        episodes=np.zeros(EPISODE_BINS, dtype=np.int64),
    )  # fmt: skip
