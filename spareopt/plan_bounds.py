"""Bounds on the scores of plans that are sums over zones: how good any plan with a given candidate can be.

With the zones held to the candidates that are left, ln N is below its tangent, ln η(Λ) below a line on the range of Λ
that is left, the slowest zone's scale known or below the mean of all zones', the cost above a sum over zones, and each
limit is a sum over zones.  With a multiplier μ ≥ 0 for each limit, no plan that meets them scores more than

    constant + Σ_zones (weight(candidate) − μ · use(candidate)) + μ · limit,

so that a candidate's own term with the best of all other zones bounds every plan that uses it.  The multipliers that
make the bound on all plans least are found by bisection; any others would be as sound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, log1p

import numpy as np
from numpy.typing import NDArray

from spareopt.limits import rounding
from spareopt.numerics.recovery import Curvature
from spareopt.problem import Problem
from spareopt.units import HOURS_PER_YEAR

Array = NDArray[np.float64]
Places = NDArray[np.int64]

LOWEST = -50.0  # ln of a share of time that is taken for any less: an over-estimate, and sums stay finite
LEAST_EXPONENT = -5.0  # where a tangent of exp is taken
SWEEPS, HALVINGS, DOUBLINGS = 2, 24, 40
ROUNDING = 1e-10  # relative, for sums in another order


@dataclass(frozen=True)
class Kind:
    """``number`` times a candidate out of ``rows`` (positions) is chosen for ``zones`` zones each."""

    rows: Places
    zones: int
    number: int


@dataclass(frozen=True)
class Bounds:
    """For each kind the term of each of its rows; the constant; each row's use of every limit, and what may be used."""

    constant: float
    terms: tuple[Array, ...]
    uses: tuple[Array, ...]  # (row, limit)
    limits: Array

    def of_all(self, kinds: tuple[Kind, ...]) -> float:
        """A bound on the score of any plan."""
        return self.constant + sum(k.number * float(term.max()) for k, term in zip(kinds, self.terms, strict=True))

    def with_each(self, kinds: tuple[Kind, ...]) -> list[Array]:
        """A bound on the score of any plan that uses each row; −∞ where no plan with it meets every limit."""
        best = [float(term.max()) for term in self.terms]
        total = self.constant + sum(kind.number * most for kind, most in zip(kinds, best, strict=True))
        least = [use.min(axis=0) for use in self.uses]
        least_use = sum((k.number * use for k, use in zip(kinds, least, strict=True)), np.zeros(len(self.limits)))
        result = []
        for term, most, use, fewest in zip(self.terms, best, self.uses, least, strict=True):
            met = (least_use - fewest + use <= self.limits).all(axis=1)
            result.append(np.where(met, total - most + term, -np.inf))
        return result


@dataclass(frozen=True)
class At:
    """Where the bounds are made tight: a plan's placed GPUs, interruption rate and ln A."""

    placed: float
    rate: float
    log_up: float


def bounds(
    problem: Problem, option: int, kinds: tuple[Kind, ...], at: At | None, slowest: float | None = None
) -> Bounds:
    """Bounds for the plans of an option whose slowest zone has the log scale ``slowest`` (None: whatever it has).

    Every kind must have a row.
    """
    sums = _Sums(problem, kinds)
    value, value_constant = _log_goodput(sums, option, at, slowest)
    cost, cost_constant = _cost(sums, option, at)
    if problem.goal == "value":
        terms, constant = value, value_constant
    elif problem.goal == "cost":
        terms, constant = [-part for part in cost], -cost_constant
    else:
        slope, intercept = _minus_log(*sums.range_of(cost, cost_constant))
        terms = [v + slope * c for v, c in zip(value, cost, strict=True)]
        constant = value_constant + intercept + slope * cost_constant + log(HOURS_PER_YEAR)
    uses, limits = _limits(sums, option, (value, value_constant), at)
    multipliers = _multipliers(terms, uses, limits, kinds)
    priced = tuple(term - use @ multipliers for term, use in zip(terms, uses, strict=True))
    return Bounds(constant + float(multipliers @ limits), priced, tuple(uses), limits)


