"""What an incident log says of a fleet, as a result: rates, repair times, departures from the model, exclusions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

from spareopt.record import Frozen, Result

if TYPE_CHECKING:
    import pandas as pd

LONG_H = 240.0
"""10 days: a repair longer than this is told apart."""
SHOWN = 0.01
"""Level at which counts are said to spread further than Poisson's law, or a trend to be one."""


class Estimate(Frozen):
    """An estimate with its confidence interval; an end is None where there is none."""

    value: float | None
    """The estimate."""
    low: float | None
    """The low end."""
    high: float | None
    """The high end."""


class FaultRate(Frozen):
    """Faults of one kind of units over the time that these were exposed."""

    kind: str
    """tray, rack, the name of a fault domain, or software (whose unit is the job)."""
    faults: int
    """Those that count: faults of a burst of trays are one fault of a rack."""
    units: float
    """Units in service, on average over the observation."""
    in_service_h: float
    """Unit-hours in service."""
    up_h: float
    """Unit-hours up, the exposure of the MTBF; of software those in which the job is not down by software."""
    mtbf_h: Estimate
    """Up-time over faults, with the exact Poisson interval; without a fault only its low end, one-sided."""
    dispersion: float
    """How many times as far as Poisson's law the number of faults spreads; 1 where that is not shown (at 1 %)."""
    dispersed_by: tuple[Literal["units", "weeks"], ...]
    """What shows it: differences between units, or between weeks."""
    mtbf_dispersed_h: Estimate
    """The MTBF with the interval that the dispersion widens: for a new fleet of such units.  The overlay has this."""
    per_1000_unit_days: Estimate
    """Faults per 1,000 unit-days in service, with the wider interval."""


class ClassRate(Frozen):
    """Faults of one class of the log's own."""

    kind: str
    """Of units."""
    fault_class: str
    """The log's name of it."""
    faults: int
    """Those that count."""
    per_1000_unit_days: Estimate
    """With the exact Poisson interval."""
    mean_repair_h: float | None
    """Of ended repairs."""
    median_repair_h: float | None
    """Of ended repairs."""


class RepairPhaseFit(Frozen):
    """A phase of the fitted mixture of exponential repair times."""

    share: Estimate
    """Of repairs."""
    mean_h: Estimate
    """Mean of its repair time."""


class RepairTimes(Frozen):
    """How long repairs of one kind of units take."""

    kind: str
    """Of units."""
    ended: int
    """Repairs that ended."""
    open: int
    """Still open when last seen; they count with the time so far."""
    mean_h: Estimate | None
    """Of the fitted mixture; the arithmetic mean where none is open.  None where no repair of some length has ended."""
    median_h: float | None
    """Of the survival curve; None where it does not fall to a half."""
    restricted_mean_h: float
    """Mean of the repair time or the longest on record, whichever is less, by the survival curve."""
    longest_h: float
    """Longest on record, ended or open."""
    share_over_10_days: float
    """Share of the repairs that took longer than 10 days, so far."""
    downtime_over_10_days: float
    """Share of all downtime that these make."""
    phases: tuple[RepairPhaseFit, ...]
    """By mean; one where fewer than 30 repairs have ended, none where none has."""
    log_likelihood: tuple[float, ...]
    """Of mixtures of 1, 2, … phases; the last one was tried in vain, or is of 4 phases."""
    bic: tuple[float, ...]
    """The least is taken."""
    curve_h: tuple[float, ...]
    """Times of the survival curve, at most 200 of its steps."""
    curve: tuple[float, ...]
    """Share of the repairs that take longer."""


class CountSpread(Frozen):
    """How far counts spread: variance over mean, 1 for faults at one constant rate."""

    of: Literal["units", "weeks"]
    """Counts of each unit, or of each week."""
    number: int
    """Units or weeks."""
    mean: float
    """Faults of each."""
    most: int
    """Faults of the worst."""
    variance_over_mean: Estimate
    """Pearson's index, in which each has its own time in service."""
    p_value: float | None
    """How often a constant rate spreads them so far."""
    histogram: tuple[int, ...]
    """How many units (weeks) have 0, 1, 2, … faults."""


class Evenness(Frozen):
    """How faults of one kind (or all) are spread over units and time."""

    kind: str
    """A kind, or all: faults of all kinds."""
    units: CountSpread | None
    """None where it is not known which units were in service when."""
    weeks: CountSpread | None
    """None with fewer than 8 whole weeks."""
    gap_shape: Estimate
    """Weibull shape of the positive gaps between faults of the whole fleet; below 1 they come in clusters."""
    positive_gaps: int
    """Gaps between faults that are longer than none."""
    ties: int
    """Gaps of none: faults recorded at the same time."""
    laplace: float | None
    """Laplace's trend statistic: above 0 more faults late than early."""
    trend_p_value: float | None
    """How often a constant rate has so much of a trend."""
    halves_ratio: Estimate
    """Rate in the second half of the exposed time over that in the first."""
    month_h: tuple[float, ...]
    """Ends of 30-day months, and the beginning of the first, on the clock of the log."""
    month_rate: tuple[float, ...]
    """Faults per 1,000 unit-days in service in each."""


