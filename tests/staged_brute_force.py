"""Brute force over all staged plans of a small instance, from the rules of docs/staged.md and the evaluator alone.

Every way of every zone through the quarters, every order of trays, and in each quarter every way to run what stands
there.  Nothing of the staged solver is used: quarters are scored by the single-period evaluator, young racks by a
convolution of their own.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import comb, exp, expm1, inf
from typing import NamedTuple

from scipy.optimize import minimize_scalar

from spareopt.checkpoint_plans import CheckpointPlan
from spareopt.decisions import Decisions, ZoneChoice
from spareopt.errors import InputError
from spareopt.evaluation import Evaluation, evaluate
from spareopt.horizon import Horizon
from spareopt.instance import BlockDesign, Instance, WorkingGpus, Zone
from tests.brute_force import zone_choices

YEAR = 8766.0  # h
QUARTER = YEAR / 4
ROUNDING = 1e-9
RATE_LIMITS = ("availability", "yearly_cost", "goodput_target")
"""The limits that depend on how often things fail."""


class Young(NamedTuple):
    """Racks of a zone that fail alike: how many, and multiples of the tray and the rack fault rate."""

    racks: int
    tray: float
    rack: float


class Built(NamedTuple):
    """A zone as it stands in one quarter; ``young`` is empty where all racks fail at the stated rates."""

    zone: str
    design: str
    racks: int
    young: tuple[Young, ...] = ()


class Path(NamedTuple):
    """A zone through the quarters: its design (None: never built), and racks ordered to arrive in each."""

    design: str | None
    racks: tuple[int, ...]
    ordered: tuple[int, ...]


@dataclass(frozen=True)
class Member:
    """One zone and what was bought for it: (quarter, racks), with quarter −∞ for long ago."""

    zone: Zone
    design: str | None = None
    deliveries: tuple[tuple[float, int], ...] = ()

    def bought_by(self, quarter: float) -> int:
        """Racks bought already that have arrived by a quarter."""
        return sum(racks for when, racks in self.deliveries if when <= quarter)


class Best(NamedTuple):
    """The best staged plan found: discounted useful GPU-hours, or cost."""

    value: float
    paths: tuple[Path, ...]
    shelf: tuple[int, ...]


@dataclass
class BruteForce:
    """All staged plans of one instance.  ``evaluated`` counts the calls of the evaluator."""

    instance: Instance
    evaluated: int = 0
    _tables: dict[object, list[tuple[float, int]]] = field(default_factory=dict)

    @cached_property
    def horizon(self) -> Horizon:
        """The instance's horizon."""
        assert self.instance.horizon is not None
        return self.instance.horizon

    @property
    def quarters(self) -> range:
        """0, 1, …"""
        return range(self.horizon.quarters)

    @property
    def costs(self) -> bool:
        """Whether the least cost is looked for."""
        return self.instance.objective.kind == "cost"

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """Every zone on its own: those bought already, then the empty ones."""
        result = []
        for zone in self.instance.zones:
            begun = []
            for bought in self.horizon.bought:
                if bought.zone == zone.name:
                    deliveries = tuple((-inf if d.quarter is None else d.quarter, d.racks) for d in bought.deliveries)
                    begun += [Member(zone, bought.design, deliveries)] * bought.count
            result += begun + [Member(zone)] * (zone.count - len(begun))
        return tuple(result)

    def at(self, values: object, t: int) -> float | None:
        """The value of a field by quarter in one of them."""
        if values is None:
            return None
        assert isinstance(values, tuple)
        return float(values[t if len(values) > 1 else 0])

    def price(self, of: str, t: int) -> float:
        """The multiple of a price in a quarter."""
        stated = getattr(self.horizon.price_changes, of)
        if isinstance(stated, str):
            match = re.match(r"\s*([-+]?[\d.]+)", stated)
            assert match is not None
            return float((1.0 + float(match[1]) / 100.0) ** t)
        return 1.0 if stated is None else float(self.at(stated, t) or 0.0)

    def target(self, t: int) -> float:
        """Baseline GPUs that a quarter must reach."""
        if not self.costs:
            return 0.0
        own = self.at(self.horizon.goodput_target, t)
        return float(self.instance.objective.goodput_target or 0.0) if own is None else own

    def least_gpus(self, t: int) -> float:
        """Working GPUs that a quarter must have."""
        own = self.at(self.horizon.working_gpus.minimum, t)
        return max(own or 0.0, self.instance.limits.working_gpus.minimum or 0)

    def paths(self, member: Member) -> list[Path]:
        """Every way of a zone through the quarters."""
        zone = member.zone
        designs = [d.name for d in self.instance.designs if zone.designs is None or d.name in zone.designs]
        found = []
        for racks in itertools.product(*({0, *zone.racks, member.bought_by(t)} for t in self.quarters)):
            ordered = []
            for t in self.quarters:
                before = racks[t - 1] if t else member.bought_by(-1)
                ordered.append(racks[t] - before - (member.bought_by(t) - member.bought_by(t - 1)))
            if min(ordered) < 0 or any(ordered[: self.horizon.lead_time.racks]):
                continue
            taken = [None] if not any(racks) else designs if member.design is None else [member.design]
            found += [Path(design, racks, tuple(ordered)) for design in taken]
        return found

    def built(self, member: Member, path: Path, t: int) -> Built | None:
        """The zone in a quarter, with its racks by how often they fail."""
        if path.racks[t] == 0:
            return None
        assert path.design is not None
        arrived: Counter[float] = Counter()
        for when, racks in member.deliveries:
            if when <= t:
                arrived[when] += racks
        for u in range(t + 1):
            arrived[u] += path.ordered[u]
        early = self.horizon.early_life
        alike: Counter[tuple[float, float]] = Counter()
        for when, racks in arrived.items():
            age = t - when
            tray, rack = (many[int(age)] if age < len(many) else 1.0 for many in (early.tray, early.rack))
            alike[tray, rack] += racks
        young = tuple(Young(racks, *multiples) for multiples, racks in sorted(alike.items()) if racks)
        stated = all(cohort[1:] == (1.0, 1.0) for cohort in young)
        return Built(member.zone.name, path.design, path.racks[t], () if stated else young)

    def quarter_instance(self, zones: tuple[Built, ...], t: int) -> Instance:
        """The instance of one quarter: what is built, its prices and limits, no limit on capital."""
        instance, horizon = self.instance, self.horizon
        counts = Counter(zone.zone for zone in zones)
        limits = instance.limits
        jobs = (limits.working_gpus.maximum, self.at(horizon.working_gpus.maximum, t))
        caps = {
            name: [x for x in (getattr(limits, name), self.at(getattr(horizon, name), t)) if x is not None]
            for name in ("site_power", "it_power")
        }
        most = [int(x) for x in jobs if x is not None]
        gpus = WorkingGpus.model_construct(minimum=int(self.least_gpus(t)) or None, maximum=min(most) if most else None)
        own = {name: min(bounds) if bounds else None for name, bounds in caps.items()}
        target = self.target(t) or None
        plans = tuple(
            plan.model_copy(update={"crew_cost": self.price("crews", t) * plan.crew_cost})
            for plan in instance.repair_plans
        )
        energy = instance.power.energy_price
        energy = None if energy is None else self.price("energy", t) * energy
        return instance.model_copy(
            update={
                "horizon": None,
                "zones": tuple(
                    zone.model_copy(update={"count": counts[zone.name]}) for zone in instance.zones if counts[zone.name]
                ),
                "repair_plans": plans,
                "power": instance.power.model_copy(update={"energy_price": energy}),
                "limits": limits.model_copy(update={**own, "capital": None, "working_gpus": gpus}),
                "objective": instance.objective.model_copy(
                    update={"kind": "cost" if target else "goodput", "goodput_target": target}
                ),
            }
        )

    def ways_to_run(self, zones: tuple[Built, ...], t: int) -> list[tuple[float, int]]:
        """(goodput, or minus the yearly cost; trays on the shelves) of all ways to run a quarter within its limits.

        Those that another way matches with no more trays are left out.
        """
        if not zones:
            return [] if self.least_gpus(t) or self.target(t) else [(0.0, 0)]
        own = self.quarter_instance(zones, t)
        key = (zones, own.limits.model_dump_json(), self.target(t), self.price("crews", t), self.price("energy", t))
        if key not in self._tables:
            self._tables[key] = self._run(own, zones)
        return self._tables[key]

    def _run(self, own: Instance, zones: tuple[Built, ...]) -> list[tuple[float, int]]:
        classes = {zone.name: zone for zone in own.zones}
        groups = []
        for zone, members in itertools.groupby(zones):  # sorted: those built alike are neighbours
            offered = zone_choices(own, classes[zone.zone].model_copy(update={"racks": (zone.racks,)}))
            offered = [choice for choice in offered if choice.design == zone.design]
            number = len(list(members))
            groups.append([(zone, taken) for taken in itertools.combinations_with_replacement(offered, number)])
        found: dict[int, float] = {}
        for combination in itertools.product(*groups):
            placed = [(zone, choice) for zone, taken in combination for choice in taken]
            trays = sum(choice.shelf_trays or 0 for _, choice in placed)
            for plan in own.checkpoint_plans:
                score = self.score(own, placed, plan)
                if score is not None:
                    value = -score[1] if self.costs else score[0]
                    found[trays] = max(found.get(trays, -inf), value)
        return sorted(((value, trays) for trays, value in found.items()), key=lambda item: item[1])

    def score(
        self, own: Instance, placed: list[tuple[Built, ZoneChoice]], plan: CheckpointPlan
    ) -> tuple[float, float] | None:
        """Goodput and yearly cost of a way to run a quarter; None where it can't be, or breaks a limit."""
        decisions = Decisions.model_construct(zones=tuple(choice for _, choice in placed), checkpoint_plan=plan.name)
        self.evaluated += 1
        try:
            evaluation = evaluate(own, decisions)
        except InputError:
            return None
        if not any(zone.young for zone, _ in placed):
            return None if evaluation.violated else (evaluation.goodput, evaluation.yearly_cost or 0.0)
        if any(limit.limit not in RATE_LIMITS for limit in evaluation.violated):
            return None
        up, goodput, yearly = young_score(own, placed, plan, evaluation)
        limits, target = own.limits, own.objective.goodput_target
        fine = limits.availability is None or 1.0 - up <= (1.0 - limits.availability) * (1 + ROUNDING)
        fine = fine and (limits.yearly_cost is None or yearly <= limits.yearly_cost * (1 + ROUNDING))
        return (goodput, yearly) if fine and (target is None or goodput >= target * (1 - ROUNDING)) else None

    def plans(self) -> Iterator[tuple[tuple[Path, ...], tuple[int, ...]]]:
        """Every way of all zones (those alike in no order) with every order of trays, whether or not there is money."""
        groups = []
        for member, alike in itertools.groupby(self.members):
            number = len(list(alike))
            groups.append(list(itertools.combinations_with_replacement(self.paths(member), number)))
        shelves = [max(plan.shelf) for plan in self.instance.repair_plans if plan.shelf is not None]
        most = len(self.members) * max(shelves) if shelves else 0
        last = self.horizon.quarters - self.horizon.lead_time.shelf
        orders = [
            order
            for order in itertools.product(*(range(most + 1) if u < last else (0,) for u in self.quarters))
            if sum(order) <= most
        ]
        for combination in itertools.product(*groups):
            paths = tuple(path for taken in combination for path in taken)
            for order in orders:
                yield paths, order

    def paid(self, paths: tuple[Path, ...], shelf: tuple[int, ...]) -> list[list[tuple[float, int]]]:
        """For each quarter of order what is paid: (money, quarter of delivery)."""
        prices = {design.name: design.rack_price or 0.0 for design in self.instance.designs}
        tray = max((plan.tray_price for plan in self.instance.repair_plans if plan.shelf is not None), default=0.0)
        lead = self.horizon.lead_time
        result: list[list[tuple[float, int]]] = [[] for _ in self.quarters]
        for path in paths:
            for t, racks in enumerate(path.ordered):
                if racks and path.design is not None:
                    u = t - lead.racks
                    result[u].append((racks * prices[path.design] * self.price("racks", u), t))
        for u, trays in enumerate(shelf):
            if trays:
                result[u].append((trays * tray * self.price("shelf", u), u + lead.shelf))
        return result

    def affordable(self, paid: list[list[tuple[float, int]]]) -> bool:
        """Whether what is paid is within the money of every quarter and of the whole horizon."""
        sums = [sum(money for money, _ in items) for items in paid]
        budgets = [self.at(self.horizon.capital, t) for t in self.quarters]
        for t in self.quarters:
            if budgets[t] is not None:
                first = 0 if self.horizon.carry_over else t
                money = sum(budget or 0.0 for budget in budgets[first : t + 1])
                if sum(sums[first : t + 1]) > money * (1 + ROUNDING):
                    return False
        whole = self.instance.limits.capital
        return whole is None or sum(sums) <= whole * (1 + ROUNDING)

    def charges(self, paid: list[list[tuple[float, int]]]) -> float:
        """The discounted charges of all purchases within the horizon."""
        parts = self.instance.economics.amortisation / QUARTER
        total = 0.0
        for money, delivered in itertools.chain.from_iterable(paid):
            left = parts
            for t in range(delivered, self.horizon.quarters):
                total += self.weight(t) * money / parts * min(1.0, left)
                left = max(0.0, left - 1.0)
        return total

    def weight(self, t: int) -> float:
        """What a quarter counts."""
        return float((1.0 + self.horizon.discount_rate) ** (-t / 4))

    def on_shelf(self, shelf: tuple[int, ...], t: int) -> int:
        """Trays that have arrived by a quarter."""
        bought = sum(item.trays for item in self.horizon.shelf if item.quarter is None or item.quarter <= t)
        return bought + sum(trays for u, trays in enumerate(shelf) if u + self.horizon.lead_time.shelf <= t)

    def best(self) -> Best | None:
        """The best staged plan; None where there is none."""
        best: Best | None = None
        for paths, shelf in self.plans():
            paid = self.paid(paths, shelf)
            if not self.affordable(paid):
                continue
            total = self.charges(paid) if self.costs else 0.0
            for t in self.quarters:
                here = (self.built(member, path, t) for member, path in zip(self.members, paths, strict=True))
                zones = tuple(sorted(zone for zone in here if zone is not None))
                stock = self.on_shelf(shelf, t)
                values = [value for value, trays in self.ways_to_run(zones, t) if trays <= stock]
                if not values:
                    break
                total += self.weight(t) * (-max(values) / 4 if self.costs else QUARTER * max(values))
            else:
                better = best is None or (total < best.value if self.costs else total > best.value)
                if better and (self.costs or total > 0):
                    best = Best(total, paths, shelf)
        return best

    def number_of_paths(self) -> int:
        """How many (paths, orders) there are."""
        return sum(1 for _ in self.plans())


