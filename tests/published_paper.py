"""The published first-order case (MLSys 2026): the paper's numbers, its formulas, and it as a shipped instance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spareopt.decisions import Decisions, ZoneChoice
from spareopt.evaluation import Evaluation
from spareopt.evaluation import evaluate as evaluate_plan
from spareopt.first_order import block_mtbf, interruption_rate, tray_first_passage, zone_blocking
from spareopt.numerics.recovery import Checkpointing
from spareopt.reading import read_instance

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


DESIGNS = {36: "block-72", 18: "block-36", 9: "block-18"}


def through_instance(trays: int, intra: int, inter: int, *, placement: bool = True) -> Evaluation:
    """The published case as ``spareopt evaluate meta-2026 --model first-order`` scores it."""
    site = read_instance("meta-2026", overrides=None if placement else {"placement_group": None})
    choice = ZoneChoice(
        zone="zone", count=4, design=DESIGNS[trays], racks=256, intra_block_spares=intra, inter_block_spares=inter,
        repair_plan="published",
    )  # fmt: skip
    return evaluate_plan(site, Decisions(zones=(choice,), checkpoint_plan="published"), model="first-order")


def best_spares(strategy: dict[str, Any], *, placement: bool) -> int:
    """The number of spare blocks with the highest CETT, with the placement group of 2,304 GPUs or without any."""
    trays, intra, blocks = strategy["K"], strategy["I"], strategy["L"]
    multiple = int(INPUTS["placement_group_gpus"] / INPUTS["gpus_per_tray"]) // (trays - intra) if placement else 1
    spares = np.arange(blocks % multiple, blocks // 2, multiple)
    return int(spares[np.argmax(evaluate(trays, intra, blocks, spares)["cett"])])


def printed() -> dict[str, float]:
    """What the paper's text prints, by our formulas and by the shipped instance."""
    free = {best["name"]: best_spares(best, placement=False) for best in PAPER["best_without_placement"]}
    plans = {
        best["name"]: through_instance(best["K"], best["I"], best_spares(best, placement=True))
        for best in PAPER["best_with_placement"]
    }
    goodput = sorted(plan.goodput for plan in plans.values())
    whole, half, spared = plans["72/72"], plans["36/36"], plans["72/64"]
    return {
        "inter_block_spare_share_72": free["72/72"] / 256,
        "inter_block_spare_share_36": free["36/36"] / 512,
        "spares_saved_72_to_36": free["72/72"] / 256 - free["36/36"] / 512,
        "stranding_rise_72_to_36": half.losses["stranded_blocks"] - whole.losses["stranded_blocks"],
        "llm_scale_72": whole.zones[0].llm_scale,
        "llm_scale_36": half.zones[0].llm_scale,
        "intra_spare_share": spared.losses["intra_block_spares"],
        "hardware_scale": spared.zones[0].hardware_scale,
        "ratio_to_second_best": goodput[-1] / goodput[-2],
    }
