"""Instances read, written and overridden: what is shipped is sound, and what is written reads back the same."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from spareopt import instances, units
from spareopt.errors import InputError
from spareopt.instance import Instance
from spareopt.overrides import OverrideError, apply_override
from spareopt.reading import check_scenarios, read_instance
from spareopt.starting import new_instance
from spareopt.yaml_source import load_yaml, parse_value

SHIPPED = instances.names()
KINDS = {
    "time": units.TIME,
    "rate": units.RATE,
    "power": units.POWER,
    "money": units.MONEY,
    "money per year": units.MONEY_PER_YEAR,
    "money per power": units.MONEY_PER_POWER,
    "energy price": units.ENERGY_PRICE,
    "grid intensity": units.GRID_INTENSITY,
}
finite = st.floats(min_value=0, max_value=1e300, allow_subnormal=False)


def small() -> dict[str, Any]:
    """A fresh copy of small instance data to override."""
    return copy.deepcopy(
        {
            "schema_version": 1,
            "name": "small",
            "zones": [{"name": "main", "racks": {"from": 8, "to": 10}}, {"name": "b.side", "racks": 4}],
            "designs": [
                {
                    "name": "rack",
                    "trays_per_block": 18,
                    "gpus_per_tray": 4,
                    "intra_block_spares": [0, 1],
                    "inter_block_spares": [0, 1, 2],
                    "rack_price": "4 M$",
                }
            ],
            "failures": {"tray": {"mtbf": "20,000 h"}, "software": {"rate": "0.5 per day"}},
            "repair_plans": [
                {"name": "slow", "tray": {"hands_on": "2 h", "off_crew": "100 h"}},
                {"name": "fast", "tray": {"hands_on": "2 h"}, "yearly_cost": "0.5 M$ per year"},
            ],
            "checkpoint_plans": [
                {"name": "only", "period": "best", "save": "10 s", "detection": "60 s", "restart": "5 min"}
            ],
            "llm_scale": {"reference_gpus": 72, "table": {8: 1.0, 72: 1.4}},
            "limits": {"capital": "100 M$", "working_gpus": {"minimum": 100}},
            "placement_group": 4,
            "scenarios": {
                "poor": {"overrides": {"limits.capital": "0.5x"}},
                "poorer": {"overrides": {"limits.capital": "0.5x", "placement_group": None}},
            },
        }
    )


def with_overrides(**overrides: Any) -> Instance:
    """The small instance with overrides; ``__`` stands for a dot."""
    return read_instance(small(), overrides={path.replace("__", "."): value for path, value in overrides.items()})


# what is shipped


def test_seven_instances_are_shipped() -> None:
    """The published case and the six of the issue are there under their names."""
    assert set(SHIPPED) >= {
        "meta-2026", "h100-16k-llama3", "gb200-4x256", "tpu-like", "h100-100k", "academic-1k", "power-capped-20mw",
    }  # fmt: skip


@pytest.mark.parametrize("name", SHIPPED)
def test_round_trip(name: str) -> None:
    """An instance written as plain data reads back equal and hashes the same, also by way of JSON and YAML text."""
    instance = read_instance(name)
    data = instance.resolved()
    for text in (data, json.loads(json.dumps(data)), YAML(typ="safe").load(json.dumps(data))):
        again = read_instance(text)
        assert again == instance.model_copy(update={"scenarios": {}, "intervals": {}})
        assert again.input_hash() == instance.input_hash()


@pytest.mark.parametrize("name", SHIPPED)
def test_scenarios_are_valid(name: str) -> None:
    """Every scenario of a shipped instance applies and gives a valid instance that is another problem."""
    assert check_scenarios(name) == []
    base = read_instance(name)
    assert "half-mtbf" in base.scenarios
    hashes = {base.input_hash()} | {read_instance(name, scenarios=[s]).input_hash() for s in base.scenarios}
    assert len(hashes) == len(base.scenarios) + 1


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_file_states_its_sources(name: str) -> None:
    """A shipped file carries its own name, notes for the reader, and says what is assumed; it names no private file."""
    text = instances.path(name).read_text(encoding="utf-8")
    instance = read_instance(name)
    assert instance.name == name
    assert instance.notes
    assert "/work" not in text
    assert "inputs.md" not in text
    if name != "meta-2026":
        assert text.count("assumption") > 10
        assert {"half-mtbf", "double-mtbf"} <= set(instance.scenarios)
        assert 2 <= len(instance.repair_plans) <= 3
        assert 2 <= len(instance.checkpoint_plans) <= 3


def test_objectives_and_rates_of_the_shipped_instances() -> None:
    """The six cover all objectives; their rates give the interruption times that their sources report."""
    assert {read_instance(name).objective.kind for name in SHIPPED} == {"goodput", "cost", "goodput_per_dollar"}
    llama = read_instance("h100-16k-llama3").failures.tray.per_hour * 2048
    assert 1 / llama == pytest.approx(54 * 24 / 419, rel=2e-3)  # 419 unexpected interruptions in 54 days
    gb200 = read_instance("gb200-4x256").failures
    assert gb200.rack is not None and gb200.software is not None
    job = 1024 * (18 * gb200.tray.per_hour + gb200.rack.per_hour) + gb200.software.per_hour
    assert 73_728 / (job * 24) == pytest.approx(2000, rel=2e-3)  # GPU-days per interruption
    large = read_instance("h100-100k", scenarios=["rate-100k"]).failures.tray.per_hour * 12_500
    assert 60 / large == pytest.approx(18, rel=2e-3)  # minutes per interruption
    academic = read_instance("academic-1k").failures
    assert academic.software is not None
    assert 1 / (128 * academic.tray.per_hour + academic.software.per_hour) == pytest.approx(7.9, rel=2e-3)
    tpu = read_instance("tpu-like")
    outage = next(plan for plan in tpu.repair_plans if plan.name == "contract").tray.mttr
    up = 1 / (1 + tpu.failures.tray.per_hour * outage)
    assert sum(math.comb(144, k) * up**k * (1 - up) ** (144 - k) for k in range(130, 145)) == pytest.approx(
        0.95, abs=2e-3
    )


# overrides


def test_multiples() -> None:
    """A multiple scales the number that stands there and keeps its unit; whole numbers stay whole."""
    assert with_overrides(limits__capital="0.9x").limits.capital == pytest.approx(90e6)
    assert with_overrides(limits__working_gpus__minimum="2x").limits.working_gpus.minimum == 200
    assert with_overrides(failures__tray__mtbf="0.5 x").failures.tray.mtbf == 10_000


def test_mtbf_and_rate_are_inverse() -> None:
    """Half the MTBF is twice the rate, whichever of the two the instance states; setting one takes the other out."""
    base = read_instance(small()).failures
    assert base.software is not None
    for path in ("failures.tray", "failures.software"):
        for field, power in (("mtbf", -1), ("rate", 1)):
            failures = read_instance(small(), overrides={f"{path}.{field}": "4x"}).failures
            for name in ("tray", "software"):
                factor = 4.0**power if path.endswith(name) else 1.0
                assert getattr(failures, name).per_hour == pytest.approx(getattr(base, name).per_hour * factor)
    assert with_overrides(failures__tray__rate="1 per year").failures.tray.mtbf is None


def test_items_by_name_and_by_place() -> None:
    """An item of a list is found by its name, also one that holds a dot, or by its place."""
    assert with_overrides(zones__main__racks=5).zones[0].racks == (5,)
    assert with_overrides(zones__1__racks=[5, 3]).zones[1].racks == (3, 5)
    assert read_instance(small(), overrides={"zones.b.side.racks": 6}).zones[1].racks == (6,)
    assert with_overrides(zones__main__racks__to=9).zones[0].racks == (8, 9)


def test_number_keys() -> None:
    """A key that YAML reads as a number is the same field in a path, for a value as for a multiple."""
    for value in (2.8, "2x"):
        scale = read_instance(small(), overrides={"llm_scale.table.72": value}).llm_scale
        assert scale is not None
        assert scale.table == {8: 1.0, 72: 2.8}


def test_null_takes_out() -> None:
    """Null takes an optional field, or an item of a list, out; of a field that is not there it changes nothing."""
    assert with_overrides(placement_group=None).placement_group is None
    assert [plan.name for plan in with_overrides(repair_plans__slow=None).repair_plans] == ["fast"]
    for path in ("limits.floor", "power.rack_limit", "limits", "checkpoint_plans.only.yearly_cost"):
        assert read_instance(small(), overrides={path: None}).name == "small"


def test_new_sections() -> None:
    """An override may state a section that the instance leaves out."""
    assert with_overrides(economics__amortisation="5 years").economics.amortisation == 5 * units.HOURS_PER_YEAR


def test_scenarios_stack_in_order() -> None:
    """Scenarios apply in the order given, then the overrides, and the instance tells which were applied."""
    both = read_instance(small(), scenarios=["poor", "poorer"], overrides={"limits.capital": "2x"})
    assert both.limits.capital == pytest.approx(50e6)
    assert both.placement_group is None
    assert both.applied == (
        "scenario poor: limits.capital=0.5x",
        "scenario poorer: limits.capital=0.5x",
        "scenario poorer: placement_group=null",
        "limits.capital=2x",
    )
    assert read_instance(small(), scenarios=["poor"]) != read_instance(small())


def test_source_data_stays_as_it_was() -> None:
    """Reading plain data with overrides changes a copy, not the caller's data."""
    data = small()
    read_instance(data, scenarios=["poorer"], overrides={"zones.main.racks": 5})
    assert data == small()


