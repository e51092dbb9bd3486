"""A sweep as text: a table or grids of the objective and the decisions, and which decision changes where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product

from spareopt import units
from spareopt.plan import PROVEN
from spareopt.sweep_result import Input, Point, Sweep, SweptAxis
from spareopt.wording import applied_text, objective_number, percent, plain_table, prose, render

MOST_ROWS = 60
"""Of a printed table; the rest is in the files."""
MOST_COLUMNS = 10
"""Of a printed grid; more go below."""
MOST_GRIDS = 5
MOST_STEPS = 8
"""Changes of a decision along an axis that are told one by one."""
MOST_WALKS = 3
"""Ways in which a decision changes along an axis that are told."""
UNITS = {"h": units.TIME, "kW": units.POWER, "per h": units.RATE}
NO_PLAN = "–"
NAMES = {
    "design": "design",
    "racks": "racks per zone",
    "intra_block_spares": "I, spare trays per block",
    "inter_block_spares": "R, spare blocks per zone",
    "repair_plan": "repair plan",
    "crews": "crews",
    "shelf_trays": "trays on the shelf",
    "start_at": "trays down when repair starts",
    "gpu_limit": "GPU limit",
}
CHECKPOINTS = "checkpoint plan"
Texts = dict[str, list[str]]
"""By decision in words: its value at every point, empty where there is no plan or none is offered."""


def sweep_text(sweep: Sweep) -> str:
    """The sweep as a planner would read it."""
    texts = _decision_texts(sweep.points)
    moving = {name: values for name, values in texts.items() if len(set(filter(None, values))) > 1}
    still = {name: next(filter(None, values), "") for name, values in texts.items() if name not in moving}
    parts: list[object] = [*map(prose, _headline(sweep)), ""]
    whole = len(sweep.points) == _size(sweep)
    if whole and len(sweep.axes) == 2:
        parts += _grids(sweep, moving)
    else:
        parts += _rows(sweep, moving)
    fixed = "; ".join(f"{name} {value}" for name, value in still.items() if value)
    if whole and any(point.decisions for point in sweep.points):
        parts += _changes(sweep, moving)
    parts += [prose(f"The same in every plan: {fixed}.")] if fixed else []
    parts += map(prose, _without_plan(sweep))
    return render(*parts)


def _size(sweep: Sweep) -> int:
    size = 1
    for axis in sweep.axes:
        size *= len(axis.values)
    return size


def _headline(sweep: Sweep) -> Iterator[str]:
    size, done = _size(sweep), len(sweep.points)
    counts = Counter(point.status for point in sweep.points)
    proofs = [point.certificate.gap for point in sweep.points if point.certificate and point.status == PROVEN]
    words = [f"{counts.pop(PROVEN):,} proven within {percent(max(proofs))}"] if proofs else []
    words += [f"{number:,} {status if status == 'infeasible' else status.upper()}" for status, number in counts.items()]
    some = f"{done:,} of {size:,} points, INTERRUPTED" if done < size else f"{size:,} points"
    yield f"{sweep.instance}: {some}{''.join(f', {word}' for word in words)}"
    yield f"Over {' and '.join(f'{_axis_name(axis)} ({len(axis.values)} values)' for axis in sweep.axes)}."
    if sweep.applied:
        yield applied_text(sweep.applied)


def _axis_name(axis: SweptAxis) -> str:
    return " with ".join(axis.paths)


def _decision_texts(points: Sequence[Point]) -> Texts:
    """Every decision of every point in words."""
    zones = list(dict.fromkeys(c.zone for point in points if point.decisions for c in point.decisions.zones))
    texts: Texts = {}
    for zone in zones:
        for field, name in NAMES.items():
            label = name if len(zones) == 1 else f"{zone}: {name}"
            texts[label] = [_decision(point, zone, field) for point in points]
    texts[CHECKPOINTS] = ["" if p.decisions is None else p.decisions.checkpoint_plan for p in points]
    return texts


def _decision(point: Point, zone: str, field: str) -> str:
    """A decision of a class of zones; where its zones differ, all values."""
    if point.decisions is None:
        return ""
    values = [getattr(choice, field) for choice in point.decisions.zones if choice.zone == zone]
    if field == "gpu_limit":
        shown = sorted({"full" if value is None else f"{value * 1000:,.6g} W" for value in values})
        return " and ".join(shown)
    numbers = sorted({value for value in values if isinstance(value, int)})
    if numbers:
        return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,}–{numbers[-1]:,}"
    return " and ".join(sorted({str(value) for value in values if value is not None}))


def _value_text(entry: Input, currency: str) -> str:
    """A swept value as it was given, and what a multiple comes to."""
    if entry.number is None or not entry.given.endswith("x"):
        return entry.given
    symbol = units.CURRENCIES[currency]
    money = {symbol: units.MONEY, f"{symbol} per year": units.MONEY_PER_YEAR}
    kind = (UNITS | money).get(entry.unit)
    number = f"{entry.number:,.6g} {entry.unit}".strip() if kind is None else units.show(entry.number, kind, currency)
    return f"{entry.given} ({number})"


def _axis_texts(sweep: Sweep, place: int) -> list[str]:
    """The values of an axis in words; with what multiples come to where one path has them at every point alike."""
    axis = sweep.axes[place]
    texts = list(axis.values)
    if len(axis.paths) > 1:
        return texts
    first = sum(len(other.paths) for other in sweep.axes[:place])
    found: dict[str, set[str]] = {}
    for point in sweep.points:
        entry = point.inputs[first]
        found.setdefault(entry.given, set()).add(_value_text(entry, sweep.currency))
    return [found[text].pop() if len(found.get(text, ())) == 1 else text for text in texts]


def _objective(sweep: Sweep, point: Point) -> str:
    certificate = point.certificate
    if certificate is None:
        return NO_PLAN
    text = objective_number(certificate.objective, certificate.value, sweep.currency)
    short = text.replace(" baseline GPUs", "").replace(" baseline GPU-hours", "").split(" per ")[0]
    return short if point.status == PROVEN else f"{short}*"


def _objective_name(sweep: Sweep) -> str:
    kinds = {point.certificate.objective for point in sweep.points if point.certificate}
    symbol = units.CURRENCIES[sweep.currency]
    names = {
        "goodput": "goodput (baseline GPUs)",
        "cost": "cost per year",
        "goodput_per_dollar": f"goodput (GPU-hours per {symbol})",
    }
    return names[kinds.pop()] if len(kinds) == 1 else "objective"


def _rows(sweep: Sweep, moving: Texts) -> list[object]:
    """The points one below the other."""
    heads = [", ".join(axis.paths).replace(", ", ",\n").replace(".", ".\n", 1) for axis in sweep.axes]
    texts = [_axis_texts(sweep, place) for place in range(len(sweep.axes))]
    lookup = [dict(zip(axis.values, words, strict=True)) for axis, words in zip(sweep.axes, texts, strict=True)]
    names = list(moving)
    titles = [name.replace(", ", ",\n").replace(" per ", "\nper ") for name in names]
    titles = [title.replace(": ", ":\n") for title in titles]
    out = plain_table(
        *heads, _objective_name(sweep).replace(" (", "\n("), "CETT", "capital", *titles, left=(*heads, *titles)
    )
    firsts = [sum(len(other.paths) for other in sweep.axes[:place]) for place in range(len(sweep.axes))]
    for i, point in enumerate(sweep.points[:MOST_ROWS]):
        capital = point.score.get("capital")
        out.add_row(
            *(lookup[place][point.inputs[first].given] for place, first in enumerate(firsts)),
            point.status if point.certificate is None else _objective(sweep, point),
            f"{point.score['cett']:.4f}" if point.score else "",
            units.show(capital, units.MONEY, sweep.currency) if capital is not None else "",
            *(moving[name][i] for name in names),
        )
    more = len(sweep.points) - MOST_ROWS
    return [out, *([f"... and {more:,} points more; -o FOLDER writes them all"] if more > 0 else []), ""]


def _grids(sweep: Sweep, moving: Texts) -> list[object]:
    """The objective, then each decision that changes, one axis down and one across."""
    down, across = (0, 1) if len(sweep.axes[1].values) <= max(MOST_COLUMNS, len(sweep.axes[0].values)) else (1, 0)
    rows, columns = _axis_texts(sweep, down), list(sweep.axes[across].values)
    count = len(sweep.axes[1].values)

    def at(row: int, column: int) -> int:
        return row * count + column if down == 0 else column * count + row

    shown: list[tuple[str, Callable[[int], str]]] = [
        (_objective_name(sweep), lambda i: _objective(sweep, sweep.points[i]))
    ]
    for name, values in list(moving.items())[:MOST_GRIDS]:
        shown.append((name, lambda i, values=values: values[i] or NO_PLAN))  # type: ignore[misc]
    head = f"Down: {_axis_name(sweep.axes[down])}; across: {_axis_name(sweep.axes[across])}"
    parts: list[object] = [prose(f"{head} ({', '.join(_axis_texts(sweep, across))})."), ""]
    for name, text in shown:
        parts.append(f"{name[:1].upper()}{name[1:]}")
        for start in range(0, len(columns), MOST_COLUMNS):
            band = range(start, min(start + MOST_COLUMNS, len(columns)))
            out = plain_table(" ", *(columns[c] for c in band), left=(" ",))
            out.columns[0].no_wrap = True
            for r, label in enumerate(rows):
                out.add_row(label, *(text(at(r, c)) for c in band))
            parts += [out, ""]
    left = list(moving)[MOST_GRIDS:]
    return [*parts, *([prose(f"Not shown, but changing too: {', '.join(left)}."), ""] if left else [])]


def _changes(sweep: Sweep, moving: Texts) -> list[object]:
    """Which decision changes where along each axis."""
    if not moving:
        return ["No decision changes.", ""]
    parts: list[object] = ["What changes where"]
    sizes = [len(axis.values) for axis in sweep.axes]
    places = {combination: i for i, combination in enumerate(product(*map(range, sizes)))}
    for a, axis in enumerate(sweep.axes):
        others = list(product(*(range(size) for b, size in enumerate(sizes) if b != a)))
        said = False
        for name, values in moving.items():
            walks: dict[str, list[tuple[int, ...]]] = {}
            for other in others:
                line = [values[places[(*other[:a], v, *other[a:])]] for v in range(sizes[a])]
                walks.setdefault(_walk(line, axis.values), []).append(other)
            if set(walks) == {""}:
                continue
            if not said:
                parts.append(prose(f"  Along {_axis_name(axis)}:", "    "))
                said = True
            parts += _walk_lines(sweep, a, name, walks, len(others))
    return [*parts, ""]


def _walk_lines(sweep: Sweep, a: int, name: str, walks: dict[str, list[tuple[int, ...]]], lines: int) -> Iterator[str]:
    """How a decision changes along an axis, and for which values of the others."""
    steps = {walk: where for walk, where in walks.items() if walk}
    told = sorted(steps, key=lambda walk: -len(steps[walk]))[:MOST_WALKS]
    for walk in (walk for walk in steps if walk in told):
        where = "" if lines == 1 or len(steps[walk]) == lines else f" ({_where(sweep, a, steps[walk], lines)})"
        yield prose(f"    {name}: {walk}{where}", "      ")
    rest = sum(len(where) for walk, where in steps.items() if walk not in told)
    if rest:
        yield prose(f"    {name}: otherwise in {rest:,} other lines of {lines:,}", "      ")


def _where(sweep: Sweep, a: int, others: list[tuple[int, ...]], lines: int) -> str:
    """For which values of the other axes: a stretch of the only other one, or how many."""
    if len(sweep.axes) == 2:
        axis = sweep.axes[1 - a]
        values = [other[0] for other in others]
        if len(values) == 1:
            return f"{axis.paths[0]} {axis.values[values[0]]}"
        if values == list(range(values[0], values[-1] + 1)):
            return f"{axis.paths[0]} {axis.values[values[0]]} to {axis.values[values[-1]]}"
        if len(values) <= 4:
            return f"{axis.paths[0]} {', '.join(axis.values[value] for value in values)}"
    return f"in {len(others):,} of {lines:,} lines"


def _walk(line: Sequence[str], labels: Sequence[str]) -> str:
    """The steps of a decision along an axis in words; empty where it stays."""
    steps: list[tuple[str, str]] = []
    for text, label in zip(line, labels, strict=True):
        if text and (not steps or text != steps[-1][0]):
            steps.append((text, label))
    if len(steps) < 2:
        return ""
    if len(steps) > MOST_STEPS + 1:
        numbers = [number for text, _ in steps if (number := _as_number(text)) is not None]
        ends = f"between {min(numbers):,g} and {max(numbers):,g}, " if len(numbers) == len(steps) else ""
        return f"{ends}from {steps[0][0]} to {steps[-1][0]} in {len(steps) - 1} steps"
    words, before = [steps[0][0]], ""
    for (old, _), (new, label) in pairwise(steps):
        left, right = _as_number(old), _as_number(new)
        verb = "becomes" if left is None or right is None else "rises to" if right > left else "falls to"
        verb, before = verb if verb != before else verb.rsplit(maxsplit=1)[-1] if " " in verb else "then", verb
        words.append(f"{verb} {new} at {label}")
    return ", ".join(words)


def _as_number(text: str) -> float | None:
    """The number of a decision in words; the middle of several; None where it is none."""
    try:
        numbers = [float(part) for part in text.replace(",", "").removesuffix(" W").split("–")]
    except ValueError:
        return None
    return sum(numbers) / len(numbers)


def _without_plan(sweep: Sweep) -> Iterator[str]:
    """Why points have no plan or no proof; the same reason once."""
    if any(point.certificate and point.status != PROVEN for point in sweep.points):
        gap = max(p.certificate.gap for p in sweep.points if p.certificate and p.status != PROVEN)
        yield f"* not proven: a better plan may exist, by up to {percent(gap)}."
    reasons: dict[tuple[str, str], list[Point]] = {}
    for point in sweep.points:
        if point.certificate is None:
            reasons.setdefault((point.status, point.why), []).append(point)
    for (status, why), points in list(reasons.items())[:MOST_WALKS]:
        at = ", ".join(f"{entry.path} {entry.given}" for entry in points[0].inputs)
        many = f" and {len(points) - 1:,} more" if len(points) > 1 else ""
        yield f"{status[:1].upper()}{status[1:]} at {at}{many}: {why}"
    if len(reasons) > MOST_WALKS:
        rest = sum(len(points) for points in list(reasons.values())[MOST_WALKS:])
        yield f"... and {rest:,} points more without a plan; the table says why (why)."
