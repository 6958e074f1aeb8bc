"""Correlated series: how many samples are worth one, the error of a mean, and samples that are independent.

Three estimates of the variance of a mean are made, and the largest counts:

1. *Window.* The sum of autocorrelations up to `WINDOW` correlation times (Sokal 1997, 10.1007/978-1-4899-0319-8_6).
   A slow part with a small share of the variance never opens this window.
2. *Initial positive sequence.* The sum up to the first pair of neighbouring lags whose sum is not positive (Geyer
   1992, 10.1214/ss/1177011137), which sees such a part.
3. *Blocks.* Means of blocks of doubled length (Flyvbjerg and Petersen 1989, 10.1063/1.457480), at the first length
   from which on neighbours are no longer correlated (Jonsson 2018, 10.1103/PhysRevE.98.043304).

A series that oscillates is averaged over blocks of two, again and again, before 1 and 2, until no autocorrelation after
the positive ones is significantly negative: a positive sequence alone would leave out what an oscillation takes back.

The longest correlation time is the mean lag of the positive sequence, weighted by the autocorrelation: tau for one
time, and near the slow one for two, however small its share. A series shorter than `LEAST_TIMES` of it has no error.
Nor has one of which a single sample holds much of the variance: its mean is that sample's. Means of a few long blocks
cannot be treated so: `block_mean`. What no sample shows cannot be seen: a series of 20 slow
times may look like white noise. Constants were chosen on the seeds of `bench/coverage.py --freeze`, and are judged on
others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft, special

from sophron.science.estimators.refusal import Reason, Refusal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Series = NDArray[np.float64]

WINDOW = 5.0
LEAST_TIMES = 50.0
"""Least length of a series in its longest correlation times."""
TIME_MARGIN = 1.2
"""Factor on the longest time: short series show too short a one."""
SHORT_MARGIN = 15.0
"""Relative widening of the variance times length / longest time: short series show too little correlation."""
DIP = 1.5
"""Autocorrelation after the positive ones, in its standard errors, below which a series oscillates."""
WHITE = 2.5
"""First autocorrelations, in their standard errors, below which blocks are white noise and are not doubled."""
LARGEST_SHARE = 0.3
"""Share of the squared deviations in one sample from which on they tell no error, in `LEAST_SAMPLES` or more; of a
normal distribution one in 400 series of 50 samples exceeds it, and none of 100."""
LEAST_SAMPLES = 50
LEAST_BLOCKS = 64
"""Blocks in which an oscillation is still looked for."""
BLOCK_SIGNIFICANCE = 0.05
NEIGHBOURS = 1.64
"""Correlation of neighbouring blocks, in its standard errors, from which on they have no error."""
DENSER = 4.0
"""Samples of `Kept.dense` to one independent one."""
ORIGINS = 10
"""Starts that are tried by `independent`, equally spaced over the first half."""


@dataclass(frozen=True)
class Correlation:
    """Correlation of one series; times are in samples.

    inefficiency: samples worth one independent sample (1 for white noise); time: longest correlation time;
    degrees_of_freedom: of the variance of the mean; refusal: why the series is too short to tell, else None.
    """

    samples: int
    inefficiency: float
    time: float
    degrees_of_freedom: float
    refusal: Refusal | None


@dataclass(frozen=True)
class SeriesMean:
    """Mean of one stationary series.

    error: standard error of the mean, None if the series is too short for one; inefficiency, degrees_of_freedom, time,
    refusal: as in `Correlation`; effective_samples: samples / inefficiency.
    """

    mean: float
    error: float | None
    inefficiency: float
    effective_samples: float
    degrees_of_freedom: float
    time: float
    refusal: Refusal | None


def correlation(series: ArrayLike) -> Correlation:
    """Apply the rule of this module to a series of shape (n,); ValueError if n < 4 or a value is not finite."""
    values = np.asarray(series, dtype=np.float64)
    samples = _checked_length(values)
    deviations = values - values.mean()
    variance = float(np.mean(deviations**2))
    if not (variance > 0 and np.ptp(values) > 0):  # the mean of a constant may be off by its rounding
        return Correlation(samples, 1.0, 0.0, samples - 1.0, None)
    blocks, rho, end = _without_oscillation(deviations)
    level, count = float(np.mean(blocks**2)), blocks.size
    rho = rho + (1.0 - rho) * max(2.0 * rho[:end].sum() - 1.0, 0.0) / count  # the mean was taken from the same data
    end = _positive(rho)
    time = samples // count * _mean_lag(rho[:end])
    freedom = count / (2 * end - 1)
    block_error, block_freedom = _blocking(blocks)
    error, degrees = max(
        (level * _window_sum(rho) / count, freedom),
        (level * (2.0 * rho[:end].sum() - 1.0) / count, freedom),
        (block_error, block_freedom),
    )
    inefficiency = max(error * (1.0 + SHORT_MARGIN * time / samples) * samples / variance, 1.0 / samples)
    longest = TIME_MARGIN * time
    return Correlation(
        samples=samples,
        inefficiency=inefficiency,
        time=longest,
        degrees_of_freedom=max(min(degrees, samples / inefficiency - 1.0, samples - 1.0), 1.0),
        refusal=_too_short(samples, longest) or _one_sample(deviations),
    )


def statistical_inefficiency(series: ArrayLike) -> float:
    """Return the samples of `series`, shape (n,), that are worth one independent sample."""
    return correlation(series).inefficiency


def series_mean(series: ArrayLike) -> SeriesMean:
    """Mean of a stationary series of shape (n,), with a standard error that counts its correlation.

    ValueError if fewer than 4 samples or a value that is not finite are given.
    """
    values = np.asarray(series, dtype=np.float64)
    found = correlation(values)
    variance = float(values.var(ddof=1)) if np.ptp(values) > 0 else 0.0
    return SeriesMean(
        mean=float(values.mean()),
        error=None if found.refusal else math.sqrt(variance * found.inefficiency / found.samples),
        inefficiency=found.inefficiency,
        effective_samples=found.samples / found.inefficiency,
        degrees_of_freedom=found.degrees_of_freedom,
        time=found.time,
        refusal=found.refusal,
    )


def block_mean(means: ArrayLike) -> SeriesMean:
    """Mean of a few means of long blocks, shape (n,), n >= 4, whose count is the only limit: n - 1 degrees of freedom.

    The correlation of neighbours widens the error, as of a first-order process with no more than that; one that is
    significant has no error. Under 8 blocks it cannot be seen.
    """
    values = np.asarray(means, dtype=np.float64)
    count = _checked_length(values)
    deviations = values - values.mean()
    squares = float((deviations**2).sum())
    near = float((deviations[1:] * deviations[:-1]).sum()) / squares + 1.0 / count if squares > 0 else 0.0
    refusal = None
    if near > NEIGHBOURS / math.sqrt(count):
        sentence = f"neighbours of {count} blocks correlate by {near:.2g}; take longer blocks, and as many."
        refusal = Refusal(Reason.SHORT_SERIES, sentence)
    inefficiency = 1.0 + 2.0 * max(near, 0.0)
    error = math.sqrt(inefficiency * squares / (count * (count - 1)))
    return SeriesMean(
        mean=float(values.mean()),
        error=None if refusal else error,
        inefficiency=inefficiency,
        effective_samples=count / inefficiency,
        degrees_of_freedom=count - 1.0,
        time=max(near, 0.0),
        refusal=refusal,
    )


@dataclass(frozen=True)
class Kept:
    """indices: samples that are independent, ascending; start: first equilibrated one; inefficiency: samples worth one.

    time, degrees_of_freedom: as in `Correlation`, of the slowest quantity; dense: samples that keep what the correlated
    ones know too (thinning two times to independent samples throws away what averages the fast one).
    """

    indices: NDArray[np.intp]
    dense: NDArray[np.intp]
    start: int
    inefficiency: float
    time: float
    degrees_of_freedom: float


def independent(series: Series) -> Kept:
    """Choose start and spacing from `series`, shape (quantities, samples), with at least 8 samples.

    For each start the slowest quantity counts; the start that leaves most independent samples is taken (Chodera 2016,
    10.1021/acs.jctc.5b00784), within the first half: what needs longer has not equilibrated, and the guards see it.
    The smallest of many inefficiencies is small by chance too, so the median of this and later starts is used.
    """
    samples = series.shape[1]
    starts = sorted({samples * origin // (2 * ORIGINS) for origin in range(ORIGINS + 1)})
    rows = [[correlation(each[start:]) for each in series] for start in starts]
    slowest = [max(row, key=lambda one: one.inefficiency) for row in rows]
    left = [(samples - start) / max(one.inefficiency, 1.0) for start, one in zip(starts, slowest, strict=True)]
    best = int(np.argmax(left))
    inefficiency = max(float(np.median([one.inefficiency for one in slowest[best:]])), 1.0)

    def every(spacing: float) -> NDArray[np.intp]:
        return np.unique(np.arange(starts[best], samples, max(spacing, 1.0)).astype(np.intp))

    return Kept(
        indices=every(inefficiency),
        dense=every(inefficiency / DENSER),
        start=starts[best],
        inefficiency=inefficiency,
        time=float(np.median([max(one.time for one in row) for row in rows[best:]])),
        degrees_of_freedom=slowest[best].degrees_of_freedom,
    )


def _too_short(samples: int, time: float) -> Refusal | None:
    if samples >= LEAST_TIMES * time:
        return None
    sentence = (
        f"{samples} samples are fewer than {LEAST_TIMES:g} of the longest correlation time seen, about {time:.3g} "
        "samples; run longer, or take the spread of independent replicas."
    )
    return Refusal(Reason.SHORT_SERIES, sentence)


def _one_sample(deviations: Series) -> Refusal | None:
    squares = deviations**2
    share = float(squares.max() / squares.sum())
    if share <= LARGEST_SHARE or deviations.size < LEAST_SAMPLES:
        return None
    sentence = (
        f"sample {int(squares.argmax())} of {deviations.size} holds {share:.0%} of the variance, so that the mean is "
        "hardly more than that sample; average what has no such tail, or run until many are alike."
    )
    return Refusal(Reason.HEAVY_TAIL, sentence)


def _without_oscillation(deviations: Series) -> tuple[Series, Series, int]:
    """Return means of blocks that do not oscillate, their autocorrelation, and the end of its positive sequence."""
    blocks = deviations
    while True:
        rho = _autocorrelation(blocks)
        end = _positive(rho)
        last = min(rho.size, 3 * end + 4)
        noise = math.sqrt((1.0 + 2.0 * float((rho[1:last] ** 2).sum())) / blocks.size)
        white = bool(np.abs(rho[1:4]).max() < WHITE / math.sqrt(blocks.size))
        if blocks.size < LEAST_BLOCKS or white or end >= last or rho[end:last].min() > -DIP * noise:
            return blocks, rho, end
        halved = _halved(blocks)
        blocks = halved - halved.mean()


def _halved(values: Series) -> Series:
    """Means of neighbours; an odd last value is left out."""
    even = values.size // 2 * 2
    return np.asarray(0.5 * (values[0:even:2] + values[1:even:2]))


def _autocorrelation(deviations: Series) -> Series:
    """rho(k) for k < n/2, biased estimator (divides by n), which keeps the noise at long lags small."""
    count = deviations.size
    length = fft.next_fast_len(2 * count, real=True)
    spectrum = fft.rfft(deviations, length)
    sums = fft.irfft(spectrum.real**2 + spectrum.imag**2, length)[: max(count // 2, 2)]
    return np.asarray(sums / sums[0])


def _positive(rho: Series) -> int:
    """Lags, from 0 on, up to the first pair whose sum is not positive; at least 2."""
    pairs = rho.size // 2
    ended = np.flatnonzero(rho[: 2 * pairs : 2] + rho[1 : 2 * pairs : 2] <= 0)
    return 2 * max(int(ended[0]) if ended.size else pairs, 1)


def _window_sum(rho: Series) -> float:
    """1 + 2 sum of rho(k) up to `WINDOW` times what is found so far."""
    times = 0.5 + np.cumsum(rho[1:])
    beyond = np.flatnonzero(np.arange(1, times.size + 1) >= WINDOW * times)
    return float(2.0 * times[beyond[0] if beyond.size else -1])


def _mean_lag(rho: Series) -> float:
    """Mean lag weighted by the autocorrelation, within six of itself; a quarter at least, as nothing is faster."""
    lags = np.arange(rho.size)
    mean, end = 0.0, rho.size
    for _ in range(4):
        total = float(rho[:end].sum()) - 0.5
        mean = float((lags[:end] * rho[:end]).sum()) / total if total > 0 else 0.0
        end = min(rho.size, max(int(6 * mean) + 2, 2))
    return max(mean, 0.25)


def _blocking(values: Series) -> tuple[float, float]:
    """Variance of the mean by blocks, and its degrees of freedom."""
    levels = []
    while values.size >= 8:
        deviations = values - values.mean()
        variance = float(np.mean(deviations**2))
        if not variance > 0:
            break
        neighbours = float((deviations[:-1] * deviations[1:]).sum()) / (values.size * variance)
        levels.append((values.size, variance, neighbours))
        values = _halved(values)
    if not levels:
        return 0.0, 1.0
    terms = np.array([count * ((count - 1) / count**2 + near) ** 2 for count, _, near in levels])
    beyond = np.cumsum(terms[::-1])[::-1]
    chosen = levels[-1]
    for place, level in enumerate(levels):
        settled = beyond[place] < special.chdtri(len(levels) - place, BLOCK_SIGNIFICANCE)
        if settled and level[2] > -1.0 / math.sqrt(level[0]):
            chosen = level
            break
    return chosen[1] / (chosen[0] - 1), chosen[0] - 1.0


def _checked_length(values: Series) -> int:
    """Number of samples; ValueError if they cannot have a correlated error."""
    if values.ndim != 1 or values.size < 4:
        raise ValueError("a series needs at least four samples in one dimension")
    if not np.all(np.isfinite(values)):
        raise ValueError("a series may hold finite values only")
    return int(values.size)
