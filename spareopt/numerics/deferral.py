"""Deferred repair of independent blocks: a visit called when enough trays are down, or a window that recurs.

Trays fail at a constant rate while up, whether or not the job uses them, also while the block is being worked on.

**Visits** (`deferred_block`).  The block starts a cycle with all K trays up.  When d trays are down a visit is called;
after an exponential delay, in which further trays fail, it starts; in it every failed tray, also one that fails
meanwhile, is repaired, by c technicians (or one for each tray) in exponential hands-on times; it ends, and the cycle
with it, when no tray is down.  By renewal reward a share of time is a mean time per cycle over the mean cycle, and the
mean times spent with f trays down follow one from the other, in units of 1/λ (load a = λ × hands-on, δ = λ × delay):

- before the call, f < d: 1/(K − f);
- called, f ≥ d: r_f δ/(1 + (K − f)δ), with the chance r_d = 1, r_{f+1} = r_f (K − f)δ/(1 + (K − f)δ) that f trays are
  down before the visit starts;
- in the visit: x_f = (x_{f−1} (K − f + 1) + E_f) a/min(f, c), x_0 = 0.  Repairs take the number down by one, and so
  each visit crosses from f to f − 1 once more often than from f − 1 to f if it started at f or above, which has
  probability E_f = r_f (1 for f ≤ d), and equally often otherwise.

All terms are non-negative, nothing is subtracted: every tail keeps its relative accuracy.  With d = 1 and no delay the
number down is the usual birth-death chain of crews (ample: binomial).  With d = 1 and a delay it is not: a tray that
fails after the call does not wait a whole delay of its own.

**Windows** (`window_shortfall`).  At a window, every T hours, the trays then down are taken in hand and come back r < T
hours later; others wait for the next window.  Trays are independent.  With p the chance that a tray is down when a
window opens, it is down t hours later with probability

    p + (1 − p)(1 − e^(−λt))                      for t < r,
    p (1 − e^(−λ(t−r))) + (1 − p)(1 − e^(−λt))    for t ≥ r,

and that it is p again at t = T gives p = (1 − e^(−λT))/(1 + b), 1 − p = (e^(−λT) + b)/(1 + b) with
b = e^(−λ(T−r)) (1 − e^(−λr)).  All blocks meet their window together, so that they are independent only at a given
phase t: the law of a zone is the mean over t of binomial laws, not a binomial law of the mean.  So do all zones that
share the window: the product of their availabilities is not their joint availability (for zones that are alike it is
less).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, inf, isfinite, log, log1p

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from spareopt.numerics.availability import block_unavailability, zone_shortfall

Array = NDArray[np.float64]

_NODES, _WEIGHTS = leggauss(16)  # Gauss-Legendre on [−1, 1], for each panel
_ACCURACY = 1e-11  # relative change at which halving the panels stops
_NEGLIGIBLE = 1e-280  # probabilities so small need no digits: denormal numbers have none
_MAX_HALVINGS = 8


@dataclass(frozen=True)
class BlockRepair:
    """A block under deferred repair, in the steady state.

    ``unavailability`` is the share of time in which it is unusable; ``visits_per_hour`` the rate at which visits start,
    ``usable_visits_per_hour`` that of those which find the block usable (with visits that take the block out of
    service, its planned stops); ``out_of_service_share`` the share of time in such visits, 0 where they leave the block
    in service.
    """

    unavailability: float
    visits_per_hour: float
    usable_visits_per_hour: float
    out_of_service_share: float


def deferred_block(
    trays: int,
    intra_spares: int,
    rate: float,
    hands_on: float,
    off_crew: float,
    start_at: int,
    out_of_service: bool,
    technicians: int | None = None,
) -> BlockRepair:
    """One block whose repair is called when ``start_at`` (d) of its ``trays`` (K) are down; see the module.

    Trays fail at ``rate`` per hour while up.  The visit starts an exponential delay of mean ``off_crew`` hours after
    the call; hands-on times are exponential of mean ``hands_on`` hours, by so many ``technicians`` (None: ample).  The
    block is unusable while more than ``intra_spares`` (I) trays are down and, if ``out_of_service``, during visits.

    The relative accuracy is about 1e-14, also of tails down to the smallest normal numbers.  Raises ValueError unless
    1 <= d <= K, I >= 0, there is a technician, and rate and times are finite and not negative.
    """
    if not 1 <= start_at <= trays:
        raise ValueError(f"a repair must start at 1 to {trays} failed trays (the block's trays), not {start_at}")
    if intra_spares < 0:
        raise ValueError("a number of spares must not be negative")
    if technicians is not None and technicians < 1:
        raise ValueError(f"the number of technicians must be at least 1, not {technicians}")
    _check_times(rate, hands_on, off_crew, rate * hands_on, rate * off_crew * trays)

    if rate == 0:  # not the limit of small rates if I + 1 < d: there failed trays are left for most of a long time
        return BlockRepair(0.0, 0.0, 0.0, 0.0)

    failed = np.arange(trays + 1)
    up = (trays - failed).astype(np.float64)
    delay = rate * off_crew
    onward = up * delay / (1.0 + up * delay)  # chance that one more tray fails before the called visit starts
    reach = np.append(np.ones(start_at + 1), np.cumprod(onward[start_at:trays]))
    # chance that the visit starts at this number
    called = np.where(failed >= start_at, reach / (1.0 + up * delay), 0.0)
    waiting = np.append(1.0 / up[:start_at], np.zeros(trays + 1 - start_at)) + called * delay
    visit, unit = _visit_times(up, reach, rate * hands_on, trays if technicians is None else technicians)

    waiting, called = waiting * unit, called * unit
    cycle = waiting.sum() + visit.sum()
    short = slice(intra_spares + 1, None)
    unusable = waiting[short].sum() + (visit if out_of_service else visit[short]).sum()
    return BlockRepair(
        min(float(unusable / cycle), 1.0),  # rounding may make it a hair more
        float(rate * unit / cycle),
        float(rate * called[: intra_spares + 1].sum() / cycle),
        min(float(visit.sum() / cycle), 1.0) if out_of_service else 0.0,
    )


def _visit_times(up: Array, reach: Array, load: float, technicians: int) -> tuple[Array, float]:
    """Mean time of a visit with f = 0, …, K trays down, and the unit it is in, as a share of 1/λ.

    The unit shrinks where technicians are so overloaded that visits last beyond all numbers.
    """
    times, unit = np.zeros(len(up)), 1.0
    for failed in range(1, len(up)):
        arrivals = times[failed - 1] * up[failed - 1] + unit * reach[failed]
        times[failed] = arrivals * load / min(failed, technicians)
        if times[failed] > 1.0:
            unit /= times[failed]
            times[: failed + 1] /= times[failed]
    return times, unit


def window_shortfall(
    blocks: int,
    trays: int,
    intra_spares: int,
    inter_spares: ArrayLike,
    rate: float,
    period: float,
    repair: float,
    out_of_service: bool,
    own_unavailability: float = 0.0,
) -> Array:
    """P(more than R of the ``blocks`` (L) of a zone are unusable) for each R in ``inter_spares``, with repair windows.

    A window opens every ``period`` hours; the trays then down come back after ``repair`` hours, all at once.  Trays
    fail at ``rate`` per hour while up.  A block is unusable while more than ``intra_spares`` (I) of its ``trays`` (K)
    are down, while it is down itself (``own_unavailability``: rack and the like, independent of all else) and, if
    ``out_of_service``, from the start of a window until its trays are back, if it has any in hand.

    The mean over the phase is by Gauss-Legendre quadrature on panels that double in length away from the two starts
    (window, return), the first no longer than the mean time to the first failure of the zone, so that no transition is
    jumped over; all are halved until nothing changes by more than 1e-11.  Raises ValueError for impossible arguments
    (repair not below the period, negative numbers, no probability), ArithmeticError should the halving not end.
    """
    spares = np.asarray(inter_spares, dtype=np.int64)
    _check_window(trays, rate, period, repair)
    if blocks < 1 or intra_spares < 0 or np.any(spares < 0):
        raise ValueError("a zone needs at least one block, and numbers of spares must not be negative")
    if not 0 <= own_unavailability <= 1:
        raise ValueError(f"an unavailability must be between 0 and 1, not {own_unavailability}")
    intra_spares = min(intra_spares, trays)  # more are no use, and not a case the binomial tail knows
    down, fresh = _down_at_window(rate, period, repair)
    stopped = _at_least_one(down, fresh, trays) if out_of_service else 0.0

    def in_hand(time: Array) -> Array:
        since = -np.expm1(-rate * time)
        if out_of_service:  # a block without any tray in hand began the window with all of them up
            return stopped + fresh**trays * block_unavailability(trays, intra_spares, since)
        return block_unavailability(trays, intra_spares, np.minimum(down + fresh * since, 1.0))

    def back(time: Array) -> Array:
        since = -down * np.expm1(-rate * time) - fresh * np.expm1(-rate * (repair + time))
        return block_unavailability(trays, intra_spares, np.minimum(since, 1.0))

    fastest = rate * trays * blocks
    pieces = [(in_hand, _panels(repair, fastest)), (back, _panels(period - repair, fastest))]
    distinct, places = np.unique(np.minimum(spares, blocks), return_inverse=True)
    before = np.full(distinct.shape, inf)
    for halvings in range(_MAX_HALVINGS + 1):
        total = np.zeros(distinct.shape)
        for block_unusable, edges in pieces:
            times, weights = _quadrature(edges, 2**halvings)
            unusable = np.minimum(block_unusable(times), 1.0)
            unusable = own_unavailability + (1.0 - own_unavailability) * unusable
            total += zone_shortfall(blocks, distinct[:, None], unusable) @ weights
        total /= period
        if np.all(np.abs(total - before) <= _ACCURACY * total + _NEGLIGIBLE):
            return np.asarray(np.minimum(total, 1.0)[places].reshape(spares.shape))
        before = total
    raise ArithmeticError("the mean over the phase of the repair window did not settle")


def window_visits_per_hour(
    trays: int, rate: float, period: float, repair: float, intra_spares: int | None = None
) -> float:
    """Rate at which a block of so many ``trays`` has trays taken in hand at a window, per hour.

    With ``intra_spares`` (I) only windows that find at most I trays down count: where repair takes the block out of
    service, these are planned stops of a block that was usable.  As the windows of a zone coincide, rates of blocks
    do not add up to a rate of windows: that of windows with any tray of m blocks in hand is the rate for m·K trays.

    Raises ValueError for impossible arguments (see `window_shortfall`).
    """
    _check_window(trays, rate, period, repair)
    down, fresh = _down_at_window(rate, period, repair)
    if intra_spares is None:
        return _at_least_one(down, fresh, trays) / period
    if intra_spares < 0:
        raise ValueError("a number of spares must not be negative")
    failed = np.arange(1, min(intra_spares, trays) + 1)
    # of the two probabilities the smaller one has all digits of both
    chances = binom.pmf(failed, trays, down) if down < 0.5 else binom.pmf(trays - failed, trays, fresh)
    return float(chances.sum() / period)


def _down_at_window(rate: float, period: float, repair: float) -> tuple[float, float]:
    """Probabilities that a tray is down, and that it is up, when a window opens."""
    later = np.exp(-rate * (period - repair)) * -expm1(-rate * repair)
    return float(-expm1(-rate * period) / (1.0 + later)), float((np.exp(-rate * period) + later) / (1.0 + later))


def _at_least_one(down: float, up: float, trays: int) -> float:
    """1 − up^K, accurate for few and for many failures (``up`` is 1 − ``down`` with all its digits)."""
    return -expm1(trays * (log1p(-down) if down < 0.5 else log(up))) if up > 0 else 1.0


def _panels(length: float, fastest: float) -> Array:
    """Edges 0, w, 2w, 4w, …, ``length`` with w no more than the time 1/``fastest``."""
    doublings = max(0, int(np.ceil(np.log2(max(length * fastest, 1.0)))))
    return np.append(0.0, length * 0.5 ** np.arange(doublings, -1.0, -1.0))


def _quadrature(edges: Array, parts: int) -> tuple[Array, Array]:
    """Nodes and weights on panels, each cut into so many equal ``parts``."""
    cuts = np.interp(np.arange((len(edges) - 1) * parts + 1) / parts, np.arange(len(edges)), edges)
    half = 0.5 * np.diff(cuts)[:, None]
    return (cuts[:-1, None] + half * (1.0 + _NODES)).ravel(), (half * _WEIGHTS).ravel()


def _check_window(trays: int, rate: float, period: float, repair: float) -> None:
    if trays < 1:
        raise ValueError(f"a block needs at least one tray, not {trays}")
    _check_times(rate, period, repair)
    if not repair < period:
        raise ValueError(f"the repair ({repair} h) must be shorter than the period of the window ({period} h)")


def _check_times(*values: float) -> None:
    if not all(isfinite(value) and value >= 0 for value in values):
        raise ValueError(f"failure rate and repair times must be finite and not negative, not {values}")
