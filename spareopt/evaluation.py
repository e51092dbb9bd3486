"""The exact score of decisions: effective training time, goodput, losses, money, power, and slack to every limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from spareopt import first_order
from spareopt.building import limit_shares, site_of
from spareopt.candidates import check_model
from spareopt.cohorts import Cohort
from spareopt.decisions import Decisions, decision_faults
from spareopt.departures import departures
from spareopt.environment import ACROSS, UNCERTAIN
from spareopt.errors import InputError
from spareopt.exact import EXACT, FEEDS, crew_pools, part_mean_wait, trays_and_racks
from spareopt.instance import Instance
from spareopt.joint import pooled_crews, pooled_units, together
from spareopt.levels import level_of, shared_costs, shares_repair
from spareopt.limits import LimitSlack, limit_slacks
from spareopt.losses import loss_shares, stranded_blocks
from spareopt.numerics.crews import CrewLaw, Pool
from spareopt.numerics.recovery import RecoveryScheme, RecoveryShares
from spareopt.numerics.two_level import TwoLevel
from spareopt.record import Frozen, Shown
from spareopt.repair import zone_repair
from spareopt.scaling import envelope_rise, hardware_scale, llm_scale
from spareopt.schemes import Model, recovery_method, recovery_scheme
from spareopt.scoring import ScoredChoice, rack_power, score_choice
from spareopt.units import HOURS_PER_YEAR

PLANNED = (
    "approximation: planned stops come at random, as often as with certain rates and ample repair, and may overlap; no "
    "faults hit them"
)
ALL_UNITS = "over-estimate: units of domains across zones are charged in full, as if each held a working block"
BUT_FOR = "exact but for what is left out"
POOLED = "zones that share crews or a shelf are scored together, under one law of their failed trays and racks"


class ZoneEvaluation(Frozen):
    """What one zone of a choice contributes."""

    zone: str
    count: int
    gpus: int
    working_gpus: int
    stranded_blocks: int
    unavailability: float
    interruption_rate_per_h: float
    hardware_scale: float
    llm_scale: float
    it_power_kw: float | None
    rack_power_kw: float | None
    crew_utilisation: float | None = None
    """Mean share of the zone's crews that is busy; None where crews are ample."""
    crew_mean_wait_h: float | None = None
    """Mean time that a failed tray or rack waits for a crew."""
    part_mean_wait_h: float | None = None
    """Mean time that a failed tray waits for one from the shelf; None where one is always at hand."""


class IdleSpares(Frozen):
    """What the idle spares (trays within blocks, and spare blocks) cost; part of the plan's totals."""

    gpus: int
    capital: float | None
    power_kw: float | None
    energy_kwh_per_year: float | None
    carbon_kg_per_year: float | None
    cost_per_year: float | None


class Evaluation(Frozen, Shown):
    """The score of a plan.  Money in the instance's currency; None where an input it needs is not given."""

    model: Literal["exact", "first-order", "simulation"]
    currency: str
    gpus: int
    working_gpus: int
    goodput: float
    """Baseline GPUs."""
    goodput_scale: float
    """Goodput over all GPUs."""
    cett: float
    """Share of all GPU-hours that does useful work."""
    availability: float
    unavailability: float
    """1 − availability, from the tail itself."""
    recovery_efficiency: float
    interruption_rate_per_h: float
    """Λ, while the job is not blocked."""
    interruptions_per_day: float
    """24 Λ A: expected interruptions a day in the long run."""
    checkpoint_period_h: float | None
    """Work between two saves; None where there are none."""
    storage_every: int | None
    """Every so many saves one goes to storage, with two-level checkpoints; None else, or where none needs to."""
    scale: float
    """Hardware times LLM scale of the slowest zone."""
    losses: dict[str, float]
    capital: float | None
    yearly_cost: float | None
    cost_per_year: float | None
    """Capital over the amortisation time, plus yearly cost."""
    it_power_kw: float | None
    site_power_kw: float | None
    energy_kwh_per_year: float | None
    carbon_kg_per_year: float | None
    useful_gpu_hours_per_year: float
    cost_per_useful_gpu_hour: float | None
    energy_kwh_per_useful_gpu_hour: float | None
    carbon_kg_per_useful_gpu_hour: float | None
    goodput_gpu_hours_per_money: float | None
    """Goodput in baseline GPU-hours per unit of cost."""
    idle_spares: IdleSpares
    wall_time_h: float | None
    """Time to finish the instance's job at this goodput."""
    limits: tuple[LimitSlack, ...]
    zones: tuple[ZoneEvaluation, ...]
    method: dict[str, str]
    """For each quantity: exact, or the approximation by name."""

    @property
    def violated(self) -> list[LimitSlack]:
        """The limits that the plan breaks."""
        return [limit for limit in self.limits if limit.violated]

    def score_table(self) -> pd.DataFrame:
        """Every single number of the score, by its field's name (which holds its unit); unknown ones are left out."""
        numbers = {name: value for name, value in self if isinstance(value, int | float)}
        return pd.DataFrame({"quantity": list(numbers), "value": list(numbers.values())}, dtype=object)

    def losses_table(self) -> pd.DataFrame:
        """The loss shares and the GPUs they amount to."""
        shares = list(self.losses.values())
        return pd.DataFrame(
            {"loss": list(self.losses), "share": shares, "gpus": [share * self.gpus for share in shares]}
        )

    def limits_table(self) -> pd.DataFrame:
        """The slack to every limit, with its unit."""
        columns = ["limit", "unit", "sense", "value", "bound", "slack"]
        return pd.DataFrame([limit.model_dump() for limit in self.limits], columns=columns)


