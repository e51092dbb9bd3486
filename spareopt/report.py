"""Plans, evaluations and instances as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

import networkx as nx
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.tree import Tree

from spareopt import units
from spareopt.decisions import Decisions
from spareopt.evaluation import Evaluation
from spareopt.instance import Instance
from spareopt.plan import PROVEN, Plan
from spareopt.topology import SITE, blast_radius
from spareopt.topology import units as unit_counts

WIDTH = 100
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


def render(*parts: object) -> str:
    """Rich renderables and strings as plain text."""
    console = Console(file=StringIO(), width=WIDTH, no_color=True, highlight=False, legacy_windows=False)
    for part in parts:
        console.print(part, markup=False, soft_wrap=isinstance(part, str))
    assert isinstance(console.file, StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


def plan_text(plan: Plan, instance: Instance) -> str:
    """A plan as a planner would paste it: decisions, score, losses, limits, certificate, method."""
    return render(
        headline(plan),
        "",
        decisions_table(plan.decisions, plan.evaluation),
        score_table(plan.evaluation),
        "Where the GPU-hours go",
        losses_bars(plan.evaluation),
        "",
        *_limits(plan.evaluation),
        certificate_text(plan),
        "",
        method_text(plan.evaluation, instance),
    )


def headline(plan: Plan) -> str:
    """The result in one sentence."""
    certificate = plan.certificate
    name = plan.provenance.instance
    value = objective_text(certificate.objective, certificate.value, plan.evaluation.currency)
    scale = f" ({plan.evaluation.goodput_scale:.4f} per GPU)" if certificate.objective == "goodput" else ""
    proof = (
        f"proven within {percent(certificate.gap)}"
        if certificate.status == PROVEN
        else (f"NOT proven ({certificate.status}): the gap is {percent(certificate.gap)}")
    )
    return f"{name}: {value}{scale}, {proof}"


def objective_text(kind: str, value: float, currency: str) -> str:
    """The objective's value with its unit."""
    if kind == "goodput":
        return f"goodput {value:,.1f} baseline GPUs"
    if kind == "cost":
        return f"cost {units.show(value, units.MONEY_PER_YEAR, currency)}"
    return f"{value:,.4f} baseline GPU-hours per {units.CURRENCIES[currency]}"


