"""Settings such as PATH=VALUE as they are typed: read from the command line, and written for the next command."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from spareopt.errors import Fault, InputError
from spareopt.yaml_source import parse_value

SCENARIO = "scenario"
"""The path of a change that names a scenario of the instance, applied before all other changes."""
NO_SCENARIO = "none"


def split_setting(option: str, text: str, expected: str) -> tuple[str, str]:
    """The path and the text of the value.  Raises InputError, which names the option, and what is expected."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise InputError(option, [Fault("", f"expected {expected}, got {text.strip()!r}")])
    return path.strip(), value


def read_value(option: str, path: str, text: str) -> Any:
    """A value as in an instance file.  Raises InputError, which names the option and the path."""
    try:
        return parse_value(text)
    except InputError as error:
        raise InputError(option, [Fault(path, fault.message) for fault in error.faults]) from None


def options_of(given: Iterable[tuple[str, str]]) -> list[str]:
    """Paths and values as the options of a command: ``--set PATH=VALUE``, or ``--scenario NAME``."""
    words: list[str] = []
    for path, value in given:
        if path != SCENARIO:
            words += ["--set", f"{path}={value}"]
        elif value != NO_SCENARIO:
            words += ["--scenario", value]
    return words


def setting(path: str, value: str | int | float | None) -> str:
    """A change of an instance as an option of the command line."""
    where = path if shlex.quote(path) == path else f'"{path}"'
    text = "null" if value is None else f'"{value}"' if isinstance(value, str) else f"{value!r}"
    return f"--set {where}={text}"


def command(given: str, changes: Mapping[str, str | int | float | None]) -> str:
    """An instance with its options (as typed) and further changes: a path changed already is given once."""
    parts, kept = shlex.split(given), []
    while parts:
        part = parts.pop(0)
        if part == "--set" and parts and parts[0].partition("=")[0].strip() in changes:
            parts.pop(0)
            continue
        kept.append(part)
    return " ".join([shlex.join(kept), *(setting(path, value) for path, value in changes.items())])
