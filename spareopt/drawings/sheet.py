"""The sheet that pictures are drawn on: one width, one style, words that wrap, axes that notebooks show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.textpath import text_to_path

from spareopt.drawings.hover import hover, told
from spareopt.drawings.svg import svg_text
from spareopt.pictures import GREY, GRID, PALETTE, STYLE

WIDTH = 4.8
"""Inches: readable at the width of a phone, and at twice that on a desk."""
POINTS = WIDTH * 72.0
FONT = 9.0
TITLE_FONT = 10.0
MARGIN = 4.0
"""Points of each side that nothing is written on."""
LINE = 1.25
"""Height of a line in font sizes."""
RED = PALETTE[6]
DARK = "#1f2937"


class SheetAxes(Axes):
    """Axes that a notebook shows as inline SVG, tooltips included."""

    def _repr_html_(self) -> str:
        return svg_text(self.figure.figure)


class Sheet(Figure):
    """A figure in the style of all pictures, wherever it is drawn, that needs no pyplot and that notebooks show."""

    def draw(self, renderer: Any) -> None:
        """Draw in the style: ticks are made as late as this.  How text becomes SVG is for the caller to say."""
        with mpl.rc_context({name: value for name, value in STYLE.items() if not name.startswith("svg.")}):
            super().draw(renderer)

    def _repr_html_(self) -> str:
        return svg_text(self)


@contextmanager
def on(axes: Axes | None, height: float, *, style: Any = GRID, grid: str = "x") -> Iterator[Axes]:
    """The axes to draw on, in the style: those given, or new ones of the standard width and a height in inches.

    Where new ones are placed is settled once they are drawn on, so that every rendering of them is alike.
    """
    own = axes is None
    with mpl.rc_context(STYLE | style):
        if axes is None:
            axes = new_sheet(height).add_subplot(axes_class=SheetAxes)
        if style is GRID:
            axes.grid(False)
            axes.grid(True, axis=grid)  # type: ignore[arg-type]
            axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        yield axes
        for text in axes.findobj(Text):
            text.set_parse_math(False)  # axes that were given may read two dollar signs as a formula
        if own:
            settle(axes.figure.figure)


def settle(figure: Figure) -> None:
    """Let the layout find its places, and keep them."""
    layout = figure.get_layout_engine()
    if layout is not None:
        for _ in range(2):  # ticks follow from the places, and places from the ticks
            layout.execute(figure)
    figure.set_layout_engine("none")


def new_sheet(height: float) -> Sheet:
    """An empty figure of the standard width and a height in inches."""
    layout = ConstrainedLayoutEngine(w_pad=MARGIN / 72, h_pad=MARGIN / 72)
    figure = Sheet(figsize=(WIDTH, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def entitle(axes: Axes, finding: str) -> None:
    """Say the finding above a picture: over the whole width of a sheet, or over axes that were given."""
    figure = axes.figure.figure
    told(figure).finding = finding
    if isinstance(figure, Sheet):
        text = wrapped(finding, POINTS - 2 * MARGIN, TITLE_FONT)
        figure.suptitle(text, x=MARGIN / POINTS, ha="left", fontsize=TITLE_FONT)
    else:
        width = axes.get_position().width * figure.get_size_inches()[0] * 72.0
        axes.set_title(wrapped(finding, width, TITLE_FONT))


@lru_cache
def _font(size: float) -> FontProperties:
    return FontProperties(family="DejaVu Sans", size=size)


@lru_cache(maxsize=4096)
def width_of(text: str, size: float = FONT) -> float:
    """The width of a line of text, points."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, _font(size), False)
    return float(width)


def wrapped(text: str, width: float, size: float = FONT) -> str:
    """Text in lines of at most so many points, broken at spaces (and within a word only where it is longer than that).

    A number stays with the per cent sign after it.
    """
    lines: list[str] = []
    for part in text.split("\n"):
        line = ""
        for word in part.replace(" %", "\u00a0%").split(" "):
            for piece in _pieces(word, width, size):
                longer = f"{line} {piece}" if line else piece
                if line and width_of(longer, size) > width:
                    lines.append(line)
                    longer = piece
                line = longer
        lines.append(line)
    return "\n".join(lines).replace("\u00a0%", " %")


def _pieces(word: str, width: float, size: float) -> list[str]:
    """A word, cut where it is wider than a line."""
    pieces = []
    while width_of(word, size) > width and len(word) > 1:
        cut = next((n for n in range(len(word) - 1, 0, -1) if width_of(word[:n], size) <= width), 1)
        hyphen = max(word.rfind(sign, 0, cut) for sign in "-_./")
        cut = hyphen + 1 if hyphen > 0 else cut
        pieces.append(word[:cut])
        word = word[cut:]
    return [*pieces, word]


def rows_height(
    labels: Sequence[str], *, rows: int | None = None, bottom: float = 0.55, title: int = 2, least: float = 0.27
) -> float:
    """The height in inches of a picture with a row for each label, of as many lines as the longest has.

    ``rows``: how many there are where ``labels`` holds more than one text for each.
    """
    lines = max((label.count("\n") + 1 for label in labels), default=1)
    row = max(least, lines * FONT * LINE / 72 + 0.09)
    return bottom + title * TITLE_FONT * LINE / 72 + 0.1 + row * max(1, len(labels) if rows is None else rows)


def label_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Names of rows from top to bottom, at the left."""
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    for line in axes.yaxis.get_gridlines():
        line.set_visible(False)


def column(axes: Axes, texts: Sequence[str], *, size: float = FONT, colour: str = DARK) -> None:
    """A text for each row, right of the axes, aligned to the right."""
    right = max((width_of(line, size) for text in texts for line in text.split("\n")), default=0.0) + 9.0
    for row, text in enumerate(texts):
        axes.annotate(
            text, (1.0, row), (right, 0), xycoords=("axes fraction", "data"), textcoords="offset points", ha="right",
            va="center", fontsize=size, color=colour, annotation_clip=False,
        )  # fmt: skip


def bar(
    axes: Axes, row: float, value: float, *, left: float = 0.0, height: float = 0.62, colour: str,
    hatch: str | None = None, says: str = "",
) -> None:  # fmt: skip
    """One horizontal bar, with what it says when pointed at."""
    (patch,) = axes.barh(row, value, height, left=left, color=colour, hatch=hatch, edgecolor="white", linewidth=0.0)
    if says:
        hover(patch, says)


def legend_below(axes: Axes, handles: Sequence[Artist], *, own: bool) -> None:
    """What the colours and hatches mean: below the picture on a sheet of its own, else where there is room."""
    options: Any = {"handles": handles, "frameon": False, "fontsize": 8, "columnspacing": 1.0, "handlelength": 1.6}
    if own:
        axes.figure.figure.legend(loc="outside lower center", ncols=3 if len(handles) < 5 else 2, **options)
    else:
        axes.legend(**options)


def ink(colour: Any) -> str:
    """Black or white, whichever stands out more on a colour: by relative luminance as of WCAG 2.1."""
    parts = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(colour))
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))
    return "black" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "white"


def signed_ticks(axes: Axes) -> None:
    """Numbers along a picture of changes, with their sign."""
    axes.xaxis.set_major_formatter(lambda value, _: "0" if abs(value) < 1e-12 else f"{value:+,.6g}".replace("-", "−"))


def nothing(axes: Axes, text: str) -> None:
    """Say in place of a picture why there is none."""
    axes.set_axis_off()
    axes.text(0.0, 0.5, wrapped(text, POINTS - 4 * MARGIN), transform=axes.transAxes, va="center", color=GREY)
