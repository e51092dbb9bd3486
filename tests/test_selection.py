"""The selection formulation: golden LP files for every constraint, and tiny models solved by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.repn.tests.lp_diff import load_and_compare_lp_baseline
from spareopt.formulations.selection import (
    Budget,
    ConcaveTerm,
    Cost,
    Energy,
    Piece,
    RateCoupling,
    Selection,
    SlowestScale,
    build,
)

from spareopt.solver import Status, solve_milp

GOLDEN = Path(__file__).parent / "golden"


def array(*values: float) -> Any:
    return np.array(values, dtype=float)


def base() -> Selection:
    """Two groups: one member choosing between values 1 and 3, two members choosing between 0 and 2."""
    return Selection(
        group=np.array([0, 0, 1, 1]),
        members=(1, 2),
        log_value=array(1, 3, 0, 2),
        constant=0.5,
        goal="value",
    )


PLAIN = base()
CONCAVE = replace(PLAIN, concave=(ConcaveTerm("size", array(1, 2, 3, 4), ((1.0, 0.0), (0.5, 2.0))),))
SLOWEST = replace(PLAIN, slowest=SlowestScale(np.array([0, 1, 2, 0]), array(-2.0, -1.0, 0.0)))
RATE = replace(
    PLAIN,
    options=2,
    rate=RateCoupling(
        array(1, 2, 1, 3),
        0.5,
        (Piece(0, 0, 4, ((-0.5, 0.0),)), Piece(0, 4, 9, ((-1.0, 2.0),)), Piece(1, 0, 9, ((-0.25, -1.0), (-0.5, 0.0)))),
    ),
)
BUDGETS = replace(
    PLAIN,
    options=2,
    budgets=(
        Budget("capital", array(1, 2, 3, 5), 10.0, "<=", (0.5, 0.0)),
        Budget("working", array(4, 3, 2, 1), 5.0, ">="),
    ),
)
ENERGY = replace(
    PLAIN,
    goal="cost",
    log_target=3.0,
    cost=Cost(array(1, 2, 3, 5), (0.0,)),
    energy=Energy(array(1, 2, 1, 2), array(-0.1, -0.2, 0.0, -0.3), -0.05, (-16.0, -15.0, -0.5, 0.0)),
    budgets=(Budget("yearly_cost", array(1, 1, 1, 1), 9.0, "<=", (), True),),
)
RATIO = replace(PLAIN, goal="ratio", cost=Cost(array(1, 2, 3, 5), (0.5,), (3.0, 6.0, 14.0)))
EXCLUDED = replace(PLAIN, options=2, excluded=(({1: 1, 3: 2}, 0), ({1: 1, 2: 1, 3: 1}, 1)))
CASES = {
    "plain": PLAIN,
    "concave": CONCAVE,
    "slowest": SLOWEST,
    "rate": RATE,
    "budgets": BUDGETS,
    "energy": ENERGY,
    "ratio": RATIO,
    "excluded": EXCLUDED,
}


@pytest.mark.parametrize("name", CASES)
def test_golden_lp(name: str, tmp_path: Path) -> None:
    """Proves that each constraint is written as its golden file says, which was checked by hand against the docstring.

    A changed sign, bound or term changes the file.
    """
    written = tmp_path / f"{name}.lp"
    build(CASES[name]).write(str(written), io_options={"symbolic_solver_labels": True})
    expected, found = load_and_compare_lp_baseline(str(GOLDEN / f"{name}.lp"), str(written))
    assert expected == found


def solved(selection: Selection) -> tuple[float, dict[int, int], int]:
    """The objective, the counts and the option of a selection's optimum."""
    model = build(selection)
    record = solve_milp(model)
    assert record.status is Status.OPTIMAL
    counts = {c: round(pyo.value(model.n[c])) for c in model.n if pyo.value(model.n[c]) > 0.5}
    assert record.objective is not None
    return record.objective, counts, max(model.option, key=lambda o: pyo.value(model.option[o]))


def test_the_best_of_each_group_without_couplings() -> None:
    """Proves: 0.5 + 3 + 2·2 = 7.5 by the second candidate of each group.  A lost count would give 5.5."""
    assert solved(PLAIN)[:2] == (pytest.approx(7.5), {1: 1, 3: 2})


def test_concave_term_takes_the_lower_tangent() -> None:
    """Proves: size 2 + 2·4 = 10, min(10, 7) = 7, in all 14.5.  If the higher tangent counted it would be 17.5."""
    assert solved(CONCAVE)[0] == pytest.approx(14.5)


def test_slowest_scale_counts_once() -> None:
    """Proves: with n₃ = 2 the slowest level is −2: 7.5 − 2; n₂ = 2 gives 3.5 − 1.  The mean would promise more."""
    assert solved(SLOWEST)[:2] == (pytest.approx(5.5), {1: 1, 3: 2})
    steep = replace(SLOWEST, slowest=SlowestScale(np.array([0, 1, 2, 0]), array(-9.0, -1.0, 0.0)))
    assert solved(steep)[:2] == (pytest.approx(2.5), {1: 1, 2: 2})


