"""Draw a staged plan with matplotlib: racks, goodput, money and power by quarter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spareopt import units
from spareopt.pictures import PALETTE, STYLE, save
from spareopt.staging.plan import StagedPlan

LINES: Any = {"axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e5e7eb"}


def draw_staged(plan: StagedPlan, path: Path) -> None:
    """Four small pictures over the quarters; caps are dashed."""
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    table, quarters = plan.quarters_table(), plan.score.quarters
    places = list(range(len(table)))
    power = [
        next((s for s in q.evaluation.limits if s.limit in ("site_power", "it_power")), None) if q.evaluation else None
        for q in quarters
    ]
    with mpl.rc_context(STYLE | LINES):
        figure = Figure(figsize=(8.0, 5.4), layout="constrained")
        racks, goodput, money, drawn = figure.subplots(2, 2).ravel()
        racks.bar(places, table["racks"] - table["racks_delivered"], color=PALETTE[0], label="from before")
        racks.bar(
            places, table["racks_delivered"], bottom=table["racks"] - table["racks_delivered"], color=PALETTE[1],
            label="delivered",
        )  # fmt: skip
        racks.set_title("racks")
        racks.legend(frameon=False)
        goodput.bar(places, table["goodput_gpus"], color=PALETTE[2])
        goodput.set_title("goodput, baseline GPUs")
        size, unit = 1e6, f"M{units.CURRENCIES[plan.score.currency]}"
        money.bar(places, table["paid"] / size, color=PALETTE[5])
        if all(q.budget is not None for q in quarters):
            spendable = [(q.paid + (q.money_left or 0.0)) / size for q in quarters]
            money.step(places, spendable, "--", where="mid", color=PALETTE[6], label="money there is")
            money.legend(frameon=False)
        money.set_title(f"paid for orders, {unit}")
        drawn.bar(places, [0.0 if x is None else x / 1e3 for x in table["site_power_kw"]], color=PALETTE[4])
        if any(slack is not None and slack.limit == "site_power" for slack in power):
            caps = [float("nan") if slack is None else slack.bound / 1e3 for slack in power]
            drawn.step(places, caps, "--", where="mid", color=PALETTE[6], label="delivered")
            drawn.legend(frameon=False)
        drawn.set_title("site power, MW")
        for axes in (racks, goodput, money, drawn):
            axes.set_xticks(places, table["quarter"], rotation=45 if len(places) > 6 else 0)
            axes.yaxis.set_major_formatter("{x:,.6g}")
        save(figure, path)
