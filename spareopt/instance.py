"""The procurement instance: frozen models of everything a planner states, in canonical units."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from spareopt import units
from spareopt.checkpoint_plans import CheckpointPlan
from spareopt.failures import Failures
from spareopt.fields import (
    MOST,
    Counts,
    Ends,
    EnergyPrice,
    GridIntensity,
    Money,
    MoneyPerPower,
    Name,
    PositivePower,
    PositiveTime,
    Power,
    PowerChoices,
    WholeNumber,
    YearlyMoney,
)
from spareopt.horizon import Horizon
from spareopt.record import Record
from spareopt.repair_plans import RepairPlan

SCHEMA_VERSION = 1


class Guarantee(Record):
    """A number of usable blocks that is promised, as contracts phrase it."""

    usable_blocks: WholeNumber
    """Blocks of the zone that are usable at once, in use or spare."""
    probability: Annotated[float, Field(gt=0, lt=1)]
    """Share of the time in which at least so many are."""


class Zone(Record):
    """A sparing zone, or a class of identical ones."""

    name: Name
    count: WholeNumber = 1
    """How many identical zones of this kind there are."""
    racks: Counts
    """Racks per zone, spares included; a range where the number bought is free."""
    designs: tuple[Name, ...] | None = None
    """Names of the block designs this zone may take; all when left out."""
    guarantee: Guarantee | None = None
    """Usable blocks that each zone must have with a stated probability."""
    relative_speed: Annotated[float, Field(gt=0)] = 1.0
    """Speed of this zone's GPUs relative to the baseline GPU; a synchronous job runs at the slowest zone's scale."""

    @field_validator("racks")
    @classmethod
    def _some_racks(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if min(value) < 1:
            raise ValueError("expected at least 1 rack")
        return value


class DesignPower(Record):
    """What the parts of a rack draw."""

    gpu_full_limit: PositivePower
    """The limit at which a GPU runs at full speed: hardware scale 1."""
    gpu_limits: PowerChoices | None = None
    """GPU power limits to choose from; the full limit alone when left out."""
    tray_other: Power
    """Draw of a working tray besides its GPUs."""
    tray_idle: Power
    """Draw of an idle (spare) tray, its GPUs included."""
    rack_rest: Power = 0.0
    """Draw of the rest of the rack: switches, fans, power conversion."""

    @model_validator(mode="after")
    def _within_full(self) -> Self:
        if self.gpu_limits and max(self.gpu_limits) > self.gpu_full_limit * (1 + 1e-12):
            raise ValueError(
                f"gpu_limits: expected at most gpu_full_limit ({units.show(self.gpu_full_limit, units.POWER)})"
            )
        return self


class BlockDesign(Record):
    """A way to build compute blocks: the choice of K, with what it costs and draws."""

    name: Name
    trays_per_block: WholeNumber
    """K, spares included."""
    gpus_per_tray: WholeNumber
    blocks_per_rack: WholeNumber = 1
    intra_block_spares: Counts
    """Choices of I, the idle spare trays of a block."""
    inter_block_spares: Counts
    """Choices of R, the idle spare blocks of a zone."""
    rack_price: Money | None = None
    power: DesignPower | None = None
    relative_tray_rate: Annotated[float, Field(gt=0)] = 1.0
    """Faults of this design's trays relative to failures.tray: another generation may fail more or less often."""
    relative_rack_rate: Annotated[float, Field(gt=0)] = 1.0
    """Faults of this design's racks relative to failures.rack."""

    @field_validator("intra_block_spares")
    @classmethod
    def _trays_left(cls, value: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
        trays = info.data.get("trays_per_block")
        if trays is not None and max(value) >= trays:
            raise ValueError(f"expected fewer spare trays than trays_per_block ({trays})")
        return value


class PowerCurve(Record):
    """Hardware scale 1 − a(1−f)^b of a GPU limited to a share f of its full limit."""

    a: Annotated[float, Field(gt=0)]
    b: Annotated[float, Field(ge=1)]
    valid_from: Annotated[float, Field(gt=0, le=1)]
    """Smallest share f the curve was measured at; lower limits are left out of the choices."""


class PowerPoint(Record):
    """One measured point: share of the full GPU limit, throughput relative to full."""

    limit: Annotated[float, Field(gt=0, le=1)]
    scale: Annotated[float, Field(gt=0)]


class RackPowerRelation(Record):
    """Speed gained when idle spares leave power to the working trays of a rack with a fixed limit.

    ratio = (K − idle_draw·I)/(K − I), scale = ratio^(ln gain / ln at_ratio).
    """

    idle_draw: Annotated[float, Field(ge=0, lt=1)]
    """Draw of an idle spare tray as a share of a working one at the common limit."""
    gain: Annotated[float, Field(ge=1)]
    at_ratio: Annotated[float, Field(gt=1)]


class HardwareScale(Record):
    """Speed of a GPU by its power: exactly one of the four forms, or none for a constant 1."""

    fixed_gain_with_spares: Annotated[float, Field(gt=0)] | None = None
    """Scale of every design with intra-block spares; 1 without."""
    power_curve: PowerCurve | None = None
    power_table: tuple[PowerPoint, ...] | None = None
    """Measured points, made concave by their upper envelope."""
    rack_power: RackPowerRelation | None = None

    @field_validator("power_table")
    @classmethod
    def _table(cls, value: tuple[PowerPoint, ...] | None) -> tuple[PowerPoint, ...] | None:
        if value is None:
            return None
        limits = [point.limit for point in value]
        if len(limits) < 2 or sorted(set(limits)) != limits:
            raise ValueError("expected at least two points with increasing limits")
        if limits[-1] != 1 or value[-1].scale != 1:
            raise ValueError("expected the last point to be limit 1, scale 1 (the full GPU limit)")
        return value

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"expected exactly one of {', '.join(type(self).model_fields)}")
        return self


