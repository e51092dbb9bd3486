"""Maps of strategies: the published statements hold on them, every cell is the best by brute force, and they keep."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import spareopt
from spareopt import cli, map_pictures, map_text
from spareopt.errors import InputError
from spareopt.instance import Instance
from spareopt.map_result import StrategyMap
from spareopt.mapping import read_strategies
from spareopt.what_if import changed
from tests.figure_scripts import FIGURES, ROOT, figure_script
from tests.published_paper import PAPER

script = figure_script("strategy_maps")
FEW_X = f"{script.MTBF}=0.25x,0.5x,1x,4x,8x"
FEW_Y = f"{script.REPAIR}=1 h,8 h,24 h,48 h,96 h"
SMALL = ("36/36", "18/18")
PAGE = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
TRAY = "repair_plans.published.tray.hands_on"
RACK = "repair_plans.published.rack.hands_on"


def winners(result: StrategyMap) -> dict[tuple[float, float], str]:
    """The published name of the winner by multiple of the MTBF and repair time in hours."""
    return {
        (
            float(result.x.values[cell.x].rstrip("x")),
            float(result.y.values[cell.y].removesuffix(" h")),
        ): script.FREE_I.get(cell.winner or "", script.PUBLISHED.get(cell.winner or "", cell.winner or ""))
        for cell in result.cells
    }


def check_published_statements(x: str, y: str) -> None:
    """What the paper says of its Figures 2 to 5, on the maps of the first-order model."""
    alone, llm, hardware, placed = (winners(script.made(*case, x, y)) for case in script.CASES.values())

    # CETT alone: small blocks without spare trays rule, 72 GPUs only at very short repair, 72/64 only at very low MTBF
    assert set(alone.values()) <= {*SMALL, "72/72", "72/64"}
    assert sum(name in SMALL for name in alone.values()) > len(alone) / 2
    assert all(hours <= 12 for (_, hours), name in alone.items() if name == "72/72")
    assert all(mtbf < 1 for (mtbf, _), name in alone.items() if name == "72/64")
    assert all(name in SMALL for (mtbf, hours), name in alone.items() if mtbf >= 1 and hours >= 8)
    assert {"72/72", "72/64"} <= set(alone.values())

    # with the LLM gain 72-GPU blocks rule, spare trays where reliability is low or repair long
    assert all(name in ("72/72", "72/64") for (_, hours), name in llm.items() if hours <= 72)
    assert sum(name.startswith("72") for name in llm.values()) > 0.99 * len(llm)
    for result in (llm, hardware):
        spared = {place for place, name in result.items() if name == "72/64"}
        assert spared
        assert {(m, h) for m, h in result if any(m <= m2 and h >= h2 for m2, h2 in spared)} == spared

    # the hardware gain widens that region
    before, after = ({place for place, name in result.items() if name == "72/64"} for result in (llm, hardware))
    assert before < after

    # with placement 72/64 wins everywhere for repair times up to 24 h
    assert all(name == "72/64" for (_, hours), name in placed.items() if hours <= 24)
    assert set(placed.values()) <= {"72/64", "36/36"}


def test_the_published_statements_hold_on_the_maps() -> None:
    """Proves what the paper says of its Figures 2 to 5, sentence by sentence, on a coarse grid."""
    check_published_statements(FEW_X, FEW_Y)


@pytest.mark.heavy
def test_the_figure_says_what_the_page_says() -> None:
    """Proves the published statements on the figure's grid, and the shares and regions that the page states of it."""
    check_published_statements(script.X, script.Y)
    alone, llm, hardware, placed, exact, free = (result for _, result in script.panels())

    def share(result: StrategyMap, *names: str) -> float:
        return sum(result.shares().get(name, 0.0) for name in names)

    assert share(alone, "block-36, I=0", "block-18, I=0") == pytest.approx(0.66, abs=0.005)
    assert alone.close_share(0.01) == pytest.approx(0.66, abs=0.005)
    assert share(llm, "block-72, I=4") == pytest.approx(0.19, abs=0.005)
    assert [cell.margin for cell in llm.cells if cell.winner == "block-36, I=0"] == pytest.approx([0.002], abs=0.0005)
    assert share(hardware, "block-72, I=4") == pytest.approx(0.32, abs=0.005)
    assert {hours for (_, hours), name in winners(placed).items() if name == "36/36"} == {48.0, 72.0, 96.0}
    assert share(placed, "block-36, I=0") == pytest.approx(0.03, abs=0.005)
    six = script.made("exact", {})
    assert [cell.values for cell in exact.cells] == [cell.values for cell in six.cells]
    assert share(free, "block-72, I=1") == pytest.approx(0.55, abs=0.005)
    assert all(name.startswith("block-72") for name in free.shares()) and "block-72, I=4" not in free.shares()
    assert winners(free)[8.0, 1.0] == "72/72"
    least = [cell for cell in free.cells if cell.x == 0]
    assert {cell.winner for cell in least} == {"block-72, I=8"}
    assert all(cell.margin is not None and cell.margin < 0.005 for cell in least)


