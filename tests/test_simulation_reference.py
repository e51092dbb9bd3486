"""The slow reference of the simulator against cases solved by hand and against the closed forms."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from spareopt.numerics.overlapped import Overlapped
from spareopt.numerics.replica_groups import ReplicaGroups
from spareopt.simulation import laws
from spareopt.simulation.laws import exponential, philox, uniforms
from spareopt.simulation.outcome import ACCOUNTS, LEDGER, Outcome
from spareopt.simulation.reference import replicate
from spareopt.simulation.reference.site import work_end
from spareopt.simulation.system import COMPUTING, GROUPS, OVERLAPPED, TWO_LEVEL, WORKING
from tests.small_systems import KEY, Class, Domain, random_run, random_system, small_run, small_system, sure

Record = list[tuple[float, str, int]]


def accounts(outcome: Outcome, row: int = -1) -> dict[str, float]:
    """The accounts of a row that are not zero."""
    return {name: h for name, h in zip(ACCOUNTS, outcome.ledger[row], strict=False) if abs(h) > 1e-12}


def column(outcome: Outcome, name: str) -> float:
    return float(outcome.ledger[-1, LEDGER.index(name)])


def rounded(record: Record) -> Record:
    return [(round(time, 9), what, number) for time, what, number in record]


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0,) * 4, (0,) * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_random_numbers_are_philox(counter: tuple[int, int, int, int], key: tuple[int, int], words: str) -> None:
    """The generator gives the known answers that its authors publish (Random123, philox4x32-10)."""
    assert " ".join(f"{word:08x}" for word in philox(counter, key)) == words


def test_one_block_without_a_spare() -> None:
    """Work, save, lost work, blocked time and recovery of one block fall where a pencil puts them."""
    system = small_system(blocks=[1], tray=sure(1 / 10, 2.0), save=0.5, recovery=1.0)
    record: Record = []
    outcome = replicate(system, small_run(bin=12.0, bins=2), record)
    # to 10: 4 + .5 + 4 + .5 + 1 (lost); blocked to 12; recovery to 13; 4 + .5 + 4 + .5 to the fault at 22; blocked
    assert accounts(outcome, 1) == {"useful": 8, "saves": 1, "lost": 1, "blocked": 2}
    assert accounts(outcome) == {"useful": 16, "saves": 2, "lost": 1, "recovery": 1, "blocked": 4}
    assert record == [
        (10, "fault", 0),
        (10, "interruption", 0),
        (10, "blocked", 0),
        (12, "up", 0),
        (12, "unblocked", 0),
        (22, "fault", 0),
        (22, "interruption", 0),
        (22, "blocked", 0),
    ]
    assert outcome.ledger[-1, 7:].tolist() == [20, 2, 2, 2, 0]
    assert outcome.hours == 24
    assert outcome.unusable_h.tolist() == [20, 4]
    assert outcome.longest_episode == 2
    assert outcome.episodes.sum() == 1 and outcome.episodes[8 * 11] == 1  # 2 h are 2^11 times the shortest
    assert outcome.events == 3


def test_a_spare_block_takes_over() -> None:
    """With a spare that does not age in between the job never waits; the repaired block becomes the spare."""
    system = small_system(tray=sure(1 / 10, 2.0), save=0.5, recovery=1.0, ageing=WORKING)
    record: Record = []
    outcome = replicate(system, small_run(bin=24.0), record)
    assert accounts(outcome) == {"useful": 19, "saves": 2, "lost": 1, "recovery": 2}
    assert [event for event in record if event[1] in ("fault", "up", "blocked")] == [
        (10, "fault", 0),
        (12, "up", 0),
        (20, "fault", 1),
        (22, "up", 1),
    ]
    assert column(outcome, "fewest_usable") == 1


def test_spare_trays_take_over_in_their_order() -> None:
    """The next idle tray of the block takes a failed one's place and only trays at work age; the block stays usable."""
    system = small_system(blocks=[1], trays=[3], spare_trays=[2], tray=sure(1 / 10, 25.0), ageing=WORKING)
    record: Record = []
    outcome = replicate(system, small_run(bin=34.0), record)
    assert [event for event in record if event[1] != "interruption"] == [
        (10, "fault", 0),
        (20, "fault", 1),
        (30, "fault", 2),
        (30, "blocked", 0),
    ]
    assert column(outcome, "interruptions") == 3 and accounts(outcome)["blocked"] == 4


