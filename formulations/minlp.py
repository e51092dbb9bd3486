r"""The whole problem as one nonlinear model of integers: designs, spares, repair, power and checkpoints of a few zones.

A second statement of what the candidates, the evaluator and the selection model compute between them, from the formulas
alone, for checks on small cases.  Repair is ample, units fail independently, and every rack holds one block, or never
fails.

Variables of a zone z: $x_d$ chooses the design, and with it K; the intra-block spares
$I = \sum_{j\ge1} v_j$ and the inter-block spares $R = \sum_{j\ge1} t_j$ are counted by falling binaries
($v_j = 1$ where $I \ge j$); $l_n$ chooses the number of blocks $L = \sum_n n\,l_n$, which is
racks times blocks per rack; $y_p$ the repair plan; $c_s$ the GPU limit.  For the cluster $o_k$
chooses the checkpoint plan.  With a as the chosen plan's probability that a tray is up, $1/(1+\lambda m_p)$,
$r$ that of a rack and $q$ that of what spans the zone, the heads of binomial laws are polynomials:

```math
\begin{aligned}
b_z &= r_z \sum_d x_d \sum_{j<K_d} v_j \binom{K_d}{j} (1-a_z)^j a_z^{K_d-j}, \qquad v_0 = 1,\\
A_z &= q_z \sum_n l_n \sum_{j<n} t_j \binom{n}{j} (1-b_z)^j b_z^{n-j}, \qquad t_0 = 1 .
\end{aligned}
```

With $w = L-R$ working blocks of $k = K-I$ working trays of g GPUs

```math
N = \sum_z w_z k_z g_z, \qquad \Lambda = \Lambda_0 + \sum_z \bigl(w_z (k_z\lambda_{tray} + \lambda_{rack})
+ \lambda_{zone}\bigr),
```

and with $u = \Lambda\tau$, save $\delta$ and recovery time $\rho$ of the chosen checkpoint plan

```math
\ln\eta = \ln u - \Lambda\rho - \ln\bigl(e^{u+\Lambda\delta} - 1\bigr) .
```

At a given period $u = \Lambda\tau_k$; at the best one u is free, and as nothing gets better by a
smaller $\eta$, its optimum is the best period: the condition for it, $1-u=e^{-u-\Lambda\delta}$, need not
be stated.

Scale: $\ln s \le \ln h_z + \ln g(n_z) + \ln(\text{speed}_z)$ for every zone, with $n = kg$ and the ring
form $g(n) = n/(1+o(n-1))$ over that of the reference size; $\ln h$ is a number of the GPU limit, a gain of
spares $v_1 \ln gain$, or $e\,(\ln(K-\alpha I) - \ln(K-I))$ of a rack of fixed power.  Then

```math
\ln(\text{goodput}) = \ln N + \ln s + \ln A_{site} + \sum_z \ln A_z + \ln\eta .
```

Power drawn: $B = \sum_z racks_z\,(\text{blocks per rack}\cdot K\,\text{idle} + \text{rest})$ while blocked and
$E = \sum_z w_z k_z (\text{working} - \text{idle})$ more while running.  Capital is racks times price plus site
capital times B + E; the yearly cost that of plans plus energy, price $\times (B + A E)$ with
$A = A_{site} \prod_z A_z$; cost is capital over the years it is spread plus yearly cost.  Placement groups of G
GPUs: $k g P = G$ and $w = P m$ with whole P and m.

Only the binaries (and P, m) are declared whole: counts follow from them.  Declared so too, they led SCIP 10 to call
feasible models infeasible and to cut off optima, in one case of ten; so did a load u bounded by nothing better than 0.

Objectives: $\ln$ goodput, least cost with $\ln$ goodput above a target, or $\ln$ goodput less
$\ln$ cost.  Plans whose zones are up for less than ``LEAST_UP`` of the time are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from math import comb, exp, expm1, log
from operator import mul
from typing import Any, Literal

import pyomo.environ as pyo

LEAST_UP = 1e-9
ROOM = 0.01
"""Relative room in the bounds of variables: with none to spare SCIP calls feasible plans infeasible."""
ROUNDING = 1e-9  # relative slack of every limit, so that rounding never cuts off a plan that meets it exactly


@dataclass(frozen=True)
class PowerState:
    """A GPU limit of a design: ln of its hardware scale, and the draw of a working tray (kW)."""

    log_scale: float = 0.0
    working: float = 0.0


@dataclass(frozen=True)
class Design:
    """A way to build blocks: K, GPUs per tray, blocks per rack, choices of I and of R, price and draws (kW)."""

    trays: int
    gpus_per_tray: int
    intra: tuple[int, ...]
    inter: tuple[int, ...]
    blocks_per_rack: int = 1
    rack_price: float = 0.0
    idle: float = 0.0
    rest: float = 0.0
    states: tuple[PowerState, ...] = (PowerState(),)

    @property
    def blocked_draw(self) -> float:
        """Draw of a rack whose trays are all idle, kW."""
        return self.blocks_per_rack * self.trays * self.idle + self.rest


@dataclass(frozen=True)
class Repair:
    """A repair plan: the probability that a tray, a rack and what spans the zone is up; its yearly cost per zone."""

    tray_up: float
    rack_up: float = 1.0
    zone_up: float = 1.0
    yearly_cost: float = 0.0


@dataclass(frozen=True)
class Checkpoints:
    """A checkpoint plan: save, recovery and period in h (None: the best one), and its yearly cost."""

    save: float
    recovery: float
    period: float | None = None
    yearly_cost: float = 0.0


@dataclass(frozen=True)
class Zone:
    """A zone: the designs it may take, its choices of racks, and ln of its relative speed.

    ``like`` is an earlier zone of the same kind: the two are ordered by working trays, as to swap them changes nothing.
    """

    designs: tuple[int, ...]
    racks: tuple[int, ...]
    log_speed: float = 0.0
    like: int | None = None


@dataclass(frozen=True)
class RackPower:
    """Hardware scale ((K − idle·I)/(K − I))^exponent of a rack of fixed power."""

    idle: float
    exponent: float


@dataclass(frozen=True)
class Ring:
    """LLM scale of n working GPUs in a block: n/(1 + overhead (n−1)), over that of the reference size."""

    overhead: float
    reference: int


@dataclass(frozen=True)
class Caps:
    """Limits: money, power (kW), racks, GPUs, probabilities; None where there is none."""

    capital: float | None = None
    yearly_cost: float | None = None
    it_power: float | None = None
    rack_power: float | None = None
    racks: int | None = None
    fewest_gpus: int | None = None
    most_gpus: int | None = None
    availability: float | None = None


@dataclass(frozen=True)
class Cluster:
    """The numbers of the model; rates per hour, money in one currency, ``energy_price`` per kW of IT draw all year."""

    zones: tuple[Zone, ...]
    designs: tuple[Design, ...]
    repairs: tuple[Repair, ...]
    checkpoints: tuple[Checkpoints, ...]
    tray_rate: float
    goal: Literal["value", "cost", "ratio"] = "value"
    rack_rate: float = 0.0
    zone_rate: float = 0.0
    site_rate: float = 0.0
    site_up: float = 1.0
    gain_with_spares: float = 1.0
    rack_power: RackPower | None = None
    ring: Ring | None = None
    placement_group: int | None = None
    energy_price: float = 0.0
    site_capital: float = 0.0
    years: float = 1.0
    caps: Caps = Caps()
    log_target: float | None = None


def build(cluster: Cluster) -> pyo.ConcreteModel:
    """The Pyomo model of a cluster.

    The plan is read from ``design[z, d]``, ``racks[z]``, ``intra[z]``, ``inter[z]``, ``repair[z, p]``,
    ``state[z, d, s]`` and ``checkpoint[k]``.
    """
    model = pyo.ConcreteModel(name="minlp")
    zones = range(len(cluster.zones))
    _add_choices(model, cluster)
    _add_sizes(model, cluster)
    _add_availability(model, cluster)
    _add_efficiency(model, cluster)
    _add_scale(model, cluster)
    value = (
        pyo.log(model.gpus)
        + model.log_scale
        + log(cluster.site_up)
        + sum(pyo.log(model.zone_up[z]) for z in zones)
        + model.log_efficiency
    )
    _add_money(model, cluster)
    _add_caps(model, cluster)
    if cluster.log_target is not None:
        model.target = pyo.Constraint(expr=value >= cluster.log_target - ROUNDING)
    if cluster.goal == "value":
        model.objective = pyo.Objective(expr=value, sense=pyo.maximize)
    elif cluster.goal == "cost":
        model.objective = pyo.Objective(expr=model.cost, sense=pyo.minimize)
    else:
        model.objective = pyo.Objective(expr=value - pyo.log(model.cost), sense=pyo.maximize)
    return model


def cost_unit(cluster: Cluster) -> float:
    """The money in which ``cost`` counts, so that it is near one: that of the dearest racks, or of the plans alone."""
    racks = sum(max(zone.racks) for zone in cluster.zones)
    spread = racks * max(design.rack_price for design in cluster.designs) / cluster.years
    plans = len(cluster.zones) * max(repair.yearly_cost for repair in cluster.repairs)
    return max(spread + plans, 1.0)


def _add_choices(model: pyo.ConcreteModel, cluster: Cluster) -> None:
    """Binaries of every choice, and the integers that they count."""
    zones = range(len(cluster.zones))
    offered = {z: [cluster.designs[d] for d in zone.designs] for z, zone in enumerate(cluster.zones)}
    pairs = [(z, d) for z, zone in enumerate(cluster.zones) for d in zone.designs]
    model.design = pyo.Var(pairs, domain=pyo.Binary)
    model.repair = pyo.Var(zones, range(len(cluster.repairs)), domain=pyo.Binary)
    model.checkpoint = pyo.Var(range(len(cluster.checkpoints)), domain=pyo.Binary)
    states = [(z, d, s) for z, d in pairs for s in range(len(cluster.designs[d].states))]
    model.state = pyo.Var(states, domain=pyo.Binary)
    model.racks = pyo.Var(zones, bounds=(0, None))
    model.intra = pyo.Var(zones, bounds=(0, None))
    model.inter = pyo.Var(zones, bounds=(0, None))
    most_intra = {z: max(max(design.intra) for design in offered[z]) for z in zones}
    most_inter = {z: max(max(design.inter) for design in offered[z]) for z in zones}
    sizes = {z: _sizes(cluster, z) for z in zones}
    model.at_least_intra = pyo.Var([(z, j) for z in zones for j in range(1, most_intra[z] + 1)], domain=pyo.Binary)
    model.at_least_inter = pyo.Var([(z, j) for z in zones for j in range(1, most_inter[z] + 1)], domain=pyo.Binary)
    model.blocks = pyo.Var([(z, n) for z in zones for n in sizes[z]], domain=pyo.Binary)
    model.racks_are = pyo.Var([(z, n) for z in zones for n in cluster.zones[z].racks], domain=pyo.Binary)
    model.choice = pyo.ConstraintList()
    model.choice.add(sum(model.checkpoint.values()) == 1)
    for z, zone in enumerate(cluster.zones):
        model.choice.add(sum(model.design[z, d] for d in zone.designs) == 1)
        model.choice.add(sum(model.repair[z, :]) == 1)
        model.choice.add(sum(model.blocks[z, n] for n in sizes[z]) == 1)
        model.choice.add(sum(model.racks_are[z, n] for n in zone.racks) == 1)
        model.racks[z].setlb(min(zone.racks))
        model.racks[z].setub(max(zone.racks))
        model.choice.add(model.racks[z] == sum(n * model.racks_are[z, n] for n in zone.racks))
        per_rack = sum(cluster.designs[d].blocks_per_rack * model.design[z, d] for d in zone.designs)
        alike = {design.blocks_per_rack for design in offered[z]}
        model.choice.add(
            sum(n * model.blocks[z, n] for n in sizes[z])
            == model.racks[z] * (per_rack if len(alike) > 1 else alike.pop())
        )
        for count, falling, most in (
            (model.intra, model.at_least_intra, most_intra[z]),
            (model.inter, model.at_least_inter, most_inter[z]),
        ):
            count[z].setub(most)
            model.choice.add(count[z] == sum(falling[z, j] for j in range(1, most + 1)))
            for j in range(1, most):
                model.choice.add(falling[z, j + 1] <= falling[z, j])
        for d in zone.designs:
            design = cluster.designs[d]
            model.choice.add(sum(model.state[z, d, s] for s in range(len(design.states))) == model.design[z, d])
            for falling, most, choices in (
                (model.at_least_intra, most_intra[z], design.intra),
                (model.at_least_inter, most_inter[z], design.inter),
            ):
                for j in set(range(most + 1)) - set(choices):
                    exactly = (falling[z, j] if j else 1) - (falling[z, j + 1] if j < most else 0)
                    model.choice.add(model.design[z, d] + exactly <= 1)


def _sizes(cluster: Cluster, z: int) -> list[int]:
    """The numbers of blocks that a zone can have."""
    zone = cluster.zones[z]
    return sorted({n * cluster.designs[d].blocks_per_rack for n in zone.racks for d in zone.designs})


def _add_sizes(model: pyo.ConcreteModel, cluster: Cluster) -> None:
    """Working blocks and trays, GPUs, the interruption rate, placement groups."""
    zones = range(len(cluster.zones))
    model.working_blocks = pyo.Var(zones, bounds=(1, None))
    model.trays_at_work = pyo.Var(zones, bounds=(1, None))
    model.working_trays = pyo.Var(zones, bounds=(1, None))
    model.block_gpus = pyo.Var(zones, bounds=(1, None))
    model.zone_gpus = pyo.Var(zones, bounds=(1, None))
    model.gpus = pyo.Var()
    model.rate = pyo.Var()
    model.size = pyo.ConstraintList()
    least = most = 0
    low = high = cluster.site_rate
    for z, zone in enumerate(cluster.zones):
        designs = [cluster.designs[d] for d in zone.designs]
        most_blocks, most_trays = max(_sizes(cluster, z)), max(design.trays for design in designs)
        gpus = max(design.gpus_per_tray for design in designs)
        model.working_blocks[z].setub(most_blocks)
        model.trays_at_work[z].setub(most_trays)
        model.working_trays[z].setub(most_blocks * most_trays)
        model.block_gpus[z].setub(most_trays * gpus)
        model.zone_gpus[z].setub(most_blocks * most_trays * gpus)
        model.size.add(
            model.working_blocks[z] == sum(n * model.blocks[z, n] for n in _sizes(cluster, z)) - model.inter[z]
        )
        trays = sum(cluster.designs[d].trays * model.design[z, d] for d in zone.designs)
        model.size.add(model.trays_at_work[z] == trays - model.intra[z])
        model.size.add(model.working_trays[z] == model.working_blocks[z] * model.trays_at_work[z])
        per_tray = sum(cluster.designs[d].gpus_per_tray * model.design[z, d] for d in zone.designs)
        model.size.add(model.block_gpus[z] == model.trays_at_work[z] * per_tray)
        model.size.add(model.zone_gpus[z] == model.working_trays[z] * per_tray)
        least += min(design.gpus_per_tray for design in designs)
        most += most_blocks * most_trays * gpus
        low += cluster.tray_rate + cluster.rack_rate + cluster.zone_rate
        high += most_blocks * (most_trays * cluster.tray_rate + cluster.rack_rate) + cluster.zone_rate
        if zone.like is not None:
            model.size.add(model.working_trays[zone.like] >= model.working_trays[z])
    model.size.add(model.gpus == sum(model.zone_gpus.values()))
    model.gpus.setlb(least)
    model.gpus.setub(most)
    model.size.add(
        model.rate
        == cluster.site_rate
        + sum(
            cluster.tray_rate * model.working_trays[z] + cluster.rack_rate * model.working_blocks[z] + cluster.zone_rate
            for z in zones
        )
    )
    model.rate.setlb(low * (1 - ROOM))
    model.rate.setub(high * (1 + ROOM))
    if cluster.placement_group is not None:
        group = cluster.placement_group
        model.group_blocks = pyo.Var(zones, domain=pyo.PositiveIntegers, bounds=(1, group))
        model.groups = pyo.Var(zones, domain=pyo.PositiveIntegers)
        for z in zones:
            model.groups[z].setub(model.working_blocks[z].ub)
            model.size.add(model.block_gpus[z] * model.group_blocks[z] == group)
            model.size.add(model.working_blocks[z] == model.group_blocks[z] * model.groups[z])


def _add_availability(model: pyo.ConcreteModel, cluster: Cluster) -> None:
    """The probability that a tray, a block and a zone is up."""
    zones = range(len(cluster.zones))
    model.tray_up = pyo.Var(zones)
    model.block_up = pyo.Var(zones)
    model.zone_up = pyo.Var(zones)
    model.up = pyo.ConstraintList()
    for z, zone in enumerate(cluster.zones):
        trays = [repair.tray_up for repair in cluster.repairs]
        racks = [repair.rack_up for repair in cluster.repairs]
        whole = [repair.zone_up for repair in cluster.repairs]
        tray_up: Any = trays[0]
        if min(trays) < max(trays):
            tray_up = model.tray_up[z]
            tray_up.setlb(min(trays) * (1 - ROOM))
            tray_up.setub(1)
            model.up.add(tray_up == _chosen(model.repair, z, trays))
        least = min(trays) ** max(cluster.designs[d].trays for d in zone.designs) * min(racks)
        model.block_up[z].setlb(least * (1 - ROOM))
        model.block_up[z].setub(1)
        block = sum(
            model.design[z, d]
            * _head(tray_up, cluster.designs[d].trays, model.at_least_intra, z, max(cluster.designs[d].intra))
            for d in zone.designs
        )
        model.up.add(model.block_up[z] == _chosen(model.repair, z, racks) * block)
        most = max(max(cluster.designs[d].inter) for d in zone.designs)
        model.zone_up[z].setlb(max(LEAST_UP, least ** max(_sizes(cluster, z)) * min(whole) * (1 - ROOM)))
        model.zone_up[z].setub(1)
        enough = sum(
            model.blocks[z, n] * _head(model.block_up[z], n, model.at_least_inter, z, most) for n in _sizes(cluster, z)
        )
        model.up.add(model.zone_up[z] == _chosen(model.repair, z, whole) * enough)


def _chosen(binary: Any, z: int, values: list[float]) -> Any:
    """The number that goes with what a zone chose; a number where it is the same for all."""
    if len(set(values)) == 1:
        return values[0]
    return sum(value * binary[z, k] for k, value in enumerate(values))


def _head(up: Any, number: int, at_least: Any, z: int, most: int) -> Any:
    """P(at most so many of ``number`` units are down), each up with probability ``up``; ``at_least`` counts them."""
    whole = up**number
    return whole + sum(
        comb(number, j) * at_least[z, j] * (1 - up) ** j * up ** (number - j)
        for j in range(1, min(most, number - 1) + 1)
    )


def _add_efficiency(model: pyo.ConcreteModel, cluster: Cluster) -> None:
    r"""The logarithm of $\eta$, by the load u, work between saves in units of the mean time between faults."""
    plans = cluster.checkpoints
    low, high = model.rate.bounds
    given = [plan.period for plan in plans if plan.period is not None]
    saves = [plan.save for plan in plans]
    best = [plan.save for plan in plans if plan.period is None]
    loads = [rate * period for rate in (low, high) for period in given]
    if best:
        loads += [_best_load(low * min(best))[0], _best_load(high * max(best))[1]]
    model.work_load = pyo.Var(bounds=(min(loads) * (1 - ROOM), max(loads) * (1 + ROOM)))
    stretches = (min(loads) + low * min(saves), max(loads) + high * max(saves))
    model.stretch = pyo.Var(bounds=(stretches[0] * (1 - ROOM), stretches[1] * (1 + ROOM)))
    model.recovery_load = pyo.Var(bounds=(0, max(plan.recovery for plan in plans) * high))
    model.log_efficiency = pyo.Var(bounds=(-50, 0))
    model.efficiency = pyo.ConstraintList()

    def by_plan(numbers: Iterable[float]) -> Any:
        values = list(numbers)
        if len(set(values)) == 1:
            return values[0]
        return sum(value * model.checkpoint[k] for k, value in enumerate(values))

    if given:
        # where the period is best, u is free up to 1: it takes the place of rate times period
        model.own_load = pyo.Var(bounds=(0, 1 if best else 0))
        free = sum(model.checkpoint[k] for k, plan in enumerate(plans) if plan.period is None)
        model.efficiency.add(model.own_load <= free)
        model.efficiency.add(
            model.work_load == model.rate * by_plan(plan.period or 0.0 for plan in plans) + model.own_load
        )
    model.efficiency.add(model.stretch == model.work_load + model.rate * by_plan(plan.save for plan in plans))
    model.efficiency.add(model.recovery_load == model.rate * by_plan(plan.recovery for plan in plans))
    model.efficiency.add(
        model.log_efficiency == pyo.log(model.work_load) - model.recovery_load - pyo.log(pyo.exp(model.stretch) - 1)
    )


def _best_load(save_load: float) -> tuple[float, float]:
    """An interval with the best load u at a save of ``save_load`` mean times between faults.

    It solves 1 − u = exp(−u − x), that is ∫₀ᵘ t eᵗ dt = 1 − e⁻ˣ, and the integral is from u²/2 to e u²/2 for u up to 1.
    """
    most = -2.0 * expm1(-save_load)
    return (most / exp(1.0)) ** 0.5, min(most**0.5, 1.0)


def _add_scale(model: pyo.ConcreteModel, cluster: Cluster) -> None:
    """The logarithm of the slowest zone's scale."""
    model.log_scale = pyo.Var(bounds=(-20, 20))
    model.scale = pyo.ConstraintList()
    for z, zone in enumerate(cluster.zones):
        speed = zone.log_speed + sum(
            state.log_scale * model.state[z, d, s]
            for d in zone.designs
            for s, state in enumerate(cluster.designs[d].states)
            if state.log_scale
        )
        if cluster.gain_with_spares != 1 and model.intra[z].ub:
            speed += log(cluster.gain_with_spares) * model.at_least_intra[z, 1]
        if cluster.rack_power is not None:
            form, spares = cluster.rack_power, model.intra[z]
            speed += form.exponent * (
                pyo.log(model.trays_at_work[z] + (1 - form.idle) * spares) - pyo.log(model.trays_at_work[z])
            )
        if cluster.ring is not None:
            overhead, gpus = cluster.ring.overhead, model.block_gpus[z]
            reference = log(cluster.ring.reference / (1 + overhead * (cluster.ring.reference - 1)))
            speed += pyo.log(gpus) - pyo.log(1 + overhead * (gpus - 1)) - reference
        model.scale.add(model.log_scale <= speed)


