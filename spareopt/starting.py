"""Start an instance file: a shipped one, fields and comments, without what was asked and noted of that case alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from spareopt.errors import Fault, InputError
from spareopt.fields import Name
from spareopt.overrides import is_multiple
from spareopt.reading import locate
from spareopt.yaml_source import Lines, load_yaml


def new_instance(file: str | Path, template: str, *, everything: bool = False) -> None:
    """Write a copy of an instance, comments and all, under the new file's name.  Raises InputError.

    Left out, unless ``everything`` is asked for: its notes, its horizon, and its scenarios but for those that hold for
    any figures because all they state are multiples, such as half the MTBF.
    """
    path, name = Path(file), Path(file).stem
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError:
        message = f"the name {name!r} can't name an instance; use letters, digits, spaces and -_."
        raise InputError(str(file), [Fault("", message)]) from None
    source = locate(template)
    data, lines = load_yaml(source, template)
    text = source.read_text(encoding="utf-8-sig")
    if not everything:
        text = _without(text, lines, _of_that_case(data))
    text = re.sub(r"(?m)^name: .*$", f'name: "{name}"', text, count=1)
    text = re.sub(r"(?m)^description: .*$", f'description: "TODO: made from {template}"', text, count=1)
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise InputError(str(file), [Fault("", "already exists; choose another name")]) from None
    except OSError as error:
        raise InputError(str(file), [Fault("", f"can't be written: {error.strerror or error}")]) from None


def _of_that_case(data: Mapping[str, Any]) -> set[tuple[str, ...]]:
    """The paths of what a planner with other figures would have to take out."""
    scenarios = data.get("scenarios")
    known = scenarios if isinstance(scenarios, dict) else {}
    own = {name for name, item in known.items() if not _only_multiples(item)}
    whole = {("notes",), ("horizon",)} | ({("scenarios",)} if own == set(known) else set())
    return whole | {("scenarios", name) for name in own}


def _only_multiples(scenario: Any) -> bool:
    """Whether all that a scenario states are multiples of what the instance has."""
    overrides = scenario.get("overrides") if isinstance(scenario, dict) else None
    return isinstance(overrides, dict) and all(map(is_multiple, overrides.values()))


def _without(text: str, lines: Lines, left_out: set[tuple[str, ...]]) -> str:
    """A YAML text without the blocks of some fields: the lines from each to the next field that is not within it."""
    rows = text.splitlines(keepends=True)
    dropped: set[int] = set()
    for path in left_out & lines.keys():
        first = lines[path] - 1
        after = [line - 1 for other, line in lines.items() if line - 1 > first and other[: len(path)] != path]
        last = min(after, default=len(rows))
        while last > first + 1 and re.match(
            r"#|\s*$", rows[last - 1]
        ):  # what stands before the next field belongs to it
            last -= 1
        dropped |= set(range(first, last))
    return "".join(row for number, row in enumerate(rows) if number not in dropped)
