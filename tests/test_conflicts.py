"""Explanations of infeasible instances, against a table of all plans: true, minimal, and enough when typed back."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Collection, Mapping
from math import inf, isinf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spareopt
from spareopt import InfeasibleError, Instance, read_instance, solve, units
from spareopt.caps import Cap, caps_of, typed
from spareopt.cli_options import _overrides
from spareopt.conflict_text import infeasibility_text
from spareopt.conflicts import Infeasibility, explain_infeasible, read_infeasibility
from spareopt.errors import InputError, LimitError
from spareopt.limits import LimitSlack
from spareopt.settings import command
from tests.brute_force import all_decisions
from tests.random_instances import OBJECTIVES, random_instance

TOLERANCE = 2e-6  # relative; the explanation promises 1e-6

NORTH: dict[str, Any] = {"name": "north", "racks": 4, "designs": ["a"]}
SOUTH: dict[str, Any] = {"name": "south", "racks": [3, 4], "designs": ["b"]}
DESIGN: dict[str, Any] = {
    "name": "a",
    "trays_per_block": 4,
    "gpus_per_tray": 2,
    "intra_block_spares": [0, 1],
    "inter_block_spares": [0, 1],
    "rack_price": "2 M$",
    "power": {
        "gpu_full_limit": "1000 W",
        "gpu_limits": ["700 W", "1000 W"],
        "tray_other": "1 kW",
        "tray_idle": "0.8 kW",
        "rack_rest": "2 kW",
    },
}
FULL: dict[str, Any] = DESIGN | {
    "name": "b",
    "intra_block_spares": 0,
    "power": {key: value for key, value in DESIGN["power"].items() if key != "gpu_limits"},
}
SLOW: dict[str, Any] = {
    "name": "slow",
    "tray": {"hands_on": "20 h", "off_crew": "10 h"},
    "yearly_cost": "0.02 M$ per year",
}
FAST = SLOW | {"name": "fast", "tray": {"hands_on": "3 h"}, "yearly_cost": "0.2 M$ per year"}
CREWED = SLOW | {"name": "crewed", "crews": [1, 2], "crew_cost": "0.1 M$ per year"}
SHELVED = SLOW | {"name": "shelved", "shelf": [1, 3], "lead_time": "200 h", "tray_price": "0.1 M$"}
BASE: dict[str, Any] = {
    "schema_version": 1,
    "name": "two-halls",
    "zones": [NORTH, SOUTH],
    "designs": [DESIGN, FULL],
    "failures": {"tray": {"mtbf": "900 h"}, "software": {"rate": "0.4 per day"}},
    "repair_plans": [SLOW, FAST],
    "checkpoint_plans": [
        {"name": "half-hour", "period": "30 min", "save": "1 min", "detection": "1 min", "restart": "10 min"}
    ],
    "hardware_scale": {"power_curve": {"a": 0.952, "b": 2.02, "valid_from": 0.5}},
    "llm_scale": {"ring_overhead": 0.2, "reference_gpus": 8},
    "power": {"pue": 1.2, "energy_price": "0.4 $ per kWh"},
}
ONE_PLAN = {"repair_plans": [SLOW]}
SITE: dict[str, Any] = CREWED | {
    "name": "site",
    "shared_by": "site",
    "shelf": [0, 3],
    "lead_time": "100 h",
    "tray_price": "0.1 M$",
}
FEED = {"name": "feed", "spans": "site", "units": 2, "rate": "0.01 per day", "repair": {"hands_on": "9 h"}}
PROMISE = {"usable_blocks": 4, "probability": 0.9}


def limits(**values: Any) -> dict[str, Any]:
    return {f"limits.{name.replace('__', '.')}": value for name, value in values.items()}


def target(goodput: float) -> dict[str, Any]:
    return {"objective.kind": "cost", "objective.goodput_target": goodput}


CAPITAL, YEARLY, POWER, SITE_POWER = "limits.capital", "limits.yearly_cost", "limits.it_power", "limits.site_power"
FLOOR, CREWS, SHELF, AVAILABILITY = "limits.floor", "limits.crews", "limits.shelf_trays", "limits.availability"
MINIMUM, MAXIMUM, GOODPUT = "limits.working_gpus.minimum", "limits.working_gpus.maximum", "objective.goodput_target"
RACK, GROUP, PROBABILITY = "power.rack_limit", "placement_group", "zones.north.guarantee.probability"

KINDS: dict[str, tuple[dict[str, Any], list[set[str]]]] = {
    "capital": (limits(capital="10 M$", floor=8), [{CAPITAL}]),
    "yearly cost": (limits(yearly_cost="0.2 M$ per year", capital="16 M$"), [{YEARLY}]),
    "IT power": (limits(it_power="50 kW", availability=0.9), [{POWER}]),
    "site power": (limits(site_power="70 kW", working_gpus__minimum=40), [{SITE_POWER}]),
    "floor": (limits(floor=6), [{FLOOR}]),
    "too many working GPUs asked": (limits(working_gpus__minimum=70, capital="20 M$"), [{MINIMUM}]),
    "too few working GPUs allowed": (limits(working_gpus__maximum=20), [{MAXIMUM}]),
    "availability": (limits(availability=0.99999999, capital="14 M$"), [{AVAILABILITY}]),
    "goodput": (target(60) | limits(capital="14 M$"), [{GOODPUT}]),
    "rack power": ({RACK: "9 kW"} | limits(capital="14 M$"), [{RACK}]),
    "placement": ({GROUP: 18} | limits(capital="16 M$"), [{GROUP}]),
    "guarantee": (ONE_PLAN | {"zones.north.guarantee": PROMISE | {"probability": 0.99}}, [{PROBABILITY}]),
    "crews of each zone": ({"repair_plans": [CREWED]} | limits(crews=1), [{CREWS}]),
    "shelf of each zone": ({"repair_plans": [SHELVED]} | limits(shelf_trays=1, crews=2), [{SHELF}]),
    "goodput and capital": (ONE_PLAN | target(38.5) | limits(capital="14 M$"), [{GOODPUT, CAPITAL}]),
    "power and working GPUs": (limits(it_power="78 kW", working_gpus__minimum=64), [{POWER, MINIMUM}]),
    "availability and floor": (
        ONE_PLAN | limits(availability=0.95, floor=7, working_gpus__minimum=42),
        [{AVAILABILITY, MINIMUM}],
    ),
    "goodput and yearly cost": (target(50) | limits(yearly_cost="0.4 M$ per year"), [{GOODPUT, YEARLY}]),
    "crews and shelf of the site": (
        {"zones": [SOUTH | {"count": 2}], "repair_plans": [SITE]} | limits(shelf_trays=2, crews=1, availability=0.7),
        [{SHELF, AVAILABILITY}],
    ),
    "two out of reach": (limits(capital="10 M$", availability=0.999999999), [{CAPITAL}, {AVAILABILITY}]),
    "placement and working GPUs": ({GROUP: 24} | limits(working_gpus__minimum=50), [{GROUP, MINIMUM}]),
    "rack power and goodput": (
        ONE_PLAN | {"designs.b.power.gpu_limits": ["700 W", "1000 W"], RACK: "12 kW"} | target(38),
        [{RACK, GOODPUT}],
    ),
    "zones that differ": (
        {"zones.south.relative_speed": 0.8} | target(42) | limits(site_power="88 kW"),
        [{GOODPUT, SITE_POWER}],
    ),
    "three at once": (
        target(38.52) | limits(capital="14 M$", yearly_cost="0.4154 M$ per year", it_power="110 kW"),
        [{GOODPUT, CAPITAL, YEARLY}],
    ),
    "guarantee and power": (
        ONE_PLAN | {"zones.north.guarantee": PROMISE} | limits(working_gpus__minimum=60),
        [{PROBABILITY, MINIMUM}],
    ),
    "domains across zones": (
        {"failures.domains": [FEED]} | limits(availability=0.9995, it_power="90 kW"),
        [{AVAILABILITY}],
    ),
    "two conflicts": (
        ONE_PLAN | target(38.5) | limits(capital="14 M$", it_power="78 kW", working_gpus__minimum=64),
        [{CAPITAL, MINIMUM}, {POWER, GOODPUT}],
    ),
    "first-order": (target(50) | limits(yearly_cost="0.4 M$ per year"), [{GOODPUT, YEARLY}]),
}


def limit_of(cap: Cap, instance: Instance) -> str:
    """The name of a cap in an evaluation's list of limits."""
    if cap.zone is not None:
        zone = instance.zones[cap.zone]
        assert zone.guarantee is not None
        return f"guarantee of {zone.guarantee.usable_blocks} blocks in {zone.name}"
    return {"power.rack_limit": "rack_power"}.get(cap.path, cap.path.removeprefix("limits.").removeprefix("objective."))


