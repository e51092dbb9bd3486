"""Overlays: the same as the same edits by hand, in their order; every fault names the overlay's file and line."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import spareopt
from spareopt.cli import main
from spareopt.errors import InputError
from spareopt.overlays.overlay import Overlay, overlay_text
from spareopt.reading import check_scenarios
from spareopt.yaml_source import parse_value

CLUSTER = """\
schema_version: 1
name: cluster
notes: [first]
zones:
  - {name: hall, racks: 16}
designs:
  - name: wide
    trays_per_block: 18
    gpus_per_tray: 4
    intra_block_spares: {from: 0, to: 2}
    inter_block_spares: {from: 0, to: 3}
    rack_price: 4 M$
failures:
  tray: {rate: 2e-4 per h}
  rack: {mtbf: 10000 h}
repair_plans:
  - name: next-day
    tray: {hands_on: 2 h, off_crew: 22 h}
    rack: {hands_on: 5 h, off_crew: 19 h}
    yearly_cost: 1 M$ per year
checkpoint_plans:
  - {name: best, period: best, save: 5 s, detection: 1 min, restart: 6 min}
limits: {capital: 80 M$}
scenarios:
  dear: {overrides: {designs.wide.rack_price: 2x}}
intervals:
  failures.tray.mtbf: [0.5x, 2x]
  repair_plans.*.tray.hands_on: [0.5x, 2x]
"""
OVERLAY = """\
overlay_version: 1
name: new
notes: [second]
overrides:
  failures.tray.mtbf: 4000 h
  designs.narrow.rack_price: 0.5x
designs:
  - {name: wide, rack_price: 3 M$}
  - {name: narrow, like: wide, trays_per_block: 9}
repair_plans:
  - {name: gold, like: next-day, tray: {hands_on: 2 h, off_crew: 4 h}, yearly_cost: 3 M$ per year}
checkpoint_plans:
  - {name: best, save: 4 s}
intervals:
  failures.tray.rate: [0.9x, 1.1x]
  repair_plans.gold.tray.hands_on: [1 h, 3 h]
scenarios:
  slow: {description: "slower: by half", overrides: {repair_plans.gold.tray.hands_on: 1.5x}}
"""
BY_HAND = (
    CLUSTER.replace("[first]", "[first, second]")
    .replace("rate: 2e-4 per h", "mtbf: 4000 h")
    .replace("save: 5 s", "save: 4 s")
    .replace(
        "    rack_price: 4 M$\n",
        """    rack_price: 3 M$
  - name: narrow
    trays_per_block: 9
    gpus_per_tray: 4
    intra_block_spares: {from: 0, to: 2}
    inter_block_spares: {from: 0, to: 3}
    rack_price: 1.5 M$
""",
    )
    .replace(
        "    yearly_cost: 1 M$ per year\n",
        """    yearly_cost: 1 M$ per year
  - name: gold
    tray: {hands_on: 2 h, off_crew: 4 h}
    rack: {hands_on: 5 h, off_crew: 19 h}
    yearly_cost: 3 M$ per year
