"""Staged plans on disk: a folder with the plan, its tables by quarter, the instance, the last MILP and the log."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from spareopt.folders import fingerprints, json_text, read_result, write_folder
from spareopt.instance import Instance
from spareopt.pictures import can_draw
from spareopt.staging.plan import StagedPlan
from spareopt.store import TIMED

STAGED = "staged.json"


def write_staged(plan: StagedPlan, instance: Instance, folder: str | Path) -> Path:
    """Write a folder of a staged plan; it appears complete or not at all.

    ``instance`` is the one that the plan is of.  Raises InputError where something stands there already.
    """

    def fill(whole: Path) -> None:
        (whole / STAGED).write_text(plan.to_json(), encoding="utf-8")
        (whole / "instance.json").write_text(json_text(instance.resolved()), encoding="utf-8")
        plan.quarters_table().to_csv(whole / "quarters.csv", index=False)
        plan.zones_table().to_csv(whole / "zones.csv", index=False)
        plan.orders_table().to_csv(whole / "orders.csv", index=False)
        _limits(plan).to_csv(whole / "limits.csv", index=False)
        if can_draw():
            from spareopt.staging.pictures import draw_staged  # noqa: PLC0415

            draw_staged(plan, whole / "staged.svg")
        seconds = 0.0
        if plan.audit is not None:
            seconds = plan.audit.seconds
            if plan.audit.model is not None:
                with redirect_stdout(io.StringIO()):
                    plan.audit.model.write(str(whole / "model.lp"), io_options={"symbolic_solver_labels": True})
            (whole / "solver.log").write_text(plan.audit.log, encoding="utf-8")
        manifest = {
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "status": plan.certificate.status,
            "seconds": round(seconds, 3),
            "sha256": fingerprints((file for file in sorted(whole.iterdir()) if file.name not in TIMED), whole),
        }
        (whole / "manifest.json").write_text(json_text(manifest), encoding="utf-8")

    return write_folder(folder, fill)


def _limits(plan: StagedPlan) -> pd.DataFrame:
    """The slack to every limit in every quarter, with its unit."""
    rows = [
        {"quarter": quarter.quarter, **slack.model_dump()}
        for quarter in plan.score.quarters
        if quarter.evaluation is not None
        for slack in quarter.evaluation.limits
    ]
    return pd.DataFrame(rows, columns=["quarter", "limit", "unit", "sense", "value", "bound", "slack"])


def read_staged(source: str | Path) -> StagedPlan:
    """A staged plan from its folder or its staged.json.  Raises InputError."""
    return read_result(StagedPlan, source, STAGED, "a staged plan")
