"""A spreadsheet program of its own, as small as the formulas of our workbooks: computes every cell from the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from openpyxl import Workbook
from openpyxl.utils import range_boundaries

TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.?\d*(?:[eE][-+]?\d+)?)|(?P<text>"(?:[^"]|"")*")|(?P<function>[A-Z]+)\(|
    (?P<cell>(?:[A-Za-z]+!)?\$?[A-Z]+\$?\d+(?::\$?[A-Z]+\$?\d+)?)|(?P<sign><>|<=|>=|[-+*/^=<>(),]))""",
    re.VERBOSE,
)


class ValueFault(Exception):
    """What a spreadsheet shows as #VALUE!: arithmetic on a text."""


class Spreadsheet:
    """The values of a workbook's cells, computed as they are asked for."""

    def __init__(self, workbook: Workbook) -> None:
        self.workbook = workbook
        self.known: dict[tuple[str, str], Any] = {}

    def value(self, sheet: str, cell: str) -> Any:
        """The value of a cell; None where it is empty."""
        key = (sheet, cell)
        if key not in self.known:
            found = self.workbook[sheet][cell]
            self.known[key] = _Formula(self, sheet, found.value[1:]).result if found.data_type == "f" else found.value
        return self.known[key]

    def values(self, sheet: str, cells: str) -> list[Any]:
        """The values of a range of cells."""
        left, top, right, bottom = range_boundaries(cells)
        return [
            self.value(sheet, self.workbook[sheet].cell(row, column).coordinate)
            for row in range(top, bottom + 1)
            for column in range(left, right + 1)
        ]

    def formulas(self) -> Iterator[tuple[str, str]]:
        """Sheet and cell of every formula."""
        for sheet in self.workbook:
            for row in sheet.iter_rows():
                yield from ((sheet.title, cell.coordinate) for cell in row if cell.data_type == "f")


class _Formula:
    """A formula by recursive descent: comparison < sum < product < power < sign < atom."""

    def __init__(self, book: Spreadsheet, sheet: str, text: str) -> None:
        self.book, self.sheet = book, sheet
        self.tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text):
            match = TOKEN.match(text, place)
            assert match and match.lastgroup, f"unknown formula {text!r} at {text[place:]!r}"
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            place = match.end()
        self.result = self._comparison()
        assert not self.tokens, text

    def _next(self, *signs: str) -> str | None:
        if self.tokens and self.tokens[0][0] == "sign" and self.tokens[0][1] in signs:
            return self.tokens.pop(0)[1]
        return None

    def _comparison(self) -> Any:
        left = self._sum()
        while sign := self._next("=", "<>", "<", ">", "<=", ">="):
            right = self._sum()
            if isinstance(left, list):
                left = [_compare(sign, a, b) for a, b in zip(left, right, strict=True)]
            else:
                left = _compare(sign, left, right)
        return left

    def _sum(self) -> Any:
        left = self._product()
        while sign := self._next("+", "-"):
            right = self._product()
            left = _number(left) + _number(right) if sign == "+" else _number(left) - _number(right)
        return left

    def _product(self) -> Any:
        left = self._power()
        while sign := self._next("*", "/"):
            right = self._power()
            if isinstance(left, list):
                left = [_number(item) * _number(right) for item in left]
            else:
                left = _number(left) * _number(right) if sign == "*" else _number(left) / _number(right)
        return left

    def _power(self) -> Any:
        left = self._atom()
        while self._next("^"):
            left = _number(left) ** _number(self._atom())
        return left

    def _atom(self) -> Any:
        if self._next("-"):
            return -_number(self._power())
        kind, text = self.tokens.pop(0)
        if kind == "number":
            return float(text)
        if kind == "text":
            return text[1:-1].replace('""', '"')
        if kind == "cell":
            sheet, _, cell = text.rpartition("!")
            cell, sheet = cell.replace("$", ""), sheet or self.sheet
            return self.book.values(sheet, cell) if ":" in cell else self.book.value(sheet, cell)
        if kind == "function":
            items: list[Any] = []
            while True:
                items.append(self._argument())
                if self._next(")"):
                    return _call(text, items)
                assert self._next(",")
        assert text == "("
        inner = self._comparison()
        assert self._next(")")
        return inner

    def _argument(self) -> Any:
        """An argument; a fault within is one of the argument, as IF and IFERROR need it."""
        before = list(self.tokens)
        try:
            return self._comparison()
        except ValueFault as fault:
            depth, self.tokens = 0, before
            while depth or self.tokens[0] not in (("sign", ","), ("sign", ")")):
                kind, text = self.tokens.pop(0)
                depth += (kind == "function" or text == "(") - (kind == "sign" and text == ")")
            return fault


def _compare(sign: str, left: Any, right: Any) -> bool:
    left, right = ("" if side is None else side for side in (left, right))
    if sign in ("=", "<>"):
        same = left.lower() == right.lower() if isinstance(left, str) and isinstance(right, str) else left == right
        return same if sign == "=" else not same
    left, right = _number(left), _number(right)
    return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[sign]


def _number(value: Any) -> float:
    if isinstance(value, ValueFault):
        raise value
    if isinstance(value, str):
        raise ValueFault(value)
    return 0.0 if value is None else float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _call(name: str, items: list[Any]) -> Any:
    if name == "IFERROR":
        return items[1] if isinstance(items[0], ValueFault) else items[0]
    if name == "ISNUMBER":
        return _is_number(items[0])
    if name == "IF":
        if isinstance(items[0], ValueFault):
            raise items[0]
        taken = items[1] if items[0] else items[2]
        if isinstance(taken, ValueFault):
            raise taken
        return taken
    flat = [value for item in items for value in (item if isinstance(item, list) else [item])]
    if fault := next((value for value in flat if isinstance(value, ValueFault)), None):
        raise fault
    if name == "AND":
        return all(flat)
    if name == "ABS":
        return abs(_number(items[0]))
    if name == "COUNTIF":
        return sum(value == items[1] for value in items[0])
    if name == "SUMPRODUCT":
        return sum(map(_number, flat))
    numbers = [value for value in flat if _is_number(value)]
    return {"SUM": sum, "MAX": max, "COUNT": len}[name](numbers)
