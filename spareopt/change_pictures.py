"""Draw the change between two plans as a waterfall with matplotlib: from one objective to the other, cause by cause."""

from __future__ import annotations

from pathlib import Path

from spareopt.change_text import amount, measure_name, short_names, signed
from spareopt.pictures import BLUE, GREY, LINES, ORANGE, STYLE, save
from spareopt.plan_changes import PlanChange


def draw_waterfall(change: PlanChange, path: Path) -> None:
    """Both plans' values of the first measure, and between them what each cause adds, one on the other."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    assert change.attribution is not None
    measure = change.measures[0]
    first, second = short_names([change.before, change.after])
    items = [
        item for item in change.attribution.contributions if item.changes.get(measure.name)
    ]  # fmt: skip
    levels = [measure.before]
    for item in items:
        levels.append(levels[-1] + item.changes[measure.name])
    low, high = min(levels), max(levels)
    floor = low - 0.25 * (high - low or abs(low) * 0.05)
    with mpl.rc_context(STYLE | LINES):
        figure = Figure(figsize=(2.4 + 1.3 * (len(items) + 2), 4.2), layout="constrained")
        axes = figure.subplots()
        axes.bar([0, len(items) + 1], [measure.before - floor, measure.after - floor], 0.6, bottom=floor, color=GREY)
        for place, item in enumerate(items, 1):
            added = item.changes[measure.name]
            axes.bar(place, added, 0.6, bottom=levels[place - 1], color=BLUE if added > 0 else ORANGE)
            top = max(levels[place - 1], levels[place])
            axes.annotate(
                signed(measure, added, change.currency), (place, top), (0, 3), textcoords="offset points", ha="center"
            )
        for place, value in ((0, measure.before), (len(items) + 1, measure.after)):
            axes.annotate(
                amount(measure, value, change.currency), (place, value), (0, 3), textcoords="offset points", ha="center"
            )
        for place, level in enumerate(levels):
            axes.plot([place + 0.3, place + 0.7], [level, level], color=GREY, lw=0.8)
        labels = [first, *(item.cause.replace(", ", ",\n").replace(" and ", "\nand ") for item in items), second]
        axes.set_xticks(range(len(labels)), labels)
        axes.set_ylim(floor, high + 0.15 * (high - floor))
        axes.yaxis.set_major_formatter("{x:,.6g}")
        axes.set_ylabel(f"{measure_name(change, measure.name)}, {measure.unit} (axis does not begin at 0)")
        axes.set_title(f"{measure_name(change, measure.name)}: from {first} to {second}")
        save(figure, path)
