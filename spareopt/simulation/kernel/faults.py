"""Faults and returns of trays and domains, compiled: seen, silent, or in a burst."""

from __future__ import annotations

import math

from spareopt.simulation.kernel.compiled import compiled, inlined
from spareopt.simulation.kernel.draws import exponential, uniforms
from spareopt.simulation.kernel.events import (
    BURST_STRIKES,
    FOUND,
    GONE,
    LOG_BURST,
    LOG_FAULT,
    LOG_FOUND,
    LOG_INTERRUPTION,
    LOG_SILENT,
    LOG_UP,
    NO,
    SITE_ITSELF,
    YES,
)
from spareopt.simulation.kernel.hits import exposed, group_of, hit, stand_still
from spareopt.simulation.kernel.job import is_blocked, roll_back
from spareopt.simulation.kernel.lives import new_life, set_ageing
from spareopt.simulation.kernel.log import later, log
from spareopt.simulation.kernel.queue import NEVER
from spareopt.simulation.kernel.record import count_busy
from spareopt.simulation.kernel.repairs import crews_of, take_in_hand, to_repair
from spareopt.simulation.kernel.slots import change_block, domain_changes, fill, first_in_use, settle
from spareopt.simulation.kernel.state import DOWN, NO_GROUP, NO_SLOT, NOBODY, SILENT, UP
from spareopt.simulation.laws import BURST
from spareopt.simulation.laws import SILENT as SILENCE
from spareopt.simulation.system import GROUPS


@inlined
def _replace_tray(w, u):
    """The next idle tray of the block, in cyclic order, takes the place of one at work."""
    block = w.blocks[w.units[u].place]
    w.at_work[u] = 0
    block.at_work -= 1
    for step in range(1, block.trays):
        other = u + step if u + step < block.first_tray + block.trays else u + step - block.trays
        if w.at_work[other] == 0 and w.status[other] <= SILENT:
            w.at_work[other] = 1
            block.at_work += 1
            set_ageing(w, other)
            return


@compiled
def tray_down(w, u, by_age, silent):
    """A tray goes down, interrupts the job if it was at work in it (and not ``silent``), and waits for its repair."""
    b = w.units[u].place
    block = w.blocks[b]
    hits = w.at_work[u] != 0 and block.slot != NO_SLOT and silent == 0 and exposed(w, by_age)
    group = group_of(w, b) if hits and w.job[0].scheme == GROUPS else NOBODY
    w.site[0].faults += 1
    w.status[u] = DOWN
    block.failed += 1
    if w.at_work[u]:
        _replace_tray(w, u)
    change_block(w, b)
    fill(w, block.zone)
    if hits:
        hit(w, group)
    settle(w)
    to_repair(w, u)


@compiled
def found(w, u):
    """A silent fault is found: the job goes back to what it had on storage before, and the tray goes down."""
    s, job = w.site[0], w.job[0]
    log(w, LOG_FOUND, u)
    known = w.mark_group[u] != NO_GROUP
    if known:
        group, w.mark_group[u] = w.mark_group[u], NO_GROUP
        if job.scheme == GROUPS:
            hit(w, group)
        else:
            roll_back(job, w.mark_useful[u], w.mark_saves[u])
            for other in range(s.trays):  # what is lost can't be lost again when another fault is found
                w.mark_useful[other] = min(w.mark_useful[other], job.useful)
                w.mark_saves[other] = min(w.mark_saves[other], job.saves)
            s.hits += 1
            s.interrupted_at = job.now
            s.interruptions += 1
            log(w, LOG_INTERRUPTION, SITE_ITSELF)
    tray_down(w, u, NO, YES if known else NO)


@inlined
def tray_up(w, u):
    """A tray returns to its block."""
    s, unit = w.site[0], w.units[u]
    block = w.blocks[unit.place]
    zone = w.zones[block.zone]
    s.events += 1
    if s.replaying == 0:
        if zone.window > 0.0:
            block.in_hand -= 1
            if block.in_hand == 0:
                block.out = 0
        elif zone.start_at > 0:
            if block.failed == 1:
                block.visit = block.out = 0
        elif zone.swap_stop > 0.0 and block.slot != NO_SLOT:
            stand_still(w, zone.swap_stop)
    log(w, LOG_UP, u)
    unit.asked += 1
    w.status[u] = UP
    block.failed -= 1
    if block.at_work < block.trays - zone.spares:
        w.at_work[u] = 1
        block.at_work += 1
    change_block(w, unit.place)
    fill(w, block.zone)
    new_life(w, u)
    settle(w)


