"""Reports: what they say is what was computed, nothing comes from outside, nothing is lost, nothing is left out."""

from __future__ import annotations

import io
import json
import re
import shlex
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from click.testing import CliRunner

import spareopt
from spareopt import units
from spareopt.cli import main
from spareopt.errors import InputError, StoppedError
from spareopt.instance import Instance
from spareopt.plan import Plan
from spareopt.reports import analyses, findings
from spareopt.reports.analyses import Analyses, analyse, read_given
from spareopt.reports.page import page_of
from spareopt.reports.parts import Section
from spareopt.reports.plan_sections import answer_section, proof_section
from spareopt.reports.sources import solve_again, source_of
from spareopt.reports.writing import Report, report_of
from spareopt.simulation.setup import QUARTER
from spareopt.simulation.store import write_simulation
from spareopt.simulation.text import target_sentence
from spareopt.store import write_plan
from spareopt.wording import percent

ANCHORS = [
    "answer", "plan", "losses", "proof", "cost", "binding", "near", "frontier", "tornado", "scenarios", "simulation",
    "topology", "assumptions", "provenance", "words",
]  # fmt: skip
ENDS = ("low", "high")
VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}
SIX_MB = 6_000_000
HOSTILE = '<script>alert("x")</script>'
SITE = f"""\
# Where it all comes from: {HOSTILE} & others.
schema_version: 1
name: hall
description: 'A hall & {HOSTILE}'
notes: ['Assumption: {HOSTILE} holds', 'a < b']
zones:
  - {{name: hall, racks: 16}}   # 16 positions {HOSTILE}
designs:
  - name: wide
    trays_per_block: 18
    gpus_per_tray: 4
    intra_block_spares: {{from: 0, to: 2}}
    inter_block_spares: {{from: 0, to: 3}}
    rack_price: 4 M$
    power: {{gpu_full_limit: 1 kW, tray_other: 2 kW, tray_idle: 1 kW, rack_rest: 3 kW}}
failures:
  tray: {{rate: 2e-4 per h}}
repair_plans:
  - {{name: next-day, tray: {{hands_on: 2 h, off_crew: 22 h}}, yearly_cost: 1 M$ per year}}
checkpoint_plans:
  - {{name: best, period: best, save: 5 s, detection: 1 min, restart: 6 min}}
limits: {{capital: 130 M$}}
scenarios:
  dear:
    description: 'Racks cost more {HOSTILE}'
    overrides: {{designs.wide.rack_price: 2x}}
  faulty: {{overrides: {{failures.tray.rate: 2x}}}}
"""


