"""Crews of a repair plan, from the instance file to the optimum: scores, refusals, choice and certificate."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import spareopt
from spareopt import InputError, read_instance, solve
from spareopt.decisions import Decisions
from tests.brute_force import best_value

RATE, RACK_RATE = 0.02, 0.004  # faults per hour
CDU = {"name": "cdu", "spans": "2 racks", "rate": "1 per day", "repair": {"hands_on": "1 h"}}


def small(**changes: Any) -> dict[str, Any]:
    """One zone of 2 racks, a block of 2 trays each, one crew; changes replace top-level fields."""
    repair = {"hands_on": "3 h", "off_crew": "2 h"}
    data: dict[str, Any] = {
        "schema_version": 1,
        "name": "small",
        "zones": [{"name": "zone", "racks": 2}],
        "designs": [
            {
                "name": "block",
                "trays_per_block": 2,
                "gpus_per_tray": 4,
                "intra_block_spares": [0, 1],
                "inter_block_spares": [0, 1],
                "rack_price": "1 M$",
            }
        ],
        "failures": {"tray": {"rate": f"{RATE} per h"}},
        "repair_plans": [{"name": "crewed", "tray": repair, "crews": 1}],
        "checkpoint_plans": [
            {"name": "best", "period": "best", "save": "1 min", "detection": "1 min", "restart": "5 min"}
        ],
    }
    return data | changes


def decide(intra: int, inter: int, plan: str = "crewed") -> Decisions:
    choice = {"zone": "zone", "design": "block", "racks": 2, "intra_block_spares": intra, "inter_block_spares": inter}
    return spareopt.read_decisions({"zones": [choice | {"repair_plan": plan}], "checkpoint_plan": "best"})


def all_states_unavailability(intra: int, inter: int, crews: int, delay: float, work: float) -> float:
    """P(zone short) by a Markov chain over the state of every tray: up, in the delay, or with its place in the queue.

    Independent of the product form: each tray has its own state, the queue is first come, first served.
    """
    trays = 4
    start: tuple[Any, ...] = (("up",) * trays, ())
    states, todo = {start: 0}, [start]
    moves: list[tuple[int, int, float]] = []

    def go(source: int, target: tuple[Any, ...], rate: float) -> None:
        if target not in states:
            states[target] = len(states)
            todo.append(target)
        moves.append((source, states[target], rate))

    while todo:
        state = todo.pop()
        source, (where, queue) = states[state], state
        for i, place in enumerate(where):
            if place == "up":
                go(source, ((*where[:i], "delay", *where[i + 1 :]), queue), RATE)
            elif place == "delay":
                go(source, ((*where[:i], "queue", *where[i + 1 :]), (*queue, i)), 1 / delay)
        for i in queue[:crews]:
            rest = tuple(j for j in queue if j != i)
            go(source, ((*where[:i], "up", *where[i + 1 :]), rest), 1 / work)
    generator = np.zeros((len(states), len(states)))
    for source, target, rate in moves:
        generator[source, target] += rate
        generator[source, source] -= rate
    system = np.vstack([generator.T, np.ones(len(states))])
    law = np.linalg.lstsq(system, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    short = 0.0
    for (where, _), number in states.items():
        bad = sum(sum(place != "up" for place in where[2 * b : 2 * b + 2]) > intra for b in range(2))
        short += law[number] * (bad > inter)
    return float(short)


@pytest.mark.parametrize(("intra", "inter"), list(itertools.product((0, 1), (0, 1))))
def test_availability_with_one_crew_against_the_whole_chain(intra: int, inter: int) -> None:
    """Proves the chain from instance to score: 4 trays, one crew, a delay, against the state of every single tray.

    If the delay held the crew, or the failed trays were not uniform over all sets, the values would differ at once.
    """
    result = spareopt.evaluate(read_instance(small()), decide(intra, inter))
    assert result.unavailability == pytest.approx(all_states_unavailability(intra, inter, 1, 2.0, 3.0), rel=1e-9)
    assert result.method["availability"] == "exact for exponential hands-on times, first come, first served"


def test_crew_figures_by_hand() -> None:
    """Proves utilisation and wait: one tray in all, so nothing ever waits, busy 3 h of every 50 + 2 + 3 h."""
    data = small(zones=[{"name": "zone", "racks": 1}])
    data["designs"][0] |= {"trays_per_block": 1, "intra_block_spares": 0, "inter_block_spares": 0}
    plan = decide(0, 0).model_copy(update={"zones": (decide(0, 0).zones[0].model_copy(update={"racks": 1}),)})
    zone = spareopt.evaluate(read_instance(data), plan).zones[0]
    assert zone.crew_utilisation == pytest.approx(3 / 55, rel=1e-12)
    assert zone.crew_mean_wait_h == pytest.approx(0.0, abs=1e-12)
    assert zone.unavailability == pytest.approx(5 / 55, rel=1e-12)


@pytest.mark.parametrize("racks_fail", [False, True])
def test_as_many_crews_as_units_is_ample(racks_fail: bool) -> None:
    """Proves the limit: with a crew for every unit the score is that of ample crews, racks included."""
    failures: dict[str, Any] = {"tray": {"rate": f"{RATE} per h"}}
    times = {"tray": {"hands_on": "3 h", "off_crew": "2 h"}}
    if racks_fail:
        failures["rack"] = {"rate": f"{RACK_RATE} per h"}
        times["rack"] = {"hands_on": "7 h", "off_crew": "1 h"}
    plans = [{"name": "crewed", "crews": 9} | times, {"name": "ample"} | times]
    instance = read_instance(small(failures=failures, repair_plans=plans))
    for intra, inter in itertools.product((0, 1), (0, 1)):
        crewed, ample = (spareopt.evaluate(instance, decide(intra, inter, plan)) for plan in ("crewed", "ample"))
        assert crewed.unavailability == pytest.approx(ample.unavailability, rel=1e-10)
        assert crewed.interruption_rate_per_h == ample.interruption_rate_per_h
        assert ample.zones[0].crew_utilisation is None


@pytest.mark.parametrize("intra", [0, 1])
def test_more_crews_never_lower_availability(intra: int) -> None:
    """Proves the property planners rely on, with racks that share the crews; unequal work is named in the method."""
    times = {"tray": {"hands_on": "20 h"}, "rack": {"hands_on": "30 h"}}
    plans = [{"name": f"c{n}", "crews": n} | times for n in (1, 2, 3, 4)]
    failures = {"tray": {"rate": f"{RATE} per h"}, "rack": {"rate": f"{RACK_RATE} per h"}}
    instance = read_instance(small(failures=failures, repair_plans=plans))
    results = [spareopt.evaluate(instance, decide(intra, 1, plan["name"])) for plan in plans]
    values = [result.availability for result in results]
    assert values == sorted(values)
    assert values[0] < values[-1]
    assert "divide their time evenly" in results[0].method["cett"]


def test_part_time_crews_are_slower_and_named() -> None:
    """Proves that 84 of 168 hours a week double the hands-on time, and that the method says it is an approximation."""
    half = {"name": "crewed", "tray": {"hands_on": "3 h", "off_crew": "2 h"}, "crews": 1, "crew_hours_per_week": 84}
    double = {"name": "crewed", "tray": {"hands_on": "6 h", "off_crew": "2 h"}, "crews": 1}
    part, slow = (spareopt.evaluate(read_instance(small(repair_plans=[plan])), decide(1, 0)) for plan in (half, double))
    assert part.unavailability == slow.unavailability
    assert "approximation" in part.method["availability"]


def test_the_optimum_weighs_crews_against_their_price() -> None:
    """Proves that crews are chosen with K, I and R, to the brute-force optimum, for each price of a crew.

    Cheap crews are bought, dear ones are not: a plan's cost that ignored the crews would choose alike in both.
    """
    chosen = []
    for price in (0.01, 3.0):
        plans = [
            {"name": f"c{n}", "crews": n, "tray": {"hands_on": "12 h"}, "yearly_cost": f"{n * price} M$ per year"}
            for n in (1, 2, 3)
        ]
        instance = read_instance(small(repair_plans=plans, objective={"kind": "goodput_per_dollar"}))
        plan = solve(instance, gap=0.0)
        assert plan.certificate.value == pytest.approx(best_value(instance), rel=1e-12)
        chosen.append(plan.decisions.zones[0].repair_plan)
    assert chosen[0] != "c1"
    assert chosen[1] == "c1"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"failures.domains": [CDU]},
            "a number of crews is not supported with fault domains that span racks (cdu)",
        ),
        (
            {
                "designs.block.blocks_per_rack": 2,
                "failures.rack": {"rate": "1e-3 per h"},
                "repair_plans.crewed.rack": {"hands_on": "1 h"},
            },
            "failing racks of several blocks (block)",
        ),
        ({"repair_plans.crewed.crews": 0}, "repair_plans.0.crews: expected at least 1, got 0"),
        ({"repair_plans.crewed.crew_hours_per_week": 200}, "expected at most 168"),
        ({"repair_plans.crewed.crews": None, "repair_plans.crewed.crew_hours_per_week": 40}, "needs crews"),
    ],
)  # fmt: skip
def test_what_crews_can_not_do_is_refused(changes: dict[str, Any], text: str) -> None:
    """Proves that crews are exact or refused: no silent approximation where several blocks share a fault."""
    with pytest.raises(InputError) as refused:
        read_instance(small(), overrides=changes)
    assert text in str(refused.value)


def test_the_first_order_model_refuses_crews() -> None:
    """Proves that the published model is not asked for what it does not know."""
    with pytest.raises(InputError, match="knows no crews"):
        solve(read_instance(small()), model="first-order")