def test_faulty_scenario_is_named() -> None:
    """The check of all scenarios says which one is at fault, and where."""
    name = "meta-2026"
    assert check_scenarios(name) == []
    with pytest.raises(InputError, match=r"scenario bad: .*failures.tray.mtbf: expected a time"):
        read_instance(
            small() | {"scenarios": {"bad": {"overrides": {"failures.tray.mtbf": "5 kW"}}}}, scenarios=["bad"]
        )


def test_check_scenarios_reports_each(tmp_path: Path) -> None:
    """Each faulty scenario of a file is reported with its name; sound ones are not."""
    data = small() | {"scenarios": {f"s{i}": {"overrides": {"limits.capital": v}} for i, v in enumerate(("1 h", "2x"))}}
    path = tmp_path / "small.yaml"
    YAML(typ="safe").dump(data, path)
    faults = check_scenarios(path)
    assert [fault.field for fault in faults] == ["scenarios.s0: limits.capital"]


@given(st.floats(min_value=1e-3, max_value=1e3), st.sampled_from(["limits.capital", "repair_plans.fast.yearly_cost"]))
def test_multiple_of_a_quantity(factor: float, path: str) -> None:
    """A multiple written in any usual form scales a quantity by just that."""
    data = small()
    apply_override(data, path, f"{factor!r}x")
    node: Any = data["limits"]["capital"] if path.startswith("limits") else data["repair_plans"][1]["yearly_cost"]
    kind = units.MONEY if path.startswith("limits") else units.MONEY_PER_YEAR
    start = 100e6 if path.startswith("limits") else 0.5e6
    assert units.parse(node, kind) == pytest.approx(start * factor)


