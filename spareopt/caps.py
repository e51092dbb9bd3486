"""The caps of an instance that a planner can move: their names, their values as typed, an instance without some."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Literal, TypeVar

from spareopt import units
from spareopt.instance import Instance
from spareopt.limits import guarantee_name
from spareopt.record import Record

Part = TypeVar("Part", bound=Record)

Kind = Literal["money", "money per year", "power", "count", "share", "goodput", "group"]
Sense = Literal["<=", ">="]
LIMITS = {"objective.goodput_target": "goodput_target", "power.rack_limit": "rack_power"}
"""Fields whose name among the limits of an evaluation is another."""
DIGITS = 4
MOST_DIGITS = 15


@dataclass(frozen=True)
class Cap:
    """A cap (``<=``) or a floor (``>=``) that an instance states."""

    path: str
    """The field, as ``--set`` names it."""
    limit: str
    """Its name among the limits of an evaluation."""
    name: str
    """The same in words."""
    sense: Sense
    kind: Kind
    bound: float
    currency: str
    counted: str = ""
    """What is counted, of a count."""
    zone: int | None = None
    """Place of the zone class that it is about, of a guarantee."""

    @property
    def unit(self) -> str:
        """The unit of its numbers in results."""
        return {
            "money": self.currency,
            "money per year": f"{self.currency} per year",
            "power": "kW",
            "goodput": "baseline GPUs",
            "group": "GPUs",
            "share": "",
        }.get(self.kind, self.counted)

    @property
    def whole(self) -> bool:
        """Whether its numbers are whole."""
        return self.kind in ("count", "group")

    @property
    def builds(self) -> bool:
        """Whether it forbids single choices of a zone, rather than limiting what all zones add up to."""
        return self.kind == "group" or self.path == "power.rack_limit" or self.zone is not None

    def loss(self, value: float) -> float:
        """A value as a number of which less is always better: the missing share of a share, else ± itself."""
        if self.kind == "share":
            return 1.0 - value
        return value if self.sense == "<=" else -value

    def value(self, loss: float) -> float:
        """The value that ``loss`` came from."""
        if self.kind == "share":
            return 1.0 - loss
        return loss if self.sense == "<=" else -loss


def caps_of(instance: Instance) -> tuple[Cap, ...]:
    """Every cap that the instance states, in the order of an instance file's limits."""
    limits, money = instance.limits, instance.currency
    rows: list[tuple[str, str, Sense, Kind, float | None, str]] = [
        ("limits.capital", "capital", "<=", "money", limits.capital, ""),
        ("limits.yearly_cost", "yearly cost", "<=", "money per year", limits.yearly_cost, ""),
        ("limits.it_power", "IT power", "<=", "power", limits.it_power, ""),
        ("limits.site_power", "site power", "<=", "power", limits.site_power, ""),
        ("limits.floor", "floor", "<=", "count", limits.floor, "rack positions"),
        ("limits.crews", "crews", "<=", "count", limits.crews, "crews"),
        ("limits.shelf_trays", "shelf trays", "<=", "count", limits.shelf_trays, "trays"),
        ("limits.working_gpus.minimum", "working GPUs", ">=", "count", limits.working_gpus.minimum, "GPUs"),
        ("limits.working_gpus.maximum", "working GPUs", "<=", "count", limits.working_gpus.maximum, "GPUs"),
        ("limits.availability", "availability", ">=", "share", limits.availability, ""),
        ("objective.goodput_target", "goodput", ">=", "goodput", instance.objective.goodput_target, ""),
        ("power.rack_limit", "rack power", "<=", "power", instance.power.rack_limit, ""),
        ("placement_group", "placement group", "<=", "group", instance.placement_group, ""),
    ]
    caps = [
        Cap(path, LIMITS.get(path, path.removeprefix("limits.")), name, sense, kind, float(bound), money, counted)
        for path, name, sense, kind, bound, counted in rows
        if bound is not None
    ]
    for z, zone in enumerate(instance.zones):
        if (promise := zone.guarantee) is not None:
            name = f"probability of {promise.usable_blocks:,} usable blocks in {zone.name}"
            path = f"zones.{zone.name}.guarantee.probability"
            limit = guarantee_name(promise, zone.name)
            caps.append(Cap(path, limit, name, ">=", "share", promise.probability, money, zone=z))
    return tuple(caps)


