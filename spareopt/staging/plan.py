"""Plan over quarters: the best staged plan, its exact score, and the proof over the whole horizon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
from pydantic import PrivateAttr

from spareopt.clock import Clock, check_run
from spareopt.decisions import ZoneChoice
from spareopt.errors import InfeasibleError, LimitError, SolverError, SpareoptError, StoppedError
from spareopt.horizon import HOURS_PER_QUARTER
from spareopt.instance import Instance
from spareopt.optimise import AGREEMENT
from spareopt.plan import INTERRUPTED, ProofStatus, Provenance, provenance_of
from spareopt.record import Frozen, Result
from spareopt.search import OnProgress
from spareopt.staging.decisions import StagedDecisions, StagedZone
from spareopt.staging.problem import StagedProblem, staged_problem
from spareopt.staging.score import StagedScore, evaluate_staged
from spareopt.staging.search import StagedOutcome, StagedSearch
from spareopt.staging.states import NOT_BUILT, matched

DEFAULT_GAP = 1e-3


class StagedCertificate(Frozen):
    """How good a staged plan is at least: no plan that meets every limit in every quarter is better than ``bound``."""

    status: ProofStatus
    objective: Literal["goodput", "cost"]
    unit: str
    value: float
    bound: float
    gap: float
    """|bound − value| / value."""
    gap_asked: float
    refinements: int
    plans_excluded: int


@dataclass(frozen=True)
class StagedAudit:
    """What stands behind a staged plan: the last model, the solver's log, seconds, columns left."""

    model: Any
    log: str
    seconds: float
    columns: int


class StagedPlan(Result):
    """A plan over quarters and its proof.  ``to_json`` gives the same bytes for the same input, versions and seed."""

    schema_version: Literal[1] = 1
    decisions: StagedDecisions
    score: StagedScore
    certificate: StagedCertificate
    candidates: dict[str, int]
    """``enumerated`` ways to run a zone, ``states`` of zones over all quarters, ``kept`` columns of all quarters after
    those were left out that another matches in every quarter."""
    provenance: Provenance

    _audit: StagedAudit | None = PrivateAttr(default=None)

    def __eq__(self, other: object) -> bool:
        """Equal results are equal plans, whether solved here or read back."""
        return isinstance(other, StagedPlan) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]

    @property
    def audit(self) -> StagedAudit | None:
        """The audit of a plan solved in this process; None for one that was read back."""
        return self._audit

    def quarters_table(self) -> pd.DataFrame:
        """A row for each quarter: what is ordered, built, run, paid and reached."""
        rows = []
        for number, quarter in enumerate(self.score.quarters, 1):
            evaluation = quarter.evaluation
            rows.append(
                {
                    "number": number,
                    "quarter": quarter.quarter,
                    "weight": quarter.weight,
                    "zones_built": quarter.zones_built,
                    "racks": quarter.racks,
                    "racks_delivered": quarter.racks_delivered,
                    "racks_ordered": sum(order.racks for order in quarter.orders),
                    "shelf_trays": quarter.shelf_trays,
                    "shelf_used": quarter.shelf_used,
                    "shelf_ordered": quarter.shelf_ordered,
                    "crews": quarter.crews,
                    "goodput_gpus": quarter.goodput,
                    "useful_gpu_hours": quarter.useful_gpu_hours,
                    "availability": None if evaluation is None else evaluation.availability,
                    "working_gpus": 0 if evaluation is None else evaluation.working_gpus,
                    "it_power_kw": 0.0 if evaluation is None else evaluation.it_power_kw,
                    "site_power_kw": 0.0 if evaluation is None else evaluation.site_power_kw,
                    "paid": quarter.paid,
                    "budget": quarter.budget,
                    "money_left": quarter.money_left,
                    "charge": quarter.charge,
                    "yearly_cost": quarter.yearly_cost,
                }
            )
        return pd.DataFrame(rows)

    def zones_table(self) -> pd.DataFrame:
        """A row for each zone and quarter in which it is built: how it is built and run."""
        rows = []
        labels = [quarter.quarter for quarter in self.score.quarters]
        for zone in self.decisions.zones:
            for label, scheme, choice in zip(labels, self.decisions.checkpoint_plans, zone.quarters, strict=True):
                if choice is not None:
                    own = choice.model_dump(exclude={"zone", "count"})
                    row = {"quarter": label, "zone": zone.zone, "number": zone.number} | own
                    rows.append(row | {"checkpoint_plan": scheme})
        return pd.DataFrame(rows).rename(columns={"gpu_limit": "gpu_limit_kw"})


