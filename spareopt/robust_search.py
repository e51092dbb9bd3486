"""The search for the best plan over scenarios: one choice, exact scores in every scenario, refinement until closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from math import ceil, exp, inf, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spareopt.candidates import DECISIONS, Candidates, enumerate_candidates
from spareopt.clock import Clock
from spareopt.decided import row_of
from spareopt.decisions import Decisions
from spareopt.dominance import prune_together
from spareopt.errors import Fault, InfeasibleError, InputError, SolverError
from spareopt.formulations.robust import Robust, Scenario, build
from spareopt.formulations.selection import Selection, chosen, start_at
from spareopt.infeasible import out_of_reach
from spareopt.measures import Measure
from spareopt.plan import INTERRUPTED, LIMIT_REACHED, PROVEN, ProofStatus
from spareopt.problem import Outcome, Problem, build_problem
from spareopt.relaxation import (
    ROOM,
    Refinement,
    pessimistic_log_goodput,
    sharpen,
)
from spareopt.scenarios import Weighted
from spareopt.schemes import Model, recovery_schemes
from spareopt.search import (
    FEASIBILITY_TOLERANCE,
    FEW_CANDIDATES,
    MOST_EXCLUDED,
    REPORT_EVERY,
    SOLVER_SHARE,
    OnProgress,
    SolveProgress,
    while_pruning,
)
from spareopt.solver import Progress as SolverProgress
from spareopt.solver import SolveRecord, Status, solve_milp, solve_relaxations

Array = NDArray[np.float64]
Choice = tuple[dict[int, int], int]

SCREENS = 3  # rounds of screening in a row
WORTH_SCREENING = 0.9  # a screen that keeps more than this share is the last one
FAR_BELOW = 20.0  # ln of how far below a scenario's best a goodput counts as hardly any
MOST_PIECES = 6  # of each exponential at first
MOST_CUT_OFF = 400  # plans cut off where zones are not coupled: each costs a MILP
COLUMNS = 8.0
"""Columns of range about one in each scenario, and as many in common; see ``spareopt.relaxation.bound_slack``."""


@dataclass(frozen=True)
class Table:
    """The candidates of all scenarios: a row is the same choice in each; what can not be built somewhere is left out.

    ``dominated_by`` holds the row of a kept candidate that is no worse in any scenario, or −1.
    """

    problems: tuple[Problem, ...]
    dominated_by: NDArray[np.int64]
    enumerated: int

    @property
    def kept(self) -> int:
        """Candidates that no other is at least as good as in every scenario."""
        return len(self.problems[0].rows)

    def position(self, decisions: Decisions) -> Choice | None:
        """Decisions as counts by position and an option, with what dominates them; None where they can't be built."""
        problem = self.problems[0]
        candidates = problem.candidates
        place = {int(row): i for i, row in enumerate(problem.rows)}
        counts: dict[int, int] = {}
        for choice in decisions.zones:
            row = row_of(candidates, candidates.table, choice)
            if row is None:
                return None
            winner = int(self.dominated_by[row])
            position = place[row if winner < 0 else winner]
            counts[position] = counts.get(position, 0) + choice.count
        names = [plan.name for plan in candidates.instance.checkpoint_plans]
        return dict(sorted(counts.items())), names.index(decisions.checkpoint_plan)


def common_table(
    scenarios: Sequence[Weighted],
    model: Model,
    report: OnProgress,
    clock: Clock,
) -> Table:
    """Candidates of every scenario, aligned row by row and pruned together; pruning ends at the time limit.

    Raises InfeasibleError where a zone is left without a candidate, or a scenario's limit is out of reach of all.
    """
    versions = []
    for scenario in scenarios:
        report(SolveProgress(f"scoring candidates in scenario {scenario.name}", clock.elapsed()))
        candidates = enumerate_candidates(scenario.instance, model)
        if hopeless := out_of_reach(candidates):
            raise InfeasibleError(f"scenario {scenario.name}: " + "; ".join(hopeless))
        versions.append(candidates)
    enumerated = len(versions[0].table)
    versions = _aligned(versions)
    left = set(versions[0].table["zone"].astype(int))
    for z, zone in enumerate(versions[0].instance.zones):
        if z not in left:
            raise InfeasibleError(f"zones.{zone.name}: no choice can be built in every scenario")
    schemes = [recovery_schemes(version.instance, model) for version in versions]
    going = while_pruning(len(versions[0].table), clock, report)
    going(0.0)
    dominated_by = prune_together(versions, schemes, going)
    problems = tuple(build_problem(version, dominated_by, own) for version, own in zip(versions, schemes, strict=True))
    return Table(problems, dominated_by.to_numpy(dtype=np.int64), enumerated)


