"""A year of faults of 400 real servers, replayed: its published numbers, and how far two models are from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import binom, gamma

import spareopt
from tests.figure_scripts import PAGE, figure_script

script = figure_script("stepfun_replay")
pytestmark = pytest.mark.skipif(
    not script.TRACE.exists(), reason="the StepFun trace is not here: ../shared/data/stepfun/fault_intervals.csv"
)
Laws = tuple[Any, Any, Any]


@pytest.fixture(scope="module")
def trace() -> spareopt.Trace:
    return spareopt.read_trace(script.TRACE)


@pytest.fixture(scope="module")
def laws(trace: spareopt.Trace) -> Laws:
    found: Laws = script.laws(trace)
    return found


def test_the_replay_has_the_records_numbers(trace: spareopt.Trace) -> None:
    """Proves the replay against what others have counted in the same file: 2.32 % down, 26, 31 and 33 servers, 5.8."""
    blocks = script.replay(trace, script.case(*script.recorded(trace))).unusable_blocks
    assert 100 * blocks.mean.mean / blocks.blocks == pytest.approx(2.3, abs=0.05)
    assert (blocks.p95, blocks.p99, blocks.p999) == (26, 31, 33)
    assert blocks.variance_over_mean == pytest.approx(5.8, abs=0.1)


def test_the_replays_law_is_that_counted_from_the_file(trace: spareopt.Trace, laws: Laws) -> None:
    """Proves that the replay holds every row: its law is that of marking the rows of the file on a fine grid.

    Rows of a server that overlap count it once.  The grid is that of the file's times, a ten-thousandth of a day, so
    that the two agree but for rounding.
    """
    rows = pd.read_csv(script.TRACE)
    down = np.zeros(script.DAYS * 10_000, dtype=np.int16)
    for _, server in rows.groupby("node"):
        alone = np.zeros(len(down), dtype=np.int16)
        for start, end in zip(server["start_day"], server["end_day"], strict=True):
            alone[round(10_000 * start) : round(10_000 * end)] = 1
        down += alone
    counted = np.bincount(down) / len(down)
    assert laws[0].shares == pytest.approx(counted, abs=1e-9)
    assert script.part(trace, 0.0, 24.0 * script.DAYS).shares == pytest.approx(laws[0].shares, abs=1e-12)


def test_spares_by_the_binomial_law_would_not_do(trace: spareopt.Trace, laws: Laws) -> None:
    """Proves the point of the figure: spares for 99.9 % of the time by the binomial law are short a seventh of it."""
    _, binomial, _ = laws
    spares = binomial.point(0.999)
    assert spares == 20 and 1 - binomial.beyond[spares] > 0.999
    short = script.replay(trace, script.case(*script.recorded(trace)), spares).evaluation.unavailability
    assert short == pytest.approx(0.138, abs=0.001)


def test_the_models_laws_are_right(trace: spareopt.Trace, laws: Laws) -> None:
    """Proves the models' laws: a binomial one, and one with its rate integrated over a Gamma law, both by scipy."""
    replayed, binomial, mixed = laws
    mtbf, mttr = script.recorded(trace)
    down = replayed.mean / script.SERVERS
    assert mttr / (mtbf + mttr) == pytest.approx(down, rel=1e-9)
    levels = np.arange(0, 60, 6)
    assert binomial.beyond[levels] == pytest.approx(binom.sf(levels, script.SERVERS, down), rel=1e-8, abs=1e-14)
    shape = replayed.mean / (replayed.variance_over_mean - 1)
    for level in levels:

        def beyond(m: float, level: int = level) -> float:
            density = gamma.pdf(m, shape, scale=1 / shape)
            return float(density * binom.sf(level, script.SERVERS, m * mttr / (mtbf + m * mttr)))

        expected, _ = quad(beyond, 0, 20, limit=400, epsrel=1e-9, points=[0.5, 1, 2, 4])
        assert mixed.beyond[level] == pytest.approx(expected, rel=1e-5)


def test_the_page_states_the_misfits(laws: Laws) -> None:
    """Proves that the table of docs/studies.md holds what is found: 99.9 % points of 33, 20 and 44, and so on.

    The binomial law is wrong by 0.29 and at all of its points; the mixed one by less than a third of that, is right at
    the 99 % point, and too far out beyond.
    """
    for law in laws:
        assert law.row(laws[0]) in PAGE
    replayed, binomial, mixed = laws
    assert binomial.misfit(replayed) == pytest.approx(0.29, abs=0.01)
    assert mixed.misfit(replayed) < binomial.misfit(replayed) / 3
    assert [law.point(0.99) for law in laws] == [31, 17, 32]
    assert [law.point(0.999) for law in laws] == [33, 20, 44]
    assert binomial.variance_over_mean == pytest.approx(1 - replayed.mean / script.SERVERS, rel=1e-6)
