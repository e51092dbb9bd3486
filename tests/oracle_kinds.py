"""What this project makes of the records of `oracles/repair.json` and `oracles/goodput.json`, by kind of record.

One function for each kind computes everything that the record expects.  What a planner uses goes through the
functions of `spareopt`; the rest (survival, time to failure, another cluster's Markov chain, queues with open
arrivals, a trace) is a small calculation of its own here, which shows that terms and rules of the records are
understood as their sources mean them.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable
from math import lgamma, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import expm
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spsolve

from spareopt.first_order import interruption_rate, tray_first_passage
from spareopt.numerics.ageing import computing_only, working_only
from spareopt.numerics.availability import Domain, block_unavailability, unavailability, unusable_law, zone_shortfall
from spareopt.numerics.crews import Pool, crew_law
from spareopt.numerics.deferral import deferred_block
from spareopt.numerics.guarantee import guaranteed_blocks, implied_availability, probability_of, spares_for
from spareopt.numerics.recovery import Checkpointing, Model
from spareopt.numerics.shelf import expected_backorders, palm_backorders

Array = NDArray[np.float64]
Record = dict[str, Any]
Results = dict[str, Any]
State = tuple[tuple[int, ...], int | None]

FILES = {
    name: json.loads((Path(__file__).parent / "oracles" / name).read_text(encoding="utf-8"))
    for name in ("repair.json", "goodput.json", "redundancy.json")
}
RECORDS: dict[str, Record] = {record["id"]: record for file in FILES.values() for record in file["records"]}
BOTH_MODELS: tuple[Model, ...] = ("exact", "first-order")


def birth_death(up: ArrayLike, down: ArrayLike) -> Array:
    """Stationary law of a chain on 0, 1, … that rises from j at up[j] and falls from j + 1 at down[j]."""
    weights = np.cumprod(np.append(1.0, np.asarray(up) / np.asarray(down)))
    return np.asarray(weights / weights.sum())


def stationary(start: State, moves: Callable[[State], Iterable[tuple[State, float]]]) -> dict[State, float]:
    """Stationary law over all states that can be reached, from their balance equations."""
    places, pending = {start: 0}, deque([start])
    entries: list[tuple[int, int, float]] = []
    while pending:
        state = pending.popleft()
        for target, rate in moves(state):
            if target not in places:
                places[target] = len(places)
                pending.append(target)
            entries += [(places[target], places[state], rate), (places[state], places[state], -rate)]
    size = len(places)
    # the first balance equation is implied by the others; the sum takes its place
    entries = [entry for entry in entries if entry[0]] + [(0, place, 1.0) for place in range(size)]
    rows, columns, values = zip(*entries, strict=True)
    law = spsolve(csc_matrix((values, (rows, columns)), shape=(size, size)), np.eye(1, size)[0])
    return dict(zip(places, law.tolist(), strict=True))


# Repair and availability


def finite_source(record: Record) -> Results:
    """The machine-repair model: `crew_law` and Little's law."""
    machines, rate, repairers = (record["inputs"][name] for name in ("N", "lam", "R"))
    law = crew_law((Pool(machines, rate, 1 / record["inputs"]["mu"]),), repairers)
    down = float(np.arange(machines + 1) @ law.failed)
    arrivals = rate * (machines - down)
    return {
        "P0": law.failed[0],
        "L": down,
        "Lq": law.mean_wait * arrivals,
        "Wq": law.mean_wait,
        "W": down / arrivals,
        "downtime_per_cycle": down / arrivals,
        "lam_eff": arrivals,
        "running": machines - down,
        "productivity_pct": 100 * (1 - down / machines),
        "Pw_time": law.failed[repairers:].sum(),
    }


def repair_crew_optimum(record: Record) -> Results:
    """Cost of each number of crews, and the cheapest: a wrong mean number down would move it."""
    inputs = record["inputs"]
    pool = Pool(inputs["N"], inputs["lam"], 1 / inputs["mu"])
    cost = {}
    for crews in range(inputs["R_range"][0], inputs["R_range"][1] + 1):
        down = float(np.arange(inputs["N"] + 1) @ crew_law((pool,), crews).failed)
        cost[str(crews)] = inputs["cost_per_crew"] * crews + inputs["cost_per_down"] * down
    return {"cost": cost, "R_opt": int(min(cost, key=cost.__getitem__))}


