"""What was left out of a log, told: how many rows for which reason, where, what they hold, and what to do."""

from __future__ import annotations

import numpy as np

from spareopt.calibration.clocked_log import ClockedLog, Reasons
from spareopt.calibration.exclusions import LINES_TOLD, WORDS, Reason
from spareopt.calibration.incidents import Exclusion, Floats, Integers
from spareopt.calibration.log_rows import time_advice
from spareopt.calibration.log_times import NEVER, TWICE
from spareopt.yaml_source import brief


def exclusions_of(
    log: ClockedLog, reason: Reasons, unit: Integers, start_h: Floats, end_h: Floats
) -> tuple[Exclusion, ...]:
    """What was left out, in the order of the rules."""
    found = []
    ragged = log.rows.ragged
    if ragged:
        words = WORDS[Reason.FIELDS]
        lines = tuple(line for line, _ in ragged[:LINES_TOLD])
        found.append(Exclusion(words.reason, words.role, len(ragged), lines, ragged[0][1], words.fix))
    for why in Reason:
        rows = np.flatnonzero(reason == why)
        if why is Reason.NONE or len(rows) == 0:
            continue
        words, first = WORDS[why], int(rows[0])
        example, fix = _example(log, why, first, unit, start_h, end_h), words.fix
        if why in (Reason.BAD_START, Reason.BAD_END):
            role = "start" if why is Reason.BAD_START else "end"
            text = log.rows.odd.get((role, first), "")
            example, fix = brief(text), time_advice(text, log.rows.unit_of_time, log.mapping.time_format)
            if why is Reason.BAD_END and not any(sign.isdigit() for sign in text):
                fix = f"if that means still open, state `open_ends: [{brief(text)}]` in the mapping; else write when"
        lines = tuple(log.rows.line[rows[:LINES_TOLD]].tolist())
        found.append(Exclusion(words.reason, words.role, len(rows), lines, example, fix))
    return tuple(found)


def _example(log: ClockedLog, why: Reason, row: int, unit: Integers, start_h: Floats, end_h: Floats) -> str:
    """What a row holds that is left out."""
    names = {role: log.coders[role].names for role in ("unit", "fault_class", "disposition", "kind")}
    if why is Reason.KIND:
        codes = log.rows.codes
        role = "fault_class" if codes["fault_class"][row] >= 0 else "kind"
        return brief(names[role][codes[role][row]]) if codes[role][row] >= 0 else ""
    if why is Reason.DISPOSITION:
        return brief(names["disposition"][log.rows.codes["disposition"][row]])
    name = brief(names["unit"][unit[row]]) if unit[row] >= 0 else "a row without unit"
    if why in (Reason.NO_UNIT, Reason.NO_START, Reason.NOT_IN_ROSTER):
        return name
    times = (_time_text(log, role, row, value[row]) for role, value in (("start", start_h), ("end", end_h)))
    return f"{name} from {' to '.join(times)}"


def _time_text(log: ClockedLog, role: str, row: int, hour: float) -> str:
    """A time of a row for people: UTC, or hours of the log's clock."""
    moment = log.start if role == "start" else log.end
    if np.isnan(hour) and moment.state[row] not in (TWICE, NEVER):
        return "open"
    if log.clock.origin is None:
        return f"{hour:.6g} h"
    text = str(np.datetime64(int(moment.value[row]), "us").astype("datetime64[s]"))
    return text + ("" if moment.state[row] in (TWICE, NEVER) else "Z")
