r"""Buy over quarters and choose how to run what is bought in each: selections tied together by flows through states.

In every quarter $t$ each member of a group is in one state $k$, of which there are $f_{tk}$; members
are alike, so that only numbers of them count.  They move from state to state along the moves $m$ into a quarter,
$y_{tm}$ of them:

```math
\sum_{m: tail = k} y_{tm} = f_{t-1,k}, \qquad \sum_{m: head = k} y_{tm} = f_{tk},
```

with $f_{-1}$ the start.  What is spent on a move is a difference of what two states hold, so that it does not
matter which member goes where, and $y$ need not be whole.

Each quarter is a selection (``selection.py``) whose candidates belong to states:
$\sum_{c \in k} n_{tc} = f_{tk}$.  Its log-value, its limits and the choice of an option are its own.  A quarter
may be idle, an option of its own that is taken just where no member is in a state that is built:
$1 - i_t \le \sum_{k\,built} f_{tk} \le M (1 - i_t)$.

Money: for every limit, $\sum_{t,m} p_{tm} y_{tm} + \sum_u q_u s_u \le b$ over some of the moves and of the orders
$s_u$ of stock.  What the candidates of a quarter take of the stock has arrived:
$\sum_c h_c n_{tc} \le H_t + \sum_{u \le t - lead} s_u$.

Value: $\max \sum_t w_t g_t$ with $g_t \le e^{v_t}$ over-estimated by secants as in ``robust.py``, on the
range $[L_t, U_t]$ that is of interest; where a quarter may be lost or idle, $v_t$ may be below
$L_t$, and counts as there.  Cost: $\min \sum_t w_t C_t + \sum c_{tm} y_{tm} + \sum d_u s_u$ with
$v_t$ at least its target.

With a focus on quarter t, only that one is chosen for, and $v_t$ is maximised: a bound on it alone.  Before
that, the most that can be held, $\max \sum_t \omega_t \sum_k r_k f_{tk}$ over whole numbers of members within the
money alone, is a small model of its own; as a row of the others it takes from their relaxation what only parts of
members could buy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.common.collections import ComponentMap

from spareopt.formulations.robust import add_worth
from spareopt.formulations.selection import (
    ROUNDING,
    Selection,
    add_budgets,
    add_choice,
    add_totals,
    add_value,
    chosen,
)

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Plan = tuple[tuple[dict[int, int], int], ...]
"""For each quarter the count of each chosen candidate, by place, and the option."""


@dataclass(frozen=True)
class Quarter:
    """One quarter: its selection, the state of each candidate, and which states are built.

    ``weight`` multiplies exp(v) (value) or the selection's cost (cost); ``edges`` are those of the pieces of exp(v),
    ``below`` is where v may lie under the first of them (None: nowhere).  ``idle`` is the option in which nothing runs;
    ``may_idle`` says whether it may, and ``must_idle`` whether it has to.
    """

    selection: Selection
    state: Places
    built: NDArray[np.bool_]
    weight: float
    idle: int
    may_idle: bool = True
    must_idle: bool = False
    edges: tuple[float, ...] = ()
    below: float | None = None
    stock: Array | None = None
    """What each candidate takes of the stock; None: nothing."""
    held: Array | None = None
    """What each state holds, such as racks, in GPUs."""
    least_power: Array | None = None
    """The least power of each state, and ``most_power`` of the quarter: for what can be held."""
    most_power: float = float("inf")


@dataclass(frozen=True)
class Moves:
    """The moves into one quarter: from which state, to which, and what of each is charged with goal cost."""

    tail: Places
    head: Places
    charge: Array


@dataclass(frozen=True)
class Money:
    """A limit on spending: what each move into some quarters costs, and each unit of stock ordered in some."""

    name: str
    moves: Mapping[int, Array]
    orders: Mapping[int, float]
    bound: float


@dataclass(frozen=True)
class Staged:
    """The numbers of a staged selection; see the module's docstring.

    ``start`` holds how many members are in each state before the first quarter.  ``orders`` holds, for each quarter in
    which stock may be ordered, the quarter of its arrival, the most of it and its charge; ``have`` what stock there is
    in each quarter without orders.
    """

    start: tuple[int, ...]
    quarters: tuple[Quarter, ...]
    moves: tuple[Moves, ...]
    goal: Literal["value", "cost"]
    money: tuple[Money, ...] = ()
    orders: Mapping[int, tuple[int, int, float]] = field(default_factory=dict)
    have: tuple[float, ...] = ()
    unit: float = 0.0
    """Log-values count from it: values are in e^unit."""
    excluded: tuple[Plan, ...] = ()
    held: tuple[tuple[tuple[float, ...], float], ...] = ()
    """Known bounds on what is held: a weight for each quarter, and the most that the weighted sum can be."""


def build(staged: Staged, focus: int | None = None, shared: bool = False, least: bool = False) -> pyo.ConcreteModel:
    """The Pyomo model.  ``quarter[t].n[c]`` and ``.option[o]`` are those of a selection, ``zones[t, k]`` the members
    in each state, ``stock[u]`` the orders.  With ``shared`` a member may share its time among candidates of its state
    (``n`` need not be whole): a bound that is nearly as good, and much quicker to find.  With ``least`` and a focus
    what is held in that quarter is minimised instead, with its log-value at least the target."""
    last = len(staged.quarters) - 1 if focus is None else focus
    model = pyo.ConcreteModel(name="staged")
    model.always = pyo.Var(bounds=(0, 1))  # a case for linear relaxations without any
    model.is_always = pyo.Constraint(expr=model.always <= 1)
    _add_flows(model, staged, last, focus is None)
    model.stock = pyo.Var(
        sorted(staged.orders), domain=pyo.NonNegativeIntegers, bounds=lambda _, u: (0, staged.orders[u][1])
    )
    model.quarter = pyo.Block(range(last + 1))
    for t in range(last + 1):
        if focus is None or t == focus:
            _add_quarter(model, staged, t, focus)
            if shared:
                for var in model.quarter[t].n.values():
                    var.domain = pyo.NonNegativeReals
    _add_money(model, staged, last)
    model.held = pyo.ConstraintList()
    for weights, most in staged.held:
        if not any(weights[last + 1 :]):
            size = max(abs(most), 1.0)
            model.held.add(_held(model, staged, weights) / size <= most / size + ROUNDING)
    if focus is not None and least:
        target = staged.quarters[focus].selection.log_target
        assert target is not None
        model.reaches = pyo.Constraint(expr=model.quarter[focus].log_value >= target - ROUNDING)
        unit = float(_of(staged.quarters[focus]).max(initial=0.0)) or 1.0
        weights = tuple(1.0 / unit if t == focus else 0.0 for t in range(last + 1))
        model.objective = pyo.Objective(expr=_held(model, staged, weights), sense=pyo.minimize)
        return model
    if focus is not None:
        model.objective = pyo.Objective(expr=model.quarter[focus].log_value, sense=pyo.maximize)
        return model
    _add_excluded(model, staged)
    if staged.goal == "value":
        value = sum(quarter.weight * model.quarter[t].worth for t, quarter in enumerate(staged.quarters))
        model.objective = pyo.Objective(expr=value, sense=pyo.maximize)
        return model
    cost = sum(quarter.weight * model.quarter[t].spent for t, quarter in enumerate(staged.quarters))
    cost += sum(
        float(moves.charge[i]) * model.move[t, i]
        for t, moves in enumerate(staged.moves)
        for i in np.flatnonzero(moves.charge)
    )
    cost += sum(charge * model.stock[u] for u, (_, _, charge) in staged.orders.items())
    model.objective = pyo.Objective(expr=cost, sense=pyo.minimize)
    return model


def most_held(staged: Staged, weights: tuple[float, ...], cheapest: bool = False) -> pyo.ConcreteModel:
    """The model of the most that can be held, weighted by quarter, by whole members, money and least power alone.

    With ``cheapest`` the charges of the moves are minimised instead.  Known bounds on what is held apply.
    """
    last = max(t for t, weight in enumerate(weights) if weight)
    model = pyo.ConcreteModel(name="held")
    _add_flows(model, staged, last, True)
    model.stock = pyo.Var([], domain=pyo.NonNegativeIntegers)
    _add_money(model, replace(staged, money=tuple(replace(limit, orders={}) for limit in staged.money)), last)
    model.power = pyo.ConstraintList()
    for u, quarter in enumerate(staged.quarters[: last + 1]):
        if quarter.least_power is not None and quarter.least_power.any():
            drawn = sum(
                float(p) / quarter.most_power * model.zones[u, k] for k, p in enumerate(quarter.least_power) if p
            )
            model.power.add(drawn <= 1.0 + ROUNDING)
    model.held = pyo.ConstraintList()
    for known, most in staged.held:
        if not any(known[last + 1 :]):
            size = max(abs(most), 1.0)
            model.held.add(_held(model, staged, known) / size <= most / size + ROUNDING)
    if cheapest:
        charges = sum(
            float(charge) * model.move[t, i]
            for t, moves in enumerate(staged.moves)
            for i, charge in enumerate(moves.charge)
            if charge
        )
        model.objective = pyo.Objective(expr=charges, sense=pyo.minimize)
        return model
    model.objective = pyo.Objective(expr=_held(model, staged, weights), sense=pyo.maximize)
    return model


def _held(model: pyo.ConcreteModel, staged: Staged, weights: tuple[float, ...]) -> Any:
    return sum(
        weight * float(held) * model.zones[t, k]
        for t, weight in enumerate(weights)
        if weight
        for k, held in enumerate(_of(staged.quarters[t]))
        if held
    )


def _of(quarter: Quarter) -> Array:
    return np.zeros(len(quarter.built)) if quarter.held is None else quarter.held


def chosen_plan(model: Any) -> tuple[Plan, dict[int, int]]:
    """What a solved model takes in each quarter, and the orders of stock."""
    plan = tuple(chosen(model.quarter[t]) for t in model.quarter)
    return plan, {u: round(var.value or 0.0) for u, var in model.stock.items()}


def start_at_plan(model: Any, plan: Plan, stock: Mapping[int, int], staged: Staged) -> ComponentMap:
    """A plan, by place, as a start for the solver."""
    start = ComponentMap((var, float(stock.get(u, 0))) for u, var in model.stock.items())
    for t, (counts, option) in enumerate(plan):
        block = model.quarter[t]
        start.update((block.n[c], float(counts.get(c, 0))) for c in block.n)
        start.update((block.option[o], float(o == option)) for o in block.option)
        zones = np.bincount(
            staged.quarters[t].state[list(counts)], list(counts.values()), len(staged.quarters[t].built)
        )
        start.update((model.zones[t, k], float(number)) for k, number in enumerate(zones))
    return start


def _add_flows(model: pyo.ConcreteModel, staged: Staged, last: int, whole: bool) -> None:
    members = sum(staged.start)
    places = [(t, k) for t in range(last + 1) for k in range(len(staged.quarters[t].built))]
    model.zones = pyo.Var(
        places, domain=pyo.NonNegativeIntegers if whole else pyo.NonNegativeReals, bounds=(0, members)
    )
    model.move = pyo.Var(
        [(t, i) for t in range(last + 1) for i in range(len(staged.moves[t].tail))], bounds=(0, members)
    )
    model.flow = pyo.ConstraintList()
    for t in range(last + 1):
        out: dict[int, list[Any]] = defaultdict(list)
        into: dict[int, list[Any]] = defaultdict(list)
        for i, (tail, head) in enumerate(zip(staged.moves[t].tail, staged.moves[t].head, strict=True)):
            out[int(tail)].append(model.move[t, i])
            into[int(head)].append(model.move[t, i])
        before: list[Any] = list(staged.start)
        if t > 0:
            before = [model.zones[t - 1, k] for k in range(len(staged.quarters[t - 1].built))]
        for k, number in enumerate(before):
            model.flow.add(sum(out[k]) == number)
        for k in range(len(staged.quarters[t].built)):
            model.flow.add(sum(into[k]) == model.zones[t, k])


def _add_quarter(model: pyo.ConcreteModel, staged: Staged, t: int, focus: int | None) -> None:
    quarter, block = staged.quarters[t], model.quarter[t]
    selection = quarter.selection
    add_choice(block, selection)
    value = add_value(block, selection, block)
    add_budgets(block, selection, block)
    if selection.totals:
        add_totals(block, selection)
    block.take = pyo.ConstraintList()
    for k in range(len(quarter.built)):
        rows = np.flatnonzero(quarter.state == k)
        block.take.add(sum(block.n[int(c)] for c in rows) - model.zones[t, k] == 0)
    members, idle = sum(selection.members), block.option[quarter.idle]
    built = sum(model.zones[t, int(k)] for k in np.flatnonzero(quarter.built))
    if quarter.built.any():
        block.runs = pyo.Constraint(expr=built >= 1 - idle)
        block.idles = pyo.Constraint(expr=built <= members * (1 - idle))
    if quarter.must_idle or not quarter.built.any():
        idle.fix(1)
    elif focus is not None or not quarter.may_idle:
        idle.fix(0)
    if quarter.stock is not None:
        arrived = sum(model.stock[u] for u, (at, _, _) in staged.orders.items() if at <= t)
        used = sum(float(quarter.stock[c]) * block.n[int(c)] for c in np.flatnonzero(quarter.stock))
        if quarter.stock.any():
            block.in_stock = pyo.Constraint(expr=used - arrived <= staged.have[t])
    if focus is not None:
        block.log_value = pyo.Var()
        block.value_terms = pyo.Constraint(expr=block.log_value <= sum(value))
        return
    if staged.goal == "cost":
        _add_cost(block, selection, value)
        return
    low = quarter.edges[0] if quarter.below is None else quarter.below
    block.log_value = pyo.Var(bounds=(low - staged.unit, quarter.edges[-1] - staged.unit))
    block.value_terms = pyo.Constraint(expr=block.log_value <= sum(value) - staged.unit)
    below = None if quarter.below is None else quarter.below - staged.unit
    add_worth(block, tuple(edge - staged.unit for edge in quarter.edges), below)
    if below is not None:
        block.lost = pyo.Constraint(expr=block.worth_piece[-1] >= idle)


def _add_cost(block: Any, selection: Selection, value: list[Any]) -> None:
    """A quarter's cost, and that its value is at least the target."""
    assert selection.cost is not None
    cost = selection.cost
    block.spent = pyo.Expression(
        expr=sum(float(cost.coefficients[c]) * block.n[int(c)] for c in np.flatnonzero(cost.coefficients))
        + sum(part * block.option[o] for o, part in enumerate(cost.option_part) if part)
        + cost.energy_share * (block.energy if selection.energy is not None else 0.0)
    )
    if selection.log_target is not None:
        block.target = pyo.Constraint(expr=sum(value) >= selection.log_target - ROUNDING)