@compiled
def _domain_unit_down(w, u):
    d = w.units[u].place
    domain = w.domains[d]
    w.site[0].faults += 1
    w.status[u] = DOWN
    domain.up -= 1
    if domain.up == domain.needed - 1:
        first = first_in_use(w, d)
        hits = first != NOBODY and exposed(w, YES)
        group = group_of(w, first) if hits and w.job[0].scheme == GROUPS else NOBODY
        domain_changes(w, d, YES)
        if hits:
            hit(w, group)
        settle(w)
    to_repair(w, u)


@compiled
def _domain_unit_up(w, u):
    unit = w.units[u]
    domain = w.domains[unit.place]
    w.site[0].events += 1
    log(w, LOG_UP, u)
    unit.asked += 1
    w.status[u] = UP
    domain.up += 1
    if domain.up == domain.needed:
        domain_changes(w, unit.place, GONE)
    new_life(w, u)
    settle(w)


@inlined
def fails(w, u, by_age):
    """A unit fails, at the end of its life or in a burst: for all to see, or silently."""
    w.site[0].events += 1
    w.due[u] = NEVER
    if u >= w.site[0].trays:
        log(w, LOG_FAULT, u)
        _domain_unit_down(w, u)
        return
    unit = w.units[u]
    c = w.classes[unit.class_]
    if c.silent_share > 0.0:
        u1, u2 = uniforms(w.key, unit.first, unit.second, unit.asked, SILENCE)
        if u1 < c.silent_share:
            job = w.job[0]
            w.status[u] = SILENT
            log(w, LOG_SILENT, u)
            if w.at_work[u] and w.blocks[unit.place].slot != NO_SLOT and not is_blocked(job):
                w.mark_group[u] = group_of(w, unit.place) if job.scheme == GROUPS else 0
                w.mark_useful[u], w.mark_saves[u] = job.useful, job.saves
            later(w, exponential(c.found_after, u2), FOUND, u)
            return
    log(w, LOG_FAULT, u)
    tray_down(w, u, by_age, NO)


@inlined
def repaired(w, u):
    """The repair of a unit ends; its crew takes the next ticket."""
    p = crews_of(w, u)
    if u < w.site[0].trays:
        tray_up(w, u)
    else:
        _domain_unit_up(w, u)
    if p == NOBODY:
        return
    crews = w.crews[p]
    count_busy(w, p, w.job[0].now, GONE)
    crews.free += 1
    if crews.head != NOBODY:
        waiting = crews.head
        crews.head = w.behind[waiting]
        take_in_hand(w, waiting, p)


@compiled
def next_burst(w, q):
    """Make the next burst of a kind."""
    burst = w.bursts[q]
    rate = burst.rate * w.site[0].multiplier
    if rate > 0.0 and w.site[0].replaying == 0:
        u1, _ = uniforms(w.key, BURST, q, burst.number, 0)
        later(w, exponential(1.0 / rate, u1), BURST_STRIKES, q)


@compiled
def burst_strikes(w, q):
    """A burst strikes: trays of neighbouring racks fail one by one."""
    s, burst = w.site[0], w.bursts[q]
    log(w, LOG_BURST, q)
    number = burst.number
    burst.number += 1
    next_burst(w, q)
    u1, u2 = uniforms(w.key, BURST, q, number, 1)
    zone = w.zones[math.floor(u1 * s.zones)]
    racks = -(-zone.blocks // zone.rack_blocks)
    struck = min(burst.racks, racks)
    first = math.floor(u2 * (racks - struck + 1)) * zone.rack_blocks
    start = w.blocks[zone.first_block + first].first_tray
    last = w.blocks[zone.first_block + min(zone.blocks, first + struck * zone.rack_blocks) - 1]
    for u in range(start, last.first_tray + last.trays):
        if w.status[u] == UP:
            u1, _ = uniforms(w.key, BURST, q, number, 2 + u - start)
            if u1 < burst.share:
                fails(w, u, NO)
