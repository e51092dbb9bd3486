"""The order of rows by several keys, where the first keys tell almost all rows apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def sort_order(first: Sequence[NDArray[Any]], then: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The order of rows by the keys ``first`` and, among rows equal in all of these, by ``then``.

    Keys are arrays (n,) without NaN, the most important one first.  Rows equal in all keys stay in order.  This is
    ``np.lexsort`` of all keys, which sorts all rows as often as there are keys; here only equal rows are sorted again.
    """
    order = np.lexsort(first[::-1]) if len(first) > 1 else np.argsort(first[0], kind="stable")
    same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for key in first:
        here = key[order]
        same &= here[1:] == here[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if len(tied):
        run = np.cumsum(np.append(True, ~same))[tied]
        rows = order[tied]
        order[tied] = rows[np.lexsort((*(key[rows] for key in then[::-1]), run))]
    return order
