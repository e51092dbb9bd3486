"""Marginal values: what a little more of each limit, or a little better input, is worth, by solving again both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from spareopt import units
from spareopt.asking import OnCount, ask_around
from spareopt.decisions import at_the_edge
from spareopt.errors import Fault, InputError
from spareopt.instance import Instance
from spareopt.overrides import OverrideError, fields_of
from spareopt.plan import Certificate, Plan, Provenance, provenance_of
from spareopt.record import Frozen, Result, Shown
from spareopt.schemes import Model
from spareopt.units import HOURS_PER_YEAR
from spareopt.what_if import Answer, Changes, SolveOptions, what_ifs

LIMIT_SHARE = 0.01  # a step of a limit, as a share of it
INPUT_SHARE = 0.1  # a step of an input, as a share of it
EVENLY = 0.8  # of a step that a plan uses at least, and over which it uses at most, for a value per unit to mean much
MARGINAL_GAP = 1e-6  # of each solve, so that differences of optima are not noise
METHOD = "finite difference between optima, by solving again; no dual price"
BETTER_INPUTS: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("tray MTBF", ("failures.tray.mtbf",), True),
    ("rack MTBF", ("failures.rack.mtbf",), True),
    ("software MTBF", ("failures.software.mtbf",), True),
    (
        "repair times",
        tuple(
            f"repair_plans.*.{unit}.{time}"
            for unit in ("tray", "rack", "domains.*")
            for time in ("hands_on", "off_crew", "phases.*.hands_on")
        ),
        False,
    ),
    ("restart", ("checkpoint_plans.*.restart", "checkpoint_plans.*.memory.restart"), False),
)
"""Name, fields, whether more of it is better."""


class MarginalStep(Frozen):
    """One limit or input moved by one step, and the optimum then."""

    changes: dict[str, Any]
    """What was set, by field."""
    amount: float
    """The step, in the marginal value's unit; positive."""
    status: str
    """Of the solve: proven, limit reached, infeasible, ..."""
    change: float | None
    """How much better the objective is, in its own unit (negative: worse); None without a plan."""
    change_low: float | None
    """Where the change is at least."""
    change_high: float | None
    """The true change lies between these, by both certificates."""
    told: bool
    """Whether the proofs tell the sign of the change; else it is below what they can tell."""
    per_unit: float | None
    """The change over the step."""
    money_per_year: float | None
    """What the change is worth: saved at the same goodput; None where the objective does not price goodput."""
    plan_cost_change_per_year: float | None
    """How the optimal plan's own cost per year moves."""
    use_change: float | None = None
    """How much more of the limit the optimal plan uses, in the marginal value's unit; None for other than amounts."""

    @property
    def in_whole_units(self) -> bool:
        """Whether the plan uses more of the limit than the step, or much less: it moves by whole racks, say."""
        return self.use_change is not None and not EVENLY * self.amount <= self.use_change <= self.amount / EVENLY


class MarginalValue(Frozen):
    """A limit or an input: what a step for the better brings, and a step for the worse takes."""

    name: str
    """What was moved, in words."""
    kind: Literal["limit", "choice", "input"]
    """A limit of the instance, the end of a choice, or an input."""
    unit: str
    """Of the step."""
    better: MarginalStep
    """The step for the better."""
    worse: MarginalStep | None
    """None where a step for the worse makes no sense, such as from one crew to none, or was not reached."""


