"""Workbooks: formulas compute what the evaluation says, before and after a change; changes come back as they are typed.

A spreadsheet program of the tests' own (tests/spreadsheet.py) computes the formulas.
"""

from __future__ import annotations

import io
import math
import shutil
import zipfile
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook

import spareopt
from spareopt import instances, units
from spareopt.cli import main
from spareopt.decisions import Decisions, ZoneChoice
from spareopt.errors import InputError
from spareopt.evaluation import evaluate
from spareopt.instance import Instance, Limits
from spareopt.overlays.overlay import Overlay, overlay_text
from spareopt.overlays.sources import read_overlay
from spareopt.overlays.workbook import read_workbook
from spareopt.plan import CandidateCounts, Certificate, Plan, provenance_of
from spareopt.workbooks.comments import read_comments
from spareopt.workbooks.inputs import _OPEN, in_unit, input_rows, typed_value
from spareopt.workbooks.writing import ORDER, workbook_of
from tests.random_instances import random_instance
from tests.spreadsheet import Spreadsheet

CASES: list[tuple[str, tuple[str, ...]]] = [
    ("meta-2026", ()),
    ("academic-1k", ("staffing",)),
    ("gb200-4x256", ("staffing",)),
]
HEAVY = [pytest.param(name, (), marks=pytest.mark.heavy) for name in instances.names()]
SITE = """\
# A cluster for the tests.
# Source: none.
schema_version: 1
name: "cluster #1"          # not a comment of what is within quotes
notes: ["=1+1 is no formula"]
zones:
  - {name: hall, racks: 16}   # 16 positions, as built
designs:
  - name: wide
    trays_per_block: 18
    gpus_per_tray: 4
    intra_block_spares: {from: 0, to: 2}
    inter_block_spares: {from: 0, to: 3}
    rack_price: 4 M$        # quote of March; "all in"
failures:
  # from the field
  tray: {rate: 2e-4 per h}  # per tray
repair_plans:
  - name: next-day
    tray: {hands_on: 2 h, off_crew: 22 h}
    yearly_cost: 1 M$ per year

checkpoint_plans:
  - {name: best, period: best, save: 5 s, detection: 1 min, restart: 6 min}
limits: {capital: 80 M$}
scenarios:
  dear: {overrides: {designs.wide.rack_price: 2x}}
  two-ways:
    overrides:
      repair_plans:
        - {name: slow, tray: {hands_on: 40 h}}
        - {name: fast, tray: {hands_on: 4 h}, yearly_cost: 2 M$ per year}
"""


def a_choice(instance: Instance) -> Decisions:
    """Some decisions: of everything the first that is offered, but the most racks, spare blocks, crews and shelf."""
    plan = instance.repair_plans[0]
    zones = []
    for zone in instance.zones:
        design = next(d for d in instance.designs if zone.designs is None or d.name in zone.designs)
        limits = None if design.power is None else design.power.gpu_limits
        zones.append(
            ZoneChoice(
                zone=zone.name, count=zone.count, design=design.name, racks=max(zone.racks),
                intra_block_spares=min(design.intra_block_spares), inter_block_spares=max(design.inter_block_spares),
                repair_plan=plan.name, crews=None if plan.crews is None else max(plan.crews),
                shelf_trays=None if plan.shelf is None else max(plan.shelf),
                start_at=None if plan.start_at is None else min(plan.start_at),
                gpu_limit=None if limits is None else units.write(limits[0], units.POWER),
            )
        )  # fmt: skip
    return Decisions(zones=tuple(zones), checkpoint_plan=instance.checkpoint_plans[-1].name)


def a_plan(instance: Instance) -> Plan:
    """Those decisions as a plan, without a solve: what a workbook shows of it needs no optimum."""
    decisions = a_choice(instance)
    certificate = Certificate(
        status="limit reached", objective=instance.objective.kind, unit=instance.objective_unit, sense="maximise",
        value=1.0, bound=2.0, gap=1.0, gap_asked=0.1, model="exact", refinements=0, plans_excluded=0,
    )  # fmt: skip
    return Plan(
        decisions=decisions,
        evaluation=evaluate(instance, decisions),
        certificate=certificate,
        candidates=CandidateCounts(enumerated=1, dominated=0, outbid=0, kept=1, excluded={}),
        provenance=provenance_of(instance, {}, 0),
    )


