"""Plans on disk: a folder with the plan, its tables, the model and the log."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import pandas as pd

from spareopt.candidates import DECISIONS
from spareopt.folders import read_result
from spareopt.instance import Instance
from spareopt.manifest import Manifest, write_run
from spareopt.plan import Audit, Plan

PLAN = "plan.json"


def write_plan(plan: Plan, instance: Instance, folder: str | Path) -> Path:
    """Write a plan folder; it appears complete or not at all.  Raises InputError where something stands there."""
    certificate, made = plan.certificate, plan.provenance
    manifest = Manifest(
        kind="solve",
        result=PLAN,
        instance=made.instance,
        input_hash=made.input_hash,
        applied=made.applied,
        options=made.options,
        seed=made.seed,
        versions=made.versions,
        status=certificate.status,
        objective=certificate.objective,
        unit=certificate.unit,
        value=certificate.value,
        bound=certificate.bound,
        gap=certificate.gap,
    )
    seconds = {} if plan.audit is None else plan.audit.seconds
    return write_run(folder, manifest, instance, lambda whole: _write_files(plan, instance, whole), seconds)


def _write_files(plan: Plan, instance: Instance, folder: Path) -> None:
    (folder / PLAN).write_text(plan.to_json(), encoding="utf-8")
    pd.DataFrame([dict(choice) for choice in plan.decisions.zones]).assign(
        checkpoint_plan=plan.decisions.checkpoint_plan
    ).rename(columns={"gpu_limit": "gpu_limit_kw"}).to_csv(folder / "decisions.csv", index=False)
    plan.evaluation.score_table().to_csv(folder / "score.csv", index=False)
    plan.evaluation.losses_table().to_csv(folder / "losses.csv", index=False)
    plan.evaluation.limits_table().to_csv(folder / "limits.csv", index=False)
    if plan.audit is not None:
        _write_audit(plan.audit, instance, folder)


def _write_audit(audit: Audit, instance: Instance, folder: Path) -> None:
    table = audit.candidates.copy()
    for column, names in (
        ("zone", [zone.name for zone in instance.zones]),
        ("design", [design.name for design in instance.designs]),
        ("repair_plan", [plan.name for plan in instance.repair_plans]),
    ):
        table[column] = table[column].map(dict(enumerate(names)))
    table.insert(0, "candidate", table.index)
    kept = table["dominated_by"] < 0
    table[kept].drop(columns="dominated_by").to_csv(folder / "candidates.csv", index=False)
    columns = ["candidate", "dominated_by", *DECISIONS]
    table.loc[~kept, columns].to_csv(folder / "dominated.csv", index=False)
    if audit.model is not None:  # None where the linear relaxation alone closed the gap: there was no MILP
        with redirect_stdout(io.StringIO()):
            audit.model.write(str(folder / "model.lp"), io_options={"symbolic_solver_labels": True})
    (folder / "solver.log").write_text(audit.log, encoding="utf-8")


def read_plan(source: str | Path) -> Plan:
    """A plan from its folder or its plan.json.  Raises InputError."""
    return read_result(Plan, source, PLAN, "a plan")
