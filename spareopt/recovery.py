"""Recovery under checkpointing: the useful share of unblocked time, its losses, its best period, and bounds on it.

A fault arrives at rate Λ.  Work comes in periods of τ, each followed by a save δ; a fault costs the recovery time Rc
(detection and restart) and the work since the last save.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import exprel, lambertw

Array = NDArray[np.float64]
Line = tuple[float, float]
PAD = 1e-12  # raises every over-estimate above the rounding of the function it bounds
SUBGRID = 32


class Curvature(StrEnum):
    """How ln η bends in Λ."""

    CONVEX = "convex"
    CONCAVE = "concave"
    MIXED = "mixed"


@dataclass(frozen=True)
class RecoveryShares:
    """Shares of the unblocked time; they sum to 1.  ``recovery`` is detection and restart."""

    useful: Array
    saves: Array
    recovery: Array
    lost: Array


@dataclass(frozen=True)
class Checkpointing:
    """Saves every ``period`` hours of work (None: the best period at each rate) of ``save`` h; ``recovery`` h a fault.

    ``exact``: faults hit while computing, saving, detecting and restarting alike, and an interrupted save is lost:
    E[period] = (exp(Λ(τ+δ)) − 1) / (Λ φ) with φ = exp(−Λ Rc), η = τ / E[period].
    ``first-order``: the published form, without faults in saves and recovery: T_p = (exp(Λ τ) − 1)/Λ,
    T = T_p + δ + Λ T_p Rc, η = τ/T.  Raises ValueError where the best period is asked of free saves.
    """

    save: float
    recovery: float
    period: float | None
    model: Literal["exact", "first-order"] = "exact"

    def __post_init__(self) -> None:
        if self.period is None and self.save <= 0:
            raise ValueError("the best period needs a save time above zero")

    def best_period(self, rate: ArrayLike) -> Array:
        """Work between saves at each rate, h: the given period, or the one with the highest η."""
        rates = np.asarray(rate, dtype=float)
        if self.period is not None:
            return np.full_like(rates, self.period)
        return self._best_load(rates) / rates

    def _best_load(self, rate: Array) -> Array:
        """x = Λ τ* of the best period.

        Exact: d ln η/dτ = 0 gives (1 − x) e^x = exp(−Λδ), so ln(1−x) + x + Λδ = 0 and x = 1 + W₀(−exp(−1−Λδ)).
        First-order: 1 − Λδ/(1+Λ Rc) takes the place of exp(−Λδ).  Near the branch point W₀ loses half its digits, so
        its value is polished by Newton's method on the logarithmic form.
        """
        if self.model == "exact":
            shift = rate * self.save
        else:
            shift = -np.log1p(-np.minimum(rate * self.save / (1.0 + rate * self.recovery), 1.0 - 1e-16))
        with np.errstate(under="ignore"):
            x = 1.0 + lambertw(-np.exp(-1.0 - shift)).real
        x = np.where(shift < 1e-4, np.sqrt(2 * shift) - 2 * shift / 3, x)
        for _ in range(4):
            excess = _log1p_minus(x) + shift
            x = np.clip(x + excess * (1.0 - x) / x, np.sqrt(shift) * 1e-3, 1.0 - 1e-300)
        return np.asarray(x)

    def log_eta(self, rate: ArrayLike) -> Array:
        """ln η at each rate (per hour), without overflow."""
        rates = np.asarray(rate, dtype=float)
        if self.period is None:
            x = self._best_load(rates)
            if self.model == "exact":
                # η = τ Λ φ/(e^{x+Λδ} − 1), and (1−x) e^{x+Λδ} = 1 at the best period: η = φ (1 − x)
                return np.log1p(-x) - rates * self.recovery
            return -x - np.log1p(rates * self.recovery)
        if self.model == "exact":
            whole = self.period + self.save
            return np.log(self.period / whole) - _log_exprel(rates * whole) - rates * self.recovery
        redo = _log_exprel(rates * self.period) + np.log1p(rates * self.recovery)
        return -np.logaddexp(redo, np.log(self.save / self.period) if self.save else -np.inf)

    def shares(self, rate: ArrayLike) -> RecoveryShares:
        """Shares of the unblocked time at each rate: useful work, saves, detection and restart, lost work.

        Exact: a period needs e^{Λ(τ+δ)} − 1 failed attempts on average, each followed by (1−φ)/(Λφ) of recovery;
        saves are δ, useful work τ, and failed attempts last (e^y − 1)/Λ − (τ+δ) in all, y = Λ(τ+δ).
        First-order: τ, δ, Λ T_p Rc and T_p − τ over T.
        """
        rates = np.asarray(rate, dtype=float)
        period = self.best_period(rates)
        useful = np.exp(self.log_eta(rates))
        saves = useful * self.save / period
        if self.model == "exact":
            y = rates * (period + self.save)
            # in units of E[period] = (e^y − 1)/(Λφ): recovery is 1 − φ, all attempts together are φ
            recovery = -np.expm1(-rates * self.recovery)
            attempts = np.exp(-rates * self.recovery)
            with np.errstate(over="ignore"):
                lost = attempts * _failed_share(y)
            return RecoveryShares(useful, saves, np.broadcast_to(recovery, rates.shape), lost)
        x = rates * period
        with np.errstate(over="ignore"):
            lost = useful * (exprel(x) - 1.0)
            recovery = useful * exprel(x) * rates * self.recovery
        big = ~np.isfinite(lost + recovery)
        total = 1.0 + rates * self.recovery
        return RecoveryShares(
            useful, saves, np.where(big, rates * self.recovery / total, recovery), np.where(big, 1.0 / total, lost)
        )

    @property
    def curvature(self) -> Curvature:
        """How ln η bends in Λ.

        Given period, exact: ln η is a constant − ln((e^y − 1)/y) − Λ Rc, concave since e^y − 1 over y is log-convex.
        Best period: a supremum over τ of functions linear in ln … turns convex (checked in the tests).
        Given period, first-order: ln(1 + Λ Rc) bends the other way, so the sum is neither.
        """
        if self.period is None:
            return Curvature.CONVEX
        return Curvature.CONCAVE if self.model == "exact" else Curvature.MIXED

    def over_estimators(self, low: float, high: float) -> list[Line]:
        """Lines (slope, intercept) in Λ that are nowhere below ln η on [low, high]."""
        if self.curvature is Curvature.CONCAVE:
            points = [low] if low == high else [low, (low + high) / 2, high]
            return [self._tangent(point) for point in points]
        ends = self.log_eta(np.array([low, high]))
        slope = 0.0 if low == high else float((ends[1] - ends[0]) / (high - low))
        rise = 0.0 if self.curvature is Curvature.CONVEX else self._rise_above_secant(low, high)
        return [(slope, float(ends[0]) - slope * low + rise + PAD)]

    def _tangent(self, rate: float) -> Line:
        """The tangent of ln η at a rate, for a given period in the exact model."""
        assert self.period is not None
        whole = self.period + self.save
        y = rate * whole
        # d/dy ln((e^y − 1)/y) = 1/(1 − e^{−y}) − 1/y
        bend = 0.5 + y / 12 if y < 1e-4 else 1.0 / -np.expm1(-y) - 1.0 / y
        slope = float(-whole * bend - self.recovery)
        return slope, float(self.log_eta(np.array(rate))) - slope * rate + PAD

    def _rise_above_secant(self, low: float, high: float) -> float:
        """How far the first-order ln η at a given period can be above its secant, by a bound on its curvature.

        ln η = ln τ − ln B with B(Λ) = T_p (1 + Λ Rc) + δ, a power series with non-negative coefficients, so
        −(ln η)'' <= B''/B <= B''(high)/B(low); between grid points a function with −f'' <= M is at most h² M/8 above
        its chord.
        """
        if low == high:
            return 0.0
        grid = np.linspace(low, high, SUBGRID + 1)
        values = self.log_eta(grid)
        secant = values[0] + (values[-1] - values[0]) * (grid - low) / (high - low)
        step = (high - low) / SUBGRID
        bend = self._second_derivative_bound(high) / self._denominator(low)
        return float(max(0.0, (values - secant).max()) + step**2 * bend / 8)

    def _denominator(self, rate: float) -> float:
        assert self.period is not None
        return float(self.period * exprel(rate * self.period) * (1 + rate * self.recovery) + self.save)

    def _second_derivative_bound(self, rate: float) -> float:
        """B'' with T_p = τ exprel(x): exprel' <= e^x/2 and exprel'' <= e^x/3 for x >= 0, term by term."""
        assert self.period is not None
        tau, x = self.period, rate * self.period
        first, second = tau**2 * np.exp(x) / 2, tau**3 * np.exp(x) / 3
        return float(second * (1 + rate * self.recovery) + 2 * first * self.recovery)


def _log_exprel(y: Array) -> Array:
    """ln((e^y − 1)/y) for y >= 0, without overflow."""
    small = np.minimum(y, 1.0)
    large = np.maximum(y, 1.0)
    return np.where(y < 1.0, np.log(exprel(small)), large + np.log(-np.expm1(-large)) - np.log(large))


def _failed_share(y: Array) -> Array:
    """((e^y − 1) − y)/(e^y − 1): the share of attempted time that fails, stable for small and large y."""
    small = np.minimum(y, 1.0)
    large = np.maximum(y, 1.0)
    return np.where(y < 1.0, (exprel(small) - 1.0) / exprel(small), 1.0 - large * np.exp(-large) / -np.expm1(-large))


def _log1p_minus(x: Array) -> Array:
    """ln(1 − x) + x, without cancellation for small x: −x²/2 − x³/3 − …"""
    series = -(x**2) * (1 / 2 + x * (1 / 3 + x * (1 / 4 + x * (1 / 5 + x * (1 / 6 + x * (1 / 7 + x / 8))))))
    return np.where(x < 0.01, series, np.log1p(-np.maximum(x, 0.01)) + np.maximum(x, 0.01))
