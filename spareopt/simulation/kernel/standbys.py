"""Standbys, compiled: who takes the place of what was lost, and when hosts are selected anew."""

from __future__ import annotations

from spareopt.simulation.kernel.compiled import compiled
from spareopt.simulation.kernel.job import RUNNING, SELECTING
from spareopt.simulation.kernel.slots import fill_now, see_short


@compiled
def select(w):
    """Select hosts anew: fill all holes, make the first idle blocks of each zone standbys."""
    s, job = w.site[0], w.job[0]
    for z in range(s.zones):
        fill_now(w, z)
        w.zones[z].ready = min(w.zones[z].warm, w.zones[z].idle)
    s.selections += 1
    if s.selection > 0.0:
        job.doing, job.left = SELECTING, s.selection


@compiled
def _try_to_select(w):
    """Select hosts as soon as no zone waits for all its standbys."""
    s = w.site[0]
    for z in range(s.zones):
        zone = w.zones[z]
        if zone.waits != 0 and zone.idle - zone.holes >= zone.warm:
            zone.waits = 0
        if zone.waits != 0 or zone.holes > zone.idle:
            return
    select(w)
    see_short(w)


@compiled
def take_standbys(w):
    """The recovery of a job with standbys is over: they take the place of what was lost, if there are enough."""
    s = w.site[0]
    anew = False
    for z in range(s.zones):
        zone = w.zones[z]
        if zone.holes > zone.ready:
            anew = True
            zone.waits = 1 if zone.holes > zone.idle else 0
    if not anew:
        for z in range(s.zones):
            w.zones[z].ready -= w.zones[z].holes
            fill_now(w, z)
        see_short(w)
        return
    _try_to_select(w)


@compiled
def see_standbys(w):
    """A job that has recovered but lacks blocks takes standbys, or selects hosts once those it waits for are there."""
    job = w.job[0]
    if job.short == 0 or job.doing != RUNNING:
        return
    for z in range(w.site[0].zones):
        if w.zones[z].waits != 0:
            _try_to_select(w)
            return
    take_standbys(w)
