"""Simulations on disk: a folder with the result and its tables, the same bytes for the same input and seed."""

from __future__ import annotations

from pathlib import Path

from spareopt.folders import read_result, write_folder
from spareopt.simulation.result import Comparison, Simulation

SIMULATION, COMPARISON = "simulation.json", "comparison.json"


def write_simulation(result: Simulation | Comparison, folder: str | Path) -> Path:
    """Write a simulation folder; it appears complete or not at all.  Raises InputError where something stands there.

    That of a comparison holds the folders ``first`` and ``second``, and the whole as comparison.json.
    """
    return write_folder(folder, lambda whole: _fill(result, whole))


def _fill(result: Simulation | Comparison, folder: Path) -> None:
    if isinstance(result, Comparison):
        (folder / COMPARISON).write_text(result.to_json(), encoding="utf-8")
        for name, part in (("first", result.first), ("second", result.second)):
            (folder / name).mkdir()
            _fill(part, folder / name)
        return
    (folder / SIMULATION).write_text(result.to_json(), encoding="utf-8")
    result.replications_table().to_csv(folder / "replications.csv", index=False)
    result.usable_blocks_table().to_csv(folder / "usable_blocks.csv", index=False)
    result.quarters_table().to_csv(folder / "quarters.csv", index=False)


def read_simulation(source: str | Path) -> Simulation:
    """A simulation from its folder or its simulation.json.  Raises InputError."""
    return read_result(Simulation, source, SIMULATION, "a simulation")


def read_comparison(source: str | Path) -> Comparison:
    """Two plans compared, from their folder or its comparison.json.  Raises InputError."""
    return read_result(Comparison, source, COMPARISON, "a comparison")
