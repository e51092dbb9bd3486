"""Brute force over all decisions of a small instance, by the evaluator alone: no candidates table, no MILP."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from spareopt.comparison import objective_value
from spareopt.decisions import Decisions, ZoneChoice
from spareopt.errors import InputError
from spareopt.evaluation import evaluate
from spareopt.instance import Instance, Zone
from spareopt.repair import repair_choices


def zone_choices(instance: Instance, zone: Zone) -> list[ZoneChoice]:
    """Every choice an instance offers for one zone, whether or not it can be built."""
    choices = []
    for design in instance.designs:
        if zone.designs is not None and design.name not in zone.designs:
            continue
        limits = [None] if design.power is None else (design.power.gpu_limits or [design.power.gpu_full_limit])
        repairs = [(plan, choice) for plan in instance.repair_plans for choice in repair_choices(plan)]
        for racks, intra, inter, (plan, taken), limit in itertools.product(
            zone.racks, design.intra_block_spares, design.inter_block_spares, repairs, limits
        ):
            if inter < racks * design.blocks_per_rack:
                choices.append(
                    ZoneChoice.model_construct(
                        zone=zone.name, count=1, design=design.name, racks=racks, intra_block_spares=intra,
                        inter_block_spares=inter, repair_plan=plan.name, gpu_limit=limit, **taken._asdict(),
                    )
                )  # fmt: skip
    return choices


def all_decisions(instance: Instance) -> Iterator[Decisions]:
    """Every plan: a multiset of choices for each class of identical zones, and a checkpoint plan."""
    per_class = [
        list(itertools.combinations_with_replacement(zone_choices(instance, zone), zone.count))
        for zone in instance.zones
    ]
    for combination in itertools.product(*per_class):
        zones = tuple(choice for part in combination for choice in part)
        for plan in instance.checkpoint_plans:
            yield Decisions.model_construct(zones=zones, checkpoint_plan=plan.name)


def number_of_plans(instance: Instance) -> int:
    """How many plans ``all_decisions`` yields."""
    total = len(instance.checkpoint_plans)
    for zone in instance.zones:
        n = len(zone_choices(instance, zone))
        total *= n if zone.count == 1 else n * (n + 1) // 2
    return total


def best_value(instance: Instance) -> float | None:
    """The best objective over all plans that meet every limit; None where there is none."""
    best: float | None = None
    smaller = instance.objective.kind == "cost"
    for decisions in all_decisions(instance):
        try:
            evaluation = evaluate(instance, decisions)
        except InputError:
            continue  # plans that can't be built: a site plan that only some zones take, blocks in no whole groups
        if evaluation.violated:
            continue
        value = objective_value(instance, evaluation)
        assert value is not None
        if best is None or (value < best if smaller else value > best):
            best = value
    return best
