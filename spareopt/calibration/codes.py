"""Texts as whole numbers, in step with the chunks of a file, so that millions of rows take little memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.log_times import NOTHING

Codes = NDArray[np.int32]


class Coder:
    """Numbers names in order of first appearance; spaces around a name do not count, an empty one is -1."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._known: dict[str, int] = {}
        """Of names, and of every text that stands for one."""

    def code(self, text: str) -> int:
        """The number of a name."""
        found = self._known.get(text)
        if found is None:
            name = text.strip()
            if name.lower() in NOTHING:
                found = -1
            else:
                found = self._known.setdefault(name, len(self.names))
                if found == len(self.names):
                    self.names.append(name)
            self._known[text] = found
        return found

    def codes(self, texts: Sequence[str]) -> Codes:
        """The numbers of names."""
        found: list[int | None] = list(map(self._known.get, texts))
        if None in found:
            found = [self.code(text) if code is None else code for text, code in zip(texts, found, strict=True)]
        return np.array(found, dtype=np.int32)


def sorted_codes(names: Sequence[str], used: Iterable[NDArray[np.int64]]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The names that arrays of codes use, sorted, and the new code of each old one (the last entry is that of -1)."""
    seen = np.zeros(len(names) + 1, dtype=np.bool_)
    for codes in used:
        seen[codes] = True
    order = sorted(np.flatnonzero(seen[:-1]).tolist(), key=lambda code: names[code])
    new = np.full(len(names) + 1, -1, dtype=np.int64)
    new[order] = np.arange(len(order))
    return tuple(names[code] for code in order), new
