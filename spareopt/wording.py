"""Numbers, tables and prose as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from io import StringIO
from math import isnan

from rich.console import Console
from rich.table import Table

from spareopt import units

WIDTH = 110
PROSE = 100
BAR = 40
EVERY = "all plans"  # as certificates say it
Show = Callable[[float], str]


def render(*parts: object, width: int = WIDTH) -> str:
    """Rich renderables and strings as plain text, tables at most so wide."""
    console = Console(file=StringIO(), width=width, no_color=True, highlight=False, legacy_windows=False)
    for part in parts:
        if isinstance(part, Table):
            _keep_names(part)
        console.print(part, markup=False, soft_wrap=isinstance(part, str))
    assert isinstance(console.file, StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


NAME = 12
"""Cells that a column of names has at least, however wide the numbers beside it are."""


def plain_table(*headers: str, left: Iterable[str] = ()) -> Table:
    """A plain table; numbers to the right and never broken, names (``left``) to the left and folded if need be."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(headers))
    left = tuple(left)
    for header in headers:
        name = header in left
        table.add_column(header, justify="left" if name else "right", no_wrap=not name, overflow="fold", vertical="top")
    return table


def _keep_names(table: Table) -> None:
    """Keep the columns of names wide enough for most words; what has no room to the right goes over the edge."""
    for column in table.columns:
        if not column.no_wrap:
            words = (word for cell in (column.header, *column.cells) for word in str(cell).split())
            column.min_width = min(NAME, max(map(len, words), default=0))


def percent(share: float) -> str:
    """A share in per cent with as many digits as it needs."""
    if share == 0:
        return "0 %"
    if share < 1e-6:
        return f"{share * 100:.1e} %"
    return f"{share * 100:.2f} %" if share >= 1e-3 else f"{share * 100:.4f} %"


def share_text(share: float) -> str:
    """A share that somebody stated, in per cent."""
    return f"{share * 100:g} %"


def number_text(value: float) -> str:
    """A number for people: whole from a thousand on, else four digits."""
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.4g}"


def signed_percent(change: float) -> str:
    """A relative change in per cent, with its sign."""
    return "0 %" if change == 0 else f"{'+' if change > 0 else '−'}{percent(abs(change))}"


def signed_money(value: float, currency: str) -> str:
    """A change of an amount of money, or of one per year, with its sign."""
    return f"{'−' if value < 0 else '+'}{units.show(abs(value), units.MONEY, currency)}"


def watts(kilowatts: float) -> str:
    """A GPU limit for people: a number of kW, in W."""
    return f"{kilowatts * 1000:,.6g} W"


def bar(share: float) -> str:
    """A bar of up to 40 cells, in eighths of a cell."""
    eighths = round(share * BAR * 8)
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")


def hundredths(share: float) -> str:
    """A share in hundredths of a per cent, so that a column of them lines up."""
    return "< 0.01 %" if 0 < share < 0.00005 else f"{share * 100:.2f} %"


def prose(text: str, indent: str = "") -> str:
    """Text wrapped for reading, at spaces only."""
    return textwrap.fill(text, PROSE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def capitalised(text: str) -> str:
    """The text with its first letter large."""
    return text[:1].upper() + text[1:]


def listed(words: Iterable[str]) -> str:
    """Words one after the other, with commas."""
    return ", ".join(words)


def counted(number: int, word: str) -> str:
    """A number of things: 1 point, 1,000 points."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def maybe(value: float | None, show: Show) -> str | None:
    """What is shown of a value that may be unknown."""
    return None if value is None else show(value)


def known(value: float) -> float | None:
    """A number of a table; None for NaN."""
    return None if isnan(value) else value


def change_text(new: float, old: float) -> str:
    """The relative change from an old number to a new one, in hundredths of a per cent."""
    return f"{(new / old - 1) * 100:+.2f} %"


def objective_text(kind: str, value: float, currency: str) -> str:
    """The objective's value with its name and unit."""
    return {"goodput": "goodput ", "cost": "cost "}.get(kind, "") + objective_number(kind, value, currency)


def objective_number(kind: str, value: float, currency: str) -> str:
    """The objective's value with its unit."""
    if kind == "goodput":
        return f"{value:,.1f} baseline GPUs"
    if kind == "cost":
        return units.show(value, units.MONEY_PER_YEAR, currency)
    return f"{value:,.4f} baseline GPU-hours per {units.CURRENCIES[currency]}"


def horizon_number(kind: str, value: float, currency: str) -> str:
    """The value of a plan over quarters, with its unit."""
    return units.show(value, units.MONEY, currency) if kind == "cost" else f"{units.show_gpu_hours(value)} GPU-hours"


def proof_words(status: str, gap: float, among: str = EVERY) -> str:
    """What is proven of a plan, by its certificate's status and gap, and which plans that is about."""
    proven = f"proven within {percent(gap)}" if status == "proven" else f"NOT PROVEN ({status})"
    return proven if among == EVERY else f"{proven}, among {among}"


def doubt(status: str, gap: float, among: str = EVERY) -> list[str]:
    """What a plan without a proof must say at once."""
    better = "A better plan" if among == EVERY else "A better one of these"
    return [] if status == "proven" else [f"{better} may exist, by up to {percent(gap)}."]


FEW = 8
"""Changes of one scenario or overlay that are told; the JSON holds all."""


def _few(changes: list[str]) -> str:
    more = len(changes) - FEW
    return "; ".join(changes[:FEW] if more > 1 else changes) + (f"; and {more} more" if more > 1 else "")


def applied_text(applied: Iterable[str]) -> str:
    """What was changed in an instance, the changes of a scenario or an overlay together, in a sentence."""
    groups: dict[str, list[str]] = {}
    for text in applied:
        scenario, colon, change = text.partition(": ")
        named = bool(colon) and scenario.startswith(("scenario ", "overlay "))
        groups.setdefault(scenario if named else "", []).append(change if named else text)
    parts = [f"{name} ({_few(changes)})" if name else "; ".join(changes) for name, changes in groups.items()]
    return f"With {'; '.join(parts)}."
