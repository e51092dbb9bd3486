"""Every number of an evaluation against arithmetic done by hand, direct searches and published values."""

from __future__ import annotations

import copy
import json
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spareopt.candidates import Model
from spareopt.decisions import Decisions, ZoneChoice, read_decisions
from spareopt.errors import InputError
from spareopt.evaluation import Evaluation, evaluate
from spareopt.instance import Instance
from spareopt.losses import LOSSES
from spareopt.reading import read_instance
from spareopt.scaling import concave_envelope, envelope_rise

HAND: dict[str, Any] = {
    "schema_version": 1,
    "name": "by-hand",
    "zones": [{"name": "hall", "racks": 4}],
    "designs": [
        {
            "name": "node",
            "trays_per_block": 3,
            "gpus_per_tray": 2,
            "intra_block_spares": [0, 1],
            "inter_block_spares": [0, 1],
            "rack_price": "1.2 M$",
            "power": {
                "gpu_full_limit": "1000 W",
                "gpu_limits": ["800 W", "1000 W"],
                "tray_other": "1 kW",
                "tray_idle": "0.5 kW",
                "rack_rest": "2 kW",
            },
        }
    ],
    "failures": {"tray": {"mtbf": "90 h"}, "rack": {"mtbf": "190 h"}, "software": {"mtbf": "100 h"}},
    "repair_plans": [
        {"name": "r", "tray": {"hands_on": "4 h", "off_crew": "6 h"}, "rack": {"hands_on": "10 h"},
         "yearly_cost": "0.3 M$ per year"},
    ],
    "checkpoint_plans": [
        {"name": "c", "period": "2 h", "save": "15 min", "detection": "6 min", "restart": "24 min",
         "yearly_cost": "0.1 M$ per year"},
        {"name": "best", "period": "best", "save": "15 min", "detection": "6 min", "restart": "24 min"},
    ],
    "hardware_scale": {"power_curve": {"a": 1.0, "b": 2.0, "valid_from": 0.5}},
    "llm_scale": {"ring_overhead": 0.25, "reference_gpus": 6},
    "power": {"pue": 1.25, "rack_limit": "8 kW", "energy_price": "0.1 $ per kWh", "grid_intensity": "400 g per kWh"},
    "economics": {"site_capital": "10 M$ per MW", "amortisation": "4 years"},
    "limits": {"capital": "5 M$", "floor": 4, "availability": 0.97, "site_power": "30 kW"},
    "job": {"useful_gpu_hours": 8766.0},
}  # fmt: skip
YEAR = 8766.0
MODELS: tuple[Model, ...] = ("exact", "first-order")


def hand(**changes: Any) -> Instance:
    """The instance above with whole fields changed (None: taken out)."""
    data = copy.deepcopy(HAND) | changes
    return read_instance({key: value for key, value in data.items() if value is not None})


def choice(**changes: Any) -> dict[str, Any]:
    return {
        "zone": "hall", "design": "node", "racks": 4, "intra_block_spares": 1, "inter_block_spares": 1,
        "repair_plan": "r", "gpu_limit": "800 W",
    } | changes  # fmt: skip


def decide(*choices: dict[str, Any], plan: str = "c") -> Decisions:
    return read_decisions({"zones": list(choices or [choice()]), "checkpoint_plan": plan})


@cache
def solved() -> Evaluation:
    return evaluate(hand(), decide())


# Availability: a tray is down 10/(90 + 10) = 0.1 of the time, a rack 10/(190 + 10) = 0.05.  A block needs its rack and
# 2 of its 3 trays: 0.95 (0.9³ + 3·0.1·0.9²) = 0.95 · 0.972 = 0.9234.  The zone needs 3 of its 4 blocks.
BLOCK = 0.9234
UP = BLOCK**4 + 4 * BLOCK**3 * (1 - BLOCK)
# Rate: 3 working blocks of 2 working trays and a rack each, and the software: 6/90 + 3/190 + 1/100 per hour.
RATE = 6 / 90 + 3 / 190 + 1 / 100
# Recovery: y = Λ (2 + 1/4), φ = exp(−Λ/2); η = τ Λ φ/(eʸ − 1).
ETA = 2 * RATE * math.exp(-RATE / 2) / math.expm1(RATE * 2.25)
# Power: 6 working trays of 1 + 2·0.8 = 2.6 kW, 6 idle ones of 0.5 kW, 4 racks of 2 kW more: 26.6 kW; blocked 14 kW.
DRAW, BLOCKED_DRAW = 26.6, 14.0
ENERGY = 1.25 * YEAR * (BLOCKED_DRAW + UP * (DRAW - BLOCKED_DRAW))
# Money: 4 racks of 1.2 M$ and 10 M$/MW · 26.6 kW; energy at 0.1 $/kWh, repair plan 0.3 M$, checkpoints 0.1 M$.
CAPITAL = 4.8e6 + 0.266e6
YEARLY = 0.1 * ENERGY + 0.4e6
COST = CAPITAL / 4 + YEARLY
# Scale: a limit of 80 % costs (1 − 0.8)²; g(n) = n/(1 + (n−1)/4) has g(4)/g(6) = (16/7)/(8/3) = 6/7.
SCALE = 0.96 * 6 / 7


