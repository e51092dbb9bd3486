"""Changes between plans split by cause: hand calculation, sums, symmetry, and what can't be split or compared."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import spareopt
from spareopt import cli, plan_changes, store
from spareopt.change_causes import _put, between, separate
from spareopt.change_text import comparison_text, value_words
from spareopt.errors import InputError
from spareopt.evaluation import evaluate
from spareopt.input_changes import CAUSES, NO_EFFECT, _cause, differences
from spareopt.instance import Instance, SitePower
from spareopt.plan import Plan
from spareopt.plan_changes import VERSION, Attribution, PlanChange, explain_change
from spareopt.plan_comparison import PlanComparison, compare_plans
from spareopt.reading import read_instance
from spareopt.side_by_side import decision_rows
from spareopt.solved import Solved
from tests.random_instances import random_instance
from tests.test_docs import models_in, table

NEVER = "1e15 h"
SLOW = {"name": "slow", "tray": {"hands_on": "20 h"}, "yearly_cost": "0.1 M$ per year"}
FAST = {"name": "fast", "tray": {"hands_on": "5 h"}, "yearly_cost": "0.5 M$ per year"}
DESIGN = {
    "name": "a",
    "trays_per_block": 2,
    "gpus_per_tray": 4,
    "intra_block_spares": [0, 1],
    "inter_block_spares": [0, 1, 2],
    "rack_price": "1 M$",
}
HOURLY = {"name": "hourly", "period": "1 h", "save": "6 min", "detection": "1 min", "restart": "5 min"}


def tiny(overrides: dict[str, Any] | None = None, **changes: Any) -> Instance:
    """One zone of six racks of one block of two trays, two ways to repair, one to save."""
    data: dict[str, Any] = {
        "schema_version": 1,
        "name": "tiny",
        "zones": [{"name": "hall", "racks": 6}],
        "designs": [DESIGN],
        "failures": {"tray": {"mtbf": "500 h"}},
        "repair_plans": [SLOW, FAST],
        "checkpoint_plans": [HOURLY],
        "limits": {"yearly_cost": "0.6 M$ per year"},
    }
    return read_instance(data | changes, overrides=overrides)


def solved(instance: Instance, **options: Any) -> tuple[Plan, Instance]:
    return spareopt.solve(instance, **options), instance


def split(change: PlanChange) -> Attribution:
    assert change.attribution is not None, change.remarks
    return change.attribution


def shares(change: PlanChange, measure: str = "objective") -> dict[tuple[str, ...], float]:
    return {item.causes: item.changes[measure] for item in split(change).contributions}


def check_sums(change: PlanChange) -> None:
    """All measures are split without a rest, and each share lies where the proofs say."""
    for measure in change.measures:
        total = sum(shares(change, measure.name).values())
        scale = max(abs(measure.before), abs(measure.after))
        assert total == pytest.approx(measure.change, abs=1e-9 * scale), measure
        assert measure.change == measure.after - measure.before
        if change.kept is not None and measure.name in change.kept.values:
            parts = change.kept.by_conditions[measure.name] + change.kept.by_adapting[measure.name]
            assert parts == pytest.approx(measure.change, abs=1e-9 * scale)
    for item in split(change).contributions:
        if item.low is not None and item.high is not None:
            assert item.low <= item.changes["objective"] <= item.high


AXES = {
    "failures.tray.mtbf": ("fault_rates", st.floats(0.3, 3).map(lambda f: f"{f:.4f}x")),
    "repair_plans.fast.yearly_cost": ("prices", st.floats(0.5, 1.6).map(lambda f: f"{f:.4f}x")),
    "limits.yearly_cost": ("caps", st.floats(0.2, 2).map(lambda f: f"{f:.4f}x")),
    "designs.a.inter_block_spares": ("choices", st.sampled_from([[0], [1, 2], [0, 1, 2]])),
}


@given(st.fixed_dictionaries({}, optional={path: values for path, (_, values) in AXES.items()}))
@settings(max_examples=5, deadline=None)
def test_shares_sum_to_the_change_whatever_moved(overrides: dict[str, Any]) -> None:
    """Proves that rates, prices, caps and choices, moved at random, share the change without a rest."""
    before = tiny()
    change = explain_change(solved(before), solved(tiny(overrides)))
    check_sums(change)
    assert change.status == "split"
    moved = {AXES[field.path][0] for field in change.fields}
    assert {cause for item in split(change).contributions for cause in item.causes} == moved | {VERSION}
    assert shares(change)[VERSION,] == 0.0


@pytest.mark.heavy
@pytest.mark.parametrize("objective", ["goodput", "cost", "goodput_per_dollar"])
def test_unrelated_instances_are_split_without_a_rest(objective: str) -> None:
    """Proves the same of pairs of random instances that differ in nearly everything, of every objective."""
    plans = []
    for seed in range(10):
        try:
            plans.append(solved(read_instance(random_instance(seed, objective))))
        except spareopt.InfeasibleError:
            continue
    several = 0
    for first, second in pairwise(plans):
        change = explain_change(first, second)
        if change.attribution is not None:
            check_sums(change)
            several += len(change.attribution.contributions) > 3
    assert several >= 2


def test_one_cause_gets_everything() -> None:
    """Proves that where one group of fields moved it is given the whole change, and solving anew none of it."""
    change = explain_change(solved(tiny()), solved(tiny({"failures.tray.mtbf": "0.5x"})))
    (measure,) = (m for m in change.measures if m.name == "objective")
    assert measure.change < -0.1
    assert shares(change) == {(VERSION,): 0.0, ("fault_rates",): measure.change}
    assert [(f.path, f.before, f.after, f.ratio) for f in change.fields] == [
        ("failures.tray.mtbf", "500.0 h", "250.0 h", 0.5)
    ]


def without_faults(overrides: dict[str, Any] | None = None) -> Instance:
    """Nothing fails, one tray of two is idle: goodput is 24 GPUs × speed × scale × 1 h/(1 h + save)."""
    design = DESIGN | {"intra_block_spares": 1, "inter_block_spares": 0}
    scale = {"fixed_gain_with_spares": 1.0}
    failures = {"tray": {"mtbf": NEVER}}
    return tiny(overrides, designs=[design], failures=failures, hardware_scale=scale, repair_plans=[SLOW])


def test_two_causes_are_split_as_by_hand() -> None:
    """Proves the split of a product: speed 1 to 1/2, saves 6 to 30 min, in both orders, by hand."""
    after = without_faults({"zones.hall.relative_speed": 0.5, "checkpoint_plans.hourly.save": "30 min"})
    change = explain_change(solved(without_faults()), solved(after))
    old, new = 24 / 1.1, 24 / 1.5
    by_speed = ((old / 2 - old) + (new / 2 - new)) / 2
    by_saves = ((new - old) + (new / 2 - old / 2)) / 2
    found = shares(change)
    assert found["cluster",] == pytest.approx(by_speed, rel=1e-9)
    assert found["training",] == pytest.approx(by_saves, rel=1e-9)
    assert change.measures[0].change == pytest.approx(new / 2 - old, rel=1e-9)
    assert "all 2 orders" in split(change).method


def test_causes_that_act_alike_share_alike() -> None:
    """Proves that two causes that each halve the goodput are given the same, three eighths of it."""
    after = without_faults({"zones.hall.relative_speed": 0.5, "hardware_scale.fixed_gain_with_spares": 0.5})
    change = explain_change(solved(without_faults()), solved(after))
    found, whole = shares(change), change.measures[0].before
    assert found["cluster",] == pytest.approx(found["training",], rel=1e-12)
    assert found["cluster",] == pytest.approx(-0.375 * whole, rel=1e-9)


def test_more_than_four_causes_take_one_order_and_its_reverse() -> None:
    """Proves that five causes take 10 solves instead of 32, named so, and still leave no rest."""
    overrides = {
        "failures.tray.mtbf": "0.7x",
        "repair_plans.fast.tray.hands_on": "2x",
        "repair_plans.fast.yearly_cost": "0.9x",
        "limits.yearly_cost": "1.1x",
        "designs.a.inter_block_spares": [0, 1],
        "checkpoint_plans.hourly.save": "2x",
        "job": {"useful_gpu_hours": 1000.0},
    }
    change = explain_change(solved(tiny()), solved(tiny(overrides)))
    check_sums(change)
    attribution = split(change)
    assert len(attribution.contributions) == 1 + 6 and len(attribution.steps) == 2 * 6
    assert attribution.method.startswith("mean of two orders: fault rates, then repair times")
    assert [field.cause for field in change.fields if field.path == "job"] == [NO_EFFECT]


def test_a_recorded_value_of_another_version_is_a_cause_of_its_own() -> None:
    """Proves that a plan whose value this version does not find again has the difference named, and kept apart."""
    plan, instance = solved(tiny())
    certificate = plan.certificate.model_copy(update={"value": plan.certificate.value - 0.5})
    evaluation = plan.evaluation.model_copy(update={"goodput": plan.evaluation.goodput - 0.5})
    old = plan.model_copy(update={"certificate": certificate, "evaluation": evaluation})
    change = explain_change((old, instance), solved(tiny({"failures.tray.mtbf": "0.5x"})))
    check_sums(change)
    honest = explain_change((plan, instance), solved(tiny({"failures.tray.mtbf": "0.5x"})))
    assert shares(change)[VERSION,] == pytest.approx(0.5, rel=1e-9)
    assert shares(change)["fault_rates",] == shares(honest)["fault_rates",]
    (note,) = (note for note in split(change).notes if "was recorded" in note)
    assert "plan 1" in note and f"{plan.certificate.value:,.10g}" in note
    newer = explain_change(solved(tiny({"failures.tray.mtbf": "0.5x"})), (old, instance))
    assert shares(newer)[VERSION,] == pytest.approx(-0.5, rel=1e-9)
    unmoved = explain_change((old, instance), (plan, instance))
    assert shares(unmoved) == {(VERSION,): pytest.approx(0.5, rel=1e-9)}


def test_orders_through_an_infeasible_instance_are_left_out() -> None:
    """Proves that a cap which only the new prices can meet is put in place after them, and that this is said."""
    before = tiny(limits={"capital": "6 M$"})
    after = tiny({"designs.a.rack_price": "0.5 M$", "failures.tray.mtbf": "0.8x"}, limits={"capital": "3 M$"})
    change = explain_change(solved(before), solved(after))
    check_sums(change)
    attribution = split(change)
    assert "mean over 3 orders" in attribution.method
    (note,) = attribution.notes
    assert note.startswith("only 3 of 6 orders") and "caps and guarantees alone: infeasible" in note
    assert sum(step.status == "infeasible" for step in attribution.steps) == 2
    assert change.status == "split"


def dear_or_scarce(price: str, capital: str, yearly: str) -> Instance:
    """Six racks at a price and a repair plan at a yearly cost, with caps that just suffice for both."""
    plan = SLOW | {"yearly_cost": yearly}
    design = DESIGN | {"rack_price": price}
    return tiny(designs=[design], repair_plans=[plan], limits={"capital": capital, "yearly_cost": yearly})


def test_causes_none_of_which_can_come_first_are_put_together() -> None:
    """Proves that prices and caps that are both impossible without the other are one cause, and that this is said."""
    first = solved(dear_or_scarce("1 M$", "6 M$", "0.1 M$ per year"))
    second = solved(dear_or_scarce("0.5 M$", "3 M$", "0.3 M$ per year"))
    change = explain_change(first, second)
    check_sums(change)
    assert set(shares(change)) == {(VERSION,), ("prices", "caps")}
    (note,) = split(change).notes
    assert note.startswith("prices and caps and guarantees together: one without the other leaves no plan")
    more = tiny(
        {"failures.tray.mtbf": "0.5x", "checkpoint_plans.hourly.save": "2x", "repair_plans.slow.tray.hands_on": "2x"},
        designs=[DESIGN | {"rack_price": "0.5 M$"}],
        repair_plans=[SLOW | {"yearly_cost": "0.3 M$ per year"}],
        limits={"capital": "3 M$", "yearly_cost": "0.3 M$ per year"},
    )
    change = explain_change(first, solved(more))
    check_sums(change)
    assert ("prices", "caps") in shares(change) and len(shares(change)) == 5
    assert split(change).method.startswith("mean of two orders: fault rates, then repair times")


def test_causes_that_no_valid_instance_parts_are_put_together() -> None:
    """Proves that a new repair plan that names a new fault domain goes with the fault rates, and that this is said."""
    cooling = {"name": "cooling", "spans": "zone", "mtbf": "5000 h", "repair": {"hands_on": "9 h"}}
    quick = FAST | {"name": "quick", "domains": {"cooling": {"hands_on": "1 h"}}}
    after = tiny(
        {"limits.yearly_cost": "0.5 M$ per year"},
        failures={"tray": {"mtbf": "500 h"}, "domains": [cooling]},
        repair_plans=[SLOW, FAST, quick],
    )
    change = explain_change(solved(tiny()), solved(after))
    check_sums(change)
    assert set(shares(change)) == {(VERSION,), ("fault_rates", "choices"), ("caps",)}
    (note,) = split(change).notes
    assert "fault rates and choices offered together: parted" in note and "unknown fault domain" in note


def test_what_belongs_together_needs_no_putting_together() -> None:
    """Proves that repair times of racks that begin to fail, and costs of crews that are first stated, do no harm."""
    rack = {"rack": {"hands_on": "3 h"}}
    crews = {"crews": [1, 2], "crew_cost": "0.1 M$ per year"}
    after = tiny(
        {"repair_plans.fast.yearly_cost": "0.2 M$ per year"},
        failures={"tray": {"mtbf": "400 h"}, "rack": {"mtbf": "900 h"}},
        repair_plans=[SLOW | rack, FAST | rack | crews],
    )
    found = differences(tiny(), after)
    separated = separate(tiny(), after, found, "exact")
    assert separated.groups == (("fault_rates",), ("repair",), ("prices",)) and not separated.notes
    assert separated.at(0) == tiny() and separated.at(7) is after
    assert separated.at(1).repair_plans[0].rack is not None and separated.at(1).repair_plans[1].crews is None
    assert separated.at(2).failures.rack is None and separated.at(2).repair_plans[1].crew_cost == 1e5


@pytest.mark.parametrize(
    "name", ["academic-1k", "power-capped-20mw", pytest.param("gb200-4x256", marks=pytest.mark.heavy)]
)
def test_each_scenario_is_reached_by_its_differences_through_valid_instances(name: str) -> None:
    """Proves that the differences of each scenario put in place are the scenario, and all sets of causes are valid."""
    before = read_instance(name)
    for scenario in before.scenarios:
        after = read_instance(name, scenarios=[scenario])
        found = differences(before, after)
        data = before.resolved()
        for difference in found:
            for path, value in difference.puts:
                _put(data, path, value)
        assert differences(read_instance(data), after) == []
        separated = separate(before, after, found, "exact")
        for which in range(1 << len(separated.groups)):
            separated.at(which)


@given(st.integers(0, 200), st.integers(0, 200))
@settings(max_examples=25, deadline=None)
def test_any_instance_is_reached_from_any_other(one: int, other: int) -> None:
    """Proves the same of unrelated random instances: zones, designs, plans and domains come and go."""
    before, after = (read_instance(random_instance(seed, "goodput")) for seed in (one, other))
    found = differences(before, after)
    data = before.resolved()
    for difference in found:
        for path, value in difference.puts:
            _put(data, path, value)
    assert differences(read_instance(data), after) == []
    assert {difference.change.cause for difference in found} <= {*CAUSES, NO_EFFECT} - {"other"}


def test_every_field_has_a_cause() -> None:
    """Proves that no field of an instance is forgotten: a new one must be given a cause."""
    data = tiny().resolved()
    without = {"schema_version", "name", "description", "notes", "currency", "job", "scenarios", "intervals"}
    without |= {"horizon"}  # that of staged plans; those compared here are of one period
    for name in Instance.model_fields:
        inside = SitePower.model_fields if name == "power" else {"any": None}
        for field in inside:
            cause = _cause((name, "item", field) if name != "power" else (name, field), data, data)
            if name not in without and (name, field) != ("power", "grid_intensity"):
                assert cause in CAUSES and cause != "other", (name, field)


def test_a_rate_and_its_mtbf_are_one_field() -> None:
    """Proves that stating an MTBF as its rate is no change, and half the MTBF stated as a rate one change, of half."""
    same = tiny(failures={"tray": {"rate": "0.002 per h"}})
    assert differences(tiny(), same) == []
    (half,) = differences(tiny(), tiny(failures={"tray": {"rate": "0.004 per h"}}))
    assert half.change.path == "failures.tray.mtbf" and half.change.ratio == pytest.approx(0.5)
    assert between(tiny(), same, [half], {"fault_rates"}) is same
    change = explain_change(solved(tiny()), solved(same))
    assert shares(change)[VERSION,] == pytest.approx(0.0, abs=1e-9)


def test_a_plan_that_this_version_does_not_find_again_is_not_split() -> None:
    """Proves that where an end of the change has no plan when solved anew, nothing is split, and why is said."""
    plan, _ = solved(tiny())
    change = explain_change((plan, tiny(limits={"capital": "1 M$"})), solved(tiny()))
    assert change.attribution is None and change.status == "not split" and change.measures
    assert "Not split by cause: plan 1 has no plan when solved anew (infeasible): limits.capital" in change.remarks[0]


def test_the_old_plan_under_new_conditions() -> None:
    """Proves that the old plan is scored as evaluate scores it, and that the new one is what adapting adds."""
    before, after = solved(tiny()), solved(tiny({"failures.tray.mtbf": "0.1x"}))
    change = explain_change(before, after, causes=False)
    kept = evaluate(after[1], before[0].decisions).goodput
    assert change.kept is not None and change.decisions
    assert change.kept.values["objective"] == pytest.approx(kept, rel=1e-12)
    assert change.kept.by_adapting["objective"] == pytest.approx(after[0].certificate.value - kept, rel=1e-9)
    assert change.kept.by_adapting["objective"] > 0 and not change.kept.breaks
    moved = {item.decision: item for item in change.decisions}
    assert (moved["inter_block_spares"].before, moved["inter_block_spares"].after) == ("0", "2")
    alone = before[0].decisions.zones[0].model_copy(update={"inter_block_spares": 2})
    expected = evaluate(after[1], before[0].decisions.model_copy(update={"zones": (alone,)})).goodput
    assert moved["inter_block_spares"].alone == pytest.approx(expected, rel=1e-12)

    same = explain_change(before, solved(tiny({"failures.tray.mtbf": "0.99x"})), causes=False)
    assert same.kept is not None and not same.decisions and same.kept.by_adapting["objective"] == 0
    tight = explain_change(before, solved(tiny({"limits.yearly_cost": "0.2 M$ per year"})), causes=False)
    assert tight.kept is not None and tight.kept.breaks == ("yearly_cost",)
    gone = explain_change(before, solved(tiny(repair_plans=[SLOW])), causes=False)
    assert gone.kept is not None and "unknown 'fast'" in gone.kept.cannot_be_built and not gone.kept.values
    assert {item.decision: item.alone for item in gone.decisions} == {"inter_block_spares": None, "repair_plan": None}
    narrow = explain_change(before, solved(tiny({"designs.a.inter_block_spares": 1})), causes=False)
    assert narrow.kept is not None and narrow.kept.beyond == ("hall: inter_block_spares 0",)


def test_a_looser_proof_says_how_far_a_share_may_be_off() -> None:
    """Proves that the shares of exact optima lie within what a loose gap leaves open."""
    loose = [
        solved(tiny(overrides), gap=0.05)
        for overrides in ({}, {"failures.tray.mtbf": "0.3x", "limits.yearly_cost": "0.5x"})
    ]
    change = explain_change(*loose)
    assert split(change).gap == 0.05
    truth = explain_change(*(solved(instance, gap=0.0) for _, instance in loose))
    tight = {item.causes: item for item in split(truth).contributions}
    wide = [item for item in split(change).contributions if item.causes != (VERSION,)]
    assert len(wide) == 2
    for item in wide:
        assert item.low is not None and item.high is not None
        assert item.low - 1e-9 <= tight[item.causes].changes["objective"] <= item.high + 1e-9
    for item in split(truth).contributions:
        assert item.low is not None and item.high is not None and item.high - item.low < 1e-3


def test_what_differs_in_kind_is_compared_as_far_as_it_can_be() -> None:
    """Proves that other objectives, currencies and models limit the comparison, each with its reason."""
    before = solved(tiny())
    dollars = explain_change(before, solved(tiny(objective={"kind": "goodput_per_dollar"})))
    assert [measure.name for measure in dollars.measures] == ["goodput", "cost_per_year"]
    check_sums(dollars)
    assert "objectives differ" in dollars.remarks[0] and dollars.objective is None
    assert all(item.low is None for item in split(dollars).contributions)

    text = json.dumps(before[1].resolved(), ensure_ascii=False).replace("$", "€").replace("USD", "EUR")
    euros = explain_change(before, solved(read_instance(json.loads(text))))
    assert euros.attribution is None and "currencies differ" in euros.remarks[0]
    assert [measure.name for measure in euros.measures] == ["objective"] and euros.measures[0].change == 0

    published = explain_change(before, solved(before[1], model="first-order"))
    assert published.attribution is None and published.kept is None and "models differ" in published.remarks[0]
    both = explain_change(
        solved(before[1], model="first-order"), solved(tiny({"failures.tray.mtbf": "0.5x"}), model="first-order")
    )
    check_sums(both)


def test_least_cost_is_split_with_its_sign() -> None:
    """Proves that the cost of a target is split without a rest, and that its proof leaves less cost open, not more."""
    objective = {"kind": "cost", "goodput_target": 20.0}
    before, after = (
        tiny(overrides, objective=objective, limits={}, zones=[{"name": "hall", "racks": [3, 4, 5, 6]}])
        for overrides in ({}, {"failures.tray.mtbf": "0.2x", "designs.a.rack_price": "1.5x"})
    )
    change = explain_change(solved(before, gap=0.2), solved(after, gap=0.2))
    check_sums(change)
    assert [measure.name for measure in change.measures] == ["objective", "goodput"]
    assert all(shares(change)[cause,] > 0 for cause in ("fault_rates", "prices"))
    truth = explain_change(solved(before, gap=0.0), solved(after, gap=0.0))
    for item in split(change).contributions:
        if item.causes != (VERSION,):
            assert item.low is not None and item.high is not None
            assert item.low - 1e-6 <= shares(truth)[item.causes] <= item.high + 1e-6


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three quarters of one cluster."""
    place = tmp_path_factory.mktemp("quarters")
    changes: list[dict[str, Any]] = [{}, {"failures.tray.mtbf": "0.3x"}, {"limits.yearly_cost": "0.2 M$ per year"}]
    return [
        store.write_plan(*solved(tiny(overrides)), place / f"q{number}") for number, overrides in enumerate(changes, 1)
    ]


