"""Robust plans on disk: a folder with the comparison, its table, the decisions and the instance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from spareopt.folders import json_text, read_result
from spareopt.instance import Instance
from spareopt.manifest import Manifest, write_run
from spareopt.robust import RobustComparison

ROBUST, DECISIONS, TABLE = "robust.json", "decisions.json", "regret.csv"


def write_robust(
    comparison: RobustComparison, instance: Instance, folder: str | Path, seconds: Mapping[str, float] | None = None
) -> Path:
    """Write a folder of a robust plan; it appears complete or not at all.

    ``decisions.json`` is a plan file for ``spareopt evaluate`` and others; ``seconds``, by phase, are told in the
    manifest.  Raises InputError where something stands
    there already.
    """

    def fill(whole: Path) -> None:
        (whole / ROBUST).write_text(comparison.to_json(), encoding="utf-8")
        decisions = comparison.plan.decisions.model_dump(mode="json", exclude_none=True)
        (whole / DECISIONS).write_text(json_text(decisions), encoding="utf-8")
        comparison.table().to_csv(whole / TABLE, index=False)

    certificate, made = comparison.plan.certificate, comparison.plan.provenance
    manifest = Manifest(
        kind="robust",
        result=ROBUST,
        instance=made.instance,
        input_hash=made.input_hash,
        applied=made.applied,
        options={**made.options, "criterion": certificate.criterion, "alpha": comparison.alpha},
        seed=made.seed,
        versions=made.versions,
        status=certificate.status,
        objective=f"{certificate.criterion} goodput",
        unit=certificate.unit,
        value=certificate.value,
        bound=certificate.bound,
        gap=certificate.gap,
    )
    return write_run(folder, manifest, instance, fill, seconds)


def read_robust(source: str | Path) -> RobustComparison:
    """A robust plan with its comparison, from its folder or its robust.json.  Raises InputError."""
    return read_result(RobustComparison, source, ROBUST, "a robust plan")
