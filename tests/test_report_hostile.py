"""Reports in odd circumstances: names with spaces, other styles, changed folders, Ctrl-C, prices of zero."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from click.testing import CliRunner

import spareopt
from spareopt.cli import main
from spareopt.errors import InputError, StoppedError
from spareopt.frontier_search import Curve, Found
from spareopt.instance import Instance
from spareopt.plan import Plan
from spareopt.reports import analyses, writing
from spareopt.reports.analyses import NOTHING_GIVEN, Analyses, Analysis, InScenario, read_given
from spareopt.reports.analysis_sections import scenarios_section, simulation_section
from spareopt.reports.files import draw
from spareopt.reports.plan_sections import answer_section, cost_section, losses_section, proof_section
from spareopt.reports.source_sections import provenance_section
from spareopt.reports.sources import source_of
from spareopt.reports.writing import Report, report_of
from spareopt.store import write_plan
from spareopt.sweeps import whole_sweep
from spareopt.what_if import Answer

HALL: dict[str, Any] = {
    "schema_version": 1,
    "name": "hall",
    "description": "",
    "zones": [{"name": "hall", "racks": 8}],
    "designs": [
        {
            "name": "wide",
            "trays_per_block": 18,
            "gpus_per_tray": 4,
            "intra_block_spares": {"from": 0, "to": 1},
            "inter_block_spares": {"from": 0, "to": 2},
            "rack_price": "4 M$",
            "power": {"gpu_full_limit": "1 kW", "tray_other": "2 kW", "tray_idle": "1 kW", "rack_rest": "3 kW"},
        }
    ],
    "failures": {"tray": {"rate": "2e-4 per h"}},
    "repair_plans": [{"name": "day", "tray": {"hands_on": "2 h", "off_crew": "22 h"}}],
    "checkpoint_plans": [
        {"name": "best", "period": "best", "save": "5 s", "detection": "1 min", "restart": "6 min"}
    ],
    "scenarios": {
        "dear": {"overrides": {"designs.wide.rack_price": "2x"}},
        "very dear": {"overrides": {"designs.wide.rack_price": "3x"}},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def hall() -> Instance:
    return spareopt.read_instance(HALL)


@pytest.fixture(scope="module")
def plan(hall: Instance) -> Plan:
    return spareopt.solve(hall)


@pytest.fixture
def folder(plan: Plan, hall: Instance, tmp_path: Path) -> Path:
    return write_plan(plan, hall, tmp_path / "my plan")


@pytest.fixture(scope="module")
def nothing() -> Analyses:
    """Analyses none of which could be made."""
    none: Analysis[Any] = Analysis(why="it was not asked for here")
    return Analyses(None, none, none, none, none, none, none, none)


def test_pictures_do_not_depend_on_the_readers_style(plan: Plan, hall: Instance) -> None:
    """Proves that a style of the reader's own (a matplotlibrc in the current folder, a theme set in a notebook) changes
    no byte of a report's pictures, and is still set afterwards."""
    odd: Any = {
        "axes.facecolor": "black", "font.size": 20.0, "savefig.bbox": "tight", "figure.dpi": 300.0,
        "hatch.color": "red", "lines.linewidth": 9.0,
    }  # fmt: skip
    pictures = [*losses_section(plan).pictures, *cost_section(plan, hall).pictures]
    plain = draw(pictures)
    with mpl.rc_context(odd):
        assert draw(pictures) == plain
        assert mpl.rcParams["axes.facecolor"] == "black"
    assert len(plain[0]) == 3


