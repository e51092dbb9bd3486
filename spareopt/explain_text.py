"""An explanation as text: what binds, what is nearly as good, what separates it, and why not something else."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from spareopt import wording
from spareopt.alternatives import WhyNot
from spareopt.binding import Binds
from spareopt.decided import CHECKPOINT_PLAN, Value, decided
from spareopt.decision_words import choice_words, value_words
from spareopt.decisions import Decisions, ZoneChoice, at_the_edge
from spareopt.instance import Instance
from spareopt.near_result import BestWith, NearOptimal, NearPlan
from spareopt.plan import Plan
from spareopt.plan_text import edge_note, headline
from spareopt.score_text import LOSS_NAMES, limit_name, limit_number
from spareopt.wording import capitalised, objective_number, plain_table, render, share_text, signed_money

NAMES = {
    "intra_block_spares": "I",
    "inter_block_spares": "R",
    "repair_plan": "repair plan",
    "shelf_trays": "trays on the shelf",
    "start_at": "trays down at the start of a repair",
    "gpu_limit": "GPU limit",
    CHECKPOINT_PLAN: "checkpoint plan",
}
MOST_ROWS = 24  # of the grid of I and R
MOST_VALUES = 9  # of a decision, with the best plan of each
LOSSES = "losses, of all GPU-hours"
SEPARATES = 2  # loss shares named per plan
LEAST_SHARE = 5e-5  # of GPU-hours: less is not worth a word


def prose(text: str, indent: str = "") -> str:
    """Text wrapped for reading, with numbers and their per cent signs together."""
    return wording.prose(text.replace(" %", "\u00a0%"), indent).replace("\u00a0%", " %")


def explanation_text(
    plan: Plan,
    binds: Sequence[Binds],
    near: NearOptimal | None,
    why: Sequence[WhyNot],
    instance: Instance,
) -> str:
    """The whole explanation of an instance's optimum."""
    return render(
        *headline(plan),
        prose(f"The plan: {plan_words(plan.decisions, instance)}."),
        "",
        *edge_note(plan.decisions, instance),
        *binding_parts(binds, instance, at_the_edge(instance, plan.decisions)),
        *(part for item in why for part in why_not_parts(item, instance)),
        *near_parts(near, plan, instance),
    )


def plan_words(decisions: Decisions, instance: Instance) -> str:
    """A plan in one line."""
    split = len(decisions.zones) > len(instance.zones)
    zones = [
        (f"{choice.count} × {choice.zone}: " if split or len(instance.zones) > 1 else "") + choice_words(choice)
        for choice in decisions.zones
    ]
    return f"{'; '.join(zones)}; checkpoint plan {decisions.checkpoint_plan}"


def _change(change: float) -> str:
    """A relative change in per cent: three digits after the point below a hundredth of a per cent."""
    if abs(change) < 5e-8:
        return "0 %"
    digits = 2 if abs(change) >= 1e-4 else (3 if abs(change) >= 1e-5 else 5)
    return f"{'+' if change > 0 else '−'}{abs(change) * 100:.{digits}f} %"


def _points(change: float) -> str:
    """A change of a share, in percentage points."""
    return _change(change).replace(" %", " points")


def binding_parts(binds: Sequence[Binds], instance: Instance, edges: Sequence[str] = ()) -> list[object]:
    """Each limit with its slack and what the optimum gains without it; ``edges``: where the choices end."""
    if not binds:
        return ["The instance sets no limits.", ""]
    table = plain_table("limit", "plan", "bound", "left", "", "without it", "then used", left=("limit", ""))
    for row in binds:
        show = limit_number(row.unit, instance.currency)
        if row.limit == "placement_group":
            plan, bound, left = "whole", "", ""
        else:
            plan, bound = show(row.value), show(row.bound)
            left = "none" if abs(row.slack) <= 1e-9 * abs(row.bound) else show(row.slack)
        gain = "" if row.gain is None else ("no gain" if row.status == "does not bind" else _change(row.gain))
        used = "" if row.value_without is None or row.limit == "placement_group" else show(row.value_without)
        table.add_row(limit_name(row.limit), plan, bound, left, row.status, gain, used)
    notes = []
    if any(row.status == "binds through whole units" for row in binds):
        notes.append(
            "Binds through whole units: something is left of the limit, but the next better plan needs more than that."
        )
    if edges and any(row.status == "does not bind" for row in binds):
        notes.append(
            "No gain is one within what the instance offers: the plan stands at the end of its choices "
            f"({'; '.join(edges)}), and a limit that does not bind there may bind once more is offered."
        )
    if any(row.status == "not known" and row.limit != "goodput_target" for row in binds):
        notes.append("Not known: the instance without the limit was not solved in time.")
    if any(row.limit == "goodput_target" for row in binds):
        notes.append("The goodput target is what the least cost is for: without it nothing would be bought.")
    return ["What binds, and the optimum without it", table, *map(prose, notes), ""]


