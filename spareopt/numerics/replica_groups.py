"""Replica groups (semi-synchronous training): a fault stalls all of them shortly and keeps its own out for longer.

The job is G groups, each a whole replica of the model.  Faults hit a group at the rate ℓ = Λ/G while it is not out
(also while it is stalled), and not while it is out.  A fault stalls all groups for s h (``stall``) and keeps its own
group out for D h (``rejoin``; both counted from the fault).  Groups fault independently; no work but a group's own time
out is lost, there are no checkpoint saves, and a group rejoins from another one's state: all groups out at once is not
modelled.

A group's faults are a renewal process with intervals D + Exp(ℓ).  It is out for 1 − u of the time, u = 1/(1 + ℓD), and
faults come every D + 1/ℓ h.  Another group trains unhindered by it where it has had no fault in the last s h.  As
the process is stationary this has the probability that the time to the next fault exceeds s, 1/(D + 1/ℓ) times the
integral of P(interval > t) over t > s:

    q = 1 − ℓ s u  for s <= D    (at most one fault can come within s),
    q = u e^(−ℓ (s−D))  for s >= D.

The group trains where it is not out itself, was not stalled by itself (u where s <= D, else q), and none of the G − 1
others has stalled it:

    η = u q^(G−1)  for s <= D,    η = q^G  for s >= D.

s = D = Rc with many groups, or D = 0 with any, is the synchronous job with free saves, η = e^(−Λ Rc).  In one formula,
with c = min(s, D):

    ln η = −ln(1 + ℓD) − (G−1) ln(1 + ℓc/(1 + ℓ(D−c))) − G ℓ (s−c).

η falls with Λ, term by term.  ln η is convex in Λ: the second derivative by ℓ is G D²/(1+ℓD)² − (G−1) d²/(1+ℓd)² with
d = D − c, and d/(1+ℓd) rises with d.

The *fixed-loss* scheme (``fixed_loss_share``) is cruder.  Faults come at fixed intervals of *wall* time and each
costs exactly its stall: none hits a recovery, none is saved by one.  At a fault every 18 min with all stalled for 10
min it leaves 1 − 10/18 = 44 %, the published figure for 100,000 GPUs (arXiv:2602.00277, abstract); Poisson faults at
the same rate that also hit recoveries leave e^(−10/18) = 57 %, for some recoveries are cut short by the next and share
its wall time; and if 18 min were the *up* time from a recovery to the next fault, 18/28 = 64 % were left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from spareopt.numerics.recovery import PAD, Array, Curvature, Line, RecoveryShares, check_interval, checked_rates


@dataclass(frozen=True)
class ReplicaGroups:
    """``groups`` replicas; a fault stalls all of them for ``stall`` h and keeps its own out for ``rejoin`` h.

    Both times count from the fault, so ``rejoin`` includes the group's own stall; where it is the shorter one, the
    group waits with the others.  Raises ValueError for less than one group, or negative or infinite times.  Every
    method takes the job's rates per hour, all groups together, >= 0, of any shape, returns that shape, and raises
    ValueError for a negative rate; NaN gives NaN.
    """

    groups: int
    stall: float
    rejoin: float

    def __post_init__(self) -> None:
        if self.groups < 1:
            raise ValueError(f"a job has at least one replica group, not {self.groups}")
        for name, time in (("stall", self.stall), ("rejoin", self.rejoin)):
            if not 0 <= time < np.inf:
                raise ValueError(f"{name} ({time} h) must be finite and not negative")

    def best_period(self, rate: ArrayLike) -> Array:
        """Infinite: there are no checkpoints."""
        rates = checked_rates(rate)
        return np.where(np.isnan(rates), np.nan, np.inf)

    def log_eta(self, rate: ArrayLike) -> Array:
        """ln η in the one formula of the module's docstring."""
        return -np.log1p(self._group_rate(rate) * self.rejoin) - self._stalling(rate)

    def shares(self, rate: ArrayLike) -> RecoveryShares:
        """Shares of the unblocked time of the groups: ``recovery`` is their time out, 1 − u; ``stalls`` is u − η."""
        out = self._group_rate(rate) * self.rejoin
        useful = np.exp(self.log_eta(rate))
        stalls = -np.expm1(-self._stalling(rate)) / (1.0 + out)
        none = np.zeros_like(useful)
        return RecoveryShares(useful, none, out / (1.0 + out), none, stalls)

    @property
    def curvature(self) -> Curvature:
        """How ln η bends in Λ: convex (see the module's docstring)."""
        return Curvature.CONVEX

    def over_estimators(self, low: float, high: float) -> list[Line]:
        """The secant (slope in h, intercept) on [low, high], per hour, at least ln η there.

        Raises ValueError unless 0 <= low <= high < inf.
        """
        check_interval(low, high)
        start, end = (float(value) for value in self.log_eta([low, high]))
        slope = (end - start) / (high - low) if high > low else 0.0
        return [(slope, start - slope * low + PAD * max(1.0, abs(start), abs(slope) * high))]

    def _group_rate(self, rate: ArrayLike) -> Array:
        return checked_rates(rate) / self.groups

    def _stalling(self, rate: ArrayLike) -> Array:
        """ln u − ln η: what stalls take off a group that is not out."""
        rates = self._group_rate(rate)
        short = min(self.stall, self.rejoin)
        within = np.log1p(rates * short / (1.0 + rates * (self.rejoin - short)))
        return np.asarray((self.groups - 1) * within + self.groups * rates * (self.stall - short))


def fixed_loss_share(
    mean_time_between_faults: ArrayLike,
    groups: ArrayLike,
    stall_all: ArrayLike,
    idle_one: ArrayLike,
    rejoin_stall: ArrayLike = 0.0,
    lost_work: ArrayLike = 0.0,
) -> Array:
    """The useful share where every fault costs exactly the same, 1 − (stall + rejoin + lost)/M − idle/(M G).

    M is the mean *wall* time between faults, stalls included; a fault never hits a recovery.  A fault stops all
    ``groups`` for ``stall_all``, its own group for ``idle_one`` more, all again for ``rejoin_stall`` when it rejoins,
    and all redo ``lost_work``.  All in hours, or all in one other unit.  0 where the losses take more than the time
    there is.  Raises ValueError unless M > 0, groups >= 1 and the other times are not negative.
    """
    between, number = np.asarray(mean_time_between_faults, dtype=np.float64), np.asarray(groups, dtype=np.float64)
    whole = [np.asarray(time, dtype=np.float64) for time in (stall_all, rejoin_stall, lost_work)]
    one = np.asarray(idle_one, dtype=np.float64)
    if np.any(between <= 0) or np.any(number < 1) or any(np.any(time < 0) for time in (*whole, one)):
        raise ValueError("a fixed loss needs a time between faults above zero, a group or more, and no negative times")
    return np.asarray(np.maximum(1.0 - (sum(whole) + one / number) / between, 0.0))
