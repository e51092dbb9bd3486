"""Draw the plans that are nearly as good as the best, and how the objective falls with I and R around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle

from spareopt.decision_words import value_words
from spareopt.decisions import DECISION_FIELDS, Decisions
from spareopt.drawings.hover import hover
from spareopt.drawings.sheet import DARK, bar, column, entitle, ink, label_rows, nothing, on, rows_height, wrapped
from spareopt.near_result import GRID as PAIR
from spareopt.near_result import BestWith, NearOptimal
from spareopt.pictures import BLUE, GREEN, GREY, LINES
from spareopt.wording import counted, share_text, signed_percent

MOST = 12
MOST_ROWS, MOST_COLUMNS = 16, 9
SHORT = {
    "intra_block_spares": "I={}",
    "inter_block_spares": "R={}",
    "racks": "{} racks",
    "start_at": "repair at {} down",
}
FURTHEST = 0.2
"""Plans that are further behind than this share are not nearly as good."""
SMALLEST = 1e-7
"""Relative changes below this are none."""


class Rung(NamedTuple):
    """A plan that is known to be so far from the best."""

    decisions: Decisions
    value: float
    change: float


def rungs(near: NearOptimal) -> list[Rung]:
    """All plans that a search came by, best first: those within its share, and the best with each value."""
    found = {plan.decisions.model_dump_json(): Rung(plan.decisions, plan.value, plan.change) for plan in near.plans}
    for row in (*near.best_with, *near.grid):
        if row.plan is not None and row.value is not None and row.change is not None:
            found.setdefault(row.plan.model_dump_json(), Rung(row.plan, row.value, row.change))
    return sorted(found.values(), key=lambda rung: abs(rung.change))


def ladder(near: NearOptimal, axes: Axes | None = None, *, most: int = MOST) -> Axes:
    """The best plans, at most ``most``, none far behind: how far each is, its spare blocks, and what it decides.

    Below those within the share that was asked stand the best plans with another value of a decision.  Told of each is
    what not all of those shown have in common.
    """
    shown = [rung for rung in rungs(near) if abs(rung.change) <= FURTHEST][:most]
    if not shown:
        with on(axes, 0.9) as ax:
            nothing(ax, "No plan was found in time.")
            entitle(ax, finding(near))
        return ax
    words = _words([rung.decisions for rung in shown])
    labels = [wrapped(text, 150.0) for text in words]
    with on(axes, rows_height(labels, bottom=0.75, least=0.31)) as ax:
        texts = []
        for row, (rung, text) in enumerate(zip(shown, words, strict=True)):
            spares = sum(choice.count * choice.inter_block_spares for choice in rung.decisions.zones)
            texts.append(f"{_amount(near.objective, rung.value)}\n{counted(spares, 'spare block')}")
            behind = 0.0 if abs(rung.change) < SMALLEST else 100 * abs(rung.change)
            says = (
                f"{text}: {signed_percent(round(rung.change, 9))} of the best, {counted(spares, 'spare block')} in all"
            )
            inside = abs(rung.change) <= near.within
            bar(ax, row, behind, colour=BLUE if inside else GREY, hatch=None if inside else "////", says=says)
            if behind == 0.0:
                ax.plot([0], [row], "D", color=GREEN, ms=6, clip_on=False, zorder=4)
        label_rows(ax, labels)
        ax.tick_params(axis="y", pad=7.0)  # the diamond stands half outside
        column(ax, texts, size=8.0)
        ax.set_xlim(0, 105 * max(near.within, *(abs(rung.change) for rung in shown)))
        ax.axvline(100 * near.within, color=DARK, lw=0.9, ls="--")
        ax.xaxis.set_major_formatter("{x:,.4g}")
        ax.locator_params(axis="x", nbins=4)
        ax.set_xlabel(f"{_worse(near)} than the best, %\n(diamond: the best; dashed: the share that was asked)")
        entitle(ax, finding(near))
    return ax


def grid(near: NearOptimal, zone: str | None = None, axes: Axes | None = None) -> Axes:
    """How far the best plan with each I and R of a zone class (the first when left out) is behind the best of all.

    Rows around the best are shown where there are many.  Empty where pairs are not tabulated: zones not alike.
    """
    rows = [row for row in near.grid if row.zone == (zone or near.grid[0].zone)]
    known = [row for row in rows if row.change is not None]
    if not known:
        with on(axes, 0.9) as ax:
            nothing(
                ax, "There is one value of I or of R only, or the plans meant don't build all zones of a class alike."
            )
            entitle(ax, "No table of I and R")
        return ax
    best = min(known, key=lambda row: abs(row.change or 0.0))
    across = _around([_pair(row)[0] for row in known], _pair(best)[0], MOST_COLUMNS)
    down = _around([_pair(row)[1] for row in known], _pair(best)[1], MOST_ROWS)
    table = np.full((len(down), len(across)), np.nan)
    cells = {_pair(row): row for row in known}
    for (intra, inter), row in cells.items():
        if intra in across and inter in down:
            table[down.index(inter), across.index(intra)] = max(100 * abs(row.change or 0.0), 1e-3)
    with on(axes, 1.35 + 0.24 * len(down), style=LINES) as ax:
        most = max(float(np.nanmax(table)), 1e-2)
        shades = ScalarMappable(LogNorm(1e-3, most), "cividis_r")
        for place, intra in enumerate(across):
            for height, inter in enumerate(down):
                found = cells.get((intra, inter))
                text = "–" if found is None else "best" if found is best else _behind(found)
                share = table[height, place]
                shade = "white" if np.isnan(share) else shades.to_rgba(share)
                ax.add_patch(Rectangle((place - 0.5, height - 0.5), 1, 1, facecolor=shade, edgecolor="white", lw=0.4))
                mark = ax.text(
                    place, height, text, ha="center", va="center", fontsize=8 if len(across) < 8 else 7,
                    color=ink(shade), fontweight="bold" if found is best else "normal",
                )  # fmt: skip
                hover(mark, f"I={intra}, R={inter}: {_cell_says(found)}")
        left, top = across.index(_pair(best)[0]) - 0.5, down.index(_pair(best)[1]) - 0.5
        ax.add_patch(Rectangle((left, top), 1, 1, fill=False, ec="black", lw=1.8))
        ax.set_xticks(range(len(across)), [f"{value}" for value in across])
        ax.set_yticks(range(len(down)), [f"{value}" for value in down])
        ax.set_xlabel("I, spare trays per block")
        ax.set_ylabel("R, spare blocks per zone")
        ax.set(xlim=(-0.5, len(across) - 0.5), ylim=(len(down) - 0.5, -0.5))
        scale = ax.figure.colorbar(shades, ax=ax, label=f"{_worse(near)} than the best, %", shrink=0.95)
        scale.ax.yaxis.set_major_formatter("{x:g}")
        entitle(ax, _grid_finding(near, known, best, len(down)))
    return ax


def finding(near: NearOptimal) -> str:
    """How many plans are within the share asked."""
    alike = " that build zones alike" if near.alike else ""
    within = share_text(near.within)
    if near.number is None:
        return f"At least {counted(len(near.plans), 'plan')}{alike} within {within} of the best"
    if near.number == 1:
        return f"No other plan{alike} is within {within} of the best"
    return f"{counted(near.number, 'plan')}{alike} are within {within} of the best"


def _worse(near: NearOptimal) -> str:
    return {"goodput": "less goodput", "cost": "more cost"}.get(near.objective, "less for the money")


def _grid_finding(near: NearOptimal, known: Sequence[BestWith], best: BestWith, shown: int) -> str:
    close = sum(abs(row.change or 0.0) <= near.within for row in known)
    intra, inter = _pair(best)
    text = f"I={intra}, R={inter} is best; {counted(close, 'pair')} of I and R within {share_text(near.within)} of it"
    rows = len({_pair(row)[1] for row in known})
    return text + (f" ({shown} of {rows} values of R shown)" if rows > shown else "")


def _pair(row: BestWith) -> tuple[int, int]:
    return int(row.decisions[PAIR[0]]), int(row.decisions[PAIR[1]])


def _around(values: Sequence[int], middle: int, most: int) -> list[int]:
    """At most so many of the values, those around the middle one."""
    found = sorted(set(values))
    first = max(0, min(found.index(middle) - most // 2, len(found) - most))
    return found[first : first + most]


def _behind(row: BestWith) -> str:
    """How far a cell is behind the best, in per cent without the sign for it."""
    share = 100 * abs(row.change or 0.0)
    if share < 1e-5:
        return "0"
    return ("" if row.proven else "≤") + (f"{share:.2g}" if share < 10 else f"{share:.0f}")


def _cell_says(row: BestWith | None) -> str:
    if row is None or row.change is None:
        return "no plan"
    return f"{signed_percent(round(row.change, 9))} of the best" + ("" if row.proven else ", perhaps better")


def _words(plans: Sequence[Decisions]) -> list[str]:
    """What each plan decides that not all of them do; of the first all that can be told, where there is but one."""
    choices = [choice for plan in plans for choice in plan.zones]
    zones = list(dict.fromkeys(choice.zone for choice in choices))
    differ = {
        zone: [
            field
            for field in DECISION_FIELDS
            if len({getattr(choice, field) for choice in choices if choice.zone == zone}) > 1
            or field in ("intra_block_spares", "inter_block_spares")
        ]
        for zone in zones
    }
    schemes = len({plan.checkpoint_plan for plan in plans}) > 1
    return [_plan_words(plan, zones, differ, schemes) for plan in plans]


def _plan_words(plan: Decisions, zones: Sequence[str], differ: dict[str, list[str]], schemes: bool) -> str:
    parts = []
    for zone in zones:
        own = [choice for choice in plan.zones if choice.zone == zone]
        texts = []
        for choice in own:
            values = [(field, getattr(choice, field)) for field in differ[zone]]
            told = [SHORT.get(f, "{}").format(_value(f, value)) for f, value in values if _told(f, value)]
            texts.append((f"{choice.count}× " if len(own) > 1 else "") + ", ".join(told))
        parts.append((f"{zone}: " if len(zones) > 1 else "") + " + ".join(texts))
    parts += [plan.checkpoint_plan] if schemes else []
    return "; ".join(parts)


def _amount(objective: str, value: float) -> str:
    """The objective in its unit, which the label of the axis names."""
    if objective == "cost":
        size, prefix = next(((s, p) for s, p in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if value >= s), (1.0, ""))
        return f"{value / size:,.5g} {prefix}".strip()
    return f"{value:,.1f}" if objective == "goodput" else f"{value:,.4f}"


def _told(field: str, value: object) -> bool:
    return value is not None or field == "gpu_limit"


def _value(field: str, value: object) -> str:
    if field == "crews":
        return f"{value} crews"
    if field == "shelf_trays":
        return f"{value} on the shelf"
    if field == "gpu_limit" and value is None:
        return "full limit"
    return value_words(field, value)
