"""The plans one step away, each against the plan built by hand; and the command that shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import spareopt
from spareopt import InputError, read_decisions, read_instance
from spareopt.cli import main
from spareopt.comparison import objective_value
from spareopt.decisions import Decisions
from spareopt.instance import Instance
from spareopt.neighbours import one_step_away

POWER = {
    "gpu_full_limit": "1000 W", "gpu_limits": ["600 W", "800 W"], "tray_other": "1 kW", "tray_idle": "0.8 kW",
}  # fmt: skip


def data(**changes: Any) -> dict[str, Any]:
    """Two zone classes with every kind of choice; changes replace top-level fields."""
    return {
        "schema_version": 1,
        "name": "steps",
        "zones": [{"name": "north", "count": 2, "racks": [4, 5, 7]}, {"name": "south", "racks": 4}],
        "designs": [
            {
                "name": "block", "trays_per_block": 3, "gpus_per_tray": 4, "intra_block_spares": [0, 1, 2],
                "inter_block_spares": [0, 1, 3], "rack_price": "1 M$", "power": POWER,
            }
        ],
        "failures": {"tray": {"rate": "0.002 per h"}, "software": {"rate": "0.5 per day"}},
        "repair_plans": [
            {"name": "crewed", "tray": {"hands_on": "6 h"}, "crews": [1, 2, 4], "crew_cost": "0.1 M$ per year"},
            {"name": "later", "tray": {"hands_on": "6 h", "off_crew": "9 h"}, "start_at": [1, 2, 3]},
            {
                "name": "shelf", "tray": {"hands_on": "2 h"}, "shelf": [0, 2], "lead_time": "90 h",
                "tray_price": "0.01 M$",
            },
        ],
        "checkpoint_plans": [
            {"name": "best", "period": "best", "save": "1 min", "detection": "1 min", "restart": "5 min"},
            {"name": "hourly", "period": "1 h", "save": "1 min", "detection": "1 min", "restart": "5 min"},
        ],
        "hardware_scale": {"power_curve": {"a": 0.952, "b": 2.02, "valid_from": 0.5}},
    } | changes  # fmt: skip


def north(**changes: Any) -> dict[str, Any]:
    return {
        "zone": "north", "count": 2, "design": "block", "racks": 5, "intra_block_spares": 1, "inter_block_spares": 1,
        "repair_plan": "crewed", "crews": 2, "gpu_limit": "800 W",
    } | changes  # fmt: skip


def south(**changes: Any) -> dict[str, Any]:
    return {
        "zone": "south", "design": "block", "racks": 4, "intra_block_spares": 0, "inter_block_spares": 1,
        "repair_plan": "later", "start_at": 2,
    } | changes  # fmt: skip


def plan(*zones: dict[str, Any], scheme: str = "best") -> Decisions:
    zones = tuple({key: value for key, value in zone.items() if value is not None} for zone in zones)
    return read_decisions({"zones": list(zones), "checkpoint_plan": scheme})


def assert_row(instance: Instance, table: pd.DataFrame, key: tuple[str, str, Any, Any], moved: Decisions) -> None:
    """The one row of (zone, decision, from, to) holds the numbers of evaluate() of the plan built by hand."""
    rows = table[(table["zone"] == key[0]) & (table["decision"] == key[1]) & (table["to"] == key[3])]
    assert len(rows) == 1, key
    row = rows.iloc[0]
    assert row["from"] == key[2]
    expected = spareopt.evaluate(instance, moved)
    assert row["goodput"] == expected.goodput
    assert row["cost_per_year"] == expected.cost_per_year
    assert row["objective"] == objective_value(instance, expected)
    assert row["breaks"] == ", ".join(limit.limit for limit in expected.violated)


def keys(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(table[["zone", "decision", "from", "to"]].itertuples(index=False, name=None))


def test_every_row_is_the_plan_so_moved() -> None:
    """Proves each row against a plan written by hand, and that the rows are all steps to the next values, no others.

    I, R and racks step to what is offered next (racks 5 to 7, not 6), the south's only number of racks not at all; its
    unstated GPU limit is the full one, below which 800 W comes next.
    """
    instance = read_instance(data())
    here = plan(north(), south())
    table = one_step_away(instance, here)
    rows: dict[tuple[str, str, Any, Any], Decisions] = {}
    for field, old, new in (
        ("racks", 5, 4), ("racks", 5, 7), ("intra_block_spares", 1, 0), ("intra_block_spares", 1, 2),
        ("inter_block_spares", 1, 0), ("inter_block_spares", 1, 3), ("gpu_limit", 0.8, 0.6),
        ("crews", 2, 1), ("crews", 2, 4),
    ):  # fmt: skip
        rows["north", field, old, new] = plan(north(**{field: "600 W" if field == "gpu_limit" else new}), south())
    for field, old, new in (
        ("intra_block_spares", 0, 1), ("inter_block_spares", 1, 0), ("inter_block_spares", 1, 3),
        ("gpu_limit", 1.0, 0.8), ("start_at", 2, 1), ("start_at", 2, 3),
    ):  # fmt: skip
        rows["south", field, old, new] = plan(north(), south(**{field: "800 W" if field == "gpu_limit" else new}))
    others = {
        "crewed": [{"crews": 1}, {"crews": 2}, {"crews": 4}],
        "later": [{"start_at": 1}, {"start_at": 2}, {"start_at": 3}],
        "shelf": [{"shelf_trays": 0}, {"shelf_trays": 2}],
    }
    for zone, old in (("north", "crewed"), ("south", "later")):
        for new in [name for name in others if name != old]:
            choices = []
            for choice in others[new]:
                change = {"repair_plan": new, "crews": None, "start_at": None, "shelf_trays": None} | choice
                moved = plan(north(**change), south()) if zone == "north" else plan(north(), south(**change))
                choices.append(moved)
            rows[zone, "repair_plan", old, new] = max(choices, key=lambda d: spareopt.evaluate(instance, d).goodput)
    rows["", "checkpoint_plan", "best", "hourly"] = plan(north(), south(), scheme="hourly")
    assert sorted(map(str, keys(table))) == sorted(map(str, rows))
    for key, moved in rows.items():
        assert_row(instance, table, key, moved)
    score = spareopt.evaluate(instance, here)
    assert score.cost_per_year is not None
    change = table["goodput"] / score.goodput - 1
    assert table["goodput_change"].to_list() == pytest.approx(change.to_list(), abs=1e-15)
    dearer = table["cost_per_year"] - score.cost_per_year
    assert table["cost_change_per_year"].to_list() == pytest.approx(dearer.to_list(), abs=1e-6)


def test_a_value_that_is_not_offered_steps_to_the_offered_ones_beside_it() -> None:
    """Proves the next values of an own plan between or beyond the offered ones: neighbours on both sides, or one."""
    instance = read_instance(data())
    table = one_step_away(instance, plan(north(racks=6, crews=9), south(inter_block_spares=2)))
    steps = keys(table)
    assert [step[2:] for step in steps if step[:2] == ("north", "racks")] == [(6, 5), (6, 7)]
    assert [step[2:] for step in steps if step[:2] == ("north", "crews")] == [(9, 4)]
    assert [step[2:] for step in steps if step[:2] == ("south", "inter_block_spares")] == [(2, 1), (2, 3)]


def test_limits_that_a_step_breaks_are_named_and_what_can_not_be_built_says_why() -> None:
    """Proves the remark: every limit that the moved plan breaks, by name; a reason and no numbers where it can't be."""
    limits = {"floor": 14, "crews": 5, "capital": "14 M$", "working_gpus": {"minimum": 100}}
    scheme = {"name": "groups", "replicas": {"groups_per_zone": 2, "stall": "1 min", "rejoin": "30 min"}}
    changes = {"limits": limits, "checkpoint_plans": [*data()["checkpoint_plans"], scheme]}
    instance = read_instance(data(**changes))
    table = one_step_away(instance, plan(north(), south()))
    breaks = {(row["zone"], row["decision"], row["to"]): row["breaks"] for row in table.to_dict(orient="records")}
    assert breaks["north", "racks", 4] == "working_gpus.minimum"
    assert breaks["north", "racks", 7] == "capital, floor"
    assert breaks["north", "crews", 4] == "crews"
    assert breaks["north", "crews", 1] == ""
    assert breaks["", "checkpoint_plan", "groups"] == (
        "can't be built: 3 working blocks do not make 2 replica groups of whole blocks"
    )
    lost = table[table["to"] == "groups"].iloc[0]
    assert lost[["goodput", "goodput_change", "cost_per_year", "cost_change_per_year", "objective"]].isna().all()


