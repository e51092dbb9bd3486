"""The search for the best staged plan: bounds by quarter, one MILP over all, exact scores, refinement until closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, fsum, inf, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spareopt.clock import Clock
from spareopt.errors import SolverError
from spareopt.formulations.selection import Piece, Selection
from spareopt.formulations.staged import (
    Money,
    Moves,
    Plan,
    Quarter,
    Staged,
    build,
    chosen_plan,
    most_held,
    start_at_plan,
)
from spareopt.horizon import HOURS_PER_QUARTER
from spareopt.plan import INTERRUPTED, LIMIT_REACHED, PROVEN, ProofStatus
from spareopt.problem import Outcome
from spareopt.relaxation import (
    ROOM,
    Refinement,
    objective_unit,
    optimistic_log_goodput,
    pessimistic_log_goodput,
    rate_range,
    sharpen,
)
from spareopt.search import FEASIBILITY_TOLERANCE, REPORT_EVERY, SOLVER_SHARE, OnProgress, SolveProgress
from spareopt.solver import Progress as SolverProgress
from spareopt.solver import Relaxation, SolveRecord, Status, solve_milp, solve_relaxations
from spareopt.staging.problem import Choice, Columns, StagedProblem, money_limits
from spareopt.staging.quarters import discounted_charge, rack_price, shelf_bought, target_of, tray_price
from spareopt.staging.states import NOT_BUILT

Array = NDArray[np.float64]
Places = NDArray[np.int64]

SCREENS = 6  # rounds of screening in a row
MUCH_LESS = 0.7  # a screen that keeps a smaller share is worth another look for a plan
WORTH_SCREENING = 0.9  # a screen that keeps more than this share is the last one
FEW_COLUMNS = 400  # the MILP takes that many as they are
FAR_BELOW = 20.0  # ln of how far below a quarter's best a goodput counts as hardly any
MOST_PIECES = 6  # of each exponential at first
MOST_CUT_OFF = 400  # plans cut off: each costs a MILP
COLUMNS = 8.0  # columns of range about one in each quarter; see spareopt.relaxation.bound_slack
PROMISING = 4  # candidates of every state, for a first plan
MANY_PROMISING = 12  # of the states that are settled
SHARE = 1e-6  # of a zone's time: less is none
SHARED_SHARE = 0.4  # of the gap asked, where zones may share their time
WORTH_SHARING = 0.1  # of the gap asked: where a round moves bound and value by less, zones share no more
FIRST_SHARE = 0.5  # of the gap asked, of the selection of a first plan
HELD_NODES = 300  # of branch and bound, for the most racks that can be had: it holds no candidates
NEED_MORE = (1.0, 1.05, 1.1, 1.2, 1.4)  # times the racks that a quarter needs at least, for first plans
FIRST_NODES = 200  # of its branch and bound: it need not be proven
Stock = dict[int, int]


@dataclass(frozen=True)
class StagedOutcome:
    """What a staged plan comes to, exactly; ``value`` is maximised (minus the cost)."""

    choices: tuple[Choice, ...]
    stock: Stock
    outcomes: tuple[Outcome, ...]
    value: float
    feasible: bool


class StagedSearch:
    """The loop of staged selection, exact scores and refinement, and what it knows so far.

    Values are discounted baseline GPU-quarters (goodput times weight), or minus the cost.
    """

    def __init__(self, problem: StagedProblem, gap: float, seed: int, clock: Clock, report: OnProgress) -> None:
        self.problem, self.gap, self.seed, self.clock, self.report = problem, gap, seed, clock, report
        self.quarters = list(problem.quarters)
        self.refinements = [Refinement.initial(columns.problem, coarse=False) for columns in self.quarters]
        self.points: list[list[float]] = [[] for _ in self.quarters]
        self.value_goal = problem.goal == "value"
        self.weights = np.array(problem.weights)
        self.most = np.array([self._optimistic(columns) for columns in self.quarters])
        self.must_idle = [not columns.built.any() for columns in self.quarters]
        self.held = [self._gpus(t) for t in range(len(self.quarters))]
        self.power = [self._least_power(t) for t in range(len(self.quarters))]
        self.most_held: list[tuple[tuple[float, ...], float]] = []
        self._firsts: list[list[dict[int, int]]] = []  # states of plans to begin with
        self.best: StagedOutcome | None = None
        self.bound = self._sum_of_most() if self.value_goal else 0.0
        self.excluded: tuple[Plan, ...] = ()
        self.rounds = 0
        self.status: ProofStatus = LIMIT_REACHED
        self.infeasible = False
        self.model: Any = None
        self.log = ""
        self.unit = 0.0
        self._reported = 0.0
        self._span = 0.0
        self._money_unit = 1.0
        self._worth = np.zeros(0)  # of each column, what a plan with it is worth at most

    @staticmethod
    def _optimistic(columns: Columns) -> float:
        return exp(optimistic_log_goodput(columns.problem)) * (1 + ROOM) if columns.built.any() else 0.0

    def _gpus(self, t: int) -> Array:
        """GPUs of the racks of a zone in each state of a quarter."""
        columns, states = self.quarters[t], self.problem.paths.states[t]
        gpus = np.zeros(len(states))
        np.maximum.at(gpus, columns.state, columns.problem.column("gpus"))
        return gpus

    def _least_power(self, t: int) -> tuple[Array | None, float]:
        """The least IT power of a zone in each state of a quarter, and the most of all together."""
        columns = self.quarters[t]
        instance = columns.problem.candidates.instance
        site, most = instance.limits.site_power, instance.limits.it_power
        caps = [cap for cap in (None if site is None else site / instance.power.pue, most) if cap]
        if not caps:
            return None, inf
        least = np.full(len(self.problem.paths.states[t]), inf)
        np.minimum.at(least, columns.state, columns.problem.column("it_power_kw"))
        return np.where(np.isfinite(least), least, 0.0), min(caps)

    @property
    def value(self) -> float:
        """The best value known; −∞ without a plan."""
        return -inf if self.best is None else self.best.value

    def relative_gap(self) -> float:
        """(bound − value) / |value|."""
        if self.best is None or self.value == 0:
            return inf
        return (self.bound - self.value) / abs(self.value)

    def _sum_of_most(self) -> float:
        return float(self.weights @ self.most)

    def try_plan(self, choices: Sequence[Choice], stock: Mapping[int, int]) -> StagedOutcome:
        """Score a plan exactly, and keep it where it is the best so far."""
        plan = tuple((dict(counts), option) for counts, option in choices)
        here = replace(self.problem, quarters=tuple(self.quarters))
        if stock or any(self._orders_matter(t, counts) for t, (counts, _) in enumerate(plan)):
            best = here.best_orders(plan)  # so that what is excluded by its choices is excluded with any orders
            stock = stock if best is None else best
        outcomes = tuple(columns.outcome(choice) for columns, choice in zip(self.quarters, plan, strict=True))
        fine = all(outcome.within_limits for outcome in outcomes) and here.within_money(plan, stock)
        if self.value_goal:
            value = fsum(w * outcome.goodput for w, outcome in zip(self.weights, outcomes, strict=True))
            fine = fine and value > 0
        else:
            yearly = fsum(w * (outcome.cost or 0.0) / 4 for w, outcome in zip(self.weights, outcomes, strict=True))
            value = -(yearly + here.charges(plan, stock))
        outcome = StagedOutcome(plan, dict(stock), outcomes, value, fine)
        if fine and value > self.value:
            self.best = outcome
            self.bound = max(self.bound, value)
        return outcome

    def _orders_matter(self, t: int, counts: Mapping[int, int]) -> bool:
        shelf = self.quarters[t].problem.column("own_shelf")
        return any(shelf[c] for c in counts)

    def run(self) -> None:
        """Refine until the bounds meet, a limit is reached, nothing is left, or the user stops it."""
        try:
            if self.value_goal:
                self._bound_quarters()
                if not any(self.most > 0):
                    self.infeasible = True
                    return
            else:
                self._need_held()
            if not self.infeasible:
                self._refine_until_closed()
        except KeyboardInterrupt:
            self.status = INTERRUPTED

    def _bound_quarters(self) -> None:
        """A bound on the goodput of each quarter alone, with all the money up to it spent for it."""
        staged = self.staged()
        for t in range(len(self.quarters)):
            if self.must_idle[t] or self.clock.remaining() == 0:
                continue
            self._tell(f"racks of quarter {t + 1} of {len(self.quarters)}", force=True)
            weights = np.zeros(len(self.quarters))
            weights[t] = 1.0 / (float(self.held[t].max()) or 1.0)
            self._bound_held(staged, weights)
        staged = self.staged()
        for t in range(len(self.quarters)):
            if self.must_idle[t] or self.clock.remaining() == 0:
                continue
            self._tell(f"bound of quarter {t + 1} of {len(self.quarters)}", force=True)
            relaxation = self._relaxed(build(staged, focus=t), [])
            if relaxation is None:
                self.must_idle[t], self.most[t] = True, 0.0
                if target_of(self.problem.instance, self.problem.horizon, t) or self._must_run(t):
                    self.infeasible = True
                    return
            elif relaxation.bound < 700.0:
                slack = FEASIBILITY_TOLERANCE * (4.0 * self._members() * (t + 1) + COLUMNS + self._stock_range())
                self.most[t] = min(self.most[t], exp(relaxation.bound + slack))
        self.bound = min(self.bound, self._sum_of_most())
        worth = self.weights * self.most
        if any(worth > 0):
            weights = np.array(
                [w / (float(h.max()) or 1.0) for w, h in zip(worth / worth.max(), self.held, strict=True)]
            )
            zones = self._bound_held(self.staged(), weights)
            self._firsts += [] if zones is None else [zones]

    def _need_held(self) -> None:
        """The least racks with which each quarter can reach its target, and the cheapest way to have them.

        By the relaxation, then in whole zones.  Where racks alone do not decide, it is but a weaker bound.
        """
        if self._columns() <= FEW_COLUMNS:
            return
        nothing = np.zeros(len(self.quarters))
        needed: list[tuple[tuple[float, ...], float]] = []
        for t in range(len(self.quarters)):
            if not target_of(self.problem.instance, self.problem.horizon, t) or self.clock.remaining() == 0:
                continue
            self._tell(f"racks that quarter {t + 1} of {len(self.quarters)} needs", force=True)
            unit = float(self.held[t].max()) or 1.0
            relaxation = self._relaxed(build(self.staged(), focus=t, least=True), [])
            if relaxation is None:
                self.infeasible = True
                return
            # of the columns that the target reaches over, the log-value's range is some tens: hence the 100
            slack = FEASIBILITY_TOLERANCE * (8.0 * self._members() * (t + 1) + 100.0)
            weights = nothing.copy()
            weights[t] = -1.0 / unit
            self.most_held.append((tuple(map(float, weights)), -(relaxation.bound - slack)))
            self._bound_held(self.staged(), weights)
            needed.append(self.most_held[-1])
        last = nothing.copy()
        last[-1] = 1.0
        for more in NEED_MORE:
            bounds = tuple((weights, more * most) for weights, most in needed)
            staged = replace(self.staged(), held=(*self.most_held, *bounds))
            zones = self._bound_held(staged, last, cheapest=True)
            if zones is not None:
                self._firsts.append(zones)

    def _bound_held(self, staged: Staged, weights: Array, cheapest: bool = False) -> list[dict[int, int]] | None:
        """Note the most racks, weighted by quarter, that money and power allow; the states of a plan that has them."""
        weighed = tuple(float(weight) for weight in weights)
        model = most_held(staged, weighed, cheapest)
        record = self._milp(model, 0.0, {"mip_max_nodes": HELD_NODES})
        if record.bound is not None and not cheapest:
            slack = FEASIBILITY_TOLERANCE * 8.0 * self._members() * len(self.quarters)
            self.most_held.append((weighed, record.bound + slack))
        if not record.has_incumbent or not weighed[-1]:
            return None
        zones: list[dict[int, int]] = [{} for _ in self.quarters]
        for (t, k), var in model.zones.items():
            zones[t][k] = round(var.value or 0.0)
        return zones

    def _relaxed(self, model: Any, variables: list[Any]) -> Relaxation | None:
        """The linear relaxation of a model; None where it is infeasible."""
        return next(
            solve_relaxations(
                model,
                [model.always],
                variables,
                time_limit=self.clock.remaining(),
                feasibility_tolerance=FEASIBILITY_TOLERANCE,
            )
        )

    def _must_run(self, t: int) -> bool:
        return bool(self.quarters[t].problem.candidates.instance.limits.working_gpus.minimum)

    def _members(self) -> int:
        return sum(group.count for group in self.problem.groups)

    def _stock_range(self) -> float:
        return float(sum(most for _, most, _ in self._orders().values()))

    def _refine_until_closed(self) -> None:
        shared = True  # at first zones may share their time among candidates: a bound that is quick to find
        while not self._closed():
            if self.clock.remaining() == 0:
                return
            if not self.excluded:
                self._screen()
                if self._closed():
                    break
            before = (self.bound, self.value)
            shared = shared and self.best is not None and self._columns() > FEW_COLUMNS
            record, model = self._select(shared)
            self.rounds += 1
            self.model, self.log = model, record.log
            if record.status is Status.INFEASIBLE:  # no plan left can be better than the best one scored
                self.infeasible = self.best is None
                self.bound = self.value if self.best is not None else self.bound
                break
            if record.status in (Status.ERROR, Status.UNBOUNDED) and not record.has_incumbent:
                raise SolverError(f"HiGHS ended with {record.status.value}; its log ends: {record.log[-500:]}")
            outcome = None
            if record.has_incumbent:
                outcome = self._whole(model) if shared else self.try_plan(*chosen_plan(model))
            self._tell(f"refinement {self.rounds}", force=True)
            if self._closed():
                break
            if record.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
                self.status = INTERRUPTED if record.status is Status.INTERRUPTED else LIMIT_REACHED
                return
            if outcome is not None:
                self._refine(outcome, cut_off=not shared)
            moved = max(before[0] - self.bound, self.value - before[1])
            shared = shared and moved > WORTH_SHARING * self.gap * abs(self.value)
            if len(self.excluded) >= MOST_CUT_OFF:
                return
        self.status = PROVEN

    def _columns(self) -> int:
        return sum(len(columns.state) for columns in self.quarters)

    def _whole(self, model: Any) -> StagedOutcome | None:
        """A plan with the states of a solution in which zones share their time; what it is made of is made exact.

        Of each state the candidates in use and some that promise most are offered.
        """
        used = []
        for t in range(len(self.quarters)):
            shares = np.array([var.value or 0.0 for var in model.quarter[t].n.values()])
            used.append(np.flatnonzero(shares > SHARE))
            self._refine_shared(model, t)
        return self._restricted(self._worth, used, _settled(model), MANY_PROMISING)

    def _refine_shared(self, model: Any, t: int) -> bool:
        """Make the couplings of a quarter exact where zones share their time in a solution; whether they were not."""
        columns, block = self.quarters[t], model.quarter[t]
        shares = np.array([var.value or 0.0 for var in block.n.values()])
        option = max(block.option, key=lambda o: block.option[o].value or 0.0)
        if option == columns.idle:
            return False
        mixed = shared_outcome(columns, shares, option)
        if self.value_goal and mixed.goodput > 0:
            self.points[t].append(log(mixed.goodput))
        refined = self.refinements[t].at(columns.problem, mixed)
        if refined is not None:
            self.refinements[t] = refined
        return refined is not None

    def _closed(self) -> bool:
        return self.infeasible or self.relative_gap() <= self.gap

    def _edges(self, t: int) -> tuple[tuple[float, ...], float | None]:
        """The pieces of a quarter's log-value in which a better plan can be, and how far below it may lie else."""
        most = float(self.most[t])
        high = log(most)
        least = 0.0
        if self.best is not None:
            others = self._sum_of_most() - self.weights[t] * most
            least = max(0.0, (self.value - others) / self.weights[t])
        lost = least <= most * exp(-FAR_BELOW)
        low = min(high, high - FAR_BELOW if lost else log(least) - ROOM)
        width = high - low
        pieces = min(MOST_PIECES, max(1, ceil(width / sqrt(2.0 * max(self.gap, 1e-8)))))
        # short pieces at the top, where the plans of interest are
        inner = [high - width * (1.0 - q / pieces) ** (1.0 if width < 1.0 else 3.0) for q in range(1, pieces)]
        inner += self.points[t]
        edges = (low, *sorted({x for x in inner if low + ROOM < x < high - ROOM}), high)
        below = min(low, pessimistic_log_goodput(self.quarters[t].problem)) - 1.0 if lost else None
        return edges, below

    def _orders(self) -> dict[int, tuple[int, int, float]]:
        """Quarters in which trays may be ordered: when they arrive, the most of them, their charge."""
        problem = self.problem
        instance, horizon, lead = problem.instance, problem.horizon, problem.horizon.lead_time.shelf
        if all(plan.shelf is None for plan in instance.repair_plans):
            return {}
        most = 0
        for columns in self.quarters:
            shelf = columns.problem.column("own_shelf")
            most = max(most, int(columns.problem.extremes(shelf)[1]))
        return {
            u: (u + lead, most, tray_price(instance, horizon, u) * discounted_charge(instance, horizon, u + lead))
            for u in range(horizon.quarters - lead)
        }

    def staged(self) -> Staged:
        """The staged selection under the present refinements."""
        problem = self.problem
        instance, horizon = problem.instance, problem.horizon
        lead = horizon.lead_time.racks
        self.unit = log(float(self.most.max())) if self.value_goal and self.most.max() > 0 else 0.0
        units = [objective_unit(columns.problem) if not self.value_goal else 1.0 for columns in self.quarters]
        self._money_unit = max(units) if not self.value_goal else 1.0
        quarters, moves = [], []
        self._span = 0.0
        shelf = any(plan.shelf is not None for plan in instance.repair_plans)
        for t, columns in enumerate(self.quarters):
            selection = with_idle(self.refinements[t].selection(columns.problem), columns)
            edges: tuple[float, ...] = (self.unit - 1.0, self.unit)
            below: float | None = min(self.unit - 2.0, pessimistic_log_goodput(columns.problem) - 1.0)
            if self.value_goal and self.most[t] > 0:
                edges, below = self._edges(t)
            self._span += sum(abs(edge - self.unit) for edge in (*edges, *([] if below is None else [below])))
            target = target_of(instance, horizon, t)
            weight = float(self.weights[t])
            if not self.value_goal:
                weight *= 0.25 * units[t] / self._money_unit
            quarters.append(
                Quarter(
                    selection=selection,
                    state=columns.state,
                    built=np.array([state.design != NOT_BUILT for state in problem.paths.states[t]], dtype=bool),
                    weight=weight,
                    idle=columns.idle,
                    may_idle=target == 0 and (below is not None or not self.value_goal),
                    must_idle=self.must_idle[t],
                    edges=edges,
                    below=below,
                    stock=columns.problem.column("own_shelf") if shelf else None,
                    held=self.held[t],
                    least_power=self.power[t][0],
                    most_power=self.power[t][1],
                )
            )
            steps = problem.paths.moves[t]
            designs = [problem.paths.states[t][step.head].design for step in steps]
            charge = np.zeros(len(steps))
            if not self.value_goal and t >= lead:
                share = discounted_charge(instance, horizon, t) / self._money_unit
                charge = np.array(
                    [
                        0.0 if step.ordered == 0 else share * step.ordered * rack_price(instance, horizon, d, t - lead)
                        for step, d in zip(steps, designs, strict=True)
                    ]
                )
            moves.append(
                Moves(
                    np.array([step.tail for step in steps], dtype=np.int64),
                    np.array([step.head for step in steps], dtype=np.int64),
                    charge,
                )
            )
        orders = {u: (at, most, charge / self._money_unit) for u, (at, most, charge) in self._orders().items()}
        return Staged(
            start=tuple(group.count for group in problem.groups),
            quarters=tuple(quarters),
            moves=tuple(moves),
            goal="value" if self.value_goal else "cost",
            money=tuple(self._money(orders)),
            orders=orders,
            have=tuple(float(shelf_bought(horizon, t)) for t in range(horizon.quarters)),
            unit=self.unit,
            excluded=self.excluded,
            held=tuple(self.most_held),
        )

    def _money(self, orders: Mapping[int, object]) -> list[Money]:
        problem = self.problem
        instance, horizon = problem.instance, problem.horizon
        lead = horizon.lead_time.racks
        result = []
        for name, quarters, bound in money_limits(instance, horizon):
            spent = {}
            for u in quarters:
                t = u + lead
                if t >= horizon.quarters:
                    continue
                states = problem.paths.states[t]
                spent[t] = np.array(
                    [
                        0.0
                        if step.ordered == 0
                        else step.ordered * rack_price(instance, horizon, states[step.head].design, u)
                        for step in problem.paths.moves[t]
                    ]
                )
            trays = {u: tray_price(instance, horizon, u) for u in quarters if u in orders}
            result.append(Money(name, spent, trays, bound))
        return result

    def _from_model(self, objective: Array) -> Array:
        """Values proved by the solver's dual bounds, with the slack of its tolerances."""
        quarters = len(self.quarters)
        columns = 6.0 * self._members() * quarters + COLUMNS * (quarters + 1) + self._span + self._stock_range()
        slack = FEASIBILITY_TOLERANCE * columns
        if self.value_goal:
            return np.asarray((objective + slack) * exp(self.unit))
        return np.asarray(-(objective - slack) * self._money_unit)

    def _milp(
        self, model: Any, abs_gap: float, options: Mapping[str, object] | None = None, start: Any = None
    ) -> SolveRecord:
        record = solve_milp(
            model,
            abs_gap=abs_gap,
            time_limit=self.clock.remaining(),
            seed=self.seed,
            feasibility_tolerance=FEASIBILITY_TOLERANCE,
            start=start,
            options={"mip_allow_restart": False, **(options or {})},
            on_progress=self._solver_progress,
        )
        if record.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return record

    def _select(self, shared: bool) -> tuple[SolveRecord, Any]:
        staged = self.staged()
        model = build(staged, shared=shared)
        start = None
        if self.best is not None and not self.excluded:
            start = start_at_plan(model, self.best.choices, self.best.stock, staged)
        record = solve_milp(
            model,
            abs_gap=(SHARED_SHARE if shared else SOLVER_SHARE) * self._abs_gap(),
            time_limit=self.clock.remaining(),
            seed=self.seed,
            feasibility_tolerance=FEASIBILITY_TOLERANCE,
            start=start,
            options={"mip_allow_restart": False} | ({"mip_heuristic_effort": 0.0} if shared else {}),
            on_progress=self._solver_progress,
        )
        if record.bound is not None:
            self.bound = min(self.bound, max(float(self._from_model(np.array(record.bound))), self.value))
        return record, model

    def _screen(self) -> None:
        """Leave out the candidates that no plan better than the best one can use, by reduced costs.

        The first time, a plan is looked for among the candidates of which the relaxation promises most.
        """
        for _ in range(SCREENS):
            number = sum(len(columns.state) for columns in self.quarters)
            if number <= FEW_COLUMNS or self.clock.remaining() == 0:
                return
            model = build(self.staged())
            variables = [var for t in model.quarter for var in model.quarter[t].n.values()]
            relaxation = self._relaxed(model, variables)
            if relaxation is None:
                self.infeasible = self.best is None
                self.bound = self.value if self.best is not None else self.bound
                return
            with_each = self._from_model(np.append(relaxation.reduced_costs, 0.0) + relaxation.bound)
            self.bound = min(self.bound, max(float(with_each[-1]), self.value))
            self._tell("screening candidates", force=True)
            if self._closed():
                return
            self._worth = with_each[:-1]
            if self.best is None:
                self._try_promising()
                if self.best is None or self._closed():
                    return
                continue  # only now it is known what is of interest: the relaxation gets tighter
            kept = self._keep(self._worth >= self.value)
            tolerance = max(self.gap, 1e-6) / 4
            self.refinements = [
                refinement.denser(columns.problem, tolerance)
                for refinement, columns in zip(self.refinements, self.quarters, strict=True)
            ]
            if kept < MUCH_LESS * number:
                self._try_promising()
                if self._closed():
                    return
            if kept > WORTH_SCREENING * number:
                return

    def _try_promising(self) -> None:
        """Look for a better plan among the candidates that promise most, some of every state, not for long."""
        used = [np.zeros(0, dtype=np.int64) for _ in self.quarters]
        if self._firsts:
            firsts, self._firsts = self._firsts, []
            for zones in firsts:
                tried = self._restricted(self._worth, used, zones, MANY_PROMISING)
                if tried is not None:
                    self._refine(tried, cut_off=False)
            self._tell("first plans", force=True)
            if self.best is not None:
                return
        outcome = self._restricted(self._worth, used, None, PROMISING)
        self._tell("promising candidates", force=True)
        if outcome is not None:
            self._refine(outcome, cut_off=False)

    def _restricted(
        self, worth: Array, used: list[Places], zones: list[dict[int, int]] | None, promising: int
    ) -> StagedOutcome | None:
        """The best plan found with the candidates used and those of every state of which ``worth`` promises most.

        ``zones``: how many there are of each state, where that is settled.
        """
        whole = self.quarters
        places = []
        first = 0
        for t, columns in enumerate(whole):
            here = worth[first : first + len(columns.state)]
            first += len(columns.state)
            keep = ~columns.built
            for k in range(len(self.problem.paths.states[t])):
                rows = np.flatnonzero(columns.state == k)
                if zones is None or zones[t].get(k):
                    keep[rows[np.argsort(-here[rows], kind="stable")[:promising]]] = True
                else:
                    keep[rows[np.argsort(-here[rows], kind="stable")[:1]]] = True
            keep[used[t]] = True
            if self.best is not None:
                keep[list(self.best.choices[t][0])] = True
            places.append(np.flatnonzero(keep))
        try:
            self.quarters = [columns.subset(keep) for columns, keep in zip(whole, places, strict=True)]
            staged = self.staged()
            if zones is None and sum(map(len, places)) > FEW_COLUMNS:  # settle the states first
                model = build(staged, shared=True)
                record = self._milp(
                    model, FIRST_SHARE * self._abs_gap(), {"mip_max_nodes": FIRST_NODES, "mip_heuristic_effort": 0.01}
                )
                if not record.has_incumbent:
                    return None
                zones = _settled(model)
            model = build(staged)
            for t, settled in enumerate(zones or ()):
                for k, number in settled.items():
                    model.zones[t, k].fix(number)
            record = self._milp(model, FIRST_SHARE * self._abs_gap(), {"mip_max_nodes": FIRST_NODES})
            found = chosen_plan(model) if record.has_incumbent else None
        finally:
            self.quarters = whole
        if found is None:
            return None
        choices = [
            ({int(keep[c]): number for c, number in counts.items()}, option)
            for keep, (counts, option) in zip(places, found[0], strict=True)
        ]
        return self.try_plan(choices, found[1])

    def _abs_gap(self) -> float:
        """The gap asked, in the unit of the model's objective."""
        scale = abs(self.value) if self.best is not None else abs(self.bound)
        unit = exp(self.unit) if self.value_goal else self._money_unit
        return self.gap * max(scale / unit, 1e-3)

    def _keep(self, worthwhile: NDArray[np.bool_]) -> int:
        """Keep candidates that are worthwhile, in the best plan, or of zones not built; how many are left."""
        assert self.best is not None
        first, left = 0, 0
        choices, masks = [], []
        for t, columns in enumerate(self.quarters):
            counts, option = self.best.choices[t]
            keep = worthwhile[first : first + len(columns.state)] | ~columns.built
            keep[list(counts)] = True
            masks.append(keep)
            first += len(columns.state)
            positions = np.flatnonzero(keep)
            place = {int(position): i for i, position in enumerate(positions)}
            choices.append(({place[c]: number for c, number in counts.items()}, option))
            self.quarters[t] = columns.subset(positions)
            left += len(positions)
        outcomes = tuple(
            replace(outcome, counts=choice[0]) for outcome, choice in zip(self.best.outcomes, choices, strict=True)
        )
        self.best = replace(self.best, choices=tuple(choices), outcomes=outcomes)
        self._worth = self._worth[np.concatenate(masks)]
        return left

    def _refine(self, outcome: StagedOutcome, cut_off: bool = True) -> None:
        """Make every coupling exact at a plan, or cut the plan off where all of them are."""
        cases = (
            (t, self.quarters[t].problem, own)
            for t, own in enumerate(outcome.outcomes)
            if own.option != self.quarters[t].idle
        )
        finer = sharpen(self.refinements, self.points, cases, self.value_goal)
        if cut_off and not finer:
            self.excluded = (*self.excluded, outcome.choices)

    def _solver_progress(self, progress: SolverProgress) -> None:
        self._tell(f"refinement {self.rounds + 1}")

    def _tell(self, phase: str, force: bool = False) -> None:
        now = self.clock.elapsed()
        if not force and now - self._reported < REPORT_EVERY:
            return
        self._reported = now
        scale = HOURS_PER_QUARTER if self.value_goal else -1.0
        value = None if self.best is None else scale * self.value
        self.report(SolveProgress(phase, now, value, scale * self.bound))


