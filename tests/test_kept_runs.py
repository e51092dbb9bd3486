"""Runs folders: asked twice is made once, the best run stays whoever is at work, and nobody's file is lost."""

from __future__ import annotations

import errno
import os
import random
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from click.testing import CliRunner

import spareopt
from spareopt import cli, kept_runs, once
from spareopt.errors import InfeasibleError, InputError
from spareopt.folders import read_result
from spareopt.instance import Instance
from spareopt.kept_runs import SCRATCH, Kept, NotKeptError, Question, clean, kept, run_name
from spareopt.manifest import MANIFEST, Manifest, read_manifest, write_run
from spareopt.record import Result

ROOT = Path(__file__).parents[1]


class Small(Result):
    """A result that takes no time to make."""

    status: Literal["proven", "done", "limit reached", "interrupted"] = "proven"
    gap: float = 0.0
    by: str = ""


INSTANCE = spareopt.read_instance("academic-1k")
QUESTION = Question("small", INSTANCE, {"depth": 3}, 0, {"spareopt": "0"})


def write_small(result: Small, folder: Path) -> Path:
    manifest = Manifest(
        kind="small", result="small.json", instance=INSTANCE.name, input_hash=INSTANCE.input_hash(),
        options={"depth": 3}, seed=0, versions={"spareopt": "0"}, status=result.status, gap=result.gap,
    )  # fmt: skip
    return write_run(folder, manifest, INSTANCE, lambda path: _fill(result, path))


def _fill(result: Small, folder: Path) -> None:
    (folder / "small.json").write_text(result.to_json())


def read_small(folder: Path) -> Small:
    return read_result(Small, folder, "small.json", "a small result")


def keep(runs: Path, result: Small, **changes: Any) -> Kept[Small]:
    functions: dict[str, Any] = {"make": lambda: result, "write": write_small, "read": read_small}
    return kept(runs, QUESTION, **functions | changes)


def never(*_: object, **__: object) -> Any:
    raise AssertionError("made again")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


NAME = run_name(QUESTION)


# --- once


def test_a_solve_is_made_once_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that the second call gives the same document without a solve, and that another question is solved."""
    first = spareopt.solve_once(INSTANCE, tmp_path / "runs")
    assert not first.found and first.result.to_json() == spareopt.solve(INSTANCE).to_json()
    assert re.fullmatch(r"academic-1k-solve-[0-9a-f]{12}", first.folder.name)
    monkeypatch.setattr(once, "solve", never)
    second = spareopt.solve_once(INSTANCE, tmp_path / "runs")
    assert second.found and second.result.to_json() == first.result.to_json() and second.folder == first.folder
    for options in ({"gap": 1e-3}, {"seed": 1}, {"model": "first-order"}, {"time_limit": 9.0}):
        with pytest.raises(AssertionError, match="made again"):
            spareopt.solve_once(INSTANCE, tmp_path / "runs", **options)  # type: ignore[arg-type]
    changed = spareopt.read_instance("academic-1k", overrides={"power.pue": 1.25})
    with pytest.raises(AssertionError, match="made again"):
        spareopt.solve_once(changed, tmp_path / "runs")


def test_a_simulation_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves the same of a simulation: plan, seed and options are the question, the number of processes is not."""
    plan = spareopt.solve(INSTANCE).decisions
    options: dict[str, Any] = {"replications": 2, "years": 0.01}
    first = spareopt.simulate_once(INSTANCE, plan, tmp_path, **options)
    monkeypatch.setattr("spareopt.simulation.simulate.simulate", never)
    second = spareopt.simulate_once(INSTANCE, plan, tmp_path, processes=2, **options)
    assert (first.found, second.found) == (False, True) and second.result == first.result
    for changes in ({"seed": 1}, {"years": 0.02}, {"warm_up": "1 h"}, {"confidence": "90%"}):
        with pytest.raises(AssertionError, match="made again"):
            spareopt.simulate_once(INSTANCE, plan, tmp_path, **options | changes)
    other = plan.model_copy(update={"zones": (plan.zones[0].model_copy(update={"inter_block_spares": 1}),)})
    with pytest.raises(AssertionError, match="made again"):
        spareopt.simulate_once(INSTANCE, other, tmp_path, **options)


