"""Random small instances that the nonlinear model covers, of every objective."""

from __future__ import annotations

from typing import Any

import numpy as np

from spareopt import read_instance
from spareopt.instance import Instance
from tests.brute_force import number_of_plans
from tests.random_instances import random_instance

HARDWARE = (
    {"power_curve": {"a": 0.952, "b": 2.02, "valid_from": 0.5}},
    {"fixed_gain_with_spares": 1.05},
    {"rack_power": {"idle_draw": 0.28, "gain": 1.034, "at_ratio": 1.09}},
)


def _covered(data: dict[str, Any], seed: int) -> dict[str, Any]:
    """The instance with what the nonlinear model does not state taken out, and other forms of the scale put in."""
    rng = np.random.default_rng(seed)
    if rng.random() < 0.3:
        del data["failures"]["rack"]  # so that racks may hold two blocks
    for design in data["designs"]:
        design.update(relative_tray_rate=1.0, relative_rack_rate=1.0)
        if "rack" in data["failures"]:
            design["blocks_per_rack"] = 1
    most = max(design["blocks_per_rack"] for design in data["designs"])
    if most > 1:
        for zone in data["zones"]:
            zone["racks"] = {"from": 2, "to": 3}
    data["failures"]["domains"] = [d for d in data["failures"]["domains"] if d["spans"] in ("zone", "site")]
    data["hardware_scale"] = HARDWARE[int(rng.integers(len(HARDWARE)))]
    if "power_curve" not in data["hardware_scale"]:
        for design in data["designs"]:
            del design["power"]["gpu_limits"]  # a lower limit would cost no speed
    return data


def nonlinear_instance(objective: str, number: int, most_plans: int) -> Instance:
    """The ``number``-th random instance of an objective with few enough plans; every second one has several zones."""
    for attempt in range(1000):
        seed = 1000 * number + attempt
        instance = read_instance(_covered(random_instance(seed, objective), seed))
        several = sum(zone.count for zone in instance.zones)
        if number_of_plans(instance) <= most_plans and several <= 3 and (several > 1 or number % 2):
            return instance
    raise AssertionError("no small instance found")
