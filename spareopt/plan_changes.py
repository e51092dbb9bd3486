"""Why a plan changed: the change of its objective, goodput and cost between two instances, split by cause."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import nan
from typing import Literal

import numpy as np

from spareopt.asking import OnCount, ask
from spareopt.change_causes import Group, Separated, group_words, separate
from spareopt.comparison import compare_decisions, objective_value, plain_choice
from spareopt.decisions import Decisions, beyond_choices, decision_faults
from spareopt.errors import InputError, StoppedError
from spareopt.evaluation import evaluate
from spareopt.input_changes import CAUSES, FieldChange, differences
from spareopt.instance import Instance
from spareopt.numerics.attribution import (
    MOST_SHAPLEY,
    Order,
    mask_of,
    masks_along,
    masks_of,
    orders_of,
    separable,
    shares_of_change,
    spread_of_change,
    usable_orders,
    weights,
)
from spareopt.plan import ZONES_ALIKE, Plan
from spareopt.record import Frozen
from spareopt.side_by_side import decision_rows
from spareopt.solved import Solved, Source, read_source
from spareopt.what_if import Answer, SolveOptions, WhatIf

MeasureName = Literal["objective", "goodput", "cost_per_year"]
VERSION = "version"
SOLVED_ANEW = "model version and search"
SAME_DIGIT = 1e-12
"""Relative; a plan scored a second time may differ by so much, as sums are in another order."""


class Measure(Frozen):
    """A number of both plans, as recorded, and its whole change."""

    name: MeasureName
    unit: str
    before: float
    after: float
    change: float


class Kept(Frozen):
    """The first plan under the second instance, as it is, and what the second plan does better."""

    cannot_be_built: str
    """Why the second instance can't have it; empty where it can."""
    breaks: tuple[str, ...]
    """Limits that it breaks there: its numbers are then no option."""
    beyond: tuple[str, ...]
    """What it has that the second instance does not offer; it may then be better than the best that is."""
    values: dict[str, float]
    """Its measures there; empty where it can't be built."""
    by_conditions: dict[str, float]
    """Change of each measure with the first plan as it is."""
    by_adapting: dict[str, float]
    """The rest of the change: what the second plan adds."""


class DecisionChange(Frozen):
    """A decision that the second plan takes otherwise."""

    zone: str
    """Zone class; empty for the whole job."""
    decision: str
    """Field of a zone choice, ``checkpoint_plan``, or ``all`` with the choices of a class that is split."""
    before: str
    after: str
    alone: float | None
    """Objective of the first plan under the second instance with only this changed; None where it can't be built."""
    remark: str
    """Limits that it breaks so, or why it can't be built."""


class Step(Frozen):
    """An instance that was solved: the first one with some causes put in place."""

    causes: tuple[str, ...]
    status: str
    values: dict[str, float | None]
    bound: float | None
    """No plan has a better objective; None without a plan."""
    why: str
    """Why there is no plan."""


class Contribution(Frozen):
    """What a cause adds to the change of each measure."""

    cause: str
    """In words."""
    causes: tuple[str, ...]
    """Its groups of fields: one, or several that can't be told apart; ``version`` for both plans solved anew."""
    fields: int
    """How many fields moved."""
    changes: dict[str, float]
    """By measure; in its unit."""
    low: float | None
    """The least it may add to the objective, as the proofs leave it open; None where the objectives are no one kind."""
    high: float | None
    """The most it may add."""


class Attribution(Frozen):
    """The whole change by cause."""

    method: str
    notes: tuple[str, ...]
    """Causes put together and why, orders left out and why."""
    gap: float
    """Relative gap asked of each solve."""
    contributions: tuple[Contribution, ...]
    """They sum to the whole change of each measure."""
    steps: tuple[Step, ...]
    """Every instance that was solved."""


class PlanChange(Frozen):
    """What changed between two plans, and why."""

    before: str
    after: str
    currency: str | None
    """None where the two plans have different ones."""
    objective: str | None
    """Kind of the objective; None where the two plans have different ones."""
    measures: tuple[Measure, ...]
    fields: tuple[FieldChange, ...]
    kept: Kept | None
    """None where the two plans are scored by different models."""
    decisions: tuple[DecisionChange, ...]
    attribution: Attribution | None
    remarks: tuple[str, ...]
    """What can't be compared or split, and why; what is not proven."""
    status: Literal["split", "not split", "not all proven", "interrupted"]


