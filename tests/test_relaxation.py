"""Every over-estimate of a relaxation, sampled densely against its function, and its refinement."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from spareopt.candidates import enumerate_candidates
from spareopt.dominance import prune
from spareopt.problem import Problem, build_problem
from spareopt.reading import read_instance
from spareopt.relaxation import Refinement, cost_range, cost_unit, rate_interval, rate_range
from spareopt.schemes import recovery_schemes
from tests.random_instances import OBJECTIVES, random_instance


def problem_of(objective: str, seed: int) -> Problem:
    instance = read_instance(random_instance(seed, objective))
    candidates = enumerate_candidates(instance)
    schemes = recovery_schemes(instance, "exact")
    if set(candidates.table["zone"]) != set(range(len(instance.zones))):
        pytest.skip("a zone has no candidate")
    return build_problem(candidates, prune(candidates, schemes), schemes)


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(8))
def test_every_over_estimate_is_one(objective: str, seed: int, coarse: bool) -> None:
    """Proves that tangents of ln N, lines of ln η and secants of −ln C are nowhere below their functions.

    Also after a refinement at a random choice, where they must be equal to the function.  One line too low would let
    the bound cut the optimum off.
    """
    problem = problem_of(objective, seed)
    refinement = Refinement.initial(problem, coarse)
    rng = np.random.default_rng(seed)
    counts: dict[int, int] = {}
    for z, members in enumerate(problem.members):
        counts[int(rng.choice(np.flatnonzero(problem.group == z)))] = members
    outcome = problem.outcome(counts, 0)
    refined = refinement.at(problem, outcome)
    assert refined is not None or outcome.working_gpus in refinement.working_gpus
    for step in [refinement] + ([refined] if refined else []):
        selection = step.selection(problem)
        for term in selection.concave:
            unit = problem.extremes(problem.column("working_gpus"))[1]
            sizes = np.linspace(*problem.extremes(problem.column("working_gpus")), 501) / unit
            over = np.min([slope * sizes + intercept for slope, intercept in term.tangents], axis=0)
            assert (over >= np.log(sizes) - 1e-12).all()
        assert selection.rate is not None
        covered: dict[int, list[tuple[float, float]]] = {}
        for piece in selection.rate.pieces:
            covered.setdefault(piece.option, []).append((piece.low, piece.high))
            rates = np.linspace(piece.low, piece.high, 201)
            over = np.min([slope * rates + intercept for slope, intercept in piece.lines], axis=0)
            assert (over >= problem.schemes[piece.option].log_eta(rates)).all()
        low, high = rate_range(problem)
        for option in range(len(problem.schemes)):
            pieces = sorted(covered[option])
            assert (pieces[0][0], pieces[-1][1]) == (low, high)
            assert all(a[1] == b[0] for a, b in pairwise(pieces))
        if selection.cost is not None and selection.cost.edges:
            edges = np.array(selection.cost.edges)
            cost = np.linspace(*cost_range(problem), 501) / cost_unit(problem)
            assert (np.interp(cost, edges, -np.log(edges)) >= -np.log(cost) - 1e-12).all()
    if refined is not None:
        pieces = [p for p in refined.selection(problem).rate.pieces if p.option == 0]  # type: ignore[union-attr]
        here = [p for p in pieces if p.low <= outcome.rate <= p.high]
        truth = float(problem.schemes[0].log_eta(np.array(outcome.rate)))
        for piece in here:
            over = min(slope * outcome.rate + intercept for slope, intercept in piece.lines)
            assert over == pytest.approx(truth, abs=1e-10)


def test_closed_pieces_stay_closed_when_they_are_cut_finer() -> None:
    """Proves that a part of the rate proved useless does not come back with later refinements."""
    problem = problem_of("goodput", 1)
    refinement = Refinement.initial(problem, coarse=False)
    selection = refinement.selection(problem)
    assert selection.rate is not None
    first = selection.rate.pieces[0]
    closed = refinement.without([rate_interval(first)])
    finer = closed.denser(problem, 1e-9).selection(problem)
    assert finer.rate is not None
    assert not any(p.option == first.option and first.low <= p.low and p.high <= first.high for p in finer.rate.pieces)
