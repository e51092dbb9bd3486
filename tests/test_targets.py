"""With what confidence a quarter reaches a target: intervals that hold for known laws, however dependent quarters are.

Where a whole simulation is run, the kernel is a stand-in whose law is known (tests/fake_simulation.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binom, binomtest, gamma, norm

import spareopt
from spareopt import units
from spareopt.cli import main
from spareopt.decisions import read_decisions
from spareopt.errors import InputError
from spareopt.simulation import runs
from spareopt.simulation import simulate as simulating
from spareopt.simulation.result import Simulation
from spareopt.simulation.setup import QUARTER
from spareopt.simulation.statistics import clustered_quantile, clustered_share, quantile_interval
from spareopt.simulation.targets import quarter_target
from tests import fake_simulation as fake
from tests.test_simulation_runs import PLAN

DECISIONS = read_decisions(PLAN)


def dependent_hits(generator: np.random.Generator, clusters: int, p: float, rho: float) -> np.ndarray:
    """Hits of four values in each cluster with a chance that the cluster has in common: beta-binomial."""
    if rho == 0:
        return generator.binomial(4, p, clusters)
    if rho == 1:
        return 4 * generator.binomial(1, p, clusters)
    weight = 1 / rho - 1
    return generator.binomial(4, generator.beta(p * weight, (1 - p) * weight, clusters))


@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("p", [0.5, 0.9, 0.97])
def test_the_interval_of_a_share_holds_the_true_one(p: float, rho: float) -> None:
    """Proves coverage of at least 95 % for quarters that are independent, partly and wholly dependent.

    Of 400 intervals at least as many hold the true share as 95 % ones do in all but 1 of 1,000 cases.
    """
    generator = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        share = clustered_share(dependent_hits(generator, 40, p, rho), np.full(40, 4), 0.95).share
        held += bool(share.contains(p))
    assert held >= binom.ppf(0.001, 400, 0.95)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_the_interval_of_a_quantile_holds_the_true_one(share: float, rho: float) -> None:
    """Proves the same of quantiles of normal values with a common part of each cluster, both ends known."""
    generator = np.random.default_rng(8)
    held = 0
    for _ in range(400):
        common = np.sqrt(rho) * generator.standard_normal((40, 1))
        values = common + np.sqrt(1 - rho) * generator.standard_normal((40, 4))
        found = clustered_quantile(list(values), share, 0.95)
        assert found.low is not None and found.high is not None
        held += found.low <= norm.ppf(share) <= found.high
    assert held >= binom.ppf(0.001, 400, 0.95)


@pytest.mark.parametrize("clusters", [2, 5, 40])
def test_all_or_none_count_replications_alone(clusters: int) -> None:
    """Proves Clopper and Pearson's closed form, (α/2)^(1/n) for n of n, with replications and not quarters as n."""
    whole = clustered_share(np.full(clusters, 4), np.full(clusters, 4), 0.99)
    assert (whole.share.mean, whole.share.high, whole.effective) == (1.0, 1.0, clusters)
    assert whole.share.low == pytest.approx(0.005 ** (1 / clusters))
    none = clustered_share(np.zeros(clusters), np.full(clusters, 4), 0.99)
    assert (none.share.mean, none.share.low) == (0.0, 0.0)
    assert none.share.high == pytest.approx(1 - 0.005 ** (1 / clusters))


def test_single_values_are_clopper_and_pearson() -> None:
    """Proves against scipy that clusters of one value give the exact interval, of one value less (the variance's)."""
    hits = np.repeat([1.0, 0.0], [36, 5])
    found = clustered_share(hits, np.ones(41), 0.95)
    assert found.effective == pytest.approx(40)
    ends = [binomtest(k, 40).proportion_ci(0.95, "exact") for k in (35, 36)]  # 40 × 36/41 = 35.1 lies between
    assert found.share.low is not None and found.share.high is not None
    assert ends[0].low < found.share.low < ends[1].low
    assert ends[0].high < found.share.high < ends[1].high


def test_copies_of_a_value_say_no_more_than_one() -> None:
    """Proves that four equal quarters of each replication give about the interval of one quarter of each."""
    values = np.random.default_rng(9).standard_normal(200)
    alone = quantile_interval(values, 0.1, 0.95)
    found = clustered_quantile([np.full(4, value) for value in values], 0.1, 0.95)
    ordered = np.sort(values).tolist()
    assert found.low is not None and found.high is not None and alone.low is not None and alone.high is not None
    assert abs(ordered.index(found.low) - ordered.index(alone.low)) <= 1
    assert abs(ordered.index(found.high) - ordered.index(alone.high)) <= 1


def test_ends_that_need_more_replications_say_how_many() -> None:
    """Proves that a rare level has no lower end with few replications, and has it with the number that is told."""
    generator = np.random.default_rng(10)
    few = quarter_target(generator.normal(1000, 10, (20, 4)).tolist(), 1000 * QUARTER, 0.95)
    rare = few.levels[-1]
    assert (rare.confidence, rare.low) == (0.99, None)
    assert rare.replications_needed is not None and rare.replications_needed > 20
    assert few.levels[0].replications_needed is None and few.levels[0].low is not None
    enough = quarter_target(generator.normal(1000, 10, (2 * rare.replications_needed, 4)).tolist(), 1.0, 0.95)
    assert enough.levels[-1].low is not None
    reached = [level.useful_gpu_hours for level in enough.levels]
    assert reached == sorted(reached, reverse=True)