""",
    )
)


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER)
    return path


def overlay_file(folder: Path, text: str, name: str = "new.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_an_overlay_is_the_same_as_the_same_edits_by_hand(cluster: Path, tmp_path: Path) -> None:
    """Proves that items changed and added, overrides and notes come to what the edited file says, to the hash."""
    laid = spareopt.read_instance(cluster, overlays=[overlay_file(tmp_path, OVERLAY)])
    by_hand = spareopt.read_instance(overlay_file(tmp_path, BY_HAND, "by-hand.yaml"))
    assert laid.resolved() == by_hand.resolved()
    assert laid.input_hash() == by_hand.input_hash()
    assert set(laid.scenarios) == {"dear", "slow"}
    assert laid.intervals == {
        "failures.tray.rate": ("0.9x", "1.1x"),  # in place of that of its inverse
        "repair_plans.next-day.tray.hands_on": ("0.5x", "2x"),  # what the new one leaves of the old one
        "repair_plans.gold.tray.hands_on": ("1 h", "3 h"),
    }


def test_what_was_applied_is_told(cluster: Path, tmp_path: Path) -> None:
    """Proves that every change of an overlay is told under its name, before scenarios and overrides."""
    laid = spareopt.read_instance(
        cluster, overlays=[overlay_file(tmp_path, OVERLAY)], scenarios=["dear"], overrides={"limits.capital": "90 M$"}
    )
    assert laid.applied == (
        "overlay new: designs.wide.rack_price=3 M$",
        "overlay new: designs.narrow={like: wide, trays_per_block: 9}",
        "overlay new: repair_plans.gold={like: next-day, tray: {hands_on: 2 h, off_crew: 4 h}, "
        "yearly_cost: 3 M$ per year}",
        "overlay new: checkpoint_plans.best.save=4 s",
        "overlay new: failures.tray.mtbf=4000 h",
        "overlay new: designs.narrow.rack_price=0.5x",
        "scenario dear: designs.wide.rack_price=2x",
        "limits.capital=90 M$",
    )


def test_the_order_is_overlays_then_scenarios_then_overrides(cluster: Path) -> None:
    """Proves the order with multiples and values of one field: each sees what those before it left."""
    field = "designs.wide.rack_price"
    first = Overlay(name="a", designs=({"name": "wide", "rack_price": "3 M$"},), overrides={field: "2x"})
    second = Overlay(name="b", designs=({"name": "wide", "rack_price": "5 M$"},), overrides={field: "3x"})

    def price(*overlays: Overlay, **options: Any) -> float | None:
        return spareopt.read_instance(cluster, overlays=overlays, **options).designs[0].rack_price

    assert price(first) == 6e6
    assert price(first, second) == 15e6
    assert price(second, first) == 6e6
    assert price(first, scenarios=["dear"]) == 12e6
    assert price(first, scenarios=["dear"], overrides={field: "0.5x"}) == 6e6


def test_new_items_may_be_like_new_ones_and_changed_again(cluster: Path) -> None:
    """Proves that items are merged in their order, within an overlay and from one to the next."""
    first = Overlay(name="a", designs=({"name": "b", "like": "wide", "rack_price": "1 M$"}, {"name": "c", "like": "b"}))
    second = Overlay(name="b", designs=({"name": "c", "rack_price": "2 M$", "intra_block_spares": 1},))
    designs = spareopt.read_instance(cluster, overlays=[first, second]).designs
    assert [(item.name, item.rack_price, item.intra_block_spares) for item in designs] == [
        ("wide", 4e6, (0, 1, 2)), ("b", 1e6, (0, 1, 2)), ("c", 2e6, (1,)),
    ]  # fmt: skip


def test_new_designs_are_choices_where_zones_list_none(cluster: Path) -> None:
    """Proves that a cheaper design is taken by a zone without a list, and not by one that lists its own."""
    cheap = Overlay(name="a", designs=({"name": "b", "like": "wide", "rack_price": "1 M$"},))
    changes = {"objective": {"kind": "cost", "goodput_target": 100}, "limits": None}
    plan = spareopt.solve(spareopt.read_instance(cluster, overlays=[cheap], overrides=changes))
    assert plan.decisions.zones[0].design == "b"
    zones = [{"name": "hall", "racks": 16, "designs": ["wide"]}, {"name": "annex", "racks": 16}]
    plan = spareopt.solve(spareopt.read_instance(cluster, overlays=[cheap], overrides=changes | {"zones": zones}))
    assert [choice.design for choice in plan.decisions.zones] == ["wide", "b"]


EDITS: dict[str, list[Any]] = {
    "limits.capital": ["70 M$", "0.9x"],
    "failures.tray.mtbf": ["4000 h", "0.5x"],
    "failures.rack.rate": ["1e-3 per day", "2x"],
    "designs.*.rack_price": ["3 M$", "1.25x"],
    "designs.wide.inter_block_spares": [2, [0, 1]],
    "repair_plans.next-day.tray": [{"hands_on": "3 h"}],
    "zones.0.racks": [12],
}


@settings(max_examples=30)
@given(st.lists(st.sampled_from([(path, value) for path in EDITS for value in EDITS[path]]), unique_by=lambda e: e[0]))
def test_overrides_of_an_overlay_are_those_of_the_command(edits: list[tuple[str, Any]]) -> None:
    """Proves for any overrides, in any order, that an overlay of them is the same as --set of each."""
    data, overrides = parse_value(CLUSTER), dict(edits)
    laid = spareopt.read_instance(data, overlays=[Overlay(name="a", overrides=overrides)])
    assert laid.resolved() == spareopt.read_instance(data, overrides=overrides).resolved()
    assert len(laid.applied) == len(overrides)


def test_what_a_later_change_replaces_as_a_whole_is_not_lost_in_silence(cluster: Path, tmp_path: Path) -> None:
    """Proves that an offer is refused, with its line, where a scenario, --set or overlay leaves nothing of it.

    What the later change states too, whatever it says, and what it takes out by its name is the planner's own will.
    """
    offers = tmp_path / "offers.csv"
    offers.write_text("name,like,tray_response,yearly_price\ngold,next-day,4 h,2 M$ per year\nnext-day,,9 h,\n")
    slow: dict[str, Any] = {"name": "slow", "tray": {"hands_on": "9 h"}, "rack": {"hands_on": "9 h"}}
    gold = slow | {"name": "gold", "tray": {"hands_on": "1 h", "off_crew": "5 h"}, "yearly_cost": "3 M$ per year"}
    known = slow | {"name": "next-day", "tray": {"hands_on": "2 h", "off_crew": "1 h"}}
    plans = Overlay(name="plans", overrides={"repair_plans": [slow]})
    scenario = Overlay(name="others", scenarios={"other": {"overrides": {"repair_plans": [slow]}}})
    message = r"offers.csv: 2 faults\n  line 2, repair_plans.gold: would be lost: {} replaces repair_plans as a whole"
    read = partial(spareopt.read_instance, cluster)
    with pytest.raises(InputError, match=message.format("overlay plans")):
        read(overlays=[offers, plans])
    with pytest.raises(InputError, match=message.format("scenario other")):
        read(overlays=[offers, scenario], scenarios=["other"])
    with pytest.raises(InputError, match=message.format("the override")):
        read(overlays=[offers], overrides={"repair_plans": [slow]})
    with pytest.raises(InputError, match=r"line 2, column tray_response \(repair_plans.gold.tray.off_crew\): would be"):
        read(overlays=[offers], overrides={"repair_plans.*.tray": {"hands_on": "3 h"}})
    with pytest.raises(InputError, match=r"overlay a: limits.capital: would be lost: the override replaces limits"):
        read(overlays=[Overlay(name="a", overrides={"limits.capital": "0.9x"})], overrides={"limits": {"floor": 16}})
    kept = read(overlays=[offers], overrides={"repair_plans": [slow, gold, known]})
    assert [plan.yearly_cost for plan in kept.repair_plans] == [0, 3e6, 0]
    gone = read(overlays=[offers], overrides={"repair_plans.gold": None, "repair_plans.next-day": known})
    assert [plan.name for plan in gone.repair_plans] == ["next-day"]
    rates = Overlay(name="rates", overrides={"failures.tray.mtbf": "4000 h"})
    assert read(overlays=[rates], overrides={"failures.tray": {"rate": "1e-3 per h"}}).failures.tray is not None
    assert not check_scenarios(cluster, [offers, scenario])  # both are not asked for


def test_a_new_design_that_no_zone_may_take_is_refused(tmp_path: Path) -> None:
    """Proves that an offer is not passed over in silence where all zones list their designs."""
    text = CLUSTER.replace("racks: 16}", "racks: 16, designs: [wide]}\n  - {name: annex, racks: 4, designs: [wide]}")
    cluster = overlay_file(tmp_path, text, "cluster.yaml")
    offer = tmp_path / "prices.csv"
    offer.write_text("item,name,price,like\nrack,used,2 M$,wide\n")
    with pytest.raises(InputError) as caught:
        spareopt.read_instance(cluster, overlays=[offer])
    assert str(caught.value) == (
        f"{offer}: line 2, designs.used: no zone may take it, for each lists its designs; "
        'add it, such as with --set zones.hall.designs="[wide, used]"'
    )
    for overrides in ({"zones.annex.designs": ["wide", "used"]}, {"zones.hall.designs": None}, {"designs.used": None}):
        assert spareopt.read_instance(cluster, overlays=[offer], overrides=overrides).designs


def test_data_with_tuples_is_merged_too() -> None:
    """Proves that the items of data from Python, which may hold tuples, are merged like those of a file."""
    data = parse_value(CLUSTER)
    data["designs"] = tuple(data["designs"])
    laid = spareopt.read_instance(data, overlays=[Overlay(name="a", designs=({"name": "wide", "rack_price": "1 M$"},))])
    assert laid.designs[0].rack_price == 1e6


def test_every_command_on_an_instance_takes_overlays() -> None:
    """Proves that no command that reads an instance lacks the option."""
    for name, command in main.commands.items():
        arguments = {parameter.name for parameter in command.params if isinstance(parameter, click.Argument)}
        if arguments & {"source", "files"}:
            assert "overlays" in {parameter.name for parameter in command.params}, name


text = st.text(st.characters(codec="utf-8", exclude_characters="\ufeff", exclude_categories=["C"]), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(-1e9, 1e9) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=40)
@given(st.dictionaries(text, values, max_size=4), st.lists(text, max_size=2), text)
def test_what_is_written_reads_back(overrides: dict[str, Any], notes: list[str], source: str) -> None:
    """Proves for any plain values that the YAML of an overlay reads back to an equal one, in the same bytes."""
    overlay = Overlay(name="any", overrides=overrides, notes=tuple(notes), source=source)
    written = overlay_text(overlay)
    assert Overlay.model_validate(parse_value(written)) == overlay
    assert overlay_text(Overlay.model_validate(parse_value(written))) == written


def test_an_overlay_is_written_and_read(tmp_path: Path) -> None:
    """Proves that a file is read back to an equal overlay, and that nothing is overwritten."""
    overlay = spareopt.read_overlay(overlay_file(tmp_path, OVERLAY))
    again = tmp_path / "again.yaml"
    spareopt.write_overlay(overlay, again)
    assert spareopt.read_overlay(again) == overlay
    with pytest.raises(InputError, match="already exists"):
        spareopt.write_overlay(overlay, again)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.yaml", "new.yaml"]
    with pytest.raises(InputError, match="can't say"):
        spareopt.write_overlay(Overlay(name="a", overrides={"limits.capital": object()}), tmp_path / "b.yaml")
    with pytest.raises(InputError, match="can't be written"):
        spareopt.write_overlay(overlay, tmp_path / "nowhere" / "b.yaml")


HEAD = "overlay_version: 1\nname: new\n"
BAD = {
    "no version": ("name: new\n", 0, "overlay_version: is missing; expected 1"),
    "an instance": (CLUSTER, 0, "this is an instance, not an overlay"),
    "another version": ("overlay_version: 2\nname: new\n", 1, "overlay_version: is 2; expected 1"),
    "no name": ("overlay_version: 1\n", 0, "name: required, but missing"),
    "unknown field": (HEAD + "override: {a: 1}\n", 3, "override: unknown field; did you mean 'overrides'?"),
    "empty": ("", 0, "is empty; expected `overlay_version: 1`"),
    "no YAML": (HEAD + "a: [1\n", 3, "is not YAML"),
    "item without a name": (HEAD + "designs:\n  - {rack_price: 1 M$}\n", 4, "designs.0.name: required, but missing"),
    "item with a bad name": (HEAD + "designs:\n  - {name: '*'}\n", 4, "designs.0.name: expected a name of letters"),
    "item twice": (
        HEAD + "designs:\n  - {name: wide, rack_price: 1 M$}\n  - {name: wide}\n", 5, "designs.wide: given twice",
    ),
    "unknown field of an item": (
        HEAD + "designs:\n  - name: wide\n    price: 1 M$\n", 5, "designs.wide.price: unknown field; did you mean",
    ),
    "like nothing": (
        HEAD + "designs:\n  - {name: b, like: wild}\n", 4,
        "designs.b.like: no item 'wild' to start from; the instance has wide; did you mean 'wide'?",
    ),
    "like with a known name": (
        HEAD + "designs:\n  - {name: wide, like: wide}\n", 4, "designs.wide.like: the instance has 'wide' already",
    ),
    "like is no name": (HEAD + "designs:\n  - {name: b, like: 3}\n", 4, "designs.b.like: expected the name of an item"),
    "new and incomplete": (
        HEAD + "designs:\n  - {name: b, rack_price: 1 M$}\n", 4, "designs.b: the instance has no 'b'; a new one",
    ),
    "no unit": (
        HEAD + "designs:\n  - name: wide\n    rack_price: 3\n", 5, "designs.0.rack_price: expected an amount of money",
    ),
    "another currency": (
        HEAD + "designs:\n  - {name: b, like: wide,\n     rack_price: 3 M€}\n", 5,
        "designs.1.rack_price: expected an amount of money such as \"3.9 M$\"; unit 'M€' is not one of",
    ),
    "too many spares": (
        HEAD + "overrides:\n  designs.wide.intra_block_spares: 18\n", 4,
        "designs.0.intra_block_spares: expected fewer spare trays",
    ),
    "more spares than blocks": (
        HEAD + "designs:\n  - name: wide\n    inter_block_spares: [16, 17]\n", 5,
        "designs.0.inter_block_spares: expected fewer spare blocks than the zone has blocks (16)",
    ),
    "deep inside an item": (
        HEAD + "repair_plans:\n  - name: gold\n    like: next-day\n    tray:\n      hands_on: two hours\n", 7,
        "repair_plans.1.tray.hands_on: expected a time such as \"24 h\", got 'two hours'",
    ),
    "a path to nowhere": (
        HEAD + "overrides:\n  designs.wild.rack_price: 1 M$\n", 4, "designs.wild.rack_price: no item 'wild'",
    ),
    "a multiple of nothing": (
        HEAD + "overrides:\n  limits.yearly_cost: 2x\n", 4, "limits.yearly_cost: expected a number to multiply",
    ),
    "all and nothing": (HEAD + "overrides:\n  designs.*.price: 1 M$\n", 4, "designs.*.price: no item has this field"),
    "a required field taken out": (
        HEAD + "overrides:\n  designs.wide.trays_per_block: null\n", 4, "designs.0.trays_per_block: ",
    ),
    "an interval with one end": (HEAD + "intervals:\n  failures.tray.mtbf: [1 h]\n", 4, "expected the low and"),
    "a scenario that is there": (
        HEAD + "scenarios:\n  dear: {overrides: {limits.capital: 1 M$}}\n", 4,
        "scenarios.dear: the instance has a scenario of this name already",
    ),
    "several": (
        HEAD + "overrides:\n  limits.a: 1\nrepair_plans:\n  - {name: next-day, yearly_cost: -1 $ per year}\n", 0,
        "2 faults",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_overlays_are_refused_with_file_and_line(kind: str, cluster: Path, tmp_path: Path) -> None:
    """Proves that what is wrong with an overlay is told once, with its file, its line and what was expected."""
    content, line, message = BAD[kind]
    file = overlay_file(tmp_path, content)
    with pytest.raises(InputError) as caught:
        spareopt.read_instance(cluster, overlays=[file])
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)
    assert str(caught.value).count(str(file)) == 1
    if line:
        assert {fault.line for fault in caught.value.faults} == {line}


def test_faults_of_a_scenario_of_an_overlay_have_its_line(cluster: Path, tmp_path: Path) -> None:
    """Proves that a scenario that can't be applied is told with its line, by solve and by validate."""
    file = overlay_file(tmp_path, HEAD + "scenarios:\n  bad:\n    overrides:\n      designs.b.rack_price: 1 M$\n")
    with pytest.raises(InputError) as caught:
        spareopt.read_instance(cluster, overlays=[file], scenarios=["bad"])
    assert str(caught.value).startswith(f"{file}: line 6, designs.b.rack_price: no item 'b'")
    result = CliRunner().invoke(main, ["validate", str(cluster), "--overlay", str(file)])
    assert result.exit_code == 2
    assert f"{file}: line 6, scenarios.bad: designs.b.rack_price: no item 'b'" in result.output


