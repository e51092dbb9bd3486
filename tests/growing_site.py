"""A small site that grows over three quarters, solved within a second or two: racks, crews and a shelf, all capped."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import spareopt
from spareopt.instance import Instance
from spareopt.staging.plan import StagedPlan

CASE: dict[str, Any] = {
    "schema_version": 1,
    "name": "growing",
    "zones": [{"name": "hall", "count": 2, "racks": [2, 4]}],
    "designs": [
        {
            "name": "quad",
            "trays_per_block": 4,
            "gpus_per_tray": 2,
            "blocks_per_rack": 1,
            "intra_block_spares": {"from": 0, "to": 1},
            "inter_block_spares": {"from": 0, "to": 1},
            "rack_price": "1 M$",
            "power": {"gpu_full_limit": "1 kW", "tray_other": "1 kW", "tray_idle": "1 kW", "rack_rest": "2 kW"},
        }
    ],
    "failures": {"tray": {"mtbf": "900 h"}, "rack": {"mtbf": "9000 h"}, "software": {"rate": "0.3 per day"}},
    "repair_plans": [
        {
            "name": "crewed",
            "tray": {"hands_on": "20 h"},
            "rack": {"hands_on": "20 h"},
            "crews": [1, 2],
            "crew_cost": "0.1 M$ per year",
            "shelf": [0, 1, 2],
            "lead_time": "100 h",
            "tray_price": "0.05 M$",
        },
        {"name": "ample", "tray": {"hands_on": "30 h"}, "rack": {"hands_on": "30 h"}, "yearly_cost": "0.3 M$ per year"},
    ],
    "checkpoint_plans": [{"name": "best", "period": "best", "save": "1 min", "detection": "1 min", "restart": "8 min"}],
    "power": {"pue": 1.2, "energy_price": "0.1 $ per kWh"},
    "economics": {"amortisation": "3 years"},
    "limits": {"yearly_cost": "1.4 M$ per year", "capital": "9 M$"},
    "objective": {"kind": "goodput"},
    "horizon": {
        "quarters": 3,
        "first_quarter": "2027-Q4",
        "discount_rate": 0.1,
        "capital": ["2.5 M$", "2.2 M$", "9 M$"],
        "site_power": ["40 kW", "80 kW", "160 kW"],
        "lead_time": {"racks": 1},
        "price_changes": {"racks": "-5 % per quarter", "shelf": [1, 0.9, 0.8]},
        "bought": [{"zone": "hall", "design": "quad", "deliveries": [{"racks": 2}]}],
        "shelf": [{"trays": 1, "quarter": 1}],
    },
}
COST: dict[str, Any] = {
    "objective": {"kind": "cost", "goodput_target": 10.0},
    "horizon.goodput_target": [10, 20, 25],
}
"""The same at least cost."""
OVERRIDES: dict[str, dict[str, Any]] = {"goodput": {}, "cost": COST}


@cache
def growing(objective: str) -> tuple[Instance, StagedPlan]:
    """The site and its best plan, proven to the last digit."""
    instance = spareopt.read_instance(copy.deepcopy(CASE), overrides=OVERRIDES[objective])
    return instance, spareopt.solve_staged(instance, gap=0)
