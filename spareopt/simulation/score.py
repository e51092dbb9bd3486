"""The score that was measured: the exact evaluation's shape with simulated means in it, and their intervals."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spareopt import units
from spareopt.evaluation import Evaluation, ZoneEvaluation
from spareopt.limits import LimitSlack
from spareopt.power import zone_draw
from spareopt.simulation.measured import Measured
from spareopt.simulation.outcome import (
    ACCOUNTS,
    LEDGER,
)
from spareopt.simulation.result import (
    Agreement,
    CrewUse,
    SimulationOptions,
)
from spareopt.simulation.statistics import Interval
from spareopt.units import HOURS_PER_YEAR

Floats = NDArray[np.float64]
LOSS_ACCOUNTS = {
    "blocked": "blocked",
    "planned_stops": "planned",
    "group_stalls": "stalls",
    "checkpoint_saves": "saves",
    "detection_and_restart": "recovery",
    "lost_work": "lost",
    "useful": "useful",
}
"""The loss shares that are measured, and the accounts of the record they are."""
AGREEMENT = {
    "cett": "cett",
    "availability": "availability",
    "interruption_rate_per_h": "interruption_rate",
    "recovery_efficiency": "recovery_efficiency",
}
"""The numbers that are held against the exact model's, and the keys of its methods."""
PER_USEFUL_HOUR = ("cost_per_useful_gpu_hour", "energy_kwh_per_useful_gpu_hour", "carbon_kg_per_useful_gpu_hour")
"""What is unknown where nothing useful was done."""
LEFT_OUT = "left_out"
"""Where the exact model's methods say what it does not carry; a simulation carries it."""
ROUNDING = 1e-12
"""Share of the hours that is left of them by rounding where the job was blocked all the time."""
NOT_SIMULATED = "exact model"
ENOUGH_EPISODES = 30
"""Blocked episodes from which on the mean of their lengths is near its normal law, and an interval of it fair."""
NEVER_UNBLOCKED = "0 where the job is blocked all the time, as here"


def score(m: Measured) -> tuple[Evaluation, dict[str, Interval]]:
    """The exact evaluation with all that was measured in its place, and the intervals of that."""
    exact, hours, sums = m.exact, m.hours, m.totals
    account = {name: sums[:, LEDGER.index(name)] for name in ACCOUNTS}
    share = exact.working_gpus / exact.gpus
    unblocked = hours - account["blocked"]
    unblocked[unblocked <= ROUNDING * hours] = 0.0
    stops = sums[:, LEDGER.index("interruptions")]
    # what the exact model's rate is per: with ageing "computing" the time in which units can fail
    exposed = account["useful"] + account["lost"] if m.instance.failures.ageing == "computing" else unblocked
    found = {
        "cett": m.ratio(share * account["useful"], hours),
        "goodput_scale": m.ratio(share * exact.scale * account["useful"], hours),
        "goodput": m.ratio(exact.working_gpus * exact.scale * account["useful"], hours),
        "availability": m.ratio(unblocked, hours),
        "unavailability": m.ratio(account["blocked"], hours),
        "interruptions_per_day": m.ratio(24.0 * stops, hours),
        "useful_gpu_hours_per_year": m.ratio(exact.working_gpus * HOURS_PER_YEAR * account["useful"], hours),
    }
    if unblocked.sum() > 0:
        found["recovery_efficiency"] = m.ratio(account["useful"], unblocked)
    if exposed.sum() > 0:
        found["interruption_rate_per_h"] = m.ratio(stops, exposed)
    losses = {f"losses.{name}": m.ratio(share * account[of], hours) for name, of in LOSS_ACCOUNTS.items()}
    for name in ("cett", "availability", "unavailability", "recovery_efficiency"):
        if name in found:
            found[name] = found[name].within(0.0, 1.0)
    losses = {name: interval.within(0.0, 1.0) for name, interval in losses.items()}
    found |= losses | _money(m, unblocked, account["useful"])
    numbers: dict[str, Any] = {
        name: interval.mean for name, interval in found.items() if name in Evaluation.model_fields
    }
    for name in ("recovery_efficiency", "interruption_rate_per_h"):
        numbers.setdefault(name, 0.0)
    if not account["useful"].sum() > 0:
        numbers |= dict.fromkeys(PER_USEFUL_HOUR)
    shares = dict(exact.losses) | {name.removeprefix("losses."): i.mean for name, i in losses.items()}
    wall = None if m.instance.job is None else _time_of(m.instance.job.useful_gpu_hours, numbers["goodput"])
    evaluation = exact.model_copy(
        update=numbers
        | {
            "model": "simulation",
            "losses": shares,
            "wall_time_h": wall,
            "zones": _zones(m),
            "limits": tuple(_limit(row, numbers) for row in exact.limits),
            "method": _method(m, bool(unblocked.sum() > 0)),
        }
    )
    return evaluation, found


