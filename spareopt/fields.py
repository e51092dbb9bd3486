"""Field types of the instance: quantities with units, choices given as a number, a list or a range."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    SerializationInfo,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from spareopt import units

MOST = 10**9  # of anything: more is a slip of the pen, and sums stay exact
MAX_CHOICES = 10_000  # a longer range is a slip of the pen (a missing step), not a plan


@dataclass(frozen=True)
class _Quantity:
    """Annotates a field that is written with its unit and held as a float in the canonical one."""

    kind: units.Kind
    positive: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(
            self.read, serialization=core_schema.plain_serializer_function_ser_schema(self.write, info_arg=True)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "description": f"{self.kind.name} with its unit", "examples": [self.kind.example]}

    def read(self, value: object, info: ValidationInfo) -> float:
        result = units.parse(value, self.kind, _currency(info))
        if result < 0 or (self.positive and result == 0):
            raise ValueError(f"expected {self.kind.name} {'above' if self.positive else 'of at least'} zero")
        return result

    def write(self, value: float | str, info: SerializationInfo) -> str:
        if isinstance(value, str):  # a word the field allows beside quantities, such as "best"
            return value
        return units.write(value, self.kind, _currency(info))


def _currency(info: ValidationInfo | SerializationInfo) -> str:
    context = info.context
    name = context.get("currency", "USD") if isinstance(context, dict) else "USD"
    return name if name in units.CURRENCIES else "USD"


Time = Annotated[float, _Quantity(units.TIME)]
PositiveTime = Annotated[float, _Quantity(units.TIME, positive=True)]
Rate = Annotated[float, _Quantity(units.RATE, positive=True)]
Power = Annotated[float, _Quantity(units.POWER)]
PositivePower = Annotated[float, _Quantity(units.POWER, positive=True)]
Money = Annotated[float, _Quantity(units.MONEY)]
YearlyMoney = Annotated[float, _Quantity(units.MONEY_PER_YEAR)]
MoneyPerPower = Annotated[float, _Quantity(units.MONEY_PER_POWER)]
EnergyPrice = Annotated[float, _Quantity(units.ENERGY_PRICE)]
GridIntensity = Annotated[float, _Quantity(units.GRID_INTENSITY)]


def _whole(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"expected {what}")
    return value


def _choices(value: object) -> object:
    """A number, a list of numbers, or a range {from, to, step} as a sorted tuple without repeats."""
    if isinstance(value, Mapping):
        _range_keys(value)
        low, high = (
            _whole(value["from"], "a whole number in 'from'"),
            _whole(value["to"], "a whole number in 'to'"),
        )
        step = _whole(value.get("step", 1), "a whole number in 'step'")
        if step < 1 or high < low:
            raise ValueError("expected a range with from <= to and step >= 1")
        if (high - low) // step >= MAX_CHOICES:
            raise ValueError(f"expected at most {MAX_CHOICES:,} choices; use a larger step")
        return tuple(range(low, high + 1, step))
    items = list(value) if isinstance(value, list | tuple) else [value]
    numbers = [_whole(item, "a whole number, a list of them, or a range {from, to, step}") for item in items]
    if not numbers:
        raise ValueError("expected at least one choice")
    return tuple(sorted(set(numbers)))


def _power_choices(value: object) -> object:
    """A power, a list of powers, or a range {from, to, step}, as sorted powers without repeats."""
    if isinstance(value, Mapping):
        _range_keys(value, need_step=True)
        low, high, step = (units.parse(value[key], units.POWER) for key in ("from", "to", "step"))
        if step <= 0 or high < low:
            raise ValueError("expected a range with from <= to and a step above zero")
        count = math.floor((high - low) / step + 1e-9) + 1
        if count > MAX_CHOICES:
            raise ValueError(f"expected at most {MAX_CHOICES:,} choices; use a larger step")
        return tuple(units.write(round(low + i * step, 9), units.POWER) for i in range(count))
    items = list(value) if isinstance(value, list | tuple) else [value]
    powers = {units.parse(item, units.POWER) for item in items}
    if not powers:
        raise ValueError("expected at least one choice")
    return tuple(units.write(power, units.POWER) for power in sorted(powers))


def _range_keys(value: Mapping[Any, Any], need_step: bool = False) -> None:
    needed = {"from", "to", "step"} if need_step else {"from", "to"}
    if not needed <= set(value) <= {"from", "to", "step"}:
        raise ValueError("expected a range with the keys from, to and step")


_RANGE_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "integer"},
        {"type": "array", "items": {"type": "integer"}},
        {
            "type": "object",
            "properties": {key: {"type": "integer"} for key in ("from", "to", "step")},
            "required": ["from", "to"],
            "additionalProperties": False,
        },
    ]
}
Counts = Annotated[
    tuple[Annotated[int, Field(ge=0, le=MOST)], ...], BeforeValidator(_choices), WithJsonSchema(_RANGE_SCHEMA)
]
PowerChoices = Annotated[
    tuple[PositivePower, ...],
    BeforeValidator(_power_choices),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "examples": ["1000 W"]},
                {"type": "array", "items": {"type": "string"}},
                {
                    "type": "object",
                    "properties": {key: {"type": "string"} for key in ("from", "to", "step")},
                    "required": ["from", "to", "step"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]

WholeNumber = Annotated[int, Field(strict=True, ge=1, le=MOST)]
Name = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-/ ]*$", max_length=80)]


def _spans(value: object) -> object:
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+)\s+racks?\s*", value)
        if match:
            return int(match[1])
    if value in ("zone", "site") or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise ValueError('expected what the domain takes down: "zone", "site" or a number of racks such as "8 racks"')


Spans = Annotated[
    int | Literal["zone", "site"],
    BeforeValidator(_spans),
    PlainSerializer(lambda v: f"{v} racks" if isinstance(v, int) else v, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["8 racks", "zone", "site"]}),
]


def _ends(value: object) -> object:
    """Two values or multiples that differ; what they must be, the field they are for says once they are applied."""
    ends = list(value) if isinstance(value, list | tuple) else []
    if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, str | int | float) for end in ends):
        raise ValueError('expected the low and the high end, such as ["0.5x", "2x"] or ["5 min", "20 min"]')
    if any(isinstance(end, float) and not math.isfinite(end) for end in ends):
        raise ValueError("expected two finite ends")
    if ends[0] == ends[1]:
        raise ValueError("expected two ends that differ; take the interval out if the input is certain")
    return tuple(ends)


Ends = Annotated[
    tuple[Any, Any],
    BeforeValidator(_ends),
    WithJsonSchema({"type": "array", "items": {"type": ["string", "number"]}, "minItems": 2, "maxItems": 2}),
]
