"""The published first-order model against the paper's numbers, a Markov chain and 50-digit arithmetic."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spareopt.decisions import Decisions, ZoneChoice
from spareopt.evaluation import Evaluation
from spareopt.evaluation import evaluate as evaluate_plan
from spareopt.exact import ZoneRepair
from spareopt.first_order import block_mtbf, interruption_rate, tray_first_passage, zone_blocking, zone_scores
from spareopt.numerics.recovery import Checkpointing
from spareopt.reading import read_instance
from spareopt.topology import ZoneStructure

PAPER: dict[str, Any] = json.loads((Path(__file__).parent / "oracles" / "mlsys2026.json").read_text("utf-8"))
INPUTS: dict[str, float] = PAPER["inputs"]
RECOVERY = Checkpointing(
    INPUTS["checkpoint_save_s"] / 3600,
    (INPUTS["detection_s"] + INPUTS["restart_s"]) / 3600,
    INPUTS["checkpoint_period_s"] / 3600,
    "first-order",
)


def evaluate(trays: int, intra: int, blocks: int, inter: int | NDArray[np.int64]) -> dict[str, Any]:
    """Everything the paper computes for one strategy."""
    passage = tray_first_passage(trays, intra, INPUTS["tray_mtbf_h"], INPUTS["mttr_h"])
    mtbf = block_mtbf(passage, 1 / INPUTS["rack_mtbf_h"])
    blocking = zone_blocking(blocks, inter, mtbf, INPUTS["mttr_h"])
    zones = int(INPUTS["zones_B"])
    working = zones * (blocks - inter)
    rate = interruption_rate(working, trays, intra, 1 / INPUTS["tray_mtbf_h"], 1 / INPUTS["rack_mtbf_h"])
    shares = RECOVERY.shares(rate)
    share = (trays - intra) / trays * (blocks - inter) / blocks
    return {
        "tray_first_passage_h": passage,
        "block_mtbf_h": mtbf,
        "zone_blocking_probability": blocking,
        "working_blocks": working,
        "interruption_rate_per_h": rate,
        "period_total_s": INPUTS["checkpoint_period_s"] / shares.useful,
        "period_with_rework_s": INPUTS["checkpoint_period_s"] * (1 + shares.lost / shares.useful),
        "recovery_efficiency": shares.useful,
        "cett": share * (1 - blocking) ** zones * shares.useful,
    }


@pytest.mark.parametrize("row", PAPER["rows"], ids=lambda row: f"K{row['K']} I{row['I']} R{row['R']}")
def test_rows_of_the_paper(row: dict[str, Any]) -> None:
    """Proves every intermediate value of the published closed form, from first passage to CETT.

    If it broke, nobody could compare a plan with the paper.
    """
    values = evaluate(row["K"], row["I"], row["L"], row["R"])
    for name, value in values.items():
        assert float(value) == pytest.approx(row[name], rel=PAPER["tolerance_rel"], abs=0), name


@pytest.mark.parametrize("best", PAPER["best_without_placement"], ids=lambda best: best["name"])
def test_best_number_of_spare_blocks(best: dict[str, Any]) -> None:
    """Proves that CETT peaks at the published R, for all six strategies, without the placement rule.

    If it broke, the paper's trade-off between blocking and idle blocks would be lost.
    """
    cett = evaluate(best["K"], best["I"], best["L"], np.arange(best["L"] // 2))["cett"]
    assert int(np.argmax(cett)) == best["R"]


def test_printed_spare_shares() -> None:
    """Proves the printed 8.6 % (72 GPUs) and 4.7 % (36 GPUs) of inter-block spares.

    If it broke, the text of the paper and the model would contradict each other.
    """
    shares = {best["name"]: best["R"] / best["L"] for best in PAPER["best_without_placement"]}
    assert round(shares["72/72"], 3) == PAPER["printed"]["inter_block_spare_share_72"]
    assert round(shares["36/36"], 3) == PAPER["printed"]["inter_block_spare_share_36"]


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

DESIGNS = {36: "block-72", 18: "block-36", 9: "block-18"}


def through_instance(trays: int, intra: int, inter: int, *, placement: bool = True) -> Evaluation:
    """The published case as ``spareopt evaluate meta-2026 --model first-order`` scores it."""
    site = read_instance("meta-2026", overrides=None if placement else {"placement_group": None})
    choice = ZoneChoice(
        zone="zone", count=4, design=DESIGNS[trays], racks=256, intra_block_spares=intra, inter_block_spares=inter,
        repair_plan="published",
    )  # fmt: skip
    return evaluate_plan(site, Decisions(zones=(choice,), checkpoint_plan="published"), model="first-order")


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
def test_best_number_of_spare_blocks_with_placement(best: dict[str, Any]) -> None:
    """Proves the published R where L − R must be a multiple of 2,304 GPUs: 32, 4, 64, 8, 128, 16; stranded by the rest.

    If it broke, the paper's main point (small blocks strand many) would not be reproduced.
    """
    multiple = INPUTS["placement_group_gpus"] // (2 * (best["K"] - best["I"]))
    spares = np.arange(best["L"] % multiple, best["L"] // 2, multiple)
    cett = evaluate(best["K"], best["I"], best["L"], spares)["cett"]
    assert int(spares[np.argmax(cett)]) == best["R"]
    free = next(row["R"] for row in PAPER["best_without_placement"] if row["name"] == best["name"])
    assert through_instance(best["K"], best["I"], best["R"]).zones[0].stranded_blocks == best["R"] - free


def test_printed_stranding() -> None:
    """Proves the printed rise of stranded blocks by 3.9 points (72 to 36 GPUs), as much as the spares saved.

    72: (32 − 22)/256; 36: (64 − 24)/512.  If it broke, "a smaller block saves spares" would lose its catch.
    """
    stranded = {
        trays: through_instance(trays, 0, inter).losses["stranded_blocks"] for trays, inter in ((36, 32), (18, 64))
    }
    assert round(stranded[18] - stranded[36], 3) == PAPER["printed"]["stranding_rise_72_to_36"]
    assert stranded[36] == pytest.approx(10 / 256) and stranded[18] == pytest.approx(40 / 512)
    assert round(22 / 256 - 24 / 512, 3) == PAPER["printed"]["spares_saved_72_to_36"]


def test_printed_scales() -> None:
    """Proves the printed LLM scales 1.18 and 1.12 (1.184 and 1.125), hardware scale 1.034, intra share 11.1 %.

    If it broke, goodput would weigh block sizes otherwise than the paper.
    """
    whole, half, spared = through_instance(36, 0, 32), through_instance(18, 0, 64), through_instance(36, 4, 4)
    assert whole.zones[0].llm_scale == pytest.approx(PAPER["printed"]["llm_scale_72"], abs=0.0051)
    assert half.zones[0].llm_scale == pytest.approx(PAPER["printed"]["llm_scale_36"], abs=0.0051)
    assert whole.zones[0].llm_scale == pytest.approx(72 / 15.2 * 4 / 16, rel=1e-12)  # g(72)/g(16)
    assert half.zones[0].llm_scale == pytest.approx(1.125, rel=1e-12)
    assert whole.zones[0].hardware_scale == 1.0
    assert spared.zones[0].hardware_scale == pytest.approx(PAPER["printed"]["hardware_scale"], rel=1e-12)
    assert round(spared.losses["intra_block_spares"], 3) == PAPER["printed"]["intra_spare_share"]


def test_printed_winner() -> None:
    """Proves that of the six strategies 72/64 has the most goodput, 1.024 times that of the second, 72/72.

    If it broke, spareopt and the paper would recommend different clusters.
    """
    goodput = {
        best["name"]: through_instance(best["K"], best["I"], best["R"]).goodput for best in PAPER["best_with_placement"]
    }
    first, second = sorted(goodput, key=lambda name: -goodput[name])[:2]
    assert (first, second) == ("72/64", "72/72")
    assert round(goodput[first] / goodput[second], 3) == PAPER["printed"]["ratio_to_second_best"]
