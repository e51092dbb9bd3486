"""Overrides of an instance: dotted paths into its plain data, new values or multiples of the old ones."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from spareopt import units
from spareopt.errors import Fault
from spareopt.record import all_records

_MULTIPLE = re.compile(r"\s*([0-9.eE+-]+)\s*x\s*")
_LEADING_NUMBER = re.compile(rf"\s*({units.NUMBER})(.*)", re.DOTALL)
ANY = "*"
_INVERSE = {"mtbf": "rate", "rate": "mtbf"}


class OverrideError(ValueError):
    """An override that can't be applied; carries the fault to report."""

    def __init__(self, path: str, message: str) -> None:
        self.fault = Fault(path, message)
        super().__init__(str(self.fault))


def is_multiple(value: Any) -> bool:
    """Whether a value is a multiple of what stands there, such as ``"0.5x"``."""
    return isinstance(value, str) and _MULTIPLE.fullmatch(value) is not None


def apply_override(data: dict[str, Any], path: str, value: Any) -> None:
    """Set ``path`` (such as ``limits.capital`` or ``zones.main.racks``) of plain instance data in place.

    Items of a list are named by their ``name`` or their place; ``*`` stands for every item of a list or a mapping that
    has the rest of the path.  A value such as ``"0.5x"`` multiplies the number
    that stands there; ``mtbf`` and ``rate`` are each other's inverse, so either may be multiplied.  ``None`` takes
    an optional field or an item of a list out.  Raises OverrideError where the path leads nowhere.
    """
    parts = [part for part in path.split(".") if part]
    if not parts:
        raise OverrideError(path, "expected a path such as limits.capital")
    if ANY in parts:
        numbers = is_multiple(value)
        for field in reversed(fields_of(data, path, numbers=numbers)):  # from the last: an item may be taken out
            apply_override(data, field, value)
        return
    node: Any = data
    done: list[str] = []
    while True:
        key, parts = first_key(node, parts)
        if not parts:
            break
        node = _step(node, key, ".".join(done), path)
        done.append(key)
    multiple = _MULTIPLE.fullmatch(value) if isinstance(value, str) else None
    if multiple is not None:
        _multiply(node, key, multiple[1], path)
    elif isinstance(node, list):
        place = _place(node, key, path)
        if value is None:
            del node[place]
        else:
            node[place] = value
    elif isinstance(node, dict):
        _set(node, key, value)
    else:
        raise OverrideError(path, f"{'.'.join(done)} holds a single value, not fields")


def fields_of(data: Mapping[str, Any], path: str, *, numbers: bool = True) -> tuple[str, ...]:
    """The fields that a path stands for, ``*`` being any item that has the rest of it.  Raises OverrideError.

    ``data`` is plain instance data.  With ``numbers`` only fields that hold a single value count, as a multiple asks
    for, else any that is stated.  A path without ``*`` stands for itself, whether or not anything is there.
    """
    parts = [part for part in path.split(".") if part]
    if ANY not in parts:
        return (path,)
    found = tuple(".".join(field) for field in walk(data, parts, numbers=numbers))
    if not found:
        raise OverrideError(path, "no item has this field, whatever * stands for; check the rest of the path")
    return found


def walk(node: Any, parts: list[str], *, numbers: bool = True) -> Iterator[tuple[str, ...]]:
    """The fields below a node that a path with ``*`` leads to."""
    if not parts:
        if node is not None and not (numbers and isinstance(node, dict | list | bool)):
            yield ()
        return
    for key, item, rest in steps(node, parts):
        for below in walk(item, rest, numbers=numbers):
            yield (key, *below)


def steps(node: Any, parts: list[str]) -> Iterator[tuple[str, Any, list[str]]]:
    """The key, what it leads to and the rest of the path, for each way that the path may go on."""
    if isinstance(node, list):
        names = [str(item.get("name", i)) if isinstance(item, dict) else str(i) for i, item in enumerate(node)]
        items = dict(zip(names, node, strict=True))
    elif isinstance(node, dict):
        items = {str(key): item for key, item in node.items()}
    else:
        return
    if parts[0] == ANY:
        yield from ((key, item, parts[1:]) for key, item in items.items())
        return
    key, rest = first_key(node, parts)
    if key in items:
        yield key, items[key], rest
    elif key == "mtbf" and "rate" in items:  # each other's inverse: an override of one changes the other
        yield key, items["rate"], rest
    elif key == "rate" and "mtbf" in items:
        yield key, items["mtbf"], rest


def meeting(first: str, second: str) -> bool:
    """Whether two paths may lead to the same field, as ``failures.*.mtbf`` and ``failures.tray.mtbf`` do."""
    one, other = first.split("."), second.split(".")
    return len(one) == len(other) and all(a == b or ANY in (a, b) for a, b in zip(one, other, strict=True))


def value_at(data: dict[str, Any], path: str) -> Any:
    """What stands at a path of plain instance data; None where nothing does, or not the same at all that ``*`` means.

    An mtbf that is stated as a rate, and the other way round, is given as its inverse.
    """
    if ANY in path.split("."):
        try:
            values = [value_at(data, field) for field in fields_of(data, path, numbers=False)]
        except OverrideError:
            return None
        return values[0] if all(value == values[0] for value in values) else None
    node: Any = data
    parts = [part for part in path.split(".") if part]
    while parts:
        key, parts = first_key(node, parts)
        if isinstance(node, list):
            try:
                node = node[_place(node, key, path)]
            except OverrideError:
                return None
        elif isinstance(node, dict):
            place = _mapping_key(node, key)
            if not parts and node.get(place) is None and node.get(_INVERSE.get(key, "")) is not None:
                return _inverted(node[_INVERSE[key]])
            node = node.get(place)
        else:
            return None
    return node


