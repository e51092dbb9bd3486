"""The example for schedulers: idempotent, safe twice at once, and never 0 where anything is not proven."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

import spareopt
from spareopt import cli, instances, once
from spareopt.what_if import Answer

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "docs" / "examples" / "quarterly.py"
OVERLAY = "overlay_version: 1\nname: faults\noverrides: {failures.tray.mtbf: 0.8x}\n"


@pytest.fixture(scope="module")
def quarterly() -> ModuleType:
    spec = importlib.util.spec_from_file_location("quarterly", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def never(*_: object, **__: object) -> Any:
    raise AssertionError("solved again")


def plan(quarterly: ModuleType, runs: Path, quarter: str, *options: str) -> int:
    code: int = quarterly.main(["--instance", "academic-1k", "--runs", str(runs), "--quarter", quarter, *options])
    return code


def test_a_quarter_after_the_other(
    quarterly: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Proves that the second quarter is compared with the first, and that a second call does nothing and says the same.

    The summary is that of the plan and of the comparison, read back from the folders that it names.
    """
    runs, overlay = tmp_path / "runs", tmp_path / "faults.yaml"
    overlay.write_text(OVERLAY)
    assert plan(quarterly, runs, "2026-Q4") == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["previous"], first["comparison"], first["status"]) == (None, None, "proven")
    assert plan(quarterly, runs, "2027-Q1", "--overlay", str(overlay)) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["previous"] == {name: first[name] for name in ("quarter", "run", "status", "value")}
    assert spareopt.read_plan(runs / second["run"]).certificate.value == second["value"]
    (change,) = spareopt.read_plan_comparison(runs / second["comparison"]).changes
    objective = next(measure for measure in change.measures if measure.name == "objective")
    assert (objective.before, objective.after) == (first["value"], second["value"])
    assert second == json.loads((runs / "quarters" / "academic-1k" / "2027-Q1.json").read_text())

    before = files(runs)
    monkeypatch.setattr(once, "solve", never)
    monkeypatch.setattr(spareopt, "compare_plans", never, raising=False)
    assert plan(quarterly, runs, "2027-Q1", "--overlay", str(overlay)) == 0
    assert json.loads(capsys.readouterr().out) == second and files(runs) == before
    listed = {row.run for row in spareopt.list_runs(runs).runs}
    assert listed == {str(runs / first["run"]), str(runs / second["run"])}