class AllPlans:
    """What every plan of an instance comes to, by the evaluator alone: its loss and whether it holds, for each cap."""

    def __init__(self, instance: Instance, model: Any = "exact") -> None:
        self.caps = caps_of(instance)
        self.rows: list[dict[str, tuple[float, bool]]] = []
        for decisions in all_decisions(instance):
            try:
                evaluation = spareopt.evaluate(instance, decisions, model=model)
            except InputError:
                continue  # can't be built
            if evaluation.goodput > 0:
                found = {cap.path: self._of(cap, instance, evaluation.limits) for cap in self.caps}
                self.rows.append(found)

    @staticmethod
    def _of(cap: Cap, instance: Instance, slacks: tuple[LimitSlack, ...]) -> tuple[float, bool]:
        rows = [row for row in slacks if row.limit == limit_of(cap, instance)]
        # the missing part of a share keeps its digits in the slack alone
        losses = [cap.loss(row.bound) - row.slack if cap.kind == "share" else cap.loss(row.value) for row in rows]
        return max(losses, default=0.0), not any(row.violated for row in rows)

    def feasible(self, held: Collection[str]) -> bool:
        return any(all(row[path][1] for path in held) for row in self.rows)

    def least(self, path: str, held: Collection[str]) -> float:
        """The least loss of a cap's quantity with others held; infinite where no plan meets them."""
        return min((row[path][0] for row in self.rows if all(row[other][1] for other in held)), default=inf)


