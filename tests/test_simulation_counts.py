"""The kernel of counts: it has the law of the exact model and of the unit kernel, and says where it has not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import spareopt
from spareopt.cli import main
from spareopt.decisions import read_decisions
from spareopt.errors import InputError
from spareopt.numerics.availability import block_unavailability, unavailability, zone_shortfall
from spareopt.numerics.crews import Pool, crew_law
from spareopt.numerics.exchangeable import zone_shortfall_given_law
from spareopt.reading import read_instance
from spareopt.simulation.counts import counts_suffice
from spareopt.simulation.kernel import replicate as by_units
from spareopt.simulation.kernel.counts import replicate
from spareopt.simulation.outcome import ACCOUNTS, LEDGER, Outcome
from spareopt.simulation.system import (
    COMPUTING,
    DETERMINISTIC,
    GROUPS,
    OVERLAPPED,
    TWO_LEVEL,
    WEIBULL,
    WORKING,
    System,
)
from tests.small_systems import Class, Domain, small_run, small_system
from tests.test_simulation_runs import PLAN

Floats = NDArray[np.float64]


def play(kernel: Any, system: System, number: int, hours: float, **fields: Any) -> list[Outcome]:
    """Independent replications after a warm-up of 300 h."""
    runs = [small_run(key=(7, i), warm_up=300.0, bin=hours, **fields) for i in range(number)]
    return [kernel(system, run) for run in runs]


def rates(outcomes: list[Outcome]) -> dict[str, Floats]:
    """What each replication measured, per hour (waits per ticket), by name."""
    result = {name: np.array([o.ledger[-1, i] / o.hours for o in outcomes]) for i, name in enumerate(LEDGER[:11])}
    width = np.arange(len(outcomes[0].unusable_h))
    result["unusable squared"] = np.array([o.unusable_h @ width**2 / o.hours for o in outcomes])
    result["long episodes"] = np.array([o.episodes[100:].sum() / o.hours for o in outcomes])  # above 5.6 h
    result["events"] = np.array([o.events / o.hours for o in outcomes])
    for p in range(len(outcomes[0].crew_busy_h)):
        result[f"busy {p}"] = np.array([o.crew_busy_h[p] / o.hours for o in outcomes])
        result[f"wait {p}"] = np.array([o.crew_wait_h[p] / o.crew_tickets[p] for o in outcomes])
    return result


def errors_from(values: Floats, truth: float) -> float:
    """Distance of the mean from the truth in standard errors."""
    error = values.std(ddof=1) / math.sqrt(len(values))
    return float((values.mean() - truth) / error) if error > 0 else math.inf * (values.mean() != truth)


def efficiency(rate: float, period: float, save: float, recovery: float) -> float:
    """Useful share of the unblocked time under checkpoints; faults may hit saves and recoveries too."""
    return period * rate * math.exp(-rate * recovery) / math.expm1(rate * (period + save))


def test_ample_crews_are_the_closed_form() -> None:
    """Availability, interruptions and useful work of two zones with racks, delays and software: binomials, one rate.

    Rates are such that the job is blocked for about a tenth of the time.
    """
    tray = Class(1 / 400, ways=((1.0, 8.0),), delay=12.0)
    racks = tuple(Domain(Class(1 / 700, ways=((1.0, 6.0),)), ((b, b + 1),)) for b in range(9))
    system = small_system(
        blocks=[5, 4], trays=[4, 3], working=[3, 3], spare_trays=[1, 0], tray=[tray, tray], domains=racks,
        software_rate=1 / 300, save=0.1, recovery=0.5,
    )  # fmt: skip
    down, rack = unavailability(1 / 400, 20.0), unavailability(1 / 700, 6.0)
    short = []
    for blocks, trays, working, spares in ((5, 4, 3, 1), (4, 3, 3, 0)):
        block = 1.0 - (1.0 - block_unavailability(trays, spares, down)) * (1.0 - rack)
        short.append(float(zone_shortfall(blocks, blocks - working, block)))
    available = (1.0 - short[0]) * (1.0 - short[1])
    rate = (3 * 3 + 3 * 3) / 400 + 6 / 700 + 1 / 300
    found = rates(play(replicate, system, 30, 20_000.0))
    assert abs(errors_from(found["blocked"], 1.0 - available)) < 4
    assert abs(errors_from(found["interruptions"], available * rate)) < 4
    assert abs(errors_from(found["useful"], available * efficiency(rate, 4.0, 0.1, 0.5))) < 4
    assert 0.05 < 1.0 - available < 0.3
    assert found["blocked"].std() / math.sqrt(30) < 0.03 * (1.0 - available)


def test_crews_that_are_waited_for_are_the_closed_form() -> None:
    """A crew that is busy most of the time: availability from the law of the number failed, and the mean wait.

    Given how many trays are down they are any of them, so that the chain of their number gives availability; tickets
    wait about as long as they are worked on.
    """
    system = small_system(
        blocks=[6], trays=[3], working=[4], spare_trays=[1],
        tray=Class(1 / 300, ways=((1.0, 9.0),), delay=15.0, staffed=1),
        zone_crews=[0], crews=[1], duty=[168.0], save=0.1, recovery=0.5,
    )  # fmt: skip
    law = crew_law((Pool(18, 1 / 300, 9.0, 15.0),), 1)
    available = 1.0 - float(zone_shortfall_given_law(6, 1, 3, 1, law.failed, np.array(2)))
    rate = 4 * 2 / 300
    found = rates(play(replicate, system, 30, 20_000.0))
    assert abs(errors_from(found["blocked"], 1.0 - available)) < 4
    assert abs(errors_from(found["interruptions"], available * rate)) < 4
    assert abs(errors_from(found["useful"], available * efficiency(rate, 4.0, 0.1, 0.5))) < 4
    assert abs(errors_from(found["busy 0"], law.utilisation)) < 4
    assert abs(errors_from(found["wait 0"], law.mean_wait)) < 4
    assert law.mean_wait > 4.0


RICH = small_system(
    blocks=[6, 4], trays=[3, 2], working=[4, 3], spare_trays=[1, 0], rack_blocks=[2, 1],
    tray=[
        Class(1 / 200, ways=((0.7, 3.0), (0.3, 20.0)), delay=6.0, staffed=1),
        Class(1 / 300, ways=((1.0, 10.0),), staffed=1),
    ],
    domains=[
        *(Domain(Class(1 / 500, ways=((1.0, 9.0),), staffed=1), ((b, b + 2),)) for b in (0, 2, 4)),
        Domain(Class(1 / 900, ways=((1.0, 5.0),), delay=4.0), ((0, 6),)),
        Domain(Class(1 / 400, ways=((1.0, 12.0),)), ((0, 10),), 3, 2),
        Domain(Class(1 / 900, ways=((1.0, 12.0),)), ((0, 3), (6, 8))),
    ],
    zone_crews=[0, 0], crews=[1], duty=[168.0], swap_stop=[0.5, 0.0], software_rate=1 / 100, planned_rate=1 / 150,
    planned_stop=2.0, save=0.1, recovery=0.5,
)  # fmt: skip


@pytest.mark.parametrize(
    "scheme",
    [
        {},
        {"scheme": TWO_LEVEL, "memory_save": 0.02, "memory_recovery": 0.1, "memory_share": 0.7},
        {"scheme": OVERLAPPED, "snapshot": 0.03, "slowdown": 0.4},
    ],
    ids=["checkpoints", "two levels", "overlapped"],
)
def test_units_and_counts_have_one_law(scheme: dict[str, Any]) -> None:
    """Both kernels measure the same: every account, spells of blocking, moments of the unusable blocks, busy crews.

    Shared racks, feeds, domains across zones, two ways of repair and one crew for two classes are all in it.  The
    paths are compared, not only means: long episodes tell an order of service or a stage of repair that is wrong.
    """
    system = RICH._replace(**scheme)
    assert counts_suffice(system) is None
    one = rates(play(replicate, system, 30, 6_000.0, storage_every=4))
    other = rates(play(by_units, system, 30, 6_000.0, storage_every=4))
    assert one.keys() == other.keys()
    for name, values in one.items():
        error = math.hypot(values.std(ddof=1), other[name].std(ddof=1)) / math.sqrt(30)
        assert abs(values.mean() - other[name].mean()) <= 4 * error, name
    assert one["long episodes"].mean() > 1e-3 and one["wait 0"].mean() > 1.0


def test_hours_add_up() -> None:
    """The accounts of each row add up to its time, as do the hours by the number of unusable blocks."""
    runs = [small_run(key=(3, i), warm_up=50.0, bin=70.0, bins=20) for i in range(5)]
    for outcome in (replicate(RICH, run) for run in runs):
        hours = 70.0 * np.arange(21)
        assert outcome.ledger[:, : len(ACCOUNTS)].sum(axis=1) == pytest.approx(hours, abs=1e-6)
        assert outcome.unusable_h.sum() == pytest.approx(1400.0)
        unusable = float(outcome.unusable_h @ np.arange(11))
        assert outcome.ledger[-1, LEDGER.index("usable_block_h")] == pytest.approx(14_000.0 - unusable)
        assert outcome.hours == 1400.0 and 0 <= outcome.ledger[1:, -1].min() < outcome.ledger[1:, -1].max() <= 10


def test_the_job_ends_where_its_work_is_done() -> None:
    """A run that ends with the job has recorded just its useful hours, and no run without it had them before."""
    run = small_run(warm_up=50.0, bin=70.0, bins=20)
    outcome = replicate(RICH, run._replace(until_useful=300.0))
    assert outcome.ledger[-1, 0] == pytest.approx(300.0, abs=1e-9) and outcome.hours < 1400.0
    whole = replicate(RICH, run).ledger[:, 0]
    assert whole[int(outcome.hours / 70.0)] <= 300.0 <= whole[math.ceil(outcome.hours / 70.0) :].max()


def test_nothing_that_fails_is_all_useful() -> None:
    """A system without faults works and saves until the end."""
    outcome = replicate(small_system(save=1.0), small_run())
    assert outcome.ledger[-1, :7].tolist() == [80.0, 20.0, 0, 0, 0, 0, 0] and outcome.events == 0


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"trace_time": np.ones(1)}, "trace"),
        ({"ageing": WORKING}, "ageing"),
        ({"ageing": COMPUTING}, "ageing"),
        ({"life_law": np.array([WEIBULL])}, "lifetimes"),
        ({"lemon_share": np.array([0.1]), "lemon_multiple": np.array([3.0])}, "lemons"),
        ({"burn_in": np.array([9.0]), "burn_in_multiple": np.array([3.0])}, "burn_in"),
        ({"silent_share": np.array([0.1])}, "silent"),
        ({"burst_rate": np.array([0.1])}, "bursts"),
        ({"repair_law": np.array([DETERMINISTIC])}, "hands-on"),
        ({"phase_mean": np.array([0.0])}, "0 h"),
        ({"duty": np.array([40.0])}, "part of the week"),
        ({"zone_shelf": np.array([0])}, "shelf"),
        ({"start_at": np.array([2])}, "start_at"),
        ({"window": np.array([24.0])}, "window"),
        ({"scheme": GROUPS}, "groups"),
        ({"warm": 1}, "standbys"),
    ],
)
def test_what_needs_units_is_named(fields: dict[str, Any], why: str) -> None:
    """Each thing that counts don't carry is refused with its name; without it counts suffice."""
    system = small_system(tray=Class(0.01))
    assert counts_suffice(system) is None
    assert why in (counts_suffice(system._replace(**fields)) or "")


