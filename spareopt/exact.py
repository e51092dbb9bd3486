"""The exact model of one zone: its availability and its interruption rate, for what a repair plan can state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from spareopt.errors import Fault, OverloadedError
from spareopt.numerics.ageing import computing_only, working_only
from spareopt.numerics.availability import (
    Domain,
    block_unavailability,
    shortfall_tails,
    unusable_law,
    working_probabilities,
    zone_shortfall,
)
from spareopt.numerics.crews import CrewLaw, Pool, crew_law
from spareopt.numerics.deferral import BlockRepair, deferred_block, window_shortfall, window_visits_per_hour
from spareopt.numerics.exchangeable import zone_shortfall_given_law
from spareopt.numerics.recovery import Checkpointing
from spareopt.numerics.shelf import backorder_law, failed_law_with_shelf, with_backorders
from spareopt.repair import ShelfStock, ZoneRepair
from spareopt.topology import FaultUnit, ZoneStructure

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

EXACT = "exact"
FIRST_COME = "exact for exponential hands-on times, first come, first served"
SHARED_WORK = (
    "exact if crews divide their time evenly over all open trays and racks; first come, first served it is an "
    "approximation, too high where repair times vary more than exponential ones, in trials by up to a quarter"
)
PART_TIME = "approximation: crews on duty for part of the week work all week at a slower pace"
SHELF = "approximation: waits for a tray from the shelf and swaps overlap in law only, as if independent"
DEFERRED = "exact for exponential hands-on times and delays of each block's repair"
WINDOW = "exact for repairs that take a constant time from the window on, windows of the zones at different times"
ONE_REPAIR = "exact for exponential repair times"
REPAIRS_IN_SAVES = "approximation: repairs are taken to rest while the job saves"
AS_IF_CONSTANT = "approximation: repairs at a window as if each took its mean time"
AS_IF_EXPONENTIAL = "approximation: hands-on times of another law as if exponential"
SHARED_DOMAINS = (
    "approximation: domains that hold several blocks are charged with the mean probability that they hold a working "
    "one, working blocks uniform over the usable ones of a zone that is not short; it over-estimates the rate, in "
    "trials by about 1 % with a quarter of the blocks spare and by up to a third with half of them spare"
)
PER_BLOCK = "as in the MLSys 2026 paper: each working block is charged with the whole rate of its racks and domains"
FEEDS = "approximation: the mean rate at which redundant feeds fail together while the domain is up"


@dataclass(frozen=True)
class ZoneScores:
    """A zone for each number of inter-block spares asked.

    P(zone short), the rate at which it stops the job, and the hours of planned stops that its repairs ask for per hour.
    """

    unavailability: Array
    rate: Array
    availability_method: str = EXACT
    rate_method: str = EXACT
    stops: Array | float = 0.0


def zone_scores(structure: ZoneStructure, repair: ZoneRepair, intra_spares: int, inter_spares: Counts) -> ZoneScores:
    """Score a zone with I intra-block spares for every R in ``inter_spares`` (all below L).

    A block is usable while its domains are up and at most I of its K trays are down; the zone is short when more than
    R of its L blocks are unusable.  With ample crews a tray is up with probability MTBF/(MTBF+MTTR) whatever the
    repair law; else the law of the failed trays (and racks) comes from their crews and shelf, or that of a block from
    its deferred repair.  The rate is (K−I)(L−R) working trays, plus every domain with the probability that it holds a
    working block.
    """
    working_blocks = structure.blocks - inter_spares
    rate = working_blocks * np.float64(structure.trays_per_block - intra_spares) * structure.tray_rate
    units = {domain.node: domain.faults(repair.mttr(domain.fault)) for domain in structure.domains}
    if structure.ageing != "always":
        faults, mttr = _block_faults(structure, repair, inter_spares)
        return ZoneScores(working_only(inter_spares, faults, mttr), faults)
    stops = _stops(structure, repair, intra_spares, working_blocks)
    if structure.independent_blocks:
        short, method = _independent_blocks(structure, repair, intra_spares, inter_spares, units)
        staffed = repair.crews is not None or repair.shelf is not None  # then racks are in the law of what has failed
        whole = [
            units[domain.node][1]
            for domain in structure.domains
            if domain.blocks == structure.blocks and not (staffed and domain.fault == "rack")
        ]
        zone_down = _at_least_one(whole)
        rate = rate + _domain_rate(structure, units, working_blocks)
        return ZoneScores(zone_down + (1.0 - zone_down) * short, rate, method, _rate_method(structure), stops)
    down = {node: unavailable for node, (_, unavailable) in units.items()}
    root = _tree(structure, structure.zone, down, _block_down(structure, repair, intra_spares))
    short, method = shortfall_tails(unusable_law(root), inter_spares), _deferred_method(repair)
    if structure.charge == "block":
        rate = rate + _domain_rate(structure, units, working_blocks)
        return ZoneScores(short, rate, method, _rate_method(structure), stops)
    holding = working_probabilities(root, int(inter_spares.max()))
    for domain in structure.domains:
        share = holding[domain.node][inter_spares]
        # a zone that is always short runs nothing: charging every domain keeps its rate a number
        rate = rate + units[domain.node][0] * domain.units * np.where(np.isnan(share), 1.0, share)
    return ZoneScores(short, rate, method, SHARED_DOMAINS, stops)


def _domain_rate(structure: ZoneStructure, units: Mapping[str, tuple[float, float]], working_blocks: Counts) -> Array:
    """What racks and domains add where each holds one block or all of them, or each block is charged by itself."""
    rate = np.zeros(len(working_blocks))
    for domain in structure.domains:
        if structure.charge == "block":
            charged: Array | float = working_blocks.astype(float)
        else:
            charged = 1.0 if domain.blocks == structure.blocks else working_blocks / structure.blocks * domain.units
        rate = rate + units[domain.node][0] * charged
    return rate


def _rate_method(structure: ZoneStructure) -> str:
    several = any(domain.feeds != (1, 1) for domain in structure.domains)
    named = ([PER_BLOCK] if structure.charge == "block" and structure.domains else []) + ([FEEDS] if several else [])
    return "; ".join(named) or EXACT


def _independent_blocks(
    structure: ZoneStructure,
    repair: ZoneRepair,
    intra_spares: int,
    inter_spares: Counts,
    units: Mapping[str, tuple[float, float]],
) -> tuple[Array, str]:
    """P(more than R blocks unusable) but for what takes down the whole zone, and what it rests on."""
    if repair.crews is not None or repair.shelf is not None:
        law = trays_and_racks(structure, repair).failed
        short = zone_shortfall_given_law(
            structure.blocks, 1, structure.trays_per_block, intra_spares, law, inter_spares
        )
        return short, staff_method(structure, repair)
    own = _at_least_one(units[domain.node][1] for domain in structure.domains if domain.blocks < structure.blocks)
    if repair.window is not None:
        short = window_shortfall(
            structure.blocks, structure.trays_per_block, intra_spares, inter_spares, structure.tray_rate, repair.window,
            repair.mttr("tray"), repair.out_of_service != "tray", own,
        )  # fmt: skip
        return short, WINDOW if repair.constant else AS_IF_CONSTANT
    block_down = _block_down(structure, repair, intra_spares)
    down = own + (1.0 - own) * block_down
    method = _deferred_method(repair)
    return np.asarray(zone_shortfall(structure.blocks, inter_spares, down), dtype=float), method


def _deferred_method(repair: ZoneRepair) -> str:
    if not repair.deferred:
        return EXACT
    return DEFERRED if repair.exponential else AS_IF_EXPONENTIAL


def _block_down(structure: ZoneStructure, repair: ZoneRepair, intra_spares: int) -> float:
    """P(a block is unusable for its trays or their repair)."""
    if repair.deferred:
        return float(_deferred(structure, repair, intra_spares).unavailability)
    return _trays_down(structure.trays_per_block, intra_spares, structure.tray_rate, repair.mttr("tray"))


@lru_cache(maxsize=4096)  # it is the same for every number of racks
def _trays_down(trays: int, spares: int, rate: float, mttr: float) -> float:
    return float(block_unavailability(trays, spares, FaultUnit("tray", "tray", rate, 1, 1).faults(mttr)[1]))


def _stops(structure: ZoneStructure, repair: ZoneRepair, intra_spares: int, working_blocks: Counts) -> Array:
    """Hours of planned stops per hour that the repairs of a zone's working blocks ask for.

    Visits to a block that is usable interrupt the job; all blocks that a window finds with trays down share its stop.
    """
    if repair.swap_stop == 0:
        return np.zeros(len(working_blocks))
    trays, rate = structure.trays_per_block, structure.tray_rate
    if repair.window is not None:
        visits = window_visits_per_hour(trays, rate, repair.window, repair.mttr("tray"), intra_spares)
        all_of = -np.expm1(working_blocks * np.log1p(-repair.window * visits))  # P(a window finds any of them so)
        return np.asarray(repair.swap_stop / repair.window * all_of)
    if repair.deferred:
        each = _deferred(structure, repair, intra_spares).usable_visits_per_hour
    else:  # a fault that finds I trays down takes the block out of the job, which its repair then does not stop
        failed, load = np.arange(intra_spares), rate * repair.mttr("tray")
        each = float(rate * ((trays - failed) @ binom.pmf(failed, trays, load / (1.0 + load))))
    return repair.swap_stop * each * working_blocks.astype(float)


def _deferred(structure: ZoneStructure, repair: ZoneRepair, intra_spares: int) -> BlockRepair:
    return deferred_block(
        structure.trays_per_block,
        intra_spares,
        structure.tray_rate,
        repair.hands_on["tray"],
        repair.off_crew["tray"],
        repair.start_at,
        repair.out_of_service != "tray",
    )


def computing_scores(
    structure: ZoneStructure, repair: ZoneRepair, inter_spares: Counts, scheme: Checkpointing
) -> ZoneScores:
    """The only zone, of blocks without spare trays that age only while they work and the job computes.

    The recovery time of ``scheme`` passes after every fault before it is seen whether the zone is short.  Saves take
    time in which nothing ages: with work τ between two of them, (e^(Λτ) − 1)/Λ hours of computing for each.
    """
    rates, mttr = _block_faults(structure, repair, inter_spares)
    periods = scheme.best_period(rates)
    down = []
    for spares, rate, period in zip(inter_spares, rates, periods, strict=True):
        shares = computing_only(int(spares), float(rate), mttr, scheme.recovery)
        saving = scheme.save * rate / np.expm1(rate * period)  # hours of saves per hour of computing
        down.append(shares.blocked / (1.0 + float(saving) * shares.computing))  # the shares are of time without saves
    method = ONE_REPAIR if scheme.save == 0 else f"{ONE_REPAIR}; {REPAIRS_IN_SAVES}"
    return ZoneScores(np.array(down), rates, method)


def _block_faults(structure: ZoneStructure, repair: ZoneRepair, inter_spares: Counts) -> tuple[Array, float]:
    """Faults per hour of all working blocks without spare trays, which fail as a whole, and their mean repair time."""
    units = {"tray": structure.trays_per_block * structure.tray_rate}
    units |= {domain.fault: domain.rate for domain in structure.domains}
    whole = sum(units.values())
    mttr = sum(rate * repair.mttr(fault) for fault, rate in units.items()) / whole
    return (structure.blocks - inter_spares) * np.float64(whole), mttr


def crew_pools(structure: ZoneStructure, repair: ZoneRepair) -> tuple[Pool, ...]:
    """What the crews of a zone serve: its trays and, where they fail, its racks."""
    racks = [domain for domain in structure.domains if domain.fault == "rack"]
    trays = Pool(
        structure.blocks * structure.trays_per_block,
        structure.tray_rate,
        repair.hands_on["tray"],
        repair.off_crew["tray"],
    )
    return (
        trays,
        *(Pool(rack.units, rack.rate, repair.hands_on["rack"], repair.off_crew["rack"]) for rack in racks),
    )


@lru_cache(maxsize=512)
def staffed_law(pools: tuple[Pool, ...], crews: int) -> CrewLaw:
    """The law of failed trays and racks that crews repair; it is the same for every number of spares.

    Raises OverloadedError where the crews are so overloaded that the law is too large to hold.
    """
    try:
        return crew_law(pools, crews)
    except ValueError as error:
        message = f"{crews} crews for {sum(pool.units for pool in pools):,} units: {error}; expected more crews"
        raise OverloadedError("plan", [Fault("zones.0.crews", message)]) from None


def trays_and_racks(structure: ZoneStructure, repair: ZoneRepair) -> CrewLaw:
    """The law of the failed trays, and racks where they fail, of a zone with its own crews or shelf."""
    return failed_law(crew_pools(structure, repair), repair.crews, repair.shelf)


@lru_cache(maxsize=512)
def failed_law(pools: tuple[Pool, ...], crews: int | None, shelf: ShelfStock | None) -> CrewLaw:
    """The law of failed trays and racks under crews (None: ample) and a shelf of trays (None: always one at hand)."""
    if shelf is None:
        assert crews is not None
        return staffed_law(pools, crews)
    trays, *racks = pools
    staff = None if crews is None else staffed_law(pools, crews)
    busy = (0.0, 0.0) if staff is None else (staff.utilisation, staff.mean_wait)
    supply = (shelf.lead_time, shelf.trays, shelf.parts_share)
    if racks:
        in_repair = np.multiply.outer(_ample(trays), _ample(racks[0])) if staff is None else staff.failed
        return CrewLaw(with_backorders(in_repair, trays.units, trays.rate, *supply), *busy)
    law = failed_law_with_shelf(trays.units, trays.rate, trays.hands_on, trays.off_crew, crews, *supply)
    return CrewLaw(law, *busy)


def part_mean_wait(pools: tuple[Pool, ...], shelf: ShelfStock) -> float:
    """Mean time (h) that a failed tray waits for another one: by Little's law, backorders over orders."""
    trays = pools[0]
    up = 1.0 / (1.0 + trays.rate * (trays.hands_on + trays.off_crew))
    law = backorder_law(trays.units, trays.rate * up, shelf.lead_time, shelf.trays, shelf.parts_share)
    waiting = float(law @ np.arange(len(law)))
    orders = trays.rate * up * shelf.parts_share * (trays.units - waiting)
    return waiting / orders if orders > 0 else 0.0


