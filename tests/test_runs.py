"""Many runs: all are listed, SQL over them is right and harmless, and what is not a run or was changed is told."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import spareopt
from spareopt import cli
from spareopt.errors import InputError
from spareopt.manifest import MANIFEST
from spareopt.run_queries import SANDBOX, RunQuery, export_runs, query_document, where_sql
from spareopt.run_records import RunList, RunRow, list_runs
from tests.test_docs import table

CHANGES: list[dict[str, Any]] = [{}, {"power.pue": 1.25}, {"failures.tray.mtbf": "0.5x"}, {"limits.floor": 1}]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs: three plans, an instance proven infeasible, a simulation in a folder of its own."""
    folder = tmp_path_factory.mktemp("store")
    for changes in CHANGES:
        instance = spareopt.read_instance("academic-1k", overrides=changes)
        try:
            plan = spareopt.solve_once(instance, folder / "runs").result
        except spareopt.InfeasibleError:
            continue
    (folder / "others").mkdir()
    result = spareopt.simulate(instance.model_copy(), plan.decisions, replications=2, years=0.01)
    spareopt.write_simulation(result, instance, folder / "others" / "played")
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["runs", *arguments])


def test_every_run_below_a_folder_is_listed_newest_first(store: Path) -> None:
    """Proves that rows are those of the manifests, wherever the folders lie, and each run is found once."""
    found = list_runs(store)
    assert len(found.runs) == 5 and found.skipped == ()
    assert [row.written for row in found.runs] == sorted((row.written for row in found.runs), reverse=True)
    assert sorted(row.kind for row in found.runs) == ["simulate", "solve", "solve", "solve", "solve"]
    assert sorted(row.status for row in found.runs) == ["done", "infeasible", "proven", "proven", "proven"]
    for row in found.runs:
        manifest = json.loads((Path(row.run) / MANIFEST).read_text())
        assert (row.value, row.gap, row.input_hash) == (manifest["value"], manifest["gap"], manifest["input_hash"])
    assert {row.run for row in list_runs(store / "runs", store / "others").runs} == {row.run for row in found.runs}
    assert RunList.model_validate_json(found.to_json()) == found
    assert list_runs(store / "others" / "played").runs[0].kind == "simulate"


def test_sql_over_runs_and_plans_agrees_with_the_plans(store: Path) -> None:
    """Proves that the tables of a query hold the numbers of the plans read back one by one, and join with the runs."""
    found = list_runs(store)
    best = spareopt.query_runs(found, "SELECT max(value) AS best FROM runs WHERE kind = 'solve'")["best"][0]
    plans = {row.run: spareopt.read_plan(row.run) for row in found.runs if row.status == "proven"}
    assert best == max(plan.certificate.value for plan in plans.values())
    rows = spareopt.query_runs(found, "SELECT * FROM decisions JOIN runs USING (run) ORDER BY run")
    assert list(rows["run"]) == sorted(plans)
    for row in rows.to_dict(orient="records"):
        (choice,) = plans[row["run"]].decisions.zones
        assert (row["inter_block_spares"], row["gpu_limit_kw"]) == (choice.inter_block_spares, choice.gpu_limit)
        assert pd.isna(row["crews"]) and row["checkpoint_plan"] == plans[row["run"]].decisions.checkpoint_plan
    sums = spareopt.query_runs(found, "SELECT run, sum(share) AS whole FROM losses GROUP BY run")
    assert len(sums) == 3 and list(sums["whole"]) == pytest.approx([1.0] * 3)
    limits = spareopt.query_runs(found, 'SELECT "limit", min(slack) AS least FROM limits GROUP BY 1')
    assert dict(zip(limits["limit"], limits["least"], strict=True)) == {
        name: min(limit.slack for plan in plans.values() for limit in plan.evaluation.limits if limit.limit == name)
        for name in limits["limit"]
    }


