"""What only the simulator carries is read, kept, named with each score, and changes no number of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from spareopt import cli, plan_text
from spareopt.decisions import Decisions, ZoneChoice
from spareopt.departures import departures
from spareopt.errors import InputError
from spareopt.evaluation import Evaluation, evaluate
from spareopt.instance import Instance
from spareopt.lifetimes import Lifetime
from spareopt.listings import topology_text
from spareopt.optimise import solve
from spareopt.reading import read_instance
from spareopt.schemes import Model
from spareopt.topology import ZoneLayout, build_topology

TRAY = {"mtbf": "2000 h"}
RACK = {"mtbf": "9000 h"}
PLAN = {"name": "plain", "period": "best", "save": "10 s", "detection": "60 s", "restart": "5 min"}
STANDBY = PLAN | {"name": "warm", "standbys": {"warm": 1, "selection": "10 min"}}
BURST = {"name": "surge", "rate": "3 per year", "racks": 2, "share": 0.5}
STATED: list[tuple[str, Any, str]] = [
    ("tray.lifetime", {"law": "weibull", "shape": 0.7}, "failures.tray.lifetime (Weibull, shape 0.7)"),
    ("tray.lifetime", {"law": "lognormal", "variation": 1.5}, "failures.tray.lifetime (lognormal, variation 1.5)"),
    (
        "tray.lemons",
        {"share": 0.07, "multiple": 10},
        "failures.tray.lemons (7 % of the units fail 10 times as often)",
    ),
    (
        "tray.burn_in",
        {"duration": "30 days", "multiple": 2.5},
        "failures.tray.burn_in (2.5 times as fast in the first 30 d)",
    ),
    (
        "tray.silent",
        {"share": 0.005, "found_after": "2 h"},
        "failures.tray.silent (0.5 % of the faults, found after 2 h)",
    ),
    ("rack.lifetime", {"law": "weibull", "shape": 3}, "failures.rack.lifetime (Weibull, shape 3)"),
    ("bursts", [BURST], "failures.bursts.surge (2 racks, 50 % of their trays)"),
]
"""Path below ``failures``, value, and the name that must be given to it."""
NAMES = [name for *_, name in STATED]


def instance_of(*stated: tuple[str, Any, str], plans: tuple[dict[str, Any], ...] = (PLAN, STANDBY)) -> Instance:
    """A small cluster of twelve racks that states what is asked."""
    failures: dict[str, Any] = {"tray": TRAY, "rack": RACK}
    for path, value, _ in stated:
        kind, _, field = path.partition(".")
        failures[kind] = failures[kind] | {field: value} if field else value
    data = {
        "schema_version": 1,
        "name": "small",
        "zones": [{"name": "hall", "racks": 12}],
        "designs": [
            {
                "name": "rack",
                "trays_per_block": 8,
                "gpus_per_tray": 4,
                "intra_block_spares": [0, 1],
                "inter_block_spares": [0, 1, 2],
            }
        ],
        "failures": failures,
        "repair_plans": [{"name": "day", "tray": {"hands_on": "8 h"}, "rack": {"hands_on": "20 h"}}],
        "checkpoint_plans": list(plans),
    }
    return read_instance(data)


def scored(instance: Instance, checkpoint_plan: str = "plain", model: Model = "exact") -> Evaluation:
    """The score of one plan: a spare tray in each block, and a spare block."""
    choice = ZoneChoice(
        zone="hall",
        count=1,
        design="rack",
        racks=12,
        intra_block_spares=1,
        inter_block_spares=1,
        repair_plan="day",
        gpu_limit=None,
    )
    return evaluate(instance, Decisions(zones=(choice,), checkpoint_plan=checkpoint_plan), model=model)


def numbers(evaluation: Evaluation) -> dict[str, Any]:
    """All of an evaluation but its words."""
    return evaluation.model_dump(exclude={"method"})


@pytest.mark.parametrize("stated", STATED, ids=NAMES)
def test_reads_back(stated: tuple[str, Any, str]) -> None:
    """Proves that each field survives being written as plain data and JSON text, and makes another problem."""
    instance = instance_of(stated)
    for text in (instance.resolved(), json.loads(json.dumps(instance.resolved()))):
        assert read_instance(text) == instance
    assert instance != instance_of() and instance.input_hash() != instance_of().input_hash()


def test_standbys_read_back() -> None:
    """Proves the same of warm standbys, in the units they are held in."""
    instance = instance_of()
    assert read_instance(instance.resolved()) == instance
    standbys = instance.checkpoint_plans[1].standbys
    assert standbys is not None and (standbys.warm, standbys.selection) == (1, pytest.approx(10 / 60))
    assert instance.input_hash() != instance_of(plans=(PLAN, PLAN | {"name": "warm"})).input_hash()


def test_nothing_stated_nothing_named() -> None:
    """Proves that an instance without these fields, or with an exponential law in any words, is simply exact."""
    for law in [None, {"law": "exponential"}, {"law": "weibull", "shape": 1}]:
        instance = instance_of(*((f"{kind}.lifetime", law, "") for kind in ("tray", "rack") if law))
        assert departures(instance, instance.checkpoint_plans[0]) == []
        method = scored(instance).method
        assert "left_out" not in method and method["goodput"] == "exact"


@pytest.mark.parametrize("model", ["exact", "first-order"])
@pytest.mark.parametrize("stated", STATED, ids=NAMES)
def test_named_and_no_number_changed(stated: tuple[str, Any, str], model: Model) -> None:
    """Proves that a score without the field has the same numbers, and that with it no number is called exact."""
    with_it, without = scored(instance_of(stated), model=model), scored(instance_of(), model=model)
    assert numbers(with_it) == numbers(without)
    words = f"approximation, as if not stated: {stated[2]}; spareopt simulate carries this"
    assert with_it.method["left_out"] == words
    assert "exact" not in with_it.method.values()
    assert "left_out" not in without.method


def test_all_are_named_in_their_order() -> None:
    """Proves that several departures are all named, each once, in the order of the file format."""
    asked = [STATED[i] for i in (6, 4, 5, 3, 2, 0)]
    instance = instance_of(*asked)
    order = [NAMES[i] for i in (0, 2, 3, 4, 5, 6)]
    assert departures(instance, None) == order
    warm = "checkpoint_plans.warm.standbys (1 warm, selection 10 min)"
    assert departures(instance, instance.checkpoint_plans[1]) == [*order, warm]
    assert numbers(scored(instance)) == numbers(scored(instance_of()))


def test_standbys_only_of_the_plan_taken() -> None:
    """Proves that standbys are named with the checkpoint plan that has them and not with another one on offer."""
    instance = instance_of()
    assert "left_out" not in scored(instance, "plain").method
    warm = scored(instance, "warm")
    assert "checkpoint_plans.warm.standbys (1 warm, selection 10 min)" in warm.method["left_out"]
    assert numbers(warm) == numbers(scored(instance, "plain"))


def test_solve_and_evaluate_print_what_is_left_out(tmp_path: Any) -> None:
    """Proves that the text of a plan and of a planner's own plan both name the field, on lines of the method."""
    file, folder = tmp_path / "small.yaml", tmp_path / "plan"
    instance = instance_of(STATED[0], STATED[6], plans=(STANDBY,))
    file.write_text(json.dumps(instance.resolved()), encoding="utf-8")
    plan = solve(instance)
    assert plan.decisions == solve(instance_of(plans=(STANDBY,))).decisions
    run = CliRunner().invoke
    texts = [plan_text.plan_text(plan, instance), run(cli.main, ["solve", str(file), "-o", str(folder)]).stdout]
    texts.append(run(cli.main, ["evaluate", str(file), "--plan", str(folder), "--no-optimum"]).stdout)
    for text in texts:
        words = " ".join(text.split())
        assert (
            "Method: left out: approximation, as if not stated: failures.tray.lifetime (Weibull, shape 0.7);" in words
        )
        assert "failures.bursts.surge (2 racks, 50 % of their trays);" in words
        assert "checkpoint_plans.warm.standbys (1 warm, selection 10 min); spareopt simulate carries this." in words


