"""What a simulation reports: true to what the replications recorded, consistent in itself, the same when read back.

The kernel is a stand-in whose means are known (tests/fake_simulation.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import spareopt
from spareopt.cli import main
from spareopt.decisions import Decisions, read_decisions
from spareopt.errors import InputError, StoppedError
from spareopt.evaluation import evaluate
from spareopt.instance import Instance
from spareopt.reading import read_instance
from spareopt.simulation import runs
from spareopt.simulation import simulate as simulating
from spareopt.simulation.outcome import LEDGER, Outcome
from spareopt.simulation.result import Simulation
from spareopt.simulation.setup import QUARTER, key_of
from spareopt.simulation.store import read_simulation, write_simulation
from spareopt.simulation.system import Run, System
from tests import fake_simulation as fake
from tests.test_simulation_runs import PLAN

DECISIONS = read_decisions(PLAN)
STAFFED = {
    "zones": [
        PLAN["zones"][0] | {"repair_plan": "technicians", "crews": 2, "shelf_trays": 12},  # type: ignore[index,operator]
    ],
    "checkpoint_plan": "automatic-retry",
}


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "replicate", fake.replicate)
    monkeypatch.setattr(simulating, "build", fake.system_of)


@pytest.fixture(scope="module")
def instance() -> Instance:
    return read_instance("academic-1k")


def simulated(instance: Instance, **options: Any) -> Simulation:
    return spareopt.simulate(instance, DECISIONS, **{"replications": 20, **options})


def test_measured_means_are_those_of_the_kernel(instance: Instance) -> None:
    """Proves that accounts become the right shares: each interval holds the mean that the stand-in was made with.

    Time blocked is 2 % in the mean, of the rest 5 % are saves, 2 % recovery, 3 % lost; 0.02 interruptions an hour.
    """
    result = simulated(instance, replications=200)
    exact = result.exact
    share, left = exact.working_gpus / exact.gpus, 1.0 - fake.BLOCKED
    truth = {
        "cett": share * fake.USEFUL,
        "goodput": exact.working_gpus * exact.scale * fake.USEFUL,
        "goodput_scale": share * exact.scale * fake.USEFUL,
        "availability": left,
        "unavailability": fake.BLOCKED,
        "recovery_efficiency": fake.USEFUL / left,
        "interruption_rate_per_h": fake.STOPS_PER_H,
        "interruptions_per_day": 24 * fake.STOPS_PER_H * left,
        "useful_gpu_hours_per_year": exact.working_gpus * 8766 * fake.USEFUL,
        "losses.blocked": share * fake.BLOCKED,
        "losses.checkpoint_saves": share * left * fake.SAVES,
        "losses.detection_and_restart": share * left * fake.RECOVERY,
        "losses.lost_work": share * left * fake.LOST,
        "losses.useful": share * fake.USEFUL,
    }
    for name, value in truth.items():
        assert result.intervals[name].contains(value), name
        assert result.intervals[name].standard_error is not None
    for name in truth:
        group, _, loss = name.partition(".")
        got = result.evaluation.losses[loss] if loss else getattr(result.evaluation, group)
        assert got == result.intervals[name].mean != getattr(exact, group, None)


def test_the_score_is_consistent_in_itself(instance: Instance) -> None:
    """Proves that losses sum to 1 and that goodput, energy, cost and limits follow from what was measured.

    Energy is linear in the availability: the line is drawn through two exact evaluations with other repair times.
    """
    result = simulated(instance)
    e, x = result.evaluation, result.exact
    assert sum(e.losses.values()) == pytest.approx(1.0, abs=1e-12)
    assert list(e.losses) == list(x.losses) and e.losses["inter_block_spares"] == x.losses["inter_block_spares"]
    assert e.goodput == pytest.approx(e.cett * e.gpus * e.scale)
    assert e.cett == pytest.approx(e.working_gpus / e.gpus * e.availability * e.recovery_efficiency)
    slower = {"repair_plans.day-shift.tray.off_crew": "3x"}
    other = evaluate(read_instance("academic-1k", overrides=slower), DECISIONS)
    assert other.energy_kwh_per_year is not None and x.energy_kwh_per_year is not None
    slope = (other.energy_kwh_per_year - x.energy_kwh_per_year) / (other.availability - x.availability)
    energy = x.energy_kwh_per_year + slope * (e.availability - x.availability)
    assert e.energy_kwh_per_year == pytest.approx(energy, rel=1e-9)
    price, intensity = instance.power.energy_price, instance.power.grid_intensity
    assert price is not None and intensity is not None and x.yearly_cost is not None and x.cost_per_year is not None
    change = price * (energy - x.energy_kwh_per_year)
    assert abs(change) > 1
    assert e.yearly_cost == pytest.approx(x.yearly_cost + change)
    assert e.cost_per_year == pytest.approx(x.cost_per_year + change)
    assert e.carbon_kg_per_year == pytest.approx(intensity * energy)
    assert e.cost_per_useful_gpu_hour == pytest.approx((x.cost_per_year + change) / (e.cett * e.gpus * 8766))
    assert e.goodput_gpu_hours_per_money == pytest.approx(e.goodput * 8766 / (x.cost_per_year + change))
    assert instance.job is not None and e.wall_time_h == pytest.approx(instance.job.useful_gpu_hours / e.goodput)
    limits = {row.limit: row for row in e.limits}
    assert limits["yearly_cost"].value == e.yearly_cost
    assert limits["yearly_cost"].slack == pytest.approx(limits["yearly_cost"].bound - limits["yearly_cost"].value)


def test_a_limit_on_what_was_measured_is_held_against_it() -> None:
    """Proves that an availability floor between the two models' values is met by one and broken by the other."""
    case = read_instance("academic-1k", overrides={"limits.availability": 0.985, "limits.yearly_cost": None})
    result = simulated(case)
    assert not result.exact.violated and [row.limit for row in result.evaluation.violated] == ["availability"]


