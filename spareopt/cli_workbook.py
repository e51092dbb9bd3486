"""The command ``spareopt workbook``: a plan that was solved before, as an Excel workbook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spareopt.cli_options import edit_workbook, json_option, workbook_option
from spareopt.errors import Fault, InputError
from spareopt.exits import emit, written_to

if TYPE_CHECKING:
    from spareopt.instance import Instance


@click.command()
@click.argument("folder", metavar="PLAN_FOLDER")
@click.option(
    "--instance",
    "source",
    metavar="INSTANCE",
    default=None,
    help="What was solved (a shipped name or a file): its comments tell the sources of the inputs, and its scenarios "
    "and intervals are shown.",
)
@workbook_option
@json_option
def workbook(folder: str, source: str | None, output: str, as_json: bool) -> None:
    """Write the plan of PLAN_FOLDER as an Excel workbook: prices change, and money and power follow."""
    from spareopt.reading import read_instance  # noqa: PLC0415
    from spareopt.store import read_plan  # noqa: PLC0415
    from spareopt.workbooks.writing import ORDER, write_workbook  # noqa: PLC0415

    plan, instance = read_plan(folder), _instance_of(folder)
    if source is not None:
        known = read_instance(source)
        if known.name != plan.provenance.instance:
            message = f"the plan is of instance {plan.provenance.instance!r}, this is {known.name!r}"
            raise InputError("--instance", [Fault(source, message)])
        instance = instance.model_copy(update={"scenarios": known.scenarios, "intervals": known.intervals})
    write_workbook(plan, instance, output, source)
    if as_json:
        emit({"workbook": output, "instance": instance.name, "sheets": list(ORDER)})
        return
    solved = source or str(Path(folder) / "instance.json")  # the name alone may be that of no shipped instance
    click.echo(f"{written_to(output)}Next: {edit_workbook(solved, output)}")


def _instance_of(folder: str) -> Instance:
    """The instance that a plan folder holds.  Raises InputError."""
    from spareopt.reading import read_instance  # noqa: PLC0415

    file = Path(folder) / "instance.json"
    if not file.is_file():
        message = "holds no instance.json; expected a plan folder such as spareopt solve INSTANCE -o FOLDER writes"
        raise InputError(folder, [Fault("", message)])
    return read_instance(file)
