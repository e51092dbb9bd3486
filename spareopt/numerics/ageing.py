"""A zone whose spares do not age: shares of time with ample repair, where only working units age.

Units (blocks without spare trays) are alike.  The zone has R spares and is blocked while more than R units are down; as
nothing fails while it is blocked, never more than R + 1 are down.  Working units fail at the total rate Λ while they
age; the repair of a unit starts when it fails and takes a mean time m.  The load is a = Λ m.

**They age whenever the job is not blocked** (`working_only`): the number down rises at rate Λ up to R and not at all at
R + 1.  That is a loss system of R + 1 servers, so that the zone is blocked for the share of Erlang's B formula
(a^(R+1)/(R+1)!)/Σ_{k≤R+1} a^k/k! of the time, whatever the repair law (Sevastyanov 1957).

**They age only while the job computes** (`computing_only`), with a constant recovery time r after every failure, while
repairs go on and nothing fails; only then is it seen whether more than R units are down, and the job is blocked until
one less is.  The rules are those of the simulator AIReSim without warm standbys (arXiv 2603.07041).  On the clock of
computing time (recovering and blocked times cut out), with exponential repair times, the number down is a Markov chain
on 0..R: it falls from k to k − 1 at rate k/m, and at rate Λ jumps from k to k + 1 less the repairs of a recovery, that
is to a Binomial(k + 1, s) number with s = e^(−r/m); R + 1 becomes R after a blocked time of mean m/(R + 1).  So an hour
of computing costs Λ r hours of recovery and Λ P(R down) s^(R+1) m/(R+1) blocked hours.

The chain rises by one at most, so that its flow up from i equals its flow down past i, and each stationary probability
follows from those above it:

    P(i) Λ s^(i+1) = P(i+1) (i+1)/m + Σ_{k>i} P(k) Λ Pr[Bin(k+1, s) ≤ i],

non-negative terms only: small shares keep their relative accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, expm1, isfinite, log2

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainc

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Shares:
    """Shares of time in which the job computes, recovers from a failure, and is blocked; they sum to 1."""

    computing: float
    recovering: float
    blocked: float


@dataclass(frozen=True)
class JobTime:
    """Mean hours that a finite job takes in all, and mean hours of it in which it recovers and is blocked."""

    total: float
    recovering: float
    blocked: float


def working_only(spares: ArrayLike, rate: ArrayLike, mttr: ArrayLike) -> Array:
    """Share of time in which a zone is blocked, units ageing while they work and the job is not blocked: Erlang's B.

    ``spares`` (R) idle units do not age; the working units fail at ``rate`` Λ per hour in all (number of working units
    times the rate of one; it may differ with R); repairs have a mean of ``mttr`` hours and any law, and wait for no
    crew.  Broadcasts.

    By the recursion B_c = a B_{c−1}/(c + a B_{c−1}) from B_0 = 1: no subtraction, no overflow, an error of a few units
    in the last place per step at most.  Raises ValueError for negative or infinite arguments.
    """
    numbers, rates, times = np.broadcast_arrays(
        np.asarray(spares, dtype=np.int64), np.asarray(rate, dtype=np.float64), np.asarray(mttr, dtype=np.float64)
    )
    load = rates * times
    if np.any(numbers < 0) or np.any(rates < 0) or np.any(times < 0) or not np.all(np.isfinite(load)):
        raise ValueError("numbers of spares, rates and repair times must be finite and not negative")
    blocked = np.ones(load.shape)
    for servers in range(1, int(numbers.max(initial=-1)) + 2):
        offered = load * blocked
        blocked = np.where(servers <= numbers + 1, offered / (servers + offered), blocked)
    return blocked


def computing_only(spares: int, rate: float, mttr: float, recovery: float) -> Shares:
    """Shares of time where units age only while they work and the job computes; see the module.

    ``rate`` is Λ, the failures per hour of all working units while the job computes; ``mttr`` the mean of exponential
    repair times, ``recovery`` the constant time after every failure, both in hours; ``spares`` (R) idle units do not
    age.  The relative accuracy is about 1e-12, also of a small blocked share.  R² time and memory.

    Raises ValueError for negative or infinite arguments.
    """
    _check(spares, rate, mttr, recovery)
    recovering = rate * recovery
    if rate * mttr == 0:
        return Shares(1.0 / (1.0 + recovering), recovering / (1.0 + recovering), 0.0)
    left = _left_after_recovery(spares, recovery / mttr)
    rising, falling = left[np.arange(spares + 1), np.arange(spares + 1) + 1], np.cumsum(left, axis=1)
    load = rate * mttr
    weights = np.zeros(spares + 1)
    weights[spares] = 1.0
    for number in range(spares - 1, -1, -1):
        down = load * (weights[number + 1 :] @ falling[number + 1 :, number]) + weights[number + 1] * (number + 1)
        weights[number + 1 :] *= load * rising[number]
        weights[number] = down
        weights[number:] /= weights[number:].max()  # neither end overflows; what is beyond all numbers becomes 0
    blocked = load * weights[spares] / weights.sum() * rising[spares] / (spares + 1)
    whole = 1.0 + recovering + blocked
    return Shares(float(1.0 / whole), float(recovering / whole), float(blocked / whole))


def computing_only_job(spares: int, rate: float, mttr: float, recovery: float, job: float) -> JobTime:
    """Mean hours that a job of ``job`` hours of computing takes, all units up at its start; else as `computing_only`.

    Failures number Λ × job on average.  The blocked time is Λ s^(R+1) m/(R+1) times the mean computing time with R
    down, whose transient law is doubled from a first step so short that at most about one jump falls into it
    (uniformisation); all terms are non-negative.  R³ time.

    Raises ValueError for negative or infinite arguments.
    """
    _check(spares, rate, mttr, recovery)
    if not (isfinite(job) and job >= 0):
        raise ValueError(f"the job's length must be finite and not negative, not {job}")
    recovering = rate * recovery * job
    if rate * mttr == 0 or job == 0:
        return JobTime(job + recovering, recovering, 0.0)
    left = _left_after_recovery(spares, recovery / mttr)
    number = np.arange(spares + 1)
    moves = rate * left[:, : spares + 1]  # jumps per hour of computing
    moves[number[1:], number[:-1]] += number[1:] / mttr
    np.fill_diagonal(moves, 0.0)
    leaving = moves.sum(axis=1)
    pace = 2.0 * leaving.max() or 1.0 / job  # without spares nothing moves
    jump = moves / pace
    np.fill_diagonal(jump, 1.0 - leaving / pace)  # at least 1/2: no digits are lost

    doublings = max(0, ceil(log2(pace * job)))
    jumps = pace * job * 0.5**doublings  # mean number of a step, at most 1
    step, time_full = np.zeros_like(jump), np.zeros(spares + 1)
    power, chance = np.eye(spares + 1), exp(-jumps)
    for count in range(spares + 30):  # from 0 to R takes R jumps
        step += chance * power
        time_full += gammainc(count + 1.0, jumps) / pace * power[:, spares]
        power, chance = power @ jump, chance * jumps / (count + 1)
    for _ in range(doublings):
        time_full = time_full + step @ time_full
        step = step @ step
        step /= step.sum(axis=1, keepdims=True)  # or rounding would grow with the number of steps
    blocked = float(rate * mttr / (spares + 1) * left[spares, spares + 1] * time_full[0])
    return JobTime(job + recovering + blocked, recovering, blocked)


def _left_after_recovery(spares: int, ratio: float) -> Array:
    """Law of the number still down of k + 1 units (row k = 0..R, column 0..R+1) after a recovery, ``ratio`` = r/m.

    Binomial with s = e^(−r/m), by Pascal's rule: sums of products of s and 1 − s, both with all their digits.
    """
    stays, leaves = exp(-ratio), -expm1(-ratio)
    law = np.zeros((spares + 1, spares + 2))
    row = np.append(1.0, np.zeros(spares + 1))
    for number in range(spares + 1):
        row = leaves * row + stays * np.append(0.0, row[:-1])
        law[number] = row
    return law


def _check(spares: int, rate: float, mttr: float, recovery: float) -> None:
    if spares < 0:
        raise ValueError("a number of spares must not be negative")
    if not all(isfinite(value) and value >= 0 for value in (rate, mttr, recovery, rate * mttr, rate * recovery)):
        raise ValueError(f"rate, repair and recovery time must be finite and not negative: {rate}, {mttr}, {recovery}")
