"""Plans on disk: a folder with the plan, its tables, the model and the log."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pandas as pd

from spareopt.candidates import DECISIONS
from spareopt.errors import Fault, InputError
from spareopt.folders import read_result
from spareopt.instance import Instance, hash_of
from spareopt.manifest import INSTANCE, manifest_of_plan, read_manifest, write_run
from spareopt.plan import Audit, Plan, Provenance
from spareopt.reading import read_instance

PLAN = "plan.json"


def write_plan(plan: Plan, instance: Instance, folder: str | Path) -> Path:
    """Write a plan folder; it appears complete or not at all.  Raises InputError where something stands there."""
    certificate = plan.certificate
    manifest = manifest_of_plan("solve", PLAN, plan.provenance, certificate, certificate.objective)
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
    write_model(audit.model, audit.log, folder)


def write_model(model: Any, log: str, folder: Path) -> None:
    """Write the last MILP as ``model.lp``, unless it is None, and the solver's log: there is none where the linear
    relaxation alone closed the gap."""
    if model is not None:
        with redirect_stdout(io.StringIO()):
            model.write(str(folder / "model.lp"), io_options={"symbolic_solver_labels": True})
    (folder / "solver.log").write_text(log, encoding="utf-8")


def read_plan(source: str | Path) -> Plan:
    """A plan from its folder or its plan.json.  Raises InputError."""
    return read_result(Plan, source, PLAN, "a plan")


def read_solved(folder: str | Path) -> tuple[Plan, Instance]:
    """A plan from its folder, with the instance that it was made from.  Raises InputError.

    The instance is checked against the hash in the plan; its scenarios are not known any more.
    """
    return read_with_instance(folder, PLAN, read_plan, "spareopt solve INSTANCE -o FOLDER")


class _Made(Protocol):
    """A result that says where it comes from."""

    @property
    def provenance(self) -> Provenance: ...


M = TypeVar("M", bound=_Made)


def read_with_instance(folder: str | Path, name: str, read: Callable[[Path], M], command: str) -> tuple[M, Instance]:
    """A result from the file ``name`` of its folder, with the instance that it was made from.  Raises InputError.

    ``command`` is what writes such a folder.  The instance is checked against the hash in the result.
    """
    path = Path(folder)
    how = f"write one with {command}"
    try:
        there = path.is_dir()
        missing = [file for file in (name, INSTANCE) if there and not (path / file).is_file()]
    except (OSError, ValueError) as error:  # a name too long, or with a NUL
        raise InputError(str(folder)[:200], [Fault("", f"can't be a folder: {error}")]) from None
    if not there:
        what = "is a file" if path.exists() else "no such folder"
        message = f"{what}; expected a folder that holds {name} and instance.json: {how}"
        raise InputError(str(folder) or "''", [Fault("", message)])
    if missing:
        other = _made_by(path) if name in missing else None
        named = other is not None and f"spareopt {other} " not in command  # the kind asked for, without its file
        what = f"was written by spareopt {other}" if named else f"has no {' and no '.join(missing)}"
        message = f"{what}; expected a folder that holds {name} and instance.json: {how}"
        raise InputError(str(folder), [Fault("", message)])
    result, file = read(path), path / INSTANCE
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(str(file), [Fault("", f"is not JSON: {error}")]) from None
    if hash_of(data) != result.provenance.input_hash:
        message = f"is not the instance that {name} was made from (its hash is another); solve it again into a folder"
        raise InputError(str(file), [Fault("", message)])
    instance = read_instance(file)
    instance._applied = result.provenance.applied
    return result, instance


def _made_by(folder: Path) -> str | None:
    """The command whose result a folder holds whole, where its manifest says so."""
    try:
        manifest = read_manifest(folder)
    except InputError:
        return None
    return None if manifest.result is None else manifest.kind
