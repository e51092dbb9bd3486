"""Simulations on disk: a folder with the result and its tables, the same bytes for the same input and seed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from spareopt.folders import read_result
from spareopt.instance import Instance
from spareopt.manifest import DONE, Manifest, RunStatus, write_run
from spareopt.plan import INTERRUPTED, LIMIT_REACHED
from spareopt.simulation.result import Comparison, Simulation

SIMULATION, COMPARISON = "simulation.json", "comparison.json"


STATUSES: dict[str, RunStatus] = {"replications used up": LIMIT_REACHED, "interrupted": INTERRUPTED}
"""The status of a run by that of its simulation, where it is not done."""


def write_simulation(
    result: Simulation | Comparison,
    instance: Instance,
    folder: str | Path,
    seconds: Mapping[str, float] | None = None,
) -> Path:
    """Write a simulation folder; it appears complete or not at all.  Raises InputError where something stands there.

    That of a comparison holds the folders ``first`` and ``second``, and the whole as comparison.json.  ``seconds``, by
    phase, are told in the manifest.
    """
    both = (result.first, result.second) if isinstance(result, Comparison) else (result,)
    played = both[0]
    manifest = Manifest(
        kind="simulate" if len(both) == 1 else "simulate-against",
        result=SIMULATION if len(both) == 1 else COMPARISON,
        instance=played.instance,
        input_hash=played.input_hash,
        applied=played.applied,
        options={
            **played.options.model_dump(mode="json", exclude={"seed"}),
            "decisions": [part.decisions.model_dump(mode="json", exclude_none=True) for part in both],
        },
        seed=played.options.seed,
        versions=played.versions,
        status=STATUSES.get(played.status, DONE),
        objective="goodput",
        unit="baseline GPUs",
        value=played.evaluation.goodput,
    )
    return write_run(folder, manifest, instance, lambda whole: _fill(result, whole), seconds)


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
