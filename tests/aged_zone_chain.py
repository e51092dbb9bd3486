"""An exact chain of a zone whose blocks are of two ages: who works is followed, not taken as its mean.

Blocks of one tray, always ageing, exponential repairs with ample crews; the job needs ``working`` of them.  A state
says how many blocks of each age are up, and how many of the first age work.  The job computes ``period`` h and saves
``save`` h at a time, recovers ``recovery`` h after every fault that stops it, and waits while the zone is short.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

Array = NDArray[np.float64]
Policy = Literal["keep", "redraw"]
"""Who works: ``keep`` — the working blocks stay, a random spare one takes the place of one that fails; ``redraw`` — all
working blocks are drawn anew at every fault that stops the job."""


class State(NamedTuple):
    """Blocks of the two ages that are up, and how many of the first that work (0 while the zone is short)."""

    first: int
    second: int
    at_work: int


@dataclass(frozen=True)
class AgedZone:
    """Two cohorts of ``blocks`` with their fault rates, mean time to repair, and how the job runs; times in h."""

    blocks: tuple[int, int]
    rates: tuple[float, float]
    mttr: float
    working: int
    software: float
    period: float
    save: float
    recovery: float
    policy: Policy = "keep"


class Exact(NamedTuple):
    """What the chain says: P(not short), interruptions per hour while it is not, useful share of all time."""

    availability: float
    rate: float
    useful: float


def _drawn(first: int, second: int, working: int) -> list[tuple[State, float]]:
    """All ways in which the working blocks can be drawn from those that are up."""
    whole = comb(first + second, working)
    return [
        (State(first, second, k), comb(first, k) * comb(second, working - k) / whole)
        for k in range(max(0, working - second), min(first, working) + 1)
    ]


def _states(zone: AgedZone) -> list[State]:
    states = []
    for first in range(zone.blocks[0] + 1):
        for second in range(zone.blocks[1] + 1):
            if first + second < zone.working:
                states.append(State(first, second, 0))
            else:
                states += [state for state, _ in _drawn(first, second, zone.working)]
    return states


def generators(zone: AgedZone) -> tuple[list[State], Array, Array]:
    """The states, the rates of changes that do not stop the job, and of those that do (diagonals are zero)."""
    states = _states(zone)
    place = {state: i for i, state in enumerate(states)}
    quiet, stops = np.zeros((2, len(states), len(states)))
    for i, state in enumerate(states):
        runs = state.first + state.second >= zone.working
        others = zone.working - state.at_work if runs else 0
        for age, (up, at_work) in enumerate(((state.first, state.at_work), (state.second, others))):
            fewer = (state.first - (age == 0), state.second - (age == 1))
            more = (state.first + (age == 0), state.second + (age == 1))
            if up > at_work:  # a block that does not work fails
                quiet[i, place[State(*fewer, state.at_work)]] += (up - at_work) * zone.rates[age]
            if at_work:
                rate = at_work * zone.rates[age]
                for to, share in _after_fault(zone, state, age, fewer):
                    stops[i, place[to]] += rate * share
            if zone.blocks[age] > up:
                rate = (zone.blocks[age] - up) / zone.mttr
                to = State(*more, state.at_work)
                if sum(more) == zone.working:  # no longer short: all that are up work
                    to = State(*more, more[0])
                quiet[i, place[to]] += rate
        if runs:
            for to, share in (
                _drawn(state.first, state.second, zone.working) if zone.policy == "redraw" else [(state, 1.0)]
            ):
                stops[i, place[to]] += zone.software * share
    return states, quiet, stops


def _after_fault(zone: AgedZone, state: State, age: int, up: tuple[int, int]) -> list[tuple[State, float]]:
    """Where a fault of a working block of an age leads to."""
    if sum(up) < zone.working:
        return [(State(*up, 0), 1.0)]
    if zone.policy == "redraw":
        return _drawn(*up, zone.working)
    left = (state.at_work - (age == 0), zone.working - state.at_work - (age == 1))
    spare = (up[0] - left[0], up[1] - left[1])
    whole = sum(spare)
    return [(State(*up, left[0] + (taken == 0)), spare[taken] / whole) for taken in (0, 1) if spare[taken]]


def exact(zone: AgedZone) -> Exact:
    """Availability, interruption rate and useful share from the chain: no mean is put in for a state.

    The job's periods and recoveries are of fixed lengths, so that the chain is looked at where one begins: from there
    matrix exponentials of the changes that do not stop it say where it ends, or is stopped.
    """
    states, quiet, stops = generators(zone)
    number = len(states)
    runs = np.array([state.first + state.second >= zone.working for state in states])
    everything = quiet + stops
    law = _stationary(everything - np.diag(everything.sum(axis=1)))
    availability = float(law @ runs)
    rate = float(law[runs] @ stops[runs].sum(axis=1)) / availability
    inner = quiet - np.diag((quiet + stops).sum(axis=1))
    # a job that runs never becomes short without a fault that stops it
    own = inner[np.ix_(runs, runs)]
    inverse = np.linalg.inv(-own)
    waiting = np.linalg.inv(-inner[np.ix_(~runs, ~runs)])
    ready = np.zeros((number, number))  # where it is once it can recover
    ready[np.ix_(runs, runs)] = np.eye(int(runs.sum()))
    ready[np.ix_(~runs, runs)] = waiting @ quiet[np.ix_(~runs, runs)]
    delay = np.zeros(number)
    delay[~runs] = waiting.sum(axis=1)

    def stage(length: float) -> tuple[Array, Array, Array]:
        """Where a stage of the job that is not stopped ends, where one that is goes on from, and its mean time."""
        survives = expm(own * length)
        lasted = inverse @ (np.eye(len(own)) - survives)
        stopped = lasted @ stops[runs]
        return survives, (stopped @ ready)[:, runs], lasted.sum(axis=1) + stopped @ delay

    done, lost, time = stage(zone.period + zone.save)
    again, failed, longer = stage(zone.recovery)
    jumps = np.block([[done, lost], [again, failed]])
    starts = _stationary(jumps - np.eye(len(jumps)))
    half = len(own)
    useful = zone.period * float(starts[:half] @ done.sum(axis=1))
    return Exact(availability, rate, useful / float(starts @ np.concatenate([time, longer])))


def _stationary(generator: Array) -> Array:
    """The law that a generator (rows sum to 0) leaves as it is."""
    system = np.vstack([generator.T, np.ones(len(generator))])
    return np.asarray(np.linalg.lstsq(system, np.append(np.zeros(len(generator)), 1.0), rcond=None)[0])