def check(instance: Instance, result: Infeasibility, model: Any = "exact") -> None:
    """Hold an explanation against all plans: every number, every conflict, every remedy and that none is missing."""
    plans = AllPlans(instance, model)
    caps = {cap.path: cap for cap in plans.caps}

    def same(path: str, value: float | None, held: Collection[str]) -> None:
        cap, least = caps[path], plans.least(path, held)
        if value is None:
            assert isinf(least) or cap.kind == "group", (path, held)
            return
        assert cap.loss(value) == pytest.approx(least, rel=TOLERANCE, abs=1e-15), (path, held)

    assert result.complete and not plans.feasible(caps)
    assert [row.limit for row in result.limits] == list(caps)
    for row in result.limits:
        same(row.limit, row.alone, ())
        same(row.limit, row.held, caps.keys() - {row.limit})
    for conflict in result.conflicts:
        assert not plans.feasible(conflict.limits)
        for path, best in zip(conflict.limits, conflict.best, strict=True):
            rest = set(conflict.limits) - {path}
            assert plans.feasible(rest)
            same(path, best, rest)
    taken = [path for conflict in result.conflicts for path in conflict.limits]
    assert len(taken) == len(set(taken))
    assert not result.conflicts or plans.feasible(caps.keys() - set(taken))  # every conflict that is left shares a cap

    single = [path for path in caps if plans.feasible(caps.keys() - {path})]
    assert [list(remedy.changes) for remedy in result.remedies if len(remedy.moves) == 1] == [[path] for path in single]
    if not single and result.remedies:
        (remedy,) = result.remedies
        smaller = len(remedy.moves) - 1
        assert not any(plans.feasible(caps.keys() - set(gone)) for gone in itertools.combinations(caps, smaller))