def test_work_done_by_hand() -> None:
    """Proves availability, Λ, η, CETT, scale, goodput and wall time of a small cluster, solved above on paper.

    24 GPUs, 3 blocks of 4 working ones: CETT = 12/24 · A · η, goodput = 24 · CETT · scale.  If it broke, no plan's
    score could be trusted.
    """
    result = solved()
    assert (result.gpus, result.working_gpus) == (24, 12)
    assert result.availability == pytest.approx(UP, rel=1e-13)
    assert result.unavailability == pytest.approx(1 - UP, rel=1e-12)
    assert result.interruption_rate_per_h == pytest.approx(RATE, rel=1e-13)
    assert result.interruptions_per_day == pytest.approx(24 * RATE * UP, rel=1e-13)
    assert result.recovery_efficiency == pytest.approx(ETA, rel=1e-13)
    assert result.checkpoint_period_h == 2.0
    assert result.cett == pytest.approx(0.5 * UP * ETA, rel=1e-13)
    assert result.scale == pytest.approx(SCALE, rel=1e-13)
    goodput = 12 * UP * ETA * SCALE
    assert result.goodput == pytest.approx(goodput, rel=1e-13)
    assert result.goodput_scale == pytest.approx(goodput / 24, rel=1e-13)
    assert result.useful_gpu_hours_per_year == pytest.approx(12 * UP * ETA * YEAR, rel=1e-13)
    assert result.wall_time_h == pytest.approx(8766 / goodput, rel=1e-13)
    (zone,) = result.zones
    assert (zone.zone, zone.count, zone.gpus, zone.working_gpus, zone.stranded_blocks) == ("hall", 1, 24, 12, 0)
    assert zone.unavailability == pytest.approx(1 - UP, rel=1e-12)
    assert zone.interruption_rate_per_h == pytest.approx(RATE - 0.01, rel=1e-13)
    assert (zone.hardware_scale, zone.llm_scale) == pytest.approx((0.96, 6 / 7), rel=1e-13)
    assert result.method["goodput"] == "exact"


def test_losses_by_hand() -> None:
    """Proves the table of losses: 8/24 intra, 4/24 inter, half of the rest times blocked, saves, recovery, lost work.

    If it broke, a planner would buy the wrong remedy.
    """
    y = RATE * 2.25
    phi = math.exp(-RATE / 2)
    expected = {
        "intra_block_spares": 8 / 24,
        "inter_block_spares": 4 / 24,
        "stranded_blocks": 0.0,
        "blocked": 0.5 * (1 - UP),
        "checkpoint_saves": 0.5 * UP * ETA * 0.25 / 2,
        "detection_and_restart": 0.5 * UP * (1 - phi),
        "lost_work": 0.5 * UP * phi * (1 - y / math.expm1(y)),
        "useful": 0.5 * UP * ETA,
    }
    result = solved()
    assert list(result.losses) == list(LOSSES)
    for name, share in expected.items():
        assert result.losses[name] == pytest.approx(share, rel=1e-12, abs=1e-15), name
    assert sum(expected.values()) == pytest.approx(1.0, abs=1e-14)
    table = result.losses_table()
    np.testing.assert_allclose(table["gpus"], table["share"] * 24)
    assert list(table["loss"]) == list(LOSSES)


def test_power_and_energy_by_hand() -> None:
    """Proves IT and site power, the rack's, and energy with idle draw while the job is blocked.

    If it broke, a plan could blow a fuse or the energy bill.
    """
    result = solved()
    assert result.it_power_kw == pytest.approx(DRAW, rel=1e-13)
    assert result.site_power_kw == pytest.approx(1.25 * DRAW, rel=1e-13)
    assert result.zones[0].it_power_kw == pytest.approx(DRAW, rel=1e-13)
    assert result.zones[0].rack_power_kw == pytest.approx(2 * 2.6 + 0.5 + 2, rel=1e-13)
    assert result.energy_kwh_per_year == pytest.approx(ENERGY, rel=1e-13)
    assert result.carbon_kg_per_year == pytest.approx(0.4 * ENERGY, rel=1e-13)


