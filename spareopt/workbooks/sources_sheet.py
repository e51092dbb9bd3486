"""The sheets of sources and scenarios: what the plan was made from, what was assumed, what else could be asked."""

from __future__ import annotations

from spareopt.instance import Instance
from spareopt.plan import Plan
from spareopt.workbooks.book import Book
from spareopt.workbooks.comments import Comments
from spareopt.yaml_source import value_text

SHEET = "Sources"
SCENARIOS = "Scenarios"


def write_sources(book: Book, plan: Plan, instance: Instance, comments: Comments) -> None:
    """Write the sheet of sources: provenance, notes, what is exact, and the head of the instance file."""
    sheet = book.sheet(
        SHEET, (30, 130), f"{instance.name}: sources", "What each input rests on stands beside it, on the sheet Inputs."
    )
    p = plan.provenance
    parts: list[tuple[str, list[tuple[str, str]]]] = [
        (
            "the plan",
            [
                ("instance", p.instance),
                ("description", instance.description),
                ("input hash (SHA-256)", p.input_hash),
                *(("changed by", text) for text in p.applied),
                *((f"option {name}", str(value)) for name, value in p.options.items()),
                ("seed", str(p.seed)),
                *((f"version of {name}", text) for name, text in p.versions.items()),
            ],
        ),
        ("notes and assumptions", [("", note) for note in instance.notes]),
        ("method", [(name.replace("_", " "), text) for name, text in plan.evaluation.method.items()]),
        ("head of the instance file", [("", line) for line in comments.head]),
    ]
    row = 4
    for title, lines in parts:
        if not lines:
            continue
        book.header(sheet, row, (title, ""), freeze=False)
        for name, text in lines:
            row += 1
            book.text(sheet, row, 1, name)
            book.text(sheet, row, 2, text, "wrapped")
        row += 2


def write_scenarios(book: Book, instance: Instance, source: str) -> None:
    """Write the sheet of scenarios: what each changes, and how to ask for it."""
    sheet = book.sheet(SCENARIOS, (26, 70, 90, 60), f"{instance.name}: scenarios", "What else could be asked.")
    if not instance.scenarios:
        text = "None are known here. A plan folder does not hold them: give the instance to spareopt workbook."
        book.text(sheet, 4, 1, text)
        return
    book.header(sheet, 4, ("scenario", "description", "what it changes", "command"))
    for row, (name, scenario) in enumerate(instance.scenarios.items(), 5):
        changes = "\n".join(f"{path} = {value_text(value)}" for path, value in scenario.overrides.items())
        book.text(sheet, row, 1, name)
        book.text(sheet, row, 2, scenario.description, "wrapped")
        book.text(sheet, row, 3, changes, "wrapped")
        book.text(sheet, row, 4, f"spareopt solve {source} --scenario {name}", "wrapped")
