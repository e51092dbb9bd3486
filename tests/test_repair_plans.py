"""Shelf, deferral, repair laws and costs of a repair plan: from the instance to the score, against own calculations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom

import spareopt
from spareopt import InputError, read_instance
from spareopt.decisions import Decisions
from spareopt.evaluation import Evaluation
from spareopt.instance import Instance
from tests.small_chains import stationary

RATE, RACK_RATE, LEAD = 0.02, 0.004, 30.0  # faults per hour; hours
EXACT_STAFF = "exact for exponential hands-on times, first come, first served"
SHELF = "approximation: waits for a tray from the shelf and swaps overlap in law only, as if independent"


def small(plan: dict[str, Any] | list[dict[str, Any]], racks: int = 2, **changes: Any) -> dict[str, Any]:
    """A zone of so many racks of one block of 2 trays; the repair plan or plans; changes replace top-level fields."""
    return {
        "schema_version": 1,
        "name": "small",
        "zones": [{"name": "zone", "racks": racks}],
        "designs": [
            {
                "name": "block",
                "trays_per_block": 2,
                "gpus_per_tray": 4,
                "intra_block_spares": [0, 1],
                "inter_block_spares": [0],
                "rack_price": "1 M$",
            }
        ],
        "failures": {"tray": {"rate": f"{RATE} per h"}},
        "repair_plans": plan if isinstance(plan, list) else [plan],
        "checkpoint_plans": [
            {"name": "best", "period": "best", "save": "1 min", "detection": "1 min", "restart": "5 min"}
        ],
    } | changes


def instance_of(plan: dict[str, Any] | list[dict[str, Any]], racks: int = 2, **changes: Any) -> Instance:
    return read_instance(small(plan, racks, **changes))


def decide(intra: int, inter: int, racks: int = 2, plan: str = "plan", **choice: Any) -> Decisions:
    zone = {"zone": "zone", "design": "block", "racks": racks, "intra_block_spares": intra, "inter_block_spares": inter}
    return spareopt.read_decisions({"zones": [zone | {"repair_plan": plan} | choice], "checkpoint_plan": "best"})


def score(plan: dict[str, Any], intra: int, inter: int, racks: int = 2, **changes: Any) -> Evaluation:
    return spareopt.evaluate(instance_of({"name": "plan"} | plan, racks, **changes), decide(intra, inter, racks))


RACKS = {"failures": {"tray": {"rate": f"{RATE} per h"}, "rack": {"rate": f"{RACK_RATE} per h"}}}
CASES = list(itertools.product((0, 1), (0, 1)))


def short(down_trays: Any, intra: int, inter: int, blocks: int = 2, down_racks: Any = ()) -> bool:
    """Whether a zone of blocks of 2 trays (numbered one after the other) is short."""
    down = [sum(2 * b <= tray < 2 * b + 2 for tray in down_trays) > intra or b in down_racks for b in range(blocks)]
    return bool(sum(down) > inter)


# --- the shelf of a zone


def instant_swaps(intra: int, inter: int, shelf: int, share: float) -> float:
    """P(short): 4 trays, swaps that take no time, a queue of the trays that wait for a new one, the vendor's orders."""

    def moves(state: tuple[tuple[int, ...], int]) -> Iterator[tuple[Any, float]]:
        waiting, on_order = state
        for tray in set(range(4)) - set(waiting):  # with a tray on the shelf the swap is over at once
            yield ((waiting if on_order < shelf else (*waiting, tray)), on_order + 1), share * RATE
        yield (waiting[1:], on_order - 1), on_order / LEAD

    return sum(p for (waiting, _), p in stationary(((), 0), moves).items() if short(waiting, intra, inter))


@pytest.mark.parametrize(("intra", "inter"), CASES)
@pytest.mark.parametrize(("shelf", "share"), [(0, 1.0), (1, 1.0), (2, 0.6)])
def test_shelf_with_instant_swaps_against_the_whole_chain(intra: int, inter: int, shelf: int, share: float) -> None:
    """Proves the shelf where its law is exact: swaps in no time, every tray's place in the queue told apart.

    A share of the parts, a lead time or a shelf lost on the way from the instance would show at once.
    """
    plan = {"tray": {"hands_on": "0 h"}, "shelf": shelf, "lead_time": f"{LEAD} h", "parts_share": share}
    result = score(plan, intra, inter)
    assert result.unavailability == pytest.approx(instant_swaps(intra, inter, shelf, share), rel=1e-10)
    assert result.method["availability"] == SHELF
    ampler = score(plan | {"tray": {"hands_on": "0 h"}, "crews": 1}, intra, inter)
    assert ampler.unavailability == pytest.approx(result.unavailability, rel=1e-10)


