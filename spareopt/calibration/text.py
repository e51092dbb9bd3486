"""A calibration as text: rates, repair times, what departs from the model and what to do about it, exclusions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from spareopt import units
from spareopt.calibration.result import (
    SHOWN,
    Calibration,
    Estimate,
    Evenness,
    LemonFindings,
    RepairTimes,
    lemon_scenario,
)
from spareopt.wording import capitalised, counted, listed, percent, plain_table, prose, render, share_text

CLASSES_TOLD = 12
UNITS_TOLD = 5


def calibration_text(result: Calibration, notes: Sequence[str] = ()) -> str:
    """A calibration as a planner would read it; ``notes`` are those of the overlay that is made of it."""
    confidence = share_text(result.confidence)
    faults = sum(rate.faults for rate in result.rates)
    days = (result.end_h - result.begin_h) / 24.0
    since = f" from {_date(result)}" if result.origin is not None else ""
    return render(
        prose(f"{result.log.name}: {counted(faults, 'fault')} in {days:,.4g} days{since}"),
        prose(f"Intervals hold the truth with {confidence}."),
        "",
        "Rates",
        _rates_table(result, confidence),
        *_rate_notes(result),
        *_classes(result),
        *_repairs(result, confidence),
        "",
        "What departs from the model",
        *(prose(f"- {line}", "  ") for line in departures(result)),
        "",
        *_excluded(result),
        *(["", "Of the overlay", *(prose(f"- {note}", "  ") for note in notes)] if notes else []),
    )


def _date(result: Calibration) -> str:
    from datetime import datetime, timedelta  # noqa: PLC0415

    assert result.origin is not None
    begin = datetime.fromisoformat(result.origin) + timedelta(hours=result.begin_h)
    if begin.hour or begin.minute:  # midnight elsewhere
        return begin.strftime("%Y-%m-%d %H:%M UTC")
    return begin.date().isoformat()


def _time(hours: float | None) -> str:
    return "none" if hours is None else units.show(hours, units.TIME)


def _range(estimate: Estimate, show: Callable[[float], str]) -> str:
    low, high = (None if end is None else show(end) for end in (estimate.low, estimate.high))
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"at least {low}" if low is not None else "" if high is None else f"at most {high}"


def _short(value: float) -> str:
    return f"{value:.3g}"


def _between(estimate: Estimate) -> str:
    """An estimate and its interval."""
    return f"{'none' if estimate.value is None else _short(estimate.value)} ({_range(estimate, _short)})"


def _hours(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else _short(value)


def _rates_table(result: Calibration, confidence: str) -> object:
    table = plain_table(
        "", "faults", "units", "MTBF, h", f"{confidence} interval", "per 1,000 unit-days", f"{confidence} interval ",
        left=("",),
    )  # fmt: skip
    for rate in result.rates:
        wide, daily = rate.mtbf_dispersed_h, rate.per_1000_unit_days
        table.add_row(
            rate.kind + ("*" if rate.dispersed_by else ""),
            f"{rate.faults:,}",
            f"{rate.units:,.4g}",
            "" if wide.value is None else _hours(wide.value),
            _range(wide, _hours),
            "" if daily.value is None else f"{daily.value:.3g}",
            _range(daily, _short),
        )
    return table


def _rate_notes(result: Calibration) -> Iterable[str]:
    for rate in result.rates:
        if not rate.dispersed_by:
            continue
        between, poisson = " and ".join(rate.dispersed_by), _range(rate.mtbf_h, _hours)
        yield prose(
            f"* {rate.kind}: faults spread {_short(rate.dispersion)} times as far between {between} as at one constant "
            f"rate, so the interval is wider than Poisson's ({poisson} h); the overlay has the wider one."
        )


def _classes(result: Calibration) -> Iterable[object]:
    if len(result.classes) < 2:
        return
    table = plain_table("", "of", "faults", "per 1,000 unit-days", "mean repair, h", "median, h", left=("", "of"))
    for item in result.classes[:CLASSES_TOLD]:
        daily = item.per_1000_unit_days.value
        table.add_row(
            item.fault_class,
            item.kind,
            f"{item.faults:,}",
            "" if daily is None else f"{daily:.3g}",
            "" if item.mean_repair_h is None else _hours(item.mean_repair_h),
            "" if item.median_repair_h is None else _hours(item.median_repair_h),
        )
    yield ""
    yield "Fault classes of the log"
    yield table
    if len(result.classes) > CLASSES_TOLD:
        yield prose(f"and {len(result.classes) - CLASSES_TOLD} more, in the report's classes.csv")


def _repairs(result: Calibration, confidence: str) -> Iterable[object]:
    if not result.repairs:
        return
    table = plain_table(
        "",
        "ended",
        "open",
        "mean, h",
        f"{confidence} interval",
        "median, h",
        "over 10 d",
        "of the downtime",
        left=("",),
    )
    for item in result.repairs:
        mean = item.mean_h
        table.add_row(
            item.kind,
            f"{item.ended:,}",
            f"{item.open:,}",
            "" if mean is None or mean.value is None else _hours(mean.value),
            "" if mean is None else _range(mean, _hours),
            "" if item.median_h is None else _hours(item.median_h),
            percent(item.share_over_10_days),
            percent(item.downtime_over_10_days),
        )
    yield ""
    yield "Repair times"
    yield table
    for item in result.repairs:
        yield prose(f"{capitalised(item.kind)}: {_phases(item)}")


def _phases(item: RepairTimes) -> str:
    if not item.phases:
        return "no repair of some length has ended."
    if len(item.phases) == 1:
        few = " (too few repairs to tell phases apart)" if len(item.bic) == 1 else ""
        return f"one exponential phase describes them best{few}."
    parts = [f"{percent(phase.share.value or 0)} of {_time(phase.mean_h.value)}" for phase in item.phases]
    return f"{len(parts)} exponential phases describe them best: {listed(parts)} on average."


def departures(result: Calibration) -> list[str]:
    """What the model's assumptions of constant rates, like units and single faults miss, a sentence or two each."""
    lines: list[str] = []
    for item in result.evenness:
        lines += _dispersion(result, item)
    if (weeks := result.varying_weeks()) is not None:
        lines.append(
            f"All rates: the faults of a week have {_between(weeks.variance_over_mean)} times Poisson's variance. "
            "Solve with --scenario uncertain-rates, too."
        )
    lines += _bursts(result)
    for found in result.lemons:
        lines += _lemons(found)
    lines += _ageing(result)
    return lines or ["Nothing was looked for: there are no faults."]


