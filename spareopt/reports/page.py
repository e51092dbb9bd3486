"""The page of a report: sections and their pictures as one HTML text that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from spareopt.reports.parts import Cell, Section, Table

TEMPLATES = "templates"
HALF_A_SHEET, HALF_A_SCREEN = 70, 95
"""Letters of a table's row that fit beside a picture on paper, and on a wide screen."""
MOST_TOGETHER = 16
"""Rows of a table that stay on one sheet."""
_UNIT = re.compile(
    r"(?<=\d) (?=(?:%|points|[kMG]?[$€£¥]|[kMG]?Wh?|[tdhs]|min|kg|GPUs?|years?)(?![\w-]))|(?<=[±≈≤≥−]) (?=\d)"
    r"|(?<=\S) (?=\*$)"
)
"""A space between a number and its unit, a sign and its number, or a word and its mark."""


def page_of(
    title: str,
    kicker: str,
    sections: Sequence[Section],
    drawings: Mapping[str, str],
    folder: str,
) -> str:
    """The HTML of a report: ``drawings`` are SVG elements by the names of pictures, ``folder`` that of its files."""
    template = _environment().get_template("page.html.j2")
    return template.render(
        title=title,
        kicker=kicker,
        sections=sections,
        drawings={name: Markup(text) for name, text in drawings.items()},
        folder=folder,
        style=Markup(_package_text("report.css")),
        script=Markup(_package_text("report.js")),
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("spareopt.reports", TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["alignment"] = _alignment
    environment.filters["is_cell"] = lambda cell: isinstance(cell, Cell)
    environment.filters["shape"] = _shape
    environment.filters["layout"] = _layout
    environment.filters["joined"] = _joined
    return environment


def _alignment(table: Table, column: int) -> str:
    """The class of a column's cells: names and texts to the left, numbers to the right."""
    return "text" if column in table.left else "number"


def _layout(section: Section) -> str:
    """The class of a section's parts: whether its picture stands beside its table, or beside what a reader picks."""
    if section.panels and section.pictures:
        return " picked"
    if len(section.pictures) != 1 or not section.tables:
        return ""
    widest = max(map(_width, section.tables))
    return " paired narrow" if widest <= HALF_A_SHEET else " paired" if widest <= HALF_A_SCREEN else ""


def _shape(table: Table) -> str:
    """The classes of a table: wide where it needs the whole width of the page, long where it may break over two, texts
    where it holds nothing else, so that lines may break anywhere."""
    texts = len(table.left) == len(table.headers)
    classes = {"wide": _width(table) > HALF_A_SHEET, "long": len(table.rows) > MOST_TOGETHER, "texts": texts}
    return "".join(f" {name}" for name, holds in classes.items() if holds)


def _width(table: Table) -> int:
    """About how many letters a row of a table takes."""
    longest = [max((len(cell.text if isinstance(cell, Cell) else cell) for cell in column), default=0) for column in
               zip(table.headers, *table.rows, strict=True)]  # fmt: skip
    return sum(min(width, 40) for width in longest)


def _joined(text: str) -> str:
    """The text with numbers and their units on one line."""
    return _UNIT.sub("\u00a0", text)


def _package_text(name: str) -> str:
    return (files("spareopt.reports") / TEMPLATES / name).read_text(encoding="utf-8")
