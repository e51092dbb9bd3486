"""Read an instance from a shipped name, a file or plain data, and report every fault with its line and field."""

from __future__ import annotations

import copy
import difflib
import re
import typing
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from spareopt import instance as models
from spareopt.consistency import consistency_faults
from spareopt.errors import Fault, InputError
from spareopt.fields import Name
from spareopt.instance import SCHEMA_VERSION, Instance
from spareopt.overrides import OverrideError, apply_override

MAX_FILE_BYTES = 10_000_000
MAX_DEPTH = 50
MAX_REPEATED = 10_000  # values that YAML aliases repeat; more is an alias bomb, not an instance
MAX_INTEGER = 10**15  # larger ones would lose digits as a float
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
        label, data = str(source.get("name", "instance")), copy.deepcopy(dict(source))
        lines: Lines = {}
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
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except (OSError, ValueError) as error:  # a name too long, or with a NUL
        text = f"{str(source)[:40]!r}..." if len(str(source)) > 40 else repr(str(source))
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(text, [Fault("", f"can't be a file name: {reason}")]) from None
    if is_file:
        return path
    if is_folder:
        label = str(source) or "''"
        raise InputError(label, [Fault("", "is a folder; expected an instance file such as my-cluster.yaml")])
    names = instances.names()
    if str(source) in names:
        shipped: Path = instances.path(str(source))
        return shipped
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
    root = _compose(text, label)
    reader = _PlainReader()
    data = reader.read(root)
    if not isinstance(data, dict) and not reader.faults:
        line = root.start_mark.line + 1
        reader.faults.append(Fault("", "expected fields such as `name: my-cluster` at the top level", line))
    if reader.faults:
        raise InputError(label, reader.faults)
    return typing.cast("dict[str, Any]", data), reader.lines


