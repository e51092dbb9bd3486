"""What people read: complete, in order, with units, narrow enough for a memo, and never prettier than the proof."""

from __future__ import annotations

import re
from typing import Any

import pytest

from spareopt import instances, listings, plan_text, score_text, wording
from spareopt.candidates import enumerate_candidates
from spareopt.comparison import compare_decisions
from spareopt.decisions import Decisions
from spareopt.evaluation import evaluate
from spareopt.instance import Instance
from spareopt.optimise import solve
from spareopt.plan import CandidateCounts, Certificate, Plan, Provenance
from spareopt.reading import read_instance
from spareopt.topology import ZoneLayout, build_topology

WIDEST = 110
QUICK = ("academic-1k", "meta-2026", "tpu-like")


def some_decisions(instance: Instance, split: bool = True) -> Decisions:
    """The most available candidate for most zones of each class, the one in the middle for one of them."""
    candidates = enumerate_candidates(instance, "exact")
    choices = []
    for number, zone in enumerate(instance.zones):
        rows = candidates.table[candidates.table["zone"] == number].sort_values("unavailability", kind="stable").index
        others = zone.count - 1 if split and zone.count > 1 else zone.count
        choices.append(candidates.choice(int(rows[0]), others))
        if others < zone.count:
            choices.append(candidates.choice(int(rows[len(rows) // 2]), zone.count - others))
    return Decisions(zones=tuple(choices), checkpoint_plan=instance.checkpoint_plans[0].name)


def some_plan(instance: Instance, decisions: Decisions | None = None, **certificate: Any) -> Plan:
    """A plan with a certificate as if it had been solved."""
    decisions = decisions or some_decisions(instance)
    evaluation = evaluate(instance, decisions)
    kind = instance.objective.kind
    stated: dict[str, Any] = {"value": 1234.5, "bound": 1234.6, "gap": 8.1e-5, "gap_asked": 1e-4, "refinements": 2}
    stated |= {"status": "proven", "objective": kind, "unit": "", "model": "exact", "plans_excluded": 0}
    stated["sense"] = "minimise" if kind == "cost" else "maximise"
    return Plan(
        decisions=decisions,
        evaluation=evaluation,
        certificate=Certificate(**stated | certificate),
        candidates=CandidateCounts(enumerated=12345, dominated=12000, outbid=300, kept=45, excluded={"too hot": 6}),
        provenance=Provenance(
            instance=instance.name, input_hash="", applied=instance.applied, options={}, seed=0, versions={}
        ),
    )


def check_shape(text: str) -> None:
    lines = text.splitlines()
    assert max(map(len, lines)) <= WIDEST, max(lines, key=len)
    assert "…" not in text
    assert "\n\n\n" not in text
    assert text.endswith("\n")
    assert all(line == line.rstrip() for line in lines)
    assert "nan" not in text.split()
    assert "None" not in text


@pytest.mark.parametrize("name", instances.names())
def test_every_report_of_every_shipped_instance_fits_a_memo(name: str) -> None:
    """Proves that solve, evaluate and show stay within 110 columns, cut no name, and leave single blank lines.

    The plans are split among two candidates wherever a class has several zones, the widest case there is.
    """
    instance = read_instance(name)
    decisions = some_decisions(instance)
    plan = some_plan(instance)
    check_shape(plan_text.plan_text(plan, instance))
    best = some_decisions(instance, split=False)
    table = compare_decisions(instance, decisions, best)
    text = plan_text.own_plan_text("my-plan.yaml", decisions, plan.evaluation, instance, best=plan, table=table)
    check_shape(text)
    for choice in decisions.zones:
        for word in (choice.zone, choice.design, choice.repair_plan):
            assert re.search(rf"(^|\s){re.escape(word)}(\s|$)", text, re.MULTILINE), word
    layouts = [ZoneLayout(zone.name, zone.count, instance.designs[0], max(zone.racks)) for zone in instance.zones]
    check_shape(listings.topology_text(build_topology(instance, layouts), instance))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.heavy]) for name in instances.names()],
)
def test_solved_plans_read_in_order(name: str) -> None:
    """Proves on solved plans that the parts stand in the promised order and that every limit has its row."""
    instance = read_instance(name)
    plan = solve(instance)
    text = plan_text.plan_text(plan, instance)
    check_shape(text)
    parts = [f"{name}: ", "Decisions\n", "Score\n", "Where the GPU-hours go\n", "Limits\n", "Certificate (proven): "]
    parts += ["Candidates: ", "Method: ", "Assumptions and notes\n"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    limits = text[text.index("Limits\n") : text.index("Certificate")]
    assert limits.count("\n") == len(plan.evaluation.limits) + 3
    assert "VIOLATED" not in limits
    for note in instance.notes:
        words = note.removeprefix("Assumption: ").split()
        assert " ".join(words[1:]) in " ".join(text.split())
    assert "Assumption: Assumption" not in text


def objective(kind: str) -> Instance:
    overrides = {"objective": {"kind": kind} | ({"goodput_target": 700} if kind == "cost" else {})}
    return read_instance("academic-1k", overrides=overrides)


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        ("goodput", 883.84, "goodput 883.8 baseline GPUs (0."),
        ("cost", 9.5412e6, "cost 9.541 M$ per year, proven"),
        ("goodput_per_dollar", 0.81234, "0.8123 baseline GPU-hours per $, proven"),
    ],
)
def test_headline_says_the_objective_in_its_unit(kind: str, value: float, sentence: str) -> None:
    """Proves that each objective's headline and certificate name the quantity, its unit and the gap."""
    instance = objective(kind)
    plan = some_plan(instance, value=value, bound=value)
    first, second = plan_text.plan_text(plan, instance).splitlines()[:2]
    assert first.startswith(f"academic-1k: {sentence}")
    assert first.endswith("proven within 0.0081 %")
    assert second.startswith("With objective=")
    claim = {"goodput": "has more than 883.8 baseline GPUs", "cost": "costs less than 9.541 M$ per year"}
    expected = claim.get(kind, "gives more than 0.8123 baseline GPU-hours per $")
    assert f"no plan of this instance {expected};" in " ".join(plan_text.plan_text(plan, instance).split())


