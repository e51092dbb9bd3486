"""Plans over quarters: what must hold of any, planning again, refusals, the formulation as written, the command."""

from __future__ import annotations

import copy
import io
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import spareopt
from spareopt.building import ZoneBuild, site_of
from spareopt.cohorts import Cohort, cohort_scores
from spareopt.errors import InfeasibleError, InputError
from spareopt.exact import zone_scores
from spareopt.formulations.selection import Budget, ConcaveTerm, Cost, Piece, RateCoupling, Selection
from spareopt.formulations.staged import Money, Moves, Quarter, Staged, build, most_held
from spareopt.horizon import HOURS_PER_QUARTER, Horizon
from spareopt.numerics.cohorts import cohorts_at_work, cohorts_shortfall
from spareopt.repair import zone_repair
from spareopt.staging.quarters import charge_in

GOLDEN = Path(__file__).parent / "golden"

GROWING: dict[str, Any] = {
    "schema_version": 1,
    "name": "growing",
    "zones": [{"name": "hall", "count": 2, "racks": [8, 16]}],
    "designs": [
        {
            "name": "rack", "trays_per_block": 4, "gpus_per_tray": 4, "intra_block_spares": [0, 1],
            "inter_block_spares": [0, 1, 2], "rack_price": "1 M$",
            "power": {"gpu_full_limit": "1 kW", "tray_other": "1 kW", "tray_idle": "1 kW"},
        }
    ],
    "failures": {"tray": {"mtbf": "1500 h"}, "rack": {"mtbf": "4000 h"}},
    "repair_plans": [{"name": "day", "tray": {"hands_on": "8 h"}, "rack": {"hands_on": "8 h"}}],
    "checkpoint_plans": [{"name": "best", "period": "best", "save": "20 s", "detection": "1 min", "restart": "9 min"}],
    "horizon": {
        "quarters": 3, "first_quarter": "2027-Q4", "discount_rate": 0.08, "capital": ["11 M$", "8 M$", "9 M$"],
        "site_power": ["0.2 MW", "0.4 MW", "0.5 MW"], "price_changes": {"racks": "-2 % per quarter"},
    },
}  # fmt: skip


def growing(**changes: Any) -> spareopt.Instance:
    return spareopt.read_instance(GROWING, overrides=changes)


def best(instance: spareopt.Instance) -> spareopt.StagedPlan:
    return spareopt.solve_staged(instance, gap=1e-6)


@cache
def grown() -> spareopt.StagedPlan:
    """The best plan of the instance as it is."""
    return best(growing())


def test_scores_of_a_plan_add_up() -> None:
    """Proves that a plan's value is the sum over quarters of weight, hours and goodput, that losses sum to 1 in each,
    that money left is what came less what was paid, and that the score is that of the decisions alone."""
    instance, plan = growing(), grown()
    weights = [1.08 ** (-t / 4) for t in range(3)]
    quarters = plan.score.quarters
    assert plan.certificate.value == pytest.approx(
        sum(w * HOURS_PER_QUARTER * q.goodput for w, q in zip(weights, quarters, strict=True)), rel=1e-12
    )
    assert [q.quarter for q in quarters] == ["2027-Q4", "2028-Q1", "2028-Q2"]
    left = 0.0
    for t, (quarter, money) in enumerate(zip(quarters, (11e6, 8e6, 9e6), strict=True)):
        left += money - quarter.paid
        assert quarter.money_left == pytest.approx(left) and left >= 0
        assert quarter.paid == pytest.approx(1e6 * 0.98**t * sum(order.racks for order in quarter.orders))
        assert quarter.evaluation is not None and not quarter.breaks
        assert sum(quarter.evaluation.losses.values()) == pytest.approx(1.0)
    assert spareopt.evaluate_staged(instance, plan.decisions) == plan.score


@pytest.mark.parametrize(
    ("changes", "sign"),
    [
        ({"horizon.capital": ["12 M$", "8 M$", "9 M$"]}, 1),
        pytest.param({"horizon.capital": ["19 M$", "0 $", "9 M$"]}, 1, marks=pytest.mark.heavy),
        ({"horizon.site_power": ["0.4 MW", "0.4 MW", "0.5 MW"]}, 1),
        pytest.param({"horizon.site_power": None}, 1, marks=pytest.mark.heavy),
        ({"horizon.carry_over": False}, -1),
        pytest.param({"horizon.lead_time.racks": 1}, -1, marks=pytest.mark.heavy),
    ],
)
def test_more_money_and_earlier_power_never_hurt(changes: dict[str, Any], sign: int) -> None:
    """Proves that the proven value rises with the budget and earlier power, and falls where money may not be kept, or
    racks come later."""
    value, changed = (plan.certificate.value for plan in (grown(), best(growing(**changes))))
    assert sign * (changed - value) >= -value * 1e-6


