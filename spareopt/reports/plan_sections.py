"""Sections of a report that need the plan and its instance alone: answer, plan, losses, proof, cost, topology."""

from __future__ import annotations

from typing import Any

import pandas as pd

from spareopt import units
from spareopt.answer_text import OPTIMAL, answer_sentences
from spareopt.decision_words import choice_words
from spareopt.decisions import at_the_edge, shelves_too_small
from spareopt.evaluation import Evaluation
from spareopt.instance import Instance
from spareopt.losses import LOSSES
from spareopt.money import WHAT_WORDS, cost_by_what, cost_items
from spareopt.plan import PROVEN, Plan
from spareopt.plan_text import by_enumeration
from spareopt.power_parts import power_parts
from spareopt.reports import drawn, findings
from spareopt.reports.parts import Cell, Missing, Section, Table, from_plain
from spareopt.score_text import (
    LOSS_NAMES,
    decisions_table,
    limit_name,
    limits_part,
    losses_bars,
    recovery_text,
    score_table,
)
from spareopt.simulation.result import Simulation
from spareopt.simulation.text import target_sentence
from spareopt.topology import ZoneLayout, as_data, build_topology
from spareopt.wording import counted, doubt, listed, number_text, objective_number, percent, share_text, signed_percent


def answer_section(plan: Plan, simulation: Simulation | None = None) -> Section:
    """The answer in three sentences, what stands out, and the headline numbers; a target of the simulation, too."""
    target = None if simulation is None else simulation.target
    e = plan.evaluation
    warnings = []
    if plan.certificate.status != PROVEN:
        why = {"interrupted": "the search was interrupted", "limit reached": "the search reached its time limit"}
        c = plan.certificate
        warnings.append(" ".join([f"NOT PROVEN: {why[c.status]}.", *doubt(c.status, c.gap, c.among)]))
    if e.violated:
        warnings.append(f"The plan BREAKS {listed(limit_name(row.limit) for row in e.violated)}.")
    return Section(
        "answer",
        "Answer",
        findings.answer_finding(plan),
        sentences=(
            *answer_sentences(plan, "as in the section on the plan", "see the section on assumptions"),
            *([] if simulation is None or target is None else [target_sentence(simulation, target)]),
        ),
        warning=" ".join(warnings),
        numbers=tuple(_headline_numbers(e)),
    )


def _headline_numbers(e: Evaluation) -> list[tuple[str, str]]:
    rows = [
        ("goodput", f"{e.goodput:,.0f} baseline GPUs"),
        ("goodput per GPU", f"{e.goodput_scale:.4f}"),
        ("CETT, useful share of GPU-hours", percent(e.cett)),
        ("availability", percent(e.availability) if e.unavailability > 1e-4 else f"1 − {e.unavailability:.1e}"),
        ("interruptions a day", number_text(e.interruptions_per_day)),
        ("GPUs in all / at work", f"{e.gpus:,} / {e.working_gpus:,}"),
    ]
    money = e.currency
    if e.capital is not None:
        rows.append(("capital", units.show(e.capital, units.MONEY, money)))
    if e.cost_per_year is not None:
        rows.append(("cost per year, capital spread", units.show(e.cost_per_year, units.MONEY, money)))
    if e.cost_per_useful_gpu_hour is not None:
        rows.append(("cost per useful GPU-hour", units.show(e.cost_per_useful_gpu_hour, units.MONEY, money)))
    if e.site_power_kw is not None:
        rows.append(("site power", units.show(e.site_power_kw, units.POWER)))
    if e.wall_time_h is not None:
        rows.append(("time to finish the job", units.show(e.wall_time_h, units.TIME)))
    return rows


def plan_section(plan: Plan, instance: Instance) -> Section:
    """What to build in each zone, the checkpoint plan, and what stands at the edge of the choices."""
    e, decisions = plan.evaluation, plan.decisions
    notes = [
        "I: trays of each block that stand idle, so that the block stays usable while so many of its trays are down. "
        "R: blocks of each zone that the job does not use, so that the job runs while so many blocks are out of use."
    ]
    if edges := at_the_edge(instance, decisions):
        notes.append(f"At the edge of the choices, where offering more may give a better plan: {'; '.join(edges)}.")
    if small := shelves_too_small(instance):
        notes.append(f"Nearly always empty, where offering more may give a better plan: {'; '.join(small)}.")
    return Section(
        "plan",
        "Plan by zone",
        findings.plan_finding(plan),
        sentences=(f"{recovery_text(decisions, e)[:1].upper()}{recovery_text(decisions, e)[1:]}.",),
        tables=(
            from_plain(decisions_table(decisions, e, instance), "What to build and how to run it, by zone"),
            from_plain(score_table(decisions, e, instance), "What the plan gives and takes"),
        ),
        notes=tuple(notes),
    )


