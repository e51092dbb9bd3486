"""Small sites for the simulators' tests: by keyword, with defaults under which nothing fails, or at random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

import numpy as np

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
    Run,
    System,
)

KEY = (0x12345678, 0x9ABCDEF0)
DOMAIN_CODE = 0x40000000
"""First word of the code of domain 0's units; trays have (block, place in it)."""


@dataclass(frozen=True)
class Class:
    """A fault class; ``ways`` are (share, mean hands-on time) of the ways of repair."""

    rate: float = 0.0
    life_law: int = EXPONENTIAL
    life_shape: float = 1.0
    lemon_share: float = 0.0
    lemon_multiple: float = 1.0
    burn_in: float = 0.0
    burn_in_multiple: float = 1.0
    silent_share: float = 0.0
    found_after: float = 0.0
    repair_law: int = EXPONENTIAL
    repair_shape: float = 1.0
    ways: tuple[tuple[float, float], ...] = ((1.0, 1.0),)
    delay: float = 0.0
    staffed: int = 0


def sure(rate: float, hands_on: float, **fields: Any) -> Class:
    """A class without chance: lives of 1/rate h and hands-on times of so many h."""
    return Class(rate, DETERMINISTIC, repair_law=DETERMINISTIC, ways=((1.0, hands_on),), **fields)


@dataclass(frozen=True)
class Domain:
    """Feeds of a class, of which so many are needed, that hold ranges of blocks (start, stop)."""

    kind: Class
    ranges: tuple[tuple[int, int], ...]
    feeds: int = 1
    needed: int = 1


def small_system(
    *,
    blocks: Sequence[int] = (2,),
    trays: Sequence[int] = (1,),
    working: Sequence[int] = (1,),
    spare_trays: Sequence[int] = (0,),
    tray: Class | Sequence[Class] | None = None,
    domains: Sequence[Domain] = (),
    **fields: Any,
) -> System:
    """A site of zones with so many blocks, trays per block, working blocks and idle trays per block each.

    ``tray``: the class of the trays, or one for each zone.  ``fields`` are fields of ``System``; lists become
    arrays.  By default nothing fails, crews and parts are ample, saves take no time and the scheme is checkpoints.
    """
    zones = len(blocks)
    kinds = [tray or Class()] * zones if tray is None or isinstance(tray, Class) else list(tray)
    classes = [*kinds, *(domain.kind for domain in domains)]
    zone_of = np.repeat(np.arange(zones), blocks)
    block_tray = np.concatenate([[0], np.cumsum(np.asarray(trays)[zone_of])])
    unit_class = [int(zone) for zone in zone_of for _ in range(trays[zone])]
    codes = [(block, place) for block, zone in enumerate(zone_of) for place in range(trays[zone])]
    for number, domain in enumerate(domains):
        unit_class += [zones + number] * domain.feeds
        codes += [(DOMAIN_CODE + number, feed) for feed in range(domain.feeds)]
    held = [
        [d for d, domain in enumerate(domains) if any(a <= b < z for a, z in domain.ranges)]
        for b in range(len(zone_of))
    ]
    values: dict[str, Any] = {
        "zone_block": _offsets(blocks),
        "working": list(working),
        "spare_trays": list(spare_trays),
        "rack_blocks": [1] * zones,
        "zone_crews": [-1] * zones,
        "zone_shelf": [-1] * zones,
        "start_at": [0] * zones,
        "window": [0.0] * zones,
        "out_of_service": [0] * zones,
        "swap_stop": [0.0] * zones,
        "zone_share": [1.0 / zones] * zones,
        "block_zone": zone_of,
        "block_tray": block_tray,
        "unit_class": unit_class,
        "unit_code": np.array(codes, dtype=np.uint32).reshape(-1, 2),
        "domain_unit": int(block_tray[-1]) + np.asarray(_offsets([domain.feeds for domain in domains])),
        "domain_needed": [domain.needed for domain in domains],
        "domain_range": _offsets([len(domain.ranges) for domain in domains]),
        "range_start": [start for domain in domains for start, _ in domain.ranges],
        "range_stop": [stop for domain in domains for _, stop in domain.ranges],
        "block_domain": _offsets([len(some) for some in held]),
        "domain_of": [d for some in held for d in some],
        "phase": _offsets([len(kind.ways) for kind in classes]),
        "phase_up_to": [float(x) for kind in classes for x in np.cumsum([share for share, _ in kind.ways])],
        "phase_mean": [float(mean) for kind in classes for _, mean in kind.ways],
        "crews": [],
        "duty": [],
        "shelf": [],
        "lead_time": [],
        "parts_share": [],
        "software_rate": 0.0,
        "planned_rate": 0.0,
        "planned_stop": 0.0,
        "burst_rate": [],
        "burst_racks": [],
        "burst_share": [],
        "ageing": ALWAYS,
        "trace_time": [],
        "trace_tray": [],
        "trace_down": [],
        "scheme": CHECKPOINTS,
        "save": 0.0,
        "recovery": 0.0,
        "memory_save": 0.0,
        "memory_recovery": 0.0,
        "memory_share": 0.0,
        "snapshot": 0.0,
        "slowdown": 0.0,
        "groups_per_zone": 1,
        "stall": 0.0,
        "rejoin": 0.0,
        "shrink": 0,
        "warm": -1,
        "selection": 0.0,
    }
    same = [name for name in Class.__dataclass_fields__ if name != "ways"]
    values |= {name: [getattr(kind, name) for kind in classes] for name in same}
    values |= fields
    hints = get_type_hints(System)
    return System(**{name: _typed(hints[name], value) for name, value in values.items()})