def test_faults_of_an_interval_of_an_overlay_have_its_line(cluster: Path, tmp_path: Path) -> None:
    """Proves that validate tells an interval that leads nowhere, with the overlay's file and line."""
    file = overlay_file(tmp_path, HEAD + "intervals:\n  limits.a: [1 h, 2 h]\n")
    result = CliRunner().invoke(main, ["validate", str(cluster), "--overlay", str(file), "--json"])
    assert result.exit_code == 2
    (fault,) = json.loads(result.output)[0]["faults"]
    assert (fault["file"], fault["line"], fault["field"]) == (str(file), 4, "intervals.limits.a")


def test_faults_of_instance_and_overlay_stand_in_one_message(tmp_path: Path) -> None:
    """Proves that each fault is told with its own file where both have some."""
    cluster = overlay_file(tmp_path, CLUSTER.replace("racks: 16", "racks: 0"), "cluster.yaml")
    file = overlay_file(tmp_path, HEAD + "limits: 1\n")
    with pytest.raises(InputError, match="limits: unknown field"):
        spareopt.read_instance(cluster, overlays=[file])
    file.write_text(HEAD + "overrides:\n  limits.capital: 3\n")
    with pytest.raises(InputError) as caught:
        spareopt.read_instance(cluster, overlays=[file])
    assert str(caught.value).startswith(f"{cluster} (with overlay new): 2 faults\n")
    assert "line 5, zones.0.racks: expected at least 1 rack" in str(caught.value)
    assert f"{file}: line 4, limits.capital: expected an amount of money" in str(caught.value)


