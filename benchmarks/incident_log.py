"""How long ten million incidents take to calibrate, and how much memory; reading alone and plain pandas beside it.

python benchmarks/incident_log.py [--rows N] [--way calibrate|reading|pandas] [--format csv|csv.gz|parquet]
  [--quoted] [--keep FOLDER]

The log is made first: a row for each incident with unit, fault class, rack, zone, start, end and disposition, times in
ISO 8601 with offsets, a hundredth of the rows dirty.  ``calibrate`` is the whole command, from the log to the overlay;
``reading`` ends with the incidents.  ``pandas`` reads the same file with read_csv, parses the times, drops duplicates
and counts by fault class, which is what a script would do: no overlaps, no lines, no report.  ``--quoted`` puts the
fault classes in quotes, so that csv has to read the file.  Each way runs in a process of its own, so that its time of
processor and its peak memory are its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

UNITS, PER_RACK, DAYS = 100_000, 18, 3650
FAULTS = np.array(["GPU", "NIC", "HBM", "Fan", "Power supply", "Leak", "Cable", "Firmware", "Stress test", "Unknown"])
DISPOSITIONS = np.array(["replaced", "reset", "no fault found", "cable reseated"])
BEGIN = np.datetime64("2017-01-01T00:00:00")
MAPPING = {
    "kinds": {"Stress test": "exclude"},
    "default_kind": "tray",
    "dispositions": {"exclude": ["no fault found"]},
    "observed": {"from": "2017-01-01T00:00Z", "to": "2026-12-30T00:00Z"},
}


def write_log(path: Path, rows: int, seed: int = 0, quoted: bool = False) -> dict[str, int]:
    """Write a log in pieces of half a million rows; how many rows were made wrong, by reason."""
    rng = np.random.default_rng(seed)
    faults = np.char.add(np.char.add('"', FAULTS), '"') if quoted else FAULTS
    made = {"backwards": 0, "unknown unit": 0, "repeated": 0}
    with path.open("w", encoding="utf-8") as file:
        file.write("unit,fault_class,rack,zone,start,end,disposition\n")
        for at in range(0, rows, 500_000):
            n = min(500_000, rows - at)
            unit = rng.integers(0, UNITS, n)
            start = BEGIN + (rng.random(n) * DAYS * 86400).astype(np.int64)
            end = start + rng.exponential(6 * 3600, n).astype(np.int64) + 60
            backwards, unknown, repeated = (rng.random(n) < share for share in (0.003, 0.003, 0.004))
            start, end = np.where(backwards, end, start), np.where(backwards, start, end)
            name = np.char.add("tray-", np.where(unknown, unit + UNITS, unit).astype(str))
            columns = (
                name,
                faults[rng.integers(0, len(faults), n)],
                np.char.add("rack-", (unit // PER_RACK).astype(str)),
                np.char.add("zone-", (unit // (UNITS // 4)).astype(str)),
                np.char.add(start.astype(str), "Z"),
                np.char.add(end.astype(str), "Z"),
                DISPOSITIONS[rng.integers(0, len(DISPOSITIONS), n)],
            )
            lines = [",".join(row) for row in zip(*(column.tolist() for column in columns), strict=True)]
            twice = np.flatnonzero(repeated).tolist()
            file.write("\n".join([*lines, *(lines[row] for row in twice)]) + "\n")
            made["backwards"] += int(backwards.sum())
            made["unknown unit"] += int(unknown.sum())
            made["repeated"] += len(twice)
    return made


def write_fleet(path: Path) -> None:
    """Write the roster of all units."""
    with path.open("w", encoding="utf-8") as file:
        file.write("unit,kind,rack,zone,from,to\n")
        for unit in range(UNITS):
            place = f"rack-{unit // PER_RACK},zone-{unit // (UNITS // 4)}"
            file.write(f"tray-{unit},tray,{place},2017-01-01T00:00Z,2026-12-30T00:00Z\n")


def by_command(log: str, fleet: str) -> None:
    """Calibrate: read, estimate, write the overlay."""
    from spareopt.cli import main as command  # noqa: PLC0415

    folder = Path(log).parent
    (folder / "mapping.yaml").write_text(json.dumps(MAPPING), encoding="utf-8")  # JSON is YAML, too
    (folder / "overlay.yaml").unlink(missing_ok=True)
    files = [log, "--fleet", fleet, "--mapping", str(folder / "mapping.yaml"), "-o", str(folder / "overlay.yaml")]
    sys.argv = ["spareopt", "calibrate", *files]
    try:
        command()
    except SystemExit as ended:
        assert not ended.code, ended


def by_reading(log: str, fleet: str) -> None:
    """Read and report."""
    from spareopt.calibration.exclusions import exclusion_text  # noqa: PLC0415
    from spareopt.calibration.observation import read_observation  # noqa: PLC0415
    from spareopt.calibration.service import exposed_hours  # noqa: PLC0415

    found = read_observation(log, fleet, MAPPING)
    print(
        f"  {found.log.rows:,} rows, {len(found.incidents.unit):,} incidents, {exposed_hours(found, 0):,.0f} tray-hours"
    )
    for one in found.exclusions:
        print(f"  {exclusion_text(one)}")


def by_pandas(log: str, fleet: str) -> None:
    """Read, parse, drop duplicates and count."""
    import pandas as pd  # noqa: PLC0415

    table = pd.read_csv(log)
    for column in ("start", "end"):
        table[column] = pd.to_datetime(table[column], utc=True)
    table = table.drop_duplicates()
    units = pd.read_csv(fleet)["unit"]
    table = table[(table["end"] >= table["start"]) & table["unit"].isin(units)]
    print(f"  {len(table):,} rows left, {table.groupby('fault_class').size().to_dict()}")


WAYS = {"calibrate": by_command, "reading": by_reading, "pandas": by_pandas}


def peak_gib() -> float:
    """The peak of this process's memory; ru_maxrss would be that of the process that started it, if that was larger."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 2**20


