"""Maps on disk: a folder with the map, its tables and its pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from spareopt.folders import read_result
from spareopt.instance import Instance
from spareopt.manifest import DONE, Manifest, write_run
from spareopt.map_result import StrategyMap
from spareopt.plan import INTERRUPTED

MAP = "map.json"
PICTURES = ("map.svg", "map.png")


def write_map(
    result: StrategyMap, instance: Instance, folder: str | Path, seconds: Mapping[str, float] | None = None
) -> Path:
    """Write a map folder: map.json, map.csv, scores.csv and pictures.

    ``seconds``, by phase, are told in the manifest.  The folder appears complete or not at all.  Raises InputError
    where something stands there.
    """

    from spareopt.map_pictures import draw_map  # noqa: PLC0415 - matplotlib is slow to load

    def fill(whole: Path) -> None:
        (whole / MAP).write_text(result.to_json(), encoding="utf-8")
        result.table().to_csv(whole / "map.csv", index=False)
        result.scores_table().to_csv(whole / "scores.csv", index=False)
        for name in PICTURES:
            draw_map(result, whole / name)

    manifest = Manifest(
        kind="map",
        result=MAP,
        instance=result.instance,
        input_hash=result.input_hash,
        applied=result.applied,
        options={
            "x": result.x.model_dump(mode="json"),
            "y": result.y.model_dump(mode="json"),
            "strategies": None if result.grouped_by else list(result.strategies),
            "grouped_by": list(result.grouped_by),
            "model": result.model,
        },
        versions=result.versions,
        status=DONE if result.complete else INTERRUPTED,
        objective=result.objective,
    )
    return write_run(folder, manifest, instance, fill, seconds)


def read_map(source: str | Path) -> StrategyMap:
    """A map from its folder or its map.json.  Raises InputError."""
    return read_result(StrategyMap, source, MAP, "a map")
