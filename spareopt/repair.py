"""The repair of a zone: a repair plan with its choices (crews, shelf, deferral) made, in hours."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from spareopt.failures import RepairTime
from spareopt.instance import Instance
from spareopt.repair_plans import RepairPlan

HOURS_PER_WEEK = 168.0


class RepairChoice(NamedTuple):
    """What is chosen of a repair plan: numbers of crews, of trays on the shelf, of trays down that start a repair.

    None where the plan offers nothing to choose: ample crews, a shelf that never runs out, repair at once.
    """

    crews: int | None = None
    shelf_trays: int | None = None
    start_at: int | None = None


NOTHING = RepairChoice()


def repair_choices(plan: RepairPlan) -> list[RepairChoice]:
    """Every choice that a repair plan offers."""
    offered = (plan.crews or (None,), plan.shelf or (None,), plan.start_at or (None,))
    return [RepairChoice(*values) for values in itertools.product(*offered)]


def yearly_cost(plan: RepairPlan, choice: RepairChoice) -> float:
    """Yearly cost for a zone that takes the plan; the crews only where they are the zone's own."""
    own = choice.crews or 0 if plan.shared_by == "zone" else 0
    return plan.yearly_cost + own * plan.crew_cost


def shelf_price(plan: RepairPlan, choice: RepairChoice) -> float:
    """Capital of the trays on a zone's own shelf."""
    return (choice.shelf_trays or 0) * plan.tray_price if plan.shared_by == "zone" else 0.0


@dataclass(frozen=True)
class ShelfStock:
    """Trays on the shelf, the mean time (h) to replace one, and the share of the tray faults that take one."""

    trays: int
    lead_time: float
    parts_share: float


@dataclass(frozen=True)
class ZoneRepair:
    """How a zone is repaired: mean times by fault class in h (hands-on and off-crew) and what limits the repair.

    ``crews`` None: ample; ``shelf`` None: a tray is always at hand; ``start_at`` 1 and ``window`` None: at once.
    """

    hands_on: Mapping[str, float]
    off_crew: Mapping[str, float]
    crews: int | None = None
    part_time: bool = False
    exponential: bool = True
    constant: bool = False
    """Whether each tray takes the same time from when it is taken in hand."""
    shelf: ShelfStock | None = None
    start_at: int = 1
    window: float | None = None
    out_of_service: Literal["tray", "block", "rack"] = "tray"
    swap_stop: float = 0.0

    def mttr(self, fault: str) -> float:
        """Mean time to repair where neither a crew, a part nor a window is waited for, h."""
        return self.hands_on[fault] + self.off_crew[fault]

    @property
    def deferred(self) -> bool:
        """Whether a block's repair waits for more faults or a window, or takes the block out of service."""
        return self.start_at > 1 or self.window is not None or self.out_of_service != "tray"


def zone_repair(instance: Instance, plan: RepairPlan, choice: RepairChoice = NOTHING) -> ZoneRepair:
    """The repair of a zone that takes a repair plan; the only choice where the plan offers one and none is named.

    A crew on duty for less than the whole week is as slow as its hours are few: its hands-on times are stretched.
    """
    if choice == NOTHING:
        offered = repair_choices(plan)
        choice = offered[0] if len(offered) == 1 else choice
    times: dict[str, RepairTime] = {domain.name: domain.repair for domain in instance.failures.domains} | plan.domains
    times["tray"] = plan.tray
    if plan.rack is not None:
        times["rack"] = plan.rack
    stretch = HOURS_PER_WEEK / plan.crew_hours_per_week if choice.crews is not None else 1.0
    staffed = ("tray", "rack")
    shelf = None
    if choice.shelf_trays is not None:
        assert plan.lead_time is not None
        shelf = ShelfStock(choice.shelf_trays, plan.lead_time, plan.parts_share)
    return ZoneRepair(
        hands_on={name: time.mean_hands_on * (stretch if name in staffed else 1.0) for name, time in times.items()},
        off_crew={name: time.off_crew for name, time in times.items()},
        crews=choice.crews,
        part_time=stretch > 1.0,
        exponential=all(times[name].exponential for name in staffed if name in times),
        constant=plan.tray.law == "deterministic" and not plan.tray.phases and plan.tray.off_crew == 0,
        shelf=shelf,
        start_at=choice.start_at or 1,
        window=plan.window,
        out_of_service=plan.out_of_service,
        swap_stop=plan.swap_stop,
    )