def test_override_error_carries_its_fault() -> None:
    """An override that leads nowhere names the path that was asked for."""
    with pytest.raises(OverrideError) as caught:
        apply_override(small(), "zones.maim.racks", 5)
    assert caught.value.fault.field == "zones.maim.racks"


# text in, text out


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.9x", "0.9x"),
        ("5 M$", "5 M$"),
        ("[1, 2]", [1, 2]),
        ("null", None),
        ("", None),
        ("5", 5),
        ("a: b: c", "a: b: c"),
    ],
)
def test_values_of_the_command_line(text: str, value: object) -> None:
    """A value written on the command line means what it would mean in a file."""
    assert parse_value(text) == value


def test_new_instance_is_a_readable_copy(tmp_path: Path) -> None:
    """A copy of a shipped instance keeps its comments, takes the file's name, and is never written over."""
    file = tmp_path / "2026.yaml"
    new_instance(file, "academic-1k", everything=True)
    copied = read_instance(file)
    assert copied.name == "2026"
    assert copied.description == "TODO: made from academic-1k"  # not another cluster's, printed as one's own
    shipped = read_instance("academic-1k")
    assert copied.model_copy(update={"name": "academic-1k", "description": shipped.description}) == shipped
    assert "# Sources" in file.read_text(encoding="utf-8")
    for again, message in ((file, "already exists"), (tmp_path / "a!.yaml", "can't name an instance")):
        with pytest.raises(InputError, match=message):
            new_instance(again, "academic-1k")


