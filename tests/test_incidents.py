"""Incident logs made by the simulator: they hold what was played, neither more nor less, under names that last."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import spareopt
from spareopt.cli import main
from spareopt.decisions import Decisions
from spareopt.simulation import incidents
from spareopt.simulation import reference as plain
from spareopt.simulation.build import build_system
from spareopt.simulation.incidents import IncidentLog, incident_rows
from spareopt.simulation.kernel import play_logged
from spareopt.simulation.measured import totals
from spareopt.simulation.outcome import LEDGER
from spareopt.simulation.unit_names import UnitNames, unit_names
from tests.simulated_cases import (
    BASE,
    COUNT,
    DOMAINS,
    LOOPS,
    MTBF,
    ONE_OF_TWO,
    PER_RACK,
    PHASES,
    RACKS,
    SPREAD,
    TRAY_REPAIR,
    TWO_DESIGNS,
    TWO_OF_THREE,
    I,
    R,
    case_instance,
    domain,
    only_decisions,
)
from tests.small_systems import random_run, random_system
from tests.test_simulation_kernel import SEEDS

Row = tuple[float, float, int, str, bool, bool]


UPS = domain("ups", "zone", "1 d", "1 h")


def numbered(units: int) -> UnitNames:
    """Names of a site that has none: its units' numbers."""
    return UnitNames(*(np.array([f"{name} {u}" for u in range(units)], dtype=object) for name in UnitNames._fields))


def read_off(record: list[tuple[float, str, int]], from_h: float) -> list[Row]:
    """The faults in a record, one event after the other: start, end, unit (−1: software), burst, silent, interrupted.

    Faults of units come in the order in which they began.
    """
    rows: list[list[Any]] = []
    down: dict[int, list[Any]] = {}
    silent: dict[int, str] = {}
    burst: tuple[float, str] = (-1.0, "")
    for time, what, number in record:
        by = burst[1] if time == burst[0] else ""
        if what == "burst":
            burst = time, f"burst {number}"
        elif what == "silent":
            silent[number] = by
        elif what in ("fault", "found"):
            rows.append([time, math.inf, number, silent.pop(number) if what == "found" else by, what == "found", False])
            down[number] = rows[-1]
        elif what == "software":
            rows.append([time, time, -1, "", False, False])
        elif what == "up":
            down.pop(number)[1] = time
        elif what == "interruption":
            rows[-1][5] = True
    return [tuple(row) for row in rows if row[0] >= from_h or row[1] > from_h]


def check(seed: int) -> int:
    """Hold the log of a random site against what the slow reference records; returns its number of rows."""
    system, run = random_system(seed), random_run(seed)
    record: list[tuple[float, str, int]] = []
    outcome = plain.replicate(system, run, record)
    bursts = np.array([f"burst {i}" for i in range(len(system.burst_rate))], dtype=object)
    events = play_logged(system, run, 100_000)
    log = incident_rows(events, numbered(len(system.unit_class)), bursts, run.warm_up)
    expected = read_off(record, run.warm_up)
    unit = [-1 if name == "software" else int(name.split()[1]) for name in log["unit"]]
    assert [tuple(row) for row in zip(unit, log["burst"], log["silent"], log["interrupted"], strict=True)] == [
        row[2:] for row in expected
    ]
    assert log["start_h"].to_numpy() == pytest.approx([row[0] for row in expected], rel=1e-9, abs=1e-9)
    assert log["end_h"].fillna(math.inf).to_numpy() == pytest.approx([row[1] for row in expected], rel=1e-9, abs=1e-9)
    counted = log[log["start_h"] >= run.warm_up]
    ledger = totals(run, outcome)
    assert (counted["kind"] != "software").sum() == ledger[LEDGER.index("faults")]
    assert counted["interrupted"].sum() == ledger[LEDGER.index("interruptions")]
    return len(log)


def test_logs_hold_what_was_played() -> None:
    """Row for row what the slow reference records: any features at once, domains, bursts, silent faults, traces.

    Its record is read one event after the other; the log is made from the kernel's events as arrays.  The faults and
    interruptions in the log are as many as the reference counts by itself.
    """
    assert sum(check(seed) for seed in SEEDS[:40]) > 1_500


