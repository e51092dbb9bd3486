"""Laws of unusable blocks against every state of small clusters, exact rationals and hand-solved cases."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spareopt.exact import zone_scores
from spareopt.instance import Instance
from spareopt.numerics.availability import (
    Domain,
    block_unavailability,
    shortfall_tails,
    unavailability,
    unusable_law,
    working_probabilities,
    zone_shortfall,
)
from spareopt.reading import read_instance
from spareopt.repair import zone_repair
from spareopt.topology import zone_structure

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cluster:
    """A small cluster spelled out: every component's unavailability, and what each block needs."""

    components: tuple[float, ...]
    above: tuple[tuple[int, ...], ...]  # for each block, its domains' components
    trays: tuple[tuple[int, ...], ...]  # for each block, its trays' components
    units: dict[str, tuple[int, ...]]  # for each domain's name, the blocks of one such unit
    root: Domain

    @property
    def blocks(self) -> int:
        return len(self.above)

    def usable_sets(self, intra_spares: int) -> Array:
        """P(exactly this set of blocks is usable), by bit mask, from all states of all components."""
        states = np.arange(2 ** len(self.components), dtype=np.int32)
        probability = np.ones(len(states))
        down = []
        for place, q in enumerate(self.components):
            bit = (states >> place) & 1 == 1
            down.append(bit)
            probability *= np.where(bit, q, 1 - q)
        mask = np.zeros(len(states), dtype=np.int32)
        for block in range(self.blocks):
            trays_down = sum(down[tray].astype(np.int8) for tray in self.trays[block])
            usable = np.asarray(trays_down <= intra_spares)
            for domain in self.above[block]:
                usable &= ~down[domain]
            mask |= usable.astype(np.int32) << block
        return np.asarray(np.bincount(mask, weights=probability, minlength=2**self.blocks), dtype=np.float64)


def spelled_out(
    intra_spares: int, zone: float, shape: tuple[tuple[int, ...], ...], q: tuple[float, float, float]
) -> Cluster:
    """A zone of cooling units (an entry of ``shape`` each) of racks (blocks in each) of blocks of 2 trays."""
    tray_q, rack_q, cooling_q = q
    components = [zone] if zone else []
    top = tuple(range(len(components)))
    above: list[tuple[int, ...]] = []
    trays: list[tuple[int, ...]] = []
    units: dict[str, tuple[int, ...]] = {}
    block_down = float(block_unavailability(2, intra_spares, tray_q))
    cooling_children: dict[tuple[int, ...], int] = {}
    for racks in shape:
        cooling_children[racks] = cooling_children.get(racks, 0) + 1
        components.append(cooling_q)
        cooling, first_of_cooling = len(components) - 1, len(above)
        for size in racks:
            components.append(rack_q)
            rack, first = len(components) - 1, len(above)
            for _ in range(size):
                above.append((*top, cooling, rack))
                trays.append((len(components), len(components) + 1))
                components += [tray_q, tray_q]
            units.setdefault(f"rack {racks} {size}", tuple(range(first, first + size)))
            units.setdefault(f"block {racks} {size}", (first,))
        units.setdefault(f"cooling {racks}", tuple(range(first_of_cooling, len(above))))
    units["zone"] = tuple(range(len(above)))
    children = []
    for racks, number in cooling_children.items():
        inner = []
        for size in sorted(set(racks)):
            block = Domain(f"block {racks} {size}", block_down)
            inner.append((Domain(f"rack {racks} {size}", rack_q, ((block, size),)), racks.count(size)))
        children.append((Domain(f"cooling {racks}", cooling_q, tuple(inner)), number))
    root = Domain("zone", zone, tuple(children))
    return Cluster(tuple(components), tuple(above), tuple(trays), units, root)


SHAPES: list[tuple[tuple[tuple[int, ...], ...], float]] = [
    (((2, 2), (2, 2)), 0.0),  # two alike: identical children merged
    (((2, 1), (2,)), 0.07),  # a partial rack, a smaller cooling unit, and a zone that can fail itself
    (((3,), (1, 1)), 0.0),
    (((5,),), 0.2),
]


