"""An incident log as a planner would have kept it, from one replication of the simulator: faults, fleet and truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spareopt.decisions import Decisions
from spareopt.errors import Fault, InputError
from spareopt.instance import Instance
from spareopt.simulation.measured import totals
from spareopt.simulation.outcome import LEDGER
from spareopt.simulation.simulate import MOST_REPLICATIONS, OnProgress, checked_options, compile_kernel, subject_of
from spareopt.simulation.system import Run, System
from spareopt.simulation.unit_names import SOFTWARE, UnitNames, unit_names

if TYPE_CHECKING:
    from spareopt.simulation.kernel import Events

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

EVENTS_PER_FAULT = 6.0
"""Room for a fault, its return, an interruption, an episode; where that is too little a replication is played again."""
SPARE_ROOM = 10_000


@dataclass(frozen=True)
class IncidentLog:
    """The faults of one replication as a log, the units that could have had them, and what is true of them.

    Hours count from the start of the replication, when all units were new; the record is from ``from_h`` (the end of
    the warm-up) to ``to_h``.
    """

    incidents: pd.DataFrame
    """A row for each fault, by start: ``unit``, ``kind`` (tray, rack, name of a domain, software), ``rack``, ``zone``
    ('' for none), ``start_h`` (silent faults: when they are found), ``end_h`` (when the unit is back; NaN where it is
    not by ``to_h``; the start for software), ``burst`` (its name, '' for none), ``silent`` and ``interrupted`` (the
    job): True or False.  Faults that began before ``from_h`` are there where the unit was still down then."""
    fleet: pd.DataFrame
    """A row for each unit: ``unit``, ``kind``, ``rack``, ``zone``, ``from_h``, ``to_h``, ``in_service_since_h``."""
    truth: pd.DataFrame
    """A row for each unit: ``unit``, ``kind``, ``rate_per_h`` (its faults per hour of age after its burn-in),
    ``lemon``."""
    replication: int
    from_h: float
    to_h: float
    multiplier: float
    """Of all fault rates in this replication; 1 where they are certain."""
    faults: int
    """Faults of units in the record, as the replication counts them: those of software and planned stops are none."""
    interruptions: int
    """Of the job, in the record."""


def simulate_incidents(
    instance: Instance,
    decisions: Decisions,
    *,
    years: float | None = None,
    seed: int = 0,
    warm_up: float | str | None = None,
    until_job: bool = False,
    replication: int = 0,
    on_progress: OnProgress | None = None,
) -> IncidentLog:
    """The incident log of one replication, under the random numbers that ``spareopt.simulate`` plays it with.

    ``replication`` counts from 0; the other options are those of ``spareopt.simulate``.  Raises InputError for
    options or decisions that can't be simulated.
    """
    if isinstance(replication, bool) or not isinstance(replication, int) or not 0 <= replication < MOST_REPLICATIONS:
        message = f"got {replication!r:.60}; expected a whole number from 0 to {MOST_REPLICATIONS - 1:,}"
        raise InputError("simulate", [Fault("replication", message)])
    logs = incident_logs(
        instance, decisions, years=years, seed=seed, warm_up=warm_up, until_job=until_job,
        replications=[replication], on_progress=on_progress,
    )  # fmt: skip
    return next(logs)


def incident_logs(
    instance: Instance,
    decisions: Decisions,
    *,
    replications: Iterable[int],
    years: float | None = None,
    seed: int = 0,
    warm_up: float | str | None = None,
    until_job: bool = False,
    on_progress: OnProgress | None = None,
) -> Iterator[IncidentLog]:
    """The logs of several replications (their numbers, from 0), one after the other; what they share is made once.

    Options and errors are those of ``simulate_incidents``.
    """
    options = checked_options(instance, years=years, seed=seed, warm_up=warm_up, until_job=until_job)
    subject = subject_of(instance, decisions, options, None)
    compile_kernel(options, on_progress)
    system, names = subject.system, unit_names(instance, subject.system)
    fleet = _fleet(system, names)
    bursts = np.array([burst.name for burst in instance.failures.bursts], dtype=object)
    for number in replications:
        run = subject.run(number)
        events = _events(system, run)
        recorded = totals(run, events.outcome)
        from_h, to_h = run.warm_up, run.warm_up + events.outcome.hours
        yield IncidentLog(
            incidents=incident_rows(events, names, bursts, from_h),
            fleet=fleet.assign(from_h=from_h, to_h=to_h, in_service_since_h=0.0),
            truth=_truth(system, run, names, events.factor),
            replication=number,
            from_h=from_h,
            to_h=to_h,
            multiplier=run.multiplier,
            faults=int(recorded[LEDGER.index("faults")]),
            interruptions=int(recorded[LEDGER.index("interruptions")]),
        )


def _events(system: System, run: Run) -> Events:
    """All events of a replication, which is played once more where there was no room for them."""
    from spareopt.simulation.kernel import play_logged  # noqa: PLC0415

    hours = run.warm_up + run.bins * run.bin
    rate = (system.rate[system.unit_class].sum() + system.software_rate) * run.multiplier + system.planned_rate
    room = int(EVENTS_PER_FAULT * rate * hours) + SPARE_ROOM
    events = play_logged(system, run, room)
    return events if events.happened <= room else play_logged(system, run, events.happened)


def _fleet(system: System, names: UnitNames) -> pd.DataFrame:
    """All units, and software where it fails."""
    columns = names._asdict()
    if system.software_rate > 0:
        columns = {
            name: np.append(column, np.array([SOFTWARE if name in ("unit", "kind") else ""], dtype=object))
            for name, column in columns.items()
        }
    return pd.DataFrame(columns)


def _truth(system: System, run: Run, names: UnitNames, factor: Floats) -> pd.DataFrame:
    """What is true of the units of one replication."""
    rate = system.rate[system.unit_class] * run.multiplier * factor
    unit, kind, lemon = names.unit, names.kind, factor > 1.0
    if system.software_rate > 0:
        software = np.array([SOFTWARE], dtype=object)
        unit, kind = np.append(unit, software), np.append(kind, software)
        rate, lemon = np.append(rate, system.software_rate * run.multiplier), np.append(lemon, False)
    return pd.DataFrame({"unit": unit, "kind": kind, "rate_per_h": rate, "lemon": lemon})


def incident_rows(events: Events, names: UnitNames, bursts: NDArray[np.object_], from_h: float) -> pd.DataFrame:
    """The rows of a log from the events of a replication."""
    from spareopt.simulation.kernel.events import LOG  # noqa: PLC0415

    fault, up, silent, found, software, burst, interruption = (
        events.kind == LOG.index(name)
        for name in ("fault", "up", "silent", "found", "software", "burst", "interruption")
    )
    down = fault | found
    place = np.arange(len(events.time))
    # an interruption comes right after what caused it, and the faults of a burst after it, at the same time
    interrupted = np.zeros(len(place), dtype=bool)
    interrupted[_last(down | software)[interruption]] = True
    struck_by = _last(burst)
    struck = (fault | silent) & (struck_by >= 0)
    struck[struck] = events.time[struck_by[struck]] == events.time[struck]
    # each unit's own events in order: (silent, found) or fault, and up
    own = np.flatnonzero(down | up | silent)
    own = own[np.argsort(events.number[own], kind="stable")]
    next_own, before = np.full(len(place), -1), np.full(len(place), -1)
    same = events.number[own[:-1]] == events.number[own[1:]]
    next_own[own[:-1][same]], before[own[1:][same]] = own[1:][same], own[:-1][same]
    cause = np.where(found, before, place)

    rows = np.flatnonzero(down | software)
    of_unit = down[rows]
    back = np.where(of_unit, next_own[rows], rows)
    end = np.where(back >= 0, events.time[back], np.nan)
    recorded = (events.time[rows] >= from_h) | ~(end <= from_h)
    rows, of_unit, end = rows[recorded], of_unit[recorded], end[recorded]
    unit = events.number[rows]
    by_burst = np.full(len(rows), "", dtype=object)
    hit = struck[cause[rows]]
    by_burst[hit] = bursts[events.number[struck_by[cause[rows][hit]]]]
    columns = {
        name: np.where(of_unit, column[np.where(of_unit, unit, 0)], SOFTWARE if name in ("unit", "kind") else "")
        for name, column in names._asdict().items()
    }
    return pd.DataFrame(
        columns
        | {
            "start_h": events.time[rows],
            "end_h": end,
            "burst": by_burst,
            "silent": found[rows],
            "interrupted": interrupted[rows],
        }
    )


def _last(chosen: NDArray[np.bool_]) -> Integers:
    """For each event, the latest of those chosen up to it; −1 for none."""
    return np.asarray(np.maximum.accumulate(np.where(chosen, np.arange(len(chosen)), -1)))
