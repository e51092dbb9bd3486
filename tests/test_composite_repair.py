"""One exponential repair time in place of a mix of the same mean: harmless with ample crews, not with few."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import pytest

import spareopt
from tests.figure_scripts import FIGURES, PAGE, figure_script
from tests.two_kinds_of_repair import availability, down_law, mean_wait

script = figure_script("composite_repair")


def chain(crews: int, most: int = 2000) -> Any:
    """The law of the trays down in the figure's zone, nine of ten repairs being short."""
    trays = script.BLOCKS * script.TRAYS
    return down_law(trays, 1 / script.TRAY_MTBF_H, crews, 0.9, script.SHORT_H, script.LONG_H, most)


def available(crews: int, spares: int) -> float:
    """Its availability."""
    return availability(chain(crews), script.BLOCKS, script.TRAYS, spares)


def test_the_law_matters_where_crews_are_few_only() -> None:
    """Proves both panels of the figure in short: within 1 % with ample crews, more than 1 % with crews 76 % busy.

    Why is proved by a Markov chain of crews and both kinds of repair: it gives the availability that is simulated.
    """
    ample, few = (script.measure(0.9, busiest, replications=20) for busiest in (None, 0.8))
    assert ample.error.low > -0.01 and ample.error.high < 0.01
    assert few.error.low > 0.01
    assert (ample.crews, few.crews) == (None, 16)
    assert few.comparison.second.intervals["availability"].contains(available(16, few.spares))


def test_the_chain_is_right_where_it_is_known() -> None:
    """Proves the chain: with repairs of one kind it gives the exact model's availability and wait for a crew."""
    trays, mean = script.BLOCKS * script.TRAYS, script.mean_repair(0.9)
    law = down_law(trays, 1 / script.TRAY_MTBF_H, 13, 0.9, mean, mean, 600)
    instance, composite, _ = script.plans(0.9, 13)
    exact = spareopt.evaluate(instance, composite)
    spares = composite.zones[0].inter_block_spares
    assert 1 - availability(law, script.BLOCKS, script.TRAYS, spares) == pytest.approx(exact.unavailability, rel=1e-6)
    wait = mean_wait(law, trays, 1 / script.TRAY_MTBF_H, 13)
    assert wait == pytest.approx(exact.zones[0].crew_mean_wait_h, rel=1e-8)


def test_crews_and_means_are_those_stated() -> None:
    """Proves the inputs by hand: half of the repairs 2 h and half 48 h are 25 h; 36,864 trays then fill 46.08 crews."""
    assert script.mean_repair(0.5) == 25.0
    assert [script.crews_for(0.5, busiest) for busiest in (None, 0.8, 0.95)] == [None, 58, 49]
    instance, composite, mixed = script.plans(0.5, 58)
    assert [plan.tray.mttr for plan in instance.repair_plans] == [25.0, 25.0]
    assert [plan.zones[0].repair_plan for plan in (composite, mixed)] == ["composite", "two-phase"]


@pytest.mark.heavy
@pytest.mark.parametrize("short_share", [0.2, 0.8])
def test_with_ample_crews_only_the_mean_matters(short_share: float) -> None:
    """Proves that the two laws agree inside their paired interval, which is narrower than a thousandth of CETT.

    The published bound is 1 %.  The exact model, which knows the mean only, is inside the intervals of both.  The page
    holds the row.
    """
    point = script.measure(short_share, None)
    assert point.error.contains(0.0) and point.error.half_width < 0.001
    for result in (point.comparison.first, point.comparison.second):
        assert result.agreement["cett"].inside and result.agreement["availability"].inside
    assert point.row() in PAGE


@pytest.mark.heavy
@pytest.mark.parametrize("busiest", [0.8, 0.95])
def test_with_few_crews_the_simulation_is_that_of_a_markov_chain(busiest: float) -> None:
    """Proves the right panel: availability and wait of both laws, and so the error, are those of Markov chains.

    For the composite law the exact model is the chain.  CETT is the availability times what both laws have in common,
    so that the error is the ratio of availabilities less 1.  The page holds the row.
    """
    point = script.measure(0.9, busiest)
    first, second = point.comparison.first, point.comparison.second
    mixed = available(point.crews, point.spares)
    assert second.intervals["availability"].contains(mixed)
    assert first.agreement["availability"].inside
    assert point.error.contains(first.exact.availability / mixed - 1)
    wait = mean_wait(chain(point.crews), script.BLOCKS * script.TRAYS, 1 / script.TRAY_MTBF_H, point.crews)
    assert second.crews[0].mean_wait_h.contains(wait)
    assert first.crews[0].mean_wait_h.contains(first.exact.zones[0].crew_mean_wait_h)
    assert point.row() in PAGE


@pytest.mark.parametrize("name", ["composite_repair", "stepfun_replay"])
def test_figures_are_small_dateless_and_on_the_page(name: str) -> None:
    """Proves that the committed figures can be told from others by their numbers only, and load fast."""
    text = (FIGURES / f"{name}.svg").read_text(encoding="utf-8")
    assert len(text.encode()) < 150_000 and "<dc:date>" not in text
    assert f"(figures/{name}.svg)" in PAGE and f"\npython docs/figures/{name}.py" in PAGE


def test_the_same_numbers_make_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that a figure drawn twice is the same file."""
    matplotlib.use("Agg")
    monkeypatch.syspath_prepend(FIGURES)
    curves = [[script.measure(share, busiest, replications=2) for share in (0.3, 0.9)] for busiest in script.BUSIEST]
    files = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for file in files:
        script.draw(curves, file)
    assert files[0].read_bytes() == files[1].read_bytes()
