"""Pruning leaves out only what another candidate can replace in every plan."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spareopt.candidates import enumerate_candidates
from spareopt.comparison import objective_value
from spareopt.decisions import Decisions
from spareopt.dominance import pareto, prune
from spareopt.evaluation import evaluate
from spareopt.reading import read_instance
from spareopt.schemes import recovery_schemes
from tests.random_instances import OBJECTIVES, random_instance


@given(arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 4)), elements=st.integers(0, 4).map(float)))
@settings(max_examples=200, deadline=None)
def test_pareto_against_all_pairs(keys: np.ndarray) -> None:
    """Proves: every row left out has a kept row nowhere worse, and no kept row has a different one nowhere worse.

    Few distinct values make ties common; of equal rows exactly the first is kept.
    """
    winner = pareto(keys)
    kept = np.flatnonzero(winner < 0)
    for row, by in enumerate(winner):
        if by >= 0:
            assert winner[by] < 0
            assert (keys[by] >= keys[row]).all()
    for i, j in itertools.permutations(kept, 2):
        assert not (keys[i] >= keys[j]).all()


def test_pareto_takes_minus_infinity() -> None:
    """Proves that a candidate that is never available (ln A = −∞) is dominated, without a warning."""
    assert pareto(np.array([[-np.inf, 1.0], [0.0, 1.0], [-1.0, 2.0]])).tolist() == [1, -1, -1]


@pytest.mark.parametrize(("objective", "seed"), list(itertools.product(OBJECTIVES, range(12))))
def test_replacing_a_dominated_candidate_never_hurts(objective: str, seed: int) -> None:
    """Proves dominance by its definition: in random plans, the dominating candidate in place of the dominated one
    keeps every limit that was met and makes the objective no worse.

    This is what the corner argument promises; a wrong corner, or a limit forgotten in the keys, breaks it.
    """
    instance = read_instance(random_instance(seed, objective))
    candidates = enumerate_candidates(instance)
    dominated_by = prune(candidates, recovery_schemes(instance, "exact"))
    gone = dominated_by[dominated_by >= 0]
    rng = np.random.default_rng(seed)
    sign = -1 if objective == "cost" else 1
    for row in rng.permutation(gone.index)[:6]:
        for _ in range(4):
            plan = instance.checkpoint_plans[int(rng.integers(len(instance.checkpoint_plans)))].name
            zone = int(candidates.table.loc[row, "zone"])
            others = []
            for z, item in enumerate(instance.zones):
                rows = candidates.table.index[candidates.table["zone"] == z]
                others += [candidates.choice(int(rng.choice(rows)), 1) for _ in range(item.count - (z == zone))]
            before, after = (
                evaluate(
                    instance,
                    Decisions.model_construct(zones=(*others, candidates.choice(int(one), 1)), checkpoint_plan=plan),
                )
                for one in (row, dominated_by[row])
            )
            target_only = {limit.limit for limit in before.violated} - {"goodput_target"}
            broken = {limit.limit for limit in after.violated}
            assert broken <= target_only | ({"goodput_target"} & {limit.limit for limit in before.violated})
            left, right = objective_value(instance, before), objective_value(instance, after)
            assert left is not None
            assert right is not None
            assert sign * right >= sign * left - 1e-12 * abs(left)
