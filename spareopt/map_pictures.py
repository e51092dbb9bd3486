"""Draw maps of strategies with matplotlib: a colour and a letter per strategy, hatching where the win is close."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path as MplPath

from spareopt.map_result import CLOSE, MapAxis, StrategyMap
from spareopt.map_text import letters, tick
from spareopt.pictures import PALETTE, STYLE, save
from spareopt.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TICKS = 8
LABELLED_FROM = 0.05
"""Share of a map from which a region is named in it."""


def draw_map(result: StrategyMap, path: Path) -> None:
    """Draw one map as SVG or PNG, by the name of the file."""
    draw_maps([(f"{result.instance}, {result.model} model", result)], path)


def draw_maps(
    panels: Sequence[tuple[str, StrategyMap]],
    path: Path,
    *,
    columns: int = 2,
    names: dict[str, str] | None = None,
    axis_names: tuple[str, str] | None = None,
) -> None:
    """Draw maps side by side, each with its title, with one colour for a strategy in all of them.

    ``names`` and ``axis_names`` are shorter words for strategies and for the axes x and y.
    """
    with mpl.rc_context(STYLE):
        used = dict.fromkeys(name for _, result in panels for name in _legend_order(result))
        colours = {name: PALETTE[place % len(PALETTE)] for place, name in enumerate(used)}
        signs = letters(panels[0][1]) if len(panels) == 1 else {}
        called = {name: (names or {}).get(name, name) for name in used}
        columns = min(columns, len(panels))
        rows = -(-len(panels) // columns)
        figure = Figure(figsize=(4.6 * columns + (2.2 if len(panels) == 1 else 0.0), 3.3 * rows + 0.9))
        FigureCanvasAgg(figure)
        figure.set_layout_engine("constrained")
        for place, (title, result) in enumerate(panels):
            axes = figure.add_subplot(rows, columns, place + 1)
            _draw(axes, result, colours, {name: signs.get(name, called[name]) for name in used})
            axes.set_title(title)
            x, y = axis_names or (_axis_words(result, 0), _axis_words(result, 1))
            if place >= len(panels) - columns:
                axes.set_xlabel(x)
            if place % columns == 0:
                axes.set_ylabel(y)
        shares = panels[0][1].shares() if len(panels) == 1 else {}
        handles = [
            Patch(
                facecolor=colours[name],
                edgecolor="black",
                linewidth=0.5,
                label=" ".join(
                    filter(
                        None, [signs.get(name), called[name], f"({percent(shares[name])})" if name in shares else ""]
                    )
                ),
            )
            for name in used
        ]
        handles.append(
            Patch(facecolor="white", edgecolor="#404040", hatch="////", label=f"wins by less than {CLOSE:.0%}")
        )
        if any(cell.given for _, result in panels for cell in result.cells):
            handles.append(Patch(facecolor="none", edgecolor="black", linewidth=1.8, label="as given"))
        if len(panels) == 1:
            figure.legend(handles=handles, loc="outside right upper", frameon=False)
        else:
            figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 5), frameon=False)
        save(figure, path)


def _legend_order(result: StrategyMap) -> list[str]:
    return [name for name in letters(result) if name in result.shares()]


def _axis_words(result: StrategyMap, which: int) -> str:
    axis = (result.x, result.y)[which]
    first, *others = axis.paths
    if not others:
        return first
    differ = axis.shown and any(texts != axis.shown[0] for texts in axis.shown)
    return f"{first}\n{'in proportion' if differ else 'also'}: {', '.join(others)}"


def _draw(axes: Axes, result: StrategyMap, colours: dict[str, str], labels: dict[str, str]) -> None:
    width, height = len(result.x.values), len(result.y.values)
    won: dict[str, list[tuple[int, int]]] = {}
    for cell in result.cells:
        if cell.winner is not None:
            won.setdefault(cell.winner, []).append((cell.x, cell.y))
    for name, places in won.items():
        _fill(axes, places, facecolor=colours[name], edgecolor=colours[name], linewidth=0.3)
    close = [(cell.x, cell.y) for cell in result.cells if cell.margin is not None and cell.margin < CLOSE]
    _fill(axes, close, facecolor="none", edgecolor="#404040", hatch="////", linewidth=0.0)
    _borders(axes, result)
    for cell in result.cells:
        if cell.given:
            axes.add_patch(_square(cell.x, cell.y, facecolor="none", edgecolor="black", linewidth=1.8, zorder=3))
    for name, places in won.items():
        if len(places) >= LABELLED_FROM * len(result.cells):
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.2, "alpha": 0.8}
            axes.text(*_middle(places), labels[name], ha="center", va="center", bbox=box, zorder=4)
    axes.set_xlim(-0.5, width - 0.5)
    axes.set_ylim(-0.5, height - 0.5)
    axes.set_xticks(*_ticks(result.x))
    axes.set_yticks(*_ticks(result.y))
    axes.tick_params(axis="x", labelrotation=30)


def _ticks(axis: MapAxis) -> tuple[list[int], list[str]]:
    """Where the ticks stand, and what they say."""
    step = -(-len(axis.values) // MOST_TICKS)
    places = list(range(0, len(axis.values), step))
    return places, [tick(axis, place) for place in places]


def _square(x: int, y: int, **options: Any) -> Rectangle:
    return Rectangle((x - 0.5, y - 0.5), 1.0, 1.0, **options)


def _fill(axes: Axes, places: list[tuple[int, int]], **options: Any) -> None:
    """Fill cells, neighbours in a row as one piece: a picture of some kilobytes."""
    own = set(places)
    corners: list[tuple[float, float]] = []
    codes: list[Any] = []
    for x, y in places:
        if (x - 1, y) in own:
            continue
        end = x
        while (end + 1, y) in own:
            end += 1
        left, right, low, high = x - 0.5, end + 0.5, y - 0.5, y + 0.5
        corners += [(left, low), (right, low), (right, high), (left, high), (left, low)]
        codes += [MplPath.MOVETO, MplPath.LINETO, MplPath.LINETO, MplPath.LINETO, MplPath.CLOSEPOLY]
    if corners:
        axes.add_patch(PathPatch(MplPath(corners, codes), **options))


def _borders(axes: Axes, result: StrategyMap) -> None:
    """A line between cells that different strategies win."""
    xs: list[float] = []
    ys: list[float] = []
    for (x, y), cell in result.by_place.items():
        right, above = result.by_place.get((x + 1, y)), result.by_place.get((x, y + 1))
        if right is not None and right.winner != cell.winner:
            xs += [x + 0.5, x + 0.5, np.nan]
            ys += [y - 0.5, y + 0.5, np.nan]
        if above is not None and above.winner != cell.winner:
            xs += [x - 0.5, x + 0.5, np.nan]
            ys += [y + 0.5, y + 0.5, np.nan]
    axes.plot(xs, ys, color="black", linewidth=0.9)


def _middle(places: list[tuple[int, int]]) -> tuple[int, int]:
    """The place that lies deepest among its own kind."""
    own = set(places)

    def depth(place: tuple[int, int]) -> int:
        reach = 0
        while all(
            (place[0] + dx, place[1] + dy) in own
            for dx in range(-reach - 1, reach + 2)
            for dy in range(-reach - 1, reach + 2)
        ):
            reach += 1
        return reach

    centre = np.mean(np.array(places), axis=0)
    return max(places, key=lambda place: (depth(place), -float(np.abs(np.array(place) - centre).sum())))
