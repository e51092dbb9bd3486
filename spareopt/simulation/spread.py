"""How what was measured varies: by quarter, over time, from one replication to the next."""

from __future__ import annotations

import math

import numpy as np

from spareopt.simulation import statistics as stats
from spareopt.simulation.measured import Measured
from spareopt.simulation.outcome import (
    EPISODE_BINS,
    EPISODE_BINS_PER_OCTAVE,
    LEDGER,
    SHORTEST_EPISODE,
    Outcome,
)
from spareopt.simulation.result import (
    BlockedEpisodes,
    Interruptions,
    QuarterCourse,
    Quarters,
    Replication,
    UnusableBlocks,
    UsableBlocks,
    WallTime,
)
from spareopt.simulation.setup import QUARTER, bins_of
from spareopt.simulation.statistics import Interval
from spareopt.units import HOURS_PER_YEAR


def quarter_goodput(m: Measured) -> list[tuple[float, ...]]:
    """Goodput of each whole quarter of each replication, baseline GPUs."""
    _, _, parts = bins_of(m.options.years)
    if parts is None:
        return [() for _ in m.outcomes]
    result = []
    for outcome in m.outcomes:
        whole = int(outcome.hours / QUARTER + 1e-9)
        useful = outcome.ledger[: whole * parts + 1 : parts, LEDGER.index("useful")]
        result.append(tuple((m.exact.working_gpus * m.exact.scale * np.diff(useful) / QUARTER).tolist()))
    return result


def quarters(m: Measured) -> Quarters:
    """The law of a quarter's goodput over all quarters of all replications."""
    quarters = quarter_goodput(m)
    values = np.concatenate([np.array(values) for values in quarters])
    if len(values) == 0:
        reason = "no replication holds a whole quarter"
        if bins_of(m.options.years)[2] is None and m.options.years > 0.25:
            reason = "the years are no whole number of parts of a quarter"
        return Quarters(number=0, mean=None, p5=None, p50=None, p95=None, reason=reason)
    p5, p50, p95 = (stats.quantile(values, share) for share in (0.05, 0.5, 0.95))
    mean = m.ratio([sum(values) for values in quarters], [float(len(values)) for values in quarters])
    return Quarters(number=len(values), mean=mean, p5=p5, p50=p50, p95=p95, reason=None)


def quarter_course(m: Measured) -> tuple[QuarterCourse, ...]:
    """The goodput so far at the end of each bin of a quarter, over all whole quarters of all replications."""
    _, _, parts = bins_of(m.options.years)
    if parts is None:
        return ()
    pieces = []
    for outcome in m.outcomes:
        whole = int(outcome.hours / QUARTER + 1e-9)
        useful = outcome.ledger[: whole * parts + 1, LEDGER.index("useful")]
        begins = np.repeat(useful[: whole * parts : parts], parts).reshape(whole, parts)
        pieces.append(useful[1 : whole * parts + 1].reshape(whole, parts) - begins)
    so_far = np.concatenate(pieces)
    if len(so_far) == 0:
        return ()
    rows = []
    for i in range(parts):
        end = QUARTER * (i + 1) / parts
        values = m.exact.working_gpus * m.exact.scale * so_far[:, i] / end
        p5, p25, p50, p75, p95 = (stats.quantile(values, share) for share in (0.05, 0.25, 0.5, 0.75, 0.95))
        rows.append(QuarterCourse(end_h=end, mean=float(values.mean()), p5=p5, p25=p25, p50=p50, p75=p75, p95=p95))
    return tuple(rows)


def blocked_episodes(m: Measured) -> BlockedEpisodes:
    """How often the job is blocked, and for how long."""
    number = m.totals[:, LEDGER.index("episodes")]
    counts = np.sum([outcome.episodes for outcome in m.outcomes], axis=0)
    edges = SHORTEST_EPISODE * 2.0 ** (np.arange(1, EPISODE_BINS + 1) / EPISODE_BINS_PER_OCTAVE)
    longest = max(outcome.longest_episode for outcome in m.outcomes)
    middle, high = (stats.histogram_quantile(counts, edges, share) for share in (0.5, 0.95))
    blocked = m.totals[:, LEDGER.index("blocked")]
    return BlockedEpisodes(
        per_year=m.ratio(number * HOURS_PER_YEAR, m.hours),
        number=stats.mean_interval(number, m.options.confidence),
        blocked_h=stats.mean_interval(blocked, m.options.confidence),
        mean_h=m.ratio(blocked, number) if number.sum() > 0 else None,
        p50_h=None if middle is None else min(middle, longest),
        p95_h=None if high is None else min(high, longest),
        longest_h=longest if longest > 0 else None,
        resolution=2.0 ** (1.0 / EPISODE_BINS_PER_OCTAVE),
    )


