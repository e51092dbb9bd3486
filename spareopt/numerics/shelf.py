"""The law of the number of failed trays where they are swapped from a shelf that a vendor refills.

N tray positions, each failing at ``rate`` while up.  A share s of the faults needs a new tray: one is ordered at once
(lead time of any law, mean T) and one is taken from a shelf of S trays.  With x trays on order, b = (x − S)+ positions
wait for a tray (backorders).  Positions that have their tray, or whose fault needs none, are in the swap: an off-crew
delay (any law, mean D) and hands-on work (mean h) at c crews, or at crews that are never waited for.

*Palm.*  If faults came at the constant rate N·rate, x would be Poisson with mean s·N·rate·T, whatever the law of the
lead time (`palm_backorders`; its mean, `expected_backorders`, is the EBO of METRIC, Sherbrooke 1968).

*Instant swaps* (`backorder_law`).  The N + S trays circle through two stations: min(N, N + S − x) of them fail at
``rate`` each, the others on the shelf stand in line for a position, and x are at the vendor, who serves all at once.
This closed network has a product form, insensitive to the law of the lead time, with the weights

    ∏_{x'<x} min(N, N + S − x') · s·rate·T/(x' + 1),    x = 0..N + S.

*Swaps that take time* (`failed_law_with_shelf`).  While the shelf is empty (x ≥ S) the positions circle through up,
vendor (b at work at the rate (S + b)/T), delay and crews: a closed network whose weights are, with f positions in the
swap, k = b + f failed and N − k up,

    1/(N − k)! · v(b) · w(f),    v(b) = ∏_{i≤b} s·rate·T/(S + i),
    w(f) = Σ_{q≤f} (rate·D)^(f−q)/(f − q)! · ∏_{i≤q} rate·h/min(i, c),

so that the law of k is a convolution; given b, the swap has the law of `crews` for N − b units.  While the
shelf holds trays (x < S) the number in the swap lives by itself, whatever x is, with the weights w(f)/(N − f)!.  There
x is taken to see its mean: new trays are asked for at the rate s·rate·E[up], as if by Norton's equivalent server, and x
has the weights m^x/x! with m = s·rate·T·E[up].  The two parts meet at x = S, where b = 0.

Exact are three limits: swaps that take no time (any law of the lead time), no shelf (any laws of lead time and delay;
hands-on work exponential first come, first served, or of any law with divided time), and a shelf that is never empty.
In between it is an approximation: given that the shelf holds trays, trays on order and positions in the swap are taken
as independent, though the same fault starts both.  Against full-state chains (5 to 200 positions, 0.3 to 10 trays on
order in the mean but at most a third of the positions, shelves of that mean and up to four standard deviations more;
2000 positions, up to three; no delay, exponential times) the largest relative error of P(more than k failed), of all k
where that is above 1e-6, is

    swap/lead time                       0.01     0.03      0.1      0.3        1
    crews never waited for                3 %      5 %     12 %     37 %     54 %
    crews busy for up to 80 % of time     3 %      5 %      7 %      5 %     23 %

(0.5 % and 2 % in the first columns from 20 positions and up to a tenth of them on order, three standard deviations).
Errors above 7 % are under-estimates.

More trays on the shelf, a shorter lead time, a smaller share or rate lower every P(more than k failed) in all trials.
Faster swaps (hands-on time, delay, crews) lower the mean number failed, and in trials every P(more than k failed) where
s·rate·T ≤ 1; beyond that not even the exact law obeys: positions that come back sooner fail sooner, and may empty the
shelf together.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import pdtr, pdtrc

Array = NDArray[np.float64]

_LOG_CUT = log(1e-60)  # a factor of the weights is dropped where it is below this share of its largest value


def palm_backorders(mean_on_order: float, shelf: int) -> Array:
    """Law of the backorders (X − S)+ of a shelf of S trays, X ~ Poisson(``mean_on_order``) being the trays on order.

    Entry b is P(b positions wait), from 0 on; what is beyond its shape is less than 1e-40 of P(any waits).  The tail
    P(X > S) is an incomplete gamma function, shared out in the ratios of the Poisson terms, so that every entry keeps
    its relative accuracy.  Raises ValueError for a negative or infinite mean or a negative shelf.
    """
    _check(shelf, mean_on_order=mean_on_order)
    if mean_on_order == 0:
        return np.ones(1)
    reach = max(0.0, mean_on_order - shelf) + 100.0 + 18.0 * sqrt(mean_on_order)  # as in `spareopt.numerics.crews`
    waiting = _Factor.of_ratios(mean_on_order / (shelf + 1.0 + np.arange(1.0, ceil(reach))))  # X = S + 1, S + 2, …
    law = np.zeros(waiting.first + len(waiting.values) + 1)
    law[waiting.first + 1 :] = pdtrc(shelf, mean_on_order) / waiting.values.sum() * waiting.values
    law[0] = pdtr(shelf, mean_on_order)
    return law


def expected_backorders(mean_on_order: ArrayLike, shelf: ArrayLike) -> Array:
    """EBO: mean number of positions that wait for a tray, E[(X − S)+] for X ~ Poisson(``mean_on_order``).

    As Σ_{x≥S} P(X > x) for a shelf of at least the mean, else as the mean less S plus Σ_{x<S} P(X ≤ x): no difference
    of nearly equal numbers.  Broadcasts; raises ValueError for a negative or infinite mean or a negative shelf.
    """
    means, shelves = np.broadcast_arrays(np.asarray(mean_on_order, np.float64), np.asarray(shelf, np.int64))
    if not np.all((means >= 0) & (means < inf)) or np.any(shelves < 0):
        raise ValueError("means on order must be finite and, like shelves, not negative")
    if not means.size:
        return np.zeros(means.shape)
    # beyond so many terms a Poisson tail that starts at its mean or farther out is below 1e-17 of its first term
    beyond = np.arange(60 + ceil(9.0 * sqrt(float(means.max()))))
    levels, mean = shelves[..., None], means[..., None]
    short = levels < mean
    places = np.where(short, levels - 1 - beyond, levels + beyond)
    inside = np.where(short, pdtr(np.maximum(places, 0), mean), pdtrc(np.maximum(places, 0), mean))
    sums = np.where(places >= 0, inside, 0.0)[..., ::-1].sum(axis=-1)  # smallest terms first
    return np.asarray(np.maximum(means - shelves, 0.0) + sums)


def backorder_law(units: int, rate: float, lead_time: float, shelf: int, share: float = 1.0) -> Array:
    """Law of the number of positions that wait for a tray, swaps being instant: exact for any law of the lead time.

    Entry b is P(b of the ``units`` positions wait); what is beyond its shape is less than 1e-40.  ``rate`` per hour of
    a position that is up, ``lead_time`` the mean in hours, ``share`` of the faults that need a new tray.  Raises
    ValueError as `failed_law_with_shelf` does.
    """
    return failed_law_with_shelf(units, rate, 0.0, 0.0, None, lead_time, shelf, share)


def failed_law_with_shelf(
    units: int,
    rate: float,
    hands_on: float,
    off_crew: float,
    crews: int | None,
    lead_time: float,
    shelf: int,
    share: float = 1.0,
) -> Array:
    """Law of the number of failed trays: positions that wait for a tray from the shelf, and those in the swap.

    ``units`` positions (N) fail at ``rate`` per hour while up; mean hours of ``hands_on`` work of one of the ``crews``
    (None: never waited for), of the delay ``off_crew`` and of the vendor's ``lead_time``; ``shelf`` trays (S), and the
    ``share`` of the faults that need one (the others are repaired in place).  Entry k is P(k failed); what is beyond
    its shape is less than 1e-40.  Given k, the failed set is uniform (`exchangeable` takes the law as it is).

    See the module for what is exact.  All terms are non-negative and convolved directly, so that small probabilities
    keep their digits; each factor is scaled by the number up where failures and repairs balance, so that nothing
    overflows, and cut where it is below 1e-60 of its largest value.

    Raises ValueError for less than one unit or crew, a negative shelf, rates or times that are negative or not finite,
    and a share that is not between 0 and 1.
    """
    if units < 1:
        raise ValueError(f"a shelf serves at least one unit, not {units}")
    if crews is not None and crews < 1:
        raise ValueError(f"the number of crews must be at least 1, not {crews}")
    _check(shelf, rate=rate, hands_on=hands_on, off_crew=off_crew, lead_time=lead_time)
    if not 0 <= share <= 1:
        raise ValueError(f"a share must be between 0 and 1, not {share}")
    positions = np.arange(1.0, units + 1.0)
    servers = np.minimum(positions, units if crews is None else crews)
    new_trays, in_swap = share * rate * lead_time, rate * (off_crew + hands_on)  # on order, in the swap per unit up
    most_up = float(servers[-1]) / (rate * hands_on) if rate * hands_on > 0 else inf  # all crews are busy

    def network(up: float) -> tuple[_Factor, _Factor]:
        """Weights of the number in the swap, and of the number failed by the number up; ``up`` balances them."""
        delay = _Factor.of_ratios(up * rate * off_crew / positions)
        return delay.plus(_Factor.of_ratios(up * rate * hands_on / servers)), _Factor.of_ratios(up / positions)

    # The shelf holds trays: the swap lives by itself.
    up = min(units / (1.0 + in_swap), most_up)
    in_swap_law, of_up = network(up)
    stocked = in_swap_law.times(of_up.mirrored(units))
    mean_up = float((units - stocked.numbers) @ stocked.values) / stocked.total
    lasts, last_tray_gone = _last_tray(new_trays * mean_up, shelf)

    # The shelf is empty: b positions wait.  With x = S, b is 0, which is where the two parts meet.
    up = min(up, (units + shelf) / (1.0 + in_swap + new_trays))
    in_swap_law, of_up = network(up)
    waiting = _Factor.of_ratios(up * new_trays / (shelf + positions))
    empty = waiting.plus(in_swap_law).times(of_up.mirrored(units))
    none_waits = waiting.at_zero * in_swap_law.times(of_up.mirrored(units)).total / empty.total

    parts = ((stocked, lasts * none_waits), (empty, last_tray_gone))
    law = np.zeros(max(part.first + len(part.values) for part, _ in parts))
    for part, weight in parts:
        law[part.numbers] += weight / part.total * part.values
    return np.asarray(law / law.sum())


def with_backorders(
    in_repair: Array, units: int, rate: float, lead_time: float, shelf: int, share: float = 1.0
) -> Array:
    """Law of the failed trays (and racks beside them) from that of those in repair if no tray were ever waited for.

    ``in_repair[f]`` or ``in_repair[f, r]`` is the law of f of the ``units`` trays in the swap and of r failed racks
    that share its crews; the result has the same axes, the first with those added that wait for a tray.  It is
    `failed_law_with_shelf` with another class at the crews: given an empty shelf the weight of f in the swap, and of r,
    is its law times (N − f)!, so that b backorders multiply it by ∏_{j≤b} (N − f − j + 1)·s·rate·T/(S + j).  Exact and
    approximate as there.  Raises ValueError for impossible arguments.
    """
    law = np.asarray(in_repair, dtype=np.float64)
    _check(shelf, rate=rate, lead_time=lead_time)
    if units < 1 or len(law) > units + 1 or not 0 <= share <= 1:
        raise ValueError("the law must be of at most so many units, of which there is one, and the share from 0 to 1")
    failed, new_trays = np.arange(len(law)), share * rate * lead_time
    of_trays = law.reshape(len(law), -1).sum(axis=1)
    lasts, last_tray_gone = _last_tray(new_trays * float((units - failed) @ of_trays), shelf)
    if new_trays == 0:
        return np.asarray(law / law.sum())
    waiting = np.arange(1, units + 1)
    most = new_trays * (units - waiting + 1.0) / (shelf + waiting)  # ratios of neighbours with none in the swap
    logs = np.concatenate([[0.0], np.cumsum(np.log(most))])
    last = int(np.flatnonzero(logs >= logs.max() + _LOG_CUT)[-1])
    left = units - failed - waiting[:last, None] + 1.0  # rows b, columns f
    with np.errstate(divide="ignore"):
        steps = np.log(np.maximum(left, 0.0) * new_trays / (shelf + waiting[:last, None]))
    weights = np.vstack([np.zeros(len(law)), np.cumsum(steps, axis=0)])
    weights = np.exp(weights - weights.max())
    empty = np.zeros((min(units, len(law) - 1 + last) + 1, *law.shape[1:]))
    for b, row in enumerate(weights):
        rows = min(len(law), len(empty) - b)
        empty[b : b + rows] += (row[:rows] * law[:rows].T).T
    none_waits = float((weights[0] * law.T).sum()) / float(empty.sum())
    result = last_tray_gone / empty.sum() * empty
    result[: len(law)] += lasts * none_waits / law.sum() * law
    return np.asarray(result / result.sum())


def _last_tray(mean_on_order: float, shelf: int) -> tuple[float, float]:
    """P(X < S | X ≤ S) and P(X = S | X ≤ S) for X ~ Poisson: Erlang's loss formula by its recursion in S."""
    below, at = 0.0, 1.0
    for size in range(1, shelf + 1):
        load = mean_on_order * at
        below, at = size / (size + load), load / (size + load)
    return below, at


