"""All plans that score at least a given score, and the best plan with given decisions: exactly, by bounds.

Nothing is left out for being dominated: a candidate goes only where no plan that uses it can reach the score
(``spareopt.plan_bounds``).  What is left is walked through zone by zone, in the order of the bounds, and each plan
at the end is scored exactly (``spareopt.plan_scores``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spareopt.plan_bounds import At, Bounds, Kind, bounds
from spareopt.plan_scores import PlanScores, counts_of
from spareopt.problem import Problem

Array = NDArray[np.float64]
Places = NDArray[np.int64]

NARROWINGS = 12  # rounds of leaving out candidates by their bounds, at most
WORTH_NARROWING = 0.9  # of the candidates left
CLIMBS = 20  # rounds of single changes from a first plan, at most
SAME = 1e-12  # of scores: sums in another order


class OutOfTimeError(Exception):
    """The time for an enumeration is used up."""


@dataclass(frozen=True)
class Found:
    """A plan: its exact score, its checkpoint plan (place) and how many zones take each candidate (position)."""

    score: float
    option: int
    counts: tuple[tuple[int, int], ...]

    @property
    def order(self) -> tuple[float, int, tuple[tuple[int, int], ...]]:
        """Best first; equal scores in the order of the instance."""
        return -self.score, self.option, self.counts


@dataclass(frozen=True)
class Best:
    """The best plan found, and a bound on the score of all plans that were asked for: its own where it is proven."""

    found: Found | None
    bound: float

    @property
    def proven(self) -> bool:
        """Whether there is no better plan."""
        return self.bound == (-np.inf if self.found is None else self.found.score)


@dataclass(frozen=True)
class _Case:
    """The candidates of plans whose slowest zone has one scale, with bounds."""

    kinds: tuple[Kind, ...]
    bounds: Bounds
    slowest: float

    @property
    def bound(self) -> float:
        """No plan of the case scores more."""
        return self.bounds.of_all(self.kinds)


class Shortlist:
    """The best plans found that reach a floor, at most so many.

    Once there are so many the floor rises to the last of them, and what is below it is not looked at; ``counting``:
    it does not rise, and ``reached`` is the number of all plans that reach it.
    """

    def __init__(self, floor: float, most: int, counting: bool = False) -> None:
        self.floor, self.most, self.counting = floor, most, counting
        self.reached = 0
        self.more = False
        """Whether more plans reach the first floor than are listed."""
        self.used: dict[int, Found] = {}
        """The best plan that reached it with each candidate."""
        self.options: dict[int, Found] = {}
        """The best one with each checkpoint plan."""
        self._plans: list[Found] = []

    def add(self, found: Found) -> None:
        """Take a plan that reaches the floor."""
        self._plans.append(found)
        if len(self._plans) >= 2 * self.most + 8:
            self._cut()

    def _cut(self) -> None:
        self._plans.sort(key=lambda plan: plan.order)
        if len(self._plans) > self.most:
            self.more = True
        del self._plans[self.most :]
        if len(self._plans) == self.most and not self.counting:
            self.floor = max(self.floor, self._plans[-1].score)

    def plans(self) -> list[Found]:
        """The plans, best first."""
        self._cut()
        return list(self._plans)


class Enumeration:
    """The plans of one problem that holds every candidate.

    ``alike``: all zones of a class take one candidate; else each zone its own.  ``going`` says whether there is time
    left; where there is none, ``OutOfTimeError`` is raised.  ``stoppable``: on Ctrl-C a search for the best plan
    ends as where there is no time left, and ``interrupted`` is true from then on.
    """

    def __init__(
        self, problem: Problem, alike: bool, going: Callable[[], bool] = lambda: True, stoppable: bool = False
    ) -> None:
        self.problem, self.alike, self.going = problem, alike, going
        self.stoppable, self.interrupted = stoppable, False
        self.scores = PlanScores(problem)
        rows = [np.flatnonzero(problem.group == z) for z in range(len(problem.members))]
        self.kinds = tuple(
            Kind(here, members if alike else 1, 1 if alike else members)
            for here, members in zip(rows, problem.members, strict=True)
        )

    @cached_property
    def _alone(self) -> list[Array]:
        """Where a plan is one candidate: the score of each, or a bound on it, by option."""
        rows, totals, scales = self.scores.alone(self.kinds[0].rows, self.kinds[0].zones)
        found = self.scores.by_option(totals, scales, range(len(self.problem.schemes)))
        scores = [np.full(len(self.problem.rows), -np.inf) for _ in found]
        for mine, of_option in zip(scores, found, strict=True):
            mine[rows] = of_option
        return scores

    @property
    def _single(self) -> bool:
        """Whether a plan is one candidate."""
        return len(self.kinds) == 1 and self.kinds[0].number == 1

    def at_least(self, shortlist: Shortlist, start: Found | None = None) -> None:
        """Put all plans that reach the shortlist's floor on it; ``start``: a good plan, which makes bounds tight."""
        for option in range(len(self.problem.schemes)):
            if self._single:
                self._one(option, self.kinds[0], shortlist)
            else:
                self._walk(option, self._cases(option, self.kinds, shortlist.floor, start), shortlist)

    def best(
        self,
        floor: float,
        allowed: Mapping[int, NDArray[np.bool_]],
        option: int | None = None,
        start: Found | None = None,
        any_zone: bool = False,
    ) -> Best:
        """The best plan above ``floor`` whose candidates are allowed: for each zone class named, by position.

        ``any_zone``: at least one zone of the class takes an allowed one, instead of all.  Where there is no time left
        the best found so far is returned, with a bound on what there may be.
        """
        kinds = list(self.kinds)
        for z, mask in allowed.items():
            rows = kinds[z].rows[mask[kinds[z].rows]]
            if not len(rows):
                return Best(None, -np.inf)
            if any_zone and kinds[z].number > 1:
                kinds[z] = replace(kinds[z], number=kinds[z].number - 1)
                kinds.append(replace(kinds[z], rows=rows, number=1))
            else:
                kinds[z] = replace(kinds[z], rows=rows)
        shortlist, bound = Shortlist(floor, 1), -np.inf
        options = list(range(len(self.problem.schemes))) if option is None else [option]
        if start is not None:  # a good plan early saves work with the others
            options.sort(key=lambda o: o != start.option)
        for o in options:
            try:
                bound = max(bound, self._best_of(o, tuple(kinds), shortlist, start))
            except KeyboardInterrupt:
                if not self.stoppable:
                    raise
                self.interrupted, bound = True, np.inf
                break
        plans = shortlist.plans()
        if plans and plans[0].score > floor:
            return Best(plans[0], max(bound, plans[0].score))
        return Best(None, bound)

    def _best_of(self, option: int, kinds: tuple[Kind, ...], shortlist: Shortlist, start: Found | None) -> float:
        """Put the best plan of an option on a shortlist; returns a bound on those that there was no time for."""
        if self._single:
            try:
                self._one(option, kinds[0], shortlist)
            except OutOfTimeError:
                return float(self._alone[option][kinds[0].rows].max())
            return -np.inf
        cases: list[_Case] = []
        left = kinds
        if shortlist.floor > -np.inf:
            cases = self._cases(option, kinds, shortlist.floor, start)
            if not cases:
                return -np.inf
            parts = zip(*(case.kinds for case in cases), strict=True)
            left = tuple(replace(same[0], rows=np.unique(np.concatenate([k.rows for k in same]))) for same in parts)
        best = self._climb(option, left, start)
        if best is not None and best.score > shortlist.floor:
            shortlist.add(best)
            shortlist.floor = best.score
            start = best
            cases = []
        cases = cases or self._cases(option, left, shortlist.floor, start)
        try:
            self._walk(option, cases, shortlist)
        except OutOfTimeError:
            return max(case.bound for case in cases)
        return -np.inf

    def _walk(self, option: int, cases: list[_Case], shortlist: Shortlist) -> None:
        for case in cases:
            if case.bound >= _below(shortlist.floor):
                _Walk(self, option, case, shortlist).run()

    def _cases(self, option: int, kinds: tuple[Kind, ...], floor: float, start: Found | None) -> list[_Case]:
        """The plans that can reach the floor, apart by the scale of their slowest zone; the highest bound first.

        A job runs at the pace of its slowest zone, so that a bound which knows that pace is far closer where the zones
        differ than one of their mean.
        """
        scale = self.problem.column("log_scale")
        fastest = min(float(scale[kind.rows].max()) for kind in kinds)
        scales = np.unique(np.concatenate([scale[kind.rows] for kind in kinds]))
        cases = []
        for slowest in scales[scales <= fastest]:
            able = tuple(replace(kind, rows=kind.rows[scale[kind.rows] >= slowest]) for kind in kinds)
            narrowed = self._narrowed(option, able, floor, start, float(slowest))
            if narrowed is not None and any((scale[kind.rows] == slowest).any() for kind in narrowed[0]):
                cases.append(_Case(*narrowed, float(slowest)))
        return sorted(cases, key=lambda case: -case.bound)

    def _one(self, option: int, kind: Kind, shortlist: Shortlist) -> None:
        """All plans of one candidate each; no bounds are needed."""
        worth = self._alone[option][kind.rows]
        if shortlist.most == 1 and not shortlist.counting and not self.scores.bounds_only:
            near = np.array([np.argmax(worth)])
        else:
            near = np.flatnonzero(worth >= shortlist.floor - SAME)
        for place in near[np.argsort(-worth[near], kind="stable")]:
            if worth[place] < shortlist.floor - SAME:
                shortlist.more = True
                return
            self.settle(option, [(int(kind.rows[place]), kind.zones)], float(worth[place]), shortlist)

    def settle(self, option: int, choice: list[tuple[int, int]], score: float, shortlist: Shortlist) -> None:
        """Take a plan whose score, or a bound on it, reached the floor."""
        counts = counts_of(choice)
        if self.scores.bounds_only:
            if score < shortlist.floor - SAME:
                return
            if not self.going():
                raise OutOfTimeError
            score = self.scores.exact(counts, option)
            if score < shortlist.floor - SAME or score == -np.inf:
                return
        if score == -np.inf:
            return
        shortlist.reached += 1
        found = Found(score, option, tuple(sorted(counts.items())))
        for best, key in ((shortlist.options, option), *((shortlist.used, candidate) for candidate in counts)):
            if key not in best or found.order < best[key].order:
                best[key] = found
        shortlist.add(found)
        if shortlist.most == 1 and not shortlist.counting:
            shortlist.floor = max(shortlist.floor, score)

    def _narrowed(
        self, option: int, kinds: tuple[Kind, ...], floor: float, start: Found | None, slowest: float
    ) -> tuple[tuple[Kind, ...], Bounds] | None:
        """The candidates that a plan which reaches the floor can use, with bounds; None where there are none."""
        at = None if start is None else self._at(start)
        for _ in range(NARROWINGS):
            if any(not len(kind.rows) for kind in kinds):
                return None
            found = bounds(self.problem, option, kinds, at, slowest)
            least = _below(floor)
            keep = [(worth > -np.inf) & (worth >= least) for worth in found.with_each(kinds)]
            left = sum(int(mask.sum()) for mask in keep)
            before = sum(len(kind.rows) for kind in kinds)
            kinds = tuple(replace(kind, rows=kind.rows[mask]) for kind, mask in zip(kinds, keep, strict=True))
            found = Bounds(
                found.constant,
                tuple(term[mask] for term, mask in zip(found.terms, keep, strict=True)),
                tuple(use[mask] for use, mask in zip(found.uses, keep, strict=True)),
                found.limits,
            )
            if any(not len(kind.rows) for kind in kinds):
                return None
            if left > WORTH_NARROWING * before:
                return kinds, found
        return kinds, found

    def _at(self, found: Found) -> At:
        outcome = self.problem.outcome(dict(found.counts), found.option)
        return At(outcome.placed_gpus, outcome.rate, outcome.log_up)

    def _climb(self, option: int, kinds: tuple[Kind, ...], start: Found | None) -> Found | None:
        """A good plan: one zone's candidate after the other is chosen anew, until nothing is gained."""
        slots = [kind for kind in kinds for _ in range(kind.number)]
        best: tuple[float, list[int]] | None = None
        for choice in self._starts(option, kinds, slots, start):
            score = self._climbed(option, slots, choice)
            if score > -np.inf and (best is None or score > best[0]):
                best = score, list(choice)
        if best is None:
            return None
        counts = counts_of((candidate, slot.zones) for candidate, slot in zip(best[1], slots, strict=True))
        score = self.scores.exact(counts, option) if self.scores.bounds_only else best[0]
        return None if score == -np.inf else Found(score, option, tuple(sorted(counts.items())))

    def _starts(self, option: int, kinds: tuple[Kind, ...], slots: list[Kind], start: Found | None) -> list[list[int]]:
        """Choices to climb from: the start's, where it is allowed, and the best terms of the bounds."""
        found = bounds(self.problem, option, kinds, None if start is None else self._at(start))
        top = [int(kind.rows[int(np.argmax(term))]) for kind, term in zip(kinds, found.terms, strict=True)]
        starts = [[candidate for kind, candidate in zip(kinds, top, strict=True) for _ in range(kind.number)]]
        if start is not None:
            left = dict(start.counts)
            choice = []
            for place, slot in enumerate(slots):
                fit = [c for c, zones in left.items() if zones >= slot.zones and (slot.rows == c).any()]
                choice.append(fit[0] if fit else starts[0][place])
                if fit:
                    left[fit[0]] -= slot.zones
            starts.append(choice)
        return starts

    def _climbed(self, option: int, slots: list[Kind], choice: list[int]) -> float:
        score = -np.inf
        for _ in range(CLIMBS):
            before = score
            for place, slot in enumerate(slots):
                totals, scale = self.scores.start()
                for other, candidate in enumerate(choice):
                    if other != place:
                        rows, scales = self.scores.added(totals, scale, np.array([candidate]), slots[other].zones)
                        totals, scale = rows[0], float(scales[0])
                worth = self.scores.scores(*self.scores.added(totals, scale, slot.rows, slot.zones), option)
                top = int(np.argmax(worth))
                if worth[top] > score:
                    score, choice[place] = float(worth[top]), int(slot.rows[top])
            if score <= before:
                break
        return score


