"""Large logs: the same answer as SQL over the same file, for twenty thousand rows and (heavy) for ten million."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from spareopt.calibration.observation import read_observation
from spareopt.calibration.service import down_hours, service_hours

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "incident_log.py"
LEFT = """
CREATE VIEW rows AS SELECT *, epoch(start::TIMESTAMPTZ) s, epoch("end"::TIMESTAMPTZ) e
  FROM read_csv('{log}', all_varchar = true, header = true);
CREATE VIEW faults AS SELECT * FROM rows
  WHERE fault_class <> 'Stress test' AND disposition <> 'no fault found';
CREATE VIEW known AS SELECT * FROM faults WHERE unit IN (SELECT unit FROM read_csv('{fleet}', all_varchar = true));
CREATE TABLE once AS SELECT DISTINCT unit, fault_class, s, e FROM known WHERE e >= s;
CREATE TABLE islands AS
  WITH
    before AS (
      SELECT *, max(e) OVER (PARTITION BY unit ORDER BY s, e, fault_class
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) latest
      FROM once),
    numbered AS (
      SELECT *, count(*) FILTER (latest IS NULL OR s > latest) OVER (PARTITION BY unit ORDER BY s, e, fault_class
        ROWS UNBOUNDED PRECEDING) island
      FROM before)
  SELECT unit, min(s) s, least(max(e), epoch('2026-12-30 00:00:00Z'::TIMESTAMPTZ)) e
  FROM numbered GROUP BY unit, island;
"""


def benchmark() -> Any:
    """The script that makes the log."""
    found = importlib.util.spec_from_file_location("incident_log", BENCHMARK)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "rows", [pytest.param(20_000, id="small"), pytest.param(10_000_000, id="large", marks=pytest.mark.heavy)]
)
def test_a_large_log_is_read_as_sql_reads_it(rows: int, tmp_path: Path) -> None:
    """Rows left out by reason, incidents and downtime, counted by queries that share nothing with the reader."""
    import duckdb  # noqa: PLC0415

    script = benchmark()
    log, fleet = tmp_path / "log.csv", tmp_path / "fleet.csv"
    if rows < 1_000_000:
        script.UNITS = 2000  # so that units have several incidents, as they have in the large one
    made = script.write_log(log, rows)
    script.write_fleet(fleet)
    found = read_observation(log, fleet, script.MAPPING)
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(LEFT.format(log=log, fleet=fleet))

        def number(query: str) -> float:
            answer = database.execute(query).fetchone()
            assert answer is not None
            return float(answer[0])

        assert found.log.rows == number("SELECT count(*) FROM rows") == rows + made["repeated"]
        counts = {exclusion.reason: exclusion.rows for exclusion in found.exclusions}
        assert counts == {
            "no fault by the mapping's kinds": number("SELECT count(*) FROM rows WHERE fault_class = 'Stress test'"),
            "no fault by the mapping's dispositions": number(
                "SELECT count(*) FROM rows WHERE fault_class <> 'Stress test' AND disposition = 'no fault found'"
            ),
            "unit not in the roster": number("SELECT (SELECT count(*) FROM faults) - (SELECT count(*) FROM known)"),
            "ends before it starts": number("SELECT count(*) FROM known WHERE e < s"),
            "repeats another row": number(
                "SELECT (SELECT count(*) FROM known WHERE e >= s) - (SELECT count(*) FROM once)"
            ),
            "overlaps or touches an earlier one of its unit, and is one with it": number(
                "SELECT (SELECT count(*) FROM once) - (SELECT count(*) FROM islands)"
            ),
        }
        assert len(found.incidents.unit) == number("SELECT count(*) FROM islands")
        assert down_hours(found, 0) == pytest.approx(number("SELECT sum(e - s) / 3600 FROM islands"), rel=1e-9)
        assert service_hours(found, 0) == script.UNITS * 3650 * 24