@cache
def bytes_of(name: str, scenarios: tuple[str, ...] = ()) -> bytes:
    """The workbook of a shipped instance."""
    instance = spareopt.read_instance(name, scenarios=scenarios)
    return workbook_of(a_plan(instance), instance, name)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    file = tmp_path / "site.yaml"
    file.write_text(SITE.replace('"cluster #1" ', '"cluster" '), encoding="utf-8")
    return file


def edited(file: Path, folder: Path, scenarios: tuple[str, ...] = (), **options: Any) -> Path:
    """The workbook of an instance file with changes."""
    instance = spareopt.read_instance(file, scenarios=scenarios, **options)
    target = folder / "plan.xlsx"
    target.unlink(missing_ok=True)
    spareopt.write_workbook(a_plan(instance), instance, target, file)
    return target


def opened(data: bytes, *, values: bool = False) -> Workbook:
    return load_workbook(io.BytesIO(data), data_only=values)


def row_of(workbook: Workbook, path: str) -> int:
    return next(row for row in range(5, 400) if workbook["Inputs"].cell(row, 1).value == path)


def saved(workbook: Workbook, file: Path) -> Path:
    workbook.save(file)
    return file


def equal(found: Any, expected: Any) -> bool:
    if isinstance(found, str) or isinstance(expected, str) or found is None or expected is None:
        return (found or "") == (expected or "")
    return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)


def results(book: Spreadsheet) -> dict[str, Any]:
    """The numbers of the first sheet by their names."""
    sheet = book.workbook["Summary"]
    rows = {sheet.cell(row, 1).value: row for row in range(1, sheet.max_row + 1)}
    return {str(name): book.value("Summary", f"B{row}") for name, row in rows.items()}


@pytest.mark.parametrize(("name", "scenarios"), [*CASES, *HEAVY])
def test_each_formula_has_the_value_it_computes(name: str, scenarios: tuple[str, ...]) -> None:
    """Proves that what viewers show without computing is what a spreadsheet computes, and what the evaluation says."""
    data = bytes_of(name, scenarios)
    book, shown = Spreadsheet(opened(data)), opened(data, values=True)
    cells = list(book.formulas())
    wrong = [
        (sheet, cell) for sheet, cell in cells if not equal(book.value(sheet, cell), shown[sheet][cell].value)
    ]  # fmt: skip
    assert len(cells) > 100 and not wrong
    instance = spareopt.read_instance(name, scenarios=scenarios)
    e, found = evaluate(instance, a_choice(instance)), results(book)
    for words, value in {
        "capital": e.capital, "yearly cost": e.yearly_cost, "cost, capital spread": e.cost_per_year,
        "cost per useful GPU-hour": e.cost_per_useful_gpu_hour, "IT power": e.it_power_kw,
        "energy": e.energy_kwh_per_year, "GPUs": e.gpus, "working GPUs": e.working_gpus,
    }.items():  # fmt: skip
        if value is not None:
            assert equal(found[words], value), words


PRICES = (
    "designs.*.rack_price", "designs.*.power.tray_other", "designs.*.power.tray_idle", "designs.*.power.rack_rest",
    "repair_plans.*.yearly_cost", "repair_plans.*.crew_cost", "repair_plans.*.tray_price",
    "checkpoint_plans.*.yearly_cost", "power.pue", "power.energy_price", "power.grid_intensity",
    "economics.amortisation", "economics.site_capital",
)  # fmt: skip


@pytest.mark.parametrize(("name", "scenarios"), [("power-capped-20mw", ()), *CASES[1:], *HEAVY])
def test_money_and_power_follow_prices_as_the_evaluation_does(name: str, scenarios: tuple[str, ...]) -> None:
    """Proves that all prices and draws changed on the sheet give the money and power of the changed instance."""
    workbook = opened(bytes_of(name, scenarios))
    instance = spareopt.read_instance(name, scenarios=scenarios)
    changes: dict[str, Any] = {}
    for row in input_rows(instance):
        parts = row.path.split(".")
        if any(len(p := path.split(".")) == len(parts) and p[0] == parts[0] and p[-1] == parts[-1] for path in PRICES):
            if row.value == 0 and row.default:  # what the instance does not state may need more than a price
                continue
            value = 7.0 if row.value == "none" else float(row.value) * 1.25 + 0.01
            if row.path == "power.pue":
                value = 1.35
            workbook["Inputs"].cell(row_of(workbook, row.path), 2).value = value
            changes[row.path] = typed_value(row, value)
    assert len(changes) >= 5
    changed = spareopt.read_instance(name, scenarios=scenarios, overrides=changes)
    e, book = evaluate(changed, a_choice(instance)), Spreadsheet(workbook)
    found = results(book)
    for words, value in {
        "capital": e.capital, "yearly cost": e.yearly_cost, "cost, capital spread": e.cost_per_year,
        "cost per useful GPU-hour": e.cost_per_useful_gpu_hour, "IT power": e.it_power_kw,
        "site power": e.site_power_kw, "energy": e.energy_kwh_per_year, "carbon": e.carbon_kg_per_year,
    }.items():  # fmt: skip
        if value is not None:
            assert equal(found[words], value), words
    assert found["inputs changed since it was solved"] == len(changes)
    left = {limit.limit.replace("_", " ").replace("it power", "IT power"): limit.slack for limit in e.limits}
    sheet = workbook["Limits"]
    for row in range(5, sheet.max_row + 1):
        if (words := sheet.cell(row, 1).value) in left:
            assert math.isclose(book.value("Limits", f"F{row}"), left[words], rel_tol=1e-6, abs_tol=1e-6), words


