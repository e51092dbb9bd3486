"""The certificate against brute force over all decisions, for every objective, on random small instances."""

from __future__ import annotations

import pytest

from spareopt import InfeasibleError, read_instance, search, solve
from spareopt.instance import Instance
from tests.brute_force import best_value, number_of_plans
from tests.random_instances import OBJECTIVES, random_instance

MOST_PLANS = 350
QUICK, ALL = 16, 200  # instances per objective; the rest of the 200 run in the second tier
CASES = [
    pytest.param(objective, number, marks=[pytest.mark.heavy] if number >= QUICK else [])
    for objective in OBJECTIVES
    for number in range(ALL)
]


def small_instance(objective: str, number: int) -> Instance:
    """The ``number``-th random instance of an objective with few enough plans; every second one has several zones."""
    for attempt in range(1000):
        instance = read_instance(random_instance(1000 * number + attempt, objective))
        several = sum(zone.count for zone in instance.zones) > 1
        if number_of_plans(instance) <= MOST_PLANS and (several or number % 2):
            return instance
    raise AssertionError("no small instance found")


@pytest.mark.parametrize(("objective", "number"), CASES)
def test_certificate_holds_against_brute_force(objective: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that the plan is within the gap of the best of all plans, and that the bound is on the right side.

    Asked for gap 0, the value is the brute-force optimum to 1e-12.  The same from the coarsest relaxation, and with
    candidates screened by reduced costs down to a handful.  If an over-estimate were not one, if pruning or screening
    lost a plan, or a limit were read differently by the MILP and the evaluator, the value would fall short or the
    bound would cut the optimum off.
    """
    instance = small_instance(objective, number)
    best = best_value(instance)
    for gap, coarse, few in ((1e-4, False, 300), (1e-2, True, 300), (0.0, True, 3), (0.0, False, 300)):
        monkeypatch.setattr(search, "FEW_CANDIDATES", few)
        if best is None:
            with pytest.raises(InfeasibleError):
                solve(instance, gap=gap, coarse=coarse)
            continue
        certificate = solve(instance, gap=gap, coarse=coarse).certificate
        assert certificate.status == "proven"
        assert certificate.gap <= gap
        rounding = 1e-12 * abs(best)
        if certificate.sense == "maximise":
            assert certificate.value <= best + rounding
            assert certificate.bound >= best - rounding
        else:
            assert certificate.value >= best - rounding
            assert certificate.bound <= best + rounding
        assert abs(certificate.value - best) <= gap * abs(best) + rounding
