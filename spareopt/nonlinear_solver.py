"""The only module that touches SCIP, the nonlinear solver that checks small cases; plans come from solver.py's HiGHS.

Pyomo passes the model to SCIP in memory (its ``scip_direct``; no executable is needed).  SCIP does not always look at its
clock, so it runs in a process of its own that is killed when it overstays.  What it has found and proved by then is
kept: it is written to a file as it comes.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyomo.environ as pyo

from spareopt.errors import SolverError

FEASIBILITY = 1e-9
"""Tolerance of rows; SCIP's usual 1e-6 on each part of a nested formula leaves errors of 1e-5 in the objective."""
GRACE = 5.0  # seconds beyond the limit before the process is killed
BOUND_PERIOD = 0.2  # seconds between two bounds written
MODEL, FOUND, RESULT = "model.pickle", "found.json", "result.json"


class NonlinearStatus(StrEnum):
    """How SCIP ended."""

    OPTIMAL = "optimal"  # within the gap asked
    TIME_LIMIT = "time limit"
    KILLED = "killed"  # it overstayed its time limit
    INFEASIBLE = "infeasible"


@dataclass(frozen=True)
class NonlinearRecord:
    """What came of a solve, in the units of the model's objective; the incumbent is loaded into the model."""

    status: NonlinearStatus
    objective: float | None
    bound: float | None
    """No solution is better, to SCIP's tolerances."""
    seconds: float
    """Wall time, the start of the process included."""


def scip_is_installed() -> bool:
    """Whether pyscipopt is there, which brings SCIP."""
    return find_spec("pyscipopt") is not None


def solve_minlp(
    model: pyo.ConcreteModel, *, time_limit: float, rel_gap: float = 0.0, abs_gap: float = 0.0
) -> NonlinearRecord:
    """Solve a nonlinear model, at most ``time_limit`` seconds and a few of grace, and load the incumbent.

    The solve ends when |objective − bound| <= abs_gap or <= rel_gap × the smaller of them.  Integers are loaded rounded;
    other values hold to ``FEASIBILITY``, so a plan must be scored anew.  Raises SolverError where pyscipopt is missing or
    SCIP fails.
    """
    if not scip_is_installed():
        raise SolverError("the nonlinear model needs SCIP, which is not installed; pip install pyscipopt")
    if not time_limit > 0:
        raise ValueError(f"time_limit: expected seconds above zero, got {time_limit}")
    began = time.monotonic()
    options = {"time_limit": time_limit, "rel_gap": rel_gap, "abs_gap": abs_gap}
    killed, errors = False, ""
    with tempfile.TemporaryDirectory(prefix="spareopt-scip-") as name:
        folder = Path(name)
        (folder / MODEL).write_bytes(pickle.dumps((model, options)))
        command = [sys.executable, "-m", "spareopt.nonlinear_solver", name]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        try:
            limit = time_limit + GRACE + (time.monotonic() - began)
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit, check=False)
            errors = ran.stderr
        except subprocess.TimeoutExpired:  # the process has been killed
            killed = True
        result, found = _read(folder / RESULT), _read(folder / FOUND)
    if not killed and result is None:
        raise SolverError("SCIP failed: " + (errors.strip().splitlines() or ["it said nothing"])[-1])
    last = found or {}
    if result is not None:
        last |= {key: value for key, value in result.items() if value is not None}
    if values := last.get("values"):
        _load(model, values)
    status = NonlinearStatus(result["status"]) if result else NonlinearStatus.KILLED
    objective = last["objective"] if values else None
    bound = None if status == NonlinearStatus.INFEASIBLE else last.get("bound")
    return NonlinearRecord(status, objective, bound, time.monotonic() - began)


def _read(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _write(path: Path, data: dict[str, Any]) -> None:
    """Write in one go, so that a kill leaves no half of it."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(data), encoding="utf-8")
    part.replace(path)


def _variables(model: pyo.ConcreteModel) -> list[Any]:
    """The variables of a model, in an order that pickling keeps."""
    return list(model.component_data_objects(pyo.Var, descend_into=True))


def _load(model: pyo.ConcreteModel, values: list[float | None]) -> None:
    for variable, value in zip(_variables(model), values, strict=True):
        if value is not None:  # else it is in no row
            variable.set_value(round(value) if variable.is_integer() else value, skip_validation=True)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and abs(value) < 1e19 else None  # SCIP's infinity: 1e20


def _run(folder: Path) -> None:
    """What the process of its own does: solve the model in a folder, note what is found, write the result."""
    import pyscipopt  # noqa: PLC0415
    from pyomo.contrib.solver.common.results import TerminationCondition as Condition  # noqa: PLC0415
    from pyomo.contrib.solver.solvers.scip.scip_direct import ScipDirect  # noqa: PLC0415

    model, options = pickle.loads((folder / MODEL).read_bytes())
    events = pyscipopt.SCIP_EVENTTYPE
    caught = (events.BESTSOLFOUND, events.DUALBOUNDIMPROVED)

    class Notes(pyscipopt.Eventhdlr):  # type: ignore[misc]
        """Writes every better solution, and the bound now and then."""

        def __init__(self, variables: list[Any]) -> None:
            self.variables, self.written, self.found = variables, -math.inf, {"objective": None, "values": None}

        def eventinit(self) -> None:
            for event in caught:
                self.model.catchEvent(event, self)

        def eventexit(self) -> None:
            for event in caught:
                self.model.dropEvent(event, self)

        def eventexec(self, event: Any) -> None:
            better, now = event.getType() == events.BESTSOLFOUND, time.monotonic()
            if better:
                best = self.model.getBestSol()
                values = [None if v is None else self.model.getSolVal(best, v) for v in self.variables]
                self.found = {"objective": self.model.getSolObjVal(best), "values": values}
            if better or now - self.written > BOUND_PERIOD:
                self.written = now
                _write(folder / FOUND, self.found | {"bound": _finite(self.model.getDualbound())})

    class Noted(ScipDirect):  # type: ignore[misc]
        """Pyomo's interface with the notes attached, before it starts SCIP."""

        def _create_solver_model(self, model: Any, config: Any) -> Any:
            created = super()._create_solver_model(model, config)
            columns = self._pyomo_var_to_solver_var_map
            notes = Notes([columns.get(variable) for variable in _variables(model)])
            created[0].includeEventhdlr(notes, "notes", "what has been found")
            return created

    solver = Noted()
    results = solver.solve(
        model,
        **options,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        solver_options={"numerics/feastol": FEASIBILITY, "numerics/dualfeastol": FEASIBILITY},
    )
    statuses = {
        Condition.convergenceCriteriaSatisfied: NonlinearStatus.OPTIMAL,
        Condition.maxTimeLimit: NonlinearStatus.TIME_LIMIT,
        Condition.provenInfeasible: NonlinearStatus.INFEASIBLE,
        Condition.infeasibleOrUnbounded: NonlinearStatus.INFEASIBLE,  # every objective here is bounded
    }
    condition = results.termination_condition
    if condition not in statuses:
        raise RuntimeError(f"SCIP ended with {condition.name}")
    values = None
    if results.incumbent_objective is not None:
        loaded = results.solution_loader.get_vars()
        values = [loaded.get(variable) for variable in _variables(model)]
    bound, objective = _finite(results.objective_bound), results.incumbent_objective
    result = {"status": statuses[condition], "objective": objective, "bound": bound, "values": values}
    _write(folder / RESULT, result)


if __name__ == "__main__":
    _run(Path(sys.argv[1]))
