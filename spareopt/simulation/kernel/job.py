"""The job between events, compiled: recovery, saves, work, planned stops, and to which account every hour goes."""

from __future__ import annotations

import math

import numpy as np

from spareopt.simulation.kernel.compiled import compiled, inlined
from spareopt.simulation.system import CHECKPOINTS, GROUPS, OVERLAPPED, TWO_LEVEL

RUNNING, RECOVERING, FROM_STORAGE, SELECTING = range(4)
"""What the job does when it is neither blocked nor stopped: work and saves, or one of three ways to get there."""

JOB = np.dtype(
    [
        # what it is like
        ("scheme", "i8"), ("ageing", "i8"), ("recovery_first", "i8"), ("every", "i8"), ("groups", "i8"),
        ("period", "f8"), ("save", "f8"), ("recovery", "f8"), ("memory_save", "f8"), ("memory_recovery", "f8"),
        ("memory_share", "f8"), ("snapshot", "f8"), ("slowdown", "f8"), ("stall", "f8"), ("rejoin", "f8"),
        # where it stands
        ("now", "f8"), ("short", "i8"), ("blocked", "i8"), ("doing", "i8"), ("left", "f8"), ("stop_until", "f8"),
        ("position", "f8"), ("period_number", "i8"), ("carry", "i8"), ("pattern_useful", "f8"),
        ("pattern_saves", "f8"), ("stall_until", "f8"), ("unblocked", "f8"), ("computed", "f8"),
        ("blocked_since", "f8"), ("placed", "f8"),
        # accounts, h
        ("useful", "f8"), ("saves", "f8"), ("recovering", "f8"), ("lost", "f8"), ("stalls", "f8"), ("planned", "f8"),
        ("blocked_h", "f8"),
    ],
    align=True,
)  # fmt: skip


@inlined
def is_blocked(job):
    """Whether the job waits for blocks: with the recovery first, only once that is over."""
    return job.short != 0 and (job.recovery_first == 0 or job.doing == RUNNING)


@compiled
def under_way(job):
    """(work, saves) that would be lost by an interruption now, as far as they are not in the accounts."""
    x = job.position
    if job.scheme == CHECKPOINTS:
        work = min(x, job.period)
        return work, x - work
    if job.scheme == TWO_LEVEL:
        work = min(x, job.period)
        return job.pattern_useful + work, job.pattern_saves + x - work
    if job.scheme == OVERLAPPED:
        kept = (1.0 - job.slowdown) * job.save
        first = job.period - kept if job.carry else job.period
        work = min(x, first) + (1.0 - job.slowdown) * max(0.0, x - first - job.snapshot)
        return work + (kept if job.carry else 0.0), x - work
    return 0.0, 0.0


@compiled
def _groups_work(job, out_until, placed, time):
    """Let replica groups work for a time: each unless it is out or all stand still."""
    start, end = job.unblocked, job.unblocked + time
    useful, stalls = 0.0, 0.0
    for group in range(len(placed)):
        if placed[group] == 0.0:
            continue
        there = max(start, min(end, out_until[group]))
        works = max(there, min(end, job.stall_until))
        useful += placed[group] * (end - works)
        stalls += placed[group] * (works - there)
    job.useful += useful
    job.stalls += stalls
    job.recovering += job.placed * time - useful - stalls
    job.blocked_h += (1.0 - job.placed) * time


@inlined
def _run(job, time):
    """Let the job work and save for a time."""
    if job.scheme == CHECKPOINTS:
        cycle = job.period + job.save
        before = min(job.position, job.period)
        x = job.position + time
        saved = 0.0
        if x >= cycle:
            saved = math.floor(x / cycle)
            x = max(0.0, x - saved * cycle)
            job.useful += saved * job.period
            job.saves += saved * job.save
        job.position = x
        job.computed += saved * job.period + min(x, job.period) - before
    elif job.scheme == TWO_LEVEL:
        _run_two_level(job, time)
    else:
        _run_overlapped(job, time)


@compiled
def _run_two_level(job, time):
    """Work and save for a time: whole patterns and whole periods at once, however short they are."""
    short = job.period + job.memory_save
    pattern = (job.every - 1) * short + job.period + job.save
    while True:
        if job.position == 0.0:
            if job.period_number == 0 and time >= pattern:
                whole = math.floor(time / pattern)
                time = max(0.0, time - whole * pattern)
                job.useful += whole * job.every * job.period
                job.saves += whole * ((job.every - 1) * job.memory_save + job.save)
            periods = min(job.every - 1 - job.period_number, math.floor(time / short))
            time = max(0.0, time - periods * short)
            job.pattern_useful += periods * job.period
            job.pattern_saves += periods * job.memory_save
            job.period_number += periods
        last = job.period_number == job.every - 1
        save = job.save if last else job.memory_save
        need = job.period + save - job.position
        if time < need:
            job.position += time
            return
        time -= need
        job.position = 0.0
        job.pattern_useful += job.period
        job.pattern_saves += save
        job.period_number += 1
        if last:
            job.useful += job.pattern_useful
            job.saves += job.pattern_saves
            job.pattern_useful = job.pattern_saves = 0.0
            job.period_number = 0


