"""The fault classes of a plan: how often each kind of unit fails in each zone choice, and how it is repaired."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from spareopt.decisions import ZoneChoice, repair_choice
from spareopt.failures import FaultClass, RepairTime
from spareopt.instance import Instance
from spareopt.lifetimes import Lifetime
from spareopt.repair_plans import RepairPlan
from spareopt.simulation.system import DETERMINISTIC, EXPONENTIAL, LOGNORMAL, WEIBULL

TRAY, RACK, FIRST_DOMAIN = range(3)
"""Kinds of units; the domains of ``failures.domains`` follow in their order."""
_REPAIR_LAWS = {"exponential": EXPONENTIAL, "deterministic": DETERMINISTIC, "lognormal": LOGNORMAL}


class _Row(NamedTuple):
    """One fault class; fields as in System."""

    rate: float
    life_law: int
    life_shape: float
    lemon_share: float
    lemon_multiple: float
    burn_in: float
    burn_in_multiple: float
    silent_share: float
    found_after: float
    repair_law: int
    repair_shape: float
    delay: float
    staffed: int


class Classes(NamedTuple):
    """The fault classes of a plan."""

    columns: dict[str, Any]
    """The class tables of System by name, as arrays."""
    row: dict[tuple[int, int], int]
    """The row of each kind of unit in each zone choice; choice 0 for domains of the site."""


def fault_classes(instance: Instance, choices: Sequence[ZoneChoice]) -> Classes:
    """The fault classes: trays, racks (where they fail) and each domain, each choice by choice; site domains once."""
    failures = instance.failures
    plans = {plan.name: plan for plan in instance.repair_plans}
    rows: list[_Row] = []
    ways: list[list[tuple[float, float]]] = []
    numbers: dict[tuple[int, int], int] = {}

    def add(kind: int, choice: int, faults: FaultClass, repair: RepairTime, staffed: bool, relative: float) -> None:
        numbers[kind, choice] = len(rows)
        rows.append(_row(faults, repair, staffed, relative))
        phases = repair.phases
        ways.append([(1.0, repair.mean_hands_on)] if phases is None else [(p.share, p.hands_on) for p in phases])

    taken = [plans[choice.repair_plan] for choice in choices]
    crews = [repair_choice(plan, choice).crews is not None for plan, choice in zip(taken, choices, strict=True)]
    by_name = {design.name: design for design in instance.designs}
    designs = [by_name[choice.design] for choice in choices]
    for i, (plan, design) in enumerate(zip(taken, designs, strict=True)):
        add(TRAY, i, failures.tray, plan.tray, crews[i], design.relative_tray_rate)
    if failures.rack is not None:
        for i, (plan, design) in enumerate(zip(taken, designs, strict=True)):
            add(RACK, i, failures.rack, _rack_repair(plan), crews[i], design.relative_rack_rate)
    for position, domain in enumerate(failures.domains):
        for i, plan in enumerate(taken if domain.spans != "site" else taken[:1]):
            repair = domain.repair if domain.spans == "site" else plan.domains.get(domain.name, domain.repair)
            add(FIRST_DOMAIN + position, i, domain, repair, False, 1.0)
    columns: dict[str, Any] = {
        name: np.array(values, dtype=np.int64 if isinstance(values[0], int) else np.float64)
        for name, values in zip(_Row._fields, zip(*rows, strict=True), strict=True)
    }
    shares = [list(itertools.accumulate(share for share, _ in way)) for way in ways]
    for up_to in shares:
        up_to[-1] = 1.0  # whatever was rounded: every u1 finds its way
    columns["phase"] = np.concatenate(([0], np.cumsum([len(way) for way in ways], dtype=np.int64)))
    columns["phase_up_to"] = np.array([share for up_to in shares for share in up_to], dtype=np.float64)
    columns["phase_mean"] = np.array([mean for way in ways for _, mean in way], dtype=np.float64)
    return Classes(columns, numbers)


def _row(faults: FaultClass, repair: RepairTime, staffed: bool, relative: float) -> _Row:
    lifetime, lemons, burn_in, silent = (
        getattr(faults, name, None) for name in ("lifetime", "lemons", "burn_in", "silent")
    )
    law, shape = _life(lifetime)
    return _Row(
        rate=relative * float(faults.per_hour),
        life_law=law,
        life_shape=shape,
        lemon_share=0.0 if lemons is None else float(lemons.share),
        lemon_multiple=1.0 if lemons is None else float(lemons.multiple),
        burn_in=0.0 if burn_in is None else float(burn_in.duration),
        burn_in_multiple=1.0 if burn_in is None else float(burn_in.multiple),
        silent_share=0.0 if silent is None else float(silent.share),
        found_after=0.0 if silent is None else float(silent.found_after),
        repair_law=_REPAIR_LAWS[repair.law],
        repair_shape=0.0 if repair.variation is None else _log_deviation(repair.variation),
        delay=float(repair.off_crew),
        staffed=int(staffed),
    )


def _life(lifetime: Lifetime | None) -> tuple[int, float]:
    """Law and shape of lifetimes; an exponential one has the shape of the Weibull law that it is."""
    if lifetime is None or lifetime.exponential:
        return EXPONENTIAL, 1.0
    if lifetime.law == "weibull":
        assert lifetime.shape is not None
        return WEIBULL, float(lifetime.shape)
    assert lifetime.variation is not None
    return LOGNORMAL, _log_deviation(lifetime.variation)


def _log_deviation(variation: float) -> float:
    """Standard deviation of the logarithm of a lognormal time, from its standard deviation over its mean."""
    return math.sqrt(math.log1p(variation * variation))


def _rack_repair(plan: RepairPlan) -> RepairTime:
    assert plan.rack is not None  # an instance whose racks fail states it in each plan
    return plan.rack
