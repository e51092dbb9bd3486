"""The efficient frontier: the most goodput against cost, capital or power, every point an optimum with its proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

import numpy as np
import pandas as pd

from spareopt import units
from spareopt.asking import OnCount, ask
from spareopt.candidates import enumerate_candidates
from spareopt.decisions import Decisions
from spareopt.errors import Fault, InfeasibleError, InputError, LimitError, StoppedError
from spareopt.evaluation import Evaluation
from spareopt.frontier_search import Curve, Found, trace, verify
from spareopt.instance import Instance
from spareopt.levels import level_instances, shared_costs
from spareopt.plan import ALL_PLANS, PROVEN, Among, Plan, ProofStatus, Provenance, provenance_of
from spareopt.record import Frozen, Result, Shown
from spareopt.schemes import Model
from spareopt.search import DEFAULT_GAP
from spareopt.what_if import Answer, Changes, SolveOptions, what_ifs

Of = Literal["cost", "capital", "power"]
POINTS = 5  # of a curve, ends included, by default
LOWEST = 0.5  # of the most goodput: where a curve of cost ends below
SMALLEST_STEP = 1e-7  # relative; above the tolerance of limits, or a step would change nothing
END_HALVINGS = 7  # of the range, in search of the least of a resource that has a plan
FLAT = 0.02
"""Height above the straight line between the ends, in shares of the range, below which a curve has no knee."""
FIELDS: dict[Of, str] = {"cost": "cost_per_year", "capital": "capital", "power": "it_power_kw"}


class FrontierPoint(Frozen):
    """A point of the frontier: a plan, what it takes and gives, and how near it is proven to be efficient."""

    resource: float
    """What the plan takes of the frontier's resource, in its unit."""
    goodput: float
    """In baseline GPUs."""
    capital: float | None
    """In the frontier's currency."""
    yearly_cost: float | None
    """Money a year."""
    cost_per_year: float | None
    """Capital over its years, and yearly cost."""
    it_power_kw: float | None
    """Power drawn by racks, in kW."""
    availability: float
    """Share of the time in which no zone is short."""
    decisions: Decisions
    """The plan."""
    changes: dict[str, object]
    """What ``spareopt solve`` is to be given with ``--set`` to find the point again."""
    status: ProofStatus
    """Of the solve that found it."""
    resource_within: float | None
    """No plan with at least this goodput takes less than (1 − this) of the resource; None where nothing is proven."""
    goodput_within: float | None
    """No plan that takes at most this much has more than (1 + this) times the goodput; None where nothing is proven."""
    supported: bool
    """On the concave hull of the points found: some weighting of goodput and resource would find it.  A point below
    the hull is unsupported for certain; points not asked for may turn a supported one into an unsupported one."""
    knee: bool
    """The point furthest above the straight line between the ends, both axes scaled to their range; none where the
    curve is nearly straight."""
    resource_per_gpu: float | None
    """What each further baseline GPU of goodput takes up to the next point; None at the last one."""


class Frontier(Result, Shown):
    """An efficient frontier, by increasing resource and goodput."""

    schema_version: Literal[1] = 1
    of: Of
    """The resource against which goodput is set."""
    unit: str
    """Of the resource."""
    currency: str
    """Of all money."""
    among: Among = ALL_PLANS
    """Which plans points are the best of, and proofs are about."""
    lowest_goodput: float
    """The curve begins here: cheaper plans with less goodput were not looked for."""
    points: tuple[FrontierPoint, ...]
    """By increasing resource."""
    complete: bool
    """Whether there is no further efficient point between those found, but for steps of ``step``."""
    interrupted: bool
    """Whether Ctrl-C ended the run before all was asked."""
    step: float
    """The relative step by which points were told apart."""
    solves: int
    """How many optimisations were run."""
    provenance: Provenance
    """What it was made from."""

    def table(self) -> pd.DataFrame:
        """A row per point, units in the column names, without its decisions."""
        money = self.currency.lower()
        unit = {"cost": f"{money}_per_year", "capital": money, "power": "kw"}[self.of]
        names = {
            "goodput": "goodput_baseline_gpus",
            "capital": f"capital_{money}",
            "yearly_cost": f"yearly_cost_{money}_per_year",
            "cost_per_year": f"cost_{money}_per_year",
            "it_power_kw": "it_power_kw",
            "availability": "availability",
            "resource_per_gpu": f"{self.of}_{unit}_per_further_baseline_gpu",
            "supported": "supported",
            "knee": "knee",
            "resource_within": f"{self.of}_within_relative",
            "goodput_within": "goodput_within_relative",
            "status": "status",
        }
        rows = [{column: getattr(point, name) for name, column in names.items()} for point in self.points]
        return pd.DataFrame(rows, columns=list(names.values()))


