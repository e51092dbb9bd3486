"""Lives of units, compiled: the clock they pass on, who ages when, and when the next one ends."""

from __future__ import annotations

from spareopt.simulation.kernel.compiled import compiled, inlined
from spareopt.simulation.kernel.draws import draw, uniforms
from spareopt.simulation.kernel.job import is_blocked, time_to_compute
from spareopt.simulation.kernel.queue import NEVER, next_due, set_due
from spareopt.simulation.kernel.state import NO_SLOT, UP
from spareopt.simulation.laws import LIFE
from spareopt.simulation.system import ALWAYS, WORKING


@compiled
def _clock(w):
    """The clock on which units age."""
    job = w.job[0]
    if job.ageing == ALWAYS:
        return job.now
    return job.unblocked if job.ageing == WORKING else job.computed


@compiled
def _ages(w, u):
    """Whether a unit that is up ages."""
    if w.job[0].ageing == ALWAYS:
        return True
    unit = w.units[u]
    if u < w.site[0].trays:
        return w.at_work[u] != 0 and w.blocks[unit.place].slot != NO_SLOT
    return w.domains[unit.place].in_use > 0


@compiled
def set_ageing(w, u):
    """Let a unit's life go on or rest, as its place asks for."""
    ages = w.status[u] == UP and _ages(w, u)
    if ages == (w.due[u] != NEVER) or w.site[0].replaying:
        return
    if ages:
        set_due(w, u, _clock(w) + w.left[u])
    else:
        w.left[u] = w.due[u] - _clock(w)
        w.due[u] = NEVER


@inlined
def new_life(w, u):
    """Start a life of a unit that is up."""
    s, unit = w.site[0], w.units[u]
    c = w.classes[unit.class_]
    rate = c.rate * s.multiplier * unit.factor
    if s.replaying or rate <= 0.0:
        w.left[u] = NEVER
        return
    u1, u2 = uniforms(w.key, unit.first, unit.second, unit.asked, LIFE)
    life = draw(c.life_law, c.life_shape, 1.0 / rate, u1, u2)
    if unit.asked == 0 and c.burn_in > 0.0:
        young = life / c.burn_in_multiple
        life = young if young < c.burn_in else life - (c.burn_in_multiple - 1.0) * c.burn_in
    w.left[u] = life
    if _ages(w, u):
        set_due(w, u, _clock(w) + life)


@inlined
def next_fault(w):
    """(wall time, unit) of the next fault of a unit if nothing else happens before."""
    job = w.job[0]
    due, unit = next_due(w)
    if due == NEVER or job.ageing == ALWAYS:
        return due, unit
    if job.ageing == WORKING:
        return NEVER if is_blocked(job) else job.now + max(0.0, due - job.unblocked), unit
    return job.now + time_to_compute(job, max(0.0, due - job.computed)), unit
