"""What each field of an instance allows but the instance as a whole does not."""

from __future__ import annotations

from itertools import pairwise

from spareopt import environment, units
from spareopt.errors import Fault
from spareopt.horizon import Horizon
from spareopt.instance import Instance

FULL_WEEK = 168.0  # h


def consistency_faults(instance: Instance) -> list[Fault]:
    """Everything that each field allows but the instance as a whole does not."""
    faults: list[Fault] = []
    for field in ("zones", "designs", "repair_plans", "checkpoint_plans"):
        faults += _repeated_names(field, [item.name for item in getattr(instance, field)])
    for field in ("domains", "bursts"):
        faults += _repeated_names(f"failures.{field}", [item.name for item in getattr(instance.failures, field)])
    faults += _unknown_designs(instance)
    faults += _domain_faults(instance)
    faults += _burst_faults(instance)
    faults += _repair_faults(instance)
    faults += _crew_faults(instance)
    faults += _deferral_faults(instance)
    faults += _shared_faults(instance)
    faults += _ageing_faults(instance)
    faults += _scheme_faults(instance)
    faults += _uncertainty_faults(instance)
    faults += _guarantee_faults(instance)
    faults += _power_faults(instance)
    faults += _idle_faults(instance)
    faults += _money_faults(instance)
    faults += _scale_faults(instance)
    faults += _horizon_faults(instance)
    return faults


def _repeated_names(field: str, names: list[str]) -> list[Fault]:
    return [
        Fault(f"{field}.{i}.name", f"name {name!r} is already used; give each its own")
        for i, name in enumerate(names)
        if name in names[:i]
    ]


def _unknown_designs(instance: Instance) -> list[Fault]:
    known = [design.name for design in instance.designs]
    faults = []
    for i, zone in enumerate(instance.zones):
        if zone.designs is not None and not zone.designs:
            faults.append(Fault(f"zones.{i}.designs", "expected at least one design, or leave the field out for all"))
        for name in zone.designs or ():
            if name not in known:
                faults.append(
                    Fault(f"zones.{i}.designs", f"unknown design {name!r}; expected one of {', '.join(known)}")
                )
    for i, design in enumerate(instance.designs):
        fewest = min(
            (
                max(zone.racks) * design.blocks_per_rack
                for zone in instance.zones
                if zone.designs is None or design.name in zone.designs
            ),
            default=None,
        )
        if fewest is not None and min(design.inter_block_spares) >= fewest:
            faults.append(
                Fault(
                    f"designs.{i}.inter_block_spares",
                    f"expected fewer spare blocks than the zone has blocks ({fewest})",
                )
            )
    return faults


def _domain_faults(instance: Instance) -> list[Fault]:
    """Domains must nest: each span divides the next, or they are no tree."""
    spans = sorted({d.spans for d in instance.failures.domains if isinstance(d.spans, int)})
    faults = []
    for small, large in pairwise(spans):
        if large % small:
            faults.append(
                Fault(
                    "failures.domains",
                    f"domains of {small} and {large} racks cross each other; expected spans that divide one "
                    "another, so that the domains form a tree",
                )
            )
    reserved = {"tray", "rack", "software", "block", "zone", "site"}
    for i, domain in enumerate(instance.failures.domains):
        if domain.name in reserved:
            faults.append(Fault(f"failures.domains.{i}.name", f"{domain.name!r} is taken; choose another name"))
    return faults


def _burst_faults(instance: Instance) -> list[Fault]:
    """A burst strikes racks of one zone, any of them: it must fit into the smallest."""
    fewest = min(min(zone.racks) for zone in instance.zones)
    return [
        Fault(
            f"failures.bursts.{i}.racks", f"expected at most the fewest racks of a zone ({fewest}), got {burst.racks}"
        )
        for i, burst in enumerate(instance.failures.bursts)
        if burst.racks > fewest
    ]


