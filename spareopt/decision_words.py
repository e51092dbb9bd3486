"""Decisions in words: the value of one, the choice of a zone, the choices of several."""

from __future__ import annotations

from collections.abc import Iterable

from spareopt.decisions import ZoneChoice
from spareopt.wording import counted, watts

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


def spoken_choices(choices: Iterable[ZoneChoice]) -> str:
    """The choices of several zones in words for those who don't know the letters; of more than one choice shorter."""
    told = sorted(choices, key=lambda choice: (choice_words(choice, FULL), choice.count))
    return "; ".join(_spoken(choice, short=len(told) > 1) for choice in told)


def _spoken(choice: ZoneChoice, *, short: bool) -> str:
    zones = f"{counted(choice.count, 'zone')} of {counted(choice.racks, 'rack')}"
    trays = f"{_some(choice.intra_block_spares, 'idle tray')} in each block"
    blocks = _some(choice.inter_block_spares, "idle block") + (" in each zone" if choice.count > 1 else "")
    if choice.inter_block_spares == 0:
        blocks = "no idle block"
    extra = repair_words(choice)
    repair = choice.repair_plan + (f" ({', '.join(extra)})" if extra else "")
    if short:
        limit = "" if choice.gpu_limit is None else f", {limit_words(choice)}"
        return f"{zones} ({choice.design}) with {trays} and {blocks}, {repair}{limit}"
    limit = "GPUs at their full limit" if choice.gpu_limit is None else f"GPUs limited to {limit_words(choice)}"
    return f"{zones} (design {choice.design}): {trays}, {blocks}, repair plan {repair}, {limit}"


def _some(number: int, word: str) -> str:
    return f"no {word}" if number == 0 else f"one {word}" if number == 1 else counted(number, word)


def choices_words(choices: Iterable[ZoneChoice]) -> str:
    """The choices of several zones in one line, in the order of their words."""
    words = sorted((choice_words(choice, FULL), choice.count) for choice in choices)
    return "; ".join(f"{count} × {text}" for text, count in words)
