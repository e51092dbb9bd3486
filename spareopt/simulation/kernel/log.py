"""What happened, in order, as far as there is room; and what is to happen later, compiled."""

from __future__ import annotations

from spareopt.simulation.kernel.compiled import inlined
from spareopt.simulation.kernel.queue import push


@inlined
def log(w, kind, number):
    """Log what happens now."""
    log_at(w, w.job[0].now, kind, number)


@inlined
def log_at(w, time, kind, number):
    """Log what happened at a time, while there is room; what does not fit is counted all the same."""
    s = w.site[0]
    if s.recorded < len(w.log_time):
        w.log_time[s.recorded], w.log_kind[s.recorded], w.log_number[s.recorded] = time, kind, number
    s.recorded += 1


@inlined
def later(w, after, kind, number):
    """Make an event some time from now."""
    s = w.site[0]
    s.order += 1
    s.event_size = push(w.events, s.event_size, w.job[0].now + after, s.order, kind, number)
