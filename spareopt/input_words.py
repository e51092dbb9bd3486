"""Paths of an instance's inputs as a planner says them."""

from __future__ import annotations

LISTS = ("designs", "zones", "repair_plans", "checkpoint_plans")


def input_words(path: str) -> str:
    """An input as a planner says it: ``checkpoint_plans.*.restart`` is "restart, all checkpoint plans"."""
    tied = [_words(part.strip()) for part in path.split(",")]
    return " and ".join(", ".join(filter(None, words)) for words in tied)


def _words(path: str) -> tuple[str, str]:
    head, *rest = path.split(".")
    owner = head.replace("_", " ")
    if rest and head in LISTS:
        item, *rest = rest
        owner = f"all {owner}" if item == "*" else item
    else:
        owner = ""
    if "*" in rest[1:]:
        place = rest.index("*", 1)
        owner, rest = f"all {rest[place - 1].replace('_', ' ')}", rest[place + 1 :]
    words = ["each" if part == "*" else part.replace("_", " ").replace("mtbf", "MTBF") for part in rest]
    if words[:1] == ["each"]:
        words, owner = words[1:], f"all {head.replace('_', ' ')}"
    return (" ".join(words), owner) if words else (head.replace("_", " "), "")
