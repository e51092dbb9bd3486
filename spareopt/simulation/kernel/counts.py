"""A second compiled kernel, for exponential laws: one clock for all, and a draw of what happens and where.

The direct method of Gillespie (1977), "Exact stochastic simulation of coupled chemical reactions", with the rates of
units that are down left in: what strikes one of them does nothing.  Which trays of a block are down says no more than
how many, but blocks keep their identity, and so do tickets at the crews: every path has the probability that it has
unit by unit, not only every moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from spareopt.simulation.counts import counts_suffice
from spareopt.simulation.kernel.compiled import compiled, entry, inlined
from spareopt.simulation.kernel.counts_state import new_counts
from spareopt.simulation.kernel.draws import uniforms
from spareopt.simulation.kernel.events import GONE, YES
from spareopt.simulation.kernel.job import advance, interrupt
from spareopt.simulation.kernel.pointer import StatePointer
from spareopt.simulation.kernel.record import count_busy, count_unusable, end_of_bin, ends_with_job, outcome
from spareopt.simulation.kernel.slots import leave_idle
from spareopt.simulation.kernel.state import NOBODY
from spareopt.simulation.outcome import EPISODE_BINS, EPISODE_BINS_PER_OCTAVE, SHORTEST_EPISODE, Outcome
from spareopt.simulation.system import TWO_LEVEL, Run, System, nothing

__all__ = ["counts_suffice", "replicate"]

STREAM = 0xFFFFFFFA
"""First word of the counter of the random numbers; the other two are how many were asked before."""
SLICE = 3_000_000
"""Steps between two looks at what else there is to do, some 0.2 s."""
_WORD, _LOW = 32, 0xFFFFFFFF


@inlined
def _draw(w):
    """The next two random numbers."""
    s = w.site[0]
    asked = s.asked
    s.asked = asked + 1
    return uniforms(w.key, STREAM, asked >> _WORD, asked & _LOW, 0)


# --- the job


@inlined
def _bring(w):
    """Bring the job to the present, up to which nothing happened to it."""
    s = w.site[0]
    advance(w.job[0], w.out_until, w.placed, s.time)


@inlined
def _interrupt(w):
    """A fault hits the job, which is not blocked."""
    s, job = w.site[0], w.job[0]
    _bring(w)
    memory_left = False
    if job.scheme == TWO_LEVEL:
        u1, _ = _draw(w)
        memory_left = u1 < job.memory_share
    interrupt(job, memory_left)
    s.interruptions += 1


@compiled
def _stand_still(w, time):
    """A planned stop, unless the job is blocked."""
    job = w.job[0]
    if job.short == 0:
        _bring(w)
        job.stop_until = max(job.stop_until, job.now + time)


@inlined
def _settle(w):
    """Blocks have changed: begin or end a blocked episode."""
    s, job = w.site[0], w.job[0]
    short = 1 if s.holes > 0 else 0
    if short == job.short:
        return
    _bring(w)
    job.short = short
    if short:
        job.blocked_since = job.now
        s.episodes += 1
        return
    length = job.now - job.blocked_since
    s.longest = max(s.longest, length)
    i = 0
    if length > SHORTEST_EPISODE:
        i = min(EPISODE_BINS - 1, math.floor(EPISODE_BINS_PER_OCTAVE * math.log2(length / SHORTEST_EPISODE)))
    w.episodes[i] += 1


# --- blocks


@compiled
def _unusable(w, b):
    """A block is no longer usable."""
    s = w.site[0]
    block = w.blocks[b]
    zone = w.zones[block.zone]
    count_unusable(w, s.time, YES)
    if block.idle_place != NOBODY:
        leave_idle(w, b)
    else:
        zone.holes += 1
        s.holes += 1


@compiled
def _usable(w, b):
    """A block is usable again, and idle."""
    block = w.blocks[b]
    zone = w.zones[block.zone]
    count_unusable(w, w.site[0].time, GONE)
    block.idle_place = zone.idle
    w.idle[zone.first_block + zone.idle] = b
    zone.idle += 1


@compiled
def _fill(w, z):
    """Fill the holes of a zone with idle blocks."""
    s, zone = w.site[0], w.zones[z]
    while zone.holes > 0 and zone.idle > 0:
        u1, _ = _draw(w)
        leave_idle(w, w.idle[zone.first_block + min(int(u1 * zone.idle), zone.idle - 1)])
        zone.holes -= 1
        s.holes -= 1


@compiled
def _domain_changes(w, d, change):
    """A domain goes down (1) or comes back (-1) with all its blocks; then holes are filled zone by zone."""
    domain = w.domains[d]
    for i in range(domain.first_range, domain.first_range + domain.ranges):
        for b in range(w.range_start[i], w.range_stop[i]):
            block = w.blocks[b]
            block.down += change
            if block.failed <= w.zones[block.zone].spares:
                if change > 0 and block.down == 1:
                    _unusable(w, b)
                elif change < 0 and block.down == 0:
                    _usable(w, b)
    for i in range(domain.first_range, domain.first_range + domain.ranges):
        if w.range_stop[i] > w.range_start[i]:
            for z in range(w.blocks[w.range_start[i]].zone, w.blocks[w.range_stop[i] - 1].zone + 1):
                _fill(w, z)


@compiled
def _in_use(w, d):
    """Whether a block of a domain is in a slot."""
    domain = w.domains[d]
    for i in range(domain.first_range, domain.first_range + domain.ranges):
        for b in range(w.range_start[i], w.range_stop[i]):
            block = w.blocks[b]
            if block.down == 0 and block.idle_place == NOBODY and block.failed <= w.zones[block.zone].spares:
                return True
    return False


# --- repair


@inlined
def _enter(w, i, ticket):
    stage = w.stages[i]
    w.in_stage[stage.first + stage.number] = ticket
    stage.number += 1


@inlined
def _take_in_hand(w, ticket):
    how = w.tickets[ticket]
    way = how.first_way
    if how.ways > 1:
        u1, _ = _draw(w)
        while w.way_up_to[way] <= u1 and way < how.first_way + how.ways - 1:
            way += 1
    _enter(w, w.way_stage[way], ticket)


@inlined
def _to_crew(w, ticket):
    """The delay is over: a crew takes the ticket as soon as it can."""
    s = w.site[0]
    p = w.tickets[ticket].crews
    if p == NOBODY:
        _take_in_hand(w, ticket)
        return
    crews = w.crews[p]
    if crews.free > 0:
        crews.free -= 1
        crews.tickets += 1
        count_busy(w, p, w.site[0].time, YES)
        _take_in_hand(w, ticket)
        return
    place = crews.head + crews.waiting
    if place >= crews.room:
        place -= crews.room
    w.queue[crews.first + place] = ticket
    w.queue_since[crews.first + place] = s.time
    crews.waiting += 1


@inlined
def _to_repair(w, ticket):
    delay = w.tickets[ticket].delay
    if delay == NOBODY:
        _to_crew(w, ticket)
    else:
        _enter(w, delay, ticket)


@compiled
def _crew_is_free(w, p):
    """A crew takes the next ticket."""
    s = w.site[0]
    crews = w.crews[p]
    if crews.waiting == 0:
        count_busy(w, p, w.site[0].time, GONE)
        crews.free += 1
        return
    place = crews.first + crews.head
    crews.head += 1
    if crews.head == crews.room:
        crews.head = 0
    crews.waiting -= 1
    crews.tickets += 1
    crews.wait_h += s.time - w.queue_since[place]
    _take_in_hand(w, w.queue[place])


# --- events


@inlined
def _tray_fails(w, b, place):
    """A tray of a block fails: the first places are those that are down, the next ones those at work."""
    s = w.site[0]
    block = w.blocks[b]
    place -= block.failed
    if place < 0:
        return
    zone = w.zones[block.zone]
    s.events += 1
    s.faults += 1
    block.failed += 1
    if block.down == 0 and block.failed <= zone.spares + 1:  # it was usable
        if block.idle_place == NOBODY and place < zone.at_work and w.job[0].short == 0:
            _interrupt(w)
        if block.failed > zone.spares:
            _unusable(w, b)
            _fill(w, block.zone)
            _settle(w)
    _to_repair(w, b)


@inlined
def _tray_is_up(w, b):
    block = w.blocks[b]
    zone = w.zones[block.zone]
    block.failed -= 1
    if block.down != 0:
        return
    if block.failed == zone.spares:
        _usable(w, b)
        _fill(w, block.zone)
        _settle(w)
    elif zone.swap_stop > 0.0 and block.failed < zone.spares and block.idle_place == NOBODY:
        _stand_still(w, zone.swap_stop)


@compiled
def _feed_fails(w, unit):
    """A unit of a domain fails."""
    s = w.site[0]
    if w.unit_down[unit] != 0:
        return
    s.events += 1
    s.faults += 1
    w.unit_down[unit] = 1
    d = w.unit_domain[unit]
    domain = w.domains[d]
    domain.up -= 1
    if domain.up == domain.needed - 1:
        if w.job[0].short == 0 and _in_use(w, d):
            _interrupt(w)
        _domain_changes(w, d, 1)
        _settle(w)
    _to_repair(w, s.blocks + unit)


@compiled
def _feed_is_up(w, unit):
    w.unit_down[unit] = 0
    d = w.unit_domain[unit]
    domain = w.domains[d]
    domain.up += 1
    if domain.up == domain.needed:
        _domain_changes(w, d, -1)
        _settle(w)


@inlined
def _strikes(w, x):
    """What comes at a rate that never changes: faults, software, planned stops; x is below their sum."""
    s = w.site[0]
    if x >= s.fault_rate:
        if x >= s.software_up_to:
            _stand_still(w, s.planned_stop)
        elif w.job[0].short == 0:
            _interrupt(w)
        return
    i, below = 0, 0.0
    while x >= w.sources[i].up_to:
        below = w.sources[i].up_to
        i += 1
    source = w.sources[i]
    place = (x - below) / source.rate
    number = min(int(place), source.number - 1)  # rounding may reach the end
    if source.trays > 0:
        tray = min(int((place - number) * source.trays), source.trays - 1)
        _tray_fails(w, source.first + number, tray)
    else:
        _feed_fails(w, source.first + number)


@inlined
def _stage_ends(w, x):
    """A delay or some work ends; x is below the sum of the rates of all stages."""
    s = w.site[0]
    i = 0
    while True:
        stage = w.stages[i]
        rates = stage.rate * stage.number
        if x < rates:
            break
        x -= rates
        i += 1
        if i == len(w.stages):  # rounding may reach the end
            i -= 1
            while w.stages[i].number == 0:
                i -= 1
            stage, x = w.stages[i], 0.0
            break
    place = stage.first + min(int(x / stage.rate), stage.number - 1)
    ticket = w.in_stage[place]
    stage.number -= 1
    w.in_stage[place] = w.in_stage[stage.first + stage.number]
    if stage.hands_on == 0:
        _to_crew(w, ticket)
        return
    s.events += 1
    p = w.tickets[ticket].crews
    if ticket < s.blocks:
        _tray_is_up(w, ticket)
    else:
        _feed_is_up(w, ticket - s.blocks)
    if p != NOBODY:
        _crew_is_free(w, p)


# --- the loop


@entry
def go_on(w, steps):
    """Play so many steps; returns whether the replication is over."""
    s = w.site[0]
    until_job = s.until_useful < np.inf
    boundary = s.warm_up + (s.row + 1) * s.bin
    for _ in range(steps):
        total = s.all_up_to
        for i in range(len(w.stages)):
            total += w.stages[i].rate * w.stages[i].number
        u1, u2 = _draw(w)
        time = s.time - math.log(u1) / total if total > 0.0 else np.inf
        while boundary <= time:
            if until_job and ends_with_job(w, s.time, boundary):
                return True
            s.time = boundary
            _bring(w)
            if end_of_bin(w, boundary):
                s.ended = boundary
                return True
            boundary = s.warm_up + (s.row + 1) * s.bin
        if until_job and ends_with_job(w, s.time, time):
            return True
        s.time = time
        x = u2 * total
        if x < s.all_up_to or total == s.all_up_to:  # nobody is in repair, whatever x was rounded to
            _strikes(w, x)
        else:
            _stage_ends(w, x - s.all_up_to)
    return False


def prepare() -> None:
    """Compile, if that has not been done, by playing no step of a site of nothing."""
    go_on(StatePointer(new_counts(*nothing())), 0)


def replicate(system: System, run: Run, *, pause: Callable[[], None] | None = None) -> Outcome:
    """Play one replication of a system for which ``counts_suffice``; ``pause`` is called every few 0.1 s.

    What is recorded has the law of the unit kernel's record, crew waits included (each ticket's own wait).  The path
    is another one: the random numbers belong to the order of events, not to units.
    """
    counts = new_counts(system, run)
    pointer = StatePointer(counts)
    while not go_on(pointer, SLICE):
        if pause is not None:
            pause()
    return outcome(counts)
