"""Read an edited workbook: the inputs that a planner changed, as an overlay."""

from __future__ import annotations

import difflib
import hashlib
import math
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openpyxl import load_workbook
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from spareopt.errors import Fault, InputError
from spareopt.overlays.overlay import Origin, Overlay, Place
from spareopt.workbooks import inputs_sheet, record_sheet
from spareopt.workbooks.inputs import NONE, InputRow, typed_value

if TYPE_CHECKING:
    from openpyxl import Workbook

SUFFIXES = (".xlsx", ".xlsm")
MOST_BYTES = 10_000_000
MOST_UNPACKED = 30_000_000
MOST_ROWS = 10_000
MOST_TOLD = 8
"""Rows that are told one by one where many are gone."""
ROUNDING = 1e-14
"""Relative: files hold 16 digits of a number, and spreadsheets may write 15."""
BEST = "best"
"""What a checkpoint period may be besides a number."""
_NAMED = tuple(inputs_sheet.HEADER[:4])
"""The header of the columns that are read: input, value, unit, as solved."""


class _Refused(ValueError):
    """A cell that can't be used; says why."""


@dataclass(frozen=True)
class _Columns:
    """The row of the header, and the column of each name in it."""

    header: int
    of: Mapping[str, int]

    def cell(self, name: str, row: int) -> str:
        return f"{inputs_sheet.SHEET}!{get_column_letter(self.of[name])}{row}"


def read_workbook(path: str | Path) -> Overlay:
    """The inputs changed in a workbook that spareopt wrote, and what had changed the instance it was written from.

    A workbook that is not changed, of an instance that was not, is an overlay without overrides.  Rows may be moved,
    and rows and columns of the planner's own stand beside; what can't be told for sure is refused.  Raises InputError
    with every fault found, each with its cell.
    """
    file, label = Path(path), str(path)
    raw = _raw_bytes(file, label)
    formulas, values = _load(file, label, values=False), _load(file, label, values=True)
    facts = _facts(formulas, label)
    rows = {row[0]: InputRow(row[0], (), *row[1:]) for row in facts["inputs"]}
    sheet, shown = formulas[inputs_sheet.SHEET], values[inputs_sheet.SHEET]
    columns = _columns(sheet, label)
    changes, places, faults = _changes(sheet, shown, columns, rows)
    if faults:
        raise InputError(label, faults)
    cells: dict[Place, str] = {("overrides", path): columns.cell("value", places[path]) for path in changes}
    solved: dict[Place, str] = {
        ("expects", path): columns.cell("as solved", places[path]) for path in facts["expects"] if path in places
    }
    name = re.sub(r"[^A-Za-z0-9_.\- ]", "-", file.stem)[:80].lstrip("-_. ")
    overlay = Overlay(
        name=name or "workbook",
        source=(
            f"{file.name} (sha256 {hashlib.sha256(raw).hexdigest()[:12]}…), a workbook of {facts['instance']} "
            f"(input hash {facts['input_hash'][:12]}…)"
        ),
        overrides={**facts["changes"], **changes},
        expects=facts["expects"],
        holds=tuple(facts["holds"]),
    )
    return overlay.placed(Origin(label, cells={**solved, **cells}))


def _raw_bytes(file: Path, label: str) -> bytes:
    """The bytes of a file that can be a workbook.  Raises InputError."""
    message = ""
    try:
        if file.suffix.lower() not in SUFFIXES:
            message = f"is no {SUFFIXES[0]} workbook; save it as one (Excel workbook, {SUFFIXES[0]})"
        elif file.stat().st_size > MOST_BYTES:
            message = f"is {file.stat().st_size:,} bytes; expected at most {MOST_BYTES:,}"
        else:
            raw = file.read_bytes()
            with zipfile.ZipFile(file) as archive:
                unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked <= MOST_UNPACKED:
                return raw
            message = f"unpacks to {unpacked:,} bytes; expected at most {MOST_UNPACKED:,}"
    except OSError as error:
        message = f"can't be read: {error.strerror or error}"
    except zipfile.BadZipFile:
        message = (
            "is no Excel workbook, whatever its name says; it may be cut off, or locked with a password: save it again "
            "from Excel without one"
        )
    raise InputError(label, [Fault("", message)])


