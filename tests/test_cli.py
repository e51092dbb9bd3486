"""The command line: every command and option, what goes to which stream, and the documented exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from spareopt import instances, optimise, store
from spareopt.cli import main
from spareopt.errors import InputError
from spareopt.manifest import UNHASHED
from spareopt.plan import Plan

COMMANDS = (
    "solve", "evaluate", "neighbours", "simulate", "validate", "show", "schema", "instances", "new", "explain", "sweep",
    "frontier", "marginal", "tornado", "map", "robust", "template",
)  # fmt: skip
OWN_PLAN = """\
zones:
  - zone: cluster
    design: hgx-h100
    racks: 128
    intra_block_spares: 0
    inter_block_spares: {spares}
    repair_plan: day-shift
    gpu_limit: 644 W
checkpoint_plan: automatic-retry
"""

TWO_CLASSES = ("--set", "zones=[{name: east, racks: 64}, {name: west, racks: 64}]")


def run(*args: str) -> Result:
    """Run the command line in this process; no exception but SystemExit may leave it."""
    result = CliRunner().invoke(main, list(args))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def program(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "spareopt", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan folder of academic-1k."""
    folder = tmp_path_factory.mktemp("solved") / "plan"
    assert run("solve", "academic-1k", "-o", str(folder)).exit_code == 0
    return folder


def own_plan(folder: Path, spares: int) -> str:
    path = folder / "mine.yaml"
    path.write_text(OWN_PLAN.format(spares=spares))
    return str(path)


