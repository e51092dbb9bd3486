"""A simulation as text: its headline, the exact model beside it, losses, quarters, blocked episodes, crews, blocks."""

from __future__ import annotations

import math
import shlex
from pathlib import Path

from rich.table import Table

from spareopt import units
from spareopt.instance import Instance
from spareopt.score_text import decisions_table, losses_bars, recovery_text
from spareopt.simulation.incidents import IncidentLog
from spareopt.simulation.result import Comparison, QuarterTarget, Simulation, WallTime
from spareopt.simulation.score import LEFT_OUT, played_words
from spareopt.simulation.statistics import Interval, PairedDifference, Quantile
from spareopt.wording import applied_text, hundredths, number_text, percent, plain_table, prose, render, share_text

AGREEMENT_NAMES = {
    "cett": "CETT",
    "availability": "availability",
    "interruption_rate_per_h": "interruptions per hour",
    "recovery_efficiency": "recovery efficiency",
}


def simulation_text(result: Simulation, instance: Instance, plan: str) -> str:
    """A simulation as a planner would read it; ``plan`` says which plan it is of."""
    return render(
        *headline(result, plan),
        *target_lines(result),
        "",
        "Decisions",
        decisions_table(result.decisions, result.evaluation, instance),
        recovery_text(result.decisions, result.exact),
        "",
        "Beside the exact model" if result.options.trace is None else "Beside the exact model, which has no trace",
        agreement_table(result),
        *_doubts(result),
        "",
        "Where the GPU-hours go",
        losses_bars(result.evaluation),
        "",
        "What it is like to run it",
        running_table(result),
        "",
        prose(f"Method: {result.evaluation.method['cett']}."),
    )


def incidents_text(log: IncidentLog, file: Path, fleet_file: Path) -> str:
    """What is in an incident log that was written, and where."""
    incidents = log.incidents
    counts = incidents[incidents["start_h"] >= log.from_h]["kind"].value_counts()
    kinds = ", ".join(f"{number:,} of kind {kind}" for kind, number in counts.items()) or "none"
    before = int((incidents["start_h"] < log.from_h).sum())
    still = int(incidents["end_h"].isna().sum())
    words = (
        f"Incident log of replication 0, from {log.from_h:,.0f} h to {log.to_h:,.0f} h after all units were new: "
        f"{kinds}; besides {before:,} that began before, and in all {still:,} not yet over at its end. "
        f"Written to {shlex.quote(str(file))}, the fleet of {len(log.fleet):,} units to {shlex.quote(str(fleet_file))}."
    )
    return render(prose(words))


def comparison_text(result: Comparison, instance: Instance, first: str, second: str) -> str:
    """Two plans simulated under the same random numbers."""
    confidence = share_text(result.first.options.confidence)
    winner = {
        "first": f"{first} is better",
        "second": f"{second} is better",
        "undecided": "neither is shown to be better",
    }
    table = plain_table(
        "", first, second, f"difference, {confidence} interval", "correlation", "times fewer", left=("",)
    )
    for name, one, other, pairs, digits in (
        ("CETT", result.first.evaluation.cett, result.second.evaluation.cett, result.cett, 5),
        ("goodput", result.first.evaluation.goodput, result.second.evaluation.goodput, result.goodput, 1),
    ):
        table.add_row(name, f"{one:,.{digits}f}", f"{other:,.{digits}f}", *_pairs_text(pairs, digits))
    played = played_words(result.first.done, result.first.options)
    lines = [
        f"{instance.name}: {winner[result.better]} in goodput at {confidence}",
        f"{first} against {second}: {played}, under the same random numbers.",
        *([applied_text(instance.applied)] if instance.applied else []),
        *([STOPPED] if result.first.status == "interrupted" else []),
    ]
    note = "Times fewer: replications that independent runs would need for an interval as narrow, over those played."
    return render(*map(prose, lines), "", table, "", prose(note))


STOPPED = "INTERRUPTED: this is what was finished by then."


def _pairs_text(pairs: PairedDifference, digits: int) -> tuple[str, str, str]:
    interval = pairs.difference
    ends = "" if interval.low is None else f" ({interval.low:+,.{digits}f} to {interval.high:+,.{digits}f})"
    correlation = "" if pairs.correlation is None else f"{pairs.correlation:.3f}"
    return (
        f"{interval.mean:+,.{digits}f}{ends}",
        correlation,
        "" if pairs.times_fewer is None else number_text(pairs.times_fewer),
    )


