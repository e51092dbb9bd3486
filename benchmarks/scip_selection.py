"""The selection of one candidate per zone as a nonlinear problem for SCIP; benchmarks/zones.py holds it to the MILP.

Zone terms are data, as for the MILP; what couples the zones (working GPUs, interruption rate) is stated as it is, with
ln N and ln η of a sum, instead of by lines above them.  Only for the objective goodput, without what zones share.
"""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
import pyomo.environ as pyo
from spareopt.formulations.selection import ROUNDING, Selection, SlowestScale

from spareopt.nonlinear_solver import NonlinearStatus, solve_minlp
from spareopt.numerics.recovery import Checkpointing
from spareopt.problem import Problem
from spareopt.relaxation import Refinement, rate_range

GAP = 1e-4  # what solve asks for
ROOM = 0.01  # relative, in the bounds of variables; see formulations/minlp.py


def scip_selection(problem: Problem, seconds: float) -> tuple[float, float, float]:
    """The goodput that SCIP finds, its bound (baseline GPUs), and the wall time it took (s), within ``seconds``.

    The value is the exact score of the rounded choice; −∞ where there is none that meets every limit, and the bound +∞
    where SCIP proved none.  Raises ValueError for what it does not cover.
    """
    model = nonlinear_selection(problem)
    record = solve_minlp(model, time_limit=seconds, abs_gap=GAP)
    value = -np.inf
    if record.objective is not None:
        counts = {c: round(pyo.value(n)) for c, n in model.n.items() if n.value and round(n.value)}
        option = max(model.option, key=lambda o: pyo.value(model.option[o]))
        outcome = problem.outcome(counts, option)
        value = outcome.goodput if outcome.feasible else -np.inf
    bound = np.inf if record.bound is None else exp(record.bound)
    if record.status == NonlinearStatus.INFEASIBLE:
        bound = -np.inf
    return value, bound, record.seconds


def nonlinear_selection(problem: Problem) -> pyo.ConcreteModel:
    """The selection model of a problem with ln N and ln η as they are, in place of their over-estimates."""
    energy = problem.candidates.instance.limits.yearly_cost is not None and bool(problem.energy_cost.any())
    plain = all(isinstance(scheme, Checkpointing) and scheme.model == "exact" for scheme in problem.schemes)
    if problem.goal != "value" or energy or problem.terms.pooled or not problem.terms.environment.single or not plain:
        raise ValueError(
            "expected the objective goodput, plain checkpoints, no limit on a yearly cost with energy, and zones that "
            "share nothing"
        )
    selection = Refinement.initial(problem, coarse=True).selection(problem)
    model = pyo.ConcreteModel(name="nonlinear selection")
    model.n = pyo.Var(range(len(selection.group)), domain=pyo.NonNegativeIntegers)
    model.option = pyo.Var(range(selection.options), domain=pyo.Binary)
    model.rows = pyo.ConstraintList()
    model.rows.add(sum(model.option.values()) == 1)

    def total(coefficients: Any, constant: float = 0.0) -> Any:
        return constant + sum(float(value) * model.n[c] for c, value in enumerate(coefficients) if value)

    for z, number in enumerate(selection.members):
        rows = np.flatnonzero(selection.group == z)
        for c in rows:
            model.n[int(c)].setub(number)
        model.rows.add(sum(model.n[int(c)] for c in rows) == number)
    for budget in selection.budgets:
        used = total(budget.coefficients / budget.bound)
        used += sum(part / budget.bound * model.option[o] for o, part in enumerate(budget.option_part) if part)
        model.rows.add(used <= 1 + ROUNDING if budget.sense == "<=" else used >= 1 - ROUNDING)
    value = total(selection.log_value, selection.constant)
    if selection.concave:  # working GPUs, in units of the most there can be; of a single zone they are in its own term
        (size,) = selection.concave
        low, high = problem.extremes(size.coefficients)
        model.size = pyo.Var(bounds=(low * (1 - ROOM), high * (1 + ROOM)))
        model.rows.add(model.size == total(size.coefficients))
        value += pyo.log(model.size)
    if selection.slowest is not None:
        value += _slowest(model, selection, selection.slowest, total)
    assert selection.rate is not None
    low, high = rate_range(problem)
    model.rate = pyo.Var(bounds=(low * (1 - ROOM), high * (1 + ROOM)))
    model.rows.add(model.rate == total(selection.rate.coefficients, selection.rate.constant))
    model.objective = pyo.Objective(expr=value + _log_efficiency(model, problem), sense=pyo.maximize)
    return model


def _slowest(model: pyo.ConcreteModel, selection: Selection, slowest: SlowestScale, total: Any) -> Any:
    """ln of the smallest scale: at most the mean of each zone class, and each level that some zone takes."""
    top, everyone = float(slowest.log_scale[-1]), sum(selection.members)
    model.scale = pyo.Var(bounds=(float(slowest.log_scale[0]), top))
    model.taken = pyo.Var(range(len(slowest.log_scale)), domain=pyo.Binary)
    scale = slowest.log_scale[slowest.level]
    for z, number in enumerate(selection.members):
        model.rows.add(model.scale <= total(np.where(selection.group == z, scale / number, 0.0)))
    for k, height in enumerate(slowest.log_scale):
        model.rows.add(total((slowest.level == k).astype(float)) <= everyone * model.taken[k])
        model.rows.add(model.scale <= top - (top - float(height)) * model.taken[k])
    return model.scale


def _log_efficiency(model: pyo.ConcreteModel, problem: Problem) -> Any:
    """ln η of the chosen checkpoint plan: with the load u = Λτ, ln u − Λ Rc − ln(e^(u + Λ save) − 1)."""
    schemes: list[Any] = problem.schemes
    periods = [scheme.period for scheme in schemes]
    options, highest = list(model.option.values()), float(model.rate.ub)

    def chosen(numbers: list[float]) -> Any:
        return numbers[0] if len(set(numbers)) == 1 else sum(x * o for x, o in zip(numbers, options, strict=True))

    loads, saves = [], [float(scheme.save) for scheme in schemes]
    for rate in (float(model.rate.lb), highest):
        loads += [rate * float(scheme.best_period(np.array(rate))) for scheme in schemes]
    model.work = pyo.Var(bounds=(min(loads) * (1 - ROOM), max(loads) * (1 + ROOM)))
    shortest = min(loads) + float(model.rate.lb) * min(saves)
    model.stretch = pyo.Var(bounds=(shortest * (1 - ROOM), (max(loads) + highest * max(saves)) * (1 + ROOM)))
    model.rows.add(model.stretch == model.work + model.rate * chosen(saves))
    if any(period is not None for period in periods):
        model.free = pyo.Var(bounds=(0, 1))  # the load of a best period
        best = sum(o for period, o in zip(periods, options, strict=True) if period is None)
        model.rows.add(model.free <= best)
        given = chosen([period or 0.0 for period in periods])
        model.rows.add(model.work == model.rate * given + model.free)
    recovery = model.rate * chosen([float(scheme.recovery) for scheme in schemes])
    best_of_all = max(float(scheme.log_eta(np.array(model.rate.lb))) for scheme in schemes)
    model.efficiency = pyo.Var(bounds=(-50, best_of_all + ROOM))
    model.rows.add(model.efficiency == pyo.log(model.work) - recovery - pyo.log(pyo.exp(model.stretch) - 1))
    return model.efficiency
