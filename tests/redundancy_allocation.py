"""Redundancy allocation of the literature: as candidates for `select`, and by methods that share nothing with it.

A subsystem of parallel units has a candidate for each multiset of units; costs and weights add up.  Systems in series
are solved by `select`; of others it is shown that `select` refuses them, and they are solved by enumeration.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from math import exp
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from spareopt import InputError, Selected, select, undominated

Array = NDArray[np.float64]
Record = dict[str, Any]
Results = dict[str, Any]
Part = dict[str, Array]
"""Choices of some subsystems: their reliabilities, by subsystem, and their uses, by resource."""

SYSTEMS: dict[str, Callable[..., Any]] = {
    "r5(1-q1q3)(1-q2q4)+q5(1-(1-r1r2)(1-r3r4))": lambda a, b, c, d, e: (
        e * (1 - (1 - a) * (1 - c)) * (1 - (1 - b) * (1 - d)) + (1 - e) * (1 - (1 - a * b) * (1 - c * d))
    ),
    "r6(1-q1q3q4)(1-q2q5)+q6(1-(1-r1r2)(1-(1-q3q4)r5))": lambda a, b, c, d, e, f: (
        f * (1 - (1 - a) * (1 - c) * (1 - d)) * (1 - (1 - b) * (1 - e))
        + (1 - f) * (1 - (1 - a * b) * (1 - (1 - (1 - c) * (1 - d)) * e))
    ),
    "1-(1-R1R2)(1-(1-(1-R3)(1-R4))R5)": lambda a, b, c, d, e: 1 - (1 - a * b) * (1 - (1 - (1 - c) * (1 - d)) * e),
}


# Fyffe, Hines and Lee


def mixed_units(components: list[list[list[float]]], most: int, mixing: bool) -> pd.DataFrame:
    """The candidates of each subsystem: up to ``most`` units in parallel, of several types or of one."""
    rows = []
    for subsystem, types in enumerate(components):
        reliability, *uses = np.array(types).T
        for number in range(1, most + 1):
            for units in itertools.combinations_with_replacement(range(len(types)), number):
                if mixing or len(set(units)) == 1:
                    taken = list(units)
                    totals = (use[taken].sum() for use in uses)
                    rows.append((subsystem, 1 - np.prod(1 - reliability[taken]), *totals))
    uses_named = ["cost", "weight"] if len(components[0][0]) == 3 else []
    return pd.DataFrame(rows, columns=["subsystem", "reliability", *uses_named])


def fyffe(record: Record, mixing: bool) -> dict[int, Selected]:
    """The best choice under each weight cap; what dominates what is settled once for all of them."""
    inputs = record["inputs"]
    low, high = inputs["weight_caps"]
    names = {"group": "subsystem", "factor": "reliability"}
    table = mixed_units(inputs["components"], inputs["max_units"], mixing)
    table = undominated(table, {"cost": inputs["cost_cap"], "weight": high}, **names)
    return {
        cap: select(table, {"cost": inputs["cost_cap"], "weight": cap}, structure="series", gap=1e-9, **names)
        for cap in range(low, high + 1)
    }


def by_dynamic_programming(record: Record, mixing: bool) -> Array:
    """The best reliability under each weight cap, over all totals of cost and weight: no MILP and no dominance."""
    inputs = record["inputs"]
    low, high = inputs["weight_caps"]
    best = np.full((inputs["cost_cap"] + 1, high + 1), -np.inf)
    best[0, 0] = 0.0
    table = mixed_units(inputs["components"], inputs["max_units"], mixing)
    for _, rows in table.groupby("subsystem"):
        after = np.full_like(best, -np.inf)
        for (cost, weight), value in rows.groupby(["cost", "weight"])["reliability"].max().items():
            c, w = int(cost), int(weight)
            if c < best.shape[0] and w < best.shape[1]:
                here = after[c:, w:]
                np.maximum(here, best[: best.shape[0] - c, : best.shape[1] - w] + np.log(value), out=here)
        best = after
    return np.exp([best[:, : cap + 1].max() for cap in range(low, high + 1)])


def rap_mixed_series(record: Record) -> Results:
    """All 33 weight caps, mixed and not, against dynamic programming; the published ones on top."""
    found: Results = {}
    for name, mixing in (("R_mix", True), ("R_nomix", False)):
        chosen = fyffe(record, mixing)
        exact = by_dynamic_programming(record, mixing)
        for (cap, result), value in zip(chosen.items(), exact, strict=True):
            assert result.certificate.status == "proven", cap
            assert result.certificate.value == pytest.approx(value, abs=1e-9), cap
            assert result.certificate.bound >= value - 1e-15, cap
        found[name] = {str(cap): result.certificate.value for cap, result in chosen.items()}
    return found | {"R_mix_5dp": found["R_mix"]}


# Stages of equal units, with uses that are not linear in their number


def stages(inputs: Record, reliabilities: list[Array], numbers: list[range]) -> pd.DataFrame:
    """Stages of n equal units of reliability r: candidates for every n and r."""
    rows = []
    for stage, (rs, ns) in enumerate(zip(reliabilities, numbers, strict=True)):
        for n, r in itertools.product(ns, rs):
            first, cost, weight = uses(inputs, stage, n, float(r))
            rows.append((stage, n, r, 1 - (1 - r) ** n, first, cost, weight))
    return pd.DataFrame(rows, columns=["stage", "n", "r", "reliability", "first", "cost", "weight"])


def uses(inputs: Record, stage: int, n: int, r: float) -> tuple[float, float, float]:
    if "alpha" in inputs:
        price = inputs["alpha"][stage] * (-1000 / np.log(r)) ** 1.5
        return inputs["v"][stage] * n**2, price * (n + exp(n / 4)), inputs["w"][stage] * n * exp(n / 4)
    return inputs["p"][stage] * n**2, inputs["c"][stage] * (n + exp(n / 4)), inputs["w"][stage] * n * exp(n / 4)


def stage_caps(inputs: Record) -> dict[str, float]:
    return {"first": inputs["V"] if "V" in inputs else inputs["P"], "cost": inputs["C"], "weight": inputs["W"]}


def rap_series_nonlinear(record: Record) -> Results:
    """The best numbers of units by `select`, and the two best by enumeration."""
    inputs = record["inputs"]
    table = stages(inputs, [np.array([r]) for r in inputs["r"]], [range(1, 8)] * len(inputs["r"]))
    result = select(table, stage_caps(inputs), structure="series", group="stage", factor="reliability")
    assert result.certificate.status == "proven"
    value = result.certificate.value
    numbers = result.rows(table)["n"].to_list()
    (first, best), (second, next_best) = two_best(table, stage_caps(inputs))
    assert first == numbers and best == pytest.approx(value, rel=1e-12)
    return {
        "n": numbers, "R": value, "R_published": value, "second_best_n": second, "second_best_R": next_best
    }  # fmt: skip


def two_best(table: pd.DataFrame, caps: dict[str, float]) -> list[tuple[list[int], float]]:
    """The two best choices of all, each with its reliability."""
    numbers = np.array(list(itertools.product(*(rows.index for _, rows in table.groupby("stage")))))
    totals = table[list(caps)].to_numpy()[numbers].sum(axis=1)
    reliability = table["reliability"].to_numpy()[numbers].prod(axis=1)
    reliability[(totals > np.array(list(caps.values()))).any(axis=1)] = 0.0
    best = np.argsort(-reliability)[:2]
    return [(table["n"].to_numpy()[numbers[place]].tolist(), float(reliability[place])) for place in best]


def zoomed(
    inputs: Record, points: int, rounds: int, best: Callable[[pd.DataFrame], tuple[pd.DataFrame, float]]
) -> Results:
    """Continuous reliabilities by grids around the best choice so far, which stays a candidate.

    The grid narrows where the choice stands still, so that it can follow a slope as far as it goes.
    """
    low, high = inputs["r_bounds"]
    centres, numbers = [0.8] * len(inputs["w"]), [range(1, 6)] * len(inputs["w"])
    width, value, chosen = 0.2, 0.0, pd.DataFrame()
    for _ in range(rounds):
        grids = [
            np.unique(np.clip([*np.linspace(r - width, r + width, points), r], max(low, 0.5), high)) for r in centres
        ]
        chosen, found = best(stages(inputs, grids, numbers))
        width *= 0.9 if found > value * (1 + 1e-5) else 0.6
        centres, value = chosen["r"].to_list(), found
        numbers = [range(max(1, n - 1), n + 2) for n in chosen["n"]]
    return {"n": chosen["n"].to_list(), "r": chosen["r"].to_list(), "R": value}


def rrap_minlp(record: Record) -> Results:
    """Reliability and redundancy together: in series by `select` on zooming grids, else by enumeration on them."""
    inputs = record["inputs"]
    caps = stage_caps(inputs)
    if inputs["structure"] == "series":

        def series(table: pd.DataFrame) -> tuple[pd.DataFrame, float]:
            result = select(table, caps, structure="series", group="stage", factor="reliability", gap=1e-9)
            return result.rows(table), result.certificate.value

        return zoomed(inputs, 7, 22, series)
    system = SYSTEMS[inputs["structure"]]
    refused(stages(inputs, [np.linspace(0.5, 0.9, 3)] * 5, [range(1, 4)] * 5), caps, "stage", system)

    def parts(table: pd.DataFrame) -> tuple[pd.DataFrame, float]:
        table = undominated(table, caps, group="stage", factor="reliability")
        value, rows = series_parallel(table, caps)
        return table.loc[rows], value

    return zoomed(inputs, 4, 24, parts)


def series_parallel(table: pd.DataFrame, caps: dict[str, float]) -> tuple[float, list[int]]:
    """Best choice of 1-(1-R1R2)(1-(1-(1-R3)(1-R4))R5): part by part, each without what another choice beats."""
    columns = list(caps)

    def stage(number: int) -> pd.DataFrame:
        rows = table[table["stage"] == number]
        return rows[["reliability", *columns]].assign(rows=[(row,) for row in rows.index])

    def joined(
        first: pd.DataFrame, second: pd.DataFrame, value: Callable[[Any, Any], Any], last: bool = False
    ) -> pd.DataFrame:
        both = first.merge(second, how="cross", suffixes=("", "_2"))
        for column in columns:
            both[column] += both[f"{column}_2"]
        both["reliability"] = value(both["reliability"], both["reliability_2"])
        both["rows"] += both["rows_2"]
        both = both.loc[(both[columns] <= pd.Series(caps)).all(axis=1), ["reliability", *columns, "rows"]]
        both = both.reset_index(drop=True).assign(part=0)
        if last:
            return both
        return undominated(both, caps, group="part", factor="reliability").drop(columns="part")

    def parallel(a: Any, b: Any) -> Any:
        return 1 - (1 - a) * (1 - b)

    def series(a: Any, b: Any) -> Any:
        return a * b

    upper = joined(stage(0), stage(1), series)
    lower = joined(joined(stage(2), stage(3), parallel), stage(4), series)
    whole = joined(upper, lower, parallel, last=True)
    best = whole.loc[whole["reliability"].idxmax()]
    return float(best["reliability"]), sorted(best["rows"], key=lambda row: table.loc[row, "stage"])


# Networks


def refused(table: pd.DataFrame, caps: dict[str, float], group: str, system: Callable[..., Any]) -> None:
    """Assert that `select` refuses a system, scored exactly, whose subsystems are not in series."""
    with pytest.raises(InputError, match="structure: the groups are not in series"):
        select(
            table,
            caps,
            structure=lambda chosen: float(system(*chosen["reliability"])),
            group=group,
            factor="reliability",
        )


def rap_network_mixed(record: Record) -> Results:
    """A network: `select` refuses it; the best choice is found among all choices of undominated candidates."""
    inputs = record["inputs"]
    system = SYSTEMS[inputs["structure"]]
    caps = {f"use_{k}": budget for k, budget in enumerate(inputs["budgets"])}
    rows = [row for subsystem in range(len(inputs["rel"])) for row in network_units(inputs, subsystem)]
    table = pd.DataFrame(rows, columns=["subsystem", "reliability", *caps])
    refused(table, caps, "subsystem", system)
    table = undominated(table, caps, group="subsystem", factor="reliability")
    parts = [rows for _, rows in table.groupby("subsystem")]
    least = [part[list(caps)].min().to_numpy() for part in parts]
    uses, chosen = np.zeros((1, len(caps))), np.zeros((1, 0))
    for place, part in enumerate(parts):
        number = len(part)
        uses = np.repeat(uses, number, axis=0) + np.tile(part[list(caps)].to_numpy(), (len(uses), 1))
        reliability = np.tile(part["reliability"].to_numpy(), len(chosen))[:, None]
        chosen = np.hstack([np.repeat(chosen, number, axis=0), reliability])
        room = np.array(inputs["budgets"]) - sum(least[place + 1 :], np.zeros(len(caps)))
        within = (uses <= room + 1e-9).all(axis=1)
        uses, chosen = uses[within], chosen[within]
    best = float(system(*chosen.T).max())
    return {"R": best, "R_published": best}


def network_units(inputs: Record, subsystem: int) -> Iterator[tuple[float, ...]]:
    """The candidates of a subsystem that fit beside the smallest of every other one."""
    types = np.array([use[subsystem] for use in inputs["use"]])  # by resource and type
    others = [min(use[j]) for use in inputs["use"] for j in range(len(inputs["rel"])) if j != subsystem]
    room = np.array(inputs["budgets"]) - np.array(others).reshape(len(types), -1).sum(axis=1) + 1e-9
    most = (room[:, None] // types).min(axis=0).astype(int)
    for counts in itertools.product(*(range(number + 1) for number in most)):
        use = types @ np.array(counts)
        if sum(counts) and (use <= room).all():
            down = np.prod((1 - np.array(inputs["rel"][subsystem])) ** np.array(counts))
            yield (subsystem, 1 - float(down), *use)