def test_money_by_hand() -> None:
    """Proves capital, yearly cost, cost, and what a useful GPU-hour takes in money, energy and carbon.

    If it broke, the cheapest plan would not be the cheapest.
    """
    result = solved()
    useful = 12 * UP * ETA * YEAR
    assert result.currency == "USD"
    assert result.capital == pytest.approx(CAPITAL, rel=1e-13)
    assert result.yearly_cost == pytest.approx(YEARLY, rel=1e-13)
    assert result.cost_per_year == pytest.approx(COST, rel=1e-13)
    assert result.cost_per_useful_gpu_hour == pytest.approx(COST / useful, rel=1e-13)
    assert result.energy_kwh_per_useful_gpu_hour == pytest.approx(ENERGY / useful, rel=1e-13)
    assert result.carbon_kg_per_useful_gpu_hour == pytest.approx(0.4 * ENERGY / useful, rel=1e-13)
    assert result.goodput_gpu_hours_per_money == pytest.approx(result.goodput * YEAR / COST, rel=1e-13)


def test_idle_spares_by_hand() -> None:
    """Proves what idle spares cost: 6 of 12 trays, so half of the racks' price, 3 kW and their energy all year.

    If it broke, the price of reliability would be misstated.
    """
    idle = solved().idle_spares
    assert idle.gpus == 12
    assert idle.power_kw == pytest.approx(3.0, rel=1e-13)
    assert idle.capital == pytest.approx(2.4e6 + 3 * 10e3, rel=1e-13)
    energy = 1.25 * YEAR * 3
    assert idle.energy_kwh_per_year == pytest.approx(energy, rel=1e-13)
    assert idle.carbon_kg_per_year == pytest.approx(0.4 * energy, rel=1e-13)
    assert idle.cost_per_year == pytest.approx((2.4e6 + 3 * 10e3) / 4 + 0.1 * energy, rel=1e-13)


def test_limits_by_hand() -> None:
    """Proves value, bound and slack of each limit, and that those broken are named: capital 5.07 > 5 M$, 33.25 > 30 kW.

    If it broke, a plan that breaks a cap would pass as good.
    """
    result = solved()
    rows = {limit.limit: limit for limit in result.limits}
    assert set(rows) == {"capital", "site_power", "floor", "availability", "rack_power"}
    slack = {"capital": 5e6 - CAPITAL, "site_power": 30 - 33.25, "floor": 0, "availability": UP - 0.97}
    for name, value in slack.items():
        assert rows[name].slack == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert rows["rack_power"].slack == pytest.approx(8 - 7.7, rel=1e-9)
    assert {limit.limit for limit in result.violated} == {"capital", "site_power", "availability"}
    assert rows["availability"].sense == ">="
    assert list(result.limits_table()["limit"]) == [limit.limit for limit in result.limits]


def test_best_period_of_a_plan() -> None:
    """Proves that a best-period plan runs at the period that no other beats, by trying others through evaluate.

    If it broke, period: best would be worse than some stated period.
    """
    best = evaluate(hand(), decide(plan="best"))
    for factor in (0.9, 0.99, 1.0, 1.01, 1.1):
        period = best.checkpoint_period_h * factor
        given_plan = HAND["checkpoint_plans"][0] | {"period": f"{period!r} h"}
        other = evaluate(hand(checkpoint_plans=[given_plan]), decide())
        if factor == 1.0:
            assert other.goodput == pytest.approx(best.goodput, rel=1e-12)
        else:
            assert other.goodput < best.goodput