@pytest.mark.parametrize(("intra", "inter"), CASES)
def test_shelf_beside_one_crew_for_racks_against_the_whole_chain(intra: int, inter: int) -> None:
    """Proves the shelf beside crews and racks where it is exact: instant swaps, so that the one crew has racks only.

    Racks that did not queue for the crew, or trays that did, would change the value.
    """
    work = 9.0

    def moves(racks: tuple[int, ...]) -> Iterator[tuple[Any, float]]:
        for rack in {0, 1} - set(racks):
            yield (*racks, rack), RACK_RATE
        if racks:
            yield racks[1:], 1 / work

    def shelf_moves(state: tuple[tuple[int, ...], int]) -> Iterator[tuple[Any, float]]:
        waiting, on_order = state
        for tray in set(range(4)) - set(waiting):
            yield ((waiting if on_order < 1 else (*waiting, tray)), on_order + 1), RATE
        yield (waiting[1:], on_order - 1), on_order / LEAD

    expected = sum(
        p * q
        for (waiting, _), p in stationary(((), 0), shelf_moves).items()
        for racks, q in stationary((), moves).items()
        if short(waiting, intra, inter, down_racks=racks)
    )
    times = {"tray": {"hands_on": "0 h"}, "rack": {"hands_on": f"{work} h"}}
    plan = times | {"shelf": 1, "lead_time": f"{LEAD} h", "crews": 1}
    assert score(plan, intra, inter, **RACKS).unavailability == pytest.approx(expected, rel=1e-10)


def no_shelf_one_crew(intra: int, inter: int, share: float, delay: float, work: float) -> float:
    """P(short): a tray fails, waits for its own new tray (or not), then for a delay, then in line for the one crew."""

    def moves(state: tuple[tuple[str, ...], tuple[int, ...]]) -> Iterator[tuple[Any, float]]:
        places, queue = state
        for tray, place in enumerate(places):
            before, after = places[:tray], places[tray + 1 :]
            if place == "up":
                yield ((*before, "order", *after), queue), share * RATE
                yield ((*before, "delay", *after), queue), (1 - share) * RATE
            elif place == "order":
                yield ((*before, "delay", *after), queue), 1 / LEAD
            elif place == "delay":
                yield ((*before, "line", *after), (*queue, tray)), 1 / delay
        if queue:
            yield ((*places[: queue[0]], "up", *places[queue[0] + 1 :]), queue[1:]), 1 / work

    law = stationary((("up",) * 4, ()), moves)
    return sum(p for (places, _), p in law.items() if short([t for t in range(4) if places[t] != "up"], intra, inter))


@pytest.mark.parametrize(("intra", "inter"), CASES)
def test_no_tray_on_the_shelf_is_one_more_delay(intra: int, inter: int) -> None:
    """Proves the exact limit of a shelf of 0: every part is ordered when a tray fails, and waits for nothing else.

    With one crew against the whole chain; with ample crews the mean time to repair is just longer by share × lead time.
    """
    times = {"tray": {"hands_on": "3 h", "off_crew": "2 h"}}
    stock = {"shelf": 0, "lead_time": f"{LEAD} h", "parts_share": 0.75}
    crewed = score(times | stock | {"crews": 1}, intra, inter)
    assert crewed.unavailability == pytest.approx(no_shelf_one_crew(intra, inter, 0.75, 2.0, 3.0), rel=1e-10)
    assert crewed.method["availability"] == f"{SHELF}; {EXACT_STAFF}"
    down = RATE * (5 + 0.75 * LEAD) / (1 + RATE * (5 + 0.75 * LEAD))
    expected = binom.sf(inter, 2, binom.sf(intra, 2, down))
    assert score(times | stock, intra, inter).unavailability == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("racks_fail", [False, True])
