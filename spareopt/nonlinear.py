"""A small instance as one nonlinear model, solved by SCIP: a second opinion on its optimum, never the way to a plan.

The model is written from the formulas (formulations/minlp.py), with neither candidates nor the evaluator; what SCIP
finds is rounded, and scored by the evaluator.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isfinite, log

import pyomo.environ as pyo

from spareopt.comparison import objective_value
from spareopt.decisions import Decisions, ZoneChoice
from spareopt.departures import departures
from spareopt.errors import Fault, InputError, SolverError
from spareopt.evaluation import Evaluation, evaluate
from spareopt.failures import RepairTime
from spareopt.formulations.minlp import (
    Caps,
    Checkpoints,
    Cluster,
    Design,
    PowerState,
    RackPower,
    Repair,
    Ring,
    Zone,
    build,
    cost_unit,
)
from spareopt.instance import BlockDesign, Instance
from spareopt.nonlinear_solver import NonlinearStatus, solve_minlp
from spareopt.problem import GOALS
from spareopt.repair_plans import RepairPlan
from spareopt.units import HOURS_PER_YEAR

MOST_TRAYS, MOST_BLOCKS, MOST_ZONES = 6, 6, 3
FEASIBILITY = 1e-8  # of each part of a formula; with SCIP's usual 1e-6 the objective is off by as much
SAME_LIMIT = 1e-12  # relative: a limit of 320 W of 400 W is a share of 0.7999999999999999, and that is 0.8


@dataclass(frozen=True)
class NonlinearResult:
    """What SCIP found and proved; ``value``, ``scip_value`` and ``bound`` in the objective's own unit."""

    status: NonlinearStatus
    decisions: Decisions | None
    evaluation: Evaluation | None
    """The exact score of the decisions."""
    value: float | None
    """The objective by the exact score."""
    scip_value: float | None
    """The objective by the nonlinear model: where it is another than ``value``, one of the two is wrong."""
    bound: float | None
    """No plan is better, to SCIP's tolerances."""
    seconds: float


def solve_nonlinear(instance: Instance, *, time_limit: float = 60.0, gap: float = 1e-7) -> NonlinearResult:
    """Solve a small instance as a nonlinear model, within ``time_limit`` seconds, to a relative ``gap``.

    Raises InputError where the model does not cover the instance, SolverError where SCIP is missing, fails, or its plan
    breaks a limit by the exact score.
    """
    cluster = cluster_of(instance)
    model = build(cluster)
    relative = cluster.goal == "cost"  # the others are logarithms, whose difference is the relative gap
    gaps = (gap, 0.0) if relative else (0.0, gap)
    record = solve_minlp(model, time_limit=time_limit, rel_gap=gaps[0], abs_gap=gaps[1], feasibility=FEASIBILITY)
    bound = None if record.bound is None else _in_own_unit(cluster, record.bound)
    if record.objective is None:
        return NonlinearResult(record.status, None, None, None, None, bound, record.seconds)
    decisions = _decisions(instance, model)
    evaluation = evaluate(instance, decisions)
    if evaluation.violated:
        broken = evaluation.violated[0]
        raise SolverError(f"SCIP's plan breaks {broken.limit}: {broken.value:.12g}, limit {broken.bound:.12g}")
    return NonlinearResult(
        status=record.status,
        decisions=decisions,
        evaluation=evaluation,
        value=objective_value(instance, evaluation),
        scip_value=_in_own_unit(cluster, record.objective),
        bound=bound,
        seconds=record.seconds,
    )


