"""How fast a working GPU is: hardware scale by power, LLM scale by block size."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from spareopt.instance import BlockDesign, HardwareScale, LlmScale, PowerPoint

Array = NDArray[np.float64]

ROUNDING = 1e-12
"""Relative: a limit of 320 W of 400 W is a share of 0.7999999999999999, and that is 0.8."""


def hardware_scale(form: HardwareScale | None, design: BlockDesign, intra_spares: int, limit_shares: Array) -> Array:
    """Speed relative to a GPU at its full limit, for each share of the full limit in ``limit_shares``.

    NaN where the form was not measured (a share below ``valid_from`` or below the first point of the table).  Shares
    are quotients of two powers, so a share within rounding of an end of what was measured counts as that end.
    """
    one = np.ones_like(limit_shares)
    if form is None:
        return one
    if form.fixed_gain_with_spares is not None:
        return one * (form.fixed_gain_with_spares if intra_spares else 1.0)
    if form.rack_power is not None:
        relation, trays = form.rack_power, design.trays_per_block
        ratio = (trays - relation.idle_draw * intra_spares) / (trays - intra_spares)
        return one * float(ratio ** (log(relation.gain) / log(relation.at_ratio)))
    if form.power_curve is not None:
        curve = form.power_curve
        scale = 1.0 - curve.a * (1.0 - np.minimum(limit_shares, 1.0)) ** curve.b
        return np.where(limit_shares >= curve.valid_from * (1 - ROUNDING), scale, np.nan)
    assert form.power_table is not None
    limits, scales = concave_envelope(form.power_table)
    return np.where(limit_shares >= limits[0] * (1 - ROUNDING), np.interp(limit_shares, limits, scales), np.nan)


def concave_envelope(points: tuple[PowerPoint, ...]) -> tuple[Array, Array]:
    """The corners of the least concave curve on or above the points (upper hull, by Andrew's chain)."""
    hull: list[PowerPoint] = []
    for point in points:
        while len(hull) > 1 and _below_chord(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return np.array([p.limit for p in hull]), np.array([p.scale for p in hull])


def envelope_rise(points: tuple[PowerPoint, ...]) -> float:
    """How far the concave envelope lies above the worst measured point: the error of that approximation."""
    limits, scales = concave_envelope(points)
    measured = np.array([p.scale for p in points])
    return float(np.max(np.interp([p.limit for p in points], limits, scales) - measured))


def _below_chord(left: PowerPoint, middle: PowerPoint, right: PowerPoint) -> bool:
    return (middle.scale - left.scale) * (right.limit - left.limit) <= (right.scale - left.scale) * (
        middle.limit - left.limit
    )


def llm_scale(form: LlmScale | None, working_gpus: int) -> float:
    """Training speed of a block with so many working GPUs, relative to the reference block size.

    Ring form: g(n)/g(reference), g(n) = n/(1 + overhead (n−1)), the cost of a ring collective growing with n.
    Table: linear in log2(n) between points; ValueError outside.
    """
    if form is None:
        return 1.0
    if form.ring_overhead is not None:
        overhead = form.ring_overhead
        return (working_gpus / (1 + overhead * (working_gpus - 1))) / (
            form.reference_gpus / (1 + overhead * (form.reference_gpus - 1))
        )
    assert form.table is not None
    sizes = sorted(form.table)
    if not sizes[0] <= working_gpus <= sizes[-1]:
        raise ValueError(f"llm_scale.table covers {sizes[0]} to {sizes[-1]} working GPUs per block, not {working_gpus}")
    speeds = [form.table[size] for size in sizes]
    at = np.interp(np.log2([working_gpus, form.reference_gpus]), np.log2(sizes), speeds)
    return float(at[0] / at[1])
