"""P(short) given the failed numbers against enumeration of all failed sets, exact rationals and full-state chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import comb, expm1, log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.stats import binom

from spareopt.numerics import exchangeable
from spareopt.numerics.availability import Domain, block_unavailability, shortfall_tails, unusable_law, zone_shortfall
from spareopt.numerics.crews import Pool, crew_law
from spareopt.numerics.exchangeable import (
    ZoneShape,
    site_shortfall_given_law,
    zone_shortfall_given_law,
    zone_shortfalls_given_law,
)
from tests.test_crews import Unit, full_chain

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


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


def exact_shortfall(blocks: int, trays: int, intra: int) -> Callable[[int], list[Fraction]]:
    """For R: P(zone short | f) for all f, from integer polynomials in the number of failed trays."""

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
        return [1 - Fraction(fine[f], comb(blocks * trays, f)) for f in range(blocks * trays + 1)]

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
        else [site_shortfall_given_law([ZoneShape(blocks, trays, intra, R, count=zones)], law) for R in range(blocks)]
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
        assert result == pytest.approx(expected, rel=1e-10, abs=0)


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


# -- several zones -----------------------------------------------------------------------------------------------------

SITES = {
    "three alike": (ZoneShape(2, 2, 1, 0, count=3),),
    "five blocks alone": (ZoneShape(1, 2, 0, 0, count=5),),
    "all different": (ZoneShape(2, 2, 0, 1), ZoneShape(1, 3, 1, 0), ZoneShape(1, 4, 2, 0)),
    "different racks": (ZoneShape(2, 2, 0, 1), ZoneShape(2, 3, 1, 0, blocks_per_rack=2)),
    "alike and another": (ZoneShape(1, 2, 0, 0, count=3), ZoneShape(2, 1, 1, 1)),
    "one that is never short": (ZoneShape(2, 2, 0, 2), ZoneShape(2, 3, 2, 1, blocks_per_rack=2)),
    "one zone": (ZoneShape(4, 2, 1, 2, blocks_per_rack=2),),
}


def one_by_one(site: tuple[ZoneShape, ...]) -> list[ZoneShape]:
    return [replace(shape, count=1) for shape in site for _ in range(shape.count)]


def laid_out(site: tuple[ZoneShape, ...]) -> list[tuple[ZoneShape, list[list[int]], list[int]]]:
    """For each single zone its shape, the numbers of the trays of each block, and of the rack above each block."""
    zones, tray, rack = [], 0, 0
    for shape in one_by_one(site):
        blocks = [list(range(tray + k * shape.trays, tray + (k + 1) * shape.trays)) for k in range(shape.blocks)]
        zones.append((shape, blocks, [rack + k // shape.blocks_per_rack for k in range(shape.blocks)]))
        tray, rack = tray + shape.all_trays, rack + shape.racks
    return zones


def short_sets(site: tuple[ZoneShape, ...], racks: bool) -> tuple[Counts, Counts, NDArray[np.bool_], Counts]:
    """For every failed set: numbers of failed trays and racks, which zones are short (a row each), bits of the set."""
    zones = laid_out(site)
    units = sum(shape.all_trays for shape, _, _ in zones)
    number = units + (sum(shape.racks for shape, _, _ in zones) if racks else 0)
    bits = np.arange(2**number)[:, None] >> np.arange(number) & 1
    short = []
    for shape, blocks, above in zones:
        unusable = sum(
            (bits[:, trays].sum(axis=1) > shape.intra_spares) | (racks and bits[:, units + rack] > 0)
            for trays, rack in zip(blocks, above, strict=True)
        )
        short.append(unusable > shape.inter_spares)
    return bits[:, :units].sum(axis=1), bits[:, units:].sum(axis=1), np.array(short), bits


@cache
def counted(name: str, racks: bool) -> dict[tuple[int, int], tuple[int, list[int]]]:
    """By (f, r): the number of failed sets in which a zone is short, and in which each zone is."""
    trays_down, racks_down, short, _ = short_sets(SITES[name], racks)
    return {
        (f, r): (int(short[:, here].any(axis=0).sum()), [int(n) for n in short[:, here].sum(axis=1)])
        for f in range(trays_down.max() + 1)
        for r in range(racks_down.max() + 1)
        if (here := (trays_down == f) & (racks_down == r)).any()
    }


@pytest.mark.parametrize("ratio", [2.0, 0.5, 1e-3, 1e-6])
@pytest.mark.parametrize("racks", [False, True])
@pytest.mark.parametrize("site", SITES)
def test_all_failed_sets_of_a_site(site: str, racks: bool, ratio: float) -> None:
    """Every failed set of small sites, counted in exact rationals: any zone short, and each zone, to 1e-11.

    A product of the zones' own probabilities (they are dependent), a pool of racks for each zone instead of one, a slip
    in joining different zones or in the doubling would not agree; at a ratio of 1e-6 values are far below 1e-12.
    """
    given_numbers = counted(site, racks)
    units, number_racks = max(given_numbers)
    law = falling((units + 1, number_racks + 1) if racks else (units + 1,), ratio)
    zones = one_by_one(SITES[site])
    expected, each = Fraction(0), [Fraction(0)] * len(zones)
    for (f, r), (any_short, short) in given_numbers.items():
        share = Fraction(law[(f, r)[: law.ndim]]) / (comb(units, f) * comb(number_racks, r))
        expected += share * any_short
        each = [total + share * n for total, n in zip(each, short, strict=True)]
    assert site_shortfall_given_law(SITES[site], law) == pytest.approx(float(expected), rel=1e-11, abs=0)
    np.testing.assert_allclose(zone_shortfalls_given_law(zones, law), [float(value) for value in each], rtol=1e-11)


def stationary_sets(rates: Array, work: Array, crews: int) -> Array:
    """Stationary law over all failed sets (bits) of units whose crews divide their time evenly, by power iteration."""
    states = np.arange(2 ** len(rates))
    number = np.array([bin(state).count("1") for state in states])
    rows, columns, values = [], [], []
    for i, (rate, hours) in enumerate(zip(rates, work, strict=True)):
        up = states[states >> i & 1 == 0]
        down = up | 1 << i
        repair = np.minimum(1.0, crews / number[down]) / hours
        for source, target, speed in ((up, down, np.full(len(up), rate)), (down, up, repair)):
            rows += [target, source]
            columns += [source, source]
            values += [speed, -speed]
    moves = csr_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))))
    step = 0.9 / -moves.diagonal().min()
    law = np.full(len(states), 1.0 / len(states))
    for _ in range(100_000):
        change = step * (moves @ law)
        law = law + change
        if np.all(np.abs(change) <= 1e-14 * law):
            return np.asarray(law / law.sum())
    raise AssertionError("not converged")


@pytest.mark.parametrize("crews", [1, 2])
@pytest.mark.parametrize("racks", [False, True])
@pytest.mark.parametrize(
    "site",
    [
        (ZoneShape(2, 2, 0, 1, count=2),),
        (ZoneShape(2, 2, 1, 0, count=2),),
        (ZoneShape(2, 2, 1, 1, blocks_per_rack=2), ZoneShape(2, 2, 0, 0)),
    ],
)
def test_markov_chain_of_a_site(site: tuple[ZoneShape, ...], racks: bool, crews: int) -> None:
    """Two zones of two blocks of two trays (and their racks) share a crew: the chain of all failed sets, to 1e-10.

    The chain knows neither product forms nor polynomials; crews of their own for each zone would be off by far more.
    """
    trays_down, racks_down, short, bits = short_sets(site, racks)
    units, number_racks = trays_down.max(), racks_down.max()
    rates = np.repeat([0.02, 0.005], [units, number_racks])
    work = np.repeat([1.5, 6.0], [units, number_racks])
    chain = stationary_sets(rates, work, crews)
    pools = (Pool(units, 0.02, 1.5), *((Pool(number_racks, 0.005, 6.0),) if racks else ()))
    law = crew_law(pools, crews).failed
    assert bits.shape[1] == (8 + number_racks if racks else 8)
    assert site_shortfall_given_law(site, law) == pytest.approx(float(chain[short.any(axis=0)].sum()), rel=1e-10, abs=0)
    np.testing.assert_allclose(zone_shortfalls_given_law(one_by_one(site), law), short @ chain, rtol=1e-10)


def test_markov_chain_of_a_site_first_come_first_served() -> None:
    """Two zones of one block of two trays, one of them with a rack that fails, and all orders of one queue."""
    site = (ZoneShape(1, 2, 1, 0), ZoneShape(1, 2, 0, 0))
    chain = full_chain((Unit(0, 0.05, 1.5),) * 4 + (Unit(1, 0.02, 1.5),) * 2, 1, "fcfs")
    expected = sum(
        p
        for failed, p in zip(chain.failed, chain.probability, strict=True)
        if {0, 1} <= failed or 4 in failed or 2 in failed or 3 in failed or 5 in failed
    )
    law = crew_law((Pool(4, 0.05, 1.5), Pool(2, 0.02, 1.5)), 1).failed
    assert site_shortfall_given_law(site, law) == pytest.approx(expected, rel=1e-10, abs=0)


@pytest.mark.parametrize("racks", [False, True])
@pytest.mark.parametrize("extra", [0, 4, 12])
def test_ample_crews_are_independent_zones(extra: int, racks: bool) -> None:
    """With a crew for each unit, the law is binomial and zones are independent, from near 1 to 1e-20 and less.

    Different shapes and numbers of zones; what is lost in a tail, in a join or by leaving out would show.
    """
    q, down = 0.0024, 2e-4
    site = (
        ZoneShape(256, 18, 1, extra, count=3),
        ZoneShape(128, 36, 2, extra // 2, blocks_per_rack=4),
        ZoneShape(100, 9, 0, 4 + 2 * extra, count=2),
    )
    units = sum(shape.all_trays * shape.count for shape in site)
    number_racks = sum(shape.racks * shape.count for shape in site)
    law: Array = binom.pmf(np.arange(600), units, q)
    if racks:
        law = np.outer(law, binom.pmf(np.arange(60), number_racks, down))
    alone = []
    for shape in site:
        block = float(block_unavailability(shape.trays, shape.intra_spares, q))
        below = Domain("rack", down if racks else 0.0, ((Domain("block", block), shape.blocks_per_rack),))
        root = Domain("zone", 0.0, ((below, shape.racks),))
        alone.append(float(shortfall_tails(unusable_law(root), np.array([shape.inter_spares]))[0]))
    np.testing.assert_allclose(zone_shortfalls_given_law(site, law), alone, rtol=1e-10)
    fine = sum(shape.count * log1p(-p) for shape, p in zip(site, alone, strict=True))
    assert site_shortfall_given_law(site, law) == pytest.approx(-expm1(fine), rel=1e-10, abs=0)


@pytest.mark.parametrize("racks", [False, True])
def test_a_site_of_one_zone_is_that_zone(racks: bool) -> None:
    """The functions of a site and of a zone agree on one zone, from 1 down to 1e-29; one joins, one sums."""
    pools = (Pool(4608, 1e-4, 24.0), *((Pool(64, 2e-5, 24.0),) if racks else ()))
    smallest = 1.0
    for crews in (12, 14):
        law = crew_law(pools, crews).failed
        for intra, spares in ((0, np.arange(0, 60, 12)), (1, np.arange(0, 12, 3)), (3, np.arange(0, 40, 9))):
            zone = zone_shortfall_given_law(256, 4, 18, intra, law, spares)
            site = [(ZoneShape(256, 18, intra, int(R), blocks_per_rack=4),) for R in spares]
            np.testing.assert_allclose([site_shortfall_given_law(one, law) for one in site], zone, rtol=1e-10)
            np.testing.assert_allclose([zone_shortfalls_given_law(one, law)[0] for one in site], zone, rtol=1e-10)
            smallest = min(smallest, *zone)
    assert smallest < (1e-12 if racks else 1e-15)


def test_how_zones_are_listed_does_not_matter() -> None:
    """Seven zones of two shapes, listed by count or one by one, in any order, are one site."""
    law = crew_law((Pool(7 * 360, 1e-3, 24.0), Pool(5 * 20 + 2 * 5, 1e-4, 24.0)), 70).failed
    one, other = ZoneShape(20, 18, 2, 3), ZoneShape(20, 18, 3, 4, blocks_per_rack=4)
    ways = (
        [ZoneShape(20, 18, 2, 3, count=5), ZoneShape(20, 18, 3, 4, blocks_per_rack=4, count=2)],
        [one, other, one, one, other, one, one],
        [other] * 2 + [one] * 5,
    )
    results = [site_shortfall_given_law(way, law) for way in ways]
    assert results == pytest.approx([results[0]] * 3, rel=1e-11, abs=0)
    each = zone_shortfalls_given_law(ways[1], law)
    assert list(each) == pytest.approx(
        [each[0], each[1], each[0], each[0], each[1], each[0], each[0]], rel=1e-15, abs=0
    )


@pytest.mark.parametrize("most", [0, 100, 300, 359])
def test_wide_laws_of_racks_need_several_tilts(most: int) -> None:
    """Racks down in any number up to 360 of 400, their blocks' trays never: exact rationals, over several tilts."""
    spares = (most // 2, most - most // 2)
    site = (ZoneShape(150, 1, 1, spares[0]), ZoneShape(250, 1, 1, spares[1]))
    law = np.zeros((3, 361))
    law[0], law[2] = 0.75 / 361, 0.25 / 361
    fine = [
        Fraction(sum(comb(150, a) * comb(250, r - a) for a in range(min(r, spares[0]) + 1) if r - a <= spares[1]))
        / comb(400, r)
        for r in range(361)
    ]
    expected = float(sum(1 - value for value in fine) / 361)
    assert site_shortfall_given_law(site, law) == pytest.approx(expected, rel=1e-10, abs=0)


@pytest.mark.parametrize(
    ("crews", "site"),
    [
        *((crews, (ZoneShape(32, 18, 0, 6, count=3), ZoneShape(32, 18, 1, 6, 2))) for crews in (36, 40, 43)),
        *((crews, (ZoneShape(32, 18, 2, 12, count=3), ZoneShape(32, 18, 3, 8, 2))) for crews in (40, 43, 60)),
        (9, (ZoneShape(64, 18, 2, 20, count=4),)),
        (50, (ZoneShape(256, 18, 2, 16, count=4),)),
    ],
)
def test_hopeless_numbers_are_left_out_rightly(
    crews: int, site: tuple[ZoneShape, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taking a zone for short where that is all but sure changes nothing, from hopeless crews to values below 1e-20.

    The short cut decides for most of the law of overloaded crews, and is taken here for all or for none.
    """
    units = sum(shape.all_trays * shape.count for shape in site)
    pools = (Pool(units, 8e-4 if units < 4000 else 1e-4, 24.0), Pool(sum(s.racks * s.count for s in site), 2e-5, 24.0))
    law = crew_law(pools, crews).failed
    results = []
    for large in (True, False):
        monkeypatch.setattr(exchangeable, "_is_large", lambda racks, trays, large=large: large)
        results.append(site_shortfall_given_law(site, law))
    assert crews != 50 or results[0] < 1e-20
    assert results[0] == pytest.approx(results[1], rel=1e-11, abs=0)


def bounds(site: tuple[ZoneShape, ...], rates: tuple[float, float], off_crew: float, crews: int) -> list[float]:
    """P(no zone short) between its bounds: zones' own product, joint, product given the numbers, with own crews."""
    units = sum(shape.all_trays * shape.count for shape in site)
    number_racks = sum(shape.racks * shape.count for shape in site)

    def law_of(units: int, racks: int) -> Array:
        pools = (Pool(units, rates[0], 1.0, off_crew), *((Pool(racks, rates[1], 1.5),) if rates[1] else ()))
        law = crew_law(pools, crews).failed
        law = law if law.ndim == 2 else law[:, None]
        return np.pad(law, ((0, units + 1 - len(law)), (0, 0)))

    counts = np.array([shape.count for shape in site])
    law = law_of(units, number_racks)
    given_numbers = 0.0
    for f, r in np.argwhere(law):
        one = np.zeros((f + 1, r + 1))
        one[f, r] = 1.0
        given_numbers += law[f, r] * float(np.prod((1 - zone_shortfalls_given_law(site, one)) ** counts))
    alone = [
        1 - float(zone_shortfall_given_law(s.blocks, s.blocks_per_rack, s.trays, s.intra_spares, own, s.inter_spares))
        for s in site
        for own in (law_of(s.all_trays, s.racks),)
    ]
    own = 1 - zone_shortfalls_given_law(site, law)
    joint = 1 - site_shortfall_given_law(site, law)
    return [float(np.prod(own**counts)), joint, given_numbers, float(np.prod(np.array(alone) ** counts))]


@pytest.mark.parametrize("crews", [1, 3])
@pytest.mark.parametrize("off_crew", [0.0, 2.0])
@pytest.mark.parametrize("rates", [(0.02, 0.0), (0.3, 0.0), (0.02, 0.01), (0.1, 0.1)])
def test_bounds_of_a_site(rates: tuple[float, float], off_crew: float, crews: int) -> None:
    """The three bounds of the module's docstring, on a grid of small sites from good to hopeless crews.

    The search prunes with the upper ones; a counterexample would cost optimal plans.
    """
    for site in (
        (ZoneShape(2, 2, 0, 1, count=2),),
        (ZoneShape(3, 1, 0, 1, count=4),),
        (ZoneShape(1, 3, 1, 0, count=3),),
        (ZoneShape(4, 2, 1, 1), ZoneShape(2, 3, 0, 1, blocks_per_rack=2)),
    ):
        own, joint, given_numbers, alone = bounds(site, rates, off_crew, crews)
        assert own <= joint + 1e-13
        assert joint <= given_numbers + 1e-13
        assert joint <= alone + 1e-13
        assert own < alone  # else they say nothing


def test_neither_upper_bound_is_always_smaller() -> None:
    """Zones with crews of their own bound better in one case, the product given the numbers in another."""
    differences = []
    for off_crew, crews in ((2.0, 4), (0.0, 1)):
        _, _, given_numbers, alone = bounds((ZoneShape(4, 3, 1, 1, count=2),), (0.1, 0.0), off_crew, crews)
        differences.append(alone - given_numbers)
    assert min(differences) < -1e-6 and max(differences) > 1e-6


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.builds(
            lambda racks, per_rack, trays, intra, inter, count: ZoneShape(
                racks * per_rack, trays, intra, inter, per_rack, count
            ),
            st.integers(1, 4),
            st.integers(1, 2),
            st.integers(1, 4),
            st.integers(0, 2),
            st.integers(0, 3),
            st.integers(1, 3),
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 4),
    st.floats(1e-4, 0.05),
    st.floats(0.5, 30),
)
def test_help_never_hurts_a_site(site: list[ZoneShape], crews: int, rate: float, hands_on: float) -> None:
    """Another crew, a lower rate, another spare of either kind in a zone, or all its blocks: never short more often."""
    units = sum(shape.all_trays * shape.count for shape in site)
    number_racks = sum(shape.racks * shape.count for shape in site)

    def law(crews: int = crews, rate: float = rate) -> Array:
        return crew_law((Pool(units, rate, hands_on), Pool(number_racks, rate / 5, hands_on)), crews).failed

    base = site_shortfall_given_law(site, law())
    first = site[0]
    with_spare = [
        [replace(first, intra_spares=first.intra_spares + 1), *site[1:]],
        [replace(first, inter_spares=first.inter_spares + 1), *site[1:]],
        [replace(first, inter_spares=first.blocks), *site[1:]],
    ]
    better = [
        *(site_shortfall_given_law(helped, law()) for helped in with_spare),
        site_shortfall_given_law(site, law(crews=crews + 1)),
        site_shortfall_given_law(site, law(rate=rate / 2)),
    ]
    assert 0 <= base <= 1
    assert all(value <= base * (1 + 1e-10) for value in better)
    each = zone_shortfalls_given_law(site, law())
    counts = np.array([shape.count for shape in site])
    assert each.max() * (1 - 1e-10) <= base <= float(each @ counts) * (1 + 1e-10) + 1e-300


def test_site_edges() -> None:
    """Nothing failed, everything failed, zones that cannot be short; one block for each zone."""
    zones = [ZoneShape(4, 3, 1, 0, 2), ZoneShape(2, 3, 3, 1)]
    assert site_shortfall_given_law(zones, [1.0]) == 0
    assert site_shortfall_given_law(zones, np.eye(19)[18]) == pytest.approx(1, rel=1e-12, abs=0)
    assert zone_shortfalls_given_law(zones, np.eye(19)[18]).tolist() == pytest.approx([1, 0])
    assert site_shortfall_given_law(zones, np.eye(5)[4][None]) == pytest.approx(1, rel=1e-12, abs=0)
    assert zone_shortfalls_given_law(zones, np.eye(5)[4][None]).tolist() == pytest.approx([1, 1])
    assert site_shortfall_given_law([ZoneShape(4, 3, 3, 0, 2, count=3)], np.eye(37)[36]) == 0
    assert site_shortfall_given_law([ZoneShape(4, 3, 0, 4, 2, count=3)], np.eye(7)[6][None]) == 0
    # two failed trays on eight blocks of one tray, two by two: in one zone with probability 1/7
    assert site_shortfall_given_law([ZoneShape(2, 1, 0, 1, count=4)], [0, 0, 1]) == pytest.approx(1 / 7)


def test_site_refusals() -> None:
    """Impossible zones, no zone, and laws of more units than there are, are refused."""
    for numbers in ((0, 1, 0, 0), (1, 0, 0, 0), (1, 1, -1, 0), (1, 1, 0, -1)):
        with pytest.raises(ValueError, match="must not be negative"):
            ZoneShape(*numbers)
    with pytest.raises(ValueError, match="do not fill racks"):
        ZoneShape(4, 3, 1, 0, blocks_per_rack=3)
    with pytest.raises(ValueError, match="number of zones"):
        ZoneShape(4, 3, 1, 0, count=0)
    for score in (site_shortfall_given_law, zone_shortfalls_given_law):
        with pytest.raises(ValueError, match="needs a zone"):
            score([], [1.0])
        with pytest.raises(ValueError, match="more failed trays or racks"):
            score([ZoneShape(2, 2, 0, 0, count=2)], np.full(10, 0.1))
        with pytest.raises(ValueError, match="more failed trays or racks"):
            score([ZoneShape(2, 2, 0, 0, 2, count=2)], np.full((1, 4), 0.25))
        with pytest.raises(ValueError, match="probabilities that sum to 1"):
            score([ZoneShape(2, 2, 0, 0)], [0.5, 0.4])
