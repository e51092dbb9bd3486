"""Draw a staged plan with matplotlib: racks, goodput, money and power by quarter."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

from spareopt import units
from spareopt.horizon import Horizon
from spareopt.instance import Instance
from spareopt.pictures import BLUE, GREEN, GRID, ORANGE, PALETTE, STYLE, save
from spareopt.staging.plan import StagedPlan
from spareopt.staging.quarters import quarter_instance, target_of

LIGHT = PALETTE[0]
ACROSS: Any = GRID | {"axes.grid.axis": "y"}
MOST_LABELS = 8


def draw_staged(plan: StagedPlan, instance: Instance, path: Path) -> None:
    """Four pictures over the quarters: racks by age, goodput beside working GPUs, money, and power with its limit."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    horizon = instance.horizon
    assert horizon is not None
    with mpl.rc_context(STYLE | ACROSS):
        figure = Figure(figsize=(9.0, 6.2), layout="constrained")
        (racks, goodput), (money, power) = figure.subplots(2, 2)
        _racks(plan, racks)
        _goodput(plan, instance, horizon, goodput)
        _money(plan, money)
        _power(plan, instance, horizon, power)
        labels = [quarter.quarter for quarter in plan.score.quarters]
        every = -(-len(labels) // MOST_LABELS)
        for axes in (racks, goodput, money, power):
            places = range(0, len(labels), every)
            axes.set_xticks(places, [labels[t] for t in places], rotation=45, ha="right")
            axes.set_xlim(-0.6, len(labels) - 0.4)
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_formatter("{x:,.6g}")
            handles, _ = axes.get_legend_handles_labels()
            if len(handles) > 1:
                axes.legend(frameon=False, loc="upper left", fontsize=8)
                axes.set_ylim(top=1.22 * axes.get_ylim()[1])
        figure.suptitle(f"{plan.provenance.instance}: plan over {len(labels)} quarters", x=0.01, ha="left", fontsize=10)
        save(figure, path)


def _racks(plan: StagedPlan, axes: Any) -> None:
    quarters = plan.score.quarters
    old = [q.racks - q.racks_delivered for q in quarters]
    axes.bar(range(len(quarters)), old, 0.7, color=BLUE, label="there before")
    new = [q.racks_delivered for q in quarters]
    axes.bar(range(len(quarters)), new, 0.7, bottom=old, color=LIGHT, label="arrive in the quarter")
    axes.set_title("racks in use")


def _goodput(plan: StagedPlan, instance: Instance, horizon: Horizon, axes: Any) -> None:
    quarters = plan.score.quarters
    places = range(len(quarters))
    axes.bar(places, [q.goodput for q in quarters], 0.7, color=GREEN, label="goodput, baseline GPUs")
    working = [0 if q.evaluation is None else q.evaluation.working_gpus for q in quarters]
    axes.plot(places, working, "o-", color=BLUE, ms=3, lw=1, label="working GPUs")
    targets = [target_of(instance, horizon, t) for t in places]
    if any(targets):
        _level(axes, [target or None for target in targets], "goodput target")
    axes.set_title("goodput")


def _money(plan: StagedPlan, axes: Any) -> None:
    """What was paid so far, and all money so far."""
    quarters = plan.score.quarters
    places = range(len(quarters))
    size, symbol = 1e6, units.CURRENCIES[plan.score.currency]
    axes.bar(places, [x / size for x in accumulate(q.paid for q in quarters)], 0.7, color=ORANGE, label="paid so far")
    if all(q.budget is not None for q in quarters):
        _level(axes, [x / size for x in accumulate(q.budget or 0.0 for q in quarters)], "money so far")
    axes.set_title(f"purchases, M{symbol}")


def _power(plan: StagedPlan, instance: Instance, horizon: Horizon, axes: Any) -> None:
    """Site power and the least that any limit on it or on IT power allows."""
    quarters = plan.score.quarters
    places = range(len(quarters))
    used = [0.0 if q.evaluation is None else (q.evaluation.site_power_kw or 0.0) / 1000.0 for q in quarters]
    axes.bar(places, used, 0.7, color=PALETTE[4], label="site power")
    most = []
    for t in places:
        limits = quarter_instance(instance, horizon, t).limits
        it = None if limits.it_power is None else instance.power.pue * limits.it_power
        stated = [x / 1000.0 for x in (limits.site_power, it) if x is not None]
        most.append(min(stated) if stated else None)
    if any(x is not None for x in most):
        _level(axes, most, "most allowed")
    axes.set_title("site power, MW")


def _level(axes: Any, values: list[float | None], label: str) -> None:
    """A level over each quarter where there is one."""
    for t, value in enumerate(values):
        if value is not None:
            axes.plot([t - 0.45, t + 0.45], [value, value], color="black", lw=1.5, label=label)
            label = "_again"
