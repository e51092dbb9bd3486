"""The simulated system of a plan against layouts done by hand and against the topology graph."""

from __future__ import annotations

import copy
import math
from collections import Counter
from typing import Any, get_type_hints

import numpy as np
import pytest

from spareopt import instances
from spareopt.decisions import Decisions
from spareopt.errors import InputError
from spareopt.instance import Instance
from spareopt.overrides import apply_override
from spareopt.reading import read_instance
from spareopt.simulation.build import build_system
from spareopt.simulation.laws import BURST
from spareopt.simulation.system import (
    ALWAYS,
    CHECKPOINTS,
    COMPUTING,
    DETERMINISTIC,
    EXPONENTIAL,
    GROUPS,
    LOGNORMAL,
    OVERLAPPED,
    TWO_LEVEL,
    WEIBULL,
    WORKING,
    Floats,
    Integers,
    System,
    Words,
)
from spareopt.simulation.trace import Trace
from spareopt.topology import ZoneLayout, blast_radius, build_topology, units

BASE: dict[str, Any] = {
    "schema_version": 1,
    "name": "small",
    "zones": [{"name": "hall", "count": 2, "racks": 5}, {"name": "annex", "racks": 4}],
    "designs": [
        {
            "name": "double",
            "trays_per_block": 3,
            "gpus_per_tray": 4,
            "blocks_per_rack": 2,
            "intra_block_spares": [0, 1],
            "inter_block_spares": {"from": 0, "to": 3},
        },
        {
            "name": "single",
            "trays_per_block": 2,
            "gpus_per_tray": 8,
            "intra_block_spares": 0,
            "inter_block_spares": {"from": 0, "to": 3},
        },
    ],
    "failures": {"tray": {"rate": "1e-3 per h"}, "rack": {"rate": "1e-4 per h"}},
    "repair_plans": [{"name": "plain", "tray": {"hands_on": "10 h"}, "rack": {"hands_on": "20 h", "off_crew": "3 h"}}],
    "checkpoint_plans": [{"name": "c", "period": "1 h", "save": "1 min", "detection": "2 min", "restart": "6 min"}],
}
PAIR = {
    "name": "pair",
    "spans": "2 racks",
    "rate": "1e-5 per h",
    "feeds": {"number": 3, "needed": 2},
    "repair": {"hands_on": "5 h"},
}
HALL = {"name": "cooling", "spans": "zone", "rate": "2e-5 per h", "repair": {"hands_on": "6 h"}}
SITE = {"name": "grid", "spans": "site", "rate": "3e-5 per h", "repair": {"hands_on": "7 h"}}
LOOP = {"name": "loop", "spans": "site", "units": 2, "rate": "4e-5 per h", "repair": {"hands_on": "8 h"}}


def small(**overrides: Any) -> Instance:
    """The instance above with dotted paths (dots written as __) changed."""
    data = copy.deepcopy(BASE)
    for path, value in overrides.items():
        apply_override(data, path.replace("__", "."), value)
    return read_instance(data)


def choice(zone: str, **changes: Any) -> dict[str, Any]:
    """A zone choice: two halls of 5 double racks or an annex of 4 single ones, with changes."""
    result = {"zone": zone, "count": 2, "design": "double", "racks": 5, "intra_block_spares": 1}
    if zone == "annex":
        result |= {"count": 1, "design": "single", "racks": 4, "intra_block_spares": 0}
    return result | {"inter_block_spares": 2, "repair_plan": "plain"} | changes


def system(instance: Instance, *choices: dict[str, Any], trace: Trace | None = None) -> System:
    """The system of zone choices; both zone classes as they are by default."""
    zones = choices or (choice("hall"), choice("annex"))
    plan = instance.checkpoint_plans[0].name
    return build_system(instance, Decisions.model_validate({"zones": zones, "checkpoint_plan": plan}), trace)


