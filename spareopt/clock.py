"""How long a run has taken, and what is left of its time."""

from __future__ import annotations

import time


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
