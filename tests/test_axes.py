"""Axes of a grid: what is read, how ranges are spaced, what is refused, and what each point changes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import spareopt
from spareopt.axes import Axis, grid, parse_axis
from spareopt.errors import InputError
from spareopt.what_if import changed


@pytest.mark.parametrize(
    ("text", "paths", "values"),
    [
        ("limits.capital=3 G$,4.5 G$", ("limits.capital",), ("3 G$", "4.5 G$")),
        (" a.b , c = 0.5x,1x ", ("a.b", "c"), ("0.5x", "1x")),
        ("zones.main.racks=100,200,300", ("zones.main.racks",), (100, 200, 300)),
        ("racks=100:300:3", ("racks",), (100, 200, 300)),
        ("racks=300:100:3", ("racks",), (300, 200, 100)),
        ("share=0:1:3", ("share",), (0.0, 0.5, 1.0)),
        ("mtbf=0.25x:4x:5:log", ("mtbf",), ("0.25x", "0.5x", "1x", "2x", "4x")),
        ("hands_on=1 h:1000 h:4:log", ("hands_on",), ("1 h", "10 h", "100 h", "1000 h")),
        ("cost=0.1 $ per kWh:0.3 $ per kWh:3", ("cost",), ("0.1 $ per kWh", "0.2 $ per kWh", "0.3 $ per kWh")),
        ("idle=5%:15%:3", ("idle",), ("5%", "10%", "15%")),
        ("spares=[0, 4],{from: 0, to: 8},null", ("spares",), ([0, 4], {"from": 0, "to": 8}, None)),
        ("scenario=none,half-mtbf", ("scenario",), (None, "half-mtbf")),
        ('name="a,b","c:d"', ("name",), ("a,b", "c:d")),
    ],
)
def test_an_axis_is_read(text: str, paths: tuple[str, ...], values: tuple[Any, ...]) -> None:
    """Proves that lists, even and logarithmic ranges, units, multiples and nested values are read as written."""
    axis = parse_axis(text)
    assert (axis.paths, axis.values) == (paths, values)
    assert [type(value) for value in axis.values] == [type(value) for value in values]


def test_the_ends_of_a_range_are_as_given() -> None:
    """Proves that a range neither misses nor rounds its ends, and that a logarithmic one has equal ratios."""
    axis = parse_axis("mtbf=0.3 h:7.7 h:12:log")
    numbers = [float(text.removesuffix(" h")) for text in axis.values]
    assert (len(numbers), numbers[0], numbers[-1]) == (12, 0.3, 7.7)
    ratio = (7.7 / 0.3) ** (1 / 11)
    assert [b / a for a, b in pairwise(numbers)] == pytest.approx([ratio] * 11, rel=1e-10)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("limits.capital", "expected PATH"),
        ("=1,2", "expected PATH"),
        ("a,,b=1", "expected PATH"),
        ("a=", "empty value"),
        ("a=1,,2", "empty value"),
        ("a,a=1,2", "a is given twice"),
        ("a=1,2,1", "value 1 is given twice"),
        ("a=[1,2", "do not match"),
        ("a=1,2)", "do not match"),
        ("a='1,2", "do not match"),
        ("a=1:2", "expected a range LOW:HIGH:COUNT"),
        ("a=1:2:3:lin", "expected a range LOW:HIGH:COUNT"),
        ("a=1:2:3,4", "either values or one range"),
        ("a=x:2:3", "between numbers, got 'x'"),
        ("a=1 h:2 d:3", "same unit at both ends"),
        ("a=1:2 h:3", "same unit at both ends"),
        ("a=1:2:1", "from 2 to 10,000 values"),
        ("a=1:2:10001", "from 2 to 10,000 values"),
        ("a=1:2:2.5", "from 2 to 10,000 values"),
        ("a=1:1:3", "two different finite ends"),
        ("a=0:1:3:log", "above zero"),
        ("a=1:1e999:3", "two different finite ends"),
        ("a=-1e308:1e308:3", "two different finite ends"),
        ("scenario,a=none", "axis of its own"),
        ("scenario=1:2:3", "names of scenarios"),
    ],
)
def test_what_is_no_axis_is_refused(text: str, said: str) -> None:
    """Proves that each fault of an axis is refused in words that say what was expected, under the option's name."""
    with pytest.raises(InputError, match=said) as refused:
        parse_axis(text, "--x")
    assert str(refused.value).startswith("--x: ")


def test_a_grid_has_every_pair_and_ties_paths() -> None:
    """Proves that tied paths move together, the last axis moves fastest, and no scenario is no change."""
    points = grid([parse_axis("a,b=1,2"), parse_axis("scenario=none,s")])
    assert points == [
        {"a": 1, "b": 1},
        {"a": 1, "b": 1, "scenario": "s"},
        {"a": 2, "b": 2},
        {"a": 2, "b": 2, "scenario": "s"},
    ]
    assert grid([]) == [{}]
    with pytest.raises(InputError, match="a: is on two axes"):
        grid([parse_axis("a,b=1"), Axis(("a",), (1,))])


def test_an_axis_of_scenarios_changes_an_instance() -> None:
    """Proves that a scenario on an axis is the scenario applied by name, before what the other axes change."""
    instance = spareopt.read_instance("meta-2026")
    none, half = grid([parse_axis("scenario=none,half-mtbf"), parse_axis("failures.rack.mtbf=0.5x")])
    by_name = spareopt.read_instance("meta-2026", scenarios=["half-mtbf"], overrides={"failures.rack.mtbf": "0.5x"})
    assert changed(instance, half).resolved() == by_name.resolved()
    assert changed(instance, half).applied == by_name.applied
    assert changed(instance, none).failures.tray == instance.failures.tray
    with pytest.raises(InputError, match="did you mean 'half-mtbf'"):
        changed(instance, {"scenario": "half-mtb"})
