"""The job of the simulator AIReSim (arXiv 2603.07041) with warm standbys, solved exactly as a Markov chain.

The rules.  ``n_active`` servers compute; beside them ``n_warm`` standbys and ``n_extra`` idle ones are up; they do not
age.

- Start: all up, and one host selection.
- Failure, at 1/MTBF of each active server and only while the job computes: the repair starts at once, and so does a
  recovery of constant length.  Nobody takes the failed server's place before the recovery ends.
- Repairs take exponential times, wait for nobody, and go on in recovery, blocking and host selection.  Whoever is
  repaired becomes a standby if there are fewer than ``n_warm`` at that instant, idle otherwise.  During the recovery
  the standby that is to replace the failed server still counts: so a repair can find no room, and leave an idle
  server, which only a host selection takes.
- End of the recovery: with a standby, it becomes active and the job computes on, without a selection.  Else, with an
  idle server, a host selection.  Else the job is blocked until at most ``n_extra`` are down; then, a host selection.
- Host selection: takes active servers, then standbys, at most ``n_warm`` and as many as there are, from all that are up
  at its beginning; the others are idle.  It lasts a constant time, after which the job computes.

No standbys, and every failure ends in a host selection.  No work is lost; the job ends once it has computed its length.

On the clock of computing time the pair (standbys, idle servers) is a Markov chain; the others of the n_warm + n_extra
are down.  Every total is an integral over that clock, so that the expectations of a finite job need one exponential of
a small matrix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.stats import binom

Array = NDArray[np.float64]
State = tuple[int, int]  # standbys, idle servers

DAY = 1440.0
ABSENT = {"n_preemptible": 0, "p_escalate": 0.0, "p_diagnosed": 1.0, "p_misdiagnosed": 0.0, "bad_fraction": 0.0}


@dataclass(frozen=True)
class Job:
    """A case in minutes: servers, rate of failure of all active ones together, and times."""

    warm: int
    extra: int
    rate: float
    repair: float
    recovery: float
    selection: float
    length: float

    @property
    def spares(self) -> int:
        return self.warm + self.extra


def read_case(inputs: Mapping[str, float]) -> Job:
    """The job of a record's inputs (a case's, or a grid point's: ``n_spares``, no standbys, free host selection).

    Raises:
        ValueError: the inputs use a rule that the chain has not.
    """
    for name, absent in ABSENT.items():
        if inputs.get(name, absent) != absent:
            raise ValueError(f"{name} = {inputs[name]}: the chain has no such rule, it must be {absent}")
    return Job(
        int(inputs.get("n_warm", 0)),
        int(inputs["n_extra"] if "n_extra" in inputs else inputs["n_spares"]),
        inputs["n_active"] / (DAY * inputs["mtbf_day"]),
        DAY * (inputs["auto_repair_day"] if "auto_repair_day" in inputs else inputs["repair_day"]),
        inputs["recovery_min"],
        inputs.get("host_selection_min", 0.0),
        DAY * inputs["job_day"],
    )


def repaired(job: Job, state: State, down: int, time: float) -> dict[State, float]:
    """Law of standbys and idle servers after a time without failures, with so many down at its beginning."""
    warm, idle = state
    law: dict[State, float] = {}
    for back, probability in enumerate(binom.pmf(np.arange(down + 1), down, -math.expm1(-time / job.repair))):
        now_warm = min(job.warm, warm + back)
        law[now_warm, idle + warm + back - now_warm] = float(probability)
    return law


def after_failure(job: Job, state: State) -> tuple[dict[State, float], float, float]:
    """What a failure leads to: law of the state when the job computes on, P(host selection), P(blocked)."""
    law: dict[State, float] = {}
    selected = blocked = 0.0
    for (warm, idle), probability in repaired(job, state, job.spares - sum(state) + 1, job.recovery).items():
        if warm:
            law[warm - 1, idle] = law.get((warm - 1, idle), 0.0) + probability
            continue
        selected += probability
        if idle:
            spare = idle - 1
        else:
            spare = job.warm
            blocked += probability
        chosen = (min(job.warm, spare), spare - min(job.warm, spare))
        for end, share in repaired(job, chosen, job.spares - spare, job.selection).items():
            law[end] = law.get(end, 0.0) + probability * share
    return law, selected, blocked


def expected(case_inputs: Mapping[str, float]) -> dict[str, float]:
    """Expectations of one job that starts with all servers up, under the names of the record's ``exact``.

    Args:
        case_inputs: ``inputs`` of a case, or a point of the grid; servers, days and minutes as in its names.

    Returns:
        Expected total and blocked time in minutes, numbers of failures, blocked times and host selections, the share of
        computing in the expected total, and that share in the limit of a job that never ends.
    """
    job = read_case(case_inputs)
    states = [(warm, idle) for warm in range(job.warm + 1) for idle in range(job.spares - warm + 1)]
    place = {state: i for i, state in enumerate(states)}
    generator = np.zeros((len(states), len(states)))
    stops = np.zeros((len(states), 2))  # host selections and blocked times, per minute of computing
    for i, (warm, idle) in enumerate(states):
        law, *chances = after_failure(job, (warm, idle))
        for end, probability in law.items():
            generator[i, place[end]] += job.rate * probability
        stops[i] = job.rate * np.array(chances)
        if warm + idle < job.spares:
            end = (warm + 1, idle) if warm < job.warm else (warm, idle + 1)
            generator[i, place[end]] += (job.spares - warm - idle) / job.repair
        generator[i, i] -= generator[i].sum()

    # With Z = (1 π − Q)⁻¹, the integral of e^{Qt} c over the job is L π c + (I − e^{QL}) Z c.
    equations = np.vstack([generator.T, np.ones(len(states))])
    stationary = np.linalg.lstsq(equations, np.eye(len(states) + 1)[-1], rcond=None)[0]
    potential = np.linalg.solve(np.outer(np.ones(len(states)), stationary) - generator, stops)
    transient = potential - expm(generator * job.length) @ potential
    long_run = stationary @ stops
    selections, episodes = job.length * long_run + transient[place[job.warm, job.extra]]
    selections += 1  # at the start

    mean_blocked = job.repair * sum(1 / down for down in range(job.extra + 1, job.spares + 2))
    failures = job.rate * job.length
    blocked = episodes * mean_blocked
    total = job.length + failures * job.recovery + blocked + selections * job.selection
    cost = 1 + job.rate * job.recovery + long_run @ np.array([job.selection, mean_blocked])
    return {
        "E_T_min": float(total),
        "E_failures": failures,
        "E_blocked_min": float(blocked),
        "E_blocking_episodes": float(episodes),
        "E_host_selections": float(selections),
        "cett": float(job.length / total),
        "stationary_cett": float(1 / cost),
    }
