"""The JSON schemas of what spareopt reads and writes, by kind of document."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

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


def schema_of(kind: str, mode: Literal["written", "read"] | None = None) -> dict[str, Any]:
    """The JSON schema of a kind of document, as it is written (where spareopt writes it) or read.

    ``mode``: the other way; a field that is always written may be left out in what is read.
    """
    written = (mode or ("read" if kind in INPUTS else "written")) == "written"
    return model_of(kind).model_json_schema(mode="serialization" if written else "validation")
