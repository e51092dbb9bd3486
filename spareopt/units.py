"""Quantities with units at the boundary, plain floats in one canonical unit inside.

Canonical units: hours, faults per hour, kW, kWh, kg, and the instance's currency.  The table is a closed list on
purpose: a general unit library reads "5 mW" as milliwatts and "1 m$" as a tenth of a cent, which no planner means.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

HOURS_PER_YEAR = 8766.0  # 365.25 days

CURRENCIES = {"USD": "$", "EUR": "€", "GBP": "£", "CNY": "¥", "JPY": "¥"}

_TIME = {
    "ms": 1 / 3.6e6,
    "s": 1 / 3600,
    "min": 1 / 60,
    "h": 1.0,
    "d": 24.0,
    "week": 168.0,
    "year": HOURS_PER_YEAR,
}
_ALIASES = {
    "sec": "s", "second": "s", "seconds": "s", "minute": "min", "minutes": "min", "hr": "h", "hour": "h",
    "hours": "h", "day": "d", "days": "d", "weeks": "week", "years": "year", "y": "year", "yr": "year",
}  # fmt: skip
_POWER = {"W": 1e-3, "kW": 1.0, "MW": 1e3, "GW": 1e6}
_ENERGY = {"kWh": 1.0, "MWh": 1e3, "GWh": 1e6}
_MASS = {"g": 1e-3, "kg": 1.0, "t": 1e3}
_MONEY_PREFIX = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
# A comma stands between groups of three digits only, so that "1,5 h" is refused rather than read as 15 h.
NUMBER = r"[-+]?(?:(?:\d{1,3}(?:,\d{3})+(?![\d_])|\d[\d_]*)\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LONGEST = 100  # characters of a quantity; more is no quantity, and slow to refuse
_QUANTITY = re.compile(
    rf"\s*(?P<number>{NUMBER})\s*(?P<unit>[^\s/\d,][^\s/]*)?"
    rf"(?:\s*(?:/|\bper\b)\s*(?P<per_number>{NUMBER})?\s*(?P<per_unit>[^\s/\d][^\s/]*))?\s*"
)
_DECIMAL_COMMA = re.compile(r"\d,\d")


@dataclass(frozen=True)
class Kind:
    """A kind of quantity: what to call it, an example, its dimension over its denominator, its canonical unit."""

    name: str
    example: str
    canonical: str
    over: str = ""


TIME = Kind("a time", "24 h", "h")
RATE = Kind("a rate", "1.5e-3 per day", "", "h")
POWER = Kind("a power", "132 kW", "kW")
MONEY = Kind("an amount of money", "3.9 M$", "money")
MONEY_PER_YEAR = Kind("an amount of money per year", "0.5 M$ per year", "money", "year")
MONEY_PER_POWER = Kind("an amount of money per power", "15 M$ per MW", "money", "kW")
ENERGY_PRICE = Kind("a price of energy", "0.066 $ per kWh", "money", "kWh")
GRID_INTENSITY = Kind("a mass per energy", "390 g per kWh", "kg", "kWh")
KINDS = (TIME, RATE, POWER, MONEY, MONEY_PER_YEAR, MONEY_PER_POWER, ENERGY_PRICE, GRID_INTENSITY)

_TABLES: dict[str, dict[str, float]] = {
    "h": _TIME,
    "year": {unit: hours / HOURS_PER_YEAR for unit, hours in _TIME.items()},
    "kW": _POWER,
    "kWh": _ENERGY,
    "kg": _MASS,
}


def parse(value: object, kind: Kind, currency: str = "USD") -> float:
    """Read a quantity such as ``"24 h"`` into a float in the kind's canonical unit.

    A bare number is refused (zero apart): its unit would be a guess.  Raises ValueError with what was expected.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f'expected {kind.name} such as "{kind.example}"')
    if not isinstance(value, str):
        if value == 0:
            return 0.0
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f'expected {kind.name} such as "{kind.example}", a finite number')
        raise ValueError(f'expected {kind.name} with its unit, such as "{kind.example}"')
    match = _QUANTITY.fullmatch(value) if len(value) <= _LONGEST else None
    if match is None:
        hint = "; write a decimal point, not a comma" if _DECIMAL_COMMA.search(value[:_LONGEST]) else ""
        raise ValueError(f'expected {kind.name} such as "{kind.example}"{hint}')
    if match["unit"] is None and kind.canonical:
        raise ValueError(f'expected {kind.name} with its unit, such as "{kind.example}"')
    number = number_of(match["number"])
    factor = _factor(match["unit"] or "", kind.canonical, kind, currency)
    if bool(match["per_unit"]) != bool(kind.over):
        raise ValueError(f'expected {kind.name} such as "{kind.example}"')
    if kind.over:
        per = number_of(match["per_number"] or "1") * _factor(match["per_unit"], kind.over, kind, currency)
        if per <= 0:
            raise ValueError(f'expected {kind.name} such as "{kind.example}"')
        factor /= per
    result = number * factor
    if factor != 1.0:
        result = float(f"{result:.15g}")  # 700 W and 0.7 kW are one number
    if not math.isfinite(result):
        raise ValueError(f"expected a finite number, such as {kind.example!r}")
    return result + 0.0  # no negative zero


def parse_share(value: object) -> float:
    """A share from a number, or from text such as "0.1 %" or "0.001".  Raises ValueError."""
    if isinstance(value, str):
        match = re.fullmatch(rf"\s*({NUMBER})\s*(%?)\s*", value[:_LONGEST])
        if match is None:
            raise ValueError('expected a share such as "0.1 %" or 0.001')
        return number_of(match[1]) / 100.0 if match[2] else number_of(match[1])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError('expected a share such as "0.1 %" or 0.001')
    return float(value)


