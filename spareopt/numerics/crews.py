"""The law of the number of failed units that a finite number of crews repairs: a closed product-form network.

Units of one or two classes (trays, racks) fail at a constant rate while up, whether or not the job uses them.  The
repair of a failed unit is an off-crew delay (no crew waits for it: any law, only its mean matters) and then hands-on
work at one station of c crews, shared by the classes.  Every unit thus circles through three stations: up
(infinite-server), delay (infinite-server), crews.  That is a closed network of the BCMP type (Baskett, Chandy, Muntz
and Palacios 1975), and the numbers up u, in the delay j and at the crews q of class i have the stationary weight

    ∏ 1/u_i! · (r_i D_i)^j_i / j_i! · (r_i h_i)^q_i / q_i!  ·  Q! / ∏_{k≤Q} min(k, c),

with u_i + j_i + q_i = N_i, Q = Σ q_i, failure rate r, mean delay D, mean hands-on time h.  It is exact for

- exponential hands-on times with the same mean in both classes, first come, first served (or in random order);
- hands-on times of any law and any means, technicians dividing their time evenly over the open tickets (processor
  sharing: a ticket is worked on at rate min(1, c/Q)).

It is not exact for first come, first served with unequal means or with a law that is not exponential.

Summed over j and q with f = j + q this is the law of the failed numbers f.  Given them, the failed units are a uniform
set of that size, because the units of a class are alike (`spareopt.numerics.exchangeable` builds on that).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log, prod, sqrt

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LOG_CUT = log(1e-60)  # a factor of the weight is dropped where it is below this share of its largest value
_ROWS = 512  # of a banded matrix built at a time
_MAX_STATES = 50_000_000  # of the joint law: 400 MB


@dataclass(frozen=True)
class Pool:
    """A class of ``units`` alike: failures per hour of a unit that is up, mean hours of hands-on work and off-crew."""

    units: int
    rate: float
    hands_on: float
    off_crew: float = 0.0

    def __post_init__(self) -> None:
        if self.units < 1:
            raise ValueError(f"a pool needs at least one unit, not {self.units}")
        values = (self.rate, self.hands_on, self.off_crew)
        if not all(0 <= value < float("inf") for value in values):
            raise ValueError(f"failure rate and repair times must be finite and not negative, not {values}")


@dataclass(frozen=True)
class CrewLaw:
    """Stationary law of the failed numbers, and how busy the crews are.

    ``failed[f]`` or ``failed[f_1, f_2]`` is the probability of that many failed units in each pool, from 0 on; numbers
    beyond its shape together carry less than 1e-40.  ``utilisation`` is the mean share of the crews that are busy.
    ``mean_wait`` is in hours, over all tickets of all pools: first come, first served from reaching the crews to the
    start of the work, under processor sharing the time at the crews less the hands-on time.
    """

    failed: Array
    utilisation: float
    mean_wait: float


def crew_law(pools: tuple[Pool, ...], crews: int) -> CrewLaw:
    """Law of the failed numbers of one or two ``pools`` served by ``crews`` crews; see the module for what is exact.

    The weight is multiplied by ∏ y_i^N_i, y_i being the number up where failures and repairs balance, which makes every
    factor of it a Poisson weight (or, at busy crews, a nearly flat one) whose largest value is where the mass is:
    nothing overflows.  Each factor is cut where it is below 1e-60 of its largest value, in all less than 1e-40 of the
    mass. All terms are non-negative, so that every probability keeps its relative accuracy (about 1e-12).

    Raises ValueError unless there are one or two pools and at least one crew, and where the joint law of two pools
    would have more than 5e7 entries (crews overloaded so much that thousands of units of both pools are failed).
    """
    if not 1 <= len(pools) <= 2:
        raise ValueError(f"the law is for one or two pools, not {len(pools)}")
    if crews < 1:
        raise ValueError(f"the number of crews must be at least 1, not {crews}")
    up, stretch = _balance(pools, crews)
    ranges = [_windows(pool, mean) for pool, mean in zip(pools, up, strict=True)]
    loads = [pool.rate * pool.hands_on * mean for pool, mean in zip(pools, up, strict=True)]
    busy = _busy_window(sum(loads), crews, sum(ranges_of.at_crews[1] for ranges_of in ranges))
    ranges = [
        _trim(ranges_of, busy, load / sum(loads) if load else 0.0)
        for ranges_of, load in zip(ranges, loads, strict=True)
    ]
    if prod(ranges_of.failed[1] + 1 for ranges_of in ranges) > _MAX_STATES:
        raise ValueError("the crews are overloaded: the joint law of the failed units of both pools is too large")

    at_crews, excess = _station(ranges, loads, crews, stretch)
    up_weights, delays = [], []
    for pool, ranges_of, mean in zip(pools, ranges, up, strict=True):
        least, most = ranges_of.failed
        up_weights.append(np.exp(_log_poisson(mean, pool.units - most, pool.units - least))[::-1])
        delays.append(np.exp(_log_poisson(pool.rate * pool.off_crew * mean, *ranges_of.delayed)))

    weights = at_crews
    for axis, (ranges_of, up_weight, delay) in enumerate(zip(ranges, up_weights, delays, strict=True)):
        weights = _delayed(weights, ranges_of, delay, axis)
        weights *= up_weight if axis == len(pools) - 1 else up_weight[:, None]
    total = weights.sum()
    weights /= total
    failed = np.zeros([ranges_of.failed[1] + 1 for ranges_of in ranges])
    failed[tuple(slice(ranges_of.failed[0], None) for ranges_of in ranges)] = weights

    # The law at the crews factorises over the pools but for at_crews, so that the mean wait needs no joint law of all.
    waiting = at_crews * excess
    for ranges_of, up_weight, delay in reversed(list(zip(ranges, up_weights, delays, strict=True))):
        waiting = waiting @ _completions(ranges_of, up_weight, delay)
    arrivals = [0.0] * len(pools)
    for axis, (pool, ranges_of) in enumerate(zip(pools, ranges, strict=True)):
        marginal = weights.sum(axis=1 - axis) if len(pools) == 2 else weights
        still_up = pool.units - np.arange(ranges_of.failed[0], ranges_of.failed[1] + 1)
        arrivals[axis] = pool.rate * float(marginal @ still_up)
    work = sum(rate * pool.hands_on for rate, pool in zip(arrivals, pools, strict=True))
    tickets = sum(arrivals)
    return CrewLaw(failed, work / crews, float(waiting) / float(total) / tickets if tickets else 0.0)


@dataclass(frozen=True)
class _Ranges:
    """First and last number of a pool's units that matter: failed in all, of these in the delay, and at the crews."""

    failed: tuple[int, int]
    delayed: tuple[int, int]
    at_crews: tuple[int, int]


