"""Comparisons of plans as text: what changed, why, what the new plan does about it; then all plans side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from spareopt import units
from spareopt.input_changes import CAUSES, NO_EFFECT, FieldChange, quantity
from spareopt.plan_changes import VERSION, Contribution, DecisionChange, Measure, PlanChange
from spareopt.plan_comparison import PlanComparison
from spareopt.score_text import LOSS_NAMES, limit_name
from spareopt.side_by_side import ComparedRow, Value
from spareopt.wording import (
    applied_text,
    bar,
    capitalised,
    counted,
    hundredths,
    listed,
    number_text,
    percent,
    plain_table,
    proof_words,
    prose,
    render,
    signed_percent,
)
from spareopt.yaml_source import flow

DIFFERS = "≠"
LONGEST = 40
"""Letters of a value in a table."""
HASH = 12
"""Letters of a hash in a table."""
NAMED_FIELDS = 2
"""Fields that a sentence names."""
_NAMES = {
    "goodput_scale": "goodput per GPU",
    "cett": "CETT",
    "availability": "availability A",
    "checkpoint_period_h": "work between saves",
    "gpus": "GPUs",
    "working_gpus": "working GPUs",
    "wall_time_h": "time to finish the job",
    "it_power_kw": "IT power",
    "site_power_kw": "site power",
    "energy_kwh_per_year": "energy",
    "cost_per_useful_gpu_hour": "cost per useful GPU-hour",
    "intra_block_spares": "I, spare trays per block",
    "inter_block_spares": "R, spare blocks per zone",
    "count": "zones",
    "gpu_limit": "GPU limit",
    "gap": "gap",
    "gap_asked": "gap asked",
}
_KINDS: dict[str, tuple[Any, ...]] = {
    "h": (units.TIME,),
    "per h": (units.RATE,),
    "kW": (units.POWER,),
} | {
    f"{symbol}{over}": (kind, code)
    for code, symbol in units.CURRENCIES.items()
    for over, kind in (("", units.MONEY), (" per year", units.MONEY_PER_YEAR))
}
"""How quantities are shown, by the unit that they have inside."""
_HIDDEN = ("unavailability", "unit", "carbon_kg_per_year", "objective")
"""Rows of the tables and the JSON that the text leaves out."""


def comparison_text(result: PlanComparison) -> str:
    """A comparison as text: each change in sentences and tables, then the plans side by side."""
    names = short_names([named.name for named in result.plans])
    by_name = dict(zip((named.name for named in result.plans), names, strict=True))
    zones = {choice.zone for named in result.plans for choice in named.plan.decisions.zones}
    parts: list[object] = []
    for change in result.changes:
        parts += change_parts(change, by_name, several_zones=len(zones) > 1)
    parts += _side_by_side(result, names)
    return render(*parts)


def short_names(names: Sequence[str]) -> list[str]:
    """The last parts of folders' paths, where they tell them apart."""
    short = [Path(name).name or name for name in names]
    return short if len(set(short)) == len(short) else list(names)


def change_parts(change: PlanChange, names: dict[str, str], *, several_zones: bool) -> list[object]:
    """A change: three sentences, what moved, what each cause adds, decision by decision."""
    first, second = names[change.before], names[change.after]
    lines = [f"{first} to {second}: {_what(change)}", _why(change), _about_it(change, first, several_zones)]
    parts: list[object] = [*map(prose, filter(None, lines)), *map(prose, change.remarks), ""]
    parts += _moved(change)
    parts += _by_cause(change)
    parts += _decisions(change, first, second)
    return parts


def _what(change: PlanChange) -> str:
    """The whole change of each measure, in a sentence."""
    words = [_measure_words(change, measure) for measure in change.measures]
    return "; ".join(words) + "." if words else "no number of the two can be compared."


def _measure_words(change: PlanChange, measure: Measure) -> str:
    name = measure_name(change, measure.name)
    before, after = (amount(measure, value, change.currency) for value in (measure.before, measure.after))
    if measure.change == 0:
        return f"{name} stays at {before}"
    unit = f" {measure.unit}"
    if before.endswith(unit) and after.endswith(unit):
        before = before.removesuffix(unit)
    verb = "rises" if measure.change > 0 else "falls"
    relative = f" ({signed_percent(measure.after / measure.before - 1)})" if measure.before else ""
    return f"{name} {verb} from {before} to {after}{relative}"


def measure_name(change: PlanChange, name: str) -> str:
    """A measure in words."""
    if name == "objective":
        return {"goodput": "goodput", "cost": "cost per year"}.get(change.objective or "", "goodput per cost")
    return {"goodput": "goodput", "cost_per_year": "cost per year"}[name]


