"""Pictures: they show the numbers of the result, can be read at the width of a phone, and are the same each time."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle

import spareopt
from spareopt import instances
from spareopt.binding import Binds
from spareopt.drawings import limits, losses, marginal, money, near, power, quarter, scenarios, topology, tornado
from spareopt.drawings import sweep as sweeps
from spareopt.drawings.hover import finding_of
from spareopt.drawings.sheet import POINTS, Sheet, width_of, wrapped
from spareopt.drawings.svg import svg_text
from spareopt.efficient import Frontier
from spareopt.errors import InputError
from spareopt.exposure import Tornado
from spareopt.instance import Instance
from spareopt.marginal import MarginalValues
from spareopt.pictures import save
from spareopt.plan import Plan
from spareopt.score_text import LOSS_NAMES, OPTIONAL_LOSSES
from spareopt.simulation import runs
from spareopt.simulation import simulate as simulating
from spareopt.simulation.result import Simulation
from spareopt.sweep_result import Sweep
from tests import fake_simulation as fake
from tests.coupled_instances import coupled_instance
from tests.drawn import bars_of, faults_of, svg_of, tooltips_of
from tests.test_workbook import a_plan

SLOW = ("h100-100k", "h100-16k-llama3", "power-capped-20mw", "tpu-like")
NAMES = [pytest.param(n, marks=pytest.mark.heavy) if n in SLOW else n for n in instances.names()]
DOCUMENTS = Path(__file__).parent / "golden" / "documents"
DOMAINS = [
    {"name": "cooling-loop", "spans": 8, "mtbf": "20000 h", "repair": {"hands_on": "8 h"}},
    {"name": "power-feed", "spans": 64, "mtbf": "80000 h", "repair": {"hands_on": "8 h"}},
    {"name": "leaf-switch", "spans": "zone", "mtbf": "80000 h", "repair": {"hands_on": "8 h"}},
    {"name": "substation", "spans": "site", "mtbf": "200000 h", "repair": {"hands_on": "8 h"}},
]
Solved = tuple[Instance, Plan]


@pytest.fixture(scope="module")
def solved() -> Callable[[str], Solved]:
    """Each shipped instance with a plan of it, solved once."""
    known: dict[str, Solved] = {}

    def get(name: str) -> Solved:
        if name not in known:
            instance = spareopt.read_instance(name)
            known[name] = instance, spareopt.solve(instance, gap=0.01)
        return known[name]

    return get


@pytest.fixture(scope="module")
def simulation() -> Iterator[Simulation]:
    """A year of quarters of the stand-in for the kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "replicate", fake.replicate)
        patch.setattr(simulating, "build", fake.system_of)
        instance = spareopt.read_instance("academic-1k")
        decisions = Plan.model_validate_json((DOCUMENTS / "plan-1.json").read_text(encoding="utf-8")).decisions
        yield spareopt.simulate(instance, decisions, replications=20, seed=1)


def document(kind: type[Any], name: str) -> Any:
    return kind.model_validate_json((DOCUMENTS / f"{name}-1.json").read_text(encoding="utf-8"))


def pictures(instance: Instance, plan: Plan) -> dict[str, Axes]:
    """Every picture of a plan that there is."""
    drawn = {
        "losses": losses.waterfall(plan.evaluation),
        "limits": limits.use(plan.evaluation),
        "money": money.split(plan, instance),
        "power": power.split(plan, instance),
        "topology": topology.cluster(instance, plan.decisions, evaluation=plan.evaluation),
    }
    return {name: axes for name, axes in drawn.items() if axes is not None}


def texts(axes: Axes) -> str:
    """All texts of a figure, with single spaces."""
    import matplotlib.text  # noqa: PLC0415

    found = axes.figure.figure.findobj(matplotlib.text.Text)
    return " ".join(" ".join(text.get_text().split()) for text in found)


