"""The validation page is what `python -m tests.validation` writes, and nothing that it leaves out goes unsaid."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests import validation
from tests.oracle_values import CASES, FILES, GRID, RECORDS, SLOW, Value, point_name

PAGE = validation.PAGE.read_text(encoding="utf-8")


def lines_without(names: tuple[str, ...], page: str) -> list[str]:
    return [line for line in page.splitlines() if not line.startswith(tuple(f"| `{name}` |" for name in names))]


def test_the_page_is_fresh() -> None:
    """Proves that every line of the page is computed now, but for the rows of slow records.

    The means of the simulator are those of docs/published.md, which tests/test_published_simulated.py plays again.
    """
    ours, theirs = (lines_without(SLOW, page) for page in (validation.page(slow=False), PAGE))
    different = [lines for lines in zip(ours, theirs, strict=False) if lines[0] != lines[1]]
    assert ours == theirs, f"run python -m tests.validation; the first differences: {different[:5]}"


@pytest.mark.heavy
def test_the_whole_page_is_fresh() -> None:
    """Proves it for the slow records, too: the whole page, byte by byte."""
    assert validation.page() == PAGE


def test_every_record_is_on_the_page() -> None:
    """Proves that no record, case, point or row of the paper is missing, and what is not compared has its reason."""
    for name in RECORDS:
        assert f"`{name}`" in PAGE, name
    for name in CASES:
        assert f"| `{name}` |" in PAGE, name
    for point in GRID:
        assert f"| {point_name(point)} |" in PAGE
    for row in FILES["mlsys2026"]["rows"]:
        assert f"`K = {row['K']}, I = {row['I']}, R = {row['R']}`" in PAGE
    assert all(why in PAGE for why in validation.LEFT_OUT.values())


def test_misses_are_shown_as_such() -> None:
    """Proves that a value outside its tolerance says no in bold, one inside says yes, and that both are told apart."""
    good, bad = (Value("one", "x", 1.0, ours, 0.1, "printed", "tests") for ours in (1.05, 1.2))
    assert validation.row(good) == "| `one` | x | 1 | 1.05 | 0.1 | 0.05 (50 %) | yes |"
    assert validation.row(bad) == "| `one` | x | 1 | 1.20 | 0.1 | 0.2 (200 %) | **no** |"
    exact = Value("one", "x", 3, 4, 0.0, "printed", "tests")
    assert validation.row(exact) == "| `one` | x | 3 | 4 | exact | 1 | **no** |"
    assert PAGE.count("**no**") == 2 * int(re.search(r"tolerance, (\d+)\s+are not", PAGE)[1])  # type: ignore[index]


def test_noise_of_rounding_is_not_shown() -> None:
    """Proves that a difference of the last bits changes no character, so that machines agree on the page."""
    numbers = [1.0, 2.5, 3e-4]
    rows = {
        validation.row(Value("one", "x", numbers, [one * (1 + k * 2e-16) for one in numbers], 1e-9, "printed", "tests"))
        for k in range(3)
    }
    assert len(rows) == 1


def test_the_picture(tmp_path: Path) -> None:
    """Proves that the page shows the picture that the command draws, the same bytes each time."""
    drawn = [tmp_path / name for name in ("one.svg", "two.svg")]
    for path in drawn:
        validation.picture(path, slow=False)
    assert all(one.read_bytes() == two.read_bytes() for one, two in pairwise(drawn))
    assert "(figures/validation.svg)" in PAGE and validation.PICTURE.stat().st_size < 400_000