class Outline(HTMLParser):
    """Reads a page, and fails where tags do not nest; remembers what the tests ask about."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and data.strip():
            self.text.setdefault(self.open[-1], []).append(" ".join(data.split()))


def outline(page: str) -> Outline:
    """The page as read; proves that it is well-formed."""
    reader = Outline()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


class Case:
    """A plan with its report, made once."""

    def __init__(self, instance: Instance, source: str | Path | None) -> None:
        self.instance, self.source = instance, source
        self.plan = spareopt.solve(instance)
        self.steps: list[str] = []
        self.report: Report = report_of(self.plan, instance, "my-report", source, on_step=self.steps.append)
        self.outline = outline(self.report.page)

    def section(self, anchor: str) -> Section:
        return next(section for section in self.report.sections if section.anchor == anchor)

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_csv(io.BytesIO(self.report.files[f"{name}.csv"]))


@pytest.fixture(scope="module")
def academic() -> Case:
    return Case(spareopt.read_instance("academic-1k"), None)


@pytest.fixture(scope="module")
def meta() -> Case:
    return Case(spareopt.read_instance("meta-2026"), None)


@pytest.fixture(scope="module")
def hall_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sites") / "hall.yaml"
    file.write_text(SITE, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def hall(hall_file: Path) -> Case:
    return Case(spareopt.read_instance(hall_file), hall_file)


@pytest.fixture(scope="module")
def run(hall: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_plan(hall.plan, hall.instance, tmp_path_factory.mktemp("runs") / "hall-plan")


@pytest.fixture(params=[pytest.param("academic", marks=pytest.mark.heavy), "meta", "hall"])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.getfixturevalue(request.param)
    return found


def test_every_section_is_there_in_order(case: Case) -> None:
    """Proves that a report has all sections, each with a finding as its title, anchors that the contents lead to, and
    a reason with a command or a sentence where an analysis is missing."""
    assert [section.anchor for section in case.report.sections] == ANCHORS
    shown = [text.replace("\u00a0", " ") for text in case.outline.text["h2"]]
    assert shown == ["Contents", *(" ".join(section.finding.split()) for section in case.report.sections)]
    targets = {attributes["id"] for _, attributes in case.outline.tags if "id" in attributes}
    links = [attributes["href"] or "" for tag, attributes in case.outline.tags if tag == "a"]
    assert {link[1:] for link in links if link.startswith("#")} <= targets
    assert [link for link in links if link.startswith("#")][1:] == [f"#{anchor}" for anchor in ANCHORS]
    for section in case.report.sections:
        assert section.sentences or section.missing or section.tables
        assert all(len(item.why) > 20 for item in section.missing)


def test_pages_can_be_read_by_all(case: Case) -> None:
    """Proves what screen readers need: a language, headings without jumps, ids of their own, captions, header cells
    with their direction, pictures with a title."""
    tags = case.outline.tags
    assert ("html", {"lang": "en"}) in tags and any(a.get("name") == "viewport" for t, a in tags if t == "meta")
    levels = [int(tag[1]) for tag, _ in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    names = [tag for tag, _ in tags]
    assert names.count("table") == names.count("caption") > 5
    assert all("scope" in attributes for tag, attributes in tags if tag == "th")
    drawings = [attributes for tag, attributes in tags if tag == "svg"]
    pictures = [picture for section in case.report.sections for picture in section.pictures]
    assert len(drawings) == len(pictures) > 3
    assert all(attributes["role"] == "img" for attributes in drawings)
    for element in re.findall(r"<svg.*?</svg>", case.report.page, re.DOTALL):
        root = ET.fromstring(element)
        assert root.find("{*}title") is not None and root.find("{*}desc") is not None


def test_nothing_comes_from_outside(case: Case) -> None:
    """Proves that a page loads nothing: no address but those of its own parts and of the files beside it."""
    for _, attributes in case.outline.tags:
        for name in ("src", "srcset", "href", "action", "poster", "data"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "my-report/", "data:")), target
    style = "".join(re.findall(r"<style>(.*?)</style>", case.report.page, re.DOTALL))
    assert "@import" not in style and not re.search(r"url\((?!#)", case.report.page)
    assert len(case.report.page.encode()) < SIX_MB


def test_files_beside_a_page_are_those_it_links(case: Case) -> None:
    """Proves that every file is listed and every link has its file, each picture as SVG, PNG and CSV."""
    links = [attributes["href"] or "" for tag, attributes in case.outline.tags if tag == "a"]
    linked = {unquote(link).removeprefix("my-report/") for link in links if not link.startswith("#")}
    pictures = {picture.name for section in case.report.sections for picture in section.pictures}
    expected = {f"{name}.{suffix}" for name in pictures for suffix in ("svg", "png", "csv")}
    assert linked == set(case.report.files) == expected | {"plan.json", "instance.json"}
    for name, content in case.report.files.items():
        if name.endswith(".svg"):
            assert ET.fromstring(content).tag.endswith("svg")
        if name.endswith(".png"):
            assert content.startswith(b"\x89PNG")


def test_numbers_beside_pictures_are_those_of_the_plan(hall: Case) -> None:
    """Proves that the CSV of each picture holds what was evaluated: shares that sum to 1, costs and power that sum to
    the plan's, and each scenario's optimum as solving it would give."""
    e = hall.plan.evaluation
    losses = hall.table("losses").set_index("loss")["share"]
    assert losses.to_dict() == pytest.approx(e.losses) and losses.sum() == pytest.approx(1.0)
    cost = hall.table("cost").set_index("what")["usd_per_year"]
    assert cost.drop("in all").sum() == pytest.approx(e.cost_per_year) == pytest.approx(cost["in all"])
    power = hall.table("power").set_index("part")["kw"]
    assert power.drop("site power").sum() == pytest.approx(e.site_power_kw) == pytest.approx(power["site power"])
    scenarios = hall.table("scenarios").set_index("scenario")["objective"]
    for name in ("dear", "faulty"):
        best = spareopt.solve(spareopt.read_instance(hall.source or "", scenarios=[name]))
        assert scenarios[name] == pytest.approx(best.certificate.value, rel=1e-4)
    assert scenarios["nominal"] == pytest.approx(hall.plan.certificate.value, rel=1e-4)
    topology = hall.table("topology").iloc[0]
    assert topology["blocks_per_zone"] == hall.plan.decisions.zones[0].racks


def test_titles_hold_the_numbers(hall: Case, meta: Case) -> None:
    """Proves that findings are made of the plan's own numbers: a title that was worded once for all would show."""
    for case in (hall, meta):
        e, c = case.plan.evaluation, case.plan.certificate
        proof = "optimal (gap below 0.0001 %)" if 0 < c.gap < 1e-6 else f"within {percent(c.gap)}"
        assert f"{e.goodput:,.1f} baseline GPUs, proven {proof}" in case.section("answer").finding
        assert f"{e.idle_spares.gpus:,} of {e.gpus:,} GPUs" in case.section("plan").finding
        assert percent(e.losses["useful"]) in case.section("losses").finding
        worst = max(share for name, share in e.losses.items() if name != "useful")
        assert percent(worst) in case.section("losses").finding
        assert f"the exact mean is {e.goodput:,.0f}" in case.section("simulation").finding
        assert case.plan.provenance.input_hash[:12] in case.section("provenance").finding
    assert "Limit that binds: whole placement groups" in meta.section("binding").finding
    per_hour = units.show(hall.plan.evaluation.cost_per_useful_gpu_hour or 0.0, units.MONEY)
    assert f"A useful GPU-hour costs {per_hour}" in hall.section("cost").finding
    assert meta.section("assumptions").finding.startswith("Every number of the score is exact"), "no price of energy"


