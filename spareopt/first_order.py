"""The published first-order model (MLSys 2026), kept for comparison with the paper.

Source: "Sparing Strategies to Minimize Reliability Impact on Large Training Jobs", MLSys 2026, sections 3 and
appendices A to C; formulas rebuilt from its prose, values in tests/oracles.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from spareopt.availability import zone_shortfall
from spareopt.exact import ZoneScores
from spareopt.topology import ZoneStructure

Array = NDArray[np.float64]

PUBLISHED = "published first-order closed form"


def tray_first_passage(trays: int, spares: int, tray_mtbf: float, mttr: float) -> float:
    """Mean time until more than ``spares`` of a block's trays are down, h.

    ξ = (∏_{n=0..I} (1 + μ/λ_n) − 1)/μ with λ_n = (K−n)/MTBF and μ = 1/MTTR; a repair returns the block to no failed
    trays.  Infinite where the product overflows.
    """
    failing = (trays - np.arange(spares + 1)) / tray_mtbf
    with np.errstate(over="ignore"):
        return float(mttr * np.expm1(np.log1p(1.0 / (mttr * failing)).sum()))


def block_mtbf(first_passage: float, rack_rate: float) -> float:
    """1/(1/ξ + 1/MTBF_rack), h; each block of a rack is charged the whole rack rate."""
    return 1.0 / (1.0 / first_passage + rack_rate)


def zone_blocking(blocks: int, spares: NDArray[np.int64], mtbf: float, mttr: float) -> Array:
    """P(Binomial(L, MTTR/(MTBF_block + MTTR)) > R)."""
    return zone_shortfall(blocks, spares, mttr / (mtbf + mttr))


def interruption_rate(
    working_blocks: NDArray[np.int64], trays: int, spares: int, tray_rate: float, rack_rate: float
) -> Array:
    """W ((K−I)/MTBF_tray + 1/MTBF_rack), per hour."""
    return working_blocks * ((trays - spares) * tray_rate + rack_rate)


def zone_scores(
    structure: ZoneStructure, mttr: Mapping[str, float], intra_spares: int, inter_spares: NDArray[np.int64]
) -> ZoneScores:
    """Score a zone as the paper does, for every R.  Raises ValueError where the model does not reach.

    The paper has one repair time; where trays and racks differ, a block's is their mean weighted by how often each
    takes the block down (ours; equal times give the published form).
    """
    others = sorted({domain.fault for domain in structure.domains} - {"rack"})
    if others:
        raise ValueError(f"the first-order model knows trays and racks only, not {', '.join(others)}; use the exact one")
    trays, tray_rate = structure.trays_per_block, structure.tray_rate
    rack_rate = next((domain.rate for domain in structure.domains), 0.0)
    passage = tray_first_passage(trays, intra_spares, 1.0 / tray_rate, mttr["tray"])
    mtbf = block_mtbf(passage, rack_rate)
    repair = (mttr["tray"] / passage + rack_rate * mttr.get("rack", 0.0)) * mtbf
    rate = interruption_rate(structure.blocks - inter_spares, trays, intra_spares, tray_rate, rack_rate)
    return ZoneScores(zone_blocking(structure.blocks, inter_spares, mtbf, repair), rate, PUBLISHED)
