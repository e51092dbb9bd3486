"""The numbers of a staged problem: states, moves, and for each quarter the candidates of its states as one problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.building import Site, site_of
from spareopt.candidates import Candidates, check_model, energy_cost_per_kw_year
from spareopt.clock import Clock
from spareopt.errors import InfeasibleError
from spareopt.horizon import Horizon
from spareopt.instance import Instance
from spareopt.limits import rounding
from spareopt.numerics.recovery import RecoveryScheme
from spareopt.problem import Outcome, Problem
from spareopt.schemes import recovery_schemes
from spareopt.search import OnProgress, SolveProgress, while_pruning
from spareopt.staging.makes import Made, Make, Others, crew_costs, running_draw, score_make, undominated
from spareopt.staging.quarters import (
    ZoneGroup,
    cohorts_of,
    discounted_charge,
    quarter_instance,
    rack_price,
    shelf_bought,
    target_of,
    tray_price,
    zone_groups,
)
from spareopt.staging.refusals import checked_horizon
from spareopt.staging.states import NOT_BUILT, Paths, State, all_paths, without_dead_ends

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Choice = tuple[dict[int, int], int]
"""Counts by position and the option; the option after the last checkpoint plan is idle."""


class QuarterProblem(Problem):
    """The candidates of one quarter: those of all states that a zone may be in, and one that is not built.

    Its capital is nothing: what is bought is paid by the moves.
    """

    @property
    def size(self) -> float | None:
        """The greatest yearly cost of all zones: what counts as one."""
        always, running, by_option = self.minimised
        return max(self.extremes(always + running)[1] + max(by_option), 1.0)

    @cached_property
    def energy_cost(self) -> Array:
        """What always running adds to each candidate's yearly cost."""
        price = energy_cost_per_kw_year(self.candidates.instance)
        return (
            price * (self.column("it_power_kw") - self.column("blocked_power_kw"))
            if price
            else np.zeros(len(self.rows))
        )


@dataclass(frozen=True)
class Columns:
    """One quarter: its problem, the state of each candidate by position, and which candidates are built."""

    problem: QuarterProblem
    state: Places
    built: NDArray[np.bool_]

    def subset(self, keep: Places) -> Columns:
        """Only the candidates at these positions, which must be increasing."""
        problem = self.problem.subset(keep)
        assert isinstance(problem, QuarterProblem)
        return Columns(problem, self.state[keep], self.built[keep])

    @property
    def idle(self) -> int:
        """The option in which nothing runs."""
        return len(self.problem.schemes)

    def outcome(self, choice: Choice) -> Outcome:
        """Score a choice exactly and check the quarter's limits."""
        counts, option = choice
        if option != self.idle:
            return self.problem.outcome(counts, option)
        instance = self.problem.candidates.instance
        fine = not instance.limits.working_gpus.minimum and not instance.objective.goodput_target
        return Outcome(counts, option, -inf, False, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, fine)


