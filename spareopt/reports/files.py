"""The files beside a report: every picture as SVG and PNG with its numbers as CSV, and what the plan was made from."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spareopt.instance import Instance
from spareopt.manifest import INSTANCE, instance_text
from spareopt.plan import Plan
from spareopt.reports.parts import Picture, Section
from spareopt.store import PLAN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROLOG = '<?xml version="1.0" encoding="UTF-8"?>\n'
DPI = 150


def plan_files(plan: Plan, instance: Instance) -> dict[str, bytes]:
    """The plan and the instance that it was made from, as a plan folder holds them."""
    return {PLAN: plan.to_json().encode(), INSTANCE: instance_text(instance).encode()}


def draw(pictures: Sequence[Picture]) -> tuple[dict[str, str], dict[str, bytes]]:
    """Every picture as an SVG element by its name, for the page, and the files of all of them."""
    import matplotlib as mpl  # noqa: PLC0415

    from spareopt.drawings.svg import svg_text  # noqa: PLC0415

    elements: dict[str, str] = {}
    written: dict[str, bytes] = {}
    with mpl.rc_context():
        mpl.rcdefaults()  # a matplotlibrc, or a style that a notebook set, would make other pictures of the same plan
        for picture in pictures:
            figure = picture.draw()
            element = svg_text(figure, prefix=picture.name, description=picture.alt)
            elements[picture.name] = element
            written[f"{picture.name}.svg"] = f"{PROLOG}{element}".encode()
            written[f"{picture.name}.png"] = _png(figure)
            written[f"{picture.name}.csv"] = picture.data.to_csv(index=False).encode()
    return elements, written


def _png(figure: Figure) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=DPI, metadata={"Software": None})
    return stream.getvalue()


def listed_files(sections: Sequence[Section]) -> tuple[tuple[str, str], ...]:
    """Each file beside the page, and what it holds."""
    rows = [(PLAN, "the plan with its score and its certificate"), (INSTANCE, "the instance as it was solved")]
    for section in sections:
        for picture in section.pictures:
            what = section.name[0].lower() + section.name[1:]
            rows.append((f"{picture.name}.csv", f"numbers of the picture {picture.name.replace('-', ' ')} ({what})"))
            rows.append((f"{picture.name}.svg", "the picture, to be scaled"))
            rows.append((f"{picture.name}.png", "the picture, for slides"))
    return tuple(rows)
