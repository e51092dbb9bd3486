r"""Choose a candidate for every member of each group so that the product of their values is best, under caps.

With values $f_c = e^{a_c}$ and counts $n_c$ of the candidates, a choice is worth
$\prod_c f_c^{n_c}$; its logarithm $\sum_c a_c n_c$ is linear, so the choice is a linear problem in whole
numbers, the one of `formulations/selection.py` without couplings.  It is solved for the *loss*
$\sum_c (a^*_{z(c)} - a_c)\, n_c$ against the best candidate $a^*_z$ of each group, in units of the smallest
loss known, so that the solver's tolerances are relative to what is still open.

Candidates are left out on the way where no better choice can use them: dominated ones, those that lose more alone than
the choice known, and those whose reduced cost in the linear relaxation says the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import exp, expm1, fsum, inf, log1p
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.clock import Clock, check_run
from spareopt.dominance import pareto
from spareopt.errors import Fault, InfeasibleError, InputError, LimitError, SolverError, StoppedError
from spareopt.first_choice import first_choice
from spareopt.formulations import selection as formulation
from spareopt.plan import INTERRUPTED, LIMIT_REACHED, PROVEN, ProofStatus, versions
from spareopt.search import OnProgress, SolveProgress
from spareopt.selected import (
    CapTotal,
    ChosenCandidate,
    Selected,
    SelectionCertificate,
    SelectionCounts,
    SelectionProvenance,
)
from spareopt.selection_table import Array, Cap, Label, SelectionTable, read_table
from spareopt.series import System, check_choice, check_sample
from spareopt.solver import Progress, Status, solve_milp, solve_relaxations

Counts = dict[int, int]  # members by row
Rows = NDArray[np.int64]

DEFAULT_GAP = 1e-6
SOLVER_SHARE = 0.5  # of the gap asked; the rest is left for the slack of the bound
FEASIBILITY_TOLERANCE = 1e-9
FEW_CANDIDATES = 60  # that many are not worth a linear relaxation of their own
MOST_EXCLUDED = 100  # choices cut off that break a cap by the solver's tolerance only
PROMISING = 300  # candidates among which a better choice is looked for first
FIRST_NODES = 100  # of that search's branch and bound: it need not be proven
FINER = 0.25  # the loss is measured in a smaller unit where that is at most this share of the last
SMALL_COEFFICIENT = 2e-9  # the solver drops entries of a row below half of it
RESOLUTION = 1e-15  # of a total of logarithms, relative to its largest terms


def select(
    candidates: pd.DataFrame,
    caps: Mapping[str, Cap],
    *,
    structure: str | System,
    group: str = "group",
    factor: str | None = None,
    log_value: str | None = None,
    members: Mapping[Label, int] | None = None,
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Selected:
    """The choice of one candidate for every member of each group with the best product of values, and its proof.

    ``candidates`` has a row for each candidate and unique labels for an index.  Column ``group`` names the group
    (text or whole numbers); column ``factor`` holds values in (0, 1], such as reliabilities, or instead column
    ``log_value`` holds logarithms of any values.  ``members`` says how many members a group has (1 where it does not);
    each takes a candidate.  ``caps`` limits the totals of columns over all members, in the columns' own units: the
    most, or (least, most) with None for no limit.  Totals may be beyond a limit by 1e-9 of it, for rounding.

    ``structure`` has to say why the system's value is that product: ``"series"`` states it; a callable that scores a
    choice exactly (from the chosen rows of ``candidates``, one for each member) has it checked, on random choices and
    on the one found.

    ``gap`` is the relative gap asked, of the product; ``time_limit`` is in seconds.  Raises InputError (a faulty
    table or option, groups that are not in series), InfeasibleError (proven), LimitError or StoppedError where
    no choice was found in time, SolverError.
    """
    clock = Clock(time_limit)
    if not 0 <= gap < 1:
        raise ValueError(f"gap: expected a number from 0 to below 1, got {gap}")
    check_run("select", time_limit, seed)
    table = read_table(candidates, caps, group=group, factor=factor, log_value=log_value, members=members)
    system = _system(structure)
    because = "series, as stated"
    if system is not None:
        because = f"series, as checked on {check_sample(table, system) + 1} choices"
    dominated_by = _dominated_by(table)
    search = _Search(table, np.flatnonzero(dominated_by < 0), gap, seed, clock, on_progress)
    search.run()
    if search.best is None:
        raise _failure(search)
    if system is not None:
        check_choice(table, system, search.best)
    totals = _totals(table, search.best)
    log_bound = max(search.bound, search.value)
    reached = expm1(log_bound - search.value)
    result = Selected(
        chosen=tuple(
            ChosenCandidate(group=table.groups[table.group[row]], row=table.labels[row], count=search.best[row])
            for row in sorted(search.best, key=lambda row: (table.group[row], row))
        ),
        totals=totals,
        certificate=SelectionCertificate(
            status=PROVEN if reached <= gap else search.status,
            value=exp(search.value),
            bound=exp(log_bound),
            log_value=search.value,
            log_bound=log_bound,
            gap=reached,
            gap_asked=gap,
            structure=because,
            choices_excluded=len(search.excluded),
        ),
        candidates=SelectionCounts(
            given=len(table.labels), dominated=int((dominated_by >= 0).sum()), outbid=len(search.outbid)
        ),
        provenance=SelectionProvenance(
            input_hash=table.fingerprint(), gap=gap, time_limit_s=time_limit, seed=seed, versions=_versions()
        ),
    )
    better = [None if row < 0 else table.labels[row] for row in dominated_by]
    result._audit = pd.DataFrame(
        {
            "members": [search.best.get(row, 0) for row in range(len(table.labels))],
            "dominated_by": pd.Series(better, index=candidates.index, dtype=object),
            "outbid": np.isin(np.arange(len(table.labels)), search.outbid),
        },
        index=candidates.index,
    )
    return result


def undominated(
    candidates: pd.DataFrame,
    caps: Mapping[str, Cap],
    *,
    group: str = "group",
    factor: str | None = None,
    log_value: str | None = None,
) -> pd.DataFrame:
    """The candidates that no other one of their group dominates; arguments as those of ``select``.

    One dominates another if its value is no lower and it serves every cap as well: a column with a highest total is
    no larger, one with a least total no smaller, one with both equal.  Of equal candidates the first stays.  What is
    left holds a best choice for any caps on the same sides of the same columns, and of any system whose value never
    falls when a group's value rises, in series or not.  Raises InputError.
    """
    table = read_table(candidates, caps, group=group, factor=factor, log_value=log_value)
    return candidates[_dominated_by(table) < 0]


@cache
def _versions() -> dict[str, str]:
    return versions()


def _system(structure: str | System) -> System | None:
    if callable(structure):
        return structure
    if structure == "series":
        return None
    message = (
        f"got {structure!r}, expected 'series' or a callable that scores a choice; say 'series' only if the system's "
        "value is the product of the chosen values"
    )
    raise InputError("select", [Fault("structure", message)])


def _dominated_by(table: SelectionTable) -> Rows:
    """For each row, a row of the same group that dominates it, or −1."""
    keys = [table.log_value]
    for cap in table.caps:
        keys += [-cap.numbers] if cap.high is not None else []
        keys += [cap.numbers] if cap.low is not None else []
    columns = np.stack(keys, axis=1)
    dominated_by = np.full(len(table.group), -1, dtype=np.int64)
    for z in range(len(table.groups)):
        rows = np.flatnonzero(table.group == z)
        winner = pareto(columns[rows])
        dominated_by[rows] = np.where(winner < 0, -1, rows[winner])
    return dominated_by


def _totals(table: SelectionTable, counts: Counts) -> tuple[CapTotal, ...]:
    """Each limit with the exact total; raises SolverError where one is broken."""
    rows = []
    for cap in table.caps:
        total = table.total(cap.numbers, counts)
        if cap.low is not None:
            rows.append(CapTotal(column=cap.column, sense=">=", total=total, bound=cap.low, slack=total - cap.low))
        if cap.high is not None:
            rows.append(CapTotal(column=cap.column, sense="<=", total=total, bound=cap.high, slack=cap.high - total))
    if not _within(table, counts):
        raise SolverError("the choice found breaks a cap; please report this")
    return tuple(rows)


def _within(table: SelectionTable, counts: Counts) -> bool:
    """Whether a choice meets every cap, up to rounding."""
    for cap in table.caps:
        total = table.total(cap.numbers, counts)
        if cap.low is not None and total < cap.low - cap.tolerance(cap.low):
            return False
        if cap.high is not None and total > cap.high + cap.tolerance(cap.high):
            return False
    return True


def _failure(search: _Search) -> Exception:
    if search.infeasible:
        return InfeasibleError(_why_none(search.table))
    if search.status == INTERRUPTED:
        return StoppedError("interrupted before any choice was found")
    if search.clock.limit is None:
        return LimitError("every choice tried breaks a cap by a hair; state caps and columns in rounder numbers")
    return LimitError(f"the time limit of {search.clock.limit:g} s was reached before any choice was found")


def _why_none(table: SelectionTable) -> str:
    """The caps that no choice meets, each alone; or that they can't be met together."""
    reasons = []
    rows = [table.group == z for z in range(len(table.groups))]
    for cap in table.caps:
        extremes = [
            fsum(m * float(pick(cap.numbers[own])) for m, own in zip(table.members, rows, strict=True))
            for pick in (np.min, np.max)
        ]
        if cap.high is not None and extremes[0] > cap.high:
            reasons.append(
                f"{cap.column}: the least any choice takes is {extremes[0]:,.9g}, the cap is {cap.high:,.9g}"
            )
        if cap.low is not None and extremes[1] < cap.low:
            reasons.append(f"{cap.column}: the most any choice has is {extremes[1]:,.9g}, asked are {cap.low:,.9g}")
    together = "no choice meets all caps together; relax one: " + ", ".join(cap.column for cap in table.caps)
    return "; ".join(reasons) or together