@dataclass(frozen=True)
class StagedProblem:
    """Everything of a staged plan in numbers."""

    instance: Instance
    horizon: Horizon
    groups: tuple[ZoneGroup, ...]
    paths: Paths
    quarters: tuple[Columns, ...]
    enumerated: int
    excluded: dict[str, int]

    @property
    def goal(self) -> str:
        """What is optimised: value or cost."""
        return "cost" if self.instance.objective.kind == "cost" else "value"

    @property
    def weights(self) -> tuple[float, ...]:
        """What a quarter's result counts."""
        return self.horizon.weights()

    @property
    def kept(self) -> int:
        """Candidates of all quarters."""
        return sum(len(columns.state) for columns in self.quarters)

    def racks(self, t: int, counts: Mapping[int, int]) -> NDArray[np.int64]:
        """Racks of each design (rows) and group (columns) that a choice of quarter t has."""
        total = np.zeros((len(self.instance.designs), len(self.groups)), dtype=np.int64)
        for position, number in counts.items():
            state = self.paths.states[t][int(self.quarters[t].state[position])]
            if state.design != NOT_BUILT:
                total[state.design, state.group] += number * state.racks
        return total

    def ordered(self, choices: tuple[Choice, ...]) -> NDArray[np.int64]:
        """Racks of each design (columns) that are delivered in each quarter (rows) and were not bought before."""
        before = np.zeros((len(self.instance.designs), len(self.groups)), dtype=np.int64)
        for g, group in enumerate(self.groups):
            if group.design is not None:
                before[group.design, g] = group.count * group.bought_by(-1)
        result = np.zeros((self.horizon.quarters, len(self.instance.designs)), dtype=np.int64)
        for t, (counts, _) in enumerate(choices):
            here = self.racks(t, counts)
            new = here - before
            for g, group in enumerate(self.groups):
                if group.design is not None:
                    new[group.design, g] -= group.count * group.arrivals(t)
            result[t], before = new.sum(axis=1), here
        return result

    def paid(self, choices: tuple[Choice, ...], stock: Mapping[int, int]) -> list[float]:
        """What is paid in each quarter."""
        lead = self.horizon.lead_time.racks
        ordered = self.ordered(choices)
        paid: list[list[float]] = [[] for _ in range(self.horizon.quarters)]
        for t in range(lead, self.horizon.quarters):
            for d, racks in enumerate(ordered[t]):
                paid[t - lead].append(int(racks) * rack_price(self.instance, self.horizon, d, t - lead))
        for u, trays in stock.items():
            paid[u].append(trays * tray_price(self.instance, self.horizon, u))
        return [fsum(parts) for parts in paid]

    def charges(self, choices: tuple[Choice, ...], stock: Mapping[int, int]) -> float:
        """The discounted charges of what is ordered."""
        lead = self.horizon.lead_time
        ordered = self.ordered(choices)
        parts = [
            int(racks)
            * rack_price(self.instance, self.horizon, d, t - lead.racks)
            * discounted_charge(self.instance, self.horizon, t)
            for t in range(lead.racks, self.horizon.quarters)
            for d, racks in enumerate(ordered[t])
        ]
        parts += [
            trays
            * tray_price(self.instance, self.horizon, u)
            * discounted_charge(self.instance, self.horizon, u + lead.shelf)
            for u, trays in stock.items()
        ]
        return fsum(parts)

    def best_orders(self, choices: tuple[Choice, ...]) -> dict[int, int] | None:
        """The cheapest orders of trays for given choices, in whole trays; None where the budgets allow none.

        With a goal other than cost any orders will do; then those that cost least are taken.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415

        instance, horizon, lead = self.instance, self.horizon, self.horizon.lead_time.shelf
        needed = [
            max(
                0,
                sum(n * int(columns.problem.column("own_shelf")[c]) for c, n in counts.items())
                - shelf_bought(horizon, t),
            )
            for t, (columns, (counts, _)) in enumerate(zip(self.quarters, choices, strict=True))
        ]
        open_quarters = range(horizon.quarters - lead)
        if not any(needed):
            return {}
        if not open_quarters or any(needed[:lead]):
            return None
        prices = np.array([tray_price(instance, horizon, u) for u in open_quarters])
        charged = np.array([discounted_charge(instance, horizon, u + lead) for u in open_quarters])
        cost = prices * charged if self.goal == "cost" else prices
        rows, low, high = [], [], []
        for t, number in enumerate(needed):
            if number:
                rows.append([1.0 if u + lead <= t else 0.0 for u in open_quarters])
                low.append(float(number))
                high.append(inf)
        racks = self.paid(choices, {})
        for _, quarters, bound in money_limits(instance, horizon):
            left = bound - fsum(racks[u] for u in quarters) + rounding("capital", bound)
            size = max(float(prices.max()), 1.0)
            rows.append([prices[u] / size if u in quarters else 0.0 for u in open_quarters])
            low.append(-inf)
            high.append(left / size)
        scale = float(cost.max()) or 1.0
        found = milp(
            cost / scale,
            constraints=LinearConstraint(np.array(rows), low, high),
            integrality=np.ones(len(cost)),
            bounds=Bounds(0, max(needed)),
            options={"mip_rel_gap": 0.0},
        )
        if found.x is None:
            return None
        return {u: round(number) for u, number in enumerate(found.x) if round(number)}

    def within_money(self, choices: tuple[Choice, ...], stock: Mapping[int, int]) -> bool:
        """Whether budgets, the limit on capital and the stock of trays hold."""
        paid, horizon = self.paid(choices, stock), self.horizon
        for _, quarters, bound in money_limits(self.instance, horizon):
            if fsum(paid[u] for u in quarters) > bound + rounding("capital", bound):
                return False
        for t, (counts, _) in enumerate(choices):
            shelf = self.quarters[t].problem.column("own_shelf")
            arrived = sum(trays for u, trays in stock.items() if u + horizon.lead_time.shelf <= t)
            if sum(number * int(shelf[c]) for c, number in counts.items()) > shelf_bought(horizon, t) + arrived:
                return False
        return True


def money_limits(instance: Instance, horizon: Horizon) -> list[tuple[str, range, float]]:
    """The limits on what is paid: their names, the quarters of orders that they add up, and the bounds."""
    limits = []
    budgets = horizon.each(horizon.capital)
    for t in range(horizon.quarters):
        if budgets[t] is not None:
            quarters = range(t + 1) if horizon.carry_over else range(t, t + 1)
            limits.append((f"capital {t + 1}", quarters, fsum(budgets[u] or 0.0 for u in quarters)))
    if instance.limits.capital is not None:
        limits.append(("capital", range(horizon.quarters), instance.limits.capital))
    return limits


def staged_problem(instance: Instance, report: OnProgress, clock: Clock) -> StagedProblem:
    """Enumerate states, score their candidates, and leave out what no plan needs; pruning ends at the time limit.

    Raises InputError where the instance can't be staged, InfeasibleError where zones have no way through the quarters.
    """
    horizon = checked_horizon(instance)
    check_model(instance, "exact")
    groups = zone_groups(instance, horizon)
    paths = all_paths(instance, horizon, groups)
    stated = site_of(instance.model_copy(update={"horizon": None}), "exact")
    schemes = recovery_schemes(instance, "exact")
    made, excluded = _made(instance, horizon, groups, paths, stated, schemes, report, clock)
    enumerated = sum(total for _, total in made.values())
    fitting = []
    for t, states in enumerate(paths.states):
        own = quarter_instance(instance, horizon, t)
        fitting.append([_fitting(state, groups, horizon, made, own) for state in states])
    alive = [
        [state.design == NOT_BUILT or len(rows) > 0 for state, rows in zip(states, layer, strict=True)]
        for states, layer in zip(paths.states, fitting, strict=True)
    ]
    _beyond_money(instance, horizon, groups, paths, alive)
    paths, left = without_dead_ends(paths, alive)
    for t, states in enumerate(paths.states):
        missing = set(range(len(groups))) - {state.group for state in states}
        if missing:
            zone = instance.zones[groups[min(missing)].zone].name
            label = horizon.labels()[t]
            message = f"zones.{zone}: what was bought can't be run within the limits up to quarter {label}"
            raise InfeasibleError(message + _reasons(excluded))
    if not any(state.design != NOT_BUILT for states in paths.states for state in states):
        raise InfeasibleError(
            "no zone can be built within the budget, the power and the other limits" + _reasons(excluded)
        )
    for t, states in enumerate(paths.states):
        must_run = target_of(instance, horizon, t) or quarter_instance(instance, horizon, t).limits.working_gpus.minimum
        if must_run and all(state.design == NOT_BUILT for state in states):
            label = horizon.labels()[t]
            raise InfeasibleError(f"no zone can be built and run in quarter {label}, in which the job must run")
    columns = [
        _columns(instance, horizon, t, groups, states, [fitting[t][k] for k in left[t]], made, schemes)
        for t, states in enumerate(paths.states)
    ]
    return StagedProblem(instance, horizon, groups, paths, tuple(columns), enumerated, dict(excluded))


def _reasons(excluded: Mapping[str, int]) -> str:
    reasons = ", ".join(f"{reason} ({number:,})" for reason, number in excluded.items() if number)
    return f"; choices that can't be built: {reasons}" if reasons else ""


def make_of(state: State, groups: tuple[ZoneGroup, ...], horizon: Horizon) -> Make:
    """How a zone in a state is built."""
    return Make(groups[state.group].zone, state.design, state.racks, cohorts_of(horizon, state.levels))


def _made(
    instance: Instance,
    horizon: Horizon,
    groups: tuple[ZoneGroup, ...],
    paths: Paths,
    site: Site,
    schemes: list[RecoveryScheme],
    report: OnProgress,
    clock: Clock,
) -> tuple[dict[Make, tuple[Made | None, int]], Counter[str]]:
    """The candidates of every make that some state has, each scored once, those that others match left out."""
    excluded: Counter[str] = Counter()
    makes = dict.fromkeys(
        make_of(state, groups, horizon) for states in paths.states for state in states if state.design != NOT_BUILT
    )
    report(SolveProgress(f"scoring {len(makes):,} ways to build a zone", clock.elapsed()))
    scored = {make: score_make(site, make, excluded) for make in makes}
    most: dict[int, NDArray[np.float64]] = {}
    for make, own in scored.items():
        if own is not None:
            here = np.array(
                [own.table["placed_gpus"].max(), own.table["rate_per_h"].max(), running_draw(own.table).max()]
            )
            most[make.zone] = np.maximum(most.get(make.zone, 0.0), here)
    number = sum(zone.count for zone in instance.zones)
    total = sum((zone.count * most.get(z, np.zeros(3)) for z, zone in enumerate(instance.zones)), np.zeros(3))
    result: dict[Make, tuple[Made | None, int]] = {}
    rows = sum(len(own.table) for own in scored.values() if own is not None)
    going = while_pruning(rows, clock, report)
    for make, own in scored.items():
        if own is None:
            result[make] = (None, 0)
            continue
        others = total - most[make.zone]
        rate = site.environment.rate
        box = Others((0.0, float(others[0])), (rate, rate + float(others[1])), (0.0, float(others[2])), number == 1)
        keep = undominated(own, instance, horizon, schemes, box, going)
        table = own.table.iloc[keep].reset_index(drop=True)
        result[make] = (Made(table, own.short[keep]), len(own.table))
    return result, excluded


def _fitting(
    state: State,
    groups: tuple[ZoneGroup, ...],
    horizon: Horizon,
    made: Mapping[Make, tuple[Made | None, int]],
    own: Instance,
) -> Places:
    """The rows of a state's candidates that alone are within the limits of a quarter."""
    if state.design == NOT_BUILT:
        return np.zeros(0, dtype=np.int64)
    candidates = made[make_of(state, groups, horizon)][0]
    if candidates is None:
        return np.zeros(0, dtype=np.int64)
    table, limits = candidates.table, own.limits
    fits = np.ones(len(table), dtype=bool)
    for column, times, bound in (
        ("it_power_kw", 1.0, limits.it_power),
        ("it_power_kw", own.power.pue, limits.site_power),
        ("racks", 1.0, limits.floor),
        ("crews", 1.0, limits.crews),
        ("shelf_trays", 1.0, limits.shelf_trays),
        ("working_gpus", 1.0, limits.working_gpus.maximum),
    ):
        if bound is not None:
            fits &= times * table[column].fillna(0.0).to_numpy(dtype=float) <= bound * (1 + 1e-6)
    return np.flatnonzero(fits)


