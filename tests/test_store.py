"""Plans on disk: whole or not at all, the same when read back, and each file true to the plan."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import highspy
import pandas as pd
import pytest

from spareopt import folders, store
from spareopt.errors import InputError
from spareopt.evaluation import evaluate
from spareopt.folders import check_new_folder
from spareopt.instance import Instance
from spareopt.manifest import UNHASHED
from spareopt.optimise import solve
from spareopt.plan import Plan
from spareopt.reading import read_instance
from spareopt.store import read_plan, write_plan

FILES = ["candidates.csv", "decisions.csv", "dominated.csv", "instance.json", "limits.csv", "losses.csv"]
FILES += ["manifest.json", "model.lp", "plan.json", "score.csv", "solver.log"]


@pytest.fixture(scope="module")
def instance() -> Instance:
    return read_instance("academic-1k", scenarios=["half-mtbf"], overrides={"limits.yearly_cost": "1.6 M$ per year"})


@pytest.fixture(scope="module")
def plan(instance: Instance) -> Plan:
    return solve(instance)


@pytest.fixture(scope="module")
def folder(plan: Plan, instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_plan(plan, instance, tmp_path_factory.mktemp("plans") / "plan")


def test_a_plan_reads_back_equal(plan: Plan, folder: Path) -> None:
    """Proves that no digit, limit or decision is lost on the way to disk and back, from the folder or its plan.json."""
    assert read_plan(folder).model_dump() == plan.model_dump()
    assert read_plan(folder) == read_plan(folder / "plan.json")
    assert read_plan(folder).to_json() == (folder / "plan.json").read_text(encoding="utf-8")
    assert read_plan(folder).audit is None


def test_the_instance_beside_a_plan_makes_the_same_plan_again(plan: Plan, folder: Path) -> None:
    """Proves that instance.json holds what was solved, overrides applied: same hash, same evaluation of the decisions.

    If it held the file as read, the scenario and the override would be lost and both would differ.
    """
    instance = read_instance(folder / "instance.json")
    assert instance.input_hash() == plan.provenance.input_hash
    assert evaluate(instance, read_plan(folder).decisions) == plan.evaluation


def test_the_manifest_lists_every_file_with_its_hash(folder: Path) -> None:
    """Proves that the folder holds what the design promises, and that any file changed later can be told."""
    assert sorted(path.name for path in folder.iterdir()) == FILES
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["status"] == "proven"
    assert sorted(manifest["sha256"]) == [name for name in FILES if name not in UNHASHED]
    for name, known in manifest["sha256"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == known


def test_tables_agree_with_the_plan(plan: Plan, folder: Path) -> None:
    """Proves that the two candidate tables split what was scored, without overlap, and name existing dominators.

    The chosen decisions are among the candidates, and the loss and limit tables are the evaluation's.
    """
    kept, dominated = (pd.read_csv(folder / name) for name in ("candidates.csv", "dominated.csv"))
    counts = plan.candidates
    assert len(dominated) == counts.dominated > 0
    assert len(kept) == counts.enumerated - counts.dominated == counts.kept + counts.outbid
    assert kept["outbid"].sum() == counts.outbid
    both = pd.concat([kept["candidate"], dominated["candidate"]])
    assert sorted(both) == list(range(counts.enumerated))
    assert dominated["dominated_by"].isin(both).all()
    (choice,) = plan.decisions.zones
    fields = ["zone", "design", "racks", "intra_block_spares", "inter_block_spares", "repair_plan"]
    chosen = (kept[fields] == [getattr(choice, field) for field in fields]).all(axis=1)
    assert (kept.loc[chosen, "gpu_limit_kw"] == choice.gpu_limit).sum() == 1
    decided, score = pd.read_csv(folder / "decisions.csv"), pd.read_csv(folder / "score.csv", index_col="quantity")
    assert [decided.loc[0, field] for field in fields] == [getattr(choice, field) for field in fields]
    assert decided.loc[0, "gpu_limit_kw"] == choice.gpu_limit
    assert decided.loc[0, "checkpoint_plan"] == plan.decisions.checkpoint_plan
    assert score.loc["goodput", "value"] == plan.evaluation.goodput
    assert score.loc["cost_per_year", "value"] == plan.evaluation.cost_per_year
    losses = pd.read_csv(folder / "losses.csv")
    assert dict(zip(losses["loss"], losses["share"], strict=True)) == plan.evaluation.losses
    assert losses["gpus"].sum() == pytest.approx(plan.evaluation.gpus)
    limits = pd.read_csv(folder / "limits.csv", keep_default_na=False)
    assert list(limits["slack"]) == [limit.slack for limit in plan.evaluation.limits]


def test_the_lp_file_proves_the_bound_to_anyone(plan: Plan, folder: Path) -> None:
    """Proves that model.lp is the MILP of the certificate: HiGHS alone reads it and finds ln of a goodput in between.

    The selection over-estimates ln goodput, so its optimum lies between the plan's value and the bound.  An LP file of
    another round, or one that lost a coefficient, would fall outside.
    """
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(folder / "model.lp")) != highspy.HighsStatus.kError
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    best = math.exp(highs.getInfo().objective_function_value)
    certificate = plan.certificate
    assert certificate.value * (1 - 1e-7) <= best <= certificate.bound * (1 + 1e-9)


def test_what_stands_there_is_never_touched(plan: Plan, instance: Instance, tmp_path: Path) -> None:
    """Proves that a folder with anything in it, a file and a link are refused and left as they were."""
    full, file, link = tmp_path / "full", tmp_path / "file", tmp_path / "link"
    full.mkdir()
    (full / "notes.txt").write_text("mine")
    file.write_text("mine")
    link.symlink_to(full)
    for path in (full, file, link):
        with pytest.raises(InputError, match="name a new folder"):
            write_plan(plan, instance, path)
    assert (full / "notes.txt").read_text() == file.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full", "link"]


def test_an_empty_folder_is_used(plan: Plan, instance: Instance, tmp_path: Path) -> None:
    """Proves that ``mkdir my-plan`` beforehand does no harm, and that others may read the folder."""
    (tmp_path / "plan").mkdir()
    assert read_plan(write_plan(plan, instance, tmp_path / "plan")).to_json() == plan.to_json()
    usual = tmp_path / "usual"
    usual.mkdir()
    assert (tmp_path / "plan").stat().st_mode == usual.stat().st_mode


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), RuntimeError("bug")])
def test_a_failure_midway_leaves_nothing(
    plan: Plan, instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """Proves that a full disk, Ctrl-C or a fault of ours leaves no half-written folder and no scratch files behind."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(store, "_write_audit", fail)
    with pytest.raises(InputError if isinstance(error, OSError) else type(error)) as raised:
        write_plan(plan, instance, tmp_path / "plan")
    if isinstance(error, OSError):
        assert str(raised.value).endswith("plan: can't be written: No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_that_was_read_back_can_be_written_again(plan: Plan, instance: Instance, tmp_path: Path) -> None:
    """Proves that a plan without its audit is written with what it has: no candidates, no model, the same plan.json."""
    again = write_plan(Plan.model_validate_json(plan.to_json()), instance, tmp_path / "again")
    names = sorted(path.name for path in again.iterdir())
    assert names == [
        "decisions.csv",
        "instance.json",
        "limits.csv",
        "losses.csv",
        "manifest.json",
        "plan.json",
        "score.csv",
    ]
    assert read_plan(again).to_json() == plan.to_json()


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("", "expected the name of a new folder"),
        ("missing/plan", "does not exist; make it first"),
        ("x" * 300, "can't be a folder: File name too long"),
        ("nul\0l", "expected the name of a new folder"),
        (".", "already exists"),
    ],
)
def test_hopeless_folders_are_refused_before_the_solve(
    folder: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that a plan of an hour is not lost to a typing error: the folder is checked first, in one message."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "something").touch()
    with pytest.raises(InputError, match=message):
        check_new_folder(folder)


def test_a_folder_that_can_not_be_written_to_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that a read-only parent folder is noticed before the solve (root may write anywhere, so it is feigned)."""
    monkeypatch.setattr(folders.os, "access", lambda *_: False)
    with pytest.raises(InputError, match="can't be written to"):
        check_new_folder(tmp_path / "plan")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a plan that spareopt wrote"),
        ("{}", "is not a plan that spareopt wrote"),
        ('{"schema_version": 2}', "is not a plan that spareopt wrote"),
        ("\0\xff", "is not a plan that spareopt wrote"),
        (None, "can't be read: No such file or directory"),
    ],
)
def test_what_is_no_plan_is_refused(text: str | None, message: str, tmp_path: Path) -> None:
    """Proves that a plan file that is missing, broken or of another version gives one message, not a traceback."""
    path = tmp_path / "plan.json"
    if text is not None:
        path.write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=message):
        read_plan(tmp_path if text is not None else path)
