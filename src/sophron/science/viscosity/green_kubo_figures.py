"""The two figures of stage green_kubo: stress autocorrelation and running integral."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.estimators.green_kubo import Estimate
from sophron.science.figures import (
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    VISCOSITY_UNIT,
    logarithmic_sample,
    saved_figure,
)

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sophron.science.estimators.plateau import Refusal


@dataclass(frozen=True)
class Summary:
    """Means and standard errors over replicas and components, (lags,), under the names of `curves.npz`.

    integral_replica: mean over components, (replicas, lags).
    """

    times: NDArray[np.float64]
    acf_mean: NDArray[np.float64]
    acf_sem: NDArray[np.float64]
    integral_mean: NDArray[np.float64]
    integral_sem: NDArray[np.float64]
    integral_replica: NDArray[np.float64]


def draw_autocorrelation(path: Path, summary: Summary, found: Estimate | Refusal) -> None:
    """Normalised autocorrelation with a band of two standard errors: the whole of it, and its tail enlarged."""
    shown = logarithmic_sample(summary.times.size)
    times, scale = summary.times[shown], summary.acf_mean[0] or 1.0
    mean, error = summary.acf_mean[shown] / scale, 2 * summary.acf_sem[shown] / scale
    with saved_figure(path, height=5.2) as figure:
        whole, tail = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        for axes in (whole, tail):
            axes.axhline(0, color="black", linewidth=0.8)
            axes.fill_between(times, mean - error, mean + error, color=BLUE, alpha=0.25, linewidth=0, label="± 2 s.e.")
            axes.plot(times, mean, color=BLUE, label="mean of components and replicas")
            _mark_times(axes, found)
            axes.set_ylabel("C(t) / C(0)")
        top = _tail_height(times, mean, found)
        tail.set_ylim(-0.4 * top, top)
        tail.set_xscale("log")
        tail.set_xlim(times[0], times[-1])
        tail.set_xlabel("lag t (τ)")
        whole.set_title("Stress autocorrelation")
        tail.set_title("Its tail, enlarged")
        whole.legend(loc="upper right")


def draw_integral(path: Path, summary: Summary, found: Estimate | Refusal) -> None:
    """Running integral of every replica and of all, with the cut-off and the viscosity that was read there."""
    shown = logarithmic_sample(summary.times.size)
    times, mean = summary.times[shown], summary.integral_mean[shown]
    error = 2 * summary.integral_sem[shown]
    with saved_figure(path) as figure:
        axes = figure.subplots()
        for number, replica in enumerate(summary.integral_replica):
            label = "replicas" if number == 0 else None
            axes.plot(times, replica[shown], color=GREY, linewidth=0.7, alpha=0.6, label=label)
        axes.fill_between(times, mean - error, mean + error, color=BLUE, alpha=0.25, linewidth=0, label="± 2 s.e.")
        axes.plot(times, mean, color=BLUE, label="mean of components and replicas")
        _mark_times(axes, found)
        if isinstance(found, Estimate):
            at, half = found.cutoff.time, found.high - found.coefficient
            label = f"viscosity {found.coefficient:.3g} ± {half:.2g} (95 %)"
            axes.errorbar([at], [found.coefficient], yerr=[half], color=VERMILION, fmt="o", capsize=4, label=label)
            axes.set_title("Running Green-Kubo integral")
        else:
            axes.set_title(f"Running Green-Kubo integral: refused ({found.reason.replace('_', ' ')})")
        axes.set_xscale("log")
        axes.set_xlim(times[0], times[-1])
        axes.set_ylim(min(0.0, float(mean.min())), 1.5 * float(mean.max()) or 1.0)
        axes.set_xlabel("upper limit t (τ)")
        axes.set_ylabel(f"η(t) ({VISCOSITY_UNIT})")
        axes.legend(loc="upper left")


def _longest(found: Estimate | Refusal) -> float | None:
    """Return the longest relaxation time, if a fit was accepted."""
    return found.cutoff.longest_relaxation if isinstance(found, Estimate) else found.longest_relaxation


def _tail_height(times: NDArray[np.float64], mean: NDArray[np.float64], found: Estimate | Refusal) -> float:
    """Upper end of the tail's axis: three times the normalised autocorrelation at the longest relaxation time."""
    at = np.searchsorted(times, _longest(found) or times[-1])
    return max(3 * float(mean[min(int(at), mean.size - 1)]), 0.01)


def _mark_times(axes: Axes, found: Estimate | Refusal) -> None:
    """Vertical lines at the longest relaxation time and, if there is one, at the cut-off."""
    if isinstance(found, Estimate):
        axes.axvline(found.cutoff.time, color=VERMILION, linestyle="--", linewidth=1.2, label="cut-off")
    longest = _longest(found)
    if longest is not None and longest < axes.dataLim.x1:
        axes.axvline(longest, color=GREEN, linestyle=":", linewidth=1.4, label="longest relaxation time")
