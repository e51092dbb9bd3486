"""Frontiers, marginal values and tornados as text."""

from __future__ import annotations

from collections.abc import Callable

from rich.table import Table

from spareopt import units
from spareopt.efficient import Frontier, FrontierPoint, Of
from spareopt.exposure import ROUNDING, Tornado, TornadoBar, TornadoEnd
from spareopt.instance import Instance
from spareopt.marginal import MarginalStep, MarginalValues
from spareopt.plan import PROVEN, ZONES_ALIKE
from spareopt.score_text import limit_name
from spareopt.wording import (
    WIDTH,
    applied_text,
    capitalised,
    counted,
    maybe,
    number_text,
    objective_text,
    percent,
    plain_table,
    prose,
    render,
    signed_money,
    signed_percent,
)

HALF_BAR = 20
LEAST_TOLD = 1e-9
"""Relative differences below this are of rounding."""
PLOT = 44
"""The widest that the picture of a frontier is."""


def frontier_text(result: Frontier, instance: Instance) -> str:
    """The frontier, point by point, and what is proven about it."""
    found = counted(len(result.points), "point")
    lines = [f"{instance.name}: efficient frontier of goodput against {resource_name(result.of)}, {found}"]
    lines += [applied_text(instance.applied)] if instance.applied else []
    lines += _alike(result.among)
    heads, rows = _frontier_rows(result)
    resources = [point.resource for point in result.points]
    low, wide = min(resources), max(resources) - min(resources)
    taken = sum(max(map(len, texts)) + 2 for texts in zip(heads, *rows, strict=True))
    plot = max(1, min(PLOT, WIDTH - taken))
    out = plain_table(*heads, "", left=("",))
    for point, row in zip(result.points, rows, strict=True):
        place = round((point.resource - low) / wide * (plot - 1)) if wide else 0
        out.add_row(*row, " " * place + "●")
    return render(*map(prose, lines), "", out, "", *map(prose, frontier_notes(result)))


def frontier_table(result: Frontier) -> Table:
    """A row per point: what it gives and takes, and what marks it."""
    heads, rows = _frontier_rows(result)
    out = plain_table(*heads, left=("",))
    for row in rows:
        out.add_row(*row)
    return out


def _frontier_rows(result: Frontier) -> tuple[list[str], list[list[str]]]:
    """The headers of the table of points, and its rows."""
    money, of = result.currency, result.of
    costs = of != "cost"
    heads = ["goodput", resource_name(of), *(["cost per year"] if costs else []), "next GPU takes", ""]
    rows = []
    for point in result.points:
        cost = maybe(point.cost_per_year, lambda v: units.show(v, units.MONEY_PER_YEAR, money)) or ""
        takes = maybe(point.resource_per_gpu, lambda v: _amount(of, v, money)) or ""
        row = [f"{point.goodput:,.1f}", _amount(of, point.resource, money), *([cost] if costs else []), takes]
        rows.append([*row, _marks(point)])
    return heads, rows


def frontier_notes(result: Frontier) -> list[str]:
    """What is proven about a frontier, and how its shape is to be read."""
    notes = [_proof(result)]
    notes.append(
        "unsupported: below the concave hull of these points, so no weighting finds it."
        if any(not point.supported for point in result.points)
        else "All points are on the concave hull of those found: a weighting of goodput and "
        f"{resource_name(result.of)} would find each."
    )
    if len(result.points) > 2 and not any(point.knee for point in result.points):
        notes.append("The curve is nearly straight: it has no knee.")
    if len(result.points) == 1:
        notes.append(
            f"One plan is best in both: nothing is to be traded between goodput and {resource_name(result.of)}."
        )
    return notes


def _alike(among: str) -> list[str]:
    """That plans are of one kind, where they are."""
    return ["Every plan builds all zones of a class alike; others may be better."] if among == ZONES_ALIKE else []


def settings_of(point: FrontierPoint, of: Of, instance: Instance) -> list[str]:
    """What finds a point again, as one would type it after ``--set``: rounded so that its plan stays within."""
    objective, money = instance.objective, instance.currency
    if of == "cost":
        target = units.rounded(point.goodput, up=False)
        if objective.kind == "cost":
            return [f"objective.goodput_target={target}"]
        return [f"objective={{kind: cost, goodput_target: {target}}}"]
    plain = objective.kind == "goodput"
    path, kind = ("limits.capital", units.MONEY) if of == "capital" else ("limits.it_power", units.POWER)
    return [*([] if plain else ["objective={kind: goodput}"]), f"{path}={units.typed(point.resource, kind, money)}"]


def resource_name(of: str) -> str:
    """What a frontier is against, in words."""
    return {"cost": "cost per year", "capital": "capital", "power": "IT power"}[of]


def _amount(of: str, value: float, money: str) -> str:
    kind = {"cost": units.MONEY_PER_YEAR, "capital": units.MONEY, "power": units.POWER}[of]
    return units.show(value, kind, money)


def _marks(point: FrontierPoint) -> str:
    marks = [] if point.supported else ["unsupported"]
    marks += ["knee"] if point.knee else []
    marks += [] if point.status == PROVEN else ["not proven"]
    return ", ".join(marks)