def test_what_can_not_be_made_says_why(meta: Case) -> None:
    """Proves that a plan without prices and power has a whole report, whose sections say what is not known and why."""
    assert [item.why.partition(":")[0] for item in meta.section("cost").missing] == ["Cost", "Power"]
    (missing,) = meta.section("frontier").missing
    assert "neither prices nor the draw" in missing.why and missing.command.startswith("spareopt frontier my-report/")
    assert missing.command in meta.report.page
    assert [section.anchor for section in meta.report.sections if section.missing] == ["cost", "frontier"]


def test_hostile_texts_are_shown_not_run(hall: Case) -> None:
    """Proves that markup in notes, descriptions and comments of an instance is text on the page."""
    page = hall.report.page
    assert HOSTILE not in page and "A &lt; b" in page
    assert page.count("<script>") == 1
    places = [text for texts in hall.outline.text.values() for text in texts if HOSTILE in text]
    assert len(places) >= 5  # description, note, comment, head of the file, scenario


def test_plan_without_proof_stands_out(hall: Case) -> None:
    """Proves that a plan whose search was interrupted is told as NOT PROVEN in the title, and by how much it may be
    beaten, above all else."""
    gap = 0.0731
    certificate = hall.plan.certificate.model_copy(
        update={"status": "interrupted", "bound": hall.plan.certificate.value * (1 + gap), "gap": gap}
    )
    plan = hall.plan.model_copy(update={"certificate": certificate})
    answer = answer_section(plan)
    assert "NOT PROVEN (interrupted)" in answer.finding
    assert answer.warning == "NOT PROVEN: the search was interrupted. A better plan may exist, by up to 7.31 %."
    page = page_of("hall", "", [answer], {}, "r")
    assert '<p class="warning" role="note">' in page
    assert "NOT PROVEN" in findings.certificate_finding(plan)