def _ample(pool: Pool) -> Array:
    """The law of the failed units of a pool whose crews are ample, without the far tail that no float can tell."""
    load = pool.rate * (pool.hands_on + pool.off_crew)
    law = binom.pmf(np.arange(pool.units + 1), pool.units, load / (1.0 + load))
    kept = np.flatnonzero(law > 1e-60 * law.max())
    return np.asarray(law[: int(kept[-1]) + 1] / law.sum())


def staff_method(structure: ZoneStructure, repair: ZoneRepair) -> str:
    """What the availability rests on where trays and racks wait for crews or parts, and what of it is approximated."""
    named = [SHELF] if repair.shelf is not None else []
    if repair.crews is not None:
        racks = any(domain.fault == "rack" for domain in structure.domains)
        unequal = racks and repair.hands_on["rack"] != repair.hands_on["tray"]
        named.append(SHARED_WORK if unequal or not repair.exponential else FIRST_COME)
    return "; ".join(named + ([PART_TIME] if repair.part_time else []))


def _at_least_one(probabilities: object) -> float:
    """P(at least one of independent events), accurate for small probabilities."""
    return float(-np.expm1(sum(np.log1p(-p) for p in probabilities)))  # type: ignore[attr-defined]


def _tree(structure: ZoneStructure, node: str, down: Mapping[str, float], block_down: float) -> Domain:
    graph = structure.graph
    if graph.nodes[node]["kind"] == "block":
        return Domain(node, block_down)
    children = tuple(
        (_tree(structure, child, down, block_down), edge["count"])
        for _, child, edge in graph.out_edges(node, data=True)
    )
    return Domain(node, down.get(node, 0.0), children)
