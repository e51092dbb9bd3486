"""Curves on disk: a folder with the result, its table and its picture, and the result read back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from spareopt.efficient import Frontier
from spareopt.exposure import Tornado
from spareopt.folders import read_result
from spareopt.instance import Instance
from spareopt.manifest import Manifest, RunStatus, solves_status, write_run
from spareopt.marginal import MarginalValues
from spareopt.pictures import save


def write_curve(
    result: Frontier | MarginalValues | Tornado,
    instance: Instance,
    folder: str | Path,
    seconds: Mapping[str, float] | None = None,
) -> Path:
    """Write the result as JSON, its table as CSV and its picture as SVG.

    ``seconds``, by phase, are told in the manifest.  The folder appears complete or not at all.  Raises InputError
    where something stands there.
    """
    name = {Frontier: "frontier", MarginalValues: "marginal", Tornado: "tornado"}[type(result)]

    def fill(whole: Path) -> None:
        (whole / f"{name}.json").write_text(result.to_json(), encoding="utf-8")
        result.table().to_csv(whole / f"{name}.csv", index=False)
        if isinstance(result, Frontier):
            drawn = result.plot.curve()
        elif isinstance(result, Tornado):
            drawn = result.plot.bars(most=None)
        else:
            drawn = result.plot.bars()
        save(drawn.figure.figure, whole / f"{name}.svg")

    made = result.provenance
    manifest = Manifest(
        kind=name,
        result=f"{name}.json",
        instance=made.instance,
        input_hash=made.input_hash,
        applied=made.applied,
        options=made.options,
        seed=made.seed,
        versions=made.versions,
        status=curve_status(result),
    )
    if not isinstance(result, Frontier):
        of_plan = result.certificate
        headline = {"objective": of_plan.objective, "unit": of_plan.unit, "value": of_plan.value}
        manifest = manifest.model_copy(update=headline)
    return write_run(folder, manifest, instance, fill, seconds)


def curve_status(result: Frontier | MarginalValues | Tornado) -> RunStatus:
    """Whether every solve behind the result is proven, and none is missing."""
    if isinstance(result, Frontier):
        return solves_status(result.interrupted, [point.status for point in result.points])
    if isinstance(result, MarginalValues):
        ends = [step.status for value in result.values for step in (value.better, value.worse) if step is not None]
    else:
        ends = [end.status for bar in result.bars for end in (bar.low, bar.high)]
    return solves_status(result.interrupted, [result.certificate.status, *ends])


def read_frontier(source: str | Path) -> Frontier:
    """A frontier from its folder or its frontier.json.  Raises InputError."""
    return read_result(Frontier, source, "frontier.json", "a frontier")


def read_marginal_values(source: str | Path) -> MarginalValues:
    """Marginal values from their folder or their marginal.json.  Raises InputError."""
    return read_result(MarginalValues, source, "marginal.json", "a table of marginal values")


def read_tornado(source: str | Path) -> Tornado:
    """A tornado from its folder or its tornado.json.  Raises InputError."""
    return read_result(Tornado, source, "tornado.json", "a tornado")