def test_missing_inputs_leave_their_numbers_out() -> None:
    """Proves None, not 0 or NaN, for what prices and watts would be needed for, and a goodput that does not need them.

    If it broke, an unknown cost would read as free.
    """
    design = {key: value for key, value in HAND["designs"][0].items() if key not in ("rack_price", "power")}
    bare = hand(designs=[design], hardware_scale=None, power=None, economics=None, limits=None, job=None)
    result = evaluate(bare, decide(choice(gpu_limit=None)))
    for name, value in result:
        if name in (
            "capital", "cost_per_year", "it_power_kw", "site_power_kw", "energy_kwh_per_year", "carbon_kg_per_year",
            "cost_per_useful_gpu_hour", "energy_kwh_per_useful_gpu_hour", "carbon_kg_per_useful_gpu_hour",
            "goodput_gpu_hours_per_money", "wall_time_h", "storage_every",
        ):  # fmt: skip
            assert value is None, name
        else:
            assert value is not None, name
    assert result.idle_spares.gpus == 12
    assert {value for name, value in result.idle_spares if name != "gpus"} == {None}
    assert result.zones[0].it_power_kw is None and result.zones[0].rack_power_kw is None
    assert result.yearly_cost == pytest.approx(0.4e6)
    assert result.goodput == pytest.approx(12 * UP * ETA * 6 / 7, rel=1e-13)
    assert result.limits == ()


TWO_ZONES = [{"name": "hall", "count": 2, "racks": 4}, {"name": "annex", "racks": 2, "relative_speed": 0.9}]


def test_unlike_zones_by_hand() -> None:
    """Proves for 2 halls as above, and an annex of 2 racks without spares at 0.9 of the speed and the full limit:

    A is the product of the zones', Λ their sum, goodput at the slowest zone's scale (the halls' 0.96 · 6/7 = 0.8229,
    as the annex has 0.9 · 1), money and power their sums; idle and working GPUs are counted over all.  A site
    domain (down 1/100 of the time) multiplies.  If it broke, mixed plans would be scored wrongly.
    """
    failures = HAND["failures"] | {
        "domains": [{"name": "grid", "spans": "site", "mtbf": "99 h", "repair": {"hands_on": "1 h"}}]
    }
    site = hand(zones=TWO_ZONES, failures=failures)
    annex = choice(zone="annex", racks=2, intra_block_spares=0, inter_block_spares=0, gpu_limit="1000 W")
    result = evaluate(site, decide(choice(count=2), annex))
    annex_up = (0.95 * 0.9**3) ** 2
    up = 0.99 * UP**2 * annex_up
    rate = 0.01 + 1 / 99 + 2 * (RATE - 0.01) + 6 / 90 + 2 / 190
    eta = 2 * rate * math.exp(-rate / 2) / math.expm1(rate * 2.25)
    assert (result.gpus, result.working_gpus) == (60, 36)
    assert result.availability == pytest.approx(up, rel=1e-12)
    assert result.interruption_rate_per_h == pytest.approx(rate, rel=1e-12)
    assert result.cett == pytest.approx(36 / 60 * up * eta, rel=1e-12)
    assert result.scale == pytest.approx(0.96 * 6 / 7, rel=1e-12)
    assert result.goodput == pytest.approx(36 * up * eta * 0.96 * 6 / 7, rel=1e-12)
    assert result.losses["intra_block_spares"] == pytest.approx(16 / 60, rel=1e-12)
    assert result.losses["inter_block_spares"] == pytest.approx(8 / 60, rel=1e-12)
    annex_draw = 6 * 3 + 2 * 2
    assert result.it_power_kw == pytest.approx(2 * DRAW + annex_draw, rel=1e-12)
    blocked = 2 * BLOCKED_DRAW + 6 * 0.5 + 2 * 2
    energy = 1.25 * YEAR * (blocked + up * (2 * DRAW + annex_draw - blocked))
    assert result.energy_kwh_per_year == pytest.approx(energy, rel=1e-12)
    capital = 10 * 1.2e6 + 10e3 * (2 * DRAW + annex_draw)
    assert result.capital == pytest.approx(capital, rel=1e-12)
    assert result.yearly_cost == pytest.approx(0.1 * energy + 3 * 0.3e6 + 0.1e6, rel=1e-12)
    rows = {limit.limit: limit.value for limit in result.limits}
    assert rows["floor"] == 10
    assert rows["rack_power"] == pytest.approx(3 * 3 + 2, rel=1e-12)  # the annex's, the higher
    slow = evaluate(hand(zones=[TWO_ZONES[0], TWO_ZONES[1] | {"relative_speed": 0.5}]), decide(choice(count=2), annex))
    assert slow.scale == pytest.approx(0.5, rel=1e-12)


def test_a_class_split_in_parts_is_the_class() -> None:
    """Proves that 2 zones decided together or one by one are scored alike.

    If it broke, plans with two choices in one class would be misjudged.
    """
    site = hand(zones=[TWO_ZONES[0]])
    together, apart = evaluate(site, decide(choice(count=2))), evaluate(site, decide(choice(), choice()))
    for name in ("goodput", "availability", "capital", "yearly_cost", "energy_kwh_per_year", "interruption_rate_per_h"):
        assert getattr(apart, name) == pytest.approx(getattr(together, name), rel=1e-13)
    assert apart.losses == pytest.approx(together.losses, rel=1e-12)


