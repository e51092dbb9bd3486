"""Price lists and contracts: templates change nothing, rows become choices, and every fault has its line and column."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

import spareopt
from spareopt import instances, units
from spareopt.cli import main
from spareopt.errors import Fault, InputError
from spareopt.fields import Counts
from spareopt.instance import Instance
from spareopt.overlays import contracts, price_list
from spareopt.overlays.overlay import Overlay
from spareopt.overlays.tables import Cells, Row, choices_text, quantity_text
from spareopt.overlays.templates import template_text

CLUSTER = """\
schema_version: 1
name: cluster
zones:
  - {name: hall, racks: 4}
designs:
  - name: pair
    trays_per_block: 2
    gpus_per_tray: 1
    intra_block_spares: 0
    inter_block_spares: 0
    rack_price: 1 M$
failures:
  tray: {mtbf: 1000 h}
repair_plans:
  - {name: home, tray: {hands_on: 2 h, off_crew: 22 h}}
checkpoint_plans:
  - {name: best, period: best, save: 5 s, detection: 1 min, restart: 6 min}
objective: {kind: goodput_per_dollar}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return written(tmp_path, "cluster.yaml", CLUSTER)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


CASES = [(name, ()) for name in instances.names()] + [
    ("gb200-4x256", ("crews",)), ("gb200-4x256", ("staffing",)), ("gb200-4x256", ("visiting-team",)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "scenarios"), CASES)
@pytest.mark.parametrize("kind", ["prices", "contracts"])
def test_an_unedited_template_changes_nothing(kind: str, name: str, scenarios: tuple[str, ...], tmp_path: Path) -> None:
    """Proves of every shipped instance, and of plans with crews, shelves and deferral, that the hash stays the same."""
    instance = spareopt.read_instance(name, scenarios=scenarios)
    whole = written(tmp_path, "whole.yaml", _dumped(instance))
    file = written(tmp_path, f"{kind}.csv", template_text(kind, instance))
    assert spareopt.read_instance(whole, overlays=[file]).input_hash() == instance.input_hash()


def _dumped(instance: Instance) -> str:
    import json  # noqa: PLC0415

    return json.dumps(instance.resolved())


@settings(max_examples=60)
@given(
    st.floats(0, 1e12), st.sampled_from([units.TIME, units.MONEY, units.MONEY_PER_YEAR, units.MONEY_PER_POWER]),
    st.sets(st.integers(0, 50), min_size=1, max_size=6),
)  # fmt: skip
def test_cells_read_back(value: float, kind: units.Kind, choices: set[int]) -> None:
    """Proves that what a template writes in a cell, any quantity or choices, reads back to the same."""
    text = quantity_text(value, kind, "EUR")
    assert units.parse(text, kind, "EUR") == value
    faults: list[Fault] = []
    cells = Cells(Row(1, {"q": text, "c": choices_text(sorted(choices))}), faults)
    assert cells.quantity("q", kind) == text
    assert TypeAdapter(Counts).validate_python(cells.choices("c")) == tuple(sorted(choices))
    assert not faults


def _price(hours: str, price: str) -> str:
    return f"name,like,tray_response,yearly_price\ngold,home,{hours},{price}\n"


def test_a_contract_wins_or_loses_as_its_price_moves(cluster: Path, tmp_path: Path) -> None:
    """Proves the break-even price of a faster response, computed by hand.

    All eight trays must be up, so A = (1000/1024)^8 at home and (1000/1006)^8 with 4 h response; the interruptions are
    the same.  Goodput per dollar is as good at the price at which cost grows by the same factor (1024/1006)^8.
    """
    cost = 4 * 1e6 / 4  # four racks of 1 M$ over four years
    even = cost * ((1024 / 1006) ** 8 - 1)
    chosen = []
    for share in (0.999, 1.001):
        file = written(tmp_path, "offers.csv", _price("4 h", f"{share * even!r} $ per year"))
        plan = spareopt.solve(spareopt.read_instance(cluster, overlays=[file]), gap=0)
        chosen.append(plan.decisions.zones[0].repair_plan)
    assert chosen == ["gold", "home"]


