"""What a plan costs and draws, part by part: the parts are those of the workbook and add up to the evaluation."""

from __future__ import annotations

import io
import math
import random

import pytest
from openpyxl import load_workbook

import spareopt
from spareopt.instance import Instance
from spareopt.money import What, cost_by_what, cost_items
from spareopt.power_parts import power_parts
from spareopt.workbooks.writing import workbook_of
from tests.coupled_instances import coupled_instance
from tests.test_workbook import a_plan

WORDS: dict[str, What] = {
    "racks of": "racks",
    "trays on the shelf": "shelf",
    "building": "building",
    "repair plan": "repair plan",
    "crews of": "crews",
    "checkpoint plan": "checkpoint plan",
    "energy": "energy",
}
"""How the lines of the sheet begin."""
CASES = ["academic-1k/staffing", "gb200-4x256/staffing", "power-capped-20mw/", "h100-16k-llama3/", "tpu-like/"]
KINDS = ("zone-crews", "site-crews", "zone-shelf", "site-shelf")


def check(instance: Instance) -> None:
    plan = a_plan(instance)
    e = plan.evaluation
    parts = power_parts(plan.decisions, e, instance)
    assert (parts is None) == (e.it_power_kw is None)
    if parts is not None and e.it_power_kw is not None and e.site_power_kw is not None:
        assert parts.it_power == pytest.approx(e.it_power_kw, rel=1e-12)
        assert parts.it_power + parts.overhead == pytest.approx(e.site_power_kw, rel=1e-12)
        assert e.idle_spares.power_kw == pytest.approx(parts.idle_trays, rel=1e-12)
    items = cost_items(plan.decisions, e, instance)
    assert (items is None) == (e.cost_per_year is None)
    if items is None:
        return
    assert math.fsum(item.per_year for item in items) == pytest.approx(e.cost_per_year, rel=1e-12)
    assert math.fsum(item.amount for item in items if item.capital) == pytest.approx(e.capital, rel=1e-12)
    assert math.fsum(cost_by_what(items).values()) == pytest.approx(e.cost_per_year, rel=1e-12)
    sheet = load_workbook(io.BytesIO(workbook_of(plan, instance)), data_only=True)["Money"]
    found: dict[What, list[float]] = {what: [] for what in WORDS.values()}
    for words, *_, solved in sheet.iter_rows(min_row=5, max_col=6, values_only=True):
        for begin, what in WORDS.items():
            if words is not None and str(words).startswith(begin) and solved:
                found[what].append(float(solved))
    for what, amounts in found.items():
        own = [item.amount for item in items if item.what == what]
        assert sorted(own) == pytest.approx(sorted(amounts), rel=1e-12), what


@pytest.mark.parametrize("case", CASES)
def test_parts_of_shipped_plans(case: str) -> None:
    """Proves that cost and power of shipped instances, shared crews and shelves among them, are the sum of their parts,
    and that these are the lines of the workbook's sheet of money."""
    name, _, scenario = case.partition("/")
    check(spareopt.read_instance(name, scenarios=(scenario,) if scenario else ()))


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_random_plans(kind: str) -> None:
    """Proves the same of random instances with crews and shelves of the zones and of the site."""
    for seed in range(4):
        check(spareopt.read_instance(coupled_instance(kind, seed, random.Random(seed).choice(["goodput", "cost"]))))
