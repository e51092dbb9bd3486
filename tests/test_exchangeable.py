"""P(short) given the failed numbers against enumeration of all failed sets, exact rationals and full-state chains."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from spareopt.availability import Domain, block_unavailability, shortfall_tails, unusable_law, zone_shortfall
from spareopt.crews import Pool, crew_law
from spareopt.exchangeable import zone_shortfall_given_law, zones_shortfall_given_law
from tests.test_crews import Unit, full_chain

Array = NDArray[np.float64]


@cache
def enumerated(blocks: int, per_rack: int, trays: int, intra: int, racks: bool) -> dict[tuple[int, int, int], Fraction]:
    """P(b blocks unusable | f failed trays, r failed racks) by (f, r, b): all failed sets, counted one by one."""
    units, number_racks = blocks * trays, blocks // per_rack if racks else 0
    counts: dict[tuple[int, int, int], int] = {}
    for trays_down in range(2**units):
        bad_by_trays = [(trays_down >> (k * trays) & (2**trays - 1)).bit_count() > intra for k in range(blocks)]
        for racks_down in range(2**number_racks):
            bad = sum(bad_by_trays[k] or bool(racks_down >> (k // per_rack) & 1) for k in range(blocks))
            place = (trays_down.bit_count(), racks_down.bit_count(), bad)
            counts[place] = counts.get(place, 0) + 1
    return {(f, r, b): Fraction(count, comb(units, f) * comb(number_racks, r)) for (f, r, b), count in counts.items()}


def falling(shape: tuple[int, ...], ratio: float) -> Array:
    """A law that falls by ``ratio`` with each failed unit, so that its far entries are tiny."""
    law = ratio ** np.indices(shape).sum(axis=0).astype(np.float64)
    return np.asarray(law / law.sum())


@pytest.mark.parametrize("ratio", [2.0, 0.5, 1e-3, 1e-6])
@pytest.mark.parametrize("intra", [0, 1, 2, 3])
@pytest.mark.parametrize(("blocks", "per_rack", "racks"), [(4, 1, False), (4, 2, True), (3, 3, True), (4, 1, True)])
def test_all_failed_sets(blocks: int, per_rack: int, racks: bool, intra: int, ratio: float) -> None:
    """Every failed set of a small zone, with one or several blocks per rack, counted: to 1e-11 of values down to 1e-40.

    If a block were charged for trays of another rack, or the tail taken as 1 − head, the small values would be wrong.
    """
    given_numbers = enumerated(blocks, per_rack, 3, intra, racks)
    shape = (blocks * 3 + 1, blocks // per_rack + 1) if racks else (blocks * 3 + 1,)
    law = falling(shape, ratio)
    exact = [Fraction(0)] * (blocks + 2)
    for (f, r, b), share in given_numbers.items():
        exact[b] += share * Fraction(law[(f, r)[: law.ndim]])
    spares = np.arange(blocks + 2)
    expected = [float(sum(exact[R + 1 :])) for R in spares]
    np.testing.assert_allclose(zone_shortfall_given_law(blocks, per_rack, 3, intra, law, spares), expected, rtol=1e-11)


@pytest.mark.parametrize("ratio", [2.0, 0.5, 1e-6])
@pytest.mark.parametrize(("zones", "blocks", "trays"), [(2, 2, 3), (3, 2, 2), (5, 1, 2), (1, 4, 3), (7, 1, 2)])
@pytest.mark.parametrize("intra", [0, 1])
def test_all_failed_sets_of_several_zones(zones: int, blocks: int, trays: int, intra: int, ratio: float) -> None:
    """Zones that share one pool: any of them short, over every failed set.

    A product of the zones' own probabilities (they are dependent) or a slip in the doubling would not agree.
    """
    units = zones * blocks * trays
    short = np.zeros((units + 1, blocks + 1))
    for down in range(2**units):
        bad = [
            sum((down >> ((zone * blocks + k) * trays) & (2**trays - 1)).bit_count() > intra for k in range(blocks))
            for zone in range(zones)
        ]
        short[down.bit_count(), : max(bad)] += 1
    law = falling((units + 1,), ratio)
    share = law / np.array([comb(units, f) for f in range(units + 1)])
    result = zones_shortfall_given_law(blocks, trays, intra, zones, law, np.arange(blocks + 1))
    np.testing.assert_allclose(result, share @ short, rtol=1e-11)


def exact_shortfall(blocks: int, trays: int, intra: int, zones: int = 1) -> Callable[[int], list[Fraction]]:
    """For R: P(any zone short | f) for all f, from integer polynomials in the number of failed trays."""

    def times(a: list[int], b: list[int]) -> list[int]:
        out = [0] * (len(a) + len(b) - 1)
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                out[i + j] += x * y
        return out

    good = [comb(trays, j) if j <= intra else 0 for j in range(trays + 1)]
    bad = [comb(trays, j) if j > intra else 0 for j in range(trays + 1)]
    by_number = [[1]]
    for _ in range(blocks):
        plus = [times(p, bad) for p in by_number]
        same = [times(p, good) for p in by_number]
        zero = [0] * len(same[0])
        by_number = [
            [x + y for x, y in zip(a, b, strict=True)] for a, b in zip([*same, zero], [zero, *plus], strict=True)
        ]

    def given_failed(spares: int) -> list[Fraction]:
        fine = [sum(column) for column in zip(*by_number[: spares + 1], strict=True)]
        all_fine = [1]
        for _ in range(zones):
            all_fine = times(all_fine, fine)
        units = zones * blocks * trays
        return [1 - Fraction(all_fine[f], comb(units, f)) for f in range(units + 1)]

    return given_failed


@pytest.mark.parametrize("intra", [0, 1, 9])
def test_exact_rationals_of_a_zone(intra: int) -> None:
    """P(short | f) for every f from 0 to all 144 trays, in exact rationals: 1e-11 of values down to 1e-13.

    Both sides of the mirror (few failed, few up), saturation included; NaN or lost digits there would show.
    """
    exact = exact_shortfall(8, 18, intra)
    table = np.array([[float(value) for value in exact(R)] for R in range(9)])
    smallest = 1.0
    for f in range(145):
        result = zone_shortfall_given_law(8, 1, 18, intra, np.eye(145)[f], np.arange(9))
        np.testing.assert_allclose(result, table[:, f], rtol=1e-11, err_msg=f"{f} failed")
        smallest = min([smallest, *result[result > 0]])
    assert intra < 9 or smallest < 1e-13


@pytest.mark.parametrize("zones", [1, 2])
@pytest.mark.parametrize("kind", ["uniform", "two peaks", "steep"])
def test_wide_laws_need_several_tilts(kind: str, zones: int) -> None:
    """A law over all of 0..800 failed trays is beyond one tilt: results stay exact and never NaN.

    One tilt for the whole range would underflow at one end.
    """
    blocks, trays, intra = 4, 200 // zones, 60 // zones
    units = zones * blocks * trays
    law = {
        "uniform": np.full(units + 1, 1.0),
        "two peaks": binom.pmf(np.arange(units + 1), units, 0.02) + 1e-9 * binom.pmf(np.arange(units + 1), units, 0.97),
        "steep": 0.5 ** np.arange(units + 1.0),
    }[kind]
    law /= law.sum()
    exact_zone = _tails_by_convolution(blocks, trays, intra, zones, law)
    result = (
        zone_shortfall_given_law(blocks, 1, trays, intra, law, np.arange(blocks))
        if zones == 1
        else zones_shortfall_given_law(blocks, trays, intra, zones, law, np.arange(blocks))
    )
    np.testing.assert_allclose(result, exact_zone, rtol=1e-10)


def _tails_by_convolution(blocks: int, trays: int, intra: int, zones: int, law: Array) -> list[float]:
    """In integers of any size: each polynomial is packed into one integer (Kronecker), products are exact."""
    bits = zones * blocks * trays + 64
    units = zones * blocks * trays
    good = sum(comb(trays, j) << (bits * j) for j in range(intra + 1))
    bad = sum(comb(trays, j) << (bits * j) for j in range(intra + 1, trays + 1))
    mask = (1 << bits) - 1
    results = []
    for spares in range(blocks):
        fine = sum(comb(blocks, b) * good ** (blocks - b) * bad**b for b in range(spares + 1))
        packed = (good + bad) ** (blocks * zones) - fine**zones
        total = Fraction(0)
        data = packed.to_bytes((bits * (units + 1) + 7) // 8 + 1, "little")
        for f in range(units + 1):
            start, shift = divmod(bits * f, 8)
            coefficient = (int.from_bytes(data[start : start + bits // 8 + 2], "little") >> shift) & mask
            if coefficient and law[f]:
                total += Fraction(float(law[f]) * (coefficient / comb(units, f)))
        results.append(float(total))
    return results


@pytest.mark.parametrize("racks", [False, True])
def test_binomial_laws_are_independent_units(racks: bool) -> None:
    """Under binomial laws of trays and racks the units are independent: the ample-crew results, down to 1e-30 and less.

    This ties the two models of one zone together; without it a plan would change value when crews become ample.
    """
    q, down, spares = 0.0024, 4e-4, np.arange(33)
    numbers = binom.pmf(np.arange(4609), 4608, q)
    for intra in (0, 1, 2):
        block = float(block_unavailability(18, intra, q))
        if racks:
            law = np.outer(numbers, binom.pmf(np.arange(65), 64, down))
            root = Domain("zone", 0.0, ((Domain("rack", down, ((Domain("block", block), 4),)), 64),))
            expected = shortfall_tails(unusable_law(root), spares)
            result = zone_shortfall_given_law(256, 4, 18, intra, law, spares)
        else:
            expected = zone_shortfall(256, spares, block)
            result = zone_shortfall_given_law(256, 4, 18, intra, numbers, spares)
        shown = expected > 1e-200
        np.testing.assert_allclose(result[shown], expected[shown], rtol=1e-10)
    for q in (0.1, 0.5, 0.9, 0.999):  # no NaN and no loss when most trays are failed
        numbers, spares = binom.pmf(np.arange(4609), 4608, q), np.arange(0, 257, 16)
        expected = zone_shortfall(256, spares, block_unavailability(18, 9, q))
        result = zone_shortfall_given_law(256, 1, 18, 9, numbers, spares)
        shown = expected > 1e-200
        np.testing.assert_allclose(result[shown], expected[shown], rtol=1e-10)


def test_binomial_law_over_zones() -> None:
    """Zones under a binomial law are independent: 1 − (1 − P)^zones, from 1e-12 to near 1."""
    law = binom.pmf(np.arange(4 * 4608 + 1), 4 * 4608, 0.0024)
    for intra, spares in ((0, np.arange(8, 40, 4)), (1, np.arange(0, 9))):
        alone = zone_shortfall(256, spares, block_unavailability(18, intra, 0.0024))
        result = zones_shortfall_given_law(256, 18, intra, 4, law, spares)
        np.testing.assert_allclose(result, -np.expm1(4 * np.log1p(-alone)), rtol=1e-10)


@pytest.mark.parametrize("discipline", ["fcfs", "sharing"])
def test_from_crews_to_shortfall(discipline: str) -> None:
    """Crews, trays and racks together: P(short) read from the full-state chain of nine labelled units.

    The two modules in a row; a wrong axis of the joint law or a wrong conditioning would show.
    """
    work = (1.5, 1.5) if discipline == "fcfs" else (0.5, 4.0)
    units = (Unit(0, 0.05, work[0], 1.0),) * 4 + (Unit(1, 0.02, work[1]),) * 2
    chain = full_chain(units, 1, discipline)
    law = crew_law((Pool(4, 0.05, work[0], 1.0), Pool(2, 0.02, work[1])), 1).failed
    # racks 4 and 5 hold the blocks of trays (0), (1) and (2), (3): four blocks of one tray each
    for spares in range(4):
        expected = sum(
            p
            for failed, p in zip(chain.failed, chain.probability, strict=True)
            if sum(tray in failed or 4 + tray // 2 in failed for tray in range(4)) > spares
        )
        result = zone_shortfall_given_law(4, 2, 1, 0, law, spares)
        assert result == pytest.approx(expected, rel=1e-10)


def test_one_zone_of_several_is_one_zone() -> None:
    """The two functions agree on one zone, under a law that is not binomial."""
    law = crew_law((Pool(4608, 1e-4, 24.0),), 13).failed
    for intra, spares in ((0, np.arange(0, 60, 7)), (1, np.arange(12).reshape(3, 4))):
        one = zone_shortfall_given_law(256, 1, 18, intra, law, spares)
        assert one.shape == spares.shape
        np.testing.assert_allclose(zones_shortfall_given_law(256, 18, intra, 1, law, spares), one, rtol=1e-11)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(0, 2),
    st.integers(1, 4),
    st.floats(1e-4, 0.05),
    st.floats(0.5, 30),
    st.floats(1, 3),
)
def test_help_never_hurts(
    racks: int, per_rack: int, trays: int, intra: int, crews: int, rate: float, hands_on: float, factor: float
) -> None:
    """Another crew, faster repair, another spare of either kind, a longer MTBF never make a zone short more often.

    What the search and its pruning take for granted.
    """
    blocks = racks * per_rack

    def short(intra: int = intra, crews: int = crews, rate: float = rate, hands_on: float = hands_on) -> Array:
        pools = (Pool(blocks * trays, rate, hands_on), Pool(racks, rate / 5, hands_on))
        law = crew_law(pools, crews).failed
        return zone_shortfall_given_law(blocks, per_rack, trays, intra, law, np.arange(blocks + 1))

    base = short()
    assert np.all((base >= 0) & (base <= 1))
    assert np.all(np.diff(base) <= 0)
    assert base[-1] == 0
    for better in (
        short(intra=intra + 1),
        short(crews=crews + 1),
        short(hands_on=hands_on / factor),
        short(rate=rate / factor),
    ):
        assert np.all(better <= base * (1 + 1e-10))


def test_edges() -> None:
    """Nothing failed, everything failed, as many spares as trays, more spares than blocks, no R at all."""
    assert zone_shortfall_given_law(4, 2, 3, 1, [1.0], [0, 4]).tolist() == [0, 0]
    assert zone_shortfall_given_law(4, 2, 3, 1, np.eye(13)[12], [0, 3, 4, 9]).tolist() == pytest.approx([1, 1, 0, 0])
    assert zone_shortfall_given_law(4, 2, 3, 3, np.eye(13)[12], 0) == 0
    assert zone_shortfall_given_law(4, 2, 3, 7, np.full((1, 3), 1 / 3), [0, 1, 2, 3]) == pytest.approx(
        [2 / 3] * 2 + [1 / 3] * 2
    )
    assert zone_shortfall_given_law(4, 2, 3, 1, [1.0], np.zeros((0, 2), int)).shape == (0, 2)
    assert zones_shortfall_given_law(4, 3, 1, 2, np.eye(25)[24], [0, 3, 4]) == pytest.approx([1, 1, 0])
    assert zones_shortfall_given_law(4, 3, 3, 2, np.eye(25)[24], 0) == 0
    assert zones_shortfall_given_law(4, 3, 1, 2, [1.0], []).shape == (0,)


def test_refusals() -> None:
    """Impossible zones and arrays that are no law are refused, not computed with."""
    with pytest.raises(ValueError, match="do not fill racks"):
        zone_shortfall_given_law(4, 3, 3, 1, [1.0], 0)
    with pytest.raises(ValueError, match="more failed trays or racks"):
        zone_shortfall_given_law(4, 2, 3, 1, np.full(14, 1 / 14), 0)
    with pytest.raises(ValueError, match="more failed trays or racks"):
        zone_shortfall_given_law(4, 2, 3, 1, np.full((2, 4), 1 / 8), 0)
    for law in ([0.5, 0.4], [1.5, -0.5], np.full((1, 1, 1), 1.0), [float("nan")], []):
        with pytest.raises(ValueError, match="probabilities that sum to 1"):
            zone_shortfall_given_law(4, 2, 3, 1, law, 0)
    with pytest.raises(ValueError, match="must not be negative"):
        zone_shortfall_given_law(4, 2, 3, 1, [1.0], -1)
    with pytest.raises(ValueError, match="number of zones"):
        zones_shortfall_given_law(4, 3, 1, 0, [1.0], 0)
    with pytest.raises(ValueError, match="that of failed trays"):
        zones_shortfall_given_law(4, 3, 1, 2, np.full((2, 2), 0.25), 0)
