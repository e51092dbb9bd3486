"""An evaluation as text: decisions, score, losses as bars, slack to the limits, method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.table import Table

from spareopt import units
from spareopt.decision_words import limit_words, repair_words
from spareopt.decisions import Decisions
from spareopt.evaluation import Evaluation
from spareopt.instance import Instance
from spareopt.wording import Show, bar, capitalised, hundredths, maybe, number_text, percent, plain_table, prose

LOSS_NAMES = {
    "useful": "useful work",
    "intra_block_spares": "idle spare trays in blocks",
    "inter_block_spares": "idle spare blocks",
    "stranded_blocks": "stranded blocks",
    "blocked": "blocked (a zone is short)",
    "planned_stops": "planned stops",
    "group_stalls": "stalled by another group's fault",
    "checkpoint_saves": "checkpoint saves",
    "detection_and_restart": "detection and restart",
    "lost_work": "lost work",
}
OPTIONAL_LOSSES = ("planned_stops", "group_stalls")
"""Losses that only some instances can have: left out where they are 0."""
LIMIT_NAMES = {
    "it_power": "IT power",
    "working_gpus.minimum": "working GPUs",
    "working_gpus.maximum": "working GPUs",
    "placement_group": "whole placement groups",
}
SENSES = {"<=": "at most", ">=": "at least"}


def decisions_table(decisions: Decisions, evaluation: Evaluation, instance: Instance) -> Table:
    """What to buy and how to run it, a row per zone choice; a class that is split has its rows together."""
    stranding = instance.placement_group is not None or any(zone.stranded_blocks for zone in evaluation.zones)
    order = [zone.name for zone in instance.zones]
    headers, rows = decision_rows(decisions, evaluation, stranding=stranding, order=order)
    table = plain_table(*headers, left=("zone", "design", "repair plan"))
    for row in rows:
        table.add_row(*row)
    return table


def decision_rows(
    decisions: Decisions, evaluation: Evaluation, *, stranding: bool | None = None, order: Sequence[str] = ()
) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what to buy and how to run it, a row per zone choice; a class that is split is together.

    ``stranding``: whether to tell of stranded blocks; left out, where there are any.  ``order`` of the zone classes;
    left out, that of the decisions.
    """
    if stranding is None:
        stranding = any(zone.stranded_blocks for zone in evaluation.zones)
    headers = ["zone", "zones", "design", "racks\nper zone", "I: spare\ntrays/block", "R: spare\nblocks/zone"]
    headers += ["of them\nstranded"] if stranding else []
    number = Counter[str]()
    for choice in decisions.zones:
        number[choice.zone] += choice.count
    place = {zone: i for i, zone in enumerate(order or number)}
    pairs = sorted(
        zip(decisions.zones, evaluation.zones, strict=True), key=lambda pair: (place[pair[0].zone], -pair[0].count)
    )
    rows, above = [], ""
    for choice, zone in pairs:
        of = (
            f"{choice.count:,}"
            if choice.count == number[choice.zone]
            else f"{choice.count:,} of {number[choice.zone]:,}"
        )
        name = choice.zone if choice.zone != above else ""
        above = choice.zone
        stranded = [f"{zone.stranded_blocks:,}"] if stranding else []
        rows.append([
            name, of, choice.design, f"{choice.racks:,}", f"{choice.intra_block_spares:,}",
            f"{choice.inter_block_spares:,}", *stranded, ", ".join([choice.repair_plan, *repair_words(choice)]),
            limit_words(choice),
        ])  # fmt: skip
    return [*headers, "repair plan", "GPU\nlimit"], rows