def amount(measure: Measure, value: float, currency: str | None) -> str:
    """A value of a measure with its unit."""
    if measure.unit == "baseline GPUs":
        return f"{value:,.1f} baseline GPUs"
    if currency is not None and measure.unit == f"{currency} per year":
        return units.show(value, units.MONEY_PER_YEAR, currency)
    return f"{value:,.6g} {measure.unit}"


def signed(measure: Measure, value: float, currency: str | None) -> str:
    """A change of a measure with its sign, without what all changes of the measure have in common."""
    sign = "−" if value < 0 else "+" if value > 0 else ""
    if measure.unit == "baseline GPUs":
        return f"{sign}{abs(value):,.4g}" if abs(value) < 1000 else f"{sign}{abs(value):,.0f}"
    if currency is not None and measure.unit == f"{currency} per year":
        return f"{sign}{units.show(abs(value), units.MONEY, currency)}"
    return f"{sign}{abs(value):,.4g}"


def _why(change: PlanChange) -> str:
    """What brought the change about, the largest cause first."""
    if change.attribution is None or not change.measures:
        moved = [cause for cause in CAUSES if any(field.cause == cause for field in change.fields)]
        if not moved:
            return "No field of the instance that matters moved."
        return f"What moved: {listed(CAUSES[cause] for cause in moved)}."
    measure = change.measures[0]
    items = [item for item in change.attribution.contributions if measure.name in item.changes]
    items = sorted(
        (item for item in items if item.causes != (VERSION,) or item.changes[measure.name]),
        key=lambda item: -abs(item.changes[measure.name]),
    )
    if not items:
        return "No field of the instance that matters moved, and both solved anew are the same."
    words = []
    for item in items:
        fields = [field for field in change.fields if field.cause in item.causes]
        named = [f"{field.path} {_step_words(field)}" for field in fields[:NAMED_FIELDS]]
        more = [f"{len(fields) - NAMED_FIELDS:,} more"] if len(fields) > NAMED_FIELDS else []
        of = f" ({listed([*named, *more])})" if named else ""
        words.append(f"{item.cause} {_added(item, measure, change.currency)}{of}")
    yearly = change.currency is not None and measure.unit == f"{change.currency} per year"
    return f"Why, {'per year' if yearly else f'in {measure.unit}'}: {'; '.join(words)}."


def _added(item: Contribution, measure: Measure, currency: str | None) -> str:
    """What a cause adds to a measure; ≈ 0 where the proofs can't tell it from nothing."""
    value = item.changes[measure.name]
    if value and measure.name == "objective" and _untold(item):
        assert item.low is not None and item.high is not None
        most = max(abs(item.low), abs(item.high))
        return f"≈ 0 (within {_most_words(measure, most, currency)})"
    return signed(measure, value, currency) if value else "0"


def _most_words(measure: Measure, most: float, currency: str | None) -> str:
    """How far a change may be off, in two digits where they suffice."""
    return signed(measure, float(f"{most:.1e}"), currency).lstrip("+")


def _untold(item: Contribution) -> bool:
    """Whether the proofs can't tell what a cause adds to the objective from nothing."""
    return item.low is not None and item.high is not None and item.low <= 0 <= item.high


def _step_words(field: FieldChange) -> str:
    before, after = field_values(field)
    return f"{before} → {after}"


def _about_it(change: PlanChange, first: str, several_zones: bool) -> str:
    """What the old plan would do, and what the new one does better, by which decisions."""
    kept = change.kept
    if kept is None or not change.measures:
        return ""
    measure = change.measures[0]
    decisions = [item for item in change.decisions if item.decision != "all"] or change.decisions
    words = []
    for place, item in enumerate(decisions):
        named = several_zones and item.zone and (place == 0 or item.zone != decisions[place - 1].zone)
        words.append(f"{item.zone}: {_decision_words(item)}" if named else _decision_words(item))
    decided = "; ".join(words)
    if kept.cannot_be_built:
        return f"{first} can't be built under the new conditions ({kept.cannot_be_built}). The new plan: {decided}."
    if not change.decisions:
        return "The plan stays: the same decisions are best."
    if measure.name not in kept.values:
        return f"The new plan: {decided}."
    value = amount(measure, kept.values[measure.name], change.currency)
    value += f" (with what is not offered any more: {'; '.join(kept.beyond)})" if kept.beyond else ""
    adapting = kept.by_adapting[measure.name]
    if kept.breaks:
        broken = listed(dict.fromkeys(map(limit_name, kept.breaks)))
        return f"Kept as it was, {first} would have {value} but BREAK {broken}, so it has to change: {decided}."
    brings = f"brings {signed(measure, adapting, change.currency)}" if adapting else "brings nothing"
    return f"Kept as it was, {first} would have {value}; the new plan {brings}: {decided}."