def _compose(text: str, label: str) -> Node:
    """The node tree of a YAML text.  Raises InputError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a reused anchor or an odd %YAML line is no news to the user
            root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        raise InputError(label, [_syntax_fault(error)]) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        code = ord(error.character) if isinstance(error.character, str) else error.character
        message = f"is not a YAML text: it holds the character U+{code:04X}; is it a binary file, or UTF-16?"
        raise InputError(label, [Fault("", message, line)]) from None
    except RecursionError:
        raise InputError(label, [Fault("", f"is nested too deep; expected at most {MAX_DEPTH} levels")]) from None
    except Exception as error:  # whatever the parser lets slip on odd input is a fault of the input
        message = f"is not YAML: {' '.join(str(error).split())[:200] or type(error).__name__}"
        raise InputError(label, [Fault("", message)]) from None
    if root is None:
        raise InputError(label, [Fault("", "is empty; start from `spareopt new my-cluster.yaml`")])
    return typing.cast("Node", root)


_SYNTAX_HINTS = (
    ("\\t", "use spaces, not tabs, to indent"),
    ("that cannot start any token", "put the text in quotes"),
    ("mapping values are not allowed", "put text that holds ': ' in quotes, and check the indentation"),
    ("expected <block end>", "check the indentation: items of one list or mapping start in the same column"),
    ("could not find expected ':'", "expected `key: value`"),
    ("undefined alias", "define it with & before it is used with *, or put the text in quotes"),
    ("expected a single document", "keep one document; take out the second ---"),
)


def _syntax_fault(error: MarkedYAMLError) -> Fault:
    """What the parser found, where a person should look, and what to do about it."""
    context, problem = str(error.context or ""), str(error.problem or "")
    mark = error.problem_mark or error.context_mark
    message = " ".join(part for part in (context, problem) if part)
    hint = next((hint for text, hint in _SYNTAX_HINTS if text in problem or text in context), "")
    opened = error.context_mark
    if opened is not None and "quoted scalar" in context:
        mark, hint = opened, "close the quote that is opened here"
    elif opened is not None and "simple key" in context:
        mark = opened
    elif opened is not None and "flow" in context and not hint:
        mark, hint = opened, "close the { or [ that is opened here, with commas between its items"
    return Fault("", f"is not YAML: {message}" + (f"; {hint}" if hint else ""), mark.line + 1 if mark else None)


class _TooManyValues(Exception):
    pass


class _PlainReader:
    """Composed nodes as plain data; notes the line of each field, and faults such as repeated keys."""

    def __init__(self) -> None:
        self.lines: Lines = {}
        self.faults: list[Fault] = []
        self._open: set[int] = set()
        self._seen: set[int] = set()
        self._recursive: set[int] = set()
        self._repeated = 0

    def read(self, root: Node) -> Any:
        try:
            return self._value(root, ())
        except _TooManyValues:
            message = f"its aliases (*name) repeat more than {MAX_REPEATED:,} values; write the fields out"
            self.faults = [Fault("", message, root.start_mark.line + 1)]
            return None

    def _value(self, node: Node, path: tuple[str | int, ...]) -> Any:
        line = node.start_mark.line + 1
        self.lines[path] = line
        key = id(node)
        if key in self._open:
            if key not in self._recursive:
                self._recursive.add(key)
                message = f"the alias *{node.anchor} stands inside what it names; write the fields out"
                self.faults.append(Fault(_dotted(path), message, line))
            return None
        if len(path) > MAX_DEPTH:
            self.faults.append(Fault("", f"is nested more than {MAX_DEPTH} deep", line))
            return None
        self._repeated += key in self._seen
        if self._repeated > MAX_REPEATED:
            raise _TooManyValues
        self._seen.add(key)
        if isinstance(node, ScalarNode):
            return _scalar(node, path, self.faults)
        self._open.add(key)
        try:
            if isinstance(node, SequenceNode):
                return [self._value(item, (*path, i)) for i, item in enumerate(node.value)]
            assert isinstance(node, MappingNode)
            return self._mapping(node, path)
        finally:
            self._open.discard(key)

    def _mapping(self, node: MappingNode, path: tuple[str | int, ...]) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                self.faults.append(Fault(_dotted(path), "expected a plain key", line))
                continue
            if str(key_node.tag).endswith(":merge"):
                message = "merge keys (<<) are not supported; write the fields out"
                self.faults.append(Fault(_dotted(path), message, line))
                continue
            key = _scalar(key_node, path, self.faults)
            inner = (*path, key)
            if not isinstance(key, str | int) or isinstance(key, bool):
                self.faults.append(Fault(_dotted(path), f"expected the name of a field, got {_brief(key)}", line))
                continue
            if key in result:
                message = f"key given twice (first in line {self.lines[inner]}); keep one of them"
                self.faults.append(Fault(_dotted(inner), message, line))
                continue
            result[key] = self._value(value_node, inner)
            self.lines[inner] = line
        return result


def _scalar(node: ScalarNode, path: tuple[str | int, ...], faults: list[Fault]) -> Any:
    kind = str(node.tag).rsplit(":", 1)[-1]
    if kind in ("str", "timestamp"):
        return node.value
    if kind == "null":
        return None
    if kind == "bool":
        return node.value.lower() in ("true", "yes", "on")
    text = node.value.replace("_", "")
    try:
        if kind == "int":
            number = int(text) if text.lstrip("+-0").isdigit() else int(text, 0)
            if abs(number) < MAX_INTEGER:
                return number
            faults.append(Fault(_dotted(path), "expected a smaller whole number", node.start_mark.line + 1))
            return None
        if kind == "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
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
    if type(version) is not int or version != SCHEMA_VERSION:
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
    for path, value, text, line in _all_overrides(label, data, lines, scenarios, overrides):
        try:
            apply_override(data, path, value)
        except OverrideError as error:
            fault = Fault(error.fault.field, error.fault.message, line)
            raise InputError(f"{label} ({text})", [fault]) from None
        applied.append(text)
    if applied:
        label = f"{label} (with {'; '.join(applied)})"
    currency = data.get("currency", "USD")
    try:
        result = Instance.model_validate(data, context={"currency": currency if isinstance(currency, str) else "USD"})
    except ValidationError as error:
        raise InputError(label, validation_faults(error, data, original, lines)) from None
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
    label: str, data: dict[str, Any], lines: Lines, scenarios: tuple[str, ...], overrides: dict[str, Any]
) -> Iterable[tuple[str, Any, str, int | None]]:
    """Path, value, description and line of every override, in the order to apply them."""
    known = data.get("scenarios")
    known = known if isinstance(known, dict) else {}
    for name in scenarios:
        scenario = known.get(name)
        if not isinstance(scenario, dict) or not isinstance(scenario.get("overrides"), dict):
            names = ", ".join(map(str, known)) or "none"
            close = difflib.get_close_matches(str(name), map(str, known), 1)
            hint = f"did you mean {close[0]!r}? " if close and close[0] != name else ""
            raise InputError(label, [Fault("scenarios", f"no scenario {name!r}; {hint}the instance has {names}")])
        for path, value in scenario["overrides"].items():
            line = lines.get(("scenarios", name, "overrides", path))
            yield str(path), copy.deepcopy(value), f"scenario {name}: {path}={_plain_text(value)}", line
    for path, value in overrides.items():
        yield path, copy.deepcopy(value), f"{path}={_plain_text(value)}", None


def _dotted(path: Iterable[str | int]) -> str:
    return ".".join(str(part) for part in path)


def _line(path: tuple[str | int, ...], data: Any, original: Any, lines: Lines) -> int | None:
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


def validation_faults(error: ValidationError, data: Any, original: Any, lines: Lines) -> list[Fault]:
    """Pydantic's errors as faults, one for each field: an error that only follows from another is left out."""
    details = error.errors(include_url=False)
    places = [tuple(detail["loc"]) for detail in details]
    faults: dict[str, Fault] = {}
    for detail, loc in zip(details, places, strict=True):
        if detail["type"] == "too_short" and any(
            len(other) > len(loc) and other[: len(loc)] == loc for other in places
        ):
            continue  # a list counts as empty once its items are refused
        path = _existing(loc, data, keep_last=detail["type"] in ("missing", "extra_forbidden", "invalid_key"))
        fault = Fault(_dotted(path), _message(detail), _line(path, data, original, lines))
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


