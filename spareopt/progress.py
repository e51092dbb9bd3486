"""Where a long solve stands, told on stderr: one line that is rewritten, or plain lines where it is no terminal."""

from __future__ import annotations

import sys
import time

from spareopt.instance import Instance
from spareopt.search import SolveProgress
from spareopt.wording import objective_number

PROGRESS_AFTER = 2.0  # s


class Progress:
    """Says on stderr where a solve of over two seconds stands: one line that is rewritten, or plain lines."""

    def __init__(self, instance: Instance) -> None:
        self._kind, self._currency = instance.objective.kind, instance.currency
        self._live = sys.stderr.isatty()
        self._started = time.perf_counter()
        self._shown = False
        self._last = ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def show(self, progress: SolveProgress) -> None:
        """Show where a solve stands."""
        if time.perf_counter() - self._started < PROGRESS_AFTER:
            return
        text = f"{progress.phase}: {self._value(progress.value)}"
        if progress.bound is not None:
            text += f", bound {self._value(progress.bound)}"
            if progress.value:
                text += f", gap {abs(progress.bound / progress.value - 1):.2e}"
        if text == self._last and not self._live:
            return
        self._last, self._shown = text, True
        line = f"[{progress.seconds:5.1f} s] {text}"
        sys.stderr.write(f"\r\x1b[K{line}" if self._live else f"{line}\n")
        sys.stderr.flush()

    def _value(self, value: float | None) -> str:
        return "no plan yet" if value is None else objective_number(self._kind, value, self._currency)
