"""Tables that planners write: CSV with a header and comments, read with the line of each row, checked by the cell."""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from spareopt import units
from spareopt.errors import Fault, InputError
from spareopt.yaml_source import MAX_FILE_BYTES

DELIMITERS = ",;\t"
COMMENT = "#"
_COUNT = re.compile(r"\d{1,9}")
_RANGE = re.compile(r"(\d{1,9})\s*\.\.\s*(\d{1,9})(?:\s+step\s+(\d{1,9}))?")


@dataclass(frozen=True)
class Row:
    """A row: its line, and its cells by column; empty ones are left out."""

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """A table as it stands in a file."""

    label: str
    digest: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    header_line: int


def header_of(path: Path) -> frozenset[str]:
    """The columns that a text file would have if it were a table: its first line that says something."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as stream:
            for line in stream:
                if line.strip() and not _is_comment(line):
                    return frozenset(_words(next(csv.reader([line], delimiter=_delimiter(line)), [])))
    except (OSError, csv.Error):
        pass
    return frozenset()


def read_table(path: Path, label: str, columns: Sequence[str], required: Sequence[str]) -> Table:
    """Read a table with some of the columns known.

    Lines that begin with # are comments.  Cells are stripped.  Raises InputError with every fault of the header, or of
    the rows' shape.
    """
    text, digest = _text(path, label)
    lines = list(io.StringIO(text, newline=""))  # splitlines would break a cell at the separators of pasted text
    first = next((line for line in lines if line.strip() and not _is_comment(line)), "")
    records = list(_records(lines, _delimiter(first), label))
    if not records:
        raise InputError(label, [Fault("", f"is empty; expected a header such as {','.join(columns[:4])}")])
    header_line, header = records[0]
    names = _words(header)
    while names and not names[-1]:
        names.pop()
    faults = _header_faults(names, header_line, columns, required)
    rows = []
    for line, cells in records[1:]:
        beyond = [cell for cell in cells[len(names) :] if cell.strip()]
        if beyond:
            message = f"has {len(cells)} cells, the header {len(names)}; quote a cell that holds the separator"
            faults.append(Fault("", f"{message}, got {beyond[0].strip()!r:.60} beyond", line))
        rows.append(Row(line, {name: cell.strip() for name, cell in zip(names, cells, strict=False) if cell.strip()}))
    if not rows and not faults:
        faults.append(Fault("", "has a header, but no rows; expected at least one", header_line))
    if faults:
        raise InputError(label, faults)
    return Table(label, digest, tuple(names), tuple(rows), header_line)


def _text(path: Path, label: str) -> tuple[str, str]:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(label, [Fault("", f"can't be read: {error.strerror or error}")]) from None
    if len(raw) > MAX_FILE_BYTES:
        raise InputError(label, [Fault("", f"is {len(raw):,} bytes; expected at most {MAX_FILE_BYTES:,}")])
    try:
        return raw.decode("utf-8-sig"), hashlib.sha256(raw).hexdigest()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"is not text in UTF-8 (byte {error.start}); save the table as CSV in UTF-8"
        raise InputError(label, [Fault("", message, line)]) from None


def _is_comment(line: str) -> bool:
    return line.lstrip().lstrip('"').startswith(COMMENT)


def _delimiter(header: str) -> str:
    return max(DELIMITERS, key=header.count)


def _words(cells: Sequence[str]) -> list[str]:
    return [cell.strip().lower() for cell in cells]


def _records(lines: list[str], delimiter: str, label: str) -> Iterator[tuple[int, list[str]]]:
    """Records with the line each begins in; comments and empty ones are left out."""
    begins = True  # a record, so that a comment is no line inside a quoted cell

    def feed() -> Iterator[str]:
        nonlocal begins
        for line in lines:
            comment = begins and _is_comment(line)
            begins = False
            yield "\n" if comment else line

    reader = csv.reader(feed(), delimiter=delimiter, strict=True)
    done = 0
    try:
        for cells in reader:
            begins = True
            line, done = done + 1, reader.line_num
            if any(cell.strip() for cell in cells):
                yield line, cells
    except csv.Error as error:
        message = f"is no table: {error}; close the quote that is opened here"
        raise InputError(label, [Fault("", message, done + 1)]) from None


def _header_faults(names: list[str], line: int, columns: Sequence[str], required: Sequence[str]) -> list[Fault]:
    faults = []
    for i, name in enumerate(names):
        if name not in columns:
            close = difflib.get_close_matches(name, columns, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"expected some of {', '.join(columns)}"
            faults.append(Fault(f"column {name or i + 1}", f"unknown column; {hint}", line))
        elif name in names[:i]:
            faults.append(Fault(f"column {name}", "given twice; keep one of them", line))
    for name in required:
        if name not in names:
            faults.append(Fault(f"column {name}", "required, but missing from the header", line))
    return faults


class Cells:
    """The cells of one row as values of an instance; what is wrong with one is noted as a fault of its column."""

    def __init__(self, row: Row, faults: list[Fault]) -> None:
        self._row = row
        self._faults = faults

    def text(self, column: str) -> str | None:
        """What a cell holds; None where it is empty."""
        return self._row.cells.get(column)

    def refuse(self, column: str, message: str) -> None:
        """Note a fault of a cell, with what it holds."""
        cell = self.text(column)
        got = "" if cell is None else f", got {cell!r:.80}"
        self._faults.append(Fault(f"column {column}", f"{message}{got}", self._row.line))

    def quantity(self, column: str, kind: units.Kind) -> str | None:
        """The text of a quantity, in whatever currency."""

        def check(text: str) -> str:
            problem = ""
            for currency in units.CURRENCIES if kind.canonical == "money" else ("USD",):
                try:
                    if units.parse(text, kind, currency) < 0:
                        raise ValueError(f"expected {kind.name} of at least zero")
                    return text
                except ValueError as error:
                    problem = problem or str(error)
            raise ValueError(problem.partition(" (the instance's currency")[0])

        text: str | None = self._read(column, check)
        return text

    def count(self, column: str) -> int | None:
        """A whole number."""

        def check(text: str) -> int:
            if not _COUNT.fullmatch(text):
                raise ValueError("expected a whole number such as 18")
            return int(text)

        number: int | None = self._read(column, check)
        return number

    def choices(self, column: str) -> Any:
        """Choices: a number, several with semicolons, or a range such as 0..8 or 0..8 step 2."""

        def check(text: str) -> Any:
            found = _RANGE.fullmatch(text)
            if found:
                step = {} if found[3] is None else {"step": int(found[3])}
                return {"from": int(found[1]), "to": int(found[2]), **step}
            parts = [part.strip() for part in text.split(";")]
            if not all(_COUNT.fullmatch(part) for part in parts):
                raise ValueError("expected choices such as 4, 0;2;4, 0..8 or 0..8 step 2")
            return int(parts[0]) if len(parts) == 1 else [int(part) for part in parts]

        return self._read(column, check)

    def share(self, column: str) -> float | None:
        """A share, such as 0.6 or 60 %."""
        number: float | None = self._read(column, units.parse_share)
        return number

    def word(self, column: str, words: Sequence[str]) -> str | None:
        """One of several words, in small or capital letters."""

        def check(text: str) -> str:
            if text.lower() not in words:
                raise ValueError(f"expected one of {', '.join(words)}")
            return text.lower()

        word: str | None = self._read(column, check)
        return word

    def _read(self, column: str, check: Callable[[str], Any]) -> Any:
        text = self.text(column)
        if text is None:
            return None
        try:
            return check(text)
        except ValueError as error:
            self.refuse(column, str(error))
            return None


def name_of(path: Path) -> str:
    """The name of an overlay made from a file: that of the file, in letters that a name may have."""
    return re.sub(r"[^A-Za-z0-9_.\-/ ]", "-", path.stem).lstrip("_.-/ ")[:80] or "table"


def table_text(comments: Sequence[str], columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> str:
    """A table as CSV, comments first; a row without any cell is left out."""
    lines = [f"{COMMENT} {comment}".rstrip() for comment in comments] + [",".join(columns)]
    lines += [",".join(_quoted(row.get(column, "")) for column in columns) for row in rows if row]
    return "\n".join(lines) + "\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(letter in cell for letter in ',"\n\r') else cell


def quantity_text(value: float, kind: units.Kind, currency: str = "USD") -> str:
    """A quantity as a planner would write it, which reads back to the same number."""
    short = units.show(value, kind, currency)
    try:
        return short if units.parse(short, kind, currency) == value else units.write(value, kind, currency)
    except ValueError:
        return units.write(value, kind, currency)


def choices_text(choices: Sequence[int]) -> str:
    """Choices as a cell holds them: a range where they are one."""
    if len(choices) > 2:
        step = choices[1] - choices[0]
        if all(later - earlier == step for earlier, later in pairwise(choices)):
            return f"{choices[0]}..{choices[-1]}" + (f" step {step}" if step > 1 else "")
    return ";".join(map(str, choices))
