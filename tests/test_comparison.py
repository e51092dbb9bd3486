"""A planner's plan beside the optimum: which decision is worth how much, checked by hand on small clusters."""

from __future__ import annotations

import math
from typing import Any

import pytest

from spareopt.comparison import compare_decisions, objective_value
from spareopt.decisions import DECISION_FIELDS, REPAIR_FIELDS, Decisions, ZoneChoice
from spareopt.evaluation import evaluate
from spareopt.instance import Instance
from spareopt.reading import read_instance

REPAIR = {"hands_on": "2 h"}
POWER = {"gpu_full_limit": "1 kW", "tray_other": "1 kW", "tray_idle": "1 kW", "rack_rest": "1 kW"}


def cluster(**changes: Any) -> Instance:
    """Two zone classes, 1 north and 3 south, of 8 racks; hardware that never fails, software that interrupts."""
    data: dict[str, Any] = {
        "schema_version": 1,
        "name": "small",
        "zones": [{"name": "north", "racks": [8, 9]}, {"name": "south", "count": 3, "racks": 8}],
        "designs": [
            {
                "name": "big",
                "trays_per_block": 4,
                "gpus_per_tray": 2,
                "intra_block_spares": [0, 1],
                "inter_block_spares": [0, 1, 2],
                "rack_price": "1 M$",
                "power": POWER,
            },
            {
                "name": "small",
                "trays_per_block": 2,
                "gpus_per_tray": 2,
                "intra_block_spares": [0, 1],
                "inter_block_spares": [0, 1, 2],
                "rack_price": "0.5 M$",
                "power": POWER,
            },
        ],
        "failures": {"tray": {"mtbf": "1e15 h"}, "software": {"rate": "1 per day"}},
        "repair_plans": [
            {"name": "slow", "tray": REPAIR, "yearly_cost": "1 M$ per year"},
            {"name": "fast", "tray": REPAIR, "yearly_cost": "2 M$ per year"},
        ],
        "checkpoint_plans": [
            {"name": "hourly", "period": "1 h", "save": "1 min", "detection": "1 min", "restart": "5 min"},
            {"name": "best", "period": "best", "save": "1 min", "detection": "1 min", "restart": "5 min"},
        ],
        "limits": {"working_gpus": {"minimum": 170}},
        "objective": {"kind": "goodput"},
    }
    return read_instance(data | changes)


def choice(zone: str, count: int, **changes: Any) -> ZoneChoice:
    usual = {"design": "big", "racks": 8, "intra_block_spares": 0, "inter_block_spares": 2, "repair_plan": "slow"}
    return ZoneChoice.model_validate({"zone": zone, "count": count} | usual | changes)


def plan(*zones: ZoneChoice, checkpoint_plan: str = "hourly") -> Decisions:
    return Decisions(zones=zones, checkpoint_plan=checkpoint_plan)


def rows(instance: Instance, mine: Decisions, best: Decisions) -> dict[tuple[str, str], Any]:
    return {(row.zone, row.decision): row for row in compare_decisions(instance, mine, best).itertuples()}


def test_one_changed_decision_is_worth_its_working_gpus() -> None:
    """Proves the value of one spare block less by hand: hardware never fails, so goodput goes with the GPUs at work.

    Mine works 4 × 6 blocks of 8 GPUs, 192; with R = 1 in the three zones of south it is 216.  Were the change made in
    one zone only, or in both classes, the ratio would not be 216/192.
    """
    instance = cluster()
    mine = plan(choice("north", 1), choice("south", 3))
    best = plan(choice("north", 1), choice("south", 3, inter_block_spares=1))
    result = rows(instance, mine, best)
    row = result["south", "inter_block_spares"]
    assert (row.mine, row.optimum, row.meets_limits, row.remark) == ("2", "1", True, "")
    assert row.alone / evaluate(instance, mine).goodput == pytest.approx(216 / 192, rel=1e-9)
    for place, other in result.items():
        if place != ("south", "inter_block_spares"):
            assert math.isnan(other.alone), place
            assert other.meets_limits is None
            assert other.mine == other.optimum


def test_every_row_is_the_score_of_my_plan_with_that_change_alone() -> None:
    """Proves that each ``alone`` equals evaluate() of the plan so changed, for every decision there is.

    A row that carried over an earlier row's change would differ.
    """
    instance = cluster()
    mine = plan(choice("north", 1), choice("south", 3))
    changes = {"racks": 9, "intra_block_spares": 1, "inter_block_spares": 1, "repair_plan": "fast"}
    best = plan(choice("north", 1, **changes), choice("south", 3), checkpoint_plan="best")
    result = rows(instance, mine, best)
    assert [place for place in result if place[0] == "north"] == [
        ("north", field) for field in DECISION_FIELDS if field not in REPAIR_FIELDS
    ]
    for field, value in changes.items():
        changed = plan(choice("north", 1, **{field: value}), choice("south", 3))
        assert result["north", field].alone == evaluate(instance, changed).goodput, field
    changed = mine.model_copy(update={"checkpoint_plan": "best"})
    assert result["", "checkpoint_plan"].alone == evaluate(instance, changed).goodput


