"""The documentation says what the program does: examples run, outputs shown are real, tables hold every field.

What stands before a fenced block of a page, in an HTML comment, says how it is meant:

* ``<!-- file: NAME -->``: the block is written to a file for the commands after it;
* ``<!-- exit: N -->``: the commands of the block end with this exit code instead of 0;
* ``<!-- output -->``: every line of the block (but ``...``) is printed by the example before it;
* ``<!-- prints: COMMAND -->``: the same, of this command;
* ``<!-- memo -->``: every number of the block was printed by an example above it;
* ``<!-- skip: REASON -->``: the block is not run;
* ``<!-- fields: MODEL -->``: the table after it lists the fields of a model, in its order.
"""

from __future__ import annotations

import io
import re
import shlex
import typing
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import spareopt
from spareopt import cli, fields, horizon, instance, plan, units
from spareopt.candidates import DECISIONS, enumerate_candidates
from spareopt.decisions import Decisions
from spareopt.losses import LOSSES
from spareopt.schemas import models_in
from spareopt.simulation.result import Comparison
from spareopt.staging.plan import StagedPlan

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
names = [str(page.relative_to(ROOT)) for page in PAGES]

BLOCK = re.compile(r"((?:^<!--[^\n]*-->\n)*)^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MASKED = re.compile(r"proven|Certificate|asked|offered|refined")
"""Lines whose digits depend on the solver's path: they are compared without them."""


@dataclass(frozen=True)
class Block:
    """A fenced block with the marks before it."""

    language: str
    text: str
    marks: dict[str, str]


def blocks(page: Path) -> Iterator[Block]:
    for comments, language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        marks = re.findall(r"<!-- (\w+)(?:: (.*?))? -->", comments)
        yield Block(language, text, dict(marks))


def commands(block: Block) -> list[str]:
    lines = block.text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("spareopt")]


def plain(line: str) -> str:
    line = " ".join(line.split())
    return re.sub(r"[\d.,]+", "#", line) if MASKED.search(line) else line


def numbers(text: str) -> set[str]:
    """The numbers of a text, without zeros at the end of a fraction."""
    found = re.findall(r"\d+(?:[.,]\d+)*", text)
    return {number.rstrip("0").rstrip(".") if "." in number else number for number in found}


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_examples_run_and_print_what_is_shown(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that a page's commands end with the exit code stated, and print each line that the page shows."""
    monkeypatch.chdir(tmp_path)
    runner, namespace, output, printed_above = CliRunner(), {"__name__": "example"}, "", ""
    for block in blocks(page):
        if "skip" in block.marks:
            continue
        if "memo" in block.marks:
            unheard = numbers(block.text) - numbers(printed_above)
            assert not unheard, f"{page.name} states in its memo what was not printed: {sorted(unheard)}"
        elif "file" in block.marks:
            Path(block.marks["file"]).write_text(block.text, encoding="utf-8")
        elif "output" in block.marks or "prints" in block.marks:
            if "prints" in block.marks:
                output = runner.invoke(cli.main, shlex.split(block.marks["prints"])[1:]).output
            printed = {plain(line) for line in output.splitlines()}
            missing = [line for line in block.text.splitlines() if line != "..." and plain(line) not in printed]
            assert not missing, f"{page.name} shows what is not printed:\n" + "\n".join(missing) + f"\n{output}"
        elif block.language == "python":
            stream = io.StringIO()
            with redirect_stdout(stream):
                exec(compile(block.text, page.name, "exec"), namespace)
            output = stream.getvalue()
        elif block.language == "sh" and (lines := commands(block)):
            output = ""
            for line in lines:
                result = runner.invoke(cli.main, shlex.split(line, comments=True)[1:])
                output += result.output
                assert result.exit_code == int(block.marks.get("exit", "0")), f"{line}\n{result.output}"
            printed_above += output


@pytest.mark.parametrize(
    ("scenario", "spares", "scale"), [("six-strategies", (4, 4), "0.8192"), ("free-placement", (1, 5), "0.907")]
)
def test_readme_states_the_results_of_the_scenarios(scenario: str, spares: tuple[int, int], scale: str) -> None:
    """Proves that the README's line on a scenario of the published case holds its optimum."""
    line = PAGES[0].read_text(encoding="utf-8").split(f"`--scenario {scenario}`")[1].split("\n- ")[0]
    best = spareopt.solve(spareopt.read_instance("meta-2026", scenarios=[scenario]))
    zone = best.decisions.zones[0]
    assert (zone.intra_block_spares, zone.inter_block_spares) == spares
    assert scale in line and best.evaluation.goodput_scale == pytest.approx(
        float(scale), abs=0.5 * 10 ** -(len(scale) - 2)
    )


def headings(page: Path) -> set[str]:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_links_lead_somewhere(page: Path) -> None:
    """Proves that each link to a file of the project has that file, and each link to a heading that heading."""
    for target in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", page.read_text(encoding="utf-8"))):
        if target.startswith("http"):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), target
        if anchor:
            assert anchor in headings(file), f"{target}: there are {sorted(headings(file))}"


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_tables_have_a_head_and_commands_stand_in_blocks(page: Path) -> None:
    """Proves that no table lost its head and no example its fence, as happens where two edits of a page are joined."""
    before, fenced, lines = "", False, page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        fenced ^= line.startswith("```")
        begins = line.startswith("| ") and not before.startswith("|")
        assert fenced or not begins or lines[number + 1].startswith("|---"), f"line {number + 1}: a table has no head"
        assert fenced or not line.startswith("spareopt "), f"line {number + 1}: a command outside a block"
        before = line
    assert not fenced, "a block that is not closed"


