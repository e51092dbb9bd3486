"""What binds, why not, and the command that explains: against solves and evaluations made by hand."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import spareopt
from spareopt import cli
from spareopt.alternatives import WhyNot
from spareopt.candidates import Candidates, enumerate_candidates
from spareopt.decisions import Decisions
from spareopt.errors import InfeasibleError, InputError, LimitError
from spareopt.evaluation import evaluate
from spareopt.instance import Instance
from spareopt.near import near_optimal
from spareopt.near_result import NearOptimal
from spareopt.plan import Plan
from spareopt.units import parse_share
from tests.test_different_zones import different_zones


def run(*args: str) -> Result:
    """Run the command line in this process."""
    result = CliRunner().invoke(cli.main, list(args))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture(scope="module")
def gb200() -> tuple[Instance, Plan]:
    """The instance with 4 zones of 256 racks and its optimum."""
    instance = spareopt.read_instance("gb200-4x256")
    return instance, spareopt.solve(instance)


# --- near-optimal plans of the shipped instances


def _alike(candidates: Candidates, row: int, checkpoint_plan: str) -> Decisions:
    """The plan of four zones that all take one candidate."""
    return Decisions.model_construct(zones=(candidates.choice(row, 4),), checkpoint_plan=checkpoint_plan)


def test_every_candidate_of_meta_2026_is_listed_where_it_is_within() -> None:
    """Proves that the plans within 20 % are those of evaluating each buildable choice with each checkpoint plan."""
    instance = spareopt.read_instance("meta-2026")
    near = spareopt.near_optimal(instance, "20 %", most=1000)
    candidates = enumerate_candidates(instance)
    goodput = {
        (row, plan.name): evaluate(instance, _alike(candidates, row, plan.name)).goodput
        for row in candidates.table.index
        for plan in instance.checkpoint_plans
    }
    best = max(goodput.values())
    within = sorted((value for value in goodput.values() if value >= 0.8 * best), reverse=True)
    assert near.complete and near.number == len(within) > 5
    np.testing.assert_allclose([plan.value for plan in near.plans], within, rtol=1e-12)


def test_no_plan_of_gb200_is_missing_in_a_sample(gb200: tuple[Instance, Plan]) -> None:
    """Proves by the evaluator, on a sample about the optimum and at large, that what is listed is what is within."""
    instance, _ = gb200
    near = spareopt.near_optimal(instance, 0.02, most=10_000)
    assert near.complete
    listed = {plan.decisions.model_dump_json() for plan in near.plans}
    candidates = enumerate_candidates(instance)
    table = candidates.table
    close = table[(table.racks >= 252) & table.inter_block_spares.between(3, 10) & (table.gpu_limit_kw >= 1.0)]
    rng = np.random.default_rng(0)
    rows = [*close.sample(80, random_state=1).index, *rng.integers(0, len(table), 20)]
    hits = 0
    for row in rows:
        for plan in instance.checkpoint_plans:
            decisions = _alike(candidates, int(row), plan.name)
            evaluation = evaluate(instance, decisions)
            within = not evaluation.violated and evaluation.goodput >= 0.98 * near.best_value
            assert (decisions.model_dump_json() in listed) == within
            hits += within
    assert hits > 3  # else the sample would prove nothing


@pytest.mark.heavy
@pytest.mark.parametrize("within", [0.001, 0.01, 0.05])
def test_gb200_against_every_candidate(gb200: tuple[Instance, Plan], within: float) -> None:
    """Proves that no dominated, no cut plan is missing: each candidate is scored on its own by Problem.outcome."""
    from spareopt.enumerated import Steps, enumerated_levels  # noqa: PLC0415

    instance, _ = gb200
    near = spareopt.near_optimal(instance, within, most=100_000)
    (level,) = enumerated_levels(instance, True, "exact", Steps(None, lambda _: None))
    problem = level.problem
    outcomes = [problem.outcome({c: 4}, o) for c in range(len(problem.rows)) for o in range(len(problem.schemes))]
    values = sorted((o.goodput for o in outcomes if o.feasible), reverse=True)
    expected = [value for value in values if value >= (1 - within) * values[0]]
    assert near.complete and near.number == len(expected)
    np.testing.assert_allclose([plan.value for plan in near.plans], expected, rtol=1e-10)


def test_a_cut_list_says_so_and_ranges_stay_exact(gb200: tuple[Instance, Plan]) -> None:
    """Proves that few listed plans are the first of the full list, and that the ranges do not depend on it."""
    instance, _ = gb200
    whole, cut = (spareopt.near_optimal(instance, "1 %", most=most) for most in (1000, 5))
    assert whole.complete and not cut.complete and cut.number == whole.number == len(whole.plans)
    assert cut.plans == whole.plans[:5] and cut.ranges == whole.ranges
    for row in whole.ranges:
        taken = {
            plan.decisions.checkpoint_plan if not row.zone else getattr(plan.decisions.zones[0], row.decision)
            for plan in whole.plans
        }
        assert set(row.values) == taken
    assert NearOptimal.model_validate_json(cut.to_json()) == cut


@pytest.mark.heavy
def test_zones_of_their_own_are_found_too(gb200: tuple[Instance, Plan]) -> None:
    """Proves that mixed plans between two alike ones are listed, in order, and no alike plan is lost."""
    instance, plan = gb200
    mixed = spareopt.near_optimal(instance, 0.002, alike=False, most=500, plan=plan)
    alike = spareopt.near_optimal(instance, 0.002)
    assert mixed.complete and {p.decisions for p in alike.plans} < {p.decisions for p in mixed.plans}
    (zone,) = plan.decisions.zones
    listed = Counter(
        tuple(sorted(c.inter_block_spares for c in p.decisions.zones for _ in range(c.count)))
        for p in mixed.plans
        if all((c.gpu_limit, c.racks) == (zone.gpu_limit, zone.racks) for c in p.decisions.zones)
    )
    expected = Counter()
    for spares in combinations_with_replacement(range(2, 9), 4):
        zones = tuple(zone.model_copy(update={"count": 1, "inter_block_spares": r}) for r in spares)
        goodput = evaluate(instance, plan.decisions.model_copy(update={"zones": zones})).goodput
        expected[spares] += goodput >= 0.998 * plan.evaluation.goodput
    assert listed == +expected and len(listed) > 5


def test_no_time_is_an_error_or_said(gb200: tuple[Instance, Plan]) -> None:
    """Proves that an enumeration that is cut short does not claim to be complete."""
    instance, plan = gb200
    cut = spareopt.near_optimal(instance, alike=False, time_limit=1e-6)
    assert not cut.in_time and not cut.complete and cut.number is None
    assert not any(row.complete for row in cut.ranges)
    for share, most in ((-0.1, 1), (1.0, 1), (0.1, 0)):
        with pytest.raises(ValueError, match="expected"):
            spareopt.near_optimal(instance, share, most=most, plan=plan)


def test_an_effort_that_ends_leaves_what_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that with few steps every value is one that a plan has, every bound holds, and ranges are only narrower.

    Held against the same three different zones without an end to the effort.
    """
    monkeypatch.setattr("spareopt.enumerated.LEAST_STEPS", 0)
    kept = 0
    for seed in range(12):
        instance = spareopt.read_instance(different_zones(seed, "goodput"))
        try:
            whole = spareopt.near_optimal(instance, 0.01, effort=None)
        except InfeasibleError:
            continue
        try:
            cut = spareopt.near_optimal(instance, 0.01, effort=1)
        except LimitError:
            continue
        assert whole.in_time and all(row.proven for row in whole.best_with)
        for few, every in zip((*cut.best_with, *cut.grid), (*whole.best_with, *whole.grid), strict=True):
            assert few.decisions == every.decisions
            if few.proven:
                assert (few.value is None) == (every.value is None)
                assert few.value is None or few.value == pytest.approx(every.value, rel=1e-12)
            elif few.value is not None:
                assert every.value is not None and few.value <= every.value * (1 + 1e-12)
            if few.bound is not None and every.value is not None:
                assert every.value <= few.bound * (1 + 1e-9)
        for narrow, wide in zip(cut.ranges, whole.ranges, strict=True):
            if cut.best_value == pytest.approx(whole.best_value, rel=1e-12):
                assert set(narrow.values) <= set(wide.values)
                assert not narrow.complete or narrow.values == wide.values
        kept += not cut.in_time
    assert kept >= 3