def explain_change(
    before: Source,
    after: Source,
    *,
    causes: bool = True,
    gap: float | None = None,
    time_limit: float | None = None,
    on_count: OnCount | None = None,
) -> PlanChange:
    """What changed from one plan to another, and how much of it each cause brought about.

    Both plans are solved anew, and so is the first instance with the changes of each set of causes put in place;
    ``causes=False`` leaves this out.  ``gap`` is that of each solve (the smaller one of the two plans when left out),
    ``time_limit`` is for each, in seconds; ``on_count`` is told how many solves are done, and of how many.  Raises
    InputError, SolverError.
    """
    pair = read_source(before, 1), read_source(after, 2)
    return change_between(*pair, causes=causes, gap=gap, time_limit=time_limit, on_count=on_count)


def change_between(
    before: Solved,
    after: Solved,
    *,
    causes: bool = True,
    gap: float | None = None,
    time_limit: float | None = None,
    on_count: OnCount | None = None,
) -> PlanChange:
    """As ``explain_change``, of plans that were read."""
    first, second = before.plan.certificate, after.plan.certificate
    same_money = before.instance.currency == after.instance.currency
    same_model = first.model == second.model
    same_plans = first.among == second.among
    measures = _measures(before, after)
    found = differences(before.instance, after.instance)
    remarks = []
    if not same_money:
        currencies = f"{before.instance.currency} and {after.instance.currency}"
        remarks.append(f"The currencies differ ({currencies}): no cost is compared, and nothing is split by cause.")
    if not same_model:
        remarks.append(
            f"The models differ ({first.model} and {second.model}): nothing is split by cause; solve both with one."
        )
    if not same_plans:
        remarks.append(
            f"One is the best of {first.among}, the other of {second.among}: nothing is split by cause; solve both in "
            "one way."
        )
    if first.objective != second.objective:
        kinds = f"{first.objective} and {second.objective}"
        remarks.append(f"The objectives differ ({kinds}): goodput and cost are compared, but not the objectives.")
    for solved in (before, after):
        proof = solved.plan.certificate
        if proof.status != "proven":
            remarks.append(
                f"{solved.name} is not proven ({proof.status}): so much as its gap of {proof.gap:.2g} (relative) of "
                "the change may be the search's alone."
            )
    kept = _kept(before, after, measures) if same_model else None
    attribution: Attribution | None = None
    status: Literal["split", "not split", "not all proven", "interrupted"] = "not split"
    if causes and same_money and same_model and same_plans:
        smaller = min(first.gap_asked, second.gap_asked)
        options = SolveOptions(
            gap=smaller if gap is None else gap,
            time_limit=time_limit,
            seed=before.plan.provenance.seed,
            model=first.model,
            alike=first.among == ZONES_ALIKE,
        )
        try:
            separated = separate(before.instance, after.instance, found, first.model)
            answers = _solved(separated, options, on_count)
        except StoppedError:
            status = "interrupted"
            remarks.append("Interrupted: nothing is split by cause.")
        else:
            attribution, why = _attribution(before, after, measures, separated, answers, options.gap)
            remarks += [why] if why else []
            ended = any(answer.status not in ("proven", "infeasible") for answer in answers.values())
            status = "not split" if attribution is None else "split"
            status = "not all proven" if ended else status
    if status != "interrupted" and any(s.plan.certificate.status != "proven" for s in (before, after)):
        status = "not all proven"
    return PlanChange(
        before=before.name,
        after=after.name,
        currency=before.instance.currency if same_money else None,
        objective=first.objective if first.objective == second.objective else None,
        measures=measures,
        fields=tuple(difference.change for difference in found),
        kept=kept,
        decisions=_decision_changes(before, after),
        attribution=attribution,
        remarks=tuple(remarks),
        status=status,
    )


def _values(plan: Plan) -> dict[str, float | None]:
    """The measures of a plan."""
    return {
        "objective": plan.certificate.value,
        "goodput": plan.evaluation.goodput,
        "cost_per_year": plan.evaluation.cost_per_year,
    }


