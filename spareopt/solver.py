"""The only module that touches the solver: Pyomo translates the model, HiGHS solves it, one record comes back.

Pyomo's own ``solve`` raises when a time limit leaves an incumbent, ignores unknown options, keeps options from
one solve to the next and redirects file descriptors while it runs. So Pyomo is used here to translate only, and
HiGHS is driven directly: a fresh HiGHS for each solve, its log and its stops taken from its callbacks.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.metadata import version
from types import FrameType
from typing import Any, NamedTuple

import highspy
import numpy as np
import pyomo.environ as pyo
from highspy import HighsModelStatus as Model
from numpy.typing import NDArray
from pyomo.common.tee import capture_output
from pyomo.contrib.solver.solvers.highs import Highs as Translator
from pyomo.core.base.var import VarData
from scipy import sparse

from spareopt.errors import SolverError

CLOSED = 1e-9  # a gap this small, relative to max(1, |objective|), is rounding: bound and objective meet
PROGRESS_PERIOD = 0.25  # seconds between two calls of on_progress while nothing better is found


class Status(StrEnum):
    """How a solve ended."""

    OPTIMAL = "optimal"  # bound and objective meet
    WITHIN_GAP = "within gap"  # the gap asked for was met before they did
    TIME_LIMIT = "time limit"  # a limit was reached (of time, or of nodes through `options`)
    INTERRUPTED = "interrupted"  # should_stop or Ctrl-C
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    ERROR = "error"  # the log says why


@dataclass(frozen=True)
class Progress:
    """What a live progress line shows: seconds of HiGHS time, objective of the incumbent, dual bound, nodes."""

    seconds: float
    incumbent: float | None
    bound: float | None
    nodes: int


@dataclass(frozen=True)
class SolveRecord:
    """What came of a solve; objective and bound are in the units of the model's objective."""

    status: Status
    has_incumbent: bool  # the model's variables hold a solution
    objective: float | None  # the solver's objective of the incumbent; not rounded, so re-evaluate it exactly
    bound: float | None  # no solution is better: a lower bound when minimising, an upper one when maximising
    nodes: int
    seconds: float  # wall time of the whole call, translation included
    options: dict[str, object]  # the HiGHS options set
    log: str


@dataclass
class _Watch:
    """What the callbacks of one solve share. Nothing may be raised through HiGHS, so errors are kept for later."""

    on_progress: Callable[[Progress], None] | None
    should_stop: Callable[[], bool] | None
    stop: bool = False
    error: BaseException | None = None
    refused: bool = False  # HiGHS logged an error: a row, a cost or an option it did not take
    log: list[str] = field(default_factory=list)
    reported: float = -math.inf

    def attach(self, highs: Any) -> None:
        highs.cbLogging.subscribe(self.note)
        for progress in (highs.cbMipLogging, highs.cbMipImprovingSolution):
            progress.subscribe(self.report)
        for stoppable in (highs.cbMipInterrupt, highs.cbSimplexInterrupt, highs.cbIpmInterrupt):
            stoppable.subscribe(self.poll)

    def note(self, event: Any) -> None:
        self.log.append(event.message)
        self.refused |= event.message.startswith("ERROR")

    def report(self, event: Any) -> None:
        if self.on_progress is None or self.stop or self.error is not None:
            return
        self.reported = time.monotonic()
        out = event.data_out
        incumbent, bound = _finite(out.mip_primal_bound), _finite(out.mip_dual_bound)
        try:
            self.on_progress(Progress(out.running_time, incumbent, bound, max(0, out.mip_node_count)))
        except BaseException as error:
            self.error = error

    def poll(self, event: Any) -> None:
        try:
            self.stop = self.stop or (self.should_stop is not None and self.should_stop())
        except BaseException as error:
            self.error = self.error or error
        mip = int(event.callback_type) == int(highspy.cb.HighsCallbackType.kCallbackMipInterrupt)
        if mip and time.monotonic() - self.reported > PROGRESS_PERIOD:
            self.report(event)
        if self.stop or self.error is not None:
            event.interrupt()

    @contextmanager
    def ctrl_c(self) -> Iterator[None]:
        """First Ctrl-C: stop and keep the incumbent; second: KeyboardInterrupt once HiGHS has let go.

        Only the main thread may set handlers, and a process told to ignore SIGINT goes on ignoring it.
        """

        def handle(_signum: int, _frame: FrameType | None) -> None:
            self.error = KeyboardInterrupt() if self.stop else self.error
            self.stop = True

        old = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or old in (None, signal.SIG_IGN):
            yield
            return
        signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, old)