def near_parts(near: NearOptimal | None, plan: Plan, instance: Instance) -> list[object]:
    """What is nearly as good, decision by decision, and the plans themselves; None where there was no time for it."""
    if near is None:
        return ["Near-optimal plans: not looked for, the time was used up.", ""]
    parts: list[object] = [prose(near_statement(near, plan, instance)), ""]
    if cut := near_cut(near):
        parts += [prose(cut), ""]
    if near.plans:
        exact = "" if near.complete else ", exact although the list of plans below is not complete"
        parts += [f"Values that each decision may have{exact}", near_ranges(near, instance), ""]
        parts += ["The plans, and what separates them from the best", near_plans(near, instance), ""]
    if near.alike:
        parts += [*_profile(near, instance), "", *_grid(near, instance)]
    return parts


def near_cut(near: NearOptimal) -> str:
    """What is complete and what is not, where the time or the effort ended a search; empty where none was."""
    if near.in_time:
        return ""
    rows = [*near.best_with, *near.grid]
    proven = sum(row.proven for row in rows)
    texts = [
        "the list of plans is complete" if near.number is not None else "not finished: there may be more plans",
        "the ranges are exact"
        if all(row.complete for row in near.ranges)
        else "not finished: ranges are at least these",
        f"of {len(rows):,} decision values and pairs, {proven:,} are proven; the others are at least as good as shown "
        f"({'≤' if near.objective == 'cost' else '≥'}) or not known",
    ]
    return "The time or the effort was used up. " + capitalised("; ".join(texts)) + "."


def near_statement(near: NearOptimal, plan: Plan, instance: Instance) -> str:
    """How many plans are nearly as good, in a sentence."""
    within = f"{share_text(near.within)}"
    many = any(zone.count > 1 for zone in instance.zones)
    alike = " with all zones of a class alike" if near.alike and many else ""
    best = objective_number(near.objective, near.best_value, instance.currency)
    if near.number is None and not near.in_time:
        found = f"{len(near.plans):,} plans{alike} within {within} of {best} were found"
        text = f"Not finished: {found}; there may be more, and better ones"
    elif near.number == 1:
        text = f"Only one plan{alike} is within {within} of the best: the best itself, {best}"
    elif near.complete:
        text = f"All {near.number:,} plans{alike} within {within} of the best ({best})"
    elif near.number is not None:
        text = (
            f"{near.number:,} plans{alike} are within {within} of the best ({best}); below, {len(near.plans):,} of them"
        )
    else:
        text = f"The best {len(near.plans):,} of more plans within {within} of the best ({best})"
    value = plan.certificate.value
    if near.alike and many and abs(value / near.best_value - 1.0) > 1e-9:
        other = objective_number(near.objective, value, instance.currency)
        more = _change(value / near.best_value - 1.0)
        text += f". The optimum, which builds zones of a class differently, has {other} ({more})"
    return text + "."


def near_ranges(near: NearOptimal, instance: Instance) -> Table:
    """The values of each decision within the share."""
    table = plain_table(
        "zone",
        "decision",
        f"within {share_text(near.within)}",
        "the best has",
        "offered",
        left=("zone", "decision", f"within {share_text(near.within)}", "the best has"),
    )
    above = ""
    for row in near.ranges:
        zone = row.zone or "all zones"
        offered = [
            v
            for b in near.best_with
            if b.zone == row.zone and row.decision in b.decisions
            for v in b.decisions.values()
        ]
        values = _spans(row.decision, row.values, offered) + ("" if row.complete else ", and perhaps others")
        best = ", ".join(value_words(row.decision, value) for value in row.best)
        table.add_row("" if zone == above else zone, _name(row.decision), values, best, f"{row.offered:,}")
        above = zone
    return table


def _spans(decision: str, values: Sequence[Value], offered: Sequence[Value]) -> str:
    """Values as spans of what is offered: "3 to 6, 9"."""
    if not values:
        return "none found"
    spans: list[list[Value]] = []
    for value in values:
        place = offered.index(value)
        if spans and not isinstance(value, str) and offered[place - 1] == spans[-1][-1]:
            spans[-1].append(value)
        else:
            spans.append([value])
    texts = [
        value_words(decision, span[0]) + (f" to {value_words(decision, span[-1])}" if len(span) > 1 else "")
        for span in spans
    ]
    return ", ".join(texts)


def _name(decision: str) -> str:
    return NAMES.get(decision, decision.replace("_", " "))


