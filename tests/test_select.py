"""`select` against brute force over all choices; refusal of faulty tables and of systems that are not in series."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from math import exp, fsum, inf, log
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spareopt import InfeasibleError, InputError, Selected, select, selection, undominated
from spareopt.first_choice import first_choice
from spareopt.selection_table import read_table

Limits = dict[str, tuple[float | None, float | None]]
COLUMNS = ("cost", "weight")


def all_choices(table: pd.DataFrame, members: dict[int, int]) -> Iterator[list[int]]:
    """Every choice: the rows taken, each once for every member that takes it."""
    parts = [
        itertools.combinations_with_replacement(rows.index.tolist(), members[int(name)])
        for name, rows in table.groupby("group")
    ]
    for choice in itertools.product(*parts):
        yield [row for part in choice for row in part]


def best_of_all(table: pd.DataFrame, limits: Limits, members: dict[int, int]) -> float:
    """The best log-value of all choices within the limits; −inf where there is none."""
    best = -inf
    for choice in all_choices(table, members):
        totals = {column: sum(int(table.loc[row, column]) for row in choice) for column in limits}
        if all(
            (low is None or totals[column] >= low) and (high is None or totals[column] <= high)
            for column, (low, high) in limits.items()
        ):
            best = max(best, fsum(float(table.loc[row, "worth"]) for row in choice))
    return best


@st.composite
def problems(draw: st.DrawFn) -> tuple[pd.DataFrame, Limits, dict[int, int]]:
    """Small problems with whole uses (some negative), so that totals are exact, and limits near what choices have."""
    members = {g: draw(st.integers(1, 3)) for g in range(draw(st.integers(1, 3)))}
    rows = []
    for g in members:
        for _ in range(draw(st.integers(1, 5))):
            uses = [draw(st.integers(-2, 9)) for _ in COLUMNS]
            rows.append((g, draw(st.floats(-3.0, 0.5)), *uses))
    table = pd.DataFrame(rows, columns=["group", "worth", *COLUMNS])
    limits: Limits = {}
    for column in COLUMNS[: draw(st.integers(0, 2))]:
        near = sum(m * int(table.loc[table["group"] == g, column].min()) for g, m in members.items())
        low = near + draw(st.integers(-2, 8))
        high = low + draw(st.integers(0, 6))
        limits[column] = draw(st.sampled_from([(None, high), (low, None), (low, high), (high, high)]))
    return table, limits, members


@pytest.mark.parametrize(("few", "promising"), [(0, 2), (60, 300)])
def test_brute_force(few: int, promising: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value is the best of all choices, the bound no lower, and infeasible is what no choice meets.

    With and without screening by the linear relaxation and a first look among few, which small problems are spared.
    """
    monkeypatch.setattr(selection, "FEW_CANDIDATES", few)
    monkeypatch.setattr(selection, "PROMISING", promising)

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(problems())
    def run(problem: tuple[pd.DataFrame, Limits, dict[int, int]]) -> None:
        table, limits, members = problem
        best = best_of_all(table, limits, members)
        if best == -inf:
            with pytest.raises(InfeasibleError):
                select(table, limits, structure="series", log_value="worth", members=members)
            return
        result = select(table, limits, structure="series", log_value="worth", members=members, gap=1e-7)
        certificate = result.certificate
        assert certificate.status == "proven"
        assert certificate.log_value == pytest.approx(best, abs=1.01e-7)
        assert certificate.log_bound >= best - 1e-14
        assert certificate.bound >= certificate.value
        assert sum(item.count for item in result.chosen) == sum(members.values())
        rows = [row for item in result.chosen for row in [item.row] * item.count]
        assert certificate.log_value == pytest.approx(fsum(float(table.loc[r, "worth"]) for r in rows), abs=1e-14)
        for total in result.totals:
            assert total.total == sum(int(table.loc[row, total.column]) for row in rows)
            assert total.slack >= 0

    run()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(problems())
def test_first_choice_keeps_its_word(problem: tuple[pd.DataFrame, Limits, dict[int, int]]) -> None:
    """Proves that a choice to start from gives every member a candidate of its group, and is within the caps."""
    frame, limits, members = problem
    table = read_table(frame, limits, group="group", factor=None, log_value="worth", members=members)
    counts = first_choice(table, np.arange(len(frame)))
    if counts is None:
        return
    taken = Counter({g: 0 for g in members})
    for row, count in counts.items():
        taken[int(frame.loc[row, "group"])] += count
    assert taken == Counter(members)
    for column, (low, high) in limits.items():
        total = sum(count * int(frame.loc[row, column]) for row, count in counts.items())
        assert (low is None or total >= low) and (high is None or total <= high)