def measured(way: str, log: str, fleet: str) -> None:
    """Run one way; print its time and its peak of memory."""
    started, used = time.perf_counter(), time.process_time()
    WAYS[way](log, fleet)
    seconds, used = time.perf_counter() - started, time.process_time() - used
    peak = peak_gib()
    print(f"{way}: {seconds:.0f} s ({used:.0f} s of processor), peak {peak:.2f} GiB", flush=True)


def main() -> None:
    """Make the log and read it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--way", action="append", choices=list(WAYS))
    parser.add_argument("--format", choices=["csv", "csv.gz", "parquet"], default="csv")
    parser.add_argument("--quoted", action="store_true")
    parser.add_argument("--keep", type=Path, help="folder in which the log stays")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        log, fleet = folder / "log.csv", folder / "fleet.csv"
        made = write_log(log, options.rows, quoted=options.quoted)
        write_fleet(fleet)
        if options.format == "csv.gz":
            import gzip  # noqa: PLC0415
            import shutil  # noqa: PLC0415

            with log.open("rb") as plain, gzip.open(folder / "log.csv.gz", "wb", 1) as packed:
                shutil.copyfileobj(plain, packed)
            log = folder / "log.csv.gz"
        if options.format == "parquet":
            import duckdb  # noqa: PLC0415

            duckdb.sql(f"COPY (FROM read_csv('{log}')) TO '{folder / 'log.parquet'}'")
            log = folder / "log.parquet"
        print(f"{log.name}: {log.stat().st_size / 1e6:,.0f} MB; made wrong: {made}", flush=True)
        for way in options.way or WAYS:
            if way == "pandas" and options.format == "parquet":
                continue
            process = multiprocessing.get_context("spawn").Process(target=measured, args=(way, str(log), str(fleet)))
            process.start()
            process.join()


if __name__ == "__main__":
    main()