def test_the_simulation_says_what_it_played() -> None:
    """By counts the shipped instance agrees with its exact model; two processes give the same bytes as one."""
    instance, decisions = read_instance("academic-1k"), read_decisions(PLAN)
    result = spareopt.simulate(instance, decisions, by="counts", confidence=0.999, replications=40)
    assert {name: row.inside for name, row in result.agreement.items()} == dict.fromkeys(result.agreement, True)
    assert result.options.by == "counts" and "by counts" in result.evaluation.method["cett"]
    few = [spareopt.simulate(instance, decisions, by="counts", replications=4, processes=n).to_json() for n in (1, 2)]
    assert few[0] == few[1]


def test_counts_are_refused_with_a_reason() -> None:
    """An instance with a law that is not exponential, an unknown word and a comparison are one message each."""
    with pytest.raises(InputError, match=r"hands-on times are not exponential.*use 'units'"):
        case = read_instance("academic-1k", overrides={"repair_plans.day-shift.tray.law": "deterministic"})
        spareopt.simulate(case, read_decisions(PLAN), by="counts")
    with pytest.raises(InputError, match="expected 'units' or 'counts'"):
        spareopt.simulate(read_instance("academic-1k"), read_decisions(PLAN), by="count")  # type: ignore[arg-type]
    result = CliRunner().invoke(main, ["simulate", "academic-1k", "--by", "counts", "--against", "x"])
    assert result.exit_code == 2 and "--by counts does not go with --against" in result.stderr
