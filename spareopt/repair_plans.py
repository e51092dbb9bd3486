"""Repair plans: repair times by fault class, and choices of crews, shelf and deferral with their prices."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from spareopt.failures import RepairTime
from spareopt.fields import Counts, Money, Name, PositiveTime, Time, YearlyMoney
from spareopt.record import Record

MOST_ON_SHELF = 100_000  # more is a slip of the pen


def _from_one(value: tuple[int, ...] | None) -> tuple[int, ...] | None:
    if value is not None and min(value) < 1:
        raise ValueError("expected at least 1")
    return value


class RepairPlan(Record):
    """A way to repair, and what it costs per zone that takes it."""

    name: Name
    tray: RepairTime
    rack: RepairTime | None = None
    domains: dict[Name, RepairTime] = Field(default_factory=dict)
    """Repair times of fault domains below the site, where they differ from the domain's own."""
    crews: Counts | None = None
    """Choices of the number of crews that work hands-on on trays and racks; ample when left out."""
    crew_hours_per_week: Annotated[float, Field(ge=1, le=168)] = 168.0
    """Hours a week that a crew is on duty; below 168 hands-on times are stretched by 168 over it."""
    crew_cost: YearlyMoney = 0.0
    """Yearly cost of one crew."""
    shelf: Counts | None = None
    """Choices of the number of trays on the shelf; one is always at hand when left out."""
    lead_time: PositiveTime | None = None
    """Mean time in which the vendor replaces a tray taken from the shelf, whatever its law."""
    parts_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of the tray faults that need a tray from the shelf."""
    tray_price: Money = 0.0
    """Price of a tray on the shelf."""
    shared_by: Literal["zone", "site"] = "zone"
    """Who shares the crews and the shelf: each zone has its own, or all zones of the site have them together."""
    start_at: Counts | None = None
    """Choices of how many trays of a block must be down before its repair starts; at once when left out."""
    window: PositiveTime | None = None
    """Time from one repair window to the next, such as a week: only then repairs start."""
    out_of_service: Literal["tray", "block", "rack"] = "tray"
    """What is out of service while trays of a block are repaired."""
    swap_stop: Time = 0.0
    """Time that the job stands still, without losing work, for each repair in a working block."""
    yearly_cost: YearlyMoney = 0.0
    """Yearly cost of the plan for one zone, besides its crews' and shelf's."""

    @field_validator("crews")
    @classmethod
    def _some_crew(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return _from_one(value)

    @field_validator("shelf")
    @classmethod
    def _some_shelf(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if value is not None and max(value) > MOST_ON_SHELF:
            raise ValueError(f"expected at most {MOST_ON_SHELF:,} trays")
        return value

    @field_validator("start_at")
    @classmethod
    def _some_tray(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return _from_one(value)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.shelf is not None and self.lead_time is None:
            raise ValueError('lead_time: required with shelf, such as "130 h"')
        if self.shelf is None:
            for field, unused in (
                ("lead_time", self.lead_time is not None),
                ("tray_price", self.tray_price > 0),
                ("parts_share", self.parts_share != 1),
            ):
                if unused:
                    raise ValueError(f"{field}: only used with shelf; take it out, or state the shelf's trays")
        if self.crews is None and self.crew_cost > 0:
            raise ValueError("crew_cost: needs a number of crews; ample crews are priced in yearly_cost")
        if self.shared_by == "site" and self.crews is None and self.shelf is None:
            raise ValueError(
                "shared_by: nothing is shared; state crews or shelf. A yearly_cost is of each zone that takes the "
                "plan: for a price of the whole site leave shared_by out, and state the price over the number of zones"
            )
        if self.start_at is not None and self.window is not None:
            raise ValueError("window: expected start_at or window, not both")
        if self.deferred and (self.crews is not None or self.shelf is not None):
            what = next(field for field in ("start_at", "window", "out_of_service") if self._states(field))
            raise ValueError(
                f"{what}: with a number of crews or a shelf the chain of a block is not known; "
                "give the deferred plan ample crews and its own times, as a plan beside the others"
            )
        return self

    def _states(self, field: str) -> bool:
        return {
            "start_at": self.start_at is not None and max(self.start_at) > 1,
            "window": self.window is not None,
            "out_of_service": self.out_of_service != "tray",
        }[field]

    @property
    def deferred(self) -> bool:
        """Whether repair is deferred, or takes more than the tray out of service, in any of its choices."""
        return any(self._states(field) for field in ("start_at", "window", "out_of_service"))