def solve_milp(
    model: Any,
    *,
    rel_gap: float = 0.0,
    abs_gap: float = 0.0,
    time_limit: float | None = None,
    seed: int = 0,
    feasibility_tolerance: float = 1e-7,
    start: Mapping[VarData, float] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    options: Mapping[str, object] | None = None,
) -> SolveRecord:
    """Solve a linear model, integer or not, on one thread, and load the incumbent into its variables.

    The solve ends when |objective - bound| <= max(abs_gap, rel_gap * |objective|), after `time_limit` seconds,
    when `should_stop()` is true, or on Ctrl-C (a second one raises KeyboardInterrupt). `start` is a full or
    partial MIP start, as a ComponentMap since Pyomo's variables don't hash; the log says whether HiGHS found it
    feasible. `options` are further HiGHS options, by name.

    Integer variables are loaded rounded; a variable that no row and no objective holds gets the value of its
    bounds nearest to zero. Rows hold to `feasibility_tolerance` (absolute), so check the loaded plan exactly.

    Raises SolverError for an option, a start or a fixed variable that can't be taken, and whatever
    `on_progress` or `should_stop` raised. A failure of the solver or of the translation is Status.ERROR.
    Not for Python threads: run several solves in several processes.
    """
    began = time.monotonic()
    set_options: dict[str, object] = {
        "threads": 1,  # global to the process in HiGHS: another value in a later solve would fail without a word
        "random_seed": seed,
        "mip_rel_gap": rel_gap,
        "mip_abs_gap": abs_gap,
        "mip_feasibility_tolerance": feasibility_tolerance,
        "primal_feasibility_tolerance": feasibility_tolerance,
        "dual_feasibility_tolerance": feasibility_tolerance,
        "log_to_console": False,
        "output_flag": True,
        **({} if time_limit is None else {"time_limit": time_limit}),
    }
    if taken := set(options or ()) & {*set_options, "time_limit"}:
        raise SolverError(f"the options {sorted(taken)} belong to solve_milp: use its own arguments")
    set_options |= options or {}

    highs, watch = _new_highs(), _Watch(on_progress, should_stop)
    for name, value in set_options.items():
        _set_option(highs, name, value)
    watch.attach(highs)

    def ended(
        status: Status, nodes: int = 0, objective: float | None = None, bound: float | None = None
    ) -> SolveRecord:
        seconds, log = time.monotonic() - began, "".join(watch.log)
        return SolveRecord(status, objective is not None, objective, bound, nodes, seconds, set_options, log)

    _check_fixed(model, feasibility_tolerance)
    translator = Translator()
    if fault := _translate(translator, model, highs, watch):
        watch.log.append(f"translation failed: {fault}\n")
        return ended(Status.ERROR)
    columns: dict[int, int] = translator._pyomo_var_to_solver_var_map
    if start:
        _push_start(highs, model, columns, start)

    bounded = True
    with watch.ctrl_c():
        state = _run(highs, watch, time_limit, began)
        info, values = highs.getInfo(), np.array(highs.getSolution().col_value)
        if state in (Model.kUnbounded, Model.kUnboundedOrInfeasible):
            # Without costs nothing is unbounded: what is left to ask is whether there is a solution.
            bounded = False
            highs.changeColsCost(len(columns), np.arange(len(columns)), np.zeros(len(columns)))
            state = _run(highs, watch, time_limit, began)
    nodes = max(0, info.mip_node_count)  # -1 for an LP
    objective: float | None = None
    bound: float | None = None
    if not bounded and state == Model.kOptimal:
        return ended(Status.UNBOUNDED, nodes)
    if state == Model.kModelEmpty:  # no columns: the objective is a constant, which HiGHS forgets to report
        state, objective = Model.kOptimal, float(highs.getLp().offset_)
    elif bounded and _has_solution(info, state, feasibility_tolerance):
        objective = info.objective_function_value
    if bounded and info.mip_node_count >= 0:
        bound = _finite(info.mip_dual_bound)
    elif state == Model.kOptimal:
        bound = objective
    if objective is not None:
        _load(model, translator, values)
    status = _status(state, objective, bound, stopped=watch.stop, rel_gap=rel_gap, abs_gap=abs_gap)
    return ended(status, nodes, objective, None if status == Status.INFEASIBLE else bound)


