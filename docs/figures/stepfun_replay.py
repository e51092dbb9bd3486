"""A year of faults of 400 servers, replayed, beside two models of it: a figure of docs/studies.md.

Run ``python docs/figures/stepfun_replay.py TRACE`` with the file fault_intervals.csv of the StepFun trace: it writes
stepfun_replay.svg beside itself and prints the table of the page.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import spareopt
from spareopt.decisions import read_decisions
from spareopt.instance import Instance
from spareopt.simulation.result import Simulation
from spareopt.simulation.trace import Trace, read_trace, trace_events
from spareopt.units import HOURS_PER_YEAR

Floats = NDArray[np.float64]

SERVERS, DAYS = 400, 348
MOST = 120
"""Servers down up to which the laws of the models are computed; what is beyond is below 1e-9."""
TRACE = Path(__file__).resolve().parents[3] / "shared" / "data" / "stepfun" / "fault_intervals.csv"


@dataclass(frozen=True)
class Law:
    """How much of the time 0, 1, 2, … servers are down at once."""

    name: str
    shares: Floats

    @property
    def mean(self) -> float:
        """Servers down on average."""
        return float(self.shares @ np.arange(len(self.shares)))

    @property
    def variance_over_mean(self) -> float:
        """1 for a Poisson number."""
        return float(self.shares @ (np.arange(len(self.shares)) - self.mean) ** 2) / self.mean

    @property
    def beyond(self) -> Floats:
        """Share of the time in which more than 0, 1, 2, … servers are down."""
        return np.append(np.cumsum(self.shares[::-1])[::-1][1:], 0.0)

    def point(self, share: float) -> int:
        """At most so many are down for this share of the time."""
        return int(np.argmax(self.beyond <= 1.0 - share))

    def misfit(self, other: Law) -> float:
        """Kolmogorov's distance: the largest difference of the shares of time with at most so many down."""
        width = max(len(self.shares), len(other.shares))
        mine, others = (np.pad(law.beyond, (0, width - len(law.beyond))) for law in (self, other))
        return float(np.abs(mine - others).max())

    def row(self, trace: Law) -> str:
        """A line of the page's table."""
        misfit = "–" if self is trace else f"{self.misfit(trace):.3f}"
        points = " | ".join(f"{self.point(share)}" for share in (0.95, 0.99, 0.999))
        numbers = f"{self.mean:.2f} ({100 * self.mean / SERVERS:.2f} %) | {self.variance_over_mean:.2f}"
        return f"| {self.name} | {numbers} | {points} | {misfit} |"


def case(mtbf_h: float, mttr_h: float, variance_to_mean: float | None = None, mean: float | None = None) -> Instance:
    """400 servers, each a block of its own, with rates known surely or up to a Gamma-distributed multiplier."""
    failures: dict[str, Any] = {"tray": {"mtbf": f"{mtbf_h!r} h"}}
    if variance_to_mean is not None:
        failures["uncertainty"] = {"variance_to_mean": variance_to_mean, "mean_count": mean}
    return spareopt.read_instance(
        {
            "schema_version": 1,
            "name": "stepfun-400",
            "zones": [{"name": "cluster", "racks": SERVERS}],
            "designs": [
                {
                    "name": "server",
                    "trays_per_block": 1,
                    "gpus_per_tray": 8,
                    "intra_block_spares": 0,
                    "inter_block_spares": {"from": 0, "to": MOST},
                }
            ],
            "failures": failures,
            "repair_plans": [{"name": "as-recorded", "tray": {"hands_on": f"{mttr_h!r} h"}}],
            "checkpoint_plans": [
                {"name": "best", "period": "best", "save": "30 s", "detection": "1 min", "restart": "10 min"}
            ],
        }
    )


def with_spares(spares: int) -> spareopt.Decisions:
    """The plan with so many spare servers."""
    zone = {
        "zone": "cluster",
        "design": "server",
        "racks": SERVERS,
        "intra_block_spares": 0,
        "inter_block_spares": spares,
        "repair_plan": "as-recorded",
    }
    return read_decisions({"zones": [zone], "checkpoint_plan": "best"})


def replay(trace: Trace, instance: Instance, spares: int = 0) -> Simulation:
    """The record from its first day to its last."""
    return spareopt.simulate(
        instance, with_spares(spares), replications=1, years=DAYS * 24 / HOURS_PER_YEAR, warm_up="0 h", trace=trace
    )


def recorded(trace: Trace) -> tuple[float, float]:
    """MTBF and MTTR of a server in the record, h: its hours up, and down, by fault."""
    hours = DAYS * 24.0
    faults = int((trace.start_h < hours).sum())
    down = float(np.sum(np.minimum(trace.end_h, hours) - np.minimum(trace.start_h, hours)))
    return (SERVERS * hours - down) / faults, down / faults


def modelled(name: str, instance: Instance) -> Law:
    """The law by the exact model: the zone is short when more servers are down than are spare."""
    beyond = [spareopt.evaluate(instance, with_spares(spares)).unavailability for spares in range(MOST + 1)]
    return Law(name, -np.diff([1.0, *beyond]))


def laws(trace: Trace) -> tuple[Law, Law, Law]:
    """The trace's, the binomial and the Gamma-mixed one."""
    times = recorded(trace)
    plain = case(*times)
    replayed = Law("trace, replayed", np.array(replay(trace, plain).unusable_blocks.shares))
    mixed = case(*times, replayed.variance_over_mean, replayed.mean)
    return replayed, modelled("binomial", plain), modelled("Gamma-mixed", mixed)


