"""The sheet of power: what racks and zones draw, and the energy of a year, as formulas of the inputs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from spareopt.instance import Instance
from spareopt.plan import Plan
from spareopt.power import rack_draw, zone_draw
from spareopt.units import HOURS_PER_YEAR
from spareopt.workbooks.book import ANY, FINE, TENTHS, WHOLE, Book
from spareopt.workbooks.decisions_sheet import Taken
from spareopt.workbooks.inputs_sheet import InputCells

SHEET = "Power"
FIRST = 5
HEADER = (
    "zone", "zones", "design", "GPU limit, kW", "working tray besides GPUs, kW", "idle tray, kW", "rest of rack, kW",
    "rack at work, kW", "one zone at work, kW", "one zone blocked, kW", "all at work, kW", "all blocked, kW",
)  # fmt: skip


def write_power(
    book: Book, plan: Plan, instance: Instance, taken: list[Taken], inputs: InputCells
) -> Mapping[str, str] | None:
    """Write the sheet; returns references to the highest rack, the IT and site power and the year's energy and carbon.

    None, and a sheet that says so, where the instance does not state what some design draws.
    """
    e = plan.evaluation
    note = "Follows from Inputs and Decisions, but for the share of the time in which the job runs."
    sheet = book.sheet(SHEET, (38, 16, 14, 16, *[14] * 8), f"{instance.name}: power", note)
    if any(item.design.power is None for item in taken):
        book.text(sheet, FIRST, 1, "The instance does not state what the racks of every zone draw.")
        return None
    book.header(sheet, FIRST - 1, HEADER)
    sheet.row_dimensions[FIRST - 1].height = 48
    racks, work, blocked = [], 0.0, 0.0
    for row, item in enumerate(taken, FIRST):
        choice, design, power, limit = item.choice, item.design, item.design.power, item.limit
        assert power is not None and limit is not None
        book.text(sheet, row, 1, choice.zone)
        book.formula(sheet, row, 2, item.cell("count"), choice.count, WHOLE)
        book.text(sheet, row, 3, design.name)
        book.formula(sheet, row, 4, item.cell("limit"), limit, ANY)
        for column, field in enumerate(("tray_other", "tray_idle", "rack_rest"), 5):
            formula = inputs.number("designs", item.design_place, "power", field)
            book.formula(sheet, row, column, formula, getattr(power, field), ANY)
        cell = item.cell
        working = f"({cell('trays_per_block')}-{cell('intra')})"
        tray = f"(E{row}+{cell('gpus_per_tray')}*D{row})"
        racks.append(float(rack_draw(design, power, choice.intra_block_spares, np.array(limit))))
        book.formula(
            sheet, row, 8, f"{cell('blocks_per_rack')}*({working}*{tray}+{cell('intra')}*F{row})+G{row}", racks[-1],
            TENTHS,
        )  # fmt: skip
        spares = np.array([choice.inter_block_spares], dtype=np.int64)
        draw, idle = (
            float(np.ravel(value)[0])
            for value in zone_draw(design, power, choice.racks, choice.intra_block_spares, spares, np.array([limit]))
        )
        blocks = f"{cell('racks')}*{cell('blocks_per_rack')}"
        book.formula(
            sheet, row, 9, f"J{row}+({blocks}-{cell('inter')})*{working}*({tray}-F{row})", draw, TENTHS
        )  # fmt: skip
        all_idle = f"{blocks}*{cell('trays_per_block')}*F{row}+{cell('racks')}*G{row}"
        book.formula(sheet, row, 10, all_idle, idle, TENTHS)
        book.formula(sheet, row, 11, f"B{row}*I{row}", choice.count * draw, TENTHS)
        book.formula(sheet, row, 12, f"B{row}*J{row}", choice.count * idle, TENTHS)
        work, blocked = work + choice.count * draw, blocked + choice.count * idle
    last, below = FIRST + len(taken) - 1, FIRST + len(taken)
    book.text(sheet, below, 1, "highest rack; sum", "total")
    cells = {"rack": book.formula(sheet, below, 8, f"MAX(H{FIRST}:H{last})", max(racks), TENTHS, "total")}
    it = book.formula(sheet, below, 11, f"SUM(K{FIRST}:K{last})", work, TENTHS, "total")
    idle_sum = book.formula(sheet, below, 12, f"SUM(L{FIRST}:L{last})", blocked, TENTHS, "total")

    pue, row = instance.power.pue, below + 2
    assert e.energy_kwh_per_year is not None
    running = (e.energy_kwh_per_year / (pue * HOURS_PER_YEAR) - blocked) / (work - blocked) if work > blocked else 0.0
    book.header(sheet, row, ("site", "now", "unit", "as solved"), freeze=False)
    for column in range(5, len(HEADER) + 1):
        sheet.cell(row, column).value = None
    carbon = (
        f"IF(ISNUMBER({inputs.number('power', 'grid_intensity')}),"
        f'B{row + 5}*{inputs.number("power", "grid_intensity")},"none")'
    )
    lines: list[tuple[str, str, str | None, float | None, str, str]] = [
        ("it", "IT power", it, work, "kW", TENTHS),
        ("pue", "PUE", inputs.number("power", "pue"), pue, "", ANY),
        ("site", "site power", f"B{row + 1}*B{row + 2}", e.site_power_kw, "kW", TENTHS),
        ("running", "share of the time at work, as solved", None, running, "", FINE),
        (
            "energy", "energy", f"B{row + 2}*{HOURS_PER_YEAR:g}*({idle_sum}+B{row + 4}*(B{row + 1}-{idle_sum}))",
            e.energy_kwh_per_year, "kWh per year", WHOLE,
        ),
        ("carbon", "carbon", carbon, e.carbon_kg_per_year, "kg per year", WHOLE),
    ]  # fmt: skip
    for place, (name, words, line, value, unit, shown) in enumerate(lines, row + 1):
        book.text(sheet, place, 1, words)
        if line is None:
            book.number(sheet, place, 2, value, shown, "solved")
        else:
            cells[name] = book.formula(sheet, place, 2, line, value, shown)
        book.text(sheet, place, 3, unit)
        book.number(sheet, place, 4, value, shown, "solved")
    return cells
