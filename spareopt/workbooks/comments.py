"""What the comments of an instance file say of its fields: there stand the sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import Node

from spareopt.reading import locate
from spareopt.workbooks.inputs import Keys
from spareopt.yaml_source import load_yaml

_COMMENT_LINE = re.compile(r"\s*#\s?(.*)")
_COMMENT_AFTER = re.compile(r"[\s\]},]*?\s#\s*(.*)")


@dataclass(frozen=True)
class Comments:
    """The comment lines at the head of a file, and the comment of each field: at the end of its line, or above it."""

    head: tuple[str, ...]
    fields: dict[Keys, str]


def read_comments(source: str | Path) -> Comments:
    """The comments of a shipped instance or an instance file.  Raises InputError where it can't be read."""
    path = locate(source)
    _, lines = load_yaml(path, str(source))
    texts = path.read_text(encoding="utf-8-sig").splitlines()
    above = _above(texts)
    after = _after(YAML(typ="safe", pure=True).compose("\n".join(texts)), texts)
    fields = {}
    for keys, line in lines.items():
        parts = [above.get(line - 1, ""), after.get(line - 1, "")]
        if keys and any(parts):
            fields[keys] = "; ".join(filter(None, parts))
    head: list[str] = []
    for text in texts:
        match = _COMMENT_LINE.fullmatch(text)
        if match is None:
            break
        head.append(match[1].rstrip())
    return Comments(tuple(head), fields)


def _above(texts: list[str]) -> dict[int, str]:
    """The comment lines that stand directly above a line, by the line's place."""
    found, block = {}, []
    for place, text in enumerate(texts):
        match = _COMMENT_LINE.fullmatch(text)
        if match is not None:
            block.append(match[1].strip())
            continue
        if block and text.strip() and len(block) < place:  # those at the head are of the file as a whole
            found[place] = " ".join(block)
        block = []
    return found


def _after(root: Any, texts: list[str]) -> dict[int, str]:
    """The comment at the end of a line, by the line's place."""
    ends: dict[int, int] = {}
    for node in _scalars(root):
        mark = node.end_mark
        ends[mark.line] = max(ends.get(mark.line, 0), mark.column)
    found = {}
    for place, column in ends.items():
        match = _COMMENT_AFTER.fullmatch(texts[place], column) if place < len(texts) else None
        if match is not None and match[1]:
            found[place] = match[1].rstrip()
    return found


def _scalars(root: Any) -> Iterator[Node]:
    """The keys and values of a YAML text that are no mappings or lists."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node.value, str):
            yield node
        else:
            waiting += [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
