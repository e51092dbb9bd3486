"""Crews and a shelf that all zones share: the availability of the site as a whole, under one law of failed units.

Zones that share crews are not independent.  Their trays (and racks) are one pool whose failed sets are uniform given
their number, so that the probability that no zone is short is the product of the zones' polynomials under one law
(`exchangeable`).  It is bounded by terms of one zone each: where the units of the site are the same whatever
is chosen, by the mean of each zone's probability to the power of the number of zones (Hölder's inequality); else, and
for crews only, by each zone alone with all the crews.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from spareopt.building import Site, ZoneBuild
from spareopt.exact import crew_pools, failed_law
from spareopt.numerics.crews import CrewLaw, Pool
from spareopt.numerics.exchangeable import ZoneShape, alike_shortfalls_given_law, site_shortfall_given_law
from spareopt.repair import RepairChoice, ShelfStock, zone_repair
from spareopt.repair_plans import RepairPlan

ROUNDING = 1e-11
"""Relative accuracy of the probabilities of `spareopt.numerics.exchangeable`, with a margin."""


@dataclass(frozen=True)
class PooledZone:
    """A zone that shares the site's crews: its shape, what fails in it, and P(something takes all of it down)."""

    shape: ZoneShape
    pools: tuple[Pool, ...]
    log_up: float


def pooled_zone(
    build: ZoneBuild, plan: RepairPlan, choice: RepairChoice, intra_spares: int, inter_spares: int, count: int
) -> PooledZone:
    """A zone of a site whose crews or shelf are shared, taken ``count`` times."""
    structure, repair = build.structure, zone_repair(build.site.instance, plan, choice)
    shape = ZoneShape(structure.blocks, structure.trays_per_block, intra_spares, inter_spares, count=count)
    whole = [domain for domain in structure.domains if domain.blocks == structure.blocks and domain.fault != "rack"]
    log_up = sum(float(np.log1p(-domain.faults(repair.mttr(domain.fault))[1])) for domain in whole)
    return PooledZone(shape, crew_pools(structure, repair), count * log_up)


def all_units(zones: tuple[PooledZone, ...]) -> tuple[Pool, ...]:
    """The trays, and racks where they fail, of all zones together."""
    kinds = zip(*(zone.pools for zone in zones), strict=True)
    numbers = [zone.shape.count for zone in zones]
    return tuple(
        replace(kind[0], units=sum(number * pool.units for number, pool in zip(numbers, kind, strict=True)))
        for kind in kinds
    )


def pooled_law(zones: tuple[PooledZone, ...], crews: int | None, shelf: ShelfStock | None) -> CrewLaw:
    """The law of the failed trays (and racks) of all zones together, and how busy the crews are."""
    return failed_law(all_units(zones), crews, shelf)


@lru_cache(maxsize=4096)
def pooled_unavailability(zones: tuple[PooledZone, ...], crews: int | None, shelf: ShelfStock | None) -> float:
    """P(any zone is short or down)."""
    short = float(site_shortfall_given_law([zone.shape for zone in zones], pooled_law(zones, crews, shelf).failed))
    down = float(-np.expm1(sum(zone.log_up for zone in zones)))
    return down + (1.0 - down) * short


@lru_cache(maxsize=4096)
def alike_log_up(
    zone: PooledZone, others: tuple[PooledZone, ...], crews: int | None, shelf: ShelfStock | None
) -> float:
    """What one of ``zone``'s zones adds to an over-estimate of ln A on its site, of which ``others`` are the rest.

    It depends on the others' units, but not on their spares.
    """
    site = (zone, *others)
    number = sum(each.shape.count for each in site)
    law = pooled_law(site, crews, shelf).failed
    short = float(alike_shortfalls_given_law([each.shape for each in site], law, number)[0])
    # short is known to ROUNDING of itself: what is left of 1 may be less, and its n-th root is not, so keep above it
    return zone.log_up / zone.shape.count + float(np.log1p(-min(short, 1.0) * (1.0 - ROUNDING))) / number


def shared_staff(site: Site, plan: RepairPlan, choice: RepairChoice) -> tuple[int | None, ShelfStock | None]:
    """The crews and the shelf that all zones share."""
    repair = zone_repair(site.instance, plan, choice)
    return repair.crews, repair.shelf
