"""Which of the published strategies wins over MTBF and repair time: the figure of docs/map.md.

Run ``python docs/figures/strategy_maps.py``: it writes strategy_maps.svg beside itself and prints who wins how much of
each map (under a minute).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import spareopt
from spareopt.axes import Axis
from spareopt.map_result import StrategyMap
from spareopt.schemes import Model

MTBF = "failures.tray.mtbf,failures.rack.mtbf"
REPAIR = "repair_plans.published.tray.hands_on,repair_plans.published.rack.hands_on"
X = f"{MTBF}=0.25x:8x:21:log"
Y = f"{REPAIR}=1 h,2 h,4 h,8 h,12 h,16 h,24 h,36 h,48 h,72 h,96 h"
PUBLISHED = {
    "block-72, I=0": "72/72", "block-72, I=4": "72/64", "block-36, I=0": "36/36", "block-36, I=2": "36/32",
    "block-18, I=0": "18/18", "block-18, I=1": "18/16",
}  # fmt: skip
"""The paper's names: GPUs of a block / working ones of them."""
FREE_I = {f"block-72, I={spares}": f"72/{72 - 2 * spares}" for spares in range(9)}
NO_LLM: dict[str, Any] = {"llm_scale": None}
NO_HARDWARE: dict[str, Any] = {"hardware_scale": None}
NO_PLACEMENT: dict[str, Any] = {"placement_group": None}
CASES: dict[str, tuple[Model, dict[str, Any]]] = {
    "CETT alone": ("first-order", NO_LLM | NO_HARDWARE | NO_PLACEMENT),
    "with the LLM gain": ("first-order", NO_HARDWARE | NO_PLACEMENT),
    "with the hardware gain, too": ("first-order", NO_PLACEMENT),
    "with placement, too": ("first-order", {}),
}
"""The published comparisons, figure by figure: what is left out of the instance."""
EVERY_I: dict[str, Any] = {
    "designs.block-72.intra_block_spares": {"from": 0, "to": 8},
    "designs.block-36.intra_block_spares": {"from": 0, "to": 4},
    "designs.block-18.intra_block_spares": {"from": 0, "to": 2},
}


def made(
    model: Model, changes: dict[str, Any], x: Axis | str = X, y: Axis | str = Y, *, every_i: bool = False
) -> StrategyMap:
    """The map of the published case at the published checkpoint period: of the six strategies, or of every I."""
    overrides = changes | (EVERY_I if every_i else {})
    instance = spareopt.read_instance("meta-2026", scenarios=["six-strategies"], overrides=overrides)
    return spareopt.strategy_map(instance, x, y, by=["design", "intra_block_spares"], model=model)


def panels(x: Axis | str = X, y: Axis | str = Y) -> list[tuple[str, StrategyMap]]:
    """All maps of the figure with their titles."""
    result = [(f"First order, {words}", made(*case, x, y)) for words, case in CASES.items()]
    result.append(("Exact, with placement; I and R free", made("exact", {}, x, y, every_i=True)))
    result.append(("Exact, no placement; I and R free", made("exact", NO_PLACEMENT, x, y, every_i=True)))
    return result


def draw(maps: list[tuple[str, StrategyMap]], path: Path) -> None:
    """Draw the figure."""
    from spareopt.map_pictures import draw_maps  # noqa: PLC0415

    words = ("tray MTBF, h (rack MTBF half of it)", "repair time of trays and racks")
    draw_maps(maps, path, names=PUBLISHED | FREE_I, axis_names=words)


def main() -> None:
    """Make the maps, print who wins, and draw."""
    parser = argparse.ArgumentParser(description="Maps of the published strategies.")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".svg"))
    options = parser.parse_args()
    maps = panels()
    for title, result in maps:
        shares = ", ".join(
            f"{(PUBLISHED | FREE_I).get(name, name)} {share:.0%}" for name, share in result.shares().items()
        )
        print(f"{title}: {shares}; under 1 % in {result.close_share(0.01):.0%}", flush=True)
    draw(maps, options.out)


if __name__ == "__main__":
    main()
