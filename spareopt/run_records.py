"""The runs below a folder: a row for each result folder, by its manifest, newest first."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pandas as pd

from spareopt.errors import Fault, InputError
from spareopt.manifest import MANIFEST, Manifest, RunStatus, changed_files, read_manifest
from spareopt.record import Frozen, Result


class RunRow(Frozen):
    """A run, as its manifest tells."""

    run: str
    """Its folder."""
    kind: str
    instance: str
    status: RunStatus
    objective: str | None
    unit: str | None
    value: float | None
    bound: float | None
    gap: float | None
    seed: int | None
    written: str
    """UTC."""
    seconds: float | None
    """Of all phases; None where none was measured."""
    applied: str
    """Scenarios and overrides, with semicolons."""
    options: str
    """JSON."""
    input_hash: str
    spareopt: str | None
    """Version."""
    why: str


class Skipped(Frozen):
    """A file called manifest.json that tells of no run."""

    file: str
    """Where it is."""
    why: str
    """Why it was skipped."""


class FileChange(Frozen):
    """A file of a run that is not as it was written."""

    run: str
    """The folder of the run."""
    file: str
    """Within it."""
    change: str
    """changed, missing, or why it can't be read."""


class RunList(Result):
    """The runs found, newest first, and what was skipped."""

    schema_version: Literal[1] = 1
    runs: tuple[RunRow, ...]
    """Newest first."""
    skipped: tuple[Skipped, ...]
    """Files that tell of no run."""
    changed: tuple[FileChange, ...] | None = None
    """Files that are not as they were written; None where they were not looked at."""

    def table(self) -> pd.DataFrame:
        """A row per run."""
        frame = pd.DataFrame([row.model_dump() for row in self.runs], columns=list(RunRow.model_fields))
        numbers = {name: float for name in ("value", "bound", "gap", "seconds")} | {"seed": "Int64"}
        frame = frame.astype(numbers)
        frame["written"] = pd.to_datetime(frame["written"], utc=True).dt.tz_localize(None)
        return frame


def list_runs(*folders: str | Path, check: bool = False) -> RunList:
    """The result folders below some folders.  ``check``: also hold every file against its hash.

    Folders whose names begin with a dot are passed over, links are not followed, and nothing below a run is looked at.
    Raises InputError where a folder does not exist.
    """
    found: dict[str, Manifest] = {}
    skipped = []
    for folder in folders:
        for file in _manifests(Path(folder)):
            try:
                found[str(file.parent)] = read_manifest(file)
            except InputError as error:
                skipped.append(Skipped(file=str(file), why=error.faults[0].message))
    changed = None
    if check:
        changed = tuple(
            FileChange(run=run, file=file, change=change)
            for run, manifest in sorted(found.items())
            for file, change in changed_files(run, manifest).items()
        )
    newest = sorted(sorted(found), key=lambda run: found[run].written, reverse=True)
    return RunList(runs=tuple(_row(run, found[run]) for run in newest), skipped=tuple(skipped), changed=changed)


def _manifests(folder: Path) -> Iterator[Path]:
    """The manifests at and below a folder.  Raises InputError where there is no such folder."""
    if not folder.is_dir():
        message = "is no folder" if folder.exists() else "no such folder; expected one that holds runs"
        raise InputError(str(folder) or "''", [Fault("", message)])
    for path, below, files in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        if MANIFEST in files:
            below[:] = []
            yield Path(path) / MANIFEST


def _row(run: str, manifest: Manifest) -> RunRow:
    same = {name: getattr(manifest, name) for name in RunRow.model_fields if name in Manifest.model_fields}
    return RunRow(
        **same
        | {
            "run": run,
            "seconds": round(sum(manifest.seconds.values()), 3) if manifest.seconds else None,
            "applied": "; ".join(manifest.applied),
            "options": json.dumps(manifest.options, ensure_ascii=False),
            "spareopt": manifest.versions.get("spareopt"),
        }
    )
