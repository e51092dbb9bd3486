"""What the cost of a plan consists of: each thing that is bought or paid for, a number times a price, per year."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from spareopt.decisions import Decisions, ZoneChoice, repair_choice
from spareopt.errors import Fault, InputError
from spareopt.evaluation import Evaluation
from spareopt.instance import Instance
from spareopt.repair_plans import RepairPlan
from spareopt.units import HOURS_PER_YEAR

What = Literal["racks", "shelf", "building", "energy", "crews", "repair plan", "checkpoint plan"]
WHAT_WORDS: dict[What, str] = {
    "racks": "racks",
    "shelf": "trays on the shelf",
    "building": "building and its power",
    "energy": "energy",
    "crews": "crews",
    "repair plan": "repair plans",
    "checkpoint plan": "checkpoint plan",
}


@dataclass(frozen=True)
class CostItem:
    """So much of one thing at one price; ``per_year`` with capital spread over the years of amortisation."""

    what: What
    whose: str
    """The zone class it is for, or the site."""
    capital: bool
    """Whether it is bought once; else it is paid each year."""
    amount: float
    per_year: float


def cost_items(decisions: Decisions, evaluation: Evaluation, instance: Instance) -> tuple[CostItem, ...] | None:
    """All that the cost per year of a plan consists of; None where it is not known, for want of a price.

    Raises InputError where the items don't add up to the cost of the evaluation: it is of another instance.
    """
    if evaluation.cost_per_year is None:
        return None
    years = instance.economics.amortisation / HOURS_PER_YEAR
    items = [
        CostItem(what, whose, capital, amount, amount / years if capital else amount)
        for what, whose, capital, amount in _amounts(decisions, evaluation, instance)
        if amount
    ]
    total = sum(item.per_year for item in items)
    if not math.isclose(total, evaluation.cost_per_year, rel_tol=1e-9):
        message = f"the plan costs {evaluation.cost_per_year} a year, its parts by this instance add up to {total}"
        raise InputError(instance.name, [Fault("cost_per_year", f"{message}; give the instance of the plan")])
    return tuple(items)


def cost_by_what(items: tuple[CostItem, ...]) -> dict[What, float]:
    """The cost per year of everything of a kind, in the order of ``WHAT_WORDS``; what costs nothing is left out."""
    sums = {what: math.fsum(item.per_year for item in items if item.what == what) for what in WHAT_WORDS}
    return {what: value for what, value in sums.items() if value}


def _amounts(
    decisions: Decisions, evaluation: Evaluation, instance: Instance
) -> Iterator[tuple[What, str, bool, float]]:
    """Each thing with whose it is, whether it is capital, and what it costs, once or each year."""
    designs = {design.name: design for design in instance.designs}
    plans = {plan.name: plan for plan in instance.repair_plans}
    for choice in decisions.zones:
        price = designs[choice.design].rack_price or 0.0
        yield "racks", choice.zone, True, choice.count * choice.racks * price
        yield "repair plan", choice.zone, False, choice.count * plans[choice.repair_plan].yearly_cost
    for choice, plan, times in _repaired(decisions, plans):
        taken, whose = repair_choice(plan, choice), "the site" if plan.shared_by == "site" else choice.zone
        yield "shelf", whose, True, times * (taken.shelf_trays or 0) * plan.tray_price
        yield "crews", whose, False, times * (taken.crews or 0) * plan.crew_cost
    draw, energy = evaluation.it_power_kw, evaluation.energy_kwh_per_year
    yield "building", "the site", True, (draw or 0.0) * (instance.economics.site_capital or 0.0)
    yield "energy", "the site", False, (energy or 0.0) * (instance.power.energy_price or 0.0)
    scheme = next(plan for plan in instance.checkpoint_plans if plan.name == decisions.checkpoint_plan)
    yield "checkpoint plan", "the site", False, scheme.yearly_cost


def _repaired(decisions: Decisions, plans: dict[str, RepairPlan]) -> Iterator[tuple[ZoneChoice, RepairPlan, int]]:
    """Choices with their repair plan, and how many times what they take of it counts; what all zones share, once."""
    for place, choice in enumerate(decisions.zones):
        plan = plans[choice.repair_plan]
        if plan.shared_by == "zone" or place == 0:
            yield choice, plan, 1 if plan.shared_by == "site" else choice.count
