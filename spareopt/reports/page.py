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
_UNIT = re.compile(
    r"(?<=\d) (?=(?:%|points|[kMG]?[$€£¥]|[kMG]?Wh?|[tdhs]|min|kg|GPUs?|years?)(?![\w-]))|(?<=[±≈≤≥−]) (?=\d)"
)
"""A space between a number and its unit, or a sign and its number."""


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
    environment.filters["wide"] = _wide
    environment.filters["joined"] = _joined
    return environment


def _alignment(table: Table, column: int) -> str:
    """The class of a column's cells: names and texts to the left, numbers to the right."""
    return "text" if column in table.left else "number"


def _wide(table: Table) -> bool:
    """Whether a table needs the whole width of the page."""
    longest = [max((len(cell.text if isinstance(cell, Cell) else cell) for cell in column), default=0) for column in
               zip(table.headers, *table.rows, strict=True)]  # fmt: skip
    return sum(min(width, 40) for width in longest) > 70


def _joined(text: str) -> str:
    """The text with numbers and their units on one line."""
    return _UNIT.sub("\u00a0", text)


def _package_text(name: str) -> str:
    return (files("spareopt.reports") / TEMPLATES / name).read_text(encoding="utf-8")
