"""What couples the zones of a problem: exact values of a choice, and over-estimates that are terms of one zone each.

Zones are independent unless the environment has several states (`spareopt.environment`) or crews or a shelf are shared
(`spareopt.pooling`).  The MILP adds terms of one zone each: exact ones, or a tilted Hölder bound (`holder`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.building import ZoneBuild
from spareopt.candidates import Candidates
from spareopt.environment import Environment, log_together
from spareopt.levels import shares_repair
from spareopt.numerics.holder import MixedRecovery, Tilt, log_eta_by_state, tilt_at, zone_terms
from spareopt.numerics.recovery import RateTerm, RecoveryScheme
from spareopt.pooling import PooledZone, alike_log_up, pooled_law, pooled_unavailability, pooled_zone, shared_staff
from spareopt.repair import repair_choices

Array = NDArray[np.float64]
POOLED_KEYS = ["zone", "design", "racks", "intra_block_spares", "inter_block_spares"]
"""What shared crews see of a candidate."""
LEAST_REFERENCE = -30.0  # ln of what counts as never up in a reference


@dataclass(frozen=True)
class ZoneTerms:
    """The candidates ``rows`` of a table by position, with their zone classes (``group``) and the zones of each."""

    candidates: Candidates
    schemes: list[RecoveryScheme]
    rows: NDArray[np.int64]
    group: NDArray[np.int64]
    members: tuple[int, ...]
    table: pd.DataFrame
    tilt: Tilt | None = None
    tight: bool = True
    """Whether shared crews get a bound for each candidate; else 1 is that of A, at no cost."""

    @cached_property
    def planned_stops(self) -> Array:
        """Hours of planned stops per hour that each candidate's repairs ask for."""
        return np.asarray(self.table["planned_stops"], dtype=np.float64)

    @property
    def environment(self) -> Environment:
        """What all zones have in common."""
        return self.candidates.site.environment

    @cached_property
    def pooled(self) -> bool:
        """Whether the zones share crews or a shelf."""
        return shares_repair(self.candidates.instance)

    @property
    def coupled(self) -> bool:
        """Whether the score of a plan is more than terms of one zone each and of their totals."""
        return self.pooled or not self.environment.single

    @cached_property
    def log_states(self) -> Array:
        """ln a of each candidate's zone (rows) in each state (columns); 0 where groups are placed instead."""
        if self.pooled and (bounds := self._pooled_log_up) is not None:
            return bounds[:, None]
        short = self.candidates.short[self.rows]
        if self.candidates.site.shrinks:
            return np.zeros((len(self.rows), 1))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log1p(-short), dtype=np.float64)

    @cached_property
    def log_value(self) -> Array:
        """What each zone adds to ln goodput besides its size and rate, or an over-estimate of it where zones couple."""
        stops = self.planned_stops
        if self.environment.single:
            return self.log_states[:, 0] - stops
        return zone_terms(self._tilt, self.log_states, self.group) - stops

    @cached_property
    def log_up(self) -> Array:
        """ln A of each candidate's zone, or where zones couple an over-estimate that adds up to one of ln A."""
        if self.environment.single:
            return self.log_states[:, 0]
        return zone_terms(self._flat_tilt, self.log_states, self.group)

    @cached_property
    def log_up_low(self) -> Array:
        """As ``log_up``, but adding up to an under-estimate of ln A: a mean of logarithms is one.

        States in which cells are down are left out.  Where crews or a shelf are shared no under-estimate is known, so
        that it is −∞, except for goodput per cost: A/(fixed cost + energy · A) rises in A, so that the over-estimate of
        A in both makes one of the ratio.
        """
        if self.pooled:
            instance = self.candidates.instance
            ratio = instance.objective.kind == "goodput_per_dollar" and instance.limits.yearly_cost is None
            return self.log_up if ratio else np.full(len(self.rows), -inf)
        if self.environment.single:
            return self.log_states[:, 0]
        whole = self.environment.cells_down == 0
        weights = self.environment.weights[whole]
        with np.errstate(invalid="ignore"):
            return np.asarray(self.log_states[:, whole] @ (weights / weights.sum()))

    @cached_property
    def site(self) -> tuple[float, float]:
        """ln A and the interruption rate of what all zones share."""
        return float(np.log1p(-self.environment.down)), self.environment.rate

    @cached_property
    def site_value(self) -> float:
        """The constant of ln goodput that goes with ``log_value``."""
        start = self.site[0] if self.environment.single else self._tilt.log_total
        return start - self.environment.stops

    @cached_property
    def site_up(self) -> tuple[float, float]:
        """The constants that go with ``log_up`` and ``log_up_low``."""
        if self.environment.single:
            return self.site[0], self.site[0]
        whole = self.environment.weights[self.environment.cells_down == 0].sum()
        return self._flat_tilt.log_total, float(np.log(whole))

    @cached_property
    def couplings(self) -> list[RateTerm]:
        """ln η of each option as the MILP bounds it: the scheme itself, or its term of the mixture."""
        if not self.environment.mixed:
            return list(self.schemes)
        return [MixedRecovery(scheme, self.environment.multipliers, self._tilt) for scheme in self.schemes]

    @property
    def _tilt(self) -> Tilt:
        return self.tilt if self.tilt is not None else self._flat_tilt

    @cached_property
    def _flat_tilt(self) -> Tilt:
        """The tilt without references: equal exponents, exact where zones are alike and rates are certain."""
        states = len(self.environment.weights)
        zeros = np.zeros((len(self.members), states))
        return tilt_at(self.environment.weights, zeros, self.members, np.zeros(states), self.environment.mixed)

    def tilted(self, counts: Mapping[int, int], option: int, rate: float) -> ZoneTerms:
        """The terms with their over-estimates made exact at a plan of this interruption rate, as far as they can be."""
        if self.environment.single:
            return self
        log_up = np.zeros((len(self.members), len(self.environment.weights)))
        for candidate, number in counts.items():
            z = int(self.group[candidate])
            log_up[z] += number / self.members[z] * np.maximum(self.log_states[candidate], LEAST_REFERENCE)
        log_eta = log_eta_by_state(self.schemes[option], rate, self.environment.multipliers)
        tilt = tilt_at(self.environment.weights, log_up, self.members, log_eta, self.environment.mixed)
        return replace(self, tilt=tilt)

    @cached_property
    def _pooled_log_up(self) -> Array | None:
        """Over-estimates of ln A where crews or a shelf are shared and units do not depend on the choices; else None.

        Without the same units the law of the failed ones would depend on the others' choices.  Then each zone alone
        with all the crews is a bound; for a shelf that is not proven, and 0 is.
        """
        keys = self.table[POOLED_KEYS]
        distinct = keys.drop_duplicates()
        site = self.candidates.site
        staff = shared_staff(site, site.instance.repair_plans[0], repair_choices(site.instance.repair_plans[0])[0])
        classes = [int(z) for z in distinct["zone"]]
        zones = [
            self._pooled_zone(int(place), self.members[z]) for place, z in zip(distinct.index, classes, strict=True)
        ]
        first = {z: zone for z, zone in reversed(list(zip(classes, zones, strict=True)))}
        if any(zone.pools != first[z].pools for z, zone in zip(classes, zones, strict=True)):
            return None if staff[1] is None else np.zeros(len(self.rows))
        if not self.tight:
            pooled_law(tuple(zone for _, zone in sorted(first.items())), *staff)  # there must be one
            return np.zeros(len(self.rows))
        bounds = [
            alike_log_up(zone, tuple(other for place, other in sorted(first.items()) if place != z), *staff)
            for z, zone in zip(classes, zones, strict=True)
        ]
        log_up = distinct.assign(log_up=bounds)
        return np.asarray(keys.merge(log_up, on=POOLED_KEYS, how="left")["log_up"], dtype=np.float64)

    def _pooled_zone(self, candidate: int, count: int) -> PooledZone:
        """A candidate's zone among those that share crews or a shelf."""
        site, row = self.candidates.site, self.table.iloc[candidate]
        plan = site.instance.repair_plans[0]
        zone, design = site.instance.zones[int(row["zone"])], site.instance.designs[int(row["design"])]
        build = ZoneBuild(site, zone, design, int(row["racks"]))
        spares = int(row["intra_block_spares"]), int(row["inter_block_spares"])
        return pooled_zone(build, plan, repair_choices(plan)[0], *spares, count)

    def log_up_of(self, counts: Mapping[int, int]) -> float:
        """ln A of a choice, exactly."""
        chosen, number = np.array(list(counts), dtype=np.int64), np.array(list(counts.values()), dtype=float)
        if self.pooled:
            instance = self.candidates.instance
            plan = instance.repair_plans[0]
            taken: dict[tuple[float, ...], list[int]] = {}
            for candidate, count in counts.items():  # candidates that differ in what the crews do not see are one
                key = tuple(self.table.loc[candidate, POOLED_KEYS])
                taken.setdefault(key, [candidate, 0])[1] += count
            zones = tuple(self._pooled_zone(*taken[key]) for key in sorted(taken))
            staff = shared_staff(self.candidates.site, plan, repair_choices(plan)[0])
            with np.errstate(divide="ignore"):
                return self.site[0] + float(np.log1p(-pooled_unavailability(zones, *staff)))
        if self.environment.single:
            return self.site[0] + float(number @ self.log_states[chosen, 0])
        return float(log_together(self.environment, number @ self.log_states[chosen]))
