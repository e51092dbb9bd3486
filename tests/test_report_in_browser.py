"""Reports in a real browser: nothing is missing, cut, covered, too small or too pale, on screens and on paper."""

from __future__ import annotations

import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spareopt
from spareopt.reports.writing import Report
from tests.browser import PATIENCE, Watched, launched
from tests.page_faults import contrast_faults, drawing_faults, layout_faults, structure_faults

WIDTHS = (1600, 400)
"""Pixels of a desk's window and of a phone's."""
SHEET = (688, 1017)
"""Pixels of an A4 sheet within its margins of 14 mm."""
SMALLEST_IN_PRINT = 7.5
"""Pixels of a sheet: 5.6 points."""
SCROLLED = """() => [...document.querySelectorAll(".table")].filter((box) => box.scrollWidth > box.clientWidth + 1)
.map((box) => box.getAttribute("aria-label"))"""
QUICK = ("academic-1k", "meta-2026")
OTHERS = (
    ("gb200-4x256",), ("h100-16k-llama3",), ("h100-100k",), ("power-capped-20mw",), ("tpu-like",),
    ("gb200-4x256", "crews"), ("gb200-4x256", "rack-limit-100kw"), ("tpu-like", "free-placement"),
    ("academic-1k", "staffing"), ("meta-2026", "half-mtbf"), ("h100-100k", "it-power-125mw"),
    ("h100-16k-llama3", "most-goodput-for-530m"), ("power-capped-20mw", "with-building"),
)  # fmt: skip
CASES = [(name,) for name in QUICK] + [pytest.param(case, marks=pytest.mark.heavy) for case in OTHERS]
FAULTY = """<!DOCTYPE html><title>faulty</title><main><section id="s"><h2 style="color: #999">Pale</h2><h4>Jump</h4>
<p style="width: 3000px">wide</p><p style="font-size: 8px">small</p><input id="i"><a href="#gone">gone</a>
<table><tr><td style="min-width: 2000px">bare</td></tr></table>
<svg viewBox="0 0 100 50" style="width: 300px; display: block"><path d="M0 0 H50 V50 H0 Z" fill="#222"/>
<text x="2" y="20" style="font-size: 9px">one</text><text x="4" y="22" style="font-size: 9px">two</text>
<text x="90" y="40" style="font-size: 9px">beyond</text><text x="60" y="20" style="font-size: 2px">tiny</text>
</svg></section></main>"""


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with launched() as browser:
        yield browser


def _open(chrome: Any, address: str, **options: Any) -> Watched:
    page = chrome.new_context(viewport={"width": WIDTHS[0], "height": 900}, **options).new_page()
    watched = Watched(page)
    watched.watch(page)
    page.goto(address, timeout=PATIENCE)
    return watched


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_report_in_a_browser(case: tuple[str, ...], chrome: Any, tmp_path: Path) -> None:
    """Proves that a report opened from its file shows all that it holds to whoever reads it.

    Scripts say nothing on the console and nothing but the file is asked for.  Every picture is drawn, its letters
    neither cut nor over others nor smaller than 8.5 px, on a desk and on a phone; the page never scrolls sideways, wide
    tables do within their box; text has a contrast of 4.5; headings, pictures, tables and inputs have names.
    Scenarios are picked by mouse and by keys, with scripts or without, and without them the text is the same.  Printed,
    everything is there and no picture is cut.
    """
    name, *scenarios = case
    instance = spareopt.read_instance(name, scenarios=scenarios)
    written = spareopt.write_report(spareopt.solve(instance), instance, tmp_path / "report.html")
    address = written.page.as_uri()
    watched = _open(chrome, address)
    _assert_readable(watched.page, written.report)
    _assert_picked(watched.page)
    text = watched.page.evaluate(
        """() => { const main = document.querySelector("main").cloneNode(true);
        main.querySelectorAll(".copy").forEach((button) => button.remove()); return main.textContent; }"""
    )
    _assert_printed(watched.page, written.report, tmp_path / "report.pdf")
    assert (watched.errors, watched.warnings, watched.asked) == ([], [], [address])

    bare = _open(chrome, address, java_script_enabled=False)
    assert bare.page.locator(".copy").count() == 0  # no script ran
    assert bare.page.locator("main").text_content().split() == text.split()
    _assert_picked(bare.page)
    assert bare.asked == [address]
    for page in (watched.page, bare.page):
        page.context.close()


