"""What the zones of a site share (crews, shelf, domains, uncertain rates) and other laws, through evaluate()."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import exp
from math import gamma as gamma_function
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import lambertw
from scipy.stats import binom, gamma

import spareopt
from spareopt import InfeasibleError, InputError, read_instance
from spareopt.decisions import Decisions
from spareopt.evaluation import Evaluation
from spareopt.exact import FEEDS, FIRST_COME, ONE_REPAIR, PER_BLOCK, REPAIRS_IN_SAVES, SHARED_WORK, SHELF
from spareopt.instance import Instance
from spareopt.numerics.ageing import computing_only, working_only
from tests.brute_force import best_value
from tests.small_chains import stationary

RATE, RACK_RATE, LEAD = 0.02, 0.005, 30.0  # faults per hour; hours
POOLED = "zones that share crews or a shelf are scored together, under one law of their failed trays and racks"
ACROSS = "conditioned on the states of the domains that cut across zones"
UNCERTAIN = "mixed over the Gamma-distributed multiplier"
SAVE, RECOVERY = 1 / 60, 6 / 60  # hours


def design(name: str, trays: int, **changes: Any) -> dict[str, Any]:
    spares = {"intra_block_spares": list(range(trays)), "inter_block_spares": [0, 1, 2, 3]}
    return {"name": name, "trays_per_block": trays, "gpus_per_tray": 4, "rack_price": "1 M$"} | spares | changes


def site(zones: dict[str, tuple[int, int, int]], **changes: Any) -> Instance:
    """Zones by name: how many, racks of each, trays of the one block of a rack (which names the design)."""
    fewest = min(racks for _, racks, _ in zones.values())
    spares = {"inter_block_spares": list(range(min(4, fewest)))}
    return read_instance(
        {
            "schema_version": 1,
            "name": "site",
            "zones": [
                {"name": name, "count": count, "racks": racks, "designs": [f"k{trays}"]}
                for name, (count, racks, trays) in zones.items()
            ],
            "designs": [design(f"k{trays}", trays, **spares) for trays in sorted({z[2] for z in zones.values()})],
            "failures": {"tray": {"rate": f"{RATE} per h"}},
            "repair_plans": [{"name": "plan", "tray": {"hands_on": "5 h"}}],
            "checkpoint_plans": [
                {"name": "best", "period": "best", "save": "1 min", "detection": "1 min", "restart": "5 min"}
            ],
        }
        | changes
    )


def decide(instance: Instance, spares: dict[str, tuple[int, int]], plan: str = "best", **choice: Any) -> Decisions:
    """All zones of a class alike, with so many (I, R)."""
    zones = [
        {
            "zone": zone.name, "count": zone.count, "design": zone.designs[0], "racks": zone.racks[0],
            "intra_block_spares": spares[zone.name][0], "inter_block_spares": spares[zone.name][1],
            "repair_plan": instance.repair_plans[0].name,
        } | choice
        for zone in instance.zones
        if zone.designs is not None
    ]  # fmt: skip
    return spareopt.read_decisions({"zones": zones, "checkpoint_plan": plan})


def score(instance: Instance, spares: dict[str, tuple[int, int]], plan: str = "best", **choice: Any) -> Evaluation:
    """The evaluation, of which the losses must sum to 1 whatever is shared, with no share below 0."""
    result = spareopt.evaluate(instance, decide(instance, spares, plan, **choice))
    assert sum(result.losses.values()) == pytest.approx(1.0, abs=1e-12)
    assert min(result.losses.values()) >= -1e-15
    assert result.losses["useful"] == pytest.approx(result.cett, rel=1e-12)
    assert result.availability + result.unavailability == pytest.approx(1.0, abs=1e-12)
    return result


# --- crews and a shelf of the site

Unit = tuple[str, int, int]  # tray or rack, zone, block


def units_of(zones: list[tuple[int, int]], racks: bool) -> list[Unit]:
    """The trays (several of a block are equal entries told apart by their place) and racks of (blocks, trays) zones."""
    units: list[Unit] = []
    for z, (blocks, trays) in enumerate(zones):
        units += [("tray", z, b) for b in range(blocks) for _ in range(trays)]
        units += [("rack", z, b) for b in range(blocks)] if racks else []
    return units


def site_short(units: list[Unit], failed: frozenset[int], zones: list[tuple[int, int]], spares: list[Any]) -> bool:
    """Whether any zone has more than R blocks with a failed rack or more than I failed trays."""
    for z, ((blocks, _), (intra, inter)) in enumerate(zip(zones, spares, strict=True)):
        down = [units[u] for u in failed if units[u][1] == z]
        unusable = sum(("rack", z, b) in down or down.count(("tray", z, b)) > intra for b in range(blocks))
        if unusable > inter:
            return True
    return False


def shared_crews(zones: list[tuple[int, int]], spares: list[Any], crews: int, work: dict[str, float]) -> float:
    """P(any zone is short) with every unit's state told apart and crews that serve all zones.

    With one hands-on time units are taken from the line at random, each by one crew; with two, all open units share
    the crews evenly.
    """
    units = units_of(zones, "rack" in work)
    rates = [RATE if kind == "tray" else RACK_RATE for kind, _, _ in units]
    times = [work[kind] for kind, _, _ in units]

    def shared(failed: frozenset[int]) -> Iterator[tuple[Any, float]]:
        for u in range(len(units)):
            if u in failed:
                yield failed - {u}, min(crews, len(failed)) / len(failed) / times[u]
            else:
                yield failed | {u}, rates[u]

    def in_line(state: tuple[frozenset[int], frozenset[int]]) -> Iterator[tuple[Any, float]]:
        failed, served = state
        for u in range(len(units)):
            if u not in failed:
                yield (failed | {u}, served | {u} if len(served) < crews else served), rates[u]
        for u in served:
            line = failed - served
            for following in line or [None]:
                now = served - {u} | ({following} if following is not None else set())
                yield (failed - {u}, now), 1 / times[u] / max(1, len(line))

    if len(set(times)) == 1:
        law = stationary((frozenset(), frozenset()), in_line)
        return sum(p for (failed, _), p in law.items() if site_short(units, failed, zones, spares))
    law = stationary(frozenset(), shared)
    return sum(p for failed, p in law.items() if site_short(units, failed, zones, spares))


SITE_CREW = {"name": "plan", "tray": {"hands_on": "5 h"}, "crews": 1, "shared_by": "site"}


@pytest.mark.parametrize("spares", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_one_crew_of_the_site_against_the_whole_chain(spares: tuple[int, int]) -> None:
    """Proves shared crews: 2 zones of 2 blocks of 2 trays, one crew, every tray told apart (exact to 1e-10).

    Zones taken as independent, each with the whole crew, would differ: the value is above theirs.
    """
    instance = site({"a": (2, 2, 2)}, repair_plans=[SITE_CREW])
    result = score(instance, {"a": spares})
    expected = shared_crews([(2, 2)] * 2, [spares] * 2, 1, {"tray": 5.0})
    assert result.unavailability == pytest.approx(expected, rel=1e-10)
    assert result.method["availability"] == f"{POOLED}; {FIRST_COME}"
    own = site({"a": (2, 2, 2)}, repair_plans=[SITE_CREW | {"shared_by": "zone"}])
    assert score(own, {"a": spares}).unavailability < result.unavailability
    assert result.zones[0].crew_utilisation > score(own, {"a": spares}).zones[0].crew_utilisation


@pytest.mark.parametrize("rack_hours", [5.0, 11.0])
def test_crews_of_the_site_for_zones_of_different_design_and_racks(rack_hours: float) -> None:
    """Proves shared crews where zones differ in K, L, I and R and racks fail; unequal work is shared and named so."""
    failures = {"tray": {"rate": f"{RATE} per h"}, "rack": {"rate": f"{RACK_RATE} per h"}}
    plan = SITE_CREW | {"rack": {"hands_on": f"{rack_hours} h"}}
    instance = site({"a": (1, 1, 2), "b": (1, 2, 1)}, failures=failures, repair_plans=[plan])
    result = score(instance, {"a": (1, 0), "b": (0, 0)})
    expected = shared_crews([(1, 2), (2, 1)], [(1, 0), (0, 0)], 1, {"tray": 5.0, "rack": rack_hours})
    assert result.unavailability == pytest.approx(expected, rel=1e-10)
    assert result.method["availability"] == f"{POOLED}; {FIRST_COME if rack_hours == 5 else SHARED_WORK}"


def test_a_class_that_is_split_shares_its_crew() -> None:
    """Proves that zones of a class that are built in two ways still share one crew, in whichever order they stand."""
    instance = site({"a": (2, 2, 2)}, repair_plans=[SITE_CREW])
    zones = decide(instance, {"a": (0, 1)}).zones
    one, other = (zones[0].model_copy(update={"count": 1, "intra_block_spares": i}) for i in (0, 1))
    values = [
        spareopt.evaluate(instance, Decisions(zones=order, checkpoint_plan="best")).unavailability
        for order in ((one, other), (other, one))
    ]
    expected = shared_crews([(2, 2)] * 2, [(0, 1), (1, 1)], 1, {"tray": 5.0})
    assert values == [pytest.approx(expected, rel=1e-10)] * 2


def test_one_shelf_of_the_site_against_the_whole_chain() -> None:
    """Proves a shared shelf where it is exact: swaps in no time, one queue of all zones' trays for the next new one."""
    zones, spares = [(2, 2), (2, 2)], [(0, 1), (0, 1)]
    units = units_of(zones, False)

    def any_order(state: tuple[frozenset[int], int]) -> Iterator[tuple[Any, float]]:
        waiting, on_order = state  # which of those that wait is next does not change the law of the set: keep it small
        for tray in set(range(len(units))) - waiting:
            yield (waiting if on_order < 2 else waiting | {tray}, on_order + 1), RATE
        for tray in waiting:
            yield (waiting - {tray}, on_order - 1), on_order / LEAD / len(waiting)
        if not waiting:
            yield (waiting, on_order - 1), on_order / LEAD

    law = stationary((frozenset(), 0), any_order)
    expected = sum(p for (waiting, _), p in law.items() if site_short(units, waiting, zones, spares))
    plan = {"name": "plan", "tray": {"hands_on": "0 h"}, "shelf": 2, "lead_time": f"{LEAD} h", "shared_by": "site"}
    result = score(site({"a": (2, 2, 2)}, repair_plans=[plan]), {"a": (0, 1)})
    assert result.unavailability == pytest.approx(expected, rel=1e-10)
    assert result.method["availability"] == f"{POOLED}; {SHELF}"


