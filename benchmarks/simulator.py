"""Events a second of a SimPy model, the unit kernel and the kernel of counts side by side; memory; a site's year.

python benchmarks/simulator.py
An event is one failure or one end of a repair.  Needs SimPy (pip install "spareopt[bench]"), and Linux for the peak of
memory.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import simpy

from spareopt import read_instance
from spareopt.decisions import read_decisions
from spareopt.evaluation import evaluate
from spareopt.simulation.build import build_system
from spareopt.simulation.kernel import counts
from spareopt.simulation.kernel import replicate as by_units
from spareopt.simulation.outcome import LEDGER, Outcome
from spareopt.simulation.setup import run_maker
from spareopt.simulation.system import Run, System

PLANS: dict[str, dict[str, Any]] = {
    "gb200-4x256": {
        "zones": [
            {
                "zone": "zone", "count": 4, "design": "nvl72", "racks": 256, "intra_block_spares": 1,
                "inter_block_spares": 4, "repair_plan": "shelf-round-the-clock",
            }
        ],
        "checkpoint_plan": "sync-best",
    },
    "h100-100k": {
        "zones": [
            {
                "zone": "building", "count": 4, "design": "hgx-h100", "racks": 3150, "intra_block_spares": 0,
                "inter_block_spares": 25, "repair_plan": "parts-on-site",
            }
        ],
        "checkpoint_plan": "fast-restart",
    },
}  # fmt: skip
KERNELS: dict[str, Callable[[System, Run], Outcome]] = {"units": by_units, "counts": counts.replicate}
ROUNDS = 7
YEARS = {"units": 20.0, "counts": 100.0}
"""Years of a round, so that each takes a good part of a second."""
SIMPY_HOURS = 40_000.0


def subject(name: str, years: float, index: int = 0) -> tuple[System, Run]:
    """A shipped instance with the plan above, and a run of so many years from time 0."""
    instance, decisions = read_instance(name), read_decisions(PLANS[name])
    exact = evaluate(instance, decisions)
    run = run_maker(instance, decisions, exact, seed=0, warm_up=0.0, years=years)(index)
    return build_system(instance, decisions), run


# --- the same in SimPy


class Job:
    """What the job does between events, in closed form: work and saves since the last recovery."""

    def __init__(self, period: float, save: float, recovery: float) -> None:
        self.period, self.cycle, self.recovery = period, period + save, recovery
        self.useful, self.blocked, self.interruptions = 0.0, 0.0, 0
        self.short, self.since, self.done, self.left = False, 0.0, 0.0, 0.0

    def advance(self, now: float) -> None:
        time, self.since = now - self.since, now
        if self.short:
            self.blocked += time
            return
        recovering = min(self.left, time)
        self.left -= recovering
        self.done += time - recovering

    def interrupt(self, now: float) -> None:
        self.advance(now)
        self.useful += self.done // self.cycle * self.period
        self.done, self.left = 0.0, self.recovery
        self.interruptions += 1

    def end(self, now: float) -> None:
        self.advance(now)
        self.useful += self.done // self.cycle * self.period + min(self.done % self.cycle, self.period)


class Site:
    """Zones of blocks with a rack each, ample crews, exponential lives and repairs: a process for each unit."""

    def __init__(self, system: System, run: Run, seed: int) -> None:
        self.random, self.environment = random.Random(seed), simpy.Environment()
        self.job = Job(run.period, system.save, system.recovery)
        self.events, self.holes = 0, 0
        self.spares, self.working = int(system.spare_trays[0]), int(system.working[0])
        zones = len(system.working)
        self.trays = int(system.block_tray[1])
        self.idle: list[list[int]] = [[] for _ in range(zones)]
        self.zone_holes = [0] * zones
        self.zone = system.block_zone.tolist()
        self.failed, self.dark, self.in_slot = ([0] * len(self.zone) for _ in range(3))
        for zone in range(zones):
            first, stop = (int(b) for b in system.zone_block[zone : zone + 2])
            for block in range(first, stop):
                self.in_slot[block] = int(block < first + self.working)
            self.idle[zone] = list(range(first + self.working, stop))
        rates, means = system.rate.tolist(), system.phase_mean.tolist()
        for block in range(len(self.zone)):
            for _ in range(self.trays):
                self.environment.process(self.tray(block, rates[0], 1.0 / means[0]))
            self.environment.process(self.rack(block, rates[1], 1.0 / means[1]))
        self.environment.process(self.software(system.software_rate))
        self.environment.run(until=1e-9)  # so that starting all processes counts for nothing

    def tray(self, block: int, rate: float, repair: float) -> Generator[simpy.Event, Any, None]:
        timeout, draw = self.environment.timeout, self.random.expovariate
        while True:
            yield timeout(draw(rate))
            self.events += 1
            failed = self.failed[block]
            if self.in_slot[block] and not self.holes:
                up = self.trays - failed
                if self.random.random() * up < self.trays - self.spares:  # it was at work
                    self.job.interrupt(self.environment.now)
            self.failed[block] = failed + 1
            if failed == self.spares and not self.dark[block]:
                self.lose(block)
            yield timeout(draw(repair))
            self.events += 1
            self.failed[block] -= 1
            if self.failed[block] == self.spares and not self.dark[block]:
                self.regain(block)

    def rack(self, block: int, rate: float, repair: float) -> Generator[simpy.Event, Any, None]:
        timeout, draw = self.environment.timeout, self.random.expovariate
        while True:
            yield timeout(draw(rate))
            self.events += 1
            if self.in_slot[block] and not self.holes:
                self.job.interrupt(self.environment.now)
            self.dark[block] = 1
            if self.failed[block] <= self.spares:
                self.lose(block)
            yield timeout(draw(repair))
            self.events += 1
            self.dark[block] = 0
            if self.failed[block] <= self.spares:
                self.regain(block)

    def software(self, rate: float) -> Generator[simpy.Event, Any, None]:
        while True:
            yield self.environment.timeout(self.random.expovariate(rate))
            if not self.holes:
                self.job.interrupt(self.environment.now)

    def lose(self, block: int) -> None:
        zone = self.zone[block]
        if self.in_slot[block]:
            self.in_slot[block] = 0
            self.zone_holes[zone] += 1
            self.holes += 1
        else:
            self.idle[zone].remove(block)
        self.fill(zone)

    def regain(self, block: int) -> None:
        self.idle[self.zone[block]].append(block)
        self.fill(self.zone[block])

    def fill(self, zone: int) -> None:
        idle = self.idle[zone]
        while self.zone_holes[zone] and idle:
            self.in_slot[idle.pop(self.random.randrange(len(idle)))] = 1
            self.zone_holes[zone] -= 1
            self.holes -= 1
        if (self.holes > 0) != self.job.short:
            self.job.advance(self.environment.now)
            self.job.short = self.holes > 0

    def play(self, hours: float) -> None:
        """Go on until a time; the units are there by time 0."""
        self.environment.run(until=hours)
        self.job.end(hours)


# --- what is measured


def rates() -> None:
    """Events a second, round by round in turn, and the ratios of each round."""
    name = "gb200-4x256"
    system, short = subject(name, 1.0)
    for kernel in KERNELS.values():
        kernel(system, short)  # compiled
    found: dict[str, list[float]] = {"SimPy": [], "units": [], "counts": []}
    shares: dict[str, list[float]] = {kernel: [] for kernel in found}
    for i in range(ROUNDS):
        site = Site(system, short, i)  # not timed
        start = time.perf_counter()
        site.play(SIMPY_HOURS)
        found["SimPy"].append(site.events / (time.perf_counter() - start))
        shares["SimPy"].append(site.job.useful / SIMPY_HOURS)
        for kernel, replicate in KERNELS.items():
            system, run = subject(name, YEARS[kernel], i)
            start = time.perf_counter()
            outcome = replicate(system, run)
            found[kernel].append(outcome.events / (time.perf_counter() - start))
            shares[kernel].append(outcome.ledger[-1, LEDGER.index("useful")] / outcome.hours)
    print(f"{name}: {ROUNDS} rounds in turn, million events a second")
    print(f"{'':10} {'median':>8} {'least':>8} {'most':>8} {'/ SimPy':>9} {'/ units':>9} {'useful':>8}")
    for kernel, values in found.items():
        cells = [f"{f(values) / 1e6:8.2f}" for f in (statistics.median, min, max)]
        ratios = [
            f"{statistics.median(a / b for a, b in zip(values, found[other], strict=True)):9.1f}"
            for other in ("SimPy", "units")
        ]
        print(f"{kernel:10}", *cells, *ratios, f"{statistics.mean(shares[kernel]):8.4f}")


def memory() -> None:
    """How much the peak of resident memory grows in a run of 1, 10 and 100 years, each in a process of its own."""
    print("\ngb200-4x256: growth of peak resident memory in one run, MB")
    print(f"{'':10}", *(f"{years:>6g} years" for years in (1, 10, 100)))
    for kernel in KERNELS:
        cells = []
        for years in (1, 10, 100):
            command = [sys.executable, __file__, "memory", kernel, str(years)]
            cells.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
        print(f"{kernel:10}", *(f"{cell:>12}" for cell in cells))


def growth(kernel: str, years: float) -> None:
    """Print the growth of a run's peak memory in this process, MB."""
    small = read_instance("academic-1k")
    decisions = read_decisions(
        {
            "zones": [
                {
                    "zone": "cluster", "design": "hgx-h100", "racks": 128, "intra_block_spares": 0,
                    "inter_block_spares": 5, "repair_plan": "day-shift",
                }
            ],
            "checkpoint_plan": "automatic-retry",
        }
    )  # fmt: skip
    run = run_maker(small, decisions, evaluate(small, decisions), seed=0, warm_up=0.0, years=0.25)(0)
    KERNELS[kernel](build_system(small, decisions), run)  # compiled and loaded
    system, run = subject("gb200-4x256", years)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = resident("VmRSS")
    KERNELS[kernel](system, run)
    print(f"{resident('VmHWM') - before:.1f}")


def resident(which: str) -> float:
    """Resident memory of this process or its peak, MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(which))


def site_year() -> None:
    """Seconds for a year of a site of 100,800 GPUs: one replication, and 20 one after the other."""
    print("\nh100-100k (12,600 servers): seconds for one year")
    print(f"{'':10} {'1 replication':>14} {'20':>8} {'events a year':>14}")
    for kernel, replicate in KERNELS.items():
        seconds, events = [], 0
        for i in range(20):
            system, run = subject("h100-100k", 1.0, i)
            start = time.perf_counter()
            events = replicate(system, run).events
            seconds.append(time.perf_counter() - start)
        print(f"{kernel:10} {statistics.median(seconds):14.4f} {sum(seconds):8.3f} {events:14,}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        growth(sys.argv[2], float(sys.argv[3]))
    else:
        rates()
        memory()
        site_year()
