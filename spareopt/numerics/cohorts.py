"""A zone of independent blocks in cohorts that fail at rates of their own: P(short), and who works.

The number of unusable blocks is a sum of binomials, one for each cohort; its law is their convolution, of non-negative
terms, so that small tails keep their digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


def cohorts_shortfall(blocks: Sequence[int], unusable: Sequence[float], spares: Counts) -> Array:
    """P(more than R of the blocks are unusable) for every R in ``spares`` (below the number of blocks).

    Cohort k has ``blocks[k]`` blocks, each unusable with probability ``unusable[k]``, all independent.
    """
    law = reduce(np.convolve, [binom.pmf(np.arange(n + 1), n, p) for n, p in zip(blocks, unusable, strict=True)])
    tails = np.append(np.cumsum(law[::-1])[::-1], 0.0)
    return np.asarray(np.clip(tails[np.asarray(spares) + 1], 0.0, 1.0))


def cohorts_at_work(blocks: Sequence[int], unusable: Sequence[float], working: Counts) -> Array:
    """Mean number of working blocks of each cohort (columns) while so many blocks work (rows).

    With w working blocks uniform over the u usable ones, given that u ≥ w: E[w U_k / u | u ≥ w], U_k of the usable
    blocks being of cohort k.  Where a zone is always short, in proportion to the blocks.
    """
    usable = [binom.pmf(np.arange(n + 1), n, 1.0 - p) for n, p in zip(blocks, unusable, strict=True)]
    total = sum(blocks)
    count = np.arange(total + 1)
    enough = np.append(np.cumsum(reduce(np.convolve, usable)[::-1])[::-1], 0.0)[working]
    shares = np.empty((len(working), len(blocks)))
    for k, n in enumerate(blocks):
        others = [law for j, law in enumerate(usable) if j != k]
        mine = reduce(np.convolve, others, usable[k] * np.arange(n + 1))
        mean = np.append(np.cumsum((mine / np.maximum(count, 1))[::-1])[::-1], 0.0)[working]
        with np.errstate(invalid="ignore", divide="ignore"):
            shares[:, k] = np.where(enough > 0, mean / enough, n / total)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True) * np.asarray(working, dtype=float)[:, None])