class BurstSize(Frozen):
    """Clusters of at least so many trays of one rack."""

    trays: int
    """At least so many."""
    found: int
    """Clusters in the log."""
    by_chance: float
    """How many faults that have nothing in common would make."""


class BurstFindings(Frozen):
    """Faults of trays of one rack within minutes of each other."""

    looked_for: bool
    """Whether there are faults of trays, and it is known which share a rack."""
    why_not: str
    """Empty where they were looked for."""
    window_h: float
    """Faults within so many hours of each other are at once."""
    sizes: tuple[BurstSize, ...]
    """By number of trays."""
    smallest: int | None
    """Trays of the smallest burst: from here on chance makes a tenth of the clusters at most."""
    racks_struck: int
    """Bursts of one rack each, counted as faults of racks."""
    faults: int
    """Faults of trays in bursts, which the tray rate leaves out."""
    absorbed: int
    """Bursts that come with an incident of their rack and are one with it."""
    events: int
    """Those of racks of one zone at once are one event."""
    site_mtbf_h: Estimate
    """Time observed over events."""
    racks_per_event: float | None
    """On average; None without an event."""
    share_of_trays: float | None
    """Share of the trays of a struck rack that fail; None where the fleet does not name its trays."""


class WorstUnit(Frozen):
    """A unit with more faults than chance gives any of them."""

    unit: str
    """Its name in the log."""
    faults: int
    """Those that count."""
    expected: float
    """At the rate of all."""


class LemonFindings(Frozen):
    """Whether some units fail more often than the others."""

    kind: str
    """Of units."""
    looked_for: bool
    """Whether the number of units was the same throughout, or each is known."""
    why_not: str
    """Empty where they were looked for."""
    units: int
    """How many were looked at."""
    worst: tuple[WorstUnit, ...]
    """Those beyond chance at 5 % for all together, the worst first; at most 20."""
    beyond_chance: int
    """How many units failed more often than chance makes any."""
    share: Estimate | None
    """Share of the units that are lemons, where two classes describe the counts better than one (BIC)."""
    multiple: Estimate | None
    """How many times as often a lemon fails."""
    mtbf_h: float | None
    """MTBF at the mean rate of the units, lemons and others by their shares."""
    bic_gain: float
    """By how much BIC prefers two classes; above 10 it is clear."""


class EarlyLife(Frozen):
    """Faults of young units against those of older ones."""

    kind: str
    """Of units."""
    known: bool
    """Whether the fleet says since when units are in service."""
    why_not: str
    """Empty where it is known."""
    age_h: float
    """Units are young until this age."""
    young_faults: int
    """Faults of young units."""
    young_up_h: float
    """Their unit-hours up."""
    old_faults: int
    """Faults of older units."""
    old_up_h: float
    """Their unit-hours up."""
    ratio: Estimate
    """Rate of young units over that of the others."""
    p_value: float | None
    """How often one rate for all makes so great a difference."""


class ExclusionCount(Frozen):
    """Rows of the log that are not incidents of their own, for one reason."""

    reason: str
    """Why, in words."""
    role: str
    """data: a fault of the log; rule: left out by what the mapping or the fleet says; repeated: told by another row."""
    rows: int
    """How many."""
    lines: tuple[int, ...]
    """The first lines of the file with it."""
    example: str
    """What the first of them says."""
    fix: str
    """What to do about it."""


class SourceFile(Frozen):
    """A file that was read."""

    name: str
    """Of the file."""
    sha256: str
    """Of its bytes."""
    rows: int
    """Of data."""


def lemon_scenario(kind: str) -> str:
    """The scenario of an overlay that has the lemons of a kind."""
    return "lemons" if kind == "tray" else f"{kind}-lemons"


Item = TypeVar("Item", FaultRate, RepairTimes, Evenness, LemonFindings)