def delayed_repair(record: Record) -> Results:
    """`deferred_block` of two machines: d = 2, no delay, and one repairer who stays until both are up."""
    rate, repair = record["inputs"]["lam"], 1 / record["inputs"]["mu"]

    def up_share(technicians: int | None) -> float:
        down = [deferred_block(2, spares, rate, repair, 0.0, 2, False, technicians).unavailability for spares in (0, 1)]
        return 1 - sum(down) / 2

    assert up_share(None) == pytest.approx(10 / 19, rel=1e-14)  # a repairer for each is another story
    return {"up_fraction": up_share(1)}


def mmc_cost(record: Record) -> Results:
    """Servers and customers that wait, M/M/c; the chain is cut where nothing is left."""
    inputs = record["inputs"]
    jobs = np.arange(1, 4001)
    cost = {}
    for servers in range(inputs["c_range"][0], inputs["c_range"][1] + 1):
        law = birth_death(np.full(len(jobs), inputs["lam"]), inputs["mu"] * np.minimum(jobs, servers))
        cost[str(servers)] = inputs["C_server"] * servers + inputs["C_wait"] * float(law[1:] @ jobs)
    return {"cost": cost, "c_opt": int(min(cost, key=cost.__getitem__))}


def erlang_b(record: Record) -> Results:
    """A zone is blocked like a loss system of R + 1 servers."""
    return {"B": working_only(record["inputs"]["c"] - 1, record["inputs"]["a"], 1.0)}


def kofn_availability(record: Record) -> Results:
    """k of n with crews: `crew_law`, and `deferred_block` called at the first failure, which shares no code with it."""
    inputs = record["inputs"]
    spares = inputs["n"] - inputs["k"]
    failed = crew_law((Pool(inputs["n"], inputs["lam"], 1 / inputs["mu"]),), inputs["R"]).failed
    at_once = deferred_block(inputs["n"], spares, inputs["lam"], 1 / inputs["mu"], 0.0, 1, False, inputs["R"])
    assert at_once.unavailability == pytest.approx(float(failed[spares + 1 :].sum()), rel=1e-12)
    return {"A": failed[: spares + 1].sum(), "freq": failed[spares] * inputs["k"] * inputs["lam"]}


def kofn_warm(record: Record) -> Results:
    """Dormant units fail at a share f of the rate: a birth-death chain."""
    inputs = record["inputs"]
    failed = np.arange(inputs["n"])
    working = np.minimum(inputs["k"], inputs["n"] - failed)
    dormant = inputs["n"] - failed - working
    law = birth_death(
        inputs["lam"] * (working + inputs["f"] * dormant), inputs["mu"] * np.minimum(failed + 1, inputs["R"])
    )
    return {"A": law[: inputs["n"] - inputs["k"] + 1].sum()}


def kofn_mttf(record: Record) -> Results:
    """Mean time until k of n fails, from all up, as a sum of mean times from j failed units to j + 1.

    Each follows from the one before with positive terms alone; a linear solve would lose a digit for every power of
    ten in the repair rate over the failure rate.  With one spare the published first passage is the same chain.
    """
    inputs = record["inputs"]
    spares = inputs["n"] - inputs["k"]
    total = step = 0.0
    for failed in range(spares + 1):
        step = (1.0 + inputs["mu"] * min(failed, inputs["R"]) * step) / (inputs["lam"] * (inputs["n"] - failed))
        total += step
    if spares == 1:
        passage = float(tray_first_passage(inputs["n"], 1, 1 / inputs["lam"], 1 / inputs["mu"]))
        assert passage == pytest.approx(total, rel=1e-14)
    return {"MTTF": total}


def kofn_survival(record: Record) -> Results:
    """P(never fewer than k of n up until T), by the exponential of the chain that ends in the loss."""
    inputs = record["inputs"]
    lost = inputs["n"] - inputs["k"] + 1
    chain = np.zeros((lost + 1, lost + 1))
    for failed in range(lost):
        chain[failed, failed + 1] = (inputs["n"] - failed) * inputs["lam"]
        if failed:
            chain[failed, failed - 1] = min(failed, inputs["R"]) * inputs["mu"]
        chain[failed, failed] = -chain[failed].sum()
    return {"S_pct": 100 - 100 * expm(inputs["T"] * chain)[0, lost]}


