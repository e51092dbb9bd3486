"""Calibrations: exposure and bursts by brute force, the overlay on its instance, refusals, and what is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import spareopt
from spareopt import cli
from spareopt.calibration.as_overlay import calibration_overlay, commented_overlay, overlay_name
from spareopt.calibration.at_risk import at_risk, while_young
from spareopt.calibration.bursts import find_bursts, smallest_burst
from spareopt.calibration.calibrating import calibrated
from spareopt.calibration.estimates import early_life, fault_rates, study
from spareopt.calibration.incidents import Absences, Fleet, Incidents, Names, Observation, Source
from spareopt.calibration.result import Calibration
from spareopt.calibration.service import exposed_hours
from spareopt.calibration.text import calibration_text, departures
from spareopt.errors import InputError
from spareopt.numerics.coincidences import Chance
from tests.incident_truth import CASES, instance_of, observations

Row = tuple[int, float, float]


def observation(
    rows: list[Row],
    fleet: list[tuple[int, int, float, float]],
    *,
    racks: list[int] | None = None,
    end_h: float = 1000.0,
) -> Observation:
    """Trays alone: rows of (unit, start, end or NaN), a fleet of (unit or -1, number, from, to)."""
    rows = sorted(rows, key=lambda row: row[1])
    unit = np.array([row[0] for row in rows], dtype=np.int64)
    start, end = (np.array([row[i] for row in rows], dtype=float) for i in (1, 2))
    zeros, nothing = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), -1, dtype=np.int64)
    rack = nothing if racks is None else np.array(racks, dtype=np.int64)[unit]
    number = len(fleet)
    return Observation(
        Incidents(unit, zeros, nothing, rack, nothing, nothing, start, end, np.where(np.isnan(end), end_h, end), zeros),
        Absences(zeros[:0], zeros[:0], start[:0], start[:0]),
        Fleet(
            np.zeros(number, dtype=np.int64),
            np.array([row[0] for row in fleet], dtype=np.int64),
            np.array([row[1] for row in fleet], dtype=np.int64),
            np.array([row[2] for row in fleet], dtype=float),
            np.array([row[3] for row in fleet], dtype=float),
            np.array([-1 if racks is None or row[0] < 0 else racks[row[0]] for row in fleet], dtype=np.int64),
            np.full(number, -1, dtype=np.int64),
            np.full(number, np.nan),
        ),
        Names(tuple(f"u{i:03d}" for i in range(400)), ("tray",), (), tuple(f"r{i}" for i in range(40)), (), ()),
        0.0, end_h, None, (), 0, (), Source("log.csv", "ab" * 32, len(rows)), Source("fleet.csv", "cd" * 32, number),
    )  # fmt: skip


def at_random(rng: np.random.Generator, number: int, length: float) -> list[Row]:
    """Incidents of one length of 400 units at random times."""
    units, starts = rng.integers(0, 400, number).tolist(), rng.uniform(0, 990, number).tolist()
    return [(unit, start, start + length) for unit, start in zip(units, starts, strict=True)]


intervals = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 90), st.integers(0, 30)), max_size=12)


@given(intervals, st.booleans())
def test_exposure_by_marking_hours(rows: list[tuple[int, int, int]], counted: bool) -> None:
    """Proves up-time by marking each hour of each unit, incidents overlapping or not."""
    made = [(unit, float(start), float(start + length)) for unit, start, length in rows]
    fleet = [(-1, 5, 0.0, 100.0)] if counted else [(unit, 1, 0.0, 100.0) for unit in range(5)]
    seen = observation(made, fleet, end_h=100.0)
    hours = np.zeros((5, 100), dtype=bool)
    for unit, start, end in made:
        hours[unit, int(start) : int(min(end, 100))] = True
    risk = at_risk(seen, 0)
    assert risk.up_h == pytest.approx(500.0 - hours.sum())
    assert risk.units is not None and len(risk.units.unit) == 5
    assert risk.units.up_h.sum() == pytest.approx(risk.up_h)


def test_a_roster_with_gaps_counts_each_unit_while_it_serves() -> None:
    """Proves that downtime out of service is not taken off, of a unit that leaves broken and comes back."""
    seen = observation([(0, 40.0, 70.0)], [(0, 1, 0.0, 50.0), (0, 1, 60.0, 100.0), (1, 1, 20.0, 100.0)], end_h=100.0)
    risk = at_risk(seen, 0)
    assert risk.in_service_h == 170.0 and risk.up_h == 170.0 - 10.0 - 10.0
    young = seen._replace(fleet=seen.fleet._replace(age_h=np.array([0.0, 60.0, 0.0])))
    assert exposed_hours(while_young(young, 0, 65.0), 0) == 50.0 - 10.0 + 5.0 - 5.0 + 65.0
    assert risk.clock.at(np.array([30.0, 55.0, 100.0])).tolist() == [40.0, 85.0, 170.0]


def test_counted_units_are_down_only_while_their_kind_serves() -> None:
    """Proves that downtime after the last of a kind has left is not taken off, while others are still observed."""
    seen = observation([(0, 40.0, 70.0)], [(-1, 10, 0.0, 50.0)], end_h=100.0)
    assert at_risk(seen, 0).up_h == 500.0 - 10.0


def test_counts_that_change_tell_no_unit_from_another() -> None:
    """Proves that a fleet counted in two steps has its exposure, but no counts per unit, and says so."""
    seen = observation([(0, 10.0, 20.0)], [(-1, 10, 0.0, 500.0), (-1, 20, 500.0, 1000.0)])
    assert at_risk(seen, 0).units is None and at_risk(seen, 0).up_h == 15_000.0 - 10.0
    result = calibrated(seen, 0.95, 1 / 6, 2160.0)
    assert not result.lemons_of("tray").looked_for and "roster" in result.lemons_of("tray").why_not


def test_a_rate_by_hand() -> None:
    """Proves a rate by hand: 4 faults in 10,000 unit-hours less 150 of downtime, one open at the end."""
    rows = [(0, 100.0, 150.0), (1, 200.0, 250.0), (2, 300.0, 310.0), (3, 960.0, float("nan"))]
    rate = calibrated(observation(rows, [(-1, 10, 0.0, 1000.0)]), 0.95, 1 / 6, 2160.0).rate_of("tray")
    assert (rate.faults, rate.in_service_h, rate.up_h) == (4, 10_000.0, 9850.0)
    assert rate.mtbf_h.value == 9850 / 4
    assert rate.mtbf_h.low == pytest.approx(9850 / 10.2416, rel=1e-4)  # Garwood: 1.0899 to 10.2416
    assert rate.mtbf_h.high == pytest.approx(9850 / 1.0899, rel=1e-4)
    assert rate.per_1000_unit_days.value == pytest.approx(4 / 10_000 * 24_000)


def test_the_clock_does_not_matter(everything: Calibration) -> None:
    """Proves that a log whose hours begin elsewhere gives the same figures."""
    seen, by = next(observations("all-at-once", 1)), 5000.0
    later = seen._replace(
        incidents=seen.incidents._replace(
            start_h=seen.incidents.start_h + by, end_h=seen.incidents.end_h + by, until_h=seen.incidents.until_h + by
        ),
        absences=seen.absences._replace(start_h=seen.absences.start_h + by, end_h=seen.absences.end_h + by),
        fleet=seen.fleet._replace(from_h=seen.fleet.from_h + by, to_h=seen.fleet.to_h + by),
        begin_h=seen.begin_h + by,
        end_h=seen.end_h + by,
    )
    result = calibrated(later, 0.95, 1 / 6, 2160.0)
    assert calibration_text(result) == calibration_text(everything)


def test_bursts_are_faults_of_racks() -> None:
    """Proves that ten bursts of four trays leave the tray rate and are ten of racks, as long as their trays."""
    rng = np.random.default_rng(1)
    racks = [unit // 10 for unit in range(400)]
    single = at_random(rng, 60, 5.0)
    bursts = [
        (10 * r + k, 90.0 * r + 45.0 + 0.02 * k, 90.0 * r + 45.0 + 1.02 * k) for r in range(10) for k in (1, 2, 3, 4)
    ]
    fleet = [(unit, 1, 0.0, 1000.0) for unit in range(400)]
    result = calibrated(observation(single + bursts, fleet, racks=racks), 0.95, 1 / 6, 2160.0)
    assert result.rate_of("tray").faults == 60 and result.rate_of("rack").faults == 10
    assert result.rate_of("rack").units == 40 and result.bursts.events == 10
    assert result.repair_of("rack").mean_h is not None
    assert result.repair_of("rack").mean_h.value == pytest.approx(2.5)  # type: ignore[union-attr]
    assert result.bursts.share_of_trays == pytest.approx(0.4)
    bounds = calibration_overlay(result).scenarios["bursts"].overrides["failures.bursts"][0]
    assert (bounds["racks"], bounds["share"], bounds["mtbf"]) == (1, 0.4, "100 h")


def test_chance_makes_no_bursts() -> None:
    """Proves the rule: of 1,000 faults at random pairs come within ten minutes, but all count alone."""
    rng = np.random.default_rng(2)
    rows = at_random(rng, 1000, 1.0)
    fleet = [(unit, 1, 0.0, 1000.0) for unit in range(400)]
    seen = observation(rows, fleet, racks=[unit // 20 for unit in range(400)])
    result = calibrated(seen, 0.95, 1 / 6, 2160.0)
    assert result.bursts.sizes[0].found > 0 and result.bursts.smallest is None
    assert result.rate_of("tray").faults == 1000
    assert any("each fault counts by itself" in line for line in departures(result))


@pytest.mark.parametrize(
    ("found", "expected", "smallest"),
    [
        ([20, 9], [1.0, 0.01], 2),
        ([20, 9], [5.0, 0.01], 3),
        ([20, 9], [15.0, 2.0], None),
        ([0], [0.0], None),
        ([1], [0.05], None),
        ([1], [0.005], 2),
        ([2, 1], [0.2, 0.009], 3),
    ],
)
def test_the_size_from_which_clusters_are_bursts(found: list[int], expected: list[float], smallest: int | None) -> None:
    """Proves the rule by hand: the smallest size of whose clusters chance makes a tenth at most, and seldom so many."""
    sizes = np.arange(2, 2 + len(found))
    assert smallest_burst(Chance(sizes, np.array(found), np.array(expected))) == smallest


def test_one_pair_is_seldom_a_burst() -> None:
    """Proves the level: of 400 logs with nothing but chance, in which it makes a pair in one of eleven, 10 at most show
    a burst; a tenth of the pairs alone would make that some 35."""
    rng = np.random.default_rng(4)
    fleet = [(unit, 1, 0.0, 1000.0) for unit in range(400)]
    racks = [unit // 10 for unit in range(400)]
    shown = pairs = 0
    for _ in range(400):
        found = find_bursts(observation(at_random(rng, 160, 1.0), fleet, racks=racks), 0, None, 1 / 6)
        shown += found.smallest is not None
        pairs += bool(found.chance.found[0] > 0)
    assert shown <= 10 and pairs >= 20


def test_units_that_stay_down_are_neither_lemons_nor_spread() -> None:
    """Proves that a unit that fails once, early, and is still down counts once, and does not make the fleet uneven."""
    rows = [(unit, 10.0 + unit, float("nan")) for unit in range(3)] + [(3, 500.0, 510.0), (4, 700.0, 705.0)]
    result = calibrated(observation(rows, [(unit, 1, 0.0, 1000.0) for unit in range(40)]), 0.95, 1 / 6, 2160.0)
    assert result.rate_of("tray").dispersed_by == () and result.lemons_of("tray").beyond_chance == 0


def test_long_repairs_do_not_make_units_differ() -> None:
    """Proves the level of the spread where like units are down for a quarter of the time: of 200 logs 8 at most."""
    rng = np.random.default_rng(5)
    called = 0
    for _ in range(200):
        rows = []
        for unit in range(100):
            time = rng.exponential(800.0)
            while time < 1000.0:
                back = time + rng.exponential(400.0)
                rows.append((unit, time, back if back < 1000.0 else float("nan")))
                time = back + rng.exponential(800.0)
        seen = observation(rows, [(unit, 1, 0.0, 1000.0) for unit in range(100)])
        called += "units" in fault_rates(study(seen, 0.95, 1 / 6))[0].dispersed_by
    assert called <= 8


def test_a_new_unit_in_an_old_place_is_young() -> None:
    """Proves early life by stays: faults and hours of a second stay go by the age that its own row states."""
    seen = observation([(0, 100.0, 101.0), (0, 700.0, 701.0), (0, 900.0, 901.0)],
                       [(0, 1, 0.0, 500.0), (0, 1, 600.0, 1000.0)])  # fmt: skip
    seen = seen._replace(fleet=seen.fleet._replace(age_h=np.array([5000.0, 0.0])))
    young = early_life(study(seen, 0.95, 1 / 6), 200.0)[0]
    assert (young.young_faults, young.young_up_h) == (1, 199.0)
    assert (young.old_faults, young.old_up_h) == (2, 499.0 + 199.0)


def test_no_fault_is_a_bound_and_no_mtbf() -> None:
    """Proves that a kind without a fault gets "at least", and that nothing is written for a log of none."""
    result = calibrated(observation([], [(-1, 10, 0.0, 1000.0)]), 0.95, 1 / 6, 2160.0)
    rate = result.rate_of("tray")
    assert rate.mtbf_h.value is None and rate.mtbf_h.high is None
    assert rate.mtbf_h.low == pytest.approx(10_000 / 2.99573, rel=1e-5)
    assert "at least" in calibration_text(result)
    with pytest.raises(InputError, match="no kind of units that can be written had a fault"):
        calibration_overlay(result)


@pytest.fixture(scope="module")
def everything() -> Calibration:
    return calibrated(next(observations("all-at-once", 1)), 0.95, 1 / 6, 2160.0)


def test_the_overlay_changes_the_instance_as_it_says(everything: Calibration) -> None:
    """Proves the overlay on the instance that made the log: its MTBFs, repair times and scenarios are the result's."""
    instance, _ = instance_of(CASES["all-at-once"])
    overlay = calibration_overlay(everything, instance=instance, repair_plan="repair")
    changed = spareopt.read_instance(instance.resolved(), overlays=[overlay])
    for kind in ("tray", "rack", "software"):
        found = everything.rate_of(kind).mtbf_dispersed_h
        assert 1 / getattr(changed.failures, kind).per_hour == pytest.approx(found.value, rel=1e-5)
        assert [float(str(end).split()[0]) for end in changed.intervals[f"failures.{kind}.mtbf"]] == pytest.approx(
            [found.low, found.high], rel=1e-5
        )
    plan = changed.repair_plans[0]
    mean = everything.repair_of("tray").mean_h
    assert mean is not None and plan.tray.mttr == pytest.approx(mean.value, rel=1e-3) and plan.tray.phases is not None
    for name in overlay.scenarios:
        spareopt.read_instance(instance.resolved(), overlays=[overlay], scenarios=[name])
    lemons = spareopt.read_instance(instance.resolved(), overlays=[overlay], scenarios=["lemons"]).failures.tray.lemons
    assert lemons is not None and lemons.multiple == pytest.approx(8.0, rel=0.2)
    changed_rack = changed.failures.rack
    assert changed_rack is not None
    bursts = spareopt.read_instance(instance.resolved(), overlays=[overlay], scenarios=["bursts"]).failures
    assert bursts.bursts[0].share == pytest.approx(0.6, abs=0.1) and bursts.rack is not None
    assert bursts.rack.per_hour < changed_rack.per_hour
    bars = spareopt.tornado(changed, {"failures.tray.mtbf": tuple(changed.intervals["failures.tray.mtbf"])}).bars
    assert bars[0].swing > 0


