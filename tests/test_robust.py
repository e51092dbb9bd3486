"""Robust plans against brute force, the over-estimate of the exponential, and what is refused."""

from __future__ import annotations

import json
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from pydantic import BaseModel

import spareopt
from spareopt import cli
from spareopt.clock import Clock
from spareopt.errors import InfeasibleError, InputError
from spareopt.evaluation import evaluate
from spareopt.formulations.robust import Robust, Scenario, build, secant
from spareopt.formulations.selection import Selection
from spareopt.instance import Instance
from spareopt.measures import CRITERIA, Criterion, Measure
from spareopt.reading import read_instance
from spareopt.relaxation import pessimistic_log_goodput
from spareopt.robust import ComparedPlan, RobustCertificate, RobustComparison, RobustPlan, ScenarioScore
from spareopt.robust_search import common_table, split
from spareopt.scenarios import Weight, nominal, weighted_scenarios
from spareopt.solver import Status, solve_milp
from tests.brute_force import all_decisions, number_of_plans
from tests.coupled_instances import coupled_instance
from tests.random_instances import random_instance
from tests.test_docs import table

ALPHA = 0.4
MOST_PLANS = 300


def three_scenarios(seed: int) -> dict[str, Weight]:
    """The instance as it stands, with more faults, and with slower repair and a tighter availability or power."""
    rng = np.random.default_rng(seed)
    faults = {"failures.tray.mtbf": f"{rng.uniform(0.2, 0.8):.3f}x", "failures.rack.mtbf": "0.5x"}
    slow: dict[str, Any] = {"repair_plans.slow.tray.hands_on": f"{rng.uniform(1.5, 4):.3f}x"}
    if seed % 3 == 0:
        slow["limits.site_power"] = f"{rng.uniform(300, 900):.1f} kW"
    if seed % 3 == 1:
        slow["power.energy_price"] = "3x"
    return {"nominal": 0.5, "faulty": (0.3, faults), "slow": (0.2, slow)}


def brute_force(instance: Instance, weights: dict[str, Weight], alpha: float) -> dict[str, float] | None:
    """The best of each criterion over every plan that meets every limit in every scenario, by the evaluator alone."""
    scenarios = weighted_scenarios(instance, weights)
    measures = [Measure(name, tuple(s.weight for s in scenarios), alpha) for name in CRITERIA]
    best: dict[str, float] = {}
    for decisions in all_decisions(instance):
        goodputs = []
        for scenario in scenarios:
            try:
                evaluation = evaluate(scenario.instance, decisions)
            except InputError:
                break
            if evaluation.violated:
                break
            goodputs.append(evaluation.goodput)
        else:
            for measure in measures:
                best[measure.criterion] = max(best.get(measure.criterion, 0.0), measure.of(goodputs))
    return best or None


def check_against_brute_force(seed: int) -> str:
    """Compare all three criteria of a random instance with brute force; says what the instance was."""
    instance = read_instance(random_instance(seed, "goodput"))
    if number_of_plans(instance) > MOST_PLANS:
        return "too many plans"
    weights = three_scenarios(seed)
    expected = brute_force(instance, weights, ALPHA)
    if expected is None:
        with pytest.raises(InfeasibleError):
            spareopt.solve_robust(instance, weights, gap=1e-6)
        return "infeasible"
    found = spareopt.compare_robust(instance, weights, alpha=ALPHA, gap=1e-6)
    for plan in found.plans[-3:]:
        name: Criterion = plan.name  # type: ignore[assignment]
        value = getattr(plan, name)
        assert plan.status == "proven", (seed, name)
        assert value == pytest.approx(expected[name], rel=1e-6), (seed, name)
    certificate = found.plan.certificate
    assert certificate.bound >= expected["expected"] * (1 - 1e-12) and certificate.gap <= 1e-6
    return "solved"


