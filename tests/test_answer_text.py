"""The answer in words: readable by those who don't know I and R, and the list of words is the same everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from spareopt.decision_words import spoken_choices
from spareopt.decisions import ZoneChoice
from spareopt.glossary import WORDS

ROOT = Path(__file__).resolve().parent.parent
SITE = ZoneChoice(
    zone="hall", count=2, design="nvl72", racks=16, intra_block_spares=1, inter_block_spares=0, repair_plan="on-site",
    gpu_limit="1.2 kW",
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {},
            "2 zones of 16 racks (design nvl72): one idle tray in each block, no idle block, repair plan on-site, GPUs "
            "limited to 1,200 W",
        ),
        (
            {"count": 1, "racks": 1, "intra_block_spares": 0, "inter_block_spares": 3, "gpu_limit": None, "crews": 2},
            "1 zone of 1 rack (design nvl72): no idle tray in each block, 3 idle blocks, repair plan on-site (2 "
            "crews), GPUs at their full limit",
        ),
        (
            {"intra_block_spares": 4, "inter_block_spares": 1},
            "2 zones of 16 racks (design nvl72): 4 idle trays in each block, one idle block in each zone, repair plan "
            "on-site, GPUs limited to 1,200 W",
        ),
    ],
)
def test_a_choice_is_said_in_words(changes: dict[str, object], words: str) -> None:
    """Proves that a choice is told without letters, with none, one and many of what it counts, in one zone and more."""
    assert spoken_choices([SITE.model_copy(update=changes)]) == words


def test_several_choices_are_shorter() -> None:
    """Proves that each of several choices takes fewer words than alone, in an order that does not depend on theirs."""
    other = SITE.model_copy(update={"count": 1, "inter_block_spares": 2})
    words = spoken_choices([SITE, other])
    assert words == spoken_choices([other, SITE])
    assert "1 zone of 16 racks (nvl72) with one idle tray in each block and 2 idle blocks, on-site, 1,200 W" in words
    assert len(words) < len(spoken_choices([SITE])) + len(spoken_choices([other]))


def test_words_are_the_same_in_the_docs() -> None:
    """Proves that the page of words and the list at the end of a report are the same, word for word, in order."""
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert rows == [f"| {word} | {meaning} |" for word, meaning in WORDS]