def solve_staged(
    instance: Instance,
    *,
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> StagedPlan:
    """The best plan over the quarters of an instance's horizon, scored exactly, with a bound on every other plan.

    Maximised are the discounted useful GPU-hours, or with ``objective.kind: cost`` minimised is the discounted cost at
    which every quarter reaches its goodput target.  ``gap`` is the relative gap asked, ``time_limit`` is in seconds.
    Raises InputError where the instance can't be staged, InfeasibleError (proven), LimitError or StoppedError where no
    plan was found in time, SolverError.
    """
    if not 0 <= gap < 1:
        raise ValueError(f"gap: expected a number from 0 to below 1, got {gap}")
    check_run(instance.name, time_limit, seed)
    clock = Clock(time_limit)
    report: OnProgress = on_progress or (lambda _: None)
    problem = staged_problem(instance, report, clock)
    search = StagedSearch(problem, gap, seed, clock, report)
    search.run()
    if search.best is None:
        raise _failure(search)
    decisions = decided(search, search.best)
    score = evaluate_staged(instance, decisions)
    cost = problem.goal == "cost"
    value = score.cost if cost else score.useful_gpu_hours
    _check_agreement(search.best, score, value, cost)
    bound = -search.bound if cost else HOURS_PER_QUARTER * search.bound
    plan = StagedPlan(
        decisions=decisions,
        score=score,
        certificate=StagedCertificate(
            status=search.status,
            objective="cost" if cost else "goodput",
            unit=instance.currency if cost else "discounted baseline GPU-hours",
            value=value,
            bound=bound,
            gap=abs(bound - value) / abs(value) if value else 0.0,
            gap_asked=gap,
            refinements=search.rounds,
            plans_excluded=len(search.excluded),
        ),
        candidates={
            "enumerated": problem.enumerated,
            "states": sum(len(states) for states in problem.paths.states),
            "kept": problem.kept,
        },
        provenance=provenance_of(instance, {"gap": gap, "time_limit_s": time_limit}, seed),
    )
    left = sum(len(columns.state) for columns in search.quarters)
    plan._audit = StagedAudit(search.model, search.log, clock.elapsed(), left)
    return plan


def _failure(search: StagedSearch) -> SpareoptError:
    if search.infeasible:
        return InfeasibleError(
            "no plan meets the budget, the power and all other limits in every quarter; relax horizon.capital, "
            "horizon.site_power, horizon.working_gpus or the targets"
        )
    if search.status == INTERRUPTED:
        return StoppedError("interrupted before any plan was found")
    if search.clock.limit is None:
        return LimitError("every plan tried breaks a limit, and the bound that is left does not prove that all do")
    return LimitError(f"the time limit of {search.clock.limit:g} s was reached before any plan was found")


def _check_agreement(best: StagedOutcome, score: StagedScore, value: float, cost: bool) -> None:
    """At the optimum the search's numbers are the evaluator's: anything else is a fault of ours."""
    if score.breaks:
        raise SolverError(f"the plan found breaks {score.breaks[0]}; please report this")
    ours = -best.value if cost else HOURS_PER_QUARTER * best.value
    if abs(ours - value) > AGREEMENT * abs(value):
        raise SolverError(f"the search scores the plan {ours!r}, the evaluator {value!r}; please report this")


def decided(search: StagedSearch, outcome: StagedOutcome) -> StagedDecisions:
    """The decisions of a plan: zones are led from state to state, and take the choices of their states."""
    problem: StagedProblem = search.problem
    instance, quarters = problem.instance, problem.horizon.quarters
    path: list[list[ZoneChoice | None]] = [[] for group in problem.groups for _ in range(group.count)]
    places = [g for g, group in enumerate(problem.groups) for _ in range(group.count)]
    for t, (counts, _) in enumerate(outcome.choices):
        columns, states = search.quarters[t], problem.paths.states[t]
        waiting: dict[int, list[ZoneChoice | None]] = {}
        for c, number in sorted(counts.items()):
            k = int(columns.state[c])
            choice = None
            if states[k].design != NOT_BUILT:
                choice = columns.problem.candidates.choice(int(columns.problem.rows[c]), 1)
            waiting.setdefault(k, []).extend([choice] * number)
        heads = matched(problem.paths.moves[t], places, {k: len(choices) for k, choices in waiting.items()})
        # zones keep their choice where they can: those of one state take its choices in the order they had them
        for member in sorted(range(len(heads)), key=lambda i: (heads[i], str(path[i][-1:]), i)):
            path[member].append(waiting[heads[member]].pop(0))
        places = heads
    zones: list[StagedZone] = []
    numbers: dict[str, int] = {}
    member = 0
    for group in problem.groups:
        name = instance.zones[group.zone].name
        for _ in range(group.count):
            numbers[name] = numbers.get(name, 0) + 1
            zones.append(StagedZone.model_construct(zone=name, number=numbers[name], quarters=tuple(path[member])))
            member += 1
    schemes = [plan.name for plan in instance.checkpoint_plans]
    options = [None if option == len(schemes) else schemes[option] for _, option in outcome.choices]
    orders = tuple(outcome.stock.get(u, 0) for u in range(quarters))
    return StagedDecisions.model_construct(zones=tuple(zones), checkpoint_plans=tuple(options), shelf_orders=orders)
