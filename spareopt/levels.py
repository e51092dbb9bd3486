"""What all zones share is enumerated outside the MILP: an instance for each level of crews, shelf and recovery.

In each level instance every zone's score depends on its own choice alone, or the coupling that is left is bounded.
"""

from __future__ import annotations

import itertools

from spareopt.checkpoint_plans import CheckpointPlan
from spareopt.decisions import Decisions, repair_choice
from spareopt.instance import Instance


def level_instances(instance: Instance) -> list[Instance]:
    """The instance with what its zones share decided, in every way; just itself where they share nothing."""
    own = tuple(plan for plan in instance.repair_plans if plan.shared_by == "zone")
    repairs = [own] if own else []
    for plan in instance.repair_plans:
        if plan.shared_by == "site":
            for crews, shelf in itertools.product(plan.crews or (None,), plan.shelf or (None,)):
                if not _seats_left(instance, crews, shelf):
                    continue
                fixed = {"crews": None if crews is None else (crews,), "shelf": None if shelf is None else (shelf,)}
                repairs.append((plan.model_copy(update=fixed),))
    recoveries = _recovery_levels(instance)
    if len(repairs) == len(recoveries) == 1 and repairs[0] == instance.repair_plans:
        return [instance]
    return [
        instance.model_copy(update={"repair_plans": plans, "checkpoint_plans": schemes})
        for plans, schemes in itertools.product(repairs, recoveries)
    ]


def level_of(instance: Instance, decisions: Decisions) -> Instance:
    """The level that decisions belong to: its shared crews and shelf, and its checkpoint plan alone."""
    first = decisions.zones[0]
    plan = next(plan for plan in instance.repair_plans if plan.name == first.repair_plan)
    scheme = next(scheme for scheme in instance.checkpoint_plans if scheme.name == decisions.checkpoint_plan)
    update: dict[str, object] = {"checkpoint_plans": (scheme,)}
    if plan.shared_by == "site":
        crews, shelf, _ = repair_choice(plan, first)
        fixed = {"crews": None if crews is None else (crews,), "shelf": None if shelf is None else (shelf,)}
        update["repair_plans"] = (plan.model_copy(update=fixed),)
    return instance.model_copy(update=update)


def _recovery_levels(instance: Instance) -> list[tuple[CheckpointPlan, ...]]:
    """Checkpoint plans that ask the same of the zones together; each replica plan by itself."""
    if instance.failures.ageing == "computing":
        return [(plan,) for plan in instance.checkpoint_plans]
    alike = tuple(plan for plan in instance.checkpoint_plans if plan.replicas is None)
    return ([alike] if alike else []) + [(p,) for p in instance.checkpoint_plans if p.replicas is not None]


def _seats_left(instance: Instance, crews: int | None, shelf: int | None) -> bool:
    limits = instance.limits
    return not (
        (limits.crews is not None and crews is not None and crews > limits.crews)
        or (limits.shelf_trays is not None and shelf is not None and shelf > limits.shelf_trays)
    )


def shared_costs(instance: Instance) -> tuple[float, float]:
    """Capital and yearly cost of what the zones of a level share: its shelf and its crews."""
    plan = instance.repair_plans[0]
    if plan.shared_by == "zone" or len(instance.repair_plans) > 1:
        return 0.0, 0.0
    crews, shelf = (offered[0] if offered else 0 for offered in (plan.crews, plan.shelf))
    return shelf * plan.tray_price, crews * plan.crew_cost


def shares_repair(instance: Instance) -> bool:
    """Whether the zones of a level share crews or a shelf."""
    return len(instance.repair_plans) == 1 and instance.repair_plans[0].shared_by == "site"
