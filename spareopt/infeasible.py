"""Why no plan meets the limits, in words and numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from spareopt import units
from spareopt.candidates import Candidates


def why_infeasible(candidates: Candidates) -> str:
    """The limits that no choice can meet even alone; else that they conflict together."""
    instance, table = candidates.instance, candidates.table
    for z, zone in enumerate(instance.zones):
        if not (table["zone"] == z).any():
            reasons = ", ".join(f"{reason} ({number:,})" for reason, number in candidates.excluded.items() if number)
            return f"zone {zone.name!r} has no choice that can be built: {reasons or 'no design allows one'}"
    limits, pue = instance.limits, instance.power.pue
    money = partial(units.show, kind=units.MONEY, currency=instance.currency)
    power = partial(units.show, kind=units.POWER)
    gpus = "{:,.0f} GPUs".format
    plans = min(plan.yearly_cost for plan in instance.checkpoint_plans)
    rows: list[tuple[str, str, float, float, float | None, Callable[[float], str]]] = [
        ("capital", "capital", 1.0, 0.0, limits.capital, money),
        ("yearly_cost", "plan_cost_per_year", 1.0, plans, limits.yearly_cost, money),
        ("it_power", "it_power_kw", 1.0, 0.0, limits.it_power, power),
        ("site_power", "it_power_kw", pue, 0.0, limits.site_power, power),
        ("floor", "racks", 1.0, 0.0, limits.floor, "{:,.0f} rack positions".format),
        ("working_gpus.maximum", "working_gpus", 1.0, 0.0, limits.working_gpus.maximum, gpus),
    ]
    found = []
    for name, column, factor, fixed, bound, show in rows:
        least = fixed + factor * _total(candidates, column, "min")
        if bound is not None and least > bound:
            found.append(f"limits.{name}: the least possible is {show(least)}, the limit {show(bound)}")
    most = _total(candidates, "working_gpus", "max")
    if limits.working_gpus.minimum is not None and most < limits.working_gpus.minimum:
        found.append(
            f"limits.working_gpus.minimum: the most possible is {gpus(most)}, the limit "
            f"{gpus(limits.working_gpus.minimum)}"
        )
    if limits.availability is not None:
        up = candidates.table.assign(log_up=np.log1p(-candidates.table["unavailability"]))
        best = float(np.exp(_total(Candidates(instance, up, {}, ""), "log_up", "max")))
        if best < limits.availability:
            found.append(
                f"limits.availability: the highest possible is {best:.6g}, the limit {limits.availability:.6g}"
            )
    if found:
        return "; ".join(found)
    names = [row[0] for row in rows if row[4] is not None]
    names += ["working_gpus.minimum"] * (limits.working_gpus.minimum is not None)
    names += ["availability"] * (limits.availability is not None)
    return f"each limit can be met alone, but not all together: {', '.join(names)}; relax one of them"


def _total(candidates: Candidates, column: str, how: str) -> float:
    """The least or greatest total of a column over all zones."""
    extremes = candidates.table.groupby("zone")[column].agg(how)
    return float(sum(zone.count * extremes[z] for z, zone in enumerate(candidates.instance.zones)))
