"""Contracts: a table of vendors' terms of repair as an overlay, a repair plan for each, and the table to start from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spareopt import units
from spareopt.errors import Fault, InputError
from spareopt.overlays.overlay import LIKE, Origin, Overlay, Place
from spareopt.overlays.tables import Cells, choices_text, name_of, quantity_text, read_table, table_text

if TYPE_CHECKING:
    from spareopt.instance import Instance
    from spareopt.repair_plans import RepairPlan

TIMES = {
    "tray_response": "tray.off_crew",
    "tray_hands_on": "tray.hands_on",
    "rack_response": "rack.off_crew",
    "rack_hands_on": "rack.hands_on",
}
"""Columns of repair times: the field of the repair plan."""
Read = Callable[[Cells, str], Any]
TERMS: dict[str, tuple[str, Read]] = {
    "crews": ("crews", Cells.choices),
    "crew_cost": ("crew_cost", lambda cells, column: cells.quantity(column, units.MONEY_PER_YEAR)),
    "spare_pool": ("shelf", Cells.choices),
    "resupply": ("lead_time", lambda cells, column: cells.quantity(column, units.TIME)),
    "parts_share": ("parts_share", Cells.share),
    "tray_price": ("tray_price", lambda cells, column: cells.quantity(column, units.MONEY)),
    "shared_by": ("shared_by", lambda cells, column: cells.word(column, ("zone", "site"))),
    "start_at": ("start_at", Cells.choices),
    "window": ("window", lambda cells, column: cells.quantity(column, units.TIME)),
    "yearly_price": ("yearly_cost", lambda cells, column: cells.quantity(column, units.MONEY_PER_YEAR)),
}
"""Columns of other terms: the field of the repair plan, and how its cell is read."""
COLUMNS = ("name", LIKE, *TIMES, *TERMS, "price_for", "note")
HEADER = frozenset({*TIMES, "spare_pool", "resupply", "yearly_price", "price_for"})
"""What tells contracts from other tables: any of these."""
NONE = "none"
"""The word that takes a term out."""
TAKES_OUT = {
    "crews": ("crew_cost",),
    "spare_pool": ("resupply", "parts_share", "tray_price"),
    "start_at": (),
    "window": (),
}
"""Terms that may be taken out, and those that go with them where their cells are empty."""


def read_contracts(path: Path) -> Overlay:
    """A list of contracts as an overlay.  Raises InputError with every fault found, each with its line and column."""
    label = str(path)
    table = read_table(path, label, COLUMNS, ("name",))
    faults: list[Fault] = []
    plans: list[dict[str, Any]] = []
    times: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    lines: dict[Place, int] = {}
    columns: dict[Place, str] = {}
    overrides: dict[str, Any] = {}
    for row in table.rows:
        cells = Cells(row, faults)
        name, like = cells.text("name"), cells.text(LIKE)
        if name is None:
            cells.refuse("name", "required, but empty; expected the name of the contract")
            continue
        place = ("repair_plans", len(plans))
        lines[place] = row.line
        plan = {"name": name} if like is None else {"name": name, LIKE: like}
        terms = _terms(cells)
        plan |= {TERMS[column][0]: value for column, value in terms.items()}
        columns |= {(*place, "name"): "name", (*place, LIKE): LIKE}
        columns |= {(*place, TERMS[column][0]): column for column in terms}
        plans.append(plan)
        own = {column: cells.quantity(column, units.TIME) for column in TIMES}
        # times are overrides, which come after all items: what is like a contract above has its times, too
        times[name] = times.get(like or "", {}) | {column: value for column, value in own.items() if value is not None}
        for column, value in times[name].items():
            field = f"repair_plans.{name}.{TIMES[column]}"
            overrides[field] = value
            lines["overrides", field], columns["overrides", field] = row.line, column
        _check_price(cells)
        if len(row.cells) == 1:
            cells.refuse("name", "has no terms; fill in what the contract says, or take the row out")
        if note := cells.text("note"):
            notes.append(f"contract {name}: {note}")
    if faults:
        raise InputError(label, faults)
    overlay = Overlay(
        name=name_of(path),
        source=f"contracts {path.name} (sha256 {table.digest})",
        notes=tuple(notes),
        overrides=overrides,
        repair_plans=tuple(plans),
    ).placed(Origin(label, lines, columns))
    return overlay.checked()


def _terms(cells: Cells) -> dict[str, Any]:
    """The terms that a row states; None for those that are taken out."""
    terms: dict[str, Any] = {}
    for column, (_, read) in TERMS.items():
        text = cells.text(column)
        if text is None:
            continue
        if column in TAKES_OUT and text.lower() == NONE:
            terms |= dict.fromkeys((column, *TAKES_OUT[column]))
            continue
        value = read(cells, column)
        if value is not None:
            terms[column] = value
    return terms


def _check_price(cells: Cells) -> None:
    """Refuse what no repair plan says: its yearly cost counts for each zone that takes it."""
    if cells.word("price_for", ("zone", "site")) == "site":
        message = (
            "a yearly price counts once for each zone that takes the contract; state that, with price_for zone: where "
            "all zones take it together (shared_by site), the site's price over the number of zones"
        )
        cells.refuse("price_for", message)


def contracts_template(instance: Instance) -> str:
    """A list of contracts with an instance's repair plans, to be edited; unedited it changes nothing."""
    rows = [_row(plan, instance.currency) for plan in instance.repair_plans]
    return table_text(_comments(instance), COLUMNS, rows)


