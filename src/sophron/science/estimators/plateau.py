"""Choose the cut-off of a Green-Kubo integral: a fixed rule finds the longest relaxation time, or refuses and says why.

The rule sees the mean over all components and replicas only, has no free setting and no random part.

1. *Noise.* At lags beyond the relaxation a running integral walks at random: its variance grows as the lag, at the
   rate 4 eta^2 / (run length) for each component (Zhang, Otani and Maginn 2015, 10.1021/acs.jctc.5b00351, find the
   power 1/2 of the deviation empirically). The rate is measured from the spread between components and replicas over
   the last decade of lags (`noise_rate`).
2. *Fit.* So its increments between logarithmically spaced lags (10 a decade) are nearly independent, with variance
   rate x width. They are fitted by a sum of decaying exponentials with non-negative amplitudes on a fixed grid of
   relaxation times (8 a decade, up to 1000 windows): non-negative least squares has one minimum and needs no start.
   The fit begins at the first lag from which on chi-square accepts it (p > 0.01): the inertial part, and the
   oscillations of stiff bonds, are not exponentials and stay out.
3. *Longest relaxation time.* The smallest upper end of the grid whose chi-square lies within 4 of the best (two
   standard deviations): no longer time is claimed than the data ask for.
4. *Cut-off.* The first lag of at least 3 longest relaxation times at which what the fit still expects is under a
   tenth of the standard error there: a later cut adds noise, an earlier one bias. Nothing is added for the rest;
   the upper end of the interval carries what a slow part may add (`slow_tail`).
5. *Refusal*, if there is no such fit, the longest time is shorter than two samples, the cut-off lies beyond the
   window, or the run is shorter than 30 longest relaxation times. A window shorter than the relaxation is
   recognised by the slope it still has, which asks for times beyond it. (That the result drowns in noise is judged
   in `green_kubo.estimate`, which knows its error.)
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from sophron.science.estimators.statistics import chi2_p_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_RATIO = 3.0
"""Least cut-off in longest relaxation times."""
LEAST_RUN = 30.0
"""Least length of one run in longest relaxation times."""
LEAST_SAMPLES = 2.0
"""Least longest relaxation time in sampling intervals."""
REMAINDER = 0.1
"""Most that may be missing at the cut-off, in standard errors."""
LEAST_BINS = 8
"""Increments that a fit needs."""
LEAST_LAGS = 30
"""Lags that hold enough increments to fit and to measure the noise."""
BINS_A_DECADE = 10
TIMES_A_DECADE = 8
LONGEST_IN_WINDOWS = 1000.0
LEAST_P_VALUE = 0.01
CHI2_STEP = 4.0


class Reason(StrEnum):
    """Why no number is given."""

    WINDOW_TOO_SHORT = "window_too_short"
    RUN_TOO_SHORT = "run_too_short"
    NOISE = "noise"
    NO_RELAXATION = "no_relaxation"
    UNDERSAMPLED = "undersampled"


@dataclass(frozen=True)
class Refusal:
    """A number that is not given. longest_relaxation: fitted time, if one was found, in the unit of the lags."""

    reason: Reason
    sentence: str
    longest_relaxation: float | None = None

    def __str__(self) -> str:
        """Typed reason and sentence, in one line."""
        return f"{self.reason}: {self.sentence}"


@dataclass(frozen=True)
class Cutoff:
    """The lag at which to read the running integral.

    index, time: of that lag; longest_relaxation, fit_start: times; remainder: what the fit expects beyond it, in the
    unit of the integral.
    """

    index: int
    time: float
    longest_relaxation: float
    fit_start: float
    remainder: float


@dataclass(frozen=True)
class _Fit:
    """Increments from `start` on, as sum of amplitudes x (exp(-t/tau) - exp(-t'/tau)) over the grid `taus`."""

    start: float
    taus: NDArray[np.float64]
    amplitudes: NDArray[np.float64]
    chi2: float

    def remainder(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the integral that the fit expects beyond each of `times`."""
        used = self.amplitudes > 0
        return np.asarray(np.exp(-times[:, None] / self.taus[used]) @ self.amplitudes[used])


def noise_rate(times: NDArray[np.float64], integrals: NDArray[np.float64]) -> float:
    """Return the growth of the variance of one unit's running integral with the lag, from the last decade of lags.

    times: shape (lags,); integrals: shape (units, lags), units >= 2.
    """
    edges = _edges(times.size)
    edges = edges[times[edges] >= 0.1 * times[-1]]
    spread = np.diff(integrals[:, edges], axis=1).var(axis=0, ddof=1)
    return float(np.mean(spread / np.diff(times[edges])))


def choose_cutoff(
    times: NDArray[np.float64], integral: NDArray[np.float64], rate: float, run_length: float
) -> Cutoff | Refusal:
    """Apply the rule of this module to a mean running integral.

    times, integral: shape (lags,), lags equally spaced from 0; rate: growth of the variance of `integral` with the
    lag (`noise_rate` / number of units); run_length: length of each of the runs, in the unit of `times`.
    """
    fit = _fit_relaxation(times, integral, rate)
    if fit is None:
        return Refusal(Reason.NO_RELAXATION, "no sum of decaying exponentials describes the running integral.")
    longest, window = float(fit.taus[-1]), float(times[-1])
    if longest < LEAST_SAMPLES * times[1]:
        sentence = f"the series relaxes within {LEAST_SAMPLES:g} samples of {times[1]:g}; sample more often."
        return Refusal(Reason.UNDERSAMPLED, sentence, longest)
    settled = (times >= LEAST_RATIO * longest) & (fit.remainder(times) <= REMAINDER * np.sqrt(rate * times))
    if not settled.any():
        sentence = (
            f"the window of {window:g} ends before {LEAST_RATIO:g} longest relaxation times of about {longest:.3g}, "
            "or before the integral has settled; lengthen window and runs."
        )
        return Refusal(Reason.WINDOW_TOO_SHORT, sentence, longest)
    if run_length < LEAST_RUN * longest:
        sentence = f"runs of {run_length:g} are shorter than {LEAST_RUN:g} longest relaxation times of {longest:.3g}."
        return Refusal(Reason.RUN_TOO_SHORT, sentence, longest)
    index = int(np.flatnonzero(settled)[0])
    remainder = float(fit.remainder(times[index : index + 1])[0])
    return Cutoff(index, float(times[index]), longest, fit.start, remainder)


def slow_tail(times: NDArray[np.float64], integral: NDArray[np.float64], rate: float, cutoff: Cutoff) -> float:
    """Return what a weak slow part may add beyond the cut-off, in the unit of the integral.

    Step 3 claims no longer time than the data ask for, so it leaves out a slow part that they allow. Each longer time
    of the grid that the window could settle (a third of it) is added to the times of the fit in turn; the largest
    remainder of those whose chi-square is within `CHI2_STEP` of the best counts. Arguments as for `choose_cutoff`.
    """
    edges = _edges(times.size)
    lags = times[edges]
    used = lags >= cutoff.fit_start * (1.0 - 1e-9)
    lags, increments = lags[used], np.diff(integral[edges[used]])
    grid = _grid(times)
    taus = grid[grid >= lags[0] / LEAST_RATIO]
    short = taus[taus <= cutoff.longest_relaxation * (1.0 + 1e-9)]
    longer = taus[(taus > short[-1]) & (taus <= times[-1] / LEAST_RATIO)]
    best = _fit_on(lags, increments, rate, taus)
    fits = [_fit_on(lags, increments, rate, np.append(short, tau)) for tau in longer]
    at = np.array([cutoff.time])
    tails = [float(fit.remainder(at)[0]) for fit in fits if fit.chi2 <= best.chi2 + CHI2_STEP]
    return max(cutoff.remainder, *tails) if tails else cutoff.remainder


def _edges(lags: int) -> NDArray[np.intp]:
    """Indices 1, 2, 3, ... that grow by a tenth of a decade, the last lag among them."""
    count = int(np.ceil(BINS_A_DECADE * np.log10(lags - 1)))
    grown = np.rint(10.0 ** (np.arange(count + 1) / BINS_A_DECADE)).astype(np.intp)
    grown = grown[grown * 10 ** (0.5 / BINS_A_DECADE) < lags - 1]
    return np.unique(np.append(grown, lags - 1))


def _fit_relaxation(times: NDArray[np.float64], integral: NDArray[np.float64], rate: float) -> _Fit | None:
    """The fit of steps 2 and 3; its grid ends at the longest relaxation time. None if chi-square accepts none."""
    edges = _edges(times.size)
    grid = _grid(times)
    for first in range(edges.size - LEAST_BINS):
        lags = times[edges[first:]]
        increments = np.diff(integral[edges[first:]])
        taus = grid[grid >= lags[0] / LEAST_RATIO]
        best = _fit_on(lags, increments, rate, taus)
        if chi2_p_value(best.chi2, increments.size - int(np.count_nonzero(best.amplitudes))) > LEAST_P_VALUE:
            return _shortest(lags, increments, rate, best)
    return None


def _shortest(lags: NDArray[np.float64], increments: NDArray[np.float64], rate: float, best: _Fit) -> _Fit:
    """The fit on the fewest leading times of the grid whose chi-square is within `CHI2_STEP` of the best."""

    def closeness(count: int) -> float:
        return -_fit_on(lags, increments, rate, best.taus[:count]).chi2

    counts = range(1, best.taus.size + 1)
    position = bisect.bisect_left(counts, -(best.chi2 + CHI2_STEP), key=closeness)
    return _fit_on(lags, increments, rate, best.taus[: counts[position]])


def _grid(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Relaxation times from one sampling interval to `LONGEST_IN_WINDOWS` windows."""
    decades = np.log10(LONGEST_IN_WINDOWS * times[-1] / times[1])
    return np.asarray(times[1] * 10.0 ** (np.arange(int(TIMES_A_DECADE * decades) + 1) / TIMES_A_DECADE))


def _fit_on(lags: NDArray[np.float64], increments: NDArray[np.float64], rate: float, taus: NDArray[np.float64]) -> _Fit:
    """Weighted non-negative least squares on the grid `taus`."""
    weights = 1.0 / np.sqrt(rate * np.diff(lags))
    model = -np.diff(np.exp(-lags[:, None] / taus), axis=0)
    amplitudes, residual = optimize.nnls(model * weights[:, None], increments * weights)
    return _Fit(start=float(lags[0]), taus=taus, amplitudes=amplitudes, chi2=float(residual) ** 2)
