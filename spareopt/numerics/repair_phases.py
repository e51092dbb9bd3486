"""Repair times from a log: a mixture of exponential phases, its mean and the survival curve, open repairs included.

A repair that is still open says only that it takes longer than so far.  With phases of shares p and means m an ended
repair of length x counts Σ p/m exp(−x/m), an open one Σ p exp(−x/m), and one recorded as of no length, which is below
the shortest length d on record, 1 − Σ p exp(−d/m), so that no phase shrinks to nothing.

The phases are fitted by expectation and maximisation (Dempster, Laird and Rubin 1977) from set starts, and then by
Newton-like steps, in the logarithms of odds and means.  Their number is that of the least BIC (Schwarz 1978).  Where
none is open and none of no length, the mean of the fitted mixture is the arithmetic mean, whatever the law.
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spareopt.numerics.poisson_rates import Bounds, mean_interval

Floats = NDArray[np.float64]

MOST_PHASES = 4
FEWEST_REPAIRS = 30
"""Ended repairs below which more than one phase is not looked for."""
GROUPED_ABOVE = 50_000
"""Repairs above which lengths that differ by less than 0.2 % are taken at their mean while phases are fitted."""
_BINS_PER_E = 500
_EM_STEPS = 20
_LOG_BOUND = 40.0


class Durations(NamedTuple):
    """Lengths of repairs as they enter the likelihood: of ended and open ones with how often each, and of none."""

    ended: Floats
    ended_times: Floats
    open: Floats
    open_times: Floats
    zeros: float
    shortest: float

    @property
    def number(self) -> float:
        """Ended repairs."""
        return float(self.ended_times.sum()) + self.zeros


class Phases(NamedTuple):
    """A fitted mixture: shares and means by mean, with the ends of their intervals, log-likelihood and BIC.

    Ends are NaN where the likelihood is flat.
    """

    share: Floats
    mean: Floats
    share_low: Floats
    share_high: Floats
    mean_low: Floats
    mean_high: Floats
    log_likelihood: float
    bic: float


def durations(ended: Floats, still_open: Floats) -> Durations:
    """The lengths (n,) of ended repairs and those so far (m,) of open ones, ready to be fitted.

    Raises ValueError where no repair of some length has ended.
    """
    positive = ended[ended > 0]
    if len(positive) == 0:
        raise ValueError("expected an ended repair of some length")
    begun = still_open[still_open > 0]
    return Durations(*_grouped(positive), *_grouped(begun), float(len(ended) - len(positive)), float(positive.min()))


def _grouped(lengths: Floats) -> tuple[Floats, Floats]:
    if len(lengths) <= GROUPED_ABOVE:
        return lengths, np.ones(len(lengths))
    bins = np.floor(_BINS_PER_E * np.log(lengths)).astype(np.int64)
    _, place, number = np.unique(bins, return_inverse=True, return_counts=True)
    return np.bincount(place, weights=lengths) / number, number.astype(np.float64)


def fit_phases(data: Durations, confidence: float, most: int = MOST_PHASES) -> list[Phases]:
    """Mixtures of 1, 2, … phases, until one more does not lower BIC (that one is the last); below FEWEST_REPAIRS one.

    The best is the one of the least BIC.
    """
    fits: list[Phases] = []
    for number in range(1, (most if data.number >= FEWEST_REPAIRS else 1) + 1):
        starts = [_spread_start(data, number)] if number == 1 else [_spread_start(data, number), _split_start(fits[-1])]
        found = max((_maximise(data, *start) for start in starts), key=lambda fit: fit[0])
        fits.append(_described(data, found[1], confidence))
        if number > 1 and fits[-1].bic >= fits[-2].bic:
            break
    return fits


def best_phases(fits: list[Phases]) -> Phases:
    """The fit of the least BIC."""
    return min(fits, key=lambda fit: fit.bic)


def _spread_start(data: Durations, number: int) -> tuple[Floats, Floats]:
    """Equal shares, means at even quantiles of the ended lengths."""
    total = (data.ended @ data.ended_times + data.open @ data.open_times) / data.ended_times.sum()
    if number == 1:
        return np.ones(1), np.array([total])
    order = np.argsort(data.ended, kind="stable")
    places = np.cumsum(data.ended_times[order]) / data.ended_times.sum()
    wanted = (np.arange(number) + 0.5) / number
    means = data.ended[order][np.minimum(np.searchsorted(places, wanted), len(order) - 1)]
    means = np.maximum(means, data.shortest) * np.geomspace(0.8, 1.25, number)  # ties must not make two phases one
    return np.full(number, 1.0 / number), means


def _split_start(fit: Phases) -> tuple[Floats, Floats]:
    """The phases found before, the longest split in two."""
    share, mean = fit.share, fit.mean
    return np.concatenate([share[:-1], share[-1:] / 2, share[-1:] / 2]), np.concatenate(
        [mean[:-1], mean[-1:] / 2.0, mean[-1:] * 2.0]
    )


def _maximise(data: Durations, share: Floats, mean: Floats) -> tuple[float, Floats]:
    """The greatest log-likelihood from a start, and where."""
    from scipy.optimize import minimize  # noqa: PLC0415

    for _ in range(_EM_STEPS if len(share) > 1 else 0):
        share, mean = _em_step(data, share, mean)
    start = np.concatenate([np.log(share[:-1] / share[-1]), np.log(mean)])
    scale = 1.0 / max(data.number, 1.0)

    def loss(point: Floats) -> tuple[float, Floats]:
        value, slope = log_likelihood(data, np.clip(point, -_LOG_BOUND, _LOG_BOUND))
        return -value * scale, -slope * scale

    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 200})
    point = np.clip(found.x, -_LOG_BOUND, _LOG_BOUND)
    odds = np.append(point[: len(share) - 1], 0.0)
    # one step more never lowers the likelihood, and makes the mean that of the repairs to the last digit
    share, mean = _em_step(data, np.exp(odds - np.logaddexp.reduce(odds)), np.exp(point[len(share) - 1 :]))
    point = np.concatenate([np.log(share[:-1] / share[-1]), np.log(mean)])
    return log_likelihood(data, point)[0], point


def _em_step(data: Durations, share: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Shares and means from the probabilities with which each repair went each way."""
    ended = _ways(data.ended, np.log(share / mean), mean)[0] * data.ended_times
    still = _ways(data.open, np.log(share), mean)[0] * data.open_times
    number, time = ended.sum(1) + still.sum(1), ended @ data.ended + still @ data.open
    if data.zeros:
        below = share * -np.expm1(-data.shortest / mean)
        zeros = data.zeros * below / below.sum()
        ratio = data.shortest / mean
        inside = mean - data.shortest / np.expm1(np.minimum(ratio, 700.0))  # mean of one that is below the shortest
        number, time = number + zeros, time + zeros * inside
        ended = ended.sum(1) + zeros
    else:
        ended = ended.sum(1)
    share = np.maximum(number / number.sum(), 1e-12)
    return share / share.sum(), np.maximum(time / np.maximum(ended, 1e-12), data.shortest * 1e-3)