def near_plans(near: NearOptimal, instance: Instance) -> Table:
    """The plans: what they decide differently from the best, and where the difference goes."""
    best = near.plans[0]
    table = plain_table(
        "",
        "objective",
        "change",
        "cost per year",
        "instead of the best's",
        LOSSES,
        left=("instead of the best's", LOSSES),
    )
    for place, plan in enumerate(near.plans):
        more = (
            None
            if plan.cost_per_year is None or best.cost_per_year is None
            else plan.cost_per_year - best.cost_per_year
        )
        money = "" if more is None or place == 0 or abs(more) < 1 else signed_money(more, instance.currency)
        table.add_row(
            f"{place + 1:,}",
            objective_number(near.objective, plan.value, instance.currency).partition(" baseline")[0],
            _change(plan.change),
            money,
            _differences(plan, best, instance) if place else "the best",
            _loss_words({name: plan.losses[name] - best.losses[name] for name in best.losses}) if place else "",
        )
    return table


def _differences(plan: NearPlan, best: NearPlan, instance: Instance) -> str:
    """The decisions in which a plan differs from the best."""
    parts = []
    for zone in instance.zones:
        ours = [choice for choice in plan.decisions.zones if choice.zone == zone.name]
        theirs = [choice for choice in best.decisions.zones if choice.zone == zone.name]
        prefix = f"{zone.name}: " if len(instance.zones) > 1 else ""
        if len(ours) == len(theirs) == 1:
            own = []
            for decision in type(ours[0]).model_fields:
                if decision in ("zone", "count"):
                    continue
                new, old = decided(ours[0], instance, decision), decided(theirs[0], instance, decision)
                if new != old and new is not None:
                    own.append(f"{_name(decision)} {value_words(decision, new)}")
            parts += [prefix + ", ".join(own)] if own else []
        elif ours != theirs:
            parts.append(prefix + _split_words(ours, theirs, instance))
    if plan.decisions.checkpoint_plan != best.decisions.checkpoint_plan:
        parts.append(f"checkpoint plan {plan.decisions.checkpoint_plan}")
    return "; ".join(parts)


def _split_words(ours: list[ZoneChoice], theirs: list[ZoneChoice], instance: Instance) -> str:
    """How many zones take what, in the decisions that not all of them share."""
    fields = [f for f in ZoneChoice.model_fields if f not in ("zone", "count")]
    differ = [f for f in fields if len({decided(choice, instance, f) for choice in (*ours, *theirs)}) > 1]
    texts = []
    for choice in ours:
        values = [(f, decided(choice, instance, f)) for f in differ]
        words = ", ".join(f"{_name(f)} {value_words(f, value)}" for f, value in values if value is not None)
        texts.append(f"{choice.count} × ({words})" if words else f"{choice.count} alike")
    return " + ".join(texts)


def _loss_words(changes: dict[str, float]) -> str:
    """The loss shares that change most."""
    order = sorted((name for name in changes if name != "useful"), key=lambda name: -abs(changes[name]))
    named = [name for name in order if abs(changes[name]) >= LEAST_SHARE][:SEPARATES]
    return ", ".join(f"{LOSS_NAMES[name].split(' (')[0]} {_points(changes[name])}" for name in named)


def _profile(near: NearOptimal, instance: Instance) -> list[object]:
    """For each value of each decision how far the best plan with it is from the best of all."""
    parts: list[object] = ["The best plan with each value, all other decisions chosen anew"]
    groups: dict[tuple[str, str], list[BestWith]] = {}
    for row in near.best_with:
        (decision,) = row.decisions
        groups.setdefault((row.zone, decision), []).append(row)
    for (zone, decision), rows in groups.items():
        where = f"{zone}, " if len(instance.zones) > 1 and zone else ""
        known = [row for row in rows if row.change is not None]
        told = _around_the_best(known)
        cells = [f"{value_words(decision, row.decisions[decision])}: {_cell(row, near.objective)}" for row in told]
        left_out = len(known) - len(told)
        open_rows = sum(row.change is None and not row.proven for row in rows)
        none = len(rows) - len(known) - open_rows
        text = f"{where}{_name(decision)}: {'; '.join(cells) or 'no plan found'}"
        text += f"; {left_out:,} between these left out (all in --json)" if left_out else ""
        text += f"; {none:,} more without any plan" if none else ""
        text += f"; {open_rows:,} more not known" if open_rows else ""
        parts.append(prose(f"- {text}.", "  "))
    return parts


