"""The least or the greatest that a capped quantity can be, with any of the other caps held, and a plan that has it.

Candidates are enumerated once, without the caps that forbid single choices (a rack's power, whole placement groups, a
guarantee): those become columns, and holding such a cap leaves rows out.  Each extreme is then pruned by what its caps
are on, and found by the search of ``spareopt.search`` with the quantity as its goal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, expm1, inf
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.building import ZoneBuild
from spareopt.candidates import Candidates, blocks_per_placement_group, enumerate_candidates
from spareopt.caps import Cap, caps_of, holding
from spareopt.clock import Clock
from spareopt.decisions import Decisions
from spareopt.dominance import prune
from spareopt.errors import OverloadedError
from spareopt.instance import Instance
from spareopt.levels import level_instances, shares_repair
from spareopt.limits import rounding
from spareopt.numerics.recovery import RecoveryScheme
from spareopt.plan import INTERRUPTED, PROVEN
from spareopt.power import rack_draw
from spareopt.problem import MOST_TRIES, Goal, Outcome, Problem, build_problem
from spareopt.relaxation import WORTHLESS, Refinement, cost_range, optimistic_log_goodput
from spareopt.repair import RepairChoice
from spareopt.schemes import Model, recovery_schemes
from spareopt.search import OnProgress, Search

Array = NDArray[np.float64]

TOLERANCE = 1e-6  # relative, of quantities that are not whole
WHOLE_TOLERANCE = 0.4  # of quantities that are: nothing lies between
ANY = 1e12  # a gap that every plan closes
SOLVER_TOLERANCE = 1e-9  # of rows: that of the search would blur a millionth
RESCALE_BELOW = 0.5  # of the unit of a search: a smaller result is sought again in its own unit
CLIP = 4.0  # times what is known to be possible: more is as bad
LEAST_LOG_UP = -20.0
FILTERS = ("rack_power_kw", "breaks_group", "guarantee_missed")


@dataclass(frozen=True)
class Reach:
    """What a capped quantity can be: its least loss (see ``Cap.loss``) and a plan with it; None: no plan.

    ``proven``: nothing better exists, up to the tolerance; without a plan, that there is none.
    """

    loss: float | None
    plan: Decisions | None
    proven: bool


@dataclass(frozen=True)
class Aimed(Problem):
    """A problem whose goal is to have little of one capped quantity, or for a floor to miss little of it.

    What is minimised is never below zero: of GPUs and availability it is what is missing to the most thinkable.
    """

    path: str = "limits.floor"
    unit_size: float = 1.0
    most: float = inf
    """What is known to be possible: candidates with far more count as if they had little more."""

    @property
    def goal(self) -> Goal:
        """Always to have little."""
        return "cost"

    @property
    def size(self) -> float | None:
        """What counts as one of the quantity, in its own unit."""
        return self.unit_size

    @cached_property
    def minimised(self) -> tuple[Array, Array, tuple[float, ...]]:
        """What each candidate has of the quantity always, and while the job runs; of each checkpoint plan."""
        always, running, shared = self._quantity
        return np.minimum(always, CLIP * self.most), running, shared

    @cached_property
    def _quantity(self) -> tuple[Array, Array, tuple[float, ...]]:
        nothing = np.zeros(len(self.rows))
        plan = self.candidates.instance.repair_plans[0]
        shared = 0.0
        if self.path == "limits.yearly_cost":
            return self.blocked_yearly_cost, self.energy_cost, self.option_cost
        if self.path == "limits.capital":
            always, shared = self.column("capital"), self.shared_capital
        elif self.path == "limits.it_power":
            always = self.column("it_power_kw")
        elif self.path == "limits.site_power":
            always = self.candidates.instance.power.pue * self.column("it_power_kw")
        elif self.path == "limits.crews":
            always, shared = self.column("own_crews"), float((plan.crews or (0,))[0] * shares_repair(self._instance))
        elif self.path == "limits.shelf_trays":
            always, shared = self.column("own_shelf"), float((plan.shelf or (0,))[0] * shares_repair(self._instance))
        elif self.path == "limits.working_gpus.maximum":
            always = self.column("working_gpus")
        elif self.path == "limits.working_gpus.minimum":
            always = self._largest - self.column("working_gpus")
        elif self.path == "limits.availability":
            always, shared = -np.maximum(self.terms.log_up, LEAST_LOG_UP), -self.terms.site_up[0]
        else:
            always = self.column("racks")
        return always, nothing, (shared,) * len(self.schemes)

    @property
    def _instance(self) -> Instance:
        return self.candidates.instance

    @cached_property
    def _largest(self) -> Array:
        """The most working GPUs that a zone of each candidate's class can have."""
        working = self.column("working_gpus")
        most = np.array([working[self.group == z].max() for z in range(len(self.members))])
        return np.asarray(most[self.group])

    def loss_of(self, outcome: Outcome) -> float:
        """The loss (see ``Cap.loss``) of a plan, exactly."""
        if self.path == "limits.availability":
            return -expm1(outcome.log_up)
        if self.path == "limits.working_gpus.minimum":
            return -outcome.working_gpus
        return self._total(outcome)

    def _total(self, outcome: Outcome) -> float:
        if self.path == "limits.availability":
            return -outcome.log_up
        chosen = np.array(list(outcome.counts), dtype=np.int64)
        number = np.array(list(outcome.counts.values()), dtype=float)
        always, running, shared = self._quantity
        energy = float(number @ running[chosen])
        return float(number @ always[chosen]) + exp(outcome.log_up) * energy + shared[outcome.option]

    def _score(self, log_goodput: float, cost: float | None) -> float:
        return 0.0  # until the outcome is known

    def outcome(self, counts: dict[int, int], option: int) -> Outcome:  # type: ignore[override]
        """Score a choice by the quantity, and check every limit."""
        outcome = super().outcome(counts, option)
        return replace(outcome, score=-self._total(outcome))

    def gap(self, score: float, bound: float) -> float:
        """How far apart a score and a bound are, in sizes."""
        return abs(bound - score) / self.unit_size

    def tried_uniform(self) -> tuple[Outcome | None, bool]:
        """As for other goals; candidates are tried in the order of what they have at least."""
        if len(self.members) != 1:
            return None, False
        number = float(self.members[0])
        always, running, shared = self._quantity
        running = np.exp(number * np.maximum(self.terms.log_up_low, -100.0) + self.terms.site_up[1]) * number * running
        least = np.add.outer(np.array(shared), number * always + running * (1 - 1e-12))
        allowed = np.tile(self._alike_within_limits(number), len(self.schemes))
        least = np.where(allowed, least.ravel(), inf)
        order = np.argsort(least, kind="stable")[: min(MOST_TRIES, int(allowed.sum()))]
        best: Outcome | None = None
        for place in order:
            if best is not None and -best.score <= least[place]:
                return best, True
            option, candidate = divmod(int(place), len(self.rows))
            outcome = self.outcome({candidate: self.members[0]}, option)
            if outcome.feasible and (best is None or outcome.score > best.score):
                best = outcome
        return best, len(order) == int(allowed.sum())


