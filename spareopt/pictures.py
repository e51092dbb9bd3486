"""What all pictures have in common: their style, their colours, the same bytes each time.

This module imports no matplotlib, which is slow to load.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PALETTE = (
    "#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00", "#999999",
    "#DDCC77", "#882255", "#44AA99", "#332288",
)  # fmt: skip
"""Eight of Okabe and Ito (2008), which colour-blind readers tell apart, four more of Tol; then letters must do."""
BLUE, ORANGE, GREEN, GREY = PALETTE[5], PALETTE[1], PALETTE[2], "#6b7280"
"""What most pictures take."""
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "hatch.linewidth": 0.5,
    "svg.hashsalt": "spareopt",
    "svg.fonttype": "path",
    "text.parse_math": False,  # two dollar signs are two amounts, no formula
}
LINES: Any = {"axes.spines.top": False, "axes.spines.right": False}
"""For what is read along its axes."""
GRID: Any = LINES | {"axes.grid": True, "grid.color": "#e5e7eb", "axes.axisbelow": True}
"""The same, for what is read off a grid."""


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG without a date, or as PNG, by the name of the file; the same bytes each time."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to load

    options: dict[str, Any] = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 150}
    with mpl.rc_context(STYLE):
        figure.savefig(path, **options)
