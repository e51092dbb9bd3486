"""What every row of a log is a fault of: the kind of its unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.codes import Codes

UNKNOWN, EXCLUDED = -1, -2


def kinds_of_rows(
    fault: Codes,
    kind: Codes,
    unit: Codes,
    faults: Sequence[str],
    kinds: Sequence[str],
    mapped: Mapping[str, int],
    known: Mapping[str, int],
    kind_of_unit: NDArray[np.int64],
    default: int,
) -> NDArray[np.int64]:
    """The code of each row's kind, from the first of these that says it; EXCLUDED, or UNKNOWN where none does.

    What the mapping says of the row's fault class (``mapped``: kind by word), then of its column of kinds; that column,
    if it is a kind that is ``known``; the fault class itself, if it is; the kind that its unit has in the roster
    (``kind_of_unit``; -1 where it has none); the default.
    """
    by_fault = np.array([mapped.get(name, UNKNOWN) for name in faults] + [UNKNOWN], dtype=np.int64)
    by_kind = np.array([mapped.get(name, known.get(name, UNKNOWN)) for name in kinds] + [UNKNOWN], dtype=np.int64)
    by_name = np.array([known.get(name, UNKNOWN) for name in faults] + [UNKNOWN], dtype=np.int64)
    result = by_fault[fault]
    for other in (by_kind[kind], np.where(kind < 0, by_name[fault], UNKNOWN)):
        result = np.where(result == UNKNOWN, other, result)
    left = (result == UNKNOWN) & (kind < 0)  # a word in the column of kinds that nobody knows stays unknown
    of_unit = np.append(kind_of_unit, UNKNOWN)[unit]
    result[left] = np.where(of_unit == UNKNOWN, default, of_unit)[left]
    return result
