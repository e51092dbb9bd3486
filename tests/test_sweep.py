"""Sweeps: every point is its own solve, the table is the same whoever solves it, and what is finished is not lost."""

from __future__ import annotations

import errno
import itertools
import json
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from pandas.testing import assert_frame_equal

import spareopt
from spareopt import cli, sweeps, what_if
from spareopt.errors import InputError, SolverError
from spareopt.sweep_folder import load_sweep, open_journal
from spareopt.sweep_result import DECISIONS, SCORES, TOTALS, Sweep
from spareopt.what_if import Answer, WhatIf, answers, what_ifs
from spareopt.workers import WorkerError
from tests.test_docs import models_in, table

ROOT = Path(__file__).parents[1]
OVER = {"failures.tray.mtbf": "0.25x:4x:5:log", "scenario": ["none", "half-mtbf", "free-placement"]}
COMMAND = ["sweep", "meta-2026"]
for path, values in OVER.items():
    COMMAND += ["--over", f"{path}={values if isinstance(values, str) else ','.join(values)}"]
"""15 points of some 30 ms each."""
BIG = ["sweep", "gb200-4x256", "--over", "limits.capital=0.85x:1.2x:20", "--over", "failures.tray.mtbf=0.25x:4x:10:log"]
"""200 points, a few of which are infeasible."""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, list(arguments))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the sweep, made by one process that nothing disturbs."""
    folder = tmp_path_factory.mktemp("sweep") / "undisturbed"
    assert run(*COMMAND, "-o", str(folder)).exit_code == 0
    return folder


def same_files(one: Path, other: Path) -> bool:
    """Whether two folders hold the same tables and plans, byte by byte."""
    files = [
        sorted(p.relative_to(f).as_posix() for p in f.rglob("*.[jc]s*") if p.name not in TIMED) for f in (one, other)
    ]
    assert files[0] == files[1] and "table.csv" in files[0] and "plans/14.json" in files[0]
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in files[0])


TIMED = ("manifest.json", "journal.jsonl")


# --- the table


def test_each_point_is_its_own_solve(undisturbed: Path) -> None:
    """Proves that rows are in grid order, and each has the numbers of the instance solved with that row's changes."""
    rows = spareopt.read_sweep(undisturbed)
    texts = ["0.25x", "0.5x", "1x", "2x", "4x"]
    pairs = list(itertools.product(texts, OVER["scenario"]))
    assert list(zip(rows["failures.tray.mtbf"], rows["scenario"], strict=True)) == pairs
    for place in (0, 4, 11):
        mtbf, scenario = pairs[place]
        named = [] if scenario == "none" else [scenario]
        case = spareopt.read_instance("meta-2026", scenarios=named, overrides={"failures.tray.mtbf": mtbf})
        plan, row = spareopt.solve(case), rows.iloc[place]
        assert row["failures.tray.mtbf_h"] == pytest.approx(1.0 / case.failures.tray.per_hour, rel=1e-12)
        assert (row["objective_value"], row["bound"]) == (plan.certificate.value, plan.certificate.bound)
        assert row["goodput_baseline_gpus"] == plan.evaluation.goodput
        assert row["loss_lost_work"] == plan.evaluation.losses["lost_work"]
        assert row["inter_block_spares"] == plan.decisions.zones[0].inter_block_spares
        stored = spareopt.read_plan(undisturbed / "plans" / f"{place}.json")
        assert stored.decisions == plan.decisions and stored.evaluation == plan.evaluation


def test_shares_sum_to_one_and_fewer_faults_are_never_worse(undisturbed: Path) -> None:
    """Proves what holds of every sweep over a fault rate: loss shares sum to 1, and goodput rises with the MTBF."""
    rows = spareopt.read_sweep(undisturbed)
    assert rows.filter(like="loss_").sum(axis=1).to_numpy() == pytest.approx(1.0, rel=1e-12)
    for _, line in rows.groupby("scenario"):
        assert line["objective_value"].is_monotonic_increasing


def test_python_and_folder_give_the_same_table(undisturbed: Path) -> None:
    """Proves that the Python form is the command's table, threads of an executor make no difference, and CSV is it."""
    instance = spareopt.read_instance("meta-2026")
    told: list[int] = []
    with ThreadPoolExecutor(3) as executor:
        found = spareopt.sweep(
            instance, OVER, executor=executor, on_progress=lambda p: p.checking or told.append(p.done)
        )
    assert_frame_equal(found, spareopt.read_sweep(undisturbed))
    assert told == sorted(told) and told[-1] == 15
    csv = pd.read_csv(undisturbed / "table.csv", keep_default_na=False)
    assert list(csv.columns) == list(found.columns)
    assert list(csv["objective_value"].astype(float)) == list(found["objective_value"])


