"""A workbook as bytes: the same for the same cells, and with the value of each formula for readers that do not compute.

openpyxl writes formulas without values, and the time of writing into the file.  Both are mended in the parts of the
file: a formula's value goes beside it, times are left out or fixed.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from openpyxl import Workbook

EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The first moment that a file of a zip archive can be of."""
Values = Mapping[str, Mapping[str, float | int | str]]
"""The value of each formula, by the title of its sheet and its cell."""

_FORMULA = re.compile(r'<c r="([A-Z]+[0-9]+)"([^>]*)>(<f>.*?</f>)<v ?(?:/>|></v>)</c>', re.DOTALL)
_TIMES = re.compile(r"<dcterms:(created|modified)[^>]*>[^<]*</dcterms:\1>")


def workbook_bytes(workbook: Workbook, values: Values) -> bytes:
    """The file of a workbook, with the value of each formula."""
    written, result = io.BytesIO(), io.BytesIO()
    workbook.save(written)
    sheets = {f"xl/worksheets/sheet{place}.xml": title for place, title in enumerate(workbook.sheetnames, 1)}
    with zipfile.ZipFile(written) as old, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist(), key=lambda name: (name != "[Content_Types].xml", name)):
            part = old.read(name)
            if name in sheets:
                part = _with_values(part.decode(), values.get(sheets[name], {})).encode()
            elif name == "docProps/core.xml":
                part = _TIMES.sub("", part.decode()).encode()
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, part)
    return result.getvalue()


def _with_values(sheet: str, values: Mapping[str, float | int | str]) -> str:
    """The XML of a sheet with the value of each formula."""
    count = 0

    def filled(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        cell, attributes, formula = match.groups()
        value = values[cell]
        if isinstance(value, str):
            return f'<c r="{cell}"{attributes} t="str">{formula}<v>{escape(value)}</v></c>'
        return f'<c r="{cell}"{attributes}>{formula}<v>{value!r}</v></c>'

    result = _FORMULA.sub(filled, sheet)
    assert count == len(values) == sheet.count("<f>"), "a formula of the sheet was written in an unknown form"
    return result