def losses_section(plan: Plan) -> Section:
    """From all GPU-hours to the useful ones."""
    e = plan.evaluation
    return Section(
        "losses",
        "Losses",
        findings.losses_finding(e),
        sentences=(
            "All GPU-hours of the site are 100 %. Each step takes away what idle spares, blocked time, checkpoints and "
            "faults take; what is left is useful work.",
        ),
        pictures=(drawn.losses_picture(plan),),
        tables=(from_plain(losses_bars(e), "Where all GPU-hours go", total=True, without=("",)),),
        notes=(
            "Shares are attributed in this order: spare trays in blocks first, then idle blocks, then time. "
            "A share in GPUs is that of so many GPUs lost all the time.",
        ),
    )


def proof_section(plan: Plan) -> Section:
    """What is proven, in plain words and in numbers."""
    c, n, currency = plan.certificate, plan.candidates, plan.evaluation.currency

    def shown(value: float) -> str:
        return objective_number(c.objective, value, currency)

    sentences = []
    if c.status == PROVEN:
        which = "" if c.among == "all plans" else " that builds all zones of a class alike"
        sentences.append(
            f"The optimiser holds the plan's {c.model} score against a bound that no plan of this instance{which} can "
            "pass, whatever it decides. What lies between the two is all that a longer search could gain."
        )
    else:
        sentences.append(
            "The search ended before the bound came near. The plan stands as it was scored, but a better one may exist."
        )
    if plan.evaluation.cost_per_year is not None and c.objective != "cost" and c.gap >= OPTIMAL:
        worth = units.show(c.gap * plan.evaluation.cost_per_year, units.MONEY_PER_YEAR, currency)
        sentences.append(f"At the plan's cost, the gap is worth at most {worth}.")
    tried = f"Of {counted(n.enumerated, 'way')} to build a zone, {_were(n.dominated)} left out because another one is "
    tried += "at least as good in every plan"
    tried += f", {n.outbid:,} because no plan with them can beat this one" if n.outbid else ""
    enumerated = by_enumeration(plan)
    if enumerated:
        all_of = f"All {n.enumerated:,} ways" if n.enumerated > 1 else "The one way"
        tried = f"{all_of} to build a zone {'were' if n.enumerated > 1 else 'was'} tried"
    sentences.append(f"{tried}." if enumerated else f"{tried}; {_were(n.kept)} left to choose from.")
    for reason, number in n.excluded.items():
        sentences.append(f"{number:,} can't be built: {reason}.")
    if plan.greedy is not None:
        sentences.append(_greedy_sentence(plan))
    if plan.zones_alike is not None:
        alike = plan.zones_alike
        (choice,) = alike.decisions.zones
        sentences.append(
            f"With all zones alike, simpler to run: {shown(alike.value)} ({signed_percent(alike.value / c.value - 1)}) "
            f"by {choice_words(choice)}."
        )
    solved = "none was needed: the linear relaxation sufficed" if c.refinements == 0 else f"{c.refinements:,}"
    solved = "none: all plans were tried" if enumerated else solved
    rows = [
        ("status", "proven" if c.status == PROVEN else f"NOT PROVEN ({c.status})"),
        ("among", c.among),
        ("objective", f"{c.sense} {c.objective.replace('_', ' ').replace('dollar', 'money')}"),
        ("value of the plan", shown(c.value)),
        ("bound: no plan is better", shown(c.bound)),
        ("gap", percent(c.gap)),
        ("gap asked", share_text(c.gap_asked)),
        ("model", c.model),
        ("MILPs solved", solved),
        ("plans scored and cut off on the way", f"{c.plans_excluded:,}"),
    ]
    return Section(
        "proof",
        "Certificate",
        findings.certificate_finding(plan),
        sentences=tuple(sentences),
        tables=(Table("The certificate", ("", "value"), tuple(rows), frozenset({0, 1})),),
        notes=(
            "The proof is for the instance as stated. Whether its inputs are right is another question: see below.",
        ),
    )


