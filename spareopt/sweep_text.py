"""A sweep as text: a table or grids of the objective and the decisions, and which decision changes where."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from spareopt import units
from spareopt.decision_words import limit_words
from spareopt.plan import PROVEN
from spareopt.sweep_result import Input, Point, Sweep, SweptAxis
from spareopt.wording import (
    WIDTH,
    applied_text,
    capitalised,
    counted,
    objective_number,
    percent,
    plain_table,
    prose,
    render,
)

MOST_ROWS = 60
"""Of a printed table; the rest is in the files."""
GAP = 2  # letters between two columns
MOST_GRIDS = 5
MOST_STEPS = 6
"""Changes of a decision along an axis that are told one by one."""
MOST_WALKS = 3
"""Ways in which a decision changes along an axis that are told."""
UNITS = {"h": units.TIME, "kW": units.POWER, "per h": units.RATE}
NO_PLAN = "–"
NAMES = {
    "design": "design",
    "racks": "racks in all",
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
    some = f"{done:,} of {size:,} points, INTERRUPTED" if done < size else counted(size, "point")
    yield f"{sweep.instance}: {some}{''.join(f', {word}' for word in words)}"
    axes = [f"{_axis_name(axis)} ({counted(len(axis.values), 'value')})" for axis in sweep.axes]
    yield f"Over {' and '.join(axes)}."
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
    choices = [choice for choice in point.decisions.zones if choice.zone == zone]
    if field == "racks":
        return f"{sum(choice.count * choice.racks for choice in choices):,}"
    values = [getattr(choice, field) for choice in choices]
    if field == "gpu_limit":
        return " and ".join(sorted(set(map(limit_words, choices))))
    numbers = sorted({value for value in values if isinstance(value, int)})
    if numbers:
        return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,}–{numbers[-1]:,}"
    return " and ".join(sorted({str(value) for value in values if value is not None}))


def _value_text(entry: Input, currency: str) -> str:
    """A swept value as it was given, and what a multiple comes to."""
    if entry.number is None or not entry.given.endswith("x"):
        return _short(entry.given)
    symbol = units.CURRENCIES[currency]
    money = {symbol: units.MONEY, f"{symbol} per year": units.MONEY_PER_YEAR}
    kind = (UNITS | money).get(entry.unit)
    number = f"{entry.number:,.6g} {entry.unit}".strip() if kind is None else units.show(entry.number, kind, currency)
    return f"{_short(entry.given)} ({number})"


def _short(text: str) -> str:
    """A value with its number in four digits, where it has more: the rest of a range's values is no news."""
    match = re.fullmatch(r"(-?\d*\.\d{4,})(\D.*)?", text)
    return text if match is None else f"{float(match[1]):.4g}{match[2] or ''}"


def _labels(axis: SweptAxis) -> list[str]:
    """The values of an axis as they are told; in full where they would be alike else."""
    short = [_short(text) for text in axis.values]
    return short if len(set(short)) == len(short) else list(axis.values)


def axis_texts(sweep: Sweep, place: int) -> list[str]:
    """The values of an axis in words; with what multiples come to where one path has them at every point alike."""
    axis = sweep.axes[place]
    labels = _labels(axis)
    if len(axis.paths) > 1:
        return labels
    first = sum(len(other.paths) for other in sweep.axes[:place])
    found: dict[str, set[str]] = {}
    for point in sweep.points:
        entry = point.inputs[first]
        found.setdefault(entry.given, set()).add(_value_text(entry, sweep.currency))
    texts = [
        found[given].pop() if len(found.get(given, ())) == 1 else label
        for given, label in zip(axis.values, labels, strict=True)
    ]
    return texts if len(set(texts)) == len(texts) else labels