def test_an_offer_of_a_block_wins_or_loses_as_its_price_moves(cluster: Path, tmp_path: Path) -> None:
    """Proves the same of a block offer: with one rack more, I = 1 of 2 trays, by availability and price alone."""
    instance = spareopt.read_instance(cluster)
    here = spareopt.solve(instance, gap=0).evaluation
    chosen = []
    for factor in (0.999, 1.001):
        offer = f"item,name,price,like\nrack,other,{factor * 1e6!r} $,pair\n"
        file = written(tmp_path, "prices.csv", offer)
        plan = spareopt.solve(spareopt.read_instance(cluster, overlays=[file]), gap=0)
        chosen.append(plan.decisions.zones[0].design)
        assert plan.evaluation.cett == here.cett
    assert chosen == ["other", "pair"]


def test_the_rows_of_a_price_list(tmp_path: Path) -> None:
    """Proves what each item of a price list changes, in an instance that has all of them."""
    text = """\
# my prices
item;name;price;like;intra_block_spares;inter_block_spares;note
# a comment; with "a quote
rack;nvl72;3.7 M$;;;;
rack;nvl72-b;"3,500,000 $";nvl72;"0;2";0..8 step 4;until June
shelf tray;crews-and-shelf;120 k$;;;;
crew;crews-and-shelf;0.6 M$ per year;;;;
repair plan;deferred;1 M$ per year;;;;
checkpoint plan;async-best;7 M$ per year;;;;
energy;;0.07 $ per kWh;;;;
site;;11 M$ per MW;;;;
"""
    old = spareopt.read_instance("gb200-4x256", scenarios=["staffing"])
    base = written(tmp_path, "base.yaml", _dumped(old))
    new = spareopt.read_instance(base, overlays=[written(tmp_path, "our prices (1).csv", text)])
    assert [(item.name, item.rack_price) for item in new.designs] == [("nvl72", 3.7e6), ("nvl72-b", 3.5e6)]
    assert (new.designs[1].intra_block_spares, new.designs[1].inter_block_spares) == ((0, 2), (0, 4, 8))
    assert new.designs[1].power == old.designs[0].power
    shared, deferred = new.repair_plans
    assert (shared.tray_price, shared.crew_cost, shared.yearly_cost) == (1.2e5, 6e5, 0)
    assert (deferred.tray_price, deferred.yearly_cost) == (0, 1e6)
    assert new.checkpoint_plans[2].yearly_cost == 7e6
    assert (new.power.energy_price, new.economics.site_capital) == (0.07, 11e3)
    assert new.notes == (*old.notes, "rack nvl72-b: until June")
    assert "overlay our prices -1-: energy" not in new.applied
    assert "overlay our prices -1-: power.energy_price=0.07 $ per kWh" in new.applied


