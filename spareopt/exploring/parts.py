"""The parts of the page as HTML: the answer in a sentence, the plan, its losses and limits, changes, what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

from rich.table import Table

from spareopt import units
from spareopt.change_text import quantity_name
from spareopt.conflict_text import infeasibility_text
from spareopt.exploring.levers import Lever
from spareopt.exploring.solving import Reply
from spareopt.exploring.what_ifs import AS_IT_STANDS, KeptWhatIf, name_of, value_words
from spareopt.instance import Instance
from spareopt.plan import PROVEN, Plan
from spareopt.plan_text import certificate_text, edge_note
from spareopt.score_text import (
    LOSS_NAMES,
    decisions_table,
    limit_name,
    limits_part,
    recovery_text,
    scale_text,
    score_table,
)
from spareopt.side_by_side import decision_rows
from spareopt.solved import Solved
from spareopt.what_if import Answer, Changes
from spareopt.wording import (
    applied_text,
    capitalised,
    change_text,
    doubt,
    hundredths,
    listed,
    objective_number,
    percent,
    proof_words,
)

Of = Callable[[Plan], float | None]
NOTHING = "–"
AGAINST = {AS_IT_STANDS: "the instance as it stands"}


def solving(changes: Changes, levers: Sequence[Lever], seconds: float) -> str:
    """That the present what-if is being solved, and for how long."""
    spent = f", {seconds:.0f} s so far" if seconds >= 1 else ""
    return _banner("solving", f"Solving: {name_of(changes, levers)}{spent} …", [])


def refused(message: str) -> str:
    """That what is typed can't be read."""
    return _banner("refused", "This can't be solved as typed.", message.splitlines())


def headline(reply: Reply, levers: Sequence[Lever], *, alike: bool = False) -> str:
    """The answer in one sentence: the objective and what is proven, or why there is no plan.

    ``alike``: whether only plans were asked for that build all zones of a class alike.
    """
    answer, plan = reply.answer, reply.answer.plan
    what = f"What if: {name_of(answer.changes, levers)}" if answer.changes else "The instance as it stands"
    if plan is not None:
        c = plan.certificate
        proof = proof_words(c.status, c.gap, c.among)
        text = f"{value_words(plan)}{scale_text(c.objective, plan.evaluation)}, {proof}"
        kind = "proven" if c.status == PROVEN else "unproven"
        return _banner(kind, capitalised(text), [what, *doubt(c.status, c.gap, c.among)])
    if answer.status == "infeasible":
        lines = [what, answer.why.rstrip(".") + "."]
        if reply.explaining:
            lines.append("Looking for what conflicts, and what to move …")
        whose = "No plan that builds all zones of a class alike" if alike else "No plan"
        return _banner("infeasible", f"{whose} meets every limit (proven).", lines)
    words = {"no plan in time": "NOT PROVEN: no plan was found in time.", "lost": "The solve was lost."}
    return _banner("failed", words.get(answer.status, "The solve failed."), [what, answer.why])


def title(instance: Instance) -> str:
    """What is explored, and what was changed in it before."""
    lines = [instance.description, *([applied_text(instance.applied)] if instance.applied else [])]
    texts = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return f"<div class='title'><h1>{escape(instance.name)}</h1>{texts}</div>"


def conflict(reply: Reply, instance: Instance) -> str:
    """What conflicts in an infeasible what-if, as ``spareopt explain`` says it; nothing where that is not known."""
    if reply.infeasibility is None:
        return ""
    _, *lines, _ = infeasibility_text(reply.infeasibility, instance).splitlines()  # less headline and next command
    return f"<h2>What conflicts, and what is enough to move</h2><pre>{escape(chr(10).join(lines).strip())}</pre>"


