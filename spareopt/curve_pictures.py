"""Draw frontiers and tornados to files."""

from __future__ import annotations

from pathlib import Path

from spareopt.efficient import Frontier
from spareopt.exposure import Tornado
from spareopt.pictures import save


def draw_frontier(result: Frontier, path: Path) -> None:
    """Goodput against the resource: points, what is surely attainable between them, the knee."""
    from spareopt.drawings.frontier import curve  # noqa: PLC0415 - slow to load

    save(curve(result).figure, path)


def draw_tornado(result: Tornado, path: Path) -> None:
    """Two bars per input: the nominal plan as it is, and the best plan at each end."""
    from spareopt.drawings.tornado import bars  # noqa: PLC0415 - slow to load

    save(bars(result, most=None).figure, path)
