r"""Choose one candidate per member of each group: additive log-values, budgets, and piecewise-linear couplings.

Sets: groups $z$ of $m_z$ identical members, candidates $c$ of a group, options $o$ (one for
all, such as a checkpoint plan), pieces $p$ of the rate coupling, each belonging to one option.

Variables: $n_c$ members of its group that take candidate c, with $\sum_{c\in z} n_c = m_z$.

Log-value, maximised or held above a target; each coupling is an over-estimate, so the optimum is a true bound:

```math
v = v_0 + \sum_c a_c n_c + \sum_k t_k + s + y
```

* concave terms $t_k \le \alpha (b_k^T n) + \beta$ for every tangent $(\alpha, \beta)$ of a concave
  function;
* the slowest member's scale $s \le \sum_l \sigma_l w_l$, one level $w_l$ chosen, no member below it:
  $\sum_{c: level_c < l} n_c \le M \sum_{j < l} w_j$; and $s$ is at most the mean scale of each group;
* the rate coupling: one piece is chosen ($\sum_p u_p = 1$), the rate $r_0 + r^T n = \sum_p x_p$ lies in
  it ($l_p u_p \le x_p \le h_p u_p$), and $y = \sum_p y_p$ with $y_p \le \alpha x_p + \beta u_p$
  for its lines.

Cost, minimised or capped: $C = d^T n + d_o + f e$, where $e \ge (q^T n)\exp(a_0 + a^T n)$ is energy that
is only used while available, and $f$ is the share of it that counts: 1, or 0 where something else than money is
minimised, or the ratio of two units.  With $q = q^T n$ in $[q_{min}, q_{max}]$ and the exponent x in a
piece $[l, h]$, the product is at least $e^l q + q_{min} (e^x - e^l)$ and
$e^h q + q_{max} (e^x - e^h)$
(McCormick); replacing $e^x$ by its tangents at l and h keeps both below it, and exact at the piece's ends.

Totals of whole numbers of the candidates (racks, spare blocks) are variables of their own.  They follow from the
counts and change no optimum, but a branch on a total settles many nearly equal counts at once.

Ratio: the objective is $v - \ln C$, with $-\ln C$ (convex) over-estimated by its secant in one of the
pieces of C.  The logarithm of a ratio is a difference of logarithms, so one model gives the ratio's bound directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import exp
from typing import Any, Literal

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.common.collections import ComponentMap
from pyomo.core.expr.numeric_expr import LinearExpression

Array = NDArray[np.float64]
Line = tuple[float, float]  # slope, intercept


@dataclass(frozen=True)
class ConcaveTerm:
    """A concave function of ``coefficients · n``, over-estimated by its tangents."""

    name: str
    coefficients: Array
    tangents: tuple[Line, ...]


@dataclass(frozen=True)
class SlowestScale:
    """The smallest of the chosen candidates' scales: the level of each candidate, the log scale of each level."""

    level: NDArray[np.int64]
    log_scale: Array  # increasing
    closed: tuple[int, ...] = ()  # levels that no plan wanted has as its slowest


@dataclass(frozen=True)
class Piece:
    """An interval of the rate with lines above the coupled function, for one option."""

    option: int
    low: float
    high: float
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class RateCoupling:
    """A function of the rate ``constant + coefficients · n``, over-estimated piece by piece."""

    coefficients: Array
    constant: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Energy:
    """Cost used only while available: (factor · n) exp(exponent_constant + exponent · n), under-estimated."""

    factor: Array
    exponent: Array
    exponent_constant: float
    edges: tuple[float, ...]  # of the exponent, increasing, from the lowest possible to the highest
    closed: tuple[int, ...] = ()  # pieces between edges in which no plan wanted is


@dataclass(frozen=True)
class Budget:
    """A linear limit: ``coefficients · n`` plus the option's own part, at most (or at least) ``bound``."""

    name: str
    coefficients: Array
    bound: float
    sense: Literal["<=", ">="] = "<="
    option_part: tuple[float, ...] = ()
    with_energy: bool = False


@dataclass(frozen=True)
class Cost:
    """The cost to be minimised or divided by."""

    coefficients: Array
    option_part: tuple[float, ...]
    edges: tuple[float, ...] = ()  # of the cost's pieces, for the ratio
    closed: tuple[int, ...] = ()  # pieces between edges in which no plan wanted is
    energy_share: float = 1.0  # of the energy, where the cost counts in another unit, or 0 where it counts none


