"""How the instance of a plan differs from the file it was read from, as changes that make the one of the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spareopt.errors import InputError
from spareopt.instance import Instance
from spareopt.plan import Plan
from spareopt.reading import read_instance
from spareopt.workbooks.inputs import InputRow, input_rows, typed_value

SCENARIO = "scenario "


@dataclass(frozen=True)
class Origin:
    """Where the instance of a plan comes from.

    ``name`` is what to type to solve again; ``base`` the instance as its file states it, None where that is not known;
    ``changes`` make the instance of the plan of the base; ``scenarios`` are among them.
    """

    name: str
    base: Instance | None
    changes: dict[str, Any]
    scenarios: tuple[str, ...]


def origin_of(plan: Plan, instance: Instance, source: str | Path | None) -> Origin:
    """Find out how the instance of a plan comes from its source.  Raises InputError where that can't be read.

    Without a source, an instance that was not changed is its own base, and one that was is carried whole.
    """
    applied = plan.provenance.applied
    name = instance.name if source is None else str(source)
    base = read_instance(source) if source is not None else None if applied else instance
    texts = [text.removeprefix(SCENARIO).partition(": ")[0] for text in applied if text.startswith(SCENARIO)]
    return Origin(name, base, _changes(base, instance), tuple(dict.fromkeys(texts)))


def _changes(base: Instance | None, instance: Instance) -> dict[str, Any]:
    """Input by input where that suffices, else by whole sections of the instance."""
    now = instance.resolved()
    before = {} if base is None else base.resolved()
    sections = {key: now.get(key) for key in {**before, **now} if before.get(key) != now.get(key)}
    if base is None or not sections:
        return {key: value for key, value in sections.items() if key not in ("schema_version", "name")}
    rows, others = ({row.path: row for row in input_rows(each)} for each in (base, instance))
    changes: dict[str, Any] = {}
    for key, value in sections.items():
        own, theirs = ({path: row for path, row in each.items() if row.keys[0] == key} for each in (rows, others))
        single = {path: typed_value(row, row.value) for path, row in theirs.items() if differs(rows, row)}
        changes |= single if single and own.keys() == theirs.keys() else {key: value}
    try:
        if read_instance(before, overrides=changes).resolved() == now:
            return changes
    except InputError:
        pass  # what can't be said input by input is carried whole
    return sections


def differs(rows: dict[str, InputRow], row: InputRow) -> bool:
    """Whether an input is not among others by their paths, or has another value there."""
    known = rows.get(row.path)
    return known is None or (known.value, known.unit) != (row.value, row.unit)
