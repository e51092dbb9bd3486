"""A staged plan as text: the proof, and a table by quarter of what is bought, run, paid, reached and what binds."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from spareopt import units
from spareopt.decision_words import choice_words
from spareopt.instance import Instance
from spareopt.limits import LimitSlack
from spareopt.score_text import limit_name
from spareopt.staging.plan import StagedPlan
from spareopt.staging.score import QuarterScore
from spareopt.wording import applied_text, counted, doubt, listed, percent, plain_table, proof_words, prose, render

BINDS = 0.005
"""A limit with less than this share of it left is said to bind."""


def staged_text(plan: StagedPlan, instance: Instance) -> str:
    """A staged plan as a planner would paste it."""
    certificate, score = plan.certificate, plan.score
    number = len(score.quarters)
    proof = proof_words(certificate.status, certificate.gap)
    lines = [f"{instance.name}: {_value(plan, certificate.value)} over {counted(number, 'quarter')}, {proof}"]
    lines += [applied_text(instance.applied)] if instance.applied else []
    lines += doubt(certificate.status, certificate.gap)
    methods = sorted(
        {
            how
            for quarter in score.quarters
            if quarter.evaluation is not None
            for how in quarter.evaluation.method.values()
            if how.startswith(("approximation", "over-estimate"))
        }
    )
    return render(
        *map(prose, lines),
        "",
        "Bought and paid",
        _bought(plan),
        "",
        "Run and reached",
        _run(plan),
        "",
        "How the zones are run",
        _zones(plan),
        "",
        *_binding(plan),
        prose(
            f"Certificate: no plan within these limits has {_bound(plan)} (gap asked: "
            f"{percent(certificate.gap_asked)}). {plan.candidates['states']:,} states of zones over all quarters, "
            f"{plan.candidates['kept']:,} ways to run them that no other matches."
        ),
        prose(
            "Method: every quarter is scored exactly as spareopt evaluate does, on the zones that are built."
            + "".join(f" {how[:1].upper()}{how[1:]}." for how in methods)
        ),
    )


def _value(plan: StagedPlan, value: float) -> str:
    if plan.certificate.objective == "cost":
        return f"discounted cost {units.show(value, units.MONEY, plan.score.currency)}"
    return f"{value / 1e6:,.2f} M discounted useful GPU-hours"


def _bound(plan: StagedPlan) -> str:
    than = "a lower cost than" if plan.certificate.objective == "cost" else "more than"
    return f"{than} {_value(plan, plan.certificate.bound).removeprefix('discounted cost ')}"


def _money(plan: StagedPlan, value: float | None) -> str:
    return "" if value is None else units.show(max(value, 0.0), units.MONEY, plan.score.currency)


def _bought(plan: StagedPlan) -> Table:
    quarters = plan.score.quarters
    shelf = any(q.shelf_trays or q.shelf_ordered for q in quarters)
    budget = any(q.budget is not None for q in quarters)
    heads = ["quarter", "ordered", "arrive", "racks", *(["shelf ordered", "shelf"] if shelf else []), "paid"]
    table = plain_table(*heads, *(["new money", "left"] if budget else []), left=("quarter", "ordered"))
    table.columns[0].no_wrap = True
    for q in quarters:
        orders = listed(f"{order.racks:,} {order.design}" for order in q.orders) or "-"
        row = [q.quarter, orders, f"{q.racks_delivered:,}", f"{q.racks:,}"]
        row += [f"{q.shelf_ordered:,}", f"{q.shelf_used:,} of {q.shelf_trays:,}"] if shelf else []
        row.append(_money(plan, q.paid))
        row += [_money(plan, q.budget), _money(plan, q.money_left)] if budget else []
        table.add_row(*row)
    return table


def _run(plan: StagedPlan) -> Table:
    quarters = plan.score.quarters
    crews = any(q.crews for q in quarters)
    powered = any(q.evaluation is not None and q.evaluation.site_power_kw is not None for q in quarters)
    heads = ["quarter", "zones", "GPUs at work", *(["crews"] if crews else []), *(["site power"] if powered else [])]
    table = plain_table(*heads, "A", "goodput", "useful GPU-hours", "yearly cost", left=("quarter",))
    for q in quarters:
        e = q.evaluation
        row = [q.quarter, str(q.zones_built), "-" if e is None else f"{e.working_gpus:,}"]
        row += [f"{q.crews:,}"] if crews else []
        if powered:
            row.append("-" if e is None or e.site_power_kw is None else units.show(e.site_power_kw, units.POWER))
        row += [
            "-" if e is None else f"{e.availability:.4f}",
            f"{q.goodput:,.1f}",
            f"{q.useful_gpu_hours / 1e6:,.2f} M",
        ]
        row.append(units.show(q.yearly_cost, units.MONEY_PER_YEAR, plan.score.currency))
        table.add_row(*row)
    return table


def _zones(plan: StagedPlan) -> Table:
    """The choices of each quarter; a zone that goes on as before is not said again."""
    table = plain_table("quarter", "zones", "checkpoints", left=("quarter", "zones", "checkpoints"))
    for t, quarter in enumerate(plan.score.quarters):
        taken: dict[str, int] = {}
        for zone in plan.decisions.zones:
            choice = zone.quarters[t]
            if choice is not None:
                several = len({z.zone for z in plan.decisions.zones}) > 1
                words = (f"{zone.zone}: " if several else "") + choice_words(choice)
                taken[words] = taken.get(words, 0) + 1
        text = "; ".join(f"{count} × {words}" for words, count in sorted(taken.items())) or "nothing is built"
        table.add_row(quarter.quarter, text, plan.decisions.checkpoint_plans[t] or "-")
    return table


def _binding(plan: StagedPlan) -> Iterator[str]:
    """What binds in each quarter."""
    said = False
    for q in plan.score.quarters:
        names = [limit_name(slack.limit) for slack in _slacks(q) if slack.slack <= BINDS * abs(slack.bound)]
        if q.money_left is not None and q.money_left <= BINDS * (q.paid + q.money_left):
            names.insert(0, "money")
        if names:
            said = True
            yield f"{q.quarter}: {listed(dict.fromkeys(names))} bind{'s' if len(set(names)) == 1 else ''}."
    if said:
        yield ""


def _slacks(quarter: QuarterScore) -> tuple[LimitSlack, ...]:
    if quarter.evaluation is None:
        return ()
    return tuple(slack for slack in quarter.evaluation.limits if slack.limit not in ("rack_power", "placement_group"))
