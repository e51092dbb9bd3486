"""Sections of a report that hold analyses: what binds, what is nearly as good, curves, scenarios, simulation."""

from __future__ import annotations

import shlex
from typing import TypeVar

from spareopt import units
from spareopt.curve_text import (
    frontier_notes,
    frontier_table,
    marginal_notes,
    marginal_table,
    resource_name,
    tornado_notes,
    tornado_table,
)
from spareopt.decision_words import choices_words
from spareopt.decisions import at_the_edge
from spareopt.explain_text import binding_parts, near_cut, near_plans, near_ranges, near_statement
from spareopt.instance import Instance
from spareopt.plan import PROVEN, Plan
from spareopt.reports import drawn, findings
from spareopt.reports.analyses import WITHIN, Analyses, Analysis, InScenario
from spareopt.reports.parts import Cell, Missing, Panel, Section, Table, from_plain
from spareopt.reports.plan_sections import limits_table, loss_rows
from spareopt.score_text import limit_name
from spareopt.simulation.text import agreement_table, headline, running_table, target_sentence, target_table
from spareopt.wording import (
    Show,
    applied_text,
    hundredths,
    listed,
    objective_number,
    percent,
    signed_percent,
)

T = TypeVar("T")


def _alike_note(plan: Plan, instance: Instance, analyses: Analyses, given: str) -> tuple[str, ...]:
    """What the quick what-ifs are solved for, and how far that is from the plan; nothing where it is the same."""
    if given:
        return (f"Read from the result folder {given}.",)
    if analyses.alike is None or all(zone.count == 1 for zone in instance.zones):
        return ()
    c, value = plan.certificate, analyses.alike.certificate.value
    shown = objective_number(c.objective, value, plan.evaluation.currency)
    change = value / c.value - 1.0
    far = f"{signed_percent(change)} from the plan" if abs(change) > findings.STILL else "as good as the plan"
    return (
        "Solved anew at each point for the best plan that builds all zones of a class alike, by exhaustive search: "
        f"today that has {shown}, {far}. Plans that mix zones may be a little better at each point.",
    )


def _missing(what: str, analysis: Analysis[T], command: str) -> Missing:
    return Missing(f"{what}: {analysis.why or 'it was not made'}", command)


def binding_section(plan: Plan, instance: Instance, analyses: Analyses, source: str) -> Section:
    """What holds the plan back, and what a little more of each limit or input is worth."""
    found, pictures, tables, notes, missing = [], [], [], [], []
    if plan.evaluation.limits:
        pictures.append(drawn.limits_picture(plan, analyses.binds.result or ()))
    if (binds := analyses.binds.result) is not None:
        found.append(findings.binding_finding(binds, plan.certificate.objective))
        if binds:
            _, table, *words = binding_parts(binds, instance, at_the_edge(instance, plan.decisions))
            tables.append(from_plain(table, "What binds, and the optimum without it"))  # type: ignore[arg-type]
            notes += [" ".join(str(word).split()) for word in words if word]
    else:
        if (table := limits_table(plan)) is not None:
            tables.append(table)
        missing.append(_missing("What binds", analyses.binds, f"spareopt explain {source}"))
    if (marginal := analyses.marginal.result) is not None:
        found.append(findings.marginal_finding(marginal))
        if marginal.values:
            pictures.append(drawn.marginal_picture(marginal))
            tables.append(from_plain(marginal_table(marginal), "What a step more or less is worth"))
        notes += marginal_notes(marginal)
        notes += _alike_note(plan, instance, analyses, given) if (given := analyses.marginal.given) else ()
    else:
        missing.append(_missing("Marginal values", analyses.marginal, f"spareopt marginal {source} -o marginal"))
    notes += _alike_note(plan, instance, analyses, "")
    return Section(
        "binding",
        "What binds",
        ". ".join(found) or "What binds is not known",
        sentences=(
            "A limit binds where the optimum would be better without it. A marginal value is the difference between "
            "two optima, one step apart.",
        ),
        pictures=tuple(pictures),
        tables=tuple(tables),
        notes=tuple(notes),
        missing=tuple(missing),
    )


