"""Repair, compiled: parts, delays, crews and their shifts, visits and windows."""

from __future__ import annotations

import math

from spareopt.simulation.kernel.compiled import compiled, inlined
from spareopt.simulation.kernel.draws import draw, exponential, uniforms
from spareopt.simulation.kernel.events import (
    DELAY_ENDS,
    LOG_PART,
    LOG_VISIT,
    LOG_WINDOW,
    PART_ARRIVES,
    VISIT_STARTS,
    WINDOW_OPENS,
    WORK_ENDS,
    YES,
)
from spareopt.simulation.kernel.hits import stand_still
from spareopt.simulation.kernel.log import later, log
from spareopt.simulation.kernel.record import count_busy
from spareopt.simulation.kernel.slots import change_block, fill, settle
from spareopt.simulation.kernel.state import (
    IN_DELAY,
    IN_HAND,
    NO_SLOT,
    NOBODY,
    WAITS_FOR_CREW,
    WAITS_FOR_PART,
    WAITS_FOR_VISIT,
)
from spareopt.simulation.laws import DELAY, ORDER, VISIT, WAY, WORK

HOURS_PER_WEEK, HOURS_PER_DAY = 168.0, 24.0
ROUNDING = 1e-7  # h after a shift in which work that fills it is done


@compiled
def _on_duty(hours, number, shift, time):
    """Hours on duty from time 0 to a time."""
    week = math.floor(time / HOURS_PER_WEEK)
    rest = time - week * HOURS_PER_WEEK
    day = math.floor(rest / HOURS_PER_DAY)
    if day >= number:
        return (week + 1.0) * hours
    return week * hours + day * shift + min(rest - day * HOURS_PER_DAY, shift)


@compiled
def _on_duty_from(number, shift, time):
    """The first time from ``time`` on that is on duty."""
    week = math.floor(time / HOURS_PER_WEEK)
    day = math.floor(time / HOURS_PER_DAY)
    if day - 7.0 * week >= number:
        return (week + 1.0) * HOURS_PER_WEEK
    if time - day * HOURS_PER_DAY < shift:
        return time
    return (day + 1.0) * HOURS_PER_DAY if day + 1.0 - 7.0 * week < number else (week + 1.0) * HOURS_PER_WEEK


@compiled
def _work_ends(hours, start, work):
    """When work that starts now ends, for a crew on duty for so many hours a week."""
    if hours >= HOURS_PER_WEEK:
        return start + work
    number = 7.0 if hours >= 5 * HOURS_PER_DAY else 5.0
    shift = hours / number
    begin = _on_duty_from(number, shift, start)
    done = _on_duty(hours, number, shift, start) + work
    week = math.ceil((done - ROUNDING) / hours) - 1.0
    rest = done - week * hours
    day = max(0.0, min(number - 1.0, math.ceil((rest - ROUNDING) / shift) - 1.0))
    # work of no time, or too short to be seen in the sum, would end with the last shift
    return max(begin, week * HOURS_PER_WEEK + day * HOURS_PER_DAY + rest - day * shift)


@inlined
def _hands_on(w, u):
    """The hands-on time of the repair of a unit."""
    unit = w.units[u]
    c = w.classes[unit.class_]
    way = c.first_phase
    if c.phases > 1:
        u1, _ = uniforms(w.key, unit.first, unit.second, unit.asked, WAY)
        while w.phase_up_to[way] <= u1 and way < c.first_phase + c.phases - 1:
            way += 1
    u1, u2 = uniforms(w.key, unit.first, unit.second, unit.asked, WORK)
    return draw(c.repair_law, c.repair_shape, w.phase_mean[way], u1, u2)


@inlined
def _zone_of(w, u):
    """The zone of a tray, or of a domain's first block."""
    place = w.units[u].place
    if u < w.site[0].trays:
        return w.blocks[place].zone
    return w.blocks[w.range_start[w.domains[place].first_range]].zone


@inlined
def crews_of(w, u):
    """The crews that repair a unit, or NOBODY where they are ample."""
    if w.classes[w.units[u].class_].staffed == 0:
        return NOBODY
    return w.zones[_zone_of(w, u)].crews


@inlined
def take_in_hand(w, u, p):
    """Hands-on work on a unit begins, by a crew of a group (NOBODY: ample ones)."""
    now = w.job[0].now
    w.status[u] = IN_HAND
    work = _hands_on(w, u)
    if p == NOBODY:
        later(w, work, WORK_ENDS, u)
        return
    crews = w.crews[p]
    count_busy(w, p, now, YES)
    crews.free -= 1
    crews.tickets += 1
    crews.wait_h += now - w.since[u]
    later(w, _work_ends(crews.duty, now, work) - now, WORK_ENDS, u)


