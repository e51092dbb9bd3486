"""What a section of a report is made of: its finding, sentences, tables, pictures, and what is missing and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table as PlainTable


@dataclass(frozen=True)
class Cell:
    """A cell of a table that can be sorted by: its text, and the number behind it (None goes last)."""

    text: str
    sort: float | None = None


@dataclass(frozen=True)
class Table:
    """A table with its caption; texts stand to the left (``left``: column numbers), numbers to the right.

    The first column names the rows.  ``total``: the last row is their sum.
    """

    caption: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    left: frozenset[int] = frozenset({0})
    total: bool = False

    @property
    def sortable(self) -> bool:
        """Whether the rows can be sorted by a column."""
        return len(self.rows) > 2 and any(isinstance(cell, Cell) for row in self.rows for cell in row)


@dataclass(frozen=True)
class Picture:
    """A picture: how it is drawn, its text for those who can't see it, and the numbers in it."""

    name: str
    """Of its files, without a suffix."""
    alt: str
    draw: Callable[[], Figure]
    data: pd.DataFrame


@dataclass(frozen=True)
class Panel:
    """One of several answers that a reader picks from; ``name`` is what is picked."""

    name: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Missing:
    """Why an analysis is not in the report, and a command that may give it."""

    why: str
    command: str = ""


@dataclass(frozen=True)
class Section:
    """A section: its short name and place, its finding as title, what stands in it, in this order.

    ``warning`` stands out; ``numbers`` are headline numbers with their names.
    """

    anchor: str
    name: str
    finding: str
    sentences: tuple[str, ...] = ()
    warning: str = ""
    numbers: tuple[tuple[str, str], ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    panels: tuple[Panel, ...] = ()
    notes: tuple[str, ...] = ()
    """After the tables: how to read them."""
    commands: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    """Files beside the page, and what each holds."""


def from_plain(table: PlainTable, caption: str, *, total: bool = False, without: Sequence[str] = ()) -> Table:
    """A table of the command line as one of a page; ``without``: headers of columns that are left out."""
    columns = [column for column in table.columns if str(column.header) not in without]
    headers = tuple(" ".join(str(column.header).split()) for column in columns)
    left = frozenset(i for i, column in enumerate(columns) if column.justify == "left")
    rows = tuple(zip(*(map(_text, column.cells) for column in columns), strict=True))
    return Table(caption, headers, rows, left, total)


def from_frame(frame: pd.DataFrame, caption: str, shown: Mapping[str, tuple[str, Callable[[Any], str]]]) -> Table:
    """The columns named of a data frame, each with its header and how its values are shown; numbers can be sorted by.

    Missing values show as nothing.
    """
    rows = []
    for record in frame.to_dict(orient="records"):
        cells: list[str | Cell] = []
        for name, (_, show) in shown.items():
            value = record[name]
            known = not pd.isna(value)
            text = show(value) if known else ""
            number = known and isinstance(value, int | float) and not isinstance(value, bool)
            cells.append(Cell(text, float(value)) if number else text)
        rows.append(tuple(cells))
    numeric = [any(isinstance(row[i], Cell) for row in rows) for i in range(len(shown))]
    left = frozenset(i for i, number in enumerate(numeric) if not number)
    return Table(caption, tuple(header for header, _ in shown.values()), tuple(rows), left)


def _text(cell: object) -> str:
    """A cell on one line, with a minus sign where a number has a hyphen."""
    return re.sub(r"^-(?=\d)", "−", re.sub(r"\s+", " ", str(cell)).strip())