def near_section(plan: Plan, instance: Instance, analyses: Analyses, source: str) -> Section:
    """The plans nearly as good, and what separates them."""
    near = analyses.near.result
    if near is None:
        missing = _missing("Plans nearly as good", analyses.near, f"spareopt explain {source} --within '{WITHIN}'")
        return Section("near", "Nearly as good", "Plans nearly as good are not known", missing=(missing,))
    pictures = [drawn.ladder_picture(near)] if len(near.plans) > 1 else []
    pictures += [drawn.grid_picture(near)] if any(row.change is not None for row in near.grid) else []
    tables = []
    if near.plans:
        tables.append(from_plain(near_plans(near, instance), "The plans, and what separates them from the best"))
    if near.ranges:
        tables.append(from_plain(near_ranges(near, instance), "Values that each decision may have"))
    return Section(
        "near",
        "Nearly as good",
        findings.near_finding(near, instance),
        sentences=(
            near_statement(near, plan, instance),
            "Where plans are as good for every purpose, choose by what the objective does not say: what is simpler to "
            "run, to buy or to mend.",
        ),
        pictures=tuple(pictures),
        tables=tuple(tables),
        notes=tuple(filter(None, [near_cut(near)])),
    )


def frontier_section(plan: Plan, instance: Instance, analyses: Analyses, source: str) -> Section:
    """What more or less of capital, cost or power would give."""
    curves = analyses.frontiers.result
    if not curves:
        missing = _missing("The frontier", analyses.frontiers, f"spareopt frontier {source}")
        return Section("frontier", "Frontier", "The frontier is not known", missing=(missing,))
    notes: list[str] = []
    for curve in curves:
        notes += frontier_notes(curve)
    return Section(
        "frontier",
        "Frontier",
        ". ".join(findings.frontier_finding(curve) for curve in curves),
        sentences=("Each point is the plan with the most goodput for what it takes.",),
        pictures=tuple(drawn.frontier_picture(curve) for curve in curves),
        tables=tuple(
            from_plain(frontier_table(curve), f"Goodput against {resource_name(curve.of)}") for curve in curves
        ),
        notes=(*dict.fromkeys(notes), *_alike_note(plan, instance, analyses, analyses.frontiers.given)),
    )


def tornado_section(plan: Plan, instance: Instance, analyses: Analyses, source: str) -> Section:
    """How sure the result is against uncertain inputs."""
    result = analyses.tornado.result
    if result is None:
        missing = _missing("The tornado", analyses.tornado, f"spareopt tornado {source} -o tornado")
        return Section("tornado", "Uncertain inputs", "What uncertain inputs do is not known", missing=(missing,))
    moving = any(bar.swing > 0 for bar in result.bars)
    return Section(
        "tornado",
        "Uncertain inputs",
        findings.tornado_finding(result),
        sentences=(
            "Each input is set to both ends of its interval, the others as stated: once for the plan as it is, once "
            "for the best plan there. Where the two differ, it pays to know the input before the plan is built.",
        ),
        pictures=(drawn.tornado_picture(result),) if moving else (),
        tables=(from_plain(tornado_table(result), "The objective at both ends of each uncertain input"),)
        if moving
        else (),
        notes=(*tornado_notes(result), *_alike_note(plan, instance, analyses, analyses.tornado.given)),
    )


def scenarios_section(plan: Plan, instance: Instance, analyses: Analyses, known: bool) -> Section:
    """What happens in each scenario of the instance: pick one, or read them all in the table."""
    rows, nominal = analyses.scenarios.result, analyses.alike
    if not rows:
        why = analyses.scenarios.why or (
            "the instance states none that the plan is not made of"
            if known
            else "the plan folder does not hold them; give the instance file: spareopt report RUN --instance FILE"
        )
        return Section("scenarios", "Scenarios", "No scenarios are shown", missing=(Missing(f"Scenarios: {why}"),))
    value = None if nominal is None else nominal.certificate.value
    of_alike = _alike_note(plan, instance, analyses, "")
    best = "best plan with zones alike" if of_alike else "best plan"
    return Section(
        "scenarios",
        "Scenarios",
        findings.scenarios_finding(rows, nominal, best),
        sentences=(
            f"The {best} in each scenario beside the nominal one. On a screen, pick a scenario to see more of it; "
            "the table holds all of them.",
        ),
        pictures=() if value is None else (drawn.scenarios_picture(plan, value, rows),),
        panels=tuple(_panel(row, nominal, plan, instance) for row in rows),
        tables=(_scenarios_table(rows, nominal, plan, best),),
        notes=(
            "The plan as it is: this report's plan under the scenario's circumstances. \"Breaks\" names limits that it "
            "would break there: it is then no option.",
            *_nominal_note(plan),
            *of_alike,
        ),
    )


