"""Levers, sessions and exports of ``spareopt explore``, without a browser."""

from __future__ import annotations

import json
import re
import shlex
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import spareopt
from spareopt import cli_explore, instances
from spareopt.cli import main
from spareopt.conflicts import explain_infeasible
from spareopt.errors import InputError
from spareopt.exploring import parts, solving
from spareopt.exploring import session as sessions
from spareopt.exploring.levers import Lever, changes_of, levers_of, positions
from spareopt.exploring.session import Exploration, Session
from spareopt.exploring.solving import Desk, Question, Reply
from spareopt.exploring.what_ifs import (
    KeptWhatIf,
    as_overlay,
    comparison_table,
    keep,
    scenario_name,
    solve_command,
    solved_by,
)
from spareopt.instance import Instance
from spareopt.overlays.overlay import is_name, overlay_text
from spareopt.plan import Plan
from spareopt.what_if import Answer, Changes, SolveOptions, WhatIf, answer, changed
from spareopt.workers import READY
from tests.simulated_cases import only_decisions

PATIENCE = 30.0  # s, of a busy machine


@pytest.fixture(scope="module")
def academic() -> Instance:
    return spareopt.read_instance("academic-1k")


@pytest.fixture(scope="module")
def nominal(academic: Instance) -> Answer:
    return answer(WhatIf(academic))


@pytest.fixture(scope="module")
def levers(academic: Instance, nominal: Answer) -> tuple[Lever, ...]:
    assert nominal.plan is not None
    return levers_of(academic, nominal.plan.decisions)


def lever(levers: tuple[Lever, ...], path: str) -> Lever:
    return next(item for item in levers if item.key == path)


def solved(*words: str) -> dict[str, Any]:
    """The plan that the command line finds."""
    result = CliRunner().invoke(main, ["solve", *words, "--json"])
    assert result.exit_code == 0, result.output
    plan: dict[str, Any] = json.loads(result.stdout)
    return plan


@pytest.mark.parametrize("name", instances.names())
def test_every_change_of_every_lever_is_a_valid_instance(name: str) -> None:
    """Proves that both ends of each lever, where it starts and its cap taken out, are changes that an instance takes.

    Each changes the instance, but where it stands; each lies where the slider is put for it.
    """
    instance = spareopt.read_instance(name)
    found = levers_of(instance, only_decisions(instance))
    groups = {item.group for item in found}
    assert groups >= {"limits", "faults", "repair and recovery"}
    assert len({item.key for item in found}) == len(found)
    for item in found:
        assert item.stated is None or item.stated in item.stops
        assert item.start in item.stops
        assert item.read(item.stated) == {}
        for text in {item.stops[0], item.start, item.stops[-1], None if item.off else item.start}:
            then = changed(instance, item.read(text))
            assert (then.input_hash() == instance.input_hash()) == (text == item.stated), (item.name, text)
            assert text is None or item.stops[item.nearest(text)] == text
    stated = levers_of(instance, None)
    assert all(item.stated is not None for item in stated)
    assert {item.key for item in stated} <= {item.key for item in found}


def test_levers_know_what_is_stated_and_what_a_plan_uses(levers: tuple[Lever, ...], nominal: Answer) -> None:
    """Proves that a stated cap starts where it stands, and one that is not where the plan just fits: by hand."""
    assert nominal.plan is not None
    assert lever(levers, "limits.yearly_cost").stated == "1.55 M$ per year"
    capital = lever(levers, "limits.capital")
    assert (capital.stated, capital.start, capital.sense) == (None, "32 M$", "at most")
    assert nominal.plan.evaluation.capital == 32e6
    fewest, most = (lever(levers, f"limits.working_gpus.{end}") for end in ("minimum", "maximum"))
    assert (fewest.stated, most.start) == ("960", f"{nominal.plan.evaluation.working_gpus}")
    assert min(map(int, most.stops)) >= 960  # the instance asks for so many
    mtbf = lever(levers, "failures.tray.mtbf")
    assert (mtbf.now, mtbf.stops[0], mtbf.stops[-1], mtbf.stated) == (("165 d",), "0.25x", "4x", "1x")


