"""Where to ask for the next point of an efficient frontier, and what the answers prove about the points found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from math import hypot, inf

from spareopt.plan import Plan
from spareopt.what_if import Changes

SAME = 1e-12  # relative
HALVINGS = 2
"""Of a stretch without a point before its nearest point is asked for instead."""
QUESTIONS_PER_POINT = 6  # solves, at most: ties and empty stretches cost some
MOST_REPAIRS = 5  # rounds of asking one step beyond points, whose better neighbours take their place


@dataclass(frozen=True)
class Found:
    """The answer to "what is best among the plans that reach at least ``asked``?".

    ``reach`` and ``worth`` are the plan's own, both the more the better; no plan that reaches ``asked`` is worth more
    than ``bound``.
    """

    asked: float
    reach: float
    worth: float
    bound: float
    plan: Plan
    changes: Changes


Ask = Callable[[list[float]], Iterable[Found | None]]
"""Answers to several reaches asked for, in their order; None where no plan reaches that far (proven)."""


@dataclass
class Curve:
    """The points found, and every answer: what it says about all plans holds for the points, too."""

    step: float
    found: list[Found] = field(default_factory=list)
    facts: list[tuple[float, float, float]] = field(default_factory=list)
    """Reach asked, worth of the plan got (minus infinity where none), bound on the worth of all."""

    def learn(self, asked: float, answer: Found | None, bound: float = -inf) -> None:
        """Note what an answer proves."""
        self.facts.append((asked, -inf, bound) if answer is None else (asked, answer.worth, answer.bound))

    def points(self) -> list[Found]:
        """The points that no other one found dominates, by increasing reach."""
        kept: list[Found] = []
        for point in sorted(self.found, key=lambda p: (-p.reach, -p.worth)):
            if not kept or point.worth > kept[-1].worth + SAME * abs(kept[-1].worth):
                kept.append(point)
        return kept[::-1]

    def beyond(self, point: Found) -> float:
        """The next reach to ask for."""
        return point.reach + self.step * abs(point.reach)

    def open_to(self, left: Found, right: Found) -> tuple[float, int]:
        """Up to where between two neighbours a point may still be, and how often none was found there."""
        worth = right.worth + SAME * abs(right.worth)
        tries = [asked for asked, got, _ in self.facts if left.reach < asked <= right.reach and got <= worth]
        empty = [asked for asked in tries if asked < right.reach]
        return min([right.reach, *empty]), len(empty)

    def worth_within(self, point: Found) -> float | None:
        """The relative worth that a plan which reaches as far may have beyond the point's; None without a proof."""
        slack = SAME * abs(point.reach)
        best = min((bound for asked, _, bound in self.facts if asked <= point.reach + slack), default=inf)
        if best == inf:
            return None
        return _relative(max(0.0, best - point.worth), point.worth)

    def reach_within(self, point: Found) -> float | None:
        """How much further, relatively, a plan worth as much may reach; None where nothing is proven."""
        limits = [asked for asked, _, bound in self.facts if asked > point.reach and bound < point.worth]
        return _relative(min(limits) - point.reach, point.reach) if limits else None


def _relative(difference: float, value: float) -> float | None:
    """A difference in shares of a value; None of a value of zero, such as the cost where all prices are zero."""
    return difference / abs(value) if value else None if difference else 0.0


def trace(curve: Curve, ask: Ask, points: int) -> bool:
    """Fill the curve between its ends, where it is emptiest first; whether nothing is left to be found (within steps).

    Several questions are asked at a time, and which they are does not depend on who answers them or when.
    """
    asked = 0
    while True:
        now = curve.points()
        stretches = _open_stretches(curve, now)
        missing = min(points - len(now), QUESTIONS_PER_POINT * points - asked)
        if not stretches or missing <= 0:
            return not stretches
        emptiest = max(size for size, _ in stretches)
        reaches = [reach for size, reach in sorted(stretches, reverse=True) if size >= emptiest / 2][:missing]
        asked += len(reaches)
        for reach, answer in zip(reaches, ask(reaches), strict=True):
            curve.learn(reach, answer)
            if answer is not None:
                curve.found.append(answer)


def _open_stretches(curve: Curve, now: list[Found]) -> list[tuple[float, float]]:
    """How empty each stretch between neighbours is, in shares of the whole curve, and the reach to ask for in it."""
    if len(now) < 2:
        return []
    wide, high = now[-1].reach - now[0].reach, now[0].worth - now[-1].worth
    stretches = []
    for left, right in pairwise(now):
        end, tries = curve.open_to(left, right)
        if end <= curve.beyond(left):
            continue
        share = (end - left.reach) / (right.reach - left.reach)
        size = share * hypot((right.reach - left.reach) / wide, (left.worth - right.worth) / high)
        reach = (left.reach + end) / 2 if tries < HALVINGS else curve.beyond(left)
        stretches.append((size, max(reach, curve.beyond(left))))
    return stretches


def verify(curve: Curve, ask: Ask) -> None:
    """Ask for each point whether a plan one step further is worth as much; a plan that is takes the point's place."""
    checked: set[float] = set()
    for _ in range(MOST_REPAIRS):
        now = curve.points()
        left = [point for point in now if point.reach not in checked and not _is_tight(curve, point)]
        if not left:
            return
        checked.update(point.reach for point in left)
        for point, answer in zip(left, ask([curve.beyond(point) for point in left]), strict=True):
            curve.learn(curve.beyond(point), answer)
            if answer is not None and answer.worth >= point.worth - SAME * abs(point.worth):
                curve.found.append(answer)


def _is_tight(curve: Curve, point: Found) -> bool:
    within = curve.reach_within(point)
    return within is not None and within <= 1.01 * curve.step
