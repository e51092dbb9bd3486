"""The exact model and the simulator, which share no formula, agree where the model says that it is exact.

Every feature that the model claims is held against a simulation that would show an error of a thousandth; where the
model names an approximation its error is measured and held against what docs/agreement.md says of it.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from pathlib import Path

import pytest
from scipy.stats import binom

import spareopt
from spareopt import instances
from tests.agreement import (
    APPROXIMATIONS,
    CONDITIONS,
    QUANTITIES,
    QUICK_FAULTS,
    Row,
    approximations,
    of_case,
    of_shipped,
)
from tests.simulated_cases import CASES, QUICK, case_instance, only_decisions

PAGE = Path(__file__).parents[1] / "docs" / "agreement.md"
CLOSE = 0.001
"""Relative error of CETT that no exact number may have."""
ERROR = re.compile(r"([+-][\d.]+) % ± ([\d.]+) %")


@lru_cache(maxsize=1)
def methods() -> dict[str, dict[str, str]]:
    """What the exact model says of each case."""
    found = {}
    for name in CASES:
        instance = case_instance(name)
        found[name] = spareopt.evaluate(instance, only_decisions(instance)).method
    return found


def named(name: str, quantity: str) -> tuple[str, ...]:
    """What is approximated of a quantity of a case."""
    return approximations(methods()[name], quantity)


def stated() -> dict[str, tuple[str, dict[str, tuple[float, float] | None]]]:
    """The table of the page: each case's approximations, and its errors in % with their standard errors."""
    rows = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 5 or not cells[0].startswith("`"):
            continue
        errors: dict[str, tuple[float, float] | None] = {}
        for quantity, cell in zip(("availability", "cett"), cells[3:], strict=True):
            match = ERROR.fullmatch(cell)
            errors[quantity] = None if match is None else (float(match[1]), float(match[2]))
            assert match or cell == "exact", line
        rows[cells[0].strip("`")] = cells[1], errors
    return rows


def test_the_cases_are_many_and_cover_every_method() -> None:
    """Proves that the grid holds more than 60 exact cases, and each text that a method may hold at least once."""
    exact = [name for name in CASES if not named(name, "cett")]
    assert len(exact) > 60 and set(QUICK) <= set(exact)
    said = " | ".join(text for method in methods().values() for text in method.values())
    missing = [name for name, text in (APPROXIMATIONS | CONDITIONS).items() if text not in said]
    assert not missing
    assert min(len({named(name, q) for name in CASES}) for q in QUANTITIES) > 4


def test_every_approximation_is_in_the_page() -> None:
    """Proves that the page has a row for each case with an approximation, by name, and none for what is exact."""
    page = stated()
    for name in CASES:
        found = named(name, "cett")
        if not found:
            assert name not in page
            continue
        said, errors = page[name]
        assert tuple(sorted(said.replace("`", "").split(", "))) == found
        assert {quantity for quantity in QUANTITIES if errors[quantity]} == {q for q in QUANTITIES if named(name, q)}
    assert set(page) <= set(CASES)


@pytest.mark.parametrize("name", QUICK)
def test_quick_cases_agree(name: str) -> None:
    """Proves that the exact CETT and A are within six standard errors, which a true model leaves once in 40,000 suites.

    The standard errors are small enough that an error of a few per cent would show.
    """
    for row in of_case(name, QUICK_FAULTS):
        assert row.relative[1] < 0.003 and abs(row.z) < 6, row


def as_often_as_it_should(inside: int, asked: int) -> bool:
    """Whether a count inside 99 % intervals is one that a binomial law has outside its two tails of 0.05 %."""
    return bool(binom.ppf(0.0005, asked, 0.99) <= inside <= asked)


@pytest.mark.heavy
def test_exact_numbers_are_inside_as_often_as_they_should() -> None:
    """Proves the exact model's claim on every exact case and on the optimal plan of every shipped instance.

    CETT and A are each inside the 99 % interval as often as a true model's would be, nowhere five standard errors
    away, and where the interval is narrower than a thousandth CETT is right to a thousandth.
    """
    rows: list[Row] = []
    for name in CASES:
        if not all(named(name, quantity) for quantity in QUANTITIES):
            rows += of_case(name)
    for name in instances.names():
        rows += of_shipped(name)
    rows = [row for row in rows if not row.approximations]
    for quantity in QUANTITIES:
        found = [row for row in rows if row.quantity == quantity]
        inside = sum(row.inside for row in found)
        assert len(found) > 70 and as_often_as_it_should(inside, len(found)), [r for r in found if not r.inside]
    assert not [row for row in rows if abs(row.z) > 5]
    narrow = [row for row in rows if row.quantity == "cett" and row.relative[2] <= CLOSE]
    assert len(narrow) > 60 and not [row for row in narrow if abs(row.relative[0]) > CLOSE]


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted(stated()))
def test_approximations_err_as_the_page_says(name: str) -> None:
    """Proves the page's table: the error measured is the one stated, within five standard errors and rounding."""
    _, errors = stated()[name]
    for row in of_case(name):
        said = errors[row.quantity]
        assert (said is None) == (not row.approximations)
        if said is not None:
            error, standard_error, _ = (100 * value for value in row.relative)
            assert abs(error - said[0]) < 5 * math.hypot(standard_error, said[1]) + 0.006, row