def test_computing_units_age_only_while_work_is_done() -> None:
    """Ten hours of work end at 11 h, with two saves; recovery passes while the zone is short, then it blocks."""
    system = small_system(blocks=[1], tray=sure(1 / 10, 2.0), save=0.5, recovery=1.0, ageing=COMPUTING)
    record: Record = []
    outcome = replicate(system, small_run(bin=24.5), record)
    assert record[:6] == [
        (11, "fault", 0),
        (11, "interruption", 0),
        (12, "blocked", 0),
        (13, "up", 0),
        (13, "unblocked", 0),
        (24, "fault", 0),
    ]
    assert accounts(outcome) == {"useful": 16, "saves": 2, "recovery": 1.5, "lost": 4, "blocked": 1}
    with pytest.raises(ValueError, match=r"scheme is 2 .* one level"):
        replicate(system._replace(scheme=OVERLAPPED), small_run())


def test_two_tickets_for_one_crew() -> None:
    """The second ticket waits until the first one's repair is done."""
    system = small_system(
        blocks=[1, 1],
        trays=[1, 1],
        working=[1, 1],
        spare_trays=[0, 0],
        tray=[sure(1 / 10, 5.0, staffed=1), sure(1 / 12, 5.0, staffed=1)],
        zone_crews=[0, 0],
        crews=[1],
        duty=[168.0],
    )
    record: Record = []
    outcome = replicate(system, small_run(bin=21.0), record)
    assert [event for event in record if event[1] in ("fault", "up")] == [
        (10, "fault", 0),
        (12, "fault", 1),
        (15, "up", 0),
        (20, "up", 1),
    ]
    assert outcome.crew_tickets.tolist() == [2]
    assert outcome.crew_wait_h.tolist() == [3]
    assert outcome.crew_busy_h.tolist() == [10]
    assert accounts(outcome)["blocked"] == 10


@pytest.mark.parametrize(
    ("start", "work", "duty", "end"),
    [
        (3.0, 5.0, 40.0, 8.0),  # shifts of 8 h: until their very end
        (8.0, 1.0, 40.0, 25.0),  # a shift does not hold its end
        (6.0, 3.0, 40.0, 25.0),  # the rest of the work is done next day
        (4 * 24.0 + 7.0, 2.0, 40.0, 169.0),  # and after the fifth day next week
        (5 * 24.0, 2.0, 140.0, 122.0),  # from 120 h on there are seven shifts, of 20 h
        (6.0, 31.0, 168.0, 37.0),  # always on duty
    ],
)
def test_part_time_crews(start: float, work: float, duty: float, end: float) -> None:
    """Work goes on in shifts of five or seven days a week."""
    assert work_end(start, work, duty) == end


def test_a_shelf_of_one_tray() -> None:
    """The first fault takes the tray on the shelf, the second the first part to arrive, at a drawn time."""
    system = small_system(
        blocks=[1, 1],
        trays=[1, 1],
        working=[1, 1],
        spare_trays=[0, 0],
        tray=[sure(1 / 100, 5.0), sure(1 / 102, 5.0)],
        zone_shelf=[0, 0],
        shelf=[1],
        lead_time=[40.0],
        parts_share=[1.0],
    )
    arrivals = sorted(
        100 + 2 * order + exponential(40.0, uniforms(KEY, laws.ORDER, 0, order, 0)[0]) for order in range(2)
    )
    assert arrivals[0] > 102
    record: Record = []
    outcome = replicate(system, small_run(bin=arrivals[0] + 5.5), record)
    assert [event for event in rounded(record) if event[1] in ("up", "part")][:3] == rounded(
        sorted([(105, "up", 0), (arrivals[0], "part", 0), (arrivals[0] + 5, "up", 1)])
    )
    assert outcome.part_wait_h[0] == pytest.approx(arrivals[0] - 102, abs=1e-9)


