"""Where a long run stands, told on stderr: one line that is rewritten, or plain lines where it is no terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from spareopt.instance import Instance
from spareopt.wording import horizon_number, objective_number

if TYPE_CHECKING:
    from spareopt.search import SolveProgress
    from spareopt.simulation.simulate import SimulationProgress
    from spareopt.sweeps import SweepProgress

PROGRESS_AFTER = 2.0  # s
LINE_EVERY = 10.0
"""s between two plain lines of a run that moves on all the time."""
COMPILING = "compiling the simulator, once on this machine: about half a minute"


class StatusLine:
    """Says on stderr where a run of over two seconds stands: one line that is rewritten, or plain lines."""

    def __init__(self, every: float = 0.0) -> None:
        self._every = every
        self._live = sys.stderr.isatty()
        self._started = time.perf_counter()
        self._shown: float | None = None
        self._last = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None and self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._started

    def say(self, text: str, seconds: float, at_once: bool = False) -> None:
        """Show a text, after so many seconds of the run; ``at_once``: however short the run is so far."""
        now = time.perf_counter()
        if now - self._started < PROGRESS_AFTER and not at_once:
            return
        if not self._live and (text == self._last or (self._shown is not None and now - self._shown < self._every)):
            return
        self._last, self._shown = text, now
        line = f"[{seconds:5.1f} s] {text}"
        sys.stderr.write(f"\r\x1b[K{line}" if self._live else f"{line}\n")
        sys.stderr.flush()


class Progress(StatusLine):
    """Where a solve stands; ``staged``: one over quarters, whose value is of the whole horizon."""

    def __init__(self, instance: Instance, *, staged: bool = False) -> None:
        super().__init__()
        self._kind, self._currency, self._staged = instance.objective.kind, instance.currency, staged

    def show(self, progress: SolveProgress) -> None:
        """Show where a solve stands."""
        text = f"{progress.phase}: {self._value(progress.value)}"
        if progress.bound is not None:
            text += f", bound {self._value(progress.bound)}"
            if progress.value:
                text += f", gap {abs(progress.bound / progress.value - 1):.2e}"
        self.say(text, progress.seconds)

    def _value(self, value: float | None) -> str:
        if value is None:
            return "no plan yet"
        if not self._staged:
            return objective_number(self._kind, value, self._currency)
        return horizon_number(self._kind, value, self._currency)


class ReplicationsLine(StatusLine):
    """Where a simulation stands."""

    def __init__(self) -> None:
        super().__init__(LINE_EVERY)

    def show(self, progress: SimulationProgress) -> None:
        """Show how many replications are done, CETT so far, and how long the others will take."""
        if progress.compiling:
            self.say(COMPILING, 0.0, at_once=True)
            return
        text = f"{progress.done:,} of {progress.asked:,} replications"
        if progress.cett is not None:
            half = progress.cett.half_width
            text += f", CETT {progress.cett.mean:.5f}" + ("" if half is None else f" ± {half:.5f}")
        if progress.seconds_left is not None:
            text += f", {progress.seconds_left:,.0f} s left"
        self.say(text, progress.seconds)


class SolvesLine(StatusLine):
    """Where a run of several solves stands."""

    def __init__(self, *, about: bool = False) -> None:
        super().__init__(LINE_EVERY)
        self._about = "about " if about else ""

    def show(self, done: int, total: int) -> None:
        """Show how many solves are done, of how many (or ``about`` how many), and how long the others will take."""
        left = self.elapsed() / done * (total - done)
        text = f"{done} of {self._about}{total} solves done"
        self.say(text + (f", about {left:,.0f} s left" if done < total else ""), self.elapsed())


class StepsLine(StatusLine):
    """Where a run of several steps stands, of which one may be a simulation."""

    def __init__(self) -> None:
        super().__init__(LINE_EVERY)

    def show(self, step: str) -> None:
        """Show which step comes next."""
        self.say(step, self.elapsed())

    def simulation(self, progress: SimulationProgress) -> None:
        """Show where the simulation stands: that the simulator is compiled first is told at once."""
        if progress.compiling:
            self.say(COMPILING, self.elapsed(), at_once=True)
            return
        self.say(f"simulation: {progress.done:,} of {progress.asked:,} replications", self.elapsed())


class CellsLine(StatusLine):
    """Where a map stands."""

    def __init__(self) -> None:
        super().__init__(LINE_EVERY)

    def show(self, done: int, cells: int, seconds: float) -> None:
        """Show how many cells are scored, and how long the others will take."""
        left = seconds / done * (cells - done)
        self.say(f"{done:,} of {cells:,} cells, {left:,.0f} s left", seconds)


class PointsLine(StatusLine):
    """Where a sweep stands."""

    def __init__(self) -> None:
        super().__init__(LINE_EVERY)

    def show(self, progress: SweepProgress) -> None:
        """Show how many points are solved, and how long the others will take."""
        text = f"{progress.done:,} of {progress.points:,} points{' checked' if progress.checking else ''}"
        if progress.known:
            text += f", {progress.known:,} of them from before"
        if progress.seconds_left is not None and progress.done < progress.points:
            text += f", {progress.seconds_left:,.0f} s left"
        self.say(text, progress.seconds)