def test_steps_are_told(hall: Case) -> None:
    """Proves that whoever waits is told of every analysis and of the page."""
    assert len(hall.steps) == 9 and hall.steps[-1] == "the pictures and the page"


def test_scenarios_stand_beside_the_nominal_plan(hall: Case) -> None:
    """Proves that each scenario has a panel to pick, and a row in the table: without a style sheet all is there.

    With racks at twice the price, the same racks still come within the capital.
    """
    section = hall.section("scenarios")
    assert [panel.name for panel in section.panels] == ["dear", "faulty"]
    best = spareopt.solve(spareopt.read_instance(hall.source or "", scenarios=["dear"]))
    (dear,) = [row for row in section.tables[0].rows if row[0] == "dear"]
    assert f"{best.evaluation.goodput:,.1f} baseline GPUs" in [getattr(cell, "text", cell) for cell in dear]
    assert any("designs.wide.rack_price=" in text for text in section.panels[0].sentences)
    radios = [attributes for tag, attributes in hall.outline.tags if tag == "input"]
    assert [attributes["type"] for attributes in radios] == ["radio"] * 2 and "checked" in radios[0]


def test_sources_are_found_by_themselves() -> None:
    """Proves that the shipped instance behind a plan is found where its changes lead to the plan's inputs, scenarios
    too; and that an instance which only has its name is not taken for it."""
    instance = spareopt.read_instance("academic-1k", scenarios=["half-mtbf"], overrides={"power.pue": 1.25})
    plan = spareopt.solve(instance, gap=0.01)
    bare = spareopt.read_instance(instance.resolved())
    source, told = source_of(plan, bare, None)
    assert source.name == "academic-1k" and source.comments.fields
    assert "staffing" in told.scenarios and told.input_hash() == instance.input_hash()
    command = solve_again(plan, "academic-1k", "my-plan")
    assert command == ("spareopt solve academic-1k --scenario half-mtbf --set power.pue=1.25 --gap 0.01 -o my-plan")
    other = spareopt.read_instance({**instance.resolved(), "description": "mine"})
    hidden = plan.model_copy(
        update={"provenance": plan.provenance.model_copy(update={"applied": (), "input_hash": other.input_hash()})}
    )
    assert source_of(hidden, other, None)[0].name is None
    with pytest.raises(InputError, match="the plan is of instance 'academic-1k', this is 'meta-2026'"):
        source_of(plan, bare, "meta-2026")


@pytest.fixture(scope="module")
def quick(hall: Case) -> Analyses:
    return analyse(hall.plan, hall.instance)


def test_alike_is_as_good_for_one_zone(hall: Case, quick: Analyses) -> None:
    """Proves that quick what-ifs start from the plan's own value where there is one zone, and say nothing of alike."""
    assert quick.alike is not None
    assert quick.alike.certificate.value == pytest.approx(hall.plan.certificate.value, rel=1e-4)
    assert not any("alike" in note for section in hall.report.sections for note in section.notes)


