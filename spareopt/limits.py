"""How far a plan is from every limit of its instance."""

from __future__ import annotations

from typing import Literal

from spareopt.candidates import blocks_per_placement_group
from spareopt.instance import Guarantee, Instance
from spareopt.record import Frozen
from spareopt.scoring import ScoredChoice, rack_power

LIMIT_TOLERANCE = 1e-9  # relative: a sum of rounded prices that equals its cap must not violate it


class LimitSlack(Frozen):
    """One limit of the instance: where the plan stands and how much is left (negative: violated)."""

    limit: str
    unit: str
    sense: Literal["<=", ">="]
    value: float
    bound: float
    slack: float

    @property
    def violated(self) -> bool:
        """Whether the plan breaks the limit, beyond rounding."""
        return self.slack < -rounding(self.limit, self.bound)


def _taken(scored: list[ScoredChoice], name: str) -> int:
    """Crews, or trays on shelves, of the whole site; what all zones share counts once."""
    numbers = [getattr(s.taken, name) or 0 for s in scored]
    if scored[0].plan.shared_by == "site":
        return numbers[0]
    return sum(s.choice.count * number for s, number in zip(scored, numbers, strict=True))


def rounding(limit: str, bound: float) -> float:
    """How far a value may be beyond a limit for rounding alone; for the availability, beyond the unavailability."""
    return LIMIT_TOLERANCE * (1.0 - bound if limit.startswith(("availability", "guarantee")) else abs(bound))


def guarantee_name(guarantee: Guarantee, zone: str) -> str:
    """The name, among the limits of an evaluation, of the usable blocks that a zone class guarantees."""
    return f"guarantee of {guarantee.usable_blocks} blocks in {zone}"


def limit_slacks(
    instance: Instance,
    scored: list[ScoredChoice],
    working: int,
    unavailability: float,
    capital: float | None,
    yearly: float,
    it_power: float | None,
    goodput: float,
) -> tuple[LimitSlack, ...]:
    """The slack to every limit the instance states, from the totals of a plan."""
    site_power = None if it_power is None else instance.power.pue * it_power
    limits, money = instance.limits, instance.currency
    racks = sum(s.choice.count * s.choice.racks for s in scored)
    rows: list[tuple[str, str, Literal["<=", ">="], float | None, float | None]] = [
        ("capital", money, "<=", capital, limits.capital),
        ("yearly_cost", f"{money} per year", "<=", yearly, limits.yearly_cost),
        ("it_power", "kW", "<=", it_power, limits.it_power),
        ("site_power", "kW", "<=", site_power, limits.site_power),
        ("floor", "rack positions", "<=", racks, limits.floor),
        ("crews", "crews", "<=", _taken(scored, "crews"), limits.crews),
        ("shelf_trays", "trays", "<=", _taken(scored, "shelf_trays"), limits.shelf_trays),
        ("working_gpus.minimum", "GPUs", ">=", working, limits.working_gpus.minimum),
        ("working_gpus.maximum", "GPUs", "<=", working, limits.working_gpus.maximum),
        ("availability", "", ">=", 1.0 - unavailability, limits.availability),
        ("goodput_target", "baseline GPUs", ">=", goodput, instance.objective.goodput_target),
    ]
    rack_limit = instance.power.rack_limit
    if rack_limit is not None:
        highest = max(rack_power(s) or 0.0 for s in scored)
        rows.append(("rack_power", "kW", "<=", highest, rack_limit))
    result = [
        LimitSlack(
            limit=name, unit=unit, sense=sense, value=value, bound=bound,
            slack=bound - value if sense == "<=" else value - bound,
        )
        for name, unit, sense, value, bound in rows
        if bound is not None and value is not None
    ]  # fmt: skip
    floor = limits.availability
    if floor is not None:  # the slack of many nines keeps its digits only as a difference of unavailabilities
        exact = {"slack": (1.0 - floor) - unavailability}
        result = [row.model_copy(update=exact) if row.limit == "availability" else row for row in result]
    return tuple(result + _guarantees(scored) + _placement(instance, scored))


def _guarantees(scored: list[ScoredChoice]) -> list[LimitSlack]:
    """The probabilities with which zones have the usable blocks they guarantee."""
    result = []
    for s in scored:
        guarantee = s.build.zone.guarantee
        if guarantee is not None:
            missed = s.build.guarantee_missed(s.plan, s.taken, s.choice.intra_block_spares)
            result.append(
                LimitSlack(
                    limit=guarantee_name(guarantee, s.choice.zone),
                    unit="",
                    sense=">=",
                    value=1.0 - missed,
                    bound=guarantee.probability,
                    slack=(1.0 - guarantee.probability) - missed,
                )
            )
    return result


def _placement(instance: Instance, scored: list[ScoredChoice]) -> list[LimitSlack]:
    """Working GPUs of a zone beyond whole placement groups; only a plan of the planner's own can have any."""
    if instance.placement_group is None:
        return []
    rest = 0
    for s in scored:
        group = blocks_per_placement_group(instance, s.design, s.choice.intra_block_spares)
        working_blocks = s.choice.racks * s.design.blocks_per_rack - s.choice.inter_block_spares
        rest = max(rest, s.row["working_gpus"] if group is None else working_blocks % group)
    return [LimitSlack(limit="placement_group", unit="blocks left over", sense="<=", value=rest, bound=0, slack=-rest)]