@pytest.mark.parametrize("out", [0, 1])
def test_repair_window(out: int) -> None:
    """A tray waits for the first window after its fault; from then on its block is out of service if so stated."""
    system = small_system(
        blocks=[1], trays=[2], spare_trays=[1], tray=sure(1 / 10, 2.0), window=[7.0], out_of_service=[out],
        swap_stop=[0.5], ageing=WORKING,
    )  # fmt: skip
    first = 7.0 * uniforms(KEY, laws.WINDOW, 0, 0, 0)[0]
    taken = first + 7.0 * math.ceil((10 - first) / 7.0)
    record: Record = []
    outcome = replicate(system, small_run(bin=19.0, period=100.0), record)
    windows = [time for time, what, _ in record if what == "window"]
    assert windows == pytest.approx([first + 7.0 * k for k in range(len(windows))], abs=1e-9)
    up = [time for time, what, _ in record if what == "up"]
    assert up == (pytest.approx([taken + 2.0], abs=1e-9) if taken + 2 < 19 else [])
    spent = accounts(outcome)
    assert spent.get("blocked", 0.0) == pytest.approx(min(2.0, 19 - taken) * out, abs=1e-9)
    # while the block is out its stop passes unseen; nothing was lost but the ten hours until the fault
    assert spent.get("planned", 0.0) == pytest.approx(0.5 * (1 - out), abs=1e-9)
    assert spent["lost"] == pytest.approx(10, abs=1e-9)


@pytest.mark.parametrize("out", [0, 1])
def test_visit(out: int) -> None:
    """Two trays down call a visit, in which a third that fails is repaired too; it stops or blocks the job."""
    system = small_system(
        blocks=[1], trays=[4], spare_trays=[2], tray=sure(1 / 10, 12.0), start_at=[2], out_of_service=[out],
        swap_stop=[0.5], ageing=WORKING,
    )  # fmt: skip
    record: Record = []
    outcome = replicate(system, small_run(bin=23.0, period=100.0), record)
    seen = [event for event in record if event[1] != "interruption"]
    down = [(10, "fault", 0), (10, "fault", 1), (10, "visit", 0)]
    if out:
        assert seen == [*down, (10, "blocked", 0), (22, "up", 0), (22, "up", 1), (22, "unblocked", 0)]
        assert accounts(outcome) == {"useful": 1, "lost": 10, "blocked": 12}
    else:  # trays 2 and 3 age from 10 to 20; the first one's fault blocks the job and holds up the other's
        assert seen == [
            *down,
            (20, "fault", 2),
            (20, "blocked", 0),
            (22, "up", 0),
            (22, "unblocked", 0),
            (22, "up", 1),
            (22, "fault", 3),
        ]
        assert accounts(outcome) == {"useful": 1, "lost": 19.5, "planned": 0.5, "blocked": 2}


def test_redundant_feeds() -> None:
    """One of two feeds that fails changes nothing; the second takes down the domain and interrupts the job once."""
    domains = [Domain(sure(1 / 10, 6.0), ((0, 2),), 2, 1)]
    record: Record = []
    outcome = replicate(small_system(working=[2], domains=domains), small_run(bin=15.0), record)
    assert record == [(10, "fault", 2), (10, "fault", 3), (10, "interruption", 0), (10, "blocked", 0)]
    assert column(outcome, "usable_block_h") == 20


@pytest.mark.parametrize(
    ("share", "spent"),
    [
        # to 10: 4 + .25 + 4 + .25 + 1.5 lost; recovery .5; 4, third save 1; 4 + .25 + .25 of the next
        (1.0, {"useful": 16.25, "saves": 1.75, "recovery": 0.5, "lost": 1.5}),
        # the memory is left never: all ten hours are lost; recovery 2; 4 + .25 + 3.75
        (0.0, {"useful": 7.75, "saves": 0.25, "recovery": 2, "lost": 10}),
    ],
)
def test_two_levels(share: float, spent: dict[str, float]) -> None:
    """A fault costs the work since the last save in memory, or all since the last one in storage."""
    system = small_system(
        blocks=[1], trays=[2], spare_trays=[1], tray=sure(1 / 10, 1.0), ageing=WORKING, scheme=TWO_LEVEL, save=1.0,
        recovery=2.0, memory_save=0.25, memory_recovery=0.5, memory_share=share,
    )  # fmt: skip
    assert accounts(replicate(system, small_run(bin=20.0, storage_every=3))) == spent


