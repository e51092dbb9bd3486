"""Frontiers, marginal values and tornados against brute force, hand calculation and each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import spareopt
from spareopt import cli, curve_store, optimise, units, what_if
from spareopt.asking import ask
from spareopt.axes import parse_axis
from spareopt.comparison import objective_value
from spareopt.curve_text import frontier_text, marginal_text, tornado_text
from spareopt.decisions import at_the_edge
from spareopt.efficient import Frontier, Of, knee_of, supported
from spareopt.errors import InfeasibleError, InputError, SolverError
from spareopt.evaluation import evaluate
from spareopt.exposure import tornado
from spareopt.frontier_search import Curve, Found, trace, verify
from spareopt.instance import Instance
from spareopt.intervals import uncertain_inputs
from spareopt.manifest import MANIFEST, read_manifest
from spareopt.marginal import MarginalValues, marginal_values
from spareopt.marginal import _limit_steps as marginal_steps
from spareopt.overrides import fields_of
from spareopt.reading import read_instance
from spareopt.what_if import SolveOptions, changed
from spareopt.wording import plain_table, render
from tests.brute_force import all_decisions, number_of_plans
from tests.random_instances import random_instance

TIGHT = SolveOptions(gap=1e-6)


def tiny(seed: int, most: int = 300) -> Instance | None:
    """A random instance without a target, if brute force can go over all its plans quickly."""
    instance = read_instance(random_instance(seed, "goodput"))
    return instance if number_of_plans(instance) <= most else None


def efficient_points(instance: Instance, field: str, lowest: float) -> list[tuple[float, float]]:
    """All efficient (resource, goodput) by brute force, from a share of the most goodput on."""
    points = []
    for decisions in all_decisions(instance):
        try:
            evaluation = evaluate(instance, decisions)
        except InputError:
            continue
        if not evaluation.violated:
            points.append((float(getattr(evaluation, field)), evaluation.goodput))
    if not points:
        return []
    least = lowest * max(goodput for _, goodput in points)
    kept: list[tuple[float, float]] = []
    for resource, goodput in sorted((p for p in points if p[1] >= least), key=lambda p: (p[0], -p[1])):
        if not kept or goodput > kept[-1][1] * (1 + 1e-12):
            kept.append((resource, goodput))
    return kept


def distinct(points: Sequence[tuple[float, float]], step: float) -> bool:
    """Whether neighbours differ by so much in both numbers that a frontier with this step tells them apart."""
    pairs = pairwise(points)
    return all(b[0] > a[0] * (1 + 2 * step) and b[1] > a[1] * (1 + 2 * step) for a, b in pairs)


def check_against_brute_force(seeds: Sequence[int], of: Of, field: str) -> int:
    """All points of small frontiers against brute force; how many frontiers with several points were checked."""
    several = 0
    for seed in seeds:
        instance = tiny(seed)
        if instance is None:
            continue
        expected = efficient_points(instance, field, 0.5)
        if not expected:
            with pytest.raises(InfeasibleError):
                spareopt.frontier(instance, of, gap=TIGHT.gap)
            continue
        if len(expected) > 25 or not distinct(expected, 1e-6):
            continue
        found = spareopt.frontier(instance, of, points=len(expected) + 2, gap=TIGHT.gap)
        got = [(point.resource, point.goodput) for point in found.points]
        assert found.complete
        # of capital and power the cheapest end is looked for by halving, so that the very lowest points may be missing
        expected = [point for point in expected if of == "cost" or point[0] >= got[0][0] * (1 - 1e-9)]
        assert got == [pytest.approx(point, rel=1e-9) for point in expected], (seed, of)
        several += len(got) > 2
    return several


def test_frontiers_of_capital_and_power_are_those_of_brute_force() -> None:
    """Proves that with enough points all efficient points of small instances are found, and no others."""
    assert check_against_brute_force((1, 2), "capital", "capital") == 1
    assert check_against_brute_force((22,), "power", "it_power_kw") == 1


def test_frontiers_of_cost_are_those_of_brute_force() -> None:
    """Proves the same of cost, whose points answer the other question: the least cost of a goodput."""
    assert check_against_brute_force((2,), "cost", "cost_per_year") == 1


@pytest.mark.heavy
@pytest.mark.parametrize(("of", "field"), [("capital", "capital"), ("power", "it_power_kw"), ("cost", "cost_per_year")])
def test_many_frontiers_are_those_of_brute_force(of: Of, field: str) -> None:
    """Proves the same on many more instances."""
    assert check_against_brute_force(range(40), of, field) >= 4


def points_of(curve: Curve) -> list[tuple[float, float]]:
    return [(point.reach, point.worth) for point in curve.points()]


def staircase(points: Sequence[tuple[float, float]]) -> Any:
    """A perfect answerer over a list of plans: the worthiest that reaches far enough."""

    def best(reaches: list[float]) -> list[Found | None]:
        answers: list[Found | None] = []
        for asked in reaches:
            there = [(worth, reach) for reach, worth in points if reach >= asked]
            worth, reach = max(there, default=(0.0, 0.0))
            answers.append(Found(asked, reach, worth, worth, None, {}) if there else None)  # type: ignore[arg-type]
        return answers

    return best


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["goodput", "cap"])
def test_search_finds_every_point_and_spreads_a_few(sign: float) -> None:
    """Proves that the search finds all of a curve if asked to, spreads a few over it, and bounds what is between.

    Reaches are positive (a goodput) or negative (minus a cap): the step is relative to either.
    """
    shift = 0.0 if sign > 0 else -200.0
    plans = [(shift + 100.0 + k, 1000.0 - k * k / 10) for k in range(1, 41)]
    answerer = staircase(plans)

    def ends() -> Curve:
        curve = Curve(1e-6)
        for asked in (plans[0][0], plans[-1][0]):
            (answer,) = answerer([asked])
            assert answer is not None
            curve.learn(asked, answer)
            curve.found.append(answer)
        return curve

    whole = ends()
    assert trace(whole, answerer, 60) and points_of(whole) == plans
    few = ends()
    assert not trace(few, answerer, 6)
    reaches = [reach for reach, _ in points_of(few)]
    assert len(reaches) == 6 and max(b - a for a, b in pairwise(reaches)) <= 16
    verify(few, answerer)
    assert [reach for reach, _ in points_of(few)] == reaches
    for point in few.points()[:-1]:
        assert few.worth_within(point) == 0 and few.reach_within(point) == pytest.approx(1e-6)


def test_a_tie_in_worth_leaves_no_stretch_open() -> None:
    """Proves that an answer no better than the next point closes the stretch, though it reaches less far."""
    curve = Curve(1e-6, [Found(0, 10.0, 5.0, 5.0, None, {}), Found(0, 20.0, 1.0, 1.0, None, {})])  # type: ignore[arg-type]
    answerer = staircase([(10.0, 5.0), (15.0, 1.0), (20.0, 1.0)])

    def least(reaches: list[float]) -> list[Found | None]:  # of plans worth the same, the one that reaches less far
        return [
            a if a is None or a.asked > 15 else Found(a.asked, 15.0, a.worth, a.bound, a.plan, {})
            for a in answerer(reaches)
        ]

    assert trace(curve, least, 9) and points_of(curve) == [(10.0, 5.0), (20.0, 1.0)]


def test_verification_replaces_a_dominated_point() -> None:
    """Proves that a point with an equal that reaches further gives way to it, as a tie in cost asks for."""
    answerer = staircase([(10.0, 5.0), (12.0, 5.0), (20.0, 1.0)])
    curve = Curve(1e-6, [Found(9.0, 10.0, 5.0, 5.0, None, {})], [(9.0, 5.0, 5.0)])  # type: ignore[arg-type]
    verify(curve, answerer)
    assert points_of(curve) == [(12.0, 5.0)]


def test_a_solver_error_is_asked_again_with_a_wider_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that one failing question neither ends the others nor hides the gap that it was answered with."""
    real, gaps = optimise.solve, []

    def solve(instance: Instance, **options: Any) -> Any:
        gaps.append(options["gap"])
        if options["gap"] < 5e-6 and "limits.it_power=2 MW" in instance.applied:
            raise SolverError("solve error")
        return real(instance, **options)

    monkeypatch.setattr(what_if, "solve", solve)
    case = academic()
    asked = what_if.what_ifs(case, [{}, {"limits.it_power": "2 MW"}, {}])
    got = list(ask(asked, TIGHT))
    assert [answer.status for answer in got] == ["proven"] * 3 and gaps == pytest.approx([1e-6, 1e-6, 1e-5, 1e-6])
    assert got[1].plan is not None and got[1].plan.certificate.gap_asked == pytest.approx(1e-5)