def test_the_command_says_where_it_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that --runs prints the same document twice, says on stderr that it was found, and ends the same way."""
    monkeypatch.chdir(tmp_path)
    command = ["solve", "academic-1k", "--runs", "runs"]
    first = CliRunner().invoke(cli.main, [*command, "--json"])
    second = CliRunner().invoke(cli.main, [*command, "--json"])
    text = CliRunner().invoke(cli.main, command)
    assert first.exit_code == second.exit_code == text.exit_code == 0
    assert first.stdout == second.stdout == next(Path("runs").glob("*/plan.json")).read_text()
    found = r"Found in runs/academic-1k-solve-[0-9a-f]{12}, made on [-\d]{10} [:\d]{8} UTC, and not made again"
    assert first.stderr == "" and re.fullmatch(found + "\n", second.stderr)
    assert re.search(found + r"\. Next: spareopt neighbours academic-1k --plan runs/academic-1k-solve-", text.stdout)
    played = [*command[1:], "--replications", "2", "--years", "0.01"]
    for words in ("Written to runs/academic-1k-simulate-", "Found in runs/academic-1k-simulate-"):
        assert words in CliRunner().invoke(cli.main, ["simulate", *played]).stdout
    both = CliRunner().invoke(cli.main, [*command, "-o", "plan"])
    assert both.exit_code == 2 and "-o does not go with --runs" in both.stderr


def test_an_infeasible_instance_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that a proof that there is no plan is kept and found like a plan, with the same message and exit code."""
    command = ["solve", "academic-1k", "--set", "limits.floor=1", "--runs", str(tmp_path)]
    first = CliRunner().invoke(cli.main, command)
    monkeypatch.setattr(once, "solve", never)
    second = CliRunner().invoke(cli.main, command)
    assert (first.exit_code, first.output) == (second.exit_code, second.output) == (3, first.output)
    (folder,) = tmp_path.iterdir()
    assert names(folder) == ["instance.json", "manifest.json"]
    manifest = read_manifest(folder)
    assert (manifest.status, manifest.result) == ("infeasible", None) and "the least possible is 128" in manifest.why


# --- which run stays


def test_a_run_gives_way_to_a_better_one_only(tmp_path: Path) -> None:
    """Proves that a run that is not final is made again, that the better one stays, and that a final one is found."""
    interrupted, loose = Small(status="interrupted", gap=0.5), Small(status="limit reached", gap=0.2)
    tight, looser = Small(status="limit reached", gap=0.1), Small(status="limit reached", gap=0.3)
    stays = [(interrupted, interrupted), (loose, loose), (tight, tight), (looser, tight), (interrupted, tight)]
    for made, best in stays:
        run = keep(tmp_path, made)
        assert not run.found and run.result == read_small(tmp_path / NAME) == best
    assert keep(tmp_path, Small(by="last")).result.by == "last"
    assert keep(tmp_path, Small(), make=never).result.by == "last"
    assert names(tmp_path) == [NAME]


def test_a_changed_run_is_made_again_and_laid_aside(tmp_path: Path) -> None:
    """Proves that a run with a file changed or missing, or of another question, is not found and is not lost."""
    damages: list[Callable[[Path], object]] = [
        lambda run: (run / "small.json").write_text("{}"),
        lambda run: (run / "instance.json").unlink(),
        lambda run: (run / MANIFEST).write_text("{}"),
        lambda run: (run / MANIFEST).write_text(
            (run / MANIFEST).read_text().replace('"question": "', '"question": "0')
        ),
    ]
    for number, damage in enumerate(damages, 1):
        keep(tmp_path, Small(by=f"{number}"))
        damage(tmp_path / NAME)
        again = keep(tmp_path, Small(by=f"again {number}"))
        assert not again.found and again.result.by == f"again {number}"
        assert names(tmp_path) == [NAME, *(f"{NAME}.changed-{n}" for n in range(1, number + 1))]
        (tmp_path / NAME / MANIFEST).unlink()
        for file in (tmp_path / NAME).iterdir():
            file.unlink()


def test_what_others_put_into_a_run_is_not_lost(tmp_path: Path) -> None:
    """Proves that a note beside the files of a run survives when a better run takes its place."""
    keep(tmp_path, Small(status="interrupted"))
    (tmp_path / NAME / "notes.txt").write_text("mine")
    keep(tmp_path, Small())
    assert names(tmp_path) == [NAME, f"{NAME}.changed-1"]
    assert (tmp_path / f"{NAME}.changed-1" / "notes.txt").read_text() == "mine"