def test_one_replication_says_nothing_of_its_spread() -> None:
    """Proves that there is a share but no interval, and no number of replications made up."""
    one = quarter_target([[1.0, 2.0, 3.0]], 2 * QUARTER, 0.99)
    assert (one.quarters, one.effective_quarters) == (3, None)
    assert one.reached.mean == pytest.approx(2 / 3) and one.reached.low is None
    assert {(level.low, level.high, level.replications_needed) for level in one.levels} == {(None, None, None)}


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "replicate", fake.replicate)
    monkeypatch.setattr(simulating, "build", fake.system_of)


def simulated(**options: Any) -> Simulation:
    return spareopt.simulate(spareopt.read_instance("academic-1k"), DECISIONS, **options)


@pytest.mark.usefixtures("stand_in")
def test_a_simulation_finds_the_law_of_its_kernel() -> None:
    """Proves the chance of a target and what is reached against the law that the stand-in was made with.

    A quarter is blocked for the sum of 13 exponential shares of mean 2 % of a bin: a Gamma law.  All six intervals at
    99.9 % hold the true numbers but for one seed in 160.
    """
    first = simulated(replications=2)
    full = first.exact.working_gpus * first.exact.scale * (fake.USEFUL / (1 - fake.BLOCKED)) * QUARTER
    law = gamma(13, scale=fake.BLOCKED / 13)
    target = full * (1 - law.ppf(0.8))
    result = simulated(replications=250, target=target, confidence=0.999)
    assert result.target is not None and result.options.target == target
    assert result.target.reached.contains(0.8)
    for level in result.target.levels:
        truth = full * (1 - law.ppf(level.confidence))
        assert level.low is not None and level.high is not None
        assert level.low <= truth <= level.high
        assert level.useful_gpu_hours == pytest.approx(truth, rel=0.005)
    hours = result.quarters_table()["goodput"] * QUARTER
    assert result.target.reached.mean == (hours >= target).mean()


@pytest.mark.usefixtures("stand_in")
def test_results_without_a_target_read_back() -> None:
    """Proves that a document of before there were targets is still read, and one with a target reads back the same."""
    data = json.loads(simulated(replications=2).to_json())
    assert data.pop("target") is None and data["options"].pop("target") is None
    assert Simulation.model_validate(data).target is None
    result = simulated(replications=3, target="1.9 M")
    assert Simulation.model_validate_json(result.to_json()) == result


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.2e8", 1.2e8), ("120 M", 1.2e8), ("120M GPU-hours", 1.2e8), ("1,200 k GPU hours", 1.2e6), ("2 G GPU-h", 2e9)],
)
def test_gpu_hours_are_read(text: str, value: float) -> None:
    """Proves the forms of a target."""
    assert units.parse_gpu_hours(text) == value


def test_a_target_may_be_gpus_that_work_all_quarter() -> None:
    """Proves that GPUs are taken for a quarter of 2,191.5 h, and that a message says once what is expected."""
    assert units.parse_quarter_target("2,000 GPUs") == 2000 * 2191.5
    assert units.parse_quarter_target("120 M") == 1.2e8
    with pytest.raises(InputError) as caught:
        simulated(target="2000 trays")
    assert str(caught.value).count("expected") == str(caught.value).count("120 M") == 1


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "120 MW"}, "target: got '120 MW'; expected useful GPU-hours of a quarter above 0, such as"),
        ({"target": "1,2 M"}, "write a decimal point, not a comma"),
        ({"target": "0"}, "expected useful GPU-hours of a quarter above 0"),
        ({"target": -1.0}, "expected useful GPU-hours of a quarter above 0"),
        ({"target": float("inf")}, "expected useful GPU-hours of a quarter above 0"),
        ({"target": True}, "expected useful GPU-hours of a quarter above 0"),
        ({"target": 1e6, "years": 0.1}, "0.1 years hold no whole quarters"),
        ({"target": 1e6, "until_job": True}, "leave one of them out"),
    ],
)
def test_bad_targets_are_refused(options: dict[str, Any], message: str) -> None:
    """Proves that a target that is no number, or has no quarter to be reached in, is refused before anything runs."""
    with pytest.raises(InputError) as caught:
        simulated(**options)
    assert message in str(caught.value)


@pytest.mark.usefixtures("stand_in")
def test_the_command_says_it_in_a_sentence(tmp_path: Path) -> None:
    """Proves the sentences of a target that some, all and no quarters reach, and that the next command repeats it."""
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(PLAN))
    command = ["simulate", "academic-1k", "--plan", str(plan), "--replications", "20"]
    full = simulated(replications=20).quarters_table()["goodput"].median() * QUARTER

    def said(target: float | str, *more: str) -> str:
        result = CliRunner().invoke(main, [*command, "--target", str(target), *more])
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    assert "useful GPU-hours with 50 % confidence (99 % interval " in said(full).replace("50.00 %", "50 %")
    assert "in all 80 quarters of 20 replications: with at least 76.73 % confidence" in said("1 k")
    assert "in none of 80 quarters of 20 replications: with at most 23.27 % confidence" in said("1 G")
    text = said("1.5 M")
    assert "--target '1.5 M'" in text and "needs about" in text
    assert "no interval, play more" in said("1 k", "--replications", "1")
    refused = CliRunner().invoke(main, [*command, "--target", "1 M", "--against", str(plan)])
    assert refused.exit_code == 2 and "--target does not go with --against" in refused.output