def test_a_limit_that_is_set_on_the_sheet_shows_what_is_left_of_it() -> None:
    """Proves that limits can be set, moved and taken out, and that what the plan breaks is told."""
    workbook = opened(bytes_of("gb200-4x256"))
    for path, value in (("limits.site_power", 1), ("limits.capital", "none"), ("limits.floor", 1024)):
        workbook["Inputs"].cell(row_of(workbook, path), 2).value = value
    book, sheet = Spreadsheet(workbook), workbook["Limits"]
    met = {sheet.cell(row, 1).value: book.value("Limits", f"G{row}") for row in range(5, sheet.max_row + 1)}
    assert (met["site power"], met["capital"], met["floor"]) == ("NO", "no limit", "yes")


def test_moved_rows_are_told() -> None:
    """Proves that the first sheet says so where rows of the inputs were sorted, which formulas do not follow."""
    workbook = opened(bytes_of("tpu-like"))
    sheet = workbook["Inputs"]
    state = next(
        f"C{row}" for row in range(1, 20) if str(workbook["Summary"].cell(row, 1).value).startswith("inputs changed")
    )
    assert Spreadsheet(workbook).value("Summary", state).startswith("nothing is changed")
    for column in range(1, 5):
        one, other = sheet.cell(5, column), sheet.cell(6, column)
        one.value, other.value = other.value, one.value
    assert Spreadsheet(workbook).value("Summary", state).startswith("ROWS OF INPUTS WERE MOVED")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.heavy) for seed in range(1, 10))])
@pytest.mark.parametrize("objective", ["goodput", "cost"])
def test_random_plans_have_the_values_they_compute(seed: int, objective: str) -> None:
    """Proves the formulas on clusters of several zones, blocks to a rack, site capital and domains."""
    instance = spareopt.read_instance(random_instance(seed, objective))
    data = workbook_of(a_plan(instance), instance)
    book, shown = Spreadsheet(opened(data)), opened(data, values=True)
    assert all(equal(book.value(s, c), shown[s][c].value) for s, c in book.formulas())


def test_a_reader_that_does_not_compute_sees_numbers() -> None:
    """Proves that a table library, which computes nothing, reads the money of the plan from the file."""
    import pandas as pd  # noqa: PLC0415

    instance = spareopt.read_instance("gb200-4x256")
    table = pd.read_excel(io.BytesIO(bytes_of("gb200-4x256")), sheet_name="Money", header=3)
    capital = table.loc[table.iloc[:, 0] == "capital", "amount, $"].item()
    assert capital == evaluate(instance, a_choice(instance)).capital


@pytest.mark.parametrize(("currency", "symbol"), [("EUR", "€"), ("JPY", "¥")])
def test_other_currencies(currency: str, symbol: str, tmp_path: Path) -> None:
    """Proves that prices are written, computed and read back in the currency of the instance."""
    file = tmp_path / "site.yaml"
    text = SITE.replace('"cluster #1" ', '"cluster" ').replace("M$", f"M{symbol}")
    file.write_text(f"{text}currency: {currency}\n", encoding="utf-8")
    workbook = load_workbook(edited(file, tmp_path))
    row = row_of(workbook, "designs.wide.rack_price")
    assert workbook["Inputs"].cell(row, 3).value == f"M{symbol}"
    workbook["Inputs"].cell(row, 2).value = 5
    found = results(Spreadsheet(workbook))
    changed = spareopt.read_instance(file, overlays=[saved(workbook, tmp_path / "plan.xlsx")])
    assert found["capital"] == evaluate(changed, a_choice(changed)).capital == 80e6


