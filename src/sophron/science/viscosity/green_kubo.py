"""Stage green_kubo: the shear viscosity, with its error, from the stress of all production replicas."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.science.estimators.autocorrelation import StreamedAutocorrelation
from sophron.science.estimators.green_kubo import (
    COMPONENTS,
    Estimate,
    estimate,
    running_integral,
    stress_components,
)
from sophron.science.estimators.plateau import Refusal
from sophron.science.viscosity import green_kubo_figures as figures
from sophron.science.viscosity import npz_stream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

FILES = {"curves": "curves.npz", "acf_plot": "acf.svg", "integral_plot": "integral.svg"}
SAME = 1e-9
"""Relative difference up to which sampling intervals and volumes of replicas are the same."""


@dataclass(frozen=True)
class Curves:
    """Autocorrelation (epsilon^2/sigma^6) and running integral (epsilon tau/sigma^3) of every component and replica.

    times: shape (lags,), tau; acf, integral: shape (replicas, 5, lags); samples: stress samples of each replica.
    """

    times: NDArray[np.float64]
    acf: NDArray[np.float64]
    integral: NDArray[np.float64]
    samples: tuple[int, ...]


def run(ctx: StepContext) -> StepResult:
    """Autocorrelate, integrate and read the plateau; a refusal is a finished result with viscosity null.

    Writes `curves.npz` (`times`, `acf_mean`, `acf_sem`, `integral_mean`, `integral_sem` over replicas and components,
    shape (lags,); `integral_replica`, mean over components, shape (replicas, lags)), `acf.svg` and `integral.svg`.
    EngineFailure if replicas are missing, or differ in volume or sampling interval.
    """
    steps = ctx.upstream["produce"]
    if len(steps) != ctx.definition["replicas"]:
        raise EngineFailure(f"green_kubo wants {ctx.definition['replicas']} replicas; produce left {len(steps)}")
    temperature, temperature_error = mean_temperature([step.result for step in steps])
    curves = _curves([step.files["stress"] for step in steps], float(ctx.definition["max_lag_tau"]), temperature)
    run_length = (min(curves.samples) - 1) * float(curves.times[1])
    found = estimate(curves.times, curves.integral, run_length)
    result = {
        **_values(found),
        "window_tau": float(curves.times[-1]),
        "temperature_mean": temperature,
        "temperature_error": temperature_error,
        "replicas": len(steps),
        "samples_total": sum(curves.samples),
        "independent_units": len(steps) * len(COMPONENTS),
    }
    files = {name: ctx.workdir / file for name, file in FILES.items()}
    summary = _summary(curves)
    np.savez(files["curves"], **vars(summary))
    figures.draw_autocorrelation(files["acf_plot"], summary, found)
    figures.draw_integral(files["integral_plot"], summary, found)
    return StepResult(result, files, {"numpy": np.__version__, "scipy": scipy.__version__})


def mean_temperature(results: Sequence[Mapping[str, Any]]) -> tuple[float, float | None]:
    """Return the mean temperature and its standard error: from their spread, or of the run (None if too short)."""
    means = np.array([float(result["temperature_mean"]) for result in results])
    if means.size == 1:
        return float(means[0]), results[0]["temperature_error"]
    return float(means.mean()), float(means.std(ddof=1) / math.sqrt(means.size))


def _curves(paths: Sequence[Path], max_lag: float, temperature: float) -> Curves:
    """Curves of all replicas; lags up to `max_lag`, or half of the shortest run if that is less."""
    interval, volume = npz_stream.scalars(paths[0], "interval_tau", "volume")
    for path in paths[1:]:
        if not np.allclose(npz_stream.scalars(path, "interval_tau", "volume"), (interval, volume), rtol=SAME, atol=0):
            raise EngineFailure(
                "replicas of produce differ in sampling interval or volume; run them with one definition"
            )
    samples = tuple(npz_stream.shape_of(path, "pressure")[0] for path in paths)
    lags = max(min(round(max_lag / interval), min(samples) // 2), 1) + 1
    acf = np.stack([_autocorrelation(path, lags).T for path in paths])
    times = interval * np.arange(lags, dtype=np.float64)
    integral = np.moveaxis(running_integral(np.moveaxis(acf, -1, 0), interval, volume, temperature), 0, -1)
    return Curves(times, acf, np.ascontiguousarray(integral), samples)


def _autocorrelation(path: Path, lags: int) -> NDArray[np.float64]:
    """Autocorrelation of the five stress components of one replica, shape (lags, 5)."""
    streamed = StreamedAutocorrelation(lags, len(COMPONENTS))
    for pressure in npz_stream.rows(path, "pressure", streamed.block):
        streamed.add(stress_components(pressure))
    return streamed.result()


def _summary(curves: Curves) -> figures.Summary:
    lags = curves.times.size
    acf, integral = curves.acf.reshape(-1, lags), curves.integral.reshape(-1, lags)
    root = math.sqrt(len(acf))
    return figures.Summary(
        times=curves.times,
        acf_mean=acf.mean(axis=0),
        acf_sem=acf.std(axis=0, ddof=1) / root,
        integral_mean=integral.mean(axis=0),
        integral_sem=integral.std(axis=0, ddof=1) / root,
        integral_replica=curves.integral.mean(axis=1),
    )


def _values(found: Estimate | Refusal) -> dict[str, object]:
    """Return the part of the result that is null if the rule refuses."""
    given = found if isinstance(found, Estimate) else None
    cutoff = given.cutoff if given else None
    longest = found.longest_relaxation if isinstance(found, Refusal) else found.cutoff.longest_relaxation
    return {
        "viscosity": given and given.coefficient,
        "viscosity_standard_error": given and given.standard_error,
        "viscosity_relative_error": given and given.standard_error / given.coefficient,
        "degrees_of_freedom": given and given.degrees_of_freedom,
        "interval_low": given and given.low,
        "interval_high": given and given.high,
        "component_error": given and given.unit_error,
        "procedure_error": given and given.procedure_error,
        "replica_error": given and given.replica_error,
        "slow_tail": given and given.slow_tail,
        "cutoff_tau": cutoff and cutoff.time,
        "longest_relaxation_tau": longest,
        "cutoff_ratio": cutoff and cutoff.time / cutoff.longest_relaxation,
        "fit_start_tau": cutoff and cutoff.fit_start,
        "remainder": cutoff and cutoff.remainder,
        "refused": given is None,
        "refusal": str(found) if isinstance(found, Refusal) else None,
    }