def test_placement_wins_end_where_the_page_says() -> None:
    """Proves the two exceptions that the page names: 36/36 at longer repair, 72/72 at quarter-hour repair."""
    placed = winners(script.made("first-order", {}, f"{script.MTBF}=0.7x,8x", f"{script.REPAIR}=0.25 h,48 h"))
    assert placed == {(0.7, 0.25): "72/64", (8.0, 0.25): "72/72", (0.7, 48.0): "36/36", (8.0, 48.0): "72/64"}


def test_a_better_period_beats_more_spare_trays_at_low_mtbf() -> None:
    """Proves the page's last point: at a quarter of the MTBF the best period gains far more than any I at 250 s."""
    at = (f"{script.MTBF}=0.25x", f"{script.REPAIR}=24 h")
    (fixed,) = script.made("exact", script.NO_PLACEMENT, *at, every_i=True).cells
    free = spareopt.read_instance("meta-2026", scenarios=["free-placement"])
    (best,) = spareopt.strategy_map(free, *at).cells
    assert best.decisions is not None and best.decisions.checkpoint_plan == "best-period"
    assert (fixed.winner, best.winner) == ("block-72, I=8", "block-72, I=3")
    assert fixed.value == pytest.approx(28071, abs=0.5) and best.value == pytest.approx(34636, abs=0.5)
    assert "34,636 instead of 28,071" in PAGE


def test_the_map_holds_the_published_values() -> None:
    """Proves the cell as given by the paper's own numbers: CETT of each strategy, and 72/64 ahead by 2.4 % at last."""
    one = (f"{script.MTBF}=1x", f"{script.REPAIR}=24 h")
    (cell,) = script.made(*script.CASES["CETT alone"], *one).cells
    rows = {(row["K"], row["I"]): row for row in reversed(PAPER["rows"])}
    for name, place in (("block-72, I=0", (36, 0)), ("block-72, I=4", (36, 4)), ("block-36, I=0", (18, 0))):
        assert cell.values[name] / 73728 == pytest.approx(rows[place]["cett"], rel=1e-7)
    (cell,) = script.made("first-order", {}, *one).cells
    assert cell.given and cell.winner == "block-72, I=4" and cell.runner_up == "block-72, I=0"
    assert cell.margin == pytest.approx(0.024, abs=0.0005)