@dataclass(frozen=True)
class Selection:
    """The numbers of a selection model; see the module's docstring."""

    group: NDArray[np.int64]
    members: tuple[int, ...]
    log_value: Array
    constant: float
    goal: Literal["value", "cost", "ratio"]
    options: int = 1
    log_target: float | None = None
    concave: tuple[ConcaveTerm, ...] = ()
    slowest: SlowestScale | None = None
    rate: RateCoupling | None = None
    budgets: tuple[Budget, ...] = ()
    cost: Cost | None = None
    energy: Energy | None = None
    totals: tuple[NDArray[np.int64], ...] = ()
    """Whole numbers of each candidate whose totals over all members are made variables, to be branched on."""
    excluded: tuple[tuple[Mapping[int, int], int], ...] = field(default=())
    """Plans cut off: the count of each chosen candidate, and the option."""


ROUNDING = 1e-9  # relative slack of budget rows, so that rounding never cuts off a plan that meets its limit exactly


def build(selection: Selection) -> pyo.ConcreteModel:
    """The Pyomo model of a selection.  ``n[c]`` are the counts and ``option[o]`` the chosen option."""
    model = pyo.ConcreteModel(name="selection")
    add_choice(model, selection)
    value = add_value(model, selection, model)
    energy = model.energy if selection.energy is not None else 0.0
    add_budgets(model, selection, model)
    if selection.log_target is not None:
        model.target = pyo.Constraint(expr=sum(value) >= selection.log_target - ROUNDING)
    add_excluded(model, selection)
    if selection.totals:
        add_totals(model, selection)

    if selection.goal == "value":
        model.objective = pyo.Objective(expr=sum(value), sense=pyo.maximize)
        return model
    assert selection.cost is not None
    spent = _total(model, selection.cost.coefficients) + _by_option(model, selection.cost.option_part)
    cost = spent + selection.cost.energy_share * energy
    if selection.goal == "cost":
        model.objective = pyo.Objective(expr=cost, sense=pyo.minimize)
        return model
    _add_log_cost(model, cost, selection.cost)
    model.objective = pyo.Objective(expr=sum(value) + sum(model.minus_log_cost.values()), sense=pyo.maximize)
    return model


def chosen(model: Any) -> tuple[dict[int, int], int]:
    """What a solved model takes: how many members take each candidate, by place, and the option."""
    counts = {c: round(var.value) for c, var in model.n.items() if var.value and round(var.value)}
    return counts, max(model.option, key=lambda o: model.option[o].value or 0.0)


def start_at(model: Any, counts: Mapping[int, int], option: int) -> ComponentMap:
    """A choice, by place, as a start for the solver."""
    start = ComponentMap((model.n[c], float(counts.get(c, 0))) for c in model.n)
    start.update((model.option[o], float(o == option)) for o in model.option)
    return start


def add_choice(model: pyo.ConcreteModel, selection: Selection) -> None:
    """The counts ``n``, the chosen ``option``, and that every member of each group takes one candidate."""
    most = [selection.members[z] for z in selection.group]
    model.n = pyo.Var(range(len(selection.group)), domain=pyo.NonNegativeIntegers, bounds=lambda _, c: (0, most[c]))
    model.option = pyo.Var(range(selection.options), domain=pyo.Binary)
    model.one_option = pyo.Constraint(expr=sum(model.option.values()) == 1)

    def members(_: Any, z: int) -> Any:
        rows = np.flatnonzero(selection.group == z)
        return _total(model, np.ones(len(rows)), rows) == selection.members[z]

    model.members = pyo.Constraint(range(len(selection.members)), rule=members)


def add_value(block: Any, selection: Selection, choice: Any) -> list[Any]:
    """The parts of the log-value of a choice (which holds ``n`` and ``option``), their variables and rows in a block.

    The energy of the selection, if it has any, is added with them: it depends on the same exponents.
    """
    total = partial(_total, choice)
    value = [total(selection.log_value, constant=selection.constant)]
    if selection.concave:
        _add_concave(block, selection, total)
        value.append(sum(block.concave.values()))
    if selection.slowest is not None:
        _add_slowest(block, selection, selection.slowest, total)
        value.append(block.scale)
    if selection.rate is not None:
        _add_rate(block, selection.rate, total, choice.option)
        value.append(sum(block.rate_value.values()))
    if selection.energy is not None:
        _add_energy(block, selection.energy, selection, total)
    return value


def add_budgets(block: Any, selection: Selection, choice: Any) -> None:
    """The limits of a selection on a choice, as rows of a block."""
    energy = block.energy if selection.energy is not None else 0.0
    block.budget = pyo.ConstraintList()
    for budget in selection.budgets:
        size = abs(budget.bound) or float(np.abs(budget.coefficients).max()) or 1.0
        coefficients = budget.coefficients / size
        if budget.sense == "<=" and coefficients.min() >= 0:
            coefficients = np.minimum(coefficients, 2.0)  # twice the bound breaks it as surely as a million times
        parts = tuple(part / size for part in budget.option_part)
        used = _total(choice, coefficients) + _by_option(choice, parts)
        used = used + (energy / size if budget.with_energy else 0.0)
        bound = budget.bound / size
        block.budget.add(used <= bound + ROUNDING if budget.sense == "<=" else used >= bound - ROUNDING)