def test_analyses_that_fail_leave_a_reason(hall: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that one analysis that can't be made does not take the report with it; and that Ctrl-C does: half a
    report would not be the same each time."""

    def refuse(*_: object, **__: object) -> None:
        raise InputError("hall", [])

    monkeypatch.setattr(analyses, "tornado", refuse)
    assert analyse(hall.plan, hall.instance).tornado.why

    def stop(*_: object, **__: object) -> None:
        raise StoppedError("stopped")

    monkeypatch.setattr(analyses, "what_binds", stop)
    with pytest.raises(StoppedError):
        analyse(hall.plan, hall.instance)


@pytest.fixture(scope="module")
def curve(hall: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("curves") / "frontier"
    return spareopt.write_curve(spareopt.frontier(hall.instance, "cost", points=2), hall.instance, folder)


def test_results_given_are_shown(hall: Case, quick: Analyses, curve: Path) -> None:
    """Proves that a frontier that was made before stands in the report instead of the quick one, and is named."""
    given = read_given([curve], hall.plan)
    made = analyse(hall.plan, hall.instance, given)
    assert made.frontiers.result == (spareopt.read_frontier(curve),) != quick.frontiers.result
    assert made.frontiers.given == "frontier" and made.tornado.given == ""


def test_results_of_other_plans_are_refused(hall: Case, curve: Path, run: Path, tmp_path: Path) -> None:
    """Proves that what is given must be of the plan's inputs and decisions, one of each kind: numbers of another plan
    beside this one's would be a silent wrong answer."""
    changed = spareopt.read_instance(hall.source or "", overrides={"power.pue": 1.25})
    other = spareopt.write_curve(spareopt.frontier(changed, "cost", points=2), changed, tmp_path / "other")
    choice = hall.plan.decisions.zones[0].model_copy(update={"inter_block_spares": 3})
    decisions = hall.plan.decisions.model_copy(update={"zones": (choice,)})
    assert decisions != hall.plan.decisions
    simulation = spareopt.simulate(hall.instance, decisions, replications=2, years=0.01)
    foreign = spareopt.write_simulation(simulation, hall.instance, tmp_path / "foreign")
    for folders, message in (
        ([other], "is of other inputs"),
        ([foreign], "is a simulation of other decisions"),
        ([curve, curve], "is a second frontier against cost"),
        ([run], "was written by spareopt solve; expected a result folder of frontier"),
        ([tmp_path / "none"], "is no result folder"),
    ):
        with pytest.raises(InputError, match=f"--with.*{message}"):
            read_given(folders, hall.plan)


def test_nothing_is_overwritten(hall: Case, run: Path, tmp_path: Path) -> None:
    """Proves that neither a page nor a folder that stands there is touched, and that it is said before any work."""
    page, folder = tmp_path / "mine.html", tmp_path / "mine"
    page.write_text("mine")
    refused = CliRunner().invoke(main, ["report", str(run), "-o", str(page)])
    assert refused.exit_code == 2 and "already exists" in refused.stderr
    assert page.read_text() == "mine" and not folder.exists()
    page.unlink()
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    refused = CliRunner().invoke(main, ["report", str(run), "-o", str(page)])
    assert refused.exit_code == 2 and "already exists" in refused.stderr
    assert "-o" in refused.stderr and str(folder) in refused.stderr, "what to name, what to delete"
    assert [file.name for file in tmp_path.rglob("*")] == ["mine", "notes.txt"]
    for name in ("mine.htm", "", ".html", "a/b.html", "mine.html/"):
        with pytest.raises(InputError):
            spareopt.write_report(hall.plan, hall.instance, name and tmp_path / "new" / name)


def test_command_writes_page_and_folder(hall: Case, run: Path, hall_file: Path, tmp_path: Path) -> None:
    """Proves that the command writes what the function makes: a report depends on the plan alone, and read back from
    its folder it is the same, byte for byte; and that the JSON tells files, findings, what is missing."""
    page = tmp_path / "my-report.html"
    words = ["report", str(run), "-o", str(page), "--instance", str(hall_file), "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["report"], told["folder"]) == (str(page), str(tmp_path / "my-report"))
    assert [row["section"] for row in told["sections"]] == ANCHORS
    assert [row["finding"] for row in told["sections"]] == [section.finding for section in hall.report.sections]
    assert sorted(told["files"]) == sorted(file.name for file in (tmp_path / "my-report").iterdir())
    assert all((tmp_path / "my-report" / name).read_bytes() == hall.report.files[name] for name in told["files"])
    assert page.read_text(encoding="utf-8") == hall.report.page


def test_report_of_a_solve(hall_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that solve --report writes the page of its plan beside the result folder, and refuses one name for both
    before it solves."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["solve", str(hall_file), "-o", "plan", "--report", "page.html"])
    assert done.exit_code == 0 and "Written to page.html." in done.output, done.output
    assert {file.name for file in tmp_path.iterdir()} == {"plan", "page", "page.html"}
    assert (tmp_path / "page" / "plan.json").read_bytes() == (tmp_path / "plan" / "plan.json").read_bytes()
    refused = CliRunner().invoke(main, ["solve", str(hall_file), "-o", "two", "--report", "two.html"])
    assert refused.exit_code == 2 and "both ask for the folder two" in refused.stderr
    assert not (tmp_path / "two").exists()


def test_other_folders_are_told_what_they_are(curve: Path, run: Path, tmp_path: Path) -> None:
    """Proves that a folder which holds no plan ends in one message: what it is, and what to do with it."""
    runs = tmp_path / "runs"
    spareopt.solve_once(spareopt.read_instance("academic-1k"), runs, gap=0.01)
    with pytest.raises(spareopt.InfeasibleError):
        impossible = spareopt.read_instance("academic-1k", overrides={"limits.capital": "1 M$"})
        spareopt.solve_once(impossible, runs)
    infeasible = next(path.parent for path in runs.glob("*/manifest.json") if not (path.parent / "plan.json").exists())
    for folder, message in (
        (curve, "was written by spareopt frontier, which is no plan; shown beside a plan: spareopt report PLAN_FOLDER"),
        (runs, "holds 1 run; name one of them, such as"),
        (infeasible, "holds no plan: academic-1k is infeasible; try: spareopt explain"),
        (tmp_path / "none", "no such folder"),
        (run / "plan.json", "is a file"),
    ):
        refused = CliRunner().invoke(main, ["report", str(folder), "-o", str(tmp_path / "page.html")])
        assert refused.exit_code == 2 and message in " ".join(refused.stderr.split()), refused.output
    assert not (tmp_path / "page.html").exists()


def test_plan_and_instance_must_belong_together(hall: Case, tmp_path: Path) -> None:
    """Proves that a plan is not told with the prices of another instance."""
    other = spareopt.read_instance(hall.source or "", overrides={"designs.wide.rack_price": "5 M$"})
    with pytest.raises(InputError, match="the plan was made from other inputs"):
        spareopt.write_report(hall.plan, other, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_alike_says_among_which(hall: Case) -> None:
    """Proves that a bound on plans with zones alike is not told as one on all plans."""
    certificate = hall.plan.certificate.model_copy(update={"among": "plans with zones alike"})
    plan: Plan = hall.plan.model_copy(update={"certificate": certificate})
    assert "no plan that builds all zones of a class alike has more than" in findings.certificate_finding(plan)
    assert "no plan has more than" in findings.certificate_finding(hall.plan)


def test_a_target_is_answered(hall: Case, run: Path, tmp_path: Path) -> None:
    """Proves that the question with what confidence a quarter reaches a target is answered first of all, with its
    interval, in the words of the simulation, whether it was asked there or of the report: as a sentence, a table of
    what is reached with 50 to 99 %, and a line in the picture; and that two targets, or none, are refused."""
    aim = round(hall.plan.evaluation.goodput * QUARTER, -3)
    simulation = spareopt.simulate(hall.instance, hall.plan.decisions, replications=40, target=aim)
    folder = tmp_path / "sure"
    write_simulation(simulation, hall.instance, folder)
    reports = [
        report_of(hall.plan, hall.instance, "sure-report", hall.source, given=read_given([folder], hall.plan)),
        report_of(hall.plan, hall.instance, "sure-report", hall.source, target=aim),
    ]
    assert simulation.target is not None
    sentence = target_sentence(simulation, simulation.target)
    for report in reports:
        found = {section.anchor: section for section in report.sections}
        assert sentence in found["answer"].sentences and sentence in found["simulation"].sentences
        assert [row[0] for row in found["simulation"].tables[0].rows] == ["50 %", "80 %", "90 %", "95 %", "99 %"]
        assert (
            f"the quarters reach {units.show_gpu_hours(aim)} useful" in report.page.replace("\n", " ")
            and ">target<" in report.page
        )
    assert "target" not in hall.section("simulation").finding
    for words, told in (
        (["--with", str(folder), "--target", "2 M"], "leave one of them out"),
        (["--target", "many"], "useful GPU-hours of a quarter above 0"),
    ):
        done = CliRunner().invoke(main, ["report", str(run), "-o", str(tmp_path / "no.html"), *words])
        assert done.exit_code == 2 and told in " ".join(done.stderr.split()), done.stderr
    assert not (tmp_path / "no.html").exists()


@pytest.mark.parametrize(
    ("gap", "title", "claim"),
    [
        (1e-9, "proven optimal (gap below 0.0001 %)", "no search could gain 0.0001 % or more"),
        (0.0, "proven optimal (gap 0 %)", "no search could find a better one"),
        (5e-6, "proven within 0.0005 %", "a longer search could gain"),
    ],
)
def test_a_gap_is_told_as_far_as_it_matters(hall: Case, gap: float, title: str, claim: str) -> None:
    """Proves that a gap too small to matter is called optimal, without powers of ten and what they are worth, and that
    one that matters keeps its number."""
    c = hall.plan.certificate
    counts = hall.plan.candidates.model_copy(update={"dominated": 1, "kept": 1})
    plan = hall.plan.model_copy(
        update={"certificate": c.model_copy(update={"gap": gap, "status": "proven"}), "candidates": counts}
    )
    assert findings.answer_finding(plan).endswith(title)
    assert claim in findings.certificate_finding(plan)
    told = " ".join(proof_section(plan).sentences)
    assert ("is worth at most" in told) == (gap > 1e-6)
    assert "1 were" not in told
    assert "e-" not in " ".join([*answer_section(plan).sentences, findings.answer_finding(plan)])


def test_what_makes_a_report_whole_is_told(hall: Case, run: Path, hall_file: Path, tmp_path: Path) -> None:
    """Proves that a report of a user's own file, made without it, prints a command that makes the whole report as it
    stands, once the file is named: under another name, with all that was asked."""
    page = tmp_path / "my-report.html"
    done = CliRunner().invoke(main, ["report", str(run), "-o", str(page), "--target", "2 M"])
    assert done.exit_code == 0, done.output
    assert "Missing" in done.output and "Scenarios" in done.output
    command = shlex.split(done.output.splitlines()[-1].partition("spareopt ")[2])
    assert command[-2:] == ["--target", "2 M"] and command[command.index("--instance") + 1] == "FILE"
    whole = CliRunner().invoke(main, [str(hall_file) if word == "FILE" else word for word in command])
    assert whole.exit_code == 0 and "Missing" not in whole.output and "Next: open it" in whole.output, whole.output


def test_tables_have_no_empty_column(case: Case) -> None:
    """Proves that what an instance does not state, such as prices, leaves no empty column in a table of its report."""
    for section in case.report.sections:
        for table in section.tables:
            for place, header in enumerate(table.headers):
                cells = [row[place] for row in table.rows]
                texts = [cell if isinstance(cell, str) else cell.text for cell in cells]
                assert not header or not texts or any(texts), (table.caption, header)


def test_tornado_says_whether_the_plan_changes(quick: Analyses) -> None:
    """Proves that the finding names the input that moves most, and says in words when no end changes the plan."""
    result = quick.tornado.result
    assert result is not None
    kept = [
        bar.model_copy(update={end: getattr(bar, end).model_copy(update={"decisions_change": False}) for end in ENDS})
        for bar in result.bars
    ]
    still = findings.tornado_finding(result.model_copy(update={"bars": kept}))
    assert still.startswith("What moves the objective most is: ")
    assert f"the plan stays the best at all {2 * len(kept)} ends" in still
    bar = kept[0]
    other = [bar.model_copy(update={"low": bar.low.model_copy(update={"decisions_change": True})}), *kept[1:]]
    assert f"at 1 of {2 * len(kept)} ends another plan is best" in findings.tornado_finding(
        result.model_copy(update={"bars": other})
    )
