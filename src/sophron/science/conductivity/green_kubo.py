"""Stage green_kubo: the conductivity, with its error, from the heat flux of all replicas."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import scipy

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.science.conductivity.build import UNITS, Units
from sophron.science.estimators.autocorrelation import autocorrelation
from sophron.science.estimators.green_kubo import Estimate, conductivity_integral, estimate
from sophron.science.estimators.plateau import Refusal
from sophron.science.figures import BLUE, GREY, VERMILION, logarithmic_sample, saved_figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

SAME = 1e-9
"""Relative difference up to which sampling intervals and volumes of replicas are the same."""


def run(ctx: StepContext) -> StepResult:
    """Autocorrelate, integrate and read the plateau; a refusal is a finished result with conductivity null.

    Writes `curves.npz` (`times`, `acf_mean`, `integral_mean`, `integral_sem` over replicas and components, shape
    (lags,); `integral_replica`, mean over components, shape (replicas, lags)) and `integral.svg`.
    EngineFailure if replicas are missing, or differ in volume or sampling interval.
    """
    steps = ctx.upstream["green_kubo_flux"]
    if len(steps) != ctx.definition["replicas"]:
        raise EngineFailure(f"green_kubo wants {ctx.definition['replicas']} replicas; there are {len(steps)}")
    units = UNITS[steps[0].result["model"]["units"]]
    means = np.array([float(step.result["temperature_mean"]) for step in steps])
    paths = [step.files["flux"] for step in steps]
    times, acf, integral, samples = _curves(paths, float(ctx.definition["max_lag"]), float(means.mean()), units)
    found = estimate(times, integral, (samples - 1) * float(times[1]))
    result = {
        **_values(found),
        "units": units.conductivity,
        "window": float(times[-1]),
        "temperature_mean": float(means.mean()),
        "replicas": len(steps),
        "independent_units": integral.shape[0] * integral.shape[1],
    }
    files = {"curves": ctx.workdir / "curves.npz", "integral_plot": ctx.workdir / "integral.svg"}
    _write(files["curves"], times, acf, integral)
    _draw(files["integral_plot"], times, integral, found, units)
    return StepResult(result, files, {"numpy": np.__version__, "scipy": scipy.__version__})


def _curves(
    paths: Sequence[Path], max_lag: float, temperature: float, units: Units
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int]:
    """Times (lags,), autocorrelations and running integrals (replicas, 3, lags), samples of the shortest run."""
    fluxes, settings = [], []
    for path in paths:
        with np.load(path) as archive:
            fluxes.append(archive["flux"])
            settings.append((float(archive["interval"]), float(archive["volume"])))
    if not np.allclose(settings, settings[0], rtol=SAME, atol=0):
        raise EngineFailure("replicas differ in sampling interval or volume; run them with one definition")
    interval, volume = settings[0]
    samples = min(len(flux) for flux in fluxes)
    lags = max(min(round(max_lag / interval), samples // 2), 1) + 1
    acf = np.stack([autocorrelation(flux / volume, lags).T for flux in fluxes])
    integral = units.to_conductivity * conductivity_integral(
        acf, interval, volume, temperature, boltzmann=units.boltzmann
    )
    return interval * np.arange(lags, dtype=np.float64), acf, integral, samples


def _values(found: Estimate | Refusal) -> dict[str, object]:
    """Return the part of the result that is null if the rule refuses."""
    given = found if isinstance(found, Estimate) else None
    longest = found.longest_relaxation if isinstance(found, Refusal) else found.cutoff.longest_relaxation
    return {
        "conductivity": given and given.coefficient,
        "conductivity_standard_error": given and given.standard_error,
        "conductivity_relative_error": given and given.standard_error / given.coefficient,
        "degrees_of_freedom": given and given.degrees_of_freedom,
        "interval_low": given and given.low,
        "interval_high": given and given.high,
        "cutoff": given and given.cutoff.time,
        "cutoff_ratio": given and given.cutoff.time / given.cutoff.longest_relaxation,
        "longest_relaxation": longest,
        "refused": given is None,
        "refusal": str(found) if isinstance(found, Refusal) else None,
    }


def _write(path: Path, times: NDArray[np.float64], acf: NDArray[np.float64], integral: NDArray[np.float64]) -> None:
    flat = integral.reshape(-1, times.size)
    np.savez(
        path,
        times=times,
        acf_mean=acf.mean(axis=(0, 1)),
        integral_mean=flat.mean(axis=0),
        integral_sem=flat.std(axis=0, ddof=1) / math.sqrt(len(flat)),
        integral_replica=integral.mean(axis=1),
    )


def _draw(
    path: Path, times: NDArray[np.float64], integral: NDArray[np.float64], found: Estimate | Refusal, units: Units
) -> None:
    """Running integral of every replica and of all, with the cut-off and the conductivity that was read there."""
    shown = logarithmic_sample(times.size)
    flat = integral.reshape(-1, times.size)[:, shown]
    mean, error = flat.mean(axis=0), 2 * flat.std(axis=0, ddof=1) / math.sqrt(len(flat))
    with saved_figure(path) as figure:
        axes = figure.subplots()
        for number, replica in enumerate(integral.mean(axis=1)):
            label = "replicas" if number == 0 else None
            axes.plot(times[shown], replica[shown], color=GREY, linewidth=0.7, alpha=0.6, label=label)
        band = (mean - error, mean + error)
        axes.fill_between(times[shown], *band, color=BLUE, alpha=0.25, linewidth=0, label="± 2 s.e.")
        axes.plot(times[shown], mean, color=BLUE, label="mean of components and replicas")
        if isinstance(found, Estimate):
            at, half = found.cutoff.time, found.high - found.coefficient
            label = f"conductivity {found.coefficient:.3g} ± {half:.2g} (95 %)"
            axes.errorbar([at], [found.coefficient], yerr=[half], color=VERMILION, fmt="o", capsize=4, label=label)
        axes.set_xscale("log")
        axes.set_xlabel(f"upper limit t ({units.time})")
        axes.set_ylabel(f"κ(t) ({units.conductivity})")
        refused = f": refused ({found.reason.replace('_', ' ')})" if isinstance(found, Refusal) else ""
        axes.set_title(f"Running Green-Kubo integral{refused}")
        axes.legend(loc="upper left")
