"""Simulate a plan, or two under the same random numbers, and say what was found."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from spareopt import units
from spareopt.decisions import Decisions
from spareopt.errors import Fault, InputError, StoppedError
from spareopt.evaluation import Evaluation, evaluate
from spareopt.instance import Instance
from spareopt.simulation import runs as replications_of
from spareopt.simulation import statistics as stats
from spareopt.simulation.counts import counts_suffice
from spareopt.simulation.findings import result_of
from spareopt.simulation.measured import Measured, useful_share
from spareopt.simulation.result import Comparison, Simulation, SimulationOptions
from spareopt.simulation.runs import By, Experiment, Outcomes, Played
from spareopt.simulation.setup import bins_of, default_warm_up, run_maker, young_at_start
from spareopt.simulation.statistics import CONFIDENCE, Interval
from spareopt.simulation.system import Run, System

if TYPE_CHECKING:
    from spareopt.simulation.trace import Trace

REPLICATIONS = 40
LEAST_YEARS = 1e-4
"""Under an hour the rounding of times would show beside a bin of the record."""
MOST_REPLICATIONS, MOST_YEARS, MOST_ROWS, MOST_PROCESSES = 10_000, 1000.0, 1_000_000, 1024
BEYOND_THE_JOB = 4.0
"""How many times the exact model's wall time a job may take, where the years are not given."""
REFRESH = 0.5  # s between two calls of on_progress


@dataclass(frozen=True)
class SimulationProgress:
    """Where a simulation stands: replications done of those asked, CETT so far, seconds passed and to come."""

    done: int
    asked: int
    cett: Interval | None = None
    seconds: float = 0.0
    seconds_left: float | None = None
    compiling: bool = False
    """Whether the simulator is compiled first, once on a machine."""


OnProgress = Callable[[SimulationProgress], None]


@dataclass(frozen=True)
class Subject:
    """A plan to be simulated."""

    decisions: Decisions
    exact: Evaluation
    system: System
    options: SimulationOptions
    run: Callable[[int], Run]


def simulate(
    instance: Instance,
    decisions: Decisions,
    *,
    replications: int = REPLICATIONS,
    years: float | None = None,
    seed: int = 0,
    warm_up: float | str | None = None,
    precision: float | str | None = None,
    confidence: float | str = CONFIDENCE,
    processes: int = 1,
    executor: Any = None,
    trace: Trace | None = None,
    until_job: bool = False,
    by: By = "units",
    target: float | str | None = None,
    on_progress: OnProgress | None = None,
) -> Simulation:
    """Simulate a plan: independent replications of so many ``years`` each (1 when left out), after a warm-up.

    ``warm_up`` is a time ("200 h", or hours); left out, twenty times the longest mean time of repair, delay or wait
    (none with a trace); "0 h" is a new cluster.  ``precision`` (0.001 or "0.1 %"): stop as soon as half the width of
    CETT's interval at the ``confidence`` is that share of it; ``replications`` is then the most.  ``processes``: how
    many play side by side; or ``executor``: any Executor of concurrent.futures, or a Dask client.  The result depends
    on neither.  ``until_job`` ends each replication when the instance's job is done and gives the law of that time;
    ``years`` is then the longest (four times the exact model's time when left out).  ``by``: "units" plays each unit;
    "counts" only how many are down, faster, where all laws are exponential.  ``target``: useful GPU-hours of the
    baseline GPU (1.2e8 or "120 M"); the result tells with what confidence a quarter reaches it.

    Ctrl-C keeps the replications that are finished (status "interrupted"); raises StoppedError where there are none,
    InputError for options or decisions that can't be simulated, WorkerError where worker processes die at once.
    """
    options = checked_options(
        instance, replications=replications, years=years, seed=seed, warm_up=warm_up, precision=precision,
        confidence=confidence, processes=processes, executor=executor, until_job=until_job, by=by,
        target=target,
    )  # fmt: skip
    subject = subject_of(instance, decisions, options, trace)
    played = _play(
        [subject], options, processes=processes, executor=executor, on_progress=on_progress,
        enough=None if options.precision is None else _precise(subject, options.precision, options.confidence),
    )  # fmt: skip
    return _result(instance, subject, played, 0)


