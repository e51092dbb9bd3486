"""Blocks in slots, idle or out of use, compiled, and whether that leaves the job what it needs."""

from __future__ import annotations

import math

from spareopt.simulation.kernel.compiled import compiled, inlined
from spareopt.simulation.kernel.draws import uniforms
from spareopt.simulation.kernel.events import GONE, LOG_BLOCKED, LOG_UNBLOCKED, SITE_ITSELF, YES
from spareopt.simulation.kernel.job import is_blocked
from spareopt.simulation.kernel.lives import set_ageing
from spareopt.simulation.kernel.log import log, log_at
from spareopt.simulation.kernel.record import count_unusable
from spareopt.simulation.kernel.state import NO_SLOT, NOBODY
from spareopt.simulation.laws import SITE, SPARE
from spareopt.simulation.outcome import EPISODE_BINS, EPISODE_BINS_PER_OCTAVE, SHORTEST_EPISODE
from spareopt.simulation.system import ALWAYS


@compiled
def _block_in_use(w, b, change):
    """A block comes into a slot or leaves one: what of it ages changes."""
    if w.job[0].ageing == ALWAYS:
        return
    block = w.blocks[b]
    for u in range(block.first_tray, block.first_tray + block.trays):
        set_ageing(w, u)
    for i in range(w.first_domain[b], w.first_domain[b + 1]):
        domain = w.domains[w.domain_of[i]]
        domain.in_use += change
        for u in range(domain.first_unit, domain.first_unit + domain.units):
            set_ageing(w, u)


@inlined
def change_block(w, b):
    """See whether a block is usable now: it leaves its slot or the idle ones, or is idle again."""
    block = w.blocks[b]
    zone = w.zones[block.zone]
    usable = block.down == 0 and block.failed <= zone.spares and block.out == 0
    if usable == (block.usable != 0):
        return
    block.usable = usable
    count_unusable(w, w.job[0].now, GONE if usable else YES)
    if usable:
        block.idle_place = zone.idle
        w.idle[zone.first_block + zone.idle] = b
        zone.idle += 1
        zone.ready = min(zone.warm, zone.ready + 1)
        return
    if block.slot == NO_SLOT:
        leave_idle(w, b)
        zone.ready = min(zone.ready, zone.idle)
        return
    w.holes[zone.first_slot + zone.holes] = block.slot
    zone.holes += 1
    w.site[0].holes += 1
    block.slot = NO_SLOT
    _block_in_use(w, b, GONE)


@compiled
def leave_idle(w, b):
    """An idle block leaves the list of its zone; the last one takes its place."""
    block = w.blocks[b]
    zone = w.zones[block.zone]
    zone.idle -= 1
    last = w.idle[zone.first_block + zone.idle]
    w.idle[zone.first_block + block.idle_place] = last
    w.blocks[last].idle_place = block.idle_place
    block.idle_place = NOBODY


@compiled
def fill_now(w, z):
    """Fill the holes of a zone with idle blocks, the newest hole first."""
    s, zone = w.site[0], w.zones[z]
    while zone.holes > 0 and zone.idle > 0:
        u1, _ = uniforms(w.key, SITE, SPARE, s.choices, 0)
        s.choices += 1
        b = w.idle[zone.first_block + math.floor(u1 * zone.idle)]
        leave_idle(w, b)
        zone.holes -= 1
        s.holes -= 1
        w.blocks[b].slot = w.holes[zone.first_slot + zone.holes]
        _block_in_use(w, b, YES)


@inlined
def fill(w, z):
    """Fill the holes of a zone, unless the job keeps standbys: then only once it has recovered."""
    if w.site[0].warm < 0:
        fill_now(w, z)


@compiled
def domain_changes(w, d, change):
    """A domain goes down (1) or comes back (-1) with all its blocks; then holes are filled zone by zone."""
    domain = w.domains[d]
    for i in range(domain.first_range, domain.first_range + domain.ranges):
        for b in range(w.range_start[i], w.range_stop[i]):
            w.blocks[b].down += change
            change_block(w, b)
    for i in range(domain.first_range, domain.first_range + domain.ranges):
        if w.range_stop[i] > w.range_start[i]:
            first, last = w.blocks[w.range_start[i]].zone, w.blocks[w.range_stop[i] - 1].zone
            for z in range(first, last + 1):
                fill(w, z)


@compiled
def first_in_use(w, d):
    """The first block of a domain that is in a slot, or NOBODY."""
    domain = w.domains[d]
    for i in range(domain.first_range, domain.first_range + domain.ranges):
        for b in range(w.range_start[i], w.range_stop[i]):
            if w.blocks[b].slot != NO_SLOT:
                return b
    return NOBODY


@inlined
def see_short(w):
    """Tell the job whether it has its blocks."""
    s, job = w.site[0], w.job[0]
    if s.shrink == 0:
        job.short = 1 if s.holes > 0 else 0
        return
    job.placed = 0.0
    for z in range(s.zones):
        zone = w.zones[z]
        placed = (zone.slots - zone.holes) * s.groups_per_zone // zone.slots
        job.placed += zone.group_share * placed
        for group in range(s.groups_per_zone):
            w.placed[z * s.groups_per_zone + group] = zone.group_share if group < placed else 0.0
    job.short = 1 if job.placed == 0.0 else 0
    if s.holes == 0:
        job.placed = 1.0  # whatever the sum was rounded to: nothing is blocked


@inlined
def see_blocked(w, since):
    """Begin or end a blocked episode."""
    s, job = w.site[0], w.job[0]
    blocked = is_blocked(job)
    if blocked == (job.blocked != 0):
        return
    job.blocked = blocked
    if blocked:
        job.blocked_since = since
        s.episodes += 1
        log_at(w, since, LOG_BLOCKED, SITE_ITSELF)
        return
    length = job.now - job.blocked_since
    s.longest = max(s.longest, length)
    i = 0
    if length > SHORTEST_EPISODE:
        i = min(EPISODE_BINS - 1, math.floor(EPISODE_BINS_PER_OCTAVE * math.log2(length / SHORTEST_EPISODE)))
    w.episodes[i] += 1
    log(w, LOG_UNBLOCKED, SITE_ITSELF)


@inlined
def settle(w):
    """Blocks have changed: see whether the job has those it needs."""
    see_short(w)
    see_blocked(w, w.job[0].now)
