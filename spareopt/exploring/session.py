"""What one browser tab does: its levers, the answer to where they stand, and the what-ifs that it keeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spareopt.errors import InputError
from spareopt.exploring.levers import Lever, changes_of, positions
from spareopt.exploring.solving import Desk, Reply
from spareopt.exploring.what_ifs import (
    AS_IT_STANDS,
    KeptWhatIf,
    as_overlay,
    comparison_table,
    keep,
    solve_command,
    solved_by,
)
from spareopt.instance import Instance
from spareopt.overlays.overlay import overlay_text
from spareopt.plan import Plan
from spareopt.solved import Solved
from spareopt.what_if import Changes, SolveOptions, WhatIf, changed

ADDRESS = "127.0.0.1"
"""Nothing but this machine reaches the page."""
BEFORE, NOW = "the one before", "now"


@dataclass(frozen=True)
class Exploration:
    """What is explored: the instance, how it was typed, its levers, its own answer, and how what-ifs are solved."""

    instance: Instance
    given: str
    levers: tuple[Lever, ...]
    nominal: Reply
    options: SolveOptions
    export: str | None = None
    """The file that what is kept is written to."""
    solving: str = ""
    """The options of solving as typed, each after a space: what is shown is found again with the same."""


class Session:
    """The state of a tab.  ``reply`` belongs to the levers as they stand: it is None until they are answered.

    ``on_reply`` is told the number of a question and its reply from another thread, and hands them to ``told``.
    """

    def __init__(self, exploration: Exploration, on_reply: Callable[[int, Reply], None]) -> None:
        self.exploration = exploration
        self.changes: Changes | None = {}
        """What the levers change; None where what is typed can't be read."""
        self.refusal = ""
        """Why it can't be read."""
        self.reply: Reply | None = exploration.nominal
        self.before: Reply | None = None
        """The last answer with a plan before the present one."""
        self.kept: tuple[KeptWhatIf, ...] = ()
        self._desk = Desk(exploration.options, on_reply)
        self._number = 0
        self._asked_at = time.monotonic()
        self._desk.know(WhatIf(exploration.instance), exploration.nominal)

    def open(self) -> None:
        """The page is there: start what solves.  A tab that only asked for the address starts no process."""
        if self.exploration.nominal.explaining and self.reply is self.exploration.nominal:
            self._number = self._desk.ask(WhatIf(self.exploration.instance))
        else:
            self._desk.start()

    @property
    def waiting(self) -> float | None:
        """Seconds since what is being solved was asked; None where nothing is."""
        return None if self.reply is not None or self.changes is None else time.monotonic() - self._asked_at

    def move(self, texts: Mapping[str, str | None]) -> None:
        """The levers stand elsewhere, each by the text of its key: ask what then."""
        if self.reply is not None and self.reply.answer.plan is not None:
            self.before = self.reply
        self.reply, self.changes, self.refusal = None, None, ""
        try:
            changes = changes_of(self.exploration.levers, texts)
            what_if = WhatIf(changed(self.exploration.instance, changes), changes)
        except InputError as error:
            self.refusal = "\n".join(map(str, error.faults))
            self._number = self._desk.ask(None)
            return
        self.changes, self._asked_at = changes, time.monotonic()
        self._number = self._desk.ask(what_if)

    def told(self, number: int, reply: Reply) -> bool:
        """Take a reply, unless it is to what was asked before; returns whether it was taken."""
        if number != self._number:
            return False
        self.reply = reply
        return True

    def texts(self, changes: Changes) -> Mapping[str, str | None] | None:
        """Where the levers stand for changes; None where these change what no lever moves."""
        return positions(self.exploration.levers, changes)

    def ways_out(self) -> list[Changes]:
        """Changes of limits, such as levers make, that give a plan where the present what-if has none."""
        if self.reply is None or self.reply.infeasibility is None:
            return []
        return [
            remedy.changes
            for remedy in self.reply.infeasibility.remedies
            if self.texts({**self.reply.answer.changes, **remedy.changes}) is not None
        ]

    def instance(self) -> Instance:
        """The instance of the present answer, or as it stands."""
        changes = {} if self.reply is None else self.reply.answer.changes
        return changed(self.exploration.instance, changes)

    def nominal_plan(self) -> Plan | None:
        """The plan of the instance as it stands, where that is not the present what-if itself."""
        return None if self.reply is None or not self.reply.answer.changes else self.exploration.nominal.answer.plan

    def compared(self) -> list[Solved]:
        """The present plan, last, and those it is held against: of the instance as it stands, and the one before."""
        if self.reply is None or self.reply.answer.plan is None:
            return []
        plans = [Solved(NOW, self.reply.answer.plan, self.instance())]
        before = None if self.before is None else self.before.answer
        if before is not None and before.plan is not None and before.changes not in ({}, self.reply.answer.changes):
            plans.insert(0, Solved(BEFORE, before.plan, changed(self.exploration.instance, before.changes)))
        if (nominal := self.nominal_plan()) is not None:
            plans.insert(0, Solved(AS_IT_STANDS, nominal, self.exploration.instance))
        return plans

    def keep(self, called: str) -> KeptWhatIf:
        """Keep the present what-if.  Raises InputError where it is kept already, or not answered yet."""
        answer = None if self.reply is None else self.reply.answer
        self.kept = keep(self.kept, called, answer, self.exploration.instance, self.exploration.levers)
        return self.kept[-1]

    def remove(self, name: str) -> None:
        """Keep one no longer."""
        self.kept = tuple(item for item in self.kept if item.name != name)

    def command(self) -> str:
        """The command that solves the present what-if; nothing where what is typed can't be read."""
        if self.changes is None:
            return ""
        here = self.exploration
        return solve_command(here.given, here.instance, self.changes) + here.solving

    def export(self) -> str:
        """What is kept as the text of an overlay.  Raises InputError where nothing is."""
        return overlay_text(as_overlay(self.kept, self.exploration.given, self.exploration.instance))

    def table(self) -> str:
        """The instance as it stands and what is kept, side by side, as the text of a CSV file."""
        itself = KeptWhatIf(AS_IT_STANDS, AS_IT_STANDS, self.exploration.nominal.answer)
        text: str = comparison_table([itself, *self.kept]).to_csv(index=False, lineterminator="\n")
        return text

    def commands(self, file: str) -> list[str]:
        """The commands that solve what is kept from the overlay."""
        here = self.exploration
        return [solved_by(here.given, file, item.name) + here.solving for item in self.kept]

    def close(self) -> None:
        """End what is at work."""
        self._desk.close()
