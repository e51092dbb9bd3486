"""How long `select` takes for the 33 problems of Fyffe, Hines and Lee, beside an exact dynamic program: one run.

python benchmarks/selections.py      (from the checkout, with the extra test: the problems are those of its tests)
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Print the seconds of both ways, with and without mixing of component types, and how far apart they are."""
    sys.path.insert(0, str(ROOT))
    from tests.oracle_values import RECORDS  # noqa: PLC0415
    from tests.redundancy_allocation import by_dynamic_programming, fyffe  # noqa: PLC0415

    record = RECORDS["rap.fhl"]
    for mixing in (True, False):
        began = time.perf_counter()
        chosen = fyffe(record, mixing)
        selected = time.perf_counter()
        exact = by_dynamic_programming(record, mixing)
        ended = time.perf_counter()
        values = np.array([result.certificate.value for result in chosen.values()])
        print(
            f"{len(chosen)} problems, {'mixed' if mixing else 'one type each'}: select {selected - began:.2f} s, "
            f"dynamic program {ended - selected:.2f} s, largest difference {np.abs(values - exact).max():.1e}"
        )


if __name__ == "__main__":
    main()