_GPUS = re.compile(rf"\s*({NUMBER})\s*GPUs?\s*")
_GPU_HOURS = re.compile(rf"\s*({NUMBER})\s*([kMG]?)\s*(?:GPU[- ]?(?:hours|h))?\s*")


def parse_gpu_hours(value: object) -> float:
    """GPU-hours from a number, or from text such as "120 M", "1.2e8" or "120 M GPU-hours".  Raises ValueError."""
    if isinstance(value, str):
        match = _GPU_HOURS.fullmatch(value[:_LONGEST])
        if match is None:
            hint = "; write a decimal point, not a comma" if _DECIMAL_COMMA.search(value[:_LONGEST]) else ""
            raise ValueError(f'expected GPU-hours such as "120 M" or 1.2e8{hint}')
        return number_of(match[1]) * _MONEY_PREFIX[match[2]]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError('expected GPU-hours such as "120 M" or 1.2e8')
    return float(value)


def parse_quarter_target(value: object) -> float:
    """Useful GPU-hours of a quarter: as GPU-hours, or as GPUs that work all of it, such as "2000 GPUs".

    Raises ValueError.
    """
    gpus = _GPUS.fullmatch(value[:_LONGEST]) if isinstance(value, str) else None
    if gpus is not None:
        return number_of(gpus[1]) * HOURS_PER_YEAR / 4.0
    return parse_gpu_hours(value)


def show_gpu_hours(value: float) -> str:
    """GPU-hours for people, such as "121.4 M": four significant digits."""
    return _scaled(value, (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))).rstrip()


def number_of(text: str) -> float:
    """The float of a text that matches NUMBER."""
    return float(text.replace(",", "").replace("_", ""))


def _factor(unit: str, canonical: str, kind: Kind, currency: str) -> float:
    if canonical == "money":
        return _money_factor(unit, kind, currency)
    if canonical == "":
        if unit:
            raise ValueError(f'expected {kind.name} such as "{kind.example}", not a number of {unit!r}')
        return 1.0
    table = _TABLES[canonical]
    name = _ALIASES.get(unit, unit)
    if name not in table:
        known = ", ".join(table)
        raise ValueError(f'expected {kind.name} such as "{kind.example}"; unit {unit!r} is not one of {known}')
    return table[name]


def _money_factor(unit: str, kind: Kind, currency: str) -> float:
    symbol = CURRENCIES[currency]
    for name in (symbol, currency):
        if unit.endswith(name) and unit[: -len(name)] in _MONEY_PREFIX:
            return _MONEY_PREFIX[unit[: -len(name)]]
    units = ", ".join(prefix + symbol for prefix in _MONEY_PREFIX)
    raise ValueError(
        f'expected {kind.name} such as "{kind.example.replace("$", symbol)}"; unit {unit!r} is not one of {units} '
        f"(the instance's currency is {currency})"
    )


def write(value: float, kind: Kind, currency: str = "USD") -> str:
    """The canonical text of a quantity, which ``parse`` reads back to the same float."""
    unit = CURRENCIES[currency] if kind.canonical == "money" else kind.canonical
    return f"{value!r} {unit}".rstrip() + (f" per {kind.over}" if kind.over else "")


def show(value: float, kind: Kind, currency: str = "USD") -> str:
    """A short text for people: four significant digits in the unit that fits the size."""
    if kind is TIME:
        for unit, hours in (
            ("year", HOURS_PER_YEAR),
            ("d", 48.0),
            ("h", 1.0),
            ("min", 1 / 60),
            ("s", 1 / 3600),
        ):
            if value >= hours:
                return f"{_digits(value / (24.0 if unit == 'd' else hours))} {unit}"
        return f"{_digits(value * 3.6e6)} ms" if value > 0 else "0 s"
    if kind is POWER:
        return _scaled(value, (("GW", 1e6), ("MW", 1e3), ("kW", 1.0), ("W", 1e-3)))
    if kind.canonical == "money":
        symbol = CURRENCIES[currency]
        over = {"year": " per year", "kW": " per kW", "kWh": " per kWh"}.get(kind.over, "")
        return _scaled(value, ((f"G{symbol}", 1e9), (f"M{symbol}", 1e6), (f"k{symbol}", 1e3), (symbol, 1.0))) + over
    if kind is RATE:
        return f"{_digits(value * 24)} per day"
    return f"{_digits(value)} {kind.canonical} per {kind.over}"


def typed(value: float, kind: Kind, currency: str = "USD") -> str:
    """The text of a cap as one would type it, such as "3.744 G$": six digits, rounded up so that the value is within.

    For money and powers.
    """
    prefixes = tuple(_MONEY_PREFIX.items()) if kind.canonical == "money" else tuple(_POWER.items())
    symbol = CURRENCIES[currency] if kind.canonical == "money" else ""
    name, size = next(((n, s) for n, s in reversed(prefixes) if abs(value) >= s), prefixes[0])
    number = rounded(value / size, up=True)
    return f"{number} {name}{symbol}" + (f" per {kind.over}" if kind.over else "")


def rounded(value: float, *, up: bool) -> str:
    """A number in six significant digits, rounded up or down; noise of the last digits of a float counts as none."""
    exact = Decimal(f"{value:.12g}")
    if exact == 0:
        return "0"
    step = Decimal(1).scaleb(exact.adjusted() - 5)
    text = f"{exact.quantize(step, ROUND_CEILING if up else ROUND_FLOOR):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _scaled(value: float, units: tuple[tuple[str, float], ...]) -> str:
    for unit, size in units:
        if abs(value) >= size:
            return f"{_digits(value / size)} {unit}"
    unit, size = units[-1]
    return f"{_digits(value / size)} {unit}"


def _digits(value: float) -> str:
    if value == 0:
        return "0"
    decimals = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
