"""The figure and the tables of docs/scale.md, from benchmarks/zones.csv.

python docs/figures/zones.py [FILE.svg]
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "scale.md"
TABLE = ROOT / "benchmarks" / "zones.csv"
LIMITS = {"plain": 180.0, "SCIP": 60.0}
WAYS = ["reductions", "plain", "SCIP", "greedy", "brute force"]
QUESTIONS = {
    "goodput": "goodput",
    "cost": "least cost",
    "goodput_per_dollar": "goodput per dollar",
    "yearly_cost": "yearly cost limited",
    "checkpoint_plans": "three checkpoint plans",
    "competing_designs": "two designs in competition",
}


def measured() -> pd.DataFrame:
    """The rows of the benchmark."""
    return pd.read_csv(TABLE)


def goodput_table(rows: pd.DataFrame) -> str:
    """Seconds and gap of each way, by the number of zones, as Markdown."""
    lines = ["| zones | candidates | undominated | reductions | plain | SCIP | greedy: loss | brute force |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for zones, group in rows[rows["kind"] == "goodput"].groupby("zones"):
        by_way = {way: part.iloc[0] for way, part in group.groupby("way")}
        first = by_way["reductions"]
        cells = [f"{zones}", f"{int(first['candidates']):,}", f"{int(first['surviving']):,}"]
        cells += [_seconds(by_way.get(way)) for way in ("reductions", "plain", "SCIP")]
        cells += [_share(by_way["greedy"]["loss"]) if "greedy" in by_way else "", _seconds(by_way.get("brute force"))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def others_table(rows: pd.DataFrame) -> str:
    """Seconds, gap and greedy loss of the other questions, as Markdown."""
    lines = ["| question | zones | undominated | seconds, gap | greedy: loss |", "|---|---|---|---|---|"]
    for kind, name in QUESTIONS.items():
        for zones, group in rows[(rows["kind"] == kind) & (kind != "goodput")].groupby("zones"):
            by_way = {way: part.iloc[0] for way, part in group.groupby("way")}
            first = by_way["reductions"]
            loss = _share(by_way["greedy"]["loss"]) if "greedy" in by_way else "no plan"
            lines.append(f"| {name} | {zones} | {int(first['surviving']):,} | {_seconds(first)} | {loss} |")
    return "\n".join(lines)


def _seconds(row: pd.Series | None) -> str:
    if row is None:
        return ""
    return f"{row['seconds']:.1f} s" + (f", {_share(row['gap'])}" if row["way"] != "brute force" else "")


def _share(value: float) -> str:
    return f"{100 * value:.2g} %" if value >= 1e-5 else "0.001 %" if value > 5e-6 else "< 0.001 %"


def with_tables(page: str, rows: pd.DataFrame) -> str:
    """The page with its tables brought up to date."""
    for name, table in (("goodput", goodput_table(rows)), ("others", others_table(rows))):
        mark = f"<!-- table: {name} -->\n"
        before, after = page.split(mark)
        rest = after.lstrip("\n")
        while rest.startswith("|"):
            rest = rest.partition("\n")[2]
        page = f"{before}{mark}\n{table}\n" + (f"\n{rest.lstrip(chr(10))}" if rest.strip() else "")
    return page


def draw(rows: pd.DataFrame, path: Path) -> None:
    """Seconds against the number of zones, for each way and each question."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    sys.path.insert(0, str(HERE))
    from figure_style import BLACK, BLUE, GREEN, GREY, ORANGE, label, save, use_style  # noqa: PLC0415

    use_style()
    figure, panes = plt.subplots(1, 2, figsize=(9.4, 3.7), sharey=True)
    colours = {"reductions": BLUE, "plain": ORANGE, "SCIP": BLACK}
    for way, colour in colours.items():
        part = rows[(rows["kind"] == "goodput") & (rows["way"] == way)].sort_values("zones")
        proven = part["gap"] <= 1e-4
        panes[0].plot(part["zones"], part["seconds"], color=colour, marker="o", markersize=4, linewidth=1.4)
        open_ = part[~proven]
        panes[0].plot(open_["zones"], open_["seconds"], "o", markersize=8, markerfacecolor="none", color=colour)
        last = part.iloc[-1]
        label(panes[0], way, (last["zones"] * 1.08, last["seconds"]), colour, va="center")
    panes[0].set_title("The reductions make a proof of 64 zones possible", fontsize=9.5)
    shades = (BLUE, ORANGE, GREEN, GREY, BLACK, "#CC79A7")
    for (kind, name), colour in zip(QUESTIONS.items(), shades, strict=True):
        part = rows[(rows["kind"] == kind) & (rows["way"] == "reductions")].sort_values("zones")
        if len(part):
            panes[1].plot(part["zones"], part["seconds"], color=colour, marker="o", markersize=4, label=name)
    panes[1].set_title("Other questions take longer", fontsize=9.5)
    panes[1].legend(frameon=False, fontsize=8.5, loc="lower right")
    for pane in panes:
        pane.set_xscale("log", base=2)
        pane.set_yscale("log")
        ticks = sorted(rows["zones"].unique())
        pane.set_xticks(ticks, [str(tick) for tick in ticks])
        pane.set_xlim(min(ticks) * 0.85, max(ticks) * 2.6)
        pane.set_xlabel("zones, all different (open rings: not proven within the time given)", fontsize=8.5)
    panes[0].set_ylabel("seconds to a gap of 0.01 %")
    panes[1].set_xlabel("zones, all different", fontsize=8.5)
    save(figure, path)
    plt.close(figure)


def main(arguments: list[str]) -> None:
    """Draw the figure and bring the page's tables up to date."""
    rows = measured()
    draw(rows, Path(arguments[0]) if arguments else HERE / "zones.svg")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