class MarginalValues(Result, Shown):
    """The marginal values of an instance's limits and inputs around its optimum."""

    schema_version: Literal[1] = 1
    method: str = METHOD
    """How they were found, in words."""
    currency: str
    """Of all money."""
    certificate: Certificate
    """Of the plan that all steps are compared with."""
    cost_per_year: float | None
    """Of the plan that all steps are compared with."""
    values: tuple[MarginalValue, ...]
    """One for each limit, choice and input that was moved."""
    at_the_edge: tuple[str, ...] = ()
    """Decisions of that plan at an end of what the instance offers: more of a limit may be worth 0 for that alone."""
    only_offered: tuple[str, ...] = ()
    """Numbers of racks of which the instance offers no other: more of a limit buys none."""
    interrupted: bool
    """Whether Ctrl-C ended the run before all was asked."""
    provenance: Provenance
    """What it was made from."""

    def table(self) -> pd.DataFrame:
        """A row for each step, units in the column names or beside the name."""
        money = f"{self.currency.lower()}_per_year"
        rows = [
            {
                "name": value.name,
                "kind": value.kind,
                "unit": value.unit,
                "direction": direction,
                "step": step.amount,
                "status": step.status,
                "objective_unit": self.certificate.unit,
                "change": step.change,
                "change_low": step.change_low,
                "change_high": step.change_high,
                "told": step.told,
                "change_per_unit": step.per_unit,
                f"worth_{money}": step.money_per_year,
                f"plan_cost_change_{money}": step.plan_cost_change_per_year,
            }
            for value in self.values
            for direction, step in (("better", value.better), ("worse", value.worse))
            if step is not None
        ]
        return pd.DataFrame(rows)


@dataclass(frozen=True)
class _Step:
    name: str
    kind: Literal["limit", "choice", "input"]
    unit: str
    amount: float
    better: Changes
    worse: Changes | None
    limit: str = ""
    size: float = 1.0  # of the unit, in that of the limit's slack


def marginal_values(
    instance: Instance,
    *,
    limit_share: float = LIMIT_SHARE,
    limit_step: str | None = None,
    input_share: float = INPUT_SHARE,
    gap: float = MARGINAL_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    model: Model = "exact",
    alike: bool = False,
    on_count: OnCount | None = None,
) -> MarginalValues:
    """What one step more of each limit that the instance states, or of each input's quality, is worth.

    Limits move by ``limit_share`` of themselves (whole units by one at least), those that are amounts of the same kind
    as ``limit_step`` (such as "10 M$") by that instead; MTBF, repair and restart times by ``input_share``.  These are
    differences between optima, not dual prices: plans come in whole racks, so a step too small for one is worth
    nothing.  ``gap``, ``time_limit`` (of each solve, in seconds), ``seed``, ``model`` and
    ``alike`` (every plan builds all zones of a class alike) as in ``spareopt.solve``; ``on_count`` is told how many
    solves are done, and of how many.  Raises InputError, InfeasibleError, LimitError, StoppedError.
    """
    for name, share in (("limit_share", limit_share), ("input_share", input_share)):
        if not 0 < share < 1:
            raise ValueError(f"{name}: expected a share between 0 and 1, got {share}")
    steps = [
        *_limit_steps(instance, limit_share, limit_step),
        *_choice_steps(instance),
        *_input_steps(instance, input_share),
    ]
    asked: list[Changes] = [{}]
    for step in steps:
        asked += [step.better] if step.worse is None else [step.better, step.worse]
    base, got = ask_around(what_ifs(instance, asked), SolveOptions(gap, time_limit, seed, model, alike), on_count)
    values, place = [], 1
    for step in steps:
        number = 1 if step.worse is None else 2
        mine = got[place : place + number]
        place += number
        if not mine:
            break
        values.append(
            MarginalValue(
                name=step.name,
                kind=step.kind,
                unit=step.unit,
                better=_compared(base, mine[0], step, step.better, +1),
                worse=None
                if step.worse is None or len(mine) < number
                else _compared(base, mine[1], step, step.worse, -1),
            )
        )
    return MarginalValues(
        currency=instance.currency,
        certificate=base.certificate,
        cost_per_year=base.evaluation.cost_per_year,
        values=tuple(values),
        at_the_edge=tuple(at_the_edge(instance, base.decisions)),
        only_offered=tuple(f"{zone.name}: racks {zone.racks[0]}" for zone in instance.zones if len(zone.racks) == 1),
        interrupted=len(got) < len(asked),
        provenance=provenance_of(
            instance,
            {
                "limit_share": limit_share,
                **({} if limit_step is None else {"limit_step": limit_step}),
                "input_share": input_share,
                "gap": gap,
                "time_limit_s": time_limit,
                "model": model,
                "alike": alike,
            },
            seed,
        ),
    )


