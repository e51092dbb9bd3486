"""Price lists: a table of a planner's own prices and block offers as an overlay, and the table to start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spareopt import units
from spareopt.errors import Fault, InputError
from spareopt.overlays.overlay import LETTERS, LIKE, Origin, Overlay, Place, is_name
from spareopt.overlays.tables import Cells, Row, choices_text, name_of, quantity_text, read_table, table_text

if TYPE_CHECKING:
    from spareopt.instance import Instance


@dataclass(frozen=True)
class Item:
    """What a row may price: the field that its price goes to ({name}: the item's), and the price's unit."""

    field: str
    kind: units.Kind
    what: str

    @property
    def named(self) -> bool:
        """Whether the row must name one of several."""
        return "{name}" in self.field


RACK = "rack"
PRICED = {
    RACK: Item("designs.{name}.rack_price", units.MONEY, "a design"),
    "shelf tray": Item("repair_plans.{name}.tray_price", units.MONEY, "a repair plan"),
    "crew": Item("repair_plans.{name}.crew_cost", units.MONEY_PER_YEAR, "a repair plan"),
    "repair plan": Item("repair_plans.{name}.yearly_cost", units.MONEY_PER_YEAR, "a repair plan"),
    "checkpoint plan": Item("checkpoint_plans.{name}.yearly_cost", units.MONEY_PER_YEAR, "a checkpoint plan"),
    "energy": Item("power.energy_price", units.ENERGY_PRICE, ""),
    "site": Item("economics.site_capital", units.MONEY_PER_POWER, ""),
}
COUNTS = ("trays_per_block", "gpus_per_tray", "blocks_per_rack")
CHOICES = ("intra_block_spares", "inter_block_spares")
OFFER = (LIKE, *COUNTS, *CHOICES)
"""Columns of racks only."""
COLUMNS = ("item", "name", "price", *OFFER, "note")
HEADER = frozenset({"item", "price"})
"""What tells a price list from other tables."""


def read_price_list(path: Path) -> Overlay:
    """A price list as an overlay.  Raises InputError with every fault found, each with its line and column."""
    label = str(path)
    table = read_table(path, label, COLUMNS, ("item", "price"))
    faults: list[Fault] = []
    designs: list[dict[str, Any]] = []
    overrides: dict[str, Any] = {}
    notes: list[str] = []
    lines: dict[Place, int] = {}
    columns: dict[Place, str] = {}
    seen: dict[tuple[str, str], int] = {}
    for row in table.rows:
        cells = Cells(row, faults)
        item = cells.word("item", tuple(PRICED))
        if item is None:
            if cells.text("item") is None:
                cells.refuse("item", f"required, but empty; expected one of {', '.join(PRICED)}")
            continue
        name = _name(cells, row, item, seen, faults)
        if name is None:
            continue
        price = cells.quantity("price", PRICED[item].kind)
        where = f"{item} {name}".strip()
        if note := cells.text("note"):
            notes.append(f"{where}: {note}")
        if item == RACK:
            offer = _offer(cells, name, price)
            if len(offer) == 1 and cells.text("price") is None:
                cells.refuse("price", "required, but empty; or state what the offer is `like`")
            place = ("designs", len(designs))
            lines[place] = row.line
            columns |= {(*place, field): "price" if field == "rack_price" else field for field in offer}
            designs.append(offer)
            continue
        for column in OFFER:
            if cells.text(column) is not None:
                cells.refuse(column, f"only used with item {RACK}; leave it empty")
        if cells.text("price") is None:
            cells.refuse("price", f'required, but empty; expected {PRICED[item].kind.name} for item "{item}"')
        if price is not None:
            field = PRICED[item].field.format(name=name)
            overrides[field] = price
            lines["overrides", field], columns["overrides", field] = row.line, "price"
    if faults:
        raise InputError(label, faults)
    overlay = Overlay(
        name=name_of(path),
        source=f"price list {path.name} (sha256 {table.digest})",
        notes=tuple(notes),
        overrides=overrides,
        designs=tuple(designs),
    ).placed(Origin(label, lines, columns))
    return overlay.checked()


def _name(cells: Cells, row: Row, item: str, seen: dict[tuple[str, str], int], faults: list[Fault]) -> str | None:
    """The name that a row prices, "" where there is but one of the item; None where it is refused."""
    name = cells.text("name")
    if not PRICED[item].named and name is not None:
        cells.refuse("name", f'item "{item}" has no name; leave it empty')
        return None
    if PRICED[item].named and name is None:
        cells.refuse("name", f"required, but empty; expected the name of {PRICED[item].what}")
        return None
    name = name or ""
    if name and not is_name(name):
        cells.refuse("name", f"expected the name of {PRICED[item].what}, one in each row ({LETTERS})")
        return None
    if (item, name) in seen:
        where = f"{item} {name}".strip()
        message = f"{where} is priced twice (first in line {seen[item, name]}); keep one of them"
        faults.append(Fault("column name" if name else "column item", message, row.line))
        return None
    seen[item, name] = row.line
    return name


def _offer(cells: Cells, name: str, price: str | None) -> dict[str, Any]:
    values: dict[str, Any] = {LIKE: cells.text(LIKE), "rack_price": price}
    values |= {column: cells.count(column) for column in COUNTS}
    values |= {column: cells.choices(column) for column in CHOICES}
    return {"name": name, **{field: value for field, value in values.items() if value is not None}}


def price_list_template(instance: Instance) -> str:
    """A price list with what an instance states, to be edited; unedited it changes nothing."""
    money = instance.currency
    symbol = units.CURRENCIES[money]
    rows: list[dict[str, str]] = []

    def add(item: str, name: str, value: float | None) -> None:
        if value is not None:
            rows.append({"item": item, "name": name, "price": quantity_text(value, PRICED[item].kind, money)})

    for design in instance.designs:
        row = {"item": RACK, "name": design.name}
        if design.rack_price is not None:
            row["price"] = quantity_text(design.rack_price, units.MONEY, money)
        row |= {column: str(getattr(design, column)) for column in COUNTS}
        row |= {column: choices_text(getattr(design, column)) for column in CHOICES}
        rows.append(row)
    for plan in instance.repair_plans:
        add("repair plan", plan.name, plan.yearly_cost)
        add("crew", plan.name, None if plan.crews is None else plan.crew_cost)
        add("shelf tray", plan.name, None if plan.shelf is None else plan.tray_price)
    for scheme in instance.checkpoint_plans:
        add("checkpoint plan", scheme.name, scheme.yearly_cost)
    add("energy", "", instance.power.energy_price)
    add("site", "", instance.economics.site_capital)
    return table_text(_comments(instance.name, symbol, instance.designs[0].name), COLUMNS, rows)


def _comments(name: str, symbol: str, design: str) -> Sequence[str]:
    return [
        f"Price list for {name}. Lines that begin with # are comments.",
        "Edit the numbers, take out the rows that you do not change. An empty cell leaves what the instance has.",
        "Each price has its unit:",
        f"  rack, shelf tray: 3.7 M{symbol}; crew, repair plan, checkpoint plan: 0.5 M{symbol} per year",
        f"  energy: 0.07 {symbol} per kWh; site (building and power, of the IT power): 11 M{symbol} per MW",
        "A repair plan's price is for each zone that takes it, besides its crews' and shelf's.",
        "An offer of another block is a new row: its name, the design that it is like, and what differs, such as",
        f"  rack,{design}-offer,3.7 M{symbol},{design},,,,0;2,0..8,quote of 2 April",
        "Choices: 4, or 0;2;4, or 0..8, or 0..8 step 2. A note is told with each plan.",
    ]
