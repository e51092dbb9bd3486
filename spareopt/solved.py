"""A plan with the instance that it was made from, and what it is called: what comparisons are of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spareopt.instance import Instance
from spareopt.plan import Plan
from spareopt.store import read_solved

Source = str | Path | tuple[Plan, Instance]
"""A plan folder, or a plan with the instance that it was made from."""


@dataclass(frozen=True)
class Solved:
    """A plan with its instance, and what it is called."""

    name: str
    plan: Plan
    instance: Instance


def read_source(source: Source, place: int) -> Solved:
    """A plan with its instance; one that is not from a folder is named by its place.  Raises InputError."""
    if isinstance(source, tuple):
        return Solved(f"plan {place}", *source)
    return Solved(str(source), *read_solved(source))
