"""Faults that come together: brute force on small records, and the number that chance makes by drawing it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spareopt.numerics.coincidences import chance_clusters, clusters, pairs_within

records = st.lists(st.tuples(st.integers(0, 40), st.integers(-1, 3), st.integers(0, 5)), max_size=25)


def arrays(rows: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 3)
    return table[:, 0].astype(float), table[:, 1], table[:, 2]


@given(records, st.integers(0, 6))
def test_clusters_by_brute_force(rows: list[tuple[int, int, int]], window: int) -> None:
    """Proves the rule by a plain loop: within the window from its first fault, one group, two units at least."""
    start, group, unit = arrays(rows)
    expected: set[frozenset[int]] = set()
    for rack in set(group.tolist()) - {-1}:
        left = sorted(np.flatnonzero(group == rack).tolist(), key=lambda i: start[i])
        while left:
            members = [i for i in left if start[i] <= start[left[0]] + window]
            if len({unit[i] for i in members}) > 1:
                expected.add(frozenset(members))
            left = left[len(members) :]
    found = clusters(start, group, unit, float(window))
    assert {frozenset(np.flatnonzero(found == c).tolist()) for c in set(found.tolist()) - {-1}} == expected


@given(records, st.integers(0, 6))
def test_pairs_by_brute_force(rows: list[tuple[int, int, int]], window: int) -> None:
    """Proves the numbers of pairs by looking at each pair."""
    start, group, unit = arrays(rows)
    pairs = list(itertools.combinations(range(len(rows)), 2))
    near = [(i, j) for i, j in pairs if abs(start[i] - start[j]) <= window]
    assert pairs_within(start, float(window)) == len(near)
    assert pairs_within(start, float(window), group) == sum(group[i] == group[j] for i, j in near)
    assert pairs_within(start, np.inf, group, unit) == sum(
        group[i] == group[j] and unit[i] == unit[j] for i, j in pairs
    )


@pytest.mark.parametrize("shared", [False, True])
def test_the_number_expected_is_what_chance_makes(shared: bool) -> None:
    """Proves the expectation: over 200 records without bursts as many pairs are found as expected, within 15 %.

    ``shared``: faults of all racks crowd into a tenth of the time, as working hours do; an even spread in time would
    expect a tenth of the pairs.
    """
    rng = np.random.default_rng(1)
    found = expected = 0.0
    for _ in range(200):
        number = 400
        start = rng.uniform(0.0, 1000.0, number)
        if shared:
            start = np.floor(start / 10.0) * 10.0 + (start % 10.0) / 10.0
        group = rng.integers(0, 20, number)
        unit = group * 100 + rng.integers(0, 10, number)
        cluster = clusters(start, group, unit, 0.5)
        chance = chance_clusters(start, group, group, unit, 0.5, cluster)
        found += chance.found[0]
        expected += chance.expected[0]
    assert found == pytest.approx(expected, rel=0.15) and found > 100


def test_bursts_stand_out() -> None:
    """Proves that bursts are far beyond chance: ten of six trays each among 300 single faults."""
    rng = np.random.default_rng(2)
    start, group = rng.uniform(0.0, 8766.0, 300), rng.integers(0, 20, 300)
    unit = group * 100 + rng.integers(0, 18, 300)
    for number in range(10):
        start = np.append(start, np.full(6, 800.0 * number + 5.0))
        group = np.append(group, np.full(6, number))
        unit = np.append(unit, number * 100 + np.arange(6))
    chance = chance_clusters(start, group, group, unit, 1 / 6, clusters(start, group, unit, 1 / 6))
    at = {int(s): (int(f), float(e)) for s, f, e in zip(chance.sizes, chance.found, chance.expected, strict=True)}
    assert at[6][0] == 10 and at[6][1] < 1e-6 and at[3][1] < 0.01