def _assert_readable(page: Any, report: Report) -> None:
    """All that can be read is as it should be, at both widths and with each scenario picked."""
    assert page.locator("main svg").count() == sum(len(section.pictures) for section in report.sections)
    assert structure_faults(page) == []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert [*drawing_faults(page), *layout_faults(page), *contrast_faults(page)] == [], width
        if width == WIDTHS[0]:
            assert page.evaluate(SCROLLED) == [], "tables that a wide window cuts"
    for label in page.locator(".picker > label").all()[1:]:
        label.click()
        assert [*layout_faults(page), *contrast_faults(page)] == [], label.text_content()


def _assert_picked(page: Any) -> None:
    """One scenario is shown, the one that was picked by mouse or by keys."""
    labels, panels = page.locator(".picker > label"), page.locator(".panel:visible > h3")
    names = labels.all_text_contents()
    if not names:
        return
    labels.first.click()
    assert panels.all_text_contents() == names[:1]
    for key, expected in (("ArrowRight", names[1 % len(names)]), ("ArrowLeft", names[0]), ("ArrowLeft", names[-1])):
        page.keyboard.press(key)
        assert panels.all_text_contents() == [expected]
    labels.last.click()
    assert panels.all_text_contents() == names[-1:]


def _assert_printed(page: Any, report: Report, file: Path) -> None:
    """On paper every heading, table and picture is there, and no picture is cut over two sheets."""
    page.emulate_media(media="print")
    page.set_viewport_size(dict(zip(("width", "height"), SHEET, strict=True)))
    assert drawing_faults(page, smallest=SMALLEST_IN_PRINT) == []
    headings, tables = page.locator("h1, h2:not(.contents h2)"), page.locator("section .block:not(.panel *)")
    assert headings.count() == 1 + len(report.sections)
    assert tables.count() == sum(len(section.tables) for section in report.sections)
    assert all(part.is_visible() for part in (*headings.all(), *tables.all()))
    for figure in page.locator("figure").all():
        assert figure.bounding_box()["height"] < SHEET[1]
        assert figure.evaluate("(figure) => getComputedStyle(figure).breakInside") == "avoid"
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0, "wider than a sheet"
    page.pdf(path=file, prefer_css_page_size=True)
    said = [_squeezed(text) for text in headings.all_text_contents()]
    drawn = page.evaluate(
        """() => [...document.querySelectorAll("main svg")].map((svg) => [...svg.querySelectorAll("text")]
        .filter((text) => Math.abs(text.getScreenCTM().b) < 1e-6).map((text) => text.textContent))"""
    )
    page.emulate_media(media="screen")
    if shutil.which("pdftotext") is None:
        return
    done = subprocess.run(["pdftotext", file, "-"], capture_output=True, text=True, check=True)
    sheets = [_squeezed(sheet) for sheet in done.stdout.split("\f")[:-1]]
    assert len(sheets) > 3 and all(sheets), "an empty sheet"
    assert [heading for heading in said if not any(heading in sheet for sheet in sheets)] == []
    for texts in drawn:
        parts = [_squeezed(text) for text in texts]
        missing = min(([part for part in parts if part not in sheet] for sheet in sheets), key=len)
        assert missing == [], f"not on the sheet of {texts[:3]}"


def _squeezed(text: str) -> str:
    """The letters of a text alone: lines of print end anywhere."""
    return "".join(letter for letter in unicodedata.normalize("NFKC", text) if letter.isalnum())


def test_checks_see_faults(chrome: Any) -> None:
    """Proves that the checks find what they look for: a page that has every fault is told to have them."""
    page = chrome.new_page(viewport={"width": 400, "height": 600})
    page.set_content(FAULTY)
    drawn = "\n".join(drawing_faults(page))
    for part in ("marks only", "cut by", '"two" over "one"', '"tiny"', "nothing to point at"):
        assert part in drawn
    layout = "\n".join(layout_faults(page))
    for part in ("scrolls sideways", 'beyond the window: "wide"', '8 px high: "small"', "can't be scrolled"):
        assert part in layout
    pale = "\n".join(contrast_faults(page))
    assert '"Pale"' in pale and '"one"' in pale and '"tiny"' not in pale
    structure = "\n".join(structure_faults(page))
    for part in ("h1", "h4 follows h2", "language", "without a name", "caption", "label", "link to nothing"):
        assert part in structure
    page.close()