def ctmc_cluster(record: Record) -> Results:
    """Two clusters of workstations with a switch each and a backbone, one repair unit: another model of a cluster.

    The state: how many are down of (left, right workstations, left, right switch, backbone), and which kind is in
    repair (None: the unit is free).
    """
    inputs = record["inputs"]
    size, repair = inputs["N"], inputs["repair"]
    most = (size, size, 1, 1, 1)
    fails = (inputs["ws_fail"],) * 2 + (inputs["switch_fail"],) * 2 + (inputs["backbone_fail"],)
    mends = (repair["ws"],) * 2 + (repair["switch"],) * 2 + (repair["backbone"],)

    def moves(state: State) -> Iterable[tuple[State, float]]:
        down, at_work = state
        for kind in range(5):
            before, after = down[:kind], down[kind + 1 :]
            if down[kind] < most[kind]:
                yield ((*before, down[kind] + 1, *after), at_work), (most[kind] - down[kind]) * fails[kind]
            if at_work is None and down[kind]:
                yield (down, kind), inputs["inspect"]
            if at_work == kind:
                yield ((*before, down[kind] - 1, *after), None), mends[kind]

    law = stationary(((0, 0, 0, 0, 0), None), moves)

    def share(wanted: int) -> float:
        """Of the time in which so many workstations are connected."""

        def connected(down: tuple[int, ...]) -> bool:
            left, right = size - down[0], size - down[1]
            one_side = (left >= wanted and not down[2]) or (right >= wanted and not down[3])
            return one_side or (left + right >= wanted and not any(down[2:]))

        return sum(probability for (down, _), probability in law.items() if connected(down))

    return {
        "premium_steady": share(inputs["premium_k"]),
        "minimum_steady": share(inputs["min_k"]),
        "states": len(law),
    }


# Spares


def backorders(inputs: Record, levels: ArrayLike) -> Array:
    """EBO of each part (row) at its stock levels."""
    mean = np.array(inputs["lam_per_day"]) * np.array(inputs["T"])
    return expected_backorders(mean if np.ndim(levels) == 1 else mean[:, None], levels)


