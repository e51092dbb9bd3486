"""A case of AIReSim (arXiv 2603.07041) as an instance of this project and its plan.

A server is a block of one tray of one GPU; all are in one zone, the spare ones its inter-block spares.  They age only
while the job computes.  The recovery is a restart; work is saved at no cost so often that what a failure loses,
half a period, is nothing beside any standard error.  Standbys are stated where there are none, too: with none warm,
hosts are selected after every failure.
"""

from __future__ import annotations

from collections.abc import Mapping

from spareopt.decisions import Decisions, read_decisions
from spareopt.instance import Instance
from spareopt.reading import read_instance

PERIOD_H = 1e-6


def instance_of(inputs: Mapping[str, float]) -> tuple[Instance, Decisions]:
    """The instance and plan of a case's inputs, or of a point of the grid (``n_spares``, no standbys)."""
    active, warm = int(inputs["n_active"]), int(inputs.get("n_warm", 0))
    spares = warm + int(inputs["n_extra"] if "n_extra" in inputs else inputs["n_spares"])
    repair = inputs["auto_repair_day"] if "auto_repair_day" in inputs else inputs["repair_day"]
    counts = {"intra_block_spares": 0, "inter_block_spares": spares}
    instance = {
        "schema_version": 1,
        "name": "airesim",
        "zones": [{"name": "servers", "count": 1, "racks": active + spares}],
        "designs": [{"name": "server", "trays_per_block": 1, "gpus_per_tray": 1, "blocks_per_rack": 1, **counts}],
        "failures": {"ageing": "computing", "tray": {"mtbf": f"{inputs['mtbf_day']} days"}},
        "repair_plans": [{"name": "repair", "tray": {"hands_on": f"{repair} days"}}],
        "checkpoint_plans": [
            {
                "name": "free",
                "period": f"{PERIOD_H} h",
                "save": "0 s",
                "detection": "0 s",
                "restart": f"{inputs['recovery_min']} min",
                "standbys": {"warm": warm, "selection": f"{inputs.get('host_selection_min', 0.0)} min"},
            }
        ],
        "job": {"useful_gpu_hours": active * 24 * inputs["job_day"]},
    }
    zone = {"zone": "servers", "count": 1, "design": "server", "racks": active + spares, "repair_plan": "repair"}
    return read_instance(instance), read_decisions({"zones": [zone | counts], "checkpoint_plan": "free"})
