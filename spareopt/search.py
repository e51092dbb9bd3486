"""The search for the best plan: selection, exact re-scoring, refinement and screening, until the bounds meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from math import comb, inf, prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.clock import Clock
from spareopt.errors import SolverError
from spareopt.formulations import selection as formulation
from spareopt.formulations.selection import Selection
from spareopt.marginal_analysis import greedy
from spareopt.plan import INTERRUPTED, LIMIT_REACHED, PROVEN, ProofStatus
from spareopt.problem import Outcome, Problem
from spareopt.relaxation import Interval, Refinement, rate_interval, score_bound, trivial_bound
from spareopt.solver import Progress as SolverProgress
from spareopt.solver import SolveRecord, Status, solve_milp, solve_relaxations

Array = NDArray[np.float64]

DEFAULT_GAP = 1e-4
SCREENS = 4  # rounds of screening in a row, at most
FIRST_TRIES = 8  # selections for a first plan, refined in between, where they miss a target
FIRST_GAP = 1e-3  # of such a selection, where no wider one is asked
FIRST_NODES = 100  # of its branch and bound: it need not be proven
SOLVER_SHARE = 0.9  # of the gap asked; the rest is for what the pieces are off
DENSER = 16  # pieces are cut until they are off by less than this part of the gap asked
FEW_OF_CLASS = 4  # of the most promising candidates of each class, for a first plan
FEW_CANDIDATES = 300  # the MILP proves that many in well under a second; more are screened first
MOST_EXCLUDED = 40  # plans cut off where zones are coupled: each costs a MILP, and the bound may never meet them
MOST_POLISHED = 2000  # plans scored one by one where the bound does not close
FEASIBILITY_TOLERANCE = 1e-7  # of the solver's rows, in units near one; what it does to bounds: relaxation.bound_slack
REPORT_EVERY = 0.5  # s


@dataclass(frozen=True)
class SolveProgress:
    """Where a solve stands: what it does, for how long, the best value so far and the bound (objective's unit)."""

    phase: str
    seconds: float
    value: float | None = None
    bound: float | None = None


OnProgress = Callable[[SolveProgress], None]


def named(report: OnProgress | None, words: str) -> OnProgress:
    """Reports with words before the phase; none where nobody listens."""

    def tell(progress: SolveProgress) -> None:
        if report is not None:
            report(replace(progress, phase=f"{words}: {progress.phase}"))

    return tell


def while_pruning(number: int, clock: Clock, report: OnProgress) -> Callable[[float], bool]:
    """What is told the share of candidates that is pruned: it reports now and then, and says whether to go on."""
    told = -inf

    def going(share: float) -> bool:
        nonlocal told
        if clock.elapsed() - told > REPORT_EVERY:
            told = clock.elapsed()
            report(SolveProgress(f"pruning {number:,} candidates, {share:.0%} done", told))
        return clock.going()

    return going


@dataclass(frozen=True)
class _Case:
    """A piece of a curve, or a scale of the slowest zone: its binary variable, and what goes if it is useless."""

    variable: Any
    interval: Interval | None = None
    log_scale: float | None = None


def _families(refinement: Refinement, problem: Problem, selection: Selection, model: Any) -> list[list[_Case]]:
    """The cases of a selection by family: each plan is in one case of each family."""
    assert selection.rate is not None
    families = [
        [_Case(model.piece[p], rate_interval(piece)) for p, piece in enumerate(selection.rate.pieces)],
    ]
    if selection.slowest is not None:
        scales = selection.slowest.log_scale
        families.append([_Case(var, log_scale=float(scales[k])) for k, var in model.level.items() if not var.fixed])
    for binaries, intervals in (
        ("cost_piece", refinement.cost_intervals),
        ("exponent_piece", refinement.log_up_intervals),
    ):
        if hasattr(model, binaries):
            free = [var for var in getattr(model, binaries).values() if not var.fixed]
            families.append([_Case(var, piece) for var, piece in zip(free, intervals(problem), strict=True)])
    return families


class Search:
    """The loop of selection, exact re-scoring and refinement, and what it knows so far.

    ``score`` is what is maximised: the log of goodput, minus the cost, or the log of goodput per cost.  ``floor`` is
    the score of a plan known elsewhere (at another level of what zones share): only better plans are looked for.
    """

    def __init__(
        self,
        problem: Problem,
        gap: float,
        seed: int,
        refinement: Refinement,
        clock: Clock,
        report: OnProgress,
        floor: float = -inf,
    ) -> None:
        self.problem, self.gap, self.seed, self.refinement = problem, gap, seed, refinement
        self.floor = floor
        self.start = problem
        self.clock, self.report = clock, report
        self.best: Outcome | None = None
        self.greedy: Outcome | None = None  # by candidates of ``start``
        self.bound = max(trivial_bound(problem), floor)  # nothing below what is known is of interest
        self.rounds = 0
        self.status: ProofStatus = LIMIT_REACHED
        self.log = ""
        self.model: Any = None
        self.infeasible = False
        self.feasibility_tolerance = FEASIBILITY_TOLERANCE
        self._reported = 0.0
        self._tilted_at: Outcome | None = None

    def run(self) -> None:
        """Refine until the bounds meet, the limit is reached, nothing is left, or the user stops it."""
        try:
            self._refine_until_closed()
        except KeyboardInterrupt:
            self.status = INTERRUPTED

    def _refine_until_closed(self) -> None:
        if self.problem.terms.coupled and sum(self.problem.members) == 1:
            outcome, every = self.problem.tried_uniform()  # of one zone every plan can be scored exactly
            if every:
                self.best, self.infeasible, self.status = outcome, outcome is None, PROVEN
                self.bound = self.value if self.value > -inf else self.bound
                return
        if sum(self.problem.members) > 1 and not self.problem.terms.coupled:
            self._tell("marginal analysis", self.bound)
            self.greedy = greedy(self.problem, self.clock.going)
            if len(self.problem.members) > 1:  # of one class it would win ties by zones built unlike for nothing
                self._take(self.greedy)
        while True:
            if not self.refinement.excluded:
                self._screen()
                if self._closed():
                    self.status = PROVEN
                    return
            remaining = self.clock.remaining()
            if remaining is not None and remaining <= 0:
                self.best = self.best or self.problem.uniform()
                return
            record = self._select(remaining)
            self.rounds += 1
            if record.status is Status.INFEASIBLE:
                # every plan not yet scored is out of reach: the best scored one is optimal, or there is none
                self.infeasible = self.best is None
                self.bound = self.value if self.value > -inf else self.bound
                self.status = PROVEN
                return
            if record.status in (Status.ERROR, Status.UNBOUNDED) and not record.has_incumbent:
                raise SolverError(f"HiGHS ended with {record.status.value}; its log ends: {record.log[-500:]}")
            outcome = self._score(record) if record.has_incumbent else None
            if self._closed():
                self.status = PROVEN
                return
            if record.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
                self.status = INTERRUPTED if record.status is Status.INTERRUPTED else LIMIT_REACHED
                return
            assert outcome is not None
            self._refine(outcome)
            if self.problem.terms.coupled and len(self.refinement.excluded) >= MOST_EXCLUDED:
                self.best = self.best or self.problem.uniform()
                self._polish()
                if self._closed() or self.score_all():
                    self.status = PROVEN
                return

    def _polish(self) -> None:
        """Improve the best plan by exact scores: for one class of zones after the other, each candidate for all of it.

        Where zones are coupled the selection proposes by over-estimates, which may rank plans badly.
        """
        tried = 0
        better = self.best is not None
        while better and tried < MOST_POLISHED and self.clock.remaining() != 0:
            better = False
            for z, number in enumerate(self.problem.members):
                assert self.best is not None
                rest = {c: n for c, n in self.best.counts.items() if self.problem.group[c] != z}
                order = np.argsort(-self.problem.terms.log_value, kind="stable")
                for candidate in order[self.problem.group[order] == z][: MOST_POLISHED // 10]:
                    outcome = self.problem.outcome(rest | {int(candidate): number}, self.best.option)
                    tried += 1
                    if outcome.feasible and outcome.score > self.best.score:
                        self.best, better = outcome, True
        self.bound = max(self.bound, self.value)

    def score_all(self) -> bool:
        """Score every plan that is left, where they are few; whether that was done."""
        problem = self.problem
        classes = [np.flatnonzero(problem.group == z) for z in range(len(problem.members))]
        plans = len(problem.schemes) * prod(
            comb(len(rows) + number - 1, number) for rows, number in zip(classes, problem.members, strict=True)
        )
        if plans > MOST_POLISHED:
            return False
        parts = [
            combinations_with_replacement(rows.tolist(), number)
            for rows, number in zip(classes, problem.members, strict=True)
        ]
        for taken in product(*parts):
            counts = Counter(candidate for part in taken for candidate in part)
            for option in range(len(problem.schemes)):
                if self.clock.remaining() == 0:
                    return False
                outcome = problem.outcome(dict(sorted(counts.items())), option)
                self._take(outcome)
        self.infeasible = self.best is None
        self.bound = self.value if self.value > -inf else self.bound
        return True

    @property
    def value(self) -> float:
        """The best score known, here or elsewhere."""
        return self.floor if self.best is None else max(self.floor, self.best.score)

    def _select(self, remaining: float | None) -> SolveRecord:
        if self.best is not None and self.best is not self._tilted_at:
            self.problem, self._tilted_at = self.problem.tilted(self.best), self.best
        selection = self.refinement.selection(self.problem)
        model = formulation.build(selection)
        start = None
        if self.best is not None and not self.refinement.excluded:
            start = formulation.start_at(model, self.best.counts, self.best.option)
        record = solve_milp(
            model,
            rel_gap=0.0,
            abs_gap=self._tolerance(),
            time_limit=remaining,
            seed=self.seed,
            feasibility_tolerance=self.feasibility_tolerance,
            start=start,
            options={"mip_allow_restart": False},  # restarts cost more than they save on these models
            on_progress=self._solver_progress,
        )
        self.model = model
        self.log += f"=== selection {self.rounds + 1}\n{record.log}\n"
        if record.bound is not None:
            free = float(score_bound(self.problem, np.array(record.bound), self.feasibility_tolerance))
            self.bound = min(self.bound, max(free, self.value))
        return record

    def _screen(self) -> None:
        """Leave out what no plan better than the best one can use: pieces of the curves, slowest scales, candidates.

        In the linear relaxation of one case (one piece of a curve, or one scale of the slowest zone) no plan is worth
        more than its bound, and none that uses candidate c more than the bound plus c's reduced cost.  Every plan is in
        one case of each family.  Fewer candidates span less, so this is repeated with denser pieces over the narrower
        range.
        """
        for screen in range(SCREENS):
            if self.clock.remaining() == 0 or len(self.problem.rows) <= FEW_CANDIDATES:
                return
            selection = self.refinement.selection(self.problem)
            self.model = model = formulation.build(selection)
            families = _families(self.refinement, self.problem, selection, model)
            most, bound = np.full(len(self.problem.rows), inf), inf
            worth, bounds = self._relaxed(model, [case.variable for family in families for case in family])
            first = 0
            for family in families:
                here = slice(first, first + len(family))
                most, first = np.minimum(most, worth[here].max(axis=0)), here.stop
                bound = min(bound, float(bounds[here].max()))
            if screen == 0 and self.rounds == 0:
                self._first_plan(most)
            if self.value == -inf:
                return
            self.bound = min(self.bound, max(bound, self.value))
            self._tell("screening candidates", self.bound, force=True)
            cases = [case for family in families for case in family]
            useless = [case for case, most_here in zip(cases, bounds, strict=True) if most_here < self.value]
            self.refinement = self.refinement.without(c.interval for c in useless if c.interval is not None)
            scales = tuple(case.log_scale for case in useless if case.log_scale is not None)
            self.refinement = replace(self.refinement, closed_scales=(*self.refinement.closed_scales, *scales))
            if self._closed() or len(useless) == len(cases):
                return
            own = [] if self.best is None else list(self.best.counts)
            kept = np.union1d(np.flatnonzero(most >= self.value), np.array(own, dtype=np.int64))
            if len(np.unique(self.problem.group[kept])) < len(self.problem.members):
                self.bound = self.value  # a class of zones has no candidate left that any better plan could use
                return
            self._keep(kept)
            self.refinement = self.refinement.denser(self.problem, max(self.gap, 1e-6) / DENSER)

    def _relaxed(self, model: Any, cases: list[Any]) -> tuple[Array, Array]:
        """For each case, a bound on the score of any plan, and on that of any plan that uses each candidate."""
        number = len(self.problem.rows)
        worth, bounds = np.full((len(cases), number), -np.inf), np.full(len(cases), -np.inf)
        relaxations = solve_relaxations(
            model,
            cases,
            list(model.n.values()),
            time_limit=self.clock.remaining(),
            feasibility_tolerance=self.feasibility_tolerance,
        )
        for i, relaxation in enumerate(relaxations):
            if relaxation is not None:
                with_each = np.append(relaxation.reduced_costs, 0.0) + relaxation.bound
                scores = score_bound(self.problem, with_each, self.feasibility_tolerance)
                worth[i], bounds[i] = scores[:-1], scores[-1]
        return worth, bounds

    def _first_plan(self, worth: Array) -> None:
        """A better plan to beat: the best with all zones alike, or one from a selection among promising candidates."""
        self._take(self.problem.uniform())
        order = np.argsort(-worth, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        of_class = pd.Series(rank).groupby(self.problem.group).rank()
        promising = np.flatnonzero((rank < FEW_CANDIDATES) | (of_class <= FEW_OF_CLASS).to_numpy())
        few = self.problem.subset(promising)
        tolerance = max(self.gap, FIRST_GAP)
        for _ in range(FIRST_TRIES):
            model = formulation.build(self.refinement.selection(few))
            record = solve_milp(
                model,
                abs_gap=tolerance,
                time_limit=self.clock.remaining(),
                seed=self.seed,
                feasibility_tolerance=self.feasibility_tolerance,
                options={"mip_max_nodes": FIRST_NODES},
            )
            self.log += f"=== first plan, among {len(promising)} candidates\n{record.log}\n"
            if not record.has_incumbent:
                return
            outcome = few.outcome(*formulation.chosen(model))
            counts = {int(promising[c]): count for c, count in outcome.counts.items()}
            self._take(replace(outcome, counts=counts))
            if record.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if outcome.feasible:
                return
            refined = self.refinement.at(few, outcome)  # it missed the target that its over-estimate met
            if refined is None:
                return
            self.refinement = refined

    def _take(self, outcome: Outcome | None) -> None:
        """Keep a plan if it is feasible and better than the best."""
        if outcome is not None and outcome.feasible and (self.best is None or outcome.score > self.best.score):
            self.best = outcome

    def _keep(self, positions: NDArray[np.int64]) -> None:
        """Go on with the candidates at these positions only."""
        place = {int(position): i for i, position in enumerate(positions)}
        self.problem = self.problem.subset(positions)
        if self.best is None:
            return
        self.best = replace(self.best, counts={place[c]: count for c, count in self.best.counts.items()})

    def _score(self, record: SolveRecord) -> Outcome:
        outcome = self.problem.outcome(*formulation.chosen(self.model))
        self._take(outcome)
        self.bound = max(self.bound, self.value)
        self._tell(f"refinement {self.rounds}", self.bound, force=True)
        return outcome

    def _tolerance(self) -> float:
        """Most of the gap asked, in the unit of the selection's objective: a logarithm, or a cost of at least one.

        The rest is left for the over-estimates, which are nearly exact at the end.
        """
        return SOLVER_SHARE * self.gap

    def _closed(self) -> bool:
        return self.value > -inf and self.problem.gap(self.value, self.bound) <= self.gap

    def _refine(self, outcome: Outcome) -> None:
        """Make the couplings exact at a plan, or cut the plan off where they already are."""
        refined = self.refinement.at(self.problem, outcome)
        if refined is None:
            refined = self.refinement.excluding(outcome)
        self.refinement = refined

    def _solver_progress(self, progress: SolverProgress) -> None:
        self._tell(f"refinement {self.rounds + 1}", self.bound)

    def _tell(self, phase: str, bound: float, force: bool = False) -> None:
        now = self.clock.elapsed()
        if not force and now - self._reported < REPORT_EVERY:
            return
        self._reported = now
        value = None if self.value == -inf else self.problem.objective_value(self.value)
        self.report(SolveProgress(phase, now, value, self.problem.objective_value(bound)))