def _below(floor: float) -> float:
    """A floor for bounds: rounding in their sums must not cost a plan."""
    return floor if floor == -np.inf else floor - 1e-9 * max(1.0, abs(floor))


@dataclass(frozen=True)
class _Ordered:
    """One slot of a plan: candidates from the best term on, what each adds to the bound and uses of the limits.

    ``chained``: the slot before is of the same kind, so that its choice must not come after this one's.  ``rest``: what
    the later slots can add at most after each choice; ``rest_use``: what they use at least.
    """

    kind: Kind
    rows: Places
    terms: Array
    uses: Array
    chained: bool
    rest: Array
    rest_use: Array


class _Walk:
    """The walk through what is left, zone by zone; zones of a class in the order of their candidates."""

    def __init__(self, owner: Enumeration, option: int, case: _Case, shortlist: Shortlist) -> None:
        self.owner, self.option, self.shortlist, self.slowest = owner, option, shortlist, case.slowest
        kinds, found = case.kinds, case.bounds
        self.found = found
        self.slots: list[_Ordered] = []
        later, later_use = 0.0, np.zeros(len(found.limits))
        for kind, unordered, own_uses in reversed(list(zip(kinds, found.terms, found.uses, strict=True))):
            order = np.argsort(-unordered, kind="stable")
            rows, terms, uses = kind.rows[order], unordered[order], own_uses[order]
            for after in range(kind.number):
                rest, rest_use = later + after * terms, later_use + after * uses.min(axis=0)
                self.slots.insert(0, _Ordered(kind, rows, terms, uses, after < kind.number - 1, rest, rest_use))
            later, later_use = later + kind.number * float(terms[0]), later_use + kind.number * uses.min(axis=0)

    def run(self) -> None:
        """Walk through all."""
        totals, scale = self.owner.scores.start()
        self._from(0, 0, totals, scale, self.found.constant, np.zeros(len(self.found.limits)), [])

    def _from(
        self, depth: int, first: int, totals: Array, scale: float, bound: float, used: Array, choice: list[int]
    ) -> None:
        if not self.owner.going():
            raise OutOfTimeError
        slot, scores = self.slots[depth], self.owner.scores
        least = _below(self.shortlist.floor)
        upper = bound + slot.terms[first:] + slot.rest[first:]  # falls along the order
        last = first + int(np.searchsorted(-upper, -least, side="right"))
        fits = (used + slot.uses[first:last] + slot.rest_use <= self.found.limits).all(axis=1)
        places = first + np.flatnonzero(fits)
        if not len(places):
            return
        if depth == len(self.slots) - 1:
            if scale > self.slowest:
                own = self.owner.problem.column("log_scale")[slot.rows[places]]
                places = places[own == self.slowest]  # plans without a slowest zone are of another case
            if len(places):
                self._score(slot, places, totals, scale, choice)
            return
        chained = self.slots[depth + 1].chained
        for place in places:
            if upper[place - first] < _below(self.shortlist.floor):
                return  # the floor has risen
            rows, scales = scores.added(totals, scale, slot.rows[place : place + 1], slot.kind.zones)
            self._from(
                depth + 1,
                int(place) if chained else 0,
                rows[0],
                float(scales[0]),
                bound + float(slot.terms[place]),
                used + slot.uses[place],
                [*choice, int(slot.rows[place])],
            )

    def _score(self, slot: _Ordered, places: Places, totals: Array, scale: float, choice: list[int]) -> None:
        scores = self.owner.scores
        rows = slot.rows[places]
        worth = scores.scores(*scores.added(totals, scale, rows, slot.kind.zones), self.option)
        near = np.flatnonzero(worth >= self.shortlist.floor - SAME)
        zones = [before.kind.zones for before in self.slots[:-1]]
        for place in near[np.argsort(-worth[near], kind="stable")]:
            if worth[place] < self.shortlist.floor - SAME:
                self.shortlist.more = True
                return
            taken = [*zip(choice, zones, strict=True), (int(rows[place]), slot.kind.zones)]
            self.owner.settle(self.option, taken, float(worth[place]), self.shortlist)
