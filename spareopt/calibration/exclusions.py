"""Why rows of a log are not incidents of their own: the reasons, what to do about each, and how many are too many."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from spareopt.calibration.incidents import Exclusion, Observation
from spareopt.errors import Fault, InputError
from spareopt.wording import percent, share_text

MOST_EXCLUDED = 0.01
"""Share of a log's rows that may be in error before no rate is given any more, unless the user accepts more."""
LINES_TOLD = 5


class Reason(IntEnum):
    """Reasons in the order of the rules: a row is left out for the first that it meets."""

    NONE = 0
    FIELDS = 1
    KIND = 2
    DISPOSITION = 3
    NO_UNIT = 4
    NOT_IN_ROSTER = 5
    NO_START = 6
    BAD_START = 7
    BAD_END = 8
    CLOCK_TWICE = 9
    CLOCK_NEVER = 10
    FAR_AWAY = 11
    BACKWARDS = 12
    DUPLICATE = 13
    NOT_OPEN = 14
    OVERLAP = 15
    BEFORE = 16
    CARRIED_IN = 17
    AFTER = 18
    OUT_OF_SERVICE = 19


class Words(NamedTuple):
    """What is said of a reason."""

    reason: str
    role: str
    fix: str = ""


WORDS = {
    Reason.FIELDS: Words(
        "too few or too many fields", "data", "is the file cut off, or a separator missing in quotes?"
    ),
    Reason.KIND: Words("no fault by the mapping's kinds", "rule"),
    Reason.DISPOSITION: Words("no fault by the mapping's dispositions", "rule"),
    Reason.NO_UNIT: Words("no unit", "data", "name the unit"),
    Reason.NOT_IN_ROSTER: Words(
        "unit not in the roster", "data", "add the unit to the fleet, or spell it as the roster does"
    ),
    Reason.NO_START: Words("no start", "data", "state when the unit went down"),
    Reason.BAD_START: Words("start is no time", "data", ""),
    Reason.BAD_END: Words("end is no time", "data", ""),
    Reason.CLOCK_TWICE: Words(
        "local time that the clock shows twice", "data", "write times with their offset from UTC, such as +01:00"
    ),
    Reason.CLOCK_NEVER: Words(
        "local time that the clock never shows", "data", "check `timezone`, or write times with their offset from UTC"
    ),
    Reason.FAR_AWAY: Words(
        "time more than 10 years away from the observation",
        "data",
        "correct the time; list texts that mean still open under `open_ends` of the mapping",
    ),
    Reason.BACKWARDS: Words("ends before it starts", "data", "correct the times, or swap the columns in the mapping"),
    Reason.DUPLICATE: Words("repeats another row", "repeated"),
    Reason.NOT_OPEN: Words(
        "no end, though its unit has another incident then or later", "data", "state when the unit came back"
    ),
    Reason.OVERLAP: Words("overlaps or touches an earlier one of its unit, and is one with it", "repeated"),
    Reason.BEFORE: Words("over before the observation", "rule"),
    Reason.CARRIED_IN: Words("began before the observation; its downtime inside counts as not exposed", "rule"),
    Reason.AFTER: Words("began after the observation", "rule"),
    Reason.OUT_OF_SERVICE: Words(
        "began while its unit was not in service", "data", "correct from and to of the unit in the roster"
    ),
}


def check_exclusions(observation: Observation, share: float = MOST_EXCLUDED) -> None:
    """Refuse a log of which more than a share of the rows is in error: its rates would be too low by an unknown amount.

    Rows left out by a rule (of the mapping, or of the observation's time) and repeated rows do not count.  Raises
    InputError with every reason, its first line and what to do.
    """
    bad = [exclusion for exclusion in observation.exclusions if exclusion.role == "data"]
    rows = sum(exclusion.rows for exclusion in bad)
    if rows <= share * observation.log.rows:
        return
    found = rows / observation.log.rows
    message = f"{rows:,} of {observation.log.rows:,} rows ({percent(found)}) are in error; expected at most "
    message += f"{share_text(share)}: correct them, or accept a share of at least {percent(found)}"
    faults = [Fault("", message), *(Fault("", exclusion_text(exclusion), exclusion.lines[0]) for exclusion in bad)]
    raise InputError(observation.log.name, faults)


def exclusion_text(exclusion: Exclusion) -> str:
    """An exclusion in one line."""
    rows = f"{exclusion.rows:,} row{'s' if exclusion.rows > 1 else ''}"
    text = f"{rows}: {exclusion.reason}"
    text += f", such as {exclusion.example}" if exclusion.example else ""
    return text + (f"; {exclusion.fix}" if exclusion.fix else "")