def test_a_value_set_over_an_overlay_is_not_the_fault_of_the_overlay(cluster: Path, tmp_path: Path) -> None:
    """Proves that a line is named only while what stands there still is what the overlay stated."""
    file = overlay_file(tmp_path, HEAD + "designs:\n  - {name: wide, rack_price: 3 M$}\n")
    with pytest.raises(InputError) as caught:
        spareopt.read_instance(cluster, overlays=[file], overrides={"designs.wide.rack_price": 3})
    assert str(file) not in str(caught.value)
    assert caught.value.faults[0].line is None


def test_an_overlay_is_given_once(cluster: Path) -> None:
    """Proves that the same overlay twice, which would multiply twice, is refused."""
    overlay = Overlay(name="a", overrides={"limits.capital": "0.5x"})
    with pytest.raises(InputError, match="overlay a: name: 'a' is the name of an overlay that is applied already"):
        spareopt.read_instance(cluster, overlays=[overlay, overlay])


def test_the_command_line_repeats_overlays(cluster: Path, tmp_path: Path) -> None:
    """Proves that what a command says to try next has the overlays, and that what was applied is told."""
    file = overlay_file(tmp_path, OVERLAY)
    result = CliRunner().invoke(main, ["solve", str(cluster), "--overlay", str(file)])
    assert result.exit_code == 0
    assert f"spareopt solve {cluster} --overlay {file} -o my-plan" in result.output
    assert "With overlay new (designs.wide.rack_price=3 M$; designs.narrow=" in " ".join(result.output.split())
    assert CliRunner().invoke(main, ["validate", str(cluster), "--overlay", str(file)]).output.endswith("valid\n")