def canonical(data: Mapping[str, Any], path: str) -> tuple[str, ...]:
    """The path under one name for each input: items of lists by their place, a rate as its inverse, the mtbf."""
    node: Any = data
    parts = [part for part in path.split(".") if part]
    done: list[str] = []
    while parts:
        key, parts = first_key(node, parts)
        if isinstance(node, list):
            try:
                place = _place(node, key, path)
            except OverrideError:
                return (*done, key, *parts)
            key, node = str(place), node[place]
        else:
            node = node.get(_mapping_key(node, key)) if isinstance(node, dict) else None
        done.append(key)
    return (*done[:-1], "mtbf" if done[-1] == "rate" else done[-1]) if done else ()


def _inverted(text: Any) -> str | None:
    """The mtbf of a rate or the rate of an mtbf, both in canonical units."""
    match = _LEADING_NUMBER.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    return f"{1.0 / units.number_of(match[1])!r} {'h' if match[2].strip() == 'per h' else 'per h'}"


def first_key(node: Any, parts: list[str]) -> tuple[str, list[str]]:
    """The key that the path begins with, and the rest; names may hold dots themselves, the longest match wins."""
    known: set[str] = set()
    if isinstance(node, list):
        known = {str(item.get("name")) for item in node if isinstance(item, dict)}
    elif isinstance(node, dict):
        known = {str(key) for key in node}
    for count in range(len(parts), 1, -1):
        if ".".join(parts[:count]) in known:
            return ".".join(parts[:count]), parts[count:]
    return parts[0], parts[1:]


def _set(node: dict[Any, Any], key: str, value: Any) -> None:
    place = _mapping_key(node, key)
    if value is not None:
        if key in _INVERSE:
            node.pop(_INVERSE[key], None)
        node[place] = value
    elif place in node:
        del node[place]
    elif key not in _fields_with_a_default():
        node[place] = None  # harmless where the field may be left out; elsewhere validation reports the unknown field


def _mapping_key(node: dict[Any, Any], key: str) -> Any:
    """The key as the mapping has it: YAML reads ``64: 1.38`` with a number as its key."""
    return next((known for known in node if str(known) == key), key)


@cache
def _fields_with_a_default() -> frozenset[str]:
    return frozenset(
        name
        for model in all_records()
        for name, field in model.model_fields.items()
        if not field.is_required() and field.get_default(call_default_factory=True, validated_data={}) is not None
    )


def _step(node: Any, key: str, done: str, path: str) -> Any:
    if isinstance(node, list):
        return node[_place(node, key, path)]
    if isinstance(node, dict):
        place = _mapping_key(node, key)
        if node.get(place) is None:
            node[place] = {}
        return node[place]
    raise OverrideError(path, f"{done or 'the instance'} holds a single value, not fields")


def _place(items: list[Any], key: str, path: str) -> int:
    names = [str(item.get("name")) if isinstance(item, dict) else "" for item in items]
    if key in names:
        return names.index(key)
    if key.isascii() and key.isdigit() and int(key) < len(items):
        return int(key)
    close = difflib.get_close_matches(key, names, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    known = ", ".join(filter(None, names)) or (f"0 to {len(items) - 1}" if items else "")
    expected = f"expected one of {known}" if known else "the list is empty"
    raise OverrideError(path, f"no item {key!r}; {expected}{hint}")


def _multiply(node: Any, key: str, factor_text: str, path: str) -> None:
    try:
        factor = float(factor_text)
    except ValueError:
        raise OverrideError(path, f"expected a multiple such as 0.5x, got {factor_text}x") from None
    if not 0 < factor < float("inf"):
        raise OverrideError(path, f"expected a multiple above zero such as 0.5x, got {factor_text}x")
    place: Any = key
    old = None
    if isinstance(node, list):
        place = _place(node, key, path)
        old = node[place]
    elif isinstance(node, dict):
        place = _mapping_key(node, key)
        if node.get(place) is None and node.get(_INVERSE.get(key, "")) is not None:
            place, factor = _INVERSE[key], 1.0 / factor
        old = node.get(place)
    if isinstance(old, bool) or old is None or isinstance(old, dict | list):
        raise OverrideError(path, "expected a number to multiply; the instance has none there")
    node[place] = _scaled(old, factor, path)


def _scaled(old: Any, factor: float, path: str) -> Any:
    rest = None
    number = old
    if isinstance(old, str):
        match = _LEADING_NUMBER.fullmatch(old)
        if match is None:
            raise OverrideError(path, f"expected a number to multiply, found {old!r}")
        number, rest = units.number_of(match[1]), match[2]
    try:
        result = number * factor
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise OverrideError(path, f"{factor:g} times what stands there is no finite number")
    if rest is not None:
        return f"{result!r}{rest}"
    return round(result) if isinstance(old, int) and abs(result - round(result)) < 1e-9 else result