def _balance(pools: tuple[Pool, ...], crews: int) -> tuple[list[float], float]:
    """Numbers up where failures and repairs balance, and the tickets open per ticket in work (1 where crews suffice).

    u (1 + r D + r h θ) = N with θ = 1, or where that asks for more than c crews, θ > 1 such that Σ u r h = c.  Only the
    tilt depends on it, so a few digits are enough.
    """

    def numbers(stretch: float) -> list[float]:
        return [p.units / (1.0 + p.rate * (p.off_crew + p.hands_on * stretch)) for p in pools]

    def busy(stretch: float) -> float:
        return sum(u * p.rate * p.hands_on for u, p in zip(numbers(stretch), pools, strict=True))

    if busy(1.0) <= crews:
        return numbers(1.0), 1.0
    low, high = 1.0, sum(p.units for p in pools) / crews
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if busy(middle) > crews else (low, middle)
    return numbers(high), high


def _poisson_window(mean: float, most: int) -> tuple[int, int]:
    """Range outside which a Poisson weight is below 1e-60 of its largest value, within 0..most.

    Bernstein: P(|X − m| ≥ d) ≤ exp(−d²/(2(m + d/3))), and the largest weight is at least 1/√(2π(m + 1)): d = 100 + 18
    √m leaves room for m up to 1e9.
    """
    reach = 100.0 + 18.0 * sqrt(mean) if mean > 0 else 0.0
    return min(most, max(0, floor(mean - reach))), min(most, ceil(mean + reach))


def _windows(pool: Pool, up: float) -> _Ranges:
    least_up, most_up = _poisson_window(up, pool.units)
    failed = (pool.units - most_up, pool.units - least_up)
    delayed = _poisson_window(pool.rate * pool.off_crew * up, pool.units)
    if pool.rate * pool.hands_on == 0:
        return _Ranges(failed, delayed, (0, 0))
    return _Ranges(failed, delayed, (max(0, failed[0] - delayed[1]), max(0, failed[1] - delayed[0])))


def _busy_window(load: float, crews: int, most: int) -> tuple[int, int]:
    """Range outside which load^Q/∏ min(k, c), which bounds the station's weight from above, is negligible."""
    if load == 0:
        return 0, 0
    logs = np.concatenate([[0.0], np.cumsum(np.log(load / np.minimum(np.arange(1.0, most + 1.0), crews)))])
    kept = np.flatnonzero(logs >= logs.max() + _LOG_CUT)
    return int(kept[0]), int(kept[-1])


