"""Over-estimates of the couplings between zones, and their refinement around plans already scored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, log, log1p
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.candidates import energy_cost_per_kw_year
from spareopt.errors import Fault, InputError
from spareopt.formulations.selection import (
    Budget,
    ConcaveTerm,
    Cost,
    Energy,
    Line,
    Piece,
    RateCoupling,
    Selection,
    SlowestScale,
)
from spareopt.limits import rounding
from spareopt.numerics.recovery import Curvature, RateTerm
from spareopt.problem import Outcome, Problem
from spareopt.units import HOURS_PER_YEAR

Array = NDArray[np.float64]
Points = tuple[float, ...]

MANY_TANGENTS, MANY_PIECES = 40, 12
LOWEST_LOG_UP = -20.0  # A below 2e-9 is taken as that: an over-estimate, and it keeps coefficients sane
NEGLIGIBLE_LOG_UP = -15.0  # energy of a plan that is up less than 3e-7 of the time is taken as nothing
ROUNDING = 1e-9
SAME_POINT = 1e-12  # relative
WORTHLESS = -20.0  # ln of a goodput of 2e-9 GPUs: as none
LEAST_PLACED = 1e-6  # GPUs: fewer are taken as that, an over-estimate


class Interval(NamedTuple):
    """An interval of a curve: of the rate under an option, of the cost, or of ln A as the energy counts it."""

    curve: Literal["rate", "cost", "log_up"]
    option: int  # 0 where the curve is the same for all
    low: float
    high: float


@dataclass(frozen=True)
class Refinement:
    """Where the couplings are exact: points of each curve; and plans that are cut off."""

    placed_gpus: Points
    rate: tuple[Points, ...]  # by option
    log_up: Points
    cost: Points
    excluded: tuple[tuple[dict[int, int], int], ...] = ()
    closed: tuple[Interval, ...] = ()
    """Intervals of the curves where no better plan can be."""
    closed_scales: tuple[float, ...] = ()
    """Log scales that the slowest zone of no better plan has."""

    @classmethod
    def initial(cls, problem: Problem, coarse: bool) -> Refinement:
        """A first relaxation: few points over the range of all choices, none inside where ``coarse``."""
        between = 0 if coarse else 1
        sizes = problem.extremes(problem.column("placed_gpus"))
        rates = rate_range(problem)
        rate_points = tuple(
            () if scheme.curvature is Curvature.CONCAVE else _inner(*rates, 4 * between)
            for scheme in problem.terms.couplings
        )
        cost = _inner(*cost_range(problem), 7 * between) if problem.goal == "ratio" else ()
        log_up = (-5.0, -1.0, -0.3, -0.1, -0.03, -0.01, -0.003, -0.001) if between else (-1.0,)
        return cls(
            (*sizes, *_inner(*sizes, 4 * between)), rate_points, log_up if _energy_matters(problem) else (), cost
        )

    def at(self, problem: Problem, outcome: Outcome) -> Refinement | None:
        """The refinement that is also exact at a plan; None where it already was."""
        option = outcome.option
        rate = list(self.rate)
        rate[option] = _with(rate[option], outcome.rate)
        finer = replace(
            self,
            placed_gpus=_with(self.placed_gpus, outcome.placed_gpus),
            rate=tuple(rate),
            log_up=_with(self.log_up, outcome.log_up) if _energy_matters(problem) else self.log_up,
            cost=_with(self.cost, outcome.cost) if problem.goal == "ratio" and outcome.cost else self.cost,
        )
        return None if finer == self else finer

    def excluding(self, outcome: Outcome) -> Refinement:
        """The refinement that cuts a plan off."""
        return replace(self, excluded=(*self.excluded, (dict(outcome.counts), outcome.option)))

    def denser(self, problem: Problem, tolerance: float) -> Refinement:
        """The refinement with more points over the range that the problem's candidates still span.

        Tangents are free, so there are many; pieces of the other curves cost a binary each, so only those are halved
        whose lines are more than ``tolerance`` off the curve.
        """
        sizes, rates = problem.extremes(problem.column("placed_gpus")), rate_range(problem)
        points = []
        for option, scheme in enumerate(problem.terms.couplings):
            more = _inner(*rates, MANY_TANGENTS)
            if scheme.curvature is not Curvature.CONCAVE:
                pieces = [piece for piece in self._rate(problem).pieces if piece.option == option]
                more = tuple(
                    (p.low + p.high) / 2
                    for p in pieces
                    if len(pieces) < MANY_PIECES and _overestimate(scheme, p) > tolerance
                )
            points.append((*self.rate[option], *more))
        placed_gpus = (*self.placed_gpus, *_inner(*sizes, MANY_TANGENTS))
        finer = replace(self, placed_gpus=placed_gpus, rate=tuple(points))
        if problem.goal == "ratio":
            rough = [
                piece for piece in self.cost_intervals(problem) if log(piece.high / piece.low) ** 2 / 8 > tolerance
            ]
            finer = replace(finer, cost=(*self.cost, *_halves(rough)))
        if _energy_matters(problem):
            rough = [piece for piece in self.log_up_intervals(problem) if _underestimate(problem, piece) > tolerance]
            finer = replace(finer, log_up=(*self.log_up, *_halves(rough)))
        return finer

    def cost_intervals(self, problem: Problem) -> list[Interval]:
        """The pieces of the cost that are open, with goal ratio."""
        return [piece for piece in self._cost_pieces(problem) if self._is_open(piece)]

    def log_up_intervals(self, problem: Problem) -> list[Interval]:
        """The pieces of ln A, as the energy counts it, that are open."""
        return [piece for piece in self._log_up_pieces(problem) if self._is_open(piece)]

    def without(self, closed: Iterable[Interval]) -> Refinement:
        """The refinement that leaves out intervals of the curves in which no better plan can be."""
        return replace(self, closed=(*self.closed, *closed))

    def _is_open(self, piece: Interval) -> bool:
        return not any(
            (piece.curve, piece.option) == (closed.curve, closed.option)
            and closed.low <= piece.low
            and piece.high <= closed.high
            for closed in self.closed
        )

    def _closed(self, pieces: list[Interval]) -> tuple[int, ...]:
        return tuple(i for i, piece in enumerate(pieces) if not self._is_open(piece))

    def _cost_pieces(self, problem: Problem) -> list[Interval]:
        return [Interval("cost", 0, *ends) for ends in pairwise(_edges(*cost_range(problem), self.cost))]

    def _log_up_pieces(self, problem: Problem) -> list[Interval]:
        exponent = np.maximum(problem.terms.log_up_low, LOWEST_LOG_UP)
        lowest = min(problem.terms.site_up[1] + problem.extremes(exponent)[0], NEGLIGIBLE_LOG_UP) - 1.0
        inner = (p for p in sorted(self.log_up) if NEGLIGIBLE_LOG_UP < p < 0.0)
        return [Interval("log_up", 0, *ends) for ends in pairwise((lowest, NEGLIGIBLE_LOG_UP, *inner, 0.0))]

    def selection(self, problem: Problem) -> Selection:
        """The selection model of a problem under this refinement."""
        alone = sum(problem.members) == 1
        placed, scale = np.maximum(problem.column("placed_gpus"), LEAST_PLACED), problem.column("log_scale")
        log_value = np.maximum(problem.terms.log_value, LOWEST_LOG_UP)
        constant = problem.terms.site_value
        concave: tuple[ConcaveTerm, ...] = ()
        slowest = None
        target = problem.candidates.instance.objective.goodput_target
        needed = problem.goal != "cost" or target is not None  # else goodput is neither wanted nor held to anything
        if needed and alone:
            log_value = log_value + np.log(placed) + scale
        elif needed:
            unit = problem.extremes(placed)[1]
            constant += log(unit)
            tangents = tuple((unit / point, log(point / unit) - 1.0) for point in self.placed_gpus if point > 0)
            concave = (ConcaveTerm("placed_gpus", placed / unit, tangents),)
            levels, level = np.unique(scale, return_inverse=True)
            if len(levels) == 1:
                constant += float(levels[0])
            else:
                closed = tuple(int(k) for k in np.flatnonzero(np.isin(levels, self.closed_scales)))
                slowest = SlowestScale(level.astype(np.int64), levels, closed)
        cost, energy, unit_cost, unit = None, None, cost_unit(problem), objective_unit(problem)
        if _energy_matters(problem):
            energy = self._energy(problem, unit_cost)
        if problem.goal != "value":
            always, running, by_option = problem.minimised
            parts = tuple(part / unit for part in by_option)
            pieces = self._cost_pieces(problem) if problem.goal == "ratio" else []
            edges = tuple(edge / unit for edge in _edges_of(pieces))
            share = unit_cost / unit if running.any() else 0.0
            cost = Cost(always / unit, parts, edges, self._closed(pieces), share)
        if problem.goal == "ratio":
            constant += log(HOURS_PER_YEAR / unit)
        return Selection(
            group=problem.group,
            members=problem.members,
            log_value=log_value,
            constant=constant,
            goal=problem.goal,
            options=len(problem.schemes),
            log_target=None if target is None else log(target),
            concave=concave,
            slowest=slowest,
            rate=self._rate(problem) if needed else _any_rate(problem),
            budgets=tuple(_budgets(problem, unit_cost)),
            cost=cost,
            energy=energy,
            totals=() if alone else _totals(problem),
            excluded=self.excluded,
        )

    def _rate(self, problem: Problem) -> RateCoupling:
        low, high = rate_range(problem)
        pieces = [
            piece
            for option, scheme in enumerate(problem.terms.couplings)
            for piece in _pieces(scheme, option, low, high, self.rate[option])
        ]
        open_pieces = tuple(piece for piece in pieces if self._is_open(rate_interval(piece)))
        return RateCoupling(problem.column("rate_per_h"), problem.terms.site[1], open_pieces)

    def _energy(self, problem: Problem, unit_cost: float) -> Energy:
        exponent = np.maximum(problem.terms.log_up_low, LOWEST_LOG_UP)
        pieces = self._log_up_pieces(problem)
        factor = problem.energy_cost / unit_cost
        return Energy(factor, exponent, problem.terms.site_up[1], _edges_of(pieces), self._closed(pieces))


ROOM = 1e-9
"""Of a logarithm, for rounding: nearer than this to each other, two values of ln goodput are the same."""


def sharpen(
    refinements: list[Refinement], points: list[list[float]], cases: Iterable[tuple[int, Problem, Outcome]], weigh: bool
) -> bool:
    """Make the couplings of several cases (scenarios, quarters), by place, exact at a plan, in place.

    With ``weigh`` the goodputs themselves are added up, and the pieces of each exponential get an edge there.  Whether
    anything was not exact yet.
    """
    finer = False
    for place, problem, outcome in cases:
        refined = refinements[place].at(problem, outcome)
        if refined is not None:
            refinements[place], finer = refined, True
        if weigh and outcome.goodput > 0:
            point = log(outcome.goodput)
            if all(abs(point - known) > ROOM for known in points[place]):
                points[place].append(point)
                finer = True
    return finer


def optimistic_log_goodput(problem: Problem) -> float:
    """ln goodput with every part at its best, as if nothing held them together."""
    efficiency = max(float(scheme.log_eta(rate_range(problem)[0])) for scheme in problem.terms.couplings)
    log_up = problem.terms.site_value + problem.extremes(problem.terms.log_value)[1]
    size = problem.extremes(problem.column("placed_gpus"))[1]
    return log(max(size, LEAST_PLACED)) + log_up + efficiency + float(problem.column("log_scale").max())


def pessimistic_log_goodput(problem: Problem) -> float:
    """A number below ln goodput of every plan as the relaxation counts it: every part at its worst."""
    log_value = problem.extremes(np.maximum(problem.terms.log_value, LOWEST_LOG_UP))[0]
    size = log(max(problem.extremes(problem.column("placed_gpus"))[0], LEAST_PLACED))
    efficiency = min(float(scheme.log_eta(rate_range(problem)[1])) for scheme in problem.terms.couplings)
    return problem.terms.site_value + log_value + size + efficiency + float(problem.column("log_scale").min())


def trivial_bound(problem: Problem) -> float:
    """A bound on scores that needs no solver."""
    if problem.goal == "cost":
        return -cost_range(problem)[0] * (1 - ROUNDING)
    score = optimistic_log_goodput(problem) + ROUNDING
    return score + (log(HOURS_PER_YEAR / cost_range(problem)[0]) if problem.goal == "ratio" else 0.0)


def carefree_bound(problem: Problem) -> float:
    """A bound on the scores of a problem's choices whatever crews, shelf and repair cost and however good they are."""
    candidates = problem.candidates
    table, members = candidates.table, problem.members
    instance = candidates.instance
    best, least = 0.0, 0.0
    price = energy_cost_per_kw_year(instance)
    for z, number in enumerate(members):
        rows = table[table["zone"] == z]
        best += number * float(rows["working_gpus"].max())
        bare = rows["capital"] - rows["shelf_trays"].fillna(0.0) * max(p.tray_price for p in instance.repair_plans)
        yearly = price * rows["blocked_power_kw"] if price else 0.0 * rows["capital"]
        least += number * float((bare / (instance.economics.amortisation / HOURS_PER_YEAR) + yearly).min())
    if problem.goal == "cost":
        return -max(least, 0.0)
    score = log(best) + float(table["log_scale"].max())
    return score if problem.goal == "value" else score + log(HOURS_PER_YEAR / max(least, 1.0))