def test_same_input_same_bytes(tmp_path: Path) -> None:
    """Proves that a workbook holds no time, nor anything else that changes from one writing to the next."""
    instance = spareopt.read_instance("tpu-like")
    assert workbook_of(a_plan(instance), instance, "tpu-like") == bytes_of("tpu-like")
    spareopt.write_workbook(a_plan(instance), instance, tmp_path / "plan.xlsx", "tpu-like")
    assert (tmp_path / "plan.xlsx").read_bytes() == bytes_of("tpu-like")
    with zipfile.ZipFile(tmp_path / "plan.xlsx") as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}
        assert b"dcterms:created" not in archive.read("docProps/core.xml")


@pytest.mark.parametrize("name", instances.names())
def test_inputs_as_they_are_typed_are_the_instance(name: str) -> None:
    """Proves that every input's number and unit read back to the same instance, and that no two share a path."""
    instance = spareopt.read_instance(name)
    rows = input_rows(instance)
    assert len({row.path for row in rows}) == len(rows)
    again = spareopt.read_instance(name, overrides={row.path: typed_value(row, row.value) for row in rows})
    assert again.input_hash() == instance.input_hash()


def test_every_limit_has_a_row() -> None:
    """Proves that a limit added to instances is not forgotten on the sheet of inputs."""
    fields = {name for name in Limits.model_fields if name != "working_gpus"}
    assert fields <= {path.split(".")[1] for path in _OPEN if path.startswith("limits.")}


@given(value=st.floats(1e-9, 1e12), kind=st.sampled_from(units.KINDS), currency=st.sampled_from(list(units.CURRENCIES)))
@settings(max_examples=300)
def test_units_for_people_read_back_to_the_same_float(value: float, kind: units.Kind, currency: str) -> None:
    """Proves that a quantity loses no digit in the unit that is chosen for it."""
    number, unit = in_unit(value, kind, currency)
    assert units.parse(f"{number!r} {unit}", kind, currency) == value


@pytest.mark.parametrize(("name", "scenarios"), [*CASES, *HEAVY])
def test_an_unchanged_workbook_changes_nothing(name: str, scenarios: tuple[str, ...], tmp_path: Path) -> None:
    """Proves that a workbook as written, and saved by another program, is the instance of its plan."""
    file = tmp_path / "plan.xlsx"
    for save in (
        lambda: file.write_bytes(bytes_of(name, scenarios)),
        lambda: opened(bytes_of(name, scenarios)).save(file),
    ):
        save()
        overlay = read_workbook(file)
        assert bool(overlay.overrides) == bool(scenarios)
        found = spareopt.read_instance(name, overlays=[file])
        assert found.input_hash() == spareopt.read_instance(name, scenarios=scenarios).input_hash()


def test_changed_inputs_are_the_same_as_settings(site: Path, tmp_path: Path) -> None:
    """Proves that a price, a rate, choices and limits changed on the sheet solve to the plan that --set gives."""
    workbook = load_workbook(edited(site, tmp_path))
    typed = {
        "designs.wide.rack_price": 3.8, "failures.tray.rate": 0.0003, "zones.hall.racks": "[15, 16]",
        "limits.floor": 16, "limits.capital": "none", "checkpoint_plans.best.period": "2 h",
    }  # fmt: skip
    for path, value in typed.items():
        workbook["Inputs"].cell(row_of(workbook, path), 2).value = value
    file = saved(workbook, tmp_path / "My plan (edited).xlsx")
    set_by_hand = {
        "designs.wide.rack_price": "3.8 M$", "failures.tray.rate": "0.0003 per h", "zones.hall.racks": [15, 16],
        "limits.floor": 16, "limits.capital": None, "checkpoint_plans.best.period": "2 h",
    }  # fmt: skip
    one = spareopt.solve(spareopt.read_instance(site, overlays=[file]))
    other = spareopt.solve(spareopt.read_instance(site, overrides=set_by_hand))
    assert one.decisions == other.decisions and one.evaluation == other.evaluation
    assert one.provenance.input_hash == other.provenance.input_hash
    assert "overlay My plan -edited-: designs.wide.rack_price=3.8 M$" in one.provenance.applied