def _nominal_note(plan: Plan) -> tuple[str, ...]:
    """What scenarios are applied to, where that is not the instance as it is stated."""
    if not plan.provenance.applied:
        return ()
    made = applied_text(plan.provenance.applied).rstrip(".")
    return (f"Nominal is the instance as this plan was made, and each scenario changes that further: {made}.",)


def _moved(row: InScenario, nominal: Plan | None) -> Cell:
    """How far the best plan of a scenario is from the nominal one."""
    best = row.answer.plan
    if best is None:
        words = {"infeasible": "no plan is possible", "failed": "can't be asked"}
        return Cell(words.get(row.answer.status, row.answer.status))
    if nominal is None or best.certificate.objective != nominal.certificate.objective:
        return Cell("another objective")
    change = best.certificate.value / nominal.certificate.value - 1.0
    return Cell(signed_percent(change if abs(change) > findings.STILL else 0.0), change)


def _kept(row: InScenario, plan: Plan) -> str:
    """What the report's plan does in a scenario."""
    if row.broken:
        return f"breaks {listed(map(limit_name, row.broken))}" if row.kept is not None else "can't be built"
    if row.kept is None or row.instance is None:
        return ""
    return objective_number(row.instance.objective.kind, row.kept, plan.evaluation.currency)


def _scenarios_table(rows: tuple[InScenario, ...], nominal: Plan | None, plan: Plan, which: str) -> Table:
    """A row for each scenario: its best plan, and the report's own plan there."""
    out: list[tuple[str | Cell, ...]] = []
    first: list[tuple[InScenario | None, Plan | None]] = [(None, nominal)]
    for row, best in [*first, *((row, row.answer.plan) for row in rows)]:
        name = "nominal" if row is None else row.name
        if best is None:
            out.append((name, _moved(row, nominal) if row else "", "", "", "", _kept(row, plan) if row else "", ""))
            continue
        e, c = best.evaluation, best.certificate
        out.append(
            (
                name,
                Cell("", 0.0) if row is None else _moved(row, nominal),
                Cell(objective_number(c.objective, c.value, e.currency), c.value),
                Cell(percent(e.losses["useful"]), e.losses["useful"]),
                _cost(best),
                "" if row is None else _kept(row, plan),
                _decided(best),
            )
        )
    headers = ("scenario", "change", "objective", "useful GPU-hours", "cost", "this plan as it is", which)
    if not any(isinstance(cells[4], Cell) for cells in out):  # nothing is priced
        out = [cells[:4] + cells[5:] for cells in out]
        return Table("All scenarios", headers[:4] + headers[5:], tuple(out), frozenset({0, 4, 5}))
    return Table("All scenarios", headers, tuple(out), frozenset({0, 5, 6}))


def _cost(plan: Plan) -> str | Cell:
    """What a plan costs per year; nothing where that is not known."""
    cost = plan.evaluation.cost_per_year
    return "" if cost is None else Cell(units.show(cost, units.MONEY_PER_YEAR, plan.evaluation.currency), cost)


