"""Staged plans on disk: a folder with the plan, its tables by quarter, the picture, the model and the log."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import pandas as pd

from spareopt.folders import read_result
from spareopt.instance import Instance
from spareopt.manifest import Manifest, write_run
from spareopt.pictures import can_draw
from spareopt.staging.picture import draw_staged
from spareopt.staging.plan import StagedPlan
from spareopt.store import read_with_instance

STAGED, PICTURE = "staged.json", "quarters.svg"


def write_staged(plan: StagedPlan, instance: Instance, folder: str | Path) -> Path:
    """Write the folder of a staged plan; it appears complete or not at all.

    The picture needs matplotlib and is left out without it; the model and the log are those of a plan solved in this
    process.  Raises InputError where something stands there.
    """
    certificate, made = plan.certificate, plan.provenance
    manifest = Manifest(
        kind="staged",
        result=STAGED,
        instance=made.instance,
        input_hash=made.input_hash,
        applied=made.applied,
        options=made.options,
        seed=made.seed,
        versions=made.versions,
        status=certificate.status,
        objective=f"staged {certificate.objective}",
        unit=certificate.unit,
        value=certificate.value,
        bound=certificate.bound,
        gap=certificate.gap,
    )
    seconds = {} if plan.audit is None else {"total": plan.audit.seconds}
    return write_run(folder, manifest, instance, lambda whole: _write_files(plan, instance, whole), seconds)


def _write_files(plan: StagedPlan, instance: Instance, folder: Path) -> None:
    (folder / STAGED).write_text(plan.to_json(), encoding="utf-8")
    plan.quarters_table().to_csv(folder / "quarters.csv", index=False)
    plan.zones_table().to_csv(folder / "zones.csv", index=False)
    purchases_table(plan, instance).to_csv(folder / "purchases.csv", index=False)
    losses_table(plan).to_csv(folder / "losses.csv", index=False)
    limits_table(plan).to_csv(folder / "limits.csv", index=False)
    if can_draw():
        draw_staged(plan, instance, folder / PICTURE)
    audit = plan.audit
    if audit is None:
        return
    if audit.model is not None:  # None where the bound closed the gap without a MILP
        with redirect_stdout(io.StringIO()):
            audit.model.write(str(folder / "model.lp"), io_options={"symbolic_solver_labels": True})
    (folder / "solver.log").write_text(audit.log, encoding="utf-8")


def purchases_table(plan: StagedPlan, instance: Instance) -> pd.DataFrame:
    """A row for each order: when it is placed and arrives, what, how many, what is paid (in the currency)."""
    horizon = instance.horizon
    assert horizon is not None
    rows = []
    for t, quarter in enumerate(plan.score.quarters):
        for order in quarter.orders:
            rows.append((quarter.quarter, "racks", order.design, order.racks, order.delivered, order.paid))
        if quarter.shelf_ordered:
            there = horizon.labels()[t + horizon.lead_time.shelf]
            rest = quarter.paid - sum(order.paid for order in quarter.orders)
            rows.append((quarter.quarter, "shelf trays", "", quarter.shelf_ordered, there, rest))
    return pd.DataFrame(rows, columns=["ordered", "what", "design", "number", "delivered", "paid"])


def losses_table(plan: StagedPlan) -> pd.DataFrame:
    """A row for each quarter in which the job runs and each loss: the share of all GPU-hours and the GPUs it is."""
    tables = [
        quarter.evaluation.losses_table().assign(quarter=quarter.quarter)
        for quarter in plan.score.quarters
        if quarter.evaluation is not None
    ]
    return pd.concat(tables, ignore_index=True)[["quarter", "loss", "share", "gpus"]]


def limits_table(plan: StagedPlan) -> pd.DataFrame:
    """A row for each quarter in which the job runs and each limit: where the plan stands and how much is left."""
    tables = [
        quarter.evaluation.limits_table().assign(quarter=quarter.quarter)
        for quarter in plan.score.quarters
        if quarter.evaluation is not None
    ]
    return pd.concat(tables, ignore_index=True)[["quarter", "limit", "unit", "sense", "value", "bound", "slack"]]


def read_staged(source: str | Path) -> StagedPlan:
    """A staged plan from its folder or its staged.json.  Raises InputError."""
    return read_result(StagedPlan, source, STAGED, "a staged plan")


def read_staged_solved(folder: str | Path) -> tuple[StagedPlan, Instance]:
    """A staged plan from its folder, with the instance that it was made from.  Raises InputError."""
    return read_with_instance(folder, STAGED, read_staged, "spareopt staged INSTANCE -o FOLDER")