def _were(number: int) -> str:
    return f"{number:,} {'was' if number == 1 else 'were'}"


def _greedy_sentence(plan: Plan) -> str:
    """What the classical heuristic would have given."""
    greedy, c = plan.greedy, plan.certificate
    assert greedy is not None
    if greedy.loss <= c.gap:
        return "Marginal analysis alone, the classical heuristic, finds a plan as good within the gap."
    shown = objective_number(c.objective, greedy.value, plan.evaluation.currency)
    return (
        f"Marginal analysis alone, the classical heuristic, would have given {shown} "
        f"({signed_percent(greedy.value / c.value - 1)})."
    )


def cost_section(plan: Plan, instance: Instance) -> Section:
    """What is paid for, what draws power, and what the idle spares take of both."""
    e = plan.evaluation
    cost, power = findings.cost_finding(plan), findings.power_finding(plan)
    pictures, tables, missing, sentences = [], [], [], []
    if (money := money_data(plan, instance)) is not None:
        pictures.append(drawn.money_picture(plan, instance, money))
        tables.append(_amounts(money, "Cost per year by what is paid for", e.currency))
        years = units.show(instance.economics.amortisation, units.TIME).replace(" year", " years")
        sentences.append(f"Capital is spread over {years} without discount; what is paid each year is added.")
    else:
        why = "the instance states no price of every design it may buy, so no cost is known"
        missing.append(Missing(f"Cost: {why}", "spareopt template prices"))
    if (parts := power_data(plan, instance)) is not None:
        pictures.append(drawn.power_picture(plan, instance, parts))
        rows = [
            (str(name), Cell(units.show(float(kw), units.POWER), float(kw)), Cell(percent(float(share)), float(share)))
            for name, kw, share in zip(parts["part"], parts["kw"], parts["share_of_site"], strict=True)
        ]
        tables.append(Table("Power while the job runs", ("part", "power", "of the site"), tuple(rows), total=True))
        if power and cost:
            sentences.append(f"{power}.")
    else:
        missing.append(Missing("Power: the instance does not state what every design draws"))
    sentences += [f"Idle spares: {e.idle_spares.gpus:,} GPUs{_idle_words(e)}."] if e.idle_spares.gpus else []
    return Section(
        "cost",
        "Cost and power",
        cost or power or "Neither prices nor power are stated",
        sentences=tuple(sentences),
        pictures=tuple(pictures),
        tables=tuple(tables),
        missing=tuple(missing),
    )


def _idle_words(e: Evaluation) -> str:
    idle, words = e.idle_spares, []
    if idle.capital is not None:
        words.append(f"{units.show(idle.capital, units.MONEY, e.currency)} of capital")
    if idle.energy_kwh_per_year is not None:
        words.append(f"{number_text(idle.energy_kwh_per_year / 1e6)} GWh per year")
    if idle.cost_per_year is not None:
        words.append(f"{units.show(idle.cost_per_year, units.MONEY_PER_YEAR, e.currency)} in all")
    return f" that take {', '.join(words)}" if words else ""


def money_data(plan: Plan, instance: Instance) -> pd.DataFrame | None:
    """The cost per year by what is paid for, then all of it; None where no prices are known."""
    items = cost_items(plan.decisions, plan.evaluation, instance)
    if items is None:
        return None
    total = plan.evaluation.cost_per_year or 0.0
    rows = [(WHAT_WORDS[what], value) for what, value in cost_by_what(items).items()]
    rows.append(("in all", total))
    column = f"{plan.evaluation.currency.lower()}_per_year"
    frame = pd.DataFrame(rows, columns=["what", column])
    return frame.assign(share=frame[column] / total if total else 0.0)


def power_data(plan: Plan, instance: Instance) -> pd.DataFrame | None:
    """The power by what draws it, then that of the site; None where it is not stated."""
    parts = power_parts(plan.decisions, plan.evaluation, instance)
    if parts is None:
        return None
    site = parts.it_power + parts.overhead
    rows = [
        ("working trays", parts.working_trays),
        ("idle trays", parts.idle_trays),
        ("rest of the racks", parts.rest_of_racks),
        ("cooling and losses", parts.overhead),
        ("site power", site),
    ]
    frame = pd.DataFrame(rows, columns=["part", "kw"])
    return frame.assign(share_of_site=frame["kw"] / site)