def bound_slack(problem: Problem, tolerance: float) -> float:
    """How far the solver's dual bound may be off, in the unit of the selection's objective.

    A dual solution may break each of its rows by ``tolerance``; a column's violation moves the bound by at most that
    times the column's range.  Counts move by at most twice the members in all; the few coupling columns have ranges
    of about one in the units of the selection.
    """
    return tolerance * (2.0 * sum(problem.members) + 8.0)


def score_bound(problem: Problem, solver_bound: Array, tolerance: float) -> Array:
    """The bounds on scores that the solver's dual bounds of a selection prove."""
    slack = bound_slack(problem, tolerance)
    if problem.goal == "cost":
        return -(solver_bound - slack) * objective_unit(problem)
    return solver_bound + slack


def cost_range(problem: Problem) -> tuple[float, float]:
    """The least and the greatest cost any choice can have."""
    always, running, by_option = problem.minimised
    low = problem.extremes(always)[0] + min(by_option)
    return low, problem.extremes(always + running)[1] + max(by_option)


def check_cost(problem: Problem) -> None:
    """Goodput per cost needs a cost.  Raises InputError where a choice costs nothing."""
    if problem.goal == "ratio" and cost_range(problem)[0] <= 0:
        message = "goodput_per_dollar needs a cost above zero, but a choice costs nothing; state rack_price"
        raise InputError(problem.candidates.instance.name, [Fault("objective.kind", message)])


