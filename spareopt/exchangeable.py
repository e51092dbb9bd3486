"""P(a zone is short) from the law of the numbers of failed trays and racks, their sets being uniform.

Repair crews that are shared make units dependent, but units of a class stay alike: given that f of the N trays of a
pool are failed, every set of f trays is equally likely (and of racks, independently).  A block of K trays is unusable
if its rack is failed or more than I of its trays are.  With

    g(y) = Σ_{j≤I} C(K, j) y^j,    h(y) = Σ_{j>I} C(K, j) y^j,    g + h = (1 + y)^K,

a zone of L blocks has b unusable ones, given f failed trays and no failed rack, with probability
[y^f] C(L, b) g^(L−b) h^b / C(LK, f).  With r failed racks of m blocks each, mr blocks are unusable, L − mr others
follow the same law in their own trays, and the K·m·r trays below failed racks contribute (1 + y)^(K m r).

Numerics.  With y = q/(1 − q) times a new variable (a tilt) the coefficients are probabilities of independent trays
that are failed with probability q, and C(LK, f) becomes the binomial probability of f.  A tilt serves the band of f in
which that probability is at least 1e-150; more bands follow where the law is wider.  All sums are of
non-negative terms, so that probabilities of being short keep their digits however small they are (relative error
about 1e-12 at 20,000 trays); an FFT would lose them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, log, log1p

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_FIRST_CUT = 1e-22  # mass of failed numbers left out at first
_LEFT_OUT = 1e-12  # share of the smallest result that may be left out
_LEAST_WEIGHT = log(1e-150)  # of a band's ends under its tilt, so that products stay above underflow
_TILT_STEP = 2.0**-40  # tilts are multiples, so that 1 − q is exact and its powers are, too, to the last digits


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
    law, spares = _checked(blocks, trays, intra_spares, failed, inter_spares)
    if blocks_per_rack < 1 or blocks % blocks_per_rack:
        raise ValueError(f"{blocks} blocks do not fill racks of {blocks_per_rack}")
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


def zones_shortfall_given_law(
    blocks: int, trays: int, intra_spares: int, zones: int, failed: ArrayLike, inter_spares: ArrayLike
) -> Array:
    """P(any of ``zones`` identical zones has more than R unusable blocks) for each R in ``inter_spares``.

    ``failed[f]`` is the probability of f failed trays in all zones together: their crews are shared, so the zones are
    not independent.  With F(y) and S(y) a zone's polynomials of not being and of being short, F + S = (1 + y)^(LK), the
    answer for f is [y^f] ((F + S)^Z − F^Z) / C(ZLK, f), the difference as Σ_i F^i S (F + S)^(Z−1−i), without
    subtraction.

    Raises ValueError where counts are impossible and where ``failed`` is not a law over one pool.
    """
    law, spares = _checked(blocks, trays, intra_spares, failed, inter_spares)
    if zones < 1:
        raise ValueError(f"the number of zones must be at least 1, not {zones}")
    if law.shape[1] > 1 or len(law) - 1 > zones * blocks * trays:
        raise ValueError("the law must be that of failed trays, and not of more than the zones have")
    if not spares.size:
        return np.zeros(spares.shape)
    wanted, places = np.unique(spares, return_inverse=True)

    def attempt(cut: float) -> Array:
        first, last = _carrying(law[:, 0], cut)
        each = _any_short(blocks, trays, intra_spares, zones, law[first : last + 1, 0], first, wanted, cut)
        return each[places].reshape(spares.shape)

    return _refined(attempt, spares < min(blocks, (len(law) - 1) // (intra_spares + 1)))


def _checked(
    blocks: int, trays: int, intra_spares: int, failed: ArrayLike, inter_spares: ArrayLike
) -> tuple[Array, Counts]:
    """The law with a column for each number of failed racks and without zeros beyond its last entries; the spares."""
    spares = np.asarray(inter_spares, dtype=np.int64)
    if blocks < 1 or trays < 1 or intra_spares < 0 or np.any(spares < 0):
        raise ValueError("a zone needs a block, a block a tray, and numbers of spares must not be negative")
    law = np.asarray(failed, dtype=np.float64)
    if law.ndim == 1:
        law = law[:, None]
    if law.ndim != 2 or np.any(law < 0) or not abs(float(law.sum()) - 1.0) <= 1e-9:  # not <= is true for NaN
        raise ValueError("the law of the failed numbers must be one or two dimensions of probabilities that sum to 1")
    rows, columns = np.nonzero(law)
    return law[: int(rows.max()) + 1, : int(columns.max()) + 1], spares


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
            rest = np.correlate(np.append(weights[:, r], np.zeros(len(below) - 1)), below, "valid")
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


def _any_short(
    blocks: int, trays: int, intra_spares: int, zones: int, law: Array, first: int, wanted: Counts, cut: float
) -> Array:
    """P(any zone short) at each ``wanted`` R; numbers of unusable blocks that carry at most ``cut`` may be left out."""
    units = zones * blocks * trays
    first, column, mirrored = _few(units, first, law[:, None])
    result = np.zeros(len(wanted))
    for low, high, tilt in _bands(units, first, first + len(law) - 1):
        block = _Block.tilted(trays, intra_spares, tilt, mirrored)
        weights = np.zeros(high + 1)
        weights[low:] = column[low - first : high - first + 1, 0] / np.exp(_log_binomial(units, tilt, high)[low:])
        greatest = min(blocks, block.most_bad(high))
        greatest = block.enough_bad(blocks, units, int(wanted[-1]), greatest, weights, cut / zones)
        bad = _powers(block.bad, 0, greatest, high + 1)
        good = _powers(block.good, blocks - greatest, blocks, high + 1)
        polynomials = np.zeros((greatest + 2, high + 1))  # of b unusable blocks; the last row stays empty
        for b, share in enumerate(block.number_bad(blocks, np.arange(greatest + 1))):
            start = b * (0 if mirrored else intra_spares + 1)
            width = min(high + 1, (len(block.good) - 1) * (blocks - b) + 1)
            product = np.convolve(bad[b, start:], good[greatest - b, :width])[: high + 1 - start]
            polynomials[b, start : start + len(product)] = share * product
        everything = np.zeros(high + 1)
        of_zone = np.exp(_log_binomial(blocks * trays, tilt, high))
        everything[: len(of_zone)] = of_zone
        fine = np.cumsum(polynomials, axis=0)
        short = np.cumsum(polynomials[::-1], axis=0)[::-1]
        for place, spares in enumerate(wanted):
            if spares < greatest:
                some = _some_short(fine[spares], short[spares + 1], everything, zones)
                result[place] += float(some @ weights)
    return result


def _some_short(fine: Array, short: Array, everything: Array, zones: int) -> Array:
    """(fine + short)^zones − fine^zones by doubling: D(2n) = D(n) ((F+S)^n + F^n), D(n+1) = D(n) (F+S) + F^n S."""
    length = len(fine)
    some, all_fine, total = short, fine, everything
    for bit in bin(zones)[3:]:
        some = np.convolve(some, total + all_fine)[:length]
        all_fine = np.convolve(all_fine, all_fine)[:length]
        total = np.convolve(total, total)[:length]
        if bit == "1":
            some = (np.convolve(some, everything) + np.convolve(all_fine, short))[:length]
            all_fine = np.convolve(all_fine, fine)[:length]
            total = np.convolve(total, everything)[:length]
    return some


def _few(units: int, first: int, law: Array) -> tuple[int, Array, bool]:
    """The law by the number of failed units, or (True) of units that are up where these are fewer."""
    last = first + len(law) - 1
    return (units - last, law[::-1], True) if first + last > units else (first, law, False)


def _bands(units: int, first: int, last: int) -> Iterator[tuple[int, int, float]]:
    """Ranges of numbers with a tilt q under which Binomial(units, q) is at least 1e-150 from end to end.

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
    if at_last >= _LEAST_WEIGHT or first == last:
        yield first, last, tilt
    else:
        middle = (first + last) // 2
        yield from _bands(units, first, middle)
        yield from _bands(units, middle + 1, last)


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
            rest = np.correlate(np.append(weights, np.zeros(len(others) - 1)), others, "valid")
            given = float(_powers(self.bad, number, number, len(weights))[0] @ rest)
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
