"""What is wrong with a page as a browser shows it: what is cut, overlaps, is too small, too pale or has no name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SMALLEST = 8.5
"""Pixels below which letters can't be read on a screen."""
CONTRAST = 4.5
"""Of text on what lies behind it: WCAG 2.1, success criterion 1.4.3 (AA)."""


def _run(page: Any, check: str, smallest: float = SMALLEST) -> list[str]:
    """What a check of the script finds on a page."""
    limits = f"const SMALLEST = {smallest}, CONTRAST = {CONTRAST};"
    script = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    found: list[str] = page.evaluate(f"(() => {{\n{limits}\n{script}\nreturn {check}();\n}})()")
    return found


def drawing_faults(page: Any, smallest: float = SMALLEST) -> list[str]:
    """Pictures that are not drawn, texts in them that are cut, too small or over others, marks that say nothing."""
    return _run(page, "drawings", smallest)


def layout_faults(page: Any) -> list[str]:
    """A page or a text wider than the window, a table that can't be scrolled, letters too small."""
    return _run(page, "layout")


def contrast_faults(page: Any) -> list[str]:
    """Text too pale for what lies behind it, in pictures too."""
    return _run(page, "contrasts")


def structure_faults(page: Any) -> list[str]:
    """What those who don't see a page need: one first heading, headings without jumps, names of everything."""
    return _run(page, "structure")
