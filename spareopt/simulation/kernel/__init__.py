"""The compiled simulator: a replication at millions of events a second, event for event that of the reference."""

from spareopt.simulation.kernel.loop import event_log, replicate

__all__ = ["event_log", "replicate"]
