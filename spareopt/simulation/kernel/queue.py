"""Future events, compiled: a heap of events, and the due times of all units, of which only the next are put in order.

Lives are long, and a site has many units: a heap of them all would be deep and in no cache.  So a list has those due
before a horizon in order; when it runs out the horizon moves on, and one pass over the due times makes the next.
Lives that begin and end before the horizon are few, and wait in a heap beside it.
"""

from __future__ import annotations

import numpy as np

from spareopt.simulation.kernel.compiled import compiled, inlined

NEVER = np.inf
ENOUGH = 512
"""Units that should be due before the next horizon: enough to make passes rare, few enough for the nearest cache."""


@inlined
def push(heap, size, time, order, kind, number):
    """Add an event; returns the new size.  At equal times the one with the smaller ``order`` is first."""
    i = size
    while i > 0:
        parent = (i - 1) >> 2
        if heap[parent].time < time or (heap[parent].time == time and heap[parent].order < order):
            break
        heap[i] = heap[parent]
        i = parent
    heap[i].time, heap[i].order, heap[i].kind, heap[i].number = time, order, kind, number
    return size + 1


@inlined
def pop(heap, size):
    """Remove the first event (read it before); returns the new size.  Four children a node halve the depth."""
    size -= 1
    time, order, kind, number = heap[size].time, heap[size].order, heap[size].kind, heap[size].number
    i = 0
    while True:
        child = 4 * i + 1
        if child >= size:
            break
        least = child
        for other in range(child + 1, min(child + 4, size)):
            if heap[other].time < heap[least].time or (
                heap[other].time == heap[least].time and heap[other].order < heap[least].order
            ):
                least = other
        if time < heap[least].time or (time == heap[least].time and order < heap[least].order):
            break
        heap[i] = heap[least]
        i = least
    heap[i].time, heap[i].order, heap[i].kind, heap[i].number = time, order, kind, number
    return size


@inlined
def set_due(w, unit, time):
    """Set when a unit is due; a time of it that is in the list or the heap will be passed over."""
    horizon = w.horizon[0]
    w.due[unit] = time
    if time < horizon.until:
        if horizon.extra == len(w.extra):
            _fill(w, -np.inf)
        else:
            horizon.extra = push(w.extra, horizon.extra, time, unit, unit, unit)


@inlined
def next_due(w):
    """(when, which) the next unit is due; (NEVER, ...) if none is."""
    horizon = w.horizon[0]
    while True:
        while horizon.next < horizon.size and w.due[w.near_unit[horizon.next]] != w.near_time[horizon.next]:
            horizon.next += 1
        while horizon.extra > 0 and w.due[w.extra[0].number] != w.extra[0].time:
            horizon.extra = pop(w.extra, horizon.extra)
        listed = w.near_time[horizon.next] if horizon.next < horizon.size else NEVER
        if horizon.extra > 0:
            first = w.extra[0]
            if first.time < listed or (first.time == listed and first.number < w.near_unit[horizon.next]):
                return first.time, first.number
        if listed < NEVER:
            return listed, w.near_unit[horizon.next]
        start = horizon.until
        horizon.until = start + horizon.step
        after = _fill(w, start)
        if horizon.size == 0:
            if after == NEVER:
                return NEVER, horizon.size
            horizon.until = after
        if horizon.size < ENOUGH:
            horizon.step *= 2.0
        elif horizon.size > 4 * ENOUGH:
            horizon.step *= 0.5


@compiled
def _fill(w, start):
    """List the units due from ``start`` to the horizon anew; returns when the first after it is due."""
    horizon = w.horizon[0]
    until, after, size, first = horizon.until, NEVER, 0, NEVER
    for unit in range(len(w.due)):
        time = w.due[unit]
        if time >= until:
            after = min(after, time)
        elif time >= start:
            w.found_time[size], w.found_unit[size] = time, unit
            first = min(first, time)
            size += 1
    horizon.size, horizon.next, horizon.extra = size, 0, 0
    if size > 0:
        _sort(w, size, first, (size - 0.5) / (until - first))
    return after


@compiled
def _sort(w, size, first, scale):
    """Put what was found in order: into as many buckets of time as there are units, then one by one within."""
    w.bucket[: size + 1] = 0
    for i in range(size):
        w.bucket[np.int64((w.found_time[i] - first) * scale) + 1] += 1
    for i in range(size):
        w.bucket[i + 1] += w.bucket[i]
    for i in range(size):
        place = np.int64((w.found_time[i] - first) * scale)
        to = w.bucket[place]
        w.bucket[place] += 1
        w.near_time[to], w.near_unit[to] = w.found_time[i], w.found_unit[i]
    for i in range(1, size):
        time, unit = w.near_time[i], w.near_unit[i]
        j = i - 1
        while j >= 0 and (w.near_time[j] > time or (w.near_time[j] == time and w.near_unit[j] > unit)):
            w.near_time[j + 1], w.near_unit[j + 1] = w.near_time[j], w.near_unit[j]
            j -= 1
        w.near_time[j + 1], w.near_unit[j + 1] = time, unit
