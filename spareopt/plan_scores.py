"""Exact scores of many plans at once, from the totals of their zones; the arithmetic of Problem.outcome, vectorised.

Where zones share crews or a shelf the availability of a plan is no sum over its zones: its scores here are bounds, from
an availability that is at least the plan's, until that of the plan itself is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spareopt.coupling import POOLED_KEYS
from spareopt.environment import log_together
from spareopt.limits import rounding
from spareopt.numerics.holder import log_eta_by_state
from spareopt.problem import Problem
from spareopt.units import HOURS_PER_YEAR

Array = NDArray[np.float64]
Places = NDArray[np.int64]

PARTS = (
    "rate_per_h", "working_gpus", "placed_gpus", "planned_stops", "capital", "it_power_kw", "racks", "own_crews",
    "own_shelf",
)  # fmt: skip
MONEY = ("blocked_yearly_cost", "energy_cost", "spread_capital")


class PlanScores:
    """The scores of plans of a problem, whose candidates are named by their position."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        names = [*PARTS, *MONEY]
        self._place = {name: i for i, name in enumerate(names)}
        money = [getattr(problem, name) for name in MONEY]
        self._columns: list[Array] = [*(problem.column(name) for name in PARTS), *money, *problem.terms.log_states.T]
        self._scale = problem.column("log_scale")
        self._log_up: dict[tuple[tuple[object, ...], ...], float] = {}

    @cached_property
    def _parts(self) -> Array:
        return np.column_stack(self._columns)

    @property
    def bounds_only(self) -> bool:
        """Whether ``scores`` are bounds until the availability is given."""
        return self.problem.terms.pooled

    def start(self) -> tuple[Array, float]:
        """The totals and the scale of no zones at all."""
        return np.zeros(len(self._columns)), np.inf

    def added(self, totals: Array, scale: float, rows: Places, zones: int) -> tuple[Array, Array]:
        """The totals (a row each) and scales of a part of a plan with ``zones`` zones more of each candidate."""
        return totals + zones * self._parts[rows], np.minimum(scale, self._scale[rows])

    def alone(self, rows: Places, zones: int) -> tuple[Places, Array, Array]:
        """Those of the candidates that fit into the limits on what is bought and drawn as the only one of all zones.

        Returns them with the totals (a row each) and scales of such plans.
        """
        fits = self._bought_within(lambda name: zones * self._columns[self._place[name]][rows])
        rows = rows if fits.all() else rows[fits]
        return rows, np.column_stack([zones * column[rows] for column in self._columns]), self._scale[rows]

    def part(self, totals: Array, name: str) -> Array:
        """One of the totals."""
        return np.asarray(totals[..., self._place[name]])

    def scores(self, totals: Array, scale: Array, option: int, log_up: Array | None = None) -> Array:
        """The score of each plan, −∞ where it breaks a limit; ``log_up``: ln A of each, where zones share crews."""
        return self.by_option(totals, scale, [option], log_up)[0]

    def by_option(
        self, totals: Array, scale: Array, options: Sequence[int], log_up: Array | None = None
    ) -> list[Array]:
        """As ``scores``, for several checkpoint plans: what they have in common is worked out once."""
        problem = self.problem

        def part(name: str) -> Array:
            return self.part(totals, name)

        environment = problem.terms.environment
        states = totals[:, len(self._place) :]
        optimistic = self.bounds_only and log_up is None
        if log_up is None:
            start = problem.terms.site[0]
            log_up = start + states[:, 0] if environment.single else log_together(environment, states)
        rates, place = np.unique(problem.terms.site[1] + part("rate_per_h"), return_inverse=True)
        with np.errstate(divide="ignore"):
            log_size = np.log(part("placed_gpus"))
        # energy rises with the time the job runs: what is a bound on it from above makes no bound on the cost
        running = np.exp(log_up)
        least = 0.0 * running if optimistic else running
        paid = part("blocked_yearly_cost") + least * part("energy_cost")
        bought = self._bought_within(part)
        found = []
        for option in options:
            scheme = problem.schemes[option]
            if environment.mixed:
                log_eta = log_eta_by_state(scheme, rates, environment.multipliers)[place]
                useful = log_together(environment, states + log_eta)
            else:
                useful = log_up + scheme.log_eta(rates)[place]
            log_goodput = log_size + scale + useful - environment.stops - part("planned_stops")
            yearly = paid + problem.option_cost[option]
            allowed = bought & self._within_limits(log_up, yearly, log_goodput) & (log_goodput > -np.inf)
            if problem.goal == "value":
                found.append(np.where(allowed, log_goodput, -np.inf))
                continue
            spread = part("spread_capital") + problem.option_total[option] - problem.option_cost[option]
            if problem.goal == "cost":
                found.append(np.where(allowed, -(spread + yearly), -np.inf))
                continue
            # goodput per cost rises with A although energy does, so that the bound on A makes one of the ratio
            cost = spread + part("blocked_yearly_cost") + running * part("energy_cost") + problem.option_cost[option]
            found.append(np.where(allowed, log_goodput + np.log(HOURS_PER_YEAR / cost), -np.inf))
        return found

    def _within_limits(self, log_up: Array, yearly: Array, log_goodput: Array) -> NDArray[np.bool_]:
        """Which plans meet the limits on what a plan costs and achieves."""
        instance = self.problem.candidates.instance
        limits, target = instance.limits, instance.objective.goodput_target
        allowed = np.ones(len(log_up), dtype=bool)
        if limits.yearly_cost is not None:
            allowed &= yearly <= limits.yearly_cost + rounding("yearly_cost", limits.yearly_cost)
        if limits.availability is not None:
            allowed &= -np.expm1(log_up) <= 1.0 - limits.availability + rounding("availability", limits.availability)
        if target is not None:
            allowed &= np.exp(log_goodput) >= target - rounding("goodput_target", target)
        return allowed

    def _bought_within(self, total: Callable[[str], Array]) -> NDArray[np.bool_]:
        """Which plans meet the limits on what is bought and drawn, from the totals by their names."""
        working = total("working_gpus")
        allowed = np.ones(len(working), dtype=bool)
        for cap in self.problem.capped:
            allowed &= cap.times * total(cap.column) + cap.shared <= cap.bound + rounding(cap.limit, cap.bound)
        fewest = self.problem.candidates.instance.limits.working_gpus.minimum
        if fewest is not None:
            allowed &= working >= fewest - rounding("working_gpus.minimum", fewest)
        return allowed

    @cached_property
    def _keys(self) -> list[tuple[object, ...]]:
        return list(self.problem.table[POOLED_KEYS].itertuples(index=False, name=None))

    def exact(self, counts: Counter[int], option: int) -> float:
        """The exact score of one plan, −∞ where it breaks a limit; candidates that the crews see alike are one."""
        order = sorted(counts)
        totals, scale = self.start()
        for candidate in order:
            rows, scales = self.added(totals, scale, np.array([candidate]), counts[candidate])
            totals, scale = rows[0], float(scales[0])
        log_up = None
        if self.bounds_only:
            number: Counter[tuple[object, ...]] = Counter()
            for candidate in order:
                number[self._keys[candidate]] += counts[candidate]
            key = tuple(sorted((*seen, count) for seen, count in number.items()))
            if key not in self._log_up:
                self._log_up[key] = self.problem.terms.log_up_of(counts)
            log_up = np.array([self._log_up[key]])
        return float(self.scores(totals[None, :], np.array([scale]), option, log_up)[0])


def counts_of(choice: Iterable[tuple[int, int]]) -> Counter[int]:
    """How often each candidate is taken, from pairs of a candidate and a number of zones."""
    counts: Counter[int] = Counter()
    for candidate, zones in choice:
        counts[candidate] += zones
    return counts