def test_a_quarter_in_which_nothing_moved(
    quarterly: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Proves that the same question in the next quarter is the same run, which is told and not compared with itself.

    Others may read the quarter's file as far as they may read its run.
    """
    for quarter in ("2026-Q4", "2027-Q1"):
        assert plan(quarterly, tmp_path, quarter) == 0
    quarters = tmp_path / "quarters" / "academic-1k"
    first, second = (json.loads((quarters / f"{name}.json").read_text()) for name in ("2026-Q4", "2027-Q1"))
    assert second["run"] == first["run"] == second["previous"]["run"]
    assert (second["comparison"], second["comparison_status"]) == (None, "same run")
    assert "found" in capsys.readouterr().err and not (tmp_path / "comparisons").exists()
    kept = (tmp_path / first["run"] / "plan.json", quarters / "2027-Q1.json")
    assert len({path.stat().st_mode for path in kept}) == 1


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--time-limit", "1e-9"), (4, 5), ""),
        (("--overlay", "floor.yaml"), (3,), "limits.floor: the least possible is 128"),
        (("--overlay", "missing.yaml"), (2,), "missing.yaml: can't be read"),
        (("--scenario", "nonsense"), (2,), "no scenario 'nonsense'"),
    ],
)
def test_what_is_not_proven_is_not_0(
    quarterly: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    code: tuple[int, ...],
    said: str,
) -> None:
    """Proves the exit codes of a time limit, an infeasible quarter and bad input: one message, no traceback."""
    monkeypatch.chdir(tmp_path)
    Path("floor.yaml").write_text("overlay_version: 1\nname: floor\noverrides: {limits.floor: 1}\n")
    assert plan(quarterly, tmp_path / "runs", "2027-Q1", "--gap", "0", *options) in code
    errors = capsys.readouterr().err
    assert said in errors and "Traceback" not in errors


def test_a_comparison_that_is_not_proven_is_not_0(
    quarterly: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that a split whose solves reach their limit ends with 4, is not kept, and is made again the next time."""
    overlay = tmp_path / "faults.yaml"
    overlay.write_text(OVERLAY)
    assert plan(quarterly, tmp_path / "runs", "2026-Q4") == 0
    with monkeypatch.context() as patch:
        patch.setattr("spareopt.what_if.answer", lambda asked, *_, **__: Answer(asked.changes, "no plan in time"))
        patch.setattr("spareopt.asking.answer", lambda asked, *_, **__: Answer(asked.changes, "no plan in time"))
        assert plan(quarterly, tmp_path / "runs", "2027-Q1", "--overlay", str(overlay)) == 4
    assert not (tmp_path / "runs" / "comparisons").exists()
    assert plan(quarterly, tmp_path / "runs", "2027-Q1", "--overlay", str(overlay)) == 0


def test_a_damaged_quarter_is_told(quarterly: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Proves that a summary that somebody damaged is one message that says what to do."""
    (tmp_path / "quarters" / "academic-1k").mkdir(parents=True)
    (tmp_path / "quarters" / "academic-1k" / "2026-Q4.json").write_text("{")
    assert plan(quarterly, tmp_path, "2027-Q1") == 2
    assert "2026-Q4.json is damaged" in capsys.readouterr().err


def test_two_sites_share_a_folder(quarterly: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Proves that each site has its own quarters: no plan is compared with another site's, and no file is replaced."""
    annex = tmp_path / "annex.yaml"
    shipped = instances.path("academic-1k").read_text(encoding="utf-8")
    annex.write_text(shipped.replace("name: academic-1k", "name: annex"), encoding="utf-8")
    runs, said = tmp_path / "runs", []
    for quarter, source in (("2026-Q4", "academic-1k"), ("2026-Q4", str(annex)), ("2027-Q1", str(annex))):
        assert quarterly.main(["--instance", source, "--runs", str(runs), "--quarter", quarter]) == 0
        said.append(json.loads(capsys.readouterr().out))
    assert said[0]["previous"] is said[1]["previous"] is None and said[2]["previous"]["run"] == said[1]["run"]
    assert set(files(runs / "quarters")) == {"academic-1k/2026-Q4.json", "annex/2026-Q4.json", "annex/2027-Q1.json"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--quarter", "2027"), "expected a quarter such as 2027-Q1, got '2027'"),
        (("--gap", "5"), "expected a number from 0 to below 1, got '5'"),
        (("--time-limit", "0"), "expected a number above 0, got '0'"),
        (("--time-limit", "soon"), "--time-limit: invalid seconds value: 'soon'"),
        (("--log", "incidents.csv"), "--log and --fleet go together"),
        (("--mapping", "mapping.yaml"), "--mapping needs --log and --fleet"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    quarterly: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    """Proves that nothing is ignored or guessed: one message, exit code 2, and no folder."""
    with pytest.raises(SystemExit) as raised:
        plan(quarterly, tmp_path / "runs", "2027-Q1", *options)
    assert raised.value.code == 2 and said in capsys.readouterr().err and not (tmp_path / "runs").exists()


def test_the_page_shows_how(quarterly: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that the commands of the page lead from an empty folder to what the page shows of the last of them."""
    section = (ROOT / "docs" / "pipeline.md").read_text().split("## A plan each quarter")[1].split("\n## ")[0]
    commands, shown = re.findall(r"^```(?:sh|json)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[:2]
    monkeypatch.chdir(tmp_path)
    output = io.StringIO()
    for line in commands.replace("\\\n", " ").splitlines():
        program, *words = shlex.split(line)
        if program == "spareopt":
            assert CliRunner().invoke(cli.main, words).exit_code == 0, line
        else:
            assert (program, words[0]) == ("python", "quarterly.py")
            output = io.StringIO()
            with redirect_stdout(output):
                assert quarterly.main(words[1:]) == 0, line
    digits = re.compile(r"[0-9a-f]{12}|[\d.]+e-\d+")
    said, page = (json.loads(digits.sub("0", text)) for text in (output.getvalue(), shown))
    for item in (said, said["previous"], page, page["previous"]):
        item["value"] = pytest.approx(item["value"], rel=1e-6)
    assert said == page and list(said) == list(page)


@pytest.mark.heavy
def test_two_at_once_end_alike(tmp_path: Path) -> None:
    """Proves that two schedulers that start the same quarter at once both end with 0 and leave one of everything."""
    (tmp_path / "faults.yaml").write_text(OVERLAY)
    environment = os.environ | {"PYTHONPATH": str(SCRIPT.parents[2])}
    for quarter, overlay in (("2026-Q4", ()), ("2027-Q1", ("--overlay", "faults.yaml"))):
        command = [sys.executable, str(SCRIPT), "--instance", "academic-1k", "--runs", "runs", "--quarter", quarter]
        both = [
            subprocess.Popen([*command, *overlay], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        outputs = [process.communicate()[0] for process in both]
        assert [process.returncode for process in both] == [0, 0] and outputs[0] == outputs[1]
    runs = tmp_path / "runs"
    assert len(list(runs.glob("academic-1k-*"))) == 2 and len(list((runs / "comparisons").iterdir())) == 1
    assert not list(runs.rglob(".*"))


def test_a_quarter_from_its_incidents(
    quarterly: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Proves that a log is calibrated on: the rates of the run are those that calibrate finds, whoever calls it."""
    log, fleet = tmp_path / "quarter.csv", tmp_path / "quarter-fleet.csv"
    made = ["simulate", "academic-1k", "--replications", "1", "--years", "0.25", "--incidents", str(log)]
    assert CliRunner().invoke(cli.main, made).exit_code == 0
    assert plan(quarterly, tmp_path / "runs", "2027-Q1", "--log", str(log), "--fleet", str(fleet)) == 0
    run = tmp_path / "runs" / json.loads(capsys.readouterr().out)["run"]
    found = spareopt.calibration_overlay(spareopt.calibrate(log, fleet), instance=spareopt.read_instance("academic-1k"))
    expected = spareopt.read_instance("academic-1k", overlays=[found])
    assert spareopt.read_instance(run / "instance.json").input_hash() == expected.input_hash()
