"""The cells of a workbook: texts, numbers and formulas with the values they have as solved, in a few styles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from openpyxl import Workbook
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.utils import get_column_letter

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

Style = Literal["plain", "title", "head", "input", "default", "solved", "total", "wrapped", "note"]
NONE = "none"
"""What stands where a number is not known, or not set."""
WHOLE, MONEY, TENTHS, SHARE, FINE, ANY = "#,##0", "#,##0", "#,##0.0", "0.00%", "0.000000", "General"
"""Number formats."""
LEGEND: tuple[tuple[Style, str], ...] = (
    ("input", "an input that you may change (column B of Inputs)"),
    ("plain", "a formula, or a fact: formulas follow what you change"),
    ("solved", "a number of the plan as solved: no formula can follow it, only a new solve"),
)

_FILLS = {"head": "1F4E78", "input": "FFF2CC", "default": "FFF9E5"}
_FONTS: dict[Style, dict[str, Any]] = {
    "title": {"bold": True, "size": 14},
    "head": {"bold": True, "color": "FFFFFF"},
    "input": {"color": "0000FF"},
    "default": {"color": "7F7FBF"},
    "solved": {"italic": True, "color": "7F7F7F"},
    "total": {"bold": True},
    "note": {"italic": True, "color": "595959"},
}
_THIN = Border(top=Side(style="thin"))
_RIGHT = Alignment(horizontal="right", vertical="top")
_ACROSS = Alignment(wrap_text=True, vertical="center")


@cache
def _font(style: Style) -> Font:
    return Font(**_FONTS.get(style, {}))


@cache
def _alignment(style: Style) -> Alignment:
    return Alignment(vertical="top", wrap_text=style == "wrapped")


@cache
def _fill(style: Style) -> PatternFill | None:
    return PatternFill("solid", fgColor=_FILLS[style]) if style in _FILLS else None


@dataclass
class Book:
    """A workbook in the making, and the value that each of its formulas has as solved."""

    workbook: Workbook = field(default_factory=Workbook)
    values: dict[str, dict[str, float | int | str]] = field(default_factory=dict)

    def sheet(self, title: str, widths: Sequence[float], heading: str = "", note: str = "") -> Worksheet:
        """A new sheet with columns so wide (in letters); printed landscape, as wide as a page."""
        sheet = self.workbook.create_sheet(title)
        self.values[title] = {}
        for column, width in enumerate(widths, 1):
            sheet.column_dimensions[get_column_letter(column)].width = width
        sheet.page_setup.orientation = "landscape"
        sheet.page_setup.fitToHeight = 0
        sheet.sheet_properties.pageSetUpPr.fitToPage = True
        sheet.sheet_view.showGridLines = False
        if heading:
            self.text(sheet, 1, 1, heading, "title")
        if note:
            self.text(sheet, 2, 1, note, "note")
        return sheet

    def put_in_order(self, titles: Sequence[str]) -> None:
        """Put the sheets in the order in which they are read."""
        for place, title in enumerate(titles):
            self.workbook.move_sheet(title, place - self.workbook.sheetnames.index(title))
        self.workbook.active = 0

    def text(self, sheet: Worksheet, row: int, column: int, text: str, style: Style = "plain") -> None:
        """A text, whatever it begins with."""
        cell = self._styled(sheet, row, column, style)
        cell.value = ILLEGAL_CHARACTERS_RE.sub("\ufffd", text)
        cell.data_type = "s"  # a text such as "=1+1" is no formula

    def number(
        self,
        sheet: Worksheet,
        row: int,
        column: int,
        value: float | int | str | None,
        shown: str = ANY,
        style: Style = "plain",
    ) -> None:
        """A number in a number format; a text, or "none" where there is none, to the right as numbers are."""
        if value is None or isinstance(value, str):
            self.text(sheet, row, column, NONE if value is None else value, style)
            sheet.cell(row, column).alignment = _RIGHT
            return
        cell = self._styled(sheet, row, column, style)
        cell.value, cell.number_format = value, shown

    def formula(
        self,
        sheet: Worksheet,
        row: int,
        column: int,
        formula: str,
        value: float | int | str | None,
        shown: str = ANY,
        style: Style = "plain",
    ) -> str:
        """A formula with the value it has as solved; returns a reference to its cell from any sheet."""
        cell = self._styled(sheet, row, column, style)
        cell.value, cell.number_format = f"={formula}", shown
        cell.alignment = _RIGHT
        self.values[sheet.title][cell.coordinate] = NONE if value is None else value
        return reference(sheet, row, column)

    def header(self, sheet: Worksheet, row: int, names: Sequence[str], *, freeze: bool = True) -> None:
        """A row of column names, which stays in view and is repeated on each printed page."""
        for column, name in enumerate(names, 1):
            self.text(sheet, row, column, name, "head")
            sheet.cell(row, column).alignment = _ACROSS
        if freeze:
            sheet.freeze_panes = sheet.cell(row + 1, 2)
            sheet.print_title_rows = f"{row}:{row}"

    def _styled(self, sheet: Worksheet, row: int, column: int, style: Style) -> Any:
        cell = sheet.cell(row, column)
        cell.font, cell.alignment = _font(style), _alignment(style)
        if (fill := _fill(style)) is not None:
            cell.fill = fill
        if style == "total":
            cell.border = _THIN
        return cell


def reference(sheet: Worksheet, row: int, column: int) -> str:
    """A cell as a formula of any sheet names it."""
    return f"{sheet.title}!${get_column_letter(column)}${row}"


def new_book(title: str) -> Book:
    """A workbook without sheets yet."""
    book = Book()
    book.workbook.remove(book.workbook.active)
    properties = book.workbook.properties
    properties.creator, properties.title = "spareopt", ILLEGAL_CHARACTERS_RE.sub("", title)
    return book
