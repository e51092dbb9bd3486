"""Intervals, quantiles and paired differences against textbook values and by how often they hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaincinv

from spareopt.simulation import statistics as stats


def test_the_interval_of_a_mean_has_the_tables_t() -> None:
    """Proves the interval on ten values: t(9) at 99 % is 3.250 in any printed table."""
    values = np.arange(10.0)
    interval = stats.mean_interval(values, 0.99)
    error = np.sqrt(82.5 / 9 / 10)  # Σ (x − 4.5)² = 82.5
    assert (interval.mean, interval.standard_error) == (4.5, pytest.approx(error))
    assert interval.high == pytest.approx(4.5 + 3.250 * error, abs=2e-4 * error + 5e-4)
    assert interval.low is not None and interval.low + interval.high == pytest.approx(9.0)


def test_one_value_has_no_interval_and_none_no_mean() -> None:
    """Proves that nothing is said of a spread that was not seen."""
    one = stats.mean_interval([3.0])
    assert (one.mean, one.low, one.high, one.standard_error, one.contains(3.0)) == (3.0, None, None, None, None)
    with pytest.raises(ValueError, match="a ratio needs"):
        stats.mean_interval([])


def test_equal_values_have_an_interval_of_no_width() -> None:
    """Proves that rounding makes no spread: the mean of 0.1, … is not 0.1 to the last bit."""
    interval = stats.mean_interval(np.full(11, 0.1))
    assert interval.standard_error == 0.0 and interval.contains(0.1)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Proves the coverage of mean, ratio and median intervals on 4,000 samples of 20, within 4 standard deviations.

    The ratio of sums of unequal wholes is 3 in truth; the order-statistic interval may be wider, never narrower.
    """
    generator = np.random.default_rng(0)
    held = np.zeros(3)
    trials, confidence = 4000, 0.9
    for _ in range(trials):
        x = generator.normal(2.0, 1.0, 20)
        whole = generator.uniform(0.5, 1.5, 20)
        part = whole * 3.0 + generator.normal(0.0, 0.3, 20)
        median = stats.quantile_interval(x, 0.5, confidence)
        assert median.low is not None and median.high is not None
        held += [
            bool(stats.mean_interval(x, confidence).contains(2.0)),
            bool(stats.ratio_interval(part, whole, confidence).contains(3.0)),
            median.low <= 2.0 <= median.high,
        ]
    slack = 4 * np.sqrt(confidence * (1 - confidence) / trials)
    assert np.all(held / trials > confidence - slack)
    assert np.all(held[:2] / trials < confidence + slack)


def test_the_ratio_is_that_of_the_sums() -> None:
    """Proves that a long replication counts more than a short one: (1 + 30)/(1 + 10), not the mean of 1 and 3."""
    assert stats.ratio_interval([1.0, 30.0], [1.0, 10.0]).mean == pytest.approx(31.0 / 11.0)


@pytest.mark.parametrize(
    ("n", "share", "confidence", "ranks"),
    [(10, 0.5, 0.95, (2, 9)), (20, 0.5, 0.95, (6, 15)), (5, 0.5, 0.99, (None, None)), (40, 0.05, 0.99, (None, 7))],
)
def test_order_statistics_enclose_a_quantile(
    n: int, share: float, confidence: float, ranks: tuple[int | None, int | None]
) -> None:
    """Proves the ranks: those of the sign test's tables for the median, and by the Beta law of an order statistic.

    F(X_(k)) is Beta(k, n + 1 − k): rank u is the smallest whose lower (1 − confidence)/2 quantile is above the share.
    """
    found = stats.quantile_interval(np.arange(1.0, n + 1.0), share, confidence)
    assert (found.low, found.high) == ranks
    tail = (1 - confidence) / 2
    upper = [k for k in range(1, n + 1) if betaincinv(k, n + 1 - k, tail) >= share]
    assert found.high == (upper[0] if upper else None)


def test_quantiles_of_counts_and_of_time() -> None:
    """Proves that a counted quantile is the upper end of its bin, and a level the smallest with enough of the time."""
    edges = [1.0, 2.0, 4.0, 8.0]
    assert stats.histogram_quantile([0, 5, 4, 1], edges, 0.5) == 2.0
    assert stats.histogram_quantile([0, 5, 4, 1], edges, 0.51) == 4.0
    assert stats.histogram_quantile([0, 5, 4, 1], edges, 0.95) == 8.0
    assert stats.histogram_quantile([0, 0, 0, 0], edges, 0.5) is None
    assert [stats.level_reached([0.9, 0.06, 0.0, 0.04], share) for share in (0.5, 0.9, 0.95, 0.99)] == [0, 0, 1, 3]


def test_a_paired_difference_counts_what_common_numbers_save() -> None:
    """Proves the three numbers on pairs x, x/2 + e of which all moments are known.

    With Var x = 4 and Var e = 1: Var y = 2, Cov = 2, Var(x − y) = 2, so that independent runs need (4 + 2)/2 = 3 times
    as many, and the correlation is 2/√8.
    """
    generator = np.random.default_rng(1)
    x = generator.normal(10.0, 2.0, 200_000)
    y = x / 2.0 + generator.normal(0.0, 1.0, len(x))
    pair = stats.paired_difference(x, y)
    assert pair.difference.contains(5.0)
    assert pair.times_fewer == pytest.approx(3.0, rel=0.02)
    assert pair.correlation == pytest.approx(2.0 / np.sqrt(8.0), rel=0.01)


def test_a_difference_of_plans_that_are_the_same_is_nothing() -> None:
    """Proves that equal pairs divide by no zero."""
    pair = stats.paired_difference([1.0, 2.0, 4.0], [1.0, 2.0, 4.0])
    assert (pair.difference.mean, pair.times_fewer) == (0.0, None)
    assert stats.paired_difference([1.0, 1.0], [2.0, 3.0]).correlation is None


def test_the_interval_of_a_share_is_one_of_shares() -> None:
    """An interval is cut where the number can't be, keeps its mean and error, and stays without ends if it has none."""
    one = stats.ratio_interval([0.999, 1.0, 1.0], [1.0, 1.0, 1.0])
    assert one.high is not None and one.high > 1.0
    cut = one.within(0.0, 1.0)
    assert (cut.mean, cut.low, cut.high, cut.standard_error) == (one.mean, one.low, 1.0, one.standard_error)
    alone = stats.ratio_interval([0.5], [1.0])
    assert alone.within(0.0, 1.0) == alone