@pytest.mark.parametrize("name", NAMES)
def test_pictures_of_plans_can_be_read(name: str, solved: Callable[[str], Solved]) -> None:
    """Proves that of every shipped instance's plan no text is cut or over another one, and that the SVG is sound."""
    for drawn in pictures(*solved(name)).values():
        assert faults_of(drawn.figure.figure) == []
        says = tooltips_of(svg_of(drawn.figure.figure))
        assert says[0] == finding_of(drawn) and len(set(says)) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_bars_are_the_numbers_of_the_plan(name: str, solved: Callable[[str], Solved]) -> None:
    """Proves that losses, cost and power, read back from the bars, add up to those of the evaluation."""
    instance, plan = solved(name)
    e, drawn = plan.evaluation, pictures(instance, plan)
    bars = bars_of(drawn["losses"])
    assert bars[0] == (0.0, 100.0) and bars[-1] == (0.0, pytest.approx(100 * e.losses["useful"], rel=1e-12))
    assert sum(length for _, length in bars[1:]) == pytest.approx(100.0, rel=1e-12)
    assert all(left + length <= 100 + 1e-9 for left, length in bars)
    unit, _, without = " ".join(drawn["losses"].get_xlabel().split()).partition(", % ")
    none = [
        words.partition(" (")[0]
        for loss, words in LOSS_NAMES.items()
        if e.losses[loss] == 0 and loss not in OPTIONAL_LOSSES
    ]
    assert unit.startswith("share of all GPU-hours") and without == (f"no loss to {', '.join(none)}" if none else "")
    assert f"{100 * e.losses['useful']:.1f} %" in finding_of(drawn["losses"])
    assert ("money" in drawn) == (e.cost_per_year is not None) and ("power" in drawn) == (e.it_power_kw is not None)
    if e.cost_per_year is not None:
        lengths = [length for _, length in bars_of(drawn["money"])]
        *parts, total, idle = lengths
        assert sum(parts) == pytest.approx(total, rel=1e-12)
        assert idle / total == pytest.approx(e.idle_spares.cost_per_year / e.cost_per_year, rel=1e-12)  # type: ignore[operator]
        assert re.fullmatch(r"cost, [GMk]?[$€] per year", drawn["money"].get_xlabel())
    if e.it_power_kw is not None and e.site_power_kw is not None:
        working, idle, rest, it, overhead, site = (length for _, length in bars_of(drawn["power"]))
        assert working + idle + rest == pytest.approx(it, rel=1e-12) and it + overhead == pytest.approx(site, rel=1e-12)
        assert it / site == pytest.approx(e.it_power_kw / e.site_power_kw, rel=1e-12)


def test_used_shares_of_limits(solved: Callable[[str], Solved]) -> None:
    """Proves that a limit's share is 1 where nothing is left, for caps, least values and probabilities alike, and that
    what is broken and what binds stands in the title."""
    _, plan = solved("academic-1k")
    e = plan.evaluation
    cap = e.limits[0].model_copy(update={"limit": "capital", "unit": "USD", "value": 8e6, "bound": 1e7, "slack": 2e6})
    least = cap.model_copy(
        update={"limit": "working_gpus.minimum", "unit": "GPUs", "sense": ">=", "value": 900, "bound": 900, "slack": 0}
    )
    sure = least.model_copy(
        update={"limit": "availability", "unit": "", "value": 0.9999, "bound": 0.999, "slack": 9e-4}
    )  # fmt: skip
    broken = cap.model_copy(update={"limit": "it_power", "unit": "kW", "value": 15.0, "bound": 10.0, "slack": -5.0})
    whole = cap.model_copy(update={"limit": "placement_group", "unit": "blocks", "value": 0, "bound": 0, "slack": 0})
    shares = [limits.used_share(row) for row in (cap, least, sure, broken, whole)]
    assert shares == [pytest.approx(0.8), 1.0, pytest.approx(0.1), pytest.approx(1.5), None]
    drawn = limits.use(e.model_copy(update={"limits": (cap, least, sure, whole)}))
    assert finding_of(drawn) == "Used up: fewest working GPUs" and "used up" in texts(drawn)
    assert [length for _, length in bars_of(drawn)] == [pytest.approx(80), 100, pytest.approx(10), 0]
    unknown = dict.fromkeys(
        ("objective_without", "bound_without", "gain", "most_gain", "value_without", "decisions_without")
    )
    states = {"capital": "binds through whole units", "working_gpus.minimum": "does not bind"}
    binds = [Binds(**row.model_dump(), **unknown, status=states[row.limit]) for row in (cap, least)]
    drawn = limits.use(e.model_copy(update={"limits": (cap, least)}), binds=binds)
    assert finding_of(
        drawn
    ) == "What holds the plan back: capital (80.0 % used)" and "binds through whole units" in texts(drawn)
    assert faults_of(drawn.figure.figure) == []
    none = [row.model_copy(update={"status": "does not bind"}) for row in binds]
    drawn = limits.use(e.model_copy(update={"limits": (cap, least)}), binds=none)
    assert finding_of(drawn) == "No limit binds; the nearest is fewest working GPUs (100 % used)"
    drawn = limits.use(e.model_copy(update={"limits": (cap, broken)}))
    assert "BREAKS 1 limit: IT power" in finding_of(drawn) and "BROKEN" in texts(drawn)
    assert faults_of(drawn.figure.figure) == []
    drawn = limits.use(e.model_copy(update={"limits": ()}))
    assert finding_of(drawn) == "The instance sets no limits" and faults_of(drawn.figure.figure) == []


