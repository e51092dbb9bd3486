"""The tables to start from that planners fill in, each written by the module that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spareopt.instance import Instance


@dataclass(frozen=True)
class Template:
    """A table to start from: what it is, the function that writes it for an instance, and the command to try next."""

    what: str
    module: str
    function: str
    next_step: str
    """With {instance} and {file}."""


TEMPLATES = {
    "prices": Template(
        "your own prices and block offers",
        "spareopt.overlays.price_list",
        "price_list_template",
        "spareopt solve {instance} --overlay {file}",
    ),
    "contracts": Template(
        "vendors' repair contracts",
        "spareopt.overlays.contracts",
        "contracts_template",
        "spareopt solve {instance} --overlay {file}",
    ),
}


def template_text(kind: str, instance: Instance) -> str:
    """The text of a template, filled in with what an instance states."""
    template = TEMPLATES[kind]
    text: str = getattr(import_module(template.module), template.function)(instance)
    return text
