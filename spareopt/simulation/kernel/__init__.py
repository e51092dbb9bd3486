"""The compiled simulator: a replication at millions of events a second, event for event that of the reference."""

from spareopt.simulation.kernel.loop import Events, event_log, play_logged, replicate

__all__ = ["Events", "event_log", "play_logged", "replicate"]
