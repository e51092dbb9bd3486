"""The numbers of one optimisation: kept candidates as arrays, and the exact outcome of any choice among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, inf, log
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.candidates import Candidates, energy_cost_per_kw_year, site_terms
from spareopt.limits import rounding
from spareopt.recovery import Checkpointing
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
    goodput: float
    cost: float | None
    working_gpus: float
    rate: float
    log_up: float


@dataclass(frozen=True)
class Problem:
    """Candidates that were kept, by position; ``rows`` leads back to the table.

    ``score`` is always maximised: ln goodput, minus cost per year, or ln (goodput hours per cost).
    """

    candidates: Candidates
    schemes: list[Checkpointing]
    rows: NDArray[np.int64]
    group: NDArray[np.int64]
    members: tuple[int, ...]
    table: pd.DataFrame

    @property
    def goal(self) -> Goal:
        """What is optimised."""
        return GOALS[self.candidates.instance.objective.kind]

    @property
    def unit(self) -> str:
        """The objective's unit."""
        currency = self.candidates.instance.currency
        return {
            "value": "baseline GPUs",
            "cost": f"{currency} per year",
            "ratio": f"baseline GPU-hours per {currency}",
        }[self.goal]

    def column(self, name: str) -> Array:
        """A column of the kept candidates."""
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, Array]:
        return {str(name): np.asarray(values, dtype=np.float64) for name, values in self.table.items()}

    @cached_property
    def log_up(self) -> Array:
        """ln A of each candidate's zone."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log1p(-self.column("unavailability")), dtype=np.float64)

    @cached_property
    def site(self) -> tuple[float, float]:
        """ln A and the interruption rate of what all zones share."""
        down, rate = site_terms(self.candidates.instance)
        return float(np.log1p(-down)), rate

    @cached_property
    def option_cost(self) -> tuple[float, ...]:
        """Yearly cost of each checkpoint plan."""
        return tuple(plan.yearly_cost for plan in self.candidates.instance.checkpoint_plans)

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
        return price * (self.column("it_power_kw") - self.column("blocked_power_kw"))

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

    def outcome(self, counts: Mapping[int, int], option: int) -> Outcome:
        """Score a choice exactly and check every limit."""
        chosen = np.array(list(counts), dtype=np.int64)
        number = np.array(list(counts.values()), dtype=float)

        def total(values: Array) -> float:
            return float(number @ values[chosen])

        log_up = self.site[0] + total(self.log_up)
        rate = self.site[1] + total(self.column("rate_per_h"))
        working = total(self.column("working_gpus"))
        scale = float(self.column("log_scale")[chosen].min())
        log_goodput = log(working) + log_up + scale + float(self.schemes[option].log_eta(np.array(rate)))
        yearly = total(self.blocked_yearly_cost) + exp(log_up) * total(self.energy_cost) + self.option_cost[option]
        spread = total(self.spread_capital)
        cost = None if np.isnan(spread) else spread + yearly
        feasible = log_goodput > -inf and self._within_limits(total, working, log_up, yearly, log_goodput)
        if self.goal == "value":
            score = log_goodput
        else:
            assert cost is not None
            score = -cost if self.goal == "cost" else log_goodput + log(HOURS_PER_YEAR / cost)
        return Outcome(dict(counts), option, score, feasible, exp(log_goodput), cost, working, rate, log_up)

    def uniform(self) -> Outcome | None:
        """The best plan that gives all zones of the only zone class the same choice, or None.

        Candidates are tried in the order of their scores, the first that meets every limit is the best.
        """
        if len(self.members) != 1:
            return None
        number = float(self.members[0])
        log_up = self.site[0] + number * self.log_up
        with np.errstate(divide="ignore"):
            log_size = np.log(number * self.column("working_gpus")) + log_up + self.column("log_scale")
        rate = self.site[1] + number * self.column("rate_per_h")
        yearly = number * (self.blocked_yearly_cost + np.exp(log_up) * self.energy_cost)
        cost = number * self.spread_capital + yearly
        scores = []
        for scheme, option_cost in zip(self.schemes, self.option_cost, strict=True):
            log_goodput = log_size + scheme.log_eta(rate)
            whole = cost + option_cost
            if self.goal == "value":
                scores.append(log_goodput)
            else:
                scores.append(-whole if self.goal == "cost" else log_goodput + np.log(HOURS_PER_YEAR / whole))
        allowed = np.tile(self._alike_within_limits(number), len(scores))
        values = np.where(allowed, np.concatenate(scores), -np.inf)
        order = np.argsort(-values, kind="stable")[: min(MOST_TRIES, int(allowed.sum()))]
        for place in order:
            option, candidate = divmod(int(place), len(self.rows))
            outcome = self.outcome({candidate: self.members[0]}, option)
            if outcome.feasible:
                return outcome
        return None

    def _alike_within_limits(self, number: float) -> NDArray[np.bool_]:
        """Which candidates, taken ``number`` times, meet the limits on what is bought and drawn, rounding aside."""
        limits = self.candidates.instance.limits
        pue = self.candidates.instance.power.pue
        rows = (
            ("capital", limits.capital),
            ("it_power_kw", limits.it_power),
            ("it_power_kw", None if limits.site_power is None else limits.site_power / pue),
            ("racks", limits.floor),
            ("working_gpus", limits.working_gpus.maximum),
        )
        allowed = np.ones(len(self.rows), dtype=bool)
        for column, bound in rows:
            if bound is not None:
                allowed &= number * self.column(column) <= bound * (1 + 1e-6)
        if limits.working_gpus.minimum is not None:
            allowed &= number * self.column("working_gpus") >= limits.working_gpus.minimum
        return allowed

    def _within_limits(self, total: object, working: float, log_up: float, yearly: float, log_goodput: float) -> bool:
        instance = self.candidates.instance
        limits, use = instance.limits, total
        assert callable(use)

        def at_most(name: str, value: float, bound: float | None) -> bool:
            return bound is None or value <= bound + rounding(name, bound)

        def at_least(name: str, value: float, bound: float | None) -> bool:
            return bound is None or value >= bound - rounding(name, bound)

        return (
            (limits.capital is None or at_most("capital", use(self.column("capital")), limits.capital))
            and at_most("yearly_cost", yearly, limits.yearly_cost)
            and (limits.it_power is None or at_most("it_power", use(self.column("it_power_kw")), limits.it_power))
            and (
                limits.site_power is None
                or at_most("site_power", instance.power.pue * use(self.column("it_power_kw")), limits.site_power)
            )
            and at_most("floor", use(self.column("racks")), limits.floor)
            and at_least("working_gpus.minimum", working, limits.working_gpus.minimum)
            and at_most("working_gpus.maximum", working, limits.working_gpus.maximum)
            and (
                limits.availability is None
                or -expm1(log_up) <= 1.0 - limits.availability + rounding("availability", limits.availability)
            )
            and at_least("goodput_target", exp(log_goodput), instance.objective.goodput_target)
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
        return Problem(self.candidates, self.schemes, self.rows[keep], self.group[keep], self.members, table)

    def by_row(self, counts: Mapping[int, int]) -> dict[int, int]:
        """Counts by row of the table instead of position."""
        return {int(self.rows[c]): count for c, count in counts.items()}


def build_problem(candidates: Candidates, dominated_by: pd.Series, schemes: list[Checkpointing]) -> Problem:
    """The problem of the candidates that nothing dominates; every zone class must have one."""
    rows = np.flatnonzero((dominated_by < 0).to_numpy())
    table = candidates.table.iloc[rows].reset_index(drop=True)
    members = tuple(zone.count for zone in candidates.instance.zones)
    return Problem(candidates, schemes, rows, table["zone"].to_numpy(dtype=np.int64), members, table)