def test_free_spares_change_nothing_with_placement_and_much_without() -> None:
    """Proves the last two panels in short: placement allows only the published I; without it one spare tray is best."""
    x, y = f"{script.MTBF}=0.5x,1x", f"{script.REPAIR}=24 h,96 h"
    six, every = (script.made("exact", {}, x, y, every_i=free) for free in (False, True))
    assert [cell.values for cell in six.cells] == [cell.values for cell in every.cells]
    free = script.made("exact", script.NO_PLACEMENT, x, y, every_i=True)
    assert all(after.value > before.value for before, after in zip(every.cells, free.cells, strict=True))
    names = winners(free)
    assert "72/64" not in names.values()
    assert names[1.0, 24.0] == "72/70" and names[0.5, 96.0] == "72/68"
    (given,) = [cell for cell in free.cells if cell.given]
    assert given.decisions is not None and given.decisions.zones[0].inter_block_spares == 5


@pytest.fixture(scope="module")
def case() -> Instance:
    changes = script.CASES["CETT alone"][1]
    return spareopt.read_instance("meta-2026", scenarios=["six-strategies"], overrides=changes)


@pytest.fixture(scope="module")
def small(case: Instance) -> StrategyMap:
    """A small map with a cell as given, one without any useful plan, and close calls."""
    return spareopt.strategy_map(
        case, f"{script.MTBF}=0.01x,1x,4x", f"{TRAY},{RACK}=24 h,400 h", by=["design", "intra_block_spares"],
        model="first-order",
    )  # fmt: skip


def test_a_cell_is_the_best_of_all_plans(small: StrategyMap) -> None:
    """Proves values, winner, runner-up and margin of a cell by scoring every R of every strategy with the evaluator."""
    instance = spareopt.read_instance(
        "meta-2026", scenarios=["six-strategies"], overrides=script.CASES["CETT alone"][1]
    )
    there = changed(instance, {path: "4x" for path in script.MTBF.split(",")})
    best: dict[str, float] = {}
    for design in there.designs:
        for intra in design.intra_block_spares:
            for inter in range(16):
                zone = {"zone": "zone", "count": 4, "design": design.name, "racks": 256, "repair_plan": "published"}
                spares = {"intra_block_spares": intra, "inter_block_spares": inter}
                plan = spareopt.read_decisions({"zones": [zone | spares], "checkpoint_plan": "published"})
                name, value = f"{design.name}, I={intra}", spareopt.evaluate(there, plan, model="first-order").goodput
                best[name] = max(best.get(name, 0.0), value)
    cell = small.by_place[2, 0]
    assert {name: best[name] for name in cell.values} == pytest.approx(cell.values, rel=1e-12)
    order = sorted(best, key=lambda name: -best[name])
    assert (cell.winner, cell.runner_up) == (order[0], order[1])
    assert cell.margin == pytest.approx(best[order[0]] / best[order[1]] - 1, rel=1e-9)


def test_given_strategies_are_scored_as_free_decisions_are(small: StrategyMap, tmp_path: Path) -> None:
    """Proves that strategies by overrides get the values of the same free decisions, and a whole plan its own.

    The plan is the optimum of one of them at one cell: equal there, worse or equal elsewhere.
    """
    changes = script.CASES["CETT alone"][1]
    instance = spareopt.read_instance("meta-2026", scenarios=["six-strategies"], overrides=changes)
    won = small.by_place[2, 0]
    assert won.decisions is not None
    (tmp_path / "plan.json").write_text(won.decisions.model_dump_json())
    file = tmp_path / "strategies.yaml"
    file.write_text(
        "a: {overrides: {zones.zone.designs: [block-36], designs.block-36.intra_block_spares: 0}}\n"
        "b: {overrides: {zones.zone.designs: [block-72], designs.block-72.intra_block_spares: 4}}\n"
        "kept: {plan: plan.json}\n"
    )
    known = read_strategies(str(file), instance)
    result = spareopt.strategy_map(
        instance, f"{script.MTBF}=1x,4x", f"{TRAY},{RACK}=24 h", strategies=known, model="first-order"
    )
    assert result.strategies == ("a", "b", "kept")
    for place in (0, 1):
        mine, theirs = result.by_place[place, 0].values, small.by_place[place + 1, 0].values
        assert mine["a"] == pytest.approx(theirs["block-36, I=0"], rel=1e-12)
        assert mine["b"] == pytest.approx(theirs["block-72, I=4"], rel=1e-12)
        assert mine["kept"] <= theirs[won.winner or ""] * (1 + 1e-12)
    assert result.by_place[1, 0].values["kept"] == pytest.approx(won.value, rel=1e-12)


