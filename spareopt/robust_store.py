"""Robust plans on disk: a folder with the comparison, its table, the decisions and the instance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from spareopt.folders import json_text, read_result
from spareopt.instance import Instance
from spareopt.manifest import manifest_of_plan, write_run
from spareopt.robust import RobustComparison

ROBUST, DECISIONS, TABLE = "robust.json", "decisions.json", "regret.csv"


def write_robust(
    comparison: RobustComparison, instance: Instance, folder: str | Path, seconds: Mapping[str, float] | None = None
) -> Path:
    """Write a folder of a robust plan; it appears complete or not at all.

    ``decisions.json`` is a plan file for ``spareopt evaluate`` and others; ``seconds``, by phase, are told in the
    manifest.  Raises InputError where something stands there.
    """

    def fill(whole: Path) -> None:
        (whole / ROBUST).write_text(comparison.to_json(), encoding="utf-8")
        decisions = comparison.plan.decisions.model_dump(mode="json", exclude_none=True)
        (whole / DECISIONS).write_text(json_text(decisions), encoding="utf-8")
        comparison.table().to_csv(whole / TABLE, index=False)

    certificate, made = comparison.plan.certificate, comparison.plan.provenance
    asked = {"criterion": certificate.criterion, "alpha": comparison.alpha}
    made = made.model_copy(update={"options": made.options | asked})
    manifest = manifest_of_plan("robust", ROBUST, made, certificate, f"{certificate.criterion} goodput")
    return write_run(folder, manifest, instance, fill, seconds)


def read_robust(source: str | Path) -> RobustComparison:
    """A robust plan with its comparison, from its folder or its robust.json.  Raises InputError."""
    return read_result(RobustComparison, source, ROBUST, "a robust plan")
