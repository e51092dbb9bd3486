"""Draw kept what-ifs with Bokeh: the objective of each as a dot, what is not proven as a line, its cost beside it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from bokeh.models import ColumnDataSource, HoverTool, NumeralTickFormatter, Span
from bokeh.plotting import figure

from spareopt import units
from spareopt.exploring.what_ifs import AS_IT_STANDS, KeptWhatIf
from spareopt.pictures import BLUE, GREY, ORANGE
from spareopt.plan import Plan
from spareopt.what_if import Answer
from spareopt.wording import signed_percent

ROW, AROUND = 34, 70
"""Pixels for each what-if, and around them all."""
LETTERS = 26
MOST_DIGITS = 8
MARGIN = 0.15
MILLION = 1e6
COST_AXIS = "cost per year, capital included (M{})"


def kept_figures(nominal: Answer, kept: Sequence[KeptWhatIf]) -> list[tuple[str, figure]]:
    """What figures of what is kept show, and the figures: the objective, and cost where known and not the objective."""
    named = [(AS_IT_STANDS, nominal), *((item.name, item.answer) for item in kept)]
    plans = [(name, answer.plan) for name, answer in named if answer.plan is not None]
    if len(plans) < 2:
        return []
    rows = [(_short(name, place), plan) for place, (name, plan) in enumerate(plans)]
    kind, symbol = plans[0][1].certificate.objective, units.CURRENCIES[plans[0][1].evaluation.currency]
    size = MILLION if kind == "cost" else 1.0
    axis = {"goodput": "goodput (baseline GPUs)", "cost": COST_AXIS.format(symbol)}.get(
        kind, f"goodput (baseline GPU-hours per {symbol})"
    )
    digits = 4 if kind == "goodput_per_dollar" else 1
    values = [(name, plan.certificate.value / size, plan.certificate.bound / size) for name, plan in rows]
    figures = [(_finding(plans, kind), _dots(axis, values, BLUE, digits))]
    costs = [(name, plan.evaluation.cost_per_year) for name, plan in rows]
    if kind != "cost" and all(cost is not None for _, cost in costs):
        points = [(name, cost / MILLION, cost / MILLION) for name, cost in costs if cost is not None]
        least = min(plans, key=lambda row: row[1].evaluation.cost_per_year or 0.0)[0]
        figures.append((f"Least cost per year: {least}", _dots(COST_AXIS.format(symbol), points, ORANGE, 2)))
    return figures


def _finding(rows: Sequence[tuple[str, Plan]], kind: str) -> str:
    """Which what-if is best, and by how much it differs from the instance as it stands."""
    pick = min if kind == "cost" else max
    name, best = pick(rows, key=lambda row: row[1].certificate.value)
    base = rows[0][1].certificate.value
    change = "" if rows[0][1] is best else f" ({signed_percent(best.certificate.value / base - 1)})"
    word = {"goodput": "Most goodput", "cost": "Least cost"}.get(kind, "Most goodput per unit of money")
    return f"{word}: {name}{change}"


def _dots(axis: str, points: Sequence[tuple[str, float, float]], colour: str, digits: int) -> figure:
    """A dot for each point (name, value, bound) on a common axis, a line to its bound, a dashed line at the first."""
    names = [name for name, _, _ in points]
    texts = [f"{value:,.{digits}f}" for _, value, _ in points]
    columns = {"name": names, "value": [p[1] for p in points], "bound": [p[2] for p in points], "text": texts}
    source = ColumnDataSource(columns)
    ends = [end for _, value, bound in points for end in (value, bound)]
    span = max(max(ends) - min(ends), 1e-6 * abs(max(ends)) or 1.0)
    result = figure(
        y_range=list(reversed(names)),
        x_range=(min(ends) - MARGIN * span, max(ends) + 2 * MARGIN * span),
        height=AROUND + ROW * len(names),
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
    )
    result.hbar(y="name", left="value", right="bound", height=0.12, color=GREY, source=source)
    dots = result.scatter("value", "name", size=11, color=colour, line_color="black", source=source)
    place = {"x_offset": 9, "text_baseline": "middle", "text_font_size": "11px"}
    result.text("value", "name", text="text", source=source, **place)
    result.add_layout(Span(location=points[0][1], dimension="height", line_dash="dashed", line_color=GREY))
    result.add_tools(HoverTool(renderers=[dots], tooltips=[("", "@name: @text")]))
    result.xaxis.axis_label = axis
    told = max(0, min(MOST_DIGITS, 1 - floor(log10(span / 2))))  # as many as tell two of its ticks apart
    result.xaxis.formatter = NumeralTickFormatter(format=f"0,0.[{'0' * told}]" if told else "0,0")
    result.xaxis.ticker.desired_num_ticks = 3
    result.ygrid.visible = False
    return result


def _short(name: str, place: int) -> str:
    """A name that fits beside the axis, unlike the others."""
    return name if len(name) <= LETTERS else f"{name[: ceil(LETTERS - 5)]}… {place}"
