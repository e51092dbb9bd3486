"""Write a report: the page and the folder of files beside it, both or neither."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

from spareopt.errors import Fault, InputError, StoppedError
from spareopt.folders import check_new_file, check_new_folder, write_folder, write_new_file
from spareopt.instance import Instance
from spareopt.plan import Plan
from spareopt.reports.analyses import NOTHING_GIVEN, STOPPED, Given, analyse, read_given
from spareopt.reports.parts import Section

SUFFIX = ".html"
SAME = 1e-6
"""Relative differences of scores below this are of rounding."""


@dataclass(frozen=True)
class Report:
    """A report: its page, the files beside it by their names, and the sections that it has."""

    page: str
    files: dict[str, bytes]
    sections: tuple[Section, ...]
    source_known: bool = True
    """Whether the instance file, with its comments and scenarios, was given or found."""


@dataclass(frozen=True)
class Written:
    """A report on disk."""

    page: Path
    folder: Path
    report: Report

    def as_data(self) -> dict[str, Any]:
        """What was written, as plain data: files, sections with what they find, and what is missing and why."""
        sections = [
            {
                "section": section.anchor,
                "name": section.name,
                "finding": section.finding,
                "missing": [{"why": item.why, "command": item.command} for item in section.missing],
            }
            for section in self.report.sections
        ]
        return {
            "report": str(self.page),
            "folder": str(self.folder),
            "sections": sections,
            "files": list(self.report.files),
        }


def write_report(
    plan: Plan,
    instance: Instance,
    path: str | Path,
    source: str | Path | None = None,
    *,
    results: Sequence[str | Path] = (),
    target: float | str | None = None,
    on_step: Callable[[str], None] = lambda _: None,
    on_simulation: Any = None,
) -> Written:
    """Write a plan as one HTML page, and beside it a folder with its pictures and their numbers.

    ``path`` ends with ``.html``; the folder has its name without that.  ``source`` is what the instance was read from
    (a shipped name or a file), for its comments and scenarios; left out, a shipped instance is found by itself.
    ``results`` are folders of frontiers, marginal values, tornados and a simulation of the same inputs, to be shown
    instead of those made here.  ``target``: useful GPU-hours of a quarter, as in ``spareopt.simulate``; the page says
    with what confidence they are reached.  ``on_step`` is told what is made next, ``on_simulation`` as in
    ``spareopt.simulate``.  The same arguments give the same bytes.  Raises InputError where something stands
    there, a folder or the source can't be used, or the plan is not of the instance; StoppedError on Ctrl-C.
    """
    page, folder = check_report_name(path)
    given = read_given(results, plan)
    _check_target(target, given, instance)
    try:
        report = report_of(
            plan, instance, folder.name, source, given=given, target=target, on_step=on_step,
            on_simulation=on_simulation,
        )  # fmt: skip
    except KeyboardInterrupt:
        raise StoppedError(STOPPED) from None

    def fill(whole: Path) -> None:
        for name, content in report.files.items():
            (whole / name).write_bytes(content)

    try:
        write_folder(folder, fill)
        try:
            write_new_file(page, report.page)
        except BaseException:
            shutil.rmtree(folder)
            raise
    except KeyboardInterrupt:
        raise StoppedError(STOPPED) from None
    return Written(page, folder, report)


def _check_target(target: float | str | None, given: Given, instance: Instance) -> None:
    """Raises InputError for a target that is none, or one beside a simulation that was made before."""
    if target is None:
        return
    from spareopt.simulation.simulate import checked_options  # noqa: PLC0415

    if given.simulation is not None:
        folder = given.folder("simulate")
        message = (
            f"does not go with the simulation in {folder}, which has its own target or none; leave one of them out"
        )
        raise InputError("report", [Fault("target", message)])
    checked_options(instance, target=target)


def check_report_name(path: str | Path) -> tuple[Path, Path]:
    """The page and the folder of a new report.  Raises InputError."""
    page = Path(path)
    if page.suffix.lower() != SUFFIX or not page.stem.strip("."):
        message = f"expected the name of a new page that ends with {SUFFIX}, such as my-plan-report{SUFFIX}"
        raise InputError(str(path)[:200] or "''", [Fault("", message)])
    check_new_file(page)
    return page, check_new_folder(page.with_suffix(""))


def _check_score(plan: Plan, instance: Instance) -> None:
    """Raise InputError where a plan's score is not what this version gives its decisions: all that is asked besides
    would be of another score."""
    from spareopt.comparison import objective_value  # noqa: PLC0415
    from spareopt.evaluation import evaluate  # noqa: PLC0415

    now, then = evaluate(instance, plan.decisions, model=plan.certificate.model), plan.evaluation
    pairs: list[tuple[str, float | None, float | None]] = [
        (name, getattr(then, name), getattr(now, name))
        for name in ("goodput", "cett", "availability", "capital", "cost_per_year", "it_power_kw")
    ]
    pairs.append((plan.certificate.objective, plan.certificate.value, objective_value(instance, now)))
    if plan.certificate.value == 0:
        message = "the best plan costs nothing, so no other can be told in shares of it; state rack_price"
        raise InputError(instance.name, [Fault("objective.kind", message)])
    for name, told, found in pairs:
        if (told is None) != (found is None) or (told is not None and not isclose(told, found or 0.0, rel_tol=SAME)):
            made = plan.provenance.versions.get("spareopt", "of an unknown version")
            message = f"the plan, of spareopt {made}, tells {told!r}, its decisions score {found!r}; solve it again"
            raise InputError(instance.name, [Fault(name, message)])


def report_of(
    plan: Plan,
    instance: Instance,
    folder: str,
    source: str | Path | None = None,
    *,
    given: Given = NOTHING_GIVEN,
    target: float | str | None = None,
    on_step: Callable[[str], None] = lambda _: None,
    on_simulation: Any = None,
) -> Report:
    """The report of a plan, not written yet; ``folder`` is the name of that of its files; see ``write_report``."""
    from spareopt.reports import analysis_sections as found  # noqa: PLC0415
    from spareopt.reports import plan_sections as planned  # noqa: PLC0415
    from spareopt.reports import source_sections as sourced  # noqa: PLC0415
    from spareopt.reports.files import draw, listed_files, plan_files  # noqa: PLC0415
    from spareopt.reports.page import page_of  # noqa: PLC0415
    from spareopt.reports.sources import source_of  # noqa: PLC0415

    if plan.provenance.input_hash != instance.input_hash():
        message = (
            f"the plan was made from other inputs (hash {plan.provenance.input_hash[:12]}…) than this instance's "
            f"({instance.input_hash()[:12]}…); give the instance with the scenarios and settings of the plan"
        )
        raise InputError(instance.name, [Fault("plan", message)])
    _check_score(plan, instance)
    origin, told = source_of(plan, instance, source)
    analyses = analyse(plan, told, given, target=target, on_step=on_step, on_simulation=on_simulation)
    on_step("the pictures and the page")
    again = shlex.quote(f"{folder}/instance.json")
    sections = [
        planned.answer_section(plan, analyses.simulation.result),
        planned.plan_section(plan, told),
        planned.losses_section(plan),
        planned.proof_section(plan),
        planned.cost_section(plan, told),
        found.binding_section(plan, told, analyses, again),
        found.near_section(plan, told, analyses, again),
        found.frontier_section(plan, told, analyses, again),
        found.tornado_section(plan, told, analyses, again),
        found.scenarios_section(plan, told, analyses, origin.name is not None),
        found.simulation_section(analyses, again),
        planned.topology_section(plan, told),
        sourced.assumptions_section(plan, told, origin),
    ]
    listed = listed_files(sections)
    sections.append(sourced.provenance_section(plan, origin, folder, listed))
    sections.append(sourced.words_section())
    elements, pictures = draw([picture for section in sections for picture in section.pictures])
    title = f"{instance.name}: the plan"
    page = page_of(title, instance.description, sections, elements, folder)
    return Report(page, {**plan_files(plan, instance), **pictures}, tuple(sections), origin.name is not None)
