"""Published schemas are kept: what they promise still holds, and documents written earlier still read back."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

import spareopt
from docs import data_reference
from spareopt import cli
from spareopt.record import Result
from spareopt.schemas import HOMES, INPUTS, KINDS, model_of, schema_of
from tests.schemas import DOCUMENTS, SCHEMAS, breaks, broken, documents, published, shape, version_of


@pytest.mark.parametrize("kind", KINDS)
def test_a_published_schema_still_holds(kind: str) -> None:
    """Proves that no field was removed, renamed, retyped or made required within a version, and no value taken away.

    Where this fails: a change for good needs a new version of the document.  A kind or a field that is new is added by
    ``python -m tests.schemas``.
    """
    file = published(kind)
    assert file.exists(), f"{file.name} is not published yet: python -m tests.schemas"
    assert broken(kind, json.loads(file.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("file", sorted(DOCUMENTS.glob("*.json")), ids=lambda file: file.stem)
def test_a_document_written_earlier_still_reads_back(file: Any) -> None:
    """Proves that documents made once are read by the program of today with every value they have."""
    kind, _, version = file.stem.rpartition("-")
    if int(version) != version_of(schema_of(kind)):
        pytest.skip("of an earlier version")
    data = json.loads(file.read_text(encoding="utf-8"))
    if kind == "instance":
        again = spareopt.read_instance(data).resolved()
    else:
        again = json.loads(model_of(kind).model_validate_json(file.read_text(encoding="utf-8")).model_dump_json())
    assert missing(data, again) == []


def missing(old: Any, new: Any, path: str = "") -> list[str]:
    """Where a document lacks or changes what an earlier one has."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [text for key in old for text in missing(old[key], new.get(key), f"{path}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [text for i, (a, b) in enumerate(zip(old, new, strict=True)) for text in missing(a, b, f"{path}[{i}]")]
    return [] if old == new else [f"{path}: {old!r} became {new!r}"]


def test_every_kind_has_a_schema_and_a_document() -> None:
    """Proves that no kind of document is without a promise: every Result that is written is a kind, or part of one."""
    assert set(documents()) == set(KINDS)
    assert {file.name for file in SCHEMAS.iterdir()} >= {published(kind).name for kind in KINDS}
    assert {file.name for file in DOCUMENTS.iterdir()} >= {published(kind).name for kind in KINDS}
    models = [model_of(kind) for kind in KINDS]
    # of a RobustComparison; of a StagedPlan; of what `explain --json` prints
    parts = {"RobustPlan", "StagedScore", "WhyNot", "NearOptimal"}
    alone = {model.__name__ for model in Result.__subclasses__() if model.__module__.startswith("spareopt.")} - parts
    assert alone <= {model.__name__ for model in models}


def test_the_command_prints_each_schema() -> None:
    """Proves that `spareopt schema KIND` prints it, that of an instance when left out, and refuses other kinds."""
    for kind in HOMES:
        result = CliRunner().invoke(cli.main, ["schema", kind])
        assert result.exit_code == 0 and json.loads(result.stdout) == schema_of(kind)
    assert json.loads(CliRunner().invoke(cli.main, ["schema"]).stdout) == schema_of("instance")
    wrong = CliRunner().invoke(cli.main, ["schema", "plans"])
    assert (
        wrong.exit_code == 2
        and "unknown kind 'plans'; expected one of instance, decisions, overlay, plan" in wrong.stderr
    )


def test_a_written_schema_requires_all_that_is_written() -> None:
    """Proves that a reader may count on every field of a plan: fields with a default are written, too."""
    schema = schema_of("plan")
    assert set(schema["required"]) == set(json.loads((DOCUMENTS / "plan-1.json").read_text()))
    assert set(schema_of("plan", "read")["required"]) < set(schema["required"])
    assert set(INPUTS) < set(KINDS)


# --- the judge itself

OLD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["a", "b"], "type": "string"},
        "value": {"anyOf": [{"type": "number", "minimum": 0}, {"type": "null"}]},
        "name": {"type": "string", "maxLength": 8},
        "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
        "shares": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["kind", "value"],
    "$defs": {
        "Row": {
            "type": "object",
            "properties": {"title": {"type": "integer"}, "below": {"type": "array", "items": {"$ref": "#/$defs/Row"}}},
            "required": ["title"],
        }
    },
}


