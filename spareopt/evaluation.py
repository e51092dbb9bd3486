"""The exact score of decisions: effective training time, goodput, losses, money, power, and slack to every limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from spareopt.candidates import (
    Candidates,
    Model,
    blocks_per_placement_group,
    check_model,
    checkpointing,
    limit_shares,
    score_zone,
    site_terms,
)
from spareopt.decisions import Decisions, ZoneChoice, decision_faults
from spareopt.errors import InputError
from spareopt.exact import EXACT
from spareopt.instance import BlockDesign, Instance, Zone
from spareopt.power import rack_draw
from spareopt.scaling import envelope_rise, hardware_scale, llm_scale
from spareopt.topology import zone_structure
from spareopt.units import CURRENCIES, HOURS_PER_YEAR

LOSSES = (
    "intra_block_spares",
    "inter_block_spares",
    "stranded_blocks",
    "blocked",
    "checkpoint_saves",
    "detection_and_restart",
    "lost_work",
    "useful",
)
"""The shares of all GPU-hours, in the order they are attributed (version 1 of the list)."""
LIMIT_TOLERANCE = 1e-9  # relative: a sum of rounded prices that equals its cap must not violate it


class LimitSlack(BaseModel):
    """One limit of the instance: where the plan stands and how much is left (negative: violated)."""

    model_config = ConfigDict(frozen=True)

    limit: str
    unit: str
    sense: Literal["<=", ">="]
    value: float
    bound: float
    slack: float

    @property
    def violated(self) -> bool:
        """Whether the plan breaks the limit, beyond rounding."""
        return self.slack < -LIMIT_TOLERANCE * max(1.0, abs(self.bound))


class ZoneEvaluation(BaseModel):
    """What one zone of a choice contributes."""

    model_config = ConfigDict(frozen=True)

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


class IdleSpares(BaseModel):
    """What the idle spares (trays within blocks, and spare blocks) cost; part of the plan's totals."""

    model_config = ConfigDict(frozen=True)

    gpus: int
    capital: float | None
    power_kw: float | None
    energy_kwh_per_year: float | None
    carbon_kg_per_year: float | None
    cost_per_year: float | None


class Evaluation(BaseModel):
    """The score of a plan.  Money in the instance's currency; None where an input it needs is not given."""

    model_config = ConfigDict(frozen=True)

    model: Literal["exact", "first-order"]
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
    checkpoint_period_h: float
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


@dataclass(frozen=True)
class _Scored:
    """A zone choice with its parts of the instance and its one-row score."""

    choice: ZoneChoice
    zone: Zone
    design: BlockDesign
    limit: float
    row: dict[str, Any]
    method: str


def evaluate(instance: Instance, decisions: Decisions, *, model: Model = "exact") -> Evaluation:
    """Score decisions with the exact model (or the published first-order one).

    CETT = working share × A × η(Λ); goodput = GPUs × CETT × scale of the slowest zone.  Raises InputError where the
    decisions do not fit the instance; a limit that is not met is reported in ``violated``, not raised.
    """
    check_model(instance, model)
    faults = decision_faults(instance, decisions)
    if faults:
        raise InputError("plan", faults)
    scored = [_score(instance, choice, model) for choice in decisions.zones]
    plan = next(plan for plan in instance.checkpoint_plans if plan.name == decisions.checkpoint_plan)
    scheme = checkpointing(plan, model)
    site_down, site_rate = site_terms(instance)
    rate = site_rate + sum(s.choice.count * s.row["rate_per_h"] for s in scored)
    log_up = np.log1p(-site_down) + sum(s.choice.count * np.log1p(-s.row["unavailability"]) for s in scored)
    availability, unavailability = float(np.exp(log_up)), float(-np.expm1(log_up))
    gpus = sum(s.choice.count * s.row["gpus"] for s in scored)
    working = sum(s.choice.count * s.row["working_gpus"] for s in scored)
    shares = scheme.shares(np.array(rate))
    efficiency = float(shares.useful)
    cett = working / gpus * availability * efficiency
    scale = float(np.exp(min(s.row["log_scale"] for s in scored)))
    goodput = working * availability * efficiency * scale
    stranded = [
        _stranded(instance, scored, i, rate, log_up, plan_scheme=scheme, model=model) for i in range(len(scored))
    ]
    losses = _losses(scored, stranded, gpus, working, availability, shares)

    price = instance.power.energy_price
    it_power = _total(scored, "it_power_kw")
    blocked_power = _total(scored, "blocked_power_kw")
    pue = instance.power.pue
    energy = None
    if it_power is not None and blocked_power is not None:
        energy = pue * HOURS_PER_YEAR * (blocked_power + availability * (it_power - blocked_power))
    carbon = _product(energy, instance.power.grid_intensity)
    capital = _total(scored, "capital")
    yearly = plan.yearly_cost + sum(s.choice.count * s.row["plan_cost_per_year"] for s in scored)
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
        interruptions_per_day=24 * rate * availability,
        checkpoint_period_h=float(scheme.best_period(np.array(rate))),
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
        cost_per_useful_gpu_hour=None if cost is None else cost / useful,
        energy_kwh_per_useful_gpu_hour=None if energy is None else energy / useful,
        carbon_kg_per_useful_gpu_hour=None if carbon is None else carbon / useful,
        goodput_gpu_hours_per_money=goodput * HOURS_PER_YEAR / cost if cost else None,
        idle_spares=_idle_spares(instance, scored),
        wall_time_h=None if instance.job is None else instance.job.useful_gpu_hours / goodput,
        limits=_limits(instance, scored, working, availability, capital, yearly, it_power, goodput),
        zones=tuple(_zone(instance, s, blocks) for s, blocks in zip(scored, stranded, strict=True)),
        method=_method(instance, scored, model),
    )