def _amounts(frame: pd.DataFrame, caption: str, currency: str) -> Table:
    """Amounts of money and their shares."""
    rows = [
        (
            str(row.what),
            Cell(units.show(float(row[2]), units.MONEY_PER_YEAR, currency), float(row[2])),
            Cell(percent(float(row.share)), float(row.share)),
        )
        for row in frame.itertuples()
    ]
    return Table(caption, ("", "per year", "share"), tuple(rows), total=True)


def limits_table(plan: Plan) -> Table | None:
    """How far the plan is from each limit; None where there are none."""
    if not plan.evaluation.limits:
        return None
    _, table, *_ = limits_part(plan.evaluation)
    return from_plain(table, "The plan beside each limit")  # type: ignore[arg-type]


def topology_section(plan: Plan, instance: Instance) -> Section:
    """What is built, block by block, and what takes what down."""
    data = topology_data(plan, instance)
    blocks = pd.DataFrame(
        [
            {
                "zone": choice.zone,
                "zones": choice.count,
                "design": choice.design,
                "blocks_per_zone": choice.racks * design.blocks_per_rack,
                "spare_blocks_per_zone": choice.inter_block_spares - zone.stranded_blocks,
                "stranded_blocks_per_zone": zone.stranded_blocks,
                "trays_per_block": design.trays_per_block,
                "spare_trays_per_block": choice.intra_block_spares,
            }
            for choice, zone in zip(plan.decisions.zones, plan.evaluation.zones, strict=True)
            for design in instance.designs
            if design.name == choice.design
        ]
    )
    rows = tuple(
        (
            str(row["kind"] if row["fault"] in (None, row["kind"]) else f"{row['kind']} {row['fault']}"),
            Cell(f"{row['units']:,.0f}", float(row["units"])),
            Cell(f"{row['blast_radius_gpus']:,.0f}", float(row["blast_radius_gpus"])),
            Cell(number_text(24 * row["units"] * row["rate_per_h"]), float(24 * row["units"] * row["rate_per_h"])),
        )
        for row in data
    )
    worst = max(data, key=lambda row: float(row["blast_radius_gpus"]) if row["rate_per_h"] else 0.0)
    found = (
        f"The widest fault, of a {worst['kind'] if worst['kind'] != 'domain' else worst['fault']}, takes down "
        f"{worst['blast_radius_gpus']:,.0f} of {plan.evaluation.gpus:,} GPUs"
        if any(row["rate_per_h"] for row in data)
        else "No unit of the site fails by itself"
    )
    return Section(
        "topology",
        "Topology",
        found,
        sentences=("Each cell is a block (or several, as the scale says); a fault takes down whatever is below it.",),
        pictures=(drawn.topology_picture(plan, instance, blocks),),
        tables=(
            Table(
                "Units of the site and their faults",
                ("unit", "how many", "GPUs one takes down", "faults a day"),
                rows,
            ),
        ),
    )


def topology_data(plan: Plan, instance: Instance) -> list[dict[str, Any]]:
    """Each kind of unit: how many, what one takes down, how often one fails; those alike of several zones together."""
    designs = {design.name: design for design in instance.designs}
    layouts = [ZoneLayout(c.zone, c.count, designs[c.design], c.racks) for c in plan.decisions.zones]
    alike: dict[tuple[object, ...], dict[str, Any]] = {}
    for row in as_data(build_topology(instance, layouts))["nodes"]:
        key = (row["kind"], row["fault"], row["blast_radius_gpus"], row["rate_per_h"])
        known = alike.setdefault(key, {**row, "units": 0.0})
        known["units"] += row["units"]
    order = list(dict.fromkeys(row["kind"] for row in alike.values()))
    return sorted(alike.values(), key=lambda row: order.index(row["kind"]))


def loss_rows(evaluation: Evaluation) -> list[tuple[str, float]]:
    """Each loss that there is with its share, in the order in which they are attributed."""
    return [(LOSS_NAMES[name], evaluation.losses[name]) for name in LOSSES if evaluation.losses[name]]
