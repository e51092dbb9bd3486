"""A year of quarters on one site: calibrate, solve, compare, keep; killed and run again, nothing is lost or doubled.

The site's servers have known rates, which move in the third quarter.  Logs are those of the simulator, written as a
planner has them.  One year runs without trouble, the other with all of it, and both end with the same files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import spareopt
from spareopt import cli, units
from spareopt.decisions import Decisions
from spareopt.kept_runs import SCRATCH
from spareopt.manifest import MANIFEST, UNHASHED
from spareopt.plan_changes import PlanChange
from tests.quarter_processes import SCRIPT, Ended, Kill, Meet, Record, example, run
from tests.simulated_cases import only_decisions

QUARTERS = {"2027-Q1": "2027-01-01", "2027-Q2": "2027-04-01", "2027-Q3": "2027-07-01", "2027-Q4": "2027-10-01"}
"""Each with its first day."""
MTBF_H = {"2027-Q1": 2000.0, "2027-Q2": 2000.0, "2027-Q3": 1000.0, "2027-Q4": 1000.0}
"""What is true of the servers."""
SOFTWARE_H = 20.0
"""What is true of software, all year."""
SEED = 4
"""Of the first quarter's log; the others follow."""

SITE = """\
schema_version: 1
name: university
zones: [{name: hall, racks: 96}]
designs:
  - name: server
    trays_per_block: 1
    gpus_per_tray: 8
    blocks_per_rack: 1
    intra_block_spares: 0
    inter_block_spares: {from: 0, to: 16}
    rack_price: 250 k$
    power:
      gpu_full_limit: 700 W
      gpu_limits: {from: 560 W, to: 700 W, step: 28 W}
      tray_other: 4.6 kW
      tray_idle: 2 kW
      rack_rest: 1 kW
failures:
  tray: {mtbf: 2500 h}           # the vendor's
  software: {mtbf: 24 h}
repair_plans:
  - {name: day-shift, tray: {hands_on: 2 h, off_crew: 58 h}, yearly_cost: 0.12 M$ per year}
  - {name: on-call, tray: {hands_on: 2 h, off_crew: 4 h}, yearly_cost: 0.40 M$ per year}
checkpoint_plans:
  - {name: best, period: best, save: 60 s, detection: 60 s, restart: 11 min}
hardware_scale:
  power_curve: {a: 0.952, b: 2.02, valid_from: 0.5}
power: {pue: 1.3, energy_price: 0.09 $ per kWh}
economics: {amortisation: 4 years}
limits: {yearly_cost: 1.12 M$ per year}
objective: {kind: goodput}
"""

MAPPING = """\
columns: {unit: server, fault_class: what, start: opened, end: closed}
timezone: Europe/Berlin
"""

NEW_CONTRACT = """\
overlay_version: 1
name: new-contract
overrides: {power.energy_price: 0.0905 $ per kWh}
"""


def write_inputs(folder: Path) -> None:
    """The files of a planner: the site, a mapping, a contract from July on, and a log and a fleet of each quarter."""
    for name, text in (("site.yaml", SITE), ("mapping.yaml", MAPPING), ("contract.yaml", NEW_CONTRACT)):
        (folder / name).write_text(text)
    for seed, (quarter, first_day) in enumerate(QUARTERS.items(), start=SEED):
        true = {"failures.tray.mtbf": f"{MTBF_H[quarter]} h", "failures.software.mtbf": f"{SOFTWARE_H} h"}
        instance = spareopt.read_instance(folder / "site.yaml", overrides=true)
        begin = pd.Timestamp(first_day, tz="Europe/Berlin")
        hours = ((begin + pd.DateOffset(months=3)) - begin) / pd.Timedelta(hours=1)
        log = spareopt.simulate_incidents(
            instance, in_use(instance), years=hours / units.HOURS_PER_YEAR, seed=seed, warm_up="2000 h"
        )
        assert log.to_h - log.from_h == pytest.approx(hours)

        def local(column: pd.Series[float], begin: pd.Timestamp = begin, from_h: float = log.from_h) -> Any:
            instant = begin.tz_convert("UTC") + pd.to_timedelta(column - from_h, unit="h")
            return instant.dt.floor("s").dt.tz_convert(begin.tz).dt.strftime("%Y-%m-%d %H:%M:%S%z")

        incidents, fleet = log.incidents, log.fleet
        columns = {
            "server": incidents["unit"], "what": incidents["kind"],
            "opened": local(incidents["start_h"]), "closed": local(incidents["end_h"]),
        }  # fmt: skip
        pd.DataFrame(columns).to_csv(folder / f"{quarter}.csv", index=False)
        service = {"unit": fleet["unit"], "kind": fleet["kind"], "from": local(fleet["from_h"])}
        service["to"] = local(fleet["to_h"])
        pd.DataFrame(service).to_csv(folder / f"{quarter}-fleet.csv", index=False)


