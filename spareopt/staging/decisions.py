"""What a staged plan decides: for each zone a choice in every quarter, checkpoint plans, and orders for the shelf."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from spareopt.decisions import ZoneChoice
from spareopt.fields import Name, WholeNumber

_Count = Annotated[int, Field(strict=True, ge=0)]


class StagedZone(BaseModel):
    """One zone over the quarters."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    zone: Name
    """Its class."""
    number: WholeNumber
    """Its number in the class, from 1; those of ``horizon.bought`` come first, in the order stated."""
    quarters: tuple[ZoneChoice | None, ...]
    """How it is built and run in each quarter (a choice for one zone); None while it is not built."""

    def racks(self) -> tuple[int, ...]:
        """Racks in each quarter."""
        return tuple(0 if choice is None else choice.racks for choice in self.quarters)


class StagedDecisions(BaseModel):
    """A whole staged plan's decisions; what is bought follows from the zones' racks and the lead time."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    zones: Annotated[tuple[StagedZone, ...], Field(min_length=1)]
    checkpoint_plans: tuple[Name | None, ...]
    """Of the job, in each quarter; None in which nothing runs."""
    shelf_orders: tuple[_Count, ...]
    """Trays for the shelf, by the quarter in which they are ordered."""
