"""The command ``spareopt calibrate``: from an incident log and a fleet to an overlay with rates and repair times."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NoReturn

import click

from spareopt.cli_options import json_option

if TYPE_CHECKING:
    from spareopt.calibration.result import Calibration
    from spareopt.instance import Instance


@click.command()
@click.argument("log", metavar="LOG")
@click.option(
    "--fleet", required=True, metavar="FLEET", help="The units that could have had faults: counts or a roster."
)
@click.option("--mapping", default=None, metavar="FILE", help="What the log's columns, times and fault classes mean.")
@click.option(
    "--instance",
    "source",
    default=None,
    metavar="INSTANCE",
    help="The instance that the overlay is for: it is checked on it, and leaves out what that does not have.",
)
@click.option(
    "--repair-plan", default=None, metavar="NAME", help="Write repair times, too, for this plan of --instance."
)
@click.option("--name", default=None, metavar="NAME", help="Name of the overlay; that of the log when left out.")
@click.option("--confidence", default="95%", show_default=True, metavar="SHARE", help="Confidence of all intervals.")
@click.option(
    "--burst-window",
    default="10 min",
    show_default=True,
    metavar="TIME",
    help="Faults of trays of a rack within this time may be a burst.",
)
@click.option(
    "--early-life", default="90 d", show_default=True, metavar="TIME", help="Age up to which a unit counts as young."
)
@click.option(
    "--accept-exclusions",
    default="1%",
    show_default=True,
    metavar="SHARE",
    help="Share of rows in error above which the log is refused.",
)
@click.option("-o", "--output", default=None, metavar="FILE", help="Write the overlay to a new YAML file.")
@click.option(
    "--report", default=None, metavar="FOLDER", help="Write the result, its tables and a picture to a new folder."
)
@json_option
def calibrate(
    *,
    log: str,
    fleet: str,
    mapping: str | None,
    source: str | None,
    repair_plan: str | None,
    name: str | None,
    confidence: str,
    burst_window: str,
    early_life: str,
    accept_exclusions: str,
    output: str | None,
    report: str | None,
    as_json: bool,
) -> NoReturn:
    """Estimate failure rates and repair times from an incident LOG, and write them as an overlay."""
    from spareopt.calibration import calibrating, text  # noqa: PLC0415
    from spareopt.calibration.as_overlay import commented_overlay  # noqa: PLC0415
    from spareopt.exits import finish  # noqa: PLC0415
    from spareopt.folders import check_new_file, check_new_folder  # noqa: PLC0415
    from spareopt.progress import StatusLine  # noqa: PLC0415

    if repair_plan is not None and source is None:
        raise click.UsageError("--repair-plan needs --instance: what a plan takes depends on its crews and its shelf.")
    if output is not None:
        check_new_file(output)
    if report is not None:
        check_new_folder(report)
    instance = _instance(source)
    with StatusLine(every=10.0) as line:
        result = calibrating.calibrate(
            log, fleet, mapping, confidence=confidence, burst_window=burst_window, early_life_until=early_life,
            accept_exclusions=accept_exclusions, on_progress=lambda said: line.say(said, line.elapsed()),
        )  # fmt: skip
    overlay = ""
    notes: tuple[str, ...] = ()
    if output is not None or repair_plan is not None:
        made, overlay = commented_overlay(result, name=name, instance=instance, repair_plan=repair_plan)
        notes = made.notes
    finish(
        result,
        lambda: text.calibration_text(result, notes),
        lambda written: _next_step(source, log, fleet, mapping, output, report if written is not None else None),
        as_json=as_json,
        output=output or report,
        write=lambda _: _write(result, overlay, output, report),
        code=0,
    )


def _instance(source: str | None) -> Instance | None:
    from spareopt.reading import read_instance  # noqa: PLC0415

    return None if source is None else read_instance(source)


def _write(result: Calibration, overlay: str, output: str | None, report: str | None) -> None:
    from spareopt.calibration.store import write_calibration  # noqa: PLC0415
    from spareopt.folders import write_new_file  # noqa: PLC0415

    if output is not None:
        write_new_file(output, overlay)
    if report is not None:
        write_calibration(result, report)


def _next_step(
    source: str | None, log: str, fleet: str, mapping: str | None, output: str | None, report: str | None
) -> str:
    written = "".join(f"Wrote {name}\n" for name in (output, report) if name is not None)
    if output is None:
        mapped = "" if mapping is None else f" --mapping {shlex.quote(mapping)}"
        given = "" if source is None else f" --instance {shlex.quote(source)}"
        command = f"spareopt calibrate {shlex.quote(log)} --fleet {shlex.quote(fleet)}{mapped}{given} -o overlay.yaml"
        return f"{written}Next: {command}"
    instance = "INSTANCE" if source is None else shlex.quote(source)
    return f"{written}Next: spareopt solve {instance} --overlay {shlex.quote(output)}"
