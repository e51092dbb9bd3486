"""Plans, evaluations and instances as text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from io import StringIO

import networkx as nx
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.tree import Tree

from spareopt import units
from spareopt.comparison import objective_value
from spareopt.decisions import Decisions, at_the_edge
from spareopt.evaluation import Evaluation
from spareopt.instance import Instance
from spareopt.limits import LimitSlack
from spareopt.plan import PROVEN, Certificate, Plan, ZonesAlike
from spareopt.topology import SITE, blast_radius
from spareopt.topology import units as unit_counts

WIDTH = 110
PROSE = 100
BAR = 40
LOSS_NAMES = {
    "useful": "useful work",
    "intra_block_spares": "idle spare trays in blocks",
    "inter_block_spares": "idle spare blocks",
    "stranded_blocks": "stranded blocks",
    "blocked": "blocked (a zone is short)",
    "checkpoint_saves": "checkpoint saves",
    "detection_and_restart": "detection and restart",
    "lost_work": "lost work",
}
LIMIT_NAMES = {
    "it_power": "IT power",
    "working_gpus.minimum": "working GPUs",
    "working_gpus.maximum": "working GPUs",
    "placement_group": "whole placement groups",
}
SENSES = {"<=": "at most", ">=": "at least"}
Show = Callable[[float], str]


def render(*parts: object) -> str:
    """Rich renderables and strings as plain text."""
    console = Console(file=StringIO(), width=WIDTH, no_color=True, highlight=False, legacy_windows=False)
    for part in parts:
        console.print(part, markup=False, soft_wrap=isinstance(part, str))
    assert isinstance(console.file, StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


def plan_text(plan: Plan, instance: Instance) -> str:
    """A plan as a planner would paste it: headline, decisions, score, losses, limits, certificate, method."""
    return render(
        *headline(plan),
        *_body(plan.decisions, plan.evaluation, instance),
        *certificate_text(plan),
        *_edge_note(plan.decisions, instance),
        *method_text(plan.evaluation, instance),
    )


def own_plan_text(
    source: str,
    mine: Decisions,
    evaluation: Evaluation,
    instance: Instance,
    *,
    beyond: Sequence[str] = (),
    best: Plan | None = None,
    table: pd.DataFrame | None = None,
) -> str:
    """The score of a planner's own plan, and where known the optimum beside it, decision by decision."""
    kind, money = instance.objective.kind, instance.currency
    value = objective_value(instance, evaluation)
    known = "no cost known" if value is None else objective_text(kind, value, money)
    lines = [f"{instance.name}: your plan has {known}{_scale(kind, evaluation)}", f"Your plan: {source}"]
    lines += [_applied(instance.applied)] if instance.applied else []
    if best is not None:
        certificate = best.certificate
        gain = "" if not value else f" ({_change(certificate.value, value)})"
        lines.append(f"The optimum: {objective_text(kind, certificate.value, money)}{gain}, {_proof(best)}")
        lines += _doubt(best)
    if evaluation.violated:
        lines.append(f"Your plan BREAKS {_list(_limit_name(limit) for limit in evaluation.violated)}.")
    lines += [f"Your plan has what the instance does not offer: {'; '.join(beyond)}."] if beyond else []
    parts = [*map(_prose, lines), *_body(mine, evaluation, instance)]
    if table is not None:
        parts += _comparison(table, kind, value, money)
    return render(*parts, *method_text(evaluation, instance))


def _body(decisions: Decisions, evaluation: Evaluation, instance: Instance) -> list[object]:
    period = units.show(evaluation.checkpoint_period_h, units.TIME)
    return [
        "",
        "Decisions",
        decisions_table(decisions, evaluation, instance),
        f"checkpoint plan {decisions.checkpoint_plan}: {period} of work between saves",
        "",
        "Score",
        score_table(decisions, evaluation, instance),
        "",
        "Where the GPU-hours go",
        losses_bars(evaluation),
        "",
        *limits_part(evaluation),
    ]


