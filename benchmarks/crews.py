"""How long scores with crews take, beside the ample-crew score of the same zone: medians of one run.

python benchmarks/crews.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from spareopt.numerics.availability import block_unavailability, unavailability, zone_shortfall
from spareopt.numerics.crews import Pool, crew_law
from spareopt.numerics.exchangeable import ZoneShape, site_shortfall_given_law, zone_shortfall_given_law

RATE, WORK = 1e-4, 24.0  # faults per hour, h
SPARES = np.arange(33)


def median(call: Callable[[], object], repeats: int = 9) -> float:
    """Median seconds of a call."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def rack_of_18() -> None:
    """18 trays with 2 crews, law and score."""
    zone_shortfall_given_law(1, 1, 18, 2, crew_law((Pool(18, RATE, WORK),), 2).failed, 0)


def zone_of_256() -> None:
    """256 blocks of 18 trays with 13 crews, all R up to 32."""
    zone_shortfall_given_law(256, 1, 18, 1, crew_law((Pool(4608, RATE, WORK),), 13).failed, SPARES)


def zone_with_racks() -> None:
    """The same with racks that share 14 crews."""
    law = crew_law((Pool(4608, RATE, WORK), Pool(256, RATE / 5, WORK)), 14)
    zone_shortfall_given_law(256, 1, 18, 1, law.failed, SPARES)


def four_zones() -> None:
    """4 zones of 256 blocks of 18 trays that share 50 crews, one R."""
    law = crew_law((Pool(4 * 4608, RATE, WORK),), 50)
    site_shortfall_given_law([ZoneShape(256, 18, 1, 4, count=4)], law.failed)


def four_zones_with_racks() -> None:
    """The same with racks that share 56 crews."""
    law = crew_law((Pool(4 * 4608, RATE, WORK), Pool(4 * 256, RATE / 5, WORK)), 56)
    site_shortfall_given_law([ZoneShape(256, 18, 1, 4, count=4)], law.failed)


def four_different_zones_with_racks() -> None:
    """The same with another R for each zone."""
    law = crew_law((Pool(4 * 4608, RATE, WORK), Pool(4 * 256, RATE / 5, WORK)), 56)
    site_shortfall_given_law([ZoneShape(256, 18, 1, spares) for spares in (3, 4, 5, 6)], law.failed)


def eight_zones_with_racks() -> None:
    """100,224 GPUs: 8 zones of 174 blocks of 18 trays, and racks, 15 crews, parts off-crew."""
    site(15)


def eight_zones_with_overloaded_crews() -> None:
    """The same with 9 crews, who cannot keep up."""
    site(9)


def site(crews: int) -> None:
    law = crew_law((Pool(8 * 3132, RATE, 4.0, 133.0), Pool(8 * 174, RATE / 5, 4.0, 48.0)), crews)
    site_shortfall_given_law([ZoneShape(174, 18, 1, 8, count=8)], law.failed)


def a_hundred_thousand() -> None:
    """100,000 trays and 12,500 racks that share 45 crews, the law alone."""
    crew_law((Pool(100_000, RATE, 4.0, 133.0), Pool(12_500, 2e-5, 4.0, 48.0)), 45)


def main() -> None:
    """Print a row per case: milliseconds, and how many ample-crew scores of a zone that is."""
    down = unavailability(RATE, WORK)
    ample = median(lambda: zone_shortfall(256, SPARES, block_unavailability(18, 1, down)), 99)
    print(f"{'case':70} {'ms':>8} {'ample = 1':>10}")
    for case in (
        rack_of_18,
        zone_of_256,
        zone_with_racks,
        four_zones,
        four_zones_with_racks,
        four_different_zones_with_racks,
        eight_zones_with_racks,
        eight_zones_with_overloaded_crews,
        a_hundred_thousand,
    ):
        seconds = median(case)
        print(f"{case.__doc__:70} {seconds * 1e3:8.2f} {seconds / ample:10,.0f}")


if __name__ == "__main__":
    main()