@pytest.mark.parametrize("intra_spares", [0, 1])
@pytest.mark.parametrize("shape, zone", SHAPES)
def test_every_state_of_a_small_cluster(shape: tuple[tuple[int, ...], ...], zone: float, intra_spares: int) -> None:
    """Proves law, tails and working probabilities, all R, against the sum over all states of trays, racks and coolers.

    Working blocks are every (L−R)-subset of the usable ones, equally likely.  If it broke, blocks that fail together
    would be scored wrongly: availability, and the rate that shared domains add.
    """
    cluster = spelled_out(intra_spares, zone, shape, (0.11, 0.06, 0.09))
    sets = cluster.usable_sets(intra_spares)
    assert sets.sum() == pytest.approx(1.0, abs=1e-12)
    number = np.array([mask.bit_count() for mask in range(len(sets))])
    law = np.bincount(cluster.blocks - number, weights=sets, minlength=cluster.blocks + 1)
    np.testing.assert_allclose(unusable_law(cluster.root), law, rtol=0, atol=1e-12)
    spares = np.arange(cluster.blocks + 1)
    tails = np.array([law[r + 1 :].sum() for r in spares])
    np.testing.assert_allclose(shortfall_tails(unusable_law(cluster.root), spares), tails, rtol=0, atol=1e-12)

    holding = working_probabilities(cluster.root, cluster.blocks - 1)
    assert set(holding) == set(cluster.units)
    for r in range(cluster.blocks):
        expected = dict.fromkeys(cluster.units, 0.0)
        for mask in range(len(sets)):
            usable = [block for block in range(cluster.blocks) if mask >> block & 1]
            choices = [set(chosen) for chosen in combinations(usable, cluster.blocks - r)]
            for name, members in cluster.units.items():
                hits = sum(not chosen.isdisjoint(members) for chosen in choices)
                expected[name] += sets[mask] * hits / max(len(choices), 1)
        enough = sets[number >= cluster.blocks - r].sum()
        for name, value in expected.items():
            assert holding[name][r] == pytest.approx(value / enough, abs=1e-12), (name, r)


def test_two_racks_of_two_blocks_by_hand() -> None:
    """Proves the working probability of a rack in the smallest case with a choice, solved on paper.

    Racks fail with p, blocks never; R = 2.  Both up ((1−p)²): 2 of 4 blocks work, all in the other rack in 1 of 6
    choices.  One up (2p(1−p)): it holds both.  If it broke, Λ would charge idle racks or forget working ones.
    """
    p = 0.1
    zone = Domain("zone", 0.0, ((Domain("rack", p, ((Domain("block", 0.0), 2),)), 2),))
    np.testing.assert_allclose(unusable_law(zone), [(1 - p) ** 2, 0, 2 * p * (1 - p), 0, p**2], rtol=1e-15)
    enough = (1 - p) ** 2 + 2 * p * (1 - p)
    holding = working_probabilities(zone, 3)
    assert holding["rack"][2] == pytest.approx(((1 - p) ** 2 * 5 / 6 + p * (1 - p)) / enough, rel=1e-14)
    assert holding["rack"][0] == holding["rack"][1] == 1.0
    np.testing.assert_allclose(holding["block"], [1, 3 / 4, 2 / 4, 1 / 4], rtol=1e-14)
    np.testing.assert_allclose(holding["zone"], np.ones(4), rtol=1e-14)


def test_a_domain_of_certain_failure() -> None:
    """Proves that a dead domain leaves an impossible zone NaN and a possible one to the other domain.

    If it broke, 0/0 would be reported as a probability.
    """
    block = Domain("block", 0.2)
    dead = Domain("dead", 1.0, ((block, 2),))
    live = Domain("live", 0.0, ((Domain("other block", 0.2), 2),))
    holding = working_probabilities(Domain("zone", 0.0, ((dead, 1), (live, 1))), 3)
    assert np.all(np.isnan(holding["live"][:2]))
    np.testing.assert_allclose(holding["live"][2:], [1.0, 1.0], rtol=1e-15)
    np.testing.assert_array_equal(holding["dead"][2:], [0.0, 0.0])


def test_a_single_block_is_a_zone() -> None:
    """Proves the smallest tree: a lone block holds the working block of its zone whenever that is not short.

    If it broke, cases of size one would index out of range.
    """
    np.testing.assert_array_equal(working_probabilities(Domain("block", 0.3), 0)["block"], [1.0])
    np.testing.assert_array_equal(unusable_law(Domain("block", 0.25)), [0.75, 0.25])


