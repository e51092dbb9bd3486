"""Draw frontiers and tornados with matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spareopt import units
from spareopt.efficient import Frontier
from spareopt.exposure import Tornado, TornadoEnd
from spareopt.pictures import PALETTE, STYLE, save

ORANGE, BLUE = PALETTE[1], PALETTE[5]
GREY = "#6b7280"
LINES: Any = {
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e5e7eb",
    "axes.axisbelow": True,
}  # fmt: skip


def draw_frontier(result: Frontier, path: Path) -> None:
    """Goodput against the resource: points, their concave hull, the knee."""
    size, unit = {
        "cost": (1e6, f"M{units.CURRENCIES[result.currency]} per year"),
        "capital": (1e6, f"M{units.CURRENCIES[result.currency]}"),
        "power": (1e3, "MW of IT power"),
    }[result.of]

    def fill(axes: Any) -> None:
        hull = [p for p in result.points if p.supported]
        rest = [p for p in result.points if not p.supported]
        axes.plot([p.resource / size for p in hull], [p.goodput for p in hull], "-", color=BLUE, lw=1.2, zorder=2)
        axes.plot([p.resource / size for p in hull], [p.goodput for p in hull], "o", color=BLUE, label="supported")
        if rest:
            axes.plot(
                [p.resource / size for p in rest], [p.goodput for p in rest], "s", color=ORANGE, label="unsupported"
            )
        for point in result.points:
            if point.knee:
                axes.annotate(
                    "knee", (point.resource / size, point.goodput), (-8, 8), textcoords="offset points", ha="right"
                )
        axes.set_xlabel(f"{result.of}, {unit}")
        axes.set_ylabel("goodput, baseline GPUs")
        axes.set_title(f"{result.provenance.instance}: efficient frontier")
        axes.legend(frameon=False, loc="lower right")

    _draw(path, (6.4, 4.2), fill)


def draw_tornado(result: Tornado, path: Path) -> None:
    """Two bars per input: the nominal plan as it is, and the best plan at each end."""
    bars = [bar for bar in result.bars if bar.swing > 0]
    nominal = result.certificate.value

    def fill(axes: Any) -> None:
        for row, bar in enumerate(bars):
            for end in (bar.low, bar.high):
                if end.fixed is not None:
                    hatch = "////" if end.fixed_breaks else None
                    axes.barh(row - 0.2, _change(end.fixed, nominal), 0.36, color=ORANGE, hatch=hatch, ec="white", lw=0)
                if end.adapted is not None:
                    axes.barh(row + 0.2, _change(end.adapted, nominal), 0.36, color=BLUE)
        axes.set_yticks(range(len(bars)), [_label(bar.input, bar.low, bar.high, bar.interval) for bar in bars])
        axes.invert_yaxis()
        axes.axvline(0, color=GREY, lw=0.8)
        axes.set_xlabel(f"change of {result.certificate.objective.replace('_', ' ')}, %")
        axes.set_title(
            f"{result.provenance.instance}: nominal plan (orange; hatched: breaks a limit), best plan (blue)"
        )

    _draw(path, (9.0, 1.3 + 0.42 * max(1, len(bars))), fill)


def _change(value: float, nominal: float) -> float:
    return 100.0 * (value / nominal - 1.0)


def _label(name: str, low: TornadoEnd, high: TornadoEnd, interval: str) -> str:
    return f"{name}: {low.setting} – {high.setting}" + (" (assumed)" if interval == "assumed" else "")


def _draw(path: Path, size: tuple[float, float], fill: Any) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(STYLE | LINES):
        figure = Figure(figsize=size, layout="constrained")
        fill(figure.subplots())
        save(figure, path)
