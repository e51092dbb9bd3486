"""Every scalar input of an instance as a row: its path, a number in a unit that fits, and how it is typed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from spareopt import units
from spareopt.errors import Fault, InputError
from spareopt.fields import PowerChoices
from spareopt.instance import Instance
from spareopt.overrides import value_at
from spareopt.yaml_source import flow, parse_value

Form = Literal["quantity", "number", "whole", "text"]
Keys = tuple[str | int, ...]
NONE = "none"
"""What stands where an optional input is not set; typed, it takes the input out."""

_WRITTEN = re.compile(rf"({units.NUMBER}) (.+)")
_STRUCTURE = ("schema_version", "name", "description", "notes", "currency")
"""Fields that name or describe; they are no inputs, and a change of the currency would change every price."""
_OPEN: dict[str, tuple[Form, str]] = {
    "limits.capital": ("quantity", "M{money}"),
    "limits.yearly_cost": ("quantity", "M{money} per year"),
    "limits.site_power": ("quantity", "MW"),
    "limits.it_power": ("quantity", "MW"),
    "limits.floor": ("whole", "rack positions"),
    "limits.crews": ("whole", "crews"),
    "limits.shelf_trays": ("whole", "trays"),
    "limits.working_gpus.minimum": ("whole", "GPUs"),
    "limits.working_gpus.maximum": ("whole", "GPUs"),
    "limits.availability": ("number", ""),
    "power.rack_limit": ("quantity", "kW"),
    "power.energy_price": ("quantity", "{money} per kWh"),
    "power.grid_intensity": ("quantity", "g per kWh"),
    "economics.site_capital": ("quantity", "M{money} per MW"),
}
"""Optional inputs that a planner adds most often: they have a row although nothing is set."""
_NEEDS_POWER = {path for path in _OPEN if path.startswith("power.") or path.endswith(("_power", "site_capital"))}
"""Those that an instance may state only where every design states its power."""
_COUNTED = {path: unit for path, (form, unit) in _OPEN.items() if form == "whole"}


@dataclass(frozen=True)
class InputRow:
    """One input: ``value`` in ``unit``; ``keys`` lead to it in the instance's plain data."""

    path: str
    keys: Keys
    value: float | int | str
    unit: str
    form: Form
    default: bool = False
    """Whether it is what holds where an instance does not state it."""


def input_rows(instance: Instance) -> list[InputRow]:
    """The rows of an instance, in the order of its fields.

    Raises InputError where an input has no path of its own.
    """
    data = instance.resolved()
    rows = [
        InputRow(_path(data, keys, instance.name), keys, *_cell(value, instance.currency), default=default)
        for keys, value, default in _leaves(data, (), instance)
    ]
    rows = [
        row if row.path not in _COUNTED else InputRow(row.path, row.keys, row.value, _COUNTED[row.path], row.form)
        for row in rows
    ]
    return _with_open(rows, instance)


def typed_value(row: InputRow, value: float | int | str) -> Any:
    """A value of a row's cell as an override of the instance: with its unit where it has one."""
    if value == NONE:
        return None
    if isinstance(value, str):
        return parse_value(value)
    return f"{value!r} {row.unit}" if row.form == "quantity" else value


def factor(unit: str, currency: str) -> float:
    """How many canonical units a unit of a row is."""
    for kind in units.KINDS:
        try:
            return units.parse(f"1 {unit}", kind, currency)
        except ValueError:
            continue
    raise ValueError(f"unknown unit {unit!r}")


def _leaves(node: Any, keys: Keys, model: Any) -> Iterator[tuple[Keys, Any, bool]]:
    """Keys and value of every scalar, or list of scalars, of plain data, and whether it is the default of its field.

    ``model`` is the part of the instance that the data are of.
    """
    if isinstance(node, Mapping):
        for key, item in node.items():
            if key in _STRUCTURE and (not keys or key == "name"):
                continue
            inner = model.get(key) if isinstance(model, Mapping) else getattr(model, str(key), None)
            if isinstance(item, Mapping) or _records(item):
                yield from _leaves(item, (*keys, key), inner)
            elif item != []:
                yield (*keys, key), item, _is_default(model, str(key), inner)
    else:
        for place, item in enumerate(node):
            yield from _leaves(item, (*keys, place), model[place])


def _is_default(model: Any, field: str, value: Any) -> bool:
    if not isinstance(model, BaseModel):
        return False
    known = type(model).model_fields[field].get_default(call_default_factory=True, validated_data={})
    return bool(known == value)


def _records(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, Mapping) for item in value)


def _path(data: Mapping[str, Any], keys: Keys, label: str) -> str:
    """The path that names an input: items by their names, or by their places where a name would mislead."""
    named: list[str] = []
    node: Any = data
    for key in keys:
        node = node[key]
        name = node.get("name") if isinstance(key, int) and isinstance(node, Mapping) else None
        named.append(str(key) if name is None else str(name))
    for path in (".".join(named), ".".join(map(str, keys))):
        if value_at(dict(data), path) == node:
            return path
    raise InputError(label, [Fault(".".join(named), "has no path of its own, for another item's name; rename one")])


