"""The picture of a screen: predicted free energies with their errors, the strongest guest first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

MOST_NAMED = 40
"""Guests whose names fit below the axis; beyond them places in the ranking stand there."""
MOST_LINES = 500
"""Points that are drawn as lines; more of them become one image inside the picture, which stays small."""


def ranked(rows: Sequence[Sequence[Any]], path: Path) -> None:
    """Draw (guest, free energy, statistical error, systematic error) in kcal/mol, in the order of the rows; SVG.

    Thick bars: one standard error; thin ones: the bound of the systematic error beyond it.
    """
    from sophron.science.figures import BLUE, GREY, saved_figure

    with saved_figure(path, width=9.0, height=3.8) as figure:
        axes = figure.subplots()
        places = range(1, len(rows) + 1)
        values, statistical, systematic = ([row[column] for row in rows] for column in (1, 2, 3))
        whole = [one + other for one, other in zip(statistical, systematic, strict=True)]
        bars = partial(axes.errorbar, places, values, ls="none", rasterized=len(rows) > MOST_LINES)
        bars(yerr=whole, color=GREY, elinewidth=0.8, label="and systematic bound")
        bars(yerr=statistical, color=BLUE, elinewidth=2.4, marker="o", ms=3, label="one standard error")
        axes.set(title="Predicted standard binding free energy", xlabel="place in the ranking", ylabel="kcal/mol")
        if len(rows) <= MOST_NAMED:
            axes.set_xticks(list(places), [row[0] for row in rows], rotation=60, ha="right", parse_math=False)
            axes.set_xlabel("")
        if rows:
            axes.legend(loc="upper left")  # values rise to the right, so that nothing stands there
        else:
            axes.text(0.5, 0.5, "no guest has a number", transform=axes.transAxes, ha="center")
