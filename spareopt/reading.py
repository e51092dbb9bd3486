"""Read an instance from a shipped name, a file or plain data, and report every fault with its line and field."""

from __future__ import annotations

import copy
import difflib
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from spareopt import instance as models
from spareopt.consistency import consistency_faults
from spareopt.errors import Fault, InputError
from spareopt.instance import SCHEMA_VERSION, Instance
from spareopt.overrides import OverrideError, apply_override

MAX_FILE_BYTES = 10_000_000
MAX_DEPTH = 50
Lines = dict[tuple[str | int, ...], int]


def read_instance(
    source: str | Path | Mapping[str, Any],
    *,
    scenarios: Iterable[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Instance:
    """Read, override and check an instance.

    ``source`` is a shipped name (see ``spareopt instances``), a path, or plain data.  The scenarios named are applied
    first, in order, then ``overrides`` (dotted path: value).  Raises InputError with every fault found.
    """
    if isinstance(source, Mapping):
        label, data, lines = str(source.get("name", "instance")), copy.deepcopy(dict(source)), {}
    else:
        path = locate(source)
        label = str(source)
        data, lines = load_yaml(path, label)
    return _build(label, data, lines, tuple(scenarios), dict(overrides or {}))


def check_scenarios(source: str | Path) -> list[Fault]:
    """The faults of an instance file's scenarios, each applied alone; none when all can be solved."""
    faults = []
    for name in read_instance(source).scenarios:
        try:
            read_instance(source, scenarios=[name])
        except InputError as error:
            faults += [Fault(f"scenarios.{name}: {fault.field}", fault.message, fault.line) for fault in error.faults]
    return faults


def locate(source: str | Path) -> Path:
    """The file of a shipped name or a path; a file wins over a shipped name.  Raises InputError."""
    from spareopt import instances  # noqa: PLC0415

    path = Path(source)
    if path.is_file():
        return path
    if path.is_dir():
        raise InputError(str(source), [Fault("", "is a folder; expected an instance file such as my-cluster.yaml")])
    names = instances.names()
    if str(source) in names:
        return instances.path(str(source))
    close = difflib.get_close_matches(str(source), names, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise InputError(
        str(source), [Fault("", f"no such file or shipped instance; {hint}shipped are {', '.join(names)}")]
    )


def load_yaml(path: Path, label: str) -> tuple[dict[str, Any], Lines]:
    """The plain data of a YAML file and the line of each of its fields.  Raises InputError."""
    try:
        raw = path.read_bytes()
        if len(raw) > MAX_FILE_BYTES:
            raise InputError(label, [Fault("", f"is {len(raw):,} bytes; expected at most {MAX_FILE_BYTES:,}")])
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise InputError(label, [Fault("", f"can't be read: {error.strerror or error}")]) from None
    except UnicodeDecodeError as error:
        raise InputError(
            label, [Fault("", f"is not text in UTF-8 (byte {error.start}); expected a YAML file")]
        ) from None
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(str(part) for part in (error.context, error.problem) if part)
        raise InputError(label, [Fault("", f"is not YAML: {message}", mark.line + 1 if mark else None)]) from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise InputError(label, [Fault("", f"is not YAML: {' '.join(str(error).split())[:200]}")]) from None
    if root is None:
        raise InputError(label, [Fault("", "is empty; start from `spareopt new my-cluster.yaml`")])
    lines: Lines = {}
    faults: list[Fault] = []
    data = _plain(root, (), lines, faults)
    if not isinstance(data, dict):
        faults.append(Fault("", "expected fields such as `name:` at the top level", root.start_mark.line + 1))
    if faults:
        raise InputError(label, faults)
    return typing.cast("dict[str, Any]", data), lines


def _plain(node: Node, path: tuple[str | int, ...], lines: Lines, faults: list[Fault]) -> Any:
    """A composed node as plain data; notes lines, and repeated keys as faults."""
    line = node.start_mark.line + 1
    lines[path] = line
    if len(path) > MAX_DEPTH:
        faults.append(Fault("", f"is nested more than {MAX_DEPTH} deep", line))
        return None
    if isinstance(node, MappingNode):
        return _plain_mapping(node, path, lines, faults)
    if isinstance(node, SequenceNode):
        return [_plain(item, (*path, i), lines, faults) for i, item in enumerate(node.value)]
    assert isinstance(node, ScalarNode)
    return _scalar(node, path, faults)


def _plain_mapping(node: MappingNode, path: tuple[str | int, ...], lines: Lines, faults: list[Fault]) -> Any:
    result: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, ScalarNode):
            faults.append(Fault(_dotted(path), "expected a plain key", line))
            continue
        if key_node.tag.endswith(":merge"):
            faults.append(Fault(_dotted(path), "merge keys (<<) are not supported; write the fields out", line))
            continue
        key = _scalar(key_node, path, faults)
        inner = (*path, key)
        if key in result:
            faults.append(
                Fault(_dotted(inner), f"key given twice (first in line {lines[inner]}); keep one of them", line)
            )
            continue
        result[key] = _plain(value_node, inner, lines, faults)
        lines[inner] = line
    return result


def _scalar(node: ScalarNode, path: tuple[str | int, ...], faults: list[Fault]) -> Any:
    kind = node.tag.rsplit(":", 1)[-1]
    if kind in ("str", "timestamp"):
        return node.value
    if kind == "null":
        return None
    if kind == "bool":
        return node.value.lower() in ("true", "yes", "on")
    try:
        if kind == "int":
            return int(node.value.replace("_", ""), 0) if not node.value.lstrip("+-0").isdigit() else int(node.value)
        if kind == "float":
            return float(
                node.value.replace("_", "").replace(".inf", "inf").replace(".nan", "nan").replace(".NaN", "nan")
            )
    except ValueError:
        return node.value
    faults.append(
        Fault(
            _dotted(path),
            f"tag {node.tag!r} is not supported; expected plain text or a number",
            node.start_mark.line + 1,
        )
    )
    return None


def _build(
    label: str, data: dict[str, Any], lines: Lines, scenarios: tuple[str, ...], overrides: dict[str, Any]
) -> Instance:
    version = data.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        found = "is missing" if version is None else f"is {version!r}"
        raise InputError(
            label,
            [
                Fault(
                    "schema_version",
                    f"{found}; expected {SCHEMA_VERSION}, the version this spareopt reads",
                    lines.get(("schema_version",)),
                )
            ],
        )
    original = copy.deepcopy(data)
    applied = []
    for path, value, text in _all_overrides(label, data, scenarios, overrides):
        try:
            apply_override(data, path, value)
        except OverrideError as error:
            raise InputError(f"{label} ({text})", [error.fault]) from None
        applied.append(text)
    try:
        result = Instance.model_validate(data, context={"currency": data.get("currency", "USD")})
    except ValidationError as error:
        raise InputError(label, _validation_faults(error, data, original, lines)) from None
    except RecursionError:
        raise InputError(label, [Fault("", "is nested too deep")]) from None
    faults = [
        Fault(fault.field, fault.message, _line(tuple(fault.field.split(".")), data, original, lines))
        for fault in consistency_faults(result)
    ]
    if faults:
        raise InputError(label, faults)
    result._applied = tuple(applied)
    return result


def _all_overrides(
    label: str, data: dict[str, Any], scenarios: tuple[str, ...], overrides: dict[str, Any]
) -> Iterable[tuple[str, Any, str]]:
    known = data.get("scenarios")
    known = known if isinstance(known, dict) else {}
    for name in scenarios:
        scenario = known.get(name)
        if not isinstance(scenario, dict) or not isinstance(scenario.get("overrides"), dict):
            names = ", ".join(map(str, known)) or "none"
            raise InputError(label, [Fault("scenarios", f"no scenario {name!r}; the instance has {names}")])
        for path, value in scenario["overrides"].items():
            yield str(path), copy.deepcopy(value), f"scenario {name}: {path}={value}"
    for path, value in overrides.items():
        yield path, copy.deepcopy(value), f"{path}={value}"


def _dotted(path: Iterable[str | int]) -> str:
    return ".".join(str(part) for part in path)


def _line(path: tuple[str | int, ...], data: Any, original: Any, lines: Lines) -> int | None:
    """The line of the nearest field of the file at or above ``path``; None where an override changed it."""
    keys: tuple[str | int, ...] = ()
    here, there = data, original
    line = lines.get(())
    for part in path:
        if isinstance(here, list) and str(part).isdigit() and int(part) < len(here):
            key: str | int = int(part)
        elif isinstance(here, dict) and (part in here or (str(part).isdigit() and int(part) in here)):
            key = part if part in here else int(part)
        else:
            break
        here = here[key]
        try:
            there = there[key]
        except (KeyError, IndexError, TypeError):
            return None
        keys = (*keys, key)
        line = lines.get(keys, line)
    return line if here == there else None


def _validation_faults(error: ValidationError, data: Any, original: Any, lines: Lines) -> list[Fault]:
    faults: dict[tuple[str, str], Fault] = {}
    for detail in error.errors(include_url=False):
        path = _existing(detail["loc"], data, keep_last=detail["type"] in ("missing", "extra_forbidden"))
        fault = Fault(_dotted(path), _message(detail), _line(path, data, original, lines))
        faults.setdefault((fault.field, fault.message), fault)
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


def _message(detail: Any) -> str:
    kind, value = detail["type"], detail.get("input")
    if kind == "missing":
        return "required, but missing"
    if kind == "extra_forbidden":
        key = str(detail["loc"][-1])
        close = difflib.get_close_matches(key, _known_fields(), 1)
        return "unknown field" + (f"; did you mean {close[0]!r}?" if close else "; see `spareopt schema`")
    text = str(detail["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    text = text.replace("Input should be", "expected").replace("a valid ", "a ")
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        text = "expected fields (key: value)"
    elif kind == "tuple_type":
        text = "expected a list"
    elif kind == "string_pattern_mismatch":
        text = "expected a name of letters, digits, spaces and -_./"
    shown = repr(value)
    if isinstance(value, dict | list | BaseModel) or len(shown) > 80:
        return text
    return f"{text}, got {shown}"


def _known_fields() -> list[str]:
    fields: set[str] = set()
    for model in vars(models).values():
        if isinstance(model, type) and issubclass(model, BaseModel) and not isinstance(model, types.GenericAlias):
            fields |= set(model.model_fields)
    return sorted(fields)
