"""Recovery: the useful share η of unblocked time under checkpointing, its loss shares, best period and bounds on ln η.

Faults stop the job at rate Λ (per hour).  Work comes in periods of τ hours, each closed by a save of δ hours; a fault
costs the recovery time Rc (detection and restart, constant) and the work since the last completed save.

Exact model: faults hit in every phase (computing, saving, detecting, restarting).  With y = Λ(τ+δ) and φ = exp(−Λ Rc),
an attempt of τ+δ succeeds with probability e^(−y), so a period takes e^y − 1 failed attempts on average, and

    E[period] = (e^y − 1)/(Λ φ),    η = τ / E[period].

First-order model (published with MLSys 2026, no faults in saves and recovery): T_p = (e^(Λτ) − 1)/Λ,
T = T_p + δ + Λ T_p Rc, η = τ/T.

Both have their best period where ∫₀ˣ t eᵗ dt = u for x = Λ τ*, with u = 1 − e^(−Λδ) (exact) or Λδ/(1 + Λ Rc).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, exprel, hyp1f1, lambertw, log_expit

Array = NDArray[np.float64]
Line = tuple[float, float]
Model = Literal["exact", "first-order", "computing"]

PAD = 1e-12
"""Every over-estimator is raised by this share of the largest number in it, so that rounding cannot put it below."""
PARTS = 32
"""Parts of an interval in which the bend of a function of mixed curvature is bounded."""
FLOOR = -1e3
"""ln η below which over-estimators from monotonicity do not follow it: e^-1000 is no useful time at all."""


class Curvature(StrEnum):
    """How ln η bends in the interruption rate."""

    CONVEX = "convex"
    CONCAVE = "concave"
    MIXED = "mixed"


@dataclass(frozen=True)
class RecoveryShares:
    """Shares of the time in which the job is not blocked; they sum to 1.

    ``useful`` work that is kept, ``saves`` that complete, ``recovery`` (detection and restart), ``lost``: work that is
    done again, failed saves included, and ``stalls``: waiting for the recovery of another part of the job (schemes in
    which a fault stops the whole job have none).
    """

    useful: Array
    saves: Array
    recovery: Array
    lost: Array
    stalls: Array = field(default_factory=lambda: np.asarray(0.0))


class RateTerm(Protocol):
    """What the interruption rate (per hour) adds to ln goodput, with lines above it."""

    def log_eta(self, rate: ArrayLike) -> Array:
        """ln of the useful share of the unblocked time, or a bound on it."""
        ...

    @property
    def curvature(self) -> Curvature:
        """How it bends in the interruption rate."""
        ...

    def over_estimators(self, low: float, high: float) -> list[Line]:
        """Lines (slope in h, intercept) nowhere below it on [low, high], per hour."""
        ...


class RecoveryScheme(RateTerm, Protocol):
    """What the planner asks of a way to recover from faults.

    Rates are per hour, >= 0, of any shape; results have that shape; a negative rate raises ValueError, NaN gives NaN.
    η must not rise with the rate.
    """

    def best_period(self, rate: ArrayLike) -> Array:
        """Work between two checkpoints, h; infinite where there are none."""
        ...

    def shares(self, rate: ArrayLike) -> RecoveryShares:
        """Shares of the unblocked time."""
        ...


@dataclass(frozen=True)
class Checkpointing:
    """Saves of ``save`` h after every ``period`` h of work, and ``recovery`` h of detection and restart per fault.

    ``period`` None: the best period at each interruption rate.  The models are those of the module's docstring.
    Raises ValueError for negative times, a period that is not positive, or a best period asked with free saves (it
    would be zero, with infinitely many saves).  Every method takes rates per hour, >= 0, of any shape, returns that
    shape, and raises ValueError for a negative rate; NaN gives NaN.
    """

    save: float
    recovery: float
    period: float | None
    model: Model = "exact"

    def __post_init__(self) -> None:
        if not (0 <= self.save < np.inf and 0 <= self.recovery < np.inf):
            raise ValueError(f"save ({self.save} h) and recovery ({self.recovery} h) must be finite and not negative")
        if self.period is not None and not 0 < self.period < np.inf:
            raise ValueError(f"the checkpoint period ({self.period} h) must be finite and above zero")
        if self.period is None and self.save == 0:
            raise ValueError("the best checkpoint period needs a save time above zero")
        if self.model not in get_args(Model):
            raise ValueError(f"unknown recovery model {self.model!r}; there are {', '.join(get_args(Model))}")

    def best_period(self, rate: ArrayLike) -> Array:
        """Work between two saves, h: the given period, or the one with the greatest η (infinite at rate 0)."""
        rates = checked_rates(rate)
        if self.period is not None:
            return np.full_like(rates, self.period)
        faulty = np.where(rates == 0, 1.0, rates)
        return np.where(rates == 0, np.inf, self._load(rates) / faulty)

    def log_eta(self, rate: ArrayLike) -> Array:
        """ln η; finite wherever Λ, y and Λ Rc are, also where η itself is too small for a float.

        At the best period e^y = eˣ e^(Λδ) and (1−x) eˣ = 1 − u turn η into φ (1−x) = exp(−x − Λδ − Λ Rc) in the exact
        model (ln(1−x) = −x − Λδ there) and e^(−x)/(1 + Λ Rc) in the first-order one.
        """
        rates = checked_rates(rate)
        if self.period is None:
            if self.model == "exact":
                return -self._load(rates) - rates * (self.save + self.recovery)
            return -self._load(rates) - np.log1p(rates * self.recovery)
        if self.model == "exact":
            whole = self.period + self.save
            return -float(np.log1p(self.save / self.period)) - log_exprel(rates * whole) - rates * self.recovery
        rework, save = self._log_terms(rates)
        return np.asarray(log_expit(rework - save) - rework)  # −ln(e^rework + e^save)

    def shares(self, rate: ArrayLike) -> RecoveryShares:
        """Shares of the unblocked time.

        Exact, in units of E[period]: useful τ, saves δ; e^y − 1 failed attempts, each followed by (1−φ)/(Λφ) h of
        recovery (repeated until one passes without a fault), make 1 − φ in all; lost is what is left of the attempts'
        share φ: φ (1 − y/(e^y − 1)).  First-order, in units of T: τ, δ, Λ T_p Rc and T_p − τ.
        """
        rates = checked_rates(rate)
        load = self._load(rates)
        useful = np.exp(self.log_eta(rates))
        saves = useful * self.save / self.best_period(rates)
        repeats = rates * self.recovery
        if self.model == "exact":
            y = load + rates * self.save
            return RecoveryShares(useful, saves, -np.expm1(-repeats), np.exp(-repeats) * y * _fault_place(y))
        rework, save = self._log_terms(rates)
        working = expit(rework - save) / (1.0 + repeats)  # T_p/T
        return RecoveryShares(useful, saves, working * repeats, working * load * _fault_place(load))

    @property
    def curvature(self) -> Curvature:
        """How ln η bends in Λ.

        - Given period, exact: −ln((e^y − 1)/y) is concave ((e^y − 1)/y is a moment generating function, so its
          logarithm is convex), the rest is linear.
        - Best period: dx/du = e^(−x)/x > 0 falls with x, so x is concave and increasing in u, and u is concave in Λ:
          −x is convex.  So are −Λδ − Λ Rc and −ln(1 + Λ Rc).
        - Given period, first-order: −ln(1 + Λ Rc) is convex and the rest bends either way.
        """
        if self.period is None:
            return Curvature.CONVEX
        return Curvature.CONCAVE if self.model == "exact" else Curvature.MIXED

    def over_estimators(self, low: float, high: float) -> list[Line]:
        """Lines (slope in h, intercept) with slope·Λ + intercept >= ln η(Λ) for every Λ in [low, high], per hour.

        Convex: the secant.  Concave: the tangents at both ends and in the middle.  Mixed: the secant raised by a bound
        on how far ln η can be above it.  Raises ValueError unless 0 <= low <= high < inf.
        """
        check_interval(low, high)
        if self.curvature is Curvature.CONCAVE:
            points = [low] if low == high else [low, low + (high - low) / 2, high]
            return [self._padded(self._slope(at), at, 0.0, high) for at in points]
        if low == high:
            return [self._padded(0.0, low, 0.0, high)]
        ends = self.log_eta([low, high])
        rise = 0.0 if self.curvature is Curvature.CONVEX else self._rise_above_secant(low, high)
        return [self._padded(float(ends[1] - ends[0]) / (high - low), low, rise, high)]

    def _padded(self, slope: float, at: float, rise: float, high: float) -> Line:
        """The line of this slope through ln η at a rate, raised."""
        value = float(self.log_eta(at))
        pad = PAD * max(1.0, abs(value), abs(slope) * high)
        return slope, value - slope * at + rise + pad

    def _slope(self, rate: float) -> float:
        """d ln η/dΛ for a given period in the exact model: d/dy ln((e^y − 1)/y) = 1 − (1/y − 1/(e^y − 1))."""
        assert self.period is not None
        whole = self.period + self.save
        return -whole * (1.0 - float(_fault_place(np.asarray(rate * whole)))) - self.recovery

    def _rise_above_secant(self, low: float, high: float) -> float:
        """A bound on how far the first-order ln η at a given period is above its secant on [low, high].

        On a part of width h where −(ln η)'' <= M, ln η is at most h² M/8 above the chord of the part.  With
        P = T_p (1 + Λ Rc), p = P/(P + δ) and g = (ln P)':

            −(ln η)'' = p (ln P)'' + p (1−p) g² <= p τ²/12 + p (1−p) g²,

        because (ln((eˣ − 1)/x))'' is the variance of a distribution on [0, 1] with density ∝ e^(xt), at most 1/12
        (its value at x = 0, from which it falls).  p rises with Λ; of g = τ (1 − place(x)) + Rc/(1 + Λ Rc) the first
        term rises and the second falls.  So each is bounded from the ends of the part.
        """
        assert self.period is not None
        rates = np.linspace(low, high, PARTS + 1)
        values = self.log_eta(rates)
        above = values - np.linspace(float(values[0]), float(values[-1]), PARTS + 1)
        rework, save = self._log_terms(rates)
        working, saving = expit(rework - save), expit(save - rework)  # p and 1 − p
        place = self.period * (1.0 - _fault_place(rates * self.period))
        steepest = place[1:] + self.recovery / (1.0 + rates[:-1] * self.recovery)
        mixing = np.minimum(working[1:] * saving[:-1], 0.25)
        bend = working[1:] * self.period**2 / 12 + mixing * steepest**2
        ends = np.maximum(above[:-1], above[1:])
        return float(np.max(ends + ((high - low) / PARTS) ** 2 * bend / 8))

    def _load(self, rates: Array) -> Array:
        """Λτ at the period used."""
        if self.period is not None:
            return rates * self.period
        if self.model == "exact":
            return best_load(-np.expm1(-rates * self.save))
        return best_load(rates * self.save / (1.0 + rates * self.recovery))

    def _log_terms(self, rates: Array) -> tuple[Array, Array]:
        """ln(T_p (1 + Λ Rc)/τ) and ln(δ/τ) of the first-order model, whose T/τ is the sum of the two terms."""
        with np.errstate(divide="ignore"):  # ln 0 where saves are free or the period infinite
            save = np.log(self.save / self.best_period(rates))
        return log_exprel(self._load(rates)) + np.log1p(rates * self.recovery), save


def monotone_over_estimator(
    log_eta: Callable[[ArrayLike], Array],
    low: float,
    high: float,
    parts: int = 4096,
    bend: Callable[[Array, Array], ArrayLike] | None = None,
) -> list[Line]:
    """One line (slope in h, intercept) nowhere below a function that does not rise on [low, high].

    The slope is the secant's.  On a part [a, b] of the interval f <= f(a), and a falling line is lowest at b: the line
    is raised until it is >= f(a) at b on every part.  That needs nothing but monotonicity, and the excess shrinks like
    1/``parts``.  ``bend(rates, values)``, given the ends of the parts and f there, may return for each part an M with
    −f'' <= M on it (inf where there is none): f is then at most (b−a)² M/8 above its chord, and of both bounds the
    lower one is used.  M need only hold for a twice differentiable function below f that touches it, at each point:
    f + M Λ²/2 then has no maximum above a chord, for at such a point that function would bend upwards.  Values below
    ``FLOOR`` count as ``FLOOR``.  Raises ValueError unless 0 <= low <= high < inf and parts >= 1.
    """
    check_interval(low, high)
    if parts < 1:
        raise ValueError(f"an over-estimator needs at least one part, not {parts}")
    if low == high:
        parts, bend = 1, None
    rates = np.linspace(low, high, parts + 1)
    values = np.maximum(log_eta(rates), FLOOR)
    drop = min(float(values[-1] - values[0]), 0.0)
    slope = drop / (high - low) if high > low else 0.0
    line = values[0] + slope * (rates - low)
    rises = values[:-1] - line[1:]
    if bend is not None:
        width = (high - low) / parts
        above = values - line
        with np.errstate(invalid="ignore"):  # 0 × inf: no bound from the bend
            curved = np.maximum(above[:-1], above[1:]) + width**2 * np.asarray(bend(rates, values)) / 8
        rises = np.fmin(rises, curved)
    rise = max(float(rises.max()), 0.0)
    pad = PAD * max(1.0, abs(float(values[0])), abs(slope) * high)
    return [(slope, float(values[0]) - slope * low + rise + pad)]


def check_interval(low: float, high: float) -> None:
    if not 0 <= low <= high < np.inf:
        raise ValueError(f"an interval of interruption rates needs 0 <= low <= high < inf, not [{low}, {high}]")


def checked_rates(rate: ArrayLike) -> Array:
    rates = np.asarray(rate, dtype=np.float64)
    if np.any(rates < 0):
        raise ValueError(f"an interruption rate is negative: {rates.min()} per hour")
    return rates


def best_load(u: Array) -> Array:
    """The x >= 0 with ∫₀ˣ t eᵗ dt = 1 − (1−x) eˣ = u, for u >= 0: x = 1 + W₀(−(1−u)/e).

    Setting the derivative of ln τ − ln E[period] (or ln T) to zero gives this equation.  Near the branch point (small
    u) W₀ keeps half its digits only, so it is just the start (there: x = √(2u) − 2u/3 + …) for Newton's method on the
    integral, which has no cancellation in the form x²/2 · ₁F₁(2; 3; x).
    """
    near = u < 0.01
    x = np.where(near, np.sqrt(2 * u) - 2 * u / 3, 1.0 + lambertw((np.where(near, 1.0, u) - 1.0) / np.e).real)
    for _ in range(3):
        series = np.minimum(x, 1.0)
        integral = np.where(x < 1.0, series**2 / 2 * hyp1f1(2.0, 3.0, series), x * np.exp(x) - np.expm1(x))
        x = x - (integral - u) / np.where(x == 0, 1.0, x * np.exp(x))
    return np.asarray(x)


def log_exprel(y: Array) -> Array:
    """ln((e^y − 1)/y) for y >= 0, with all digits for small y and without overflow for large y."""
    small, large = np.minimum(y, 1.0), np.maximum(y, 1.0)
    near = np.log1p(small / 2 * hyp1f1(1.0, 3.0, small))
    return np.where(y < 1.0, near, large + np.log(-np.expm1(-large)) - np.log(large))


def _fault_place(y: Array) -> Array:
    """Mean place of the fault, as a share of the attempt, in an attempt of load y that fails: 1/y − 1/(e^y − 1).

    It is 1/2 at y = 0 and falls to 0.  For small y: (e^y − 1 − y)/(y (e^y − 1)) with e^y − 1 − y = y²/2 · ₁F₁(1; 3; y).
    """
    small, large = np.minimum(y, 1.0), np.maximum(y, 1.0)
    near = 0.5 * hyp1f1(1.0, 3.0, small) / exprel(small)
    return np.where(y < 1.0, near, 1.0 / large - np.exp(-large) / -np.expm1(-large))
