"""Draw a tornado: each uncertain input at both ends of its interval, for the plan as it is and for the best one."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from spareopt.drawings.sheet import (
    bar,
    entitle,
    label_rows,
    legend_below,
    nothing,
    on,
    rows_height,
    signed_ticks,
    wrapped,
)
from spareopt.exposure import Tornado, TornadoBar, TornadoEnd
from spareopt.input_words import input_words
from spareopt.pictures import BLUE, GREY, ORANGE
from spareopt.wording import capitalised, signed_percent

MOST = 10


def bars(tornado: Tornado, most: int | None = MOST, axes: Axes | None = None) -> Axes:
    """Two bars per input, the largest swings first, at most ``most`` of them (None: all): the plan as it is, hatched
    where it breaks a limit, and the best plan at each end."""
    moving = [item for item in tornado.bars if item.swing > 0]
    shown = moving[:most]
    nominal = tornado.certificate.value
    if not shown:
        with on(axes, 0.9) as ax:
            nothing(ax, "No input moves the objective within its interval.")
            entitle(ax, finding(tornado))
        return ax
    labels = [_label(item) for item in shown]
    left_out = len(moving) - len(shown)
    with on(axes, rows_height(labels, bottom=0.95 if left_out else 0.8)) as ax:
        for row, item in enumerate(shown):
            for end in (item.low, item.high):
                _end(ax, row, item, end, nominal)
        label_rows(ax, labels)
        ax.axvline(0, color=GREY, lw=0.9)
        signed_ticks(ax)
        ax.locator_params(axis="x", nbins=6)
        what = tornado.certificate.objective.replace("_", " ")
        rest = f"\n{left_out} more inputs, which move it less, are left out" if left_out else ""
        ax.set_xlabel(f"change of {what}, %{rest}")
        handles = [Patch(facecolor=ORANGE, label="plan as it is"), Patch(facecolor=BLUE, label="best plan there")]
        if any(end.fixed is not None and end.fixed_breaks for item in shown for end in (item.low, item.high)):
            broken = Patch(facecolor=ORANGE, hatch="////", edgecolor="white", lw=0, label="as it is, breaks a limit")
            handles.insert(1, broken)
        legend_below(ax, handles, own=axes is None)
        entitle(ax, finding(tornado))
    return ax


def finding(tornado: Tornado) -> str:
    """The input that moves the best plan's objective most, and by how much."""
    nominal, what = tornado.certificate.value, tornado.certificate.objective.replace("_", " ")
    moving = [item for item in tornado.bars if item.swing > 0]
    if not moving:
        return f"No input moves the {what} within its interval"
    worst = moving[0]
    ends = [end.adapted if end.adapted is not None else end.fixed for end in (worst.low, worst.high)]
    changes = [signed_percent(round(value / nominal - 1.0, 6)) for value in ends if value is not None]
    words = capitalised(input_words(worst.input))
    if not changes:
        return f"{words} matters most: at an end of its interval there is no plan"
    if len(changes) == 1 or changes[0] == changes[1]:
        return f"{words} matters most: {what} {changes[0]}"
    return f"{words} matters most: {what} {changes[0]} to {changes[1]}"


def _end(ax: Axes, row: int, item: TornadoBar, end: TornadoEnd, nominal: float) -> None:
    """Both bars of one end of an input."""
    where = f"{input_words(item.input)} at {end.setting}"
    if end.fixed is not None:
        breaks = f", which breaks {', '.join(end.fixed_breaks)}" if end.fixed_breaks else ""
        says = f"{where}: the plan as it is {signed_percent(end.fixed / nominal - 1.0)}{breaks}"
        change = 100 * (end.fixed / nominal - 1.0)
        bar(ax, row - 0.19, change, height=0.34, colour=ORANGE, hatch="////" if end.fixed_breaks else None, says=says)
    if end.adapted is not None:
        says = f"{where}: the best plan {signed_percent(end.adapted / nominal - 1.0)}"
        bar(ax, row + 0.19, 100 * (end.adapted / nominal - 1.0), height=0.34, colour=BLUE, says=says)


def _label(item: TornadoBar) -> str:
    """The input in words, and below it its ends."""
    assumed = " (assumed)" if item.interval == "assumed" else ""
    ends = f"{item.low.setting} to {item.high.setting}{assumed}"
    lines = [input_words(item.input), ends]
    lines += [f"no plan at {end.setting}" for end in (item.low, item.high) if end.adapted is None]
    return "\n".join(wrapped(line, 135.0) for line in lines)