def test_early_life_of_ones_is_none() -> None:
    """Proves that young racks that fail as often as others change nothing, and those that fail more often do."""
    plain, ones = grown(), best(growing(**{"horizon.early_life": {"tray": [1, 1.0], "rack": [1.0]}}))
    assert ones.certificate.value == pytest.approx(plain.certificate.value, rel=1e-12)
    young = best(growing(**{"horizon.early_life": {"tray": [3, 1.5]}}))
    assert young.certificate.value < plain.certificate.value * 0.999


def test_what_is_bought_is_that_of_one_quarter() -> None:
    """Proves that zones bought long ago are planned as by a plain solve of those zones, in every quarter alike."""
    bought = [{"zone": "hall", "count": 2, "design": "rack", "deliveries": [{"racks": 16}]}]
    instance = growing(**{"horizon.bought": bought, "horizon.capital": "0 $", "horizon.site_power": None})
    plan = best(instance)
    alone = spareopt.solve(growing(**{"zones.hall.racks": 16}), gap=1e-6)
    for quarter in plan.score.quarters:
        assert quarter.goodput == pytest.approx(alone.evaluation.goodput, rel=1e-6)
        assert quarter.paid == 0 and quarter.racks == 32


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"horizon.lead_time.racks": 1, "horizon.early_life": {"tray": [2.0], "rack": [1.5]}},
        {
            "repair_plans.day.shelf": [0, 4, 8], "repair_plans.day.lead_time": "200 h",
            "repair_plans.day.tray_price": "0.1 M$", "horizon.price_changes.shelf": [1, 0.9, 0.8],
            "horizon.lead_time": {"shelf": 1}, "horizon.shelf": [{"trays": 4}],
        },
        {"objective": {"kind": "cost", "goodput_target": 300}, "horizon.goodput_target": [80, 120, 250],
         "horizon.capital": None},
    ],
    ids=["plain", "young", "shelf", "cost"],
)  # fmt: skip
@pytest.mark.parametrize("quarter", ["2028-Q1", pytest.param("2028-Q2", marks=pytest.mark.heavy)])
def test_planning_again_keeps_the_rest_of_the_plan(changes: dict[str, Any], quarter: str) -> None:
    """Proves that planned again with nothing changed, the rest of a plan is worth what it was: no purchase is lost,
    paid twice or undone.  With the objective cost the charges of what was bought until then are sunk, and left out."""
    instance = growing(**changes)
    plan = best(instance)
    later = spareopt.rolled(instance, plan, quarter)
    assert spareopt.read_instance(later.resolved()).input_hash() == later.input_hash()
    again = best(later)
    first = ["2027-Q4", "2028-Q1", "2028-Q2"].index(quarter)
    rest = plan.score.quarters[first:]
    if instance.objective.kind == "cost":
        sunk = [
            sum(
                charge_in(instance, u, t) * sum(order.paid for order in plan.score.quarters[u].orders)
                for u in range(first)
            )
            for t in range(first, 3)
        ]
        value = sum(q.weight * (q.charge - s + q.yearly_cost / 4) for q, s in zip(rest, sunk, strict=True))
    else:
        value = sum(q.weight * q.useful_gpu_hours for q in rest)
    assert again.certificate.value == pytest.approx(value / rest[0].weight, rel=2e-6)
    assert [q.quarter for q in again.score.quarters] == [q.quarter for q in rest]


def test_cohorts_that_fail_alike_are_a_zone() -> None:
    """Proves that cohorts with one multiple are scored as a plain zone with its rates multiplied."""
    instance = growing()
    site = site_of(instance, "exact")
    build_of = ZoneBuild(site, instance.zones[0], instance.designs[0], 16)
    repair = zone_repair(instance, instance.repair_plans[0])
    spares = np.arange(3)
    cohorts = (Cohort(5, 2.0, 2.0), Cohort(7, 2.0, 2.0), Cohort(4, 2.0, 2.0))
    for intra in (0, 1):
        mixed = cohort_scores(build_of.structure, repair, cohorts, intra, spares)
        plain = zone_scores(build_of.structure.at(2.0), repair, intra, spares)
        assert mixed.unavailability == pytest.approx(plain.unavailability, rel=1e-10)
        assert mixed.rate == pytest.approx(plain.rate, rel=1e-10)


