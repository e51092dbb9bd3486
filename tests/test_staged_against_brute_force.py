"""Plans over quarters against brute force: every staged plan of small instances, scored by the evaluator alone."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from itertools import product
from typing import Any

import pytest

from spareopt.decisions import ZoneChoice
from spareopt.errors import InfeasibleError
from spareopt.evaluation import evaluate
from spareopt.optimise import solve
from spareopt.reading import read_instance
from spareopt.staging.plan import solve_staged
from tests.brute_force import all_decisions
from tests.random_instances import random_instance
from tests.staged_brute_force import Best, BruteForce, Built, Young, young_score
from tests.staged_instances import KINDS, OBJECTIVES, staged_instance

MOST_PATHS = 20_000
SEEDS = 30
Case = tuple[int, str, str]
QUICK: dict[tuple[str, str], tuple[int, ...]] = {
    ("bought", "cost"): (5, 15),
    ("bought", "goodput"): (16, 25),
    ("crews", "cost"): (19, 27),
    ("crews", "goodput"): (17, 29),
    ("designs", "cost"): (20, 26),
    ("designs", "goodput"): (4, 14),
    ("domains", "cost"): (11, 29),
    ("domains", "goodput"): (14, 16),
    ("early", "cost"): (16, 27),
    ("early", "goodput"): (16, 29),
    ("extras", "cost"): (9, 10),
    ("extras", "goodput"): (8, 12),
    ("job", "cost"): (19, 25),
    ("job", "goodput"): (18, 26),
    ("plain", "cost"): (22, 24),
    ("plain", "goodput"): (17, 27),
    ("rare", "cost"): (11, 12),
    ("rare", "goodput"): (9, 13),
    ("shelf", "cost"): (26, 27),
    ("shelf", "goodput"): (20, 21),
}
"""Seeds of small instances, most of them with a plan; the others run in the second tier."""
QUICK_SCREENED = ((1, "early", "goodput"), (0, "bought", "cost"), (6, "shelf", "goodput"), (27, "crews", "cost"))
QUICK_QUARTERS = (
    (2, "cost"),
    (8, "goodput"),
    (11, "goodput"),
    (18, "goodput"),
    (25, "cost"),
    (44, "cost"),
    (58, "cost"),
)


@cache
def brute_force(case: Case) -> tuple[dict[str, Any], Best | None]:
    """An instance as plain data, and its best plan; too large ones are skipped."""
    data = staged_instance(*case)
    every = BruteForce(read_instance(data))
    if every.number_of_paths() > MOST_PATHS:
        pytest.skip("too many ways through the quarters for brute force")
    return data, every.best()


def check(case: Case, gap: float) -> None:
    """The plan is within the gap of the best of all, and no plan is beyond the bound."""
    data, best = brute_force(case)
    instance = read_instance(data)
    if best is None:
        with pytest.raises(InfeasibleError):
            solve_staged(instance, gap=gap)
        return
    found = solve_staged(instance, gap=gap).certificate
    assert found.status == "proven"
    assert found.gap <= gap
    sign = -1.0 if case[2] == "cost" else 1.0
    room = 1e-9 * best.value
    assert sign * (best.value - found.value) >= -room, "no plan is better than the best of all"
    assert sign * (best.value - found.value) <= gap * best.value + room
    assert sign * (found.bound - best.value) >= -room


ALL = [(seed, kind, objective) for seed in range(SEEDS) for kind in KINDS for objective in OBJECTIVES]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[] if case[0] in QUICK[case[1:]] else pytest.mark.heavy, id="-".join(map(str, case)))
        for case in ALL
    ],
)
def test_best_plan_over_quarters_is_that_of_brute_force(case: Case) -> None:
    """Proves that the best staged plan is found, with its value exact, and that instances without one are told so.

    Budgets with and without carry-over, delivered power, lead times, prices that change, young racks, crews, shelves,
    racks bought before, growing jobs and targets: what the search leaves out, forgets or counts twice would show.
    """
    check(case, 1e-9)


@pytest.mark.heavy
@pytest.mark.parametrize("case", [pytest.param(case, id="-".join(map(str, case))) for case in ALL])
def test_a_gap_that_is_asked_holds(case: Case) -> None:
    """Proves that with a wide gap the search may end early but that its bound still holds."""
    check(case, 1e-2)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[] if case in QUICK_SCREENED else pytest.mark.heavy, id="-".join(map(str, case)))
        for case in ALL
    ],
)
def test_screening_of_candidates_loses_nothing(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that the steps meant for many candidates keep the best plan and a bound that holds.

    Small instances have few candidates, so that screening by reduced costs, first plans among those that promise most
    and zones that share their time are forced on them.
    """
    monkeypatch.setattr("spareopt.staging.search.FEW_COLUMNS", 0)
    check(case, 1e-3)