def with_certificate(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Let the optimiser return its plan with another certificate, as if a limit had been reached."""
    real = optimise.solve

    def solve(*args: Any, **options: Any) -> Plan:
        plan = real(*args, **options)
        certificate = plan.certificate.model_copy(update=changes)
        return plan.model_copy(update={"certificate": certificate})

    monkeypatch.setattr(optimise, "solve", solve)


# --- help and start-up


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_command_has_help(command: str) -> None:
    """Proves that --help and -h work everywhere and that each command says what it does."""
    args = [command] if command else []
    result = run(*args, "--help")
    assert result.exit_code == 0
    assert run(*args, "-h").output == result.output
    assert len(result.stdout.splitlines()) > 5
    if not command:
        assert "Exit codes: 0 proven" in result.stdout
        assert all(re.search(rf"^  {name} ", result.stdout, re.MULTILINE) for name in COMMANDS)


def test_version_is_the_packages() -> None:
    """Proves that --version reads the installed metadata."""
    assert re.fullmatch(r"spareopt, version \d+\.\d+\.\d+\n|.*, version \d+\.\d+\.\d+\n", run("--version").stdout)


def test_help_imports_nothing_heavy() -> None:
    """Proves that --help loads none of the slow libraries: that, not a clock, is what keeps it under half a second."""
    heavy = ("pyomo", "pandas", "numpy", "scipy", "networkx", "pydantic", "highspy", "ruamel", "rich")
    script = f"""
import sys
from spareopt.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
print("LOADED", sorted(set({heavy!r}) & {{name.split(".")[0] for name in sys.modules}}))
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Usage:" in result.stdout
    assert result.stdout.endswith("LOADED []\n")


def test_python_m_spareopt_is_the_command_line() -> None:
    """Proves that ``python -m spareopt`` is the same program under its own name."""
    result = program("--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage: ")
    assert "Commands:" in result.stdout


# --- solve


def test_solve_prints_the_plan_and_what_to_do_next() -> None:
    """Proves that the text goes to stdout, nothing to stderr, and that the next command works as printed."""
    result = run("solve", "academic-1k")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("academic-1k: goodput ")
    assert result.stdout.endswith("Next: spareopt solve academic-1k -o my-plan, or spareopt show academic-1k\n")


def test_solve_json_is_the_plan_and_nothing_else() -> None:
    """Proves that --json gives one document that reads back as a Plan."""
    result = run("solve", "academic-1k", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    plan = Plan.model_validate_json(result.stdout)
    assert plan.certificate.status == "proven"
    assert json.loads(result.stdout)["provenance"]["instance"] == "academic-1k"


def test_options_reach_the_optimiser() -> None:
    """Proves that model, gap, seed and time limit are not dropped on the way."""
    options = ["--model", "first-order", "--gap", "0.01", "--seed", "7", "--time-limit", "50", "--alike"]
    plan = json.loads(run("solve", "academic-1k", "--json", *options).stdout)
    assert plan["provenance"]["options"] == {
        "gap": 0.01,
        "time_limit_s": 50.0,
        "model": "first-order",
        "coarse": False,
        "alike": True,
    }
    assert (plan["provenance"]["seed"], plan["evaluation"]["model"]) == (7, "first-order")


def test_scenarios_and_overrides_apply_in_order() -> None:
    """Proves that --scenario and --set change the instance, --set last, and that the plan says so."""
    changes = ["--scenario", "half-mtbf", "--set", "limits.yearly_cost=1.7 M$ per year", "--set", "limits.it_power="]
    plan = json.loads(run("solve", "academic-1k", "--json", *changes).stdout)
    applied = plan["provenance"]["applied"]
    assert applied[0].startswith("scenario half-mtbf: ")
    assert applied[-2:] == ["limits.yearly_cost=1.7 M$ per year", "limits.it_power=null"]
    bounds = {limit["limit"]: limit["bound"] for limit in plan["evaluation"]["limits"]}
    assert bounds["yearly_cost"] == 1.7e6
    assert "it_power" not in bounds


def test_output_folder_holds_the_plan(solved: Path) -> None:
    """Proves that -o writes what --json prints."""
    assert (solved / "plan.json").read_text(encoding="utf-8") == run("solve", "academic-1k", "--json").stdout


def test_same_bytes_in_another_process(solved: Path, tmp_path: Path) -> None:
    """Proves that plan, tables and LP file are the same bytes in a process with another hash seed.

    A set walked in hash order, a time or a path in any of them would show.
    """
    again = tmp_path / "again"
    result = program("solve", "academic-1k", "-o", str(again), env=os.environ | {"PYTHONHASHSEED": "12345"})
    assert (result.returncode, result.stderr) == (0, "")
    assert f"Written to {again}. Next: spareopt neighbours academic-1k --plan {again}\n" in result.stdout
    names = sorted(path.name for path in solved.iterdir())
    assert names == sorted(path.name for path in again.iterdir())
    for name in names:
        if name not in UNHASHED:
            assert (solved / name).read_bytes() == (again / name).read_bytes(), name


def test_a_plan_that_can_not_be_written_is_still_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Proves that a disk that fills up during the solve costs the folder, not the plan."""

    def fail(*_: object) -> None:
        raise InputError("plan", [])

    monkeypatch.setattr(store, "write_plan", fail)
    result = run("solve", "academic-1k", "--json", "-o", str(tmp_path / "plan"))
    assert result.exit_code == 2
    assert json.loads(result.stdout)["certificate"]["status"] == "proven"
    assert result.stderr.startswith("error: plan")


# --- exit codes


def test_exit_code_3_infeasible() -> None:
    """Proves that limits no plan meets give 3, say which and what explains them, with the options as typed."""
    result = run("solve", "academic-1k", "--set", "limits.floor=1")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("error: limits.floor: the least possible is 128 rack positions")
    assert result.stderr.endswith("\nNext: spareopt explain academic-1k --set limits.floor=1\n")


def test_exit_code_4_limit_with_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that an unproven plan is printed, as text and as JSON, with exit code 4."""
    with_certificate(monkeypatch, status="limit reached", gap=0.02)
    result = run("solve", "academic-1k")
    assert result.exit_code == 4
    assert "NOT PROVEN (limit reached)" in result.stdout.splitlines()[0]
    result = run("solve", "academic-1k", "--json")
    assert result.exit_code == 4
    assert json.loads(result.stdout)["certificate"]["status"] == "limit reached"


def test_exit_code_4_in_no_time_where_all_zones_are_of_one_class() -> None:
    """Proves that even no time gives the best plan with all zones alike, which needs no search, and a true gap."""
    result = run("solve", "academic-1k", "--time-limit", "0.001", "--json")
    assert result.exit_code == 4
    certificate = json.loads(result.stdout)["certificate"]
    assert certificate["status"] == "limit reached"
    assert certificate["bound"] > certificate["value"] > 800


def test_exit_code_5_limit_without_a_plan() -> None:
    """Proves that a time limit too short for any plan gives 5 and one message."""
    result = run("solve", "academic-1k", "--time-limit", "0.001", *TWO_CLASSES)
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr == "error: the time limit of 0.001 s was reached before any plan was found\n"


def test_exit_code_130_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that Ctrl-C gives 130, with the plan when there is one and one message when there is none."""
    with monkeypatch.context() as patch:
        with_certificate(patch, status="interrupted", gap=0.02)
        result = run("solve", "academic-1k")
        assert result.exit_code == 130
        assert "NOT PROVEN (interrupted)" in result.stdout

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(optimise, "solve", interrupt)
    result = run("solve", "academic-1k")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "\nerror: interrupted\n")


def test_a_real_interrupt_ends_with_130() -> None:
    """Proves on a running program that SIGINT ends it with 130, a plan or one message, and no traceback.

    On a machine so fast or slow that the solve is over first, the code is 0.
    """
    command = [sys.executable, "-m", "spareopt", "solve", "power-capped-20mw", "--gap", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(2.5)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode in (130, 0), errors
    assert "Traceback" not in output + errors
    if process.returncode == 130:
        assert ("NOT PROVEN (interrupted)" in output) != ("error: interrupted" in errors)


def test_exit_code_1_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that a fault of ours is one message that asks for a report; SPAREOPT_TRACEBACK=1 shows where it is."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(optimise, "solve", fail)
    result = run("solve", "academic-1k")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: internal error: ZeroDivisionError: division by zero; please report it")
    document = json.loads(run("solve", "academic-1k", "--json").stdout)
    assert (document["error"], document["exit_code"]) == ("InternalError", 1)
    monkeypatch.setenv("SPAREOPT_TRACEBACK", "1")
    assert isinstance(CliRunner().invoke(main, ["solve", "academic-1k"]).exception, ZeroDivisionError)


# --- evaluate


def test_evaluate_puts_an_own_plan_beside_the_optimum(tmp_path: Path, solved: Path) -> None:
    """Proves that a planner's YAML is scored, solved against and compared decision by decision."""
    result = run("evaluate", "academic-1k", "--plan", own_plan(tmp_path, 5))
    assert (result.exit_code, result.stderr) == (0, "")
    assert "The optimum: goodput 883.8 baseline GPUs (+" in result.stdout.splitlines()[2]
    assert re.search(r"inter block spares +5 +6 +\d", result.stdout)
    document = json.loads(run("evaluate", "academic-1k", "--plan", own_plan(tmp_path, 5), "--json").stdout)
    assert sorted(document) == ["beyond_choices", "comparison", "evaluation", "no_optimum", "optimum"]
    changed = [row for row in document["comparison"] if row["alone"] is not None]
    assert [row["decision"] for row in changed] == ["inter_block_spares"]
    assert document["evaluation"]["goodput"] < changed[0]["alone"] == document["optimum"]["evaluation"]["goodput"]


def test_evaluate_reads_a_plan_folder(solved: Path) -> None:
    """Proves that a folder written by solve evaluates to the very same score, without solving where told so."""
    result = run("evaluate", "academic-1k", "--plan", str(solved), "--no-optimum", "--json")
    document = json.loads(result.stdout)
    assert document["evaluation"] == json.loads((solved / "plan.json").read_text())["evaluation"]
    assert document["optimum"] is document["comparison"] is None
    text = run("evaluate", "academic-1k", "--plan", str(solved), "--no-optimum").stdout
    assert "The optimum" not in text
    assert text.endswith(f"Next: spareopt evaluate academic-1k --plan {solved}\n")


def test_evaluate_exit_code_3_names_the_broken_limit(tmp_path: Path) -> None:
    """Proves that an own plan that breaks a limit is scored all the same, says which, and gives 3."""
    result = run("evaluate", "academic-1k", "--plan", own_plan(tmp_path, 9), "--no-optimum")
    assert result.exit_code == 3
    assert "Your plan BREAKS working GPUs." in result.stdout
    assert "Your plan has what the instance does not offer: cluster: inter_block_spares 9." in " ".join(
        result.stdout.split()
    )


@pytest.mark.parametrize(
    ("options", "code", "reason"),
    [
        (["--set", "limits.working_gpus={minimum: 1025}"], 3, "limits.working_gpus"),
    ],
)
def test_evaluate_scores_an_own_plan_without_an_optimum(
    options: list[str], code: int, reason: str, tmp_path: Path
) -> None:
    """Proves that the own plan's score does not hang on the optimiser: where there is no optimum, it says why."""
    plan = own_plan(tmp_path, 5)
    result = run("evaluate", "academic-1k", "--plan", plan, *options)
    assert result.exit_code == code
    assert result.stdout.startswith("academic-1k: your plan has goodput 882.7 baseline GPUs")
    assert result.stdout.splitlines()[1] == f"Your plan: {plan}"
    assert f"\nNo optimum to compare with: {reason}" in result.stdout
    document = json.loads(run("evaluate", "academic-1k", "--plan", plan, "--json", *options).stdout)
    assert document["no_optimum"].startswith(reason)
    assert document["evaluation"]["goodput"] > 0


def test_evaluate_exit_code_4_where_the_optimum_is_not_proven(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Proves that a comparison with an unproven plan does not pass for one with the optimum."""
    with_certificate(monkeypatch, status="limit reached", gap=0.02)
    result = run("evaluate", "academic-1k", "--plan", own_plan(tmp_path, 5))
    assert result.exit_code == 4
    assert "NOT PROVEN (limit reached)\nA better plan may exist, by up to 2.00 %.\n" in result.stdout


# --- the other commands


def test_validate_passes_every_shipped_instance() -> None:
    """Proves that what is shipped is valid, scenarios too, and how validate reads."""
    result = run("validate", *instances.names())
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [f"{name}: valid" for name in instances.names()]
    assert json.loads(run("validate", "academic-1k", "--json").stdout) == [
        {"file": "academic-1k", "valid": True, "faults": [], "without_effect": []}
    ]


def test_validate_reports_all_faults_with_lines(tmp_path: Path) -> None:
    """Proves that each faulty file has all its faults with line and field, and that one bad file gives 2."""
    file = tmp_path / "mine.yaml"
    text = Path(instances.path("academic-1k")).read_text()
    file.write_text(re.sub(r"(?m)^(name: .*)$", r"\1\ncolour: red\ncurrency: CHF", text, count=1))
    result = run("validate", str(file), "academic-1k")
    assert result.exit_code == 2
    assert result.stdout == "academic-1k: valid\n"
    assert result.stderr.startswith(f"{file}: 2 faults\n")
    (bad, good) = json.loads(run("validate", str(file), "academic-1k", "--json").stdout)
    assert (bad["valid"], good["valid"]) == (False, True)
    line = text.splitlines().index(next(row for row in text.splitlines() if row.startswith("name: "))) + 1
    assert {(fault["field"], fault["line"]) for fault in bad["faults"]} == {
        ("colour", line + 1),
        ("currency", line + 2),
    }


def test_validate_checks_scenarios(tmp_path: Path) -> None:
    """Proves that a scenario that can't be applied is found before it is needed."""
    file = tmp_path / "mine.yaml"
    text = Path(instances.path("academic-1k")).read_text()
    file.write_text(text.replace("\nscenarios:\n", "\nscenarios:\n  bad: {overrides: {nowhere.at.all: 1}}\n", 1))
    result = run("validate", str(file))
    assert result.exit_code == 2
    assert "scenarios.bad" in result.stderr


def test_show_draws_the_tree() -> None:
    """Proves that show prints the cluster of each class and design, as a tree or as JSON."""
    result = run("show", "meta-2026")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "36,864 × tray: blast radius 2 GPUs, 44.24 faults per day in all" in result.stdout
    assert "Designs: block-72, block-36, block-18; show another with --design NAME." in result.stdout
    other = run("show", "meta-2026", "--design", "block-18").stdout
    assert "(block-18, 256 racks)" in other
    assert {"nodes"} <= set(json.loads(run("show", "meta-2026", "--json").stdout))


def test_show_keeps_zones_that_do_not_offer_the_design() -> None:
    """Proves that --design does not drop a zone class that can't have it: the totals would be short of it."""
    zones = "zones=[{name: a, racks: 4, designs: [block-72]}, {name: b, racks: 4}]"
    result = run("show", "meta-2026", "--set", zones, "--design", "block-18")
    assert result.exit_code == 0
    assert "a (block-72, 4 racks)" in result.stdout
    assert "b (block-18, 4 racks)" in result.stdout


def test_schema_is_a_json_schema() -> None:
    """Proves that the schema is one JSON document with a description of the fields."""
    document = json.loads(run("schema").stdout)
    assert document["type"] == "object"
    assert {"zones", "designs", "failures", "objective"} <= set(document["properties"])


def test_instances_are_listed() -> None:
    """Proves that every shipped instance has a line, and a description."""
    text = run("instances").stdout
    listed = json.loads(run("instances", "--json").stdout)
    assert [item["name"] for item in listed] == list(instances.names())
    for item in listed:
        assert re.search(rf"^{re.escape(item['name'])} +\w", text, re.MULTILINE)
        assert item["description"]


def test_new_writes_a_file_that_validates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that new starts a file with comments under its own name, ready to solve, and never overwrites."""
    monkeypatch.chdir(tmp_path)
    result = run("new", "my-cluster.yaml", "--from", "academic-1k")
    expected = (
        "Wrote my-cluster.yaml with the figures of academic-1k: replace them by your own, "
        "then: spareopt validate my-cluster.yaml && spareopt solve my-cluster.yaml\n"
    )
    assert (result.exit_code, result.stdout) == (0, expected)
    assert "#" in Path("my-cluster.yaml").read_text()
    assert run("validate", "my-cluster.yaml").exit_code == 0
    assert json.loads(run("solve", "my-cluster.yaml", "--json").stdout)["provenance"]["instance"] == "my-cluster"
    result = run("new", "my-cluster.yaml")
    assert result.exit_code == 2
    assert "already exists" in result.stderr


def test_a_scenario_without_effect_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that validate tells a scenario that changes nothing, as one that states a limit the file has by now."""
    monkeypatch.chdir(tmp_path)
    run("new", "own.yaml", "--from", "academic-1k")
    with Path("own.yaml").open("a", encoding="utf-8") as stream:
        stream.write("  as-it-is:\n    overrides: {failures.tray.mtbf: 1x}\n")
    result = run("validate", "own.yaml")
    assert (result.exit_code, result.stdout) == (0, "own.yaml: valid\n")
    assert result.stderr == "  scenarios.as-it-is: changes nothing; what it states is what the instance has\n"
    assert json.loads(run("validate", "own.yaml", "academic-1k", "--json").stdout) == [
        {"file": "own.yaml", "valid": True, "faults": [], "without_effect": ["as-it-is"]},
        {"file": "academic-1k", "valid": True, "faults": [], "without_effect": []},
    ]


# --- streams


def test_a_broken_pipe_is_quiet() -> None:
    """Proves that ``spareopt schema | head -1`` says nothing on stderr: the reader has what it wanted."""
    command = f"set -o pipefail; '{sys.executable}' -m spareopt schema | true"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (141, "")


def test_progress_goes_to_stderr_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that progress never mixes with the JSON, and that it shows the objective in its unit."""
    monkeypatch.setattr("spareopt.progress.PROGRESS_AFTER", 0.0)
    result = run("solve", "academic-1k", "--json")
    assert json.loads(result.stdout)["certificate"]["status"] == "proven"
    lines = result.stderr.splitlines()
    assert all(re.fullmatch(r"\[ *\d+\.\d s\] \S.*", line) for line in lines)
    assert re.search(r"refinement 1: 883\.8 baseline GPUs, bound 883\.8 baseline GPUs, gap \d", result.stderr)


@pytest.mark.parametrize(
    ("args", "code", "error"),
    [
        (["solve", "no-such-cluster"], 2, "InputError"),
        (["solve", "academic-1k", "--set", "nonsense"], 2, "InputError"),
        (["solve", "academic-1k", "--set", "limits.floor=1"], 3, "InfeasibleError"),
        (["solve", "academic-1k", "--time-limit", "0.001", *TWO_CLASSES], 5, "LimitError"),
        (["solve", "academic-1k", "--gap", "nan"], 2, "UsageError"),
        (["solve", "academic-1k", "--no-such-option"], 2, "UsageError"),
        (["no-such-command"], 2, "UsageError"),
        (["evaluate", "academic-1k"], 2, "UsageError"),
        (["evaluate", "academic-1k", "--plan", "no-such-plan"], 2, "InputError"),
        (["show", "academic-1k", "--design", "no-such-design"], 2, "InputError"),
    ],
)
def test_errors_are_json_too(args: list[str], code: int, error: str) -> None:
    """Proves that with --json a refusal is one JSON document on stdout with the exit code, and stderr is silent."""
    result = run(*args, "--json")
    assert (result.exit_code, result.stderr) == (code, "")
    document = json.loads(result.stdout)
    assert (document["error"], document["exit_code"]) == (error, code)
    assert document["message"]
    if error == "InputError":
        assert document["source"]
        assert all(set(fault) == {"field", "line", "message"} for fault in document["faults"])
    plain = run(*args)
    assert (plain.exit_code, plain.stdout) == (code, "")
    assert plain.stderr
