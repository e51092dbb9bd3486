"""The first sheet: the answer in three sentences, the headline numbers, whether inputs were changed since."""

from __future__ import annotations

from collections.abc import Mapping

from openpyxl.styles import Alignment, PatternFill

from spareopt import units
from spareopt.answer_text import answer_sentences
from spareopt.instance import Instance
from spareopt.plan import ALL_PLANS, Plan
from spareopt.workbooks.book import ANY, FINE, LEGEND, MONEY, TENTHS, WHOLE, Book, new_book
from spareopt.workbooks.inputs_sheet import FIRST
from spareopt.workbooks.inputs_sheet import SHEET as INPUTS
from spareopt.workbooks.record_sheet import SHEET as RECORD

SHEET = "Summary"
WIDTHS = (40, 22, 26, 22, 46)


def start(instance: Instance) -> Book:
    """A workbook with its first sheet, still empty, so that it stands before all others."""
    book = new_book(f"{instance.name}: plan")
    sheet = book.sheet(SHEET, WIDTHS, f"{instance.name}: plan")
    sheet.sheet_properties.tabColor = "1F4E78"
    return book


def write_summary(
    book: Book,
    plan: Plan,
    instance: Instance,
    source: str,
    inputs: int,
    sums: Mapping[str, str],
    power: Mapping[str, str] | None,
    money: Mapping[str, str],
) -> None:
    """Fill the sheet; ``inputs`` is the number of rows on the sheet of inputs, ``source`` what to solve again."""
    sheet, e = book.workbook[SHEET], plan.evaluation
    row = 3
    for sentence in answer_sentences(plan, "as on the sheet Decisions", "see Method on the sheet Sources"):
        book.text(sheet, row, 1, sentence, "wrapped")
        sheet.merge_cells(start_row=row, start_column=1, end_row=row, end_column=len(WIDTHS))
        sheet.row_dimensions[row].height = 15 * (1 + len(sentence) // 140)
        row += 1
    row += 1
    _write_state(book, row, source, inputs, "" if plan.certificate.among == ALL_PLANS else " --alike")
    row += 3
    book.header(sheet, row, ("", "now", "unit", "as solved", "follows Inputs?"), freeze=False)
    symbol = units.CURRENCIES[e.currency]
    drawn: Mapping[str, str] = power or {}
    lines: list[tuple[str, str | None, float | int | None, str, str]] = [
        ("goodput", None, e.goodput, "baseline GPUs", TENTHS),
        ("goodput per GPU", None, e.goodput_scale, "baseline GPUs per GPU", FINE),
        ("CETT", None, e.cett, "useful share of GPU-hours", FINE),
        ("availability A", None, e.availability, "share of the time", FINE),
        ("recovery efficiency", None, e.recovery_efficiency, "share of unblocked time", FINE),
        ("interruptions", None, e.interruptions_per_day, "per day", "0.00"),
        ("GPUs", sums["gpus"], e.gpus, "GPUs", WHOLE),
        ("working GPUs", sums["working"], e.working_gpus, "GPUs", WHOLE),
        ("racks", sums["all_racks"], sum(c.count * c.racks for c in plan.decisions.zones), "racks", WHOLE),
        ("capital", money["capital"], e.capital, symbol, MONEY),
        ("yearly cost", money["yearly_cost"], e.yearly_cost, f"{symbol} per year", MONEY),
        ("cost, capital spread", money["cost_per_year"], e.cost_per_year, f"{symbol} per year", MONEY),
        (
            "cost per useful GPU-hour", money["cost_per_useful_gpu_hour"], e.cost_per_useful_gpu_hour,
            f"{symbol} per GPU-hour", "0.0000",
        ),
        ("IT power", drawn.get("it"), e.it_power_kw, "kW", TENTHS),
        ("site power", drawn.get("site"), e.site_power_kw, "kW", TENTHS),
        ("energy", drawn.get("energy"), e.energy_kwh_per_year, "kWh per year", WHOLE),
        ("carbon", drawn.get("carbon"), e.carbon_kg_per_year, "kg per year", WHOLE),
        ("time to finish the job", None, e.wall_time_h, "h", TENTHS),
    ]  # fmt: skip
    for words, cell, value, unit, shown in lines:
        if cell is None and value is None:
            continue
        row += 1
        book.text(sheet, row, 1, words)
        if cell is None:
            book.number(sheet, row, 2, value, shown, "solved")
        else:
            book.formula(sheet, row, 2, cell, value, shown)
        book.text(sheet, row, 3, unit)
        book.number(sheet, row, 4, value, shown, "solved")
        book.text(sheet, row, 5, "no: changes need a new solve" if cell is None else "yes", "note")
    row = _write_certificate(book, plan, row + 2)
    book.text(sheet, row + 1, 1, "Colours")
    for style, words in LEGEND:
        row += 1
        book.number(sheet, row + 1, 1, "123", style=style)
        book.text(sheet, row + 1, 2, words)


def _write_state(book: Book, row: int, source: str, inputs: int, alike: str) -> None:
    """How many inputs were changed, what to do then, and whether the formulas still find their inputs."""
    sheet, last = book.workbook[SHEET], FIRST + inputs - 1
    book.text(sheet, row, 1, "inputs changed since it was solved")
    count = f'COUNTIF({INPUTS}!$E${FIRST}:$E${last},"changed")'
    book.formula(sheet, row, 2, count, 0, WHOLE)
    again = f"solve again: spareopt solve {source} --overlay THIS-FILE.xlsx{alike}"
    moved = '"ROWS OF INPUTS WERE MOVED OR INSERTED: undo it, or formulas may read the wrong ones"'
    same = f"SUMPRODUCT(({INPUTS}!$A${FIRST}:$A${last}={RECORD}!$A${FIRST}:$A${last})*1)={inputs}"
    state = (
        f'IF(B{row}=0,"nothing is changed: all numbers are of the plan as solved",'
        '"what does not follow is of the plan as solved")'
    )
    formula = f"IFERROR(IF({same},{state},{moved}),{moved})"
    book.formula(sheet, row, 3, formula, "nothing is changed: all numbers are of the plan as solved")
    sheet.cell(row, 3).alignment = Alignment(horizontal="left")
    book.text(sheet, row + 1, 1, "after changes")
    book.text(sheet, row + 1, 2, again)
    for column in range(1, len(WIDTHS) + 1):
        for place in (row, row + 1):
            sheet.cell(place, column).fill = PatternFill("solid", fgColor="DDEBF7")


def _write_certificate(book: Book, plan: Plan, row: int) -> int:
    """The proof, number by number; returns the next free row."""
    sheet, c = book.workbook[SHEET], plan.certificate
    book.header(sheet, row, ("certificate", "", "unit", "", ""), freeze=False)
    lines: list[tuple[str, float | int | str, str, str]] = [
        ("status", c.status, "", ANY),
        ("objective", f"{c.sense} {c.objective.replace('_', ' ')}", "", ANY),
        ("value of the plan", c.value, c.unit, "#,##0.0000"),
        ("bound: no plan is better", c.bound, c.unit, "#,##0.0000"),
        ("gap", c.gap, "share of the value", "0.0E+00"),
        ("gap asked", c.gap_asked, "share of the value", "0.0E+00"),
        ("model", c.model, "", ANY),
        ("gap and bound are of", c.among, "", ANY),
    ]
    for words, value, unit, shown in lines:
        row += 1
        book.text(sheet, row, 1, words)
        book.number(sheet, row, 2, value, shown, "solved")
        book.text(sheet, row, 3, unit)
    return row + 1
