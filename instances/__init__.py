"""The shipped procurement instances, each runnable by name."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The names of the shipped instances, in alphabetical order."""
    return sorted(file.stem for file in _FOLDER.glob("*.yaml"))


def path(name: str) -> Path:
    """The file of a shipped instance."""
    return _FOLDER / f"{name}.yaml"