@pytest.mark.parametrize("name", instances.names())
def test_new_instance_leaves_out_what_is_the_shipped_case_alone(name: str, tmp_path: Path) -> None:
    """Proves that a planner starts from all fields and their comments, with no notes or scenarios of another's figures.

    Every scenario left is one of multiples: it holds whatever the figures are.
    """
    new_instance(tmp_path / "own.yaml", name)
    own, shipped = read_instance(tmp_path / "own.yaml"), read_instance(name)
    blank: dict[str, Any] = {"name": "", "description": "", "notes": (), "scenarios": {}, "horizon": None}
    assert own.model_copy(update=blank) == shipped.model_copy(update=blank)
    assert own.notes == ()
    assert own.horizon is None
    assert own.scenarios.items() <= shipped.scenarios.items()
    assert "half-mtbf" in own.scenarios
    assert all(str(value).endswith("x") for item in own.scenarios.values() for value in item.overrides.values())
    rows = (tmp_path / "own.yaml").read_text(encoding="utf-8").splitlines()
    text = instances.path(name).read_text(encoding="utf-8")
    before, notes, after = text.partition("\nnotes:")
    assert notes
    for row in (before + after[after.index("\n\n") :]).partition("\nscenarios:")[0].splitlines():
        assert row in rows or row.startswith(("name:", "description:"))


def test_every_field_has_its_line() -> None:
    """Reading a file notes the line of every field, which is where its text stands."""
    data, lines = load_yaml(instances.path("academic-1k"), "academic-1k")
    rows = instances.path("academic-1k").read_text(encoding="utf-8").splitlines()
    for path, line in lines.items():
        if path and isinstance(path[-1], str):
            assert path[-1] in rows[line - 1]
    assert len(lines) > 100
    assert data["name"] == "academic-1k"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@given(value=finite, currency=st.sampled_from(list(units.CURRENCIES)))
def test_quantity_round_trip(kind: units.Kind, value: float, currency: str) -> None:
    """The canonical text of a quantity reads back to the very same float."""
    assert units.parse(units.write(value, kind, currency), kind, currency) == value


@given(st.floats(min_value=0, max_value=1e200), st.sampled_from(["ms", "s", "min", "h", "d", "week", "year", "days"]))
def test_time_units(value: float, unit: str) -> None:
    """A time in any unit is its number of hours, with or without a space."""
    hours = units.parse(f"1 {unit}", units.TIME)
    assert units.parse(f"{value!r} {unit}", units.TIME) == pytest.approx(value * hours)
    assert units.parse(f"{value!r}{unit}", units.TIME) == units.parse(f"{value!r} {unit}", units.TIME)