def test_show_says_that_bursts_are_not_in_the_tree() -> None:
    """Proves that the tree's count of faults, which knows no bursts, says so with their rate: 3 a year per day."""
    with_burst, without = instance_of(STATED[6]), instance_of()
    layouts = [ZoneLayout("hall", 1, without.designs[0], 12)]
    text = topology_text(build_topology(with_burst, layouts), with_burst)
    assert f"Not counted are bursts: surge, {3 / 365.25:.4g} per day." in text
    assert "bursts" not in topology_text(build_topology(without, layouts), without)


def test_multiples_of_rates_and_fields() -> None:
    """Proves that overrides multiply the rate beside a law, the numbers of a law, and a burst's by its name."""
    base = instance_of(STATED[0], STATED[6])
    overrides = {"failures.tray.rate": "2x", "failures.tray.lifetime.shape": "0.5x", "failures.bursts.surge.mtbf": "2x"}
    failures = read_instance(base.resolved(), overrides=overrides).failures
    assert failures.tray.per_hour == pytest.approx(2 / 2000)
    assert failures.tray.lifetime == Lifetime(law="weibull", shape=0.35)
    assert failures.bursts[0].per_hour == pytest.approx(1.5 / 8766)
    assert read_instance(base.resolved(), overrides={"failures.bursts.surge": None}).failures.bursts == ()


def test_bursts_fit_the_smallest_zone() -> None:
    """Proves that the bound on a burst's racks is the fewest of any zone: one more is refused, so many are not."""
    zones = [{"name": "hall", "racks": 12}, {"name": "annex", "racks": {"from": 2, "to": 9}}]
    data = instance_of(STATED[6]).resolved() | {"zones": zones}
    assert read_instance(data).failures.bursts[0].racks == 2
    with pytest.raises(InputError, match=r"fewest racks of a zone \(2\), got 3"):
        read_instance(data, overrides={"failures.bursts.surge.racks": 3})
