"""The quarters of a horizon: zones by what is bought already, each quarter's instance, and what purchases cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spareopt.cohorts import Cohort
from spareopt.horizon import HOURS_PER_QUARTER, Horizon
from spareopt.instance import Instance, Limits, Objective, WorkingGpus, Zone


@dataclass(frozen=True)
class ZoneGroup:
    """Zones of one class for which the same was bought.

    ``arrived[q]``: racks of each zone bought before the horizon that have arrived by quarter ``q − history``;
    ``design`` is None where nothing was.
    """

    zone: int
    count: int
    design: int | None
    arrived: tuple[int, ...]
    history: int

    def bought_by(self, quarter: int) -> int:
        """Racks bought already that each zone has in a quarter, which may be before the horizon."""
        return self.arrived[quarter + self.history]

    def arrivals(self, quarter: int) -> int:
        """Racks bought already that arrive in a quarter at each zone."""
        return self.bought_by(quarter) - self.bought_by(quarter - 1)


def zone_groups(instance: Instance, horizon: Horizon) -> tuple[ZoneGroup, ...]:
    """The zones of every class, those bought already first, in the order stated; the others begin empty."""
    history = horizon.young_quarters + 1
    designs = [design.name for design in instance.designs]
    groups = []
    for z, zone in enumerate(instance.zones):
        left = zone.count
        for bought in horizon.bought:
            if bought.zone != zone.name:
                continue
            left -= bought.count
            arrived = tuple(
                sum(d.racks for d in bought.deliveries if d.quarter is None or d.quarter <= quarter)
                for quarter in range(-history, horizon.quarters)
            )
            groups.append(ZoneGroup(z, bought.count, designs.index(bought.design), arrived, history))
        if left:
            groups.append(ZoneGroup(z, left, None, (0,) * (history + horizon.quarters), history))
    return tuple(groups)


def levels_before(group: ZoneGroup, young: int) -> tuple[int, ...]:
    """Racks of each zone of a group in the quarters −young − 1 to −1."""
    return tuple(group.bought_by(quarter) for quarter in range(-young - 1, 0))


def cohorts_of(horizon: Horizon, levels: Sequence[int]) -> tuple[Cohort, ...]:
    """The cohorts of a zone that had so many racks in the last quarters, this one last; () where all are mature.

    Racks of one age that fail alike are one cohort.  The first level is that of ``young_quarters`` ago.
    """
    tray, rack = horizon.early("tray"), horizon.early("rack")
    racks: dict[tuple[float, float], int] = {(1.0, 1.0): levels[0]}
    for age in range(len(levels) - 1):
        multiples = (tray[age] if age < len(tray) else 1.0, rack[age] if age < len(rack) else 1.0)
        new = levels[-1 - age] - levels[-2 - age]
        racks[multiples] = racks.get(multiples, 0) + new
    cohorts = tuple(Cohort(number, *multiples) for multiples, number in sorted(racks.items()) if number)
    return () if all((cohort.tray, cohort.rack) == (1.0, 1.0) for cohort in cohorts) else cohorts


def quarter_instance(instance: Instance, horizon: Horizon, t: int, zones: tuple[Zone, ...] | None = None) -> Instance:
    """The instance of quarter t alone: its prices, power, job and target, without any limit on capital.

    ``zones``: those that are built, else all.
    """
    power, job = (horizon.each(horizon.site_power)[t], horizon.each(horizon.it_power)[t]), horizon.working_gpus
    limits = instance.limits
    own = Limits.model_construct(
        **dict(limits)
        | {
            "capital": None,
            "site_power": _least(limits.site_power, power[0]),
            "it_power": _least(limits.it_power, power[1]),
            "working_gpus": WorkingGpus.model_construct(
                minimum=_count(_most(limits.working_gpus.minimum, horizon.each(job.minimum)[t])),
                maximum=_count(_least(limits.working_gpus.maximum, horizon.each(job.maximum)[t])),
            ),
        }
    )
    racks, shelf, crews, energy = (horizon.prices(name)[t] for name in ("racks", "shelf", "crews", "energy"))
    designs = tuple(
        design.model_copy(update={"rack_price": None if design.rack_price is None else racks * design.rack_price})
        for design in instance.designs
    )
    repair = tuple(
        plan.model_copy(update={"crew_cost": crews * plan.crew_cost, "tray_price": shelf * plan.tray_price})
        for plan in instance.repair_plans
    )
    price = instance.power.energy_price
    update: dict[str, object] = {
        "zones": instance.zones if zones is None else zones,
        "designs": designs,
        "repair_plans": repair,
        "power": instance.power.model_copy(update={"energy_price": None if price is None else energy * price}),
        "limits": own,
        "objective": Objective.model_construct(
            kind=instance.objective.kind, goodput_target=target_of(instance, horizon, t) or None
        ),
        "horizon": None,
    }
    return instance.model_copy(update=update)


def target_of(instance: Instance, horizon: Horizon, t: int) -> float:
    """The goodput that a quarter must reach, baseline GPUs; 0 where none is asked."""
    if instance.objective.kind != "cost":
        return 0.0
    own = horizon.each(horizon.goodput_target)[t]
    return float((instance.objective.goodput_target if own is None else own) or 0.0)


def _least(a: float | None, b: float | None) -> float | None:
    return min((x for x in (a, b) if x is not None), default=None)


def _most(a: float | None, b: float | None) -> float | None:
    return max((x for x in (a, b) if x), default=None)


def _count(value: float | None) -> int | None:
    return None if value is None else int(value)


def rack_price(instance: Instance, horizon: Horizon, design: int, order: int) -> float:
    """What a rack of a design costs in the quarter of its order; 0 where no price is stated."""
    return (instance.designs[design].rack_price or 0.0) * horizon.prices("racks")[order]


def tray_price(instance: Instance, horizon: Horizon, order: int) -> float:
    """What a tray for the shelf costs in the quarter of its order."""
    stated = max((plan.tray_price for plan in instance.repair_plans if plan.shelf is not None), default=0.0)
    return stated * horizon.prices("shelf")[order]


def discounted_charge(instance: Instance, horizon: Horizon, delivered: int) -> float:
    """The discounted share of its price that something delivered in a quarter is charged with within the horizon."""
    weights = horizon.weights()
    return sum(weights[t] * charge_in(instance, delivered, t) for t in range(delivered, horizon.quarters))


def shelf_bought(horizon: Horizon, t: int) -> int:
    """Trays for the shelf that were bought already and have arrived by quarter t."""
    return sum(item.trays for item in horizon.shelf if item.quarter is None or item.quarter <= t)


def charge_in(instance: Instance, delivered: int, quarter: int) -> float:
    """The share of its price that something delivered in one quarter is charged with in another.

    Equal parts over the amortisation time; the last quarter takes what is left.
    """
    whole = instance.economics.amortisation / HOURS_PER_QUARTER
    return min(1.0, max(0.0, whole - (quarter - delivered))) / whole if quarter >= delivered else 0.0
