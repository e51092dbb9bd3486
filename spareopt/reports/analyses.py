"""The analyses of a report: made here, quickly and exactly, or read from result folders of the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from spareopt.binding import Binds, status_of, what_binds
from spareopt.comparison import objective_value
from spareopt.efficient import Frontier, Of, frontier
from spareopt.errors import Fault, InputError, SpareoptError, StoppedError
from spareopt.evaluation import evaluate
from spareopt.exposure import Tornado, tornado
from spareopt.instance import Instance
from spareopt.manifest import changed_files, read_manifest
from spareopt.marginal import MarginalValues, marginal_values
from spareopt.near import near_optimal
from spareopt.near_result import NearOptimal
from spareopt.plan import Plan
from spareopt.settings import SCENARIO
from spareopt.simulation.result import Simulation
from spareopt.what_if import Answer, SolveOptions, WhatIf, answer, changed

T = TypeVar("T")
WITHIN = "1 %"
"""How near the best plans are that are listed."""
MOST_NEAR = 12
REPLICATIONS = 40
STOPPED = "interrupted before the report was made; nothing was written"
SHOWN = ("frontier", "marginal", "tornado", "simulate")
"""Kinds of result folders that are shown instead of what is made here."""


@dataclass(frozen=True)
class Analysis(Generic[T]):
    """An analysis, or why there is none; ``given``: the folder that it was read from."""

    result: T | None = None
    why: str = ""
    given: str = ""


@dataclass(frozen=True)
class InScenario:
    """A scenario of the instance with the best plan there that builds all zones alike, or why there is none."""

    name: str
    description: str
    changes: tuple[str, ...]
    answer: Answer
    kept: float | None
    """The objective of the report's own plan there; None where it can't be built there."""
    broken: tuple[str, ...]
    """Limits that it breaks there, or why it can't be built."""
    instance: Instance | None


@dataclass(frozen=True)
class Given:
    """Results that were read from folders; ``names`` are those of the folders, by the kind of result."""

    marginal: MarginalValues | None = None
    tornado: Tornado | None = None
    frontiers: tuple[Frontier, ...] = ()
    simulation: Simulation | None = None
    names: tuple[tuple[str, str], ...] = ()

    def folder(self, kind: str) -> str:
        """The names of the folders with results of a kind."""
        return ", ".join(name for other, name in self.names if other == kind)


NOTHING_GIVEN = Given()


@dataclass(frozen=True)
class Analyses:
    """All that a report tells besides the plan itself."""

    alike: Plan | None
    """The best plan that builds all zones alike, which quick analyses compare with; None where there is none."""
    binds: Analysis[list[Binds]]
    marginal: Analysis[MarginalValues]
    near: Analysis[NearOptimal]
    frontiers: Analysis[tuple[Frontier, ...]]
    tornado: Analysis[Tornado]
    scenarios: Analysis[tuple[InScenario, ...]]
    simulation: Analysis[Simulation]


def analyse(
    plan: Plan,
    instance: Instance,
    given: Given = NOTHING_GIVEN,
    *,
    target: float | str | None = None,
    on_step: Callable[[str], None] = lambda _: None,
    on_simulation: Any = None,
) -> Analyses:
    """Make every analysis that is not given; one that can't be made says why.

    What-ifs are solved for the best plan that builds all zones alike, which is found by exhaustive search.  Nothing
    depends on how long it takes.  ``target`` and ``on_simulation`` are as in ``spareopt.simulate``, ``on_step`` is told
    what comes next.  Raises StoppedError on Ctrl-C.
    """
    model = plan.certificate.model
    on_step("the best plan with all zones alike")
    alike = answer(WhatIf(instance), _options(plan)).plan

    def made(step: str, make: Callable[[], T], result: T | None = None, kind: str = "") -> Analysis[T]:
        if result is not None:
            return Analysis(result, given=given.folder(kind))
        on_step(step)
        return _made(make)

    return Analyses(
        alike,
        made("what binds", lambda: _binds(plan, instance, alike)),
        made("marginal values", lambda: marginal_values(instance, alike=True, model=model), given.marginal, "marginal"),
        made("plans nearly as good", lambda: near_optimal(instance, WITHIN, most=MOST_NEAR, plan=plan, model=model)),
        made("the frontier", lambda: _frontiers(plan, instance), given.frontiers or None, "frontier"),
        made("the tornado", lambda: tornado(instance, alike=True, model=model), given.tornado, "tornado"),
        made("the scenarios", lambda: _scenarios(plan, instance)),
        made(
            "the simulated year",
            lambda: _simulated(plan, instance, target, on_simulation),
            given.simulation,
            "simulate",
        ),
    )


def _options(plan: Plan) -> SolveOptions:
    return SolveOptions(model=plan.certificate.model, alike=True)


def _made(make: Callable[[], T]) -> Analysis[T]:
    try:
        result = make()
    except StoppedError:
        raise
    except SpareoptError as error:
        return Analysis(why=str(error))
    if getattr(result, "interrupted", False) or getattr(result, "status", "") == "interrupted":
        raise StoppedError(STOPPED)  # Ctrl-C: half an analysis would not be the same each time
    return Analysis(result)