QUICK_SEEDS = (2, 8, 43, 81)
"""Small instances with a plan; the others run in the second tier."""


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed in QUICK_SEEDS else pytest.mark.heavy) for seed in range(110)]
)
def test_best_of_each_criterion_is_that_of_brute_force(seed: int) -> None:
    """Proves that all three criteria choose the best single plan over three scenarios, and that the bound holds.

    Brute force scores every plan in every scenario by the evaluator.  A candidate pruned because it is dominated in
    one scenario only, a limit checked in one scenario only, or a secant below its exponential would lose the best.
    """
    if check_against_brute_force(seed) == "too many plans":
        pytest.skip("too many plans for brute force")


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("across", 5000),
        pytest.param("across", 5003, marks=pytest.mark.heavy),
        pytest.param("uncertain", 5000, marks=pytest.mark.heavy),
        pytest.param("uncertain", 5003, marks=pytest.mark.heavy),
        pytest.param("guarantee", 5001, marks=pytest.mark.heavy),
        pytest.param("two-level", 5003, marks=pytest.mark.heavy),
        pytest.param("zone-shelf", 5003, marks=pytest.mark.heavy),
        pytest.param("window", 5000, marks=pytest.mark.heavy),
    ],
)
def test_what_couples_zones_is_bounded_in_every_scenario(kind: str, seed: int) -> None:
    """Proves that the bound holds where zones share domains or uncertain rates, and that what is proven is best."""
    instance = read_instance(coupled_instance(kind, seed, "goodput"))
    faults = {"failures.tray.mtbf": "0.4x"}
    weights: dict[str, Weight] = {"nominal": 0.5, "faulty": (0.3, faults), "good": (0.2, {"failures.tray.mtbf": "2x"})}
    expected = brute_force(instance, weights, ALPHA)
    assert expected is not None
    for criterion in CRITERIA:
        plan = spareopt.solve_robust(instance, weights, criterion=criterion, alpha=ALPHA, gap=1e-6)
        certificate = plan.certificate
        assert certificate.bound >= expected[criterion] * (1 - 1e-12) >= certificate.value * (1 - 2e-12)
        if certificate.status == "proven":
            assert certificate.value == pytest.approx(expected[criterion], rel=1e-6)


@pytest.mark.parametrize("factor", ["0.02x", "0.002x"])
def test_a_scenario_may_be_lost(factor: str) -> None:
    """Proves that the best mean is found where a scenario of small weight leaves next to no goodput, down to 1e-16.

    A floor under what a plan must do in every scenario would cut that plan off.
    """
    instance = read_instance(random_instance(2, "goodput"))
    faults = ({"failures.tray.mtbf": factor}, {"failures.tray.mtbf": "0.3x"})
    weights: dict[str, Weight] = {"nominal": 0.9, "lost": (0.07, faults[0]), "bad": (0.03, faults[1])}
    expected = brute_force(instance, weights, 1.0)
    assert expected is not None
    plan = spareopt.solve_robust(instance, weights, gap=0.0)
    assert plan.scores[1].goodput is not None and plan.scores[1].goodput < 1e-3
    assert plan.certificate.value == pytest.approx(expected["expected"], rel=1e-12)
    assert plan.certificate.bound >= expected["expected"] * (1 - 1e-12)


def test_one_scenario_is_a_plain_solve() -> None:
    """Proves that over the nominal scenario alone every criterion has the optimum of a plain solve, without regret."""
    instance = read_instance(random_instance(43, "goodput"))
    best = spareopt.solve(instance, gap=1e-6).certificate.value
    found = spareopt.compare_robust(instance, {"nominal": 1.0}, criterion="cvar", gap=1e-6)
    assert found.plan.certificate.value == pytest.approx(best, rel=1e-6)
    assert found.loss_in_nominal == pytest.approx(0.0, abs=1e-6)
    assert found.gain_in_worst == pytest.approx(0.0, abs=1e-6)


def test_secants_are_above_the_exponential() -> None:
    """Proves that the over-estimate of exp is nowhere below it, sampled densely, and meets it at both ends.

    Ranges from 1e-9 to 100 wide; a secant too low anywhere would make the MILP's value no bound.
    """
    rng = np.random.default_rng(0)
    for width in (0.0, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 20.0, 100.0):
        for high in (0.0, *rng.uniform(-30, 0, 20)):
            low = high - width
            slope, intercept = secant(low, high)
            points = np.linspace(low, high, 2001)
            assert (slope * points + intercept >= np.exp(points)).all()
            for end in (low, high):
                assert slope * end + intercept == pytest.approx(np.exp(end), abs=1e-9 * np.exp(high))


def random_selections(rng: np.random.Generator) -> list[Selection]:
    """Three scenarios of two groups (one and two members, three candidates each) with log-values of their own."""
    group = np.repeat([0, 1], 3)
    return [
        Selection(
            group=group, members=(1, 2), log_value=rng.normal(0, 0.4, 6), constant=float(rng.normal()), goal="value"
        )
        for _ in range(3)
    ]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(4))