def _total(choice: Any, coefficients: Array, rows: NDArray[np.int64] | None = None, constant: float = 0.0) -> Any:
    """``constant + coefficients · n``, of these rows of n or of all; what is zero is left out."""
    places = np.flatnonzero(coefficients != 0)
    used = places if rows is None else rows[places]
    return LinearExpression(
        constant=constant,
        linear_coefs=coefficients[places].tolist(),
        linear_vars=[choice.n[int(c)] for c in used],
    )


def _by_option(choice: Any, parts: tuple[float, ...]) -> Any:
    return sum(part * choice.option[o] for o, part in enumerate(parts) if part)


def _add_concave(model: pyo.ConcreteModel, selection: Selection, total: Any) -> None:
    terms = range(len(selection.concave))
    model.concave = pyo.Var(terms)
    model.argument = pyo.Var(terms)  # a variable of its own, so that tangents are short rows
    model.tangent = pyo.ConstraintList()
    for k, term in enumerate(selection.concave):
        model.tangent.add(model.argument[k] == total(term.coefficients))
        for slope, intercept in term.tangents:
            model.tangent.add(model.concave[k] <= slope * model.argument[k] + intercept)


def _add_slowest(model: pyo.ConcreteModel, selection: Selection, slowest: SlowestScale, total: Any) -> None:
    levels = range(len(slowest.log_scale))
    everyone = sum(selection.members)
    model.scale = pyo.Var()
    model.level = pyo.Var(levels, domain=pyo.Binary)
    model.one_level = pyo.Constraint(expr=sum(model.level.values()) == 1)
    model.scale_of_level = pyo.Constraint(
        expr=model.scale <= sum(float(slowest.log_scale[k]) * model.level[k] for k in levels)
    )

    def scale_of_group(_: Any, z: int) -> Any:
        rows = np.flatnonzero(selection.group == z)
        return model.scale <= total(slowest.log_scale[slowest.level[rows]] / selection.members[z], rows)

    model.scale_of_group = pyo.Constraint(range(len(selection.members)), rule=scale_of_group)

    for k in slowest.closed:
        model.level[k].fix(0)

    # members below level k, and the level below k: running sums keep the rows short
    model.below = pyo.Var(levels, bounds=(0, everyone))
    model.lower = pyo.Var(levels, bounds=(0, 1))
    model.none_below = pyo.ConstraintList()
    for k in levels[1:]:
        rows = np.flatnonzero(slowest.level == k - 1)
        before = model.below[k - 1] if k > 1 else 0.0
        model.none_below.add(model.below[k] == before + total(np.ones(len(rows)), rows))
        model.none_below.add(model.lower[k] == (model.lower[k - 1] if k > 1 else 0.0) + model.level[k - 1])
        model.none_below.add(model.below[k] <= everyone * model.lower[k])


def _add_rate(model: pyo.ConcreteModel, rate: RateCoupling, total: Any, options: Any) -> None:
    unit = max((piece.high for piece in rate.pieces), default=1.0) or 1.0  # keeps coefficients near one
    pieces = range(len(rate.pieces))
    model.piece = pyo.Var(pieces, domain=pyo.Binary)
    model.rate = pyo.Var(pieces, bounds=(0, None))
    model.rate_value = pyo.Var(pieces)
    model.one_piece = pyo.Constraint(expr=sum(model.piece.values()) == 1)
    model.rate_sum = pyo.Constraint(
        expr=sum(model.rate.values()) == total(rate.coefficients / unit, constant=rate.constant / unit)
    )
    model.rate_line = pyo.ConstraintList()
    by_option: dict[int, list[int]] = {}
    for p, piece in enumerate(rate.pieces):
        by_option.setdefault(piece.option, []).append(p)
        model.rate_line.add(model.rate[p] >= piece.low / unit * model.piece[p])
        model.rate_line.add(model.rate[p] <= piece.high / unit * model.piece[p])
        for slope, intercept in piece.lines:
            model.rate_line.add(model.rate_value[p] <= slope * unit * model.rate[p] + intercept * model.piece[p])
    model.piece_option = pyo.ConstraintList()
    for option in options:
        chosen = sum(model.piece[p] for p in by_option.get(option, ()))
        model.piece_option.add(options[option] - chosen == 0)