def cost_unit(problem: Problem) -> float:
    """The money in which a selection counts, so that its costs are near one."""
    if problem.size is not None and problem.minimised[1].any():
        return problem.size
    if problem.goal != "value" and problem.size is None:
        return max(cost_range(problem)[0], 1.0)
    return max(problem.candidates.instance.limits.yearly_cost or 1.0, 1.0)


def objective_unit(problem: Problem) -> float:
    """The unit in which a selection counts what it minimises."""
    return cost_unit(problem) if problem.size is None else problem.size


def rate_range(problem: Problem) -> tuple[float, float]:
    """The least and the greatest interruption rate any choice can have, with room for rounding."""
    low, high = problem.extremes(problem.column("rate_per_h"))
    return (problem.terms.site[1] + low) * (1 - 1e-12), (problem.terms.site[1] + high) * (1 + 1e-12)


def _overestimate(scheme: RateTerm, piece: Piece) -> float:
    """How far a piece's line is above ln η in its middle, about the most it can be."""
    middle = (piece.low + piece.high) / 2
    slope, intercept = piece.lines[0]
    return float(slope * middle + intercept - scheme.log_eta(np.array(middle)))


def rate_interval(piece: Piece) -> Interval:
    """The interval of the rate that a piece of the selection covers."""
    return Interval("rate", piece.option, piece.low, piece.high)


