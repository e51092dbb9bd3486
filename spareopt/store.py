"""Plans on disk: a folder with the plan, its tables, the model and the log, written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
from pydantic import ValidationError

from spareopt.candidates import DECISIONS
from spareopt.errors import Fault, InputError
from spareopt.instance import Instance
from spareopt.plan import Audit, Plan

TIMED = ("manifest.json", "solver.log")
"""The files that hold times; all others are the same bytes for the same input, versions and seed."""


def check_new_folder(folder: str | Path) -> Path:
    """The path of a folder that can be written without losing anything.  Raises InputError."""
    path = Path(folder)
    parent = path.absolute().parent
    message = ""
    try:
        if not str(folder).strip() or "\0" in str(folder):
            message = "expected the name of a new folder"
        elif path.is_symlink():
            message = "is a link; name a new folder"
        elif path.exists() and (not path.is_dir() or any(path.iterdir())):
            message = "already exists; name a new folder, or move the old one away"
        elif not path.name or path.name == "..":
            message = "expected the name of a new folder"
        elif not parent.is_dir():
            message = f"its parent folder {parent} does not exist; make it first"
        elif not os.access(parent, os.W_OK | os.X_OK):
            message = f"its parent folder {parent} can't be written to"
    except OSError as error:  # such as a name too long
        message = f"can't be a folder: {error.strerror or error}"
    if message:
        raise InputError(str(folder)[:200] or "''", [Fault("", message)])
    return path


def write_folder(folder: str | Path, fill: Callable[[Path], None]) -> Path:
    """Write a folder, which appears complete or not at all.  Raises InputError where something stands there."""
    path = check_new_folder(folder)
    try:
        with tempfile.TemporaryDirectory(prefix=".spareopt-", dir=path.absolute().parent) as scratch:
            whole = Path(scratch) / "whole"
            whole.mkdir()
            fill(whole)
            if path.exists():
                path.rmdir()  # refuses a folder that has been filled meanwhile
            whole.rename(path)
    except OSError as error:
        raise InputError(str(folder), [Fault("", f"can't be written: {error.strerror or error}")]) from None
    return path


def write_plan(plan: Plan, instance: Instance, folder: str | Path) -> Path:
    """Write a plan folder; it appears complete or not at all.  Raises InputError where something stands there."""
    return write_folder(folder, lambda whole: _write_files(plan, instance, whole))


def _write_files(plan: Plan, instance: Instance, folder: Path) -> None:
    (folder / "plan.json").write_text(plan.to_json(), encoding="utf-8")
    resolved = json.dumps(instance.resolved(), indent=2, ensure_ascii=False) + "\n"
    (folder / "instance.json").write_text(resolved, encoding="utf-8")
    pd.DataFrame([dict(choice) for choice in plan.decisions.zones]).assign(
        checkpoint_plan=plan.decisions.checkpoint_plan
    ).rename(columns={"gpu_limit": "gpu_limit_kw"}).to_csv(folder / "decisions.csv", index=False)
    plan.evaluation.score_table().to_csv(folder / "score.csv", index=False)
    plan.evaluation.losses_table().to_csv(folder / "losses.csv", index=False)
    plan.evaluation.limits_table().to_csv(folder / "limits.csv", index=False)
    seconds: dict[str, float] = {}
    if plan.audit is not None:
        seconds = plan.audit.seconds
        _write_audit(plan.audit, instance, folder)
    files = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.iterdir())
        if file.name not in TIMED
    }
    manifest = {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "status": plan.certificate.status,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "sha256": files,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


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
    path = Path(source)
    path = path / "plan.json" if path.is_dir() else path
    try:
        return Plan.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(path), [Fault("", f"can't be read: {error.strerror or error}")]) from None
    except (ValidationError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise InputError(str(path), [Fault("", f"is not a plan that spareopt wrote ({first})")]) from None