def test_levers_reach_domains_guarantees_and_small_counts() -> None:
    """Proves that caps on a probability keep their digits, few crews can be more, and domains have levers of their own.

    A guarantee is taken out as a whole: its probability alone is required.
    """
    feed = {"name": "feed.a", "mtbf": "2 year", "spans": "8 racks", "repair": {"hands_on": "4 h"}}
    guarantee = {"usable_blocks": 240, "probability": 0.999}
    overrides = {"zones.zone.guarantee": guarantee, "failures.domains": [feed], "limits.crews": 1}
    instance = spareopt.read_instance("gb200-4x256", overrides=overrides)
    found = levers_of(instance, None)
    promise = lever(found, "zones.zone.guarantee.probability")
    assert (promise.stated, promise.sense) == ("0.999", "at least")
    assert changed(instance, promise.read(None)).zones[0].guarantee is None
    assert lever(found, "limits.crews").stops == ("1", "2", "3", "4", "5")
    for path in ("failures.domains.feed.a.mtbf", "failures.domains.*.repair.hands_on"):
        item = lever(found, path)
        assert changed(instance, item.read("0.5x")).failures.domains[0] != instance.failures.domains[0]


def test_a_lever_takes_what_set_takes_and_nothing_else(academic: Instance, levers: tuple[Lever, ...]) -> None:
    """Proves that other values than stops are read as ``--set`` would, and put the slider near; others are refused."""
    cost = lever(levers, "limits.yearly_cost")
    assert cost.read("1 M$ per year") == {"limits.yearly_cost": "1 M$ per year"}
    assert cost.stops[cost.nearest("0.81 M$ per year")] == "800 k$ per year"
    assert cost.nearest("9 G$ per year") == len(cost.stops) - 1
    assert cost.read(None) == {"limits.yearly_cost": None}
    assert lever(levers, "failures.tray.mtbf").read("80 d") == {"failures.tray.mtbf": "80 d"}
    repair = lever(levers, "repair_plans.*.tray.hands_on")
    assert changed(academic, repair.read("0.5x")).repair_plans[0].tray != academic.repair_plans[0].tray
    mtbf = lever(levers, "failures.tray.mtbf")
    for item, text in ((repair, "3 h"), (cost, " "), (repair, None), (cost, "null"), (mtbf, "~"), (cost, "&a")):
        with pytest.raises(InputError):
            item.read(text)


def test_positions_are_where_changes_come_from(levers: tuple[Lever, ...]) -> None:
    """Proves that levers put where changes stand for make the same changes; what no lever moves has no place."""
    texts = {item.key: item.stated for item in levers}
    texts |= {"limits.yearly_cost": None, "limits.capital": "30 M$", "failures.tray.mtbf": "0.5x"}
    changes = changes_of(levers, texts)
    assert changes == {"limits.yearly_cost": None, "limits.capital": "30 M$", "failures.tray.mtbf": "0.5x"}
    assert positions(levers, changes) == texts
    assert positions(levers, {"zones.cluster.racks": 100}) is None


