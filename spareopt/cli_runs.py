"""The command ``spareopt runs``: list result folders, query them in SQL, export, check and clean."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from spareopt.cli_options import json_option
from spareopt.exits import BAD_INPUT


@click.command()
@click.argument("folders", metavar="FOLDER...", nargs=-1, required=True)
@click.option(
    "--where", default=None, metavar="CONDITION", help="Only runs that meet it, such as \"status <> 'proven'\"."
)
@click.option(
    "--sql", default=None, metavar="QUERY", help="A SELECT over the tables runs, decisions, losses and limits."
)
@click.option("-o", "--output", metavar="FILE", help="Write the answer to a new file that ends in .parquet or .csv.")
@click.option("--check", is_flag=True, help="Hold every file against its hash; exit code 2 where one was changed.")
@click.option("--clean", is_flag=True, help="First take away what killed processes left over an hour ago.")
@json_option
def runs(
    folders: tuple[str, ...],
    where: str | None,
    sql: str | None,
    output: str | None,
    check: bool,
    clean: bool,
    as_json: bool,
) -> None:
    """List the runs below FOLDER, newest first, or query them."""
    from spareopt import kept_runs, run_queries, run_records, runs_text  # noqa: PLC0415

    if where is not None and sql is not None:
        raise click.UsageError("--where does not go with --sql, which has its own; leave one of them out.")
    if output is not None:
        run_queries.check_export(output)
    if clean:
        for folder in folders:
            saved, gone = kept_runs.clean(folder)
            for path in saved:
                click.echo(f"put back: {path}", err=True)
            for path in gone:
                click.echo(f"taken away: {path}", err=True)
    found = run_records.list_runs(*folders, check=check)
    query = run_queries.where_sql(where) if sql is None else sql
    answer = run_queries.query_document(found, query)
    if output is not None:
        run_queries.export_runs(found, query, output)
    if not as_json:
        click.echo(runs_text.runs_text(found, answer, sql is not None), nl=False)
        click.echo("\n" + _next_step(folders, where is None and sql is None, output))
    elif sql is not None:
        click.echo(answer.to_json(), nl=False)
    else:
        names = {row[answer.columns.index("run")] for row in answer.rows}
        kept = tuple(row for row in found.runs if row.run in names)
        click.echo(found.model_copy(update={"runs": kept}).to_json(), nl=False)
    for item in found.skipped:
        click.echo(f"skipped: {item.file}: {item.why}", err=True)
    for change in found.changed or ():
        click.echo(f"error: {Path(change.run) / change.file}: {change.change}", err=True)
    click.get_current_context().exit(BAD_INPUT if found.changed else 0)


def _next_step(folders: tuple[str, ...], plain: bool, output: str | None) -> str:
    """The command to try next."""
    written = "" if output is None else f"Written to {shlex.quote(output)}. "
    asked = shlex.join(folders)
    if not plain:
        return f"{written}Next: spareopt runs {asked}"
    return (
        f"{written}Next: spareopt runs {asked} --sql {shlex.quote('SELECT instance, max(value) FROM runs GROUP BY 1')}"
    )