def _edges_of(pieces: list[Interval]) -> Points:
    """The edges of pieces that follow one another."""
    return (pieces[0].low, *(piece.high for piece in pieces)) if pieces else ()


def _halves(pieces: list[Interval]) -> Points:
    return tuple((piece.low + piece.high) / 2 for piece in pieces) if len(pieces) < MANY_PIECES else ()


def _underestimate(problem: Problem, piece: Interval) -> float:
    """How far the lines of a piece may be below the energy's cost, as a share of the least cost: about the most."""
    if piece.low <= NEGLIGIBLE_LOG_UP:
        return 0.0
    low, high = problem.extremes(problem.energy_cost)
    rise, bend = exp(piece.high) - exp(piece.low), exp(piece.high) * (piece.high - piece.low) ** 2 / 8
    return ((high - low) * rise / 4 + high * bend) / cost_unit(problem)


def _energy_matters(problem: Problem) -> bool:
    limited = problem.candidates.instance.limits.yearly_cost is not None
    counted = problem.goal != "value" and bool(problem.minimised[1].any())
    return bool(problem.energy_cost.any()) and (limited or counted)


def _pieces(scheme: RateTerm, option: int, low: float, high: float, points: Points) -> list[Piece]:
    """The rate's pieces of one recovery scheme: tangents where it is concave, else one line a piece."""
    if scheme.curvature is Curvature.CONCAVE:
        lines: list[Line] = list(scheme.over_estimators(low, high))
        for point in points:
            lines += scheme.over_estimators(point, point)
        return [Piece(option, low, high, tuple(lines))]
    edges = _edges(low, high, points)
    return [Piece(option, left, right, tuple(scheme.over_estimators(left, right))) for left, right in pairwise(edges)]


