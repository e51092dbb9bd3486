"""Where all GPU-hours go: idle spares, stranded blocks, blocked and lost time, useful work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spareopt.building import Site, score_zone
from spareopt.environment import log_together
from spareopt.levels import shares_repair
from spareopt.numerics.recovery import RecoveryScheme, RecoveryShares
from spareopt.scoring import ScoredChoice

Array = NDArray[np.float64]

LOSSES = (
    "intra_block_spares",
    "inter_block_spares",
    "stranded_blocks",
    "blocked",
    "planned_stops",
    "group_stalls",
    "checkpoint_saves",
    "detection_and_restart",
    "lost_work",
    "useful",
)
"""The shares of all GPU-hours, in the order they are attributed (version 2 of the list)."""


def stranded_blocks(site: Site, scored: list[ScoredChoice], place: int, scheme: RecoveryScheme, rate: float) -> int:
    """R minus the smallest R' ≤ R with the highest CETT, as if there were no placement group; the rest unchanged.

    ``rate`` is the plan's interruption rate, per hour.  Where zones share crews, the zone alone with all of them is
    compared, and η is that at the mean rate: R' is a count for the report, not a score.
    """
    me = scored[place]
    spares, count = me.choice.inter_block_spares, me.choice.count
    if spares == 0 or site.groups is not None:
        return 0
    if shares_repair(site.instance) and site.instance.placement_group is None:
        return 0  # a zone alone with all the crews would want fewer spares than zones that share them
    fewer = np.arange(spares + 1, dtype=np.int64)
    columns, states = score_zone(me.build, me.choice.intra_block_spares, fewer, me.plan, me.taken, np.array([me.limit]))
    others = sum(s.choice.count * s.row["working_gpus"] for s in scored) - count * me.row["working_gpus"]
    other_rate = rate - count * me.row["rate_per_h"]
    with np.errstate(divide="ignore"):
        log_cett = (
            np.log(others + count * np.asarray(columns["working_gpus"]))
            + _log_up(site, scored, place, states.short)
            + scheme.log_eta(other_rate + count * np.asarray(columns["rate_per_h"]))
        )
    return int(spares - int(np.argmax(log_cett)))


def _log_up(site: Site, scored: list[ScoredChoice], place: int, short: Array) -> Array:
    """ln A of the plan, but for what does not change, with one choice's zones short as in each row of ``short``."""
    count, environment = scored[place].choice.count, site.environment
    own = count * np.log1p(-short)
    if environment.single:
        return np.asarray(own[:, 0])
    others = sum((s.log_up for i, s in enumerate(scored) if i != place), np.zeros(short.shape[1]))
    return log_together(environment, own + others)


def loss_shares(
    scored: list[ScoredChoice],
    stranded: list[int],
    gpus: int,
    working: int,
    availability: float,
    going: float,
    shares: RecoveryShares,
) -> dict[str, float]:
    """The share of every loss in ``LOSSES``, useful work among them.

    ``going`` is the share of the unblocked time without planned stops, ``shares`` are of that.
    """
    intra = inter = strand = 0
    for s, blocks in zip(scored, stranded, strict=True):
        working_per_block = (s.design.trays_per_block - s.choice.intra_block_spares) * s.design.gpus_per_tray
        all_blocks = s.choice.racks * s.design.blocks_per_rack
        intra += s.choice.count * all_blocks * s.choice.intra_block_spares * s.design.gpus_per_tray
        inter += s.choice.count * (s.choice.inter_block_spares - blocks) * working_per_block
        strand += s.choice.count * blocks * working_per_block
    share = working / gpus
    unblocked = share * availability * going
    values = [
        intra / gpus,
        inter / gpus,
        strand / gpus,
        share * (1 - availability),
        share * availability * (1 - going),
        unblocked * float(shares.stalls),
        unblocked * float(shares.saves),
        unblocked * float(shares.recovery),
        unblocked * float(shares.lost),
        unblocked * float(shares.useful),
    ]
    return dict(zip(LOSSES, values, strict=True))