def _limit_steps(instance: Instance, share: float, amount_text: str | None) -> list[_Step]:
    """A step for each limit stated, in the unit that planners think in: by an amount of its kind, or else a share."""
    limits, money = instance.limits, instance.currency
    symbol = units.CURRENCIES[money]
    quantities: list[tuple[str, str, float | None, float, units.Kind, str]] = [
        ("capital", "limits.capital", limits.capital, 1e6, units.MONEY, f"M{symbol}"),
        ("yearly cost", "limits.yearly_cost", limits.yearly_cost, 1e6, units.MONEY_PER_YEAR, f"M{symbol} per year"),
        ("IT power", "limits.it_power", limits.it_power, 1e3, units.POWER, "MW"),
        ("site power", "limits.site_power", limits.site_power, 1e3, units.POWER, "MW"),
        ("rack power", "power.rack_limit", instance.power.rack_limit, 1.0, units.POWER, "kW of each rack"),
    ]
    steps: list[_Step] = []
    amounts = _amounts(amount_text, [kind for _, _, value, _, kind, _ in quantities if value], money)
    for name, path, value, size, kind, unit in quantities:
        if value:
            by = amounts.get(kind, share * value)
            by = by if by < value else share * value  # of another size: the power of a site, not of a rack
            more = {path: units.write(value + by, kind, money)}
            less = {path: units.write(value - by, kind, money)}
            steps.append(_Step(name, "limit", unit, by / size, more, less, path.removeprefix("limits."), size))
    counts = [
        ("rack positions", "limits.floor", limits.floor, "rack position", 1),
        ("crew seats", "limits.crews", limits.crews, "crew seat", 1),
        ("shelf trays", "limits.shelf_trays", limits.shelf_trays, "shelf tray", 0),
    ]
    for name, path, number, unit, least in counts:
        if number is not None:
            amount = max(1, round(share * number))
            worse = {path: number - amount} if number - amount >= least else None
            steps.append(_Step(name, "limit", unit, amount, {path: number + amount}, worse))
    smallest = limits.working_gpus.minimum
    if smallest is not None:
        amount = max(1, round(share * smallest))
        path = "limits.working_gpus.minimum"
        most = limits.working_gpus.maximum
        worse = {path: smallest + amount} if most is None or smallest + amount <= most else None
        if smallest > amount:
            steps.append(_Step("working GPUs asked", "limit", "GPU fewer", amount, {path: smallest - amount}, worse))
    target = instance.objective.goodput_target
    if target is not None:
        path = "objective.goodput_target"
        better, worse_target = {path: target * (1 - share)}, {path: target * (1 + share)}
        unit = "baseline GPU less"
        steps.append(_Step("goodput target", "limit", unit, share * target, better, worse_target))
    return steps


def _amounts(text: str | None, kinds: list[units.Kind], currency: str) -> dict[units.Kind, float]:
    """A step typed as an amount, by its kind.  Raises InputError where no limit is an amount of that kind."""
    for kind in kinds if text is not None else ():
        try:
            amount = units.parse(text, kind, currency)
        except ValueError:
            continue
        if amount > 0:
            return {kind: amount}
    if text is None:
        return {}
    known = ", ".join(dict.fromkeys(f'{kind.name} such as "{kind.example}"' for kind in kinds))
    expected = f", or {known}" if known else "; the instance limits no amount"
    raise InputError("limit step", [Fault("", f"expected a share such as 1%{expected}, got {text!r}")])