@pytest.mark.parametrize("seed", range(1, 4))
def test_zones_of_one_age_score_as_the_evaluator_says(seed: int) -> None:
    """Proves the brute force's own score of young racks, of fractions: at multiples of 1 it is the evaluator's."""
    data = random_instance(seed, "goodput")
    for design in data["designs"]:
        design["blocks_per_rack"] = 1
    domains = [("feed", "zone", "0.01 per day", "9 h"), ("grid", "site", "0.004 per day", "4 h")]
    data["failures"]["domains"] = [
        {"name": name, "spans": spans, "rate": rate, "repair": {"hands_on": hours}}
        for name, spans, rate, hours in domains
    ]
    data["economics"] = {}
    instance = read_instance(data)
    plans = {plan.name: plan for plan in instance.checkpoint_plans}
    every = list(all_decisions(instance))
    for decisions in every[:: max(1, len(every) // 8)]:
        stated = evaluate(instance, decisions)

        def parts(choice: ZoneChoice) -> tuple[Young, ...]:
            return (Young(1, 1.0, 1.0), Young(choice.racks - 1, 1.0, 1.0))

        placed = [
            (Built(choice.zone, choice.design, choice.racks, parts(choice)), choice) for choice in decisions.zones
        ]
        up, goodput, yearly = young_score(instance, placed, plans[decisions.checkpoint_plan], stated)
        assert up == pytest.approx(stated.availability, rel=1e-12)
        assert goodput == pytest.approx(stated.goodput, rel=1e-9)
        assert yearly == pytest.approx(stated.yearly_cost, rel=1e-12)


def best_of_one_quarter(data: dict[str, Any]) -> float | None:
    """The best single-period plan over all choices of zones that are built at all."""
    values = []
    for counts in product(*(range(zone.get("count", 1) + 1) for zone in data["zones"])):
        zones = [zone | {"count": count} for zone, count in zip(data["zones"], counts, strict=True) if count]
        if zones:
            with suppress(InfeasibleError):
                values.append(solve(read_instance(data | {"zones": zones}), gap=1e-7).certificate.value)
    if not values:
        return None
    return min(values) if data["objective"]["kind"] == "cost" else max(values)


ONE_QUARTER = [(seed, objective) for seed in range(60) for objective in OBJECTIVES]


@pytest.mark.parametrize(
    ("seed", "objective"),
    [pytest.param(*case, marks=[] if case in QUICK_QUARTERS else pytest.mark.heavy) for case in ONE_QUARTER],
)
def test_one_quarter_is_the_single_period_plan(seed: int, objective: str) -> None:
    """Proves that a horizon of one quarter has the value of the single-period optimum of the zones that are built.

    Times the hours of a quarter, or a quarter of the yearly cost; zones may be left out where that is better.
    """
    data = random_instance(seed, objective)
    data["economics"] = {}
    best = best_of_one_quarter(data)
    staged = read_instance(data | {"horizon": {"quarters": 1}})
    if best is None:
        with pytest.raises(InfeasibleError):
            solve_staged(staged, gap=1e-7)
        return
    expected = best / 4 if objective == "cost" else best * 8766 / 4
    assert solve_staged(staged, gap=1e-7).certificate.value == pytest.approx(expected, rel=3e-7)
