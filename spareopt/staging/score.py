"""The exact score of a staged plan: every quarter's evaluation, what is ordered and paid, and what it breaks."""

from __future__ import annotations

from collections import Counter
from math import fsum

from spareopt.cohorts import Cohort
from spareopt.decisions import Decisions, ZoneChoice
from spareopt.errors import Fault, InputError
from spareopt.evaluation import Evaluation, evaluate_cohorts
from spareopt.horizon import HOURS_PER_QUARTER, Horizon
from spareopt.instance import Instance
from spareopt.limits import rounding
from spareopt.record import Frozen, Result
from spareopt.staging.decisions import StagedDecisions, StagedZone
from spareopt.staging.quarters import (
    ZoneGroup,
    charge_in,
    cohorts_of,
    levels_before,
    quarter_instance,
    rack_price,
    shelf_bought,
    target_of,
    tray_price,
    zone_groups,
)
from spareopt.staging.refusals import checked_horizon


class RackOrder(Frozen):
    """Racks of one design that are ordered in a quarter."""

    design: str
    racks: int
    delivered: str
    """The quarter in which they arrive."""
    paid: float


class QuarterScore(Frozen):
    """What a quarter of a staged plan comes to.  Money in the instance's currency, None where no price is given."""

    quarter: str
    weight: float
    """What it counts: (1 + discount rate)^(−t/4)."""
    zones_built: int
    racks: int
    racks_delivered: int
    """Racks that arrive in it, bought already or ordered in the plan."""
    orders: tuple[RackOrder, ...]
    """What is ordered in it."""
    shelf_trays: int
    """Trays for the shelf that have arrived so far."""
    shelf_used: int
    """Trays on the shelves of the zones."""
    shelf_ordered: int
    crews: int
    """Crews of all zones, of the plans that state a number of them."""
    goodput: float
    """Baseline GPUs; 0 while nothing is built."""
    useful_gpu_hours: float
    """Goodput over the quarter, baseline GPU-hours, not discounted."""
    paid: float
    """For what is ordered in it."""
    budget: float | None
    """New money of the quarter."""
    money_left: float | None
    """What is left of all money up to it (with carry-over), or of its own."""
    charge: float
    """What purchases are charged with in it."""
    yearly_cost: float
    """At its prices, per year."""
    evaluation: Evaluation | None
    """Its exact score; None while nothing is built.  Its capital is all that stands there, at the quarter's prices."""
    breaks: tuple[str, ...]
    """The limits that it breaks."""


class StagedScore(Result):
    """The exact score of a staged plan."""

    currency: str
    useful_gpu_hours: float
    """Discounted sum over the quarters, baseline GPU-hours."""
    cost: float
    """Discounted sum of charges and yearly costs."""
    paid: float
    """For all orders."""
    quarters: tuple[QuarterScore, ...]
    breaks: tuple[str, ...]
    """Every limit that is broken, with its quarter."""