def _time_of(work: float, goodput: float) -> float | None:
    return work / goodput if goodput > 0 else None


def _money(m: Measured, unblocked: Floats, useful: Floats) -> dict[str, Interval]:
    """The energy, cost and carbon that follow from the unblocked share of the time and the useful work."""
    exact, hours, power = m.exact, m.hours, m.instance.power
    found: dict[str, Interval] = {}
    useful_h = exact.working_gpus * useful / hours * HOURS_PER_YEAR
    working = exact.working_gpus * exact.scale * useful / hours * HOURS_PER_YEAR
    ratio = bool(useful.sum() > 0)
    costs = np.full(len(hours), np.nan if exact.cost_per_year is None else exact.cost_per_year)
    if exact.energy_kwh_per_year is not None and exact.it_power_kw is not None:
        blocked = _blocked_power(m)
        energy = power.pue * HOURS_PER_YEAR * (blocked + unblocked / hours * (exact.it_power_kw - blocked))
        found["energy_kwh_per_year"] = m.ratio(energy * hours, hours)
        if ratio:
            found["energy_kwh_per_useful_gpu_hour"] = m.ratio(energy * hours, useful_h * hours)
        if power.grid_intensity is not None:
            found["carbon_kg_per_year"] = m.ratio(power.grid_intensity * energy * hours, hours)
            if ratio:
                carbon = power.grid_intensity * energy
                found["carbon_kg_per_useful_gpu_hour"] = m.ratio(carbon * hours, useful_h * hours)
        if power.energy_price is not None and exact.yearly_cost is not None:
            change = power.energy_price * (energy - exact.energy_kwh_per_year)
            costs = costs + change
            found["yearly_cost"] = m.ratio((exact.yearly_cost + change) * hours, hours)
            if exact.cost_per_year is not None:
                found["cost_per_year"] = m.ratio(costs * hours, hours)
    if exact.cost_per_year is not None:
        if ratio:
            found["cost_per_useful_gpu_hour"] = m.ratio(costs * hours, useful_h * hours)
        if exact.goodput_gpu_hours_per_money is not None:
            found["goodput_gpu_hours_per_money"] = m.ratio(working * hours, costs * hours)
    return found


def _blocked_power(m: Measured) -> float:
    """IT draw while the job is blocked, kW."""
    designs = {design.name: design for design in m.instance.designs}
    total = 0.0
    for choice in m.decisions.zones:
        design = designs[choice.design]
        assert design.power is not None
        limit = design.power.gpu_full_limit if choice.gpu_limit is None else choice.gpu_limit
        spares = np.array([choice.inter_block_spares], dtype=np.int64)
        _, idle = zone_draw(design, design.power, choice.racks, choice.intra_block_spares, spares, np.array([limit]))
        total += choice.count * float(idle[0])
    return total


def _limit(row: LimitSlack, numbers: dict[str, float]) -> LimitSlack:
    """The slack to a limit on something that was measured."""
    name = {"goodput_target": "goodput"}.get(row.limit, row.limit)
    if name not in ("availability", "goodput", "yearly_cost") or name not in numbers:
        return row
    value = numbers[name]
    slack = row.bound - value if row.sense == "<=" else value - row.bound
    if name == "availability":  # many nines keep their digits only as a difference of unavailabilities
        slack = (1.0 - row.bound) - numbers["unavailability"]
    return row.model_copy(update={"value": value, "slack": slack})


def _method(m: Measured, unblocked: bool) -> dict[str, str]:
    options, count = m.options, len(m.outcomes)
    what = f"simulated: {played_words(count, options)}, seed {options.seed}"
    method = {name: what for name in m.exact.method if name not in ("yearly_cost", "hardware_scale", LEFT_OUT)}
    if not unblocked:
        method |= {name: f"{what}; {NEVER_UNBLOCKED}" for name in ("interruption_rate", "recovery_efficiency")}
    for name in ("yearly_cost", "hardware_scale"):
        if name in m.exact.method:
            method[name] = m.exact.method[name]
    if m.exact.energy_kwh_per_year is not None and m.instance.power.energy_price is not None:
        method["yearly_cost"] = f"energy at the simulated availability; {m.exact.method['yearly_cost']}"
    method["zones"] = f"{NOT_SIMULATED}, but for crews and parts"
    return method