def score_table(decisions: Decisions, evaluation: Evaluation, instance: Instance) -> Table:
    """The quantities of an evaluation, those that are known."""
    e, money, idle = evaluation, evaluation.currency, evaluation.idle_spares
    racks = sum(choice.count * choice.racks for choice in decisions.zones)
    years = units.show(instance.economics.amortisation, units.TIME).replace(" year", " years")

    def amount(value: float | None, kind: units.Kind = units.MONEY) -> str | None:
        return maybe(value, lambda v: units.show(v, kind, money))

    def gigawatt_hours(value: float | None) -> str | None:
        return maybe(value, lambda v: f"{number_text(v / 1e6)} GWh per year")

    def tonnes(value: float | None) -> str | None:
        return maybe(value, lambda v: f"{number_text(v / 1000)} t per year")

    rows: list[tuple[str, str | None]] = [
        ("GPUs", f"{e.gpus:,} in {racks:,} racks; {e.working_gpus:,} at work"),
        ("goodput", f"{e.goodput:,.1f} baseline GPUs ({e.goodput_scale:.4f} per GPU)"),
        ("CETT, useful share of GPU-hours", f"{e.cett:.5f}"),
        ("availability A", f"{e.availability:.6f} (blocked {percent(e.unavailability)} of the time)"),
        ("recovery efficiency", f"{e.recovery_efficiency:.5f}"),
        ("interruptions", f"{number_text(e.interruptions_per_day)} a day"),
        ("crews", _crews_text(e)),
        ("shelf", _shelf_text(e)),
        ("scale, hardware × LLM", f"{e.scale:.4f}{_slowest(evaluation, instance)}"),
        ("time to finish the job", maybe(e.wall_time_h, lambda v: units.show(v, units.TIME))),
        ("capital", amount(e.capital)),
        ("yearly cost", amount(e.yearly_cost or None, units.MONEY_PER_YEAR)),
        (f"cost, capital over {years}", amount(e.cost_per_year, units.MONEY_PER_YEAR)),
        ("cost per useful GPU-hour", amount(e.cost_per_useful_gpu_hour)),
        ("IT power", maybe(e.it_power_kw, lambda v: units.show(v, units.POWER))),
        ("site power", maybe(e.site_power_kw, lambda v: units.show(v, units.POWER))),
        ("energy", gigawatt_hours(e.energy_kwh_per_year)),
        ("energy per useful GPU-hour", maybe(e.energy_kwh_per_useful_gpu_hour, lambda v: f"{number_text(v)} kWh")),
        ("carbon", tonnes(e.carbon_kg_per_year)),
        ("carbon per useful GPU-hour", maybe(e.carbon_kg_per_useful_gpu_hour, lambda v: f"{number_text(v)} kg")),
        ("of this the idle spares", f"{idle.gpus:,} GPUs"),
        ("  their capital", amount(idle.capital)),
        ("  their energy", gigawatt_hours(idle.energy_kwh_per_year)),
        ("  their carbon", tonnes(idle.carbon_kg_per_year)),
        ("  their cost", amount(idle.cost_per_year, units.MONEY_PER_YEAR)),
    ]
    table = plain_table("", "", left=("",))
    for name, text in rows:
        if text is not None:
            table.add_row(name, text)
    return table


def _crews_text(e: Evaluation) -> str | None:
    """How busy the crews are and how long a failed unit waits for one; None where crews are ample everywhere."""
    known = {
        (zone.crew_utilisation, zone.crew_mean_wait_h)
        for zone in e.zones
        if zone.crew_utilisation is not None and zone.crew_mean_wait_h is not None
    }
    texts = [f"busy {percent(busy)} of the time, mean wait {_wait_text(wait)}" for busy, wait in sorted(known)]
    return "; ".join(texts) or None


def _wait_text(hours: float) -> str:
    return "under 1 s" if hours < 1 / 3600 else units.show(hours, units.TIME)


def _shelf_text(e: Evaluation) -> str | None:
    """How long a failed tray waits for one from the shelf; None where one is always at hand everywhere."""
    waits = sorted({zone.part_mean_wait_h for zone in e.zones if zone.part_mean_wait_h is not None})
    return "; ".join(f"mean wait for a tray {_wait_text(wait)}" for wait in waits) or None


def losses_bars(evaluation: Evaluation) -> Table:
    """The loss shares as bars; they sum to 100 %."""
    table = plain_table("share of GPU-hours", " ", "GPUs", "", left=("share of GPU-hours", ""))
    for name, words in LOSS_NAMES.items():
        share = evaluation.losses[name]
        if share == 0 and name in OPTIONAL_LOSSES:
            continue
        table.add_row(words, hundredths(share), f"{share * evaluation.gpus:,.0f}", bar(share))
    table.add_row("sum", hundredths(sum(evaluation.losses.values())), f"{evaluation.gpus:,}", "")
    return table