@pytest.mark.parametrize("status", ["limit reached", "interrupted"])
def test_not_proven_is_shouted(status: str) -> None:
    """Proves that a plan without proof says so in capitals in its first line and in the certificate, with the gap."""
    instance = read_instance("academic-1k")
    text = plan_text.plan_text(some_plan(instance, status=status, gap=0.0321), instance)
    first, second = text.splitlines()[:2]
    assert first.endswith(f", NOT PROVEN ({status})")
    assert second == "A better plan may exist, by up to 3.21 %."
    assert f"Certificate (NOT PROVEN, {status})" in text
    assert "proven within" not in text


def test_scenarios_and_overrides_are_stated() -> None:
    """Proves that a memo of a what-if can't pass for the base case: what was changed is its second line."""
    changes = {"limits.yearly_cost": "2 M$ per year"}
    instance = read_instance("academic-1k", scenarios=["half-mtbf"], overrides=changes)
    text = plan_text.plan_text(some_plan(instance), instance)
    assert text.splitlines()[1].startswith("With scenario half-mtbf (")
    assert "limits.yearly_cost=2 M$ per year." in " ".join(text.split())


def test_own_plan_names_what_it_breaks_and_what_is_not_offered() -> None:
    """Proves that an own plan says at once which limits it breaks, with the row marked, and what is not on offer."""
    overrides = {"limits.it_power": "1 kW", "limits.floor": 1, "limits.working_gpus": {"minimum": 1025}}
    instance = read_instance("academic-1k", overrides=overrides)
    mine = some_decisions(instance)
    text = plan_text.own_plan_text("p.yaml", mine, evaluate(instance, mine), instance, beyond=["cluster: racks 128"])
    check_shape(text)
    assert "\nYour plan BREAKS yearly cost, IT power, floor, working GPUs.\n" in text
    assert "\nYour plan has what the instance does not offer: cluster: racks 128.\n" in text
    for limit in ("IT power", "floor", "working GPUs"):
        (row,) = [line for line in text.splitlines() if line.startswith(f"{limit} ") and "VIOLATED" in line]
        assert " -" in row
    floor = next(line for line in text.splitlines() if line.startswith("floor "))
    expected = r"floor +128 rack positions +at most +1 rack positions +-127 rack positions +VIOLATED"
    assert re.fullmatch(expected, floor)


def test_placement_groups_read_as_words() -> None:
    """Proves that the placement limit reads "yes", or the blocks left over and VIOLATED, not a row of zeros."""
    instance = read_instance("meta-2026")
    fine = solve(instance).decisions
    assert re.search(
        r"whole placement groups +yes\n", plan_text.own_plan_text("p", fine, evaluate(instance, fine), instance)
    )
    zone = fine.zones[0].model_copy(update={"inter_block_spares": 5})
    odd = fine.model_copy(update={"zones": (zone,)})
    text = plan_text.own_plan_text("p", odd, evaluate(instance, odd), instance)
    assert re.search(r"whole placement groups +\d+ blocks left over +VIOLATED\n", text)


