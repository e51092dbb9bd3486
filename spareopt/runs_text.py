"""Runs and answers of queries as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spareopt.run_queries import RunQuery
from spareopt.run_records import RunList
from spareopt.wording import counted, plain_table, render

SHOWN = ("run", "kind", "instance", "status", "value", "unit", "gap", "written", "seconds")
LONGEST = 60
WIDE = 1000
"""Letters: no line is broken, so that a folder can be copied."""


def runs_text(runs: RunList, answer: RunQuery, all_columns: bool) -> str:
    """The answer as a table, with how many runs it comes from; the usual columns of the runs, or all of the answer."""
    head = f"{counted(len(runs.runs), 'run')}"
    if runs.changed is not None:
        head += ", every file as it was written" if not runs.changed else f", {counted(len(runs.changed), 'file')} not"
        head += " as written" if runs.changed else ""
    names = answer.columns if all_columns else [name for name in SHOWN if name in answer.columns]
    places = [answer.columns.index(name) for name in names]
    if not answer.rows:
        return render(f"{head}; none of them answers." if runs.runs else f"{head}.")
    table = _table(names, [[row[place] for place in places] for row in answer.rows])
    return render(f"From {head}:" if all_columns else f"{head}.", "", table, width=WIDE)


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> object:
    numbers = [
        all(value is None or isinstance(value, int | float) for value in column) for column in zip(*rows, strict=True)
    ]
    table = plain_table(*names, left=[name for name, number in zip(names, numbers, strict=True) if not number])
    for row in rows:
        table.add_row(*(_cell(name, value) for name, value in zip(names, row, strict=True)))
    return table


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "gap" and isinstance(value, float):
        return f"{value:.1e}" if value else "0"
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = str(value)
        return text if len(text) <= LONGEST or name == "run" else f"{text[:LONGEST]}…"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.5g}"
