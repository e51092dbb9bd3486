"""The best plan with all zones alike: against brute force, against the best of all plans, and in curves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from math import prod
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import spareopt
from spareopt import candidates as scoring
from spareopt import cli, optimise, plan_scores
from spareopt.clock import Clock
from spareopt.curve_text import frontier_text, marginal_text, tornado_text
from spareopt.errors import InfeasibleError, LimitError, StoppedError
from spareopt.exposure import tornado
from spareopt.instance import Instance
from spareopt.instances import names
from spareopt.intervals import uncertain_inputs
from spareopt.marginal import marginal_values
from spareopt.plan import ALL_PLANS, ZONES_ALIKE, Plan
from spareopt.plan_text import plan_text
from spareopt.reading import read_instance
from spareopt.what_if import changed
from tests.brute_force import zone_choices
from tests.coupled_instances import KINDS, coupled_instance
from tests.random_instances import OBJECTIVES, random_instance
from tests.test_near_optimal import alike, scored

QUICK = ("tpu-like", "academic-1k")
SHIPPED = [name if name in QUICK else pytest.param(name, marks=pytest.mark.heavy) for name in names()]
SMALL = "h100-16k-llama3"  # zones of it are best built differently


def several(instance: Instance) -> bool:
    return any(zone.count > 1 for zone in instance.zones)


def best_alike(instance: Instance) -> float | None:
    """The best objective of the plans that build all zones of a class alike, by the evaluator alone."""
    pick = min if instance.objective.kind == "cost" else max
    return pick((value for value, _ in scored(instance, alike(instance))), default=None)


def by_enumeration(instance: Instance) -> Plan:
    return spareopt.solve(instance, alike=True)


def by_milp(instance: Instance) -> Plan:
    """What solve falls back to."""
    asked = optimise._Asked(instance, 1e-4, None, 0, "exact", False, True, None)
    return optimise._by_milp(asked, Clock(None), lambda _: None)


def check(instance: Instance, best: float | None, solve: Callable[[Instance], Plan] = by_enumeration) -> Plan | None:
    if best is None:
        with pytest.raises(InfeasibleError):
            solve(instance)
        return None
    plan = solve(instance)
    c = plan.certificate
    sign = -1.0 if c.sense == "minimise" else 1.0
    assert c.among == ZONES_ALIKE and [choice.zone for choice in plan.decisions.zones] == [
        z.name for z in instance.zones
    ]
    assert [choice.count for choice in plan.decisions.zones] == [zone.count for zone in instance.zones]
    assert sign * c.value <= sign * best * (1 + sign * 1e-9) and sign * c.bound >= sign * best * (1 - sign * 1e-9)
    return plan


def small_instances(
    most: int, seeds: Iterable[int], kind: str | None = None, objective: str = "goodput"
) -> list[Instance]:
    """Random instances in which a class has several zones, with few plans that build zones alike."""
    made = []
    for seed in seeds:
        data = random_instance(seed, objective) if kind is None else coupled_instance(kind, seed, objective)
        instance = read_instance(data)
        plans = len(instance.checkpoint_plans) * prod(len(zone_choices(instance, zone)) for zone in instance.zones)
        if several(instance) and plans <= most:
            made.append(instance)
    return made


def check_all(instances: list[Instance], solve: Callable[[Instance], Plan] = by_enumeration) -> list[Plan]:
    """The plans of instances, each checked against brute force."""
    plans = [check(instance, best_alike(instance), solve) for instance in instances]
    return [plan for plan in plans if plan is not None]


@pytest.mark.parametrize(
    ("objective", "seeds"),
    [("goodput", (34, 61, 23, 30, 47)), ("cost", (31, 52, 9, 37)), ("goodput_per_dollar", (38, 50, 8, 77, 139))],
)
def test_it_is_the_best_by_brute_force(objective: str, seeds: tuple[int, ...]) -> None:
    """Proves that the plan is the best of those with zones alike, and proven to the last digit, or that none is."""
    instances = small_instances(150, seeds, objective=objective)
    plans = check_all(instances)
    assert {len(instance.zones) for instance in instances} == {1, 2} and plans
    assert all(plan.certificate.status == "proven" and plan.certificate.gap == 0 for plan in plans)


@pytest.mark.heavy
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_it_is_the_best_of_more_instances(objective: str) -> None:
    """Proves the same of many more."""
    assert len(check_all(small_instances(600, range(80), objective=objective))) > 10


@pytest.mark.parametrize("kind", ["site-crews", "site-shelf", "uncertain", "across", "shrink"])
def test_it_is_the_best_where_zones_share(kind: str) -> None:
    """Proves the same where zones share crews, a shelf, domains or the uncertainty of rates."""
    plans = check_all(small_instances(24, range(16), kind))
    assert plans and all(plan.certificate.gap == 0 for plan in plans)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_best_whatever_zones_share(kind: str) -> None:
    """Proves the same of every feature and objective, two zone classes too."""
    for objective in OBJECTIVES:
        check_all(small_instances(150, range(16), kind, objective))


@pytest.mark.parametrize(
    ("objective", "seeds"), [("goodput", (34, 23, 47)), ("cost", (31, 52, 37)), ("goodput_per_dollar", (38, 77, 139))]
)
def test_the_milp_that_takes_over_finds_the_same(objective: str, seeds: tuple[int, ...]) -> None:
    """Proves that classes merged to one large zone each give a plan within the gap, and a bound that is true."""
    plans = check_all(small_instances(150, seeds, objective=objective), by_milp)
    assert plans and all(plan.certificate.gap <= 1e-4 for plan in plans)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", sorted({*KINDS} - {"site-crews", "site-shelf", "working", "computing"}))
def test_the_milp_finds_the_same_whatever_zones_share(kind: str) -> None:
    """Proves that merging is exact in every state of the environment, for all but shared crews and shelves."""
    for objective in OBJECTIVES:
        check_all(small_instances(80, range(16), kind, objective), by_milp)


def test_the_milp_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that classes whose plans take too many steps to walk through are still proven."""
    data = read_instance(SMALL).resolved()
    pod = data["zones"][0]
    data["zones"] = [pod | {"name": name, "count": 4, "racks": [256, 260, 262]} for name in ("east", "west")]
    instance = read_instance(data)
    walked = spareopt.solve(instance, alike=True)
    monkeypatch.setattr(optimise, "EFFORT", 0)
    monkeypatch.setattr("spareopt.enumerated.LEAST_STEPS", 0)
    solved = spareopt.solve(instance, alike=True)
    assert walked.certificate.gap == 0 and solved.certificate.status == "proven" and solved.candidates.dominated > 0
    assert walked.certificate.value <= solved.certificate.value <= walked.certificate.value * (1 + 1e-4)
    assert solved.certificate.bound <= walked.certificate.value


