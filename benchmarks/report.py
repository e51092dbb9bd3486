"""How long a report takes beside the solve before it, and what-ifs with zones alike beside those by MILP.

python benchmarks/report.py [INSTANCE ...]      (from anywhere; all shipped instances when left out)
Seconds are of CPU, of this process with its threads: they depend little on what else runs.  The simulator is compiled
before anything is timed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import spareopt
from spareopt import instances
from spareopt.instance import Instance

T = TypeVar("T")
BOTH_WAYS = ("academic-1k", "tpu-like")
"""Instances whose what-ifs are quick enough by MILP."""
ANALYSES: dict[str, Callable[[Instance, bool], object]] = {
    "tornado": lambda instance, alike: spareopt.tornado(instance, alike=alike),
    "marginal": lambda instance, alike: spareopt.marginal_values(instance, alike=alike),
    "frontier": lambda instance, alike: spareopt.frontier(instance, "cost", alike=alike),
}


def timed(what: Callable[[], T]) -> tuple[float, T]:
    """Seconds of CPU that something takes, and what it returns."""
    began = time.process_time()
    found = what()
    return time.process_time() - began, found


def reports(names: list[str]) -> None:
    """A row for each instance: its solve, its report, and how large the page is."""
    print(f"{'instance':18} {'solve, s':>9} {'report, s':>9} {'ratio':>7} {'page, kB':>9}")
    for name in names:
        instance = spareopt.read_instance(name)
        solving, plan = timed(partial(spareopt.solve, instance))
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            writing, _ = timed(partial(spareopt.write_report, plan, instance, page))
            size = page.stat().st_size / 1e3
        print(f"{name:18} {solving:9.2f} {writing:9.2f} {writing / solving:7.1f} {size:9.0f}", flush=True)


def both_ways(names: tuple[str, ...]) -> None:
    """A row for each analysis of an instance: with zones alike, and by MILP."""
    print(f"\n{'what-ifs':29} {'alike, s':>9} {'MILP, s':>9} {'ratio':>7}")
    for name in names:
        instance = spareopt.read_instance(name)
        for what, make in ANALYSES.items():
            alike, milp = (timed(partial(make, instance, way))[0] for way in (True, False))
            print(f"{name:18} {what:10} {alike:9.2f} {milp:9.2f} {milp / alike:7.1f}", flush=True)


def main() -> None:
    """Compile and load what is slow the first time, then time both."""
    small = spareopt.read_instance("meta-2026")
    with tempfile.TemporaryDirectory() as folder:
        spareopt.write_report(spareopt.solve(small), small, Path(folder) / "first.html")
    reports(sys.argv[1:] or sorted(instances.names()))
    both_ways(BOTH_WAYS)


if __name__ == "__main__":
    main()
