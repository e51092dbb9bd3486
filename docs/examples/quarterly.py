"""Plan a quarter: calibrate on the incidents, solve, compare with the last quarter, keep all of it.

A scheduler may call it as often as it likes, and several times at once: the same question is solved once, files appear
whole or not at all, and the same input gives the same bytes.  It ends with 0 only where everything is proven:

    0 proven        1 internal error    2 bad input     3 infeasible
    4 not proven    5 no plan in time   130 interrupted

RUNS then holds the run of the quarter (a plan folder), in ``calibrations`` the overlay that the log gave, in
``comparisons`` what changed since the last quarter and why, and once all of it is proven
``quarters/NAME/QUARTER.json`` (printed, too; NAME is the instance's): where that file is, the quarter is done.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import uuid
from pathlib import Path
from typing import Any

import spareopt

BAD_INPUT, NOT_PROVEN, INTERRUPTED = 2, 4, 130
COMPARED = (None, "same run", "split", "not split")
"""Comparisons that leave nothing to prove: none, with the same run again, and those that are proven."""
QUARTER = re.compile(r"\d{4}-Q[1-4]")


def main(arguments: list[str] | None = None) -> int:
    """Plan the quarter that the arguments name; the exit code."""
    asked = parse(arguments)
    try:
        summary = plan_quarter(asked)
    except spareopt.SpareoptError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except (OSError, ValueError, KeyError) as error:  # what others put into the folder of runs
        print(f"error: {asked.runs}: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    print(json.dumps(summary, indent=2))
    if "interrupted" in (summary["status"], summary["comparison_status"]):
        return INTERRUPTED
    return 0 if is_proven(summary) else NOT_PROVEN


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instance", required=True, help="a shipped name or an instance file")
    parser.add_argument("--quarter", required=True, type=quarter, help="such as 2027-Q1")
    parser.add_argument("--runs", required=True, type=Path, help="the folder that holds all runs")
    parser.add_argument("--overlay", action="append", default=[], help="prices, contracts, overlay; may be repeated")
    parser.add_argument("--log", help="incident log to calibrate on, laid over before the overlays")
    parser.add_argument("--fleet", help="the fleet that had the incidents; needed with --log")
    parser.add_argument("--mapping", help="what the columns of the log mean")
    parser.add_argument("--scenario", action="append", default=[], help="scenario of the instance; may be repeated")
    parser.add_argument("--gap", type=gap, default=1e-4, help="relative gap to prove")
    parser.add_argument("--time-limit", type=seconds, help="seconds for each solve")
    asked = parser.parse_args(arguments)
    if (asked.log is None) != (asked.fleet is None):
        parser.error("--log and --fleet go together")
    if asked.mapping is not None and asked.log is None:
        parser.error("--mapping needs --log and --fleet")
    return asked


def gap(text: str) -> float:
    """A relative gap."""
    if not 0 <= float(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to below 1, got {text!r}")
    return float(text)


def seconds(text: str) -> float:
    """A time that is to be spent."""
    if not 0 < float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return float(text)


def quarter(text: str) -> str:
    """A quarter such as 2027-Q1, whose order is that of time."""
    if not QUARTER.fullmatch(text):
        raise argparse.ArgumentTypeError(f"expected a quarter such as 2027-Q1, got {text!r}")
    return text


def plan_quarter(asked: argparse.Namespace) -> dict[str, Any]:
    """Calibrate, solve or find, compare, keep; what came of it."""
    rates = None if asked.log is None else calibrated(asked)
    overlays = [*([] if rates is None else [rates]), *asked.overlay]
    instance = spareopt.read_instance(asked.instance, overlays=overlays, scenarios=asked.scenario)
    run = spareopt.solve_once(instance, asked.runs, gap=asked.gap, time_limit=asked.time_limit)
    certificate = run.result.certificate
    print(f"{'found' if run.found else 'solved'}: {run.folder}", file=sys.stderr)
    summary: dict[str, Any] = {
        "schema_version": 1,
        "quarter": asked.quarter,
        "run": run.folder.name,
        "status": certificate.status,
        "objective": certificate.objective,
        "unit": certificate.unit,
        "value": certificate.value,
        "gap": certificate.gap,
        "calibration": None,
        "previous": None,
        "comparison": None,
        "comparison_status": None,
    }
    if rates is not None:
        summary["calibration"] = f"calibrations/{run.folder.name}.yaml"
        keep_overlay(rates, asked.runs / summary["calibration"])
    quarters = asked.runs / "quarters" / run.folder.name.rpartition("-solve-")[0]
    previous = last_quarter(quarters, asked.quarter)
    if previous is not None:
        summary["previous"] = {name: previous[name] for name in ("quarter", "run", "status", "value")}
        summary["comparison_status"] = "same run"
    if previous is not None and previous["run"] != run.folder.name:
        folder = asked.runs / "comparisons" / f"{previous['run']}-to-{run.folder.name}"
        change = compared(asked.runs / previous["run"], run.folder, folder, asked.time_limit).changes[0]
        summary["comparison"] = f"comparisons/{folder.name}" if folder.is_dir() else None  # kept where it is proven
        summary["comparison_status"] = change.status
    if is_proven(summary):
        write_whole(quarters / f"{asked.quarter}.json", json.dumps(summary, indent=2) + "\n")
    return summary


def is_proven(summary: dict[str, Any]) -> bool:
    """Whether the plan and all of the comparison are proven."""
    return summary["status"] == "proven" and summary["comparison_status"] in COMPARED


def calibrated(asked: argparse.Namespace) -> spareopt.Overlay:
    """The overlay with what the log says of the fleet's faults and repairs."""
    found = spareopt.calibrate(asked.log, asked.fleet, asked.mapping)
    instance = spareopt.read_instance(asked.instance)
    return spareopt.calibration_overlay(found, instance=instance)


def keep_overlay(overlay: spareopt.Overlay, file: Path) -> None:
    """Keep an overlay, with the intervals and the scenarios that a run does not hold, unless it is there."""
    file.parent.mkdir(exist_ok=True)
    try:
        spareopt.write_overlay(overlay, file)
    except spareopt.InputError:
        if not file.is_file():
            raise


def last_quarter(folder: Path, before: str) -> dict[str, Any] | None:
    """What was kept of the last quarter before this one; None where this is the first."""
    known = sorted(file for file in folder.glob("*.json") if QUARTER.fullmatch(file.stem) and file.stem < before)
    if not known:
        return None
    try:
        kept: dict[str, Any] = json.loads(known[-1].read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{known[-1]} is damaged ({error}); plan that quarter again") from None
    return kept


def compared(before: Path, after: Path, folder: Path, time_limit: float | None) -> spareopt.PlanComparison:
    """What changed between two plans and why: read back where it is there, else found out and kept where proven."""
    if folder.is_dir():
        return spareopt.read_plan_comparison(folder)
    result = spareopt.compare_plans([before, after], time_limit=time_limit)
    if result.changes[0].status in ("split", "not split"):
        folder.parent.mkdir(exist_ok=True)
        try:
            spareopt.write_plan_comparison(result, folder)
        except spareopt.InputError:
            if not folder.is_dir():  # else another process was quicker, with the same
                raise
    return result


def write_whole(file: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one, never a part."""
    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_name(f".spareopt-{uuid.uuid4().hex}")  # where a killed process leaves it, runs --clean finds it
    with scratch.open("x", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    scratch.replace(file)


if __name__ == "__main__":
    sys.exit(main())