def test_a_plan_of_another_instance_is_refused(solved: Callable[[str], Solved]) -> None:
    """Proves that cost and power are not split by the prices and watts of another instance."""
    instance, plan = solved("academic-1k")
    dearer = spareopt.read_instance("academic-1k", overrides={"designs.*.rack_price": "2x"})
    with pytest.raises(InputError, match="cost_per_year: the plan costs"):
        money.split(plan, dearer)
    hotter = spareopt.read_instance("academic-1k", overrides={"designs.*.power.tray_other": "2x"})
    with pytest.raises(InputError, match="it_power_kw: the plan draws"):
        power.split(plan, hotter)
    assert instance.input_hash() == plan.provenance.input_hash


@pytest.mark.parametrize("seed", [0, 3, *(pytest.param(seed, marks=pytest.mark.heavy) for seed in (1, 2, 4, 5))])
def test_any_plan_can_be_drawn(seed: int) -> None:
    """Proves that random plans with crews, shelves and fault domains have their pictures, which can be read."""
    kind = ("zone-crews", "site-crews", "zone-shelf", "site-shelf", "start-at", "per-block")[seed]
    instance = spareopt.read_instance(coupled_instance(kind, seed, random.Random(seed).choice(["goodput", "cost"])))
    plan = a_plan(instance)
    for drawn in pictures(instance, plan).values():
        assert faults_of(drawn.figure.figure) == []
        svg_of(drawn.figure.figure)


