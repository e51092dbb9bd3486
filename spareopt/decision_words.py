"""Decisions in words: the value of one, the choice of a zone, the choices of several."""

from __future__ import annotations

from collections.abc import Iterable

from spareopt.decisions import ZoneChoice
from spareopt.wording import watts

FULL = "full"
"""The GPU limit of a choice that states none."""


def value_words(decision: str, value: object) -> str:
    """The value of a decision; GPU limits are in kW."""
    if decision == "gpu_limit" and isinstance(value, int | float):
        return watts(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def limit_words(choice: ZoneChoice) -> str:
    """The GPU limit of a zone choice."""
    return FULL if choice.gpu_limit is None else watts(choice.gpu_limit)


def repair_words(choice: ZoneChoice) -> list[str]:
    """What a zone choice takes of its repair plan, in words: crews, trays on the shelf, when a repair starts."""
    words = []
    if choice.crews is not None:
        words.append(f"{choice.crews:,} crew{'s' if choice.crews > 1 else ''}")
    if choice.shelf_trays is not None:
        words.append(f"{choice.shelf_trays:,} on the shelf")
    if choice.start_at is not None:
        words.append("at once" if choice.start_at == 1 else f"at {choice.start_at} trays down")
    return words


def choice_words(choice: ZoneChoice, full: str = "") -> str:
    """A zone choice in one line; ``full`` says that it states no GPU limit."""
    words = [
        choice.design,
        f"{choice.racks:,} racks",
        f"I={choice.intra_block_spares}",
        f"R={choice.inter_block_spares}",
        choice.repair_plan,
        *repair_words(choice),
        full if choice.gpu_limit is None else limit_words(choice),
    ]
    return ", ".join(filter(None, words))


def choices_words(choices: Iterable[ZoneChoice]) -> str:
    """The choices of several zones in one line, in the order of their words."""
    words = sorted((choice_words(choice, FULL), choice.count) for choice in choices)
    return "; ".join(f"{count} × {text}" for text, count in words)
