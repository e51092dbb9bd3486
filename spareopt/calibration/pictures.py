"""Draw a calibration: rates, repair times, faults per unit against chance, and the rate over the months."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spareopt.calibration.result import Calibration, CountSpread, Evenness, RepairTimes
from spareopt.pictures import BLUE, GREEN, GREY, GRID, ORANGE, STYLE, save

MOST_ROWS = 14
_TICKS = (0, 2, 4, 6, 8, *(digit * 10**power for power in range(1, 7) for digit in (1, 2, 5)))
KINDS_DRAWN = 3  # of repair times and months


def draw_calibration(result: Calibration, path: Path) -> None:
    """Four panels: rates with intervals, survival of repairs with the fit, counts per unit, rate by month."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(STYLE | GRID):
        figure = Figure(figsize=(10.0, 7.6), layout="constrained")
        (rates, repairs), (counts, months) = figure.subplots(2, 2)
        _rates(rates, result)
        _repairs(repairs, result.repairs[:KINDS_DRAWN])
        _counts(counts, _most_telling(result))
        _months(months, result)
        figure.suptitle(f"{result.log.name}: what it says of the fleet", x=0.01, ha="left", fontsize=11)
        save(figure, path)


def _rates(axes: Any, result: Calibration) -> None:
    rows = [(rate.kind, rate.per_1000_unit_days, BLUE) for rate in result.rates if rate.faults]
    rows += [(item.fault_class, item.per_1000_unit_days, GREY) for item in result.classes[: MOST_ROWS - len(rows)]]
    for place, (_, estimate, colour) in enumerate(rows):
        if estimate.value is None:
            continue
        axes.plot([estimate.low, estimate.high], [place, place], color=colour, lw=1.6, solid_capstyle="butt")
        axes.plot([estimate.value], [place], "o", color=colour, ms=4.5)
    axes.set_yticks(range(len(rows)), [_shortened(label) for label, _, _ in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("faults per 1,000 unit-days in service")
    axes.set_title("Rates")


def _shortened(label: str) -> str:
    return label if len(label) <= 26 else f"{label[:25]}…"


def _repairs(axes: Any, repairs: tuple[RepairTimes, ...]) -> None:
    for item, colour in zip(repairs, (BLUE, ORANGE, GREEN), strict=False):
        if not item.curve_h:
            continue
        shortest = max(min((time for time in item.curve_h if time > 0), default=1e-3), 1e-3)
        times = np.geomspace(shortest, max(item.longest_h, 2 * shortest), 200)
        axes.step(item.curve_h, item.curve, where="post", color=colour, lw=1.4, label=f"{item.kind}, observed")
        if item.phases:
            fit = sum((phase.share.value or 0) * np.exp(-times / (phase.mean_h.value or 1)) for phase in item.phases)
            number = len(item.phases)
            label = f"{item.kind}, {number} phase{'' if number == 1 else 's'}"
            axes.plot(times, fit, "--", color=colour, lw=1.0, label=label)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("time to repair, h")
    axes.set_ylabel("share that takes longer")
    axes.set_title("Repair times")
    if repairs:
        axes.legend(frameon=False)


def _most_telling(result: Calibration) -> tuple[Evenness, CountSpread] | None:
    found = [(item, item.units) for item in result.evenness if item.units is not None]
    return found[0] if found else None


def _counts(axes: Any, found: tuple[Evenness, CountSpread] | None) -> None:
    axes.set_title("Faults per unit")
    if found is None:
        axes.text(0.5, 0.5, "the fleet does not say which\nunits were in service when", ha="center", va="center")
        axes.set_axis_off()
        return
    from scipy.special import pdtr  # noqa: PLC0415

    item, spread = found
    number = np.arange(len(spread.histogram))
    below = np.concatenate([[0.0], pdtr(number, spread.mean)])
    axes.bar(number, spread.histogram, 0.8, color=BLUE, label=f"{item.kind}s observed")
    axes.plot(number, spread.number * np.diff(below), "o-", color=ORANGE, ms=4, lw=1.0, label="like units would have")
    axes.set_yscale("symlog", linthresh=10)
    axes.set_yticks([tick for tick in _TICKS if tick <= max(spread.histogram)])
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("faults of a unit")
    axes.set_ylabel("units (logarithmic above 10)" if max(spread.histogram) > 10 else "units")
    axes.legend(frameon=False)


def _months(axes: Any, result: Calibration) -> None:
    drawn = [item for item in result.evenness if item.kind != "all"][:KINDS_DRAWN]
    for item, colour in zip(drawn, (BLUE, ORANGE, GREEN), strict=False):
        if item.month_rate:
            days = (np.array(item.month_h) - result.begin_h) / 24.0
            axes.stairs(item.month_rate, days, color=colour, lw=1.4, label=item.kind, baseline=None)
    if _positive(drawn):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("days since the beginning of the observation")
    axes.set_ylabel("faults per 1,000 unit-days")
    axes.set_title("Rate by 30 days")
    if drawn:
        axes.legend(frameon=False)


def _positive(items: list[Evenness]) -> bool:
    """Whether rates of several kinds are all above zero, so that a log scale shows them side by side."""
    return len(items) > 1 and all(min(item.month_rate, default=0) > 0 for item in items)