@dataclass(frozen=True)
class _Sums:
    """Columns of a problem as parts of a plan's totals."""

    problem: Problem
    kinds: tuple[Kind, ...]

    def parts(self, values: Array) -> list[Array]:
        """What each row of each kind adds to a total."""
        return [kind.zones * values[kind.rows] for kind in self.kinds]

    def column(self, name: str) -> list[Array]:
        return self.parts(self.problem.column(name))

    def range_of(self, parts: list[Array], constant: float = 0.0) -> tuple[float, float]:
        """The least and the greatest total."""
        low = sum(kind.number * float(part.min()) for kind, part in zip(self.kinds, parts, strict=True))
        high = sum(kind.number * float(part.max()) for kind, part in zip(self.kinds, parts, strict=True))
        return constant + low, constant + high


def _log_goodput(sums: _Sums, option: int, at: At | None, slowest: float | None) -> tuple[list[Array], float]:
    """Terms and a constant that add up to no less than ln goodput."""
    problem, terms = sums.problem, sums.problem.terms
    placed, rate = sums.column("placed_gpus"), sums.column("rate_per_h")
    fewest, most = sums.range_of(placed)
    size = max(min(max(at.placed, fewest), most) if at else (fewest + most) / 2, 1e-6)
    low, high = sums.range_of(rate, terms.site[1])
    low, high = low * (1 - 1e-12), high * (1 + 1e-12)
    here = min(max(at.rate, low), high) if at else (low + high) / 2
    coupling = terms.couplings[option]
    ends = (here, here) if coupling.curvature is Curvature.CONCAVE else (low, high)
    slope, intercept = min(coupling.over_estimators(*ends), key=lambda line: line[0] * here + line[1])
    own = sums.parts(np.maximum(terms.log_value, LOWEST))
    zones = sum(kind.number for kind in sums.kinds)
    scale = problem.column("log_scale") if slowest is None else np.full(len(problem.rows), slowest)
    value = [
        n / size + slope * r + v + scale[kind.rows] / zones
        for n, r, v, kind in zip(placed, rate, own, sums.kinds, strict=True)
    ]
    return value, log(size) - 1.0 + intercept + slope * terms.site[1] + terms.site_value


def _energy(sums: _Sums, at: At | None) -> tuple[list[Array], float]:
    """Terms and a constant that add up to no more than the cost of energy that is used only while the job runs.

    e^X q ≥ q + q_max (e^X − 1) as X = ln A ≤ 0, and e^X is above its tangent.
    """
    problem = sums.problem
    exponent = problem.terms.log_up_low
    if not problem.energy_cost.any() or not np.isfinite(exponent).any():
        return [np.zeros(len(kind.rows)) for kind in sums.kinds], 0.0
    factor = sums.parts(problem.energy_cost)
    most = sums.range_of(factor)[1]
    log_up = sums.parts(np.maximum(exponent, LOWEST))
    point = min(max(at.log_up, LEAST_EXPONENT), 0.0) if at else 0.0
    slope = most * exp(point)
    parts = [q + slope * x for q, x in zip(factor, log_up, strict=True)]
    constant = slope * (1.0 + problem.terms.site_up[1] - point) - most
    if sums.range_of(parts, constant)[0] < 0:  # no less than nothing is closer to the truth
        return [np.zeros(len(kind.rows)) for kind in sums.kinds], 0.0
    return parts, constant


def _cost(sums: _Sums, option: int, at: At | None) -> tuple[list[Array], float]:
    """Terms and a constant that add up to no more than the cost per year; zeros where cost is not the objective."""
    problem = sums.problem
    if problem.goal == "value":
        return [np.zeros(len(kind.rows)) for kind in sums.kinds], 0.0
    energy, constant = _energy(sums, at)
    fixed = sums.parts(problem.spread_capital + problem.blocked_yearly_cost)
    return [f + e for f, e in zip(fixed, energy, strict=True)], constant + problem.option_total[option]