def test_cohorts_by_hand() -> None:
    """Proves: of a sure block and one that is up half the time, with one at work, the sure one is it 3 times in 4."""
    assert cohorts_shortfall([1, 1], [0.0, 0.5], np.array([0, 1])) == pytest.approx([0.5, 0.0])
    # both up (1/2): either works; else the sure one
    assert cohorts_at_work([1, 1], [0.0, 0.5], np.array([1]))[0] == pytest.approx([0.75, 0.25])
    assert cohorts_at_work([2, 3], [0.1, 0.4], np.array([5]))[0] == pytest.approx([2.0, 3.0])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"repair_plans.day.crews": 2, "repair_plans.day.shared_by": "site"}, "repair_plans.0.shared_by"),
        ({"failures.uncertainty": {"variance": 0.1}}, "failures.uncertainty"),
        ({"objective.kind": "goodput_per_dollar"}, "objective.kind"),
        ({"economics.site_capital": "10 M$ per MW"}, "economics.site_capital"),
        ({"repair_plans.day.crews": 2, "horizon.early_life": {"tray": [2.0]}}, "repair_plans.0.crews"),
        ({"repair_plans.day.start_at": [1, 2], "horizon.early_life": {"tray": [2.0]}}, "repair_plans.0"),
        ({"designs.rack.blocks_per_rack": 2, "horizon.early_life": {"rack": [2.0]}}, "designs.0.blocks_per_rack"),
        ({"horizon": None}, "horizon"),
    ],
)
def test_what_can_not_be_staged_is_refused(changes: dict[str, Any], field: str) -> None:
    """Proves that each thing without an exact value over quarters is one clear fault that names its field."""
    with pytest.raises(InputError) as error:
        spareopt.solve_staged(growing(**changes))
    assert field in [fault.field for fault in error.value.faults]


THREE = {"zone": "hall", "count": 3, "design": "rack", "deliveries": [{"racks": 8}]}


@pytest.mark.parametrize(
    ("horizon", "words"),
    [
        ({"quarters": 3, "capital": ["1 M$", "2 M$"]}, "3, one a quarter; got 2"),
        ({"quarters": 2, "price_changes": {"racks": "2 %"}}, "per quarter"),
        ({"quarters": 2, "lead_time": {"racks": 2}}, "less than the horizon"),
        ({"quarters": 2, "bought": [THREE]}, "3 zones of 'hall' are bought"),
        ({"quarters": 2, "goodput_target": 10}, "kind: cost"),
        ({"quarters": 2, "shelf": [{"trays": 3}]}, "no repair plan has a shelf"),
        ({"quarters": 41}, "at most 40"),
    ],
)
def test_faults_of_a_horizon(horizon: dict[str, Any], words: str) -> None:
    """Proves that what a horizon may not say is told, with what was expected."""
    with pytest.raises(InputError, match="horizon") as error:
        spareopt.read_instance(GROWING | {"horizon": horizon})
    assert words in str(error.value)


def test_decisions_that_no_zone_can_take_are_refused() -> None:
    """Proves that racks taken away, zones left out, orders without a shelf and missing quarters are faults."""
    instance = growing()
    plan = best(instance)
    data = plan.decisions.model_dump(mode="json")

    def refused(change: Any, words: str) -> None:
        other = copy.deepcopy(data)
        change(other)
        with pytest.raises(InputError) as error:
            spareopt.evaluate_staged(instance, spareopt.StagedDecisions.model_validate(other))
        assert words in str(error.value)

    def less(other: Any) -> None:
        built = next(zone for zone in other["zones"] if zone["quarters"][-1] and zone["quarters"][-2])
        built["quarters"][-1]["racks"] -= 1

    refused(less, "expected at least")
    refused(lambda other: other["zones"].pop(), "each zone of the instance once")
    refused(lambda other: other.update(shelf_orders=[1, 0, 0]), "no repair plan has a shelf")
    refused(lambda other: other["checkpoint_plans"].pop(), "one a quarter; got 2")
    with pytest.raises(ValidationError):
        spareopt.StagedDecisions.model_validate(data | {"shelf_orders": [-1, 0, 0]})


def test_without_a_plan() -> None:
    """Proves that a budget too small for a rack, and a job too large for the power, are infeasible, not empty plans."""
    for changes in ({"horizon.capital": "1 M$"}, {"horizon.working_gpus": {"minimum": [0, 0, 5000]}}):
        with pytest.raises(InfeasibleError):
            spareopt.solve_staged(growing(**changes))


