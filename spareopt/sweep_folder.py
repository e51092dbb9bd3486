"""Sweeps on disk: a journal that outlives the run, the plan of each point, and the tables once all are there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd

from spareopt.errors import Fault, InputError
from spareopt.folders import check_new_folder, read_result
from spareopt.instance import Instance
from spareopt.manifest import INSTANCE, MANIFEST, Manifest, instance_text, sealed, solves_status
from spareopt.plan import LIMIT_REACHED, PROVEN, Plan
from spareopt.sweep_result import ANSWERED, Input, Point, Sweep, point_of
from spareopt.what_if import Answer

try:
    import fcntl
except ImportError:  # where two runs on one folder are not kept apart
    fcntl = None  # type: ignore[assignment]

JOURNAL, TABLE, RESULT, PLANS = "journal.jsonl", "table.csv", "table.json", "plans"
TABLES = (TABLE, RESULT, INSTANCE, MANIFEST)
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
    "sweep": "the version of the folder",
    "versions": "the versions of Python and the packages",
}


HALF_LINES = (b'{"point":', b'{"again":')
"""How the lines after the first begin: only such a one, not written whole, is dropped."""


class UnwrittenError(InputError):
    """A sweep that can't be written to its folder; ``sweep`` is there where all of it was solved."""

    def __init__(self, folder: str | Path, error: OSError, sweep: Sweep | None = None) -> None:
        message = f"can't be written: {error.strerror or error}; make room there, and go on by the same command and"
        super().__init__(str(folder), [Fault("", f"{message} --resume")])
        self.sweep = sweep


class Journal:
    """The journal of a sweep: a line for the question, then a line for each finished point, flushed at once."""

    def __init__(self, folder: Path, stream: Any, points: dict[int, Point]) -> None:
        self._folder, self._stream = folder, stream
        self.points = points
        """The points that were finished before."""

    def note(self, point: Point, plan: Plan | None) -> None:
        """Keep a finished point: first its plan, then its line.  Raises UnwrittenError."""
        if point.status not in KEPT:
            return
        try:
            if plan is not None:
                _write(self._folder / PLANS / plan_name(point.point), plan.to_json())
            _append(self._stream, point.model_dump_json())
        except OSError as error:
            raise UnwrittenError(self._folder, error) from None


def plan_name(point: int) -> str:
    """The file of a point's plan."""
    return f"{point}.json"


@contextmanager
def open_journal(
    folder: str | Path, question: Question, grid: Sequence[tuple[Input, ...]], resume: bool
) -> Iterator[Journal]:
    """The journal of a sweep: of a new or empty folder, or with ``resume`` of one that holds the same question.

    ``grid`` has the inputs of every point.  A last line that was not written whole is dropped, and a point whose plan
    is missing or damaged is left to be solved again.  Raises InputError, before anything is changed, where the folder
    can't be used, holds anything else, or is at work.
    """
    path = Path(folder)
    journal = path / JOURNAL
    with ExitStack() as stack:
        try:
            if not journal.is_file():
                check_new_folder(folder)
                path.mkdir(exist_ok=True)
            elif not resume:
                message = "holds a sweep already; add --resume to go on with it, or name a new folder"
                raise InputError(str(folder), [Fault("", message)])
            stream = stack.enter_context(journal.open("a+b", buffering=0))  # what could not be written is not kept
            _lock(folder, stream)
            stream.seek(0)
            raw = stream.read()
            points, whole = _read(str(folder), raw, question, grid)
            if not whole and (other := [item.name for item in path.iterdir() if item.name not in (JOURNAL, PLANS)]):
                message = f"has no sweep in its {JOURNAL}, but holds {min(other)}; name a new folder"
                raise InputError(str(folder), [Fault("", message)])
            again = [place for place, point in points.items() if not _has_plan(path, point)]
            (path / PLANS).mkdir(exist_ok=True)
            stream.truncate(whole)
            if not whole:
                _append(stream, json.dumps(question, ensure_ascii=False))
            for place in again:  # told, as the new line may differ from the old one
                _append(stream, json.dumps({"again": place}, separators=(",", ":")))
                del points[place]
            for name in TABLES:  # of a sweep that is at work there is no table
                (path / name).unlink(missing_ok=True)
        except OSError as error:
            raise InputError(str(folder), [Fault("", f"can't be written: {error.strerror or error}")]) from None
        yield Journal(path, stream, points)


def _lock(folder: str | Path, stream: Any) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        message = "another run is at work on it; wait for it, or end it first"
        raise InputError(str(folder), [Fault("", message)]) from None


def _read(
    folder: str, raw: bytes, question: Question, grid: Sequence[tuple[Input, ...]]
) -> tuple[dict[int, Point], int]:
    """The points of a journal, and where its last whole line ends.  Raises InputError where it is of another one."""
    *lines, rest = raw.split(b"\n")
    if not lines:
        if not json.dumps(question, ensure_ascii=False).encode().startswith(rest):
            raise _refused(folder, 1, "is not that of this sweep; name a new folder")
        return {}, 0
    _check_question(folder, lines[0], question)
    points: dict[int, Point] = {}
    for number, line in enumerate(lines[1:], 2):
        _take(folder, number, line, grid, points)
    if not any(rest.startswith(begin) or begin.startswith(rest) for begin in HALF_LINES):
        raise _refused(folder, len(lines) + 1, "is not that of a point; take it out")
    return points, len(raw) - len(rest)


