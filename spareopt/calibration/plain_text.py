"""Text tables without quotes, many lines at once: where each field stands, and which lines do not fit the header.

Without quotes every break ends a row and every separator a field, so that the rows need no parser.  What is not as
plain as that is left to the standard library's csv, from the first block of lines that is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.byte_fields import Block, Fields, Integers

BLOCK = 1 << 21
"""Bytes read at once."""
ENCODINGS = ("utf-8", "latin-1", "windows-1252")
"""Encodings in which the bytes of separators and breaks stand for nothing else."""
_BREAK, _SPACE, _BEYOND_ASCII = 10, 32, 128


class Place(NamedTuple):
    """Where something begins in a file."""

    offset: int
    line: int


class Lines(NamedTuple):
    """Rows of some lines: those that fit the header as fields, and all fields of those that do not."""

    line: Integers
    columns: list[Fields]
    """The columns asked for."""
    ragged: list[tuple[int, list[str]]]


def plain_lines(
    file: IO[bytes], start: Place, separator: str, wanted: Sequence[int], width: int, encoding: str, longest: int
) -> Iterator[Lines | Place]:
    """The rows of a file from a place on, as far as it is plain; then, if it is not to its end, the place up to which.

    ``width``: fields of the header.  Rows in which every field is empty are no rows; empty fields too many are dropped.
    ``longest``: bytes of the longest line that is plain.
    """
    rest, place = b"", start
    while True:
        read = file.read(BLOCK)
        data = rest + read
        if not data:
            return
        end = data.rfind(b"\n") + 1 if read else len(data)
        lines = _plain(data[:end], encoding)
        found = None if lines is None else _rows(lines, place.line, separator, wanted, width, encoding, longest)
        if lines is None or found is None:
            yield place
            return
        yield found
        rest = data[end:]
        place = Place(place.offset + end, place.line + lines.count(b"\n"))


def _plain(lines: bytes, encoding: str) -> bytes | None:
    """Lines that end with a line feed each; None where they hold quotes, NULs, other breaks, or no text."""
    if not lines or b'"' in lines or b"\0" in lines:
        return None
    if b"\r" in lines:
        if lines.count(b"\r") != lines.count(b"\r\n"):
            return None
        lines = lines.replace(b"\r\n", b"\n")
    if not lines.isascii():
        try:
            lines.decode(encoding)
        except UnicodeError:
            return None
    return lines if lines.endswith(b"\n") else lines + b"\n"


def _rows(
    lines: bytes, line: int, separator: str, wanted: Sequence[int], width: int, encoding: str, longest: int
) -> Lines | None:
    """The rows of plain lines; None where one is too long."""
    data = np.frombuffer(lines, dtype=np.uint8)
    ends = np.flatnonzero((data == ord(separator)) | (data == _BREAK))  # of each field
    begins = np.append(0, ends[:-1] + 1)
    last = np.flatnonzero(data[ends] == _BREAK)  # field of each line
    number = np.diff(last, prepend=-1)
    first = last - number + 1
    if (ends[last] - begins[first]).max() > longest:
        return None
    kept, ragged = np.ones(len(last), dtype=np.bool_), []
    for row in _to_look_at(data, begins, ends, first, number, width).tolist():
        fields = lines[begins[first[row]] : ends[last[row]]].decode(encoding).split(separator)
        if not any(field.strip() for field in fields):
            kept[row] = False
        elif len(fields) < width or any(field.strip() for field in fields[width:]):
            ragged.append((line + row, fields))
            kept[row] = False
    block, rows = Block.of(lines, encoding), first[kept]
    columns = [Fields(block, begins[rows + at], ends[rows + at] - begins[rows + at]) for at in wanted]
    return Lines(line + np.flatnonzero(kept), columns, ragged)


def _to_look_at(
    data: NDArray[np.uint8], begins: Integers, ends: Integers, first: Integers, number: Integers, width: int
) -> Integers:
    """Lines that do not have as many fields as the header, or none that begins with a printed ASCII character."""
    rows = np.flatnonzero(number == width)
    for at in range(width):  # the first field settles it for almost all
        fields = first[rows] + at
        byte = data[begins[fields]]
        rows = rows[(begins[fields] == ends[fields]) | (byte <= _SPACE) | (byte >= _BEYOND_ASCII)]
    return np.union1d(np.flatnonzero(number != width), rows)
