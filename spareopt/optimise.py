"""Choose the best plan and prove how good it is: candidates, pruning, selection, exact re-scoring, refinement."""

from __future__ import annotations

import time

from spareopt.candidates import Model, checkpointing, enumerate_candidates
from spareopt.dominance import prune
from spareopt.errors import (
    Fault,
    InfeasibleError,
    InputError,
    InterruptedError_,
    LimitError,
    SolverError,
    SpareoptError,
)
from spareopt.evaluation import decisions_of, evaluate
from spareopt.infeasible import out_of_reach, why_infeasible
from spareopt.instance import Instance, Objective
from spareopt.plan import INTERRUPTED, Audit, CandidateCounts, Certificate, Plan, Provenance, ZonesAlike, versions
from spareopt.problem import Outcome, Problem, build_problem
from spareopt.relaxation import Refinement, cost_range, optimistic_log_goodput
from spareopt.search import DEFAULT_GAP, REPORT_EVERY, OnProgress, Search, SolveProgress

WORTHLESS = -20.0  # ln of a goodput of 2e-9 GPUs
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
) -> Plan:
    """The best plan of an instance, scored exactly, with a bound on every other plan.

    ``gap`` is the relative gap asked (0 for a proof to the last digit), ``time_limit`` is in seconds.  ``coarse``
    starts the refinement from the roughest relaxation; the result is as good, only slower.  Raises InfeasibleError
    (proven), LimitError or InterruptedError_ where no plan was found in time, SolverError.
    """
    if not 0 <= gap < 1:
        raise ValueError(f"gap: expected a number from 0 to below 1, got {gap}")
    started = time.perf_counter()
    report = on_progress or (lambda _: None)

    def elapsed() -> float:
        return time.perf_counter() - started

    report(SolveProgress("scoring candidates", elapsed()))
    candidates = enumerate_candidates(instance, model)
    scored = elapsed()
    if hopeless := out_of_reach(candidates):
        raise InfeasibleError("; ".join(hopeless))
    schemes = [checkpointing(plan, model) for plan in instance.checkpoint_plans]

    told = 0.0

    def going(share: float) -> bool:
        nonlocal told
        if elapsed() - told > REPORT_EVERY:
            told = elapsed()
            report(SolveProgress(f"pruning {len(candidates.table):,} candidates, {share:.0%} done", told))
        return time_limit is None or elapsed() < time_limit

    report(SolveProgress(f"pruning {len(candidates.table):,} candidates", elapsed()))
    dominated_by = prune(candidates, schemes, going)
    pruned = elapsed()
    problem = build_problem(candidates, dominated_by, schemes)
    if optimistic_log_goodput(problem) < WORTHLESS:
        raise InfeasibleError("no plan does any useful work at these fault rates; check failures (mtbf and rate)")
    if problem.goal == "ratio" and cost_range(problem)[0] <= 0:
        message = "goodput_per_dollar needs a cost above zero, but a choice costs nothing; state rack_price"
        raise InputError(instance.name, [Fault("objective.kind", message)])
    search = Search(problem, gap, seed, Refinement.initial(problem, coarse), time_limit, started, report)
    search.run()
    if search.best is None:
        raise _failure(search, instance, model)
    counts, option = search.best.counts, search.best.option
    decisions = decisions_of(candidates, search.problem.by_row(counts), instance.checkpoint_plans[option].name)
    evaluation = evaluate(instance, decisions, model=model)
    _check_agreement(search.best, evaluation.goodput, evaluation.cost_per_year)
    if evaluation.violated:
        raise SolverError(f"the plan found breaks its limit {evaluation.violated[0].limit}")
    value, bound = problem.objective_value(search.best.score), problem.objective_value(search.bound)
    kind = instance.objective.kind
    result = Plan(
        decisions=decisions,
        evaluation=evaluation,
        certificate=Certificate(
            status=search.status,
            objective=kind,
            unit=problem.unit,
            sense="minimise" if kind == "cost" else "maximise",
            value=value,
            bound=bound,
            gap=problem.gap(search.best.score, search.bound),
            gap_asked=gap,
            model=model,
            refinements=search.rounds,
            plans_excluded=len(search.refinement.excluded),
        ),
        zones_alike=_zones_alike(problem) if len(decisions.zones) > len(instance.zones) else None,
        candidates=CandidateCounts(
            enumerated=len(candidates.table),
            dominated=int((dominated_by >= 0).sum()),
            outbid=len(problem.rows) - len(search.problem.rows),
            kept=len(search.problem.rows),
            excluded={reason: number for reason, number in sorted(candidates.excluded.items()) if number},
        ),
        provenance=Provenance(
            instance=instance.name,
            input_hash=instance.input_hash(),
            applied=instance.applied,
            options={"gap": gap, "time_limit_s": time_limit, "model": model, "coarse": coarse},
            seed=seed,
            versions=versions(),
        ),
    )
    result._audit = Audit(
        candidates=candidates.table.assign(
            dominated_by=dominated_by,
            outbid=(dominated_by < 0) & ~candidates.table.index.isin(search.problem.rows),
        ),
        model=search.model,
        log=search.log,
        seconds={"scoring": scored, "pruning": pruned - scored, "selection": elapsed() - pruned},
    )
    return result


def _zones_alike(problem: Problem) -> ZonesAlike | None:
    """The plan that a planner may prefer to one that builds identical zones differently to gain a little."""
    outcome = problem.uniform()
    if outcome is None:
        return None
    plan = problem.candidates.instance.checkpoint_plans[outcome.option].name
    decisions = decisions_of(problem.candidates, problem.by_row(outcome.counts), plan)
    return ZonesAlike(decisions=decisions, value=problem.objective_value(outcome.score))


def _failure(search: Search, instance: Instance, model: Model) -> SpareoptError:
    """Why there is no plan."""
    if search.infeasible:
        return InfeasibleError(
            _unreachable_target(search, instance, model) or why_infeasible(search.problem.candidates)
        )
    if search.status == INTERRUPTED:
        return InterruptedError_("interrupted before any plan was found")
    return LimitError(f"the time limit of {search.time_limit:g} s was reached before any plan was found")


def _unreachable_target(search: Search, instance: Instance, model: Model) -> str | None:
    """For a goodput target, the best goodput that the other limits allow; None where they allow none."""
    target = instance.objective.goodput_target
    if target is None:
        return None
    try:
        without = instance.model_copy(update={"objective": Objective(kind="goodput")})
        best = solve(without, seed=search.seed, model=model, time_limit=search.remaining())
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