def test_commands_on_the_page_can_be_typed(
    plan: Plan, hall: Instance, nothing: Analyses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that commands on the page name files in folders as a shell reads them, spaces and quotes included."""
    monkeypatch.setattr(analyses, "analyse", lambda *_, **__: nothing)
    monkeypatch.setattr(writing, "analyse", lambda *_, **__: nothing)
    name = "it's my report"
    report = report_of(plan, hall, name)
    commands = [item.command for section in report.sections for item in section.missing]
    commands += [command for section in report.sections for command in section.commands]
    named = [word for command in commands for word in shlex.split(command) if name in word]
    assert {word.removeprefix(f"{name}/") for word in named} == {"instance.json", "plan.json"}
    assert len(named) >= 6
    origin, _ = source_of(plan, hall, None)
    assert "'" not in provenance_section(plan, origin, "plain", ()).commands[0]
    (missing,) = simulation_section(nothing, "plain/instance.json").missing
    assert missing.command == "spareopt simulate plain/instance.json --plan plain/plan.json -o simulation"


def test_changes_are_told_of_the_scenario_that_makes_them() -> None:
    """Proves that a scenario whose name ends another one's is not told with the changes of that one, which the plan
    was made of; and that a scenario called nominal has a row of its own beside the nominal plan."""
    instance = spareopt.read_instance(HALL, scenarios=["very dear"])
    plan = spareopt.solve(instance)
    rows = analyses._scenarios(plan, instance)
    assert [(row.name, row.changes) for row in rows] == [("dear", ("designs.wide.rack_price=2x",))]
    row = InScenario("nominal", "", (), Answer({}, "infeasible", why="none"), None, (), None)
    none: Analysis[Any] = Analysis(why="it was not asked for here")
    made = Analyses(plan, none, none, none, none, none, Analysis((row,)), none)
    (table,) = scenarios_section(plan, instance, made, known=True).tables
    first, second = table.rows
    assert first[0] == second[0] == "nominal"
    change = table.headers.index("change")
    assert "wide" in str(first[table.headers.index("best plan")]) and second[table.headers.index("best plan")] == ""
    assert getattr(second[change], "text", "") == "no plan is possible"


def test_changed_folders_are_refused(folder: Path, plan: Plan, hall: Instance, tmp_path: Path) -> None:
    """Proves that numbers that somebody changed in a result folder are not told as the optimiser's, nor beside it."""
    text = (folder / "plan.json").read_text(encoding="utf-8")
    told = json.loads(text)
    told["certificate"]["gap"] = told["certificate"]["gap"] / 2 + 1e-9
    (folder / "plan.json").write_text(json.dumps(told), encoding="utf-8")
    page = tmp_path / "page.html"
    refused = CliRunner().invoke(main, ["report", str(folder), "-o", str(page)])
    assert refused.exit_code == 2 and "plan.json is not as it was written" in refused.stderr
    curve = spareopt.write_curve(spareopt.frontier(hall, "cost", points=2), hall, tmp_path / "curve")
    assert read_given([curve], plan) != NOTHING_GIVEN
    file = curve / "frontier.json"
    file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"--with.*frontier\.json is changed"):
        read_given([curve], plan)
    assert not page.exists()


@pytest.mark.parametrize("field", ["goodput", "cost_per_year", "availability"])
def test_scores_of_another_version_are_refused(plan: Plan, hall: Instance, field: str) -> None:
    """Proves that a plan whose score is not what its decisions give now is not told beside what-ifs that are of now."""
    evaluation = plan.evaluation.model_copy(update={field: getattr(plan.evaluation, field) * 1.001})
    with pytest.raises(InputError, match=f"{field}.*its decisions score .*solve it again"):
        report_of(plan.model_copy(update={"evaluation": evaluation}), hall, "page")
    certificate = plan.certificate.model_copy(update={"value": plan.certificate.value * 1.001})
    with pytest.raises(InputError, match="solve it again"):
        report_of(plan.model_copy(update={"certificate": certificate}), hall, "page")


