"""The sheet of money: what is bought and paid each year, number times price, and the cost of the plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spareopt import units
from spareopt.errors import Fault, InputError
from spareopt.instance import Instance
from spareopt.plan import Plan
from spareopt.units import HOURS_PER_YEAR
from spareopt.workbooks.book import ANY, MONEY, NONE, TENTHS, WHOLE, Book, Style
from spareopt.workbooks.decisions_sheet import Taken
from spareopt.workbooks.inputs_sheet import InputCells

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

SHEET = "Money"
FIRST = 5
Value = float | None


@dataclass(frozen=True)
class Line:
    """A number of things at a price: formulas, and their values as solved.

    ``optional``: where the price is not set the line costs nothing; else nothing that depends on it is known.
    """

    words: str
    number: str
    number_value: float
    unit: str
    price: str
    price_value: Value
    optional: bool = False


def write_money(
    book: Book,
    plan: Plan,
    instance: Instance,
    taken: list[Taken],
    inputs: InputCells,
    power: Mapping[str, str] | None,
) -> Mapping[str, str]:
    """Write the sheet; returns references to capital, yearly cost, cost per year and cost per useful GPU-hour.

    Raises InputError where the lines do not add up to the evaluation of the plan.
    """
    e, money = plan.evaluation, units.CURRENCIES[instance.currency]
    note = "Follows from the prices in Inputs and from Decisions; useful GPU-hours are of the plan as solved."
    header = ("", "number", "unit", f"price, {money}", f"amount, {money}", f"as solved, {money}", f"change, {money}")
    sheet = book.sheet(SHEET, (66, 18, 22, 18, 20, 20, 18), f"{instance.name}: money", note)
    book.header(sheet, FIRST - 1, header)
    cells: dict[str, str] = {}
    row = FIRST
    for name, words, lines, value in (
        ("capital", "capital", _capital_lines(plan, instance, taken, inputs, power), e.capital),
        ("yearly_cost", "yearly cost", _yearly_lines(plan, instance, taken, inputs, power), e.yearly_cost),
    ):
        _check_sum(instance, name, lines, value)
        top = row
        for line in lines:
            _write_line(book, sheet, row, line)
            row += 1
        formula = f'IF(COUNT(E{top}:E{row - 1})={len(lines)},SUM(E{top}:E{row - 1}),"none")'
        cells[name] = _write_result(book, sheet, row, words, formula, value, style="total")
        row += 2
    years = instance.economics.amortisation / HOURS_PER_YEAR
    book.text(sheet, row, 1, "years over which capital is spread, without discount")
    years_cell = book.formula(
        sheet, row, 2, inputs.number("economics", "amortisation", per=HOURS_PER_YEAR), years, ANY
    )  # fmt: skip
    capital, yearly = cells["capital"], cells["yearly_cost"]
    known = f"ISNUMBER({capital})"
    cells["cost_per_year"] = _write_result(
        book, sheet, row + 1, "cost per year: capital over these years, plus yearly cost",
        f'IF({known},{capital}/{years_cell}+{yearly},"none")', e.cost_per_year, style="total",
    )  # fmt: skip
    book.text(sheet, row + 2, 1, "useful GPU-hours per year (as solved: changes need a new solve)")
    book.number(sheet, row + 2, 2, e.useful_gpu_hours_per_year, WHOLE, "solved")
    book.text(sheet, row + 3, 1, "goodput, baseline GPUs (as solved: changes need a new solve)")
    book.number(sheet, row + 3, 2, e.goodput, TENTHS, "solved")
    cost = cells["cost_per_year"]
    cells["cost_per_useful_gpu_hour"] = _write_result(
        book, sheet, row + 4, "cost per useful GPU-hour", f'IF(ISNUMBER({cost}),{cost}/B{row + 2},"none")',
        e.cost_per_useful_gpu_hour, "0.0000",
    )  # fmt: skip
    cells["goodput_gpu_hours_per_money"] = _write_result(
        book, sheet, row + 5, f"baseline GPU-hours per {money}",
        f'IF(ISNUMBER({cost}),B{row + 3}*{HOURS_PER_YEAR:g}/{cost},"none")', e.goodput_gpu_hours_per_money, "0.0000",
    )  # fmt: skip
    return cells


def _capital_lines(
    plan: Plan, instance: Instance, taken: list[Taken], inputs: InputCells, power: Mapping[str, str] | None
) -> list[Line]:
    lines = []
    for item in taken:
        price = inputs.number("designs", item.design_place, "rack_price")
        words = f"racks of {item.choice.zone} ({item.design.name})"
        racks = item.choice.count * item.choice.racks
        lines.append(Line(words, item.cell("all_racks"), racks, "racks", price, item.design.rack_price))
    for item, times, number in _of_repair(taken, "shelf"):
        price = inputs.number("repair_plans", item.plan_place, "tray_price")
        words = f"trays on the shelf of {_whose(item)} ({item.plan.name})"
        lines.append(Line(words, f"{times}{item.cell('shelf')}", number, "trays", price, item.plan.tray_price))
    if power is not None:
        price, value = inputs.number("economics", "site_capital"), instance.economics.site_capital
        draw = plan.evaluation.it_power_kw or 0.0
        lines.append(Line("building and its power", power["it"], draw, "kW of IT power", price, value, optional=True))
    return lines


def _yearly_lines(
    plan: Plan, instance: Instance, taken: list[Taken], inputs: InputCells, power: Mapping[str, str] | None
) -> list[Line]:
    lines = []
    for item in taken:
        price = inputs.number("repair_plans", item.plan_place, "yearly_cost")
        words = f"repair plan {item.plan.name} of {item.choice.zone}"
        lines.append(Line(words, item.cell("count"), item.choice.count, "zones", price, item.plan.yearly_cost))
    for item, times, number in _of_repair(taken, "crews"):
        price = inputs.number("repair_plans", item.plan_place, "crew_cost")
        words = f"crews of {_whose(item)} ({item.plan.name})"
        lines.append(Line(words, f"{times}{item.cell('crews')}", number, "crews", price, item.plan.crew_cost))
    name = plan.decisions.checkpoint_plan
    place, scheme = next((i, scheme) for i, scheme in enumerate(instance.checkpoint_plans) if scheme.name == name)
    price = inputs.number("checkpoint_plans", place, "yearly_cost")
    lines.append(Line(f"checkpoint plan {name}", "1", 1, "plan", price, scheme.yearly_cost))
    if power is not None:
        price, value = inputs.number("power", "energy_price"), instance.power.energy_price
        energy = plan.evaluation.energy_kwh_per_year or 0.0
        lines.append(Line("energy", power["energy"], energy, "kWh", price, value, optional=True))
    return lines


def _of_repair(taken: list[Taken], what: Literal["crews", "shelf"]) -> list[tuple[Taken, str, float]]:
    """Who has crews (or a shelf), the formula of how many times, and how many in all; what all zones share, once."""
    found: list[tuple[Taken, str, float]] = []
    for item in taken:
        number = item.repair.crews if what == "crews" else item.repair.shelf_trays
        if number is None:
            continue
        if item.plan.shared_by == "site":
            return [(item, "", number)]
        found.append((item, f"{item.cell('count')}*", item.choice.count * number))
    return found


def _whose(item: Taken) -> str:
    return "the site" if item.plan.shared_by == "site" else item.choice.zone


def _amount(line: Line) -> Value:
    if line.price_value is None:
        return 0.0 if line.optional else None
    return line.number_value * line.price_value


def _check_sum(instance: Instance, name: str, lines: list[Line], value: Value) -> None:
    """Refuse a plan that is not of this instance: its lines would not add up."""
    amounts = [_amount(line) for line in lines]
    total = None if None in amounts else sum(amount or 0.0 for amount in amounts)
    if (total is None) != (value is None) or not math.isclose(total or 0.0, value or 0.0, rel_tol=1e-9):
        message = f"the plan has {value}, its parts by this instance add up to {total}; give the instance of the plan"
        raise InputError(instance.name, [Fault(name, message)])


def _write_line(book: Book, sheet: Worksheet, row: int, line: Line) -> None:
    amount = _amount(line)
    book.text(sheet, row, 1, line.words)
    book.formula(sheet, row, 2, line.number, line.number_value, WHOLE if line.number_value >= 1000 else ANY)
    book.text(sheet, row, 3, line.unit)
    small = line.price_value is not None and line.price_value < 1000
    book.formula(sheet, row, 4, line.price, line.price_value, ANY if small else MONEY)
    missing = "0" if line.optional else f'"{NONE}"'
    book.formula(sheet, row, 5, f"IF(ISNUMBER(D{row}),B{row}*D{row},{missing})", amount, MONEY)
    _write_solved(book, sheet, row, amount, MONEY)


def _write_result(
    book: Book, sheet: Worksheet, row: int, words: str, formula: str, value: Value, shown: str = MONEY,
    style: Style = "plain",
) -> str:  # fmt: skip
    for column in range(1, 8):
        book.text(sheet, row, column, words if column == 1 else "", style)
    cell = book.formula(sheet, row, 5, formula, value, shown, style)
    _write_solved(book, sheet, row, value, shown)
    return cell


def _write_solved(book: Book, sheet: Worksheet, row: int, value: Value, shown: str) -> None:
    book.number(sheet, row, 6, value, shown, "solved")
    noise = f"IF(ABS(E{row}-F{row})<=ABS(F{row})/10^12,0,E{row}-F{row})"
    change = f'IF(AND(ISNUMBER(E{row}),ISNUMBER(F{row})),{noise},"")'
    book.formula(sheet, row, 7, change, "" if value is None else 0, shown)