def limits_part(evaluation: Evaluation) -> list[object]:
    """How far the plan is from every limit of the instance."""
    if not evaluation.limits:
        return ["The instance sets no limits.", ""]
    table = plain_table("limit", "plan", " ", "bound", "left", "", left=("limit", ""))
    for row in evaluation.limits:
        mark = "VIOLATED" if row.violated else ""
        if row.limit == "placement_group":
            plan = f"{row.value:,.0f} {row.unit}" if row.violated else "yes"
            table.add_row(limit_name(row.limit), plan, "", "", "", mark)
            continue
        show = limit_number(row.unit, evaluation.currency)
        left = "none" if not row.violated and abs(row.slack) <= 1e-9 * abs(row.bound) else show(row.slack)
        table.add_row(limit_name(row.limit), show(row.value), SENSES[row.sense], show(row.bound), left, mark)
    return ["Limits", table, ""]


def limit_name(limit: str) -> str:
    """A limit in words."""
    return LIMIT_NAMES.get(limit, limit.replace("_", " "))


def limit_number(unit: str, currency: str) -> Show:
    """How numbers of a limit's unit are shown."""
    if unit == currency:
        return lambda v: units.show(v, units.MONEY, currency)
    if unit == f"{currency} per year":
        return lambda v: units.show(v, units.MONEY_PER_YEAR, currency)
    if unit == "kW":
        return lambda v: units.show(v, units.POWER)
    if unit == "baseline GPUs":
        return lambda v: f"{v:,.1f} {unit}"
    return lambda v: f"{number_text(v)} {unit}" if unit else f"{v:.6g}"


def recovery_text(decisions: Decisions, evaluation: Evaluation) -> str:
    """The checkpoint plan, and how long the job works between two saves."""
    name = f"checkpoint plan {decisions.checkpoint_plan}"
    if evaluation.checkpoint_period_h is None:
        return f"{name}: no checkpoints"
    storage = "" if evaluation.storage_every is None else f", one in {evaluation.storage_every:,} of them to storage"
    if evaluation.storage_every == 1:
        storage = ", all to storage"
    return f"{name}: {units.show(evaluation.checkpoint_period_h, units.TIME)} of work between saves{storage}"


def method_text(evaluation: Evaluation, instance: Instance) -> list[str]:
    """Which quantities are exact and which are approximations, and the assumptions of the instance."""
    by_method: dict[str, list[str]] = {}
    for quantity, method in evaluation.method.items():
        by_method.setdefault(method, []).append({"cett": "CETT"}.get(quantity, quantity.replace("_", " ")))
    lines = [prose(f"Method: {', '.join(quantities)}: {method}.") for method, quantities in by_method.items()]
    if instance.notes:
        lines += ["", "Assumptions and notes"]
        lines += [prose(f"- {capitalised(note.removeprefix('Assumption:').strip())}", "  ") for note in instance.notes]
    return lines


def evaluation_parts(decisions: Decisions, evaluation: Evaluation, instance: Instance) -> list[object]:
    """An evaluation part by part: decisions, score, losses, limits."""
    return [
        "",
        "Decisions",
        decisions_table(decisions, evaluation, instance),
        recovery_text(decisions, evaluation),
        "",
        "Score",
        score_table(decisions, evaluation, instance),
        "",
        "Where the GPU-hours go",
        losses_bars(evaluation),
        "",
        *limits_part(evaluation),
    ]


def _slowest(evaluation: Evaluation, instance: Instance) -> str:
    """Which zone holds the others back, where they could run at another scale."""
    speeds = {zone.name: zone.relative_speed for zone in instance.zones}
    scales = {zone.zone: speeds[zone.zone] * zone.hardware_scale * zone.llm_scale for zone in evaluation.zones}
    slowest, fastest = min(scales, key=scales.__getitem__), max(scales, key=scales.__getitem__)
    if scales[fastest] <= scales[slowest] * (1 + 1e-9):
        return ""
    return f", held back by zone {slowest}; {fastest} could run at {scales[fastest]:.4f}"


def scale_text(kind: str, evaluation: Evaluation) -> str:
    """The goodput of each GPU, after a goodput."""
    return f" ({evaluation.goodput_scale:.4f} per GPU)" if kind == "goodput" else ""
