"""Draw what a plan costs per year, by what it is paid for, and what of it the idle spares cost."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from spareopt import units
from spareopt.drawings.sheet import bar, column, entitle, label_rows, on, rows_height, wrapped
from spareopt.instance import Instance
from spareopt.money import WHAT_WORDS, What, cost_by_what, cost_items
from spareopt.pictures import BLUE, GREY, ORANGE
from spareopt.plan import Plan

OF_CAPITAL = ("racks", "shelf", "building")


def split(plan: Plan, instance: Instance, axes: Axes | None = None) -> Axes | None:
    """A bar for everything that is bought (spread over its years) or paid, then the sum, then the idle spares of it.

    None where the cost is not known, for want of prices.  Raises InputError where the instance is not the plan's.
    """
    e = plan.evaluation
    items = cost_items(plan.decisions, e, instance)
    if items is None or e.cost_per_year is None:
        return None
    years = units.show(instance.economics.amortisation, units.TIME).replace(" year", " years")
    parts = cost_by_what(items)
    spread = f" (capital over {years})"
    rows = [
        (WHAT_WORDS[what] + (spread if what in OF_CAPITAL else ""), value, BLUE, "") for what, value in parts.items()
    ]
    rows.append(("in all", e.cost_per_year, GREY, ""))
    if e.idle_spares.cost_per_year is not None:
        rows.append(("of it idle spares, with their energy", e.idle_spares.cost_per_year, ORANGE, "////"))
    labels = [wrapped(words, 112.0) for words, *_ in rows]
    total = e.cost_per_year
    size, unit = scale_of(total, e.currency)
    with on(axes, rows_height(labels, least=0.32)) as ax:
        texts = []
        for row, (words, value, colour, hatch) in enumerate(rows):
            share = value / total if total else 0.0  # prices of zero
            text = f"{units.show(value, units.MONEY, e.currency)}\n{100 * share:.1f} %"
            texts.append(text)
            says = f"{words}: {units.show(value, units.MONEY_PER_YEAR, e.currency)}, {100 * share:.2f} % of all"
            bar(ax, row, value / size, colour=colour, hatch=hatch or None, says=says)
        label_rows(ax, labels)
        column(ax, texts, size=8.0)
        ax.set_xlim(0, 1.02 * total / size or 1.0)
        ax.xaxis.set_major_formatter("{x:,.6g}")
        ax.locator_params(axis="x", nbins=5)
        ax.set_xlabel(f"cost, {unit} per year")
        entitle(ax, finding(plan, parts))
    return ax


def finding(plan: Plan, parts: Mapping[What, float]) -> str:
    """The cost, the greatest part of it, and what idle spares cost."""
    e = plan.evaluation
    assert e.cost_per_year is not None
    text = units.show(e.cost_per_year, units.MONEY_PER_YEAR, e.currency)
    if parts and e.cost_per_year:
        what = max(parts, key=parts.__getitem__)
        text += f": {100 * parts[what] / e.cost_per_year:.0f} % is {WHAT_WORDS[what]}"
    idle = e.idle_spares.cost_per_year
    if idle is not None and e.cost_per_year:
        share = 100 * idle / e.cost_per_year
        text += f"; idle spares cost {units.show(idle, units.MONEY, e.currency)} of it ({share:.1f} %)"
    return text


def scale_of(value: float, currency: str) -> tuple[float, str]:
    """The unit in which an axis up to an amount of money is read, and its size."""
    symbol = units.CURRENCIES[currency]
    for size, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return size, f"{prefix}{symbol}"
    return 1.0, symbol
