"""What hits the job, compiled: interruptions and planned stops."""

from __future__ import annotations

import math

from spareopt.simulation.kernel.compiled import compiled, inlined
from spareopt.simulation.kernel.draws import uniforms
from spareopt.simulation.kernel.events import LOG_INTERRUPTION, SITE_ITSELF
from spareopt.simulation.kernel.job import RUNNING, interrupt, interrupt_group, is_blocked
from spareopt.simulation.kernel.log import log
from spareopt.simulation.kernel.state import NOBODY
from spareopt.simulation.laws import RECOVERY, SITE
from spareopt.simulation.system import COMPUTING, GROUPS, TWO_LEVEL


@inlined
def exposed(w, by_age):
    """Whether a fault would interrupt the job now; ``by_age``: it comes from a unit that ages, if only in the job."""
    job = w.job[0]
    if is_blocked(job):
        return False
    if by_age != 0 or job.ageing != COMPUTING:
        return True
    return job.doing == RUNNING and job.now >= job.stop_until and job.position < job.period


@compiled
def group_of(w, b):
    """The replica group of a block in a slot; slots that are filled are dealt to groups in equal runs."""
    s, block = w.site[0], w.blocks[b]
    zone, place = w.zones[block.zone], block.slot
    if s.shrink:
        for i in range(zone.holes):
            place -= w.holes[zone.first_slot + i] < block.slot
    return block.zone * s.groups_per_zone + place * s.groups_per_zone // zone.slots


@compiled
def hit(w, group):
    """A fault hits the job (a group of it; NOBODY: software)."""
    s, job = w.site[0], w.job[0]
    if job.scheme == GROUPS:
        if group == NOBODY:
            _, u2 = uniforms(w.key, SITE, RECOVERY, s.hits, 0)
            group = math.floor(u2 * job.groups)
        s.hits += 1
        if w.placed[group] == 0.0 or not interrupt_group(job, w.out_until, group):
            return
    else:
        if s.interrupted_at == job.now:  # it is part of what has just interrupted it
            return
        memory_left = False
        if job.scheme == TWO_LEVEL:
            u1, _ = uniforms(w.key, SITE, RECOVERY, s.hits, 0)
            memory_left = u1 < job.memory_share
        s.hits += 1
        interrupt(job, memory_left)
    s.interrupted_at = job.now
    s.interruptions += 1
    log(w, LOG_INTERRUPTION, SITE_ITSELF)


@compiled
def stand_still(w, time):
    """A planned stop, unless the job is blocked."""
    job = w.job[0]
    if not is_blocked(job):
        job.stop_until = max(job.stop_until, job.now + time)
