"""What is known of the source of each input: its comment in the instance file, or what changed it."""

from __future__ import annotations

from spareopt.overrides import meeting
from spareopt.workbooks.comments import Comments
from spareopt.workbooks.inputs import InputRow, input_rows
from spareopt.workbooks.origin import Origin, differs


def input_notes(rows: list[InputRow], origin: Origin, comments: Comments, applied: tuple[str, ...]) -> dict[str, str]:
    """The source of each input by its path, as far as it is known; ``applied`` is what was changed in the instance."""
    said = {tuple(map(str, keys)): text for keys, text in comments.fields.items()}
    base = {} if origin.base is None else {row.path: row for row in input_rows(origin.base)}
    notes = {}
    for row in rows:
        if differs(base, row):
            notes[row.path] = _changed_by(row.path, applied, None if origin.base is None else origin.name)
        else:
            notes[row.path] = said.get(tuple(map(str, base[row.path].keys)), "")
    return {path: note for path, note in notes.items() if note}


def _changed_by(path: str, applied: tuple[str, ...], source: str | None) -> str:
    """The last change that reaches an input."""
    for text in reversed(applied):
        field = text.rpartition(": ")[2] if text.startswith(("scenario ", "overlay ")) else text
        field = field.partition("=")[0]
        if meeting(field, path) or path.startswith(f"{field}."):
            return f"changed by {text}"
    return "" if source is None else f"not as in {source} now"