def binomial_tails(number: int, q: float) -> list[float]:
    """P(Bin(number, q) > s) for s = 0, …, number − 1, exact until the last rounding: q is a fraction of integers."""
    down, scale = q.as_integer_ratio()
    tails, total = [], 0
    for k in range(number, 0, -1):
        total += comb(number, k) * down**k * (scale - down) ** (number - k)
        tails.append(float(Fraction(total, scale**number)))
    return tails[::-1]


@pytest.mark.parametrize("number, q", [(36, 24 / 20024), (18, 1e-5), (256, 24 / 10024), (64, 0.03), (9, 1e-9)])
def test_small_binomial_tails_keep_their_digits(number: int, q: float) -> None:
    """Proves P(Bin > spares) right to 1e-12 of its value, from 1 down to 1e-60, against exact rationals.

    If it broke (1 − head loses everything below 1e-16), 1−A of a well-spared zone would be noise or negative.
    """
    exact = [tail for tail in binomial_tails(number, q) if tail > 1e-60]
    spares = np.arange(len(exact))
    assert min(exact) < 1e-30
    np.testing.assert_allclose(zone_shortfall(number, spares, q), exact, rtol=1e-12)
    np.testing.assert_allclose(block_unavailability(number, spares, q), exact, rtol=1e-12)
    own = np.array([1e-3 + (1 - 1e-3) * tail for tail in exact])
    np.testing.assert_allclose(block_unavailability(number, spares, q, 1e-3), own, rtol=1e-12)


def rational_law(domain: Domain) -> list[Fraction]:
    """The law by adding one child after the other, in rationals."""
    q = Fraction(domain.unavailability)
    if not domain.children:
        return [1 - q, q]
    law = [Fraction(1)]
    for child, count in domain.children:
        other = rational_law(child)
        for _ in range(count):
            wider = [Fraction(0)] * (len(law) + len(other) - 1)
            for i, a in enumerate(law):
                for j, b in enumerate(other):
                    wider[i + j] += a * b
            law = wider
    law = [(1 - q) * term for term in law]
    law[-1] += q
    return law


@pytest.mark.parametrize("rack_q, racks, least", [(1e-7, 7, 1e-13), (0.0, 9, 1e-39), (2e-3, 5, 1e-8)])
def test_small_tree_tails_keep_their_digits(rack_q: float, racks: int, least: float) -> None:
    """Proves all terms and tails of a tree's law right to 1e-12 of their value, down to 1e-40, in exact rationals.

    If it broke (an FFT convolution leaves noise of 1e-17), 1−A of zones with shared domains would be noise.
    """
    rack = Domain("rack", rack_q, ((Domain("block", 2.0**-9), 3),))
    partial = Domain("partial", rack_q, ((Domain("last block", 2.0**-9), 1),))
    zone = Domain("zone", 1e-40, ((Domain("row", rack_q / 8, ((rack, racks),)), 1), (partial, 2)))
    exact = rational_law(zone)
    np.testing.assert_allclose(unusable_law(zone), [float(term) for term in exact], rtol=1e-12)
    spares = np.arange(zone.blocks)
    tails = [float(sum(exact[r + 1 :], Fraction(0))) for r in spares]
    assert min(tails) < least
    np.testing.assert_allclose(shortfall_tails(unusable_law(zone), spares), tails, rtol=1e-12)


def test_racks_of_one_block_are_the_binomial() -> None:
    """Proves the tree of single-block racks equal to the closed binomial form, and (L−R)/L working.

    If it broke, the two code paths of the exact model would disagree where they meet.
    """
    tray_q, rack_q = 24 / 20024, 24 / 10024
    block = Domain("block", float(block_unavailability(36, 1, tray_q)))
    zone = Domain("zone", 0.0, ((Domain("rack", rack_q, ((block, 1),)), 256),))
    spares = np.arange(0, 40)
    closed = zone_shortfall(256, spares, block_unavailability(36, 1, tray_q, rack_q))
    np.testing.assert_allclose(shortfall_tails(unusable_law(zone), spares), closed, rtol=1e-11)
    holding = working_probabilities(zone, 39)
    np.testing.assert_allclose(holding["rack"], (256 - spares) / 256, rtol=1e-12)
    np.testing.assert_allclose(holding["block"], (256 - spares) / 256, rtol=1e-12)


