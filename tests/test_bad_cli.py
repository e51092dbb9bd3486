"""Hostile use of the command line: one clear message, the documented exit code, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spareopt.cli import main

SOLVE = ("solve", "academic-1k")
ZONE = (
    "{zone: cluster, design: hgx-h100, racks: 128, intra_block_spares: 0, inter_block_spares: 5, repair_plan: day-shift"
)
GOOD = f"zones: [{ZONE}}}]\ncheckpoint_plan: hourly\n"


def refused(*args: str, code: int = 2) -> str:
    """The message of a command that must fail: on stderr alone, as JSON with the same text, and no traceback."""
    result: Result = CliRunner().invoke(main, list(args))
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stdout) == (code, "")
    assert "Traceback" not in result.stderr
    assert "internal error" not in result.stderr
    document = json.loads(CliRunner().invoke(main, [*args, "--json"]).stdout)
    assert document["exit_code"] == code
    message: str = document["message"]
    assert message.splitlines()[0].encode(errors="replace").decode() in result.stderr
    return message


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--gap", "nan", "not a finite number"),
        ("--gap", "inf", "not in the range"),
        ("--gap", "-1", "not in the range"),
        ("--gap", "1", "not in the range"),
        ("--gap", "", "not a valid float"),
        ("--gap", "1e-4 %", "not a valid float"),
        ("--time-limit", "-1", "not in the range"),
        ("--time-limit", "0", "not in the range"),
        ("--time-limit", "nan", "not a finite number"),
        ("--time-limit", "inf", "not a finite number"),
        ("--time-limit", "10 s", "not a valid float"),
        ("--seed", "-1", "not in the range"),
        ("--seed", "99999999999999999999", "not in the range"),
        ("--seed", "1.5", "not a valid integer"),
        ("--seed", "💥", "not a valid integer"),
        ("--model", "perfect", "is not one of 'exact', 'first-order'"),
    ],
)
def test_odd_numbers_are_refused(option: str, value: str, message: str) -> None:
    """Proves that no option takes NaN, infinity, text or a number out of range; click itself lets NaN through."""
    assert message in refused(*SOLVE, option, value)


@pytest.mark.parametrize("options", [("--gap", "0"), ("--seed", "2147483647"), ("--time-limit", "1e300")])
def test_extreme_but_sound_options_work(options: tuple[str, str]) -> None:
    """Proves that the ends of the allowed ranges solve and are proven."""
    result = CliRunner().invoke(main, [*SOLVE, "--json", *options])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["certificate"]["status"] == "proven"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("", "expected PATH=VALUE"),
        ("=", "expected PATH=VALUE"),
        (" =3", "expected PATH=VALUE"),
        ("limits.capital", "expected PATH=VALUE"),
        ("...=3", "expected a path such as limits.capital"),
        ("nowhere=3", "nowhere: unknown field"),
        ("zones.nowhere.racks=3", "no item 'nowhere'"),
        ("name=ünï", "expected a name of letters"),
        ("name=a\x01b", "expected a name of letters"),
        ("name=", "required, but missing"),
        ("limits=0.5x", "expected a number to multiply"),
        ("limits.yearly_cost=-0.5x", "expected a multiple above zero"),
        ("limits.yearly_cost=1e400 $ per year", "expected a finite number"),
        ("limits.yearly_cost=nan $ per year", "expected an amount of money"),
        ("limits.yearly_cost=💥", "expected an amount of money"),
        ("zones=[]", "expected at least one item"),
        ("zones=[[[[", "zones"),
        ("zones.0.count=99999999999999999999", "zones.0.count: expected a smaller whole number"),
        ("notes=[&a [*a]]", "notes"),
        ("notes=!!python/object {}", "notes"),
        ("objective.kind=win", "objective.kind"),
        ("power.pue=1e999", "power.pue"),
    ],
)
def test_odd_settings_are_refused(setting: str, message: str) -> None:
    """Proves that every odd --set names the field it was meant for and what was expected."""
    assert message in refused(*SOLVE, "--set", setting)


def test_a_field_set_twice_is_refused() -> None:
    """Proves that of two settings of one field neither is dropped unsaid: 0.5x twice must not become 0.5x."""
    twice = ("--set", "failures.tray.mtbf=0.5x", "--set", " failures.tray.mtbf =0.5x")
    assert "failures.tray.mtbf: given twice" in refused(*SOLVE, *twice)


@pytest.mark.parametrize("scenario", ["", "no-such", "💥", "half-mtbf,double-mtbf"])
def test_unknown_scenarios_are_refused(scenario: str) -> None:
    """Proves that an unknown scenario lists the known ones."""
    assert "the instance has half-mtbf" in refused(*SOLVE, "--scenario", scenario)


@pytest.mark.parametrize("source", ["", ".", "no-such", "a" * 5000, "/dev/null", "💥", "--", "\udcff"])
def test_odd_instances_are_refused(source: str) -> None:
    """Proves that folders, devices, names too long and bytes that are no text are all refused with a message."""
    args = ("solve", "--", source) if source == "--" else ("solve", source)
    if source == "--":
        result = CliRunner().invoke(main, list(args))
        assert result.exit_code == 2
        assert "no such file or shipped instance" in result.stderr
    else:
        assert refused(*args)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("", "expected the name of a new folder"),
        (" ", "expected the name of a new folder"),
        (".", "already exists"),
        ("..", "already exists"),
        ("/", "already exists"),
        ("file", "already exists"),
        ("full", "already exists"),
        ("link", "is a link"),
        ("dangling", "is a link"),
        ("missing/plan", "parent folder"),
        ("file/plan", "parent folder"),
        ("a" * 300, "File name too long"),
    ],
)
def test_odd_output_folders_are_refused_before_the_solve(
    output: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that -o is checked before any work, and that nothing is touched or left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("spareopt.optimise.solve", lambda *_, **__: pytest.fail("solved first"))
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    (tmp_path / "link").symlink_to("full")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert message in refused(*SOLVE, "-o", output)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "file", "full", "link"]
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["file"]


@pytest.mark.parametrize("output", ["ünï 💥", "-x", "a b;rm"])
def test_odd_but_possible_output_folders_work(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that any name a folder can have is taken, and that a shell can read the next command printed."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, [*SOLVE, "-o", output])
    assert result.exit_code == 0
    assert (tmp_path / output / "plan.json").is_file()
    if output != "-x":
        assert result.stdout.endswith(f"--plan '{output}'\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    """Proves that a parent folder without write permission is noticed before the solve."""
    tmp_path.chmod(0o500)
    assert "can't be written to" in refused(*SOLVE, "-o", str(tmp_path / "plan"))


def test_a_file_system_that_refuses_is_one_message() -> None:
    """Proves that where the folder can't be made after all, the plan is printed and the message follows."""
    result = CliRunner().invoke(main, [*SOLVE, "-o", "/proc/spareopt-plan"])
    assert result.exit_code == 2
    assert result.stdout.startswith("academic-1k: goodput")
    assert "Written to" not in result.stdout
    assert result.stderr.startswith("error: /proc/spareopt-plan: can't be written: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("[]", "expected fields"),
        ("just text", "expected fields"),
        ("zones: [", "is not YAML"),
        ("zones: []\ncheckpoint_plan: hourly", "zones: expected at least one item"),
        (GOOD + "colour: red\n", "colour: unknown field"),
        (GOOD + GOOD, "key given twice"),
        (GOOD.replace("racks: 128", "racks: 0"), "racks: expected at least 1"),
        (GOOD.replace("racks: 128", "racks: 12.5"), "racks: expected a whole number"),
        (
            GOOD.replace("inter_block_spares: 5", "inter_block_spares: 128"),
            "expected fewer than the zone's blocks (128)",
        ),
        (GOOD.replace("inter_block_spares: 5", "inter_block_spares: -1"), "inter_block_spares: expected at least 0"),
        (GOOD.replace("intra_block_spares: 0", "intra_block_spares: 1"), "expected fewer than trays_per_block (1)"),
        (GOOD.replace("day-shift", "day-shift, gpu_limit: 1 kg"), "unit 'kg' is not one of"),
        (GOOD.replace("day-shift", "day-shift, gpu_limit: 800 W"), "within the design's"),
        (GOOD.replace("day-shift", "night-shift"), "unknown 'night-shift'; expected one of day-shift"),
        (GOOD.replace("zone: cluster", "zone: cluster, count: 2"), "plans 2 zones of 'cluster'; the instance has 1"),
        (GOOD.replace("hourly", "never"), "unknown 'never'; expected one of hourly"),
    ],
)
def test_odd_plans_are_refused(text: str, message: str, tmp_path: Path) -> None:
    """Proves that a plan file with any fault is refused with the field and what was expected, not scored."""
    file = tmp_path / "plan.yaml"
    file.write_text(text, encoding="utf-8")
    told = refused("evaluate", "academic-1k", "--plan", str(file))
    assert told.startswith(str(file))
    assert message in told


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{}", '{"decisions": null}', "[" * 100_000, '{"decisions": {', "\0"]
)
def test_broken_json_plans_are_refused(text: str, tmp_path: Path) -> None:
    """Proves the same for JSON: truncated, nested without end, or of another shape."""
    file = tmp_path / "plan.json"
    file.write_text(text, encoding="utf-8")
    assert str(file) in refused("evaluate", "academic-1k", "--plan", str(file))


