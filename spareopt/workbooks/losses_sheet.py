"""The sheet of losses: where all GPU-hours go, as a table and a waterfall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spareopt.evaluation import Evaluation
from spareopt.score_text import LOSS_NAMES
from spareopt.workbooks.book import SHARE, TENTHS, WHOLE, Book

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

SHEET = "Losses"
FIRST = 5


def write_losses(book: Book, name: str, evaluation: Evaluation) -> None:
    """Write the sheet: all GPU-hours, what is lost of them in the order of attribution, and what is left."""
    note = "Shares of all GPU-hours of the plan as solved, by the exact model: changes here need a new solve."
    if evaluation.model != "exact":
        note = note.replace("exact model", f"{evaluation.model} model")
    sheet = book.sheet(SHEET, (34, 16, 16, 20), f"{name}: where the GPU-hours go", note)
    book.header(sheet, FIRST - 1, ("", "share of GPU-hours", "GPUs", "left after it: foot of its bar"))
    losses = {loss: share for loss, share in evaluation.losses.items() if loss != "useful"}
    book.text(sheet, FIRST, 1, "all GPU-hours")
    book.number(sheet, FIRST, 2, 1, SHARE)
    book.number(sheet, FIRST, 3, evaluation.gpus, WHOLE)
    book.number(sheet, FIRST, 4, 0, SHARE, "solved")  # where the bar of a total stands
    row, left = FIRST, 1.0
    for loss, share in losses.items():
        row, left = row + 1, left - share
        book.text(sheet, row, 1, LOSS_NAMES[loss])
        book.number(sheet, row, 2, share, SHARE, "solved")
        book.formula(sheet, row, 3, f"B{row}*C${FIRST}", share * evaluation.gpus, TENTHS)
        above = "1" if row == FIRST + 1 else f"D{row - 1}"
        book.formula(sheet, row, 4, f"{above}-B{row}", left, SHARE)
    useful = evaluation.losses["useful"]
    book.text(sheet, row + 1, 1, LOSS_NAMES["useful"])
    book.number(sheet, row + 1, 2, useful, SHARE, "solved")
    book.formula(sheet, row + 1, 3, f"B{row + 1}*C${FIRST}", useful * evaluation.gpus, TENTHS)
    book.number(sheet, row + 1, 4, 0, SHARE, "solved")
    book.text(sheet, row + 2, 1, "sum of losses and useful work", "total")
    total = sum(evaluation.losses.values())
    book.formula(sheet, row + 2, 2, f"SUM(B{FIRST + 1}:B{row + 1})", total, SHARE, "total")
    _draw(sheet, row + 1)


def _draw(sheet: Worksheet, last: int) -> None:
    """A waterfall: each loss hangs between what is left before it and after it, on a bar that can't be seen."""
    from openpyxl.chart import BarChart, Reference  # noqa: PLC0415

    chart = BarChart()
    chart.type, chart.grouping, chart.overlap, chart.gapWidth = "col", "stacked", 100, 40
    chart.title, chart.legend = "Where the GPU-hours go", None
    chart.title.overlay = False
    chart.add_data(Reference(sheet, min_col=4, min_row=FIRST, max_row=last), titles_from_data=False)
    chart.add_data(Reference(sheet, min_col=2, min_row=FIRST, max_row=last), titles_from_data=False)
    chart.set_categories(Reference(sheet, min_col=1, min_row=FIRST, max_row=last))
    base, seen = chart.series
    base.graphicalProperties.noFill = True
    base.graphicalProperties.line.noFill = True
    seen.graphicalProperties.solidFill = "56B4E9"
    chart.y_axis.number_format, chart.y_axis.scaling.min, chart.y_axis.scaling.max = "0%", 0, 1
    chart.x_axis.delete = chart.y_axis.delete = False
    chart.width, chart.height = 26, 12
    sheet.add_chart(chart, f"A{last + 4}")
