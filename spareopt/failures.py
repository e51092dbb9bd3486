"""What fails and how often: fault classes, bursts, fault domains and their repair, how surely the rates are known."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from spareopt.fields import Name, PositiveTime, Rate, Spans, Time, WholeNumber
from spareopt.lifetimes import BurnIn, Lemons, Lifetime, Silent
from spareopt.numerics.rate_mixture import multiplier_variance
from spareopt.record import Record

MOST_FEEDS = 64  # more is a slip of the pen


class FaultClass(Record):
    """Faults of one kind of unit, at a constant rate, given as an MTBF or as a rate."""

    mtbf: PositiveTime | None = None
    """Mean time between failures of one unit."""
    rate: Rate | None = None
    """Faults of one unit per time."""

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.mtbf is None) == (self.rate is None):
            raise ValueError('expected exactly one of mtbf (such as "20000 h") and rate (such as "0.001 per day")')
        return self

    @property
    def per_hour(self) -> float:
        """Faults of one unit per hour."""
        if self.mtbf is not None:
            return 1.0 / self.mtbf
        assert self.rate is not None
        return self.rate


class UnitFaults(FaultClass):
    """Faults of trays or of racks, with what only the simulator carries."""

    lifetime: Lifetime | None = None
    """Law of a unit's lifetime; exponential when left out."""
    lemons: Lemons | None = None
    """Units that fail more often than the others; all are alike when left out."""
    burn_in: BurnIn | None = None
    """Faster ageing of new units; none when left out."""


class TrayFaults(UnitFaults):
    """Faults of trays."""

    silent: Silent | None = None
    """Faults that are not noticed at once; all are when left out."""


class Burst(FaultClass):
    """An event that fails many trays of neighbouring racks at once; its rate is that of the whole site."""

    name: Name
    racks: WholeNumber
    """Neighbouring racks of one random zone that it strikes."""
    share: Annotated[float, Field(gt=0, le=1)]
    """Probability with which each tray of these racks fails."""


class RepairPhase(Record):
    """A way that some of the repairs go, such as fixed by a reset, or ticketed."""

    share: Annotated[float, Field(gt=0, le=1)]
    """Share of the repairs that go this way."""
    hands_on: Time
    """Mean hands-on time of these."""


class RepairTime(Record):
    """Time from a fault to the unit's return; with ample crews only the mean matters."""

    hands_on: Time | None = None
    """Mean time that a crew works on the unit; left out where phases are given."""
    off_crew: Time = 0.0
    """Mean delay that holds no crew: diagnosis queue elsewhere, parts, vendor."""
    law: Literal["exponential", "deterministic", "lognormal"] = "exponential"
    """Law of the hands-on time (of each phase)."""
    variation: Annotated[float, Field(gt=0)] | None = None
    """Standard deviation over mean, with law: lognormal."""
    phases: Annotated[tuple[RepairPhase, ...], Field(min_length=2)] | None = None
    """Ways that repairs go, each with its share and mean: exponential ones make a hyper-exponential law."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.hands_on is None and self.phases is None:
            raise ValueError("hands_on: required, but missing (or give phases)")
        if self.hands_on is not None and self.phases is not None:
            raise ValueError("phases: they state the hands-on time; take hands_on out, or phases (phases: null)")
        if self.phases is not None and abs(sum(phase.share for phase in self.phases) - 1.0) > 1e-9:
            raise ValueError(f"phases: expected shares that sum to 1, got {sum(p.share for p in self.phases):.12g}")
        if (self.variation is not None) != (self.law == "lognormal"):
            raise ValueError("variation: expected with law: lognormal, and only with it")
        return self

    @property
    def mean_hands_on(self) -> float:
        """Mean hands-on time, h."""
        if self.phases is not None:
            return sum(phase.share * phase.hands_on for phase in self.phases)
        assert self.hands_on is not None
        return self.hands_on

    @property
    def mttr(self) -> float:
        """Mean time to repair, h."""
        return self.mean_hands_on + self.off_crew

    @property
    def exponential(self) -> bool:
        """Whether the hands-on time is exponential."""
        return self.law == "exponential" and (self.phases is None or len({p.hands_on for p in self.phases}) == 1)


class Feeds(Record):
    """Redundant supply: the domain is up while enough of its feeds are."""

    number: WholeNumber
    """Feeds of one unit of the domain; the domain's MTBF and repair time are those of one feed."""
    needed: WholeNumber
    """How many must be up."""

    @model_validator(mode="after")
    def _some_spare(self) -> Self:
        if self.number > MOST_FEEDS:
            raise ValueError(f"number: expected at most {MOST_FEEDS}")
        if self.needed > self.number:
            raise ValueError(f"needed: expected at most the number of feeds ({self.number})")
        return self