def headline(plan: Plan) -> list[str]:
    """The result in one sentence, and what was changed in the instance."""
    certificate = plan.certificate
    value = objective_text(certificate.objective, certificate.value, plan.evaluation.currency)
    text = f"{plan.provenance.instance}: {value}{_scale(certificate.objective, plan.evaluation)}, {_proof(plan)}"
    applied = plan.provenance.applied
    return [_prose(line) for line in (text, *_doubt(plan), *([_applied(applied)] if applied else []))]


def _proof(plan: Plan) -> str:
    certificate = plan.certificate
    if certificate.status == PROVEN:
        return f"proven within {percent(certificate.gap)}"
    return f"NOT PROVEN ({certificate.status})"


def _doubt(plan: Plan) -> list[str]:
    """What a plan without a proof must say at once."""
    if plan.certificate.status == PROVEN:
        return []
    return [f"A better plan may exist, by up to {percent(plan.certificate.gap)}."]


def _scale(kind: str, evaluation: Evaluation) -> str:
    return f" ({evaluation.goodput_scale:.4f} per GPU)" if kind == "goodput" else ""


def _applied(applied: Iterable[str]) -> str:
    groups: dict[str, list[str]] = {}
    for text in applied:
        scenario, colon, change = text.partition(": ")
        named = bool(colon) and scenario.startswith("scenario ")
        groups.setdefault(scenario if named else "", []).append(change if named else text)
    parts = [f"{name} ({'; '.join(changes)})" if name else "; ".join(changes) for name, changes in groups.items()]
    return f"With {'; '.join(parts)}."


def objective_text(kind: str, value: float, currency: str) -> str:
    """The objective's value with its name and unit."""
    return {"goodput": "goodput ", "cost": "cost "}.get(kind, "") + objective_number(kind, value, currency)


def objective_number(kind: str, value: float, currency: str) -> str:
    """The objective's value with its unit."""
    if kind == "goodput":
        return f"{value:,.1f} baseline GPUs"
    if kind == "cost":
        return units.show(value, units.MONEY_PER_YEAR, currency)
    return f"{value:,.4f} baseline GPU-hours per {units.CURRENCIES[currency]}"