def headline(result: Simulation, plan: str) -> list[str]:
    """The result in a sentence, and what it is of."""
    o, goodput = result.options, result.intervals["goodput"]
    cett = f"CETT {_plus_minus(result.intervals['cett'], 5)}"
    cett += f" ({share_text(o.confidence)} interval)" if result.done > 1 else " (one replication: no interval)"
    lines = [f"{result.instance}: simulated {cett}, goodput {_plus_minus(goodput, 1)} baseline GPUs", f"Plan: {plan}"]
    lines += [applied_text(result.applied)] if result.applied else []
    lines.append(f"{played_words(result.done, o)}; seed {o.seed}.")
    if result.status == "interrupted":
        lines.append(STOPPED)
    elif result.status == "precision reached":
        lines.append(f"Stopped where CETT was known within {percent(o.precision or 0.0)}.")
    elif result.status == "replications used up":
        lines.append(f"NOT as precise as asked ({percent(o.precision or 0.0)} of CETT): {_more(result)}.")
    if o.trace is not None:
        lines.append("One record is one sample: the intervals show only what is random besides it.")
    if result.lost:
        numbers = ", ".join(map(str, result.lost[:10])) + (", …" if len(result.lost) > 10 else "")
        lines.append(f"LOST: {len(result.lost):,} replications whose process died each time ({numbers}).")
    return [prose(line) for line in lines]


def target_lines(result: Simulation) -> list[str | Table]:
    """With what confidence a quarter reaches the target, in a sentence, and what it reaches with others."""
    if result.target is None:
        return []
    return ["", prose(target_sentence(result, result.target)), target_table(result, result.target)]


def target_sentence(result: Simulation, found: QuarterTarget) -> str:
    """With what confidence a quarter reaches the target."""
    share, wanted = found.reached, f"{units.show_gpu_hours(found.useful_gpu_hours)} useful GPU-hours"
    confidence = share_text(result.options.confidence)
    played = f"{found.quarters:,} quarters of {result.done:,} replication{'' if result.done == 1 else 's'}"
    if share.low is None or share.high is None:
        sentence = f"A quarter reaches {wanted} in {percent(share.mean)} of {played}: no interval, play more."
    elif share.mean == 1.0:
        sentence = f"A quarter reaches {wanted} in all {played}: with at least {percent(share.low)} confidence"
        sentence += f" (the low end of a {confidence} interval)."
    elif share.mean == 0.0:
        sentence = f"A quarter reaches {wanted} in none of {played}: with at most {percent(share.high)} confidence"
        sentence += f" (the high end of a {confidence} interval)."
    else:
        ends = f"{confidence} interval {percent(share.low)} to {percent(share.high)}; {played}"
        sentence = f"A quarter reaches {wanted} with {percent(share.mean)} confidence ({ends})."
    return sentence


def target_table(result: Simulation, found: QuarterTarget) -> Table:
    """What a quarter reaches with stated confidences."""
    confidence = share_text(result.options.confidence)
    ends = f"{confidence} interval"
    table = plain_table("confidence", "useful GPU-hours of a quarter", ends, left=(ends,))
    for level in found.levels:
        low, high = (None if end is None else units.show_gpu_hours(end) for end in (level.low, level.high))
        text = f"{low} to {high}" if low and high else f"below {high}" if high else f"above {low}" if low else "none"
        if level.replications_needed is not None:
            text += f"; needs about {level.replications_needed:,} replications"
        table.add_row(share_text(level.confidence), f"at least {units.show_gpu_hours(level.useful_gpu_hours)}", text)
    return table


def _more(result: Simulation) -> str:
    """How many replications would do: the interval narrows with the root of their number."""
    cett, precision = result.intervals["cett"], result.options.precision
    if not cett.half_width or not precision or not cett.mean:
        return "allow more --replications"
    needed = result.done * (cett.half_width / (precision * cett.mean)) ** 2
    return f"about {number_text(float(10 * math.ceil(needed / 10)))} --replications would do"


def _plus_minus(interval: Interval, digits: int) -> str:
    half = interval.half_width
    return f"{interval.mean:,.{digits}f}" + ("" if half is None else f" ± {half:,.{digits}f}")