def _around_the_best(rows: list[BestWith]) -> list[BestWith]:
    """At most MOST_VALUES of the values: the two ends and those around the best."""
    if len(rows) <= MOST_VALUES:
        return rows
    best = min(range(len(rows)), key=lambda i: abs(rows[i].change or 0.0))
    inner = MOST_VALUES - 2
    first = min(max(best - inner // 2, 1), len(rows) - 1 - inner)
    return [rows[0], *rows[first : first + inner], rows[-1]]


def _cell(row: BestWith, kind: str) -> str:
    if row.change is None:
        return ""
    text = "best" if abs(row.change) < 5e-8 else _change(row.change)
    if row.proven:
        return text
    return f"{'≤' if kind == 'cost' else '≥'} {text}"


def _grid(near: NearOptimal, instance: Instance) -> list[object]:
    """The best plan with each pair of I and R."""
    parts: list[object] = []
    for zone in instance.zones:
        rows = [row for row in near.grid if row.zone == zone.name and row.change is not None]
        if not rows:
            continue
        intra = sorted({int(row.decisions["intra_block_spares"]) for row in rows})
        inter = sorted({int(row.decisions["inter_block_spares"]) for row in rows})
        cells = {tuple(row.decisions.values()): row for row in rows}
        least = {
            r: min(abs(row.change or 0.0) for row in rows if row.decisions["inter_block_spares"] == r) for r in inter
        }
        shown = sorted(sorted(inter, key=lambda r: least[r])[:MOST_ROWS])
        table = plain_table("R", *(f"I = {i}" for i in intra))
        for r in shown:
            table.add_row(f"{r:,}", *(_cell(cells[i, r], near.objective) if (i, r) in cells else "" for i in intra))
        where = f" of {zone.name}" if len(instance.zones) > 1 else ""
        rest = (
            f"; {len(inter) - len(shown):,} values of R that are farther off are left out"
            if len(inter) > len(shown)
            else ""
        )
        parts += [
            f"The best plan with each I (spare trays a block) and R (spare blocks a zone){where}{rest}",
            table,
            "",
        ]
    return parts


def why_not_parts(why: WhyNot, instance: Instance) -> list[object]:
    """What comes of other decisions."""
    kind, money = instance.objective.kind, instance.currency
    lines = []
    if why.outcome == "the best plan has it":
        lines.append(f"Why not {why.asked}? It is what the best plan has.")
    elif why.outcome == "can't be built":
        lines.append(f"Why not {why.asked}? It can't be built: {why.reason}.")
    elif why.outcome == "breaks a limit" and why.decisions is None:
        lines.append(f"Why not {why.asked}? No plan with it meets every limit: {why.reason}.")
        if why.breaks:
            lines.append(f"There would be one without any one of: {', '.join(map(limit_name, why.breaks))}.")
    elif why.value is None:
        lines.append(f"Why not {why.asked}? Not known: {why.reason or 'the plan has no cost'}.")
    else:
        value = objective_number(kind, why.value, money)
        verdict = {"worse": "it is worse", "no worse": "it is no worse", "not known": "not proven to be worse"}
        best = "" if why.bound is None else "the best plan with it has "
        change = "" if why.change is None else f" ({_change(why.change)})"
        broken = f" and BREAKS {', '.join(map(limit_name, why.breaks))}" if why.breaks else ""
        lines.append(
            f"Why not {why.asked}? {capitalised(verdict.get(why.outcome, 'as it is'))}: {best}{value}{change}{broken}."
        )
    parts: list[object] = list(map(prose, lines))
    if why.decisions is not None and why.outcome != "the best plan has it":
        parts.append(prose(f"  It is {plan_words(why.decisions, instance)}.", "  "))
        if where := _where(why, money):
            parts.append(prose(f"  Against the best plan: {where}.", "  "))
    for pair in why.dominated:
        text = f"  {choice_words(pair.choice)} is dominated: {choice_words(pair.by)} is at least as good in every plan."
        parts.append(prose(text, "  "))
    if why.beyond_choices:
        parts.append(prose(f"  It has what the instance does not offer: {'; '.join(why.beyond_choices)}.", "  "))
    return [*parts, ""]


def _where(why: WhyNot, money: str) -> str:
    """Where a difference goes: GPUs, useful share by its losses, speed, money."""
    words = []
    if why.gpus_change:
        words.append(f"GPUs {_change(why.gpus_change)}")
    if why.speed_change and abs(why.speed_change) > 1e-9:
        words.append(f"speed {_change(why.speed_change)}")
    shares = [name for name in why.loss_changes if name != "useful" and abs(why.loss_changes[name]) >= LEAST_SHARE]
    shares.sort(key=lambda name: -abs(why.loss_changes[name]))
    useful = why.loss_changes.get("useful", 0.0)
    points = ", ".join(f"{LOSS_NAMES[name].split(' (')[0]} {_points(why.loss_changes[name])}" for name in shares)
    if points or abs(useful) >= LEAST_SHARE:
        now = "" if why.evaluation is None else f" to {100 * why.evaluation.losses['useful']:.2f} %"
        words.append(f"useful share of GPU-hours {_points(useful)}{now}" + (f" ({points})" if points else ""))
    for name, change in (("capital", why.capital_change), ("cost per year", why.cost_change_per_year)):
        if change is not None and abs(change) >= 1:
            words.append(f"{name} {signed_money(change, money)}")
    return "; ".join(words)