class FaultDomain(FaultClass):
    """Anything besides trays and racks whose fault takes other things down: cooling unit, power feed, leaf switch."""

    name: Name
    spans: Spans
    """Its blast radius: a number of racks, the zone or the site."""
    units: WholeNumber = 1
    """With spans: site, how many there are; each takes down an equal share of the racks of every zone."""
    feeds: Feeds | None = None
    """Redundant feeds of each unit; none when left out."""
    repair: RepairTime
    """Its repair time, where a repair plan does not state another."""

    @model_validator(mode="after")
    def _units_of_the_site(self) -> Self:
        if self.units > 1 and self.spans != "site":
            raise ValueError("units: only with spans: site; elsewhere the number follows from the racks")
        return self


class RateUncertainty(Record):
    """How surely the fault rates are known: all of them are multiplied by one Gamma-distributed number of mean 1."""

    variance: Annotated[float, Field(gt=0, le=10)] | None = None
    """Variance of the multiplier."""
    variance_to_mean: Annotated[float, Field(gt=1)] | None = None
    """Variance over mean of counts of the whole fleet that were observed, such as servers down at once."""
    mean_count: Annotated[float, Field(gt=0)] | None = None
    """Mean of those counts, with variance_to_mean."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        counted = (self.variance_to_mean is not None, self.mean_count is not None)
        if any(counted) == (self.variance is not None) or (any(counted) and not all(counted)):
            raise ValueError("expected variance, or variance_to_mean with mean_count")
        if self.multiplier_variance > 10:
            raise ValueError(f"expected a variance of the multiplier of at most 10, got {self.multiplier_variance:.4g}")
        return self

    @property
    def multiplier_variance(self) -> float:
        """Variance of the multiplier."""
        if self.variance is not None:
            return self.variance
        assert self.variance_to_mean is not None and self.mean_count is not None
        return multiplier_variance(self.variance_to_mean, self.mean_count)


class PlannedStops(FaultClass):
    """Planned interruptions of the whole job, such as software updates: they cost no lost work."""

    stop: PositiveTime
    """Time that the job stands still for each."""


class Failures(Record):
    """Fault rates by class."""

    tray: TrayFaults
    rack: UnitFaults | None = None
    domains: tuple[FaultDomain, ...] = ()
    bursts: tuple[Burst, ...] = ()
    """Events that fail many trays at once; only the simulator carries them."""
    software: FaultClass | None = None
    """Interruptions of the whole job that need no repair."""
    planned: PlannedStops | None = None
    """Planned interruptions of the whole job."""
    charge: Literal["domain", "block"] = "domain"
    """Who is charged with a fault of a rack or domain below the site in the interruption rate: the domain once, if it
    holds a working block, or, as in the MLSys 2026 paper, each of its working blocks."""
    ageing: Literal["always", "working", "computing"] = "always"
    """What ages: all units, always; only working blocks while the job is not blocked; only while it computes."""
    uncertainty: RateUncertainty | None = None
    """Spread of what the fault rates may be; certain when left out."""
