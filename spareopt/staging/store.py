"""Staged plans on disk: a folder with the plan, its tables by quarter, the picture, the model and the log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from spareopt.evaluation import Evaluation
from spareopt.folders import read_result
from spareopt.instance import Instance
from spareopt.manifest import manifest_of_plan, write_run
from spareopt.staging.picture import draw_staged
from spareopt.staging.plan import StagedPlan
from spareopt.store import read_with_instance, write_model

STAGED, PICTURE = "staged.json", "quarters.svg"


def write_staged(plan: StagedPlan, instance: Instance, folder: str | Path) -> Path:
    """Write the folder of a staged plan; it appears complete or not at all.

    The model and the log are those of a plan solved in this process.  Raises InputError where something stands there.
    """
    certificate = plan.certificate
    manifest = manifest_of_plan("staged", STAGED, plan.provenance, certificate, f"staged {certificate.objective}")
    seconds = {} if plan.audit is None else {"total": plan.audit.seconds}
    return write_run(folder, manifest, instance, lambda whole: _write_files(plan, instance, whole), seconds)


def _write_files(plan: StagedPlan, instance: Instance, folder: Path) -> None:
    (folder / STAGED).write_text(plan.to_json(), encoding="utf-8")
    plan.quarters_table().to_csv(folder / "quarters.csv", index=False)
    plan.zones_table().to_csv(folder / "zones.csv", index=False)
    purchases_table(plan, instance).to_csv(folder / "purchases.csv", index=False)
    losses_table(plan).to_csv(folder / "losses.csv", index=False)
    limits_table(plan).to_csv(folder / "limits.csv", index=False)
    draw_staged(plan, instance, folder / PICTURE)
    if plan.audit is not None:
        write_model(plan.audit.model, plan.audit.log, folder)


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
    return _by_quarter(plan, Evaluation.losses_table)[["quarter", "loss", "share", "gpus"]]


def limits_table(plan: StagedPlan) -> pd.DataFrame:
    """A row for each quarter in which the job runs and each limit: where the plan stands and how much is left."""
    return _by_quarter(plan, Evaluation.limits_table)[["quarter", "limit", "unit", "sense", "value", "bound", "slack"]]


def _by_quarter(plan: StagedPlan, table: Callable[[Evaluation], pd.DataFrame]) -> pd.DataFrame:
    """A table of the evaluation of every quarter in which the job runs, below each other."""
    tables = [
        table(quarter.evaluation).assign(quarter=quarter.quarter)
        for quarter in plan.score.quarters
        if quarter.evaluation is not None
    ]
    return pd.concat(tables, ignore_index=True)


def read_staged(source: str | Path) -> StagedPlan:
    """A staged plan from its folder or its staged.json.  Raises InputError."""
    return read_result(StagedPlan, source, STAGED, "a staged plan")


def read_staged_solved(folder: str | Path) -> tuple[StagedPlan, Instance]:
    """A staged plan from its folder, with the instance that it was made from.  Raises InputError."""
    return read_with_instance(folder, STAGED, read_staged, "spareopt staged INSTANCE -o FOLDER")
