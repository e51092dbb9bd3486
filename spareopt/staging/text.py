"""A staged plan as text: what is bought, run and reached in each quarter, what binds, and the proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.table import Table

from spareopt import units
from spareopt.decision_words import limit_words, repair_words
from spareopt.decisions import ZoneChoice
from spareopt.exact import EXACT
from spareopt.instance import Instance
from spareopt.plan import PROVEN
from spareopt.score_text import limit_name, limit_number
from spareopt.staging.plan import StagedPlan
from spareopt.staging.tightness import Tight, rack_step, tight_limits
from spareopt.wording import (
    applied_text,
    counted,
    doubt,
    horizon_number,
    listed,
    percent,
    plain_table,
    proof_words,
    prose,
    render,
    share_text,
)

IN_WORDS = {
    "lead_time": "lead time: nothing that this plan orders can have arrived",
    "too_late": "what is ordered now arrives after the horizon",
    "choices": "all racks that are offered are there",
    "ordered": "all racks that are offered are ordered",
    "shelf_stock": "all shelf trays in use",
    "site_power": "site power",
    "working_gpus.minimum": "fewest working GPUs",
    "working_gpus.maximum": "most working GPUs",
}


def staged_text(plan: StagedPlan, instance: Instance) -> str:
    """A staged plan as a planner would paste it: headline, tables by quarter, what binds, certificate, method."""
    return render(
        *_headline(plan, instance),
        "",
        "What is bought",
        _bought(plan),
        "",
        "What runs",
        _reached(plan),
        "",
        "How the zones are run, each zone",
        _zones(plan),
        "",
        *_orders(plan, instance),
        *_binding(plan, instance),
        *_certificate(plan),
    )


def _value(plan: StagedPlan, value: float) -> str:
    """A value of the objective."""
    return horizon_number(plan.certificate.objective, value, plan.score.currency)


def _headline(plan: StagedPlan, instance: Instance) -> list[str]:
    certificate, score = plan.certificate, plan.score
    labels = [quarter.quarter for quarter in score.quarters]
    over = f"{counted(len(labels), 'quarter')}, {labels[0]} to {labels[-1]}" if len(labels) > 1 else labels[0]
    rate = instance.horizon.discount_rate if instance.horizon else 0.0
    goal = "cost" if certificate.objective == "cost" else "useful work"
    discounted = f"discounted {goal}" if rate else goal
    proof = proof_words(certificate.status, certificate.gap)
    lines = [f"{plan.provenance.instance}: {discounted} {_value(plan, certificate.value)} over {over}, {proof}"]
    lines += doubt(certificate.status, certificate.gap)
    lines += [applied_text(plan.provenance.applied)] if plan.provenance.applied else []
    hours = sum(quarter.useful_gpu_hours for quarter in score.quarters)
    money = units.show(score.paid, units.MONEY, score.currency)
    cost = units.show(score.cost, units.MONEY, score.currency)
    text = f"Orders cost {money} in all. "
    if certificate.objective == "cost":
        text += f"Useful work, not discounted: {units.show_gpu_hours(hours)} GPU-hours."
    else:
        discounted_cost = "Discounted cost" if rate else "Cost"
        text += f"{discounted_cost} of the horizon, purchases charged over the amortisation time: {cost}."
    text += " GPUs and GPU-hours are of baseline GPUs."
    if rate:
        text += f" Discount rate: {share_text(rate)} a year."
    return [prose(line) for line in (*lines, text)]


def _bought(plan: StagedPlan) -> Table:
    """A row for each quarter: what is ordered, what arrives and stands, and the money."""
    quarters, currency = plan.score.quarters, plan.score.currency
    budgeted = any(q.budget is not None for q in quarters)
    shelf = any(q.shelf_trays or q.shelf_ordered for q in quarters)
    heads = ["quarter", "racks\nordered", "racks\narrive", "racks\nin use", "zones\nin use"]
    heads += ["shelf trays\nordered", "shelf trays\nthere", "of them\nin use"] if shelf else []
    heads += ["paid", *(["new\nmoney", "money\nleft"] if budgeted else [])]
    table = _by_quarter(heads)

    def money(value: float | None) -> str:
        if value is None:
            return ""
        return units.show(value, units.MONEY, currency) if value >= 0.5 else "0"  # less is rounding

    for q in quarters:
        row = [q.quarter, f"{sum(o.racks for o in q.orders):,}", f"{q.racks_delivered:,}", f"{q.racks:,}"]
        row.append(f"{q.zones_built:,}")
        row += [f"{q.shelf_ordered:,}", f"{q.shelf_trays:,}", f"{q.shelf_used:,}"] if shelf else []
        row += [money(q.paid), *([money(q.budget), money(q.money_left)] if budgeted else [])]
        table.add_row(*row)
    return table


def _reached(plan: StagedPlan) -> Table:
    """A row for each quarter: what runs, what it gives and takes."""
    quarters, currency = plan.score.quarters, plan.score.currency
    crews = any(q.crews for q in quarters)
    powered = any(q.evaluation is not None and q.evaluation.site_power_kw is not None for q in quarters)
    heads = ["quarter", "working\nGPUs", "goodput,\nGPUs", "useful\nGPU-hours", "availability"]
    heads += [*(["crews"] if crews else []), *(["site\npower"] if powered else []), "running cost"]
    table = _by_quarter(heads)
    for q in quarters:
        e = q.evaluation
        row = [q.quarter, "0" if e is None else f"{e.working_gpus:,}", f"{q.goodput:,.1f}"]
        row += [units.show_gpu_hours(q.useful_gpu_hours), "" if e is None else f"{e.availability:.4f}"]
        row += [f"{q.crews:,}"] if crews else []
        if powered:
            row.append("0" if e is None or e.site_power_kw is None else units.show(e.site_power_kw, units.POWER))
        table.add_row(*row, units.show(q.yearly_cost, units.MONEY_PER_YEAR, currency) if q.yearly_cost else "0")
    return table


def _by_quarter(heads: list[str]) -> Table:
    table = plain_table(*heads)
    table.columns[0].justify = "left"
    return table


class _Run(NamedTuple):
    """How zones are run over some quarters in a row."""

    first: int
    last: int
    zones: tuple[tuple[str, ZoneChoice, int], ...]
    scheme: str | None


def _runs(plan: StagedPlan) -> Iterator[_Run]:
    """Quarters in a row in which nothing changes, together."""
    run: _Run | None = None
    for t, scheme in enumerate(plan.decisions.checkpoint_plans):
        counts: Counter[tuple[str, ZoneChoice]] = Counter()
        for zone in plan.decisions.zones:
            choice = zone.quarters[t]
            if choice is not None:
                counts[zone.zone, choice] += 1
        zones = tuple((name, choice, number) for (name, choice), number in counts.items())
        if run is not None and (run.zones, run.scheme) == (zones, scheme):
            run = run._replace(last=t)
            continue
        if run is not None:
            yield run
        run = _Run(t, t, zones, scheme)
    assert run is not None
    yield run


def _zones(plan: StagedPlan) -> Table:
    """How zones are built and run, by quarters in which nothing changes."""
    labels = [quarter.quarter for quarter in plan.score.quarters]
    names = {zone.zone for zone in plan.decisions.zones}
    staffed = any(
        repair_words(choice) for zone in plan.decisions.zones for choice in zone.quarters if choice is not None
    )
    heads = ["quarters", "zones", *(["zone"] if len(names) > 1 else []), "design", "racks", "I", "R", "repair plan"]
    heads += ["crews, shelf"] if staffed else []
    heads += ["GPU limit", "checkpoints"]
    table = plain_table(*heads, left=("quarters", "zone", "design", "repair plan", "crews, shelf", "checkpoints"))
    table.columns[0].no_wrap = True
    for run in _runs(plan):
        label = labels[run.first] if run.first == run.last else f"{labels[run.first]} to {labels[run.last]}"
        if not run.zones:
            table.add_row(label, "none")
        for number, (zone, choice, count) in enumerate(run.zones):
            row = ["" if number else label, f"{count:,}", *([zone] if len(names) > 1 else [])]
            row += [choice.design, f"{choice.racks:,}", f"{choice.intra_block_spares}", f"{choice.inter_block_spares}"]
            row.append(choice.repair_plan)
            row += [listed(repair_words(choice))] if staffed else []
            table.add_row(*row, limit_words(choice), "" if number else run.scheme)
    return table


def _orders(plan: StagedPlan, instance: Instance) -> list[object]:
    """What is ordered when, and when it arrives."""
    horizon = instance.horizon
    assert horizon is not None
    currency = plan.score.currency
    table = plain_table("ordered", "", "arrives", "paid", left=("ordered", "", "arrives"))
    for t, quarter in enumerate(plan.score.quarters):
        for order in quarter.orders:
            paid = units.show(order.paid, units.MONEY, currency)
            table.add_row(quarter.quarter, f"{counted(order.racks, 'rack')} of {order.design}", order.delivered, paid)
        if quarter.shelf_ordered:
            paid = units.show(quarter.paid - sum(o.paid for o in quarter.orders), units.MONEY, currency)
            there = horizon.labels()[t + horizon.lead_time.shelf]
            table.add_row(quarter.quarter, f"{counted(quarter.shelf_ordered, 'tray')} for the shelf", there, paid)
    return ["Orders", table, ""] if table.row_count else ["Orders: none.", ""]


def _binding(plan: StagedPlan, instance: Instance) -> list[object]:
    """What binds in each quarter, and what that means."""
    table = plain_table("quarter", "no room left, and what is left", left=("quarter", "no room left, and what is left"))
    currency, quarters = plan.score.currency, plan.score.quarters
    told = [[_tight_words(limit, currency) for limit in tight] for tight in tight_limits(instance, plan)]
    always = [words for words in told[0] if len(told) > 1 and all(words in others for others in told)]
    for quarter, words in zip(quarters, told, strict=True):
        own = [text for text in words if text not in always]
        table.add_row(quarter.quarter, "; ".join(own) or "nothing")
    racks = counted(rack_step(instance), "rack")
    notes = [f"In every quarter: {'; '.join(always)}."] if always else []
    notes += [
        f"A limit is named where less of it is left than {racks} more take, the smallest step offered; what must be "
        "reached, where it is passed by less than 1 %."
    ]
    lead = 0 if instance.horizon is None else instance.horizon.lead_time.racks
    if lead:
        notes.append(f"Money binds in the quarter of the order; racks arrive {counted(lead, 'quarter')} later.")
    whole = instance.limits.capital
    if whole is not None:
        left = units.show(max(0.0, whole - plan.score.paid), units.MONEY, plan.score.currency)
        notes.append(f"Of the capital of the whole horizon {left} is left.")
    return ["What binds", table, *map(prose, notes), ""]


def _tight_words(limit: Tight, currency: str) -> str:
    name = IN_WORDS.get(limit.limit, limit_name(limit.limit))
    if limit.left is None or limit.limit == "shelf_stock":
        return name
    show = limit_number(limit.unit, currency)
    beyond = limit.limit.endswith("minimum") or limit.limit.startswith(("availability", "guarantee", "goodput"))
    amount = "none" if limit.left == 0 else show(limit.left)
    return f"{name} (just reached)" if beyond else f"{name} ({amount} left)"


def _certificate(plan: StagedPlan) -> list[str]:
    """The proof over the horizon in words, and what the scores rest on."""
    c, n = plan.certificate, plan.candidates
    claim = "costs less than" if c.objective == "cost" else "gives more than"
    status = PROVEN if c.status == PROVEN else f"NOT PROVEN, {c.status}"
    solved = {0: "no MILP was needed", 1: "the MILP solved once"}.get(
        c.refinements, f"the MILP solved {c.refinements:,} times"
    )
    cut = f", {counted(c.plans_excluded, 'plan')} cut off by exact score" if c.plans_excluded else ""
    lines = [
        f"Certificate ({status}): no plan over these quarters that meets every limit in every quarter {claim} "
        f"{_value(plan, c.bound)}; gap {percent(c.gap)}, asked {percent(c.gap_asked)}; {solved}{cut}.",
        f"Candidates: {n['enumerated']:,} ways to run a zone scored; {n['states']:,} states of zones over the quarters;"
        f" {n['kept']:,} not matched by another in every quarter.",
        *_method(plan),
    ]
    return [*map(prose, lines)]


def _method(plan: StagedPlan) -> Iterable[str]:
    """What is not exact, by quantity; every quarter is scored as spareopt evaluate does."""
    named: dict[str, set[str]] = {}
    for quarter in plan.score.quarters:
        if quarter.evaluation is not None:
            for quantity, how in quarter.evaluation.method.items():
                if how != EXACT and quantity not in ("cett", "goodput", "losses"):
                    named.setdefault(how, set()).add(quantity.replace("_", " "))
    text = "Method: each quarter alone is scored exactly as spareopt evaluate does, in its long run"
    if not named:
        return [f"{text}."]
    return [f"{text}, but for: {'; '.join(f'{listed(sorted(names))}: {how}' for how, names in named.items())}."]