def _add_money(model: pyo.ConcreteModel, cluster: Cluster) -> None:
    """Power drawn and money; both in kW and in the unit of cost."""
    zones = range(len(cluster.zones))
    unit = cost_unit(cluster)
    model.blocked_draw = pyo.Var(bounds=(0, None))
    model.running_draw = pyo.Var(bounds=(0, None))
    model.capital = pyo.Var(bounds=(0, None))
    model.yearly_cost = pyo.Var(bounds=(0, None))
    model.cost = pyo.Var(bounds=(0, None))
    model.money = pyo.ConstraintList()
    blocked = running = price = 0
    for z, zone in enumerate(cluster.zones):
        for d in zone.designs:
            design = cluster.designs[d]
            blocked += design.blocked_draw * model.racks[z] * model.design[z, d]
            price += design.rack_price / unit * model.racks[z] * model.design[z, d]
            for s, state in enumerate(design.states):
                running += (state.working - design.idle) * model.working_trays[z] * model.state[z, d, s]
    model.money.add(model.blocked_draw == blocked)
    model.money.add(model.running_draw == running)
    draw = model.blocked_draw + model.running_draw
    model.money.add(model.capital == price + cluster.site_capital / unit * draw)
    plans = sum(
        repair.yearly_cost / unit * model.repair[z, p] for z in zones for p, repair in enumerate(cluster.repairs)
    )
    plans += sum(plan.yearly_cost / unit * model.checkpoint[k] for k, plan in enumerate(cluster.checkpoints))
    energy = 0
    if cluster.energy_price:
        up = reduce(mul, (model.zone_up[z] for z in zones), cluster.site_up)
        energy = cluster.energy_price / unit * (model.blocked_draw + up * model.running_draw)
    model.money.add(model.yearly_cost == plans + energy)
    model.money.add(model.cost == model.capital / cluster.years + model.yearly_cost)
    if cluster.goal == "ratio":
        zones_racks = [
            min(zone.racks) * min(cluster.designs[d].rack_price for d in zone.designs) for zone in cluster.zones
        ]
        model.cost.setlb(max(sum(zones_racks) / cluster.years / unit * (1 - ROOM), 1e-6))


