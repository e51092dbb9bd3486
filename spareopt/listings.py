"""Tables besides a plan's report: the plans one step away, a cluster as a tree, the shipped instances."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import pandas as pd
from rich.table import Table
from rich.tree import Tree

from spareopt import units
from spareopt.comparison import objective_value
from spareopt.decision_words import value_words
from spareopt.evaluation import Evaluation
from spareopt.instance import Instance
from spareopt.score_text import limit_name
from spareopt.topology import SITE, blast_radius
from spareopt.topology import units as unit_counts
from spareopt.wording import (
    applied_text,
    known,
    maybe,
    objective_text,
    plain_table,
    prose,
    render,
    signed_money,
    signed_percent,
)

DECISION_NAMES = {"intra_block_spares": "I, spare trays", "inter_block_spares": "R, spare blocks"}


def neighbours_text(source: str, here: Evaluation, table: pd.DataFrame, instance: Instance) -> str:
    """How goodput and cost move when each decision is one step away."""
    kind, money = instance.objective.kind, instance.currency
    value = objective_value(instance, here)
    worth = "no cost known" if value is None else objective_text(kind, value, money)
    lines = [f"{instance.name}: the plan {source} has {worth}"]
    lines += [applied_text(instance.applied)] if instance.applied else []
    if "left_out" in here.method:
        lines.append(f"Left out: {here.method['left_out']}.")
    lines.append("Each decision one step away, the others as they are:")
    worth_it = ["per cost"] if kind == "goodput_per_dollar" else []  # the objective, where it is neither column
    out = plain_table(
        "zone", "decision", "from", "to", "goodput", "change ", "cost per year", *worth_it, "breaks",
        left=("zone", "decision", "from", "to", "breaks"),
    )  # fmt: skip
    out.columns[1].no_wrap = True
    above = ""
    for row in table.to_dict(orient="records"):
        zone = str(row["zone"]) or "all zones"
        remark = str(row["breaks"])
        cost = maybe(known(row["cost_change_per_year"]), lambda v: signed_money(v, money))
        out.add_row(
            zone if zone != above else "",
            DECISION_NAMES.get(str(row["decision"]), str(row["decision"]).replace("_", " ")),
            value_words(str(row["decision"]), row["from"]),
            ", ".join(filter(None, [value_words(str(row["decision"]), row["to"]), str(row["taking"])])),
            maybe(known(row["goodput"]), lambda v: f"{v:,.1f}") or "",
            maybe(known(row["goodput_change"]), signed_percent) or "",
            cost or "",
            *([_relative(row["objective"], value)] if worth_it else []),
            remark if remark.startswith("can't") else ", ".join(limit_name(name) for name in remark.split(", ")),
        )
        above = zone
    return render(*map(prose, lines), "", out)


def _relative(new: float, old: float | None) -> str:
    number = known(new)
    return signed_percent(number / old - 1.0) if number is not None and old else ""


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
    if instance.failures.bursts:
        bursts = [f"{burst.name}, {units.show(burst.per_hour, units.RATE)}" for burst in instance.failures.bursts]
        lines.append(f"Not counted are bursts: {'; '.join(bursts)}.")
    if any(len(zone.racks) > 1 for zone in instance.zones):
        lines.append("Each zone is shown with the most racks that may be bought.")
    return render(grow(Tree(label(SITE)), SITE), "", *map(prose, lines))


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
