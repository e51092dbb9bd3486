"""The short message of an infeasible instance, from its candidates alone; `spareopt.conflicts` explains it in full."""

from __future__ import annotations

import numpy as np
import pandas as pd

from spareopt.candidates import Candidates, energy_cost_per_kw_year
from spareopt.caps import Cap, bound_text, caps_of, value_text
from spareopt.environment import log_together
from spareopt.instance import Instance
from spareopt.levels import shared_costs, shares_repair
from spareopt.limits import rounding


def why_infeasible(candidates: Candidates) -> str:
    """What no choice can meet even alone; else that the limits can't all be met together."""
    found = out_of_reach(candidates)
    if found:
        return "; ".join(found)
    names = ", ".join(cap.path.removeprefix("limits.") for cap in caps_of(candidates.instance))
    return f"the limits can't all be met together: {names}"


def out_of_reach(candidates: Candidates) -> list[str]:
    """The limits that no choice can meet even alone, and the zones that have no choice, in words and numbers."""
    instance, table = candidates.instance, candidates.table
    for z, zone in enumerate(instance.zones):
        if not (table["zone"] == z).any():
            reasons = ", ".join(f"{reason} ({number:,})" for reason, number in candidates.excluded.items() if number)
            return [f"zone {zone.name!r} has no choice that can be built: {reasons or 'no design allows one'}"]
    found = []
    for cap in caps_of(instance):
        least, exact = _least(candidates, cap)
        stated, slack = cap.loss(cap.bound), rounding(cap.limit, cap.bound)
        if least is not None and least > stated + slack:
            extreme = "least" if cap.sense == "<=" else "highest" if cap.kind == "share" else "most"
            extreme = f"{extreme} possible is {'' if exact else 'above '}"
            found.append(f"{cap.path}: the {extreme}{value_text(cap, least)}, the limit {bound_text(cap)}")
    return found


def _least(candidates: Candidates, cap: Cap) -> tuple[float | None, bool]:
    """The least loss (see ``Cap.loss``) that zones can have without the other limits, and whether a plan has it.

    None where the candidates alone do not say.
    """
    instance, table = candidates.instance, candidates.table
    own = 0.0 if shares_repair(instance) else 1.0
    shelf, crews = shared_costs(instance)
    price = energy_cost_per_kw_year(instance)
    match cap.path:
        case "limits.capital":
            return shelf + _total(instance, table, table["capital"]), True
        case "limits.yearly_cost":  # as if the job were always blocked
            energy = price * table["blocked_power_kw"] if price else 0.0
            fixed = crews + min(plan.yearly_cost for plan in instance.checkpoint_plans)
            return fixed + _total(instance, table, table["plan_cost_per_year"] + energy), not price
        case "limits.it_power":
            return _total(instance, table, table["it_power_kw"]), True
        case "limits.site_power":
            return instance.power.pue * _total(instance, table, table["it_power_kw"]), True
        case "limits.floor":
            return _total(instance, table, table["racks"]), True
        case "limits.crews":
            return own * _total(instance, table, table["crews"].fillna(0.0)), True
        case "limits.shelf_trays":
            return own * _total(instance, table, table["shelf_trays"].fillna(0.0)), True
        case "limits.working_gpus.maximum":
            return _total(instance, table, table["working_gpus"]), True
        case "limits.working_gpus.minimum":
            return _total(instance, table, -table["working_gpus"]), True
        case "limits.availability":
            return _least_down(candidates), True
    return None, True


def _least_down(candidates: Candidates) -> float:
    """1 − A if every zone had its highest availability in every state of the environment."""
    instance, table = candidates.instance, candidates.table
    with np.errstate(divide="ignore"):
        if candidates.site.environment.single:
            log_down = -np.log1p(-table["unavailability"] * (not candidates.site.shrinks))
            return -float(np.expm1(-_total(instance, table, log_down)))
        log_up = pd.DataFrame(np.log1p(-candidates.short)).groupby(table["zone"].to_numpy()).max()
    counts = np.array([zone.count for zone in instance.zones], dtype=float)
    together = log_together(candidates.site.environment, counts @ log_up.to_numpy())
    return -float(np.expm1(together))


def _total(instance: Instance, table: pd.DataFrame, values: pd.Series) -> float:
    """The least total of a number over all zones."""
    numbers, of = values.to_numpy(), table["zone"].to_numpy()
    least = [float(np.fmin.reduce(numbers[of == z])) for z in range(len(instance.zones))]
    return float(sum(zone.count * low for zone, low in zip(instance.zones, least, strict=True)))
