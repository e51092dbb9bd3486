"""What all zones have in common: the states of site-wide domains and of uncertain fault rates, and what stops the job.

The zones of a site are independent given the state s of its environment: how many cells of every zone the domains
that cut across the zones have taken down, and the Gamma-distributed multiplier of all fault rates.  With weights w_s,

    A = Σ_s w_s Π_z a_zs,    useful share of time = Σ_s w_s η(m_s Λ) Π_z a_zs,

where a_zs is the probability that zone z is not short in state s.  The weights include the probability that the site
itself is up.  Without domains that cut and with certain rates there is one state, and zones are independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from spareopt.failures import FaultDomain
from spareopt.instance import Instance
from spareopt.numerics.rate_mixture import multiplier_nodes
from spareopt.numerics.redundancy import MOST_CELLS, cells_down, equivalent_unit

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

NODES = 64
"""Multipliers of the fixed rule over the Gamma distribution."""
UNCERTAIN = (
    "mixed over the Gamma-distributed multiplier of all fault rates by a fixed quadrature rule; "
    '"best" checkpoint periods adapt to the multiplier, given ones do not'
)
ACROSS = "conditioned on the states of the domains that cut across zones"


@dataclass(frozen=True)
class Environment:
    """The states that zones have in common.

    ``weights`` (P(state and site up)), ``multipliers`` of all fault rates, ``cells_down`` of the ``cells`` that each
    zone is cut into; ``down`` = P(site down), ``rate`` = interruptions per hour of software and site domains at
    multiplier 1, ``stops`` = hours of planned stops per hour.
    """

    weights: Array
    multipliers: Array
    cells_down: Counts
    cells: int
    down: float
    rate: float
    stops: float

    @property
    def single(self) -> bool:
        """Whether there is one state, so that zones are independent."""
        return len(self.weights) == 1

    @property
    def mixed(self) -> bool:
        """Whether fault rates are uncertain."""
        return bool(np.ptp(self.multipliers) > 0)


def across(instance: Instance) -> list[FaultDomain]:
    """The domains that cut across the zones, from few to many units."""
    return sorted((d for d in instance.failures.domains if d.units > 1), key=lambda d: d.units)


def crossing(instance: Instance) -> str | None:
    """Why domains across the zones are refused, or None: their units must nest, and be few enough."""
    numbers = [domain.units for domain in across(instance)]
    for few, many in pairwise(numbers):
        if many % few:
            return f"{few} and {many} units across the zones cross each other; expected numbers that divide one another"
    if numbers and numbers[-1] > MOST_CELLS:
        return f"{numbers[-1]} units across the zones are too many to condition on; expected at most {MOST_CELLS}"
    return None


def site_environment(instance: Instance) -> Environment:
    """The environment of an instance's site."""
    failures = instance.failures
    multipliers, shares = np.ones(1), np.ones(1)
    if failures.uncertainty is not None:
        multipliers, shares = multiplier_nodes(failures.uncertainty.multiplier_variance, NODES)
    cutting = across(instance)
    cells = cutting[-1].units if cutting else 1
    rate = 0.0 if failures.software is None else failures.software.per_hour
    rate += sum(domain.units * _unit(domain, 1.0)[0] for domain in failures.domains if domain.spans == "site")
    weights, states, factors, down = [], [], [], 0.0
    for multiplier, share in zip(multipliers, shares, strict=True):
        alone = [_unit(d, multiplier) for d in failures.domains if d.spans == "site" and d.units == 1]
        log_up = sum(float(np.log1p(-unit[1])) for unit in alone)
        down += share * float(-np.expm1(log_up))
        law = cells_down([(d.units, _unit(d, multiplier)[1]) for d in cutting]) if cutting else np.ones(1)
        weights.append(share * np.exp(log_up) * law)
        states.append(np.arange(len(law)))
        factors.append(np.full(len(law), multiplier))
    planned = failures.planned
    return Environment(
        np.concatenate(weights),
        np.concatenate(factors),
        np.concatenate(states).astype(np.int64),
        cells,
        down,
        rate,
        0.0 if planned is None else planned.per_hour * planned.stop,
    )


def _unit(domain: FaultDomain, multiplier: float) -> tuple[float, float]:
    """Faults per hour of a unit that is up, and P(it is down)."""
    rate, mttr = multiplier * domain.per_hour, domain.repair.mttr
    if domain.feeds is not None:
        rate, mttr = equivalent_unit(rate, mttr, domain.feeds.needed, domain.feeds.number)
    return rate, rate * mttr / (1.0 + rate * mttr)


def log_together(environment: Environment, log_up: Array) -> Array:
    """ln Σ_s w_s e^(x_s) over the last axis of ``log_up`` (x, one value a state)."""
    with np.errstate(divide="ignore"):
        terms = log_up + np.log(environment.weights)
    top = terms.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(terms - top).sum(axis=-1)) + top[..., 0])


def divides(instance: Instance, racks: int) -> bool:
    """Whether the cells of the domains across zones, and the domains within them, fill a zone of so many racks."""
    cutting = across(instance)
    if not cutting:
        return True
    cells = cutting[-1].units
    spans = [domain.spans for domain in instance.failures.domains if isinstance(domain.spans, int)]
    return racks % cells == 0 and all((racks // cells) % span == 0 for span in spans)