# ---- the published case


def published(design: str, intra: int, inter: int, plan: str = "published", **overrides: Any) -> Evaluation:
    instance = read_instance("meta-2026", overrides=overrides or None)
    zones = {
        "zone": "zone", "count": 4, "design": design, "racks": 256, "intra_block_spares": intra,
        "inter_block_spares": inter, "repair_plan": "published",
    }  # fmt: skip
    return evaluate(instance, read_decisions({"zones": [zones], "checkpoint_plan": plan}))


def test_numbers_of_the_design() -> None:
    """Proves the exact model's goodput scales of the published case through instance file and evaluator.

    If it broke, the headline (the better design and the better period are worth 5 % each) would not hold.
    """
    none, four = published("block-72", 0, 32), published("block-72", 4, 4)
    assert none.goodput_scale == pytest.approx(0.80014, abs=5e-6)
    assert four.goodput_scale == pytest.approx(0.81915, abs=5e-6)
    assert four.goodput / none.goodput == pytest.approx(1.0238, abs=5e-5)
    free: dict[str, Any] = {"placement_group": None}
    assert published("block-72", 1, 5, **free).goodput_scale == pytest.approx(0.856, abs=5e-4)
    assert published("block-72", 1, 5, "best-period", **free).goodput_scale == pytest.approx(0.907, abs=5e-4)
    assert published("block-72", 4, 4, "best-period").goodput_scale == pytest.approx(0.864, abs=5e-4)


@pytest.mark.parametrize(
    "design, intra, inter", [("block-72", 0, 32), ("block-72", 4, 4), ("block-36", 0, 64), ("block-18", 1, 16)]
)
def test_stranded_blocks_by_direct_search(design: str, intra: int, inter: int) -> None:
    """Proves stranded = R − the smallest R' ≤ R of highest CETT, by evaluating every R' without a placement group.

    If it broke, the cost of the placement rule would be mixed with that of spares.
    """
    result = published(design, intra, inter)
    cett = [published(design, intra, r, placement_group=None).cett for r in range(inter + 1)]
    stranded = inter - int(np.argmax(cett))
    assert result.zones[0].stranded_blocks == stranded
    working_per_block = result.zones[0].working_gpus / (256 * int(72 / int(design[-2:])) - inter)
    assert result.losses["stranded_blocks"] == pytest.approx(4 * stranded * working_per_block / result.gpus, rel=1e-12)
    # more spares than the best are stranded whatever made the planner hold them
    assert published(design, intra, inter, placement_group=None).zones[0].stranded_blocks == stranded


def test_placement_left_over_is_reported() -> None:
    """Proves that a planner's own plan with blocks beyond whole placement groups is evaluated and flagged.

    256 − 22 = 234 working blocks of 72 GPUs are 7 groups of 32 blocks and 10 left over.  If it broke, the job would
    be promised GPUs that it cannot use.
    """
    (limit,) = published("block-72", 0, 22).violated
    assert (limit.limit, limit.value, limit.slack) == ("placement_group", 10, -10)
    assert published("block-72", 0, 32).violated == []


# ---- any decisions on any shipped instance

SHIPPED = ("academic-1k", "gb200-4x256", "h100-100k", "h100-16k-llama3", "meta-2026", "power-capped-20mw", "tpu-like")


@cache
def shipped(name: str) -> Instance:
    return read_instance(name)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Instance, Decisions]:
    """A shipped instance with any choice it offers, each class of zones in one or two parts."""
    instance = shipped(draw(st.sampled_from(SHIPPED)))
    choices = []
    for zone in instance.zones:
        first = draw(st.integers(1, zone.count))
        for count in (first, zone.count - first):
            if not count:
                continue
            design = draw(
                st.sampled_from([d for d in instance.designs if zone.designs is None or d.name in zone.designs])
            )
            limits = (design.power.gpu_limits or (None,)) if design.power else (None,)
            choices.append(
                ZoneChoice.model_construct(
                    zone=zone.name,
                    count=count,
                    design=design.name,
                    racks=draw(st.sampled_from(zone.racks)),
                    intra_block_spares=draw(st.sampled_from(design.intra_block_spares)),
                    inter_block_spares=draw(st.sampled_from(design.inter_block_spares)),
                    repair_plan=draw(st.sampled_from(instance.repair_plans)).name,
                    gpu_limit=draw(st.sampled_from(limits)),
                )
            )
    plan = draw(st.sampled_from(instance.checkpoint_plans)).name
    return instance, Decisions.model_construct(zones=tuple(choices), checkpoint_plan=plan)