def binomial(n: int, p: Fraction) -> list[Fraction]:
    """P(k of n), for k = 0..n."""
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def down(rate: float, mttr: float) -> Fraction:
    """P(a unit is down)."""
    load = Fraction(rate) * Fraction(mttr)
    return load / (1 + load)


class YoungZone(NamedTuple):
    """P(a zone with racks of several ages has its working blocks), and how often they fail while it has, per hour."""

    up: Fraction
    rate: float


def young_zone(instance: Instance, design: BlockDesign, cohorts: tuple[Young, ...], choice: ZoneChoice) -> YoungZone:
    """A zone of racks of several ages, from the definition: all numbers of usable blocks of each age, in fractions.

    Working blocks are uniform over the usable ones: of u usable blocks, u_k of an age, w u_k / u work on average.
    """
    plan = next(plan for plan in instance.repair_plans if plan.name == choice.repair_plan)
    failures = instance.failures
    usable, rates = [], []
    for cohort in cohorts:
        tray = failures.tray.per_hour * design.relative_tray_rate * cohort.tray
        law = binomial(design.trays_per_block, down(tray, plan.tray.mttr))
        fine = sum(law[: choice.intra_block_spares + 1], Fraction(0))
        rate = (design.trays_per_block - choice.intra_block_spares) * tray
        if failures.rack is not None:
            rack = failures.rack.per_hour * design.relative_rack_rate * cohort.rack
            assert plan.rack is not None and design.blocks_per_rack == 1
            fine, rate = fine * (1 - down(rack, plan.rack.mttr)), rate + rack
        usable.append(binomial(cohort.racks * design.blocks_per_rack, fine))
        rates.append(rate)
    working = choice.racks * design.blocks_per_rack - choice.inter_block_spares
    up, charged = Fraction(0), Fraction(0)
    for numbers in itertools.product(*(range(len(law)) for law in usable)):
        total = sum(numbers)
        if total >= working:
            likely = Fraction(1)
            for number, law in zip(numbers, usable, strict=True):
                likely *= law[number]
            up += likely
            charged += likely * sum(
                (Fraction(rate) * number * working / total for rate, number in zip(rates, numbers, strict=True)),
                Fraction(0),
            )
    rate = float(charged / up)
    for domain in failures.domains:
        if domain.spans == "zone":
            repair = plan.domains.get(domain.name, domain.repair)
            up, rate = up * (1 - down(domain.per_hour, repair.mttr)), rate + domain.per_hour
    return YoungZone(up, rate)


