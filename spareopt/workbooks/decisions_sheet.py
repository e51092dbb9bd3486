"""The sheet of decisions: what to build and how to run it, a row for each zone choice, with the GPUs it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spareopt import units
from spareopt.decisions import ZoneChoice, repair_choice
from spareopt.instance import BlockDesign, Instance
from spareopt.plan import Plan
from spareopt.repair import RepairChoice
from spareopt.repair_plans import RepairPlan
from spareopt.workbooks.book import ANY, WHOLE, Book
from spareopt.workbooks.inputs_sheet import InputCells

SHEET = "Decisions"
FIRST = 5
COLUMNS = {
    "zone": "zone", "count": "zones", "design": "design", "racks": "racks per zone",
    "blocks_per_rack": "blocks per rack", "trays_per_block": "K: trays per block", "gpus_per_tray": "GPUs per tray",
    "intra": "I: spare trays per block", "inter": "R: spare blocks per zone", "stranded": "of them stranded",
    "plan": "repair plan", "crews": "crews", "shelf": "trays on the shelf", "start_at": "repair starts at trays down",
    "limit": "GPU limit, kW", "all_racks": "racks in all", "gpus": "GPUs in all", "working": "working GPUs in all",
}  # fmt: skip
LETTER = {name: chr(ord("A") + place) for place, name in enumerate(COLUMNS)}


@dataclass(frozen=True)
class Taken:
    """A zone choice with the parts of the instance that it takes, their places in it, and its row."""

    choice: ZoneChoice
    design: BlockDesign
    design_place: int
    plan: RepairPlan
    plan_place: int
    repair: RepairChoice
    row: int

    def cell(self, column: str) -> str:
        """A cell of its row, for the formulas of any sheet."""
        return f"{SHEET}!${LETTER[column]}${self.row}"

    @property
    def limit(self) -> float | None:
        """The GPU limit in kW; None where no power is stated."""
        if self.choice.gpu_limit is not None or self.design.power is None:
            return self.choice.gpu_limit
        return self.design.power.gpu_full_limit


def taken_choices(plan: Plan, instance: Instance) -> list[Taken]:
    """The zone choices of a plan in its order, with what they take of the instance."""
    designs = {design.name: (design, place) for place, design in enumerate(instance.designs)}
    plans = {repair.name: (repair, place) for place, repair in enumerate(instance.repair_plans)}
    return [
        Taken(
            choice, *designs[choice.design], *plans[choice.repair_plan],
            repair_choice(plans[choice.repair_plan][0], choice), FIRST + place,
        )
        for place, choice in enumerate(plan.decisions.zones)
    ]  # fmt: skip


def write_decisions(book: Book, plan: Plan, taken: list[Taken], inputs: InputCells) -> Mapping[str, str]:
    """Write the sheet; returns references to the sums (all_racks, gpus, working)."""
    note = "Another choice is another plan: score it with spareopt evaluate. Numbers of a design follow from Inputs."
    widths = [14, 8, 14, *[10] * 7, 24, *[10] * 3, 10, 10, 12, 12]
    sheet = book.sheet(SHEET, widths, f"{plan.provenance.instance}: decisions", note)
    book.header(sheet, FIRST - 1, list(COLUMNS.values()))
    sheet.row_dimensions[FIRST - 1].height = 48
    place = {name: column for column, name in enumerate(COLUMNS, 1)}
    for item, scored in zip(taken, plan.evaluation.zones, strict=True):
        choice, design, row = item.choice, item.design, item.row
        for name, text in (("zone", choice.zone), ("design", design.name), ("plan", item.plan.name)):
            book.text(sheet, row, place[name], text)
        numbers = {
            "count": choice.count, "racks": choice.racks, "intra": choice.intra_block_spares,
            "inter": choice.inter_block_spares, "stranded": scored.stranded_blocks,
        }  # fmt: skip
        for name, number in numbers.items():
            book.number(sheet, row, place[name], number, WHOLE)
        optional = {
            "crews": item.repair.crews, "shelf": item.repair.shelf_trays, "start_at": item.repair.start_at,
        }  # fmt: skip
        for name, value in optional.items():
            if value is not None:
                book.number(sheet, row, place[name], value, WHOLE)
        for name in ("blocks_per_rack", "trays_per_block", "gpus_per_tray"):
            book.formula(
                sheet, row, place[name], inputs.number("designs", item.design_place, name), getattr(design, name), WHOLE
            )
        if choice.gpu_limit is not None:
            book.number(sheet, row, place["limit"], choice.gpu_limit, ANY)
        elif item.limit is not None:
            full = inputs.number("designs", item.design_place, "power", "gpu_full_limit")
            book.formula(sheet, row, place["limit"], full, item.limit, ANY)
        cell = {name: f"{letter}{row}" for name, letter in LETTER.items()}
        blocks = f"{cell['racks']}*{cell['blocks_per_rack']}"
        trays, gpus = cell["trays_per_block"], cell["gpus_per_tray"]
        formulas = {
            "all_racks": (f"{cell['count']}*{cell['racks']}", choice.count * choice.racks),
            "gpus": (f"{cell['count']}*{blocks}*{trays}*{gpus}", choice.count * scored.gpus),
            "working": (
                f"{cell['count']}*({blocks}-{cell['inter']})*({trays}-{cell['intra']})*{gpus}",
                choice.count * scored.working_gpus,
            ),
        }
        for name, (formula, value) in formulas.items():
            book.formula(sheet, row, place[name], formula, value, WHOLE)
    last, below = FIRST + len(taken) - 1, FIRST + len(taken)
    sums = {
        "count": sum(item.choice.count for item in taken),
        "all_racks": sum(item.choice.count * item.choice.racks for item in taken),
        "gpus": plan.evaluation.gpus,
        "working": plan.evaluation.working_gpus,
    }
    book.text(sheet, below, 1, "sum", "total")
    cells = {
        name: book.formula(
            sheet, below, place[name], f"SUM({LETTER[name]}{FIRST}:{LETTER[name]}{last})", value, WHOLE, "total"
        )
        for name, value in sums.items()
    }
    book.text(sheet, below + 2, 1, f"checkpoint plan: {plan.decisions.checkpoint_plan}")
    period = plan.evaluation.checkpoint_period_h
    if period is not None:
        shown = units.show(period, units.TIME)
        book.text(sheet, below + 3, 1, f"work between two saves: {shown} (the best period is of the plan as solved)")
    return cells
