"""Plan anew from a later quarter: what an earlier staged plan bought until then stands, and its money is spent."""

from __future__ import annotations

from collections import Counter
from math import fsum
from typing import Any

from spareopt.consistency import consistency_faults
from spareopt.errors import Fault, InputError
from spareopt.horizon import MOST_QUARTERS, BoughtZones, Delivery, Horizon, ShelfDelivery
from spareopt.instance import Instance
from spareopt.staging.decisions import StagedDecisions, StagedZone
from spareopt.staging.plan import StagedPlan
from spareopt.staging.quarters import ZoneGroup, zone_groups

BY_QUARTER = ("site_power", "it_power", "goodput_target")


def rolled(instance: Instance, plan: StagedPlan, quarter: str, *, earlier: Instance | None = None) -> Instance:
    """The instance with its horizon from a later quarter on, such as "2027-Q2", and all that a plan bought before it.

    What the plan ordered before the quarter is ``bought`` in the result: delivered already, or on order.  Budgets,
    power, job, targets and prices by quarter are those of ``instance`` from the quarter on, which may have changed
    since; money that the plan left is carried over where the horizon says so; ``limits.capital`` is lowered by what was
    paid.  What comes later is weighed from the new first quarter on.  ``earlier`` is the instance of the plan, where
    ``instance`` is no longer the same.  Raises InputError where plan, quarter and instance do not fit.
    """
    before = instance if earlier is None else earlier
    if before.input_hash() != plan.provenance.input_hash:
        message = "was made from another instance; give that one as earlier, as instance the one to plan with now"
        raise InputError("plan", [Fault("", message)])
    horizon, old = _with_labels(instance), _with_labels(before)
    first, passed = _number(quarter) - _number(horizon.labels()[0]), _number(quarter) - _number(old.labels()[0])
    _check_quarter(quarter, horizon, old, first, passed)
    left = plan.score.quarters[passed - 1].money_left if passed else None
    paid = fsum(q.paid for q in plan.score.quarters[:passed])
    job, changes = horizon.working_gpus, horizon.price_changes
    new = Horizon.model_construct(
        **dict(horizon)
        | {
            "quarters": horizon.quarters - first,
            "first_quarter": quarter,
            "capital": _capital(horizon, first, left if old.carry_over and horizon.carry_over else None),
            **{name: _cut(getattr(horizon, name), first) for name in BY_QUARTER},
            "working_gpus": job.model_copy(update={name: _cut(value, first) for name, value in job}),
            "price_changes": changes.model_copy(
                update={name: None if stated is None else _cut(horizon.prices(name), first) for name, stated in changes}
            ),
            "bought": _bought(before, old, plan.decisions, passed),
            "shelf": _shelf(old, plan.decisions, passed),
        }
    )
    limits = instance.limits
    if limits.capital is not None:
        if horizon.labels()[0] != old.labels()[0]:
            message = (
                f"caps what is paid from {horizon.labels()[0]} on, and the plan, which begins in {old.labels()[0]}, "
                "does not know what was paid before; plan with the instance.json of its folder, or take the limit out"
            )
            raise InputError(instance.name, [Fault("limits.capital", message)])
        limits = limits.model_copy(update={"capital": max(0.0, limits.capital - paid)})
    result = instance.model_copy(update={"horizon": new, "limits": limits})
    if faults := consistency_faults(result):
        raise InputError(f"{instance.name} from {quarter} on, with what the plan bought", faults)
    racks = sum(order.racks for q in plan.score.quarters[:passed] for order in q.orders)
    result._applied = (*instance.applied, f"the {racks:,} racks that an earlier plan ordered before {quarter}")
    return result


def remaining(instance: Instance, plan: StagedPlan, quarter: str) -> StagedDecisions:
    """What a plan of an instance decides from a quarter on, as decisions of ``rolled``'s instance.

    There zones that were begun come first, so numbers may differ.  Raises InputError as rolled does.
    """
    old = _with_labels(instance)
    passed = _number(quarter) - _number(old.labels()[0])
    _check_quarter(quarter, old, old, passed, passed)
    begun = {(zone, number) for zone, number, _, _ in _deliveries(instance, old, plan.decisions, passed)}
    zones, numbers = [], Counter[str]()
    for zone in sorted(plan.decisions.zones, key=lambda z: ((z.zone, z.number) not in begun, z.number)):
        numbers[zone.zone] += 1
        cut = {"number": numbers[zone.zone], "quarters": zone.quarters[passed:]}
        zones.append(zone.model_copy(update=cut))
    order = [zone.name for zone in instance.zones]
    zones.sort(key=lambda zone: (order.index(zone.zone), zone.number))
    decisions = plan.decisions
    return StagedDecisions.model_construct(
        zones=tuple(zones),
        checkpoint_plans=decisions.checkpoint_plans[passed:],
        shelf_orders=decisions.shelf_orders[passed:],
    )


def _with_labels(instance: Instance) -> Horizon:
    horizon = instance.horizon
    if horizon is None or horizon.first_quarter is None:
        field = "horizon" if horizon is None else "horizon.first_quarter"
        message = "required to plan anew from a later quarter, such as 2027-Q1"
        raise InputError(instance.name, [Fault(field, message)])
    return horizon


