"""The manifest of a result folder: what was asked, with which versions, what came of it, and a hash of each file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import Field, ValidationError

from spareopt.errors import Fault, InputError
from spareopt.folders import fingerprint, fingerprints, json_text, write_folder
from spareopt.instance import Instance
from spareopt.plan import INTERRUPTED, LIMIT_REACHED, PROVEN, ProofStatus, Provenance
from spareopt.record import Result

MANIFEST, INSTANCE = "manifest.json", "instance.json"
UNHASHED = (MANIFEST, "solver.log", "journal.jsonl")
"""Files of a folder that hold times or the order of the work; all others are hashed, and the same bytes for the same
input, versions, options and seed."""
RunStatus = Literal["proven", "done", "limit reached", "interrupted", "infeasible"]
DONE: RunStatus = "done"
INFEASIBLE: RunStatus = "infeasible"
FINAL: tuple[RunStatus, ...] = (PROVEN, DONE, INFEASIBLE)
"""Statuses of runs that nothing is left to be found of."""


class Manifest(Result):
    """What a result folder holds and where it comes from; independent of the machine but for its times."""

    manifest_version: Literal[1] = 1
    kind: str
    """The command that made the result, such as solve; simulate-against for two plans under the same faults."""
    result: str | None
    """The file that holds the whole result; None where there is none, such as of an infeasible instance."""
    instance: str
    input_hash: str
    """SHA-256 of the resolved instance, which is instance.json."""
    applied: tuple[str, ...] = ()
    options: dict[str, Any]
    seed: int | None = None
    versions: dict[str, str]
    question: str | None = None
    """SHA-256 of all that was asked, of a run that is kept in a runs folder."""
    status: RunStatus
    why: str = ""
    """Why there is no result, where there is none."""
    objective: str | None = None
    unit: str | None = None
    """Of ``value`` and ``bound``."""
    value: float | None = None
    """The headline number of the result, where it has one: the objective of its plan."""
    bound: float | None = None
    gap: float | None = None
    written: str = ""
    """When, UTC."""
    seconds: dict[str, float] = Field(default_factory=dict)
    """By phase, as far as they were measured."""
    sha256: dict[str, str] = Field(default_factory=dict)
    """Of each file of the folder, by its path, but for those that hold times."""


class _Proof(Protocol):
    """What every certificate says."""

    @property
    def status(self) -> ProofStatus: ...
    @property
    def unit(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def bound(self) -> float: ...
    @property
    def gap(self) -> float: ...


def manifest_of_plan(kind: str, result: str, made: Provenance, proof: _Proof, objective: str) -> Manifest:
    """The manifest of a plan with its proof, as far as it is known before the folder is written."""
    return Manifest(
        kind=kind,
        result=result,
        instance=made.instance,
        input_hash=made.input_hash,
        applied=made.applied,
        options=made.options,
        seed=made.seed,
        versions=made.versions,
        status=proof.status,
        objective=objective,
        unit=proof.unit,
        value=proof.value,
        bound=proof.bound,
        gap=proof.gap,
    )


def write_run(
    folder: str | Path,
    manifest: Manifest,
    instance: Instance,
    fill: Callable[[Path], None] = lambda _: None,
    seconds: Mapping[str, float] | None = None,
) -> Path:
    """Write the folder of a result: what ``fill`` writes, instance.json and the manifest.

    The folder appears complete or not at all.  Raises InputError where something stands there, and where the result is
    of another instance.
    """
    if instance.input_hash() != manifest.input_hash:
        message = f"can't be written: the result is of another instance than this {instance.name}"
        raise InputError(str(folder), [Fault("", message)])

    def whole(path: Path) -> None:
        fill(path)
        (path / INSTANCE).write_text(instance_text(instance), encoding="utf-8")
        (path / MANIFEST).write_text(sealed(manifest, path, seconds=seconds).to_json(), encoding="utf-8")

    return write_folder(folder, whole)


def instance_text(instance: Instance) -> str:
    """The instance as it was solved, changes applied: the text of instance.json."""
    return json_text(instance.resolved())


def sealed(
    manifest: Manifest, folder: Path, files: Iterable[Path] | None = None, seconds: Mapping[str, float] | None = None
) -> Manifest:
    """The manifest with the time and the hash of each file; of all below the folder when ``files`` is left out."""
    if files is None:
        files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name not in UNHASHED)
    return manifest.model_copy(
        update={
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": {name: round(value, 3) for name, value in (seconds or {}).items()},
            "sha256": fingerprints(files, folder),
        }
    )


def solves_status(interrupted: bool, statuses: Iterable[str]) -> RunStatus:
    """The status of a result of many solves: that some point is infeasible is an answer, too."""
    if interrupted:
        return INTERRUPTED
    return PROVEN if all(status in (PROVEN, INFEASIBLE) for status in statuses) else LIMIT_REACHED


def read_manifest(source: str | Path) -> Manifest:
    """The manifest of a result folder, or from its file.  Raises InputError."""
    path = Path(source)
    path = path / MANIFEST if path.is_dir() else path
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(str(path), [Fault("", f"can't be read: {error.strerror or error}")]) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        message = "is not a manifest that this spareopt wrote"
        raise InputError(str(path), [Fault("", f"{message} ({field + ': ' if field else ''}{first['msg']})")]) from None


def changed_files(folder: str | Path, manifest: Manifest) -> dict[str, str]:
    """The files of a result folder that are not as they were written: "changed", "missing" or "can't be read"."""
    found = {}
    for name, known in manifest.sha256.items():
        try:
            if fingerprint(Path(folder) / name) != known:
                found[name] = "changed"
        except (FileNotFoundError, NotADirectoryError):
            found[name] = "missing"
        except (OSError, ValueError) as error:
            found[name] = f"can't be read: {error}"
    return found