def evaluate_staged(instance: Instance, decisions: StagedDecisions) -> StagedScore:
    """Score a staged plan exactly, quarter by quarter.

    Raises InputError where the instance can't be staged or the decisions do not fit it: racks taken away or arriving
    before any order can, another design, zones that are not those of the instance.  Limits that are not met are
    reported in ``breaks``.
    """
    horizon = checked_horizon(instance)
    zones = _zones(instance, horizon, decisions)
    labels, weights = horizon.labels(), horizon.weights()
    orders = _orders(instance, horizon, zones)
    shelf = _shelf_orders(instance, horizon, decisions)
    paid = [
        fsum([*(order.paid for order in orders[t]), shelf[t] * tray_price(instance, horizon, t)])
        for t in range(horizon.quarters)
    ]
    budgets = horizon.each(horizon.capital)
    quarters = []
    for t in range(horizon.quarters):
        evaluation, breaks = _quarter(instance, horizon, zones, decisions.checkpoint_plans[t], t)
        here = [zone.quarters[t] for _, zone in zones]
        built = [choice for choice in here if choice is not None]
        used, stock = sum(choice.shelf_trays or 0 for choice in built), shelf_bought(horizon, t)
        stock += sum(shelf[: max(0, t - horizon.lead_time.shelf + 1)])
        if used > stock:
            breaks.append("shelf stock")
        money_left = None
        if budgets[t] is not None:
            first = 0 if horizon.carry_over else t
            money = fsum(budgets[u] or 0.0 for u in range(first, t + 1))
            money_left = money - fsum(paid[first : t + 1])
            if money_left < -rounding("capital", money):
                breaks.append("capital of the quarter")
        goodput = 0.0 if evaluation is None else evaluation.goodput
        delivered = sum(
            (0 if choice is None else choice.racks) - (zone.racks()[t - 1] if t else group.bought_by(-1))
            for choice, (group, zone) in zip(here, zones, strict=True)
        )
        yearly = 0.0 if evaluation is None or evaluation.yearly_cost is None else evaluation.yearly_cost
        quarters.append(
            QuarterScore(
                quarter=labels[t],
                weight=weights[t],
                zones_built=len(built),
                racks=sum(choice.racks for choice in built),
                racks_delivered=delivered,
                orders=tuple(orders[t]),
                shelf_trays=stock,
                shelf_used=used,
                shelf_ordered=shelf[t],
                crews=sum(choice.crews or 0 for choice in built),
                goodput=goodput,
                useful_gpu_hours=HOURS_PER_QUARTER * goodput,
                paid=paid[t],
                budget=budgets[t],
                money_left=money_left,
                charge=_charge(instance, horizon, orders, shelf, t),
                yearly_cost=yearly,
                evaluation=evaluation,
                breaks=tuple(breaks),
            )
        )
    whole = instance.limits.capital
    over = [] if whole is None or fsum(paid) <= whole + rounding("capital", whole) else ["capital"]
    return StagedScore(
        currency=instance.currency,
        useful_gpu_hours=fsum(q.weight * q.useful_gpu_hours for q in quarters),
        cost=fsum(q.weight * (q.charge + q.yearly_cost / 4) for q in quarters),
        paid=fsum(paid),
        quarters=tuple(quarters),
        breaks=(*over, *(f"{name} in {q.quarter}" for q in quarters for name in q.breaks)),
    )


Placed = list[tuple[ZoneGroup, StagedZone]]


def _zones(instance: Instance, horizon: Horizon, decisions: StagedDecisions) -> Placed:
    """Every zone of the instance with what was bought for it and its decisions.  Raises InputError."""
    faults = []
    wanted = [(zone.name, number + 1) for zone in instance.zones for number in range(zone.count)]
    given = {(zone.zone, zone.number): zone for zone in decisions.zones}
    if len(given) != len(decisions.zones) or set(given) != set(wanted):
        expected = ", ".join(f"{zone.count} of {zone.name!r}" for zone in instance.zones)
        faults.append(Fault("zones", f"expected each zone of the instance once, numbered from 1: {expected}"))
    for name in ("checkpoint_plans", "shelf_orders"):
        if len(getattr(decisions, name)) != horizon.quarters:
            faults.append(
                Fault(name, f"expected {horizon.quarters}, one a quarter; got {len(getattr(decisions, name))}")
            )
    for i, zone in enumerate(decisions.zones):
        if len(zone.quarters) != horizon.quarters:
            message = f"expected {horizon.quarters}, one a quarter; got {len(zone.quarters)}"
            faults.append(Fault(f"zones.{i}.quarters", message))
    if faults:
        raise InputError("staged plan", faults)
    numbers: Counter[str] = Counter()
    result: Placed = []
    for group in zone_groups(instance, horizon):
        name = instance.zones[group.zone].name
        for _ in range(group.count):
            numbers[name] += 1
            result.append((group, given[name, numbers[name]]))
    for group, zone in result:
        faults += _path_faults(instance, horizon, group, zone)
    for t, scheme in enumerate(decisions.checkpoint_plans):
        runs = any(zone.quarters[t] is not None for _, zone in result)
        if runs != (scheme is not None):
            message = "required: zones are built" if runs else "expected none: nothing is built"
            faults.append(Fault(f"checkpoint_plans.{t}", message))
    if faults:
        raise InputError("staged plan", faults)
    return result


def _path_faults(instance: Instance, horizon: Horizon, group: ZoneGroup, zone: StagedZone) -> list[Fault]:
    """What no zone can do from quarter to quarter."""
    where, faults = f"{zone.zone} {zone.number}", []
    name = None if group.design is None else instance.designs[group.design].name
    racks = zone.racks()
    for t, choice in enumerate(zone.quarters):
        before = racks[t - 1] if t else group.bought_by(-1)
        ordered = racks[t] - before - group.arrivals(t)
        if ordered < 0:
            message = f"expected at least {before + group.arrivals(t)} racks, those of before and what arrives"
            faults.append(Fault(f"{where}.quarters.{t}.racks", f"{message}; got {racks[t]}"))
        if ordered > 0 and t < horizon.lead_time.racks:
            message = (
                f"{ordered} racks arrive before any order can: the lead time is {horizon.lead_time.racks} quarters"
            )
            faults.append(Fault(f"{where}.quarters.{t}.racks", message))
        if choice is None:
            continue
        if choice.count != 1 or choice.zone != zone.zone:
            faults.append(Fault(f"{where}.quarters.{t}", f"expected a choice for one zone of {zone.zone!r}"))
        if name is not None and choice.design != name:
            faults.append(Fault(f"{where}.quarters.{t}.design", f"expected {name!r} as before, got {choice.design!r}"))
        name = choice.design
    return faults