def _aligned(versions: list[Candidates]) -> list[Candidates]:
    """The candidates that every version has, in the same rows."""
    # a number that no choice has stands for what is not stated, as NaN is not equal to itself
    decisions = [version.table[DECISIONS].astype(float).fillna(-1.0) for version in versions]
    if all(decisions[0].equals(other) for other in decisions[1:]):
        return versions
    keys = [list(table.itertuples(index=False, name=None)) for table in decisions]
    everywhere = set(keys[0]).intersection(*map(set, keys[1:]))
    result = []
    for version, rows in zip(versions, keys, strict=True):
        keep = np.flatnonzero([row in everywhere for row in rows])
        result.append(
            replace(version, table=version.table.iloc[keep].reset_index(drop=True), short=version.short[keep])
        )
    first = result[0].table[DECISIONS].astype(float)
    if not all(first.equals(other.table[DECISIONS].astype(float)) for other in result[1:]):
        raise SolverError("the candidates of two scenarios do not stand in the same order; please report this")
    return result


@dataclass(frozen=True)
class RobustOutcome:
    """What a choice comes to in every scenario, exactly."""

    counts: dict[int, int]
    option: int
    outcomes: tuple[Outcome, ...]
    value: float

    @property
    def feasible(self) -> bool:
        """Whether every scenario's limits hold in it; in some it may do no work that a float can hold."""
        return self.value > 0 and all(outcome.within_limits for outcome in self.outcomes)