def compare(
    instance: Instance,
    first: Decisions,
    second: Decisions,
    *,
    replications: int = REPLICATIONS,
    years: float | None = None,
    seed: int = 0,
    warm_up: float | str | None = None,
    confidence: float | str = CONFIDENCE,
    processes: int = 1,
    executor: Any = None,
    trace: Trace | None = None,
    on_progress: OnProgress | None = None,
) -> Comparison:
    """Simulate two plans under the same random numbers: units that both have fail and are repaired alike.

    The options are those of ``simulate``; without a given warm-up both take the longer of their own.  Errors and
    Ctrl-C as there.
    """
    options = checked_options(
        instance, replications=replications, years=years, seed=seed, warm_up=warm_up, confidence=confidence,
        processes=processes, executor=executor,
    )  # fmt: skip
    subjects = [subject_of(instance, decisions, options, trace) for decisions in (first, second)]
    longest = max(subjects, key=lambda subject: subject.options.warm_up_h).options
    subjects = [_prepared(instance, s.decisions, s.exact, s.system, longest) for s in subjects]
    played = _play(subjects, options, processes=processes, executor=executor, on_progress=on_progress)
    one, other = (_result(instance, subject, played, i) for i, subject in enumerate(subjects))
    pairs = list(zip(one.replications, other.replications, strict=True))
    cett = stats.paired_difference([a.cett for a, _ in pairs], [b.cett for _, b in pairs], options.confidence)
    goodput = stats.paired_difference([a.goodput for a, _ in pairs], [b.goodput for _, b in pairs], options.confidence)
    return Comparison(first=one, second=other, cett=cett, goodput=goodput, better=_better(goodput.difference))


def _better(difference: Interval) -> Literal["first", "second", "undecided"]:
    if difference.low is not None and difference.low > 0:
        return "first"
    if difference.high is not None and difference.high < 0:
        return "second"
    return "undecided"


DEFAULT_WARM_UP = "20 times the longest mean time of repair, delay or wait"
YOUNG = (
    f"{DEFAULT_WARM_UP}; units are new at its start and their lives not exponential, so that this is a young cluster"
)
AS_GIVEN = "as given"
NONE_WITH_TRACE = "none: a trace is replayed from its start"


def checked_options(
    instance: Instance,
    *,
    replications: int = REPLICATIONS,
    years: float | None = None,
    seed: int = 0,
    warm_up: float | str | None = None,
    precision: float | str | None = None,
    confidence: float | str = CONFIDENCE,
    processes: int = 1,
    executor: Any = None,
    until_job: bool = False,
    by: str = "units",
    target: float | str | None = None,
) -> SimulationOptions:
    """The options of ``simulate``, checked; what follows from the plan (warm-up, years of a job) is NaN until then.

    Raises InputError with every fault.
    """
    faults: list[Fault] = []

    def number(
        field: str, value: Any, read: Callable[[Any], float], fits: Callable[[float], bool], words: str
    ) -> float:
        try:
            result = read(value)
        except (TypeError, ValueError, OverflowError) as error:
            text = str(error)
            _, semicolon, hint = text.partition("; ") if text.startswith("expected") else ("", "", f" ({text})")
            faults.append(
                Fault(field, f"got {value!r:.60}; expected {words}{semicolon}{hint}")
            )  # expected is said once
            return math.nan
        if not fits(result):
            faults.append(Fault(field, f"got {value!r:.60}; expected {words}"))
        return result

    def whole(field: str, value: Any, low: int, high: int) -> int:
        words = f"a whole number from {low:,} to {high:,}"
        result = number(field, value, _integer, lambda v: low <= v <= high, words)
        return 0 if math.isnan(result) else int(result)

    asked = whole("replications", replications, 1, MOST_REPLICATIONS)
    chosen_seed = whole("seed", seed, 0, 2**31 - 1)
    whole("processes", processes, 1, MOST_PROCESSES)
    if executor is not None and processes != 1:
        faults.append(Fault("processes", "given together with executor; the executor has its own, leave one out"))
    span = f"a number of years from {LEAST_YEARS:.4f} (about an hour) to {MOST_YEARS:,.0f}"
    length = 1.0
    if years is not None:
        length = number("years", years, float, lambda v: LEAST_YEARS <= v <= MOST_YEARS, span)
    confident = number(
        "confidence",
        confidence,
        units.parse_share,
        lambda v: 0.5 <= v <= 0.9999,
        'a share from 0.5 to 0.9999 or "99 %"',
    )
    precise = None
    if precision is not None:
        words = 'a share above 0 and below 1, such as 0.001 or "0.1 %"'
        precise = number("precision", precision, units.parse_share, lambda v: 0 < v < 1, words)
    start = math.nan
    if warm_up is not None:
        longest = MOST_YEARS * units.HOURS_PER_YEAR
        words = f'a time of at least zero, such as "200 h", and at most {MOST_YEARS:,.0f} years'
        start = number("warm_up", warm_up, _hours, lambda v: 0 <= v <= longest, words)
    aim = None
    if target is not None:
        words = 'useful GPU-hours of a quarter above 0, such as 1.2e8 or "120 M", or their GPUs, such as "2000 GPUs"'
        aim = number("target", target, units.parse_quarter_target, lambda v: 0 < v < math.inf, words)
        if until_job:
            faults.append(Fault("target", "is for quarters, and until_job for the whole job; leave one of them out"))
    if until_job and instance.job is None:
        message = "the instance has no job; state job.useful_gpu_hours, or leave until_job out"
        faults.append(Fault("until_job", message))
    if by not in get_args(By):
        faults.append(Fault("by", f"got {by!r:.60}; expected 'units' or 'counts'"))
    if faults:
        raise InputError("simulate", faults)
    return SimulationOptions(
        replications=asked, years=length if years is not None else math.nan, seed=chosen_seed,
        warm_up_h=start, warm_up=AS_GIVEN, precision=precise, confidence=confident, until_job=until_job, trace=None,
        by=by, target=aim,
    )  # fmt: skip


