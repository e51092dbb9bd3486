"""What an overlay was made for: values that the instance must have before anything changes it, scenarios it holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from spareopt import units
from spareopt.errors import Fault
from spareopt.fields import Counts, PowerChoices
from spareopt.instance import Instance
from spareopt.overlays.overlay import Overlay
from spareopt.overrides import value_at
from spareopt.yaml_source import value_text

MOST_TOLD = 8
"""Faults that are told one by one; an overlay of another instance would have a hundred."""


def unmet(base: Instance, overlay: Overlay) -> list[Fault]:
    """The values that an overlay expects and that ``base``, the instance before any change, does not have."""
    data, faults = base.resolved(), []
    for path, expected in overlay.expects.items():
        found = value_at(data, path)
        if not _same(found, expected, base.currency):
            message = f"made for an instance that has {_told(expected)} here; this one has {_told(found)}"
            faults.append(overlay.fault(("expects", path), path, message))
    if not faults:
        return []
    more = f"and {len(faults) - MOST_TOLD} more; " if len(faults) > MOST_TOLD else ""
    remedy = f"{more}make it anew from this instance, or give the instance that it was made for"
    return [*faults[:MOST_TOLD], overlay.fault(("expects",), "expects", remedy)]


def held_twice(overlay: Overlay, scenarios: Sequence[str]) -> list[Fault]:
    """The scenarios that are asked for although the overlay holds what they change."""
    twice: Iterable[str] = (name for name in scenarios if name in overlay.holds)
    return [
        overlay.fault(("holds",), "holds", f"was made with scenario {name!r} applied; take --scenario {name} out")
        for name in twice
    ]


def _told(value: Any) -> str:
    return "nothing" if value is None else value_text(value)


def _same(found: Any, expected: Any, currency: str) -> bool:
    """Whether two values of plain data are the same number, quantity or choices."""
    if found == expected:
        return True
    if isinstance(found, str) and isinstance(expected, str):
        for kind in units.KINDS:
            try:
                return units.parse(found, kind, currency) == units.parse(expected, kind, currency)
            except ValueError:
                continue
        return False
    for choices in (Counts, PowerChoices):
        adapter: TypeAdapter[Any] = TypeAdapter(choices)
        try:
            return bool(adapter.validate_python(found) == adapter.validate_python(expected))
        except (ValidationError, ValueError):
            continue
    return False
