"""What is simulated: the units of a site, their laws and what takes what down, as arrays in hours."""

from __future__ import annotations

from typing import Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint32]

EXPONENTIAL, DETERMINISTIC, WEIBULL, LOGNORMAL = range(4)
"""Laws of lifetimes and of hands-on times."""
ALWAYS, WORKING, COMPUTING = range(3)
"""What ages: all units; working ones while the job is not blocked; working ones while it computes."""
CHECKPOINTS, TWO_LEVEL, OVERLAPPED, GROUPS = range(4)
"""Recovery schemes."""


class System(NamedTuple):
    """A site as arrays.  Zones, blocks and units are numbered throughout; offsets have one entry more than items.

    Trays come first among the units, block by block; then the feeds of the racks and other domains, domain by domain
    (a domain without redundant feeds has one).  Times in h, rates per h.
    """

    # zones
    zone_block: Integers
    """First block of each zone (offsets)."""
    working: Integers
    """L − R of each zone."""
    spare_trays: Integers
    """I of the blocks of each zone."""
    rack_blocks: Integers
    """Blocks per rack of each zone."""
    zone_crews: Integers
    """The crews that serve each zone's trays and racks: a row of ``crews``; −1 where they are ample."""
    zone_shelf: Integers
    """The shelf that each zone's trays come from: a row of ``shelf``; −1 where one is always at hand."""
    start_at: Integers
    """Trays of a block that are down when a visit is called; 0 where each tray is repaired by itself."""
    window: Floats
    """Time between repair windows of each zone; 0 where repair waits for none."""
    out_of_service: Integers
    """Whether (1) a block is out of service while its trays are repaired in a visit or from a window on."""
    swap_stop: Floats
    """Time that the job stands still for a repair in a working block."""
    zone_share: Floats
    """Share of the job's GPUs that the slots of each zone hold."""

    # blocks and units
    block_zone: Integers
    block_tray: Integers
    """First tray of each block (offsets)."""
    unit_class: Integers
    """Row of the class tables."""
    unit_code: Words
    """(units, 2): the first two words of the counter of a unit's random numbers, the same in every plan."""

    # domains (racks among them)
    domain_unit: Integers
    """First unit of each domain (offsets)."""
    domain_needed: Integers
    """How many of its units must be up."""
    domain_range: Integers
    """First range of blocks of each domain (offsets into ``range_start``, ``range_stop``)."""
    range_start: Integers
    range_stop: Integers
    """A domain takes down the blocks start <= block < stop of each of its ranges, which ascend."""
    block_domain: Integers
    """First domain of each block (offsets into ``domain_of``)."""
    domain_of: Integers

    # fault classes, one for each kind of unit and zone choice
    rate: Floats
    life_law: Integers
    life_shape: Floats
    """Weibull shape, or standard deviation of the logarithm."""
    lemon_share: Floats
    lemon_multiple: Floats
    burn_in: Floats
    burn_in_multiple: Floats
    silent_share: Floats
    found_after: Floats
    repair_law: Integers
    repair_shape: Floats
    """Standard deviation of the logarithm of a lognormal hands-on time."""
    phase: Integers
    """First way of repair of each class (offsets into ``phase_up_to``, ``phase_mean``)."""
    phase_up_to: Floats
    """Shares of the ways, added up; the last is 1."""
    phase_mean: Floats
    delay: Floats
    """Mean off-crew delay, exponential; 0 for none."""
    staffed: Integers
    """Whether (1) the class is repaired by the zone's crews."""

    # what is shared
    crews: Integers
    """Number of each group of crews."""
    duty: Floats
    """Hours a week that each group of crews is on duty."""
    shelf: Integers
    """Trays of each shelf."""
    lead_time: Floats
    parts_share: Floats
    software_rate: float
    planned_rate: float
    planned_stop: float
    burst_rate: Floats
    burst_racks: Integers
    burst_share: Floats
    ageing: int

    # the trace that is replayed instead of faults at random, if any
    trace_time: Floats
    trace_tray: Integers
    trace_down: Integers
    """1: the tray goes down, 0: it is back."""

    # the job
    scheme: int
    save: float
    """Time of a save (to storage; of the background write)."""
    recovery: float
    """Detection and restart (from storage)."""
    memory_save: float
    memory_recovery: float
    memory_share: float
    snapshot: float
    slowdown: float
    groups_per_zone: int
    stall: float
    rejoin: float
    shrink: int
    """Whether (1) replica groups go on with fewer while a zone is short."""
    warm: int
    """Idle blocks of each zone that stand by; −1 where the instance states no standbys."""
    selection: float
    """Time to select hosts anew."""


class Run(NamedTuple):
    """One replication: its random key, the rates' multiplier, what the job saves, and what is recorded when."""

    key: tuple[int, int]
    """Two words of 32 bits."""
    multiplier: float
    period: float
    """Work between two saves, h."""
    storage_every: int
    warm_up: float
    """h before recording starts."""
    bin: float
    """h between two rows of the ledger."""
    bins: int
    until_useful: float
    """Ends the run once so many useful hours are recorded; infinite for none."""


def nothing() -> tuple[System, Run]:
    """A site of nothing, and how to play it."""
    empty: dict[object, object] = {
        Floats: np.zeros(0), Integers: np.zeros(0, np.int64), Words: np.zeros((0, 2), np.uint32)
    }  # fmt: skip
    fields: dict[str, Any] = {name: empty.get(kind, 0) for name, kind in get_type_hints(System).items()}
    offsets = ("zone_block", "block_tray", "domain_unit", "domain_range", "block_domain", "phase")
    system = System(**(fields | dict.fromkeys(offsets, np.zeros(1, np.int64))))
    return system, Run((0, 0), 1.0, 1.0, 1, 0.0, 1.0, 1, np.inf)
