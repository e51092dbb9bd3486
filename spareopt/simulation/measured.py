"""What replications of one plan recorded, added up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spareopt.decisions import Decisions
from spareopt.evaluation import Evaluation
from spareopt.instance import Instance
from spareopt.simulation import statistics as stats
from spareopt.simulation.outcome import (
    LEDGER,
    Outcome,
)
from spareopt.simulation.result import (
    SimulationOptions,
)
from spareopt.simulation.statistics import Interval
from spareopt.simulation.system import Run, System

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """Replications of one plan: their numbers, how each was run, what each recorded."""

    instance: Instance
    decisions: Decisions
    exact: Evaluation
    system: System
    options: SimulationOptions
    numbers: tuple[int, ...]
    runs: tuple[Run, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def hours(self) -> Floats:
        """Hours recorded of each."""
        return np.array([outcome.hours for outcome in self.outcomes])

    @property
    def totals(self) -> Floats:
        """(replications, columns of the ledger): added up over all the record."""
        return np.array([totals(run, outcome) for run, outcome in zip(self.runs, self.outcomes, strict=True)])

    def ratio(self, parts: Any, wholes: Any) -> Interval:
        """A ratio over all replications, at the confidence asked."""
        return stats.ratio_interval(parts, wholes, self.options.confidence)


def totals(run: Run, outcome: Outcome) -> Floats:
    """The ledger at the end of the record, which the job may have ended before its last bin."""
    last = min(math.ceil(outcome.hours / run.bin - 1e-9), len(outcome.ledger) - 1)
    return np.asarray(outcome.ledger[last])


def useful_share(run: Run, outcome: Outcome) -> float:
    """Useful share of the hours recorded."""
    return float(totals(run, outcome)[LEDGER.index("useful")] / outcome.hours)