def _repair_faults(instance: Instance) -> list[Fault]:
    domains = {domain.name: domain for domain in instance.failures.domains}
    faults = []
    for i, plan in enumerate(instance.repair_plans):
        if instance.failures.rack is not None and plan.rack is None:
            faults.append(
                Fault(
                    f"repair_plans.{i}",
                    f"plan {plan.name!r} lacks rack: racks fail, so their repair time is needed",
                )
            )
        for name in plan.domains:
            if name not in domains:
                known = ", ".join(domains) or "none"
                faults.append(Fault(f"repair_plans.{i}.domains.{name}", f"unknown fault domain; known: {known}"))
            elif domains[name].spans == "site":
                faults.append(
                    Fault(
                        f"repair_plans.{i}.domains.{name}",
                        "a site domain is shared by all zones: state its repair time in failures.domains instead",
                    )
                )
    return faults


def _crew_faults(instance: Instance) -> list[Fault]:
    """Crews and shelves are exact where a fault takes down one block or a whole zone; elsewhere they are refused."""
    faults = []
    several = [domain.name for domain in instance.failures.domains if isinstance(domain.spans, int)]
    shared = [design.name for design in instance.designs if design.blocks_per_rack > 1]
    for i, plan in enumerate(instance.repair_plans):
        if plan.crews is None and plan.crew_hours_per_week != FULL_WEEK:
            message = "needs crews: ample crews are on duty all week"
            faults.append(Fault(f"repair_plans.{i}.crew_hours_per_week", message))
        reasons = []
        if several:
            reasons.append(f"fault domains that span racks ({', '.join(several)})")
        if shared and instance.failures.rack is not None:
            reasons.append(f"failing racks of several blocks ({', '.join(shared)})")
        for field, what, otherwise in (
            ("crews", "a number of crews", "leave crews out (ample)"),
            ("shelf", "a shelf", "leave shelf out (never empty)"),
            ("window", "a repair window", "leave window out (repair at once)"),
        ):
            if getattr(plan, field) is not None and reasons:
                message = f"{what} is not supported with {' and '.join(reasons)}; {otherwise}"
                faults.append(Fault(f"repair_plans.{i}.{field}", message))
    return faults


def _deferral_faults(instance: Instance) -> list[Fault]:
    faults = []
    fewest = min(design.trays_per_block for design in instance.designs)
    several = [design.name for design in instance.designs if design.blocks_per_rack > 1]
    for i, plan in enumerate(instance.repair_plans):
        if plan.start_at is not None and max(plan.start_at) > fewest:
            message = f"expected at most the {fewest} trays of a block, got {max(plan.start_at)}"
            faults.append(Fault(f"repair_plans.{i}.start_at", message))
        if plan.window is not None and plan.window <= plan.tray.mttr:
            times = (units.show(value, units.TIME) for value in (plan.tray.mttr, plan.window))
            message = "expected a window longer than the repair of a tray ({}), got {}".format(*times)
            faults.append(Fault(f"repair_plans.{i}.window", message))
        if plan.out_of_service == "rack" and several:
            message = f"'rack' is not supported with racks of several blocks ({', '.join(several)}); use block"
            faults.append(Fault(f"repair_plans.{i}.out_of_service", message))
    return faults


def _shared_faults(instance: Instance) -> list[Fault]:
    """What all zones share: its law is known for some things alone, not for all of them together."""
    faults = []
    across = [domain.name for domain in instance.failures.domains if domain.units > 1]
    crossing = environment.crossing(instance)
    if crossing is not None:
        faults.append(Fault("failures.domains", crossing))
    trays = {design.gpus_per_tray for design in instance.designs}
    rates = {(design.relative_tray_rate, design.relative_rack_rate) for design in instance.designs}
    for i, plan in enumerate(instance.repair_plans):
        if plan.shared_by == "zone":
            continue
        field = f"repair_plans.{i}.shared_by"
        others = [f"domains across zones ({', '.join(across)})"] if across else []
        others += ["failures.uncertainty"] if instance.failures.uncertainty is not None else []
        others += ["a zone's guarantee"] if any(zone.guarantee is not None for zone in instance.zones) else []
        others += ["designs of different relative_tray_rate or relative_rack_rate"] if len(rates) > 1 else []
        if others:
            message = f"crews or a shelf of the site are not supported with {' and '.join(others)}; use shared_by: zone"
            faults.append(Fault(field, message))
        if plan.shelf is not None and len(trays) > 1:
            faults.append(Fault(field, "trays of different designs can't replace one another; use shared_by: zone"))
    return faults


