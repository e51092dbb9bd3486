"""How each replication is run: its random key, the multiplier of the rates, checkpoint period, warm-up and bins."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from spareopt.checkpoint_plans import CheckpointPlan
from spareopt.decisions import Decisions
from spareopt.evaluation import Evaluation
from spareopt.instance import Instance
from spareopt.numerics.two_level import TwoLevel
from spareopt.schemes import recovery_scheme
from spareopt.simulation.system import EXPONENTIAL, Run, System
from spareopt.units import HOURS_PER_YEAR

QUARTER = HOURS_PER_YEAR / 4
WEEKS_PER_QUARTER = 13
WEEKLY_UP_TO = 10.0
"""Years up to which the record has a row a week; longer ones have one a quarter."""
FINEST = 52
"""Rows of a record that is shorter than a quarter, or no whole number of parts of a quarter."""
WARM_UP_TIMES = 20.0
"""The warm-up in the longest mean time of what returns to rest: e^-20 of the start is left."""
NEVER = 2**31 - 1
"""``storage_every`` where no save needs to go to storage."""
WEEK = 168.0


def key_of(seed: int, index: int) -> tuple[int, int]:
    """The random key of a replication: the same whatever process plays it, and in which order."""
    first, second = np.random.SeedSequence(seed, spawn_key=(index,)).generate_state(2, np.uint32)
    return int(first), int(second)


def multiplier_of(seed: int, index: int, variance: float | None) -> float:
    """The multiplier of all fault rates in a replication: Gamma with mean 1; exactly 1 where rates are certain."""
    if variance is None:
        return 1.0
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, 1)))
    return float(generator.gamma(1.0 / variance, variance))


def bins_of(years: float) -> tuple[float, int, int | None]:
    """Hours of a bin, the number of bins, and how many make a quarter (None where no number does).

    A bin is a week (a thirteenth of a quarter) up to ten years, else a quarter; a finer part of a quarter where the
    years need it to be filled; a fifty-second of a record that is shorter than a quarter or that no part up to a
    fifty-second of a quarter fills.
    """
    quarters = Fraction(4 * years).limit_denominator(FINEST)
    if quarters < 1 or abs(float(quarters) - 4 * years) > 1e-9 * years:
        return years * HOURS_PER_YEAR / FINEST, FINEST, None
    parts = quarters.denominator
    if years <= WEEKLY_UP_TO:
        parts *= -(-WEEKS_PER_QUARTER // parts)
    return QUARTER / parts, int(quarters * parts), parts


def default_warm_up(system: System, exact: Evaluation) -> float:
    """Twenty times the longest mean time in which what is down, waits or is on order returns, h.

    Repairs (each way of them, stretched where crews are on duty for part of the week), off-crew delays, lead times,
    windows, undiscovered faults, the filling up of blocks that wait for a visit, groups that are out, and the mean
    waits for crews and parts.
    """
    times = [np.zeros(1), system.phase_mean, system.delay, system.lead_time, system.window, system.found_after]
    times.append(np.array([system.rejoin, system.recovery, system.memory_recovery]))
    part_time = system.duty < WEEK
    if len(system.duty) and part_time.any():
        times += [np.array([WEEK]), system.phase_mean * WEEK / system.duty.min()]
    waits = [wait for zone in exact.zones for wait in (zone.crew_mean_wait_h, zone.part_mean_wait_h)]
    times.append(np.array([wait for wait in waits if wait is not None]))
    times.append(_filling(system))
    return WARM_UP_TIMES * max(float(np.max(part, initial=0.0)) for part in times)


def young_at_start(system: System) -> bool:
    """Whether new units fail at another rate than old ones, so that a warm-up in repair times leaves them young."""
    ageing = (system.life_law != EXPONENTIAL) | (system.burn_in > 0)
    return bool(np.any(ageing & (system.rate > 0)))


def _filling(system: System) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Mean time until as many trays of a block are down as start a visit, h, where blocks wait for more than one."""
    result = []
    for zone in np.flatnonzero(system.start_at > 1):
        first = system.block_tray[system.zone_block[zone]]
        trays = system.block_tray[system.zone_block[zone] + 1] - first
        rate = float(system.rate[system.unit_class[first]])
        if rate > 0:
            steps = np.arange(system.start_at[zone])
            result.append(float(np.sum(1.0 / (rate * np.maximum(trays - steps, 1)))))
    return np.array(result)


def run_maker(
    instance: Instance, decisions: Decisions, exact: Evaluation, *, seed: int, warm_up: float, years: float,
    until_useful: float = np.inf,
) -> Callable[[int], Run]:  # fmt: skip
    """How replication number i of a plan is run.

    A "best" period (or number of saves in memory for one on storage) is the best at the plan's interruption rate
    times the replication's multiplier, as if it were known; given ones stay.
    """
    plan: CheckpointPlan = next(p for p in instance.checkpoint_plans if p.name == decisions.checkpoint_plan)
    scheme = recovery_scheme(instance, plan, "exact")
    uncertainty = instance.failures.uncertainty
    variance = None if uncertainty is None else uncertainty.multiplier_variance
    hours, bins, _ = bins_of(years)

    def run_of(index: int) -> Run:
        multiplier = multiplier_of(seed, index, variance)
        rate = np.array(exact.interruption_rate_per_h * multiplier)
        every = float(scheme.best_storage_every(rate)) if isinstance(scheme, TwoLevel) else 1.0
        return Run(
            key=key_of(seed, index),
            multiplier=multiplier,
            period=float(scheme.best_period(rate)),
            storage_every=round(every) if every < NEVER else NEVER,
            warm_up=warm_up,
            bin=hours,
            bins=bins,
            until_useful=until_useful,
        )

    return run_of