def _orders(instance: Instance, horizon: Horizon, zones: Placed) -> list[list[RackOrder]]:
    """The racks ordered in each quarter, by design."""
    lead, labels = horizon.lead_time.racks, horizon.labels()
    designs = [design.name for design in instance.designs]
    orders: list[list[RackOrder]] = [[] for _ in range(horizon.quarters)]
    for t in range(lead, horizon.quarters):
        racks: Counter[str] = Counter()
        for group, zone in zones:
            choice, path = zone.quarters[t], zone.racks()
            if choice is not None:
                racks[choice.design] += path[t] - (path[t - 1] if t else group.bought_by(-1)) - group.arrivals(t)
        orders[t - lead] = [
            RackOrder(
                design=name,
                racks=racks[name],
                delivered=labels[t],
                paid=racks[name] * rack_price(instance, horizon, d, t - lead),
            )
            for d, name in enumerate(designs)
            if racks[name]
        ]
    return orders


def _shelf_orders(instance: Instance, horizon: Horizon, decisions: StagedDecisions) -> tuple[int, ...]:
    orders = decisions.shelf_orders
    faults = []
    if any(orders) and all(plan.shelf is None for plan in instance.repair_plans):
        faults.append(Fault("shelf_orders", "no repair plan has a shelf; expected 0 in every quarter"))
    late = max(0, horizon.quarters - horizon.lead_time.shelf)
    if any(orders[late:]):
        faults.append(Fault("shelf_orders", "trays ordered so late arrive after the horizon; expected 0"))
    if faults:
        raise InputError("staged plan", faults)
    return orders


def _charge(
    instance: Instance, horizon: Horizon, orders: list[list[RackOrder]], shelf: tuple[int, ...], t: int
) -> float:
    """What purchases are charged with in a quarter."""
    charges = []
    for u in range(t + 1):
        racks, trays = u - horizon.lead_time.racks, u - horizon.lead_time.shelf
        if racks >= 0:
            charges.append(charge_in(instance, u, t) * fsum(order.paid for order in orders[racks]))
        if trays >= 0:
            charges.append(charge_in(instance, u, t) * shelf[trays] * tray_price(instance, horizon, trays))
    return fsum(charges)


def _quarter(
    instance: Instance, horizon: Horizon, zones: Placed, scheme: str | None, t: int
) -> tuple[Evaluation | None, list[str]]:
    """The score of a quarter alone and the limits that it breaks; no score while nothing is built."""
    taken: Counter[tuple[ZoneChoice, tuple[Cohort, ...]]] = Counter()
    built: Counter[str] = Counter()
    for group, zone in zones:
        choice = zone.quarters[t]
        if choice is not None:
            before = (*levels_before(group, horizon.young_quarters), *zone.racks())
            levels = before[t + 1 : t + horizon.young_quarters + 2]
            taken[choice, cohorts_of(horizon, levels)] += 1
            built[zone.zone] += 1
    classes = tuple(zone.model_copy(update={"count": built[zone.name]}) for zone in instance.zones if built[zone.name])
    own = quarter_instance(instance, horizon, t, classes)
    if scheme is None:
        least = own.limits.working_gpus.minimum
        return None, [
            *(["working_gpus.minimum"] if least else []),
            *(["goodput_target"] if target_of(instance, horizon, t) else []),
        ]
    choices = [(choice.model_copy(update={"count": number}), cohorts) for (choice, cohorts), number in taken.items()]
    decisions = Decisions.model_construct(zones=tuple(choice for choice, _ in choices), checkpoint_plan=scheme)
    try:
        evaluation = evaluate_cohorts(own, decisions, [cohorts for _, cohorts in choices])
    except InputError as error:
        faults = [Fault(f"quarter {t + 1}: {fault.field}", fault.message) for fault in error.faults]
        raise InputError("staged plan", faults) from None
    return evaluation, [slack.limit for slack in evaluation.violated]
