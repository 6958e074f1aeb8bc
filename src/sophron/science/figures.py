"""Figures of the analysis stages: one look, colours that colour-blind readers can tell apart, and stable bytes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6B6B6B"
"""From the palette of Okabe and Ito (Wong 2011, 10.1038/nmeth.1618), and a grey."""

VISCOSITY_UNIT = "ε τ \N{GREEK SMALL LETTER SIGMA}⁻³"

_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "sophron",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.6,
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "figure.constrained_layout.use": True,
}


@contextmanager
def saved_figure(path: Path, width: float = 6.4, height: float = 4.0) -> Iterator[Figure]:
    """Yield a figure of `width` x `height` inches, written to `path` as SVG on leaving; equal data give equal bytes."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        figure = Figure(figsize=(width, height))
        yield figure
        figure.savefig(path, format="svg", metadata={"Date": None})


def logarithmic_sample(count: int, most: int = 400) -> NDArray[np.intp]:
    """Return the indices 1 ... `count` - 1, at most `most` of them, evenly spaced on a logarithmic axis."""
    grown = np.rint(np.geomspace(1, max(count - 1, 1), most)).astype(np.intp)
    return np.unique(np.clip(grown, 1, max(count - 1, 1)))
