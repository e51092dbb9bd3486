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
    from spareopt.store import read_plan, write_plan

_HOMES = {
    "Decisions": "decisions",
    "Evaluation": "evaluation",
    "InfeasibleError": "errors",
    "InputError": "errors",
    "Instance": "instance",
    "LimitError": "errors",
    "Plan": "plan",
    "SolverError": "errors",
    "SpareoptError": "errors",
    "ZoneChoice": "decisions",
    "evaluate": "evaluation",
    "one_step_away": "neighbours",
    "read_decisions": "decisions",
    "read_instance": "reading",
    "read_plan": "store",
    "solve": "optimise",
    "write_plan": "store",
}

__all__ = [
    "Decisions",
    "Evaluation",
    "InfeasibleError",
    "InputError",
    "Instance",
    "LimitError",
    "Plan",
    "SolverError",
    "SpareoptError",
    "ZoneChoice",
    "evaluate",
    "one_step_away",
    "read_decisions",
    "read_instance",
    "read_plan",
    "solve",
    "write_plan",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spareopt' has no attribute {name!r}")
    return getattr(import_module(f"spareopt.{_HOMES[name]}"), name)
