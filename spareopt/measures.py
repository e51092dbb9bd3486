"""What is maximised over scenarios with weights: the mean goodput, the worst one, or the mean of the worst share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Criterion = Literal["expected", "worst", "cvar"]
CRITERIA: tuple[Criterion, ...] = ("expected", "worst", "cvar")
HALVINGS = 60


@dataclass(frozen=True)
class Measure:
    """One number for the goodputs of a plan in several scenarios; it falls in none of them.

    ``expected``: Σ w g.  ``worst``: the least g.  ``cvar``: the conditional value at risk, the mean of g over the worst
    share ``alpha`` of the weight (Rockafellar and Uryasev 2000).
    """

    criterion: Criterion
    weights: tuple[float, ...]
    alpha: float = 1.0

    def of(self, goodputs: Sequence[float] | Array) -> float:
        """The measure of goodputs, one for each scenario, in their unit."""
        values, weights = np.asarray(goodputs, dtype=float), np.array(self.weights)
        if self.criterion == "worst":
            return float(values.min())
        if self.criterion == "expected":
            return float(weights @ values)
        order = np.argsort(values, kind="stable")
        before = np.concatenate([[0.0], np.cumsum(weights[order])[:-1]])
        taken = np.clip(self.alpha - before, 0.0, weights[order])
        return float(taken @ values[order] / taken.sum())

    def least(self, scenario: int, most: Array, target: float) -> float:
        """The least goodput in a scenario with which the measure can reach ``target``, others at ``most``; or less.

        Zero where the scenario can be lost altogether.
        """
        values = np.array(most, dtype=float)
        low, high = 0.0, float(values[scenario])
        values[scenario] = low
        if self.of(values) >= target:
            return 0.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            values[scenario] = middle
            low, high = (low, middle) if self.of(values) >= target else (middle, high)
        return low