def test_tied_paths_units_and_infeasible_points() -> None:
    """Proves that tied paths move together, amounts are resolved to their unit, and that there is no plan is a row."""
    instance = spareopt.read_instance("gb200-4x256")
    mtbf = ("failures.tray.mtbf", "failures.rack.mtbf")
    rows = spareopt.sweep(instance, {"limits.capital": ["3 G$", "4.5 G$", None], mtbf: ["1x", "2x"]})
    assert list(rows["limits.capital_usd"].dropna()) == [3e9, 3e9, 4.5e9, 4.5e9]
    assert list(rows["limits.capital"]) == ["3 G$", "3 G$", "4.5 G$", "4.5 G$", "null", "null"]
    for path in mtbf:
        known = {"failures.tray.mtbf": 24 / 1.5e-3, "failures.rack.mtbf": 24 / 5.4e-3}[path]
        assert list(rows[f"{path}_h"]) == pytest.approx([known, 2 * known] * 3, rel=1e-12)
    assert list(rows["status"]) == ["infeasible"] * 2 + ["proven"] * 4
    assert rows["why"][0] == "limits.capital: the least possible is 3.495 G$, the limit 3 G$"
    assert rows["objective_value"].isna().tolist() == [True] * 2 + [False] * 4
    assert (rows["racks"][2], rows["racks_per_zone"][2], rows["racks"].dtype) == (1024, 256, "Int64")


def test_text_says_which_decision_changes_where(undisturbed: Path) -> None:
    """Proves that the steps told along an axis are those of the table, and that a grid has every value of it."""
    text = run(*COMMAND, "-o", str(undisturbed), "--resume").output
    rows = spareopt.read_sweep(undisturbed)
    line = rows[rows["scenario"] == "half-mtbf"].set_index("failures.tray.mtbf")["intra_block_spares"]
    assert line.tolist() == [4, 4, 4, 0, 0]
    assert "I, spare trays per block: 4, falls to 0 at 2x (scenario half-mtbf)" in text
    for value in rows["objective_value"]:
        assert f"{value:,.0f}" in text
    assert "The same in every plan: design block-72" in text
    assert f"--plan {undisturbed}/plans/0.json" in text


@pytest.mark.parametrize(
    "over",
    [
        ["failures.tray.mtbf=0.5x,1x"],
        [*(f"{path}=1x" for path in ("failures.tray.mtbf", "failures.rack.mtbf", "placement_group"))],
    ],
)
def test_one_and_three_axes_are_printed_as_rows(over: list[str]) -> None:
    """Proves that a sweep over one axis, or more than two, is printed a line per point, none wider than a page."""
    result = run("sweep", "meta-2026", *(part for axis in over for part in ("--over", axis)))
    points = 2 if len(over) == 1 else 1
    assert result.exit_code == 0 and f"meta-2026: {'2 points' if points == 2 else '1 point'}, " in result.output
    assert len(re.findall(r"^(?:0\.5|1)x .*\d\d,\d\d\d +0\.\d{4}", result.output, re.MULTILINE)) == points
    assert all(len(line) <= 110 for line in result.output.splitlines() if not line.startswith("Next"))