def without(instance: Instance, cap: Cap) -> Instance:
    """The instance without one of its caps."""
    if cap.zone is None:
        return _cleared(instance, cap.path.split("."))
    zones = list(instance.zones)
    zones[cap.zone] = zones[cap.zone].model_copy(update={"guarantee": None})
    return instance.model_copy(update={"zones": tuple(zones)})


def _cleared(part: Part, path: list[str]) -> Part:
    field, *rest = path
    return part.model_copy(update={field: _cleared(getattr(part, field), rest) if rest else None})


def holding(instance: Instance, held: Collection[Cap]) -> Instance:
    """The instance with these caps only; a goodput target stays one whatever the objective."""
    paths = {cap.path for cap in held}
    for cap in caps_of(instance):
        if cap.path not in paths:
            instance = without(instance, cap)
    goal = instance.objective.model_copy(update={"kind": "goodput"})
    return instance.model_copy(update={"objective": goal})


def bound_text(cap: Cap) -> str:
    """The number that the instance states, for people."""
    return _text(cap, cap.loss(cap.bound), 6, ROUND_HALF_EVEN)


def stated_text(cap: Cap) -> str:
    """What the instance states, for people."""
    return f"at {'most' if cap.sense == '<=' else 'least'} {bound_text(cap)}"


def value_text(cap: Cap, loss: float) -> str:
    """A value that can be reached, for people: rounded so that it is still within reach."""
    return _text(cap, loss, _digits(cap, loss), ROUND_CEILING)


def typed(cap: Cap, loss: float) -> str | int | float:
    """A value that can be reached, as an instance file takes it, rounded so that it is still within reach."""
    text = _text(cap, loss, _digits(cap, loss), ROUND_CEILING).replace(",", "")
    if cap.whole:
        return round(cap.value(loss))
    if cap.kind not in ("share", "goodput"):
        return text
    number = float(text.split()[0])
    return int(number) if number == int(number) else number


def _digits(cap: Cap, loss: float) -> int:
    """Enough digits to tell a value from the one stated."""
    stated = bound_text(cap)
    for digits in range(DIGITS, MOST_DIGITS):
        if _text(cap, loss, digits, ROUND_CEILING) != stated:
            return digits
    return MOST_DIGITS


def _text(cap: Cap, loss: float, digits: int, how: str) -> str:
    if cap.kind == "share":
        return _plain(_share(loss, digits, how))
    value = cap.value(loss)
    if cap.whole:
        return f"{round(value):,}{_counted(cap, round(value))}"
    towards = how if cap.sense == "<=" or how == ROUND_HALF_EVEN else ROUND_FLOOR
    name, size, after = _scale(cap, value)
    number = _rounded(Decimal(repr(value)) / Decimal(repr(size)), digits, towards)
    return f"{_plain(number)} {name}{after}"


def _counted(cap: Cap, number: int) -> str:
    """What is counted, unless the cap's name says so."""
    if cap.unit in cap.name:
        return ""
    return f" {cap.unit.removesuffix('s') if number == 1 else cap.unit}"


def _scale(cap: Cap, value: float) -> tuple[str, float, str]:
    """The unit that fits a value, its size, and what follows it."""
    if cap.kind == "goodput":
        return cap.unit, 1.0, ""
    names: Callable[[str], str] = "{}W".format
    sizes = {"G": 1e6, "M": 1e3, "k": 1.0}
    if cap.kind != "power":
        symbol = units.CURRENCIES[cap.currency]
        names, sizes = (lambda prefix: prefix + symbol), {"G": 1e9, "M": 1e6, "k": 1e3, "": 1.0}
    prefix = next((prefix for prefix, size in sizes.items() if abs(value) >= size), min(sizes, key=lambda p: sizes[p]))
    return names(prefix), sizes[prefix], " per year" if cap.kind == "money per year" else ""


def _share(loss: float, digits: int, how: str) -> Decimal:
    """A share from what it misses, rounded: many nines keep their digits in the missing part, small ones in theirs."""
    missing = Decimal(repr(loss))
    if loss < 0.5:
        return 1 - _rounded(missing, max(digits - 1, 1), how)
    return _rounded(1 - missing, digits, ROUND_FLOOR if how == ROUND_CEILING else how)


def _rounded(number: Decimal, digits: int, how: str) -> Decimal:
    if number == 0:
        return Decimal(0)
    return number.quantize(Decimal(1).scaleb(min(number.adjusted() - digits + 1, 0)), how)


def _plain(number: Decimal) -> str:
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
