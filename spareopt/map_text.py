"""A map as text: a letter per cell, axes with units, who wins how much of it and by how much."""

from __future__ import annotations

from math import ceil
from string import ascii_uppercase

from spareopt.instance import Instance
from spareopt.map_result import CLOSE, VERY_CLOSE, Cell, MapAxis, StrategyMap, numbers_of
from spareopt.wording import applied_text, capitalised, objective_number, percent, plain_table, prose, render

WIDEST = 44
"""Columns of cells that fit on a line."""
NO_PLAN, NOT_SCORED = "·", "?"
GOALS = {"goodput": "the most goodput", "cost": "the least cost", "goodput_per_dollar": "the most goodput per cost"}

VALUES = {"goodput": "baseline GPUs there", "cost": "cost there", "goodput_per_dollar": "goodput per cost there"}


def letters(result: StrategyMap) -> dict[str, str]:
    """The letter of each strategy that wins somewhere or was asked for by name; those that win come first."""
    winners = [name for name in result.strategies if name in result.shares()]
    named = result.strategies if not result.grouped_by else winners
    return dict(zip(named, ascii_uppercase, strict=False))


def map_text(result: StrategyMap, instance: Instance) -> str:
    """The map, its legend, and what it says as a whole."""
    lines = [
        f"{result.instance}: which strategy has {GOALS[result.objective]}, by the {result.model} model; the plan of "
        f"each is {result.plans}"
    ]
    lines += [applied_text(result.applied)] if result.applied else []
    parts: list[object] = [*map(prose, lines), "", f"y: {axis_name(result.y)}", *_grid(result), ""]
    parts += [_legend(result, instance), *map(prose, _summary(result, instance))]
    return render(*parts)


def axis_name(axis: MapAxis) -> str:
    """The paths of an axis with their values' ends, what was given in brackets."""
    ends = f"{short(axis.values[0])} to {short(axis.values[-1])}" if len(axis.values) > 1 else short(axis.values[0])
    spacing = {"log": ", in equal ratios", "even": ", in equal steps"}.get(axis.spacing, "")
    if not (axis.shown and _multiples(axis)):
        return f"{', '.join(axis.paths)}: {ends}{spacing}"
    words = [f"{path} {tick(axis, 0, place)} to {tick(axis, -1, place)}" for place, path in enumerate(axis.paths)]
    return f"{', '.join(words)} ({ends}){spacing}"


def _multiples(axis: MapAxis) -> bool:
    return all(text.strip().endswith("x") for text in axis.values)


def tick(axis: MapAxis, place: int, path: int = 0) -> str:
    """One value of an axis for people: what the path comes to, or what was given."""
    return short(axis.shown[path][place] if axis.shown and _multiples(axis) else axis.values[place])


def short(text: str) -> str:
    """A quantity with three digits at least, as people write it."""
    head = text.rstrip("x") if text.endswith("x") else text.partition(" ")[0]
    numbers, _ = numbers_of([head])
    if numbers is None:
        return text
    number = f"{numbers[0]:,.0f}" if abs(numbers[0]) >= 1000 else f"{numbers[0]:.3g}"
    return number + text[len(head) :]


def _grid(result: StrategyMap) -> list[str]:
    """The cells, the last value of y on top, and the values of x below."""
    step = ceil(len(result.x.values) / WIDEST)
    columns = range(0, len(result.x.values), step)
    sign = letters(result)
    ticks = [tick(result.y, place) for place in range(len(result.y.values))]
    width = max(map(len, ticks))
    lines = []
    for row in reversed(range(len(ticks))):
        line, before = "", ""
        for column in columns:
            cell = result.by_place.get((column, row))
            marked = cell is not None and cell.given
            line += ("]" if before else "[" if marked else " ") + _letter(cell, sign)
            before = "]" if marked else ""
        lines.append(f"  {ticks[row]:>{width}} |{line}{before}".rstrip())
    lines.append(f"  {'':>{width}} +{'-' * (2 * len(columns))}")
    below, end = "", 0
    for place, column in enumerate(columns):
        text = tick(result.x, column)
        at = 2 * place + 1
        if at >= end:
            below = f"{below:<{at}}{text}"
            end = at + len(text) + 2
    lines.append(f"  {'':>{width}}  {below}")
    lines.append(f"x: {axis_name(result.x)}")
    if step > 1:
        lines.append(f"(every {step}. column is shown; all are in map.csv with -o)")
    return lines


def _letter(cell: Cell | None, sign: dict[str, str]) -> str:
    if cell is None:
        return NOT_SCORED
    if cell.winner is None:
        return NO_PLAN
    letter = sign[cell.winner]
    return letter.lower() if cell.margin is not None and cell.margin < CLOSE else letter


def _legend(result: StrategyMap, instance: Instance) -> object:
    out = plain_table(
        "", "strategy", "wins in", "by, median", "R where it wins", VALUES[result.objective], left=("", "strategy")
    )
    shares = result.shares()
    for name, letter in letters(result).items():
        won = [cell for cell in result.cells if cell.winner == name]
        spares = [zone.inter_block_spares for cell in won if cell.decisions for zone in cell.decisions.zones]
        values = [cell.value for cell in won if cell.value is not None]
        median = result.median_margin(name)
        out.add_row(
            letter,
            name or "as it is",
            percent(shares[name]) if name in shares else "nowhere",
            "" if median is None else gain(median),
            _range([f"{value:,}" for value in (min(spares), max(spares))]) if spares else "",
            _range([_value(value, instance) for value in (min(values), max(values))]) if values else "",
        )
    return out


def _range(ends: list[str]) -> str:
    return " to ".join(dict.fromkeys(ends))


def _value(value: float, instance: Instance) -> str:
    return objective_number(instance.objective.kind, value, instance.currency).removesuffix(" baseline GPUs")


def gain(margin: float) -> str:
    """A margin for people: in per cent, or as a factor where it is large."""
    return f"{margin * 100:.2g} %" if margin < 1 else f"{margin + 1:,.1f} times" if margin < 99 else "over 100 times"


def _summary(result: StrategyMap, instance: Instance) -> list[str]:
    cells, lines = result.cells, []
    known = [cell for cell in cells if cell.margin is not None]
    if known:
        near, close = (percent(result.close_share(margin)) for margin in (VERY_CLOSE, CLOSE))
        lines.append(
            f"The winner is within 0.5 % of the next in {near} of the map, within 1 % in {close} (small letters)."
        )
    elif len(result.strategies) > 1:
        lines.append("By how much each wins is not known: with several zone classes only the optimum is.")
    here = next((cell for cell in cells if cell.given), None)
    if here is not None and here.winner is not None:
        margin = "" if here.margin is None else f", {gain(here.margin)} better than {here.runner_up}"
        lines.append(f"[ ] marks the instance as given: {here.winner}{margin}.")
    without = sum(cell.winner is None for cell in cells)
    if without:
        lines.append(f"{NO_PLAN} marks {without:,} cell{'s' * (without > 1)} without a useful plan within all limits.")
    if not result.complete:
        total = len(result.x.values) * len(result.y.values)
        lines.append(f"Interrupted: {len(cells):,} of {total:,} cells are scored, the others are marked {NOT_SCORED}.")
    bounds = [abs(cell.bound / cell.value - 1) for cell in cells if cell.bound is not None and cell.value is not None]
    if bounds:
        lines.append(
            f"Proven: in no cell is any plan, zones built differently included, better by {percent(max(bounds))}."
        )
    return [capitalised(line) for line in lines]