def test_supported_points_and_knee_by_hand() -> None:
    """Proves that a dent is unsupported, the far corner is the knee, and a straight line has none."""
    resources, goodputs = [0.0, 1.0, 2.0, 3.0, 10.0], [0.0, 6.0, 7.0, 9.0, 10.0]
    assert supported(resources, goodputs) == [True, True, False, True, True]
    assert knee_of(resources, goodputs) == 3
    assert knee_of([0.0, 1.0, 2.0], [0.0, 1.0, 2.0]) is None


def academic(**overrides: Any) -> Instance:
    """The academic case with few choices, so that it solves at once."""
    few = {
        "designs.hgx-h100.power.gpu_limits": ["560 W", "644 W"],
        "designs.hgx-h100.inter_block_spares": [0, 2, 4],
    }
    return read_instance("academic-1k", overrides=few | {k.replace("__", "."): v for k, v in overrides.items()})


@pytest.fixture(scope="module")
def values() -> MarginalValues:
    return marginal_values(academic())


def test_marginal_values_are_differences_of_optima(values: MarginalValues) -> None:
    """Proves that a value is that of the changed instance less today's, and that its interval holds it."""
    for item, path, setting in (
        ("yearly cost", "limits.yearly_cost", "1.01x"),
        ("tray MTBF", "failures.tray.mtbf", "1.1x"),
    ):
        (value,) = [value for value in values.values if value.name == item]
        step = value.better
        there = spareopt.solve(changed(academic(), {path: setting}), gap=0).certificate.value
        expected = there - spareopt.solve(academic(), gap=0).certificate.value
        assert step.change == pytest.approx(expected, rel=1e-6) and step.told
        assert step.change_low is not None and step.change_high is not None
        assert step.change_low <= expected + 1e-9 and expected <= step.change_high + 1e-9
    names = [value.name for value in values.values]
    assert names[:3] == ["yearly cost", "IT power", "working GPUs asked"]
    assert "rack MTBF" not in names and "capital" not in names, "only what the instance states"