@pytest.mark.parametrize("row", ["silver,next-day,4 h,", "silver,next-day,4 h,2 h", "next-day,,4 h,"])
def test_a_response_is_not_added_to_a_calibrated_repair_time(row: str, cluster: Path, tmp_path: Path) -> None:
    """Proves that no offer is scored with its own wait beside the calibrated ones, and that the fix told is one."""
    phases = "[{share: 0.5, hands_on: 3 h}, {share: 0.5, hands_on: 50 h}]"
    text = "overlay_version: 1\nname: measured\noverrides: {repair_plans.next-day.tray: {phases: %s}}\n"
    measured = overlay_file(tmp_path, text % phases, "measured.yaml")
    contract = overlay_file(tmp_path, f"name,like,tray_response,tray_hands_on\n{row}\n", "offers.csv")
    fix = "give this file before" if row.startswith("silver") else "a name of its own"
    with pytest.raises(InputError, match=rf"line 2, column tray_response.*overlay measured.*{fix}") as error:
        spareopt.read_instance(cluster, overlays=[measured, contract])
    assert len(error.value.faults) == 1
    if row.startswith("silver"):
        plans = spareopt.read_instance(cluster, overlays=[contract, measured]).repair_plans
        assert plans[0].tray.phases is not None and plans[0].tray.off_crew == 0
        assert (plans[1].tray.hands_on, plans[1].tray.off_crew) == (2.0, 4.0)


def test_a_response_with_its_hands_on_time_replaces_a_calibrated_mean(cluster: Path, tmp_path: Path) -> None:
    """Proves that both times of a contract are what is solved, and that a response alone is refused."""
    text = "overlay_version: 1\nname: measured\noverrides: {repair_plans.next-day.tray: {hands_on: 30 h}}\n"
    measured = overlay_file(tmp_path, text, "measured.yaml")
    both = overlay_file(tmp_path, "name,like,tray_response,tray_hands_on\nsilver,next-day,4 h,2 h\n", "both.csv")
    plan = spareopt.read_instance(cluster, overlays=[measured, both]).repair_plans[1]
    assert (plan.tray.hands_on, plan.tray.off_crew) == (2.0, 4.0)
    alone = overlay_file(tmp_path, "name,like,tray_response\nsilver,next-day,4 h\n", "alone.csv")
    with pytest.raises(InputError, match=r"line 2, column tray_response.*or state tray_hands_on, too"):
        spareopt.read_instance(cluster, overlays=[measured, alone])
