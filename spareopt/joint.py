"""All zones of a plan together: availability and recovery shares, exactly, over the states and what is shared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spareopt.building import Site
from spareopt.environment import log_together
from spareopt.levels import shares_repair
from spareopt.numerics.crews import CrewLaw, Pool
from spareopt.numerics.recovery import RecoveryScheme, RecoveryShares
from spareopt.pooling import PooledZone, all_units, pooled_law, pooled_unavailability, pooled_zone, shared_staff
from spareopt.scoring import ScoredChoice


@dataclass(frozen=True)
class Together:
    """What the zones of a plan come to together.

    ``availability`` is the share of time in which the job is not blocked (with replica groups that shrink, the mean
    share of the groups that are placed), ``shares`` are those of the time in which it is not.
    """

    availability: float
    unavailability: float
    shares: RecoveryShares


def together(site: Site, scored: list[ScoredChoice], scheme: RecoveryScheme, rate: float) -> Together:
    """Availability and recovery shares of a plan; ``rate`` is its interruption rate per hour at multiplier 1."""
    environment = site.environment
    if site.shrinks:
        placed, working = (
            sum(s.choice.count * s.row[column] for s in scored) for column in ("placed_gpus", "working_gpus")
        )
        missing = sum(s.choice.count * s.row["working_gpus"] * s.row["unavailability"] for s in scored) / working
        down = environment.down + (1.0 - environment.down) * missing
        return Together((1.0 - environment.down) * placed / working, down, scheme.shares(np.array(rate)))
    if shares_repair(site.instance):
        down = pooled_unavailability(pooled_zones(scored), *shared_staff(site, scored[0].plan, scored[0].taken))
        log_up = float(np.log1p(-environment.down)) + _log1p(-down)
        return Together(float(np.exp(log_up)), float(-np.expm1(log_up)) + 0.0, scheme.shares(np.array(rate)))
    states = sum((s.log_up for s in scored), np.zeros(len(environment.weights)))
    if environment.single:
        log_up = float(np.log1p(-environment.down)) + float(states[0])
        return Together(float(np.exp(log_up)), float(-np.expm1(log_up)) + 0.0, scheme.shares(np.array(rate)))
    up = environment.weights * np.exp(states)
    availability = float(np.exp(log_together(environment, states)))
    blocked = environment.down + float(environment.weights @ -np.expm1(states))
    shares = scheme.shares(rate * environment.multipliers)
    weights = up / up.sum() if up.sum() > 0 else environment.weights
    mixed = RecoveryShares(
        *(np.asarray(weights @ np.broadcast_to(getattr(shares, name), weights.shape)) for name in shares_of(shares))
    )
    return Together(availability, blocked, mixed)


def shares_of(shares: RecoveryShares) -> tuple[str, ...]:
    """The names of the shares, in order."""
    return tuple(shares.__dataclass_fields__)


def _log1p(value: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log1p(value))


def pooled_zones(scored: list[ScoredChoice]) -> tuple[PooledZone, ...]:
    """The zones of a plan whose crews or shelf all of them share."""
    return tuple(
        pooled_zone(s.build, s.plan, s.taken, s.choice.intra_block_spares, s.choice.inter_block_spares, s.choice.count)
        for s in scored
    )


def pooled_units(site: Site, scored: list[ScoredChoice]) -> tuple[Pool, ...] | None:
    """The trays and racks of all zones, where they share crews or a shelf; else None."""
    return all_units(pooled_zones(scored)) if shares_repair(site.instance) else None


def pooled_crews(site: Site, scored: list[ScoredChoice]) -> CrewLaw | None:
    """How busy the crews are that all zones share; None where they are ample or each zone has its own."""
    if not shares_repair(site.instance):
        return None
    crews, shelf = shared_staff(site, scored[0].plan, scored[0].taken)
    return None if crews is None else pooled_law(pooled_zones(scored), crews, shelf)