def test_formulation_against_enumeration(criterion: Criterion, seed: int) -> None:
    """Proves that the model's optimum is the best of all choices where the pieces' edges are their log-values.

    With pieces only at the ends it must not be below it.  Weights that are lost, a shortfall of the wrong sign or
    pieces that do not meet would show.
    """
    rng = np.random.default_rng(seed)
    selections, weights = random_selections(rng), (0.5, 0.3, 0.2)
    measure = Measure(criterion, weights, ALPHA)
    choices = [
        np.bincount([a, *pair], minlength=6) for a in range(3) for pair in combinations_with_replacement(range(3, 6), 2)
    ]
    logs = np.array([[s.constant + s.log_value @ n for s in selections] for n in choices])
    best = max(measure.of(np.exp(row)) for row in logs)
    common, own = split(selections)
    for fine in (False, True):
        scenarios = []
        for s in range(3):
            ends = (float(logs[:, s].min()) - 0.1, float(logs[:, s].max()) + 0.1)
            inner = sorted({float(x) for x in logs[:, s]}) if fine else []
            scenarios.append(Scenario(weights[s], own[s], (ends[0], *inner, ends[1])))
        unit = float(logs.max())
        model = build(Robust(common, tuple(scenarios), criterion, ALPHA, unit))
        record = solve_milp(model)
        assert record.status is Status.OPTIMAL and record.objective is not None
        value = np.exp(record.objective + unit) if criterion == "worst" else record.objective * np.exp(unit)
        assert value >= best * (1 - 1e-6)
        if fine:
            assert value == pytest.approx(best, rel=1e-6)


def test_measures_by_hand() -> None:
    """Proves: of 10, 4 and 8 with weights 0.5, 0.3, 0.2 the mean is 7.8, the least 4, the worst 40 % are 5."""
    weights, goodputs = (0.5, 0.3, 0.2), (10.0, 4.0, 8.0)
    assert Measure("expected", weights).of(goodputs) == pytest.approx(7.8)
    assert Measure("worst", weights).of(goodputs) == 4.0
    assert Measure("cvar", weights, 0.4).of(goodputs) == pytest.approx(5.0)
    assert Measure("cvar", weights, 1.0).of(goodputs) == pytest.approx(7.8)
    assert Measure("cvar", weights, 0.3).of(goodputs) == pytest.approx(4.0)


