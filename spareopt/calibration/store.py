"""Calibrations on disk: a folder with the result, its tables and its picture, and the result read back."""

from __future__ import annotations

from pathlib import Path

from spareopt.calibration.pictures import draw_calibration
from spareopt.calibration.result import Calibration
from spareopt.folders import read_result, write_folder

CALIBRATION = "calibration.json"


def write_calibration(result: Calibration, folder: str | Path) -> Path:
    """Write a calibration as JSON, its tables as CSV and, its picture as SVG.

    The folder appears complete or not at all.  Raises InputError where something stands there.
    """

    def fill(whole: Path) -> None:
        (whole / CALIBRATION).write_text(result.to_json(), encoding="utf-8")
        result.rates_table().to_csv(whole / "rates.csv", index=False)
        result.classes_table().to_csv(whole / "classes.csv", index=False)
        result.repairs_table().to_csv(whole / "repairs.csv", index=False)
        result.exclusions_table().to_csv(whole / "exclusions.csv", index=False)
        draw_calibration(result, whole / "calibration.svg")

    return write_folder(folder, fill)


def read_calibration(source: str | Path) -> Calibration:
    """A calibration from its folder or its calibration.json.  Raises InputError."""
    return read_result(Calibration, source, CALIBRATION, "a calibration")