def frontier(
    instance: Instance,
    of: Of = "cost",
    *,
    points: int = POINTS,
    lowest: float = LOWEST,
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    model: Model = "exact",
    alike: bool = False,
    on_count: OnCount | None = None,
) -> Frontier:
    """The efficient frontier of goodput against cost per year, capital or IT power.  Limits of the instance stay.

    The ends come first: the most goodput, and the least of the resource with at least ``lowest`` of it (a share); then
    points where the curve is emptiest, at most ``points`` with the ends.  Each is the optimum of its own question (the
    least cost of a goodput, or the most goodput within a cap), checked one step (the gap asked) beyond: see
    ``FrontierPoint`` for what that proves.  ``gap``, ``time_limit`` (of each solve, in seconds), ``seed``,
    ``model`` and ``alike`` are as in ``spareopt.solve``; with the last the curve is that of the plans that build
    all zones of a class alike, and proofs are of those.  ``on_count`` is told how many solves are done, and of how
    many: an estimate.  On Ctrl-C the points found so far are the result.  Raises InputError, InfeasibleError,
    LimitError, StoppedError (no point yet).
    """
    if points < 2:
        raise ValueError(f"points: expected at least 2, got {points}")
    if not 0 < lowest < 1:
        raise ValueError(f"lowest: expected a share between 0 and 1, got {lowest}")
    _check_known(instance, of)
    options = SolveOptions(gap, time_limit, seed, model, alike)
    tracing = _Tracing(instance, of, options, on_count)
    curve = Curve(max(options.gap, SMALLEST_STEP))
    complete, interrupted, least = False, False, 0.0
    try:
        tracing.expected = (3 if of == "cost" else 4) + 2 * points - 2
        least = tracing.ends(curve, lowest, points)
        tracing.expected = tracing.solves + 2 * points - len(curve.found) - 1
        complete = trace(curve, tracing.ask, points)
        tracing.expected = tracing.solves + len(curve.points()) - 1
        verify(curve, tracing.ask)
    except (StoppedError, KeyboardInterrupt):
        interrupted = True
        if not curve.found and tracing.top is not None:
            curve.found.append(tracing.top)
        if not curve.found:
            raise StoppedError("interrupted before the frontier had any point") from None
        least = least or lowest * max(point.plan.evaluation.goodput for point in curve.found)
    found = curve.points()
    found = found if of == "cost" else found[::-1]
    return Frontier(
        of=of,
        unit={"cost": f"{instance.currency} per year", "capital": instance.currency, "power": "kW of IT power"}[of],
        currency=instance.currency,
        among=curve.points()[0].plan.certificate.among,
        lowest_goodput=least,
        points=tuple(_described(curve, found, of, instance.currency)),
        complete=complete,
        interrupted=interrupted,
        step=curve.step,
        solves=tracing.solves,
        provenance=provenance_of(
            instance,
            {
                "of": of,
                "points": points,
                "lowest": lowest,
                "gap": gap,
                "time_limit_s": time_limit,
                "model": model,
                "alike": alike,
            },
            seed,
        ),
    )


