"""Draw an efficient frontier: the most goodput against what it takes."""

from __future__ import annotations

from matplotlib.axes import Axes

from spareopt import units
from spareopt.drawings.hover import hover
from spareopt.drawings.money import scale_of
from spareopt.drawings.sheet import entitle, legend_below, on
from spareopt.efficient import Frontier, FrontierPoint
from spareopt.pictures import BLUE, ORANGE

RESOURCES = {"cost": "cost per year", "capital": "capital", "power": "IT power"}
KINDS = {"cost": units.MONEY_PER_YEAR, "capital": units.MONEY, "power": units.POWER}


def curve(frontier: Frontier, axes: Axes | None = None) -> Axes:
    """Points, those below the hull of the others told apart, the knee, and what is surely attainable in between."""
    size, unit = _unit(frontier)
    with on(axes, 3.0, grid="both") as ax:
        places = [point.resource / size for point in frontier.points]
        goodputs = [point.goodput for point in frontier.points]
        ax.step(
            places, goodputs, "-", where="post", color=BLUE, lw=0.9, alpha=0.6, zorder=2,
            label="at least this within so much",
        )  # fmt: skip
        for marker, colour, label, on_hull in (
            ("o", BLUE, "efficient plan", True), ("s", ORANGE, "efficient, below the hull", False),
        ):  # fmt: skip
            there = [point for point in frontier.points if point.supported == on_hull]
            for place, point in enumerate(there):
                (mark,) = ax.plot(
                    [point.resource / size], [point.goodput], marker, color=colour, ms=6, zorder=3,
                    label=label if place == 0 else None,
                )  # fmt: skip
                hover(mark, _says(frontier, point))
        for point in frontier.points:
            if point.knee:
                ax.annotate(
                    "knee", (point.resource / size, point.goodput), (-6, 6), textcoords="offset points", ha="right"
                )
        for along in (ax.xaxis, ax.yaxis):
            along.set_major_formatter("{x:,.6g}")
        ax.margins(0.07, 0.12)
        ax.locator_params(nbins=5)
        ax.set_xlabel(f"{RESOURCES[frontier.of]}, {unit}")
        ax.set_ylabel("goodput, baseline GPUs")
        legend_below(ax, ax.get_legend_handles_labels()[0], own=axes is None)
        entitle(ax, finding(frontier))
    return ax


def finding(frontier: Frontier) -> str:
    """What the last GPUs of goodput take, or that there is nothing to be traded."""
    name, money = RESOURCES[frontier.of], frontier.currency
    if len(frontier.points) == 1:
        return f"One plan is best in both: nothing is to be traded between goodput and {name}"
    first, last = frontier.points[0], frontier.points[-1]
    more, share = last.goodput / first.goodput - 1.0, last.resource / first.resource - 1.0
    text = f"{100 * more:.1f} % more goodput takes {100 * share:.1f} % more {name}"
    knee = next((point for point in frontier.points if point.knee), None)
    if knee is None:
        return text
    return f"{text}; the knee is at {knee.goodput:,.0f} baseline GPUs for {_amount(frontier, knee.resource, money)}"


def _says(frontier: Frontier, point: FrontierPoint) -> str:
    """A point in words."""
    text = f"{point.goodput:,.1f} baseline GPUs for {_amount(frontier, point.resource, frontier.currency)}"
    if point.resource_per_gpu is not None:
        text += f"; each further one takes {_amount(frontier, point.resource_per_gpu, frontier.currency)}"
    return text


def _amount(frontier: Frontier, value: float, money: str) -> str:
    return units.show(value, KINDS[frontier.of], money)


def _unit(frontier: Frontier) -> tuple[float, str]:
    """The unit of the resource's axis, and its size."""
    most = max(point.resource for point in frontier.points)
    if frontier.of == "power":
        return (1e3, "MW") if most >= 1e3 else (1.0, "kW")
    size, unit = scale_of(most, frontier.currency)
    return size, unit + (" per year" if frontier.of == "cost" else "")