def blocks_of(built: System) -> list[list[int]]:
    """The blocks that each domain takes down."""
    return [
        [
            block
            for i in range(built.domain_range[domain], built.domain_range[domain + 1])
            for block in range(built.range_start[i], built.range_stop[i])
        ]
        for domain in range(len(built.domain_needed))
    ]


def code(kind: int, zone: int, high: int, low: int, bits: int) -> tuple[int, int]:
    """The words of a unit's code."""
    return kind * 2**20 + zone, high * 2**bits + low


def test_layout_by_hand() -> None:
    """Two halls of 10 blocks of 3 trays, an annex of 4 of 2; racks, pairs of them (the last partial), wider domains."""
    built = system(small(failures__domains=[SITE, PAIR, HALL]))
    assert built.zone_block.tolist() == [0, 10, 20, 24]
    assert built.working.tolist() == [8, 8, 2]
    assert built.spare_trays.tolist() == [1, 1, 0]
    assert built.rack_blocks.tolist() == [2, 2, 1]
    assert built.block_zone.tolist() == [0] * 10 + [1] * 10 + [2] * 4
    assert built.block_tray.tolist() == [*range(0, 60, 3), *range(60, 69, 2)]
    racks = [[i, i + 1] for i in range(0, 20, 2)] + [[20], [21], [22], [23]]
    pairs = [[*range(i, i + 4)] for i in (0, 4)] + [[8, 9]] + [[*range(i, i + 4)] for i in (10, 14)] + [[18, 19]]
    pairs += [[20, 21], [22, 23]]
    halls = [[*range(10)], [*range(10, 20)], [*range(20, 24)]]
    assert blocks_of(built) == [*racks, *pairs, *halls, [*range(24)]]
    assert np.diff(built.domain_unit).tolist() == [1] * 14 + [3] * 8 + [1] * 4
    assert built.domain_needed.tolist() == [1] * 14 + [2] * 8 + [1] * 4
    assert built.domain_unit[0] == 68
    assert len(built.unit_class) == len(built.unit_code) == built.domain_unit[-1] == 68 + 14 + 24 + 4
    # block 9: the rack 4 of the first hall, its partial pair, the hall, the grid
    assert built.domain_of[built.block_domain[9] : built.block_domain[10]].tolist() == [4, 16, 22, 25]
    assert built.domain_of[built.block_domain[23] :].tolist() == [13, 21, 24, 25]


def test_units_across_the_zones() -> None:
    """Each of two loops takes half of the racks of every zone, in a range for each; racks that never fail are none."""
    instance = small(failures__rack=None, failures__domains=[LOOP], zones__hall__racks=6)
    built = system(instance, choice("hall", racks=6), choice("annex"))
    assert blocks_of(built) == [[*range(6), *range(12, 18), 24, 25], [*range(6, 12), *range(18, 24), 26, 27]]
    assert built.domain_range.tolist() == [0, 3, 6]
    assert built.domain_of.tolist() == [0] * 6 + [1] * 6 + [0] * 6 + [1] * 6 + [0, 0, 1, 1]
    trays = int(built.block_tray[-1])
    assert built.unit_code[trays:].tolist() == [list(code(2, 0, j, 0, 6)) for j in range(2)]


def test_domains_of_a_block_are_those_that_take_it_down() -> None:
    """The two listings, blocks by domain and domains by block, say the same, and domains ascend."""
    built = system(small(failures__domains=[HALL, PAIR, SITE, PAIR | {"name": "quad", "spans": "4 racks"}]))
    by_block = np.split(built.domain_of, built.block_domain[1:-1])
    listed = blocks_of(built)
    assert [domains.tolist() for domains in by_block] == [
        [domain for domain, blocks in enumerate(listed) if block in blocks] for block in range(24)
    ]


