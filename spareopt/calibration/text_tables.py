"""Tables of a file as columns of texts, with the line of every row: CSV (plain or gzip), Parquet, Excel workbooks.

Nothing is typed here: "007", "1,5" and "2027-03-28 02:30" reach the reader as the file has them.  Text files are read
in blocks of lines as long as they hold no quotes, and from there on by the standard library's csv, which knows the line
of every record, also where fields hold line breaks.
"""

from __future__ import annotations

import csv
import gc
import glob
import gzip
import io
import itertools
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.log_mapping import TableFormat
from spareopt.calibration.plain_text import ENCODINGS, Lines, Place, plain_lines
from spareopt.errors import Fault, InputError
from spareopt.yaml_source import brief

ROWS_AT_ONCE = 10_000
"""More take longer: their texts no longer fit into the caches."""
SEPARATORS = (",", ";", "\t", "|")
_BREAK = re.compile(r"\r\n|\r|\n")
_LONGEST_FIELD = 1_000_000  # characters; more is a quote that is never closed
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


class Chunk(NamedTuple):
    """Some rows of a table, in the order of the file."""

    line: NDArray[np.int64]
    columns: list[Sequence[str]]
    """Texts of the columns asked for."""
    ragged: list[tuple[int, str, Sequence[str]]]
    """Rows with too few or too many fields, which are not in the columns: line, what is wrong, all fields."""


class TextTable(NamedTuple):
    """A table whose header is read."""

    label: str
    header: tuple[str, ...]
    header_line: int
    """0 where the file has no line for it (Parquet)."""
    chunks: Callable[[Sequence[int]], Iterator[Chunk]]
    """The rows below, of the columns with these numbers; rows in which every field is empty are no rows."""


def open_table(path: str | Path, layout: TableFormat, place: str = "") -> TextTable:
    """The table of a file; what it is follows from its first bytes.

    ``place`` is where the mapping holds the layout, for messages.  Raises InputError where it is no table.
    """
    label = str(path)
    try:
        with Path(path).open("rb") as file:
            start = file.read(4)
    except FileNotFoundError:
        raise _refusal(label, "no such file; expected a table (.csv, .csv.gz, .parquet or .xlsx)") from None
    except (OSError, ValueError) as error:  # a ValueError is a name with a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise _refusal(label[:200] or "''", f"can't be read: {reason}; expected a file") from None
    if not start:
        raise _refusal(label, "is empty; expected a table with a header")
    if start == b"PAR1":
        return _parquet(Path(path), label)
    if start == b"PK\x03\x04":
        return _workbook(Path(path), label, layout, place)
    if start == _OLD_EXCEL:
        raise _refusal(label, "is a workbook of the old kind (.xls) or locked with a password; save it as .xlsx or CSV")
    return _csv(Path(path), label, layout, place, compressed=start[:2] == b"\x1f\x8b")


def _refusal(label: str, message: str, field: str = "", line: int | None = None) -> InputError:
    return InputError(label, [Fault(field, message, line)])


def _csv(path: Path, label: str, layout: TableFormat, place: str, compressed: bool) -> TextTable:
    """The table of a text file."""
    csv.field_size_limit(_LONGEST_FIELD)
    encoding = "utf-8-sig" if layout.encoding == "utf-8" else layout.encoding

    def opened_bytes() -> Any:
        return gzip.open(path, "rb") if compressed else path.open("rb")

    def opened() -> IO[str]:
        return io.TextIOWrapper(opened_bytes(), encoding=encoding, newline="")

    with opened() as file, _told(label, layout, place, lambda: 1):
        for _ in range(layout.header_line - 1):
            if not file.readline():
                raise _refusal(label, f"expected a line of the file, got {layout.header_line}", f"{place}header_line")
        first = file.readline()
        separator = layout.separator or _most_frequent(first)
        reader = csv.reader(itertools.chain([first], file), delimiter=separator, strict=True)
        header = tuple(name.strip() for name in next(reader, []))
        last_of_header = layout.header_line - 1 + reader.line_num
    if not any(header):
        message = "expected the names of the columns, got an empty line; if the header is further down, state its line"
        raise _refusal(label, message, f"{place}header_line", layout.header_line)

    def chunks(wanted: Sequence[int]) -> Iterator[Chunk]:
        begin: Place | None = None
        if layout.encoding in ENCODINGS:
            with opened_bytes() as raw, _told(label, layout, place, lambda: last_of_header):
                above = [raw.readline() for _ in range(last_of_header)]
                begin = Place(sum(map(len, above)), last_of_header + 1)
                if any(line.count(b"\r") != line.count(b"\r\n") for line in above):
                    begin = None  # lines that end in another way were counted
                else:
                    found: Lines | Place
                    for found in plain_lines(
                        raw, begin, separator, wanted, len(header), layout.encoding, _LONGEST_FIELD
                    ):
                        if isinstance(found, Place):
                            begin = found
                            break
                        yield _as_chunk(found, len(header))
                    else:
                        return
        yield from parsed(wanted, begin)

    def parsed(wanted: Sequence[int], begin: Place | None) -> Iterator[Chunk]:
        """The rows from a place on, or from the first below the header, by csv."""
        with opened_bytes() as raw:
            if begin is not None:
                raw.seek(begin.offset)
            stated = encoding if begin is None or begin.offset == 0 else layout.encoding
            file = io.TextIOWrapper(raw, encoding=stated, newline="")
            above = last_of_header if begin is None else begin.line - 1
            if begin is None:
                for _ in range(above):
                    file.readline()
            reader = csv.reader(file, delimiter=separator, strict=True)
            with _told(label, layout, place, lambda: above + reader.line_num):
                while True:
                    with _no_search_for_cycles():
                        first = above + reader.line_num + 1
                        rows = list(itertools.islice(reader, ROWS_AT_ONCE))
                        lines = _lines(rows, first, above + reader.line_num)
                        chunk = _chunk(lines, rows, wanted, len(header)) if rows else None
                        del rows
                    if chunk is None:
                        return
                    yield chunk

    return TextTable(label, header, layout.header_line, chunks)


