"""YAML texts as plain data with the line of every field; every fault of the text in words."""

from __future__ import annotations

import re
import typing
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from spareopt.errors import Fault, InputError

MAX_FILE_BYTES = 10_000_000
MAX_DEPTH = 50
MAX_REPEATED = 10_000  # values that YAML aliases repeat; more is an alias bomb, not an instance
MAX_INTEGER = 10**15  # larger ones would lose digits as a float
Lines = dict[tuple[str | int, ...], int]


def load_yaml(
    path: Path, label: str, empty: str = "start from `spareopt new my-cluster.yaml`"
) -> tuple[dict[str, Any], Lines]:
    """The plain data of a YAML file and the line of each of its fields.

    ``empty`` says what to do about an empty one.  Raises InputError.
    """
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
    root = _compose(text, label, empty)
    reader = _PlainReader()
    data = reader.read(root)
    if not isinstance(data, dict) and not reader.faults:
        line = root.start_mark.line + 1
        reader.faults.append(Fault("", "expected fields such as `name: my-cluster` at the top level", line))
    if reader.faults:
        raise InputError(label, reader.faults)
    return typing.cast("dict[str, Any]", data), reader.lines


def _compose(text: str, label: str, empty: str = "") -> Node:
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
        raise InputError(label, [Fault("", f"is empty; {empty}")])
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


def _split_number(pairs: Sequence[tuple[Node, Node]]) -> list[str]:
    """The pieces of a number such as ``40,000 h`` that stands unquoted in ``{}``, where a comma ends a field.

    What follows the comma is then a key of three digits without a value.  Empty where the first field has no such.
    """
    first, rest = pairs[0][1], pairs[1:]
    if not isinstance(first, ScalarNode) or not re.fullmatch(r"[-+]?\d{1,3}", str(first.value)):
        return []
    pieces = [str(first.value)]
    for key, value in rest:
        bare = isinstance(value, ScalarNode) and value.value == "" and value.start_mark.index == value.end_mark.index
        if not bare or not isinstance(key, ScalarNode) or not re.match(r"\d{3}(?!\d)", str(key.value)):
            break
        pieces.append(str(key.value))
    return pieces if len(pieces) > 1 else []


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
                self.faults.append(Fault(dotted(path), message, line))
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
        for place, (key_node, value_node) in enumerate(node.value):
            line = key_node.start_mark.line + 1
            if node.flow_style and (pieces := _split_number(node.value[place:])):
                whole = ",".join(pieces)
                message = f'quote it: "{whole}"; YAML splits at commas, and reads {" and ".join(map(repr, pieces))}'
                self.faults.append(Fault(dotted((*path, key_node.value)), message, line))
                return result
            if not isinstance(key_node, ScalarNode):
                self.faults.append(Fault(dotted(path), "expected a plain key", line))
                continue
            if str(key_node.tag).endswith(":merge"):
                message = "merge keys (<<) are not supported; write the fields out"
                self.faults.append(Fault(dotted(path), message, line))
                continue
            key = _scalar(key_node, path, self.faults)
            inner = (*path, key)
            if not isinstance(key, str | int) or isinstance(key, bool):
                self.faults.append(Fault(dotted(path), f"expected the name of a field, got {brief(key)}", line))
                continue
            if key in result:
                message = f"key given twice (first in line {self.lines[inner]}); keep one of them"
                self.faults.append(Fault(dotted(inner), message, line))
                continue
            result[key] = self._value(value_node, inner)
            self.lines[inner] = line
        return result


def _scalar(node: ScalarNode, path: tuple[str | int, ...], faults: list[Fault]) -> Any:
    kind = str(node.tag).rsplit(":", 1)[-1]
    if kind in ("str", "timestamp"):
        try:  # JSON writes what is beyond 16 bits, such as emoji, as two halves
            return node.value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            message = f"half a character in {node.value[:60]!a}; write the character itself"
            faults.append(Fault(dotted(path), message, node.start_mark.line + 1))
            return None
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
            faults.append(Fault(dotted(path), "expected a smaller whole number", node.start_mark.line + 1))
            return None
        if kind == "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        return node.value
    faults.append(
        Fault(
            dotted(path),
            f"tag {node.tag!r} is not supported; expected plain text or a number",
            node.start_mark.line + 1,
        )
    )
    return None


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


def dotted(path: Iterable[str | int]) -> str:
    """A path of keys and places as people write it."""
    return ".".join(str(part) for part in path)


def brief(value: Any) -> str:
    """A value as one short text."""
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an int of thousands of digits; a value that holds itself
        return f"a huge {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def flow(value: Any) -> str:
    """A value as it is written in YAML's flow style, such as ``{share: 15 %, multiple: 5}``."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return value if isinstance(value, str) else brief(value)


LONGEST = 160
"""Letters of a value in what a plan or an error is said to be of."""


def value_text(value: Any) -> str:
    """A value of a change of an instance as one text that is not too long."""
    if value is None:
        return "null"
    if isinstance(value, dict | list):
        try:
            text = flow(value)
        except RecursionError:  # a value that holds itself
            return brief(value)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return value if isinstance(value, str) and len(value) <= 80 else brief(value)
