"""From what replications recorded to what was found."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version

from spareopt.simulation.measured import Measured
from spareopt.simulation.result import Simulation
from spareopt.simulation.runs import Status
from spareopt.simulation.score import agreement, crew_use, score
from spareopt.simulation.spread import (
    blocked_episodes,
    interruptions,
    quarter_course,
    quarter_goodput,
    quarters,
    replication_rows,
    selections,
    unusable_blocks,
    usable_blocks,
    wall_time,
)
from spareopt.simulation.targets import quarter_target

PACKAGES = ("spareopt", "numpy", "numba")


def result_of(measured: Measured, status: Status, lost: Sequence[int]) -> Simulation:
    """The result of replications, at least one."""
    evaluation, intervals = score(measured)
    instance, options = measured.instance, measured.options
    return Simulation(
        instance=instance.name,
        input_hash=instance.input_hash(),
        applied=instance.applied,
        decisions=measured.decisions,
        status=status,
        done=len(measured.outcomes),
        lost=tuple(lost),
        options=options,
        evaluation=evaluation,
        intervals=intervals,
        exact=measured.exact,
        agreement=agreement(measured, intervals),
        quarters=quarters(measured),
        blocked_episodes=blocked_episodes(measured),
        unusable_blocks=unusable_blocks(measured),
        crews=crew_use(measured),
        interruptions=interruptions(measured),
        selections=selections(measured),
        wall_time=wall_time(measured) if options.until_job else None,
        replications=replication_rows(measured),
        usable_blocks=usable_blocks(measured),
        versions=versions(),
        target=None
        if options.target is None
        else quarter_target(quarter_goodput(measured), options.target, options.confidence),
        quarter_course=quarter_course(measured),
    )


def versions() -> dict[str, str]:
    """The versions that a simulation depends on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