def test_the_command_lists_filters_and_prints_json(store: Path) -> None:
    """Proves that --where and --sql give what a filter by hand gives, and JSON is the document that reads back."""
    everything = RunList.model_validate_json(run(str(store), "--json").stdout)
    assert everything == list_runs(store)
    unproven = RunList.model_validate_json(run(str(store), "--where", "status <> 'proven'", "--json").stdout)
    assert unproven.runs == tuple(row for row in everything.runs if row.status != "proven")
    text = run(str(store))
    assert text.exit_code == 0 and text.stdout.startswith("5 runs.\n") and text.stderr == ""
    for row in everything.runs:
        (line,) = [line for line in text.stdout.splitlines() if line.startswith(row.run)]
        assert row.kind in line and row.status in line and row.written[:10] in line
        assert (
            row.value is None or row.unit is None or f" {row.unit} " in line
        )  # numbers of several units in one column
    answer = run(str(store), "--sql", "SELECT status, count(*) AS n FROM runs GROUP BY 1 ORDER BY 1", "--json")
    document = RunQuery.model_validate_json(answer.stdout)
    assert (document.columns, document.rows) == (("status", "n"), (("done", 1), ("infeasible", 1), ("proven", 3)))
    words = run(str(store), "--sql", "SELECT status, count(*) AS n FROM runs GROUP BY 1 ORDER BY 1").stdout
    assert re.search(r"^infeasible +1$", words, re.MULTILINE)
    assert "none of them answers" in run(str(store), "--where", "value < 0").stdout


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_an_export_holds_every_digit(store: Path, tmp_path: Path, suffix: str) -> None:
    """Proves that another reader of the file finds the same rows, nulls and types, and that no file is overwritten."""
    file = tmp_path / f"it's{suffix}"
    assert run(str(store), "-o", str(file)).exit_code == 0
    read = duckdb.sql(
        "SELECT * FROM " + ("read_parquet" if suffix == ".parquet" else "read_csv") + "(?)", params=[str(file)]
    )
    document = query_document(list_runs(store), where_sql(None))
    assert tuple(read.columns) == document.columns
    numbers = [document.columns.index(name) for name in ("value", "gap", "seed")]
    for ours, theirs in zip(document.rows, read.fetchall(), strict=True):
        assert [ours[place] for place in numbers] == [theirs[place] for place in numbers] and ours[0] == theirs[0]
        assert ours[document.columns.index("written")] == str(theirs[document.columns.index("written")])
    again = run(str(store), "-o", str(file))
    assert again.exit_code == 2 and "already exists" in again.stderr
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_an_empty_answer_can_be_exported(store: Path, tmp_path: Path) -> None:
    """Proves that no rows make a file with the columns alone."""
    export_runs(list_runs(store), where_sql("value < 0"), tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text().splitlines() == [",".join(RunRow.model_fields)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM read_csv('{secret}')", "file system operations are disabled"),
        ("SELECT * FROM '{secret}'", "file system operations are disabled"),
        ("SELECT content FROM read_text('{secret}')", "file system operations are disabled"),
        ("SELECT * FROM glob('{secret}')", "file system operations are disabled"),
        ("COPY runs TO '{target}'", "expected one SELECT"),
        ("ATTACH '{target}'", "expected one SELECT"),
        ("EXPORT DATABASE '{target}'", "expected one SELECT"),
        ("INSTALL httpfs", "expected one SELECT"),
        ("SET enable_external_access = true", "expected one SELECT"),
        ("SELECT 1; DROP TABLE runs", "expected one SELECT"),
        ("", "expected one SELECT"),
        ("SELECT * FROM found", "does not exist"),
        ("SELECT * FROM store", "does not exist"),
        ("SELEKT 1", "syntax error"),
        ("SELECT nothing FROM runs", 'Referenced column "nothing" not found'),
    ],
)
def test_a_query_can_neither_read_nor_write_anything_else(
    store: Path, tmp_path: Path, query: str, message: str
) -> None:
    """Proves that SQL reaches no file, no Python variable and no setting, and that a wrong query is one message."""
    secret, target = tmp_path / "secret.csv", tmp_path / "target.csv"
    secret.write_text("a\n1\n")
    asked = query.format(secret=secret, target=target)
    result = run(str(store), "--sql", asked)
    assert result.exit_code == 2 and result.stdout == "" and message in result.stderr, result.output
    assert result.stderr.startswith("error: the query: ") and len(result.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


def test_a_condition_is_one_condition(store: Path) -> None:
    """Proves that --where can't end its query and begin another."""
    for condition in ("1=1); DROP TABLE runs; SELECT (1", "1=1 --", ""):
        result = run(str(store), "--where", condition)
        assert result.exit_code == (2 if ";" in condition else 0), result.output


def test_the_sandbox_itself_is_shut() -> None:
    """Proves that the connection refuses files and its own reopening, even where a statement got past the check."""
    connection = duckdb.connect()
    for statement in SANDBOX:
        connection.execute(statement)
    for statement in (
        "COPY (SELECT 1) TO 'x.csv'",
        "SET enable_external_access = true",
        "LOAD httpfs",
        "ATTACH 'x.db'",
    ):
        with pytest.raises(duckdb.Error):
            connection.execute(statement)


def test_what_is_no_run_is_told_and_passed_over(store: Path, tmp_path: Path) -> None:
    """Proves that broken and foreign manifests and runs of a later version are named on stderr, scratch folders not."""
    shutil.copytree(store / "others" / "played", tmp_path / "good")
    texts = {"broken": "{", "foreign": '{"name": "app"}', "later": '{"manifest_version": 2}', ".spareopt-x": "{}"}
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / MANIFEST).write_text(text)
    result = run(str(tmp_path))
    assert result.exit_code == 0 and result.stdout.startswith("1 run.\n")
    lines = result.stderr.splitlines()
    assert len(lines) == 3 and all(line.startswith(f"skipped: {tmp_path}/") for line in lines)
    assert all("is not a manifest that this spareopt wrote" in line for line in lines)
    assert [Path(item.file).parent.name for item in list_runs(tmp_path).skipped] == ["broken", "foreign", "later"]