def useful_share(plan: CheckpointPlan, rate: float) -> float:
    """The useful share of the unblocked time, faults hitting at any time: τ Λ φ / (exp(Λ(τ+δ)) − 1), at the best τ."""
    assert plan.save is not None and plan.detection is not None and plan.restart is not None
    save, recovery = plan.save, plan.detection + plan.restart

    def share(period: float) -> float:
        return period * rate * exp(-rate * recovery) / expm1(rate * (period + save))

    if plan.period != "best":
        assert plan.period is not None
        return share(plan.period)
    found = minimize_scalar(lambda x: -share(x), bounds=(0.0, 5.0 / rate), method="bounded", options={"xatol": 1e-12})
    return -float(found.fun)


def young_score(
    own: Instance, placed: list[tuple[Built, ZoneChoice]], plan: CheckpointPlan, stated: Evaluation
) -> tuple[float, float, float]:
    """Availability, goodput and yearly cost of zones with racks of several ages.

    From ``stated``, the evaluation as if all racks failed at the stated rates, come working GPUs and scale, which
    do not depend on that.
    """
    designs = {design.name: design for design in own.designs}
    up, rate, yearly = Fraction(1), 0.0, plan.yearly_cost
    working_draw = blocked_draw = 0.0
    for zone, choice in placed:
        design = designs[zone.design]
        cohorts = zone.young or (Young(zone.racks, 1.0, 1.0),)
        score = young_zone(own, design, cohorts, choice)
        up, rate = up * score.up, rate + score.rate
        yearly += next(repair.yearly_cost for repair in own.repair_plans if repair.name == choice.repair_plan)
        if design.power is not None:
            blocks = zone.racks * design.blocks_per_rack
            blocked_draw += (
                blocks * design.trays_per_block * design.power.tray_idle + zone.racks * design.power.rack_rest
            )
            at_work = (blocks - choice.inter_block_spares) * (design.trays_per_block - choice.intra_block_spares)
            draw = design.power.tray_other + design.gpus_per_tray * (choice.gpu_limit or design.power.gpu_full_limit)
            working_draw += at_work * (draw - design.power.tray_idle)
    for domain in own.failures.domains:
        if domain.spans == "site":
            up, rate = up * (1 - down(domain.per_hour, domain.repair.mttr)), rate + domain.per_hour
    if own.failures.software is not None:
        rate += own.failures.software.per_hour
    availability = float(up)
    goodput = stated.working_gpus * availability * useful_share(plan, rate) * stated.scale
    if own.power.energy_price is not None:
        energy = own.power.pue * YEAR * (blocked_draw + availability * working_draw)
        yearly += own.power.energy_price * energy
    return availability, goodput, yearly
