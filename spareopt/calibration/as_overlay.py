"""A calibration as an overlay: figures that change an instance, their intervals, and scenarios of what is unsure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from spareopt import units
from spareopt.calibration.estimates import RACK, TRAY
from spareopt.calibration.incidents import SOFTWARE
from spareopt.calibration.result import (
    SHOWN,
    Calibration,
    Estimate,
    FaultRate,
    RepairTimes,
    lemon_scenario,
)
from spareopt.errors import Fault, InputError
from spareopt.fields import Name
from spareopt.instance import Scenario
from spareopt.overlays.overlay import Origin, Overlay, overlay_from, overlay_text
from spareopt.repair import HOURS_PER_WEEK
from spareopt.wording import counted, share_text
from spareopt.yaml_source import parse_value

if TYPE_CHECKING:
    from spareopt.instance import Instance
    from spareopt.repair_plans import RepairPlan

_NAME = re.compile(r"[^A-Za-z0-9_.\-/ ]+")
UNCERTAIN, BURSTS, MATURE = "uncertain-rates", "bursts", "mature-trays"
"""Names of scenarios; those of the ends of an MTBF are such as tray-mtbf-low."""
MOST_VARIANCE = 10.0  # of the multiplier of all rates that an instance takes


@dataclass
class _Draft:
    """What is put together, and what is said of each figure."""

    overrides: dict[str, Any] = field(default_factory=dict)
    intervals: dict[str, list[str]] = field(default_factory=dict)
    scenarios: dict[str, Scenario] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    comments: dict[tuple[str, ...], str] = field(default_factory=dict)


def calibration_overlay(
    calibration: Calibration,
    *,
    name: str | None = None,
    instance: Instance | None = None,
    repair_plan: str | None = None,
) -> Overlay:
    """The overlay of a calibration.

    MTBFs of the kinds that had faults, with their intervals, and scenarios of both ends; with ``repair_plan`` the
    repair times of that plan of the ``instance``, too.  With an instance only what it has is written, and the overlay
    is checked on it; without one everything is.  ``name`` is made from that of the log where left out.

    Raises InputError where no kind had a fault, for a repair plan without an instance or that the instance does not
    have, one that the times of a log do not fit, and where the instance does not take the overlay.
    """
    return _made(calibration, name, instance, repair_plan)[0]


def commented_overlay(
    calibration: Calibration,
    *,
    name: str | None = None,
    instance: Instance | None = None,
    repair_plan: str | None = None,
) -> tuple[Overlay, str]:
    """The overlay, and the text of its file in which each figure has a comment with what it rests on."""
    overlay, comments = _made(calibration, name, instance, repair_plan)
    text = _commented(overlay_text(overlay), comments)
    if overlay_from(parse_value(text), Origin(overlay.name)) != overlay:
        raise AssertionError("comments changed the overlay")
    return overlay, text


def overlay_name(log: str) -> str:
    """A name for an overlay, from that of a log."""
    stem = Path(log).name
    for ending in (".gz", ".csv", ".parquet", ".xlsx"):
        stem = stem.removesuffix(ending)
    return _NAME.sub("-", stem).strip("-_./ ")[:80] or "incidents"


def _made(
    calibration: Calibration, name: str | None, instance: Instance | None, repair_plan: str | None
) -> tuple[Overlay, dict[tuple[str, ...], str]]:
    if repair_plan is not None and instance is None:
        message = "needs an instance: what a repair plan takes depends on its crews and shelf; name one with --instance"
        raise InputError("calibrate", [Fault("repair_plan", message)])
    if name is not None:
        try:
            TypeAdapter(Name).validate_python(name)
        except ValidationError:
            message = f"expected letters, digits, spaces and any of _ . - / after a letter or digit, got {name!r:.80}"
            raise InputError("calibrate", [Fault("name", message)]) from None
    draft = _Draft()
    for rate in calibration.rates:
        _rate(draft, calibration, rate, instance)
    if not draft.overrides:
        message = "no kind of units that can be written had a fault: there is no MTBF to write; observe for longer"
        raise InputError(calibration.log.name, [Fault("", message)])
    if repair_plan is not None and instance is not None:
        _repairs(draft, calibration, instance, repair_plan)
    _scenarios(draft, calibration, instance)
    log, fleet = calibration.log, calibration.fleet
    overlay = Overlay(
        name=overlay_name(log.name) if name is None else name,
        description=f"Rates{' and repair times' if repair_plan else ''} of {log.name}",
        source=(
            f"{log.name} (sha256 {log.sha256[:12]}), {fleet.name} (sha256 {fleet.sha256[:12]}), "
            f"{(calibration.end_h - calibration.begin_h) / 24:.6g} days{_since(calibration)}; "
            f"spareopt {calibration.spareopt}"
        ),
        notes=tuple(draft.notes),
        overrides=draft.overrides,
        intervals=draft.intervals,
        scenarios=draft.scenarios,
    ).checked()
    if instance is not None:
        _check(overlay, instance)
    return overlay, draft.comments


def _since(calibration: Calibration) -> str:
    return "" if calibration.origin is None else f" on a clock from {calibration.origin}"


def _check(overlay: Overlay, instance: Instance) -> None:
    """Refuse an overlay that the instance does not take, whole or with any of its scenarios.  Raises InputError."""
    from spareopt.reading import read_instance  # noqa: PLC0415

    data = instance.resolved()
    read_instance(data, overlays=[overlay])
    for scenario in overlay.scenarios:
        read_instance(data, overlays=[overlay], scenarios=[scenario])


def hours(value: float) -> str:
    """A time as an overlay states it: six digits."""
    return f"{float(f'{value:.6g}'):.15g} h"


def _ends(estimate: Estimate) -> list[str] | None:
    if estimate.low is None or estimate.high is None:
        return None
    ends = [hours(estimate.low), hours(estimate.high)]
    return ends if ends[0] != ends[1] else None


# rates


def _field_of(kind: str) -> str:
    return f"failures.{kind}" if kind in (TRAY, RACK, SOFTWARE) else f"failures.domains.{kind}"


def _takes(instance: Instance | None, kind: str) -> bool:
    """Whether an instance has units of a kind; software may always be added."""
    if instance is None or kind in (TRAY, SOFTWARE):
        return True
    if kind == RACK:
        return instance.failures.rack is not None
    return any(domain.name == kind for domain in instance.failures.domains)


def _rate(draft: _Draft, calibration: Calibration, rate: FaultRate, instance: Instance | None) -> None:
    path = f"{_field_of(rate.kind)}.mtbf"
    found = rate.mtbf_dispersed_h
    if rate.faults == 0 or found.value is None:
        if rate.mtbf_h.low is not None and rate.units > 0:
            draft.notes.append(
                f"{rate.kind}: no fault in {rate.up_h:,.0f} unit-hours, so the MTBF stays as it is; it is at least "
                f"{units.show(rate.mtbf_h.low, units.TIME)} ({share_text(calibration.confidence)}, one-sided)."
            )
        return
    if not _takes(instance, rate.kind):
        assert instance is not None
        draft.notes.append(
            f"{rate.kind}: {counted(rate.faults, 'fault')} left out, for {instance.name} has no faults of that kind."
        )
        return
    draft.overrides[path] = hours(found.value)
    law = (
        f"spread {rate.dispersion:.3g} times Poisson's between {' and '.join(rate.dispersed_by)}"
        if rate.dispersed_by
        else ""
    )
    basis = f"{counted(rate.faults, 'fault')} in {rate.up_h:,.0f} unit-hours up"
    confidence = share_text(calibration.confidence)
    ends = _ends(found)
    interval = f", {confidence} interval {ends[0]} to {ends[1]}" if ends else ""
    draft.comments["overrides", path] = f"{basis}{interval}{f' ({law})' if law else ''}"
    if ends is None:
        return
    draft.intervals[path] = ends
    draft.comments["intervals", path] = f"{confidence} interval of {basis}{f', {law}' if law else ''}"
    for end, value in zip(("low", "high"), ends, strict=True):
        scenario = f"{_NAME.sub('-', rate.kind)}-mtbf-{end}"
        draft.comments["scenarios", scenario, path] = draft.comments["intervals", path]
        draft.scenarios[scenario] = Scenario(
            description=f"MTBF of {_plural(rate.kind)} at the {end} end of its {confidence} interval",
            overrides={path: value},
        )


def _plural(kind: str) -> str:
    return {TRAY: "trays", RACK: "racks", SOFTWARE: "software"}.get(kind, kind)


# repair times


def _repairs(draft: _Draft, calibration: Calibration, instance: Instance, name: str) -> None:
    plan = next((plan for plan in instance.repair_plans if plan.name == name), None)
    if plan is None:
        known = ", ".join(plan.name for plan in instance.repair_plans)
        raise InputError(instance.name, [Fault("repair_plan", f"no repair plan {name!r}; expected one of {known}")])
    _check_plan(instance, plan)
    for repair in calibration.repairs:
        base = _repair_field(instance, plan, repair.kind)
        if base is None or repair.mean_h is None or repair.mean_h.value is None:
            draft.notes.append(
                f"{repair.kind}: repair times left out, "
                + (
                    "for none of some length has ended."
                    if base is not None
                    else f"for {instance.name} has no repair of that kind in {plan.name}."
                )
            )
            continue
        if plan.crews is not None and repair.kind in (TRAY, RACK):
            _off_crew(draft, calibration, instance, plan, base, repair)
        else:
            _as_phases(draft, calibration, base, repair)
    if plan.crews is not None:
        draft.notes.append(
            f"Repair times of {name}: the plan's hands-on time is kept; what the log has beyond it is off-crew delay. "
            "It holds the waits for a technician that the log's own crews caused, which the plan's crews add once more."
        )


def _check_plan(instance: Instance, plan: RepairPlan) -> None:
    """Refuse a plan that models what the times of a log already hold.  Raises InputError."""
    what, which = "", ""
    if plan.shelf is not None:
        what, which = "shelf", "the waits for parts, which the shelf of the plan adds once more"
    elif plan.deferred:
        what, which = (
            "start_at, window or out_of_service",
            "the waits of deferred repair, which the plan adds once more",
        )
    if what:
        message = f"has {what}: times of a log hold {which}; name a plan without, or set the times by hand"
        raise InputError(instance.name, [Fault(f"repair_plans.{plan.name}", message)])


def _repair_field(instance: Instance, plan: RepairPlan, kind: str) -> str | None:
    """The repair time that a kind takes from a plan, or from its domain; None where there is none."""
    if kind == TRAY:
        return f"repair_plans.{plan.name}.tray"
    if kind == RACK:
        return None if plan.rack is None or instance.failures.rack is None else f"repair_plans.{plan.name}.rack"
    if kind in plan.domains:
        return f"repair_plans.{plan.name}.domains.{kind}"
    return f"failures.domains.{kind}.repair" if any(d.name == kind for d in instance.failures.domains) else None


def _off_crew(
    draft: _Draft, calibration: Calibration, instance: Instance, plan: RepairPlan, base: str, repair: RepairTimes
) -> None:
    """The plan's hands-on time, and the rest of the mean as off-crew delay."""
    assert repair.mean_h is not None and repair.mean_h.value is not None
    time = plan.tray if repair.kind == TRAY else plan.rack
    assert time is not None
    hands_on = time.mean_hands_on * HOURS_PER_WEEK / plan.crew_hours_per_week
    rest = repair.mean_h.value - hands_on
    if rest < 0:
        message = (
            f"hands-on time {units.show(hands_on, units.TIME)} (at {plan.crew_hours_per_week:g} crew hours a week), "
            f"but repairs of the log take {units.show(repair.mean_h.value, units.TIME)} on average; expected less: "
            "correct the hands-on time, or name a plan without crews"
        )
        raise InputError(instance.name, [Fault(base, message)])
    draft.overrides[f"{base}.off_crew"] = hours(rest)
    low, high = repair.mean_h.low, repair.mean_h.high
    basis = f"{_basis(calibration, repair)}, less {units.show(hands_on, units.TIME)} hands-on"
    draft.comments["overrides", f"{base}.off_crew"] = basis
    if low is not None and high is not None:
        ends = [hours(max(low - hands_on, 0.0)), hours(high - hands_on)]
        if ends[0] != ends[1]:
            draft.intervals[f"{base}.off_crew"] = ends
            draft.comments["intervals", f"{base}.off_crew"] = (
                f"{share_text(calibration.confidence)} interval of the mean"
            )