def single_site_ebo(record: Record) -> Results:
    """The least EBO under a budget, over all stock levels, by dynamic programming over the parts."""
    prices, budget = record["inputs"]["c"], record["inputs"]["budget"]
    table = backorders(record["inputs"], np.arange(budget // min(prices) + 1)[None, :])
    least, choices = np.zeros(budget + 1), []
    for price, losses in zip(prices, table, strict=True):
        options = np.full((budget // price + 1, budget + 1), np.inf)
        for level, option in enumerate(options):
            option[level * price :] = least[: budget + 1 - level * price] + losses[level]
        choices.append(options.argmin(axis=0))
        least = options.min(axis=0)
    stock: list[int] = []
    left = budget
    for price, choice in zip(prices[::-1], choices[::-1], strict=True):
        stock.insert(0, int(choice[left]))
        left -= stock[0] * price
    return {"EBO": least[budget], "s": stock, "cost": np.dot(stock, prices)}


def marginal_analysis(record: Record) -> Results:
    """The efficient frontier: always the part next that saves most for its price."""
    prices = np.array(record["inputs"]["c"])
    stock, points = np.zeros(len(prices), dtype=np.int64), []
    while stock @ prices <= record["inputs"]["cmax"]:
        now = backorders(record["inputs"], stock)
        points.append((stock.tolist(), now.sum(), stock @ prices))
        stock[np.argmax((now - backorders(record["inputs"], stock + 1)) / prices)] += 1
    return dict(zip(("stock", "EBO", "cost"), zip(*points, strict=True), strict=True))


def partial_frontier(record: Record) -> Results:
    """A frontier whose mean numbers on order are not printed: those that the drops imply, one by what the total leaves.

    The drop of the seventh part bears anything from 2.41 to 2.66 on order; with the others it must give the total.
    """
    inputs, expected = record["inputs"], record["expected"]
    totals, costs = list(expected["EBO"].values()), list(expected["cost"].values())
    means = list(inputs["mean_on_order_implied"])
    means[6] = totals[0] - sum(means[:6] + means[7:])
    known = {"lam_per_day": means, "T": [1.0] * len(means), "c": inputs["c"]}
    points = marginal_analysis({"inputs": known | {"cmax": costs[-1]}})
    best = {budget: single_site_ebo({"inputs": known | {"budget": int(budget)}}) for budget in expected["optimum_EBO"]}
    found: Results = {name: {f"point {i}": x for i, x in enumerate(points[name], 1)} for name in ("EBO", "cost")}
    for name, ours in (("EBO", "EBO"), ("stock", "s"), ("cost", "cost")):
        found[f"optimum_{name}"] = {budget: plan[ours] for budget, plan in best.items()}
    return found


def poisson_stock(record: Record) -> Results:
    """The smallest shelf that no position waits for, with a probability."""
    inputs = record["inputs"]
    faults = inputs["aircraft"] * inputs["per_aircraft"] * inputs["hours_per_year"] / inputs["mtbf_h"]
    mean = faults * inputs["turnaround_d"] / inputs["days_per_year"]
    enough = (shelf for shelf in range(99) if palm_backorders(mean, shelf)[0] >= inputs["confidence"])
    return {"mean": mean, "spares": next(enough)}


def binomial_law(units: int, down: float) -> Array:
    return unusable_law(Domain("all", 0.0, ((Domain("unit", down), units),)))


def replica_down(inputs: Record, gpus: int) -> float:
    return float(unavailability(gpus / inputs["mtbf_gpu_h"], inputs["mttr_h"]))


def binomial_spares(record: Record) -> Results:
    inputs = record["inputs"]
    return {"P": probability_of(binomial_law(inputs["n"], replica_down(inputs, inputs["tp"])), inputs["need"])}


def binomial_min_spares(record: Record) -> Results:
    """Replicas to buy, by the GPUs of one."""
    inputs = record["inputs"]
    return {
        "n": {
            gpus: need + spares_for(need, replica_down(inputs, int(gpus)), inputs["target"])
            for gpus, need in inputs["need"].items()
        }
    }


def binomial_guarantee(record: Record) -> Results:
    """A published promise turned round; a hair more or less of cube availability makes the promise one cube more."""
    cubes, promised, confidence = (record["inputs"][name] for name in ("cubes", "guaranteed", "conf"))
    implied = implied_availability(cubes, promised, confidence)
    assert guaranteed_blocks(binomial_law(cubes, 1.0 - implied - 1e-9), confidence) == promised
    assert guaranteed_blocks(binomial_law(cubes, 1.0 - implied + 1e-9), confidence) == promised - 1
    return {"implied_cube_availability": implied}


def domain_loss(record: Record) -> Results:
    """A scale-up domain without spares is hit where any GPU of it is."""
    return {"frac": block_unavailability(record["inputs"]["tp"], 0, record["inputs"]["p_gpu"])}


def replication_nfail(record: Record) -> Results:
    """Mean number of faults until both of a pair are dead, of b pairs; a fault hits any of the 2b, dead or alive.

    With k pairs hit, a fault hits a new pair with probability (b − k)/b, a dead one with k/2b, else it ends the run.
    """
    pairs = record["inputs"]["b"]
    faults = 0.0
    for hit in range(pairs, -1, -1):
        faults = (2 * pairs + 2 * (pairs - hit) * faults) / (2 * pairs - hit)
    closed = 1 + np.exp(pairs * log(4) + 2 * lgamma(pairs + 1) - lgamma(2 * pairs + 1))
    assert faults == pytest.approx(closed, rel=1e-8)
    return {"n_fail": faults}


def effective_share(inputs: Record, spares: int, checkpoint: Record) -> float:
    """CETT by the exact model: share of working nodes × A × η.

    The simulator's rules are nearly ours: faults come at a constant rate whatever the job does, and a recovery that
    is hit begins anew.  Its spares come back after repair and requalification; where there are none, the job waits for
    the repair alone.
    """
    nodes, rate = inputs["nodes"], inputs["rate_per_node_h"]
    away = inputs["repair_h"] + (inputs["requal_h"] if spares else 0.0)
    short = float(zone_shortfall(nodes + spares, spares, unavailability(rate, away)))
    period = checkpoint["interval_h"] - checkpoint["write_h"]
    scheme = Checkpointing(checkpoint["write_h"], inputs["detect_h"] + inputs["reload_h"], period)
    return float(nodes / (nodes + spares) * (1 - short) * np.exp(scheme.log_eta(nodes * rate)))


def spare_count_des(record: Record) -> Results:
    """A simulator's table, within its own scatter, by the exact model."""
    inputs = record["inputs"]
    both = [effective_share(inputs, inputs["k"], inputs[name]) for name in ("ckpt_blocking", "ckpt_overlap")]
    return {"ettr_blocking": both[0], "ettr_overlap": both[1], "own_40_seeds": both}


def spare_count_optimum(record: Record) -> Results:
    inputs = RECORDS[record["inputs"]["same_as"]]["inputs"]
    shares = {str(k): effective_share(inputs, k, inputs["ckpt_blocking"]) for k in range(33)}
    return {"ettr": shares, "k_best": int(max(shares, key=shares.__getitem__))}


# Checkpointing and goodput


def checkpoint_interval(record: Record) -> Results:
    """Daly's model (2006) is the exact one: best period and wall time; beside them his series and Young's period."""
    save, restart, between, work = (record["inputs"][f"{name}_min"] / 60 for name in ("delta", "R", "M", "Ts"))
    scheme = Checkpointing(save, restart, None)
    period, useful = float(scheme.best_period(1 / between)), float(np.exp(scheme.log_eta(1 / between)))
    first_order, ratio = np.sqrt(2 * save * between), save / (2 * between)
    series = first_order * (1 + np.sqrt(ratio) / 3 + ratio / 9) - save
    # the series stops after the second power of √(save/MTBF)
    assert period == pytest.approx(series, rel=(save / between) ** 1.5)
    return {
        "tau_published": 60 * period,
        "tau_exact": 60 * period,
        "tau_daly_ho": 60 * series,
        "tau_young": 60 * first_order,
        "Tw_h_at_exact": work / useful,
        "waste": 1 - useful,
    }


def young(save: float, between: float) -> tuple[float, float]:
    """Young's period and waste; for cheap saves both of our models tend to them.

    The next term is known (−2/3 of a save for the period, −waste²/3 for the waste of the exact model, where a save may
    fail), so the comparison is to third order.
    """
    period, waste = np.sqrt(2 * save * between), np.sqrt(2 * save / between)
    for model in BOTH_MODELS:
        ours = float(Checkpointing(save, 0.0, None, model).best_period(1 / between))
        assert ours + 2 * save / 3 == pytest.approx(period, rel=waste**2)
    loss = 1 - float(np.exp(Checkpointing(save, 0.0, None).log_eta(1 / between)))
    assert loss + waste**2 / 3 == pytest.approx(waste, abs=waste**3)
    return period, waste


def checkpoint_interval_young(record: Record) -> Results:
    inputs = record["inputs"]
    rate = interruption_rate(inputs["n"], 1, 0, 60 / inputs["mtbf_machine_min"], 0.0)
    return {"young_h": young(inputs["delta_min"] / 60, 1 / float(rate))[0]}


def checkpoint_waste_first_order(record: Record) -> Results:
    """Of a period: the save's share, plus half a period for each fault; a restart for each fault on top."""
    save, between = record["inputs"]["delta_s"] / 3600, record["inputs"]["M_s"] / 3600
    restart = record["inputs"].get("restart_s", 0) / 3600
    period, waste = young(save, between)
    return {
        "M_h": between,
        "young_min": 60 * period,
        "waste_first_order": waste,
        "waste_hourly": save / 1.0 + 1.0 / (2 * between),
        "waste_with_10min_restart": waste + restart / between,
    }


def ettr_closed_form(record: Record) -> Results:
    """Effective training time ratio of Kokolis et al. (2025), and our models beside it.

    Of the wall time, each fault costs the restart and half a period; what is left is work and its saves, in the ratio
    of a period to a save: ETTR (1 + w/dt) = 1 − rate (u0 + dt/2).  It has no faults in saves and restarts, so our
    models agree up to terms of second order in the loss; no tighter agreement can be asked.
    """
    inputs = record["inputs"]
    rate = float(interruption_rate(inputs["nodes"], 1, 0, inputs["rf_per_node_day"] / 24, 0.0))
    save, restart = inputs["w_min"] / 60, inputs["u0_min"] / 60
    period = inputs["dt_min"] / 60 if "dt_min" in inputs else np.sqrt(2 * save / rate)
    theirs = (1 - rate * (restart + period / 2)) / (1 + save / period)
    ours = {model: float(np.exp(Checkpointing(save, restart, period, model).log_eta(rate))) for model in BOTH_MODELS}
    for eta in ours.values():
        assert abs(eta - theirs) <= (1 - theirs) ** 2
    return {"dt_opt_min": 60 * period, "ETTR": theirs, "ETTR_exact": ours["exact"]}


def mttf_scaling(record: Record) -> Results:
    """Hours between faults of jobs of so many GPUs, eight to a node."""
    per_day = record["inputs"]["rf_per_node_day"]["RSC-1"]
    return {
        "mttf_h": {
            gpus: 1 / float(interruption_rate(int(gpus) // 8, 1, 0, per_day / 24, 0.0))
            for gpus in record["expected"]["mttf_h"]
        }
    }


def mttf_fleet(record: Record) -> Results:
    rate = 1 / record["inputs"]["mttf_acc_h"]
    return {
        "mttf_min": {
            number: 60 / float(interruption_rate(int(number), 1, 0, rate, 0.0))
            for number in record["expected"]["mttf_min"]
        }
    }


def reliability_only_cett(record: Record) -> Results:
    """Repair that takes no time: restarts are all that is lost."""
    inputs = record["inputs"]
    shares = computing_only(0, inputs["N"] / (24 * inputs["mtbf_d"]), 0.0, inputs["r_min"] / 60)
    return {"L_over_T": shares.computing}


def deterministic_trace(record: Record) -> Results:
    """Two units in series that fail at fixed ages and do not age while the system is down, event by event."""
    lives, repair, end = (record["inputs"][name] for name in ("ttf", "ttr", "T"))
    clock, downtime, events, left = 0.0, 0.0, 0, list(lives)
    while clock + (step := min(left)) < end:
        unit = left.index(step)
        left = [age - step for age in left]
        left[unit] = lives[unit]
        down = min(repair, end - clock - step)
        clock, downtime, events = clock + step + down, downtime + down, events + 1
    return {"downtime": downtime, "events": events, "availability": 1 - downtime / end}


def airesim_report(record: Record) -> Results:
    """A job on servers of which some are bad until a repair cures them, in expectation.

    The job is so long that every server of the pool comes to work and every bad one is cured.  Of the failures of a
    bad one the share 5/6 is systematic; each is followed by a repair that cures it with a chance of its own.
    """
    inputs = record["inputs"]
    usual = inputs["servers"] * inputs["rate_per_day"] * inputs["job_days"]
    bad, systematic = inputs["bad_share"] * inputs["pool"], inputs["bad_more"] / (1 + inputs["bad_more"])
    auto, manual, escalates = 1 - inputs["auto_fails"], 1 - inputs["manual_fails"], inputs["escalates"]
    staged, every = auto + inputs["auto_fails"] * escalates * manual, escalates * manual + (1 - escalates) * auto
    found: Results = {}
    for when, chance in (("", staged), ("_before", every)):
        failures = usual + bad * systematic / chance
        recovery, computing = failures * inputs["recovery_min"] / 60, 24 * inputs["job_days"]
        total = computing + recovery + inputs[f"other_h{when}"]
        found |= {f"failures{when}": failures, f"recovery_h{when}": recovery, f"training_h{when}": total}
        found[f"ETR{when}"] = computing / total
    found |= {"random_failures": usual, "systematic_failures": bad * systematic / staged}
    return found | {"escalated": found["failures"] * inputs["auto_fails"] * escalates}
