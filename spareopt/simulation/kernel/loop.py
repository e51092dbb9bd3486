"""The simulator, compiled: the rules of docs/simulation.md event by event, as fast as they go."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from spareopt.simulation.kernel.compiled import compiled, entry, inlined
from spareopt.simulation.kernel.draws import exponential, uniforms
from spareopt.simulation.kernel.events import (
    DELAY_ENDS,
    FOUND,
    LOG,
    LOG_FAULT,
    LOG_PLANNED,
    LOG_SOFTWARE,
    NO,
    PART_ARRIVES,
    SITE_ITSELF,
    SOFTWARE_FAILS,
    STOP_STARTS,
    VISIT_STARTS,
    WINDOW_OPENS,
    WORK_ENDS,
    YES,
)
from spareopt.simulation.kernel.faults import burst_strikes, fails, found, next_burst, repaired, tray_down, tray_up
from spareopt.simulation.kernel.hits import exposed, hit, stand_still
from spareopt.simulation.kernel.job import RUNNING, SELECTING, advance
from spareopt.simulation.kernel.lives import new_life, next_fault
from spareopt.simulation.kernel.log import later, log
from spareopt.simulation.kernel.pointer import StatePointer
from spareopt.simulation.kernel.queue import pop
from spareopt.simulation.kernel.record import end_of_bin, ends_with_job, outcome
from spareopt.simulation.kernel.repairs import part_arrives, to_crew, visit_starts, window_opens
from spareopt.simulation.kernel.slots import see_blocked, see_short, settle
from spareopt.simulation.kernel.standbys import see_standbys, select, take_standbys
from spareopt.simulation.kernel.state import NO_SLOT, NOBODY, UP, new_state
from spareopt.simulation.laws import LEMON, PLANNED, SITE, SOFTWARE, WINDOW
from spareopt.simulation.outcome import Outcome
from spareopt.simulation.system import Floats, Integers, Run, System, nothing

SLICE = 1_000_000
"""Steps between two looks at what else there is to do, some 0.2 s."""


@compiled
def _next_software(w):
    s = w.site[0]
    rate = s.software_rate * s.multiplier
    if rate > 0.0:
        u1, _ = uniforms(w.key, SITE, SOFTWARE, s.software, 0)
        s.software += 1
        later(w, exponential(1.0 / rate, u1), SOFTWARE_FAILS, SITE_ITSELF)


@compiled
def _next_planned(w):
    s = w.site[0]
    if s.planned_rate > 0.0:
        u1, _ = uniforms(w.key, SITE, PLANNED, s.planned, 0)
        s.planned += 1
        later(w, exponential(1.0 / s.planned_rate, u1), STOP_STARTS, SITE_ITSELF)


@compiled
def _begin(w):
    """The first lives and events."""
    s = w.site[0]
    for z in range(s.zones):
        zone = w.zones[z]
        for b in range(zone.first_block, zone.first_block + zone.blocks):
            block = w.blocks[b]
            if b - zone.first_block < zone.slots:
                block.slot = b - zone.first_block
            else:
                block.idle_place = zone.idle
                w.idle[zone.first_block + zone.idle] = b
                zone.idle += 1
            block.at_work = block.trays - zone.spares
            for i in range(block.at_work):
                w.at_work[block.first_tray + i] = 1
            if block.slot != NO_SLOT:
                for i in range(w.first_domain[b], w.first_domain[b + 1]):
                    w.domains[w.domain_of[i]].in_use += 1
    for u in range(len(w.units)):
        unit = w.units[u]
        c = w.classes[unit.class_]
        if c.lemon_share > 0.0:
            u1, _ = uniforms(w.key, unit.first, unit.second, 0, LEMON)
            others = 1.0 / (1.0 - c.lemon_share + c.lemon_share * c.lemon_multiple)
            unit.factor = c.lemon_multiple * others if u1 < c.lemon_share else others
        new_life(w, u)
    _next_software(w)
    _next_planned(w)
    for q in range(len(w.bursts)):
        next_burst(w, q)
    for z in range(s.zones):
        if w.zones[z].window > 0.0 and s.replaying == 0:
            u1, _ = uniforms(w.key, WINDOW, z, 0, 0)
            later(w, u1 * w.zones[z].window, WINDOW_OPENS, z)
    if s.warm >= 0:
        select(w)
    see_short(w)


@inlined
def _happens(w, kind, number):
    if kind == WORK_ENDS:
        repaired(w, number)
    elif kind == DELAY_ENDS:
        to_crew(w, number)
    elif kind == SOFTWARE_FAILS:
        log(w, LOG_SOFTWARE, SITE_ITSELF)
        _next_software(w)
        if exposed(w, NO):
            hit(w, NOBODY)
            settle(w)
    elif kind == PART_ARRIVES:
        part_arrives(w, number)
    elif kind == STOP_STARTS:
        log(w, LOG_PLANNED, SITE_ITSELF)
        _next_planned(w)
        stand_still(w, w.site[0].planned_stop)
    elif kind == FOUND:
        found(w, number)
    elif kind == VISIT_STARTS:
        visit_starts(w, number)
    elif kind == WINDOW_OPENS:
        window_opens(w, number)
    else:
        burst_strikes(w, number)


@entry
def go_on(w, steps):
    """Play so many steps; returns whether the replication is over."""
    s, job = w.site[0], w.job[0]
    if s.order == 0 and job.now == 0.0:
        s.order = 1
        _begin(w)
    for _ in range(steps):
        boundary = s.warm_up + (s.row + 1) * s.bin
        other = w.events[0].time if s.event_size > 0 else np.inf
        replayed = w.trace_time[s.next_row] if s.next_row < len(w.trace_time) else np.inf
        fault, unit = next_fault(w)
        recovered = np.inf
        if s.warm >= 0 and job.doing != RUNNING:
            recovered = job.now + max(0.0, job.stop_until - job.now) + job.left
        time = min(boundary, other, fault, replayed, recovered)
        if s.until_useful < np.inf and ends_with_job(w, job.now, time):
            return True
        advance(job, w.out_until, w.placed, time)
        if s.warm < 0 and job.recovery_first:
            see_blocked(w, job.blocked_since)
        if boundary <= time:
            if end_of_bin(w, time):
                s.ended = time
                return True
            if s.warm >= 0:  # a recovery that ends with the bin
                see_standbys(w)
                settle(w)
            continue
        if replayed <= time and recovered > time:
            u = w.trace_tray[s.next_row]
            down = w.trace_down[s.next_row] != 0
            s.next_row += 1
            if down and w.status[u] == UP:
                s.events += 1
                log(w, LOG_FAULT, u)
                tray_down(w, u, NO, NO)
            elif not down and w.status[u] != UP:
                tray_up(w, u)
        elif recovered <= time:
            selecting = job.doing == SELECTING
            job.doing, job.left = RUNNING, 0.0
            if not selecting:
                take_standbys(w)
        elif other <= time:
            kind, number = w.events[0].kind, w.events[0].number
            s.event_size = pop(w.events, s.event_size)
            _happens(w, kind, number)
        else:
            fails(w, unit, YES)
        if s.warm >= 0:
            see_standbys(w)
        settle(w)
    return False


def replicate(system: System, run: Run, *, pause: Callable[[], None] | None = None) -> Outcome:
    """Play one replication; ``pause`` is called every few 0.1 s."""
    state = new_state(system, run)
    pointer = StatePointer(state)
    while not go_on(pointer, SLICE):
        if pause is not None:
            pause()
    return outcome(state)


def prepare() -> None:
    """Compile, if that has not been done, by playing no step of a site of nothing."""
    go_on(StatePointer(new_state(*nothing())), 0)


class Events(NamedTuple):
    """What happened in a replication, in order."""

    outcome: Outcome
    time: Floats
    """h."""
    kind: Integers
    """What: a number of LOG."""
    number: Integers
    """Which unit, block, zone, kind of burst or shelf."""
    happened: int
    """How many events there were; more than the rows where there was no room for all."""
    factor: Floats
    """How many times as often as stated each unit fails: other than 1 with lemons."""


def play_logged(system: System, run: Run, room: int, *, pause: Callable[[], None] | None = None) -> Events:
    """Play one replication and keep its first ``room`` events."""
    state = new_state(system, run, room)
    pointer = StatePointer(state)
    while not go_on(pointer, SLICE):
        if pause is not None:
            pause()
    happened = int(state.site[0]["recorded"])
    return Events(
        outcome=outcome(state),
        time=state.log_time[:happened],
        kind=state.log_kind[:happened],
        number=state.log_number[:happened],
        happened=happened,
        factor=state.units["factor"].copy(),
    )


def event_log(system: System, run: Run, most: int = 100_000) -> list[tuple[float, str, int]]:
    """The first events of a replication in order: (time h, what, number)."""
    events = play_logged(system, run, most)
    rows = zip(events.time, events.kind, events.number, strict=True)
    return [(float(time), LOG[int(kind)], int(which)) for time, kind, which in rows]
