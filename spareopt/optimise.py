"""Choose the best plan and prove how good it is: candidates, pruning, selection, exact re-scoring, refinement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
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
from spareopt.enumerated import Keep, Steps, best_of_levels, enumerated_level, why_no_level
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
    ALL_PLANS,
    INTERRUPTED,
    LIMIT_REACHED,
    PROVEN,
    ZONES_ALIKE,
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
EFFORT = 5000  # steps of the walk through plans with zones alike, before the MILP is tried instead
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
    asked = _Asked(instance, gap, time_limit, seed, model, coarse, alike, keep)
    if not alike or (len(instance.zones) > 1 and not asked.several):  # where every class has one zone all are alike
        return _by_milp(asked, Clock(time_limit), report)
    clock = Steps(time_limit, report, None if len(instance.zones) == 1 else EFFORT)
    found = _by_enumeration(asked, clock)
    if isinstance(found, Plan) and found.certificate.status != LIMIT_REACHED:
        return found
    if clock.remaining() == 0 or any(plan.shared_by == "site" for plan in instance.repair_plans):
        if isinstance(found, Plan):
            return found
        raise found
    try:
        plan = _by_milp(asked, Clock(clock.remaining()), report)
    except (LimitError, StoppedError):
        if isinstance(found, Plan):
            return found
        raise
    if isinstance(found, Plan) and _better(found, plan):  # both are within the gap, or the time was used up
        return found.model_copy(update={"certificate": _tightened(found.certificate, plan.certificate)})
    return plan


def _better(one: Plan, other: Plan) -> bool:
    sign = -1.0 if one.certificate.sense == "minimise" else 1.0
    return sign * one.certificate.value > sign * other.certificate.value


def _tightened(mine: Certificate, other: Certificate) -> Certificate:
    """A certificate with the bound of another one of the same plans, which none of them exceeds."""
    bounds = (mine.value, other.bound)
    bound = min(bounds) if mine.sense == "minimise" else max(bounds)
    gap = abs(bound - mine.value) / abs(mine.value)
    status = PROVEN if gap <= mine.gap_asked else other.status
    return other.model_copy(update={"value": mine.value, "bound": bound, "gap": gap, "status": status})


@dataclass(frozen=True)
class _Asked:
    """What is asked of a solve."""

    instance: Instance
    gap: float
    time_limit: float | None
    seed: int
    model: Model
    coarse: bool
    alike: bool
    keep: Keep | None

    @property
    def several(self) -> bool:
        """Whether a class has several zones, which can be built alike or not."""
        return any(zone.count > 1 for zone in self.instance.zones)

    @property
    def among(self) -> Among:
        """Which plans the best one is looked for among."""
        return ZONES_ALIKE if self.alike and self.several else ALL_PLANS

    @property
    def provenance(self) -> Provenance:
        """Where the plan comes from."""
        options = {"gap": self.gap, "time_limit_s": self.time_limit, "model": self.model, "coarse": self.coarse}
        return provenance_of(self.instance, options | {"alike": self.alike}, self.seed)


def _by_milp(asked: _Asked, clock: Clock, report: OnProgress) -> Plan:
    """The best plan by the MILP; where zones are to be alike, each class is one large zone in it."""
    instance, model = asked.instance, asked.model
    merged = asked.alike and asked.several
    usable, others = _levels_in_time(
        instance, lambda part, tell: _level(part, model, clock, tell, asked.keep, merged), clock, report
    )
    search, bound = _search_levels(usable, asked.gap, asked.seed, asked.coarse, clock, report)
    bound = max(bound, others)
    if search.best is None:
        raise _failure(search, asked)
    problem = search.start
    level = next(level for level in usable if level.problem is problem)
    chosen = search.problem.by_row(search.best.counts)
    decisions = level.decisions(chosen, search.best.option)
    evaluation = _evaluated(instance, decisions, search.best, model)
    value = problem.objective_value(search.best.score)
    result = Plan(
        decisions=decisions,
        evaluation=evaluation,
        certificate=_certificate(
            problem,
            search.best.score,
            bound,
            asked,
            stopped=any(level.search is not None and level.search.status == INTERRUPTED for level in usable),
            refinements=sum(level.search.rounds for level in usable if level.search),
            plans_excluded=sum(len(level.search.refinement.excluded) for level in usable if level.search),
        ),
        zones_alike=_zones_alike(usable) if len(decisions.zones) > len(instance.zones) else None,
        greedy=None if merged else _greedy(usable, value),
        candidates=CandidateCounts(
            enumerated=sum(len(level.candidates.table) for level in usable),
            dominated=sum(int((level.dominated_by >= 0).sum()) for level in usable),
            outbid=sum(len(level.problem.rows) - len(level.left.rows) for level in usable),
            kept=sum(len(level.left.rows) for level in usable),
            excluded=_excluded(level.candidates for level in usable),
        ),
        provenance=asked.provenance,
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


def _by_enumeration(asked: _Asked, clock: Steps) -> Plan | LimitError:
    """The best plan that builds all zones of a class alike; none where the time or the effort was used up before.

    Raises InfeasibleError, StoppedError.
    """
    instance = asked.instance
    levels, others = _levels_in_time(
        instance,
        lambda part, _: enumerated_level(
            part, True, asked.model, clock, asked.keep, stoppable=True, tight=len(instance.zones) > 1
        ),
        clock,
        clock.report,
    )
    scored = clock.elapsed()
    clock.share(1)
    best = best_of_levels(levels, clock)
    bound = min(max(best.bound, others), max(others, *(trivial_bound(level.problem) for level in levels)))
    stopped = any(level.enumeration.interrupted for level in levels)
    if best.level is None or best.found is None:
        if stopped:
            raise StoppedError("interrupted before any plan was found")
        if bound > -inf:
            return LimitError(_used_up(clock))
        raise InfeasibleError(_why_infeasible(levels[0].problem, asked, clock))
    problem, found = best.level.problem, best.found
    decisions = best.level.decisions(found)
    result = Plan(
        decisions=decisions,
        evaluation=_evaluated(instance, decisions, problem.outcome(dict(found.counts), found.option), asked.model),
        certificate=_certificate(problem, found.score, bound, asked, stopped=stopped),
        candidates=CandidateCounts(
            enumerated=(number := sum(len(level.problem.rows) for level in levels)),
            dominated=0,
            outbid=0,
            kept=number,
            excluded=_excluded(level.problem.candidates for level in levels),
        ),
        provenance=asked.provenance,
    )
    result._audit = Audit(
        make_table=partial(_audit_table, [(level.problem.candidates, None, None) for level in levels], instance),
        model=None,
        log="",
        seconds={"scoring": scored, "pruning": 0.0, "selection": clock.elapsed() - scored},
    )
    return result


def _used_up(clock: Clock) -> str:
    if clock.limit is None:
        return "the effort was used up before any plan was found"
    return f"the time limit of {clock.limit:g} s was reached before any plan was found"


def _certificate(
    problem: Problem,
    score: float,
    bound: float,
    asked: _Asked,
    *,
    stopped: bool,
    refinements: int = 0,
    plans_excluded: int = 0,
) -> Certificate:
    """What is proven of a plan with a score, no other one scoring more than the bound; ``stopped``: by the user."""
    kind = asked.instance.objective.kind
    reached = problem.gap(score, bound)
    return Certificate(
        status=PROVEN if reached <= asked.gap else INTERRUPTED if stopped else LIMIT_REACHED,
        objective=kind,
        unit=problem.unit,
        sense="minimise" if kind == "cost" else "maximise",
        value=problem.objective_value(score),
        bound=problem.objective_value(bound),
        gap=reached,
        gap_asked=asked.gap,
        model=asked.model,
        refinements=refinements,
        plans_excluded=plans_excluded,
        among=asked.among,
    )


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

    def decisions(self, by_row: Mapping[int, int], option: int) -> Decisions:
        """A plan as decisions, from how many zones take each candidate (row), or each class where they are merged."""
        of = self.candidates.table["zone"].to_numpy()
        members = [zone.count for zone in self.candidates.instance.zones]
        times = [n // own for n, own in zip(members, self.problem.members, strict=True)]
        zones = tuple(self.candidates.choice(row, count * times[of[row]]) for row, count in sorted(by_row.items()))
        plan = self.candidates.instance.checkpoint_plans[option].name
        return Decisions.model_construct(zones=zones, checkpoint_plan=plan)


def _level(
    instance: Instance, model: Model, clock: Clock, report: OnProgress, keep: Keep | None, merged: bool
) -> _Level | str:
    """Candidates of a level, pruned; or why it has none.  ``merged``: all zones of a class are one in its problem."""
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
    apart, candidates = candidates, candidates.merged() if merged else candidates
    dominated_by = prune(candidates, schemes, going)
    pruned = clock.elapsed()
    problem = build_problem(candidates, dominated_by, schemes)
    try:
        problem.check_load()
    except OverloadedError as error:
        return "; ".join(fault.message for fault in error.faults)
    return _Level(apart, dominated_by, problem, scored - began, pruned - scored)


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


def _failure(search: Search, asked: _Asked) -> SpareoptError:
    """Why there is no plan."""
    if search.infeasible:
        return InfeasibleError(_why_infeasible(search.problem, asked, search.clock))
    if search.status == INTERRUPTED:
        return StoppedError("interrupted before any plan was found")
    if search.clock.limit is None:
        return LimitError("every plan tried breaks a limit, and the bound that is left does not prove that all do")
    return LimitError(_used_up(search.clock))


def _why_infeasible(problem: Problem, asked: _Asked, clock: Clock) -> str:
    """Why no plan meets all limits: for a goodput target, the best goodput that the others allow, if any."""
    target, alike = asked.instance.objective.goodput_target, asked.among == ZONES_ALIKE
    if target is not None:
        without = asked.instance.model_copy(update={"objective": Objective(kind="goodput")})
        with suppress(SpareoptError):
            best = solve(
                without, seed=asked.seed, model=asked.model, time_limit=clock.remaining(), keep=asked.keep,
                alike=asked.alike,
            )  # fmt: skip
            reach = f"within the other limits the best is {best.certificate.bound:,.1f}"
            reach += ", with all zones of a class alike" if alike else ""
            return f"goodput_target: {target:,.1f} baseline GPUs are out of reach; {reach}"
    return ("with all zones of a class alike, " if alike else "") + why_infeasible(problem.candidates)


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