def test_rows_and_columns_of_the_planners_own_are_let_be(tmp_path: Path) -> None:
    """Proves that inputs are found by their names, wherever rows and columns were put in or moved to."""
    workbook = opened(bytes_of("tpu-like"))
    sheet = workbook["Inputs"]
    sheet.insert_rows(1, 2)
    sheet.insert_rows(12)
    sheet.insert_cols(2)
    sheet.cell(12, 1).value, sheet.cell(9, 2).value = "a remark of ours", "mine"
    last = sheet.max_row
    for column in range(1, sheet.max_column + 1):
        one, other = sheet.cell(last, column), sheet.cell(last - 1, column)
        one.value, other.value = other.value, one.value
    row = next(row for row in range(1, last) if sheet.cell(row, 1).value == "designs.cube.rack_price")
    sheet.cell(row, 3).value = 3.5
    overlay = read_workbook(saved(workbook, tmp_path / "plan.xlsx"))
    assert overlay.overrides == {"designs.cube.rack_price": "3.5 M$"}


@pytest.mark.parametrize("scenarios", [("dear",), ("two-ways",), ("dear", "two-ways")])
def test_scenarios_and_settings_come_along(site: Path, tmp_path: Path, scenarios: tuple[str, ...]) -> None:
    """Proves that the workbook of a changed instance holds the changes, so that they need not be given again."""
    settings_ = {"limits.capital": "300 M$", "placement_group": None}
    file = edited(site, tmp_path, scenarios, overrides=settings_)
    asked = spareopt.read_instance(site, scenarios=scenarios, overrides=settings_)
    assert spareopt.read_instance(site, overlays=[file]).resolved() == asked.resolved()
    with pytest.raises(InputError, match=f"made with scenario {scenarios[0]!r} applied; take --scenario"):
        spareopt.read_instance(site, overlays=[file], scenarios=[scenarios[0]])
    workbook = load_workbook(file)
    workbook["Inputs"].cell(row_of(workbook, "designs.wide.rack_price"), 2).value = 5
    saved(workbook, file)
    changed = spareopt.read_instance(
        site, scenarios=scenarios, overrides={**settings_, "designs.wide.rack_price": "5 M$"}
    )
    assert spareopt.read_instance(site, overlays=[file]).resolved() == changed.resolved()


def test_a_workbook_is_refused_where_the_file_says_something_else_now(site: Path, tmp_path: Path) -> None:
    """Proves that inputs not changed on the sheet are those of the instance that is solved, or it is told."""
    file = edited(site, tmp_path)
    site.write_text(
        site.read_text(encoding="utf-8").replace("rack_price: 4 M$", "rack_price: 4000 k$"), encoding="utf-8"
    )
    assert not spareopt.read_instance(site, overlays=[file]).applied
    site.write_text(
        site.read_text(encoding="utf-8").replace("rack_price: 4000 k$", "rack_price: 3 M$"), encoding="utf-8"
    )
    with pytest.raises(InputError) as refused:
        spareopt.read_instance(site, overlays=[file])
    row = row_of(load_workbook(file), "designs.wide.rack_price")
    told = "made for an instance that has 4.0 M$ here; this one has 3 M$"
    assert f"Inputs!D{row} (designs.wide.rack_price): {told}".replace("3 M$", "3000000.0 $") in str(refused.value)
    assert "make it anew from this instance" in str(refused.value)
    with pytest.raises(InputError, match=r"and [0-9]+ more"):
        spareopt.read_instance("meta-2026", overlays=[file])


def test_expectations_are_part_of_an_overlay_file(site: Path, tmp_path: Path) -> None:
    """Proves that an overlay that was read from a workbook can be kept as YAML, and refuses the same."""
    overlay = read_workbook(edited(site, tmp_path, ("dear",)))
    (tmp_path / "kept.yaml").write_text(overlay_text(overlay), encoding="utf-8")
    kept = read_overlay(tmp_path / "kept.yaml")
    assert kept == overlay and kept.holds == ("dear",)
    assert spareopt.read_instance(site, overlays=[kept]).input_hash() == spareopt.read_instance(
        site, scenarios=["dear"]
    ).input_hash()  # fmt: skip
    other = Overlay(name="other", expects={"zones.hall.racks": {"from": 16, "to": 17}, "limits.floor": None})
    with pytest.raises(InputError, match=r"zones.hall.racks: made for .* has \{from: 16, to: 17\} here; .* has \[16\]"):
        spareopt.read_instance(site, overlays=[other])


