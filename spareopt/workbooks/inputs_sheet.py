"""The sheet of inputs: the numbers that a planner changes, beside what they were when the plan was solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spareopt.instance import Instance
from spareopt.overrides import meeting
from spareopt.workbooks.book import Book, Style
from spareopt.workbooks.inputs import InputRow, Keys, factor

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

SHEET = "Inputs"
FIRST = 5
"""The row of the first input."""
PATH, VALUE, UNIT, SOLVED, CHANGED, INTERVAL, SOURCE = range(1, 8)
"""The columns of an input's path, its value, its unit, its value as solved, and what else stands beside them."""
HEADER = ("input", "value", "unit", "as solved", "changed?", "may be (interval)", "source, note")


@dataclass(frozen=True)
class InputCells:
    """Where the inputs stand, for the formulas of other sheets."""

    currency: str
    rows: Mapping[Keys, tuple[int, InputRow]]

    def __contains__(self, keys: Keys) -> bool:
        return keys in self.rows

    def number(self, *keys: str | int, per: float = 1.0) -> str:
        """A formula of an input's number in its canonical unit over ``per``, or of "none" where it is not set."""
        place, row = self.rows[keys]
        cell = f"{SHEET}!$B${place}"
        size = factor(row.unit, self.currency) / per if row.form == "quantity" else 1.0 / per
        if size == 1:
            return cell
        return f'IF(ISNUMBER({cell}),{cell}*{size:.15g},"none")'


def write_inputs(book: Book, instance: Instance, rows: list[InputRow], notes: Mapping[str, str]) -> InputCells:
    """Write the sheet; ``notes`` holds what is known of the source of a path."""
    note = (
        "Change column B, nothing else. Money, Power and Limits follow; goodput, availability and the plan need a new "
        "solve (see Summary). Type none to take an optional input out."
    )
    widest = min(max(len(row.path) for row in rows) + 2, 80)
    sheet = book.sheet(SHEET, (widest, 26, 17, 26, 10, 24, 100), f"{instance.name}: inputs", note)
    book.header(sheet, FIRST - 1, HEADER)
    intervals = _intervals(instance, rows)
    for place, row in enumerate(rows, FIRST):
        book.text(sheet, place, PATH, row.path)
        style: Style = "default" if row.default else "input"
        book.number(sheet, place, VALUE, row.value, style=style)
        book.text(sheet, place, UNIT, row.unit)
        book.number(sheet, place, SOLVED, row.value, style="solved")
        book.formula(sheet, place, CHANGED, f'IF(B{place}=D{place},"","changed")', "")
        book.text(sheet, place, INTERVAL, intervals.get(row.path, ""), "note")
        book.text(sheet, place, SOURCE, notes.get(row.path, "default" if row.default else ""), "note")
    _help_typing(sheet, rows)
    return InputCells(instance.currency, {row.keys: (place, row) for place, row in enumerate(rows, FIRST)})


def _help_typing(sheet: Worksheet, rows: list[InputRow]) -> None:
    """What Excel says of a cell that is chosen: what kind of value is expected there."""
    from openpyxl.worksheet.datavalidation import DataValidation  # noqa: PLC0415

    hints = {
        "quantity": "A number in the unit of column C, without the unit.",
        "number": "A number.",
        "whole": "A whole number.",
        "text": "As in an instance file: a word, a number, [1, 2, 4] or {from: 0, to: 20}.",
    }
    for form, hint in hints.items():
        cells = [f"B{place}" for place, row in enumerate(rows, FIRST) if row.form == form]
        if cells:
            help_text = DataValidation(allow_blank=True, showInputMessage=True)
            help_text.promptTitle, help_text.prompt = "Input", hint
            help_text.sqref = type(help_text.sqref)(" ".join(cells))
            sheet.add_data_validation(help_text)


def _intervals(instance: Instance, rows: list[InputRow]) -> dict[str, str]:
    """What each input may be, as the instance states it; of an mtbf where the input is its rate."""
    found: dict[str, str] = {}
    for tied, (low, high) in instance.intervals.items():
        for pattern in (part.strip() for part in tied.split(",")):
            inverse = pattern.removesuffix(".mtbf") + ".rate" if pattern.endswith(".mtbf") else ""
            for row in rows:
                if meeting(pattern, row.path):
                    found[row.path] = f"{low} to {high}"
                elif inverse and meeting(inverse, row.path):
                    found[row.path] = f"mtbf {low} to {high}"
    return found
