"""The horizon of a staged plan: quarters with their budgets, power, job, prices and what is bought already."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from spareopt import units
from spareopt.fields import MOST, Money, Name, Power, WholeNumber
from spareopt.record import Record

MOST_QUARTERS = 40
HOURS_PER_QUARTER = units.HOURS_PER_YEAR / 4
_CHANGE = re.compile(rf"\s*({units.NUMBER})\s*%\s*per\s+quarter\s*")
_LABEL = re.compile(r"(\d{4})-Q([1-4])")


def _one_or_each(value: object) -> object:
    """One value stands for every quarter."""
    return value if isinstance(value, list | tuple) else (value,)


def _by_quarter(item: dict[str, object]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]})


_TEXT: dict[str, object] = {"type": "string"}
_NUMBER: dict[str, object] = {"type": "number", "minimum": 0}
_WHOLE: dict[str, object] = {"type": "integer", "minimum": 0}
Share = Annotated[float, Field(ge=0)]
MoneyByQuarter = Annotated[
    tuple[Money, ...], BeforeValidator(_one_or_each), Field(min_length=1), _by_quarter(_TEXT | {"examples": ["1.2 G$"]})
]
PowerByQuarter = Annotated[
    tuple[Power, ...], BeforeValidator(_one_or_each), Field(min_length=1), _by_quarter(_TEXT | {"examples": ["60 MW"]})
]
NumberByQuarter = Annotated[tuple[Share, ...], BeforeValidator(_one_or_each), Field(min_length=1), _by_quarter(_NUMBER)]
CountByQuarter = Annotated[
    tuple[Annotated[int, Field(strict=True, ge=0, le=MOST)], ...],
    BeforeValidator(_one_or_each),
    Field(min_length=1),
    _by_quarter(_WHOLE),
]
Quarters = Annotated[int, Field(strict=True, ge=0, le=MOST_QUARTERS)]


def _prices(value: object) -> object:
    """Multiples of the stated price, or a change per quarter kept as it is written."""
    if isinstance(value, str):
        match = _CHANGE.fullmatch(value[:100])
        if match is None or not units.number_of(match[1]) > -100:
            raise ValueError('expected multiples by quarter such as [1, 0.98, 0.95], or "-2 % per quarter"')
        return value
    items = _one_or_each(value)
    assert isinstance(items, list | tuple)
    if not items or any(isinstance(x, bool) or not isinstance(x, int | float) or not 0 < x < 1e6 for x in items):
        raise ValueError('expected multiples above 0 by quarter such as [1, 0.98, 0.95], or "-2 % per quarter"')
    return tuple(float(x) for x in items)


Prices = Annotated[
    tuple[float, ...] | str,
    BeforeValidator(_prices),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
                {"type": "string", "examples": ["-2 % per quarter"]},
            ]
        }
    ),
]
Multiples = tuple[Annotated[float, Field(gt=0, le=1000)], ...]


class LeadTime(Record):
    """Whole quarters from an order to its delivery; an order is paid when it is placed."""

    racks: Quarters = 0
    shelf: Quarters = 0


class PriceChanges(Record):
    """What prices are in each quarter, as multiples of those stated elsewhere; those themselves when left out."""

    racks: Prices | None = None
    """Of rack_price, in the quarter of the order."""
    shelf: Prices | None = None
    """Of tray_price, in the quarter of the order."""
    crews: Prices | None = None
    """Of crew_cost."""
    energy: Prices | None = None
    """Of energy_price."""


class EarlyLife(Record):
    """How much more often young racks fail, by quarter since their delivery: multiples of the stated rates, then 1."""

    tray: Multiples = ()
    """Of the tray fault rate, in the first quarter after delivery, the second, and so on."""
    rack: Multiples = ()
    """Of the rack fault rate."""


class Delivery(Record):
    """Racks of one zone that were bought already."""

    racks: WholeNumber
    quarter: Annotated[int, Field(strict=True, ge=-MOST_QUARTERS, lt=MOST_QUARTERS)] | None = None
    """When they arrive: 0 is the first quarter of the horizon, −1 the one before; left out: long ago."""


class BoughtZones(Record):
    """Zones of a class that were begun already: what was delivered to each of them, or is on order."""

    zone: Name
    count: WholeNumber = 1
    """How many zones of the class have these deliveries, each of them."""
    design: Name
    deliveries: Annotated[tuple[Delivery, ...], Field(min_length=1)]


class ShelfDelivery(Record):
    """Trays of the shelf that were bought already."""

    trays: WholeNumber
    quarter: Annotated[int, Field(strict=True, ge=0, lt=MOST_QUARTERS)] | None = None
    """When they arrive, from 0; on the shelf already when left out."""


class GrowingJob(Record):
    """Range of the number of GPUs that the job uses, by quarter."""

    minimum: CountByQuarter | None = None
    """Fewest working GPUs."""
    maximum: CountByQuarter | None = None
    """Most working GPUs."""


class Horizon(Record):
    """Quarters over which purchases, trays for the shelf and staffing are planned."""

    quarters: Annotated[int, Field(strict=True, ge=1, le=MOST_QUARTERS)]
    first_quarter: Annotated[str, Field(pattern=r"^\d{4}-Q[1-4]$")] | None = None
    """What the first quarter is called."""
    discount_rate: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Per year; what comes t quarters later counts (1 + rate)^(−t/4)."""
    capital: MoneyByQuarter | None = None
    """New money for purchases."""
    carry_over: bool = True
    """Whether money that is not spent may be spent later."""
    site_power: PowerByQuarter | None = None
    """Most site power that is delivered."""
    it_power: PowerByQuarter | None = None
    """Most IT power that is delivered."""
    working_gpus: GrowingJob = GrowingJob()
    """The growing job."""
    goodput_target: NumberByQuarter | None = None
    """Baseline GPUs that each quarter must reach, for objective kind cost, instead of the objective's own target."""
    lead_time: LeadTime = LeadTime()
    price_changes: PriceChanges = PriceChanges()
    early_life: EarlyLife = EarlyLife()
    bought: tuple[BoughtZones, ...] = ()
    """Zones that were begun already; the others begin empty."""
    shelf: tuple[ShelfDelivery, ...] = ()
    """Trays of the shelf that were bought already."""

    @field_validator("first_quarter")
    @classmethod
    def _a_year(cls, value: str | None) -> str | None:
        if value is not None and int(value[:4]) < 1900:
            raise ValueError('expected a quarter such as "2027-Q1"')
        return value

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        changes, job = self.price_changes, self.working_gpus
        lists: list[tuple[str, object]] = [
            (name, getattr(self, name)) for name in ("capital", "site_power", "it_power", "goodput_target")
        ]
        lists += [(f"working_gpus.{name}", getattr(job, name)) for name in ("minimum", "maximum")]
        lists += [(f"price_changes.{name}", getattr(changes, name)) for name in PriceChanges.model_fields]
        for name, values in lists:
            if isinstance(values, tuple) and len(values) not in (1, self.quarters):
                raise ValueError(f"{name}: expected one value, or {self.quarters}, one a quarter; got {len(values)}")
        for name in ("tray", "rack"):
            if len(getattr(self.early_life, name)) > MOST_QUARTERS:
                raise ValueError(f"early_life.{name}: expected at most {MOST_QUARTERS} quarters")
        return self

    def each(self, values: tuple[float, ...] | None) -> tuple[float | None, ...]:
        """A value for every quarter of a field that states one, or one for each; None where it states none."""
        if values is None:
            return (None,) * self.quarters
        return values * self.quarters if len(values) == 1 else values

    def prices(self, of: str) -> tuple[float, ...]:
        """The multiple of each quarter of the price ``of`` racks, shelf, crews or energy."""
        stated = getattr(self.price_changes, of)
        if stated is None:
            return (1.0,) * self.quarters
        if isinstance(stated, str):
            match = _CHANGE.fullmatch(stated)
            assert match is not None
            factor = 1.0 + units.number_of(match[1]) / 100.0
            return tuple(factor**t for t in range(self.quarters))
        return tuple(stated) * self.quarters if len(stated) == 1 else tuple(stated)

    def weights(self) -> tuple[float, ...]:
        """What a quarter's result counts, by quarter: (1 + rate)^(−t/4)."""
        return tuple((1.0 + self.discount_rate) ** (-t / 4) for t in range(self.quarters))

    def labels(self) -> tuple[str, ...]:
        """What the quarters are called: 2027-Q1 and on, or 1 and on."""
        if self.first_quarter is None:
            return tuple(str(t + 1) for t in range(self.quarters))
        match = _LABEL.fullmatch(self.first_quarter)
        assert match is not None
        first = 4 * int(match[1]) + int(match[2]) - 1
        return tuple(f"{q // 4:04d}-Q{q % 4 + 1}" for q in range(first, first + self.quarters))

    def early(self, kind: str) -> tuple[float, ...]:
        """The multiples of the ``tray`` or ``rack`` rate by quarter since delivery, without the ones at the end."""
        multiples = list(getattr(self.early_life, kind))
        while multiples and multiples[-1] == 1.0:
            multiples.pop()
        return tuple(multiples)

    @property
    def young_quarters(self) -> int:
        """Quarters after delivery in which racks fail at other rates than stated."""
        return max(len(self.early("tray")), len(self.early("rack")))