def test_overlapped_saves() -> None:
    """A fault costs all work since the snapshot of the last complete write, and the save under way."""
    system = small_system(
        blocks=[1], trays=[2], spare_trays=[1], tray=sure(1 / 10, 1.0), ageing=WORKING, scheme=OVERLAPPED, save=2.0,
        recovery=1.0, snapshot=0.5, slowdown=0.5,
    )  # fmt: skip
    # work 4, snapshot .5, 2 of write in which 1 is done, 3 more to 9.5, snapshot until the fault at 10
    assert accounts(replicate(system, small_run(bin=12.0))) == {"useful": 5, "saves": 1.5, "lost": 4.5, "recovery": 1}
    with pytest.raises(ValueError, match=r"period is 0.5 h; .* 1.0 h"):
        replicate(system, small_run(period=0.5))


def test_replica_groups() -> None:
    """A fault keeps its group out for D and stalls the others for s."""
    system = small_system(
        blocks=[1, 1], trays=[2, 2], working=[1, 1], spare_trays=[1, 1], tray=[sure(1 / 10, 1.0), sure(1 / 11, 1.0)],
        ageing=WORKING, scheme=GROUPS, stall=0.5, rejoin=2.0,
    )  # fmt: skip
    # group 0: out 10-12; group 1: stalled 10-10.5, out 11-13; each is half of the job
    assert accounts(replicate(system, small_run(bin=14.0))) == {"useful": 11.75, "recovery": 2, "stalls": 0.25}


def test_groups_that_shrink_and_a_trace() -> None:
    """With one of two blocks down in the trace one group is left, which is the one that is out; half is blocked."""
    system = small_system(
        working=[2], scheme=GROUPS, groups_per_zone=2, stall=0.5, rejoin=2.0, shrink=1,
        trace_time=[10.0, 11.0, 14.0], trace_tray=[0, 0, 0], trace_down=[1, 1, 0], tray=sure(1 / 3, 1.0),
    )  # fmt: skip
    record: Record = []
    outcome = replicate(system, small_run(bin=20.0), record)
    assert record == [(10, "fault", 0), (10, "interruption", 0), (14, "up", 0)]
    assert accounts(outcome) == {"useful": 17, "recovery": 1, "blocked": 2}


def test_silent_fault() -> None:
    """A fault that nobody noticed costs, when found, all work and saves since the last save before it."""
    after = 5 / -math.log(uniforms(KEY, 0, 0, 0, laws.SILENT)[1])
    system = small_system(
        blocks=[1], tray=sure(1 / 10, 2.0, silent_share=1.0, found_after=after), save=0.5, recovery=1.0
    )
    record: Record = []
    outcome = replicate(system, small_run(bin=15.5), record)
    # to 15: 4 + .5 + 4 + .5, then 1, fault, 3 + .5 + 1.5, found
    assert accounts(outcome) == pytest.approx({"useful": 8, "saves": 1, "lost": 6, "blocked": 0.5}, abs=1e-9)
    assert rounded(record) == [
        (10, "silent", 0),
        (15, "found", 0),
        (15, "interruption", 0),
        (15, "blocked", 0),
    ]
    assert column(outcome, "faults") == 1 and outcome.events == 1


def test_planned_stops_overlap() -> None:
    """The job stands still for the union of its planned stops, whose times are drawn."""
    system = small_system(planned_rate=1 / 8, planned_stop=6.0)
    starts, time = [], 0.0
    while time < 100:
        time += exponential(8.0, uniforms(KEY, laws.SITE, laws.PLANNED, len(starts), 0)[0])
        starts.append(time)
    grid = np.linspace(0, 100, 1_000_001)[:-1] + 5e-5
    stopped = np.any([(grid >= start) & (grid < start + 6) for start in starts], axis=0).mean() * 100
    assert sum(later - start < 6 for start, later in pairwise(starts)) > 0
    outcome = replicate(system, small_run())
    assert accounts(outcome)["planned"] == pytest.approx(stopped, abs=1e-3)
    assert accounts(outcome)["useful"] == pytest.approx(100 - stopped, abs=1e-3)


