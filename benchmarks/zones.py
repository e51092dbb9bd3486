"""How the proof grows with the number of different zones, beside other ways to the same optimum: one run, side by side.

python benchmarks/zones.py [--kinds KIND ...] [ZONES ...]      writes benchmarks/zones.csv

Every zone has a block design, a size, a price, rates and a speed of its own, and a thousand or more candidates that
nothing dominates.  ``reductions`` is what spareopt does: marginal analysis, screening by reduced costs, few columns.
``plain`` gives all candidates that nothing dominates to the MILP, refined in the same way, without them.  ``SCIP`` is
given the same candidates with ln N and ln η as they are, for 60 s.  ``brute force`` scores every pair of candidates.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from spareopt import Plan, read_instance, search, solve
from spareopt.candidates import enumerate_candidates
from spareopt.dominance import prune
from spareopt.instance import Instance
from spareopt.problem import Problem, build_problem
from spareopt.schemes import recovery_schemes

HERE = Path(__file__).parent
GAP = 1e-4
ZONES = (2, 4, 8, 16, 32, 64)
KINDS = ("goodput", "cost", "goodput_per_dollar", "yearly_cost", "checkpoint_plans", "competing_designs")
PLAIN_UP_TO, PLAIN_SECONDS = 32, 180.0
SCIP_UP_TO, SCIP_SECONDS = 16, 60.0
REDUCED_SECONDS = 600.0
COLUMNS = ("kind", "zones", "candidates", "surviving", "way", "seconds", "value", "bound", "gap", "loss")


def instance(zones: int, kind: str, seed: int = 0) -> dict[str, Any]:
    """A cluster of so many different zones, with limits that bind, as plain data."""
    if kind == "competing_designs":
        return competing_designs(zones)
    rng = np.random.default_rng(seed)
    designs, halls = [], []
    for z in range(zones):
        trays = int(rng.choice([9, 12, 16, 18]))
        racks = int(rng.integers(40, 64))
        designs.append(
            {
                "name": f"design-{z}",
                "trays_per_block": trays,
                "gpus_per_tray": 4,
                "intra_block_spares": {"from": 0, "to": 4},
                "inter_block_spares": {"from": 0, "to": 12},
                "rack_price": f"{rng.uniform(2.0, 4.2):.4f} M$",
                "relative_tray_rate": float(rng.choice([0.7, 1.0, 1.4])),
                "power": {
                    "gpu_full_limit": "1200 W",
                    "gpu_limits": {"from": "840 W", "to": "1200 W", "step": "40 W"},
                    "tray_other": "1.2 kW",
                    "tray_idle": "1.2 kW",
                    "rack_rest": "12 kW",
                },
            }
        )
        speed = float(np.round(rng.choice([0.97, 1.0, 1.03, 1.06]), 4))
        sizes = {"from": racks - 12, "to": racks}
        halls.append({"name": f"hall-{z}", "racks": sizes, "designs": [f"design-{z}"], "relative_speed": speed})
    total = sum(hall["racks"]["to"] for hall in halls)
    plans = [("slow", "130 h", "40 h", 0.1), ("fast", "24 h", "10 h", 0.5), ("at-once", "2 h", "0 h", 1.6)]
    best = {"name": "best", "period": "best", "save": "20 s", "detection": "60 s", "restart": "10 min"}
    data: dict[str, Any] = {
        "schema_version": 1,
        "name": f"{zones}-zones",
        "zones": halls,
        "designs": designs,
        "failures": {"tray": {"mtbf": "40000 h"}, "rack": {"mtbf": "80000 h"}, "software": {"rate": "0.5 per day"}},
        "repair_plans": [
            {
                "name": name,
                "tray": {"hands_on": "3 h", "off_crew": tray},
                "rack": {"hands_on": "5 h", "off_crew": rack},
                "yearly_cost": f"{cost} M$ per year",
            }
            for name, tray, rack, cost in plans
        ],
        "checkpoint_plans": [best],
        "hardware_scale": {"power_curve": {"a": 0.952, "b": 2.02, "valid_from": 0.5}},
        "power": {"pue": 1.15, "energy_price": "0.066 $ per kWh"},
        "limits": {"capital": f"{total * 2.9:.2f} M$", "it_power": f"{total * 0.088:.3f} MW"},
        "objective": {"kind": "goodput"},
    }
    if kind == "cost":
        data["objective"] = {"kind": "cost", "goodput_target": total * 32.0}
        data["limits"] = {"it_power": f"{total * 0.1:.3f} MW"}
    if kind == "goodput_per_dollar":
        data["objective"] = {"kind": "goodput_per_dollar"}
        data["limits"] = {"it_power": f"{total * 0.088:.3f} MW", "working_gpus": {"minimum": int(total * 35)}}
    if kind in ("yearly_cost", "checkpoint_plans"):
        data["limits"]["yearly_cost"] = f"{total * 0.075:.3f} M$ per year"
    if kind == "checkpoint_plans":
        data["checkpoint_plans"] = [
            best,
            best | {"name": "async", "save": "1 s", "yearly_cost": "6 M$ per year"},
            best | {"name": "given", "period": "250 s"},
        ]
    return data


def competing_designs(zones: int) -> dict[str, Any]:
    """gb200-4x256 with so many zones of 72 racks, each of a speed and a choice of designs of its own.

    Capital is a tenth above what the zones cost at least, and power below what they draw at full speed, so that they
    compete for both.
    """
    data = read_instance("gb200-4x256").resolved()
    (full,) = data["designs"]
    half = full | {"name": "nvl36", "trays_per_block": 9, "rack_price": "2.1 M$", "intra_block_spares": [0, 1, 2]}
    offered = [["nvl72"], ["nvl36"], ["nvl72", "nvl36"]]
    data["designs"] = [full, half]
    data["zones"] = [
        {
            "name": f"zone-{z}",
            "racks": {"from": 64 + z % 4, "to": 72 + z % 4, "step": 2},
            "designs": offered[z % 3],
            "relative_speed": 1.0 + 0.01 * (z % 5),
        }
        for z in range(zones)
    ]
    least = sum((64 + z % 4) * (3.9 if z % 3 == 0 else 2.1) for z in range(zones))
    data["limits"] = {"capital": f"{1.1 * least:.1f} M$", "site_power": f"{6 * zones} MW"}
    return data


def row(kind: str, zones: int, plan: Plan, way: str, seconds: float) -> dict[str, Any]:
    """What a solve came to."""
    counts, certificate = plan.candidates, plan.certificate
    return {
        "kind": kind, "zones": zones, "candidates": counts.enumerated,
        "surviving": counts.enumerated - counts.dominated, "way": way, "seconds": seconds,
        "value": certificate.value, "bound": certificate.bound, "gap": certificate.gap,
    }  # fmt: skip


def reductions(read: Instance, kind: str, zones: int) -> list[dict[str, Any]]:
    """The solve as it is, and marginal analysis that it reports."""
    began = time.perf_counter()
    plan = solve(read, gap=GAP, time_limit=REDUCED_SECONDS)
    found = row(kind, zones, plan, "reductions", time.perf_counter() - began)
    if plan.greedy is None:
        return [found]
    return [found, found | {"way": "greedy", "seconds": "", "value": plan.greedy.value, "gap": "", "bound": "",
                            "loss": plan.greedy.loss}]  # fmt: skip


def plain(read: Instance, kind: str, zones: int) -> dict[str, Any]:
    """The same MILP without screening and without marginal analysis."""
    few, start = search.FEW_CANDIDATES, search.greedy
    search.FEW_CANDIDATES, search.greedy = 10**9, lambda *_: None
    began = time.perf_counter()
    try:
        plan = solve(read, gap=GAP, time_limit=PLAIN_SECONDS)
        return row(kind, zones, plan, "plain", time.perf_counter() - began)
    except Exception as error:
        print(f"plain: {error}", file=sys.stderr)
        return {"kind": kind, "zones": zones, "way": "plain", "seconds": time.perf_counter() - began}
    finally:
        search.FEW_CANDIDATES, search.greedy = few, start


def scip(problem: Problem, zones: int) -> dict[str, Any]:
    """SCIP on the nonlinear selection."""
    from scip_selection import scip_selection  # noqa: PLC0415

    value, bound, seconds = scip_selection(problem, SCIP_SECONDS)
    gap = bound / value - 1 if value > 0 else np.inf
    return {"kind": "goodput", "zones": zones, "way": "SCIP", "seconds": seconds, "value": value, "bound": bound,
            "gap": gap}  # fmt: skip


def brute_force(problem: Problem, zones: int) -> dict[str, Any]:
    """Every pair of candidates of two zones, scored at once for each candidate of the first."""
    began = time.perf_counter()
    limits = problem.candidates.instance.limits
    first, second = (np.flatnonzero(problem.group == z) for z in range(2))
    value, scale, placed = problem.terms.log_value, problem.column("log_scale"), problem.column("placed_gpus")
    rate, capital, power = (problem.column(name) for name in ("rate_per_h", "capital", "it_power_kw"))
    best = -np.inf
    assert limits.capital is not None and limits.it_power is not None
    for c in first:
        fits = capital[c] + capital[second] <= limits.capital * (1 + 1e-9)
        fits &= power[c] + power[second] <= limits.it_power * (1 + 1e-9)
        pairs = second[fits]
        score = problem.terms.site_value + value[c] + value[pairs] + np.minimum(scale[c], scale[pairs])
        score += np.log(placed[c] + placed[pairs])
        score += problem.schemes[0].log_eta(problem.terms.site[1] + rate[c] + rate[pairs])
        best = max(best, float(score.max(initial=-np.inf)))
    goodput = float(np.exp(best))
    return {"kind": "goodput", "zones": zones, "way": "brute force", "seconds": time.perf_counter() - began,
            "value": goodput, "bound": goodput, "gap": 0.0}  # fmt: skip


def survivors(read: Instance) -> Problem:
    """The problem of the candidates that nothing dominates."""
    candidates = enumerate_candidates(read)
    schemes = recovery_schemes(read, "exact")
    return build_problem(candidates, prune(candidates, schemes), schemes)


def main(arguments: list[str]) -> None:
    """Measure, print and write a row for each number of zones, kind of question and way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zones", nargs="*", type=int, default=ZONES)
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--only", nargs="*", default=("reductions", "plain", "SCIP", "brute force"))
    parser.add_argument("-o", "--output", default=str(HERE / "zones.csv"))
    given = parser.parse_args(arguments)
    sys.path.insert(0, str(HERE))
    print(f"threads of the linear algebra: {os.environ.get('OPENBLAS_NUM_THREADS', 'as many as there are cores')}")
    with Path(given.output).open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, COLUMNS, restval="", lineterminator="\n")
        table.writeheader()
        for kind in given.kinds:
            for zones in given.zones:
                read = read_instance(instance(zones, kind))
                found = reductions(read, kind, zones) if "reductions" in given.only else []
                if "plain" in given.only and kind == "goodput" and zones <= PLAIN_UP_TO:
                    found.append(plain(read, kind, zones))
                if kind == "goodput" and zones <= SCIP_UP_TO and {"SCIP", "brute force"} & set(given.only):
                    problem = survivors(read)
                    if "SCIP" in given.only:
                        found.append(scip(problem, zones))
                    if zones == 2 and "brute force" in given.only:
                        found.append(brute_force(problem, zones))
                for one in found:
                    table.writerow({name: _short(value) for name, value in one.items()})
                    print(*(f"{name} {_short(value)}" for name, value in one.items()), sep="  ", flush=True)
                stream.flush()


def _short(value: Any) -> Any:
    return f"{value:.8g}" if isinstance(value, float) else value


if __name__ == "__main__":
    main(sys.argv[1:])