def test_a_wide_gap_leaves_small_values_open() -> None:
    """Proves that where the certificates leave the sign open, no value is claimed."""
    rough = marginal_values(academic(), gap=0.2)
    assert any(not value.better.told for value in rough.values)
    for value in rough.values:
        step = value.better
        assert step.change_low is not None and step.change_high is not None
        assert step.told == (step.change_low > 0 or step.change_high < 0 or step.change_low == step.change_high == 0)
    assert "below what the proofs can tell" in marginal_text(rough, academic())


def test_crews_and_shelf_are_extended_at_the_end_of_their_ranges() -> None:
    """Proves that a crew more than offered is tried, by the range's step, and worth what solving with it says."""
    staffed = read_instance(
        "academic-1k", scenarios=["staffing"],
        overrides={"repair_plans.technicians.crews": 1, "repair_plans.technicians.shelf": [0, 4],
                   "designs.hgx-h100.power.gpu_limits": ["630 W"], "limits.yearly_cost": None},
    )  # fmt: skip
    found = {value.name: value for value in marginal_values(staffed).values}
    crews, shelf = found["most crews of technicians"], found["most shelf of technicians"]
    assert crews.better.changes == {"repair_plans.technicians.crews": [1, 2]} and crews.worse is None
    assert shelf.better.changes == {"repair_plans.technicians.shelf": [0, 4, 8]} and shelf.better.amount == 4
    more = spareopt.solve(changed(staffed, crews.better.changes), gap=0).certificate.value
    assert crews.better.change == pytest.approx(more - spareopt.solve(staffed, gap=0).certificate.value, rel=1e-6)


@pytest.mark.heavy
def test_money_is_a_saving_at_the_same_goodput() -> None:
    """Proves that goodput per cost turns into money as what the same goodput costs less, and goodput alone does not."""
    result = marginal_values(academic(limits__yearly_cost=None, objective={"kind": "goodput_per_dollar"}))
    plan = spareopt.solve(academic(limits__yearly_cost=None, objective={"kind": "goodput_per_dollar"}), gap=0)
    (value,) = [value for value in result.values if value.name == "tray MTBF"]
    assert value.better.change is not None and plan.evaluation.cost_per_year is not None
    factor = plan.certificate.value / (plan.certificate.value + value.better.change)
    assert value.better.money_per_year == pytest.approx(plan.evaluation.cost_per_year * (1 - factor), rel=1e-6)