def test_codes_by_hand() -> None:
    """Kind and zone, then place within the zone and within the block or domain: as the documentation states them."""
    built = system(small(failures__domains=[SITE, PAIR]))
    codes = [tuple(words) for words in built.unit_code.tolist()]
    assert codes[0] == code(0, 0, 0, 0, 12)
    assert codes[3 * 13 + 2] == code(0, 1, 3, 2, 12)  # block 3 of the second hall, its last tray
    assert codes[67] == code(0, 2, 3, 1, 12)
    assert codes[68 + 7] == code(1, 1, 2, 0, 6)  # rack 2 of the second hall
    assert codes[68 + 14 + 3 * 5 + 1] == code(3, 1, 2, 1, 6)  # the second feed of the last pair of the second hall
    assert codes[-1] == code(2, 0, 0, 0, 6)
    assert len(set(codes)) == len(codes)
    assert all(first < BURST - 2**20 for first, _ in codes)


def test_codes_are_the_same_in_every_plan() -> None:
    """Whatever the racks, the spares, the split of a class and the order of the choices, a unit keeps its code."""
    domains = [PAIR, SITE]
    instance = small(failures__domains=domains, zones__hall__racks=[5, 7])
    plans = (
        (choice("hall"), choice("annex")),
        (choice("hall", racks=7, intra_block_spares=0, inter_block_spares=0), choice("annex", inter_block_spares=1)),
        (choice("hall", count=1, racks=7), choice("hall", count=1), choice("annex")),
        (choice("annex"), choice("hall", count=1), choice("hall", count=1, racks=7)),
    )
    places = [places_of(system(instance, *plan), plan) for plan in plans]
    for one in places:
        for other in places:
            common = one.keys() & other.keys()
            assert len(common) > 90
            assert all(one[place] == other[place] for place in common)
            assert {one[place] for place in one.keys() - common}.isdisjoint(other[place] for place in other)


def places_of(built: System, plan: tuple[dict[str, Any], ...]) -> dict[tuple[Any, ...], tuple[int, int]]:
    """The code of every unit by its place: hall or annex, how many before it of its class, and where in the zone."""
    zones: list[tuple[str, int]] = []
    for item in plan:
        before = sum(name == item["zone"] for name, _ in zones)
        zones += [(item["zone"], before + i) for i in range(item["count"])]
    codes = [tuple(words) for words in built.unit_code.tolist()]
    result: dict[tuple[Any, ...], tuple[int, int]] = {}
    for block in range(len(built.block_zone)):
        zone = int(built.block_zone[block])
        for tray in range(int(built.block_tray[block]), int(built.block_tray[block + 1])):
            place = ("tray", zones[zone], block - int(built.zone_block[zone]), tray - int(built.block_tray[block]))
            result[place] = codes[tray]
    seen: Counter[tuple[Any, ...]] = Counter()
    for domain, blocks in enumerate(blocks_of(built)):
        zone, feeds = int(built.block_zone[blocks[0]]), range(*built.domain_unit[domain : domain + 2].tolist())
        alone = len(set(built.block_zone[blocks].tolist())) == 1
        kind = "site" if not alone else "rack" if len(feeds) == 1 else "pair"
        where = ("site", zones[zone] if alone else None, kind)
        for i, unit in enumerate(feeds):
            result[where[1], kind, seen[where], i] = codes[unit]
        seen[where] += 1
    assert len(result) == len(codes)
    return result


