"""Draw the simulated quarter as a fan: the goodput so far by day, how it spreads, and the exact mean."""

from __future__ import annotations

from matplotlib.axes import Axes

from spareopt import units
from spareopt.drawings.hover import hover
from spareopt.drawings.sheet import DARK, FONT, LINE, RED, entitle, legend_below, nothing, on
from spareopt.evaluation import Evaluation
from spareopt.pictures import BLUE, GREY, ORANGE, PALETTE
from spareopt.simulation.result import QuarterCourse, Simulation
from spareopt.simulation.setup import QUARTER
from spareopt.wording import percent


def fan(simulation: Simulation, evaluation: Evaluation | None = None, axes: Axes | None = None) -> Axes:
    """The mean goodput since the quarter began, by day: bands that 9 in 10 and half of the quarters are in, the median.

    A target of the simulation is a line, too.  ``evaluation``: the exact score of the plan, drawn as a line; left out,
    the one in the simulation.
    """
    exact = (simulation.exact if evaluation is None else evaluation).goodput
    course = simulation.quarter_course
    if not course:
        with on(axes, 0.9) as ax:
            reason = simulation.quarters.reason or "it was made by a version that did not record it"
            nothing(ax, f"The simulation has no course of a quarter: {reason}.")
            entitle(ax, "The simulation holds no quarters")
        return ax
    with on(axes, 3.4, grid="y") as ax:
        days = [row.end_h / 24 for row in course]
        wide = ax.fill_between(
            days, [row.p5 for row in course], [row.p95 for row in course], color=PALETTE[0], alpha=0.35, lw=0,
            label="9 quarters in 10",
        )  # fmt: skip
        half = ax.fill_between(
            days, [row.p25 for row in course], [row.p75 for row in course], color=PALETTE[0], alpha=0.9, lw=0,
            label="half of the quarters",
        )  # fmt: skip
        (median,) = ax.plot(days, [row.p50 for row in course], "-", color=BLUE, lw=1.6, label="median")
        (mean,) = ax.plot(days, [row.mean for row in course], ":", color=DARK, lw=1.4, label="simulated mean")
        (line,) = ax.plot([0, days[-1]], [exact, exact], "--", color=ORANGE, lw=1.6, label="exact mean")
        if len(course) == 1:
            _whisker(ax, days[0], course[0])
        end = course[-1]
        hover(wide, f"9 quarters in 10 end between {end.p5:,.1f} and {end.p95:,.1f} baseline GPUs")
        hover(half, f"half of the quarters end between {end.p25:,.1f} and {end.p75:,.1f} baseline GPUs")
        hover(median, f"median at the end of the quarter: {end.p50:,.1f} baseline GPUs")
        hover(mean, f"simulated mean of the quarter: {end.mean:,.1f} baseline GPUs")
        hover(line, f"exact mean: {exact:,.1f} baseline GPUs")
        aim = simulation.target
        target = [] if aim is None else [aim.useful_gpu_hours / QUARTER]
        lines = [mean, median, line]
        if aim is not None:
            lines += ax.plot([0, days[-1]], target * 2, "-.", color=RED, lw=1.6, label="target")
            share = percent(aim.reached.mean)
            hover(lines[-1], f"target: {target[0]:,.1f} baseline GPUs; {share} of the quarters reach it")
        low = min(exact, *target, *(row.p5 for row in course))
        high = max(exact, *target, *(row.p95 for row in course))
        pad = 0.06 * (high - low) or 0.01 * abs(high) or 1.0
        ax.set_ylim(low - pad, high + pad)
        ax.set_xlim(0, days[-1])
        _ends(ax, end, days[-1])
        ax.yaxis.set_major_formatter("{x:,.6g}")
        ax.locator_params(axis="x", nbins=7)
        ax.set_xlabel(f"day of the quarter ({simulation.quarters.number:,} quarters simulated)")
        ax.set_ylabel("goodput so far,\nbaseline GPUs")
        legend_below(ax, [*lines, half, wide], own=axes is None)
        entitle(ax, finding(simulation, exact))
    return ax


def finding(simulation: Simulation, exact: float) -> str:
    """How many quarters reach the target; else between what 9 in 10 end, and the exact mean."""
    end = simulation.quarter_course[-1]
    if (aim := simulation.target) is not None:
        wanted = units.show_gpu_hours(aim.useful_gpu_hours)
        return f"{percent(aim.reached.mean)} of the quarters reach {wanted} useful GPU-hours"
    return (
        f"9 quarters in 10 give between {end.p5:,.0f} and {end.p95:,.0f} baseline GPUs; the exact mean is {exact:,.0f}"
    )


def _ends(ax: Axes, end: QuarterCourse, day: float) -> None:
    """Where the quarter ends, written beside the picture; numbers keep a line's distance."""
    height = ax.figure.figure.get_size_inches()[1] * 72.0 * 0.6
    low, high = ax.get_ylim()
    apart = FONT * LINE * (high - low) / height
    told = [(end.p5, "5 %"), (end.p50, "median"), (end.p95, "95 %")]
    places = [value for value, _ in told]
    places[0] = min(places[0], places[1] - apart)
    places[2] = max(places[2], places[1] + apart)
    for place, (value, words) in zip(places, told, strict=True):
        ax.annotate(
            f"{value:,.0f}\u2009 {words}", (day, place), (5, 0), textcoords="offset points", va="center", fontsize=8,
            annotation_clip=False, color=GREY if words != "median" else BLUE,
        )  # fmt: skip


def _whisker(ax: Axes, day: float, row: QuarterCourse) -> None:
    """The spread at the end of a quarter of which nothing before is known."""
    for low, high, width in ((row.p5, row.p95, 2.0), (row.p25, row.p75, 6.0)):
        ax.plot([day, day], [low, high], color=BLUE, lw=width, solid_capstyle="butt", clip_on=False)
