"""Draw the cluster: zones with their blocks, what of them is spare, one block with its trays, and the fault domains."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import matplotlib as mpl
import networkx as nx
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from spareopt.decisions import Decisions, ZoneChoice
from spareopt.drawings.hover import hover, told
from spareopt.drawings.sheet import (
    DARK,
    FONT,
    LINE,
    MARGIN,
    POINTS,
    TITLE_FONT,
    WIDTH,
    Sheet,
    SheetAxes,
    width_of,
    wrapped,
)  # fmt: skip
from spareopt.evaluation import Evaluation, evaluate
from spareopt.instance import BlockDesign, Instance
from spareopt.pictures import GREY, ORANGE, PALETTE, STYLE
from spareopt.topology import ZoneLayout, blast_radius, build_topology, units
from spareopt.wording import counted, number_text

ROOM = POINTS - 2 * MARGIN
"""Points across."""
MOST_SQUARES, FEWEST_SQUARES = 512, 64
"""Squares of a zone: as many if it stands alone, and if many do."""
ALL_SQUARES = 1536
MOST_COLUMNS, USUAL_COLUMNS, LARGEST = 44, 32, 13.0
MOST_PANELS = 12
MOST_TRAYS = 72
SMALL = 8.0
WORKING, SPARE, STRANDED = PALETTE[0], ORANGE, GREY
STATES = (("working", WORKING, None), ("spare", SPARE, "////"), ("stranded", STRANDED, "xxxx"))
OUTLINES = (("-", 1.7), ("--", 1.5), (":", 1.5), ("-.", 1.4))
"""Style and width of the outlines of fault domains, the widest domain first."""


@dataclass(frozen=True)
class _Zone:
    """A zone choice, as it is drawn."""

    choice: ZoneChoice
    design: BlockDesign
    stranded: int

    @property
    def blocks(self) -> int:
        return self.choice.racks * self.design.blocks_per_rack

    @property
    def counts(self) -> tuple[int, int, int]:
        """Blocks working, spare and stranded."""
        spare = self.choice.inter_block_spares
        return self.blocks - spare, spare - self.stranded, self.stranded


@dataclass
class _Cursor:
    """Where on the axes the next thing goes, in points from the top."""

    axes: Axes
    y: float = MARGIN

    def write(
        self, text: str, *, size: float = FONT, indent: float = 0.0, colour: str = DARK, weight: str = "normal"
    ) -> None:  # fmt: skip
        """A paragraph in as many lines as it needs."""
        lines = wrapped(text, ROOM - indent, size * (1.06 if weight == "bold" else 1.0)).split("\n")
        for line in lines:
            self.axes.text(
                MARGIN + indent,
                self.y + 0.8 * size,
                line,
                fontsize=size,
                va="baseline",
                color=colour,
                fontweight=weight,
            )
            self.y += LINE * size

    def skip(self, points: float) -> None:
        self.y += points


def cluster(
    instance: Instance, decisions: Decisions, axes: Axes | None = None, *, evaluation: Evaluation | None = None
) -> Axes:
    """A panel for each zone choice, a square for each block (or for so many as stated), and what takes what down.

    Which blocks are idle changes with the faults: they are drawn last in their zone.  ``evaluation`` of the decisions
    says which are stranded; it is made where it is left out.  Raises InputError where they don't fit the instance.
    """
    evaluation = evaluate(instance, decisions) if evaluation is None else evaluation
    designs = {design.name: design for design in instance.designs}
    zones = [
        _Zone(choice, designs[choice.design], scored.stranded_blocks)
        for choice, scored in zip(decisions.zones, evaluation.zones, strict=True)
    ]
    layouts = [ZoneLayout(z.choice.zone, z.choice.count, z.design, z.choice.racks) for z in zones]
    graph = build_topology(instance, layouts)
    with mpl.rc_context(STYLE):
        if axes is not None:
            _draw(axes, instance, zones, graph, title=False)
            axes.set_title(wrapped(finding(zones), axes.get_position().width * axes.figure.figure.get_figwidth() * 72))
            return axes
        trial = Sheet(figsize=(WIDTH, 1.0)).add_axes((0, 0, 1, 1))
        height = _draw(trial, instance, zones, graph, title=True)  # how high it is is known once it is drawn
        figure = Sheet(figsize=(WIDTH, height / 72.0))
        mine = figure.add_axes((0, 0, 1, 1), axes_class=SheetAxes)
        _draw(mine, instance, zones, graph, title=True)
        return mine


def finding(zones: Sequence[_Zone]) -> str:
    """How many blocks and trays are spare."""
    blocks = sum(zone.choice.count * zone.blocks for zone in zones)
    spare = sum(zone.choice.count * zone.choice.inter_block_spares for zone in zones)
    stranded = sum(zone.choice.count * zone.stranded for zone in zones)
    text = f"{spare:,} of {blocks:,} blocks are spare" + (f" ({stranded:,} of them stranded)" if stranded else "")
    trays = sorted({(zone.choice.intra_block_spares, zone.design.trays_per_block) for zone in zones})
    if all(intra == 0 for intra, _ in trays):
        return f"{text}; no trays within blocks are"
    return f"{text}; of a block {' or '.join(f'{intra} of {every}' for intra, every in trays)} trays"


def _draw(axes: Axes, instance: Instance, zones: Sequence[_Zone], graph: nx.DiGraph, *, title: bool) -> float:
    """Draw all of it from the top down; returns the height in points."""
    cursor = _Cursor(axes)
    told(axes.figure.figure).finding = finding(zones)
    if title:
        cursor.write(finding(zones), size=TITLE_FONT)
        cursor.skip(5)
    budget = max(FEWEST_SQUARES, min(MOST_SQUARES, ALL_SQUARES // len(zones)))
    shown = zones[:MOST_PANELS]
    spans = _spans(instance)
    styles = {name: OUTLINES[min(place, len(OUTLINES) - 1)] for place, (name, _) in enumerate(spans)}
    drawn: set[str] = set()
    told_of: set[tuple[str, int]] = set()
    for zone in shown:
        drawn |= _zone(cursor, zone, budget, spans, styles)
        block = (zone.design.name, zone.choice.intra_block_spares)
        if block not in told_of:
            _block(cursor, zone)
        told_of.add(block)
        cursor.skip(9)
    if len(zones) > len(shown):
        rest = sum(zone.choice.count for zone in zones[len(shown) :])
        cursor.write(f"{counted(rest, 'more zone')}, built otherwise, are not drawn.", colour=GREY)
        cursor.skip(4)
    _legend(cursor, shown)
    _faults(cursor, instance, graph, {name: styles[name] for name in styles if name in drawn})
    cursor.skip(MARGIN)
    axes.set_xlim(0, POINTS)
    axes.set_ylim(cursor.y, 0)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return cursor.y


def _spans(instance: Instance) -> list[tuple[str, int | None]]:
    """Fault domains within a zone with the racks they span, the widest first; None: the whole zone."""
    domains = [d for d in instance.failures.domains if d.spans == "zone" or isinstance(d.spans, int)]
    found = [(d.name, d.spans if isinstance(d.spans, int) else None) for d in domains]
    return sorted(found, key=lambda item: (item[1] is not None, -(item[1] or 0), item[0]))


def _zone(
    cursor: _Cursor, zone: _Zone, budget: int, spans: Sequence[tuple[str, int | None]], styles: dict[str, Any]
) -> set[str]:
    """One panel; returns the fault domains whose outlines are in it."""
    choice, design = zone.choice, zone.design
    alike = f"{choice.count:,} zones alike" if choice.count > 1 else "one zone"
    cursor.write(f"{choice.zone}: {alike}", weight="bold")
    per = f" of {counted(design.blocks_per_rack, 'block')}" if design.blocks_per_rack > 1 else ""
    each = f"{'each ' if choice.count > 1 else ''}{choice.racks:,} racks{per} ({design.name})"
    counts = [f"{number:,} {name}" for (name, *_), number in zip(STATES, zone.counts, strict=True) if number]
    cursor.write(f"{each}; blocks: {', '.join(counts)}", size=SMALL)
    scale = _scale(zone, budget)
    squares = math.ceil(zone.blocks / scale)
    if scale > 1:
        racks = f" ({counted(scale // design.blocks_per_rack, 'rack')})" if design.blocks_per_rack > 1 else ""
        cursor.write(f"one square = {scale:,} blocks{racks}; any spare block has a square", size=SMALL, colour=GREY)
    cursor.skip(4)
    widths = {name: racks * design.blocks_per_rack / scale for name, racks in spans if racks is not None}
    whole = {name: int(width) for name, width in widths.items() if width == int(width) and 1 <= width < squares}
    rack = design.blocks_per_rack if scale == 1 and design.blocks_per_rack > 1 else 1
    columns = _columns(squares, [rack, *whole.values()])
    side = min(LARGEST, ROOM / columns)
    top = cursor.y

    def corner(place: int) -> tuple[float, float]:
        row, column = divmod(place, columns)
        return MARGIN + column * side, top + row * side

    first = 0
    for (name, colour, hatch), number, share in zip(
        STATES, zone.counts, _shares(zone.counts, scale, squares), strict=True
    ):
        if share:
            patch = _squares(cursor.axes, [corner(p) for p in range(first, first + share)], side, colour, hatch)
            hover(patch, f"{choice.zone}: {number:,} {name} of {zone.blocks:,} blocks")
        first += share
    if rack > 1:
        _outline(cursor.axes, squares, columns, side, corner, rack, ("-", 0.7), GREY)
    for name, width in reversed(whole.items()):
        _outline(cursor.axes, squares, columns, side, corner, width, styles[name], DARK)
    zonal = [name for name, racks in spans if racks is None]
    style = styles[zonal[0]] if zonal else ("-", 0.7)
    _outline(cursor.axes, squares, columns, side, corner, squares, style, DARK if zonal else GREY)
    cursor.skip(math.ceil(squares / columns) * side + 5)
    return {*whole, *zonal}


def _scale(zone: _Zone, budget: int) -> int:
    """Blocks of a square: 1 where there is room, else whole racks where they hold several."""
    if zone.blocks <= budget:
        return 1
    per = zone.design.blocks_per_rack
    needed = math.ceil(zone.blocks / budget)
    if per > 1:
        return per * math.ceil(needed / per)
    return next((n for n in range(needed, 2 * needed) if zone.blocks % n == 0), needed)


def _shares(counts: Sequence[int], scale: int, squares: int) -> list[int]:
    """Squares of each state: of every kind that there is at least one, rounded up; the working ones give way."""
    others = [math.ceil(number / scale) for number in counts[1:]]
    return [squares - sum(others), *others]


def _columns(squares: int, groups: Sequence[int]) -> int:
    """Squares of a row: a multiple of all groups if that fits, rows that are full, about as many as usual."""
    unit = 1
    for group in sorted(set(groups)):
        if math.lcm(unit, group) <= MOST_COLUMNS:
            unit = math.lcm(unit, group)
    if squares <= USUAL_COLUMNS:
        return squares
    multiples = range(unit, MOST_COLUMNS + 1, unit)
    return min(
        multiples, key=lambda n: (n < USUAL_COLUMNS / 2, squares % n != 0 and n != squares, abs(n - USUAL_COLUMNS))
    )


def _squares(axes: Axes, corners: Sequence[tuple[float, float]], side: float, colour: str, hatch: str | None) -> Any:
    """Squares of one kind as one path."""
    gap = 0.06 * side
    points: list[tuple[float, float]] = []
    codes: list[Any] = []
    for x, y in corners:
        left, right, top, bottom = x + gap, x + side - gap, y + gap, y + side - gap
        points += [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
        codes += [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    patch = PathPatch(
        Path(points, codes), facecolor=colour, edgecolor="white" if hatch else colour, hatch=hatch, lw=0.0
    )
    return axes.add_patch(patch)


def _outline(
    axes: Axes, squares: int, columns: int, side: float, corner: Callable[[int], tuple[float, float]], width: int,
    style: tuple[str, float], colour: str,
) -> None:  # fmt: skip
    """Lines around every group of so many squares, wherever its rows break, as one path."""
    group = [place // width for place in range(squares)]
    rows = math.ceil(squares / columns)

    def at(row: int, column: int) -> int | None:
        """The group of the square there; None outside."""
        place = row * columns + column
        inside = row >= 0 and 0 <= column < columns and place < squares
        return group[place] if inside else None

    x0, y0 = corner(0)
    points: list[tuple[float, float]] = []
    for row in range(rows + 1):
        for first, last in _runs([at(row - 1, column) != at(row, column) for column in range(columns)]):
            points += [(x0 + first * side, y0 + row * side), (x0 + last * side, y0 + row * side)]
    for column in range(columns + 1):
        for first, last in _runs([at(row, column - 1) != at(row, column) for row in range(rows)]):
            points += [(x0 + column * side, y0 + first * side), (x0 + column * side, y0 + last * side)]
    codes: list[Any] = [Path.MOVETO, Path.LINETO] * (len(points) // 2)
    axes.add_patch(PathPatch(Path(points, codes), fill=False, ec=colour, lw=style[1], ls=style[0], zorder=3))


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Where flags are set one after the other: the first of each run, and the place after its last."""
    first = 0
    for here, run in groupby(flags):
        last = first + len(list(run))
        if here:
            yield first, last
        first = last