def _as_phases(draft: _Draft, calibration: Calibration, base: str, repair: RepairTimes) -> None:
    """The fitted phases as hands-on times of ample crews."""
    assert repair.mean_h is not None and repair.mean_h.value is not None
    mean = repair.mean_h
    confidence = share_text(calibration.confidence)
    if len(repair.phases) == 1:
        draft.overrides[base] = {"hands_on": hours(mean.value or 0.0)}
        path, ends = f"{base}.hands_on", _ends(mean)
    else:
        shares = [round(phase.share.value or 0.0, 6) for phase in repair.phases]
        shares[-1] = round(1.0 - sum(shares[:-1]), 6)
        draft.overrides[base] = {
            "phases": [
                {"share": share, "hands_on": hours(phase.mean_h.value or 0.0)}
                for share, phase in zip(shares, repair.phases, strict=True)
            ]
        }
        path = f"{base}.phases.*.hands_on"
        ends = None
        if mean.value and mean.low is not None and mean.high is not None:
            ends = [f"{end / mean.value:.4g}x" for end in (mean.low, mean.high)]
            ends = ends if ends[0] != ends[1] else None
    draft.comments["overrides", base] = _basis(calibration, repair)
    if ends is not None:
        draft.intervals[path] = ends
        draft.comments["intervals", path] = (
            f"{confidence} interval of the mean, {units.show(mean.value or 0, units.TIME)}"
        )


