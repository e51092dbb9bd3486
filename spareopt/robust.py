"""Choose one plan for several scenarios with weights, and put it beside the plans that suit each of them alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, Literal

import numpy as np
import pandas as pd

from spareopt.clock import Clock
from spareopt.decisions import Decisions
from spareopt.errors import InfeasibleError, InputError, LimitError, SolverError, SpareoptError, StoppedError
from spareopt.evaluation import evaluate
from spareopt.instance import Instance
from spareopt.measures import CRITERIA, Criterion, Measure
from spareopt.optimise import AGREEMENT, solve
from spareopt.plan import INTERRUPTED, Plan, ProofStatus, Provenance, provenance_of
from spareopt.record import Frozen, Result
from spareopt.robust_search import RobustSearch, Table, checked_goal, common_table
from spareopt.scenarios import NOMINAL, Weight, Weighted, nominal, weighted_scenarios
from spareopt.schemes import Model
from spareopt.search import DEFAULT_GAP, OnProgress, named

DEFAULT_ALPHA = 0.1
OWN = "optimum of "
"""What comes before a scenario's name in the name of the plan that is best in it."""


class RobustCertificate(Frozen):
    """How good a robust plan is at least: no plan that meets every limit in every scenario has more than ``bound``."""

    status: ProofStatus
    criterion: Criterion
    alpha: float | None
    """The share of the weight whose mean goodput is maximised; None unless ``criterion`` is cvar."""
    unit: str
    value: float
    bound: float
    gap: float
    gap_asked: float
    model: Model
    refinements: int
    plans_excluded: int


class ScenarioScore(Frozen):
    """What a plan comes to in one scenario."""

    scenario: str
    weight: float | None
    """None where the scenario is only looked at."""
    goodput: float | None
    """Baseline GPUs; None where the plan can't be built in the scenario."""
    regret: float | None
    """Share of the best goodput known in the scenario that the plan misses; None where it breaks a limit."""
    availability: float | None
    breaks: tuple[str, ...]
    """The limits that the plan breaks in the scenario."""


class RobustPlan(Result):
    """One plan for all scenarios, with what it comes to in each and its proof."""

    schema_version: Literal[1] = 1
    decisions: Decisions
    certificate: RobustCertificate
    scores: tuple[ScenarioScore, ...]
    """In the order in which the scenarios were given."""
    candidates: dict[str, int]
    """``enumerated`` in one scenario, ``kept`` after those were left out that another matches in every scenario."""
    provenance: Provenance


class ComparedPlan(Frozen):
    """A plan of a comparison: how it was chosen, and what it comes to in every scenario."""

    name: str
    """``optimum of NAME`` for the best plan of a scenario, or the criterion of a robust one."""
    status: ProofStatus
    decisions: Decisions
    expected: float | None
    worst: float | None
    cvar: float | None
    """The three criteria of the plan, baseline GPUs; None where it breaks a limit in a scenario that counts."""
    scores: tuple[ScenarioScore, ...]


class RobustComparison(Result):
    """A robust plan beside the best plan of each scenario and the plans of the other criteria."""

    schema_version: Literal[1] = 1
    plan: RobustPlan
    alpha: float
    """The worst share of the weight over which ``cvar`` is the mean goodput."""
    plans: tuple[ComparedPlan, ...]
    """The nominal optimum first (if it is known), then each scenario's, then the robust ones."""
    loss_in_nominal: float | None = None
    """Share of the nominal optimum's goodput that the robust plan gives up where nothing changes."""
    gain_in_worst: float | None = None
    """Gain of the robust plan over the nominal optimum in that one's worst scenario, as a share of the latter's
    goodput there; None where the nominal optimum breaks a limit in a scenario."""
    worst_scenario: str | None = None
    """The scenario, among those that count, in which the nominal optimum has the least goodput."""

    def table(self) -> pd.DataFrame:
        """A row for each plan and scenario: plan, scenario, weight, goodput_gpus, regret, breaks."""
        rows = [
            {
                "plan": plan.name,
                "scenario": score.scenario,
                "weight": score.weight,
                "goodput_gpus": score.goodput,
                "regret": score.regret,
                "breaks": ", ".join(score.breaks),
            }
            for plan in self.plans
            for score in plan.scores
        ]
        table = pd.DataFrame(rows)
        return table.astype({"weight": float, "goodput_gpus": float, "regret": float})