def plan_part(plan: Plan, instance: Instance) -> str:
    """The plan by zone."""
    notes = "".join(f"<p>{escape(' '.join(note.split()))}</p>" for note in edge_note(plan.decisions, instance) if note)
    return (
        f"<h2>Plan</h2>{table(decisions_table(plan.decisions, plan.evaluation, instance))}"
        f"<p>{escape(capitalised(recovery_text(plan.decisions, plan.evaluation)))}.</p>{notes}"
    )


def score_part(plan: Plan, instance: Instance) -> str:
    """All quantities of the plan, and its certificate."""
    proof = "".join(f"<p>{escape(' '.join(str(line).split()))}</p>" for line in certificate_text(plan) if line)
    return (
        "<details><summary>All numbers, and the certificate</summary>"
        f"{table(score_table(plan.decisions, plan.evaluation, instance))}{proof}</details>"
    )


def limits_html(plan: Plan) -> str:
    """How far the plan is from every limit, with what is used of it as a bar."""
    _, *rest = limits_part(plan.evaluation)
    known = [part for part in rest if isinstance(part, Table)]
    if not known:
        return "<h2>Limits</h2><p>The instance sets no limits.</p>"
    shares = {row.limit: row.slack / abs(row.bound) for row in plan.evaluation.limits if row.unit and row.bound}
    least = min(shares, key=lambda limit: shares[limit], default=None)
    title = "Limits" if least is None else f"Limits: least is left of {limit_name(least)}, {percent(shares[least])}"
    return f"<h2>{title}</h2>{table(known[0])}"


def losses(plan: Plan, nominal: Plan | None) -> str:
    """Where the GPU-hours go, as bars; a line marks the plan of the instance as it stands."""
    now, before = plan.evaluation.losses, {} if nominal is None else nominal.evaluation.losses
    lost = {name: share for name, share in now.items() if name != "useful"}
    most = max(lost, key=lambda name: lost[name])
    largest = max([*lost.values(), *(share for name, share in before.items() if name != "useful"), 1e-12])
    rows = []
    for name, words in LOSS_NAMES.items():
        if name == "useful" or (now[name] == 0 and not before.get(name)):
            continue
        mark = "" if name not in before else f'<i style="left:{100 * before[name] / largest:.2f}%"></i>'
        rows.append(
            f'<tr><th scope="row">{escape(words)}</th><td class="n">{hundredths(now[name])}</td>'
            f'<td class="n">{now[name] * plan.evaluation.gpus:,.0f}</td>'
            f'<td class="bar"><div><b style="width:{100 * now[name] / largest:.2f}%"></b>{mark}</div></td></tr>'
        )
    useful = percent(now["useful"])
    title = f"{useful} of all GPU-hours is useful; the largest loss: {LOSS_NAMES[most]}"
    key = "Bar: this plan. Line: the instance as it stands. " if before else ""
    return (
        f"<h2>{escape(title)}</h2><div class='scroll'><table class='losses'><thead><tr><th>lost to</th>"
        "<th class='n'>share of<br>GPU-hours</th><th class='n'>GPUs</th><th></th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        f"<p class='key'>{key}The longest is {hundredths(largest)} of all GPU-hours.</p>"
    )


def changes_part(plans: Sequence[Solved]) -> str:
    """Plans side by side, the present one last: numbers with their change, and decisions that differ."""
    if len(plans) < 2:
        return ""
    *others, now = plans
    heads = "".join(f'<th class="n">{escape(solved.name)}</th>' for solved in plans)
    changed = "".join(f'<th class="n">against<br>{escape(solved.name)}</th>' for solved in others)
    rows = []
    for name, of, show in _measures(now.plan):
        values = [of(solved.plan) for solved in plans]
        new = values[-1]
        if new is None:
            continue
        cells = "".join(f'<td class="n">{NOTHING if value is None else escape(show(value))}</td>' for value in values)
        cells += "".join(f'<td class="n">{_change(new, old)}</td>' for old in values[: len(others)])
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    several = len(now.instance.zones) > 1
    for (zone, decision), words in decision_rows(plans).items():
        if decision in ("count", "all") or len(set(words)) == 1:
            continue
        name = quantity_name(f"{zone}.{decision}" if several and zone else decision)
        cells = "".join(f'<td class="n changed">{NOTHING if word is None else escape(word)}</td>' for word in words)
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{cells}{"<td></td>" * len(others)}</tr>')
    same = "" if any("changed" in row for row in rows) else "<p>No decision differs.</p>"
    name, of, _ = _measures(now.plan)[0]
    new, old = of(now.plan), of(others[0].plan)
    against = AGAINST.get(others[0].name, others[0].name)
    change = "" if new is None or not old else f": {name} {_change(new, old)} against {against}"
    return (
        f"<h2>What changes{escape(change)}</h2><div class='scroll'><table>"
        f"<thead><tr><th></th>{heads}{changed}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{same}"
    )