def _check_known(instance: Instance, of: Of) -> None:
    """A frontier needs the resource of every design.  Raises InputError."""
    field = "power" if of == "power" else "rack_price"
    without = [design.name for design in instance.designs if getattr(design, field) is None]
    if without:
        message = f"a frontier of {of} needs it for every design; none is stated for {', '.join(without)}"
        raise InputError(instance.name, [Fault(f"designs.{without[0]}.{field}", message)])


@dataclass
class _Tracing:
    """Puts the questions of one frontier.  Reach and worth are goodput and minus cost, or minus the cap and goodput."""

    instance: Instance
    of: Of
    options: SolveOptions
    on_count: OnCount | None
    solves: int = 0
    expected: int = 0
    """About how many solves there will be."""
    top: Found | None = None
    """The plan of the most goodput."""

    def ask(self, reaches: list[float]) -> Iterator[Found | None]:
        """Answer questions of the search, each as soon as it is solved.  Raises LimitError, StoppedError."""
        changes = [question(self.of, reach, self.instance.currency) for reach in reaches]
        for reach, change, answer in zip(reaches, changes, self._answers(changes), strict=True):
            if answer.status == "no plan in time":
                raise LimitError(f"a point of the frontier was not found in time: {answer.why}")
            yield None if answer.plan is None else self._found(reach, answer.plan, change)

    def ends(self, curve: Curve, lowest: float, points: int) -> float:
        """Find both ends, and at most so many points with those on the way; the least goodput of interest."""
        (answer,) = self._answers([{"objective": {"kind": "goodput"}}])
        most = answer.plan
        if most is None:
            raise (LimitError if answer.status == "no plan in time" else InfeasibleError)(answer.why)
        goodput, bound = most.evaluation.goodput, most.certificate.bound
        if self.of == "cost":
            self.top = self._found(goodput, most, question(self.of, goodput, self.instance.currency))
            self.top = replace(self.top, bound=inf)  # nothing is proven of its cost
            curve.learn(bound * (1 + SMALLEST_STEP), None)
            for reach, end in zip(asked := [goodput, lowest * goodput], self.ask(asked), strict=True):
                if end is not None:
                    curve.learn(reach, end)
                    curve.found.append(end)
            return lowest * goodput
        most_end = self._found(-inf, most, {"objective": {"kind": "goodput"}})
        curve.learn(-inf, most_end)
        curve.found.append(most_end)
        self._low_end(curve, most_end, lowest * goodput, points - 2)
        return lowest * goodput

    def _low_end(self, curve: Curve, top: Found, goodput: float, between: int) -> None:
        """The smallest cap within which a plan has the least goodput of interest, or nearly so.

        Plans found on the way there are points too, as many as may stand ``between`` the ends: the highest of them, as
        they are the furthest apart.
        """
        ends = len(curve.found)
        least = _least(self.instance, FIELDS[self.of], self.options)
        curve.learn(-least * (1 - SMALLEST_STEP), None)
        short, cap = least, least * (1 + 1e-9)
        for _ in range(END_HALVINGS + 1):
            (answer,) = self.ask([-cap])
            if answer is not None and answer.worth >= goodput:
                curve.learn(-cap, answer)
                del curve.found[ends + between :]
                curve.found.append(answer)
                if short == least and cap <= least * (1 + 1e-8):
                    return
                top = answer if answer.reach > top.reach else top
            else:
                if answer is None or answer.bound < goodput:
                    curve.learn(-cap, answer)
                short = cap
            cap = (short - top.reach) / 2

    def _found(self, asked: float, plan: Plan, changes: Changes) -> Found:
        resource, goodput = getattr(plan.evaluation, FIELDS[self.of]), plan.evaluation.goodput
        bound = plan.certificate.bound
        if self.of == "cost":
            return Found(asked, goodput, -resource, -bound, plan, changes)
        return Found(asked, -resource, goodput, bound, plan, changes)

    def _answers(self, changes: Sequence[Changes]) -> Iterator[Answer]:
        for answer in ask(what_ifs(self.instance, changes), self.options):
            if answer.status == "interrupted":
                raise StoppedError("interrupted before the frontier had any point")
            self.solves += 1
            if self.on_count is not None:
                self.on_count(self.solves, max(self.expected, self.solves))
            yield answer