def ladder() -> pd.DataFrame:
    """Three subsystems of 1 to 6 equal units each."""
    rows = [
        (g, k, 1 - (1 - r) ** k, c * k) for g, (r, c) in enumerate([(0.8, 2), (0.9, 3), (0.7, 1)]) for k in range(1, 7)
    ]
    return pd.DataFrame(rows, columns=["group", "units", "reliability", "cost"])


def test_more_budget_never_hurts() -> None:
    """Proves that the best product does not fall when a cap rises, and rises where a unit more is worth its place."""
    values = [
        select(ladder(), {"cost": cap}, structure="series", factor="reliability", gap=1e-9).certificate.value
        for cap in range(6, 37, 3)
    ]
    assert all(more >= less * (1 - 1e-9) for less, more in itertools.pairwise(values))
    assert values[-1] > values[0] + 0.3


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ((None, 9), ["good", "small"]),
        ((5, None), ["good", "large"]),
        ((5, 9), ["good", "small", "large"]),
    ],
)
def test_what_dominates_what(limits: tuple[float | None, float | None], left: list[str]) -> None:
    """Proves that use is compared on the sides that are limited: with both, equal use alone lets one dominate.

    "bad" is worse than "good" in value at the same use, so it always goes.
    """
    table = pd.DataFrame(
        {"group": 0, "reliability": [0.9, 0.7, 0.8, 0.85], "cost": [6, 6, 3, 9]},
        index=["good", "bad", "small", "large"],
    )
    assert undominated(table, {"cost": limits}, factor="reliability").index.tolist() == left


def test_a_least_total_is_met_by_a_candidate_of_lower_value() -> None:
    """Proves that a candidate worse in value and higher in use survives where its use is asked for."""
    table = pd.DataFrame({"group": ["a", "a", "b"], "reliability": [0.9, 0.8, 0.9], "gpus": [1, 5, 1]})
    result = select(table, {"gpus": (4, 9)}, structure="series", factor="reliability")
    assert [item.row for item in result.chosen] == [1, 2]
    assert result.certificate.value == pytest.approx(0.72)


def test_many_nines() -> None:
    """Proves that the solver's tolerances are relative to what is open: unavailabilities of 1e-12 are told apart."""
    table = ladder()
    table["worth"] = 1e-9 * np.log(table["reliability"])
    caps = {"cost": 14}
    rows = [
        [item.row for item in select(table, caps, structure="series", **{name: column}).chosen]
        for name, column in (("factor", "reliability"), ("log_value", "worth"))
    ]
    assert rows[0] == rows[1]


def test_rounding_is_allowed_and_no_more() -> None:
    """Proves: prices that add up to a cap but for rounding meet it; what the solver would let pass above that, not."""
    table = pd.DataFrame({"group": [0, 1, 2], "reliability": 0.9, "cost": 0.1})
    assert 0.1 + 0.1 + 0.1 > 0.3
    assert select(table, {"cost": 0.3}, structure="series", factor="reliability").totals[0].slack == pytest.approx(0)
    for excess, row in ((0.9e-9, 0), (1.5e-9, 1), (1e-6, 1)):
        table = pd.DataFrame({"group": 0, "reliability": [0.9, 0.8], "cost": [1 + excess, 0.5]})
        assert select(table, {"cost": 1.0}, structure="series", factor="reliability").chosen[0].row == row


