"""Stage rouse: how chains relax and diffuse, from the trajectories of production."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.records.typed_json import to_json
from sophron.science.estimators import rouse as chains
from sophron.science.estimators.statistics import t_interval
from sophron.science.figures import BLUE, GREEN, GREY, VERMILION, logarithmic_sample, saved_figure
from sophron.science.viscosity import npz_stream

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

ROWS = 256
"""Frames that are read at once."""
COLOURS, STYLES = (BLUE, VERMILION, GREEN, GREY), ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Replica:
    """What one trajectory says. times: lags in tau; correlations: normalised, shape (modes, lags)."""

    times: NDArray[np.float64]
    correlations: NDArray[np.float64]
    amplitudes: NDArray[np.float64]
    modes: list[chains.Relaxation | None]
    end_to_end: chains.Relaxation | None
    end_to_end_squared: float
    diffusion: float | None
    frames: int
    chains: int
    chain_length: int


@dataclass(frozen=True)
class Mode:
    """A Rouse mode over all replicas; None if it did not decay in one of them."""

    mode: int
    tau: float | None
    tau_error: float | None
    stretching: float | None
    amplitude: float


def run(ctx: StepContext) -> StepResult:
    """Analyse each replica separately; values are means over replicas, errors come from their spread.

    Draws `modes.svg`. EngineFailure if production wrote no frames, chains have one bead, or more modes are asked
    for than a chain has.
    """
    steps = ctx.upstream["produce"]
    count = int(ctx.definition["modes"])
    replicas = [_analyse(step.files["trajectory"], count) for step in steps]
    path = ctx.workdir / "modes.svg"
    _draw(path, replicas)
    density, temperature = (
        float(np.mean([step.result[name] for step in steps])) for name in ("density", "temperature_mean")
    )
    result = _result(replicas, density, temperature)
    return StepResult(result, {"modes_plot": path}, {"numpy": np.__version__, "scipy": scipy.__version__})


def _analyse(path: Path, count: int) -> Replica:
    """Modes, end-to-end vectors and centres of mass of one trajectory, read in pieces."""
    interval, length = npz_stream.scalars(path, "interval_tau", "chain_length")
    frames, atoms, _ = npz_stream.shape_of(path, "positions")
    beads = int(length)
    _check(frames, beads, count)
    number = atoms // beads
    modes, ends, centres = np.empty((frames, number, count, 3)), np.empty((frames, number, 3)), []
    at = 0
    for piece in npz_stream.rows(path, "positions", ROWS):
        shaped = piece.reshape(len(piece), number, beads, 3).astype(np.float64)
        modes[at : at + len(piece)] = chains.mode_coordinates(shaped, count)
        ends[at : at + len(piece)] = shaped[:, :, -1] - shaped[:, :, 0]
        centres.append(shaped.mean(axis=2))
        at += len(piece)
    lags = frames // 2
    correlations = np.stack([chains.vector_autocorrelation(modes[:, :, mode], lags) for mode in range(count)])
    fits = [chains.relaxation(correlation, interval) for correlation in correlations]
    slowest = fits[0].time if fits[0] else math.inf
    return Replica(
        times=interval * np.arange(lags, dtype=np.float64),
        correlations=correlations / correlations[:, :1],
        amplitudes=correlations[:, 0],
        modes=fits,
        end_to_end=chains.relaxation(chains.vector_autocorrelation(ends, lags), interval),
        end_to_end_squared=float((ends**2).sum(axis=2).mean()),
        diffusion=chains.diffusion(np.concatenate(centres), interval, slowest) if fits[0] else None,
        frames=frames,
        chains=number,
        chain_length=beads,
    )


def _check(frames: int, beads: int, count: int) -> None:
    """Raise EngineFailure if there is nothing to analyse."""
    if beads <= count:
        raise EngineFailure(
            f"chains of {beads} beads have {beads - 1} Rouse modes; rouse.definition.modes wants {count}"
        )
    if frames < 2 * chains.LEAST_POINTS:
        raise EngineFailure(f"the trajectory has {frames} frames; set produce.definition.frame_every to have more")


def _result(replicas: Sequence[Replica], density: float, temperature: float) -> dict[str, object]:
    """Means over replicas, as the schema has them."""
    first = replicas[0]
    modes = [_mode(replicas, mode) for mode in range(len(first.modes))]
    end_tau, end_error = _mean([one.end_to_end.time if one.end_to_end else None for one in replicas])
    diffusion, diffusion_error = _mean([one.diffusion for one in replicas])
    slowest = modes[0].tau
    viscosity = None
    if slowest is not None:
        ratios = chains.ideal_time_ratios(first.chain_length).sum()
        viscosity = float(density * temperature / first.chain_length * 0.5 * slowest * ratios)
    return {
        "modes": to_json(modes),
        "longest_mode_tau": slowest,
        "longest_mode_tau_error": modes[0].tau_error,
        "mode_exponent": _exponent(modes, first.chain_length),
        "end_to_end_tau": end_tau,
        "end_to_end_tau_error": end_error,
        "end_to_end_squared": float(np.mean([one.end_to_end_squared for one in replicas])),
        "diffusion": diffusion,
        "diffusion_error": diffusion_error,
        "stress_relaxation_tau": slowest and 0.5 * slowest,
        "viscosity_rouse": viscosity,
        "chain_length": first.chain_length,
        "chains": first.chains,
        "replicas": len(replicas),
        "frames_total": sum(one.frames for one in replicas),
    }


def _mode(replicas: Sequence[Replica], mode: int) -> Mode:
    fits = [one.modes[mode] for one in replicas]
    tau, error = _mean([fit.time if fit else None for fit in fits])
    stretching, _ = _mean([fit.stretching if fit else None for fit in fits])
    amplitude = float(np.mean([one.amplitudes[mode] for one in replicas]))
    return Mode(mode + 1, tau, error, stretching, amplitude)


def _mean(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Mean and standard error over replicas; null if one of them is, the error also with one replica."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None, None
    if len(known) == 1:
        return known[0], None
    interval = t_interval(known)
    return interval.mean, interval.standard_error


def _exponent(modes: Sequence[Mode], beads: int) -> float | None:
    """Slope of log tau_p against -log sin(p pi / 2N)."""
    fitted = [(mode.mode, mode.tau) for mode in modes if mode.tau is not None]
    if len(fitted) < 2:
        return None
    number, tau = np.array(fitted).T
    return float(-np.polyfit(np.log(np.sin(number * np.pi / (2 * beads))), np.log(tau), 1)[0])


def _draw(path: Path, replicas: Sequence[Replica]) -> None:
    """Autocorrelation of each mode against scaled time: ideal chains fall on one curve."""
    lags = min(one.times.size for one in replicas)
    shown = logarithmic_sample(lags)
    mean = np.mean([one.correlations[:, shown] for one in replicas], axis=0)
    length = replicas[0].chain_length
    with saved_figure(path) as figure:
        axes = figure.subplots()
        axes.axhline(0, color="black", linewidth=0.8)
        for mode, correlation in enumerate(mean, start=1):
            scaled = replicas[0].times[shown] * math.sin(mode * math.pi / (2 * length)) ** 2
            colour, style = COLOURS[(mode - 1) % len(COLOURS)], STYLES[(mode - 1) // len(COLOURS) % len(STYLES)]
            axes.plot(scaled, correlation, style, color=colour, marker=".", markersize=3, label=f"mode {mode}")
            if mode == 1:
                axes.set_xlim(right=scaled[-1])
        axes.set_xscale("log")
        axes.set_ylim(-0.1, 1.05)
        axes.set_xlabel("t sin²(p π / 2N) (τ)")
        axes.set_ylabel("⟨X(0) X(t)⟩ / ⟨X²⟩")
        axes.set_title("Rouse modes: autocorrelation against scaled time")
        axes.legend(loc="upper right")