def _ageing_faults(instance: Instance) -> list[Fault]:
    """Other ageing laws are exact for one zone of blocks without spare trays; the simulator carries the rest."""
    ageing = instance.failures.ageing
    if ageing == "always":
        return []
    reasons = []
    if sum(zone.count for zone in instance.zones) > 1:
        reasons.append("several zones")
    if any(design.intra_block_spares != (0,) for design in instance.designs):
        reasons.append("intra-block spares")
    if any(design.blocks_per_rack > 1 for design in instance.designs) and instance.failures.rack is not None:
        reasons.append("failing racks of several blocks")
    if instance.failures.domains:
        reasons.append("fault domains")
    if instance.failures.uncertainty is not None:
        reasons.append("uncertain rates")
    if any(p.crews or p.shelf or p.deferred for p in instance.repair_plans):
        reasons.append("crews, a shelf or deferred repair")
    if any(p.swap_stop for p in instance.repair_plans):
        reasons.append("swap_stop")
    if any(zone.guarantee is not None for zone in instance.zones):
        reasons.append("a zone's guarantee")
    if any(plan.replicas for plan in instance.checkpoint_plans):
        reasons.append("replica groups")
    if ageing == "computing":
        if any(plan.memory or plan.overlap for plan in instance.checkpoint_plans):
            reasons.append("two-level or overlapped checkpoints")
        if instance.failures.software is not None:
            reasons.append("software faults")
        rack = instance.failures.rack is not None
        if rack and any(plan.rack is not None and plan.rack.mttr != plan.tray.mttr for plan in instance.repair_plans):
            reasons.append("racks and trays of unequal repair times")
    if not reasons:
        return []
    message = f"{ageing!r} is not supported with {', '.join(reasons)}: its Markov chain would not be small; use always"
    return [Fault("failures.ageing", message)]


def _uncertainty_faults(instance: Instance) -> list[Fault]:
    """With uncertain rates all rates are multiplied by one number: what does not grow with it is refused."""
    if instance.failures.uncertainty is None:
        return []
    faults = [
        Fault(f"failures.domains.{i}.feeds", "not supported with failures.uncertainty: they fail as its square")
        for i, domain in enumerate(instance.failures.domains)
        if domain.feeds is not None
    ]
    return faults + [
        Fault(f"repair_plans.{i}.swap_stop", "not supported with failures.uncertainty; take it out")
        for i, plan in enumerate(instance.repair_plans)
        if plan.swap_stop
    ]


def _guarantee_faults(instance: Instance) -> list[Fault]:
    """Promises that no choice can keep, and domains across zones that divide no number of racks."""
    faults = []
    for i, zone in enumerate(instance.zones):
        designs = [d for d in instance.designs if zone.designs is None or d.name in zone.designs]
        most = max((max(zone.racks) * design.blocks_per_rack for design in designs), default=0)
        if zone.guarantee is not None and zone.guarantee.usable_blocks > most:
            message = f"expected at most the blocks of the zone ({most}), got {zone.guarantee.usable_blocks}"
            faults.append(Fault(f"zones.{i}.guarantee.usable_blocks", message))
        if not any(environment.divides(instance, racks) for racks in zone.racks):
            message = f"no number of racks of zone {zone.name!r} is divided evenly by the units of domains across zones"
            faults.append(Fault("failures.domains", f"{message} (and the racks that other domains span)"))
    return faults