def _add_money(model: pyo.ConcreteModel, staged: Staged, last: int) -> None:
    model.money = pyo.ConstraintList()
    for limit in staged.money:
        size = abs(limit.bound) or max((float(a.max(initial=0.0)) for a in limit.moves.values()), default=0.0) or 1.0
        # twice the bound breaks it as surely as a million times
        spent = [
            min(float(prices[i]) / size, 2.0) * model.move[t, i]
            for t, prices in limit.moves.items()
            if t <= last
            for i in np.flatnonzero(prices)
        ]
        spent += [min(price / size, 2.0) * model.stock[u] for u, price in limit.orders.items() if price]
        if spent:
            model.money.add(sum(spent) <= limit.bound / size + ROUNDING)


def _add_excluded(model: pyo.ConcreteModel, staged: Staged) -> None:
    """Cut off plans: in some quarter a chosen candidate is taken less often, or the option is another."""
    model.excluded = pyo.ConstraintList()
    model.fewer = pyo.VarList(domain=pyo.Binary)
    for plan in staged.excluded:
        changed: list[Any] = []
        for t, (counts, option) in enumerate(plan):
            block, selection = model.quarter[t], staged.quarters[t].selection
            changed.append(1 - block.option[option])
            for candidate, count in counts.items():
                most = selection.members[selection.group[candidate]]
                fewer = model.fewer.add()
                model.excluded.add(block.n[candidate] <= most - (most - count + 1) * fewer)
                changed.append(fewer)
        model.excluded.add(sum(changed) >= 1)