def test_tornado_holds_both_plans() -> None:
    """Proves that the fixed plan is scored as it stands, the best plan is that of the changed instance, and that
    adapting never loses."""
    case = academic()
    result = tornado(case, {"failures.tray.mtbf": ("0.5x", "2x"), "power.energy_price": ("0.9x", "1.1x")})
    nominal = spareopt.solve(case)
    assert result.decisions == nominal.decisions and [bar.interval for bar in result.bars] == ["given", "given"]
    assert [bar.swing for bar in result.bars] == sorted((bar.swing for bar in result.bars), reverse=True)
    for bar in result.bars:
        for end in (bar.low, bar.high):
            there = changed(case, {bar.input: end.setting})
            assert end.fixed == objective_value(there, evaluate(there, nominal.decisions))
            assert end.adapted == pytest.approx(spareopt.solve(there, gap=0).certificate.value, rel=2e-4)
            assert end.adapting_saves is None or end.adapting_saves >= 0
    dear = next(bar for bar in result.bars if bar.input == "power.energy_price").high
    assert dear.fixed_breaks == ("yearly_cost",) and dear.adapting_saves is None and dear.decisions_change


def test_an_end_of_nothing_is_told_as_it_is_typed() -> None:
    """Proves that a limit that is taken out at one end is null there, in the result and in words."""
    case = read_instance("academic-1k")
    result = tornado(case, {"limits.yearly_cost": ("0.99x", None)})
    assert [end.setting for bar in result.bars for end in (bar.low, bar.high)] == ["0.99x", "null"]
    assert "None" not in tornado_text(result, case)


def test_inputs_stated_and_assumed() -> None:
    """Proves that stated intervals win, the usual others are assumed, and * stands for all that have the field."""
    gb200 = read_instance("gb200-4x256")
    by_path = {item.path: item for item in uncertain_inputs(gb200)}
    assert by_path["failures.*.mtbf"].fields == ("failures.tray.mtbf", "failures.rack.mtbf", "failures.software.mtbf")
    assert by_path["failures.*.mtbf"].origin == "stated" and "failures.tray.mtbf" not in by_path
    assert by_path["checkpoint_plans.*.save"].ends == ("0.8x", "1.2x")
    assert by_path["checkpoint_plans.*.save"].origin == "assumed"
    assert len(by_path["checkpoint_plans.*.restart"].fields) == len(gb200.checkpoint_plans)
    # "0 h" off_crew of one plan is no input: a multiple of nothing is nothing
    assert len(by_path["repair_plans.*.tray.off_crew"].fields) == len(gb200.repair_plans) - 1
    assert fields_of(gb200.resolved(), "limits.capital") == ("limits.capital",)


def test_intervals_are_no_part_of_the_problem(tmp_path: Path) -> None:
    """Proves that intervals change neither hash nor resolved data, and that validate finds an end that can't be."""
    plain = read_instance("academic-1k")
    data = plain.resolved()
    stated = read_instance(data | {"intervals": {"failures.tray.mtbf": ["0.5x", "2x"]}})
    assert stated.input_hash() == plain.input_hash() and "intervals" not in stated.resolved()
    for ends, message in (
        (["0.5x"], "the low and the high end"),
        (["2x", "2x"], "two ends that differ"),
        ([True, "2x"], "the low and the high end"),
    ):
        with pytest.raises(InputError, match=message):
            read_instance(data | {"intervals": {"failures.tray.mtbf": ends}})
    file = tmp_path / "bad.json.yaml"
    bad = {"failures.tray.mtbf": ["0.5x", "2 parsecs"], "checkpoint_plans.*.period_of_grace": ["0.5x", "2x"]}
    file.write_text(json.dumps(data | {"intervals": bad}), encoding="utf-8")
    result = CliRunner().invoke(cli.main, ["validate", str(file)])
    assert result.exit_code == 2
    assert "intervals.failures.tray.mtbf" in result.output and "parsecs" in result.output
    assert "intervals.checkpoint_plans.*.period_of_grace" in result.output and "whatever * stands for" in result.output