def _proof(result: Frontier) -> str:
    resource = [p.resource_within for p in result.points]
    goodput = [p.goodput_within for p in result.points]
    parts = [_within(resource_name(result.of), resource), _within("goodput", goodput)]
    between = "no further point is between them" if result.complete else "more may lie between them"
    head = "Interrupted: each" if result.interrupted else "Each"
    return (
        f"{head} point is efficient within {' and '.join(parts)}; {between}. The curve was asked for from "
        f"{result.lowest_goodput:,.0f} baseline GPUs on; {result.solves} solves, each within the gap asked, "
        f"{percent(float(result.provenance.options['gap']))}."
    )


def _within(name: str, values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return f"no proven bound of {name}"
    missing = len(values) - len(known)
    worst = max(known)
    return f"{percent(worst) if worst == 0 or worst >= LEAST_TOLD else '< 1e-7 %'} of {name}" + (
        f" ({missing} without proof)" if missing else ""
    )


def marginal_text(result: MarginalValues, instance: Instance) -> str:
    """The marginal values, limits first."""
    certificate, money = result.certificate, result.currency
    value = objective_text(certificate.objective, certificate.value, money)
    lines = [f"{instance.name}: what a little more is worth, from {value} (gap {percent(certificate.gap)})"]
    lines += [applied_text(instance.applied)] if instance.applied else []
    lines += _alike(certificate.among)
    lines.append("Finite differences between optima, by solving again with the step stated; no dual prices.")
    return render(*map(prose, lines), "", marginal_table(result), "", *map(prose, marginal_notes(result)))


def marginal_table(result: MarginalValues) -> Table:
    """A row per limit or input: what a step better brings, and a step worse takes."""
    certificate, money = result.certificate, result.currency
    priced = any(value.better.money_per_year is not None for value in result.values) and certificate.objective != "cost"
    out = plain_table(
        "", "step", "one step better", "one step worse", "per unit of the better step",
        *(["saves"] if priced else []), "plan's own cost", left=("", "step"),
    )  # fmt: skip
    change = _change(certificate.objective, money)

    def cost(value: float) -> str:
        return signed_money(value, money) if value else "0"

    for item in result.values:
        better = item.better
        no_worth = item.kind == "input" or not better.told or (better.change and better.in_whole_units)
        worth = None if no_worth else better.per_unit
        unit = item.unit if item.kind != "input" else ""
        out.add_row(
            item.name,
            item.unit if item.kind == "input" else _with_unit(better.amount, item.unit),
            _told(better, change),
            "" if item.worse is None else _told(item.worse, change),
            "" if worth is None else f"{change(worth)} per {unit}" if worth else "0",
            *([maybe(better.money_per_year, cost) or ""] if priced else []),
            maybe(better.plan_cost_change_per_year, cost) or "",
        )
    return out


def marginal_notes(result: MarginalValues) -> list[str]:
    """How marginal values are to be read."""
    certificate = result.certificate
    notes = []
    if certificate.objective == "goodput":
        notes.append(
            "Changes are in baseline GPUs of goodput. What a GPU of goodput is worth is not stated, so no change is "
            'put in money; "plan\'s own cost" is how the cost per year of the best plan moves with the better step.'
        )
    elif certificate.objective == "cost":
        notes.append("Changes are money saved per year at the same goodput target.")
    else:
        notes.append('Changes are in the objective; "saves" is money per year at today\'s goodput.')
    limits = [item for item in result.values if item.kind == "limit" and item.better.change is not None]
    for item in limits:
        step = item.better
        if step.told and step.change and step.in_whole_units and step.use_change is not None:
            notes.append(
                f"{capitalised(item.name)}: no value per unit, as plans move by whole racks and the like: with "
                f"{_with_unit(step.amount, item.unit)} more of it the best plan uses "
                f"{_with_unit(abs(step.use_change), item.unit)} {'more' if step.use_change >= 0 else 'less'}."
            )
    nothing = [item for item in limits if not item.better.change or not item.better.told]
    ends = [*result.at_the_edge, *(f"{only}, the only number offered" for only in result.only_offered)]
    if ends and nothing:
        notes.append(
            f"The plan stands at the edge of the choices ({'; '.join(ends)}). Where one step more of a limit is worth "
            "nothing, that may be because the choices end there, not because the limit is worth nothing: offer more, "
            "and ask again."
        )
    untold = [(item, step) for item in result.values for step in (item.better, item.worse) if step and not step.told]
    within = max((abs(end) for _, step in untold for end in (step.change_low, step.change_high) if end), default=0.0)
    if within:
        advice = "" if ends and all(item in nothing for item, _ in untold) else "; a smaller --gap may tell more"
        tolerance = _change(certificate.objective, result.currency)(within).lstrip("+")
        notes.append(f"≈ 0: within {tolerance} of nothing, below what the proofs can tell{advice}.")
    if result.interrupted:
        notes.append("Interrupted: the rest is missing.")
    return notes


def _with_unit(amount: float, unit: str) -> str:
    return f"{number_text(amount)} {unit}"


def _change(objective: str, money: str) -> Callable[[float], str]:
    if objective == "cost":
        return lambda v: signed_money(v, money)
    if objective == "goodput":
        return lambda v: f"{'+' if v > 0 else '−' if v < 0 else ''}{abs(v):,.4g} GPUs"
    return lambda v: f"{'+' if v > 0 else '−' if v < 0 else ''}{abs(v):,.4g} GPU-h/{units.CURRENCIES[money]}"


def _told(step: MarginalStep, change: Callable[[float], str]) -> str:
    if step.change is None:
        return {"infeasible": "no plan", "no plan in time": "none in time"}.get(step.status, step.status)
    if not step.told:
        return "≈ 0"
    return change(step.change) if step.change else "0"


def tornado_text(result: Tornado, instance: Instance) -> str:
    """The tornado: bars of the best plan's objective, and the table of both plans."""
    certificate = result.certificate
    nominal = certificate.value
    value = objective_text(certificate.objective, nominal, result.currency)
    lines = [f"{instance.name}: one input at a time, from {value}, largest swing first"]
    lines += [applied_text(instance.applied)] if instance.applied else []
    lines += _alike(certificate.among)
    shown = [bar for bar in result.bars if bar.swing > 0]
    bars = plain_table("", f"{'less':>{HALF_BAR - 1}} │ more", left=("", f"{'less':>{HALF_BAR - 1}} │ more"))
    out = tornado_table(result)
    out.columns[0].no_wrap = bars.columns[0].no_wrap = True
    shares = [_share(end, nominal) for bar in shown for end in (bar.low, bar.high)]
    for bar in shown:
        ends = [_share(end, nominal) for end in (bar.low, bar.high)]
        bars.add_row(_input_name(bar), _both_bars(ends, max(map(abs, shares))))
    return render(*map(prose, lines), "", bars, "", out, "", *map(prose, tornado_notes(result)))


def tornado_table(result: Tornado) -> Table:
    """Two rows per input that matters: the plan as it is and the best plan at each end of its interval."""
    nominal = result.certificate.value
    out = plain_table(
        "input", "set to", "plan as it is", "best plan", "adapting saves", "decisions",
        left=("input", "set to", "decisions"),
    )  # fmt: skip
    for bar in result.bars:
        if bar.swing == 0:
            continue
        name = _input_name(bar)
        for end in (bar.low, bar.high):
            out.add_row(
                name,
                end.setting,
                _fixed(end, nominal),
                end.status if end.adapted is None else _moved(end.adapted, nominal),
                "" if end.adapting_saves is None else percent(end.adapting_saves / abs(nominal)),
                "" if end.decisions_change is None else "change" if end.decisions_change else "stay",
            )
            name = ""
    return out


def tornado_notes(result: Tornado) -> list[str]:
    """How a tornado is to be read."""
    certificate, shown = result.certificate, [bar for bar in result.bars if bar.swing > 0]
    notes = []
    if any(bar.interval == "assumed" for bar in shown):
        notes.append("* assumed: 20 % either way, as the instance states no interval.")
    if still := [bar.input for bar in result.bars if bar.swing == 0]:
        notes.append(f"Without effect on the objective: {', '.join(still)}.")
    broken = sorted({limit for bar in shown for end in (bar.low, bar.high) for limit in end.fixed_breaks})
    if broken:
        notes.append(
            f"Where the plan as it is breaks a limit ({', '.join(map(limit_name, broken))}), it has to change."
        )
    if any(end.adapted is None for bar in shown for end in (bar.low, bar.high)):
        notes.append("Infeasible: no plan meets the limits, or the goodput target, there.")
    notes.append(
        "Bars: the best plan's objective against the nominal one; sorted by the larger swing of both plans. "
        "One input at a time: joint effects are not shown. "
        f"Solved within {percent(certificate.gap_asked)}: smaller differences mean nothing."
    )
    if result.interrupted:
        notes.append("Interrupted: the inputs left over are missing.")
    return notes


def _input_name(bar: TornadoBar) -> str:
    return bar.input + (" *" if bar.interval == "assumed" else "")


def _share(end: TornadoEnd, nominal: float) -> float:
    return 0.0 if end.adapted is None else end.adapted / nominal - 1.0


def _moved(value: float, nominal: float) -> str:
    share = value / nominal - 1.0
    return signed_percent(share if abs(share) > ROUNDING else 0.0)


def _fixed(end: TornadoEnd, nominal: float) -> str:
    if end.fixed is None:
        return "can't be built"
    return f"breaks {limit_name(end.fixed_breaks[0])}" if end.fixed_breaks else _moved(end.fixed, nominal)


def _both_bars(shares: list[float], worst: float) -> str:
    """One bar from the middle: to the left for less, to the right for more."""
    left, right = (round(abs(end) / worst * HALF_BAR) if worst else 0 for end in (min(0, *shares), max(0, *shares)))
    return f"{'█' * left:>{HALF_BAR}}│{'█' * right}"