@pytest.mark.parametrize("plan", ["", ".", "no-such", "a" * 300, "/dev/null", "academic-1k", "\udcff"])
def test_odd_plan_names_are_refused(plan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that what is no plan file or folder is refused, whatever it is instead."""
    monkeypatch.chdir(tmp_path)
    assert refused("evaluate", "academic-1k", "--plan", plan)


def test_a_plan_of_another_instance_is_refused(tmp_path: Path) -> None:
    """Proves that a plan that does not belong to the instance lists every name that is unknown there."""
    file = tmp_path / "plan.yaml"
    file.write_text(GOOD)
    message = refused("evaluate", "meta-2026", "--plan", str(file))
    for name in ("hgx-h100", "day-shift", "hourly", "plans 0 zones of 'zone'"):
        assert name in message


def test_an_edited_plan_is_scored_anew(tmp_path: Path) -> None:
    """Proves that evaluate never believes the score in a plan.json: after an edit it scores what the file decides."""
    folder = tmp_path / "plan"
    assert CliRunner().invoke(main, [*SOLVE, "-o", str(folder)]).exit_code == 0
    file = folder / "plan.json"
    plan = json.loads(file.read_text())
    plan["decisions"]["zones"][0]["inter_block_spares"] = 9
    plan["evaluation"]["goodput"] = 1e6
    file.write_text(json.dumps(plan))
    result = CliRunner().invoke(main, ["evaluate", "academic-1k", "--plan", str(folder), "--no-optimum", "--json"])
    assert result.exit_code == 3  # 119 servers at work are too few
    assert json.loads(result.stdout)["evaluation"]["goodput"] < 1000


@pytest.mark.parametrize(
    ("file", "template", "message"),
    [
        ("", "academic-1k", "can't name an instance"),
        (".", "academic-1k", "can't name an instance"),
        ("💥.yaml", "academic-1k", "can't name an instance"),
        ("missing/x.yaml", "academic-1k", "can't be written"),
        ("x.yaml", "no-such", "no such file or shipped instance"),
        ("x.yaml", ".", "is a folder"),
        ("x.yaml", "", "is a folder"),
    ],
)
def test_odd_new_files_are_refused(
    file: str, template: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that new writes nothing where the name or the template can't be."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["new", file, "--from", template])
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_validate_names_files_that_are_none(tmp_path: Path) -> None:
    """Proves that each of several odd files has its own message, an empty name included."""
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\0")
    result = CliRunner().invoke(main, ["validate", "", str(tmp_path), str(binary), "no-such"])
    assert (result.exit_code, result.stdout) == (2, "")
    starts = ("'': is a folder", f"{tmp_path}: is a folder", f"{binary}: is not text", "no-such: no such file")
    assert [line.startswith(start) for line, start in zip(result.stderr.splitlines(), starts, strict=True)] == [
        True
    ] * 4


def test_output_that_can_not_be_shown_or_written() -> None:
    """Proves that a terminal gets ? for letters it lacks, a full disk is one message, a closed stdout no crash.

    The three in one shell, as each costs the start of a process.
    """
    spareopt = f"'{sys.executable}' -m spareopt"
    command = f"""
        PYTHONIOENCODING=iso8859-5 {spareopt} show meta-2026; echo "code $?"
        {spareopt} schema > /dev/full; echo "code $?"
        {spareopt} validate no-such >&-; echo "code $?"
    """
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("1 ? meta-2026: blast radius")
    assert lines[1].startswith("??? 4 ? zone")
    assert [line for line in lines if line.startswith("code")] == ["code 0", "code 1", "code 2"]
    first, second = result.stderr.splitlines()
    assert first == "error: the output can not be written: No space left on device"
    assert second.startswith("no-such: no such file or shipped instance")