def unusable_blocks(m: Measured) -> UnusableBlocks:
    """How many blocks of the site are unusable at once."""
    width = max(len(outcome.unusable_h) for outcome in m.outcomes)
    law = np.zeros(width)
    levels = np.arange(width)
    for outcome in m.outcomes:
        law[: len(outcome.unusable_h)] += outcome.unusable_h
    law /= law.sum()
    mean = float(law @ levels)
    p95, p99, p999 = (stats.level_reached(law, share) for share in (0.95, 0.99, 0.999))
    return UnusableBlocks(
        blocks=len(m.system.block_zone),
        mean=m.ratio([_unusable_h(outcome) for outcome in m.outcomes], m.hours),
        p95=p95,
        p99=p99,
        p999=p999,
        variance_over_mean=float(law @ (levels - mean) ** 2) / mean if mean > 0 else None,
        shares=tuple(np.trim_zeros(law, "b").tolist()),
    )


def _unusable_h(outcome: Outcome) -> float:
    """Block-hours unusable."""
    return float(outcome.unusable_h @ np.arange(len(outcome.unusable_h)))


def interruptions(m: Measured) -> Interruptions:
    """Interruptions of a replication."""
    number = m.totals[:, LEDGER.index("interruptions")]
    return Interruptions(
        mean=stats.mean_interval(number, m.options.confidence),
        p2_5=stats.quantile(number, 0.025),
        p97_5=stats.quantile(number, 0.975),
    )


def selections(m: Measured) -> Interval | None:
    """Host selections of a replication; None where no hosts stand by."""
    if m.system.warm < 0:
        return None
    return stats.mean_interval([outcome.selections for outcome in m.outcomes], m.options.confidence)


def wall_time(m: Measured) -> WallTime:
    """The time of the job; a run that did not finish it is longer than any that did."""
    whole = np.array([run.bin * run.bins for run in m.runs])
    done = np.array(
        [bool(outcome.hours < hours * (1 - 1e-12)) for outcome, hours in zip(m.outcomes, whole, strict=True)]
    )
    finished = int(done.sum())
    if finished < len(done):
        return WallTime(
            finished=finished, unfinished=len(done) - finished, mean=None, p5=None, p50=None, p95=None
        )  # fmt: skip
    p5, p50, p95 = (stats.quantile_interval(m.hours, share, m.options.confidence) for share in (0.05, 0.5, 0.95))
    mean = stats.mean_interval(m.hours, m.options.confidence)
    return WallTime(finished=finished, unfinished=0, mean=mean, p5=p5, p50=p50, p95=p95)


def replication_rows(m: Measured) -> tuple[Replication, ...]:
    """What each replication measured."""
    share = m.exact.working_gpus / m.exact.gpus
    column = {name: m.totals[:, LEDGER.index(name)].tolist() for name in LEDGER}
    quarters, hours = quarter_goodput(m), m.hours.tolist()
    rows = []
    for i, (number, run, outcome) in enumerate(zip(m.numbers, m.runs, m.outcomes, strict=True)):
        useful, unblocked = column["useful"][i], hours[i] - column["blocked"][i]
        rows.append(
            Replication(
                replication=number,
                multiplier=run.multiplier,
                checkpoint_period_h=run.period if math.isfinite(run.period) else None,
                hours=hours[i],
                cett=share * useful / hours[i],
                goodput=m.exact.working_gpus * m.exact.scale * useful / hours[i],
                availability=unblocked / hours[i],
                blocked_h=column["blocked"][i],
                recovery_efficiency=useful / unblocked if unblocked > 0 else None,
                interruptions=round(column["interruptions"][i]),
                faults=round(column["faults"][i]),
                blocked_episodes=round(column["episodes"][i]),
                longest_blocked_h=outcome.longest_episode,
                mean_unusable_blocks=_unusable_h(outcome) / hours[i],
                selections=outcome.selections,
                quarter_goodput=quarters[i],
            )
        )
    return tuple(rows)


def usable_blocks(m: Measured) -> tuple[UsableBlocks, ...]:
    """Usable blocks by bin, over the replications that recorded all of it."""
    width, last = m.runs[0].bin, LEDGER.index("fewest_usable")
    column = LEDGER.index("usable_block_h")
    whole = [int(outcome.hours / width + 1e-9) for outcome in m.outcomes]
    rows = []
    for i in range(max(whole)):
        here = [outcome.ledger for outcome, bins in zip(m.outcomes, whole, strict=True) if bins > i]
        means = np.array([(ledger[i + 1, column] - ledger[i, column]) / width for ledger in here])
        rows.append(
            UsableBlocks(
                start_h=i * width,
                end_h=(i + 1) * width,
                mean=float(means.mean()),
                p5=stats.quantile(means, 0.05),
                p95=stats.quantile(means, 0.95),
                fewest=round(min(float(ledger[i + 1, last]) for ledger in here)),
            )
        )
    return tuple(rows)
