"""Where counts of failed trays are all that a simulation needs: exponential laws throughout, no tray unlike another."""

from __future__ import annotations

import numpy as np

from spareopt.simulation.system import ALWAYS, EXPONENTIAL, GROUPS, System

HOURS_PER_WEEK = 168.0


def counts_suffice(system: System) -> str | None:
    """Why a system has to be simulated unit by unit; None where the kernel of counts plays the same law.

    With exponential lives and repairs, and units that age whatever the job does, neither how old a unit is nor how
    long it has been in hand tells anything, so that how many trays of each block are down, whose turn it is at the
    crews and in which stage a repair is are all there is to know.
    """
    s = system
    fails, repaired = s.rate > 0.0, np.flatnonzero(s.rate > 0.0)
    ways = [slice(s.phase[i], s.phase[i + 1]) for i in repaired]
    reasons = (
        (len(s.trace_time) > 0, "a trace is replayed"),
        (s.ageing != ALWAYS, "units do not age all the time (failures.ageing)"),
        (np.any(fails & (s.life_law != EXPONENTIAL)), "lifetimes are not exponential (lifetime)"),
        (np.any(fails & (s.lemon_share > 0.0) & (s.lemon_multiple != 1.0)), "some units are lemons (lemons)"),
        (np.any(fails & (s.burn_in > 0.0) & (s.burn_in_multiple != 1.0)), "new units burn in (burn_in)"),
        (np.any(fails & (s.silent_share > 0.0)), "some faults are silent (silent)"),
        (np.any(s.burst_rate > 0.0), "faults come in bursts (failures.bursts)"),
        (np.any(fails & (s.repair_law != EXPONENTIAL)), "hands-on times are not exponential (law)"),
        (any(np.any(s.phase_mean[way] <= 0.0) for way in ways), "some hands-on times are 0 h (hands_on)"),
        (np.any(s.duty < HOURS_PER_WEEK), "crews are on duty for part of the week (crew_hours_per_week)"),
        (np.any(s.zone_shelf >= 0), "trays come from a shelf (shelf)"),
        (np.any(s.start_at > 0), "repair waits for several trays, or takes blocks out of service (start_at)"),
        (np.any(s.window > 0.0), "repair waits for windows (window)"),
        (s.scheme == GROUPS, "the job works in replica groups (replicas)"),
        (s.warm >= 0, "the job keeps standbys (standbys)"),
    )
    return next((reason for holds, reason in reasons if holds), None)