def _scheme_faults(instance: Instance) -> list[Fault]:
    faults = []
    most = max(max(design.inter_block_spares) for design in instance.designs)
    for i, plan in enumerate(instance.checkpoint_plans):
        if plan.standbys is not None and plan.standbys.warm > most:
            message = f"expected at most the largest inter_block_spares of a design ({most}), got {plan.standbys.warm}"
            faults.append(Fault(f"checkpoint_plans.{i}.standbys.warm", message))
        if plan.overlap is not None and plan.save is not None and isinstance(plan.period, float):
            least = (1.0 - plan.overlap.slowdown) * plan.save
            if plan.period < least:
                message = f"expected at least {units.show(least, units.TIME)}, the work done while a save is written"
                faults.append(Fault(f"checkpoint_plans.{i}.period", message))
        if plan.replicas is None or plan.replicas.when_short == "block":
            continue
        others = [f"domains across zones ({d.name})" for d in instance.failures.domains if d.units > 1]
        others += ["failures.uncertainty"] if instance.failures.uncertainty is not None else []
        others += ["limits.availability"] if instance.limits.availability is not None else []
        others += ["shared_by: site"] if any(p.shared_by == "site" for p in instance.repair_plans) else []
        if others:
            message = f"'shrink' is not supported with {' and '.join(others)}; use block"
            faults.append(Fault(f"checkpoint_plans.{i}.replicas.when_short", message))
    return faults


def _power_faults(instance: Instance) -> list[Fault]:
    faults = []
    needs: dict[str, object] = {
        "limits.site_power": instance.limits.site_power,
        "limits.it_power": instance.limits.it_power,
        "power.rack_limit": instance.power.rack_limit,
        "power.energy_price": instance.power.energy_price,
        "power.grid_intensity": instance.power.grid_intensity,
        "economics.site_capital": instance.economics.site_capital,
    }
    scale = instance.hardware_scale
    if scale is not None and (scale.power_curve or scale.power_table):
        needs["hardware_scale"] = 1.0
    for i, design in enumerate(instance.designs):
        if design.power is None:
            faults += [
                Fault(field, f"needs the power of every design; design {design.name!r} has no power")
                for field, value in needs.items()
                if value is not None
            ]
        elif design.power.gpu_limits and not (scale is not None and (scale.power_curve or scale.power_table)):
            faults.append(
                Fault(
                    f"designs.{i}.power.gpu_limits",
                    "needs hardware_scale.power_curve or power_table: without one a lower limit costs no speed",
                )
            )
    return faults


def _idle_faults(instance: Instance) -> list[Fault]:
    """A tray that draws more idle than working would make blocked time dearer than work: a slip of the pen."""
    faults = []
    for i, design in enumerate(instance.designs):
        if design.power is None:
            continue
        lowest = min(design.power.gpu_limits or (design.power.gpu_full_limit,))
        working = design.power.tray_other + design.gpus_per_tray * lowest
        if design.power.tray_idle > working:
            message = (
                f"an idle tray draws {units.show(design.power.tray_idle, units.POWER)}, more than a working one at the "
                f"lowest GPU limit ({units.show(working, units.POWER)}); expected at most that"
            )
            faults.append(Fault(f"designs.{i}.power.tray_idle", message))
    return faults


def _money_faults(instance: Instance) -> list[Fault]:
    faults = []
    priceless = [design.name for design in instance.designs if design.rack_price is None]
    if priceless:
        if instance.limits.capital is not None:
            faults.append(
                Fault(
                    "limits.capital",
                    f"needs the price of every design; no rack_price in {', '.join(priceless)}",
                )
            )
        if instance.objective.kind != "goodput":
            faults.append(
                Fault(
                    "objective.kind",
                    f"{instance.objective.kind} needs every design's price; no rack_price in {', '.join(priceless)}",
                )
            )
    return faults


def _scale_faults(instance: Instance) -> list[Fault]:
    table = instance.llm_scale.table if instance.llm_scale is not None else None
    if table is None:
        return []
    faults = []
    for i, design in enumerate(instance.designs):
        for spares in design.intra_block_spares:
            working = (design.trays_per_block - spares) * design.gpus_per_tray
            if not min(table) <= working <= max(table):
                faults.append(
                    Fault(
                        f"designs.{i}.intra_block_spares",
                        f"a block of {design.name!r} with {spares} spare trays has {working} working GPUs, outside "
                        f"llm_scale.table ({min(table)} to {max(table)})",
                    )
                )
    return faults


