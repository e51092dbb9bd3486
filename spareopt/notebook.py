"""Results as HTML for notebooks: a headline, then tables; escaped, styled in place, without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape, unescape
from math import isnan
from numbers import Real
from typing import TYPE_CHECKING, Any

import pandas as pd

from spareopt.decision_words import choice_words
from spareopt.evaluation import Evaluation
from spareopt.plan import PROVEN, Plan
from spareopt.plan_text import certificate_text, headline
from spareopt.score_text import (
    LOSS_NAMES,
    OPTIONAL_LOSSES,
    SENSES,
    decision_rows,
    limit_name,
    limit_number,
    recovery_text,
)
from spareopt.wording import capitalised, counted, hundredths, number_text, percent, signed_percent

if TYPE_CHECKING:
    from spareopt.efficient import Frontier
    from spareopt.exposure import Tornado
    from spareopt.marginal import MarginalValues
    from spareopt.near_result import NearOptimal
    from spareopt.simulation.result import Simulation
    from spareopt.sweep_result import Sweep

MOST_ROWS = 20
BOX = "max-width:60em;font-size:90%;line-height:1.35"
HEADING = "font-weight:bold;margin-top:6px"
CELL = "padding:1px 10px 1px 0;vertical-align:top;border:none;background:none"
ALARM = "background:#fde2d4;color:#7a2400;border-left:4px solid #D55E00;padding:4px 8px;font-weight:bold"


def plan_html(plan: Plan) -> str:
    """A plan: headline, decisions by zone, losses, limits, the proof in words."""
    c = plan.certificate
    lines = [" ".join(line.split()) for line in headline(plan)]
    parts = (
        [] if c.status == PROVEN else [_alarm(f"NOT PROVEN ({c.status}): a better plan may exist, by {percent(c.gap)}")]
    )
    parts += [_strong(lines[0]), *map(_paragraph, lines[1:])]
    parts += _decisions(plan)
    parts += _scores(plan.evaluation)
    proof = [" ".join(line.split()) for line in certificate_text(plan) if line]
    parts += [_heading("Proof"), *map(_paragraph, proof)]
    return _box(parts)


def evaluation_html(evaluation: Evaluation) -> str:
    """An evaluation: headline, losses, limits."""
    e = evaluation
    text = f"Goodput {e.goodput:,.1f} baseline GPUs ({e.goodput_scale:.4f} per GPU), {e.model} model"
    return _box([_strong(text), *_scores(e)])


def frontier_html(frontier: Frontier) -> str:
    """A frontier: what the last GPUs take, and its points."""
    from spareopt.drawings.frontier import finding  # noqa: PLC0415 - slow to load

    cut = [_alarm("INTERRUPTED: points are missing")] if frontier.interrupted else []
    return _box([*cut, _strong(finding(frontier)), _frame(frontier.table())])


def tornado_html(tornado: Tornado) -> str:
    """A tornado: what matters most, and both ends of each input."""
    from spareopt.drawings.tornado import finding  # noqa: PLC0415 - slow to load

    cut = [_alarm("INTERRUPTED: inputs are missing")] if tornado.interrupted else []
    table = tornado.table()
    table = table[
        [n for n in ("input", "setting", "fixed", "fixed_breaks", "adapted", "status", "swing") if n in table]
    ]
    return _box([*cut, _strong(finding(tornado)), _frame(table), _paragraph(f"Caution: {tornado.caution}.")])


def marginal_html(values: MarginalValues) -> str:
    """Marginal values: what is worth most, and every step."""
    from spareopt.drawings.marginal import finding  # noqa: PLC0415 - slow to load

    cut = [_alarm("INTERRUPTED: steps are missing")] if values.interrupted else []
    return _box([*cut, _strong(finding(values)), _frame(values.table()), _paragraph(f"Method: {values.method}.")])


def near_html(near: NearOptimal) -> str:
    """Plans nearly as good: how many, and the list of them."""
    from spareopt.drawings.near import finding  # noqa: PLC0415 - slow to load

    rows = [
        [
            f"{place}",
            _words(plan.decisions.zones),
            plan.decisions.checkpoint_plan,
            number_text(plan.value),
            signed_percent(round(plan.change, 9)),
        ]
        for place, plan in enumerate(near.plans[:MOST_ROWS], 1)
    ]
    header = ("", "decisions", "checkpoint plan", near.objective.replace("_", " "), "from the best")
    cut = [] if near.in_time else [_alarm("NOT FINISHED: plans, values of a range or a proof may be missing")]
    return _box([*cut, _strong(finding(near)), _table(header, rows), *_rest(near.number or len(near.plans))])


def simulation_html(simulation: Simulation) -> str:
    """A simulation: the quarter it measured, both models beside each other, losses."""
    s = simulation
    goodput = s.evaluation.goodput
    text = f"{s.instance}: simulated goodput {goodput:,.1f} baseline GPUs, exact {s.exact.goodput:,.1f}"
    parts = [] if s.status != "interrupted" else [_alarm("INTERRUPTED: fewer replications than asked")]
    parts += [_strong(f"{text} ({counted(s.done, 'replication')} of {s.options.years:g} years, seed {s.options.seed})")]
    if s.quarters.p5 is not None and s.quarters.p95 is not None:
        ends = f"between {s.quarters.p5:,.0f} and {s.quarters.p95:,.0f} baseline GPUs"
        parts.append(_paragraph(f"9 of its {s.quarters.number:,} quarters in 10 give {ends}."))
    rows = [
        [
            name.replace("_", " "),
            number_text(row.exact),
            number_text(row.simulated.mean),
            {True: "inside its interval", False: "outside its interval", None: "not known"}[row.inside],
        ]
        for name, row in s.agreement.items()
    ]
    parts += [_heading("Agreement"), _table(("", "exact", "simulated", "the exact number is"), rows)]
    return _box([*parts, *_losses(s.evaluation)])


def sweep_html(sweep: Sweep) -> str:
    """A sweep: how many points are proven, and the objective and decisions of each."""
    table = sweep.table()
    inputs = [path for axis in sweep.axes for path in axis.paths]
    wanted = [*inputs, "status", "objective_value", "objective_unit", "decisions", "checkpoint_plan"]
    over = " and ".join(" with ".join(axis.paths) for axis in sweep.axes)
    parts = [] if sweep.status == "proven" else [_alarm(f"{sweep.status.upper()}")]
    parts.append(_strong(f"{sweep.instance}: {counted(len(sweep.points), 'point')} over {over}"))
    return _box([*parts, _frame(table[[name for name in wanted if name in table]])])


HTML: dict[str, Callable[[Any], str]] = {
    "Evaluation": evaluation_html,
    "Frontier": frontier_html,
    "MarginalValues": marginal_html,
    "NearOptimal": near_html,
    "Plan": plan_html,
    "Simulation": simulation_html,
    "Sweep": sweep_html,
    "Tornado": tornado_html,
}
"""How a result is shown, by the name of its class: the modules of all results need not be loaded for one."""


def html_of(result: Any) -> str:
    """A result as HTML, as a notebook shows it."""
    return HTML[type(result).__name__](result)


def short_of(result: Any) -> str:
    """A result in a few lines of text, as ``print`` shows it: what its HTML begins with."""
    above = re.split(rf'<table|<div style="{re.escape(HEADING)}"', html_of(result), maxsplit=1)[0]
    lines = (re.sub(r"<[^>]*>", "", part) for part in above.split("</div>"))
    return "\n".join(unescape(line) for line in lines if line)


def _decisions(plan: Plan) -> list[str]:
    header, rows = decision_rows(plan.decisions, plan.evaluation)
    told = _paragraph(capitalised(recovery_text(plan.decisions, plan.evaluation)) + ".")
    return [_heading("Decisions"), _table(header, rows), told]


def _scores(e: Evaluation) -> list[str]:
    """Losses and limits."""
    parts = _losses(e)
    if e.violated:
        parts.insert(0, _alarm(f"BREAKS {', '.join(limit_name(limit.limit) for limit in e.violated)}"))
    rows = []
    for limit in e.limits:
        show = limit_number(limit.unit, e.currency)
        mark = "BROKEN" if limit.violated else ""
        if limit.limit == "placement_group":
            rows.append([limit_name(limit.limit), "no" if limit.violated else "yes", "", mark])
        else:
            bound = f"{SENSES[limit.sense]} {show(limit.bound)}"
            rows.append([limit_name(limit.limit), show(limit.value), bound, mark])
    return [*parts, *([_heading("Limits"), _table(("limit", "plan", "bound", ""), rows)] if rows else [])]


def _losses(e: Evaluation) -> list[str]:
    rows = [
        [words, hundredths(e.losses[name]), f"{e.losses[name] * e.gpus:,.0f}"]
        for name, words in LOSS_NAMES.items()
        if e.losses[name] > 0 or name not in OPTIONAL_LOSSES
    ]
    return [_heading("Where the GPU-hours go"), _table(("", "share", "GPUs"), rows)]


def _words(choices: Sequence[Any]) -> str:
    many = len(choices) > 1
    return "; ".join((f"{choice.count} × " if many else "") + choice_words(choice) for choice in choices)


def _rest(number: int) -> list[str]:
    return [_paragraph(f"… and {number - MOST_ROWS:,} more.")] if number > MOST_ROWS else []


def _frame(table: pd.DataFrame) -> str:
    """A DataFrame with its units in the heads, the first rows of it; columns that say nothing are left out."""
    shown = table.loc[:, [bool(table[name].notna().any()) for name in table.columns]]
    rows = [[_cell(value) for value in row] for row in shown.head(MOST_ROWS).itertuples(index=False)]
    return _table([str(name).replace("_", " ") for name in shown.columns], rows) + "".join(_rest(len(shown)))


def _cell(value: object) -> str:
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return "yes" if value else "no"
    if isinstance(value, Real):
        number = float(value)
        return "" if isnan(number) else f"{number:,.0f}" if abs(number) >= 1e6 else f"{number:,.6g}"
    return "" if value is None or value is pd.NA else str(value)


def _table(header: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A table: columns of numbers to the right, others to the left."""
    names, cells = list(header), [list(row) for row in rows]
    right = [all(_number(row[i]) for row in cells) and any(row[i] for row in cells) for i in range(len(names))]
    head = "".join(
        f'<th scope="col" style="{CELL};{_side(number)}">{escape(name)}</th>'
        for name, number in zip(names, right, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{CELL};{_side(n)}">{escape(cell)}</td>' for cell, n in zip(row, right, strict=True))
        + "</tr>"
        for row in cells
    )
    return (
        f'<table style="border-collapse:collapse;margin:2px 0 6px"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _side(number: bool) -> str:
    return f"text-align:{'right' if number else 'left'}"


def _number(cell: str) -> bool:
    return not cell or cell[0].isdigit() or (cell[0] in "+−-<" and len(cell) > 1)


def _heading(text: str) -> str:
    return f'<div style="{HEADING}">{escape(text)}</div>'


def _strong(text: str) -> str:
    return f'<div style="font-weight:bold;font-size:110%">{escape(text)}</div>'


def _alarm(text: str) -> str:
    return f'<div style="{ALARM}">{escape(text)}</div>'


def _paragraph(text: str) -> str:
    return f'<div style="margin:2px 0">{escape(text)}</div>'


def _box(parts: Iterable[str]) -> str:
    return f'<div style="{BOX}">{"".join(parts)}</div>'
