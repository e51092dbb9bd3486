"""Texts as whole numbers, in step with the chunks of a file, so that millions of rows take little memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.calibration.log_times import NOTHING

Codes = NDArray[np.int32]


class Coder:
    """Numbers names in order of first appearance; spaces around a name do not count, an empty one is -1."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._known: dict[str, int] = {}

    def code(self, text: str) -> int:
        """The number of a name."""
        name = text.strip()
        if name.lower() in NOTHING:
            return -1
        found = self._known.setdefault(name, len(self.names))
        if found == len(self.names):
            self.names.append(name)
        return found

    def codes(self, texts: Sequence[str]) -> Codes:
        """The numbers of names."""
        places, distinct = pd.factorize(np.array(texts, dtype=object))
        codes = np.array([self.code(text) for text in distinct], dtype=np.int32)
        result: Codes = codes[places]
        return result


def sorted_codes(names: Sequence[str], used: Iterable[NDArray[np.int64]]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The names that arrays of codes use, sorted, and the new code of each old one (the last entry is that of -1)."""
    seen = np.zeros(len(names) + 1, dtype=np.bool_)
    for codes in used:
        seen[codes] = True
    order = sorted(np.flatnonzero(seen[:-1]).tolist(), key=lambda code: names[code])
    new = np.full(len(names) + 1, -1, dtype=np.int64)
    new[order] = np.arange(len(order))
    return tuple(names[code] for code in order), new
