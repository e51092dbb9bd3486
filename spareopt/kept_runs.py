"""Runs kept in a folder: what was asked before is read back, and what is new is put beside it whole or not at all.

Any number of processes, on any machines that share the folder, may keep runs in it at once.  There is no lock: a run is
written to a scratch folder beside the others and appears by one rename, which the file system does as a whole and
refuses where another run stands.  Who comes second finds a run as good and drops its own.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from spareopt.errors import Fault, InfeasibleError, InputError
from spareopt.instance import Instance
from spareopt.manifest import (
    FINAL,
    INFEASIBLE,
    MANIFEST,
    UNHASHED,
    Manifest,
    changed_files,
    read_manifest,
    write_run,
)
from spareopt.plan import LIMIT_REACHED

R = TypeVar("R")

SCRATCH = ".spareopt-"
"""How the names of scratch folders begin, which are no runs."""
STALE = 3600.0
"""s after which a scratch folder is one that a killed process left: a run is written there within seconds."""
DIGITS = 12
"""Hexadecimal digits of the question in a run's name."""
Rank = tuple[int, float]
MOST_TRIES, MOST_WRITES = 100, 3
PAUSE = 0.01
"""s between two tries to read a run that another process is at work on."""
STANDS = (errno.ENOTEMPTY, errno.EEXIST)
"""What a rename onto a folder with something in it ends with."""


@dataclass(frozen=True)
class Kept(Generic[R]):
    """A result with the run that holds it."""

    result: R
    folder: Path
    manifest: Manifest
    found: bool
    """Whether it was there before; False where it was made now."""


class NotKeptError(InputError):
    """A result that could not be written to the runs folder; it is at hand as ``result``."""

    def __init__(self, error: InputError, result: Any) -> None:
        super().__init__(error.source, error.faults)
        self.result = result


@dataclass(frozen=True)
class Question:
    """All that a run's result depends on, and what made it so."""

    kind: str
    instance: Instance
    options: Mapping[str, Any]
    """JSON data."""
    seed: int
    versions: Mapping[str, str]

    def digest(self) -> str:
        """SHA-256 of the question.  Changes that lead to the same instance in other words ask something else."""
        data = {
            "kind": self.kind,
            "input_hash": self.instance.input_hash(),
            "applied": list(self.instance.applied),
            "options": self.options,
            "seed": self.seed,
            "versions": self.versions,
        }
        text = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def run_name(question: Question) -> str:
    """The name of a run: instance, kind and the first digits of the question's digest."""
    name = re.sub(r"[^\w.-]", "-", question.instance.name)
    return f"{name}-{question.kind}-{question.digest()[:DIGITS]}"


def kept(
    runs: str | Path,
    question: Question,
    make: Callable[[], R],
    write: Callable[[R, Path], Path],
    read: Callable[[Path], R],
) -> Kept[R]:
    """The result of a question: read back where its run is there, whole and final; else made, and kept.

    ``make`` gives the result, ``write`` writes its folder with a manifest, ``read`` reads that back.  That an instance
    is infeasible is kept, too.  A run that was interrupted or reached a limit is made again; what is better stays.
    Raises InputError where ``runs`` can't be a folder of runs, NotKeptError (with the result) where it can't be
    written, InfeasibleError (found or new), and what ``make`` raises.
    """
    store = check_runs(runs)
    folder = store / run_name(question)
    there = _found(folder, question.digest(), read)
    if there is not None:
        return there
    began = time.perf_counter()
    try:
        result = make()
    except InfeasibleError as error:
        manifest = _infeasible(question, str(error))
        try:
            _keep(folder, question, lambda path: write_run(path, manifest, question.instance))
        except InputError as not_kept:  # the answer stands all the same
            raise InfeasibleError(f"{error}\n{not_kept}") from None
        raise
    seconds = round(time.perf_counter() - began, 3)
    try:
        for _ in range(MOST_WRITES):
            least = _keep(folder, question, lambda path: write(result, path), seconds)
            run = _read_back(folder, question.digest(), least, read)
            if run is not None:
                return run
    except InputError as error:
        raise NotKeptError(error, result) from None
    gone = InputError(str(folder), [Fault("", "was taken away by another process each time it was written; try again")])
    raise NotKeptError(gone, result)


