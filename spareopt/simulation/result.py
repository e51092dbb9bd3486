"""What a simulation found: the score it measured with intervals, how it agrees with the exact model, distributions."""

from __future__ import annotations

from typing import Literal

import pandas as pd

from spareopt.decisions import Decisions
from spareopt.evaluation import Evaluation
from spareopt.record import Frozen, Result, Shown
from spareopt.simulation.runs import By, Status
from spareopt.simulation.statistics import Interval, PairedDifference, Quantile


class SimulationOptions(Frozen):
    """What was asked, as far as the result depends on it."""

    replications: int
    """Asked; the most there may be where a precision is asked."""
    years: float
    seed: int
    warm_up_h: float
    warm_up: str
    """Where the warm-up comes from."""
    precision: float | None
    confidence: float
    until_job: bool
    trace: str | None
    """Where the trace that was replayed comes from."""
    by: By = "units"
    """What was played: each unit, or how many are down."""
    target: float | None = None
    """Useful GPU-hours of the baseline GPU that a quarter is to reach."""


class Agreement(Frozen):
    """A number of the exact model beside the simulated one."""

    exact: float
    simulated: Interval
    inside: bool | None
    """Whether the interval holds the exact number; None where the simulation saw too little to say."""
    standard_errors: float | None
    """Simulated minus exact, in standard errors."""
    method: str
    """What the exact model's number rests on: a difference is expected where it is an approximation."""


class Quarters(Frozen):
    """Goodput of a quarter of a year, baseline GPUs, over all quarters of all replications."""

    number: int
    mean: Interval | None
    p5: float | None
    p50: float | None
    p95: float | None
    reason: str | None
    """Why there are no quarters, where there are none."""


class QuarterCourse(Frozen):
    """Goodput since the beginning of a quarter, over the time that has passed of it, baseline GPUs, at one moment.

    Over all quarters of all replications.
    """

    end_h: float
    """Time since the beginning of the quarter, h."""
    mean: float
    p5: float
    """5 % of the quarters have less so far."""
    p25: float
    p50: float
    p75: float
    p95: float


class Reached(Frozen):
    """What a quarter reaches with a stated confidence, useful GPU-hours of the baseline GPU."""

    confidence: float
    useful_gpu_hours: float
    """So many or more, in this share of the quarters."""
    low: float | None
    """Ends of its interval; None where more replications are needed."""
    high: float | None
    replications_needed: int | None
    """About so many for both ends; None where there are both, or one replication tells nothing."""


class QuarterTarget(Frozen):
    """With what confidence a quarter reaches a target, and what it reaches with stated ones."""

    useful_gpu_hours: float
    """The target."""
    quarters: int
    reached: Interval
    """Share of the quarters that reach it."""
    effective_quarters: float | None
    """Independent quarters that would say as much; those of one replication have its rates and lemons in common."""
    levels: tuple[Reached, ...]


class BlockedEpisodes(Frozen):
    """How often and for how long the job is blocked."""

    per_year: Interval
    number: Interval
    """In one replication."""
    blocked_h: Interval
    """Hours blocked in one replication."""
    mean_h: Interval | None
    """None where there were none, as the others."""
    p50_h: float | None
    p95_h: float | None
    longest_h: float | None
    resolution: float
    """Quantiles are upper ends of bins, each so many times as long as the one before."""


class UnusableBlocks(Frozen):
    """Blocks of the site that are unusable at once, over time."""

    blocks: int
    mean: Interval
    p95: int
    """At most so many for 95 % of the time."""
    p99: int
    p999: int
    variance_over_mean: float | None
    """1 for independent faults that come at random; None where no block ever was."""
    shares: tuple[float, ...]
    """Share of the time with 0, 1, 2, … blocks unusable at once, up to the most that ever were."""


class CrewUse(Frozen):
    """Crews of the zones of one choice, or of the whole site."""

    zone: str
    crews: int
    """Of one zone, or of the site where zones share them."""
    utilisation: Interval
    mean_wait_h: Interval | None
    """None where there were no tickets."""
    tickets_per_year: Interval
    """Of all zones of the choice."""


