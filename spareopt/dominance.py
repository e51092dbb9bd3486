"""Which candidates can be left out because another one is at least as good in every plan that could use them.

Within a zone class, candidate c dominates d when it can replace d in any plan without making it worse.  The parts
that zones add up (capital, power) are compared directly.  The logarithm of goodput is not additive in working GPUs
and interruption rate, but with the other zones held at N and Λ, the gain of replacing d by c,

    ln((N + N_c)/(N + N_d)) + ln η(Λ + λ_c) − ln η(Λ + λ_d) + ln A_c − ln A_d,

is a monotone function of N plus one of Λ (ln η is convex or concave in Λ), so it is smallest at a corner of the
box of all N and Λ the other zones can have: comparing the four corners is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.candidates import Candidates, energy_cost_per_kw_year
from spareopt.levels import shares_repair
from spareopt.numerics.recovery import Curvature, RecoveryScheme
from spareopt.units import HOURS_PER_YEAR

Array = NDArray[np.float64]
Going = Callable[[float], bool]
CHECK_EVERY = 32  # kept rows
SAMPLE = 8  # rows that tell how selective a column is
COMPACT_AT = 0.25  # share of discarded rows at which the arrays are made smaller


def prune(
    candidates: Candidates,
    schemes: Iterable[RecoveryScheme],
    going: Going | None = None,
    goodput: bool = True,
) -> pd.Series:
    """For each candidate (by row), the row of a kept one that dominates it, or −1 where it is kept itself.

    ``going`` is as in ``pareto``.  Without ``goodput`` only what the limits are on is compared: a
    dominating candidate may do less work.
    """
    return prune_together([candidates], [list(schemes)], going, goodput)


def prune_together(
    versions: Sequence[Candidates],
    schemes: Sequence[list[RecoveryScheme]],
    going: Going | None = None,
    goodput: bool = True,
) -> pd.Series:
    """As ``prune``, for candidates that several versions of an instance score in tables with the same rows.

    A candidate that dominates another in every version can replace it in any plan without making it worse in any.
    """
    table = versions[0].table
    dominated_by = pd.Series(-1, index=table.index)
    for z, rows in table.groupby("zone", sort=True):
        keys = [
            _comparison_keys(candidates, int(z), candidates.table.loc[rows.index], own if goodput else None)
            for candidates, own in zip(versions, schemes, strict=True)
        ]
        winner = pareto(np.concatenate(keys, axis=1), going)
        dominated_by.loc[rows.index] = np.where(winner < 0, -1, rows.index.to_numpy()[winner])
    return dominated_by


def pareto(keys: Array, going: Going | None = None) -> NDArray[np.int64]:
    """For each row of ``keys`` (larger is better in every column) a row that is nowhere worse, or −1 if none is.

    Of equal rows the first is kept.  Rows named as dominating are themselves kept.  Rows are taken in order of merit,
    so that each one taken is kept for good and discards, among those left, all that it dominates.  ``going`` is told
    now and then the share that is done; where it returns False the rest is kept as it is, which is sound.
    """
    columns = _distinct(keys)
    dominated_by = np.full(len(keys), -1, dtype=np.int64)
    alive = np.argsort(-_merit(columns, len(keys)), kind="stable")
    left = _selective_first([_ranks(column[alive]) for column in columns])
    kept = 0
    here = 0  # rows before this place are kept; rows of ``alive`` that are marked are gone
    gone = np.zeros(len(alive), dtype=bool)
    while here < len(alive):
        if gone[here]:
            here += 1
            continue
        kept += 1
        if going is not None and kept % CHECK_EVERY == 0 and not going(1.0 - (~gone[here:]).sum() / len(keys)):
            break
        first = ~gone[here + 1 :]
        for column in left[:2]:  # whole columns, in the order of memory, as long as many rows are left
            first &= column[here + 1 :] <= column[here]
        worse = np.flatnonzero(first) + here + 1
        for column in left[2:]:
            worse = worse[column[worse] <= column[here]]
            if not worse.size:
                break
        dominated_by[alive[worse]] = alive[here]
        gone[worse] = True
        here += 1
        if kept % CHECK_EVERY == 0 and here < len(alive) and gone[here:].mean() > COMPACT_AT:
            stay = ~gone[here:]
            alive, left = alive[here:][stay], _selective_first([column[here:][stay] for column in left])
            here, gone = 0, np.zeros(len(alive), dtype=bool)
    return dominated_by


def _ranks(column: Array) -> NDArray[np.int32]:
    """The places of values in their order, which compare as they do but take half the memory."""
    return np.unique(column, return_inverse=True)[1].astype(np.int32)


def _selective_first(columns: list[NDArray[np.int32]]) -> list[NDArray[np.int32]]:
    """Columns of rows in order of merit; first those in which the fewest are no better than the next to be taken."""
    if not columns or not len(columns[0]):
        return columns
    return sorted(columns, key=lambda column: float(np.mean([(column <= value).mean() for value in column[:SAMPLE]])))


def _distinct(keys: Array) -> list[Array]:
    """The columns that differ between rows, each once."""
    columns: dict[bytes, Array] = {}
    for column in keys.T:
        if column.min() < column.max():
            columns.setdefault((column + 0.0).tobytes(), column)  # + 0.0: minus zero has other bytes
    return list(columns.values())


def _merit(columns: list[Array], rows: int) -> Array:
    """The sum of the columns, each scaled to its finite range: no row has more merit than one that dominates it."""
    merit = np.zeros(rows)
    for column in columns:
        finite = column[np.isfinite(column)]
        low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
        merit += (np.maximum(column, low - (high - low)) - low) / ((high - low) or 1.0)
    return merit


def _comparison_keys(candidates: Candidates, z: int, rows: pd.DataFrame, schemes: list[RecoveryScheme] | None) -> Array:
    """What must be no worse for a candidate of zone class ``z`` to dominate another; larger is better.

    Without schemes goodput is not compared.
    """
    instance, table = candidates.instance, candidates.table
    limits, kind = instance.limits, instance.objective.kind
    alone = sum(zone.count for zone in instance.zones) == 1
    log_up = _log_states(candidates, rows)
    working = rows["working_gpus"].to_numpy(dtype=float)
    placed = rows["placed_gpus"].to_numpy(dtype=float)
    rate = rows["rate_per_h"].to_numpy()
    scale = rows["log_scale"].to_numpy()

    worth = -rows["planned_stops"].to_numpy() + (scale if alone else 0.0)
    keys = [np.zeros(len(rows))]
    if schemes is not None:
        keys = _value_keys(candidates, z, [up + worth for up in log_up], placed, rate, schemes)
    if shares_repair(instance):  # what a candidate does to the others by its failed units is not compared
        columns = ["design", "racks", "intra_block_spares", "inter_block_spares"]
        alike = rows.groupby(columns, sort=True).ngroup().to_numpy(dtype=float)
        keys += [alike, -alike]
    if not alone and schemes is not None:
        keys.append(scale)
    if limits.working_gpus.minimum is not None or limits.working_gpus.maximum is not None:
        keys.append(working)
    if limits.working_gpus.maximum is not None:
        keys.append(-working)
    if limits.availability is not None:
        keys += log_up
    for name, bound in (("crews", limits.crews), ("shelf_trays", limits.shelf_trays)):
        if bound is not None:
            keys.append(-np.nan_to_num(rows[name].to_numpy(dtype=float)))
    if limits.it_power is not None or limits.site_power is not None:
        keys.append(-rows["it_power_kw"].to_numpy())
    if limits.floor is not None:
        keys.append(-rows["racks"].to_numpy(dtype=float))
    if limits.capital is not None:
        keys.append(-rows["capital"].to_numpy())
    spread_capital = rows["capital"].to_numpy() / (instance.economics.amortisation / HOURS_PER_YEAR)
    for fixed, matters in ((0.0, limits.yearly_cost is not None), (spread_capital, kind != "goodput")):
        if matters:
            costs = [cost for up in log_up for cost in _yearly_costs(candidates, table, z, rows, up)]
            keys += [-(fixed + yearly) for yearly in costs]
    return np.stack([np.broadcast_to(key, len(rows)) for key in keys], axis=1)


def _log_states(candidates: Candidates, rows: pd.DataFrame) -> list[Array]:
    """ln of P(the zone is not short) of each candidate, for each state of the environment."""
    if candidates.site.shrinks:
        return [np.zeros(len(rows))]
    with np.errstate(divide="ignore"):
        return list(np.log1p(-candidates.short[rows.index.to_numpy()]).T)


def _value_keys(
    candidates: Candidates, z: int, worth: list[Array], placed: Array, rate: Array, schemes: list[RecoveryScheme]
) -> list[Array]:
    """Log goodput at the corners of what the other zones can have, for each recovery scheme and each state.

    A candidate that is no worse in every state is no worse in their mixture, whatever the other zones' states weigh.
    """
    environment = candidates.site.environment
    others_n = _others(candidates, z, "placed_gpus")
    others_rate = [low + environment.rate for low in _others(candidates, z, "rate_per_h")]
    with np.errstate(divide="ignore"):
        sizes = [np.log(n + placed) for n in others_n]
    rates, place = np.unique(rate, return_inverse=True)  # a rate recurs with every GPU limit
    keys = []
    for scheme in schemes:
        # where the gain is not monotone in Λ the rates themselves are compared; with uncertain rates that is one key
        # instead of four for each multiplier
        if scheme.curvature is Curvature.MIXED or environment.mixed:
            keys += [-rate, *(up + size for up in worth for size in sizes)]
            continue
        efficiency = [scheme.log_eta(r + rates)[place] for r in others_rate]
        keys += [up + size + eta for up in worth for size in sizes for eta in efficiency]
    return keys


def _others(candidates: Candidates, z: int, column: str) -> list[float]:
    """Least and greatest total of a column over all zones but one of class ``z``."""
    extremes = candidates.table.groupby("zone")[column].agg(["min", "max"])
    counts = np.array([zone.count for zone in candidates.instance.zones], dtype=float)[extremes.index]
    counts[extremes.index == z] -= 1
    return [float((counts * extremes[name]).sum()) for name in ("min", "max")]


def _yearly_costs(
    candidates: Candidates, table: pd.DataFrame, z: int, rows: pd.DataFrame, log_up: Array
) -> list[Array]:
    """Yearly cost at the extremes of what the other zones can do to it.

    Energy is price × (blocked draw + A × (working − blocked draw)) with A a product over zones: for one candidate
    it is linear in the others' A (from 0 to 1) and in their difference of draws, so the corners are enough.
    """
    fixed = rows["plan_cost_per_year"].to_numpy()
    price = energy_cost_per_kw_year(candidates.instance)
    if price == 0:
        return [fixed]
    blocked = rows["blocked_power_kw"].to_numpy()
    drawn = (table["it_power_kw"] - table["blocked_power_kw"]) * table["placed_gpus"] / table["working_gpus"]
    extra = drawn.loc[rows.index].to_numpy()
    both = candidates.table.assign(extra=drawn)
    others = _others(replace(candidates, table=both), z, "extra")
    return [fixed + price * blocked] + [
        fixed + price * (blocked + np.exp(log_up) * (extra + other)) for other in others
    ]