def test_every_page_is_reached_from_the_index() -> None:
    """Proves that the index links to all other pages, and the README to the index or its pages."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in PAGES[1:]:
        assert page.name == "index.md" or f"({page.relative_to(ROOT / 'docs')})" in index
    assert "docs/index.md" in PAGES[0].read_text(encoding="utf-8")


def table(page: str, model: str) -> list[list[str]]:
    """The cells of the table of a model's fields."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- fields: {model} -->\n\n?\|.*\n\|[-| ]+\|\n((?:\|.*\n)*)", text)
    assert found, f"docs/{page} has no table of the fields of {model}"
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in found[1].splitlines()]


INPUTS = models_in(instance.Instance)
OUTPUTS = [*models_in(plan.Plan), *(m for m in models_in(Comparison) if m not in models_in(plan.Plan))]
KINDS: list[tuple[Any, str]] = [
    (fields.PositiveTime, "time above 0"),
    (fields.Time, "time"),
    (fields.Rate, "rate above 0"),
    (fields.PositivePower, "power above 0"),
    (fields.Power, "power"),
    (fields.Money, "money"),
    (fields.YearlyMoney, "money per year"),
    (fields.MoneyPerPower, "money per power"),
    (fields.EnergyPrice, "money per energy"),
    (fields.GridIntensity, "mass per energy"),
    (fields.Counts, "choices"),
    (fields.PowerChoices, "power choices"),
    (fields.WholeNumber, "whole number ≥ 1"),
    (fields.Name, "name"),
    (fields.Spans, "a span"),
    (fields.Ends, "two ends"),
    (horizon.MoneyByQuarter, "money by quarter"),
    (horizon.PowerByQuarter, "power by quarter"),
    (horizon.NumberByQuarter, "numbers ≥ 0 by quarter"),
    (horizon.CountByQuarter, "whole numbers ≥ 0 by quarter"),
    (horizon.Prices, "prices by quarter"),
    (str, "text"),
    (bool, "`true` or `false`"),
    (float, "number"),
    (int, "whole number"),
    (Any, "any value"),
]


def kind_of(hint: Any) -> str:
    """How a field is written, in words."""
    for known, words in KINDS:
        if hint == known:
            return words
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if hasattr(hint, "__metadata__"):
        inner, *notes = arguments
        constraints = [c for note in notes for c in (note.metadata if isinstance(note, FieldInfo) else [note])]
        words = {"gt": "> {:g}", "ge": "≥ {:g}", "lt": "< {:g}", "le": "≤ {:g}"}
        ranges = [w.format(getattr(c, name)) for c in constraints for name, w in words.items() if hasattr(c, name)]
        filled = ", at least one" if any(hasattr(c, "min_length") for c in constraints) else ""
        return " ".join([kind_of(inner), ", ".join(ranges)]).strip() + filled
    if origin is Literal:
        return " or ".join(f"`{argument}`" for argument in arguments)
    if origin is tuple:
        return f"list of {kind_of(arguments[0])}"
    if origin is dict:
        return f"{kind_of(arguments[0])}: {kind_of(arguments[1])}"
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return " or ".join(kind_of(argument) for argument in arguments if argument is not type(None))


def default_of(model: type[BaseModel], name: str) -> str:
    """What stands where a field is left out, in words."""
    field = model.model_fields[name]
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, BaseModel) or value in ({}, ()):
        return "empty"
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float) and field.metadata and hasattr(field.metadata[0], "kind"):
        return "0" if value == 0 else units.show(value, field.metadata[0].kind)
    return f"`{value}`" if isinstance(value, str) else f"{value:g}"


@pytest.mark.parametrize("model", INPUTS, ids=lambda model: model.__name__)
def test_instance_page_has_every_field(model: type[BaseModel]) -> None:
    """Proves that docs/instances.md lists each field of the instance, how it is written and its default, with words."""
    hints = typing.get_type_hints(model, include_extras=True)
    expected = [[f"`{name}`", kind_of(hints[name]), default_of(model, name)] for name in model.model_fields]
    rows = table("instances.md", model.__name__)
    assert [row[:3] for row in rows] == expected
    assert all(len(row) == 4 and len(row[3]) > 5 for row in rows)


