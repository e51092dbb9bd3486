"""spareopt.solver against hand-solved models, brute force, and every way a solve can end."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.common.collections import ComponentMap

from spareopt import solver
from spareopt.errors import SolverError
from spareopt.solver import Progress, Status, solve_milp, solve_relaxations, versions

ROOT = Path(__file__).resolve().parents[1]


def linear(cost: Any, rows: Any = (), *, sense: Any = pyo.maximize, domain: Any = pyo.Binary) -> Any:
    """A model over x[0..n): cost @ x, and rows (coefficients, lower, upper) with None for no side."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(len(cost)), domain=domain)
    model.rows = pyo.ConstraintList()
    for weights, lower, upper in rows:
        model.rows.add((lower, sum(float(w) * model.x[j] for j, w in enumerate(weights)), upper))
    model.cost = pyo.Objective(expr=sum(float(c) * model.x[j] for j, c in enumerate(cost)), sense=sense)
    return model


def hard(size: int = 60, knapsacks: int = 8) -> Any:
    """A multi-dimensional knapsack that HiGHS does not close in the seconds it gets here, with instant incumbents."""
    rng = np.random.default_rng(0)
    weights = rng.integers(50, 1000, (knapsacks, size))
    cost = weights.mean(0) + rng.integers(0, 50, size)
    return linear(cost, [(row, None, float(row.sum() // 2)) for row in weights])


def market_split() -> Any:
    """Equality knapsacks without a known solution: no incumbent turns up in a short time."""
    weights = np.random.default_rng(1).integers(0, 100, (5, 40))
    return linear(np.ones(40), [(row, float(row.sum() // 2), float(row.sum() // 2)) for row in weights])


def values(model: Any) -> list[float]:
    return [pyo.value(var) for var in model.x.values()]


def test_knapsack_by_hand() -> None:
    """Weights 5 4 3, capacity 7, worth 10 7 5: {4, 3} is worth 12, more than {5} alone; values are integers."""
    model = linear([10, 7, 5], [([5, 4, 3], None, 7)])
    record = solve_milp(model)
    assert (record.status, record.has_incumbent) == (Status.OPTIMAL, True)
    assert record.objective == pytest.approx(12) == record.bound
    assert values(model) == [0, 1, 1]
    assert all(isinstance(v.value, int) for v in model.x.values())


def test_lp_has_bound_and_no_nodes() -> None:
    """Without integers the optimum is its own bound: 10 x + 7 y, 5 x + 4 y <= 7, x, y <= 1 gives 10 + 3.5."""
    model = linear([10, 7], [([5, 4], None, 7)], domain=pyo.UnitInterval)
    record = solve_milp(model)
    assert (record.status, record.nodes) == (Status.OPTIMAL, 0)
    assert record.objective == pytest.approx(13.5) == record.bound
    assert values(model) == pytest.approx([1, 0.5])


@pytest.mark.parametrize("sense", [pyo.maximize, pyo.minimize])
def test_time_limit_keeps_incumbent_and_bound_side(sense: Any) -> None:
    """At a limit the incumbent is loaded and feasible, and the bound lies on the better side of it."""
    model = hard()
    if sense == pyo.minimize:
        model.cost.set_value(-model.cost.expr)
        model.cost.sense = pyo.minimize
    record = solve_milp(model, time_limit=0.5)
    assert (record.status, record.has_incumbent) == (Status.TIME_LIMIT, True)
    assert record.objective is not None and record.bound is not None
    better = record.bound - record.objective
    assert 0 < (better if sense == pyo.maximize else -better) < 1000
    assert pyo.value(model.cost) == pytest.approx(record.objective)
    assert all(pyo.value(row.body) <= pyo.value(row.upper) for row in model.rows.values())
    assert record.seconds < 5


def test_time_limit_without_incumbent() -> None:
    """A limit before any solution is told from one with an incumbent, and no value is loaded."""
    model = market_split()
    record = solve_milp(model, time_limit=0.3)
    assert (record.status, record.has_incumbent, record.objective) == (Status.TIME_LIMIT, False, None)
    assert model.x[0].value is None


def test_node_limit_ends_as_a_limit() -> None:
    """A limit on nodes, given through options, is a limit and not an error."""
    record = solve_milp(hard(), options={"mip_max_nodes": 20})
    assert (record.status, record.has_incumbent) == (Status.TIME_LIMIT, True)


def test_within_gap_is_not_optimal() -> None:
    """HiGHS says "optimal" when the gap asked for is met; the record doesn't, and the gap really is met."""
    record = solve_milp(hard(), rel_gap=0.03)
    assert record.status == Status.WITHIN_GAP
    assert record.objective is not None and record.bound is not None
    assert 0 < record.bound - record.objective <= 0.03 * record.objective
    record = solve_milp(hard(), abs_gap=400.0)
    assert record.objective is not None and record.bound is not None
    assert record.status == Status.WITHIN_GAP and 0 < record.bound - record.objective <= 400


@pytest.mark.parametrize("presolve", ["on", "off"])
@pytest.mark.parametrize(
    ("rows", "domain", "status"),
    [
        ([([1, 1], 3, None), ([1, 1], None, 2)], pyo.NonNegativeReals, Status.INFEASIBLE),
        (
            [([2, 4], 3, 3)],
            pyo.NonNegativeIntegers,
            Status.INFEASIBLE,
        ),  # even = odd: only integrality forbids
        ([([1, -1], 0, 0)], pyo.NonNegativeIntegers, Status.UNBOUNDED),
        ([([1, -1], 0, 0)], pyo.NonNegativeReals, Status.UNBOUNDED),
        (
            [([2, -2], 1, 1)],
            pyo.NonNegativeIntegers,
            Status.INFEASIBLE,
        ),  # relaxation unbounded, no integer point
    ],
)
def test_infeasible_and_unbounded_are_told_apart(rows: Any, domain: Any, status: Status, presolve: str) -> None:
    """Each is named as what it is, with presolve (which answers "one of the two") and without."""
    record = solve_milp(linear([1, 1], rows, domain=domain), options={"presolve": presolve})
    assert (record.status, record.has_incumbent, record.bound) == (status, False, None)


def test_constant_and_missing_objectives() -> None:
    """A model without columns keeps its constant objective; one without objective is a feasibility question."""
    model = pyo.ConcreteModel()
    model.cost = pyo.Objective(expr=5.0)
    assert solve_milp(model).objective == 5.0
    model = linear([0, 0], [([1, 1], 2, None)])
    del model.cost
    assert solve_milp(model).status == Status.OPTIMAL
    assert values(model) == [1, 1]


def test_variables_in_no_row_get_a_value() -> None:
    """A variable that HiGHS never sees has a value after the solve: the one of its bounds nearest to zero."""
    model = linear([1], [([1], None, 1)])
    model.free, model.low = pyo.Var(), pyo.Var(bounds=(2, 3), domain=pyo.Integers)
    model.high = pyo.Var(bounds=(None, -1.5))
    solve_milp(model)
    assert [pyo.value(v) for v in (model.free, model.low, model.high)] == [0, 2, -1.5]


def test_fixed_variables() -> None:
    """A fixed variable keeps its value and binds; fixed outside its bounds it is refused by name."""
    model = linear([10, 7, 5], [([5, 4, 3], None, 7)])
    model.x[1].fix(0)
    assert solve_milp(model).objective == pytest.approx(10)
    assert values(model) == [1, 0, 0]
    model.x[1].fix(3, skip_validation=True)  # HiGHS would take the 3
    with pytest.raises(SolverError, match=r"x\[1\] is fixed at 3"):
        solve_milp(model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mip_rel_gapp": 0.1}, "no such option"),
        ({"presolve": "bogus"}, "can't be 'bogus'"),
        ({"mip_max_nodes": "many"}, "can't be 'many'"),
        ({"mip_max_nodes": None}, "can't be None"),
        ({"mip_heuristic_effort": float("nan")}, "can't be nan"),
        ({"threads": 2}, "use its own arguments"),
        ({"time_limit": 2.0}, "use its own arguments"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    """HiGHS ignores an option it doesn't know or take; here it is an error that names it."""
    with pytest.raises(SolverError, match=message):
        solve_milp(linear([1]), options=options)


@pytest.mark.parametrize("bad", [{"time_limit": -1.0}, {"rel_gap": float("nan")}, {"seed": -1}])
def test_bad_arguments_are_refused(bad: dict[str, Any]) -> None:
    """The same holds for what goes to HiGHS from the named arguments."""
    with pytest.raises(SolverError, match="can't be"):
        solve_milp(linear([1]), **bad)


def test_options_do_not_stick() -> None:
    """A loose gap in one solve leaves the next one exact, on the same model; the options set are on record."""
    model = linear([10, 7, 5], [([5, 4, 3], None, 7)])
    first = solve_milp(model, rel_gap=0.5, options={"presolve": "off"})
    second = solve_milp(model)
    assert (first.options["mip_rel_gap"], first.options["presolve"]) == (0.5, "off")
    assert second.options["mip_rel_gap"] == 0 and "presolve" not in second.options
    assert second.options["threads"] == 1
    assert second.status == Status.OPTIMAL and second.objective == pytest.approx(12)
    loose = solve_milp(hard(), rel_gap=0.5)
    strict = solve_milp(hard(), options={"mip_max_nodes": 1})
    assert (loose.status, strict.status) == (Status.WITHIN_GAP, Status.TIME_LIMIT)


@pytest.mark.parametrize("kept", [60, 30])
def test_start_is_used(kept: int) -> None:
    """A good solution handed over, whole or in part, is taken: the log says so, and the result is no worse."""
    model = hard()
    limits: dict[str, Any] = {"options": {"mip_max_nodes": 1}}
    good = solve_milp(model, options={"mip_max_nodes": 700})
    plain = solve_milp(hard(), **limits)
    start = ComponentMap((model.x[j], model.x[j].value) for j in range(kept))
    warm = solve_milp(model, start=start, **limits)
    assert good.objective is not None and plain.objective is not None and warm.objective is not None
    assert good.objective > plain.objective
    assert "MIP start solution is feasible" in warm.log
    assert "MIP start solution" not in plain.log
    if kept == 60:
        assert warm.objective >= good.objective - 1e-6


def test_infeasible_start_does_no_harm() -> None:
    """A start that breaks a row costs nothing but a line in the log."""
    model = linear([10, 7, 5], [([5, 4, 3], None, 7)])
    record = solve_milp(model, start=ComponentMap((var, 1.0) for var in model.x.values()))
    assert record.status == Status.OPTIMAL and record.objective == pytest.approx(12)


def test_start_of_another_model_is_refused() -> None:
    """Variables of another model, or a value that is no number, would be dropped without a word."""
    model, other = linear([1, 1]), linear([1, 1])
    for var, value in ((other.x[0], 1.0), (model.x[0], float("nan"))):
        with pytest.raises(SolverError, match="MIP start"):
            solve_milp(model, start=ComponentMap([(var, value)]))


def test_should_stop_keeps_incumbent() -> None:
    """A flag set from another thread stops the solve at once, with the incumbent and the bound."""
    flag = threading.Event()
    timer = threading.Timer(0.3, flag.set)
    timer.start()
    model = hard()
    record = solve_milp(model, should_stop=flag.is_set, time_limit=10)
    timer.join()
    assert (record.status, record.has_incumbent) == (Status.INTERRUPTED, True)
    assert record.objective == pytest.approx(pyo.value(model.cost))
    assert record.bound is not None and record.bound > pyo.value(model.cost)
    assert record.seconds < 10  # stopped, not ended by the limit


def test_should_stop_reaches_an_lp() -> None:
    """A pure LP polls too: the simplex stops before it ends."""
    rng = np.random.default_rng(0)
    rows = [(rng.random(80), None, 1.0) for _ in range(80)]
    record = solve_milp(linear(rng.random(80), rows, domain=pyo.NonNegativeReals), should_stop=lambda: True)
    assert record.status == Status.INTERRUPTED


@pytest.mark.parametrize("where", ["on_progress", "should_stop"])
def test_errors_in_callbacks_come_out(where: str) -> None:
    """What a callback raises ends the solve and reaches the caller as it was, and SIGINT is given back."""

    def fail(*_: object) -> bool:
        raise ZeroDivisionError("mine")

    handler = signal.getsignal(signal.SIGINT)
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError, match="mine"):
        solve_milp(hard(), time_limit=5, **{where: fail})  # type: ignore[arg-type]
    assert time.monotonic() - began < 4
    assert signal.getsignal(signal.SIGINT) is handler


def test_progress() -> None:
    """Progress comes more than once, time and nodes never go back, and incumbents and bounds only improve."""
    seen: list[Progress] = []
    solve_milp(hard(), time_limit=1.0, on_progress=seen.append)
    assert len(seen) >= 4
    assert all(a.seconds <= b.seconds and a.nodes <= b.nodes for a, b in pairwise(seen))
    incumbents = [p.incumbent for p in seen if p.incumbent is not None]
    bounds = [p.bound for p in seen if p.bound is not None]
    assert incumbents == sorted(incumbents) and bounds == sorted(bounds, reverse=True)
    assert incumbents[-1] < bounds[-1]


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 1e30])
def test_numbers_that_highs_drops_are_errors(number: float) -> None:
    """Pyomo goes on when HiGHS refuses a row, and HiGHS solves on with NaN: neither may come out as optimal."""
    model = linear([1], [([number], None, 3)])
    record = solve_milp(model)
    assert (record.status, record.has_incumbent) == (Status.ERROR, False)
    assert "translation failed" in record.log


def test_models_beyond_the_solver_are_errors() -> None:
    """A nonlinear row or an integer quadratic objective ends as an error with the reason in the log."""
    model = linear([1, 1])
    model.bad = pyo.Constraint(expr=model.x[0] ** 3 + model.x[1] >= 1)
    record = solve_milp(model)
    assert record.status == Status.ERROR and "IncompatibleModelError" in record.log
    model = linear([1, 1])
    model.cost.set_value((model.x[0] - 0.3) ** 2)
    record = solve_milp(model)
    assert record.status == Status.ERROR and "MIQP" in record.log


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither banner, nor log, nor refused options reach stdout or stderr; what a callback prints does."""
    solve_milp(hard(), time_limit=0.2)
    solve_milp(linear([1, 1], [([1, 1], 3, None)]))
    with pytest.raises(SolverError):
        solve_milp(linear([1]), options={"nope": 1})
    assert capfd.readouterr() == ("", "")
    solve_milp(hard(), time_limit=0.2, on_progress=lambda _: print("alive"))
    assert capfd.readouterr().out.startswith("alive\n")


def test_first_solve_of_a_process_is_silent() -> None:
    """The banner comes once per process, from C, past Python's buffers: only a new process can show its absence."""
    script = (
        "import pyomo.environ as pyo\nfrom spareopt.solver import solve_milp\nm = pyo.ConcreteModel()\n"
        "m.x = pyo.Var(bounds=(0, 2))\nm.o = pyo.Objective(expr=m.x)\nprint(solve_milp(m).status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=_env(), capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("optimal\n", "")


def test_same_model_same_search() -> None:
    """The same model and seed give the same tree, iterations and values; another seed searches otherwise."""
    limits: dict[str, Any] = {"options": {"mip_max_nodes": 60}}
    models = [hard(), hard(), hard()]
    one, two, other = (solve_milp(m, seed=s, **limits) for m, s in zip(models, (0, 0, 7), strict=True))
    assert (one.nodes, one.objective, one.bound) == (two.nodes, two.objective, two.bound)
    assert values(models[0]) == values(models[1])
    iterations = [log.split("LP iterations")[1].split("(total)")[0] for log in (one.log, two.log, other.log)]
    assert iterations[0] == iterations[1] != iterations[2]


def test_random_models_against_brute_force() -> None:
    """Objective, bound, loaded values and infeasibility agree with trying all 2^n points in integers."""
    infeasible = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(3, 11)), int(rng.integers(1, 5))
        cost, weights = rng.integers(-20, 21, n), rng.integers(-9, 10, (m, n))
        lower = weights @ rng.integers(0, 2, n) + rng.integers(-4, 5, m)
        upper = lower + rng.integers(0, 2, m)
        kinds = rng.integers(0, 3, m)  # at most, at least, or a band, which is at times empty of points
        points = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        sums = points @ weights.T
        fits = (((sums >= lower) | (kinds == 0)) & ((sums <= upper) | (kinds == 1))).all(axis=1)
        rows = [
            (weights[i], None if kinds[i] == 0 else int(lower[i]), None if kinds[i] == 1 else int(upper[i]))
            for i in range(m)
        ]
        sense = pyo.maximize if seed % 2 else pyo.minimize
        model = linear(cost, rows, sense=sense)
        record = solve_milp(model)
        if not fits.any():
            infeasible += 1
            assert (record.status, record.has_incumbent) == (Status.INFEASIBLE, False), seed
            continue
        worth = points[fits] @ cost
        best = worth.max() if sense == pyo.maximize else worth.min()
        assert record.status == Status.OPTIMAL, seed
        assert record.objective == pytest.approx(best, abs=1e-6), seed
        assert record.bound == pytest.approx(best, abs=1e-6), seed
        chosen = np.array(values(model))
        assert any((chosen == point).all() for point in points[fits]) and chosen @ cost == best, seed
    assert 5 <= infeasible <= 40


def test_versions() -> None:
    """The versions are those installed, and the HiGHS commit is there."""
    found = versions()
    assert found["highspy"] == metadata.version("highspy")
    assert found["pyomo"].startswith("6.") and len(found["highs"]) >= 7


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


SIGINT_SCRIPT = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background inherits "ignore"
from tests.test_solver import hard
from spareopt.solver import solve_milp
def tell(progress, told=[]):
    if not told and progress.incumbent:
        told.append(print("solving", flush=True))
    time.sleep(float(sys.argv[1]))
record = solve_milp(hard(), time_limit=20, on_progress=tell)
print(record.status, record.has_incumbent, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def _run_and_interrupt(times: int, pause: float) -> tuple[int, str, str]:
    command = [sys.executable, "-c", SIGINT_SCRIPT, str(pause)]
    with subprocess.Popen(
        command, env=_env(), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "solving\n"
        for _ in range(times):
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    return process.returncode, out, err


def test_ctrl_c_keeps_incumbent() -> None:
    """One SIGINT ends the solve as interrupted with its incumbent, and the old handler is back."""
    assert _run_and_interrupt(1, 0.0) == (0, "interrupted True True\n", "")


def test_second_ctrl_c_raises() -> None:
    """A second SIGINT, while a slow callback holds the first one up, is a KeyboardInterrupt as usual."""
    code, out, err = _run_and_interrupt(2, 0.3)
    assert code != 0 and out == "" and "KeyboardInterrupt" in err


@pytest.mark.parametrize("sense", [pyo.maximize, pyo.minimize])
@pytest.mark.parametrize("seed", range(10))
def test_relaxations_bound_every_solution_of_their_case(sense: int, seed: int) -> None:
    """Proves what screening relies on: in each case no solution beats the bound, nor one with x the bound + its cost.

    Random choose-one problems with a budget; every solution is enumerated.  A reduced cost of the wrong sign would
    promise too little for some variable and screening would lose the optimum.
    """
    rng = np.random.default_rng(seed)
    groups, choices = 3, 4
    value, weight = rng.uniform(0, 10, (groups, choices)), rng.uniform(1, 5, (groups, choices))
    cap = 9.0
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(groups), range(choices), domain=pyo.Binary)
    model.one = pyo.Constraint(range(groups), rule=lambda m, g: sum(m.x[g, c] for c in range(choices)) == 1)
    model.cap = pyo.Constraint(expr=sum(weight[g, c] * model.x[g, c] for g, c in model.x) <= cap)
    model.objective = pyo.Objective(expr=sum(value[g, c] * model.x[g, c] for g, c in model.x), sense=sense)
    sign = 1 if sense == pyo.maximize else -1
    cases = [model.x[0, c] for c in range(choices)]
    solved = 0
    for case, relaxation in enumerate(solve_relaxations(model, cases, list(model.x.values()))):
        for rest in itertools.product(range(choices), repeat=groups - 1):
            chosen = (case, *rest)
            if sum(weight[g, c] for g, c in enumerate(chosen)) > cap:
                continue
            assert relaxation is not None
            solved += 1
            objective = sum(value[g, c] for g, c in enumerate(chosen))
            assert sign * objective <= sign * relaxation.bound + 1e-6
            for g, c in enumerate(chosen[1:], start=1):  # the case's own variable is fixed: its cost says nothing
                promised = relaxation.bound + relaxation.reduced_costs[g * choices + c]
                assert sign * objective <= sign * promised + 1e-6
    assert solved
    assert all(var.value is None for var in model.x.values())
    assert model.x[0, 0].bounds == (0, 1)


def knapsacks(seed: int) -> tuple[pyo.ConcreteModel, list[Any]]:
    """One of 12 candidates for each of 5 members, under a budget by case: that of the first of 6 can't be met."""
    rng = np.random.default_rng(seed)
    model = pyo.ConcreteModel()
    rows = range(60)
    worth, use = rng.uniform(0, 1, 60), rng.uniform(1, 3, 60)
    model.n = pyo.Var(rows, domain=pyo.Binary)
    model.case = pyo.Var(range(6), domain=pyo.Binary)
    model.one_case = pyo.Constraint(expr=sum(model.case.values()) == 1)
    model.members = pyo.Constraint(range(5), rule=lambda m, z: sum(m.n[c] for c in range(12 * z, 12 * z + 12)) == 1)
    budgets = [4.0, 7.0, *rng.uniform(8, 14, 4)]
    used = sum(use[c] * model.n[c] for c in rows)
    model.budget = pyo.Constraint(expr=used <= sum(b * model.case[k] for k, b in enumerate(budgets)))
    model.objective = pyo.Objective(expr=sum(worth[c] * model.n[c] for c in rows), sense=pyo.maximize)
    return model, [model.case[k] for k in range(6)]


@pytest.mark.parametrize("many", [0, 1, 8, 30])
@pytest.mark.parametrize("seed", range(5))
def test_few_columns_relax_as_all_of_them(seed: int, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that columns that join by their reduced costs end at the bound of all, and at reduced costs that bound.

    The infeasible case comes last, when the few are there.  A column that should have joined would lower a bound, and
    a proof of infeasibility that a column away undoes would lose a case.
    """
    model, cases = knapsacks(seed)
    variables = list(model.n.values())
    every = list(solve_relaxations(model, cases, variables))
    monkeypatch.setattr(solver, "MANY_COLUMNS", many)
    few = list(solve_relaxations(model, cases[::-1], variables))[::-1]
    assert every[0] is None and few[0] is None
    for k, (one, other) in enumerate(zip(every, few, strict=True)):
        assert (one is None) == (other is None)
        if one is None or other is None:
            continue
        assert other.bound == pytest.approx(one.bound, abs=1e-6)
        for c in range(0, 60, 7):
            model.n[c].setlb(1)
            (forced,) = solve_relaxations(model, [cases[k]], [])
            model.n[c].setlb(0)
            assert forced is None or forced.bound <= other.bound + other.reduced_costs[c] + 1e-6
