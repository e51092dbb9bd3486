"""What racks and zones draw, working and idle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spareopt.instance import BlockDesign, DesignPower

Array = NDArray[np.float64]


def tray_draw(power: DesignPower, gpus: int, limit: Array) -> Array:
    """Draw of a working tray whose GPUs run at ``limit``, kW."""
    return power.tray_other + gpus * limit


def rack_draw(design: BlockDesign, power: DesignPower, intra_spares: int, limit: Array) -> Array:
    """Draw of a rack all of whose blocks work, kW: what the rack limit must carry."""
    working = (design.trays_per_block - intra_spares) * tray_draw(power, design.gpus_per_tray, limit)
    return design.blocks_per_rack * (working + intra_spares * power.tray_idle) + power.rack_rest


def zone_draw(
    design: BlockDesign,
    power: DesignPower,
    racks: int,
    intra_spares: int,
    inter_spares: NDArray[np.int64],
    limit: Array,
) -> tuple[Array, Array]:
    """IT draw of a zone while the job runs and while it is blocked (every tray idle), kW; spare blocks are idle."""
    blocks = racks * design.blocks_per_rack
    idle = blocks * design.trays_per_block * power.tray_idle + racks * power.rack_rest
    extra = tray_draw(power, design.gpus_per_tray, limit) - power.tray_idle
    return idle + (blocks - inter_spares) * (design.trays_per_block - intra_spares) * extra, idle + 0.0 * extra
