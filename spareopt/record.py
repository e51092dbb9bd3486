"""What models have in common: those of an instance, which refuse what they do not know, and those of results."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A part of an instance: frozen, no unknown fields, finite numbers, documented fields."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        validate_default=False,
    )


class Frozen(BaseModel):
    """A part of a result."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)  # all is always written

    def __str__(self) -> str:
        """What it says in short, where it shows itself; its fields are what ``repr`` is for."""
        return self._short() if isinstance(self, Shown) else super().__str__()


class Result(Frozen):
    """A result as a whole: the same bytes for the same input, versions and seed."""

    def to_json(self) -> str:
        """The result as JSON text, which ``model_validate_json`` of its class reads back."""
        return self.model_dump_json(indent=2) + "\n"


class Shown:
    """A result that shows itself in a notebook: how is known downstream of every result, and looked up by name."""

    @property
    def plot(self) -> Any:
        """Its pictures as methods that return matplotlib axes."""
        return import_module("spareopt.plots").plots_of(self)

    def _short(self) -> str:
        text: str = import_module("spareopt.notebook").short_of(self)
        return text

    def _repr_html_(self) -> str:
        text: str = import_module("spareopt.notebook").html_of(self)
        return text


def all_records(base: type[Record] = Record) -> list[type[Record]]:
    """Every model of an instance, those that extend another one too."""
    return [found for record in base.__subclasses__() for found in (record, *all_records(record))]