def test_three_plans_side_by_side(folders: list[Path], tmp_path: Path) -> None:
    """Proves that every number of three plans stands in the tables, marked where it differs, and reads back equal."""
    result = compare_plans(folders)
    assert [(change.before, change.after) for change in result.changes] == [
        (str(one), str(other)) for one, other in pairwise(folders)
    ]
    rows = {(row.group, row.quantity): row for row in result.rows}
    goodput = rows["score", "goodput"]
    assert goodput.values == tuple(named.plan.evaluation.goodput for named in result.plans) and goodput.differs
    for loss in result.plans[0].plan.evaluation.losses:
        values = [named.plan.evaluation.losses[loss] for named in result.plans]
        assert rows["losses", loss].values == tuple(values)
        assert rows["losses", loss].differs == (max(values) - min(values) > 1e-9 * max(values))
    assert rows["decisions", "hall.repair_plan"].values == ("fast", "fast", "slow")
    assert not rows["decisions", "hall.design"].differs and rows["inputs", "input_hash"].differs
    first = compare_plans(folders, against="first", causes=False)
    assert [(change.before, change.after) for change in first.changes] == [
        (str(folders[0]), str(other)) for other in folders[1:]
    ]
    assert all(change.attribution is None and change.status == "not split" for change in first.changes)

    folder = spareopt.write_plan_comparison(result, tmp_path / "out")
    assert spareopt.read_plan_comparison(folder) == result
    text = (folder / "side_by_side.csv").read_text(encoding="utf-8").splitlines()
    assert len(text) == 1 + len(result.rows) and text[0].startswith("group,quantity,unit,")
    causes = result.causes_table()
    for change in result.changes:
        mine = causes[(causes["from"] == change.before) & (causes["measure"] == "objective")]
        assert mine["change"].sum() == pytest.approx(change.measures[0].change, abs=1e-9)
    assert len(result.fields_table()) == sum(len(change.fields) for change in result.changes)
    assert compare_plans(folders).to_json() == result.to_json()


