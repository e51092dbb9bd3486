"""The job of the slow reference: where its hours go between two events, under each recovery scheme.

The site tells the job of interruptions, stops and short zones; the job plays its phases one after the other.
Work counts as useful and a save as saves at once, and both are moved to ``lost`` when an interruption costs them.
"""

from __future__ import annotations

import copy
import math

from spareopt.simulation.outcome import ACCOUNTS
from spareopt.simulation.system import COMPUTING, GROUPS, OVERLAPPED, TWO_LEVEL, Run, System

ENOUGH = 1.0 - 1e-9
"""Of the work beside a write, for periods that are as long but for rounding."""


def job_of(system: System, run: Run) -> Job:
    """The job at time 0, with its first work before it.

    Raises ValueError where scheme, ageing and period do not go together.
    """
    if system.ageing == COMPUTING and system.scheme in (TWO_LEVEL, OVERLAPPED, GROUPS):
        raise ValueError(
            f"scheme is {system.scheme} with ageing {system.ageing}: units that age only while the job computes need "
            "checkpoints of one level (scheme 0); choose that scheme or another ageing"
        )
    if system.scheme == GROUPS:
        if system.warm >= 0:
            raise ValueError("warm standbys do not go with replica groups; take -1 for none")
        return ReplicaGroups(system)
    if not run.period > 0:
        raise ValueError(f"period is {run.period} h; work between two saves must be above 0; state a longer period")
    job = Overlapped(system, run) if system.scheme == OVERLAPPED else Checkpoints(system, run)
    job.standbys = system.warm >= 0
    job.recovery_first |= job.standbys
    return job


class Job:
    """What all schemes have in common: blocked time, planned stops, recovery, what is lost."""

    def __init__(self, recovery_first: bool) -> None:
        self.now = 0.0
        self.accounts = dict.fromkeys(ACCOUNTS, 0.0)
        self.blocked_h = 0.0  # the wall clock less this is the clock of unblocked time
        self.computed_h = 0.0
        self.stop_until = 0.0
        self.short = False
        self.blocked = False
        self.changes: list[tuple[float, bool]] = []
        """When the job became blocked (True) or went on (False) since the site last looked."""
        self.recovery_first = recovery_first
        self.standbys = False
        self.selecting = False
        self.phase = "work"
        self.resume: tuple[str, float] | None = None
        """The phase and what is left of it to go on with after a selection."""
        self.left = 0.0  # of the present phase, h
        self.marks: dict[int, tuple[float, float]] = {}
        """Useful hours and saves that would remain if all since a tray's silent fault were lost."""

    def advance(self, to: float) -> None:
        """Play the job up to a time; a phase that ends at that time has ended."""
        while self.now < to:
            if self.blocked:
                self.accounts["blocked"] += to - self.now
                self.blocked_h += to - self.now
                self.now = to
            elif self.now < self.stop_until:
                until = min(to, self.stop_until)
                self.stand_still(until - self.now)
                self.now = until
            else:
                length = self.phase_left()
                over = self.now + length <= to
                self.spend(length if over else to - self.now)
                self.now = self.now + length if over else to
                if over:
                    self.turn()

    def useful_at(self, time: float) -> float:
        """Useful hours at a later time if nothing happens until then."""
        trial = copy.deepcopy(self)
        trial.advance(time)
        return trial.accounts["useful"]

    def settle(self) -> None:
        """Become blocked, or go on, as zones are short; where recovery passes first, only after it."""
        blocked = self.short and not (self.recovery_first and self.phase == "recovery")
        if blocked != self.blocked:
            self.blocked = blocked
            self.changes.append((self.now, blocked))

    def recovered_at(self) -> float:
        """When the recovery or selection under way is over; infinite without one."""
        return max(self.now, self.stop_until) + self.left if self.phase == "recovery" else math.inf

    def select(self, time: float) -> None:
        """Let hosts be selected, which takes a time and costs no work."""
        if time > 0:
            self.resume = self.phase, self.left
            self.phase, self.left, self.selecting = "recovery", time, True

    def stop(self, until: float) -> None:
        """Stand still until a time on the wall clock."""
        self.stop_until = max(self.stop_until, until)

    def computing(self) -> bool:
        """Whether work is being done."""
        return not self.blocked and self.now >= self.stop_until and self.phase == "work"

    def mark(self, tray: int) -> None:
        """Remember what the job had on storage when a fault of a tray went unnoticed."""
        work, saves = self.at_stake()
        self.marks[tray] = (self.accounts["useful"] - work, self.accounts["saves"] - saves)

    def at_stake(self) -> tuple[float, float]:
        """Work and saves that are not on storage yet."""
        return 0.0, 0.0

    def lose(self, work: float, saves: float) -> None:
        """Move hours to ``lost``; what was done before a mark cannot be more than what is left."""
        self.accounts["useful"] -= work
        self.accounts["saves"] -= saves
        self.accounts["lost"] += work + saves
        for tray, (useful, saved) in self.marks.items():
            self.marks[tray] = (min(useful, self.accounts["useful"]), min(saved, self.accounts["saves"]))

    def lose_since_mark(self, tray: int) -> None:
        """Lose all work and saves since a tray's silent fault."""
        useful, saved = self.marks.pop(tray)
        self.lose(self.accounts["useful"] - useful, self.accounts["saves"] - saved)

    def stand_still(self, step: float) -> None:
        """Spend time in a planned stop."""
        self.accounts["planned"] += step

    def phase_left(self) -> float:
        """Time until the present phase ends, h."""
        return self.left

    def spend(self, step: float) -> None:
        """Spend time in the present phase."""
        raise NotImplementedError

    def turn(self) -> None:
        """Begin the next phase."""
        raise NotImplementedError

    def has(self, group: int) -> bool:
        """Whether a group has its blocks."""
        return True

    def interrupt(self, u1: float, group: int) -> bool:
        """Interrupt the job (a group of it); False where that group is out already."""
        raise NotImplementedError