def _lines(rows: Sequence[Sequence[str]], first: int, last: int) -> NDArray[np.int64]:
    """The line in which each of the rows of some lines begins."""
    if last - first + 1 == len(rows):
        return np.arange(first, last + 1, dtype=np.int64)
    lengths = [1 + sum(len(_BREAK.findall(field)) for field in row) for row in rows]
    return first + np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int64)


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Keeps the garbage collector away from lists of texts, which hold no cycles: it would take a fifth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _most_frequent(header: str) -> str:
    """The separator that a header holds most often."""
    return max(SEPARATORS, key=header.count)


def _chunk(lines: NDArray[np.int64], rows: Sequence[Sequence[str]], wanted: Sequence[int], fields: int) -> Chunk:
    """Rows as columns; empty ones are left out, and those that do not fit the header are told apart."""
    ragged: list[tuple[int, str, Sequence[str]]] = []
    if set(map(len, rows)) != {fields} or not all(map(str.strip, map("".join, rows))):
        kept, kept_lines = [], []
        for line, row in zip(lines.tolist(), rows, strict=True):
            if not any(field.strip() for field in row):
                continue
            if len(row) < fields or any(field.strip() for field in row[fields:]):
                ragged.append((line, _misfit(row, fields), row))
                continue
            kept.append(row)
            kept_lines.append(line)
        rows, lines = kept, np.array(kept_lines, dtype=np.int64)
    columns = list(zip(*rows, strict=False)) or [()] * fields  # not strict: rows may have empty fields too many
    return Chunk(lines, [columns[column] for column in wanted], ragged)


def _as_chunk(found: Lines, fields: int) -> Chunk:
    """Rows of plain lines as rows of any table."""
    return Chunk(found.line, [*found.columns], [(line, _misfit(row, fields), row) for line, row in found.ragged])


def _misfit(row: Sequence[str], fields: int) -> str:
    return f"{len(row)} fields, the header {fields}"


@contextmanager
def _told(label: str, layout: TableFormat, place: str, line: Callable[[], int]) -> Iterator[None]:
    """Tells what goes wrong while a text file is read as a fault of the file."""
    try:
        yield
    except UnicodeError as error:
        stated = layout.encoding
        start = error.object[:2] if isinstance(error, UnicodeDecodeError) else b""
        if stated == "utf-8" and start in (b"\xff\xfe", b"\xfe\xff"):
            advice = "it begins like UTF-16: state `encoding: utf-16`"
        elif stated == "utf-8":
            advice = "state `encoding: windows-1252` (or latin-1, utf-16) if it is that, or save it as UTF-8"
        else:
            advice = "state the encoding that it has"
        message = f"is not text in {stated.upper()}, nor a workbook or Parquet; {advice}"
        raise _refusal(label, message, f"{place}encoding") from None
    except csv.Error as error:
        message = f"is not a table at about this line: {error}; look for a quote that is not closed"
        raise _refusal(label, message, line=line()) from None
    except (OSError, EOFError, zlib.error) as error:
        raise _refusal(label, f"can't be unpacked or read: {error}; is the file complete?") from None