@dataclass(frozen=True)
class _Level:
    """One level of what zones share: candidates without the caps that forbid choices, of which any may be wanted."""

    instance: Instance
    candidates: Candidates
    schemes: list[RecoveryScheme]

    @property
    def problem(self) -> Problem:
        """The problem of all its candidates, without any cap."""
        return build_problem(self.candidates, None, self.schemes)


class Extremes:
    """The extremes of an instance's capped quantities; each is searched for once."""

    def __init__(
        self, instance: Instance, model: Model, time_limit: float | None = None, report: OnProgress | None = None
    ) -> None:
        self.instance, self.model, self.clock = instance, model, Clock(time_limit)
        self.caps = caps_of(instance)
        self.report = report or (lambda _: None)
        self.interrupted = False
        self._known: dict[tuple[str, frozenset[str]], Reach] = {}
        self._impossible: list[frozenset[str]] = []

    @cached_property
    def levels(self) -> list[_Level]:
        """All levels, whether or not their crews and shelf are within the caps."""
        free = holding(self.instance, ())
        stated = self.instance.model_copy(
            update={name: getattr(free, name) for name in ("power", "placement_group", "zones")}
        )
        result = []
        for part in level_instances(holding(self.instance, ())):
            shared = {"repair_plans": part.repair_plans, "checkpoint_plans": part.checkpoint_plans}
            level = stated.model_copy(update=shared)
            candidates = enumerate_candidates(level, self.model)
            if candidates.table["zone"].nunique() < len(level.zones):
                continue
            useful = np.flatnonzero((candidates.short < 1.0).any(axis=1))
            candidates = _with_filters(_rows(candidates, useful), self.instance)
            if candidates.table["zone"].nunique() < len(level.zones):
                continue
            schemes = recovery_schemes(level, self.model)
            found = _Level(level, candidates, schemes)
            try:
                found.problem.check_load()
            except OverloadedError:
                continue
            result.append(found)
        return result

    @cached_property
    def useful(self) -> bool:
        """Whether a plan could do any useful work, whatever the caps."""
        return any(optimistic_log_goodput(level.problem) >= WORTHLESS for level in self.levels)

    def reach(self, cap: Cap, held: Collection[Cap]) -> Reach:
        """What the cap's quantity can be with others held.  The cap itself is not."""
        paths = frozenset(other.path for other in held)
        key = cap.path, paths
        if key not in self._known:
            others = [other for other in self.caps if other.path in paths]
            if self._is_impossible(paths):
                found = Reach(None, None, True)
            else:
                found = self._threshold(cap, others) if cap.builds else self._extreme(cap, others)
            self._learn(key, found)
            if found.proven and found.loss is not None and cap.kind != "group" and found.loss > _most(cap):
                self._impossible.append(paths | {cap.path})  # known from its extreme, without another search
        return self._known[key]

    def _is_impossible(self, paths: frozenset[str]) -> bool:
        return any(known <= paths for known in self._impossible)

    def _learn(self, key: tuple[str, frozenset[str]], found: Reach) -> None:
        self._known[key] = found
        if found.plan is None and found.proven and not self._is_impossible(key[1]):
            self._impossible.append(key[1])

    def feasible(self, held: Collection[Cap]) -> Reach:
        """Whether a plan meets all these caps; the loss is of no meaning."""
        key = "", frozenset(cap.path for cap in held)
        if key not in self._known:
            others = [cap for cap in self.caps if cap.path in key[1]]
            impossible = self._is_impossible(key[1])
            self._learn(key, Reach(None, None, True) if impossible else self._search_all(others, {}, None))
        return self._known[key]

    def _threshold(self, cap: Cap, held: Collection[Cap]) -> Reach:
        """The tightest value of a cap that forbids single choices: by halving the list of those that differ."""
        free = self._search_all(held, {}, None)
        if free.plan is None or cap.kind == "group":
            return replace(free, loss=None if free.plan is None else cap.bound)
        column = _column(cap)
        values = np.unique(np.concatenate([_of(cap, level.candidates.table)[column] for level in self.levels]))
        low, high, best, proven = -1, len(values) - 1, free, free.proven
        while high - low > 1:
            middle = (low + high) // 2
            found = self._search_all(held, {cap: float(values[middle])}, None)
            if found.plan is not None:
                high, best = middle, found
            else:
                low, proven = middle, proven and found.proven
        if high < len(values) and best.plan is not None:
            return Reach(float(values[high]), best.plan, proven)
        return best

    def _extreme(self, cap: Cap, held: Collection[Cap]) -> Reach:
        size, most = self._first_size(cap), inf
        while True:
            found = self._search_all(held, {}, cap, size, most)
            if found.loss is None or cap.whole or cap.kind == "goodput":
                return found
            loss = found.loss if cap.kind != "share" else -float(np.log1p(-min(found.loss, 1 - 1e-9)))
            if not 0 < loss < RESCALE_BELOW * size:
                return found
            size = most = loss  # the tolerance was that of a larger number

    def _first_size(self, cap: Cap) -> float:
        return 1.0 if cap.whole or cap.kind in ("share", "goodput") else cap.bound or 1.0

    def _search_all(
        self,
        held: Collection[Cap],
        thresholds: dict[Cap, float],
        cap: Cap | None,
        size: float = 1.0,
        most: float = inf,
    ) -> Reach:
        """Search every level for a plan with the least loss, or for any plan (``cap`` None)."""
        best, floor, proven = Reach(None, None, True), -inf, True
        for level in self.levels:
            if not _within_shared(level.instance, held):
                continue
            if self.interrupted or not self.clock.going():
                return replace(best, proven=False)
            problem = self._problem(level, held, thresholds, cap, size, most)
            if problem is None:
                continue
            search = self._search(problem, cap, floor)
            proven = proven and search.status == PROVEN
            if search.best is None or search.best.score <= floor:
                continue
            floor = search.best.score
            found = search.problem  # the plan counts the candidates that were left
            plan = found.decisions(search.best.counts, search.best.option)
            loss = found.loss_of(search.best) if isinstance(found, Aimed) else -search.best.goodput
            best = Reach(loss, plan, True)
            if cap is None:
                return best
        return replace(best, proven=proven)

    def _search(self, problem: Problem, cap: Cap | None, floor: float) -> Search:
        if cap is None:
            gap = ANY
        elif cap.whole:
            gap = WHOLE_TOLERANCE
        else:
            gap = max(TOLERANCE, 10.0 * SOLVER_TOLERANCE * (2.0 * sum(problem.members) + 8.0))
        refinement = Refinement.initial(problem, False)
        search = Search(problem, gap, 0, refinement, self.clock, self.report, floor)
        search.feasibility_tolerance = SOLVER_TOLERANCE
        if problem.terms.coupled and search.score_all():  # over-estimates would be refined for long
            search.status = PROVEN
        else:
            search.run()
        self.interrupted = self.interrupted or search.status == INTERRUPTED
        return search

    def _problem(
        self,
        level: _Level,
        held: Collection[Cap],
        thresholds: dict[Cap, float] | None = None,
        cap: Cap | None = None,
        size: float = 1.0,
        most: float = inf,
    ) -> Problem | None:
        """The problem of one level; None where a zone has no choice."""
        table = level.candidates.table
        keep = np.ones(len(table), dtype=bool)
        for other, loss in [(c, _allowed(c)) for c in held if c.builds] + list((thresholds or {}).items()):
            keep &= (table[_column(other)] <= loss).to_numpy() | ~_concerned(other, table)
        if table.loc[keep, "zone"].nunique() < len(level.instance.zones):
            return None
        shared = {"repair_plans": level.instance.repair_plans, "checkpoint_plans": level.instance.checkpoint_plans}
        aimed = [] if cap is None else [cap]
        # what is capped or aimed at is compared; what is neither needs no comparison
        candidates = _rows(level.candidates, np.flatnonzero(keep), holding(self.instance, [*held, *aimed]), shared)
        goodput = any(other.kind == "goodput" for other in [*held, *aimed])
        dominated_by = prune(candidates, level.schemes, goodput=goodput)
        candidates = _rows(candidates, np.arange(len(candidates.table)), holding(self.instance, held), shared)
        problem = build_problem(candidates, dominated_by, level.schemes)
        if cap is not None and cap.kind == "goodput":
            return problem
        path = "limits.floor" if cap is None else cap.path
        fields = {name: getattr(problem, name) for name in Problem.__dataclass_fields__}
        result = Aimed(**fields, path=path, unit_size=size, most=most)
        if cap is not None and not cap.whole and cap.kind != "share" and most == inf:
            least = cost_range(result)[0]
            result = replace(result, unit_size=least if least > 0 else size)
        return result


