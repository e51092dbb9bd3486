"""Every number from outside this project beside ours: `oracles/*.json`, record by record, with the tolerance.

The tests hold each to its tolerance; docs/validation.md (`python -m tests.validation`) shows them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from spareopt.numerics.ageing import computing_only, computing_only_job
from tests import airesim_chain, published_paper, redundancy_allocation
from tests import oracle_kinds as kinds

Record = dict[str, Any]
Results = dict[str, Any]
Numbers = float | list[Any]
Way = Literal["exact model", "first-order model", "optimiser", "tests"]
"""How our value comes about; ``tests``: a small calculation of the tests, as nothing of the kind is part of a plan."""
Origin = Literal["printed", "peer tool", "simulation", "calculation"]
"""Where the other value comes from."""

FILES: dict[str, Record] = {
    name: json.loads((Path(__file__).parent / "oracles" / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("mlsys2026", "airesim", "repair", "goodput", "redundancy")
}
RECORDS: dict[str, Record] = {
    record["id"]: record for name in ("repair", "goodput", "redundancy") for record in FILES[name]["records"]
}
PAPER, AIRESIM = FILES["mlsys2026"], FILES["airesim"]
CASES: dict[str, Record] = {case["id"]: case for case in AIRESIM["cases"]}
GRID: list[Record] = AIRESIM["exact_grid"]
SIMULATED = {
    "training_time_min": "E_T_min",
    "failures": "E_failures",
    "blocked_min": "E_blocked_min",
    "host_selections": "E_host_selections",
}
"""Means of AIReSim's own runs, and the exact values that they estimate."""

ORIGINS: dict[str, Origin] = {
    "published_and_reproduced": "printed",
    "published_and_reproduced_statistical": "simulation",
    "executed_peer_and_reproduced": "peer tool",
    "formula_published_value_own": "calculation",
    "published_inputs_incomplete": "printed",
    "own_exact": "calculation",
    "own_statistical": "simulation",
}

SLOW = ("rap.fhl", "rrap.series", "rrap.series_parallel")
"""Records that take seconds."""
_ORDER = (
    "the source prints no mean numbers on order; those that its drops imply, to two digits, turn the order of two "
    "drops that are nearly as good for their price"
)
MISSES = {
    ("spares.kth2024.published", "EBO, point 3"): _ORDER,
    ("spares.kth2024.published", "EBO, point 11"): _ORDER,
    ("spares.kth2024.published", "cost, point 3"): _ORDER,
    ("spares.kth2024.published", "cost, point 11"): _ORDER,
}
"""Values that are outside their tolerance, and why; each is expected to stay so."""


class Kind(NamedTuple):
    """How records of one kind are computed, and what that proves."""

    compute: Callable[[Record], Results]
    way: Way
    section: str
    proves: str
    aside: tuple[str, ...] = ()
    """Expected numbers that are a small calculation of the tests, whatever the way of the others."""