def test_classes_by_hand() -> None:
    """Each kind in each choice has the rate of the instance and the repair of the plan that the choice takes."""
    instance = small(
        failures__domains=[SITE, PAIR, HALL],
        repair_plans=[
            {"name": "plain", "tray": {"hands_on": "10 h"}, "rack": {"hands_on": "20 h", "off_crew": "3 h"}},
            {
                "name": "phased",
                "tray": {
                    "phases": [{"share": 0.1, "hands_on": "1 h"}, {"share": 0.9, "hands_on": "7 h"}],
                    "off_crew": "4 h",
                },
                "rack": {"hands_on": "9 h", "law": "lognormal", "variation": 1.5},
                "domains": {"pair": {"hands_on": "2 h", "law": "deterministic"}},
            },
        ],
    )
    built = system(instance, choice("hall"), choice("annex", repair_plan="phased"))
    halls, annex = 0, 68 - 1  # a tray of each
    rack, annex_rack, pair, annex_pair, cooling, site = 68, 68 + 13, 82, 82 + 23, 106, 109
    rows = built.unit_class[[halls, annex, rack, annex_rack, pair, annex_pair, cooling, site]].tolist()
    assert sorted(set(built.unit_class.tolist())) == list(range(9))
    assert built.rate[rows].tolist() == [1e-3, 1e-3, 1e-4, 1e-4, 1e-5, 1e-5, 2e-5, 3e-5]
    assert built.delay[rows].tolist() == [0, 4, 3, 0, 0, 0, 0, 0]
    laws = [EXPONENTIAL] * 3 + [LOGNORMAL, EXPONENTIAL, DETERMINISTIC, EXPONENTIAL, EXPONENTIAL]
    assert built.repair_law[rows].tolist() == laws
    # a lognormal time whose logarithm has the deviation s varies by sqrt(exp(s^2) - 1)
    shape = built.repair_shape[rows[3]]
    assert math.sqrt(math.exp(shape**2) - 1) == pytest.approx(1.5, rel=1e-12)
    ways = [
        list(zip(*(table[built.phase[row] : built.phase[row + 1]].tolist() for table in ways), strict=True))
        for ways in [(built.phase_up_to, built.phase_mean)]
        for row in rows
    ]
    assert ways == [
        [(1, 10)], [(0.1, 1), (1, 7)], [(1, 20)], [(1, 9)], [(1, 5)], [(1, 2)], [(1, 6)], [(1, 7)]
    ]  # fmt: skip
    assert not built.staffed.any()
    assert (built.life_law == EXPONENTIAL).all()
    assert not built.silent_share.any()
    assert not built.burn_in.any()
    assert not built.lemon_share.any()


def test_what_only_the_simulator_carries() -> None:
    """Laws of lifetimes, lemons, burn-in, silent faults, bursts and standbys reach the class they are stated for."""
    built = system(
        small(
            failures__tray={
                "mtbf": "500 h",
                "lifetime": {"law": "weibull", "shape": 0.7},
                "lemons": {"share": 0.1, "multiple": 5.0},
                "silent": {"share": 0.2, "found_after": "3 h"},
            },
            failures__rack={
                "mtbf": "9000 h",
                "lifetime": {"law": "lognormal", "variation": 2.0},
                "burn_in": {"duration": "1 week", "multiple": 3.0},
            },
            failures__bursts=[{"name": "breaker", "mtbf": "100 d", "racks": 2, "share": 0.3}],
            failures__software={"rate": "0.5 per day"},
            failures__planned={"mtbf": "30 d", "stop": "2 h"},
            checkpoint_plans__c__standbys={"warm": 1, "selection": "3 min"},
        )
    )
    tray, rack = built.unit_class[0], built.unit_class[68]
    assert built.rate[[tray, rack]].tolist() == [1 / 500, 1 / 9000]
    assert built.life_law[[tray, rack]].tolist() == [WEIBULL, LOGNORMAL]
    assert built.life_shape[tray] == 0.7
    assert math.sqrt(math.exp(built.life_shape[rack] ** 2) - 1) == pytest.approx(2.0, rel=1e-12)
    assert (built.lemon_share[tray], built.lemon_multiple[tray]) == (0.1, 5.0)
    assert (built.lemon_share[rack], built.lemon_multiple[rack]) == (0, 1)
    assert (built.burn_in[rack], built.burn_in_multiple[rack]) == (168, 3)
    assert (built.burn_in[tray], built.burn_in_multiple[tray]) == (0, 1)
    assert (built.silent_share[tray], built.found_after[tray], built.silent_share[rack]) == (0.2, 3, 0)
    assert (built.burst_rate.tolist(), built.burst_racks.tolist()) == ([pytest.approx(1 / 2400)], [2])
    assert built.burst_share.tolist() == [0.3]
    assert built.software_rate == pytest.approx(0.5 / 24)
    assert (built.planned_rate, built.planned_stop) == (pytest.approx(1 / 720), 2)
    assert (built.warm, built.selection) == (1, pytest.approx(0.05))


