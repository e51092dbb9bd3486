"""What the slow reference records: the rows of the ledger, blocked episodes, and counts for crews and parts."""

from __future__ import annotations

import math

import numpy as np

from spareopt.simulation.outcome import (
    ACCOUNTS,
    EPISODE_BINS,
    EPISODE_BINS_PER_OCTAVE,
    LEDGER,
    SHORTEST_EPISODE,
    Outcome,
)
from spareopt.simulation.reference.job import Job
from spareopt.simulation.reference.layout import Layout
from spareopt.simulation.system import System

Record = list[tuple[float, str, int]]


class Ledger:
    """Sums and counts of a replication; rows hold what has been added since the end of the warm-up."""

    def __init__(self, system: System, record: Record | None) -> None:
        blocks, crews, shelves = len(system.block_zone), len(system.crews), len(system.shelf)
        self.record = record
        self.recording = False
        self.rows: list[list[float]] = []
        self.base = [0.0] * len(LEDGER)
        self.usable_block_h, self.interruptions, self.faults, self.episodes_begun = 0.0, 0, 0, 0
        self.unusable_h = np.zeros(blocks + 1)
        self.episodes = np.zeros(EPISODE_BINS, dtype=np.int64)
        self.longest = 0.0
        self.blocked_since = 0.0
        self.crew_busy, self.crew_wait = np.zeros(crews), np.zeros(crews)
        self.crew_tickets = np.zeros(crews, dtype=np.int64)
        self.part_orders, self.part_wait = np.zeros(shelves, dtype=np.int64), np.zeros(shelves)
        self.selections = 0
        self.events = 0

    def note(self, time: float, what: str, number: int) -> None:
        """Put an event in the record, if one is kept."""
        if self.record is not None:
            self.record.append((time, what, number))

    def pass_time(self, hours: float, usable: list[bool], crews_busy: list[int]) -> None:
        """Hours without an event."""
        self.usable_block_h += sum(usable) * hours
        if self.recording:
            self.unusable_h[len(usable) - sum(usable)] += hours
            self.crew_busy += np.array(crews_busy, dtype=np.int64) * hours

    def crew_given(self, crews: int, waited: float) -> None:
        """A ticket gets its crew."""
        if self.recording:
            self.crew_tickets[crews] += 1
            self.crew_wait[crews] += waited

    def part_ordered(self, shelf: int) -> None:
        """A part is ordered."""
        if self.recording:
            self.part_orders[shelf] += 1

    def part_given(self, shelf: int, waited: float) -> None:
        """A tray that waited gets its part."""
        if self.recording:
            self.part_wait[shelf] += waited

    def follow(self, job: Job) -> None:
        """Count the blocked episodes that the job has begun and ended."""
        for time, blocked in job.changes:
            self.note(time, "blocked" if blocked else "unblocked", 0)
            if blocked:
                self.episodes_begun += 1
                self.blocked_since = time
            elif self.recording:
                length = time - self.blocked_since
                self.longest = max(self.longest, length)
                place = 0
                if length > SHORTEST_EPISODE:
                    place = math.floor(EPISODE_BINS_PER_OCTAVE * math.log2(length / SHORTEST_EPISODE))
                self.episodes[min(place, EPISODE_BINS - 1)] += 1
        job.changes.clear()

    def end_bin(self, job: Job, layout: Layout) -> None:
        """Write a row; the first one, at the end of the warm-up, is zero."""
        counts = [self.usable_block_h, self.interruptions, self.faults, self.episodes_begun]
        totals = [*(job.accounts[account] for account in ACCOUNTS), *counts]
        if self.recording:
            since = [total - base for total, base in zip(totals, self.base, strict=True)]
            self.rows.append([*since, float(layout.fewest)])
        else:
            self.recording, self.base = True, totals
            if job.now > 0.0:  # the selection at time 0 belongs to a record from time 0
                self.selections = 0
            self.rows.append([0.0] * len(LEDGER))
        layout.fewest = sum(layout.usable)

    def outcome(self, hours: float) -> Outcome:
        """All that was recorded in so many hours."""
        return Outcome(
            ledger=np.array(self.rows),
            hours=hours,
            unusable_h=self.unusable_h,
            episodes=self.episodes,
            longest_episode=self.longest,
            crew_busy_h=self.crew_busy,
            crew_tickets=self.crew_tickets,
            crew_wait_h=self.crew_wait,
            part_orders=self.part_orders,
            part_wait_h=self.part_wait,
            selections=self.selections,
            events=self.events,
        )
