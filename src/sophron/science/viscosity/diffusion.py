"""Stage diffusion: the diffusion coefficient of beads, or of chains, from the trajectories of production."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.science.estimators.diffusion import (
    LEAST_LAGS,
    EinsteinFit,
    einstein,
    mean_squared_displacement,
    of_infinite_box,
)
from sophron.science.estimators.refusal import Refusal
from sophron.science.estimators.statistics import Estimated, t_quantile
from sophron.science.figures import BLUE, GREY, VERMILION, saved_figure
from sophron.science.viscosity import npz_stream
from sophron.science.viscosity.green_kubo import mean_temperature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

ROWS = 256
"""Frames that are read at once."""
MOST_LAGS = 24


@dataclass(frozen=True)
class Window:
    """Lags between `from_tau` and `to_tau` of the definition: in frames, and in tau."""

    lags: Sequence[int]
    times: NDArray[np.float64]


def run(ctx: StepContext) -> StepResult:
    """Fit Einstein's relation over the window of the definition; a refusal is a finished result with diffusion null.

    Chains count by their centres of mass. With a viscosity of green_kubo the coefficient is that of an infinite box
    (Yeh and Hummer); if green_kubo refused, it is that of this box, and `corrected` says so. Draws `displacement.svg`.
    EngineFailure if production wrote too few frames for the window.
    """
    steps, green_kubo = ctx.upstream["produce"], ctx.one("green_kubo").result
    window = _window([step.files["trajectory"] for step in steps], ctx.definition)
    centres = [_centres(step.files["trajectory"]) for step in steps]
    curves = np.stack([mean_squared_displacement(one, window.lags) for one in centres])
    temperature, _ = mean_temperature([step.result for step in steps])
    length = float(steps[0].result["volume"]) ** (1 / 3)
    fit = einstein(window.times, curves)
    whole = [one.mean(axis=1, keepdims=True) for one in centres]
    drift = np.mean([mean_squared_displacement(one, window.lags)[-1] for one in whole])
    result = {
        **_values(fit, _viscosity(green_kubo), temperature, length),
        "refused": isinstance(fit, Refusal),
        "refusal": str(fit) if isinstance(fit, Refusal) else None,
        "displacement": float(np.sqrt(curves[:, -1].mean())),
        "centre_share": float(drift / curves[:, -1].mean()),
        "window_from_tau": float(window.times[0]),
        "window_to_tau": float(window.times[-1]),
        "lags": len(window.lags),
        "temperature_mean": temperature,
        "box_length": length,
        "molecules": centres[0].shape[1],
        "chain_length": int(steps[0].result["chain_length"]),
        "replicas": len(steps),
        "frames_total": sum(len(one) for one in centres),
    }
    path = ctx.workdir / "displacement.svg"
    _draw(path, window.times, curves, fit)
    return StepResult(result, {"displacement_plot": path}, {"numpy": np.__version__})


def _window(paths: Sequence[Path], definition: Mapping[str, float]) -> Window:
    """At most `MOST_LAGS` lags of whole frames, evenly spaced; EngineFailure if the trajectories are too short."""
    interval = npz_stream.scalars(paths[0], "interval_tau")[0]
    frames = min(npz_stream.shape_of(path, "positions")[0] for path in paths)
    begin, end = definition["from_tau"], definition["to_tau"]
    if not interval or (frames - 1) * interval < 2 * end:
        raise EngineFailure(
            f"diffusion.definition.to_tau: {end:g} tau is more than half of a trajectory of {frames} frames; run "
            "produce longer, or set its frame_every"
        )
    evenly = np.linspace(begin, end, MOST_LAGS) / interval
    lags = np.unique(np.rint(evenly).astype(np.intp))
    lags = lags[lags > 0]
    if lags.size < LEAST_LAGS:
        raise EngineFailure(
            f"diffusion.definition: frames every {interval:g} tau give {lags.size} lags from {begin:g} to {end:g} tau, "
            f"and a line wants {LEAST_LAGS}; make produce.definition.frame_every smaller or the window wider"
        )
    return Window(lags.tolist(), interval * lags.astype(np.float64))


def _centres(path: Path) -> NDArray[np.float64]:
    """Centres of mass of the chains, or the beads of a liquid, (frames, molecules, 3), read in pieces."""
    beads = int(npz_stream.scalars(path, "chain_length")[0])
    pieces = (piece.astype(np.float64) for piece in npz_stream.rows(path, "positions", ROWS))
    return np.concatenate([piece.reshape(len(piece), -1, beads, 3).mean(axis=2) for piece in pieces])


def _viscosity(green_kubo: Mapping[str, float | None]) -> Estimated | None:
    """Return the campaign's own viscosity; None if green_kubo refused it."""
    value, error = green_kubo["viscosity"], green_kubo["viscosity_standard_error"]
    return None if value is None or error is None else Estimated(value, error, green_kubo["degrees_of_freedom"])


def _values(
    fit: EinsteinFit | Refusal, viscosity: Estimated | None, temperature: float, length: float
) -> dict[str, object]:
    """Return the coefficient, corrected if there is a viscosity; nulls if it is refused."""
    about: dict[str, object] = {"corrected": viscosity is not None, "viscosity": viscosity and viscosity.value}
    if isinstance(fit, Refusal):
        names = ("diffusion", "diffusion_standard_error", "diffusion_relative_error", "degrees_of_freedom")
        more = ("interval_low", "interval_high", "diffusion_box", "diffusion_box_error", "size_correction")
        return about | dict.fromkeys([*names, *more, "bend", "bend_error"])
    box = fit.coefficient
    infinite = of_infinite_box(box, viscosity, temperature, length) if viscosity else box
    half = t_quantile(infinite.degrees_of_freedom or np.inf) * infinite.error
    return about | {
        "diffusion": infinite.value,
        "diffusion_standard_error": infinite.error,
        "diffusion_relative_error": infinite.error / infinite.value,
        "degrees_of_freedom": infinite.degrees_of_freedom,
        "interval_low": infinite.value - half,
        "interval_high": infinite.value + half,
        "diffusion_box": box.value,
        "diffusion_box_error": box.error,
        "size_correction": infinite.value - box.value if viscosity else None,
        "bend": fit.bend,
        "bend_error": fit.bend_error,
    }


def _draw(path: Path, times: NDArray[np.float64], curves: NDArray[np.float64], fit: EinsteinFit | Refusal) -> None:
    """Draw the mean squared displacement of each replica, and the line."""
    mean = curves.mean(axis=0)
    with saved_figure(path) as figure:
        axes = figure.subplots()
        for curve in curves:
            axes.plot(times, curve, color=GREY, linewidth=0.8)
        axes.plot(times, mean, ".", color=BLUE, label="mean of the replicas")
        if isinstance(fit, EinsteinFit):
            line = mean.mean() + 6 * fit.coefficient.value * (times - times.mean())
            axes.plot(times, line, "--", color=VERMILION, label="Einstein: slope 6 D")
        axes.set_xlabel("t (τ)")
        axes.set_ylabel("mean squared displacement (\N{GREEK SMALL LETTER SIGMA}²)")
        axes.set_title("Diffusion in this box")
        axes.legend(loc="upper left")