def _message(detail: Any) -> str:
    kind, value = detail["type"], detail.get("input")
    if kind == "missing":
        return "required, but missing"
    if kind == "extra_forbidden":
        return _unknown_field(detail["loc"])
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
    return f"{text}, got {_brief(value)}"


def _plain_text(value: Any) -> str:
    if value is None:
        return "null"
    return value if isinstance(value, str) and len(value) <= 80 else _brief(value)


def _brief(value: Any) -> str:
    """A value as one short text."""
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an int of thousands of digits; a value that holds itself
        return f"a huge {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


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


def _unknown_field(loc: tuple[str | int, ...]) -> str:
    model = _model_at(loc[:-1])
    here = sorted(model.model_fields) if model is not None else []
    for known in (here, _known_fields()):
        close = difflib.get_close_matches(str(loc[-1]), known, 1)
        if close and close[0] != loc[-1]:
            return f"unknown field; did you mean {close[0]!r}?"
    return f"unknown field; expected one of {', '.join(here)}" if here else "unknown field; see `spareopt schema`"


def _model_at(loc: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The model that an instance has at a location; None where there is none."""
    model: type[BaseModel] | None = Instance
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
    return sorted(
        {
            name
            for model in vars(models).values()
            if isinstance(model, type) and issubclass(model, BaseModel)
            for name in model.model_fields
        }
    )


def parse_value(text: str) -> Any:
    """A value written on the command line, read as it would be in an instance file.  Raises InputError."""
    if not text.strip():
        return None
    try:
        root = _compose(text, text)
    except InputError:
        return text  # such as "0.5x: bad"; whatever field it is meant for will say what it expected
    reader = _PlainReader()
    value = reader.read(root)
    if reader.faults:
        raise InputError(text, reader.faults)
    return value


def new_instance(file: str | Path, template: str) -> None:
    """Write a copy of a shipped instance, comments and all, under the new file's name.  Raises InputError."""
    path, name = Path(file), Path(file).stem
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError:
        message = f"the name {name!r} can't name an instance; use letters, digits, spaces and -_."
        raise InputError(str(file), [Fault("", message)]) from None
    source = locate(template)
    load_yaml(source, template)
    text = source.read_text(encoding="utf-8-sig")
    text = re.sub(r"(?m)^name: .*$", f'name: "{name}"', text, count=1)
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise InputError(str(file), [Fault("", "already exists; choose another name")]) from None
    except OSError as error:
        raise InputError(str(file), [Fault("", f"can't be written: {error.strerror or error}")]) from None
