"""Comparisons of plans on disk: a folder with the result, its tables and pictures, and the result read back."""

from __future__ import annotations

from pathlib import Path

from spareopt.change_pictures import draw_waterfall
from spareopt.folders import read_result, write_folder
from spareopt.plan_comparison import PlanComparison

NAME = "plan_comparison.json"


def write_plan_comparison(result: PlanComparison, folder: str | Path) -> Path:
    """Write the comparison as JSON, its tables as CSV and a waterfall for each change that is split.

    The folder appears complete or not at all.  Raises InputError where something stands there.
    """

    def fill(whole: Path) -> None:
        (whole / NAME).write_text(result.to_json(), encoding="utf-8")
        result.table().to_csv(whole / "side_by_side.csv", index=False)
        result.changes_table().to_csv(whole / "changes.csv", index=False)
        result.fields_table().to_csv(whole / "fields.csv", index=False)
        result.causes_table().to_csv(whole / "causes.csv", index=False)
        for number, change in enumerate(result.changes, 1):
            if change.attribution is not None:
                draw_waterfall(change, whole / f"waterfall-{number}.svg")

    return write_folder(folder, fill)


def read_plan_comparison(source: str | Path) -> PlanComparison:
    """A comparison of plans from its folder or its plan_comparison.json.  Raises InputError."""
    return read_result(PlanComparison, source, NAME, "a comparison of plans")