def unbuildable(instance: Instance, model: Model) -> dict[str, dict[str, int]]:
    """For each zone class without any choice that can be built, how many were left out for which reason."""
    result: dict[str, dict[str, int]] = {}
    for zone in instance.zones:
        reasons: dict[str, int] = {}
        alone = instance.model_copy(update={"zones": (zone,)})
        for level in level_instances(alone):
            candidates = enumerate_candidates(level, model)
            if len(candidates.table):
                break
            for reason, number in candidates.excluded.items():
                reasons[reason] = reasons.get(reason, 0) + number
        else:
            result[zone.name] = {reason: number for reason, number in sorted(reasons.items()) if number}
    return result


def _with_filters(candidates: Candidates, instance: Instance) -> Candidates:
    """Candidates with a column for each cap that forbids single choices, less of which is better."""
    table = candidates.table
    columns = {name: np.zeros(len(table)) for name in FILTERS}
    keys = ["zone", "design", "racks", "intra_block_spares", "repair_plan", "crews", "shelf_trays", "start_at"]
    for values, rows in _groups(table, keys):
        z, d, racks, intra, p, *taken = values
        zone, design = instance.zones[int(z)], instance.designs[int(d)]
        here = table.loc[rows]
        if instance.power.rack_limit is not None and design.power is not None:
            columns["rack_power_kw"][rows] = rack_draw(
                design, design.power, int(intra), here["gpu_limit_kw"].to_numpy(dtype=float)
            )
        if instance.placement_group is not None:
            group = blocks_per_placement_group(instance, design, int(intra))
            working = int(racks) * design.blocks_per_rack - here["inter_block_spares"].to_numpy(dtype=np.int64)
            columns["breaks_group"][rows] = 1.0 if group is None else working % group != 0
        if zone.guarantee is not None:
            choice = RepairChoice(*(None if np.isnan(value) else int(value) for value in taken))
            build = ZoneBuild(candidates.site, zone, design, int(racks))
            plan = candidates.instance.repair_plans[int(p)]
            columns["guarantee_missed"][rows] = build.guarantee_missed(plan, choice, int(intra))
    return replace(candidates, table=table.assign(**columns))