def _dispersion(result: Calibration, item: Evenness) -> list[str]:
    if item.kind == "all":
        return []
    lines: list[str] = []
    units_found, weeks = item.units, item.weeks
    if units_found is not None and units_found.variance_over_mean.value is not None:
        ratio = units_found.variance_over_mean
        if units_found.p_value is not None and units_found.p_value < SHOWN:
            lines.append(
                f"{capitalised(item.kind)}: counts per unit have {_between(ratio)} times the variance of like units: "
                "some units fail more often. Look for lemons below."
            )
        else:
            lines.append(
                f"{capitalised(item.kind)}: counts per unit spread as those of like units do, {_between(ratio)} times "
                "Poisson's variance."
            )
    shape = item.gap_shape
    if shape.value is not None and shape.high is not None and shape.low is not None:
        ties = f"; {item.ties:,} gaps of none" if item.ties else ""
        told = f"Weibull shape {_between(shape)} of {item.positive_gaps:,} gaps{ties}"
        if shape.high < 1:
            lines.append(f"{capitalised(item.kind)}: faults come in clusters in time, not evenly: {told}.")
        elif item.ties:
            lines.append(f"{capitalised(item.kind)}: {told}.")
    if weeks is not None and weeks.p_value is not None and weeks.p_value < SHOWN:
        lines.append(
            f"{capitalised(item.kind)}: weekly counts have {_between(weeks.variance_over_mean)} times Poisson's "
            "variance: the rate is not constant."
        )
    return lines