REPAIR, SPARES, TIME, CHOICE = "Repair and availability", "Spares", "Checkpoints and goodput", "Redundancy allocation"
KINDS: dict[str, Kind] = {
    "finite_source": Kind(
        kinds.finite_source, "exact model", REPAIR, "the law of failed units with few crews, and how long they wait"
    ),
    "repair_crew_optimum": Kind(
        kinds.repair_crew_optimum, "exact model", REPAIR, "a number of crews that is the cheapest by the same law"
    ),
    "delayed_repair": Kind(
        kinds.delayed_repair, "exact model", REPAIR, "the chain of deferred repair, with one repairer who stays"
    ),
    "mmc_cost": Kind(kinds.mmc_cost, "tests", REPAIR, "the terms of an open queue, which no plan has"),
    "erlang_b": Kind(kinds.erlang_b, "exact model", REPAIR, "a zone whose spares do not age is a loss system"),
    "kofn_availability": Kind(
        kinds.kofn_availability, "exact model", REPAIR, "availability and failure frequency of k of n with crews"
    ),
    "kofn_warm": Kind(kinds.kofn_warm, "tests", REPAIR, "the terms of dormant units, which no instance has"),
    "kofn_mttf": Kind(
        kinds.kofn_mttf, "tests", REPAIR, "mean times to the first failure; with one spare, the published first passage"
    ),
    "kofn_survival": Kind(kinds.kofn_survival, "tests", REPAIR, "the terms of survival without a loss"),
    "ctmc_cluster": Kind(kinds.ctmc_cluster, "tests", REPAIR, "another model of a cluster, state by state"),
    "single_site_ebo": Kind(
        kinds.single_site_ebo, "exact model", SPARES, "mean numbers that wait for a shelf; the best stock by them"
    ),
    "marginal_analysis": Kind(
        kinds.marginal_analysis, "exact model", SPARES, "the same numbers along a whole efficient frontier"
    ),
    "published_frontier_partial": Kind(
        kinds.partial_frontier, "exact model", SPARES, "both printed optimal stocks, though not all inputs are printed"
    ),
    "poisson_stock": Kind(kinds.poisson_stock, "exact model", SPARES, "a shelf that is enough with a probability"),
    "binomial_spares": Kind(
        kinds.binomial_spares, "exact model", SPARES, "how surely spare replicas are enough"
    ),
    "binomial_min_spares": Kind(
        kinds.binomial_min_spares, "exact model", SPARES, "the fewest spares that are enough with a probability"
    ),
    "binomial_guarantee": Kind(
        kinds.binomial_guarantee, "exact model", SPARES, "the availability that a promised number of blocks implies"
    ),
    "domain_loss": Kind(kinds.domain_loss, "exact model", SPARES, "a block without spares is down with any GPU"),
    "replication_nfail": Kind(
        kinds.replication_nfail, "tests", SPARES, "the terms of process replication, which no plan has"
    ),
    "spare_count_des": Kind(
        kinds.spare_count_des, "exact model", SPARES, "CETT by number of spare nodes, against another simulator"
    ),
    "spare_count_optimum": Kind(
        kinds.spare_count_optimum, "exact model", SPARES, "the best number of spare nodes of that simulator"
    ),
    "checkpoint_interval": Kind(
        kinds.checkpoint_interval, "exact model", TIME, "the best period and the useful share are Daly's exact ones",
        ("tau_daly_ho", "tau_young"),
    ),
    "checkpoint_interval_young": Kind(
        kinds.checkpoint_interval_young, "tests", TIME, "Young's period, to which both models tend for short saves"
    ),
    "checkpoint_waste_first_order": Kind(
        kinds.checkpoint_waste_first_order, "tests", TIME, "the waste to first order, to which both models tend"
    ),
    "ettr_closed_form": Kind(
        kinds.ettr_closed_form, "tests", TIME, "a closed form for few faults; both models agree with it to second order"
    ),
    "ettr_closed_form_fixed_dt": Kind(
        kinds.ettr_closed_form, "tests", TIME, "the same form at a given period, and the published range"
    ),
    "mttf_scaling": Kind(
        kinds.mttf_scaling, "first-order model", TIME, "the interruption rate of many nodes (both models share it)"
    ),
    "mttf_fleet": Kind(kinds.mttf_fleet, "first-order model", TIME, "the interruption rate of a fleet"),
    "reliability_only_cett": Kind(
        kinds.reliability_only_cett, "exact model", TIME, "the useful share where restarts are all that is lost"
    ),
    "airesim_report": Kind(
        kinds.airesim_report, "tests", TIME, "the terms of servers that stay bad until a repair cures them"
    ),
    "deterministic_trace": Kind(
        kinds.deterministic_trace, "tests", TIME, "the terms of a trace: what ages while the system is down"
    ),
    "rap_mixed_series": Kind(
        redundancy_allocation.rap_mixed_series, "optimiser", CHOICE,
        "`select` proves the best choice under each cap; dynamic programming agrees",
    ),
    "rap_series_nonlinear": Kind(
        redundancy_allocation.rap_series_nonlinear, "optimiser", CHOICE,
        "`select` with uses that are not linear; the second best by enumeration", ("second_best_n", "second_best_R"),
    ),
    "rrap_minlp": Kind(
        redundancy_allocation.rrap_minlp, "optimiser", CHOICE,
        "continuous reliabilities by grids that narrow: `select` in series, else enumeration",
    ),
    "rap_network_mixed": Kind(
        redundancy_allocation.rap_network_mixed, "tests", CHOICE,
        "networks are no series: `select` refuses them, undominated candidates are enumerated",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Value:
    """One number, or a list of them, from outside and ours."""

    record: str
    what: str
    theirs: Numbers
    ours: Numbers
    tolerance: float | None
    """The largest difference allowed, in absolute terms; ``None`` for a range, which ``theirs`` gives."""
    origin: Origin
    way: Way

    @property
    def difference(self) -> float:
        """The largest difference of the numbers; from the nearer end where only a range is known."""
        ours, theirs = np.asarray(self.ours, np.float64), np.asarray(self.theirs, np.float64)
        if self.tolerance is None:
            low, high = theirs
            return float(max(low - ours, ours - high, 0.0))
        return float(np.max(np.abs(ours - theirs)))

    @property
    def within(self) -> bool:
        """Whether the difference is within the tolerance."""
        return self.difference <= (self.tolerance or 0.0)

    @property
    def share(self) -> float:
        """The difference as a share of the tolerance."""
        return self.difference / self.tolerance if self.tolerance else 0.0 if self.difference == 0 else np.inf

    @property
    def missed(self) -> str | None:
        """Why the value is known to be outside its tolerance."""
        return MISSES.get((self.record, self.what))


def allowed(expected: Numbers, tolerance: dict[str, float]) -> float:
    """The absolute tolerance of a number; of a list, what its smallest number allows, so that none is let off."""
    smallest = float(np.min(np.abs(np.asarray(expected, np.float64))))
    return tolerance.get("abs", 0.0) + tolerance.get("rel", 0.0) * smallest


def not_for_select(record: Record) -> bool:
    """Whether `select` refuses a record for not being in series, so that the tests enumerate."""
    return KINDS[record["kind"]].section == CHOICE and record["inputs"].get("structure", "series") != "series"


@cache
def of_record(name: str) -> tuple[Value, ...]:
    """All values of a record of repair, goodput or redundancy."""
    return beside(name, KINDS[RECORDS[name]["kind"]].compute(RECORDS[name]))


def beside(name: str, ours: Results) -> tuple[Value, ...]:
    """What a record expects beside our results."""
    record = RECORDS[name]
    kind, origin = KINDS[record["kind"]], ORIGINS[record["evidence"]]
    published = set(record.get("published_fields") or record["expected"])
    values = []
    for field, expected in record["expected"].items():
        tolerance = record["tolerance"].get("fields", {}).get(field, record["tolerance"])
        by_name = expected if isinstance(expected, dict) else {"": expected}
        found = ours[field] if isinstance(expected, dict) else {"": ours[field]}
        way: Way = "tests" if field in kind.aside or not_for_select(record) else kind.way
        from_where: Origin = origin if field in published or origin == "simulation" else "calculation"
        for key, theirs in by_name.items():
            what = f"{field}, {key}" if key else field
            mine = np.asarray(found[key], np.float64)
            if np.ndim(theirs) and not mine.ndim:
                mine = np.full(np.shape(theirs), mine)  # several prints of one number
            assert mine.shape == np.shape(theirs), (name, what)
            values.append(Value(name, what, theirs, mine.tolist(), allowed(theirs, tolerance), from_where, way))
    for field, ends in record.get("range", {}).items():
        values.append(Value(name, f"{field}, range", list(ends), float(ours[field]), None, "printed", "exact model"))
    return tuple(values)


@cache
def of_paper() -> tuple[Value, ...]:
    """All values of the published first-order model."""
    values = []
    for row in PAPER["rows"]:
        name = f"K = {row['K']}, I = {row['I']}, R = {row['R']}"
        for what, ours in published_paper.evaluate(row["K"], row["I"], row["L"], row["R"]).items():
            tolerance = abs(row[what]) * PAPER["tolerance_rel"]
            values.append(Value(name, what, row[what], float(ours), tolerance, "calculation", "first-order model"))
    for placement, rows in ((False, PAPER["best_without_placement"]), (True, PAPER["best_with_placement"])):
        for row in rows:
            what = f"best R{'' if placement else ', no placement group'}"
            ours = published_paper.best_spares(row, placement=placement)
            values.append(Value(row["name"], what, row["R"], ours, 0.0, "calculation", "first-order model"))
    for what, ours in published_paper.printed().items():
        tolerance = PAPER["tolerance_printed"][what]
        values.append(Value("text", what, PAPER["printed"][what], ours, tolerance, "printed", "first-order model"))
    return tuple(values)


def printed_digits(name: str) -> float:
    """Half a unit of the last digit that AIReSim's record prints, and a little for the binary number."""
    tolerance: float = AIRESIM["tolerance_printed_share" if "cett" in name else "tolerance_printed_min"]
    return 1.01 * tolerance


@cache
def of_case(name: str) -> tuple[Value, ...]:
    """A case of AIReSim: its exact values, and the means of its own runs, beside a Markov chain of its rules."""
    case, found = CASES[name], airesim_chain.expected(CASES[name]["inputs"])
    assert set(found) == set(case["exact"])
    values = [
        Value(name, what, theirs, found[what], printed_digits(what) + 1e-12 * abs(theirs), "calculation", "tests")
        for what, theirs in case["exact"].items()
    ]
    for what, exact in SIMULATED.items():
        mean, error = case["sim"][what]["mean"], case["sim"][what]["ci95"] / 1.96
        tolerance = 3 * error + 1e-9 + 1e-12 * mean
        values.append(Value(name, f"{what}, its runs", mean, found[exact], tolerance, "simulation", "tests"))
    return tuple(values)


def point_name(point: Record) -> str:
    """A point of AIReSim's grid in words."""
    repair = 24 * point["repair_day"]
    return f"{point['n_active']} + {point['n_spares']}, MTBF {point['mtbf_day']:g} d, repair {repair:.0f} h"


def of_point(place: int) -> tuple[Value, ...]:
    """A point of AIReSim's grid by the exact model: long-run share of computing, time and blocked time of a job."""
    point = GRID[place]
    arguments = (
        point["n_spares"],
        point["n_active"] / (24 * point["mtbf_day"]),
        24 * point["repair_day"],
        point["recovery_min"] / 60,
    )
    job = computing_only_job(*arguments, 24 * point["job_day"])
    found = {
        "stationary_cett": float(computing_only(*arguments).computing),
        "E_T_min": 60 * float(job.total),
        "E_blocked_min": 60 * float(job.blocked),
    }
    return tuple(
        Value(
            point_name(point), what, point[what], ours, printed_digits(what) + 1e-9 * abs(point[what]), "calculation",
            "exact model",
        )
        for what, ours in found.items()
    )  # fmt: skip


def everything() -> Iterator[tuple[str, Value]]:
    """All values with the file that they are of."""
    yield from (("mlsys2026", value) for value in of_paper())
    yield from (("airesim", value) for name in CASES for value in of_case(name))
    yield from (("airesim", value) for place in range(len(GRID)) for value in of_point(place))
    for file in ("repair", "goodput", "redundancy"):
        for record in FILES[file]["records"]:
            yield from ((file, value) for value in of_record(record["id"]))
