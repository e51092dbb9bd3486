"""Plan again from a later quarter on: what an earlier plan bought until then is bought, its money left carries over."""

from __future__ import annotations

from typing import Any

from spareopt.errors import Fault, InputError
from spareopt.horizon import (
    MOST_QUARTERS,
    BoughtZones,
    Delivery,
    GrowingJob,
    Horizon,
    PriceChanges,
    ShelfDelivery,
)
from spareopt.instance import Instance
from spareopt.staging.plan import StagedPlan
from spareopt.staging.quarters import ZoneGroup, zone_groups
from spareopt.staging.refusals import checked_horizon
from spareopt.staging.score import evaluate_staged


def later_instance(instance: Instance, plan: StagedPlan, quarter: str) -> Instance:
    """The instance as it stands in a later quarter of its horizon, after the purchases of an earlier plan.

    ``instance`` states the whole horizon, as for the earlier plan; ``quarter`` is named as in it.  All that the plan
    orders before that quarter is bought, the money that it leaves carries over, and what is left of the horizon is free
    to be planned again: orders, spares, staffing, power limits, checkpoints.  Raises InputError where the quarter is
    not one of the horizon after the first, or the plan does not fit the instance.
    """
    horizon = checked_horizon(instance)
    labels = horizon.labels()
    if quarter not in labels[1:]:
        known = ", ".join(labels[1:]) or "none: it has one quarter"
        raise InputError("--quarter", [Fault("", f"unknown quarter {quarter!r}; expected one of {known}")])
    first = labels.index(quarter)
    score = evaluate_staged(instance, plan.decisions)
    paid = sum(q.paid for q in score.quarters[:first])
    capital = _later(horizon.capital, first, horizon)
    left = score.quarters[first - 1].money_left
    if capital is not None and horizon.carry_over and left is not None:
        number = horizon.quarters - first
        each = capital * number if len(capital) == 1 else capital
        capital = (max(each[0] + left, 0.0), *each[1:])
    job = horizon.working_gpus
    later = horizon.model_copy(
        update={
            "quarters": horizon.quarters - first,
            "first_quarter": None if horizon.first_quarter is None else quarter,
            "capital": capital,
            "site_power": _later(horizon.site_power, first, horizon),
            "it_power": _later(horizon.it_power, first, horizon),
            "goodput_target": _later(horizon.goodput_target, first, horizon),
            "working_gpus": GrowingJob.model_construct(
                minimum=_later(job.minimum, first, horizon), maximum=_later(job.maximum, first, horizon)
            ),
            "price_changes": horizon.price_changes.model_copy(update=_prices(horizon, first)),
            "bought": _bought(instance, horizon, plan, first),
            "shelf": _shelf(horizon, plan, first),
        }
    )
    limits = instance.limits
    if limits.capital is not None:
        limits = limits.model_copy(update={"capital": max(limits.capital - paid, 0.0)})
    result = instance.model_copy(update={"horizon": later, "limits": limits})
    result._applied = (*instance.applied, f"planned again from {quarter}")
    return result


def _prices(horizon: Horizon, first: int) -> dict[str, tuple[float, ...] | None]:
    """The multiples of what is left of the horizon, of the prices that change."""
    changes = horizon.price_changes
    return {
        name: None if getattr(changes, name) is None else horizon.prices(name)[first:]
        for name in PriceChanges.model_fields
    }


def _later(values: tuple[Any, ...] | None, first: int, horizon: Horizon) -> tuple[Any, ...] | None:
    """What is left of values by quarter; one value stays one."""
    return values if values is None or len(values) == 1 else values[first:]


def _bought(instance: Instance, horizon: Horizon, plan: StagedPlan, first: int) -> tuple[BoughtZones, ...]:
    """What each zone has, or what is on order for it, once quarter ``first`` begins."""
    groups = [group for group in zone_groups(instance, horizon) for _ in range(group.count)]
    zones = sorted(
        plan.decisions.zones,
        key=lambda zone: ([z.name for z in instance.zones].index(zone.zone), zone.number),
    )
    stated: dict[tuple[str, int], tuple[Delivery, ...]] = {}
    numbers = dict.fromkeys((zone.name for zone in instance.zones), 0)
    for bought in horizon.bought:
        for _ in range(bought.count):
            numbers[bought.zone] += 1
            stated[bought.zone, numbers[bought.zone]] = bought.deliveries
    counts: dict[tuple[str, str, tuple[Delivery, ...]], int] = {}
    for group, zone in zip(groups, zones, strict=True):
        deliveries = [_shifted(delivery, first) for delivery in stated.get((zone.zone, zone.number), ())]
        deliveries += _ordered(horizon, group, zone.racks(), first)
        if deliveries:
            design = next((choice.design for choice in zone.quarters if choice is not None), None)
            if design is None:  # on order, and never built in the plan: its design is the one stated
                assert group.design is not None
                design = instance.designs[group.design].name
            key = (zone.zone, design, tuple(deliveries))
            counts[key] = counts.get(key, 0) + 1
    return tuple(
        BoughtZones.model_construct(zone=zone, count=count, design=design, deliveries=deliveries)
        for (zone, design, deliveries), count in counts.items()
    )


def _ordered(horizon: Horizon, group: ZoneGroup, racks: tuple[int, ...], first: int) -> list[Delivery]:
    """The racks that the plan ordered for a zone before a quarter, by when they arrive."""
    lead = horizon.lead_time.racks
    deliveries = []
    for t in range(lead, min(first + lead, horizon.quarters)):
        number = racks[t] - (racks[t - 1] if t else group.bought_by(-1)) - group.arrivals(t)
        if number:
            deliveries.append(Delivery.model_construct(racks=number, quarter=t - first))
    return deliveries


def _shifted(delivery: Delivery, first: int) -> Delivery:
    quarter = None if delivery.quarter is None else delivery.quarter - first
    if quarter is not None and quarter < -MOST_QUARTERS:
        quarter = None
    return Delivery.model_construct(racks=delivery.racks, quarter=quarter)


def _shelf(horizon: Horizon, plan: StagedPlan, first: int) -> tuple[ShelfDelivery, ...]:
    trays: dict[int, int] = {}
    for item in horizon.shelf:
        quarter = -1 if item.quarter is None else item.quarter - first
        trays[max(quarter, -1)] = trays.get(max(quarter, -1), 0) + item.trays
    for u, number in enumerate(plan.decisions.shelf_orders[:first]):
        quarter = u + horizon.lead_time.shelf - first
        if number:
            trays[max(quarter, -1)] = trays.get(max(quarter, -1), 0) + number
    return tuple(
        ShelfDelivery.model_construct(trays=number, quarter=None if quarter < 0 else quarter)
        for quarter, number in sorted(trays.items())
    )