def _basis(calibration: Calibration, repair: RepairTimes) -> str:
    assert repair.mean_h is not None and repair.mean_h.value is not None
    text = f"{counted(repair.ended, 'repair')}{f' and {repair.open} open' if repair.open else ''}, "
    text += f"mean {hours(repair.mean_h.value)}"
    ends = _ends(repair.mean_h)
    return text + (f", {share_text(calibration.confidence)} interval {ends[0]} to {ends[1]}" if ends else "")


# scenarios of what departs from the model


def _scenarios(draft: _Draft, calibration: Calibration, instance: Instance | None) -> None:
    _uncertain(draft, calibration)
    _lemons(draft, calibration)
    _bursts(draft, calibration, instance)
    _mature(draft, calibration)


def _add(draft: _Draft, name: str, description: str, overrides: dict[str, Any], comments: dict[str, str]) -> None:
    draft.scenarios[name] = Scenario(description=description, overrides=overrides)
    for path, comment in comments.items():
        draft.comments["scenarios", name, path] = comment


def _uncertain(draft: _Draft, calibration: Calibration) -> None:
    """Rates that vary from week to week, where that is shown: of all kinds together, if there are several."""
    weeks = calibration.varying_weeks()
    if weeks is None or weeks.variance_over_mean.value is None:
        return
    ratio, mean = weeks.variance_over_mean.value, weeks.mean
    if ratio <= 1.0 or (ratio - 1.0) / mean > MOST_VARIANCE:
        return
    value = {"variance_to_mean": float(f"{ratio:.6g}"), "mean_count": float(f"{mean:.6g}")}
    low, high = weeks.variance_over_mean.low, weeks.variance_over_mean.high
    ends = f", {share_text(calibration.confidence)} interval {low:.3g} to {high:.3g}" if low and high else ""
    _add(
        draft, UNCERTAIN, "All rates vary together as the faults of the fleet did from week to week",
        {"failures.uncertainty": value},
        {"failures.uncertainty": f"variance over mean of the faults of {weeks.number} weeks{ends}"},
    )  # fmt: skip