def _read_back(folder: Path, digest: str, least: Rank, read: Callable[[Path], R]) -> Kept[R] | None:
    """What is kept: a run as good as ``least``, at times a better one that came first; None where it does not come.

    Another process may have taken it for a moment, before it sees that it is better than its own and puts it back.
    """
    for _ in range(MOST_TRIES):
        with suppress(InputError):
            if _rank(folder, digest) >= least:
                before, result, after = read_manifest(folder), read(folder), read_manifest(folder)
                if before == after and _rank_of(after) >= least:
                    return Kept(result, folder, after, found=False)
        time.sleep(PAUSE)
    return None


def _infeasible(question: Question, why: str) -> Manifest:
    """The manifest of a question that has no result, as is proven."""
    return Manifest(
        kind=question.kind,
        result=None,
        instance=question.instance.name,
        input_hash=question.instance.input_hash(),
        applied=question.instance.applied,
        options=dict(question.options),
        seed=question.seed,
        versions=dict(question.versions),
        status=INFEASIBLE,
        why=why,
    )


def check_runs(runs: str | Path) -> Path:
    """The path of a folder of runs, made where it is not there yet.  Raises InputError."""
    path = Path(runs)
    message = ""
    try:
        if not str(runs).strip() or "\0" in str(runs):
            message = "expected the name of a folder for runs"
        elif path.is_dir():
            if (path / MANIFEST).exists():
                message = "is itself a run; name the folder that holds runs, or a new one"
        else:
            path.mkdir(exist_ok=True)
    except FileNotFoundError:
        message = f"its parent folder {path.absolute().parent} does not exist; make it first"
    except FileExistsError:
        message = "is a file; name a folder for runs"
    except OSError as error:
        message = f"can't be a folder for runs: {error.strerror or error}"
    if message:
        raise InputError(str(runs)[:200] or "''", [Fault("", message)])
    return path


def _found(folder: Path, digest: str, read: Callable[[Path], R]) -> Kept[R] | None:
    """The run of a question, where it is there, whole and final.  Raises InfeasibleError where that is the answer."""
    if _rank(folder, digest)[0] < len(LADDER):
        return None
    try:
        manifest = read_manifest(folder)
        if manifest.status == INFEASIBLE:
            raise InfeasibleError(manifest.why)
        return Kept(read(folder), folder, manifest, found=True)
    except InputError:  # moved or changed this very moment
        return None


LADDER = ("interrupted", LIMIT_REACHED)
"""Statuses of runs that are made again, the worse first."""


def _rank(folder: Path, digest: str) -> Rank:
    """How good the run in a folder is: of the question and whole at all, then by its status, then by its gap."""
    try:
        manifest = read_manifest(folder)
    except InputError:
        return -1, 0.0
    if manifest.question != digest or changed_files(folder, manifest):
        return -1, 0.0
    return _rank_of(manifest)


def _rank_of(manifest: Manifest) -> Rank:
    """How good a whole run is."""
    gap = math.inf if manifest.gap is None else manifest.gap
    return (len(LADDER), 0.0) if manifest.status in FINAL else (LADDER.index(manifest.status), -gap)


