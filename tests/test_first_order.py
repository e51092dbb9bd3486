"""The published first-order model against the paper's numbers, a Markov chain and 50-digit arithmetic."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spareopt.exact import ZoneRepair
from spareopt.first_order import block_mtbf, tray_first_passage, zone_blocking, zone_scores
from spareopt.topology import ZoneStructure
from tests.published_paper import INPUTS, PAPER, through_instance


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.data(), st.floats(1e2, 1e5), st.floats(0.5, 500.0))
def test_first_passage_solves_the_markov_chain(trays: int, data: st.DataObject, mtbf: float, mttr: float) -> None:
    """Proves ξ as the mean absorption time of n → n+1 at (K−n)/MTBF, n → 0 at 1/MTTR, in exact rationals.

    If it broke, the block MTBF of the paper would not be derived from what it says.
    """
    spares = data.draw(st.integers(0, trays - 1))
    repair = 1 / Fraction(mttr)
    # T_n = alpha_n + beta_n T_0, backwards from T_(I+1) = 0
    alpha, beta = Fraction(0), Fraction(0)
    for down in range(spares, 0, -1):
        failing = (trays - down) / Fraction(mtbf)
        alpha, beta = (1 + failing * alpha) / (failing + repair), (repair + failing * beta) / (failing + repair)
    expected = (Fraction(mtbf) / trays + alpha) / (1 - beta)
    assert float(tray_first_passage(trays, spares, mtbf, mttr)) == pytest.approx(float(expected), rel=1e-12)


def test_first_passage_at_its_edges() -> None:
    """Proves MTBF/K without spares, infinity without overflow warnings for many spares or instant repair.

    If it broke, a design with many spares would crash or turn NaN.
    """
    assert float(tray_first_passage(36, 0, 20000.0, 24.0)) == 20000.0 / 36
    assert float(tray_first_passage(36, 0, 20000.0, 0.0)) == 20000.0 / 36
    assert np.isinf(tray_first_passage(36, 1, 20000.0, 0.0))
    assert np.isinf(tray_first_passage(400, 300, 1e6, 1.0))
    assert np.isinf(tray_first_passage(4, 1, np.inf, 1.0))
    assert float(block_mtbf(np.inf, 1e-4)) == pytest.approx(1e4)
    assert float(block_mtbf(500.0, 0.0)) == 500.0
    assert np.isinf(block_mtbf(np.inf, 0.0))
    assert float(zone_blocking(256, 3, np.inf, 24.0)) == 0.0


def test_functions_broadcast() -> None:
    """Proves that arrays of K, I and R give elementwise what scalars give.

    If it broke, a vectorised table of strategies would mix them up.
    """
    trays, spares = np.array([[36], [18]]), np.array([0, 1, 4])
    passages = tray_first_passage(trays, spares, 20000.0, 24.0)
    assert passages.shape == (2, 3)
    for (row, column), passage in np.ndenumerate(passages):
        assert passage == float(tray_first_passage(int(trays[row, 0]), int(spares[column]), 20000.0, 24.0))
    blocking = zone_blocking(256, np.array([2, 4]), block_mtbf(passages[0, 1:], 1e-4), 24.0)
    assert blocking[1] == float(zone_blocking(256, 4, block_mtbf(passages[0, 2], 1e-4), 24.0))


@pytest.mark.parametrize("arguments", [(4, 4, 1e4, 24.0), (4, -1, 1e4, 24.0), (4, 1, 0.0, 24.0), (4, 1, 1e4, -1.0)])
def test_meaningless_blocks_are_refused(arguments: tuple[int, int, float, float]) -> None:
    """Proves that as many spares as trays, or times without meaning, are errors.

    If it broke, a block without working trays would look perfectly reliable.
    """
    with pytest.raises(ValueError):
        tray_first_passage(*arguments)


def structure(tray_rate: float, faults: tuple[str, ...] = ("rack",)) -> ZoneStructure:
    """What the scorer reads of a zone with the paper's sizes."""
    domains = tuple(SimpleNamespace(fault=fault, rate=1 / INPUTS["rack_mtbf_h"]) for fault in faults)
    return cast(ZoneStructure, SimpleNamespace(domains=domains, trays_per_block=36, tray_rate=tray_rate, blocks=256))


def repaired(**hours: float) -> ZoneRepair:
    """Ample crews with these mean repair times."""
    return ZoneRepair(hours, dict.fromkeys(hours, 0.0))