@pytest.mark.parametrize("crews", [None, 1])
def test_a_large_shelf_is_none(racks_fail: bool, crews: int | None) -> None:
    """Proves the other limit: where a tray is always at hand the score is that of a plan that states no shelf."""
    times = {"tray": {"hands_on": "6 h", "off_crew": "2 h"}}
    times |= {"rack": {"hands_on": "6 h"}} if racks_fail else {}
    times |= {"crews": crews} if crews else {}  # type: ignore[dict-item]
    for intra, inter in CASES:
        with_shelf = score(
            times | {"shelf": 60, "lead_time": f"{LEAD} h"}, intra, inter, **(RACKS if racks_fail else {})
        )
        without = score(times, intra, inter, **(RACKS if racks_fail else {}))
        assert with_shelf.unavailability == pytest.approx(without.unavailability, rel=1e-10)
        assert with_shelf.interruption_rate_per_h == without.interruption_rate_per_h
        assert with_shelf.zones[0].crew_utilisation == without.zones[0].crew_utilisation


@pytest.mark.parametrize("shelf", [0, 1, 2])
def test_how_far_the_approximate_shelf_is_off(shelf: int) -> None:
    """Proves that what is called an approximation is near: swaps that take time, 4 trays, ample crews, whole chain.

    Positions are up, waiting for a tray, or in the swap; a shelf of 0 is exact, others within 7 % here.
    """
    swap = 2.0

    def moves(state: tuple[tuple[int, ...], frozenset[int], int]) -> Iterator[tuple[Any, float]]:
        waiting, swapped, on_order = state
        for tray in set(range(4)) - set(waiting) - swapped:
            if on_order < shelf:
                yield (waiting, swapped | {tray}, on_order + 1), RATE
            else:
                yield ((*waiting, tray), swapped, on_order + 1), RATE
        if on_order:
            yield (waiting[1:], swapped | set(waiting[:1]), on_order - 1), on_order / LEAD
        for tray in swapped:
            yield (waiting, swapped - {tray}, on_order), 1 / swap

    law = stationary(((), frozenset(), 0), moves)
    expected = sum(p for (waiting, swapped, _), p in law.items() if short({*waiting, *swapped}, 1, 0))
    plan = {"tray": {"hands_on": f"{swap} h"}, "shelf": shelf, "lead_time": f"{LEAD} h"}
    assert score(plan, 1, 0).unavailability == pytest.approx(expected, rel=1e-10 if shelf == 0 else 0.07)


@pytest.mark.parametrize("shelf", [0, 1])
def test_racks_that_hardly_ever_fail_change_nothing_beside_a_shelf_and_crews(shelf: int) -> None:
    """Proves that the score is continuous in the racks' rate: at 1e-9 per hour it is that of racks which never fail.

    Laws of waiting trays and of crews that were simply added up, as if each had all trays to itself, would be off
    by a factor of 2.
    """
    plan = {"tray": {"hands_on": "5 h"}, "crews": 1, "shelf": shelf, "lead_time": f"{LEAD} h"}
    failures = {"tray": {"rate": f"{RATE} per h"}, "rack": {"rate": "1e-9 per h"}}
    rarely = score(plan | {"rack": {"hands_on": "5 h"}}, 1, 1, failures=failures)
    assert rarely.unavailability == pytest.approx(score(plan, 1, 1).unavailability, rel=1e-3)


@pytest.mark.parametrize("plan", [{"crews": 9}, {"shelf": 60, "lead_time": "30 h"}])
def test_the_rack_of_a_zone_of_one_block_is_counted_once(plan: dict[str, Any]) -> None:
    """Proves that a zone of a single block takes its rack from the law of what failed, not from there and again."""
    times = {"tray": {"hands_on": "3 h"}, "rack": {"hands_on": "7 h"}}
    result = score(times | plan, 0, 0, racks=1, **RACKS)
    expected = 1 - (1 / (1 + RATE * 3)) ** 2 / (1 + RACK_RATE * 7)
    assert result.unavailability == pytest.approx(expected, rel=1e-9)


# --- deferred repair


def block_law(trays: int, start_at: int, delay: float, work: float) -> dict[tuple[int, str], float]:
    """The law of (trays down, phase) of a block: a visit is called, comes after a delay, and mends all that is down."""

    def moves(state: tuple[int, str]) -> Iterator[tuple[Any, float]]:
        down, phase = state
        after = "called" if phase == "idle" and down + 1 >= start_at else phase
        yield (down + 1, after), (trays - down) * RATE
        if phase == "called":
            yield (down, "visit"), 1 / delay
        if phase == "visit":
            yield (down - 1, "visit" if down > 1 else "idle"), down / work

    return stationary((0, "idle"), moves)


