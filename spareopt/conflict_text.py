"""The explanation of an infeasible instance as text: what conflicts, what is enough to move, what each limit allows."""

from __future__ import annotations

from math import inf

from spareopt.caps import Cap, caps_of, stated_text, value_text
from spareopt.conflicts import Conflict, Infeasibility, Move
from spareopt.instance import Instance
from spareopt.settings import command
from spareopt.wording import applied_text, capitalised, plain_table, prose, render, signed_percent

HINTS = {
    "working GPUs per block do not divide the placement group": "offer designs or intra_block_spares whose blocks "
    "divide it, or another placement_group",
    "working blocks not in whole placement groups": "offer other inter_block_spares or racks, or a smaller "
    "placement_group",
    "working blocks not in whole replica groups": "offer other inter_block_spares or racks, or other groups_per_zone",
    "rack power above its limit": "offer lower gpu_limits or more intra_block_spares, or raise power.rack_limit",
    "GPU limit below the measured hardware scale": "offer higher gpu_limits, or measure hardware_scale further down",
    "fewer usable blocks than guaranteed": "offer more spares or faster repair, or promise less",
    "crews that can't keep up by far": "offer more crews",
    "no working block left": "offer fewer inter_block_spares",
    "racks not divided evenly by the domains across zones": "offer racks that their units divide",
}


def infeasibility_text(result: Infeasibility, instance: Instance, given: str | None = None) -> str:
    """An explanation as a planner would paste it.  ``given`` is the instance with its options as typed."""
    caps = {cap.path: cap for cap in caps_of(instance)}
    lines = [f"{result.instance}: no plan meets every limit, proven by the {result.model} model."]
    lines += [applied_text(result.applied)] if result.applied else []
    if not result.complete:
        lines.append("The limit was reached: conflicts may not be the smallest, and values not the best possible.")
    parts: list[object] = [*map(prose, lines), ""]
    if result.useless:
        parts += [prose("No plan does any useful work at these fault rates: check failures (mtbf and rate)."), ""]
    for zone, reasons in result.unbuildable.items():
        parts += [*_unbuildable(zone, reasons), ""]
    for number, conflict in enumerate(result.conflicts):
        parts += [*_conflict(conflict, caps, number), ""]
    parts += _remedies(result, caps)
    parts += _limits(result, caps)
    return render(*parts, _next(result, given or result.instance))


def _unbuildable(zone: str, reasons: dict[str, int]) -> list[object]:
    total = sum(reasons.values())
    lines = [prose(f"Zone {zone} has no choice that can be built; all {total:,} that are offered are left out:")]
    for reason, number in sorted(reasons.items(), key=lambda item: -item[1]):
        hint = f"; {HINTS[reason]}" if reason in HINTS else ""
        lines.append(prose(f"- {number:,}: {reason}{hint}", "  "))
    return list(lines)


def _conflict(conflict: Conflict, caps: dict[str, Cap], number: int) -> list[object]:
    """Which limits can't hold together, and what each could be beside the others."""
    chosen = [caps[path] for path in conflict.limits]
    other = "" if number == 0 else "Besides, "
    if len(chosen) == 1:
        (cap,), (best,) = chosen, conflict.best
        text = f"{other}{cap.name} {_stated(cap)} can't be met whatever the other limits are"
        if best is not None:
            text += f": the {_extreme(cap)} possible is {value_text(cap, cap.loss(best))}"
        return [prose(_sentence(text))]
    names = [f"{cap.name} {_stated(cap)}" for cap in chosen]
    both = "both" if len(chosen) == 2 else f"all {len(chosen)}"
    fewer = "either alone can" if len(chosen) == 2 else "without any one of them the others can"
    lines = [prose(_sentence(f"{other}{_joined(names)} cannot {both} hold; {fewer}"))]
    for cap, best in zip(chosen, conflict.best, strict=True):
        if best is not None:
            rest = _joined([f"{o.name} {_stated(o)}" for o in chosen if o is not cap])
            text = f"- with {rest} the {_extreme(cap)} {cap.name} is {value_text(cap, cap.loss(best))}"
            lines.append(prose(text, "  "))
    return list(lines)


def _remedies(result: Infeasibility, caps: dict[str, Cap]) -> list[object]:
    if not result.remedies:
        hopeless = "No limit moved helps: change what the instance offers (designs, racks, spares, repair plans)."
        return [prose(hopeless), ""]
    if len(result.remedies) == 1 and len(result.remedies[0].moves) > 1:
        title = "No limit moved alone is enough. These moves together are, all other limits as they are:"
    elif len(result.remedies) == 1:
        title = "Enough to have a plan, all other limits as they are:"
    else:
        title = "Any one of these is enough to have a plan, all other limits as they are:"
    table = plain_table("limit", "needed", "to type", left=("limit", "to type"))
    table.columns[2].no_wrap = True
    for remedy in result.remedies:
        for move in remedy.moves:
            cap = caps[move.limit]
            table.add_row(cap.name, _needed(cap, move), move.option)
    return [prose(title), table, ""]


def _needed(cap: Cap, move: Move) -> str:
    if move.needed is None:
        return "taken out"
    if cap.kind == "group":
        return value_text(cap, move.needed)
    text = f"at {'most' if cap.sense == '<=' else 'least'} {value_text(cap, cap.loss(move.needed))}"
    if cap.kind == "share" or not 0.1 < move.needed / (cap.bound or inf) < 10:
        return text
    return f"{text} ({signed_percent(move.needed / cap.bound - 1.0)})"


def _limits(result: Infeasibility, caps: dict[str, Cap]) -> list[object]:
    """What each limit allows at best, alone and with all the others."""
    rows = [row for row in result.limits if row.alone is not None]
    if not result.conflicts or not rows:
        return []
    table = plain_table("limit", "stated", "best alone", "best with all others held", left=("limit",))
    for row in rows:
        cap = caps[row.limit]
        assert row.alone is not None
        held = "no plan" if row.held is None else value_text(cap, cap.loss(row.held))
        table.add_row(cap.name, stated_text(cap), value_text(cap, cap.loss(row.alone)), held)
    return ["What each limit could be at best", table, ""]


def _next(result: Infeasibility, given: str) -> str:
    if result.remedies:
        return f"Next: spareopt solve {command(given, result.remedies[0].changes)}"
    return f"Next: spareopt show {given}"


def _stated(cap: Cap) -> str:
    return f"of {cap.bound:,.0f} GPUs" if cap.kind == "group" else stated_text(cap)


def _extreme(cap: Cap) -> str:
    if cap.sense == "<=":
        return "fewest" if cap.kind == "count" else "least"
    return "highest" if cap.kind == "share" else "most"


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _sentence(text: str) -> str:
    return f"{capitalised(text)}."
