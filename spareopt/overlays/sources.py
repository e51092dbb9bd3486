"""Read an overlay from whatever file holds it: YAML, or a table that its header tells apart."""

from __future__ import annotations

from pathlib import Path

from spareopt.errors import Fault, InputError
from spareopt.overlays import contracts, price_list
from spareopt.overlays.overlay import Origin, Overlay, overlay_from
from spareopt.overlays.tables import header_of
from spareopt.yaml_source import load_yaml

WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
TABLES = (".csv", ".tsv", ".txt")


def read_overlay(path: str | Path) -> Overlay:
    """Read an overlay from a file.  Raises InputError with every fault found, each with its line."""
    label, file = str(path), Path(path)
    if file.suffix.lower() in WORKBOOKS:
        from spareopt.overlays.workbook import read_workbook  # noqa: PLC0415

        return read_workbook(file)
    header = header_of(file)
    if header >= price_list.HEADER:
        return price_list.read_price_list(file)
    if "name" in header and header & contracts.HEADER:
        return contracts.read_contracts(file)
    if file.suffix.lower() in TABLES and file.is_file():
        message = (
            "is no table that spareopt knows by its header; expected a price list (item,name,price,...) or contracts "
            "(name,like,tray_response,...), such as `spareopt template` writes"
        )
        raise InputError(label, [Fault("", message)])
    data, lines = load_yaml(file, label, empty="expected `overlay_version: 1` and what it changes")
    return overlay_from(data, Origin(label, lines))
