"""The numbers of one optimisation: kept candidates as arrays, and the exact outcome of any choice among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, expm1, inf, log
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.candidates import Candidates, energy_cost_per_kw_year
from spareopt.coupling import ZoneTerms
from spareopt.decisions import Decisions
from spareopt.environment import log_together
from spareopt.levels import shared_costs
from spareopt.limits import rounding
from spareopt.numerics.holder import Tilt, log_eta_by_state
from spareopt.numerics.recovery import RecoveryScheme
from spareopt.units import HOURS_PER_YEAR

Array = NDArray[np.float64]
Goal = Literal["value", "cost", "ratio"]
MOST_TRIES = 5000  # some 50 microseconds each
GOALS: dict[str, Goal] = {"goodput": "value", "cost": "cost", "goodput_per_dollar": "ratio"}


@dataclass(frozen=True)
class Outcome:
    """What a choice comes to, exactly."""

    counts: Mapping[int, int]
    option: int
    score: float
    feasible: bool
    """Whether it does some work and meets every limit."""
    goodput: float
    cost: float | None
    working_gpus: float
    placed_gpus: float
    rate: float
    log_up: float
    """ln of the share of time in which the job runs, as the energy term of the MILP counts it."""
    within_limits: bool
    """Whether it meets every limit, though it may do no work."""


@dataclass(frozen=True)
class Capped:
    """A limit on what is bought or drawn: ``times`` a column's total, and what is shared, are at most ``bound``."""

    limit: str
    column: str
    times: float
    shared: float
    bound: float


