"""The result of an optimisation: decisions, their exact evaluation, the certificate, and where it came from."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any, Literal

import pandas as pd
from pydantic import PrivateAttr

from spareopt.decisions import Decisions
from spareopt.evaluation import Evaluation
from spareopt.instance import Instance
from spareopt.record import Frozen, Result, Shown

ProofStatus = Literal["proven", "limit reached", "interrupted"]
PROVEN: ProofStatus = "proven"
LIMIT_REACHED: ProofStatus = "limit reached"
INTERRUPTED: ProofStatus = "interrupted"
PACKAGES = ("spareopt", "pyomo", "highspy", "numpy", "scipy", "networkx", "pandas", "pydantic")


Among = Literal["all plans", "plans with zones alike"]
ALL_PLANS: Among = "all plans"
ZONES_ALIKE: Among = "plans with zones alike"


class Certificate(Frozen):
    """How good the plan is at least: no plan of the instance, or of those it is ``among``, is better than ``bound``.

    gap = |bound − value| / |value|, in the objective's own unit; maximising, bound ≥ value, minimising, bound ≤ value.
    """

    status: ProofStatus
    objective: Literal["goodput", "cost", "goodput_per_dollar"]
    unit: str
    sense: Literal["maximise", "minimise"]
    value: float
    bound: float
    gap: float
    gap_asked: float
    model: Literal["exact", "first-order"]
    refinements: int
    """How often the couplings were refined and the selection solved again."""
    plans_excluded: int
    """Plans scored exactly and cut off on the way to the proof."""
    among: Among = ALL_PLANS
    """Which plans the bound is of: all, or those that build all zones of a class alike; others may be better."""


class ZonesAlike(Frozen):
    """The best plan that builds all zones of the only zone class alike; stated where the best plan does not."""

    decisions: Decisions
    value: float
    """The objective, in the certificate's unit."""


class Greedy(Frozen):
    """The plan of marginal analysis alone, the classical heuristic: what the proof is worth."""

    decisions: Decisions
    value: float
    """The objective, in the certificate's unit."""
    loss: float
    """How much worse than the plan's value, as a share of it."""


class CandidateCounts(Frozen):
    """How many candidates there were before and after pruning, and why the rest could not be built."""

    enumerated: int
    dominated: int
    """Another candidate is at least as good in every plan."""
    outbid: int
    """No plan that uses it can be better than the one found, by the linear relaxation."""
    kept: int
    """Offered to the last MILP."""
    excluded: dict[str, int]


class Provenance(Frozen):
    """What the plan was made from, so that it can be made again."""

    instance: str
    input_hash: str
    applied: tuple[str, ...]
    options: dict[str, Any]
    seed: int
    versions: dict[str, str]


@dataclass(frozen=True)
class Audit:
    """What stands behind a plan: every candidate and its fate, the last model, the solver's log."""

    make_table: Callable[[], pd.DataFrame]
    model: Any
    log: str
    seconds: dict[str, float]

    @cached_property
    def candidates(self) -> pd.DataFrame:
        """Every candidate and its fate; made when it is asked for, as few plans are asked."""
        return self.make_table()


class Plan(Result, Shown):
    """A plan and its proof.  ``model_dump_json`` gives the same bytes for the same input, versions and seed."""

    schema_version: Literal[1] = 1
    decisions: Decisions
    evaluation: Evaluation
    certificate: Certificate
    zones_alike: ZonesAlike | None = None
    greedy: Greedy | None = None
    """Marginal analysis; None for a single zone, where zones are coupled, and where it found no feasible plan."""
    candidates: CandidateCounts
    provenance: Provenance

    _audit: Audit | None = PrivateAttr(default=None)

    def __eq__(self, other: object) -> bool:
        """Equal results are equal plans, whether solved here or read back."""
        return isinstance(other, Plan) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]

    @property
    def audit(self) -> Audit | None:
        """The audit of a plan solved in this process; None for one that was read back."""
        return self._audit


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    return {"python": platform.python_version()} | dict(_installed())


@cache  # the metadata of a package is read from disk, and it does not change while a process runs
def _installed() -> tuple[tuple[str, str], ...]:
    return tuple((name, version(name)) for name in PACKAGES)


def provenance_of(instance: Instance, options: dict[str, Any], seed: int) -> Provenance:
    """Where a result comes from that is made of an instance, with these options, by this process."""
    return Provenance(
        instance=instance.name,
        input_hash=instance.input_hash(),
        applied=instance.applied,
        options=options,
        seed=seed,
        versions=versions(),
    )
