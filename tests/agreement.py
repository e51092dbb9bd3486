"""How the exact model and the simulator agree on a plan: errors, standard errors, and what counts as exact.

``python -m tests.agreement [NAME ...]`` plays the cases (all of them when left out) and the plans of shipped instances
and prints rows: exact value, its relative error in %, the standard error of that, half the width of the 99 % interval
likewise, z, whether it is inside, and what is approximated.  docs/agreement.md reports them.
"""

from __future__ import annotations

import math
import sys
import zlib
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import spareopt
from spareopt import environment, evaluation, exact, instances, schemes
from spareopt.decisions import Decisions
from spareopt.instance import Instance
from spareopt.simulation.build import build_system
from spareopt.units import HOURS_PER_YEAR
from tests.simulated_cases import CASES, case_instance, only_decisions

QUANTITIES = ("cett", "availability")
FAULTS = 4e6
"""Faults played for each case, over all replications."""
QUICK_FAULTS = 2.5e5
MOST_YEARS = 1000.0

APPROXIMATIONS: dict[str, str] = {
    "AS_IF_CONSTANT": exact.AS_IF_CONSTANT,
    "PLANNED": evaluation.PLANNED,
    "ALL_UNITS": evaluation.ALL_UNITS,
    "SHARED_WORK": exact.SHARED_WORK,
    "PART_TIME": exact.PART_TIME,
    "SHELF": exact.SHELF,
    "REPAIRS_IN_SAVES": exact.REPAIRS_IN_SAVES,
    "AS_IF_EXPONENTIAL": exact.AS_IF_EXPONENTIAL,
    "SHARED_DOMAINS": exact.SHARED_DOMAINS,
    "FEEDS": exact.FEEDS,
    "REPLICAS": schemes.REPLICAS,
}
"""Texts of ``method`` that name an approximation of what is simulated (crews serve first come, first served there)."""
CONDITIONS: dict[str, str] = {
    "FIRST_COME": exact.FIRST_COME,
    "DEFERRED": exact.DEFERRED,
    "WINDOW": exact.WINDOW,
    "ONE_REPAIR": exact.ONE_REPAIR,
    "WHILE_COMPUTING": schemes.WHILE_COMPUTING,
    "PER_BLOCK": exact.PER_BLOCK,  # refused by the simulator where it is not the same as by domain
    "ACROSS": environment.ACROSS,
    "UNCERTAIN": environment.UNCERTAIN,
    "POOLED": evaluation.POOLED,
}
"""Texts that say for what the number is exact, which all cases that they are said of meet, or how it is computed."""


class Row(NamedTuple):
    """One quantity of one plan."""

    name: str
    quantity: str
    approximations: tuple[str, ...]
    """By name; none where the exact model calls the number exact."""
    exact: float
    simulated: float
    standard_error: float
    half_width: float
    """Of the 99 % interval."""
    inside: bool

    @property
    def z(self) -> float:
        """Exact minus simulated in standard errors; an error of rounding alone counts as none."""
        return 0.0 if abs(self.difference) < 1e-9 else self.difference / max(self.standard_error, 1e-300)

    @property
    def difference(self) -> float:
        """Exact minus simulated."""
        return self.exact - self.simulated

    @property
    def relative(self) -> tuple[float, float, float]:
        """Relative error of the exact model, its standard error, and half the width of the 99 % interval likewise."""
        return tuple(value / self.simulated for value in (self.difference, self.standard_error, self.half_width))  # type: ignore[return-value]


def approximations(method: Mapping[str, str], quantity: str) -> tuple[str, ...]:
    """The approximations that a method names for a quantity.

    Raises AssertionError where the method says something that is neither: then this table is out of date.
    """
    rest, found = method[quantity], []
    for name, text in sorted((APPROXIMATIONS | CONDITIONS).items(), key=lambda item: -len(item[1])):
        if text in rest:
            rest = rest.replace(text, "")
            if name in APPROXIMATIONS:
                found.append(name)
    assert rest.replace("exact", "").strip("; ") == "", rest
    return tuple(sorted(found))


def years_for(instance: Instance, decisions: Decisions, faults: float, replications: int) -> float:
    """Years of each replication in which so many faults happen in all, in whole quarters."""
    system = build_system(instance, decisions)
    rate = float(system.rate[system.unit_class].sum()) + system.software_rate
    years = faults / (replications * rate * HOURS_PER_YEAR)
    return min(max(math.ceil(4 * years), 1) / 4, MOST_YEARS)


def rows_of(
    name: str,
    instance: Instance,
    decisions: Decisions,
    *,
    faults: float,
    replications: int,
    seed: int,
) -> tuple[Row, ...]:
    """Simulate a plan and compare CETT and A with the exact model."""
    years = years_for(instance, decisions, faults, replications)
    result = spareopt.simulate(instance, decisions, replications=replications, years=years, seed=seed, confidence=0.99)
    rows = []
    for quantity in QUANTITIES:
        found = result.agreement[quantity]
        error, half = found.simulated.standard_error, found.simulated.half_width
        assert error is not None and half is not None and found.inside is not None
        named = approximations(result.exact.method, quantity)
        rows.append(Row(name, quantity, named, found.exact, found.simulated.mean, error, half, found.inside))
    return tuple(rows)


def seed_of(name: str, seed: int) -> int:
    """A seed for each case: with the same one, cases that differ in little would err together."""
    return zlib.crc32(f"{name} {seed}".encode()) >> 1


@cache
def of_case(name: str, faults: float = FAULTS, seed: int = 0) -> tuple[Row, ...]:
    """The agreement on a designed case."""
    case, instance = CASES[name], case_instance(name)
    return rows_of(
        name, instance, only_decisions(instance),
        faults=faults * case.effort, replications=case.replications, seed=seed_of(name, seed),
    )  # fmt: skip


@cache
def of_shipped(name: str, faults: float = FAULTS, seed: int = 0) -> tuple[Row, ...]:
    """The agreement on the optimal plan of a shipped instance."""
    instance = spareopt.read_instance(name)
    decisions = spareopt.solve(instance).decisions
    return rows_of(name, instance, decisions, faults=faults, replications=40, seed=seed_of(name, seed))


def main(names: list[str]) -> None:
    """Play and print."""
    shipped = instances.names()
    for name in names or [*CASES, *shipped]:
        for row in of_shipped(name) if name in shipped else of_case(name):
            error, standard_error, half = (100 * value for value in row.relative)
            print(
                f"{row.name:30} {row.quantity:12} {row.exact:.6f} {error:+9.4f} {standard_error:.4f} {half:.4f} "
                f"z {row.z:+6.2f} {'inside' if row.inside else 'OUTSIDE'} {'+'.join(row.approximations) or 'exact'}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