@compiled
def _run_overlapped(job, time):
    """The same, with saves that are written while work goes on."""
    kept = (1.0 - job.slowdown) * job.save
    while True:
        length = job.period + job.snapshot + job.save - (kept if job.carry else 0.0)
        if job.position == 0.0 and job.carry and time >= length:
            whole = math.floor(time / length)
            time = max(0.0, time - whole * length)
            job.useful += whole * job.period
            job.saves += whole * (job.snapshot + job.slowdown * job.save)
        need = length - job.position
        if time < need:
            job.position += time
            return
        time -= need
        job.position, job.carry = 0.0, 1
        job.useful += job.period
        job.saves += job.snapshot + job.slowdown * job.save


@inlined
def advance(job, out_until, placed, until):
    """Bring the job to the wall time ``until``, up to which nothing happens to it."""
    while job.now < until:
        time = until - job.now
        if is_blocked(job):
            job.blocked_h += time
            job.now = until
            return
        if job.now < job.stop_until:
            if job.stop_until < until:
                time = job.stop_until - job.now
                job.now = job.stop_until
            else:
                job.now = until
            job.planned += time * job.placed
            job.blocked_h += time * (1.0 - job.placed)
            job.unblocked += time
            continue
        if job.scheme == GROUPS:
            _groups_work(job, out_until, placed, time)
        elif job.doing != RUNNING:
            if job.left <= time:
                job.recovering += job.left
                job.unblocked += job.left
                job.now += job.left
                job.left, job.doing = 0.0, RUNNING
                if job.short:
                    job.blocked_since = job.now
                continue
            job.left -= time
            job.recovering += time
        else:
            _run(job, time)
        job.unblocked += time
        job.now = until


@compiled
def time_to_compute(job, work):
    """Wall time until the job (with checkpoints) has done so much more work if nothing happens; infinite if never."""
    if job.short:
        return np.inf
    wait = max(0.0, job.stop_until - job.now)
    if job.doing != RUNNING:
        wait += job.left
    x = job.position
    if x > job.period:
        wait += job.period + job.save - x
        x = 0.0
    first = job.period - x
    if work <= first:
        return wait + work
    work -= first
    wait += first + job.save
    cycles = math.floor(work / job.period)
    return wait + cycles * (job.period + job.save) + (work - cycles * job.period)


@inlined
def interrupt(job, memory_left):
    """Lose the work and save under way and start to recover (all schemes but groups)."""
    if job.scheme == TWO_LEVEL and job.doing != FROM_STORAGE and memory_left:
        job.lost += job.position
        job.doing, job.left = RECOVERING, job.memory_recovery
    else:
        work, saves = under_way(job)
        job.lost += work + saves
        job.pattern_useful = job.pattern_saves = 0.0
        job.period_number = job.carry = 0
        job.doing = FROM_STORAGE if job.scheme == TWO_LEVEL else RECOVERING
        job.left = job.recovery
    job.position = 0.0
    if job.left <= 0.0:
        job.doing = RUNNING


@compiled
def roll_back(job, useful, saves):
    """Lose all that was done since the accounts stood at ``useful`` and ``saves``, and start to recover."""
    done = job.useful - useful + job.saves - saves
    job.lost += done
    job.useful, job.saves = useful, saves
    interrupt(job, False)


@compiled
def interrupt_group(job, out_until, group):
    """Stall all replica groups and put one out, unless it is out already; returns whether anything happened."""
    if out_until[group] > job.unblocked:
        return False
    out_until[group] = job.unblocked + job.rejoin
    job.stall_until = max(job.stall_until, job.unblocked + job.stall)
    return True


@compiled
def running_account(job, which):
    """An account by number, work and saves under way included."""
    if which == 0:
        return job.useful + under_way(job)[0]
    if which == 1:
        return job.saves + under_way(job)[1]
    if which == 2:
        return job.recovering
    if which == 3:
        return job.lost
    if which == 4:
        return job.stalls
    if which == 5:
        return job.planned
    return job.blocked_h