@st.composite
def trees(draw: st.DrawFn) -> Domain:
    """Trees of up to three levels, with several kinds of children, of 1 to some 50 blocks."""
    probability = st.sampled_from([0.0, 1e-12, 1.0]) | st.floats(0.0, 0.5)
    names = iter(range(10**6))

    def node(depth: int) -> Domain:
        kinds = draw(st.integers(1, 2)) if depth else 0
        children = tuple((node(draw(st.integers(0, depth - 1))), draw(st.integers(1, 3))) for _ in range(kinds))
        return Domain(f"node {next(names)}", draw(probability), children)

    return node(draw(st.integers(1, 3)))


@settings(max_examples=150, deadline=None)
@given(trees())
def test_laws_of_any_tree(root: Domain) -> None:
    """Proves that a law sums to 1 with no negative term, that another spare never lowers availability, L never short.

    If it broke, an optimiser would be punished for buying spares.
    """
    law = unusable_law(root)
    assert len(law) == root.blocks + 1
    assert np.all(law >= 0) and law.sum() == pytest.approx(1.0, abs=1e-12)
    tails = shortfall_tails(law, np.arange(root.blocks + 3))
    assert np.all(np.diff(tails) <= 0)
    np.testing.assert_array_equal(tails[root.blocks :], [0.0, 0.0, 0.0])
    shuffled = shortfall_tails(law, np.array([[2, 0], [1, 2]]))
    np.testing.assert_array_equal(shuffled, tails[np.array([[2, 0], [1, 2]])])


@settings(max_examples=100, deadline=None)
@given(trees())
def test_working_blocks_of_any_tree_add_up(root: Domain) -> None:
    """Proves, for any tree: working blocks expected over all block types are exactly L−R, a domain holds one at least
    as often as any of its children, and at most as often as all of them together.

    If it broke, the mean interruption rate would count working blocks twice or lose some.
    """
    spares = root.blocks - 1
    holding = working_probabilities(root, spares)
    expected = np.zeros(spares + 1)

    def visit(domain: Domain, units: int) -> None:
        values = holding[domain.name]
        assert np.all(np.isnan(values) | ((values >= 0) & (values <= 1)))
        if not domain.children:
            expected[:] += units * values
            return
        together = sum(count * holding[child.name] for child, count in domain.children)
        assert np.all(np.isnan(values) | (values <= np.minimum(together, 1.0) + 1e-10))
        for child, count in domain.children:
            assert np.all(np.isnan(values) | (holding[child.name] <= values + 1e-10))
            visit(child, units * count)

    visit(root, 1)
    possible = np.cumsum(unusable_law(root))[: spares + 1] > 0
    np.testing.assert_array_equal(np.isnan(expected), ~possible)
    wanted = root.blocks - np.arange(spares + 1)
    np.testing.assert_allclose(expected[possible], wanted[possible], rtol=1e-10)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 300), st.integers(1, 40), st.floats(0, 1), st.floats(0, 1))
def test_a_spare_never_hurts(blocks: int, trays: int, tray_q: float, own: float) -> None:
    """Proves that both kinds of spares lower the unavailability or leave it, and that it stays a probability.

    If it broke, more redundancy would look worse.
    """
    block = block_unavailability(trays, np.arange(trays + 1), tray_q, own)
    zone = zone_shortfall(blocks, np.arange(blocks + 1), block[0])
    for values, least in ((block, own), (zone, 0.0)):
        assert np.all(np.diff(values) <= 1e-15)
        assert np.all((values >= 0) & (values <= 1 + 1e-15))
        assert values[-1] == pytest.approx(least, abs=1e-15)


def test_unavailability_is_the_share_of_time_down() -> None:
    """Proves MTTR/(MTBF+MTTR) with the published numbers, and the edges no failure, no repair time.

    If it broke, every availability would rest on a wrong input.
    """
    np.testing.assert_allclose(
        unavailability(1 / np.array([20000.0, 10000.0]), 24.0), [24 / 20024, 24 / 10024], rtol=1e-15
    )
    np.testing.assert_array_equal(unavailability([0.0, 1e-4], [24.0, 0.0]), [0.0, 0.0])


