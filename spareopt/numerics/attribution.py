"""Split the change of a number among its causes: what each adds, on average over orders in which they may happen.

A *set of causes* is a bit mask: bit i says that cause i has happened.  For any one order the steps from the empty set
to the full one telescope: they sum to the whole change.  So does their mean over several orders; over all orders it is
the Shapley value (Shapley 1953), which treats causes alike that act alike.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Order = tuple[int, ...]
MOST_SHAPLEY = 4
"""Causes up to which all orders are asked for: 16 values; 5 would need 32."""


def orders_of(causes: int) -> list[Order]:
    """All orders of so many causes, up to MOST_SHAPLEY of them; else one order and its reverse."""
    if causes <= MOST_SHAPLEY:
        return list(itertools.permutations(range(causes)))
    forward = tuple(range(causes))
    return [forward, forward[::-1]]


def masks_along(order: Order) -> list[int]:
    """The sets of causes that an order passes, the empty and the full one included."""
    return list(itertools.accumulate((1 << cause for cause in order), initial=0))


def masks_of(orders: Sequence[Order]) -> list[int]:
    """The sets of causes that any of the orders passes: the empty and the full one first, then by size."""
    found = {mask for order in orders for mask in masks_along(order)}
    full = max(found)
    return sorted(found, key=lambda mask: (mask not in (0, full), mask.bit_count(), mask))


def usable_orders(orders: Sequence[Order], known: set[int]) -> list[Order]:
    """The orders all of whose sets of causes are known."""
    return [order for order in orders if known.issuperset(masks_along(order))]


def weights(orders: Sequence[Order], causes: int) -> NDArray[np.int64]:
    """How often the value of each set (column) counts for each cause (row), negative: against it, over all orders.

    What a cause adds is this row times the values, over the number of orders.  The rows sum to the number of orders at
    the full set, minus that at the empty one, and zero elsewhere.
    """
    result = np.zeros((causes, 1 << causes), dtype=np.int64)
    for order in orders:
        for cause, (without, with_it) in zip(order, itertools.pairwise(masks_along(order)), strict=True):
            result[cause, with_it] += 1
            result[cause, without] -= 1
    return result


def shares_of_change(counts: NDArray[np.int64], orders: int, values: NDArray[Any]) -> NDArray[np.float64]:
    """What each cause adds, of the values by set of causes; those that no order passes may be NaN."""
    used = counts.any(axis=0)
    return np.asarray(counts[:, used] @ values[used] / orders, dtype=np.float64)


def spread_of_change(
    counts: NDArray[np.int64], orders: int, more: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """By how much less and more each cause may add, where each value may be higher by up to ``more``."""
    used = counts.any(axis=0)
    for_it, against = np.maximum(counts[:, used], 0), np.maximum(-counts[:, used], 0)
    return np.asarray(against @ more[used] / orders), np.asarray(for_it @ more[used] / orders)


def partitions(causes: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All ways to put so many causes into groups, those of the most groups first."""

    def grown(cause: int) -> Iterator[list[list[int]]]:
        if cause == 0:
            yield []
            return
        for groups in grown(cause - 1):
            for place in range(len(groups)):
                yield [[*group, cause - 1] if i == place else group for i, group in enumerate(groups)]
            yield [*groups, [cause - 1]]

    found = [tuple(tuple(group) for group in groups) for groups in grown(causes)]
    yield from sorted(found, key=lambda groups: (-len(groups), groups))


def mask_of(groups: Sequence[Sequence[int]], which: int) -> int:
    """The set of causes of a set of groups (bit mask ``which``)."""
    return sum(1 << cause for i, group in enumerate(groups) if which >> i & 1 for cause in group)


def separable(causes: int, known: set[int]) -> tuple[tuple[int, ...], ...]:
    """The finest groups of causes for which some order of the groups passes known sets only.

    Of several as fine ones those with the most such orders.  The empty and the full set must be known, so that all
    causes in one group always do.
    """
    best: tuple[tuple[int, ...], ...] = ()
    most = 0
    for groups in partitions(causes):
        if best and len(groups) < len(best):
            break
        inside = {which for which in range(1 << len(groups)) if mask_of(groups, which) in known}
        number = len(usable_orders(list(itertools.permutations(range(len(groups)))), inside))
        if number > most:
            best, most = groups, number
    return best
