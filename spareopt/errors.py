"""What can go wrong, each with the exit code that the command line gives it."""

from __future__ import annotations

from dataclasses import dataclass


class SpareoptError(Exception):
    """Any refusal of spareopt: one message a person can act on."""

    exit_code = 2


@dataclass(frozen=True)
class Fault:
    """One thing wrong with an input: where it stands, what it holds, what was expected and how to mend it."""

    field: str
    message: str
    line: int | None = None
    file: str | None = None
    """The file it stands in, where that is not the source of the error, such as an overlay."""

    def __str__(self) -> str:
        where = f"line {self.line}, " if self.line else ""
        return f"{where}{self.field}: {self.message}" if self.field else f"{where}{self.message}"

    def told(self, source: str) -> str:
        """The fault in the words of an error with a source, which need not be told again."""
        return str(self) if self.file in (None, source) else f"{self.file}: {self}"


class InputError(SpareoptError):
    """An instance, a plan or an option that can't be used; holds every fault found, not just the first."""

    def __init__(self, source: str, faults: list[Fault]) -> None:
        self.source = source
        self.faults = faults
        head = f"{source}: " if len(faults) == 1 else f"{source}: {len(faults)} faults\n  "
        super().__init__(head + "\n  ".join(fault.told(source) for fault in faults))


class InfeasibleError(SpareoptError):
    """No choice meets every limit of the instance (proven)."""

    exit_code = 3


class LimitError(SpareoptError):
    """A time limit was reached before any plan was found."""

    exit_code = 5


class OverloadedError(InputError):
    """Crews so overloaded that the law of the failed units is too large to hold."""


class StoppedError(SpareoptError):
    """The user stopped the run before any plan was found."""

    exit_code = 130


class SolverError(SpareoptError):
    """The solver failed or returned something that can't be trusted."""

    exit_code = 1
