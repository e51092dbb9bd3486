"""P(a zone, or any zone of a site, is short) given the law of failed trays and racks, their sets being uniform.

Repair crews that are shared make units dependent, but units of a class stay alike: given that f of the N trays of a
pool are failed, every set of f trays is equally likely (and of racks, independently).  A block of K trays is unusable
if its rack is failed or more than I of its trays are.  With

    g(y) = Σ_{j≤I} C(K, j) y^j,    h(y) = Σ_{j>I} C(K, j) y^j,    g + h = (1 + y)^K,

a zone of L blocks has b unusable ones, given f failed trays and no failed rack, with probability
[y^f] C(L, b) g^(L−b) h^b / C(LK, f).  With r failed racks of m blocks each, mr blocks are unusable, L − mr others
follow the same law in their own trays, and the K·m·r trays below failed racks contribute (1 + y)^(K m r).

Several zones.  Where crews serve all zones of a site, N counts the trays of all zones (which may differ in L, K, I and
R), and so for racks.  Let F_z(y, x) and S_z(y, x) be the polynomials of zone z not being and being short,

    F_z = Σ_r C(L/m, r) x^r (1 + y)^(K m r) Σ_{b ≤ R − mr} C(L − mr, b) g^(L−mr−b) h^b,
    T_z = F_z + S_z = (1 + y)^(L K) (1 + x)^(L/m).

No zone is short with probability [y^f x^r] ∏ F_z / (C(N, f) C(N', r)), and any with D = ∏ T_z − ∏ F_z in place of the
product.  D follows without subtraction from D of two parts of the site, D = D_1 T_2 + F_1 D_2, so that zones alike take
a doubling each.

Bounds.  Let A be P(no zone short).

- A ≤ Σ π(f, r) ∏_z P(z not short | f, r), whatever the law π.  Uniform sets of a given size have negatively associated
  indicators, independent such classes together, too, and "not short" is a decreasing event of each zone's own units
  (Joag-Dev and Proschan 1983, theorem 2.11, properties 6 and 7).
- A ≤ ∏_z A_z, where zone z alone has all the crews, for the law of `spareopt.numerics.crews`: its failed sets have
  P(set B) ∝ w(B) = ∏_{i∈B} (a_i + b_i) · E ψ(X_B), where a_i and b_i are a unit's loads on delay and crews, X_B is a
  sum of independent indicators with probabilities b_i/(a_i + b_i), i in B, and ψ(Q + 1)/ψ(Q) = max(1, (Q + 1)/c) does
  not fall.  For other units i and j, w(B+i+j) w(B) − w(B+i) w(B+j) has the sign of E ψ(X+2) E ψ(X) − (E ψ(X+1))² ≥ 0,
  because a mixture of log-convex sequences is log-convex.  So w(B+i)/w(B) grows with B.  A zone alone has the
  same w on its own units; by Holley's inequality (1974) the failed set of zones that share crews is
  stochastically larger than that of zones with as many crews each, which are independent.
- A ≥ ∏_z P(z not short) with each zone's probability taken under the shared law (`zone_shortfalls_given_law`): w is
  log-supermodular, so decreasing events are positively correlated (Fortuin, Kasteleyn and Ginibre 1971).

Neither upper bound is always the smaller one.  The last two hold for units with different rates and repairs, too.

Numerics.  With y = q/(1 − q) times a new variable (a tilt) the coefficients are probabilities of independent trays
that are failed with probability q, and C(LK, f) becomes the binomial probability of f; so for racks.  A tilt serves the
band of f in which that probability is at least 1e-150; more bands follow where the law is wider.  All sums are of
non-negative terms, so that probabilities of being short keep their digits however small they are (relative error
about 1e-12 at 20,000 trays); an FFT would lose them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log, log1p

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_FIRST_CUT = 1e-22  # mass of failed numbers left out at first
_LEFT_OUT = 1e-12  # share of the smallest result that may be left out
_LEAST_WEIGHT = log(1e-150)  # of a band's ends under its tilt, so that products stay above underflow
_LEAST_RACK_WEIGHT = log(1e-50)  # of racks beside trays: together they must stay above underflow, too
_HOPELESS = 1e-14  # P(no zone short) that is taken for 0 where a law is large
_TILT_STEP = 2.0**-40  # tilts are multiples, so that 1 − q is exact and its powers are, too, to the last digits


_NOT_NEGATIVE = "a zone needs a block, a block a tray, and numbers of spares must not be negative"


@dataclass(frozen=True)
class ZoneShape:
    """A zone of ``blocks`` (L) blocks of ``trays`` (K), short when more than ``inter_spares`` (R) blocks are unusable.

    ``intra_spares`` is I, the failed trays a block can bear; ``count`` is the number of zones like this one.
    """

    blocks: int
    trays: int
    intra_spares: int
    inter_spares: int
    blocks_per_rack: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        if self.blocks < 1 or self.trays < 1 or self.intra_spares < 0 or self.inter_spares < 0:
            raise ValueError(_NOT_NEGATIVE)
        if self.blocks_per_rack < 1 or self.blocks % self.blocks_per_rack:
            raise ValueError(f"{self.blocks} blocks do not fill racks of {self.blocks_per_rack}")
        if self.count < 1:
            raise ValueError(f"the number of zones must be at least 1, not {self.count}")

    @property
    def racks(self) -> int:
        """Racks of one zone."""
        return self.blocks // self.blocks_per_rack

    @property
    def all_trays(self) -> int:
        """Trays of one zone."""
        return self.blocks * self.trays


def zone_shortfall_given_law(
    blocks: int, blocks_per_rack: int, trays: int, intra_spares: int, failed: ArrayLike, inter_spares: ArrayLike
) -> Array:
    """P(more than R of the zone's blocks are unusable) for each R in ``inter_spares`` (whose shape it has).

    ``failed[f]`` is the probability of f failed trays in the zone (racks never fail), ``failed[f, r]`` that of f failed
    trays and r failed racks; entries beyond its shape are zero.  Failed numbers are left out only where they cannot
    change any result by more than about 1e-12 of itself.

    Raises ValueError where counts are impossible: blocks that do not fill racks, more failed units than there are, and
    where ``failed`` is not a law.
    """
    spares = np.asarray(inter_spares, dtype=np.int64)
    if np.any(spares < 0):
        raise ValueError(_NOT_NEGATIVE)
    ZoneShape(blocks, trays, intra_spares, 0, blocks_per_rack)  # refuses impossible numbers
    law = _law(failed)
    most_racks = law.shape[1] - 1
    if most_racks > blocks // blocks_per_rack or len(law) - 1 > blocks * trays:
        raise ValueError("the law has more failed trays or racks than the zone")
    if not spares.size:
        return np.zeros(spares.shape)
    trays_failed = law.sum(axis=1)

    def attempt(cut: float) -> Array:
        first, last = _carrying(trays_failed, cut)
        law_of_unusable = _unusable(
            blocks, blocks_per_rack, trays, intra_spares, law[first : last + 1], first, spares, cut
        )
        # added from the far end, smallest first, never as 1 − head
        tails = np.append(np.cumsum(law_of_unusable[::-1])[::-1], 0.0)
        return np.asarray(tails[np.minimum(spares, blocks) + 1])

    possible = min(blocks, most_racks * blocks_per_rack + (len(law) - 1) // (intra_spares + 1))
    return _refined(attempt, spares < possible)


def site_shortfall_given_law(zones: Sequence[ZoneShape], failed: ArrayLike) -> float:
    """P(any zone is short) where crews or a shelf serve all zones together, so that zones are not independent.

    ``failed[f]`` is the probability of f failed trays in all zones together (racks never fail), ``failed[f, r]`` that
    of f failed trays and r failed racks; entries beyond its shape are zero.  Failed numbers are left out only where
    they cannot change the result by more than about 1e-12 of itself.

    Raises ValueError where there is no zone or the law is none, or has more failed units than there are.
    """
    shapes, law = _site(zones, failed)
    (_, trays), (_, racks) = (_carrying(law.sum(axis=axis), _FIRST_CUT) for axis in (1, 0))
    surely = 0.0
    if _is_large(racks + 1, trays + 1):  # crews are overloaded: most of the law is hopeless
        trays, racks = _hopeless(zones, 0, len(law) - 1), _hopeless(zones, 1, law.shape[1] - 1)
        surely = float(law[trays:].sum() + law[:trays, racks:].sum())
        law = law[:trays, :racks]

    def attempt(cut: float) -> Array:
        cut = max(cut, 0.1 * _LEFT_OUT * surely)
        return np.array([surely + sum(_any_short(band, shapes, cut) for band in _tilted(shapes, law, cut))])

    possible = any(_may_be_short(shape, law) for shape in shapes)
    return float(_refined(attempt, np.array([possible]))[0])


def zone_shortfalls_given_law(zones: Sequence[ZoneShape], failed: ArrayLike) -> Array:
    """P(a zone is short) for one zone of each of ``zones``, under the law of all zones' failed units together.

    Arguments and errors as for `site_shortfall_given_law`.  With the law of `crews`, the product of the zones'
    probabilities of not being short is at most that of no zone being short (see the module).
    """
    shapes, law = _site(zones, failed)
    alike = [replace(shape, count=1) for shape in zones]
    distinct = list(shapes)

    def attempt(cut: float) -> Array:
        each = np.zeros(len(distinct))
        for band in _tilted(shapes, law, cut):
            for place, shape in enumerate(distinct):
                each[place] += float((band.with_others(band.zone(shape, cut)) * band.weights).sum())
        return each

    each = _refined(attempt, np.array([_may_be_short(shape, law) for shape in distinct]))
    return np.asarray(each[[distinct.index(shape) for shape in alike]])


def alike_shortfalls_given_law(zones: Sequence[ZoneShape], failed: ArrayLike, number: int) -> Array:
    """1 − Σ π(f, r) P(the zone is fine | f, r)^n for one zone of each of ``zones``, under the law π of the whole site.

    With u_z that sum and n the ``number`` of all zones, ∏_z u_z^(1/n) is at least the probability that no zone is short
    (any law π: negative association as in the module, then Hölder's inequality), and close to it where zones are alike.
    Arguments and errors as for `site_shortfall_given_law`; ``zones`` need only have the site's units in all.
    """
    shapes, law = _site(zones, failed)
    distinct = list(shapes)

    def attempt(cut: float) -> Array:
        each = np.zeros(len(distinct))
        for band in _tilted(shapes, law, cut):
            whole = np.outer(band.law_of_racks(band.racks), band.law_of_trays(band.trays))
            for place, shape in enumerate(distinct):
                short = np.minimum(band.with_others(band.zone(shape, cut)) / whole, 1.0)
                with np.errstate(divide="ignore"):
                    any_short = -np.expm1(number * np.log1p(-short))
                each[place] += float((any_short * whole * band.weights).sum())
        return each

    each = _refined(attempt, np.array([_may_be_short(shape, law) for shape in distinct]))
    return np.asarray(each[[distinct.index(replace(shape, count=1)) for shape in zones]])


def _site(zones: Sequence[ZoneShape], failed: ArrayLike) -> tuple[dict[ZoneShape, int], Array]:
    """Numbers of zones by shape, and the law."""
    shapes: Counter[ZoneShape] = Counter()
    for zone in zones:
        shapes[replace(zone, count=1)] += zone.count
    if not shapes:
        raise ValueError("a site needs a zone")
    law = _law(failed)
    trays = sum(shape.all_trays * n for shape, n in shapes.items())
    racks = sum(shape.racks * n for shape, n in shapes.items())
    if len(law) - 1 > trays or law.shape[1] - 1 > racks:
        raise ValueError("the law has more failed trays or racks than the zones")
    return shapes, law


def _hopeless(zones: Sequence[ZoneShape], axis: int, most: int) -> int:
    """Fewest failed trays (axis 0) or racks (1) with which no zone is short with probability _HOPELESS or less."""

    def hopeless(number: int) -> bool:
        law = np.zeros((number + 1, 1) if axis == 0 else (1, number + 1))
        law[-1, -1] = 1.0
        counts = np.array([zone.count for zone in zones])
        fine = 1.0 - zone_shortfalls_given_law(zones, law)
        return bool(np.prod(fine**counts) <= _HOPELESS)

    return bisect_left(range(most + 1), True, key=hopeless)


def _may_be_short(shape: ZoneShape, law: Array) -> bool:
    most_trays, most_racks = (size - 1 for size in law.shape)
    by_trays = most_trays // (shape.intra_spares + 1) if shape.intra_spares < shape.trays else 0
    return bool(shape.inter_spares < min(shape.blocks, most_racks * shape.blocks_per_rack + by_trays))


def _law(failed: ArrayLike) -> Array:
    """The law with a column for each number of failed racks and without zeros beyond its last entries."""
    law = np.asarray(failed, dtype=np.float64)
    if law.ndim == 1:
        law = law[:, None]
    if law.ndim != 2 or np.any(law < 0) or not abs(float(law.sum()) - 1.0) <= 1e-9:  # not <= is true for NaN
        raise ValueError("the law of the failed numbers must be one or two dimensions of probabilities that sum to 1")
    rows, columns = np.nonzero(law)
    return law[: int(rows.max()) + 1, : int(columns.max()) + 1]


def _refined(attempt: Callable[[float], Array], possible: NDArray[np.bool_]) -> Array:
    """Results that lack only some 1e-12 of themselves.

    An attempt leaves out failed numbers that together have a probability of at most ``cut``, and in each band numbers
    of unusable blocks that do, and so falls short of the truth by a few times that; its results are lower bounds, from
    which a small enough cut follows.
    """
    result = attempt(_FIRST_CUT)
    if possible.any():
        allowed = _LEFT_OUT * float(result[possible].min())
        if allowed < _FIRST_CUT:
            result = attempt(allowed)
    return np.minimum(result, 1.0)  # rounding may make a sum a hair more than 1


def _carrying(mass: Array, cut: float) -> tuple[int, int]:
    """First and last place such that at most ``cut`` of the mass is outside."""
    head, tail = np.cumsum(mass) > 0.5 * cut, np.cumsum(mass[::-1]) > 0.5 * cut
    return int(head.argmax()), len(mass) - 1 - int(tail.argmax())


def _unusable(
    blocks: int, blocks_per_rack: int, trays: int, intra_spares: int, law: Array, first: int, spares: Counts, cut: float
) -> Array:
    """P(b blocks unusable) for each b, where it matters to ``spares``: b above the least R.

    Those that make the zone short at every R may be counted anywhere above the largest R.  In each band, b that carry
    at most ``cut`` may be left out.
    """
    least, most = int(spares.min()), int(spares.max())
    unusable = np.zeros(blocks + 1)
    carrying = _carrying(law.sum(axis=0), cut)
    racks = [r for r in range(carrying[0], carrying[1] + 1) if r * blocks_per_rack <= most and law[:, r].any()]
    for r in range(most // blocks_per_rack + 1, law.shape[1]):
        unusable[r * blocks_per_rack] += law[:, r].sum()
    if not racks:
        return unusable
    first, law, mirrored = _few(blocks * trays, first, law)
    fewest = max(0, least + 1 - racks[-1] * blocks_per_rack)  # unusable blocks in racks that are up
    for low, high, tilt in _bands(blocks * trays, first, first + len(law) - 1):
        block = _Block.tilted(trays, intra_spares, tilt, mirrored)
        greatest = min(blocks, block.most_bad(high))
        if greatest < fewest:
            continue
        weights = np.zeros((high + 1, law.shape[1]))
        weights[low:] = law[low - first : high - first + 1]
        weights[low:] /= np.exp(_log_binomial(blocks * trays, tilt, high)[low:])[:, None]
        greatest = block.enough_bad(blocks, blocks * trays, most, greatest, weights.sum(axis=1), cut)
        bad = _powers(block.bad, fewest, greatest, high + 1)
        fewest_good = max(0, blocks - racks[-1] * blocks_per_rack - greatest)
        good = _powers(block.good, fewest_good, blocks - fewest, high + 1)
        width = min(high + 1, (len(block.good) - 1) * (blocks - fewest) + 1)
        for r in racks:
            in_up_racks = blocks - r * blocks_per_rack
            numbers = np.arange(max(0, least + 1 - r * blocks_per_rack), min(in_up_racks, greatest) + 1)
            if not numbers.size:
                continue
            # Σ_f weight(f) [y^f] good^(n−b) bad^b (1 + y)^(trays below failed racks): first the last factor, then the
            # two others as a bilinear form with the weight at the sum of their failed numbers
            below = np.exp(_log_binomial(trays * (blocks - in_up_racks), tilt, high))
            rest = _summed(weights[:, r], below)
            # (one b at a time: as a matrix product it is no faster, and far slower where BLAS threads fight for cores)
            sums = np.append(rest, np.zeros(width - 1))
            of_both = np.zeros(len(numbers))
            for place, b in enumerate(numbers):
                start = b * (0 if mirrored else intra_spares + 1)  # bad^b has no lower powers
                powers = good[in_up_racks - b - fewest_good, : min(width, high + 1 - start)]
                of_good = np.correlate(sums[start : high + len(powers)], powers, "valid")
                of_both[place] = of_good @ bad[b - fewest, start:]
            unusable[r * blocks_per_rack + numbers] += block.number_bad(in_up_racks, numbers) * of_both
    return unusable


@dataclass(frozen=True)
class _Part:
    """Some zones of a site in a band: polynomials of none of them being short, and of any being short.

    ``p[r, f]`` is the coefficient of r failed racks and f failed (mirrored: up) trays; rows and columns beyond are left
    out because they cannot matter (or for ``fine``, are 0).
    """

    trays: int
    racks: int
    fine: Array
    short: Array


@dataclass(frozen=True)
class _Band:
    """A range of the law of a site under tilts of trays and racks.

    ``weights[r, f]`` is the law, divided by the tilted probability of so many failed racks and failed (mirrored: up)
    trays.
    """

    weights: Array
    trays: int
    racks: int
    tray_tilt: float
    rack_tilt: float
    mirrored: bool

    @cached_property
    def tray_weights(self) -> Array:
        """The law of the failed trays alone, as ``weights``."""
        return np.asarray(self.law_of_racks(self.racks) @ self.weights)

    @cached_property
    def rack_weights(self) -> Array:
        """The law of the failed racks alone, as ``weights``."""
        return np.asarray(self.weights @ self.law_of_trays(self.trays))

    def law_of_trays(self, number: int) -> Array:
        """Tilted probabilities of the failed of so many trays."""
        return np.exp(_log_binomial(number, self.tray_tilt, self.weights.shape[1] - 1))

    def law_of_racks(self, number: int) -> Array:
        return np.exp(_log_binomial(number, self.rack_tilt, len(self.weights) - 1))

    def reach(self, trays: int, racks: int, cut: float) -> tuple[int, int]:
        """Rows and columns for a part of the site, beyond which its failed racks and trays have at most ``cut`` each.

        The failed of a part of the units, under the law of all, are what the tilted units make of the weights.
        """

        def most(weights: Array, part: Array, others: Array) -> int:
            return _carrying(part * _summed(weights, others)[: len(part)], cut)[1] + 1

        return (
            most(self.rack_weights, self.law_of_racks(racks), self.law_of_racks(self.racks - racks)),
            most(self.tray_weights, self.law_of_trays(trays), self.law_of_trays(self.trays - trays)),
        )

    def zone(self, shape: ZoneShape, cut: float) -> _Part:
        """One zone.

        With n = L − mr blocks in racks that are up, and R − mr = s spares left for them, the row of r failed racks is
        Σ_b c_b good^(n−b) bad^b over b ≤ s or b > s.  Both are Horner sums, good^(n−s) Σ_b c_b good^(s−b) bad^b and
        bad^(s+1) Σ_k c_(s+1+k) good^(n−s−1−k) bad^k, in which n − s = L − R is the same for all rows.
        """
        most_racks, length = self.reach(shape.all_trays, shape.racks, cut)
        blocks, spares, per_rack = shape.blocks, min(shape.inter_spares, shape.blocks), shape.blocks_per_rack
        block = _Block.tilted(shape.trays, shape.intra_spares, self.tray_tilt, self.mirrored)
        rows = min(most_racks, spares // per_rack + 1)
        up = [blocks - per_rack * r for r in range(rows)]  # blocks in racks that are up
        left = [spares - per_rack * r for r in range(rows)]  # spares left for them
        chances = [block.number_bad(n, np.arange(n + 1)) for n in up]

        greatest = min(blocks, block.most_bad(length - 1))
        greatest = block.enough_bad(blocks, self.trays, spares, greatest, self.tray_weights, cut)
        terms = max(0, min(blocks - spares, greatest - left[-1]))  # of the sum over k
        fine, short, bad = np.zeros((rows, length)), np.zeros((rows, length)), np.eye(1, length)[0]
        for b in range(max(spares + 1, terms)):
            if b <= spares:
                able = min(rows, (spares - b) // per_rack + 1)  # rows with so many spares left
                coefficients = np.array([chance[b] for chance in chances[:able]])
                fine[:able] = _times(fine[:able], block.good) + np.outer(coefficients, bad)
            if b < terms:
                coefficients = np.array([chance[s + 1 + b] for chance, s in zip(chances, left, strict=True)])
                short = _times(short, block.good) + np.outer(coefficients, bad)
            bad = np.convolve(bad, block.bad)[:length]

        # what all rows have in common, and the trays below failed racks
        in_fine = _powers(block.good, blocks - spares, blocks - spares, length)[0]
        in_short = _powers(block.good, blocks - spares - terms, blocks - spares - terms, length)[0]
        more_bad = _powers(block.bad, left[-1] + 1, spares + 1, length)[::-per_rack]
        of_racks = self.law_of_racks(shape.racks)[:most_racks, None]
        any_state = of_racks * self.law_of_trays(shape.all_trays)[:length]
        all_short = np.zeros((most_racks, length))
        all_short[rows:, : any_state.shape[1]] = any_state[rows:]
        for r in range(rows):
            below = of_racks[r] * self.law_of_trays(shape.all_trays - shape.trays * up[r])
            fine[r] = np.convolve(fine[r], np.convolve(in_fine, below)[:length])[:length]
            if terms:
                factor = np.convolve(more_bad[r], np.convolve(in_short, below)[:length])[:length]
                all_short[r] = np.convolve(short[r], factor)[:length]
        return _Part(shape.all_trays, shape.racks, fine, all_short)

    def alike(self, zone: _Part, count: int, cut: float, fine: bool) -> _Part:
        """So many zones alike, by doubling."""
        if count == 1:
            return zone
        half = self.alike(zone, count // 2, cut, True)
        if count % 2 == 0:
            return self.joined(half, half, cut, fine)
        return self.joined(self.joined(half, half, cut, True), zone, cut, fine)

    def joined(self, one: _Part, other: _Part, cut: float, fine: bool) -> _Part:
        """Two parts together; without ``fine`` where only being short is of interest."""
        trays, racks = one.trays + other.trays, one.racks + other.racks
        shape = self.reach(trays, racks, cut)
        short = self._any_state(one.short, other.trays, other.racks, shape)
        other_short = _product(one.fine, other.short, shape)
        short[: len(other_short)] += other_short
        return _Part(trays, racks, _product(one.fine, other.fine, shape) if fine else short[:0], short)

    def with_others(self, part: _Part) -> Array:
        """Polynomial of a part being short, the rest of the site being in any state."""
        return self._any_state(part.short, self.trays - part.trays, self.racks - part.racks, self.weights.shape)

    def _any_state(self, polynomial: Array, trays: int, racks: int, shape: tuple[int, ...]) -> Array:
        """A polynomial times that of so many trays and racks in any state."""
        of_trays = _product(polynomial, self.law_of_trays(trays)[None], (shape[0], shape[1]))
        result = np.zeros(shape)
        result[: len(of_trays)] = of_trays
        return _times(result.T, self.law_of_racks(racks)).T


def _tilted(shapes: dict[ZoneShape, int], law: Array, cut: float) -> Iterator[_Band]:
    """The bands of a law, of which at most a few times ``cut`` is left out."""
    if law.sum() <= cut:
        return
    trays = sum(shape.all_trays * n for shape, n in shapes.items())
    racks = sum(shape.racks * n for shape, n in shapes.items())
    first, last = _carrying(law.sum(axis=1), cut)
    first_rack, last_rack = _carrying(law.sum(axis=0), cut)
    first, law, mirrored = _few(trays, first, law[first : last + 1])
    for low, high, tilt in _bands(trays, first, first + len(law) - 1):
        of_trays = np.exp(_log_binomial(trays, tilt, high))[low:]
        for few, many, rack_tilt in _bands(racks, first_rack, last_rack, _LEAST_RACK_WEIGHT):
            of_racks = np.exp(_log_binomial(racks, rack_tilt, many))[few:]
            weights = np.zeros((many + 1, high + 1))
            weights[few:, low:] = law[low - first : high - first + 1, few : many + 1].T / of_trays / of_racks[:, None]
            yield _Band(weights, trays, racks, tilt, rack_tilt, mirrored)


def _any_short(band: _Band, shapes: dict[ZoneShape, int], cut: float) -> float:
    """P(any zone short) in a band: parts of the site are joined by D(a and b) = D(a) T(b) + F(a) D(b), D = T − F."""
    cut /= sum(shapes.values())
    zones = [(band.zone(shape, cut), count) for shape, count in shapes.items()]
    surely = 0.0
    if _is_large(*band.weights.shape):
        surely, band = _without_hopeless(band, zones, cut)
        rows, length = band.weights.shape
        zones = [
            (replace(zone, fine=zone.fine[:rows, :length], short=zone.short[:rows, :length]), count)
            for zone, count in zones
        ]
    if not band.weights.size:
        return surely
    site: _Part | None = None
    for place, (zone, count) in enumerate(zones):
        more = place + 1 < len(zones)
        alike = band.alike(zone, count, cut, more)
        site = alike if site is None else band.joined(site, alike, cut, more)
    assert site is not None
    rows, length = site.short.shape
    return surely + float((site.short * band.weights[:rows, :length]).sum())


def _without_hopeless(band: _Band, zones: list[tuple[_Part, int]], cut: float) -> tuple[float, _Band]:
    """Probability of the failed numbers with which a zone is surely short, and the band of the others.

    By negative association, P(no zone short) is at most the product of the zones' own P(not short), given the numbers.
    """
    of_numbers = np.outer(band.law_of_racks(band.racks), band.law_of_trays(band.trays))
    law = band.weights * of_numbers
    fine = np.ones(law.shape)
    for zone, count in zones:
        given = np.divide(band.with_others(zone), of_numbers, out=np.zeros(law.shape), where=law > 0)
        fine *= (1.0 - np.minimum(given, 1.0)) ** count
    hopeless = fine <= _HOPELESS
    surely = float(law[hopeless].sum())
    law[hopeless] = 0.0
    if law.sum() <= cut:
        return surely, replace(band, weights=np.zeros((0, 0)))
    rows, length = (_carrying(law.sum(axis=axis), cut)[1] + 1 for axis in (1, 0))
    return surely, replace(band, weights=np.where(hopeless, 0.0, band.weights)[:rows, :length])


def _is_large(racks: int, trays: int) -> bool:
    """Whether products of zones over so many failed numbers take long enough to look for hopeless ones before."""
    return (racks + 10) * trays > 20_000


def _times(rows: Array, polynomial: Array) -> Array:
    """Each row times a polynomial with few terms, cut to the rows' length."""
    length = rows.shape[-1]
    result = np.zeros_like(rows)
    for power in np.flatnonzero(polynomial[:length]):
        result[..., power:] += polynomial[power] * rows[..., : length - power]
    return result


def _product(one: Array, other: Array, shape: tuple[int, int]) -> Array:
    """Product of polynomials in two variables, cut to so many rows and columns."""
    result = np.zeros((min(shape[0], len(one) + len(other) - 1), shape[1]))
    for i, row in enumerate(one[: len(result)]):
        for j, other_row in enumerate(other[: len(result) - i]):
            product = np.convolve(row, other_row)[: shape[1]]
            result[i + j, : len(product)] += product
    return result


def _summed(weights: Array, others: Array) -> Array:
    """For each number n of failed units, Σ_k others(k) weights(n + k): what is left of the weights when others are."""
    return np.correlate(np.append(weights, np.zeros(len(others) - 1)), others, "valid")


def _few(units: int, first: int, law: Array) -> tuple[int, Array, bool]:
    """The law by the number of failed units, or (True) of units that are up where these are fewer."""
    last = first + len(law) - 1
    return (units - last, law[::-1], True) if first + last > units else (first, law, False)


def _bands(units: int, first: int, last: int, least: float = _LEAST_WEIGHT) -> Iterator[tuple[int, int, float]]:
    """Ranges of numbers with a tilt q under which ln P(Binomial(units, q)) is at least ``least`` from end to end.

    The best q makes both ends equally likely.
    """

    def log_sets(number: int) -> float:
        return float(gammaln(units + 1) - gammaln(number + 1) - gammaln(units - number + 1))

    if first == last:
        tilt = (first + 0.5) / (units + 1.0)
    else:
        tilt = 1.0 / (1.0 + exp((log_sets(last) - log_sets(first)) / (last - first)))
    tilt = min(max(round(tilt / _TILT_STEP), 1) * _TILT_STEP, 1.0 - _TILT_STEP)
    at_last = log_sets(last) + last * log(tilt) + (units - last) * log1p(-tilt)
    if at_last >= least or first == last:
        yield first, last, tilt
    else:
        middle = (first + last) // 2
        yield from _bands(units, first, middle, least)
        yield from _bands(units, middle + 1, last, least)


def _log_binomial(number: int, tilt: float, most: int) -> Array:
    """ln P(Binomial(number, tilt) = k) for k = 0..min(number, most), from ratios (ln Γ would lose digits)."""
    k = np.arange(1.0, min(number, most) + 1.0)
    odds = tilt / (1.0 - tilt)
    return np.concatenate([[0.0], np.cumsum(np.log((number + 1.0 - k) / k * odds))]) + number * log1p(-tilt)


@dataclass(frozen=True)
class _Block:
    """A block whose trays are failed (mirrored: up) independently with the tilt's probability.

    ln P(good) and ln P(bad), and the laws of the number of such trays given each.
    """

    log_good: float
    log_bad: float
    good: Array
    bad: Array
    least_bad: int
    tilt: float
    trays: int

    @classmethod
    def tilted(cls, trays: int, intra_spares: int, tilt: float, mirrored: bool) -> _Block:
        logs = _log_binomial(trays, tilt, trays)
        split = max(0, trays - intra_spares) if mirrored else min(intra_spares, trays) + 1
        fewer, more = logs[:split], np.append(np.full(split, -np.inf), logs[split:])
        good, bad = (more, fewer) if mirrored else (fewer, more)
        log_good, good = _normalised(good)
        log_bad, bad = _normalised(bad)
        return cls(log_good, log_bad, good, bad, 0 if mirrored else split, tilt, trays)

    def most_bad(self, units: int) -> int:
        """Most blocks that can be bad with so many failed (mirrored: up) trays."""
        if self.log_bad == -np.inf:
            return 0
        return units // self.least_bad if self.least_bad else np.iinfo(np.int64).max

    def enough_bad(self, blocks: int, units: int, most: int, greatest: int, weights: Array, cut: float) -> int:
        """A number of bad blocks above ``most`` that is exceeded with probability at most ``cut``, or ``greatest``.

        P(at least n of the blocks bad) ≤ C(L, n) P(n given blocks bad), from the union over all sets of n blocks.
        """
        step = 8
        while (number := most + 1 + step) <= greatest:
            others = np.exp(_log_binomial(units - number * self.trays, self.tilt, len(weights) - 1))
            given = float(_powers(self.bad, number, number, len(weights))[0] @ _summed(weights, others))
            ways = gammaln(blocks + 1.0) - gammaln(number + 1.0) - gammaln(blocks - number + 1.0)
            if given * exp(min(ways + number * self.log_bad, 700.0)) <= cut:
                return number - 1
            step *= 2
        return greatest

    def number_bad(self, blocks: int, numbers: Counts) -> Array:
        """P(so many of ``blocks`` blocks are bad)."""
        ways = gammaln(blocks + 1.0) - gammaln(numbers + 1.0) - gammaln(blocks - numbers + 1.0)
        bad = np.where(numbers > 0, self.log_bad, 0.0) * np.maximum(numbers, 1)
        return np.asarray(np.exp(ways + (blocks - numbers) * self.log_good + bad))


def _normalised(logs: Array) -> tuple[float, Array]:
    """ln of the sum of exponentials, and these divided by it; (−∞, zeros) where there is nothing to add."""
    peak = float(logs.max(initial=-np.inf))
    if peak == -np.inf:
        return peak, np.zeros(1)
    values = np.exp(logs - peak)
    total = float(values.sum())
    return peak + log(total), values / total


def _powers(polynomial: Array, first: int, last: int, length: int) -> Array:
    """Rows polynomial^first, …, polynomial^last, the coefficients below ``length``."""
    polynomial = polynomial[:length]
    power, square, exponent = np.ones(1), polynomial, first
    while exponent:
        if exponent & 1:
            power = np.convolve(power, square)[:length]
        exponent >>= 1
        if exponent:
            square = np.convolve(square, square)[:length]
    rows = np.zeros((last - first + 1, length))
    rows[0, : len(power)] = power
    for row in rows[1:]:
        power = np.convolve(power, polynomial)[:length]
        row[: len(power)] = power
    return rows
