"""Quarters of docs/examples/quarterly.py in processes of their own, each killed or held at a step that is stated.

A step is what a process is about to do: the text of an audit event of Python, such as ``os.rename runs/quarters/x``,
``open FILE`` of one that is written, or ``solve_milp``.  So the moment is the same whatever the load of the machine.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from spareopt import search

SCRIPT = Path(__file__).parents[1] / "docs" / "examples" / "quarterly.py"
PATIENCE = 120.0
"""s after which a test says that a process hangs."""
WRITES = frozenset({"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "shutil.rmtree", "solve_milp"})
LOADED = (
    "matplotlib.backends.backend_svg", "spareopt.calibration.as_overlay", "spareopt.calibration.estimates",
    "spareopt.calibration.observation", "spareopt.change_pictures", "spareopt.once", "spareopt.plan_comparison_store",
)  # fmt: skip
"""What takes long to import is imported once; each process is forked from one that did nothing else."""


def example() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("quarterly", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Ended(NamedTuple):
    """A process that ended."""

    code: int
    """Its exit code; minus the signal that killed it."""
    out: str
    err: str


class Kill(NamedTuple):
    """Kill the process, as by the machine's end, before the so many-th step that matches, counted from 0."""

    step: str
    """Regular expression."""
    number: int = 0


class Meet(NamedTuple):
    """Hold the process at the first step that matches each expression until so many processes have come to it."""

    steps: tuple[str, ...]
    processes: int


class Record(NamedTuple):
    """Write every step to a file."""

    file: str


Hook = Kill | Meet | Record | None


def run(arguments: Sequence[str], folder: Path, *hooks: Hook) -> list[Ended]:
    """A process for each hook, all at once, in a folder."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *LOADED])
    outputs = [folder.with_name(f"{folder.name}-{place}") for place in range(len(hooks))]
    processes: list[BaseProcess] = [
        context.Process(target=_process, args=(list(arguments), folder, output, hook))
        for output, hook in zip(outputs, hooks, strict=True)
    ]
    for process in processes:
        process.start()
    ended = []
    for process, output in zip(processes, outputs, strict=True):
        process.join(PATIENCE)
        if process.exitcode is None:
            process.kill()
            raise AssertionError(f"a process hangs: {arguments}")
        out, err = (output.with_suffix(suffix) for suffix in (".out", ".err"))
        ended.append(Ended(process.exitcode, out.read_text(), err.read_text()))
    return ended


def _process(arguments: list[str], folder: Path, output: Path, hook: Hook) -> None:
    """What a process does."""
    os.chdir(folder)
    for suffix, number in ((".out", 1), (".err", 2)):
        os.dup2(os.open(output.with_suffix(suffix), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    if hook is not None:
        _watch(hook)
    code = example().main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _watch(hook: Kill | Meet | Record) -> None:
    """Do what a hook says at its steps."""
    act = {Kill: _killer, Meet: _meeter, Record: _recorder}[type(hook)](hook)  # type: ignore[operator]
    own = os.getcwd() + "/"

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in WRITES or (event == "open" and _writes(*arguments)):
            paths = [str(item).removeprefix(own) for item in arguments if isinstance(item, str | os.PathLike)]
            if event == "solve_milp" or any(path.startswith("runs") for path in paths):
                act(" ".join((event, *(path for path in paths if path not in ("w", "x")))))

    solve = vars(search)["solve_milp"]

    def audited(*given: Any, **options: Any) -> Any:
        sys.audit("solve_milp")
        return solve(*given, **options)

    vars(search)["solve_milp"] = audited
    sys.addaudithook(audit)


def _writes(path: object, mode: object, flags: int) -> bool:
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) and not isinstance(path, int)


def _killer(hook: Kill) -> Callable[[str], None]:
    left = [hook.number]

    def act(step: str) -> None:
        if re.search(hook.step, step):
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1

    return act


def _meeter(hook: Meet) -> Callable[[str], None]:
    left = list(hook.steps)

    def act(step: str) -> None:
        if left and re.search(left[0], step):
            place = Path(f"meeting-{len(hook.steps) - len(left)}")
            left.pop(0)
            place.mkdir(exist_ok=True)
            (place / str(os.getpid())).touch()
            until = time.monotonic() + PATIENCE
            while len(list(place.iterdir())) < hook.processes:
                if time.monotonic() > until:
                    raise AssertionError("nobody else came")
                time.sleep(0.005)

    return act


def _recorder(hook: Record) -> Callable[[str], None]:
    def act(step: str) -> None:
        with Path(hook.file).open("a") as stream:  # not below runs, so no step itself
            stream.write(step + "\n")

    return act