CREWS = {
    "name": "crews",
    "tray": {"hands_on": "10 h"},
    "rack": {"hands_on": "20 h"},
    "crews": [2, 3],
    "crew_hours_per_week": 40,
    "shelf": [0, 7],
    "lead_time": "130 h",
    "parts_share": 0.8,
}
ONE_BLOCK = {"designs__double__blocks_per_rack": 1}  # crews and shelves are refused where a rack holds several blocks


def test_crews_and_shelves_of_zones() -> None:
    """Each zone has a row of its own, after those of the zones before it; zones with ample crews have none."""
    instance = small(repair_plans=[CREWS, BASE["repair_plans"][0]], **ONE_BLOCK)
    built = system(
        instance,
        choice("hall", count=1, repair_plan="plain"),
        choice("hall", count=1, repair_plan="crews", crews=2, shelf_trays=0),
        choice("annex", repair_plan="crews", crews=3, shelf_trays=7),
    )
    assert built.zone_crews.tolist() == built.zone_shelf.tolist() == [-1, 0, 1]
    assert (built.crews.tolist(), built.duty.tolist()) == ([2, 3], [40, 40])
    assert (built.shelf.tolist(), built.lead_time.tolist(), built.parts_share.tolist()) == (
        [0, 7],
        [130] * 2,
        [0.8] * 2,
    )
    zone_of = np.repeat(built.block_zone, np.diff(built.block_tray))
    assert built.staffed[built.unit_class[: len(zone_of)]].tolist() == (zone_of > 0).astype(int).tolist()
    assert built.phase_mean.tolist() == [10, 10, 10, 20, 20, 20]  # not stretched: the duty hours are played
    built = system(
        instance,
        choice("hall", repair_plan="crews", crews=2, shelf_trays=7),
        choice("annex", repair_plan="crews", crews=3, shelf_trays=0),
    )
    assert built.zone_crews.tolist() == built.zone_shelf.tolist() == [0, 1, 2]
    assert (built.crews.tolist(), built.shelf.tolist()) == ([2, 2, 3], [7, 7, 0])


def test_crews_and_shelf_of_the_site() -> None:
    """Zones that share crews and a shelf all have the same single row."""
    instance = small(
        repair_plans=[CREWS | {"shared_by": "site", "crews": 2}], designs__single__gpus_per_tray=4, **ONE_BLOCK
    )
    built = system(
        instance,
        choice("hall", repair_plan="crews", shelf_trays=7),
        choice("annex", repair_plan="crews", shelf_trays=7),
    )
    assert built.zone_crews.tolist() == built.zone_shelf.tolist() == [0, 0, 0]
    assert (built.crews.tolist(), built.duty.tolist(), built.shelf.tolist()) == ([2], [40], [7])
    assert built.staffed.all()


@pytest.mark.parametrize(
    ("plan", "start_at", "expected"),
    [
        ({}, None, (0, 0, 0)),
        ({"start_at": [1, 2]}, 1, (0, 0, 0)),
        ({"start_at": [1, 2]}, 2, (2, 0, 0)),
        ({"start_at": 2, "out_of_service": "block"}, None, (2, 0, 1)),
        ({"start_at": [1, 2], "out_of_service": "block"}, 1, (1, 0, 1)),
        ({"out_of_service": "rack"}, None, (1, 0, 1)),
        ({"window": "1 week"}, None, (0, 168, 0)),
        ({"window": "1 week", "out_of_service": "block"}, None, (0, 168, 1)),
    ],
)
def test_visits_and_windows(plan: dict[str, Any], start_at: int | None, expected: tuple[int, float, int]) -> None:
    """A visit is called at the number asked, or for every fault that takes the block out; windows call none."""
    repair = BASE["repair_plans"][0] | plan | {"swap_stop": "3 min"}
    built = system(
        small(repair_plans=[repair, BASE["repair_plans"][0] | {"name": "other"}], **ONE_BLOCK),
        choice("hall", start_at=start_at),
        choice("annex", repair_plan="other"),
    )
    found = zip(built.start_at.tolist(), built.window.tolist(), built.out_of_service.tolist(), strict=True)
    assert list(found) == [expected, expected, (0, 0, 0)]
    assert built.swap_stop.tolist() == [pytest.approx(0.05)] * 2 + [0]


