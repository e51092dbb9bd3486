"""Answer each question once: a plan or a simulation that a runs folder holds is read back, not made again."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spareopt.decisions import Decisions
from spareopt.instance import Instance
from spareopt.kept_runs import Kept, Question, kept
from spareopt.optimise import solve
from spareopt.plan import Plan, versions
from spareopt.schemes import Model
from spareopt.search import DEFAULT_GAP, OnProgress
from spareopt.store import read_plan, write_plan

if TYPE_CHECKING:
    from spareopt.simulation.result import Simulation
    from spareopt.simulation.trace import Trace
    from spareopt.staging.plan import StagedPlan


def solve_once(
    instance: Instance,
    runs: str | Path = "runs",
    *,
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    seed: int = 0,
    model: Model = "exact",
    alike: bool = False,
    on_progress: OnProgress | None = None,
) -> Kept[Plan]:
    """The best plan of an instance: read back from ``runs`` where it was proven before, else solved and kept there.

    Safe to call twice, and by several processes at once.  Options are those of ``spareopt.solve``; the same
    instance with the same changes, options, seed and versions is the same question.  ``result`` is the plan, ``folder``
    its run, ``found`` whether it was there.  Raises what solve raises (an instance found infeasible before raises
    InfeasibleError without a solve), InputError for the folder, NotKeptError with the plan where it can't be written.
    """
    options = {"gap": gap, "time_limit_s": time_limit, "model": model, "coarse": False, "alike": alike}
    return kept(
        runs,
        Question("solve", instance, options, seed, versions()),
        lambda: solve(
            instance, gap=gap, time_limit=time_limit, seed=seed, model=model, alike=alike, on_progress=on_progress
        ),
        lambda plan, folder: write_plan(plan, instance, folder),
        read_plan,
    )


def staged_once(
    instance: Instance,
    runs: str | Path = "runs",
    *,
    gap: float | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Kept[StagedPlan]:
    """The best plan over the quarters of an instance, read back from ``runs`` where it is there, else solved and kept.

    As ``solve_once``; options are those of ``spareopt.solve_staged``.
    """
    from spareopt.staging.plan import DEFAULT_GAP as STAGED_GAP  # noqa: PLC0415
    from spareopt.staging.plan import solve_staged  # noqa: PLC0415
    from spareopt.staging.store import read_staged, write_staged  # noqa: PLC0415

    asked = STAGED_GAP if gap is None else gap
    return kept(
        runs,
        Question("staged", instance, {"gap": asked, "time_limit_s": time_limit}, seed, versions()),
        lambda: solve_staged(instance, gap=asked, time_limit=time_limit, seed=seed, on_progress=on_progress),
        lambda plan, folder: write_staged(plan, instance, folder),
        read_staged,
    )


def simulate_once(
    instance: Instance,
    decisions: Decisions,
    runs: str | Path = "runs",
    *,
    trace: Trace | None = None,
    processes: int = 1,
    executor: Any = None,
    on_progress: Any = None,
    **options: Any,
) -> Kept[Simulation]:
    """The simulation of a plan, read back from the folder ``runs`` where it is there, else simulated and kept.

    As ``solve_once``; ``options`` are those of ``spareopt.simulate``.
    """
    from spareopt.simulation.findings import versions as simulator_versions  # noqa: PLC0415
    from spareopt.simulation.simulate import checked_options, simulate  # noqa: PLC0415
    from spareopt.simulation.store import read_simulation, write_simulation  # noqa: PLC0415

    asked = checked_options(instance, processes=processes, executor=executor, **options).model_dump(exclude={"seed"})
    question = {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in asked.items()}
    question["decisions"] = decisions.model_dump(mode="json", exclude_none=True)
    question["trace"] = None if trace is None else _digest(trace)
    return kept(
        runs,
        Question("simulate", instance, question, int(options.get("seed", 0)), simulator_versions()),
        lambda: simulate(
            instance, decisions, trace=trace, processes=processes, executor=executor, on_progress=on_progress, **options
        ),
        lambda result, folder: write_simulation(result, instance, folder),
        read_simulation,
    )


def _digest(trace: Trace) -> str:
    """SHA-256 of what a trace holds, wherever it comes from."""
    digest = hashlib.sha256("\n".join((trace.source, *trace.names)).encode())
    for column in (trace.unit, trace.start_h, trace.end_h):
        digest.update(column.tobytes())
    return digest.hexdigest()
