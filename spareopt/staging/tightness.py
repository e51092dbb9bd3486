"""What keeps a staged plan from more in each quarter: limits of which less is left than another step of racks takes."""

from __future__ import annotations

from itertools import pairwise
from math import inf

from spareopt.horizon import Horizon
from spareopt.instance import Instance
from spareopt.limits import LimitSlack
from spareopt.record import Frozen
from spareopt.staging.plan import StagedPlan
from spareopt.staging.quarters import quarter_instance, rack_price

NEAR = 0.01  # of what must be reached: what is beyond it by less is just reached
BY_RACKS = ("it_power", "site_power", "yearly_cost", "floor", "working_gpus.maximum")
"""Limits on what grows with the racks."""
COUNTED = ("crews", "shelf_trays")


class Tight(Frozen):
    """A limit with no room in a quarter."""

    limit: str
    """As in an evaluation's limits, or one of these: ``money`` of the horizon; ``lead_time``: nothing ordered in the
    plan can arrive yet; ``too_late``: what is ordered arrives after the horizon; ``choices``: every zone has the most
    racks offered; ``shelf_stock``: all trays that have arrived are on a shelf."""
    left: float | None
    """In ``unit``; None where it is no matter of amounts."""
    unit: str = ""


def rack_step(instance: Instance) -> int:
    """The fewest racks by which a zone can grow."""
    steps = []
    for zone in instance.zones:
        offered = sorted(zone.racks)
        steps += [offered[0], *(b - a for a, b in pairwise(offered))]
    return min(steps)


def tight_limits(instance: Instance, plan: StagedPlan) -> list[list[Tight]]:
    """For each quarter what keeps the plan from more.

    A limit on what grows with the racks (power, floor, yearly cost, working GPUs) is tight where less of it is left
    than the smallest step of racks takes at the quarter's mean a rack; money, where less is left than such a step of
    the cheapest racks costs and an order can still arrive; what must be reached, where it is passed by less than 1 %.
    """
    horizon = instance.horizon
    assert horizon is not None
    step = rack_step(instance)
    result = []
    for t, quarter in enumerate(plan.score.quarters):
        found = []
        if t < horizon.lead_time.racks:
            found.append(Tight(limit="lead_time", left=None))
        elif _all_racks(instance, plan, t):
            found.append(Tight(limit="choices", left=None))
        if t + horizon.lead_time.racks >= horizon.quarters:
            found.append(Tight(limit="too_late", left=None))
        elif quarter.money_left is not None:
            least = min(rack_price(instance, horizon, d, t) for d in range(len(instance.designs)))
            if quarter.money_left < step * least:
                found.append(Tight(limit="money", left=max(0.0, quarter.money_left), unit=instance.currency))
        if quarter.shelf_trays and quarter.shelf_used == quarter.shelf_trays:
            found.append(Tight(limit="shelf_stock", left=0.0, unit="trays"))
        if quarter.evaluation is not None:
            racks = quarter.racks
            found += [
                Tight(limit=row.limit, left=max(0.0, row.slack), unit=row.unit)
                for row in quarter.evaluation.limits
                if _tight(row, racks, step)
            ]
        elif _no_room(instance, horizon, t):
            found.append(Tight(limit="site_power", left=None))
        result.append(found)
    return result


def _tight(row: LimitSlack, racks: int, step: int) -> bool:
    if row.limit in BY_RACKS:
        return row.slack < step * row.value / racks
    if row.limit in COUNTED:
        return row.slack < 1
    if row.limit.startswith(("availability", "guarantee")):
        return row.slack < NEAR * (1.0 - row.bound)
    return row.limit != "placement_group" and row.slack < NEAR * abs(row.bound)


def _all_racks(instance: Instance, plan: StagedPlan, t: int) -> bool:
    most = {zone.name: max(zone.racks) for zone in instance.zones}
    return all(zone.racks()[t] >= most[zone.zone] for zone in plan.decisions.zones)


def _no_room(instance: Instance, horizon: Horizon, t: int) -> bool:
    """Whether there is no power at all in a quarter in which nothing runs."""
    limits = quarter_instance(instance, horizon, t).limits
    return min((x for x in (limits.it_power, limits.site_power) if x is not None), default=inf) <= 0.0