def _check(shelf: int, **amounts: float) -> None:
    if shelf < 0:
        raise ValueError(f"a shelf must not hold a negative number of trays: {shelf}")
    for name, amount in amounts.items():
        if not 0 <= amount < inf:
            raise ValueError(f"{name} must be finite and not negative, not {amount}")


@dataclass(frozen=True)
class _Factor:
    """Log-concave weights of the numbers ``first``, ``first`` + 1, …; 0 elsewhere."""

    first: int
    values: Array

    @classmethod
    def of_ratios(cls, ratios: Array) -> _Factor:
        """Weights of 0, 1, … from the ratios of neighbours, which fall; scaled to 1 at the largest.

        Logarithms are added outwards from there (from 0 on they would be large, and lose digits).
        """
        ratios = ratios[: np.count_nonzero(ratios)]
        peak = np.count_nonzero(ratios >= 1.0)
        steps = np.log(ratios)
        logs = np.concatenate([-np.cumsum(steps[:peak][::-1])[::-1], [0.0], np.cumsum(steps[peak:])])
        kept = np.flatnonzero(logs >= _LOG_CUT)
        return cls(int(kept[0]), np.exp(logs[kept[0] : kept[-1] + 1]))

    @property
    def numbers(self) -> NDArray[np.int64]:
        return np.arange(self.first, self.first + len(self.values))

    @property
    def total(self) -> float:
        return float(self.values.sum())

    @property
    def at_zero(self) -> float:
        return float(self.values[0]) if self.first == 0 else 0.0

    def mirrored(self, units: int) -> _Factor:
        """The same weights by the number of the other units."""
        return _Factor(units - self.first - len(self.values) + 1, self.values[::-1])

    def plus(self, other: _Factor) -> _Factor:
        """Weights of the sum of two numbers."""
        return _Factor(self.first + other.first, np.convolve(self.values, other.values))

    def times(self, other: _Factor) -> _Factor:
        """Product of two weights of one number."""
        first = max(self.first, other.first)
        last = max(first, min(self.first + len(self.values), other.first + len(other.values)))
        return _Factor(
            first,
            self.values[first - self.first : last - self.first]
            * other.values[first - other.first : last - other.first],
        )