def test_results_read_back_and_pictures_repeat(values: MarginalValues, tmp_path: Path) -> None:
    """Proves that what is written reads back equal, and that two runs write the same bytes, pictures included."""
    case = academic()
    results = [spareopt.frontier(case, "power", points=3), tornado(case, {"failures.tray.mtbf": ("0.5x", "2x")})]
    readers: list[Any] = [curve_store.read_frontier, curve_store.read_tornado]
    for k, (result, read) in enumerate(zip(results, readers, strict=True)):
        folders = [curve_store.write_curve(result, case, tmp_path / f"{k}-{i}") for i in range(2)]
        assert read(folders[0]) == result
        assert read_manifest(folders[0]).seed == result.provenance.seed
        for file in folders[0].iterdir():
            if file.name == MANIFEST:  # which tells the time
                continue
            assert file.read_bytes() == (folders[1] / file.name).read_bytes()
            assert file.suffix != ".svg" or b"<dc:date>" not in file.read_bytes()
    again = spareopt.frontier(case, "power", points=3)
    assert again.to_json() == results[0].to_json()
    assert curve_store.read_marginal_values(curve_store.write_curve(values, case, tmp_path / "m")) == values
    (tmp_path / "frontier.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="is not a frontier that spareopt wrote"):
        curve_store.read_frontier(tmp_path / "frontier.json")


def test_texts_say_what_a_planner_needs(values: MarginalValues) -> None:
    """Proves that the texts name proof, method, steps and caution, and that a frontier's point can be found again."""
    case = academic()
    curve = spareopt.frontier(case, "power", points=4)
    text = frontier_text(curve, case)
    assert "efficient within" in text and "next GPU takes" in text
    point = curve.points[-1]
    again = spareopt.solve(changed(case, point.changes))
    assert again.evaluation.goodput == pytest.approx(point.goodput, rel=1e-4)
    words = " ".join(marginal_text(values, case).split())
    assert "no dual prices" in words and "10 % better" in words and "worth is not stated" in words
    bars = tornado_text(tornado(case, {"failures.tray.mtbf": ("0.5x", "2x")}), case)
    assert "joint effects are not shown" in " ".join(bars.split()) and "█" in bars


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("frontier", "meta-2026"), "rack_price"),
        (("frontier", "meta-2026", "--of", "power"), "designs.block-72.power"),
        (("frontier", "academic-1k", "--lowest", "2"), "above 0 and below 100 %"),
        (("marginal", "academic-1k", "--limit-step", "0"), "--limit-step"),
        (("tornado", "academic-1k", "--input", "failures.tray.mtbf=0.5x"), "PATH=LOW:HIGH"),
        (("tornado", "academic-1k", "--input", "failures.tray.mtfb=0.5x:2x"), "mtfb"),
        (("tornado", "academic-1k", "--input", "failures.tray.mtbf=1x:1x"), "both ends come to the same, 1x and 1x"),
        (("tornado", "academic-1k", "--input", "failures.*.mtbf=48 h:2 d"), "both ends come to the same, 48 h and 2 d"),
        (("tornado", "academic-1k", "--input", "name=a:b"), "name: expected an input that is a number or a quantity"),
        (("tornado", "academic-1k", "--input", "limits=null:{capital: 1 G$}"), "expected PATH=LOW:HIGH"),
        (("tornado", "academic-1k", "--input", "zones.0.name=a:b"), "zones.0.name: expected an input"),
        (("tornado", "academic-1k", "--input", "name=1 h:2 h"), "or a quantity, got 'academic-1k'"),
    ],
)
def test_bad_questions_are_refused_in_one_message(arguments: tuple[str, ...], message: str) -> None:
    """Proves that what can't be answered ends with exit code 2 and names the field or the option."""
    result = CliRunner().invoke(cli.main, list(arguments))
    assert result.exit_code == 2 and message in result.output and "Traceback" not in result.output


def test_commands_print_json_alone_and_write_a_folder(tmp_path: Path) -> None:
    """Proves that --json is the result that the API reads back, and that -o holds JSON, table and picture."""
    folder = tmp_path / "curve"
    result = CliRunner().invoke(
        cli.main, ["frontier", "academic-1k", "--of", "capital", "--points", "3", "-o", str(folder), "--json"]
    )
    assert result.exit_code == 0, result.output
    found = Frontier.model_validate_json(result.stdout)
    assert found == curve_store.read_frontier(folder) and len(found.points) == 1  # all racks are bought in every plan
    expected = {"frontier.json", "frontier.csv", "frontier.svg", "instance.json", "manifest.json"}
    assert {file.name for file in folder.iterdir()} == expected


