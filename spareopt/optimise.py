"""Choose the best plan and prove how good it is: candidates, pruning, selection, exact re-scoring, refinement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.candidates import Candidates, enumerate_candidates
from spareopt.clock import Clock
from spareopt.decisions import Decisions
from spareopt.dominance import prune
from spareopt.enumerated import EnumeratedLevel, Keep, Steps, best_of_levels, enumerated_level, why_no_level
from spareopt.errors import (
    InfeasibleError,
    LimitError,
    OverloadedError,
    SolverError,
    SpareoptError,
    StoppedError,
)
from spareopt.evaluation import Evaluation, evaluate
from spareopt.infeasible import out_of_reach, why_infeasible
from spareopt.instance import Instance, Objective
from spareopt.levels import level_instances
from spareopt.plan import (
    INTERRUPTED,
    LIMIT_REACHED,
    PROVEN,
    Among,
    Audit,
    CandidateCounts,
    Certificate,
    Greedy,
    Plan,
    Provenance,
    ZonesAlike,
    provenance_of,
)
from spareopt.problem import Outcome, Problem, build_problem
from spareopt.relaxation import WORTHLESS, Refinement, carefree_bound, check_cost, optimistic_log_goodput, trivial_bound
from spareopt.schemes import Model, recovery_schemes
from spareopt.search import DEFAULT_GAP, REPORT_EVERY, OnProgress, Search, SolveProgress, while_pruning

LEVELS_SHARE = 0.5  # of the time limit
AGREEMENT = 1e-9  # relative; the candidates' sums and the evaluator do the same arithmetic in another order


def solve(
    instance: Instance,
    *,
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    model: Model = "exact",
    coarse: bool = False,
    on_progress: OnProgress | None = None,
    keep: Keep | None = None,
    alike: bool = False,
) -> Plan:
    """The best plan of an instance, scored exactly, with a bound on every other plan.

    ``gap`` is the relative gap asked (0 for a proof to the last digit), ``time_limit`` is in seconds.  ``coarse``
    starts the refinement from the roughest relaxation; the result is as good, only slower.  ``keep`` marks the rows of
    the candidates that may be used; the proof is of the plans that they make.  ``alike``: the best of the plans that
    build all zones of a class alike, found by enumeration, and a bound on those; see ``Certificate.among``.  Where
    every class has one zone that is any plan.  Raises InfeasibleError (proven), LimitError or
    StoppedError where no plan was found in time, SolverError.
    """
    if not 0 <= gap < 1:
        raise ValueError(f"gap: expected a number from 0 to below 1, got {gap}")
    report = on_progress or (lambda _: None)
    # where every class has one zone, all plans are alike; of a single zone they are few enough to be enumerated
    if alike and (len(instance.zones) == 1 or any(zone.count > 1 for zone in instance.zones)):
        return _solve_alike(instance, gap, time_limit, seed, model, coarse, report, keep)
    clock = Clock(time_limit)
    usable, others = _levels_in_time(instance, lambda part, tell: _level(part, model, clock, tell, keep), clock, report)
    search, bound = _search_levels(usable, gap, seed, coarse, clock, report)
    bound = max(bound, others)
    if search.best is None:
        raise _failure(search, instance, model, keep)
    problem = search.start
    decisions = search.problem.decisions(search.best.counts, search.best.option)
    evaluation = _evaluated(instance, decisions, search.best, model)
    value = problem.objective_value(search.best.score)
    result = Plan(
        decisions=decisions,
        evaluation=evaluation,
        certificate=_certificate(
            problem,
            search.best.score,
            bound,
            gap,
            model,
            stopped=any(level.search is not None and level.search.status == INTERRUPTED for level in usable),
            refinements=sum(level.search.rounds for level in usable if level.search),
            plans_excluded=sum(len(level.search.refinement.excluded) for level in usable if level.search),
        ),
        zones_alike=_zones_alike(usable) if len(decisions.zones) > len(instance.zones) else None,
        greedy=_greedy(usable, value),
        candidates=CandidateCounts(
            enumerated=sum(len(level.candidates.table) for level in usable),
            dominated=sum(int((level.dominated_by >= 0).sum()) for level in usable),
            outbid=sum(len(level.problem.rows) - len(level.left.rows) for level in usable),
            kept=sum(len(level.left.rows) for level in usable),
            excluded=_excluded(level.candidates for level in usable),
        ),
        provenance=_provenance(instance, gap, time_limit, model, coarse, alike, seed),
    )
    result._audit = Audit(
        make_table=partial(
            _audit_table, [(level.candidates, level.dominated_by, level.left.rows) for level in usable], instance
        ),
        model=search.model,
        log=search.log,
        seconds={
            "scoring": sum(level.scoring for level in usable),
            "pruning": sum(level.pruning for level in usable),
            "selection": clock.elapsed() - sum(level.scoring + level.pruning for level in usable),
        },
    )
    return result


def _solve_alike(
    instance: Instance,
    gap: float,
    time_limit: float | None,
    seed: int,
    model: Model,
    coarse: bool,
    report: OnProgress,
    keep: Keep | None,
) -> Plan:
    """The best plan that builds all zones of a class alike, by enumeration: there are few enough of those."""
    clock = Steps(time_limit, report)
    levels, others = _levels_in_time(
        instance, lambda part, _: enumerated_level(part, True, model, clock, keep, stoppable=True), clock, report
    )
    scored = clock.elapsed()
    best = best_of_levels(levels, clock)
    bound = min(max(best.bound, others), max(others, *(trivial_bound(level.problem) for level in levels)))
    stopped = any(level.enumeration.interrupted for level in levels)
    if best.level is None or best.found is None:
        raise _none_alike(levels, bound > -inf, stopped, instance, clock, seed, model, keep)
    problem, found = best.level.problem, best.found
    decisions = best.level.decisions(found)
    result = Plan(
        decisions=decisions,
        evaluation=_evaluated(instance, decisions, problem.outcome(dict(found.counts), found.option), model),
        certificate=_certificate(
            problem, found.score, bound, gap, model,
            stopped=stopped, refinements=0, plans_excluded=0,
            among="plans with zones alike" if any(zone.count > 1 for zone in instance.zones) else "all plans",
        ),
        candidates=CandidateCounts(
            enumerated=(number := sum(len(level.problem.rows) for level in levels)),
            dominated=0,
            outbid=0,
            kept=number,
            excluded=_excluded(level.problem.candidates for level in levels),
        ),
        provenance=_provenance(instance, gap, time_limit, model, coarse, True, seed),
    )  # fmt: skip
    result._audit = Audit(
        make_table=partial(_audit_table, [(level.problem.candidates, None, None) for level in levels], instance),
        model=None,
        log="",
        seconds={"scoring": scored, "pruning": 0.0, "selection": clock.elapsed() - scored},
    )
    return result


def _none_alike(
    levels: list[EnumeratedLevel],
    open_still: bool,
    stopped: bool,
    instance: Instance,
    clock: Steps,
    seed: int,
    model: Model,
    keep: Keep | None,
) -> SpareoptError:
    """Why there is no plan that builds all zones alike."""
    if stopped:
        return StoppedError("interrupted before any plan was found")
    if open_still:
        return LimitError(f"the time limit of {clock.limit:g} s was reached before any plan was found")
    reach = _within_reach(
        instance,
        lambda other: solve(other, seed=seed, model=model, time_limit=clock.remaining(), keep=keep, alike=True),
        "the best with all zones alike",
    )
    return InfeasibleError(reach or f"{why_infeasible(levels[0].problem.candidates)} with all zones of a class alike")


def _certificate(
    problem: Problem,
    score: float,
    bound: float,
    gap: float,
    model: Model,
    *,
    stopped: bool,
    refinements: int,
    plans_excluded: int,
    among: Among = "all plans",
) -> Certificate:
    """What is proven of a plan with a score, no other one scoring more than the bound; ``stopped``: by the user."""
    kind = problem.candidates.instance.objective.kind
    reached = problem.gap(score, bound)
    return Certificate(
        status=PROVEN if reached <= gap else INTERRUPTED if stopped else LIMIT_REACHED,
        objective=kind,
        unit=problem.unit,
        sense="minimise" if kind == "cost" else "maximise",
        value=problem.objective_value(score),
        bound=problem.objective_value(bound),
        gap=reached,
        gap_asked=gap,
        model=model,
        refinements=refinements,
        plans_excluded=plans_excluded,
        among=among,
    )


def _provenance(
    instance: Instance, gap: float, time_limit: float | None, model: Model, coarse: bool, alike: bool, seed: int
) -> Provenance:
    options = {"gap": gap, "time_limit_s": time_limit, "model": model, "coarse": coarse, "alike": alike}
    return provenance_of(instance, options, seed)


class _HasProblem(Protocol):
    @property
    def problem(self) -> Problem: ...


L = TypeVar("L", bound=_HasProblem)


def _levels_in_time(
    instance: Instance, level_of: Callable[[Instance, OnProgress], L | str], clock: Clock, report: OnProgress
) -> tuple[list[L], float]:
    """The levels that have plans, and a bound on the scores of those that there was no time for, −∞ for none.

    Raises InfeasibleError where no level has a plan that does any work, InputError where the objective needs a cost.
    """
    levels: list[L] = []
    reasons: list[str] = []
    parts = level_instances(instance)
    scored = _now_and_then(report, lambda: f"level {len(levels) + len(reasons) + 1} of {len(parts)}")
    tell = report if len(parts) == 1 else scored
    for part in parts:
        if levels and clock.limit is not None and clock.elapsed() > LEVELS_SHARE * clock.limit:
            break  # what is left of the time is for the levels that are known; the others are bounded
        level = level_of(part, tell)
        if isinstance(level, str):
            reasons.append(level)
        else:
            levels.append(level)
    if not levels:
        raise InfeasibleError(why_no_level(reasons))
    problems = [level.problem for level in levels]
    if all(optimistic_log_goodput(problem) < WORTHLESS for problem in problems):
        raise InfeasibleError("no plan does any useful work at these fault rates; check failures (mtbf and rate)")
    for problem in problems:
        check_cost(problem)
    if len(levels) + len(reasons) == len(parts):
        return levels, -inf
    return levels, max(carefree_bound(problem) for problem in problems)


def _now_and_then(report: OnProgress, place: Callable[[], str]) -> OnProgress:
    """Reports of one level among several, named by its place; not every step is news."""
    told = -inf

    def tell(progress: SolveProgress) -> None:
        nonlocal told
        if progress.seconds - told > REPORT_EVERY:
            told = progress.seconds
            report(replace(progress, phase=f"{place()}, {progress.phase}"))

    return tell


@dataclass
class _Level:
    """One level of what the zones share: its candidates, what was pruned, and its search once there is one."""

    candidates: Candidates
    dominated_by: pd.Series
    problem: Problem
    scoring: float
    pruning: float
    search: Search | None = None

    @property
    def left(self) -> Problem:
        """The problem with the candidates that were left at the end."""
        return self.problem if self.search is None else self.search.problem


def _level(
    instance: Instance,
    model: Model,
    clock: Clock,
    report: OnProgress,
    keep: Keep | None = None,
) -> _Level | str:
    """Candidates of a level, pruned; or why it has none."""
    began = clock.elapsed()
    report(SolveProgress("scoring candidates", began))
    candidates = enumerate_candidates(instance, model)
    if keep is not None:
        candidates = candidates.only(keep(candidates))
    scored = clock.elapsed()
    if hopeless := out_of_reach(candidates):
        return "; ".join(hopeless)
    schemes = recovery_schemes(instance, model)
    going = while_pruning(len(candidates.table), clock, report)
    going(0.0)
    dominated_by = prune(candidates, schemes, going)
    pruned = clock.elapsed()
    problem = build_problem(candidates, dominated_by, schemes)
    try:
        problem.check_load()
    except OverloadedError as error:
        return "; ".join(fault.message for fault in error.faults)
    return _Level(candidates, dominated_by, problem, scored - began, pruned - scored)


def _search_levels(
    levels: list[_Level],
    gap: float,
    seed: int,
    coarse: bool,
    clock: Clock,
    report: OnProgress,
) -> tuple[Search, float]:
    """The search with the best plan, and a bound on all levels' plans.

    The levels are searched from the one with the best plan of zones alike on; each looks only for better plans than
    those known.
    """

    def level_place() -> str:
        return f"level {sum(level.search is not None for level in levels) + 1} of {len(levels)}"

    tell = _now_and_then(report, level_place) if len(levels) > 1 else report
    firsts = [level.problem.uniform() for level in levels] if len(levels) > 1 else [None] * len(levels)
    scores = [-inf if first is None else first.score for first in firsts]
    floor, bound, highest = -inf, -inf, -inf
    best: Search | None = None
    last: Search | None = None
    for place in sorted(range(len(levels)), key=lambda i: -scores[i]):
        level = levels[place]
        refinement = Refinement.initial(level.problem, coarse)
        search = Search(level.problem, gap, seed, refinement, clock, tell, floor)
        search.best = firsts[place]
        search.run()
        level.search, last = search, search
        if search.best is not None and search.best.score > highest:
            best, highest = search, search.best.score
        floor = max(floor, search.value)
        if not search.infeasible:
            bound = max(bound, search.bound)
        out_of_time = search.clock.remaining() == 0
        if search.status == INTERRUPTED or out_of_time:
            bound = max([bound, *(trivial_bound(other.problem) for other in levels if other.search is None)])
            break
    assert last is not None
    chosen = best or next((level.search for level in levels if level.search and not level.search.infeasible), last)
    return chosen, max(bound, floor)


def _excluded(levels: Iterable[Candidates]) -> dict[str, int]:
    """How many combinations could not be built, by reason, over all levels; the reasons in the order of their names."""
    total = Counter[str]()
    for candidates in levels:
        total.update({reason: number for reason, number in candidates.excluded.items() if number})
    return dict(sorted(total.items()))


def _audit_table(
    levels: Sequence[tuple[Candidates, pd.Series | None, NDArray[np.int64] | None]], instance: Instance
) -> pd.DataFrame:
    """The candidates of all levels and their fate, one after the other.

    Each level is given with what dominates its candidates, and with those left at the end (None: nothing, and all).
    """
    names = [plan.name for plan in instance.repair_plans]
    tables, first = [], 0
    for candidates, dominated_by, rows in levels:
        table = candidates.table
        places = {i: names.index(plan.name) for i, plan in enumerate(candidates.instance.repair_plans)}
        by = pd.Series(-1, table.index) if dominated_by is None else dominated_by
        left = np.ones(len(table), dtype=bool) if rows is None else table.index.isin(rows)
        tables.append(
            table.assign(
                repair_plan=table["repair_plan"].map(places),
                dominated_by=by.where(by < 0, by + first),
                outbid=(by < 0) & ~left,
            )
        )
        first += len(table)
    return pd.concat(tables, ignore_index=True)


def _zones_alike(levels: list[_Level]) -> ZonesAlike | None:
    """The plan that a planner may prefer to one that builds identical zones differently to gain a little."""
    found = [(outcome, level.problem) for level in levels if (outcome := level.problem.uniform()) is not None]
    if not found:
        return None
    outcome, problem = max(found, key=lambda pair: pair[0].score)
    decisions = problem.decisions(outcome.counts, outcome.option)
    return ZonesAlike(decisions=decisions, value=problem.objective_value(outcome.score))


def _greedy(levels: list[_Level], value: float) -> Greedy | None:
    """The best plan of marginal analysis over all levels."""
    found = [(level.search.greedy, level.search.start) for level in levels if level.search and level.search.greedy]
    if not found:
        return None
    outcome, problem = max(found, key=lambda pair: pair[0].score)
    decisions = problem.decisions(outcome.counts, outcome.option)
    reached = problem.objective_value(outcome.score)
    return Greedy(decisions=decisions, value=reached, loss=abs(reached - value) / abs(value))


def _failure(search: Search, instance: Instance, model: Model, keep: Keep | None) -> SpareoptError:
    """Why there is no plan."""
    if search.infeasible:
        rest = search.clock.remaining()
        reach = _within_reach(
            instance, lambda other: solve(other, seed=search.seed, model=model, time_limit=rest, keep=keep)
        )
        return InfeasibleError(reach or why_infeasible(search.problem.candidates))
    if search.status == INTERRUPTED:
        return StoppedError("interrupted before any plan was found")
    if search.clock.limit is None:
        return LimitError("every plan tried breaks a limit, and the bound that is left does not prove that all do")
    return LimitError(f"the time limit of {search.clock.limit:g} s was reached before any plan was found")


def _within_reach(instance: Instance, best_of: Callable[[Instance], Plan], what: str = "the best") -> str | None:
    """For a goodput target, the best goodput that the other limits allow; None where they allow none."""
    target = instance.objective.goodput_target
    if target is None:
        return None
    try:
        best = best_of(instance.model_copy(update={"objective": Objective(kind="goodput")}))
    except SpareoptError:
        return None
    reach = f"within the other limits {what} is {best.certificate.bound:,.1f}"
    return f"goodput_target: {target:,.1f} baseline GPUs are out of reach; {reach}"


def _evaluated(instance: Instance, decisions: Decisions, found: Outcome, model: Model) -> Evaluation:
    """The plan found, scored by the evaluator.  Raises SolverError where that is another score, or breaks a limit."""
    evaluation = evaluate(instance, decisions, model=model)
    _check_agreement(found, evaluation.goodput, evaluation.cost_per_year)
    if evaluation.violated:
        raise SolverError(f"the plan found breaks its limit {evaluation.violated[0].limit}")
    return evaluation


def _check_agreement(best: Outcome, goodput: float, cost: float | None) -> None:
    """At the optimum the selection's numbers are the evaluator's: anything else is a fault of ours."""
    pairs = [(best.goodput, goodput)] + ([(best.cost, cost)] if best.cost is not None and cost is not None else [])
    for ours, theirs in pairs:
        if abs(ours - theirs) > AGREEMENT * abs(theirs):
            raise SolverError(f"the selection scores the plan {ours!r}, the evaluator {theirs!r}; please report this")
