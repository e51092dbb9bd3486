"""Maps on disk: a folder with the map, its tables and its pictures."""

from __future__ import annotations

from pathlib import Path

from spareopt.folders import read_result, write_folder
from spareopt.map_result import StrategyMap
from spareopt.pictures import can_draw

MAP = "map.json"
PICTURES = ("map.svg", "map.png")


def write_map(result: StrategyMap, folder: str | Path) -> Path:
    """Write a map folder: map.json, map.csv, scores.csv, and pictures where matplotlib is installed.

    The folder appears complete or not at all.  Raises InputError where something stands there.
    """

    def fill(whole: Path) -> None:
        (whole / MAP).write_text(result.to_json(), encoding="utf-8")
        result.table().to_csv(whole / "map.csv", index=False)
        result.scores_table().to_csv(whole / "scores.csv", index=False)
        if can_draw():
            from spareopt.map_pictures import draw_map  # noqa: PLC0415

            for name in PICTURES:
                draw_map(result, whole / name)

    return write_folder(folder, fill)


def read_map(source: str | Path) -> StrategyMap:
    """A map from its folder or its map.json.  Raises InputError."""
    return read_result(StrategyMap, source, MAP, "a map")