def _workbook(path: Path, label: str, layout: TableFormat, place: str) -> TextTable:
    """The table of a sheet of a workbook."""
    sheet = layout.sheet
    rows = _cells(path, label, sheet, place)
    header: tuple[str, ...] = ()
    for number, row in rows:
        if number == layout.header_line:
            header = tuple(text.strip() for text in row)
        if number >= layout.header_line:
            break
    rows.close()
    while header and not header[-1]:
        header = header[:-1]
    if not header:
        message = "expected the names of the columns, got an empty row; if the header is further down, state its row"
        raise _refusal(label, message, f"{place}header_line", layout.header_line)

    def chunks(wanted: Sequence[int]) -> Iterator[Chunk]:
        cells = (item for item in _cells(path, label, sheet, place) if item[0] > layout.header_line)
        while items := list(itertools.islice(cells, ROWS_AT_ONCE)):
            lines = np.array([number for number, _ in items], dtype=np.int64)
            rows = [
                row + [""] * (len(header) - len(row)) for _, row in items
            ]  # a sheet holds no empty cells at the end
            yield _chunk(lines, rows, wanted, len(header))

    return TextTable(label, header, layout.header_line, chunks)


def _cells(path: Path, label: str, sheet: str | None, place: str) -> Generator[tuple[int, list[str]], None, None]:
    """Rows of a sheet as texts, with their numbers.  Refuses formulas whose results the file does not hold."""
    import openpyxl  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # styles and extensions that it does not know are no news to the user
        try:
            # By its bytes, since openpyxl refuses names that do not end as it likes.
            content = path.read_bytes()
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            formulas = openpyxl.load_workbook(io.BytesIO(content), read_only=True) if _has_formulas(path) else None
        except Exception as error:  # whatever the library lets slip on odd input is a fault of the input
            message = f"is not a workbook that can be read: {error}; save it as .xlsx or CSV"
            raise _refusal(label, message) from None
        names = [page.title for page in book.worksheets]
        if not names or (sheet is not None and sheet not in names):
            raise _refusal(label, f"expected a sheet of {', '.join(names)}, got {brief(sheet)}", f"{place}sheet")
        chosen = names[0] if sheet is None else sheet
        try:
            pages = [one[chosen] for one in (book, formulas) if one is not None]
            for page in pages:
                page.reset_dimensions()  # some programs write wrong ones
            for number, (values, *written) in enumerate(
                zip(*(page.iter_rows(values_only=True) for page in pages), strict=True), start=1
            ):
                for value, formula in zip(values, *written, strict=True) if written else ():
                    if value is None and isinstance(formula, str) and formula.startswith("="):
                        message = f"expected a value, got the formula {brief(formula)} without its result; "
                        message += "open the workbook, let it calculate, and save it"
                        raise _refusal(label, message, line=number)
                yield number, [_cell(value) for value in values]
        except (zipfile.BadZipFile, OSError, EOFError, KeyError) as error:
            raise _refusal(label, f"is a broken workbook: {error}; save it again") from None
        finally:
            book.close()
            if formulas is not None:
                formulas.close()


def _has_formulas(path: Path) -> bool:
    """Whether any sheet of a workbook holds a formula."""
    with zipfile.ZipFile(path) as book:
        for name in book.namelist():
            if name.startswith("xl/worksheets/"):
                tail = b""
                with book.open(name) as sheet:
                    while piece := sheet.read(1 << 20):
                        if b"<f>" in tail + piece or b"<f " in tail + piece:
                            return True
                        tail = piece[-2:]
    return False


def _cell(value: object) -> str:
    """A cell as text."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str) else brief(value)


def _parquet(path: Path, label: str) -> TextTable:
    """The table of a Parquet file."""
    import duckdb  # noqa: PLC0415

    def connection() -> Any:
        connected = duckdb.connect(config={"threads": 2, "memory_limit": "1GB"})
        connected.execute("SET TimeZone = 'UTC'")
        return connected

    with connection() as database:
        try:
            described = database.execute("DESCRIBE SELECT * FROM read_parquet(?)", [glob.escape(label)]).fetchall()
        except duckdb.Error as error:
            message = f"is not a Parquet file that can be read: {str(error).splitlines()[0]}"
            raise _refusal(label, message) from None
    header = tuple(str(row[0]).strip() for row in described)

    def chunks(wanted: Sequence[int]) -> Iterator[Chunk]:
        names = ['"' + str(described[column][0]).replace('"', '""') + '"' for column in wanted]
        texts = ", ".join(f"coalesce(CAST({name} AS VARCHAR), '')" for name in names)
        line = 1
        with connection() as database:
            try:
                result = database.execute(f"SELECT {texts} FROM read_parquet(?)", [glob.escape(label)])
                while rows := result.fetchmany(ROWS_AT_ONCE):
                    columns: list[Sequence[str]] = [list(column) for column in zip(*rows, strict=True)]
                    yield Chunk(np.arange(line, line + len(rows), dtype=np.int64), columns, [])
                    line += len(rows)
            except duckdb.Error as error:
                raise _refusal(label, f"is a broken Parquet file: {str(error).splitlines()[0]}") from None

    return TextTable(label, header, 0, chunks)