def test_a_run_that_can_not_be_written_gives_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that a full disk, or a file in the run's place, costs the folder and not the result; the old run stays."""
    keep(tmp_path, Small(status="interrupted"))

    def full(*_: object) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(NotKeptError, match="can't be written: No space left on device") as raised:
        keep(tmp_path, Small(by="new"), write=full)
    assert raised.value.result.by == "new" and read_small(tmp_path / NAME).status == "interrupted"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / NAME).write_text("mine")
    with pytest.raises(NotKeptError, match="can't be written"):
        keep(tmp_path / "other", Small())
    assert (tmp_path / "other" / NAME).read_text() == "mine" and names(tmp_path / "other") == [NAME]
    monkeypatch.setattr(once, "write_plan", full)
    result = CliRunner().invoke(cli.main, ["solve", "academic-1k", "--json", "--runs", str(tmp_path)])
    assert result.exit_code == 2 and spareopt.Plan.model_validate_json(result.stdout).certificate.status == "proven"
    assert "can't be written: No space left on device" in result.stderr


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_interrupt_between_two_renames_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Proves that Ctrl-C at any rename leaves a whole run in its place: the new one, or the one it was to replace."""
    keep(tmp_path, Small(status="limit reached", gap=0.1))
    rename, calls = Path.rename, 0

    def interrupted(self: Path, target: Path) -> Path:
        nonlocal calls
        if NAME in (self.name, Path(target).name) and "whole" not in self.name:
            calls += 1
            if calls == at:
                raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        keep(tmp_path, Small())
    assert names(tmp_path) == [NAME] and read_small(tmp_path / NAME).status in ("limit reached", "proven")


# --- several at once


pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def forked(work: Callable[[int], object], number: int) -> list[int]:
    """The wait statuses of so many processes that do the work, each with its number, at once."""
    started = []
    for me in range(number):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(me)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        started.append(child)
    return [os.waitpid(child, 0)[1] for child in started]


def together(folder: Path, me: int, number: int) -> None:
    """Wait until so many processes are here."""
    (folder / f"ready-{me}").touch()
    while not all((folder / f"ready-{other}").exists() for other in range(number)):
        time.sleep(0.001)


def test_two_that_solved_at_once_keep_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that two processes that both solved before either has written end with one whole run and the same plan."""
    plan, runs = spareopt.solve(INSTANCE), tmp_path / "runs"

    def work(me: int) -> None:
        def solved(*_: object, **__: object) -> spareopt.Plan:
            together(tmp_path, me, 2)
            return plan

        monkeypatch.setattr(once, "solve", solved)
        run = spareopt.solve_once(INSTANCE, runs)
        assert run.result.to_json() == plan.to_json() and not run.found

    assert forked(work, 2) == [0, 0]
    (run,) = runs.iterdir()
    assert (run / "plan.json").read_text() == plan.to_json() and read_manifest(run).status == "proven"