class RobustSearch:
    """The loop of robust selection, exact scores in every scenario and refinement, and what it knows so far.

    ``most`` holds a bound on the goodput that any plan has in each scenario: with it and the best value known, every
    scenario has a least goodput that a better plan must reach, so that each exponential is needed on a short range.
    """

    def __init__(
        self,
        table: Table,
        measure: Measure,
        most: Array,
        gap: float,
        seed: int,
        clock: Clock,
        report: OnProgress,
    ) -> None:
        self.problems, self.measure, self.gap, self.seed = list(table.problems), measure, gap, seed
        self.most = np.asarray(most, dtype=float) * (1.0 + ROOM)
        self.clock, self.report = clock, report
        self.refinements = [Refinement.initial(problem, coarse=False) for problem in self.problems]
        self.points: list[list[float]] = [[] for _ in self.problems]
        self.excluded: tuple[Choice, ...] = ()
        self.best: RobustOutcome | None = None
        self.bound = measure.of(self.most)
        self.unit = log(float(self.most.max()))
        self.rounds = 0
        self.status: ProofStatus = LIMIT_REACHED
        self.infeasible = False
        self._reported = 0.0
        self._span = 0.0  # ranges of the pieces of log-values, together

    @property
    def value(self) -> float:
        """The best value known; 0 without a plan."""
        return 0.0 if self.best is None else self.best.value

    def try_choice(self, choice: Choice) -> RobustOutcome:
        """Score a choice in every scenario, and keep it where it is the best so far."""
        counts, option = choice
        outcomes = tuple(problem.outcome(counts, option) for problem in self.problems)
        outcome = RobustOutcome(counts, option, outcomes, self.measure.of([o.goodput for o in outcomes]))
        if outcome.feasible and outcome.value > self.value:
            self.best = outcome
            self.bound = max(self.bound, outcome.value)
        return outcome

    def run(self, starts: Sequence[Choice] = ()) -> None:
        """Refine until the bounds meet, a limit is reached, nothing is left, or the user stops it."""
        try:
            for choice in starts:
                self.try_choice(choice)
            for problem in self.problems:
                if (alike := problem.uniform()) is not None:
                    self.try_choice((dict(alike.counts), alike.option))
            self._refine_until_closed()
        except KeyboardInterrupt:
            self.status = INTERRUPTED

    def _refine_until_closed(self) -> None:
        while not self._closed():
            if self.clock.remaining() == 0:
                return
            if not self.excluded:
                self._screen()
                if self._closed():
                    break
            record, model = self._select()
            self.rounds += 1
            if record.status is Status.INFEASIBLE:  # no plan left can be better than the best one scored
                self._nothing_better()
                break
            if record.status in (Status.ERROR, Status.UNBOUNDED) and not record.has_incumbent:
                raise SolverError(f"HiGHS ended with {record.status.value}; its log ends: {record.log[-500:]}")
            outcome = self.try_choice(chosen(model)) if record.has_incumbent else None
            self._tell(f"refinement {self.rounds}", force=True)
            if self._closed():
                break
            if record.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
                self.status = INTERRUPTED if record.status is Status.INTERRUPTED else LIMIT_REACHED
                return
            assert outcome is not None
            self._refine(outcome)
            coupled = any(problem.terms.coupled for problem in self.problems)
            if len(self.excluded) >= (MOST_EXCLUDED if coupled else MOST_CUT_OFF):
                return
        self.status = PROVEN

    def _closed(self) -> bool:
        return self.infeasible or (self.value > 0 and self.bound - self.value <= self.gap * self.value)

    def _nothing_better(self) -> None:
        self.infeasible = self.best is None
        self.bound = self.value

    def _edges(self) -> list[tuple[float, ...]]:
        """The range of each scenario's log-value in which a better plan can be, with the edges of its pieces."""
        result = []
        for s, most in enumerate(self.most):
            high = log(most)
            least = 0.0 if self.best is None else self.measure.least(s, self.most, self.value)
            lost = least <= most * exp(-FAR_BELOW)  # a better plan may do no useful work in this scenario
            low = min(high, high - FAR_BELOW if lost else log(least) - ROOM)
            width = high - low
            pieces = min(MOST_PIECES, max(1, ceil(width / sqrt(2.0 * max(self.gap, 1e-8)))))
            # short pieces at the top, where the plans of interest are
            inner = [high - width * (1.0 - q / pieces) ** (1.0 if width < 1.0 else 3.0) for q in range(1, pieces)]
            inner += self.points[s]
            tail = (min(low, pessimistic_log_goodput(self.problems[s])) - 1.0,) if lost else ()
            result.append((*tail, low, *sorted({x for x in inner if low + ROOM < x < high - ROOM}), high))
        return result

    def robust(self) -> Robust:
        """The robust selection under the present refinements."""
        selections = [
            refinement.selection(problem) for refinement, problem in zip(self.refinements, self.problems, strict=True)
        ]
        common, own = split(selections)
        scenarios = tuple(map(Scenario, self.measure.weights, own, self._edges()))
        common = replace(common, excluded=self.excluded)
        self._span = sum(abs(edge - self.unit) for scenario in scenarios for edge in scenario.edges)
        return Robust(common, scenarios, self.measure.criterion, self.measure.alpha, self.unit)

    def _in_model(self, value: float) -> float:
        """A value in the unit of the model's objective."""
        if self.measure.criterion == "worst":
            return log(value) - self.unit if value > 0 else -inf
        return value / exp(self.unit)

    def _from_model(self, objective: Array) -> Array:
        """Values proved by the solver's dual bounds, with the slack of its tolerances."""
        columns = 2.0 * sum(self.problems[0].members) + COLUMNS * (len(self.problems) + 1) + self._span
        raised = objective + FEASIBILITY_TOLERANCE * columns
        return np.asarray(np.exp(raised + self.unit) if self.measure.criterion == "worst" else raised * exp(self.unit))

    def _select(self) -> tuple[SolveRecord, Any]:
        if self.best is not None:
            tilted = zip(self.problems, self.best.outcomes, strict=True)
            self.problems = [p.tilted(o) if p.terms.coupled else p for p, o in tilted]
        model = build(self.robust())
        start = None
        if self.best is not None and not self.excluded:
            start = start_at(model, self.best.counts, self.best.option)
        scale = 1.0 if self.measure.criterion == "worst" else max(self._in_model(self.value), 1e-3)
        record = solve_milp(
            model,
            abs_gap=SOLVER_SHARE * self.gap * scale,
            time_limit=self.clock.remaining(),
            seed=self.seed,
            feasibility_tolerance=FEASIBILITY_TOLERANCE,
            start=start,
            options={"mip_allow_restart": False},
            on_progress=self._solver_progress,
        )
        if record.bound is not None:
            self.bound = min(self.bound, max(float(self._from_model(np.array(record.bound))), self.value))
        return record, model

    def _screen(self) -> None:
        """Leave out the candidates that no plan better than the best one can use, by reduced costs of the relaxation.

        One linear relaxation for each option; in it no plan that uses candidate c is worth more than its bound plus
        the reduced cost of c.
        """
        for _ in range(SCREENS):
            number = len(self.problems[0].rows)
            if self.best is None or number <= FEW_CANDIDATES or self.clock.remaining() == 0:
                return
            model = build(self.robust())
            relaxations = solve_relaxations(
                model,
                list(model.option.values()),
                list(model.n.values()),
                time_limit=self.clock.remaining(),
                feasibility_tolerance=FEASIBILITY_TOLERANCE,
            )
            worth, bound = np.full(number, -np.inf), -np.inf
            for relaxation in relaxations:
                if relaxation is not None:
                    values = self._from_model(np.append(relaxation.reduced_costs, 0.0) + relaxation.bound)
                    worth, bound = np.maximum(worth, values[:-1]), max(bound, float(values[-1]))
            self.bound = min(self.bound, max(bound, self.value))
            self._tell("screening candidates", force=True)
            if self._closed():
                return
            kept = np.union1d(np.flatnonzero(worth >= self.value), np.array(list(self.best.counts), dtype=np.int64))
            self._keep(kept)
            self.refinements = [
                refinement.denser(problem, max(self.gap, 1e-6) / 4)
                for refinement, problem in zip(self.refinements, self.problems, strict=True)
            ]
            if len(kept) > WORTH_SCREENING * number:
                return

    def _keep(self, positions: NDArray[np.int64]) -> None:
        assert self.best is not None
        place = {int(position): i for i, position in enumerate(positions)}
        self.problems = [problem.subset(positions) for problem in self.problems]
        counts = {place[c]: count for c, count in self.best.counts.items()}
        outcomes = tuple(replace(outcome, counts=counts) for outcome in self.best.outcomes)
        self.best = replace(self.best, counts=counts, outcomes=outcomes)

    def _refine(self, outcome: RobustOutcome) -> None:
        """Make every coupling exact at a plan, or cut the plan off where all of them are."""
        cases = (
            (s, problem, own) for s, (problem, own) in enumerate(zip(self.problems, outcome.outcomes, strict=True))
        )
        finer = sharpen(self.refinements, self.points, cases, self.measure.criterion != "worst")
        if not finer:
            self.excluded = (*self.excluded, (outcome.counts, outcome.option))

    def _solver_progress(self, progress: SolverProgress) -> None:
        self._tell(f"refinement {self.rounds + 1}")

    def _tell(self, phase: str, force: bool = False) -> None:
        now = self.clock.elapsed()
        if not force and now - self._reported < REPORT_EVERY:
            return
        self._reported = now
        self.report(SolveProgress(phase, now, self.value or None, self.bound))