@settings(max_examples=150, deadline=None)
@given(plans(), st.sampled_from(MODELS))
def test_identities_of_any_plan(plan: tuple[Instance, Decisions], model: Model) -> None:
    """Proves on every shipped instance: losses are shares that sum to 1, useful is CETT, and the totals are consistent.

    If it broke, a report's numbers would contradict each other.
    """
    instance, decisions = plan
    result = evaluate(instance, decisions, model=model)
    losses = np.array(list(result.losses.values()))
    assert np.all(losses >= 0) and losses.sum() == pytest.approx(1.0, abs=1e-12)
    assert result.losses["useful"] == pytest.approx(result.cett, rel=1e-12)
    assert result.goodput == pytest.approx(result.gpus * result.cett * result.scale, rel=1e-12)
    assert result.goodput_scale == pytest.approx(result.cett * result.scale, rel=1e-12)
    assert result.availability + result.unavailability == pytest.approx(1.0, abs=1e-12)
    assert result.losses["blocked"] == pytest.approx(
        result.working_gpus / result.gpus * result.unavailability, rel=1e-9, abs=1e-15
    )
    assert result.idle_spares.gpus == result.gpus - result.working_gpus
    per_zone = sum(zone.count * zone.working_gpus for zone in result.zones)
    assert per_zone == result.working_gpus
    idle = result.losses["intra_block_spares"] + result.losses["inter_block_spares"] + result.losses["stranded_blocks"]
    assert idle == pytest.approx(result.idle_spares.gpus / result.gpus, rel=1e-12, abs=1e-15)
    up = math.prod((1 - zone.unavailability) ** zone.count for zone in result.zones)
    assert result.availability == pytest.approx(up, rel=1e-9)  # no shipped instance has a site domain
    for _, value in result:
        assert not isinstance(value, float) or math.isfinite(value)
    if result.energy_kwh_per_year is not None:
        assert result.it_power_kw is not None and result.site_power_kw is not None
        assert 0 < result.energy_kwh_per_year <= result.site_power_kw * YEAR * (1 + 1e-12)
        assert result.idle_spares.power_kw is not None
        assert result.idle_spares.power_kw < result.it_power_kw


def test_a_plan_that_never_runs() -> None:
    """Proves that a plan whose availability or η is 0 in floating point is scored 0, without warnings or tracebacks.

    3,125 servers that are each down 2 % of the time, and none spare, are all up e^(−65) of it.  If it broke, a poor
    plan of a planner's own would crash instead of being shown as poor.
    """
    part = {
        "zone": "building", "count": 4, "design": "hgx-h100", "racks": 3125, "intra_block_spares": 0,
        "inter_block_spares": 0, "repair_plan": "as-measured",
    }  # fmt: skip
    result = evaluate(shipped("h100-100k"), read_decisions({"zones": [part], "checkpoint_plan": "sync-best"}))
    assert result.goodput == pytest.approx(0.0, abs=1e-20)
    assert sum(result.losses.values()) == pytest.approx(1.0, abs=1e-12)
    assert result.cost_per_useful_gpu_hour is None and result.capital is not None
    json.loads(result.model_dump_json())
    assert "NaN" not in result.model_dump_json()


def test_an_evaluation_survives_json() -> None:
    """Proves that an evaluation reads back from its JSON without a change.

    If it broke, a stored plan would not be the plan that was solved.
    """
    assert Evaluation.model_validate_json(solved().model_dump_json()) == solved()


# ---- scales


def scaled(form: dict[str, Any] | None, limit: str | None = None, intra: int = 1, **changes: Any) -> Evaluation:
    design = copy.deepcopy(HAND["designs"][0])
    if not (form and ("power_curve" in form or "power_table" in form)):
        del design["power"]["gpu_limits"]
    site = hand(hardware_scale=form, designs=[design], **changes)
    return evaluate(site, decide(choice(gpu_limit=limit, intra_block_spares=intra)))


