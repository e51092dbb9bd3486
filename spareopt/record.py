"""What every model of an instance has in common: frozen, no unknown fields, finite numbers, documented fields."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A part of an instance."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        validate_default=False,
    )


def all_records(base: type[Record] = Record) -> list[type[Record]]:
    """Every model of an instance, those that extend another one too."""
    return [found for record in base.__subclasses__() for found in (record, *all_records(record))]