def _add_caps(model: pyo.ConcreteModel, cluster: Cluster) -> None:
    """The limits, each divided by its bound."""
    zones = range(len(cluster.zones))
    caps, unit = cluster.caps, cost_unit(cluster)
    model.cap = pyo.ConstraintList()
    draw = model.blocked_draw + model.running_draw
    for used, most, size in (
        (model.capital, caps.capital, unit),
        (model.yearly_cost, caps.yearly_cost, unit),
        (draw, caps.it_power, 1.0),
        (sum(model.racks.values()), caps.racks, 1.0),
        (model.gpus, caps.most_gpus, 1.0),
    ):
        if most is not None:
            model.cap.add(used * (size / most) <= 1 + ROUNDING)
    if caps.fewest_gpus is not None:
        model.cap.add(model.gpus / caps.fewest_gpus >= 1 - ROUNDING)
    if caps.availability is not None:
        up = reduce(mul, (model.zone_up[z] for z in zones), cluster.site_up)
        model.cap.add(up >= caps.availability - ROUNDING * (1 - caps.availability))
    if caps.rack_power is not None:
        for z, zone in enumerate(cluster.zones):
            for d in zone.designs:
                design = cluster.designs[d]
                for s, state in enumerate(design.states):
                    trays = model.trays_at_work[z] * state.working + model.intra[z] * design.idle
                    rack = design.blocks_per_rack * trays + design.rest
                    model.cap.add(rack * model.state[z, d, s] / caps.rack_power <= 1 + ROUNDING)