def _trim(ranges: _Ranges, busy: tuple[int, int], share: float) -> _Ranges:
    """A pool's ranges cut to what the number at the crews allows; what is left out is negligible.

    With Q tickets at the crews a pool's number is Binomial(Q, its share of the work): Bernstein's bound for it is that
    of a Poisson law of the same mean.
    """
    least, most = (min(total, ranges.at_crews[1]) for total in busy)
    least = max(ranges.at_crews[0], _poisson_window(share * busy[0], least)[0] if share < 1 else least)
    most = _poisson_window(share * busy[1], most)[1] if share < 1 else most
    failed = (
        max(ranges.failed[0], ranges.delayed[0] + least),
        min(ranges.failed[1], ranges.delayed[1] + most),
    )
    return _Ranges(failed, ranges.delayed, (least, most))


def _log_poisson(mean: float, first: int, last: int) -> Array:
    """ln of mean^k/k! for k = first..last, less its largest value; summed from ratios, whose logarithms are small.

    (From ln Γ, numbers of 1e5 units would cost six digits.)
    """
    if mean == 0:
        return np.where(np.arange(first, last + 1) == 0, 0.0, -np.inf)
    logs = np.concatenate([[0.0], np.cumsum(np.log(mean / np.arange(first + 1.0, last + 1.0)))])
    return np.asarray(logs - logs.max())


def _station(ranges: list[_Ranges], loads: list[float], crews: int, stretch: float) -> tuple[Array, Array]:
    """Weights of numbers at the crews, ∏ load_i^q_i/q_i! · ∏_{k≤Q} max(1, k/c), scaled, and (Q − c)+ beside them."""
    first = sum(ranges_of.at_crews[0] for ranges_of in ranges)
    last = sum(ranges_of.at_crews[1] for ranges_of in ranges)
    steps = np.log(np.maximum(np.arange(first + 1.0, last + 1.0) / crews, 1.0) / stretch)
    queue = np.concatenate([[0.0], np.cumsum(steps)])
    logs = [_log_poisson(load * stretch, *ranges_of.at_crews) for load, ranges_of in zip(loads, ranges, strict=True)]
    excess = np.maximum(np.arange(float(first), last + 1.0) - crews, 0.0)
    if len(ranges) == 1:
        exponents = logs[0] + queue
    else:
        # Q = q_1 + q_2 steps by one along rows and columns alike
        queue, excess = (sliding_window_view(values, len(logs[1])) for values in (queue, excess))
        exponents = logs[0][:, None] + logs[1] + queue
    return np.exp(exponents - exponents.max()), excess


def _delayed(weights: Array, ranges: _Ranges, delay: Array, axis: int) -> Array:
    """From weights of the numbers at the crews to weights of the failed numbers along an axis: add the delay's."""
    start = ranges.failed[0] - ranges.at_crews[0] - ranges.delayed[0]
    length = ranges.failed[1] - ranges.failed[0] + 1
    if weights.ndim == 1:
        return np.convolve(weights, delay)[start : start + length]
    if axis == 1:
        return _delayed(weights.T, ranges, delay, 0).T
    moved = np.zeros((length, weights.shape[1]))
    for row in range(0, length, _ROWS):  # the matrix of shifts is a band: only the columns it reaches are built
        rows = min(_ROWS, length - row)
        first = max(0, start + row - len(delay) + 1)
        columns = min(weights.shape[0], start + row + rows) - first
        if columns > 0:
            moved[row : row + rows] = (
                _shifts(delay, start + row - first, rows, columns) @ weights[first : first + columns]
            )
    return moved


def _shifts(delay: Array, start: int, length: int, columns: int) -> Array:
    """Matrix with delay[start + row − column], 0 where there is no such entry."""
    padded = np.zeros(length + columns - 1)  # place p holds the entry start + p − (columns − 1)
    low = max(0, start - (columns - 1))
    high = min(len(delay), start + length)
    if high > low:
        padded[low - start + columns - 1 : high - start + columns - 1] = delay[low:high]
    return np.ascontiguousarray(sliding_window_view(padded, columns)[:, ::-1])


def _completions(ranges: _Ranges, up: Array, delay: Array) -> Array:
    """For each number q at the crews the weight of all ways to place the rest of the pool: Σ_f up(f) delay(f − q)."""
    start = ranges.failed[0] - ranges.at_crews[0] - ranges.delayed[0]
    columns = ranges.at_crews[1] - ranges.at_crews[0] + 1
    # entry q of the full convolution of up with the reversed delay is at place (delay's length − 1) − start + q
    full = np.convolve(up, delay[::-1])
    places = np.arange(columns) + len(delay) - 1 - start
    inside = (places >= 0) & (places < len(full))
    return np.where(inside, full[np.clip(places, 0, len(full) - 1)], 0.0)