def _score(instance: Instance, choice: ZoneChoice, model: Model) -> _Scored:
    zone = next(zone for zone in instance.zones if zone.name == choice.zone)
    design = next(design for design in instance.designs if design.name == choice.design)
    plan = next(plan for plan in instance.repair_plans if plan.name == choice.repair_plan)
    limit = choice.gpu_limit
    if limit is None:
        limit = np.nan if design.power is None else design.power.gpu_full_limit
    structure = zone_structure(instance, zone, design, choice.racks)
    columns, method = score_zone(
        instance, zone, design, structure, choice.racks, choice.intra_block_spares,
        np.array([choice.inter_block_spares], dtype=np.int64), plan, np.array([limit]), model,
    )  # fmt: skip
    row = {name: np.atleast_1d(values)[0].item() for name, values in columns.items()}
    return _Scored(choice, zone, design, float(limit), row, method)


def _stranded(
    instance: Instance, scored: list[_Scored], place: int, rate: float, log_up: float, *, plan_scheme: Any, model: Model
) -> int:
    """R minus the smallest R' ≤ R with the highest CETT, as if there were no placement group; the rest unchanged."""
    me = scored[place]
    spares = me.choice.inter_block_spares
    if instance.placement_group is None or spares == 0:
        return 0
    structure = zone_structure(instance, me.zone, me.design, me.choice.racks)
    plan = next(plan for plan in instance.repair_plans if plan.name == me.choice.repair_plan)
    wanted = np.arange(spares + 1, dtype=np.int64)
    columns, _ = score_zone(
        instance, me.zone, me.design, structure, me.choice.racks, me.choice.intra_block_spares, wanted, plan,
        np.array([me.limit]), model,
    )  # fmt: skip
    count = me.choice.count
    others = sum(s.choice.count * s.row["working_gpus"] for s in scored) - count * me.row["working_gpus"]
    other_rate = rate - count * me.row["rate_per_h"]
    other_log_up = log_up - count * np.log1p(-me.row["unavailability"])
    with np.errstate(divide="ignore"):
        log_cett = (
            np.log(others + count * np.asarray(columns["working_gpus"]))
            + other_log_up
            + count * np.log1p(-np.asarray(columns["unavailability"]))
            + plan_scheme.log_eta(other_rate + count * np.asarray(columns["rate_per_h"]))
        )
    return int(spares - int(np.argmax(log_cett)))


def _losses(
    scored: list[_Scored], stranded: list[int], gpus: int, working: int, availability: float, shares: Any
) -> dict[str, float]:
    intra = inter = strand = 0
    for s, blocks in zip(scored, stranded, strict=True):
        working_per_block = (s.design.trays_per_block - s.choice.intra_block_spares) * s.design.gpus_per_tray
        all_blocks = s.choice.racks * s.design.blocks_per_rack
        intra += s.choice.count * all_blocks * s.choice.intra_block_spares * s.design.gpus_per_tray
        inter += s.choice.count * (s.choice.inter_block_spares - blocks) * working_per_block
        strand += s.choice.count * blocks * working_per_block
    share = working / gpus
    unblocked = share * availability
    values = [
        intra / gpus,
        inter / gpus,
        strand / gpus,
        share * (1 - availability),
        unblocked * float(shares.saves),
        unblocked * float(shares.recovery),
        unblocked * float(shares.lost),
        unblocked * float(shares.useful),
    ]
    return dict(zip(LOSSES, values, strict=True))


def _total(scored: list[_Scored], column: str) -> float | None:
    total = float(sum(s.choice.count * s.row[column] for s in scored))
    return None if np.isnan(total) else total