def _settled(model: Any) -> list[dict[int, int]]:
    """How many zones a solved model has of each state, by quarter."""
    zones: list[dict[int, int]] = [{} for _ in model.quarter]
    for (t, k), var in model.zones.items():
        zones[t][k] = round(var.value or 0.0)
    return zones


def shared_outcome(columns: Columns, shares: Array, option: int) -> Outcome:
    """What a quarter comes to in which zones share their time among candidates, as the selection counts it."""
    problem = columns.problem
    working = shares > SHARE

    def total(values: Array) -> float:
        return float(shares[working] @ values[working])

    rate = problem.terms.site[1] + total(problem.column("rate_per_h"))
    placed = total(problem.column("placed_gpus"))
    log_up = problem.terms.site[0] + total(problem.terms.log_up)
    log_eta = float(problem.schemes[option].log_eta(np.array(rate)))
    scale = float(problem.column("log_scale")[working].min())
    stops = problem.terms.environment.stops + total(problem.column("planned_stops"))
    goodput = placed * exp(max(log_up + log_eta + scale - stops, -700.0))
    return Outcome({}, option, 0.0, False, goodput, None, 0.0, placed, rate, log_up, False)


def with_idle(selection: Selection, columns: Columns) -> Selection:
    """A quarter's selection with the option in which nothing runs: it costs nothing and has no value of its own."""
    rate = selection.rate
    assert rate is not None
    low, high = rate_range(columns.problem)
    pieces = (*rate.pieces, Piece(columns.idle, min(low, rate.constant), high, ((0.0, 0.0),)))
    budgets = tuple(
        replace(budget, option_part=(*budget.option_part, 0.0)) if budget.option_part else budget
        for budget in selection.budgets
    )
    cost = selection.cost
    if cost is not None:
        cost = replace(cost, option_part=(*cost.option_part, 0.0))
    concave = tuple(
        replace(term, coefficients=np.where(columns.built, term.coefficients, 0.0)) for term in selection.concave
    )
    return replace(
        selection,
        options=selection.options + 1,
        rate=replace(rate, pieces=pieces),
        budgets=budgets,
        cost=cost,
        concave=concave,
    )
