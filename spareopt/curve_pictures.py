"""Draw frontiers and tornados with matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spareopt import units
from spareopt.efficient import Frontier
from spareopt.exposure import Tornado, TornadoBar
from spareopt.pictures import BLUE, GREY, GRID, ORANGE, STYLE, save
from spareopt.plan import ALL_PLANS

LISTS = ("designs", "zones", "repair_plans", "checkpoint_plans")


def draw_frontier(result: Frontier, path: Path) -> None:
    """Goodput against the resource: points, what is surely attainable between them, the knee."""
    size, unit = {
        "cost": (1e6, f"M{units.CURRENCIES[result.currency]} per year"),
        "capital": (1e6, f"M{units.CURRENCIES[result.currency]}"),
        "power": (1e3, "MW of IT power"),
    }[result.of]

    def fill(figure: Any) -> None:
        axes = figure.subplots()
        places = [p.resource / size for p in result.points]
        axes.step(
            places, [p.goodput for p in result.points], "-", where="post", color=BLUE, lw=0.8, alpha=0.6, zorder=2,
            label="at least this within so much",
        )  # fmt: skip
        for marker, colour, label, on_hull in (("o", BLUE, "supported", True), ("s", ORANGE, "unsupported", False)):
            there = [(p.resource / size, p.goodput) for p in result.points if p.supported == on_hull]
            if there:
                axes.plot(*zip(*there, strict=True), marker, color=colour, label=label)
        for along in (axes.xaxis, axes.yaxis):
            along.set_major_formatter("{x:,.6g}")
        for point in result.points:
            if point.knee:
                axes.annotate(
                    "knee", (point.resource / size, point.goodput), (-8, 8), textcoords="offset points", ha="right"
                )
        axes.set_xlabel(f"{result.of}, {unit}")
        axes.set_ylabel("goodput, baseline GPUs")
        axes.set_title(f"{result.provenance.instance}: efficient frontier{_alike(result.among)}")
        axes.legend(frameon=False, loc="lower right")

    _draw(path, (6.4, 4.2), fill)


def draw_tornado(result: Tornado, path: Path) -> None:
    """Two bars per input: the nominal plan as it is, and the best plan at each end."""
    bars = [bar for bar in result.bars if bar.swing > 0]
    nominal = result.certificate.value

    broken = any(end.fixed_breaks for bar in bars for end in (bar.low, bar.high) if end.fixed not in (None, nominal))

    def fill(figure: Any) -> None:
        axes = figure.subplots()
        for row, bar in enumerate(bars):
            for end in (bar.low, bar.high):
                if end.fixed is not None:
                    hatch = "////" if end.fixed_breaks else None
                    axes.barh(row - 0.2, _change(end.fixed, nominal), 0.36, color=ORANGE, hatch=hatch, ec="white", lw=0)
                if end.adapted is not None:
                    axes.barh(row + 0.2, _change(end.adapted, nominal), 0.36, color=BLUE)
        axes.set_yticks(range(len(bars)), [_label(bar) for bar in bars])
        axes.invert_yaxis()
        axes.axvline(0, color=GREY, lw=0.8)
        axes.xaxis.set_major_formatter("{x:+,.6g}")
        what = result.certificate.objective.replace("_", " ")
        axes.set_xlabel(f"change of {what} from {nominal:,.6g} {result.certificate.unit}, %")
        figure.suptitle(
            f"{result.provenance.instance}: one input at a time{_alike(result.certificate.among)}",
            x=0.01,
            ha="left",
            fontsize=10,
        )
        handles = [_patch(ORANGE, "plan as it is"), _patch(BLUE, "best plan there")]
        handles[1:1] = [_patch(ORANGE, "plan as it is, which breaks a limit", "////")] if broken else []
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)

    _draw(path, (9.0, 1.6 + 0.5 * max(1, len(bars))), fill)


def _alike(among: str) -> str:
    return "" if among == ALL_PLANS else f", of {among}"


def _patch(colour: str, label: str, hatch: str | None = None) -> Any:
    from matplotlib.patches import Patch  # noqa: PLC0415 - an extra, and slow to load

    return Patch(facecolor=colour, label=label, hatch=hatch, edgecolor="white", linewidth=0)


def _change(value: float, nominal: float) -> float:
    return 100.0 * (value / nominal - 1.0)


def _label(bar: TornadoBar) -> str:
    """The input in words, and below it its ends."""
    assumed = " (assumed)" if bar.interval == "assumed" else ""
    return f"{input_words(bar.input)}\n{bar.low.setting} to {bar.high.setting}{assumed}"


def input_words(path: str) -> str:
    """An input as a planner says it: ``checkpoint_plans.*.restart`` is "restart, all checkpoint plans"."""
    tied = [_words(part.strip()) for part in path.split(",")]
    return " and ".join(", ".join(filter(None, words)) for words in tied)


def _words(path: str) -> tuple[str, str]:
    head, *rest = path.split(".")
    owner = head.replace("_", " ")
    if rest and head in LISTS:
        item, *rest = rest
        owner = f"all {owner}" if item == "*" else item
    else:
        owner = ""
    if "*" in rest[1:]:
        place = rest.index("*", 1)
        owner, rest = f"all {rest[place - 1].replace('_', ' ')}", rest[place + 1 :]
    words = ["each" if part == "*" else part.replace("_", " ").replace("mtbf", "MTBF") for part in rest]
    if words[:1] == ["each"]:
        words, owner = words[1:], f"all {head.replace('_', ' ')}"
    return (" ".join(words), owner) if words else (head.replace("_", " "), "")


def _draw(path: Path, size: tuple[float, float], fill: Any) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(STYLE | GRID):
        figure = Figure(figsize=size, layout="constrained")
        fill(figure)
        save(figure, path)