def test_split_classes_stand_together() -> None:
    """Proves that zones of one class built in two ways are grouped, most common first, as "3 of 4" and "1 of 4"."""
    instance = read_instance("gb200-4x256")
    mine = some_decisions(instance)
    rare_first = mine.model_copy(update={"zones": mine.zones[::-1]})
    lines = plan_text.own_plan_text("p", rare_first, evaluate(instance, rare_first), instance).splitlines()
    start = lines.index("Decisions")
    assert re.match(r"zone +3 of 4 +nvl72 ", lines[start + 3])
    assert re.match(r" +1 of 4 +nvl72 ", lines[start + 4])
    assert lines[start + 5].startswith("checkpoint plan ")


def test_comparison_shows_gain_in_the_first_lines_and_each_split_choice() -> None:
    """Proves that the optimum stands beside the own plan with the difference in per cent, decision by decision."""
    instance = read_instance("gb200-4x256")
    mine, best = some_decisions(instance), some_decisions(instance, split=False)
    plan = some_plan(instance, best)
    evaluation = evaluate(instance, mine)
    plan = some_plan(instance, best, value=2 * evaluation.goodput, bound=2 * evaluation.goodput)
    table = compare_decisions(instance, mine, best)
    text = plan_text.own_plan_text("p", mine, evaluation, instance, best=plan, table=table)
    assert "(+100.00 %)" in text.splitlines()[2]
    assert "\nzone in your plan:\n  3 × nvl72, " in text
    assert "\nzone in the optimum:\n  4 × nvl72, " in text


def test_loss_bars_are_to_scale() -> None:
    """Proves the bars by hand: 40 cells are all, in eighths; a share too small for an eighth has none."""
    assert wording.bar(1.0) == "█" * 40
    assert wording.bar(0.5) == "█" * 20
    assert wording.bar(0.0) == wording.bar(0.001) == ""
    assert wording.bar(1 / 320) == "▏"
    assert wording.bar(7 / 320) == "▉"
    assert wording.bar(0.0375) == "█▌"


def test_losses_sum_in_the_table() -> None:
    """Proves that all shares of checkpoints are listed with their GPUs, and that the sum line is the whole cluster."""
    instance = read_instance("academic-1k")
    evaluation = evaluate(instance, some_decisions(instance))
    lines = wording.render(score_text.losses_bars(evaluation)).splitlines()
    assert len(lines) == 1 + 8 + 1
    assert re.fullmatch(r"sum +100\.00 % +1,024", lines[-1])
    shares = [float(re.search(r"([0-9.]+) %", line)[1]) for line in lines[1:-1]]  # type: ignore[index]
    assert sum(shares) == pytest.approx(100, abs=0.05)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (1, "100.00 %"),
        (0.1234567, "12.35 %"),
        (0.000123, "0.0123 %"),
        (1e-6, "0.0001 %"),
        (3e-9, "3.0e-07 %"),
    ],
)
def test_percent_has_the_digits_it_needs(share: float, text: str) -> None:
    """Proves that a tail of 1e-9 is not shown as zero, nor 12 % with six digits."""
    assert wording.percent(share) == text


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("USD", 3.994e9, "3.994 G$"),
        ("USD per year", 1.541e6, "1.541 M$ per year"),
        ("kW", 1332.3, "1.332 MW"),
        ("baseline GPUs", 14746.08309, "14,746.1 baseline GPUs"),
        ("GPUs", 16384, "16,384 GPUs"),
        ("", 0.998751, "0.998751"),
    ],
)
def test_limits_have_units(unit: str, value: float, text: str) -> None:
    """Proves that every kind of limit is shown in its unit, short."""
    assert score_text.limit_number(unit, "USD")(value) == text


def test_an_instance_without_limits_says_so() -> None:
    """Proves that a missing table is not mistaken for a forgotten one."""
    instance = read_instance("meta-2026", overrides={"placement_group": None})
    assert "The instance sets no limits.\n" in plan_text.plan_text(some_plan(instance), instance)


def test_long_names_are_folded_not_cut() -> None:
    """Proves that names of 80 letters still fit, whole when read together, and that no number is broken."""
    long = "x" * 80
    instance = read_instance("academic-1k", overrides={"repair_plans.0.name": long, "designs.0.name": long})
    mine = some_decisions(instance)
    text = plan_text.own_plan_text("p", mine, evaluate(instance, mine), instance)
    check_shape(text)
    assert text.count("x") >= 160
    assert " 128 " in text