class Checkpoints(Job):
    """Work, save, work, save; of two levels every n-th save goes to storage, of one level every one."""

    def __init__(self, system: System, run: Run) -> None:
        super().__init__(system.ageing == COMPUTING)
        two = system.scheme == TWO_LEVEL
        self.period, self.every = run.period, run.storage_every if two else 1
        self.storage_save, self.storage_recovery = system.save, system.recovery
        self.memory_save, self.memory_recovery = system.memory_save, system.memory_recovery
        self.memory_share = system.memory_share if two else 0.0
        self.left = run.period
        self.saved = 0  # saves since the last one to storage
        self.from_storage = False
        self.since_save = (0.0, 0.0)  # work and saves that any interruption costs ...
        self.since_storage = (0.0, 0.0)  # ... and those that the loss of the memory costs, the former included

    def spend(self, step: float) -> None:
        self.left -= step
        if self.phase == "recovery":
            self.accounts["recovery"] += step
            return
        work, save = (step, 0.0) if self.phase == "work" else (0.0, step)
        self.accounts["useful"] += work
        self.accounts["saves"] += save
        self.computed_h += work
        self.since_save = (self.since_save[0] + work, self.since_save[1] + save)
        self.since_storage = (self.since_storage[0] + work, self.since_storage[1] + save)

    def turn(self) -> None:
        if self.phase == "recovery" and self.left == 0.0 and self.resume is not None:
            (self.phase, self.left), self.resume = self.resume, None
        while self.left == 0.0:
            if self.phase == "work":
                self.phase = "save"
                self.left = self.storage_save if self.saved + 1 == self.every else self.memory_save
                continue
            if self.phase == "save":
                self.saved = (self.saved + 1) % self.every
                self.since_save = (0.0, 0.0)
                if self.saved == 0:
                    self.since_storage = (0.0, 0.0)
            self.phase, self.left = "work", self.period
        if not self.standbys:  # else the site first sees whether they are enough
            self.settle()

    def interrupt(self, u1: float, group: int) -> bool:
        loading = self.phase == "recovery" and self.from_storage and not self.selecting
        in_memory = u1 < self.memory_share and not loading
        self.selecting, self.resume = False, None
        work, saves = self.since_save if in_memory else self.since_storage
        self.lose(work, saves)
        if in_memory:
            self.since_storage = (self.since_storage[0] - work, self.since_storage[1] - saves)
        else:
            self.since_storage, self.saved = (0.0, 0.0), 0
        self.since_save, self.from_storage = (0.0, 0.0), not in_memory
        self.phase, self.left = "recovery", self.memory_recovery if in_memory else self.storage_recovery
        self.turn()
        return True

    def at_stake(self) -> tuple[float, float]:
        return self.since_storage

    def wall_of(self, computed_h: float) -> float:
        """When so many hours of work will have been done, on the wall clock; infinite if the job is blocked first."""
        if self.short and (self.blocked or self.phase == "recovery"):
            return math.inf
        ahead, until_save, wait = computed_h - self.computed_h, self.left, 0.0
        if self.phase != "work":
            wait, until_save = self.left, self.period
        saves = max(0, math.ceil((ahead - until_save) / self.period))
        return max(self.now, self.stop_until) + wait + max(0.0, ahead) + saves * self.storage_save


