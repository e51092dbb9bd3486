"""The only module that touches SCIP, the nonlinear solver that checks small cases; plans come from solver.py's HiGHS.

Pyomo writes the model as an NL file, which the SCIP within pyscipopt reads; no executable is needed.  SCIP does not
always look at its clock, so it runs in a process of its own that is killed when it overstays.  What it has found and
proved by then is kept: it is written to a file as it comes.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
from pyomo.repn.plugins.nl_writer import NLWriter

from spareopt.errors import SolverError

GRACE = 5.0  # seconds beyond the limit before the process is killed
BOUND_PERIOD = 0.2  # seconds between two bounds written
MODEL, FOUND, RESULT = "model.nl", "found.json", "result.json"


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
    model: pyo.ConcreteModel,
    *,
    time_limit: float,
    rel_gap: float = 0.0,
    abs_gap: float = 0.0,
    feasibility: float = 1e-6,
) -> NonlinearRecord:
    """Solve a nonlinear model, at most ``time_limit`` seconds and a few of grace, and load the incumbent.

    The solve ends when |objective − bound| <= abs_gap or <= rel_gap × the smaller of them.  Integers are loaded
    rounded; every part of a row holds to ``feasibility``, so a plan must be scored anew.  Raises SolverError where
    pyscipopt is missing or SCIP fails.
    """
    if not scip_is_installed():
        raise SolverError("the nonlinear model needs SCIP, which is not installed; pip install pyscipopt")
    if not time_limit > 0:
        raise ValueError(f"time_limit: expected seconds above zero, got {time_limit}")
    began = time.monotonic()
    options = {
        "limits/time": time_limit,
        "limits/gap": rel_gap,
        "limits/absgap": abs_gap,
        "numerics/feastol": feasibility,
    }
    killed, errors = False, ""
    with tempfile.TemporaryDirectory(prefix="spareopt-scip-") as name:
        folder = Path(name)
        with (folder / MODEL).open("w", encoding="utf-8") as stream:
            written = NLWriter().write(model, stream, linear_presolve=False, scale_model=False)
        command = [sys.executable, "-m", "spareopt.nonlinear_solver", name, json.dumps(options)]
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
    last = result or found or {}
    if values := last.get("values"):
        for variable, value in zip(written.variables, values, strict=True):
            variable.set_value(round(value) if variable.is_integer() else value, skip_validation=True)
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


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and abs(value) < 1e19 else None  # SCIP's infinity: 1e20


def _run(folder: Path, options: dict[str, float]) -> None:
    """What the process of its own does: solve the model in a folder, note what is found, write the result."""
    pyscipopt: Any = import_module("pyscipopt")
    scip = pyscipopt.Model()
    scip.hideOutput()
    scip.readProblem(str(folder / MODEL))
    scip.setParams(options)
    # the reader names variables by type and place in the file (x0, b1, i2), and adds one for a nonlinear objective
    named = [variable for variable in scip.getVars() if variable.name[1:].isdigit()]
    variables = sorted(named, key=lambda variable: int(variable.name[1:]))
    events = pyscipopt.SCIP_EVENTTYPE
    caught = (events.BESTSOLFOUND, events.DUALBOUNDIMPROVED)

    def found() -> dict[str, Any]:
        known: dict[str, Any] = {"bound": _finite(scip.getDualbound())}
        if scip.getNSols():
            best = scip.getBestSol()
            known["objective"] = scip.getSolObjVal(best)
            known["values"] = [scip.getSolVal(best, variable) for variable in variables]
        return known

    class Notes(pyscipopt.Eventhdlr):  # type: ignore[misc]
        """Writes every better solution, and the bound now and then."""

        written = -math.inf

        def eventinit(self) -> None:
            for event in caught:
                self.model.catchEvent(event, self)

        def eventexit(self) -> None:
            for event in caught:
                self.model.dropEvent(event, self)

        def eventexec(self, event: Any) -> None:
            if event.getType() == events.BESTSOLFOUND or time.monotonic() - self.written > BOUND_PERIOD:
                self.written = time.monotonic()
                _write(folder / FOUND, found())

    scip.includeEventhdlr(Notes(), "notes", "what has been found")
    scip.optimize()
    statuses = {
        "optimal": NonlinearStatus.OPTIMAL,
        "gaplimit": NonlinearStatus.OPTIMAL,
        "timelimit": NonlinearStatus.TIME_LIMIT,
        "infeasible": NonlinearStatus.INFEASIBLE,
    }
    if scip.getStatus() not in statuses:
        raise RuntimeError(f"SCIP ended with {scip.getStatus()}")
    _write(folder / RESULT, {"status": statuses[scip.getStatus()]} | found())


if __name__ == "__main__":
    _run(Path(sys.argv[1]), json.loads(sys.argv[2]))