def test_the_time_limit_is_the_commands_and_what_is_known_is_printed() -> None:
    """Proves that a limit used up at once ends with code 4, the plan and a word on what is not finished."""
    result = run("explain", "gb200-4x256", "--mixed", "--time-limit", "0.000001")
    assert result.exit_code == 4, result.output
    text = " ".join(result.stdout.split())
    assert "The plan: " in text and "ranges are at least these" in text and "Values that each decision may have" in text


def test_the_end_of_the_choices_is_said_and_shares_change_by_points() -> None:
    """Proves that explain names decisions at the edge, as solve does, and tells shares in points, GPUs in per cent."""
    result = run("explain", "gb200-4x256", "--most", "3", "--why-not", "racks=250")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "At the edge of the choices" in text and "zone: racks 256" in text
    assert "No gain is one within what the instance offers" in text
    assert re.search(r"GPUs −2\.34 %; .*useful share of GPU-hours \+[0-9.]+ points", text)
    listed = next(line for line in text.split(" - ") if line.startswith("R: "))
    assert listed.count(";") <= 10


# --- what binds


def test_a_limit_binds_where_its_removal_helps(gb200: tuple[Instance, Plan]) -> None:
    """Proves status and gain against solves of the instance without the limit, made by overrides."""
    instance, plan = gb200
    rows = {row.limit: row for row in spareopt.what_binds(instance, plan)}
    assert rows["capital"].status == "does not bind" and rows["capital"].gain == 0
    rack = rows["rack_power"]
    assert rack.status == "binds through whole units" and rack.slack > 0.5
    free = spareopt.solve(spareopt.read_instance("gb200-4x256", overrides={"power.rack_limit": None}))
    assert rack.objective_without == pytest.approx(free.certificate.value, rel=1e-9)
    assert rack.gain == pytest.approx(free.certificate.value / plan.certificate.value - 1)
    assert rack.value_without is not None and rack.value_without > 120