def test_an_effort_that_ends_leaves_a_true_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that where a shelf is shared, so that no MILP takes over, what is found in time comes with a bound."""
    monkeypatch.setattr(optimise, "EFFORT", 0)
    monkeypatch.setattr("spareopt.enumerated.LEAST_STEPS", 0)
    (instance,) = small_instances(150, (0,), "site-shelf")
    try:
        plan = check(instance, best_alike(instance))
    except LimitError as error:
        assert "effort" in str(error)
    else:
        assert plan is not None and plan.certificate.status == "limit reached" and plan.certificate.gap > 0


@pytest.mark.parametrize("name", SHIPPED)
def test_against_the_best_of_all_plans(name: str) -> None:
    """Proves that no plan with zones alike beats the bound of all, and that it is the one that such a plan names."""
    instance = read_instance(name)
    whole, same = spareopt.solve(instance), spareopt.solve(instance, alike=True)
    sign = -1.0 if whole.certificate.sense == "minimise" else 1.0
    assert sign * same.certificate.value <= sign * whole.certificate.bound
    assert sign * same.certificate.bound >= sign * same.certificate.value
    if whole.zones_alike is not None:
        assert whole.zones_alike.value == pytest.approx(same.certificate.value, rel=1e-12)
        assert whole.zones_alike.decisions == same.decisions
    else:
        assert same.certificate.value == pytest.approx(whole.certificate.value, rel=1e-4)


def test_a_class_of_one_zone_has_no_other_plans() -> None:
    """Proves that where every class has one zone the proof is of all plans, and the value that of the MILP."""
    for seed in range(8):
        instance = read_instance(random_instance(seed, "goodput"))
        if several(instance):
            continue
        try:
            whole = spareopt.solve(instance, gap=0)
        except InfeasibleError as error:
            with pytest.raises(InfeasibleError) as same:
                spareopt.solve(instance, gap=0, alike=True)
            assert str(same.value) == str(error)
            continue
        plan = spareopt.solve(instance, gap=0, alike=True)
        assert plan.certificate.among == ALL_PLANS and plan.certificate.status == "proven"
        assert plan.certificate.value == pytest.approx(whole.certificate.value, rel=1e-12)


def test_what_no_plan_meets_is_told_as_by_solve() -> None:
    """Proves that a limit out of reach is told in the same words, and one of zones alike alone in its own."""
    short = read_instance("gb200-4x256", overrides={"limits.capital": "3 G$"})
    messages = []
    for same in (False, True):
        with pytest.raises(InfeasibleError) as error:
            spareopt.solve(short, alike=same)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    each = sorted(set(scoring.enumerate_candidates(read_instance("tpu-like")).table["working_gpus"]))
    odd = int(7 * each[-2] + each[-1])  # of 8 zones
    limits = {"limits.working_gpus": {"minimum": odd, "maximum": odd}}
    instance = read_instance("tpu-like", overrides=limits)
    assert odd / 8 not in each and spareopt.solve(instance).evaluation.working_gpus == odd
    with pytest.raises(InfeasibleError, match="with all zones of a class alike, the limits"):
        spareopt.solve(instance, alike=True)
    with pytest.raises(InfeasibleError, match="with all zones of a class alike"):
        spareopt.solve(read_instance(SMALL, overrides={"objective.goodput_target": 1e6}), alike=True)


def test_the_certificate_says_what_it_is_of(tmp_path: Path) -> None:
    """Proves that text, JSON, folder and options tell that the proof is of plans with zones alike."""
    instance = read_instance(SMALL)
    plan = spareopt.solve(instance, alike=True)
    text = " ".join(plan_text(plan, instance).split())
    assert "proven within 0 %, among plans with zones alike" in text
    assert "no plan of this instance that builds all zones of a class alike costs less than" in text
    assert "by enumeration. Candidates: 8,415 scored, none left out." in text
    assert plan.provenance.options["alike"] is True
    spareopt.write_plan(plan, instance, tmp_path / "plan")
    assert spareopt.read_plan(tmp_path / "plan") == plan
    assert len(pd.read_csv(tmp_path / "plan" / "candidates.csv")) == plan.candidates.enumerated
    single = read_instance("academic-1k")
    assert "alike" not in plan_text(spareopt.solve(single, alike=True), single)


def test_it_is_a_question_of_its_own(tmp_path: Path) -> None:
    """Proves that a runs folder never hands out one for the other."""
    instance = read_instance("tpu-like")
    first, whole, again = (spareopt.solve_once(instance, tmp_path, alike=same) for same in (True, False, True))
    assert first.folder == again.folder != whole.folder and again.found and not whole.found
    assert again.result.certificate.among == ZONES_ALIKE and whole.result.certificate.among == ALL_PLANS


def test_ctrl_c_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that Ctrl-C while plans are scored ends the solve as it ends any other."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(plan_scores.PlanScores, "by_option", stop)
    with pytest.raises(StoppedError):
        spareopt.solve(read_instance(SMALL), alike=True)


def test_curves_of_zones_alike_are_solves_of_zones_alike() -> None:
    """Proves that tornado, marginal values and frontier have the value of each of their what-ifs solved by itself."""
    instance = read_instance(SMALL)
    nominal = spareopt.solve(instance, alike=True)

    def value(changes: dict[str, object]) -> float:
        return spareopt.solve(changed(instance, changes), alike=True).certificate.value

    bars = tornado(instance, alike=True)
    inputs = {item.path: item for item in uncertain_inputs(instance, None)}
    assert bars.certificate == nominal.certificate and bars.decisions == nominal.decisions
    for bar in bars.bars:
        for place, end in enumerate((bar.low, bar.high)):
            assert end.adapted == pytest.approx(value(inputs[bar.input].changes(place)), rel=1e-12)
    marginal = marginal_values(instance, alike=True)
    assert marginal.certificate.value == nominal.certificate.value
    for item in marginal.values:
        for step in (item.better, item.worse):
            if step is not None and step.change is not None:
                assert step.change == pytest.approx(nominal.certificate.value - value(step.changes), abs=1e-3)
    curve = spareopt.frontier(instance, "capital", alike=True, points=4)
    assert curve.among == ZONES_ALIKE and len(curve.points) == 4
    for point in curve.points:
        assert value(point.changes) == pytest.approx(point.goodput, rel=1e-9)
        assert len(point.decisions.zones) == 1
    assert all(a.goodput < b.goodput for a, b in pairwise(curve.points))
    for text in (tornado_text(bars, instance), marginal_text(marginal, instance), frontier_text(curve, instance)):
        assert "Every plan builds all zones of a class alike; others may be better." in text


def test_the_commands_take_it() -> None:
    """Proves that --alike reaches each command's solves, and that the next command repeats it."""
    for command in ("solve", "tornado", "marginal", "frontier"):
        got = CliRunner().invoke(cli.main, [command, "tpu-like", "--alike", "--json"])
        assert got.exit_code == 0, got.output
        document = json.loads(got.stdout)
        assert document["provenance"]["options"]["alike"] is True
        assert document.get("among", document.get("certificate", {}).get("among")) == ZONES_ALIKE
        text = CliRunner().invoke(cli.main, [command, "tpu-like", "--alike"]).stdout
        assert "--alike" in text.splitlines()[-1]


