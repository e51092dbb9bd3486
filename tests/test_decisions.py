"""Decisions beside what an instance offers."""

from __future__ import annotations

import pytest

from spareopt.decisions import at_the_edge, read_decisions
from spareopt.reading import read_instance


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"inter_block_spares": 20}, ["zone: inter_block_spares 20"]),
        ({"inter_block_spares": 0, "intra_block_spares": 0}, []),
        ({"gpu_limit": "600 W"}, ["zone: gpu_limit 600 W"]),
        ({"gpu_limit": "1200 W"}, []),
    ],
)
def test_edges_of_the_choices_are_named(changes: dict[str, object], expected: list[str]) -> None:
    """Proves that a planner is told when the optimum stands at an end of a range; natural ends are none.

    No spare trays or blocks and the full GPU limit can't be passed; the most spares offered and the lowest limit can.
    """
    instance = read_instance("gb200-4x256")
    (design,) = instance.designs
    middle = sorted(instance.zones[0].racks)[len(instance.zones[0].racks) // 2]
    choice = {"zone": "zone", "count": 4, "design": design.name, "racks": middle, "intra_block_spares": 1}
    choice |= {"inter_block_spares": 5, "repair_plan": instance.repair_plans[0].name, "gpu_limit": "1000 W"}
    plan = {"zones": [choice | changes], "checkpoint_plan": instance.checkpoint_plans[0].name}
    assert at_the_edge(instance, read_decisions(plan)) == expected