def _load(file: Path, label: str, *, values: bool) -> Workbook:
    """The workbook with its formulas, or with the values that a spreadsheet program computed of them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # parts that openpyxl does not know are no part of the inputs
            return load_workbook(file, data_only=values, keep_links=False)
    except Exception as error:  # whatever a broken file lets slip is a fault of the file
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(label, [Fault("", f"can't be read as an Excel workbook: {reason}")]) from None


def _facts(workbook: Workbook, label: str) -> dict[str, Any]:
    """What the workbook was made from.  Raises InputError where spareopt did not write it, or that was changed."""
    again = "write one with spareopt solve INSTANCE --excel FILE.xlsx"
    for name in (inputs_sheet.SHEET, record_sheet.SHEET):
        if name not in workbook.sheetnames or not isinstance(workbook[name], Worksheet):
            message = f"has no sheet {name!r}, so that it is no workbook that spareopt wrote; {again}"
            raise InputError(label, [Fault("", message)])
    facts = record_sheet.read_record(workbook[record_sheet.SHEET])
    if facts is None:
        message = (
            f"expected {record_sheet.FORMAT!r} as it was written, but it was changed, or another version of spareopt "
            f"wrote it; {again}, and change its sheet {inputs_sheet.SHEET} alone"
        )
        raise InputError(label, [Fault(f"sheet {record_sheet.SHEET}", message)])
    return facts


def _columns(sheet: Worksheet, label: str) -> _Columns:
    """Where the header stands, whatever rows and columns were put in.  Raises InputError where it is not found."""
    if sheet.max_row > MOST_ROWS:
        message = f"has cells down to row {sheet.max_row:,}; delete the rows below the inputs"
        raise InputError(label, [Fault(inputs_sheet.SHEET, message)])
    for row in range(1, min(sheet.max_row, 50) + 1):
        names = [_text(sheet.cell(row, column).value) for column in range(1, min(sheet.max_column, 50) + 1)]
        if all(name in names for name in _NAMED):
            twice = [name for name in _NAMED if names.count(name) > 1]
            if twice:
                message = f"two columns are headed {twice[0]!r}; keep one of them"
                raise InputError(label, [Fault(f"{inputs_sheet.SHEET}!row {row}", message)])
            return _Columns(row, {name: names.index(name) + 1 for name in _NAMED})
    message = f"no row with the headers {', '.join(_NAMED)}; put them back"
    raise InputError(label, [Fault(inputs_sheet.SHEET, message)])


def _changes(
    sheet: Worksheet, shown: Worksheet, columns: _Columns, rows: Mapping[str, InputRow]
) -> tuple[dict[str, Any], dict[str, int], list[Fault]]:
    """The new value of every input that was changed, the row of every input, and what is wrong."""
    changes: dict[str, Any] = {}
    seen: dict[str, int] = {}
    faults = list(_merged(sheet, columns))
    if faults:
        return changes, seen, faults
    path_column, value_column, unit_column, solved_column = (columns.of[name] for name in _NAMED)
    for place in range(columns.header + 1, sheet.max_row + 1):
        path, where = _text(sheet.cell(place, path_column).value), columns.cell("value", place)
        if path not in rows:
            faults += _stranger(sheet, columns, place, path, rows)
            continue
        if path in seen:
            message = f"is named in row {seen[path]} too; keep one of the two rows"
            faults.append(Fault(f"{columns.cell('input', place)} ({path})", message))
            continue
        seen[path], row = place, rows[path]
        if (unit := _text(sheet.cell(place, unit_column).value)) != row.unit:
            message = f"expected the unit {row.unit!r}, got {unit!r}: put it back, and give the value in it"
            faults.append(Fault(f"{columns.cell('unit', place)} ({path})", message))
        if not _equal(sheet.cell(place, solved_column).value, row.value):
            got = _text(sheet.cell(place, solved_column).value)
            message = f"expected {row.value}, as it was solved, got {got!r}: put it back, and change column 'value'"
            faults.append(Fault(f"{columns.cell('as solved', place)} ({path})", message))
        try:
            value = _value(sheet.cell(place, value_column), shown.cell(place, value_column), row)
        except _Refused as error:
            faults.append(Fault(f"{where} ({path})", str(error)))
            continue
        if not _equal(value, row.value):
            try:
                changes[path] = typed_value(row, value)
            except InputError as error:
                faults += [Fault(f"{where} ({path})", f"{fault.message}, got {value!r:.80}") for fault in error.faults]
    return changes, seen, [*faults, *_gone(rows, seen)]


def _merged(sheet: Worksheet, columns: _Columns) -> Iterator[Fault]:
    """Merged cells among those that are read: only one of them holds anything."""
    read = set(columns.of.values())
    for merged in sheet.merged_cells.ranges:
        if merged.max_row >= columns.header and read & set(range(merged.min_col, merged.max_col + 1)):
            message = "these cells are merged, so that one value stands for several; unmerge them"
            yield Fault(f"{inputs_sheet.SHEET}!{merged.coord}", message)


def _stranger(
    sheet: Worksheet, columns: _Columns, place: int, path: str, rows: Mapping[str, InputRow]
) -> Iterator[Fault]:
    """A row that is none of the inputs: a remark of the planner's own, unless it states a value."""
    value = sheet.cell(place, columns.of["value"]).value
    if value is None:
        if path and sheet.cell(place, columns.of["as solved"]).value is not None:
            yield Fault(f"{columns.cell('input', place)} ({path})", f"unknown input{_closest(path, rows)}")
    elif path:
        message = f"unknown input{_closest(path, rows)}; for inputs without a row use --set, or a YAML overlay"
        yield Fault(f"{columns.cell('input', place)} ({path})", message)
    else:
        message = f"a value without an input beside it, got {_text(value)!r}; name the input, or empty the cell"
        yield Fault(columns.cell("value", place), message)