class Overlapped(Job):
    """Work, a snapshot that stops it, and the snapshot's write beside the next work, which it slows down."""

    def __init__(self, system: System, run: Run) -> None:
        super().__init__(False)
        self.period, self.recovery = run.period, system.recovery
        self.snapshot, self.write, self.slowdown = system.snapshot, system.save, system.slowdown
        if run.period < ENOUGH * (1.0 - self.slowdown) * self.write:
            raise ValueError(
                f"period is {run.period} h; with overlapped saves it must be at least the work done beside a write, "
                f"{(1.0 - self.slowdown) * self.write} h; state a longer period or a shorter save"
            )
        self.work_left = run.period  # h of work until the next snapshot
        self.write_left = 0.0
        self.since_snapshot = 0.0  # work since the last snapshot
        self.stake = (0.0, 0.0)  # work and saves that are not yet written

    def _speed(self) -> float:
        return 1.0 - self.slowdown if self.write_left > 0 else 1.0

    def _to_snapshot(self) -> float:
        return self.work_left / self._speed() if self._speed() > 0 else math.inf

    def phase_left(self) -> float:
        if self.phase != "work":
            return self.left
        return min(self.write_left, self._to_snapshot()) if self.write_left > 0 else self.work_left

    def spend(self, step: float) -> None:
        if self.phase == "recovery":
            self.accounts["recovery"] += step
            self.left -= step
            return
        work, writing = 0.0, self.write_left > 0
        if self.phase == "snapshot":
            self.left -= step
        else:
            work = step * self._speed()
            self.work_left = 0.0 if step == self._to_snapshot() else max(0.0, self.work_left - work)
            self.write_left = max(0.0, self.write_left - step)
            self.since_snapshot += work
            self.computed_h += step
        self.accounts["useful"] += work
        self.accounts["saves"] += step - work
        self.stake = (self.stake[0] + work, self.stake[1] + step - work)
        if writing and self.write_left == 0.0:
            self._written()

    def turn(self) -> None:
        if self.phase == "work" and self.work_left == 0.0:
            if self.write_left > 0:  # by rounding only
                self._written()
            self.phase, self.left = "snapshot", self.snapshot
        if self.phase == "snapshot" and self.left == 0.0:
            self.phase, self.work_left, self.write_left, self.since_snapshot = "work", self.period, self.write, 0.0
            if self.write == 0.0:
                self._written()
        if self.phase == "recovery" and self.left == 0.0:
            (self.phase, self.left), self.resume = self.resume or ("work", 0.0), None

    def at_stake(self) -> tuple[float, float]:
        return self.stake

    def _written(self) -> None:
        """Count the checkpoint whose write has ended: only the work since its snapshot can still be lost."""
        self.write_left = 0.0
        self.stake = (self.since_snapshot, 0.0)

    def interrupt(self, u1: float, group: int) -> bool:
        self.selecting, self.resume = False, None
        self.lose(*self.stake)
        self.stake = (0.0, 0.0)
        self.work_left, self.write_left, self.since_snapshot = self.period, 0.0, 0.0
        self.phase, self.left = "recovery", self.recovery
        self.turn()
        return True


class ReplicaGroups(Job):
    """Groups that go on when one of them is hit; hours are shared out by group, placed or not, out, stalled."""

    def __init__(self, system: System) -> None:
        super().__init__(False)
        self.groups = system.groups_per_zone * len(system.working)
        self.stall, self.rejoin = system.stall, system.rejoin
        self.placed = set(range(self.groups))
        each = system.groups_per_zone
        self.share = [float(system.zone_share[group // each]) / each for group in range(self.groups)]
        self.out_left = [0.0] * self.groups
        self.stall_left = 0.0

    def phase_left(self) -> float:
        return min((left for left in [*self.out_left, self.stall_left] if left > 0), default=math.inf)

    def spend(self, step: float) -> None:
        out = sum(self.share[group] for group in self.placed if self.out_left[group] > 0)
        here = sum(self.share[group] for group in self.placed if self.out_left[group] <= 0)
        self.accounts["recovery"] += step * out
        self.accounts["stalls" if self.stall_left > 0 else "useful"] += step * here
        self._pass(step)

    def stand_still(self, step: float) -> None:
        self.accounts["planned"] += step * sum(self.share[group] for group in self.placed)
        self._pass(step)

    def _pass(self, step: float) -> None:
        """What holds for all time that is not blocked: groups that are not placed, and the way back of those hit."""
        self.accounts["blocked"] += step * sum(
            share for group, share in enumerate(self.share) if group not in self.placed
        )
        self.out_left = [max(0.0, left - step) for left in self.out_left]
        self.stall_left = max(0.0, self.stall_left - step)

    def turn(self) -> None:
        pass

    def mark(self, tray: int) -> None:
        """Nothing is lost with groups, and nothing to go back to."""

    def lose_since_mark(self, tray: int) -> None:
        """Nothing is lost with groups."""

    def has(self, group: int) -> bool:
        return group in self.placed

    def interrupt(self, u1: float, group: int) -> bool:
        if self.out_left[group] > 0:
            return False
        self.out_left[group], self.stall_left = self.rejoin, self.stall
        return True