@pytest.mark.parametrize("name", SHIPPED)
def test_kept_candidates_are_those_that_would_be_enumerated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that candidates are shared by what-ifs only where nothing that is changed is in them."""
    instance = read_instance(name)
    asked = [item.changes(end) for item in uncertain_inputs(instance, None) for end in (0, 1)]
    asked += [{"objective": {"kind": "goodput"}}, {"limits.floor": 100_000}, {"power.pue": 2.0}]
    kept = 0
    for changes in asked:
        there = changed(instance, changes)
        monkeypatch.setattr(scoring, "_KEPT", [])
        fresh = scoring.enumerate_candidates(there)
        monkeypatch.setattr(scoring, "_KEPT", [])
        first = scoring.enumerate_candidates(instance)
        shared = scoring.enumerate_candidates(there)
        kept += shared.table is first.table
        pd.testing.assert_frame_equal(fresh.table, shared.table)
        assert (fresh.short == shared.short).all() and fresh.excluded == shared.excluded
        assert fresh.site == shared.site and shared.instance is there
    assert 2 <= kept < len(asked)


def test_few_candidates_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that tables which are kept go when others come, so that memory does not grow."""
    monkeypatch.setattr(scoring, "_KEPT", [])
    monkeypatch.setattr(scoring, "MOST_KEPT_ROWS", 500)
    for name in ("academic-1k", "tpu-like", SMALL, "meta-2026"):
        scoring.enumerate_candidates(read_instance(name))
    assert [known.instance.name for known in scoring._KEPT] == ["meta-2026"]
    scoring.enumerate_candidates(read_instance("tpu-like"))
    assert [known.instance.name for known in scoring._KEPT] == ["tpu-like", "meta-2026"]