def _block(cursor: _Cursor, zone: _Zone) -> None:
    """One block with its trays, as words and a row of cells."""
    design, spare = zone.design, zone.choice.intra_block_spares
    trays = design.trays_per_block
    text = f"one block of {design.name}: {counted(trays, 'tray')} of {counted(design.gpus_per_tray, 'GPU')}, "
    text += f"{trays - spare} working and {spare} spare" if spare else "none spare"
    cursor.write(text, size=SMALL)
    if trays == 1:
        return
    cursor.skip(2)
    scale = math.ceil(trays / MOST_TRAYS)
    cells = math.ceil(trays / scale)
    idle = math.ceil(spare / scale)
    width, height = min(9.0, (ROOM - 10) / cells), 9.0
    x, y = MARGIN, cursor.y
    for place in range(cells):
        working = place < cells - idle
        colour, hatch = (WORKING, None) if working else (SPARE, "////")
        cell = Rectangle(
            (x + place * width + 0.5, y), width - 1.0, height, facecolor=colour, hatch=hatch, edgecolor="white", lw=0.0
        )
        cursor.axes.add_patch(cell)
        hover(cell, "working tray" if working else "idle spare tray of the block")
    cursor.axes.add_patch(Rectangle((x - 1.5, y - 2), cells * width + 3, height + 4, fill=False, ec=GREY, lw=0.7))
    cursor.skip(height + 4)
    if scale > 1:
        cursor.write(f"one cell = {scale} trays", size=SMALL, colour=GREY)


