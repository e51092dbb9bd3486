"""Kinds of events and of what is logged, by number."""

from __future__ import annotations

import numpy as np

# numbers that compiled functions pass on are of one type: a plain Python number is a type of its own, and a function
# that gets one is compiled anew for it
DELAY_ENDS, WORK_ENDS, FOUND, PART_ARRIVES, VISIT_STARTS, WINDOW_OPENS, SOFTWARE_FAILS, STOP_STARTS, BURST_STRIKES = (
    np.arange(9)
)
"""Kinds of events besides faults."""
SITE_ITSELF, NO, YES, GONE = np.int64(0), np.int64(0), np.int64(1), np.int64(-1)
LOG = (
    "fault", "up", "silent", "found", "visit", "window", "software", "planned", "burst", "part", "interruption",
    "blocked", "unblocked",
)  # fmt: skip
"""What is logged, by number."""
(
    LOG_FAULT, LOG_UP, LOG_SILENT, LOG_FOUND, LOG_VISIT, LOG_WINDOW, LOG_SOFTWARE, LOG_PLANNED, LOG_BURST, LOG_PART,
    LOG_INTERRUPTION, LOG_BLOCKED, LOG_UNBLOCKED,
) = np.arange(len(LOG))  # fmt: skip