@inlined
def to_crew(w, u):
    """The delay is over: a crew takes the unit in hand as soon as it can."""
    p = crews_of(w, u)
    w.since[u] = w.job[0].now
    if p == NOBODY or w.crews[p].free > 0:
        take_in_hand(w, u, p)
        return
    w.status[u] = WAITS_FOR_CREW
    w.behind[u] = NOBODY
    crews = w.crews[p]
    if crews.head == NOBODY:
        crews.head = u
    else:
        w.behind[crews.tail] = u
    crews.tail = u


@compiled
def _to_delay(w, u):
    unit = w.units[u]
    mean = w.classes[unit.class_].delay
    if mean > 0.0:
        w.status[u] = IN_DELAY
        u1, _ = uniforms(w.key, unit.first, unit.second, unit.asked, DELAY)
        later(w, exponential(mean, u1), DELAY_ENDS, u)
    else:
        to_crew(w, u)


@compiled
def visit_starts(w, b):
    """A visit to a block starts: all its trays that are down are taken in hand."""
    block = w.blocks[b]
    zone = w.zones[block.zone]
    log(w, LOG_VISIT, b)
    block.visit = 2
    if block.slot != NO_SLOT and zone.swap_stop > 0.0:
        stand_still(w, zone.swap_stop)
    if zone.out_of_service != 0:
        block.out = 1
        change_block(w, b)
        fill(w, block.zone)
        settle(w)
    for u in range(block.first_tray, block.first_tray + block.trays):
        if w.status[u] == WAITS_FOR_VISIT:
            take_in_hand(w, u, NOBODY)


@compiled
def window_opens(w, z):
    """A window of a zone opens: the trays that wait for it are taken in hand."""
    zone = w.zones[z]
    log(w, LOG_WINDOW, z)
    later(w, zone.window, WINDOW_OPENS, z)
    first = w.blocks[zone.first_block].first_tray
    last = w.blocks[zone.first_block + zone.blocks - 1]
    stop = False
    for u in range(first, last.first_tray + last.trays):
        if w.status[u] == WAITS_FOR_VISIT:
            block = w.blocks[w.units[u].place]
            stop |= block.slot != NO_SLOT
            block.in_hand += 1
    if stop and zone.swap_stop > 0.0:
        stand_still(w, zone.swap_stop)
    if zone.out_of_service != 0:
        for b in range(zone.first_block, zone.first_block + zone.blocks):
            if w.blocks[b].in_hand > 0:
                w.blocks[b].out = 1
                change_block(w, b)
        fill(w, z)
        settle(w)
    for u in range(first, last.first_tray + last.trays):
        if w.status[u] == WAITS_FOR_VISIT:
            _to_delay(w, u)


@inlined
def to_repair(w, u):
    """A unit has gone down: what its repair starts with."""
    s, unit = w.site[0], w.units[u]
    if s.replaying:
        return
    if u >= s.trays:
        _to_delay(w, u)
        return
    block = w.blocks[unit.place]
    zone = w.zones[block.zone]
    if zone.window > 0.0:
        w.status[u] = WAITS_FOR_VISIT
        return
    if zone.start_at > 0:
        if block.visit == 2:
            take_in_hand(w, u, NOBODY)
            return
        w.status[u] = WAITS_FOR_VISIT
        if block.visit == 0 and block.failed >= zone.start_at:
            block.visit = 1
            mean = w.classes[unit.class_].delay
            block.visits += 1
            if mean > 0.0:
                u1, _ = uniforms(w.key, VISIT, unit.place, block.visits - 1, 0)
                later(w, exponential(mean, u1), VISIT_STARTS, unit.place)
            else:
                visit_starts(w, unit.place)
        return
    if zone.shelf != NOBODY:
        shelf = w.shelves[zone.shelf]
        _, u2 = uniforms(w.key, unit.first, unit.second, unit.asked, WAY)
        if u2 < shelf.parts_share:
            u1, _ = uniforms(w.key, ORDER, zone.shelf, shelf.orders, 0)
            shelf.orders += 1
            shelf.recorded += 1
            later(w, exponential(shelf.lead_time, u1), PART_ARRIVES, zone.shelf)
            if shelf.stock == 0:
                w.status[u], w.since[u], w.behind[u] = WAITS_FOR_PART, w.job[0].now, NOBODY
                if shelf.head == NOBODY:
                    shelf.head = u
                else:
                    w.behind[shelf.tail] = u
                shelf.tail = u
                return
            shelf.stock -= 1
    _to_delay(w, u)


@compiled
def part_arrives(w, i):
    """A part arrives, for the tray that has waited longest or for the shelf."""
    shelf = w.shelves[i]
    log(w, LOG_PART, i)
    if shelf.head == NOBODY:
        shelf.stock += 1
        return
    u = shelf.head
    shelf.head = w.behind[u]
    shelf.wait_h += w.job[0].now - w.since[u]
    _to_delay(w, u)
