"""What an incident log and a fleet say, as arrays: the incidents that count, what was exposed, what was left out."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SOFTWARE = "software"
"""The kind of faults that interrupt the whole job and need no repair; its unit is the job."""


class Names(NamedTuple):
    """What the codes of the arrays stand for: code i is name i.  Sorted, so that the order of rows does not matter."""

    units: tuple[str, ...]
    kinds: tuple[str, ...]
    """Kinds of units, as the model has them: tray, rack, the name of a fault domain, software."""
    faults: tuple[str, ...]
    """The log's own fault classes."""
    racks: tuple[str, ...]
    zones: tuple[str, ...]
    dispositions: tuple[str, ...]
    """What the log says of how an incident was closed."""


class Incidents(NamedTuple):
    """The incidents that count, a row each, by start; arrays of one length, codes index ``Names``."""

    unit: Integers
    """-1 where the log names none (software only)."""
    kind: Integers
    fault: Integers
    """-1 where the log has no fault class."""
    rack: Integers
    """-1 where it is not known; from the log, else from the roster."""
    zone: Integers
    """-1 where it is not known; from the log, else from the roster."""
    disposition: Integers
    """-1 where the log has none."""
    start_h: Floats
    """h on the clock of the observation."""
    end_h: Floats
    """h; NaN where the unit was still down when it was last seen: such a repair time is censored."""
    until_h: Floats
    """h: the end; of those still open the end of the observation or of the unit's service."""
    line: Integers
    """Line of the log in which it starts (row of a Parquet file)."""


class Absences(NamedTuple):
    """Downtime inside the observation that is no incident's: of faults before it, or before the unit came into service.

    It is not exposed.  Parts of it may lie outside the unit's time in service, or within an incident.
    """

    unit: Integers
    kind: Integers
    start_h: Floats
    end_h: Floats


class Fleet(NamedTuple):
    """What was in service from when to when; arrays of one length, by kind, unit and time, within the observation."""

    kind: Integers
    unit: Integers
    """-1 for a row that counts units without naming them."""
    units: Integers
    """How many units the row stands for; 1 where it names one."""
    from_h: Floats
    to_h: Floats
    rack: Integers
    zone: Integers
    age_h: Floats
    """Time in service of the unit at ``from_h``; NaN where it is not known."""


Arrays = TypeVar("Arrays", Incidents, Absences, Fleet)


def taken(arrays: Arrays, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Arrays:
    """Some rows of arrays, by number or by truth."""
    return type(arrays)(*cast("Any", (array[rows] for array in arrays)))


class Exclusion(NamedTuple):
    """Rows of the log that are not incidents of their own, for one reason."""

    reason: str
    """In words, such as "ends before it starts"."""
    role: str
    """data: the row is in error; repeated: it says again what another row says; rule: it is left out as stated."""
    rows: int
    lines: tuple[int, ...]
    """The first few lines."""
    example: str
    """What the first of them holds."""
    fix: str
    """What to do about it; empty where nothing need be done."""


class Source(NamedTuple):
    """A file that was read."""

    name: str
    sha256: str
    rows: int
    """Rows below the header that are not empty."""


class Observation(NamedTuple):
    """A log and a fleet, cleaned: from these, rates are faults over exposure."""

    incidents: Incidents
    absences: Absences
    fleet: Fleet
    names: Names
    begin_h: float
    end_h: float
    origin: str | None
    """Time of hour 0 in UTC, ISO 8601; None where the log itself counts hours or days."""
    exclusions: tuple[Exclusion, ...]
    """In the order of the rules; only those that met a row."""
    overlapping: int
    """Incidents that overlapped or touched an earlier one of their unit: merged into it, or kept (see the mapping)."""
    notes: tuple[str, ...]
    """What looks odd though nothing follows from it, such as units that differ only in case."""
    log: Source
    roster: Source
    """The file of the fleet."""

    def roster_of(self, kind: int) -> bool:
        """Whether the fleet names every unit of a kind (rather than counts them)."""
        rows = self.fleet.kind == kind
        return bool(rows.any() and (self.fleet.unit[rows] >= 0).all())
