"""The published first-order model (MLSys 2026), in closed form, kept for comparison with the paper.

Source: "Sparing Strategies to Minimize Reliability Impact on Large Training Jobs", MLSys 2026, section 3 and
appendices A to C; formulas rebuilt from its prose, values in tests/oracles.  Its recovery efficiency is
``recovery.Checkpointing(model="first-order")``.  Times in hours, rates per hour; all functions broadcast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spareopt.exact import ZoneScores
from spareopt.numerics.availability import unavailability, zone_shortfall
from spareopt.repair import ZoneRepair
from spareopt.topology import ZoneStructure

Array = NDArray[np.float64]

PUBLISHED = "published first-order closed form"


def tray_first_passage(trays: ArrayLike, spares: ArrayLike, tray_mtbf: ArrayLike, mttr: ArrayLike) -> Array:
    """ξ, the mean time until more than ``spares`` (I) of the ``trays`` (K) of a block are down, h.

    ξ = (∏_{n=0..I} (1 + μ/λ_n) − 1)/μ with λ_n = (K−n)/MTBF and μ = 1/MTTR (any repair returns the block to no failed
    trays), computed as Σ_n 1/λ_n ∏_{m<n} (1 + μ/λ_m) without cancellation; MTBF/K without spares.  Infinite where it
    exceeds a float.  Raises ValueError unless 0 <= I < K, MTBF > 0 and MTTR >= 0.
    """
    number, spare = np.asarray(trays, dtype=np.int64), np.asarray(spares, dtype=np.int64)
    mtbf, repair = np.asarray(tray_mtbf, dtype=np.float64), np.asarray(mttr, dtype=np.float64)
    if np.any(spare < 0) or np.any(spare >= number) or np.any(mtbf <= 0) or np.any(repair < 0):
        raise ValueError("the first passage needs 0 <= spares < trays, MTBF > 0 and MTTR >= 0")
    number, spare, mtbf, repair = np.broadcast_arrays(number, spare, mtbf, repair)
    total, growth = np.zeros(number.shape), np.ones(number.shape)
    with np.errstate(over="ignore", divide="ignore"):
        for failed in range(int(spare.max(initial=-1)) + 1):
            reached = failed <= spare
            mean = mtbf / np.where(reached, number - failed, 1)
            total = total + np.where(reached, mean * growth, 0.0)
            growth = growth * np.where(reached, 1.0 + mean / repair, 1.0)
    return total


def block_mtbf(first_passage: ArrayLike, rack_rate: ArrayLike) -> Array:
    """1/(1/ξ + 1/MTBF_rack), h, for ξ in h and the rack's rate per hour (0: racks never fail).

    Each block of a rack is charged the whole rack rate.  Infinite where nothing fails.
    """
    rate = 1.0 / np.asarray(first_passage, dtype=np.float64) + np.asarray(rack_rate, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / rate)


def zone_blocking(blocks: ArrayLike, spares: ArrayLike, block_mtbf: ArrayLike, mttr: ArrayLike) -> Array:
    """P(Binomial(L, MTTR/(MTBF_block + MTTR)) > R): a zone of L blocks with R spare ones is short."""
    repair = np.asarray(mttr, dtype=np.float64)
    return zone_shortfall(blocks, spares, repair / (np.asarray(block_mtbf, dtype=np.float64) + repair))


def interruption_rate(
    working_blocks: ArrayLike, trays: ArrayLike, spares: ArrayLike, tray_rate: ArrayLike, rack_rate: ArrayLike
) -> Array:
    """W ((K−I)/MTBF_tray + 1/MTBF_rack), per hour: each working block is charged the whole rack rate."""
    working, rack = np.asarray(working_blocks, dtype=np.float64), np.asarray(rack_rate, dtype=np.float64)
    active = np.asarray(trays, dtype=np.float64) - np.asarray(spares, dtype=np.float64)
    return np.asarray(working * (active * np.asarray(tray_rate, dtype=np.float64) + rack))


def zone_scores(
    structure: ZoneStructure, repair: ZoneRepair, intra_spares: int, inter_spares: NDArray[np.int64]
) -> ZoneScores:
    """Score a zone as the paper does, for every R.  Raises ValueError where the model does not reach.

    The paper has one repair time; where trays and racks differ, a block's is their mean weighted by how often each
    takes the block down (ours; equal times give the published form): MTTR/MTBF of the block is then the sum of
    MTTR/ξ and MTTR/MTBF of the rack.
    """
    others = sorted({domain.fault for domain in structure.domains} - {"rack"})
    if others:
        names = ", ".join(others)
        raise ValueError(f"the first-order model knows trays and racks only, not {names}; use the exact one")
    trays, tray_rate = structure.trays_per_block, structure.tray_rate
    rack_rate = next((domain.rate for domain in structure.domains), 0.0)
    passage = tray_first_passage(trays, intra_spares, 1.0 / tray_rate if tray_rate else np.inf, repair.mttr("tray"))
    load = repair.mttr("tray") / passage + (rack_rate * repair.mttr("rack") if rack_rate else 0.0)
    rate = interruption_rate(structure.blocks - inter_spares, trays, intra_spares, tray_rate, rack_rate)
    return ZoneScores(
        zone_shortfall(structure.blocks, inter_spares, unavailability(load, 1.0)), rate, PUBLISHED, PUBLISHED
    )
