"""What a figure shows once it is drawn: its texts where they stand, whether they overlap or are cut, its bars."""

from __future__ import annotations

from itertools import combinations
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree as ET

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from spareopt.drawings.svg import SVG, svg_text

SLACK = 0.6
"""Points by which the boxes of two texts may touch: boxes are higher than their letters."""


def texts_of(figure: Figure) -> list[tuple[str, Bbox]]:
    """Every text that is drawn, and the box that it takes, in points."""
    canvas = FigureCanvasAgg(figure)
    found: list[tuple[str, Bbox]] = []
    real = Text.draw

    def note(self: Text, renderer: Any) -> None:
        real(self, renderer)
        if self.get_visible() and self.get_text().strip():
            size = 72.0 / figure.dpi
            found.append((self.get_text(), Bbox(Text.get_window_extent(self, renderer).get_points() * size)))

    with patch.object(Text, "draw", note):
        canvas.draw()
    return found


def faults_of(figure: Figure) -> list[str]:
    """What can't be read: texts beyond the edge of the figure, and texts over others."""
    width, height = figure.get_size_inches() * 72.0
    texts = texts_of(figure)
    faults = [
        f"cut: {text!r} {box.extents.round(1)}"
        for text, box in texts
        if box.x0 < -SLACK or box.y0 < -SLACK or box.x1 > width + SLACK or box.y1 > height + SLACK
    ]
    for (one, first), (other, second) in combinations(texts, 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        along = min(first.y1, second.y1) - max(first.y0, second.y0)
        if across > SLACK and along > SLACK:
            faults.append(f"overlap of {min(across, along):.1f} points: {one!r}, {other!r}")
    return faults


def bars_of(axes: Axes) -> list[tuple[float, float]]:
    """Where each horizontal bar begins and how long it is, in the order in which they were drawn."""
    return [(patch.get_x(), patch.get_width()) for patch in axes.patches if isinstance(patch, Rectangle)]


def svg_of(figure: Figure) -> ET.Element:
    """The figure as SVG, parsed; it must be the same text twice, refer to nothing outside and say what it shows."""
    text = svg_text(figure, prefix="a")
    assert text == svg_text(figure, prefix="a")
    root = ET.fromstring(text)
    assert root.tag == f"{{{SVG}}}svg" and root.attrib["role"] == "img" and "width" not in root.attrib
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids)) and all(name.startswith("a-") for name in ids)
    links = [element.attrib["href"] for element in root.iter() if "href" in element.attrib]
    assert all(link[1:] in ids for link in links), "a link to nothing"
    assert "http" not in text.replace(SVG, "")
    return root


def tooltips_of(root: ET.Element) -> list[str]:
    """What is said of the parts of a picture, the picture itself first."""
    return [element.text or "" for element in root.iter(f"{{{SVG}}}title")]