# --- what is refused


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ({"failures.tray.mtbf": ["1x", "-3 h"]}, r"with failures.tray.mtbf=-3 h\): failures.tray.mtbf"),
        ({"failures.rack.mtbf": ["9 d", "4"]}, r"with failures.rack.mtbf=4\): failures.rack.mtbf"),
        ({"limits.capitol": ["1 G$"]}, "capitol"),
        ({"scenario": ["half-mtbf", "nonsense"]}, "no scenario 'nonsense'"),
        ({"failures.tray.mtbf": []}, "expected at least one value"),
        ({"failures.tray.mtbf": ["1x", "1x"]}, "none twice"),
        ({"failures.tray.mtbf": ["0.9x", "2x", "0.90x"]}, "0.9x and 0.90x come to the same"),
        ({"failures.rack.mtbf": ["4 d", "96 h"], "scenario": ["none", "half-mtbf"]}, "4 d and 96 h come to the same"),
        ({"failures.tray.mtbf": ["2x"], "failures.tray.rate": ["2x"]}, "rate: names the same input as .*mtbf, so it"),
        ({("failures.tray.rate", "failures.tray.mtbf"): ["2x"]}, "mtbf: names the same input as .*rate, so it"),
        ({"designs.0.rack_price": ["2x"], "designs.block-72.rack_price": ["2x"]}, "given twice"),
        ({"failures.tray.mtbf": ["1x"], ("failures.tray.mtbf", "failures.rack.mtbf"): ["2x"]}, "is on two axes"),
        ({}, "at least one axis"),
        ({"failures.tray.mtbf": "1x:2x:500", "failures.rack.mtbf": "1x:2x:500"}, "250,000 points"),
    ],
)
def test_a_bad_point_is_refused_before_the_first_is_solved(
    over: dict[Any, Any], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Proves that one message names what is wrong, nothing is solved, and no folder is left behind."""
    monkeypatch.setattr(sweeps, "answered", None)
    with pytest.raises(InputError, match=said):
        spareopt.sweep(spareopt.read_instance("meta-2026"), over, folder=tmp_path / "new")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "/proc/x"], "error: /proc/x: can't be written: "),
        (["-o", "/proc/x", "--resume"], "error: /proc/x: can't be written: "),
        (["--resume"], "--resume needs -o FOLDER"),
        (["--dask", "tcp://127.0.0.1:1", "--processes", "2"], "does not go with --dask"),
        (["--over", "failures.rack.mtbf"], "--over: expected PATH"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: list[str], said: str) -> None:
    """Proves that such options end with exit code 2 and one message."""
    result = run(*COMMAND, *options)
    assert result.exit_code == 2 and said in result.output


def test_a_folder_of_another_question_is_refused(undisturbed: Path, tmp_path: Path) -> None:
    """Proves that a sweep is never mixed with another one: other axes, options, instance, or without --resume."""
    folder = tmp_path / "sweep"
    shutil.copytree(undisturbed, folder)
    before = {file: file.read_bytes() for file in folder.rglob("*.json*")}
    for command, said in (
        ([*COMMAND, "-o", str(folder)], "add --resume"),
        ([*COMMAND, "--over", "failures.rack.mtbf=1x,2x", "-o", str(folder), "--resume"], "the axes differ"),
        ([*COMMAND, "--seed", "1", "-o", str(folder), "--resume"], "the seed differs;"),
        ([*COMMAND, "--gap", "0.001", "-o", str(folder), "--resume"], "the options differ"),
        ([*COMMAND, "--set", "failures.rack.mtbf=2x", "-o", str(folder), "--resume"], "the instance, the scenarios"),
        ([*COMMAND, "-o", str(tmp_path), "--resume"], "already exists"),
    ):
        result = run(*command)
        assert result.exit_code == 2 and said in result.output, result.output
    assert {file: file.read_bytes() for file in folder.rglob("*.json*")} == before


def test_a_damaged_journal_is_refused_and_two_runs_are_kept_apart(undisturbed: Path, tmp_path: Path) -> None:
    """Proves that only the last line may be broken, and that a folder at work is left alone."""
    folder = tmp_path / "sweep"
    shutil.copytree(undisturbed, folder)
    journal = folder / "journal.jsonl"
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join([*lines[:3], lines[3][:50], *lines[4:]]) + "\n")
    result = run(*COMMAND, "-o", str(folder), "--resume")
    assert result.exit_code == 2 and "line 4 of journal.jsonl is damaged" in result.output
    with open_journal(tmp_path / "new", json.loads(lines[0]), [], False):
        result = run(*COMMAND, "-o", str(tmp_path / "new"), "--resume")
    assert result.exit_code == 2 and "another run is at work" in result.output


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file of a folder with its bytes, and every folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.mark.parametrize(
    ("journal", "said"),
    [
        (b"my diary, one precious line", "line 1 of journal.jsonl is not that of this sweep"),
        (b"my diary\nof two lines", "line 1 of journal.jsonl is not that of a sweep"),
        (b"{}\n", "line 1 of journal.jsonl is not that of a sweep"),
        (b"[1, 2]\n{}", "line 1 of journal.jsonl is not that of a sweep"),
        (b'{"sweep": 1, "instance": "0000', "line 1 of journal.jsonl is not that of this sweep"),
        (b"\xff\xfe\x00", "line 1 of journal.jsonl is not that of this sweep"),
        (b"\n", "line 1 of journal.jsonl is not that of a sweep"),
        (b"", "holds table.csv"),
        (b'{"swe', "holds table.csv"),
    ],
)
def test_resume_leaves_what_is_no_sweep_as_it_is(journal: bytes, said: str, tmp_path: Path) -> None:
    """Proves that no byte of a folder changes whose journal is anything else, and that none is added."""
    (tmp_path / "journal.jsonl").write_bytes(journal)
    (tmp_path / "table.csv").write_text("keep")
    before = contents(tmp_path)
    result = run(*COMMAND, "-o", str(tmp_path), "--resume")
    assert result.exit_code == 2 and said in result.output and contents(tmp_path) == before
    assert len(result.output.splitlines()) == 1


def test_a_first_line_not_written_whole_is_written_again(tmp_path: Path) -> None:
    """Proves that a sweep killed before its question was written, wholly or in part, starts anew."""
    command = ["sweep", "meta-2026", "--over", "failures.tray.mtbf=1x,2x", "-o"]
    assert run(*command, str(tmp_path / "whole")).exit_code == 0
    journal = (tmp_path / "whole" / "journal.jsonl").read_bytes()
    for kept in (0, 1, 40, journal.index(b"\n")):
        folder = tmp_path / str(kept)
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(journal[:kept])
        assert run(*command, str(folder), "--resume").exit_code == 0
        assert (folder / "journal.jsonl").read_bytes() == journal
        assert (folder / "table.json").read_bytes() == (tmp_path / "whole" / "table.json").read_bytes()


def replaced(line: str, **fields: Any) -> str:
    """A line of a journal with some fields of its own."""
    return json.dumps(json.loads(line) | fields)


@pytest.mark.parametrize(
    ("change", "number", "said"),
    [
        (lambda lines: [*lines, replaced(lines[1], point=99)], 17, "expected a point from 0 to 14, got 99"),
        (lambda lines: [*lines, replaced(lines[1], point=-1)], 17, "expected a point from 0 to 14, got -1"),
        (
            lambda lines: [lines[0], replaced(lines[1], point=1)],
            2,
            "expected failures.tray.mtbf=0.25x (2500.0 h), scenario=half-mtbf at point 1",
        ),
        (lambda lines: [lines[0], lines[1].replace("0.25x", "0.3x")], 2, "got failures.tray.mtbf=0.3x"),
        (lambda lines: [lines[0], lines[1].replace("5000.0", "5000.5")], 2, "got failures.tray.mtbf=0.25x (5000.5 h)"),
        (lambda lines: [lines[0], replaced(lines[1], inputs=[])], 2, "got no inputs"),
        (lambda lines: [*lines[:3], replaced(lines[2], why="?")], 4, "got a second one that says something else"),
        (lambda lines: [lines[0], replaced(lines[1], decisions=None)], 2, "is damaged"),
        (lambda lines: [lines[0], replaced(lines[1], status="failed")], 2, "is damaged"),
        (lambda lines: [lines[0], replaced(lines[1], status="infeasible")], 2, "is damaged"),
        (lambda lines: [lines[0], '{"again":3}'], 2, "expected a point of a line before it, got 3"),
        (lambda lines: [lines[0], '{"again":[3]}'], 2, "is damaged"),
        (lambda lines: [*lines[:2], "my diary"], 3, "is damaged"),
    ],
)
def test_a_line_that_is_not_of_this_grid_is_refused(
    change: Any, number: int, said: str, undisturbed: Path, tmp_path: Path
) -> None:
    """Proves that points outside the grid, with other inputs or told twice are refused by line, and nothing changes."""
    folder = tmp_path / "sweep"
    shutil.copytree(undisturbed, folder)
    lines = (folder / "journal.jsonl").read_text().splitlines()
    (folder / "journal.jsonl").write_text("\n".join(change(lines)) + "\n")
    before = contents(folder)
    result = run(*COMMAND, "-o", str(folder), "--resume")
    assert result.exit_code == 2 and f"{folder}: line {number} of journal.jsonl " in result.output
    assert said in result.output and "take " in result.output and contents(folder) == before


def test_a_note_of_ones_own_at_the_end_is_not_erased(undisturbed: Path, tmp_path: Path) -> None:
    """Proves that only what begins as a point does is taken for a line that was not written whole."""
    folder = tmp_path / "sweep"
    shutil.copytree(undisturbed, folder)
    with (folder / "journal.jsonl").open("a") as stream:
        stream.write("a note")
    before = contents(folder)
    result = run(*COMMAND, "-o", str(folder), "--resume")
    assert result.exit_code == 2 and "line 17 of journal.jsonl is not that of a point" in result.output
    assert contents(folder) == before


def test_points_without_their_plan_are_solved_again(undisturbed: Path, tmp_path: Path) -> None:
    """Proves that a plan that is missing, damaged or another point's is made anew, and the bytes end up the same."""
    folder = tmp_path / "sweep"
    shutil.copytree(undisturbed, folder)
    plans = folder / "plans"
    (plans / "0.json").unlink()
    (plans / "1.json").write_text("garbage")
    shutil.copy(plans / "3.json", plans / "2.json")
    changed = json.loads((plans / "4.json").read_text())
    changed["evaluation"]["goodput"] += 1
    (plans / "4.json").write_text(json.dumps(changed))
    found: list[int] = []
    instance = spareopt.read_instance("meta-2026")
    for known in ({11}, set[int]()):
        found.clear()
        spareopt.sweep(
            instance, OVER, folder=folder, resume=True, on_progress=lambda p: p.checking or found.append(p.known)
        )
        assert set(found) == known and same_files(folder, undisturbed)
    shutil.rmtree(plans)
    assert run(*COMMAND, "-o", str(folder), "--resume").exit_code == 0 and same_files(folder, undisturbed)


# --- a full disk


def errors_in(result: Result) -> int:
    """How many lines of errors there are, beside those that say where it stands."""
    return sum(not line.startswith("[") for line in result.stderr.splitlines())


def full_disk(patch: pytest.MonkeyPatch, when: Any) -> None:
    """A disk that is full for the files for which ``when`` holds, once a part of them is written."""
    fsync = os.fsync

    def fails(descriptor: int) -> None:
        if when(Path(f"/proc/self/fd/{descriptor}").readlink().name):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    patch.setattr("spareopt.sweep_folder.os.fsync", fails)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs the names of open files")
@pytest.mark.parametrize("name", ["table.csv", "table.json", "manifest.json"])
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_disk_full_of_tables_still_prints_the_sweep(
    undisturbed: Path, tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    """Proves that tables are there all or none, the sweep is printed all the same, and the command told finishes it."""
    folder = tmp_path / "sweep"
    shutil.copytree(undisturbed, folder)
    with pytest.MonkeyPatch.context() as patch:
        full_disk(patch, lambda file: file == f".{name}.part")
        result = CliRunner().invoke(cli.main, [*COMMAND, "-o", str(folder), "--resume", *options])
    assert result.exit_code == 2 and errors_in(result) == 1
    assert f"error: {folder}: can't be written: No space left on device; " in result.stderr
    assert "15 points" in result.stdout or Sweep.model_validate_json(result.stdout).points[14].point == 14
    assert {file.name for file in folder.iterdir()} == {"journal.jsonl", "plans"}
    again = re.search(r"--resume: spareopt (.* --resume)$", result.stderr, re.MULTILINE)
    assert again and run(*shlex.split(again[1])).exit_code == 0 and same_files(folder, undisturbed)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs the names of open files")
@pytest.mark.parametrize("name", [".4.json.part", "journal.jsonl"])
def test_a_disk_full_at_a_point_says_how_to_go_on(undisturbed: Path, tmp_path: Path, name: str) -> None:
    """Proves that a point that can't be kept ends it with one message, and that the command told finishes it."""
    folder = tmp_path / "my sweep"
    with pytest.MonkeyPatch.context() as patch:
        times: list[str] = []
        full_disk(patch, lambda file: file == name and (times.append(file) or len(times) == 4 or file[0] == "."))
        result = CliRunner().invoke(cli.main, [*COMMAND, "-o", str(folder)])
    assert result.exit_code == 2 and result.stdout == "" and errors_in(result) == 1
    assert f"error: {folder}: can't be written: No space left on device; " in result.stderr
    assert not list(folder.rglob("*.part")) and not (folder / "table.csv").exists()
    again = re.search(r"--resume: spareopt (.* --resume)$", result.stderr, re.MULTILINE)
    assert again and run(*shlex.split(again[1])).exit_code == 0 and same_files(folder, undisturbed)


def test_an_unfinished_sweep_is_not_read(tmp_path: Path) -> None:
    """Proves that there is no table of half a sweep, and that other files are refused."""
    with open_journal(tmp_path / "half", {}, [], False):
        pass
    with pytest.raises(InputError, match="not finished"):
        spareopt.read_sweep(tmp_path / "half")
    (tmp_path / "table.json").write_text("{}")
    with pytest.raises(InputError, match="not a sweep that spareopt wrote"):
        spareopt.read_sweep(tmp_path)


# --- interrupted, killed, side by side


KILLED = """
import os, signal, sys
from spareopt import cli, sweep_folder

append = sweep_folder._append
def dies(stream, text):
    if stream.tell() and len(open(stream.name).readlines()) == 6:
        stream.write(text.encode()[:100])
        stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    append(stream, text)

if __name__ == "__main__":
    sweep_folder._append = dies
    cli.main(sys.argv[1:])
"""


def started(script: Path, text: str, arguments: list[str]) -> subprocess.Popen[str]:
    script.write_text(text)
    return subprocess.Popen(
        [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_a_killed_sweep_is_resumed_to_the_same_bytes(undisturbed: Path, tmp_path: Path) -> None:
    """Proves that after kill -9 in the midst of a line, what was finished is kept, and the files end up the same."""
    folder = tmp_path / "sweep"
    with started(tmp_path / "script.py", KILLED, [*COMMAND, "-o", str(folder)]) as process:
        assert process.wait(60) == -signal.SIGKILL
    raw = (folder / "journal.jsonl").read_bytes()
    assert raw.count(b"\n") == 6 and not raw.endswith(b"\n") and not (folder / "table.csv").exists()
    solved: list[int] = []
    instance = spareopt.read_instance("meta-2026")
    spareopt.sweep(
        instance, OVER, folder=folder, resume=True, on_progress=lambda p: p.checking or solved.append(p.known)
    )
    assert set(solved) == {5} and same_files(folder, undisturbed)


def test_ctrl_c_keeps_what_is_finished_and_names_the_command_that_goes_on(undisturbed: Path, tmp_path: Path) -> None:
    """Proves that Ctrl-C ends with 130 and 4 points kept and printed, and that the command printed finishes."""
    folder = tmp_path / "my sweep"
    note = sweeps.Journal.note

    def stops(self: sweeps.Journal, point: Any, plan: Any) -> None:
        note(self, point, plan)
        if point.point == 3:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps.Journal, "note", stops)
        result = run(*COMMAND, "-o", str(folder))
    assert result.exit_code == 130 and "4 of 15 points, INTERRUPTED" in result.output
    command = re.search(r"Go on: spareopt (.*)$", result.output, re.MULTILINE)
    assert command and command[1].endswith("--resume")
    assert run(*shlex.split(command[1])).exit_code == 0 and same_files(folder, undisturbed)


INTERRUPTED = """
import os, signal, sys
from spareopt import cli, sweep_folder

note = sweep_folder.Journal.note
def interrupts(self, point, plan):
    note(self, point, plan)
    self.noted = getattr(self, "noted", 0) + 1
    if self.noted == 4:
        os.killpg(0, signal.SIGINT)  # as a terminal does it

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background inherits "ignore"
    sweep_folder.Journal.note = interrupts
    cli.main(sys.argv[1:])
"""


@pytest.mark.heavy
def test_ctrl_c_ends_worker_processes_too(undisturbed: Path, tmp_path: Path) -> None:
    """Proves on a program with two processes that Ctrl-C ends it with 130 and the points that are finished."""
    folder = tmp_path / "my sweep"
    arguments = [*COMMAND, "-o", str(folder), "--processes", "2"]
    with started(tmp_path / "script.py", INTERRUPTED, arguments) as process:
        text, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors
    assert re.search("[4-6] of 15 points, INTERRUPTED", text)
    command = re.search(r"Go on: spareopt (.*)$", text, re.MULTILINE)
    assert command and command[1].endswith("--resume")
    result = run(*shlex.split(command[1].replace("--processes 2 ", "")))
    assert result.exit_code == 0 and same_files(folder, undisturbed)


@pytest.mark.heavy
def test_a_killed_worker_costs_nothing(undisturbed: Path, tmp_path: Path) -> None:
    """Proves that two worker processes, one of them killed, give the same files as one process."""
    killed: list[int] = []

    def kill(progress: sweeps.SweepProgress) -> None:
        if progress.done >= 2 and not progress.checking and not killed:
            child = multiprocessing.active_children()[0]
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)
            killed.append(child.pid)

    instance = spareopt.read_instance("meta-2026")
    spareopt.sweep(instance, OVER, processes=2, folder=tmp_path / "sweep", on_progress=kill)
    assert killed and same_files(tmp_path / "sweep", undisturbed)


@contextmanager
def dask_cluster(workers: int) -> Iterator[Any]:
    """A cluster of worker processes; they are forked off a server that has loaded all once, which saves seconds."""
    distributed = pytest.importorskip("distributed")
    import dask  # noqa: PLC0415

    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    distributed.utils.get_mp_context()
    multiprocessing.get_context("forkserver").set_forkserver_preload(["distributed", "spareopt.sweeps"])
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        yield cluster


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_that_loses_a_worker_gives_the_same(undisturbed: Path, tmp_path: Path) -> None:
    """Proves on three real workers, reached by their address, that one killed in the midst changes no byte, and
    that workers of other versions are refused.
    """
    with dask_cluster(3) as cluster:
        killed: list[int] = []
        note = sweeps.Journal.note

        def kills(self: sweeps.Journal, point: Any, plan: Any) -> None:
            note(self, point, plan)
            if not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("spareopt.clusters.versions", lambda: {"highspy": "0.1"})
            result = run(*COMMAND, "--dask", cluster.scheduler_address)
            assert result.exit_code == 2 and "instead of 0.1; install the same versions there" in result.output
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sweeps.Journal, "note", kills)
            result = run(*COMMAND, "-o", str(tmp_path / "sweep"), "--dask", cluster.scheduler_address)
    assert result.exit_code == 0, result.output
    assert killed and same_files(tmp_path / "sweep", undisturbed)


@pytest.mark.filterwarnings("ignore")
def test_no_cluster_at_an_address_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that a wrong address ends with exit code 2 within the time a cluster has to answer."""
    pytest.importorskip("distributed")
    monkeypatch.setattr("spareopt.clusters.CONNECT", 0.3)
    result = run(*COMMAND, "--dask", "tcp://127.0.0.1:1")
    assert result.exit_code == 2 and "no Dask scheduler answers there" in result.output


@pytest.mark.parametrize("address", ["nonsense", "", "foo://x", "tcp://", "tcp://127.0.0.1:nonsense"])
def test_what_is_no_address_makes_no_client(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that a malformed address is refused before there is a client that could complain when it goes."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "Client", None)
    result = run(*COMMAND, "--dask", address)
    assert result.exit_code == 2 and "expected the address of a Dask scheduler such as tcp://" in result.output


@pytest.mark.parametrize(
    ("options", "field"),
    [({"time_limit": value}, "time_limit") for value in (float("nan"), -1, "5", True)]
    + [({"seed": value}, "seed") for value in (-1, 2**31, 0.5, None)],
)
def test_time_limits_and_seeds_that_are_none_are_refused(options: dict[str, Any], field: str) -> None:
    """Proves that a sweep takes no time limit or seed that means nothing, and names it."""
    with pytest.raises(InputError, match=f"sweep: {field}: got .*, expected"):
        spareopt.sweep(spareopt.read_instance("meta-2026"), OVER, **options)


def test_a_cluster_that_is_gone_is_one_message_and_keeps_what_is_finished(tmp_path: Path) -> None:
    """Proves that an executor that gives its tasks up ends with a message that says how to go on."""

    class Gone(ThreadPoolExecutor):
        given = 0

        def submit(self, *arguments: Any, **options: Any) -> Future[Any]:
            self.given += 1
            if self.given == 1:
                return super().submit(*arguments, **options)
            future: Future[Any] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    instance = spareopt.read_instance("meta-2026")
    with Gone(1) as executor, pytest.raises(WorkerError, match=r"scheduler of a cluster is gone; .* resume it"):
        spareopt.sweep(instance, OVER, executor=executor, folder=tmp_path / "sweep")
    assert spareopt.sweep(instance, OVER, folder=tmp_path / "sweep", resume=True)["status"].eq("proven").all()


# --- answers that are no plans


def test_points_without_proof_or_with_an_error_are_told_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that a solver's failure at one point is a row and exit code 4, and that --resume solves that one again."""
    answer, asked = what_if.answer, []

    def fails(case: WhatIf, *arguments: Any, **options: Any) -> Answer:
        asked.append(case.changes)
        if len(asked) == 2:
            raise SolverError("HiGHS ended with error")
        return answer(case, *arguments, **options)

    monkeypatch.setattr(what_if, "answer", fails)
    command = ["sweep", "meta-2026", "--over", "failures.tray.mtbf=0.5x,1x,2x", "-o", str(tmp_path / "sweep")]
    result = run(*command)
    assert result.exit_code == 4 and "2 proven" in result.output and "1 FAILED" in result.output
    assert "Failed at failures.tray.mtbf 1x: HiGHS ended with error" in result.output
    assert list(spareopt.read_sweep(tmp_path / "sweep")["status"]) == ["proven", "failed", "proven"]
    assert run(*command, "--resume").exit_code == 0
    assert len(asked) == 4 and asked[3] == {"failures.tray.mtbf": "1x"}


def test_a_time_limit_is_an_answer_with_exit_code_4(tmp_path: Path) -> None:
    """Proves that a point without a plan in time is a row, and is not solved again."""
    command = [
        "sweep",
        "gb200-4x256",
        "--over",
        "limits.capital=0.95x",
        "--time-limit",
        "1e-9",
        "-o",
        str(tmp_path / "s"),
    ]
    assert run(*command).exit_code == 4
    assert spareopt.read_sweep(tmp_path / "s")["status"][0] in ("no plan in time", "limit reached")
    assert run(*command, "--resume", "--json").exit_code == 4


@pytest.mark.parametrize("with_a_plan_in_hand", [False, True])
def test_answers_come_in_their_order_and_say_what_was_interrupted(
    monkeypatch: pytest.MonkeyPatch, with_a_plan_in_hand: bool
) -> None:
    """Proves that answers side by side are those of one process, in order, and that Ctrl-C answers all that is left."""
    instance = spareopt.read_instance("meta-2026")
    asked = what_ifs(instance, [{"failures.tray.mtbf": f"{factor}x"} for factor in (0.5, 1, 2)])
    with ThreadPoolExecutor(3) as executor:
        found = list(answers(asked, executor=executor))
    assert found == list(answers(asked)) and [answer.changes for answer in found] == [case.changes for case in asked]

    answer = what_if.answer

    def stops(case: WhatIf, *arguments: Any, **options: Any) -> Answer:
        if case is asked[1] and with_a_plan_in_hand:
            return Answer(case.changes, "interrupted")
        if case is asked[1]:
            raise KeyboardInterrupt
        return answer(case, *arguments, **options)

    monkeypatch.setattr(what_if, "answer", stops)
    assert [answer.status for answer in answers(asked)] == ["proven", "interrupted", "interrupted"]


# --- JSON and documentation


def test_json_is_the_document_of_the_folder(undisturbed: Path) -> None:
    """Proves that --json prints table.json and nothing else, and that it reads back to the same sweep."""
    result = CliRunner().invoke(cli.main, [*COMMAND, "-o", str(undisturbed), "--resume", "--json"])
    assert result.stdout == (undisturbed / "table.json").read_text()
    sweep = load_sweep(undisturbed)
    assert sweep.to_json() == result.stdout and sweep.schema_version == 1


def test_page_has_every_field_and_column(undisturbed: Path) -> None:
    """Proves that docs/what-if.md lists the fields of a sweep, the columns of its table and the files of its folder."""
    known = models_in(spareopt.Plan)
    for model in models_in(Sweep):
        if model not in known:
            assert [row[0] for row in table("what-if.md", model.__name__)] == [
                f"`{name}`" for name in model.model_fields
            ]
    text = (ROOT / "docs" / "what-if.md").read_text(encoding="utf-8")
    money = [column.format(money="usd") for column in SCORES.values()]
    for name in (*money, *DECISIONS.values(), *TOTALS.values(), *(file.name for file in undisturbed.iterdir())):
        assert f"`{name}`" in text, name
    fixed = [
        column for column in spareopt.read_sweep(undisturbed).columns if "." not in column and "loss_" not in column
    ]
    assert all(f"`{column}`" in text for column in fixed if column != "scenario")


# --- at full size, by hand


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
def test_two_hundred_points_killed_interrupted_and_on_dask(tmp_path: Path) -> None:
    """Proves on 200 points that kill -9, Ctrl-C and a lost Dask worker all end with the bytes of a run undisturbed."""
    folders = {name: tmp_path / name for name in ("undisturbed", "killed", "interrupted", "dask")}
    began = sum(os.times()[:4])
    assert run(*BIG, "-o", str(folders["undisturbed"]), "--processes", "2").exit_code == 0
    seconds = sum(os.times()[:4]) - began  # of all processes: what others do on the machine does not count
    print(f"200 points: {seconds:.0f} s of CPU")
    for name, sign in (("killed", signal.SIGKILL), ("interrupted", signal.SIGINT)):
        script = "from spareopt import cli\nimport signal, sys\nif __name__ == '__main__':\n"
        script += "    signal.signal(signal.SIGINT, signal.default_int_handler)\n    cli.main(sys.argv[1:])\n"
        arguments = [*BIG, "-o", str(folders[name]), "--processes", "2"]
        with started(tmp_path / "script.py", script, arguments) as process:
            journal = folders[name] / "journal.jsonl"
            while not journal.exists() or journal.read_bytes().count(b"\n") < 60:
                time.sleep(0.05)
            if sign == signal.SIGKILL:
                process.kill()
            else:
                os.killpg(process.pid, sign)
            process.communicate(timeout=60)
        assert process.returncode == (-signal.SIGKILL if sign == signal.SIGKILL else 130)
        assert not (folders[name] / "table.csv").exists()
        assert run(*BIG, "-o", str(folders[name]), "--resume", "--processes", "2").exit_code == 0
    with dask_cluster(3) as cluster, ThreadPoolExecutor(1) as killer:

        def kill() -> None:
            journal = folders["dask"] / "journal.jsonl"
            while not journal.exists() or journal.read_bytes().count(b"\n") < 60:
                time.sleep(0.05)
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

        done = killer.submit(kill)
        assert run(*BIG, "-o", str(folders["dask"]), "--dask", cluster.scheduler_address).exit_code == 0
        done.result()
    reference = {
        p.relative_to(folders["undisturbed"]): p.read_bytes() for p in folders["undisturbed"].rglob("*") if p.is_file()
    }
    for name, folder in folders.items():
        found = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        assert found.keys() == reference.keys()
        assert all(found[p] == reference[p] for p in reference if p.name not in TIMED), name
    assert seconds < 180, "more than three minutes on one core"
