"""Sweep inputs over a grid: the same instance solved at every point, wherever it is solved, and resumed if need be."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from spareopt.axes import Axis, check_values, grid, parse_axis
from spareopt.candidates import check_model
from spareopt.clock import check_run
from spareopt.errors import Fault, InputError
from spareopt.instance import Instance
from spareopt.plan import versions
from spareopt.schemes import Model
from spareopt.search import DEFAULT_GAP
from spareopt.settings import NO_SCENARIO, SCENARIO
from spareopt.sweep_folder import Journal, open_journal, write_tables
from spareopt.sweep_result import (
    ANSWERED,
    SWEEP_SCHEMA_VERSION,
    Input,
    Point,
    Sweep,
    inputs_of,
    point_of,
    swept,
)
from spareopt.what_if import Changes, SolveOptions, WhatIf, answered, changed
from spareopt.workers import WorkerError

MOST_POINTS = 10_000
MOST_PROCESSES = 1024
ENOUGH_TO_TELL = 5
"""Points after which the time left is told."""
NO_JOURNAL = nullcontext(None)


@dataclass(frozen=True)
class SweepProgress:
    """Where a sweep stands: points done (``known`` of them from before), points in all, seconds so far and to go.

    Before the first is solved all are checked: then ``done`` are those that are.
    """

    done: int
    points: int
    known: int
    seconds: float
    seconds_left: float | None
    checking: bool = False


OnProgress = Callable[[SweepProgress], None]


def sweep(
    instance: Instance,
    over: Mapping[str | tuple[str, ...], str | Sequence[Any]],
    *,
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    model: Model = "exact",
    processes: int = 1,
    executor: Any = None,
    folder: str | Path | None = None,
    resume: bool = False,
    on_progress: OnProgress | None = None,
) -> pd.DataFrame:
    """The best plan at every point of a grid, as one table with a row per point.

    ``over``: path (or several, in a tuple or separated by commas, that are tied together) to its values: a list of new
    values or multiples ("0.5x"), or a text such as "0.5x:2x:5:log".  The path "scenario" takes names of scenarios,
    and "none".  The last axis moves fastest.  ``gap``, ``time_limit`` (of each point), ``seed`` and ``model`` as in
    ``spareopt.solve``.  ``processes``: points solved side by side; or ``executor``: any Executor of
    concurrent.futures, or a Dask client.  The table depends on neither.  ``folder``: a new folder for the tables and
    plans; with ``resume`` one that holds what was finished of the same sweep.

    Ctrl-C gives the points that are finished.  That a point has no plan is an answer (columns ``status``, ``why``).
    Raises InputError where any point is no valid instance, before the first is solved, and WorkerError where all
    worker processes die at once.
    """
    return whole_sweep(
        instance, over, gap=gap, time_limit=time_limit, seed=seed, model=model, processes=processes, executor=executor,
        folder=folder, resume=resume, on_progress=on_progress,
    ).table()  # fmt: skip


def whole_sweep(
    instance: Instance,
    over: Mapping[str | tuple[str, ...], str | Sequence[Any]],
    *,
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    model: Model = "exact",
    processes: int = 1,
    executor: Any = None,
    folder: str | Path | None = None,
    resume: bool = False,
    on_progress: OnProgress | None = None,
) -> Sweep:
    """As ``sweep``, but the result as a whole: with its points, ``table()`` and, for notebooks, ``plot``."""
    return run_sweep(
        instance, axes_of(over), SolveOptions(gap, time_limit, seed, model), processes=processes, executor=executor,
        folder=folder, resume=resume, on_progress=on_progress,
    )  # fmt: skip


def axes_of(over: Mapping[str | tuple[str, ...], str | Sequence[Any]]) -> list[Axis]:
    """The axes of what is swept, as in ``sweep``.  Raises InputError."""
    axes = []
    for key, values in over.items():
        paths = tuple(part.strip() for part in key.split(",")) if isinstance(key, str) else tuple(key)
        if isinstance(values, str):
            axes.append(parse_axis(f"{','.join(paths)}={values}", "sweep"))
            continue
        listed = tuple(values)
        if paths == (SCENARIO,):
            listed = tuple(None if value == NO_SCENARIO else value for value in listed)
        axes.append(Axis(paths, listed))
    for axis in axes:
        texts = axis.texts
        if not texts or len(set(texts)) < len(texts) or not all(axis.paths):
            message = f"expected at least one value, and none twice, got {list(axis.values)!r:.80}"
            raise InputError("sweep", [Fault(axis.label, message)])
    return axes


@dataclass(frozen=True)
class _Asked:
    """A point to be solved: its changes, checked."""

    changes: Changes
    inputs: tuple[Input, ...]


def run_sweep(
    instance: Instance,
    axes: Sequence[Axis],
    options: SolveOptions,
    *,
    processes: int = 1,
    executor: Any = None,
    folder: str | Path | None = None,
    resume: bool = False,
    on_progress: OnProgress | None = None,
) -> Sweep:
    """The sweep behind ``sweep``, with its axes and options."""
    started = time.perf_counter()
    asked = _asked(instance, axes, options, processes, on_progress)
    question = _question(instance, axes, options)
    inputs = [point.inputs for point in asked]
    with open_journal(folder, question, inputs, resume) if folder is not None else NO_JOURNAL as journal:
        try:
            points, stopped = _solved(instance, asked, options, journal, processes, executor, on_progress)
        except WorkerError as error:
            kept = f"; what is finished is kept in {folder}: resume it" if folder is not None else ""
            raise WorkerError(f"{error}{kept}") from None
        done = [points[place] for place in sorted(points)]
        rest = len(asked) - len(done)
        proven = all(point.status in ANSWERED for point in done)
        result = Sweep(
            instance=instance.name,
            input_hash=question["instance"],
            applied=instance.applied,
            currency=instance.currency,
            status="interrupted" if stopped and rest else "proven" if proven else "not all proven",
            axes=tuple(map(swept, axes)),
            points=tuple(done),
            options=question["options"],
            seed=options.seed,
            versions=question["versions"],
        )
        if folder is not None and not rest:
            write_tables(result, instance, folder, {"this time": time.perf_counter() - started})
    return result


def _question(instance: Instance, axes: Sequence[Axis], options: SolveOptions) -> dict[str, Any]:
    return {
        "sweep": SWEEP_SCHEMA_VERSION,
        "instance": instance.input_hash(),
        "applied": list(instance.applied),
        "axes": [swept(axis).model_dump(mode="json") for axis in axes],
        "options": {"gap": options.gap, "time_limit_s": options.time_limit, "model": options.model},
        "seed": options.seed,
        "versions": versions(),
    }


def _asked(
    instance: Instance,
    axes: Sequence[Axis],
    options: SolveOptions,
    processes: int,
    on_progress: OnProgress | None,
) -> list[_Asked]:
    """Every point, in grid order, checked as an instance of its own.  Raises InputError."""
    if not axes:
        raise InputError("sweep", [Fault("over", "expected at least one axis such as limits.capital=0.8x:1.2x:5")])
    number = math.prod(len(axis.values) for axis in axes)
    if number > MOST_POINTS:
        raise InputError("sweep", [Fault("over", f"has {number:,} points; expected at most {MOST_POINTS:,}")])
    if not isinstance(processes, int) or not 1 <= processes <= MOST_PROCESSES:
        message = f"got {processes!r:.40}; expected a whole number from 1 to {MOST_PROCESSES:,}"
        raise InputError("sweep", [Fault("processes", message)])
    if not 0 <= options.gap < 1:
        raise InputError("sweep", [Fault("gap", f"got {options.gap!r:.40}; expected a number from 0 to below 1")])
    check_run("sweep", options.time_limit, options.seed)
    result: list[_Asked] = []
    started = time.perf_counter()
    hashes: list[str] = []
    places = product(*(range(len(axis.values)) for axis in axes))
    for place, changes in zip(places, grid(axes, instance.resolved()), strict=True):
        if on_progress is not None:
            on_progress(SweepProgress(len(result), number, 0, time.perf_counter() - started, None, checking=True))
        point = changed(instance, changes)
        check_model(point, options.model)
        if point.currency != instance.currency:
            message = f"{point.currency} at one point, {instance.currency} before; money of one table has one currency"
            raise InputError("sweep", [Fault("currency", message)])
        result.append(_Asked(changes, inputs_of(axes, place, point.resolved())))
        hashes.append(point.input_hash())
    check_values(axes, hashes)
    return result


def _solved(
    instance: Instance,
    asked: Sequence[_Asked],
    options: SolveOptions,
    journal: Journal | None,
    processes: int,
    executor: Any,
    on_progress: OnProgress | None,
) -> tuple[dict[int, Point], bool]:
    """The points that were finished, now or before, and whether Ctrl-C ended it."""
    points = {} if journal is None else dict(journal.points)
    known, started = len(points), time.perf_counter()
    first: float | None = None
    open_places = [place for place in range(len(asked)) if place not in points]

    def step() -> None:
        if on_progress is None:
            return
        now, new = time.perf_counter(), len(points) - known
        left = None
        if first is not None and new >= ENOUGH_TO_TELL:  # the first ones take longer: processes are started for them
            left = (now - first) / (new - 1) * (len(asked) - len(points))
        on_progress(SweepProgress(len(points), len(asked), known, now - started, left))

    def what_if(i: int) -> WhatIf:
        changes = asked[open_places[i]].changes
        return WhatIf(changed(instance, changes), changes)

    source = answered(
        len(open_places), what_if, options, processes=processes, executor=executor, on_step=step, keep_errors=True
    )
    try:
        with closing(source):
            for i, answer in source:
                if answer.status == "interrupted":
                    continue
                place = open_places[i]
                points[place] = point_of(place, asked[place].inputs, answer)
                first = first or time.perf_counter()
                if journal is not None:
                    journal.note(points[place], answer.plan)
                step()
    except KeyboardInterrupt:
        return points, True
    return points, False