def test_the_result_reads_back_and_does_not_depend_on_processes(instance: Instance, tmp_path: Path) -> None:
    """Proves that JSON and folders hold every digit, and that two processes write the same bytes as one."""
    result = simulated(instance)
    assert Simulation.model_validate_json(result.to_json()) == result
    assert simulated(instance, processes=2).to_json() == result.to_json()
    assert simulated(instance, seed=1).to_json() != result.to_json()
    folder = write_simulation(result, instance, tmp_path / "one")
    assert read_simulation(folder) == result == read_simulation(folder / "simulation.json")
    other = write_simulation(simulated(instance), instance, tmp_path / "two")
    for file in folder.iterdir():
        if file.name == "manifest.json":  # which tells the time
            continue
        assert file.read_bytes() == (other / file.name).read_bytes(), file.name
    with pytest.raises(InputError, match="already exists"):
        write_simulation(result, instance, folder)
    for source in (tmp_path / "none", tmp_path):
        with pytest.raises(InputError, match="can't be read"):
            read_simulation(source)


def test_means_of_a_replication(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that blocked episodes, blocked hours and host selections are means over the table of replications.

    Selections are known only of a plan with standbys; the stand-in counts one in each replication.
    """
    result, table = simulated(instance), simulated(instance).replications_table()
    assert result.blocked_episodes.number.mean == pytest.approx(table["blocked_episodes"].mean())
    blocked = result.blocked_episodes.blocked_h
    assert blocked.mean == pytest.approx(table["blocked_h"].mean())
    assert blocked.standard_error == pytest.approx(table["blocked_h"].std() / 20**0.5)
    assert table["blocked_h"].tolist() == pytest.approx((table["hours"] * (1 - table["availability"])).tolist())
    assert result.selections is None

    def with_standbys(*given: Any) -> System:
        return fake.system_of(*given)._replace(warm=1)

    monkeypatch.setattr(simulating, "build", with_standbys)
    selections = simulated(instance).selections
    assert selections is not None and selections.mean == 1.0 and selections.standard_error == 0.0


def test_tables_hold_the_replications(instance: Instance, tmp_path: Path) -> None:
    """Proves that the mean of the replications is the score, and that quarters make up the whole of each."""
    result = simulated(instance, years=2.0)
    table, quarters = result.replications_table(), result.quarters_table()
    assert table["cett"].mean() == pytest.approx(result.evaluation.cett, rel=1e-12)
    assert table["interruptions"].mean() == pytest.approx(result.interruptions.mean.mean)
    assert len(quarters) == 20 * 8 == result.quarters.number
    whole = quarters.groupby("replication")["goodput"].mean().to_numpy()
    assert whole == pytest.approx(table["goodput"].to_numpy(), rel=1e-12)
    assert result.quarters.mean is not None and result.quarters.mean.contains(result.evaluation.goodput)
    assert result.quarters.p5 is not None and result.quarters.p50 is not None and result.quarters.p95 is not None
    for share, value in ((0.05, result.quarters.p5), (0.5, result.quarters.p50), (0.95, result.quarters.p95)):
        below = float((quarters["goodput"] <= value).mean())
        assert below == pytest.approx(share, abs=1 / len(quarters) + 1e-12)
    usable = result.usable_blocks_table()
    assert len(usable) == 104 and set(usable["fewest"]) == {8}
    assert usable["end_h"].iloc[-1] == pytest.approx(2 * 8766) and (usable["p5"] < usable["p95"]).all()
    assert usable["mean"].mean() == pytest.approx(fake.USABLE * result.evaluation.availability)
    write_simulation(result, instance, tmp_path / "folder")
    written = pd.read_csv(tmp_path / "folder" / "quarters.csv")
    assert written["goodput"].to_numpy() == pytest.approx(quarters["goodput"].to_numpy(), rel=1e-15)


def test_years_below_a_quarter_have_no_quarters(instance: Instance) -> None:
    """Proves that part of a quarter is not taken for one, and that it is said."""
    result = simulated(instance, years=0.2)
    assert (result.quarters.number, result.quarters.mean) == (0, None)
    assert result.quarters.reason == "no replication holds a whole quarter" and result.quarter_course == ()
    assert len(result.usable_blocks) == 52


def test_blocked_episodes_and_unusable_blocks(instance: Instance) -> None:
    """Proves the laws on a record where they are plain: an episode a week from 1 to 1.09 h long by count, one of 7.5 h.

    Two blocks are down while the job is blocked, none else: at most 0 for 95 % of the time, at most 2 for 99 %, and the
    variance over the mean of 2·Bernoulli(b) is 2 (1 − b).  The law itself is (1 − b, 0, b).
    """
    result = simulated(instance)
    episodes, blocks = result.blocked_episodes, result.unusable_blocks
    assert episodes.per_year.mean == pytest.approx(52.0)
    assert episodes.p50_h == episodes.p95_h == pytest.approx(2.0 ** (1 / 8)) == episodes.resolution
    assert episodes.longest_h == 7.5
    assert episodes.mean_h is not None
    assert episodes.mean_h.mean == pytest.approx(8766 * result.evaluation.unavailability / 52)
    assert (blocks.blocks, blocks.p95, blocks.p99, blocks.p999) == (12, 0, 2, 2)
    assert blocks.mean.mean == pytest.approx(2 * result.evaluation.unavailability)
    assert blocks.variance_over_mean == pytest.approx(2 * (1 - result.evaluation.unavailability))
    blocked = result.evaluation.unavailability
    assert blocks.shares == pytest.approx((1 - blocked, 0.0, blocked), rel=1e-12)


def test_crews_are_measured() -> None:
    """Proves that busy hours and waits become the crews' numbers: 25 % of the time, 60 h over 40 tickets a year."""
    case = read_instance("academic-1k", scenarios=["staffing"])
    result = spareopt.simulate(case, read_decisions(STAFFED), replications=10)
    (crew,) = result.crews
    assert (crew.zone, crew.crews) == ("cluster", 2)
    assert crew.utilisation.mean == pytest.approx(0.25)
    assert crew.mean_wait_h is not None and crew.mean_wait_h.mean == pytest.approx(1.5)
    assert crew.tickets_per_year.mean == pytest.approx(40)
    zone, exact = result.evaluation.zones[0], result.exact.zones[0]
    assert (zone.crew_utilisation, zone.crew_mean_wait_h) == (pytest.approx(0.25), pytest.approx(1.5))
    assert zone.interruption_rate_per_h == exact.interruption_rate_per_h


def test_agreement_says_whether_the_exact_number_is_inside(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves the three verdicts: inside, outside by as many standard errors as stated, and too little seen to say."""
    result = simulated(instance)
    row = result.agreement["availability"]
    assert row.exact == result.exact.availability and row.inside is False
    assert row.simulated.standard_error is not None
    assert row.standard_errors == pytest.approx((row.simulated.mean - row.exact) / row.simulated.standard_error)
    high = row.simulated.high
    assert high is not None and high < row.exact
    monkeypatch.setattr(
        simulating, "evaluate", lambda *_: result.exact.model_copy(update={"availability": high - 1e-6})
    )
    assert simulated(instance).agreement["availability"].inside is True
    monkeypatch.setattr(fake, "BLOCKED", 1e-300)
    assert simulated(instance).agreement["availability"].inside is not True

    def never(system: System, run: Run, **_: Any) -> Outcome:
        outcome = fake.replicate(system, run)
        for name in ("blocked", "interruptions"):
            outcome.ledger[:, LEDGER.index(name)] = 0
        return outcome

    monkeypatch.setattr(runs, "replicate", never)
    quiet = simulated(instance)
    assert {row.inside for row in quiet.agreement.values()} == {None}


def test_a_job_that_is_always_blocked_divides_by_no_zero(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that a useless plan gets a score of zeros that reads back, with what can't be measured left out."""

    def blocked(system: System, run: Run, **_: Any) -> Outcome:
        outcome = fake.replicate(system, run)
        outcome.ledger[1:, :] = 0
        outcome.ledger[:, LEDGER.index("blocked")] = run.bin * np.arange(run.bins + 1)
        return outcome

    monkeypatch.setattr(runs, "replicate", blocked)
    result = simulated(instance)
    assert (result.evaluation.cett, result.evaluation.availability) == (0.0, 0.0)
    assert "recovery_efficiency" not in result.intervals and "recovery_efficiency" not in result.agreement
    assert "blocked all the time" in result.evaluation.method["recovery_efficiency"]
    assert Simulation.model_validate_json(result.to_json()) == result
    assert result.evaluation.cost_per_useful_gpu_hour is None and result.evaluation.wall_time_h is None


# --- until the job is done


def test_until_the_job_is_done() -> None:
    """Proves that each run ends with the job's useful work, and that the time's mean is work over goodput.

    In every replication the hours times its goodput are the job's baseline GPU-hours.
    """
    case = read_instance("academic-1k", overrides={"job.useful_gpu_hours": 2e6})
    result = simulated(case, until_job=True)
    wall = result.wall_time
    assert wall is not None and (wall.finished, wall.unfinished) == (20, 0)
    for row in result.replications:
        assert row.hours * row.goodput == pytest.approx(2e6, rel=1e-9)
    assert wall.mean is not None
    assert wall.mean.mean == pytest.approx(2e6 / result.evaluation.goodput, rel=1e-12)
    assert wall.p5 is not None and wall.p50 is not None and wall.p95 is not None
    assert wall.p5.value < wall.p50.value < wall.p95.value
    assert wall.p50.low is not None and wall.p50.low < wall.p50.value
    assert result.quarters.number == 20  # about 1.07 quarters each, one of them whole
    assert all(row.end_h <= max(r.hours for r in result.replications) for row in result.usable_blocks)


def test_a_job_that_is_not_finished_is_said_so(instance: Instance) -> None:
    """Proves that the time of a run that ended before the job is not taken for the job's."""
    result = simulated(instance, until_job=True, years=0.01)
    assert result.wall_time is not None
    assert (result.wall_time.unfinished, result.wall_time.mean, result.wall_time.p95) == (20, None, None)


# --- precision, comparison, warm-up


def test_precision_stops_early_and_says_where_it_was_not_reached(instance: Instance) -> None:
    """Proves that a wide precision needs few replications, a hopeless one uses them all, and both keep their word."""
    wide = simulated(instance, replications=200, precision="0.3 %")
    half = wide.intervals["cett"].half_width
    assert wide.status == "precision reached" and wide.done < 200 and wide.done % 10 == 0
    assert half is not None and half <= 0.003 * wide.evaluation.cett
    assert simulated(instance, replications=200, precision=0.003, processes=2).to_json() == wide.to_json()
    tight = simulated(instance, precision=1e-6)
    assert (tight.status, tight.done) == ("replications used up", 20)


def test_comparison_is_paired(instance: Instance) -> None:
    """Proves that two plans meet the same blocked hours: the stand-in's goodput is proportional to the working GPUs.

    So all pairs have the ratio of the working GPUs, the correlation is 1, and with shares a and b of one variance the
    saving is (a² + b²)/(a − b)².
    """
    fewer = Decisions(
        zones=(DECISIONS.zones[0].model_copy(update={"inter_block_spares": 4}),),
        checkpoint_plan=DECISIONS.checkpoint_plan,
    )
    result = spareopt.compare(instance, fewer, DECISIONS, replications=10)
    a, b = result.first.exact.working_gpus, result.second.exact.working_gpus
    assert (a, b) == (124 * 8, 123 * 8)
    for one, other in zip(result.first.replications, result.second.replications, strict=True):
        assert one.cett / other.cett == pytest.approx(a / b)
    assert result.cett.correlation == pytest.approx(1.0)
    assert result.cett.times_fewer == pytest.approx((a * a + b * b) / (a - b) ** 2, rel=1e-6)
    assert result.better == "first"
    assert spareopt.compare(instance, DECISIONS, fewer, replications=10).better == "second"
    assert spareopt.compare(instance, DECISIONS, DECISIONS, replications=10).better == "undecided"


def test_warm_up_follows_the_slowest_return_and_is_stated(instance: Instance) -> None:
    """Proves that the default is twenty times the longest mean time in play, and that a given one is taken as it is."""
    result = simulated(instance)
    plan = next(p for p in instance.repair_plans if p.name == "day-shift")
    recovery = next(p for p in instance.checkpoint_plans if p.name == DECISIONS.checkpoint_plan)
    assert recovery.restart is not None and recovery.restart < plan.tray.off_crew
    assert result.options.warm_up_h == 20 * max(plan.tray.off_crew, plan.tray.mean_hands_on)
    assert "20 times" in result.options.warm_up
    new = simulated(instance, warm_up="0 h")
    assert (new.options.warm_up_h, new.options.warm_up) == (0.0, "as given")
    assert simulated(instance, warm_up=48.0).options.warm_up_h == 48.0


# --- bad input


@pytest.mark.parametrize(
    ("options", "field", "message"),
    [
        ({"replications": 0}, "replications", "whole number from 1 to 10,000"),
        ({"replications": 10_001}, "replications", "whole number"),
        ({"replications": 2.5}, "replications", "whole number"),
        ({"replications": True}, "replications", "whole number"),
        ({"replications": None}, "replications", "whole number"),
        ({"replications": float("inf")}, "replications", "whole number"),
        ({"years": 0.0}, "years", "from 0.0001"),
        ({"years": -1.0}, "years", "from 0.0001"),
        ({"years": float("nan")}, "years", "from 0.0001"),
        ({"years": float("inf")}, "years", "to 1,000"),
        ({"years": "one"}, "years", "number of years"),
        ({"years": 1000.0, "replications": 10_000}, "replications", "too long a record"),
        ({"seed": -1}, "seed", "whole number from 0"),
        ({"warm_up": "-1 h"}, "warm_up", "at least zero"),
        ({"warm_up": "soon"}, "warm_up", "such as"),
        ({"warm_up": float("nan")}, "warm_up", "at least zero"),
        ({"precision": 0}, "precision", "above 0"),
        ({"precision": "0 %"}, "precision", "above 0"),
        ({"precision": float("nan")}, "precision", "above 0"),
        ({"precision": "a bit"}, "precision", "share"),
        ({"confidence": 99}, "confidence", "99 %"),
        ({"confidence": 0.3}, "confidence", "0.5"),
        ({"confidence": float("nan")}, "confidence", "0.5"),
        ({"processes": 0}, "processes", "whole number from 1"),
        ({"processes": 2, "executor": object()}, "processes", "executor"),
    ],
)
def test_bad_options_are_refused(instance: Instance, options: dict[str, Any], field: str, message: str) -> None:
    """Proves that each bad option is one fault that names it, before anything is played."""
    with pytest.raises(InputError) as caught:
        spareopt.simulate(instance, DECISIONS, **options)
    (fault,) = caught.value.faults
    assert fault.field == field and message in str(fault)


def test_all_bad_options_are_told_at_once_and_jobs_must_exist() -> None:
    """Proves that two faults are two, and that an instance without a job can't be run until it is done."""
    case = read_instance("academic-1k", overrides={"job": None})
    with pytest.raises(InputError, match="2 faults"):
        spareopt.simulate(case, DECISIONS, years=0.0, precision=2.0)
    with pytest.raises(InputError, match=r"job\.useful_gpu_hours"):
        spareopt.simulate(case, DECISIONS, until_job=True)
    wrong = DECISIONS.model_copy(update={"checkpoint_plan": "none"})
    with pytest.raises(InputError, match="checkpoint_plan"):
        spareopt.simulate(case, wrong)


# --- the command line


def run(*args: str) -> Result:
    result = CliRunner().invoke(main, ["simulate", "academic-1k", *args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output and "internal error" not in result.output
    return result


@pytest.fixture
def plan_file(tmp_path: Path) -> str:
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    return str(tmp_path / "plan.json")


def interrupt_at(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(system: System, run: Run, **_: Any) -> Outcome:
        if run.key == key_of(0, index):
            raise KeyboardInterrupt
        return fake.replicate(system, run)

    monkeypatch.setattr(runs, "replicate", interrupted)


def test_the_command_prints_writes_and_says_what_is_next(plan_file: str, tmp_path: Path) -> None:
    """Proves that text, JSON and folder are of one result, with the options as they were given."""
    folder = tmp_path / "out"
    options = ("--plan", plan_file, "--replications", "10", "--years", "0.5", "--seed", "3", "--confidence", "95%")
    text = run(*options, "--warm-up", "2 d", "-o", str(folder))
    assert text.exit_code == 0, text.output
    result = read_simulation(folder)
    assert (result.done, result.options.warm_up_h, result.options.confidence) == (10, 48.0, 0.95)
    assert (
        f"CETT {result.evaluation.cett:.5f} ± {result.intervals['cett'].half_width:.5f} (95 % interval)" in text.stdout
    )
    assert f"Written to {folder}" in text.stdout and "Next: spareopt simulate academic-1k" in text.stdout
    assert sorted(file.name for file in folder.iterdir()) == [
        "instance.json", "manifest.json", "quarters.csv", "replications.csv", "simulation.json", "usable_blocks.csv",
    ]  # fmt: skip
    document = run(*options, "--warm-up", "2 d", "--json")
    assert document.stdout == (folder / "simulation.json").read_text() and document.stderr == ""
    again = run(*options, "-o", str(folder))
    assert again.exit_code == 2 and "already exists" in again.stderr


def test_without_a_plan_the_optimum_is_played(instance: Instance) -> None:
    """Proves that the plan is the one that solve finds, and that the text says so."""
    result = run("--replications", "2")
    assert result.exit_code == 0 and "the optimum, solved first as no --plan was named (proven" in result.stdout
    document = json.loads(run("--replications", "2", "--json").stdout)
    assert document["decisions"] == spareopt.solve(instance).decisions.model_dump(mode="json")


def test_two_plans_are_played_against_each_other(plan_file: str, tmp_path: Path) -> None:
    """Proves that --against shows and writes a comparison, each plan's own result among it."""
    other = tmp_path / "other.json"
    other.write_text(json.dumps(PLAN).replace('"inter_block_spares": 5', '"inter_block_spares": 4'))
    options = ("--plan", plan_file, "--against", str(other), "--replications", "10")
    folder = tmp_path / "out"
    text = run(*options, "-o", str(folder))
    assert text.exit_code == 0 and f"{other} is better" in " ".join(text.stdout.split())
    document = json.loads(run(*options, "--json").stdout)
    assert document == json.loads((folder / "comparison.json").read_text()) and document["better"] == "second"
    assert read_simulation(folder / "second").model_dump(mode="json") == document["second"]
    for option in (("--precision", "1%"), ("--until-job",)):
        refused = run(*options, *option)
        assert refused.exit_code == 2 and "does not go with --against" in refused.stderr


@pytest.mark.parametrize("json_option", [(), ("--json",)])
def test_ctrl_c_prints_and_writes_what_is_finished(
    plan_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, json_option: tuple[str, ...]
) -> None:
    """Proves that an interrupted simulation ends with 130, is printed and written, and says that it was interrupted."""
    interrupt_at(4, monkeypatch)
    result = run("--plan", plan_file, "-o", str(tmp_path / "out"), *json_option)
    assert result.exit_code == 130
    kept = read_simulation(tmp_path / "out")
    assert (kept.status, kept.done) == ("interrupted", 4)
    assert (json.loads(result.stdout)["done"] == 4) if json_option else ("INTERRUPTED" in result.stdout)


def test_ctrl_c_before_anything_is_finished(
    plan_file: str, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves that nothing finished is one message and 130, and StoppedError in Python."""
    interrupt_at(0, monkeypatch)
    result = run("--plan", plan_file)
    assert (result.exit_code, result.stdout) == (130, "") and "before a replication was finished" in result.stderr
    with pytest.raises(StoppedError):
        simulated(instance)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--replications", "0"), "not in the range"),
        (("--years", "0"), "not in the range"),
        (("--years", "-1"), "not in the range"),
        (("--years", "nan"), "not a finite number"),
        (("--seed", "-1"), "not in the range"),
        (("--processes", "0"), "not in the range"),
        (("--precision", "0"), "precision: got '0'; expected a share above 0"),
        (("--precision", "nan"), "precision: got 'nan'; expected a share"),
        (("--precision", "100%"), "precision: got '100%'"),
        (("--confidence", "99"), "confidence: got '99'; expected a share from 0.5"),
        (("--warm-up", "7"), "warm_up: got '7'; expected a time"),
        (("--warm-up", "-1 h"), "warm_up: got '-1 h'"),
        (("--plan", "nowhere"), "no such plan"),
        (("--against", "nowhere"), "no such plan"),
        (("--set", "job=", "--until-job"), "the instance has no job"),
        (("-o", "/nowhere/out"), "parent folder /nowhere does not exist"),
    ],
)
def test_bad_options_of_the_command(plan_file: str, options: tuple[str, ...], message: str) -> None:
    """Proves that each is one message on stderr and exit code 2, as JSON with --json."""
    result = run("--plan", plan_file, *options)
    assert (result.exit_code, result.stdout) == (2, "") and message in result.stderr
    document = json.loads(run("--plan", plan_file, *options, "--json").stdout)
    assert document["exit_code"] == 2 and message in document["message"]


def test_a_wrong_plan_is_named_by_its_file(plan_file: str, tmp_path: Path) -> None:
    """Proves that the plan that does not fit is named, be it the first or the second."""
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(PLAN).replace("automatic-retry", "nothing"))
    for options in (("--plan", str(wrong)), ("--plan", plan_file, "--against", str(wrong))):
        result = run(*options)
        assert result.exit_code == 2 and result.stderr.startswith(f"error: {wrong}: "), result.stderr


def test_a_quarter_is_a_quarter_of_a_year() -> None:
    """Proves that quarters of the report are those of the calendar's mean year of 365.25 days."""
    assert pytest.approx(365.25 * 24 / 4) == QUARTER


def test_the_course_of_a_quarter_by_hand(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that the course of a quarter is the useful time since it began over the time since then.

    Two replications of half a year, of two quarters each; in week w of quarter q of replication r the job is useful for
    (1 + r + 2 q) / 8 of the time until week 6, and for half of it after.
    """

    def by_hand(system: System, run: Run, **options: Any) -> Outcome:
        outcome = fake.replicate(system, run, **options)
        replication = 0 if run.key == key_of(0, 0) else 1
        week = np.arange(26)
        share = np.where(week % 13 < 6, (1 + replication + 2 * (week // 13)) / 8, 0.5)
        outcome.ledger[1:, LEDGER.index("useful")] = np.cumsum(share * run.bin)
        return outcome

    monkeypatch.setattr(runs, "replicate", by_hand)
    result = simulated(instance, replications=2, years=0.5)
    all_useful = result.exact.working_gpus * result.exact.scale
    assert [row.end_h for row in result.quarter_course] == pytest.approx([QUARTER * (w + 1) / 13 for w in range(13)])
    for weeks, row in enumerate(result.quarter_course, 1):
        early = min(weeks, 6)
        so_far = [all_useful * (early * eighths / 8 + (weeks - early) / 2) / weeks for eighths in (1, 2, 3, 4)]
        assert row.mean == pytest.approx(np.mean(so_far), rel=1e-12)
        assert row.p50 == pytest.approx(np.median(so_far), rel=1e-12)
        assert (row.p5, row.p95) == pytest.approx((so_far[0], so_far[-1]), rel=1e-12)
        assert row.p5 < row.p25 < row.p50 < row.p75 < row.p95
    assert result.quarters.mean is not None
    assert result.quarter_course[-1].mean == pytest.approx(result.quarters.mean.mean, rel=1e-12)
    assert len(result.quarter_course_table()) == 13


def test_longer_simulations_record_whole_quarters_only(instance: Instance) -> None:
    """Proves that beyond ten years, where a row is a quarter, the course is its end, and equals the quarters' law."""
    result = simulated(instance, replications=3, years=11.0)
    (end,) = result.quarter_course
    assert end.end_h == pytest.approx(QUARTER)
    assert (end.p5, end.p50, end.p95) == (result.quarters.p5, result.quarters.p50, result.quarters.p95)
