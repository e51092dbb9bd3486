"""Results in notebooks: HTML that is sound and escaped, tells what is not proven, and loads no more than it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import spareopt
from spareopt.efficient import Frontier
from spareopt.errors import InputError
from spareopt.exposure import Tornado
from spareopt.instance import Instance
from spareopt.marginal import MarginalValues
from spareopt.plan import Plan
from spareopt.simulation.result import Simulation
from spareopt.sweep_result import Sweep
from tests.test_workbook import a_plan

DOCUMENTS = Path(__file__).parent / "golden" / "documents"
KINDS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "plan": (Plan, ("losses", "limits")),
    "frontier": (Frontier, ("curve",)),
    "tornado": (Tornado, ("bars",)),
    "marginal": (MarginalValues, ("bars",)),
    "simulation": (Simulation, ("fan", "losses")),
    "sweep": (Sweep, ("lines",)),
}
LOADED = """
import sys
import spareopt, spareopt.plan, spareopt.efficient, spareopt.exposure, spareopt.marginal, spareopt.near_result
import spareopt.simulation.result, spareopt.sweep_result, spareopt.plots, spareopt.notebook
plan = spareopt.read_plan(sys.argv[1])
assert "NOT PROVEN" not in plan._repr_html_() and plan.plot and plan.evaluation.plot
print(sorted({"matplotlib", "jinja2", "IPython"} & set(sys.modules)))
plan.plot.losses()
import matplotlib.pyplot
print(matplotlib.pyplot.get_fignums())
"""


def result_of(kind: str) -> Any:
    return KINDS[kind][0].model_validate_json((DOCUMENTS / f"{kind}-1.json").read_text(encoding="utf-8"))


def parsed(html: str) -> str:
    """The words of HTML that must be sound, without scripts or anything from outside."""
    root = ET.fromstring(html)
    assert root.tag == "div" and not {"script", "link", "img"} & {element.tag for element in root.iter()}
    for table in root.iter("table"):
        rows = [len(list(row)) for row in table.iter("tr")]
        assert len(set(rows)) == 1 and all(cell.attrib["scope"] == "col" for cell in table.iter("th"))
    return " ".join(" ".join(root.itertext()).split())


@pytest.fixture(scope="module")
def instance() -> Instance:
    return spareopt.read_instance("academic-1k")


@pytest.mark.parametrize("kind", KINDS)
def test_every_result_shows_itself(kind: str) -> None:
    """Proves that each kind of result has HTML of its own, and pictures that are axes on figures of their own."""
    result = result_of(kind)
    assert len(parsed(result._repr_html_())) > 100
    for name in KINDS[kind][1]:
        drawn = getattr(result.plot, name)()
        assert isinstance(drawn, Axes) and isinstance(drawn.figure, Figure)
        assert ET.fromstring(drawn._repr_html_()).tag.endswith("svg")  # type: ignore[attr-defined]


def test_the_html_of_a_plan_holds_its_numbers(instance: Instance) -> None:
    """Proves that a plan's HTML tells decisions, losses, limits and the proof, and no doubt where there is none."""
    plan = result_of("plan")
    words = parsed(plan._repr_html_())
    choice, e = plan.decisions.zones[0], plan.evaluation
    assert f"{e.goodput:,.1f} baseline GPUs" in words and choice.design in words and choice.repair_plan in words
    assert f"{100 * e.losses['useful']:.2f} %" in words and "no plan of this instance has more than" in words
    assert "NOT PROVEN" not in words and "BREAKS" not in words
    assert f"{e.goodput:,.1f} baseline GPUs" in parsed(e._repr_html_())
    for axes in (plan.plot.topology(instance), plan.plot.money(instance), plan.plot.power(instance)):
        assert isinstance(axes, Axes)


def test_what_is_not_proven_or_broken_stands_out() -> None:
    """Proves that a plan without a proof, or one that breaks limits, says so before anything else."""
    overrides = {"limits.yearly_cost": "1 k$ per year"}
    plan = a_plan(spareopt.read_instance("academic-1k", overrides=overrides))
    words = parsed(plan._repr_html_())
    assert words.startswith("NOT PROVEN (limit reached): a better plan may exist") and "BREAKS yearly cost" in words
    swept = result_of("sweep").model_copy(update={"status": "interrupted"})
    assert parsed(swept._repr_html_()).startswith("INTERRUPTED")
    curve = result_of("frontier").model_copy(update={"interrupted": True})
    assert parsed(curve._repr_html_()).startswith("INTERRUPTED")


def test_plans_nearly_as_good_are_listed(instance: Instance) -> None:
    """Proves that the list is that of the search, cut where it is long, and that a search not finished says so."""
    found = spareopt.near_optimal(instance, within=0.02)
    words = parsed(found._repr_html_())
    assert f"{found.number} plans" in words and f"and {(found.number or 0) - 20} more" in words
    cut = found.model_copy(update={"in_time": False})
    assert parsed(cut._repr_html_()).startswith("NOT FINISHED")
    assert isinstance(found.plot.ladder(), Axes) and isinstance(found.plot.grid(), Axes)


@pytest.mark.parametrize("kind", KINDS)
def test_every_result_prints_itself_in_short(kind: str) -> None:
    """Proves that print says what a result's HTML begins with, in a few lines without markup, and repr says all."""
    result = result_of(kind)
    text = str(result)
    assert text
    assert len(text.splitlines()) <= 4
    assert parsed(result._repr_html_()).startswith(text.splitlines()[0])
    assert repr(result).startswith(type(result).__name__ + "(")
    plots = type(result.plot)
    assert str(result.plot) == f"{plots.__name__}: {', '.join(n for n in vars(plots) if not n.startswith('_'))}"


def test_hostile_names_are_escaped() -> None:
    """Proves that texts of an instance can't become HTML."""
    plan = result_of("plan")
    hostile = "<script>alert(1)</script>"
    made = plan.provenance.model_copy(update={"instance": hostile, "applied": (f"limits.capital = {hostile}",)})
    html = plan.model_copy(update={"provenance": made})._repr_html_()
    assert str(plan.model_copy(update={"provenance": made})).startswith(f"{hostile}: goodput")
    assert "<script" not in html and "&lt;script&gt;alert(1)" in html and hostile in parsed(html)


def test_what_is_not_known_is_not_drawn() -> None:
    """Proves that money and power of an instance without prices and watts are refused with what to state."""
    instance = spareopt.read_instance("meta-2026")
    plan = a_plan(instance)
    for method, fix in (("money", "state rack_price of every design"), ("power", "state power of every design")):
        with pytest.raises(InputError, match=f"is not known, so there is nothing to draw; {fix}"):
            getattr(plan.plot, method)(instance)


def test_results_load_no_matplotlib_until_they_are_drawn() -> None:
    """Proves that neither the models nor a plan's HTML load matplotlib, and that pyplot knows nothing of a picture."""
    command = [sys.executable, "-c", LOADED, str(DOCUMENTS / "plan-1.json")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["[]", "[]"]