def evaluate(instance: Instance, decisions: Decisions, *, model: Model = "exact") -> Evaluation:
    """Score decisions with the exact model (or the published first-order one).

    CETT = working share × A × η(Λ); goodput = GPUs × CETT × scale of the slowest zone.  Raises InputError where the
    decisions do not fit the instance; a limit that is not met is reported in ``violated``, not raised.
    """
    return evaluate_cohorts(instance, decisions, ((),) * len(decisions.zones), model)


def evaluate_cohorts(
    instance: Instance, decisions: Decisions, cohorts: Sequence[tuple[Cohort, ...]], model: Model = "exact"
) -> Evaluation:
    """As ``evaluate``, of choices whose racks are in cohorts with fault rates of their own; () where they are not.

    ``cohorts`` has an item for each of ``decisions.zones``.
    """
    check_model(instance, model)
    faults = decision_faults(instance, decisions)
    if faults:
        raise InputError("plan", faults)
    level = level_of(instance, decisions)
    site = site_of(level, model)
    scored = [score_choice(site, choice, own) for choice, own in zip(decisions.zones, cohorts, strict=True)]
    plan = level.checkpoint_plans[0]
    scheme = recovery_scheme(level, plan, model)
    rate = site.environment.rate + sum(s.choice.count * s.row["rate_per_h"] for s in scored)
    whole = together(site, scored, scheme, rate)
    availability, unavailability = whole.availability, whole.unavailability
    gpus = sum(s.choice.count * s.row["gpus"] for s in scored)
    working = sum(s.choice.count * s.row["working_gpus"] for s in scored)
    stops = site.environment.stops + sum(s.choice.count * s.row["planned_stops"] for s in scored)
    going = float(np.exp(-stops))
    efficiency = float(whole.shares.useful) * going
    cett = working / gpus * availability * efficiency
    scale = float(np.exp(min(s.row["log_scale"] for s in scored)))
    goodput = working * availability * efficiency * scale
    stranded = [stranded_blocks(site, scored, i, scheme, rate) for i in range(len(scored))]
    losses = loss_shares(scored, stranded, gpus, working, availability, going, whole.shares)

    price = instance.power.energy_price
    it_power = _total(scored, "it_power_kw")
    blocked_power = _total(scored, "blocked_power_kw")
    pue = instance.power.pue
    energy = None
    if it_power is not None and blocked_power is not None:
        running = sum(s.choice.count * s.running * (s.row["it_power_kw"] - s.row["blocked_power_kw"]) for s in scored)
        up = 1.0 - site.environment.down if site.shrinks else availability
        energy = pue * HOURS_PER_YEAR * (blocked_power + up * running)
    carbon = _product(energy, instance.power.grid_intensity)
    capital = _total(scored, "capital")
    busy, pools = pooled_crews(site, scored), pooled_units(site, scored)
    shared_capital, shared_yearly = shared_costs(level)
    capital = None if capital is None else capital + shared_capital
    yearly = plan.yearly_cost + sum(s.choice.count * s.row["plan_cost_per_year"] for s in scored) + shared_yearly
    yearly += _product(energy, price) or 0.0
    amortisation = instance.economics.amortisation / HOURS_PER_YEAR
    cost = None if capital is None else capital / amortisation + yearly
    useful = cett * gpus * HOURS_PER_YEAR
    site_power = _product(it_power, pue)
    return Evaluation(
        model=model,
        currency=instance.currency,
        gpus=gpus,
        working_gpus=working,
        goodput=goodput,
        goodput_scale=goodput / gpus,
        cett=cett,
        availability=availability,
        unavailability=unavailability,
        recovery_efficiency=efficiency,
        interruption_rate_per_h=rate,
        interruptions_per_day=24 * rate * availability * _exposed(level, whole.shares),
        checkpoint_period_h=period if np.isfinite(period := float(scheme.best_period(np.array(rate)))) else None,
        storage_every=_storage_every(scheme, rate),
        scale=scale,
        losses=losses,
        capital=capital,
        yearly_cost=yearly,
        cost_per_year=cost,
        it_power_kw=it_power,
        site_power_kw=site_power,
        energy_kwh_per_year=energy,
        carbon_kg_per_year=carbon,
        useful_gpu_hours_per_year=useful,
        cost_per_useful_gpu_hour=_ratio(cost, useful),
        energy_kwh_per_useful_gpu_hour=_ratio(energy, useful),
        carbon_kg_per_useful_gpu_hour=_ratio(carbon, useful),
        goodput_gpu_hours_per_money=_ratio(goodput * HOURS_PER_YEAR, cost),
        idle_spares=_idle_spares(instance, scored),
        wall_time_h=_ratio(None if instance.job is None else instance.job.useful_gpu_hours, goodput),
        limits=limit_slacks(instance, scored, working, unavailability, capital, yearly, it_power, goodput),
        zones=tuple(_zone(instance, s, blocks, busy, pools) for s, blocks in zip(scored, stranded, strict=True)),
        method=_method(level, scored, model),
    )


