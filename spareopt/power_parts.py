"""What the power of a plan consists of: trays at work, idle trays, the rest of the racks, and what the site adds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spareopt.decisions import Decisions
from spareopt.errors import Fault, InputError
from spareopt.evaluation import Evaluation
from spareopt.instance import Instance
from spareopt.power import tray_draw


@dataclass(frozen=True)
class PowerParts:
    """kW while the job runs; IT power is all but the overhead."""

    working_trays: float
    idle_trays: float
    """Spare trays, and all trays of blocks that are not used."""
    rest_of_racks: float
    overhead: float
    """Cooling and distribution: (PUE − 1) times the IT power."""

    @property
    def it_power(self) -> float:
        """All that racks draw, kW."""
        return self.working_trays + self.idle_trays + self.rest_of_racks


def power_parts(decisions: Decisions, evaluation: Evaluation, instance: Instance) -> PowerParts | None:
    """The parts of a plan's power; None where the instance doesn't state what some design draws.

    Raises InputError where they don't add up to the IT power of the evaluation: it is of another instance.
    """
    if evaluation.it_power_kw is None:
        return None
    designs = {design.name: design for design in instance.designs}
    working = idle = rest = 0.0
    for choice in decisions.zones:
        design = designs[choice.design]
        power, blocks = design.power, choice.racks * design.blocks_per_rack
        assert power is not None
        limit = np.array(power.gpu_full_limit if choice.gpu_limit is None else choice.gpu_limit)
        at_work = (blocks - choice.inter_block_spares) * (design.trays_per_block - choice.intra_block_spares)
        working += choice.count * at_work * float(tray_draw(power, design.gpus_per_tray, limit))
        idle += choice.count * (blocks * design.trays_per_block - at_work) * power.tray_idle
        rest += choice.count * choice.racks * power.rack_rest
    total = working + idle + rest
    if not math.isclose(total, evaluation.it_power_kw, rel_tol=1e-9):
        message = f"the plan draws {evaluation.it_power_kw} kW, its parts by this instance add up to {total}"
        raise InputError(instance.name, [Fault("it_power_kw", f"{message}; give the instance of the plan")])
    return PowerParts(working, idle, rest, (instance.power.pue - 1.0) * total)