def test_schemes() -> None:
    """What the job saves and what an interruption costs, by recovery scheme; what a scheme has not is zero."""
    names = ("save", "recovery", "memory_save", "memory_recovery", "memory_share", "snapshot", "slowdown")
    names += ("groups_per_zone", "stall", "rejoin", "shrink")
    base = BASE["checkpoint_plans"][0]
    memory = base | {"memory": {"save": "3 s", "restart": "1 min", "share": 0.9, "storage_every": 10}}
    overlap = base | {"overlap": {"snapshot": "6 s", "slowdown": 0.1}}
    groups = {"groups_per_zone": 2, "stall": "30 s", "rejoin": "15 min", "when_short": "shrink"}
    minute = 1 / 60
    for plan, scheme, values in (
        (base, CHECKPOINTS, {"save": minute, "recovery": 8 * minute}),
        (
            memory,
            TWO_LEVEL,
            {
                "save": minute,
                "recovery": 8 * minute,
                "memory_save": 0.05 * minute,
                "memory_recovery": 3 * minute,
                "memory_share": 0.9,
            },
        ),
        (
            overlap,
            OVERLAPPED,
            {"save": minute, "recovery": 8 * minute, "snapshot": 0.1 * minute, "slowdown": 0.1},
        ),
        (
            {"name": "c", "replicas": groups},
            GROUPS,
            {"groups_per_zone": 2, "stall": 0.5 * minute, "rejoin": 15 * minute, "shrink": 1},
        ),
    ):
        built = system(small(checkpoint_plans=[plan]))
        assert built.scheme == scheme
        assert [getattr(built, name) for name in names] == pytest.approx([values.get(name, 0) for name in names])
        assert (built.warm, built.selection) == (-1, 0)
    built = system(small(checkpoint_plans=[{"name": "c", "replicas": groups | {"when_short": "block"}}]))
    assert built.shrink == 0


@pytest.mark.parametrize(("ageing", "expected"), [("always", ALWAYS), ("working", WORKING), ("computing", COMPUTING)])
def test_ageing(ageing: str, expected: int) -> None:
    """The three ageing rules each have their code."""
    instance = small(
        failures={"tray": {"rate": "1e-3 per h"}, "ageing": ageing},
        zones=[{"name": "hall", "racks": 5}],
        designs__double__intra_block_spares=0,
    )
    assert system(instance, choice("hall", count=1, intra_block_spares=0)).ageing == expected


def default(instance: Instance) -> list[dict[str, Any]]:
    """Each zone class with its first design, the most racks, fewest spares, first repair plan and its least choices."""
    plan = instance.repair_plans[0]
    result = []
    for zone in instance.zones:
        design = next(d for d in instance.designs if zone.designs is None or d.name in zone.designs)
        result.append(
            {
                "zone": zone.name,
                "count": zone.count,
                "design": design.name,
                "racks": max(zone.racks),
                "intra_block_spares": design.intra_block_spares[0],
                "inter_block_spares": design.inter_block_spares[0],
                "repair_plan": plan.name,
                "crews": plan.crews and plan.crews[0],
                "shelf_trays": plan.shelf and plan.shelf[0],
                "start_at": plan.start_at and plan.start_at[0],
            }
        )
    return result


def nested() -> Instance:
    """A site with a domain of every kind, several to a zone, the last of each partial where they are no cells."""
    quad = PAIR | {"name": "quad", "spans": "4 racks"}
    del quad["feeds"]
    return small(
        zones=[{"name": "hall", "count": 3, "racks": 11}, {"name": "annex", "count": 2, "racks": 7}],
        failures__domains=[SITE, quad, HALL, PAIR, HALL | {"name": "feed"}],
    )


