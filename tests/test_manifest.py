"""Manifests: each command's folder says what it is of, in the same way, and a file changed later can be told."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import spareopt
from spareopt import cli
from spareopt.errors import InputError
from spareopt.manifest import MANIFEST, UNHASHED, Manifest, changed_files, read_manifest, solves_status
from tests.test_docs import table

AXIS = "failures.tray.mtbf=1x,2x"
COMMANDS: dict[str, tuple[str, ...]] = {
    "solve": (),
    "simulate": ("--plan", "PLAN", "--replications", "2", "--years", "0.01"),
    "simulate-against": ("--plan", "PLAN", "--against", "PLAN", "--replications", "2", "--years", "0.01"),
    "robust": ("--scenario-weights", "nominal=0.5,half-mtbf=0.5"),
    "frontier": ("--points", "2"),
    "marginal": ("--model", "first-order", "--gap", "0.01"),
    "tornado": ("--input", "failures.tray.mtbf=0.5x:2x"),
    "map": ("--x", AXIS, "--y", "power.pue=1.1,1.3"),
    "sweep": ("--over", AXIS),
}
SETTING = ("--set", "power.pue=1.25")
SLOW = ("marginal", "frontier")  # written as tornados are


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    instance = spareopt.read_instance("academic-1k", overrides={"power.pue": 1.25})
    return spareopt.write_plan(spareopt.solve(instance), instance, tmp_path_factory.mktemp("plans") / "plan")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.heavy) if kind in SLOW else kind for kind in COMMANDS]
)
def test_every_folder_has_one_kind_of_manifest(kind: str, plan: Path, tmp_path: Path) -> None:
    """Proves that each command's folder names its question and its result, holds its instance, and hashes every file.

    A writer with a form of its own, or a file that is left out of the hashes, would show.
    """
    folder = tmp_path / "result"
    options = [str(plan) if word == "PLAN" else word for word in COMMANDS[kind]]
    command = [kind.removesuffix("-against"), "academic-1k", *SETTING, *options, "-o", str(folder)]
    result = CliRunner().invoke(cli.main, command)
    assert result.exit_code == 0, result.output
    manifest = read_manifest(folder)
    assert (manifest.kind, manifest.instance, manifest.applied) == (kind, "academic-1k", ("power.pue=1.25",))
    assert manifest.status == ("done" if kind in ("simulate", "simulate-against", "map") else "proven")
    assert spareopt.read_instance(folder / "instance.json").input_hash() == manifest.input_hash
    assert manifest.result in manifest.sha256 and manifest.written and sum(manifest.seconds.values()) > 0
    there = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    assert set(manifest.sha256) == {name for name in there if name not in UNHASHED}
    assert {"spareopt", "python"} <= set(manifest.versions) and manifest.options
    assert changed_files(folder, manifest) == {}
    (folder / "instance.json").write_text("{}")
    (folder / str(manifest.result)).unlink()
    assert changed_files(folder, manifest) == {"instance.json": "changed", str(manifest.result): "missing"}


def test_a_manifest_holds_the_headline_of_the_plan(plan: Path) -> None:
    """Proves that value, bound, gap and unit in the manifest are the certificate's, digit by digit."""
    manifest, certificate = read_manifest(plan), spareopt.read_plan(plan).certificate
    for name in ("objective", "unit", "value", "bound", "gap", "status"):
        assert getattr(manifest, name) == getattr(certificate, name)
    assert Manifest.model_validate_json(manifest.to_json()) == manifest


def test_a_result_of_another_instance_is_refused(plan: Path, tmp_path: Path) -> None:
    """Proves that a plan is never written beside an instance that it is not of."""
    other = spareopt.read_instance("academic-1k")
    with pytest.raises(InputError, match="the result is of another instance than this academic-1k"):
        spareopt.write_plan(spareopt.read_plan(plan), other, tmp_path / "plan")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "can't be read: No such file"),
        ("", "is not a manifest that this spareopt wrote"),
        ("[]", "is not a manifest that this spareopt wrote"),
        ('{"name": "app", "icons": []}', r"is not a manifest that this spareopt wrote \(kind: Field required"),
        ('{"manifest_version": 2}', r"is not a manifest that this spareopt wrote \(manifest_version: "),
        ("\0\xff", "is not a manifest that this spareopt wrote"),
    ],
)
def test_what_is_no_manifest_is_refused(text: str | None, message: str, tmp_path: Path) -> None:
    """Proves that a missing, broken or foreign manifest gives one message."""
    if text is not None:
        (tmp_path / MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=message):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("interrupted", "statuses", "status"),
    [
        (False, ["proven", "infeasible"], "proven"),
        (False, ["proven", "no plan in time"], "limit reached"),
        (True, ["proven"], "interrupted"),
    ],
)
def test_many_solves_have_one_status(interrupted: bool, statuses: list[str], status: str) -> None:
    """Proves that a result counts as proven only where each of its solves is an answer."""
    assert solves_status(interrupted, statuses) == status


def test_the_page_has_every_field() -> None:
    """Proves that docs/pipeline.md lists the fields of a manifest."""
    assert [row[0] for row in table("pipeline.md", "Manifest")] == [f"`{name}`" for name in Manifest.model_fields]
