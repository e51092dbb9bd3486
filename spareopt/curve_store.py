"""Curves on disk: a folder with the result, its table and its picture, and the result read back."""

from __future__ import annotations

from pathlib import Path

from spareopt.curve_pictures import draw_frontier, draw_tornado
from spareopt.efficient import Frontier
from spareopt.exposure import Tornado
from spareopt.folders import read_result, write_folder
from spareopt.marginal import MarginalValues
from spareopt.pictures import can_draw


def write_curve(result: Frontier | MarginalValues | Tornado, folder: str | Path) -> Path:
    """Write the result as JSON, its table as CSV and, where it has one and matplotlib is installed, its picture as SVG.

    The folder appears complete or not at all.  Raises InputError where something stands there.
    """
    name = {Frontier: "frontier", MarginalValues: "marginal", Tornado: "tornado"}[type(result)]

    def fill(whole: Path) -> None:
        (whole / f"{name}.json").write_text(result.to_json(), encoding="utf-8")
        result.table().to_csv(whole / f"{name}.csv", index=False)
        if can_draw() and isinstance(result, Frontier):
            draw_frontier(result, whole / f"{name}.svg")
        if can_draw() and isinstance(result, Tornado):
            draw_tornado(result, whole / f"{name}.svg")

    return write_folder(folder, fill)


def read_frontier(source: str | Path) -> Frontier:
    """A frontier from its folder or its frontier.json.  Raises InputError."""
    return read_result(Frontier, source, "frontier.json", "a frontier")


def read_marginal_values(source: str | Path) -> MarginalValues:
    """Marginal values from their folder or their marginal.json.  Raises InputError."""
    return read_result(MarginalValues, source, "marginal.json", "a table of marginal values")


def read_tornado(source: str | Path) -> Tornado:
    """A tornado from its folder or its tornado.json.  Raises InputError."""
    return read_result(Tornado, source, "tornado.json", "a tornado")
