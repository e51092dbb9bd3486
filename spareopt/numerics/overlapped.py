"""Overlapped checkpoints: a short snapshot stops training, the write to storage goes on beside it.

After every τ h of *work* (``period``; not of time) a snapshot stops training for σ h.  Its write then takes W h, during
which training runs at the share 1 − κ of its speed (κ: ``slowdown``).  A checkpoint counts only when written.  A fault
costs the recovery time Rc and all work since the last checkpoint that was written when it came; the snapshot being
written is lost with it.  Writes do not queue: the work τ must last as long as a write, τ >= (1−κ) W.

Faults come at the rate Λ in every phase.  Take the time from the end of one write (a commit) to the next.

- No fault since the commit: (1−κ) W of the τ are already done, so the rest, the snapshot and the write take
  a = τ − (1−κ) W + σ + W = τ + σ + κ W.
- After a fault: recovery, all of τ at full speed (nothing is being written), snapshot, write: Rc + r with
  r = τ + σ + W = a + (1−κ) W.

The first attempt takes (1 − e^(−Λa))/Λ on average and fails with probability 1 − e^(−Λa); then a stretch Rc + r, which
any fault starts afresh, takes (e^(Λ(Rc+r)) − 1)/Λ on average.  Together

    E[commit to commit] = (1 − e^(−Λa)) e^(Λ(Rc+r))/Λ = (e^(Λ(τ+δ')) − 1) e^(Λ Rc')/Λ,
    δ' = σ + κ W,    Rc' = Rc + (1−κ) W,

which is the period of plain checkpointing (``recovery``, exact model) with the save δ' and the recovery
Rc'.  So η falls with Λ and bends as there.  κ = 1 (writing stops training) is plain checkpointing with the save σ + W.

Best period: the best one of plain checkpointing with the save δ', or (1−κ) W where that is longer, for η has no other
maximum in τ.  It shortens with Λ, so up to some rate ln η is that of the free best period, convex, and beyond it that
of the given period (1−κ) W, concave; both slopes agree where they meet.  On an interval with the meeting point in it, a
tangent of the concave part is above the convex part as soon as it is above its left end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from spareopt.numerics.recovery import PAD, Array, Checkpointing, Curvature, Line, RecoveryShares, check_interval


@dataclass(frozen=True)
class Overlapped:
    """Snapshots of ``snapshot`` h after every ``period`` h of work, each written in ``write`` h beside the training.

    Training loses the share ``slowdown`` of its speed during a write; a fault costs ``recovery`` h of detection and
    restart.  ``period`` None: the best at each interruption rate.  Raises ValueError for negative or infinite times, a
    slowdown outside [0, 1], a period that is not positive or too short for a write ((1 − slowdown) × write), or a best
    period asked where saves and writes are free.  Every method takes rates per hour, >= 0, of any shape, returns that
    shape, and raises ValueError for a negative rate; NaN gives NaN.
    """

    snapshot: float
    write: float
    slowdown: float
    recovery: float
    period: float | None

    def __post_init__(self) -> None:
        times = {"snapshot": self.snapshot, "write": self.write, "recovery": self.recovery}
        for name, time in times.items():
            if not 0 <= time < np.inf:
                raise ValueError(f"{name} ({time} h) must be finite and not negative")
        if not 0 <= self.slowdown <= 1:
            raise ValueError(f"the slowdown during a write is a share from 0 to 1, not {self.slowdown}")
        if self.period is not None and not 0 < self.period < np.inf:
            raise ValueError(f"the checkpoint period ({self.period} h) must be finite and above zero")
        if self.period is not None and self.period < self.beside:
            raise ValueError(
                f"a checkpoint period of {self.period} h of work is over before the write, which lasts {self.beside} h "
                "of work"
            )
        if self.period is None and self.cost == 0 and self.beside == 0:
            raise ValueError("the best checkpoint period needs a snapshot or a write above zero")

    @property
    def cost(self) -> float:
        """σ + κW: the time one checkpoint keeps from training, h."""
        return self.snapshot + self.slowdown * self.write

    @property
    def beside(self) -> float:
        """(1−κ) W: the work done during a write, h."""
        return (1.0 - self.slowdown) * self.write

    def best_period(self, rate: ArrayLike) -> Array:
        """Work between two snapshots, h: the given period, or the one with the greatest η (infinite at rate 0)."""
        free, bound = self._free(), self._bound()
        if free is None:
            return bound.best_period(rate)
        return np.maximum(free.best_period(rate), self.beside)

    def log_eta(self, rate: ArrayLike) -> Array:
        """ln η; finite wherever the exponents Λ(τ+δ') and Λ Rc' are, also where η itself is too small for a float."""
        free, bound = self._free(), self._bound()
        if free is None:
            return bound.log_eta(rate)
        if self.beside == 0:
            return free.log_eta(rate)
        return np.where(free.best_period(rate) < self.beside, bound.log_eta(rate), free.log_eta(rate))

    def shares(self, rate: ArrayLike) -> RecoveryShares:
        """Shares of the unblocked time.

        ``saves``: what completed checkpoints keep from training, η (σ + κW)/τ.  ``recovery``: every fault starts one
        and the time since the last fault is exponential, so 1 − e^(−Λ Rc).  ``lost``: that of the equivalent plain
        checkpointing, and what its recovery share 1 − e^(−Λ Rc') has more than this.
        """
        free, bound = self._free(), self._bound()
        parts = _parts(bound.shares(rate))
        if free is not None:
            longer = np.asarray(free.best_period(rate)) < self.beside
            pairs = zip(parts, _parts(free.shares(rate)), strict=True)
            parts = tuple(np.where(longer, held, best) for held, best in pairs)
        useful, saves, lost = parts
        rates = np.asarray(rate, dtype=np.float64)
        again = -np.exp(-rates * self.recovery) * np.expm1(-rates * self.beside)
        return RecoveryShares(useful, saves, -np.expm1(-rates * self.recovery), lost + again)

    @property
    def curvature(self) -> Curvature:
        """How ln η bends in Λ: concave at a given period, convex at the best one unless a write can hold it up."""
        if self._free() is None:
            return Curvature.CONCAVE
        return Curvature.CONVEX if self.beside == 0 else Curvature.MIXED

    def over_estimators(self, low: float, high: float) -> list[Line]:
        """Lines (slope in h, intercept) with slope·Λ + intercept >= ln η(Λ) for every Λ in [low, high], per hour.

        Plain checkpointing's where ln η bends one way.  Else let F <= ln η be the concave function of the period
        (1−κ) W: tangents of F that are above ln η at ``low`` (the later they touch, the higher they are there), or the
        secant, where none is.  Raises ValueError unless 0 <= low <= high < inf.
        """
        free, bound = self._free(), self._bound()
        if free is None:
            return bound.over_estimators(low, high)
        check_interval(low, high)
        periods = free.best_period([low, high])
        if periods[1] >= self.beside:
            return free.over_estimators(low, high)
        if periods[0] < self.beside:
            return bound.over_estimators(low, high)

        def tangent(at: float) -> Line:
            return bound.over_estimators(at, at)[0]

        start = float(self.log_eta(low))

        def above_start(at: float) -> float:
            slope, intercept = tangent(at)
            return slope * low + intercept - start

        if above_start(high) <= 0:
            end = float(self.log_eta(high))
            slope = (end - start) / (high - low)
            lines = [(slope, start - slope * low)]
        else:
            first = brentq(above_start, low, high, rtol=1e-12) if above_start(low) < 0 else low
            lines = [tangent(at) for at in (first, (first + high) / 2, high)]
        raised = []
        for slope, intercept in lines:
            pad = PAD * max(1.0, abs(start), abs(slope) * high)
            raised.append((slope, intercept + max(0.0, start - slope * low - intercept) + pad))
        return raised

    def _free(self) -> Checkpointing | None:
        """The equivalent plain checkpointing at its own best period; None where the period is given or a write long."""
        if self.period is not None or self.cost == 0:
            return None
        return Checkpointing(self.cost, self.recovery + self.beside, None)

    def _bound(self) -> Checkpointing:
        """The equivalent plain checkpointing at the given period, or at the shortest one."""
        period = self.period or self.beside or 1.0  # without work beside a write the shortest period is not used
        return Checkpointing(self.cost, self.recovery + self.beside, period)


def _parts(shares: RecoveryShares) -> tuple[Array, ...]:
    return shares.useful, shares.saves, shares.lost