class Calibration(Result):
    """What an incident log says of a fleet."""

    schema_version: Literal[1] = 1
    spareopt: str
    """The version that calibrated."""
    log: SourceFile
    """The incident log."""
    fleet: SourceFile
    """The fleet file."""
    confidence: float
    """Of all intervals."""
    begin_h: float
    """Start of the observation, on the clock of the log."""
    end_h: float
    """Its end."""
    origin: str | None
    """Time of hour 0 in UTC; None where the log counts hours or days."""
    rates: tuple[FaultRate, ...]
    """By kind of units."""
    classes: tuple[ClassRate, ...]
    """Most faults first."""
    repairs: tuple[RepairTimes, ...]
    """By kind of units."""
    evenness: tuple[Evenness, ...]
    """By kind of units, and of all faults."""
    bursts: BurstFindings
    """Of trays of a rack at once."""
    lemons: tuple[LemonFindings, ...]
    """By kind of units."""
    early_life: tuple[EarlyLife, ...]
    """By kind of units."""
    exclusions: tuple[ExclusionCount, ...]
    """Rows that are no incidents of their own, by reason."""
    overlapping: int
    """Incidents that overlap or touch another one of their unit."""
    notes: tuple[str, ...]
    """What a person should know of it."""

    def rate_of(self, kind: str) -> FaultRate:
        """The rate of a kind.  Raises KeyError."""
        return _of(self.rates, kind)

    def repair_of(self, kind: str) -> RepairTimes:
        """The repair times of a kind.  Raises KeyError."""
        return _of(self.repairs, kind)

    def evenness_of(self, kind: str) -> Evenness:
        """How evenly faults of a kind are spread.  Raises KeyError."""
        return _of(self.evenness, kind)

    def lemons_of(self, kind: str) -> LemonFindings:
        """Lemons among the units of a kind.  Raises KeyError."""
        return _of(self.lemons, kind)

    def varying_weeks(self) -> CountSpread | None:
        """The spread of the faults of all kinds over weeks, where it shows that rates vary; else None."""
        found = next((item for item in self.evenness if item.kind == "all"), None)
        found = found or next(iter(self.evenness), None)
        weeks = None if found is None else found.weeks
        if weeks is None or weeks.p_value is None or weeks.p_value >= SHOWN:
            return None
        return weeks

    def rates_table(self) -> pd.DataFrame:
        """A row for each kind of units."""
        import pandas as pd  # noqa: PLC0415

        rows = [
            {
                "kind": rate.kind,
                "faults": rate.faults,
                "units": rate.units,
                "in_service_unit_h": rate.in_service_h,
                "up_unit_h": rate.up_h,
                **_columns("mtbf", "_h", rate.mtbf_h),
                "dispersion": rate.dispersion,
                **_columns("mtbf_dispersed", "_h", rate.mtbf_dispersed_h),
                **_columns("faults_per_1000_unit_days", "", rate.per_1000_unit_days),
            }
            for rate in self.rates
        ]
        return pd.DataFrame(rows)

    def classes_table(self) -> pd.DataFrame:
        """A row for each fault class of the log."""
        import pandas as pd  # noqa: PLC0415

        rows = [
            {
                "kind": item.kind,
                "fault_class": item.fault_class,
                "faults": item.faults,
                **_columns("faults_per_1000_unit_days", "", item.per_1000_unit_days),
                "mean_repair_h": item.mean_repair_h,
                "median_repair_h": item.median_repair_h,
            }
            for item in self.classes
        ]
        return pd.DataFrame(rows)

    def repairs_table(self) -> pd.DataFrame:
        """A row for each phase of the repairs of each kind."""
        import pandas as pd  # noqa: PLC0415

        nothing = Estimate(value=None, low=None, high=None)
        rows = [
            {
                "kind": item.kind,
                "ended": item.ended,
                "open": item.open,
                **_columns("mean", "_h", item.mean_h or nothing),
                "median_h": item.median_h,
                "share_over_10_days": item.share_over_10_days,
                "downtime_over_10_days": item.downtime_over_10_days,
                "phase": number,
                **_columns("phase_share", "", phase.share),
                **_columns("phase_mean", "_h", phase.mean_h),
            }
            for item in self.repairs
            for number, phase in enumerate(item.phases, start=1)
        ]
        return pd.DataFrame(rows)

    def exclusions_table(self) -> pd.DataFrame:
        """A row for each reason for which rows of the log do not count."""
        import pandas as pd  # noqa: PLC0415

        rows = [item.model_dump() | {"lines": " ".join(map(str, item.lines))} for item in self.exclusions]
        return pd.DataFrame(rows, columns=list(ExclusionCount.model_fields))


def _of(items: tuple[Item, ...], kind: str) -> Item:
    for item in items:
        if item.kind == kind:
            return item
    raise KeyError(kind)


def _columns(name: str, unit: str, estimate: Estimate) -> dict[str, float | None]:
    return {
        f"{name}{unit}": estimate.value,
        f"{name}_low{unit}": estimate.low,
        f"{name}_high{unit}": estimate.high,
    }