def test_a_broken_limit_is_named() -> None:
    """Proves that a change that breaks a limit alone says which one: 8 of 192 GPUs fewer per rack are too few."""
    instance = cluster()
    mine = plan(choice("north", 1), choice("south", 3))
    best = plan(choice("north", 1), choice("south", 3, intra_block_spares=1, inter_block_spares=0))
    row = rows(instance, mine, best)["south", "intra_block_spares"]
    assert row.alone > 0
    assert row.meets_limits is False
    assert row.remark == "breaks working_gpus.minimum"


def test_what_can_not_be_built_alone_says_why() -> None:
    """Proves that I = 2 kept from 4-tray blocks is refused in 2-tray ones with the reason, not scored as nonsense."""
    instance = cluster()
    mine = plan(choice("north", 1, intra_block_spares=2), choice("south", 3))
    best = plan(choice("north", 1, design="small"), choice("south", 3))
    row = rows(instance, mine, best)["north", "design"]
    assert math.isnan(row.alone)
    assert row.meets_limits is False
    assert row.remark.startswith("can't be built alone: expected fewer than trays_per_block (2)")


def test_split_classes_are_compared_as_a_whole() -> None:
    """Proves that a class that either plan splits is one row, with all its choices and their order ignored.

    Two plans that differ in the GPU limit of one part only must not pass for equal.
    """
    instance = cluster()
    mine = plan(choice("north", 1), choice("south", 1), choice("south", 2, inter_block_spares=1))
    same = plan(choice("north", 1), choice("south", 2, inter_block_spares=1), choice("south", 1))
    row = rows(instance, mine, same)["south", "all"]
    assert math.isnan(row.alone)
    assert row.mine == row.optimum
    assert row.mine == "2 × big, 8 racks, I=0, R=1, slow, full; 1 × big, 8 racks, I=0, R=2, slow, full"
    whole = plan(choice("north", 1), choice("south", 3, inter_block_spares=1))
    assert rows(instance, mine, whole)["south", "all"].alone == evaluate(instance, whole).goodput
    scale = {"hardware_scale": {"power_table": [{"limit": 0.5, "scale": 0.8}, {"limit": 1, "scale": 1}]}}
    slower = plan(choice("north", 1), choice("south", 1, gpu_limit="900 W"), choice("south", 2, inter_block_spares=1))
    row = rows(cluster(**scale), mine, slower)["south", "all"]
    assert "R=2, slow, 900 W" in row.optimum
    assert row.alone == evaluate(cluster(**scale), slower).goodput


def test_the_full_gpu_limit_is_the_same_however_written() -> None:
    """Proves that a limit left out and the full limit written out are equal decisions."""
    instance = cluster()
    mine = plan(choice("north", 1, gpu_limit="1 kW"), choice("south", 3))
    row = rows(instance, mine, plan(choice("north", 1), choice("south", 3)))["north", "gpu_limit"]
    assert (row.mine, row.optimum, row.meets_limits) == ("full", "full", None)


@pytest.mark.parametrize(
    ("objective", "quantity"),
    [
        ({"kind": "goodput"}, "goodput"),
        ({"kind": "cost", "goodput_target": 10}, "cost_per_year"),
        ({"kind": "goodput_per_dollar"}, "goodput_gpu_hours_per_money"),
    ],
    ids=["goodput", "cost", "goodput per dollar"],
)
def test_alone_is_in_the_objectives_own_unit(objective: dict[str, Any], quantity: str) -> None:
    """Proves that each objective compares its own quantity; by hand, a repair plan 1 M$ dearer in one zone."""
    instance = cluster(objective=objective)
    mine, best = (plan(choice("north", 1, repair_plan=name), choice("south", 3)) for name in ("slow", "fast"))
    row = rows(instance, mine, best)["north", "repair_plan"]
    assert (
        row.alone == getattr(evaluate(instance, best), quantity) == objective_value(instance, evaluate(instance, best))
    )
    if quantity == "cost_per_year":
        assert row.alone - evaluate(instance, mine).cost_per_year == pytest.approx(1e6, rel=1e-9)


def test_without_prices_there_is_no_cost_to_compare() -> None:
    """Proves that an unknown objective is NaN, not zero."""
    instance = cluster()
    mine = plan(choice("north", 1), choice("south", 3))
    unpriced = evaluate(instance, mine).model_copy(update={"cost_per_year": None})
    assert objective_value(cluster(objective={"kind": "cost", "goodput_target": 10}), unpriced) is None