def test_the_terms_of_a_contract(cluster: Path, tmp_path: Path) -> None:
    """Proves what each column becomes; that none takes a term out; that a row may be like one above, times and all."""
    text = """\
name,like,tray_response,tray_hands_on,rack_response,rack_hands_on,crews,crew_cost,spare_pool,resupply,parts_share,\
tray_price,shared_by,start_at,window,yearly_price,price_for,note
gold,home,4 h,1 h,8 h,3 h,1;2,0.3 M$ per year,0..4,10 d,60 %,0.1 M$,zone,,,1.2 M$ per year,zone,signed
silver,gold,8 h,,,,none,,none,,,,,,,,,
visits,,24 h,4 h,24 h,5 h,,,,,,,,1..2,,0.5 M$ per year,,
weekly,visits,,,,,,,,,,,,none,1 week,,,
home,,,,,,,,,,,,,,,0.1 M$ per year,,
"""
    instance = spareopt.read_instance(cluster, overlays=[written(tmp_path, "offers.csv", text)])
    home, gold, silver, visits, weekly = instance.repair_plans
    assert (home.tray.off_crew, home.yearly_cost) == (22, 1e5)
    assert gold.rack is not None and silver.rack is not None
    assert (gold.tray.off_crew, gold.tray.hands_on, gold.rack.off_crew, gold.rack.hands_on) == (4, 1, 8, 3)
    assert (gold.crews, gold.crew_cost, gold.shelf, gold.lead_time) == ((1, 2), 3e5, (0, 1, 2, 3, 4), 240)
    assert (gold.parts_share, gold.tray_price, gold.yearly_cost) == (0.6, 1e5, 1.2e6)
    assert (silver.tray.off_crew, silver.tray.hands_on, silver.rack.hands_on) == (8, 1, 3)
    assert (silver.crews, silver.crew_cost, silver.shelf, silver.lead_time) == (None, 0, None, None)
    assert (silver.parts_share, silver.tray_price, silver.yearly_cost) == (1, 0, 1.2e6)
    assert (visits.start_at, visits.window, visits.tray.hands_on) == ((1, 2), None, 4)
    assert (weekly.start_at, weekly.window, weekly.tray.off_crew) == (None, 168, 24)
    assert instance.notes == ("contract gold: signed",)