def test_fault_domains_and_racks_are_outlined(solved: Callable[[str], Solved]) -> None:
    """Proves that the cluster's picture has as many squares of each kind as the zone has blocks, outlines around racks
    and domains, and names each domain with its span, blast radius and faults a day."""
    _, plan = solved("meta-2026")
    instance = spareopt.read_instance("meta-2026", overrides={"failures.domains": DOMAINS})
    choice = plan.decisions.zones[0].model_copy(
        update={"design": "block-36", "intra_block_spares": 2, "inter_block_spares": 24, "count": 4}
    )
    decisions = plan.decisions.model_copy(update={"zones": (choice,)})
    drawn = topology.cluster(instance, decisions)
    stranded = spareopt.evaluate(instance, decisions).zones[0].stranded_blocks
    filled = [patch for patch in drawn.patches if isinstance(patch, PathPatch) and patch.get_fill()]
    assert [len(patch.get_path()) // 5 for patch in filled] == [
        number for number in (512 - 24, 24 - stranded, stranded) if number
    ]
    outlines = [patch for patch in drawn.patches if isinstance(patch, PathPatch) and not patch.get_fill()]
    assert len(outlines) == 4  # racks of two blocks, loops, feeds, the zone
    words = texts(drawn)
    assert "cooling-loop: 8 racks, 576 GPUs; 0.1536 a day, all 128 together" in words
    assert "leaf-switch: a whole zone, 18,432 GPUs" in words and "substation: the whole site, 73,728 GPUs" in words
    assert "4 zones alike" in words and "16 working and 2 spare" in words
    assert faults_of(drawn.figure.figure) == []
    thin = topology.cluster(instance, decisions.model_copy(update={"zones": (
        choice.model_copy(update={"design": "block-18", "intra_block_spares": 1, "inter_block_spares": 10}),
    )}))  # fmt: skip
    assert "one square = 4 blocks (1 rack)" in texts(thin) and faults_of(thin.figure.figure) == []
    filled = [patch for patch in thin.patches if isinstance(patch, PathPatch) and patch.get_fill()]
    assert sum(len(patch.get_path()) // 5 for patch in filled) == 256


def test_pictures_of_curves_can_be_read(solved: Callable[[str], Solved]) -> None:
    """Proves that frontier, tornado, marginal values and plans nearly as good can be read and say numbers."""
    instance, _ = solved("academic-1k")
    found = spareopt.near_optimal(instance, within=0.002)
    documents = [document(Frontier, "frontier"), document(Tornado, "tornado"), document(MarginalValues, "marginal")]
    drawn = [documents[0].plot.curve(), documents[1].plot.bars(), documents[2].plot.bars()]
    drawn += [found.plot.ladder(), found.plot.grid()]
    for axes in drawn:
        assert faults_of(axes.figure.figure) == [], finding_of(axes)
        assert finding_of(axes) in tooltips_of(svg_of(axes.figure.figure))
    curve = documents[0]
    points = {
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))
        for line in drawn[0].lines
        if len(line.get_xdata()) == 1
    }
    assert len(points) == len(curve.points) and {y for _, y in points} == {point.goodput for point in curve.points}
    swings = max(abs(length) for _, length in bars_of(drawn[1]))
    nominal = documents[1].certificate.value
    ends = [e for bar in documents[1].bars for end in (bar.low, bar.high) for e in (end.fixed, end.adapted)]
    assert swings == pytest.approx(max(abs(100 * (e / nominal - 1)) for e in ends if e is not None))
    gains = [s.change or 0.0 for v in documents[2].values for s in (v.better, v.worse) if s is not None]
    assert [length for _, length in bars_of(drawn[2])] == gains
    behind = [length for _, length in bars_of(drawn[3])]
    assert behind[0] == 0 and behind == sorted(behind) and len(behind) == near.MOST
    assert all("baseline GPUs" in axes.get_xlabel() + axes.get_ylabel() for axes in (drawn[0], drawn[2]))


def test_the_grid_of_i_and_r_is_that_of_the_search() -> None:
    """Proves that the cells of the map are the search's, around the best, and that the best is named."""
    instance = spareopt.read_instance(
        "gb200-4x256", overrides={"designs.nvl72.inter_block_spares": {"from": 0, "to": 30}}
    )
    found = spareopt.near_optimal(instance)
    drawn = found.plot.grid()
    assert faults_of(drawn.figure.figure) == []
    rows = [int(label.get_text()) for label in drawn.get_yticklabels()]
    columns = [int(label.get_text()) for label in drawn.get_xticklabels()]
    table = found.grid_table().loc[rows, columns].to_numpy()
    behind = np.maximum(100 * np.abs(table), 1e-3)
    shades = ScalarMappable(LogNorm(1e-3, np.nanmax(behind)), "cividis_r").to_rgba(np.nan_to_num(behind, nan=1.0))
    cells = [patch for patch in drawn.patches if isinstance(patch, Rectangle) and patch.get_fill()]
    assert len(cells) == behind.size
    for cell in cells:
        row, column = int(cell.get_y() + 0.5), int(cell.get_x() + 0.5)
        expected = (1, 1, 1, 1) if np.isnan(behind[row, column]) else tuple(shades[row, column])
        assert cell.get_facecolor() == pytest.approx(expected)
    assert "I=0, R=5 is best" in finding_of(drawn) and len(rows) == near.MOST_ROWS


