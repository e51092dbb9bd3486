"""With what confidence a quarter's useful GPU-hours reach a target, and what they reach with stated confidences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from spareopt.simulation import statistics as stats
from spareopt.simulation.result import QuarterTarget, Reached
from spareopt.simulation.setup import QUARTER

CONFIDENCES = (0.5, 0.8, 0.9, 0.95, 0.99)
"""What is reached with these is told."""


def quarter_target(goodput: Sequence[Sequence[float]], target: float, confidence: float) -> QuarterTarget:
    """The chance of a target, from the goodput (baseline GPUs) of the quarters of each replication.

    Replications are independent; their quarters need not be.  ``target`` is in useful GPU-hours of the baseline GPU,
    ``confidence`` that of all intervals.  Raises ValueError where there is no quarter.
    """
    hours = [np.asarray(values, dtype=np.float64) * QUARTER for values in goodput]
    sizes = [len(values) for values in hours]
    found = stats.clustered_share([float((values >= target).sum()) for values in hours], sizes, confidence)
    return QuarterTarget(
        useful_gpu_hours=target,
        quarters=sum(sizes),
        reached=found.share,
        effective_quarters=found.effective,
        levels=tuple(_reached(hours, level, confidence) for level in CONFIDENCES),
    )


def _reached(hours: Sequence[stats.Floats], level: float, confidence: float) -> Reached:
    share = 1.0 - level
    found = stats.clustered_quantile(hours, share, confidence)
    needed = None
    if len(hours) > 1 and None in (found.low, found.high):
        below = [float((values <= found.value).sum()) for values in hours]
        effective = stats.clustered_share(below, [len(values) for values in hours], confidence).effective or 1.0
        needed = max(len(hours) + 1, math.ceil(stats.values_for_both_ends(share, confidence) / effective * len(hours)))
    return Reached(
        confidence=level, useful_gpu_hours=found.value, low=found.low, high=found.high, replications_needed=needed
    )