def _panel(row: InScenario, nominal: Plan | None, plan: Plan, instance: Instance) -> Panel:
    """A scenario: what it changes, its plan, losses and numbers beside the nominal ones."""
    said = [row.description.rstrip(".") + "."] if row.description else []
    said.append(f"It changes {'; '.join(row.changes)}." if row.changes else "It changes nothing that is told.")
    best = row.answer.plan
    if best is None:
        said.append(f"There is no plan: {row.answer.why or row.answer.status}")
        return Panel(row.name, tuple(said))
    if best.certificate.status != PROVEN:
        said.append(f"NOT PROVEN ({best.certificate.status}).")
    if row.broken:
        said.append(f"The plan of this report {_kept(row, plan)} there.")
    base = nominal or plan
    changed = best.decisions != base.decisions
    if changed:
        said += [f"Nominal: {_decided(base)}.", f"Best there: {_decided(best)}."]
    else:
        said.append(f"The best plan there is the nominal one: {_decided(base)}.")
    losses = dict(loss_rows(base.evaluation)), dict(loss_rows(best.evaluation))
    names = [*dict.fromkeys([*losses[0], *losses[1]])]
    shares = tuple(
        (
            name,
            hundredths(losses[0].get(name, 0.0)),
            hundredths(losses[1].get(name, 0.0)),
            _points(losses[1].get(name, 0.0) - losses[0].get(name, 0.0)),
        )
        for name in names
    )
    heads = ("nominal", row.name, "change")
    return Panel(
        row.name,
        tuple(said),
        (
            Table(f"{row.name}: the plan and its numbers", ("", *heads), tuple(_numbers(base, best))),
            Table(f"{row.name}: where the GPU-hours go", ("share of GPU-hours", *heads), shares),
        ),
    )


def _decided(plan: Plan) -> str:
    """A plan's decisions in a line."""
    return f"{choices_words(plan.decisions.zones)}; checkpoint plan {plan.decisions.checkpoint_plan}"


def _points(change: float) -> str:
    """A change of a share, in percentage points."""
    points = f"{100 * change:+.2f}".replace("-", "−")
    return "" if points in ("+0.00", "−0.00") else f"{points} points"


def _numbers(base: Plan, best: Plan) -> list[tuple[str, str, str, str]]:
    """The numbers of two plans side by side, those that both know."""
    money = best.evaluation.currency
    one, two = base.evaluation, best.evaluation
    shown: list[tuple[str, float | None, float | None, Show]] = [
        ("goodput, baseline GPUs", one.goodput, two.goodput, lambda v: f"{v:,.1f}"),
        ("GPUs", float(one.gpus), float(two.gpus), lambda v: f"{v:,.0f}"),
        ("availability", one.availability, two.availability, lambda v: f"{v:.6f}"),
        ("interruptions a day", one.interruptions_per_day, two.interruptions_per_day, lambda v: f"{v:,.2f}"),
        ("capital", one.capital, two.capital, lambda v: units.show(v, units.MONEY, money)),
        ("cost per year", one.cost_per_year, two.cost_per_year, lambda v: units.show(v, units.MONEY, money)),
        ("IT power", one.it_power_kw, two.it_power_kw, lambda v: units.show(v, units.POWER)),
    ]
    return [
        (name, show(old), show(new), signed_percent(new / old - 1.0 if abs(new / old - 1.0) > findings.STILL else 0.0))
        for name, old, new, show in shown
        if old is not None and new is not None and old
    ]


def simulation_section(analyses: Analyses, source: str) -> Section:
    """The plan played event by event, beside the exact model."""
    result = analyses.simulation.result
    if result is None:
        missing = _missing("The simulation", analyses.simulation, _simulate(source))
        return Section("simulation", "Simulated quarters", "The plan was not simulated", missing=(missing,))
    picture = drawn.quarter_picture(result)
    given, aim = analyses.simulation.given, result.target
    says = [" ".join(line.split()) for line in headline(result, "")[2:]]
    return Section(
        "simulation",
        "Simulated quarters",
        findings.simulation_finding(result),
        sentences=(
            *([target_sentence(result, aim)] if aim is not None else []),
            findings.agreement_words(result),
            "The simulator plays the plan event by event and shares no formula with the exact model. A quarter is "
            "short: what one gives scatters around the exact mean.",
        ),
        pictures=() if picture is None else (picture,),
        tables=(
            *([from_plain(target_table(result, aim), "What a quarter reaches, by confidence")] if aim else []),
            from_plain(agreement_table(result), "The exact model beside the simulation"),
            from_plain(running_table(result), "What it is like to run it"),
        ),
        notes=tuple(filter(None, [*says, f"Read from the result folder {given}." if given else ""])),
        missing=()
        if picture is not None
        else (Missing("The course of a quarter: this simulation holds none", _simulate(source)),),
    )


def _simulate(source: str) -> str:
    (file,) = shlex.split(source)
    plan = shlex.quote(f"{file.rpartition('/')[0]}/plan.json")
    return f"spareopt simulate {source} --plan {plan} -o simulation"
