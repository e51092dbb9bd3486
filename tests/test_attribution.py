"""The split of a change among causes, against its axioms, the factorial formula, and the corners of what is unsure."""

from __future__ import annotations

import itertools
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spareopt.numerics.attribution import (
    MOST_SHAPLEY,
    mask_of,
    masks_along,
    masks_of,
    orders_of,
    partitions,
    separable,
    shares_of_change,
    spread_of_change,
    usable_orders,
    weights,
)

games = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.integers(-(10**9), 10**9), min_size=1 << n, max_size=1 << n).map(lambda v: (n, v))
)


@given(games)
def test_shares_are_the_factorial_formula_and_sum_to_the_change(game: tuple[int, list[int]]) -> None:
    """Proves that the mean over all orders is Shapley's sum over sets, and that it leaves nothing of the change."""
    n, v = game
    orders = orders_of(n)
    shares = shares_of_change(weights(orders, n), len(orders), np.array(v, dtype=float))
    for i in range(n):
        expected = sum(
            factorial(s.bit_count()) * factorial(n - s.bit_count() - 1) / factorial(n) * (v[s | 1 << i] - v[s])
            for s in range(1 << n)
            if not s >> i & 1
        )
        assert shares[i] == pytest.approx(expected, rel=1e-12, abs=1e-6)
    assert shares.sum() == pytest.approx(v[-1] - v[0], rel=1e-12, abs=1e-6)


def test_a_product_of_two_is_split_by_hand() -> None:
    """Proves the split of v = a·b, 1 to 3 and 1 to 5: 2 or 10 by order for a, 12 or 4 for b."""
    counts = weights(orders_of(2), 2)
    assert shares_of_change(counts, 2, np.array([1.0, 3.0, 5.0, 15.0])).tolist() == [6.0, 8.0]


@given(games)
def test_causes_that_act_alike_get_the_same_and_those_that_do_nothing_get_nothing(game: tuple[int, list[int]]) -> None:
    """Proves symmetry (values by the number of causes alone) and the null player (a cause that no value depends on)."""
    n, v = game
    orders = orders_of(n)
    alike = np.array([float(v[mask.bit_count()]) for mask in range(1 << n)])
    shares = shares_of_change(weights(orders, n), len(orders), alike)
    assert np.ptp(shares) <= 1e-6
    null = np.array([float(v[mask & ~1]) for mask in range(1 << n)])
    assert abs(shares_of_change(weights(orders, n), len(orders), null)[0]) <= 1e-6


@given(st.integers(1, 8))
def test_any_orders_telescope(n: int) -> None:
    """Proves that the counts of each set cancel between causes, whatever the orders, and leave no rounding."""
    orders = orders_of(n)
    total = weights(orders, n).sum(axis=0)
    assert total[0] == -len(orders) and total[-1] == len(orders) and not total[1:-1].any()
    assert len(orders) == (factorial(n) if n <= MOST_SHAPLEY else 2)
    masks = masks_of(orders)
    assert masks[:2] == [0, (1 << n) - 1] and len(masks) == (1 << n if n <= MOST_SHAPLEY else 2 * n)


@given(games, st.data())
def test_the_spread_is_reached_at_corners_and_never_left(game: tuple[int, list[int]], data: st.DataObject) -> None:
    """Proves that with values up to so much higher each share stays within its ends, and reaches both."""
    n, v = game
    more = data.draw(st.lists(st.integers(0, 1000), min_size=1 << n, max_size=1 << n))
    orders, values, slack = orders_of(n), np.array(v, dtype=float), np.array(more, dtype=float)
    counts = weights(orders, n)
    shares = shares_of_change(counts, len(orders), values)
    less, most = spread_of_change(counts, len(orders), slack)
    for i in range(n):
        low = shares_of_change(counts, len(orders), values + slack * (counts[i] < 0))[i]
        high = shares_of_change(counts, len(orders), values + slack * (counts[i] > 0))[i]
        assert low == pytest.approx(shares[i] - less[i], rel=1e-12, abs=1e-5)
        assert high == pytest.approx(shares[i] + most[i], rel=1e-12, abs=1e-5)
    corner = np.array([data.draw(st.sampled_from([0.0, 0.5, 1.0])) for _ in more])
    moved = shares_of_change(counts, len(orders), values + slack * corner)
    assert (moved >= shares - less - 1e-5).all() and (moved <= shares + most + 1e-5).all()


def test_all_partitions_are_there_from_the_finest_on() -> None:
    """Proves that there are as many ways as the Bell numbers say, each once, with every cause in one group."""
    for n, bell in ((1, 1), (2, 2), (3, 5), (4, 15)):
        found = list(partitions(n))
        assert len(found) == len(set(found)) == bell
        assert [len(groups) for groups in found] == sorted((len(groups) for groups in found), reverse=True)
        assert all(sorted(itertools.chain(*groups)) == list(range(n)) for groups in found)


@given(st.integers(1, 4), st.data())
def test_groups_are_as_fine_as_what_is_known_allows(n: int, data: st.DataObject) -> None:
    """Proves that the groups have an order through known sets only, and that no finer groups have one."""
    full = (1 << n) - 1
    known = {0, full} | set(data.draw(st.lists(st.integers(0, full))))

    def has_order(groups: tuple[tuple[int, ...], ...]) -> bool:
        inside = {which for which in range(1 << len(groups)) if mask_of(groups, which) in known}
        return bool(usable_orders(list(itertools.permutations(range(len(groups)))), inside))

    groups = separable(n, known)
    assert has_order(groups)
    assert not any(has_order(other) for other in partitions(n) if len(other) > len(groups))


def test_an_order_passes_growing_sets() -> None:
    """Proves the sets that an order passes, by hand."""
    assert masks_along((1, 0, 2)) == [0, 2, 3, 7]