@pytest.mark.parametrize(
    "given",
    [
        "academic-1k",
        "academic-1k --scenario rsc-2-rate --set limits.yearly_cost='1.7 M$ per year' --set failures.tray.mtbf=2x "
        "--set 'repair_plans.*.tray.off_crew=2x'",
    ],
)
def test_what_is_kept_is_solved_by_the_command_line_to_the_same_value(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that exported scenarios, and the commands shown, solve to what the page found: with options given, too.

    ``--set`` is applied after scenarios: a scenario that did not hold it, or a field set twice, would solve otherwise.
    """
    monkeypatch.chdir(tmp_path)
    source, *words = shlex.split(given)
    settings = dict(words[i + 1].split("=", 1) for i, word in enumerate(words) if word == "--set")
    scenarios = [words[i + 1] for i, word in enumerate(words) if word == "--scenario"]
    instance = spareopt.read_instance(source, scenarios=scenarios, overrides=settings)
    asked: list[Changes] = [
        {"limits.yearly_cost": "1.5 M$ per year", "failures.tray.mtbf": "0.5x"},
        {"limits.yearly_cost": None, "limits.capital": "32 M$", "repair_plans.*.tray.off_crew": "0.6x"},
    ]
    kept: tuple[KeptWhatIf, ...] = ()
    for changes in asked:
        kept = keep(kept, "", answer(WhatIf(changed(instance, changes), changes)), instance, levers_of(instance, None))
    text = overlay_text(as_overlay(kept, given, instance))
    assert text == overlay_text(as_overlay(kept, given, instance))
    Path("kept.yaml").write_text(text, encoding="utf-8")
    for item in kept:
        plan = item.answer.plan
        assert plan is not None
        for command in (
            solved_by(given, "kept.yaml", item.name), solve_command(given, instance, item.answer.changes),
        ):  # fmt: skip
            found = solved(*shlex.split(command)[2:])
            assert found["certificate"]["value"] == pytest.approx(plan.certificate.value, rel=1e-9), command
            assert found["decisions"] == plan.model_dump(mode="json")["decisions"]


def test_what_was_exported_can_be_explored_and_exported_again(
    academic: Instance, nominal: Answer, levers: tuple[Lever, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that what is kept upon an earlier export stands beside it, under a name of its own."""
    monkeypatch.chdir(tmp_path)
    first = keep((), "first", replace(nominal, changes={"limits.floor": 127}), academic, levers)
    Path("first.yaml").write_text(overlay_text(as_overlay(first, "academic-1k", academic)), encoding="utf-8")
    given = "academic-1k --overlay first.yaml --scenario first"
    upon = spareopt.read_instance("academic-1k", overlays=["first.yaml"], scenarios=["first"])
    second = keep((), "first", replace(nominal, changes={"limits.crews": 3}), upon, levers)
    Path("second.yaml").write_text(overlay_text(as_overlay(second, given, upon)), encoding="utf-8")
    read = spareopt.read_instance(
        "academic-1k", overlays=["first.yaml", "second.yaml"], scenarios=["first", second[0].name]
    )
    assert (read.limits.floor, read.limits.crews) == (127, 3)
    Path("first.yaml").unlink()
    assert as_overlay(second, given, upon).scenarios.keys() == {"first 2"}


def test_the_page_of_the_documentation_shows_what_is_exported(academic: Instance, levers: tuple[Lever, ...]) -> None:
    """Proves that the overlay on docs/explore.md is, but for the gap, what the page exports for its picture."""
    changes = {"limits.yearly_cost": "1.8 M$ per year", "failures.tray.mtbf": "0.5x"}
    kept = keep((), "", answer(WhatIf(changed(academic, changes), changes)), academic, levers)
    page = (Path(__file__).parents[1] / "docs" / "explore.md").read_text(encoding="utf-8")
    block = page.split("<!-- file: what-ifs.yaml -->\n```yaml\n")[1].split("```")[0]
    text = overlay_text(as_overlay(kept, "academic-1k", academic))
    gap = re.compile(r"within [\d.]+ %")  # depends on the solver's path
    assert gap.sub("", text) == gap.sub("", block)


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("Büro", "Buro"),
        ('a "quoted" <b>name</b>', "a quoted b name /b"),
        ("予算", "what-if"),
        ("  --set x=y", "set x y"),
        ("", "what-if"),
        ("nominal", "nominal 2"),
        ("budget-cut-10", "budget-cut-10 2"),
        ("x" * 200, "x" * 80),
        ("null", "null"),
        ("1e3", "1e3"),
    ],
)
def test_any_name_becomes_a_scenario(
    called: str, name: str, academic: Instance, nominal: Answer, tmp_path: Path
) -> None:
    """Proves that whatever a planner types names a scenario, unlike those there are, which an overlay holds."""
    assert is_name(name)
    taken = {*academic.scenarios, "nominal", "none"}
    assert scenario_name(called, taken) == name
    again = scenario_name(called, {*taken, name})
    assert is_name(again) and again not in {*taken, name}
    item = KeptWhatIf(name, called, replace(nominal, changes={"limits.floor": 127}))
    (tmp_path / "kept.yaml").write_text(overlay_text(as_overlay([item], "academic-1k", academic)), encoding="utf-8")
    read = spareopt.read_instance("academic-1k", overlays=[tmp_path / "kept.yaml"], scenarios=[name])
    assert read.limits.floor == 127
    assert called.split() == [] or read.scenarios[name].description