def in_use(instance: spareopt.Instance) -> Decisions:
    """A plan with spares for all that is down at once, so that software runs all the time."""
    data = instance.resolved()
    data["designs"][0]["inter_block_spares"] = 16
    data["designs"][0]["power"]["gpu_limits"] = ["700 W"]
    data["repair_plans"] = data["repair_plans"][:1]
    return only_decisions(spareopt.read_instance(data))


def arguments(quarter: str) -> list[str]:
    """How a scheduler asks for a quarter."""
    asked = ["--instance", "site.yaml", "--runs", "runs", "--quarter", quarter, "--mapping", "mapping.yaml"]
    asked += ["--log", f"{quarter}.csv", "--fleet", f"{quarter}-fleet.csv"]
    return asked + (["--overlay", "contract.yaml"] if quarter >= "2027-Q3" else [])


# --- what a year leaves

Files = dict[str, bytes]


def left_by(runs: Path) -> Files:
    """Every file of a folder of runs but scratch, and of those that hold times what does not."""
    files = {}
    for path in sorted(runs.rglob("*")):
        name = path.relative_to(runs).as_posix()
        if path.is_file() and SCRATCH not in name:
            files[name] = b"" if path.name in UNHASHED else path.read_bytes()
            if path.name == MANIFEST:
                data = json.loads(path.read_text())
                assert data.pop("written") and data.pop("seconds")
                files[name] = json.dumps(data).encode()
    return files


def scratch(runs: Path) -> list[Path]:
    """What killed processes left."""
    return [path for path in runs.rglob(f"{SCRATCH}*") if SCRATCH not in path.parent.as_posix()]


def count_runs(runs: Path) -> int:
    """How many runs the command counts; all of them are whole, and none is there twice."""
    listed = spareopt.list_runs(runs, check=True)
    assert listed.skipped == () and listed.changed == ()
    query = "SELECT count(*), count(DISTINCT input_hash), count_if(status = 'proven') FROM runs"
    answer = CliRunner().invoke(cli.main, ["runs", str(runs), "--json", "--sql", query])
    ((count, questions, proven),) = json.loads(answer.stdout)["rows"]
    assert count == questions == proven == len(listed.runs)
    return int(count)