def solve_robust(
    instance: Instance,
    scenarios: Mapping[str, Weight],
    *,
    criterion: Criterion = "expected",
    alpha: float = DEFAULT_ALPHA,
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    model: Model = "exact",
    on_progress: OnProgress | None = None,
) -> RobustPlan:
    """The best single plan over several scenarios, scored exactly in each, with a bound on every other plan.

    ``scenarios`` maps "nominal" (the instance as it stands) and names of the instance's scenarios to weights that sum
    to 1; any other name to a pair of its weight and its changes (dotted path: value).  Every decision is the same in
    all scenarios; only the period of a checkpoint plan with ``period: best`` follows the fault rate.  Every limit must
    hold in every scenario, as that scenario states it.  ``criterion``: "expected" goodput, the "worst" scenario's, or
    "cvar", the mean over the worst share ``alpha`` of the weight.  ``gap``, ``time_limit`` (of each solve, in
    seconds), ``seed`` and ``model`` are as in ``spareopt.solve``.

    Raises InputError for weights, scenarios and objectives that can't be used, InfeasibleError where a scenario has no
    plan or no plan meets the limits of all, LimitError or StoppedError where none was found in time, SolverError.
    """
    study = _Study(instance, scenarios, alpha, gap, time_limit, seed, model, on_progress)
    return study.plan(_checked(criterion))


def compare_robust(
    instance: Instance,
    scenarios: Mapping[str, Weight],
    *,
    criterion: Criterion = "expected",
    alpha: float = DEFAULT_ALPHA,
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    model: Model = "exact",
    on_progress: OnProgress | None = None,
) -> RobustComparison:
    """The robust plan of a criterion beside the nominal optimum, each scenario's optimum and the other criteria's.

    Arguments and errors are those of ``solve_robust``.
    """
    study = _Study(instance, scenarios, alpha, gap, time_limit, seed, model, on_progress)
    plan = study.plan(_checked(criterion))
    return study.comparison(plan)


def _checked(criterion: str) -> Criterion:
    if criterion not in CRITERIA:
        raise ValueError(f"criterion: expected one of {', '.join(CRITERIA)}, got {criterion!r}")
    return criterion


@dataclass(frozen=True)
class _Searched:
    """A robust plan found, with the search that found it."""

    decisions: Decisions
    search: RobustSearch


