"""The sheet of limits: where the plan stands, the bound as the inputs state it, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from spareopt.instance import Instance
from spareopt.limits import guarantee_name
from spareopt.plan import Plan
from spareopt.score_text import SENSES, limit_name
from spareopt.workbooks.book import ANY, NONE, WHOLE, Book
from spareopt.workbooks.decisions_sheet import Taken
from spareopt.workbooks.inputs import Keys
from spareopt.workbooks.inputs_sheet import InputCells

SHEET = "Limits"
FIRST = 5
HEADER = ("limit", "unit", "plan", "", "bound", "left", "met?", "left as solved")
Known = tuple[str, float | int | None]
"""The formula of a number of the plan, and its value as solved."""


class _Row(NamedTuple):
    """A limit: its unit and sense, the plan's number (a formula, or None where only a solve knows it), its bound."""

    unit: str
    sense: str
    formula: str | None
    value: float | int | None
    keys: Keys


def write_limits(
    book: Book,
    plan: Plan,
    instance: Instance,
    taken: list[Taken],
    inputs: InputCells,
    sums: Mapping[str, str],
    power: Mapping[str, str] | None,
    money: Mapping[str, str],
) -> None:
    """Write the sheet: the limits that are set and those that could be."""
    note = (
        "A limit that is changed or set in Inputs shows here what this plan leaves of it; another plan may do better."
    )
    sheet = book.sheet(SHEET, (40, 20, 20, 10, 20, 20, 12, 20), f"{instance.name}: limits", note)
    book.header(sheet, FIRST - 1, HEADER)
    solved = {limit.limit: limit for limit in plan.evaluation.limits}
    rows = {
        name: row
        for name, row in _rows(plan, instance, taken, sums, power, money).items()
        if name in solved or row.keys in inputs
    }
    for place, (name, row) in enumerate(rows.items(), FIRST):
        limit = solved.get(name)
        value, bound, slack = row.value, None, None
        if limit is not None:
            value, bound = limit.value, limit.bound
            slack = bound - value if row.sense == "<=" else value - bound
        shown = WHOLE if value is not None and abs(value) >= 1000 else ANY
        book.text(sheet, place, 1, limit_name(name) + (" (least)" if name.endswith("minimum") else ""))
        book.text(sheet, place, 2, row.unit)
        if row.formula is None:
            book.number(sheet, place, 3, value, shown, "solved")
        else:
            book.formula(sheet, place, 3, row.formula, value, shown)
        book.text(sheet, place, 4, SENSES[row.sense])
        if row.keys in inputs:
            book.formula(sheet, place, 5, inputs.number(*row.keys), bound, shown)
        else:
            book.number(sheet, place, 5, bound, shown)
        known = f"AND(ISNUMBER(C{place}),ISNUMBER(E{place}))"
        left = f"E{place}-C{place}" if row.sense == "<=" else f"C{place}-E{place}"
        book.formula(sheet, place, 6, f'IF({known},{left},"{NONE}")', slack, shown)
        met = f'IF(ISNUMBER(F{place}),IF(F{place}<-0.000000001*ABS(E{place}),"NO","yes"),"no limit")'
        book.formula(sheet, place, 7, met, "no limit" if limit is None else "NO" if limit.violated else "yes")
        book.number(sheet, place, 8, None if limit is None else limit.slack, shown, "solved")


def _rows(
    plan: Plan,
    instance: Instance,
    taken: list[Taken],
    sums: Mapping[str, str],
    power: Mapping[str, str] | None,
    money: Mapping[str, str],
) -> dict[str, _Row]:
    """The limits of an instance by their names, set or not."""
    e, currency = plan.evaluation, instance.currency
    drawn: dict[str, tuple[str | None, float | None]] = {"rack": (None, None), "it": (None, None), "site": (None, None)}
    if power is not None:
        rack = max(zone.rack_power_kw or 0.0 for zone in e.zones)
        drawn = {
            "rack": (power["rack"], rack),
            "it": (power["it"], e.it_power_kw),
            "site": (power["site"], e.site_power_kw),
        }
    racks = sum(item.choice.count * item.choice.racks for item in taken)
    rows = {
        "capital": _Row(currency, "<=", money["capital"], e.capital, ("limits", "capital")),
        "yearly_cost": _Row(
            f"{currency} per year", "<=", money["yearly_cost"], e.yearly_cost, ("limits", "yearly_cost")
        ),
        "rack_power": _Row("kW", "<=", *drawn["rack"], ("power", "rack_limit")),
        "it_power": _Row("kW", "<=", *drawn["it"], ("limits", "it_power")),
        "site_power": _Row("kW", "<=", *drawn["site"], ("limits", "site_power")),
        "floor": _Row("rack positions", "<=", sums["all_racks"], racks, ("limits", "floor")),
        "crews": _Row("crews", "<=", *_taken(taken, "crews"), ("limits", "crews")),
        "shelf_trays": _Row("trays", "<=", *_taken(taken, "shelf"), ("limits", "shelf_trays")),
        "working_gpus.minimum": _Row(
            "GPUs", ">=", sums["working"], e.working_gpus, ("limits", "working_gpus", "minimum")
        ),
        "working_gpus.maximum": _Row(
            "GPUs", "<=", sums["working"], e.working_gpus, ("limits", "working_gpus", "maximum")
        ),
        "availability": _Row("", ">=", None, e.availability, ("limits", "availability")),
        "goodput_target": _Row("baseline GPUs", ">=", None, e.goodput, ("objective", "goodput_target")),
    }
    for place, zone in enumerate(instance.zones):
        if zone.guarantee is not None:
            name = guarantee_name(zone.guarantee, zone.name)
            rows[name] = _Row("", ">=", None, None, ("zones", place, "guarantee", "probability"))
    for limit in e.limits:
        if limit.limit not in rows:
            rows[limit.limit] = _Row(limit.unit, limit.sense, None, limit.value, ())
    return rows


def _taken(taken: list[Taken], what: str) -> Known:
    """Crews, or trays on shelves, of the whole site; what all zones share counts once."""
    numbers = [(item, item.repair.crews if what == "crews" else item.repair.shelf_trays) for item in taken]
    if taken[0].plan.shared_by == "site":
        return (taken[0].cell(what), numbers[0][1]) if numbers[0][1] is not None else ("0", 0)
    parts = [(f"{item.cell('count')}*{item.cell(what)}", item.choice.count * n) for item, n in numbers if n is not None]
    return "+".join(part for part, _ in parts) or "0", sum(n for _, n in parts)
