"""From an observation to estimates, subject by subject: rates, repairs, evenness, bursts, lemons, early life."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.calibration.at_risk import AtRisk, at_risk, fleet_rows, per_unit, while_young
from spareopt.calibration.bursts import Bursts, find_bursts, together, without
from spareopt.calibration.incidents import SOFTWARE, Fleet, Incidents, Observation
from spareopt.calibration.result import (
    LONG_H,
    SHOWN,
    BurstFindings,
    BurstSize,
    ClassRate,
    CountSpread,
    EarlyLife,
    Estimate,
    Evenness,
    FaultRate,
    LemonFindings,
    RepairPhaseFit,
    RepairTimes,
    WorstUnit,
)
from spareopt.calibration.service import exposed_hours
from spareopt.numerics.fault_times import laplace_trend, weibull_gaps
from spareopt.numerics.poisson_rates import (
    Bounds,
    count_interval,
    equal_rates_p_value,
    rate_ratio,
    ratio_dispersion,
    spread,
)
from spareopt.numerics.repair_phases import best_phases, durations, fit_phases, mean_repair, survival
from spareopt.numerics.two_classes import MOST_MULTIPLE, beyond_chance, two_classes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TRAY, RACK = "tray", "rack"
WEEK_H, MONTH_H = 168.0, 720.0
FEWEST_WEEKS = 8
LEMON_LEVEL = 0.05
WORST_TOLD = 20
CURVE_POINTS = 200
MOST_COUNT_TOLD = 1000  # a histogram is told up to here
UNKNOWN = Estimate(value=None, low=None, high=None)


class Studied(NamedTuple):
    """An observation with what the subjects share: bursts told apart, and the exposure of each kind."""

    observation: Observation
    single: Incidents
    """Without the faults that are part of a burst."""
    bursts: Bursts | None
    window_h: float
    risk: dict[str, AtRisk]
    """By kind, in the order of a report: tray, rack, domains, software."""
    confidence: float

    def of(self, kind: str) -> Incidents:
        """The incidents of one kind that count by themselves."""
        code = self.risk[kind].kind
        here = self.single.kind == code
        return self.single if here.all() else Incidents._make(column[here] for column in self.single)

    @property
    def has_bursts(self) -> bool:
        """Whether events of racks come from bursts."""
        return self.bursts is not None and len(self.bursts.rack) > 0

    @property
    def hours(self) -> float:
        """Length of the observation."""
        return self.observation.end_h - self.observation.begin_h


def study(observation: Observation, confidence: float, window_h: float) -> Studied:
    """Tell bursts apart and find the exposure of each kind."""
    names = observation.names.kinds
    codes = {name: code for code, name in enumerate(names)}
    present = set(np.unique(np.concatenate([observation.incidents.kind, observation.fleet.kind])).tolist())
    bursts = None
    if TRAY in codes and codes[TRAY] in present and (observation.incidents.rack >= 0).any():
        bursts = find_bursts(observation, codes[TRAY], codes.get(RACK), window_h)
    single = observation.incidents if bursts is None else without(observation.incidents, bursts.member)
    order = sorted((name for name in names if codes[name] in present), key=lambda name: (_place(name), name))
    risk = {name: at_risk(observation, codes[name]) for name in order}
    return Studied(observation, single, bursts, window_h, risk, confidence)


def _place(kind: str) -> int:
    return {TRAY: 0, RACK: 1, SOFTWARE: 3}.get(kind, 2)


def estimate(bounds: Bounds | tuple[float, float, float]) -> Estimate:
    """An estimate from bounds; what is not finite is None."""
    value, low, high = (float(end) if math.isfinite(end) else None for end in bounds)
    return Estimate(value=value, low=low, high=high)


def rate_of_count(count: int, exposure: float, confidence: float, dispersion: float = 1.0) -> Estimate:
    """A rate from a count over an exposure."""
    if exposure <= 0:
        return UNKNOWN
    low, high = count_interval(count, confidence, dispersion)
    return estimate((count / exposure, low / exposure, high / exposure))


def mtbf_of_count(count: int, exposure: float, confidence: float, dispersion: float = 1.0) -> Estimate:
    """An MTBF from a count over an exposure; without a fault only its low end, a one-sided bound."""
    if exposure <= 0:
        return UNKNOWN
    low, high = count_interval(count, confidence, dispersion)
    if count == 0:
        return Estimate(value=None, low=exposure / high, high=None)
    return estimate((exposure / count, exposure / high, exposure / low if low > 0 else math.inf))


# rates


def fault_rates(studied: Studied) -> list[FaultRate]:
    """The rate of each kind; bursts count as faults of racks, whose number is known from the trays where need be."""
    result = []
    for kind, risk in studied.risk.items():
        incidents = studied.of(kind)
        extra = len(studied.bursts.rack) if kind == RACK and studied.bursts is not None else 0
        starts = incidents.start_h
        if extra and studied.bursts is not None:
            starts = np.concatenate([starts, studied.bursts.start_h])
        result.append(_rate(studied, kind, risk, starts, incidents.unit, extra))
    if studied.has_bursts and RACK not in studied.risk:
        assert studied.bursts is not None
        result.insert(1, _rate_of_racks(studied, studied.bursts))
    return result


def _rate(studied: Studied, kind: str, risk: AtRisk, starts: Floats, unit: Integers, extra: int) -> FaultRate:
    confidence, count = studied.confidence, len(starts)
    by: list[Literal["units", "weeks"]] = []
    excess = 0.0
    if risk.units is not None and kind != SOFTWARE and extra == 0:
        counts = per_unit(risk.units, unit)
        exposed = risk.units.up_h > 0
        counts, served = counts[exposed], risk.units.in_service_h[exposed]
        # over the time in service: a unit that fails early and stays down is not up for long because it failed
        if len(counts) and spread(counts, served, confidence).p_value < SHOWN:
            excess += max(ratio_dispersion(counts, risk.units.up_h[exposed]) - 1.0, 0.0)
            by.append("units")
    weeks = _weeks(studied, risk, starts)
    if weeks is not None and spread(*weeks, confidence).p_value < SHOWN:
        excess += max(ratio_dispersion(*weeks) - 1.0, 0.0)
        by.append("weeks")
    dispersion = 1.0 + excess
    return FaultRate(
        kind=kind,
        faults=count,
        units=risk.in_service_h / studied.hours,
        in_service_h=risk.in_service_h,
        up_h=risk.up_h,
        mtbf_h=mtbf_of_count(count, risk.up_h, confidence),
        dispersion=dispersion,
        dispersed_by=tuple(by),
        mtbf_dispersed_h=mtbf_of_count(count, risk.up_h, confidence, dispersion),
        per_1000_unit_days=rate_of_count(count, risk.in_service_h / 24_000.0, confidence, dispersion),
    )


def _rate_of_racks(studied: Studied, bursts: Bursts) -> FaultRate:
    """The rate of racks that only bursts tell of: as many as the trays name, in service as long as any of theirs."""
    rows = fleet_rows(studied.observation, studied.risk[TRAY].kind)
    known = rows.rack >= 0
    codes = rows.rack[known] if known.any() else np.unique(studied.observation.incidents.rack)
    begin = rows.from_h[known] if known.any() else np.full(len(codes), studied.observation.begin_h)
    end = rows.to_h[known] if known.any() else np.full(len(codes), studied.observation.end_h)
    racks, place = np.unique(codes, return_inverse=True)
    first, last = np.full(len(racks), np.inf), np.full(len(racks), -np.inf)
    np.minimum.at(first, place, begin)
    np.maximum.at(last, place, end)
    in_service = float((last - first)[racks >= 0].sum())
    down = float((np.minimum(bursts.until_h, studied.observation.end_h) - bursts.start_h).sum())
    count, confidence = len(bursts.rack), studied.confidence
    up = max(in_service - down, 0.0)
    return FaultRate(
        kind=RACK,
        faults=count,
        units=in_service / studied.hours,
        in_service_h=in_service,
        up_h=up,
        mtbf_h=mtbf_of_count(count, up, confidence),
        dispersion=1.0,
        dispersed_by=(),
        mtbf_dispersed_h=mtbf_of_count(count, up, confidence),
        per_1000_unit_days=rate_of_count(count, in_service / 24_000.0, confidence),
    )


def class_rates(studied: Studied) -> list[ClassRate]:
    """The rate and the repair times of each fault class of the log."""
    names = studied.observation.names.faults
    result = []
    for kind, risk in studied.risk.items():
        incidents = studied.of(kind)
        for code in np.unique(incidents.fault[incidents.fault >= 0]).tolist():
            here = incidents.fault == code
            ended = (incidents.end_h - incidents.start_h)[here]
            ended = ended[~np.isnan(ended)]
            result.append(
                ClassRate(
                    kind=kind,
                    fault_class=names[code],
                    faults=int(here.sum()),
                    per_1000_unit_days=rate_of_count(int(here.sum()), risk.in_service_h / 24_000.0, studied.confidence),
                    mean_repair_h=float(ended.mean()) if len(ended) and kind != SOFTWARE else None,
                    median_repair_h=float(np.median(ended)) if len(ended) and kind != SOFTWARE else None,
                )
            )
    return sorted(result, key=lambda item: (-item.faults, item.kind, item.fault_class))


# repairs


def repair_times(studied: Studied) -> list[RepairTimes]:
    """The repair times of each kind of units that are down at all; those of racks hold the bursts."""
    result = []
    kinds = [kind for kind in studied.risk if kind != SOFTWARE]
    if studied.has_bursts and RACK not in kinds:
        kinds.insert(1, RACK)
    for kind in kinds:
        start, end, until = np.zeros(0), np.zeros(0), np.zeros(0)
        if kind in studied.risk:
            incidents = studied.of(kind)
            start, end, until = incidents.start_h, incidents.end_h, incidents.until_h
        if kind == RACK and studied.bursts is not None:
            start = np.concatenate([start, studied.bursts.start_h])
            end = np.concatenate([end, studied.bursts.end_h])
            until = np.concatenate([until, studied.bursts.until_h])
        if len(start):
            still_open = np.isnan(end)
            result.append(repairs_of(kind, (end - start)[~still_open], (until - start)[still_open], studied.confidence))
    return result


def repairs_of(kind: str, ended: Floats, still_open: Floats, confidence: float) -> RepairTimes:
    """The repair times of one kind, from the lengths of ended repairs (n,) and those so far of open ones (m,)."""
    every = np.concatenate([ended, still_open])
    downtime = float(every.sum())
    long = every > LONG_H
    longest = float(every.max())
    if len(ended):
        curve = survival(ended, still_open)
        steps = np.unique(np.linspace(0, len(curve.times) - 1, min(CURVE_POINTS, len(curve.times))).astype(int))
        median, restricted = curve.quantile(0.5), curve.restricted_mean(longest)
        times, shares = curve.times[steps].tolist(), curve.shares[steps].tolist()
    else:
        median, restricted, times, shares = math.inf, longest, [], []
    mean: Estimate | None = None
    phases: tuple[RepairPhaseFit, ...] = ()
    likelihoods: list[float] = []
    bics: list[float] = []
    if (ended > 0).any():
        data = durations(ended, still_open)
        fits = fit_phases(data, confidence)
        best = best_phases(fits)
        mean = estimate(mean_repair(data, best, confidence))
        likelihoods, bics = [fit.log_likelihood for fit in fits], [fit.bic for fit in fits]
        phases = tuple(
            RepairPhaseFit(
                share=estimate((best.share[k], best.share_low[k], best.share_high[k])),
                mean_h=estimate((best.mean[k], best.mean_low[k], best.mean_high[k])),
            )
            for k in range(len(best.share))
        )
    return RepairTimes(
        kind=kind,
        ended=len(ended),
        open=len(still_open),
        mean_h=mean,
        median_h=median if math.isfinite(median) else None,
        restricted_mean_h=restricted,
        longest_h=longest,
        share_over_10_days=float(long.mean()),
        downtime_over_10_days=float(every[long].sum() / downtime) if downtime > 0 else 0.0,
        phases=phases,
        log_likelihood=tuple(likelihoods),
        bic=tuple(bics),
        curve_h=tuple(times),
        curve=tuple(shares),
    )


# evenness


def evenness(studied: Studied) -> list[Evenness]:
    """How faults are spread over units and time: of each kind, and of all of them where there are several."""
    result = []
    for kind, risk in studied.risk.items():
        incidents = studied.of(kind)
        if len(incidents.unit) == 0:
            continue
        units = None
        if risk.units is not None and kind != SOFTWARE and len(risk.units.unit) > 1:
            served = risk.units.in_service_h > 0
            counts = per_unit(risk.units, incidents.unit)[served]
            units = _spread("units", counts, risk.units.in_service_h[served], studied.confidence)
        result.append(_even(studied, kind, risk, incidents.start_h, units))
    if len(result) > 1:
        starts = studied.single.start_h
        if studied.bursts is not None:
            starts = np.sort(np.concatenate([starts, studied.bursts.start_h]))
        risk = next(iter(studied.risk.values()))
        result.append(_even(studied, "all", risk, starts, None))
    return result


def _even(studied: Studied, kind: str, risk: AtRisk, starts: Floats, units: CountSpread | None) -> Evenness:
    confidence, clock = studied.confidence, risk.clock
    found = _weeks(studied, risk, starts)
    gaps = weibull_gaps(starts, confidence)
    total = float(clock.passed_h[-1])
    shares = clock.at(starts) / total
    trend = laplace_trend(shares)
    first = int((shares < 0.5).sum())
    halves = rate_ratio(len(starts) - first, total / 2.0, first, total / 2.0, confidence)
    edges, faults, exposure = _bins(studied, risk, starts, MONTH_H, whole=False)
    return Evenness(
        kind=kind,
        units=units,
        weeks=None if found is None else _spread("weeks", *found, confidence),
        gap_shape=estimate(gaps.shape),
        positive_gaps=gaps.positive,
        ties=gaps.ties,
        laplace=trend.statistic if math.isfinite(trend.statistic) else None,
        trend_p_value=trend.p_value if math.isfinite(trend.p_value) else None,
        halves_ratio=estimate(halves),
        month_h=tuple(edges.tolist()),
        month_rate=tuple((faults / exposure * 24_000.0).tolist()),
    )


def _spread(of: Literal["units", "weeks"], counts: Floats, exposure: Floats, confidence: float) -> CountSpread:
    found = spread(counts, exposure, confidence)
    histogram = np.bincount(np.minimum(counts, MOST_COUNT_TOLD).astype(np.int64))
    return CountSpread(
        of=of,
        number=found.number,
        mean=found.mean,
        most=int(counts.max()),
        variance_over_mean=estimate(found.variance_over_mean),
        p_value=found.p_value if math.isfinite(found.p_value) else None,
        histogram=tuple(histogram.tolist()),
    )


def _bins(
    studied: Studied, risk: AtRisk, starts: Floats, width: float, *, whole: bool
) -> tuple[Floats, Floats, Floats]:
    """Edges of periods from the beginning of the observation, faults and unit-hours in service in each exposed one."""
    begin, end = studied.observation.begin_h, studied.observation.end_h
    number = math.floor((end - begin) / width + 1e-9)
    edges: Floats = begin + width * np.arange(number + 1.0)
    if not whole and (number == 0 or end - edges[-1] > width / 3.0):  # a short rest would be all noise
        edges = np.append(edges, end)
    faults = np.histogram(starts, edges)[0].astype(np.float64) if len(edges) > 1 else np.zeros(0)
    exposure = np.diff(risk.clock.at(edges))
    if whole:
        served = exposure > 0
        return edges, faults[served], exposure[served]
    return edges, np.where(exposure > 0, faults, 0.0), np.where(exposure > 0, exposure, 1.0)


def _weeks(studied: Studied, risk: AtRisk, starts: Floats) -> tuple[Floats, Floats] | None:
    """Faults and unit-hours in service of each whole week; None where there are too few."""
    _, faults, exposure = _bins(studied, risk, starts, WEEK_H, whole=True)
    return (faults, exposure) if len(faults) >= FEWEST_WEEKS and faults.sum() > 0 else None


# bursts


def burst_findings(studied: Studied) -> BurstFindings:
    """What was found of trays of one rack that fail together."""
    bursts, hours = studied.bursts, studied.hours
    if bursts is None:
        no_trays = TRAY not in studied.risk
        why = "no faults of trays" if no_trays else "neither the log nor the fleet says in which rack a unit is"
        return BurstFindings(
            looked_for=False, why_not=why, window_h=studied.window_h, sizes=(), smallest=None, racks_struck=0, faults=0,
            absorbed=0, events=0, site_mtbf_h=UNKNOWN, racks_per_event=None, share_of_trays=None,
        )  # fmt: skip
    chance = bursts.chance
    sizes = zip(chance.sizes.tolist(), chance.found.tolist(), chance.expected.tolist(), strict=True)
    events = int(together(bursts, studied.window_h).max(initial=-1)) + 1
    return BurstFindings(
        looked_for=True,
        why_not="",
        window_h=studied.window_h,
        sizes=tuple(BurstSize(trays=size, found=found, by_chance=expected) for size, found, expected in sizes),
        smallest=bursts.smallest,
        racks_struck=len(bursts.rack),
        faults=int(bursts.member.sum()),
        absorbed=bursts.absorbed,
        events=events,
        site_mtbf_h=mtbf_of_count(events, hours, studied.confidence),
        racks_per_event=len(bursts.rack) / events if events else None,
        share_of_trays=_share_struck(studied, bursts) if events else None,
    )


def _share_struck(studied: Studied, bursts: Bursts) -> float | None:
    """Share of the trays of the struck racks that failed with them; None where the fleet names no trays."""
    rows = fleet_rows(studied.observation, studied.risk[TRAY].kind)
    if not studied.risk[TRAY].named or (rows.rack < 0).any():
        return None
    pairs = np.unique(np.stack([rows.rack, rows.unit], axis=1), axis=0)
    trays = np.bincount(pairs[:, 0], minlength=int(bursts.rack.max()) + 1)[bursts.rack]
    return float(min(bursts.struck.sum() / max(trays.sum(), 1), 1.0))


# lemons and age


def lemon_findings(studied: Studied) -> list[LemonFindings]:
    """Whether some units of a kind fail more often than the others."""
    return [
        _lemons(studied, kind, risk)
        for kind, risk in studied.risk.items()
        if kind in (TRAY, RACK) and len(studied.of(kind).unit)
    ]


def _lemons(studied: Studied, kind: str, risk: AtRisk) -> LemonFindings:
    if risk.units is None:
        why = "the fleet counts units whose number changes with time; give a roster, a row for each unit"
        return LemonFindings(
            kind=kind, looked_for=False, why_not=why, units=0, worst=(), beyond_chance=0, share=None, multiple=None,
            mtbf_h=None, bic_gain=0.0,
        )  # fmt: skip
    up = risk.units.up_h > 0
    codes, exposure = risk.units.unit[up], risk.units.up_h[up]
    served = risk.units.in_service_h[up]  # a unit that failed once, early, and is still down is no lemon for that
    counts = per_unit(risk.units, studied.of(kind).unit)[up]
    expected = counts.sum() / served.sum() * served
    _, beyond = beyond_chance(counts, served, LEMON_LEVEL)
    order = np.lexsort((codes, -counts))
    worst = order[beyond[order]]
    fit = two_classes(counts, exposure, studied.confidence)
    found = fit.bic_gain > 0 and fit.multiple.value < 0.99 * MOST_MULTIPLE
    names = studied.observation.names.units
    return LemonFindings(
        kind=kind,
        looked_for=True,
        why_not="",
        units=len(codes),
        worst=tuple(
            WorstUnit(unit=names[codes[i]], faults=int(counts[i]), expected=float(expected[i]))
            for i in worst[:WORST_TOLD]
        ),
        beyond_chance=len(worst),
        share=estimate(fit.share) if found else None,
        multiple=estimate(fit.multiple) if found else None,
        mtbf_h=1.0 / fit.rate if found else None,
        bic_gain=fit.bic_gain,
    )


def early_life(studied: Studied, age_h: float) -> list[EarlyLife]:
    """Faults of units younger than an age against those of the others, where the fleet says how old its units are."""
    return [_early(studied, kind, risk, age_h) for kind, risk in studied.risk.items() if kind in (TRAY, RACK)]


def _early(studied: Studied, kind: str, risk: AtRisk, age_h: float) -> EarlyLife:
    rows = fleet_rows(studied.observation, risk.kind)
    incidents = studied.of(kind)
    known = risk.named and not np.isnan(rows.age_h).any()
    zero = EarlyLife(
        kind=kind, known=known, why_not="the fleet does not say since when each unit is in service", age_h=age_h,
        young_faults=0, young_up_h=0.0, old_faults=0, old_up_h=0.0, ratio=UNKNOWN, p_value=None,
    )  # fmt: skip
    if not known:
        return zero
    young_up = exposed_hours(while_young(studied.observation, risk.kind, age_h), risk.kind)
    old_up = max(risk.up_h - young_up, 0.0)
    before = incidents.start_h < _turns(rows, incidents, age_h)
    faults = int(before.sum()), int((~before).sum())
    return zero.model_copy(
        update={
            "why_not": "",
            "young_faults": faults[0],
            "young_up_h": young_up,
            "old_faults": faults[1],
            "old_up_h": old_up,
            "ratio": estimate(rate_ratio(faults[0], young_up, faults[1], old_up, studied.confidence)),
            "p_value": _finite(equal_rates_p_value(faults[0], young_up, faults[1], old_up)),
        }
    )


def _turns(rows: Fleet, incidents: Incidents, age_h: float) -> Floats:
    """When the unit of each incident stops being young, by the row of its stay: what comes back may be a new one."""
    span = float(rows.to_h.max() - rows.from_h.min()) + 1.0  # one line of time for all units, each in its own stretch
    begin = rows.unit * span + rows.from_h
    order = np.argsort(begin)
    stay = order[np.searchsorted(begin[order], incidents.unit * span + incidents.start_h, side="right") - 1]
    return np.asarray((rows.from_h - rows.age_h)[stay] + age_h)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