def _integer(value: Any) -> int:
    if isinstance(value, bool) or int(value) != value:
        raise ValueError("not a whole number")
    return int(value)


def _hours(value: Any) -> float:
    return units.parse(value, units.TIME) if isinstance(value, str) else float(value)


def build(instance: Instance, decisions: Decisions, trace: Trace | None) -> System:
    """The system of a plan; loaded where it is used."""
    from spareopt.simulation.build import build_system  # noqa: PLC0415

    return build_system(instance, decisions, trace)


def subject_of(instance: Instance, decisions: Decisions, options: SimulationOptions, trace: Trace | None) -> Subject:
    """A plan ready to be simulated, with the options that were left open filled in."""
    exact = evaluate(instance, decisions)
    system = build(instance, decisions, trace)
    if options.by == "counts" and (reason := counts_suffice(system)) is not None:
        message = f"{reason}: counts do not suffice; use 'units', which plays each unit by itself"
        raise InputError("simulate", [Fault("by", message)])
    update: dict[str, object] = {}
    if math.isnan(options.warm_up_h):
        warm_up = 0.0 if trace is not None else default_warm_up(system, exact)
        words = YOUNG if young_at_start(system) else DEFAULT_WARM_UP
        update |= {"warm_up_h": warm_up, "warm_up": words if trace is None else NONE_WITH_TRACE}
    if math.isnan(options.years):
        update["years"] = _years_for_job(exact) if options.until_job else _years_of(trace)
    options = options.model_copy(update=update)
    if trace is not None:
        options = options.model_copy(update={"trace": trace_words(trace, options.warm_up_h, options.years)})
    return _prepared(instance, decisions, exact, system, options)


def _prepared(
    instance: Instance, decisions: Decisions, exact: Evaluation, system: System, options: SimulationOptions
) -> Subject:
    """A plan with all its options known.  Raises InputError for a record too long, or with no quarter for a target."""
    _, bins, parts = bins_of(options.years)
    if options.target is not None and parts is None:
        message = f"{options.years:g} years hold no whole quarters to count; record a quarter or more, such as years 1"
        raise InputError("simulate", [Fault("target", message)])
    if options.replications * bins > MOST_ROWS:
        message = f"{options.replications:,} of {options.years:g} years are too long a record; take fewer of either"
        raise InputError("simulate", [Fault("replications", message)])
    end = options.warm_up_h + options.years * units.HOURS_PER_YEAR
    if len(system.trace_time) and system.trace_time[0] >= end:
        first = f"its first fault is at {system.trace_time[0]:,.0f} h, the record ends at {end:,.0f} h"
        message = f"{first}; expected one before: count its times from its start, or add years"
        raise InputError(options.trace or "trace", [Fault("", message)])
    until_useful = math.inf
    if options.until_job:
        assert instance.job is not None
        until_useful = instance.job.useful_gpu_hours / (exact.working_gpus * exact.scale)
    run = run_maker(
        instance, decisions, exact,
        seed=options.seed, warm_up=options.warm_up_h, years=options.years, until_useful=until_useful,
    )  # fmt: skip
    return Subject(decisions, exact, system, options, run)


def _years_of(trace: Trace | None) -> float:
    """One year, or as long as a trace is."""
    if trace is None or not len(trace.end_h) or not trace.end_h.max() > 0:
        return 1.0
    return min(float(trace.end_h.max()) / units.HOURS_PER_YEAR, MOST_YEARS)


