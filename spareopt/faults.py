"""Pydantic's errors as faults that a person can act on: the field, its line, the value, what was expected."""

from __future__ import annotations

import difflib
import typing
from typing import Any

from pydantic import BaseModel, ValidationError

from spareopt.errors import Fault
from spareopt.instance import Instance
from spareopt.record import all_records
from spareopt.yaml_source import Lines, brief, dotted


def line_of(path: tuple[str | int, ...], data: Any, original: Any, lines: Lines) -> int | None:
    """The line of the nearest field of the file at or above ``path``; None where an override changed it."""
    if not lines:
        return None
    keys: tuple[str | int, ...] = ()
    here, there = data, original
    line = lines.get(())
    for part in path:
        number = int(part) if str(part).isascii() and str(part).isdigit() else -1
        if isinstance(here, list) and 0 <= number < len(here):
            key: str | int = number
        elif isinstance(here, dict) and (part in here or number in here):
            key = part if part in here else number
        else:
            break
        here = here[key]
        try:
            there = there[key]
        except (KeyError, IndexError, TypeError):
            return None
        keys = (*keys, key)
        line = lines.get(keys, line)
    return line if here is there or here == there else None  # "is", because a NaN differs from itself


def validation_faults(
    error: ValidationError, data: Any, original: Any, lines: Lines, root: type[BaseModel] = Instance
) -> list[Fault]:
    """Pydantic's errors as faults, one for each field: an error that only follows from another is left out.

    ``root`` is the model that refused the data.
    """
    details = error.errors(include_url=False)
    places = [tuple(detail["loc"]) for detail in details]
    faults: dict[str, Fault] = {}
    for detail, loc in zip(details, places, strict=True):
        if detail["type"] == "too_short" and any(
            len(other) > len(loc) and other[: len(loc)] == loc for other in places
        ):
            continue  # a list counts as empty once its items are refused
        path = _existing(loc, data, keep_last=detail["type"] in ("missing", "extra_forbidden", "invalid_key"))
        message = _message(detail, root)
        field, colon, rest = message.partition(": ")
        model = _model_at(loc, root)
        if colon and model is not None and field in model.model_fields:  # a model's own check names the field at fault
            path, message = (*path, field), rest
        fault = Fault(dotted(path), message, line_of(path, data, original, lines))
        faults.setdefault(fault.field, fault)
    return list(faults.values())


def _existing(loc: tuple[str | int, ...], data: Any, keep_last: bool) -> tuple[str | int, ...]:
    """Pydantic's location without the parts that name types rather than fields."""
    path: tuple[str | int, ...] = ()
    here = data
    for i, part in enumerate(loc):
        if (isinstance(here, dict) and part in here) or (isinstance(here, list) and isinstance(part, int)):
            if isinstance(here, list) and isinstance(part, int) and part >= len(here):
                continue
            here = here[part]  # type: ignore[index]
            path = (*path, part)
        elif keep_last and i == len(loc) - 1:
            path = (*path, part)
    return path


def _message(detail: Any, root: type[BaseModel]) -> str:
    kind, value = detail["type"], detail.get("input")
    if kind == "missing":
        return "required, but missing"
    if kind == "extra_forbidden":
        return _unknown_field(detail["loc"], root)
    if kind == "invalid_key":
        return "expected the name of a field, in letters; see `spareopt schema`"
    text = str(detail["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    for formal, plain in _PLAIN_WORDS:
        text = text.replace(formal, plain)
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        text = "expected fields (key: value)"
    elif kind == "tuple_type":
        text = "expected a list"
    elif kind == "too_short":
        text = "expected at least one item"
    elif kind == "string_pattern_mismatch":
        text = "expected a name of letters, digits, spaces and -_./"
    if isinstance(value, dict | list | BaseModel):
        return text
    return f"{text}, got {brief(value)}"


_PLAIN_WORDS = (
    ("Input should be", "expected"),
    (", unable to parse string as a number", ""),
    ("a valid integer", "a whole number"),
    ("a valid ", "a "),
    ("greater than or equal to", "at least"),
    ("less than or equal to", "at most"),
    ("greater than", "more than"),
    ("String should have", "expected"),
)


def _unknown_field(loc: tuple[str | int, ...], root: type[BaseModel]) -> str:
    model = _model_at(loc[:-1], root)
    here = sorted(model.model_fields) if model is not None else []
    for known, cutoff in ((here, 0.6), (_known_fields(), 0.8)):
        close = difflib.get_close_matches(str(loc[-1]), known, 1, cutoff)
        if close and close[0] != loc[-1]:
            return f"unknown field; did you mean {close[0]!r}?"
    return f"unknown field; expected one of {', '.join(here)}" if here else "unknown field; see `spareopt schema`"


def _model_at(loc: tuple[str | int, ...], root: type[BaseModel]) -> type[BaseModel] | None:
    """The model that a root model has at a location; None where there is none."""
    model: type[BaseModel] | None = root
    for part in loc:
        field = model.model_fields.get(str(part)) if model is not None else None
        if field is not None:
            model = _model_in(field.annotation)  # parts that name no field are places in lists or keys of mappings
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The first model inside an annotation such as ``tuple[Zone, ...] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, typing.get_args(annotation))), None)


def _known_fields() -> list[str]:
    return sorted({name for model in all_records() for name in model.model_fields})