@pytest.mark.parametrize("model", OUTPUTS, ids=lambda model: model.__name__)
def test_commands_page_has_every_json_field(model: type[BaseModel]) -> None:
    """Proves that docs/commands.md lists each field of plans, evaluations and simulations, with a unit and words."""
    rows = table("commands.md", model.__name__)
    assert [row[0] for row in rows] == [f"`{name}`" for name in model.model_fields]
    assert all(len(row) == 3 and row[1] and len(row[2]) > 5 for row in rows)


STAGED = [m for m in models_in(StagedPlan) if m not in OUTPUTS]


@pytest.mark.parametrize("model", STAGED, ids=lambda model: model.__name__)
def test_staged_page_has_every_json_field(model: type[BaseModel]) -> None:
    """Proves that docs/staged.md lists each field of staged plans, with a unit and words."""
    rows = table("staged.md", model.__name__)
    assert [row[0] for row in rows] == [f"`{name}`" for name in model.model_fields]
    assert all(len(row) == 3 and row[1] and len(row[2]) > 5 for row in rows)


def test_units_page_has_every_unit() -> None:
    """Proves that the unit table of docs/instances.md names all units and currencies that are read, and the aliases."""
    text = (ROOT / "docs" / "instances.md").read_text(encoding="utf-8")
    section = text.split("## Quantities and units")[1].split("\n## ")[0]
    written = set(re.findall(r"`([^`]+)`", section))
    for known in (units._TIME, units._ALIASES, units._POWER, units._ENERGY, units._MASS):
        assert set(known) <= written
    assert set(units.CURRENCIES) | set(units.CURRENCIES.values()) <= written
    for prefix in filter(None, units._MONEY_PREFIX):
        assert f"{prefix}$" in written


def test_commands_page_has_every_command_and_option() -> None:
    """Proves that docs/commands.md has a section for each command, with each of its options, arguments and defaults."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for name, command in cli.main.commands.items():
        found = re.search(rf"^## spareopt {name}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        assert found, name
        section = found[1]
        for shared in re.findall(r"\(#(\w+-options)\)", section):  # a section that several commands share
            title = shared.replace("-", " ").capitalize()
            section += text.split(f"## {title}\n")[1].split("\n## ")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                for option in (*parameter.opts, *parameter.secondary_opts):
                    assert f"`{option}" in section, f"{name} {option}"
                if parameter.show_default and parameter.default is not None and not parameter.secondary_opts:
                    row = next(line for line in section.splitlines() if f"`{parameter.opts[0]}" in line)
                    assert f"`{parameter.default}`" in row, f"{name} {parameter.opts[0]} {parameter.default}"
            else:
                assert parameter.make_metavar(click.Context(command)).rstrip(".") in section
    for option in ("--version", "--help", "-h"):
        assert f"`{option}`" in text


def test_commands_page_has_every_exit_code() -> None:
    """Proves that the table of exit codes is that of the program's help."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    section = text.split("## Exit codes\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| (\d+) \|", section, re.MULTILINE) == re.findall(r"(?<![\d,])\b(\d+) \w", cli.EXIT_CODES)


def test_commands_page_has_every_file_of_a_plan_folder(tmp_path: Path) -> None:
    """Proves that the files listed for a plan folder are those written, and the columns listed those of its tables."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    section = text.split("## The plan folder\n")[1].split("\n## ")[0]
    six = spareopt.read_instance("meta-2026", scenarios=["six-strategies"])
    folder = spareopt.write_plan(spareopt.solve(six), six, tmp_path / "plan")
    listed = re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)
    assert sorted(listed) == sorted(file.name for file in folder.iterdir())
    for file in folder.glob("*.csv"):
        for column in file.read_text(encoding="utf-8").splitlines()[0].split(","):
            assert f"`{column}`" in section, (file.name, column)


def test_commands_page_has_every_file_of_a_simulation_folder() -> None:
    """Proves that the tables of a simulation folder have the columns that the page says."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    section = text.split("## The simulation folder\n")[1].split("\n## ")[0]
    for name in ("simulation.json", "replications.csv", "usable_blocks.csv", "quarters.csv", "comparison.json"):
        assert f"`{name}`" in section
    for column in ("replication", "quarter", "goodput"):
        assert f"`{column}`" in section


def test_method_and_loss_names_are_the_programs() -> None:
    """Proves that the commands page names every loss share, limit and method key that an evaluation has."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    case = spareopt.read_instance("gb200-4x256")
    decisions = Decisions(
        zones=(enumerate_candidates(case).choice(0, 4),), checkpoint_plan=case.checkpoint_plans[0].name
    )
    for name in (*LOSSES, *spareopt.evaluate(case, decisions).method, *DECISIONS):
        assert f"`{name}`" in text, name


def test_mathematics_page_names_modules_that_exist() -> None:
    """Proves that each module the mathematics page points to is there."""
    text = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([\w/]+\.py)`", text):
        folders = (ROOT, *(ROOT / "spareopt" / name for name in ("", "numerics", "simulation")))
        assert any((folder / name).exists() for folder in folders), name
