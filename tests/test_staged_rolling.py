"""Planning anew from a later quarter: what was bought stands, and with nothing changed the plan stays as good."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

import spareopt
from spareopt.errors import InputError, SpareoptError
from spareopt.instance import Instance
from spareopt.plan import provenance_of
from spareopt.staging.plan import StagedPlan
from spareopt.staging.rolling import remaining
from tests.growing_site import CASE, OVERRIDES, growing
from tests.staged_instances import KINDS, staged_instance

LATER = ("2028-Q1", "2028-Q2")


def tail(plan: StagedPlan, passed: int) -> float:
    """What a plan is worth from a quarter on, as weighed from there; charges for earlier orders are left in."""
    quarters = plan.score.quarters[passed:]
    first = quarters[0].weight
    if plan.certificate.objective == "goodput":
        return sum(q.weight / first * q.useful_gpu_hours for q in quarters)
    return sum(q.weight / first * (q.charge + q.yearly_cost / 4) for q in quarters)


@pytest.mark.parametrize("quarter", LATER)
def test_with_nothing_changed_the_plan_stays_as_good(quarter: str) -> None:
    """Proves the principle of optimality: the best plan from a later quarter on is worth what the first plan has left.

    Were anything that was bought lost or counted twice, money not carried over, or a price, limit or weight of another
    quarter taken, the values would differ.
    """
    instance, plan = growing("goodput")
    later = spareopt.solve_staged(spareopt.rolled(instance, plan, quarter), gap=0)
    assert later.certificate.value == pytest.approx(tail(plan, 1 + LATER.index(quarter)), rel=1e-9)
    assert later.score.quarters[0].quarter == quarter and later.score.quarters[-1].quarter == "2028-Q2"


@pytest.mark.parametrize("quarter", LATER)
def test_least_cost_stays_so_without_what_is_sunk(quarter: str) -> None:
    """Proves the same for cost, where the charges for what was ordered before, a twelfth a quarter, are sunk.

    The amortisation time of three years is twelve quarters, so all that arrived is charged in every quarter since.
    """
    instance, plan = growing("cost")
    passed = 1 + LATER.index(quarter)
    later = spareopt.solve_staged(spareopt.rolled(instance, plan, quarter), gap=0)
    labels = [q.quarter for q in plan.score.quarters]
    sunk = 0.0
    for t, q in enumerate(plan.score.quarters[:passed]):
        racks = sum(order.paid for order in q.orders)
        for paid, arrives in ((racks, t + 1), (q.paid - racks, t)):
            weights = [plan.score.quarters[s].weight for s in range(max(arrives, passed), len(labels))]
            sunk += paid / 12 * sum(weights) / plan.score.quarters[passed].weight
    assert sunk > 0
    assert later.certificate.value == pytest.approx(tail(plan, passed) - sunk, rel=1e-9)


def labelled(seed: int, kind: str, objective: str) -> Instance:
    data = staged_instance(seed, kind, objective)
    data["horizon"]["first_quarter"] = "2027-Q1"
    return spareopt.read_instance(data)


def holds_on_a_random_instance(seed: int, kind: str, objective: str) -> bool:
    """Whether there was a plan to be looked at; it stays the best from its second quarter on."""
    try:
        instance = labelled(seed, kind, objective)
        plan = spareopt.solve_staged(instance, gap=0, time_limit=60)
    except SpareoptError:
        return False
    if plan.certificate.status != "proven" or not any(q.goodput for q in plan.score.quarters[1:]):
        return False
    now = spareopt.rolled(instance, plan, "2027-Q2")
    kept = spareopt.evaluate_staged(now, remaining(instance, plan, "2027-Q2"))
    assert kept.breaks == ()
    later = spareopt.solve_staged(now, gap=0, time_limit=60)
    left = kept.useful_gpu_hours if objective == "goodput" else kept.cost
    assert later.certificate.value == pytest.approx(left, rel=1e-7)
    if objective == "goodput":
        assert left == pytest.approx(tail(plan, 1), rel=1e-9)
    return True


def test_random_plans_stay_as_good() -> None:
    """Proves it with early life, zones bought before, and a growing job, whatever else comes by quarter."""
    looked_at = [holds_on_a_random_instance(seed, kind, "goodput") for kind in ("early", "bought") for seed in (1, 2)]
    assert sum(looked_at) >= 2


@pytest.mark.heavy
@pytest.mark.parametrize("objective", ["goodput", "cost"])
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_plans_stay_as_good(kind: str, objective: str) -> None:
    """Proves it on ten more instances of every kind."""
    assert sum(holds_on_a_random_instance(seed, kind, objective) for seed in range(10, 20)) >= 3


def test_what_was_bought_is_fixed_whatever_changes() -> None:
    """Proves that no later news undoes an order: all that came until now or is on order is there, in any new plan."""
    instance, plan = growing("goodput")
    news = {"failures.tray.mtbf": "4x", "designs.quad.rack_price": "2 M$", "horizon.capital": "0 M$"}
    changed = spareopt.read_instance(copy.deepcopy(CASE), overrides=news)
    with pytest.raises(InputError, match="was made from another instance; give that one as earlier"):
        spareopt.rolled(changed, plan, "2028-Q1")
    now = spareopt.rolled(changed, plan, "2028-Q1", earlier=instance)
    later = spareopt.solve_staged(now)
    ordered = sum(order.racks for order in plan.score.quarters[0].orders)
    assert ordered == 2
    stood = plan.score.quarters[0].racks + ordered
    assert later.score.quarters[0].racks == stood == plan.score.quarters[1].racks
    left = plan.score.quarters[0].money_left
    assert left is not None and now.horizon is not None
    assert now.horizon.capital == pytest.approx((left, 0.0)) and later.score.paid <= left
    assert now.limits.capital == pytest.approx(9e6 - plan.score.quarters[0].paid)
    assert now.applied[-1] == "the 2 racks that an earlier plan ordered before 2028-Q1"


@pytest.mark.parametrize("objective", OVERRIDES)
def test_planning_anew_twice_is_planning_anew_once(objective: str) -> None:
    """Proves that a plan that was itself made anew can be carried on: quarter after quarter nothing is lost."""
    instance, plan = growing(objective)
    once = spareopt.rolled(instance, plan, "2028-Q1")
    decisions = remaining(instance, plan, "2028-Q1")
    second = plan.model_copy(
        update={
            "decisions": decisions,
            "score": spareopt.evaluate_staged(once, decisions),
            "provenance": provenance_of(once, {}, 0),
        }
    )
    twice, straight = spareopt.rolled(once, second, "2028-Q2").resolved(), spareopt.rolled(instance, plan, "2028-Q2")
    assert numbers(twice) == pytest.approx(numbers(straight.resolved()), rel=1e-9)
    assert words(twice) == words(straight.resolved())


NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def numbers(data: Any) -> list[float]:
    return [float(text) for text in NUMBER.findall(repr(data))]


def words(data: Any) -> str:
    return NUMBER.sub("#", repr(data))


def test_a_longer_horizon_goes_on_after_the_plan() -> None:
    """Proves that quarters may have been added since, even all that are left: what arrived in the old ones stands."""
    instance, plan = growing("goodput")
    longer = {"horizon.quarters": 4, "horizon.capital": "3 M$", "horizon.site_power": "0.2 MW"}
    longer["horizon.price_changes.shelf"] = 1
    now = spareopt.rolled(
        spareopt.read_instance(copy.deepcopy(CASE), overrides=longer), plan, "2028-Q3", earlier=instance
    )
    assert now.horizon is not None and now.horizon.labels() == ("2028-Q3",)
    assert sum(d.racks * b.count for b in now.horizon.bought for d in b.deliveries) == plan.score.quarters[-1].racks
    assert sum(s.trays for s in now.horizon.shelf) == plan.score.quarters[-1].shelf_trays
    assert spareopt.read_instance(now.resolved()).input_hash() == now.input_hash()


@pytest.mark.parametrize(
    ("quarter", "message"),
    [
        ("2029-Q1", "expected a quarter of the instance's horizon, 2027-Q4 to 2028-Q2; got 2029-Q1"),
        ("2027-Q3", "expected a quarter of the instance's horizon, 2027-Q4 to 2028-Q2; got 2027-Q3"),
        ("Q1", "expected a quarter such as \"2027-Q2\", got 'Q1'"),
        ("2028-Q5", "expected a quarter such as \"2027-Q2\", got '2028-Q5'"),
    ],
)
def test_a_quarter_that_does_not_fit_is_refused(quarter: str, message: str) -> None:
    """Proves that each refusal says what was expected."""
    instance, plan = growing("goodput")
    with pytest.raises(InputError, match=re.escape(message)):
        spareopt.rolled(instance, plan, quarter)


def test_what_does_not_fit_the_plan_is_refused() -> None:
    """Proves that a horizon without names, one that misses what was paid, and a missing zone each get their message."""
    instance, plan = growing("goodput")
    nameless = copy.deepcopy(CASE)
    del nameless["horizon"]["first_quarter"]
    for data, overrides, message in (
        (nameless, {}, "horizon.first_quarter: required to plan anew"),
        (CASE, {"horizon.first_quarter": "2027-Q3"}, "does not know what was paid before"),
        (CASE, {"zones.hall.name": "other", "horizon.bought": []}, "unknown zone 'hall'; expected one of other"),
    ):
        changed = spareopt.read_instance(copy.deepcopy(data), overrides=overrides)
        with pytest.raises(InputError, match=message):
            spareopt.rolled(changed, plan, "2028-Q1", earlier=instance)