@pytest.mark.heavy
def test_two_commands_at_once_print_the_same(tmp_path: Path) -> None:
    """Proves the same of whole commands, five times over."""
    for number in range(5):
        command = [sys.executable, "-m", "spareopt", "solve", "academic-1k", "--json", "--runs", f"runs-{number}"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        processes = [
            subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        outputs = [process.communicate()[0] for process in processes]
        assert [process.returncode for process in processes] == [0, 0]
        (run,) = (tmp_path / f"runs-{number}").iterdir()
        assert outputs == [(run / "plan.json").read_text()] * 2


def test_the_best_run_stays_whoever_is_at_work(tmp_path: Path) -> None:
    """Proves that of 4 × 60 runs of one question, put in their place by four processes at once, the best stays.

    Each is shown a run as good as its own, or better; none is lost between two renames.
    """
    runs = tmp_path / "runs"
    runs.mkdir()
    gaps = [[random.Random(me).uniform(0.001, 1.0) for me in range(60 * me, 60 * me + 60)] for me in range(4)]

    def work(me: int) -> None:
        together(tmp_path, me, 4)
        for gap in gaps[me]:
            assert keep(runs, Small(status="limit reached", gap=gap)).result.gap <= gap

    assert forked(work, 4) == [0] * 4
    assert names(runs) == [NAME] and read_small(runs / NAME).gap == min(map(min, gaps))


@pytest.mark.parametrize("when", ["while it writes", "between two renames"])
def test_a_killed_process_leaves_nothing_that_counts(tmp_path: Path, when: str) -> None:
    """Proves that kill -9 leaves no half run: it is in a scratch folder, which is no run and can be cleaned away.

    Between two renames, where the old run is taken and the new one is whole, cleaning puts the new one in its place.
    """
    keep(tmp_path, Small(status="interrupted"))
    rename = Path.rename

    def half(_: Small, folder: Path) -> Path:
        folder.mkdir()
        (folder / "small.json").write_text("{")
        os.kill(os.getpid(), signal.SIGKILL)
        return folder

    def taken(self: Path, target: Path) -> None:
        rename(self, target)
        if self == tmp_path / NAME:
            os.kill(os.getpid(), signal.SIGKILL)

    def work(_: int) -> None:
        if when == "between two renames":
            Path.rename = taken  # type: ignore[method-assign, assignment]
        keep(tmp_path, Small(by="killed"), write=half if when == "while it writes" else write_small)

    assert forked(work, 1) == [signal.SIGKILL]
    left = [name for name in names(tmp_path) if name.startswith(SCRATCH)]
    assert len(left) == 1 and names(tmp_path) == [*left, *([NAME] if when == "while it writes" else [])]
    assert clean(tmp_path) == ([], []), "a scratch folder of a process at work is left alone"
    saved, gone = clean(tmp_path, older_than=0.0)
    assert [path.name for path in gone] == left and names(tmp_path) == [NAME]
    assert read_small(tmp_path / NAME).by == ("killed" if saved else "") and bool(saved) == (when != "while it writes")
    again = keep(tmp_path, Small(by="again"))
    assert again.found == bool(saved) and names(tmp_path) == [NAME]


def test_cleaning_waits_for_an_hour(tmp_path: Path) -> None:
    """Proves that the newest change of anything within decides whether a scratch folder is left over."""
    (tmp_path / f"{SCRATCH}x" / "whole").mkdir(parents=True)
    file = tmp_path / f"{SCRATCH}x" / "whole" / "plan.json"
    file.touch()
    old = time.time() - kept_runs.STALE - 60
    os.utime(file, (old, old))
    assert clean(tmp_path) == ([], [])
    for path in (file.parent, file.parent.parent):
        os.utime(path, (old, old))
    assert clean(tmp_path) == ([], [file.parent.parent]) and not list(tmp_path.iterdir())


def test_cleaning_goes_below_but_not_into_a_run(tmp_path: Path) -> None:
    """Proves that scratch is found wherever runs are listed from, and nothing else is taken."""
    inner = keep_in(tmp_path / "teams" / "a")
    mine = [tmp_path / ".notes" / f"{SCRATCH}x", inner / f"{SCRATCH}x"]
    left = [tmp_path / "teams" / f"{SCRATCH}1", tmp_path / "teams" / "a" / f"{SCRATCH}2"]
    for path in (*mine, *left):
        path.mkdir(parents=True)
    assert clean(tmp_path, older_than=0.0) == ([], sorted(left))
    assert all(path.is_dir() for path in mine)


def keep_in(runs: Path) -> Path:
    """A run in a folder that is made for it."""
    runs.mkdir(parents=True)
    return keep(runs, Small()).folder


# --- refusals


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("", "expected the name of a folder for runs"),
        ("nul\0l", "expected the name of a folder for runs"),
        ("missing/runs", "does not exist; make it first"),
        ("file", "is a file; name a folder for runs"),
        ("a-run", "is itself a run; name the folder that holds runs"),
        ("x" * 300, "can't be a folder for runs: File name too long"),
    ],
)
def test_hopeless_runs_folders_are_refused_before_the_solve(
    folder: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that a solve of an hour is not lost to a typing error: one message, before it starts."""
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("a-run").mkdir()
    Path("a-run", MANIFEST).touch()
    with pytest.raises(InputError, match=message):
        keep(Path(folder), Small(), make=never) if folder != "" else kept(folder, QUESTION, never, never, never)


def test_an_infeasible_answer_stands_where_it_can_not_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that the proof is told, with the reason why it is not kept."""

    def full(*_: object) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    def none() -> Small:
        raise InfeasibleError("limits.floor: too few")

    monkeypatch.setattr(kept_runs, "write_run", full)
    with pytest.raises(InfeasibleError, match=r"too few\n.*can't be written: No space left on device"):
        keep(tmp_path, Small(), make=none)


def test_names_of_runs_are_those_of_their_questions() -> None:
    """Proves that any part of a question makes another name, and that a name with spaces is no trouble."""
    spaced = spareopt.read_instance(INSTANCE.resolved() | {"name": "my cluster"})
    asked = [
        QUESTION,
        Question("other", INSTANCE, {"depth": 3}, 0, {"spareopt": "0"}),
        Question("small", spaced, {"depth": 3}, 0, {"spareopt": "0"}),
        Question("small", INSTANCE, {"depth": 4}, 0, {"spareopt": "0"}),
        Question("small", INSTANCE, {"depth": 3}, 1, {"spareopt": "0"}),
        Question("small", INSTANCE, {"depth": 3}, 0, {"spareopt": "1"}),
        Question("small", _set_to_itself(INSTANCE), {"depth": 3}, 0, {"spareopt": "0"}),
    ]
    assert len({run_name(question) for question in asked}) == len(asked)
    assert run_name(asked[2]).startswith("my-cluster-small-")


def _set_to_itself(instance: Instance) -> Instance:
    return spareopt.read_instance(instance.name, overrides={"power.pue": instance.power.pue})
