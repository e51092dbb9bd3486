"""A zone whose racks are of different ages: cohorts of racks with fault rates of their own, and their score."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spareopt.exact import EXACT, ZoneScores
from spareopt.numerics.availability import block_unavailability
from spareopt.numerics.cohorts import cohorts_at_work, cohorts_shortfall
from spareopt.repair import ZoneRepair
from spareopt.topology import FaultUnit, ZoneStructure

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

COHORTS = (
    "approximation: racks of different ages are charged with the mean number of them that work, working blocks uniform "
    "over the usable ones of a zone that is not short"
)


@dataclass(frozen=True)
class Cohort:
    """Racks of one age: multiples of the stated fault rates of their trays and of the racks."""

    racks: int
    tray: float
    rack: float


def cohort_scores(
    structure: ZoneStructure, repair: ZoneRepair, cohorts: tuple[Cohort, ...], intra_spares: int, inter_spares: Counts
) -> ZoneScores:
    """Score a zone of cohorts for every R in ``inter_spares``: as ``spareopt.exact.zone_scores``.

    For racks that do not fail or hold one block, with ample crews and repair at once, in domains that hold the whole
    zone: then blocks are independent.  P(short) is exact; the rate takes each cohort's mean number of working blocks.
    """
    racks = sum(cohort.racks for cohort in cohorts)
    blocks = [cohort.racks * structure.blocks // racks for cohort in cohorts]
    own = [domain for domain in structure.domains if domain.fault == "rack"]
    whole = [domain for domain in structure.domains if domain.fault != "rack"]
    unusable: list[float] = []
    charged: list[float] = []
    for cohort in cohorts:
        trays = FaultUnit("tray", "tray", structure.tray_rate * cohort.tray, 1, 1)
        down = trays.faults(repair.mttr("tray"))[1]
        gone = float(block_unavailability(structure.trays_per_block, intra_spares, down))
        rate = (structure.trays_per_block - intra_spares) * trays.rate
        for domain in own:
            faults, out = replace(domain, rate=domain.rate * cohort.rack).faults(repair.mttr("rack"))
            gone, rate = gone + (1.0 - gone) * out, rate + faults
        unusable.append(gone)
        charged.append(rate)
    working = structure.blocks - inter_spares
    short = cohorts_shortfall(blocks, unusable, inter_spares)
    rate_of_blocks = cohorts_at_work(blocks, unusable, working) @ np.array(charged)
    zone_down = 0.0
    for domain in whole:
        faults, out = domain.faults(repair.mttr(domain.fault))
        zone_down += (1.0 - zone_down) * out
        rate_of_blocks = rate_of_blocks + faults * (working if structure.charge == "block" else 1.0)
    alike = len({(cohort.tray, cohort.rack) for cohort in cohorts}) == 1
    return ZoneScores(zone_down + (1.0 - zone_down) * short, rate_of_blocks, EXACT, EXACT if alike else COHORTS)
