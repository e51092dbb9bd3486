"""Calibrate: from an incident log and a fleet to rates, repair times and what departs from the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spareopt import units
from spareopt.calibration.estimates import (
    burst_findings,
    class_rates,
    early_life,
    evenness,
    fault_rates,
    lemon_findings,
    repair_times,
    study,
)
from spareopt.calibration.exclusions import MOST_EXCLUDED
from spareopt.calibration.incidents import Observation
from spareopt.calibration.result import Calibration, ExclusionCount, SourceFile
from spareopt.errors import Fault, InputError

if TYPE_CHECKING:
    from spareopt.calibration.incidents import Source

OnProgress = Callable[[str], None]
CONFIDENCE, BURST_WINDOW, EARLY_LIFE = 0.95, "10 min", "90 d"


def calibrate(
    log: str | Path,
    fleet: str | Path,
    mapping: str | Path | Mapping[str, Any] | None = None,
    *,
    confidence: float | str = CONFIDENCE,
    burst_window: float | str = BURST_WINDOW,
    early_life_until: float | str = EARLY_LIFE,
    accept_exclusions: float | str = MOST_EXCLUDED,
    on_progress: OnProgress | None = None,
) -> Calibration:
    """Estimate rates and repair times from an incident log (CSV, Parquet, xlsx) and the fleet that had the incidents.

    ``mapping`` says what columns, times and words of the log mean; ``confidence`` is that of all intervals; trays of a
    rack that fail within ``burst_window`` (h, or text with its unit) may be a burst; units are young before the age
    ``early_life_until``; ``accept_exclusions`` is the share of rows in error above which the log is refused.

    Raises InputError for files that can't be read or trusted, and for options out of range.
    """
    from spareopt.calibration.observation import read_observation  # noqa: PLC0415 - slow to import

    settings = checked_settings(confidence, burst_window, early_life_until, accept_exclusions)
    say = on_progress or (lambda text: None)
    observation = read_observation(
        log, fleet, mapping, accept_exclusions=settings[3], progress=lambda rows: say(f"reading: {rows:,} rows")
    )
    say("estimating")
    return calibrated(observation, *settings[:3])


def checked_settings(
    confidence: float | str, burst_window: float | str, early_life_until: float | str, accept_exclusions: float | str
) -> tuple[float, float, float, float]:
    """Confidence, window (h), age (h) and share as numbers.  Raises InputError."""
    faults: list[Fault] = []

    def share(name: str, value: float | str, least: float, example: str) -> float:
        try:
            number = units.parse_share(value)
            if not least <= number < 1 or (least == 0.5 and number < 0.5):
                raise ValueError(f"expected a share from {least:g} to below 1, such as {example}")
            return number
        except ValueError as error:
            faults.append(Fault(name, f"{error}, got {value!r}"))
            return 0.5

    def time(name: str, value: float | str, most: float) -> float:
        try:
            hours = value if isinstance(value, int | float) else units.parse(value, units.TIME)
            if isinstance(hours, bool) or not 0 <= hours <= most:
                raise ValueError(f"expected a time from 0 to {units.show(most, units.TIME)}")
            return float(hours)
        except ValueError as error:
            faults.append(Fault(name, f"{error}, got {value!r}"))
            return 0.0

    settings = (
        share("confidence", confidence, 0.5, "95%"),
        time("burst_window", burst_window, 24.0),
        time("early_life_until", early_life_until, 10 * units.HOURS_PER_YEAR),
        share("accept_exclusions", accept_exclusions, 0.0, "5%"),
    )
    if faults:
        raise InputError("calibrate", faults)
    return settings


def calibrated(observation: Observation, confidence: float, window_h: float, early_h: float) -> Calibration:
    """The calibration of an observation that may be trusted."""
    studied = study(observation, confidence, window_h)
    return Calibration(
        spareopt=version("spareopt"),
        log=_source(observation.log),
        fleet=_source(observation.roster),
        confidence=confidence,
        begin_h=observation.begin_h,
        end_h=observation.end_h,
        origin=observation.origin,
        rates=tuple(fault_rates(studied)),
        classes=tuple(class_rates(studied)),
        repairs=tuple(repair_times(studied)),
        evenness=tuple(evenness(studied)),
        bursts=burst_findings(studied),
        lemons=tuple(lemon_findings(studied)),
        early_life=tuple(early_life(studied, early_h)),
        exclusions=tuple(ExclusionCount(**item._asdict()) for item in observation.exclusions),
        overlapping=observation.overlapping,
        notes=observation.notes,
    )


def _source(source: Source) -> SourceFile:
    return SourceFile(name=Path(source.name).name, sha256=source.sha256, rows=source.rows)
