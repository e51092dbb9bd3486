"""What zones share, enumerated level by level: hopeless levels, time limits, few plans, costs of groups that shrink."""

from __future__ import annotations

import math
from typing import Any

import pytest

from spareopt import Evaluation, InputError, LimitError, evaluate, read_decisions, read_instance, solve
from spareopt.candidates import enumerate_candidates
from spareopt.clock import Clock
from spareopt.decisions import shelves_too_small
from spareopt.dominance import prune
from spareopt.levels import level_instances
from spareopt.problem import build_problem
from spareopt.relaxation import Refinement, trivial_bound
from spareopt.schemes import recovery_schemes
from spareopt.search import Search
from tests.brute_force import best_value

REPAIR = {"name": "r", "tray": {"hands_on": "4 h"}}


def site(**changes: Any) -> dict[str, Any]:
    """Two zones of 6 racks of 4 trays, repaired in 4 h."""
    return {
        "schema_version": 1,
        "name": "levels",
        "zones": [{"name": "z", "count": 2, "racks": 6}],
        "designs": [
            {
                "name": "d", "trays_per_block": 4, "gpus_per_tray": 4, "intra_block_spares": [0, 1],
                "inter_block_spares": [0, 1, 2], "rack_price": "1 M$",
            }
        ],
        "failures": {"tray": {"mtbf": "200 h"}},
        "repair_plans": [REPAIR],
        "checkpoint_plans": [
            {"name": "c", "period": "best", "save": "1 min", "detection": "1 min", "restart": "5 min"}
        ],
    } | changes  # fmt: skip


def test_every_level_fixes_what_zones_share() -> None:
    """Proves the levels: one of all plans of the zones' own, and one for each number of shared crews and trays.

    Levels beyond the site's seats are left out.
    """
    shared = REPAIR | {"name": "s", "crews": [1, 2, 5], "shelf": [0, 3], "lead_time": "9 h", "shared_by": "site"}
    instance = read_instance(site(repair_plans=[REPAIR, shared], limits={"crews": 2}))
    plans = [[(p.name, p.crews, p.shelf) for p in level.repair_plans] for level in level_instances(instance)]
    assert plans == [[("r", None, None)]] + [[("s", (c,), (s,))] for c in (1, 2) for s in (0, 3)]


def test_hopeless_crews_do_not_spoil_the_others() -> None:
    """Proves that a choice whose crews are overloaded beyond what can be computed is left out, not the instance."""
    repair = {"name": "r", "tray": {"hands_on": "2 h"}, "rack": {"hands_on": "5 h"}, "shared_by": "site"}
    failures = {"tray": {"rate": "1.5e-3 per day"}, "rack": {"rate": "5.4e-3 per day"}}
    data = site(zones=[{"name": "z", "count": 8, "racks": 256}], failures=failures)
    data["designs"][0] |= {"trays_per_block": 18, "inter_block_spares": [0, 4, 8]}
    both, enough = (solve(read_instance(data | {"repair_plans": [repair | {"crews": c}]})) for c in ([1, 40], [40]))
    assert both.decisions == enough.decisions
    assert both.certificate.status == "proven"


def test_few_plans_are_all_scored_where_the_bound_does_not_close() -> None:
    """Proves that racks open to choice, with crews of the site, end in a proof: the bound leaves a gap of 25 %."""
    plans = [REPAIR | {"crews": [1, 2], "shared_by": "site"}]
    data = site(
        zones=[{"name": "z", "racks": [6, 8]}, {"name": "y", "racks": [6, 8]}], repair_plans=plans,
        failures={"tray": {"mtbf": "100 h"}},
    )  # fmt: skip
    instance = read_instance(data)
    certificate = solve(instance).certificate
    assert certificate.status == "proven"
    assert certificate.value == pytest.approx(best_value(instance), rel=1e-12)


def test_a_time_limit_ends_the_levels_with_a_true_bound() -> None:
    """Proves that levels that were not reached are bounded all the same: no plan of theirs can beat the bound."""
    plans = [REPAIR | {"crews": {"from": 1, "to": 40}, "shelf": {"from": 0, "to": 40}, "lead_time": "30 h"}]
    plans[0] |= {"shared_by": "site", "tray_price": "0.01 M$", "crew_cost": "0.01 M$ per year"}
    for kind in ("goodput", "goodput_per_dollar", "cost"):
        goal = {"kind": kind} | ({"goodput_target": 60.0} if kind == "cost" else {})
        instance = read_instance(site(repair_plans=plans, objective=goal))
        try:
            certificate = solve(instance, time_limit=0.5).certificate
        except LimitError:
            continue
        assert certificate.status == "limit reached"
        assert math.isfinite(certificate.gap)
        one = read_instance(site(repair_plans=[plans[0] | {"crews": 3, "shelf": 10}], objective=goal))
        best = solve(one).certificate.value
        assert certificate.bound <= best if kind == "cost" else certificate.bound >= best


