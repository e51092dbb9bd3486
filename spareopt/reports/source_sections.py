"""Sections of a report on what it rests on: assumptions and sources, and what makes it again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from spareopt.glossary import WORDS
from spareopt.instance import Instance
from spareopt.plan import PROVEN, Plan
from spareopt.reports import findings
from spareopt.reports.parts import Missing, Section, Table
from spareopt.reports.sources import Source, solve_again, solve_options
from spareopt.wording import capitalised, listed, number_text
from spareopt.workbooks.inputs import InputRow, input_rows
from spareopt.workbooks.notes import input_notes
from spareopt.workbooks.origin import origin_of

TEXTS = frozenset({0, 1, 2})
"""Columns of tables that hold nothing but texts."""


def assumptions_section(plan: Plan, instance: Instance, source: Source) -> Section:
    """What was assumed, where each input comes from, what was changed, what is exact and what is not."""
    tables, missing = [], []
    applied = plan.provenance.applied
    if applied:
        tables.append(Table("What was changed in the instance", ("by", "change"), tuple(map(_change, applied)), TEXTS))
    methods: dict[str, list[str]] = {}
    for quantity, method in plan.evaluation.method.items():
        methods.setdefault(method, []).append({"cett": "CETT"}.get(quantity, quantity.replace("_", " ")))
    rows = tuple((listed(quantities), capitalised(method)) for method, quantities in methods.items())
    tables.append(Table("What is exact and what is approximated", ("quantities", "method"), rows, TEXTS))
    if instance.notes:
        notes = tuple((str(place), _note(note)) for place, note in enumerate(instance.notes, 1))
        tables.append(Table("Assumptions and notes of the instance", ("", "note"), notes, TEXTS))
    inputs = input_rows(instance)
    told = input_notes(inputs, origin_of(plan, instance, source.name), source.comments, applied)
    stated = [row for row in inputs if not row.default]
    with_source = tuple((row.path, _value(row), told[row.path]) for row in inputs if row.path in told)
    if with_source:
        tables.append(Table("Inputs and their sources", ("input", "value", "source"), with_source, TEXTS))
    if rest := tuple((row.path, _value(row)) for row in stated if row.path not in told):
        tables.append(Table("Inputs for which no source is told", ("input", "value"), rest, TEXTS))
    if head := _paragraphs(source.comments.head):
        lines = tuple((str(place), text) for place, text in enumerate(head, 1))
        tables.append(Table("Head of the instance file", ("", "text"), lines, TEXTS))
    if source.name is None:
        why = "the instance file is not known, so the comments that hold its sources are not shown"
        missing.append(Missing(f"Sources of the inputs: {why}", "spareopt report RUN --instance FILE"))
    return Section(
        "assumptions",
        "Assumptions and sources",
        findings.method_finding(plan.evaluation),
        sentences=tuple(filter(None, [instance.description.rstrip(".") + "." if instance.description else ""])),
        tables=tuple(tables),
        missing=tuple(missing),
    )


_NAMED = re.compile(r"^(\S.{0,30}?)\s{2,}(?=\S)")
"""The name of an item of a list, and the spaces after it."""


def _paragraphs(lines: Iterable[str]) -> list[str]:
    """Lines of text, those between empty ones together, but each item of an indented list by itself.

    An item goes on in lines that are indented further.
    """
    found: list[str] = []
    begins, indent = True, 0
    for line in lines:
        text, deep = line.strip(), len(line) - len(line.lstrip())
        if not text:
            begins = True
        elif begins or (deep and (not indent or deep <= indent)):
            found.append(_NAMED.sub(r"\1: ", text) if deep else text)
            begins, indent = False, deep
        else:
            found[-1] += f" {text}"
    return [" ".join(text.split()) for text in found]


def _note(note: str) -> str:
    return capitalised(note.removeprefix("Assumption:").strip())


def _value(row: InputRow) -> str:
    value = (
        number_text(row.value)
        if isinstance(row.value, float)
        else f"{row.value:,}"
        if isinstance(row.value, int)
        else row.value
    )
    unit = "years" if row.unit == "year" and row.value != 1 else row.unit
    return f"{value} {unit}".strip()


def _change(text: str) -> tuple[str, str]:
    """Who changed an input, and how."""
    who, colon, change = text.partition(": ")
    named = bool(colon) and who.startswith(("scenario ", "overlay "))
    return (who, change) if named else ("setting", text)


def words_section() -> Section:
    """What the words of a report mean, for those it is forwarded to."""
    table = Table("Words of this report", ("word", "meaning"), WORDS, TEXTS)
    return Section("words", "Words", "What the words of this report mean", tables=(table,))


def provenance_section(plan: Plan, source: Source, folder: str, files: tuple[tuple[str, str], ...]) -> Section:
    """What the report was made from and how to make it again; the files beside it."""
    p = plan.provenance
    rows = [
        ("instance", p.instance),
        ("input hash (SHA-256)", p.input_hash),
        ("seed", str(p.seed)),
        *((name.replace("_", " "), str(value)) for name, value in p.options.items() if value not in (None, False)),
        *((f"version of {name}", text) for name, text in p.versions.items()),
    ]
    commands = [shlex.join(["spareopt", "solve", f"{folder}/instance.json", *solve_options(plan), "-o", "my-plan"])]
    if source.name is not None:
        commands.append(solve_again(plan, source.name, "my-plan"))
    told = [] if source.name is None else ["--instance", source.name]
    commands.append(shlex.join(["spareopt", "report", "my-plan", *told]))
    return Section(
        "provenance",
        "Provenance",
        findings.provenance_finding(plan),
        sentences=(
            "The same instance, options, seed and versions make the same plan again, and the same plan the same "
            "report, byte for byte."
            if plan.certificate.status == PROVEN
            else f"The search ended by the clock or by hand ({plan.certificate.status}), so that solving again may end "
            "at another plan. The same plan makes the same report, byte for byte.",
        ),
        tables=(Table("What the plan was made from", ("", "value"), tuple(rows), TEXTS),),
        commands=tuple(commands),
        files=files,
    )