def test_horizon_reads() -> None:
    """Proves what weights, labels, prices and values by quarter are, by hand."""
    horizon = Horizon.model_validate(
        {"quarters": 3, "first_quarter": "2027-Q4", "discount_rate": 0.21, "price_changes": {"energy": [1, 2, 3]}}
    )
    assert horizon.weights() == pytest.approx((1.0, 1.21**-0.25, 1.1**-1))
    assert horizon.labels() == ("2027-Q4", "2028-Q1", "2028-Q2")
    assert horizon.prices("energy") == (1, 2, 3) and horizon.prices("racks") == (1, 1, 1)
    assert horizon.each((5.0,)) == (5.0, 5.0, 5.0) and horizon.each(None) == (None, None, None)


def tiny(goal: Any) -> Staged:
    """Two members over two quarters: not built, or built of 1 or 2 units at 3 a unit; money for 1 unit, then for 3."""
    selection = Selection(
        group=np.zeros(3, dtype=np.int64),
        members=(2,),
        log_value=np.array([0.0, 0.1, 0.2]),
        constant=0.5,
        goal="value" if goal == "value" else "cost",
        options=2,
        log_target=None if goal == "value" else 0.7,
        concave=(ConcaveTerm("units", np.array([0.0, 1.0, 2.0]), ((1.0, -1.0), (0.5, -0.3))),),
        rate=RateCoupling(
            np.array([0.0, 0.1, 0.2]),
            0.05,
            (Piece(0, 0.05, 0.5, ((-1.0, 0.0),)), Piece(1, 0.05, 0.5, ((0.0, 0.0),))),
        ),
        budgets=(Budget("power", np.array([0.0, 1.0, 2.0]), 3.0),),
        cost=None if goal == "value" else Cost(np.array([0.0, 0.5, 0.9]), (0.2, 0.0)),
    )
    place, built = np.arange(3), np.array([False, True, True])
    quarters = tuple(
        Quarter(
            selection, place, built, weight, 1, edges=(0.0, 1.0, 1.5), below=-3.0, stock=np.array([0.0, 0.0, 1.0]),
            held=np.array([0.0, 1.0, 2.0]), least_power=np.array([0.0, 1.0, 2.0]), most_power=3.0,
        )
        for weight in (1.0, 0.9)
    )  # fmt: skip
    first = Moves(np.array([0, 0, 0]), np.arange(3), np.array([0.0, 0.3, 0.6]) * (goal == "cost"))
    tail, head = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 1, 2, 2])
    second = Moves(tail, head, 0.3 * (head - tail) * (goal == "cost"))
    money = (
        Money("capital 1", {0: np.array([0.0, 3.0, 6.0])}, {0: 0.5}, 4.0),
        Money("capital 2", {0: np.array([0.0, 3.0, 6.0]), 1: 3.0 * (head - tail)}, {0: 0.5, 1: 0.4}, 13.0),
    )
    return Staged(
        start=(2,),
        quarters=quarters,
        moves=(first, second),
        goal=goal,
        money=money,
        orders={0: (0, 2, 0.05), 1: (1, 2, 0.02)},
        have=(0.0, 1.0),
        unit=0.5,
        excluded=((({1: 2}, 0), ({2: 2}, 0)),),
        held=(((0.0, 1.0), 3.0),),
    )


@pytest.mark.parametrize("name", ["staged-value", "staged-cost", "staged-focus", "staged-held"])
def test_golden_lp(name: str, tmp_path: Path) -> None:
    """Proves that each row is written as its golden file says, which was checked by hand against the docstring."""
    numbers = tiny("cost" if name == "staged-cost" else "value")
    model = most_held(numbers, (0.0, 1.0)) if name == "staged-held" else build(numbers, 1 if "focus" in name else None)
    with redirect_stdout(io.StringIO()):
        model.write(str(tmp_path / "model.lp"), io_options={"symbolic_solver_labels": True})
    assert (tmp_path / "model.lp").read_text() == (GOLDEN / f"{name}.lp").read_text()


@pytest.mark.heavy
@pytest.mark.parametrize("scenario", ["eight-quarters", "four-quarters-cost"])
def test_quarters_of_the_large_instance(scenario: str) -> None:
    """Proves that eight quarters of 4 zones of 256 racks are proven to 1e-3, and four at least cost."""
    plan = spareopt.solve_staged(spareopt.read_instance("gb200-4x256", scenarios=[scenario]))
    assert plan.certificate.status == "proven" and plan.certificate.gap <= 1e-3