@pytest.mark.parametrize(("of", "solves", "points"), [("cost", 1, 1), ("cost", 2, 1), ("cost", 3, 2), ("power", 2, 2)])
def test_an_interrupted_frontier_keeps_what_is_solved(
    of: Of, solves: int, points: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Proves that Ctrl-C in any solve but the first keeps the points before it: printed, written, exit code 130."""
    real, calls = optimise.solve, []

    def solve(instance: Instance, **options: Any) -> Any:
        calls.append(instance)
        if len(calls) > solves:
            raise KeyboardInterrupt
        return real(instance, **options)

    monkeypatch.setattr(what_if, "solve", solve)
    folder = tmp_path / "kept"
    arguments = ["frontier", "academic-1k", "--of", of, "-o", str(folder)]
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 130 and "Interrupted" in result.stdout, result.output
    kept = curve_store.read_frontier(folder)
    assert kept.points[-1].resource_within is not None or (of == "cost" and solves == 1), "nothing proven of its cost"
    assert kept.interrupted and len(kept.points) == points and kept.solves == solves


@pytest.mark.parametrize(("command", "solves"), [("marginal", 2), ("tornado", 3)])
def test_interrupted_what_ifs_keep_what_is_solved(
    command: str, solves: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Proves the same of marginal values (one side of a pair is kept) and of the tornado's bars."""
    real, calls = optimise.solve, []

    def solve(instance: Instance, **options: Any) -> Any:
        calls.append(instance)
        if len(calls) > solves:
            raise KeyboardInterrupt
        return real(instance, **options)

    monkeypatch.setattr(what_if, "solve", solve)
    folder = tmp_path / "kept"
    result = CliRunner().invoke(cli.main, [command, "academic-1k", "-o", str(folder)])
    assert result.exit_code == 130 and "Interrupted" in result.stdout, result.output
    data = json.loads((folder / f"{command}.json").read_text(encoding="utf-8"))
    assert data["interrupted"] and len(data["values" if command == "marginal" else "bars"]) == 1


def test_a_frontier_has_no_more_points_than_asked_and_fits_its_width() -> None:
    """Proves that ends found by halving count, and that no row breaks: each point has its mark beside its numbers."""
    case = read_instance("academic-1k")
    kinds: tuple[Of, ...] = ("power", "cost")
    for of in kinds:
        curve = spareopt.frontier(case, of, points=3)
        assert len(curve.points) <= 3
        rows = [line for line in frontier_text(curve, case).splitlines() if "●" in line]
        assert len(rows) == len(curve.points) and all("W" in row or "$" in row for row in rows)


@pytest.mark.parametrize("value", [3.744e9, 3743987654.3, 999999.6e3, 1.0, 123456.7])
def test_a_cap_is_typed_rounded_so_that_its_plan_stays_within(value: float) -> None:
    """Proves that the short text reads back to the value or to a little more, never less."""
    text = units.typed(value, units.MONEY)
    assert value * (1 - 1e-12) <= units.parse(text, units.MONEY) <= value * (1 + 1e-5)
    assert units.typed(3.744e9, units.MONEY) == "3.744 G$"
    assert float(units.rounded(47900.9876, up=False)) <= 47900.9876


def test_tied_inputs_move_together() -> None:
    """Proves that a bar of tied paths is the instance with both changed, and that no field is moved twice."""
    case = academic()
    path = "failures.tray.mtbf,failures.software.mtbf"
    (item,) = uncertain_inputs(case, {path: ("0.5x", "2x")})
    assert item.changes(0) == {"failures.tray.mtbf": "0.5x", "failures.software.mtbf": "0.5x"}
    with pytest.raises(InputError, match="named twice"):
        uncertain_inputs(case, {"failures.*.mtbf,failures.tray.mtbf": ("0.5x", "2x")})


def test_a_star_in_an_override_is_every_item() -> None:
    """Proves that * equals naming each item, that no match is refused, and so are paths that meet."""
    plain = read_instance("gb200-4x256")
    names = [plan.name for plan in plain.checkpoint_plans]
    starred = read_instance("gb200-4x256", overrides={"checkpoint_plans.*.restart": "2x"})
    each = read_instance("gb200-4x256", overrides={f"checkpoint_plans.{name}.restart": "2x" for name in names})
    assert starred.resolved() == each.resolved() != plain.resolved()
    lists = read_instance("gb200-4x256", overrides={"designs.*.inter_block_spares": [0, 2]})
    assert all(design.inter_block_spares == (0, 2) for design in lists.designs)
    with pytest.raises(InputError, match="no item has this field"):
        read_instance("gb200-4x256", overrides={"checkpoint_plans.*.restrat": "2x"})
    with pytest.raises(InputError, match="name the same field"):
        parse_axis("failures.*.mtbf,failures.tray.mtbf=0.5x,2x")


def test_marginal_values_say_where_the_choices_end(values: MarginalValues) -> None:
    """Proves that decisions at the end of what is offered are named where a limit's step is worth 0."""
    plan = spareopt.solve(academic(), gap=1e-6)
    assert list(values.at_the_edge) == at_the_edge(academic(), plan.decisions) != []
    worthless = any(v.kind == "limit" and v.better.change == 0 for v in values.values)
    assert ("the choices end there" in " ".join(marginal_text(values, academic()).split())) == worthless


def told_as(values: MarginalValues, **changes: Any) -> str:
    """Marginal values as text, on one line, with changes to the first limit's step for the better alone."""
    first = values.values[0]
    better = first.better.model_copy(update=changes)
    only = first.model_copy(update={"better": better, "worse": None})
    return " ".join(marginal_text(values.model_copy(update={"values": (only,)}), academic()).split())


def test_more_of_a_limit_without_more_on_offer_is_not_a_matter_of_the_gap(values: MarginalValues) -> None:
    """Proves that a limit's step of no worth is put down to what is offered where that ends, else to the proofs.

    The tolerance stands once below the table, so that its cells stay short.
    """
    untold = {"told": False, "change": 1e-9, "change_low": 0.0, "change_high": 2.5e-6}
    fixed = values.model_copy(update={"at_the_edge": (), "only_offered": ("hall: racks 16",)})
    text = told_as(fixed, **untold)
    assert "at the edge of the choices (hall: racks 16, the only number offered)" in text
    assert "≈ 0: within 2.5e-06 GPUs of nothing, below what the proofs can tell." in text
    assert text.count("2.5e-06") == 1
    open_ended = values.model_copy(update={"at_the_edge": (), "only_offered": ()})
    text = told_as(open_ended, **untold)
    assert "edge of the choices" not in text
    assert "what the proofs can tell; a smaller --gap may tell more." in text


@pytest.mark.parametrize(("used", "even"), [(0.0, False), (13.0, True), (15.5, True), (38.0, False)])
def test_no_value_per_unit_where_plans_move_by_whole_racks(values: MarginalValues, used: float, even: bool) -> None:
    """Proves that a gain is not divided by a step of 15.5 k$ when the plan spends much more or less than that."""
    size = values.values[0].better.amount / 15.5
    text = told_as(values, change=100.0, told=True, per_unit=100.0, use_change=used * size)
    assert ("+100 GPUs per" in text) == even
    assert ("no value per unit" in text) != even


def test_a_step_may_be_an_amount() -> None:
    """Proves that an amount moves the limits of its kind by just that, the others by their share, and is checked."""
    steps = {step.name: step for step in marginal_steps(academic(), 0.01, "30 k$ per year")}
    assert steps["yearly cost"].better == {"limits.yearly_cost": "1580000.0 $ per year"}
    assert steps["yearly cost"].amount == pytest.approx(0.03)
    assert steps["IT power"].better == {"limits.it_power": "1515.0 kW"}
    for wrong in ("10 M$", "3 h", "-1 kW", "many"):
        with pytest.raises(InputError, match="expected a share such as 1%, or an amount of money per year"):
            marginal_values(academic(), limit_step=wrong)
    result = CliRunner().invoke(cli.main, ["marginal", "academic-1k", "--limit-step", "3 h"])
    assert (result.exit_code, result.stdout) == (2, "")


def test_names_stay_legible_beside_wide_numbers() -> None:
    """Proves that a column of names keeps its words however wide the numbers beside it are."""
    table = plain_table("", "what it is worth", "per unit", left=("",))
    table.add_row("software MTBF", "9" * 51, "9" * 51)
    assert [line.split()[0] for line in render(table).splitlines()[1:]] == ["software", "MTBF"]