def test_another_repair_plan_is_shown_at_its_best_choice_that_meets_the_limits() -> None:
    """Proves that a step to another repair plan takes the best choice by the objective that meets all limits."""
    for kind, best in (("goodput", 4), ("goodput_per_dollar", 1)):
        for seats, most in ((None, best), (2, min(best, 1))):
            limits = {} if seats is None else {"crews": seats}
            instance = read_instance(data(limits=limits, objective={"kind": kind}))
            own = {"repair_plan": "shelf", "crews": None, "shelf_trays": 0}
            table = one_step_away(instance, plan(north(**own), south()))
            moved = plan(north(crews=most), south())
            assert_row(instance, table, ("north", "repair_plan", "shelf", "crewed"), moved)


def test_part_of_a_split_class_moves_alone() -> None:
    """Proves that where a class is built in two ways each part steps by itself, the other staying as it is."""
    instance = read_instance(data())
    one, other = north(count=1, racks=4), north(count=1, racks=5, crews=1)
    table = one_step_away(instance, plan(one, other, south()))
    steps = [step[2:] for step in keys(table) if step[:2] == ("north", "racks")]
    assert steps == [(4, 5), (5, 4), (5, 7)]
    rows = table[(table["zone"] == "north") & (table["decision"] == "racks")]
    hand = [
        plan(north(count=1, racks=5), other, south()),
        plan(one, north(count=1, racks=4, crews=1), south()),
        plan(one, north(count=1, racks=7, crews=1), south()),
    ]
    assert rows["goodput"].to_list() == [spareopt.evaluate(instance, moved).goodput for moved in hand]


