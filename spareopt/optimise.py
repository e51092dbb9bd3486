"""Choose the best plan and prove how good it is: candidates, pruning, selection, exact re-scoring, refinement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.candidates import Candidates, enumerate_candidates
from spareopt.clock import Clock
from spareopt.dominance import prune
from spareopt.errors import (
    InfeasibleError,
    LimitError,
    OverloadedError,
    SolverError,
    SpareoptError,
    StoppedError,
)
from spareopt.evaluation import evaluate
from spareopt.infeasible import out_of_reach, why_infeasible
from spareopt.instance import Instance, Objective
from spareopt.levels import level_instances
from spareopt.plan import (
    INTERRUPTED,
    LIMIT_REACHED,
    PROVEN,
    Audit,
    CandidateCounts,
    Certificate,
    Greedy,
    Plan,
    ProofStatus,
    ZonesAlike,
    provenance_of,
)
from spareopt.problem import Outcome, Problem, build_problem
from spareopt.relaxation import WORTHLESS, Refinement, carefree_bound, check_cost, optimistic_log_goodput, trivial_bound
from spareopt.schemes import Model, recovery_schemes
from spareopt.search import DEFAULT_GAP, REPORT_EVERY, OnProgress, Search, SolveProgress, while_pruning

LEVELS_SHARE = 0.5  # of the time limit
Keep = Callable[[Candidates], NDArray[np.bool_]]
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
) -> Plan:
    """The best plan of an instance, scored exactly, with a bound on every other plan.

    ``gap`` is the relative gap asked (0 for a proof to the last digit), ``time_limit`` is in seconds.  ``coarse``
    starts the refinement from the roughest relaxation; the result is as good, only slower.  ``keep`` marks the rows of
    the candidates that may be used; the proof is of the plans that they make.  Raises InfeasibleError
    (proven), LimitError or StoppedError where no plan was found in time, SolverError.
    """
    if not 0 <= gap < 1:
        raise ValueError(f"gap: expected a number from 0 to below 1, got {gap}")
    clock = Clock(time_limit)
    report = on_progress or (lambda _: None)
    levels: list[_Level | str] = []
    parts = level_instances(instance)
    scored = _now_and_then(report, lambda: f"level {len(levels) + 1} of {len(parts)}")
    tell = report if len(parts) == 1 else scored
    for part in parts:
        known = any(isinstance(level, _Level) for level in levels)
        if known and time_limit is not None and clock.elapsed() > LEVELS_SHARE * time_limit:
            break  # what is left of the time is for the levels that are known; the others are bounded
        levels.append(_level(part, model, clock, tell, keep))
    usable = [level for level in levels if isinstance(level, _Level)]
    if not usable:
        raise InfeasibleError(_why_none(instance, [level for level in levels if isinstance(level, str)]))
    if all(optimistic_log_goodput(level.problem) < WORTHLESS for level in usable):
        raise InfeasibleError("no plan does any useful work at these fault rates; check failures (mtbf and rate)")
    for level in usable:
        check_cost(level.problem)
    search, bound = _search_levels(usable, gap, seed, coarse, clock, report)
    if len(levels) < len(parts):
        bound = max(bound, *(carefree_bound(level.problem) for level in usable))
    if search.best is None:
        raise _failure(search, instance, model, keep)
    problem = search.start
    decisions = search.problem.decisions(search.best.counts, search.best.option)
    evaluation = evaluate(instance, decisions, model=model)
    _check_agreement(search.best, evaluation.goodput, evaluation.cost_per_year)
    if evaluation.violated:
        raise SolverError(f"the plan found breaks its limit {evaluation.violated[0].limit}")
    value = problem.objective_value(search.best.score)
    kind = instance.objective.kind
    result = Plan(
        decisions=decisions,
        evaluation=evaluation,
        certificate=Certificate(
            status=_status(usable, gap, problem, search.best.score, bound),
            objective=kind,
            unit=problem.unit,
            sense="minimise" if kind == "cost" else "maximise",
            value=value,
            bound=problem.objective_value(bound),
            gap=problem.gap(search.best.score, bound),
            gap_asked=gap,
            model=model,
            refinements=sum(level.search.rounds for level in usable if level.search),
            plans_excluded=sum(len(level.search.refinement.excluded) for level in usable if level.search),
        ),
        zones_alike=_zones_alike(problem) if len(decisions.zones) > len(instance.zones) else None,
        greedy=_greedy(usable, value),
        candidates=CandidateCounts(
            enumerated=sum(len(level.candidates.table) for level in usable),
            dominated=sum(int((level.dominated_by >= 0).sum()) for level in usable),
            outbid=sum(len(level.problem.rows) - len(level.left.rows) for level in usable),
            kept=sum(len(level.left.rows) for level in usable),
            excluded=dict(sorted(_excluded(usable).items())),
        ),
        provenance=provenance_of(
            instance, {"gap": gap, "time_limit_s": time_limit, "model": model, "coarse": coarse}, seed
        ),
    )
    result._audit = Audit(
        candidates=_audit_table(usable, instance),
        model=search.model,
        log=search.log,
        seconds={
            "scoring": sum(level.scoring for level in usable),
            "pruning": sum(level.pruning for level in usable),
            "selection": clock.elapsed() - sum(level.scoring + level.pruning for level in usable),
        },
    )
    return result


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


def _status(levels: list[_Level], gap: float, problem: Problem, score: float, bound: float) -> ProofStatus:
    """Proven where the bound over all levels is near enough; else why the search ended."""
    if problem.gap(score, bound) <= gap:
        return PROVEN
    stopped = any(level.search is not None and level.search.status == INTERRUPTED for level in levels)
    return INTERRUPTED if stopped else LIMIT_REACHED


def _why_none(instance: Instance, reasons: list[str]) -> str:
    if not reasons:
        return "no level of shared crews and shelf is within limits.crews and limits.shelf_trays"
    return "; ".join(dict.fromkeys(reasons))


def _excluded(levels: list[_Level]) -> dict[str, int]:
    """How many combinations could not be built, by reason, over all levels."""
    total = Counter[str]()
    for level in levels:
        total.update({reason: number for reason, number in level.candidates.excluded.items() if number})
    return dict(total)


def _audit_table(levels: list[_Level], instance: Instance) -> pd.DataFrame:
    """The candidates of all levels and their fate, one after the other."""
    names = [plan.name for plan in instance.repair_plans]
    tables, first = [], 0
    for level in levels:
        table = level.candidates.table
        places = {i: names.index(plan.name) for i, plan in enumerate(level.candidates.instance.repair_plans)}
        left = table.index.isin(level.left.rows)
        tables.append(
            table.assign(
                repair_plan=table["repair_plan"].map(places),
                dominated_by=level.dominated_by.where(level.dominated_by < 0, level.dominated_by + first),
                outbid=(level.dominated_by < 0) & ~left,
            )
        )
        first += len(table)
    return pd.concat(tables, ignore_index=True)


def _zones_alike(problem: Problem) -> ZonesAlike | None:
    """The plan that a planner may prefer to one that builds identical zones differently to gain a little."""
    outcome = problem.uniform()
    if outcome is None:
        return None
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
        return InfeasibleError(
            _unreachable_target(search, instance, model, keep) or why_infeasible(search.problem.candidates)
        )
    if search.status == INTERRUPTED:
        return StoppedError("interrupted before any plan was found")
    if search.clock.limit is None:
        return LimitError("every plan tried breaks a limit, and the bound that is left does not prove that all do")
    return LimitError(f"the time limit of {search.clock.limit:g} s was reached before any plan was found")


def _unreachable_target(search: Search, instance: Instance, model: Model, keep: Keep | None) -> str | None:
    """For a goodput target, the best goodput that the other limits allow; None where they allow none."""
    target = instance.objective.goodput_target
    if target is None:
        return None
    try:
        without = instance.model_copy(update={"objective": Objective(kind="goodput")})
        best = solve(without, seed=search.seed, model=model, time_limit=search.clock.remaining(), keep=keep)
    except SpareoptError:
        return None
    reach = f"within the other limits the best is {best.certificate.bound:,.1f}"
    return f"goodput_target: {target:,.1f} baseline GPUs are out of reach; {reach}"


def _check_agreement(best: Outcome, goodput: float, cost: float | None) -> None:
    """At the optimum the selection's numbers are the evaluator's: anything else is a fault of ours."""
    pairs = [(best.goodput, goodput)] + ([(best.cost, cost)] if best.cost is not None and cost is not None else [])
    for ours, theirs in pairs:
        if abs(ours - theirs) > AGREEMENT * abs(theirs):
            raise SolverError(f"the selection scores the plan {ours!r}, the evaluator {theirs!r}; please report this")