def _cell(value: Any, currency: str) -> tuple[float | int | str, str, Form]:
    """What a cell holds of a value of the resolved instance, its unit and how it is typed."""
    if isinstance(value, bool):
        return str(value).lower(), "", "text"
    if isinstance(value, int):
        return value, "", "whole"
    if isinstance(value, float):
        return value, "", "number"
    if isinstance(value, list):
        return _choices(value)
    match = _WRITTEN.fullmatch(str(value))
    kind = match and next((k for k in units.KINDS if units.write(0.0, k, currency) == f"0.0 {match[2]}"), None)
    if not match or kind is None:
        return str(value), "", "text"
    return *in_unit(float(match[1]), kind, currency), "quantity"


def in_unit(value: float, kind: units.Kind, currency: str) -> tuple[float, str]:
    """A canonical quantity as a number and the unit that needs the fewest digits, and reads back to the same float."""
    canonical = units.write(value, kind, currency).partition(" ")[2]
    best, least = (value, canonical), 99
    if value == 0:
        return best
    for unit in _units(kind, currency):  # from the one that is preferred
        number = _shortest(value, unit, kind, currency)
        small = kind in (units.TIME, units.MONEY, units.MONEY_PER_YEAR) or unit == "MW"
        if number is None or (small and number < 1):
            continue
        if (digits := _digits(number)) < least:
            best, least = (number, unit), digits
    return best


def _shortest(value: float, unit: str, kind: units.Kind, currency: str) -> float | None:
    """The shortest number of a unit that reads back to the same float; None where none of 15 digits does."""
    exact = value / factor(unit, currency)
    numbers = (float(f"{exact:.{digits}g}") for digits in (3, 6, 9, 12, 15))
    return next((n for n in numbers if units.parse(f"{n!r} {unit}", kind, currency) == value), None)


def _units(kind: units.Kind, currency: str) -> list[str]:
    symbol = units.CURRENCIES[currency]
    money = [f"{prefix}{symbol}" for prefix in ("G", "M", "k", "")]
    if kind is units.MONEY:
        return money
    if kind is units.MONEY_PER_YEAR:
        return [f"{unit} per year" for unit in money[1:]]
    return {
        units.TIME: ["year", "d", "h", "min", "s", "ms"],
        units.RATE: ["per day", "per h", "per year"],
        units.POWER: ["kW", "MW", "W"],
        units.MONEY_PER_POWER: [f"M{symbol} per MW", f"{symbol} per kW"],
        units.ENERGY_PRICE: [f"{symbol} per kWh"],
        units.GRID_INTENSITY: ["g per kWh", "kg per kWh"],
    }[kind]


def _digits(number: float) -> int:
    """Digits of a number as it is written, without leading zeros."""
    return len(re.sub(r"e.*|\.0$|\.|-", "", f"{number!r}").lstrip("0"))


def _choices(values: list[Any]) -> tuple[float | int | str, str, Form]:
    """A list of choices as it is typed: one value, a range where the steps are even, or a list."""
    if len(values) == 1:
        only = values[0]
        return (only, "", "text") if isinstance(only, int) else (str(only), "", "text")
    if len(values) > 2 and (step := _step(values)) is not None:
        more = "" if step == 1 else f", step: {step}"
        return f"{{from: {values[0]}, to: {values[-1]}{more}}}", "", "text"
    return flow(values), "", "text"


def _step(values: list[Any]) -> int | str | None:
    """The step of even choices (whole numbers, or powers in kW) as it is typed; None where they are not even."""
    if all(isinstance(value, int) for value in values):
        steps = {after - before for before, after in itertools.pairwise(values)}
        return steps.pop() if len(steps) == 1 else None
    try:
        low, after, *_ = (units.parse(value, units.POWER) for value in values)
        step = units.write(round(after - low, 9), units.POWER)
        read = TypeAdapter(PowerChoices).validate_python({"from": values[0], "to": values[-1], "step": step})
        return step if [units.write(power, units.POWER) for power in read] == values else None
    except ValueError:
        return None


def _with_open(rows: list[InputRow], instance: Instance) -> list[InputRow]:
    """The rows with those of optional inputs that are not set, each after the last row of its section."""
    known = {row.path for row in rows}
    if any(design.power is None for design in instance.designs):
        known |= _NEEDS_POWER
    money = units.CURRENCIES[instance.currency]
    absent = [
        InputRow(path, tuple(path.split(".")), NONE, unit.format(money=money), form, default=True)
        for path, (form, unit) in _OPEN.items()
        if path not in known
    ]
    for place, design in enumerate(instance.designs):
        if design.rack_price is None:
            path = f"designs.{design.name}.rack_price"
            absent.append(InputRow(path, ("designs", place, "rack_price"), NONE, f"M{money}", "quantity", default=True))
    order = list(Instance.model_fields)
    return sorted([*rows, *absent], key=lambda row: order.index(str(row.keys[0])))