@dataclass(frozen=True)
class Relaxation:
    """The linear relaxation of a model: its objective, a bound on the model's, and reduced costs of variables.

    No solution that takes a unit of a variable (other than the case's own) beats the bound plus its reduced cost.
    """

    bound: float
    reduced_costs: NDArray[np.float64]  # of the variables asked for; zeros where nothing is proved


def solve_relaxations(
    model: Any,
    cases: Iterable[VarData],
    variables: Sequence[VarData],
    *,
    time_limit: float | None = None,
    feasibility_tolerance: float = 1e-7,
) -> Iterator[Relaxation | None]:
    """The linear relaxation of a model with each variable of ``cases`` at 1 in turn; None where it is infeasible.

    The model is translated once and each case starts from the last one's basis.  Nothing is loaded into the model.
    Where there are many ``variables`` (more than MANY_COLUMNS), only those with promising reduced costs are given to
    the simplex method, and others join while theirs say so (column generation): the result is that of all.
    Reduced costs are those of ``variables``, and hold to ``feasibility_tolerance``.  A case that can't be solved in
    time has an infinite bound.  Raises SolverError, and KeyboardInterrupt on Ctrl-C.
    """
    began = time.monotonic()
    highs, watch = _new_relaxation(feasibility_tolerance)
    _check_fixed(model, feasibility_tolerance)
    translator = Translator()
    if fault := _translate(translator, model, highs, watch):
        raise SolverError(f"translation failed: {fault}")
    columns: dict[int, int] = translator._pyomo_var_to_solver_var_map
    places = np.array([columns.get(id(var), -1) for var in variables], dtype=np.int64)  # -1: in no row, costs nothing
    maximise = translator._objective.sense == pyo.maximize
    few: _FewColumns | None = None

    def run(solver: Any, seen: _Watch) -> Any:
        with seen.ctrl_c():
            state = _run(solver, seen, time_limit, began)
        if seen.stop:
            raise KeyboardInterrupt
        return state

    for case in cases:
        column = columns[id(case)]
        found = None if few is None else few.solve(column, run)
        if found is None:  # the first of all, or one that a few columns can't tell of
            highs.changeColBounds(column, 1.0, 1.0)
            state = run(highs, watch)
            if state == Model.kOptimal:
                duals = np.array(highs.getSolution().col_dual)
                found = _Relaxed(float(highs.getInfo().objective_function_value), duals)
            elif state == Model.kInfeasible:
                found = INFEASIBLE
            else:  # out of time, or HiGHS could not tell: nothing is proved
                highs.clearSolver()
                found = _Relaxed(math.inf if maximise else -math.inf, np.zeros(len(columns)))
            highs.changeColBounds(column, *case.bounds)
            if few is None and state == Model.kOptimal and len(places) > MANY_COLUMNS:
                few = _FewColumns(_Lp.of(highs, maximise), places[places >= 0], found.reduced, feasibility_tolerance)
        yield None if found.objective is None else Relaxation(found.objective, np.append(found.reduced, 0.0)[places])