class LlmScale(Record):
    """Training speed by working GPUs per block, 1 at the reference block size: a ring form or a table."""

    reference_gpus: WholeNumber
    ring_overhead: Annotated[float, Field(ge=0, le=1)] | None = None
    """g(n)/g(reference), g(n) = n/(1 + overhead (n − 1))."""
    table: dict[Annotated[int, Field(ge=1)], Annotated[float, Field(gt=0)]] | None = None
    """Working GPUs per block: speed; linear in log2 of the size between points, refused outside."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.ring_overhead is None) == (self.table is None):
            raise ValueError("expected exactly one of ring_overhead and table")
        if self.table is not None and not min(self.table) <= self.reference_gpus <= max(self.table):
            raise ValueError("reference_gpus: expected a size within the table")
        return self


class SitePower(Record):
    """Limits and prices of power."""

    rack_limit: PositivePower | None = None
    pue: Annotated[float, Field(ge=1)] = 1.0
    energy_price: EnergyPrice | None = None
    grid_intensity: GridIntensity | None = None


class Economics(Record):
    """How capital and yearly cost become one cost."""

    amortisation: PositiveTime = 4 * units.HOURS_PER_YEAR
    """Years over which capital is spread, without discount."""
    site_capital: MoneyPerPower | None = None
    """Capital of the building and its power, per IT power drawn."""


class WorkingGpus(Record):
    """Range of the number of GPUs the job uses."""

    minimum: WholeNumber | None = None
    maximum: WholeNumber | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError("expected minimum <= maximum")
        return self


class Limits(Record):
    """Caps and floors that a plan must meet."""

    capital: Money | None = None
    yearly_cost: YearlyMoney | None = None
    site_power: Power | None = None
    """Cap on PUE times the IT power."""
    it_power: Power | None = None
    floor: WholeNumber | None = None
    """Rack positions of the whole site."""
    crews: WholeNumber | None = None
    """Crew seats of the whole site, of the plans that state a number of crews."""
    shelf_trays: Annotated[int, Field(strict=True, ge=0, le=MOST)] | None = None
    """Trays on all shelves of the site."""
    working_gpus: WorkingGpus = WorkingGpus()
    availability: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Smallest availability A."""