SITE_PLANS = [
    {"name": "site", "tray": {"hands_on": "6 h"}, "crews": [1, 2, 4], "crew_cost": "0.1 M$ per year"}
    | {"shared_by": "site", "shelf": [0, 3], "lead_time": "20 h"},
    {"name": "own", "tray": {"hands_on": "6 h"}, "crews": [1, 2]},
    {"name": "vendor", "tray": {"hands_on": "30 h"}},
]


def test_what_the_site_shares_moves_in_all_zones() -> None:
    """Proves steps of shared crews and shelf, and to and from a plan of the site: every zone moves, in one row."""
    instance = read_instance(data(repair_plans=SITE_PLANS))
    shared = {"repair_plan": "site", "crews": 2, "shelf_trays": 0, "start_at": None}
    here = plan(north(**shared), south(**shared))
    table = one_step_away(instance, here)
    assert {step[0] for step in keys(table) if step[1] in ("crews", "shelf_trays", "repair_plan")} == {""}
    for key, change in (
        (("", "crews", 2, 1), {"crews": 1}),
        (("", "crews", 2, 4), {"crews": 4}),
        (("", "shelf_trays", 0, 3), {"shelf_trays": 3}),
        (("", "repair_plan", "site", "own"), {"repair_plan": "own", "crews": 2, "shelf_trays": None}),
        (("", "repair_plan", "site", "vendor"), {"repair_plan": "vendor", "crews": None, "shelf_trays": None}),
    ):
        moved = plan(north(**shared | change), south(**shared | change))
        assert_row(instance, table, key, moved)

    own = {"repair_plan": "vendor", "crews": None, "start_at": None}
    table = one_step_away(instance, plan(north(**own), south(**own)))
    best = shared | {"crews": 4, "shelf_trays": 3}
    assert_row(instance, table, ("", "repair_plan", "vendor", "site"), plan(north(**best), south(**best)))
    steps = [step for step in keys(table) if step[1] == "repair_plan"]
    assert sorted(steps) == [
        ("", "repair_plan", "vendor", "site"),
        ("north", "repair_plan", "vendor", "own"),
        ("south", "repair_plan", "vendor", "own"),
    ]


def test_a_plan_that_does_not_fit_is_refused_and_a_lone_choice_has_no_steps() -> None:
    """Proves that the plan itself must fit, as for evaluate(); and that without any choice the table is empty."""
    with pytest.raises(InputError, match="unknown 'centre'"):
        one_step_away(read_instance(data()), plan(north(zone="centre"), south()))
    lone = data(zones=[{"name": "north", "count": 2, "racks": 5}])
    lone["designs"][0] |= {"intra_block_spares": 1, "inter_block_spares": 1, "power": POWER | {"gpu_limits": "800 W"}}
    lone["repair_plans"], lone["checkpoint_plans"] = [SITE_PLANS[2]], lone["checkpoint_plans"][:1]
    table = one_step_away(read_instance(lone), plan(north(repair_plan="vendor", crews=None)))
    assert len(table) == 0
    assert list(table.columns)[:4] == ["zone", "decision", "from", "to"]


