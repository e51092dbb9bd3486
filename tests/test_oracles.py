"""Every number from outside this project is met within its tolerance: `oracle_values` beside `oracles/*.json`."""

from __future__ import annotations

import pytest

from tests.oracle_values import (
    FILES,
    GRID,
    KINDS,
    MISSES,
    RECORDS,
    Numbers,
    Value,
    of_paper,
    of_point,
    of_record,
    point_name,
)
from tests.validation import PAGE as PAGE_FILE
from tests.validation import row

PAGE = PAGE_FILE.read_text(encoding="utf-8")


def check(values: tuple[Value, ...]) -> None:
    """Fails where a value is outside its tolerance and not known to be, or known to be and inside."""
    wrong = [value for value in values if value.within == bool(value.missed)]
    assert values and not wrong, wrong


@pytest.mark.parametrize("name", RECORDS)
def test_record(name: str) -> None:
    """Proves every number that the record expects, and every result of which only a range is known.

    The page of all of them shows each number so.
    """
    values = of_record(name)
    check(values)
    assert all(f"{row(value)}\n" in PAGE for value in values)


def test_the_paper() -> None:
    """Proves every number of the published first-order model: rows, best spares with and without placement, text."""
    values = of_paper()
    check(values)
    assert len(values) == 9 * len(FILES["mlsys2026"]["rows"]) + 12 + len(FILES["mlsys2026"]["printed"])


@pytest.mark.parametrize("place", range(len(GRID)), ids=[point_name(point) for point in GRID])
def test_point_of_airesim(place: int) -> None:
    """Proves the computing share in the long run and the times of a job, where spares do not age, to the last digit."""
    check(of_point(place))


def test_no_record_is_forgotten() -> None:
    """Proves that each record is compared by its kind, and says where it is from.

    No id is used twice (the second would hide the first), and no kind is left without records.
    """
    files = [FILES[name] for name in ("repair", "goodput", "redundancy")]
    assert sum(len(file["records"]) for file in files) == len(RECORDS)
    for name, record in RECORDS.items():
        assert record["kind"] in KINDS, name
        assert record["expected"], name
        assert record["source"], name
        assert record["tolerance"], name
    assert {record["kind"] for record in RECORDS.values()} >= KINDS.keys()
    for file in files:
        assert {record["evidence"] for record in file["records"]} == file["evidence_levels"].keys()


def test_every_known_miss_is_of_a_value() -> None:
    """Proves that no miss is excused that is not there: each names a value, and says why."""
    for (name, what), why in MISSES.items():
        assert what in {value.what for value in of_record(name)} and why


@pytest.mark.parametrize(
    ("ours", "theirs", "tolerance", "inside"),
    [
        (1.02, 1.0, 0.03, True),
        (1.02, 1.0, 0.01, False),
        ([[1, 2], [3, 5]], [[1, 2], [3, 4]], 0.9, False),
        ([1.0, 2.2], [1.0, 2.0], 0.3, True),
        (3, 3, 0.0, True),
        (3, 4, 0.0, False),
        (0.95, [0.9, 1.0], None, True),
        (0.8, [0.9, 1.0], None, False),
    ],
)
def test_a_wrong_number_is_found(ours: Numbers, theirs: Numbers, tolerance: float | None, inside: bool) -> None:
    """Proves that the comparison looks into lists and ranges, whose numbers it would else compare with nothing."""
    value = Value("one", "x", theirs, ours, tolerance, "printed", "tests")
    assert value.within is inside
    assert (value.share <= 1) is inside