def typed_back(source: Mapping[str, Any], overrides: Mapping[str, Any], result: Infeasibility) -> list[Instance]:
    """The instance with each remedy as the command line takes it."""
    return [
        read_instance(
            source, overrides=dict(overrides) | _overrides(tuple(shlex.split(move.option)[1] for move in remedy.moves))
        )
        for remedy in result.remedies
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_explanations_of_infeasible_instances(kind: str) -> None:
    """Proves of each kind of infeasible instance that its explanation is true, minimal and readable.

    True: each number is that of the best of all plans, found by scoring each with the evaluator, so that a little less
    than a remedy is not enough; each remedy, typed back as the command line takes it, has a plan that solve finds.
    Minimal: the limits of a conflict can't be met together, but can without any one of them; no remedy is missing
    and no fewer moves are enough.  Readable: the text names every limit of the conflicts and every change to type.
    """
    overrides, expected = KINDS[kind]
    model: Any = "first-order" if kind == "first-order" else "exact"
    instance = read_instance(BASE, overrides=overrides)
    with pytest.raises(InfeasibleError):
        solve(instance, model=model)
    result = explain_infeasible(instance, model)
    assert [set(conflict.limits) for conflict in result.conflicts] == expected
    check(instance, result, model)
    assert result.remedies
    for remedy, mended in zip(result.remedies, typed_back(BASE, overrides, result), strict=True):
        assert not spareopt.evaluate(mended, remedy.plan, model=model).violated
        assert solve(mended, model=model).certificate.status == "proven"

    text = infeasibility_text(result, instance)
    assert all(len(line) <= 110 for line in text.splitlines())
    assert "None" not in text and "nan" not in text
    for remedy in result.remedies:
        assert all(move.option in text for move in remedy.moves)
    for cap in caps_of(instance):
        if any(cap.path in names for names in expected):
            assert cap.name in text.lower() or cap.name in text


INFEASIBLE = {
    "goodput": (35, 47, 55, 88, 94, 102, 108, 149, 180, 246, 284, 295, 318),
    "cost": (2, 19, 25, 31, 44, 58, 70, 72, 81, 96, 99, 115, 118, 120),
    "goodput_per_dollar": (0, 20, 98, 117, 144, 189, 200, 240, 293, 294, 306, 313, 343, 376),
}
"""Seeds of random instances with at least three limits, at most 100 plans, and none that meets every limit."""
QUICK = 1


@pytest.mark.parametrize(
    ("objective", "seed"),
    [
        pytest.param(objective, seed, marks=[pytest.mark.heavy] if place >= QUICK else [])
        for objective in OBJECTIVES
        for place, seed in enumerate(INFEASIBLE[objective])
    ],
)
def test_random_infeasible_instances(objective: str, seed: int) -> None:
    """Proves the same of random instances: other designs, fault domains, several zones and every objective."""
    data = random_instance(seed, objective)
    instance = read_instance(data)
    result = explain_infeasible(instance)
    check(instance, result)
    for remedy, mended in zip(result.remedies, typed_back(data, {}, result), strict=True):
        assert not spareopt.evaluate(mended, remedy.plan).violated
        assert solve(mended).certificate.status == "proven"


def test_what_no_limit_can_mend_is_said_by_zone_and_rule() -> None:
    """Proves that where building rules leave a zone nothing, its name, the rule and the number left out are said."""
    groups = {"replicas": {"groups_per_zone": 5, "stall": "1 min", "rejoin": "10 min"}}
    instance = read_instance(BASE, overrides={"checkpoint_plans": [{"name": "groups"} | groups]})
    with pytest.raises(InfeasibleError, match="not in whole replica groups"):
        solve(instance)
    result = explain_infeasible(instance)
    assert (result.conflicts, result.remedies) == ((), ())
    reason = "working blocks not in whole replica groups"
    assert result.unbuildable == {"north": {reason: 16}, "south": {reason: 8}}  # all that NORTH and SOUTH offer
    text = infeasibility_text(result, instance)
    assert f"- 16: {reason}" in text and "No limit moved helps" in text


def test_rates_at_which_nothing_works_are_no_limits_fault() -> None:
    """Proves that where no plan does any work at all the fault rates are named, not a limit."""
    instance = read_instance(BASE, overrides={"failures.tray.mtbf": "0.01 h", "limits.capital": "20 M$"})
    result = explain_infeasible(instance)
    assert result.useless and not result.conflicts
    assert "check failures" in infeasibility_text(result, instance)


def test_a_feasible_instance_is_refused() -> None:
    """Proves that an instance that has a plan is not explained away, and that no time at all gives no explanation."""
    with pytest.raises(InputError, match="has a plan that meets every limit"):
        explain_infeasible(read_instance(BASE, overrides=limits(capital="20 M$")))
    hard = read_instance(BASE, overrides=limits(capital="14 M$", working_gpus__minimum=60))
    with pytest.raises(LimitError):
        explain_infeasible(hard, time_limit=1e-9)


def test_explanations_are_read_back_and_their_bytes_the_same(tmp_path: Path) -> None:
    """Proves that the JSON reads back to an equal explanation, is the same in a second run, and that a file that is
    none is refused by name."""
    instance = read_instance(BASE, overrides=KINDS["power and working GPUs"][0])
    first = explain_infeasible(instance)
    file = tmp_path / "why.json"
    file.write_text(first.to_json(), encoding="utf-8")
    assert read_infeasibility(file) == first
    assert explain_infeasible(instance).to_json() == first.to_json()
    for text in ("{}", "no json"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"why\.json: is not an explanation"):
            read_infeasibility(file)
    with pytest.raises(InputError, match="can't be read"):
        read_infeasibility(tmp_path / "absent.json")


@given(
    kind=st.sampled_from(["money", "money per year", "power", "goodput", "share"]),
    least=st.booleans(),
    number=st.floats(1e-9, 1e12),
    share=st.floats(1e-15, 1 - 1e-9),
)
def test_values_are_rounded_to_the_safe_side(kind: Any, least: bool, number: float, share: float) -> None:
    """Proves that a value as typed, read back, is never short of what is needed, and off by at most 1 in 1,000 of it
    (of the missing part of a share): else a plan said to exist would not, or far too much would be asked."""
    sense: Any = ">=" if kind in ("goodput", "share") or least else "<="
    cap = Cap("limits.any", "any", "any", sense, kind, 0.5, "EUR")
    need = share if kind == "share" else cap.loss(number)
    written = typed(cap, need)
    known = {"money": units.MONEY, "money per year": units.MONEY_PER_YEAR, "power": units.POWER}.get(kind)
    value = units.parse(written, known, "EUR") if known else float(written)
    loss = cap.loss(value)
    assert loss >= need - 1e-12 * abs(need) - 1.2e-16
    part = 1.0 if kind == "goodput" else 0.0  # whole GPUs, where there are many
    most = max(min(abs(need), 1 - need if kind == "share" else inf) * 1.1e-2 * (kind == "share"), abs(need) * 1.1e-3)
    assert loss <= need + most + part * (number > 1000) + 1.2e-16


def test_a_command_names_each_path_once() -> None:
    """Proves that a change of what was set already takes its place: given twice, a path is refused."""
    typed_so = "gb200-4x256 --scenario two --set 'limits.capital=3 G$' --set zones.main.racks=4"
    assert command(typed_so, {"limits.capital": "3.5 G$", "placement_group": None}) == (
        'gb200-4x256 --scenario two --set zones.main.racks=4 --set limits.capital="3.5 G$" --set placement_group=null'
    )
    assert command("x", {"zones.hall 1.guarantee.probability": 0.5}) == (
        'x --set "zones.hall 1.guarantee.probability"=0.5'
    )