def decisions_table(decisions: Decisions, evaluation: Evaluation) -> Table:
    """What to buy and how to run it, a row per zone choice."""
    table = Table(title=None, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    headers = ["zone", "count", "design", "racks", "spare trays/block (I)", "spare blocks/zone (R)", "stranded"]
    headers += ["repair plan", "GPU limit"]
    for header in headers:
        table.add_column(header, justify="left" if header in ("zone", "design", "repair plan") else "right")
    for choice, zone in zip(decisions.zones, evaluation.zones, strict=True):
        limit = "full" if choice.gpu_limit is None else f"{choice.gpu_limit * 1000:,.0f} W"
        table.add_row(
            choice.zone, str(choice.count), choice.design, f"{choice.racks:,}", str(choice.intra_block_spares),
            str(choice.inter_block_spares), str(zone.stranded_blocks), choice.repair_plan, limit,
        )  # fmt: skip
    period = units.show(evaluation.checkpoint_period_h, units.TIME)
    table.caption = f"checkpoint plan {decisions.checkpoint_plan}: {period} of work between saves"
    table.caption_justify = "left"
    return table


def score_table(evaluation: Evaluation) -> Table:
    """The quantities of an evaluation, those that are known."""
    e, money = evaluation, evaluation.currency
    rows: list[tuple[str, str | None]] = [
        ("GPUs", f"{e.gpus:,} ({e.working_gpus:,} working)"),
        ("goodput", f"{e.goodput:,.1f} baseline GPUs ({e.goodput_scale:.4f} per GPU)"),
        ("CETT", f"{e.cett:.5f}"),
        ("availability A", f"{e.availability:.6f} (blocked {percent(e.unavailability)} of the time)"),
        ("recovery efficiency", f"{e.recovery_efficiency:.5f}"),
        ("interruptions", f"{e.interruptions_per_day:,.2f} a day"),
        ("scale (hardware × LLM)", f"{e.scale:.4f}"),
        ("time to finish the job", _maybe(e.wall_time_h, lambda v: units.show(v, units.TIME))),
        ("capital", _maybe(e.capital, lambda v: units.show(v, units.MONEY, money))),
        ("yearly cost", units.show(e.yearly_cost, units.MONEY_PER_YEAR, money) if e.yearly_cost else None),
        ("cost (capital spread)", _maybe(e.cost_per_year, lambda v: units.show(v, units.MONEY_PER_YEAR, money))),
        ("cost per useful GPU-hour", _maybe(e.cost_per_useful_gpu_hour, lambda v: units.show(v, units.MONEY, money))),
        ("IT power", _maybe(e.it_power_kw, lambda v: units.show(v, units.POWER))),
        ("site power", _maybe(e.site_power_kw, lambda v: units.show(v, units.POWER))),
        ("energy", _maybe(e.energy_kwh_per_year, lambda v: f"{v / 1e6:,.4g} GWh per year")),
        ("energy per useful GPU-hour", _maybe(e.energy_kwh_per_useful_gpu_hour, lambda v: f"{v:.4g} kWh")),
        ("carbon", _maybe(e.carbon_kg_per_year, lambda v: f"{v / 1000:,.0f} t per year")),
        ("carbon per useful GPU-hour", _maybe(e.carbon_kg_per_useful_gpu_hour, lambda v: f"{v * 1000:.4g} g")),
        ("idle spares", _idle_text(e)),
    ]
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("quantity")
    table.add_column("value")
    for name, text in rows:
        if text is not None:
            table.add_row(name, text)
    return table


def _idle_text(e: Evaluation) -> str:
    idle, parts = e.idle_spares, [f"{e.idle_spares.gpus:,} GPUs"]
    if idle.capital is not None:
        parts.append(f"capital {units.show(idle.capital, units.MONEY, e.currency)}")
    if idle.energy_kwh_per_year is not None:
        parts.append(f"energy {idle.energy_kwh_per_year / 1e6:,.4g} GWh per year")
    if idle.carbon_kg_per_year is not None:
        parts.append(f"carbon {idle.carbon_kg_per_year / 1000:,.0f} t per year")
    if idle.cost_per_year is not None:
        parts.append(f"cost {units.show(idle.cost_per_year, units.MONEY_PER_YEAR, e.currency)}")
    return ", ".join(parts)


def losses_bars(evaluation: Evaluation) -> Table:
    """The loss shares as bars; they sum to 100 %."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("loss")
    table.add_column("share", justify="right")
    table.add_column("bar")
    for name in LOSS_NAMES:
        share = evaluation.losses[name]
        table.add_row(LOSS_NAMES[name], percent(share), bar(share))
    return table


def bar(share: float) -> str:
    """A bar of up to 40 cells, in eighths of a cell."""
    eighths = round(share * BAR * 8)
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")


def _limits(evaluation: Evaluation) -> list[object]:
    if not evaluation.limits:
        return []
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for header in ("limit", "plan", "", "bound", "slack", ""):
        table.add_column(header, justify="left" if header in ("limit", "") else "right")
    for row in evaluation.limits:
        mark = "VIOLATED" if row.violated else ""
        show = _limit_number(row.unit, evaluation.currency)
        table.add_row(row.limit, show(row.value), row.sense, show(row.bound), show(row.slack), mark)
    return [table, ""]


def _limit_number(unit: str, currency: str):  # type: ignore[no-untyped-def]
    if unit == currency:
        return lambda v: units.show(v, units.MONEY, currency)
    if unit == f"{currency} per year":
        return lambda v: units.show(v, units.MONEY_PER_YEAR, currency)
    if unit == "kW":
        return lambda v: units.show(v, units.POWER)
    return lambda v: f"{v:,.6g} {unit}".rstrip()


def certificate_text(plan: Plan) -> str:
    """The proof in words."""
    c, n = plan.certificate, plan.candidates
    better = "cheaper" if c.sense == "minimise" else "better"
    bound = objective_text(c.objective, c.bound, plan.evaluation.currency)
    lines = [
        f"Certificate ({c.status}): no plan of this instance is {better} than {bound}; gap {percent(c.gap)} "
        f"(asked {percent(c.gap_asked)}), {c.model} model, solved {c.refinements} times.",
        f"Candidates: {n.enumerated:,} scored, {n.dominated:,} dominated, {n.outbid:,} outbid, {n.kept:,} offered to the MILP.",
    ]
    lines += [f"Left out, can't be built: {number:,} ({reason})." for reason, number in n.excluded.items()]
    return "\n".join(lines)


def method_text(evaluation: Evaluation, instance: Instance) -> str:
    """Which quantities are exact and which are approximations, and the assumptions of the instance."""
    by_method: dict[str, list[str]] = {}
    for quantity, method in evaluation.method.items():
        by_method.setdefault(method, []).append(quantity.replace("_", " "))
    lines = [f"Method: {', '.join(quantities)}: {method}." for method, quantities in by_method.items()]
    lines += [f"Assumption: {note}" for note in instance.notes]
    return "\n".join(lines)


def evaluation_text(title: str, decisions: Decisions, evaluation: Evaluation, instance: Instance) -> str:
    """The score of a planner's own plan."""
    return render(
        title,
        "",
        decisions_table(decisions, evaluation),
        score_table(evaluation),
        "Where the GPU-hours go",
        losses_bars(evaluation),
        "",
        *_limits(evaluation),
        method_text(evaluation, instance),
    )


def comparison_text(table: pd.DataFrame, kind: str, mine: float | None, best: float, currency: str) -> str:
    """A planner's plan beside the optimum, decision by decision."""
    out = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for header in ("zone", "decision", "yours", "optimum", "your plan with only this changed"):
        out.add_column(header)
    for row in table.itertuples():
        alone = "" if row.meets_limits is None else "breaks a limit or can't be built alone"
        if row.alone == row.alone:  # not NaN
            alone = objective_text(kind, float(row.alone), currency) + ("" if row.meets_limits else " (breaks a limit)")
        out.add_row(row.zone, row.decision.replace("_", " "), row.mine, row.optimum, alone)
    yours = "no cost known" if mine is None else objective_text(kind, mine, currency)
    change = "" if mine is None else f" ({best / mine - 1:+.2%})"
    return render(f"Your plan: {yours}", f"Optimum:   {objective_text(kind, best, currency)}{change}", "", out)


def topology_text(graph: nx.DiGraph, instance: Instance) -> str:
    """The graph as a tree: how many of each unit there are, what one takes down, how often any of them fails."""
    radius, number = blast_radius(graph), unit_counts(graph)

    def label(node: str) -> str:
        data = graph.nodes[node]
        name = data["fault"] if data["kind"] == "domain" else (node if data["kind"] == "zone" else data["kind"])
        name = instance.name if node == SITE else name
        text = f"{number[node]:,} × {name}: blast radius {radius[node]:,} GPUs"
        return text + (f", {units.show(number[node] * data['rate'], units.RATE)} in all" if data["rate"] else "")

    def grow(tree: Tree, node: str) -> Tree:
        for child in graph.successors(node):
            grow(tree.add(label(child)), child)
        return tree

    total = sum(number[node] * data["rate"] for node, data in graph.nodes(data=True)) + graph.graph["software_rate"]
    software = units.show(graph.graph["software_rate"], units.RATE)
    faults = f"Faults in all: {units.show(total, units.RATE)} (software {software}); units: {sum(number.values()):,}."
    return render(grow(Tree(label(SITE)), SITE), faults)


def instances_text(rows: Sequence[tuple[str, str]]) -> str:
    """The shipped instances, a line each."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("description")
    for row in rows:
        table.add_row(*row)
    return render(table)


def percent(share: float) -> str:
    """A share in per cent with as many digits as it needs."""
    if share == 0:
        return "0 %"
    if share < 1e-6:
        return f"{share * 100:.1e} %"
    return f"{share * 100:.2f} %" if share >= 1e-3 else f"{share * 100:.4f} %"


def _maybe(value: float | None, show) -> str | None:  # type: ignore[no-untyped-def]
    return None if value is None else show(value)
