"""Random small instances with a horizon, of every kind of thing that comes by quarter, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

KINDS = ("plain", "early", "crews", "shelf", "bought", "designs", "job", "domains", "rare", "extras")
OBJECTIVES = ("goodput", "cost")


def staged_instance(seed: int, kind: str, objective: str) -> dict[str, Any]:
    """A small cluster of one or two zones over two or three quarters; ``kind`` is there for sure, the rest by chance.

    Budgets, power, jobs and targets are set around what a middling plan needs, so that they bind often and sometimes
    forbid all.
    """
    rng = np.random.default_rng([seed, KINDS.index(kind), OBJECTIVES.index(objective)])
    pick = lambda *values: values[int(rng.integers(len(values)))]  # noqa: E731
    chance = lambda p: bool(rng.random() < p)  # noqa: E731
    quarters = pick(2, 2, 3)
    early, shelf = kind == "early", kind == "shelf"
    crews = kind == "crews" or (shelf and chance(0.3))
    designs = [_design(name, rng) for name in ("a", "b")[: 2 if kind == "designs" else 1]]
    if not (early or crews or shelf) and chance(0.2):
        designs[0]["blocks_per_rack"] = 2
    zones = _zones(rng, quarters)
    racks = sum(zone["count"] * max(zone["racks"]) for zone in zones)
    price, draw = 2.0, 17.0  # M$ and kW of a middling rack
    repair = {"hands_on": f"{rng.uniform(2, 40):.2f} h", "off_crew": f"{rng.uniform(0, 20):.2f} h"}
    plans: list[dict[str, Any]] = [{"name": "usual", "tray": repair, "rack": repair, "yearly_cost": "0.05 M$ per year"}]
    if crews:
        plans[0] |= {"crews": [1, 2], "crew_cost": f"{rng.uniform(0.01, 0.2):.4f} M$ per year"}
    if shelf:
        tray = {"tray": {"hands_on": "3 h"}, "shelf": [0, 1, 2], "lead_time": f"{rng.uniform(40, 300):.1f} h"}
        plans[0] |= tray | {"tray_price": f"{rng.uniform(0.02, 0.6):.4f} M$"}
    if kind in ("plain", "job") and chance(0.3):
        slow = {"hands_on": "90 h"}
        plans.append({"name": "slow", "tray": slow, "rack": slow, "yearly_cost": "0.01 M$ per year"})
    given = {"name": "given", "period": "30 min", "save": "1 min", "detection": "1 min", "restart": "10 min"}
    best = {"name": "best", "period": "best", "save": "2 min", "detection": "1 min", "restart": "8 min"}
    best["yearly_cost"] = "0.05 M$ per year"
    failures: dict[str, Any] = {
        "tray": {"mtbf": f"{rng.uniform(100, 2000):.2f} h"},
        "software": {"rate": f"{rng.uniform(0.1, 3):.3f} per day"},
    }
    if chance(0.7) or crews:
        failures["rack"] = {"mtbf": f"{rng.uniform(500, 5000):.2f} h"}
    if kind == "domains" or (early and chance(0.4)):
        failures["domains"] = [
            {"name": "feed", "spans": "zone", "rate": "0.01 per day", "repair": {"hands_on": "9 h"}},
            {"name": "grid", "spans": "site", "rate": "0.004 per day", "repair": {"hands_on": "4 h"}},
        ][pick(0, 1) :]
    if kind == "domains":
        cooling = {"name": "cooling", "spans": "2 racks", "rate": "0.02 per day", "repair": {"hands_on": "5 h"}}
        failures["domains"].append(cooling)
    data: dict[str, Any] = {
        "schema_version": 1,
        "name": f"staged-{kind}-{objective}-{seed}",
        "zones": zones,
        "designs": designs,
        "failures": failures,
        "repair_plans": plans,
        "checkpoint_plans": pick([given], [best], [best], [given, best]),
        "hardware_scale": {"power_curve": {"a": 0.952, "b": 2.02, "valid_from": 0.5}},
        "llm_scale": {"ring_overhead": 0.2, "reference_gpus": 4},
        "power": {"pue": 1.2, "energy_price": "0.4 $ per kWh"},
        "economics": {"amortisation": pick("4 years", "1 year", "0.6 years", "0.25 years")},
        "limits": {},
        "objective": {"kind": objective},
        "horizon": {"quarters": quarters},
    }
    horizon, limits = data["horizon"], data["limits"]
    each = lambda low, high: [float(rng.uniform(low, high)) for _ in range(quarters)]  # noqa: E731
    if chance(0.7):
        money = [racks * price * x * pick(1, 1, 0) for x in each(0.2, 1.4)]
        if chance(0.2):  # just what some racks cost
            money = [2.0 * int(rng.integers(1, 5)) for _ in range(quarters)]
            designs[0]["rack_price"] = "1 M$"
        horizon["capital"] = pick([f"{x:.4f} M$" for x in money], f"{max(money):.4f} M$")
    if chance(0.3):
        horizon["carry_over"] = False
    if chance(0.3):
        limits["capital"] = f"{racks * price * rng.uniform(0.5, 1.3):.4f} M$"
    if chance(0.4):
        power = np.sort(racks * draw * np.array(each(0.2, 1.6)))
        horizon[pick("site_power", "it_power")] = [f"{x:.3f} kW" for x in power]
    if chance(0.6):
        horizon["discount_rate"] = pick(0.08, 0.5)
    if chance(0.35):
        horizon["lead_time"] = {"racks": 1} | ({"shelf": pick(0, 1)} if shelf else {})
    elif shelf and chance(0.4):
        horizon["lead_time"] = {"shelf": 1}
    if chance(0.5):
        changes: dict[str, Any] = {"racks": pick("-10 % per quarter", [1.0, 0.7, 1.2][:quarters], 1.1)}
        if shelf:
            changes["shelf"] = pick("-50 % per quarter", [1.0, 3.0, 0.5][:quarters])
        if crews:
            changes["crews"] = pick("+40 % per quarter", [1.0, 0.3, 2.0][:quarters])
        if chance(0.5):
            changes["energy"] = pick("+30 % per quarter", [0.5, 2.0, 1.0][:quarters])
        horizon["price_changes"] = changes
    if early:
        multiples = [float(x) for x in rng.uniform(0.5, 6.0, size=int(rng.integers(1, quarters + 1)))]
        horizon["early_life"] = {"tray": [round(x, 3) for x in multiples]}
        if "rack" in failures and chance(0.5):
            horizon["early_life"]["rack"] = [round(float(rng.uniform(0.5, 8.0)), 3)] * pick(1, 2)
    if kind == "bought" or chance(0.2):
        _buy(data, rng)
        if shelf and chance(0.7):
            horizon["shelf"] = [{"trays": pick(1, 2)} | pick({}, {"quarter": 1})]
    if kind == "job" or chance(0.2):
        start = int(racks * rng.uniform(0.5, 3))
        grown = [start + int(racks * rng.uniform(0, 1.5)) * t for t in range(quarters)]
        if chance(0.5):
            grown[0] = 0
        bound = pick("minimum", "maximum")
        horizon["working_gpus"] = {bound: grown if bound == "minimum" else [2 * x + 4 for x in grown]}
    if chance(0.2):
        limits["availability"] = float(rng.uniform(0.5, 0.95))
    if chance(0.2):
        limits["yearly_cost"] = f"{racks * rng.uniform(0.05, 0.25):.4f} M$ per year"
    if chance(0.1):
        limits["floor"] = int(max(1, racks + rng.integers(-3, 2)))
    if crews and chance(0.3):
        limits["crews"] = int(rng.integers(1, 4))
    if shelf and chance(0.3):
        limits["shelf_trays"] = int(rng.integers(0, 4))
    if objective == "cost":
        most = racks * min(design["trays_per_block"] for design in designs) * 2.0
        data["objective"]["goodput_target"] = most * float(rng.uniform(0.02, 0.4))
        if chance(0.8):
            targets = np.sort(most * np.array(each(0.02, 0.5)))
            if "lead_time" in horizon or chance(0.4):
                targets[0] = 0.0
            horizon["goodput_target"] = [float(x) for x in targets]
    if kind == "rare":  # hardly ever short: ln A near the solver's tolerances
        for fault in ("tray", "rack"):
            if fault in failures:
                failures[fault]["mtbf"] = f"{10 ** rng.uniform(4, 7):.6g} h"
    if kind == "extras":
        _add_extras(data, rng)
    return data


def _add_extras(data: dict[str, Any], rng: np.random.Generator) -> None:
    """Some of what else an instance can state."""
    design, plan = data["designs"][0], data["repair_plans"][0]
    if rng.random() < 0.3:
        data["placement_group"] = 2 * design["trays_per_block"]
    if rng.random() < 0.3:
        draw = design["trays_per_block"] * 3.0 * design["blocks_per_rack"] + 2.0
        data["power"]["rack_limit"] = f"{draw * rng.uniform(0.8, 1.01):.3f} kW"
    if rng.random() < 0.3:
        least = min(data["zones"][0]["racks"]) - 1
        data["zones"][0]["guarantee"] = {"usable_blocks": max(1, least), "probability": float(rng.uniform(0.5, 0.99))}
    if rng.random() < 0.4 and design["trays_per_block"] > 1:
        data["repair_plans"].append(plan | {"name": "later", "start_at": [1, 2], "swap_stop": "30 min"})
    if rng.random() < 0.3:
        data["failures"]["planned"] = {"rate": "0.1 per day", "stop": "1 h"}
    if rng.random() < 0.4:
        two = {"name": "two", "period": "best", "save": "3 min", "detection": "1 min", "restart": "10 min"}
        data["checkpoint_plans"].append(two | {"memory": {"save": "10 s", "restart": "1 min", "share": 0.8}})
    if rng.random() < 0.3:
        data["failures"]["charge"] = "block"


def _design(name: str, rng: np.random.Generator) -> dict[str, Any]:
    trays = int(rng.integers(1, 4))
    limits = ["1000 W"] if rng.random() < 0.7 else ["700 W", "1000 W"]
    return {
        "name": name,
        "trays_per_block": trays,
        "gpus_per_tray": 2,
        "blocks_per_rack": 1,
        "intra_block_spares": {"from": 0, "to": 1} if trays > 1 else 0,
        "inter_block_spares": {"from": 0, "to": 1},
        "relative_tray_rate": 1.0 if name == "a" else 1.5,
        "relative_rack_rate": 1.0 if name == "a" else 0.5,
        "rack_price": f"{rng.uniform(1, 3):.3f} M$",
        "power": {
            "gpu_full_limit": "1000 W",
            "gpu_limits": limits,
            "tray_other": "1 kW",
            "tray_idle": "0.8 kW",
            "rack_rest": "2 kW",
        },
    }


def _zones(rng: np.random.Generator, quarters: int) -> list[dict[str, Any]]:
    """One zone or two, of one class or two."""
    first, second = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    choices = [first, first + int(rng.integers(1, 3))]
    if quarters == 2 and rng.random() < 0.3:
        choices = [first, first + 1, first + 2]
    number = int(rng.integers(3))
    zones: list[dict[str, Any]] = [{"name": "north", "count": 1 + (number == 1), "racks": choices}]
    if number == 2:
        zones.append({"name": "south", "count": 1, "racks": [second], "relative_speed": float(rng.uniform(0.8, 1.0))})
    return zones


def _buy(data: dict[str, Any], rng: np.random.Generator) -> None:
    """Some zone was begun: delivered long ago, lately, or on order; any number of racks."""
    zone, quarters = data["zones"][0], data["horizon"]["quarters"]
    deliveries: list[dict[str, Any]] = [{"racks": int(rng.integers(1, max(zone["racks"]) + 1))}]
    when = int(rng.integers(-2, quarters + 1))
    if when < quarters:
        deliveries[0]["quarter"] = when
    if rng.random() < 0.4:
        deliveries.append({"racks": 1, "quarter": int(rng.integers(-1, quarters))})
    count = zone["count"] if rng.random() < 0.3 else 1
    design = data["designs"][int(rng.integers(len(data["designs"])))]["name"]
    data["horizon"]["bought"] = [{"zone": zone["name"], "count": count, "design": design, "deliveries": deliveries}]