def edited(edit: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    schema = copy.deepcopy(OLD)
    edit(schema)
    return schema


EDITS: list[tuple[str, Callable[[dict[str, Any]], object], bool, bool]] = [
    ("nothing", lambda s: None, True, True),
    ("a new field", lambda s: s["properties"].update(more={"type": "string"}), True, True),
    ("a field removed", lambda s: s["properties"].pop("name"), False, False),
    ("a field renamed", lambda s: s["properties"].update(label=s["properties"].pop("name")), False, False),
    ("a field retyped", lambda s: s["properties"].update(name={"type": "integer"}), False, False),
    ("a field that may be null", lambda s: s["properties"].update(
        name={"anyOf": [{"type": "string", "maxLength": 8}, {"type": "null"}]}), False, True),
    ("the same in other words", lambda s: s["properties"]["name"].update(type=["string", "null"]), False, True),
    ("a field that is never null", lambda s: s["properties"].update(
        value={"type": "number", "minimum": 0}), True, False),
    ("a whole number for any", lambda s: s["properties"]["value"]["anyOf"][0].update(type="integer"), True, False),
    ("a new value", lambda s: s["properties"]["kind"]["enum"].append("c"), True, True),
    ("a value gone", lambda s: s["properties"]["kind"]["enum"].remove("b"), False, False),
    ("any value", lambda s: s["properties"]["kind"].pop("enum"), False, True),
    ("a list of values", lambda s: s["properties"]["name"].update(enum=["x"]), True, False),
    ("required now", lambda s: s["required"].append("name"), True, False),
    ("optional now", lambda s: s["required"].remove("kind"), False, True),
    ("a new field that is required", lambda s: (s["properties"].update(more={"type": "null"}),
                                                s["required"].append("more")), True, False),
    ("a tighter limit", lambda s: s["properties"]["name"].update(maxLength=4), True, False),
    ("a wider limit", lambda s: s["properties"]["name"].update(maxLength=9), True, True),
    ("a new limit", lambda s: s["properties"]["value"]["anyOf"][0].update(maximum=9), True, False),
    ("a pattern", lambda s: s["properties"]["name"].update(pattern="^a"), True, False),
    ("deep: a field removed", lambda s: s["$defs"]["Row"]["properties"].pop("title"), False, False),
    ("deep: retyped", lambda s: s["$defs"]["Row"]["properties"].update(title={"type": "string"}), False, False),
    ("deep: a share as text", lambda s: s["properties"]["shares"].update(additionalProperties={"type": "string"}),
     False, False),
    ("a list for an object", lambda s: s["properties"].update(shares={"type": "array"}), False, False),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "written", "read"), [e[1:] for e in EDITS], ids=[e[0] for e in EDITS])
def test_what_breaks_is_told_and_what_does_not_is_allowed(
    edit: Callable[[dict[str, Any]], object], written: bool, read: bool
) -> None:
    """Proves that the judge of these tests knows each way to break a reader or a writer, and forbids nothing else."""
    new = edited(edit)
    assert (not list(breaks(OLD, new, written=True)), not list(breaks(OLD, new, written=False))) == (written, read)


def test_words_are_no_promise_but_fields_of_such_names_are() -> None:
    """Proves that titles and descriptions are left out of what is published, and a field called title is not."""
    schema = {"title": "T", "properties": {"title": {"type": "string", "title": "Title", "default": ""}}}
    assert shape(schema) == {"properties": {"title": {"type": "string"}}}


def test_the_data_reference_is_fresh() -> None:
    """Proves that docs/reference/data.md is what the schemas of today make, with words for each field that it lists.

    Where this fails: ``python -m docs.data_reference``; a field without words gets a docstring.
    """
    text = data_reference.PAGE.read_text(encoding="utf-8")
    assert text == data_reference.page()
    assert [line for line in text.splitlines() if line.endswith("|  |")] == []
    assert set(data_reference.EXPLAINED) == set(KINDS)