def _beyond_money(
    instance: Instance, horizon: Horizon, groups: tuple[ZoneGroup, ...], paths: Paths, alive: list[list[bool]]
) -> None:
    """Mark states whose racks cost more than all the money there is for them."""
    lead = horizon.lead_time.racks
    limits = money_limits(instance, horizon)
    for t, states in enumerate(paths.states):
        if t < lead:
            continue
        through = min(
            (bound for _, quarters, bound in limits if quarters.start == 0 and t - lead in quarters), default=inf
        )
        for k, state in enumerate(states):
            if state.design == NOT_BUILT:
                continue
            price = min(rack_price(instance, horizon, state.design, u) for u in range(t - lead + 1))
            cost = (state.racks - groups[state.group].bought_by(t)) * price
            if cost > through * (1 + 1e-6):
                alive[t][k] = False


def _columns(
    instance: Instance,
    horizon: Horizon,
    t: int,
    groups: tuple[ZoneGroup, ...],
    states: tuple[State, ...],
    rows: list[Places],
    made: Mapping[Make, tuple[Made | None, int]],
    schemes: list[RecoveryScheme],
) -> Columns:
    """The candidates of all states of a quarter, one below the other, at its prices and limits."""
    own = quarter_instance(
        instance,
        horizon,
        t,
        tuple(instance.zones[group.zone].model_copy(update={"count": group.count}) for group in groups),
    )
    dearer = horizon.prices("crews")[t]
    tables, shorts, places = [], [], []
    for k, state in enumerate(states):
        if state.design == NOT_BUILT:
            continue
        candidates = made[make_of(state, groups, horizon)][0]
        assert candidates is not None
        table = candidates.table.iloc[rows[k]]
        more = (dearer - 1.0) * crew_costs(table, instance)
        tables.append(
            table.assign(zone=state.group, capital=0.0, plan_cost_per_year=table["plan_cost_per_year"] + more)
        )
        shorts.append(candidates.short[rows[k]])
        places.append(np.full(len(table), k, dtype=np.int64))
    scale = max((float(table["log_scale"].max()) for table in tables), default=0.0)
    empty = [k for k, state in enumerate(states) if state.design == NOT_BUILT]
    sample = next(made_of[0].table for made_of in made.values() if made_of[0] is not None)
    nothing = pd.DataFrame(0.0, index=range(len(empty)), columns=sample.columns)
    nothing = nothing.assign(
        zone=[states[k].group for k in empty],
        design=NOT_BUILT,
        log_scale=scale,
        crews=np.nan,
        shelf_trays=np.nan,
        start_at=np.nan,
        gpu_limit_kw=np.nan,
    )
    whole = pd.concat([*tables, nothing], ignore_index=True) if len(nothing) else pd.concat(tables, ignore_index=True)
    short = np.concatenate([*shorts, np.zeros((len(empty), 1))])
    place = np.concatenate([*places, np.array(empty, dtype=np.int64)]).astype(np.int64)
    built = np.concatenate([np.ones(len(whole) - len(empty), dtype=bool), np.zeros(len(empty), dtype=bool)])
    candidates_of = Candidates(site_of(own, "exact"), whole, short, {})
    problem = QuarterProblem(
        candidates_of,
        schemes,
        np.arange(len(whole), dtype=np.int64),
        whole["zone"].to_numpy(dtype=np.int64),
        tuple(group.count for group in groups),
        whole,
    )
    return Columns(problem, place, built)
