"""The designed cases on which the exact model is held against the simulator: every feature it claims, as data.

A case is the base site with some fields changed.  Everything is small and fails often, so that a simulation of seconds
sees 100,000 blocked episodes: A from 0.3 to 0.9999.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from spareopt.decisions import Decisions, ZoneChoice
from spareopt.instance import Instance
from spareopt.reading import read_instance

BASE: dict[str, Any] = {
    "schema_version": 1,
    "name": "base",
    "zones": [{"name": "hall", "count": 2, "racks": 12}],
    "designs": [
        {
            "name": "rack-of-4",
            "trays_per_block": 4,
            "gpus_per_tray": 4,
            "intra_block_spares": 1,
            "inter_block_spares": 1,
        }
    ],
    "failures": {"tray": {"mtbf": "300 h"}, "rack": {"mtbf": "1500 h"}},
    "repair_plans": [
        {
            "name": "repair",
            "tray": {"hands_on": "6 h", "off_crew": "4 h"},
            "rack": {"hands_on": "6 h", "off_crew": "4 h"},
        }
    ],
    "checkpoint_plans": [{"name": "save", "period": "best", "save": "30 s", "detection": "1 min", "restart": "6 min"}],
}

# where the fields of the one design, repair plan and checkpoint plan are, and other paths that many cases change
RACKS, COUNT = "zones.0.racks", "zones.0.count"
I, R = "designs.0.intra_block_spares", "designs.0.inter_block_spares"  # noqa: E741
PER_RACK, TRAYS = "designs.0.blocks_per_rack", "designs.0.trays_per_block"
MTBF, RACK, RACK_MTBF = "failures.tray.mtbf", "failures.rack", "failures.rack.mtbf"
DOMAINS, SPREAD, AGEING = "failures.domains", "failures.uncertainty.variance", "failures.ageing"
PLAN, TRAY_REPAIR, RACK_REPAIR = "repair_plans.0", "repair_plans.0.tray", "repair_plans.0.rack"
SCHEME = "checkpoint_plans.0"
NO_RACKS = {RACK: None, RACK_REPAIR: None}


class Case(NamedTuple):
    """A case by name: what of the base it changes, and how it is played."""

    changes: dict[str, Any]
    replications: int = 40
    """More where replications differ by more than their events: uncertain rates, phases of windows."""
    effort: float = 1.0
    """Events that it is given, where 1 is what most cases have."""


def plan(**fields: Any) -> dict[str, Any]:
    """Changes to fields of the repair plan."""
    return {f"{PLAN}.{name}": value for name, value in fields.items()}


def scheme(**fields: Any) -> dict[str, Any]:
    """Changes to fields of the checkpoint plan."""
    return {f"{SCHEME}.{name}": value for name, value in fields.items()}


def repair(hands_on: str, off_crew: str = "0 h", **fields: Any) -> dict[str, Any]:
    """A repair time of trays, the racks keeping theirs."""
    return {TRAY_REPAIR: {"hands_on": hands_on, "off_crew": off_crew} | fields}


def both(hands_on: str, off_crew: str = "0 h", **fields: Any) -> dict[str, Any]:
    """One repair time of trays and racks."""
    times = {"hands_on": hands_on, "off_crew": off_crew} | fields
    return {TRAY_REPAIR: times, RACK_REPAIR: times}


def domain(name: str, spans: str, mtbf: str, hands_on: str, **fields: Any) -> dict[str, Any]:
    """A fault domain."""
    return {"name": name, "spans": spans, "mtbf": mtbf, "repair": {"hands_on": hands_on}} | fields


COOLING = domain("cooling", "3 racks", "1000 h", "8 h")
SMALL_FEED = domain("feed", "6 racks", "2000 h", "12 h")
LOOPS = domain("loop", "site", "2000 h", "10 h", units=4)
ONE_OF_TWO, TWO_OF_THREE = {"number": 2, "needed": 1}, {"number": 3, "needed": 2}
PHASES = [{"share": 0.6, "hands_on": "1 h"}, {"share": 0.4, "hands_on": "16 h"}]
TWO_SIZES = {
    "zones": [{"name": "hall", "count": 2, "racks": 12}, {"name": "annex", "count": 1, "racks": 8}],
}
TWO_DESIGNS = {
    "zones": [
        {"name": "hall", "racks": 12, "designs": ["rack-of-4"]},
        {"name": "annex", "racks": 6, "designs": ["rack-of-6"]},
    ],
    "designs": [
        *BASE["designs"],
        {
            "name": "rack-of-6",
            "trays_per_block": 6,
            "gpus_per_tray": 4,
            "intra_block_spares": 2,
            "inter_block_spares": 1,
        },
    ],
}
# one zone of blocks without spare trays, for spares that do not age
STRIPPED = {COUNT: 1, RACKS: 20, I: 0, TRAYS: 1, MTBF: "400 h", RACK_MTBF: "2000 h"}
MEMORY = {"save": "3 s", "restart": "2 min", "share": 0.8}
SHELF = {"repair_plans.0.lead_time": "60 h", **NO_RACKS}
GROUPS = {"groups_per_zone": 2, "stall": "2 min", "rejoin": "20 min"}
NO_SAVES = dict.fromkeys(("period", "save", "detection", "restart"))
MANY = 4000  # replications, where the spread between them is what is measured

CASES: dict[str, Case] = {
    # spares, zones and what the job pays
    "plain": Case({}),
    "no-spares": Case({I: 0, R: 0, MTBF: "1500 h", RACK_MTBF: "5000 h"}, effort=3),
    "spare-trays-only": Case({I: 1, R: 0, MTBF: "600 h", RACK_MTBF: "5000 h"}),
    "spare-blocks-only": Case({I: 0, R: 3}, effort=1.5),
    "two-spare-trays": Case({I: 2, R: 1}),
    "three-spare-trays": Case({I: 3, R: 1, MTBF: "60 h"}),
    "three-nines": Case({I: 1, R: 2}),
    "many-nines": Case({I: 2, R: 2}),
    "trays-only": Case({**NO_RACKS, R: 1}),
    "one-zone": Case({COUNT: 1, RACKS: 40, R: 2}),
    "five-zones": Case({COUNT: 5, RACKS: 6, R: 1}),
    "zones-of-two-sizes": Case(TWO_SIZES),
    "two-designs": Case(TWO_DESIGNS),
    "large-zone": Case({COUNT: 1, RACKS: 128, MTBF: "1200 h", RACK_MTBF: "6000 h", R: 3}),
    "software": Case({"failures.software.rate": "6 per day"}),
    "charged-by-block": Case({"failures.charge": "block"}),
    "short-period": Case(scheme(period="2 min")),
    "long-period": Case(scheme(period="4 h"), effort=2),
    "slow-recovery": Case(scheme(restart="2 h"), effort=2),
    "no-save-time": Case(scheme(period="30 min", save="0 s")),
    # repair laws, ample crews
    "deterministic-repair": Case(both("6 h", "4 h", law="deterministic")),
    "lognormal-repair": Case(both("6 h", "4 h", law="lognormal", variation=2)),
    "repair-in-phases": Case({TRAY_REPAIR: {"phases": PHASES, "off_crew": "2 h"}}),
    "lognormal-phases": Case({TRAY_REPAIR: {"phases": PHASES, "law": "lognormal", "variation": 1.5}}),
    "unequal-repair": Case(repair("2 h", "1 h") | {RACK_REPAIR: {"hands_on": "20 h", "off_crew": "10 h"}}),
    # trees of domains
    "racks-of-2": Case({RACKS: 6, PER_RACK: 2, R: 2}),
    "racks-of-4": Case({RACKS: 4, PER_RACK: 4, R: 4}),
    "racks-of-2-half-spare": Case({RACKS: 7, PER_RACK: 2, R: 7, RACK_MTBF: "100 h"}),
    "cooling": Case({DOMAINS: [COOLING], R: 3}),
    "cooling-and-feeds": Case({DOMAINS: [COOLING, SMALL_FEED], R: 6}),
    "cooling-with-a-rest": Case({DOMAINS: [COOLING | {"spans": "5 racks"}], R: 5}),
    "cooling-over-racks-of-2": Case({RACKS: 6, PER_RACK: 2, DOMAINS: [COOLING | {"spans": "2 racks"}], R: 4}),
    "domain-of-one-rack": Case({DOMAINS: [COOLING | {"spans": "1 racks"}]}),
    "zone-domain": Case({DOMAINS: [domain("hall-feed", "zone", "500 h", "10 h")]}),
    "site-domain": Case({DOMAINS: [domain("grid", "site", "300 h", "10 h")]}),
    "zone-and-site-domains": Case(
        {DOMAINS: [domain("hall-feed", "zone", "900 h", "9 h"), domain("grid", "site", "900 h", "5 h")]}
    ),
    "repair-by-plan": Case(
        {DOMAINS: [domain("hall-feed", "zone", "500 h", "30 h")], f"{PLAN}.domains": {"hall-feed": {"hands_on": "5 h"}}}
    ),
    "loops": Case({DOMAINS: [LOOPS]}),
    "loops-nested": Case({DOMAINS: [LOOPS, domain("train", "site", "3000 h", "10 h", units=2)]}),
    "loops-zones-of-two-sizes": Case({**TWO_SIZES, DOMAINS: [LOOPS], R: 1, MTBF: "600 h"}),
    "loops-over-cooling": Case({DOMAINS: [LOOPS | {"units": 2}, COOLING], R: 4}),
    "loops-spared": Case({DOMAINS: [LOOPS], R: 3}),
    "loops-spared-often": Case({DOMAINS: [LOOPS | {"mtbf": "200 h"}], R: 6}),
    # redundant feeds
    "zone-feed-1-of-2": Case({DOMAINS: [domain("hall-feed", "zone", "200 h", "20 h", feeds=ONE_OF_TWO)]}),
    "zone-feed-2-of-2": Case(
        {DOMAINS: [domain("hall-feed", "zone", "900 h", "9 h", feeds={"number": 2, "needed": 2})]}
    ),
    "rack-feeds-2-of-3": Case({DOMAINS: [domain("feed", "1 racks", "200 h", "10 h", feeds=TWO_OF_THREE)]}),
    "rack-feeds-slow": Case({DOMAINS: [domain("feed", "1 racks", "200 h", "100 h", feeds=ONE_OF_TWO)], R: 4}),
    "site-feed-1-of-2": Case({DOMAINS: [domain("grid", "site", "200 h", "20 h", feeds=ONE_OF_TWO)]}),
    "loops-1-of-2": Case({DOMAINS: [LOOPS | {"mtbf": "200 h", "feeds": ONE_OF_TWO}]}),
    # crews
    "one-crew": Case({**NO_RACKS, **repair("4 h", "6 h"), **plan(crews=1)}, effort=3),
    "two-crews": Case({**both("6 h", "4 h"), **plan(crews=2)}),
    "three-crews-long-delay": Case({**both("6 h", "20 h"), R: 2, **plan(crews=3)}),
    "eight-crews": Case({**both("6 h"), **plan(crews=8)}),
    "busy-crew": Case({**NO_RACKS, **repair("5.5 h"), R: 4, **plan(crews=1)}, effort=2),
    "overloaded-crew": Case({**NO_RACKS, **repair("6.5 h"), R: 6, **plan(crews=1)}, effort=4),
    "crews-under-a-zone-domain": Case(
        {DOMAINS: [domain("hall-feed", "zone", "900 h", "9 h")], **both("6 h", "4 h"), **plan(crews=2)}
    ),
    "crews-of-the-site": Case({**both("5 h", "4 h"), **plan(crews=3, shared_by="site")}),
    "crew-of-the-site": Case({**NO_RACKS, **repair("2.5 h", "4 h"), **plan(crews=1, shared_by="site")}, effort=3),
    "crews-of-the-site-two-sizes": Case(
        {**TWO_SIZES, **both("5 h", "4 h"), **plan(crews=3, shared_by="site")}, effort=2
    ),
    "crews-of-the-site-two-designs": Case({**TWO_DESIGNS, **both("5 h", "4 h"), **plan(crews=3, shared_by="site")}),
    "crews-unequal": Case(
        {**repair("3 h", "4 h"), RACK_REPAIR: {"hands_on": "12 h", "off_crew": "4 h"}, **plan(crews=2)}
    ),
    "crews-very-unequal": Case({**repair("3 h"), RACK_REPAIR: {"hands_on": "40 h"}, R: 4, **plan(crews=1)}),
    "crews-deterministic": Case({**both("6 h", "4 h", law="deterministic"), **plan(crews=2)}),
    "crews-lognormal": Case({**both("6 h", "4 h", law="lognormal", variation=2), **plan(crews=2)}),
    "crews-in-phases": Case({TRAY_REPAIR: {"phases": PHASES}, **plan(crews=2)}),
    "crews-of-the-site-unequal": Case(
        {**repair("3 h", "4 h"), RACK_REPAIR: {"hands_on": "12 h"}, **plan(crews=3, shared_by="site")}
    ),
    "crews-part-time": Case(
        {**both("2 h", "4 h"), MTBF: "900 h", RACK_MTBF: "4500 h", **plan(crews=2, crew_hours_per_week=40)}
    ),
    "crews-nearly-full-time": Case({**both("5 h", "4 h"), **plan(crews=2, crew_hours_per_week=140)}),
    "crews-day-shift-few-faults": Case(
        {**both("2 h", "4 h"), MTBF: "3000 h", RACK_MTBF: "9000 h", R: 0, **plan(crews=1, crew_hours_per_week=40)}
    ),
    # a shelf of trays
    "shelf-swaps-at-once": Case({**SHELF, **repair("0 h"), **plan(shelf=12)}),
    "shelf-none": Case({**SHELF, **repair("2 h", "2 h"), "repair_plans.0.lead_time": "20 h", **plan(shelf=0)}),
    "shelf-short-swaps": Case({**SHELF, **repair("0.6 h"), **plan(shelf=12)}),
    "shelf-swaps-of-a-tenth": Case({**SHELF, **repair("3 h", "3 h"), **plan(shelf=12)}),
    "shelf-long-swaps": Case({**SHELF, **repair("15 h", "15 h"), R: 3, **plan(shelf=10)}),
    "shelf-with-crews": Case({**SHELF, **repair("3 h", "3 h"), **plan(shelf=12, crews=1)}),
    "shelf-some-parts": Case({**SHELF, **repair("3 h", "3 h"), **plan(shelf=6, parts_share=0.5)}),
    "shelf-and-racks": Case({f"{PLAN}.lead_time": "60 h", **both("3 h", "3 h"), **plan(shelf=12)}),
    "shelf-racks-and-crews": Case({f"{PLAN}.lead_time": "60 h", **both("3 h", "3 h"), **plan(shelf=12, crews=2)}),
    "shelf-of-the-site": Case({**SHELF, **repair("3 h", "3 h"), **plan(shelf=22, shared_by="site")}),
    "shelf-and-crews-of-the-site": Case(
        {f"{PLAN}.lead_time": "60 h", **both("3 h", "3 h"), **plan(shelf=22, crews=3, shared_by="site")}
    ),
    "shelf-full": Case({**SHELF, **repair("3 h", "3 h"), **plan(shelf=60)}),
    # deferred repair
    "visits-at-2": Case(plan(start_at=2), effort=1.5),
    "visits-at-3": Case({**plan(start_at=3), I: 2}),
    "visits-at-1-block-out": Case({**plan(start_at=1, out_of_service="block"), MTBF: "900 h"}),
    "visits-at-2-block-out": Case({R: 2, **plan(start_at=2, out_of_service="block")}, effort=2),
    "visits-at-3-block-out": Case({**plan(start_at=3, out_of_service="block"), I: 2, R: 2}),
    "visits-at-4-block-out": Case({**plan(start_at=4, out_of_service="block"), I: 3, TRAYS: 6, MTBF: "150 h"}),
    "visits-beyond-the-spares": Case({**plan(start_at=2), I: 0, R: 8, MTBF: "900 h"}),
    "visits-over-racks-of-2": Case({RACKS: 6, PER_RACK: 2, R: 4, **plan(start_at=2, out_of_service="block")}),
    "visits-deterministic": Case(
        {R: 2, **both("6 h", "4 h", law="deterministic"), **plan(start_at=2, out_of_service="block")}
    ),
    "visits-lognormal": Case(
        {R: 2, **both("6 h", "4 h", law="lognormal", variation=2), **plan(start_at=2, out_of_service="block")}
    ),
    "windows": Case({R: 2, **repair("8 h", law="deterministic"), **plan(window="48 h")}, replications=MANY),
    "windows-block-out": Case(
        {**repair("8 h", law="deterministic"), **plan(window="72 h", out_of_service="block"), MTBF: "1200 h", R: 4},
        replications=MANY,
    ),
    "windows-one-zone": Case({COUNT: 1, RACKS: 24, R: 4, **repair("8 h", law="deterministic"), **plan(window="48 h")}),
    "windows-exponential": Case({R: 2, **repair("8 h"), **plan(window="48 h")}, replications=MANY),
    "windows-lognormal": Case(
        {
            **repair("8 h", law="lognormal", variation=1.5),
            **plan(window="72 h", out_of_service="block"),
            MTBF: "1200 h",
            R: 4,
        },
        replications=MANY,
    ),
    # stops of the job
    "planned-stops": Case({"failures.planned": {"rate": "1 per day", "stop": "30 min"}}),
    "planned-stops-rare": Case({"failures.planned": {"rate": "0.1 per day", "stop": "2 h"}}),
    "swap-stops": Case(plan(swap_stop="10 min")),
    "swap-stops-of-visits": Case({I: 2, **plan(start_at=2, out_of_service="block", swap_stop="20 min")}),
    "swap-stops-of-windows": Case(
        {R: 2, **repair("8 h", law="deterministic"), **plan(window="48 h", swap_stop="1 h")}, replications=MANY
    ),
    "swap-stops-of-crews": Case({**both("6 h", "4 h"), **plan(crews=2, swap_stop="10 min")}),
    # spares that do not age
    "working-no-spares": Case({**STRIPPED, AGEING: "working", R: 0}),
    "working-one-spare": Case(
        {**STRIPPED, AGEING: "working", R: 1, **both("6 h", "4 h", law="lognormal", variation=2)}
    ),
    "working-two-spares": Case({**STRIPPED, AGEING: "working", R: 2, **both("6 h", "4 h", law="deterministic")}),
    "working-three-spares": Case({**STRIPPED, AGEING: "working", R: 3, TRAYS: 3, TRAY_REPAIR: {"phases": PHASES}}),
    "working-two-level": Case({**STRIPPED, AGEING: "working", R: 1, **scheme(memory=MEMORY)}),
    "computing-free-saves": Case(
        {**STRIPPED, AGEING: "computing", R: 1, **both("10 h"), **scheme(period="30 min", save="0 s", restart="1 h")}
    ),
    "computing-no-spares": Case(
        {**STRIPPED, AGEING: "computing", R: 0, **both("10 h"), **scheme(period="30 min", save="0 s", restart="1 h")}
    ),
    "computing-three-spares": Case(
        {**STRIPPED, AGEING: "computing", R: 3, **both("30 h"), **scheme(period="1 h", save="0 s", restart="2 h")}
    ),
    "computing-saves": Case({**STRIPPED, AGEING: "computing", R: 1, **both("10 h"), **scheme(restart="1 h")}),
    "computing-long-saves": Case(
        {**STRIPPED, AGEING: "computing", R: 1, **both("10 h"), **scheme(period="1 h", save="15 min", restart="1 h")}
    ),
    # rates that nobody knows well
    "uncertain-5": Case({SPREAD: 0.05}, replications=MANY),
    "uncertain-5-given-period": Case({SPREAD: 0.05, **scheme(period="15 min")}, replications=MANY),
    "uncertain-30": Case({SPREAD: 0.3, R: 2}, replications=MANY),
    "uncertain-100": Case({SPREAD: 1.0, R: 2}, replications=MANY),
    "uncertain-100-given-period": Case({SPREAD: 1.0, R: 2, **scheme(period="15 min")}, replications=MANY),
    "uncertain-crews": Case({SPREAD: 0.05, R: 2, **both("6 h", "4 h"), **plan(crews=3)}, replications=MANY),
    "uncertain-loops": Case({SPREAD: 0.05, DOMAINS: [LOOPS]}, replications=MANY),
    # recovery schemes
    "two-level": Case(scheme(memory=MEMORY)),
    "two-level-given": Case(scheme(period="6 min", memory=MEMORY | {"storage_every": 8})),
    "two-level-fragile": Case(scheme(memory=MEMORY | {"share": 0.3}, save="2 min", restart="20 min")),
    "two-level-never-lost": Case(scheme(memory=MEMORY | {"share": 1.0})),
    "overlapped": Case(scheme(save="3 min", overlap={"snapshot": "5 s", "slowdown": 0.1})),
    "overlapped-given": Case(scheme(period="12 min", save="6 min", overlap={"snapshot": "20 s", "slowdown": 0.3})),
    "overlapped-full-time": Case(scheme(save="40 min", overlap={"snapshot": "5 s"})),
    "replicas": Case({R: 2, **scheme(**NO_SAVES, replicas=GROUPS)}),
    "replicas-long-rejoin": Case(
        {R: 2, **scheme(**NO_SAVES, replicas=GROUPS | {"groups_per_zone": 5, "rejoin": "3 h"})}
    ),
    "replicas-long-stall": Case(
        {R: 2, **scheme(**NO_SAVES, replicas=GROUPS | {"groups_per_zone": 5, "stall": "15 min"})}
    ),
    "replicas-stall-beyond-rejoin": Case({R: 2, **scheme(**NO_SAVES, replicas=GROUPS | {"stall": "40 min"})}),
    "replicas-shrink": Case(
        {R: 0, **scheme(**NO_SAVES, replicas=GROUPS | {"groups_per_zone": 4, "when_short": "shrink"})}
    ),
    "replicas-one-group": Case({COUNT: 1, RACKS: 20, **scheme(**NO_SAVES, replicas=GROUPS | {"groups_per_zone": 1})}),
    # several features at once
    "crews-two-level-software": Case(
        {**both("6 h", "4 h"), **plan(crews=2), "failures.software.rate": "4 per day", **scheme(memory=MEMORY)}
    ),
    "loops-visits-overlapped": Case(
        {
            R: 2,
            DOMAINS: [LOOPS, domain("grid", "site", "900 h", "5 h")],
            **plan(start_at=2, out_of_service="block"),
            **scheme(save="3 min", overlap={"snapshot": "5 s", "slowdown": 0.1}),
        }
    ),
    "site-crews-zone-domain": Case(
        {
            **TWO_DESIGNS,
            DOMAINS: [domain("hall-feed", "zone", "900 h", "9 h")],
            **both("5 h", "4 h"),
            **plan(crews=3, shared_by="site"),
        }
    ),
}
"""All cases by name."""

QUICK = (
    "plain", "no-spares", "two-designs", "repair-in-phases", "loops-nested", "two-crews", "crews-of-the-site-two-sizes",
    "visits-at-2-block-out", "windows-one-zone", "working-three-spares", "two-level", "overlapped",
)  # fmt: skip
"""Exact cases that are quick enough for every run of the tests."""


def case_instance(name: str) -> Instance:
    """The instance of a case."""
    return read_instance(BASE | {"name": name}, overrides=CASES[name].changes)


def only_decisions(instance: Instance) -> Decisions:
    """The decisions that an instance without choices leaves."""
    designs = {design.name: design for design in instance.designs}
    zones = []
    for zone in instance.zones:
        design = designs[zone.designs[0]] if zone.designs else instance.designs[0]
        zones.append(
            ZoneChoice(
                zone=zone.name,
                count=zone.count,
                design=design.name,
                racks=zone.racks[0],
                intra_block_spares=design.intra_block_spares[0],
                inter_block_spares=design.inter_block_spares[0],
                repair_plan=instance.repair_plans[0].name,
            )
        )
    return Decisions(zones=tuple(zones), checkpoint_plan=instance.checkpoint_plans[0].name)