@pytest.mark.heavy
def test_many_logs_hold_what_was_played() -> None:
    """The same for hundreds of sites."""
    for seed in SEEDS[40:]:
        check(seed)


def instance_of(changes: dict[str, Any]) -> tuple[spareopt.Instance, Decisions]:
    """The base of the designed cases with changes, and its only plan."""
    instance = spareopt.read_instance(BASE, overrides=changes)
    return instance, only_decisions(instance)


MUCH = {
    I: 1, R: 2, "failures.software.rate": "2 per day", "failures.planned": {"rate": "1 per day", "stop": "30 min"},
    DOMAINS: [domain("cooling", "3 racks", "500 h", "8 h"), domain("feed", "zone", "300 h", "20 h", feeds=ONE_OF_TWO)],
    "failures.bursts": [{"name": "dip", "rate": "0.1 per day", "racks": 2, "share": 0.7}],
    "failures.tray.lemons": {"share": 0.2, "multiple": 5}, TRAY_REPAIR: {"phases": PHASES},
}  # fmt: skip
"""A bit of everything."""


@pytest.mark.parametrize(("changes", "kinds"), [
    (MUCH, {"tray", "rack", "cooling", "feed", "software"}),
    ({SPREAD: 0.3, "failures.software.rate": "2 per day"}, {"tray", "rack", "software"}),
])  # fmt: skip
def test_the_log_is_that_of_the_simulation(changes: dict[str, Any], kinds: set[str]) -> None:
    """A replication's log and the simulation's record are of one and the same run: faults, interruptions, multiplier.

    Planned stops are no faults.  The record is the time of the fleet.
    """
    instance, decisions = instance_of(changes)
    options: dict[str, Any] = {"years": 0.25, "seed": 3}
    result = spareopt.simulate(instance, decisions, replications=3, **options)
    for row, log in zip(
        result.replications, spareopt.incident_logs(instance, decisions, replications=range(3), **options), strict=True
    ):
        counted = log.incidents[log.incidents["start_h"] >= log.from_h]
        assert (counted["kind"] != "software").sum() == row.faults == log.faults
        assert counted["interrupted"].sum() == row.interruptions == log.interruptions
        assert (log.replication, log.multiplier) == (row.replication, row.multiplier)
        assert log.from_h == result.options.warm_up_h
        assert log.to_h - log.from_h == pytest.approx(row.hours)
        assert log.incidents["start_h"].is_monotonic_increasing
        assert set(log.incidents["kind"]) == kinds
        assert set(log.incidents["unit"]) <= set(log.fleet["unit"])
        same = log.incidents.merge(log.fleet, on="unit", suffixes=("", "_fleet"))
        for name in ("kind", "rack", "zone"):
            assert (same[name] == same[f"{name}_fleet"]).all()
    alone = spareopt.simulate_incidents(instance, decisions, replication=2, **options)
    pd.testing.assert_frame_equal(alone.incidents, log.incidents)
    pd.testing.assert_frame_equal(alone.truth, log.truth)


def test_downtime_of_the_log_is_that_of_the_blocks() -> None:
    """From the rows alone follows how long how many blocks are not usable, as the simulation's ledger has it.

    Racks of two blocks with a spare tray each: a block is not usable while its rack or two of its trays are down.
    """
    instance, decisions = instance_of({RACKS: 6, PER_RACK: 2, I: 1, R: 4, MTBF: "60 h"})
    log = spareopt.simulate_incidents(instance, decisions, years=0.25)
    result = spareopt.simulate(instance, decisions, years=0.25, replications=1)
    rows = log.incidents.assign(
        start=log.incidents["start_h"].clip(lower=log.from_h), end=log.incidents["end_h"].fillna(log.to_h)
    )
    unusable = 0.0
    for rack in log.fleet["rack"].unique():
        here = rows[rows["rack"] == rack]
        times = np.unique(np.concatenate((here["start"], here["end"])))
        middle, length = (times[1:] + times[:-1]) / 2, np.diff(times)
        rack_down = np.zeros(len(middle), dtype=bool)
        for start, end in here.loc[here["kind"] == "rack", ["start", "end"]].to_numpy():
            rack_down |= (middle > start) & (middle < end)
        for block in (1, 2):
            trays = np.zeros(len(middle), dtype=int)
            own = here["unit"].str.contains(f"/block-{block}/")
            for start, end in here.loc[own, ["start", "end"]].to_numpy():
                trays += (middle > start) & (middle < end)
            unusable += float(length[rack_down | (trays > 1)].sum())
    hours = result.replications[0].hours
    assert unusable / hours == pytest.approx(result.replications[0].mean_unusable_blocks, rel=1e-9)
    assert result.replications[0].mean_unusable_blocks > 0.5


