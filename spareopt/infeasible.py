"""Why no plan meets the limits, in words and numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from spareopt import units
from spareopt.candidates import Candidates, energy_cost_per_kw_year
from spareopt.environment import log_together
from spareopt.instance import Instance
from spareopt.levels import shared_costs, shares_repair
from spareopt.limits import rounding


def why_infeasible(candidates: Candidates) -> str:
    """What no choice can meet even alone; else that the limits can't all be met together."""
    found = out_of_reach(candidates)
    if found:
        return "; ".join(found)
    limits = candidates.instance.limits
    stated = {name: getattr(limits, name) for name in ("capital", "yearly_cost", "it_power", "site_power", "floor")}
    stated |= {"working_gpus.minimum": limits.working_gpus.minimum, "working_gpus.maximum": limits.working_gpus.maximum}
    stated |= {"availability": limits.availability, "crews": limits.crews, "shelf_trays": limits.shelf_trays}
    names = ", ".join(name for name, bound in stated.items() if bound is not None)
    return f"no limit is out of reach alone, but they can't all be met together: {names}; relax one of them"


def out_of_reach(candidates: Candidates) -> list[str]:
    """The limits that no choice can meet even alone, and the zones that have no choice, in words and numbers."""
    instance, table = candidates.instance, candidates.table
    for z, zone in enumerate(instance.zones):
        if not (table["zone"] == z).any():
            reasons = ", ".join(f"{reason} ({number:,})" for reason, number in candidates.excluded.items() if number)
            return [f"zone {zone.name!r} has no choice that can be built: {reasons or 'no design allows one'}"]
    price = energy_cost_per_kw_year(instance)
    with np.errstate(divide="ignore"):
        table = table.assign(
            log_up=np.log1p(-table["unavailability"] * (not candidates.site.shrinks)),
            own_crews=table["crews"].fillna(0.0) * (not shares_repair(instance)),
            own_shelf=table["shelf_trays"].fillna(0.0) * (not shares_repair(instance)),
            least_yearly=table["plan_cost_per_year"] + (price * table["blocked_power_kw"] if price else 0.0),
        )
    limits, pue = instance.limits, instance.power.pue
    money = partial(units.show, kind=units.MONEY, currency=instance.currency)
    power = partial(units.show, kind=units.POWER)
    gpus = "{:,.0f} GPUs".format
    shelf, crews = shared_costs(instance)
    plans = crews + min(plan.yearly_cost for plan in instance.checkpoint_plans)
    rows: list[tuple[str, str, float, float, float | None, Callable[[float], str]]] = [
        ("capital", "capital", 1.0, shelf, limits.capital, money),
        ("yearly_cost", "least_yearly", 1.0, plans, limits.yearly_cost, money),
        ("it_power", "it_power_kw", 1.0, 0.0, limits.it_power, power),
        ("site_power", "it_power_kw", pue, 0.0, limits.site_power, power),
        ("floor", "racks", 1.0, 0.0, limits.floor, "{:,.0f} rack positions".format),
        ("working_gpus.maximum", "working_gpus", 1.0, 0.0, limits.working_gpus.maximum, gpus),
        ("crews", "own_crews", 1.0, 0.0, limits.crews, "{:,.0f} crews".format),
        ("shelf_trays", "own_shelf", 1.0, 0.0, limits.shelf_trays, "{:,.0f} trays".format),
    ]
    found = []
    for name, column, factor, fixed, bound, show in rows:
        if bound is not None:
            least = fixed + factor * _total(instance, table, column, "min")
            if least > bound + rounding(name, bound):
                found.append(f"limits.{name}: the least possible is {show(least)}, the limit {show(bound)}")
    fewest, most = limits.working_gpus.minimum, _total(instance, table, "working_gpus", "max")
    if fewest is not None and most < fewest:
        found.append(f"limits.working_gpus.minimum: the most possible is {gpus(most)}, the limit {gpus(fewest)}")
    floor, down = limits.availability, _least_down(candidates, table)
    if floor is not None and down > 1.0 - floor + rounding("availability", floor):
        found.append(f"limits.availability: the highest possible is {1.0 - down:.12g}, the limit {floor:.12g}")
    return found


def _least_down(candidates: Candidates, table: pd.DataFrame) -> float:
    """1 − A if every zone had its highest availability in every state of the environment."""
    if candidates.site.environment.single:
        return -float(np.expm1(_total(candidates.instance, table, "log_up", "max")))
    with np.errstate(divide="ignore"):
        log_up = pd.DataFrame(np.log1p(-candidates.short)).groupby(table["zone"].to_numpy()).max()
    counts = np.array([zone.count for zone in candidates.instance.zones], dtype=float)
    together = log_together(candidates.site.environment, counts @ log_up.to_numpy())
    return -float(np.expm1(together))


def _total(instance: Instance, table: pd.DataFrame, column: str, how: str) -> float:
    """The least or greatest total of a column over all zones."""
    extremes = table.groupby("zone")[column].agg(how)
    return float(sum(zone.count * extremes[z] for z, zone in enumerate(instance.zones)))