def _measures(before: Solved, after: Solved) -> tuple[Measure, ...]:
    """What can be compared: the objective where both have one kind, goodput and cost where the objective is another."""
    first, second = before.plan.certificate, after.plan.certificate
    money, same_money = before.instance.currency, before.instance.currency == after.instance.currency
    units = {
        "objective": first.unit if first.objective == second.objective and first.unit == second.unit else None,
        "goodput": None if first.objective == second.objective == "goodput" else "baseline GPUs",
        "cost_per_year": None
        if not same_money or first.objective == second.objective == "cost"
        else f"{money} per year",
    }
    old, new = _values(before.plan), _values(after.plan)
    result = []
    for name, unit in units.items():
        one, other = old[name], new[name]
        if unit is not None and one is not None and other is not None:
            result.append(Measure(name=name, unit=unit, before=one, after=other, change=other - one))
    return tuple(result)


def plain(instance: Instance, decisions: Decisions) -> Decisions:
    """Decisions in one order, with the full GPU limit left out."""
    zones = sorted((plain_choice(instance, choice) for choice in decisions.zones), key=repr)
    return decisions.model_copy(update={"zones": tuple(zones)})


def _kept(before: Solved, after: Solved, measures: Sequence[Measure]) -> Kept:
    decisions, instance = before.plan.decisions, after.instance
    nothing: dict[str, float] = {}
    try:
        evaluation = evaluate(instance, decisions, model=after.plan.certificate.model)
    except InputError as error:
        why = "; ".join(str(fault) for fault in error.faults)
        return Kept(
            cannot_be_built=why, breaks=(), beyond=(), values=nothing, by_conditions=nothing, by_adapting=nothing
        )
    known = {
        "objective": objective_value(instance, evaluation),
        "goodput": evaluation.goodput,
        "cost_per_year": evaluation.cost_per_year,
    }
    same = plain(instance, decisions) == plain(instance, after.plan.decisions)
    values, conditions, adapting = {}, {}, {}
    for measure in measures:
        value = measure.after if same else known[measure.name]
        if value is not None:
            if abs(value - measure.before) <= SAME_DIGIT * abs(measure.before):
                value = measure.before
            values[measure.name] = value
            conditions[measure.name] = value - measure.before
            adapting[measure.name] = measure.after - value
    return Kept(
        cannot_be_built="",
        breaks=tuple(limit.limit for limit in evaluation.violated),
        beyond=tuple(beyond_choices(instance, decisions)),
        values=values,
        by_conditions=conditions,
        by_adapting=adapting,
    )


def _decision_changes(before: Solved, after: Solved) -> tuple[DecisionChange, ...]:
    """Decision by decision, what the second plan does otherwise."""
    alone: dict[tuple[str, str], tuple[float | None, str]] = {}
    if before.plan.certificate.model == after.plan.certificate.model and not decision_faults(
        after.instance, before.plan.decisions
    ):
        table = compare_decisions(
            after.instance, before.plan.decisions, after.plan.decisions, after.plan.certificate.model
        )
        for row in table.itertuples():
            known = None if row.alone != row.alone else float(row.alone)  # NaN
            alone[str(row.zone), str(row.decision)] = (known, str(row.remark))
    return tuple(
        DecisionChange(
            zone=zone,
            decision=decision,
            before=old or "",
            after=new or "",
            alone=alone.get((zone, decision), (None, ""))[0],
            remark=alone.get((zone, decision), (None, ""))[1],
        )
        for (zone, decision), (old, new) in decision_rows((before, after)).items()
        if old != new
    )


def _solved(separated: Separated, options: SolveOptions, on_count: OnCount | None) -> dict[int, Answer]:
    """The answers for the sets of causes that the orders pass, by bit mask.

    Raises StoppedError on Ctrl-C.
    """
    masks = masks_of(orders_of(len(separated.groups)))
    answers: dict[int, Answer] = {}
    for mask in masks:
        try:
            (answer,) = ask([WhatIf(separated.at(mask))], options)
        except InputError as error:  # what only scoring finds out, such as overloaded crews
            answer = Answer({}, "infeasible", why="; ".join(str(fault) for fault in error.faults))
        except KeyboardInterrupt:
            raise StoppedError("interrupted") from None
        if answer.status == "interrupted":
            raise StoppedError("interrupted")
        answers[mask] = answer
        if on_count is not None:
            on_count(len(answers), len(masks))
    return answers