def cluster_of(instance: Instance) -> Cluster:
    """The numbers of an instance's nonlinear model.  Raises InputError that names all it does not cover."""
    if faults := _not_covered(instance):
        raise InputError(instance.name, faults)
    failures, limits, power = instance.failures, instance.limits, instance.power
    form, llm, objective = instance.hardware_scale, instance.llm_scale, instance.objective
    site = [domain for domain in failures.domains if domain.spans == "site"]
    site_up = 1.0
    for domain in site:
        site_up *= _up(domain.per_hour, domain.repair)
    caps = [cap for cap in (limits.it_power, limits.site_power and limits.site_power / power.pue) if cap is not None]
    rack_power = None
    if form is not None and form.rack_power is not None:
        relation = form.rack_power
        rack_power = RackPower(relation.idle_draw, log(relation.gain) / log(relation.at_ratio))
    ring = None
    if llm is not None:
        assert llm.ring_overhead is not None
        ring = Ring(llm.ring_overhead, llm.reference_gpus)
    return Cluster(
        zones=tuple(_zones(instance)),
        designs=tuple(_design(instance, design) for design in instance.designs),
        repairs=tuple(_repair(instance, plan) for plan in instance.repair_plans),
        checkpoints=tuple(_checkpoints(instance)),
        goal=GOALS[objective.kind],
        tray_rate=failures.tray.per_hour,
        rack_rate=0.0 if failures.rack is None else failures.rack.per_hour,
        zone_rate=sum(domain.per_hour for domain in failures.domains if domain.spans == "zone"),
        site_rate=sum(domain.per_hour for domain in site) + (failures.software.per_hour if failures.software else 0.0),
        site_up=site_up,
        gain_with_spares=(form.fixed_gain_with_spares if form else None) or 1.0,
        rack_power=rack_power,
        ring=ring,
        placement_group=instance.placement_group,
        energy_price=HOURS_PER_YEAR * power.pue * (power.energy_price or 0.0),
        site_capital=instance.economics.site_capital or 0.0,
        years=instance.economics.amortisation / HOURS_PER_YEAR,
        caps=Caps(
            capital=limits.capital,
            yearly_cost=limits.yearly_cost,
            it_power=min(caps) if caps else None,
            rack_power=power.rack_limit,
            racks=limits.floor,
            fewest_gpus=limits.working_gpus.minimum,
            most_gpus=limits.working_gpus.maximum,
            availability=limits.availability,
        ),
        log_target=None if objective.goodput_target is None else log(objective.goodput_target),
    )


def _not_covered(instance: Instance) -> list[Fault]:
    """Everything in an instance that the nonlinear model does not state, or that is too large for it."""
    instead = "the nonlinear model is for small cases; use spareopt.solve"
    faults = []

    def refuse(field: str, what: str) -> None:
        faults.append(Fault(field, f"{what}; {instead}"))

    number = sum(zone.count for zone in instance.zones)
    if number > MOST_ZONES:
        refuse("zones", f"expected at most {MOST_ZONES} zones, got {number}")
    most_racks = max(max(zone.racks) for zone in instance.zones)
    for i, zone in enumerate(instance.zones):
        if zone.guarantee is not None:
            refuse(f"zones.{i}.guarantee", "not covered")
    for i, design in enumerate(instance.designs):
        if design.trays_per_block > MOST_TRAYS:
            refuse(f"designs.{i}.trays_per_block", f"expected at most {MOST_TRAYS}, got {design.trays_per_block}")
        blocks = most_racks * design.blocks_per_rack
        if blocks > MOST_BLOCKS:
            refuse(f"designs.{i}.blocks_per_rack", f"expected zones of at most {MOST_BLOCKS} blocks, got {blocks}")
        if design.blocks_per_rack > 1 and instance.failures.rack is not None:
            refuse(f"designs.{i}.blocks_per_rack", "expected 1 where racks fail")
        for name in ("relative_tray_rate", "relative_rack_rate"):
            if getattr(design, name) != 1.0:
                refuse(f"designs.{i}.{name}", f"expected 1, the rates of failures, got {getattr(design, name):g}")
    failures = instance.failures
    for i, domain in enumerate(failures.domains):
        if isinstance(domain.spans, int) or domain.units > 1 or domain.feeds is not None:
            refuse(f"failures.domains.{i}", "expected a domain of one zone or the site, without units and feeds")
    for name, usual in (("planned", None), ("uncertainty", None), ("charge", "domain"), ("ageing", "always")):
        if getattr(failures, name) != usual:
            refuse(f"failures.{name}", "not covered")
    for i, plan in enumerate(instance.repair_plans):
        for name in ("crews", "shelf", "start_at", "window"):
            if getattr(plan, name) is not None:
                refuse(f"repair_plans.{i}.{name}", "expected ample crews and parts, and repair at once")
        if plan.out_of_service != "tray" or plan.swap_stop:
            refuse(f"repair_plans.{i}", "expected repair that takes only the tray out of service")
    for i, checkpoint in enumerate(instance.checkpoint_plans):
        for name in ("memory", "overlap", "replicas"):
            if getattr(checkpoint, name) is not None:
                refuse(f"checkpoint_plans.{i}.{name}", "expected plain checkpoints")
    left_out = {said for plan in instance.checkpoint_plans for said in departures(instance, plan)}
    for said in sorted(left_out):
        refuse(said.partition(" ")[0], "only the simulator carries it")
    if instance.hardware_scale is not None and instance.hardware_scale.power_table is not None:
        refuse("hardware_scale.power_table", "expected another form")
    if instance.llm_scale is not None and instance.llm_scale.table is not None:
        refuse("llm_scale.table", "expected ring_overhead")
    return faults


def _up(rate: float, repair: RepairTime) -> float:
    """P(a unit is up): its mean time up over that of a whole cycle."""
    return 1.0 / (1.0 + rate * repair.mttr)