def _binds(plan: Plan, instance: Instance, alike: Plan | None) -> list[Binds]:
    """What binds the best plan with all zones alike, and what is gained without it; what is left is the plan's own."""
    rows = what_binds(instance, alike or plan, model=plan.certificate.model)
    own = {limit.limit: limit for limit in plan.evaluation.limits}
    return [
        row.model_copy(
            update={"value": (limit := own[row.limit]).value, "slack": limit.slack, "status": status_of(row, limit)}
        )
        for row in rows
    ]


def _frontiers(plan: Plan, instance: Instance) -> tuple[Frontier, ...]:
    """The frontier against capital, or cost, or power: the first of which plans differ, so that there is a trade.

    Where the plan has none of them known, the refusal says so.
    """
    e = plan.evaluation
    against: list[Of] = ["capital"] if e.capital is not None else []
    against += ["cost"] if e.cost_per_year is not None else []
    against += ["power"] if e.it_power_kw is not None else []
    if not against:
        message = "neither prices nor the draw of every design are stated, so goodput has nothing to be traded against"
        raise InputError(instance.name, [Fault("", message)])
    for of in against:
        curve = frontier(instance, of, alike=True, model=plan.certificate.model)
        if curve.interrupted:
            raise StoppedError(STOPPED)
        if len(curve.points) > 1:
            break
    return (curve,)


def _scenarios(plan: Plan, instance: Instance) -> tuple[InScenario, ...]:
    rows = []
    for name, scenario in instance.scenarios.items():
        if any(text.startswith(f"scenario {name}: ") for text in plan.provenance.applied):
            continue  # the plan is of it
        there: Instance | None = None
        kept: float | None = None
        broken: tuple[str, ...] = ()
        try:
            there = changed(instance, {SCENARIO: name})
            found = answer(WhatIf(there, {SCENARIO: name}), _options(plan))
            if found.status == "interrupted":
                raise StoppedError(STOPPED)
        except StoppedError:
            raise
        except SpareoptError as error:
            found = Answer({SCENARIO: name}, "failed", why=str(error))
        if there is not None:
            try:
                score = evaluate(there, plan.decisions, model=plan.certificate.model)
                kept, broken = objective_value(there, score), tuple(row.limit for row in score.violated)
            except InputError as error:
                broken = tuple(fault.message for fault in error.faults)
        of_it = f"scenario {name}: "
        changes = tuple(text.removeprefix(of_it) for text in (there.applied if there else ()) if text.startswith(of_it))
        rows.append(InScenario(name, scenario.description, changes, found, kept, broken, there))
    return tuple(rows)


def _simulated(plan: Plan, instance: Instance, target: float | str | None, on_progress: Any) -> Simulation:
    from spareopt.simulation.simulate import simulate  # noqa: PLC0415

    return simulate(instance, plan.decisions, replications=REPLICATIONS, seed=0, target=target, on_progress=on_progress)


def read_given(folders: Sequence[str | Path], plan: Plan) -> Given:
    """The results of folders, to be shown in the report of a plan.

    Raises InputError where one holds no such result, is of other inputs or other decisions, or two show the same.
    """
    from spareopt.curve_store import read_frontier, read_marginal_values, read_tornado  # noqa: PLC0415
    from spareopt.simulation.store import read_simulation  # noqa: PLC0415

    found: dict[str, Any] = {}
    frontiers: list[Frontier] = []
    names: list[tuple[str, str]] = []
    for folder in folders:
        kind = _kind_of(folder, plan)
        if kind == "frontier":
            curve = read_frontier(folder)
            if any(other.of == curve.of for other in frontiers):
                raise _refused(folder, f"is a second frontier against {curve.of}; give one")
            frontiers.append(curve)
        elif kind in found:
            raise _refused(folder, f"is a second result of spareopt {kind}; give one")
        elif kind == "simulate":
            simulation = read_simulation(folder)
            if simulation.decisions != plan.decisions:
                raise _refused(folder, "is a simulation of other decisions than the plan's; simulate the plan itself")
            found[kind] = simulation
        else:
            found[kind] = (read_marginal_values if kind == "marginal" else read_tornado)(folder)
        names.append((kind, Path(folder).name))
    return Given(
        found.get("marginal"), found.get("tornado"), tuple(frontiers), found.get("simulate"), tuple(names)
    )  # fmt: skip


def _kind_of(folder: str | Path, plan: Plan) -> str:
    """The kind of result in a folder, which must be one that is shown, whole, and of the plan's inputs."""
    try:
        manifest = read_manifest(folder)
    except InputError as error:
        why = "; ".join(fault.message for fault in error.faults)
        raise _refused(folder, f"is no result folder ({why}); expected one of {_of_kinds()}") from None
    if manifest.kind not in SHOWN:
        message = f"was written by spareopt {manifest.kind}; expected a result folder of {_of_kinds()}"
        raise _refused(folder, message)
    for file, change in changed_files(folder, manifest).items():
        if file.endswith(".json"):
            raise _refused(folder, f"is not as it was written: {file} is {change}; make it again")
    known = plan.provenance.input_hash
    if manifest.input_hash != known:
        message = (
            f"is of other inputs (hash {manifest.input_hash[:12]}…) than the plan ({known[:12]}…); make it with the "
            "instance, scenarios and settings of the plan"
        )
        raise _refused(folder, message)
    return manifest.kind


def _of_kinds() -> str:
    return f"{', '.join(SHOWN[:-1])} or {SHOWN[-1]}"


def _refused(folder: str | Path, message: str) -> InputError:
    return InputError("--with", [Fault(str(folder)[:200], message)])
