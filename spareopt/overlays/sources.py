"""Read an overlay from whatever file holds it: YAML, or a table that its header tells apart."""

from __future__ import annotations

from pathlib import Path

from spareopt.errors import Fault, InputError
from spareopt.overlays.overlay import Origin, Overlay, overlay_from
from spareopt.yaml_source import load_yaml

WORKBOOKS = (".xlsx", ".xlsm")


def read_overlay(path: str | Path) -> Overlay:
    """Read an overlay from a file.  Raises InputError with every fault found, each with its line."""
    label, file = str(path), Path(path)
    if file.suffix.lower() in WORKBOOKS:
        return _workbook(file)
    data, lines = load_yaml(file, label, empty="expected `overlay_version: 1` and what it changes")
    return overlay_from(data, Origin(label, lines))


def _workbook(file: Path) -> Overlay:
    try:
        from spareopt.overlays.workbook import read_workbook  # type: ignore  # noqa: PLC0415
    except ModuleNotFoundError:
        message = "is a workbook, which this spareopt can't read; save the table as CSV, or write a YAML overlay"
        raise InputError(str(file), [Fault("", message)]) from None
    overlay: Overlay = read_workbook(file)
    return overlay
