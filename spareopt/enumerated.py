"""The plans of an instance, ready to be enumerated: its levels with every candidate, and the best plan of them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from spareopt.candidates import Candidates, enumerate_candidates
from spareopt.clock import Clock
from spareopt.decided import row_of
from spareopt.decisions import Decisions
from spareopt.enumeration import Enumeration, Found
from spareopt.errors import InfeasibleError, OverloadedError
from spareopt.infeasible import out_of_reach
from spareopt.instance import Instance
from spareopt.levels import level_instances
from spareopt.problem import Problem, build_problem
from spareopt.schemes import Model, recovery_schemes
from spareopt.search import REPORT_EVERY, OnProgress, SolveProgress

LEAST_STEPS = 20  # that each search may take, however many are still to be done
Keep = Callable[[Candidates], NDArray[np.bool_]]


class Steps(Clock):
    """A clock that tells now and then what is done, and counts the steps of each search: the same on any machine."""

    def __init__(self, limit: float | None, report: OnProgress, effort: int | None = None) -> None:
        super().__init__(limit)
        self.report, self.phase, self._told = report, "", 0.0
        self.value: float | None = None
        self.left = inf if effort is None else effort
        self._share = inf

    def share(self, searches: int) -> None:
        """Let the next search take its share of the steps left, of so many searches that are still to be done."""
        self._share = max(LEAST_STEPS, self.left // max(1, searches)) if self.left < inf else inf

    def going(self) -> bool:
        """Whether there is time left, for one more step; reports now and then."""
        if self._share <= 0:
            return False
        self._share, self.left = self._share - 1, self.left - 1
        now = self.elapsed()
        if now - self._told > REPORT_EVERY:
            self._told = now
            self.report(SolveProgress(self.phase, now, self.value))
        return super().going()


@dataclass
class EnumeratedLevel:
    """One level of what the zones share, with all its candidates."""

    instance: Instance
    enumeration: Enumeration
    used: dict[int, Found] | None = None
    """The best plan within a share asked with each candidate, where all such plans were found."""
    options: dict[int, Found] | None = None
    """The best one with each checkpoint plan."""

    @property
    def problem(self) -> Problem:
        """The level's problem: it holds every candidate."""
        return self.enumeration.problem

    def decisions(self, found: Found) -> Decisions:
        """A plan of the level as decisions."""
        return self.problem.decisions(dict(found.counts), found.option)


@dataclass
class BestOfLevels:
    """The best plan found of all levels, and a bound on the score of all plans: its own where it is proven."""

    level: EnumeratedLevel | None
    found: Found | None
    bound: float

    @property
    def proven(self) -> bool:
        """Whether there is no better plan."""
        return self.bound == (-inf if self.found is None else self.found.score)


def enumerated_level(
    instance: Instance,
    alike: bool,
    model: Model,
    clock: Steps,
    keep: Keep | None = None,
    *,
    stoppable: bool = False,
    tight: bool = True,
) -> EnumeratedLevel | str:
    """A level with every candidate (that ``keep`` marks), or why it has none for a zone class; see Enumeration.

    ``tight``: shared crews get a bound for each candidate, which takes long; without, they are scored as need be.
    """
    clock.phase = "scoring candidates"
    clock.going()
    candidates = enumerate_candidates(instance, model)
    if keep is not None:
        candidates = candidates.only(keep(candidates))
    if hopeless := out_of_reach(candidates):
        return "; ".join(hopeless)
    problem = build_problem(candidates, None, recovery_schemes(instance, model), tight=tight)
    try:
        problem.check_load()
    except OverloadedError as error:
        return "; ".join(fault.message for fault in error.faults)
    return EnumeratedLevel(instance, Enumeration(problem, alike, clock.going, stoppable))


def enumerated_levels(instance: Instance, alike: bool, model: Model, clock: Steps) -> list[EnumeratedLevel]:
    """Every level that has a candidate for each zone class.  Raises InfeasibleError where there is none."""
    found = [enumerated_level(part, alike, model, clock) for part in level_instances(instance)]
    levels = [level for level in found if isinstance(level, EnumeratedLevel)]
    if not levels:
        raise InfeasibleError(why_no_level([level for level in found if isinstance(level, str)]))
    return levels


def why_no_level(reasons: list[str]) -> str:
    """Why no level has a candidate for each zone class."""
    if not reasons:
        return "no level of shared crews and shelf is within limits.crews and limits.shelf_trays"
    return "; ".join(dict.fromkeys(reasons))


def best_of_levels(levels: list[EnumeratedLevel], clock: Steps, known: Decisions | None = None) -> BestOfLevels:
    """The best plan of all levels; a plan ``known`` to be good is where the search starts."""
    best = BestOfLevels(None, None, -inf)
    bound = -inf
    clock.phase = "best plan"
    for level in levels:
        start = None if known is None else as_found(level, known)
        floor = -inf if best.found is None else best.found.score
        if start is not None and start.score > floor:
            best, floor = BestOfLevels(level, start, inf), start.score
        found = level.enumeration.best(floor, {}, start=start)
        bound = max(bound, found.bound)
        if found.found is not None:
            best = BestOfLevels(level, found.found, inf)
            clock.value = level.problem.objective_value(found.found.score)
        if level.enumeration.interrupted:
            bound = inf
            break
    best.bound = bound if best.found is None else max(bound, best.found.score)
    return best


def as_found(level: EnumeratedLevel, decisions: Decisions) -> Found | None:
    """A plan as an enumeration of a level names it; None where it is none of the level's plans."""
    problem = level.problem
    options = [plan.name for plan in level.instance.checkpoint_plans]
    if decisions.checkpoint_plan not in options:
        return None
    counts: dict[int, int] = {}
    for choice in decisions.zones:
        row = row_of(problem.candidates, problem.table, choice)
        if row is None:
            return None
        counts[row] = counts.get(row, 0) + choice.count
    if level.enumeration.alike and any(problem.members[problem.group[c]] != n for c, n in counts.items()):
        return None
    option = options.index(decisions.checkpoint_plan)
    outcome = problem.outcome(counts, option)
    return Found(outcome.score, option, tuple(sorted(counts.items()))) if outcome.feasible else None