def trace_words(trace: Trace, warm_up: float, years: float) -> str:
    """A trace in words, and what of it and of the time played is without the other."""
    length, end = float(trace.end_h.max(initial=0.0)), warm_up + years * units.HOURS_PER_YEAR
    faults, number = len(trace.unit), len(trace.names)
    merged = f", {trace.merged:,} merged with others" if trace.merged else ""
    words = f"{trace.source} ({faults:,} faults of {number:,} units, the first {number:,} trays{merged}"
    late = int((trace.start_h >= end).sum())
    if late:
        words += f"; {late:,} faults come after the end and are NOT played"
    if length < end * (1.0 - 1e-9):
        words += f"; it ends after {units.show(length, units.TIME)}, and NOTHING fails from there on"
    return f"{words})"


def _years_for_job(exact: Evaluation) -> float:
    """Whole quarters that a job fits in with a wide margin."""
    wall = exact.wall_time_h
    quarters = math.inf if wall is None else math.ceil(BEYOND_THE_JOB * wall / (units.HOURS_PER_YEAR / 4))
    if quarters / 4 > MOST_YEARS:
        raise InputError("simulate", [Fault("until_job", "the job takes too long to be simulated; state years")])
    return max(quarters, 1) / 4


def _precise(subject: Subject, precision: float, confidence: float) -> Callable[[Sequence[Outcomes]], bool]:
    """Whether CETT is known as precisely as asked."""
    run = subject.run(0)  # all have the same bins

    def enough(outcomes: Sequence[Outcomes]) -> bool:
        interval = _cett(subject, run, outcomes, confidence)
        half = None if interval is None else interval.half_width
        return interval is not None and half is not None and half <= precision * interval.mean

    return enough


def _cett(subject: Subject, run: Run, outcomes: Sequence[Outcomes], confidence: float) -> Interval | None:
    """CETT of the first plan so far."""
    if not outcomes:
        return None
    share = subject.exact.working_gpus / subject.exact.gpus
    hours = np.array([pair[0].hours for pair in outcomes])
    useful = np.array([useful_share(run, pair[0]) for pair in outcomes]) * hours
    return stats.ratio_interval(share * useful, hours, confidence)


def compile_kernel(options: SimulationOptions, on_progress: OnProgress | None) -> None:
    """Compile the simulator before any process needs it, and say so: it takes about half a minute, once."""
    from spareopt.simulation.kernel import counts, loop  # noqa: PLC0415
    from spareopt.simulation.kernel.compiled import kept  # noqa: PLC0415

    name, kernel = ("counts", counts) if options.by == "counts" else ("loop", loop)
    if kept(name):
        return
    if on_progress is not None:
        on_progress(SimulationProgress(0, options.replications, compiling=True))
    kernel.prepare()


def _play(
    subjects: Sequence[Subject],
    options: SimulationOptions,
    *,
    processes: int,
    executor: Any,
    on_progress: OnProgress | None,
    enough: Callable[[Sequence[Outcomes]], bool] | None = None,
) -> Played:
    compile_kernel(options, on_progress)
    started = time.perf_counter()
    last = started - REFRESH
    first: tuple[float, int] | None = None  # when a replication was first finished: the kernel is compiled by then
    run = subjects[0].run(0)

    def step(outcomes: Sequence[Outcomes]) -> None:
        nonlocal last, first
        now, done = time.perf_counter(), len(outcomes)
        if done and first is None:
            first = now, done
        if on_progress is None or now - last < REFRESH:
            return
        last = now
        left = None
        if first is not None and done > first[1]:
            left = (now - first[0]) / (done - first[1]) * (options.replications - done)
        cett = _cett(subjects[0], run, outcomes, options.confidence)
        on_progress(SimulationProgress(done, options.replications, cett, now - started, left))

    experiment = Experiment(
        tuple(subject.system for subject in subjects),
        lambda i: tuple(subject.run(i) for subject in subjects),
        options.by,
    )
    played = replications_of.play(
        experiment, options.replications, enough=enough, processes=processes, executor=executor, on_step=step
    )
    if not played.outcomes:
        raise StoppedError("interrupted before a replication was finished")
    return played


def _result(instance: Instance, subject: Subject, played: Played, place: int) -> Simulation:
    numbers = tuple(played.outcomes)
    measured = Measured(
        instance=instance,
        decisions=subject.decisions,
        exact=subject.exact,
        system=subject.system,
        options=subject.options,
        numbers=numbers,
        runs=tuple(subject.run(index) for index in numbers),
        outcomes=tuple(outcomes[place] for outcomes in played.outcomes.values()),
    )
    return result_of(measured, played.status, played.lost)
