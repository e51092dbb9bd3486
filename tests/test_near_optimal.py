"""Near-optimal plans: complete within the share asked, against brute force by the evaluator alone."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import spareopt
from spareopt.comparison import objective_value
from spareopt.decided import offered_values
from spareopt.decisions import DECISION_FIELDS, Decisions
from spareopt.errors import InfeasibleError, InputError
from spareopt.evaluation import evaluate
from spareopt.instance import Instance
from spareopt.near import near_optimal
from spareopt.near_result import NearOptimal
from tests.brute_force import all_decisions, number_of_plans, zone_choices
from tests.coupled_instances import KINDS, coupled_instance
from tests.random_instances import OBJECTIVES, random_instance

Key = tuple[str, frozenset[tuple[tuple[object, ...], int]]]


def key(instance: Instance, decisions: Decisions) -> Key:
    """A plan up to the order in which its zones are listed; a full GPU limit may be written or left out."""
    full = {d.name: None if d.power is None else d.power.gpu_full_limit for d in instance.designs}
    counts: Counter[tuple[object, ...]] = Counter()
    for choice in decisions.zones:
        limit = full[choice.design] if choice.gpu_limit is None else choice.gpu_limit
        own = tuple(getattr(choice, field) for field in DECISION_FIELDS if field != "gpu_limit")
        counts[choice.zone, *own, None if limit is None else round(limit, 9)] += choice.count
    return decisions.checkpoint_plan, frozenset(counts.items())


def alike(instance: Instance) -> Iterator[Decisions]:
    """Every plan that builds all zones of a class alike."""
    per_class = [
        [choice.model_copy(update={"count": zone.count}) for choice in zone_choices(instance, zone)]
        for zone in instance.zones
    ]
    for zones in itertools.product(*per_class):
        for plan in instance.checkpoint_plans:
            yield Decisions.model_construct(zones=zones, checkpoint_plan=plan.name)


def scored(instance: Instance, plans: Iterator[Decisions]) -> list[tuple[float, Decisions]]:
    """The objective of all plans that can be built and meet every limit."""
    result = []
    for decisions in plans:
        try:
            evaluation = evaluate(instance, decisions)
        except InputError:
            continue
        value = objective_value(instance, evaluation)
        if not evaluation.violated and value:
            result.append((value, decisions))
    return result


def worse(instance: Instance, value: float, best: float) -> float:
    """By what share a value is worse than the best."""
    return value / best - 1 if instance.objective.kind == "cost" else 1 - value / best


def check(instance: Instance, near: NearOptimal, plans: list[tuple[float, Decisions]]) -> None:
    """Hold a result against every plan that there is."""
    sign = -1 if instance.objective.kind == "cost" else 1
    best = max(plans, key=lambda plan: sign * plan[0])[0]
    assert near.best_value == pytest.approx(best, rel=1e-9)
    expected = {key(instance, d) for value, d in plans if worse(instance, value, best) <= near.within + 1e-11}
    assert {key(instance, plan.decisions) for plan in near.plans} == expected
    assert len(near.plans) == len(expected) == near.number and near.complete
    values = [sign * plan.value for plan in near.plans]
    assert values == sorted(values, reverse=True)
    for found in near.ranges:
        if found.zone:
            within = [d for d in expected_plans(instance, plans, best, near.within)]
            taken = {decided for d in within for decided in values_in(instance, d, found.zone, found.decision)}
        else:
            taken = {d.checkpoint_plan for d in expected_plans(instance, plans, best, near.within)}
        assert set(found.values) == taken, found


def expected_plans(
    instance: Instance, plans: list[tuple[float, Decisions]], best: float, share: float
) -> list[Decisions]:
    return [d for value, d in plans if worse(instance, value, best) <= share + 1e-11]


def values_in(instance: Instance, decisions: Decisions, zone: str, decision: str) -> set[Any]:
    offered = offered_values(instance, decision, zone)
    taken = {getattr(choice, decision) for choice in decisions.zones if choice.zone == zone}
    full = set(offered[-1:]) if None in taken and decision == "gpu_limit" else set()
    return {value for value in offered if value in taken} | full


def small(seed: int, objective: str, most: int) -> Instance | None:
    """A random instance with at most so many plans, or None."""
    instance = spareopt.read_instance(random_instance(seed, objective))
    return instance if number_of_plans(instance) <= most else None


def compare_all(instance: Instance, share: float) -> bool:
    """Both kinds of enumeration against brute force; whether there was a plan."""
    for both, plans in ((True, alike(instance)), (False, all_decisions(instance))):
        every = scored(instance, plans)
        if not every:
            with pytest.raises(InfeasibleError):
                near_optimal(instance, share, alike=both)
            return False
        near = near_optimal(instance, share, alike=both, most=100_000)
        check(instance, near, every)
        if both:
            check_profile(instance, near, every)
    return True


def check_profile(instance: Instance, near: NearOptimal, plans: list[tuple[float, Decisions]]) -> None:
    """The best plan with each value of each decision, and with each pair of I and R, is the best of brute force."""
    pick = min if instance.objective.kind == "cost" else max
    for row in (*near.best_with, *near.grid):
        fits = [
            value
            for value, d in plans
            if (not row.zone and [d.checkpoint_plan] == list(row.decisions.values()))
            or any(
                c.zone == row.zone
                and all(
                    getattr(c, k) == v or (k == "gpu_limit" and (c.gpu_limit or v) == v)
                    for k, v in row.decisions.items()
                )
                for c in d.zones
            )
        ]
        assert (row.value is None) == (not fits), row
        if row.value is not None:
            assert row.value == pytest.approx(pick(fits), rel=1e-9)
            assert row.plan is not None
            assert objective_value(instance, evaluate(instance, row.plan)) == pytest.approx(row.value, rel=1e-9)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_random_instances_against_brute_force(objective: str) -> None:
    """Proves on small clusters with limits of all kinds and several zone classes that nothing near is left out.

    The listed plans, their order, the values of each decision within the share and the best plan with each value are
    those of scoring every plan by the evaluator: alike, and each zone its own way.
    """
    done = 0
    for seed in range(40):
        instance = small(seed, objective, 300)
        if instance is not None and compare_all(instance, 0.03):
            done += 1
        if done == 2:
            return
    raise AssertionError("too few instances were small enough")


@pytest.mark.heavy
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("share", [0.002, 0.05])
def test_many_random_instances_against_brute_force(objective: str, share: float) -> None:
    """As above, on many more and larger clusters."""
    done = 0
    for seed in range(100, 190):
        instance = small(seed, objective, 6000)
        done += instance is not None and compare_all(instance, share)
    assert done > 15


COUPLED = ("across", "shrink")


@pytest.mark.parametrize("kind", COUPLED)
def test_coupled_zones_against_brute_force(kind: str) -> None:
    """Proves the same where zones share crews or fault domains, rates are uncertain, or groups shrink."""
    for seed in range(40):
        instance = spareopt.read_instance(coupled_instance(kind, seed, OBJECTIVES[seed % 3]))
        if number_of_plans(instance) <= 100 and compare_all(instance, 0.05):
            return
    raise AssertionError("no instance was small enough")


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_all_couplings_against_brute_force(kind: str) -> None:
    """As above, for everything that couples zones or makes repair a choice, on several instances each."""
    done = 0
    for seed in range(12):
        instance = spareopt.read_instance(coupled_instance(kind, seed, OBJECTIVES[seed % 3]))
        done += number_of_plans(instance) <= 600 and compare_all(instance, 0.05)
    assert done