def test_a_limit_met_exactly_need_not_bind() -> None:
    """Proves that no slack alone is not called binding, where the job has just as many GPUs as it must have."""
    instance = spareopt.read_instance("tpu-like", overrides={"limits.capital": None})
    rows = {row.limit: row for row in spareopt.what_binds(instance, spareopt.solve(instance))}
    assert rows["working_gpus.minimum"].slack == 0 and rows["working_gpus.minimum"].status == "does not bind"
    tight = spareopt.read_instance("h100-100k")
    rows = {row.limit: row for row in spareopt.what_binds(tight, spareopt.solve(tight))}
    assert rows["capital"].slack == pytest.approx(0, abs=1) and rows["capital"].status == "binds"
    assert rows["it_power"].status == "does not bind"


# --- why not


def test_a_forced_decision_is_solved_around(gb200: tuple[Instance, Plan]) -> None:
    """Proves value, bound and losses of a forced decision against an instance that offers nothing else."""
    instance, plan = gb200
    found = spareopt.why_not(instance, "intra_block_spares=2", plan=plan)
    only = spareopt.solve(spareopt.read_instance("gb200-4x256", overrides={"designs.nvl72.intra_block_spares": [2]}))
    assert found.outcome == "worse" and found.decisions == only.decisions
    assert found.value == pytest.approx(only.certificate.value, rel=1e-9)
    assert found.bound is not None and found.bound >= found.value
    assert found.loss_changes["intra_block_spares"] == pytest.approx(2 / 18)
    assert sum(found.loss_changes.values()) == pytest.approx(0, abs=1e-12)
    near = spareopt.near_optimal(instance)
    (row,) = (row for row in near.best_with if row.decisions == {"intra_block_spares": 2})
    assert row.value == pytest.approx(found.value, rel=1e-4)  # another way, proven within the gap
    assert WhyNot.model_validate_json(found.model_dump_json()) == found


def test_what_can_not_be_built_or_breaks_a_limit_is_told_apart(gb200: tuple[Instance, Plan]) -> None:
    """Proves that the reason is named: the rack's power, the limit without which there would be a plan, or none."""
    instance, plan = gb200
    both = spareopt.why_not(instance, {"gpu_limit": "1200 W", "intra_block_spares": 0}, plan=plan)
    assert both.outcome == "can't be built" and "rack power above its limit" in both.reason
    poor = spareopt.read_instance("gb200-4x256", overrides={"limits.capital": "3.7 G$"})
    dear = spareopt.why_not(poor, "racks=256")
    assert dear.outcome == "breaks a limit" and dear.breaks == ("capital",) and dear.value is None
    assert spareopt.why_not(instance, "zone.zone.racks=256", plan=plan).outcome == "the best plan has it"


def test_a_whole_plan_names_what_dominates_it(gb200: tuple[Instance, Plan]) -> None:
    """Proves that a dominated choice comes with one that is at least as good: swapped in, the plan gets no worse."""
    instance, plan = gb200
    zone = plan.decisions.zones[0].model_copy(update={"inter_block_spares": 12, "gpu_limit": 1.0})
    asked = plan.decisions.model_copy(update={"zones": (zone,)})
    found = spareopt.why_not(instance, asked, plan=plan)
    assert found.outcome == "worse" and found.value == evaluate(instance, asked).goodput
    (pair,) = found.dominated
    better = evaluate(instance, asked.model_copy(update={"zones": (pair.by,)}))
    assert better.goodput >= found.value and not better.violated
    hot = plan.decisions.model_copy(update={"zones": (zone.model_copy(update={"gpu_limit": 1.2}),)})
    broken = spareopt.why_not(instance, hot, plan=plan)
    assert broken.outcome == "breaks a limit" and broken.breaks == ("rack_power",)


