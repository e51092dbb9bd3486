"""What looks odd in a log though no rule leaves it out: it is noted, and a person should look."""

from __future__ import annotations

import unicodedata

import numpy as np

from spareopt.calibration.clocked_log import ClockedLog, Reasons
from spareopt.calibration.exclusions import Reason
from spareopt.calibration.fleet_clock import Clock
from spareopt.calibration.incidents import SOFTWARE, Fleet, Incidents, Integers
from spareopt.calibration.log_mapping import LogMapping
from spareopt.calibration.silence import silent_spells
from spareopt.yaml_source import brief

MOST_TOLD = 5  # names or spells of a list
AT_ONCE = 1 / 60
"""h between software faults of two units that may be one interruption of the job."""
SHARE_AT_ONCE = 0.05  # of the software faults, from which on it is noted
_BETWEEN_WORDS = str.maketrans("", "", " _-.")


def oddities(log: ClockedLog, fleet: Fleet, incidents: Incidents, unit: Integers, reason: Reasons) -> list[str]:
    """Notes on a log.  ``unit`` and ``reason``: of every row."""
    return [
        *_twins(log, fleet, unit, reason),
        *_words_that_are_not_there(log),
        *_spells(log.clock, fleet, incidents),
        *_software_at_once(log, incidents),
    ]


def _twins(log: ClockedLog, fleet: Fleet, unit: Integers, reason: Reasons) -> list[str]:
    """Units that people may have written in two ways."""
    names = log.coders["unit"].names
    used = np.unique(unit[(reason == 0) | (reason == Reason.NOT_IN_ROSTER)])
    here = {_folded(names[code]): names[code] for code in np.unique(fleet.unit[fleet.unit >= 0]).tolist()}
    in_fleet = set(here.values())
    twins = []
    for code in used[used >= 0].tolist():
        name = names[code]
        other = here.setdefault(_folded(name), name)
        if other != name and name not in in_fleet:
            twins.append((name, other))
    if not twins:
        return []
    told = ", ".join(f"{brief(a)} and {brief(b)}" for a, b in sorted(twins)[:MOST_TOLD])
    several = f"{len(twins)} unit{'s differ' if len(twins) > 1 else ' differs'}"
    return [f"{several} from another only in case, spaces or signs between words: {told}"]


def _words_that_are_not_there(log: ClockedLog) -> list[str]:
    """Words of the mapping that the log does not have."""
    notes = []
    for role, stated in (("fault_class", log.mapping.kinds), ("disposition", _dispositions(log.mapping))):
        there = set(log.coders[role].names) | (set(log.coders["kind"].names) if role == "fault_class" else set())
        missing = sorted(word for word in stated if word.strip() not in there)
        if missing:
            notes.append(f"the mapping names {', '.join(map(brief, missing[:MOST_TOLD]))}, which the log does not have")
    return notes


def _spells(clock: Clock, fleet: Fleet, incidents: Incidents) -> list[str]:
    """Spells without incidents that are too long to be chance."""
    return [
        f"no incident begins from {_clock_text(clock, begin)} to {_clock_text(clock, end)}, hardly by chance: if the "
        "log is not complete there, state `observed` in the mapping or the fleet's times accordingly"
        for begin, end in silent_spells(incidents.start_h, fleet, clock.begin_h, clock.end_h)[:MOST_TOLD]
    ]


def _software_at_once(log: ClockedLog, incidents: Incidents) -> list[str]:
    """Software faults that several units report though the job has one interruption."""
    rows = np.flatnonzero(incidents.kind == log.coders["kind"][SOFTWARE])
    rows = rows[np.argsort(incidents.start_h[rows], kind="stable")]
    close = (np.diff(incidents.start_h[rows]) <= AT_ONCE) & (np.diff(incidents.unit[rows]) != 0)
    again = int(close.sum())
    if again <= SHARE_AT_ONCE * len(rows):
        return []
    return [
        f"{again:,} of {len(rows):,} software faults begin within a minute of one of another unit: if these are one "
        "interruption of the job, the rate is too high; leave one row of each"
    ]


def _dispositions(mapping: LogMapping) -> tuple[str, ...]:
    return mapping.dispositions.exclude if mapping.dispositions else ()


def _folded(name: str) -> str:
    """A name without what people write differently."""
    return unicodedata.normalize("NFKC", name).casefold().translate(_BETWEEN_WORDS)


def _clock_text(clock: Clock, hour: float) -> str:
    """A time of the clock for people."""
    if clock.origin is None:
        return f"{hour:.6g} h"
    return f"{np.datetime64(clock.origin + round(hour * 3.6e9), 'us').astype('datetime64[m]')}Z"
