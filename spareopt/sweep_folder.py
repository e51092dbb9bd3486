"""Sweeps on disk: a journal that outlives the run, the plan of each point, and the tables once all are there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from spareopt.errors import Fault, InputError
from spareopt.folders import check_new_folder, fingerprints, json_text, read_result
from spareopt.plan import Plan
from spareopt.sweep_result import ANSWERED, Point, Sweep

try:
    import fcntl
except ImportError:  # where two runs on one folder are not kept apart
    fcntl = None  # type: ignore[assignment]

JOURNAL, TABLE, RESULT, MANIFEST, PLANS = "journal.jsonl", "table.csv", "table.json", "manifest.json", "plans"
Question = Mapping[str, Any]
"""What a sweep asks, as JSON data: two sweeps with equal questions have equal answers."""
KEPT = (*ANSWERED, "limit reached", "no plan in time")
"""Statuses of points that are not solved again when a sweep is resumed."""
WORDS = {
    "instance": "the instance",
    "applied": "the scenarios and overrides",
    "axes": "the axes",
    "options": "the options",
    "seed": "the seed",
    "versions": "the versions of Python and the packages",
}


class Journal:
    """The journal of a sweep: a line for the question, then a line for each finished point, flushed at once."""

    def __init__(self, folder: Path, stream: Any, points: dict[int, Point]) -> None:
        self._folder, self._stream = folder, stream
        self.points = points
        """The points that were finished before."""

    def note(self, point: Point, plan: Plan | None) -> None:
        """Keep a finished point: first its plan, then its line.  Raises OSError."""
        if point.status not in KEPT:
            return
        if plan is not None:
            _write(self._folder / PLANS / plan_name(point.point), plan.to_json())
        _append(self._stream, point.model_dump_json())


def plan_name(point: int) -> str:
    """The file of a point's plan."""
    return f"{point}.json"


@contextmanager
def open_journal(folder: str | Path, question: Question, resume: bool) -> Iterator[Journal]:
    """The journal of a sweep: of a new or empty folder, or with ``resume`` of one that holds the same question.

    A last line that was not written whole is dropped.  Raises InputError where the folder can't be used, holds
    another question, or is at work.
    """
    path = Path(folder)
    journal = path / JOURNAL
    if not journal.is_file():
        check_new_folder(folder)
        path.mkdir(exist_ok=True)
    elif not resume:
        message = "holds a sweep already; add --resume to go on with it, or name a new folder"
        raise InputError(str(folder), [Fault("", message)])
    (path / PLANS).mkdir(exist_ok=True)
    try:
        stream = journal.open("a+b")
    except OSError as error:
        raise InputError(str(folder), [Fault("", f"can't be written: {error.strerror or error}")]) from None
    with stream:
        if fcntl is not None:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                message = "another run is at work on it; wait for it, or end it first"
                raise InputError(str(folder), [Fault("", message)]) from None
        stream.seek(0)
        lines, whole = _whole_lines(stream.read())
        stream.truncate(whole)
        points: dict[int, Point] = {}
        if lines:
            _check_question(str(folder), lines[0], question)
            points = {point.point: point for point in _points(str(folder), lines[1:])}
        else:
            _append(stream, json.dumps(question, ensure_ascii=False))
        for name in (TABLE, RESULT, MANIFEST):  # of a sweep that is at work there is no table
            (path / name).unlink(missing_ok=True)
        yield Journal(path, stream, points)


def _whole_lines(raw: bytes) -> tuple[list[str], int]:
    """The lines that were written whole, and where the last of them ends."""
    lines: list[str] = []
    end = 0
    for line in raw.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        try:
            text = line.decode()
            json.loads(text)
        except ValueError:
            if end + len(line) < len(raw):
                lines.append("")  # not the last one: told with its number
                end += len(line)
                continue
            break
        lines.append(text)
        end += len(line)
    return lines, end


def _points(folder: str, lines: list[str]) -> Iterator[Point]:
    for number, line in enumerate(lines, 2):
        try:
            yield Point.model_validate_json(line)
        except ValidationError:
            message = f"line {number} of {JOURNAL} is damaged; take it out, and its point is solved again"
            raise InputError(folder, [Fault("", message)]) from None


def _check_question(folder: str, line: str, question: Question) -> None:
    try:
        known = json.loads(line)
    except ValueError:
        known = None
    if not isinstance(known, dict) or not known.keys() >= question.keys():
        raise InputError(folder, [Fault("", f"its {JOURNAL} is not that of a sweep; name a new folder")])
    wanted = json.loads(json.dumps(question))  # tuples are lists there
    different = [WORDS.get(key, key) for key in wanted if known[key] != wanted[key]]
    if different:
        message = f"belongs to another question: {', '.join(different)} differ; name a new folder, or ask the same"
        raise InputError(folder, [Fault("", message)])


def write_tables(sweep: Sweep, folder: str | Path, question: Question) -> None:
    """Write the tables of a finished sweep, the manifest last.  Raises InputError."""
    path = Path(folder)
    try:
        _write(path / TABLE, sweep.table().to_csv(index=False, lineterminator="\n"))
        _write(path / RESULT, sweep.to_json())
        files = [path / TABLE, path / RESULT, *(path / PLANS / plan_name(p.point) for p in sweep.points if p.decisions)]
        manifest = {
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "status": sweep.status,
            "points": len(sweep.points),
            **{key: question[key] for key in ("instance", "options", "seed", "versions")},
            "sha256": fingerprints(filter(Path.exists, files), path),
        }
        _write(path / MANIFEST, json_text(manifest))
    except OSError as error:
        raise InputError(str(folder), [Fault("", f"can't be written: {error.strerror or error}")]) from None


def _append(stream: Any, text: str) -> None:
    stream.write(text.encode() + b"\n")
    stream.flush()
    os.fsync(stream.fileno())


def _write(file: Path, text: str) -> None:
    """Write a file whole or not at all."""
    scratch = file.with_name(f".{file.name}.part")
    with scratch.open("wb") as stream:
        stream.write(text.encode())
        stream.flush()
        os.fsync(stream.fileno())
    scratch.replace(file)


def read_sweep(source: str | Path) -> pd.DataFrame:
    """The table of a finished sweep, from its folder or its table.json.  Raises InputError."""
    return load_sweep(source).table()


def load_sweep(source: str | Path) -> Sweep:
    """A finished sweep, from its folder or its table.json.  Raises InputError."""
    path = Path(source)
    if (path / JOURNAL).is_file() and not (path / RESULT).is_file():
        message = "is a sweep that is not finished; go on with it by the same command and --resume"
        raise InputError(str(path), [Fault("", message)])
    return read_result(Sweep, path, RESULT, "a sweep")
