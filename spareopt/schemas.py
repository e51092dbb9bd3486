"""The JSON schemas of what spareopt reads and writes, by kind of document."""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib import import_module
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from pydantic import BaseModel

INPUTS = ("instance", "decisions", "overlay")
"""Kinds that people write; all others are written by spareopt."""
HOMES = {
    "instance": "instance.Instance",
    "decisions": "decisions.Decisions",
    "overlay": "overlays.overlay.Overlay",
    "plan": "plan.Plan",
    "plan-comparison": "plan_comparison.PlanComparison",
    "simulation": "simulation.result.Simulation",
    "comparison": "simulation.result.Comparison",
    "robust": "robust.RobustComparison",
    "staged": "staging.plan.StagedPlan",
    "frontier": "efficient.Frontier",
    "marginal": "marginal.MarginalValues",
    "tornado": "exposure.Tornado",
    "map": "map_result.StrategyMap",
    "sweep": "sweep_result.Sweep",
    "infeasibility": "conflicts.Infeasibility",
    "selection": "selected.Selected",
    "calibration": "calibration.result.Calibration",
    "manifest": "manifest.Manifest",
    "runs": "run_records.RunList",
    "runs-query": "run_queries.RunQuery",
}
"""Where the model of each kind of document is."""
KINDS = tuple(HOMES)


def model_of(kind: str) -> type[BaseModel]:
    """The model of a kind of document.  Raises KeyError."""
    module, _, name = HOMES[kind].rpartition(".")
    model: type[BaseModel] = getattr(import_module(f"spareopt.{module}"), name)
    return model


def models_in(model: type[BaseModel]) -> list[type[BaseModel]]:
    """A model and all models in its fields, each once."""
    found = [model]
    for here in found:
        for hint in get_type_hints(here, include_extras=True).values():
            stack = [hint]
            while stack:
                part = stack.pop()
                stack += get_args(part)
                if isinstance(part, type) and issubclass(part, BaseModel) and part not in found:
                    found.append(part)
    return found


def field_notes(model: type[BaseModel]) -> dict[str, str]:
    """What stands under the fields of a model, and of those that it extends, in the source."""
    notes = {}
    for base in reversed(model.__mro__):
        for statement, after in pairwise(_classes(base.__module__).get(base.__name__, ())):
            match statement, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                    notes[name] = cleandoc(words)
    return notes


@cache
def _classes(module: str) -> dict[str, list[ast.stmt]]:
    """The statements in each class of a module of spareopt."""
    if module.partition(".")[0] != "spareopt":
        return {}
    tree = ast.parse(Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8"))
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}


def schema_of(kind: str, mode: Literal["written", "read"] | None = None) -> dict[str, Any]:
    """The JSON schema of a kind of document, as it is written (where spareopt writes it) or read, with words.

    ``mode``: the other way; a field that is always written may be left out in what is read.
    """
    written = (mode or ("read" if kind in INPUTS else "written")) == "written"
    models = models_in(model_of(kind))
    schema = models[0].model_json_schema(mode="serialization" if written else "validation")
    for model in models:
        part = schema if model is models[0] else schema["$defs"].get(model.__name__, {})
        for name, note in field_notes(model).items():
            if name in part.get("properties", {}):
                part["properties"][name].setdefault("description", note)
    return schema
