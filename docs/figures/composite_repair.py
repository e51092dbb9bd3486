"""One exponential repair time against a mix of short and long ones of the same mean: a figure of docs/studies.md.

Run ``python docs/figures/composite_repair.py``: it writes composite_repair.svg beside itself and prints the table
of the page (some minutes).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import spareopt
from spareopt.decisions import Decisions
from spareopt.instance import Instance
from spareopt.simulation.result import Comparison
from spareopt.simulation.statistics import Interval, ratio_interval

BLOCKS, TRAYS, TRAY_MTBF_H = 1024, 36, 20000.0
SHORT_H, LONG_H = 2.0, 48.0
MIXES = tuple(tenth / 10 for tenth in range(1, 10))
BUSIEST = (None, 0.8, 0.95)
"""Most that the crews may be busy: None for ample crews, else as few crews as that allows."""
REPLICATIONS, WARM_UP, CONFIDENCE = 200, "3000 h", 0.99


@dataclass(frozen=True)
class Point:
    """What was measured at one share of short repairs."""

    short_share: float
    crews: int | None
    spares: int
    """R, blocks."""
    comparison: Comparison
    error: Interval
    """CETT of the composite law less that of the mix, over that of the mix."""

    @property
    def half(self) -> float:
        """Half the width of the error's interval."""
        half = self.error.half_width
        assert half is not None
        return half

    def row(self) -> str:
        """A line of the page's table."""
        first, second = self.comparison.first, self.comparison.second
        crews, busy = "ample", ""
        if self.crews is not None:
            crews, busy = f"{self.crews}", f"{100 * second.crews[0].utilisation.mean:.0f} %"
        cells = (
            f"{self.short_share:.1f}", f"{mean_repair(self.short_share):.1f} h", crews, busy, f"{self.spares}",
            f"{first.evaluation.availability:.4f}", f"{second.evaluation.availability:.4f}",
            f"{first.evaluation.cett:.4f}", f"{second.evaluation.cett:.4f}",
            f"{100 * self.error.mean:+.2f} ± {100 * self.half:.2f} %",
        )  # fmt: skip
        return f"| {' | '.join(cells)} |"


def mean_repair(short_share: float) -> float:
    """Mean time to repair of a tray, h."""
    return short_share * SHORT_H + (1.0 - short_share) * LONG_H


def crews_for(short_share: float, busiest: float | None) -> int | None:
    """As few crews as keep them at most so busy, with all trays up but those in repair."""
    if busiest is None:
        return None
    return math.ceil(BLOCKS * TRAYS * mean_repair(short_share) / (TRAY_MTBF_H * busiest))


def case(short_share: float, crews: int | None) -> dict[str, Any]:
    """The instance: one zone, whose trays are repaired by either law."""
    phases = [
        {"share": short_share, "hands_on": f"{SHORT_H} h"},
        {"share": 1.0 - short_share, "hands_on": f"{LONG_H} h"},
    ]
    laws = {"composite": {"hands_on": f"{mean_repair(short_share)!r} h"}, "two-phase": {"phases": phases}}
    staff = {} if crews is None else {"crews": crews}
    return {
        "schema_version": 1,
        "name": "composite-repair",
        "zones": [{"name": "zone", "racks": BLOCKS}],
        "designs": [
            {
                "name": "rack",
                "trays_per_block": TRAYS,
                "gpus_per_tray": 2,
                "intra_block_spares": 0,
                "inter_block_spares": {"from": 0, "to": 300},
            }
        ],
        "failures": {"tray": {"mtbf": f"{TRAY_MTBF_H} h"}},
        "repair_plans": [{"name": name, "tray": law, **staff} for name, law in laws.items()],
        "checkpoint_plans": [
            {"name": "published", "period": "250 s", "save": "50 ms", "detection": "60 s", "restart": "6 min"}
        ],
    }


def plans(short_share: float, crews: int | None) -> tuple[Instance, Decisions, Decisions]:
    """The instance, the plan that is best under the composite law, and the same plan under the mix."""
    data = case(short_share, crews)
    composite = spareopt.solve(spareopt.read_instance(data | {"repair_plans": data["repair_plans"][:1]})).decisions
    (zone,) = composite.zones
    mixed = composite.model_copy(update={"zones": (zone.model_copy(update={"repair_plan": "two-phase"}),)})
    return spareopt.read_instance(data), composite, mixed