def test_the_text_says_what_why_and_what_to_do(folders: list[Path]) -> None:
    """Proves that the first sentences hold the change, its cause with its field, and the decisions that follow."""
    lines = comparison_text(compare_plans(folders[:2])).splitlines()
    head = " ".join(lines[: lines.index("")])
    assert head.startswith("q1 to q2: goodput falls from ") and " baseline GPUs (−" in head
    assert "Why, in baseline GPUs: fault rates −" in head and "(failures.tray.mtbf 500 h → 150 h)" in head
    assert "Kept as it was, q1 would have " in head and "→" in head.split("Kept as it was")[1]
    marked = [line for line in lines if line.startswith("≠")]
    assert any("goodput" in line for line in marked) and not any("design" in line for line in marked)


def test_the_text_says_which_zone_decides_otherwise() -> None:
    """Proves that a decision is told with its zone where there are several, and without where there is one."""
    zones = [{"name": "hall", "racks": 6}, {"name": "annex", "racks": 6}]
    plan, instance = solved(tiny(zones=zones, limits={}))
    other = [choice.model_copy(update={"repair_plan": "slow"}) for choice in plan.decisions.zones]
    assert [choice.repair_plan for choice in plan.decisions.zones] == ["fast", "fast"]
    for changed, words in (
        ((0, 1), "hall: repair plan fast → slow; annex: repair plan fast → slow."),
        ((1,), "brings nothing: annex: repair plan fast → slow."),
    ):
        chosen = tuple(other[i] if i in changed else choice for i, choice in enumerate(plan.decisions.zones))
        decisions = plan.decisions.model_copy(update={"zones": chosen})
        second = plan.model_copy(update={"decisions": decisions})
        text = " ".join(comparison_text(compare_plans([(plan, instance), (second, instance)], causes=False)).split())
        assert words in text
    one, alone = solved(tiny(limits={}))
    (choice,) = one.decisions.zones
    decisions = one.decisions.model_copy(update={"zones": (choice.model_copy(update={"repair_plan": "slow"}),)})
    pair = [(one, alone), (one.model_copy(update={"decisions": decisions}), alone)]
    assert ": repair plan fast → slow." in " ".join(comparison_text(compare_plans(pair, causes=False)).split())
    assert "hall: repair plan fast → slow" not in comparison_text(compare_plans(pair, causes=False))


