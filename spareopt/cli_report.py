"""The command ``spareopt report``: a plan that was solved before, as one HTML page to forward."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spareopt.cli_options import json_option
from spareopt.errors import Fault, InputError
from spareopt.exits import emit, written_to

if TYPE_CHECKING:
    from spareopt.instance import Instance
    from spareopt.plan import Plan
    from spareopt.reports.writing import Written

NEXT = {
    "simulate": "shown beside its plan: spareopt report PLAN_FOLDER --with {folder}",
    "frontier": "shown beside a plan: spareopt report PLAN_FOLDER --with {folder}",
    "marginal": "shown beside a plan: spareopt report PLAN_FOLDER --with {folder}",
    "tornado": "shown beside a plan: spareopt report PLAN_FOLDER --with {folder}",
}
"""What to do with result folders that are no plans, by the command that wrote them."""
OTHERWISE = "a report is of one plan; solve one with spareopt solve INSTANCE -o PLAN_FOLDER"


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "-o",
    "--output",
    metavar="FILE.html",
    default=None,
    help="The new page; a folder of that name without .html holds its files. Left out: RUN's name and -report.html, in "
    "the current folder.",
)
@click.option(
    "--instance",
    "source",
    metavar="INSTANCE",
    default=None,
    help="What was solved (a shipped name or a file): its comments tell the sources of the inputs, and its scenarios "
    "are shown. A shipped instance is found without it.",
)
@click.option(
    "--with",
    "results",
    multiple=True,
    metavar="FOLDER",
    help="Show the result of frontier, marginal, tornado or simulate in FOLDER, of the same inputs, instead of the one "
    "made here; may be repeated.",
)
@click.option(
    "--target",
    default=None,
    metavar="GPU-HOURS",
    help='Useful GPU-hours of a quarter, such as "120 M", or the GPUs they take, such as "2000 GPUs": with what '
    "confidence the simulation reaches them.",
)
@json_option
def report(
    run: str,
    output: str | None,
    source: str | None,
    results: tuple[str, ...],
    target: str | None,
    as_json: bool,
) -> None:
    """Write the plan of RUN as one HTML page to read and forward: answer, losses, proof, cost, what-ifs, sources.

    RUN is a plan folder as spareopt solve writes it, with -o or in a folder of runs.
    """
    plan, instance = _plan_of(run)
    page = output if output is not None else f"{Path(run).absolute().name}-report.html"
    _check_free(page)
    written = write_with_progress(plan, instance, page, source, results, target)
    if as_json:
        emit(written.as_data())
        return
    click.echo(f"{written_to(str(written.page))}{what_next(written, run, results, target)}")


def write_with_progress(
    plan: Plan,
    instance: Instance,
    page: str,
    source: str | None,
    results: tuple[str, ...] = (),
    target: str | None = None,
) -> Written:
    """Write a report, and tell on stderr where that stands."""
    from spareopt.progress import StepsLine  # noqa: PLC0415
    from spareopt.reports.writing import write_report  # noqa: PLC0415

    with StepsLine() as line:
        return write_report(
            plan, instance, page, source, results=results, target=target, on_step=line.show,
            on_simulation=line.simulation,
        )  # fmt: skip


def _check_free(page: str) -> None:
    """Raises InputError, which says what to name or to delete, where a page or its folder stands there."""
    folder = Path(page).with_suffix("") if Path(page).name else Path(page)
    there = [str(path) for path in (Path(page), folder) if page and path.exists() and path.name]
    if there and (Path(page).exists() or any(folder.iterdir() if folder.is_dir() else there)):
        message = f"already exists; name another page with -o FILE.html, or delete {' and '.join(there)} first"
        raise InputError(page, [Fault("", message)])


def what_next(written: Written, run: str, results: tuple[str, ...] = (), target: str | None = None) -> str:
    """What is missing in a report and the command that makes it whole, or what to do with it."""
    missing = [item for section in written.report.sections for item in section.missing]
    if not missing:
        return f"Next: open it in a browser; its pictures and numbers are in {written.folder}"
    names = ", ".join(section.name for section in written.report.sections if section.missing)
    told = f"Missing, as the page says with the command to try: {names}"
    if written.report.source_known:
        return told
    words = ["spareopt", "report", run, "--instance", "FILE", "-o", str(written.page.with_suffix("")) + "-full.html"]
    words += [word for folder in results for word in ("--with", folder)]
    words += [] if target is None else ["--target", target]
    return f"{told}\nThe instance file tells scenarios and sources; to have them, too: {shlex.join(words)}"


def _plan_of(run: str) -> tuple[Plan, Instance]:
    """The plan of a folder.  Raises InputError, which says what another kind of folder is and what to do with it."""
    from spareopt.manifest import MANIFEST, changed_files, read_manifest  # noqa: PLC0415
    from spareopt.store import PLAN, read_solved  # noqa: PLC0415
    from spareopt.wording import counted  # noqa: PLC0415

    if not run.strip():
        raise InputError("''", [Fault("", "expected the name of a plan folder")])
    try:
        manifest = read_manifest(run) if (Path(run) / MANIFEST).is_file() else None
    except (InputError, OSError, ValueError):
        manifest = None
    if manifest is not None and manifest.result is None:
        file = shlex.quote(f"{run}/instance.json")
        message = f"holds no plan: {manifest.instance} is infeasible; try: spareopt explain {file}"
        raise InputError(run, [Fault("", message)])
    if manifest is not None and manifest.kind != "solve":
        advice = NEXT.get(manifest.kind, OTHERWISE).format(folder=shlex.quote(run))
        raise InputError(run, [Fault("", f"was written by spareopt {manifest.kind}, which is no plan; {advice}")])
    if manifest is None and (inside := _runs_in(run)):
        message = f"holds {counted(len(inside), 'run')}; name one of them, such as {run.rstrip('/')}/{inside[0]}"
        raise InputError(run, [Fault("", message)])
    solved = read_solved(run)
    changed = changed_files(run, manifest) if manifest is not None else {}
    if PLAN in changed:
        message = f"{PLAN} is not as it was written; solve the instance again into a new folder"
        raise InputError(run, [Fault("", message)])
    return solved


def _runs_in(folder: str) -> list[str]:
    """The names of runs of spareopt solve directly in a folder."""
    from spareopt.manifest import MANIFEST  # noqa: PLC0415
    from spareopt.store import PLAN  # noqa: PLC0415

    try:
        return sorted(path.parent.name for path in Path(folder).glob(f"*/{MANIFEST}") if (path.parent / PLAN).is_file())
    except (OSError, ValueError):
        return []