def test_zone_scores_are_the_published_formulas() -> None:
    """Proves that scoring a zone gives the paper's blocking and a quarter of its interruption rate, for a vector of R.

    If it broke, ``--model first-order`` would not be the paper.
    """
    row = next(row for row in PAPER["rows"] if (row["K"], row["I"]) == (36, 4))
    repair = repaired(tray=INPUTS["mttr_h"], rack=INPUTS["mttr_h"])
    scores = zone_scores(structure(1 / INPUTS["tray_mtbf_h"]), repair, 4, np.array([3, 4]))
    assert scores.unavailability[1] == pytest.approx(row["zone_blocking_probability"], rel=1e-7)
    assert 4 * scores.rate[1] == pytest.approx(row["interruption_rate_per_h"], rel=1e-7)
    assert scores.availability_method == scores.rate_method == "published first-order closed form"


def test_zone_scores_reach_and_edges() -> None:
    """Proves that other fault domains are refused, and that nothing failing gives 0 and not NaN.

    If it broke, cooling units would silently never fail in the first-order model.
    """
    repair = repaired(tray=24.0)
    with pytest.raises(ValueError, match="cooling"):
        zone_scores(structure(1e-4, ("rack", "cooling")), repair, 1, np.array([1]))
    scores = zone_scores(structure(0.0, ()), repair, 1, np.array([0, 1]))
    np.testing.assert_array_equal(scores.unavailability, [0.0, 0.0])
    np.testing.assert_array_equal(scores.rate, [0.0, 0.0])


def test_unequal_repair_times_are_weighted_by_causes() -> None:
    """Proves MTTR/MTBF of a block as the sum over its causes, equal to the weighted mean repair time over its MTBF.

    If it broke, a slow rack repair would be spread over tray faults, or forgotten.
    """
    passage = tray_first_passage(36, 1, INPUTS["tray_mtbf_h"], 12.0)
    mtbf = block_mtbf(passage, 1 / INPUTS["rack_mtbf_h"])
    mean_repair = (12.0 / passage + 72.0 / INPUTS["rack_mtbf_h"]) * mtbf
    expected = zone_blocking(256, np.array([4, 9]), mtbf, mean_repair)
    scores = zone_scores(structure(1 / INPUTS["tray_mtbf_h"]), repaired(tray=12.0, rack=72.0), 1, np.array([4, 9]))
    np.testing.assert_allclose(scores.unavailability, expected, rtol=1e-12)


# ---- through the instance file and the evaluator


@pytest.mark.parametrize("row", PAPER["rows"], ids=lambda row: f"K{row['K']} I{row['I']} R{row['R']}")
def test_rows_of_the_paper_through_the_instance(row: dict[str, Any]) -> None:
    """Proves that the shipped instance and the evaluator carry the paper's inputs and formulas to its numbers.

    If it broke, ``--model first-order`` would be no comparison with the paper.
    """
    result = through_instance(row["K"], row["I"], row["R"])
    tolerance = PAPER["tolerance_rel"]
    assert result.cett == pytest.approx(row["cett"], rel=tolerance)
    assert result.interruption_rate_per_h == pytest.approx(row["interruption_rate_per_h"], rel=tolerance)
    assert result.zones[0].unavailability == pytest.approx(row["zone_blocking_probability"], rel=tolerance, abs=0)
    assert result.recovery_efficiency == pytest.approx(row["recovery_efficiency"], rel=tolerance)
    assert result.method["cett"] == "published first-order closed form"


@pytest.mark.parametrize("best", PAPER["best_with_placement"], ids=lambda best: best["name"])
def test_what_the_placement_group_strands(best: dict[str, Any]) -> None:
    """Proves that the blocks stranded by a placement group of 2,304 GPUs are those beyond the best R without it.

    If it broke, the paper's main point (small blocks strand many) would not be reproduced.
    """
    free = next(row["R"] for row in PAPER["best_without_placement"] if row["name"] == best["name"])
    result = through_instance(best["K"], best["I"], best["R"])
    working = (best["K"] - best["I"]) / best["K"]
    assert result.zones[0].stranded_blocks == best["R"] - free
    assert result.losses["stranded_blocks"] == pytest.approx(working * (best["R"] - free) / best["L"])


def test_scales_of_blocks() -> None:
    """Proves the LLM scales from their formula, g(72)/g(16) and g(36)/g(16), and that power alone scales hardware.

    If it broke, goodput would weigh block sizes otherwise than the paper.
    """
    whole, half = through_instance(36, 0, 32), through_instance(18, 0, 64)
    assert whole.zones[0].llm_scale == pytest.approx(72 / 15.2 * 4 / 16, rel=1e-12)
    assert half.zones[0].llm_scale == pytest.approx(1.125, rel=1e-12)
    assert whole.zones[0].hardware_scale == 1.0


def test_printed_winner() -> None:
    """Proves that of the six strategies 72/64 has the most goodput, and 72/72 is the second.

    If it broke, spareopt and the paper would recommend different clusters.
    """
    goodput = {
        best["name"]: through_instance(best["K"], best["I"], best["R"]).goodput for best in PAPER["best_with_placement"]
    }
    assert sorted(goodput, key=lambda name: -goodput[name])[:2] == ["72/64", "72/72"]