def test_published_choice_of_spares() -> None:
    """Proves the published cluster's blocks: 72/64 with R = 4 is short about as often as the first-order model says.

    Its racks dominate (trays of a block with 4 spares almost never do), so the tail is that of racks alone to 1e-5;
    4 is the least R with all four zones up 99 % of the time.  If it broke, the reference instance would be misjudged.
    """
    tray_q, rack_q = 24 / 20024, 24 / 10024
    block = block_unavailability(36, 4, tray_q, rack_q)
    short = zone_shortfall(256, np.arange(8), block)
    np.testing.assert_allclose(short, zone_shortfall(256, np.arange(8), rack_q), rtol=1e-5)
    assert float(short[4]) == pytest.approx(0.0004214801688400516, rel=1e-3)
    assert int(np.argmax((1 - short) ** 4 >= 0.99)) == 4


def test_large_trees_are_fast() -> None:
    """Proves that 3,125 blocks under three levels of domains, up to 256 in one, with 160 spares take under a second.

    If it broke, scoring thousands of candidates would take hours.
    """
    start = time.perf_counter()
    rack = Domain("rack", 1e-3, ((Domain("block", 2e-3), 4),))
    hall = Domain("hall", 1e-4, ((Domain("cooling", 5e-4, ((rack, 8),)), 8),))
    rest = Domain("rest", 1e-4, ((Domain("last block", 2e-3), 53),))
    zone = Domain("zone", 1e-5, ((hall, 12), (rest, 1)))
    assert (zone.blocks, hall.blocks) == (3125, 256)
    holding = working_probabilities(zone, 160)
    assert time.perf_counter() - start < 1.0
    leaves = 3072 * holding["block"] + 53 * holding["last block"]
    np.testing.assert_allclose(leaves, 3125 - np.arange(161), rtol=1e-9)


def test_meaningless_trees_are_refused() -> None:
    """Proves that probabilities outside [0, 1], counts below 1, repeated names and impossible R are errors.

    If it broke, two kinds of racks of one name would overwrite each other's charge.
    """
    block = Domain("block", 0.1)
    for q in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            Domain("bad", q)
    with pytest.raises(ValueError, match="count"):
        Domain("bad", 0.1, ((block, 0),))
    twice = Domain("zone", 0.0, ((Domain("rack", 0.1, ((block, 2),)), 1), (Domain("rack", 0.2, ((block, 1),)), 1)))
    with pytest.raises(ValueError, match="are named"):
        working_probabilities(twice, 1)
    for spares in (-1, 2):
        with pytest.raises(ValueError, match="spare blocks"):
            working_probabilities(Domain("zone", 0.0, ((block, 2),)), spares)
    with pytest.raises(ValueError, match="negative"):
        shortfall_tails(unusable_law(block), np.array([-1]))


@pytest.mark.parametrize("trays, spares, q", [(-1, 0, 0.1), (4, -1, 0.1), (4, 0, 1.1), (4, 0, -0.1)])
def test_meaningless_blocks_are_refused(trays: int, spares: int, q: float) -> None:
    """Proves that negative counts and impossible probabilities are errors.

    If it broke, scipy would quietly return 0, 1 or NaN.
    """
    with pytest.raises(ValueError):
        block_unavailability(trays, spares, q)
    with pytest.raises(ValueError):
        zone_shortfall(trays, spares, q)
    with pytest.raises(ValueError):
        unavailability(-1e-4, 24.0)


# ---- the exact model of a zone, from an instance


def zone_of(racks: int, blocks_per_rack: int, spans: tuple[str, ...]) -> Instance:
    """A zone of blocks of 2 trays, everything down often: trays 1/9, racks 1/21, domains 1/17, 1/18, … of the time."""
    domains = [
        {"name": f"domain {i}", "spans": span, "mtbf": f"{16 + i} h", "repair": {"hands_on": "1 h"}}
        for i, span in enumerate(spans)
    ]
    return read_instance(
        {
            "schema_version": 1,
            "name": "small",
            "zones": [{"name": "hall", "racks": racks}],
            "designs": [
                {
                    "name": "node",
                    "trays_per_block": 2,
                    "gpus_per_tray": 1,
                    "blocks_per_rack": blocks_per_rack,
                    "intra_block_spares": [0, 1],
                    "inter_block_spares": 0,
                }
            ],
            "failures": {"tray": {"mtbf": "8 h"}, "rack": {"mtbf": "20 h"}, "domains": domains},
            "repair_plans": [{"name": "r", "tray": {"hands_on": "1 h"}, "rack": {"hands_on": "1 h"}}],
            "checkpoint_plans": [{"name": "c", "period": "1 h", "save": "0 s", "detection": "0 s", "restart": "0 s"}],
        }
    )