def measure(short_share: float, busiest: float | None, replications: int = REPLICATIONS, processes: int = 1) -> Point:
    """Simulate both laws under the same random numbers, for replications of a year."""
    crews = crews_for(short_share, busiest)
    instance, composite, mixed = plans(short_share, crews)
    found = spareopt.compare(
        instance, composite, mixed,
        replications=replications, warm_up=WARM_UP, confidence=CONFIDENCE, processes=processes,
    )  # fmt: skip
    pairs = list(zip(found.first.replications, found.second.replications, strict=True))
    error = ratio_interval([a.cett - b.cett for a, b in pairs], [b.cett for _, b in pairs], CONFIDENCE)
    return Point(short_share, crews, composite.zones[0].inter_block_spares, found, error)


def draw(curves: Sequence[Sequence[Point]], path: Path) -> None:
    """The figure: ample crews on the left, few crews on the right."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - the tests need the numbers only
    from figure_style import BLUE, GREEN, GREY, ORANGE, label, save, use_style  # noqa: PLC0415

    use_style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.9), width_ratios=(1, 1.15))
    figure.get_layout_engine().set(wspace=0.05)
    for axes, points, colour, marker in (
        (left, curves[0], BLUE, "o"),
        (right, curves[1], GREEN, "s"),
        (right, curves[2], ORANGE, "D"),
    ):
        shares = [point.short_share for point in points]
        errors = [100 * point.error.mean for point in points]
        halves = [100 * point.half for point in points]
        axes.errorbar(shares, errors, halves, color=colour, marker=marker, ms=4.5, lw=1.4, capsize=2.5, elinewidth=1.1)
        # where all repairs are of one kind the two laws are one
        axes.plot([0, 1], [0, 0], linestyle="none", marker=marker, ms=4.5, mfc="white", mec=colour, clip_on=False)
    for axes in (left, right):
        axes.axhline(0, color=GREY, lw=0.8, zorder=1)
        axes.set_xlim(0, 1)
        axes.set_xticks([i / 5 for i in range(6)])
        axes.set_xlabel(f"share of tray repairs that are short ({SHORT_H:.0f} h; the others {LONG_H:.0f} h)")
    left.set_title("Ample crews: the mean is all that matters")
    left.set_ylabel("error of CETT with one exponential law\ninstead of the mix, %")
    left.set_ylim(-1.2, 1.2)
    left.axhspan(-1, 1, color=GREY, alpha=0.1, lw=0)
    words = {"ha": "center", "va": "top", "fontsize": 8.5}
    left.text(0.5, 0.93, "±1 %: the bound that the paper states", color=GREY, **words)
    worst = 100 * max(abs(point.error.mean) + point.half for point in curves[0])
    left.text(0.5, -0.18, f"at most {worst:.2f} % either way, interval included", color=BLUE, **words)
    right.set_title("Few crews: the law matters")
    right.set_ylabel("error of CETT, %")
    label(
        right, f"crews up to {100 * BUSIEST[2]:.0f} % busy", (0.87, 100 * curves[2][-1].error.mean), ORANGE, ha="right"
    )
    above = 100 * (curves[1][-1].error.mean + curves[1][-1].half) + 1
    label(right, f"up to {100 * BUSIEST[1]:.0f} %", (0.9, above), GREEN, ha="center", va="bottom")
    right.text(0.02, -2.6, "one law at 0 and 1", color=GREY, fontsize=8.5)
    right.set_ylim(-4, None)
    save(figure, path)


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description="Composite against two-phase repair.")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".svg"))
    parser.add_argument("--replications", type=int, default=REPLICATIONS)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    curves = []
    for busiest in BUSIEST:
        curves.append([measure(share, busiest, options.replications, options.processes) for share in MIXES])
        for point in curves[-1]:
            print(point.row(), flush=True)
    draw(curves, options.out)


if __name__ == "__main__":
    main()