def _ways(lengths: Floats, log_weight: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """The probability of each way (k, n) for lengths (n,), and the logarithm of what each length counts (n,)."""
    logs = log_weight[:, None] - lengths / mean[:, None]
    most = logs.max(axis=0)
    parts = np.exp(logs - most)
    whole = parts.sum(axis=0)
    parts /= whole
    return parts, most + np.log(whole)


def log_likelihood(data: Durations, point: Floats) -> tuple[float, Floats]:
    """The log-likelihood and its slope, at log odds (k − 1, against the last phase) and log means (k)."""
    number = (len(point) + 1) // 2
    odds = np.append(point[: number - 1], 0.0)
    log_share = odds - np.logaddexp.reduce(odds)
    share, mean = np.exp(log_share), np.exp(point[number - 1 :])
    value, slope_share, slope_mean = 0.0, np.zeros(number), np.zeros(number)
    for lengths, times, ends in ((data.ended, data.ended_times, 1.0), (data.open, data.open_times, 0.0)):
        if len(lengths) == 0:
            continue
        part, whole = _ways(lengths, log_share - ends * np.log(mean), mean)
        part *= times
        number_each = part.sum(axis=1)
        value += float(whole @ times)
        slope_share += number_each - share * times.sum()
        slope_mean += part @ lengths / mean - ends * number_each
    if data.zeros:
        left = np.exp(-data.shortest / mean)
        below = float(share @ -np.expm1(-data.shortest / mean))
        value += data.zeros * log(max(below, 1e-300))
        scale = data.zeros / max(below, 1e-300)
        slope_share -= scale * share * (left - share @ left)
        slope_mean -= scale * share * left * data.shortest / mean
    return value, np.concatenate([slope_share[:-1], slope_mean])


def _described(data: Durations, point: Floats, confidence: float) -> Phases:
    """A fit with its intervals, normal in the logarithms of odds and means, by the observed information."""
    from scipy.special import expit, ndtri  # noqa: PLC0415

    number = (len(point) + 1) // 2
    odds = np.append(point[: number - 1], 0.0)
    share = np.exp(odds - np.logaddexp.reduce(odds))
    log_mean = point[number - 1 :]
    covariance = _covariance(data, point)
    reach = ndtri((1.0 + confidence) / 2.0)
    turn = np.zeros((number, len(point)))  # slope of each log(share/(1 − share)) along the log odds
    for k in range(number):
        turn[k, : number - 1] = -share[:-1] / max(1.0 - share[k], 1e-300)
        if k < number - 1:
            turn[k, k] = 1.0
    with np.errstate(invalid="ignore"):
        error_share = np.sqrt(np.einsum("ki,ij,kj->k", turn, covariance, turn))
        error_mean = np.sqrt(np.diag(covariance)[number - 1 :])
    with np.errstate(divide="ignore"):
        log_odds = np.log(share) - np.log1p(-share)
    low, high = expit(log_odds - reach * error_share), expit(log_odds + reach * error_share)
    if number == 1:
        low, high = np.ones(1), np.ones(1)
    value, _ = log_likelihood(data, point)
    size = data.number + float(data.open_times.sum())
    order = np.argsort(log_mean, kind="stable")
    means = np.exp(log_mean)
    with np.errstate(over="ignore"):  # a phase that the data hardly hold: its interval has no end
        factor = np.exp(reach * error_mean)
    return Phases(
        share[order], means[order], low[order], high[order], (means / factor)[order], (means * factor)[order],
        value, -2.0 * value + len(point) * log(size),
    )  # fmt: skip


def _covariance(data: Durations, point: Floats) -> Floats:
    """The inverse of the observed information, NaN where it is not positive definite."""
    steps = 1e-4
    columns = []
    for place in range(len(point)):
        shift = np.zeros(len(point))
        shift[place] = steps
        columns.append(
            (log_likelihood(data, point + shift)[1] - log_likelihood(data, point - shift)[1]) / (2.0 * steps)
        )
    information = -np.array(columns)
    information = (information + information.T) / 2.0
    nothing: Floats = np.full(information.shape, np.nan)
    if not np.isfinite(information).all() or np.linalg.eigvalsh(information).min() <= 1e-9 * information.max():
        return nothing
    return np.asarray(np.linalg.inv(information), dtype=np.float64)


def mean_repair(data: Durations, fit: Phases, confidence: float) -> Bounds:
    """The mean repair time, that of the fitted mixture, with its interval.

    The variance of a repair time is that of the lengths on record, where open ones count as the mixture expects them to
    go on; the number of ended repairs divides it.
    """
    mean = float(fit.share @ fit.mean)
    with np.errstate(divide="ignore"):
        ways = _ways(data.open, np.log(fit.share), fit.mean)[0]
    square = float(data.ended_times @ data.ended**2)
    if len(data.open):
        means = fit.mean[:, None]
        later = data.open**2 + 2.0 * data.open * means + 2.0 * means**2  # mean square of one that goes this way
        square += float(data.open_times @ (ways * later).sum(axis=0))
    size = data.number + float(data.open_times.sum())
    variance = max(square / size - mean**2, 0.0) if data.number > 1 else mean**2
    if data.number < FEWEST_REPAIRS:
        variance = max(variance, mean**2)  # too few to believe that they spread less than exponential ones do
    low, high = mean_interval(mean, sqrt(variance / data.number), confidence)
    return Bounds(mean, low, high)


class Survival(NamedTuple):
    """Share of the repairs that take longer than each time: a step down at each ended one (Kaplan and Meier 1958)."""

    times: Floats
    shares: Floats

    def quantile(self, share: float) -> float:
        """The least time by which so large a share of the repairs has ended; infinite where the curve stays above."""
        reached = np.flatnonzero(self.shares <= 1.0 - share + 1e-12)
        return float(self.times[reached[0]]) if len(reached) else inf

    def restricted_mean(self, horizon: float) -> float:
        """The mean of the repair time or the horizon, whichever is less: the area below the curve."""
        inside = self.times < horizon
        edges = np.concatenate([[0.0], self.times[inside], [horizon]])
        return float(np.diff(edges) @ np.concatenate([[1.0], self.shares[inside]]))


def survival(ended: Floats, still_open: Floats) -> Survival:
    """The survival curve of ended repairs (n,) and those still open (m,), by the lengths on record."""
    from scipy.stats import CensoredData, ecdf  # noqa: PLC0415

    curve = ecdf(CensoredData(uncensored=ended, right=still_open)).sf
    return Survival(np.asarray(curve.quantiles, dtype=np.float64), np.asarray(curve.probabilities, dtype=np.float64))
