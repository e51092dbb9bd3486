"""Draw kept what-ifs with Bokeh: the objective of each as a dot, what is not proven as a line, its cost beside it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from bokeh.models import ColumnDataSource, HoverTool, Span
from bokeh.plotting import figure

from spareopt import units
from spareopt.exploring.what_ifs import KeptWhatIf
from spareopt.pictures import BLUE, GREY, ORANGE
from spareopt.plan import Plan
from spareopt.what_if import Answer
from spareopt.wording import objective_number, signed_percent

ROW, AROUND = 34, 96
"""Pixels for each what-if, and around them all."""
LETTERS = 26
MARGIN = 0.15
NAMES = {"goodput": "goodput", "cost": "cost per year"}


def kept_figures(nominal: Answer, kept: Sequence[KeptWhatIf]) -> list[figure]:
    """The figures of what is kept: the objective, and cost where that is known and not the objective itself."""
    named = [("as it stands", nominal), *((item.name, item.answer) for item in kept)]
    plans = [(name, answer.plan) for name, answer in named if answer.plan is not None]
    if len(plans) < 2:
        return []
    rows = [(_short(name, place), plan) for place, (name, plan) in enumerate(plans)]
    kind = plans[0][1].certificate.objective
    currency = plans[0][1].evaluation.currency
    word = NAMES.get(kind, f"goodput per {units.CURRENCIES[currency]}")
    values = [(name, plan.certificate.value, plan.certificate.bound, _words(plan)) for name, plan in rows]
    figures = [_dots(f"{_finding(rows, kind)}", f"{word} ({plans[0][1].certificate.unit})", values, BLUE)]
    costs = [(name, plan.evaluation.cost_per_year) for name, plan in rows]
    if kind != "cost" and all(cost is not None for _, cost in costs):
        points = [
            (name, cost / 1e6, cost / 1e6, objective_number("cost", cost, currency))
            for name, cost in costs
            if cost is not None
        ]
        least = min(points, key=lambda point: point[1])[0]
        axis = f"cost per year, capital included (M{units.CURRENCIES[currency]})"
        figures.append(_dots(f"Least cost per year: {least.strip()}", axis, points, ORANGE))
    return figures


def _finding(rows: Sequence[tuple[str, Plan]], kind: str) -> str:
    """Which what-if is best, and by how much it differs from the instance as it stands."""
    pick = min if kind == "cost" else max
    name, best = pick(rows, key=lambda row: row[1].certificate.value)
    base = rows[0][1].certificate.value
    change = "" if rows[0][1] is best else f" ({signed_percent(best.certificate.value / base - 1)})"
    word = {"goodput": "Most goodput", "cost": "Least cost"}.get(kind, "Most goodput per unit of money")
    return f"{word}: {name.strip()}{change}"


def _dots(title: str, axis: str, points: Sequence[tuple[str, float, float, str]], colour: str) -> figure:
    """A dot for each point on a common axis, a line to its bound, and a dashed line at the first."""
    names = [name for name, *_ in points]
    source = ColumnDataSource(
        {
            "name": names,
            "value": [value for _, value, _, _ in points],
            "bound": [bound for _, _, bound, _ in points],
            "words": [words for *_, words in points],
        }
    )
    ends = [end for _, value, bound, _ in points for end in (value, bound)]
    span = max(max(ends) - min(ends), 1e-6 * abs(max(ends)) or 1.0)
    result = figure(
        y_range=list(reversed(names)),
        x_range=(min(ends) - MARGIN * span, max(ends) + 3 * MARGIN * span),
        height=AROUND + ROW * len(names),
        sizing_mode="stretch_width",
        title=title,
        toolbar_location=None,
        tools="",
        min_border_right=20,
    )
    result.hbar(y="name", left="value", right="bound", height=0.12, color=GREY, source=source)
    dots = result.scatter("value", "name", size=11, color=colour, line_color="black", source=source)
    result.text("value", "name", text="words", x_offset=9, y_offset=0, text_baseline="middle", text_font_size="11px",
                source=source)  # fmt: skip
    result.add_layout(Span(location=points[0][1], dimension="height", line_dash="dashed", line_color=GREY))
    result.add_tools(HoverTool(renderers=[dots], tooltips=[("", "@name: @words")]))
    result.xaxis.axis_label = axis
    result.xaxis.formatter.use_scientific = False
    result.xaxis.ticker.desired_num_ticks = 4
    result.ygrid.visible = False
    result.title.text_font_size = "13px"
    return result


def _words(plan: Plan) -> str:
    c = plan.certificate
    return objective_number(c.objective, c.value, plan.evaluation.currency)


def _short(name: str, place: int) -> str:
    """A name that fits beside the axis, unlike the others."""
    return name if len(name) <= LETTERS else f"{name[: ceil(LETTERS - 5)]}… {place}"