def test_cost_of_groups_that_shrink_is_each_zones_own() -> None:
    """Proves the least cost with groups that shrink: a zone draws working power for the share of its groups that run.

    With the site's mean share instead, a candidate that is better in a mixed plan would be pruned as worse.
    """
    groups = {"groups_per_zone": 3, "stall": "60 s", "rejoin": "1 h", "when_short": "shrink"}
    data = site(
        zones=[{"name": "z", "count": 3, "racks": 6}], failures={"tray": {"mtbf": "50 h"}},
        power={"energy_price": "0.5 $ per kWh"}, checkpoint_plans=[{"name": "c", "replicas": groups}],
        repair_plans=[REPAIR | {"tray": {"hands_on": "6 h"}}], objective={"kind": "cost", "goodput_target": 40.0},
    )  # fmt: skip
    power = {"gpu_full_limit": "1000 W", "tray_other": "1 kW", "tray_idle": "0.5 kW"}
    data["designs"][0] |= {"trays_per_block": 2, "inter_block_spares": 0, "power": power}
    instance = read_instance(data)
    plan = solve(instance)
    assert plan.certificate.status == "proven"
    assert plan.certificate.value == pytest.approx(best_value(instance), rel=1e-12)
    assert evaluate(instance, plan.decisions) == plan.evaluation


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"failures": {"tray": {"mtbf": "9 h"}, "uncertainty": {"variance": 1}, "domains": ["feeds"]}},
         "failures.domains.0.feeds", "not supported with failures.uncertainty"),
        ({"failures": {"tray": {"mtbf": "9 h"}, "uncertainty": {"variance": 1}}, "repair_plans": ["stops"]},
         "repair_plans.0.swap_stop", "not supported with failures.uncertainty"),
        ({"zones": [{"name": "z", "racks": 6, "guarantee": {"usable_blocks": 7, "probability": 0.9}}]},
         "zones.0.guarantee.usable_blocks", "at most the blocks of the zone (6), got 7"),
        ({"failures": {"tray": {"mtbf": "9 h"}, "domains": ["units"]}},
         "failures.domains", "no number of racks of zone 'z' is divided evenly"),
        ({"checkpoint_plans": ["overlap"]}, "checkpoint_plans.0.period", "the work done while a save is written"),
        ({"repair_plans": ["shelf"]}, "repair_plans.0.shelf", "at most 100,000 trays"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], field: str, words: str) -> None:
    """Proves that what no model here carries is refused at once, by the field at fault, and not scored by a guess."""
    domain = {"name": "x", "spans": "site", "mtbf": "99 h", "repair": {"hands_on": "1 h"}}
    known: dict[str, Any] = {
        "feeds": domain | {"feeds": {"number": 2, "needed": 1}},
        "units": domain | {"units": 5},
        "stops": REPAIR | {"swap_stop": "1 h"},
        "shelf": REPAIR | {"shelf": 10**9, "lead_time": "9 h"},
        "overlap": {
            "name": "c", "period": "30 s", "save": "60 s", "detection": "60 s", "restart": "10 min",
            "overlap": {"snapshot": "1 s", "slowdown": 0.1},
        },
    }  # fmt: skip

    def spelled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: spelled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [known.get(item, item) if isinstance(item, str) else spelled(item) for item in value]
        return value

    with pytest.raises(InputError) as error:
        read_instance(site(**spelled(changes)))
    assert [fault.field for fault in error.value.faults] == [field]
    assert words in str(error.value)


def test_a_level_whose_bound_is_below_what_is_known_is_closed_at_once() -> None:
    """Proves that a search for better plans than a known one ends without a solve where its own bound is lower.

    A gap taken as a distance only would never close: the bound falls further below with each cut.
    """
    instance = read_instance(site())
    candidates = enumerate_candidates(instance)
    schemes = recovery_schemes(instance, "exact")
    problem = build_problem(candidates, prune(candidates, schemes), schemes)
    known = trivial_bound(problem) + 0.1
    search = Search(problem, 1e-4, 0, Refinement.initial(problem, False), Clock(), lambda _: None, known)
    search.run()
    assert (search.status, search.rounds, search.bound) == ("proven", 0, known)


@pytest.mark.parametrize(
    ("shared_by", "on_order"), [("zone", "36 trays of each zone"), ("site", "72 trays of the site")]
)
def test_a_shelf_that_is_nearly_always_empty_is_named(shared_by: str, on_order: str) -> None:
    """Proves the warning that no shelf offered holds what is on order: 24 trays a zone / 200 h × 300 h = 36.

    Without it a range too small decides silently that a shelf does not pay.
    """
    plan = REPAIR | {"shelf": [0, 30], "lead_time": "300 h", "shared_by": shared_by}
    notes = shelves_too_small(read_instance(site(repair_plans=[plan])))
    assert len(notes) == 1 and on_order in notes[0] and "(30)" in notes[0]
    assert not shelves_too_small(read_instance(site(repair_plans=[plan | {"shelf": [0, 80]}])))


def test_the_plan_says_how_often_to_save_to_storage() -> None:
    """Proves that the number of saves for one to storage is stated, and the best of all numbers where it is chosen.

    Checked by the efficiency of every given number: without it a two-level plan could not be carried out.
    """
    memory = {"save": "2 s", "restart": "1 min", "share": 0.8}
    scheme = {"name": "c", "period": "best", "save": "1 min", "detection": "1 min", "restart": "9 min"}
    plan = {"zone": "z", "count": 2, "design": "d", "racks": 6, "intra_block_spares": 1, "inter_block_spares": 1}
    mine = read_decisions({"zones": [plan | {"repair_plan": "r"}], "checkpoint_plan": "c"})

    def scored(**given: int) -> Evaluation:
        return evaluate(read_instance(site(checkpoint_plans=[scheme | {"memory": memory | given}])), mine)

    by_number = {n: scored(storage_every=n).recovery_efficiency for n in range(1, 40)}
    assert scored(storage_every=7).storage_every == 7
    best = scored()
    assert best.storage_every == max(by_number, key=lambda n: by_number[n])
    assert best.recovery_efficiency == pytest.approx(max(by_number.values()), rel=1e-9)
    assert evaluate(read_instance(site()), mine).storage_every is None