def test_the_least_cost_wins_where_cost_is_the_objective() -> None:
    """Proves the sense of winner and margin for a cost: cheapest first, and by what share the next is dearer."""
    overrides = {"objective": {"kind": "cost", "goodput_target": 500.0}}
    cheap = spareopt.read_instance("academic-1k", overrides=overrides)
    result = spareopt.strategy_map(cheap, "failures.tray.mtbf=1.5x", "power.pue=1.1,1.5", by=["repair_plan"])
    for cell in result.cells:
        costs = sorted(cell.values.values())
        assert cell.value == costs[0] == min(costs)
        if len(costs) > 1:
            assert cell.margin == pytest.approx(costs[1] / costs[0] - 1, rel=1e-9)
    there = changed(cheap, {"failures.tray.mtbf": "1.5x", "power.pue": 1.5})
    best = spareopt.solve(there, gap=0)
    assert result.by_place[0, 1].value == pytest.approx(best.certificate.value, rel=1e-9)


def test_a_proven_map_bounds_mixed_plans() -> None:
    """Proves that with prove the bound of a solve stands beside the best plan with zones alike, and is no worse."""
    instance = spareopt.read_instance("meta-2026", scenarios=["free-placement"])
    x, y = "failures.tray.mtbf=1x", f"{TRAY},{RACK}=24 h"
    (cell,) = spareopt.strategy_map(instance, x, y, prove=True).cells
    assert cell.value is not None and cell.bound is not None
    assert cell.value <= cell.bound <= cell.value * (1 + 1e-3)
    assert cell.bound == pytest.approx(spareopt.solve(instance).certificate.bound, rel=1e-12)


def test_cells_without_a_plan_are_told(small: StrategyMap) -> None:
    """Proves that where nothing does useful work no strategy is said to win, and that shares count all cells."""
    lost = small.by_place[0, 1]
    assert (lost.winner, lost.value, lost.margin, lost.values) == (None, None, None, {})
    assert sum(small.shares().values()) == pytest.approx(1 - sum(cell.winner is None for cell in small.cells) / 6)
    close = [cell for cell in small.cells if cell.margin is not None and cell.margin < 0.01]
    assert close and small.close_share(0.01) == len(close) / 6


def test_a_map_is_kept_and_read_back(small: StrategyMap, case: Instance, tmp_path: Path) -> None:
    """Proves that a written map reads back equal, that its tables hold every cell, and that bytes are stable."""
    first, second = (spareopt.write_map(small, case, tmp_path / name) for name in ("one", "two"))
    assert spareopt.read_map(first) == spareopt.read_map(first / "map.json") == small
    assert {file.name for file in first.iterdir()} >= {"map.json", "map.csv", "scores.csv"}
    for file in first.iterdir():
        if file.name == "manifest.json":  # which tells the time
            continue
        assert file.read_bytes() == (second / file.name).read_bytes(), file.name
    table, scores = small.table(), small.scores_table()
    assert table["failures.rack.mtbf (h)"].tolist() == [100.0, 10000.0, 40000.0] * 2
    assert list(table["x"]) == ["0.01x", "1x", "4x"] * 2 and list(table["y"]) == ["24 h"] * 3 + ["400 h"] * 3
    assert len(scores) == 6 * len(small.strategies)
    won = scores[scores["behind_winner"] == 0].groupby(["x", "y"])["goodput_baseline_gpus"].max()
    assert sorted(won) == sorted(table["goodput_baseline_gpus"].dropna())
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InputError, match="is not a map"):
        spareopt.read_map(tmp_path / "bad.json")


