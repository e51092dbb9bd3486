"""Files to start a calibration from: a log, its fleet and a mapping, with the kinds and numbers of an instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spareopt.calibration.estimates import RACK, TRAY
from spareopt.calibration.incidents import SOFTWARE

if TYPE_CHECKING:
    from spareopt.instance import Instance

BEGIN, END = "2027-01-01T00:00:00Z", "2027-04-01T00:00:00Z"


def log_template(instance: Instance) -> str:
    """A few incidents, one of each kind that an instance has; an empty end is one that is still open."""
    rows = [
        "unit,fault_class,rack,zone,start,end,disposition",
        "tray-0001,GPU,rack-001,zone-1,2027-01-09T04:30:00Z,2027-01-10T10:00:00Z,replaced",
        "tray-0002,GPU,rack-001,zone-1,2027-02-02T12:00:00Z,2027-02-02T12:45:00Z,no fault found",
        "tray-0107,NIC,rack-006,zone-1,2027-03-30T21:10:00Z,,",
    ]
    if _has_racks(instance):
        rows.append("rack-001,switch tray,rack-001,zone-1,2027-02-21T08:00:00Z,2027-02-21T13:30:00Z,replaced")
    for domain in instance.failures.domains:
        rows.append(f"{domain.name}-01,{domain.name},,zone-1,2027-03-01T00:00:00Z,2027-03-01T06:00:00Z,repaired")
    rows.append("job,software crash,,,2027-03-05T17:20:00Z,2027-03-05T17:20:00Z,restarted")
    return "\n".join(rows) + "\n"


def fleet_template(instance: Instance) -> str:
    """Units of each kind by their numbers, those of an instance at its largest."""
    numbers = {TRAY: 0, RACK: 0}
    for zone in instance.zones:
        designs = [design for design in instance.designs if zone.designs is None or design.name in zone.designs]
        racks = zone.count * max(zone.racks)
        numbers[RACK] += racks
        numbers[TRAY] += racks * max(design.blocks_per_rack * design.trays_per_block for design in designs)
    if not _has_racks(instance):
        del numbers[RACK]
    zones, racks = sum(zone.count for zone in instance.zones), numbers.get(RACK, numbers[TRAY])
    for domain in instance.failures.domains:
        feeds = 1 if domain.feeds is None else domain.feeds.number
        units = {"zone": zones, "site": domain.units}.get(str(domain.spans))
        units = max(1, racks // int(domain.spans)) if units is None else units
        numbers[domain.name] = units * feeds
    rows = [f"{kind},{units},{BEGIN},{END}" for kind, units in (numbers | {SOFTWARE: 1}).items()]
    return "\n".join(["kind,units,from,to", *rows]) + "\n"


def mapping_template(instance: Instance) -> str:
    """A mapping with comments, for a log such as the template's."""
    kinds = {"GPU": TRAY, "NIC": TRAY}
    if _has_racks(instance):
        kinds["switch tray"] = RACK
    kinds |= {domain.name: domain.name for domain in instance.failures.domains}
    kinds |= {"software crash": SOFTWARE, "stress test": "exclude"}
    lines = "\n".join(f"  {word}: {kind}" for word, kind in kinds.items())
    return f"""# What the columns, times and words of an incident log mean.  Take out what your log does not need.
columns:                  # what a column holds: its name in the log
  unit: unit              # such as host; the columns below need no entry where they have these names
  fault_class: fault_class
  start: start
  end: end
  rack: rack              # racks let bursts be told apart
  zone: zone
  disposition: disposition
times: timestamps         # or hours, days, epoch seconds, epoch milliseconds
# timezone: Europe/Berlin # of timestamps that state none
kinds:                    # what a fault class is a fault of: tray, rack, software, a fault domain, or exclude
{lines}
# default_kind: tray      # of all classes that are not named
dispositions:
  exclude: [no fault found, duplicate]
overlaps: merge           # overlapping incidents of one unit are one; keep counts each
"""


def _has_racks(instance: Instance) -> bool:
    return instance.failures.rack is not None