def _table(*headers: str, left: Iterable[str] = ()) -> Table:
    """A plain table; numbers to the right and never broken, names (``left``) to the left and folded if need be."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(headers))
    left = tuple(left)
    for header in headers:
        name = header in left
        table.add_column(header, justify="left" if name else "right", no_wrap=not name, overflow="fold", vertical="top")
    return table


def decisions_table(decisions: Decisions, evaluation: Evaluation, instance: Instance) -> Table:
    """What to buy and how to run it, a row per zone choice; a class that is split has its rows together."""
    stranding = instance.placement_group is not None or any(zone.stranded_blocks for zone in evaluation.zones)
    headers = ["zone", "zones", "design", "racks\nper zone", "I: spare\ntrays/block", "R: spare\nblocks/zone"]
    headers += ["of them\nstranded"] if stranding else []
    table = _table(*headers, "repair plan", "GPU\nlimit", left=("zone", "design", "repair plan"))
    number = {zone.name: zone.count for zone in instance.zones}
    order = list(number)
    rows = sorted(
        zip(decisions.zones, evaluation.zones, strict=True), key=lambda row: (order.index(row[0].zone), -row[0].count)
    )
    above = ""
    for choice, zone in rows:
        limit = "full" if choice.gpu_limit is None else f"{choice.gpu_limit * 1000:,.6g} W"
        of = (
            f"{choice.count:,}"
            if choice.count == number[choice.zone]
            else f"{choice.count:,} of {number[choice.zone]:,}"
        )
        name = choice.zone if choice.zone != above else ""
        above = choice.zone
        stranded = [f"{zone.stranded_blocks:,}"] if stranding else []
        table.add_row(
            name, of, choice.design, f"{choice.racks:,}", f"{choice.intra_block_spares:,}",
            f"{choice.inter_block_spares:,}", *stranded, choice.repair_plan, limit,
        )  # fmt: skip
    return table


def score_table(decisions: Decisions, evaluation: Evaluation, instance: Instance) -> Table:
    """The quantities of an evaluation, those that are known."""
    e, money, idle = evaluation, evaluation.currency, evaluation.idle_spares
    racks = sum(choice.count * choice.racks for choice in decisions.zones)
    years = units.show(instance.economics.amortisation, units.TIME).replace(" year", " years")

    def amount(value: float | None, kind: units.Kind = units.MONEY) -> str | None:
        return _maybe(value, lambda v: units.show(v, kind, money))

    def gigawatt_hours(value: float | None) -> str | None:
        return _maybe(value, lambda v: f"{_number(v / 1e6)} GWh per year")

    def tonnes(value: float | None) -> str | None:
        return _maybe(value, lambda v: f"{_number(v / 1000)} t per year")

    rows: list[tuple[str, str | None]] = [
        ("GPUs", f"{e.gpus:,} in {racks:,} racks; {e.working_gpus:,} at work"),
        ("goodput", f"{e.goodput:,.1f} baseline GPUs ({e.goodput_scale:.4f} per GPU)"),
        ("CETT, useful share of GPU-hours", f"{e.cett:.5f}"),
        ("availability A", f"{e.availability:.6f} (blocked {percent(e.unavailability)} of the time)"),
        ("recovery efficiency", f"{e.recovery_efficiency:.5f}"),
        ("interruptions", f"{_number(e.interruptions_per_day)} a day"),
        ("crews", _crews_text(e)),
        ("scale, hardware × LLM", f"{e.scale:.4f}"),
        ("time to finish the job", _maybe(e.wall_time_h, lambda v: units.show(v, units.TIME))),
        ("capital", amount(e.capital)),
        ("yearly cost", amount(e.yearly_cost or None, units.MONEY_PER_YEAR)),
        (f"cost, capital over {years}", amount(e.cost_per_year, units.MONEY_PER_YEAR)),
        ("cost per useful GPU-hour", amount(e.cost_per_useful_gpu_hour)),
        ("IT power", _maybe(e.it_power_kw, lambda v: units.show(v, units.POWER))),
        ("site power", _maybe(e.site_power_kw, lambda v: units.show(v, units.POWER))),
        ("energy", gigawatt_hours(e.energy_kwh_per_year)),
        ("energy per useful GPU-hour", _maybe(e.energy_kwh_per_useful_gpu_hour, lambda v: f"{_number(v)} kWh")),
        ("carbon", tonnes(e.carbon_kg_per_year)),
        ("carbon per useful GPU-hour", _maybe(e.carbon_kg_per_useful_gpu_hour, lambda v: f"{_number(v)} kg")),
        ("of this the idle spares", f"{idle.gpus:,} GPUs"),
        ("  their capital", amount(idle.capital)),
        ("  their energy", gigawatt_hours(idle.energy_kwh_per_year)),
        ("  their carbon", tonnes(idle.carbon_kg_per_year)),
        ("  their cost", amount(idle.cost_per_year, units.MONEY_PER_YEAR)),
    ]
    table = _table("", "", left=("",))
    for name, text in rows:
        if text is not None:
            table.add_row(name, text)
    return table


def _crews_text(e: Evaluation) -> str | None:
    """How busy the crews are and how long a failed unit waits for one; None where crews are ample everywhere."""
    known = {
        (zone.crew_utilisation, zone.crew_mean_wait_h)
        for zone in e.zones
        if zone.crew_utilisation is not None and zone.crew_mean_wait_h is not None
    }
    texts = [
        f"busy {percent(busy)} of the time, mean wait {units.show(wait, units.TIME)}" for busy, wait in sorted(known)
    ]
    return "; ".join(texts) or None


def losses_bars(evaluation: Evaluation) -> Table:
    """The loss shares as bars; they sum to 100 %."""
    table = _table("share of GPU-hours", " ", "GPUs", "", left=("share of GPU-hours", ""))
    for name, words in LOSS_NAMES.items():
        share = evaluation.losses[name]
        table.add_row(words, _cents(share), f"{share * evaluation.gpus:,.0f}", bar(share))
    table.add_row("sum", _cents(sum(evaluation.losses.values())), f"{evaluation.gpus:,}", "")
    return table


def _cents(share: float) -> str:
    """A share in hundredths of a per cent, so that a column of them lines up."""
    return "< 0.01 %" if 0 < share < 0.00005 else f"{share * 100:.2f} %"


def bar(share: float) -> str:
    """A bar of up to 40 cells, in eighths of a cell."""
    eighths = round(share * BAR * 8)
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")


def limits_part(evaluation: Evaluation) -> list[object]:
    """How far the plan is from every limit of the instance."""
    if not evaluation.limits:
        return ["The instance sets no limits.", ""]
    table = _table("limit", "plan", " ", "bound", "left", "", left=("limit", ""))
    for row in evaluation.limits:
        mark = "VIOLATED" if row.violated else ""
        if row.limit == "placement_group":
            plan = f"{row.value:,.0f} {row.unit}" if row.violated else "yes"
            table.add_row(_limit_name(row), plan, "", "", "", mark)
            continue
        show = _limit_number(row.unit, evaluation.currency)
        left = "none" if not row.violated and abs(row.slack) <= 1e-9 * abs(row.bound) else show(row.slack)
        table.add_row(_limit_name(row), show(row.value), SENSES[row.sense], show(row.bound), left, mark)
    return ["Limits", table, ""]


def _limit_name(limit: LimitSlack) -> str:
    return LIMIT_NAMES.get(limit.limit, limit.limit.replace("_", " "))


def _limit_number(unit: str, currency: str) -> Show:
    if unit == currency:
        return lambda v: units.show(v, units.MONEY, currency)
    if unit == f"{currency} per year":
        return lambda v: units.show(v, units.MONEY_PER_YEAR, currency)
    if unit == "kW":
        return lambda v: units.show(v, units.POWER)
    if unit == "baseline GPUs":
        return lambda v: f"{v:,.1f} {unit}"
    return lambda v: f"{_number(v)} {unit}" if unit else f"{v:.6g}"


def _number(value: float) -> str:
    """A number for people: whole from a thousand on, else four digits."""
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.4g}"


def certificate_text(plan: Plan) -> list[str]:
    """The proof in words."""
    c, n = plan.certificate, plan.candidates
    claim = {
        "goodput": "no plan of this instance has more than",
        "cost": "no plan of this instance costs less than",
    }.get(c.objective, "no plan of this instance gives more than")
    bound = objective_number(c.objective, c.bound, plan.evaluation.currency)
    solved = {0: "its linear relaxation sufficed", 1: "the MILP solved once"}.get(
        c.refinements, f"the MILP refined and solved {c.refinements:,} times"
    )
    status = "proven" if c.status == PROVEN else f"NOT PROVEN, {c.status}"
    text = f"Certificate ({status}): {claim} {bound}; gap {percent(c.gap)}, asked {percent(c.gap_asked)}; "
    candidates = f"Candidates: {n.enumerated:,} scored; {n.dominated:,} dominated, {n.outbid:,} outbid, "
    lines = [
        f"{text}{c.model} model, {solved}.",
        f"{candidates}{n.kept:,} {'offered to the MILP' if c.refinements else 'left'}.",
    ]
    lines += [f"Left out, can't be built: {number:,} ({reason})." for reason, number in n.excluded.items()]
    if plan.zones_alike is not None:
        lines.append(_alike_text(plan.zones_alike, c, plan.evaluation.currency))
    return [*map(_prose, lines), ""]


def _edge_note(decisions: Decisions, instance: Instance) -> list[str]:
    """That the best of what is offered stands at its end: offering more might be better."""
    edges = at_the_edge(instance, decisions)
    if not edges:
        return []
    return [_prose(f"At the edge of the choices, where offering more may give a better plan: {'; '.join(edges)}."), ""]


def _alike_text(alike: ZonesAlike, c: Certificate, currency: str) -> str:
    """The best plan with all zones alike, and what it gives up."""
    (choice,) = alike.decisions.zones
    number = f"{objective_number(c.objective, alike.value, currency)} ({100 * (alike.value / c.value - 1):+.3f} %)"
    limit = "" if choice.gpu_limit is None else f", {choice.gpu_limit * 1000:,.0f} W"
    return (
        f"With all zones alike: {number} by {choice.design}, {choice.racks:,} racks, "
        f"I = {choice.intra_block_spares}, R = {choice.inter_block_spares}, {choice.repair_plan}{limit}, "
        f"checkpoint plan {alike.decisions.checkpoint_plan}."
    )


def method_text(evaluation: Evaluation, instance: Instance) -> list[str]:
    """Which quantities are exact and which are approximations, and the assumptions of the instance."""
    by_method: dict[str, list[str]] = {}
    for quantity, method in evaluation.method.items():
        by_method.setdefault(method, []).append({"cett": "CETT"}.get(quantity, quantity.replace("_", " ")))
    lines = [_prose(f"Method: {', '.join(quantities)}: {method}.") for method, quantities in by_method.items()]
    if instance.notes:
        lines += ["", "Assumptions and notes"]
        lines += [_prose(f"- {_capital(note.removeprefix('Assumption:').strip())}", "  ") for note in instance.notes]
    return lines


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _prose(text: str, indent: str = "") -> str:
    """Text wrapped for reading, at spaces only."""
    return textwrap.fill(text, PROSE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _change(new: float, old: float) -> str:
    return f"{(new / old - 1) * 100:+.2f} %"


def _list(words: Iterable[str]) -> str:
    return ", ".join(words)


def _comparison(table: pd.DataFrame, kind: str, mine: float | None, currency: str) -> list[object]:
    """A planner's plan beside the optimum, decision by decision."""
    out = _table(
        "zone", "decision", "yours", "optimum", "yours, only this changed", "change", "",
        left=("zone", "decision", "yours", "optimum", ""),
    )  # fmt: skip
    split = []
    for row in table.itertuples():
        known = row.alone == row.alone  # not NaN
        alone = objective_number(kind, float(row.alone), currency) if known else ""
        change = _change(float(row.alone), mine) if known and mine else ""
        remark = row.remark.replace("_", " ") if row.meets_limits is not None else "same"
        if row.decision == "all":
            split.append((row.zone, row.mine, row.optimum))
            out.add_row(row.zone, "all of them", "see below", "see below", alone, change, remark)
        else:
            out.add_row(row.zone, row.decision.replace("_", " "), row.mine, row.optimum, alone, change, remark)
    parts: list[object] = ["Beside the optimum, decision by decision", out]
    for zone, ours, theirs in split:
        for owner, words in (("your plan", ours), ("the optimum", theirs)):
            parts += [f"{zone} in {owner}:", *(f"  {choice}" for choice in words.split("; "))]
    return [*parts, ""]