def _decision_words(decision: DecisionChange) -> str:
    if decision.decision == "all":
        return f"zones of {decision.zone} built otherwise"
    name = quantity_name(decision.decision)
    return f"{name} {decision.before or 'none'} → {decision.after or 'none'}"


def quantity_name(quantity: str) -> str:
    """A decision or a number in words."""
    zone, _, decision = quantity.rpartition(".")
    name = _NAMES.get(decision, decision.replace("_", " "))
    return f"{zone}: {name}" if zone else name


def field_values(field: FieldChange) -> tuple[str, str]:
    """What stood in a field and what stands there, in as many digits as tell them apart."""
    before, after = value_words(field.before), value_words(field.after)
    if before != after:
        return before, after
    return str(field.before), str(field.after)


def value_words(value: Any) -> str:
    """A value of an instance, short: quantities in six digits, evenly spaced numbers as a range."""
    if value is None:
        return "–"
    if isinstance(value, dict):
        return "stated" if "name" not in value else "offered"
    if isinstance(value, list):
        return _list_words(value)
    found = quantity(value)
    if found is None or isinstance(value, bool):
        return str(value) if len(str(value)) <= LONGEST else f"{str(value)[: LONGEST - 1]}…"
    number, unit = found
    if unit in _KINDS and not (unit == "h" and number >= 1):  # an MTBF is thought of in hours, however long
        return units.show(number, *_KINDS[unit])
    text = f"{number:,.0f}" if abs(number) >= 1e4 else f"{number:,.6g}"
    return f"{text} {unit}".rstrip()


def _list_words(values: list[Any]) -> str:
    found = [quantity(value) for value in values]
    numbers = [item[0] for item in found if item is not None]
    if len(numbers) == len(values) > 3:
        steps = {round(b - a, 9) for a, b in pairwise(numbers)}
        if len(steps) == 1:
            step = "" if steps == {1.0} else f" by {steps.pop():g}"
            unit = found[0][1] if found[0] is not None else ""
            return f"{numbers[0]:,g} to {numbers[-1]:,g}{step} {unit}".rstrip()
    text = flow(values)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _moved(change: PlanChange) -> list[object]:
    """The fields that moved, by cause."""
    if not change.fields:
        return []
    out = plain_table("cause", "field", "before", "after", "", left=("cause", "field", "before", "after"))
    out.columns[0].no_wrap = out.columns[1].no_wrap = True
    known = change.attribution
    shown: set[str] = set()
    groups = [item.causes for item in known.contributions if item.causes != (VERSION,)] if known else []
    alone = [(cause,) for cause in CAUSES if not any(cause in group for group in groups)]
    for cause in (cause for group in (*groups, *alone) for cause in group):
        for field in change.fields:
            if field.cause != cause:
                continue
            name = CAUSES[cause]
            before, after = field_values(field)
            ratio = "" if field.ratio is None else f"{field.ratio:,.4g}x"
            out.add_row("" if name in shown else name, field.path, before, after, ratio)
            shown.add(name)
    still = [field.path for field in change.fields if field.cause == NO_EFFECT]
    notes = [prose(f"Without effect on objective, goodput and cost: {listed(still)}.")] if still else []
    return [f"What moved: {counted(len(change.fields), 'field')}", *([out] if shown else []), *notes, ""]


def _by_cause(change: PlanChange) -> list[object]:
    """What each cause adds to each measure."""
    split = change.attribution
    if split is None or not change.measures:
        return []
    known = [m for m in change.measures if all(m.name in item.changes for item in split.contributions)]
    headers = [capitalised(measure_name(change, measure.name)) for measure in known]
    judged = any(item.low is not None for item in split.contributions) and known[:1] and known[0].name == "objective"
    out = plain_table(
        "cause", *headers[:1], *(["proven within"] if judged else []), *headers[1:], "", left=("cause", "")
    )
    scale = max((abs(item.changes[known[0].name]) for item in split.contributions), default=0.0) if known else 0.0
    for item in split.contributions:
        cells = [signed(m, item.changes[m.name], change.currency) if item.changes[m.name] else "0" for m in known]
        between = ""
        if judged and item.low is not None and item.high is not None:
            value = item.changes["objective"]
            most = max(value - item.low, item.high - value)
            between = f"± {_most_words(known[0], most, change.currency)}" if most else "the digit"
        size = abs(item.changes[known[0].name]) / scale / 2 if scale else 0.0
        out.add_row(item.cause, *cells[:1], *([between] if judged else []), *cells[1:], bar(size))
    whole = [signed(m, m.change, change.currency) if m.change else "0" for m in known]
    out.add_row("whole change", *whole[:1], *([""] if judged else []), *whole[1:], "")
    solves = counted(len(split.steps), "solve")
    notes = [f"{capitalised(split.method)}; {solves} within {percent(split.gap)} each."]
    notes += [f"{capitalised(note)}." for note in split.notes]
    if any(m.name != "objective" for m in known):
        notes.append(
            "How sure a share is, is proven of the objective alone: other plans as good may differ in the rest."
        )
    return [f"By cause{_unit_words(known)}", out, *map(prose, notes), ""]


