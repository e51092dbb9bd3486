"""A plan by marginal analysis: from the least plan on, the change that gains most for what it uses up, while any fits.

This is the classical heuristic of spares provisioning (Sherbrooke's METRIC).  It gives the search a plan to beat and is
reported beside the optimum: what it loses is what the proof is worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite, log, log1p

import numpy as np
from numpy.typing import NDArray

from spareopt.limits import rounding
from spareopt.numerics.recovery import RecoveryScheme
from spareopt.problem import Outcome, Problem

Array = NDArray[np.float64]

MOST_TRIED = 16
"""Changes that look best, scored exactly before marginal analysis ends."""
MOST_STEPS = 10_000  # changes of one climb: a stop for what should end by itself
FLOORS = 6  # scales that every zone has at least, one climb each
MANY = 2000  # candidates: of more only promising ones are climbed on
SLOPE_STEP = 1e-6  # of the interruption rate, for the slope of ln η
SPENT = 1e-9  # of a limit: less is left of it than counts
SMALLEST_GAIN = 1e-12  # relative: less is rounding
NEVER_UP = -300.0
"""ln of a share of the time: less counts as that."""


@dataclass(frozen=True)
class _Cap:
    """A limit: the total of ``use`` over the zones, plus ``constant``, is at most ``bound``."""

    name: str
    use: Array
    constant: float
    bound: float


def greedy(problem: Problem, going: Callable[[], bool] = lambda: True) -> Outcome | None:
    """The best feasible plan that marginal analysis ends at; None where it ends at none.

    Each step changes one zone.  Changes are ranked by what they gain, to first order in the totals, per share of what
    is left of the limits that they use up; the first that gains by its exact score and keeps every limit is made.  What
    is gained on is what is missed of limits, floors and the target while anything is, then the objective.

    The job runs at the slowest zone's scale, so that no single change of it gains: the climb is made under each
    checkpoint plan and with every zone at least at each of FLOORS scales, while ``going`` returns True.
    """
    best: Outcome | None = None
    for floor in _floors(problem):
        keep = np.flatnonzero(problem.column("log_scale") >= floor)
        keep = keep[_promising(problem.subset(keep))]
        part = problem.subset(keep)
        for option in range(len(problem.schemes)):
            if not going():
                return best
            plan = _climb(part, option)
            if plan.feasible and (best is None or plan.score > best.score):
                best = replace(plan, counts={int(keep[c]): count for c, count in plan.counts.items()})
    return best


def _promising(problem: Problem) -> NDArray[np.int64]:
    """Of many candidates, those of which no other of the class is worth more and uses no more of one of the limits.

    What a candidate is worth is to first order in the totals, about their middle; its scale counts for nothing, as the
    slowest zone's is what counts.
    """
    if len(problem.rows) <= MANY:
        return np.arange(len(problem.rows))
    placed, rate = problem.column("placed_gpus"), problem.column("rate_per_h")
    middle, rate_middle = sum(problem.extremes(placed)) / 2, problem.terms.site[1] + sum(problem.extremes(rate)) / 2
    value = _worth(problem) + placed / max(middle, 1e-9) + _slope(problem.schemes[0], rate_middle) * rate
    caps = _caps(problem, 0)
    uses = [_spent(problem, caps), *(cap.use for cap in caps)]
    keep = np.zeros(len(value), dtype=bool)
    for use in uses:
        order = np.lexsort((-value, use, problem.group))
        step = 2.0 * float(np.ptp(value)) + 1.0  # apart enough that classes do not see each other
        raised = value[order] + step * problem.group[order]
        before = np.r_[-np.inf, np.maximum.accumulate(raised)[:-1]]
        keep[order[raised > before]] = True
    return np.flatnonzero(keep)


def _spent(problem: Problem, caps: list[_Cap]) -> Array:
    """What each candidate uses of all limits, in shares of them, and costs."""
    use = sum((cap.use / max(cap.bound, SPENT) for cap in caps), np.zeros(len(problem.rows)))
    if problem.goal != "value":
        always, running, _ = problem.minimised
        use = use + (always + running) / max(float(np.abs(always + running).max()), SPENT)
    return np.asarray(use)


def _slope(scheme: RecoveryScheme, rate: float) -> float:
    """The slope of ln η at an interruption rate."""
    if rate <= 0:
        return 0.0
    efficiency = np.maximum(scheme.log_eta(rate * np.array([1.0, 1.0 + SLOPE_STEP])), NEVER_UP)
    return float(np.diff(efficiency)[0]) / (rate * SLOPE_STEP)


def _floors(problem: Problem) -> list[float]:
    """Scales, from the least on, at which every class of zones still has a candidate."""
    scale = problem.column("log_scale")
    most = min(float(scale[problem.group == z].max()) for z in range(len(problem.members)))
    levels = np.unique(scale[scale <= most])
    return [float(level) for level in levels[np.unique(np.linspace(0, len(levels) - 1, FLOORS).round().astype(int))]]


def _climb(problem: Problem, option: int) -> Outcome:
    """Marginal analysis under one checkpoint plan."""
    caps = _caps(problem, option)
    zones = _least(problem, caps)
    here = _scored(problem, zones, option)
    missed = _missed(problem, caps, zones, here)
    for _ in range(MOST_STEPS):
        for zone, candidate in _changes(problem, caps, zones, here):
            moved = zones.copy()
            moved[zone] = candidate
            there = _scored(problem, moved, option)
            misses = _missed(problem, caps, moved, there)
            nearer = misses < missed * (1 - SMALLEST_GAIN)
            if nearer or (misses == missed == 0.0 and _better(there, here)):
                zones, here, missed = moved, there, misses
                break
        else:
            return here
    return here


def _better(there: Outcome, here: Outcome) -> bool:
    """Whether a plan's score is higher by more than rounding; a plan without any goodput has the score −∞."""
    return there.score > here.score + (SMALLEST_GAIN * abs(here.score) if isfinite(here.score) else 0.0)