def test_a_class_split_among_choices_shows_each_decision_and_the_choices() -> None:
    """Proves that zones of a class built differently show how many have which value, and the choices in a row."""
    plan, instance = solved(tiny(zones=[{"name": "hall", "count": 3, "racks": 6}], limits={}))
    (alike,) = plan.decisions.zones
    parts = [alike.model_copy(update={"count": n, "inter_block_spares": r}) for n, r in ((1, 2), (2, 1))]
    split_up = plan.model_copy(update={"decisions": plan.decisions.model_copy(update={"zones": tuple(parts)})})
    rows = decision_rows([Solved("one", plan, instance), Solved("other", split_up, instance)])
    assert rows["hall", "count"] == ["3", "3"] and rows["hall", "repair_plan"] == ["fast", "fast"]
    assert rows["hall", "inter_block_spares"][1] == "2 × 1, 1 × 2"
    assert rows["hall", "all"][1] == "2 × a, 6 racks, I=0, R=1, fast, full; 1 × a, 6 racks, I=0, R=2, fast, full"
    change = explain_change((plan, instance), (split_up, instance), causes=False)
    assert {item.decision for item in change.decisions} == {"inter_block_spares", "all"}


def test_values_of_fields_are_short() -> None:
    """Proves that quantities, ranges and items read as a person would write them."""
    words = [value_words(v) for v in ("0.0002525 per h", "3900000.0 $", "1.2 kW", "0.0895 $ per kWh", None, True)]
    assert words == ["0.00606 per day", "3.9 M$", "1.2 kW", "0.0895 $ per kWh", "–", "True"]
    assert value_words([0, 1, 2, 3, 4]) == "0 to 4" and value_words([0, 2]) == "[0, 2]"
    assert value_words(["0.8 kW", "0.82 kW", "0.84 kW", "0.86 kW"]) == "0.8 to 0.86 by 0.02 kW"


