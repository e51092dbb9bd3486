"""The ways to run a zone that is built in one way, scored exactly, without those that others match in any quarter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.building import Site, ZoneBuild
from spareopt.candidates import energy_cost_per_kw_year, stack, zone_candidates
from spareopt.cohorts import Cohort
from spareopt.dominance import Going, pareto
from spareopt.horizon import Horizon
from spareopt.instance import Instance
from spareopt.numerics.recovery import Curvature, RecoveryScheme

Array = NDArray[np.float64]


class Make(NamedTuple):
    """A way to build a zone of a class: the design, its racks, and their cohorts where some are young."""

    zone: int
    design: int
    racks: int
    cohorts: tuple[Cohort, ...] = ()


@dataclass(frozen=True)
class Made:
    """The candidates of one make, in the columns of a candidates' table, and P(short) of each (rows)."""

    table: pd.DataFrame
    short: Array


def score_make(site: Site, make: Make, excluded: Counter[str]) -> Made | None:
    """All ways to run a make; None where there is none."""
    instance = site.instance
    build = ZoneBuild(site, instance.zones[make.zone], instance.designs[make.design], make.racks, make.cohorts)
    frames: list[Mapping[str, Any]] = []
    shorts = []
    for frame, short in zone_candidates(build, excluded):
        frames.append({"zone": make.zone, "design": make.design} | frame)
        shorts.append(short)
    return Made(stack(frames), np.concatenate(shorts)) if frames else None


@dataclass(frozen=True)
class Others:
    """The least and the greatest totals that all other zones together can have, and whether there are none."""

    placed: tuple[float, float]
    rate: tuple[float, float]
    energy: tuple[float, float]
    alone: bool


def undominated(
    made: Made,
    instance: Instance,
    horizon: Horizon,
    schemes: Sequence[RecoveryScheme],
    others: Others,
    going: Going | None = None,
) -> NDArray[np.int64]:
    """The rows of a make's candidates that no other one matches in every quarter, whatever the other zones do.

    Only ways to run the same racks are compared, so that what is bought is equal.  As in `spareopt.dominance`, the gain
    in ln goodput of one for another is smallest at a corner of what the other zones can have.
    """
    table, short = made.table, made.short[:, 0]
    limits, job, kind = instance.limits, horizon.working_gpus, instance.objective.kind
    with np.errstate(divide="ignore"):
        log_up = np.log1p(-short)
    placed, working = (table[name].to_numpy(dtype=float) for name in ("placed_gpus", "working_gpus"))
    rate, scale = table["rate_per_h"].to_numpy(dtype=float), table["log_scale"].to_numpy(dtype=float)
    worth = log_up - table["planned_stops"].to_numpy(dtype=float) + (scale if others.alone else 0.0)
    keys = [] if others.alone else [scale]
    with np.errstate(divide="ignore"):
        sizes = [np.log(n + placed) for n in sorted(set(others.placed))]
    for scheme in schemes:
        if scheme.curvature is Curvature.MIXED:
            keys += [-rate, *(worth + size for size in sizes)]
            continue
        rates, place = np.unique(rate, return_inverse=True)
        efficiency = [scheme.log_eta(other + rates)[place] for other in sorted(set(others.rate))]
        keys += [worth + size + eta for size in sizes for eta in efficiency]
    fewest = [limits.working_gpus.minimum, job.minimum]
    most = [limits.working_gpus.maximum, job.maximum]
    if any(bound is not None for bound in fewest + most):
        keys.append(working)
    if any(bound is not None for bound in most):
        keys.append(-working)
    if limits.availability is not None:
        keys.append(log_up)
    if any(bound is not None for bound in (limits.it_power, limits.site_power, horizon.it_power, horizon.site_power)):
        keys.append(-table["it_power_kw"].to_numpy(dtype=float))
    crews, shelf = (table[name].fillna(0.0).to_numpy(dtype=float) for name in ("crews", "shelf_trays"))
    keys.append(-shelf)
    if limits.crews is not None:
        keys.append(-crews)
    if limits.yearly_cost is not None or kind == "cost":
        keys += [-cost for cost in _yearly_costs(table, instance, horizon, log_up, others.energy)]
    winner = pareto(np.stack([np.broadcast_to(key, len(table)) for key in keys], axis=1), going)
    return np.flatnonzero(winner < 0)


def crew_costs(table: pd.DataFrame, instance: Instance) -> Array:
    """Yearly cost of each candidate's crews at the stated price."""
    cost = np.array([plan.crew_cost for plan in instance.repair_plans])
    crews = table["crews"].fillna(0.0).to_numpy(dtype=float)
    return np.asarray(crews * cost[table["repair_plan"].to_numpy(dtype=int)], dtype=np.float64)


def running_draw(table: pd.DataFrame) -> Array:
    """What each candidate draws more while the job runs, kW of IT power; 0 where no power is stated."""
    extra = (table["it_power_kw"] - table["blocked_power_kw"]) * table["placed_gpus"] / table["working_gpus"]
    return np.asarray(np.nan_to_num(extra.to_numpy(dtype=float)), dtype=np.float64)


def _yearly_costs(
    table: pd.DataFrame, instance: Instance, horizon: Horizon, log_up: Array, others: tuple[float, float]
) -> list[Array]:
    """Yearly costs at the prices of every quarter, at the extremes of what the other zones can do to them."""
    crews, extra = crew_costs(table, instance), running_draw(table)
    fixed = table["plan_cost_per_year"].to_numpy(dtype=float) - crews
    price = energy_cost_per_kw_year(instance)
    blocked = np.nan_to_num(table["blocked_power_kw"].to_numpy(dtype=float))
    costs = []
    for dearer, energy in sorted(set(zip(horizon.prices("crews"), horizon.prices("energy"), strict=True))):
        always = fixed + dearer * crews + energy * price * blocked
        costs.append(always)
        if price:
            costs += [always + energy * price * np.exp(log_up) * (extra + other) for other in others]
    return costs
