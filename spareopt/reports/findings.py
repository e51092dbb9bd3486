"""What a report finds, in a sentence for each section: from the numbers alone."""

from __future__ import annotations

from collections.abc import Sequence

from spareopt import units
from spareopt.answer_text import OPTIMAL, claim_text, gap_text
from spareopt.binding import Binds
from spareopt.curve_text import resource_name
from spareopt.efficient import Frontier
from spareopt.evaluation import Evaluation
from spareopt.explain_text import NAMES
from spareopt.exposure import Tornado
from spareopt.input_words import input_words
from spareopt.instance import Instance
from spareopt.marginal import MarginalStep, MarginalValue, MarginalValues
from spareopt.near_result import NearOptimal
from spareopt.plan import PROVEN, Plan
from spareopt.reports.analyses import InScenario
from spareopt.score_text import LOSS_NAMES, limit_name
from spareopt.simulation.result import Simulation
from spareopt.wording import (
    capitalised,
    counted,
    listed,
    number_text,
    objective_text,
    percent,
    proof_words,
    share_text,
    signed_percent,
)

STILL = 5e-8
"""Relative changes below this are none: they are of rounding."""


def answer_finding(plan: Plan) -> str:
    """The plan's objective, and how sure it is."""
    c = plan.certificate
    proof = proof_words(c.status, c.gap, c.among)
    if c.status == PROVEN and c.gap < OPTIMAL:
        proof = proof.replace(f"proven within {percent(c.gap)}", f"proven optimal (gap {gap_text(c.gap)})")
    return f"{capitalised(objective_text(c.objective, c.value, plan.evaluation.currency))}, {proof}"


def plan_finding(plan: Plan) -> str:
    """How many GPUs stand idle as spares."""
    e = plan.evaluation
    idle = e.idle_spares.gpus
    if idle == 0:
        return f"All {e.gpus:,} GPUs work: none stands idle as a spare"
    return f"{idle:,} of {e.gpus:,} GPUs ({percent(idle / e.gpus)}) stand idle as spares"


def losses_finding(evaluation: Evaluation) -> str:
    """The useful share of GPU-hours, and the largest loss."""
    losses = {name: share for name, share in evaluation.losses.items() if name != "useful"}
    worst = max(losses, key=losses.__getitem__)
    return (
        f"{percent(evaluation.losses['useful'])} of GPU-hours are useful; the largest loss is "
        f"{loss_name(worst)}, {percent(losses[worst])}"
    )


def loss_name(name: str) -> str:
    """A loss in words, without their explanation."""
    return LOSS_NAMES[name].partition(" (")[0]


def certificate_finding(plan: Plan) -> str:
    """What no plan can be better than, and how much a better one could gain at most."""
    c = plan.certificate
    claim = claim_text(c, plan.evaluation.currency)
    start = "Proven" if c.status == PROVEN else f"NOT PROVEN ({c.status})"
    if c.status == PROVEN and 0 < c.gap < OPTIMAL:
        return f"{start}: {claim}; no search could gain {share_text(OPTIMAL)} or more"
    gain = f"a longer search could gain {gap_words(plan)} at most" if c.gap else "no search could find a better one"
    return f"{start}: {claim}; {gain}"


def gap_words(plan: Plan) -> str:
    """The gap in GPUs or in money, and as a share."""
    c, e = plan.certificate, plan.evaluation
    left = abs(c.bound - c.value)
    if c.objective == "goodput":
        amount = f"{number_text(left)} baseline GPUs" if left >= 1 else "less than one baseline GPU"
        return f"{amount} ({percent(c.gap)})"
    if c.objective == "cost":
        return f"{units.show(left, units.MONEY_PER_YEAR, e.currency)} ({percent(c.gap)})"
    return percent(c.gap)


def cost_finding(plan: Plan) -> str | None:
    """What a useful GPU-hour costs, and the share that idle spares take; None where no prices are known."""
    e = plan.evaluation
    if e.cost_per_year is None or e.cost_per_useful_gpu_hour is None:
        return None
    text = f"A useful GPU-hour costs {units.show(e.cost_per_useful_gpu_hour, units.MONEY, e.currency)}"
    idle = e.idle_spares.cost_per_year
    if idle is None or e.cost_per_year == 0:  # prices of zero
        return text
    amount = units.show(idle, units.MONEY_PER_YEAR, e.currency)
    return f"{text}; the idle spares cost {amount}, {percent(idle / e.cost_per_year)} of all"


