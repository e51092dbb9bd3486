"""Where a replication stands, as arrays that compiled code changes in place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spareopt.simulation.kernel.job import JOB
from spareopt.simulation.kernel.queue import ENOUGH, NEVER
from spareopt.simulation.outcome import EPISODE_BINS, LEDGER
from spareopt.simulation.system import COMPUTING, GROUPS, Run, System

Records = Any  # structured arrays; numpy's types don't say of what

ZONE = np.dtype(
    [
        ("first_block", "i8"), ("blocks", "i8"), ("slots", "i8"), ("spares", "i8"), ("rack_blocks", "i8"),
        ("crews", "i8"), ("shelf", "i8"), ("start_at", "i8"), ("window", "f8"), ("out_of_service", "i8"),
        ("swap_stop", "f8"), ("idle", "i8"), ("holes", "i8"), ("first_slot", "i8"), ("warm", "i8"),
        ("ready", "i8"), ("waits", "i8"), ("group_share", "f8"),
    ],
    align=True,
)  # fmt: skip
BLOCK = np.dtype(
    [
        ("zone", "i8"), ("trays", "i8"), ("first_tray", "i8"), ("failed", "i8"), ("down", "i8"), ("out", "i8"),
        ("usable", "i8"), ("slot", "i8"), ("idle_place", "i8"), ("at_work", "i8"), ("in_hand", "i8"),
        ("visit", "i8"), ("visits", "i8"),
    ],
    align=True,
)  # fmt: skip
UNIT = np.dtype(
    [
        ("class_", "i4"), ("asked", "i4"), ("place", "i8"), ("first", "u4"), ("second", "u4"), ("factor", "f8"),
    ],
    align=True,
)  # fmt: skip
DOMAIN = np.dtype(
    [("first_unit", "i8"), ("units", "i8"), ("needed", "i8"), ("up", "i8"), ("first_range", "i8"), ("ranges", "i8"),
     ("in_use", "i8")],
    align=True,
)  # fmt: skip
CLASS = np.dtype(
    [
        ("rate", "f8"), ("life_law", "i8"), ("life_shape", "f8"), ("lemon_share", "f8"), ("lemon_multiple", "f8"),
        ("burn_in", "f8"), ("burn_in_multiple", "f8"), ("silent_share", "f8"), ("found_after", "f8"),
        ("repair_law", "i8"), ("repair_shape", "f8"), ("first_phase", "i8"), ("phases", "i8"), ("delay", "f8"),
        ("staffed", "i8"),
    ],
    align=True,
)  # fmt: skip
CREWS = np.dtype(
    [("free", "i8"), ("busy", "i8"), ("duty", "f8"), ("head", "i8"), ("tail", "i8"), ("busy_h", "f8"),
     ("since", "f8"), ("tickets", "i8"), ("wait_h", "f8")],
    align=True,
)  # fmt: skip
SHELF = np.dtype(
    [("stock", "i8"), ("lead_time", "f8"), ("parts_share", "f8"), ("head", "i8"), ("tail", "i8"), ("orders", "i8"),
     ("recorded", "i8"), ("wait_h", "f8")],
    align=True,
)  # fmt: skip
BURST = np.dtype([("rate", "f8"), ("racks", "i8"), ("share", "f8"), ("number", "i8")], align=True)
EVENT = np.dtype([("time", "f8"), ("order", "i8"), ("kind", "i8"), ("number", "i8")], align=True)
HORIZON = np.dtype([("until", "f8"), ("step", "f8"), ("size", "i8"), ("next", "i8"), ("extra", "i8")], align=True)
SITE = np.dtype(
    [
        ("multiplier", "f8"), ("zones", "i8"), ("blocks", "i8"), ("trays", "i8"),
        ("event_size", "i8"), ("order", "i8"), ("replaying", "i8"), ("next_row", "i8"),
        ("software_rate", "f8"), ("software", "i8"), ("planned_rate", "f8"), ("planned_stop", "f8"), ("planned", "i8"),
        ("shrink", "i8"), ("groups_per_zone", "i8"), ("warm", "i8"), ("selection", "f8"),
        ("holes", "i8"), ("choices", "i8"), ("hits", "i8"), ("interruptions", "i8"), ("interrupted_at", "f8"),
        ("faults", "i8"), ("episodes", "i8"), ("longest", "f8"), ("selections", "i8"), ("events", "i8"),
        ("unusable", "i8"), ("unusable_since", "f8"), ("usable_block_h", "f8"), ("fewest", "i8"),
        ("warm_up", "f8"), ("bin", "f8"), ("bins", "i8"), ("row", "i8"), ("until_useful", "f8"), ("ended", "f8"),
        ("recorded", "i8"),
    ],
    align=True,
)  # fmt: skip
NOBODY = np.int64(-1)  # of this type, for compiled functions to be compiled once: a plain -1 is a type of its own
NO_SLOT = NO_GROUP = NOBODY
UP, SILENT, DOWN, WAITS_FOR_PART, IN_DELAY, WAITS_FOR_CREW, IN_HAND, WAITS_FOR_VISIT = range(8)
"""States of a unit."""


class State(NamedTuple):
    """Where a replication stands."""

    key: tuple[int, int]
    site: Records
    zones: Records
    blocks: Records
    units: Records
    domains: Records
    classes: Records
    crews: Records
    shelves: Records
    bursts: Records
    job: Records
    """Two rows: the job, and a copy to try out when it ends."""
    out_until: Records
    placed: Records
    """Share of the job that each replica group does; 0 for one that has no blocks."""
    idle: Records
    holes: Records
    range_start: Records
    range_stop: Records
    first_domain: Records
    domain_of: Records
    phase_up_to: Records
    phase_mean: Records
    status: Records
    at_work: Records
    left: Records
    """What is left of the lives of units that are up and do not age."""
    since: Records
    """When units that wait began to."""
    behind: Records
    """Which unit waits behind each in its queue."""
    due: Records
    """On the clock on which units age, when each fails; NEVER for those that are down or do not age."""
    horizon: Records
    near_time: Records
    near_unit: Records
    extra: Records
    found_time: Records
    found_unit: Records
    bucket: Records
    mark_group: Records
    """Group that a fault hit which nobody noticed; NO_GROUP for no such fault."""
    mark_useful: Records
    """The accounts when it did."""
    mark_saves: Records
    events: Records
    trace_time: Records
    trace_tray: Records
    trace_down: Records
    ledger: Records
    base: Records
    unusable_h: Records
    episodes: Records
    log_time: Records
    """The first events, as far as there is room; none for speed."""
    log_kind: Records
    log_number: Records


def table(kind: np.dtype[Any], rows: int, **columns: Any) -> Records:
    """So many rows of a kind, zero but for the columns given."""
    rows_of_kind = np.zeros(rows, dtype=kind)
    for name, values in columns.items():
        rows_of_kind[name] = values
    return rows_of_kind


def new_state(system: System, run: Run, log: int = 0) -> State:
    """All units up and new at time 0; ``log``: how many events to keep."""
    s = system
    zones, blocks, trays = len(s.working), len(s.block_zone), int(s.block_tray[-1])
    zone_blocks = np.diff(s.zone_block)
    first_slot = np.concatenate([[0], np.cumsum(s.working)])
    place = np.empty(len(s.unit_class), dtype=np.int64)
    place[:trays] = np.repeat(np.arange(blocks), np.diff(s.block_tray))
    place[trays:] = np.repeat(np.arange(len(s.domain_needed)), np.diff(s.domain_unit))
    groups = s.groups_per_zone * zones if s.scheme == GROUPS else 1
    group_share = s.zone_share / max(s.groups_per_zone, 1)
    # room for every unit's next step, every block's visit, every part on order, and the site's own events
    visits = (s.window == 0.0) & ((s.start_at > 1) | (s.out_of_service == 1))
    room = len(place) + blocks + zones + int(s.shelf.sum()) + trays + len(s.burst_rate) + 8
    replaying = len(s.trace_time) > 0
    job = table(
        JOB, 2, scheme=s.scheme, ageing=s.ageing, recovery_first=int(s.ageing == COMPUTING or s.warm >= 0),
        every=run.storage_every, groups=groups, period=run.period, save=s.save, recovery=s.recovery,
        memory_save=s.memory_save, memory_recovery=s.memory_recovery, memory_share=s.memory_share,
        snapshot=s.snapshot, slowdown=s.slowdown, stall=s.stall, rejoin=s.rejoin, placed=1.0,
    )  # fmt: skip
    site = table(
        SITE, 1, multiplier=run.multiplier, zones=zones, blocks=blocks, trays=trays, replaying=int(replaying),
        software_rate=s.software_rate, planned_rate=s.planned_rate, planned_stop=s.planned_stop, shrink=s.shrink,
        groups_per_zone=s.groups_per_zone, warm=s.warm, selection=s.selection, interrupted_at=-1.0,
        fewest=blocks, warm_up=run.warm_up, bin=run.bin, bins=run.bins, row=NOBODY, until_useful=run.until_useful,
        ended=np.nan,
    )  # fmt: skip
    return State(
        key=run.key,
        site=site,
        zones=table(
            ZONE, zones, first_block=s.zone_block[:-1], blocks=zone_blocks, slots=s.working, spares=s.spare_trays,
            rack_blocks=s.rack_blocks, crews=s.zone_crews, shelf=s.zone_shelf,
            start_at=np.where(visits, np.maximum(s.start_at, 1), 0), window=s.window,
            out_of_service=s.out_of_service, swap_stop=s.swap_stop, first_slot=first_slot[:-1],
            warm=np.minimum(max(s.warm, 0), zone_blocks - s.working), group_share=group_share,
        ),
        blocks=table(
            BLOCK, blocks, zone=s.block_zone, trays=np.diff(s.block_tray), first_tray=s.block_tray[:-1], usable=1,
            slot=NO_SLOT, idle_place=NOBODY,
        ),
        units=table(
            UNIT, len(place), class_=s.unit_class, place=place, first=s.unit_code[:, 0], second=s.unit_code[:, 1],
            factor=1.0,
        ),
        domains=table(
            DOMAIN, len(s.domain_needed), first_unit=s.domain_unit[:-1], units=np.diff(s.domain_unit),
            needed=s.domain_needed, up=np.diff(s.domain_unit), first_range=s.domain_range[:-1],
            ranges=np.diff(s.domain_range),
        ),
        classes=table(
            CLASS, len(s.rate), rate=s.rate, life_law=s.life_law, life_shape=s.life_shape, lemon_share=s.lemon_share,
            lemon_multiple=s.lemon_multiple, burn_in=s.burn_in, burn_in_multiple=s.burn_in_multiple,
            silent_share=s.silent_share, found_after=s.found_after, repair_law=s.repair_law,
            repair_shape=s.repair_shape, first_phase=s.phase[:-1], phases=np.diff(s.phase), delay=s.delay,
            staffed=s.staffed,
        ),
        crews=table(CREWS, len(s.crews), free=s.crews, duty=s.duty, head=NOBODY, tail=NOBODY),
        shelves=table(
            SHELF, len(s.shelf), stock=s.shelf, lead_time=s.lead_time, parts_share=s.parts_share, head=NOBODY,
            tail=NOBODY,
        ),
        bursts=table(BURST, len(s.burst_rate), rate=s.burst_rate, racks=s.burst_racks, share=s.burst_share),
        job=job,
        out_until=np.full(groups, -1.0),
        placed=np.repeat(group_share, s.groups_per_zone) if s.scheme == GROUPS else np.ones(1),
        idle=np.zeros(blocks, dtype=np.int64),
        holes=np.zeros(int(first_slot[-1]), dtype=np.int64),
        range_start=s.range_start,
        range_stop=s.range_stop,
        first_domain=s.block_domain,
        domain_of=s.domain_of,
        phase_up_to=s.phase_up_to,
        phase_mean=s.phase_mean,
        status=np.full(len(place), UP, dtype=np.int8),
        at_work=np.zeros(len(place), dtype=np.int8),
        left=np.zeros(len(place)),
        since=np.zeros(len(place)),
        behind=np.full(len(place), NOBODY, dtype=np.int64),
        due=np.full(len(place), NEVER),
        horizon=table(HORIZON, 1, step=1.0),
        near_time=np.zeros(len(place)),
        near_unit=np.zeros(len(place), dtype=np.int64),
        extra=np.zeros(ENOUGH, dtype=EVENT),
        found_time=np.zeros(len(place)),
        found_unit=np.zeros(len(place), dtype=np.int64),
        bucket=np.zeros(len(place) + 1, dtype=np.int64),
        mark_group=np.full(len(place), NO_GROUP, dtype=np.int64),
        mark_useful=np.zeros(len(place)),
        mark_saves=np.zeros(len(place)),
        events=np.zeros(room, dtype=EVENT),
        trace_time=s.trace_time,
        trace_tray=s.trace_tray,
        trace_down=s.trace_down,
        ledger=np.zeros((run.bins + 1, len(LEDGER))),
        base=np.zeros(len(LEDGER)),
        unusable_h=np.zeros(blocks + 1),
        episodes=np.zeros(EPISODE_BINS, dtype=np.int64),
        log_time=np.zeros(log),
        log_kind=np.zeros(log, dtype=np.int64),
        log_number=np.zeros(log, dtype=np.int64),
    )  # fmt: skip