def test_a_choice_the_solver_lets_pass_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that each choice is checked exactly: of a solver with a loose tolerance those above a cap are cut off.

    All but one combination of the better candidates break the cap by one part in a million.
    """
    monkeypatch.setattr(selection, "FEASIBILITY_TOLERANCE", 1e-5)
    monkeypatch.setattr(selection, "first_choice", lambda table, rows: None)
    rows = [(g, r, 1.0 + c) for g in range(3) for r, c in ((0.9, 1e-6), (0.8, 0.0))]
    table = pd.DataFrame(rows, columns=["group", "reliability", "cost"])
    result = select(table, {"cost": 3.0}, structure="series", factor="reliability", gap=1e-3)
    assert result.certificate.value == pytest.approx(0.8**3)
    assert result.totals[0].total == 3.0
    assert result.certificate.choices_excluded > 0


def test_specks_cut_nothing_off() -> None:
    """Proves that numbers too small for the solver's rows count: without the credits of "b" the cap can't be met."""
    specks = [(g, 0.9, -1e-9) for g in range(1, 9)]
    table = pd.DataFrame([(0, 0.9, 1.0 + 8e-9), *specks], columns=["group", "reliability", "cost"])
    result = select(table, {"cost": 1.0}, structure="series", factor="reliability")
    assert result.totals[0].total == pytest.approx(1.0, abs=1e-15)


def test_infeasible_says_which_cap() -> None:
    """Proves that a cap below the least total is named with it, and caps that clash only together as such."""
    with pytest.raises(InfeasibleError, match=r"cost: the least any choice takes is 6, the cap is 5"):
        select(ladder(), {"cost": 5}, structure="series", factor="reliability")
    table = pd.DataFrame({"group": 0, "reliability": 0.9, "cost": [1, 2], "weight": [2, 1]})
    with pytest.raises(InfeasibleError, match="no choice meets all caps together; relax one: cost, weight"):
        select(table, {"cost": 1, "weight": 1}, structure="series", factor="reliability")


def test_out_of_time_keeps_what_is_known() -> None:
    """Proves that without time a choice found by simple moves comes back with a true bound, and not as proven."""
    best = select(ladder(), {"cost": 14}, structure="series", factor="reliability").certificate
    found = select(ladder(), {"cost": 14}, structure="series", factor="reliability", time_limit=0.0).certificate
    assert found.status == "limit reached"
    assert found.value <= best.value <= found.bound


def test_json_is_read_back_and_the_same_every_time() -> None:
    """Proves that a result survives its file, and that the same question gives the same bytes."""
    results = [select(ladder(), {"cost": 14}, structure="series", factor="reliability") for _ in range(2)]
    assert results[0].to_json() == results[1].to_json()
    assert Selected.model_validate_json(results[0].to_json()) == results[0]
    other = select(ladder(), {"cost": 15}, structure="series", factor="reliability")
    assert other.provenance.input_hash != results[0].provenance.input_hash


def test_audit_gives_reasons_that_hold() -> None:
    """Proves that each candidate named as dominating does, that none chosen is left out, and that all are counted."""
    table = pd.DataFrame(
        {"group": [0, 0, 0, 1, 1], "reliability": [0.9, 0.8, 0.95, 0.7, 0.99], "cost": [2, 3, 9, 1, 2]},
        index=list("abcde"),
    )
    result = select(table, {"cost": 8}, structure="series", factor="reliability")
    audit = result.audit
    assert audit is not None
    assert audit["dominated_by"].to_dict() == {"a": None, "b": "a", "c": None, "d": None, "e": None}
    assert result.rows(table)["members"].to_dict() == {"a": 1, "e": 1}
    assert audit["members"].sum() == 2
    assert not (audit["outbid"] & (audit["members"] > 0)).any()
    assert result.candidates.outbid == audit["outbid"].sum()


# What is not in series


def in_series(chosen: pd.DataFrame) -> float:
    return float(chosen["reliability"].prod())


def bridge(chosen: pd.DataFrame) -> float:
    a, b, c, d, e = chosen["reliability"]
    through = (1 - (1 - a) * (1 - c)) * (1 - (1 - b) * (1 - d))
    return float(e * through + (1 - e) * (1 - (1 - a * b) * (1 - c * d)))


def five_stages(down: float = 0.2) -> pd.DataFrame:
    rows = [(g, 1 - down**k, k) for g in range(5) for k in (1, 2, 3)]
    return pd.DataFrame(rows, columns=["group", "reliability", "cost"])


def test_structure_has_no_default() -> None:
    """Proves that nobody gets a product without having said that the system is one."""
    ask: Callable[..., Selected] = select
    with pytest.raises(TypeError, match="structure"):
        ask(five_stages(), {"cost": 9}, factor="reliability")
    with pytest.raises(InputError, match="structure: got 'parallel', expected 'series' or a callable"):
        select(five_stages(), {"cost": 9}, structure="parallel", factor="reliability")


def test_a_series_system_passes() -> None:
    """Proves that a callable that multiplies is taken, sees a row for each member, and changes no result."""
    seen: set[int] = set()

    def system(chosen: pd.DataFrame) -> float:
        seen.add(len(chosen))
        return in_series(chosen)

    members = {0: 3}
    stated, checked = (
        select(five_stages(), {"cost": 12}, structure=structure, factor="reliability", members=members)
        for structure in ("series", system)
    )
    assert stated.chosen == checked.chosen
    assert seen == {7}
    assert stated.certificate.structure == "series, as stated"
    assert checked.certificate.structure == "series, as checked on 67 choices"


@pytest.mark.parametrize("down", [0.2, 1e-4, 1e-9])
def test_a_bridge_is_refused(down: float) -> None:
    """Proves that a bridge is refused however reliable its parts, with how far off the product is and what to do."""
    with pytest.raises(InputError, match=r"not in series: .* of it apart.*undominated"):
        select(five_stages(down), {"cost": 9}, structure=bridge, factor="reliability")


@pytest.mark.parametrize("down", [0.2, 1e-4, 1e-9])
def test_parallel_of_series_is_refused(down: float) -> None:
    """Proves the same for two paths of groups in parallel."""

    def paths(chosen: pd.DataFrame) -> float:
        a, b, c, d, e = chosen["reliability"]
        return float(1 - (1 - a * b) * (1 - c * d * e))

    with pytest.raises(InputError, match="not in series"):
        select(five_stages(down), {"cost": 9}, structure=paths, factor="reliability")


def test_a_system_that_differs_at_the_choice_is_refused() -> None:
    """Proves that the choice found is checked itself: a system that is no product just there is found out."""
    table = pd.DataFrame(
        [(g, 1 - 0.5**k, k) for g in range(5) for k in range(1, 30)], columns=["group", "reliability", "cost"]
    )
    best = select(table, {"cost": 23}, structure="series", factor="reliability").rows(table).index.tolist()

    def system(chosen: pd.DataFrame) -> float:
        return in_series(chosen) * (0.5 if chosen.index.tolist() == best else 1.0)

    with pytest.raises(InputError, match="not in series"):
        select(table, {"cost": 23}, structure=system, factor="reliability")


@pytest.mark.parametrize("score", [float("nan"), "0.9", None, True])
def test_a_callable_that_gives_no_number_is_refused(score: Any) -> None:
    """Proves that a score that is no number is not taken for agreement."""
    with pytest.raises(InputError, match=f"structure: the callable gives {score!r}, expected a finite number"):
        select(five_stages(), {"cost": 9}, structure=lambda chosen: score, factor="reliability")


# Faulty tables


def table_with(**columns: Any) -> pd.DataFrame:
    good: dict[str, Any] = {"group": ["a", "a", "b"], "reliability": [0.9, 0.8, 0.7], "cost": [2.0, 1.0, 1.0]}
    return pd.DataFrame(good | columns)


GOOD = table_with()
Case = tuple[Any, str] | tuple[Any, str, Any] | tuple[Any, str, Any, dict[str, Any]]
FAULTY: dict[str, Case] = {  # the table, the message, caps, other arguments
    "no frame": ([1, 2], "candidates: got list, expected a pandas DataFrame"),
    "no rows": (GOOD.iloc[:0], "there are no rows, expected at least one candidate"),
    "no group": (GOOD.drop(columns="group"), "group: there is no such column, expected one of: reliability, cost"),
    "unknown cap": (GOOD, "mass: there is no such column", {"mass": 3}),
    "no value": (GOOD, "factor, log_value: neither is given, expected one", {}, {"factor": None}),
    "two values": (GOOD, "factor, log_value: both are given, expected one", {}, {"log_value": "cost"}),
    "missing number": (
        table_with(cost=[2.0, None, 1.0]),
        "cost: row 1 holds nan, expected a finite number; fill it in",
    ),
    "infinite": (table_with(cost=[2, 1, inf]), "cost: row 2 holds inf, expected a finite number"),
    "text": (table_with(cost=["2", "1", "1"]), r"cost: row 0 holds '2' .*expected numbers; use pd.to_numeric"),
    "no name": (table_with(group=["a", None, "b"]), "group: row 1 holds (None|nan), expected text or a whole number"),
    "fraction": (table_with(group=[1.5, 1.5, 2.0]), "group: row 0 holds 1.5, expected text or a whole number"),
    "zero": (table_with(reliability=[0.9, 0.0, 0.7]), "reliability: row 1 holds 0.0, expected above 0 and at most 1"),
    "percent": (
        table_with(reliability=[90, 80, 0.7]),
        "reliability: rows 0, 1 are wrong, the first holds 90.0, expect",
    ),
    "same label": (GOOD.set_axis([7, 7, 8]), "index: 7 labels more than one row, expected one; use candidates.reset"),
    "odd label": (GOOD.set_axis([0.5, 1.5, 2.5]), "index: row 0 holds 0.5, expected text or a whole number"),
    "levels": (GOOD.set_index([[0, 0, 1], [0, 1, 0]]), "index: has several levels"),
    "same column": (GOOD.set_axis(["group", "cost", "cost"], axis=1), "cost: names more than one column"),
    "caps of no kind": (GOOD, "caps: got list, expected a mapping", [("cost", 3)]),
    "number for a name": (GOOD, r"caps\[3\]: the column is named 3, expected text", {3: 1.0}),
    "cap of text": (GOOD, r"caps\['cost'\]: got '3', expected a finite number, or \(least, most\)", {"cost": "3"}),
    "no cap": (GOOD, r"caps\['cost'\]: got \(None, None\), expected", {"cost": (None, None)}),
    "infinite cap": (GOOD, r"caps\['cost'\]: got inf, expected a finite number.*None where there", {"cost": inf}),
    "cap of three": (GOOD, r"caps\['cost'\]: got \(1, 2, 3\), expected", {"cost": (1, 2, 3)}),
    "wrong way": (GOOD, r"caps\['cost'\]: got \(3, 2\), expected \(least, most\); swap", {"cost": (3, 2)}),
    "empty group": (GOOD, "group 'c': has no candidates, expected at least one", {}, {"members": {"c": 2}}),
    "empty category": (
        table_with(group=pd.Categorical(["a", "a", "b"], categories=["a", "b", "z"])),
        "group 'z': has no candidates",
    ),
    "half a member": (GOOD, r"members\['a'\]: got 1.5, expected a whole number", {}, {"members": {"a": 1.5}}),
    "no member": (GOOD, r"members\['a'\]: got 0, expected a whole number of at least 1", {}, {"members": {"a": 0}}),
    "members in a list": (
        GOOD,
        r"members: got \[2, 1\], expected the number of members by group, such as {'a'",
        {},
        {"members": [2, 1]},
    ),
    "members in no list": (GOOD, "members: got 0, expected the number of members", {}, {"members": 0}),
    "no time": (GOOD, "time_limit: got nan, expected seconds", {}, {"time_limit": float("nan")}),
    "time gone": (GOOD, "time_limit: got -1, expected seconds", {}, {"time_limit": -1}),
    "time in words": (GOOD, "time_limit: got '5 s', expected seconds", {}, {"time_limit": "5 s"}),
    "seed below zero": (GOOD, "seed: got -1, expected a whole number from 0", {}, {"seed": -1}),
    "seed too large": (GOOD, "seed: got 2147483648, expected a whole number from 0", {}, {"seed": 2**31}),
    "half a seed": (GOOD, "seed: got 0.5, expected a whole number", {}, {"seed": 0.5}),
    "beyond numbers": (
        table_with(worth=[800.0, 1.0, 0.0]),
        r"worth: products reach exp\(±800\)",
        {},
        {"factor": None, "log_value": "worth"},
    ),
}


@pytest.mark.parametrize("case", FAULTY)
def test_faulty_input_is_named(case: str) -> None:
    """Proves that each fault is refused with column, row, value, what was expected and a way out."""
    table, message, caps, arguments = (*FAULTY[case], *({"cost": 9}, {})[len(FAULTY[case]) - 2 :])
    with pytest.raises(InputError, match=message):
        select(table, caps, structure="series", **({"factor": "reliability"} | arguments))


def test_all_faults_of_a_table_are_named_at_once() -> None:
    """Proves that a faulty table need not be mended column by column."""
    table = table_with(cost=[2.0, None, 1.0], reliability=["a", "b", "c"])
    with pytest.raises(InputError) as caught:
        select(table, {"cost": 3}, structure="series", factor="reliability")
    assert [fault.field for fault in caught.value.faults] == ["reliability", "cost"]


def test_kinds_of_numbers_that_are_fine() -> None:
    """Proves that columns of whole numbers, flags and pandas' own numbers count, and groups of categories."""
    table = GOOD.astype({"group": "category", "cost": "Int64"}).assign(large=[True, False, True])
    result = select(table, {"cost": np.int64(2), "large": (np.float64(1), 2)}, structure="series", factor="reliability")
    assert [item.row for item in result.chosen] == [1, 2]
    assert result.certificate.log_value == pytest.approx(log(0.8 * 0.7))
    assert result.certificate.value == pytest.approx(exp(result.certificate.log_value))


@pytest.mark.parametrize("gap", [-0.1, 1.0])
def test_gap_has_a_range(gap: float) -> None:
    """Proves that a gap that means nothing is refused."""
    with pytest.raises(ValueError, match="gap"):
        select(GOOD, {}, structure="series", factor="reliability", gap=gap)
