"""How long a run has taken, and what is left of its time."""

from __future__ import annotations

import time
from math import isnan
from numbers import Integral, Real
from typing import Any

from spareopt.errors import Fault, InputError

LARGEST_SEED = 2**31 - 1


class Clock:
    """Started when it is made; ``limit`` is the run's time limit in seconds, None without one."""

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self._started = time.perf_counter()

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def remaining(self) -> float | None:
        """Seconds left of the limit, at least 0; None without one."""
        return None if self.limit is None else max(0.0, self.limit - self.elapsed())

    def going(self) -> bool:
        """Whether there is time left."""
        return self.remaining() != 0.0


def check_run(source: str, time_limit: Any, seed: Any) -> None:
    """Refuse a time limit that is no number of seconds, at least 0, and a seed that the solver does not take."""
    faults = []
    number = isinstance(time_limit, Real) and not isinstance(time_limit, bool)
    if time_limit is not None and (not number or isnan(time_limit) or time_limit < 0):
        message = f"got {time_limit!r:.40}, expected seconds, at least 0; leave it out for no limit"
        faults.append(Fault("time_limit", message))
    if not isinstance(seed, Integral) or isinstance(seed, bool) or not 0 <= int(seed) <= LARGEST_SEED:
        message = f"got {seed!r:.40}, expected a whole number from 0 to {LARGEST_SEED:,}; leave it out for 0"
        faults.append(Fault("seed", message))
    if faults:
        raise InputError(source, faults)
