"""Decide how to spare large AI training clusters.

The public names load on first use, so that ``import spareopt`` and ``spareopt --help`` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spareopt.alternatives import WhyNot, why_not
    from spareopt.binding import Binds, what_binds
    from spareopt.calibration.as_overlay import calibration_overlay
    from spareopt.calibration.calibrating import calibrate
    from spareopt.calibration.incidents import Observation
    from spareopt.calibration.observation import read_observation
    from spareopt.calibration.result import Calibration
    from spareopt.calibration.store import read_calibration, write_calibration
    from spareopt.conflicts import Infeasibility, explain_infeasible, read_infeasibility
    from spareopt.curve_store import read_frontier, read_marginal_values, read_tornado, write_curve
    from spareopt.decisions import Decisions, ZoneChoice, read_decisions
    from spareopt.efficient import Frontier, frontier
    from spareopt.errors import InfeasibleError, InputError, LimitError, SolverError, SpareoptError
    from spareopt.evaluation import Evaluation, evaluate
    from spareopt.exposure import Tornado, tornado
    from spareopt.instance import Instance
    from spareopt.map_result import StrategyMap
    from spareopt.map_store import read_map, write_map
    from spareopt.mapping import strategy_map
    from spareopt.marginal import MarginalValues, marginal_values
    from spareopt.near import near_optimal
    from spareopt.near_result import NearOptimal
    from spareopt.neighbours import one_step_away
    from spareopt.once import simulate_once, solve_once, staged_once
    from spareopt.optimise import solve
    from spareopt.overlays.overlay import Overlay, write_overlay
    from spareopt.overlays.sources import read_overlay
    from spareopt.plan import Plan
    from spareopt.plan_changes import PlanChange, explain_change
    from spareopt.plan_comparison import PlanComparison, compare_plans
    from spareopt.plan_comparison_store import read_plan_comparison, write_plan_comparison
    from spareopt.reading import read_instance
    from spareopt.reports.writing import write_report
    from spareopt.robust import RobustComparison, RobustPlan, compare_robust, solve_robust
    from spareopt.robust_store import read_robust, write_robust
    from spareopt.run_queries import query_runs
    from spareopt.run_records import RunList, list_runs
    from spareopt.selected import Selected
    from spareopt.selection import select, undominated
    from spareopt.simulation.incident_files import write_incidents
    from spareopt.simulation.incidents import IncidentLog, incident_logs, simulate_incidents
    from spareopt.simulation.result import Comparison, Simulation
    from spareopt.simulation.simulate import compare, simulate
    from spareopt.simulation.store import read_comparison, read_simulation, write_simulation
    from spareopt.simulation.trace import Trace, read_trace
    from spareopt.staging.decisions import StagedDecisions, StagedZone
    from spareopt.staging.plan import StagedPlan, solve_staged
    from spareopt.staging.rolling import rolled
    from spareopt.staging.score import StagedScore, evaluate_staged
    from spareopt.staging.store import read_staged, write_staged
    from spareopt.store import read_plan, write_plan
    from spareopt.sweep_folder import read_sweep
    from spareopt.sweep_result import Sweep
    from spareopt.sweeps import sweep, whole_sweep
    from spareopt.workbooks.writing import write_workbook

_CHECKOUT = Path(__file__).parents[1]
if (_CHECKOUT / "formulations" / "selection.py").is_file():
    # Python prefers a checkout it is started in to the installed package; there formulations and instances lie beside
    __path__.append(str(_CHECKOUT))

_HOMES = {
    "Binds": "binding",
    "Calibration": "calibration.result",
    "Comparison": "simulation.result",
    "Decisions": "decisions",
    "Evaluation": "evaluation",
    "Frontier": "efficient",
    "IncidentLog": "simulation.incidents",
    "Infeasibility": "conflicts",
    "InfeasibleError": "errors",
    "InputError": "errors",
    "Instance": "instance",
    "LimitError": "errors",
    "MarginalValues": "marginal",
    "NearOptimal": "near_result",
    "Observation": "calibration.incidents",
    "Overlay": "overlays.overlay",
    "Plan": "plan",
    "PlanChange": "plan_changes",
    "PlanComparison": "plan_comparison",
    "RobustComparison": "robust",
    "RobustPlan": "robust",
    "RunList": "run_records",
    "Selected": "selected",
    "Simulation": "simulation.result",
    "SolverError": "errors",
    "SpareoptError": "errors",
    "StagedDecisions": "staging.decisions",
    "StagedPlan": "staging.plan",
    "StagedScore": "staging.score",
    "StagedZone": "staging.decisions",
    "StrategyMap": "map_result",
    "Sweep": "sweep_result",
    "Tornado": "exposure",
    "Trace": "simulation.trace",
    "WhyNot": "alternatives",
    "ZoneChoice": "decisions",
    "calibrate": "calibration.calibrating",
    "calibration_overlay": "calibration.as_overlay",
    "compare": "simulation.simulate",
    "compare_plans": "plan_comparison",
    "compare_robust": "robust",
    "evaluate": "evaluation",
    "evaluate_staged": "staging.score",
    "explain_change": "plan_changes",
    "explain_infeasible": "conflicts",
    "frontier": "efficient",
    "incident_logs": "simulation.incidents",
    "list_runs": "run_records",
    "marginal_values": "marginal",
    "near_optimal": "near",
    "one_step_away": "neighbours",
    "query_runs": "run_queries",
    "read_calibration": "calibration.store",
    "read_comparison": "simulation.store",
    "read_decisions": "decisions",
    "read_frontier": "curve_store",
    "read_infeasibility": "conflicts",
    "read_instance": "reading",
    "read_map": "map_store",
    "read_marginal_values": "curve_store",
    "read_observation": "calibration.observation",
    "read_overlay": "overlays.sources",
    "read_plan": "store",
    "read_plan_comparison": "plan_comparison_store",
    "read_robust": "robust_store",
    "read_simulation": "simulation.store",
    "read_staged": "staging.store",
    "read_sweep": "sweep_folder",
    "read_tornado": "curve_store",
    "read_trace": "simulation.trace",
    "rolled": "staging.rolling",
    "select": "selection",
    "simulate": "simulation.simulate",
    "simulate_incidents": "simulation.incidents",
    "simulate_once": "once",
    "solve": "optimise",
    "solve_once": "once",
    "solve_robust": "robust",
    "solve_staged": "staging.plan",
    "staged_once": "once",
    "strategy_map": "mapping",
    "sweep": "sweeps",
    "tornado": "exposure",
    "undominated": "selection",
    "what_binds": "binding",
    "whole_sweep": "sweeps",
    "why_not": "alternatives",
    "write_calibration": "calibration.store",
    "write_curve": "curve_store",
    "write_incidents": "simulation.incident_files",
    "write_map": "map_store",
    "write_overlay": "overlays.overlay",
    "write_plan": "store",
    "write_plan_comparison": "plan_comparison_store",
    "write_report": "reports.writing",
    "write_robust": "robust_store",
    "write_simulation": "simulation.store",
    "write_staged": "staging.store",
    "write_workbook": "workbooks.writing",
}

__all__ = [
    "Binds",
    "Calibration",
    "Comparison",
    "Decisions",
    "Evaluation",
    "Frontier",
    "IncidentLog",
    "Infeasibility",
    "InfeasibleError",
    "InputError",
    "Instance",
    "LimitError",
    "MarginalValues",
    "NearOptimal",
    "Observation",
    "Overlay",
    "Plan",
    "PlanChange",
    "PlanComparison",
    "RobustComparison",
    "RobustPlan",
    "RunList",
    "Selected",
    "Simulation",
    "SolverError",
    "SpareoptError",
    "StagedDecisions",
    "StagedPlan",
    "StagedScore",
    "StagedZone",
    "StrategyMap",
    "Sweep",
    "Tornado",
    "Trace",
    "WhyNot",
    "ZoneChoice",
    "calibrate",
    "calibration_overlay",
    "compare",
    "compare_plans",
    "compare_robust",
    "evaluate",
    "evaluate_staged",
    "explain_change",
    "explain_infeasible",
    "frontier",
    "incident_logs",
    "list_runs",
    "marginal_values",
    "near_optimal",
    "one_step_away",
    "query_runs",
    "read_calibration",
    "read_comparison",
    "read_decisions",
    "read_frontier",
    "read_infeasibility",
    "read_instance",
    "read_map",
    "read_marginal_values",
    "read_observation",
    "read_overlay",
    "read_plan",
    "read_plan_comparison",
    "read_robust",
    "read_simulation",
    "read_staged",
    "read_sweep",
    "read_tornado",
    "read_trace",
    "rolled",
    "select",
    "simulate",
    "simulate_incidents",
    "simulate_once",
    "solve",
    "solve_once",
    "solve_robust",
    "solve_staged",
    "staged_once",
    "strategy_map",
    "sweep",
    "tornado",
    "undominated",
    "what_binds",
    "whole_sweep",
    "why_not",
    "write_calibration",
    "write_curve",
    "write_incidents",
    "write_map",
    "write_overlay",
    "write_plan",
    "write_plan_comparison",
    "write_report",
    "write_robust",
    "write_simulation",
    "write_staged",
    "write_workbook",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spareopt' has no attribute {name!r}")
    return getattr(import_module(f"spareopt.{_HOMES[name]}"), name)
