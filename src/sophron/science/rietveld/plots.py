"""Pictures of a fit for people and for models that see: the whole pattern, or any window of it, as PNG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.interfaces.rietveld import Fit
from sophron.records.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

BLACK, VERMILION, GREEN, BLUE, GREY = "#000000", "#D55E00", "#009E73", "#0072B2", "#6B6B6B"
"""From the palette of Okabe and Ito (Wong 2011, 10.1038/nmeth.1618), and a grey."""

FEWEST_POINTS = 5


def pattern_png(fit: Fit, path: Path, window_deg: tuple[float, float] | None = None) -> Path:
    """Return the observed, calculated, background, Bragg ticks and, below, the difference.

    Raise UserError for an empty window.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    shown = _inside(fit, window_deg)
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context():
        mpl.rcdefaults()
        style: dict[Any, Any] = {"font.size": 9.5, "axes.spines.top": False, "axes.spines.right": False}
        mpl.rcParams.update(style)
        figure = Figure(figsize=(10.0, 6.0), layout="constrained")
        upper, ticks, lower = figure.subplots(
            3, 1, sharex=True, height_ratios=[5.0, 0.25 + 0.15 * len(fit.curves.ticks_deg), 1.6]
        )
        _draw_pattern(upper, fit, shown)
        _draw_ticks(ticks, fit)
        _draw_difference(lower, fit, shown)
        x = fit.curves.two_theta_deg[shown]
        lower.set_xlim(*(window_deg or (float(x[0]), float(x[-1]))))
        figure.savefig(path, format="png", dpi=130, metadata={"Software": None})
    return path


def sentence_png(sentence: str, path: Path) -> Path:
    """Write a picture that says why there is none."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 6.0))
    figure.text(0.5, 0.5, sentence, ha="center")
    figure.savefig(path, format="png", dpi=110, metadata={"Software": None})
    return path


def _inside(fit: Fit, window_deg: tuple[float, float] | None) -> NDArray[np.bool_]:
    x = fit.curves.two_theta_deg
    low, high = window_deg or (float(x[0]), float(x[-1]))
    shown = (x >= low) & (x <= high)
    if int(shown.sum()) < FEWEST_POINTS:
        raise UserError(
            f"the window {low:g} to {high:g} degrees holds {int(shown.sum())} points of the fit; "
            f"it runs from {x[0]:g} to {x[-1]:g}"
        )
    return shown


def _draw_pattern(axes: Axes, fit: Fit, shown: NDArray[np.bool_]) -> None:
    curves = fit.curves
    x = curves.two_theta_deg[shown]
    axes.plot(x, curves.observed[shown], ".", color=BLACK, markersize=2.5, label="observed")
    axes.plot(x, curves.calculated[shown], color=VERMILION, linewidth=1.1, label="calculated")
    axes.plot(x, curves.background[shown], color=GREEN, linewidth=1.1, label="background")
    axes.set_ylabel("intensity / counts")
    axes.set_title(f"{fit.rwp}, GOF {fit.gof:.2f}, {fit.variables} variables", loc="left")
    axes.legend(frameon=False, loc="upper right")


def _draw_ticks(axes: Axes, fit: Fit) -> None:
    for row, (phase, at) in enumerate(fit.curves.ticks_deg.items()):
        axes.plot(at, [-row] * len(at), "|", color=BLUE, markersize=7, markeredgewidth=0.8)
        axes.annotate(
            phase,
            (1.0, -row),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="center",
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85},
        )
    axes.set_ylim(-len(fit.curves.ticks_deg) + 0.4, 0.6)
    axes.set_yticks([])
    axes.set_ylabel("Bragg", rotation=0, ha="right", va="center")


def _draw_difference(axes: Axes, fit: Fit, shown: NDArray[np.bool_]) -> None:
    """Observed minus calculated, over its standard deviation: a misfit shows whatever the counts are."""
    curves = fit.curves
    difference = (curves.observed - curves.calculated)[shown] / curves.sigma[shown]
    axes.axhline(0.0, color=GREY, linewidth=0.6)
    axes.plot(curves.two_theta_deg[shown], difference, color=BLUE, linewidth=0.8)
    axes.set_ylabel("difference / esd")
    axes.set_xlabel("2θ / degrees")
