"""Draw what a plan draws while the job runs: trays at work, idle trays, the rest of the racks, what the site adds."""

from __future__ import annotations

from matplotlib.axes import Axes

from spareopt import units
from spareopt.drawings.sheet import bar, column, entitle, label_rows, on, rows_height, wrapped
from spareopt.instance import Instance
from spareopt.pictures import BLUE, GREY, ORANGE, PALETTE
from spareopt.plan import Plan
from spareopt.power_parts import power_parts


def split(plan: Plan, instance: Instance, axes: Axes | None = None) -> Axes | None:
    """Bars that build up from the trays at work to IT power and, by the PUE, to site power.

    None where the instance doesn't state what every design draws.  Raises InputError where it is not the plan's.
    """
    e = plan.evaluation
    parts = power_parts(plan.decisions, e, instance)
    if parts is None or e.it_power_kw is None or e.site_power_kw is None:
        return None
    it, site = e.it_power_kw, e.site_power_kw
    rows = [
        ("working trays", 0.0, parts.working_trays, BLUE, None),
        ("idle trays", parts.working_trays, parts.idle_trays, ORANGE, "////"),
        ("rest of the racks", parts.working_trays + parts.idle_trays, parts.rest_of_racks, PALETTE[0], None),
        ("IT power", 0.0, it, GREY, None),
        (f"cooling and losses, PUE {instance.power.pue:g}", it, parts.overhead, PALETTE[4], "\\\\"),
        ("site power", 0.0, site, GREY, None),
    ]
    labels = [wrapped(words, 105.0) for words, *_ in rows]
    size, unit = next(((s, u) for s, u in ((1e6, "GW"), (1e3, "MW")) if site >= s), (1.0, "kW"))
    with on(axes, rows_height(labels, least=0.32)) as ax:
        texts = []
        for row, (words, left, value, colour, hatch) in enumerate(rows):
            shown = units.show(value, units.POWER)
            texts.append(f"{shown}\n{100 * value / site:.1f} %")
            says = f"{words}: {shown}, {100 * value / site:.2f} % of the site power"
            bar(ax, row, value / size, left=left / size, colour=colour, hatch=hatch, says=says)
        label_rows(ax, labels)
        column(ax, texts, size=8.0)
        ax.set_xlim(0, 1.02 * site / size)
        ax.locator_params(axis="x", nbins=6)
        ax.set_xlabel(f"power while the job runs, {unit}")
        idle = f"idle trays take {100 * parts.idle_trays / site:.1f} %"
        entitle(ax, f"{units.show(site, units.POWER)} of site power, {units.show(it, units.POWER)} of it IT; {idle}")
    return ax