def _lemons(draft: _Draft, calibration: Calibration) -> None:
    confidence = share_text(calibration.confidence)
    for found in calibration.lemons:
        share, multiple = found.share, found.multiple
        if share is None or multiple is None or found.mtbf_h is None or found.kind not in (TRAY, RACK):
            continue
        path = f"failures.{found.kind}"
        if f"{path}.mtbf" not in draft.overrides or share.value is None or multiple.value is None:
            continue
        value = {"share": float(f"{share.value:.4g}"), "multiple": float(f"{multiple.value:.4g}")}
        _add(
            draft, lemon_scenario(found.kind),
            f"Some {_plural(found.kind)} fail more often than the others; only the simulator tells them apart",
            {f"{path}.mtbf": hours(found.mtbf_h), f"{path}.lemons": value},
            {
                f"{path}.mtbf": "at the mean rate of the units: lemons are down more, and so exposed less",
                f"{path}.lemons": f"{confidence} intervals: share {_range(share)}, multiple {_range(multiple)}",
            },
        )  # fmt: skip


def _range(estimate: Estimate) -> str:
    low, high = ("none" if end is None else f"{end:.3g}" for end in (estimate.low, estimate.high))
    return f"{low} to {high}"


def _bursts(draft: _Draft, calibration: Calibration, instance: Instance | None) -> None:
    found = calibration.bursts
    share, mtbf = found.share_of_trays, found.site_mtbf_h.value
    if found.smallest is None or not found.events or share is None or mtbf is None or found.racks_per_event is None:
        return
    path = "failures.rack.mtbf"
    overrides: dict[str, Any] = {}
    comments: dict[str, str] = {}
    rack = next((rate for rate in calibration.rates if rate.kind == RACK), None)
    if path in draft.overrides and rack is not None:
        alone = rack.faults - found.racks_struck
        overrides[path] = hours(rack.up_h / alone) if alone > 0 else "1000 years"
        comments[path] = f"{counted(alone, 'fault')} of racks without the {found.racks_struck} of bursts"
    racks = max(1, round(found.racks_per_event))
    overrides["failures.bursts"] = [
        {"name": "rack-burst", "mtbf": hours(mtbf), "racks": racks, "share": float(f"{min(share, 1.0):.4g}")}
    ]
    sites = "" if rack is None else f" of this fleet's {rack.units:,.0f} racks"
    ends = _ends(found.site_mtbf_h)
    comments["failures.bursts"] = f"{counted(found.events, 'event')}{sites}" + (
        f", {share_text(calibration.confidence)} interval {ends[0]} to {ends[1]}" if ends else ""
    )
    if instance is not None and instance.failures.bursts:
        draft.notes.append(f"The bursts of {instance.name} are replaced in the scenario {BURSTS}.")
    _add(
        draft, BURSTS, "Trays of a rack that fail at once as bursts of trays, not as faults of racks; only the "
        "simulator carries them, and their rate is that of a site as large as this fleet",
        overrides, comments,
    )  # fmt: skip