def run(*args: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli.main, ["compare", *map(str, args)])
    return result.exit_code, result.output


def test_the_command_ends_with_what_was_proven(folders: list[Path], tmp_path: Path) -> None:
    """Proves the exit codes: 0, 4 where a plan is not proven or a solve ends at its limit, 2 for what can't be read."""
    code, output = run(*folders[:2], "--json")
    assert code == 0 and PlanComparison.model_validate_json(output).changes[0].status == "split"
    plan, instance = store.read_solved(folders[1])
    certificate = plan.certificate.model_copy(update={"status": "limit reached", "gap": 0.03})
    doubtful = store.write_plan(plan.model_copy(update={"certificate": certificate}), instance, tmp_path / "doubtful")
    code, output = run(folders[0], doubtful, "--no-causes")
    assert code == 4 and "is not proven (limit reached)" in " ".join(output.split())
    code, output = run(*folders[:2], "--time-limit", "1e-9", "--json")
    change = PlanComparison.model_validate_json(output).changes[0]
    assert code == 4 and change.status == "not all proven"
    assert {step.status for step in split(change).steps} == {"limit reached"}
    check_sums(change)
    assert run(folders[0])[0] == 2


def test_what_is_no_plan_folder_is_told_in_one_message(folders: list[Path], tmp_path: Path) -> None:
    """Proves that each way in which a folder is not a solved plan has its own message, and that none is compared."""
    (tmp_path / "bare").mkdir()
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "plan.json").write_bytes((folders[0] / "plan.json").read_bytes())
    (tmp_path / "mixed").mkdir()
    for name, origin in (("plan.json", folders[0]), ("instance.json", folders[1])):
        (tmp_path / "mixed" / name).write_bytes((origin / name).read_bytes())
    for source, message in (
        (tmp_path / "bare", "has no plan.json and no instance.json"),
        (tmp_path / "half", "has no instance.json; expected a folder that holds plan.json and instance.json"),
        (tmp_path / "mixed", "is not the instance that plan.json was made from"),
        (tmp_path / "nowhere", "no such folder"),
        (folders[0] / "plan.json", "is a file"),
        (folders[1], "is given twice"),
    ):
        code, output = run(folders[1], source)
        assert code == 2 and message in output and output.count("error:") == 1, output
    with pytest.raises(InputError, match="two plans or more"):
        compare_plans(folders[:1])