def test_rate_coupling_by_brute_force() -> None:
    """Proves that the chosen piece holds the rate and its lowest line counts, for the better of two options."""
    best = -np.inf
    for a, b in itertools.product((0, 1), range(3)):
        rate = 0.5 + (1, 2)[a] + (2 - b) + 3 * b
        first = -0.5 * rate if rate <= 4 else 2.0 - rate
        second = min(-0.25 * rate - 1.0, -0.5 * rate)
        best = max(best, 0.5 + (1, 3)[a] + 2 * b + max(first, second))
    assert solved(RATE)[0] == pytest.approx(best)


def test_budgets_bind_with_the_option_part() -> None:
    """Proves: 2 + 2·5 = 12 breaks the budget of 10; 2 + 3 + 5 = 10 fits only with option 1, whose part is 0."""
    value, counts, option = solved(BUDGETS)
    assert (value, counts, option) == (pytest.approx(5.5), {1: 1, 2: 1, 3: 1}, 1)


def test_energy_is_under_estimated_and_exact_at_the_ends() -> None:
    """Proves that the energy a model charges is never above (q·n) exp(a₀ + a·n), and equal at a piece's ends."""
    energy = ENERGY.energy
    assert energy is not None
    for a, b in itertools.product((0, 1), range(3)):
        counts = array(1 - a, a, 2 - b, b)
        exponent = energy.exponent_constant + counts @ energy.exponent
        truth = float(counts @ energy.factor) * exp(exponent)
        for edges in (energy.edges, (-16.0, -15.0, exponent, 0.0)):
            model = build(replace(ENERGY, log_target=None, energy=replace(energy, edges=edges)))
            for c in model.n:
                model.n[c].fix(int(counts[c]))
            assert solve_milp(model).has_incumbent
            charged = pyo.value(model.energy)
            assert charged <= truth + 1e-6
            if exponent in edges:
                assert charged == pytest.approx(truth, abs=1e-6)


def test_ratio_over_estimates_minus_log_cost_by_secants() -> None:
    """Proves: at the edges of the cost's pieces the objective is v − ln C, between them it is above by the secant."""
    costs = {(a, b): 0.5 + (1, 2)[a] + 3 * (2 - b) + 5 * b for a, b in itertools.product((0, 1), range(3))}
    for (a, b), cost in costs.items():
        value = 0.5 + (1, 3)[a] + 2 * b
        for edges, exact in (((3.0, 6.0, 14.0), False), ((3.0, cost, 14.0), True)):
            assert RATIO.cost is not None
            model = build(replace(RATIO, cost=replace(RATIO.cost, edges=edges)))
            for c, count in enumerate((1 - a, a, 2 - b, b)):
                model.n[c].fix(count)
            objective = solve_milp(model).objective
            assert objective is not None
            assert objective >= value - log(cost) - 1e-6
            if exact:
                assert objective == pytest.approx(value - log(cost), abs=1e-6)


def test_excluded_plans_are_the_only_ones_cut_off() -> None:
    """Proves by enumeration that a plan is cut off if and only if it is excluded with its option."""
    for option, a, b in itertools.product(range(2), (0, 1), range(3)):
        counts = {c: n for c, n in enumerate((1 - a, a, 2 - b, b)) if n}
        model = build(EXCLUDED)
        model.option[option].fix(1)
        for c in model.n:
            model.n[c].fix(counts.get(c, 0))
        feasible = solve_milp(model).status is Status.OPTIMAL
        assert feasible == ((counts, option) not in EXCLUDED.excluded)


def test_redundancy_allocation_as_a_selection() -> None:
    """Proves that the formulation knows no clusters: a series system's best redundancy under a budget.

    Three subsystems of reliability 0.8, 0.9, 0.7 at cost 2, 3, 1 a unit and 1 to 4 units each, budget 14: brute force.
    """
    reliability, cost = (0.8, 0.9, 0.7), (2, 3, 1)
    units = list(itertools.product(range(3), range(1, 5)))
    selection = Selection(
        group=np.array([g for g, _ in units]),
        members=(1, 1, 1),
        log_value=np.log([1 - (1 - reliability[g]) ** k for g, k in units]),
        constant=0.0,
        goal="value",
        budgets=(Budget("cost", np.array([float(cost[g] * k) for g, k in units]), 14.0),),
    )
    best = max(
        np.prod([1 - (1 - r) ** k for r, k in zip(reliability, ks, strict=True)])
        for ks in itertools.product(range(1, 5), repeat=3)
        if sum(c * k for c, k in zip(cost, ks, strict=True)) <= 14
    )
    assert exp(solved(selection)[0]) == pytest.approx(best)