class _Study:
    """What the robust plans of one set of scenarios share: each scenario's own optimum, the candidates of all."""

    def __init__(
        self,
        instance: Instance,
        weights: Mapping[str, Weight],
        alpha: float,
        gap: float,
        time_limit: float | None,
        seed: int,
        model: Model,
        on_progress: OnProgress | None,
    ) -> None:
        if not 0 < alpha <= 1:
            raise ValueError(f"alpha: expected a share above 0 and at most 1, got {alpha}")
        if not 0 <= gap < 1:
            raise ValueError(f"gap: expected a number from 0 to below 1, got {gap}")
        self.instance, self.alpha, self.gap, self.seed, self.model = instance, alpha, gap, seed, model
        self.time_limit, self.clock = time_limit, Clock(None)
        self.report: OnProgress = on_progress or (lambda _: None)
        self.scenarios = weighted_scenarios(instance, weights)
        self.looked_at = [] if NOMINAL in weights else [nominal(instance)]
        checked_goal([*self.scenarios, *self.looked_at])
        self.own = {scenario.name: self._own(scenario) for scenario in self.scenarios}
        self.table: Table = common_table(self.scenarios, model, self.report, Clock(time_limit))
        self.found: dict[Criterion, _Searched] = {}

    def _own(self, scenario: Weighted) -> Plan:
        """The best plan of one scenario alone."""

        tell = self._later(named(self.report, OWN + scenario.name))
        options: dict[str, Any] = {"gap": self.gap, "seed": self.seed, "model": self.model}
        try:
            plan = solve(
                scenario.instance,
                time_limit=self.time_limit,
                on_progress=tell,
                **options,
            )
        except (InfeasibleError, LimitError, StoppedError) as error:
            raise type(error)(f"scenario {scenario.name}: {error}") from None
        if plan.certificate.status == INTERRUPTED:
            raise StoppedError(f"interrupted while scenario {scenario.name} was solved alone")
        return plan

    def _later(self, tell: OnProgress) -> OnProgress:
        """What is told of one solve, in seconds of them all."""
        before = self.clock.elapsed()
        return lambda progress: tell(replace(progress, seconds=before + progress.seconds))

    def search(self, criterion: Criterion) -> _Searched:
        """The robust plan of a criterion, not searched twice.  Raises InfeasibleError, LimitError, StoppedError."""
        if criterion in self.found:
            return self.found[criterion]
        measure = Measure(criterion, tuple(s.weight for s in self.scenarios), self._alpha(criterion))
        most = np.array([self.own[s.name].certificate.bound for s in self.scenarios])
        tell = self._later(named(self.report, criterion))
        search = RobustSearch(self.table, measure, most, self.gap, self.seed, Clock(self.time_limit), tell)
        plans = [plan.decisions for plan in self.own.values()] + [f.decisions for f in self.found.values()]
        starts = [choice for choice in map(self.table.position, plans) if choice is not None]
        search.run(starts)
        if search.best is None:
            raise self._failure(search)
        decisions = search.problems[0].decisions(search.best.counts, search.best.option)
        self.found[criterion] = _Searched(decisions, search)
        return self.found[criterion]

    def _alpha(self, criterion: Criterion) -> float:
        return self.alpha if criterion == "cvar" else 1.0

    def _failure(self, search: RobustSearch) -> SpareoptError:
        if search.infeasible:
            return InfeasibleError(
                "each scenario has plans, but no plan meets every limit in all of them: " + self._clash()
            )
        if search.status == INTERRUPTED:
            return StoppedError("interrupted before any plan for all scenarios was found")
        if self.time_limit is None:
            return LimitError("every plan tried breaks a limit in a scenario, and it is not proven that all do")
        return LimitError(
            f"the time limit of {self.time_limit:g} s was reached before a plan for all scenarios was found"
        )

    def _clash(self) -> str:
        """What the scenarios' own plans break in the others."""
        parts = []
        for name, plan in self.own.items():
            for scenario in self.scenarios:
                broken = self._scored(plan.decisions, scenario)[1]
                if broken:
                    parts.append(f"the best of {name} breaks {', '.join(broken)} in {scenario.name}")
        return "; ".join(parts) or "relax a limit, or leave out a scenario"

    def _scored(self, decisions: Decisions, scenario: Weighted) -> tuple[tuple[float, float] | None, tuple[str, ...]]:
        """Goodput and availability in a scenario, and the limits broken; no numbers where it can't be built."""
        try:
            result = evaluate(scenario.instance, decisions, model=self.model)
        except InputError as error:
            return None, tuple(f"can't be built: {fault.message}" for fault in error.faults)
        return (result.goodput, result.availability), tuple(slack.limit for slack in result.violated)

    def plan(self, criterion: Criterion) -> RobustPlan:
        """The robust plan of a criterion with its proof."""
        found = self.search(criterion)
        search = found.search
        assert search.best is not None
        scores = self.scores([found.decisions])[0]
        for score, outcome in zip(scores, search.best.outcomes, strict=False):
            if score.breaks:
                raise SolverError(f"the plan found breaks {score.breaks[0]} in scenario {score.scenario}")
            assert score.goodput is not None
            if abs(score.goodput - outcome.goodput) > AGREEMENT * outcome.goodput:
                raise SolverError(
                    f"in scenario {score.scenario} the selection scores the plan {outcome.goodput!r}, the evaluator "
                    f"{score.goodput!r}; please report this"
                )
        changes = {s.name: {"weight": s.weight, "changes": dict(s.changes)} for s in self.scenarios}
        options = {"gap": self.gap, "time_limit_s": self.time_limit, "model": self.model, "scenarios": changes}
        return RobustPlan(
            decisions=found.decisions,
            certificate=RobustCertificate(
                status=search.status,
                criterion=criterion,
                alpha=self.alpha if criterion == "cvar" else None,
                unit="baseline GPUs",
                value=search.value,
                bound=search.bound,
                gap=search.bound / search.value - 1.0,
                gap_asked=self.gap,
                model=self.model,
                refinements=search.rounds,
                plans_excluded=len(search.excluded),
            ),
            scores=scores[: len(self.scenarios)],
            candidates={"enumerated": self.table.enumerated, "kept": self.table.kept},
            provenance=provenance_of(self.instance, options, self.seed),
        )

    def scores(self, plans: Sequence[Decisions]) -> list[tuple[ScenarioScore, ...]]:
        """What each plan comes to in each scenario, those only looked at last; regret against the best known."""
        scenarios = [*self.scenarios, *self.looked_at]
        scored = [[self._scored(decisions, scenario) for scenario in scenarios] for decisions in plans]
        result: list[list[ScenarioScore]] = [[] for _ in plans]
        for s, scenario in enumerate(scenarios):
            own = self.own.get(scenario.name)
            known = [own.evaluation.goodput] if own is not None else []
            known += [row[s][0][0] for row in scored if row[s][0] is not None and not row[s][1]]  # type: ignore[index]
            best = max(known, default=float("nan"))
            for place, row in enumerate(scored):
                numbers, broken = row[s]
                allowed = numbers is not None and not broken and not isnan(best)
                result[place].append(
                    ScenarioScore(
                        scenario=scenario.name,
                        weight=scenario.weight or None,
                        goodput=None if numbers is None else numbers[0],
                        regret=1.0 - numbers[0] / best if allowed and numbers is not None else None,
                        availability=None if numbers is None else numbers[1],
                        breaks=broken,
                    )
                )
        return [tuple(row) for row in result]

    def comparison(self, plan: RobustPlan) -> RobustComparison:
        """The plan beside the others."""
        stopped = plan.certificate.status == INTERRUPTED
        for scenario in list(self.looked_at):
            try:
                if stopped:
                    raise StoppedError("interrupted")
                self.own[scenario.name] = self._own(scenario)
            except (InfeasibleError, LimitError, StoppedError):  # nothing to look at; the robust plan stands
                self.looked_at.remove(scenario)
        order = sorted(self.own, key=lambda name: name != NOMINAL)
        entries: list[tuple[str, ProofStatus, Decisions]] = [
            (OWN + name, self.own[name].certificate.status, self.own[name].decisions) for name in order
        ]
        for criterion in (plan.certificate.criterion,) if stopped else CRITERIA:
            found = self.search(criterion)
            entries.append((criterion, found.search.status, found.decisions))
        scores = self.scores([decisions for _, _, decisions in entries])
        plans = tuple(
            ComparedPlan(name=name, status=status, decisions=decisions, scores=row, **self._measures(row))
            for (name, status, decisions), row in zip(entries, scores, strict=True)
        )
        mine = next(other for other in plans if other.name == plan.certificate.criterion)
        first = next((other for other in plans if other.name == OWN + NOMINAL), None)
        price = {} if first is None else self._price(first, mine)
        return RobustComparison(plan=plan, alpha=self.alpha, plans=plans, **price)

    def _measures(self, row: Sequence[ScenarioScore]) -> dict[str, float | None]:
        """Each criterion of a plan by its scores, where it keeps to all limits."""
        counted = row[: len(self.scenarios)]
        if any(score.breaks for score in counted):
            return dict.fromkeys(CRITERIA)
        weights = tuple(scenario.weight for scenario in self.scenarios)
        goodputs = [score.goodput or 0.0 for score in counted]
        return {name: Measure(name, weights, self._alpha(name)).of(goodputs) for name in CRITERIA}

    def _price(self, first: ComparedPlan, mine: ComparedPlan) -> dict[str, Any]:
        """What the robust plan loses where nothing changes, and gains where the nominal optimum is worst."""
        at = {score.scenario: (score, own) for score, own in zip(first.scores, mine.scores, strict=True)}
        theirs, ours = at[NOMINAL]
        loss = None
        if theirs.goodput and ours.goodput and not ours.breaks:
            loss = 1.0 - ours.goodput / theirs.goodput
        counted = [(theirs, ours) for theirs, ours in at.values() if theirs.weight is not None]
        gain, worst = None, None
        if all(theirs.goodput and not theirs.breaks for theirs, _ in counted):
            theirs, ours = min(counted, key=lambda pair: pair[0].goodput or 0.0)
            worst = theirs.scenario
            if theirs.goodput and ours.goodput:
                gain = ours.goodput / theirs.goodput - 1.0
        return {"loss_in_nominal": loss, "gain_in_worst": gain, "worst_scenario": worst}
