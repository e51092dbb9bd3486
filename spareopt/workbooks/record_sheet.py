"""The hidden sheet that says what a workbook was made from, so that what a planner changes in it can be told."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spareopt.workbooks.book import Book

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

SHEET = "Record"
FORMAT = "spareopt workbook 1"
FIRST = 5
PIECE = 30_000
"""Letters of a text that one cell holds; Excel's cells hold 32,767."""


def write_record(book: Book, facts: Mapping[str, Any]) -> None:
    """Write the sheet: the paths of the inputs in the order of their sheet, and the facts as JSON with its SHA-256."""
    sheet = book.sheet(SHEET, (50, 70), FORMAT, "What this workbook was made from; leave it as it is.")
    book.header(sheet, FIRST - 1, ("input", "facts"), freeze=False)
    for place, (path, *_) in enumerate(facts["inputs"], FIRST):
        book.text(sheet, place, 1, path)
    text = json.dumps(facts, ensure_ascii=True, separators=(",", ":"))
    text = text.replace(" ", "\\u0020")  # a spreadsheet program may drop a space at the end of a cell
    book.text(sheet, FIRST, 2, checksum(text))
    for place in range(0, len(text), PIECE):
        book.text(sheet, FIRST + 1 + place // PIECE, 2, text[place : place + PIECE])
    sheet.sheet_state = "hidden"


def read_record(sheet: Worksheet) -> dict[str, Any] | None:
    """The facts of the sheet; None where it is not as it was written."""
    pieces = [sheet.cell(row, 2).value for row in range(FIRST, sheet.max_row + 1)]
    found, *texts = [piece for piece in pieces if isinstance(piece, str)] or [""]
    text = "".join(texts)
    if sheet.cell(1, 1).value != FORMAT or checksum(text) != found:
        return None
    facts: dict[str, Any] = json.loads(text)
    return facts


def checksum(text: str) -> str:
    """The SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