def _product(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left * right


def _idle_spares(instance: Instance, scored: list[_Scored]) -> IdleSpares:
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


def _limits(
    instance: Instance,
    scored: list[_Scored],
    working: int,
    availability: float,
    capital: float | None,
    yearly: float,
    it_power: float | None,
    goodput: float,
) -> tuple[LimitSlack, ...]:
    limits, money = instance.limits, instance.currency
    racks = sum(s.choice.count * s.choice.racks for s in scored)
    rows: list[tuple[str, str, Literal["<=", ">="], float | None, float | None]] = [
        ("capital", money, "<=", capital, limits.capital),
        ("yearly_cost", f"{money} per year", "<=", yearly, limits.yearly_cost),
        ("it_power", "kW", "<=", it_power, limits.it_power),
        ("site_power", "kW", "<=", _product(it_power, instance.power.pue), limits.site_power),
        ("floor", "rack positions", "<=", racks, limits.floor),
        ("working_gpus.minimum", "GPUs", ">=", working, limits.working_gpus.minimum),
        ("working_gpus.maximum", "GPUs", "<=", working, limits.working_gpus.maximum),
        ("availability", "", ">=", availability, limits.availability),
        ("goodput_target", "baseline GPUs", ">=", goodput, instance.objective.goodput_target),
    ]
    rack_limit = instance.power.rack_limit
    if rack_limit is not None:
        highest = max(_rack_power(s) or 0.0 for s in scored)
        rows.append(("rack_power", "kW", "<=", highest, rack_limit))
    result = [
        LimitSlack(
            limit=name, unit=unit, sense=sense, value=value, bound=bound,
            slack=bound - value if sense == "<=" else value - bound,
        )
        for name, unit, sense, value, bound in rows
        if bound is not None and value is not None
    ]  # fmt: skip
    return tuple(result + _placement(instance, scored))


def _placement(instance: Instance, scored: list[_Scored]) -> list[LimitSlack]:
    """Working GPUs of a zone beyond whole placement groups; only a plan of the planner's own can have any."""
    if instance.placement_group is None:
        return []
    rest = 0
    for s in scored:
        group = blocks_per_placement_group(instance, s.design, s.choice.intra_block_spares)
        working_blocks = s.choice.racks * s.design.blocks_per_rack - s.choice.inter_block_spares
        rest = max(rest, s.row["working_gpus"] if group is None else working_blocks % group)
    return [LimitSlack(limit="placement_group", unit="blocks left over", sense="<=", value=rest, bound=0, slack=-rest)]


def _rack_power(s: _Scored) -> float | None:
    if s.design.power is None:
        return None
    return float(rack_draw(s.design, s.design.power, s.choice.intra_block_spares, np.array(s.limit)))


def _zone(instance: Instance, s: _Scored, stranded: int) -> ZoneEvaluation:
    hardware = hardware_scale(
        instance.hardware_scale, s.design, s.choice.intra_block_spares, limit_shares(s.design, np.array([s.limit]))
    )
    working = (s.design.trays_per_block - s.choice.intra_block_spares) * s.design.gpus_per_tray
    draw = s.row["it_power_kw"]
    return ZoneEvaluation(
        zone=s.zone.name,
        count=s.choice.count,
        gpus=s.row["gpus"],
        working_gpus=s.row["working_gpus"],
        stranded_blocks=stranded,
        unavailability=s.row["unavailability"],
        interruption_rate_per_h=s.row["rate_per_h"],
        hardware_scale=float(hardware[0]),
        llm_scale=llm_scale(instance.llm_scale, working),
        it_power_kw=None if np.isnan(draw) else draw,
        rack_power_kw=_rack_power(s),
    )


def _method(instance: Instance, scored: list[_Scored], model: Model) -> dict[str, str]:
    first_order = "published first-order closed form"
    zone_methods = [s.method for s in scored if s.method != EXACT]
    rate = zone_methods[0] if zone_methods else EXACT
    method = {
        "availability": EXACT if model == "exact" else first_order,
        "interruption_rate": rate,
        "recovery_efficiency": EXACT if model == "exact" else first_order,
        "cett": rate if model == "exact" else first_order,
        "goodput": rate if model == "exact" else first_order,
        "losses": rate if model == "exact" else first_order,
        "yearly_cost": EXACT if instance.power.energy_price is not None else "without energy: no energy price given",
    }
    form = instance.hardware_scale
    if form is not None and form.power_table is not None:
        rise = envelope_rise(form.power_table)
        method["hardware_scale"] = f"concave envelope of the measured table, at most {rise:.3g} above it"
    return method


def currency_symbol(instance: Instance) -> str:
    """The symbol that money of this instance is shown with."""
    return CURRENCIES[instance.currency]


def decisions_of(candidates: Candidates, counts: dict[int, int], checkpoint_plan: str) -> Decisions:
    """The decisions that take each candidate (by row) in so many zones."""
    zones = tuple(candidates.choice(row, count) for row, count in sorted(counts.items()))
    return Decisions.model_construct(zones=zones, checkpoint_plan=checkpoint_plan)
