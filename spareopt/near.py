"""Near-optimal plans: all plans within a share of the best, and the best plan with each value of each decision.

Optima of spares are flat: many plans are as good as the best for every purpose, and what separates them is not the
objective.  The plans are enumerated, not sampled (``spareopt.enumeration``).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import expm1, inf, log1p

import numpy as np
from numpy.typing import NDArray

from spareopt.comparison import objective_value
from spareopt.decided import CHECKPOINT_PLAN, Value, in_plan, offered_values, values_of
from spareopt.decisions import DECISION_FIELDS, Decisions
from spareopt.enumerated import EnumeratedLevel, Steps, best_of_levels, enumerated_levels
from spareopt.enumeration import Best, Found, OutOfTimeError, Shortlist
from spareopt.errors import Fault, InfeasibleError, InputError, LimitError, SolverError
from spareopt.evaluation import evaluate
from spareopt.infeasible import why_infeasible
from spareopt.instance import Instance
from spareopt.near_result import GRID, BestWith, DecisionRange, NearOptimal, NearPlan
from spareopt.optimise import AGREEMENT
from spareopt.plan import Plan
from spareopt.problem import Problem
from spareopt.schemes import Model
from spareopt.search import OnProgress
from spareopt.units import parse_share

DEFAULT_WITHIN = 0.001
DEFAULT_MOST = 20
DEFAULT_EFFORT = 12_000
"""Steps of the walks through plans: part plans that are continued, over all searches of a run."""
FLOORS = (0.01, 0.1)  # how far from the best a plan with a value is looked for first, before any plan at all


@dataclass
class _Best:
    """The best plan of all levels."""

    level: EnumeratedLevel
    found: Found


def near_optimal(
    instance: Instance,
    within: float | str = DEFAULT_WITHIN,
    *,
    alike: bool = True,
    most: int = DEFAULT_MOST,
    plan: Plan | None = None,
    time_limit: float | None = None,
    effort: int | None = DEFAULT_EFFORT,
    model: Model = "exact",
    on_progress: OnProgress | None = None,
) -> NearOptimal:
    """All plans within a share of the best (0.001 or "0.1 %"), and the best plan with each value of each decision.

    ``alike``: plans that build all zones of a class alike, all of them counted, ``most`` of them listed, best first.
    Else each zone may be built its own way: such plans are many, and once ``most`` are found the rest is not counted;
    ``plan``, the optimum if known, helps to find them.  Ranges of decisions are exact in both cases.  ``time_limit`` in
    seconds.  ``effort`` is the most steps (part plans continued) of all searches together, None for no end; where it or
    the time ends a search, what was found is returned and ``in_time`` is false.  Raises InfeasibleError, LimitError
    where no plan was found in time, InputError where the best plan costs nothing, ValueError for a bad share or number.
    """
    share = parse_share(within)
    if not 0 <= share < 1:
        raise ValueError(f"within: expected a share from 0 to below 1 such as 0.001 or '0.1 %', got {within!r}")
    if most < 1:
        raise ValueError(f"most: expected at least 1, got {most}")
    clock = Steps(time_limit, on_progress or (lambda _: None), effort)
    levels = enumerated_levels(instance, alike, model, clock)
    clock.share(3)
    first = best_of_levels(levels, clock, None if plan is None else plan.decisions)
    if first.level is None or first.found is None:
        if first.proven:
            raise InfeasibleError(why_infeasible(levels[0].problem.candidates))
        ended = "effort" if time_limit is None or clock.remaining() else f"time limit of {time_limit:g} s"
        raise LimitError(f"the {ended} was used up before any plan was found")
    best = _Best(first.level, first.found)
    if best.level.problem.objective_value(best.found.score) == 0:
        message = "the best plan costs nothing, so none is within a share of it; state rack_price"
        raise InputError(instance.name, [Fault("objective.kind", message)])
    floor = _floor(levels[0].problem, best.found.score, share)
    clock.share(2)
    listed, number, in_time, best = _list(levels, best, floor, share, most, alike, clock)
    floor = _floor(levels[0].problem, best.found.score, share)
    profile = _Profile(levels, instance, best, floor, alike, clock)
    rows = profile.rows()
    grid = profile.grid() if alike else []
    best_decisions = best.level.decisions(best.found)
    plans = tuple(_near_plan(level, found, instance, model, best) for level, found in listed)
    return NearOptimal(
        instance=instance.name,
        objective=instance.objective.kind,
        alike=alike,
        within=share,
        best_value=best.level.problem.objective_value(best.found.score),
        plans=plans,
        number=number,
        complete=in_time and number == len(plans),
        in_time=in_time and profile.in_time,
        ranges=tuple(_ranges(instance, rows, best_decisions)),
        best_with=tuple(rows),
        grid=tuple(grid),
    )


def _floor(problem: Problem, score: float, share: float) -> float:
    """The least score within a share of the best one."""
    return score * (1.0 + share) if problem.goal == "cost" else score + log1p(-share)


def _change(problem: Problem, score: float, best: float) -> float:
    """The relative change of the objective against the best."""
    return score / best - 1.0 if problem.goal == "cost" else expm1(score - best)


def _list(
    levels: list[EnumeratedLevel], best: _Best, floor: float, share: float, most: int, alike: bool, clock: Steps
) -> tuple[list[tuple[EnumeratedLevel, Found]], int | None, bool, _Best]:
    """The best plans that reach the floor with their levels; how many reach it; whether there was time; the best."""
    clock.phase = "listing plans"
    listed: list[tuple[EnumeratedLevel, Found]] = []
    number, more, in_time = 0, False, True
    for level in sorted(levels, key=lambda level: level is not best.level):
        shortlist = Shortlist(floor, most, counting=alike)
        start = best.found if level is best.level else None
        try:
            level.enumeration.at_least(shortlist, start)
        except OutOfTimeError:
            in_time = False
        else:
            if alike:
                level.used, level.options = shortlist.used, shortlist.options
        found = shortlist.plans()
        listed += [(level, plan) for plan in found]
        number, more = number + shortlist.reached, more or shortlist.more
    listed.sort(key=lambda pair: -pair[1].score)
    if listed and listed[0][1].score > best.found.score:  # only where the time was used up before the best was found
        best = _Best(*listed[0])
        for level in levels:  # what was listed is within the share of a lower best
            level.used = level.options = None
    listed = listed[:most] if listed or in_time else [(best.level, best.found)]
    counted = in_time and (alike or not (more or number > len(listed)))
    return listed, number if counted else None, in_time, best


class _Profile:
    """The best plan with each value of each decision."""

    def __init__(
        self, levels: list[EnumeratedLevel], instance: Instance, best: _Best, floor: float, alike: bool, clock: Steps
    ) -> None:
        self.levels, self.instance, self.best, self.floor, self.alike = levels, instance, best, floor, alike
        self.clock, self.in_time = clock, True
        self._places: dict[tuple[int, str], NDArray[np.int64]] = {}

    def rows(self) -> list[BestWith]:
        """A row for each value of each decision that leaves a choice."""
        asked: list[tuple[int | None, dict[str, Value]]] = []
        for z, zone in enumerate(self.instance.zones):
            for decision in DECISION_FIELDS:
                values = offered_values(self.instance, decision, zone.name)
                if len(values) > 1:
                    asked += [(z, {decision: value}) for value in values]
        plans = offered_values(self.instance, CHECKPOINT_PLAN)
        if len(plans) > 1:
            asked += [(None, {CHECKPOINT_PLAN: name}) for name in plans]
        return self._all(asked, "decision values", 2 if self.alike else 1)

    def grid(self) -> list[BestWith]:
        """A row for each pair of I and R, where both leave a choice."""
        asked: list[tuple[int | None, dict[str, Value]]] = []
        for z, zone in enumerate(self.instance.zones):
            intra, inter = (offered_values(self.instance, decision, zone.name) for decision in GRID)
            if len(intra) > 1 and len(inter) > 1:
                asked += [(z, dict(zip(GRID, pair, strict=True))) for pair in product(intra, inter)]
        return self._all(asked, "pairs of I and R", 1)

    def _all(self, asked: list[tuple[int | None, dict[str, Value]]], kind: str, parts: int) -> list[BestWith]:
        """The rows asked for; of the steps left they take one part of so many."""
        rows = []
        for place, (z, decisions) in enumerate(asked):
            self.clock.phase = f"profile {place + 1:,} of {len(asked):,} {kind}"
            self.clock.share(parts * (len(asked) - place))
            rows.append(self._with(z, decisions))
        return rows

    def _with(self, z: int | None, decisions: dict[str, Value]) -> BestWith:
        """The best plan with these decisions: of all zones of the class where they are alike, else of at least one.

        Where each zone is built its own way only plans within the share asked are looked for.
        """
        zone = "" if z is None else self.instance.zones[z].name
        empty = BestWith(zone=zone, decisions=decisions, value=None, change=None, within=None, plan=None)
        slack = 1e-12 * max(1.0, abs(self.floor))
        best, bound, in_time = self._searched(z, decisions, self.floor - slack)
        self.in_time &= in_time
        within = False if in_time or bound <= self.floor - slack else None
        to_value = self.levels[0].problem.objective_value
        # where zones differ in kind only plans within the share were looked for: a bound says nothing of the others
        shown = to_value(bound) if -inf < bound < inf and (self.alike or best is not None) else None
        if best is None:
            return empty.model_copy(update={"within": within, "bound": shown, "proven": in_time})
        level, found = best
        return BestWith(
            zone=zone,
            decisions=decisions,
            value=to_value(found.score),
            bound=shown,
            change=_change(level.problem, found.score, self.best.found.score),
            within=True if found.score >= self.floor - slack else within,
            plan=level.decisions(found),
            proven=in_time,
        )

    def _searched(
        self, z: int | None, decisions: dict[str, Value], floor: float
    ) -> tuple[tuple[EnumeratedLevel, Found] | None, float, bool]:
        """The best plan with decisions, a bound on all, and whether it is proven.

        A plan not far from the best is looked for first: where there is one, bounds leave few candidates to look at.
        """
        ours, listed = self.best.found.score, self._listed(z, decisions)
        if listed:
            top = max(listed, key=lambda pair: pair[1].score)
            return top, top[1].score, True
        floors = [floor] if listed is None else []
        if self.alike:
            lower = [_floor(self.best.level.problem, ours, share) for share in FLOORS]
            floors += [*(other for other in lower if other < floor), -inf]
        above_all = inf if listed is None else floor  # no plan with the decisions scores more
        best: tuple[EnumeratedLevel, Found] | None = None
        bound, in_time = inf, False
        for level_floor in floors:
            if self.clock.remaining() == 0:
                in_time = False
                break
            bound, in_time = -inf, True
            for level in self.levels:
                start = self.best.found if level is self.best.level else None
                above = level_floor if best is None else best[1].score
                one = self._in_level(level, z, decisions, above, start)
                in_time &= one.proven
                bound = max(bound, one.bound)
                if one.found is not None:
                    best = level, one.found
            if best is not None:
                break
            if in_time:
                above_all = min(above_all, level_floor)
        if best is None:
            return None, min(bound, above_all), in_time
        return best, best[1].score if in_time else max(min(bound, above_all), best[1].score), in_time

    def _listed(self, z: int | None, decisions: dict[str, Value]) -> list[tuple[EnumeratedLevel, Found]] | None:
        """Plans with the decisions among all those within the share, the best of them too; None without such a list."""
        result: list[tuple[EnumeratedLevel, Found]] = []
        for level in self.levels:
            if level.used is None or level.options is None:
                return None
            if z is None:
                names = [plan.name for plan in level.instance.checkpoint_plans]
                result += [(level, found) for o, found in level.options.items() if names[o] in decisions.values()]
            elif (mask := self._mask(level, decisions)) is not None:
                mask &= level.problem.group == z
                result += [(level, found) for candidate, found in level.used.items() if mask[candidate]]
        return result

    def _mask(self, level: EnumeratedLevel, decisions: dict[str, Value]) -> NDArray[np.bool_] | None:
        """Which candidates of a level have the decisions; None where it does not offer them."""
        mask = np.ones(len(level.problem.rows), dtype=bool)
        for decision, value in decisions.items():
            offered = offered_values(level.instance, decision)
            if value not in offered:
                return None
            mask &= self._place(level, decision) == offered.index(value)
        return mask

    def _in_level(
        self, level: EnumeratedLevel, z: int | None, decisions: dict[str, Value], floor: float, start: Found | None
    ) -> Best:
        if z is None:
            names = [plan.name for plan in level.instance.checkpoint_plans]
            (name,) = decisions.values()
            option = names.index(str(name)) if name in names else None
            return Best(None, -inf) if option is None else level.enumeration.best(floor, {}, option, start)
        mask = self._mask(level, decisions)
        if mask is None:
            return Best(None, -inf)
        return level.enumeration.best(floor, {z: mask}, start=start, any_zone=not self.alike)

    def _place(self, level: EnumeratedLevel, decision: str) -> NDArray[np.int64]:
        key = id(level), decision
        if key not in self._places:
            self._places[key] = values_of(level.problem.candidates, level.problem.table, decision)
        return self._places[key]


def _ranges(instance: Instance, rows: list[BestWith], best: Decisions) -> list[DecisionRange]:
    """The values of each decision that are within the share asked."""
    by_decision: dict[tuple[str, str], list[tuple[Value, BestWith]]] = {}
    for row in rows:
        ((decision, value),) = row.decisions.items()
        by_decision.setdefault((row.zone, decision), []).append((value, row))
    return [
        DecisionRange(
            zone=zone,
            decision=decision,
            best=tuple(in_plan(best, instance, zone, decision)),
            values=tuple(value for value, row in found if row.within),
            offered=len(found),
            complete=all(row.within is not None for _, row in found),
        )
        for (zone, decision), found in by_decision.items()
    ]


def _near_plan(level: EnumeratedLevel, found: Found, instance: Instance, model: Model, best: _Best) -> NearPlan:
    decisions = level.decisions(found)
    evaluation = evaluate(instance, decisions, model=model)
    value, ours = objective_value(instance, evaluation), level.problem.objective_value(found.score)
    assert value is not None
    if abs(value - ours) > AGREEMENT * abs(value) or evaluation.violated:
        raise SolverError(f"a plan enumerated with {ours!r} is evaluated as {value!r}; please report this")
    return NearPlan(
        decisions=decisions,
        value=ours,
        change=_change(level.problem, found.score, best.found.score),
        goodput=evaluation.goodput,
        availability=evaluation.availability,
        capital=evaluation.capital,
        cost_per_year=evaluation.cost_per_year,
        it_power_kw=evaluation.it_power_kw,
        losses=evaluation.losses,
    )
