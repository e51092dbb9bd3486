"""A staged plan in words and on disk: what is told and written is what was planned, and reads back."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pandas as pd
import pytest

import spareopt
from spareopt import units
from spareopt.errors import InputError
from spareopt.manifest import UNHASHED, changed_files, read_manifest
from spareopt.staging import text as text_of_staged
from spareopt.staging.store import read_staged_solved
from spareopt.staging.text import staged_text
from spareopt.staging.tightness import Tight, rack_step, tight_limits
from spareopt.wording import WIDTH
from tests.growing_site import CASE, OVERRIDES, growing

OBJECTIVES = tuple(OVERRIDES)
PAGE = Path(__file__).parents[1] / "docs" / "staged.md"


def rows(text: str, title: str) -> dict[str, list[str]]:
    """The cells of a table of the text by its first column, which names a quarter."""
    part = text.partition(f"\n{title}\n")[2].partition("\n\n")[0]
    cells = [re.split(r" {2,}", line) for line in part.splitlines()]
    return {line[0].strip(): [cell for cell in line[1:] if cell] for line in cells if re.match(r"\d{4}-Q\d", line[0])}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_text_says_the_numbers_of_the_plan(objective: str) -> None:
    """Proves that each quarter's row holds the plan's own numbers, whole and with their units."""
    instance, plan = growing(objective)
    text = staged_text(plan, instance)
    bought, runs = rows(text, "What is bought"), rows(text, "What runs")

    def money(value: float | None) -> str:
        assert value is not None
        return units.show(value, units.MONEY, "USD") if value else "0"

    for q in plan.score.quarters:
        assert q.evaluation is not None and q.evaluation.site_power_kw is not None
        racks = sum(order.racks for order in q.orders)
        counts = (racks, q.racks_delivered, q.racks, q.zones_built, q.shelf_ordered, q.shelf_trays, q.shelf_used)
        assert bought[q.quarter] == [*map(str, counts), money(q.paid), money(q.budget), money(q.money_left)]
        assert runs[q.quarter] == [
            f"{q.evaluation.working_gpus}",
            f"{q.goodput:,.1f}",
            units.show_gpu_hours(q.useful_gpu_hours),
            f"{q.evaluation.availability:.4f}",
            f"{q.crews}",
            units.show(q.evaluation.site_power_kw, units.POWER),
            units.show(q.yearly_cost, units.MONEY_PER_YEAR, "USD"),
        ]
        for order in q.orders:
            assert re.search(rf"{q.quarter} +{order.racks} racks of quad +{order.delivered} +", text)
    assert max(map(len, text.splitlines())) <= WIDTH
    for number in (plan.certificate.value, plan.certificate.bound):
        shown = units.show(number, units.MONEY, "USD") if objective == "cost" else units.show_gpu_hours(number)
        assert shown in text
    assert "proven within" in text and "NOT PROVEN" not in text


def test_a_plan_without_a_proof_says_so() -> None:
    """Proves that nobody takes a plan that reached a limit for the best one."""
    instance, plan = growing("goodput")
    doubtful = plan.certificate.model_copy(
        update={"status": "limit reached", "bound": 1.05 * plan.certificate.value, "gap": 0.05}
    )
    text = " ".join(staged_text(plan.model_copy(update={"certificate": doubtful}), instance).split())
    assert "NOT PROVEN (limit reached)" in text and "Certificate (NOT PROVEN, limit reached)" in text
    assert "A better plan may exist, by up to 5.00 %." in text


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_what_binds_has_no_room_for_another_step(objective: str) -> None:
    """Proves it from the plan's numbers: two racks more at the quarter's mean would break what is named, and no other.

    Prices fall by 5 % a quarter from 1 M$, and what is ordered in the last quarter arrives too late.
    """
    instance, plan = growing(objective)
    assert rack_step(instance) == 2
    power = (40.0, 80.0, 160.0)
    for t, (quarter, tight) in enumerate(zip(plan.score.quarters, tight_limits(instance, plan), strict=True)):
        assert quarter.evaluation is not None and quarter.evaluation.site_power_kw is not None
        named = {limit.limit for limit in tight}
        used = quarter.evaluation.site_power_kw
        assert ("site_power" in named) == (used * (1 + 2 / quarter.racks) > power[t])
        assert ("yearly_cost" in named) == (quarter.yearly_cost * (1 + 2 / quarter.racks) > 1.4e6)
        assert quarter.money_left is not None
        assert ("money" in named) == (t < 2 and quarter.money_left < 2 * 1e6 * 0.95**t)
        assert ("lead_time" in named, "too_late" in named) == (t == 0, t == 2)
        if objective == "cost":
            target = (10, 20, 25)[t]
            assert ("goodput_target" in named) == (quarter.goodput < 1.01 * target)


def test_all_racks_that_are_offered_are_said_to_be_ordered_and_there() -> None:
    """Proves that neither money nor power is blamed where nothing more is offered."""
    rich = {"horizon.capital": "90 M$", "limits.capital": "90 M$", "horizon.site_power": "1 MW"}
    rich |= {"limits.yearly_cost": "9 M$ per year", "horizon.working_gpus.minimum": [0, 56, 56]}
    instance = spareopt.read_instance(copy.deepcopy(CASE), overrides=rich)
    plan = spareopt.solve_staged(instance)
    assert [q.racks for q in plan.score.quarters] == [2, 8, 8]
    named = [{limit.limit for limit in tight} - {"shelf_stock"} for tight in tight_limits(instance, plan)]
    assert [names & {"ordered", "choices", "too_late", "money", "site_power"} for names in named] == [
        {"ordered"},
        {"choices"},
        {"choices", "too_late"},
    ]


def test_what_binds_in_every_quarter_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that a limit with the same left in all quarters stands below the table, and others stay in it."""
    instance, plan = growing("goodput")
    rack = Tight(limit="rack_power", left=0.5, unit="kW")
    money = [Tight(limit="money", left=left, unit="USD") for left in (0.0, 2e6)]
    monkeypatch.setattr(text_of_staged, "tight_limits", lambda *_: [[rack, money[0]], [rack, money[1]], [rack]])
    told = staged_text(plan, instance)
    assert told.count("rack power") == 1 and "In every quarter: rack power (500 W left)." in told
    assert rows(told, "What binds") == {
        "2027-Q4": ["money (none left)"],
        "2028-Q1": ["money (2 M$ left)"],
        "2028-Q2": ["nothing"],
    }


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_folder_reads_back_and_its_tables_agree(objective: str, tmp_path: Path) -> None:
    """Proves that the plan and its instance come back equal, and that the tables add up to the score."""
    instance, plan = growing(objective)
    folder = spareopt.write_staged(plan, instance, tmp_path / "plan")
    assert spareopt.read_staged(folder) == plan == spareopt.read_staged(folder / "staged.json")
    again, its_instance = read_staged_solved(folder)
    assert again == plan and its_instance.input_hash() == instance.input_hash()
    listed = re.findall(r"^\| `([\w.]+\.\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {file.name for file in folder.iterdir()} | {"quarters.svg"} == set(listed)
    manifest = read_manifest(folder)
    assert manifest.kind == "staged" and manifest.value == plan.certificate.value
    assert changed_files(folder, manifest) == {}
    quarters, zones, purchases, losses = (
        pd.read_csv(folder / f"{name}.csv") for name in ("quarters", "zones", "purchases", "losses")
    )
    assert purchases["paid"].sum() == pytest.approx(plan.score.paid, rel=1e-12)
    assert purchases.groupby("ordered")["paid"].sum().to_dict() == pytest.approx(
        {q.quarter: q.paid for q in plan.score.quarters if q.paid}
    )
    assert zones.groupby("quarter")["racks"].sum().tolist() == quarters["racks"].tolist()
    assert losses.groupby("quarter")["share"].sum().tolist() == pytest.approx([1.0, 1.0, 1.0], abs=1e-12)
    hours = quarters["weight"] * quarters["goodput_gpus"] * 2191.5
    assert hours.sum() == pytest.approx(plan.score.useful_gpu_hours, rel=1e-12)
    with pytest.raises(InputError, match="already exists"):
        spareopt.write_staged(plan, instance, folder)
    with pytest.raises(InputError, match="another instance"):
        spareopt.write_staged(plan, growing(next(o for o in OBJECTIVES if o != objective))[0], tmp_path / "other")


def test_the_same_question_gives_the_same_bytes(tmp_path: Path) -> None:
    """Proves that a second solve writes every file but those that hold times byte for byte the same."""
    _, first = growing("goodput")
    again = spareopt.read_instance(copy.deepcopy(CASE))
    second = spareopt.solve_staged(again, gap=0)
    folders = [spareopt.write_staged(plan, again, tmp_path / name) for name, plan in (("a", first), ("b", second))]
    names = {file.name for file in folders[0].iterdir()}
    assert names == {file.name for file in folders[1].iterdir()} and "model.lp" in names
    for name in names - set(UNHASHED):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name


def test_the_picture_is_drawn_with_all_its_levels(tmp_path: Path) -> None:
    """Proves that the picture can be drawn as it is written, with targets and limits, and without any budget."""
    from spareopt.staging.picture import draw_staged  # noqa: PLC0415

    for objective in OBJECTIVES:
        instance, plan = growing(objective)
        draw_staged(plan, instance, tmp_path / f"{objective}.svg")
        assert (tmp_path / f"{objective}.svg").read_text(encoding="utf-8").count("<path") > 50