def test_the_fan_is_the_course_of_the_quarters(simulation: Simulation) -> None:
    """Proves that the fan shows the course that the simulation recorded, ends where its quarters end, and draws the
    exact mean; and that a simulation without any says so."""
    drawn = simulation.plot.fan()
    course = simulation.quarter_course
    lines = {line.get_label(): line for line in drawn.lines}
    assert list(lines["median"].get_ydata()) == [row.p50 for row in course]
    assert list(lines["simulated mean"].get_ydata()) == [row.mean for row in course]
    assert list(lines["exact mean"].get_ydata()) == [simulation.exact.goodput] * 2
    assert lines["median"].get_xdata()[-1] == pytest.approx(91.3125)
    assert finding_of(drawn).startswith(f"9 quarters in 10 give between {simulation.quarters.p5:,.0f} and")
    assert faults_of(drawn.figure.figure) == [] and "day of the quarter" in drawn.get_xlabel()
    old = document(Simulation, "simulation")
    assert old.quarter_course == ()
    assert "no course of a quarter" in texts(old.plot.fan())


def test_sweeps_along_one_and_over_two_inputs() -> None:
    """Proves that a sweep's pictures show its objective and spare blocks, and that the wrong one is refused."""
    instance = spareopt.read_instance("academic-1k")
    over = {"failures.tray.mtbf": ["0.5x", "1x", "2x"]}
    one = spareopt.whole_sweep(instance, over, gap=0.01)
    drawn = one.plot.lines()
    values = [point.certificate.value for point in one.points if point.certificate]
    assert list(drawn.lines[0].get_ydata()) == values and faults_of(drawn.figure.figure) == []
    (right,) = [axes for axes in drawn.figure.axes if axes is not drawn]
    spares = [sum(c.count * c.inter_block_spares for c in p.decisions.zones) for p in one.points if p.decisions]
    assert list(right.lines[0].get_ydata()) == spares
    trays = [p.decisions.zones[0].intra_block_spares for p in one.points if p.decisions]
    assert len(set(spares)) > 1 and len(right.lines) == 1 + (len(set(trays)) > 1)
    still = one.model_copy(update={"points": one.points[:1]}).plot.lines()
    assert [axes for axes in still.figure.axes if axes is not still] == []
    assert f"spare blocks stay {spares[0]}; I stays {trays[0]}" in " ".join(finding_of(still).split())
    two = spareopt.whole_sweep(instance, over | {"limits.yearly_cost": ["0.01x", "1x"]}, gap=0.01)
    drawn = two.plot.heat()
    cells = drawn.images[0].get_array()
    assert cells is not None and cells.shape == (3, 2) and cells[:, 1].tolist() == values
    assert cells.mask[:, 0].all() if np.ma.is_masked(cells) else np.isnan(cells[:, 0]).all()
    assert faults_of(drawn.figure.figure) == [] and "best at 2x and 1x" in finding_of(drawn)
    with pytest.raises(ValueError, match="expected a sweep over two axes, got 1"):
        one.plot.heat()
    with pytest.raises(ValueError, match="expected a sweep over one axis, got 2"):
        two.plot.lines()
    nothing = sweeps.lines(document(Sweep, "sweep").model_copy(update={"points": ()}))
    assert finding_of(nothing) == "No point of the sweep has a plan"


def test_scenarios_stand_beside_the_nominal_one() -> None:
    """Proves that scenarios are shown relative to the nominal one, and that those without a plan or proof stand out."""
    per_dollar = "0.0025 baseline GPU-hours per $"
    rows = [
        scenarios.Row("nominal", 1000.0, "baseline GPUs", "proven", "1,000.0 baseline GPUs"),
        scenarios.Row("half-mtbf", 900.0, "baseline GPUs", "proven", "900.0 baseline GPUs"),
        scenarios.Row(
            "a name of very many words that no line can hold",
            1010.0,
            "baseline GPUs",
            "limit reached",
            "1,010.0 baseline GPUs",
        ),
        scenarios.Row("no-capital", None, "", "infeasible", ""),
        *(
            scenarios.Row(name, 2.5e-3, "GPU-hours per USD", "proven", per_dollar)
            for name in ("by-dollar", "by-dollar-too")
        ),
        scenarios.Row("at-least-cost", 2.5e6, "USD per year", "proven", "2.5 M$ per year"),
    ]
    drawn = scenarios.bars(rows)
    assert [length for _, length in bars_of(drawn)] == [0, pytest.approx(-10), pytest.approx(1), 0, 0, 0, 0]
    words = texts(drawn)
    assert "NOT PROVEN" in words and "infeasible" in words and "2.5 M$ per year" in words
    assert "half-mtbf −10.00 %" in finding_of(drawn) and "no plan in 1 scenario" in finding_of(drawn)
    assert faults_of(drawn.figure.figure) == []


