"""What a staged plan is not made for: one clear fault for each thing of an instance that has no exact value in it."""

from __future__ import annotations

from spareopt.errors import Fault, InputError
from spareopt.horizon import HOURS_PER_QUARTER, Horizon
from spareopt.instance import Instance


def checked_horizon(instance: Instance) -> Horizon:
    """The horizon of an instance that can be staged.  Raises InputError with every reason why it can't."""
    horizon = instance.horizon
    if horizon is None:
        message = 'required for a staged plan; state at least its quarters, such as --set "horizon={quarters: 8}"'
        raise InputError(instance.name, [Fault("horizon", message)])
    faults = _what_zones_share(instance) + _money_faults(instance, horizon)
    if horizon.young_quarters:
        faults += _early_life_faults(instance)
    if faults:
        raise InputError(instance.name, faults)
    return horizon


def _what_zones_share(instance: Instance) -> list[Fault]:
    faults = []
    failures = instance.failures
    for i, plan in enumerate(instance.repair_plans):
        if plan.shared_by == "site":
            message = "crews or a shelf of the site are not supported over quarters; use shared_by: zone"
            faults.append(Fault(f"repair_plans.{i}.shared_by", message))
    for i, domain in enumerate(failures.domains):
        if domain.units > 1:
            message = f"{domain.name!r} cuts across the zones, which is not supported over quarters; take it out"
            faults.append(Fault(f"failures.domains.{i}.units", message))
    if failures.uncertainty is not None:
        message = "uncertain rates are not supported over quarters; take it out, and vary the rates by scenarios"
        faults.append(Fault("failures.uncertainty", message))
    if failures.ageing != "always":
        message = f"{failures.ageing!r} is not supported over quarters; use always"
        faults.append(Fault("failures.ageing", message))
    for i, checkpoint in enumerate(instance.checkpoint_plans):
        if checkpoint.replicas is not None:
            message = "replica groups are not supported over quarters; leave the plan out"
            faults.append(Fault(f"checkpoint_plans.{i}.replicas", message))
    return faults


def _money_faults(instance: Instance, horizon: Horizon) -> list[Fault]:
    faults = []
    if instance.objective.kind == "goodput_per_dollar":
        message = "goodput_per_dollar is not supported over quarters; use goodput with a budget, or cost with a target"
        faults.append(Fault("objective.kind", message))
    if instance.economics.site_capital is not None:
        message = "capital per power is not supported over quarters; take it out, and its money out of the budget"
        faults.append(Fault("economics.site_capital", message))
    if instance.objective.kind == "cost":
        targets = horizon.goodput_target
        if targets is not None and max(targets) == 0:
            faults.append(Fault("horizon.goodput_target", "expected a target above 0 in some quarter"))
        if instance.economics.amortisation < HOURS_PER_QUARTER:
            faults.append(Fault("economics.amortisation", "expected at least a quarter, 2,191.5 h, over quarters"))
    prices = {plan.tray_price for plan in instance.repair_plans if plan.shelf is not None}
    if len(prices) > 1:
        message = "trays move between the shelves of the zones, so that all plans with a shelf need one tray_price"
        faults.append(Fault("repair_plans", message))
    if prices and len({design.gpus_per_tray for design in instance.designs}) > 1:
        message = "trays of different designs can't replace one another on a shelf; leave the shelf out, or one design"
        faults.append(Fault("designs", message))
    return faults


def _early_life_faults(instance: Instance) -> list[Fault]:
    """Blocks of young racks must be independent: then their cohorts' laws are convolved exactly."""
    faults = []
    why = "is not supported with horizon.early_life, which needs independent blocks"
    for i, plan in enumerate(instance.repair_plans):
        for field in ("crews", "shelf"):
            if getattr(plan, field) is not None:
                faults.append(Fault(f"repair_plans.{i}.{field}", f"a number of {field} {why}; leave it out (ample)"))
        if plan.deferred:
            faults.append(Fault(f"repair_plans.{i}", f"deferred repair (plan {plan.name!r}) {why}; leave it out"))
        if plan.swap_stop:
            faults.append(Fault(f"repair_plans.{i}.swap_stop", f"swap_stop {why}; take it out"))
    for i, domain in enumerate(instance.failures.domains):
        if isinstance(domain.spans, int):
            faults.append(Fault(f"failures.domains.{i}.spans", f"a domain of several racks {why}; take it out"))
    if instance.failures.rack is not None:
        for i, design in enumerate(instance.designs):
            if design.blocks_per_rack > 1:
                message = f"failing racks of several blocks {why}; use one block per rack"
                faults.append(Fault(f"designs.{i}.blocks_per_rack", message))
    return faults