def _legend(cursor: _Cursor, zones: Sequence[_Zone]) -> None:
    """What the colours and hatches mean, those that are there."""
    there = [any(zone.counts[place] for zone in zones) for place in range(len(STATES))]
    there[1] = there[1] or any(zone.choice.intra_block_spares for zone in zones)
    words = {"working": "working", "spare": "idle spare", "stranded": "stranded: idle beyond the spares wanted"}
    x = MARGIN
    for (name, colour, hatch), shown in zip(STATES, there, strict=True):
        if not shown:
            continue
        cursor.axes.add_patch(Rectangle((x, cursor.y), 9, 9, facecolor=colour, hatch=hatch, edgecolor="white", lw=0.0))
        cursor.axes.text(x + 13, cursor.y + 8, words[name], fontsize=SMALL, va="baseline", color=DARK)
        x += 13 + width_of(words[name], SMALL) + 14
    cursor.skip(15)


def _faults(cursor: _Cursor, instance: Instance, graph: nx.DiGraph, styles: dict[str, Any]) -> None:
    """Everything that can fail: what one fault of it takes down, and how many faults a day the site has."""
    radius, number = blast_radius(graph), units(graph)
    found: dict[str, list[str]] = {}
    for node, data in graph.nodes(data=True):
        if data["fault"] is not None and data["rate"] > 0:
            found.setdefault(data["fault"], []).append(node)
    domains = {domain.name: domain for domain in instance.failures.domains}
    order = sorted(found, key=lambda fault: (-max(radius[node] for node in found[fault]), fault))
    if graph.graph["software_rate"] > 0:
        order.insert(0, "")
    if not order:
        return
    cursor.write("What a fault takes down, and faults a day on the site", weight="bold")
    cursor.skip(2)
    for fault in order:
        if fault == "":
            working = "stops the job, takes nothing down"
            text, style = f"software: {working}; {_per_day(24 * graph.graph['software_rate'])}", None
        else:
            nodes = found[fault]
            rate = 24 * sum(number[node] * graph.nodes[node]["rate"] for node in nodes)
            gpus = sorted({radius[node] for node in nodes})
            size = f"{gpus[0]:,}" if len(gpus) == 1 else f"{gpus[0]:,} to {gpus[-1]:,}"
            many = sum(number[node] for node in nodes)
            span = _span_words(domains[fault].spans, domains[fault].units) if fault in domains else ""
            text = f"{fault}: {span}{size} GPUs; {_per_day(rate)}" + (f", all {many:,} together" if many > 1 else "")
            style = styles.get(fault)
        if style is not None:
            y = cursor.y + 0.5 * SMALL
            cursor.axes.plot([MARGIN, MARGIN + 14], [y, y], color=DARK, ls=style[0], lw=style[1])
        cursor.write(text, size=SMALL, indent=19)
        cursor.skip(1.5)


def _span_words(spans: int | str, many: int) -> str:
    if isinstance(spans, int):
        return f"{counted(spans, 'rack')}, "
    if spans == "zone":
        return "a whole zone, "
    return "the whole site, " if many == 1 else f"one rack in {many} of every zone, "


def _per_day(rate: float) -> str:
    return f"{number_text(rate)} a day"