def topology_text(graph: nx.DiGraph, instance: Instance) -> str:
    """The graph as a tree: how many of each unit there are, what one takes down, how often any of them fails."""
    radius, number = blast_radius(graph), unit_counts(graph)

    def label(node: str) -> str:
        data = graph.nodes[node]
        name = data["fault"] if data["kind"] == "domain" else (node if data["kind"] == "zone" else data["kind"])
        name = instance.name if node == SITE else name
        text = f"{number[node]:,} × {name}: blast radius {radius[node]:,} GPUs"
        return text + (f", {_faults(number[node] * data['rate'])} in all" if data["rate"] else "")

    def grow(tree: Tree, node: str) -> Tree:
        for child in graph.successors(node):
            grow(tree.add(label(child)), child)
        return tree

    total = sum(number[node] * data["rate"] for node, data in graph.nodes(data=True)) + graph.graph["software_rate"]
    software = _faults(graph.graph["software_rate"])
    lines = [f"In all: {_faults(total)}, of them {software} without repair (software); {sum(number.values()):,} units."]
    if any(len(zone.racks) > 1 for zone in instance.zones):
        lines.append("Each zone is shown with the most racks that may be bought.")
    return render(grow(Tree(label(SITE)), SITE), "", *map(_prose, lines))


def _faults(rate: float) -> str:
    return f"{units.show(rate, units.RATE).removesuffix(' per day')} faults per day"


def instances_text(rows: Sequence[tuple[str, str]]) -> str:
    """The shipped instances, a line each."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("description")
    for row in rows:
        table.add_row(*row)
    return render(table, "")


def percent(share: float) -> str:
    """A share in per cent with as many digits as it needs."""
    if share == 0:
        return "0 %"
    if share < 1e-6:
        return f"{share * 100:.1e} %"
    return f"{share * 100:.2f} %" if share >= 1e-3 else f"{share * 100:.4f} %"


def _maybe(value: float | None, show: Show) -> str | None:
    return None if value is None else show(value)
