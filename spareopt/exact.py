"""The exact model of one zone: its availability and its interruption rate, for ample crews and any repair laws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from spareopt.availability import (
    Domain,
    block_unavailability,
    shortfall_tails,
    unavailability,
    unusable_law,
    working_probabilities,
    zone_shortfall,
)
from spareopt.crews import CrewLaw, Pool, crew_law
from spareopt.errors import Fault, InputError
from spareopt.exchangeable import zone_shortfall_given_law
from spareopt.instance import Instance, RepairPlan
from spareopt.topology import FaultUnit, ZoneStructure

Array = NDArray[np.float64]

EXACT = "exact"
HOURS_PER_WEEK = 168.0
FIRST_COME = "exact for exponential hands-on times, first come, first served"
SHARED_WORK = "exact if crews divide their time evenly over all open trays and racks, near for first come, first served"
PART_TIME = "approximation: crews on duty for part of the week work all week at a slower pace"
SHARED_DOMAINS = (
    "approximation: domains that hold several blocks are charged with the mean probability that they hold a working "
    "one, working blocks uniform over the usable ones of a zone that is not short; it over-estimates the rate, in "
    "trials by about 1 % with a quarter of the blocks spare and by up to a third with half of them spare"
)


@dataclass(frozen=True)
class ZoneScores:
    """A zone for each number of inter-block spares asked: P(zone short) and the rate at which it stops the job."""

    unavailability: Array
    rate: Array
    availability_method: str = EXACT
    rate_method: str = EXACT


@dataclass(frozen=True)
class ZoneRepair:
    """How a zone is repaired: mean times by fault class in h (hands-on and off-crew), and its crews (None: ample)."""

    hands_on: Mapping[str, float]
    off_crew: Mapping[str, float]
    crews: int | None = None
    part_time: bool = False

    def mttr(self, fault: str) -> float:
        """Mean time to repair where no crew is waited for, h."""
        return self.hands_on[fault] + self.off_crew[fault]


def zone_repair(instance: Instance, plan: RepairPlan) -> ZoneRepair:
    """The repair of a zone that takes a repair plan.

    A crew on duty for less than the whole week is as slow as its hours are few: its hands-on times are stretched.
    """
    times = {domain.name: domain.repair for domain in instance.failures.domains} | plan.domains
    times["tray"] = plan.tray
    if plan.rack is not None:
        times["rack"] = plan.rack
    stretch = HOURS_PER_WEEK / plan.crew_hours_per_week if plan.crews is not None else 1.0
    staffed = ("tray", "rack")
    return ZoneRepair(
        {name: time.hands_on * (stretch if name in staffed else 1.0) for name, time in times.items()},
        {name: time.off_crew for name, time in times.items()},
        plan.crews,
        stretch > 1.0,
    )


def zone_scores(
    structure: ZoneStructure, repair: ZoneRepair, intra_spares: int, inter_spares: NDArray[np.int64]
) -> ZoneScores:
    """Score a zone with I intra-block spares for every R in ``inter_spares`` (all below L).

    A tray is up with probability MTBF/(MTBF+MTTR) whatever the repair law; a block is usable while its domains are up
    and at most I of its K trays are down; the zone is short when more than R of its L blocks are unusable.  The rate
    is (K−I)(L−R) working trays, plus every domain with the probability that it holds a working block.
    """
    trays = structure.trays_per_block
    tray_down = float(unavailability(structure.tray_rate, repair.mttr("tray")))
    down = {domain.node: float(unavailability(domain.rate, repair.mttr(domain.fault))) for domain in structure.domains}
    working_blocks = structure.blocks - inter_spares
    rate: Array = working_blocks * np.float64(trays - intra_spares) * structure.tray_rate
    if structure.independent_blocks:
        own = _at_least_one(down[domain.node] for domain in structure.domains if domain.blocks < structure.blocks)
        block_down = float(block_unavailability(trays, intra_spares, tray_down, own))
        if repair.crews is None:
            short = np.asarray(zone_shortfall(structure.blocks, inter_spares, block_down), dtype=float)
        else:
            short = _shortfall_with_crews(structure, repair, intra_spares, inter_spares)
        whole = [domain for domain in structure.domains if domain.blocks == structure.blocks]
        zone_down = _at_least_one(down[domain.node] for domain in whole)
        for domain in structure.domains:
            rate = rate + domain.rate * domain.units * _share_working(domain, structure.blocks, working_blocks)
        return ZoneScores(zone_down + (1.0 - zone_down) * short, rate, _crew_method(structure, repair))
    block_down = float(block_unavailability(trays, intra_spares, tray_down))
    root = _tree(structure, structure.zone, down, block_down)
    holding = working_probabilities(root, int(inter_spares.max()))
    for domain in structure.domains:
        share = holding[domain.node][inter_spares]
        # a zone that is always short runs nothing: charging every domain keeps its rate a number
        rate = rate + domain.rate * domain.units * np.where(np.isnan(share), 1.0, share)
    return ZoneScores(shortfall_tails(unusable_law(root), inter_spares), rate, SHARED_DOMAINS)


def crew_pools(structure: ZoneStructure, repair: ZoneRepair) -> tuple[Pool, ...]:
    """What the crews of a zone serve: its trays and, where they fail, its racks."""
    racks = [domain for domain in structure.domains if domain.fault == "rack"]
    trays = Pool(
        structure.blocks * structure.trays_per_block,
        structure.tray_rate,
        repair.hands_on["tray"],
        repair.off_crew["tray"],
    )
    return (
        trays,
        *(Pool(rack.units, rack.rate, repair.hands_on["rack"], repair.off_crew["rack"]) for rack in racks),
    )


@lru_cache(maxsize=512)
def failed_law(pools: tuple[Pool, ...], crews: int) -> CrewLaw:
    """The law of failed trays and racks that crews repair; it is the same for every number of spares.

    Raises InputError where the crews are so overloaded that the law is too large to hold.
    """
    try:
        return crew_law(pools, crews)
    except ValueError as error:
        message = f"with {crews} crews a zone: {error}; expected more crews, or shorter hands-on times"
        raise InputError("crews", [Fault("repair_plans", message)]) from None


def _shortfall_with_crews(
    structure: ZoneStructure, repair: ZoneRepair, intra_spares: int, inter_spares: NDArray[np.int64]
) -> Array:
    """P(zone short) where trays and racks wait for crews: the law of failed units, which are uniform over all sets."""
    assert repair.crews is not None
    law = failed_law(crew_pools(structure, repair), repair.crews)
    return zone_shortfall_given_law(
        structure.blocks, 1, structure.trays_per_block, intra_spares, law.failed, inter_spares
    )


def _crew_method(structure: ZoneStructure, repair: ZoneRepair) -> str:
    """What the availability rests on where trays and racks wait for crews, and what of it is approximated."""
    if repair.crews is None:
        return EXACT
    racks = any(domain.fault == "rack" for domain in structure.domains)
    unequal = racks and repair.hands_on["rack"] != repair.hands_on["tray"]
    part_time = f"; {PART_TIME}" if repair.part_time else ""
    return (SHARED_WORK if unequal else FIRST_COME) + part_time


def _share_working(domain: FaultUnit, blocks: int, working_blocks: NDArray[np.int64]) -> Array | float:
    """The share of a domain's units that hold a working block, where each holds one block or all of them."""
    return 1.0 if domain.blocks == blocks else working_blocks / blocks


def _at_least_one(probabilities: object) -> float:
    """P(at least one of independent events), accurate for small probabilities."""
    return float(-np.expm1(sum(np.log1p(-p) for p in probabilities)))  # type: ignore[attr-defined]


def _tree(structure: ZoneStructure, node: str, down: Mapping[str, float], block_down: float) -> Domain:
    graph = structure.graph
    if graph.nodes[node]["kind"] == "block":
        return Domain(node, block_down)
    children = tuple(
        (_tree(structure, child, down, block_down), edge["count"])
        for _, child, edge in graph.out_edges(node, data=True)
    )
    return Domain(node, down.get(node, 0.0), children)