def looped() -> Instance:
    """A site with units across zones of several blocks to a rack."""
    return small(
        zones=[{"name": "hall", "count": 3, "racks": 12}, {"name": "annex", "racks": 4}],
        failures__domains=[LOOP, PAIR, SITE, LOOP | {"name": "ring"}],
    )


@pytest.mark.parametrize("name", [*instances.names(), "nested", "looped"])
def test_units_and_blast_radius_are_those_of_the_topology(name: str) -> None:
    """As many units of each kind as in the topology graph, and a fault of each takes down as many GPUs."""
    made = {"nested": nested, "looped": looped}
    instance = made[name]() if name in made else read_instance(name)
    choices = default(instance)
    built = system(instance, *choices)
    designs = {design.name: design for design in instance.designs}
    layouts = [ZoneLayout(c["zone"], c["count"], designs[c["design"]], c["racks"]) for c in choices]
    graph = build_topology(instance, layouts)
    number, radius = units(graph), blast_radius(graph)
    expected: Counter[tuple[str, float, int, int]] = Counter()
    for node, data in graph.nodes(data=True):
        if data["rate"] > 0:
            needed, feeds = data.get("feeds", (1, 1))
            rate = data.get("feed_rate", data["rate"])
            expected[data["fault"], rate, radius[node], 100 * needed + feeds] += number[node]
    gpus_of_choice = np.array([designs[c["design"]].gpus_per_tray for c in choices])
    zone_gpus = np.repeat(gpus_of_choice, [c["count"] for c in choices])
    block_gpus = np.diff(built.block_tray) * zone_gpus[built.block_zone]
    below = np.concatenate(([0], np.cumsum(block_gpus)))
    kinds = ["tray", "rack", *(domain.name for domain in instance.failures.domains)]
    found: Counter[tuple[str, float, int, int]] = Counter()
    trays = int(built.block_tray[-1])
    for tray, gpus in enumerate(np.repeat(zone_gpus[built.block_zone], np.diff(built.block_tray)).tolist()):
        found["tray", float(built.rate[built.unit_class[tray]]), gpus, 101] += 1
    for domain, needed in enumerate(built.domain_needed.tolist()):
        first, stop = built.domain_unit[domain : domain + 2].tolist()
        ranges = slice(*built.domain_range[domain : domain + 2].tolist())
        taken = int((below[built.range_stop[ranges]] - below[built.range_start[ranges]]).sum())
        kind = kinds[int(built.unit_code[first, 0]) >> 20]
        found[kind, float(built.rate[built.unit_class[first]]), taken, 100 * needed + stop - first] += 1
    assert found == expected
    assert trays == sum(n for (kind, *_), n in found.items() if kind == "tray")


def test_arrays_are_as_the_kernel_expects_them() -> None:
    """Every field has the one type that it states, contiguous and writable, also where it is empty."""
    hints = get_type_hints(System)
    trace = Trace("t", ("a",), np.zeros(1, dtype=np.int64), np.ones(1), np.full(1, 2.0), 0)
    rich = small(failures__domains=[SITE, PAIR, HALL])
    bare = small(failures={"tray": {"rate": "1e-3 per h"}})
    assert set(hints.values()) == {Floats, Integers, Words, int, float}
    for built in (system(rich), system(bare), system(bare, trace=trace)):
        for name, value in built._asdict().items():
            if hints[name] in (int, float):
                assert type(value) is hints[name], name
                continue
            assert value.dtype == {Floats: np.float64, Integers: np.int64, Words: np.uint32}[hints[name]], name
            assert value.flags.c_contiguous, name
            assert value.flags.writeable, name
            assert value.ndim == (2 if name == "unit_code" else 1), name