@pytest.mark.parametrize("intra", [0, 1])
@pytest.mark.parametrize(
    "racks, blocks_per_rack, spans",
    [
        (3, 2, (2,)),  # racks in groups of 2 and 1, as cooling units
        (3, 1, (2,)),
        (4, 1, (2, 4)),  # a domain of 4 racks is the zone
        (2, 2, (1, 2)),
        (5, 1, (2, 4)),
        (4, 1, (4,)),  # independent blocks and a feed for all
        (1, 3, ()),  # the rack is the zone
    ],
)
def test_every_state_of_a_zone_of_an_instance(
    racks: int, blocks_per_rack: int, spans: tuple[int, ...], intra: int
) -> None:
    """Proves 1 − A and Λ of a zone for all R against every state of its trays, racks and domains, spelled out here.

    Domain k of a span s holds the racks s·k to s·(k+1) − 1.  Given that the zone is not short, working blocks are any
    L − R of the usable ones, equally likely; a rack or domain counts in Λ when one of them is below it.  Nothing of
    topology or availability is used.  If it broke, some site would be scored with another structure than it states.
    """
    blocks = racks * blocks_per_rack
    rack_of = [block // blocks_per_rack for block in range(blocks)]
    shared = [(1 / 20, {block for block in range(blocks) if rack_of[block] == rack}) for rack in range(racks)]
    for i, span in enumerate(spans):
        for first in range(0, racks, span):
            members = {block for block in range(blocks) if first <= rack_of[block] < first + span}
            shared.append((1 / (16 + i), members))
    tray_q = 1 / 9
    block_up = (1 - tray_q) ** 2 + (2 * tray_q * (1 - tray_q) if intra else 0.0)
    # trays are of one block only: their states are summed over first, those of shared things one by one
    sets = dict.fromkeys(range(2**blocks), 0.0)
    for state in range(2 ** len(shared)):
        probability, standing = 1.0, set(range(blocks))
        for place, (rate, members) in enumerate(shared):
            q = rate / (1 + rate)
            if state >> place & 1:
                probability *= q
                standing -= members
            else:
                probability *= 1 - q
        for size in range(len(standing) + 1):
            weight = probability * block_up**size * (1 - block_up) ** (len(standing) - size)
            for up in combinations(sorted(standing), size):
                sets[sum(1 << block for block in up)] += weight
    site = zone_of(racks, blocks_per_rack, tuple(f"{span} racks" for span in spans))
    structure = zone_structure(site, site.zones[0], site.designs[0], racks)
    scores = zone_scores(structure, zone_repair(site, site.repair_plans[0]), intra, np.arange(blocks))
    for r in range(blocks):
        enough, charged = 0.0, 0.0
        for mask, probability in sets.items():
            usable = [block for block in range(blocks) if mask >> block & 1]
            if len(usable) < blocks - r:
                continue
            enough += probability
            choices = list(combinations(usable, blocks - r))
            hits = sum(rate for chosen in choices for rate, members in shared if not members.isdisjoint(chosen))
            charged += probability * hits / len(choices)
        assert scores.unavailability[r] == pytest.approx(1 - enough, abs=1e-12)
        assert scores.rate[r] == pytest.approx((blocks - r) * (2 - intra) / 8 + charged / enough, rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(trees(), st.floats(0.0, 1.0))
def test_less_reliable_domains_never_help(root: Domain, worse: float) -> None:
    """Proves that raising the unavailability of every node of a tree lowers no tail.

    If it broke, an optimiser could gain by buying less reliable parts.
    """

    def worsened(domain: Domain) -> Domain:
        q = domain.unavailability + (1 - domain.unavailability) * worse
        return Domain(domain.name, q, tuple((worsened(child), count) for child, count in domain.children))

    spares = np.arange(root.blocks + 1)
    before, after = (shortfall_tails(unusable_law(tree), spares) for tree in (root, worsened(root)))
    assert np.all(after >= before * (1 - 1e-12) - 1e-15)
    closed = zone_shortfall(root.blocks, spares, np.array([[0.1 * worse], [0.1]]))
    assert np.all(closed[0] <= closed[1] * (1 + 1e-12))
