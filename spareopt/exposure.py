"""The tornado: each uncertain input at both ends of its interval, for the plan as it is and for the best one there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pandas as pd

from spareopt.asking import OnCount, ask_around
from spareopt.comparison import objective_value
from spareopt.decisions import Decisions
from spareopt.errors import InputError
from spareopt.evaluation import evaluate
from spareopt.instance import Instance
from spareopt.intervals import Input, uncertain_inputs
from spareopt.plan import Certificate, Plan, Provenance, provenance_of
from spareopt.record import Frozen, Result, Shown
from spareopt.schemes import Model
from spareopt.search import DEFAULT_GAP
from spareopt.what_if import Answer, SolveOptions, WhatIf, changed

ROUNDING = 1e-9  # relative; the certificate and the evaluator add up in another order
CAUTION = "one input at a time, the others as stated: joint effects are not shown"


class TornadoEnd(Frozen):
    """One end of an input's interval.  Objectives are in the tornado's unit."""

    setting: str
    """The value set."""
    fixed: float | None
    """Objective of the nominal plan, as it is; None where it can't be built there."""
    fixed_breaks: tuple[str, ...]
    """Limits that the nominal plan breaks there (or why it can't be built): its objective is then no option."""
    adapted: float | None
    """Objective of the best plan there; None without one."""
    adapted_bound: float | None
    """No plan there is better than this."""
    status: str
    """Of the solve."""
    why: str
    """Why there is no plan."""
    decisions: Decisions | None
    """The best plan there; None without one."""
    decisions_change: bool | None
    """Whether the best plan there takes other decisions than the nominal one; None without one."""
    adapting_saves: float | None
    """How much better the best plan is than the nominal one, in the objective's unit; None where the latter is no
    option there, or there is no best one."""


class TornadoBar(Frozen):
    """An uncertain input and what its two ends do."""

    input: str
    """The input, by its field."""
    fields: tuple[str, ...]
    """All fields that move with it."""
    interval: Literal["stated", "given", "assumed"]
    """Where it is from: the instance, the planner, or a default."""
    low: TornadoEnd
    """At the low end."""
    high: TornadoEnd
    """At the high end."""
    swing: float
    """The larger of the ranges that the fixed and the adapted objective run over, the nominal one included."""


class Tornado(Result, Shown):
    """All inputs over their intervals, one at a time, the largest swing first."""

    schema_version: Literal[1] = 1
    currency: str
    """Of all money."""
    certificate: Certificate
    """Of the nominal plan."""
    decisions: Decisions
    """The nominal plan."""
    bars: tuple[TornadoBar, ...]
    """The largest swing first."""
    caution: str = CAUTION
    """What an interval of one input does not say."""
    interrupted: bool
    """Whether Ctrl-C ended the run before all was asked."""
    provenance: Provenance
    """What it was made from."""

    def table(self) -> pd.DataFrame:
        """A row for each end of each input; objectives are in ``objective_unit``."""
        rows = [
            {
                "input": bar.input,
                "interval": bar.interval,
                "end": name,
                "setting": end.setting,
                "objective_unit": self.certificate.unit,
                "nominal": self.certificate.value,
                "fixed": end.fixed,
                "fixed_breaks": "; ".join(end.fixed_breaks),
                "adapted": end.adapted,
                "adapted_bound": end.adapted_bound,
                "status": end.status,
                "decisions_change": end.decisions_change,
                "adapting_saves": end.adapting_saves,
                "swing": bar.swing,
            }
            for bar in self.bars
            for name, end in (("low", bar.low), ("high", bar.high))
        ]
        return pd.DataFrame(rows)


def tornado(
    instance: Instance,
    inputs: Mapping[str, tuple[Any, Any]] | None = None,
    *,
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    model: Model = "exact",
    alike: bool = False,
    on_count: OnCount | None = None,
) -> Tornado:
    """Exposure and adaptation: the objective at both ends of each input, of the nominal plan and of the best one.

    ``inputs`` (path: low and high end; ``*`` for any item) replaces the intervals that the instance states and the
    assumed ones of the usual inputs.  ``gap``, ``time_limit`` (of each solve, in seconds), ``seed``, ``model`` and
    ``alike`` (every plan builds all zones of a class alike) as in ``spareopt.solve``; ``on_count`` is told how many
    solves are done, and of how many.  Raises InputError, InfeasibleError, LimitError, StoppedError.
    """
    uncertain = uncertain_inputs(instance, inputs)
    asked = [WhatIf(instance)]
    asked += [
        WhatIf(changed(instance, item.changes(end)), item.changes(end)) for item in uncertain for end in (0, 1)
    ]  # fmt: skip
    nominal, got = ask_around(asked, SolveOptions(gap, time_limit, seed, model, alike), on_count)
    bars = []
    for k, item in enumerate(uncertain):
        pair = range(1 + 2 * k, 3 + 2 * k)
        if pair.stop > len(got):
            break
        low, high = (_end(item, i - pair.start, asked[i], got[i], nominal) for i in pair)
        bars.append(
            TornadoBar(
                input=item.path, fields=item.fields, interval=item.origin, low=low, high=high,
                swing=_swing(nominal.certificate.value, low, high),
            )
        )  # fmt: skip
    return Tornado(
        currency=instance.currency,
        certificate=nominal.certificate,
        decisions=nominal.decisions,
        bars=tuple(sorted(bars, key=lambda bar: (-bar.swing, bar.input))),
        interrupted=len(got) < len(asked),
        provenance=provenance_of(
            instance,
            {
                "intervals": {item.path: list(item.ends) for item in uncertain},
                "gap": gap,
                "time_limit_s": time_limit,
                "model": model,
                "alike": alike,
            },
            seed,
        ),
    )


def _end(item: Input, end: int, what_if: WhatIf, answer: Answer, nominal: Plan) -> TornadoEnd:
    instance, plan = what_if.instance, answer.plan
    fixed: float | None = None
    breaks: tuple[str, ...] = ()
    try:
        evaluation = evaluate(instance, nominal.decisions, model=nominal.certificate.model)
    except InputError as error:
        breaks = tuple(fault.message for fault in error.faults)
    else:
        fixed = objective_value(instance, evaluation)
        breaks = tuple(limit.limit for limit in evaluation.violated)
    adapted, bound, decisions = None, None, None
    if plan is not None:
        adapted, bound, decisions = plan.certificate.value, plan.certificate.bound, plan.decisions
    saves = None
    if fixed is not None and not breaks:
        sign = -1.0 if nominal.certificate.sense == "minimise" else 1.0
        same = decisions == nominal.decisions  # the evaluator adds up in another order: no digit of that is a saving
        if adapted is None or same or sign * fixed >= sign * adapted:  # the nominal plan is within the gap of the best
            adapted, decisions = fixed, nominal.decisions
        saves = sign * (adapted - fixed)
    return TornadoEnd(
        setting="null" if item.ends[end] is None else str(item.ends[end]),
        fixed=fixed,
        fixed_breaks=breaks,
        adapted=adapted,
        adapted_bound=bound,
        status=answer.status,
        why=answer.why,
        decisions=decisions,
        decisions_change=None if decisions is None else decisions != nominal.decisions,
        adapting_saves=saves,
    )


def _swing(nominal: float, low: TornadoEnd, high: TornadoEnd) -> float:
    fixed = [nominal, *(end.fixed for end in (low, high) if end.fixed is not None)]
    adapted = [nominal, *(end.adapted for end in (low, high) if end.adapted is not None)]
    swing = max(max(values) - min(values) for values in (fixed, adapted))
    return swing if swing > ROUNDING * abs(nominal) else 0.0