def test_a_trace_is_replayed_in_tray_order() -> None:
    """Units of a trace are the first trays; a trace of more units than trays is refused with both numbers."""
    instance = small()
    index = np.arange(3, dtype=np.int64)
    trace = Trace("log.csv", ("a", "b", "c"), index, np.array([4.0, 1.0, 2.0]), np.array([5.0, 2.0, 3.0]), 0)
    built = system(instance, trace=trace)
    played = zip(built.trace_time.tolist(), built.trace_tray.tolist(), built.trace_down.tolist(), strict=True)
    assert list(played) == [(1, 1, 1), (2, 1, 0), (2, 2, 1), (3, 2, 0), (4, 0, 1), (5, 0, 0)]
    exact = tuple(map(str, range(68)))
    assert len(system(instance, trace=trace._replace(names=exact)).trace_time) == 6
    with pytest.raises(InputError, match=r"^log\.csv: unit: the trace has 69 units, the plan only 68 trays"):
        system(instance, trace=trace._replace(names=(*exact, "one more")))


def test_charging_blocks_is_refused_where_it_matters() -> None:
    """A fault is charged once; that of a domain of one block can't be told apart from that of its block."""
    whole = choice("hall")
    one = small(failures__charge="block", failures__domains=[SITE], **ONE_BLOCK)
    assert len(system(one, whole, choice("annex")).domain_needed) == 15
    pair = PAIR | {"spans": "1 racks"}
    assert system(small(failures__charge="block", failures__domains=[pair], **ONE_BLOCK)) is not None
    for instance, what in (
        (small(failures__charge="block"), "racks hold"),
        (small(failures__charge="block", failures__domains=[HALL], **ONE_BLOCK), "cooling hold"),
        (small(failures__charge="block", failures__domains=[PAIR, HALL]), "racks, pair, cooling hold"),
    ):
        with pytest.raises(InputError, match=rf"^small: failures\.charge: 'block' .*{what} .*use domain$"):
            system(instance)


def test_what_is_not_played_is_refused() -> None:
    """Decisions that do not fit, bursts wider than a zone, sites too large for the codes."""
    burst = small(
        zones__annex__racks=[4, 9], failures__bursts=[{"name": "b", "mtbf": "1 year", "racks": 4, "share": 1.0}]
    )
    with pytest.raises(
        InputError, match=r"failures\.bursts\.0\.racks: expected at most the fewest racks .*\(3\), got 4"
    ):
        system(burst, choice("hall"), choice("annex", racks=3))
    with pytest.raises(InputError, match=r"^plan: zones\.0\.inter_block_spares: expected fewer"):
        system(small(), choice("hall", inter_block_spares=10), choice("annex"))
    trays = small(designs__single__trays_per_block=4097)
    with pytest.raises(InputError, match=r"^plan: zones\.1\.design: design 'single' has 4,097 trays .*at most 4,096"):
        system(trays)
    with pytest.raises(InputError, match=r"^plan: zones\.0\.racks: 1,048,578 blocks in a zone .*at most 1,048,576"):
        system(small(), choice("hall", racks=2**19 + 1), choice("annex"))
    with pytest.raises(InputError, match=r"^plan: zones: it has up to [\d,]+ units, more than is simulated"):
        system(small(zones__hall__count=1000), choice("hall", count=1000, racks=2**19), choice("annex"))
    with pytest.raises(InputError, match=r"^plan: zones: 1,048,577 zones are more than is simulated"):
        system(small(zones__hall__count=2**20), choice("hall", count=2**20), choice("annex"))


def test_zones_count_with_their_working_gpus() -> None:
    """The share of each zone in the job is that of its working GPUs, spares of both kinds left out."""
    built = system(
        small(),
        choice("hall", count=1, intra_block_spares=1, inter_block_spares=1),
        choice("hall", count=1, intra_block_spares=0, inter_block_spares=0),
        choice("annex"),
    )
    trays = np.diff(built.block_tray)[built.zone_block[:-1]]
    gpus = built.working * (trays - built.spare_trays)
    assert len(set(gpus.tolist())) > 1
    assert built.zone_share.sum() == pytest.approx(1.0)
    assert (built.zone_share[:2] / built.zone_share[0]).tolist() == pytest.approx((gpus[:2] / gpus[0]).tolist())