def power_finding(plan: Plan) -> str | None:
    """What the site draws, and the share of the idle spares; None where no power is stated."""
    e = plan.evaluation
    if e.it_power_kw is None or e.site_power_kw is None:
        return None
    text = f"The site draws {units.show(e.site_power_kw, units.POWER)}"
    idle = e.idle_spares.power_kw
    return text if idle is None else f"{text}; the idle spares take {percent(idle / e.it_power_kw)} of the IT power"


def binding_finding(binds: Sequence[Binds], kind: str) -> str:
    """Which limits hold the plan back, and by how much the first."""
    if not binds:
        return "The instance sets no limits, so none binds"
    holding = [row for row in binds if row.status.startswith("binds")]
    if not holding:
        return "No limit holds the plan back: what is offered ends first"
    strongest = max(holding, key=lambda row: abs(row.gain or 0.0))
    names = listed(limit_name(row.limit) for row in holding)
    text = f"Limit that binds: {names}" if len(holding) == 1 else f"Limits that bind: {names}"
    if strongest.gain is None:
        return text
    of = f"without {limit_name(strongest.limit)}" if len(holding) > 1 else "without it"
    return f"{text}; {of} the optimum has {moved_words(kind, strongest.gain)}"


def moved_words(kind: str, change: float) -> str:
    """How much more or less of the objective a relative change is."""
    return f"{percent(abs(change))} {'more' if change > 0 else 'less'} {objective_name(kind)}"


def objective_name(kind: str) -> str:
    """The objective in words."""
    return {"goodput": "goodput", "cost": "cost"}.get(kind, "goodput for the money")


def marginal_finding(result: MarginalValues) -> str:
    """What a step of the limit or the input that brings most is worth."""
    told = [value for value in result.values if value.better.told and value.better.change]
    if not told:
        return "No small step of a limit or an input moves the optimum by more than the proofs can tell"
    best = max(told, key=lambda value: value.better.change or 0.0)
    return f"{step_words(best, best.better)} brings most: {change_words(result, best.better)}"


def step_words(value: MarginalValue, step: MarginalStep) -> str:
    """A step in words."""
    if value.kind == "input":
        return f"{capitalised(value.name)} {value.unit}"
    return f"One step of {value.name} ({number_text(step.amount)} {value.unit})"


def change_words(result: MarginalValues, step: MarginalStep) -> str:
    """What a step changes, in the objective's unit."""
    kind, change = result.certificate.objective, step.change or 0.0
    if kind == "cost":
        return f"{units.show(abs(change), units.MONEY_PER_YEAR, result.currency)} {'saved' if change > 0 else 'lost'}"
    sign = "+" if change > 0 else "−"
    unit = "baseline GPUs" if kind == "goodput" else f"baseline GPU-hours per {units.CURRENCIES[result.currency]}"
    return f"{sign}{abs(change):,.4g} {unit}"


def near_finding(near: NearOptimal, instance: Instance) -> str:
    """How many plans are nearly as good, and what they leave open; of those with zones alike, where that matters."""
    within = share_text(near.within)
    alike = " with zones alike" if near.alike and any(zone.count > 1 for zone in instance.zones) else ""
    if near.number == 1:
        return f"No other plan{alike} is within {within} of the best"
    number = f"{near.number:,}" if near.number is not None else f"At least {len(near.plans):,}"
    loose = sorted({NAMES.get(row.decision, row.decision) for row in near.ranges if len(row.values) > 1}, key=str.lower)
    firm = [row for row in near.ranges if len(row.values) == 1]
    text = f"{number} plans{alike} are within {within} of the best"
    if loose:
        text += f"; they differ in {listed(loose)}"
    return text if firm else f"{text}, in every decision"


def frontier_finding(curve: Frontier) -> str:
    """What the frontier runs from and to, and what the last GPU takes beside the first."""
    first, last = curve.points[0], curve.points[-1]
    name, money = resource_name(curve.of), curve.currency
    show = {"cost": units.MONEY_PER_YEAR, "capital": units.MONEY, "power": units.POWER}[curve.of]
    if len(curve.points) == 1:
        return f"One plan is best in both goodput and {name}: nothing is to be traded"
    text = (
        f"From {units.show(first.resource, show, money)} to {units.show(last.resource, show, money)}"
        f"{'' if curve.of == 'cost' else f' of {name}'}, "
        f"goodput rises from {first.goodput:,.0f} to {last.goodput:,.0f} baseline GPUs"
    )
    steps = [point.resource_per_gpu for point in curve.points if point.resource_per_gpu is not None]
    if len(steps) < 2 or steps[0] <= 0:
        return text
    return f"{text}; at the end a further GPU takes {number_text(steps[-1] / steps[0])} times as much as at the start"