def test_comments_of_the_file_are_the_sources(tmp_path: Path) -> None:
    """Proves that comments stand beside their inputs: at the end of the line or above it, none from within quotes."""
    file = tmp_path / "site.yaml"
    file.write_text(SITE, encoding="utf-8")
    comments = read_comments(file)
    assert comments.head == ("A cluster for the tests.", "Source: none.")
    found = {".".join(map(str, keys)): text for keys, text in comments.fields.items()}
    assert found["name"] == "not a comment of what is within quotes"
    assert found["designs.0.rack_price"] == 'quote of March; "all in"'
    assert found["failures.tray.rate"] == "from the field; per tray"
    assert found["zones.0.racks"] == "16 positions, as built"
    assert "repair_plans.0.yearly_cost" not in found and "notes" not in found


def test_sources_stand_beside_inputs_and_texts_are_no_formulas(site: Path, tmp_path: Path) -> None:
    """Proves that the sheet of inputs tells sources, changes and defaults; a note that begins with = stays a note."""
    workbook = load_workbook(edited(site, tmp_path, ("dear",)))
    sheet = workbook["Inputs"]
    told = {sheet.cell(row, 1).value: sheet.cell(row, 7).value for row in range(5, sheet.max_row + 1)}
    assert told["zones.hall.racks"] == "16 positions, as built"
    assert told["designs.wide.rack_price"] == "changed by scenario dear: designs.wide.rack_price=2x"
    assert told["failures.charge"] == "default"
    texts = [cell for row in workbook["Sources"].iter_rows() for cell in row if cell.value == "=1+1 is no formula"]
    assert len(texts) == 1 and texts[0].data_type == "s"
    assert workbook.sheetnames == list(ORDER) and workbook["Record"].sheet_state == "hidden"


