"""The slow reference of the simulator: the rules of ``docs/simulation.md`` played as plainly as possible.

One replication is a loop over events: the earliest fault of a unit, on the clock on which it ages, or the earliest
other event, on the wall clock.  What the kernel computes fast must agree with this, event by event.  What is where is
kept by ``layout``, the job's phases by ``job``, what is recorded by ``ledger``.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, deque

from spareopt.simulation import laws
from spareopt.simulation.laws import exponential, uniforms
from spareopt.simulation.outcome import Outcome
from spareopt.simulation.reference.job import Checkpoints, Job, ReplicaGroups, job_of
from spareopt.simulation.reference.layout import NONE, Layout
from spareopt.simulation.reference.ledger import Ledger, Record
from spareopt.simulation.system import ALWAYS, COMPUTING, WORKING, Run, System

DAY, WEEK = 24.0, 168.0
SEVEN_SHIFTS_FROM = 120.0
ROUNDING = 1e-7  # h that work may end after its shift by the rounding of sums
HALVINGS = 80


def replicate(system: System, run: Run, record: Record | None = None) -> Outcome:
    """Play one replication of a system by the rules of ``docs/simulation.md``.

    ``record``, where given, gets (time in h, what, number) of every event in order: ``fault``, ``silent``, ``found``
    and ``up`` of a unit, ``visit`` to a block, ``window`` of a zone, ``software``, ``planned``, ``burst`` of a kind,
    ``part`` that arrives for a shelf, and the job's ``interruption``, ``blocked`` and ``unblocked``.
    Raises ValueError where scheme, ageing and period do not go together.
    """
    return Site(system, run, record).play()


def work_end(start: float, work: float, duty: float) -> float:
    """When work that a crew gets at ``start`` is done, with ``duty`` hours a week at work (all in h)."""
    if duty >= WEEK:
        return start + work
    shifts = 5 if duty < SEVEN_SHIFTS_FROM else 7
    day = math.floor(start / DAY)
    while True:
        begin, end = max(start, day * DAY), day * DAY + duty / shifts
        if day % 7 < shifts and begin < end:
            if begin + work <= end + ROUNDING:
                return begin + work
            work -= end - begin
        day += 1


class Site:
    """The site with its future events, and what each of them does."""

    def __init__(self, system: System, run: Run, record: Record | None) -> None:
        self.system, self.run = system, run
        self.asked: Counter[tuple[int, int]] = Counter()
        self.layout = Layout(system, lambda: self._next_numbers(laws.SITE, laws.SPARE)[0])
        self.job: Job = job_of(system, run)
        self.ledger = Ledger(system, record)
        self.now = 0.0
        self.interrupted_at = -1.0

        self.future: list[tuple[float, int, str, int]] = []  # time, order made, what, number
        self.made = 0
        self.fault_at: dict[int, float] = {}  # of units that age, on their clock
        self.life_left: dict[int, float] = {}  # of units that are up and do not age now
        self.faults_had = [0] * self.layout.units
        self.silent: dict[int, tuple[bool, int]] = {}  # trays by whether the fault hit the job, and which group

        self.visit = [""] * self.layout.blocks  # "called", "on"
        self.wait_window: list[set[int]] = [set() for _ in system.working]
        self.in_hand: set[int] = set()  # trays taken in hand at a window
        self.crews_busy = [0] * len(system.crews)
        self.tickets: list[deque[tuple[int, float]]] = [deque() for _ in system.crews]  # unit, since when
        self.stock = [int(n) for n in system.shelf]
        self.want_part: list[deque[tuple[int, float]]] = [deque() for _ in system.shelf]
        self._first_events()

    def _first_events(self) -> None:
        system = self.system
        self.traced = len(system.trace_time) > 0
        for row, time in enumerate(system.trace_time):
            self._at(float(time), "trace", row)
        self._next_software()
        self._next_planned()
        if not self.traced:
            for kind in range(len(system.burst_rate)):
                self._next_burst(kind)
            for zone, window in enumerate(system.window):
                if window > 0:
                    self._at(self._next_numbers(laws.WINDOW, zone)[0] * float(window), "window", zone)
            for unit in range(self.layout.units):
                self._new_life(unit)
        if system.warm >= 0:
            self._select()
        self._age()

    def play(self) -> Outcome:
        """All events until the end of the run."""
        run, row = self.run, 0
        while True:
            boundary = run.warm_up + row * run.bin
            fault_time, unit = self._next_fault()
            other_time = self.future[0][0] if self.future else math.inf
            recovered = self.job.recovered_at() if self.layout.standbys else math.inf
            time = min(boundary, other_time, fault_time, recovered)
            if self.ledger.recording and self._job_done(time):
                self._advance(self._end_of_job(time))
                if self.now > run.warm_up + (row - 1) * run.bin:
                    self.ledger.end_bin(self.job, self.layout)
                return self.ledger.outcome(self.now - run.warm_up)
            self._advance(time)
            if boundary <= time:
                self.ledger.end_bin(self.job, self.layout)
                if row == run.bins:
                    return self.ledger.outcome(self.now - run.warm_up)
                row += 1
            elif recovered <= min(other_time, fault_time):
                if self.job.selecting:
                    self.job.selecting = False
                else:
                    self._take_standbys()
            elif other_time <= fault_time:
                _, _, what, number = heapq.heappop(self.future)
                self._happen(what, number)
            else:
                self._fault(unit, by_age=True)
            if self.layout.standbys:
                self._see_standbys()
            self._age()

    def _advance(self, to: float) -> None:
        """Let time pass without an event."""
        self.ledger.pass_time(to - self.now, self.layout.usable, self.crews_busy)
        self.job.advance(to)
        self.ledger.follow(self.job)
        self.now = to

    def _job_done(self, time: float) -> bool:
        """Whether the job has the useful hours asked for at a time before the next event."""
        until = self.run.until_useful
        return until < math.inf and self.job.useful_at(time) - self.ledger.base[0] >= until

    def _end_of_job(self, after: float) -> float:
        """When the job has the useful hours asked for: before ``after``, by bisection."""
        before = self.now
        for _ in range(HALVINGS):
            middle = (before + after) / 2
            before, after = (before, middle) if self._job_done(middle) else (middle, after)
        return after

    def _happen(self, what: str, number: int) -> None:
        """An event of the wall clock."""
        steps = {
            "trace": self._trace,
            "delay": self._want_crew,
            "done": self._repaired,
            "found": self._found,
            "visit": self._visit,
            "window": self._window,
            "part": self._part,
            "software": self._software,
            "planned": self._planned,
            "burst": self._burst,
        }
        steps[what](number)

    def _at(self, time: float, what: str, number: int) -> None:
        """Make a future event on the wall clock."""
        heapq.heappush(self.future, (time, self.made, what, number))
        self.made += 1

    def _note(self, what: str, number: int) -> None:
        self.ledger.note(self.now, what, number)

    def _next_numbers(self, first: int, second: int) -> tuple[float, float]:
        """The next numbers of a source that is no unit."""
        self.asked[first, second] += 1
        return uniforms(self.run.key, first, second, self.asked[first, second] - 1, 0)

    def _numbers(self, unit: int, purpose: int) -> tuple[float, float]:
        """A unit's numbers for its present life, fault and repair."""
        first, second = (int(word) for word in self.system.unit_code[unit])
        return uniforms(self.run.key, first, second, 0 if purpose == laws.LEMON else self.faults_had[unit], purpose)

    # ---- ageing

    def _next_fault(self) -> tuple[float, int]:
        """The time of the next fault on the wall clock, and the unit."""
        if not self.fault_at:
            return math.inf, NONE
        at, unit = min((at, unit) for unit, at in self.fault_at.items())
        if self.system.ageing == ALWAYS:
            return at, unit
        if self.system.ageing == WORKING:
            return (math.inf if self.job.blocked else max(self.now, at + self.job.blocked_h)), unit
        assert isinstance(self.job, Checkpoints)
        return max(self.now, self.job.wall_of(at)), unit

    def _clock(self) -> float:
        """The clock on which units age."""
        if self.system.ageing == ALWAYS:
            return self.now
        return self.now - self.job.blocked_h if self.system.ageing == WORKING else self.job.computed_h

    def _ages(self, unit: int) -> bool:
        return self.system.ageing == ALWAYS or self.layout.in_use(unit)

    def _age(self) -> None:
        """Let units that age now go on with the life they have left, and keep that of the others."""
        clock = self._clock()
        if self.system.ageing != ALWAYS:
            for unit in [unit for unit in self.fault_at if not self._ages(unit)]:
                self.life_left[unit] = self.fault_at.pop(unit) - clock
        for unit in [unit for unit in self.life_left if self._ages(unit)]:
            self.fault_at[unit] = clock + self.life_left.pop(unit)

    def _new_life(self, unit: int) -> None:
        system, kind = self.system, int(self.system.unit_class[unit])
        rate = float(system.rate[kind]) * self.run.multiplier
        share, multiple = float(system.lemon_share[kind]), float(system.lemon_multiple[kind])
        if share > 0:
            lemon = self._numbers(unit, laws.LEMON)[0] < share
            rate *= (multiple if lemon else 1.0) / (1.0 + share * (multiple - 1.0))
        if rate <= 0:
            return
        u1, u2 = self._numbers(unit, laws.LIFE)
        life = laws.draw(int(system.life_law[kind]), float(system.life_shape[kind]), 1.0 / rate, u1, u2)
        if self.faults_had[unit] == 0 and system.burn_in[kind] > 0:
            burn_in, faster = float(system.burn_in[kind]), float(system.burn_in_multiple[kind])
            life = life / faster if life / faster < burn_in else life - (faster - 1.0) * burn_in
        self.life_left[unit] = life

    # ---- faults

    def _fault(self, unit: int, by_age: bool) -> None:
        """A fault of a unit, at the end of its life or in a burst."""
        self.fault_at.pop(unit, None)
        self.life_left.pop(unit, None)
        self.ledger.events += 1
        kind = int(self.system.unit_class[unit])
        if unit < self.layout.trays:
            u1, u2 = self._numbers(unit, laws.SILENT)
            if u1 < self.system.silent_share[kind]:
                self._note("silent", unit)
                hit, group = self.layout.struck(unit)
                self.silent[unit] = hit and not self.job.blocked, group
                if self.silent[unit][0]:
                    self.job.mark(unit)
                self._at(self.now + exponential(float(self.system.found_after[kind]), u2), "found", unit)
                return
        self._note("fault", unit)
        self._go_down(unit, by_age)
        self._repair(unit)

    def _found(self, unit: int) -> None:
        """A silent fault is found: the job loses what it has done since, and the tray goes down."""
        self._note("found", unit)
        hit, group = self.silent.pop(unit)
        if hit:
            self._interrupt(group, self.job.has(group), from_storage=True)
            self.job.lose_since_mark(unit)
        self._go_down(unit, by_age=False, interrupt=not hit)
        self._repair(unit)

    def _go_down(self, unit: int, by_age: bool, interrupt: bool = True) -> None:
        self.ledger.faults += 1
        hit, group = self.layout.struck(unit)
        interrupts, there = interrupt and hit and self._exposed(by_age), self.job.has(group)
        self.layout.go_down(unit)
        self._tell_job()
        if interrupts:
            self._interrupt(group, there)
        self._settle()

    def _exposed(self, by_age: bool) -> bool:
        """Whether a fault now interrupts the job: where units age only while it computes, only then."""
        computing = by_age or self.system.ageing != COMPUTING or self.job.computing()
        return computing and not self.job.blocked

    def _interrupt(self, group: int, there: bool, from_storage: bool = False) -> None:
        """Interrupt the job; ``group``: the one that is hit, none where software fails; ``there``: if it was placed."""
        if not isinstance(self.job, ReplicaGroups) and not from_storage and self.interrupted_at == self.now:
            return  # it is part of what has just interrupted it
        u1, u2 = self._next_numbers(laws.SITE, laws.RECOVERY)
        if isinstance(self.job, ReplicaGroups) and group == NONE:
            group = math.floor(u2 * self.job.groups)
            there = self.job.has(group)
        if there and self.job.interrupt(1.0 if from_storage else u1, group):
            self.ledger.interruptions += 1
            self.interrupted_at = self.now
            self._note("interruption", 0)

    def _go_up(self, unit: int) -> None:
        self._note("up", unit)
        self.ledger.events += 1
        self.faults_had[unit] += 1
        self.layout.go_up(unit)
        if not self.traced:
            self._new_life(unit)
        self._tell_job()
        self._settle()

    def _tell_job(self) -> None:
        """Tell the job whether a zone is short, or which groups are placed."""
        if isinstance(self.job, ReplicaGroups) and self.system.shrink:
            self.job.placed = self.layout.placed_groups()
            self.job.short = not self.job.placed
        else:
            self.job.short = any(self.layout.holes)

    def _settle(self) -> None:
        self.job.settle()
        self.ledger.follow(self.job)

    # ---- standbys

    def _see_standbys(self) -> None:
        """A job that has recovered but lacks blocks takes standbys, or selects hosts once they are there."""
        job = self.job
        if job.short and job.phase != "recovery":
            if any(self.layout.waits):
                self._try_to_select()
            else:
                self._take_standbys()
        self._settle()

    def _take_standbys(self) -> None:
        """Standbys take the place of what was lost, if each zone has enough; else hosts are selected anew."""
        layout = self.layout
        lost = [len(holes) for holes in layout.holes]
        if all(ready >= holes for ready, holes in zip(layout.ready, lost, strict=True)):
            for zone, holes in enumerate(lost):
                layout.ready[zone] -= holes
                layout.fill(zone)
            self._tell_job()
            return
        for zone, holes in enumerate(lost):
            if holes > layout.ready[zone]:
                layout.waits[zone] = holes > len(layout.idle[zone])
        self._try_to_select()

    def _try_to_select(self) -> None:
        """Select hosts, unless a zone that ran out waits until all its standbys are there, too."""
        layout = self.layout
        for zone, holes in enumerate(layout.holes):
            left = len(layout.idle[zone]) - len(holes)
            if layout.waits[zone] and left >= layout.warm[zone]:
                layout.waits[zone] = False
            if layout.waits[zone] or left < 0:
                return
        self._select()

    def _select(self) -> None:
        """Fill all holes and make idle blocks of each zone its standbys, which takes the job some time."""
        layout = self.layout
        for zone in range(layout.zones):
            layout.fill(zone)
            layout.ready[zone] = min(layout.warm[zone], len(layout.idle[zone]))
        self.ledger.selections += 1
        self.job.select(self.system.selection)
        self._tell_job()

    # ---- repair

    def _way_of(self, unit: int) -> str:
        """How a unit is repaired: at a window, in visits to its block, or by itself."""
        zone = self.layout.zone_of(unit)
        if unit >= self.layout.trays:
            return "itself"
        if self.system.window[zone] > 0:
            return "window"
        return "visit" if self.system.start_at[zone] > 1 or self.system.out_of_service[zone] else "itself"

    def _hands_on(self, unit: int) -> float:
        """The hands-on time of a unit's present fault."""
        system, kind = self.system, int(self.system.unit_class[unit])
        way, _ = self._numbers(unit, laws.WAY)
        phase, last = int(system.phase[kind]), int(system.phase[kind + 1]) - 1
        while phase < last and not system.phase_up_to[phase] > way:
            phase += 1
        u1, u2 = self._numbers(unit, laws.WORK)
        mean = float(system.phase_mean[phase])
        return laws.draw(int(system.repair_law[kind]), float(system.repair_shape[kind]), mean, u1, u2)

    def _repair(self, unit: int) -> None:
        """Begin the repair of a unit that went down."""
        zone, way = self.layout.zone_of(unit), self._way_of(unit)
        if way == "window":
            self.wait_window[zone].add(unit)
        elif way == "visit":
            block = self.layout.block_of[unit]
            if self.visit[block] == "on":
                self._work(unit)
            elif self.visit[block] == "" and self.layout.trays_down[block] >= self.system.start_at[zone]:
                self._call_visit(block)
        elif not self._waits_for_part(unit):
            self._delay(unit)

    def _waits_for_part(self, unit: int) -> bool:
        """Order a part where the fault takes one; whether the shelf is empty."""
        shelf = int(self.system.zone_shelf[self.layout.zone_of(unit)])
        if unit >= self.layout.trays or shelf < 0:
            return False
        if not self._numbers(unit, laws.WAY)[1] < self.system.parts_share[shelf]:
            return False
        self.ledger.part_ordered(shelf)
        lead_time = exponential(float(self.system.lead_time[shelf]), self._next_numbers(laws.ORDER, shelf)[0])
        self._at(self.now + lead_time, "part", shelf)
        if self.stock[shelf] > 0:
            self.stock[shelf] -= 1
            return False
        self.want_part[shelf].append((unit, self.now))
        return True

    def _part(self, shelf: int) -> None:
        """A part arrives, for the tray that has waited longest or for the shelf."""
        self._note("part", shelf)
        if not self.want_part[shelf]:
            self.stock[shelf] += 1
            return
        unit, since = self.want_part[shelf].popleft()
        self.ledger.part_given(shelf, self.now - since)
        self._delay(unit)

    def _delay(self, unit: int) -> None:
        """The off-crew delay, if any, and then hands-on work."""
        mean = float(self.system.delay[self.system.unit_class[unit]])
        if mean > 0:
            self._at(self.now + exponential(mean, self._numbers(unit, laws.DELAY)[0]), "delay", unit)
        else:
            self._want_crew(unit)

    def _crews_of(self, unit: int) -> int:
        """The crews that a unit's hands-on work holds one of, if they are not ample."""
        if not self.system.staffed[self.system.unit_class[unit]] or self._way_of(unit) != "itself":
            return NONE
        return int(self.system.zone_crews[self.layout.zone_of(unit)])

    def _work(self, unit: int) -> None:
        """Hands-on work without a crew to be waited for."""
        self._at(self.now + self._hands_on(unit), "done", unit)

    def _want_crew(self, unit: int) -> None:
        crews = self._crews_of(unit)
        if crews == NONE:
            self._work(unit)
        else:
            self.tickets[crews].append((unit, self.now))
            self._give_crew(crews)

    def _give_crew(self, crews: int) -> None:
        while self.crews_busy[crews] < self.system.crews[crews] and self.tickets[crews]:
            unit, since = self.tickets[crews].popleft()
            self.crews_busy[crews] += 1
            self.ledger.crew_given(crews, self.now - since)
            self._at(work_end(self.now, self._hands_on(unit), float(self.system.duty[crews])), "done", unit)

    def _repaired(self, unit: int) -> None:
        """Hands-on work on a unit is done."""
        layout, crews, way = self.layout, self._crews_of(unit), self._way_of(unit)
        if unit < layout.trays:
            block = layout.block_of[unit]
            if way == "itself" and layout.slot_of[block] != NONE:
                self._stop(float(self.system.swap_stop[layout.zone_of(unit)]))
            self.in_hand.discard(unit)
            if way == "visit" and layout.trays_down[block] == 1:
                self.visit[block], layout.serviced[block] = "", False
            elif way == "window" and self.in_hand.isdisjoint(layout.trays_of(block)):
                layout.serviced[block] = False
        self._go_up(unit)
        if crews != NONE:
            self.crews_busy[crews] -= 1
            self._give_crew(crews)

    def _call_visit(self, block: int) -> None:
        """Call a visit to a block, which starts after the delay of its trays' class."""
        mean = float(self.system.delay[self.system.unit_class[self.layout.trays_of(block)[0]]])
        self.visit[block] = "called"
        u1, _ = self._next_numbers(laws.VISIT, block)
        if mean > 0:
            self._at(self.now + exponential(mean, u1), "visit", block)
        else:
            self._visit(block)

    def _visit(self, block: int) -> None:
        """A visit to a block starts: every tray that is down gets hands-on work."""
        self._note("visit", block)
        self.visit[block] = "on"
        self._take_in_hand(int(self.system.block_zone[block]), [block])
        for tray in self.layout.trays_of(block):
            if self.layout.down[tray]:
                self._work(tray)

    def _window(self, zone: int) -> None:
        """A window of a zone: the trays that wait for it are taken in hand."""
        self._note("window", zone)
        self._at(self.now + float(self.system.window[zone]), "window", zone)
        trays = sorted(self.wait_window[zone])
        self.wait_window[zone].clear()
        self.in_hand.update(trays)
        self._take_in_hand(zone, sorted({self.layout.block_of[tray] for tray in trays}))
        for tray in trays:
            self._delay(tray)

    def _take_in_hand(self, zone: int, blocks: list[int]) -> None:
        """The job stands still where a block is in a slot; then blocks are out of service, if that is the rule."""
        if any(self.layout.slot_of[block] != NONE for block in blocks):
            self._stop(float(self.system.swap_stop[zone]))
        if self.system.out_of_service[zone]:
            for block in blocks:
                self.layout.serviced[block] = True
            self.layout.update(blocks)
            self._tell_job()
            self._settle()

    # ---- what comes by itself

    def _stop(self, hours: float) -> None:
        """The job stands still, unless it is blocked."""
        if not self.job.blocked:
            self.job.stop(self.now + hours)

    def _come(self, rate: float, what: str, number: int, source: tuple[int, int]) -> None:
        """Make the next event of a source that has so many per hour."""
        if rate > 0:
            self._at(self.now + exponential(1.0 / rate, self._next_numbers(*source)[0]), what, number)

    def _next_software(self) -> None:
        rate = self.system.software_rate * self.run.multiplier
        self._come(rate, "software", 0, (laws.SITE, laws.SOFTWARE))

    def _software(self, _: int) -> None:
        self._note("software", 0)
        self._next_software()
        if self._exposed(by_age=False):
            self._interrupt(NONE, True)
            self._settle()

    def _next_planned(self) -> None:
        self._come(self.system.planned_rate, "planned", 0, (laws.SITE, laws.PLANNED))

    def _planned(self, _: int) -> None:
        self._note("planned", 0)
        self._next_planned()
        self._stop(self.system.planned_stop)

    def _next_burst(self, kind: int) -> None:
        rate = float(self.system.burst_rate[kind]) * self.run.multiplier
        self._come(rate, "burst", kind, (laws.BURST, kind))

    def _burst(self, kind: int) -> None:
        """Trays of neighbouring racks fail one by one."""
        self._note("burst", kind)
        system, layout = self.system, self.layout
        burst = self.asked[laws.BURST, kind] - 1
        self._next_burst(kind)
        u1, u2 = uniforms(self.run.key, laws.BURST, kind, burst, 1)
        zone = math.floor(u1 * layout.zones)
        first, stop = int(system.zone_block[zone]), int(system.zone_block[zone + 1])
        each = int(system.rack_blocks[zone])
        racks = math.ceil((stop - first) / each)
        struck = min(int(system.burst_racks[kind]), racks)
        start = first + math.floor(u2 * (racks - struck + 1)) * each
        trays = range(int(system.block_tray[start]), int(system.block_tray[min(stop, start + struck * each)]))
        for i, tray in enumerate(trays):
            fails = uniforms(self.run.key, laws.BURST, kind, burst, 2 + i)[0] < system.burst_share[kind]
            if fails and not layout.down[tray] and tray not in self.silent:
                self._fault(tray, by_age=False)

    def _trace(self, row: int) -> None:
        """A tray goes down or comes back as it did in the trace."""
        tray, down = int(self.system.trace_tray[row]), bool(self.system.trace_down[row])
        if down and not self.layout.down[tray]:
            self.ledger.events += 1
            self._note("fault", tray)
            self._go_down(tray, by_age=False)
        elif not down and self.layout.down[tray]:
            self._go_up(tray)