def _change(new: float, old: float | None) -> str:
    return NOTHING if not old else "same" if new == old else change_text(new, old)


def _measures(plan: Plan) -> list[tuple[str, Of, Callable[[float], str]]]:
    """What plans are compared by: its name, where it stands, and how it is shown; the objective first."""
    kind, currency = plan.certificate.objective, plan.evaluation.currency

    def money(value: float) -> str:
        return units.show(value, units.MONEY, currency)

    def yearly(value: float) -> str:
        return units.show(value, units.MONEY_PER_YEAR, currency)

    def power(value: float) -> str:
        return units.show(value, units.POWER)

    rows: list[tuple[str, Of, Callable[[float], str]]] = [
        ("goodput", lambda p: p.evaluation.goodput, lambda v: objective_number("goodput", v, currency)),
        ("availability", lambda p: p.evaluation.availability, lambda v: f"{v:.6f}"),
        ("capital", lambda p: p.evaluation.capital, money),
        ("yearly cost", lambda p: p.evaluation.yearly_cost or None, yearly),
        ("cost, capital included", lambda p: p.evaluation.cost_per_year, yearly),
        ("cost per useful GPU-hour", lambda p: p.evaluation.cost_per_useful_gpu_hour, money),
        ("IT power", lambda p: p.evaluation.it_power_kw, power),
    ]
    if kind == "goodput_per_dollar":
        name = f"goodput per {units.CURRENCIES[currency]}"
        rows.insert(0, (name, lambda p: p.certificate.value, lambda v: objective_number(kind, v, currency)))
    if kind == "cost":
        rows.insert(0, rows.pop(4))
    return rows


