"""The nonlinear statement of small cases, solved by SCIP, against brute force and against the MILP route."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest

from spareopt import InfeasibleError, InputError, SolverError, nonlinear_solver, read_instance, solve
from spareopt.nonlinear import solve_nonlinear
from spareopt.nonlinear_solver import NonlinearStatus, scip_is_installed, solve_minlp
from tests.brute_force import best_value
from tests.nonlinear_instances import nonlinear_instance
from tests.random_instances import OBJECTIVES

needs_scip = pytest.mark.skipif(
    not scip_is_installed(), reason="pyscipopt is not installed; pip install 'spareopt[test]' brings SCIP"
)
QUICK = [("goodput", 15), ("cost", 9), ("goodput_per_dollar", 9), ("goodput", 0)]
CASES = [
    pytest.param(objective, number, marks=[] if (objective, number) in QUICK else [pytest.mark.heavy])
    for objective in OBJECTIVES
    for number in range(20)
]


@needs_scip
@pytest.mark.parametrize(("objective", "number"), CASES)
def test_three_ways_to_one_optimum(objective: str, number: int) -> None:
    """Proves that brute force, the MILP route and the nonlinear model agree on the optimum of a small case.

    The nonlinear model knows neither candidates nor the evaluator, so that its own value beside the exact score of its
    plan holds the two statements of availability, recovery, scale, power and money against each other; its bound holds
    pruning and over-estimates against a search that has neither.
    """
    instance = nonlinear_instance(objective, number, 350)
    best, result = best_value(instance), solve_nonlinear(instance, time_limit=60)
    if best is None:
        assert result.status == NonlinearStatus.INFEASIBLE
        with pytest.raises(InfeasibleError):
            solve(instance)
        return
    assert result.value == pytest.approx(best, rel=1e-6)
    assert result.scip_value == pytest.approx(result.value, rel=1e-6)
    assert result.bound is not None
    slack = 1e-6 * best
    assert result.bound <= best + slack if objective == "cost" else result.bound >= best - slack
    assert solve(instance, gap=0.0).certificate.value == pytest.approx(best, rel=1e-12)


def test_what_is_not_covered_is_refused_by_name() -> None:
    """Proves that a shipped instance is refused with a message for everything that the model does not state."""
    with pytest.raises(InputError) as refused:
        solve_nonlinear(read_instance("gb200-4x256"))
    fields = {fault.field for fault in refused.value.faults}
    assert {"zones", "designs.0.trays_per_block", "designs.0.blocks_per_rack", "llm_scale.table"} <= fields
    crews: dict[str, Any] = {"repair_plans": [{"name": "crews", "tray": {"hands_on": "1 h"}, "crews": [1]}]}
    instance = read_instance(nonlinear_instance("goodput", 15, 350).resolved(), overrides=crews)
    with pytest.raises(InputError, match=r"repair_plans\.0\.crews: expected ample crews"):
        solve_nonlinear(instance)


def _hard() -> pyo.ConcreteModel:
    """A model that SCIP is not done with in a second: products of many integers."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(60), domain=pyo.Integers, bounds=(1, 50))
    model.ring = pyo.Constraint(range(60), rule=lambda m, i: m.x[i] * m.x[(i + 7) % 60] * m.x[(i + 1) % 60] <= 97 + i)
    model.objective = pyo.Objective(
        expr=sum(pyo.log(model.x[i]) * model.x[(i + 13) % 60] for i in range(60)), sense=pyo.maximize
    )
    return model


@needs_scip
def test_what_overstays_is_killed_and_its_findings_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that SCIP is killed when it does not keep to its time, and that the incumbent and bound so far remain."""
    monkeypatch.setattr(nonlinear_solver, "GRACE", -996.0)  # SCIP is given 1000 s, and its process 4 s
    model = _hard()
    record = solve_minlp(model, time_limit=1000)
    assert record.status == NonlinearStatus.KILLED
    assert record.seconds < 20
    assert record.objective is not None and record.bound is not None and record.bound >= record.objective
    assert pyo.value(model.objective) == pytest.approx(record.objective, rel=1e-4)


def test_without_scip_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that a missing SCIP is one clear message."""
    monkeypatch.setattr(nonlinear_solver, "scip_is_installed", lambda: False)
    with pytest.raises(SolverError, match="pip install pyscipopt"):
        solve_minlp(_hard(), time_limit=1)