def test_the_comments_say_what_each_figure_rests_on(everything: Calibration, tmp_path: Path) -> None:
    """Proves the file: it reads back as the overlay, the same bytes each time; each MTBF has its count and exposure."""
    overlay, text = commented_overlay(everything, name="mine")
    assert commented_overlay(everything, name="mine")[1] == text
    (tmp_path / "overlay.yaml").write_text(text, encoding="utf-8")
    assert spareopt.read_overlay(tmp_path / "overlay.yaml") == overlay
    for line in text.splitlines():
        if "failures." in line:
            assert "  # " in line, line
    rate = everything.rate_of("tray")
    assert f"# {rate.faults:,} faults in {rate.up_h:,.0f} unit-hours up, 95 % interval" in text


def test_crews_keep_their_hands_on_time(everything: Calibration) -> None:
    """Proves that a plan with crews gets the rest of the mean as off-crew delay, stretched by the crews' hours."""
    instance, _ = instance_of(CASES["all-at-once"])
    data: dict[str, Any] = instance.resolved()
    plan = data["repair_plans"][0] | {"tray": {"hands_on": "2 h"}, "rack": {"hands_on": "3 h"}, "crews": 2}
    data["repair_plans"] = [plan | {"crew_hours_per_week": 84.0}]
    overlay = calibration_overlay(everything, instance=spareopt.read_instance(data), repair_plan="repair")
    mean = everything.repair_of("tray").mean_h
    assert mean is not None and mean.value is not None
    assert float(overlay.overrides["repair_plans.repair.tray.off_crew"].split()[0]) == pytest.approx(mean.value - 4.0)
    assert any("crews" in note for note in overlay.notes)
    data["repair_plans"][0]["tray"] = {"hands_on": "90 h"}
    with pytest.raises(InputError, match=r"hands-on time .* but repairs of the log take"):
        calibration_overlay(everything, instance=spareopt.read_instance(data), repair_plan="repair")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shelf": 4, "lead_time": "100 h"}, "has shelf.*waits for parts"),
        ({"window": "1 week"}, "has start_at, window or out_of_service"),
    ],
)
def test_plans_that_model_the_waits_of_the_log_are_refused(
    everything: Calibration, changes: dict[str, Any], message: str
) -> None:
    """Proves the refusals: times of a log already hold the waits for parts and for a repair window."""
    instance, _ = instance_of(CASES["all-at-once"])
    data = instance.resolved()
    data["repair_plans"] = [data["repair_plans"][0] | {"tray": {"hands_on": "2 h"}} | changes]
    with pytest.raises(InputError, match=message):
        calibration_overlay(everything, instance=spareopt.read_instance(data), repair_plan="repair")