def _attribution(
    before: Solved,
    after: Solved,
    measures: Sequence[Measure],
    separated: Separated,
    answers: dict[int, Answer],
    gap: float,
) -> tuple[Attribution | None, str]:
    """The change by cause; or None, and why there is none."""
    number = len(separated.groups)
    full = (1 << number) - 1
    for solved, mask in ((before, 0), (after, full)):
        if answers[mask].plan is None:
            answer = answers[mask]
            return (
                None,
                f"Not split by cause: {solved.name} has no plan when solved anew ({answer.status}): {answer.why}",
            )
    groups, orders, of, notes = _ways(separated, answers)
    counts = weights(orders, len(groups))
    values = {name: np.full(1 << len(groups), nan) for name in ("objective", "goodput", "cost_per_year")}
    slack = np.full(1 << len(groups), nan)
    for which in {mask for order in orders for mask in masks_along(order)}:
        plan = answers[of[which]].plan
        assert plan is not None
        for name, value in _values(plan).items():
            values[name][which] = nan if value is None else value
        slack[which] = abs(plan.certificate.bound - plan.certificate.value)
    comparable = any(measure.name == "objective" for measure in measures)
    minimised = before.plan.certificate.sense == "minimise"
    less, more = spread_of_change(counts, len(orders), slack)
    if minimised:
        less, more = more, less
    first, last = answers[0].plan, answers[full].plan
    assert first is not None and last is not None
    ends = first, last
    changes = {m.name: shares_of_change(counts, len(orders), values[m.name]) for m in measures}
    unknown = [name for name, found in changes.items() if np.isnan(found).any()]
    notes += [f"{name.replace('_', ' ')} is not split: an instance on the way does not state it" for name in unknown]
    measures = [measure for measure in measures if measure.name not in unknown]
    contributions = [_version(before, after, ends, measures, comparable)]
    for i, group in enumerate(groups):
        lowest = highest = None
        if comparable:
            change = float(changes["objective"][i])
            lowest, highest = change - float(less[i]), change + float(more[i])
        contributions.append(
            Contribution(
                cause=group_words(group),
                causes=group,
                fields=sum(d.change.cause in group for d in separated.differences),
                changes={measure.name: float(changes[measure.name][i]) for measure in measures},
                low=lowest,
                high=highest,
            )
        )
    steps = tuple(_step(separated, mask, answer) for mask, answer in answers.items())
    notes += _version_notes(before, after, ends)
    return (
        Attribution(
            method=_method(groups, orders),
            notes=tuple(notes),
            gap=gap,
            contributions=tuple(contributions),
            steps=steps,
        ),
        "",
    )


def _ways(
    separated: Separated, answers: dict[int, Answer]
) -> tuple[tuple[Group, ...], list[Order], dict[int, int], list[str]]:
    """The groups of causes and their orders that pass instances with a plan only.

    Also which set of the separated groups each set of these groups is, and what was put together or left out.
    """
    number, notes = len(separated.groups), list(separated.notes)
    asked = orders_of(number)
    known = {mask for mask, answer in answers.items() if answer.plan is not None}
    without = [
        f"{_put_in_place(separated, mask)}: {answer.status}, {answer.why}"
        for mask, answer in answers.items()
        if answer.plan is None
    ]
    orders = usable_orders(asked, known)
    if orders:
        if len(orders) < len(asked):
            notes.append(
                f"only {len(orders)} of {len(asked)} orders in which the causes may happen: the others pass an "
                f"instance without a plan ({without[0]})"
            )
        return separated.groups, orders, {mask: mask for mask in range(1 << number)}, notes
    blocks: tuple[tuple[int, ...], ...]
    if number <= MOST_SHAPLEY:
        blocks = separable(number, known)
        orders = orders_of(len(blocks))
    else:
        blocks = ()
        run: tuple[int, ...] = ()
        for cause, mask in zip(range(number), masks_along(asked[0])[1:], strict=True):
            run = (*run, cause)
            if mask in known:
                blocks, run = (*blocks, run), ()
        orders = [tuple(range(len(blocks))), tuple(range(len(blocks)))[::-1]]
    of = {which: mask_of(blocks, which) for which in range(1 << len(blocks))}
    orders = usable_orders(list(dict.fromkeys(orders)), {which for which, mask in of.items() if mask in known})
    groups = tuple(tuple(cause for i in block for cause in separated.groups[i]) for block in blocks)
    for block, group in zip(blocks, groups, strict=True):
        if len(block) > 1:
            notes.append(f"{group_words(group)}: one without the other leaves no plan ({without[0]})")
    return groups, orders, of, notes