def _number(label: str) -> int:
    """Quarters since year 0."""
    year, dash, quarter = label.partition("-Q")
    if not (dash and len(year) == 4 and year.isdecimal() and quarter in ("1", "2", "3", "4")):
        raise InputError("quarter", [Fault("", f'expected a quarter such as "2027-Q2", got {label!r:.40}')])
    return 4 * int(year) + int(quarter) - 1


def _check_quarter(quarter: str, horizon: Horizon, old: Horizon, first: int, passed: int) -> None:
    labels, known = horizon.labels(), old.labels()
    message = ""
    if not 0 <= first < horizon.quarters:
        message = f"expected a quarter of the instance's horizon, {labels[0]} to {labels[-1]}; got {quarter}"
    elif passed < 0:
        message = f"the plan begins in {known[0]}; expected that quarter or a later one, got {quarter}"
    elif passed > old.quarters:
        message = f"the plan ends in {known[-1]}; expected at latest the quarter after that, got {quarter}"
    if message:
        raise InputError("quarter", [Fault("", message)])


def _cut(values: tuple[Any, ...] | None, first: int) -> tuple[Any, ...] | None:
    """What is stated by quarter, from a quarter on; one value for all stays."""
    return values if values is None or len(values) == 1 else values[first:]


def _capital(horizon: Horizon, first: int, left: float | None) -> tuple[float, ...] | None:
    """New money from a quarter on; the first has what is left over, too."""
    if horizon.capital is None:
        return None
    money = [float(value or 0.0) for value in horizon.each(horizon.capital)[first:]]
    if left is None:
        return _cut(horizon.capital, first)
    return (max(0.0, money[0] + left), *money[1:])


Begun = tuple[str, int, str, tuple[Delivery, ...]]


def _deliveries(instance: Instance, horizon: Horizon, decisions: StagedDecisions, passed: int) -> list[Begun]:
    """Each zone for which something was bought before a quarter: class, number, design, and what it got or will get."""
    given = {(zone.zone, zone.number): zone for zone in decisions.zones}
    bought = {name: [b for b in horizon.bought if b.zone == name for _ in range(b.count)] for name in _names(instance)}
    numbers, result = Counter[str](), []
    for group in zone_groups(instance, horizon):
        name = instance.zones[group.zone].name
        for _ in range(group.count):
            numbers[name] += 1
            number = numbers[name]
            own = bought[name][number - 1] if number <= len(bought[name]) else None
            deliveries = [] if own is None else [_moved(d, passed) for d in own.deliveries]
            zone = given[name, number]
            deliveries += _ordered(zone, group, horizon, passed)
            design = next((choice.design for choice in zone.quarters if choice is not None), None)
            design = design if own is None else own.design
            if deliveries and design is not None:
                result.append((name, number, design, tuple(deliveries)))
    return result


def _names(instance: Instance) -> list[str]:
    return [zone.name for zone in instance.zones]


def _moved(delivery: Delivery, passed: int) -> Delivery:
    """A delivery seen from a later quarter."""
    if delivery.quarter is None:
        return delivery
    quarter = delivery.quarter - passed
    return Delivery.model_construct(racks=delivery.racks, quarter=quarter if quarter >= -MOST_QUARTERS else None)


def _ordered(zone: StagedZone, group: ZoneGroup, horizon: Horizon, passed: int) -> list[Delivery]:
    """What was ordered for a zone before a quarter."""
    racks, result = zone.racks(), []
    for t in range(min(horizon.quarters, passed + horizon.lead_time.racks)):
        new = racks[t] - (racks[t - 1] if t else group.bought_by(-1)) - group.arrivals(t)
        if new:
            result.append(_moved(Delivery.model_construct(racks=new, quarter=t), passed))
    return result


def _bought(instance: Instance, horizon: Horizon, decisions: StagedDecisions, passed: int) -> tuple[BoughtZones, ...]:
    result: list[BoughtZones] = []
    for name, _, design, deliveries in _deliveries(instance, horizon, decisions, passed):
        one = BoughtZones.model_construct(zone=name, count=1, design=design, deliveries=deliveries)
        last = result[-1] if result else None
        if last is not None and last.model_copy(update={"count": 1}) == one:
            result[-1] = last.model_copy(update={"count": last.count + 1})
        else:
            result.append(one)
    return tuple(result)


def _shelf(horizon: Horizon, decisions: StagedDecisions, passed: int) -> tuple[ShelfDelivery, ...]:
    """Trays for the shelf that are there by a quarter, or on order."""
    trays: Counter[int] = Counter()
    for item in horizon.shelf:
        trays[-1 if item.quarter is None else max(-1, item.quarter - passed)] += item.trays
    for u, number in enumerate(decisions.shelf_orders[:passed]):
        trays[max(-1, u + horizon.lead_time.shelf - passed)] += number
    return tuple(
        ShelfDelivery.model_construct(trays=number, quarter=None if quarter < 0 else quarter)
        for quarter, number in sorted(trays.items())
        if number
    )