@pytest.mark.parametrize("at", ["write_folder", "write_new_file"])
def test_ctrl_c_while_writing_leaves_nothing(
    plan: Plan, hall: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """Proves that Ctrl-C while the files are written leaves neither half a report nor a folder without its page."""
    monkeypatch.setattr(writing, "report_of", lambda *_, **__: Report("<p>page</p>", {"a.csv": b"1"}, ()))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writing, at, stop)
    with pytest.raises(StoppedError, match="nothing was written"):
        spareopt.write_report(plan, hall, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_that_costs_nothing_has_a_frontier() -> None:
    """Proves that prices of zero, as of hardware paid for long ago, end no frontier in a division by zero: what is
    within nothing of a cost of zero is exact."""
    designs = [{name: value for name, value in HALL["designs"][0].items() if name != "power"} | {"rack_price": "0 $"}]
    instance = spareopt.read_instance(HALL | {"designs": designs, "scenarios": {}})
    curve = spareopt.frontier(instance, "capital", points=3)
    (point,) = curve.points
    assert point.resource == 0.0 and point.goodput_within is not None
    free = Found(1.0, 1.0, 0.0, 0.5, spareopt.solve(instance), {})
    known = Curve(1e-4, [free], [(1.0, 0.0, 0.5)])
    assert known.worth_within(free) is None
    assert Curve(1e-4, [free], [(1.0, 0.0, 0.0)]).worth_within(free) == 0.0
    section = cost_section(spareopt.solve(instance), instance)
    assert section.finding.startswith("A useful GPU-hour costs 0 $")
    assert all(figure.axes for figure in (picture.draw() for picture in section.pictures))


def test_plans_cut_off_do_not_promise_to_come_again(plan: Plan, hall: Instance) -> None:
    """Proves that only a proven plan is told as one that solving again gives, byte for byte: where the clock or Ctrl-C
    ended the search, another machine may end at another plan."""
    origin, _ = source_of(plan, hall, None)

    def said(status: str) -> str:
        certificate = plan.certificate.model_copy(update={"status": status})
        cut = plan.model_copy(update={"certificate": certificate})
        return " ".join(provenance_section(cut, origin, "page", ()).sentences)

    assert "make the same plan again" in said("proven")
    for status in ("limit reached", "interrupted"):
        assert "make the same plan again" not in said(status) and status in said(status)


def test_best_plans_of_scenarios_say_among_which() -> None:
    """Proves that where what-ifs build zones alike, no plan of a scenario is called the best one of all: the report's
    own plan, which mixes zones, may be better there."""
    instance = spareopt.read_instance(HALL | {"zones": [{"name": "hall", "racks": 8, "count": 2}]})
    plan = spareopt.solve(instance, alike=True)
    none: Analysis[Any] = Analysis(why="it was not asked for here")
    row = InScenario("dear", "", (), Answer({}, "proven", plan), None, (), instance)
    for zones, best in ((instance, "best plan with zones alike"), (spareopt.read_instance(HALL), "best plan")):
        made = Analyses(plan, none, none, none, none, none, Analysis((row,)), none)
        section = scenarios_section(plan, zones, made, known=True)
        assert best in section.tables[0].headers
        assert section.finding.startswith(f"The {best} has") and section.sentences[0].startswith(f"The {best} in")


def test_folders_without_a_plan_say_so(folder: Path) -> None:
    """Proves that no name, and a plan folder without its plan.json, end in a message that says just that."""
    (folder / "plan.json").unlink()
    for run, message in (
        ("", "expected the name of a plan folder"),
        (" ", "expected the name of a plan folder"),
        (str(folder), "has no plan.json; expected a folder that holds plan.json and instance.json"),
    ):
        refused = CliRunner().invoke(main, ["report", run])
        assert refused.exit_code == 2 and message in " ".join(refused.stderr.split()), refused.output


def test_first_order_plans_are_not_told_as_exact() -> None:
    """Proves that a plan of the first-order model says so in its answer and its certificate, and that what a simulation
    is held against is the exact model's mean, which is another number."""
    instance = spareopt.read_instance("academic-1k")
    plan = spareopt.solve(instance, gap=0.01, model="first-order")
    answer, proof = answer_section(plan), proof_section(plan)
    assert any("published first-order model, not the exact one" in sentence for sentence in answer.sentences)
    assert "the plan's first-order score" in proof.sentences[0]
    result = spareopt.simulate(instance, plan.decisions, replications=2, years=0.3)
    exact, own = f"{result.exact.goodput:,.0f}", f"{plan.evaluation.goodput:,.0f}"
    assert exact != own
    none: Analysis[Any] = Analysis(why="it was not asked for here")
    section = simulation_section(
        Analyses(None, none, none, none, none, none, none, Analysis(result)), "x/instance.json"
    )
    assert section.finding.endswith(exact) and own not in section.finding


def test_scenarios_on_top_of_changes_say_so(plan: Plan, hall: Instance) -> None:
    """Proves that where the plan was made with changes, scenarios are told to come on top of them: twice the price of
    twice the price is four times."""
    none: Analysis[Any] = Analysis(why="it was not asked for here")
    row = InScenario("dear", "", (), Answer({}, "infeasible", why="none"), None, (), None)
    made = Analyses(plan, none, none, none, none, none, Analysis((row,)), none)
    changed = spareopt.solve(spareopt.read_instance(HALL, scenarios=["very dear"]))
    notes = scenarios_section(changed, hall, made, known=True).notes
    assert any("changes that further: With scenario very dear (designs.wide.rack_price=3x)" in note for note in notes)
    assert not any("further" in note for note in scenarios_section(plan, hall, made, known=True).notes)


def test_shares_of_nothing_are_refused() -> None:
    """Proves that where the least cost is zero, what is told in shares of it ends in a message, not in a division by
    zero."""
    designs = [{name: value for name, value in HALL["designs"][0].items() if name != "power"} | {"rack_price": "0 $"}]
    least = {"objective": {"kind": "cost", "goodput_target": 300}, "designs": designs, "scenarios": {}}
    instance = spareopt.read_instance(HALL | least)
    plan = spareopt.solve(instance)
    assert plan.certificate.value == 0.0
    with pytest.raises(InputError, match="the best plan costs nothing"):
        spareopt.near_optimal(instance, "1 %")
    with pytest.raises(InputError, match="the best plan costs nothing"):
        report_of(plan, instance, "page")


def test_pictures_of_sweeps_compare_what_can_be_compared() -> None:
    """Proves that points of different objectives are not drawn on one axis, that a cost falls from the worst point to
    the best one, and that a cost that starts from zero is no division by zero."""
    least = {"objective": {"kind": "cost", "goodput_target": 300}, "scenarios": {}}
    instance = spareopt.read_instance(HALL | least)
    goals = [{"kind": "goodput"}, {"kind": "cost", "goodput_target": 300}]
    with pytest.raises(ValueError, match=r"several objectives \(cost, goodput\)"):
        whole_sweep(instance, {"objective": goals}).plot.lines()
    prices: dict[Any, Any] = {"designs.wide.rack_price": ["0 $", "4 M$"]}
    energy: dict[Any, Any] = {"power.energy_price": ["0 $ per kWh", "0.1 $ per kWh"]}
    axes = whole_sweep(instance, prices | energy).plot.heat()
    assert "from worst to best −100.00 %" in " ".join(axes.figure.get_suptitle().split())
    assert "cost from nothing" in " ".join(whole_sweep(instance, prices).plot.lines().figure.get_suptitle().split())


def test_texts_of_json_files_may_hold_any_character(hall: Instance, tmp_path: Path) -> None:
    """Proves that emoji in a JSON instance, which JSON may escape as two halves, are read as what they are, and that
    half of one ends in a message with its field."""
    file = tmp_path / "hall.json"
    file.write_text(json.dumps(HALL | {"description": "a 🎉 مرحبا"}, ensure_ascii=True), encoding="utf-8")
    assert spareopt.read_instance(file).description == "a 🎉 مرحبا"
    file.write_text(json.dumps(HALL | {"description": "a \ud83c b"}), encoding="utf-8")
    with pytest.raises(InputError, match=r"description.*half a character"):
        spareopt.read_instance(file)