class Objective(Record):
    """What the plan is chosen for."""

    kind: Literal["goodput", "cost", "goodput_per_dollar"] = "goodput"
    """Most goodput, least cost for a goodput target, or most goodput per unit of yearly cost."""
    goodput_target: Annotated[float, Field(gt=0)] | None = None
    """Baseline GPUs, for kind cost."""

    @model_validator(mode="after")
    def _target(self) -> Self:
        if self.kind == "cost" and self.goodput_target is None:
            raise ValueError("goodput_target: required with kind: cost")
        if self.kind != "cost" and self.goodput_target is not None:
            raise ValueError("goodput_target: only used with kind: cost; take it out")
        return self


class Job(Record):
    """A job of a given size, to be timed on each plan."""

    useful_gpu_hours: Annotated[float, Field(gt=0)]
    """Useful GPU-hours of the baseline GPU."""


class Scenario(Record):
    """A named what-if: overrides applied in the order written."""

    description: str = ""
    overrides: dict[str, Any]
    """Dotted path: new value, or a multiple of the old one such as "0.5x"."""


class Instance(Record):
    """A procurement instance: everything spareopt needs to choose a plan."""

    schema_version: Literal[1]
    name: Name
    description: str = ""
    currency: Literal["USD", "EUR", "GBP", "CNY", "JPY"] = "USD"
    notes: tuple[str, ...] = ()
    """Assumptions and gaps a reader of the plan should know."""
    zones: Annotated[tuple[Zone, ...], Field(min_length=1)]
    designs: Annotated[tuple[BlockDesign, ...], Field(min_length=1)]
    failures: Failures
    repair_plans: Annotated[tuple[RepairPlan, ...], Field(min_length=1)]
    checkpoint_plans: Annotated[tuple[CheckpointPlan, ...], Field(min_length=1)]
    hardware_scale: HardwareScale | None = None
    llm_scale: LlmScale | None = None
    placement_group: WholeNumber | None = None
    """GPUs per placement group: the job's working GPUs in each zone come in whole groups."""
    power: SitePower = SitePower()
    economics: Economics = Economics()
    limits: Limits = Limits()
    objective: Objective = Objective()
    job: Job | None = None
    horizon: Horizon | None = None
    """Quarters over which to plan purchases, for ``spareopt staged`` alone."""
    scenarios: dict[Name, Scenario] = Field(default_factory=dict)
    intervals: dict[str, Ends] = Field(default_factory=dict)
    """Dotted path (``*`` for any item): the low and the high end of what the input may be, values or multiples."""

    _applied: tuple[str, ...] = PrivateAttr(default=())

    @property
    def applied(self) -> tuple[str, ...]:
        """The scenarios and overrides that made this instance from its file, in order."""
        return self._applied

    def resolved(self) -> dict[str, Any]:
        """The instance as plain data with units, without scenarios and intervals; reads back to an equal instance."""
        return self.model_dump(
            mode="json", exclude={"scenarios", "intervals"}, exclude_none=True, context={"currency": self.currency}
        )

    @property
    def objective_unit(self) -> str:
        """The unit of the objective's value."""
        return {
            "goodput": "baseline GPUs",
            "cost": f"{self.currency} per year",
            "goodput_per_dollar": f"baseline GPU-hours per {self.currency}",
        }[self.objective.kind]

    def input_hash(self) -> str:
        """SHA-256 of the resolved instance: the same decisions problem has the same hash."""
        return hash_of(self.resolved())


def hash_of(resolved: Any) -> str:
    """SHA-256 of the plain data of a resolved instance, whatever the layout of its file."""
    text = json.dumps(resolved, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
