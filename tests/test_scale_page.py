"""The page on how the proof grows: its tables and its figure are those of the measured rows."""

from __future__ import annotations

from tests.figure_scripts import FIGURES, ROOT, figure_script

script = figure_script("zones")
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


def test_tables_are_the_measured_rows() -> None:
    """Proves that no number of the page was typed: the tables follow from benchmarks/zones.csv."""
    rows = script.measured()
    assert script.with_tables(PAGE, rows) == PAGE
    assert script.goodput_table(rows) in PAGE and script.others_table(rows) in PAGE


def test_what_the_page_claims_was_measured() -> None:
    """Proves that every question was proven to the gap asked, of a thousand candidates a zone; goodput at 64 zones."""
    rows = script.measured()
    for kind in script.QUESTIONS:
        part = rows[(rows["kind"] == kind) & (rows["way"] == "reductions")].set_index("zones")
        assert (part["gap"] <= 1e-4).all() and len(part) >= 3
        assert (part["surviving"] >= 1000 * part.index).all()
        assert kind != "goodput" or part.index.max() == 64


def test_the_figure_is_drawn_from_the_rows() -> None:
    """Proves that the page shows the figure, and how to draw it again."""
    assert "(figures/zones.svg)" in PAGE and "\npython docs/figures/zones.py" in PAGE
    assert (FIGURES / "zones.svg").stat().st_size < 150_000
