"""A mixture over the environment's states, bounded by terms of one zone each: Hölder's inequality with a tilt.

With weights w_s, a factor f_js >= 0 of each zone (and of the recovery), any positive references r_js, v_s proportional
to w_s ∏_j r_js and exponents θ_j > 0 that sum to 1,

    Σ_s w_s ∏_j f_js = P Σ_s v_s ∏_j (f_js/r_js) <= P ∏_j (Σ_s v_s (f_js/r_js)^(1/θ_j))^θ_j,    P = Σ_s w_s ∏_j r_js.

The logarithm of the right side is a sum of one term for each zone and one for the recovery, so a MILP can add them.
It is exact where all f_j/r_j are the same function of s: at the plan whose own factors are the references, and, with
equal exponents and no recovery factor, at every plan whose zones are alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spareopt.numerics.recovery import Curvature, Line, RateTerm, RecoveryScheme, monotone_over_estimator

Array = NDArray[np.float64]

RECOVERY_SHARE = 0.01
"""Exponent of the recovery: its ratio to its reference hardly differs between states, so nearly all is the zones'."""
PARTS = 256
"""Parts of an interval in an over-estimate from monotonicity: each costs the recovery of every state."""
FLOOR = -10.0
"""References are at least e^this: any positive reference gives a bound, and a zero could not be divided by."""


@dataclass(frozen=True)
class Tilt:
    """References of a mixture: ``log_reference[z]`` (states) of one zone of class z, ``log_recovery`` (states).

    ``share`` is the exponent θ of each zone; the recovery's is what is left of 1 (``recovery_share``).
    """

    log_reference: Array
    log_recovery: Array
    log_weights: Array
    log_total: float
    share: float
    recovery_share: float


def tilt_at(weights: ArrayLike, log_up: Array, members: ArrayLike, log_recovery: Array, with_recovery: bool) -> Tilt:
    """The tilt whose references are the factors of a plan.

    ``log_up`` has a row for each zone class, the mean ln a of its zones in each state (columns); ``members`` counts
    its zones.  ``with_recovery``: whether the recovery differs between states, so that it needs an exponent.
    """
    reference = np.maximum(log_up, FLOOR)
    number = np.asarray(members, dtype=float)
    recovery = np.maximum(log_recovery, FLOOR) if with_recovery else np.zeros_like(log_recovery)
    with np.errstate(divide="ignore"):
        terms = np.log(np.asarray(weights, dtype=float)) + number @ reference + recovery
    total = float(np.logaddexp.reduce(terms))
    recovery_share = RECOVERY_SHARE if with_recovery else 0.0
    return Tilt(reference, recovery, terms - total, total, (1.0 - recovery_share) / number.sum(), recovery_share)


def zone_terms(tilt: Tilt, log_up: Array, group: NDArray[np.int64]) -> Array:
    """θ ln Σ_s v_s (a_s/r_s)^(1/θ) of each candidate: rows of ``log_up`` (states in columns), ``group`` its class."""
    return _term(log_up - tilt.log_reference[group], tilt.log_weights, tilt.share)


def _term(log_ratio: Array, log_weights: Array, share: float) -> Array:
    with np.errstate(invalid="ignore"):
        terms = log_ratio / share + log_weights
    top = terms.max(axis=-1, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(share * (np.log(np.exp(terms - safe).sum(axis=-1)) + safe[..., 0]))


def log_eta_by_state(scheme: RateTerm, rate: ArrayLike, multipliers: Array) -> Array:
    """ln η at each rate times each state's multiplier (a last axis); a multiplier that states share is taken once."""
    distinct, place = np.unique(multipliers, return_inverse=True)
    rates = np.asarray(rate, dtype=np.float64)
    return np.asarray(scheme.log_eta(rates[..., None] * distinct)[..., place])


@dataclass(frozen=True)
class MixedRecovery:
    """The recovery's term of the bound, θ ln Σ_s v_s (η(m_s Λ)/r_s)^(1/θ), in the place of ln η(Λ).

    It falls in Λ because η does, and is convex where ln η is: a logarithm of a sum of exponentials of convex functions.
    """

    scheme: RecoveryScheme
    multipliers: Array
    tilt: Tilt
    _lines: dict[tuple[float, float], list[Line]] = field(default_factory=dict, compare=False, repr=False)

    def log_eta(self, rate: ArrayLike) -> Array:
        """The term at each rate (any shape)."""
        log_eta = log_eta_by_state(self.scheme, rate, self.multipliers)
        return _term(log_eta - self.tilt.log_recovery, self.tilt.log_weights, self.tilt.recovery_share)

    @property
    def curvature(self) -> Curvature:
        """Convex where ln η is, else unknown."""
        return Curvature.CONVEX if self.scheme.curvature is Curvature.CONVEX else Curvature.MIXED

    def over_estimators(self, low: float, high: float) -> list[Line]:
        """Lines on or above the term for every rate in [low, high]."""
        if (low, high) not in self._lines:  # asked for again in each round of a search
            convex = self.curvature is Curvature.CONVEX
            self._lines[low, high] = (
                [_secant(self.log_eta, low, high)]
                if convex
                else monotone_over_estimator(self.log_eta, low, high, PARTS)
            )
        return self._lines[low, high]


def _secant(function: object, low: float, high: float) -> Line:
    assert callable(function)
    ends = function(np.array([low, high]))
    slope = float(ends[1] - ends[0]) / (high - low) if high > low else 0.0
    pad = 1e-12 * max(1.0, float(np.abs(ends).max()), abs(slope) * high)
    return slope, float(ends[0]) - slope * low + pad
