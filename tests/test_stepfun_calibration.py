"""A year of faults of 400 real servers, calibrated: its published figures come out, and a plan is made of them.

The trace is StepFun's InfiniteHBD-Trace (github.com/stepfun-ai/InfiniteHBD-Trace, Apache-2.0): 584 faults of 231 of 400
servers within 348 days; the servers without a fault are known by their number alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import spareopt
from spareopt import cli
from tests.figure_scripts import figure_script

TRACE: Path = figure_script("stepfun_replay").TRACE
pytestmark = pytest.mark.skipif(
    not TRACE.exists(), reason="the StepFun trace is not here: ../shared/data/stepfun/fault_intervals.csv"
)
MAPPING = "columns: {fault_class: class}\ndefault_kind: tray\noverlaps: keep\n"
FLEET = "kind,units,from_day,to_day\ntray,400,1,349\n"  # the first fault is in day 3, the last ends in day 348


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stepfun")
    (path / "mapping.yaml").write_text(MAPPING, encoding="utf-8")
    (path / "fleet.csv").write_text(FLEET, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def result(folder: Path) -> spareopt.Calibration:
    return spareopt.calibrate(TRACE, folder / "fleet.csv", folder / "mapping.yaml")


def test_rates_and_repairs_are_the_published_ones(result: spareopt.Calibration) -> None:
    """Proves what others derived of it: 4.20 per 1,000 server-days, mean 133 h, median 20 h, 11.5 %, 75 %."""
    rate, repair = result.rate_of("tray"), result.repair_of("tray")
    assert rate.faults == 584 and rate.per_1000_unit_days.value == pytest.approx(4.20, abs=0.005)
    assert repair.mean_h is not None and repair.mean_h.value == pytest.approx(132.8, abs=0.05)
    assert repair.median_h == pytest.approx(20.4, abs=0.05)
    assert repair.share_over_10_days == pytest.approx(0.115, abs=0.0005)
    assert repair.downtime_over_10_days == pytest.approx(0.75, abs=0.005)
    gpu = next(item for item in result.classes if item.fault_class == "GPU")
    assert gpu.faults == 158 and gpu.per_1000_unit_days.value == pytest.approx(1.135, abs=0.0005)
    assert gpu.mean_repair_h == pytest.approx(155.4, abs=0.05) and gpu.median_repair_h == pytest.approx(16.8, abs=0.05)


def test_departures_are_the_published_ones(result: spareopt.Calibration) -> None:
    """Proves variance over mean 2.6 per server, Weibull shape 0.62 of 528 positive gaps, 55 ties, 14 faults at most."""
    even = result.evenness_of("tray")
    assert even.units is not None and even.units.number == 400 and even.units.most == 14
    assert even.units.variance_over_mean.value == pytest.approx(2.58, abs=0.01)
    assert even.units.histogram[0] == 400 - 231
    assert even.gap_shape.value == pytest.approx(0.62, abs=0.005)
    assert (even.positive_gaps, even.ties) == (528, 55)
    assert not result.bursts.looked_for and "rack" in result.bursts.why_not
    assert result.rate_of("tray").dispersion > 2.6


def test_overlaps_are_told_and_merged_where_asked(folder: Path, result: spareopt.Calibration) -> None:
    """Proves that two of the 584 overlap another of their server: merged, 582 are left, with the same downtime."""
    assert result.overlapping == 2
    merged = spareopt.calibrate(
        TRACE, folder / "fleet.csv", {"columns": {"fault_class": "class"}, "default_kind": "tray"}
    )
    assert merged.rate_of("tray").faults == 582
    assert merged.rate_of("tray").up_h == pytest.approx(result.rate_of("tray").up_h, rel=1e-12)


def test_the_phases_describe_the_repairs(result: spareopt.Calibration) -> None:
    """Proves the fitted mixture on the whole curve: nowhere further than 5 points from what was observed."""
    repair = result.repair_of("tray")
    times, observed = np.array(repair.curve_h), np.array(repair.curve)
    fitted = sum((phase.share.value or 0) * np.exp(-times / (phase.mean_h.value or 1)) for phase in repair.phases)
    assert np.abs(fitted - observed).max() < 0.05
    assert len(repair.phases) == 4 and repair.bic[3] < repair.bic[2] < repair.bic[1] < repair.bic[0]


def test_a_plan_from_the_log_to_the_end(folder: Path) -> None:
    """Proves the way from the log to a plan on the command line: the optimum has the log's rate and repair time."""
    runner, overlay = CliRunner(), folder / "overlay.yaml"
    command = ["calibrate", str(TRACE), "--fleet", str(folder / "fleet.csv"), "--mapping", str(folder / "mapping.yaml")]
    command += ["--instance", "academic-1k", "--repair-plan", "day-shift", "-o", str(overlay)]
    printed = runner.invoke(cli.main, command)
    assert printed.exit_code == 0, printed.output
    assert "Next: spareopt solve academic-1k --overlay" in printed.output and "4.2" in printed.output
    solved = runner.invoke(cli.main, ["solve", "academic-1k", "--overlay", str(overlay), "-o", str(folder / "plan")])
    assert solved.exit_code == 0, solved.output
    instance = spareopt.read_instance("academic-1k", overlays=[overlay])
    tray = next(plan for plan in instance.repair_plans if plan.name == "day-shift").tray
    assert tray.mttr == pytest.approx(132.84, rel=1e-3) and tray.phases is not None
    assert instance.failures.tray.per_hour == pytest.approx(584 / (400 * 348 * 24 - 77_500), rel=2e-3)
    plan = spareopt.read_plan(folder / "plan")
    assert plan.evaluation == spareopt.evaluate(instance, plan.decisions)
    for scenario in ("tray-mtbf-low", "tray-mtbf-high", "uncertain-rates"):
        assert spareopt.solve(spareopt.read_instance("academic-1k", overlays=[overlay], scenarios=[scenario]))