def test_strategies_are_told_apart_without_colour(small: StrategyMap, tmp_path: Path) -> None:
    """Proves that the picture has a small file, no date, and colours that differ in lightness or come with letters."""
    map_pictures.draw_map(small, tmp_path / "map.svg")
    text = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert "<dc:date>" not in text and len(text) < 150_000
    assert all(colour.lower() in text for colour in map_pictures.PALETTE[: len(small.shares())])
    assert len(set(map_pictures.PALETTE)) == len(map_pictures.PALETTE)


def test_the_committed_figure_is_on_the_page() -> None:
    """Proves that the figure is small, dateless and shown with the command that makes it."""
    text = (FIGURES / "strategy_maps.svg").read_text(encoding="utf-8")
    assert len(text.encode()) < 200_000 and "<dc:date>" not in text
    assert "(figures/strategy_maps.svg)" in PAGE and "\npython docs/figures/strategy_maps.py" in PAGE


def run(*words: str) -> Any:
    return CliRunner().invoke(cli.main, ["map", *words])


CALL = (
    "meta-2026", "--scenario", "six-strategies", "--x", f"{script.MTBF}=0.5x,1x", "--y", f"{TRAY},{RACK}=24 h,48 h",
    "--model", "first-order",
)  # fmt: skip


def test_the_command_prints_a_grid_and_clean_json(tmp_path: Path) -> None:
    """Proves that grid, legend and next command are printed, that JSON is the map, and the folder holds the same."""
    result = run(*CALL)
    assert result.exit_code == 0
    assert " 24 h | A[A]" in result.stdout and "10,000 h" in result.stdout and "Next: spareopt map" in result.stdout
    as_json = run(*CALL, "--json", "-o", str(tmp_path / "map"))
    assert StrategyMap.model_validate_json(as_json.stdout) == spareopt.read_map(tmp_path / "map")
    written = run(*CALL, "-o", str(tmp_path / "again")).stdout
    assert "the closest call: spareopt solve meta-2026 --scenario six-strategies --set failures.tray.mtbf=" in written


def test_scenarios_are_strategies_and_axes() -> None:
    """Proves that scenarios can be compared on a map, and that an axis of scenarios changes the instance as named."""
    y = ("--y", f"{TRAY},{RACK}=24 h,48 h")
    compared = run("meta-2026", "--strategies", "none,free-placement", "--x", "failures.tray.mtbf=1x", *y, "--json")
    result = StrategyMap.model_validate_json(compared.stdout)
    assert result.shares() == {"free-placement": 1.0}
    axis = run("meta-2026", "--x", "scenario=none,half-mtbf", *y, "--json")
    here = {cell.x: cell.value for cell in StrategyMap.model_validate_json(axis.stdout).cells if cell.y == 0}
    half = spareopt.read_instance("meta-2026", scenarios=["half-mtbf"])
    assert here[1] == pytest.approx(spareopt.solve(half).certificate.value, rel=1e-9)
    assert here[1] is not None and here[0] is not None and here[1] < here[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--by", "colour"), "unknown decision 'colour'; expected design"),
        (("--by", "repair_plan,repair_plan"), "repair_plan: is given twice"),
        (("--by", "repair_plan,design, repair_plan"), "repair_plan: is given twice"),
        (("--x", "failures.tray.mtbf=0.9x,0.90x"), "0.9x and 0.90x come to the same"),
        (("--x", "failures.tray.mtbf=2x", "--y", "failures.tray.rate=2x"), "so it is given twice"),
        (("--strategies", "nonsense"), "no file and no scenario 'nonsense'"),
        (("--strategies", "half-mtbf", "--prove"), "--prove does not go with --strategies"),
        (("--x", "failures.tray.mtbf=1x:2x"), "expected a range LOW:HIGH:COUNT"),
        (("--x", f"{TRAY}=1 h,2 h"), "is on two axes"),
        (("--x", "failures.tray.mtbf=0.1x:9x:200", "--y", f"{TRAY}=1 h:100 h:100"), "at most 10,000 cells"),
        (("--x", "limits.nothing=1,2"), "nothing"),
    ],
)
def test_what_can_not_be_mapped_is_refused(words: tuple[str, ...], said: str) -> None:
    """Proves that each wrong request ends with exit code 2 and words that say what was expected."""
    result = run(*CALL, *words)
    assert result.exit_code == 2 and said in result.stderr, result.stderr


