"""The sites with known faults are what they say, so that an estimate that misses their figures is itself to blame.

No estimator of the package is used: counts, means and times straight from the tables.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import spareopt
from tests.incident_truth import CASES, RACKS, TRAYS, UNITS, ZONES, Truth, logs, observed

LOGS = 12


def near(found: float, expected: float, deviation: float) -> bool:
    """Whether a figure is within 4.5 standard deviations (chance 7e-6)."""
    return abs(found - expected) < 4.5 * deviation


@pytest.mark.parametrize("case", list(CASES))
def test_logs_are_as_the_truth_says(case: str) -> None:
    """Counts of faults in the exposed hours, mean repair times and the shares of the shortest ones, bursts, lemons."""
    truth = CASES[case]
    counts, hours = dict.fromkeys(truth.mtbf_h, 0), dict.fromkeys(truth.mtbf_h, 0.0)
    repairs: dict[str, list[float]] = {kind: [] for kind in truth.phases}
    bursts = struck = burst_hours = lemons = lemon_faults = young = 0.0
    for log in logs(case, LOGS, seed=11):
        rows = log.incidents
        begin = log.from_h if truth.burn_in is None else truth.burn_in.duration_h  # then all of it is over
        counted = rows[rows["start_h"] >= begin]
        later = rows[~(rows["end_h"] <= begin)]
        down = (later["end_h"].fillna(log.to_h) - later["start_h"].clip(lower=begin)).groupby(later["kind"]).sum()
        by_age = counted[counted["burst"] == ""]
        for kind in counts:
            units = UNITS.get(kind, 1)
            assert (log.fleet["kind"] == kind).sum() == units
            counts[kind] += int((by_age["kind"] == kind).sum())
            hours[kind] += (units * (log.to_h - begin) - down.get(kind, 0.0)) * log.multiplier
        # repairs that began in the first half: those that are not over at the end are hardly any
        first_half = counted[counted["start_h"] < (begin + log.to_h) / 2]
        for kind, times in repairs.items():
            times += list((first_half["end_h"] - first_half["start_h"])[first_half["kind"] == kind].fillna(8766.0))
        burst_hours += log.to_h - begin
        bursts += counted.loc[counted["burst"] != "", "start_h"].nunique()
        struck += (counted["burst"] != "").sum()
        lemon = set(log.truth.loc[log.truth["lemon"], "unit"])
        lemons += len(lemon)
        lemon_faults += by_age["unit"].isin(lemon).sum()
        young += rows.loc[(rows["start_h"] < begin) & (rows["kind"] == "tray"), "unit"].nunique()
    for kind, number in counts.items():
        expected = hours[kind] / truth.pooled_mtbf_h(kind)
        assert near(number, expected, expected**0.5 * _spread(truth.lemons, kind)), kind
    for kind, times in repairs.items():
        mean = truth.repair_h(kind)
        second = sum(2 * share * part**2 for share, part in truth.phases[kind])
        assert near(float(np.mean(times)), mean, math.sqrt((second - mean**2) / len(times))), kind
        share = sum(part * (1 - math.exp(-2.0 / length)) for part, length in truth.phases[kind])
        assert near(float(np.mean(np.array(times) < 2.0)), share, math.sqrt(share * (1 - share) / len(times))), kind
    if truth.burn_in is not None:
        share = 1 - math.exp(-truth.burn_in.duration_h * truth.burn_in.multiple / truth.mtbf_h["tray"])
        trays = LOGS * ZONES * RACKS * TRAYS
        assert near(young, share * trays, math.sqrt(share * (1 - share) * trays))
    if truth.bursts is None:
        assert bursts == 0
    else:
        share = truth.bursts.share
        seen = burst_hours * truth.bursts.per_h * (1 - (1 - share) ** TRAYS)
        assert near(bursts, seen, seen**0.5)
        up = 1 - truth.repair_h("tray") / (truth.mtbf_h["tray"] + truth.repair_h("tray"))
        assert struck / bursts / TRAYS == pytest.approx(share * up, rel=0.1)
    if truth.lemons is None:
        assert lemons == 0
    else:
        share, multiple = truth.lemons
        trays = LOGS * ZONES * RACKS * TRAYS
        assert near(lemons, share * trays, math.sqrt(share * (1 - share) * trays))
        times_as_often = lemon_faults / lemons / ((counts["tray"] - lemon_faults) / (trays - lemons))
        assert times_as_often == pytest.approx(multiple * _up_of_lemons(truth), rel=0.06)


def _up_of_lemons(truth: Truth) -> float:
    """How much of the time a lemon is up, as a share of that of the other trays."""
    assert truth.lemons is not None
    share, multiple = truth.lemons
    other = truth.repair_h("tray") / truth.mtbf_h["tray"] / (1 - share + share * multiple)
    return (1 + other) / (1 + multiple * other)


def _spread(lemons: tuple[float, float] | None, kind: str) -> float:
    """How many times as wide the count of faults is spread as by chance: the number of lemons varies from log to log.

    A tray's expected faults are μ with variance μ²c², so that all n have variance nμ(1 + μc²); a tray of the cases with
    lemons has 6 faults a year.
    """
    if lemons is None or kind != "tray":
        return 1.0
    share, multiple = lemons
    mean = 1 - share + share * multiple
    squared = (1 - share + share * multiple**2) / mean**2 - 1
    return math.sqrt(1 + 6 * squared)


def test_what_is_observed_is_what_the_tables_hold() -> None:
    """The arrays name the rows of the tables one by one, with censored ends and what began before the record apart."""
    log = next(logs("domains", 1))
    seen = observed(log)
    counted = log.incidents[log.incidents["start_h"] >= log.from_h]
    assert [seen.names.units[code] for code in seen.incidents.unit] == list(counted["unit"])
    assert [seen.names.kinds[code] for code in seen.incidents.kind] == list(counted["kind"])
    for codes, names, column in (
        (seen.incidents.rack, seen.names.racks, "rack"), (seen.incidents.zone, seen.names.zones, "zone"),
    ):  # fmt: skip
        assert ["" if code < 0 else names[code] for code in codes] == list(counted[column])
    assert np.isnan(seen.incidents.end_h).sum() == counted["end_h"].isna().sum() > 0
    assert (seen.incidents.until_h[np.isnan(seen.incidents.end_h)] == log.to_h).all()
    assert len(seen.absences.unit) == len(log.incidents) - len(counted) > 0
    assert (seen.absences.start_h == log.from_h).all()
    assert (seen.absences.end_h > log.from_h).all()
    assert {seen.names.units[code] for code in seen.fleet.unit} == set(log.fleet["unit"])
    assert (np.diff(seen.fleet.kind) >= 0).all()
    for kind, number in UNITS.items():
        code = seen.names.kinds.index(kind)
        assert (seen.fleet.kind == code).sum() == number
        assert seen.roster_of(code)
    assert (seen.fleet.age_h == log.from_h).all()


@pytest.mark.parametrize("case", ["domains", "all-at-once"])
def test_files_of_a_log_are_read_as_it_is(case: str, tmp_path: Path) -> None:
    """The files that the simulator writes need no mapping, and what the reader makes of them is what is observed here.

    To the digits written.  Nothing is excluded but what began before the record.
    """
    log = next(logs(case, 1))
    read, expected = spareopt.read_observation(*spareopt.write_incidents(log, tmp_path / "log.csv")), observed(log)
    assert read.names == expected.names
    for part in ("incidents", "absences", "fleet"):
        for name, column in getattr(expected, part)._asdict().items():
            assert np.allclose(getattr(getattr(read, part), name), column, rtol=0, atol=2e-6, equal_nan=True), name
    assert (read.begin_h, read.end_h) == pytest.approx((log.from_h, log.to_h), abs=2e-6)
    assert [(left_out.role, left_out.rows) for left_out in read.exclusions] == [("rule", len(expected.absences.unit))]
    assert (read.overlapping, read.notes) == (0, ())