# --- the command


def run(*args: str) -> Result:
    result = CliRunner().invoke(main, list(args))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


OWN_PLAN = {
    "zones": [
        {
            "zone": "cluster", "design": "hgx-h100", "racks": 128, "intra_block_spares": 0, "inter_block_spares": 2,
            "repair_plan": "day-shift", "gpu_limit": "644 W",
        }
    ],
    "checkpoint_plan": "automatic-retry",
}  # fmt: skip


@pytest.fixture
def own_plan(tmp_path: Path) -> str:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(OWN_PLAN))
    return str(path)


def test_the_command_prints_the_table_as_json(own_plan: str) -> None:
    """Proves --json: one document on stdout with the plan's own score and a record for every row, numbers or null."""
    result = run("neighbours", "academic-1k", "--plan", own_plan, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    instance, decisions = read_instance("academic-1k"), read_decisions(OWN_PLAN)
    assert document["evaluation"] == json.loads(spareopt.evaluate(instance, decisions).model_dump_json())
    table = one_step_away(instance, decisions)
    assert len(document["neighbours"]) == len(table) > 5
    for record, row in zip(document["neighbours"], table.to_dict(orient="records"), strict=True):
        assert list(record) == list(table.columns)
        assert record["goodput"] == (None if pd.isna(row["goodput"]) else row["goodput"])
        assert (record["decision"], record["from"], record["to"]) == (row["decision"], row["from"], row["to"])


def test_the_command_prints_text_and_what_to_do_next(own_plan: str) -> None:
    """Proves the text: a line per step with its values, changes and what it breaks, and the next command at the end."""
    result = run("neighbours", "academic-1k", "--plan", own_plan)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert " ".join(lines[:2]).startswith(f"academic-1k: the plan {own_plan}")
    assert "Each decision one step away, the others as they are:" in lines
    assert any("R, spare blocks" in line and "goodput" not in line for line in lines)
    assert "644 W 630 W" in " ".join(result.stdout.split())
    assert result.stdout.endswith(f"Next: spareopt evaluate academic-1k --plan {own_plan}\n")


def test_bad_plans_and_arguments_give_exit_code_2(tmp_path: Path, own_plan: str) -> None:
    """Proves the exit codes: no plan, a plan that is missing or does not fit the instance is bad input, said once."""
    assert run("neighbours", "academic-1k").exit_code == 2
    missing = run("neighbours", "academic-1k", "--plan", str(tmp_path / "none.yaml"))
    assert missing.exit_code == 2
    assert "no such plan" in missing.stderr
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(OWN_PLAN | {"checkpoint_plan": "never"}))
    result = run("neighbours", "academic-1k", "--plan", str(wrong))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "checkpoint_plan: unknown 'never'" in result.stderr
    assert str(wrong) in result.stderr
    as_json = run("neighbours", "academic-1k", "--plan", str(wrong), "--json")
    assert as_json.exit_code == 2
    assert "unknown 'never'" in as_json.stdout
    assert run("neighbours", "no-such-instance", "--plan", own_plan).exit_code == 2
    assert run("neighbours", "academic-1k", "--plan", own_plan, "--model", "neither").exit_code == 2


def test_a_plan_that_breaks_a_limit_still_has_neighbours(tmp_path: Path) -> None:
    """Proves that a plan which breaks a limit is shown its steps, one of which mends it."""
    path = tmp_path / "mine.json"
    zone = OWN_PLAN["zones"][0] | {"inter_block_spares": 9}  # type: ignore[index]
    path.write_text(json.dumps(OWN_PLAN | {"zones": [zone]}))
    document = json.loads(run("neighbours", "academic-1k", "--plan", str(path), "--json").stdout)
    remarks = {(row["decision"], row["to"]): row["breaks"] for row in document["neighbours"]}
    assert remarks["inter_block_spares", 8] == ""
    assert remarks["gpu_limit", 0.63] == "working_gpus.minimum"
    text = run("neighbours", "academic-1k", "--plan", str(path))
    assert text.exit_code == 0
    assert "working gpus.minimum" not in " ".join(text.stdout.split())
    assert any(line.endswith("working GPUs") for line in text.stdout.splitlines())