def test_an_interrupted_comparison_is_printed_without_causes(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that Ctrl-C between two solves keeps the plans side by side, and solves nothing for those left."""
    asked: list[object] = []

    def ask(what_ifs: Any, options: Any) -> Any:
        asked.append(what_ifs)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return real(what_ifs, options)

    real = plan_changes.ask
    monkeypatch.setattr(plan_changes, "ask", ask)
    code, output = run(*folders, "--json")
    result = PlanComparison.model_validate_json(output)
    assert code == 130 and result.interrupted and len(asked) == 2
    assert [change.status for change in result.changes] == ["interrupted", "not split"] and result.rows


def test_a_waterfall_is_the_same_each_time(folders: list[Path], tmp_path: Path) -> None:
    """Proves that a change that is split has its picture, of the same bytes."""
    result = compare_plans(folders[:2])
    once, again = (spareopt.write_plan_comparison(result, tmp_path / name) for name in ("once", "again"))
    assert (once / "waterfall-1.svg").read_bytes() == (again / "waterfall-1.svg").read_bytes()
    unsplit = spareopt.write_plan_comparison(compare_plans(folders[:2], causes=False), tmp_path / "unsplit")
    assert not list(unsplit.glob("*.svg"))


RESULTS = [model for model in models_in(PlanComparison) if model not in models_in(Plan)]


@pytest.mark.parametrize("model", RESULTS, ids=lambda model: model.__name__)
def test_the_page_has_every_field(model: type[BaseModel]) -> None:
    """Proves that docs/compare.md lists each field of a comparison, with a unit and words."""
    rows = table("compare.md", model.__name__)
    assert [row[0] for row in rows] == [f"`{name}`" for name in model.model_fields]
    assert all(len(row) == 3 and row[1] and len(row[2]) > 5 for row in rows)