@pytest.mark.parametrize(("start_at", "out_of_service"), [(1, "block"), (2, "tray"), (2, "rack"), (3, "block")])
@pytest.mark.parametrize(("intra", "inter"), [(0, 0), (1, 1), (2, 1)])
def test_deferred_repair_against_its_chain(start_at: int, out_of_service: str, intra: int, inter: int) -> None:
    """Proves start_at and out_of_service through evaluate(): a chain of one block, racks beside it, a binomial zone.

    A visit that came without its delay, left the block in service, or a rack forgotten, would change the value.
    """
    law = block_law(3, start_at, 4.0, 6.0)
    gone = out_of_service != "tray"
    block = sum(p for (down, phase), p in law.items() if down > intra or (gone and phase == "visit"))
    rack = RACK_RATE * 7 / (1 + RACK_RATE * 7)
    expected = binom.sf(inter, 4, rack + (1 - rack) * block)
    plan = {"name": "plan", "tray": {"hands_on": "6 h", "off_crew": "4 h"}, "rack": {"hands_on": "7 h"}}
    data = small(plan | {"start_at": [1, 2, 3], "out_of_service": out_of_service, "swap_stop": "30 min"}, 4, **RACKS)
    data["designs"][0] |= {"trays_per_block": 3, "intra_block_spares": [0, 1, 2], "inter_block_spares": [0, 1]}
    result = spareopt.evaluate(read_instance(data), decide(intra, inter, 4, start_at=start_at))
    assert result.unavailability == pytest.approx(expected, rel=1e-10)
    assert result.method["availability"] == "exact for exponential hands-on times and delays of each block's repair"
    # visits that find the block usable interrupt the job, once per working block
    visits = sum(p / 4.0 for (down, phase), p in law.items() if phase == "called" and down <= intra)
    assert_stops(result, visits * (4 - inter) * 0.5)


def assert_stops(result: Evaluation, hours: float) -> None:
    """The planned stops come to so many hours per hour of running: share and factor, and the shares sum to 1."""
    share = result.working_gpus / result.gpus * result.availability
    assert result.losses["planned_stops"] == pytest.approx(share * -np.expm1(-hours), rel=1e-9, abs=1e-15)
    rest = sum(result.losses[k] for k in ("checkpoint_saves", "detection_and_restart", "lost_work", "useful"))
    assert rest == pytest.approx(share * np.exp(-hours), rel=1e-12)
    assert sum(result.losses.values()) == pytest.approx(1.0, abs=1e-12)
    assert ("planned stops come at random" in result.method["recovery_efficiency"]) == (hours > 0)