def played_words(count: int, options: SimulationOptions) -> str:
    """What was played, in words."""
    years = f"{options.years:.4g} year{'' if options.years == 1 else 's'}"
    length = f"until the job is done ({years} at most)" if options.until_job else f"of {years}"
    warm_up = f"{units.show(options.warm_up_h, units.TIME)} of warm-up" if options.warm_up_h else "no warm-up"
    replayed = "" if options.trace is None else f", {options.trace} replayed"
    by = ", played by counts" if options.by == "counts" else ""
    return (
        f"{count:,} replication{'' if count == 1 else 's'} {length} after {warm_up} ({options.warm_up}){replayed}{by}"
    )


def _choice_zones(m: Measured) -> list[range]:
    """The numbers of the zones that each choice builds."""
    ends = np.cumsum([0, *(choice.count for choice in m.decisions.zones)])
    return [range(int(start), int(stop)) for start, stop in pairwise(ends)]


def _zones(m: Measured) -> tuple[ZoneEvaluation, ...]:
    """The zones, with what crews and parts were measured to do."""
    result = []
    for zone, places in zip(m.exact.zones, _choice_zones(m), strict=True):
        update: dict[str, float | None] = {}
        crews, shelves = _rows_of(m.system.zone_crews, places), _rows_of(m.system.zone_shelf, places)
        if crews:
            tickets = _total(m, "crew_tickets", crews).sum()
            update["crew_utilisation"] = _crew_share(m, crews).mean
            update["crew_mean_wait_h"] = _over(_total(m, "crew_wait_h", crews).sum(), tickets)
        if shelves:
            orders = _total(m, "part_orders", shelves).sum()
            update["part_mean_wait_h"] = _over(_total(m, "part_wait_h", shelves).sum(), orders)
        result.append(zone.model_copy(update=update))
    return tuple(result)


def _over(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > 0 else None


def _rows_of(places: NDArray[np.int64], zones: range) -> list[int]:
    """The groups of crews (or shelves) that serve some zones."""
    return sorted({int(places[zone]) for zone in zones} - {-1})


def _total(m: Measured, field: str, rows: list[int]) -> Floats:
    return np.array([float(np.sum(getattr(outcome, field)[rows])) for outcome in m.outcomes])


def _crew_share(m: Measured, groups: list[int]) -> Interval:
    """Share of the time in which crews are busy."""
    return m.ratio(_total(m, "crew_busy_h", groups), m.hours * float(m.system.crews[groups].sum()))


def crew_use(m: Measured) -> tuple[CrewUse, ...]:
    """How busy the crews of each choice are, or those of the site."""
    result, seen = [], set()
    for choice, places in zip(m.decisions.zones, _choice_zones(m), strict=True):
        groups = _rows_of(m.system.zone_crews, places)
        if not groups or groups[0] in seen:
            continue
        seen |= set(groups)
        shared = len(groups) == 1 and len(m.system.zone_crews) > 1 and bool(np.all(m.system.zone_crews == groups[0]))
        tickets = _total(m, "crew_tickets", groups)
        waits = _total(m, "crew_wait_h", groups)
        result.append(
            CrewUse(
                zone="site" if shared else choice.zone,
                crews=int(m.system.crews[groups[0]]),
                utilisation=_crew_share(m, groups),
                mean_wait_h=m.ratio(waits, tickets) if tickets.sum() > 0 else None,
                tickets_per_year=m.ratio(tickets * HOURS_PER_YEAR, m.hours),
            )
        )
    return tuple(result)


def agreement(m: Measured, intervals: dict[str, Interval]) -> dict[str, Agreement]:
    """The exact model's numbers beside the simulated ones; with a trace, of which it knows nothing, none is judged."""
    exact, replayed = m.exact, len(m.system.trace_time) > 0
    never_blocked = intervals["unavailability"].mean == 0
    seldom_blocked = m.totals[:, LEDGER.index("episodes")].sum() < ENOUGH_EPISODES
    never_stopped = intervals["interruptions_per_day"].mean == 0
    always_blocked = intervals["availability"].mean == 0
    unseen = {  # how rare it is was not shown
        "cett": always_blocked or (never_blocked and never_stopped),
        "availability": always_blocked or never_blocked or seldom_blocked,
    }
    result = {}
    for name, method in AGREEMENT.items():
        if name not in intervals:
            continue
        value, found = float(getattr(exact, name)), intervals[name]
        inside = None if replayed else found.contains(value)
        result[name] = Agreement(
            exact=value,
            simulated=found,
            inside=inside or (None if unseen.get(name, never_stopped) else inside),
            standard_errors=None if replayed else found.standard_errors_from(value),
            method=exact.method[method],
        )
    return result