@pytest.mark.parametrize("seed", range(20))
def test_conditional_value_at_risk_is_the_best_threshold(seed: int) -> None:
    """Proves that the mean of the worst share is max ζ − E[(ζ − g)+]/α, Rockafellar and Uryasev's, over all g as ζ."""
    rng = np.random.default_rng(seed)
    weights, goodputs, alpha = rng.dirichlet(np.ones(5)), rng.uniform(0, 100, 5), float(rng.uniform(0.02, 1))
    by_threshold = max(zeta - weights @ np.maximum(zeta - goodputs, 0) / alpha for zeta in goodputs)
    assert Measure("cvar", tuple(weights), alpha).of(goodputs) == pytest.approx(by_threshold)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_least_goodput_of_interest(criterion: Criterion) -> None:
    """Proves that with less than the least goodput in a scenario no goodputs of the others reach the target."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        measure = Measure(criterion, tuple(rng.dirichlet(np.ones(4))), float(rng.uniform(0.1, 1)))
        most = rng.uniform(50, 100, 4)
        target = float(rng.uniform(0.3, 1.0)) * measure.of(most)
        for s in range(4):
            least = measure.least(s, most, target)
            here = most.copy()
            here[s] = least * (1 + 1e-9)
            assert measure.of(here) >= target * (1 - 1e-9)
            here[s] = least * (1 - 1e-6)
            assert least == 0.0 or measure.of(here) < target


@pytest.mark.parametrize("seed", [0, 2, 3, 5, 8, 43])
def test_nothing_is_below_the_pessimistic_goodput(seed: int) -> None:
    """Proves that random plans have at least the goodput from which the lowest piece of a scenario starts."""
    instance = read_instance(random_instance(seed, "goodput"))
    table = common_table([nominal(instance)], "exact", lambda _: None, Clock())
    problem = table.problems[0]
    rng = np.random.default_rng(seed)
    for _ in range(20):
        counts = {int(rng.choice(np.flatnonzero(problem.group == z))): m for z, m in enumerate(problem.members)}
        outcome = problem.outcome(counts, int(rng.integers(len(problem.schemes))))
        assert outcome.score >= pessimistic_log_goodput(problem) - 1e-9


def test_limits_that_clash_between_scenarios() -> None:
    """Proves that scenarios with a plan each but none in common are infeasible, naming what breaks where."""
    instance = read_instance(random_instance(2, "goodput"))
    best = spareopt.solve(instance).evaluation.working_gpus
    weights: dict[str, Weight] = {
        "large": (0.5, {"limits.working_gpus": {"minimum": best}}),
        "small": (0.5, {"limits.working_gpus": {"maximum": best - 1}}),
    }
    with pytest.raises(InfeasibleError, match=r"best of large breaks working_gpus\.maximum in small"):
        spareopt.solve_robust(instance, weights)


def test_a_scenario_without_a_plan_is_named() -> None:
    """Proves that a scenario which is infeasible by itself is said to be so, by name."""
    instance = read_instance(random_instance(2, "goodput"))
    weights: dict[str, Weight] = {"nominal": 0.5, "poor": (0.5, {"limits.capital": "1 k$"})}
    with pytest.raises(InfeasibleError, match=r"scenario poor: limits\.capital"):
        spareopt.solve_robust(instance, weights)


def with_change(**changes: Any) -> dict[str, Weight]:
    return {"nominal": 0.5, "other": (0.5, {path.replace("__", "."): value for path, value in changes.items()})}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "at least one scenario"),
        ({"nominal": 0.4, "half": 0.4}, r"sum to 0.8; expected 1"),
        ({"half": 0.4}, r"sum to 0.4; expected 1; give the rest to nominal=0.6"),
        ({"nominal": 1.2}, r"sum to 1.2"),
        ({"nominal": 1.0, "half": 0.0}, r"scenarios.half: the weight is 0.0; expected a number above 0"),
        ({"nominal": float("nan")}, "expected a number above 0"),
        ({"nominal": 0.5, "hlaf": 0.5}, r"scenarios.hlaf: no such scenario; expected one of nominal, half"),
        ({"half": (1.0, {"limits.floor": 3})}, "has changes already"),
        (with_change(zones__north__racks=2), "zones.north.racks: is "),
        (with_change(designs__a__intra_block_spares=0), "scenario other: designs.a.intra_block_spares"),
        (with_change(checkpoint_plans__given__period="20 min"), "checkpoint_plans.given.period"),
        (with_change(designs__a__power__gpu_limits=["500 W"]), "power.gpu_limits: is "),
        (with_change(objective__kind="goodput_per_dollar"), "objective.kind: is goodput_per_dollar"),
        (with_change(failures__tray__mtbf="0x"), r"scenario other"),
    ],
)
def test_what_is_refused(weights: dict[str, Weight], message: str) -> None:
    """Proves that weights and scenarios that make no sense, or change what is decided, are refused by field."""
    data = random_instance(3, "goodput")
    data["scenarios"] = {"half": {"overrides": {"failures.tray.mtbf": "0.5x"}}}
    data["checkpoint_plans"] = [
        {"name": "given", "period": "30 min", "save": "1 min", "detection": "1 min", "restart": "10 min"}
    ]
    with pytest.raises(InputError, match=message):
        spareopt.solve_robust(read_instance(data), weights)


@pytest.mark.parametrize("objective", ["cost", "goodput_per_dollar"])
def test_other_objectives_are_refused(objective: str) -> None:
    """Proves that a robust cost or ratio, whose meaning is not settled, is refused with what to do instead."""
    with pytest.raises(InputError, match="for goodput only; state kind: goodput"):
        spareopt.solve_robust(read_instance(random_instance(2, objective)), {"nominal": 1.0})


@pytest.mark.parametrize(("kind", "field"), [("site-crews", "repair_plans"), ("replicas", "checkpoint_plans")])
def test_what_zones_share_is_refused(kind: str, field: str) -> None:
    """Proves that crews of the site and replica plans beside others are refused, by field."""
    instance = read_instance(coupled_instance(kind, 5000, "goodput"))
    with pytest.raises(InputError, match=f"{field}: .*can't be decided over scenarios"):
        spareopt.solve_robust(instance, {"nominal": 1.0})


@pytest.mark.parametrize("option", [{"criterion": "best"}, {"alpha": 0.0}, {"alpha": 1.5}, {"gap": 1.0}])
def test_options_out_of_range(option: dict[str, Any]) -> None:
    """Proves that a criterion, share or gap that does not exist is refused by its name."""
    with pytest.raises(ValueError, match=next(iter(option))):
        spareopt.solve_robust(read_instance(random_instance(2, "goodput")), {"nominal": 1.0}, **option)


def test_same_bytes_and_read_back(tmp_path: Path) -> None:
    """Proves that two runs give the same bytes, that a folder reads back equal, and that its decisions are a plan."""
    instance = read_instance(random_instance(43, "goodput"))
    weights = three_scenarios(43)
    first, second = (spareopt.compare_robust(instance, weights, criterion="worst") for _ in range(2))
    assert first.to_json() == second.to_json()
    folder = spareopt.write_robust(first, instance, tmp_path / "robust")
    assert spareopt.read_robust(folder) == first
    assert spareopt.read_decisions(folder / "decisions.json") == first.plan.decisions
    assert list(first.table().columns) == ["plan", "scenario", "weight", "goodput_gpus", "regret", "breaks"]
    (folder / "robust.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="is not a robust plan"):
        spareopt.read_robust(folder)


def test_regret_is_against_the_best_known() -> None:
    """Proves that each scenario's own optimum has no regret in it, no plan a negative one; scores are exact."""
    instance = read_instance(random_instance(43, "goodput"))
    weights = three_scenarios(43)
    found = spareopt.compare_robust(instance, weights, gap=1e-6)
    scenarios = {s.name: s.instance for s in weighted_scenarios(instance, weights)}
    for plan in found.plans:
        for score in plan.scores:
            assert score.goodput == evaluate(scenarios[score.scenario], plan.decisions).goodput
            assert score.regret is None or score.regret >= 0.0
            if plan.name == f"optimum of {score.scenario}":
                assert score.regret == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("model", [RobustComparison, RobustPlan, RobustCertificate, ComparedPlan, ScenarioScore])
