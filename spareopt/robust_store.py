"""Robust plans on disk: a folder with the comparison, its table, the decisions and the instance."""

from __future__ import annotations

from pathlib import Path

from spareopt.folders import json_text, read_result, write_folder
from spareopt.instance import Instance
from spareopt.robust import RobustComparison

ROBUST, DECISIONS, TABLE, INSTANCE = "robust.json", "decisions.json", "regret.csv", "instance.json"


def write_robust(comparison: RobustComparison, instance: Instance, folder: str | Path) -> Path:
    """Write a folder of a robust plan; it appears complete or not at all, and holds no times.

    ``decisions.json`` is a plan file for ``spareopt evaluate`` and others.  Raises InputError where something stands
    there already.
    """

    def fill(whole: Path) -> None:
        (whole / ROBUST).write_text(comparison.to_json(), encoding="utf-8")
        decisions = comparison.plan.decisions.model_dump(mode="json", exclude_none=True)
        resolved = instance.resolved()
        for name, data in ((DECISIONS, decisions), (INSTANCE, resolved)):
            (whole / name).write_text(json_text(data), encoding="utf-8")
        comparison.table().to_csv(whole / TABLE, index=False)

    return write_folder(folder, fill)


def read_robust(source: str | Path) -> RobustComparison:
    """A robust plan with its comparison, from its folder or its robust.json.  Raises InputError."""
    return read_result(RobustComparison, source, ROBUST, "a robust plan")