MANY_COLUMNS = 4000
"""Of more candidates than so many, the linear relaxation takes a part at first."""


def _new_relaxation(feasibility_tolerance: float) -> tuple[Any, _Watch]:
    """A fresh HiGHS for linear relaxations, and its watch."""
    highs, watch = _new_highs(), _Watch(None, None)
    options = {"threads": 1, "solve_relaxation": True, "log_to_console": False, "output_flag": True}
    tolerances = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
    for name, value in {**options, **dict.fromkeys(tolerances, feasibility_tolerance)}.items():
        _set_option(highs, name, value)
    watch.attach(highs)
    return highs, watch


@dataclass(frozen=True)
class _Lp:
    """The numbers of a translated model, its columns in the order of HiGHS."""

    matrix: sparse.csc_array  # rows by columns
    cost: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    offset: float
    maximise: bool

    @classmethod
    def of(cls, highs: Any, maximise: bool) -> _Lp:
        """The numbers that a HiGHS holds."""
        lp = highs.getLp()
        shape = (lp.num_row_, lp.num_col_)
        parts = (np.array(lp.a_matrix_.value_), np.array(lp.a_matrix_.index_), np.array(lp.a_matrix_.start_))
        by_column = lp.a_matrix_.format_ == highspy.MatrixFormat.kColwise
        matrix = sparse.csc_array(parts, shape=shape) if by_column else sparse.csr_array(parts, shape=shape).tocsc()
        vectors = (lp.col_cost_, lp.col_lower_, lp.col_upper_, lp.row_lower_, lp.row_upper_)
        cost, lower, upper, row_lower, row_upper = (np.array(vector, dtype=np.float64) for vector in vectors)
        return cls(matrix, cost, lower, upper, row_lower, row_upper, float(lp.offset_), maximise)


class _Relaxed(NamedTuple):
    """Objective and reduced costs of all columns of a relaxation; the objective is None where it is infeasible."""

    objective: float | None
    reduced: NDArray[np.float64]


INFEASIBLE = _Relaxed(None, np.zeros(0))