def _any_rate(problem: Problem) -> RateCoupling:
    """The rate where nothing depends on it: it only goes with the checkpoint plan."""
    low, high = rate_range(problem)
    pieces = tuple(Piece(option, low, high, ()) for option in range(len(problem.schemes)))
    return RateCoupling(problem.column("rate_per_h"), problem.terms.site[1], pieces)


def _totals(problem: Problem) -> tuple[NDArray[np.int64], ...]:
    """The numbers bought, where candidates differ in them."""
    columns = (problem.table[name].to_numpy(dtype=np.int64) for name in ("racks", "inter_block_spares"))
    return tuple(numbers for numbers in columns if numbers.min() < numbers.max())


def _budgets(problem: Problem, unit_cost: float) -> list[Budget]:
    """The instance's limits as rows."""
    instance = problem.candidates.instance
    limits, it_power = instance.limits, problem.column("it_power_kw")
    working = problem.column("working_gpus")
    budgets = []
    if limits.capital is not None:
        budgets.append(Budget("capital", problem.column("capital"), limits.capital - problem.shared_capital))
    for name, column, most in (("crews", "own_crews", limits.crews), ("shelf_trays", "own_shelf", limits.shelf_trays)):
        if most is not None:
            budgets.append(Budget(name, problem.column(column), float(most)))
    if limits.yearly_cost is not None:
        parts = tuple(part / unit_cost for part in problem.option_cost)
        coefficients, bound = problem.blocked_yearly_cost / unit_cost, limits.yearly_cost / unit_cost
        budgets.append(Budget("yearly_cost", coefficients, bound, "<=", parts, _energy_matters(problem)))
    if limits.it_power is not None:
        budgets.append(Budget("it_power", it_power, limits.it_power))
    if limits.site_power is not None:
        budgets.append(Budget("site_power", instance.power.pue * it_power, limits.site_power))
    if limits.floor is not None:
        budgets.append(Budget("floor", problem.column("racks"), float(limits.floor)))
    if limits.working_gpus.minimum is not None:
        budgets.append(Budget("working_gpus.minimum", working, float(limits.working_gpus.minimum), ">="))
    if limits.working_gpus.maximum is not None:
        budgets.append(Budget("working_gpus.maximum", working, float(limits.working_gpus.maximum)))
    if limits.availability is not None:
        allowed = 1.0 - limits.availability + rounding("availability", limits.availability)
        floor = log1p(-allowed) - problem.terms.site_up[0]
        # a zone below twice the floor breaks it whatever the others do: no coefficient need be larger
        budgets.append(Budget("availability", np.maximum(problem.terms.log_up, -2.0 * abs(floor)), floor, ">="))
    return budgets


def _inner(low: float, high: float, number: int) -> Points:
    """Evenly spaced points strictly between two ends."""
    return tuple(float(x) for x in np.linspace(low, high, number + 2)[1:-1]) if high > low else ()


def _edges(low: float, high: float, points: Points) -> Points:
    inner = sorted(p for p in points if low < p < high)
    return (low, *inner, high)


def _with(points: Points, point: float) -> Points:
    if any(abs(point - known) <= SAME_POINT * abs(point) for known in points):
        return points
    return (*points, point)
