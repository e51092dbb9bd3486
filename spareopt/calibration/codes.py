"""Texts as whole numbers, in step with the chunks of a file, so that millions of rows take little memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.byte_fields import Fields, TextIndex
from spareopt.calibration.log_times import NOTHING

Codes = NDArray[np.int32]


class Coder(dict[str, int]):
    """Numbers names in order of first appearance; spaces around a name do not count, an empty one is -1.

    As a dictionary it has the number of every text that was asked for, so that texts seen before cost one look-up.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self._index = TextIndex()
        self._of_text = np.zeros(0, dtype=np.int32)  # code of each text of the index

    def __missing__(self, text: str) -> int:
        name = text.strip()
        if name.lower() in NOTHING:
            number = -1
        elif name == text:
            number = len(self.names)
            self.names.append(name)
        else:
            number = self[name]
        self[text] = number
        return number

    def codes(self, texts: Sequence[str]) -> Codes:
        """The numbers of names."""
        if isinstance(texts, Fields):
            return self._codes_of(texts)
        return np.fromiter(map(self.__getitem__, texts), dtype=np.int32, count=len(texts))

    def _codes_of(self, fields: Fields) -> Codes:
        """The numbers of names that stand in a file: only texts not seen before are looked at one by one."""
        number, first = self._index.find(fields)
        unseen = np.union1d(first, np.flatnonzero(number < 0))  # in the order of the file, in which names are numbered
        codes = np.fromiter(map(self.__getitem__, fields.at(unseen)), dtype=np.int32, count=len(unseen))
        self._of_text = np.append(self._of_text, codes[np.searchsorted(unseen, first)])
        result: Codes = np.append(self._of_text, np.int32(-1))[number]
        alone = number[unseen] < 0
        result[unseen[alone]] = codes[alone]
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