def tornado_finding(result: Tornado) -> str:
    """The input that moves the objective most, and how often the decisions change."""
    moving = [bar for bar in result.bars if bar.swing > 0]
    if not moving:
        return "No uncertain input moves the objective"
    top, nominal = moving[0], result.certificate.value
    ends = [end for bar in result.bars for end in (bar.low, bar.high)]
    moved = sum(end.decisions_change is True for end in ends)
    values = [end.adapted for end in (top.low, top.high) if end.adapted is not None]
    text = f"What moves the objective most is: {input_words(top.input)}"
    if values:
        changes = [value / nominal - 1.0 for value in sorted(values)]
        told = [signed_percent(change if abs(change) > STILL else 0.0) for change in dict.fromkeys(changes)]
        text += f", {' to '.join(told)}"
    if any(end.status == "infeasible" for end in (top.low, top.high)):
        text += ", and no plan is possible at one end" if values else ": no plan is possible at either end"
    if not moved and all(end.decisions_change is False for end in ends):
        return f"{text}; the plan stays the best at all {len(ends)} ends"
    return f"{text}; at {moved or 'none'} of {len(ends)} ends another plan is {'' if moved else 'known to be '}best"


def scenarios_finding(rows: Sequence[InScenario], nominal: Plan | None, plans: str = "best plan") -> str:
    """The worst and the best scenario by their best plans (``plans``: of which), and those that have none."""
    changes = {}
    for row in rows:
        best = row.answer.plan
        if best is not None and nominal is not None and best.certificate.objective == nominal.certificate.objective:
            changes[row.name] = best.certificate.value / nominal.certificate.value - 1.0
    none = [row.name for row in rows if row.answer.status == "infeasible"]
    parts = []
    if changes and nominal is not None:
        sign = -1.0 if nominal.certificate.sense == "minimise" else 1.0
        order = sorted(changes, key=lambda name: sign * changes[name])
        told = order[:1] if len(order) == 1 else [order[0], order[-1]]
        kind = nominal.certificate.objective
        parts.append(f"the {plans} has " + ", ".join(f"{_moved(kind, changes[name])} in {name}" for name in told))
    parts += [f"no plan is possible in {listed(none)}"] if none else []
    return capitalised("; ".join(parts)) or f"{counted(len(rows), 'scenario')} asked"


def _moved(kind: str, change: float) -> str:
    return moved_words(kind, change) if abs(change) > STILL else f"as much {objective_name(kind)}"


def simulation_finding(result: Simulation) -> str:
    """How many quarters reach the target; without one what 9 in 10 give; without quarters the mean."""
    q, aim = result.quarters, result.target
    if aim is not None:
        wanted = units.show_gpu_hours(aim.useful_gpu_hours)
        return f"{percent(aim.reached.mean)} of the simulated quarters reach the target of {wanted} useful GPU-hours"
    if q.p5 is None or q.p95 is None:
        simulated = f"{result.evaluation.goodput:,.0f} baseline GPUs"
        return f"Simulated goodput is {simulated}; the exact value is {result.exact.goodput:,.0f}"
    return (
        f"9 quarters in 10 give between {q.p5:,.0f} and {q.p95:,.0f} baseline GPUs; the exact mean is "
        f"{result.exact.goodput:,.0f}"
    )


def agreement_words(result: Simulation) -> str:
    """Whether simulation and exact model agree in CETT."""
    row = result.agreement["cett"]
    if row.inside is None:
        return "The simulation saw too little to be held against the exact model."
    if row.inside:
        return f"The exact CETT, {row.exact:.5f}, lies within the interval that was simulated: the two models agree."
    return (
        f"The exact CETT, {row.exact:.5f}, lies OUTSIDE the interval that was simulated (mean "
        f"{row.simulated.mean:.5f}). It rests on: {row.method}."
    )


def method_finding(evaluation: Evaluation) -> str:
    """How many of the numbers are exact."""
    rough = [name for name, method in evaluation.method.items() if "approximation" in method]
    if not rough:
        return "Every number of the score is exact for the model and the inputs stated"
    are = "quantity is" if len(evaluation.method) == 1 else "quantities is" if len(rough) == 1 else "quantities are"
    return f"{len(rough)} of {len(evaluation.method)} {are} approximated; the others are exact for the model"


def provenance_finding(plan: Plan) -> str:
    """What the plan was made from."""
    p = plan.provenance
    version = p.versions.get("spareopt", "of an unknown version")
    return f"Made from {p.instance} ({p.input_hash[:12]}…) by spareopt {version}"
