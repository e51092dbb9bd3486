"""Plans as text: a plan with its proof, and a planner's own plan beside the optimum."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from spareopt.answer_text import claim_text
from spareopt.comparison import objective_value
from spareopt.decision_words import choice_words
from spareopt.decisions import Decisions, at_the_edge, shelves_too_small
from spareopt.evaluation import Evaluation
from spareopt.instance import Instance
from spareopt.plan import PROVEN, Certificate, Greedy, Plan, ZonesAlike
from spareopt.score_text import evaluation_parts, limit_name, method_text, scale_text
from spareopt.wording import (
    applied_text,
    change_text,
    doubt,
    listed,
    objective_number,
    objective_text,
    percent,
    plain_table,
    proof_words,
    prose,
    render,
)


def plan_text(plan: Plan, instance: Instance) -> str:
    """A plan as a planner would paste it: headline, decisions, score, losses, limits, certificate, method."""
    return render(
        *headline(plan),
        *evaluation_parts(plan.decisions, plan.evaluation, instance),
        *certificate_text(plan),
        *edge_note(plan.decisions, instance),
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
    lines = [f"{instance.name}: your plan has {known}{scale_text(kind, evaluation)}", f"Your plan: {source}"]
    lines += [applied_text(instance.applied)] if instance.applied else []
    if best is not None:
        certificate = best.certificate
        gain = "" if not value else f" ({change_text(certificate.value, value)})"
        proof = proof_words(certificate.status, certificate.gap)
        lines.append(f"The optimum: {objective_text(kind, certificate.value, money)}{gain}, {proof}")
        lines += doubt(certificate.status, certificate.gap)
    if evaluation.violated:
        lines.append(f"Your plan BREAKS {listed(limit_name(limit.limit) for limit in evaluation.violated)}.")
    lines += [f"Your plan has what the instance does not offer: {'; '.join(beyond)}."] if beyond else []
    parts = [*map(prose, lines), *evaluation_parts(mine, evaluation, instance)]
    if table is not None:
        parts += _comparison(table, kind, value, money)
    return render(*parts, *method_text(evaluation, instance))


def headline(plan: Plan) -> list[str]:
    """The result in one sentence, and what was changed in the instance."""
    certificate = plan.certificate
    value = objective_text(certificate.objective, certificate.value, plan.evaluation.currency)
    proof = proof_words(certificate.status, certificate.gap, certificate.among)
    text = f"{plan.provenance.instance}: {value}{scale_text(certificate.objective, plan.evaluation)}, {proof}"
    applied = plan.provenance.applied
    doubts = [*doubt(certificate.status, certificate.gap, certificate.among), *_approximated(plan.evaluation)]
    lines = (text, *doubts, *([applied_text(applied)] if applied else []))
    return [prose(line) for line in lines]


def _approximated(evaluation: Evaluation) -> list[str]:
    """Where the availability is approximated, what can be done about it."""
    if "approximation" not in evaluation.method["availability"]:
        return []
    return [
        "Its availability is approximated (see Method), and what is proven with it; spareopt simulate plays the plan."
    ]


def certificate_text(plan: Plan) -> list[str]:
    """The proof in words."""
    c, n = plan.certificate, plan.candidates
    claim = claim_text(c, plan.evaluation.currency, "no plan of this instance")
    solved = {0: "its linear relaxation sufficed", 1: "the MILP solved once"}.get(
        c.refinements, f"the MILP refined and solved {c.refinements:,} times"
    )
    if enumerated := by_enumeration(plan):
        solved = "by enumeration"
    status = "proven" if c.status == PROVEN else f"NOT PROVEN, {c.status}"
    text = f"Certificate ({status}): {claim}; gap {percent(c.gap)}, asked {percent(c.gap_asked)}; "
    candidates = f"Candidates: {n.enumerated:,} scored; {n.dominated:,} dominated, {n.outbid:,} outbid, "
    candidates += f"{n.kept:,} {'offered to the MILP' if c.refinements else 'left'}."
    if enumerated:
        candidates = f"Candidates: {n.enumerated:,} scored, none left out."
    lines = [f"{text}{c.model} model, {solved}.", candidates]
    lines += [f"Left out, can't be built: {number:,} ({reason})." for reason, number in n.excluded.items()]
    if plan.zones_alike is not None:
        lines.append(_alike_text(plan.zones_alike, c, plan.evaluation.currency))
    if plan.greedy is not None:
        lines.append(_greedy_text(plan.greedy, c, plan.evaluation.currency))
    return [*map(prose, lines), ""]


def by_enumeration(plan: Plan) -> bool:
    """Whether a plan was found by trying all that build zones alike, rather than by the MILP."""
    n = plan.candidates
    return bool(plan.provenance.options.get("alike")) and not plan.certificate.refinements and n.kept == n.enumerated


def edge_note(decisions: Decisions, instance: Instance) -> list[str]:
    """That the best of what is offered stands at its end: offering more might be better."""
    edges, notes = at_the_edge(instance, decisions), []
    if edges:
        notes.append(f"At the edge of the choices, where offering more may give a better plan: {'; '.join(edges)}.")
    if small := shelves_too_small(instance):
        notes.append(f"Nearly always empty, where offering more may give a better plan: {'; '.join(small)}.")
    return [*map(prose, notes), ""] if notes else []


def _alike_text(alike: ZonesAlike, c: Certificate, currency: str) -> str:
    """The best plan with all zones alike, and what it gives up."""
    (choice,) = alike.decisions.zones
    number = f"{objective_number(c.objective, alike.value, currency)} ({100 * (alike.value / c.value - 1):+.3f} %)"
    return (
        f"With all zones alike: {number} by {choice_words(choice)}, checkpoint plan {alike.decisions.checkpoint_plan}."
    )


def _greedy_text(greedy: Greedy, c: Certificate, currency: str) -> str:
    """What the classical heuristic alone would have found."""
    if greedy.loss <= c.gap:
        return "Marginal analysis alone, the classical heuristic, finds a plan as good within the gap."
    number = f"{objective_number(c.objective, greedy.value, currency)} ({100 * (greedy.value / c.value - 1):+.3f} %)"
    return f"Marginal analysis alone, the classical heuristic: {number}."


def _comparison(table: pd.DataFrame, kind: str, mine: float | None, currency: str) -> list[object]:
    """A planner's plan beside the optimum, decision by decision."""
    out = plain_table(
        "zone", "decision", "yours", "optimum", "yours, only this changed", "change", "",
        left=("zone", "decision", "yours", "optimum", ""),
    )  # fmt: skip
    split = []
    for row in table.itertuples():
        known = row.alone == row.alone  # not NaN
        alone = objective_number(kind, float(row.alone), currency) if known else ""
        change = change_text(float(row.alone), mine) if known and mine else ""
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