DOMAINS = [
    {"name": "feed", "spans": "zone", "rate": "0.003 per h", "repair": {"hands_on": "5 h"}},
    {"name": "grid", "spans": "site", "rate": "0.001 per h", "repair": {"hands_on": "8 h"}},
]


@pytest.mark.parametrize("racks", [1, 3])
def test_ample_crews_of_the_site_are_independent_zones(racks: int) -> None:
    """Proves the limit: as many crews as units make the product of the zones, with a feed per zone and the grid.

    Also where a zone is one block: what takes down a zone is then what takes down a block, and must not be lost.
    """
    failures = {"tray": {"rate": f"{RATE} per h"}, "domains": DOMAINS}
    times = {"tray": {"hands_on": "5 h", "off_crew": "3 h"}}
    for count, spares in ((1, {"a": (1, 0)}), (3, {"a": (0, racks // 2)})):
        shape = {"a": (count, racks, 2)}
        shared = site(shape, failures=failures, repair_plans=[SITE_CREW | times | {"crews": 18}])
        ample = site(shape, failures=failures, repair_plans=[{"name": "plan"} | times])
        one, other = score(shared, spares), score(ample, spares)
        assert one.unavailability == pytest.approx(other.unavailability, rel=1e-10)
        assert one.interruption_rate_per_h == other.interruption_rate_per_h
        tray = RATE * 8 / (1 + RATE * 8)
        fine = binom.cdf(spares["a"][1], racks, binom.sf(spares["a"][0], 2, tray)) / (1 + 0.003 * 5)
        assert other.availability == pytest.approx(fine**count / (1 + 0.001 * 8), rel=1e-12)


def test_solve_over_shared_crews_finds_the_best_plan_of_zones_of_one_block() -> None:
    """Proves the path to the optimum: levels of shared crews beside an ample plan, zones of one block, a feed for each.

    The value is the brute-force one, and proven; crews or a feed that the bound or the score forgot would show.
    """
    failures = {"tray": {"rate": f"{RATE} per h"}, "domains": DOMAINS}
    plans = [
        SITE_CREW | {"crews": [1, 2, 3], "crew_cost": "0.05 M$ per year"},
        {"name": "vendor", "tray": {"hands_on": "30 h"}},
    ]
    instance = site({"a": (2, 1, 2)}, failures=failures, repair_plans=plans, objective={"kind": "goodput_per_dollar"})
    plan = spareopt.solve(instance, gap=1e-9)
    assert plan.certificate.status == "proven"
    assert plan.certificate.value == pytest.approx(best_value(instance), rel=1e-9)
    assert plan.evaluation.model_dump_json() == spareopt.evaluate(instance, plan.decisions).model_dump_json()


def test_levels_beyond_the_seats_are_infeasible_by_name() -> None:
    """Proves that where no level of shared crews is within limits.crews the refusal names the limits that did it."""
    instance = site({"a": (2, 1, 2)}, repair_plans=[SITE_CREW | {"crews": [2, 3]}], limits={"crews": 1})
    with pytest.raises(InfeasibleError, match=r"limits.crews"):
        spareopt.solve(instance)
    (limit,) = score(instance, {"a": (0, 0)}, crews=2).violated
    assert (limit.limit, limit.slack) == ("crews", -1)


# --- domains across zones


def added_up(blocks: list[float], domains: list[tuple[float, set[int]]], zones: list[range], inter: int) -> float:
    """P(any zone has more than R unusable blocks) over all up and down states of all blocks and domains, added up.

    ``blocks``: P(down) of each, ``domains``: P(down) of a unit and the blocks below it.
    """
    chances = np.array([*blocks, *(p for p, _ in domains)])
    states = (np.arange(2 ** len(chances))[:, None] >> np.arange(len(chances))) & 1
    weight = np.prod(np.where(states == 1, chances, 1 - chances), axis=1)
    unusable = states[:, : len(blocks)].astype(bool)
    for place, (_, below) in enumerate(domains):
        unusable[:, sorted(below)] |= states[:, [len(blocks) + place]] == 1
    short = np.any([unusable[:, list(zone)].sum(axis=1) > inter for zone in zones], axis=0)
    return float(np.sort(weight[short]).sum())


def feeds_down(rate: float, hours: float, needed: int, number: int) -> float:
    return float(binom.sf(number - needed, number, rate * hours / (1 + rate * hours)))


@pytest.mark.parametrize("inter", [0, 1, 2])
@pytest.mark.parametrize("kind", ["halves", "feeds", "nested", "cdu"])
def test_domains_across_zones_against_all_states(kind: str, inter: int) -> None:
    """Proves domains that cut across zones: 2 zones of 4 blocks, every state of every unit added up (to 1e-12).

    A unit takes down its share of both zones at once: with zones taken as independent the value would be larger; a
    domain on top (zone, grid), redundant feeds, units within units or cooling units within a half are all there.
    """
    halves = {"name": "half", "spans": "site", "units": 2, "rate": "0.004 per h", "repair": {"hands_on": "12 h"}}
    quarters = {"name": "quarter", "spans": "site", "units": 4, "rate": "0.006 per h", "repair": {"hands_on": "6 h"}}
    cdu = {"name": "cdu", "spans": "2 racks", "rate": "0.002 per h", "repair": {"hands_on": "9 h"}}
    redundant = {"feeds": {"number": 3, "needed": 2}, "rate": "0.02 per h"}
    chosen = {"halves": [halves], "feeds": [halves | redundant], "nested": [quarters, halves], "cdu": [halves, cdu]}
    failures = {"tray": {"rate": f"{RATE} per h"}, "domains": [*chosen[kind], *DOMAINS]}
    instance = site({"a": (2, 4, 2)}, failures=failures)
    result = score(instance, {"a": (1, inter)})
    tray = RATE * 5 / (1 + RATE * 5)
    half = 0.004 * 12 / (1 + 0.004 * 12) if kind != "feeds" else feeds_down(0.02, 12, 2, 3)
    quarter, cooling = 0.006 * 6 / (1 + 0.006 * 6), 0.002 * 9 / (1 + 0.002 * 9)
    units: list[tuple[float, set[int]]] = [(half, {0, 1, 4, 5}), (half, {2, 3, 6, 7})]
    units += [(quarter, {b, b + 4}) for b in range(4)] if kind == "nested" else []
    units += [(cooling, {b, b + 1}) for b in (0, 2, 4, 6)] if kind == "cdu" else []
    units += [(0.003 * 5 / 1.015, set(range(4))), (0.003 * 5 / 1.015, set(range(4, 8)))]
    units += [(0.001 * 8 / 1.008, set(range(8)))]
    expected = added_up([tray**2] * 8, units, [range(4), range(4, 8)], inter)
    assert result.unavailability == pytest.approx(expected, rel=1e-12)
    assert result.method["availability"] == ACROSS


def test_faults_of_domains_across_zones_and_of_feeds_are_charged_and_named() -> None:
    """Proves Λ of site domains: every unit's own rate, feeds at the rate at which they fail together, and the method.

    With half of each zone spare a unit may hold no working block, and may be down while the job runs: to charge all
    of them is an over-estimate, and is not called exact.  Feeds that fail together do so at a mean rate.
    """
    halves = {"name": "half", "spans": "site", "units": 2, "rate": "0.004 per h", "repair": {"hands_on": "12 h"}}
    twin = {"name": "twin", "spans": "site", "rate": "0.02 per h", "repair": {"hands_on": "6 h"}}
    twin["feeds"] = {"number": 2, "needed": 1}
    for domains, inter, named in (([halves], 1, "exact"), ([halves], 2, "working block"), ([twin], 0, FEEDS)):
        failures = {"tray": {"rate": f"{RATE} per h"}, "domains": domains}
        result = score(site({"a": (2, 4, 2)}, failures=failures), {"a": (1, inter)})
        load = 0.02 * 6
        together = 2 * 0.004 if domains == [halves] else 0.02 * 2 * load / (1 + 2 * load)  # both down, from one
        assert result.interruption_rate_per_h == pytest.approx(2 * (4 - inter) * RATE + together, rel=1e-12)
        assert named in result.method["interruption_rate"]


def test_racks_that_domains_across_zones_do_not_divide_are_refused() -> None:
    """Proves that racks that fill no cells are refused by name, in an instance and in a plan, not rounded."""
    halves = {"name": "half", "spans": "site", "units": 2, "rate": "0.004 per h", "repair": {"hands_on": "12 h"}}
    failures = {"tray": {"rate": f"{RATE} per h"}, "domains": [halves]}
    with pytest.raises(InputError, match="no number of racks of zone 'a' is divided evenly"):
        site({"a": (1, 3, 2)}, failures=failures)
    choice = {"zone": "a", "design": "k2", "racks": 3, "intra_block_spares": 0, "inter_block_spares": 0}
    instance = site({"a": (1, 4, 2)}, failures=failures)
    choice |= {"design": instance.designs[0].name, "repair_plan": instance.repair_plans[0].name}
    mine = {"zones": [choice], "checkpoint_plan": instance.checkpoint_plans[0].name}
    with pytest.raises(InputError, match="3 racks are not divided evenly by the domains across zones"):
        spareopt.evaluate(instance, spareopt.read_decisions(mine))


# --- uncertain rates


def eta(rate: float, period: float | None) -> float:
    """The useful share with faults in every phase, at a given period or the best."""
    if rate == 0:
        return 1.0 if period is None else period / (period + SAVE)
    if period is None:
        p = np.sqrt(-2 * np.expm1(-rate * SAVE))  # W near its branch point: 1 + W = p − p²/3 + 11 p³/72 …
        lost = p - p**2 / 3 + 11 * p**3 / 72 if p < 1e-3 else 1 + lambertw(-exp(-1 - rate * SAVE)).real
        return float(exp(-rate * RECOVERY) * (1 - lost))
    return float(period * rate * exp(-rate * RECOVERY) / np.expm1(rate * (period + SAVE)))


def mixed(function: Callable[[float], float], variance: float) -> float:
    """The mean over the Gamma density of mean 1; where the density has a pole at 0, x = m^k takes it away."""
    k = 1 / variance
    law = gamma(k, scale=variance)
    edges = [0.0, *(float(law.isf(tail)) for tail in (0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-16))]

    def total(density: Callable[[float], float], edges: list[float]) -> float:
        return float(sum(quad(density, *ends, epsrel=1e-9, epsabs=1e-12)[0] for ends in pairwise(edges)))

    if k >= 1:
        return total(lambda m: function(m) * law.pdf(m), edges)
    factor = k**k / gamma_function(k) / k
    return factor * total(lambda x: function(x**variance) * exp(-k * x**variance), [m**k for m in edges])


@pytest.mark.parametrize("period", [None, 0.5])
@pytest.mark.parametrize(("variance", "inter"), [(0.05, 0), (0.05, 2), (0.5, 1), (1.0, 2), (4.0, 1), (10.0, 3)])
def test_uncertain_rates_by_quadrature(period: float | None, variance: float, inter: int) -> None:
    """Proves the mixture of the product A(m) η(m Λ), at the best and at a given period, to 1e-7.

    A mean of A times a mean of η would differ, and so would a multiplier that left out software or the grid.
    """
    failures = {
        "tray": {"rate": f"{RATE / 4} per h"},
        "software": {"rate": "0.05 per h"},
        "domains": DOMAINS,
        "uncertainty": {"variance": variance},
    }
    scheme = {"name": "best", "period": "best" if period is None else f"{period} h", "save": "1 min"}
    scheme |= {"detection": "1 min", "restart": "5 min"}
    result = score(site({"a": (2, 4, 2)}, failures=failures, checkpoint_plans=[scheme]), {"a": (0, inter)})
    rate = 0.05 + 0.001 + 2 * (0.003 + (4 - inter) * 2 * RATE / 4)
    assert result.interruption_rate_per_h == pytest.approx(rate, rel=1e-12)

    def up(m: float) -> float:
        load = m * RATE / 4 * 5
        zone = binom.cdf(inter, 4, binom.sf(0, 2, load / (1 + load))) / (1 + m * 0.003 * 5)
        return float(zone**2 / (1 + m * 0.001 * 8))

    share = result.working_gpus / result.gpus
    assert result.availability == pytest.approx(mixed(up, variance), rel=1e-7)
    assert result.unavailability == pytest.approx(mixed(lambda m: 1 - up(m), variance), rel=1e-7)
    assert result.cett / share == pytest.approx(mixed(lambda m: up(m) * eta(m * rate, period), variance), rel=1e-7)
    assert abs(result.cett / share - up(1) * eta(rate, period)) > 1e-5  # the mixture matters
    assert result.method["availability"].startswith(UNCERTAIN)


def test_uncertainty_from_counts_and_with_domains_across_zones() -> None:
    """Proves that counts of variance/mean 2 with mean 4 are a variance of 1/4, and that both couplings go together.

    The state is the multiplier and the number of halves that are down; each is added up here.
    """
    halves = {"name": "half", "spans": "site", "units": 2, "rate": "0.004 per h", "repair": {"hands_on": "12 h"}}
    failures = {"tray": {"rate": f"{RATE} per h"}, "domains": [halves]}
    failures["uncertainty"] = {"variance_to_mean": 2.0, "mean_count": 4.0}
    result = score(site({"a": (2, 4, 2)}, failures=failures), {"a": (1, 2)})
    rate = 2 * 2 * RATE + 2 * 0.004

    def up(m: float) -> float:
        tray, half = m * RATE * 5 / (1 + m * RATE * 5), m * 0.048 / (1 + m * 0.048)
        return sum(
            binom.pmf(lost, 2, half) * binom.cdf(2 - 2 * lost, 4 - 2 * lost, tray**2) ** 2 if lost < 2 else 0.0
            for lost in range(3)
        )

    assert result.availability == pytest.approx(mixed(up, 0.25), rel=1e-7)
    assert result.cett * 4 == pytest.approx(mixed(lambda m: up(m) * eta(m * rate, None), 0.25), rel=1e-7)
    assert result.method["availability"].startswith(f"{ACROSS}; {UNCERTAIN}")


# --- guarantees


@pytest.mark.parametrize("uncertain", [False, True])
def test_guarantee_is_a_binomial(uncertain: bool) -> None:
    """Proves a guarantee's probability: zone, grid and half up, and enough blocks usable, spares among them.

    It is one zone's, whatever the other zones do, and does not depend on R.
    """
    halves = {"name": "half", "spans": "site", "units": 2, "rate": "0.004 per h", "repair": {"hands_on": "12 h"}}
    failures: dict[str, Any] = {"tray": {"rate": f"{RATE} per h"}, "domains": [halves, *DOMAINS]}
    failures |= {"uncertainty": {"variance": 0.4}} if uncertain else {}
    plain = site({"a": (2, 4, 2)}, failures=failures)
    guarantee = {"usable_blocks": 2, "probability": 0.99}
    instance = read_instance(plain.resolved(), overrides={"zones.a.guarantee": guarantee})

    def missed(m: float) -> float:
        tray, half = m * RATE * 5 / (1 + m * RATE * 5), m * 0.048 / (1 + m * 0.048)
        block = 1 - (1 - tray) ** 2
        usable = (1 - half) ** 2 * binom.cdf(2, 4, block) + 2 * half * (1 - half) * binom.cdf(0, 2, block)
        return float(1 - usable / (1 + m * 0.003 * 5) / (1 + m * 0.001 * 8))

    expected = mixed(missed, 0.4) if uncertain else missed(1.0)
    for inter in (0, 1):
        (limit,) = score(instance, {"a": (0, inter)}).limits
        assert limit.limit == "guarantee of 2 blocks in a"
        assert 1 - limit.value == pytest.approx(expected, rel=1e-7 if uncertain else 1e-12)
        assert limit.slack == pytest.approx(0.01 - expected, rel=1e-6)
        assert limit.violated == (expected > 0.01)


# --- replica groups


def of_groups(groups: int, rate: float, stall: float, rejoin: float) -> float:
    """The useful share of replica groups where a stall is the shorter time."""
    each = rate / groups
    u = 1 / (1 + each * rejoin)
    return float(u * (1 - each * stall * u) ** (groups - 1))


@pytest.mark.parametrize("when_short", ["block", "shrink"])
@pytest.mark.parametrize(("east", "west"), [(0, 0), (2, 0), (2, 3)])
def test_replica_groups_against_all_states(when_short: str, east: int, west: int) -> None:
    """Proves both ways of replica groups: zones of 4 and 6 blocks, the states of all blocks of a zone added up.

    Groups that wait need all blocks of both zones; groups that shrink go on with those that find whole blocks, and the
    mean share of them, weighted by the zones' working GPUs, is the availability.
    """
    failures = {"tray": {"rate": f"{RATE} per h"}, "domains": DOMAINS}
    groups = {"groups_per_zone": 2 if west == 0 else 1, "stall": "2 min", "rejoin": "1 h", "when_short": when_short}
    scheme = {"name": "groups", "replicas": groups}
    instance = site({"east": (1, 4, 2), "west": (1, 6, 2)}, failures=failures, checkpoint_plans=[scheme])
    result = score(instance, {"east": (1, east), "west": (0, west)}, "groups")
    tray, number = RATE * 5 / (1 + RATE * 5), 2 if west == 0 else 1
    up, working = [], []
    for blocks, block, spares, intra in ((4, tray**2, east, 1), (6, 1 - (1 - tray) ** 2, west, 0)):
        each, share = (blocks - spares) // number, 0.0
        for state in itertools.product((0, 1), repeat=blocks):
            chance = np.prod([block if down else 1 - block for down in state])
            usable = blocks - sum(state)
            placed = min(number, usable // each) / number
            share += chance * (placed if when_short == "shrink" else usable >= blocks - spares)
        up.append(share / (1 + 0.003 * 5))
        working.append((blocks - spares) * (2 - intra))
    whole = np.average(up, weights=working) if when_short == "shrink" else up[0] * up[1]
    assert result.availability == pytest.approx(whole / (1 + 0.001 * 8), rel=1e-12)
    rate = 0.001 + 2 * 0.003 + sum(working) * RATE
    assert result.interruption_rate_per_h == pytest.approx(rate, rel=1e-12)
    assert result.recovery_efficiency == pytest.approx(of_groups(2 * number, rate, 2 / 60, 1.0), rel=1e-12)
    assert "independent of one another's stalls" in result.method["recovery_efficiency"]
    assert result.losses["group_stalls"] > 0
    assert result.losses["checkpoint_saves"] == result.losses["lost_work"] == 0


def test_blocks_that_make_no_whole_groups_are_refused() -> None:
    """Proves that working blocks which two groups can't share evenly are a fault of the plan, by field."""
    scheme = {"name": "groups", "replicas": {"groups_per_zone": 2, "stall": "2 min", "rejoin": "1 h"}}
    instance = site({"a": (1, 4, 2)}, checkpoint_plans=[scheme])
    with pytest.raises(InputError, match=r"zones.0.inter_block_spares: 3 working blocks do not make 2 replica groups"):
        score(instance, {"a": (0, 1)}, "groups")


# --- who is charged, and what ages


def charged(instance_domains: list[dict[str, Any]]) -> Evaluation:
    failures = {"tray": {"rate": f"{RATE} per h"}, "rack": {"rate": f"{RACK_RATE} per h"}, "charge": "block"}
    plan = {"name": "plan", "tray": {"hands_on": "5 h"}, "rack": {"hands_on": "7 h"}}
    instance = site({"a": (2, 4, 2)}, failures=failures | {"domains": instance_domains}, repair_plans=[plan])
    return score(instance, {"a": (1, 1)})


def test_each_working_block_is_charged() -> None:
    """Proves charge: block: 6 working blocks of one tray each bear the rates of their rack, cooling unit and feed."""
    cdu = {"name": "cdu", "spans": "2 racks", "rate": "0.002 per h", "repair": {"hands_on": "9 h"}}
    result = charged([cdu, DOMAINS[0]])
    expected = 2 * 3 * (RATE + RACK_RATE + 0.002 + 0.003)
    assert result.interruption_rate_per_h == pytest.approx(expected, rel=1e-12)
    assert result.method["interruption_rate"] == PER_BLOCK


def test_domains_of_the_site_are_charged_once_in_either_way() -> None:
    """Proves that charge: block is of racks and domains below the site: the grid is charged once."""
    assert charged([DOMAINS[1]]).interruption_rate_per_h == pytest.approx(6 * (RATE + RACK_RATE) + 0.001, rel=1e-12)


@pytest.mark.parametrize("inter", [0, 1, 3])
def test_units_that_age_while_they_work_against_a_chain(inter: int) -> None:
    """Proves ageing: working through evaluate(): blocks that fail as a whole, by a tray or the rack, repaired each.

    The chain tells apart repairs of trays and racks, whose times differ: only their mean matters.  Idle spares that
    aged, or units that aged while the job is blocked, would raise the value.
    """
    failures = {"tray": {"rate": f"{RATE} per h"}, "rack": {"rate": f"{RACK_RATE} per h"}, "ageing": "working"}
    failures["software"] = {"rate": "0.05 per h"}
    plan = {"name": "plan", "tray": {"hands_on": "5 h"}, "rack": {"hands_on": "11 h"}}
    one = design("k2", 2, intra_block_spares=[0])
    instance = site({"a": (1, 5, 2)}, failures=failures, repair_plans=[plan], designs=[one])
    result = score(instance, {"a": (0, inter)})
    working = 5 - inter

    def moves(state: tuple[int, int]) -> Iterator[tuple[Any, float]]:
        by_tray, by_rack = state
        if by_tray + by_rack <= inter:
            yield (by_tray + 1, by_rack), working * 2 * RATE
            yield (by_tray, by_rack + 1), working * RACK_RATE
        yield (by_tray - 1, by_rack), by_tray / 5
        yield (by_tray, by_rack - 1), by_rack / 11

    expected = sum(p for state, p in stationary((0, 0), moves).items() if sum(state) > inter)
    assert result.unavailability == pytest.approx(expected, rel=1e-10)
    mttr = (2 * RATE * 5 + RACK_RATE * 11) / (2 * RATE + RACK_RATE)
    erlang = float(working_only(inter, working * (2 * RATE + RACK_RATE), mttr))
    assert result.unavailability == pytest.approx(erlang, rel=1e-12)
    rate = 0.05 + working * (2 * RATE + RACK_RATE)
    assert result.interruption_rate_per_h == pytest.approx(rate, rel=1e-12)
    assert result.recovery_efficiency == pytest.approx(eta(rate, None), rel=1e-10)
    assert result.method["availability"] == "exact"


@pytest.mark.parametrize("inter", [0, 2])
def test_units_that_age_while_the_job_computes(inter: int) -> None:
    """Proves ageing: computing through evaluate(): what is blocked is that of its chain, saves adding to the rest."""
    failures = {"tray": {"rate": f"{RATE} per h"}, "ageing": "computing"}
    one = design("k2", 2, intra_block_spares=[0])
    instance = site({"a": (1, 5, 2)}, failures=failures, designs=[one])
    result = score(instance, {"a": (0, inter)})
    shares = computing_only(inter, (5 - inter) * 2 * RATE, 5.0, RECOVERY)
    saving = saves_per_computing(result, (5 - inter) * 2 * RATE)
    assert result.unavailability == pytest.approx(shares.blocked / (1 + saving * shares.computing), rel=1e-12)
    assert result.method["availability"] == f"{ONE_REPAIR}; {REPAIRS_IN_SAVES}"
    assert "not in saves, detection and restart" in result.method["recovery_efficiency"]


@pytest.mark.parametrize("inter", [0, 2])
def test_what_computes_and_recovers_fits_the_chain_of_computing(inter: int) -> None:
    """Proves that the losses are the shares of `ageing.computing_only`, with the saves beside what computes.

    Faults come only while the job computes: an hour of it costs Λ × recovery, whatever the saves take.
    """
    failures = {"tray": {"rate": f"{RATE} per h"}, "ageing": "computing"}
    one = design("k2", 2, intra_block_spares=[0])
    result = score(site({"a": (1, 5, 2)}, failures=failures, designs=[one]), {"a": (0, inter)})
    shares = computing_only(inter, (5 - inter) * 2 * RATE, 5.0, RECOVERY)
    size = (5 - inter) / 5
    saving = saves_per_computing(result, (5 - inter) * 2 * RATE)
    whole = 1 + saving * shares.computing
    assert result.losses["detection_and_restart"] == pytest.approx(size * shares.recovering / whole, rel=1e-10)
    assert result.losses["checkpoint_saves"] == pytest.approx(size * saving * shares.computing / whole, rel=1e-10)
    kept = sum(result.losses[name] for name in ("lost_work", "useful"))
    assert kept == pytest.approx(size * shares.computing / whole, rel=1e-10)


def saves_per_computing(result: Evaluation, rate: float) -> float:
    """Hours of saves per hour of computing: a save after every (e^(Λτ) − 1)/Λ hours of it."""
    assert result.checkpoint_period_h is not None
    return SAVE * rate / np.expm1(rate * result.checkpoint_period_h)


# --- properties planners rely on


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["site-crews", "site-shelf", "across", "uncertain"]),
    st.floats(1.0, 40.0).map(lambda hours: round(hours, 3)),
    st.integers(0, 1),
    st.integers(0, 2),
    st.integers(1, 3),
    st.integers(0, 2),
)
def test_better_never_lowers_availability_where_zones_share(
    kind: str, hands_on: float, intra: int, inter: int, crews: int, shelf: int
) -> None:
    """Proves for what zones share: one more crew, tray, I or R, faster work and a longer MTBF never lower A.

    Faster work with a shelf has known exceptions where share × rate × lead time > 1; it is 0.6 here.  Rates that are
    known more surely may do either, and are not claimed.
    """

    def down(i: int = intra, r: int = inter, rate: float = RATE, **numbers: Any) -> float:
        n = {"crews": crews, "shelf": shelf, "hands_on": hands_on} | numbers
        plan: dict[str, Any] = {"name": "plan", "tray": {"hands_on": f"{n['hands_on']} h", "off_crew": "1 h"}}
        if kind == "site-crews":
            plan |= {"crews": n["crews"], "shared_by": "site"}
        if kind == "site-shelf":
            plan |= {"shelf": n["shelf"], "lead_time": f"{LEAD} h", "shared_by": "site"}
        failures: dict[str, Any] = {"tray": {"rate": f"{rate} per h"}}
        if kind == "across":
            half = {"name": "half", "spans": "site", "units": 2, "rate": "0.01 per h", "repair": {"hands_on": "9 h"}}
            failures["domains"] = [half]
        if kind == "uncertain":
            failures["uncertainty"] = {"variance": 0.5}
        return score(site({"a": (2, 4, 2)}, failures=failures, repair_plans=[plan]), {"a": (i, r)}).unavailability

    here = down() * (1 + 1e-10)
    assert down(crews=crews + 1) <= here
    assert down(shelf=shelf + 1) <= here
    assert down(i=1) <= here
    assert down(r=inter + 1) <= here
    assert down(rate=RATE / 1.3) <= here
    assert down(hands_on=hands_on * 0.8) <= here
