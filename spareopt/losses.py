"""Where all GPU-hours go: idle spares, stranded blocks, blocked and lost time, useful work."""

from __future__ import annotations

import numpy as np

from spareopt.candidates import Model, score_zone
from spareopt.instance import Instance
from spareopt.recovery import Checkpointing, RecoveryShares
from spareopt.scoring import ScoredChoice

LOSSES = (
    "intra_block_spares",
    "inter_block_spares",
    "stranded_blocks",
    "blocked",
    "checkpoint_saves",
    "detection_and_restart",
    "lost_work",
    "useful",
)
"""The shares of all GPU-hours, in the order they are attributed (version 1 of the list)."""


def stranded_blocks(
    instance: Instance, scored: list[ScoredChoice], place: int, scheme: Checkpointing, rate: float, model: Model
) -> int:
    """R minus the smallest R' ≤ R with the highest CETT, as if there were no placement group; the rest unchanged.

    ``rate`` is the plan's interruption rate, per hour.
    """
    me = scored[place]
    spares, count = me.choice.inter_block_spares, me.choice.count
    if spares == 0:
        return 0
    fewer = np.arange(spares + 1, dtype=np.int64)
    columns, _ = score_zone(
        instance, me.zone, me.design, me.structure, me.choice.racks, me.choice.intra_block_spares, fewer, me.plan,
        np.array([me.limit]), model,
    )  # fmt: skip
    others = sum(s.choice.count * s.row["working_gpus"] for s in scored) - count * me.row["working_gpus"]
    other_rate = rate - count * me.row["rate_per_h"]
    with np.errstate(divide="ignore"):
        log_cett = (
            np.log(others + count * np.asarray(columns["working_gpus"]))
            + count * np.log1p(-np.asarray(columns["unavailability"]))
            + scheme.log_eta(other_rate + count * np.asarray(columns["rate_per_h"]))
        )
    return int(spares - int(np.argmax(log_cett)))


def loss_shares(
    scored: list[ScoredChoice],
    stranded: list[int],
    gpus: int,
    working: int,
    availability: float,
    shares: RecoveryShares,
) -> dict[str, float]:
    """The share of every loss in :data:`LOSSES`, useful work among them; ``shares`` are of the unblocked time."""
    intra = inter = strand = 0
    for s, blocks in zip(scored, stranded, strict=True):
        working_per_block = (s.design.trays_per_block - s.choice.intra_block_spares) * s.design.gpus_per_tray
        all_blocks = s.choice.racks * s.design.blocks_per_rack
        intra += s.choice.count * all_blocks * s.choice.intra_block_spares * s.design.gpus_per_tray
        inter += s.choice.count * (s.choice.inter_block_spares - blocks) * working_per_block
        strand += s.choice.count * blocks * working_per_block
    share = working / gpus
    unblocked = share * availability
    values = [
        intra / gpus,
        inter / gpus,
        strand / gpus,
        share * (1 - availability),
        unblocked * float(shares.saves),
        unblocked * float(shares.recovery),
        unblocked * float(shares.lost),
        unblocked * float(shares.useful),
    ]
    return dict(zip(LOSSES, values, strict=True))
