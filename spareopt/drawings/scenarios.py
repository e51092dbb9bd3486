"""Draw the best plans of scenarios beside the nominal one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from spareopt.drawings.sheet import bar, column, entitle, label_rows, on, rows_height, signed_ticks, wrapped
from spareopt.pictures import BLUE, GREEN, GREY, ORANGE
from spareopt.wording import counted, signed_percent

SMALL, TEXT_WIDTH = 8.0, 84.0
"""Font size and width of the texts beside the bars, points."""


class Row(NamedTuple):
    """The objective of one scenario's best plan."""

    name: str
    value: float | None
    """None where there is no plan."""
    unit: str
    status: str
    """Such as proven, limit reached, infeasible."""
    words: str
    """The value with its unit, as it is shown; nothing where there is no plan."""


def bars(rows: Sequence[Row], axes: Axes | None = None, *, objective: str = "goodput") -> Axes:
    """How far the objective of each scenario is from that of the first row, the nominal one; hatched: not proven.

    Scenarios of another unit, whose objective is another, have their value only.
    """
    nominal = rows[0]
    labels = [wrapped(row.name, 120.0) for row in rows]
    changes = [_change(row, nominal) for row in rows]
    texts = [_text(row, nominal, change) for row, change in zip(rows, changes, strict=True)]
    with on(axes, rows_height([*labels, *texts], rows=len(rows), least=0.32)) as ax:
        for place, (row, change) in enumerate(zip(rows, changes, strict=True)):
            colour = GREY if place == 0 else GREEN if (change or 0.0) > 0 else ORANGE
            colour = BLUE if objective == "cost" and place else colour
            says = f"{row.name}: {texts[place]}".replace("\n", ", ")
            bar(ax, place, 100 * (change or 0.0), colour=colour, hatch=None if _proven(row) else "////", says=says)
        label_rows(ax, labels)
        column(ax, texts, size=SMALL)
        ax.axvline(0, color=GREY, lw=0.9)
        ax.margins(x=0.06)
        signed_ticks(ax)
        ax.locator_params(axis="x", nbins=5)
        ax.set_xlabel(f"change of {objective.replace('_', ' ')} from {wrapped(nominal.name, 100.0)}, %")
        entitle(ax, finding(rows))
    return ax


def finding(rows: Sequence[Row]) -> str:
    """The scenarios at both ends, and how many have no plan."""
    nominal = rows[0]
    changes = {row.name: change for row in rows[1:] if (change := _change(row, nominal)) is not None}
    without = sum(row.value is None for row in rows[1:])
    parts = []
    if changes:
        low, high = min(changes, key=changes.__getitem__), max(changes, key=changes.__getitem__)
        ends = [low] if low == high else [low, high]
        parts = [f"{name} {signed_percent(round(changes[name], 6))}" for name in ends]
    if without:
        parts.append(f"no plan in {counted(without, 'scenario')}")
    many = counted(len(rows) - 1, "scenario")
    return f"{many}: {'; '.join(parts)}" if parts else "The instance has no scenarios"


def _proven(row: Row) -> bool:
    return row.value is None or row.status == "proven"


def _change(row: Row, nominal: Row) -> float | None:
    if row.value is None or not nominal.value or row.unit != nominal.unit:
        return None
    return row.value / nominal.value - 1.0


def _text(row: Row, nominal: Row, change: float | None) -> str:
    if row.value is None:
        return row.status
    if change is None or row is nominal:
        text = wrapped(row.words, TEXT_WIDTH, SMALL)
    else:
        number = row.words.partition(" baseline ")[0]  # the unit stands in the nominal row
        text = f"{number}\n{signed_percent(round(change, 6))}"
    return text + ("" if _proven(row) else "\nNOT PROVEN")
