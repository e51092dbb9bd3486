"""Fields of a text file as bytes where they stand, and their different texts numbered many at once.

A file of ten million rows holds few different names, dates and times of day.  Each is interpreted once, by the same
functions that read single texts; the rows only need to know which one they hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
_Words = NDArray[np.uint64]

WORD = 8  # bytes
_MOST_WORDS = 8
PADDING = WORD * _MOST_WORDS
"""Bytes that a block must have after its last field, so that whole words may be taken from anywhere."""
_KEPT = np.array([(1 << 8 * length) - 1 for length in range(WORD + 1)], dtype="<u8")
"""The bytes of a word that belong to a field of so many bytes."""
_FEW = 1000
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, its bits without pattern: 2⁶⁴ over the golden ratio
_HALF = np.uint64(32)


class Block(NamedTuple):
    """Some lines of a text file, without NULs, with PADDING after them."""

    data: bytes
    words: _Words
    """The word that begins at each byte."""
    encoding: str

    @classmethod
    def of(cls, lines: bytes, encoding: str) -> Block:
        """The block of some lines."""
        data = lines + bytes(PADDING)
        return cls(data, np.ndarray((len(data) - WORD + 1,), "<u8", data, strides=(1,)), encoding)


class Fields(Sequence[str]):
    """A column of a block, as a sequence of texts that are made when they are asked for."""

    def __init__(self, block: Block, start: Integers, length: Integers) -> None:
        self.block, self.start, self.length = block, start, length

    def __len__(self) -> int:
        return len(self.start)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Fields: ...
    def __getitem__(self, place: int | slice) -> str | Fields:
        if isinstance(place, slice):
            return Fields(self.block, self.start[place], self.length[place])
        start = int(self.start[place])
        return self.block.data[start : start + int(self.length[place])].decode(self.block.encoding)

    def __iter__(self) -> Iterator[str]:
        data, encoding = self.block.data, self.block.encoding
        places = zip(self.start.tolist(), (self.start + self.length).tolist(), strict=True)
        if len(self) > _FEW and data.isascii():  # slices of a text take half the time
            text = data.decode("ascii")
            for start, end in places:
                yield text[start:end]
        else:
            for start, end in places:
                yield data[start:end].decode(encoding)

    def at(self, rows: Integers, errors: str = "strict") -> list[str]:
        """The texts of some rows; ``errors``: of bytes that are no text, as a part of a field may be."""
        data, encoding, start = self.block.data, self.block.encoding, self.start[rows]
        places = zip(start.tolist(), (start + self.length[rows]).tolist(), strict=True)
        return [data[begin:end].decode(encoding, errors) for begin, end in places]

    def part(self, begin: int, end: int | None = None) -> Fields:
        """The bytes of each field from one place to another, where it has any there."""
        length = np.maximum(self.length - begin, 0)
        return Fields(self.block, self.start + begin, length if end is None else np.minimum(length, end - begin))

    def words(self) -> list[_Words]:
        """Each field as whole words: its first eight bytes, the next, …, up to PADDING; zeros after its end."""
        longest = min(int(self.length.max(initial=0)), PADDING)
        return [
            self.block.words[np.minimum(self.start + at, len(self.block.words) - 1)]
            & _KEPT[np.clip(self.length - at, 0, WORD)]
            for at in range(0, max(longest, 1), WORD)
        ]


class Found(NamedTuple):
    """Which text each field holds."""

    number: Integers
    """-1 where the text is not among those numbered, since it is long or they are too many."""
    first: Integers
    """The first row of each text that is new."""


class TextIndex:
    """The different texts of a column, numbered from 0; they are told apart by all of their bytes.

    Numbers are looked up by a hash of the bytes, and the bytes compared: a text whose hash another one has is not
    numbered.  Nor are texts of more than PADDING bytes, nor more texts than ``most``.
    """

    def __init__(self, most: int = 1 << 20) -> None:
        self._most = most
        self._hashes = np.zeros(0, dtype=np.uint64)  # sorted
        self._numbers = np.zeros(0, dtype=np.int64)  # of the sorted hashes
        self._words = np.zeros((0, 1), dtype=np.uint64)  # by number

    def find(self, fields: Fields) -> Found:
        """The number of each field's text; new ones are added in the order in which they appear."""
        words = fields.words()
        hashes = _hashes(words)
        number = self._look_up(hashes, words)
        fits = fields.length <= PADDING
        new = np.flatnonzero((number < 0) & fits)
        first = new[:0]
        if len(new) and len(self._hashes) < self._most:
            _, places = np.unique(hashes[new], return_index=True)
            first = np.sort(new[places])
            first = first[~self._has(hashes[first])]
            self._add(hashes[first], [word[first] for word in words])
            number[new] = self._look_up(hashes[new], [word[new] for word in words])
        number[~fits] = -1
        return Found(number, first)

    def _places(self, hashes: _Words) -> Integers:
        """Where each hash is among the sorted ones, if it is there at all."""
        return np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)

    def _has(self, hashes: _Words) -> NDArray[np.bool_]:
        if len(self._hashes) == 0:
            return np.zeros(len(hashes), dtype=np.bool_)
        return np.asarray(self._hashes[self._places(hashes)] == hashes)

    def _look_up(self, hashes: _Words, words: list[_Words]) -> Integers:
        if len(self._hashes) == 0:
            return np.full(len(hashes), -1, dtype=np.int64)
        number = self._numbers[self._places(hashes)]
        same = np.ones(len(hashes), dtype=np.bool_)
        for at in range(max(self._words.shape[1], len(words))):
            known = self._words[number, at] if at < self._words.shape[1] else np.uint64(0)
            same &= known == (words[at] if at < len(words) else np.uint64(0))
        return np.where(same, number, -1)

    def _add(self, hashes: _Words, words: list[_Words]) -> None:
        number, width = len(self._hashes), max(self._words.shape[1], len(words))
        table = np.zeros((number + len(hashes), width), dtype=np.uint64)
        table[:number, : self._words.shape[1]] = self._words
        for at, word in enumerate(words):
            table[number:, at] = word
        order = np.argsort(hashes)
        places = np.searchsorted(self._hashes, hashes[order])
        self._words = table
        self._hashes = np.insert(self._hashes, places, hashes[order])
        self._numbers = np.insert(self._numbers, places, number + order)


def _hashes(words: list[_Words]) -> _Words:
    """A hash of the words of each field; words of zeros at the end do not change it."""
    result = np.zeros(len(words[0]), dtype=np.uint64)
    for at, word in enumerate(words):
        mixed = (word + np.uint64(at)) * _FACTOR
        result ^= np.where(word == 0, np.uint64(0), (mixed ^ (mixed >> _HALF)) * _FACTOR)
    return result