def test_deferred_repair_below_a_domain_of_two_racks() -> None:
    """Proves deferral where blocks are not independent: 4 blocks under 2 cooling units, all up/down states added up."""
    law = block_law(2, 2, 4.0, 6.0)
    block = sum(p for (down, phase), p in law.items() if down > 1 or phase == "visit")
    unit = 0.01 * 5 / (1 + 0.01 * 5)
    expected = 0.0
    for states in itertools.product((0, 1), repeat=6):
        units, blocks = states[:2], states[2:]
        chance = np.prod([unit if down else 1 - unit for down in units])
        chance *= np.prod([block if down else 1 - block for down in blocks])
        expected += chance * (sum(blocks[b] or units[b // 2] for b in range(4)) > 1)
    cdu = {"name": "cdu", "spans": "2 racks", "rate": "0.01 per h", "repair": {"hands_on": "5 h"}}
    plan = {"tray": {"hands_on": "6 h", "off_crew": "4 h"}, "start_at": 2, "out_of_service": "block"}
    failures = {"tray": {"rate": f"{RATE} per h"}, "domains": [cdu]}
    assert score(plan, 1, 1, 4, failures=failures).unavailability == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("out_of_service", ["tray", "block"])
@pytest.mark.parametrize(("intra", "inter"), CASES)
def test_windows_by_quadrature(out_of_service: str, intra: int, inter: int) -> None:
    """Proves the repair window through evaluate(): each tray's chance to be down by the hour, all blocks in one phase.

    The fixed point of a tray's chance at a window is found by iteration; a zone that averaged its blocks' chances
    over the phase before the binomial would differ.
    """
    period, repair = 50.0, 8.0
    at_window = 0.5
    for _ in range(400):
        mended = np.exp(-RATE * (period - repair))  # up since it came back
        at_window = at_window * (1 - mended) + (1 - at_window) * (1 - np.exp(-RATE * period))

    def zone_short(hours: float) -> float:
        fresh = 1 - np.exp(-RATE * hours)
        if hours < repair and out_of_service == "block":
            none_in_hand = (1 - at_window) ** 2
            block = 1 - none_in_hand + none_in_hand * binom.sf(intra, 2, fresh)
        else:
            taken = 1.0 if hours < repair else 1 - np.exp(-RATE * (hours - repair))
            block = binom.sf(intra, 2, at_window * taken + (1 - at_window) * fresh)
        rack = RACK_RATE * 7 / (1 + RACK_RATE * 7)
        return float(binom.sf(inter, 3, rack + (1 - rack) * block))

    expected = sum(quad(zone_short, *ends, epsabs=0, epsrel=1e-11)[0] for ends in ((0, repair), (repair, period)))
    plan = {"tray": {"hands_on": "8 h", "law": "deterministic"}, "rack": {"hands_on": "7 h"}, "window": f"{period} h"}
    plan |= {"out_of_service": out_of_service, "swap_stop": "15 min"}
    result = score(plan, intra, inter, 3, **RACKS)
    assert result.unavailability == pytest.approx(expected / period, rel=1e-9)
    assert "windows of the zones at different times" in result.method["availability"]
    other = score(plan | {"tray": {"hands_on": "5 h", "off_crew": "3 h"}}, intra, inter, 3, **RACKS)
    assert other.unavailability == pytest.approx(result.unavailability, rel=1e-12)
    assert other.method["availability"] == "approximation: repairs at a window as if each took its mean time"
    # one stop for each window that finds a working block with trays down which is not unusable
    in_hand = sum(binom.pmf(down, 2, at_window) for down in range(1, intra + 1))
    assert_stops(result, 0.25 / period * (1 - (1 - in_hand) ** (3 - inter)))


@pytest.mark.parametrize("intra", [0, 1])
def test_swaps_of_trays_at_once_stop_the_job(intra: int) -> None:
    """Proves planned stops of repair at once: each fault of a tray that leaves its working block usable costs one stop.

    Without spare trays the fault itself takes the block out of the job, which does not stand still for its repair.
    """
    down = RATE * 5 / (1 + RATE * 5)
    visits = 2 * sum(binom.pmf(d, 2, down) * (2 - d) * RATE for d in range(intra))
    plan = {"tray": {"hands_on": "3 h", "off_crew": "2 h"}}
    assert_stops(score(plan | {"swap_stop": "20 min"}, intra, 0), visits / 3)
    failures = {"tray": {"rate": f"{RATE} per h"}, "planned": {"rate": "0.05 per h", "stop": "30 min"}}
    both = score(plan | {"swap_stop": "20 min"}, intra, 0, failures=failures)
    assert_stops(both, visits / 3 + 0.025)
    assert both.cett == pytest.approx(score(plan, intra, 0).cett * np.exp(-visits / 3 - 0.025), rel=1e-12)


# --- laws of repair times

PHASES = [{"share": 0.75, "hands_on": "1 h"}, {"share": 0.25, "hands_on": "9 h"}]
LAWS: list[dict[str, Any]] = [
    {"hands_on": "3 h", "law": "deterministic"},
    {"hands_on": "3 h", "law": "lognormal", "variation": 1.5},
    {"phases": PHASES},
    {"phases": PHASES, "law": "deterministic"},
]


@pytest.mark.parametrize("law", LAWS)
def test_only_the_mean_matters_with_ample_crews_and_crews_name_the_approximation(law: dict[str, Any]) -> None:
    """Proves that a law changes no byte of a score with ample crews (a shelf too), and with crews is named.

    The phases' mean is Σ share × hands_on = 3 h: any other mean would change the score.
    """
    for extra in ({}, {"shelf": 1, "lead_time": "30 h"}):
        plain = score({"tray": {"hands_on": "3 h", "off_crew": "2 h"}} | extra, 1, 0)
        other = score({"tray": law | {"off_crew": "2 h"}} | extra, 1, 0)
        assert other.model_dump_json() == plain.model_dump_json()
    crewed = score({"tray": law, "crews": 1}, 1, 0)
    assert crewed.unavailability == score({"tray": {"hands_on": "3 h"}, "crews": 1}, 1, 0).unavailability
    assert crewed.method["availability"].startswith("exact if crews divide their time evenly")


def test_phases_of_one_length_are_exponential() -> None:
    """Proves that phases that all take equally long are no other law: the score is exact, as for one hands-on time."""
    alike = {"phases": [{"share": 0.5, "hands_on": "3 h"}, {"share": 0.5, "hands_on": "3 h"}]}
    one, other = (score({"tray": tray, "crews": 1}, 1, 0) for tray in (alike, {"hands_on": "3 h"}))
    assert one.model_dump_json() == other.model_dump_json()
    assert one.method["availability"] == EXACT_STAFF


# --- costs, limits and choices


def two_zones(plans: list[dict[str, Any]], **changes: Any) -> Instance:
    zones = [{"name": "zone", "racks": 2, "count": 2}, {"name": "other", "racks": 2}]
    return instance_of(plans, zones=zones, **changes)


def both(first: dict[str, Any], second: dict[str, Any]) -> Decisions:
    common = {"design": "block", "racks": 2, "intra_block_spares": 1, "inter_block_spares": 0}
    zones = [common | {"zone": "zone", "count": 2} | first, common | {"zone": "other"} | second]
    return spareopt.read_decisions({"zones": zones, "checkpoint_plan": "best"})


@pytest.mark.parametrize(("shared_by", "shelves", "crews"), [("zone", 2 * 3 + 1, 2 * 2 + 4), ("site", 3, 2)])
def test_crews_and_shelves_are_paid_and_counted_once_for_whoever_has_them(
    shared_by: str, shelves: int, crews: int
) -> None:
    """Proves money and limits: each zone pays its own crews and shelf, a site pays them once, each zone its plan.

    Three zones: capital 6 racks at 1 M$, each tray 0.1 M$; a crew 0.2 M$ and the plan 0.05 M$ a year.
    """
    plan = {
        "name": "plan", "tray": {"hands_on": "3 h"}, "crews": [2, 4], "crew_cost": "0.2 M$ per year", "shelf": [1, 3],
        "lead_time": "30 h", "tray_price": "0.1 M$", "yearly_cost": "0.05 M$ per year", "shared_by": shared_by,
    }  # fmt: skip
    instance = two_zones([plan], limits={"crews": 7, "shelf_trays": 7})
    first = {"repair_plan": "plan", "crews": 2, "shelf_trays": 3}
    second = first if shared_by == "site" else first | {"crews": 4, "shelf_trays": 1}
    result = spareopt.evaluate(instance, both(first, second))
    assert result.capital == pytest.approx(6e6 + 1e5 * shelves, rel=1e-12)
    assert result.yearly_cost == pytest.approx(3 * 0.05e6 + crews * 0.2e6, rel=1e-12)
    assert result.cost_per_year == pytest.approx((6e6 + 1e5 * shelves) / 4 + 150_000 + crews * 200_000, rel=1e-12)
    slack = {limit.limit: (limit.value, limit.slack, limit.violated) for limit in result.limits}
    assert slack == {"crews": (crews, 7 - crews, crews > 7), "shelf_trays": (shelves, 7 - shelves, False)}


def test_a_choice_may_be_left_out_where_there_is_one() -> None:
    """Proves that decisions without crews, shelf or start_at take the only one offered; of several, one is named."""
    plans = [
        {"name": "one", "tray": {"hands_on": "3 h"}, "crews": 1, "shelf": [2], "lead_time": "30 h"},
        {"name": "several", "tray": {"hands_on": "3 h"}, "crews": [1, 2], "shelf": [0, 2], "lead_time": "30 h"},
        {"name": "later", "tray": {"hands_on": "3 h"}, "start_at": [1, 2]},
        {"name": "ample", "tray": {"hands_on": "3 h"}},
    ]
    instance = instance_of(plans)
    named = spareopt.evaluate(instance, decide(1, 0, plan="one", crews=1, shelf_trays=2))
    assert spareopt.evaluate(instance, decide(1, 0, plan="one")).model_dump_json() == named.model_dump_json()
    for plan, lacking in (("several", ["crews", "shelf_trays"]), ("later", ["start_at"])):
        with pytest.raises(InputError) as refused:
            spareopt.evaluate(instance, decide(1, 0, plan=plan))
        assert [fault.field for fault in refused.value.faults] == [f"zones.0.{field}" for field in lacking]
        assert "required with repair plan" in str(refused.value)
    with pytest.raises(InputError, match="repair plan 'ample' states no crews; leave it out"):
        spareopt.evaluate(instance, decide(1, 0, plan="ample", crews=1))


@pytest.mark.parametrize(
    ("plan", "choice", "text"),
    [
        ({"start_at": [1, 2]}, {"start_at": 3}, "zones.0.start_at: expected at most the 2 trays of a block, got 3"),
        ({"start_at": 1, "crews": 1}, {"start_at": 2}, "zones.0.start_at: expected 1 with a number of crews"),
        ({"crews": [1, 2]}, {"crews": 0}, "zones.0.crews: expected at least 1"),
        ({"shelf": [1], "lead_time": "3 h"}, {"shelf_trays": -1}, "zones.0.shelf_trays: expected at least 0"),
    ],
)
def test_impossible_choices_of_a_repair_plan_are_faults(plan: Any, choice: dict[str, Any], text: str) -> None:
    """Proves that a plan of the planner's own with an impossible choice is refused by its field, with no traceback."""
    instance = instance_of({"name": "plan", "tray": {"hands_on": "3 h"}} | plan)
    with pytest.raises(InputError) as refused:
        spareopt.evaluate(instance, decide(1, 0, **choice))
    assert text in str(refused.value)


def test_a_plan_shared_by_the_site_is_taken_by_all_zones_alike() -> None:
    """Proves that a site's crews can't be had by some zones, or in different numbers: the first zone would decide."""
    plans = [
        {"name": "site", "tray": {"hands_on": "3 h"}, "crews": [1, 2], "shared_by": "site"},
        {"name": "own", "tray": {"hands_on": "3 h"}},
    ]
    instance = two_zones(plans)
    site, own = {"repair_plan": "site", "crews": 1}, {"repair_plan": "own"}
    for first, second in ((site, own), (own, site), (site, site | {"crews": 2})):
        with pytest.raises(InputError, match="'site' is shared by the site: every zone must take it"):
            spareopt.evaluate(instance, both(first, second))
    assert spareopt.evaluate(instance, both(site, site)).unavailability > 0


# --- properties planners rely on

HOURS = st.floats(0.5, 60.0).map(lambda hours: round(hours, 3))
KINDS = ("ample", "crews", "shelf", "both")


def staffed(kind: str, hands_on: float, crews: int = 1, shelf: int = 1, lead: float = LEAD) -> dict[str, Any]:
    plan: dict[str, Any] = {"tray": {"hands_on": f"{hands_on} h", "off_crew": "1 h"}}
    plan |= {"crews": crews} if kind in ("crews", "both") else {}
    return plan | ({"shelf": shelf, "lead_time": f"{lead} h"} if kind in ("shelf", "both") else {})


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), HOURS, st.integers(0, 1), st.integers(0, 2), st.integers(1, 3), st.integers(0, 3))
def test_better_repair_never_lowers_availability(
    kind: str, hands_on: float, intra: int, inter: int, crews: int, shelf: int
) -> None:
    """Proves for all four kinds of plan: one more crew, one more tray, one more I or R and a longer MTBF never hurt.

    Faster hands-on work neither, with a shelf where share × rate × lead time <= 1: beyond that positions that are back
    sooner fail sooner and may empty the shelf.  (Deferred repair has no such property: with start_at a faster fault
    calls the visit earlier.)
    """

    def up(i: int = intra, r: int = inter, rate: float = RATE, **plan: Any) -> float:
        numbers = {"hands_on": hands_on, "crews": crews, "shelf": shelf} | plan
        failures = {"tray": {"rate": f"{rate} per h"}}
        return score(staffed(kind, **numbers), i, r, 4, failures=failures).unavailability * (1 - 1e-11)

    here = up() / (1 - 1e-11) ** 2
    assert up(crews=crews + 1) <= here
    assert up(shelf=shelf + 1) <= here
    assert up(i=1) <= here
    assert up(r=inter + 1) <= here
    assert up(rate=RATE / 1.3) <= here
    assert RATE * LEAD <= 1
    assert up(hands_on=hands_on * 0.8) <= here
