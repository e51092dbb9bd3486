"""Figures as inline SVG for pages: text stays text, ids are a figure's own, tooltips need no script.

What an artist says when pointed at (see ``spareopt.drawings.hover.hover``) is a ``<title>`` child of its group.
"""

from __future__ import annotations

import hashlib
import io
import re
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.figure import Figure

from spareopt.drawings.hover import told
from spareopt.pictures import STYLE

SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
FONTS = "'DejaVu Sans', Verdana, sans-serif"
AS_TEXT: Any = STYLE | {"svg.fonttype": "none"}
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def svg_text(
    figure: Figure, *, prefix: str | None = None, title: str | None = None, description: str = ""
) -> str:  # fmt: skip
    """A figure as an SVG element to stand in a page: no prolog, sized by the page's style, the same text each time.

    ``prefix`` of all ids; left out, it follows from the content, so that only equal pictures share theirs.  ``title``:
    what the picture shows, for those who don't see it; left out, its finding.  ``description``: more of that.
    """
    file = io.StringIO()
    with mpl.rc_context(AS_TEXT):
        figure.savefig(file, format="svg", metadata={"Date": None})
    source = file.getvalue()
    root = ET.fromstring(source[source.index("<svg") :])
    if prefix is None:
        prefix = f"s{hashlib.sha256(source.encode()).hexdigest()[:10]}"
    record = told(figure)
    for element in [root, *root.iter()]:
        for child in [child for child in element if child.tag == f"{{{SVG}}}metadata"]:
            element.remove(child)
    used = {name for element in root.iter() for name in _references(element)}
    for element in root.iter():
        _restyle(element)
        _rename(element, used, prefix)
        if (text := record.texts.get(element.attrib.pop("gid", ""))) is not None:
            note = ET.Element(f"{{{SVG}}}title")
            note.text = text
            element.insert(0, note)
    width, height = figure.get_size_inches() * 72.0
    root.attrib.clear()
    root.attrib |= {"role": "img", "viewBox": f"0 0 {_short(width)} {_short(height)}", "class": "drawing"}
    for place, (tag, words) in enumerate(
        (("title", record.finding if title is None else title), ("desc", description))
    ):
        if words:
            note = ET.Element(f"{{{SVG}}}{tag}")
            note.text = words
            root.insert(place, note)
    ET.register_namespace("", SVG)
    return ET.tostring(root, encoding="unicode").strip() + "\n"


def _references(element: ET.Element) -> list[str]:
    """The ids that an element refers to."""
    found = [name for value in element.attrib.values() for name in _REFERENCE.findall(value)]
    link = element.attrib.get(f"{{{LINK}}}href", "")
    return found + ([link[1:]] if link.startswith("#") else [])


def _restyle(element: ET.Element) -> None:
    """Fonts that pages have, numbers as short as they can be, no white space that only matplotlib wants."""
    for name in sorted(element.attrib.keys() & {"d", "x", "y", "style", "width", "height"}):
        value = re.sub(r"font-family: [^;]+", f"font-family: {FONTS}", element.attrib[name].replace("\n", ""))
        element.attrib[name] = _NUMBER.sub(lambda match: _short(float(match[0])), value).strip()
    if element.attrib.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    element.tail = None
    if element.tag not in (f"{{{SVG}}}text", f"{{{SVG}}}style") and not (element.text or "").strip():
        element.text = None


def _rename(element: ET.Element, used: set[str], prefix: str) -> None:
    """Ids that something refers to get the prefix, others go; what they were is kept as ``gid`` for the caller."""
    name = element.attrib.pop("id", None)
    if name is not None:
        element.attrib["gid"] = name
        if name in used:
            element.attrib["id"] = f"{prefix}-{name}"
    for key, value in list(element.attrib.items()):
        element.attrib[key] = _REFERENCE.sub(lambda match: f"url(#{prefix}-{match[1]})", value)
    link = element.attrib.pop(f"{{{LINK}}}href", None)
    if link is not None:
        element.attrib["href"] = f"#{prefix}-{link[1:]}" if link.startswith("#") else link


def _short(number: float) -> str:
    """Two digits after the point: a hundredth of a point is not seen."""
    return "0" if abs(number) < 0.005 else f"{number:.2f}".rstrip("0").rstrip(".")