def part(trace: Trace, first_h: float, last_h: float) -> Law:
    """The law of one part of the record, counted from the trace alone."""
    events = trace_events(trace)
    inside = (events.time > first_h) & (events.time < last_h)
    times = np.concatenate(([first_h], events.time[inside], [last_h]))
    down = np.cumsum(np.where(events.down == 1, 1, -1))
    before = int(down[events.time <= first_h][-1]) if (events.time <= first_h).any() else 0
    numbers = np.concatenate(([before], down[inside]))
    hours = np.bincount(numbers, weights=np.diff(times))
    return Law("", hours / hours.sum())


def draw(trace: Trace, found: tuple[Law, Law, Law], path: Path) -> None:
    """The figure: servers down over the record, and how often more than so many are."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - the tests need the numbers only
    from figure_style import BLACK, BLUE, GREY, ORANGE, label, save, use_style  # noqa: PLC0415

    use_style()
    replayed, binomial, mixed = found
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.1), width_ratios=(1, 1.1))
    figure.get_layout_engine().set(wspace=0.05)

    events = trace_events(trace)
    days = np.concatenate(([0.0], events.time / 24))
    down = np.concatenate(([0], np.cumsum(np.where(events.down == 1, 1, -1))))
    left.step(days, down, where="post", color=BLACK, lw=0.9)
    left.set_xlim(0, DAYS)
    left.set_ylim(0, 40)
    left.set_xlabel("day of the record")
    left.set_ylabel("servers down at once, of 400")
    left.set_title("The record")
    for level, colour, style, text, name in (
        (replayed.point(0.999), BLACK, "--", f"99.9 % of the time at most {replayed.point(0.999)}", BLACK),
        (binomial.point(0.999), BLUE, "--", f"binomial: {binomial.point(0.999)}", BLUE),
        (replayed.mean, GREY, ":", f"mean {replayed.mean:.1f}", GREY),
    ):
        left.axhline(level, color=colour, lw=1.1, ls=style)
        label(left, text, (DAYS - 3, level + 0.5), name, va="bottom", ha="right", fontsize=8.5, bbox=None)

    for law, colour, width in ((mixed, ORANGE, 1.6), (binomial, BLUE, 1.6), (replayed, BLACK, 2.0)):
        right.step(np.arange(len(law.beyond)), 100 * law.beyond, where="post", color=colour, lw=width)
        right.plot(law.point(0.999), 0.1, "o", color=colour, ms=5, clip_on=False, zorder=5)
    middle_h = DAYS * 12.0
    for ends in ((0.0, middle_h), (middle_h, 2 * middle_h)):
        beyond = part(trace, *ends).beyond
        right.step(np.arange(len(beyond)), 100 * beyond, where="post", color=GREY, lw=0.9, zorder=1)
    right.axhline(0.1, color=GREY, lw=0.8, ls="--", zorder=0)
    right.set_yscale("log")
    right.set_xlim(0, 50)
    right.set_ylim(0.01, 130)
    right.set_yticks([100, 10, 1, 0.1, 0.01], ["100 %", "10 %", "1 %", "0.1 %", "0.01 %"])
    right.minorticks_off()
    for text, place, colour in (
        ("record", (15.3, 19.5), BLACK),
        ("binomial (independent\nfaults, known rate)", (2.5, 0.025), BLUE),
        ("Gamma-mixed rate", (36.2, 0.65), ORANGE),
        ("second half\nof the record", (3.2, 0.7), GREY),
        ("first half", (21.5, 33), GREY),
        (f"{binomial.point(0.999)}", (20.5, 0.115), BLUE),
        ("99.9 % points:", (8.6, 0.115), GREY),
        (f"{replayed.point(0.999)}", (33.5, 0.115), BLACK),
        (f"{mixed.point(0.999)}", (44.5, 0.115), ORANGE),
    ):
        label(right, text, place, colour, fontsize=8.5, va="bottom", ha="left", bbox=None)
    right.set_xlabel("servers down, k")
    right.set_ylabel("share of the time with more than k down")
    right.set_title("How often more than k are down")
    save(figure, path)


def main() -> None:
    """Replay, draw and print."""
    parser = argparse.ArgumentParser(description="Replay of the StepFun trace.")
    parser.add_argument("trace", type=Path, nargs="?", default=TRACE)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".svg"))
    options = parser.parse_args()
    trace = read_trace(options.trace)
    found = laws(trace)
    for law in found:
        print(law.row(found[0]))
    mtbf, mttr = recorded(trace)
    print(f"MTBF {mtbf:,.0f} h, MTTR {mttr:.1f} h; {len(trace.unit)} faults of {len(trace.names)} servers")
    plain = case(mtbf, mttr)
    for spares in (found[1].point(0.999), found[0].point(0.999), found[2].point(0.999)):
        trace_says = replay(trace, plain, spares).evaluation.availability
        models = ", ".join(f"{law.name} {1 - law.beyond[spares]:.4%}" for law in found[1:])
        print(f"{spares} spare servers: enough for {trace_says:.2%} of the record; {models}")
    fitted = modelled("Gamma-mixed, 3.4", case(mtbf, mttr, 3.4, found[0].mean))
    halves = [
        Law(f"{name} half", part(trace, i * DAYS * 12.0, (i + 1) * DAYS * 12.0).shares)
        for i, name in enumerate(("first", "second"))
    ]
    for law in (fitted, *halves):
        print(law.row(found[0]))
    draw(trace, found, options.out)


if __name__ == "__main__":
    main()
