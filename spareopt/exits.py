"""How the command line ends: whatever goes wrong becomes one message and the documented exit code, JSON where asked."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from spareopt.errors import Fault, InputError, SpareoptError

if TYPE_CHECKING:
    from spareopt.kept_runs import Kept
    from spareopt.record import Result

EXIT_CODES = """\b
Exit codes: 0 proven (or done), 1 internal error, 2 usage or bad input,
3 infeasible (or your plan breaks a limit), 4 limit reached with a plan in hand,
5 limit reached without one, 130 interrupted (a plan in hand is kept),
141 the reader of the output went away."""
INTERNAL_ERROR, BAD_INPUT, BROKEN_LIMIT, LIMIT_WITH_PLAN, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141
TRACEBACK = "SPAREOPT_TRACEBACK"
"""The environment variable that shows where an internal error comes from."""


class Group(click.Group):
    """A group that turns whatever goes wrong into one message and the documented exit code, as JSON where asked."""

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run the command line and exit."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal that can't show a letter is no reason to fail
        if sys.stdout is None:  # closed by the caller
            sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        try:
            code = self._run(list(sys.argv[1:] if args is None else args), extra)
            sys.stdout.flush()
        except BrokenPipeError:
            code = BROKEN_PIPE
        except OSError as error:
            code = INTERNAL_ERROR
            click.echo(
                f"error: {error if error.filename else f'the output can not be written: {error.strerror}'}", err=True
            )
            _drop_output()
        if code == BROKEN_PIPE:
            _drop_output()
        sys.exit(code)

    def _run(self, args: list[str], extra: dict[str, Any]) -> int:
        as_json = "--json" in args
        try:
            code = super().main(args, **extra | {"standalone_mode": False})
        except SpareoptError as error:
            return _fail(error, as_json)
        except click.ClickException as error:
            return _usage(error, as_json)
        except SystemExit:  # how click leaves where the reader of the output went away
            return BROKEN_PIPE
        except (KeyboardInterrupt, click.Abort):
            return _tell("interrupted", "InterruptedError", INTERRUPTED, as_json)
        except OSError:
            raise
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            text = (
                f"internal error: {type(error).__name__}: {error}; please report it ({TRACEBACK}=1 shows where it is)"
            )
            return _tell(text, "InternalError", INTERNAL_ERROR, as_json)
        return code if isinstance(code, int) else 0


def _drop_output() -> None:
    """Send what is still to be written nowhere, or the flush at exit would fail aloud."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: SpareoptError, as_json: bool) -> int:
    details: dict[str, Any] = {}
    if isinstance(error, InputError):
        details = {"source": error.source, "faults": [fault_record(fault) for fault in error.faults]}
    return _tell(str(error), type(error).__name__.rstrip("_"), error.exit_code, as_json, **details)


def _usage(error: click.ClickException, as_json: bool) -> int:
    if as_json or not isinstance(error, click.UsageError):
        return _tell(error.format_message(), "UsageError", BAD_INPUT, as_json)
    error.show()
    return BAD_INPUT


def _tell(message: str, kind: str, code: int, as_json: bool, **details: Any) -> int:
    if as_json:
        emit({"error": kind, "message": message, "exit_code": code, **details})
    else:
        click.echo(f"error: {message}", err=True)
    return code


def fault_record(fault: Fault) -> dict[str, Any]:
    """A fault as JSON data."""
    record: dict[str, Any] = {"field": fault.field, "line": fault.line, "message": fault.message}
    return record if fault.file is None else {"file": fault.file, **record}


def emit(document: Any) -> None:
    """The one JSON document of a command."""
    click.echo(json.dumps(document, indent=2, allow_nan=False))


def proof_code(status: str) -> int:
    """The exit code of a result with a proof of this status."""
    return {"proven": 0, "interrupted": INTERRUPTED}.get(status, LIMIT_WITH_PLAN)


def written_to(folder: str | None, run: Kept[Any] | None = None) -> str:
    """That a folder was written, before what to do next; nothing where none was.  ``run``: the run that it is."""
    if run is not None and run.found:
        return f"{_found(run)}. "
    return "" if folder is None else f"Written to {shlex.quote(folder)}. "


def _found(run: Kept[Any]) -> str:
    when = run.manifest.written.replace("T", " ").replace("+00:00", " UTC")
    return f"Found in {shlex.quote(str(run.folder))}, made on {when}, and not made again"


def finish(
    result: Result,
    text: Callable[[], str],
    next_step: Callable[[str | None], str],
    *,
    as_json: bool,
    output: str | None,
    write: Callable[[str], object],
    code: int,
    also: Sequence[tuple[str, Callable[[str], object]]] = (),
    run: Kept[Any] | None = None,
    not_kept: InputError | None = None,
) -> NoReturn:
    """Write the folder of a result, print it, and end with the exit code.

    ``text`` is the result in words, ``next_step`` the command to try next once the folder (None: no folder) is
    written, ``also`` further files and how to write them.  ``run``: where the
    result is kept already; ``not_kept``: why it could not be.
    """
    written: list[str] = []
    not_written = [] if not_kept is None else [not_kept]
    for name, fill in [*([] if output is None else [(output, write)]), *also]:
        try:
            fill(name)
            written.append(name)
        except InputError as error:  # what may have taken an hour is printed all the same
            not_written.append(error)
    folder = str(run.folder) if run is not None else output if output in written else None
    if as_json:
        click.echo(result.to_json(), nl=False)
        if run is not None and run.found:
            click.echo(_found(run), err=True)
    else:
        click.echo(text(), nl=False)
        click.echo("\n" + "".join(written_to(name) for name in written if name != folder) + next_step(folder))
    for refusal in not_written:
        click.echo(f"error: {refusal}", err=True)
        code = BAD_INPUT
    raise click.exceptions.Exit(code)
