"""The answer in three sentences: what to build, what it gives for what, how sure that is."""

from __future__ import annotations

from spareopt import units
from spareopt.decision_words import spoken_choices
from spareopt.plan import ALL_PLANS, PROVEN, Certificate, Plan
from spareopt.wording import applied_text, doubt, objective_number, objective_text, percent

MOST_WORDS = 300
"""Letters of the decisions in the answer; more of them are told elsewhere."""

OPTIMAL = 1e-6
"""A gap below this matters to nobody: less than a GPU in a million, 1 $ of 1 M$."""


def gap_text(gap: float) -> str:
    """A gap for readers of reports; one that matters to nobody is not told in powers of ten."""
    return f"below {OPTIMAL * 100:.4f} %" if 0 < gap < OPTIMAL else percent(gap)


def answer_sentences(plan: Plan, decisions_at: str, method_at: str) -> list[str]:
    """What to build, what it gives, how sure that is; then what was changed and what is approximated, if anything.

    ``decisions_at`` says where decisions stand that are too many for a sentence ("as on the sheet Decisions"),
    ``method_at`` where the method does ("see Method on the sheet Sources").
    """
    e, c = plan.evaluation, plan.certificate
    words = spoken_choices(plan.decisions.zones)
    if len(words) > MOST_WORDS:
        words = f"{sum(choice.count for choice in plan.decisions.zones)} zones {decisions_at}"
    several = "; " if len(plan.decisions.zones) > 1 else ", "
    built = f"Build {words}{several}checkpoint plan {plan.decisions.checkpoint_plan}."
    gives = f"It gives {e.goodput:,.1f} baseline GPUs of goodput ({e.goodput_scale:.4f} per GPU)"
    costs = [] if e.capital is None else [f"{units.show(e.capital, units.MONEY, e.currency)} of capital"]
    if e.cost_per_year is not None:
        costs.append(f"{units.show(e.cost_per_year, units.MONEY_PER_YEAR, e.currency)} in all")
    gives += f" for {' and '.join(costs)}." if costs else "."
    value = objective_text(c.objective, c.value, e.currency)
    proof = "Proven" if c.status == PROVEN else f"NOT PROVEN ({c.status})"
    sure = f"{proof}: it has {value}, and {claim_text(c, e.currency)} (gap {gap_text(c.gap)})."
    told = [built, gives, " ".join([sure, *doubt(c.status, c.gap, c.among)])]
    told += [applied_text(plan.provenance.applied)] if plan.provenance.applied else []
    if c.model == "first-order":
        told.append(f"All of it is by the published first-order model, not the exact one: {method_at}.")
    if any("approximation" in method for method in e.method.values()):
        told.append(f"Some of it is approximated: {method_at}.")
    return told


def claim_text(certificate: Certificate, currency: str, subject: str = "no plan") -> str:
    """What no plan is better than, of all plans or of those that the certificate is among."""
    c = certificate
    subject += "" if c.among == ALL_PLANS else " that builds all zones of a class alike"
    better = {"goodput": "has more than", "cost": "costs less than"}.get(c.objective, "gives more than")
    return f"{subject} {better} {objective_number(c.objective, c.bound, currency)}"