def test_the_same_changes_are_kept_once(academic: Instance, nominal: Answer, levers: tuple[Lever, ...]) -> None:
    """Proves that a what-if can't be kept twice or before it is answered, and that its numbers are in the table."""
    moved = replace(nominal, changes={"limits.capital": "30 M$"})
    kept = keep((), "", moved, academic, levers)
    assert [item.name for item in kept] == ["capital 30 M"]
    assert kept[0].called == "capital 30 M$"
    with pytest.raises(InputError, match="kept already, as 'capital 30 M'"):
        keep(kept, "other", moved, academic, levers)
    with pytest.raises(InputError, match="not answered yet"):
        keep(kept, "", None, academic, levers)
    other = Answer({"limits.capital": "1 M$"}, "infeasible", why="too little")
    table = comparison_table(keep(kept, "none", other, academic, levers))
    assert nominal.plan is not None
    assert table["objective"][0] == nominal.plan.certificate.value
    assert list(table["name"]) == ["capital 30 M", "none 2"]
    assert list(table["status"]) == ["proven", "infeasible"]
    with pytest.raises(InputError, match="nothing is kept yet"):
        as_overlay((), "academic-1k", academic)


class Solver:
    """A worker process that is none: it replies when the test says so."""

    made: list[Solver]

    def __init__(self, _: object) -> None:
        self.connection, self._there = Pipe()
        self._there.send(READY)
        self.asked: list[Question] = []
        self.ended = threading.Event()
        type(self).made.append(self)

    def give(self, _: int, question: Question) -> None:
        self.asked.append(question)

    def answer(self) -> Any:
        return self.connection.recv()

    def reply(self, found: object) -> None:
        self._there.send(found)

    def end(self) -> None:
        self.ended.set()


@pytest.fixture
def solvers(monkeypatch: pytest.MonkeyPatch) -> list[Solver]:
    """The workers that desks make."""
    Solver.made = []
    monkeypatch.setattr(solving, "Worker", Solver)
    return Solver.made


