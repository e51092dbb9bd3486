"""A robust plan as text: what it is, what robustness costs and gains, and every plan in every scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.table import Table

from spareopt.decision_words import choice_words
from spareopt.decisions import Decisions
from spareopt.instance import Instance
from spareopt.plan import PROVEN
from spareopt.robust import ComparedPlan, RobustComparison, ScenarioScore
from spareopt.score_text import limit_name
from spareopt.wording import (
    PROSE,
    applied_text,
    doubt,
    hundredths,
    listed,
    percent,
    plain_table,
    proof_words,
    prose,
    render,
    share_text,
)

ACROSS = 4
"""Scenarios side by side in a table."""
BROKEN, NOT_BUILT = "breaks", "can't be built"


def robust_text(comparison: RobustComparison, instance: Instance) -> str:
    """A comparison as a planner would paste it."""
    plan, certificate = comparison.plan, comparison.plan.certificate
    proof = proof_words(certificate.status, certificate.gap)
    goal = {
        "expected": "expected goodput",
        "worst": "worst goodput",
        "cvar": f"mean goodput of the worst {share_text(certificate.alpha or 0.0)}",
    }[certificate.criterion]
    number = len(plan.scores)
    over = f"over {number} scenarios" if number > 1 else "in 1 scenario"
    lines = [f"{instance.name}: {goal} {certificate.value:,.1f} baseline GPUs {over}, {proof}"]
    lines += [applied_text(instance.applied)] if instance.applied else []
    lines += doubt(certificate.status, certificate.gap)
    lines.append(f"Weights: {listed(f'{score.scenario} {score.weight:.4g}' for score in plan.scores)}.")
    unweighed = {s.scenario for row in comparison.plans for s in row.scores if s.weight is None}
    if unweighed:
        lines.append(f"Only looked at, without a weight: {listed(sorted(unweighed))}.")
    enumerated, kept = plan.candidates["enumerated"], plan.candidates["kept"]
    article = "an" if goal.startswith("e") else "a"
    claim = (
        f"Certificate: no single plan that meets every limit in every scenario has {article} "
        f"{goal} above {certificate.bound:,.1f} baseline GPUs (gap asked: {percent(certificate.gap_asked)}). "
        f"Of {enumerated:,} choices for a zone, {kept:,} are not matched by another in every scenario."
    )
    return render(
        *map(prose, lines),
        "",
        "Plans",
        _plans(comparison),
        "",
        *_price(comparison),
        *_in_every_scenario(comparison),
        *map(prose, _broken(comparison)),
        prose(claim),
        prose(
            "Method: every decision is the same in all scenarios; only a checkpoint period that is best follows the "
            "fault rate. Each scenario is scored exactly as spareopt evaluate does."
        ),
        width=PROSE,
    )


def _label(plan: ComparedPlan, comparison: RobustComparison) -> str:
    chosen = plan.name == comparison.plan.certificate.criterion
    label = "CVaR" if plan.name == "cvar" else plan.name
    return f"> {label}" if chosen else f"  {label}"


def _plans(comparison: RobustComparison) -> Table:
    """What each plan is; one that is the same as a plan above says so."""
    table = plain_table("  plan", "zones", "checkpoints", left=("  plan", "zones", "checkpoints"))
    table.columns[0].no_wrap = True
    known: list[ComparedPlan] = []
    for plan in comparison.plans:
        same = next((other for other in known if other.decisions == plan.decisions), None)
        if same is None:
            known.append(plan)
            doubt = "" if plan.status == PROVEN else f" (not proven: {plan.status})"
            table.add_row(_label(plan, comparison), _words(plan.decisions) + doubt, plan.decisions.checkpoint_plan)
        else:
            table.add_row(_label(plan, comparison), f"as {_label(same, comparison)[2:]}", "")
    return table


def _words(decisions: Decisions) -> str:
    parts = []
    several = len({choice.zone for choice in decisions.zones}) > 1
    for c in decisions.zones:
        zone = f"{c.zone}: " if several else ""
        parts.append(f"{c.count} × {zone}{choice_words(c)}")
    return "; ".join(parts)


def _price(comparison: RobustComparison) -> list[str]:
    """What the robust plan gives up where nothing changes, and what it gains where the nominal optimum suffers."""
    loss, gain = comparison.loss_in_nominal, comparison.gain_in_worst
    if loss is None:
        return []
    if loss == 0 and gain == 0:
        return ["Price of robustness: none; the nominal optimum is as good.", ""]
    text = f"Price of robustness: {percent(max(loss, 0.0))} less goodput than the nominal optimum where nothing changes"
    if gain is None:
        text += "; the nominal optimum can't be kept in every scenario, as it breaks a limit"
    else:
        sign = "more" if gain >= 0 else "less"
        text += f", {percent(abs(gain))} {sign} in {comparison.worst_scenario}, that one's worst scenario"
    return [prose(f"{text}."), ""]


def _in_every_scenario(comparison: RobustComparison) -> Iterator[object]:
    """Goodput and regret of every plan, some scenarios side by side."""
    scenarios = range(len(comparison.plans[0].scores))
    alpha = comparison.alpha
    yield "Goodput, baseline GPUs"
    criteria = plain_table("  plan", "expected", "worst", f"CVaR {share_text(alpha)}", left=("  plan",))
    for plan in comparison.plans:
        numbers = (BROKEN if x is None else f"{x:,.1f}" for x in (plan.expected, plan.worst, plan.cvar))
        criteria.add_row(_label(plan, comparison), *numbers)
    yield criteria
    if _worst_weighs(comparison):
        yield prose(
            f"CVaR at {share_text(alpha)} equals the worst: the worst scenario's weight is at least "
            f"{share_text(alpha)}."
        )
    yield ""
    titles: tuple[tuple[str, Callable[[ScenarioScore], str]], ...] = (
        ("Goodput in each scenario, baseline GPUs", _goodput),
        ("Regret: the share of the best goodput known in the scenario that a plan misses", _regret),
    )
    for title, show in titles:
        yield title
        for first in range(0, len(scenarios), ACROSS):
            here = scenarios[first : first + ACROSS]
            heads = [comparison.plans[0].scores[s].scenario for s in here]
            table = plain_table("  plan", *heads, left=("  plan",))
            for plan in comparison.plans:
                table.add_row(_label(plan, comparison), *(show(plan.scores[s]) for s in here))
            yield table
            yield ""


def _worst_weighs(comparison: RobustComparison) -> bool:
    """Whether each plan's worst scenario weighs as much as CVaR looks at, so that CVaR is the worst goodput."""
    for plan in comparison.plans:
        weighed = [(s.goodput, s.weight) for s in plan.scores if s.goodput is not None and s.weight is not None]
        if plan.cvar is None or not weighed:
            continue
        worst = min(goodput for goodput, _ in weighed)
        if sum(weight for goodput, weight in weighed if goodput == worst) < comparison.alpha:
            return False
    return True


def _goodput(score: ScenarioScore) -> str:
    if score.goodput is None:
        return NOT_BUILT
    return f"{score.goodput:,.1f}" + (" *" if score.breaks else "")


def _regret(score: ScenarioScore) -> str:
    return BROKEN if score.regret is None else hundredths(score.regret)


def _broken(comparison: RobustComparison) -> Iterator[str]:
    """Which limits plans break, and where."""
    said = False
    for plan in comparison.plans:
        for score in plan.scores:
            if score.breaks and score.goodput is not None:
                said = True
                label = _label(plan, comparison)[2:]
                yield f"* {label} breaks {listed(map(limit_name, score.breaks))} in {score.scenario}."
    if said:
        yield ""