def split(selections: Sequence[Selection]) -> tuple[Selection, list[Selection]]:
    """What several selections of the same choices have in common, and what each has of its own.

    Terms and limits that are the same in all are common; log-values and rates, which differ, are each one's own.
    """
    first, *others = selections
    concave = all(_same(first.concave, other.concave) for other in others)
    slowest = all(_same(first.slowest, other.slowest) for other in others)
    shared = tuple(
        budget
        for budget in first.budgets
        if not budget.with_energy and all(any(_same(budget, b) for b in other.budgets) for other in others)
    )
    common = replace(
        first,
        log_value=np.zeros_like(first.log_value),
        constant=0.0,
        concave=first.concave if concave else (),
        slowest=first.slowest if slowest else None,
        rate=None,
        energy=None,
        budgets=shared,
    )
    own = [
        replace(
            selection,
            concave=() if concave else selection.concave,
            slowest=None if slowest else selection.slowest,
            budgets=tuple(b for b in selection.budgets if not any(_same(b, s) for s in shared)),
            totals=(),
            excluded=(),
        )
        for selection in selections
    ]
    return common, own


def _same(a: Any, b: Any) -> bool:
    """Whether two parts of selections hold the same numbers."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if is_dataclass(a):
        return all(_same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    return bool(a == b)


def checked_goal(scenarios: Sequence[Weighted]) -> None:
    """Refuse objectives other than goodput: what a robust cost or ratio means is not settled.  Raises InputError."""
    for scenario in scenarios:
        kind = scenario.instance.objective.kind
        if kind != "goodput":
            message = (
                f"is {kind}; several scenarios at once are for goodput only; state kind: goodput, and put what it may "
                "cost in limits"
            )
            raise InputError(scenario.instance.name, [Fault("objective.kind", message)])