def question(of: Of, reach: float, currency: str) -> dict[str, object]:
    """The changes that ask for the best plan that reaches so far: a goodput at least, or minus a cap at most."""
    if of == "cost":
        return {"objective": {"kind": "cost", "goodput_target": reach}}
    path, kind = ("limits.capital", units.MONEY) if of == "capital" else ("limits.it_power", units.POWER)
    return {"objective": {"kind": "goodput"}, path: units.write(-reach, kind, currency)}


def _known(value: float | None) -> float:
    assert value is not None
    return value


def _least(instance: Instance, column: str, options: SolveOptions) -> float:
    """What any plan takes of the resource at least, each zone taking the least by itself."""
    totals = []
    for level in level_instances(instance):
        table = enumerate_candidates(level, options.model).table
        least = table.groupby("zone")[column].min()
        if len(least) == len(instance.zones):
            shared = shared_costs(level)[0] if column == "capital" else 0.0
            totals.append(shared + sum(zone.count * float(least[z]) for z, zone in enumerate(instance.zones)))
    return min(totals)


def _described(curve: Curve, found: Sequence[Found], of: Of, currency: str) -> list[FrontierPoint]:
    evaluations = [point.plan.evaluation for point in found]
    resources = [float(getattr(e, FIELDS[of])) for e in evaluations]
    goodputs = [e.goodput for e in evaluations]
    hull, knee = supported(resources, goodputs), knee_of(resources, goodputs)
    points = []
    for k, (point, evaluation) in enumerate(zip(found, evaluations, strict=True)):
        worth, reach = curve.worth_within(point), curve.reach_within(point)
        last = k + 1 == len(found)
        points.append(
            FrontierPoint(
                resource=resources[k],
                goodput=goodputs[k],
                availability=evaluation.availability,
                decisions=point.plan.decisions,
                changes=question(of, goodputs[k] if of == "cost" else -resources[k], currency),
                status=PROVEN if point.plan.certificate.status == PROVEN else point.plan.certificate.status,
                resource_within=worth if of == "cost" else reach,
                goodput_within=reach if of == "cost" else worth,
                supported=hull[k],
                knee=k == knee,
                resource_per_gpu=None if last else (resources[k + 1] - resources[k]) / (goodputs[k + 1] - goodputs[k]),
                **_money_and_power(evaluation),
            )
        )
    return points


def _money_and_power(evaluation: Evaluation) -> dict[str, float | None]:
    names = ("capital", "yearly_cost", "cost_per_year", "it_power_kw")
    return {name: getattr(evaluation, name) for name in names}


def supported(resources: Sequence[float], goodputs: Sequence[float]) -> list[bool]:
    """Which points (by increasing resource) are on the upper concave hull of them all."""
    hull: list[int] = []
    for k in range(len(resources)):
        while len(hull) > 1:
            i, j = hull[-2], hull[-1]
            left = (goodputs[j] - goodputs[i]) * (resources[k] - resources[i])
            right = (goodputs[k] - goodputs[i]) * (resources[j] - resources[i])
            if left >= right:
                break
            hull.pop()
        hull.append(k)
    return [k in hull for k in range(len(resources))]


def knee_of(resources: Sequence[float], goodputs: Sequence[float]) -> int | None:
    """The point furthest above the line between the ends, both axes scaled to their range.

    None where none is clearly above it: a curve that is nearly straight has no knee.
    """
    if len(resources) < 3:
        return None
    x, y = (np.asarray(values, dtype=float) for values in (resources, goodputs))
    above = (y - y[0]) / (y[-1] - y[0]) - (x - x[0]) / (x[-1] - x[0])
    best = int(above.argmax())
    return best if above[best] > FLAT else None