def test_power_table_is_made_concave() -> None:
    """Proves the table's upper envelope: (0.5, 0.6), (1, 1) span it, as (0.8, 0.8) is below their chord, 0.84.

    At 0.65 of the limit the scale is 0.6 + 0.3 · 0.4 = 0.72; the rise of 0.04 is named.  If it broke, the optimiser
    would see a speed that no measurement and no mixture of measurements has.
    """
    table: list[dict[str, float]] = [
        {"limit": 0.5, "scale": 0.6},
        {"limit": 0.8, "scale": 0.8},
        {"limit": 1, "scale": 1},
    ]
    for limit, scale in (("500 W", 0.6), ("650 W", 0.72), ("800 W", 0.84), ("1000 W", 1.0)):
        result = scaled({"power_table": table}, limit)
        assert result.zones[0].hardware_scale == pytest.approx(scale, rel=1e-13)
        assert result.scale == pytest.approx(scale * 6 / 7, rel=1e-13)
    assert "0.04" in result.method["hardware_scale"]
    table[1]["scale"] = 0.9  # now above the chord: concave as it is
    assert scaled({"power_table": table}, "650 W").zones[0].hardware_scale == pytest.approx(0.75, rel=1e-13)
    points = hand(hardware_scale={"power_table": table}).hardware_scale
    assert points is not None and points.power_table is not None
    assert envelope_rise(points.power_table) == 0.0
    assert list(concave_envelope(points.power_table)[0]) == [0.5, 0.8, 1.0]


def test_power_curve_fixed_gain_and_rack_relation() -> None:
    """Proves 1 − a(1−f)^b; a gain for designs with spare trays only; ((K − 0.28 I)/(K − I))^(ln gain/ln ratio); or 1.

    If it broke, the gain of spending spares' power on working GPUs would be lost or invented.
    """
    curve = {"power_curve": {"a": 0.952, "b": 2.02, "valid_from": 0.5}}
    for limit, share in (("500 W", 0.5), ("700 W", 0.7), (None, 1.0)):
        expected = 1 - 0.952 * (1 - share) ** 2.02
        assert scaled(curve, limit).zones[0].hardware_scale == pytest.approx(expected, rel=1e-13)
    fixed = {"fixed_gain_with_spares": 1.034}
    assert scaled(fixed).zones[0].hardware_scale == 1.034
    assert scaled(fixed, intra=0).zones[0].hardware_scale == 1.0
    relation = {"rack_power": {"idle_draw": 0.28, "gain": 1.034, "at_ratio": 1.09}}
    expected = ((3 - 0.28) / (3 - 1)) ** (math.log(1.034) / math.log(1.09))
    assert scaled(relation).zones[0].hardware_scale == pytest.approx(expected, rel=1e-13)
    assert scaled(relation, intra=0).zones[0].hardware_scale == 1.0
    assert scaled(None).zones[0].hardware_scale == 1.0


def test_limits_at_the_edge_of_what_was_measured() -> None:
    """Proves that 320 W of 400 W counts as the share 0.8 (in floats 0.7999…), and the full limit with rounding as 1.

    If it broke, the first point of a table would be left out, or a rounded-up full limit would give a NaN.
    """
    design = copy.deepcopy(HAND["designs"][0])
    design["power"] |= {"gpu_full_limit": "400 W", "gpu_limits": ["320 W", "400 W"]}
    forms: list[dict[str, Any]] = [
        {"power_table": [{"limit": 0.8, "scale": 0.9}, {"limit": 1, "scale": 1}]},
        {"power_curve": {"a": 2.5, "b": 2.0, "valid_from": 0.8}},
        {"power_curve": {"a": 0.1 / 0.2**2.02, "b": 2.02, "valid_from": 0.8}},
    ]
    for form in forms:
        site = hand(hardware_scale=form, designs=[design])
        assert evaluate(site, decide(choice(gpu_limit="320 W"))).zones[0].hardware_scale == pytest.approx(0.9)
        just_above = choice(gpu_limit=f"{400 * (1 + 5e-10)!r} W")
        assert evaluate(site, decide(just_above)).zones[0].hardware_scale == pytest.approx(1.0)


