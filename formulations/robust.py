r"""Choose one candidate per member of each group, the same in every scenario, for the best mean, tail or worst value.

A selection (``selection.py``) is asked for in several scenarios $s$ of weight $w_s$.  The counts
$n_c$ and the option are decided once; what they come to differs.  Each scenario has its log-value

```math
v_s \le c^T n + t(n) + a_s^T n + t_s(n), \qquad v_s \le U_s,
```

the terms of a selection, each an over-estimate: $c, t$ are those that are the same in every scenario and are
written once.  $U_s$ is a bound that is known of the scenario alone, and $L_s \le v_s$ a value that it must
reach for the plan to be of interest at all.  Every scenario's limits hold in that scenario.

Worst case: the logarithm rises, so the least of the values is found by the least of their logarithms,
$\max w$ with $w \le v_s$ for all s; no exponential is needed.

Otherwise the values $g_s \le e^{v_s}$ themselves are weighed: a mean of logarithms is no more than a lower bound
of the logarithm of the mean.  $e^v$ is convex, so that between two of its edges it is below its secant; one of
the pieces q is chosen ($\sum_q z_{sq} = 1,\; v_s = \sum_q x_{sq},\; l_q z_{sq} \le x_{sq} \le h_q z_{sq}$), and

```math
g_s \le \sum_q \Bigl( e^{l_q} z_{sq} + \frac{e^{h_q} - e^{l_q}}{h_q - l_q} (x_{sq} - l_q z_{sq}) \Bigr).
```

Mean: $\max \sum_s w_s g_s$.  Conditional value at risk, the mean of the worst share $\alpha$ of the weight
(Rockafellar and Uryasev 2000, for gains instead of losses), with the threshold $\zeta$ free:

```math
\max \; \zeta - \frac{1}{\alpha} \sum_s w_s d_s, \qquad d_s \ge \zeta - g_s, \; d_s \ge 0.
```

At $\alpha = 1$ it is the mean, at $\alpha \le \min_s w_s$ the worst case.  All three rise in every
$g_s$, so that over-estimates of the $g_s$ make the optimum a true bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Any, Literal

import pyomo.environ as pyo

from spareopt.formulations.selection import (
    Line,
    Selection,
    add_budgets,
    add_choice,
    add_excluded,
    add_totals,
    add_value,
)

Criterion = Literal["expected", "worst", "cvar"]
PAD = 1e-12
"""Secants of the exponential are raised by this share of it, so that rounding cannot put them below it."""


@dataclass(frozen=True)
class Scenario:
    """What the choice comes to in one scenario: its weight, the terms and limits of its own, where v_s may be."""

    weight: float
    own: Selection
    edges: tuple[float, ...]
    """Edges of the pieces of exp(v), increasing, the least v of interest first, the bound on v last."""


@dataclass(frozen=True)
class Robust:
    """The numbers of a robust selection; see the module's docstring.

    ``common`` holds the groups, members, options, totals and excluded plans, and the terms and limits that are the
    same in every scenario; each scenario's ``own`` the others.  Log-values count from ``unit``: values are in e^unit.
    """

    common: Selection
    scenarios: tuple[Scenario, ...]
    criterion: Criterion
    alpha: float = 1.0
    unit: float = 0.0


def secant(low: float, high: float) -> Line:
    """The line (slope, intercept) through exp at both ends of an interval, a little raised: above exp between them."""
    slope = (exp(high) - exp(low)) / (high - low) if high > low else exp(low)
    return slope, exp(low) - slope * low + PAD * exp(high) * max(1.0, abs(low), abs(high))


def build(robust: Robust) -> pyo.ConcreteModel:
    """The Pyomo model.  ``n[c]`` and ``option[o]`` are as in a selection, ``scenario[s]`` a block for each scenario.

    The objective is the logarithm of the value (worst case), or the value itself, both in units of e^unit.
    """
    model = pyo.ConcreteModel(name="robust")
    add_choice(model, robust.common)
    shared = add_value(model, robust.common, model)
    add_budgets(model, robust.common, model)
    add_excluded(model, robust.common)
    if robust.common.totals:
        add_totals(model, robust.common)
    model.scenario = pyo.Block(range(len(robust.scenarios)))
    for s, scenario in enumerate(robust.scenarios):
        block = model.scenario[s]
        value = [*shared, *add_value(block, scenario.own, model)]
        add_budgets(block, scenario.own, model)
        low, high = scenario.edges[0] - robust.unit, scenario.edges[-1] - robust.unit
        block.log_value = pyo.Var(bounds=(low, high))
        block.value_terms = pyo.Constraint(expr=block.log_value <= sum(value) - robust.unit)
    if robust.criterion == "worst":
        _add_worst(model)
        return model
    for s, scenario in enumerate(robust.scenarios):
        add_worth(model.scenario[s], tuple(edge - robust.unit for edge in scenario.edges))
    weights = [scenario.weight for scenario in robust.scenarios]
    if robust.criterion == "expected":
        mean = sum(weight * model.scenario[s].worth for s, weight in enumerate(weights))
        model.objective = pyo.Objective(expr=mean, sense=pyo.maximize)
    else:
        _add_tail(model, weights, robust.alpha)
    return model


def _add_worst(model: pyo.ConcreteModel) -> None:
    model.worst = pyo.Var()
    model.worst_of = pyo.Constraint(model.scenario.index_set(), rule=lambda m, s: m.worst <= m.scenario[s].log_value)
    model.objective = pyo.Objective(expr=model.worst, sense=pyo.maximize)


def add_worth(block: Any, edges: tuple[float, ...], below: float | None = None) -> None:
    """exp(v) of a block's ``log_value``, over-estimated piece by piece, as ``worth``.

    ``below``: v may be lower than the first edge, down to that; there exp(v) counts as at the first edge, in piece −1.
    """
    pieces = [*([-1] if below is not None else []), *range(len(edges) - 1)]
    block.worth = pyo.Var(bounds=(0, exp(edges[-1]) * (1 + 1e-6)))
    block.worth_piece = pyo.Var(pieces, domain=pyo.Binary)
    block.worth_part = pyo.Var(pieces)
    block.one_worth_piece = pyo.Constraint(expr=sum(block.worth_piece.values()) == 1)
    block.worth_part_sum = pyo.Constraint(expr=sum(block.worth_part.values()) == block.log_value)
    block.worth_part_range = pyo.ConstraintList()
    lines = []
    for q in pieces:
        if q < 0:
            assert below is not None
            low, high = below, edges[0]
            slope, intercept = 0.0, exp(edges[0])
        else:
            low, high = edges[q], edges[q + 1]
            slope, intercept = secant(low, high)
        block.worth_part_range.add(block.worth_part[q] >= low * block.worth_piece[q])
        block.worth_part_range.add(block.worth_part[q] <= high * block.worth_piece[q])
        lines.append(slope * block.worth_part[q] + intercept * block.worth_piece[q])
    block.worth_line = pyo.Constraint(expr=block.worth <= sum(lines))


def _add_tail(model: pyo.ConcreteModel, weights: list[float], alpha: float) -> None:
    scenarios = model.scenario.index_set()
    most = max(model.scenario[s].worth.ub for s in scenarios)
    model.threshold = pyo.Var(bounds=(0, most))  # the best threshold is the value of some scenario
    model.shortfall = pyo.Var(scenarios, bounds=(0, most))
    model.tail = pyo.Constraint(scenarios, rule=lambda m, s: m.shortfall[s] >= m.threshold - m.scenario[s].worth)
    missing = sum(weight / alpha * model.shortfall[s] for s, weight in enumerate(weights))
    model.objective = pyo.Objective(expr=model.threshold - missing, sense=pyo.maximize)
