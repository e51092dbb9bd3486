"""How units of one kind live and fail beyond a constant rate: law of lifetimes, lemons, burn-in, silent faults."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from spareopt.fields import PositiveTime
from spareopt.record import Record

Multiple = Annotated[float, Field(gt=1, le=1000)]


class Lifetime(Record):
    """Law of a unit's time from its return (or its start) to its next fault; the class states the mean."""

    law: Literal["exponential", "weibull", "lognormal"]
    shape: Annotated[float, Field(ge=0.2, le=20)] | None = None
    """Weibull shape, with law: weibull: below 1 the hazard falls with age, above 1 it rises."""
    variation: Annotated[float, Field(gt=0, le=10)] | None = None
    """Standard deviation over mean, with law: lognormal."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for field, law, example in (("shape", "weibull", "0.7"), ("variation", "lognormal", "1.5")):
            given = getattr(self, field)
            if self.law == law and given is None:
                raise ValueError(f"{field}: required with law: {law}, such as {example}")
            if self.law != law and given is not None:
                raise ValueError(f"{field}: only used with law: {law}, not {self.law}; take it out, got {given:g}")
        return self

    @property
    def exponential(self) -> bool:
        """Whether lifetimes are exponential, as a Weibull law of shape 1 is too."""
        return self.law == "exponential" or self.shape == 1.0


class Lemons(Record):
    """A share of the units that fails more often than the others; the class states the mean rate of all."""

    share: Annotated[float, Field(gt=0, lt=1)]
    """Share of the units that are lemons."""
    multiple: Multiple
    """How many times as often as one of the others a lemon fails."""


class BurnIn(Record):
    """Faster ageing of new units; the class states the rate after it."""

    duration: PositiveTime
    """Time of use of a new unit, until its first fault at most, in which it ages faster; after a repair no more."""
    multiple: Multiple
    """How many times as fast it ages."""


class Silent(Record):
    """Faults that are not noticed at once: the job goes on, and all work done until they are found is lost."""

    share: Annotated[float, Field(gt=0, le=1)]
    """Share of the faults that are silent."""
    found_after: PositiveTime
    """Mean time from a silent fault until it is found, exponential."""