@dataclass
class _Search:
    """The loop of selection and exact re-scoring, and what it knows so far; values and bounds are logarithms."""

    table: SelectionTable
    rows: Rows
    """Candidates that a better choice than the best one could use, and those that it uses."""
    gap: float
    seed: int
    clock: Clock
    on_progress: OnProgress | None
    best: Counts | None = None
    value: float = -inf
    bound: float = inf
    status: ProofStatus = LIMIT_REACHED
    infeasible: bool = False
    excluded: list[Counts] = field(default_factory=list)
    undominated: Rows = field(init=False)
    highest: Array = field(init=False)
    top: float = field(init=False)
    """Of the choice of every group's best, whatever its totals."""
    resolution: float = field(init=False)
    """What sums of logarithms may be off for rounding."""

    def __post_init__(self) -> None:
        table = self.table
        self.undominated = self.rows
        self.highest = table.highest
        self.top = fsum(m * float(best) for m, best in zip(table.members, self.highest, strict=True))
        self.bound = self.top
        self.resolution = RESOLUTION * sum(table.members) * float(np.abs(table.log_value).max())

    @property
    def outbid(self) -> Rows:
        """Undominated candidates that were left out."""
        return np.setdiff1d(self.undominated, self.rows)

    def run(self) -> None:
        """Solve until bound and value meet, nothing is left, or the limit is reached."""
        try:
            self._run()
        except KeyboardInterrupt:
            self.status = INTERRUPTED

    def _run(self) -> None:
        first = first_choice(self.table, self.rows)
        if first is not None:
            self._offer(first)
        go_on = True
        while go_on and not self._ended():
            cut_off, unit = len(self.excluded), self._unit()
            if self.best is not None:
                self._keep(self._loss(self.rows) <= unit + self.resolution)
                self._screen(unit)
                if self._ended():
                    return
            told = self._select(unit)
            news = cut_off < len(self.excluded) <= MOST_EXCLUDED
            go_on = told and (news or self._unit() <= FINER * unit)

    def _ended(self) -> bool:
        closed = self.best is not None and expm1(self.bound - self.value) <= self.gap
        return closed or not self.clock.going()

    def _unit(self) -> float:
        """The loss of the best choice, so that of all that matter it is one at most; else the largest there is."""
        if self.best is not None:
            return self.top - self.value
        return float(self._loss(self.rows).max()) or 1.0

    def _loss(self, rows: Rows) -> Array:
        """What candidates lose against the best of their groups."""
        return self.highest[self.table.group[rows]] - self.table.log_value[rows]

    def _keep(self, keep: NDArray[np.bool_]) -> None:
        self.rows = self.rows[keep | np.isin(self.rows, list(self.best or ()))]

    def _slack(self) -> float:
        """How far a dual bound may be off, in units of the loss.

        A dual solution may break each candidate's row by the tolerance, and the counts sum to the members; the solver
        leaves open what is better by less than the tolerance; and the option is a column of its own.
        """
        return FEASIBILITY_TOLERANCE * (sum(self.table.members) + 2.0)

    def _screen(self, unit: float) -> None:
        """Leave out candidates by their reduced costs in the linear relaxation, and lower the bound to it."""
        if len(self.rows) <= FEW_CANDIDATES:
            return
        self._tell("screening candidates")
        model = self._model(self.rows, unit)
        relaxation = next(
            solve_relaxations(
                model,
                [model.option[0]],
                list(model.n.values()),
                time_limit=self.clock.remaining(),
                feasibility_tolerance=FEASIBILITY_TOLERANCE,
            )
        )
        if relaxation is None:
            return
        with_each = self._log(np.append(relaxation.reduced_costs, 0.0) + relaxation.bound, unit)
        self.bound = min(self.bound, max(float(with_each[-1]), self.value))
        before, worth = self.rows, with_each[:-1]
        self._keep(worth >= self.value)
        if len(self.rows) > PROMISING:
            worth = worth[np.isin(before, self.rows)]
            self._try_promising(worth, unit)
            self._keep(worth >= self.value)

    def _try_promising(self, worth: Array, unit: float) -> None:
        """Look for a better choice among the candidates of which the relaxation promises most, not for long."""
        promising = self.rows[np.argsort(-worth, kind="stable")[:PROMISING]]
        rows = np.union1d(promising, list(self.best or ()))
        model = self._model(rows, unit)
        record = solve_milp(
            model,
            abs_gap=SOLVER_SHARE * log1p(self.gap) / unit,
            time_limit=self.clock.remaining(),
            seed=self.seed,
            feasibility_tolerance=FEASIBILITY_TOLERANCE,
            start=self._start(model, rows),
            options={"mip_max_nodes": FIRST_NODES},
        )
        if record.has_incumbent:
            self._offer(_counts(model, rows))
        if record.status is Status.INTERRUPTED:
            raise KeyboardInterrupt

    def _start(self, model: Any, rows: Rows) -> Any:
        """The best choice so far as a start for the solver; None where there is none."""
        if self.best is None:
            return None
        counts = {i: self.best.get(int(row), 0) for i, row in enumerate(rows)}
        return formulation.start_at(model, counts, 0)

    def _log(self, solver_bound: Array, unit: float) -> Array:
        """The logarithms that the solver's bounds on (minus) the loss prove."""
        return self.top + unit * (solver_bound + self._slack()) + self.resolution

    def _model(self, rows: Rows, unit: float) -> Any:
        table = self.table
        place = {int(row): i for i, row in enumerate(rows)}
        budgets = []
        for cap in table.caps:
            if cap.high is not None:
                numbers = _without_specks(cap.numbers[rows], cap.high)
                budgets.append(formulation.Budget(cap.column, numbers, cap.high))
            if cap.low is not None:
                numbers = -_without_specks(-cap.numbers[rows], cap.low)
                budgets.append(formulation.Budget(cap.column, numbers, cap.low, ">="))
        return formulation.build(
            formulation.Selection(
                group=table.group[rows],
                members=table.members,
                log_value=-self._loss(rows) / unit,
                constant=0.0,
                goal="value",
                budgets=tuple(budgets),
                excluded=tuple(
                    ({place[row]: count for row, count in counts.items()}, 0)
                    for counts in self.excluded
                    if counts.keys() <= place.keys()
                ),
            )
        )

    def _select(self, unit: float) -> bool:
        """Solve the selection; whether to go on."""
        self._tell("selecting")
        model = self._model(self.rows, unit)
        record = solve_milp(
            model,
            abs_gap=SOLVER_SHARE * log1p(self.gap) / unit,
            time_limit=self.clock.remaining(),
            seed=self.seed,
            feasibility_tolerance=FEASIBILITY_TOLERANCE,
            start=self._start(model, self.rows),
            on_progress=lambda progress: self._tell_solver(progress, unit),
        )
        if record.status is Status.INFEASIBLE:
            self.infeasible = self.best is None
            self.bound = self.value if self.best is not None else self.bound
            return False
        if record.status in (Status.ERROR, Status.UNBOUNDED) and not record.has_incumbent:
            raise SolverError(f"HiGHS ended with {record.status.value}; its log ends: {record.log[-500:]}")
        if record.bound is not None:
            self.bound = min(self.bound, max(float(self._log(np.array(record.bound), unit)), self.value))
        if record.has_incumbent:
            counts = _counts(model, self.rows)
            if not self._offer(counts):
                self.excluded.append(counts)
        if record.status is Status.INTERRUPTED:
            self.status = INTERRUPTED
        return record.status in (Status.OPTIMAL, Status.WITHIN_GAP)

    def _offer(self, counts: Counts) -> bool:
        """Take a choice if it is better than the best one; whether it meets the caps."""
        if not _within(self.table, counts):
            return False
        value = self.table.total(self.table.log_value, counts)
        if value > self.value:
            self.best, self.value = counts, value
            self.bound = max(self.bound, value)
        return True

    def _tell(self, phase: str, bound: float | None = None) -> None:
        if self.on_progress is not None:
            value = exp(self.value) if self.best is not None else None
            known = self.bound if bound is None else min(bound, self.bound)
            self.on_progress(SolveProgress(phase, self.clock.elapsed(), value, exp(known)))

    def _tell_solver(self, progress: Progress, unit: float) -> None:
        bound = None if progress.bound is None else float(self._log(np.array(progress.bound), unit))
        self._tell("selecting", bound)


def _counts(model: Any, rows: Rows) -> Counts:
    """The choice that a solved model holds."""
    return {int(rows[i]): count for i, count in formulation.chosen(model)[0].items()}


def _without_specks(numbers: Array, bound: float) -> Array:
    """Numbers too small for the solver to keep: gone, or enlarged where they make room under a highest total.

    Either way no choice that meets the cap is cut off.
    """
    speck = SMALL_COEFFICIENT * (abs(bound) or float(np.abs(numbers).max()) or 1.0)
    return np.where(np.abs(numbers) >= speck, numbers, np.where(numbers < 0.0, -speck, 0.0))