def _horizon_faults(instance: Instance) -> list[Fault]:
    """What a horizon says that the rest of the instance does not allow."""
    horizon = instance.horizon
    if horizon is None:
        return []
    faults = _bought_faults(instance, horizon)
    for name, quarters in (("racks", horizon.lead_time.racks), ("shelf", horizon.lead_time.shelf)):
        if quarters >= horizon.quarters and not horizon.bought:
            message = f"expected less than the horizon of {horizon.quarters} quarters, else no order arrives in it"
            faults.append(Fault(f"horizon.lead_time.{name}", message))
    if horizon.goodput_target is not None and instance.objective.kind != "cost":
        faults.append(Fault("horizon.goodput_target", "only used with objective.kind: cost; take it out"))
    priceless = [design.name for design in instance.designs if design.rack_price is None]
    if priceless and horizon.capital is not None:
        message = f"needs the price of every design; no rack_price in {', '.join(priceless)}"
        faults.append(Fault("horizon.capital", message))
    powerless = [design.name for design in instance.designs if design.power is None]
    for name in ("site_power", "it_power"):
        if powerless and getattr(horizon, name) is not None:
            message = f"needs the power of every design; design {powerless[0]!r} has no power"
            faults.append(Fault(f"horizon.{name}", message))
    for t, (low, high) in enumerate(
        zip(horizon.each(horizon.working_gpus.minimum), horizon.each(horizon.working_gpus.maximum), strict=True)
    ):
        if low is not None and high is not None and low > high:
            message = f"expected minimum <= maximum in every quarter; quarter {t + 1} has {low:g} and {high:g}"
            faults.append(Fault("horizon.working_gpus", message))
            break
    if horizon.early("rack") and instance.failures.rack is None:
        faults.append(Fault("horizon.early_life.rack", "racks do not fail: failures.rack is not stated; take it out"))
    return faults


def _bought_faults(instance: Instance, horizon: Horizon) -> list[Fault]:
    zones = {zone.name: zone for zone in instance.zones}
    designs = [design.name for design in instance.designs]
    begun = dict.fromkeys(zones, 0)
    faults = []
    for i, bought in enumerate(horizon.bought):
        where = f"horizon.bought.{i}"
        if bought.zone not in zones:
            message = f"unknown zone {bought.zone!r}; expected one of {', '.join(zones)}"
            faults.append(Fault(f"{where}.zone", message))
            continue
        zone = zones[bought.zone]
        begun[zone.name] += bought.count
        offered = [name for name in designs if zone.designs is None or name in zone.designs]
        if bought.design not in offered:
            message = f"{bought.design!r} is no design of zone {zone.name!r}; expected one of {', '.join(offered)}"
            faults.append(Fault(f"{where}.design", message))
        if begun[zone.name] > zone.count:
            message = f"{begun[zone.name]} zones of {zone.name!r} are bought; the instance has {zone.count}"
            faults.append(Fault(f"{where}.count", message))
        for d, delivery in enumerate(bought.deliveries):
            if delivery.quarter is not None and delivery.quarter >= horizon.quarters:
                message = f"expected a quarter of the horizon (at most {horizon.quarters - 1}) or before it"
                faults.append(Fault(f"{where}.deliveries.{d}.quarter", message))
    for i, shelf in enumerate(horizon.shelf):
        if shelf.quarter is not None and shelf.quarter >= horizon.quarters:
            message = f"expected a quarter of the horizon, at most {horizon.quarters - 1}"
            faults.append(Fault(f"horizon.shelf.{i}.quarter", message))
    if horizon.shelf and all(plan.shelf is None for plan in instance.repair_plans):
        faults.append(Fault("horizon.shelf", "no repair plan has a shelf; take it out"))
    return faults