def _exposed(instance: Instance, shares: RecoveryShares) -> float:
    """Share of the unblocked time in which faults may stop the job: all of it, or only while it computes."""
    return float(shares.useful + shares.lost) if instance.failures.ageing == "computing" else 1.0


def _storage_every(scheme: RecoveryScheme, rate: float) -> int | None:
    """How many saves in memory go with one to storage."""
    if not isinstance(scheme, TwoLevel):
        return None
    every = float(scheme.best_storage_every(np.array(rate)))
    return round(every) if np.isfinite(every) else None


def _total(scored: list[ScoredChoice], column: str) -> float | None:
    total = float(sum(s.choice.count * s.row[column] for s in scored))
    return None if np.isnan(total) else total


def _ratio(part: float | None, whole: float | None) -> float | None:
    """None where either is unknown, or the whole is nothing."""
    return part / whole if part is not None and whole else None


def _product(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left * right


def _idle_spares(instance: Instance, scored: list[ScoredChoice]) -> IdleSpares:
    gpus, capital, power = 0, 0.0, 0.0
    for s in scored:
        design, choice = s.design, s.choice
        trays = choice.racks * design.blocks_per_rack * design.trays_per_block
        idle = trays - s.row["working_gpus"] // design.gpus_per_tray
        gpus += choice.count * idle * design.gpus_per_tray
        draw = np.nan if design.power is None else choice.count * idle * design.power.tray_idle
        price = np.nan if design.rack_price is None else choice.count * choice.racks * design.rack_price
        power += draw
        capital += price * idle / trays + (draw * site if (site := instance.economics.site_capital) else 0.0)
    known_power, known_capital = (None if np.isnan(value) else float(value) for value in (power, capital))
    energy = _product(known_power, instance.power.pue * HOURS_PER_YEAR)
    amortisation = instance.economics.amortisation / HOURS_PER_YEAR
    energy_cost = _product(energy, instance.power.energy_price) or 0.0
    return IdleSpares(
        gpus=gpus,
        capital=known_capital,
        power_kw=known_power,
        energy_kwh_per_year=energy,
        carbon_kg_per_year=_product(energy, instance.power.grid_intensity),
        cost_per_year=None if known_capital is None else known_capital / amortisation + energy_cost,
    )


def _zone(
    instance: Instance, s: ScoredChoice, stranded: int, busy: CrewLaw | None, site_pools: tuple[Pool, ...] | None
) -> ZoneEvaluation:
    """One choice; ``busy``, ``site_pools``: how busy the crews are and what they serve where all zones share them."""
    hardware = hardware_scale(
        instance.hardware_scale, s.design, s.choice.intra_block_spares, limit_shares(s.design, np.array([s.limit]))
    )
    working = (s.design.trays_per_block - s.choice.intra_block_spares) * s.design.gpus_per_tray
    draw = s.row["it_power_kw"]
    repair = zone_repair(instance, s.plan, s.taken)
    crews = busy
    if crews is None and repair.crews is not None:
        crews = trays_and_racks(s.structure, repair)
    pools = crew_pools(s.structure, repair) if site_pools is None else site_pools
    return ZoneEvaluation(
        zone=s.choice.zone,
        count=s.choice.count,
        gpus=s.row["gpus"],
        working_gpus=s.row["working_gpus"],
        stranded_blocks=stranded,
        unavailability=s.row["unavailability"],
        interruption_rate_per_h=s.row["rate_per_h"],
        hardware_scale=float(hardware[0]),
        llm_scale=llm_scale(instance.llm_scale, working),
        it_power_kw=None if np.isnan(draw) else draw,
        rack_power_kw=rack_power(s),
        crew_utilisation=None if crews is None else crews.utilisation,
        crew_mean_wait_h=None if crews is None else crews.mean_wait,
        part_mean_wait_h=None if repair.shelf is None else part_mean_wait(pools, repair.shelf),
    )


def _worst(methods: Iterable[str]) -> str:
    """The approximation among methods, all of them where there are several; else exact."""
    named = sorted({method for method in methods if method != EXACT})
    return "; ".join(named) if named else EXACT


def _site_rate_methods(instance: Instance, scored: list[ScoredChoice]) -> list[str]:
    """What the rates of site domains rest on."""
    site = [domain for domain in instance.failures.domains if domain.spans == "site"]
    named = [FEEDS] if any(domain.feeds is not None for domain in site) else []
    # a unit surely holds a working block where some zone has more blocks in it than spare ones
    idle = [all(s.choice.inter_block_spares * d.units >= s.structure.blocks for s in scored) for d in site]
    return named + ([ALL_UNITS] if any(idle) else [])


def _method(instance: Instance, scored: list[ScoredChoice], model: Model) -> dict[str, str]:
    plan = instance.checkpoint_plans[0]
    availability = _worst(s.states.scores.availability_method for s in scored)
    rate = _worst([*(s.states.scores.rate_method for s in scored), *_site_rate_methods(instance, scored)])
    failures = instance.failures
    common = [ACROSS] if any(domain.units > 1 for domain in failures.domains) else []
    common += [UNCERTAIN] if failures.uncertainty is not None else []
    common += [POOLED] if shares_repair(instance) else []
    availability = "; ".join([*common, *([availability] if availability != EXACT or not common else [])])
    recovery = recovery_method(instance, plan) or EXACT
    if model != "exact":
        recovery = first_order.PUBLISHED
    elif failures.planned is not None or any(s.row["planned_stops"] for s in scored):
        recovery = PLANNED if recovery == EXACT else f"{recovery}; {PLANNED}"
    both = _worst((availability, rate, recovery if recovery != first_order.PUBLISHED else EXACT))
    method = {
        "availability": availability,
        "interruption_rate": rate,
        "recovery_efficiency": recovery,
        "cett": both,
        "goodput": both,
        "losses": both,
        "yearly_cost": EXACT if instance.power.energy_price is not None else "without energy: no energy price given",
    }
    form = instance.hardware_scale
    if form is not None and form.power_table is not None:
        rise = envelope_rise(form.power_table)
        method["hardware_scale"] = f"concave envelope of the measured table, at most {rise:.3g} above it"
    left_out = departures(instance, plan)
    if left_out:
        method = {quantity: BUT_FOR if how == EXACT else how for quantity, how in method.items()}
        stated = "; ".join(left_out)
        method["left_out"] = f"approximation, as if not stated: {stated}; spareopt simulate carries this"
    return method