def test_units_fail_as_often_as_the_truth_says() -> None:
    """Faults of each kind are a Poisson number: the truth's rates times the hours that each unit was up.

    Over 30 logs of trays with lemons, racks, domains and feeds, software: each within 4 standard
    deviations (chance 6e-5 each); lemons, which are one in five, have their own share of faults.
    """
    instance, decisions = instance_of({name: value for name, value in MUCH.items() if name != "failures.bursts"})
    found, expected = pd.Series(dtype=float), pd.Series(dtype=float)
    lemons = 0.0
    for log in spareopt.incident_logs(instance, decisions, replications=range(30), years=0.25, warm_up="0 h"):
        ends = log.incidents["end_h"].fillna(log.to_h)
        down = (ends - log.incidents["start_h"]).groupby(log.incidents["unit"]).sum()
        truth = log.truth.set_index("unit")
        up = log.to_h - log.from_h - down.reindex(truth.index, fill_value=0.0)
        kind = truth["kind"].where(~truth["lemon"], "lemon")
        faults = log.incidents["unit"].value_counts().reindex(truth.index, fill_value=0)
        expected = (truth["rate_per_h"] * up).groupby(kind).sum().add(expected, fill_value=0.0)
        found = faults.groupby(kind).sum().add(found, fill_value=0.0)
        lemons += truth["lemon"].sum() / (truth["kind"] == "tray").sum() / 30
    assert set(found.index) == {"tray", "lemon", "rack", "cooling", "feed", "software"}
    assert (found > 100).all()
    assert ((found - expected).abs() < 4 * expected**0.5).all(), (found, expected)
    assert lemons == pytest.approx(0.2, abs=4 * math.sqrt(0.2 * 0.8 / (30 * 96)))


def test_bursts_strike_neighbours_at_once() -> None:
    """The faults of a burst bear its name and one time, and are of trays of two neighbouring racks of one zone.

    They come as often as stated and strike seven trays in ten of those that are up: within 4 standard deviations.
    """
    instance, decisions = instance_of({"failures.bursts": MUCH["failures.bursts"], MTBF: "3000 h"})
    bursts = struck = 0
    for log in spareopt.incident_logs(instance, decisions, replications=range(20), years=1):
        rows = log.incidents[(log.incidents["burst"] == "dip") & (log.incidents["start_h"] >= log.from_h)]
        for _, one in rows.groupby("start_h"):
            bursts += 1
            struck += len(one)
            racks = one["rack"].str.extract(r"hall-(\d)/rack-(\d+)").astype(int)
            assert set(one["kind"]) == {"tray"}
            assert len(set(racks[0])) == 1
            assert np.ptp(racks[1]) <= 1
        assert log.incidents.loc[log.incidents["burst"] == "", "start_h"].is_unique
    expected = 20 * 365.25 * 0.1
    assert abs(bursts - expected) < 4 * math.sqrt(expected)
    assert struck / bursts / 8 == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize(
    ("changes", "some", "number"),
    [
        ({}, ["hall-1/rack-001", "hall-2/rack-012/tray-04"], 2 * 12 * 5),
        ({RACKS: 6, PER_RACK: 2, R: 2}, ["hall-1/rack-001/block-1/tray-01", "hall-2/rack-006/block-2/tray-04"], 108),
        ({COUNT: 1}, ["hall/rack-001/tray-01", "hall/rack-012"], 60),
        (TWO_DESIGNS, ["hall/rack-012/tray-04", "annex/rack-006/tray-06"], 12 * 5 + 6 * 7),
        ({DOMAINS: [LOOPS]}, ["loop-1", "loop-4"], 120 + 4),
        ({DOMAINS: [domain("grid", "site", "300 h", "10 h", feeds=ONE_OF_TWO)]}, ["grid/feed-1", "grid/feed-2"], 122),
        ({DOMAINS: [domain("cooling", "5 racks", "300 h", "1 h")]}, ["hall-1/cooling-001", "hall-2/cooling-003"], 126),
        (
            {DOMAINS: [domain("feed", "1 racks", "200 h", "10 h", feeds=TWO_OF_THREE), UPS]},
            ["hall-1/feed-001/feed-1", "hall-2/feed-012/feed-3", "hall-1/ups", "hall-2/ups"],
            120 + 24 * 3 + 2,
        ),
    ],
)  # fmt: skip
def test_every_unit_has_a_name(changes: dict[str, Any], some: list[str], number: int) -> None:
    """As many names as units, all different, with those that are to be expected; racks hold the trays they name."""
    instance, decisions = instance_of(changes)
    names = unit_names(instance, build_system(instance, decisions))
    assert len(set(names.unit)) == len(names.unit) == number
    assert set(some) <= set(names.unit)
    trays = names.kind == "tray"
    assert all(unit.startswith(f"{rack}/") for unit, rack in zip(names.unit[trays], names.rack[trays], strict=True))
    assert set(names.rack[trays]) == set(names.unit[names.kind == "rack"])
    assert all(rack.startswith(f"{zone}/") for rack, zone in zip(names.rack[trays], names.zone[trays], strict=True))