def test_an_axis_shows_what_its_values_come_to() -> None:
    """Proves that multiples are told in the unit of the field, an mtbf also where the instance states its rate."""
    published = spareopt.read_instance("meta-2026", scenarios=["six-strategies"])
    result = spareopt.strategy_map(published, "failures.rack.mtbf=0.5x", f"{TRAY}=1 d,2 d", model="first-order")
    assert (result.x.shown, result.y.shown) == ((("5000 h",),), (("24 h", "48 h"),))
    rates = spareopt.read_instance("academic-1k")
    result = spareopt.strategy_map(rates, "failures.tray.mtbf=2x", "power.pue=1.1,1.3", by=["repair_plan"])
    mtbf = 1 / rates.failures.tray.per_hour
    assert result.x.shown == ((f"{2 * mtbf:.2f} h",),) and map_text.tick(result.x, 0) == f"{2 * mtbf:,.0f} h"
    assert map_text.axis_name(result.y) == "power.pue: 1.1 to 1.3"


def test_strategy_files_are_checked(tmp_path: Path) -> None:
    """Proves that a file's faults are reported together with their lines, and a clash with an axis by name."""
    instance = spareopt.read_instance("meta-2026")
    file = tmp_path / "strategies.yaml"
    file.write_text("a: 5\nb: {overrides: 3}\nc: {plan: nowhere.yaml}\n")
    with pytest.raises(InputError) as refused:
        read_strategies(str(file), instance)
    assert [fault.line for fault in refused.value.faults] == [1, 2, 3]
    with pytest.raises(InputError, match=r"strategy s: failures\.tray\.mtbf: is on an axis"):
        spareopt.strategy_map(
            instance, "failures.tray.mtbf=1x", f"{TRAY}=1 h", strategies={"s": {"failures.tray.mtbf": "2x"}}
        )


def test_an_interrupted_map_keeps_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that Ctrl-C keeps the cells that were scored, marks the others, and ends with exit code 130."""
    from spareopt import progress  # noqa: PLC0415

    def stop(self: Any, text: str, seconds: float) -> None:
        if text.startswith("3 of 4"):
            raise KeyboardInterrupt

    monkeypatch.setattr(progress.StatusLine, "say", stop)
    result = run(*CALL)
    assert result.exit_code == 130
    assert re.search(r" 48 h \| [A-Za-z] \?", result.stdout)
    assert "3 of 4 cells are scored" in result.stdout


def test_zones_of_several_classes_are_solved() -> None:
    """Proves that a map of an instance with two zone classes holds each cell's optimum, and claims no margin."""
    data = spareopt.read_instance("meta-2026", scenarios=["six-strategies"]).resolved()
    data["zones"] = [{"name": "old", "count": 1, "racks": 64}, {"name": "new", "count": 1, "racks": 32}]
    instance = spareopt.read_instance(data)
    result = spareopt.strategy_map(instance, f"{script.MTBF}=1x,2x", f"{TRAY},{RACK}=24 h")
    cell = result.by_place[1, 0]
    there = changed(instance, {path: "2x" for path in script.MTBF.split(",")})
    assert cell.value == spareopt.solve(there).certificate.value and cell.margin is None
    assert np.isnan(result.table()["margin"].astype(float)).all()