def agreement_table(result: Simulation) -> Table:
    """What the exact model says and what was simulated."""
    interval = f"{share_text(result.options.confidence)} interval"
    table = plain_table("", "exact", "simulated", interval, "inside", "standard errors", left=("", "inside"))
    for name, row in result.agreement.items():
        low, high = row.simulated.low, row.simulated.high
        table.add_row(
            AGREEMENT_NAMES[name],
            f"{row.exact:.6g}",
            f"{row.simulated.mean:.6g}",
            "none" if low is None or high is None else f"{low:.6g} to {high:.6g}",
            {True: "yes", False: "NO", None: "can't say"}[row.inside],
            "" if row.standard_errors is None else f"{row.standard_errors:+.2f}",
        )
    return table


def _doubts(result: Simulation) -> list[str]:
    """Where the models differ, what the exact one's number rests on."""
    rests: dict[str, list[str]] = {}
    for name, row in result.agreement.items():
        if row.inside is False and not row.method.startswith("exact but for"):
            rests.setdefault(row.method, []).append(AGREEMENT_NAMES[name])
    lines = [
        f"The exact model's {' and '.join(names)} rest{'' if len(names) > 1 else 's'} on: {method}."
        for method, names in rests.items()
        if method != "exact"
    ]
    if LEFT_OUT in result.exact.method:
        what = result.exact.method[LEFT_OUT].removeprefix("approximation, as if not stated: ").rpartition(";")[0]
        lines.append(f"The simulation carries what the exact model leaves out: {what}.")
    return [prose(line) for line in lines]


def running_table(result: Simulation) -> Table:
    """Quarters, interruptions, blocked episodes, unusable blocks, crews, and the job's time."""
    q, b, u, i = result.quarters, result.blocked_episodes, result.unusable_blocks, result.interruptions
    table = plain_table("", "", left=("",))
    if q.mean is not None:
        spread = f"5 % below {q.p5:,.1f}, half below {q.p50:,.1f}, 5 % above {q.p95:,.1f}"
        table.add_row(
            "goodput of a quarter",
            f"{_plus_minus(q.mean, 1)}; {spread} ({q.number:,} quarter{'' if q.number == 1 else 's'})",
        )
    else:
        table.add_row("goodput of a quarter", f"none: {q.reason}")
    table.add_row(
        "interruptions", f"{number_text(i.mean.mean)} a replication (95 % from {i.p2_5:,.0f} to {i.p97_5:,.0f})"
    )
    if result.selections is not None:
        table.add_row("host selections", f"{number_text(result.selections.mean)} a replication")
    table.add_row("blocked", _blocked_text(result))
    if b.longest_h is not None and b.p50_h is not None and b.p95_h is not None:
        half, most, longest = (units.show(hours, units.TIME) for hours in (b.p50_h, b.p95_h, b.longest_h))
        table.add_row("", f"half up to about {half}, 95 % up to about {most}, longest {longest}")
    levels = f"95 % of the time at most {u.p95:,}, 99 % {u.p99:,}, 99.9 % {u.p999:,}"
    ratio = "" if u.variance_over_mean is None else f"; variance over mean {u.variance_over_mean:.3g}"
    table.add_row("unusable blocks", f"{number_text(u.mean.mean)} of {u.blocks:,}; {levels}{ratio}")
    for crew in result.crews:
        wait = (
            "no tickets" if crew.mean_wait_h is None else f"mean wait {units.show(crew.mean_wait_h.mean, units.TIME)}"
        )
        busy = f"busy {hundredths(crew.utilisation.mean)} of the time, {wait}"
        table.add_row(f"crews of {crew.zone}", f"{crew.crews:,}, {busy}")
    if result.wall_time is not None:
        table.add_row("time to finish the job", _wall_text(result.wall_time))
    return table


def _blocked_text(result: Simulation) -> str:
    b = result.blocked_episodes
    share = f"{percent(result.evaluation.unavailability)} of the time"
    if b.mean_h is None:
        return share
    return (
        f"{share}, {number_text(b.per_year.mean)} times a year, for {units.show(b.mean_h.mean, units.TIME)} on average"
    )


def _wall_text(wall: WallTime) -> str:
    if wall.mean is None or wall.p5 is None or wall.p50 is None or wall.p95 is None:
        return f"not finished in {wall.unfinished:,} replications; allow more --years"
    half = "" if wall.mean.half_width is None else f" ± {units.show(wall.mean.half_width, units.TIME)}"
    five, middle, most = (_quantile_text(value) for value in (wall.p5, wall.p50, wall.p95))
    return (
        f"{units.show(wall.mean.mean, units.TIME)}{half}; 5 % within {five}, half within {middle}, 95 % within {most}"
    )


def _quantile_text(value: Quantile) -> str:
    return units.show(value.value, units.TIME)