def _bursts(result: Calibration) -> list[str]:
    found = result.bursts
    if not found.looked_for:
        return [f"Bursts: not looked for, as {found.why_not}."]
    window = units.show(found.window_h, units.TIME)
    two = found.sizes[0] if found.sizes else None
    if two is None or two.found == 0:
        return [f"Bursts: no two trays of a rack failed within {window} of each other."]
    chance = f"{two.found:,} times two trays or more of a rack failed within {window}, chance makes {two.by_chance:.2g}"
    if found.smallest is None:
        return [f"Bursts: {chance}: no bursts are told apart, and each fault counts by itself."]
    absorbed = f", {found.absorbed} more with a fault of the rack itself" if found.absorbed else ""
    which = "" if found.smallest == 2 else f"; from {found.smallest} trays on chance makes a tenth at most"
    return [
        f"Bursts: {chance}{which}. {found.faults:,} faults of trays are {counted(found.racks_struck, 'burst')}, each "
        f"one fault of its rack{absorbed}. Solve as is"
        + ("; simulate with --scenario bursts." if found.share_of_trays is not None else ".")
    ]


def _lemons(found: LemonFindings) -> list[str]:
    if not found.looked_for:
        return [f"Lemons among {found.kind}s: not looked for, as {found.why_not}."]
    lines = []
    if found.beyond_chance:
        told = [f"{unit.unit} ({unit.faults})" for unit in found.worst[:UNITS_TOLD]]
        more = f" and {found.beyond_chance - len(told)} more" if found.beyond_chance > len(told) else ""
        lines.append(
            f"Lemons: {counted(found.beyond_chance, found.kind)} failed more often than chance makes any: "
            f"{', '.join(told)}{more}. Take them out of service or have them replaced."
        )
    if found.share is not None and found.multiple is not None:
        lines.append(
            f"Lemons: {percent(found.share.value or 0)} of the {found.kind}s ({_range(found.share, percent)}) fail "
            f"{_between(found.multiple)} times as often as the others. "
            f"Simulate with --scenario {lemon_scenario(found.kind)}; the exact model has their mean rate."
        )
    return lines or [f"Lemons: none among {found.units:,} {found.kind}s."]


def _ageing(result: Calibration) -> list[str]:
    lines = []
    for young in result.early_life:
        age = units.show(young.age_h, units.TIME)
        if not young.known:
            lines.append(f"Early life of {young.kind}s: not looked for, as {young.why_not}.")
        elif young.p_value is None or young.ratio.low is None or young.ratio.value is None:
            continue
        elif young.p_value < SHOWN:
            advice = (
                " A mature fleet has another MTBF: solve with --scenario mature-trays." if young.kind == "tray" else ""
            )
            lines.append(
                f"Early life: {young.kind}s younger than {age} fail {_between(young.ratio)} times as often as older "
                f"ones.{advice}"
            )
        else:
            lines.append(
                f"Early life: {young.kind}s younger than {age} are not shown to fail more or less often than older "
                f"ones ({_between(young.ratio)} times)."
            )
    for item in result.evenness:
        if item.kind == "all" or item.trend_p_value is None or item.trend_p_value >= SHOWN:
            continue
        ratio = item.halves_ratio
        if ratio.value is not None:
            lines.append(
                f"Drift: {item.kind} faults came {_between(ratio)} times as often in the second half of the time as in "
                "the first. Calibrate on the later part alone (`observed` in the mapping)."
            )
    return lines


def _excluded(result: Calibration) -> Iterable[object]:
    yield prose(f"Rows of {result.log.name}: {result.log.rows:,}")
    if not result.exclusions:
        yield prose("  all of them count", "  ")
    for item in result.exclusions:
        lines = ", ".join(f"{line:,}" for line in item.lines) + (", ..." if item.rows > len(item.lines) else "")
        fix = f"; {item.fix}" if item.fix and item.role == "data" else ""
        yield prose(f"- {item.rows:,}: {item.reason} (line {lines}){fix}", "  ")
    for note in result.notes:
        yield prose(f"- {note}", "  ")
    if result.overlapping:
        yield prose(f"- {result.overlapping:,} overlap or touch another incident of their unit", "  ")
