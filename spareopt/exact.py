"""The exact model of one zone: its availability and its interruption rate, for ample crews and any repair laws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
from spareopt.instance import Instance, RepairPlan
from spareopt.topology import FaultUnit, ZoneStructure

Array = NDArray[np.float64]

EXACT = "exact"
SHARED_DOMAINS = (
    "approximation: domains that hold several blocks are charged with the mean probability that they hold a working "
    "one, working blocks uniform over the usable ones of a zone that is not short"
)


@dataclass(frozen=True)
class ZoneScores:
    """A zone for each number of inter-block spares asked: P(zone short) and the rate at which it stops the job."""

    unavailability: Array
    rate: Array
    method: str = EXACT


def repair_times(instance: Instance, plan: RepairPlan) -> dict[str, float]:
    """Mean time to repair of each repairable fault class under a repair plan, h."""
    times = {domain.name: domain.repair.mttr for domain in instance.failures.domains}
    times |= {name: repair.mttr for name, repair in plan.domains.items()}
    times["tray"] = plan.tray.mttr
    if plan.rack is not None:
        times["rack"] = plan.rack.mttr
    return times


def zone_scores(
    structure: ZoneStructure, mttr: Mapping[str, float], intra_spares: int, inter_spares: NDArray[np.int64]
) -> ZoneScores:
    """Score a zone with I intra-block spares for every R in ``inter_spares`` (all below L).

    A tray is up with probability MTBF/(MTBF+MTTR) whatever the repair law; a block is usable while its domains are up
    and at most I of its K trays are down; the zone is short when more than R of its L blocks are unusable.  The rate
    is (K−I)(L−R) working trays, plus every domain with the probability that it holds a working block.
    """
    trays = structure.trays_per_block
    tray_down = float(unavailability(structure.tray_rate, mttr["tray"]))
    down = {domain.node: float(unavailability(domain.rate, mttr[domain.fault])) for domain in structure.domains}
    working_blocks = structure.blocks - inter_spares
    rate: Array = working_blocks * np.float64(trays - intra_spares) * structure.tray_rate
    if structure.independent_blocks:
        own = _at_least_one(down[domain.node] for domain in structure.domains if domain.blocks < structure.blocks)
        block_down = float(block_unavailability(trays, intra_spares, tray_down, own))
        short = np.asarray(zone_shortfall(structure.blocks, inter_spares, block_down), dtype=float)
        whole = [domain for domain in structure.domains if domain.blocks == structure.blocks]
        zone_down = _at_least_one(down[domain.node] for domain in whole)
        for domain in structure.domains:
            rate = rate + domain.rate * domain.units * _share_working(domain, structure.blocks, working_blocks)
        return ZoneScores(zone_down + (1.0 - zone_down) * short, rate)
    block_down = float(block_unavailability(trays, intra_spares, tray_down))
    root = _tree(structure, structure.zone, down, block_down)
    holding = working_probabilities(root, int(inter_spares.max()))
    for domain in structure.domains:
        share = holding[domain.node][inter_spares]
        # a zone that is always short runs nothing: charging every domain keeps its rate a number
        rate = rate + domain.rate * domain.units * np.where(np.isnan(share), 1.0, share)
    return ZoneScores(shortfall_tails(unusable_law(root), inter_spares), rate, SHARED_DOMAINS)


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