def test_names_and_faults_do_not_depend_on_the_plan() -> None:
    """A unit has its name and its first fault in every plan that holds it: more spares, zones in another order."""
    instance = case_instance("two-designs")
    one = only_decisions(instance)
    other = one.model_copy(
        update={"zones": tuple(z.model_copy(update={"inter_block_spares": 1}) for z in reversed(one.zones))}
    )
    first, second = (
        spareopt.simulate_incidents(instance, d, years=0.1, warm_up="0 h").incidents.drop_duplicates("unit")
        for d in (one, other)
    )
    both = first.merge(second, on=["unit", "kind", "rack", "zone", "start_h"])
    assert len(both) == len(first) == len(second)


def test_names_that_clash_are_refused() -> None:
    """Two zones named hall and a third named hall-1 would share the names of their racks."""
    zones = [{"name": "hall", "count": 2, "racks": 12}, {"name": "hall-1", "racks": 12}]
    instance, decisions = instance_of({"zones": zones})
    with pytest.raises(spareopt.InputError, match=r"two units would be called 'hall-1/rack-001.*rename a zone"):
        spareopt.simulate_incidents(instance, decisions, years=0.1)


def test_a_log_that_is_longer_than_foreseen_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without room for its events a replication is played again with as much as it needs, and the log is the same."""
    instance, decisions = instance_of({})
    expected = spareopt.simulate_incidents(instance, decisions, years=0.1)
    monkeypatch.setattr(incidents, "EVENTS_PER_FAULT", 0.0)
    monkeypatch.setattr(incidents, "SPARE_ROOM", 1)
    again = spareopt.simulate_incidents(instance, decisions, years=0.1)
    pd.testing.assert_frame_equal(again.incidents, expected.incidents)


def test_a_log_ends_with_the_job() -> None:
    """Where replications end when the job is done, so do the log and the time of the fleet."""
    instance, decisions = instance_of({"job.useful_gpu_hours": 100_000})
    log = spareopt.simulate_incidents(instance, decisions, until_job=True)
    row = spareopt.simulate(instance, decisions, until_job=True, replications=1).replications[0]
    assert log.to_h - log.from_h == pytest.approx(row.hours)
    assert log.incidents["start_h"].max() <= log.to_h
    assert (log.fleet["to_h"] == log.to_h).all()


@pytest.mark.parametrize("replication", [-1, True, 1.5, 10_000])
def test_replications_that_there_are_not(replication: Any) -> None:
    """A number that no replication has is refused."""
    instance, decisions = instance_of({})
    with pytest.raises(spareopt.InputError, match=r"replication: got .*expected a whole number from 0 to 9,999"):
        spareopt.simulate_incidents(instance, decisions, replication=replication)


# ---- files and the command


def read_back(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A log and its fleet from their files."""
    return tuple(
        pd.read_csv(folder / name, keep_default_na=False, na_values={"end_h": [""]})
        for name in ("log.csv", "log-fleet.csv")
    )