def _add_energy(model: pyo.ConcreteModel, energy: Energy, selection: Selection, total: Any) -> None:
    group_rows = [np.flatnonzero(selection.group == z) for z in range(len(selection.members))]
    extremes = [
        (m * energy.factor[rows].min(), m * energy.factor[rows].max())
        for m, rows in zip(selection.members, group_rows, strict=True)
    ]
    lowest, highest = (float(sum(values)) for values in zip(*extremes, strict=True))
    pieces = range(len(energy.edges) - 1)
    model.energy = pyo.Var(bounds=(0, None))
    model.exponent_piece = pyo.Var(pieces, domain=pyo.Binary)
    model.exponent = pyo.Var(pieces)
    model.factor = pyo.Var(pieces, bounds=(0, None))
    model.one_exponent_piece = pyo.Constraint(expr=sum(model.exponent_piece.values()) == 1)
    # Not below it is enough, since lines rise with the exponent.  HiGHS 1.16 finds feasible models infeasible where an
    # equation holds a whole number times less than the feasibility tolerance, as ln A of a zone hardly ever short.
    model.exponent_sum = pyo.Constraint(
        expr=sum(model.exponent.values()) >= total(energy.exponent, constant=energy.exponent_constant)
    )
    model.factor_sum = pyo.Constraint(expr=sum(model.factor.values()) == total(energy.factor))
    model.exponent_range = pyo.ConstraintList()
    model.energy_piece = pyo.Var(pieces, bounds=(0, None))
    model.energy_line = pyo.ConstraintList()
    for q in pieces:
        low, high = energy.edges[q], energy.edges[q + 1]
        here, exponent, factor = model.exponent_piece[q], model.exponent[q], model.factor[q]
        model.exponent_range.add(exponent >= low * here)
        model.exponent_range.add(exponent <= high * here)
        model.exponent_range.add(factor >= lowest * here)
        model.exponent_range.add(factor <= highest * here)
        if q > 0:  # in the lowest piece availability counts as nothing
            for end, extreme in ((low, lowest), (high, highest)):
                line = exp(end) * (factor + extreme * (exponent - end * here))
                model.energy_line.add(model.energy_piece[q] >= line)
    model.energy_line.add(model.energy == sum(model.energy_piece.values()))
    for q in energy.closed:
        model.exponent_piece[q].fix(0)


def _add_log_cost(model: pyo.ConcreteModel, cost: Any, divided: Cost) -> None:
    edges = divided.edges
    pieces = range(len(edges) - 1)
    model.cost_piece = pyo.Var(pieces, domain=pyo.Binary)
    model.cost = pyo.Var(pieces, bounds=(0, None))
    model.minus_log_cost = pyo.Var(pieces)
    model.one_cost_piece = pyo.Constraint(expr=sum(model.cost_piece.values()) == 1)
    model.cost_sum = pyo.Constraint(expr=sum(model.cost.values()) == cost)
    model.cost_line = pyo.ConstraintList()
    for k in pieces:
        low, high = edges[k], edges[k + 1]
        slope = -float(np.log(high / low)) / (high - low) if high > low else 0.0
        intercept = -float(np.log(low)) - slope * low
        model.cost_line.add(model.cost[k] >= low * model.cost_piece[k])
        model.cost_line.add(model.cost[k] <= high * model.cost_piece[k])
        model.cost_line.add(model.minus_log_cost[k] <= slope * model.cost[k] + intercept * model.cost_piece[k])
    for k in divided.closed:
        model.cost_piece[k].fix(0)


def add_totals(model: pyo.ConcreteModel, selection: Selection) -> None:
    """Totals that follow from the counts: branching on them settles many near-equal counts at once."""
    everyone = sum(selection.members)
    model.total = pyo.Var(range(len(selection.totals)), domain=pyo.NonNegativeIntegers)
    model.total_sum = pyo.ConstraintList()
    for k, numbers in enumerate(selection.totals):
        steps = (numbers - numbers.min()) // max(int(np.gcd.reduce(numbers - numbers.min())), 1)
        model.total[k].setub(int(everyone * steps.max()))
        model.total_sum.add(model.total[k] == _total(model, steps.astype(float)))


def add_excluded(model: pyo.ConcreteModel, selection: Selection) -> None:
    """Cut off plans: at least one chosen candidate is taken less often, or the option is another."""
    model.excluded = pyo.ConstraintList()
    model.fewer = pyo.VarList(domain=pyo.Binary)
    for counts, option in selection.excluded:
        changed = [1 - model.option[option]]
        for candidate, count in counts.items():
            most = selection.members[selection.group[candidate]]
            fewer = model.fewer.add()
            model.excluded.add(model.n[candidate] <= most - (most - count + 1) * fewer)
            changed.append(fewer)
        model.excluded.add(sum(changed) >= 1)
