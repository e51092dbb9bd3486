"""Markov chains of tiny systems, every unit's state told apart: what the product's closed forms are checked against."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve

Moves = Callable[[Any], Iterable[tuple[Any, float]]]


def stationary(start: Hashable, moves: Moves) -> dict[Any, float]:
    """The stationary law of the chain that ``moves`` (state to pairs of next state and rate) spans from a state."""
    places: dict[Any, int] = {start: 0}
    todo, rows, columns, rates = [start], [], [], []
    while todo:
        state = todo.pop()
        for target, rate in moves(state):
            if rate > 0:
                if target not in places:
                    places[target] = len(places)
                    todo.append(target)
                here, there = places[state], places[target]
                rows += [there, here]
                columns += [here, here]
                rates += [rate, -rate]
    n = len(places)
    generator = coo_array((rates, (rows, columns)), shape=(n, n)).tolil()
    generator[0, :] = 1.0  # one balance follows from the others: in its place, that probabilities sum to 1
    law = spsolve(generator.tocsc(), np.eye(n, 1).ravel())
    return {state: float(law[place]) for state, place in places.items()}