def test_solve_and_workbook_write_the_same_bytes(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that a plan folder holds all that a workbook needs but for the instance's comments and scenarios."""
    monkeypatch.chdir(tmp_path)
    solve = ["solve", site.name, "--set", "limits.floor=16", "-o", "plan"]
    first = CliRunner().invoke(main, [*solve, "--excel", "one.xlsx"])
    assert first.exit_code == 0, first.output
    assert "Written to one.xlsx. Written to plan. Next: change column B" in first.output
    second = CliRunner().invoke(main, ["workbook", "plan", "-o", "two.xlsx", "--instance", site.name])
    assert second.exit_code == 0, second.output
    assert Path("one.xlsx").read_bytes() == Path("two.xlsx").read_bytes()
    third = CliRunner().invoke(main, ["workbook", "plan", "-o", "three.xlsx", "--json"])
    assert third.exit_code == 0 and '"three.xlsx"' in third.output
    fourth = CliRunner().invoke(main, ["workbook", "plan", "-o", "four.xlsx"])
    command = fourth.output.partition("then: spareopt ")[2].split()  # what it tells to do next can be done
    again = CliRunner().invoke(main, command)
    assert fourth.exit_code == again.exit_code == 0, again.output
    plan = spareopt.read_plan("plan")
    for file in ("one.xlsx", "three.xlsx"):
        found = spareopt.read_instance(site, overlays=[file])
        assert found.input_hash() == plan.provenance.input_hash


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["solve", "tpu-like", "--excel", "plan.xls"],
            "plan.xls: expected the name of a new workbook that ends with .xlsx",
        ),
        (["solve", "tpu-like", "--excel", "there.xlsx"], "there.xlsx: already exists"),
        (["solve", "tpu-like", "--excel", "no/plan.xlsx"], "does not exist; make it first"),
        (["workbook", "nowhere", "-o", "plan.xlsx"], "nowhere: can't be read"),
        (["workbook", "lone", "-o", "plan.xlsx"], "lone: holds no instance.json"),
        (["workbook", "plan", "-o", "there.xlsx"], "there.xlsx: already exists"),
        (["workbook", "plan", "-o", "plan.xlsx", "--instance", "meta-2026"], "the plan is of instance 'tpu-like'"),
        (["workbook", "mixed", "-o", "plan.xlsx"], "the plan was made from other inputs"),
    ],
)
def test_what_can_not_be_written_is_refused(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that nothing is overwritten, and that a plan and an instance that do not belong together are told."""
    monkeypatch.chdir(tmp_path)
    instance = spareopt.read_instance("tpu-like")
    spareopt.write_plan(a_plan(instance), instance, "plan")
    shutil.copytree("plan", "mixed")
    other = spareopt.read_instance("tpu-like", overrides={"limits.floor": 2000})
    spareopt.write_plan(a_plan(other), other, "other")  # a folder of a plan and another instance is never written
    shutil.copy("other/instance.json", "mixed/instance.json")
    Path("lone").mkdir()
    shutil.copy("plan/plan.json", "lone/plan.json")
    Path("there.xlsx").write_text("mine", encoding="utf-8")
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and message in result.output, result.output
    assert Path("there.xlsx").read_text(encoding="utf-8") == "mine" and not Path("plan.xlsx").exists()


def set_cell(path: str, value: Any, column: int = 2, shown: str = "") -> Callable[[Workbook], None]:
    def change(workbook: Workbook) -> None:
        cell = workbook["Inputs"].cell(row_of(workbook, path), column)
        cell.value = value
        if shown:
            cell.number_format = shown

    return change


def delete_row(workbook: Workbook) -> None:
    workbook["Inputs"].delete_rows(row_of(workbook, "power.pue"))


def delete_many(workbook: Workbook) -> None:
    workbook["Inputs"].delete_rows(10, 20)


def merge(workbook: Workbook) -> None:
    workbook["Inputs"].merge_cells("B9:B10")


def merge_across(workbook: Workbook) -> None:
    workbook["Inputs"].merge_cells("A9:C9")


def repeat(workbook: Workbook) -> None:
    sheet = workbook["Inputs"]
    for column in range(1, 5):
        sheet.cell(200, column).value = sheet.cell(9, column).value


def append(path: Any, value: Any) -> Callable[[Workbook], None]:
    def change(workbook: Workbook) -> None:
        workbook["Inputs"].cell(200, 1).value, workbook["Inputs"].cell(200, 2).value = path, value

    return change


def rename_header(workbook: Workbook) -> None:
    workbook["Inputs"]["B4"].value = "my value"


def repeat_header(workbook: Workbook) -> None:
    workbook["Inputs"]["H4"].value = "value"


def touch_record(workbook: Workbook) -> None:
    workbook["Record"]["B6"].value = workbook["Record"]["B6"].value.replace("3.59", "3.58")


def far_below(workbook: Workbook) -> None:
    workbook["Inputs"]["A1000000"].value = "x"


def remove(title: str) -> Callable[[Workbook], None]:
    return lambda workbook: workbook.remove(workbook[title])


PRICE, COUNT, PERIOD = "designs.cube.rack_price", "designs.cube.trays_per_block", "checkpoint_plans.best.period"
BAD: dict[str, tuple[Callable[[Workbook], None], str]] = {
    "text": (set_cell(PRICE, "3.59 M$"), "Inputs!B{} (" + PRICE + "): expected a number of M$, got the text '3.59 M$'"),
    "number as text": (set_cell(PRICE, "3.5"), "expected a number of M$, got the text '3.5'"),
    "empty": (
        set_cell(PRICE, None),
        "expected a number of M$, but it is empty; to take an optional input out, type none",
    ),
    "blank": (set_cell(PRICE, "  "), "but it is empty"),
    "formula": (set_cell(PRICE, "=3.59*0.9"), "holds a formula (=3.59*0.9) whose value is not in the file"),
    "error": (set_cell(PRICE, "#DIV/0!"), "expected a number of M$, got the error #DIV/0!"),
    "truth": (set_cell(PRICE, True), "expected a number of M$, got TRUE"),
    "date": (set_cell(PRICE, datetime(2027, 3, 5)), "got a date or time (2027-03-05 00:00:00)"),
    "percentage": (set_cell(PRICE, 0.9, shown="0%"), "got a percentage (90.000000%)"),
    "fraction": (set_cell(COUNT, 1.5), "Inputs!B{} (" + COUNT + "): expected a whole number, got 1.5"),
    "unit": (set_cell(PRICE, "k$", 3), "Inputs!C{} (" + PRICE + "): expected the unit 'M$', got 'k$'"),
    "as solved": (set_cell(PRICE, 3.5, 4), "Inputs!D{} (" + PRICE + "): expected 3.59, as it was solved, got '3.5'"),
    "path": (set_cell(PRICE, "designs.cube.rack_prize", 1), "unknown input; did you mean '" + PRICE + "'?"),
    "row gone": (delete_row, "Inputs (power.pue): its row is gone; put it back"),
    "rows gone": (delete_many, "and 12 more rows are gone"),
    "merged": (merge, "Inputs!B9:B10: these cells are merged"),
    "merged across": (merge_across, "Inputs!A9:C9: these cells are merged"),
    "twice": (repeat, "is named in row 9 too; keep one of the two rows"),
    "new input": (append("limits.moon", 4), "Inputs!A200 (limits.moon): unknown input"),
    "lone value": (append(None, 4), "Inputs!B200: a value without an input beside it, got '4'"),
    "header": (rename_header, "no row with the headers input, value, unit, as solved"),
    "header twice": (repeat_header, "Inputs!row 4: two columns are headed 'value'; keep one of them"),
    "record": (touch_record, "sheet Record: expected 'spareopt workbook 1' as it was written, but it was changed"),
    "no record": (remove("Record"), "has no sheet 'Record', so that it is no workbook that spareopt wrote"),
    "no inputs": (remove("Inputs"), "has no sheet 'Inputs'"),
    "out of range": (set_cell("power.pue", 0.5), "Inputs!B{} (power.pue): expected at least 1, got 0.5"),
    "negative": (set_cell(PRICE, -1), "Inputs!B{} (" + PRICE + "): expected an amount of money of at least zero, got"),
    "word": (set_cell("failures.charge", "everyone"), "Inputs!B{} (failures.charge): expected 'domain' or 'block'"),
    "bare time": (set_cell(PERIOD, 300), "Inputs!B{} (" + PERIOD + "): expected a time with its unit"),
    "required": (set_cell(COUNT, "none"), "Inputs!B{} (" + COUNT + "): required, but missing"),
    "choices": (set_cell("zones.pod.racks", "{from: 9, to: 3}"), "expected a range with from <= to and step >= 1"),
    "key twice": (
        set_cell("zones.pod.racks", "{from: 1, from: 2}"),
        "(zones.pod.racks): key given twice (first in line 1)",
    ),
    "far below": (far_below, "Inputs: has cells down to row 1,000,000; delete the rows below the inputs"),
    "no YAML": (set_cell("zones.pod.racks", "[1, 2"), "(zones.pod.racks): expected a whole number, a list of them, or"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_workbooks_are_refused(kind: str, tmp_path: Path) -> None:
    """Proves that what can't be told for sure is refused, with the sheet and the cell, in one message."""
    change, message = BAD[kind]
    workbook = opened(bytes_of("tpu-like"))
    paths = [path for path in (PRICE, COUNT, "power.pue", "failures.charge", PERIOD) if path in message]
    row = row_of(workbook, paths[0]) if paths and "{" in message else 0
    change(workbook)
    file = saved(workbook, tmp_path / "plan.xlsx")
    with pytest.raises(InputError) as refused:
        spareopt.read_instance("tpu-like", overlays=[file])
    assert str(refused.value).startswith(str(file))
    assert message.replace("{}", str(row), 1) in str(refused.value), str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("plan.xls", b"x", "is no .xlsx workbook; save it as one"),
        ("plan.ods", b"x", "is no .xlsx workbook; save it as one"),
        ("plan.xlsx", b"x", "is no Excel workbook, whatever its name says"),
        ("plan.xlsx", None, "can't be read: No such file"),
        ("plan.xlsx", "archive", "can't be read as an Excel workbook"),
        ("plan.xlsx", "cut", "is no Excel workbook, whatever its name says"),
        ("plan.xlsx", "empty", "has no sheet 'Inputs', so that it is no workbook that spareopt wrote"),
    ],
)
def test_files_that_are_no_workbook_of_ours_are_refused(name: str, content: Any, message: str, tmp_path: Path) -> None:
    """Proves that other files are refused in words, not with a traceback."""
    file = tmp_path / name
    if content == "archive":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("x", "y")
    elif content == "empty":
        Workbook().save(file)
    elif content is not None:
        file.write_bytes(bytes_of("tpu-like")[:5000] if content == "cut" else content)
    with pytest.raises(InputError, match=message):
        read_overlay(file)


def test_all_faults_of_a_workbook_come_at_once(tmp_path: Path) -> None:
    """Proves that a planner need not mend a workbook fault by fault."""
    workbook = opened(bytes_of("tpu-like"))
    for kind in ("text", "fraction", "row gone", "lone value"):
        BAD[kind][0](workbook)
    with pytest.raises(InputError, match="4 faults"):
        read_workbook(saved(workbook, tmp_path / "plan.xlsx"))