class Year:
    """A year without trouble, as far as it went."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.ended: dict[str, Ended] = {}
        self.steps: dict[str, list[str]] = {}
        """Of each quarter's process."""
        self.files: dict[str, Files] = {}
        """After each quarter."""

    def said(self, quarter: str) -> dict[str, Any]:
        """What the script printed."""
        data: dict[str, Any] = json.loads(self.ended[quarter].out)
        return data

    def change(self, quarter: str) -> PlanChange:
        """What changed since the quarter before."""
        return spareopt.read_plan_comparison(self.runs / self.said(quarter)["comparison"]).changes[0]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of a planner."""
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    return folder


@pytest.fixture(scope="module")
def calm(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Year:
    """The year without trouble."""
    year = Year(tmp_path_factory.mktemp("year") / "calm")
    shutil.copytree(inputs, year.folder)
    for quarter in QUARTERS:
        year.ended[quarter], year.steps[quarter] = recorded(quarter, year.folder)
        assert year.ended[quarter].code == 0, year.ended[quarter].err
        year.files[quarter] = left_by(year.runs)
    assert not scratch(year.runs)
    return year


def recorded(quarter: str, folder: Path) -> tuple[Ended, list[str]]:
    """A quarter, and the steps of its process."""
    (ended,) = run(arguments(quarter), folder, Record("steps.txt"))
    steps = (folder / "steps.txt").read_text().splitlines()
    (folder / "steps.txt").unlink()
    return ended, steps


# --- the story


def test_the_year_is_told_as_it_was(calm: Year) -> None:
    """Proves that plans follow what is true of the servers, and that the loss of the third quarter has its right cause.

    In July half the MTBF is gone and a price moves a little: fault rates carry nearly all of the change, and the answer
    is more spares.  From the other quarters only chance moves the rates, by less.
    """
    spares = {}
    for quarter in QUARTERS:
        said = calm.said(quarter)
        assert (said["quarter"], said["status"]) == (quarter, "proven")
        spares[quarter] = spareopt.read_plan(calm.runs / said["run"]).decisions.zones[0].inter_block_spares
    assert max(spares["2027-Q1"], spares["2027-Q2"]) + 2 < min(spares["2027-Q3"], spares["2027-Q4"])

    change, attribution = calm.change("2027-Q3"), calm.change("2027-Q3").attribution
    whole = calm.said("2027-Q3")["value"] - calm.said("2027-Q2")["value"]
    assert attribution is not None and change.status == "split"
    by_cause = {item.cause: item.changes["objective"] for item in attribution.contributions}
    assert set(by_cause) == {"fault rates", "prices", "model version and search"}
    assert sum(by_cause.values()) == pytest.approx(whole, abs=1e-9) and by_cause["model version and search"] == 0.0
    assert 0.9 < by_cause["fault rates"] / whole < 1.0 and 0.0 < by_cause["prices"] / whole < 0.1
    moved = {field.path: field for field in change.fields}
    assert (moved["failures.tray.mtbf"].cause, moved["power.energy_price"].cause) == ("fault_rates", "prices")
    assert moved["failures.tray.mtbf"].ratio == pytest.approx(0.5, rel=0.15)
    assert "inter_block_spares" in {item.decision for item in change.decisions}

    for quarter in ("2027-Q2", "2027-Q4"):
        attribution = calm.change(quarter).attribution
        assert attribution is not None
        assert [item.cause for item in attribution.contributions if item.fields] == ["fault rates"]
        assert abs(calm.said(quarter)["value"] - calm.said(quarter)["previous"]["value"]) < 0.5 * abs(whole)
    assert calm.said("2027-Q1")["previous"] is None


@pytest.mark.parametrize("quarter", QUARTERS)
def test_intervals_of_a_quarter_hold_the_truth(calm: Year, quarter: str) -> None:
    """Proves that the intervals kept with a plan hold the true rates: all eight, each of 95 %, with these seeds.

    How often they do with any seed is what tests/test_calibration_coverage.py counts.
    """
    kept = spareopt.read_overlay(calm.runs / calm.said(quarter)["calibration"])
    for field, true in (("failures.tray.mtbf", MTBF_H[quarter]), ("failures.software.mtbf", SOFTWARE_H)):
        low, high = (units.parse(str(end), units.TIME) for end in kept.intervals[field])
        assert low < true < high < 2.0 * low


# --- trouble

SOLVE = r"^solve_milp"
RUN, CALIBRATION, COMPARISON, SUMMARY = (
    rf"^os\.(rename|link) \S+ runs/{place}" for place in ("university", "calibrations", "comparisons", "quarters")
)
"""What stores a quarter, in this order: each appears by one rename or link."""


def place_of(steps: list[str], step: str) -> int:
    """Where a step is first."""
    return next(place for place, text in enumerate(steps) if re.search(step, text))


def solves(steps: list[str]) -> int:
    """How many programs are solved in some steps."""
    return steps.count("solve_milp")


def test_a_year_of_trouble_leaves_the_same(calm: Year, inputs: Path, tmp_path: Path) -> None:
    """Proves that nothing is lost and nothing doubled: a year of trouble ends with the files of a year without.

    The first quarter runs as the documentation says.  The second runs in two processes at once, which meet before each
    thing is stored.  The third is killed in its solve, with its run made and not stored, in its comparison, and
    with that made and not stored; what was stored is found, not made again.
    """
    folder, runs = tmp_path / "trouble", tmp_path / "trouble" / "runs"
    shutil.copytree(inputs, folder)
    documented = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments("2027-Q1")], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(SCRIPT.parents[2])},
    )  # fmt: skip
    assert (documented.returncode, documented.stdout) == (0, calm.ended["2027-Q1"].out), documented.stderr
    assert left_by(runs) == calm.files["2027-Q1"]

    meet = Meet((RUN, CALIBRATION, COMPARISON, SUMMARY), 2)
    for ended in run(arguments("2027-Q2"), folder, meet, meet):
        assert ended == calm.ended["2027-Q2"] and ended.err.startswith("solved")
    assert left_by(runs) == calm.files["2027-Q2"] and count_runs(runs) == 2 and not scratch(runs)

    steps = calm.steps["2027-Q3"]
    to_store = solves(steps[: place_of(steps, RUN)])
    for moment, stored in ((Kill(SOLVE), 2), (Kill(RUN), 2), (Kill(SOLVE, to_store + 1), 3), (Kill(COMPARISON), 3)):
        (killed,) = run(arguments("2027-Q3"), folder, moment)
        assert killed.code == -signal.SIGKILL and killed.out == ""
        assert count_runs(runs) == stored and not (runs / "quarters" / "university" / "2027-Q3.json").exists()
        assert left_by(runs).items() <= calm.files["2027-Q3"].items()
    ended, again = recorded("2027-Q3", folder)
    assert (ended.code, ended.out) == (0, calm.ended["2027-Q3"].out) and ended.err.startswith("found")
    assert solves(again) == solves(steps) - to_store, "the comparison is made again, the run is not"

    assert recorded("2027-Q4", folder)[0] == calm.ended["2027-Q4"]
    assert left_by(runs) == calm.files["2027-Q4"] and count_runs(runs) == 4
    check_cleaning(runs, 2)
    assert left_by(runs) == calm.files["2027-Q4"]


def check_cleaning(runs: Path, left: int) -> None:
    """What killed processes left is cleaned away once it is old, wherever it lies, and nothing else is."""
    found = scratch(runs)
    assert len(found) == left
    for path in found:
        for part in (path, *path.rglob("*")):
            os.utime(part, (0, 0))
    assert CliRunner().invoke(cli.main, ["runs", str(runs), "--clean"]).exit_code == 0
    assert not scratch(runs)


def test_a_year_that_is_run_again_does_nothing(calm: Year) -> None:
    """Proves that a quarter asked again, in any order, says the same, solves nothing and leaves files as they were."""
    for quarter in ("2027-Q3", "2027-Q1"):
        ended, steps = recorded(quarter, calm.folder)
        assert (ended.code, ended.out) == (0, calm.ended[quarter].out) and ended.err.startswith("found")
        assert solves(steps) == 0
    assert left_by(calm.runs) == calm.files["2027-Q4"] and count_runs(calm.runs) == 4


def test_a_quarter_that_is_not_proven_is_not_done(
    calm: Year, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Proves that a time limit ends with a code other than 0, and that the quarter is as if it had never been asked.

    The next quarter is compared with the last one that is done, and the same quarter asked with more time is solved.
    """
    shutil.copytree(calm.folder, tmp_path / "late")
    monkeypatch.chdir(tmp_path / "late")
    shutil.rmtree("runs")
    assert example().main([*arguments("2027-Q1"), "--gap", "0", "--time-limit", "1e-9"]) in (4, 5)
    assert not Path("runs/quarters").exists()
    assert all(row.status != "proven" for row in spareopt.list_runs("runs").runs)
    capsys.readouterr()
    assert example().main(arguments("2027-Q2")) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["previous"] is None and said.err.startswith("solved")
    assert [path.name for path in Path("runs/quarters/university").iterdir()] == ["2027-Q2.json"]


