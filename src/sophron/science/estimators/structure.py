"""Order of beads in a cubic box: how near the strongest peak of the structure factor is to that of a crystal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOWEST, HIGHEST = 4.0, 10.0
"""Wave numbers of first neighbours in beads of a diameter of 1: the first peak of a dense liquid is near 7."""
CELL = 0.25
"""Edge of the cells that beads are counted in, in diameters: a wave of `HIGHEST` has two and a half of them."""


def structure_peak(positions: NDArray[np.float64], length: float) -> float:
    """Return the largest S(k)/N over the wave vectors of the box between `LOWEST` and `HIGHEST`.

    positions: (beads, 3), in a periodic cube of edge `length`. S(k)/N is 1 for a crystal at rest, about 0.7 for one
    near melting, whatever its direction. In a liquid S(k) scatters exponentially about 3 at most, so the largest of
    n vectors is about 3 ln(n)/N: 0.09 for 256 beads. Beads are counted in cells, whose form is divided out.
    """
    import numpy as np

    cells = math.ceil(length / CELL)
    counts, _ = np.histogramdd(positions % length, bins=cells, range=[(0, length)] * 3)
    whole, half = np.fft.fftfreq(cells, 1 / cells), np.fft.rfftfreq(cells, 1 / cells)
    vectors = np.meshgrid(whole, whole, half, indexing="ij", sparse=True)
    number = 2 * math.pi / length * np.sqrt(sum(part**2 for part in vectors))
    form = np.prod(np.broadcast_arrays(*(np.sinc(part / cells) for part in vectors)), axis=0)
    inside = (number >= LOWEST) & (number <= HIGHEST)
    waves = np.fft.rfftn(counts)[inside] / form[inside]
    return float((np.abs(waves) ** 2).max()) / len(positions) ** 2
