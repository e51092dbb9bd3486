"""The command ``spareopt staged``: what it prints, writes and keeps, how it ends, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import spareopt
from spareopt import cli
from spareopt.progress import Progress
from spareopt.staging import plan as planning
from spareopt.staging.plan import StagedPlan
from tests.growing_site import CASE, growing


def run(*args: str) -> Result:
    return CliRunner().invoke(cli.main, ["staged", *args])


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("growing.yaml").write_text(json.dumps(CASE), encoding="utf-8")  # JSON is YAML, too
    return "growing.yaml"


def test_a_plan_is_printed_written_and_made_anew(file: str) -> None:
    """Proves the way of a planner: plan, read the next command, and plan anew a quarter later with it as printed."""
    first = run(file, "--gap", "0", "-o", "plan")
    assert first.exit_code == 0, first.output
    _, plan = growing("goodput")
    assert spareopt.read_staged("plan").decisions == plan.decisions
    last = first.stdout.splitlines()[-1]
    again = "spareopt staged plan/instance.json --from plan --quarter 2028-Q1"
    assert last == f"Written to plan. Next, a quarter later: {again}"
    later = run(*again.split()[2:], "--gap", "0", "--json")
    assert later.exit_code == 0 and later.stderr == ""
    result = StagedPlan.model_validate_json(later.stdout)
    quarters = plan.score.quarters[1:]
    left = sum(q.weight / quarters[0].weight * q.useful_gpu_hours for q in quarters)
    assert result.certificate.value == pytest.approx(left, rel=1e-9)
    assert result.to_json() == later.stdout


def test_a_run_that_is_kept_is_found_again(file: str) -> None:
    """Proves that the same question is not solved twice, and that another gap is another question."""
    first, second = (run(file, "--runs", "runs", "--json") for _ in range(2))
    assert first.exit_code == second.exit_code == 0
    assert first.stdout == second.stdout and "Found in runs" in second.stderr and "Found" not in first.stderr
    run(file, "--runs", "runs", "--gap", "0.002")
    assert len(list(Path("runs").iterdir())) == 2


def test_each_ending_has_its_code(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves 3 for what can't be met, 5 for no plan in time, 4 for a plan without a proof, 130 for one interrupted."""
    none = run(file, "--set", "horizon.working_gpus.minimum=[0, 0, 500]")
    assert none.exit_code == 3 and none.stderr.startswith("error: ")
    late = run(file, "--time-limit", "1e-6")
    assert late.exit_code == 5 and "before any plan was found" in late.stderr

    shown = Progress.show

    def stop(self: Progress, progress: Any) -> None:
        shown(self, progress)
        if progress.value is not None:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Progress, "show", stop)
        stopped = run(file, "--gap", "0", "--json")
    assert stopped.exit_code == 130
    kept = StagedPlan.model_validate_json(stopped.stdout)
    assert kept.certificate.status == "interrupted" and kept.certificate.bound >= kept.certificate.value > 0
    instance, best = growing("goodput")
    assert kept.certificate.value <= best.certificate.value * (1 + 1e-9) <= kept.certificate.bound * (1 + 2e-9)
    assert spareopt.evaluate_staged(instance, kept.decisions).breaks == ()

    doubtful = best.model_copy(update={"certificate": best.certificate.model_copy(update={"status": "limit reached"})})
    monkeypatch.setattr(planning, "solve_staged", lambda *_, **__: doubtful)
    assert run(file).exit_code == 4


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--from", "plan"], "go together; give both, or none"),
        (["--quarter", "2028-Q1"], "go together; give both, or none"),
        (["--from", "nope", "--quarter", "2028-Q1"], "nope: no such folder; expected a folder that holds staged.json"),
        (["--from", "plan", "--quarter", "2031-Q1"], "--quarter: expected a quarter of the instance's horizon"),
        (["--from", "plan", "--quarter", "soon"], "--quarter: expected a quarter such as \"2027-Q2\", got 'soon'"),
        (["--from", "solved", "--quarter", "2028-Q1"], "solved: was written by spareopt solve; expected a folder that"),
        (["--from", "growing.yaml", "--quarter", "2028-Q1"], "is a file; expected a folder"),
        (["-o", "plan"], "already exists; name a new folder"),
        (["-o", "new", "--runs", "runs"], "-o does not go with --runs"),
        (["--gap", "1"], "Invalid value for '--gap'"),
        (["--set", "horizon.lead_time.racks=9", "--set", "horizon.bought=[]"], "horizon.lead_time.racks"),
    ],
)
def test_what_is_not_meant_is_refused_in_one_message(args: list[str], message: str, file: str) -> None:
    """Proves that bad input ends with code 2, one message that says what was expected, and nothing written."""
    instance, plan = growing("goodput")
    spareopt.write_staged(plan, instance, "plan")
    if "solved" in args:
        kept = spareopt.read_instance("academic-1k")
        spareopt.write_plan(spareopt.solve(kept, gap=0.01), kept, "solved")
    before = {path for path in Path().rglob("*")}
    result = run(file, *args)
    assert result.exit_code == 2 and message in " ".join(result.stderr.split())
    assert "Traceback" not in result.output and set(Path().rglob("*")) - before <= {Path("runs")}


def test_an_instance_without_a_horizon_is_told_what_to_state() -> None:
    """Proves that the message names the field and gives a fix, as JSON where asked."""
    result = run("meta-2026", "--json")
    assert result.exit_code == 2
    (fault,) = json.loads(result.stdout)["faults"]
    assert fault["field"] == "horizon" and '--set "horizon={quarters: 8}"' in fault["message"]
