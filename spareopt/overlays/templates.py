"""The files to start from that planners fill in, each written beside the module that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spareopt.instance import Instance


@dataclass(frozen=True)
class Template:
    """A file to start from: what it is, the function that writes it for an instance, and the command to try next."""

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
    "log": Template(
        "an incident log to calibrate from",
        "spareopt.calibration.templates",
        "log_template",
        "spareopt calibrate {file} --fleet fleet.csv --mapping mapping.yaml --instance {instance} -o overlay.yaml",
    ),
    "fleet": Template(
        "the fleet that the incidents are of",
        "spareopt.calibration.templates",
        "fleet_template",
        "spareopt calibrate log.csv --fleet {file} --mapping mapping.yaml --instance {instance} -o overlay.yaml",
    ),
    "mapping": Template(
        "what the words of an incident log mean",
        "spareopt.calibration.templates",
        "mapping_template",
        "spareopt calibrate log.csv --fleet fleet.csv --mapping {file} --instance {instance} -o overlay.yaml",
    ),
}


def template_text(kind: str, instance: Instance) -> str:
    """The text of a template, filled in with what an instance states."""
    template = TEMPLATES[kind]
    text: str = getattr(import_module(template.module), template.function)(instance)
    return text