def _take(folder: str, number: int, line: bytes, grid: Sequence[tuple[Input, ...]], points: dict[int, Point]) -> None:
    """Add what a line says to the points.  Raises InputError where that can't be."""
    mend = "take it out, and its point is solved again"
    try:
        data = json.loads(line)
        if isinstance(data, dict) and data.keys() == {"again"}:
            if points.pop(data["again"], None) is None:
                message = f"is damaged: expected a point of a line before it, got {data['again']!r:.40}; take it out"
                raise _refused(folder, number, message)
            return
        point = Point.model_validate_json(line)
    except (ValueError, TypeError):  # what is refused by pydantic, too
        raise _refused(folder, number, f"is damaged; {mend}") from None
    place = point.point
    if not 0 <= place < len(grid):
        raise _refused(
            folder, number, f"is damaged: expected a point from 0 to {len(grid) - 1:,}, got {place:,}; {mend}"
        )
    if point.inputs != grid[place]:
        said = (
            f"is damaged: expected {_inputs_words(grid[place])} at point {place:,}, got {_inputs_words(point.inputs)}"
        )
        raise _refused(folder, number, f"{said}; {mend}")
    parts = (point.decisions is not None, point.certificate is not None)
    if point.status not in KEPT or parts != (point.status in (PROVEN, LIMIT_REACHED),) * 2:
        raise _refused(folder, number, f"is damaged; {mend}")
    if points.setdefault(place, point) != point:
        message = f"is damaged: expected one line for point {place:,}, got a second one that says something else"
        raise _refused(folder, number, f"{message}; take both out, and the point is solved again")


def _inputs_words(inputs: tuple[Input, ...]) -> str:
    return ", ".join(f"{entry.path}={entry.given}{_number_words(entry)}" for entry in inputs) or "no inputs"


def _number_words(entry: Input) -> str:
    return "" if entry.number is None else f" ({f'{entry.number!r} {entry.unit}'.strip()})"


def _refused(folder: str, number: int, message: str) -> InputError:
    return InputError(folder, [Fault("", f"line {number} of {JOURNAL} {message}")])


def _has_plan(folder: Path, point: Point) -> bool:
    """Whether the plan of a point is there and is the one that its line tells of."""
    file = folder / PLANS / plan_name(point.point)
    if point.decisions is None:
        return True
    try:
        plan = read_result(Plan, file, "", "a plan")
    except InputError:
        return False
    return point_of(point.point, point.inputs, Answer({}, plan.certificate.status, plan)) == point


def _check_question(folder: str, line: bytes, question: Question) -> None:
    try:
        known = json.loads(line)
    except ValueError:
        known = None
    if not isinstance(known, dict) or not known.keys() >= question.keys():
        raise _refused(folder, 1, "is not that of a sweep; name a new folder")
    wanted = json.loads(json.dumps(question))  # tuples are lists there
    different = [key for key in wanted if known[key] != wanted[key]]
    if different:
        words = ", ".join(WORDS.get(key, key) for key in different)
        verb = "differs" if different in (["instance"], ["seed"], ["sweep"]) else "differ"
        message = f"belongs to another question: {words} {verb}; name a new folder, or ask the same"
        raise InputError(folder, [Fault("", message)])


def write_tables(sweep: Sweep, instance: Instance, folder: str | Path, seconds: Mapping[str, float]) -> None:
    """Write the tables of a finished sweep, the manifest last; all or none.  Raises UnwrittenError."""
    path = Path(folder)
    manifest = Manifest(
        kind="sweep",
        result=RESULT,
        instance=sweep.instance,
        input_hash=sweep.input_hash,
        applied=sweep.applied,
        options={**sweep.options, "axes": [axis.model_dump(mode="json") for axis in sweep.axes]},
        seed=sweep.seed,
        versions=sweep.versions,
        status=solves_status(False, [point.status for point in sweep.points]),
    )
    try:
        _write(path / TABLE, sweep.table().to_csv(index=False, lineterminator="\n"))
        _write(path / RESULT, sweep.to_json())
        _write(path / INSTANCE, instance_text(instance))
        plans = [path / PLANS / plan_name(point.point) for point in sweep.points if point.decisions]
        files = [path / TABLE, path / RESULT, path / INSTANCE, *filter(Path.exists, plans)]
        _write(path / MANIFEST, sealed(manifest, path, files, seconds).to_json())
    except OSError as error:
        with suppress(OSError):
            for name in TABLES:
                (path / name).unlink(missing_ok=True)
        raise UnwrittenError(folder, error, sweep) from None


def _append(stream: Any, text: str) -> None:
    line = memoryview(text.encode() + b"\n")
    while line:
        line = line[stream.write(line) :]
    os.fsync(stream.fileno())


def _write(file: Path, text: str) -> None:
    """Write a file whole or not at all."""
    scratch = file.with_name(f".{file.name}.part")
    try:
        with scratch.open("wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        scratch.replace(file)
    except BaseException:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise


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