def until(holds: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    waited = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if holds():
            return
        waited.wait(0.01)
    raise AssertionError("did not come to hold")


def test_a_question_that_is_superseded_is_given_up(academic: Instance, solvers: list[Solver]) -> None:
    """Proves that the next question ends the process at work, that its answer is never told, and that known ones are.

    Questions asked in quick succession are taken up once; what was proven before is not solved again.
    """
    told: list[tuple[int, Reply]] = []
    desk = Desk(SolveOptions(), lambda number, reply: told.append((number, reply)), settled=0.05)
    first, second = (
        WhatIf(changed(academic, {"limits.floor": floor}), {"limits.floor": floor}) for floor in (120, 125)
    )
    try:
        desk.ask(first)
        until(lambda: any(solver.asked for solver in solvers))
        desk.ask(WhatIf(academic))
        number = desk.ask(second)
        until(lambda: len(solvers) == 2 and bool(solvers[1].asked))
        assert solvers[0].ended.wait(PATIENCE)
        solvers[0].reply(Answer(first.changes, "proven"))
        solvers[1].reply(Answer(second.changes, "proven"))
        until(lambda: bool(told))
        assert [(n, reply.answer.changes) for n, reply in told] == [(number, {"limits.floor": 125})]
        assert [question.what_if for question in solvers[1].asked] == [second]
        again = desk.ask(second)
        until(lambda: len(told) == 2)
        assert told[1][0] == again and len(solvers[1].asked) == 1
    finally:
        desk.close()
    assert solvers[1].ended.wait(PATIENCE)


def test_an_infeasible_question_is_explained_and_a_lost_one_told(academic: Instance, solvers: list[Solver]) -> None:
    """Proves that infeasible what-ifs are told at once and again with what conflicts; dead processes and errors too."""
    told: list[Reply] = []
    desk = Desk(SolveOptions(), lambda _, reply: told.append(reply), settled=0.0)
    too_little = {"limits.yearly_cost": "0.5 M$ per year"}
    what_if = WhatIf(changed(academic, too_little), too_little)
    try:
        desk.ask(what_if)
        until(lambda: any(solver.asked for solver in solvers))
        solvers[0].reply(Answer(too_little, "infeasible", why="too little"))
        until(lambda: len(solvers[0].asked) == 2)
        assert solvers[0].asked[1].explain and told[0].explaining
        why = explain_infeasible(what_if.instance)
        solvers[0].reply(why)
        until(lambda: len(told) == 2)
        assert told[1].infeasibility == why and not told[1].explaining
        desk.ask(WhatIf(academic))
        until(lambda: len(solvers[0].asked) == 3)
        solvers[0].reply(ZeroDivisionError("by hand"))
        until(lambda: len(told) == 3)
        assert told[2].answer.status == "failed" and "ZeroDivisionError: by hand" in told[2].answer.why
        desk.ask(WhatIf(academic))
        until(lambda: len(solvers[0].asked) == 4)
        solvers[0].reply(None)  # as where the process died
        until(lambda: len(told) == 4)
        assert told[3].answer.status == "lost" and solvers[0].ended.is_set()
    finally:
        desk.close()


def test_nothing_is_at_work_before_a_page_is_there(academic: Instance, solvers: list[Solver]) -> None:
    """Proves that a desk has no process before it is started, one however often it is, and none once it is closed.

    Otherwise each request for the address, from whatever page of the browser, would cost a process.
    """
    desk = Desk(SolveOptions(), lambda *_: None)
    assert solvers == []
    desk.start()
    desk.start()
    until(lambda: len(solvers) == 1)
    desk.close()
    assert solvers[0].ended.wait(PATIENCE)
    desk.start()
    closed = Desk(SolveOptions(), lambda *_: None)
    closed.close()
    closed.ask(WhatIf(academic))
    assert len(solvers) == 1


def test_a_process_that_cannot_be_started_is_told_and_tried_again(
    academic: Instance, solvers: list[Solver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that a page does not say for ever that it solves where there is no memory for a process."""

    def none(_: object) -> Solver:
        raise OSError("no memory")

    monkeypatch.setattr(solving, "Worker", none)
    told: list[Reply] = []
    desk = Desk(SolveOptions(), lambda _, reply: told.append(reply), settled=0.0)
    try:
        desk.ask(WhatIf(academic))
        until(lambda: bool(told))
        assert told[0].answer.status == "failed" and "OSError: no memory" in told[0].answer.why
        monkeypatch.setattr(solving, "Worker", Solver)
        desk.ask(WhatIf(academic))
        until(lambda: bool(solvers) and bool(solvers[0].asked))
        solvers[0].reply(Answer({}, "proven"))
        until(lambda: len(told) == 2)
        assert told[1].answer.status == "proven"
    finally:
        desk.close()


class Nobody:
    """A desk that only counts what it is asked."""

    def __init__(self, *_: object) -> None:
        self.asked: list[WhatIf | None] = []

    def ask(self, what_if: WhatIf | None) -> int:
        self.asked.append(what_if)
        return len(self.asked)

    def start(self) -> None: ...

    def know(self, *_: object) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def session(
    academic: Instance, nominal: Answer, levers: tuple[Lever, ...], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    """A tab that the test answers by hand."""
    monkeypatch.setattr(sessions, "Desk", Nobody)
    yield Session(Exploration(academic, "academic-1k", levers, Reply(nominal), SolveOptions()), lambda *_: None)


def put(session: Session, **texts: str | None) -> None:
    """Move levers by the last part of their path."""
    stated = {item.key: item.stated for item in session.exploration.levers}
    for name, text in texts.items():
        stated[f"limits.{name}"] = text
    session.move(stated)


def with_changes(nominal: Answer, changes: Changes) -> Reply:
    return Reply(replace(nominal, changes=changes))


def test_an_answer_to_former_levers_is_never_taken(session: Session, nominal: Answer) -> None:
    """Proves that a tab takes only the reply to where its levers stand, and shows none while that is awaited."""
    put(session, capital="30 M$")
    assert session.reply is None and session.waiting is not None
    put(session, capital="31 M$")
    assert not session.told(1, with_changes(nominal, {"limits.capital": "30 M$"}))
    assert session.reply is None
    assert session.told(2, with_changes(nominal, {"limits.capital": "31 M$"}))
    assert session.reply is not None and session.waiting is None
    put(session, capital="nonsense")
    assert (session.reply, session.changes, session.waiting) == (None, None, None)
    assert "limits.capital" in session.refusal and "nonsense" in session.refusal
    assert not session.told(2, with_changes(nominal, {}))
    assert session.command() == ""
    with pytest.raises(InputError, match="not answered yet"):
        session.keep("")


def test_commands_solve_as_the_page_does(session: Session, nominal: Answer) -> None:
    """Proves that the options of solving are in the commands shown: another gap could find another plan."""
    session.exploration = replace(session.exploration, solving=" --gap 0.01 --alike")
    put(session, capital="30 M$")
    session.told(1, with_changes(nominal, {"limits.capital": "30 M$"}))
    session.keep("")
    expected = 'spareopt solve academic-1k --set limits.capital="30 M$" --gap 0.01 --alike'
    assert session.command() == expected
    first, second = pd.read_csv(StringIO(session.table())).to_dict(orient="records")
    assert (first["name"], second["name"], second["changes"]) == (
        "as it stands",
        "capital 30 M",
        "limits.capital=30 M$",
    )
    assert nominal.plan is not None
    assert first["objective"] == second["objective"] == nominal.plan.certificate.value
    assert session.commands("a b.yaml") == [
        "spareopt solve academic-1k --overlay 'a b.yaml' --scenario 'capital 30 M' --gap 0.01 --alike"
    ]


def test_a_plan_is_held_against_the_nominal_one_and_the_one_before(session: Session, nominal: Answer) -> None:
    """Proves which plans stand side by side as levers move: never the same one twice."""
    assert [solved.name for solved in session.compared()] == ["now"]
    put(session, capital="30 M$")
    session.told(1, with_changes(nominal, {"limits.capital": "30 M$"}))
    assert [solved.name for solved in session.compared()] == ["as it stands", "now"]
    put(session, capital="31 M$")
    session.told(2, with_changes(nominal, {"limits.capital": "31 M$"}))
    assert [solved.name for solved in session.compared()] == ["as it stands", "the one before", "now"]
    put(session)
    session.told(3, with_changes(nominal, {}))
    assert [solved.name for solved in session.compared()] == ["the one before", "now"]


def test_an_infeasible_what_if_leads_back_to_a_plan(session: Session, academic: Instance) -> None:
    """Proves that the ways out offered are changes of limits that levers make, and that they have a plan."""
    put(session, yearly_cost="0.5 M$ per year")
    changes = {"limits.yearly_cost": "0.5 M$ per year"}
    found = answer(WhatIf(changed(academic, changes), changes))
    assert found.status == "infeasible"
    assert session.told(1, Reply(found, explain_infeasible(changed(academic, changes))))
    ways = session.ways_out()
    assert [list(way) for way in ways] == [["limits.yearly_cost"]]
    assert answer(WhatIf(changed(academic, {**changes, **ways[0]}))).plan is not None
    assert session.reply is not None
    text = parts.headline(session.reply, session.exploration.levers) + parts.conflict(session.reply, session.instance())
    assert "No plan meets every limit (proven)." in text
    assert "limits.yearly_cost: the least possible is above" in text
    alike = parts.headline(session.reply, session.exploration.levers, alike=True)
    assert "No plan that builds all zones of a class alike meets every limit" in alike
    assert "yearly cost at most 500 k$ per year" in text.lower()


def test_parts_say_what_is_proven_and_let_no_markup_through(session: Session, nominal: Answer) -> None:
    """Proves that a headline says what is proven or not, and that names and messages are shown as they are typed."""
    levers = session.exploration.levers
    assert "proven within" in parts.headline(Reply(nominal), levers)
    assert nominal.plan is not None
    certificate = nominal.plan.certificate.model_copy(update={"status": "limit reached", "gap": 0.02})
    plan: Plan = nominal.plan.model_copy(update={"certificate": certificate})
    unproven = parts.headline(Reply(replace(nominal, status="limit reached", plan=plan)), levers)
    assert "NOT PROVEN (limit reached)" in unproven and "by up to 2.00 %" in unproven
    for status, words in (("no plan in time", "NOT PROVEN"), ("lost", "lost"), ("failed", "failed")):
        assert words in parts.headline(Reply(Answer({}, status, why="<b>&")), levers)  # type: ignore[arg-type]
    wicked = '<script>alert("1")</script>'
    kept = [KeptWhatIf("plain", wicked, replace(nominal, changes={"limits.capital": wicked}))]
    shown = [
        parts.kept_part(kept, nominal, levers), parts.refused(wicked), parts.message(wicked),
        parts.command_part(wicked, [wicked]), parts.solving({"limits.capital": wicked}, levers, 3.0),
        parts.headline(Reply(Answer({"limits.capital": wicked}, "infeasible", why=wicked)), levers),
    ]  # fmt: skip
    for text in shown:
        assert "<script>" not in text and "&lt;script&gt;" in text


def test_the_parts_of_a_plan_hold_its_numbers(session: Session, nominal: Answer, academic: Instance) -> None:
    """Proves that plan, losses, limits and score are those that the command line prints."""
    plan = nominal.plan
    assert plan is not None
    assert "day-shift" in parts.plan_part(plan, academic) and "644 W" in parts.plan_part(plan, academic)
    losses = parts.losses(plan, plan)
    assert (
        losses.count("<i style")
        == losses.count("<b style")
        == sum(share > 0 for share in plan.evaluation.losses.values()) - 1
    )
    assert "86.82 % of all GPU-hours is useful" in losses
    assert "1.541 M$ per year" in parts.limits_html(plan)
    assert "Certificate (proven)" in parts.score_part(plan, academic)
    assert parts.changes_part(session.compared()) == ""
    assert "With" not in parts.title(academic)
    halved = spareopt.read_instance("academic-1k", scenarios=["half-mtbf"])
    assert "With scenario half-mtbf (failures.tray.mtbf=0.5x" in parts.title(halved)


def test_explore_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Proves that without Panel, with a port that is taken or an export that exists, nothing starts but one message."""
    (tmp_path / "there.yaml").write_text("mine\n", encoding="utf-8")

    def refused(*words: str) -> str:
        result = CliRunner().invoke(main, ["explore", "academic-1k", "--no-browser", *words])
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        return result.stderr

    assert "already exists" in refused("-o", str(tmp_path / "there.yaml"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(cli_explore, "find_spec", lambda _: object())
        assert "can't be had" in refused("--port", str(taken.getsockname()[1]))
    monkeypatch.setattr(cli_explore, "find_spec", lambda _: None)
    assert "pip install 'spareopt[explore]'" in refused()