def _objective(sweep: Sweep, point: Point) -> str:
    certificate = point.certificate
    if certificate is None:
        return NO_PLAN
    if certificate.objective == "goodput":
        short = f"{certificate.value:,.{0 if certificate.value >= 10_000 else 1}f}"
    else:
        text = objective_number(certificate.objective, certificate.value, sweep.currency)
        short = text.replace(" baseline GPU-hours", "").split(" per ")[0]
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
    """The points one below the other, with as many of the decisions that change as there is room for."""
    points = sweep.points[:MOST_ROWS]
    columns: list[tuple[str, bool, list[str]]] = []  # title, whether to the left, texts
    first = 0
    for place, axis in enumerate(sweep.axes):
        words = dict(zip(axis.values, axis_texts(sweep, place), strict=True))
        title = "\nwith ".join(path.replace(".", ".\n", 1) for path in axis.paths)
        columns.append((title, True, [words[point.inputs[first].given] for point in points]))
        first += len(axis.paths)
    objective = [
        point.status if p is None else _objective(sweep, point) for point in points for p in [point.certificate]
    ]
    columns.append((_objective_name(sweep).replace(" (", "\n("), False, objective))
    columns.append(("CETT", False, [f"{point.score['cett']:.4f}" if point.score else "" for point in points]))
    money = [point.score.get("capital") for point in points]
    shown = ["" if value is None else units.show(value, units.MONEY, sweep.currency) for value in money]
    columns.append(("capital", False, shown))
    always = len(columns)
    for name, values in moving.items():
        title = name.replace(": ", ":\n").replace(", ", ",\n").replace(" per ", "\nper ")
        columns.append((title, True, values[: len(points)]))
    widths = [max(map(len, (*title.split("\n"), *texts))) + GAP for title, _, texts in columns]
    fits = max(always, sum(sum(widths[: i + 1]) <= WIDTH + GAP for i in range(len(columns))))
    out = plain_table(
        *(title for title, *_ in columns[:fits]), left=[title for title, left, _ in columns[:fits] if left]
    )
    for row in zip(*(texts for *_, texts in columns[:fits]), strict=True):
        out.add_row(*row)
    parts: list[object] = [out]
    if more := len(sweep.points) - len(points):
        parts.append(f"... and {counted(more, 'point')} more; -o FOLDER writes them all")
    if left := list(moving)[fits - always :]:
        parts.append(prose(f"Changing too, but not shown for want of room: {', '.join(left)}."))
    return [*parts, ""]


def _grids(sweep: Sweep, moving: Texts) -> list[object]:
    """The objective, then each decision that changes, one axis down and one across."""
    down, across = (0, 1) if len(sweep.axes[1].values) <= len(sweep.axes[0].values) else (1, 0)
    rows, columns = axis_texts(sweep, down), _labels(sweep.axes[across])
    count = len(sweep.axes[1].values)
    shown = {_objective_name(sweep): [_objective(sweep, point) for point in sweep.points]}
    shown |= {name: [value or NO_PLAN for value in moving[name]] for name in list(moving)[:MOST_GRIDS]}
    head = f"Down: {_axis_name(sweep.axes[down])}; across: {_axis_name(sweep.axes[across])}"
    parts: list[object] = [prose(f"{head} ({', '.join(axis_texts(sweep, across))})."), ""]
    for name, values in shown.items():
        cells = [
            [values[r * count + c if down == 0 else c * count + r] for c in range(len(columns))]
            for r in range(len(rows))
        ]
        parts.append(capitalised(name))
        for band in _bands(max(map(len, rows)), columns, cells):
            out = plain_table(" ", *(columns[c] for c in band), left=(" ",))
            for label, line in zip(rows, cells, strict=True):
                out.add_row(label, *(line[c] for c in band))
            parts += [out, ""]
    left = list(moving)[MOST_GRIDS:]
    return [*parts, *([prose(f"Changing too, but not shown: {', '.join(left)}."), ""] if left else [])]


def _bands(label: int, columns: list[str], cells: list[list[str]]) -> Iterator[list[int]]:
    """The columns of a grid in groups that fit the width beside a label of so many letters."""
    band: list[int] = []
    used = label
    for c, title in enumerate(columns):
        width = GAP + max(len(title), *(len(line[c]) for line in cells))
        if band and used + width > WIDTH:
            yield band
            band, used = [], label
        band.append(c)
        used += width
    yield band


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
                walks.setdefault(_walk(line, _labels(axis)), []).append(other)
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
        yield prose(f"    {name}: other steps in {rest:,} more of the {lines:,} lines", "      ")


def _where(sweep: Sweep, a: int, others: list[tuple[int, ...]], lines: int) -> str:
    """For which values of the other axes: a stretch of the only other one, or how many."""
    if len(sweep.axes) == 2:
        axis = sweep.axes[1 - a]
        values, labels = [other[0] for other in others], _labels(axis)
        if len(values) > 2 and axis.spacing != "listed" and values == list(range(values[0], values[-1] + 1)):
            return f"{axis.paths[0]} {labels[values[0]]} to {labels[values[-1]]}"
        if len(values) <= 4:
            return f"{axis.paths[0]} {', '.join(labels[value] for value in values)}"
    return f"in {len(others):,} of the {lines:,} lines"


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
        verb = "moves"
        if len(numbers) == len(steps) and numbers in (sorted(numbers), sorted(numbers, reverse=True)):
            verb = "rises" if numbers[-1] > numbers[0] else "falls"
        return f"{verb} from {steps[0][0]} to {steps[-1][0]} in {len(steps) - 1} steps"
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
        at = ", ".join(f"{entry.path} {_short(entry.given)}" for entry in points[0].inputs)
        many = f" and {len(points) - 1:,} more" if len(points) > 1 else ""
        yield f"{capitalised(status)} at {at}{many}: {why}"
    if len(reasons) > MOST_WALKS:
        rest = sum(len(points) for points in list(reasons.values())[MOST_WALKS:])
        yield f"... and {rest:,} points more without a plan; the table says why (why)."
