"""The names of workbooks that can be written."""

from __future__ import annotations

from pathlib import Path

from spareopt.errors import Fault, InputError
from spareopt.folders import check_new_file

SUFFIX = ".xlsx"


def check_workbook_name(path: str | Path) -> None:
    """Check that a path is that of a new workbook.  Raises InputError."""
    if Path(path).suffix.lower() != SUFFIX:
        message = f"expected the name of a new workbook that ends with {SUFFIX}, such as plan{SUFFIX}"
        raise InputError(str(path)[:200] or "''", [Fault("", message)])
    check_new_file(path)
