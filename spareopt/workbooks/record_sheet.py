"""The hidden sheet that says what a workbook was made from, so that what a planner changes in it can be told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from spareopt.workbooks.book import Book
from spareopt.workbooks.inputs import InputRow

SHEET = "Record"
FORMAT = "spareopt workbook 1"
FIRST = 5
PIECE = 30_000
"""Letters of a text that one cell holds; Excel's cells hold 32,767."""


def write_record(book: Book, rows: list[InputRow], facts: Mapping[str, Any]) -> None:
    """Write the sheet: the inputs as they were written, in the order of the sheet of inputs, and facts as JSON."""
    sheet = book.sheet(SHEET, (50, 30, 18, 12), FORMAT, "What this workbook was made from; leave it as it is.")
    book.header(sheet, FIRST - 1, ("input", "value", "unit", "form", "facts"), freeze=False)
    for place, row in enumerate(rows, FIRST):
        book.text(sheet, place, 1, row.path)
        book.number(sheet, place, 2, row.value)
        book.text(sheet, place, 3, row.unit)
        book.text(sheet, place, 4, row.form)
    text = json.dumps(facts, ensure_ascii=True)
    for place in range(0, len(text), PIECE):
        book.text(sheet, FIRST + place // PIECE, 5, text[place : place + PIECE])
    sheet.sheet_state = "hidden"
