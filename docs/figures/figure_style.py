"""How the figures look: one font, one colour for each thing, and the same bytes for the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Of the palette of Okabe and Ito (2008), which colour-blind readers tell apart too.
BLACK, BLUE, ORANGE, GREEN, GREY = "#000000", "#0072B2", "#D55E00", "#007A5A", "#707070"


def use_style() -> None:
    """Set the style of all figures made from here on."""
    mpl.rcParams.update(
        {
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "font.size": 9.5,
            "axes.titlesize": 10.5,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#E4E4E4",
            "grid.linewidth": 0.7,
            "axes.axisbelow": True,
            "svg.hashsalt": "spareopt",
        }
    )


def label(axes: Axes, text: str, place: tuple[float, float], colour: str, **options: object) -> None:
    """Name a curve beside it, in its colour."""
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
    axes.annotate(text, place, color=colour, **({"bbox": white} | options))


def save(figure: Figure, path: Path) -> None:
    """Write an SVG without a date, and a PNG instead where the name asks for it."""
    options = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 130}
    figure.savefig(path, **options)