def test_page_has_every_json_field(model: type[BaseModel]) -> None:
    """Proves that docs/robust.md lists each field of the results, with a unit and words."""
    rows = table("robust.md", model.__name__)
    assert [row[0] for row in rows] == [f"`{name}`" for name in model.model_fields]
    assert all(len(row) == 3 and row[1] and len(row[2]) > 5 for row in rows)


@pytest.fixture
def case(tmp_path: Path) -> str:
    """A small instance file with a scenario."""
    data = random_instance(43, "goodput")
    data["scenarios"] = {"half": {"overrides": {"failures.tray.mtbf": "0.5x"}}}
    file = tmp_path / "case.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    return str(file)


def test_command_prints_json_and_writes_a_folder(case: str, tmp_path: Path) -> None:
    """Proves that --json prints the comparison alone, and -o writes the same, with the options as they are typed."""
    folder = tmp_path / "out"
    arguments = ["robust", case, "--scenario-weights", "half=25%, nominal=3/4", "--criterion", "cvar", "--alpha", "0.5"]
    result = CliRunner().invoke(cli.main, [*arguments, "--json", "-o", str(folder)])
    assert result.exit_code == 0, result.output
    found = RobustComparison.model_validate_json(result.stdout)
    assert found.plan.certificate.criterion == "cvar" and found.alpha == 0.5
    assert [(score.scenario, score.weight) for score in found.plan.scores] == [("half", 0.25), ("nominal", 0.75)]
    assert result.stdout == (folder / "robust.json").read_text(encoding="utf-8")
    again = CliRunner().invoke(cli.main, [*arguments, "-o", str(folder)])
    assert again.exit_code == 2 and "already exists" in again.output


def test_command_shows_every_plan_and_the_next_step(case: str) -> None:
    """Proves that the text has each plan and scenario, the price, and ends with a command that can be typed."""
    result = CliRunner().invoke(cli.main, ["robust", case, "--scenario-weights", "half=1", "--criterion", "worst"])
    assert result.exit_code == 0, result.output
    for words in ("optimum of nominal", "optimum of half", "> worst", "Price of robustness", "Only looked at"):
        assert words in result.output
    assert result.output.splitlines()[-1].startswith("Next: spareopt robust ")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("half", "expected NAME=WEIGHT"),
        ("half=0.5,half=0.5", "half is given twice"),
        ("half=much", "expected a weight such as 0.25, 25% or 1/4, got 'much'"),
        ("half=1/0", "expected a weight"),
        ("half=0.5", "give the rest to nominal=0.5"),
        ("", "at least one scenario"),
        ("half=.6,nominal=.4,,", "expected NAME=WEIGHT such as nominal=0.5, got ''"),
        ("half=1,", "expected NAME=WEIGHT"),
        (",half=1", "expected NAME=WEIGHT"),
        (",", "expected NAME=WEIGHT"),
    ],
)
def test_command_refuses_bad_weights(case: str, weights: str, message: str) -> None:
    """Proves that weights that can't be read end with one message and exit code 2."""
    result = CliRunner().invoke(cli.main, ["robust", case, "--scenario-weights", weights])
    assert result.exit_code == 2 and message in result.output
    assert len(result.output.strip().splitlines()) == 1