def test_what_the_instance_does_not_have_is_left_out(everything: Calibration) -> None:
    """Proves that an instance without racks gets no rack rate, and a note that says so."""
    overlay = calibration_overlay(everything, instance=spareopt.read_instance("academic-1k"))
    assert "failures.rack.mtbf" not in overlay.overrides and "bursts" in overlay.scenarios
    assert any(note.startswith("rack: ") and "left out" in note for note in overlay.notes)
    with pytest.raises(InputError, match="no repair plan 'nobody'; expected one of day-shift"):
        calibration_overlay(everything, instance=spareopt.read_instance("academic-1k"), repair_plan="nobody")
    with pytest.raises(InputError, match="needs an instance"):
        calibration_overlay(everything, repair_plan="day-shift")


@pytest.mark.parametrize(
    ("log", "name"),
    [
        ("logs/q1.csv.gz", "q1"),
        ("Störungen 2027.xlsx", "St-rungen 2027"),
        ("é.csv", "incidents"),
        ("_.csv", "incidents"),
    ],
)
def test_the_name_is_that_of_the_log(log: str, name: str) -> None:
    """Proves that whatever a log is called gives a name that an overlay may have."""
    assert overlay_name(log) == name


def test_the_templates_are_a_log_a_fleet_and_a_mapping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that the three templates go together: unedited they are calibrated for the instance they are made for."""
    monkeypatch.chdir(tmp_path)
    for kind, file in (("log", "log.csv"), ("fleet", "fleet.csv"), ("mapping", "mapping.yaml")):
        made = CliRunner().invoke(cli.main, ["template", kind, "--from", "gb200-4x256", "-o", file])
        assert made.exit_code == 0, made.output
    printed = CliRunner().invoke(cli.main, [*COMMAND, "--instance", "gb200-4x256", "-o", "overlay.yaml"])
    assert printed.exit_code == 0, printed.output
    result = spareopt.calibrate("log.csv", "fleet.csv", "mapping.yaml")
    assert {rate.kind for rate in result.rates} >= {"tray", "rack", "software"}
    assert result.rate_of("tray").units == 4 * 256 * 18


LOG = "unit,class,start_h,end_h\nnode-1,GPU,100,124\nnode-2,GPU,200,203\nnode-1,fan,400,448\nnode-3,GPU,900,\n"
COMMAND = ["calibrate", "log.csv", "--fleet", "fleet.csv", "--mapping", "mapping.yaml"]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG, encoding="utf-8")
    Path("fleet.csv").write_text("kind,units,from_h,to_h\ntray,10,0,1000\n", encoding="utf-8")
    Path("mapping.yaml").write_text("default_kind: tray\n", encoding="utf-8")
    return tmp_path


def test_the_command_writes_what_it_prints(files: Path) -> None:
    """Proves the command: overlay and report are written, JSON is the result that reads back, Python says so too."""
    printed = CliRunner().invoke(cli.main, [*COMMAND, "-o", "overlay.yaml", "--report", "report"])
    assert printed.exit_code == 0, printed.output
    assert (
        "Wrote overlay.yaml" in printed.output
        and "Next: spareopt solve INSTANCE --overlay overlay.yaml" in printed.output
    )
    result = spareopt.read_calibration(files / "report")
    asked = CliRunner().invoke(cli.main, [*COMMAND, "--json"])
    assert Calibration.model_validate(json.loads(asked.stdout)) == result
    assert asked.stdout == (files / "report" / "calibration.json").read_text(encoding="utf-8")
    assert result == spareopt.calibrate("log.csv", "fleet.csv", "mapping.yaml")
    assert {"rates.csv", "repairs.csv", "classes.csv", "exclusions.csv"} <= {
        p.name for p in (files / "report").iterdir()
    }
    assert spareopt.read_overlay("overlay.yaml").overrides["failures.tray.mtbf"] == "2456.25 h"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-o", "log.csv"], "already exists"),
        (["-o", "missing/overlay.yaml"], "does not exist; make it first"),
        (["--report", "."], "already exists"),
        (["--confidence", "12"], "expected a share from 0.5 to below 1"),
        (["--confidence", "often"], "confidence: expected a share"),
        (["--burst-window", "10"], "burst_window: expected a time"),
        (["--burst-window", "3 weeks"], "expected a time from 0 to 24 h"),
        (["--early-life", "young"], "early_life_until: expected a time"),
        (["--accept-exclusions", "-1%"], "accept_exclusions: expected a share"),
        (["--instance", "nowhere"], "nowhere"),
        (["--repair-plan", "day-shift"], "needs --instance"),
        (["--name", "?", "-o", "overlay.yaml"], "name: expected letters"),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(files: Path, more: list[str], message: str) -> None:
    """Proves the refusals of the command: one message, exit code 2, and no file made or changed."""
    before = {path: path.read_bytes() for path in files.iterdir()}
    refused = CliRunner().invoke(cli.main, [*COMMAND, *more])
    assert refused.exit_code == 2 and message in refused.output, refused.output
    assert {path: path.read_bytes() for path in files.iterdir()} == before


def test_the_picture_is_drawn(everything: Calibration, tmp_path: Path) -> None:
    """Proves that the report has its picture, the same bytes each time, with all four panels."""
    first = spareopt.write_calibration(everything, tmp_path / "one") / "calibration.svg"
    second = spareopt.write_calibration(everything, tmp_path / "two") / "calibration.svg"
    assert first.read_bytes() == second.read_bytes() and first.read_text(encoding="utf-8").count('id="axes_') == 4