def _row(plan: RepairPlan, currency: str) -> dict[str, str]:
    row = {"name": plan.name}
    for fault, times in (("tray", plan.tray), ("rack", plan.rack)):
        if times is not None:
            row[f"{fault}_response"] = quantity_text(times.off_crew, units.TIME)
            if times.hands_on is not None:  # else phases, which a table has no cells for, say it
                row[f"{fault}_hands_on"] = quantity_text(times.hands_on, units.TIME)
    if plan.crews is not None:
        row["crews"] = choices_text(plan.crews)
        row["crew_cost"] = quantity_text(plan.crew_cost, units.MONEY_PER_YEAR, currency)
    if plan.shelf is not None and plan.lead_time is not None:
        row["spare_pool"] = choices_text(plan.shelf)
        row["resupply"] = quantity_text(plan.lead_time, units.TIME)
        row["parts_share"] = repr(plan.parts_share)
        row["tray_price"] = quantity_text(plan.tray_price, units.MONEY, currency)
    if plan.start_at is not None:
        row["start_at"] = choices_text(plan.start_at)
    if plan.window is not None:
        row["window"] = quantity_text(plan.window, units.TIME)
    row["yearly_price"] = quantity_text(plan.yearly_cost, units.MONEY_PER_YEAR, currency)
    return row | {"shared_by": plan.shared_by, "price_for": "zone"}


def _comments(instance: Instance) -> Sequence[str]:
    symbol, plan = units.CURRENCIES[instance.currency], instance.repair_plans[0].name
    example = {
        "name": "gold", LIKE: plan, "tray_response": "4 h", "tray_hands_on": "2 h", "shared_by": "zone",
        "yearly_price": f"1.2 M{symbol} per year", "price_for": "zone", "note": "offer of 2 April",
    }  # fmt: skip
    return [
        f"Contracts for {instance.name}: each row is a repair plan to choose. Lines that begin with # are comments.",
        "Edit the numbers, take out the rows that you do not change, add a row for each offer:",
        "  " + ",".join(example.get(column, "") for column in COLUMNS),
        "like: the plan (of the instance, or above) that the row starts from; an empty cell leaves what that has.",
        "tray_response, rack_response: mean time from the fault until hands are on it. hands_on: the work itself.",
        "  Only times with units: turn `next business day` into the mean wait over the hours in which faults come.",
        "crews, spare_pool (trays on the shelf), start_at: choices such as 4, or 0;40;80, or 0..80 step 20. none takes",
        "  a term out: crews none is ample crews, spare_pool none is a tray at hand for every fault.",
        "resupply: mean time until a tray taken from the shelf is replaced. parts_share: of the faults that need one.",
        "shared_by: who has the crews and the pool, each zone its own or the site.",
        "yearly_price: for each zone that takes the contract (price_for zone), besides crew_cost for each crew and",
        "  tray_price for each tray of the pool.",
    ]