def _put_in_place(separated: Separated, mask: int) -> str:
    """The causes of a set, in words."""
    names = [group_words(group) for i, group in enumerate(separated.groups) if mask >> i & 1]
    return f"with {' and '.join(names)} alone" if names else "with nothing changed"


def _method(groups: Sequence[Group], orders: Sequence[Order]) -> str:
    if not groups:
        return "no field that matters moved"
    if len(groups) == 1:
        return "one cause: the whole change between both plans solved anew"
    if len(groups) <= MOST_SHAPLEY and len(orders) == len(orders_of(len(groups))):
        return f"Shapley value: mean over all {len(orders)} orders in which the causes may happen"
    if len(orders) == 1:
        return f"one order: {', then '.join(group_words(groups[i]) for i in orders[0])}"
    if len(orders) == 2 and orders[1] == orders[0][::-1]:
        first = ", then ".join(group_words(groups[i]) for i in orders[0])
        return f"mean of two orders: {first}; and the reverse"
    return f"mean over {len(orders)} orders in which the causes may happen"


def _version(
    before: Solved, after: Solved, anew: tuple[Plan, Plan], measures: Sequence[Measure], comparable: bool
) -> Contribution:
    """What solving both plans anew makes of the change: another version of the model, or another search."""
    first, second = (_values(plan) for plan in anew)
    changes = {}
    for measure in measures:
        old, new = first[measure.name], second[measure.name]
        if old is not None and new is not None:
            changes[measure.name] = (old - measure.before) + (measure.after - new)
    low = high = None
    if comparable:
        sign = -1.0 if before.plan.certificate.sense == "minimise" else 1.0
        change = changes["objective"]
        slack = [
            abs(plan.certificate.bound - plan.certificate.value) for plan in (anew[0], after.plan, before.plan, anew[1])
        ]
        same = first["objective"] == measures[0].before, second["objective"] == measures[0].after
        up = (0.0 if same[0] else slack[0]) + (0.0 if same[1] else slack[1])
        down = (0.0 if same[0] else slack[2]) + (0.0 if same[1] else slack[3])
        low, high = (change - down, change + up) if sign > 0 else (change - up, change + down)
    return Contribution(cause=SOLVED_ANEW, causes=(VERSION,), fields=0, changes=changes, low=low, high=high)


def _version_notes(before: Solved, after: Solved, anew: tuple[Plan, Plan]) -> list[str]:
    """Where solving anew gives another value: what the recorded decisions score today."""
    notes = []
    for solved, plan in ((before, anew[0]), (after, anew[1])):
        recorded, found = solved.plan.certificate, plan.certificate
        if recorded.value == found.value:
            continue
        today = "can't be scored"
        with suppress(InputError):
            evaluation = evaluate(solved.instance, solved.plan.decisions, model=recorded.model)
            score = objective_value(solved.instance, evaluation)
            today = f"{'have no price' if score is None else f'score {score:,.10g}'}"
        notes.append(
            f"{solved.name}: {recorded.value:,.10g} {recorded.unit} was recorded, solved anew it is "
            f"{found.value:,.10g}; its decisions {today} today"
        )
    return notes


def _step(separated: Separated, mask: int, answer: Answer) -> Step:
    plan = answer.plan
    return Step(
        causes=tuple(
            cause for cause in CAUSES if any(cause in g for i, g in enumerate(separated.groups) if mask >> i & 1)
        ),
        status=answer.status,
        values={} if plan is None else _values(plan),
        bound=None if plan is None else plan.certificate.bound,
        why=answer.why,
    )