def _zones(instance: Instance) -> list[Zone]:
    """One zone for each member of a class."""
    zones: list[Zone] = []
    for zone in instance.zones:
        allowed = (zone.designs is None or design.name in zone.designs for design in instance.designs)
        designs = tuple(d for d, offered in enumerate(allowed) if offered)
        for member in range(zone.count):
            like = len(zones) - 1 if member else None
            zones.append(Zone(designs, tuple(zone.racks), log(zone.relative_speed), like))
    return zones


def gpu_limits(instance: Instance, design: BlockDesign) -> list[float | None]:
    """The GPU limits (kW) that a design may run at and whose speed is known; None where no power is stated."""
    if design.power is None:
        return [None]
    full, form = design.power.gpu_full_limit, instance.hardware_scale
    least = 0.0 if form is None or form.power_curve is None else form.power_curve.valid_from
    return [limit for limit in design.power.gpu_limits or (full,) if min(limit / full, 1.0) >= least * (1 - SAME_LIMIT)]


def _design(instance: Instance, design: BlockDesign) -> Design:
    power, form = design.power, instance.hardware_scale
    states = []
    for limit in gpu_limits(instance, design):
        if power is None or limit is None:
            states.append(PowerState())
            continue
        share = min(limit / power.gpu_full_limit, 1.0)
        curve = None if form is None else form.power_curve
        scale = 1.0 if curve is None else 1.0 - curve.a * (1.0 - share) ** curve.b
        states.append(PowerState(log(scale), power.tray_other + design.gpus_per_tray * limit))
    return Design(
        trays=design.trays_per_block,
        gpus_per_tray=design.gpus_per_tray,
        intra=tuple(design.intra_block_spares),
        inter=tuple(design.inter_block_spares),
        blocks_per_rack=design.blocks_per_rack,
        rack_price=design.rack_price or 0.0,
        idle=0.0 if power is None else power.tray_idle,
        rest=0.0 if power is None else power.rack_rest,
        states=tuple(states),
    )


def _repair(instance: Instance, plan: RepairPlan) -> Repair:
    failures = instance.failures
    zone_up = 1.0
    for domain in failures.domains:
        if domain.spans == "zone":
            zone_up *= _up(domain.per_hour, plan.domains.get(domain.name, domain.repair))
    rack_up = 1.0
    if failures.rack is not None:
        assert plan.rack is not None
        rack_up = _up(failures.rack.per_hour, plan.rack)
    return Repair(_up(failures.tray.per_hour, plan.tray), rack_up, zone_up, plan.yearly_cost)


def _checkpoints(instance: Instance) -> list[Checkpoints]:
    plans = []
    for plan in instance.checkpoint_plans:
        assert plan.save is not None and plan.detection is not None and plan.restart is not None
        assert plan.period is not None
        period = None if plan.period == "best" else plan.period
        plans.append(Checkpoints(plan.save, plan.detection + plan.restart, period, plan.yearly_cost))
    return plans


def _in_own_unit(cluster: Cluster, value: float) -> float | None:
    """The model's objective, or its bound, in the instance's unit."""
    if not isfinite(value):
        return None
    if cluster.goal == "cost":
        return value * cost_unit(cluster)
    return exp(value) if cluster.goal == "value" else exp(value) * HOURS_PER_YEAR / cost_unit(cluster)


def _decisions(instance: Instance, model: pyo.ConcreteModel) -> Decisions:
    """The plan that a solved model holds."""

    def taken(binary: object) -> bool:
        return bool(pyo.value(binary) > 0.5)

    choices, z = [], 0
    for zone in instance.zones:
        for _ in range(zone.count):
            (d,) = (d for other, d in model.design if other == z and taken(model.design[z, d]))
            (p,) = (p for p in range(len(instance.repair_plans)) if taken(model.repair[z, p]))
            design = instance.designs[d]
            limits = gpu_limits(instance, design)
            (s,) = (s for s in range(len(limits)) if taken(model.state[z, d, s]))
            choices.append(
                ZoneChoice.model_construct(  # its power is in kW, not in words
                    zone=zone.name,
                    count=1,
                    design=design.name,
                    racks=round(pyo.value(model.racks[z])),
                    intra_block_spares=round(pyo.value(model.intra[z])),
                    inter_block_spares=round(pyo.value(model.inter[z])),
                    repair_plan=instance.repair_plans[p].name,
                    gpu_limit=limits[s],
                )
            )
            z += 1
    (k,) = (k for k in range(len(instance.checkpoint_plans)) if taken(model.checkpoint[k]))
    return Decisions.model_construct(zones=tuple(choices), checkpoint_plan=instance.checkpoint_plans[k].name)
