"""Incident logs on disk: the log and the fleet beside it, two new CSV files that appear complete or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pandas as pd

from spareopt.errors import Fault, InputError
from spareopt.simulation.incidents import IncidentLog

DECIMALS = 6
"""Of hours in the files: a few milliseconds."""


def fleet_path(path: str | Path) -> Path:
    """Where the fleet of a log is written: ``log-fleet.csv`` beside ``log.csv``."""
    path = Path(path)
    return path.with_name(f"{path.stem}-fleet{path.suffix}")


def check_incident_files(path: str | Path) -> tuple[Path, Path]:
    """The paths of a log and its fleet that can be written without losing anything.  Raises InputError."""
    log = Path(path)
    if "\0" in str(path) or not log.stem or log.suffix.lower() != ".csv":
        message = "expected the name of a new file that ends in .csv, such as incidents.csv"
        raise InputError(str(path)[:200] or "''", [Fault("", message)])
    files = log, fleet_path(log)
    for file in files:
        parent, message = file.absolute().parent, ""
        try:
            if file.is_symlink() or file.exists():
                message = "already exists; name a new file, or move the old one away"
            elif not parent.is_dir():
                message = f"its folder {parent} does not exist; make it first"
            elif not os.access(parent, os.W_OK | os.X_OK):
                message = f"its folder {parent} can't be written to"
        except OSError as error:  # such as a name too long
            message = f"can't be a file: {error.strerror or error}"
        if message:
            raise InputError(str(file)[:200], [Fault("", message)])
    return files


def write_incidents(log: IncidentLog, path: str | Path) -> tuple[Path, Path]:
    """Write the log to a new CSV file and the fleet beside it (``log-fleet.csv``); returns both paths.

    The columns are those of ``IncidentLog``, hours to six decimals, yes or no for true or false, empty for what
    is not known or not yet.  Raises InputError where a file stands there or can't be written.
    """
    files = check_incident_files(path)
    claimed: list[Path] = []
    try:
        with tempfile.TemporaryDirectory(prefix=".spareopt-", dir=files[0].absolute().parent) as scratch:
            whole = [Path(scratch) / file.name for file in files]
            for file, table in zip(whole, (log.incidents, log.fleet), strict=True):
                _csv(table, file)
            for file in files:
                file.open("x").close()  # refuses a file that has come meanwhile
                claimed.append(file)
            for written, file in zip(whole, files, strict=True):
                written.replace(file)
    except OSError as error:
        for file in claimed:
            file.unlink(missing_ok=True)
        raise InputError(str(files[0]), [Fault("", f"can't be written: {error.strerror or error}")]) from None
    return files


def _csv(table: pd.DataFrame, file: Path) -> None:
    words = {
        name: table[name].map({True: "yes", False: "no"}) for name in ("silent", "interrupted") if name in table.columns
    }
    table.assign(**words).to_csv(file, index=False, float_format=f"%.{DECIMALS}f", lineterminator="\n")
