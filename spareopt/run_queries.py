"""Queries over many runs in SQL, by DuckDB, which reads and writes nothing but the tables given to it."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import duckdb
import pandas as pd

from spareopt.decisions import ZoneChoice
from spareopt.errors import Fault, InputError
from spareopt.folders import check_new_file, write_new_file
from spareopt.limits import LimitSlack
from spareopt.record import Result
from spareopt.run_records import RunList

TABLES = ("runs", "decisions", "losses", "limits")
"""Tables of a query: the runs, and of all plans a row per zone choice, per loss and per limit."""
SANDBOX = (
    "SET temp_directory = ''",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
"""No files, no network, no Python variables, and no way back."""
FORMATS = {".parquet": "FORMAT parquet", ".csv": "FORMAT csv, HEADER"}


class RunQuery(Result):
    """What a query found."""

    schema_version: Literal[1] = 1
    sql: str
    """The query."""
    columns: tuple[str, ...]
    """Names of its columns."""
    rows: tuple[tuple[Any, ...], ...]
    """JSON values; times and other types as text."""


def where_sql(condition: str | None) -> str:
    """The query of the runs that meet a condition, newest first."""
    return "SELECT * FROM runs" + (f" WHERE ({condition}\n)" if condition else "") + " ORDER BY written DESC, run"


def query_runs(runs: RunList, sql: str) -> pd.DataFrame:
    """The answer of one SELECT over the tables ``runs``, ``decisions``, ``losses`` and ``limits``.  Raises InputError.

    The tables of plans are read where the query names them; a plan that can't be read raises InputError.
    """
    frame: pd.DataFrame = _answer(runs, sql, lambda relation: relation.df())
    return frame


def query_document(runs: RunList, sql: str) -> RunQuery:
    """The same as a document, whole numbers whole and nulls null.  Raises InputError."""

    def document(relation: duckdb.DuckDBPyRelation) -> RunQuery:
        rows = [tuple(map(_plain, row)) for row in relation.fetchall()]
        return RunQuery(sql=sql, columns=tuple(relation.columns), rows=tuple(rows))

    found: RunQuery = _answer(runs, sql, document)
    return found


def export_runs(runs: RunList, sql: str, file: str | Path) -> Path:
    """Write the answer to a new Parquet or CSV file, whole or not at all.  Raises InputError."""
    path = check_export(file)

    def write(relation: duckdb.DuckDBPyRelation) -> None:
        columns = ", ".join(
            f'"{name}" {kind}' for name, kind in zip(_quoted(relation.columns), relation.types, strict=True)
        )
        rows = relation.fetchall()
        with tempfile.TemporaryDirectory(prefix=".spareopt-") as scratch:
            part = Path(scratch) / "part"
            with closing(duckdb.connect()) as connection:
                connection.execute(f"CREATE TABLE answer ({columns})")
                if rows:
                    marks = ", ".join("?" * len(relation.columns))
                    connection.executemany(f"INSERT INTO answer VALUES ({marks})", rows)
                target = str(part).replace("'", "''")
                connection.execute(f"COPY answer TO '{target}' ({FORMATS[path.suffix.lower()]})")
            write_new_file(path, part.read_bytes())

    try:
        _answer(runs, sql, write)
    except OSError as error:
        raise InputError(str(file), [Fault("", f"can't be written: {error.strerror or error}")]) from None
    return path


def check_export(file: str | Path) -> Path:
    """The path of a file that can be exported to.  Raises InputError."""
    path = Path(file)
    if path.suffix.lower() not in FORMATS:
        message = f"expected a file name that ends in {' or '.join(FORMATS)}"
        raise InputError(str(file)[:200] or "''", [Fault("", message)])
    return check_new_file(path)


def _quoted(names: Sequence[str]) -> list[str]:
    return [name.replace('"', '""') for name in names]


def _answer(runs: RunList, sql: str, use: Callable[[duckdb.DuckDBPyRelation], Any]) -> Any:
    """What ``use`` makes of the answer of one SELECT, within the sandbox.  Raises InputError."""
    with closing(duckdb.connect()) as connection:
        for name, frame in _tables(runs, sql).items():
            connection.register("given", frame)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            connection.unregister("given")
        for statement in SANDBOX:
            connection.execute(statement)
        try:
            statements = connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                message = "expected one SELECT over the tables runs, decisions, losses and limits"
                raise InputError("the query", [Fault("", message)])
            relation = connection.sql(sql)
            if relation is None:
                raise InputError("the query", [Fault("", "has no answer; expected a SELECT")])
            return use(relation)
        except duckdb.Error as error:
            raise InputError("the query", [Fault("", _words(error))]) from None


def _words(error: duckdb.Error) -> str:
    """What DuckDB says of a query, without its lines of context."""
    return re.split(r"\n\s*\n|\nLINE ", str(error))[0].replace("\n", " ")


def _tables(runs: RunList, sql: str) -> dict[str, pd.DataFrame]:
    """The tables that a query names, and always that of the runs."""
    named = {name for name in TABLES[1:] if re.search(rf"\b{name}\b", sql, re.IGNORECASE)}
    return {"runs": runs.table()} | (_of_plans(runs, named) if named else {})


def _of_plans(runs: RunList, named: set[str]) -> dict[str, pd.DataFrame]:
    from spareopt.store import read_plan  # noqa: PLC0415

    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES[1:]}
    for row in runs.runs:
        if row.kind != "solve" or row.status == "infeasible":
            continue
        plan = read_plan(row.run)
        checkpoint = {"checkpoint_plan": plan.decisions.checkpoint_plan}
        rows["decisions"] += [{"run": row.run} | dict(choice) | checkpoint for choice in plan.decisions.zones]
        losses = plan.evaluation.losses
        gpus = plan.evaluation.gpus
        rows["losses"] += [{"run": row.run, "loss": k, "share": v, "gpus": v * gpus} for k, v in losses.items()]
        rows["limits"] += [{"run": row.run} | limit.model_dump() for limit in plan.evaluation.limits]
    columns = {
        "decisions": ["run", *ZoneChoice.model_fields, "checkpoint_plan"],
        "losses": ["run", "loss", "share", "gpus"],
        "limits": ["run", *LimitSlack.model_fields],
    }
    whole = dict.fromkeys(("crews", "shelf_trays", "start_at"), "Int64") | {"gpu_limit": "float64"}
    frames = {name: pd.DataFrame(rows[name], columns=columns[name]) for name in named}
    if "decisions" in frames:
        frames["decisions"] = frames["decisions"].astype(whole).rename(columns={"gpu_limit": "gpu_limit_kw"})
    return frames


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, bool | int | float | str):
        return None if isinstance(value, float) and not math.isfinite(value) else value
    return str(value)