def _groups(table: pd.DataFrame, keys: list[str]) -> Iterator[tuple[tuple[float, ...], NDArray[np.int64]]]:
    for values, rows in table.groupby(keys, dropna=False, sort=True).indices.items():
        assert isinstance(values, tuple)
        yield tuple(float(value) for value in values), np.asarray(rows)


def _rows(
    candidates: Candidates,
    keep: NDArray[np.int64],
    instance: Instance | None = None,
    shared: Mapping[str, Any] | None = None,
) -> Candidates:
    """The candidates at these places, of an instance with other caps."""
    site = candidates.site
    if instance is not None:
        site = replace(site, instance=instance.model_copy(update=dict(shared or {})))
    table = candidates.table.iloc[keep].reset_index(drop=True)
    return replace(candidates, site=site, table=table, short=candidates.short[keep])


def _column(cap: Cap) -> Literal["rack_power_kw", "breaks_group", "guarantee_missed"]:
    if cap.zone is not None:
        return "guarantee_missed"
    return "breaks_group" if cap.kind == "group" else "rack_power_kw"


def _concerned(cap: Cap, table: pd.DataFrame) -> NDArray[np.bool_]:
    return np.ones(len(table), dtype=bool) if cap.zone is None else (table["zone"] == cap.zone).to_numpy()


def _of(cap: Cap, table: pd.DataFrame) -> pd.DataFrame:
    return table[_concerned(cap, table)]


def _allowed(cap: Cap) -> float:
    """The most that a cap allows in its column, up to rounding as where candidates are enumerated."""
    if cap.kind == "group":
        return 0.0
    return cap.loss(cap.bound) * (1 + (1e-9 if cap.zone is not None else 1e-12))


def _most(cap: Cap) -> float:
    """The most loss within a cap, up to rounding as where limits are checked."""
    return cap.loss(cap.bound) + rounding(cap.limit, cap.bound)


def _within_shared(instance: Instance, held: Collection[Cap]) -> bool:
    """Whether what the zones of a level share is within the caps held."""
    plan = instance.repair_plans[0]
    if not shares_repair(instance):
        return True
    offered = {"limits.crews": plan.crews, "limits.shelf_trays": plan.shelf}
    return all(cap.bound >= (offered.get(cap.path) or (0,))[0] for cap in held)
