"""Checkpoint plans: when to save, and what saving, detecting a fault and restarting take, by recovery scheme."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from spareopt.fields import MOST, Name, PositiveTime, Time, WholeNumber, YearlyMoney
from spareopt.record import Record


def _time_or_best(value: object) -> object:
    if isinstance(value, str) and value != "best" and not re.match(r"\s*[-+.\d]", value):
        raise ValueError('expected a time such as "250 s", or "best"')
    return value


class MemoryCheckpoints(Record):
    """Frequent saves in the hosts' memory between those on storage: two-level checkpoints."""

    save: Time
    """Time that a save in memory takes."""
    restart: Time
    """Time to restart from memory."""
    share: Annotated[float, Field(ge=0, le=1)]
    """Share of the faults after which the job restarts from memory; the others fall back to storage."""
    storage_every: WholeNumber | Literal["best"] = "best"
    """Every so many saves one goes to storage."""


class OverlappedSaves(Record):
    """Saves written in the background while training goes on."""

    snapshot: Time
    """Time that training stands still for each save."""
    slowdown: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the training speed that is lost while a save is written."""


class ReplicaGroups(Record):
    """Semi-synchronous training: groups of whole blocks that go on when one of them has a fault."""

    groups_per_zone: WholeNumber
    """Groups in each zone; each takes an equal share of its working blocks."""
    stall: Time
    """Time that a fault stalls all groups."""
    rejoin: Time
    """Time after which the group that had the fault is back at work."""
    when_short: Literal["block", "shrink"] = "block"
    """What the job does while a zone is short: wait, or go on with fewer groups."""


class Standbys(Record):
    """Idle hosts that stand by, so that a restart need not wait for others to be selected; for the simulator only."""

    warm: Annotated[int, Field(strict=True, ge=0, le=MOST)]
    """Idle hosts (blocks) of each zone that stand by, out of its inter-block spares."""
    selection: Time
    """Time to select hosts anew when none stands by, on top of the restart."""


class CheckpointPlan(Record):
    """When to save, and what saving, detecting a fault and restarting take."""

    name: Name
    period: PositiveTime | Literal["best"] | None = None
    """Work between two saves; "best" takes the best period at the plan's interruption rate."""
    save: Time | None = None
    """Time that a save takes; that of the background write with overlap, that to storage with memory."""
    detection: Time | None = None
    restart: Time | None = None
    memory: MemoryCheckpoints | None = None
    """Two-level checkpoints: period is that of the saves in memory, save and restart are those of storage."""
    overlap: OverlappedSaves | None = None
    """Saves that overlap training."""
    replicas: ReplicaGroups | None = None
    """Replica groups instead of checkpoints: period, save, detection and restart are left out."""
    standbys: Standbys | None = None
    """Warm standbys; only the simulator carries them."""
    yearly_cost: YearlyMoney = 0.0

    @field_validator("period", mode="before")
    @classmethod
    def _period(cls, value: object) -> object:
        return _time_or_best(value)

    @model_validator(mode="after")
    def _one_scheme(self) -> Self:
        schemes = [name for name in ("memory", "overlap", "replicas") if getattr(self, name) is not None]
        if len(schemes) > 1:
            raise ValueError(f"{schemes[1]}: expected one recovery scheme, not {' and '.join(schemes)}")
        if self.replicas is not None and self.standbys is not None:
            raise ValueError(
                "standbys: not used with replicas, whose rejoin holds the time to replace blocks; take it out"
            )
        for field in ("period", "save", "detection", "restart"):
            given = getattr(self, field) is not None
            if self.replicas is not None and given:
                raise ValueError(f"{field}: not used with replicas, which keep no checkpoints; take it out")
            if self.replicas is None and not given:
                empty = 'expected a time such as "60 s", but it is empty'
                raise ValueError(f"{field}: {empty if field in self.model_fields_set else 'required, but missing'}")
        dear = {"memory": self.memory and self.memory.save, "overlap": self.overlap and self.overlap.snapshot}
        costs = [self.save, *(dear[name] for name in schemes if name in dear)]
        if self.period == "best" and not all(costs):
            raise ValueError("save: expected a time above zero: with free saves there is no best period")
        return self
