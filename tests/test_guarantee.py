"""Guarantees against exact rationals, enumeration and the laws they are read from."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spareopt.numerics.availability import Domain, unusable_law
from spareopt.numerics.guarantee import (
    guaranteed_blocks,
    implied_availability,
    probability_of,
    shortfall_probability,
    spares_for,
)


def binomial_law(blocks: int, unavailability: float) -> np.ndarray:
    return unusable_law(Domain("zone", 0.0, ((Domain("block", unavailability), blocks),)))


def test_small_probabilities_keep_their_digits() -> None:
    """Both tails against exact rationals, down to 1e-60: neither is taken as 1 less the other."""
    down = Fraction(1, 1000)
    terms = [comb(20, b) * down**b * (1 - down) ** (20 - b) for b in range(21)]
    law = binomial_law(20, 0.001)
    for blocks in range(21):
        short = float(sum(terms[20 - blocks + 1 :]))
        assert shortfall_probability(law, blocks) == pytest.approx(short, rel=1e-12)
        assert probability_of(law[::-1], blocks) == pytest.approx(float(sum(terms[blocks:])), rel=1e-12)


def test_a_promise_met_exactly_counts() -> None:
    """Decimal probabilities on the edge: 0.9 and 0.95 that the law just gives, and the next float above, refused."""
    assert guaranteed_blocks([0.9, 0.1], 0.9) == 1
    assert guaranteed_blocks([0.95, 0.05], 0.95) == 1
    assert guaranteed_blocks([0.9, 0.1], 0.9 + 1e-15) == 0
    assert guaranteed_blocks([0.25, 0.25, 0.25, 0.25], 0.75) == 1
    assert guaranteed_blocks([0.0, 0.0, 1.0], 0.5) == 0


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=12),
    st.floats(0.001, 0.999),
)
def test_the_most_blocks(weights: list[float], probability: float) -> None:
    """The number guaranteed has the probability, and one more has not: of any law."""
    law = np.array(weights) / sum(weights)
    blocks = guaranteed_blocks(law, probability)
    assert probability_of(law, blocks) >= probability - 1e-12
    if blocks < len(law) - 1:
        assert probability_of(law, blocks + 1) < probability + 1e-12


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 300), st.floats(0.0, 0.9), st.floats(0.01, 0.99999))
def test_the_fewest_spares(needed: int, unavailability: float, probability: float) -> None:
    """The spares keep the promise and one fewer do not, by the block law convolved, not the beta function."""
    spares = spares_for(needed, unavailability, probability)
    assert probability_of(binomial_law(needed + spares, unavailability), needed) >= probability - 1e-10
    if spares:
        assert probability_of(binomial_law(needed + spares - 1, unavailability), needed) < probability + 1e-10


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), st.data(), st.floats(0.01, 0.9999))
def test_implied_availability_is_the_inverse(blocks: int, data: st.DataObject, probability: float) -> None:
    """At the implied availability the number guaranteed has just the probability."""
    guaranteed = data.draw(st.integers(1, blocks))
    availability = implied_availability(blocks, guaranteed, probability)
    law = binomial_law(blocks, 1.0 - availability)
    assert probability_of(law, guaranteed) == pytest.approx(probability, rel=1e-9)


def test_many_spares() -> None:
    """Units that are rarely up: the mean of the spares, needed·u/(1 − u), is near what the median asks for."""
    assert spares_for(1000, 0.999, 0.5) == pytest.approx(999_000, rel=2e-3)


def test_impossible_arguments() -> None:
    """Each is refused by name."""
    for law in ([], [0.5, 0.4], [1.5, -0.5], [float("nan"), 1.0], [[1.0]]):
        with pytest.raises(ValueError, match="law"):
            guaranteed_blocks(law, 0.9)
    for probability in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="promised"):
            guaranteed_blocks([1.0], probability)
        with pytest.raises(ValueError, match="promised"):
            spares_for(1, 0.1, probability)
        with pytest.raises(ValueError, match="promised"):
            implied_availability(2, 1, probability)
    for blocks in (-1, 2):
        with pytest.raises(ValueError, match="number of blocks"):
            probability_of([0.5, 0.5], blocks)
    for guaranteed in (0, 3):
        with pytest.raises(ValueError, match="guaranteed"):
            implied_availability(2, guaranteed, 0.9)
    with pytest.raises(ValueError, match="needed"):
        spares_for(0, 0.1, 0.9)
    for unavailability in (-0.1, 1.0, float("nan")):
        with pytest.raises(ValueError, match="unavailability"):
            spares_for(1, unavailability, 0.9)
    with pytest.raises(ValueError, match="more than 2"):
        spares_for(1, 1.0 - 1e-14, 0.99)