def test_llm_scale_forms() -> None:
    """Proves the ring form and a table linear in log2 of the block size, both relative to the reference size.

    Between 2 (speed 1) and 8 (speed 1.4) GPUs, 4 is halfway (1.2) and the reference of 8 divides: 1.2/1.4.  If it
    broke, block sizes would be compared wrongly.
    """
    table = {"reference_gpus": 8, "table": {2: 1.0, 8: 1.4}}
    for intra, working in ((0, 6), (1, 4), (2, 2)):
        result = scaled(None, intra=intra, llm_scale=table)
        expected = (1 + 0.4 * (math.log2(working) - 1) / 2) / 1.4
        assert result.zones[0].llm_scale == pytest.approx(expected, rel=1e-13)
        assert result.scale == pytest.approx(expected, rel=1e-13)
    for intra, working in ((0, 6), (1, 4), (2, 2)):
        ring = (working / (1 + 0.25 * (working - 1))) / (6 / 2.25)
        assert scaled(None, intra=intra).zones[0].llm_scale == pytest.approx(ring, rel=1e-13)
    assert scaled(None, llm_scale=None).scale == 1.0


# ---- what is refused

TABLE = {"reference_gpus": 6, "table": {4: 0.8, 6: 1.0}}
MEASURED = {"power_table": [{"limit": 0.7, "scale": 0.8}, {"limit": 1, "scale": 1}]}
UNPOWERED = [{key: value for key, value in HAND["designs"][0].items() if key != "power"}]
NO_LIMITS = [HAND["designs"][0] | {"power": HAND["designs"][0]["power"] | {"gpu_limits": ["1000 W"]}}]


@pytest.mark.parametrize(
    "site, changes, field",
    [
        ({}, {"zone": "elsewhere"}, "zones.0.zone"),
        ({}, {"design": "unknown"}, "zones.0.design"),
        ({}, {"repair_plan": "unknown"}, "zones.0.repair_plan"),
        ({}, {"count": 2}, "zones"),
        ({"zones": TWO_ZONES}, {"count": 2}, "zones"),
        ({}, {"inter_block_spares": 4}, "zones.0.inter_block_spares"),
        ({}, {"inter_block_spares": 400}, "zones.0.inter_block_spares"),
        ({}, {"intra_block_spares": 3}, "zones.0.intra_block_spares"),
        ({}, {"gpu_limit": "1001 W"}, "zones.0.gpu_limit"),
        ({}, {"gpu_limit": "499 W"}, "zones.0.gpu_limit"),
        ({"hardware_scale": MEASURED}, {"gpu_limit": "699 W"}, "zones.0.gpu_limit"),
        ({"designs": NO_LIMITS, "hardware_scale": {"fixed_gain_with_spares": 1.1}}, {}, "zones.0.gpu_limit"),
        ({"llm_scale": TABLE}, {"intra_block_spares": 2}, "zones.0.intra_block_spares"),
    ],
)
def test_bad_choices_are_refused(site: dict[str, Any], changes: dict[str, Any], field: str) -> None:
    """Proves that a choice without meaning or without a measured speed is an InputError that names its field.

    If it broke, the score would be NaN, a made-up number or a traceback.
    """
    if site.get("designs") == NO_LIMITS:
        site = site | {"designs": [copy.deepcopy(NO_LIMITS[0])]}
        del site["designs"][0]["power"]["gpu_limits"]
    with pytest.raises(InputError) as refused:
        evaluate(hand(**site), decide(choice(**changes)))
    assert field in [fault.field for fault in refused.value.faults]


def test_a_limit_without_watts_is_refused() -> None:
    """Proves that a GPU limit for a design without power is an InputError; without a limit it is evaluated.

    If it broke, a power limit would be accepted and ignored.
    """
    site = hand(designs=UNPOWERED, hardware_scale=None, power=None, economics=None, limits=None)
    with pytest.raises(InputError, match="gpu_limit"):
        evaluate(site, decide(choice()))
    assert evaluate(site, decide(choice(gpu_limit=None))).goodput > 0


def test_every_fault_of_a_plan_is_named() -> None:
    """Proves that all faults are listed at once, an unknown checkpoint plan among them.

    If it broke, a planner would mend a plan one error at a time.
    """
    with pytest.raises(InputError) as refused:
        evaluate(hand(), decide(choice(design="unknown"), choice(inter_block_spares=9), plan="unknown"))
    fields = [fault.field for fault in refused.value.faults]
    assert fields == ["zones.0.design", "checkpoint_plan", "zones", "zones.1.inter_block_spares"]


@pytest.mark.parametrize("changes", [{"inter_block_spares": -1}, {"racks": 0}, {"racks": 2.5}, {"count": 0}, {"x": 1}])
def test_meaningless_counts_are_refused_on_reading(changes: dict[str, Any]) -> None:
    """Proves that a plan's counts are checked as it is read.

    If it broke, negative spares would score better than none.
    """
    with pytest.raises(InputError):
        decide(choice(**changes))