def _closest(path: str, rows: Mapping[str, InputRow]) -> str:
    close = difflib.get_close_matches(path, rows, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _gone(rows: Mapping[str, InputRow], seen: Mapping[str, int]) -> list[Fault]:
    """Inputs whose row was taken out: whether they are meant to be as solved or not to be, only the planner knows."""
    gone = [path for path in rows if path not in seen]
    message = f"its row is gone; put it back, with the value {NONE!r} to take an optional input out"
    faults = [Fault(f"{inputs_sheet.SHEET} ({path})", message) for path in gone[:MOST_TOLD]]
    if len(gone) > MOST_TOLD:
        faults.append(Fault(inputs_sheet.SHEET, f"and {len(gone) - MOST_TOLD} more rows are gone"))
    return faults


def _value(cell: Any, shown: Any, row: InputRow) -> float | int | str:
    """What a planner's cell says of an input; ``shown`` holds the value of a formula.  Raises _Refused."""
    expected = _expected(row)
    value = shown.value if cell.data_type == "f" else cell.value
    if cell.data_type == "f" and value is None:
        raise _Refused(
            f"holds a formula ({_text(cell.value)}) whose value is not in the file; save the file from a spreadsheet "
            f"program, or type {expected}"
        )
    if shown.data_type == "e":
        raise _Refused(f"expected {expected}, got the error {_text(value)}")
    if value is None or (isinstance(value, str) and not value.strip()):
        raise _Refused(f"expected {expected}, but it is empty; to take an optional input out, type {NONE}")
    if isinstance(value, str):
        return _word(value.strip(), row, expected)
    if isinstance(value, bool):
        if row.form == "text":
            return str(value).lower()
        raise _Refused(f"expected {expected}, got {str(value).upper()}")
    if not isinstance(value, int | float):
        raise _Refused(f"expected {expected}, got a date or time ({value}); give the cell the format General")
    if not math.isfinite(value):
        raise _Refused(f"expected {expected}, got {value}")
    if "%" in str(cell.number_format) and row.form in ("quantity", "whole"):
        raise _Refused(f"expected {expected}, got a percentage ({value:%}); give the cell the format General")
    whole = float(value).is_integer()
    if row.form == "whole" and not whole:
        raise _Refused(f"expected {expected}, got {value}")
    return int(value) if whole and row.form in ("whole", "text") else value


def _word(text: str, row: InputRow, expected: str) -> str:
    if row.form == "text" or text == NONE or (text == BEST and row.path.endswith(".period")):
        return text
    raise _Refused(f"expected {expected}, got the text {text!r:.80}")


def _expected(row: InputRow) -> str:
    if row.form == "text":
        return f"a value such as {row.value}"
    number = "a whole number" if row.form == "whole" else "a number"
    return f"{number} of {row.unit}" if row.unit else number


def _equal(value: Any, solved: float | int | str) -> bool:
    """Whether a cell holds what was written there, but for the digits that files do not hold."""
    if isinstance(value, str) or isinstance(solved, str):
        return _text(value) == str(solved)
    if value is None or isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isclose(value, solved, rel_tol=ROUNDING, abs_tol=0.0)


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()
