"""Decide how to spare large AI training clusters.

The public names load on first use, so that ``import spareopt`` and ``spareopt --help`` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spareopt.decisions import Decisions, ZoneChoice, read_decisions
    from spareopt.errors import InfeasibleError, InputError, LimitError, SolverError, SpareoptError
    from spareopt.evaluation import Evaluation, evaluate
    from spareopt.instance import Instance
    from spareopt.neighbours import one_step_away
    from spareopt.optimise import solve
    from spareopt.plan import Plan
    from spareopt.reading import read_instance
    from spareopt.simulation.result import Comparison, Simulation
    from spareopt.simulation.simulate import compare, simulate
    from spareopt.simulation.store import read_comparison, read_simulation, write_simulation
    from spareopt.simulation.trace import Trace, read_trace
    from spareopt.store import read_plan, write_plan
    from spareopt.sweep_folder import read_sweep
    from spareopt.sweeps import sweep

_HOMES = {
    "Comparison": "simulation.result",
    "Decisions": "decisions",
    "Evaluation": "evaluation",
    "InfeasibleError": "errors",
    "InputError": "errors",
    "Instance": "instance",
    "LimitError": "errors",
    "Plan": "plan",
    "Simulation": "simulation.result",
    "SolverError": "errors",
    "SpareoptError": "errors",
    "Trace": "simulation.trace",
    "ZoneChoice": "decisions",
    "compare": "simulation.simulate",
    "evaluate": "evaluation",
    "one_step_away": "neighbours",
    "read_decisions": "decisions",
    "read_instance": "reading",
    "read_plan": "store",
    "read_comparison": "simulation.store",
    "read_simulation": "simulation.store",
    "read_sweep": "sweep_folder",
    "read_trace": "simulation.trace",
    "simulate": "simulation.simulate",
    "solve": "optimise",
    "sweep": "sweeps",
    "write_plan": "store",
    "write_simulation": "simulation.store",
}

__all__ = [
    "Comparison",
    "Decisions",
    "Evaluation",
    "InfeasibleError",
    "InputError",
    "Instance",
    "LimitError",
    "Plan",
    "Simulation",
    "SolverError",
    "SpareoptError",
    "Trace",
    "ZoneChoice",
    "compare",
    "evaluate",
    "one_step_away",
    "read_comparison",
    "read_decisions",
    "read_instance",
    "read_plan",
    "read_simulation",
    "read_sweep",
    "read_trace",
    "simulate",
    "solve",
    "sweep",
    "write_plan",
    "write_simulation",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spareopt' has no attribute {name!r}")
    return getattr(import_module(f"spareopt.{_HOMES[name]}"), name)