@given(st.text(max_size=40), st.sampled_from(list(KINDS.values())))
def test_any_text_is_read_or_refused(text: str, kind: units.Kind) -> None:
    """Any text as a quantity gives a finite number or a ValueError that says what was expected."""
    try:
        assert math.isfinite(units.parse(text, kind))
    except ValueError as error:
        assert "expected" in str(error)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("1,500 h", units.TIME, 1500.0),
        ("20_000h", units.TIME, 20000.0),
        ("-0 h", units.TIME, 0.0),
        ("2 per 1,000 h", units.RATE, 0.002),
        ("1.5e-3/d", units.RATE, 1.5e-3 / 24),
        ("5 MW", units.POWER, 5000.0),
        ("15 M$ per MW", units.MONEY_PER_POWER, 15e3),
        ("66 $/MWh", units.ENERGY_PRICE, 0.066),
        ("390 g per kWh", units.GRID_INTENSITY, 0.39),
        ("0.4 t per MWh", units.GRID_INTENSITY, 0.4),
        ("4 GUSD", units.MONEY, 4e9),
    ],
)
def test_quantities_by_hand(text: str, kind: units.Kind, value: float) -> None:
    """Values worked out by hand, one for each way to write a quantity."""
    assert units.parse(text, kind) == pytest.approx(value, rel=1e-15)
    assert math.copysign(1, units.parse(text, kind)) == 1


@pytest.mark.parametrize(
    "text", ["5 mW", "5 m$", "1,5 h", "1,5h", "12,34 h", "1.2.3 h", "h", "5 h h", "5 h per d", "٣"]
)
def test_ambiguous_quantities_are_refused(text: str) -> None:
    """What could be read in two ways, or is no quantity of the kind, is refused rather than guessed."""
    for kind in (units.TIME, units.POWER, units.MONEY):
        with pytest.raises(ValueError, match="expected"):
            units.parse(text, kind)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0.0, units.TIME, "0 s"),
        (1 / 72, units.TIME, "50 s"),
        (0.05 / 3600, units.TIME, "50 ms"),
        (0.25, units.TIME, "15 min"),
        (47.5, units.TIME, "47.5 h"),
        (132.8, units.TIME, "5.533 d"),
        (2 * units.HOURS_PER_YEAR, units.TIME, "2 year"),
        (1.867, units.POWER, "1.867 kW"),
        (0.7, units.POWER, "700 W"),
        (20_000.0, units.POWER, "20 MW"),
        (3.9e6, units.MONEY, "3.9 M$"),
        (0.0, units.MONEY, "0 $"),
        (-2.5e3, units.MONEY, "-2.5 k$"),
        (0.53e6, units.MONEY_PER_YEAR, "530 k$ per year"),
        (15e3, units.MONEY_PER_POWER, "15 k$ per kW"),
        (0.066, units.ENERGY_PRICE, "0.066 $ per kWh"),
        (0.39, units.GRID_INTENSITY, "0.39 kg per kWh"),
        (1.5e-3 / 24, units.RATE, "0.0015 per day"),
    ],
)
def test_show(value: float, kind: units.Kind, text: str) -> None:
    """Quantities are shown to people in the unit that fits their size, with four digits."""
    assert units.show(value, kind) == text


def test_show_in_another_currency() -> None:
    """Money is shown in the instance's own currency."""
    assert units.show(3.9e6, units.MONEY, "EUR") == "3.9 M€"


def test_the_same_power_in_other_units_is_the_same_instance() -> None:
    """Proves that 700 W and 0.7 kW hash alike: a thousandth is no exact float, and the product is rounded back."""
    hashes = {
        read_instance("h100-100k", overrides={"designs.hgx-h100.power.gpu_full_limit": text}).input_hash()
        for text in ("700 W", "0.7 kW", "0.0007 MW")
    }
    assert len(hashes) == 1


def test_a_folder_named_like_a_shipped_instance_does_not_hide_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that the plan folder of ``solve meta-2026 -o meta-2026`` leaves the shipped instance within reach."""
    (tmp_path / "meta-2026").mkdir()
    monkeypatch.chdir(tmp_path)
    assert read_instance("meta-2026").name == "meta-2026"
