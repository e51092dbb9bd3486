"""Draw a sweep: the objective and the spare blocks along one input, or the objective over two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from spareopt import units
from spareopt.drawings.hover import hover
from spareopt.drawings.money import scale_of
from spareopt.drawings.sheet import entitle, ink, legend_below, nothing, on, wrapped
from spareopt.input_words import input_words
from spareopt.pictures import BLUE, GRID, LINES, ORANGE
from spareopt.plan import PROVEN
from spareopt.sweep_result import Point, Sweep
from spareopt.sweep_text import axis_texts
from spareopt.wording import counted, objective_number, signed_percent

MOST_TICKS = 6
MOST_CELLS = 7
"""Columns up to which the cells of a map have their number in them."""


def lines(sweep: Sweep, axes: Axes | None = None) -> Axes:
    """The objective at each value of the only axis, hollow where it is not proven, and as steps all spare blocks and I,
    where they change.

    Raises ValueError where the sweep has several axes, or its points several objectives.
    """
    if len(sweep.axes) != 1:
        raise ValueError(f"lines: expected a sweep over one axis, got {len(sweep.axes)}; see heat")
    found = _found(sweep)
    if not found:
        return _no_plan(sweep, axes)
    size, unit = _unit(sweep, found)
    places = [point.point for point in found]
    with on(axes, 3.2, style=GRID, grid="y") as ax:
        values = [_value(point) / size for point in found]
        ax.plot(places, values, "-", color=BLUE, lw=1.0)
        for place, value, point in zip(places, values, found, strict=True):
            face = BLUE if point.status == PROVEN else "white"
            (mark,) = ax.plot([place], [value], "o", color=BLUE, mfc=face, ms=5)
            hover(mark, _says(sweep, point))
        spares = [
            (words, style, counts)
            for words, style, count in (("spare blocks in all", "--", _spare_blocks), ("I, mean of zones", ":", _trays))
            if len(set(counts := [count(point) for point in found])) > 1
        ]
        if spares:
            right = ax.twinx()
            for _, style, counts in spares:
                right.step(places, counts, where="mid", color=ORANGE, lw=1.2 if style == "--" else 1.8, ls=style)
            dashes = {"--": "dashed", ":": "dotted"}
            right.set_ylabel("\n".join(f"{words} ({dashes[style]})" for words, style, _ in spares))
            right.yaxis.set_major_locator(MaxNLocator(5, integer=True))
            right.spines["top"].set_visible(False)
        ax.yaxis.set_major_formatter("{x:,.6g}")
        ax.set_ylabel(unit)
        _value_ticks(ax, sweep)
        ax.set_xlim(-0.5, len(sweep.axes[0].values) - 0.5)
        handles = [
            Line2D([], [], color=BLUE, marker="o", lw=1.0, label=_objective(found)),
            *(Line2D([], [], color=ORANGE, ls=style, lw=1.2, label=words) for words, style, _ in spares),
        ]
        legend_below(ax, handles, own=axes is None)
        entitle(ax, _line_finding(sweep, found))
    return ax


def heat(sweep: Sweep, axes: Axes | None = None) -> Axes:
    """The objective over the two axes of a sweep: a shade and, where there is room, its number.

    Raises ValueError where the sweep has another number of axes, or its points several objectives.
    """
    if len(sweep.axes) != 2:
        raise ValueError(f"heat: expected a sweep over two axes, got {len(sweep.axes)}; see lines")
    found = _found(sweep)
    if not found:
        return _no_plan(sweep, axes)
    size, unit = _unit(sweep, found)
    down, across = (len(axis.values) for axis in sweep.axes)
    table = np.full((down, across), np.nan)
    for point in found:
        table[divmod(point.point, across)] = _value(point) / size
    with on(axes, 1.5 + 0.3 * min(down, 14), style=LINES) as ax:
        shades = ax.imshow(table, cmap="cividis", aspect="auto", interpolation="nearest")
        for point in sweep.points:
            row, place = divmod(point.point, across)
            value = table[row, place]
            text = "–" if np.isnan(value) else f"{value:,.4g}" + ("" if point.status == PROVEN else "*")
            if across <= MOST_CELLS:
                shade = "white" if np.isnan(value) else shades.to_rgba(value)
                mark = ax.text(place, row, text, ha="center", va="center", fontsize=8, color=ink(shade))
                hover(mark, _says(sweep, point))
        _value_ticks(ax, sweep, which=1, room=180.0)
        step = -(-down // 14)
        labels = [wrapped(text, 80.0) for text in axis_texts(sweep, 0)]
        ax.set_yticks(range(0, down, step), labels[::step])
        ax.set_ylabel(wrapped(input_words(sweep.axes[0].paths[0]), 150.0))
        bar = ax.figure.colorbar(shades, ax=ax, label=f"{_objective(found)}, {unit}", shrink=0.95)
        bar.ax.yaxis.set_major_formatter("{x:,.6g}")
        best = max(found, key=_value) if found[0].certificate.sense == "maximise" else min(found, key=_value)  # type: ignore[union-attr]
        ends = " and ".join(entry.given for entry in best.inputs)
        worst = min(found, key=_value) if best.certificate.sense == "maximise" else max(found, key=_value)  # type: ignore[union-attr]
        spread = f"; from worst to best {_change(worst, best)}"
        entitle(ax, f"{_objective(found).capitalize()} is best at {ends}{spread if len(found) > 1 else ''}")
    return ax


def _found(sweep: Sweep) -> list[Point]:
    """The points with a plan.  Raises ValueError where their objectives differ: one axis can't hold them."""
    found = [point for point in sweep.points if point.certificate is not None]
    kinds = sorted({_objective([point]) for point in found})
    if len(kinds) > 1:
        raise ValueError(f"the points of the sweep have several objectives ({', '.join(kinds)}); sweep each by itself")
    return found