def _worth(problem: Problem) -> Array:
    """The log-values of the candidates; one that is as good as never up still has a worse one to be compared with."""
    return np.maximum(problem.terms.log_value, NEVER_UP)


def _scored(problem: Problem, zones: NDArray[np.int64], option: int) -> Outcome:
    return problem.outcome(dict(sorted(Counter(zones.tolist()).items())), option)


def _caps(problem: Problem, option: int) -> list[_Cap]:
    """The limits on what is bought, paid and drawn; energy counts as if the job always ran."""
    caps = [_Cap(cap.limit, cap.times * problem.column(cap.column), cap.shared, cap.bound) for cap in problem.capped]
    most = problem.candidates.instance.limits.yearly_cost
    if most is not None:
        always = problem.blocked_yearly_cost + problem.energy_cost
        caps.append(_Cap("yearly_cost", always, problem.option_cost[option], most))
    return caps


def _least(problem: Problem, caps: list[_Cap]) -> NDArray[np.int64]:
    """For each zone the candidate that uses least of the limits and costs least; of equal ones the most valuable."""
    use = _spent(problem, caps)
    first: dict[int, int] = {}
    for candidate in np.lexsort((-_worth(problem), use)):
        first.setdefault(int(problem.group[candidate]), int(candidate))
    return np.array([first[z] for z, count in enumerate(problem.members) for _ in range(count)], dtype=np.int64)


def _missed(problem: Problem, caps: list[_Cap], zones: NDArray[np.int64], plan: Outcome) -> float:
    """By how much a plan misses its limits, floors and target, each in shares of it; 0 for a feasible plan."""
    if plan.feasible:
        return 0.0
    limits, target = problem.candidates.instance.limits, problem.candidates.instance.objective.goodput_target
    over = [
        max(0.0, float(cap.use[zones].sum()) + cap.constant - cap.bound - rounding(cap.name, cap.bound))
        / max(cap.bound, 1.0)
        for cap in caps
    ]
    if limits.working_gpus.minimum is not None:
        over.append(max(0.0, 1.0 - plan.working_gpus / limits.working_gpus.minimum))
    if limits.availability is not None:
        over.append(min(max(0.0, log(limits.availability) - plan.log_up), -NEVER_UP))
    if target is not None:
        over.append(max(0.0, 1.0 - plan.goodput / target))
    return sum(over)