@dataclass(frozen=True)
class Problem:
    """Candidates that were kept, by position; ``rows`` leads back to the table.

    ``score`` is always maximised: ln goodput, minus cost per year, or ln (goodput hours per cost).  Where zones are
    coupled (states of the environment, shared crews or shelf), ``outcome`` is exact and the terms of one zone each
    that the MILP adds are over-estimates: a tilted Hölder bound, or each zone alone with all the crews and trays.
    """

    candidates: Candidates
    schemes: list[RecoveryScheme]
    rows: NDArray[np.int64]
    group: NDArray[np.int64]
    members: tuple[int, ...]
    table: pd.DataFrame
    tilt: Tilt | None = None
    tight: bool = True
    """Whether shared crews get a bound for each candidate; see ``ZoneTerms``."""

    @property
    def goal(self) -> Goal:
        """What is optimised."""
        return GOALS[self.candidates.instance.objective.kind]

    @property
    def unit(self) -> str:
        """The objective's unit."""
        return self.candidates.instance.objective_unit

    def column(self, name: str) -> Array:
        """A column of the kept candidates."""
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, Array]:
        columns = {str(name): np.asarray(values, dtype=np.float64) for name, values in self.table.items()}
        own = 0.0 if self.terms.pooled else 1.0  # what zones share is no zone's own, and within its limit by its level
        return columns | {
            name: own * np.nan_to_num(columns[column])
            for name, column in (("own_crews", "crews"), ("own_shelf", "shelf_trays"))
        }

    @cached_property
    def terms(self) -> ZoneTerms:
        """What couples the zones, or does not."""
        return ZoneTerms(
            self.candidates, self.schemes, self.rows, self.group, self.members, self.table, self.tilt, self.tight
        )

    def tilted(self, outcome: Outcome) -> Problem:
        """The problem with its over-estimates made exact at a plan, as far as they can be."""
        return replace(self, tilt=self.terms.tilted(outcome.counts, outcome.option, outcome.rate).tilt)

    @cached_property
    def _shared_costs(self) -> tuple[float, float]:
        return shared_costs(self.candidates.instance)

    @property
    def shared_capital(self) -> float:
        """Capital of the shelf that all zones share."""
        return self._shared_costs[0]

    @cached_property
    def option_cost(self) -> tuple[float, ...]:
        """Yearly cost of each checkpoint plan, with that of the crews that all zones share."""
        return tuple(plan.yearly_cost + self._shared_costs[1] for plan in self.candidates.instance.checkpoint_plans)

    @cached_property
    def option_total(self) -> tuple[float, ...]:
        """Cost per year of each checkpoint plan with all that zones share, their shelf spread over its years."""
        spread = self.shared_capital / (self.candidates.instance.economics.amortisation / HOURS_PER_YEAR)
        return tuple(cost + spread for cost in self.option_cost)

    @cached_property
    def blocked_yearly_cost(self) -> Array:
        """Yearly cost of each candidate if the job were always blocked."""
        price = energy_cost_per_kw_year(self.candidates.instance)
        return self.column("plan_cost_per_year") + (price * self.column("blocked_power_kw") if price else 0.0)

    @cached_property
    def energy_cost(self) -> Array:
        """What always running adds to each candidate's yearly cost."""
        price = energy_cost_per_kw_year(self.candidates.instance)
        if price == 0:
            return np.zeros(len(self.rows))
        placed = self.column("placed_gpus") / self.column("working_gpus")  # with groups that shrink, those that run
        return price * placed * (self.column("it_power_kw") - self.column("blocked_power_kw"))

    @property
    def minimised(self) -> tuple[Array, Array, tuple[float, ...]]:
        """What goal ``cost`` adds up: of each candidate always, and while the job runs; of each checkpoint plan."""
        return self.spread_capital + self.blocked_yearly_cost, self.energy_cost, self.option_total

    @property
    def size(self) -> float | None:
        """What counts as one of what is minimised; None: the least that any choice can have."""
        return None

    @cached_property
    def spread_capital(self) -> Array:
        """Capital of each candidate per year of its amortisation; NaN where no price is given."""
        return self.column("capital") / (self.candidates.instance.economics.amortisation / HOURS_PER_YEAR)

    def extremes(self, values: Array) -> tuple[float, float]:
        """The least and the greatest total of a per-candidate number over all choices."""
        low = high = 0.0
        for z, number in enumerate(self.members):
            here = values[self.group == z]
            low, high = low + number * float(here.min()), high + number * float(here.max())
        return low, high

    @cached_property
    def capped(self) -> tuple[Capped, ...]:
        """The limits that the instance states on what is bought and drawn."""
        limits = self.candidates.instance.limits
        rows = (
            ("capital", "capital", 1.0, self.shared_capital, limits.capital),
            ("crews", "own_crews", 1.0, 0.0, limits.crews),
            ("shelf_trays", "own_shelf", 1.0, 0.0, limits.shelf_trays),
            ("it_power", "it_power_kw", 1.0, 0.0, limits.it_power),
            ("site_power", "it_power_kw", self.candidates.instance.power.pue, 0.0, limits.site_power),
            ("floor", "racks", 1.0, 0.0, limits.floor),
            ("working_gpus.maximum", "working_gpus", 1.0, 0.0, limits.working_gpus.maximum),
        )
        return tuple(
            Capped(limit, column, times, shared, float(bound))
            for limit, column, times, shared, bound in rows
            if bound is not None
        )

    def outcome(self, counts: Mapping[int, int], option: int) -> Outcome:
        """Score a choice exactly and check every limit."""
        chosen = np.array(list(counts), dtype=np.int64)
        number = np.array(list(counts.values()), dtype=float)

        def total(values: Array) -> float:
            return float(number @ values[chosen])

        log_up = self.terms.log_up_of(counts)
        rate = self.terms.site[1] + total(self.column("rate_per_h"))
        working, placed = total(self.column("working_gpus")), total(self.column("placed_gpus"))
        scale = float(self.column("log_scale")[chosen].min())
        scheme = self.schemes[option]
        if self.terms.environment.mixed:
            log_eta = log_eta_by_state(scheme, rate, self.terms.environment.multipliers)
            useful = float(log_together(self.terms.environment, number @ self.terms.log_states[chosen] + log_eta))
        else:
            useful = log_up + float(scheme.log_eta(np.array(rate)))
        stops = self.terms.environment.stops + total(self.column("planned_stops"))
        log_goodput = (log(placed) if placed > 0 else -inf) + scale + useful - stops
        yearly = total(self.blocked_yearly_cost) + exp(log_up) * total(self.energy_cost) + self.option_cost[option]
        spread = total(self.spread_capital) + self.option_total[option] - self.option_cost[option]
        cost = None if np.isnan(spread) else spread + yearly
        within = self._within_limits(total, working, log_up, yearly, log_goodput)
        return Outcome(
            counts=dict(counts),
            option=option,
            score=self._score(log_goodput, cost),
            feasible=within and log_goodput > -inf,
            goodput=exp(log_goodput),
            cost=cost,
            working_gpus=working,
            placed_gpus=placed,
            rate=rate,
            log_up=log_up,
            within_limits=within,
        )

    def _score(self, log_goodput: float, cost: float | None) -> float:
        if self.goal == "value":
            return log_goodput
        assert cost is not None
        return -cost if self.goal == "cost" else log_goodput + log(HOURS_PER_YEAR / cost)

    def uniform(self) -> Outcome | None:
        """The best plan that gives all zones of the only zone class the same choice, or None."""
        return self.tried_uniform()[0]

    def tried_uniform(self) -> tuple[Outcome | None, bool]:
        """The best plan that gives all zones of the only zone class the same choice, and whether all were tried.

        Candidates are tried in the order of their scores, the first that meets every limit is the best.
        """
        if len(self.members) != 1:
            return None, False
        number = float(self.members[0])
        environment = self.terms.environment
        together = number * self.terms.log_states
        log_up = self.terms.site[0] + together[:, 0] if environment.single else log_together(environment, together)
        rate = self.terms.site[1] + number * self.column("rate_per_h")
        placed = self.column("placed_gpus")
        with np.errstate(divide="ignore"):
            log_size = np.log(number * placed) + self.column("log_scale")
        log_size = log_size - environment.stops - number * self.column("planned_stops")
        running = np.exp(log_up)
        if self.goal == "cost" and self.terms.pooled:
            running = running * 0.0  # the log_up here are over-estimates: for a bound on the cost, energy is left out
        yearly = number * (self.blocked_yearly_cost + running * self.energy_cost)
        cost = number * self.spread_capital + yearly
        scores = []
        for scheme, option_cost in zip(self.schemes, self.option_total, strict=True):
            if environment.mixed:
                rates, place = np.unique(rate, return_inverse=True)
                log_eta = log_eta_by_state(scheme, rates, environment.multipliers)[place]
                log_goodput = log_size + log_together(environment, together + log_eta)
            else:
                log_goodput = log_size + log_up + scheme.log_eta(rate)
            whole = cost + option_cost
            if self.goal == "value":
                scores.append(log_goodput)
            else:
                scores.append(-whole if self.goal == "cost" else log_goodput + np.log(HOURS_PER_YEAR / whole))
        allowed = np.tile(self._alike_within_limits(number), len(scores))
        values = np.where(allowed, np.concatenate(scores), -np.inf)
        order = np.argsort(-values, kind="stable")[: min(MOST_TRIES, int(allowed.sum()))]
        every = len(order) == int(allowed.sum())
        best: Outcome | None = None
        for place in order:
            option, candidate = divmod(int(place), len(self.rows))
            if best is not None and best.score >= values[place]:
                return best, True  # where crews are shared the values are bounds: the first feasible need not be best
            outcome = self.outcome({candidate: self.members[0]}, option)
            if outcome.feasible and (best is None or outcome.score > best.score):
                best = outcome
                if not self.terms.pooled:
                    return best, True
        return best, every

    def _alike_within_limits(self, number: float) -> NDArray[np.bool_]:
        """Which candidates, taken ``number`` times, meet the limits on what is bought and drawn, rounding aside."""
        limits = self.candidates.instance.limits
        allowed = np.ones(len(self.rows), dtype=bool)
        for cap in self.capped:
            allowed &= cap.times * number * self.column(cap.column) + cap.shared <= cap.bound * (1 + 1e-6)
        if limits.working_gpus.minimum is not None:
            allowed &= number * self.column("working_gpus") >= limits.working_gpus.minimum
        return allowed

    def _within_limits(
        self, total: Callable[[Array], float], working: float, log_up: float, yearly: float, log_goodput: float
    ) -> bool:
        limits, target = self.candidates.instance.limits, self.candidates.instance.objective.goodput_target

        def at_most(name: str, value: float, bound: float | None) -> bool:
            return bound is None or value <= bound + rounding(name, bound)

        def at_least(name: str, value: float, bound: float | None) -> bool:
            return bound is None or value >= bound - rounding(name, bound)

        return (
            all(at_most(c.limit, c.times * total(self.column(c.column)) + c.shared, c.bound) for c in self.capped)
            and at_most("yearly_cost", yearly, limits.yearly_cost)
            and at_least("working_gpus.minimum", working, limits.working_gpus.minimum)
            and (
                limits.availability is None
                or -expm1(log_up) <= 1.0 - limits.availability + rounding("availability", limits.availability)
            )
            and at_least("goodput_target", exp(log_goodput), target)
        )

    def objective_value(self, score: float) -> float:
        """The objective in its own unit, from a score."""
        return -score if self.goal == "cost" else exp(score)

    def gap(self, score: float, bound: float) -> float:
        """|bound − value| / |value| in the objective's own unit, from a score and a bound on scores."""
        if self.goal == "cost":
            return 0.0 if bound == score else abs(bound - score) / abs(score) if score else float("inf")
        return abs(expm1(bound - score))

    def subset(self, keep: NDArray[np.int64]) -> Problem:
        """The problem with only the candidates at these positions, which must be increasing."""
        table = self.table.iloc[keep].reset_index(drop=True)
        return replace(self, rows=self.rows[keep], group=self.group[keep], table=table)

    def decisions(self, counts: Mapping[int, int], option: int) -> Decisions:
        """A choice as the decisions of a plan."""
        zones = tuple(self.candidates.choice(row, count) for row, count in sorted(self.by_row(counts).items()))
        plan = self.candidates.instance.checkpoint_plans[option].name
        return Decisions.model_construct(zones=zones, checkpoint_plan=plan)

    def check_load(self) -> None:
        """Raises OverloadedError where zones share crews that are so overloaded that no law of the units is held."""
        self.terms.log_states  # noqa: B018 - found on the way, and kept

    def by_row(self, counts: Mapping[int, int]) -> dict[int, int]:
        """Counts by row of the table instead of position."""
        return {int(self.rows[c]): count for c, count in counts.items()}


def build_problem(
    candidates: Candidates, dominated_by: pd.Series | None, schemes: list[RecoveryScheme], *, tight: bool = True
) -> Problem:
    """The problem of the candidates that nothing dominates, or of all (None); every zone class must have one."""
    rows, table = np.arange(len(candidates.table)), candidates.table
    if dominated_by is not None:
        rows = np.flatnonzero((dominated_by < 0).to_numpy())
        table = table.iloc[rows].reset_index(drop=True)
    members = tuple(zone.count for zone in candidates.instance.zones)
    return Problem(candidates, schemes, rows, table["zone"].to_numpy(dtype=np.int64), members, table, tight=tight)