def same_log(log: IncidentLog, folder: Path) -> None:
    """Hold files against a log."""
    incidents, fleet = read_back(folder)
    for name in ("silent", "interrupted"):
        incidents[name] = incidents[name].map({"yes": True, "no": False})
    options: dict[str, Any] = {"check_dtype": False, "rtol": 0, "atol": 1e-6}
    pd.testing.assert_frame_equal(incidents, log.incidents, **options)
    pd.testing.assert_frame_equal(fleet, log.fleet, **options)


def test_files_hold_the_log(tmp_path: Path) -> None:
    """Both files read back are the tables, to the last digit written; the same log gives the same bytes."""
    log = spareopt.simulate_incidents(*instance_of(MUCH), years=0.1)
    spareopt.write_incidents(log, tmp_path / "log.csv")
    same_log(log, tmp_path)
    (tmp_path / "again").mkdir()
    for file in spareopt.write_incidents(log, tmp_path / "again" / "log.csv"):
        assert file.read_bytes() == (tmp_path / file.name).read_bytes()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """Where either file stands neither is written; names that are none, and folders that are not there, are refused."""
    log = spareopt.simulate_incidents(*instance_of({}), years=0.1)
    (tmp_path / "log-fleet.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(spareopt.InputError, match=r"log-fleet\.csv: already exists"):
        spareopt.write_incidents(log, tmp_path / "log.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["log-fleet.csv"]
    assert (tmp_path / "log-fleet.csv").read_text(encoding="utf-8") == "mine"
    for name, words in (
        ("log.txt", "ends in .csv"), ("", "ends in .csv"), (".csv", "ends in .csv"), ("a/log.csv", "does not exist"),
        (f"{'x' * 300}.csv", "can't be a file"),
    ):  # fmt: skip
        with pytest.raises(spareopt.InputError, match=words):
            spareopt.write_incidents(log, tmp_path / name if name else "")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an instance and its plan, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    decisions = instance_of({})[1]
    Path("base.yaml").write_text(json.dumps(BASE), encoding="utf-8")
    Path("plan.json").write_text(decisions.model_dump_json(), encoding="utf-8")
    Path("trace.csv").write_text("unit,start_h,end_h\na,1,2\n", encoding="utf-8")
    return tmp_path


COMMAND = ["simulate", "base.yaml", "--plan", "plan.json", "--replications", "2", "--years", "0.1", "--seed", "4"]


def test_the_command_writes_the_log_of_its_first_replication(files: Path) -> None:
    """Files, words and simulation are of one run; a second time nothing is overwritten, and nothing played."""
    result = CliRunner().invoke(main, [*COMMAND, "--incidents", "log.csv"])
    assert result.exit_code == 0, result.output
    log = spareopt.simulate_incidents(*instance_of({}), years=0.1, seed=4)
    same_log(log, files)
    words = " ".join(result.output.split())
    counted = log.incidents[log.incidents["start_h"] >= log.from_h]["kind"].value_counts()
    assert f"{counted['tray']:,} of kind tray, {counted['rack']:,} of kind rack" in words
    assert "Written to log.csv, the fleet of 120 units to log-fleet.csv." in words
    assert "--incidents" not in words.split("Next:")[1]
    result = CliRunner().invoke(main, [*COMMAND, "--incidents", "log.csv"])
    assert result.exit_code == 2
    assert "log.csv: already exists" in result.output


def test_the_command_prints_one_document(files: Path) -> None:
    """With --json the log is written all the same, and stdout is the simulation alone."""
    result = CliRunner().invoke(main, [*COMMAND, "--incidents", "log.csv", "--json"])
    document = json.loads(result.stdout)
    incidents, fleet = read_back(files)
    assert (incidents["start_h"] >= fleet["from_h"][0]).sum() == document["replications"][0]["faults"]


@pytest.mark.parametrize("others", [["--against", "plan.json"], ["--trace", "trace.csv"], ["--by", "counts"]])
def test_what_has_no_log_is_refused(files: Path, others: list[str]) -> None:
    """Two plans, a log that there is already, and counts, in which no unit has a name: refused before anything runs."""
    result = CliRunner().invoke(main, [*COMMAND, "--incidents", "log.csv", *others])
    assert result.exit_code == 2
    assert f"--incidents does not go with {others[0]}" in result.output
    assert not (files / "log.csv").exists()