@pytest.mark.heavy
def test_killed_at_any_step_the_quarter_ends_the_same(calm: Year, inputs: Path, tmp_path: Path) -> None:
    """Proves it for every moment: before each file, folder, rename and solve of a quarter, killed and run again."""
    steps = calm.steps["2027-Q3"]
    run_stored, comparison_stored = place_of(steps, RUN), place_of(steps, COMPARISON)
    assert len(steps) > 30
    for place, step in enumerate(steps):
        folder, runs = tmp_path / "year", tmp_path / "year" / "runs"
        shutil.copytree(inputs, folder)
        for name in calm.files["2027-Q2"]:
            (runs / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(calm.runs / name, runs / name)
        (killed,) = run(arguments("2027-Q3"), folder, Kill("", place))
        assert killed.code == -signal.SIGKILL and killed.out == "", step
        assert count_runs(runs) == 2 + (place > run_stored), step
        assert not (runs / "quarters" / "university" / "2027-Q3.json").exists(), step
        ended, again = recorded("2027-Q3", folder)
        assert (ended.code, ended.out) == (0, calm.ended["2027-Q3"].out), step
        assert ended.err.startswith("found" if place > run_stored else "solved"), step
        left = 0 if place > comparison_stored else solves(steps[run_stored:])
        assert solves(again) == left + (0 if place > run_stored else solves(steps[:run_stored])), step
        assert left_by(runs) == calm.files["2027-Q3"], step
        check_cleaning(runs, len(scratch(runs)))
        shutil.rmtree(folder)
