"""What a replication records, compiled: hours by unusable blocks, busy crews, the rows of the ledger, the job's end."""

from __future__ import annotations

from typing import Any

from spareopt.simulation.kernel.compiled import compiled, inlined
from spareopt.simulation.kernel.events import NO
from spareopt.simulation.kernel.job import advance, running_account, under_way
from spareopt.simulation.outcome import Outcome

HALVINGS = 80
"""Of the time in which the job ends: what is left of a year is below the last digit."""


@inlined
def count_unusable(w, now, change):
    """The number of unusable blocks changes."""
    s = w.site[0]
    time = now - s.unusable_since
    w.unusable_h[s.unusable] += time
    s.usable_block_h += time * (s.blocks - s.unusable)
    s.unusable_since = now
    s.unusable += change
    s.fewest = min(s.fewest, s.blocks - s.unusable)


@inlined
def count_busy(w, p, now, change):
    """The number of busy crews of a group changes."""
    crews = w.crews[p]
    crews.busy_h += crews.busy * (now - crews.since)
    crews.since = now
    crews.busy += change


@compiled
def _accounts(w, into):
    s, job = w.site[0], w.job[0]
    for i in range(7):
        into[i] = running_account(job, i)
    into[7], into[8], into[9], into[10] = s.usable_block_h, s.interruptions, s.faults, s.episodes


@compiled
def end_of_bin(w, now):
    """Write a row of the ledger, to whose end the job has been brought; returns whether it was the last."""
    s = w.site[0]
    count_unusable(w, now, NO)
    for p in range(len(w.crews)):
        count_busy(w, p, now, NO)
    s.row += 1
    if s.row == 0:  # the record starts here
        _accounts(w, w.base)
        w.unusable_h[:] = 0.0
        w.episodes[:] = 0
        s.longest = 0.0
        if now > 0.0:  # the selection at time 0 belongs to a record from time 0
            s.selections = 0
        for p in range(len(w.crews)):
            w.crews[p].busy_h, w.crews[p].wait_h, w.crews[p].tickets = 0.0, 0.0, 0
        for i in range(len(w.shelves)):
            w.shelves[i].wait_h, w.shelves[i].recorded = 0.0, 0
    else:
        row = w.ledger[s.row]
        _accounts(w, row)
        for i in range(11):
            row[i] -= w.base[i]
        row[11] = s.fewest
    s.fewest = s.blocks - s.unusable
    return s.row == s.bins


@compiled
def _done_by(w, time):
    """Useful hours recorded by a time up to which nothing happens."""
    w.job[1] = w.job[0]
    advance(w.job[1], w.out_until, w.placed, time)
    return w.job[1].useful + under_way(w.job[1])[0] - w.base[0]


@compiled
def ends_with_job(w, now, time):
    """End the run where the job is done before a time up to which nothing happens; returns whether it is."""
    s = w.site[0]
    if s.row < 0 or _done_by(w, time) < s.until_useful:
        return False
    early, late = now, time
    for _ in range(HALVINGS):
        middle = 0.5 * (early + late)
        if _done_by(w, middle) >= s.until_useful:
            late = middle
        else:
            early = middle
    advance(w.job[0], w.out_until, w.placed, late)
    s.ended = late
    end_of_bin(w, late)
    return True


def outcome(state: Any) -> Outcome:
    """What a replication that is over has recorded."""
    site = state.site[0]
    return Outcome(
        ledger=state.ledger[: int(site["row"]) + 1].copy(),
        hours=float(site["ended"] - site["warm_up"]),
        unusable_h=state.unusable_h.copy(),
        episodes=state.episodes.copy(),
        longest_episode=float(site["longest"]),
        crew_busy_h=state.crews["busy_h"].copy(),
        crew_tickets=state.crews["tickets"].copy(),
        crew_wait_h=state.crews["wait_h"].copy(),
        part_orders=state.shelves["recorded"].copy(),
        part_wait_h=state.shelves["wait_h"].copy(),
        selections=int(site["selections"]),
        events=int(site["events"]),
    )
