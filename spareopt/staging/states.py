"""What a zone can be in each quarter: states by design and racks of the last quarters, and the moves between them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from spareopt.horizon import Horizon
from spareopt.instance import Instance
from spareopt.staging.quarters import ZoneGroup, levels_before

NOT_BUILT = -1


class State(NamedTuple):
    """A zone of a group in one quarter.

    ``design`` is ``NOT_BUILT`` while it has no racks; ``levels`` are its racks in the last quarters, this one last,
    as many as it takes until all that is older is mature.
    """

    group: int
    design: int
    levels: tuple[int, ...]

    @property
    def racks(self) -> int:
        """Racks of the zone in the quarter."""
        return self.levels[-1]


class Move(NamedTuple):
    """A zone's step into a quarter: from a state of the quarter before (by place), to one of it, racks ordered."""

    tail: int
    head: int
    ordered: int


@dataclass(frozen=True)
class Paths:
    """States by quarter, the moves into each quarter, and the states before the first one, one for each group."""

    start: tuple[State, ...]
    states: tuple[tuple[State, ...], ...]
    moves: tuple[tuple[Move, ...], ...]


def all_paths(instance: Instance, horizon: Horizon, groups: tuple[ZoneGroup, ...]) -> Paths:
    """Every state that a zone can reach and every move: racks never fewer, at least what arrives, one design.

    A zone has one of the numbers of racks of its class, or what was bought for it so far, or none.
    """
    young = horizon.young_quarters
    start = tuple(
        State(
            g, NOT_BUILT if group.bought_by(-1) == 0 else group.design or 0, levels_before(group, young)
        )  # of the quarter before: a level too many is dropped by the first move
        for g, group in enumerate(groups)
    )
    layers: list[tuple[State, ...]] = []
    moves: list[tuple[Move, ...]] = []
    before = start
    for t in range(horizon.quarters):
        places: dict[State, int] = {}
        steps: list[Move] = []
        for tail, state in enumerate(before):
            for head, ordered in _steps(instance, horizon, groups[state.group], state, t):
                steps.append(Move(tail, places.setdefault(head, len(places)), ordered))
        before = tuple(places)
        layers.append(before)
        moves.append(tuple(steps))
    return Paths(start, tuple(layers), tuple(moves))


def _steps(instance: Instance, horizon: Horizon, group: ZoneGroup, state: State, t: int) -> list[tuple[State, int]]:
    """The states that a zone can go to in quarter t, with the racks ordered for it."""
    zone = instance.zones[group.zone]
    least = state.racks + group.arrivals(t)
    bought = group.bought_by(t)
    racks = {number for number in (*zone.racks, bought, 0) if number >= least}
    if t < horizon.lead_time.racks:
        racks &= {least}
    result = []
    for number in sorted(racks):
        levels = (*state.levels, number)[-horizon.young_quarters - 1 :]
        if number == 0:
            result.append((State(state.group, NOT_BUILT, levels), 0))
            continue
        if state.design != NOT_BUILT:
            designs = [state.design]
        elif group.design is not None:
            designs = [group.design]
        else:
            designs = [
                d for d, design in enumerate(instance.designs) if zone.designs is None or design.name in zone.designs
            ]
        result += [(State(state.group, d, levels), number - least) for d in designs]
    return result


def without_dead_ends(paths: Paths, alive: list[list[bool]]) -> tuple[Paths, list[list[int]]]:
    """The paths through the states that are alive and from which others that are can be reached to the end.

    Also the places, in each quarter, of the states that are left.
    """
    keep = [list(layer) for layer in alive]
    for t in reversed(range(len(paths.states) - 1)):
        ahead = {move.tail for move in paths.moves[t + 1] if keep[t + 1][move.head]}
        keep[t] = [own and place in ahead for place, own in enumerate(keep[t])]
    reached = {place for place in range(len(paths.start))}
    for t, steps in enumerate(paths.moves):
        heads = {move.head for move in steps if move.tail in reached}
        keep[t] = [own and place in heads for place, own in enumerate(keep[t])]
        reached = {place for place, own in enumerate(keep[t]) if own}
    left = [[place for place, own in enumerate(layer) if own] for layer in keep]
    new = [{old: place for place, old in enumerate(layer)} for layer in left]
    states = tuple(tuple(paths.states[t][old] for old in layer) for t, layer in enumerate(left))
    moves = tuple(
        tuple(
            Move(move.tail if t == 0 else new[t - 1][move.tail], new[t][move.head], move.ordered)
            for move in steps
            if move.head in new[t] and (t == 0 or move.tail in new[t - 1])
        )
        for t, steps in enumerate(paths.moves)
    )
    return Paths(paths.start, states, moves), left


def matched(moves: tuple[Move, ...], tails: list[int], counts: dict[int, int]) -> list[int]:
    """The head of each zone, given its tail, so that ``counts`` zones are in each head.

    Raises ValueError where no moves lead from the tails to the heads: a start that is none.
    """
    import numpy as np  # noqa: PLC0415
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415

    heads = [head for head, number in sorted(counts.items()) for _ in range(number)]
    possible: dict[int, set[int]] = defaultdict(set)
    for move in moves:
        possible[move.tail].add(move.head)
    cost = np.array([[0 if head in possible[tail] else 1 for head in heads] for tail in tails])
    if cost.shape != (len(tails), len(tails)):
        raise ValueError("expected as many zones after as before")
    rows, columns = linear_sum_assignment(cost)
    if cost[rows, columns].sum():
        raise ValueError("no moves lead there")
    return [heads[column] for column in columns]