def _changes(problem: Problem, caps: list[_Cap], zones: NDArray[np.int64], plan: Outcome) -> list[tuple[int, int]]:
    """The changes of one zone that look best: which zone, to which candidate.

    Of the zones of a class that have the same candidate one may change.
    """
    _, one_of_each = np.unique(zones, return_index=True)
    kinds = [one_of_each[problem.group[zones[one_of_each]] == z] for z in range(len(problem.members))]
    found: list[tuple[float, float, int, int]] = []
    for place in range(max(map(len, kinds))):  # one kind of each class at a time, the last of those with fewer again
        changing = np.array([kind[min(place, len(kind) - 1)] for kind in kinds], dtype=np.int64)
        found += _ranked(problem, caps, zones, plan, changing)
    return [(zone, candidate) for *_, zone, candidate in sorted(set(found))[:MOST_TRIED]]


def _ranked(
    problem: Problem, caps: list[_Cap], zones: NDArray[np.int64], plan: Outcome, changing: NDArray[np.int64]
) -> list[tuple[float, float, int, int]]:
    """The best changes of one zone of each class, the best first: minus rank, minus gain, zone, candidate."""
    value = _worth(problem)
    base = zones[changing][problem.group]

    def more(column: Array) -> Array:
        return column - column[base]

    scale = problem.column("log_scale")
    lowest = np.sort(scale[zones])[:2]
    others = np.where(scale[zones[changing]] > lowest[0], lowest[0], lowest[-1])[problem.group]
    slower = np.minimum(scale, others) - lowest[0]
    scheme = problem.schemes[plan.option]
    slope = _slope(scheme, plan.rate)
    placed = np.maximum(more(problem.column("placed_gpus")) / max(plan.placed_gpus, 1e-9), -1.0 + 1e-12)
    value_gain = more(value) + np.log1p(placed) + slope * more(problem.column("rate_per_h")) + slower
    cost_gain = np.zeros(len(value))
    if problem.goal != "value":
        always, running, _ = problem.minimised
        total = plan.cost if problem.goal == "ratio" else -plan.score
        cost_gain = -(more(always) + np.exp(plan.log_up) * more(running)) / (abs(total or 0.0) or 1.0)

    instance = problem.candidates.instance
    limits, target = instance.limits, instance.objective.goodput_target
    wanted, use, fits = np.zeros(len(value)), np.zeros(len(value)), np.ones(len(value), dtype=bool)
    missing = False
    for cap in caps:
        extra, slack = more(cap.use), rounding(cap.name, cap.bound)
        left = cap.bound - cap.constant - float(cap.use[zones].sum())
        if left < -slack:
            missing, wanted = True, wanted - np.maximum(extra, left) / -left
        else:
            use += np.maximum(extra, 0.0) / max(left, SPENT * cap.bound)
            if cap.name != "yearly_cost":  # that is an over-estimate: the exact score decides
                fits &= extra <= left + slack
    shortfalls = []
    if limits.working_gpus.minimum is not None:
        shortfalls.append((problem.column("working_gpus"), limits.working_gpus.minimum - plan.working_gpus))
    if limits.availability is not None:
        needed = log1p(limits.availability - 1.0) - max(plan.log_up, NEVER_UP)
        shortfalls.append((np.maximum(problem.terms.log_up, NEVER_UP), needed))
    for column, shortfall in shortfalls:
        if shortfall > 0:
            missing, wanted = True, wanted + np.minimum(more(column), shortfall) / shortfall
        else:
            fits &= more(column) >= shortfall
    if target is not None:
        shortfall = log(target) - log(max(plan.goodput, 1e-300))
        if shortfall > 0:
            missing, wanted = True, wanted + np.minimum(value_gain, shortfall) / shortfall
            use += np.maximum(-cost_gain, 0.0)
        else:
            fits &= value_gain >= shortfall
    if not missing:
        wanted = {"value": value_gain, "cost": cost_gain, "ratio": value_gain + cost_gain}[problem.goal]
    useful = np.flatnonzero(fits & (wanted > SMALLEST_GAIN))
    free = use[useful] <= 0
    rank = np.where(free, np.inf, wanted[useful] / np.where(free, 1.0, use[useful]))
    order = np.lexsort((useful, -wanted[useful], -rank))[:MOST_TRIED]
    return [
        (-float(rank[i]), -float(wanted[c]), int(changing[problem.group[c]]), int(c))
        for i, c in zip(order, useful[order], strict=True)
    ]