def test_a_burst_strikes_neighbouring_racks() -> None:
    """All trays of the drawn racks fail at the drawn time, one by one."""
    system = small_system(
        blocks=[4], trays=[2], working=[2], spare_trays=[0], rack_blocks=[1], burst_rate=[1 / 50], burst_racks=[2],
        burst_share=[1.0], tray=Class(ways=((1.0, 1e9),)),
    )  # fmt: skip
    time = exponential(50.0, uniforms(KEY, laws.BURST, 0, 0, 0)[0])
    first = math.floor(uniforms(KEY, laws.BURST, 0, 0, 1)[1] * 3)
    record: Record = []
    replicate(system, small_run(bin=time + 1e-3), record)
    assert [event for event in record if event[1] in ("burst", "fault")] == [
        (time, "burst", 0),
        *((time, "fault", tray) for tray in range(2 * first, 2 * first + 4)),
    ]


def test_the_run_ends_with_the_job() -> None:
    """Ten useful hours since the warm-up are reached in the third period; the last bin is cut short there."""
    outcome = replicate(small_system(save=0.5), small_run(bin=4.0, bins=9, until_useful=10.0, warm_up=4.5))
    assert outcome.hours == pytest.approx(11, abs=1e-12)
    assert outcome.ledger.shape == (4, len(LEDGER))
    assert accounts(outcome) == pytest.approx({"useful": 10, "saves": 1}, abs=1e-9)
    assert outcome.unusable_h[0] == pytest.approx(11, abs=1e-9)


def test_lemons_and_burn_in() -> None:
    """A first life is shortened by burn-in; lemons and others have the stated rate in the mean."""
    system = small_system(
        blocks=[40], tray=sure(1 / 10, 1.0, lemon_share=0.25, lemon_multiple=5.0, burn_in=3.0, burn_in_multiple=2.0)
    )
    record: Record = []
    replicate(system, small_run(bin=60.0), record)
    first, seen = {}, {}
    for time, what, unit in record:
        if what == "up":
            seen.setdefault(unit, time)
        if what == "fault" and unit in seen and unit not in first:
            first[unit] = time - seen[unit]  # the second life, without burn-in
    for unit, life in first.items():
        lemon = uniforms(KEY, unit, 0, 0, laws.LEMON)[0] < 0.25
        assert life == pytest.approx(4.0 if lemon else 20.0, abs=1e-9)  # rates 1/4 and 1/20: mean 1/10
        # 4 h last 2 h, below burn-in; 20 h last 3 + (20 - 6) h
        assert seen[unit] - 1.0 == pytest.approx(2.0 if lemon else 17.0, abs=1e-9)
    assert len(first) == 40 and len({round(life) for life in first.values()}) == 2