@pytest.mark.parametrize(
    ("forced", "message"),
    [
        ("intra_block_spares=7", "7 is not offered; the instance offers 0, 1, 2, 3"),
        ("spares=7", "unknown decision 'spares'"),
        ("zone.east.racks=256", "unknown zone 'east'; expected one of zone"),
        ("intra_block_spares", "expected DECISION=VALUE"),
        ("racks=many", "expected a whole number"),
        ("gpu_limit=12 apples", "expected a power"),
        ("racks=256,racks=254", "given twice"),
        ("crews=3", "the instance offers no choice of it"),
        (" , ", "expected DECISION=VALUE"),
    ],
)
def test_odd_questions_are_refused(gb200: tuple[Instance, Plan], forced: str, message: str) -> None:
    """Proves that a question that can't be asked is one message with what was expected."""
    with pytest.raises(InputError) as error:
        spareopt.why_not(gb200[0], forced, plan=gb200[1])
    assert message in str(error.value)


# --- the command


def test_explain_prints_all_parts() -> None:
    """Proves that the command shows what binds, the ranges, the table of I and R, the answer, and the next command."""
    result = run("explain", "gb200-4x256", "--within", "0.5%", "--why-not", "intra_block_spares=1")
    assert result.exit_code == 0
    for text in (
        "binds through whole units", "Values that each decision may have", "R 6", "I = 3",
        "Why not intra_block_spares=1? It is worse", "Next: spareopt solve gb200-4x256",
    ):  # fmt: skip
        assert text in result.stdout
    assert not [line for line in result.stdout.splitlines() if len(line) > 110]


def test_explain_json_is_the_three_results(tmp_path: Path) -> None:
    """Proves that the JSON reads back as the models, with a plan file as a question; and is the same bytes again."""
    run("solve", "meta-2026", "-o", str(tmp_path / "plan"))
    args = ("explain", "meta-2026", "--json", "--most", "3", "--mixed", "--why-not", str(tmp_path / "plan"))
    result = run(*args)
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert list(document) == ["plan", "binds", "near_optimal", "why_not"]
    assert NearOptimal.model_validate(document["near_optimal"]).alike is False
    assert [WhyNot.model_validate(row).outcome for row in document["why_not"]] == ["the best plan has it"]
    assert run(*args).stdout == result.stdout


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--within", "150%"), 2),
        (("--within", "little"), 2),
        (("--most", "0"), 2),
        (("--why-not", "no-such-plan.yaml"), 2),
        (("--set", "limits.capital=1 G$"), 3),
    ],
)
def test_explain_exit_codes(args: tuple[str, ...], code: int) -> None:
    """Proves that bad input, an infeasible instance and no time end with their own exit codes, as JSON where asked."""
    result = run("explain", "gb200-4x256", "--json", *args)
    assert result.exit_code == code, result.output
    assert json.loads(result.stdout)["exit_code"] == code


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_what_solve_proved_is_said_when_no_time_is_left_to_explain_it(options: tuple[str, ...]) -> None:
    """Proves that an instance proven infeasible is told so with its reason, however short the time limit."""
    limit = "limits.yearly_cost=0.5 M$ per year"
    with pytest.raises(InfeasibleError) as proven:
        spareopt.solve(spareopt.read_instance("academic-1k", overrides=dict([limit.split("=")])), time_limit=1e-6)
    result = run("explain", "academic-1k", "--set", limit, "--time-limit", "1e-6", *options)
    assert result.exit_code == 3 and "not known" not in result.output
    message = json.loads(result.stdout)["message"] if options else result.stderr
    assert str(proven.value) in message and "give more by --time-limit" in message


def test_an_infeasible_instance_is_no_near_optimum() -> None:
    """Proves that from Python an infeasible instance is an InfeasibleError with its reason."""
    with pytest.raises(InfeasibleError, match="capital"):
        spareopt.near_optimal(spareopt.read_instance("gb200-4x256", overrides={"limits.capital": "1 G$"}))


def test_the_commands_defaults_are_the_functions() -> None:
    """Proves that what the command line looks for by default is what Python does: the numbers are written in both."""
    command = {param.name: param.default for param in cli.main.commands["explain"].params}
    function = {name: given.default for name, given in inspect.signature(near_optimal).parameters.items()}
    assert parse_share(command["within"]) == function["within"]
    assert (command["most"], command["effort"]) == (function["most"], function["effort"])