PRICES = "item,name,price,like,trays_per_block,intra_block_spares,note\n"
CONTRACTS = "name,like,tray_response,tray_hands_on,crews,spare_pool,resupply,shared_by,yearly_price,price_for\n"
BAD = {
    "unknown column": (PRICES.replace("note", "notes") + "rack,pair,1 M$\n", 1, "column notes: unknown column"),
    "column twice": (PRICES.replace("note", "item") + "rack,pair,1 M$\n", 1, "column item: given twice"),
    "column without a name": (PRICES.replace(",note", ",,note") + "rack,pair,1 M$\n", 1, "column 7: unknown column"),
    "no rows": ("# only a header\n" + PRICES, 2, "has a header, but no rows"),
    "too many cells": (PRICES + "rack,pair,1 M$,,2,0,,no\n", 2, "has 8 cells, the header 7"),
    "open quote": (PRICES + 'rack,pair,1 M$\nrack,"pair,1 M$\n', 3, "close the quote that is opened here"),
    "unknown header": ("article,cost\nrack,1 M$\n", 0, "no table that spareopt knows by its header"),
    "unknown item": (PRICES + "racks,pair,1 M$\n", 2, "column item: expected one of rack, shelf tray, crew"),
    "no item": (PRICES + ",pair,1 M$\n", 2, "column item: required, but empty"),
    "no name": (PRICES + "rack,,1 M$\n", 2, "column name: required, but empty; expected the name of a design"),
    "a name too many": (PRICES + "energy,solar,0.1 $ per kWh\n", 2, 'item "energy" has no name; leave it empty'),
    "priced twice": (PRICES + "# so\nrack,pair,1 M$\nrack,pair,2 M$\n", 4, "is priced twice (first in line 3)"),
    "no price": (PRICES + "energy,,\n", 2, "column price: required, but empty; expected a price of energy"),
    "no price of a rack": (PRICES + "rack,pair\n", 2, "column price: required, but empty"),
    "bare number": (PRICES + "rack,pair,3\n", 2, "column price: expected an amount of money with its unit"),
    "wrong kind": (PRICES + "crew,home,1 M$\n", 2, 'column price: expected an amount of money per year such'),
    "decimal comma": (PRICES + 'rack,pair,"3,7 M$"\n', 2, "write a decimal point, not a comma"),
    "negative": (PRICES + "rack,pair,-1 M$\n", 2, "column price: expected an amount of money of at least zero"),
    "another currency": (
        PRICES + "rack,pair,1 M€\n", 2,
        "column price (designs.0.rack_price): expected an amount of money such as \"3.9 M$\"; unit 'M€' is not one of",
    ),
    "no count": (PRICES + "rack,b,1 M$,pair,2.5\n", 2, "column trays_per_block: expected a whole number such as 18"),
    "no choices": (PRICES + "rack,b,1 M$,pair,2,0-1\n", 2, "column intra_block_spares: expected choices such as 4"),
    "a range backwards": (
        PRICES + "rack,b,1 M$,pair,4,3..1\n", 2,
        "column intra_block_spares (designs.1.intra_block_spares): expected a range with from <= to",
    ),
    "too many spares": (
        PRICES + "rack,b,1 M$,pair,2,0..2\n", 2,
        "column intra_block_spares (designs.1.intra_block_spares): expected fewer spare trays than trays_per_block (2)",
    ),
    "like nothing": (PRICES + "rack,b,1 M$,pear\n", 2, "column like (designs.b.like): no item 'pear' to start from"),
    "unknown design": (PRICES + "rack,pear,1 M$\n", 2, "(designs.pear): the instance has no 'pear'; did you mean"),
    "unknown plan": (
        PRICES + "repair plan,hime,1 $ per year\n", 2,
        "column price (repair_plans.hime.yearly_cost): no item 'hime'; expected one of home",
    ),
    "block data of a crew": (PRICES + "crew,home,1 $ per year,,2\n", 2, "column trays_per_block: only used with item"),
    "crews that are not stated": (
        PRICES + "crew,home,1 M$ per year\n", 2,
        "column price (repair_plans.0.crew_cost): needs a number of crews",
    ),
    "all at once": (PRICES + "crew,*,1 M$ per year\n", 2, "column name: expected the name of a repair plan, one in"),
    "contract without a name": (CONTRACTS + ",home,4 h\n", 2, "column name: required, but empty"),
    "contract with a bad name": (CONTRACTS + "gold*,home,4 h\n", 2, "column name (repair_plans.0.name): expected a"),
    "contract twice": (CONTRACTS + "a,home,4 h\na,home,5 h\n", 3, "column name (repair_plans.a): given twice"),
    "contract without terms": (CONTRACTS + "gold\n", 2, "column name: has no terms"),
    "words for a time": (
        CONTRACTS + "gold,home,next business day\n", 2, 'column tray_response: expected a time such as "24 h"',
    ),
    "response without a unit": (CONTRACTS + "gold,home,4\n", 2, "column tray_response: expected a time with its unit"),
    "no such sharing": (CONTRACTS + "gold,home,4 h,,2,,,both\n", 2, "column shared_by: expected one of zone, site"),
    "a price for the site": (
        CONTRACTS + "gold,home,4 h,,,,,,1 M$ per year,site\n", 2,
        "column price_for: a yearly price counts once for each zone that takes the contract",
    ),
    "a pool without resupply": (
        CONTRACTS + "gold,home,4 h,,,0;4\n", 2, "repair_plans.1.lead_time: required with shelf",
    ),
    "no crew": (
        CONTRACTS + "gold,home,4 h,,0\n", 2, "column crews (repair_plans.1.crews): expected at least 1",
    ),
    "nothing shared": (CONTRACTS + "gold,home,4 h,,,,,site\n", 2, "shared_by (repair_plans.1.shared_by): nothing is"),
    "contract like nothing": (
        CONTRACTS + "gold,hime,4 h\n", 2, "column like (repair_plans.gold.like): no item 'hime' to start from",
    ),
    "contract incomplete": (
        CONTRACTS + "gold,,4 h\n", 2, "repair_plans.1.tray.hands_on: required, but missing",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_tables_are_refused_with_line_and_column(kind: str, cluster: Path, tmp_path: Path) -> None:
    """Proves that what is wrong with a table is told once, with file, line, column, value and what was expected."""
    text, line, message = BAD[kind]
    file = written(tmp_path, "table.csv", text)
    with pytest.raises(InputError) as caught:
        spareopt.read_instance(cluster, overlays=[file])
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)
    assert {fault.line for fault in caught.value.faults} == {line or None}


def test_all_faults_of_a_table_stand_in_one_message(cluster: Path, tmp_path: Path) -> None:
    """Proves that every fault is told at once, those that only the instance shows apart."""
    file = written(tmp_path, "t.csv", CONTRACTS + "gold,home,soon,never,few\n,,4 h\nsilver,home,4 h,,,,,,,site\n")
    with pytest.raises(InputError) as caught:
        spareopt.read_overlay(file)
    assert [(fault.line, fault.field) for fault in caught.value.faults] == [
        (2, "column crews"), (2, "column tray_response"), (2, "column tray_hands_on"), (3, "column name"),
        (4, "column price_for"),
    ]  # fmt: skip
    file.write_text(CONTRACTS + "gold,home,4 h,,0\nsilver,home,4 h,,,0;4\n")
    with pytest.raises(InputError) as caught:
        spareopt.read_instance(cluster, overlays=[file])
    assert sorted(fault.line or 0 for fault in caught.value.faults) == [2, 3]


def test_tables_as_spreadsheets_save_them(cluster: Path, tmp_path: Path) -> None:
    """Proves that a byte order mark, tabs, CRLF, quoted comments and capital letters in the header are read."""
    text = '"# a comment, so"\t\t\r\n\r\nItem\tName\tPrice\t\r\nRack\tpair\t"3,000,000 $"\t\r\n\t\t\t\r\n'
    file = tmp_path / "prices.tsv"
    file.write_bytes(text.encode("utf-8-sig"))
    assert spareopt.read_instance(cluster, overlays=[file]).designs[0].rack_price == 3e6
    file.write_bytes(text.replace("$", "€").encode("cp1252"))
    with pytest.raises(InputError, match="line 4, is not text in UTF-8"):
        spareopt.read_overlay(file)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("inside", ["\u2028", "\x0b", "\x0c", "\x85", "\x1c"])
def test_only_ends_of_lines_end_a_row(inside: str, end: str, tmp_path: Path) -> None:
    """Proves that the separators that come along with pasted text break no row and move no line number."""
    file = tmp_path / "list.csv"
    rows = ["# a comment" + inside, "item,name,price,note", f"rack,pair,3 M$,first{inside}second", "energy,,cheap,"]
    file.write_bytes("".join(row + end for row in rows).encode())
    with pytest.raises(InputError) as caught:
        spareopt.read_overlay(file)
    assert [(fault.line, fault.field) for fault in caught.value.faults] == [(4, "column price")]
    file.write_bytes("".join(row + end for row in rows[:3]).encode())
    assert spareopt.read_overlay(file).notes == (f"rack pair: first{inside}second",)


def test_the_command_writes_templates_and_never_over_a_file(tmp_path: Path) -> None:
    """Proves that a template is printed or written, filled in from an instance, and that an old file is kept."""
    file = tmp_path / "prices.csv"
    runner = CliRunner()
    printed = runner.invoke(main, ["template", "prices", "--from", "academic-1k"])
    assert printed.exit_code == 0
    result = runner.invoke(main, ["template", "prices", "--from", "academic-1k", "-o", str(file)])
    assert f"Next: spareopt solve academic-1k --overlay {file}" in result.output
    assert file.read_text() == printed.output
    result = runner.invoke(main, ["template", "contracts", "-o", str(file)])
    assert (result.exit_code, file.read_text()) == (2, printed.output)
    assert "already exists" in result.output
    assert runner.invoke(main, ["template", "nothing"]).exit_code == 2


def test_the_page_names_every_column_and_field() -> None:
    """Proves that docs/overlays.md names each item and column of the tables, and each field of an overlay."""
    page = (Path(__file__).parents[1] / "docs" / "overlays.md").read_text(encoding="utf-8")
    sections = {title.splitlines()[0]: title for title in page.split("\n## ")}
    for words, section in (
        ((*price_list.PRICED, *price_list.COLUMNS), "Price lists"),
        (contracts.COLUMNS, "Contracts"),
        (Overlay.model_fields, "Overlays"),
    ):
        for word in words:
            assert f"`{word}`" in sections[section], (section, word)
