"""A log's rows on the observation's clock, on their way to incidents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.clock import Moments
from spareopt.calibration.codes import Coder
from spareopt.calibration.fleet_clock import Clock
from spareopt.calibration.log_mapping import LogMapping
from spareopt.calibration.log_rows import RawRows

Reasons = NDArray[np.int8]
"""Of every row, ``spareopt.calibration.exclusions.Reason``."""


class ClockedLog(NamedTuple):
    """A log, its mapping and its clock."""

    label: str
    mapping: LogMapping
    rows: RawRows
    start: Moments
    end: Moments
    clock: Clock
    coders: dict[str, Coder]