@pytest.mark.parametrize("seed", range(200))
def test_every_hour_goes_to_one_account(seed: int) -> None:
    """In sites at random with all features the accounts sum to the hours, row by row, and the events are in order."""
    system, run = random_system(seed), random_run(seed)
    record: Record = []
    outcome = replicate(system, run, record)
    ends = np.minimum(run.bin * np.arange(len(outcome.ledger)), outcome.hours)
    assert outcome.ledger[:, :7].sum(axis=1) == pytest.approx(ends, abs=1e-8)
    assert outcome.unusable_h.sum() == pytest.approx(outcome.hours, abs=1e-8)
    usable = len(system.block_zone) - np.arange(len(outcome.unusable_h))
    assert column(outcome, "usable_block_h") == pytest.approx(outcome.unusable_h @ usable, abs=1e-7)
    assert outcome.hours == pytest.approx(run.bin * run.bins) or column(outcome, "useful") == pytest.approx(
        run.until_useful, abs=1e-8
    )
    assert all(before[0] <= after[0] for before, after in pairwise(record))
    blocked = [what for _, what, _ in record if what in ("blocked", "unblocked")]
    assert blocked == ["blocked", "unblocked"] * (len(blocked) // 2) + ["blocked"] * (len(blocked) % 2)
    balance = {unit: 0 for unit in range(len(system.unit_class))}
    for _, what, unit in record:
        if what in ("fault", "found", "up"):
            balance[unit] += -1 if what == "up" else 1
            assert balance[unit] in (0, 1)


def test_standbys_and_selections() -> None:
    """A standby takes over without a selection; an idle block needs one; a job that ran out waits for all standbys."""
    system = small_system(
        blocks=[3], working=[1], tray=sure(1 / 10, 100.0), recovery=1.0, ageing=COMPUTING, warm=1, selection=0.5
    )
    record: Record = []
    outcome = replicate(system, small_run(bin=122.5), record)
    # selection to .5, work to 10.5 (2 of the 10 h lost), recovery, the standby works to 21.5, recovery to 22.5,
    # selection, work to 33, recovery to 34, nobody left; the first is back at 110.5, the second at 121.5, selection,
    # work from 122
    expected = {"useful": 24.5, "lost": 6, "recovery": 4.5, "blocked": 87.5}
    assert accounts(outcome) == pytest.approx(expected, abs=1e-9)
    assert outcome.selections == 3 and column(outcome, "episodes") == 1 and column(outcome, "interruptions") == 3
    assert [event for event in rounded(record) if event[1].endswith("blocked")] == [
        (34, "blocked", 0),
        (121.5, "unblocked", 0),
    ]


def test_several_interruptions_at_once_are_one() -> None:
    """Two trays at work that fail at the same moment interrupt the job once."""
    system = small_system(blocks=[2], working=[2], tray=sure(1 / 10, 2.0), recovery=1.0)
    record: Record = []
    replicate(system, small_run(bin=11.0), record)
    assert rounded(record) == [(10, "fault", 0), (10, "interruption", 0), (10, "blocked", 0), (10, "fault", 1)]


RATE, REPAIR = 1 / 300, 12.0


def _mean_shares(replications: int, **fields: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean useful and unblocked shares of a zone of six blocks of three trays, and their standard errors."""
    system = small_system(
        blocks=[6], trays=[3], working=[5], spare_trays=[1], tray=Class(RATE, ways=((1.0, REPAIR),)), **fields
    )
    shares = []
    for replication in range(replications):
        run = small_run(key=(replication, 7), period=2.0, storage_every=3, warm_up=200.0, bin=3000.0)
        outcome = replicate(system, run)
        shares.append([column(outcome, "useful") / 3000, 1 - column(outcome, "blocked") / 3000])
    sample = np.array(shares)
    return sample.mean(axis=0), sample.std(axis=0, ddof=1) / math.sqrt(replications)


@pytest.mark.parametrize("scheme", [0, TWO_LEVEL, OVERLAPPED, GROUPS])
def test_shares_agree_with_the_closed_forms(scheme: int) -> None:
    """Availability is a binomial tail and the useful share is A η of each scheme, within four standard errors."""
    down = RATE * REPAIR / (1 + RATE * REPAIR)
    unusable = binom.sf(1, 3, down)
    available = binom.cdf(1, 6, unusable)
    rate = 5 * 2 * RATE
    fields: dict[str, float] = {"scheme": scheme, "save": 0.2, "recovery": 1.5}
    if scheme == 0:
        eta = rate * math.exp(-rate * 1.5) * 2.0 / math.expm1(rate * 2.2)
    elif scheme == TWO_LEVEL:
        fields |= {"memory_save": 0.05, "memory_recovery": 0.5, "memory_share": 0.7}
        # the formula of docs/mathematics.md, written out
        lost = 0.3
        phi = math.exp(-rate * 0.5)
        c = lost + 0.7 * phi
        h = sum(math.log1p(lost * math.expm1(rate * (2 + save)) / c) for save in (0.05, 0.05, 0.2))
        eta = 6 * rate * lost / (math.expm1(h) * (1 + lost * math.expm1(rate * 1.5)))
    elif scheme == OVERLAPPED:
        fields |= {"snapshot": 0.1, "slowdown": 0.3}
        eta = math.exp(float(Overlapped(0.1, 0.2, 0.3, 1.5, 2.0).log_eta(rate)))
    else:
        fields |= {"groups_per_zone": 5, "stall": 0.8, "rejoin": 6.0}
        eta = math.exp(float(ReplicaGroups(5, 0.8, 6.0).log_eta(rate)))
    mean, error = _mean_shares(40, **fields)
    expected = np.array([available * eta, available])
    assert (np.abs(mean - expected) < 4 * error).all(), (mean, expected, error)
    assert (error < 0.01 * expected).all()