def test_a_changed_file_is_found(store: Path, tmp_path: Path) -> None:
    """Proves that --check names every file that was changed or lost, with exit code 2, and is content without one."""
    shutil.copytree(store, tmp_path / "copy")
    assert "5 runs, every file as it was written." in run(str(tmp_path / "copy"), "--check").stdout
    played = tmp_path / "copy" / "others" / "played"
    (played / "quarters.csv").write_text("changed")
    (played / "simulation.json").unlink()
    result = run(str(tmp_path / "copy"), "--check")
    assert result.exit_code == 2 and "5 runs, 2 files not as written." in result.stdout
    assert sorted(result.stderr.splitlines()) == [
        f"error: {played}/quarters.csv: changed",
        f"error: {played}/simulation.json: missing",
    ]
    document = RunList.model_validate_json(
        CliRunner().invoke(cli.main, ["runs", str(played), "--check", "--json"]).stdout
    )
    assert document.changed is not None and len(document.changed) == 2


def test_a_plan_that_can_not_be_read_is_an_error_where_it_is_asked_for(store: Path, tmp_path: Path) -> None:
    """Proves that a query over plans never leaves one out in silence, and that a query over runs does not need them."""
    shutil.copytree(store / "runs", tmp_path / "runs")
    for file in tmp_path.glob("runs/*/plan.json"):
        file.write_text("{}")
    assert len(spareopt.query_runs(list_runs(tmp_path), "SELECT * FROM runs")) == 4
    with pytest.raises(InputError, match="is not a plan that spareopt wrote"):
        spareopt.query_runs(list_runs(tmp_path), "SELECT * FROM losses")


def test_leftovers_are_cleaned_where_asked(tmp_path: Path) -> None:
    """Proves that --clean leaves young scratch folders alone, and that an empty folder is no error."""
    (tmp_path / ".spareopt-young").mkdir()
    result = run(str(tmp_path), "--clean")
    assert (result.exit_code, result.stdout.splitlines()[0], result.stderr) == (0, "0 runs.", "")
    assert [path.name for path in tmp_path.iterdir()] == [".spareopt-young"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing",), "missing: no such folder; expected one that holds runs"),
        (("file",), "file: is no folder"),
        ((".", "--where", "1=1", "--sql", "SELECT 1"), "--where does not go with --sql"),
        ((".", "-o", "runs.xlsx"), "runs.xlsx: expected a file name that ends in .parquet or .csv"),
        ((".", "-o", "missing/runs.csv"), "does not exist; make it first"),
    ],
)
def test_hopeless_questions_are_refused(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that a typing error is one message and exit code 2."""
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    result = run(*arguments)
    assert result.exit_code == 2 and message in result.stderr and result.stdout == ""


def test_the_page_has_every_column() -> None:
    """Proves that docs/pipeline.md lists the columns of the table of runs."""
    assert [row[0] for row in table("pipeline.md", "RunRow")] == [f"`{name}`" for name in RunRow.model_fields]
