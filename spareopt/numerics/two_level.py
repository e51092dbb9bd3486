"""Two-level checkpoints: frequent ones in memory, every n-th in storage for the faults that take the memory with them.

After every τ h of work (``period``) a save stops training: δ1 h into memory, but δ2 h for every n-th
(``storage_every``), which goes to storage and leaves a copy in memory too.  A fault leaves the memory with probability
p (``memory_share``), independently; the job then recovers in Rc1 h to its last checkpoint.  Else it recovers in Rc2 h
to the last one in storage, whose copy is then in memory again.  Faults come at the rate Λ in every phase: one during a
save or a memory recovery is like any other, one during a storage recovery starts that afresh.

**A pattern** is what lies between two storage checkpoints: n periods of length L_i = τ + δ_i, δ_i = δ1 but δ_n = δ2.
With k = 1 − p, φ = e^(−Λ Rc1) and c = k + p φ:

- A chain of memory recoveries ends at the last checkpoint with probability p φ/c in all, else in a storage recovery; a
  memory recovery takes (1 − φ)/Λ on average, its own fault included.
- Period i is attempted until saved, or until the memory is lost.  Let q = e^(−Λ L_i).  Solving the linear recursion of
  first steps, it is saved with probability 1/w_i, w_i = 1 + k (e^(Λ L_i) − 1)/c, and takes (1 − 1/w_i)/(Λ k) on
  average.
- A storage recovery takes R = (e^(Λ Rc2) − 1)/Λ and leads back to the first period.

So a pattern is saved with probability e^(−H), H = Σ h_i, h_i = ln w_i; a try takes (1 − e^(−H))/(Λ k) and, unless it
succeeds, R after it; and as e^H tries are needed on average,

    E[pattern] = (e^H − 1) (1 + k (e^(Λ Rc2) − 1))/(Λ k),    η = n τ/E[pattern].

p = 0 gives H = Λ Σ L_i: plain checkpointing with the period nτ.  As p -> 1, H/k -> Σ (e^(Λ L_i) − 1)/φ: plain periods.

**Stable form.**  With G(x) = ln(1 + k (e^x − 1)), B = Λ Rc1, ln c = G(B) − B, and h_i = G(Λ L_i + B) − G(B).  As k (e^y
− 1)/c = e^h − 1 for y = Λ L, the quotient h/(k y) is e^(m(y) − m(h))/c with m(y) = ln((e^y − 1)/y), and

    ln η = ln(nτ/Σ L_i) + ln c − G(Λ Rc2) − Q,    Q = ln Σ (L_i/Σ L) e^(m(y_i) − m(h_i)) + m(H) >= 0.

**Shares.**  Storage recoveries take k (e^(Λ Rc2) − 1)/(1 + k (e^(Λ Rc2) − 1)) of the time; of what is left, memory
recoveries take p (1 − φ) (every fault there starts one with probability p), c e^(−G(Λ Rc2)) of all time is left for
attempts, and of that the share e^(−Q) is kept.

**η falls with Λ.**  κ = k/c <= 1 rises with Λ; h = ln(1 + κ (e^y − 1)) rises with κ and is convex in y and 0 at y = 0,
so h/Λ does not fall; nor do (e^H − 1)/H and G(Λ Rc2), and ln E is the sum ln((e^H − 1)/H) + ln(H/(Λ k)) + G(Λ Rc2).  A
maximum over τ and n of falling functions falls.

**Best period**, x = Λτ: with σ_i = G'(Λ L_i + B), ln η has its one stationary point in τ where x Σ σ_i = 1 − e^(−H),
since x Σ σ_i + e^(−H) rises with x; the point is at x <= 1, since 1 − e^(−H) <= Σ (1 − e^(−h_i)) <= Σ σ_i.

**Best n** at a given x.  H = n h_1 + d with d = h_n − h_1, so n h_1 takes the place of x in plain checkpointing with
the save load d: it is best at X with 1 − X = e^(−X−d).  ln η is concave in n for d > 0, so the best n is a whole number
next to X/h_1; for d <= 0 it is 1.  With both free, a real n and x solve both conditions (bisection on x, with X/h_1 for
n) and the two whole numbers next to n are compared, each with its best period.  (That there is one such n is not proven
but tested against all n; each η reported is exact for its own τ and n.)  To first order n² = (δ2−δ1) p/(δ1 k) at
every Λ.  If memory always survives (p = 1) and δ2 > δ1, storage is never written: n is infinite.

**Over-estimators.**  ln η bends either way, so ``recovery.monotone_over_estimator`` makes them, with a
bound M on −(ln η)'' at the best choices of period and n (what is not given) as these stay in place:

- Period given: n ln(p + k e^B) − G(Λ Rc2) − ln η is, but for a constant, the logarithm of Π(p + k e^(Λ L_i + B)) −
  (p + k e^B)^n over Λ.  Both products multiplied out, that is a mixture of e^(tΛ) with 0 <= t <= Σ (L_i + Rc1), whose
  logarithm bends upwards by a variance, at most a quarter of the range squared.  n G(B) is convex, and G'' <= 1/4:
  M = (Σ (L_i + Rc1))²/4 + Rc2²/4.  A free n is at most X/h_1 + 1, with d and h_1 taken at the right and left end.
- Best period, x kept in place: −(ln η)'' <= H''/(1 − e^(−H)) + Rc2² G''(Λ Rc2).  As G''' <= G'' <= G' = σ, H'' <= Σ
  (δ_i² + 2 δ_i Rc1) σ_i + Rc1² Σ (σ_i − σ(B)); as σ_i − σ(B) <= 1 − e^(−h_i) <= h_i <= σ_i Λ L_i and x Σ σ_i = 1 −
  e^(−H),

      M = (δ² + 2 δ Rc1)/x + Rc1² (1 + Λ δ/x) + Rc2²/4,    δ = max(δ1, δ2),

  where x is at least its bound from ln η <= −ln(1 + min(δ1, δ2)/τ) + ln c − G(Λ Rc2), with ln η at the right end and
  the rest at the left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit

from spareopt.numerics.recovery import (
    Array,
    Curvature,
    Line,
    RecoveryShares,
    best_load,
    checked_rates,
    log_exprel,
    monotone_over_estimator,
)

RARE = 1e-200
"""Stands for the share 0 of faults that lose the memory where a best period is sought: the equations scale with it."""
INFINITE = 1e100
"""Stands for an infinite n in floating-point numbers."""
TINY_LOAD = 1e-8
"""Below this load of a period its first-order value has more digits than the equation it solves."""
NEWTON, HALVINGS = 12, 24
"""Newton steps for the best period (quadratic from the first-order value) and halvings for the real best n."""
PARTS, PARTS_AT_BEST = 512, 32
"""Parts of an interval for the over-estimators at a given and at the best period, which takes longer to find."""


@dataclass(frozen=True)
class TwoLevel:
    """Saves of ``memory_save`` h after every ``period`` h of work; every ``storage_every``-th takes ``storage_save`` h.

    ``storage_save`` is the whole time that the save to storage stops training.  A fault leaves the memory with
    probability ``memory_share`` and then costs ``memory_recovery`` h, else ``storage_recovery`` h, and the work since
    the checkpoint it goes back to.  ``period`` or ``storage_every`` None: the best at each interruption rate.  Raises
    ValueError for negative or infinite times, a share outside [0, 1], a period that is not positive, a
    ``storage_every`` below 1, or a best period asked where saves are free.  Every method takes rates per hour, >= 0, of
    any shape, returns that shape, and raises ValueError for a negative rate; NaN gives NaN.
    """

    memory_save: float
    storage_save: float
    memory_recovery: float
    storage_recovery: float
    memory_share: float
    period: float | None
    storage_every: int | None

    def __post_init__(self) -> None:
        for name in ("memory_save", "storage_save", "memory_recovery", "storage_recovery"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} ({getattr(self, name)} h) must be finite and not negative")
        if not 0 <= self.memory_share <= 1:
            raise ValueError(f"the share of faults that leave the memory is from 0 to 1, not {self.memory_share}")
        if self.period is not None and not 0 < self.period < np.inf:
            raise ValueError(f"the checkpoint period ({self.period} h) must be finite and above zero")
        if self.storage_every is not None and self.storage_every < 1:
            raise ValueError(f"storage gets every n-th checkpoint with n of 1 or more, not {self.storage_every}")
        if self.period is None:
            if self.storage_every is None and min(self.memory_save, self.storage_save) == 0:
                raise ValueError("the best checkpoint period needs save times above zero, in memory and in storage")
            if self.storage_every is not None and self._mean_save(np.asarray(float(self.storage_every))) == 0:
                raise ValueError("the best checkpoint period needs a save time above zero")

    def best_period(self, rate: ArrayLike) -> Array:
        """Work between two checkpoints, h: the given period, or the one with the greatest η (infinite at rate 0)."""
        rates = checked_rates(rate)
        return self._period(rates, self._choice(rates)[0])

    def best_storage_every(self, rate: ArrayLike) -> Array:
        """n, one checkpoint in storage of every n: as given, or the best; infinite where storage is never worth it."""
        rates = checked_rates(rate)
        every = self._choice(rates)[1]
        return np.where(every >= INFINITE, np.inf, every)

    def log_eta(self, rate: ArrayLike) -> Array:
        """ln η, finite wherever the exponents are, also where η itself is too small for a float."""
        rates = checked_rates(rate)
        load, every = self._choice(rates)
        saves = np.log1p(self._mean_save(every) / self._period(rates, load))
        return self._log_attempts(rates) - saves - self._log_redone(rates, load, every)

    def shares(self, rate: ArrayLike) -> RecoveryShares:
        """Shares of the unblocked time, as in the module's docstring; ``saves`` are those of patterns that complete."""
        rates = checked_rates(rate)
        load, every = self._choice(rates)
        period, redone = self._period(rates, load), self._log_redone(rates, load, every)
        saves = self._mean_save(every) / period
        attempts = np.exp(self._log_attempts(rates))
        useful = np.exp(self._log_attempts(rates) - np.log1p(saves) - redone)
        storage = -np.expm1(-_log_mixed(self._log_lost, rates * self.storage_recovery))
        memory = -self.memory_share * np.expm1(-rates * self.memory_recovery) * (1.0 - storage)
        return RecoveryShares(useful, useful * saves, storage + memory, -attempts * np.expm1(-redone))

    @property
    def curvature(self) -> Curvature:
        """How ln η bends in Λ: either way."""
        return Curvature.MIXED

    def over_estimators(self, low: float, high: float) -> list[Line]:
        """A line (slope in h, intercept) with slope·Λ + intercept >= ln η(Λ) for every Λ in [low, high], per hour.

        Raises ValueError unless 0 <= low <= high < inf.
        """
        if self.period is None:
            return monotone_over_estimator(self.log_eta, low, high, PARTS_AT_BEST, self._bend_at_best)
        return monotone_over_estimator(self.log_eta, low, high, PARTS, self._bend_at_given)

    def _bend_at_given(self, rates: Array, values: Array) -> Array:
        """M of a given period between every two neighbours of ``rates``."""
        assert self.period is not None
        longest = self.period + max(self.memory_save, self.storage_save) + self.memory_recovery
        if self.storage_every is not None:
            most = np.full(len(rates) - 1, float(self.storage_every))
        else:
            load = rates * self.period
            first = _log_mixed(self._log_lost_now(rates, RARE), load + rates * self.memory_save)
            with np.errstate(divide="ignore", over="ignore"):
                most = 1.0 + best_load(-np.expm1(-self._extra(rates, load, first)))[1:] / first[:-1]
        with np.errstate(over="ignore"):
            return (most * longest) ** 2 / 4 + self.storage_recovery**2 / 4

    def _bend_at_best(self, rates: Array, values: Array) -> Array:
        """M of the best period between every two neighbours of ``rates``, at which ln η is ``values``."""
        left, right = rates[:-1], rates[1:]
        save, redo = max(self.memory_save, self.storage_save), self.memory_recovery
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            # a save of 0 (one of the two, with n given) bounds no period: infinite
            load = left * min(self.memory_save, self.storage_save) / np.expm1(self._log_attempts(left) - values[1:])
            bound = (save**2 + 2 * save * redo) / load + redo**2 * (1.0 + right * save / load)
            return np.where(load > 0, bound, np.inf) + self.storage_recovery**2 / 4

    @property
    def _log_lost(self) -> Array:
        """ln k, −inf where memory always survives."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(1.0 - self.memory_share))

    def _mean_save(self, every: Array) -> Array:
        """Save time per period, h."""
        return np.asarray(self.memory_save + (self.storage_save - self.memory_save) / every)

    def _log_lost_now(self, rates: Array, least: float = 0.0) -> Array:
        """ln κ, κ = k/c: the share of faults after which the job ends up at the last storage checkpoint."""
        if self.memory_share == 0:
            return np.zeros_like(rates)
        log_lost = log_expit(rates * self.memory_recovery + self._log_lost - np.log(self.memory_share))
        return np.asarray(np.maximum(log_lost, np.log(least)) if least > 0 else log_lost)

    def _log_attempts(self, rates: Array) -> Array:
        """ln c − G(Λ Rc2): of the time that is not spent in recoveries."""
        redo = rates * self.memory_recovery
        near = np.log1p(self.memory_share * np.expm1(-np.minimum(redo, 1.0)))
        far = _log_mixed(self._log_lost, redo) - redo
        return np.where(redo < 1.0, near, far) - _log_mixed(self._log_lost, rates * self.storage_recovery)

    def _log_redone(self, rates: Array, load: Array, every: Array) -> Array:
        """Q of the module's docstring."""
        first, last = load + rates * self.memory_save, load + rates * self.storage_save
        log_lost = self._log_lost_now(rates)
        growth, growth_last = _log_mixed(log_lost, first), _log_mixed(log_lost, last)
        most = log_exprel(first) - log_exprel(growth)
        most_last = log_exprel(last) - log_exprel(growth_last)
        number, number_last = _numbers(every)
        whole = number * first + number_last * last
        whole = np.where(whole == 0, 1.0, whole)
        most, most_last = np.where(number == 0, most_last, most), np.where(number_last == 0, most, most_last)
        place, apart = np.where(most < most_last, number * first, number_last * last) / whole, -np.abs(most - most_last)
        near = np.log1p(place * np.expm1(np.maximum(apart, -1.0)))
        place = np.where(apart < -1.0, np.where(most < most_last, number_last * last, number * first) / whole, 1.0)
        far = np.log(place + (1.0 - place) * np.exp(apart))
        mean = np.maximum(most, most_last) + np.where(apart < -1.0, far, near)
        return np.asarray(mean + log_exprel(number * growth + number_last * growth_last))

    def _period(self, rates: Array, load: Array) -> Array:
        if self.period is not None:
            return np.full_like(rates, self.period)
        return np.where(rates == 0, np.inf, load / np.where(rates == 0, 1.0, rates))

    def _extra(self, rates: Array, load: Array, growth: Array) -> Array:
        """d = h_n − h_1 = ln(1 + σ_1 (e^(Λ(δ2−δ1)) − 1)), without cancellation; 0 where storage costs no more."""
        if self.storage_save <= self.memory_save:
            return np.zeros_like(rates)
        steepness = self._log_lost_now(rates, RARE) + load + rates * self.memory_save - growth
        return _log_mixed(steepness, rates * (self.storage_save - self.memory_save))

    def _choice(self, rates: Array) -> tuple[Array, Array]:
        """Λτ and n, where not given the best."""
        if self.storage_every is not None:
            every = np.full_like(rates, float(self.storage_every))
            return (rates * self.period if self.period is not None else self._best_load(rates, every)), every
        if self.memory_share == 1 and self.storage_save > self.memory_save:
            fewer = np.full_like(rates, INFINITE)
        elif self.period is not None:
            fewer = np.floor(self._real_every(rates, rates * self.period))
        else:
            fewer = np.floor(self._joint_every(rates))
        tries = []
        for every in (fewer, fewer + 1.0):
            load = rates * self.period if self.period is not None else self._best_load(rates, every)
            loss = np.log1p(self._mean_save(every) / self._period(rates, load)) + self._log_redone(rates, load, every)
            tries.append((load, every, loss))
        (load, every, loss), (other_load, other_every, other_loss) = tries
        better = other_loss < loss
        return np.where(better, other_load, load), np.where(better, other_every, every)

    def _real_every(self, rates: Array, load: Array) -> Array:
        """max(1, X/h_1), the best real n at a load of the period; ``INFINITE`` at rate 0."""
        growth = _log_mixed(self._log_lost_now(rates, RARE), load + rates * self.memory_save)
        best = best_load(-np.expm1(-self._extra(rates, load, growth)))
        if self.storage_save <= self.memory_save:
            return np.ones_like(rates)
        return np.where(rates == 0, INFINITE, np.maximum(best / np.where(growth == 0, 1.0, growth), 1.0))

    def _first_order_every(self, rates: Array) -> Array:
        """√((δ2−δ1)(1−κ)/(δ1 κ)), at least 1."""
        kept = np.maximum(self.storage_save - self.memory_save, 0.0) / self.memory_save
        log_lost = self._log_lost_now(rates, RARE)
        return np.asarray(np.maximum(np.sqrt(-np.expm1(log_lost) * np.exp(-log_lost) * kept), 1.0))

    def _joint_every(self, rates: Array) -> Array:
        """The best real n at the best period for it: bisection on ln x around the first-order value."""
        start = self._first_order_every(rates)
        if self.storage_save <= self.memory_save:
            return start
        first_order = self._first_order_load(rates, start)
        low, high = np.log(np.maximum(first_order, TINY_LOAD) / 100), np.zeros_like(rates)
        log_lost = self._log_lost_now(rates, RARE)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            load = np.exp(middle)
            y, y_last = load + rates * self.memory_save, load + rates * self.storage_save
            h, h_last = _log_mixed(log_lost, y), _log_mixed(log_lost, y_last)
            steep, steep_last = np.exp(log_lost + y - h), np.exp(log_lost + y_last - h_last)
            rest = 1.0 - load * steep / h
            at = load * (steep_last - steep) / np.where(rest > 0, rest, 1.0)
            short = (rest > 0) & (at + np.expm1(-at - self._extra(rates, load, h)) < 0)  # X is above this point
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return np.where(first_order < TINY_LOAD, start, self._real_every(rates, np.exp((low + high) / 2)))

    def _first_order_load(self, rates: Array, every: Array) -> Array:
        """√(2Λδ̄/(1 + (n−1) κ)), δ̄ the mean save: x to first order, at most 1."""
        lost = np.exp(self._log_lost_now(rates, RARE))
        return np.minimum(np.sqrt(2 * rates * self._mean_save(every) / (1.0 + (every - 1.0) * lost)), 1.0)

    def _best_load(self, rates: Array, every: Array) -> Array:
        """The x with x Σ σ_i = 1 − e^(−H), by Newton's method."""
        start = self._first_order_load(rates, every)
        load = np.where(start == 0, 1.0, start)
        log_lost = self._log_lost_now(rates, RARE)
        number, number_last = _numbers(every)
        for _ in range(NEWTON):
            y, y_last = load + rates * self.memory_save, load + rates * self.storage_save
            h, h_last = _log_mixed(log_lost, y), _log_mixed(log_lost, y_last)
            steep, steep_last = np.exp(log_lost + y - h), np.exp(log_lost + y_last - h_last)
            sum_steep, whole = number * steep + number_last * steep_last, number * h + number_last * h_last
            bend = number * steep * (1.0 - steep) + number_last * steep_last * (1.0 - steep_last)
            miss = load * sum_steep + np.expm1(-whole)
            rising = -sum_steep * np.expm1(-whole) + load * bend
            load = np.clip(load - miss / rising, load / 10, 1.0)
        return np.asarray(np.where(start < TINY_LOAD, start, load))


def _numbers(every: Array) -> tuple[Array, Array]:
    """Saves of a pattern into memory and into storage; relative to each other where infinite."""
    last = np.where(every >= INFINITE, 0.0, 1.0)
    return np.where(every >= INFINITE, 1.0, every - last), last


def _log_mixed(log_share: Array, load: Array) -> Array:
    """ln(1 + k (e^x − 1)) for ln k <= 0 and x >= 0, with all digits for small ones and without overflow."""
    with np.errstate(divide="ignore"):  # ln 0 at x = 0
        grown = load + np.log(-np.expm1(-load))
    return np.asarray(-log_expit(-(log_share + grown)))
