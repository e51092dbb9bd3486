"""Names of the units of a site, as its labels would say: zone-1/rack-012/tray-03; the same in every plan."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.errors import Fault, InputError
from spareopt.instance import Instance
from spareopt.simulation.build import FEED_BITS, KIND_BITS, TRAY_BITS
from spareopt.simulation.classes import FIRST_DOMAIN, RACK, TRAY
from spareopt.simulation.system import System

Texts = NDArray[np.object_]

SOFTWARE = "software"
"""The one unit (and kind) of faults of software."""


class UnitNames(NamedTuple):
    """What units are called and where they are, an entry each, in the order of the system; '' where there is none."""

    unit: Texts
    kind: Texts
    """tray, rack or the name of a fault domain."""
    rack: Texts
    """Of trays, racks and domains of one rack."""
    zone: Texts
    """Of all but domains of the site."""


def unit_names(instance: Instance, system: System) -> UnitNames:
    """The names of a system's units; zones of a class are numbered from 1, and so are racks, blocks and so on.

    Racks are ``zone/rack-012``; trays ``zone/rack-012/tray-03``, or ``zone/rack-012/block-2/tray-03`` where a rack
    holds several blocks; domains ``zone/name``, ``zone/name-003`` where they span racks, ``name`` or ``name-2`` on the
    site; each with ``/feed-1`` where it has several.  Raises InputError where the names of zones or domains are such
    that two units would be called the same.
    """
    zones = [
        zone.name if zone.count == 1 else f"{zone.name}-{i}"
        for zone in instance.zones
        for i in range(1, zone.count + 1)
    ]
    first, second = system.unit_code.astype(np.int64).T
    kinds, zone_numbers = first >> KIND_BITS, first & ((1 << KIND_BITS) - 1)
    per_rack = np.ones(len(zones), dtype=np.int64)
    one_of_each = system.block_tray[system.zone_block[:-1]]  # the first tray of each zone
    per_rack[zone_numbers[one_of_each]] = system.rack_blocks
    tables = [
        _trays(zones, per_rack, zone_numbers[kinds == TRAY], second[kinds == TRAY]),
        *(
            _domains(instance, zones, int(kind), zone_numbers[kinds == kind], second[kinds == kind])
            for kind in dict.fromkeys(kinds[kinds != TRAY].tolist())
        ),
    ]
    columns = [np.array([row[i] for table in tables for row in table], dtype=object) for i in range(4)]
    names = UnitNames(*columns)
    _check_unique(instance, names.unit)
    return names


Row = tuple[str, str, str, str]


def _trays(
    zones: list[str], per_rack: NDArray[np.int64], zone: NDArray[np.int64], code: NDArray[np.int64]
) -> list[Row]:
    """The trays, which come first in a system."""
    rows = []
    block, tray = code >> TRAY_BITS, code & ((1 << TRAY_BITS) - 1)
    several = per_rack[zone]
    for z, r, b, t, n in zip(
        zone.tolist(), (block // several).tolist(), (block % several).tolist(), tray.tolist(), several.tolist(),
        strict=True,
    ):  # fmt: skip
        rack = f"{zones[z]}/rack-{r + 1:03}"
        inner = "" if n == 1 else f"/block-{b + 1}"
        rows.append((f"{rack}{inner}/tray-{t + 1:02}", "tray", rack, zones[z]))
    return rows


def _domains(
    instance: Instance, zones: list[str], kind: int, zone: NDArray[np.int64], code: NDArray[np.int64]
) -> list[Row]:
    """Racks, or the units of one fault domain; kinds follow each other in a system."""
    if kind == RACK:
        racks = [
            f"{zones[z]}/rack-{r + 1:03}" for z, r in zip(zone.tolist(), (code >> FEED_BITS).tolist(), strict=True)
        ]
        return [(rack, "rack", rack, zones[z]) for rack, z in zip(racks, zone.tolist(), strict=True)]
    domain = instance.failures.domains[kind - FIRST_DOMAIN]
    rows = []
    for z, number, feed in zip(
        zone.tolist(), (code >> FEED_BITS).tolist(), (code & ((1 << FEED_BITS) - 1)).tolist(), strict=True
    ):
        where, rack = ("", "") if domain.spans == "site" else (zones[z], "")
        name = domain.name if domain.spans == "site" else f"{where}/{domain.name}"
        if isinstance(domain.spans, int):
            name = f"{name}-{number + 1:03}"
            rack = f"{where}/rack-{number + 1:03}" if domain.spans == 1 else ""
        elif domain.units > 1:
            name = f"{name}-{number + 1}"
        if domain.feeds is not None and domain.feeds.number > 1:
            name = f"{name}/feed-{feed + 1}"
        rows.append((name, domain.name, rack, where))
    return rows


def _check_unique(instance: Instance, names: Texts) -> None:
    seen: set[str] = set()
    for name in names.tolist():
        if name in seen or name == SOFTWARE:
            message = f"two units would be called {name!r}; expected names of zones and domains that tell them apart"
            raise InputError(instance.name, [Fault("zones", f"{message}: rename a zone or domain")])
        seen.add(name)
