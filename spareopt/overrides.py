"""Overrides of an instance: dotted paths into its plain data, new values or multiples of the old ones."""

from __future__ import annotations

import difflib
import re
from typing import Any

from spareopt.errors import Fault

_MULTIPLE = re.compile(r"\s*([0-9.eE+-]+)\s*x\s*")
_LEADING_NUMBER = re.compile(r"\s*([-+]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(.*)", re.DOTALL)
_MTBF_MULTIPLE = {"mtbf": ("rate", True), "rate": ("mtbf", False)}


class OverrideError(ValueError):
    """An override that can't be applied; carries the fault to report."""

    def __init__(self, path: str, message: str) -> None:
        self.fault = Fault(path, message)
        super().__init__(str(self.fault))


def apply_override(data: dict[str, Any], path: str, value: Any) -> None:
    """Set ``path`` (such as ``limits.capital`` or ``zones.main.racks``) of plain instance data in place.

    Items of a list are named by their ``name`` or their place.  A value such as ``"0.5x"`` multiplies the number
    that stands there; ``mtbf`` and ``rate`` are each other's inverse, so either may be multiplied.  ``None`` takes
    an optional field out.  Raises OverrideError where the path leads nowhere.
    """
    keys = [key for key in path.split(".") if key]
    if not keys:
        raise OverrideError(path, "expected a path such as limits.capital")
    node: Any = data
    for depth, key in enumerate(keys[:-1]):
        node = _step(node, key, ".".join(keys[:depth]), path)
    key = keys[-1]
    multiple = _MULTIPLE.fullmatch(value) if isinstance(value, str) else None
    if multiple is not None:
        _multiply(node, key, multiple[1], path)
    elif isinstance(node, list):
        node[_place(node, key, path)] = value
    elif isinstance(node, dict):
        if value is None:
            node.pop(key, None)
        else:
            if key in _MTBF_MULTIPLE:
                node.pop(_MTBF_MULTIPLE[key][0], None)
            node[key] = value
    else:
        raise OverrideError(path, f"{'.'.join(keys[:-1])} holds a single value, not fields")


def _step(node: Any, key: str, done: str, path: str) -> Any:
    if isinstance(node, list):
        return node[_place(node, key, path)]
    if isinstance(node, dict):
        if node.get(key) is None:
            node[key] = {}
        return node[key]
    raise OverrideError(path, f"{done or 'the instance'} holds a single value, not fields")


def _place(items: list[Any], key: str, path: str) -> int:
    names = [str(item.get("name")) if isinstance(item, dict) else "" for item in items]
    if key in names:
        return names.index(key)
    if key.isdigit() and int(key) < len(items):
        return int(key)
    close = difflib.get_close_matches(key, names, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise OverrideError(
        path,
        f"no item {key!r}; expected one of {', '.join(filter(None, names)) or f'0 to {len(items) - 1}'}{hint}",
    )


def _multiply(node: Any, key: str, factor_text: str, path: str) -> None:
    try:
        factor = float(factor_text)
    except ValueError:
        raise OverrideError(path, f"expected a multiple such as 0.5x, got {factor_text}x") from None
    if not 0 < factor < float("inf"):
        raise OverrideError(path, f"expected a multiple above zero such as 0.5x, got {factor_text}x")
    if isinstance(node, dict) and key in _MTBF_MULTIPLE and key not in node:
        other, _ = _MTBF_MULTIPLE[key]
        if other in node:
            key, factor = other, 1.0 / factor
    place: Any = _place(node, key, path) if isinstance(node, list) else key
    old = node[place] if isinstance(node, list) else (node.get(place) if isinstance(node, dict) else None)
    if isinstance(old, bool) or old is None or isinstance(old, dict | list):
        raise OverrideError(path, "expected a number to multiply; the instance has none there")
    node[place] = _scaled(old, factor, path)


def _scaled(old: Any, factor: float, path: str) -> Any:
    if isinstance(old, int | float):
        result = old * factor
        return round(result) if isinstance(old, int) and abs(result - round(result)) < 1e-9 else result
    match = _LEADING_NUMBER.fullmatch(str(old))
    if match is None:
        raise OverrideError(path, f"expected a number to multiply, found {old!r}")
    return f"{float(match[1].replace(',', '').replace('_', '')) * factor!r}{match[2]}"
