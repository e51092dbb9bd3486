"""The recovery scheme of a checkpoint plan."""

from __future__ import annotations

from typing import Literal

from spareopt.checkpoint_plans import CheckpointPlan
from spareopt.instance import Instance
from spareopt.numerics.overlapped import Overlapped
from spareopt.numerics.recovery import Checkpointing, RecoveryScheme
from spareopt.numerics.replica_groups import ReplicaGroups
from spareopt.numerics.two_level import TwoLevel

Model = Literal["exact", "first-order"]

WHILE_COMPUTING = "exact where faults come only while the job computes, not in saves, detection and restart"
REPLICAS = "as if the faults of groups were independent of one another's stalls; close to simulations of it"


def recovery_scheme(instance: Instance, plan: CheckpointPlan, model: Model) -> RecoveryScheme:
    """The recovery scheme that a checkpoint plan of an instance states."""
    if plan.replicas is not None:
        zones = sum(zone.count for zone in instance.zones)
        return ReplicaGroups(plan.replicas.groups_per_zone * zones, plan.replicas.stall, plan.replicas.rejoin)
    assert plan.period is not None and plan.save is not None
    assert plan.detection is not None and plan.restart is not None
    period = None if plan.period == "best" else plan.period
    recovery = plan.detection + plan.restart
    if plan.memory is not None:
        memory, every = plan.memory, plan.memory.storage_every
        return TwoLevel(
            memory_save=memory.save,
            storage_save=plan.save,
            memory_recovery=plan.detection + memory.restart,
            storage_recovery=recovery,
            memory_share=memory.share,
            period=period,
            storage_every=None if every == "best" else every,
        )
    if plan.overlap is not None:
        return Overlapped(plan.overlap.snapshot, plan.save, plan.overlap.slowdown, recovery, period)
    kind = "computing" if model == "exact" and instance.failures.ageing == "computing" else model
    return Checkpointing(plan.save, recovery, period, kind)


def recovery_schemes(instance: Instance, model: Model) -> list[RecoveryScheme]:
    """The recovery schemes of all checkpoint plans of an instance, in their order."""
    return [recovery_scheme(instance, plan, model) for plan in instance.checkpoint_plans]


def recovery_method(instance: Instance, plan: CheckpointPlan) -> str | None:
    """What the recovery efficiency rests on, where it is not simply exact."""
    if plan.replicas is not None:
        return REPLICAS
    return WHILE_COMPUTING if instance.failures.ageing == "computing" else None