def kept_part(kept: Sequence[KeptWhatIf], nominal: Answer, levers: Sequence[Lever]) -> str:
    """What is kept, a row each, below the instance as it stands."""
    if not kept:
        return "<h2>Kept what-ifs</h2><p>None yet: move levers, then keep what you find.</p>"
    rows: list[tuple[str, list[str], Answer]] = [(AS_IT_STANDS, [], nominal)]
    for item in kept:
        texts = {text for text in (item.called, name_of(item.answer.changes, levers)) if text != item.name}
        rows.append((item.name, sorted(texts), item.answer))
    some = next((answer.plan for _, _, answer in rows if answer.plan is not None), None)
    columns = [] if some is None else _kept_columns(some, nominal.plan)
    heads = "".join(f"<th{_n(number)}>{escape(name)}</th>" for name, number, _ in columns)
    body = "".join(_kept_row(*row, columns) for row in rows)
    return (
        "<h2>Kept what-ifs</h2><div class='scroll'><table class='kept'>"
        f"<thead><tr><th>what-if</th><th>proven within</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _kept_columns(some: Plan, base: Plan | None) -> list[tuple[str, bool, Callable[[Plan], str]]]:
    """The columns of what is kept: name, whether it holds numbers, and the cell of a plan."""

    def change(plan: Plan) -> str:
        return NOTHING if base is None or plan is base else _change(plan.certificate.value, base.certificate.value)

    def measured(of: Of, show: Callable[[float], str]) -> Callable[[Plan], str]:
        return lambda plan: NOTHING if (value := of(plan)) is None else show(value)

    def decided(field: str) -> Callable[[Plan], str]:
        return lambda plan: _each(getattr(choice, field) for choice in plan.decisions.zones)

    first, *others = [(name, True, measured(of, show)) for name, of, show in _measures(some)]
    shown = [column for column in others if column[0] in ("goodput", "capital", "cost, capital included")]
    decisions = [("design", False), ("intra_block_spares", True), ("inter_block_spares", True), ("repair_plan", False)]
    names = {"intra_block_spares": "I", "inter_block_spares": "R"}
    words = [(names.get(field, quantity_name(field)), number, decided(field)) for field, number in decisions]
    return [first, ("change", True, change), *shown, *words]


def _kept_row(
    name: str, texts: Sequence[str], answer: Answer, columns: Sequence[tuple[str, bool, Callable[[Plan], str]]]
) -> str:
    below = "".join(f"<small>{escape(text)}</small>" for text in texts)
    first, plan = f'<th scope="row">{escape(name)}{below}</th>', answer.plan
    if plan is None:
        return f'<tr>{first}<td colspan="{len(columns) + 1}">{escape(f"{answer.status}: {answer.why}")}</td></tr>'
    c = plan.certificate
    proof = percent(c.gap) if c.status == PROVEN else proof_words(c.status, c.gap, c.among)
    cells = "".join(f"<td{_n(number)}>{escape(cell(plan))}</td>" for _, number, cell in columns)
    return f"<tr>{first}<td>{escape(proof)}</td>{cells}</tr>"


def _n(number: bool) -> str:
    return ' class="n"' if number else ""


def command_part(title: str, commands: Sequence[str]) -> str:
    """Commands to type."""
    return f"<p class='key'>{escape(title)}</p><pre class='typed'>{escape(chr(10).join(commands))}</pre>"


def finding(text: str) -> str:
    """What a picture shows, above it."""
    return f"<h3>{escape(text)}</h3>"


def stale() -> str:
    """That what is dimmed is no answer to where the levers stand."""
    return "<p class='refused'>What is dimmed below belongs to the settings before.</p>"


def message(text: str, kind: str = "told") -> str:
    """What came of a click."""
    return f'<p class="{kind}" role="status">{escape(text)}</p>' if text else ""


def table(source: Table) -> str:
    """A table of the command line as one of the page: the same cells, numbers to the right."""
    columns = [(str(column.header), column.justify, [str(cell) for cell in column.cells]) for column in source.columns]
    heads = "".join(f'<th class="{_side(j)}">{escape(head).replace(chr(10), "<br>")}</th>' for head, j, _ in columns)
    rows = []
    for place in range(len(columns[0][2])):
        cells = [(escape(cells[place]), _side(justify)) for _, justify, cells in columns]
        first, *rest = cells
        body = "".join(f'<td class="{side}">{text}</td>' for text, side in rest)
        rows.append(f'<tr><th scope="row" class="{first[1]}">{first[0]}</th>{body}</tr>')
    shown = f"<thead><tr>{heads}</tr></thead>" if any(head.strip() for head, _, _ in columns) else ""
    return f"<div class='scroll'><table>{shown}<tbody>{''.join(rows)}</tbody></table></div>"


def _banner(kind: str, text: str, lines: Iterable[str]) -> str:
    below = "".join(f"<p>{escape(line)}</p>" for line in lines if line)
    return f'<div class="banner {kind}" role="status" aria-live="polite"><h1>{escape(text)}</h1>{below}</div>'


def _side(justify: str) -> str:
    return "n" if justify == "right" else ""


def _each(values: Iterable[object]) -> str:
    return listed(dict.fromkeys(f"{value:,}" if isinstance(value, int) else str(value) for value in values))
