"""Designs of other generations: their own rates of faults, in the exact model, the simulator and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from spareopt.decisions import Decisions, ZoneChoice
from spareopt.errors import InputError
from spareopt.evaluation import evaluate
from spareopt.plan_text import own_plan_text
from spareopt.reading import read_instance
from spareopt.simulation.build import build_system
from spareopt.simulation.simulate import simulate

TRAY, RACK = 3.0, 0.25


def generation(name: str, trays: int, **rates: float) -> dict[str, Any]:
    """A block design of 4 GPUs a tray."""
    spares = {"intra_block_spares": [0, 1], "inter_block_spares": [0, 1, 2]}
    return {"name": name, "trays_per_block": trays, "gpus_per_tray": 4, **spares, **rates}


def cluster(**rates: float) -> dict[str, Any]:
    """An old hall, and a new one whose design has rates of its own."""
    plan = {"name": "on-site", "tray": {"hands_on": "20 h"}, "rack": {"hands_on": "30 h"}}
    checkpoint = {"name": "best", "period": "best", "save": "1 min", "detection": "1 min", "restart": "9 min"}
    return {
        "schema_version": 1,
        "name": "two-generations",
        "zones": [{"name": "old", "racks": 6, "designs": ["first"]}, {"name": "new", "racks": 8, "designs": ["next"]}],
        "designs": [generation("first", 3), generation("next", 4, **rates)],
        "failures": {"tray": {"mtbf": "2000 h"}, "rack": {"mtbf": "9000 h"}},
        "repair_plans": [plan],
        "checkpoint_plans": [checkpoint],
    }


def decide(*halls: tuple[str, str, int]) -> Decisions:
    """One spare tray in each block and one spare block in each hall."""
    choices = [
        ZoneChoice(
            zone=zone, design=design, racks=racks, intra_block_spares=1, inter_block_spares=1, repair_plan="on-site"
        )
        for zone, design, racks in halls
    ]
    return Decisions(zones=tuple(choices), checkpoint_plan="best")


BOTH = decide(("old", "first", 6), ("new", "next", 8))
RELATIVE = {"relative_tray_rate": TRAY, "relative_rack_rate": RACK}


def test_a_relative_rate_is_that_many_times_the_rate() -> None:
    """Proves that a hall of a design with relative rates is, number for number, one of an instance with those rates."""
    alone = cluster(**RELATIVE) | {"zones": cluster()["zones"][1:]}
    stated = cluster() | {"zones": cluster()["zones"][1:]}
    stated["failures"] = {"tray": {"mtbf": f"{2000 / TRAY!r} h"}, "rack": {"mtbf": f"{9000 / RACK!r} h"}}
    decisions = decide(("new", "next", 8))
    here, there = (evaluate(read_instance(data), decisions) for data in (alone, stated))
    assert here.goodput == pytest.approx(there.goodput, rel=1e-12)
    assert here.unavailability == pytest.approx(there.unavailability, rel=1e-9)
    assert here.interruption_rate_per_h == pytest.approx(there.interruption_rate_per_h, rel=1e-12)


def test_each_hall_has_its_own_rates() -> None:
    """Proves by the closed form that the two halls' rates add up: 5 blocks of 2 trays, and 7 of 3 failing otherwise."""
    rate = evaluate(read_instance(cluster(**RELATIVE)), BOTH).interruption_rate_per_h
    assert rate == pytest.approx(5 * (2 / 2000 + 1 / 9000) + 7 * (3 * TRAY / 2000 + RACK / 9000), rel=1e-12)


def test_the_simulator_plays_the_same_rates() -> None:
    """Proves that the system that is simulated has them class by class, and that its goodput is the exact one's."""
    instance = read_instance(cluster(**RELATIVE))
    rates = build_system(instance, BOTH).rate.tolist()
    assert rates == pytest.approx([1 / 2000, TRAY / 2000, 1 / 9000, RACK / 9000])
    result = simulate(instance, BOTH, years=40, replications=8, seed=3)
    exact = evaluate(instance, BOTH)
    cett = result.agreement["cett"]
    assert (cett.exact, abs(cett.standard_errors or 9.0) < 4) == (exact.cett, True)


def test_crews_of_the_site_need_equal_rates() -> None:
    """Proves that what the law of shared crews does not cover, units of different rates, is refused by name."""
    data = cluster(**RELATIVE)
    data["repair_plans"][0] |= {"crews": 2, "shared_by": "site"}
    with pytest.raises(InputError, match="relative_tray_rate"):
        read_instance(data)


def test_the_zone_that_holds_the_others_back_is_named() -> None:
    """Proves that a score says which zone sets the scale where zones could run at different ones, else nothing."""
    data = cluster()
    slower = data | {"zones": [data["zones"][0] | {"relative_speed": 0.9}, data["zones"][1]]}
    texts = []
    for given in (slower, data):
        instance = read_instance(given)
        result = evaluate(instance, BOTH)
        texts.append(own_plan_text("plan", BOTH, result, instance, beyond=[], best=None, table=None))
    assert "0.9000, held back by zone old; new could run at 1.0000" in texts[0]
    assert "held back" not in texts[1]