def _change(old: Point, new: Point) -> str:
    """The relative change of the objective; from nothing, as where all prices are zero, there is none."""
    before, after = _value(old), _value(new)
    if before == after:
        return signed_percent(0.0)
    return signed_percent(round(after / before - 1.0, 6)) if before else "from nothing"


def _no_plan(sweep: Sweep, axes: Axes | None) -> Axes:
    with on(axes, 0.9) as ax:
        nothing(ax, f"No point of the sweep has a plan: {sweep.points[0].why if sweep.points else 'none is solved'}")
        entitle(ax, "No point of the sweep has a plan")
    return ax


def _value_ticks(ax: Axes, sweep: Sweep, which: int = 0, room: float = 250.0) -> None:
    """Values of an axis below the picture, as many as ``room`` (points) is for, and the inputs that have them."""
    texts = axis_texts(sweep, which)
    step = -(-len(texts) // MOST_TICKS)
    places = range(0, len(texts), step)
    ax.set_xticks(places, [wrapped(texts[place], room / len(places) - 4.0, 8.0) for place in places], fontsize=8)
    paths = sweep.axes[which].paths
    words = input_words(paths[0]) + (f" with {counted(len(paths) - 1, 'other')}" if len(paths) > 1 else "")
    ax.set_xlabel(wrapped(words, 220.0))


def _line_finding(sweep: Sweep, found: Sequence[Point]) -> str:
    """What happens from the first value with a plan to the last, and where there is no plan."""
    first, last = found[0], found[-1]
    change = _change(first, last)
    moved = "; ".join(
        f"{name} {low:,.4g} to {high:,.4g}" if high > low else f"{name} stays {low:,.4g}"
        for name, low, high in (
            ("spare blocks", min(map(_spare_blocks, found)), max(map(_spare_blocks, found))),
            ("I", min(map(_trays, found)), max(map(_trays, found))),
        )
    ).replace("spare blocks stays", "spare blocks stay")
    text = f"From {first.inputs[0].given} to {last.inputs[0].given}: {_objective(found)} {change}; {moved}"
    without = len(sweep.points) - len(found)
    return text + (f"; no plan at {counted(without, 'value')}" if without else "")


def _says(sweep: Sweep, point: Point) -> str:
    where = ", ".join(f"{entry.path} = {entry.given}" for entry in point.inputs)
    certificate = point.certificate
    if certificate is None:
        return f"{where}: {point.status}"
    value = objective_number(certificate.objective, certificate.value, sweep.currency)
    proof = "" if point.status == PROVEN else f", {point.status}"
    return f"{where}: {value}, {_spare_blocks(point):,} spare blocks{proof}"


def _value(point: Point) -> float:
    assert point.certificate is not None
    return point.certificate.value


def _objective(found: Sequence[Point]) -> str:
    assert found[0].certificate is not None
    return found[0].certificate.objective.replace("_", " ")


def _spare_blocks(point: Point) -> int:
    assert point.decisions is not None
    return sum(choice.count * choice.inter_block_spares for choice in point.decisions.zones)


def _trays(point: Point) -> float:
    """I, the idle trays of a block, as the mean over the zones."""
    assert point.decisions is not None
    zones = point.decisions.zones
    return sum(choice.count * choice.intra_block_spares for choice in zones) / sum(choice.count for choice in zones)


def _unit(sweep: Sweep, found: Sequence[Point]) -> tuple[float, str]:
    """The unit of the objective's axis, and its size."""
    certificate = found[0].certificate
    assert certificate is not None
    if certificate.objective == "cost":
        size, unit = scale_of(max(map(_value, found)), sweep.currency)
        return size, f"{unit} per year"
    if certificate.objective == "goodput":
        return 1.0, "baseline GPUs"
    return 1.0, f"baseline GPU-hours per {units.CURRENCIES[sweep.currency]}"
