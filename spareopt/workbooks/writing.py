"""Write a plan as a workbook: all sheets, in the order in which they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spareopt.errors import Fault, InputError
from spareopt.folders import write_new_file
from spareopt.instance import Instance
from spareopt.plan import Plan
from spareopt.workbooks.comments import Comments, read_comments
from spareopt.workbooks.decisions_sheet import taken_choices, write_decisions
from spareopt.workbooks.inputs import InputRow, input_rows, typed_value
from spareopt.workbooks.inputs_sheet import write_inputs
from spareopt.workbooks.limits_sheet import write_limits
from spareopt.workbooks.losses_sheet import write_losses
from spareopt.workbooks.money_sheet import write_money
from spareopt.workbooks.names import check_workbook_name
from spareopt.workbooks.notes import input_notes
from spareopt.workbooks.origin import Origin, differs, origin_of
from spareopt.workbooks.power_sheet import write_power
from spareopt.workbooks.record_sheet import write_record
from spareopt.workbooks.saving import workbook_bytes
from spareopt.workbooks.sources_sheet import write_scenarios, write_sources
from spareopt.workbooks.summary_sheet import start, write_summary

ORDER = ("Summary", "Decisions", "Losses", "Money", "Power", "Limits", "Inputs", "Sources", "Scenarios", "Record")


def write_workbook(plan: Plan, instance: Instance, path: str | Path, source: str | Path | None = None) -> None:
    """Write a plan and its instance to a new Excel workbook, which appears whole or not at all.

    ``source`` is what the instance was read from (a shipped name or a file): its comments become the sources of the
    inputs.  The same plan, instance and source give the same bytes.  Raises InputError where a file stands there, it
    can't be written, the plan is not of the instance, or the source can't be read.
    """
    check_workbook_name(path)
    write_new_file(path, workbook_of(plan, instance, source))


def workbook_of(plan: Plan, instance: Instance, source: str | Path | None = None) -> bytes:
    """The bytes of the workbook; see ``write_workbook``."""
    if plan.provenance.input_hash != instance.input_hash():
        message = (
            f"the plan was made from other inputs (hash {plan.provenance.input_hash[:12]}…) than this instance's "
            f"({instance.input_hash()[:12]}…); give the instance with the scenarios and settings of the plan"
        )
        raise InputError(instance.name, [Fault("plan", message)])
    origin = origin_of(plan, instance, source)
    comments = Comments((), {}) if source is None else read_comments(source)
    rows, taken = input_rows(instance), taken_choices(plan, instance)
    book = start(instance)
    inputs = write_inputs(book, instance, rows, input_notes(rows, origin, comments, plan.provenance.applied))
    sums = write_decisions(book, plan, taken, inputs)
    write_losses(book, instance.name, plan.evaluation)
    power = write_power(book, plan, instance, taken, inputs)
    money = write_money(book, plan, instance, taken, inputs, power)
    write_limits(book, plan, instance, taken, inputs, sums, power, money)
    write_summary(book, plan, instance, origin.name, len(rows), sums, power, money)
    write_sources(book, plan, instance, comments)
    write_scenarios(book, instance, origin.name)
    write_record(book, _facts(plan, origin, rows))
    book.put_in_order(ORDER)
    return workbook_bytes(book.workbook, book.values)


def _facts(plan: Plan, origin: Origin, rows: list[InputRow]) -> dict[str, Any]:
    """What is needed to tell what a planner changed, and to solve the same instance again."""
    base = {} if origin.base is None else {row.path: row for row in input_rows(origin.base)}
    return {
        "instance": plan.provenance.instance,
        "input_hash": plan.provenance.input_hash,
        "inputs": [[row.path, row.value, row.unit, row.form] for row in rows],
        "changes": origin.changes,
        "holds": list(origin.scenarios),
        "expects": {"name": plan.provenance.instance}
        if origin.base is None
        else {row.path: typed_value(row, row.value) for row in rows if not differs(base, row)},
    }