def _unit_words(known: Sequence[Measure]) -> str:
    found = list(dict.fromkeys(m.unit for m in known))
    return f" ({'; '.join(found)})" if found else ""


def _decisions(change: PlanChange, first: str, second: str) -> list[object]:
    """Decision by decision, what the new plan takes otherwise, and what each brings to the old plan alone."""
    if not change.decisions:
        return ["Decisions: the same in both plans.", ""]
    measure = next((m for m in change.measures if m.name == "objective"), None)
    kept = change.kept.values.get("objective") if change.kept is not None and measure is not None else None
    alone = measure is not None and kept is not None and any(item.alone is not None for item in change.decisions)
    headers = [f"{first}, only this changed"] if alone else []
    out = plain_table("zone", "decision", first, second, *headers, "", left=("zone", "decision", first, second, ""))
    split: list[tuple[str, str]] = []
    for item in change.decisions:
        texts = [item.before or "–", item.after or "–"]
        if item.decision == "all":
            split += [(f"{item.zone} in {name}:", words) for name, words in zip((first, second), texts, strict=True)]
            texts = ["see below", "see below"]
        value = ""
        if alone and item.alone is not None and measure is not None and kept is not None:
            value = signed(measure, item.alone - kept, change.currency) or "0"
        remark = item.remark.replace("_", " ")
        out.add_row(item.zone, quantity_name(item.decision), *texts, *([value] if alone else []), remark)
    parts: list[object] = ["Decisions that differ", out]
    for head, words in split:
        parts += [head, *(f"  {choice}" for choice in words.split("; "))]
    return [*parts, ""]


def _side_by_side(result: PlanComparison, names: Sequence[str]) -> list[object]:
    """All plans, a column each; what differs is marked."""
    money = {named.plan.evaluation.currency for named in result.plans}
    currency = money.pop() if len(money) == 1 else None
    out = plain_table("", "", *names, left=("", *names))
    for column in out.columns[2:]:
        column.justify = "right"
    zones = {choice.zone for named in result.plans for choice in named.plan.decisions.zones}
    only = f"{zones.pop()}." if len(zones) == 1 else ""
    group = ""
    for row in result.rows:
        if (
            row.quantity in _HIDDEN
            or row.quantity.endswith(".all")
            or (row.quantity.startswith("version of ") and not row.differs)
        ):
            continue
        if row.group in ("money", "power", "losses") and not any(row.values):
            continue
        if row.group == "inputs" and row.quantity == "applied":
            continue  # told above the table
        if row.group != group:
            group = row.group
            out.add_row("", capitalised(group) if group != "losses" else "Share of GPU-hours")
        cells = [shown(row, value, currency) for value in row.values]
        if row.quantity == "input_hash":
            cells = [cell[:HASH] for cell in cells]
        name = LOSS_NAMES.get(row.quantity, "") if row.group == "losses" else ""
        out.add_row(
            DIFFERS if row.differs else "", f"  {name or quantity_name(row.quantity.removeprefix(only))}", *cells
        )
    lines = []
    for named, name in zip(result.plans, names, strict=True):
        plan = named.plan
        proof = proof_words(plan.certificate.status, plan.certificate.gap, plan.certificate.among)
        changes = f" {applied_text(plan.provenance.applied)}" if plan.provenance.applied else ""
        lines.append(f"{name}: {plan.provenance.instance}, {proof}.{changes}")
    return [f"Side by side ({DIFFERS} differs)", "", *map(prose, lines), out]


def shown(row: ComparedRow, value: Value, currency: str | None) -> str:
    """A value of a row for people."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if row.unit == "share":
        return hundredths(float(value))
    if row.quantity in ("gap", "gap_asked"):
        return percent(float(value))
    if currency is not None and row.unit == currency:
        return units.show(value, units.MONEY, currency)
    if currency is not None and row.unit == f"{currency} per year":
        return units.show(value, units.MONEY_PER_YEAR, currency)
    if row.unit == "kW":
        return units.show(value, units.POWER)
    if row.unit == "h":
        return units.show(value, units.TIME)
    if row.unit == "baseline GPUs" or row.group == "certificate":
        return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    text = number_text(value) if abs(value) >= 1000 else f"{value:.6g}"
    return f"{text} {row.unit}".rstrip()
