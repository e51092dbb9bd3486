"""Sites whose faults are known, and logs of them: what is estimated from a log is held against what made it.

A case states its figures once, as plain numbers, and its instance is made from them.  Crews are ample and nothing
waits: a repair time is the draw of its law.  All units age always, so that they are exposed while they are up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import spareopt
from spareopt.calibration.incidents import Absences, Fleet, Incidents, Names, Observation, Source
from spareopt.decisions import Decisions
from spareopt.simulation.incidents import IncidentLog
from tests.simulated_cases import only_decisions

ZONES, RACKS, TRAYS = 2, 24, 8
UNITS = {"tray": ZONES * RACKS * TRAYS, "rack": ZONES * RACKS, "cooling": ZONES * RACKS // 4, "feed": ZONES}
"""How many units of each kind a site has; software is one."""

Phases = tuple[tuple[float, float], ...]


class Bursts(NamedTuple):
    """Events that fail trays of one random rack at once."""

    per_h: float
    """Of the whole site."""
    share: float
    """Probability with which each tray of the rack that is up fails."""


class Lemons(NamedTuple):
    """Trays that fail more often."""

    share: float
    multiple: float


class BurnIn(NamedTuple):
    """Faster ageing of new trays, until their first fault at most."""

    duration_h: float
    multiple: float


class Truth(NamedTuple):
    """What is true of a site."""

    mtbf_h: dict[str, float]
    """Of one unit of each kind, after the burn-in; bursts come on top.  With lemons its rate is the mean over units."""
    phases: dict[str, Phases]
    """(share, mean h) of the exponential ways of repair of each kind, by mean; of software there is none."""
    bursts: Bursts | None = None
    lemons: Lemons | None = None
    burn_in: BurnIn | None = None
    variance: float | None = None
    """Of the multiplier of all rates, which each log has its own of."""
    years: float = 1.0
    warm_up: str | None = None

    def repair_h(self, kind: str) -> float:
        """The mean repair time of a kind, h."""
        return sum(share * mean for share, mean in self.phases[kind])

    def pooled_mtbf_h(self, kind: str) -> float:
        """What hours exposed over faults of a kind tend to in a long log, h.

        Longer than the mean over units where there are lemons: they are down more, and so exposed less.
        """
        if self.lemons is None or kind != "tray":
            return self.mtbf_h[kind]
        share, multiple = self.lemons
        other = 1.0 / self.mtbf_h[kind] / (1.0 - share + share * multiple)
        up = [1.0 / (1.0 + rate * self.repair_h(kind)) for rate in (other, multiple * other)]
        hours = (1.0 - share) * up[0] + share * up[1]
        return hours / ((1.0 - share) * up[0] * other + share * up[1] * multiple * other)


MTBF = {"tray": 4000.0, "rack": 6000.0, "software": 60.0}
REPAIR: dict[str, Phases] = {"tray": ((1.0, 24.0),), "rack": ((1.0, 12.0),)}
THREE: Phases = ((0.4, 1.5), (0.5, 40.0), (0.1, 600.0))

CASES: dict[str, Truth] = {
    "plain": Truth(MTBF, REPAIR),
    "quarter": Truth(MTBF, REPAIR, years=0.25),
    "few-faults": Truth({"tray": 60_000.0, "rack": 80_000.0, "software": 800.0}, REPAIR, years=0.25),
    "domains": Truth(
        MTBF | {"cooling": 1500.0, "feed": 900.0}, REPAIR | {"cooling": ((1.0, 8.0),), "feed": ((1.0, 3.0),)}
    ),
    "two-phases": Truth(MTBF, REPAIR | {"tray": ((0.6, 2.0), (0.4, 60.0))}),
    "three-phases": Truth(MTBF | {"tray": 2000.0}, REPAIR | {"tray": THREE}),
    "lemons": Truth(MTBF | {"tray": 1500.0}, REPAIR, lemons=Lemons(0.06, 8.0)),
    "bursts": Truth(MTBF, REPAIR, bursts=Bursts(0.1 / 24, 0.6)),
    "burn-in": Truth(MTBF, REPAIR, burn_in=BurnIn(2160.0, 4.0), warm_up="0 h"),
    "uncertain": Truth(MTBF, REPAIR, variance=0.2),
    "all-at-once": Truth(
        MTBF | {"tray": 1500.0}, REPAIR | {"tray": THREE}, bursts=Bursts(0.1 / 24, 0.6), lemons=Lemons(0.06, 8.0)
    ),
}
"""Sites by name."""


def instance_of(truth: Truth) -> tuple[spareopt.Instance, Decisions]:
    """The instance of a site, and its only plan."""
    tray: dict[str, Any] = {"mtbf": _h(truth.mtbf_h["tray"])}
    if truth.lemons is not None:
        tray["lemons"] = truth.lemons._asdict()
    if truth.burn_in is not None:
        tray["burn_in"] = {"duration": _h(truth.burn_in.duration_h), "multiple": truth.burn_in.multiple}
    failures: dict[str, Any] = {
        "tray": tray,
        "rack": {"mtbf": _h(truth.mtbf_h["rack"])},
        "software": {"mtbf": _h(truth.mtbf_h["software"])},
        "domains": [
            {"name": name, "spans": spans, "mtbf": _h(truth.mtbf_h[name]), "repair": _repair(truth.phases[name])}
            for name, spans in (("cooling", "4 racks"), ("feed", "zone"))
            if name in truth.mtbf_h
        ],
    }
    if truth.bursts is not None:
        rate = f"{truth.bursts.per_h * 24!r} per day"
        failures["bursts"] = [{"name": "burst", "rate": rate, "racks": 1, "share": truth.bursts.share}]
    if truth.variance is not None:
        failures["uncertainty"] = {"variance": truth.variance}
    instance = spareopt.read_instance(
        {
            "schema_version": 1,
            "name": "truth",
            "zones": [{"name": "hall", "count": ZONES, "racks": RACKS}],
            "designs": [
                {
                    "name": "rack-of-8", "trays_per_block": TRAYS, "gpus_per_tray": 8, "intra_block_spares": 1,
                    "inter_block_spares": 3,
                }
            ],
            "failures": failures,
            "repair_plans": [
                {"name": "repair", "tray": _repair(truth.phases["tray"]), "rack": _repair(truth.phases["rack"])}
            ],
            "checkpoint_plans": [
                {"name": "save", "period": "best", "save": "30 s", "detection": "1 min", "restart": "6 min"}
            ],
        }
    )  # fmt: skip
    return instance, only_decisions(instance)


def _h(hours: float) -> str:
    return f"{hours!r} h"


def _repair(phases: Phases) -> dict[str, Any]:
    if len(phases) == 1:
        return {"hands_on": _h(phases[0][1])}
    return {"phases": [{"share": share, "hands_on": _h(mean)} for share, mean in phases]}


@cache
def _made(case: str) -> tuple[spareopt.Instance, Decisions]:
    return instance_of(CASES[case])


def logs(case: str, number: int, *, seed: int = 0) -> Iterator[IncidentLog]:
    """So many logs of a case, each with its own faults."""
    instance, decisions = _made(case)
    truth = CASES[case]
    yield from spareopt.incident_logs(
        instance, decisions, replications=range(number), years=truth.years, seed=seed, warm_up=truth.warm_up
    )


def observations(case: str, number: int, *, seed: int = 0) -> Iterator[Observation]:
    """What so many logs of a case and their fleets say once they are read, without the detour over files."""
    for log in logs(case, number, seed=seed):
        yield observed(log)


def observed(log: IncidentLog) -> Observation:
    """What a log and its fleet say, as their reader would put it; nothing in them is at fault."""
    rows, fleet = log.incidents, log.fleet
    names = Names(
        units=tuple(sorted(fleet["unit"])),
        kinds=tuple(sorted(set(fleet["kind"]))),
        faults=(),
        racks=tuple(sorted(set(fleet["rack"]) - {""})),
        zones=tuple(sorted(set(fleet["zone"]) - {""})),
        dispositions=(),
    )
    codes = {
        "unit": pd.Index(names.units), "kind": pd.Index(names.kinds), "rack": pd.Index(names.racks),
        "zone": pd.Index(names.zones),
    }  # fmt: skip

    def coded(table: pd.DataFrame) -> dict[str, NDArray[np.int64]]:
        return {name: known.get_indexer(table[name]).astype(np.int64) for name, known in codes.items()}

    earlier = rows["start_h"] < log.from_h
    absent, counted = rows[earlier].sort_values(["kind", "unit"]), rows[~earlier]
    end = counted["end_h"].to_numpy()
    unknown = np.full(len(counted), -1, dtype=np.int64)
    where = coded(absent)
    order = np.lexsort((coded(fleet)["unit"], coded(fleet)["kind"]))
    in_service = fleet.iloc[order]
    return Observation(
        incidents=Incidents(
            **coded(counted),
            fault=unknown,
            disposition=unknown,
            start_h=counted["start_h"].to_numpy(),
            end_h=end,
            until_h=np.where(np.isnan(end), log.to_h, end),
            line=counted.index.to_numpy() + 2,
        ),
        absences=Absences(
            unit=where["unit"],
            kind=where["kind"],
            start_h=np.full(len(absent), log.from_h),
            end_h=absent["end_h"].fillna(log.to_h).to_numpy(),
        ),
        fleet=Fleet(
            **coded(in_service),
            units=np.ones(len(fleet), dtype=np.int64),
            from_h=in_service["from_h"].to_numpy(),
            to_h=in_service["to_h"].to_numpy(),
            age_h=(in_service["from_h"] - in_service["in_service_since_h"]).to_numpy(),
        ),
        names=names,
        begin_h=log.from_h,
        end_h=log.to_h,
        origin=None,
        exclusions=(),
        overlapping=0,
        notes=(),
        log=Source("log.csv", "", len(rows)),
        roster=Source("log-fleet.csv", "", len(fleet)),
    )
