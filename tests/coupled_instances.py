"""Random small instances with what couples zones or makes repair a choice: as plain data, for the certificate tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.random_instances import random_instance

KINDS = (
    "zone-crews", "site-crews", "zone-shelf", "site-shelf", "start-at", "block-out", "window", "across",
    "across-nested", "uncertain", "uncertain-across", "replicas", "shrink", "two-level", "overlap", "planned",
    "working", "computing", "per-block", "guarantee", "seats",
)  # fmt: skip


def coupled_instance(kind: str, seed: int, objective: str) -> dict[str, Any]:
    """A random small instance (of random_instances) with one more feature; spanning domains only where they may be."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    data = random_instance(seed, objective)
    failures = data["failures"]
    if kind == "shrink":
        data["limits"].pop("availability", None)
    data["designs"], data["repair_plans"] = data["designs"][:1], data["repair_plans"][:1]
    plans, schemes = data["repair_plans"], data["checkpoint_plans"]
    for design in data["designs"]:
        design["inter_block_spares"] = {"from": 0, "to": 2}
        design["intra_block_spares"] = {"from": 0, "to": 1}
        design["power"]["gpu_limits"] = ["700 W", "1000 W"] if rng.random() < 0.3 else ["1000 W"]
    if kind not in ("two-level", "overlap", "planned", "per-block", "start-at", "block-out"):
        failures["domains"] = [domain for domain in failures["domains"] if domain["name"] != "cooling"]
        for design in data["designs"]:
            design["blocks_per_rack"] = 1
    price = f"{rng.uniform(0.001, 0.1):.4f} M$ per year"
    repair = {"hands_on": f"{rng.uniform(5, 60):.2f} h", "off_crew": f"{rng.uniform(0, 20):.2f} h"}
    if kind in ("zone-crews", "site-crews", "seats"):
        site = "site" if kind == "site-crews" else "zone"
        plans.append(
            {"name": "crewed", "tray": repair, "rack": repair, "crews": [1, 2], "crew_cost": price, "shared_by": site}
        )
        if kind == "seats":
            data["limits"]["crews"] = int(rng.integers(1, 4))
    if kind in ("zone-shelf", "site-shelf"):
        times = {"tray": {"hands_on": "3 h"}, "rack": repair}
        shelf: dict[str, Any] = {
            "shelf": [0, 2],
            "lead_time": "90 h",
            "tray_price": "0.05 M$",
            "shared_by": kind.split("-", maxsplit=1)[0],
        }
        plans[:] = [{"name": "shelved"} | times | shelf]
        if kind == "site-shelf":
            for design in data["designs"]:
                design["gpus_per_tray"] = 2
    if kind in ("start-at", "block-out"):
        plans.append({"name": "deferred", "tray": repair, "rack": repair, "start_at": [1, 2], "swap_stop": "30 min"})
        if kind == "block-out":
            plans[-1]["out_of_service"] = "block"
    if kind == "window":
        plans.append({"name": "weekly", "tray": {"hands_on": "4 h"}, "rack": repair, "window": "50 h"})
    if kind in ("across", "across-nested", "uncertain-across"):
        for zone in data["zones"]:
            zone["racks"] = 4 if kind.startswith("uncertain") else [4, 6]
        feeds = {"name": "feed of the site", "spans": "site", "units": 2, "rate": "0.02 per day"}
        failures["domains"].append(feeds | {"repair": {"hands_on": "12 h"}})
        if kind == "across-nested":
            loop = {"name": "loop", "spans": "site", "units": 4, "rate": "0.01 per day"}
            failures["domains"].append(loop | {"repair": {"hands_on": "12 h"}, "feeds": {"number": 2, "needed": 1}})
    if kind in ("uncertain", "uncertain-across"):
        failures["uncertainty"] = {"variance": float(rng.uniform(0.05, 1.0))}
    if kind in ("replicas", "shrink"):
        groups = {"groups_per_zone": 2, "stall": "1 min", "rejoin": "30 min"}
        groups["when_short"] = "block" if kind == "replicas" else "shrink"
        schemes.append({"name": "groups", "replicas": groups})
    if kind == "two-level":
        memory = {"save": "10 s", "restart": "1 min", "share": 0.8}
        schemes.append({"name": "two", "period": "best", "save": "3 min", "detection": "1 min", "restart": "10 min"})
        schemes[-1]["memory"] = memory
    if kind == "overlap":
        schemes.append({"name": "beside", "period": "best", "save": "3 min", "detection": "1 min", "restart": "10 min"})
        schemes[-1]["overlap"] = {"snapshot": "5 s", "slowdown": 0.05}
    if kind == "planned":
        failures["planned"] = {"rate": "0.1 per day", "stop": "1 h"}
    if kind in ("working", "computing"):
        failures["ageing"] = kind
        data["zones"] = [data["zones"][0] | {"count": 1}]
        failures["domains"] = []
        for design in data["designs"]:
            design["intra_block_spares"] = 0
        if kind == "computing":
            del failures["software"]
    if kind == "per-block":
        failures["charge"] = "block"
    if kind == "guarantee":
        for zone in data["zones"]:
            zone["guarantee"] = {"usable_blocks": 3, "probability": float(rng.uniform(0.5, 0.95))}
    return data
