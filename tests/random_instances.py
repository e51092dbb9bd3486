"""Random small instances of every objective, as plain data, for the certificate tests."""

from __future__ import annotations

from typing import Any

import numpy as np

OBJECTIVES = ("goodput", "cost", "goodput_per_dollar")


def random_instance(seed: int, objective: str) -> dict[str, Any]:
    """A small priced and powered cluster: 1 or 2 zone classes, a few choices of everything, random limits.

    Limits and targets are set around what a middling choice needs, so that they bind often and sometimes forbid all.
    """
    rng = np.random.default_rng([seed, OBJECTIVES.index(objective)])
    pick = lambda *values: values[int(rng.integers(len(values)))]  # noqa: E731
    designs = []
    for name in ("a", "b")[: pick(1, 2)]:
        trays = pick(2, 3, 4)
        designs.append(
            {
                "name": name,
                "trays_per_block": trays,
                "gpus_per_tray": pick(2, 4),
                "blocks_per_rack": pick(1, 1, 2),
                "intra_block_spares": {"from": 0, "to": pick(1, trays - 1)},
                "inter_block_spares": {"from": 0, "to": pick(1, 2)},
                "relative_tray_rate": 1.0 if name == "a" else 1.5,
                "relative_rack_rate": 1.0 if name == "a" else 0.5,
                "rack_price": f"{rng.uniform(1, 4):.3f} M$",
                "power": {
                    "gpu_full_limit": "1000 W",
                    "gpu_limits": pick(["1000 W"], ["700 W", "1000 W"], ["600 W", "800 W", "1000 W"]),
                    "tray_other": "1 kW",
                    "tray_idle": "0.8 kW",
                    "rack_rest": "2 kW",
                },
            }
        )
    zones: list[dict[str, Any]] = []
    for name in ("north", "south")[: pick(1, 2)]:
        racks = pick(3, 4, 5)
        zone = {"name": name, "count": pick(1, 1, 2), "racks": pick(racks, {"from": racks, "to": racks + 1})}
        zones.append(zone | {"relative_speed": pick(1.0, 1.0, 0.9)})
    domains: list[dict[str, Any]] = [
        {"name": "cooling", "spans": "2 racks", "rate": "0.01 per day", "repair": {"hands_on": "5 h"}},
        {"name": "feed", "spans": "zone", "rate": "0.002 per day", "repair": {"hands_on": "9 h"}},
        {"name": "grid", "spans": "site", "rate": "0.001 per day", "repair": {"hands_on": "4 h"}},
    ]
    repair_plans = []
    for name, hours in (("slow", 60), ("fast", 8))[: pick(1, 2)]:
        repair = {"hands_on": f"{hours / 2} h", "off_crew": f"{hours / 2} h"}
        cost = "0.2 M$ per year" if name == "fast" else "0.02 M$ per year"
        repair_plans.append({"name": name, "tray": repair, "rack": repair, "yearly_cost": cost})
    given = {"name": "given", "period": "30 min", "save": "1 min", "detection": "1 min", "restart": "10 min"}
    best = {"name": "best", "period": "best", "save": "2 min", "detection": "1 min", "restart": "8 min"}
    best["yearly_cost"] = "0.05 M$ per year"
    data: dict[str, Any] = {
        "schema_version": 1,
        "name": f"random-{objective}-{seed}",
        "zones": zones,
        "designs": designs,
        "failures": {
            "tray": {"mtbf": f"{rng.uniform(100, 3000):.2f} h"},
            "rack": {"mtbf": f"{rng.uniform(500, 5000):.2f} h"},
            "domains": [domain for domain in domains if rng.random() < 0.3],
            "software": {"rate": f"{rng.uniform(0.1, 3):.3f} per day"},
        },
        "repair_plans": repair_plans,
        "checkpoint_plans": pick([given], [best], [given, best]),
        "hardware_scale": {"power_curve": {"a": 0.952, "b": 2.02, "valid_from": 0.5}},
        "llm_scale": {"ring_overhead": 0.2, "reference_gpus": 4},
        "power": {"pue": 1.2, "energy_price": "0.4 $ per kWh"},
        "economics": {"site_capital": "10 M$ per MW"},
        "limits": {},
        "objective": {"kind": objective},
    }
    limits = data["limits"]
    racks_in_all = sum(zone["count"] * 4 for zone in zones)
    if rng.random() < 0.5:
        limits["capital"] = f"{racks_in_all * rng.uniform(1.5, 4.5):.3f} M$"
    if rng.random() < 0.4:
        limits["yearly_cost"] = f"{racks_in_all * rng.uniform(0.03, 0.25):.4f} M$ per year"
    if rng.random() < 0.4:
        limits["site_power"] = f"{racks_in_all * rng.uniform(12, 40):.3f} kW"
    if rng.random() < 0.2:
        limits["it_power"] = f"{racks_in_all * rng.uniform(12, 40):.3f} kW"
    if rng.random() < 0.2:
        limits["floor"] = int(racks_in_all + rng.integers(-1, 3))
    if rng.random() < 0.2:
        limits["availability"] = float(rng.uniform(0.5, 0.95))
    if rng.random() < 0.3:
        limits["working_gpus"] = pick({"minimum": racks_in_all * 3}, {"maximum": racks_in_all * 8})
    if rng.random() < 0.2:
        data["placement_group"] = 12
    if objective == "cost":
        data["objective"]["goodput_target"] = float(racks_in_all * rng.uniform(1.0, 7.0))
    return data