def _offsets(sizes: Sequence[int]) -> list[int]:
    return [0, *(int(total) for total in np.cumsum(sizes))]


def _typed(hint: Any, value: Any) -> Any:
    return hint(value) if hint in (int, float) else np.asarray(value, dtype=get_args(get_args(hint)[1])[0])


def small_run(**fields: Any) -> Run:
    """A run of 100 h in one bin without warm-up that saves every 4 h of work, with other fields by keyword."""
    values: dict[str, Any] = {
        "key": KEY,
        "multiplier": 1.0,
        "period": 4.0,
        "storage_every": 1,
        "warm_up": 0.0,
        "bin": 100.0,
        "bins": 1,
        "until_useful": math.inf,
    }
    return Run(**(values | fields))


def random_system(seed: int) -> System:
    """A small site at random: over the seeds every feature occurs, with every other that it may occur with."""
    rng = np.random.default_rng(seed)

    def chance(share: float) -> bool:
        return bool(rng.random() < share)

    def hours(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    zones = int(rng.integers(1, 4))
    blocks = [int(n) for n in rng.integers(1, 7, zones)]
    trays = [int(n) for n in rng.integers(1, 5, zones)]
    working = [int(rng.integers(max(1, n - 2), n + 1)) for n in blocks]
    spare_trays = [int(rng.integers(0, min(n, 3))) for n in trays]

    def kind(life: float, repair: float, silent: bool) -> Class:
        law = int(rng.choice([EXPONENTIAL, EXPONENTIAL, DETERMINISTIC, WEIBULL, LOGNORMAL]))
        shares = rng.dirichlet(np.ones(int(rng.integers(1, 4))))
        return Class(
            rate=1.0 / hours(life / 3, life * 3),
            life_law=law if law != DETERMINISTIC or chance(0.2) else EXPONENTIAL,
            life_shape=float(rng.uniform(0.6, 2.5)),
            lemon_share=float(rng.uniform(0, 0.5)) if chance(0.3) else 0.0,
            lemon_multiple=float(rng.uniform(1, 5)),
            burn_in=hours(life / 10, life) if chance(0.3) else 0.0,
            burn_in_multiple=float(rng.uniform(1, 5)),
            silent_share=float(rng.uniform(0, 0.6)) if silent and chance(0.4) else 0.0,
            found_after=hours(0.5, 30),
            repair_law=int(rng.choice([EXPONENTIAL, DETERMINISTIC, LOGNORMAL])),
            repair_shape=float(rng.uniform(0.3, 1.2)),
            ways=tuple((float(share), hours(repair / 3, repair * 3)) for share in shares),
            delay=hours(repair / 3, repair) if chance(0.6) else 0.0,
            staffed=int(chance(0.7)),
        )

    domains: list[Domain] = []
    rack_blocks = [int(rng.integers(1, 3)) for _ in range(zones)]
    first = 0
    for zone, count in enumerate(blocks):
        rack_kind = kind(400.0, 8.0, False)
        if chance(0.6):
            for start in range(first, first + count, rack_blocks[zone]):
                domains.append(Domain(rack_kind, ((start, min(start + rack_blocks[zone], first + count)),)))
        first += count
    total = sum(blocks)
    if chance(0.4):
        feeds = int(rng.integers(1, 4))
        domains.append(Domain(kind(300.0, 6.0, False), ((0, total),), feeds, int(rng.integers(1, feeds + 1))))
    if total > 2 and chance(0.4):
        half = total // 2
        domains.append(Domain(kind(500.0, 6.0, False), ((0, 1), (half, half + 1)), 2, 1))

    deferred = [chance(0.35) for _ in range(zones)]
    windows = [hours(10, 100) if some and chance(0.5) else 0.0 for some in deferred]
    crews = int(rng.integers(0, 3))
    shelves = int(rng.integers(0, 3))
    scheme = int(rng.choice([CHECKPOINTS, CHECKPOINTS, TWO_LEVEL, OVERLAPPED, GROUPS]))
    ageing = int(rng.choice([ALWAYS, ALWAYS, WORKING, COMPUTING if scheme == CHECKPOINTS else ALWAYS]))
    bursts = int(rng.integers(1, 3)) if chance(0.3) else 0
    traced = chance(0.1)
    rows = int(rng.integers(5, 40)) if traced else 0
    number_of_trays = sum(n * k for n, k in zip(blocks, trays, strict=True))
    each = int(rng.integers(1, 4))
    standbys = scheme != GROUPS and chance(0.2)
    return small_system(
        blocks=blocks,
        trays=trays,
        working=working,
        spare_trays=spare_trays,
        tray=[kind(100.0, 6.0, True) for _ in range(zones)],
        domains=domains,
        rack_blocks=rack_blocks,
        zone_crews=[int(rng.integers(-1, crews)) if not some else -1 for some in deferred],
        zone_shelf=[int(rng.integers(-1, shelves)) if not some else -1 for some in deferred],
        start_at=[int(rng.integers(1, trays[z] + 1)) if deferred[z] and windows[z] == 0 else 0 for z in range(zones)],
        window=windows,
        out_of_service=[int(some and chance(0.5)) for some in deferred],
        swap_stop=[hours(0.05, 1) if chance(0.4) else 0.0 for _ in range(zones)],
        crews=rng.integers(1, 3, crews),
        duty=[float(rng.choice([168.0, 40.0, 110.0, 140.0])) for _ in range(crews)],
        shelf=rng.integers(0, 3, shelves),
        lead_time=rng.uniform(5, 60, shelves),
        parts_share=rng.uniform(0.3, 1, shelves),
        software_rate=1.0 / hours(10, 200) if chance(0.5) else 0.0,
        planned_rate=1.0 / hours(20, 200) if chance(0.4) else 0.0,
        planned_stop=hours(0.1, 5),
        burst_rate=1.0 / rng.uniform(50, 300, bursts),
        burst_racks=rng.integers(1, 4, bursts),
        burst_share=rng.uniform(0.2, 1, bursts),
        ageing=ageing,
        trace_time=np.sort(rng.uniform(0, 500, rows)),
        trace_tray=rng.integers(0, number_of_trays, rows),
        trace_down=rng.integers(0, 2, rows),
        scheme=scheme,
        save=hours(0.01, 0.3) if chance(0.9) else 0.0,
        recovery=hours(0.05, 1.5) if chance(0.9) else 0.0,
        memory_save=hours(0.005, 0.05),
        memory_recovery=hours(0.02, 0.5),
        memory_share=float(rng.uniform(0, 1)),
        snapshot=hours(0.005, 0.1) if chance(0.8) else 0.0,
        slowdown=float(rng.uniform(0, 1)) if chance(0.8) else float(chance(0.5)),
        groups_per_zone=each,
        stall=hours(0.01, 2),
        rejoin=hours(0.05, 3),
        shrink=int(scheme == GROUPS and chance(0.6)),
        warm=int(rng.integers(0, 3)) if standbys else -1,
        selection=hours(0.02, 0.5) if standbys and chance(0.8) else 0.0,
        zone_share=rng.dirichlet(np.ones(zones)),
    )


def random_run(seed: int) -> Run:
    """A run of a ``random_system``, of some hundred hours."""
    rng = np.random.default_rng([seed, 1])
    return Run(
        key=(int(rng.integers(0, 2**32)), int(rng.integers(0, 2**32))),
        multiplier=float(rng.choice([1.0, 0.5, 1.7])),
        period=float(rng.uniform(0.35, 4.0)),
        storage_every=int(rng.integers(1, 6)),
        warm_up=float(rng.choice([0.0, rng.uniform(1, 100)])),
        bin=float(rng.uniform(5, 60)),
        bins=int(rng.integers(1, 12)),
        until_useful=float(rng.uniform(1, 200)) if rng.random() < 0.3 else math.inf,
    )
