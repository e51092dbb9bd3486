"""A first choice for a selection: by one price for all caps, then by single moves into the caps, then uphill."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spareopt.selection_table import Array, SelectionTable

Rows = NDArray[np.int64]

MOST_MOVES = 2000
PRICES = (0.0, *np.geomspace(1e-6, 1e3, 37).tolist())  # of a use equal to a limit, in units of the log-value
ROUNDING = 1e-12  # of a limit
MOST_PAIRED = 500  # moves of which all pairs are tried in a few milliseconds


@dataclass(frozen=True)
class _Limits:
    """``use @ counts <= most``, a row for each side of each cap, with limits near one."""

    use: Array
    most: Array

    def excess(self, totals: Array) -> Array:
        """How much totals (a column each) exceed the limits, all limits added."""
        return np.asarray(np.maximum(totals - self.most[:, None] - ROUNDING, 0.0).sum(axis=0))


def first_choice(table: SelectionTable, rows: Rows) -> dict[int, int] | None:
    """The counts by row of a choice among some rows of a table within the caps; None where the moves lead to none.

    The start is the best choice where use of the limits has a price, a little too low for it to keep them: moves into
    the caps from there end higher than moves up from within.  A move gives one member another candidate.  While a cap
    is broken the move is made that mends most for what it loses; afterwards the one that gains most, or the pair of
    moves where no single one gains.
    """
    limits = _limits(table, rows)
    group, value = table.group[rows], table.log_value[rows]
    groups = [np.flatnonzero(group == z) for z in range(len(table.members))]
    counts = _start(limits, value, groups, table.members)
    totals = limits.use @ counts
    for _ in range(MOST_MOVES):
        giver, taker = _moves(group, groups, counts)
        gain, change = value[taker] - value[giver], limits.use[:, taker] - limits.use[:, giver]
        excess = float(limits.excess(totals[:, None])[0])
        after = limits.excess(totals[:, None] + change)
        if excess > 0.0:
            mended = excess - after
            if not (mended > ROUNDING).any():
                return None
            made = [int(np.argmax(np.where(mended > ROUNDING, mended / np.maximum(-gain, ROUNDING), -np.inf)))]
        else:
            gains = np.where(after == 0.0, gain, -np.inf)
            made = [int(np.argmax(gains))] if gains.max(initial=0.0) > ROUNDING else []
            made = made or _pair(limits, totals, change, gain, group[giver])
        if not made:
            break
        for move in made:
            counts[giver[move]] -= 1
            counts[taker[move]] += 1
        totals = limits.use @ counts
    within = limits.excess(totals[:, None])[0] == 0.0
    return {int(rows[i]): int(counts[i]) for i in np.flatnonzero(counts)} if within else None


def _limits(table: SelectionTable, rows: Rows) -> _Limits:
    use, most = [], []
    for cap in table.caps:
        for sign, bound in ((1.0, cap.high), (-1.0, cap.low)):
            if bound is not None:
                size = abs(bound) or float(np.abs(cap.numbers).max()) or 1.0
                use.append(sign * cap.numbers[rows] / size)
                most.append(sign * bound / size)
    return _Limits(np.array(use).reshape(-1, len(rows)), np.array(most))


def _start(limits: _Limits, value: Array, groups: list[Rows], members: tuple[int, ...]) -> NDArray[np.int64]:
    use = limits.use.sum(axis=0)
    best, least = np.zeros(len(value), dtype=np.int64), np.inf
    for price in PRICES:
        counts = np.zeros(len(value), dtype=np.int64)
        worth = value - price * use
        for own, number in zip(groups, members, strict=True):
            counts[own[np.argmax(worth[own])]] = number
        excess = float(limits.excess((limits.use @ counts)[:, None])[0])
        if excess == 0.0:
            return counts if price == 0.0 else best
        if excess < least:
            best, least = counts, excess
    return best


def _moves(group: Rows, groups: list[Rows], counts: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """All moves: the candidate that loses a member, and another one of its group that gets it."""
    givers = np.flatnonzero(counts)
    takers = [groups[z] for z in group[givers]]
    giver, taker = np.repeat(givers, [len(own) for own in takers]), np.concatenate(takers)
    moved = giver != taker
    return giver[moved], taker[moved]


def _pair(limits: _Limits, totals: Array, change: Array, gain: Array, group: Rows) -> list[int]:
    """The two moves, in different groups, that together gain most within the limits; none where nothing is gained."""
    if not 2 <= len(gain) <= MOST_PAIRED:
        return []
    both = gain[:, None] + gain
    allowed = (both > ROUNDING) & (group[:, None] != group)
    for row, total, most in zip(change, totals, limits.most, strict=True):
        allowed &= row[:, None] + row <= most - total + ROUNDING
    best = np.argmax(np.where(allowed, both, -np.inf))
    return [int(i) for i in np.unravel_index(best, both.shape)] if allowed.flat[best] else []