def test_pictures_go_on_given_axes(solved: Callable[[str], Solved]) -> None:
    """Proves that a function draws on the axes it is given and nowhere else, with its title above them."""
    instance, plan = solved("gb200-4x256")
    figure = Figure(figsize=(12, 8), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    before = dict(mpl.rcParams)
    assert losses.waterfall(plan.evaluation, axes[0]) is axes[0]
    assert money.split(plan, instance, axes[1]) is axes[1]
    assert topology.cluster(instance, plan.decisions, axes[2]) is axes[2]
    assert tornado.bars(document(Tornado, "tornado"), axes=axes[3]) is axes[3]
    assert dict(mpl.rcParams) == before
    assert "of GPU-hours are useful" in axes[0].get_title(loc="left").replace("\n", " ")
    assert svg_text(figure).startswith("<svg")


def test_files_are_the_same_bytes(solved: Callable[[str], Solved], tmp_path: Path) -> None:
    """Proves that files of a picture, with a layout of its own or without, are the same bytes each time."""
    instance, plan = solved("academic-1k")
    for name in ("one", "two"):
        for kind, drawn in (
            ("svg", losses.waterfall(plan.evaluation)),
            ("png", topology.cluster(instance, plan.decisions, evaluation=plan.evaluation)),
        ):
            save(drawn.figure.figure, tmp_path / f"{name}.{kind}")
    for kind in ("svg", "png"):
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()


def test_inline_svg_is_text_that_says_what_it_shows(solved: Callable[[str], Solved]) -> None:
    """Proves that text stays text in fonts that pages have, ids are a picture's own, and titles can be given."""
    _, plan = solved("academic-1k")
    drawn = losses.waterfall(plan.evaluation)
    root = svg_of(drawn.figure.figure)
    fonts = {element.attrib["style"] for element in root.iter() if element.tag.endswith("}text")}
    assert fonts and all("'DejaVu Sans', Verdana, sans-serif" in style for style in fonts)
    words = " ".join("".join(element.itertext()) for element in root.iter() if element.tag.endswith("}text"))
    nothing = [name for name, share in plan.evaluation.losses.items() if share == 0]
    assert ("no loss to" in words) == bool(nothing)
    assert "detection and restart" in words and "share of all GPU-hours, %" in words
    assert any("of all GPU-hours" in text for text in tooltips_of(root)[1:])
    given = svg_text(drawn.figure.figure, title="<of losses> & more", description="bars")
    assert "<title>&lt;of losses&gt; &amp; more</title><desc>bars</desc>" in given
    other = svg_text(limits.use(plan.evaluation).figure.figure)
    ids = [set(re.findall(r'id="([^"]+)"', text)) for text in (given, other)]
    assert ids[0] and ids[1] and not ids[0] & ids[1]
    assert drawn._repr_html_() == drawn.figure._repr_html_() == svg_text(drawn.figure.figure)  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [20.0, 60.0, 150.0])
def test_words_wrap_within_their_width(width: float) -> None:
    """Proves that no line is wider than asked, that nothing is lost, and that numbers keep their per cent sign."""
    text = "checkpoint_plans.automatic-retry.detection takes 12.5 % of all-the-GPU-hours"
    lines = wrapped(text, width).split("\n")
    assert all(width_of(line) <= width + 1e-6 for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert width < 40 or any("12.5 %" in line for line in lines)
    assert Sheet(figsize=(4.8, 1)).get_figwidth() * 72 == POINTS


def test_findings_of_the_rest(simulation: Simulation) -> None:
    """Proves that findings are sentences with numbers, for simulated losses, quarters and the best of several steps."""
    values = document(MarginalValues, "marginal")
    assert re.search(
        r"(is worth most:|brings?) \+[\d.,]+ ", marginal.finding(values)
    ) or "worth anything" in marginal.finding(values)
    assert quarter.finding(simulation, 880.0).endswith("the exact mean is 880")
    assert finding_of(simulation.plot.losses()).startswith("8")
    found = document(Tornado, "tornado")
    assert "matters most" in tornado.finding(found) or "No input" in tornado.finding(found)