def _mature(draft: _Draft, calibration: Calibration) -> None:
    """The MTBF of trays that are no longer young, where the young ones are shown to differ."""
    found = next((item for item in calibration.early_life if item.kind == TRAY), None)
    path = "failures.tray.mtbf"
    if found is None or found.p_value is None or found.p_value >= SHOWN or not found.old_faults:
        return
    if path not in draft.overrides:
        return
    age = units.show(found.age_h, units.TIME)
    _add(
        draft, MATURE, f"MTBF of trays older than {age} alone",
        {path: hours(found.old_up_h / found.old_faults)},
        {path: f"{counted(found.old_faults, 'fault')} in {found.old_up_h:,.0f} unit-hours up"},
    )  # fmt: skip


# comments


def _commented(text: str, comments: dict[tuple[str, ...], str]) -> str:
    """The text of an overlay with a comment at the end of each line that has one."""
    lines: list[str] = []
    section, scenario = "", ""
    for line in text.splitlines():
        key = re.match(r"( *)([^\s#:-][^:]*):(?: |$)", line)
        comment: Callable[[tuple[str, ...]], str | None] = comments.get
        place: tuple[str, ...] = ()
        if key is not None:
            depth, name = len(key[1]), key[2].strip("'\"")
            if depth == 0:
                section = name
            elif section == "scenarios" and depth == 2:
                scenario = name
            elif section == "scenarios" and depth == 6:
                place = (section, scenario, name)
            elif section in ("overrides", "intervals") and depth == 2:
                place = (section, name)
        said = comment(place)
        lines.append(line if said is None else f"{line}  # {said}")
    return "\n".join(lines) + "\n"
