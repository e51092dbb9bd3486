"""Draw what a step of each limit, or of each input's quality, is worth."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from spareopt import units
from spareopt.drawings.money import scale_of
from spareopt.drawings.sheet import (
    bar,
    column,
    entitle,
    label_rows,
    legend_below,
    nothing,
    on,
    rows_height,
    signed_ticks,
    wrapped,
)
from spareopt.marginal import MarginalStep, MarginalValue, MarginalValues
from spareopt.pictures import BLUE, GREY, ORANGE
from spareopt.score_text import limit_name
from spareopt.wording import capitalised, number_text


def bars(values: MarginalValues, axes: Axes | None = None) -> Axes:
    """For each limit and input what a step for the better brings (to the right), and one for the worse takes."""
    rows = values.values
    if not rows:
        with on(axes, 0.9) as ax:
            nothing(ax, "There is no limit and no input to move.")
            entitle(ax, finding(values))
        return ax
    labels = [f"{wrapped(_name(item), 120.0)}\n{wrapped(_step(item), 120.0)}" for item in rows]
    size, unit = _unit(values)
    with on(axes, rows_height(labels, bottom=0.8)) as ax:
        texts = []
        for row, item in enumerate(rows):
            steps = ((-0.19, item.better, BLUE, "better", None), (0.19, item.worse, ORANGE, "worse", "////"))
            told = []
            for place, step, colour, direction, hatch in steps:
                if step is None:
                    continue
                told.append(_told(step, size))
                says = f"{_name(item)}, {_step(item)}, one step {direction}: {told[-1]} {unit}"
                bar(ax, row + place, (step.change or 0.0) / size, height=0.34, colour=colour, hatch=hatch, says=says)
            texts.append("\n".join(told))
        label_rows(ax, labels)
        column(ax, texts, size=8.0)
        ax.axvline(0, color=GREY, lw=0.9)
        ax.margins(x=0.04)
        signed_ticks(ax)
        ax.locator_params(axis="x", nbins=4)
        ax.set_xlabel(f"gain, {unit}")
        handles = [
            Patch(facecolor=BLUE, label="one step better"),
            Patch(facecolor=ORANGE, hatch="////", edgecolor="white", lw=0, label="one step worse"),
        ]
        legend_below(ax, handles, own=axes is None)
        entitle(ax, finding(values))
    return ax


def finding(values: MarginalValues) -> str:
    """The limit of which a step more is worth most, or else the input."""
    size, unit = _unit(values)
    gains = [item for item in values.values if item.better.told and (item.better.change or 0.0) > 0]
    gains.sort(key=lambda item: -(item.better.change or 0.0))
    for item in [*(item for item in gains if item.kind != "input"), *gains][:1]:
        amount = f"{(item.better.change or 0.0) / size:+,.4g} {unit}"
        if item.kind != "input":
            return f"Of the limits, a step more of {_name(item)} ({_step(item)}) is worth most: {amount}"
        limits = any(other.kind != "input" for other in values.values)
        text = f"{_name(item)} {_step(item)} {'brings' if _step(item).endswith('better') else 'bring'} {amount}"
        return f"No step more of a limit helps; {text}" if limits else capitalised(text)
    return "No step of a limit or an input is worth anything that the proofs can tell"


def _name(item: MarginalValue) -> str:
    return limit_name(item.name)


def _step(item: MarginalValue) -> str:
    return item.unit if item.kind == "input" else f"{number_text(item.better.amount)} {item.unit}"


def _told(step: MarginalStep, size: float) -> str:
    if step.change is None:
        return "no plan" if step.status == "infeasible" else "not known"
    if not step.told:
        return "≈ 0"
    return f"{step.change / size:+,.4g}".replace("-", "−") if step.change else "0"


def _unit(values: MarginalValues) -> tuple[float, str]:
    """The unit of changes of the objective, and its size."""
    objective, symbol = values.certificate.objective, units.CURRENCIES[values.currency]
    if objective == "goodput":
        return 1.0, "baseline GPUs"
    if objective == "cost":
        steps = [step for item in values.values for step in (item.better, item.worse) if step is not None]
        size, unit = scale_of(max((abs(step.change or 0.0) for step in steps), default=0.0), values.currency)
        return size, f"{unit} per year"
    return 1.0, f"baseline GPU-hours per {symbol}"