def _keep(folder: Path, question: Question, write: Callable[[Path], object], seconds: float | None = None) -> Rank:
    """Write a run to scratch, and put it in its place unless one as good stands there; how good it is.

    Raises InputError.
    """
    digest = question.digest()
    try:
        scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=folder.parent))
        try:
            new = scratch / folder.name
            write(new)
            manifest = read_manifest(new).model_copy(update={"question": digest})
            if not manifest.seconds and seconds is not None:
                manifest = manifest.model_copy(update={"seconds": {"total": seconds}})
            (new / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
            _put(new, folder, digest, scratch)
            return _rank_of(manifest)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise InputError(str(folder), [Fault("", f"can't be written: {error.strerror or error}")]) from None


def _put(new: Path, folder: Path, digest: str, scratch: Path) -> None:
    """Put a run in its place, from where one that is worse is taken first.

    What is taken away is looked at once more, where nobody else can reach it: if it became better meanwhile, it is put
    back instead.
    """
    taken: list[Path] = []
    try:
        for number in range(MOST_TRIES):
            try:
                new.rename(folder)
                return
            except OSError as error:
                if error.errno not in STANDS:
                    raise
            if _rank(folder, digest) >= _rank(new, digest):
                return
            old = scratch / f"{number}" / folder.name
            old.parent.mkdir()
            try:
                folder.rename(old)
            except FileNotFoundError:  # another process takes it at this moment
                continue
            if _rank(old, digest) > _rank(new, digest):
                new, old = old, new
            taken.append(old)
        raise OSError(errno.EBUSY, f"{MOST_TRIES} times another process was at work on it; try again")
    finally:
        for run in (new, *reversed(taken)):
            if run.exists():
                _lay_aside(run, folder, digest)


def _lay_aside(old: Path, folder: Path, digest: str) -> None:
    """Back to its place where that is empty, after an error; beside it where somebody changed or added a file."""
    with suppress(OSError):
        if not folder.exists():
            old.rename(folder)
            return
    if _nothing_of_others(old, digest):
        return
    number = 1
    while True:
        try:
            old.rename(folder.with_name(f"{folder.name}.changed-{number}"))
            return
        except OSError as error:
            if error.errno not in STANDS:
                raise
            number += 1


def _nothing_of_others(folder: Path, digest: str) -> bool:
    """Whether a folder holds a run of the question as it was written, and nothing else."""
    if _rank(folder, digest)[0] < 0:
        return False
    manifest = read_manifest(folder)
    known = {*manifest.sha256, *UNHASHED}
    files = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if not file.is_dir()}
    return files <= known


def clean(runs: str | Path, *, older_than: float = STALE) -> tuple[list[Path], list[Path]]:
    """Take away the scratch files and folders that killed processes left in a folder of runs, so many seconds ago.

    Also those in the folders below, but for what lies in a run.  A whole run in one of them goes to its place where
    nothing stands there.  Returns the runs put in their place, and what was taken away.  Raises InputError.
    """
    saved, gone = [], []
    try:
        for scratch in _scratches(runs):
            if time.time() - _last_change(scratch) < older_than:
                continue
            if not scratch.is_dir():
                scratch.unlink()
                gone.append(scratch)
                continue
            found = [file.parent for file in scratch.rglob(MANIFEST)]
            for run in sorted(found, key=lambda run: _rank(run, _question_of(run)), reverse=True):
                place = scratch.parent / run.name
                if _rank(run, _question_of(run))[0] >= 0 and not place.exists():
                    run.rename(place)
                    saved.append(place)
            shutil.rmtree(scratch)
            gone.append(scratch)
    except OSError as error:
        raise InputError(str(runs), [Fault("", f"can't be cleaned: {error}")]) from None
    return saved, gone


def _scratches(runs: str | Path) -> list[Path]:
    """All scratch files and folders in and below a folder of runs, wherever its runs are listed from."""
    found = []
    for path, below, files in os.walk(runs):
        if MANIFEST in files:
            below[:] = []
            continue
        found += [Path(path) / name for name in (*below, *files) if name.startswith(SCRATCH)]
        below[:] = [name for name in below if not name.startswith(".")]
    return sorted(found)


def _question_of(run: Path) -> str:
    """The question that a run says it is of; a text that none has where it says nothing."""
    try:
        return read_manifest(run).question or "none"
    except InputError:
        return "none"


def _last_change(folder: Path) -> float:
    """When anything below a folder was last changed, seconds since the epoch; now where a process is taking it away."""
    try:
        return max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
    except FileNotFoundError:
        return time.time()