def _choice_steps(instance: Instance) -> list[_Step]:
    """One crew and one tray beyond the most that each repair plan offers, and one choice less."""
    steps = []
    for plan in instance.repair_plans:
        for field, unit in (("crews", "crew seat"), ("shelf", "shelf tray")):
            offered = getattr(plan, field)
            if offered is None:
                continue
            further = offered[-1] - offered[-2] if len(offered) > 1 else 1
            path = f"repair_plans.{plan.name}.{field}"
            less = {path: list(offered[:-1])} if len(offered) > 1 else None
            name = f"most {field} of {plan.name}"
            more = {path: [*offered, offered[-1] + further]}
            steps.append(_Step(name, "choice", unit, further, more, less))
    return steps


def _input_steps(instance: Instance, share: float) -> list[_Step]:
    """A share better and a share worse MTBF, repair and restart, of whatever the instance has."""
    data = instance.resolved()
    steps = []
    for name, paths, more_is_better in BETTER_INPUTS:
        fields = [field for path in paths for field in _there(data, path)]
        if not fields:
            continue
        up, down = f"{1 + share!r}x", f"{1 - share!r}x"
        better, worse = (up, down) if more_is_better else (down, up)
        word = "better" if more_is_better else "faster"
        unit = f"{share * 100:g} % {word}"
        steps.append(_Step(name, "input", unit, 1.0, dict.fromkeys(fields, better), dict.fromkeys(fields, worse)))
    return steps


def _there(data: dict[str, Any], path: str) -> tuple[str, ...]:
    """The fields of a path that an instance has."""
    head, _, last = path.rpartition(".")
    try:
        return fields_of(data, path if "*" in path else _starred(head, last))
    except OverrideError:
        return ()


def _starred(head: str, last: str) -> str:
    """A path that is looked up rather than taken for granted, its middle part open."""
    first, _, middle = head.partition(".")
    return f"{first}.{middle}.{last}" if "*" in head else f"*.{middle}.{last}"


def _compared(base: Plan, answer: Answer, step: _Step, changes: Changes, sign: int) -> MarginalStep:
    """The difference between two optima, and between what their certificates leave open.

    With true optima v in [value, bound] and v' likewise, v' − v is at most bound' − value and at least value' − bound;
    minimising, both turn round.  More of a limit, or of a choice, can't be worse.
    """
    plan = answer.plan
    nothing: dict[str, Any] = {"changes": dict(changes), "amount": step.amount, "status": answer.status}
    if plan is None:
        empty = dict.fromkeys(
            ("change", "change_low", "change_high", "per_unit", "money_per_year", "plan_cost_change_per_year")
        )
        return MarginalStep(**nothing, **empty, told=answer.status == "infeasible")
    old, new = base.certificate, plan.certificate
    change, low, high = new.value - old.value, new.value - old.bound, new.bound - old.value
    if old.sense == "minimise":
        change, low, high = -change, old.bound - new.value, old.value - new.bound
    if step.kind != "input":  # a smaller set of plans holds no better one
        low, high = (max(low, 0.0), high) if sign > 0 else (low, min(high, 0.0))
        change = max(change, 0.0) if sign > 0 else min(change, 0.0)
    told = low > 0 or high < 0 or low == high == 0
    before, after = ({slack.limit: slack.value for slack in p.evaluation.limits} for p in (base, plan))
    known = step.limit in before and step.limit in after
    old_cost, new_cost = base.evaluation.cost_per_year, plan.evaluation.cost_per_year
    return MarginalStep(
        **nothing,
        change=change,
        change_low=low,
        change_high=high,
        told=told,
        per_unit=change / step.amount,
        money_per_year=_worth(old, base, change) if told else None,
        plan_cost_change_per_year=None if old_cost is None or new_cost is None else new_cost - old_cost,
        use_change=(after[step.limit] - before[step.limit]) / step.size if known else None,
    )


def _worth(old: Certificate, base: Plan, change: float) -> float | None:
    """Money per year saved at the goodput of the old optimum; None where the objective does not price goodput."""
    if old.objective == "cost":
        return change
    if old.objective == "goodput_per_dollar":
        hours = base.evaluation.goodput * HOURS_PER_YEAR
        return hours / old.value - hours / (old.value + change)
    return None
