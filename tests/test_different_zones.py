"""Zones that all differ, against brute force: designs, sizes, speeds and rates of their own, every limit and goal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spareopt import InfeasibleError, marginal_analysis, read_instance, search, solve, solver
from spareopt.candidates import enumerate_candidates
from spareopt.comparison import objective_value
from spareopt.dominance import prune
from spareopt.evaluation import evaluate
from spareopt.instance import Instance
from spareopt.problem import build_problem
from spareopt.schemes import recovery_schemes
from tests.brute_force import best_value, number_of_plans
from tests.random_instances import OBJECTIVES, random_instance

MOST_PLANS = 400
QUICK, ALL = 5, 100  # instances per objective; the rest of the 100 run in the second tier
CASES = [
    pytest.param(objective, number, marks=[pytest.mark.heavy] if number >= QUICK else [])
    for objective in OBJECTIVES
    for number in range(ALL)
]
SPEEDS = (1.0, 0.95, 1.05)


def different_zones(seed: int, objective: str) -> dict[str, Any]:
    """A random cluster of three zones, each of a design of its own."""
    data = random_instance(seed, objective)
    rng = np.random.default_rng([seed, 7])
    first = data["designs"][0]
    designs, zones = [], []
    for z, (name, speed) in enumerate(zip(("north", "south", "west"), SPEEDS, strict=True)):
        own = {
            "name": f"of-{name}",
            "relative_tray_rate": float(rng.choice([0.5, 1.0, 3.0])),
            "intra_block_spares": [0, 1] if z == 0 or rng.random() < 0.5 else 0,
            "inter_block_spares": [0, 1] if z < 2 or rng.random() < 0.5 else 0,
            "rack_price": f"{rng.uniform(1, 4):.3f} M$",
        }
        designs.append(first | own)
        racks = int(rng.integers(2, 5))
        zones.append({"name": name, "racks": racks, "designs": [own["name"]], "relative_speed": speed})
    scale = sum(zone["racks"] for zone in zones) / sum(4 * zone["count"] for zone in data["zones"])
    limits: dict[str, Any] = {}
    for name, value in data["limits"].items():
        if isinstance(value, str):  # money and power, in proportion to the racks
            number, unit = value.split(" ", 1)
            limits[name] = f"{float(number) * scale:.5f} {unit}"
        elif isinstance(value, dict):
            limits[name] = {end: max(1, round(bound * scale)) for end, bound in value.items()}
        else:
            limits[name] = value if name == "availability" else max(1, round(value * scale))
    domains = data["failures"]["domains"]
    data["failures"]["domains"] = [domain for domain in domains if domain["spans"] in ("zone", "site")]
    data.pop("placement_group", None)
    if objective == "cost":
        data["objective"]["goodput_target"] *= scale
    return data | {"designs": designs, "zones": zones, "limits": limits}


def small_instance(objective: str, number: int) -> Instance:
    """The ``number``-th random instance of an objective with enough plans to choose from, and few enough to try all."""
    for attempt in range(1000):
        instance = read_instance(different_zones(1000 * number + attempt, objective))
        if 30 < number_of_plans(instance) <= MOST_PLANS:
            return instance
    raise AssertionError("no small instance found")


@pytest.mark.parametrize(("objective", "number"), CASES)
def test_different_zones_equal_brute_force(objective: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that no reduction loses the optimum where zones differ, down to the last digit.

    Screening is forced on (3 candidates count as many) and its linear relaxations start from a single column, so that
    pieces and candidates are left out by reduced costs of columns that came in one by one.  Marginal analysis is
    feasible and no better than the optimum.  A wrong reduced cost, a case closed too soon or a column that should have
    come in would cut the optimum off.
    """
    instance = small_instance(objective, number)
    best = best_value(instance)
    monkeypatch.setattr(search, "FEW_CANDIDATES", 3)
    monkeypatch.setattr(solver, "MANY_COLUMNS", 4)
    monkeypatch.setattr(marginal_analysis, "MANY", 3)
    if best is None:
        with pytest.raises(InfeasibleError):
            solve(instance, gap=0.0)
        return
    plan = solve(instance, gap=0.0)
    certificate = plan.certificate
    assert certificate.status == "proven"
    assert certificate.value == pytest.approx(best, rel=1e-12)
    if plan.greedy is not None:
        greedy = evaluate(instance, plan.greedy.decisions)
        assert not greedy.violated
        value = objective_value(instance, greedy)
        assert value == pytest.approx(plan.greedy.value, rel=1e-9)
        worse = certificate.value - value if certificate.sense == "maximise" else value - certificate.value
        assert worse == pytest.approx(plan.greedy.loss * abs(best), abs=1e-9 * abs(best))
        assert plan.greedy.loss >= 0


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(4))
def test_hopeless_candidates_do_not_end_marginal_analysis(
    objective: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that designs that are as good as never up, ln A = −∞, are passed over: the optimum is that of brute force.

    Each zone may also take its design with a thousand times the faults, for half the price: where most candidates are
    worthless the cheapest start is, and no difference to it may become infinite or undefined.
    """
    monkeypatch.setattr(marginal_analysis, "MANY", 3)
    for attempt in range(200):
        data = different_zones(5000 + 100 * seed + attempt, objective)
        bad = [design | {"name": f"bad-{design['name']}", "relative_tray_rate": 1e3} for design in data["designs"]]
        for design in bad:
            design["rack_price"] = f"{float(design['rack_price'].split()[0]) / 2:.3f} M$"
        zones = [zone | {"designs": [*zone["designs"], f"bad-{zone['designs'][0]}"]} for zone in data["zones"]]
        instance = read_instance(data | {"designs": [*data["designs"], *bad], "zones": zones})
        if 100 < number_of_plans(instance) <= 2 * MOST_PLANS and (best := best_value(instance)) is not None:
            break
    plan = solve(instance, gap=0.0)
    assert plan.certificate.value == pytest.approx(best, rel=1e-12)
    assert plan.greedy is None or plan.greedy.loss >= 0


@pytest.mark.parametrize("seed", range(6))
def test_marginal_analysis_of_a_class_is_that_of_its_zones(seed: int) -> None:
    """Proves that zones stated as a class of three climb as three zones stated one by one: to the same goodput.

    If only one kind of zone of a class could change, a class would be stuck where its zones by themselves are not.
    """
    data = different_zones(900 + seed, "goodput")
    data["designs"] = [design | {"inter_block_spares": [0, 1, 2]} for design in data["designs"]]
    data["zones"] = [zone | {"racks": {"from": 3, "to": 6}} for zone in data["zones"]]
    bounds = sum(6 * float(design["rack_price"].split()[0]) for design in data["designs"])
    data["limits"] = {"capital": f"{3 * 0.8 * bounds:.4f} M$"}
    classes = read_instance(data | {"zones": [zone | {"count": 3} for zone in data["zones"]]})
    alone = read_instance(
        data | {"zones": [zone | {"name": f"{zone['name']}-{i}"} for zone in data["zones"] for i in range(3)]}
    )
    reached = []
    for instance in (classes, alone):
        candidates = enumerate_candidates(instance)
        schemes = recovery_schemes(instance, "exact")
        problem = build_problem(candidates, prune(candidates, schemes), schemes)
        plan = marginal_analysis.greedy(problem)
        assert plan is not None
        reached.append(plan.goodput)
    assert reached[0] == pytest.approx(reached[1], rel=1e-9)