class _FewColumns:
    """The linear relaxation with some of the columns at first, and others as their reduced costs ask for them."""

    def __init__(
        self, lp: _Lp, optional: NDArray[np.int64], reduced: NDArray[np.float64], feasibility_tolerance: float
    ) -> None:
        self.lp, self.tolerance = lp, feasibility_tolerance
        self.highs, self.watch = _new_relaxation(feasibility_tolerance)
        _set_option(self.highs, "output_flag", False)
        rows = len(lp.row_lower)
        self.highs.addRows(
            rows, lp.row_lower, lp.row_upper, 0, np.zeros(rows, np.int32), np.zeros(0, np.int32), np.zeros(0)
        )
        self.highs.changeObjectiveSense(highspy.ObjSense.kMaximize if lp.maximise else highspy.ObjSense.kMinimize)
        self.highs.changeObjectiveOffset(lp.offset)
        self.place: dict[int, int] = {}
        away = np.zeros(len(lp.cost), dtype=bool)
        away[optional[np.argsort(np.abs(reduced[optional]), kind="stable")[MANY_COLUMNS // 4 :]]] = True
        self.away = away
        self._add(np.flatnonzero(~away))

    def _add(self, columns: NDArray[np.int64]) -> None:
        part = self.lp.matrix[:, columns]
        starts, indices = part.indptr[:-1].astype(np.int32), part.indices.astype(np.int32)
        first, lp = len(self.place), self.lp
        numbers = (lp.cost[columns], lp.lower[columns], lp.upper[columns])
        self.highs.addCols(len(columns), *numbers, part.nnz, starts, indices, part.data)
        self.place.update((int(column), first + i) for i, column in enumerate(columns))
        self.away[columns] = False

    def solve(self, case: int, run: Callable[[Any, _Watch], Any]) -> _Relaxed | None:
        """The relaxation with column ``case`` at 1, as with all columns; None where this can't tell."""
        place, sign = self.place[case], 1.0 if self.lp.maximise else -1.0
        self.highs.changeColBounds(place, 1.0, 1.0)
        try:
            while True:
                state = run(self.highs, self.watch)
                if state == Model.kOptimal:
                    duals = np.array(self.highs.getSolution().row_dual)
                    reduced = self.lp.cost - self.lp.matrix.T @ duals
                    missed, least = sign * reduced, self.tolerance
                elif state == Model.kInfeasible and (ray := self._proof_of_infeasibility(case)) is not None:
                    missed, least = ray, 0.0  # many small ones could undo a proof together
                else:
                    return None
                wanted = np.flatnonzero(self.away & (missed > least))
                if not len(wanted):
                    if state == Model.kInfeasible:
                        return INFEASIBLE
                    return _Relaxed(float(self.highs.getInfo().objective_function_value), reduced)
                self._add(wanted[np.argsort(-missed[wanted], kind="stable")[: max(1, MANY_COLUMNS // 8)]])
        finally:
            self.highs.changeColBounds(place, self.lp.lower[case], self.lp.upper[case])

    def _proof_of_infeasibility(self, case: int) -> NDArray[np.float64] | None:
        """By how much each column away undoes a proof that the few are infeasible; None where there is no proof.

        A combination y of the rows proves it where the greatest yᵀAx within the columns' bounds is below the least that
        the rows' bounds allow (Farkas).  A column away, at 0 so far, adds at most its range times (Aᵀy)ⱼ.
        """
        _, has_ray, ray = self.highs.getDualRay()
        if not has_ray:
            return None
        lp = self.lp
        here = np.fromiter(self.place, dtype=np.int64)
        lower, upper = lp.lower.copy(), lp.upper.copy()
        lower[case] = upper[case] = 1.0
        size = float(np.abs(ray).max()) or 1.0
        proof = np.where(np.abs(ray) < 1e-11 * size, 0.0, ray) / size
        for y in (proof, -proof):
            slopes = lp.matrix.T @ y
            slopes[np.abs(slopes) < 1e-11] = 0.0
            most = float(_greatest(slopes[here], lower[here], upper[here]).sum())
            least = float(-_greatest(-y, lp.row_lower, lp.row_upper).sum())
            if most < least - self.tolerance:
                return _greatest(slopes, lower, upper)
        return None


def _greatest(slopes: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """The greatest of slope times x for each x between its bounds."""
    with np.errstate(invalid="ignore"):
        return np.where(slopes == 0, 0.0, np.maximum(slopes * low, slopes * high))


def versions() -> dict[str, str]:
    """The versions that a result depends on: pyomo, highspy and the commit of HiGHS."""
    return {"pyomo": version("pyomo"), "highspy": version("highspy"), "highs": str(_new_highs().githash())}


def _new_highs() -> Any:
    _swallow_banner()
    return highspy.Highs()  # type: ignore[no-untyped-call]


@cache
def _swallow_banner() -> None:
    """The first HiGHS of a process prints a banner from C, before any option can silence it."""
    with capture_output(capture_fd=True):
        highspy.Highs()  # type: ignore[no-untyped-call]


def _set_option(highs: Any, name: str, value: object) -> None:
    try:
        known = highs.getOptionType(name)[0] == highspy.HighsStatus.kOk
        is_nan = isinstance(value, float) and math.isnan(value)  # HiGHS takes it
        taken = known and not is_nan and highs.setOptionValue(name, value) == highspy.HighsStatus.kOk
    except TypeError:
        taken = False
    if not taken:
        raise SolverError(f"HiGHS option {name!r}: " + (f"can't be {value!r}" if known else "there is no such option"))


def _check_fixed(model: Any, tolerance: float) -> None:
    """Pyomo takes a variable fixed outside its bounds or domain as it stands; that is never what was meant."""
    for var in model.component_data_objects(pyo.Var, descend_into=True):
        if not var.fixed:
            continue
        value, (lower, upper) = var.value, var.bounds
        if value is None:
            raise SolverError(f"{var.name} is fixed without a value")
        inside = (lower is None or value >= lower - tolerance) and (upper is None or value <= upper + tolerance)
        if not inside or (var.is_integer() and abs(value - round(value)) > tolerance):
            raise SolverError(f"{var.name} is fixed at {value}, outside its bounds {lower}..{upper} or its domain")


def _translate(translator: Any, model: Any, highs: Any, watch: _Watch) -> str | None:
    """Pass the model to HiGHS; return what went wrong, if anything.

    As Translator.set_instance does, less its redirection of file descriptors, which breaks in threads.
    """
    translator._model, translator._solver_model = model, highs
    try:
        translator.add_block(model)
        if translator._objective is None:
            translator.set_objective(None)
    except Exception as error:  # nonlinear rows, SOS, two objectives, a coefficient without a value
        return f"{type(error).__name__}: {error}"
    lp = highs.getLp()
    numbers = (lp.a_matrix_.value_, lp.col_cost_, lp.col_lower_, lp.col_upper_, lp.row_lower_, lp.row_upper_)
    # Pyomo goes on without what HiGHS refused, and HiGHS goes on with NaN: both would solve another model.
    if watch.refused or any(np.isnan(part).any() for part in numbers):
        return "HiGHS refused a number of the model, or one is NaN"
    return None


def _push_start(highs: Any, model: Any, columns: Mapping[int, int], start: Mapping[VarData, float]) -> None:
    for var, value in start.items():
        if var.model() is not model.model() or not math.isfinite(value):
            raise SolverError(f"MIP start: {var.name} = {value} is not a finite value of a variable of the model")
    known = {columns[id(var)]: value for var, value in start.items() if id(var) in columns}  # others are in no row
    indices, values = np.array(list(known), dtype=np.int32), np.array(list(known.values()), dtype=np.double)
    highs.setSolution(len(known), indices, values)


def _run(highs: Any, watch: _Watch, time_limit: float | None, began: float) -> Any:
    """Run HiGHS within what is left of the time limit; raise what a callback raised, else the model status."""
    if time_limit is not None:
        highs.setOptionValue("time_limit", max(0.0, time_limit - (time.monotonic() - began)))
    highs.run()
    if watch.error is not None:
        raise watch.error
    return highs.getModelStatus()


def _has_solution(info: Any, state: Any, tolerance: float) -> bool:
    """HiGHS may end in error over an incumbent that breaks a row by a hair more than the tolerance: it counts."""
    feasible = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    return bool(feasible or (state == Model.kSolveError and info.max_primal_infeasibility <= 10 * tolerance))


def _status(
    state: Any, objective: float | None, bound: float | None, *, stopped: bool, rel_gap: float, abs_gap: float
) -> Status:
    if state == Model.kInfeasible:
        return Status.INFEASIBLE if objective is None else Status.ERROR
    if state == Model.kOptimal and objective is not None and bound is not None:
        # What "optimal" amounts to is read from the numbers, not taken from HiGHS's word.
        gap = abs(objective - bound)
        if gap <= CLOSED * max(1.0, abs(objective)):
            return Status.OPTIMAL
        asked = max(abs_gap, rel_gap * abs(objective)) * (1 + CLOSED)
        return Status.WITHIN_GAP if gap <= asked else Status.ERROR
    if stopped:
        return Status.INTERRUPTED
    limits = (Model.kTimeLimit, Model.kIterationLimit, Model.kSolutionLimit)
    return Status.TIME_LIMIT if state in limits else Status.ERROR


def _load(model: Any, translator: Any, values: Any) -> None:
    columns = translator._pyomo_var_to_solver_var_map
    for var in model.component_data_objects(pyo.Var, descend_into=True):
        if var.fixed:
            continue
        if id(var) in columns:
            value = float(values[columns[id(var)]])
        else:
            lower, upper = var.bounds
            value = min(max(0.0, -math.inf if lower is None else lower), math.inf if upper is None else upper)
        var.set_value(round(value) if var.is_integer() else value, skip_validation=True)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