def _minus_log(low: float, high: float) -> tuple[float, float]:
    """The line through −ln at both ends, above it between them."""
    slope = -log(high / low) / (high - low) if high > low * (1 + 1e-12) else -1.0 / low
    return slope, -log(low) - slope * low


def _limits(sums: _Sums, option: int, value: tuple[list[Array], float], at: At | None) -> tuple[list[Array], Array]:
    """What each row uses of every limit, and how much may be used: at most 1 in the unit of each, but for rounding."""
    problem = sums.problem
    instance = problem.candidates.instance
    limits = instance.limits
    rows: list[tuple[list[Array], float]] = []

    def at_most(name: str, parts: list[Array], bound: float, fixed: float) -> None:
        rows.append((parts, bound + rounding(name, bound) - fixed))

    for cap in problem.capped:
        at_most(cap.limit, [cap.times * part for part in sums.column(cap.column)], cap.bound, cap.shared)
    if limits.working_gpus.minimum is not None:
        fewest = limits.working_gpus.minimum
        rows.append(
            ([-part for part in sums.column("working_gpus")], -fewest + rounding("working_gpus.minimum", fewest))
        )
    if limits.yearly_cost is not None:
        energy, constant = _energy(sums, at)
        blocked = sums.parts(problem.blocked_yearly_cost)
        parts = [b + e for b, e in zip(blocked, energy, strict=True)]
        at_most("yearly_cost", parts, limits.yearly_cost, constant + problem.option_cost[option])
    if limits.availability is not None:
        allowed = 1.0 - limits.availability + rounding("availability", limits.availability)
        up = sums.parts(np.maximum(problem.terms.log_up, LOWEST))
        rows.append(([-part for part in up], problem.terms.site_up[0] - log1p(-allowed)))
    target = instance.objective.goodput_target
    if target is not None:
        rows.append(([-part for part in value[0]], value[1] - log(target) + ROUNDING))
    uses = [np.zeros((len(kind.rows), len(rows))) for kind in sums.kinds]
    most = np.zeros(len(rows))
    for k, (parts, bound) in enumerate(rows):
        unit = max(abs(bound), *(float(np.abs(part).max()) for part in parts), 1e-12)
        most[k] = bound / unit + ROUNDING
        for use, part in zip(uses, parts, strict=True):
            use[:, k] = part / unit
    return uses, most


def _multipliers(terms: list[Array], uses: list[Array], limits: Array, kinds: tuple[Kind, ...]) -> Array:
    """Multipliers of the limits that make the bound on all plans small: one after the other, each by bisection."""
    found = np.zeros(len(limits))
    unit = max(*(float(np.ptp(term)) for term in terms), 1e-9)
    for _ in range(SWEEPS if len(limits) > 1 else 1):
        for k in range(len(limits)):
            others = found.copy()
            others[k] = 0.0
            base = [term - use @ others for term, use in zip(terms, uses, strict=True)]
            found[k] = _multiplier(base, [use[:, k] for use in uses], float(limits[k]), kinds, unit)
    return found


def _multiplier(base: list[Array], use: list[Array], limit: float, kinds: tuple[Kind, ...], unit: float) -> float:
    """The least multiplier at which the best rows meet one limit; the bound is convex in it."""

    def met(multiplier: float) -> bool:
        used = sum(
            kind.number * float(u[int(np.argmax(b - multiplier * u))])
            for kind, b, u in zip(kinds, base, use, strict=True)
        )
        return used <= limit

    if met(0.0):
        return 0.0
    high = unit
    for _ in range(DOUBLINGS):
        if met(high):
            break
        high *= 2.0
    else:
        return 0.0  # no rows meet it together: that is found from what they use at least
    low = 0.0 if high == unit else high / 2.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if met(middle) else (middle, high)
    return high