class Interruptions(Frozen):
    """Interruptions of the job in one replication."""

    mean: Interval
    p2_5: float
    p97_5: float


class WallTime(Frozen):
    """Time until the instance's job is done, h."""

    finished: int
    """Replications in which it was."""
    unfinished: int
    mean: Interval | None
    """None where some replication did not finish it."""
    p5: Quantile | None
    p50: Quantile | None
    p95: Quantile | None


class Replication(Frozen):
    """What one replication measured."""

    replication: int
    multiplier: float
    checkpoint_period_h: float | None
    hours: float
    cett: float
    goodput: float
    availability: float
    blocked_h: float
    recovery_efficiency: float | None
    """None where the job was blocked all the time."""
    interruptions: int
    faults: int
    blocked_episodes: int
    longest_blocked_h: float
    mean_unusable_blocks: float
    selections: int
    quarter_goodput: tuple[float, ...]


class UsableBlocks(Frozen):
    """Usable blocks of the site in one part of the time, over the replications."""

    start_h: float
    end_h: float
    mean: float
    p5: float
    """Quantiles over replications of the mean within this time."""
    p95: float
    fewest: int
    """At any moment of any replication."""


class Simulation(Result, Shown):
    """What a simulation found.  ``model_dump_json`` gives the same bytes for the same input, versions and seed."""

    schema_version: Literal[1] = 1
    instance: str
    input_hash: str
    applied: tuple[str, ...]
    decisions: Decisions
    status: Status
    done: int
    lost: tuple[int, ...]
    """Replications whose process died each time."""
    options: SimulationOptions
    evaluation: Evaluation
    intervals: dict[str, Interval]
    exact: Evaluation
    agreement: dict[str, Agreement]
    quarters: Quarters
    blocked_episodes: BlockedEpisodes
    unusable_blocks: UnusableBlocks
    crews: tuple[CrewUse, ...]
    interruptions: Interruptions
    selections: Interval | None
    """Host selections in one replication; None where the checkpoint plan states no standbys."""
    wall_time: WallTime | None
    replications: tuple[Replication, ...]
    usable_blocks: tuple[UsableBlocks, ...]
    versions: dict[str, str]
    target: QuarterTarget | None = None
    """None where no target was asked."""
    quarter_course: tuple[QuarterCourse, ...] = ()
    """Empty where there are no whole quarters, and in results of versions that did not record it."""

    def replications_table(self) -> pd.DataFrame:
        """A row per replication."""
        rows = [row.model_dump(exclude={"quarter_goodput"}) for row in self.replications]
        return pd.DataFrame(rows, columns=[name for name in Replication.model_fields if name != "quarter_goodput"])

    def usable_blocks_table(self) -> pd.DataFrame:
        """Usable blocks over time: a row per bin."""
        return pd.DataFrame([row.model_dump() for row in self.usable_blocks], columns=list(UsableBlocks.model_fields))

    def quarter_course_table(self) -> pd.DataFrame:
        """A row per week or quarter of the course of a quarter: the goodput so far, baseline GPUs."""
        rows = [row.model_dump() for row in self.quarter_course]
        return pd.DataFrame(rows, columns=list(QuarterCourse.model_fields))

    def quarters_table(self) -> pd.DataFrame:
        """A row per quarter of each replication, with its goodput in baseline GPUs."""
        rows = [(r.replication, i, value) for r in self.replications for i, value in enumerate(r.quarter_goodput)]
        return pd.DataFrame(rows, columns=["replication", "quarter", "goodput"])


class Comparison(Result):
    """Two plans under the same random numbers."""

    schema_version: Literal[1] = 1
    first: Simulation
    second: Simulation
    cett: PairedDifference
    goodput: PairedDifference
    better: Literal["first", "second", "undecided"]
    """By goodput, at the confidence asked."""
