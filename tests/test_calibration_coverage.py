"""Intervals of a calibration cover the truth as often as they claim, on logs that the simulator made of known sites.

Each case is calibrated on many logs.  Of n intervals with a confidence of 95 % those that hold the truth are binomial:
their number must be in the range that has 99.9 % of that law for all figures of a site together (Bonferroni), so that
intervals too wide are found as those too narrow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from scipy.stats import binom

from spareopt.calibration.calibrating import calibrated
from spareopt.calibration.result import Calibration, Estimate
from tests.incident_truth import CASES, RACKS, ZONES, Truth, observations

CONFIDENCE, WINDOW_H, YOUNG_H = 0.95, 1 / 6, 2160.0
QUICK, FEW, MANY = 30, 60, 200


def calibrations(case: str, number: int) -> Iterator[Calibration]:
    for observation in observations(case, number):
        yield calibrated(observation, CONFIDENCE, WINDOW_H, YOUNG_H)


def mtbf_h(truth: Truth, kind: str) -> float:
    """The MTBF of a kind, where each burst is a fault of its rack."""
    if kind == "rack" and truth.bursts is not None:
        return 1 / (1 / truth.mtbf_h["rack"] + truth.bursts.per_h / (ZONES * RACKS))
    return truth.pooled_mtbf_h(kind)


def claims(truth: Truth, result: Calibration) -> Iterator[tuple[str, Estimate | None, float]]:
    """Each interval that a calibration claims, and the truth that it should hold."""
    for rate in result.rates:
        poisson = " (Poisson)" if truth.lemons is not None and rate.kind == "tray" else ""
        if poisson:
            yield f"MTBF of {rate.kind}{poisson}", rate.mtbf_h, mtbf_h(truth, rate.kind)
        yield f"MTBF of {rate.kind}", rate.mtbf_dispersed_h, mtbf_h(truth, rate.kind)
    for repair in result.repairs:
        if repair.kind == "rack" and truth.bursts is not None:
            continue  # a mixture of two kinds of repair
        yield f"mean repair of {repair.kind}", repair.mean_h, truth.repair_h(repair.kind)
        phases = truth.phases[repair.kind]
        for number, (share, mean) in enumerate(phases if len(phases) > 1 else ()):
            found = repair.phases[number] if len(repair.phases) == len(phases) else None
            yield f"share of phase {number}", None if found is None else found.share, share
            yield f"mean of phase {number}", None if found is None else found.mean_h, mean
    if truth.bursts is not None:
        yield "time between bursts", result.bursts.site_mtbf_h, 1 / truth.bursts.per_h
    if truth.lemons is not None:
        lemons = result.lemons_of("tray")
        yield "share of lemons", lemons.share, truth.lemons.share
        yield "multiple of lemons", lemons.multiple, truth.lemons.multiple
    if truth.burn_in is None:
        yield "Weibull shape of the gaps", result.evenness_of("all").gap_shape, 1.0


def check(case: str, number: int) -> None:
    """Count what each interval holds, and compare with the claim."""
    truth, held, claimed = CASES[case], Counter[str](), Counter[str]()
    for result in calibrations(case, number):
        for name, estimate, value in claims(truth, result):
            claimed[name] += 1
            held[name] += bool(
                estimate is not None
                and estimate.low is not None
                and estimate.high is not None
                and estimate.low <= value <= estimate.high
            )
    tail = 0.0005 / len(claimed)
    least, most = int(binom.ppf(tail, number, CONFIDENCE)), int(binom.isf(tail, number, CONFIDENCE))
    assert set(claimed.values()) == {number}
    narrow = {name for name in held if name.endswith("(Poisson)")}
    wrong = {name: held[name] for name in claimed if name not in narrow and not least <= held[name] <= most}
    assert not wrong, f"{case}: of {number} intervals {least} to {most} should hold the truth, but {wrong}"
    assert all(held[name] < least for name in narrow), f"Poisson's interval does where units differ: {held}"


def test_intervals_cover_with_everything_at_once() -> None:
    """Proves all intervals on 30 logs of a site with bursts, lemons and three phases of repair.

    There Poisson's interval of the MTBF of trays holds the truth too seldom, as it must where units differ.
    """
    check("all-at-once", QUICK)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "case", ["plain", "quarter", "domains", "two-phases", "three-phases", "lemons", "bursts", "all-at-once"]
)
def test_intervals_cover_on_200_logs(case: str) -> None:
    """Proves all intervals on 200 logs of each site."""
    check(case, MANY)


@pytest.mark.heavy
def test_nothing_is_seen_that_is_not_there() -> None:
    """Proves that of 200 logs of a plain site few show bursts, lemons, a trend or spread: 1 %, as they are tested."""
    seen = Counter[str]()
    for result in calibrations("plain", MANY):
        seen["lemons"] += result.lemons_of("tray").share is not None
        seen["bursts"] += result.bursts.smallest is not None
        seen["beyond chance"] += result.lemons_of("tray").beyond_chance > 0
        seen["trend"] += (result.evenness_of("tray").trend_p_value or 1) < 0.01
        seen["spread"] += bool(result.rate_of("tray").dispersed_by)
        seen["early life"] += any((young.p_value or 1) < 0.01 for young in result.early_life)
    assert seen["lemons"] <= 3 and seen["bursts"] <= 8 and seen["trend"] <= 8
    assert seen["spread"] <= 12 and seen["early life"] <= 12 and seen["beyond chance"] <= 20


@pytest.mark.heavy
def test_early_life_is_found() -> None:
    """Proves that a burn-in of four times the rate is seen in all of 60 logs, and the MTBF after it covered."""
    held = 0
    for result in calibrations("burn-in", FEW):
        young = next(item for item in result.early_life if item.kind == "tray")
        assert young.p_value is not None and young.p_value < 0.01 and (young.ratio.low or 0) > 1
        mature = young.old_up_h / young.old_faults
        held += abs(mature / CASES["burn-in"].mtbf_h["tray"] - 1) < 3 / young.old_faults**0.5
    assert held >= FEW - 1
